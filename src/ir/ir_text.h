/* SPDX-License-Identifier: Apache-2.0 */
/* Words that the printer and the parser of the text form share (private to ir/). */
#ifndef IR_IR_TEXT_H
#define IR_IR_TEXT_H

/* In the order of enum ir_role. */
static const char *const ir_role_words[] = { "in", "out", "inout", "tmp", "const", "absent" };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* --arch_checker: the converted graph, compiled by libQnnHtp.so, and what the advisor says of it (docs/advise.md). */
#ifndef TOOLS_CONVERTER_ARCH_CHECKER_H
#define TOOLS_CONVERTER_ARCH_CHECKER_H

#include "convert/convert.h"

/* Prints the advice, and writes <prefix>_arch_checker.json unless prefix is NULL. */
enum status arch_checker_run(const struct ir_graph *g, const struct convert_report *report, const char *prefix);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the converters that take several words or may be repeated: --input_dim NAME 1,224,224,3. They are taken out of
 * the command line before the ordinary options are read. */
#ifndef TOOLS_CONVERTER_CONVERTER_WORDS_H
#define TOOLS_CONVERTER_CONVERTER_WORDS_H

#include <stdbool.h>

#include "convert/convert.h"

/* An option about the order of an input's or output's values. */
struct converter_order {
    const char *name, *from, *to; /* layouts: from is NULL when the graph knows it */
    enum converter_order_kind { ORDER_COLOR, ORDER_INPUT, ORDER_OUTPUT, ORDER_SOURCE_OUTPUT } kind;
};

struct converter_words {
    VEC(struct converter_order) orders;
    VEC(struct convert_input) inputs;
    VEC(const char *) outputs;
    VEC(const char *) symbols;
    VEC(uint32_t) symbol_values;
    VEC(const char *) preserved; /* --preserve_io, --preserve_io_datatype: these only; none: all */
    bool letter_s_is_shape; /* set before: -s of qairt-converter */
    bool cle, bc, adaround, amp; /* --algorithms, --apply_algorithms */
    bool keep_patterns; /* -oss */
    bool preserve_layout, preserve_type, dry_run, per_channel, per_row;
};

/* *argc and argv lose what was understood; argv keeps its NULL at the end. */
enum status converter_words_take(struct converter_words *w, int *argc, char **argv);
void converter_words_finish(struct converter_words *w);

#endif

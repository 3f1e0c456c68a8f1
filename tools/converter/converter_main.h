/* SPDX-License-Identifier: Apache-2.0 */
/* What the converters share: the way of a model from its file to the files they write. A program is a front end, an option
 * table that fills struct converter, and a main of one line. */
#ifndef TOOLS_CONVERTER_CONVERTER_MAIN_H
#define TOOLS_CONVERTER_CONVERTER_MAIN_H

#include "common/tool_options.h"
#include "convert/convert.h"
#include "converter/converter_words.h"
#include "converter/quantizer.h"

struct converter_front {
    const char *program; /* "qnn-tflite-converter" */
    const char *summary;
    const char *examples;
    /* folder: that of the input file, where files beside it are. */
    enum status (*convert)(const void *data, size_t size, const char *folder, const struct convert_opts *o,
                           struct convert_report *r, struct ir_graph **ret);
};

/* Everything the options say. */
struct converter {
    const char *input, *output, *dump, *copyright, *custom_io, *custom_template;
    int64_t batch;
    uint32_t float_bits; /* index: 32, 16 */
    bool dry_run, keep_batchnorm, reset_state, debug, ignored, keep_patterns, own_prefix, number_names;
    uint32_t export_format;      /* of qairt-converter: DLC_DEFAULT, DLC_STRIP_QUANT, dlc (as the first) */
    uint32_t source_format;      /* of the other converters: cpp, dlc */
    uint32_t float_bias_bits;    /* index: 32, 16 */
    bool float_bias_given;
    bool arch_checker;
    const char *version;         /* of the model */
    bool dlc; /* PREFIX.dlc instead of the model source */
    struct quantizer_args quant;
    const char
        *several; /* options of several words are read by converter_words.c; rows of option tables only describe them */
    uint32_t ignored_choice;
    const char *ignored_text;
};

/* A row that says what converter_words.c reads. */
#define CONVERTER_WORDS(option, short_name, words, text) \
    { option, OPT_STRING, offsetof(struct converter, several), .argument = words, .letter = short_name, .help = text }
extern const char *const converter_float_widths[];

/* The options of qnn-onnx-converter and qnn-tflite-converter. */
extern const struct tool_option converter_options[];

/* Reads the command line, converts, quantizes when asked to, writes. Returns the exit code. */
int converter_main(const struct converter_front *front, int argc, char **argv);
/* The same with another option table; with dlc, a DLC is written. */
int converter_program(const struct converter_front *front, const struct tool_option *options, bool dlc, int argc,
                      char **argv);

/* Parts that qairt-quantizer uses too. */
/* "a/model" of -o a/model.cpp, or beside the input. */
const char *converter_prefix(const struct converter *c, const char *suffix, struct arena *a);
enum status converter_dump(const struct ir_graph *g, const char *path);
void converter_command(struct str *s, int argc, char **argv);
void converter_print_issues(const struct convert_report *r);
/* What options refuse in all programs: custom operators. */
#define CONVERTER_REFUSED_PACKAGES \
    "operators of a package cannot be converted; express them in operators of the source format"

void converter_words_apply(const struct converter_words *w, struct converter *c);

#endif

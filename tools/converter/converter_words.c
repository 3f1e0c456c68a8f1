/* SPDX-License-Identifier: Apache-2.0 */
/* Options of several words, from one table. */
#include "converter/converter_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "common/tool_log.h"

static enum status input_named(struct converter_words *w, const char *name, struct convert_input **ret)
{
    for (size_t i = 0; i < w->inputs.n; i++)
        if (str_eq(w->inputs.at[i].name, name)) {
            *ret = &w->inputs.at[i];
            return ST_OK;
        }
    *ret = vec_push(&w->inputs);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for the options of input \"%s\"", name);
    (*ret)->name = name;
    return ST_OK;
}

static enum status read_number(const char *what, const char **text, uint32_t *ret)
{
    char *end;
    errno = 0;
    unsigned long v = strtoul(*text, &end, 10);
    RETURN_IF(end == *text || errno || **text == '-' || v == 0 || v > INT32_MAX, ST_INVALID_ARG,
              "%s \"%s\": a whole number above 0 is expected", what, *text);
    *ret = (uint32_t)v;
    *text = end;
    return ST_OK;
}

static enum status take_dims(struct converter_words *w, char **word)
{
    struct convert_input *in;
    const char *p = word[1];
    TRY(input_named(w, word[0], &in));
    for (in->rank = 0; in->rank < MAX_RANK; p++) {
        TRY(read_number("--input_dim", &p, &in->dims[in->rank++]));
        if (!*p)
            return ST_OK;
        RETURN_IF(*p != ',', ST_INVALID_ARG, "--input_dim %s \"%s\": numbers separated by commas are expected", word[0],
                  word[1]);
    }
    return status_fail(ST_INVALID_ARG, "--input_dim %s \"%s\": at most %d dimensions are supported", word[0], word[1],
                       MAX_RANK);
}

static enum status take_layout(struct converter_words *w, char **word)
{
    static const char *const known[] = { "NCDHW", "NDHWC", "NCHW", "NHWC", "NFC", "NCF",
                                         "NTF",   "TNF",   "NF",   "NC",   "F",   "NONTRIVIAL" };
    enum { N = sizeof(known) / sizeof(known[0]) };
    struct convert_input *in;
    TRY(input_named(w, word[0], &in));
    for (unsigned i = 0; i < N; i++)
        if (str_eq(known[i], word[1])) {
            in->layout = known[i];
            return ST_OK;
        }
    return status_fail(
        ST_INVALID_ARG,
        "--input_layout %s \"%s\" is not known; NCDHW, NDHWC, NCHW, NHWC, NFC, NCF, NTF, TNF, NF, NC, F and NONTRIVIAL are",
        word[0], word[1]);
}

static enum status take_type(struct converter_words *w, char **word)
{
    static const struct {
        const char *name;
        enum dtype type;
    } known[] = { { "float32", DT_F32 }, { "float16", DT_F16 }, { "int8", DT_I8 },   { "uint8", DT_U8 },
                  { "int16", DT_I16 },   { "uint16", DT_U16 },  { "int32", DT_I32 }, { "uint32", DT_U32 },
                  { "int64", DT_I64 },   { "uint64", DT_U64 },  { "bool", DT_B8 } };
    struct convert_input *in;
    TRY(input_named(w, word[0], &in));
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(known[i].name, word[1])) {
            in->type = known[i].type;
            return ST_OK;
        }
    return status_fail(ST_INVALID_ARG,
                       "--input_dtype %s \"%s\" is not known; float32, float16, int8 … int64, uint8 … uint64 and bool are",
                       word[0], word[1]);
}

static enum status take_symbol(struct converter_words *w, char **word)
{
    const char *p = word[1], **name = vec_push(&w->symbols);
    uint32_t *value = vec_push(&w->symbol_values);
    RETURN_IF(!name || !value, ST_NO_MEMORY, "no memory for symbol \"%s\"", word[0]);
    *name = word[0];
    TRY(read_number("--define_symbol", &p, value));
    RETURN_IF(*p, ST_INVALID_ARG, "--define_symbol %s \"%s\": a whole number above 0 is expected", word[0], word[1]);
    return ST_OK;
}

static enum status take_letter_s(struct converter_words *w, char **word)
{
    return w->letter_s_is_shape ? take_dims(w, word) : take_symbol(w, word);
}

static enum status take_output(struct converter_words *w, char **word)
{
    const char **name = vec_push(&w->outputs);
    RETURN_IF(!name, ST_NO_MEMORY, "no memory for output \"%s\"", word[0]);
    *name = word[0];
    return ST_OK;
}

static enum status add_order(struct converter_words *w, const char *name, const char *from, const char *to,
                             enum converter_order_kind kind)
{
    struct converter_order *o = vec_push(&w->orders);
    RETURN_IF(!o, ST_NO_MEMORY, "no memory for the options of \"%s\"", name);
    *o = (struct converter_order){ name, from, to, kind };
    return ST_OK;
}

static enum status take_desired_input(struct converter_words *w, char **word)
{
    return add_order(w, word[0], NULL, word[1], ORDER_INPUT);
}

static enum status take_desired_output(struct converter_words *w, char **word)
{
    return add_order(w, word[0], NULL, word[1], ORDER_OUTPUT);
}

static enum status take_source_output(struct converter_words *w, char **word)
{
    return add_order(w, word[0], word[1], NULL, ORDER_SOURCE_OUTPUT);
}

static enum status refuse_packages(struct converter_words *w, char **word)
{
    (void)w;
    return status_fail(
        ST_NOT_SUPPORTED,
        "op packages (\"%s\") are not supported: operators of a package cannot be converted; express them in operators "
        "of the source format",
        word[0] ? word[0] : "");
}

static enum status refuse_tensorflow(struct converter_words *w, char **word)
{
    (void)w;
    (void)word;
    return status_fail(ST_NOT_SUPPORTED, "TensorFlow graphs are not read; save the model as TFLite or ONNX");
}

/* ---- options with words that may be left out: the list ends at NULL or at the next option ----------------------------- */

static bool is_word(const char *text)
{
    return text && text[0] != '-';
}

/* What the client gives, and what the model expects. */
static enum status take_color(struct converter_words *w, char **word)
{
    RETURN_IF(!is_word(word[0]) || !is_word(word[1]), ST_INVALID_ARG,
              "--input_encoding expects the name of an input and bgr, rgb, rgba, argb32, time_series or other");
    const char *out = is_word(word[2]) ? word[2] : "bgr";
    bool plain = str_eq(word[1], "time_series") || str_eq(word[1], "other");
    return plain ? ST_OK : add_order(w, word[0], word[1], out, ORDER_COLOR);
}

static enum status preserve_names(struct converter_words *w, char **word)
{
    for (; is_word(*word); word++) {
        const char **name = vec_push(&w->preserved);
        RETURN_IF(!name, ST_NO_MEMORY, "no memory for \"%s\"", *word);
        *name = *word;
    }
    return ST_OK;
}

static enum status take_preserve(struct converter_words *w, char **word)
{
    bool layout = is_word(*word) && str_eq(*word, "layout"), type = is_word(*word) && str_eq(*word, "datatype");
    w->preserve_layout |= !type;
    w->preserve_type |= !layout;
    return preserve_names(w, word + (layout || type));
}

static enum status take_preserve_type(struct converter_words *w, char **word)
{
    w->preserve_type = true;
    return preserve_names(w, word);
}

/* default and image say how a device's runtime feeds an input; only opaque says something about the graph. */
static enum status take_kind(struct converter_words *w, char **word)
{
    bool known = str_eq(word[1], "default") || str_eq(word[1], "image"), opaque = str_eq(word[1], "opaque");
    RETURN_IF(!known && !opaque, ST_INVALID_ARG, "--input_type %s \"%s\" is not known; default, image and opaque are",
              word[0], word[1]);
    if (known)
        tool_log(TOOL_WARN, "--input_type %s %s changes nothing: the graph takes what the client gives", word[0], word[1]);
    const char **name = opaque ? vec_push(&w->preserved) : NULL;
    RETURN_IF(opaque && !name, ST_NO_MEMORY, "no memory for \"%s\"", word[0]);
    if (opaque)
        *name = word[0];
    return ST_OK;
}

static enum status take_truth(const char *option, char **word, bool *ret)
{
    bool no = is_word(*word) && (str_eq(*word, "false") || str_eq(*word, "False")),
         yes = is_word(*word) && (str_eq(*word, "true") || str_eq(*word, "True"));
    RETURN_IF(is_word(*word) && !no && !yes, ST_INVALID_ARG, "%s \"%s\": true or false is expected, or nothing", option,
              *word);
    *ret = !no;
    return ST_OK;
}

static enum status take_channels(struct converter_words *w, char **word)
{
    return take_truth("--use_per_channel_quantization", word, &w->per_channel);
}

static enum status take_rows(struct converter_words *w, char **word)
{
    return take_truth("--use_per_row_quantization", word, &w->per_row);
}

static enum status take_dry_run(struct converter_words *w, char **word)
{
    RETURN_IF(is_word(*word) && !str_eq(*word, "info") && !str_eq(*word, "debug"), ST_INVALID_ARG,
              "--dry_run \"%s\": info or debug is expected, or nothing", *word);
    w->dry_run = true;
    return ST_OK;
}

static enum status take_algorithm(struct converter_words *w, const char *name, size_t n)
{
    const struct {
        const char *name;
        bool *to;
    } known[] = { { "cle", &w->cle }, { "bc", &w->bc }, { "adaround", &w->adaround }, { "amp", &w->amp } };
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i].name) == n && !strncmp(known[i].name, name, n)) {
            *known[i].to = true;
            return ST_OK;
        }
    return status_fail(ST_INVALID_ARG, "algorithm \"%.*s\" is not known; cle, bc, adaround and amp are", (int)n, name);
}

/* Words or a list with commas. */
static enum status take_algorithms(struct converter_words *w, char **word)
{
    RETURN_IF(!is_word(*word), ST_INVALID_ARG, "--algorithms is followed by nothing; cle, bc, adaround or amp is expected");
    for (; is_word(*word); word++)
        for (const char *p = *word; *p; p += strspn(p, ",")) {
            size_t n = strcspn(p, ",");
            TRY(take_algorithm(w, p, n));
            p += n;
        }
    return ST_OK;
}

static enum status take_simplification(struct converter_words *w, char **word)
{
    (void)word;
    w->keep_patterns = true;
    return ST_OK;
}

enum { ANY_WORDS = -1 };
static const struct {
    const char *name, *letter;
    int words;
    enum status (*take)(struct converter_words *w, char **word);
} table[] = {
    {"--input_dim", "-d", 2, take_dims},
    {"--input_layout", "-l", 2, take_layout},
    {"--input_dtype", "", 2, take_type},
    {"--input_type", "-t", 2, take_kind},
    {"--input_encoding", "-e", ANY_WORDS, take_color},
    {"--desired_input_color_encoding", "-e", ANY_WORDS, take_color},
    {"--desired_input_layout", "", 2, take_desired_input},
    {"--desired_output_layout", "", 2, take_desired_output},
    {"--source_model_output_layout", "", 2, take_source_output},
    {"--op_package_lib", "-opl", 1, refuse_packages},
    {"--converter_op_package_lib", "-cpl", 1, refuse_packages},
    {"--op_package_config", "-opc", 1, refuse_packages},
    {"--package_name", "-p", 1, refuse_packages},
    {"--tf_saved_model_tag", "", ANY_WORDS, refuse_tensorflow},
    {"--tf_saved_model_signature_key", "", ANY_WORDS, refuse_tensorflow},
    {"--tf_no_optimization", "", ANY_WORDS, refuse_tensorflow},
    {"--tf_show_unconsumed_nodes", "", ANY_WORDS, refuse_tensorflow},
    {"--tf_summary", "", ANY_WORDS, refuse_tensorflow},
    {"--define_symbol", "", 2, take_symbol},
    {"-s", "", 2, take_letter_s},
    {"--out_node", "", 1, take_output},
    {"--out_name", "", 1, take_output},
    {"--source_model_input_shape", "", 2, take_dims},
    {"--source_model_input_layout", "", 2, take_layout},
    {"--source_model_input_datatype", "", 2, take_type},
    {"--onnx_define_symbol", "", 2, take_symbol},
    {"--out_tensor_node", "", 1, take_output},
    {"--out_tensor_name", "", 1, take_output},
    {"--preserve_io", "", ANY_WORDS, take_preserve},
    {"--preserve_io_datatype", "", ANY_WORDS, take_preserve_type},
    {"-oss", "", 0, take_simplification},
    {"--use_per_channel_quantization", "", ANY_WORDS, take_channels},
    {"--use_per_row_quantization", "", ANY_WORDS, take_rows},
    {"--dry_run", "", ANY_WORDS, take_dry_run},
    {"--algorithms", "", ANY_WORDS, take_algorithms},
    {"--apply_algorithms", "", ANY_WORDS, take_algorithms},
};

/* Words that belong to the option at argv[0], which are then used; 0: it is not of this table. */
static enum status take_one(struct converter_words *w, int left, char **argv, int *ret)
{
    *ret = 0;
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (!str_eq(table[i].name, argv[0]) && !str_eq(table[i].letter, argv[0]))
            continue;
        int words = table[i].words;
        RETURN_IF(left <= words, ST_INVALID_ARG, "%s is followed by %d word%s; %d are expected", argv[0], left - 1,
                  left == 2 ? "" : "s", words);
        TRY(table[i].take(w, argv + 1));
        for (words = words == ANY_WORDS ? 0 : words; table[i].words == ANY_WORDS && is_word(argv[words + 1]);)
            words++;
        *ret = words + 1;
        return ST_OK;
    }
    return ST_OK;
}

enum status converter_words_take(struct converter_words *w, int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc;) {
        int used;
        TRY(take_one(w, *argc - i, argv + i, &used));
        if (!used)
            argv[kept++] = argv[i];
        i += used ? used : 1;
    }
    *argc = kept;
    argv[kept] = NULL;
    return ST_OK;
}

void converter_words_finish(struct converter_words *w)
{
    vec_finish(&w->inputs);
    vec_finish(&w->orders);
    vec_finish(&w->outputs);
    vec_finish(&w->symbols);
    vec_finish(&w->symbol_values);
    vec_finish(&w->preserved);
}

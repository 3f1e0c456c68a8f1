/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a model file through a converter: read, convert, say what the user must know, write. */
#include "converter/converter_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "converter/converter_words.h"

struct converter {
    const char *input, *output, *dump, *copyright;
    int64_t batch;
    uint32_t float_bits;
    bool dry_run, keep_batchnorm, preserve_io, reset_state, debug, no_simplification;
    const char *several; /* options of several words are read by converter_words.c; the rows below only describe them */
};

static const char *const float_widths[] = {"32", "16", NULL};

#define AT(member) offsetof(struct converter, member)
#define WORDS(option, short_name, words, text) {option, OPT_STRING, AT(several), .argument = words, .letter = short_name, .help = text}
static const struct tool_option options[] = {
    {"input_network", OPT_STRING, AT(input), .argument = "FILE", .letter = 'i', .required = true, .help = "The model."},
    {"output_path", OPT_STRING, AT(output), .argument = "FILE", .letter = 'o',
     .help = "The source to write; weights (.bin) and description (_net.json) are named after it. When not given, beside the input."},
    WORDS("out_node", 0, "NAME", "A tensor that becomes an output, instead of those of the model; may be repeated. --out_name is the same."),
    WORDS("input_dim", 'd', "NAME d0,d1,…", "Dimensions of an input; may be repeated."),
    WORDS("input_layout", 'l', "NAME LAYOUT", "Layout of an input: NCDHW NDHWC NCHW NHWC NFC NCF NTF TNF NF NC F NONTRIVIAL; may be repeated."),
    WORDS("input_dtype", 0, "NAME TYPE", "Data type of an input; may be repeated."),
    WORDS("define_symbol", 's', "SYMBOL VALUE", "Value of a symbolic dimension; may be repeated."),
    {"batch", OPT_NUMBER, AT(batch), .argument = "N", .letter = 'b', .min = 1, .max = INT32_MAX, .help = "Size of an open first dimension."},
    {"float_bw", OPT_CHOICE, AT(float_bits), .choices = float_widths, .help = "Bits of float tensors."},
    {"disable_batchnorm_folding", OPT_FLAG, AT(keep_batchnorm), .help = "Batch normalizations stay nodes of their own."},
    {"no_simplification", OPT_FLAG, AT(no_simplification), .letter = 'n', .help = "Accepted; nothing is simplified that changes results."},
    {"preserve_io", OPT_FLAG, AT(preserve_io), .help = "Inputs and outputs keep the layout and the type of the source."},
    {"reset_state", OPT_FLAG, AT(reset_state), .help = "Variables begin anew in every run, instead of becoming inputs and outputs of the graph."},
    {"copyright_file", OPT_STRING, AT(copyright), .argument = "FILE", .help = "Text for the head of the source."},
    {"dry_run", OPT_FLAG, AT(dry_run), .help = "Report what can be converted, write nothing."},
    {"dump_ir", OPT_STRING, AT(dump), .argument = "FILE", .help = "Write the graph as text, instead of the source. Large constants as checksums."},
    {"debug", OPT_FLAG, AT(debug), .help = "Say more."},
    {}
};

static void print_io(const struct convert_report *r, struct ir_graph *g)
{
    char text[DESC_TEXT_MAX];
    for (size_t i = 0; i < r->io.n; i++) {
        const struct convert_io *io = &r->io.at[i];
        uint32_t t = ir_find_tensor(g, io->graph_name);
        if (t == IR_NONE)
            continue;
        const struct tensor_desc *d = &g->tensors.at[t].desc;
        tool_say("%-6s %s %s%s%s%s%s%s", io->output ? "output" : "input", io->graph_name, desc_text(d, text), io->graph_layout[0] ? " " : "",
                 io->graph_layout, io->source_layout[0] && strcmp(io->source_layout, io->graph_layout) ? ", in the source " : "",
                 strcmp(io->source_layout, io->graph_layout) ? io->source_layout : "", io->state ? ", goes to an input of the next run" : "");
        if (io->state)
            tool_say("       -> %s", io->state);
        if (dtype_is_fixed(d->type) && d->q.kind == Q_TENSOR)
            tool_say("       scale %.9g, offset %d", (double)d->q.scale, d->q.offset);
    }
}

static void print_issues(const struct convert_report *r)
{
    for (size_t i = 0; i < r->issues.n; i++) {
        const struct convert_issue *s = &r->issues.at[i];
        tool_log(TOOL_ERROR, "%s \"%s\": %s%s%s", s->op, s->node, s->reason, s->nearest ? "; the nearest that is supported: " : "",
                 s->nearest ? s->nearest : "");
    }
}

static enum status dump(const struct ir_graph *g, const char *path)
{
    enum { MOST = 4096 };
    struct str s;
    str_init(&s);
    ir_print(g, MOST, &s);
    enum status st = s.failed ? status_fail(ST_NO_MEMORY, "no memory for the text of the graph") : tool_file_write(path, str_text(&s), s.n);
    str_finish(&s);
    return st;
}

/* "a/model.cpp" and "a/model" both name a/model.cpp, a/model.bin and a/model_net.json. */
static const char *prefix_of(const struct converter *c, struct arena *a)
{
    const char *path = c->output ? c->output : c->input, *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool suffix = dot && (!slash || dot > slash + 1) && (!c->output || !strcmp(dot, ".cpp"));
    return arena_printf(a, "%.*s", suffix ? (int)(dot - path) : (int)strlen(path), path);
}

static enum status write_files(const struct converter *c, const struct ir_graph *g, const struct convert_report *r, const char *command)
{
    struct arena a;
    struct tool_file notice = {0};
    arena_init(&a);
    struct convert_write w = {.prefix = prefix_of(c, &a), .command = command};
    enum status st = w.prefix ? ST_OK : ST_NO_MEMORY;
    if (st == ST_OK && c->copyright)
        st = tool_file_read(c->copyright, &notice);
    if (notice.data)
        w.copyright = arena_printf(&a, "%.*s", (int)notice.size, (const char *)notice.data);
    if (st == ST_OK)
        st = convert_write_model(g, r, &w);
    if (st == ST_OK)
        tool_say("wrote %s.cpp, %s.bin and %s_net.json", w.prefix, w.prefix, w.prefix);
    tool_file_free(&notice);
    arena_finish(&a);
    return st;
}

static const char *folder_of(const char *path, struct arena *a)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_printf(a, "%.*s", (int)(slash - path + 1), path) : "./";
}

static int run(const struct converter_front *front, const struct converter *c, const struct converter_words *w, const char *command)
{
    struct tool_file file = {0};
    struct convert_report report;
    struct ir_graph *g = NULL;
    struct convert_opts o = {.inputs = w->inputs.at, .n_inputs = (uint32_t)w->inputs.n, .outputs = w->outputs.at, .n_outputs = (uint32_t)w->outputs.n,
                             .symbols = w->symbols.at, .symbol_values = w->symbol_values.at, .n_symbols = (uint32_t)w->symbols.n,
                             .batch = (uint32_t)c->batch, .preserve_io = c->preserve_io, .float16 = c->float_bits == 1,
                             .keep_batchnorm = c->keep_batchnorm, .reset_state = c->reset_state};
    convert_report_init(&report);
    enum status st = tool_file_map(c->input, &file);
    if (st == ST_OK)
        st = front->convert(file.data, file.size, folder_of(c->input, &report.arena), &o, &report, &g);
    print_issues(&report);
    if (g) {
        print_io(&report, g);
        tool_say("%zu nodes, %llu parameters, %llu multiplications", g->nodes.n, (unsigned long long)report.params, (unsigned long long)report.macs);
    }
    if (st == ST_OK && c->dump)
        st = dump(g, c->dump);
    else if (st == ST_OK && !c->dry_run)
        st = write_files(c, g, &report, command);
    int rc = st == ST_OK ? 0 : tool_report(c->input, st);
    ir_graph_free(g);
    convert_report_finish(&report);
    tool_file_free(&file);
    return rc;
}

static void join(struct str *s, int argc, char **argv)
{
    str_init(s);
    for (int i = 0; i < argc; i++)
        str_addf(s, "%s%s", i ? " " : "", argv[i]);
}

int converter_main(const struct converter_front *front, int argc, char **argv)
{
    const struct tool_program program = {.name = front->program, .summary = front->summary, .usage = "-i MODEL [-o model.cpp] [options]",
                                         .options = options, .examples = front->examples};
    struct converter c = {0};
    struct converter_words w = {0};
    struct str command;
    struct arena a;
    int rc = 1;
    arena_init(&a);
    join(&command, argc, argv);
    tool_log_start();
    if (converter_words_take(&w, &argc, argv) != ST_OK) {
        tool_report(front->program, ST_INVALID_ARG);
    } else {
        enum tool_next next = tool_options_parse(&program, argc, argv, &c, &a);
        if (c.debug)
            tool_log_level(TOOL_DEBUG);
        rc = next == TOOL_RUN ? run(front, &c, &w, str_text(&command)) : next == TOOL_EXIT_OK ? 0 : 1;
    }
    converter_words_finish(&w);
    str_finish(&command);
    arena_finish(&a);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a model file through a converter: read, convert, say what the user must know, quantize, write. */
#include "converter/converter_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "converter/arch_checker.h"
#include "converter/custom_io.h"

/* ---- what is printed ---------------------------------------------------------------------------------------------- */

static void print_io(const struct convert_report *r, struct ir_graph *g)
{
    char text[DESC_TEXT_MAX];
    for (size_t i = 0; i < r->io.n; i++) {
        const struct convert_io *io = &r->io.at[i];
        uint32_t t = ir_find_tensor(g, io->graph_name);
        if (t == IR_NONE)
            continue;
        const struct tensor_desc *d = &g->tensors.at[t].desc;
        bool moved = strcmp(io->source_layout, io->graph_layout) != 0;
        tool_say("%-6s %s %s%s%s%s%s%s", io->output ? "output" : "input", io->graph_name, desc_text(d, text),
                 io->graph_layout[0] ? " " : "", io->graph_layout, io->source_layout[0] && moved ? ", in the source " : "",
                 moved ? io->source_layout : "", io->state ? ", goes to an input of the next run" : "");
        if (io->state)
            tool_say("       -> %s", io->state);
        if (dtype_is_fixed(d->type) && d->q.kind == Q_TENSOR)
            tool_say("       scale %.9g, offset %d", (double)d->q.scale, d->q.offset);
    }
}

void converter_print_issues(const struct convert_report *r)
{
    for (size_t i = 0; i < r->issues.n; i++) {
        const struct convert_issue *s = &r->issues.at[i];
        tool_log(TOOL_ERROR, "%s \"%s\": %s%s%s", s->op, s->node, s->reason,
                 s->nearest ? "; the nearest that is supported: " : "", s->nearest ? s->nearest : "");
    }
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

enum status converter_dump(const struct ir_graph *g, const char *path)
{
    enum { MOST = 4096 };
    struct str s;
    str_init(&s);
    ir_print(g, MOST, &s);
    enum status st = s.failed ? status_fail(ST_NO_MEMORY, "no memory for the text of the graph")
                              : tool_file_write(path, str_text(&s), s.n);
    str_finish(&s);
    return st;
}

/* "a/model.cpp" and "a/model" both name a/model.cpp, a/model.bin and a/model_net.json. */
const char *converter_prefix(const struct converter *c, const char *suffix, struct arena *a)
{
    const char *path = c->output ? c->output : c->input, *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool cut = dot && (!slash || dot > slash + 1) && (!c->output || str_eq(dot, suffix));
    return arena_printf(a, "%.*s", cut ? (int)(dot - path) : (int)strlen(path), path);
}

static enum status write_formats(const struct converter *c, const struct ir_graph *g, const struct convert_report *r,
                                 const struct convert_write *w)
{
    const char *slash = strrchr(w->prefix, '/');
    if (slash && slash > w->prefix) {
        CLEANUP(mem_freep) char *folder = mem_strdup(w->prefix);
        RETURN_IF(!folder, ST_NO_MEMORY, "no memory for a path");
        folder[slash - w->prefix] = '\0';
        TRY(tool_make_dirs(folder));
    }
    if (c->dlc) {
        TRY(convert_write_dlc(&g, 1, w));
        tool_say("wrote %s.dlc", w->prefix);
        return ST_OK;
    }
    TRY(convert_write_model(g, r, w));
    tool_say("wrote %s.cpp, %s.bin and %s_net.json", w->prefix, w->prefix, w->prefix);
    return ST_OK;
}

static enum status write_files(const struct converter *c, const struct ir_graph *g, const struct convert_report *r,
                               const char *command)
{
    struct arena a;
    struct tool_file notice = { 0 };
    arena_init(&a);
    const char *dot = c->output ? strrchr(c->output, '.') : NULL;
    bool source = !c->dlc || (c->source_format && dot && str_eq(dot, ".cpp")); /* model.cpp names model.dlc, too */
    struct convert_write w = { .prefix = converter_prefix(c, source ? ".cpp" : ".dlc", &a),
                               .command = command,
                               .version = c->version,
                               .own_names = c->own_prefix };
    enum status st = w.prefix ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for a path");
    if (st == ST_OK && c->copyright)
        st = tool_file_read(c->copyright, &notice);
    if (notice.data)
        w.copyright = arena_printf(&a, "%.*s", (int)notice.size, (const char *)notice.data);
    if (st == ST_OK)
        st = write_formats(c, g, r, &w);
    tool_file_free(&notice);
    arena_finish(&a);
    return st;
}

static const char *folder_of(const char *path, struct arena *a)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_printf(a, "%.*s", (int)(slash - path + 1), path) : "./";
}

/* ---- the way ------------------------------------------------------------------------------------------------------ */

static void release(void *arg, const void *bytes, size_t size)
{
    tool_file_release(arg, bytes, size);
}

static enum status convert(const struct converter_front *front, const struct converter *c, const struct converter_words *w,
                           const struct tool_file *file, struct convert_report *report, struct ir_graph **ret)
{
    struct convert_opts o = { .inputs = w->inputs.at,
                              .n_inputs = (uint32_t)w->inputs.n,
                              .outputs = w->outputs.at,
                              .n_outputs = (uint32_t)w->outputs.n,
                              .symbols = w->symbols.at,
                              .symbol_values = w->symbol_values.at,
                              .n_symbols = (uint32_t)w->symbols.n,
                              .batch = (uint32_t)c->batch,
                              .preserve_io = w->preserve_layout,
                              .float16 = c->float_bits == 1,
                              .preserve_types = w->preserve_type,
                              .preserved = w->preserved.at,
                              .n_preserved = (uint32_t)w->preserved.n,
                              .keep_batchnorm = c->keep_batchnorm,
                              .reset_state = c->reset_state,
                              .approximate = quantizer_wanted(&c->quant),
                              .keep_patterns = c->keep_patterns,
                              .release = release,
                              .release_arg = (void *)file };
    enum status st = front->convert(file->data, file->size, folder_of(c->input, &report->arena), &o, report, ret);
    converter_print_issues(report);
    if (st == ST_OK && *ret)
        tool_say("%zu nodes, %llu parameters, %llu multiplications", (*ret)->nodes.n, (unsigned long long)report->params,
                 (unsigned long long)report->macs);
    return st;
}

/* The model without its encodings. */
static enum status strip(struct ir_graph **g)
{
    struct ir_graph *real;
    TRY(quantize_strip(*g, &real));
    ir_graph_free(*g);
    *g = real;
    return ST_OK;
}

static enum status number_names(struct ir_graph *g)
{
    for (uint32_t i = 0; i < g->tensors.n; i++) {
        struct ir_tensor *t = &g->tensors.at[i];
        if (t->role != IR_NATIVE && t->role != IR_CONST)
            continue;
        t->name = arena_printf(&g->arena, "tensor_%u", i);
        RETURN_IF(!t->name, ST_NO_MEMORY, "no memory for the name of a tensor");
    }
    g->names.n = SIZE_MAX; /* the index of names starts again */
    return ST_OK;
}

/* What happens to the graph between reading and writing. */
static enum status improve(struct converter *c, const struct convert_report *report, const struct converter_words *w,
                           struct ir_graph **g, struct ir_graph **keep)
{
    struct arena *a = (struct arena *)&report->arena;
    if (c->quant.ignore_model || c->export_format == 1)
        TRY(strip(g));
    TRY(converter_orders(w, report, *g, a));
    if (c->custom_template)
        TRY(custom_io_template(report, *g, c->custom_template));
    if (c->custom_io)
        TRY(custom_io_read(c->custom_io, report, *g, a, &c->quant));
    if (quantizer_wanted(&c->quant))
        TRY(quantizer_run(&c->quant, report, g, keep));
    print_io(report, *g);
    if (c->number_names)
        TRY(number_names(*g));
    if (c->dump)
        TRY(converter_dump(*g, c->dump));
    return ST_OK;
}

/* Options that contradict each other. */
static enum status check(const struct converter *c)
{
    RETURN_IF(c->quant.ignore_model && c->quant.overrides, ST_INVALID_ARG,
              "--ignore_encodings and --quantization_overrides contradict each other; give one of them");
    RETURN_IF(c->float_bias_given && c->float_bias_bits != c->float_bits, ST_NOT_SUPPORTED,
              "biases of %s bits beside float tensors of %s bits are not supported; give --float_bitwidth %s too",
              converter_float_widths[c->float_bias_bits], converter_float_widths[c->float_bits],
              converter_float_widths[c->float_bias_bits]);
    return ST_OK;
}

static enum status check_architecture(const struct converter *c, const struct ir_graph *g,
                                      const struct convert_report *report)
{
    CLEANUP(arena_finish) struct arena a;
    const char *prefix;

    arena_init(&a);
    prefix = converter_prefix(c, c->dlc ? ".dlc" : ".cpp", &a);
    RETURN_IF(!prefix, ST_NO_MEMORY, "no memory for a path");
    return arch_checker_run(g, report, c->dry_run ? NULL : prefix);
}

static int run(const struct converter_front *front, struct converter *c, const struct converter_words *w,
               const char *command)
{
    struct tool_file file = { 0 };
    struct convert_report report;
    struct ir_graph *g = NULL, *keep = NULL;
    convert_report_init(&report);
    enum status st = check(c);
    if (st == ST_OK)
        st = tool_file_map(c->input, &file);
    if (st == ST_OK)
        st = convert(front, c, w, &file, &report, &g);
    if (st == ST_OK)
        st = improve(c, &report, w, &g, &keep);
    if (st == ST_OK && !c->dry_run)
        st = write_files(c, g, &report, command);
    if (st == ST_OK && c->arch_checker)
        st = check_architecture(c, g, &report);
    int rc = st == ST_OK ? 0 : tool_report(c->input, st);
    ir_graph_free(g);
    ir_graph_free(keep);
    convert_report_finish(&report);
    tool_file_free(&file);
    return rc;
}

void converter_command(struct str *s, int argc, char **argv)
{
    str_init(s);
    for (int i = 0; i < argc; i++)
        str_addf(s, "%s%s", i ? " " : "", argv[i]);
}

void converter_words_apply(const struct converter_words *w, struct converter *c)
{
    c->dry_run |= w->dry_run;
    c->keep_patterns |= w->keep_patterns;
    c->quant.per_channel |= w->per_channel;
    c->quant.per_row |= w->per_row;
    c->quant.cle = w->cle;
    c->quant.bc = w->bc;
    c->quant.adaround = w->adaround;
    c->quant.amp = w->amp;
    c->quant.preserve_io |= w->preserve_type;
    c->quant.preserved = w->preserved.at;
    c->quant.n_preserved = (uint32_t)w->preserved.n;
}

int converter_program(const struct converter_front *front, const struct tool_option *options, bool dlc, int argc,
                      char **argv)
{
    const struct tool_program program = { .name = front->program,
                                          .summary = front->summary,
                                          .usage = "-i MODEL [-o FILE] [options]",
                                          .options = options,
                                          .examples = front->examples };
    struct converter c = { .dlc = dlc };
    struct converter_words w = { .letter_s_is_shape = dlc };
    struct str command;
    struct arena a;
    int rc = 1;
    arena_init(&a);
    converter_command(&command, argc, argv);
    quantizer_defaults(&c.quant);
    tool_log_start();
    if (converter_words_take(&w, &argc, argv) != ST_OK) {
        tool_report(front->program, ST_INVALID_ARG);
    } else {
        enum tool_next next = tool_options_parse(&program, argc, argv, &c, &a);
        if (c.debug)
            tool_log_level(TOOL_DEBUG);
        converter_words_apply(&w, &c);
        c.dlc |= c.source_format == 1;
        rc = next == TOOL_RUN ? run(front, &c, &w, str_text(&command)) : next == TOOL_EXIT_OK ? 0 : 1;
    }
    converter_words_finish(&w);
    str_finish(&command);
    arena_finish(&a);
    return rc;
}

int converter_main(const struct converter_front *front, int argc, char **argv)
{
    return converter_program(front, converter_options, false, argc, argv);
}

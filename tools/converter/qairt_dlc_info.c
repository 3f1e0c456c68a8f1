/* SPDX-License-Identifier: Apache-2.0 */
/* qairt-dlc-info: what is in a DLC. A table with a line for every node, and what they add up to; the same as CSV. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/tool_file.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "convert/convert.h"

struct args {
    const char *input, *save;
    bool memory, encodings, trace;
};

#define AT(m) offsetof(struct args, m)
static const struct tool_option options[] = {
    { "input_dlc", OPT_STRING, AT(input), .argument = "FILE", .letter = 'i', .required = true, .help = "The DLC." },
    { "save", OPT_STRING, AT(save), .argument = "FILE", .letter = 's', .help = "Also write the table of nodes as CSV." },
    { "display_memory", OPT_FLAG, AT(memory), .letter = 'm',
      .help = "Bytes of the constants and of the outputs of every node, and of all together." },
    { "display_all_encodings", OPT_FLAG, AT(encodings), .letter = 'd',
      .help = "Every tensor with its type, dimensions and encoding." },
    { "dump_framework_trace", OPT_FLAG, AT(trace), .letter = 't',
      .help = "Which operators of the source model every node was made from." },
    {}
};

/* ---- cells ------------------------------------------------------------------------------------------------------------ */

enum column { ID, NAME, TYPE, INPUTS, OUTPUTS, OUT_DIMS, PARAMETERS, MACS, MEMORY, TRACE, COLUMNS };
static const char *const titles[COLUMNS] = { "Id",       "Name",       "Type", "Inputs", "Outputs",
                                             "Out Dims", "Parameters", "MACs", "Bytes",  "Source" };

struct totals {
    uint64_t parameters, macs, constants, outputs;
};

static void add_dims(struct str *s, const struct tensor_desc *d)
{
    str_add(s, "[");
    for (uint32_t i = 0; i < d->rank; i++)
        str_addf(s, "%s%u", i ? "," : "", d->dims[i]);
    str_add(s, "]");
}

/* Names of tensors, or their dimensions. */
static void add_tensors(struct str *s, const struct ir_graph *g, const uint32_t *list, uint32_t n, bool dims)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == IR_NONE || g->tensors.at[list[i]].role == IR_ABSENT)
            continue;
        str_add(s, s->n ? ", " : "");
        if (dims)
            add_dims(s, &g->tensors.at[list[i]].desc);
        else
            str_add(s, g->tensors.at[list[i]].name);
    }
}

static void add_sources(struct str *s, const char *source)
{
    for (; source && *source; source++)
        if (*source == '\n')
            str_add(s, ", ");
        else
            str_addn(s, source, 1);
}

static void fill_row(const struct ir_graph *g, uint32_t index, struct str row[COLUMNS], struct totals *t)
{
    const struct ir_node *n = &g->nodes.at[index];
    uint64_t parameters = 0, constants = 0, outputs = 0, macs = 0;
    struct ir_call view;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != IR_NONE && g->tensors.at[n->in[i]].role == IR_CONST) {
            parameters += desc_count(&g->tensors.at[n->in[i]].desc);
            constants += desc_bytes(&g->tensors.at[n->in[i]].desc);
        }
    for (uint32_t i = 0; i < n->n_out; i++)
        outputs += n->out[i] == IR_NONE ? 0 : desc_bytes(&g->tensors.at[n->out[i]].desc);
    ir_call(g, n, &view);
    if (n->n_out && view.out[0])
        macs = convert_macs(&view.call, view.out[0]);
    str_addf(&row[ID], "%u", index);
    str_add(&row[NAME], n->name);
    str_add(&row[TYPE], n->op->name);
    add_tensors(&row[INPUTS], g, n->in, n->n_in, false);
    add_tensors(&row[OUTPUTS], g, n->out, n->n_out, false);
    add_tensors(&row[OUT_DIMS], g, n->out, n->n_out, true);
    str_addf(&row[PARAMETERS], "%" PRIu64, parameters);
    str_addf(&row[MACS], "%" PRIu64, macs);
    str_addf(&row[MEMORY], "%" PRIu64 " + %" PRIu64, constants, outputs);
    add_sources(&row[TRACE], n->source);
    t->parameters += parameters;
    t->macs += macs;
    t->constants += constants;
    t->outputs += outputs;
}

/* ---- tables ----------------------------------------------------------------------------------------------------------- */

static void add_csv(struct str *to, const char *text, bool first)
{
    str_addf(to, "%s\"", first ? "" : ",");
    for (; *text; text++) {
        str_addn(to, text, 1);
        if (*text == '"')
            str_add(to, "\"");
    }
    str_add(to, "\"");
}

static bool shown(const struct args *a, enum column c)
{
    return c == MEMORY ? a->memory : c == TRACE ? a->trace : true;
}

/* Two walks: how wide columns are is known at the end. */
static void print_nodes(const struct args *a, const struct ir_graph *g, struct totals *t, struct str *csv)
{
    size_t width[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        width[c] = strlen(titles[c]);
    for (int print = 0; print < 2; print++) {
        *t = (struct totals){ 0 };
        for (uint32_t i = 0; i <= g->nodes.n; i++) { /* line 0 has the titles */
            struct str row[COLUMNS];
            for (int c = 0; c < COLUMNS; c++)
                str_init(&row[c]);
            if (i)
                fill_row(g, i - 1, row, t);
            for (int c = 0; c < COLUMNS; c++) {
                const char *text = i ? str_text(&row[c]) : titles[c];
                if (!print && row[c].n > width[c])
                    width[c] = row[c].n;
                if (print && shown(a, (enum column)c))
                    printf("%s%-*s", c ? " | " : "", (int)width[c], text);
                if (print && shown(a, (enum column)c))
                    add_csv(csv, text, c == 0);
                str_finish(&row[c]);
            }
            if (print) {
                printf("\n");
                str_add(csv, "\n");
            }
        }
    }
}

static void print_tensors(const struct ir_graph *g, const char *title, bool (*wanted)(const struct ir_tensor *t))
{
    printf("%s\n", title);
    for (size_t i = 0; i < g->tensors.n; i++) {
        const struct ir_tensor *t = &g->tensors.at[i];
        const struct quant *q = &t->desc.q;
        if (!wanted(t))
            continue;
        struct str dims;
        str_init(&dims);
        add_dims(&dims, &t->desc);
        printf("  %s: %s%s", t->name, dtype_name(t->desc.type), str_text(&dims));
        if (q->kind == Q_TENSOR)
            printf(", scale %.9g, offset %d", (double)q->scale, q->offset);
        else if (q->kind != Q_NONE)
            printf(", %u scales along axis %d, %.9g to %.9g", q->n, q->axis, q->n ? (double)q->scales[0] : 0.0,
                   q->n ? (double)q->scales[q->n - 1] : 0.0);
        if (q->bits)
            printf(", %u bits", q->bits);
        printf("\n");
        str_finish(&dims);
    }
}

static bool is_input(const struct ir_tensor *t)
{
    return t->role == IR_INPUT || t->role == IR_INOUT;
}

static bool is_output(const struct ir_tensor *t)
{
    return t->role == IR_OUTPUT || t->role == IR_INOUT;
}

static bool is_any(const struct ir_tensor *t)
{
    return t->role != IR_ABSENT;
}

static void print_graph(const struct args *a, const struct ir_graph *g, struct str *csv)
{
    struct totals t;
    printf("\nGraph \"%s\": %zu nodes\n", g->name, g->nodes.n);
    print_tensors(g, "Inputs", is_input);
    print_tensors(g, "Outputs", is_output);
    print_nodes(a, g, &t, csv);
    printf("Total parameters: %" PRIu64 "\nTotal MACs per inference: %" PRIu64 "\n", t.parameters, t.macs);
    if (a->memory)
        printf("Bytes of constants: %" PRIu64 "\nBytes of all outputs: %" PRIu64 "\n", t.constants, t.outputs);
    if (a->encodings)
        print_tensors(g, "Tensors", is_any);
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static enum status print_records(struct convert_dlc *d)
{
    for (uint32_t i = 0; i < convert_dlc_count(d); i++) {
        const void *bytes;
        printf("Record %s: %" PRIu64 " bytes\n", convert_dlc_name(d, i), convert_dlc_size(d, i));
        if (strcmp(convert_dlc_name(d, i), "dlc.metadata") != 0)
            continue;
        TRY(convert_dlc_record(d, i, &bytes));
        const char *at = bytes, *end = at + convert_dlc_size(d, i);
        while (at < end) { /* key=value */
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            stop = stop ? stop : end;
            printf("  %.*s\n", (int)(stop - at), at);
            at = stop + 1;
        }
    }
    return ST_OK;
}

static enum status show(const struct args *a, struct convert_dlc *d, struct str *csv)
{
    struct ir_graph *const *graphs;
    uint32_t n;
    printf("DLC info for: %s\n", a->input);
    TRY(print_records(d));
    TRY(convert_dlc_graphs(d, NULL, &graphs, &n));
    for (uint32_t i = 0; i < n; i++)
        print_graph(a, graphs[i], csv);
    RETURN_IF(csv->failed, ST_NO_MEMORY, "no memory for the table");
    return a->save ? tool_file_write(a->save, str_text(csv), csv->n) : ST_OK;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "qairt-dlc-info",
        .summary = "tells what is in a DLC: records, graphs, nodes, parameters.",
        .usage = "-i FILE [-s FILE.csv] [-m] [-d] [-t]",
        .options = options,
        .examples = "  qairt-dlc-info -i model.dlc -m\n  qairt-dlc-info -i model.dlc -d -s model.csv\n",
    };
    struct args a = { 0 };
    struct convert_dlc *d = NULL;
    struct arena arena;
    struct str csv;
    arena_init(&arena);
    str_init(&csv);
    tool_log_start();
    enum tool_next next = tool_options_parse(&program, argc, argv, &a, &arena);
    int rc = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        enum status st = convert_dlc_open(a.input, &d);
        st = st == ST_OK ? show(&a, d, &csv) : st;
        rc = st != ST_OK ? tool_report(a.input, st) : 0;
    }
    convert_dlc_close(d);
    str_finish(&csv);
    arena_finish(&arena);
    return rc;
}

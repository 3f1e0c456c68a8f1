/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a case, runs it through the public API, and compares. A graph has fixed shapes: where an input decides a shape
 * (axes, pads, sizes …), the conversion is repeated with the contents of small inputs known, as if the model had them as
 * constants. */
#include "onnx_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "convert/builder.h"
#include "model_run.h"

enum { FILES_MAX = 24, KNOWN_MAX = 4096 };

struct blob {
    void *bytes;
    size_t size;
    struct onnx_tensor t;
    const void *data;
};

struct run {
    struct onnx_case *c;
    struct compose *on;
    struct arena arena;
    struct blob model, in[FILES_MAX], out[FILES_MAX];
    uint32_t n_in, n_out;
    struct onnx_model m;
    const char *in_names[FILES_MAX]; /* of the model, in the order of the files */
    struct convert_report report;
    struct ir_graph *g;
    struct onnx_how how;
};

static bool not_passed(struct run *r, enum verdict v, const char *reason)
{
    r->c->verdict = v;
    snprintf(r->c->reason, sizeof(r->c->reason), "%.590s", reason);
    return false;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static bool load(struct run *r, const char *path, struct blob *b)
{
    b->bytes = read_whole_file(path, &b->size);
    if (!b->bytes)
        return false;
    struct wire w = {b->bytes, (const uint8_t *)b->bytes + b->size};
    return onnx_parse_tensor(&r->arena, w, &b->t) == ST_OK && onnx_tensor_bytes(&r->arena, &b->t, NULL, &b->data) == ST_OK;
}

static uint32_t load_all(struct run *r, const char *folder, const char *what, struct blob *list)
{
    uint32_t n = 0;
    for (; n < FILES_MAX; n++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%u.pb", folder, what, n);
        if (!load(r, path, &list[n]) && !list[n].bytes)
            break;
    }
    return n;
}

static bool is_initializer(const struct onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializers; i++)
        if (!strcmp(g->initializers[i].name, name))
            return true;
    return false;
}

static void name_inputs(struct run *r)
{
    uint32_t k = 0;
    for (size_t i = 0; i < r->m.graph.n_inputs && k < FILES_MAX; i++)
        if (!is_initializer(&r->m.graph, r->m.graph.inputs[i].name))
            r->in_names[k++] = r->m.graph.inputs[i].name;
}

static void list_ops(struct run *r)
{
    char *ops = r->c->ops;
    for (size_t i = 0; i < r->m.graph.n_nodes; i++) {
        const char *op = r->m.graph.nodes[i].op;
        char padded[300], wanted[140];
        snprintf(padded, sizeof(padded), "+%s+", ops);
        snprintf(wanted, sizeof(wanted), "+%.120s+", op);
        if (strstr(padded, wanted) || strlen(ops) + strlen(op) + 2 > sizeof(r->c->ops))
            continue;
        strcat(strcat(ops, ops[0] ? "+" : ""), op);
    }
}

static bool open_case(struct run *r, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/model.onnx", folder);
    r->model.bytes = read_whole_file(path, &r->model.size);
    if (!r->model.bytes)
        return not_passed(r, CASE_BROKEN, "model.onnx cannot be read");
    if (onnx_parse_model(&r->arena, r->model.bytes, r->model.size, &r->m) != ST_OK)
        return not_passed(r, CASE_BROKEN, status_text());
    r->n_in = load_all(r, folder, "input", r->in);
    r->n_out = load_all(r, folder, "output", r->out);
    name_inputs(r);
    list_ops(r);
    return true;
}

/* ---- conversion --------------------------------------------------------------------------------------------------- */

static struct tensor_desc desc_of(const struct onnx_tensor *t)
{
    struct tensor_desc d = {.type = t->type, .rank = (uint8_t)t->rank};
    for (uint32_t i = 0; i < t->rank && i < MAX_RANK; i++)
        d.dims[i] = (uint32_t)t->dims[i];
    return d;
}

/* 1: small lists of integers; 2: also small lists of anything; 3: everything small. */
static bool is_known(const struct onnx_tensor *t, unsigned level)
{
    struct tensor_desc d = desc_of(t);
    bool whole = t->type == DT_I64 || t->type == DT_I32 || t->type == DT_B8,
         short_list = t->rank <= 1 && desc_count(&d) <= 64;
    return level == 1 ? whole && short_list : level == 2 ? short_list : level == 3 && desc_count(&d) <= KNOWN_MAX;
}

/* Bit i of `set`: the contents of input i are given. */
static enum status convert(struct run *r, uint32_t set)
{
    struct convert_const known[FILES_MAX];
    struct convert_input shapes[FILES_MAX];
    struct convert_opts o = {.preserve_io = !r->how.channel_last, .constants = known, .inputs = shapes};
    for (uint32_t i = 0; i < r->n_in && r->in_names[i]; i++) {
        const struct onnx_tensor *t = &r->in[i].t;
        if (t->type == DT_NONE || t->rank > MAX_RANK)
            continue;
        if (set >> i & 1) {
            known[o.n_constants++] = (struct convert_const){r->in_names[i], desc_of(t), r->in[i].data};
            continue;
        }
        shapes[o.n_inputs] = (struct convert_input){.name = r->in_names[i], .rank = (uint8_t)t->rank, .type = DT_NONE};
        memcpy(shapes[o.n_inputs++].dims, desc_of(t).dims, sizeof(shapes->dims));
    }
    r->c->fixed = o.n_constants;
    ir_graph_free(TAKE(r->g));
    convert_report_finish(&r->report);
    convert_report_init(&r->report);
    return convert_onnx(r->model.bytes, r->model.size, NULL, &o, &r->report, &r->g);
}

/* Only what cannot be converted otherwise stays known: everything else is an input that the graph reads when it runs. */
static bool only_needed(struct run *r, uint32_t set)
{
    for (uint32_t i = r->n_in; i-- > 0;)
        if (set >> i & 1 && convert(r, set & ~(1u << i)) == ST_OK)
            set &= ~(1u << i);
    return convert(r, set) == ST_OK;
}

static void tell(const struct run *r, char *to, size_t size)
{
    const struct convert_issue *s = r->report.issues.n ? &r->report.issues.at[0] : NULL;
    snprintf(to, size, "%.60s%s%.500s", s ? s->op : "", s ? ": " : "", s ? s->reason : status_text());
}

static bool convert_case(struct run *r)
{
    char first[600];
    if (convert(r, 0) == ST_OK)
        return true;
    tell(r, first, sizeof(first));
    for (unsigned level = 1; level <= 3; level++) {
        uint32_t set = 0;
        for (uint32_t i = 0; i < r->n_in; i++)
            set |= (uint32_t)(r->in[i].t.type != DT_NONE && r->in[i].t.rank <= MAX_RANK && is_known(&r->in[i].t, level))
                   << i;
        if (!set)
            continue;
        if (convert(r, set) == ST_OK)
            return only_needed(r, set);
        tell(r, first, sizeof(first));
    }
    r->c->fixed = 0;
    return not_passed(r, CASE_REFUSED, first);
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static uint32_t tensor_of(struct run *r, const char *source, bool output)
{
    for (size_t i = 0; i < r->report.io.n; i++)
        if (r->report.io.at[i].output == output && !strcmp(r->report.io.at[i].source_name, source))
            return ir_find_tensor(r->g, r->report.io.at[i].graph_name);
    return IR_NONE;
}

static void tolerance(enum dtype t, double *relative, double *absolute)
{
    bool half = t == DT_F16 || t == DT_BF16;
    *relative = half ? 5e-3 : 1e-3;
    *absolute = half ? 2e-3 : 1e-5;
}

/* The converter says that it moved the channels. */
static bool is_turned(const struct run *r, const char *source, bool output)
{
    for (size_t i = 0; i < r->report.io.n; i++) {
        const struct convert_io *io = &r->report.io.at[i];
        if (io->output == output && !strcmp(io->source_name, source))
            return strcmp(io->source_layout, io->graph_layout) != 0;
    }
    return false;
}

/* From the order of the graph to that of the source, or the other way. */
static const void *turn(struct run *r, const struct tensor_desc *d, const void *data, bool to_source,
                        struct tensor_desc *ret)
{
    uint8_t last[MAX_RANK], perm[MAX_RANK];
    void *to = arena_alloc(&r->arena, desc_bytes(d));
    perm_channel_last(last, d->rank);
    perm_invert(last, d->rank, perm);
    *ret = *d;
    for (uint32_t i = 0; i < d->rank; i++)
        ret->dims[i] = d->dims[to_source ? perm[i] : last[i]];
    if (to)
        transpose_bytes(d, data, to_source ? perm : last, to);
    r->c->turned++;
    return to;
}

static bool compare(struct run *r, uint32_t i, uint32_t t, const void *got)
{
    const struct onnx_tensor *want = &r->out[i].t;
    const struct tensor_desc *d = &r->g->tensors.at[t].desc;
    struct tensor_desc w = desc_of(want), turned;
    if (is_turned(r, r->m.graph.outputs[i].name, true)) {
        got = turn(r, d, got, true, &turned);
        d = &turned;
    }
    char text[300], a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    double relative, absolute;
    if (d->rank != w.rank || memcmp(d->dims, w.dims, d->rank * sizeof(d->dims[0])) ||
        dtype_bits(d->type) != dtype_bits(w.type)) {
        snprintf(text, sizeof(text), "output %u is %s, %s is expected", i, desc_text(d, a), desc_text(&w, b));
        return not_passed(r, CASE_FAILED, text);
    }
    tolerance(w.type, &relative, &absolute);
    for (uint64_t k = 0; k < desc_count(d); k++, r->c->compared++) {
        double x = number_get(w.type, got, k), y = number_get(w.type, r->out[i].data, k);
        if (r->how.spoil && k == 0)
            x = isfinite(y) ? y + 1000 + fabs(y) : 0;
        /* an infinite y would make the tolerance infinite, too */
        bool same =
            x == y || (x != x && y != y) || (isfinite(x) && isfinite(y) && fabs(x - y) <= absolute + relative * fabs(y));
        if (same)
            continue;
        snprintf(text, sizeof(text), "output %u, element %llu of %s: %.9g, %.9g is expected", i, (unsigned long long)k,
                 desc_text(d, a), x, y);
        return not_passed(r, CASE_FAILED, text);
    }
    return true;
}

static bool give_inputs(struct run *r, void **data)
{
    for (uint32_t i = 0; i < r->n_in && r->in_names[i]; i++) {
        uint32_t t = tensor_of(r, r->in_names[i], false);
        struct tensor_desc d = desc_of(&r->in[i].t);
        if (t == IR_NONE)
            continue;
        if (desc_bytes(&r->g->tensors.at[t].desc) != desc_bytes(&d))
            return not_passed(r, CASE_BROKEN, "an input of the graph has another size than its file");
        struct tensor_desc moved;
        const void *from = is_turned(r, r->in_names[i], false) ? turn(r, &d, r->in[i].data, false, &moved) : r->in[i].data;
        memcpy(data[t], from, desc_bytes(&d));
    }
    return true;
}

static bool execute(struct run *r)
{
    struct ir_graph *g = r->g;
    void **data = arena_array(&r->arena, void *, g->tensors.n);
    for (size_t i = 0; data && i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_INPUT || g->tensors.at[i].role == IR_OUTPUT)
            data[i] = arena_alloc(&r->arena, desc_bytes(&g->tensors.at[i].desc));
    if (!data || !give_inputs(r, data))
        return false;
    if (!compose_graph(r->on, g) || !compose_run(r->on, data)) {
        not_passed(r, CASE_BROKEN, r->on->error);
        compose_drop(r->on);
        return false;
    }
    compose_drop(r->on);
    r->c->nodes = (unsigned)g->nodes.n;
    for (size_t i = 0; i < g->tensors.n; i++)
        r->c->inputs += g->tensors.at[i].role == IR_INPUT;
    if (r->n_out == 0 || r->n_out != r->m.graph.n_outputs)
        return not_passed(r, CASE_BROKEN, "the case has another number of expected outputs than the model");
    for (uint32_t i = 0; i < r->n_out && i < r->m.graph.n_outputs; i++) {
        uint32_t t = tensor_of(r, r->m.graph.outputs[i].name, true);
        if (r->out[i].t.type == DT_NONE || t == IR_NONE)
            return not_passed(r, CASE_BROKEN, "an expected output cannot be read, or the graph has none of its name");
        if (!compare(r, i, t, data[t]))
            return false;
    }
    return true;
}

void onnx_case_run(struct onnx_case *c, struct compose *on, const char *folder, struct onnx_how how)
{
    struct run r = {.c = c, .on = on, .how = how};
    arena_init(&r.arena);
    convert_report_init(&r.report);
    c->verdict = CASE_PASSED;
    c->ops[0] = c->reason[0] = 0;
    c->fixed = c->inputs = c->nodes = c->turned = 0;
    c->compared = 0;
    (void)(open_case(&r, folder) && convert_case(&r) && execute(&r));
    ir_graph_free(r.g);
    convert_report_finish(&r.report);
    for (uint32_t i = 0; i < FILES_MAX; i++) {
        mem_free(r.in[i].bytes);
        mem_free(r.out[i].bytes);
    }
    mem_free(r.model.bytes);
    arena_finish(&r.arena);
}

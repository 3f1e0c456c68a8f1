/* SPDX-License-Identifier: Apache-2.0 */
/* From an ONNX file to a graph: initializers, inputs, nodes in order, outputs, and what nobody needs goes. */
#include <string.h>

#include "base/file_kind.h"
#include "convert/onnx/onnx.h"

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static const struct onnx_row *const row_lists[] = {
    onnx_rows_elementwise, onnx_rows_activation, onnx_rows_composed, onnx_rows_conv,      onnx_rows_pool,
    onnx_rows_shape,       onnx_rows_slice,      onnx_rows_gather,   onnx_rows_reduce,    onnx_rows_norm,
    onnx_rows_matmul,      onnx_rows_quant,      onnx_rows_qlinear,  onnx_rows_recurrent, onnx_rows_resize,
    onnx_rows_attention,   onnx_rows_image,      onnx_rows_control,  onnx_rows_loop,      onnx_rows_bits,
    onnx_rows_signal,      onnx_rows_sample,     onnx_rows_unpool,   onnx_rows_matrix,    onnx_rows_written,
    onnx_rows_sequence,    onnx_rows_softmax,   onnx_rows_grouped,
};

const struct onnx_row *onnx_row_find(const char *op)
{
    for (size_t k = 0; k < sizeof(row_lists) / sizeof(row_lists[0]); k++)
        for (const struct onnx_row *r = row_lists[k]; r->op; r++)
            if (!strcmp(r->op, op))
                return r;
    return NULL;
}

const char *onnx_row_nearest(const char *op)
{
    const char *best = NULL;
    unsigned least = 4;
    for (size_t k = 0; k < sizeof(row_lists) / sizeof(row_lists[0]); k++)
        for (const struct onnx_row *r = row_lists[k]; r->op; r++) {
            unsigned d = str_distance(r->op, op);
            if (d < least) {
                least = d;
                best = r->op;
            }
        }
    return best;
}

const char *onnx_row_arg(const struct onnx_node *n)
{
    const struct onnx_row *r = onnx_row_find(n->op);
    return r && r->arg ? r->arg : "";
}

/* ---- constants ---------------------------------------------------------------------------------------------------- */

static enum status add_constant(struct onnx_cx *cx, const char *name, const struct onnx_tensor *t)
{
    const void *data;
    REFUSE_WHEN(t->rank > MAX_RANK, "constant \"%s\" has rank %u; at most %d is supported", name, t->rank, MAX_RANK);
    TRY(onnx_tensor_bytes(&cx->b.g->arena, t, cx->folder, &data));
    struct onnx_value *v = onnx_value_new(cx, name);
    RETURN_IF(!v, ST_BAD_TEXT, "constant \"%s\" appears twice, or there is no memory for it", name);
    v->type = v->stored = t->type;
    v->rank = (uint8_t)t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        v->dims[i] = (uint32_t)t->dims[i];
    v->data = data;
    return ST_OK;
}

enum status onnx_poison(struct onnx_cx *cx, const char *name)
{
    struct onnx_entry *e = onnx_entry(cx, cx->scope->prefix, name, true);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for the names of the model");
    if (e->value && e->value->name)
        return ST_OK;
    bool output = e->value && e->value->output;
    e->value = arena_new(&cx->arena, struct onnx_value);
    RETURN_IF(!e->value, ST_NO_MEMORY, "no memory for value \"%s\"", name);
    e->value->name = name;
    e->value->tensor = e->value->real = IR_NONE;
    e->value->output = output;
    return ST_OK;
}

enum status onnx_initializers(struct onnx_cx *cx, const struct onnx_graph *g)
{
    for (size_t i = 0; i < g->n_initializers; i++) {
        const struct onnx_tensor *t = &g->initializers[i];
        enum status st = add_constant(cx, t->name, t);
        if (st == ST_NO_MEMORY || st == ST_BAD_TEXT)
            return st;
        if (st != ST_OK) {
            TRY(report_issue(cx->r, t->name, "initializer", status_text(), NULL));
            TRY(onnx_poison(cx, t->name));
        }
    }
    return ST_OK;
}

/* ---- before and after --------------------------------------------------------------------------------------------- */

static enum status note_uses(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++) {
            if (!g->nodes[i].in[k][0])
                continue;
            struct onnx_entry *e = onnx_entry(cx, "", g->nodes[i].in[k], true);
            struct onnx_use *u = e ? arena_new(&cx->arena, struct onnx_use) : NULL;
            RETURN_IF(!u, ST_NO_MEMORY, "no memory for the names of the model");
            *u = (struct onnx_use){&g->nodes[i], k, e->uses};
            e->uses = u;
        }
    return ST_OK;
}

static enum status need(struct onnx_cx *cx, const char *name)
{
    struct onnx_entry *e = onnx_entry(cx, "", name, true);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for the names of the model");
    e->needed = true;
    return ST_OK;
}

/* Bodies of control flow read names that their node does not list. Names of their own are harmless: nobody else asks. */
static enum status need_bodies(struct onnx_cx *cx, const struct onnx_node *n, unsigned depth)
{
    for (uint32_t i = 0; i < n->n_attrs && depth <= 16; i++) { /* deeper ones are refused when they are converted */
        struct onnx_graph body;
        if (!n->attrs[i].graph.p)
            continue;
        TRY(onnx_parse_graph(&cx->arena, n->attrs[i].graph, &body));
        for (size_t k = 0; k < body.n_outputs; k++)
            TRY(need(cx, body.outputs[k].name));
        for (size_t k = 0; k < body.n_nodes; k++) {
            for (uint32_t j = 0; j < body.nodes[k].n_in; j++)
                TRY(need(cx, body.nodes[k].in[j]));
            TRY(need_bodies(cx, &body.nodes[k], depth + 1));
        }
    }
    return ST_OK;
}

/* What the outputs depend on; the rest is not even looked at. */
static enum status note_needed(struct onnx_cx *cx)
{
    const struct onnx_graph *g = &cx->model.graph;
    size_t n = cx->o->n_outputs ? cx->o->n_outputs : g->n_outputs;
    for (size_t i = 0; i < n; i++) {
        const char *name = cx->o->n_outputs ? cx->o->outputs[i] : g->outputs[i].name;
        TRY(need(cx, name));
        struct onnx_entry *e = onnx_entry(cx, "", name, true);
        if (!e->value)
            RETURN_IF(!(e->value = arena_new(&cx->arena, struct onnx_value)), ST_NO_MEMORY, "no memory for output \"%s\"",
                      name);
        e->value->output = true;
    }
    for (size_t i = g->n_nodes; i-- > 0;) {
        const struct onnx_node *node = &g->nodes[i];
        if (!onnx_is_needed(cx, node))
            continue;
        for (uint32_t k = 0; k < node->n_in; k++)
            TRY(need(cx, node->in[k]));
        TRY(need_bodies(cx, node, 0));
    }
    return ST_OK;
}

/* Drop what no output depends on: attempts that were given up, values that nobody asked for. */
static enum status drop_unused(struct onnx_cx *cx)
{
    struct ir_graph *g = cx->b.g;
    CLEANUP(mem_freep) bool *used = mem_array(bool, g->tensors.n);
    RETURN_IF(!used, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    for (size_t i = 0; i < g->tensors.n; i++)
        used[i] = g->tensors.at[i].role == IR_OUTPUT;
    for (size_t k = g->nodes.n; k-- > 0;) {
        struct ir_node *n = &g->nodes.at[k];
        n->dead = true;
        for (uint32_t i = 0; i < n->n_out; i++)
            n->dead &= !used[n->out[i]];
        for (uint32_t i = 0; !n->dead && i < n->n_in; i++)
            if (n->in[i] != IR_NONE)
                used[n->in[i]] = true;
    }
    return ir_compact(g);
}

/* Constants that stay and lie crookedly in the file are copied; those that were transposed have a copy already. */
static enum status align_constants(struct onnx_cx *cx)
{
    struct ir_graph *g = cx->b.g;
    for (size_t i = 0; i < g->tensors.n; i++) {
        struct ir_tensor *t = &g->tensors.at[i];
        if (t->role != IR_CONST || onnx_aligned(&t->desc, t->data))
            continue;
        const void *copy = arena_dup(&g->arena, t->data, desc_bytes(&t->desc));
        RETURN_IF(!copy, ST_NO_MEMORY, "no memory for constant \"%s\"", t->name);
        build_release(B, t->data, desc_bytes(&t->desc));
        t->data = copy;
    }
    return ST_OK;
}

static enum status check_model(const struct onnx_cx *cx)
{
    RETURN_IF(cx->model.graph.sparse, ST_NOT_SUPPORTED, "the model has sparse initializers; store them dense");
    RETURN_IF(cx->model.opset < 1 || cx->model.opset > 100, ST_BAD_TEXT,
              "the model asks for operator set %lld; 7 … 22 are supported, others tried", (long long)cx->model.opset);
    return ST_OK;
}

static enum status run(struct onnx_cx *cx)
{
    TRY(check_model(cx));
    TRY(onnx_expand(cx, &cx->model.graph.nodes, &cx->model.graph.n_nodes));
    TRY(note_uses(cx));
    TRY(note_needed(cx));
    TRY(onnx_initializers(cx, &cx->model.graph));
    TRY(onnx_inputs(cx));
    TRY(onnx_nodes(cx, cx->model.graph.nodes, cx->model.graph.n_nodes));
    TRY(onnx_outputs(cx));
    RETURN_IF(cx->r->issues.n, ST_NOT_SUPPORTED, "%zu part%s of the model %s not supported, the first: %s \"%s\": %s",
              cx->r->issues.n, cx->r->issues.n == 1 ? "" : "s", cx->r->issues.n == 1 ? "is" : "are", cx->r->issues.at[0].op,
              cx->r->issues.at[0].node, cx->r->issues.at[0].reason);
    TRY(drop_unused(cx));
    if (!cx->o->keep_patterns)
        TRY(convert_fuse(cx->b.g, cx->o->approximate));
    if (!cx->o->keep_batchnorm)
        TRY(convert_fold_batchnorm(cx->b.g));
    TRY(align_constants(cx));
    return ir_verify(cx->b.g, "conversion");
}

/* What the converter makes itself (masks, positions, weights of an interpolation): a network of some size describes itself
 * in many bytes. */
enum { MADE_BASE = 256 << 20, MADE_PER_BYTE = 4096 };

enum status convert_onnx(const void *data, size_t size, const char *folder, const struct convert_opts *o,
                         struct convert_report *r, struct ir_graph **ret)
{
    static const struct convert_opts none;
    struct onnx_scope root = {.prefix = ""};
    struct onnx_cx cx = { .o = o ? o : &none,
                          .r = r,
                          .folder = folder,
                          .scope = &root,
                          .label = "",
                          .made_limit = MADE_BASE + MADE_PER_BYTE * (uint64_t)size };
    arena_init(&cx.arena);
    enum status st = onnx_parse_model(&cx.arena, data, size, &cx.model);
    st = file_kind_explain(st, data, size, FILE_ONNX, "an ONNX model");
    if (st == ST_OK)
        st = build_init(&cx.b, cx.model.graph.name[0] ? cx.model.graph.name : "model", r);
    if (st == ST_OK) {
        cx.b.float16 = cx.o->float16;
        cx.b.opts = cx.o;
        st = run(&cx);
    }
    if (st == ST_OK)
        *ret = TAKE(cx.b.g);
    build_finish(&cx.b);
    mem_free(cx.names.slots);
    arena_finish(&cx.arena);
    return st;
}

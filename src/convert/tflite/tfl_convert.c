/* SPDX-License-Identifier: Apache-2.0 */
/* The TFLite front end: subgraph 0 of the file becomes a graph. All operators are tried, so that the report names everything
 * that is refused. */
#include <stdio.h>
#include <string.h>

#include "convert/tflite/tfl_lower.h"

/* ---- operators ------------------------------------------------------------------------------------------------------ */

static const char *node_name(const struct tfl_cx *cx, const struct tfl_row *row)
{
    const struct tfl_op *op = cx->op;
    for (uint32_t k = 0; k < op->out.n; k++) {
        uint32_t t = tfl_number(op->out, k);
        if (t != IR_NONE && cx->scope->g.tensors[t].name[0])
            return cx->scope->g.tensors[t].name;
    }
    return row ? row->name : "operator";
}

/* What comes after a refused operator is checked with the shapes of the file: the graph is thrown away anyway. */
static enum status pretend_outputs(struct tfl_cx *cx)
{
    for (uint32_t k = 0; k < cx->op->out.n; k++) {
        uint32_t t = tfl_number(cx->op->out, k);
        const struct tfl_tensor *x = t == IR_NONE ? NULL : &cx->scope->g.tensors[t];
        if (!x || x->why || x->data || cx->scope->map[t] != IR_NONE)
            continue;
        enum status st = build_input(&cx->b, x->name, &x->desc, &cx->scope->map[t]);
        if (st == ST_NO_MEMORY)
            return st;
    }
    return ST_OK;
}

static enum status report_refusal(struct tfl_cx *cx, const struct tfl_row *row, const char *reason)
{
    char number[32];
    snprintf(number, sizeof(number), "operator code %d", cx->op->code);
    const char *name = cx->op->custom && row && !strcmp(row->name, "CUSTOM") ? cx->op->custom : row ? row->name : number;
    TRY(report_issue(cx->report, cx->node, name, reason, row ? row->nearest : NULL));
    return pretend_outputs(cx);
}

static bool touches_complex(const struct tfl_cx *cx)
{
    bool found = false;
    for (uint32_t k = 0; k < cx->op->in.n + cx->op->out.n && !found; k++) {
        uint32_t t = k < cx->op->in.n ? tfl_number(cx->op->in, k) : tfl_number(cx->op->out, k - cx->op->in.n);
        found = t != IR_NONE && cx->scope->g.tensors[t].complex;
    }
    return found;
}

static enum status lower(struct tfl_cx *cx, const struct tfl_op *op)
{
    const struct tfl_row *row = tfl_row(op->code, op->custom);
    cx->op = op;
    cx->row = row;
    cx->node = node_name(cx, row);
    if (!row || !row->lower)
        return report_refusal(cx, row, row ? row->arg : "an operator that this version does not know");
    if (!row->complex && touches_complex(cx))
        return report_refusal(cx, row, "complex numbers; transforms, views and their parts are supported");
    status_clear();
    size_t nodes = cx->b.g->nodes.n;
    build_source(&cx->b, row->name, cx->node);
    enum status st = row->lower(cx);
    for (uint32_t k = 0; st == ST_OK && nodes == cx->b.g->nodes.n && k < op->out.n; k++)
        if (tfl_number(op->out, k) != IR_NONE)
            build_absorbed(&cx->b, cx->scope->map[tfl_number(op->out, k)]);
    TRY(fb_status(&cx->m.fb));
    if (st == ST_OK || st == ST_NO_MEMORY || st == ST_INTERNAL)
        return st;
    char reason[STATUS_TEXT_MAX];
    snprintf(reason, sizeof(reason), "%s", status_text());
    return report_refusal(cx, row, reason);
}

enum status tfl_scope_run(struct tfl_cx *cx)
{
    for (uint32_t i = 0; i < cx->scope->g.n_ops; i++)
        TRY(lower(cx, &cx->scope->g.ops[i]));
    return ST_OK;
}

/* ---- inputs --------------------------------------------------------------------------------------------------------- */

/* Names are given as in the file or as they are in the graph. */
static bool same_name(struct tfl_cx *cx, const char *given, const char *name)
{
    const char *id = convert_name(&cx->m.arena, name);
    return !strcmp(given, name) || (id && !strcmp(given, id));
}

static const char *layout_of(const struct tensor_desc *d)
{
    return d->rank == 4 ? "NHWC" : d->rank == 5 ? "NDHWC" : "";
}

static const char *const channel_first[] = { "", "", "", "NCF", "NCHW", "NCDHW" }, *const channel_last[] = {
    "", "", "", "NFC", "NHWC", "NDHWC"
};

/* How the user says that the file has it; NULL: not a word. */
static enum status said_layout(struct tfl_cx *cx, const struct tfl_tensor *x, uint32_t rank, const char **ret)
{
    *ret = NULL;
    for (uint32_t i = 0; i < cx->opts->n_inputs; i++)
        if (same_name(cx, cx->opts->inputs[i].name, x->name))
            *ret = cx->opts->inputs[i].layout;
    RETURN_IF(*ret && strcmp(*ret, "NONTRIVIAL") != 0 && strlen(*ret) != rank, ST_INVALID_ARG,
              "input \"%s\" has rank %u; layout %s is for rank %zu", x->name, rank, *ret, strlen(*ret));
    return ST_OK;
}

static enum status apply_options(struct tfl_cx *cx, const struct tfl_tensor *x, struct tensor_desc *d, bool *ret_float)
{
    const struct convert_opts *o = cx->opts;
    struct tensor_desc before = *d;
    if (o->batch && d->rank && (x->batch || d->dims[0] == 1))
        d->dims[0] = o->batch;
    for (uint32_t i = 0; i < o->n_inputs; i++) {
        const struct convert_input *in = &o->inputs[i];
        if (!same_name(cx, in->name, x->name))
            continue;
        RETURN_IF(in->rank && in->rank != d->rank, ST_INVALID_ARG, "input \"%s\" has rank %u; %u dimensions are given",
                  x->name, d->rank, in->rank);
        if (in->rank)
            memcpy(d->dims, in->dims, sizeof(d->dims));
        bool fits = in->type == DT_NONE || in->type == d->type || (in->type == DT_F32 && (T_(d->type) & T_Q)) ||
                    (dtype_is_fixed(d->type) && dtype_bits(in->type) == dtype_bits(d->type) &&
                     dtype_is_signed(in->type) == dtype_is_signed(d->type));
        RETURN_IF(!fits, ST_NOT_SUPPORTED, "input \"%s\" is %s in the file; it cannot be made %s", x->name,
                  dtype_name(d->type), dtype_name(in->type));
        *ret_float = in->type == DT_F32 && dtype_is_fixed(d->type);
    }
    cx->resized = cx->resized || !desc_same_shape(&before, d);
    return ST_OK;
}

static enum status check_option_names(struct tfl_cx *cx)
{
    const struct tfl_graph *g = &cx->scope->g;
    for (uint32_t i = 0; i < cx->opts->n_inputs; i++) {
        bool found = false;
        for (uint32_t k = 0; k < g->in.n && !found; k++)
            found = same_name(cx, cx->opts->inputs[i].name, g->tensors[tfl_number(g->in, k)].name);
        RETURN_IF(!found, ST_NOT_FOUND, "the model has no input \"%s\"; its first is \"%s\"", cx->opts->inputs[i].name,
                  g->in.n ? g->tensors[tfl_number(g->in, 0)].name : "");
    }
    return ST_OK;
}

/* The tensor that the client writes, and, in *at, the one that the operators read: a float input of a fixed-point model is
 * quantized, a graph in f16 that keeps its inputs has them cast, and what the file has with channels first the client gives
 * with channels last. */
static enum status add_input(struct tfl_cx *cx, const struct tfl_tensor *x, const struct tensor_desc *source, bool quantize,
                             uint32_t *at)
{
    struct tensor_desc turned = *source, *d = &turned, outside;
    bool half = cx->b.float16, keep = half && convert_keeps_type(&cx->b.g->arena, cx->opts, x->name);
    uint8_t last[MAX_RANK], back[MAX_RANK];
    const char *layout;
    uint32_t t;
    TRY(said_layout(cx, x, source->rank, &layout));
    bool turn = layout && !cx->opts->preserve_io && source->rank >= 3 && source->rank <= 5 &&
                !strcmp(layout, channel_first[source->rank]);
    perm_channel_last(last, source->rank);
    perm_invert(last, source->rank, back);
    for (uint32_t i = 0; turn && i < source->rank; i++)
        turned.dims[i] = source->dims[last[i]];
    outside = turned;
    if (quantize)
        outside = (struct tensor_desc){.type = DT_F32, .rank = d->rank, .dims = {0}};
    memcpy(outside.dims, d->dims, sizeof(outside.dims));
    cx->b.float16 = half && !keep;
    enum status st = build_input(&cx->b, x->name, &outside, &t);
    cx->b.float16 = half;
    TRY(st);
    TRY(report_io(cx->report, &(struct convert_io){ .source_name = x->name,
                                                    .graph_name = cx->b.g->tensors.at[t].name,
                                                    .source_layout = layout ? layout : layout_of(d),
                                                    .graph_layout = turn     ? channel_last[d->rank]
                                                                    : layout ? layout
                                                                             : layout_of(d) }));
    *at = t;
    if (quantize)
        TRY(build_node(&cx->b, &(struct build_spec){.op = "Quantize", .name = x->name, BUILD_IN(t), .out = d}, at));
    else if (keep && d->type == DT_F32)
        TRY(build_cast(&cx->b, x->name, t, DT_F32, at));
    return turn ? build_transpose(&cx->b, x->name, *at, back, at) : ST_OK;
}

static enum status add_inputs(struct tfl_cx *cx)
{
    const struct tfl_graph *g = &cx->scope->g;
    TRY(check_option_names(cx));
    for (uint32_t k = 0; k < g->in.n; k++) {
        uint32_t t = tfl_number(g->in, k), *at = &cx->scope->map[t];
        const struct tfl_tensor *x = &g->tensors[t];
        if (*at != IR_NONE)
            continue;
        if (x->why || x->complex) {
            TRY(report_issue(cx->report, x->name, "input",
                             x->why ? x->why : "its type is complex64; no tensor of the graph can have that", NULL));
            continue;
        }
        struct tensor_desc d = x->desc;
        bool quantize = false;
        TRY(apply_options(cx, x, &d, &quantize));
        TRY(add_input(cx, x, &d, quantize, at));
    }
    return ST_OK;
}

/* ---- outputs -------------------------------------------------------------------------------------------------------- */

/* A tensor that has its name already keeps it; giving it again would make another one. */
static enum status name_output(struct tfl_cx *cx, uint32_t t, const char *name, uint32_t *ret)
{
    struct ir_tensor *x = &cx->b.g->tensors.at[t];
    const char *id = convert_name(&cx->m.arena, name);
    if (x->role != IR_NATIVE || !id || strcmp(x->name, id) != 0)
        return build_output(&cx->b, t, name, ret);
    x->role = IR_OUTPUT;
    *ret = t;
    return ST_OK;
}

/* The value in f32, though the graph is in f16. */
static enum status keep_float(struct tfl_cx *cx, uint32_t *at, const char *name)
{
    struct tensor_desc d = {.type = DT_F32};
    cx->b.float16 = false;
    enum status st = build_node(&cx->b, &(struct build_spec){.op = "Cast", .name = name, BUILD_IN(*at), .out = &d}, at);
    cx->b.float16 = true;
    return st;
}

static enum status add_output(struct tfl_cx *cx, uint32_t t)
{
    const struct tfl_tensor *x = &cx->scope->g.tensors[t];
    uint32_t *at = &cx->scope->map[t], out;
    if (*at == IR_NONE && x->data && !x->why)
        TRY(build_const(&cx->b, x->name, &x->desc, x->data, false, at));
    if (x->complex)
        return report_issue(cx->report, x->name, "output", "its type is complex64; no tensor of the graph can have that",
                            NULL);
    if (*at == IR_NONE)
        return report_issue(cx->report, x->name, "output", "no operator gives this output", NULL);
    if (cx->b.float16 && convert_keeps_type(&cx->b.g->arena, cx->opts, x->name) && x->desc.type == DT_F32)
        TRY(keep_float(cx, at, x->name));
    TRY(name_output(cx, *at, x->name, &out));
    struct ir_tensor *y = &cx->b.g->tensors.at[out];
    return report_io(cx->report, &(struct convert_io){ .source_name = x->name,
                                                       .graph_name = y->name,
                                                       .source_layout = layout_of(&y->desc),
                                                       .graph_layout = layout_of(&y->desc),
                                                       .output = true });
}

static enum status named_output(struct tfl_cx *cx, const char *name)
{
    const struct tfl_graph *g = &cx->scope->g;
    for (uint32_t t = 0; t < g->n_tensors; t++)
        if (same_name(cx, name, g->tensors[t].name))
            return add_output(cx, t);
    return status_fail(ST_NOT_FOUND, "the model has no tensor \"%s\" that could be an output", name);
}

static enum status add_outputs(struct tfl_cx *cx)
{
    const struct tfl_graph *g = &cx->scope->g;
    for (uint32_t i = 0; i < cx->opts->n_outputs; i++)
        TRY(named_output(cx, cx->opts->outputs[i]));
    for (uint32_t k = 0; cx->opts->n_outputs == 0 && k < g->out.n; k++)
        TRY(add_output(cx, tfl_number(g->out, k)));
    return tfl_states_output(cx);
}

/* Nodes that no output needs, such as computations of shapes. */
static enum status sweep(struct ir_graph *g)
{
    bool *needed = mem_array(bool, g->tensors.n + 1);
    RETURN_IF(!needed, ST_NO_MEMORY, "no memory to sort out %zu tensors", g->tensors.n);
    for (size_t i = 0; i < g->tensors.n; i++)
        needed[i] = g->tensors.at[i].role == IR_OUTPUT;
    for (size_t i = g->nodes.n; i-- > 0;) {
        struct ir_node *n = &g->nodes.at[i];
        n->dead = true;
        for (uint32_t k = 0; k < n->n_out; k++)
            n->dead = n->dead && (n->out[k] == IR_NONE || !needed[n->out[k]]);
        for (uint32_t k = 0; !n->dead && k < n->n_in; k++)
            if (n->in[k] != IR_NONE)
                needed[n->in[k]] = true;
    }
    mem_free(needed);
    return ir_compact(g);
}

/* ---- entry ---------------------------------------------------------------------------------------------------------- */

static enum status convert_graph(struct tfl_cx *cx)
{
    struct tfl_scope scope;
    TRY(tfl_scope_open(cx, 0, &scope));
    /* cppcheck-suppress autoVariables ; nothing asks for the scope after this function */
    cx->scope = &scope;
    TRY(build_init(&cx->b, scope.g.name[0] ? scope.g.name : "model", cx->report));
    cx->b.float16 = cx->opts->float16;
    cx->b.fold = true;
    cx->b.opts = cx->opts;
    TRY(add_inputs(cx));
    TRY(tfl_scope_run(cx));
    TRY(add_outputs(cx));
    TRY(fb_status(&cx->m.fb));
    size_t n = cx->report->issues.n;
    RETURN_IF(n, ST_NOT_SUPPORTED, "%zu operator%s of the model cannot be converted, the first is %s \"%s\": %s", n,
              n == 1 ? "" : "s", cx->report->issues.at[0].op, cx->report->issues.at[0].node,
              cx->report->issues.at[0].reason);
    TRY(sweep(cx->b.g));
    if (!cx->opts->keep_patterns)
        TRY(convert_fuse(cx->b.g, cx->opts->approximate));
    if (!cx->opts->keep_batchnorm)
        TRY(convert_fold_batchnorm(cx->b.g));
    return ir_verify(cx->b.g, "the TFLite front end");
}

enum status convert_tflite(const void *data, size_t size, const struct convert_opts *o, struct convert_report *r,
                           struct ir_graph **ret)
{
    static const struct convert_opts defaults;
    struct tfl_cx cx = {.opts = o ? o : &defaults, .report = r};
    enum status st = tfl_model_open(&cx.m, data, size);
    if (st == ST_OK)
        st = convert_graph(&cx);
    if (st == ST_OK)
        *ret = TAKE(cx.b.g);
    vec_finish(&cx.states);
    build_finish(&cx.b);
    tfl_model_finish(&cx.m);
    return st;
}

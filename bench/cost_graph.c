/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the networks of cost_nets.c. All weights are the same zeros, so that layers of one shape share what is made of them
 * and even large networks are prepared in little memory. */
#include "cost_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_WEIGHTS = 256 << 20, MOST_PARAMS = 4, MOST_INPUTS = 32, MOST_OUTPUTS = 3, NAME = 32 };

static void check(enum status st)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "%s\n", status_text());
    exit(1);
}

void cost_graph_start(struct cost_graph *g, const char *name, enum cost_type type)
{
    g->type = type;
    g->n = 0;
    g->zeros = g->zeros ? g->zeros : mem_zalloc(MOST_WEIGHTS); /* pages that nobody writes */
    check(g->zeros ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for weights"));
    check(ir_graph_create(name, &g->g));
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static uint32_t add_tensor(struct cost_graph *g, enum ir_role role, uint32_t rank, const uint32_t *dims)
{
    static const enum dtype types[COST_TYPES] = { [COST_FLOAT] = DT_F16, [COST_W8A8] = DT_UQ8, [COST_W8A16] = DT_UQ16 };
    char name[NAME];
    uint32_t id;
    snprintf(name, sizeof name, "%u", g->n++);
    struct ir_tensor t = { .name = name, .role = role, .desc = { .type = types[g->type], .rank = (uint8_t)rank } };
    memcpy(t.desc.dims, dims, rank * sizeof(dims[0]));
    if (role == IR_CONST && g->type != COST_FLOAT)
        t.desc.type = DT_SQ8;
    if (g->type != COST_FLOAT)
        t.desc.q = (struct quant){ .definition = 1, .kind = Q_TENSOR, .scale = 0.00390625f };
    t.data = role == IR_CONST ? g->zeros : NULL;
    check(role == IR_CONST && desc_bytes(&t.desc) > MOST_WEIGHTS
              ? status_fail(ST_NO_MEMORY, "weights of %llu bytes", (unsigned long long)desc_bytes(&t.desc))
              : ST_OK);
    check(role == IR_CONST ? ir_add_const(g->g, &t, true, &id) : ir_add_tensor(g->g, &t, &id));
    return id;
}

/* Whole numbers that say which elements are wanted; the client's, or constants. */
static uint32_t add_indices(struct cost_graph *g, enum ir_role role, uint32_t rank, const uint32_t *dims)
{
    uint32_t id;
    char name[NAME];
    snprintf(name, sizeof name, "%u", g->n++);
    struct ir_tensor t = { .name = name, .role = role, .desc = { .type = DT_I32, .rank = (uint8_t)rank } };
    memcpy(t.desc.dims, dims, rank * sizeof(dims[0]));
    t.data = role == IR_CONST ? g->zeros : NULL;
    check(role == IR_CONST ? ir_add_const(g->g, &t, true, &id) : ir_add_tensor(g->g, &t, &id));
    return id;
}

static uint32_t add_weights(struct cost_graph *g, uint32_t kh, uint32_t kw, uint32_t in, uint32_t out)
{
    return add_tensor(g, IR_CONST, 4, (uint32_t[]){ kh, kw, in, out });
}

static struct cost_act add_act(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c)
{
    return (struct cost_act){ add_tensor(g, IR_NATIVE, 4, (uint32_t[]){ 1, h, w, c }), h, w, c, 0 };
}

struct cost_act cost_input(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c)
{
    return (struct cost_act){ add_tensor(g, IR_INPUT, 4, (uint32_t[]){ 1, h, w, c }), h, w, c, 0 };
}

struct cost_act cost_video(struct cost_graph *g, uint32_t frames, uint32_t h, uint32_t w, uint32_t c)
{
    return (struct cost_act){ add_tensor(g, IR_INPUT, 5, (uint32_t[]){ 1, frames, h, w, c }), h, w, c, frames };
}

struct cost_act cost_constant(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c)
{
    struct cost_act x = { add_tensor(g, IR_CONST, 4, (uint32_t[]){ 1, h, w, c }), h, w, c, 0 };
    g->g->tensors.at[x.t].desc.type = g->type == COST_FLOAT ? DT_F16 : g->type == COST_W8A8 ? DT_UQ8 : DT_UQ16;
    return x;
}

void cost_output(struct cost_graph *g, struct cost_act x)
{
    g->g->tensors.at[x.t].role = IR_OUTPUT;
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

struct params {
    const char *names[MOST_PARAMS];
    struct op_value values[MOST_PARAMS];
    uint32_t n;
};

static void set(struct params *p, const char *name, struct op_value v)
{
    p->names[p->n] = name;
    p->values[p->n++] = v;
}

static void set_number(struct params *p, const char *name, const uint32_t *v)
{
    set(p, name, (struct op_value){ .type = DT_U32, .count = 1, .data = v });
}

static void set_list(struct params *p, const char *name, const uint32_t *v, uint32_t n)
{
    set(p, name, (struct op_value){ .type = DT_U32, .rank = 1, .dims = { n }, .count = n, .data = v });
}

static void set_pairs(struct params *p, const char *name, const uint32_t *v)
{
    set(p, name, (struct op_value){ .type = DT_U32, .rank = 2, .dims = { 2, 2 }, .count = 4, .data = v });
}

static void add_outputs(struct cost_graph *g, const char *op, const uint32_t *in, uint32_t n_in, const struct params *p,
                        const uint32_t *out, uint32_t n_out)
{
    struct op_value bound[MOST_INPUTS];
    char name[NAME];
    uint32_t id, inputs[MOST_INPUTS], outputs[MOST_OUTPUTS];
    const struct op_def *row = op_find(op);
    check(row && n_in <= MOST_INPUTS ? ST_OK : status_fail(ST_INVALID_OP, "no operator %s with %u inputs", op, n_in));
    snprintf(name, sizeof name, "%s %u", op, g->n++);
    check(op_params_bind(row, name, p ? p->names : NULL, p ? p->values : NULL, p ? p->n : 0, bound));
    memcpy(inputs, in, n_in * sizeof(in[0]));
    memcpy(outputs, out, n_out * sizeof(out[0]));
    struct ir_node node = { .name = name,
                            .op = row,
                            .n_in = n_in,
                            .n_out = n_out,
                            .in = inputs,
                            .out = outputs,
                            .params = bound,
                            .post = OP_POST_NONE };
    check(ir_check_node(g->g, &node));
    check(ir_add_node(g->g, &node, &id));
}

static struct cost_act add_node(struct cost_graph *g, const char *op, const uint32_t *in, uint32_t n_in,
                                const struct params *p, struct cost_act out)
{
    add_outputs(g, op, in, n_in, p, &out.t, 1);
    return out;
}

/* The tensor with another number of dimensions; a view, where it has not. */
static uint32_t as_rank(struct cost_graph *g, struct cost_act x, uint32_t rank)
{
    uint32_t rows = x.h * x.w, dims[4] = { 1, x.h, x.w, x.c };
    if (g->g->tensors.at[x.t].desc.rank == rank)
        return x.t;
    uint32_t flat[2] = { rows, x.c };
    struct cost_act y = { add_tensor(g, IR_NATIVE, rank, rank == 2 ? flat : dims), x.h, x.w, x.c, 0 };
    return add_node(g, "Reshape", &x.t, 1, NULL, y).t;
}

static uint32_t rank_of(const struct cost_graph *g, struct cost_act x)
{
    return g->g->tensors.at[x.t].desc.rank;
}

static struct cost_act like(struct cost_graph *g, struct cost_act x)
{
    x.t = add_tensor(g, IR_NATIVE, rank_of(g, x), g->g->tensors.at[x.t].desc.dims);
    return x;
}

/* ---- windows ---------------------------------------------------------------------------------------------------------- */

static uint32_t sized(uint32_t n, uint32_t stride)
{
    return (n + stride - 1) / stride;
}

/* So much that the result has a part of the image's size; the smaller half comes first. */
static void set_pads(uint32_t n, uint32_t reach, uint32_t stride, uint32_t pads[2])
{
    uint32_t all = (sized(n, stride) - 1) * stride + reach;
    all = all > n ? all - n : 0;
    pads[0] = all / 2;
    pads[1] = all - all / 2;
}

struct window {
    uint32_t kernel[2], stride, dilation, groups;
};

static struct cost_act convolve(struct cost_graph *g, struct cost_act x, uint32_t out, const struct window *v)
{
    uint32_t pads[4], stride[2] = { v->stride, v->stride }, apart[2] = { v->dilation, v->dilation };
    struct params p = { .n = 0 };
    x.t = as_rank(g, x, 4);
    set_pads(x.h, (v->kernel[0] - 1) * v->dilation + 1, v->stride, pads);
    set_pads(x.w, (v->kernel[1] - 1) * v->dilation + 1, v->stride, pads + 2);
    set_list(&p, "stride", stride, 2);
    set_pairs(&p, "pad_amount", pads);
    set_list(&p, "dilation", apart, 2);
    bool alone = v->groups == x.c && out == x.c; /* one channel each */
    if (!alone)
        set_number(&p, "group", &v->groups);
    uint32_t in[] = { x.t, add_weights(g, v->kernel[0], v->kernel[1], x.c / v->groups, out) };
    return add_node(g, alone ? "DepthWiseConv2d" : "Conv2d", in, 2, &p,
                    add_act(g, sized(x.h, v->stride), sized(x.w, v->stride), out));
}

struct cost_act cost_conv(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t stride,
                          uint32_t groups)
{
    return convolve(
        g, x, out,
        &(struct window){
            { x.h == 1 ? 1 : kernel, kernel }, stride, 1, groups }); /* one-dimensional ones lie along the width */
}

struct cost_act cost_conv_wide(struct cost_graph *g, struct cost_act x, uint32_t out, const uint32_t kernel[2],
                               uint32_t stride)
{
    return convolve(g, x, out, &(struct window){ { kernel[0], kernel[1] }, stride, 1, 1 });
}

struct cost_act cost_dilated(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t dilation)
{
    return convolve(g, x, out, &(struct window){ { x.h == 1 ? 1 : kernel, kernel }, 1, dilation, 1 });
}

struct cost_act cost_depthwise(struct cost_graph *g, struct cost_act x, uint32_t kernel, uint32_t stride)
{
    return cost_conv(g, x, x.c, kernel, stride, x.c);
}

struct cost_act cost_dilated_depthwise(struct cost_graph *g, struct cost_act x, uint32_t kernel, uint32_t dilation)
{
    return convolve(g, x, x.c, &(struct window){ { x.h == 1 ? 1 : kernel, kernel }, 1, dilation, x.c });
}

struct cost_act cost_conv3d(struct cost_graph *g, struct cost_act x, uint32_t out, const uint32_t kernel[3], uint32_t stride)
{
    uint32_t pads[6], steps[3] = { 1, stride, stride }, h = sized(x.h, stride), w = sized(x.w, stride);
    struct params p = { .n = 0 };
    set_pads(x.frames, kernel[0], 1, pads);
    set_pads(x.h, kernel[1], stride, pads + 2);
    set_pads(x.w, kernel[2], stride, pads + 4);
    set_list(&p, "stride", steps, 3);
    set(&p, "pad_amount", (struct op_value){ .type = DT_U32, .rank = 2, .dims = { 3, 2 }, .count = 6, .data = pads });
    uint32_t in[] = { x.t, add_tensor(g, IR_CONST, 5, (uint32_t[]){ kernel[0], kernel[1], kernel[2], x.c, out }) };
    struct cost_act y = { add_tensor(g, IR_NATIVE, 5, (uint32_t[]){ 1, x.frames, h, w, out }), h, w, out, x.frames };
    return add_node(g, "Conv3d", in, 2, &p, y);
}

struct cost_act cost_up_conv(struct cost_graph *g, struct cost_act x, uint32_t out)
{
    uint32_t in[] = { as_rank(g, x, 4), add_weights(g, 2, 2, x.c, out) }, two[2] = { 2, 2 }, pads[4] = { 0 };
    struct params p = { .n = 0 };
    set_list(&p, "stride", two, 2);
    set_pairs(&p, "pad_amount", pads);
    return add_node(g, "TransposeConv2d", in, 2, &p, add_act(g, 2 * x.h, 2 * x.w, out));
}

struct cost_act cost_up_sequence(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t stride)
{
    uint32_t in[] = { as_rank(g, x, 4), add_weights(g, 1, kernel, x.c, out) }, steps[2] = { 1, stride },
             pads[4] = { 0, 0, (kernel - stride) / 2, (kernel - stride) / 2 };
    struct params p = { .n = 0 };
    set_list(&p, "stride", steps, 2);
    set_pairs(&p, "pad_amount", pads);
    return add_node(g, "TransposeConv2d", in, 2, &p, add_act(g, 1, stride * x.w, out));
}

struct cost_act cost_pool(struct cost_graph *g, struct cost_act x, const char *op, uint32_t kernel, uint32_t stride)
{
    uint32_t pads[4] = { 0 }, size[2] = { kernel, kernel }, steps[2] = { stride, stride };
    struct params p = { .n = 0 };
    bool all = kernel == 0;
    x.t = as_rank(g, x, 4);
    if (all) {
        size[0] = steps[0] = x.h;
        size[1] = steps[1] = x.w;
    } else {
        set_pads(x.h, kernel, stride, pads);
        set_pads(x.w, kernel, stride, pads + 2);
    }
    set_list(&p, "filter_size", size, 2);
    set_list(&p, "stride", steps, 2);
    set_pairs(&p, "pad_amount", pads);
    return add_node(g, op, &x.t, 1, &p, add_act(g, all ? 1 : sized(x.h, stride), all ? 1 : sized(x.w, stride), x.c));
}

struct cost_act cost_pool_lines(struct cost_graph *g, struct cost_act x, const char *op, uint32_t lines)
{
    uint32_t size[2] = { lines, 1 }, pads[4] = { 0 };
    struct params p = { .n = 0 };
    set_pairs(&p, "pad_amount", pads);
    set_list(&p, "filter_size", size, 2);
    set_list(&p, "stride", size, 2);
    return add_node(g, op, &x.t, 1, &p, add_act(g, x.h / lines, x.w, x.c));
}

/* ---- elements --------------------------------------------------------------------------------------------------------- */

struct cost_act cost_unary(struct cost_graph *g, struct cost_act x, const char *op)
{
    struct params p = { .n = 0 };
    uint32_t last = rank_of(g, x) - 1, halves = 2, hard_swish = 3, parts = 32, in[3] = { x.t };
    float epsilon = 1e-5f;
    bool layers = strcmp(op, "LayerNorm") == 0, groups = strcmp(op, "GroupNorm") == 0, norm = layers || groups;
    bool batch = strcmp(op, "Batchnorm") == 0;
    if (layers)
        set_list(&p, "axes", &last, 1);
    if (groups) {
        set_number(&p, "group", &parts);
        set(&p, "epsilon", (struct op_value){ .type = DT_F32, .count = 1, .data = &epsilon });
    }
    if (norm || batch)
        in[1] = in[2] = add_tensor(g, IR_CONST, 1, &x.c);
    if (strcmp(op, "ChannelShuffle") == 0)
        set_number(&p, "num_groups", &halves);
    if (strcmp(op, "ElementWiseNeuron") == 0)
        set_number(&p, "operation", &hard_swish);
    return add_node(g, op, in, batch ? 3 : norm ? 2 : 1, &p, like(g, x));
}

struct cost_act cost_binary(struct cost_graph *g, struct cost_act x, struct cost_act y, const char *op)
{
    uint32_t in[] = { x.t, as_rank(g, y, rank_of(g, x)) };
    return add_node(g, op, in, 2, NULL, like(g, x));
}

struct cost_act cost_reduce(struct cost_graph *g, struct cost_act x, const char *op)
{
    struct params p = { .n = 0 };
    uint32_t last = 3;
    uint8_t keep = 1;
    x.t = as_rank(g, x, 4);
    set_list(&p, "axes", &last, 1);
    set(&p, "keep_dims", (struct op_value){ .type = DT_B8, .count = 1, .data = &keep });
    return add_node(g, op, &x.t, 1, &p, add_act(g, x.h, x.w, 1));
}

struct cost_act cost_sum_lines(struct cost_graph *g, struct cost_act x, uint32_t n)
{
    struct params p = { .n = 0 };
    uint32_t axis = 1, dims[4] = { x.h / n, n, x.w, x.c };
    struct cost_act parts = { add_tensor(g, IR_NATIVE, 4, dims), x.h, x.w, x.c, 0 };
    parts = add_node(g, "Reshape", &x.t, 1, NULL, parts);
    set_list(&p, "axes", &axis, 1);
    struct cost_act y = { add_tensor(g, IR_NATIVE, 3, (uint32_t[]){ x.h / n, x.w, x.c }), x.h / n, x.w, x.c, 0 };
    return cost_view(g, add_node(g, "ReduceSum", &parts.t, 1, &p, y), y.h, y.w, y.c);
}

struct cost_act cost_running_sum(struct cost_graph *g, struct cost_act x)
{
    struct params p = { .n = 0 };
    uint32_t axis = rank_of(g, x) - 2;
    set_number(&p, "axis", &axis);
    return add_node(g, "CumulativeSum", &x.t, 1, &p, like(g, x));
}

/* As exporters write it. */
struct cost_act cost_silu(struct cost_graph *g, struct cost_act x)
{
    return cost_binary(g, x, cost_unary(g, x, "Sigmoid"), "ElementWiseMultiply");
}

static struct cost_act join(struct cost_graph *g, const struct cost_act *x, uint32_t n, uint32_t axis, struct cost_act out)
{
    uint32_t in[MOST_INPUTS];
    struct params p = { .n = 0 };
    for (uint32_t i = 0; i < n && i < MOST_INPUTS; i++)
        in[i] = as_rank(g, x[i], 4);
    set_number(&p, "axis", &axis);
    return add_node(g, "Concat", in, n, &p, out);
}

struct cost_act cost_concat(struct cost_graph *g, const struct cost_act *x, uint32_t n)
{
    uint32_t c = 0;
    for (uint32_t i = 0; i < n; i++)
        c += x[i].c;
    return join(g, x, n, 3, add_act(g, x[0].h, x[0].w, c));
}

struct cost_act cost_rows(struct cost_graph *g, const struct cost_act *x, uint32_t n)
{
    uint32_t w = 0;
    for (uint32_t i = 0; i < n; i++)
        w += x[i].w;
    return join(g, x, n, 2, add_act(g, x[0].h, w, x[0].c));
}

static struct cost_act slice(struct cost_graph *g, struct cost_act x, const int32_t ranges[12], struct cost_act out)
{
    struct params p = { .n = 0 };
    x.t = as_rank(g, x, 4);
    set(&p, "ranges", (struct op_value){ .type = DT_I32, .rank = 2, .dims = { 4, 3 }, .count = 12, .data = ranges });
    return add_node(g, "StridedSlice", &x.t, 1, &p, out);
}

struct cost_act cost_part(struct cost_graph *g, struct cost_act x, uint32_t first, uint32_t channels)
{
    const int32_t ranges[12] = {
        0, 1, 1, 0, (int32_t)x.h, 1, 0, (int32_t)x.w, 1, (int32_t)first, (int32_t)(first + channels), 1
    };
    return slice(g, x, ranges, add_act(g, x.h, x.w, channels));
}

struct cost_act cost_tokens(struct cost_graph *g, struct cost_act x, uint32_t first, uint32_t n)
{
    const int32_t ranges[12] = { 0, 1, 1, 0, (int32_t)x.h, 1, (int32_t)first, (int32_t)(first + n), 1, 0, (int32_t)x.c, 1 };
    return slice(g, x, ranges, add_act(g, x.h, n, x.c));
}

struct cost_act cost_look_up(struct cost_graph *g, struct cost_act x, uint32_t n)
{
    struct params p = { .n = 0 };
    int32_t axis = 0;
    uint32_t in[] = { as_rank(g, x, 2), add_indices(g, IR_INPUT, 1, &n) };
    set(&p, "axis", (struct op_value){ .type = DT_I32, .count = 1, .data = &axis });
    struct cost_act y = { add_tensor(g, IR_NATIVE, 2, (uint32_t[]){ n, x.c }), 1, n, x.c, 0 };
    return add_node(g, "Gather", in, 2, &p, y);
}

struct cost_act cost_pick(struct cost_graph *g, struct cost_act x, uint32_t channels)
{
    struct params p = { .n = 0 };
    uint32_t rows = x.h * x.w, axis = 1,
             in[] = { as_rank(g, x, 2), add_indices(g, IR_CONST, 2, (uint32_t[]){ rows, channels }) };
    set_number(&p, "axis", &axis);
    struct cost_act y = { add_tensor(g, IR_NATIVE, 2, (uint32_t[]){ rows, channels }), x.h, x.w, channels, 0 };
    return cost_view(g, add_node(g, "GatherElements", in, 2, &p, y), x.h, x.w, channels);
}

struct cost_act cost_sample(struct cost_graph *g, struct cost_act x, struct cost_act places, uint32_t images)
{
    uint32_t h = places.h / images, in[2];
    struct cost_act a = { add_tensor(g, IR_NATIVE, 4, (uint32_t[]){ images, x.h / images, x.w, x.c }), x.h, x.w, x.c, 0 },
                    b = { add_tensor(g, IR_NATIVE, 4, (uint32_t[]){ images, h, places.w, 2 }), places.h, places.w, 2, 0 },
                    y = { add_tensor(g, IR_NATIVE, 4, (uint32_t[]){ images, h, places.w, x.c }), places.h, places.w, x.c,
                          0 };
    in[0] = add_node(g, "Reshape", &x.t, 1, NULL, a).t;
    in[1] = add_node(g, "Reshape", &places.t, 1, NULL, b).t;
    return cost_view(g, add_node(g, "GridSample", in, 2, NULL, y), y.h, y.w, y.c);
}

struct cost_act cost_lengthened(struct cost_graph *g, struct cost_act x, uint32_t before, uint32_t after)
{
    struct params p = { .n = 0 };
    uint32_t scheme = 0, amounts[8] = { [4] = before, [5] = after };
    x.t = as_rank(g, x, 4);
    set_number(&p, "scheme", &scheme);
    set(&p, "pad_amount", (struct op_value){ .type = DT_U32, .rank = 2, .dims = { 4, 2 }, .count = 8, .data = amounts });
    return add_node(g, "Pad", &x.t, 1, &p, add_act(g, x.h, before + x.w + after, x.c));
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

struct cost_act cost_dense(struct cost_graph *g, struct cost_act x, uint32_t out)
{
    uint32_t in[] = { as_rank(g, x, 2), add_tensor(g, IR_CONST, 2, (uint32_t[]){ out, x.c }) };
    struct cost_act y = { add_tensor(g, IR_NATIVE, 2, (uint32_t[]){ x.h * x.w, out }), x.h, x.w, out, 0 };
    return add_node(g, "FullyConnected", in, 2, NULL, y);
}

struct cost_act cost_matmul(struct cost_graph *g, struct cost_act x, struct cost_act y, bool transposed)
{
    uint8_t turned = transposed;
    uint32_t in[] = { as_rank(g, x, 4), as_rank(g, y, 4) };
    struct params p = { .n = 0 };
    set(&p, "transpose_in1", (struct op_value){ .type = DT_B8, .count = 1, .data = &turned });
    return add_node(g, "MatMul", in, 2, &p, add_act(g, x.h, x.w, transposed ? y.w : y.c));
}

struct cost_act cost_lstm(struct cost_graph *g, struct cost_act x, uint32_t out)
{
    enum { BIASES = 7, FIRST_STATE = 10, INPUT_GATE = 16, INPUT_BIAS = 21, INPUTS = 22 };
    uint32_t in[INPUTS], outs[MOST_OUTPUTS], state[2] = { 1, out };
    uint32_t from_x = add_tensor(g, IR_CONST, 2, (uint32_t[]){ out, x.c }),
             from_h = add_tensor(g, IR_CONST, 2, (uint32_t[]){ out, out }), bias = add_tensor(g, IR_CONST, 1, &out);
    struct cost_act rows = { add_tensor(g, IR_NATIVE, 3, (uint32_t[]){ 1, x.w, x.c }), 1, x.w, x.c, 0 };
    for (uint32_t i = 0; i < INPUTS; i++)
        in[i] = i < 4 ? from_x : i < BIASES ? from_h : i < FIRST_STATE ? bias : IR_NONE;
    in[0] = add_node(g, "Reshape", &x.t, 1, NULL, rows).t;
    in[INPUT_GATE] = from_x;
    in[INPUT_GATE + 1] = from_h;
    in[INPUT_BIAS] = bias;
    struct cost_act y = { add_tensor(g, IR_NATIVE, 3, (uint32_t[]){ 1, x.w, out }), 1, x.w, out, 0 };
    outs[0] = y.t;
    outs[1] = add_tensor(g, IR_NATIVE, 2, state);
    outs[2] = add_tensor(g, IR_NATIVE, 2, state);
    add_outputs(g, "Lstm", in, INPUTS, NULL, outs, MOST_OUTPUTS);
    return y;
}

/* ---- places ----------------------------------------------------------------------------------------------------------- */

struct cost_act cost_view(struct cost_graph *g, struct cost_act x, uint32_t h, uint32_t w, uint32_t c)
{
    return add_node(g, "Reshape", &x.t, 1, NULL, add_act(g, h, w, c));
}

static struct cost_act transpose(struct cost_graph *g, struct cost_act x, const uint32_t perm[4], struct cost_act out)
{
    struct params p = { .n = 0 };
    set_list(&p, "perm", perm, 4);
    return add_node(g, "Transpose", &x.t, 1, &p, out);
}

struct cost_act cost_swap(struct cost_graph *g, struct cost_act x)
{
    x.t = as_rank(g, x, 4);
    return transpose(g, x, (const uint32_t[]){ 0, 2, 1, 3 }, add_act(g, x.w, x.h, x.c));
}

struct cost_act cost_turn(struct cost_graph *g, struct cost_act x)
{
    x.t = as_rank(g, x, 4);
    return transpose(g, x, (const uint32_t[]){ 0, 1, 3, 2 }, add_act(g, x.h, x.c, x.w));
}

struct cost_act cost_resize(struct cost_graph *g, struct cost_act x, const char *op, uint32_t h, uint32_t w)
{
    x.t = as_rank(g, x, 4);
    return add_node(g, op, &x.t, 1, NULL, add_act(g, h, w, x.c));
}

struct cost_act cost_blocks(struct cost_graph *g, struct cost_act x, const char *op, uint32_t size)
{
    uint32_t sides[2] = { size, size };
    struct params p = { .n = 0 };
    bool out = strcmp(op, "DepthToSpace") == 0;
    x.t = as_rank(g, x, 4);
    set_list(&p, "block_size", sides, 2);
    return add_node(g, op, &x.t, 1, &p,
                    out ? add_act(g, x.h * size, x.w * size, x.c / size / size)
                        : add_act(g, x.h / size, x.w / size, x.c * size * size));
}

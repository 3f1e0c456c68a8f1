/* SPDX-License-Identifier: Apache-2.0 */
/* Draws an operator, parameters and constants; asks the operator's rule for the shape of the result; keeps what the rule and
 * the kernels accept. Nothing here knows how an operator is computed. */
#include "random_graph.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/kernel_util.h"
#include "kernels/kernels.h"
#include "random_draft.h"

uint32_t random_below(struct random_graph *r, uint32_t n)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((r->seed >> 33) % n);
}

float random_real(struct random_graph *r)
{
    return (float)((int)random_below(r, 4001) - 2000) / 1024.0f * (r->gain ? r->gain : 1.0f);
}

void random_fill(struct random_graph *r, const struct tensor_desc *d, void *data)
{
    uint64_t n = desc_count(d);
    for (uint64_t i = 0; dtype_bits(d->type) < 8 && i < desc_bytes(d); i++) {
        int64_t high = (int64_t)random_below(r, 256);
        ((uint8_t *)data)[i] =
            (uint8_t)(i + 1 == desc_bytes(d) && n % 2 ? high & 15 : high); /* nothing in places that hold no value */
    }
    for (uint64_t i = 0; dtype_bits(d->type) >= 8 && i < n; i++) {
        uint32_t v = random_below(r, 1u << 16) ^ random_below(r, 1u << 16) << 15;
        if (d->type == DT_F32)
            ((float *)data)[i] = random_real(r);
        else if (d->type == DT_F16)
            ((uint16_t *)data)[i] = ku_f32_to_f16(random_real(r));
        else if (d->type == DT_B8)
            ((uint8_t *)data)[i] = v & 1;
        else if (d->type == DT_SQ32)
            ((int32_t *)data)[i] = (int32_t)(v % 2001) - 1000;
        else if (dtype_bits(d->type) == 32)
            ((uint32_t *)data)[i] = v % 3;
        else
            memcpy((char *)data + i * dtype_bits(d->type) / 8, &v, dtype_bits(d->type) / 8);
    }
}

struct quant random_encoding(struct random_graph *r, enum dtype t)
{
    struct quant q = { .kind = Q_TENSOR, .definition = 1, .scale = (float)(1 + random_below(r, 64)) / 1024.0f };
    if (!dtype_is_fixed(t))
        return (struct quant){ .definition = 2 };
    if (dtype_bits(t) == 16)
        q.scale /= 256;
    if (!dtype_is_signed(t))
        q.offset = -(int32_t)(random_below(r, 2) ? (dtype_max(t) + 1) / 2 : (int64_t)random_below(r, 40));
    else if (dtype_bits(t) == 8 && random_below(r, 2))
        q.offset = (int32_t)random_below(r, 21) - 10;
    return q;
}

struct tensor_desc random_desc(struct random_graph *r, enum dtype t, uint8_t rank, const uint32_t *dims)
{
    struct tensor_desc d = { .type = t, .rank = rank, .q = random_encoding(r, t) };
    memcpy(d.dims, dims, rank * sizeof(dims[0]));
    return d;
}

struct tensor_desc random_desc_at(const struct random_graph *r, uint32_t t)
{
    return r->g->tensors.at[t].desc;
}

uint32_t random_tensor(struct random_graph *r, const struct tensor_desc *d, enum ir_role role)
{
    uint32_t index = IR_NONE;
    struct ir_tensor t = { .desc = *d, .role = (uint8_t)role };
    void *data = role == IR_CONST ? mem_zalloc(desc_bytes(d)) : NULL;
    if (data)
        random_fill(r, d, data);
    t.data = data;
    bool ok = role != IR_CONST || data;
    if (!ok || ir_add_tensor(r->g, &t, &index) != ST_OK)
        index = IR_NONE;
    mem_free(data);
    return index;
}

/* ---- parts of a draft ------------------------------------------------------------------------------------------------- */

uint32_t random_pick(struct random_graph *r, uint8_t rank)
{
    uint32_t found = IR_NONE, newest = IR_NONE, seen = 0;
    for (uint32_t i = 0; i < r->g->tensors.n; i++) {
        const struct ir_tensor *t = &r->g->tensors.at[i];
        if (t->role == IR_CONST || t->desc.type != r->type || (rank && t->desc.rank != rank))
            continue;
        if (random_below(r, ++seen) == 0)
            found = i;
        newest = i;
    }
    return r->after_product || random_below(r, 3) ? newest : found; /* chains rather than stars */
}

void draft_take(struct draft *d, uint32_t tensor)
{
    d->in[d->n_in++] = tensor;
}

void draft_param(struct draft *d, const char *name, enum dtype type, uint8_t rank, const uint32_t *dims,
                 const uint32_t *values)
{
    struct op_value *v = &d->values[d->n_params];
    *v = (struct op_value){ .type = type, .rank = rank, .count = 1, .data = d->data[d->n_params] };
    for (uint8_t i = 0; i < rank; i++) {
        v->dims[i] = dims[i];
        v->count *= dims[i];
    }
    memcpy(d->data[d->n_params], values, v->count * sizeof(uint32_t));
    d->names[d->n_params++] = name;
}

void draft_u32(struct draft *d, const char *name, uint32_t value)
{
    draft_param(d, name, DT_U32, 0, NULL, &value);
}

void draft_f32(struct draft *d, const char *name, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    draft_param(d, name, DT_F32, 0, NULL, &bits);
}

void draft_bool(struct draft *d, const char *name, bool value)
{
    draft_param(d, name, DT_B8, 0, NULL, (uint32_t[]){ value });
}

static void param_window(struct draft *d, uint32_t kernel)
{
    uint32_t stride[2] = { 1 + random_below(d->r, 2), 1 + random_below(d->r, 2) }, pads[4];
    for (int i = 0; i < 4; i++)
        pads[i] = random_below(d->r, kernel);
    if (d->r->lines && random_below(d->r, 2))
        stride[0] = 1 + random_below(d->r, 4);
    draft_param(d, "stride", DT_U32, 1, (uint32_t[]){ 2 }, stride);
    draft_param(d, "pad_amount", DT_U32, 2, (uint32_t[]){ 2, 2 }, pads);
}

/* 8 bits, sometimes 16 for 16-bit activations. */
uint32_t random_weights(struct random_graph *r, uint8_t rank, const uint32_t *dims, int axis, uint32_t terms)
{
    float scales[256];
    bool fixed = dtype_is_fixed(r->type), wide = dtype_bits(r->type) == 16 && random_below(r, 3) == 0;
    enum dtype type = !fixed ? r->type : wide ? DT_SQ16 : DT_SQ8;
    if (r->wide && random_below(r, 5) == 0) /* packed, or fixed point beside floats */
        type = random_below(r, 2) ? DT_SQ4 : DT_SQ8;
    fixed = dtype_is_fixed(type);
    struct tensor_desc d = random_desc(r, type, rank, dims);
    d.q.offset = 0;
    if (fixed && !dtype_is_fixed(r->type))
        d.q.scale /= 8;
    if (fixed && random_below(r, 2) && d.dims[axis] <= 256) {
        for (uint32_t i = 0; i < d.dims[axis]; i++)
            scales[i] = (float)(1 + random_below(r, 64)) / 8192.0f;
        d.q = (struct quant){ .kind = Q_AXIS, .definition = 1, .axis = axis, .n = d.dims[axis], .scales = scales };
    }
    r->gain = r->wide ? 1.0f / sqrtf((float)terms) : 0; /* float16 would overflow in a few layers */
    uint32_t w = random_tensor(r, &d, IR_CONST);
    r->gain = 0;
    return w;
}

/* A number drawn evenly from a type of n values has a standard deviation of about 0.29 n; the result shall have a fifth of
 * that. */
void draft_fit_product(struct draft *d, uint32_t terms)
{
    if (!d->r->wide || !dtype_is_fixed(d->r->type) || d->in[1] == IR_NONE)
        return;
    const struct quant *q = &d->r->g->tensors.at[d->in[1]].desc.q;
    enum dtype x = d->r->type, w = d->r->g->tensors.at[d->in[1]].desc.type;
    double s_x = d->r->g->tensors.at[d->in[0]].desc.q.scale, s_w = q->kind == Q_AXIS ? q->scales[q->n / 2] : q->scale;
    double levels = (double)(dtype_max(x) - dtype_min(x) + 1),
           deviation = 0.29 * levels * s_x * 0.29 * (double)(dtype_max(w) - dtype_min(w) + 1) * s_w;
    d->out[0].q.scale = (float)(deviation * sqrt(terms) / (0.06 * levels));
}

void draft_bias(struct draft *d, uint32_t n)
{
    if (random_below(d->r, 3) == 0)
        return;
    struct tensor_desc b = random_desc(d->r, dtype_is_fixed(d->r->type) ? DT_SQ32 : d->r->type, 1, (uint32_t[]){ n });
    b.q.offset = 0;
    b.q.scale = random_below(d->r, 2) ? 0 : b.q.scale / 256; /* 0: in the accumulator's own scale */
    if (b.type == DT_SQ32 && b.q.scale == 0)
        b.q = (struct quant){ .definition = 2 };
    draft_take(d, random_tensor(d->r, &b, IR_CONST));
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static void draft_conv(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4), kernel = 1 + random_below(r, 3);
    if (x == IR_NONE)
        return;
    uint32_t channels = random_desc_at(r, x).dims[3], kind = random_below(r, r->lines ? 2 : 4);
    uint32_t out = kind == 1 ? channels * (1 + random_below(r, 2)) : 1 + random_below(r, 24);
    d->op = kind == 1 ? "DepthWiseConv2d" : kind == 2 ? "TransposeConv2d" : "Conv2d";
    draft_take(d, x);
    uint32_t width = 1 + random_below(r, 3), terms = kernel * width * (kind == 1 ? 1 : channels);
    draft_take(d, random_weights(r, 4, (uint32_t[]){ kernel, width, kind == 1 ? 1 : channels, out }, 3, terms));
    draft_bias(d, out);
    draft_fit_product(d, terms);
    if (r->lines && random_below(r, 3) == 0) {
        uint32_t dilation[2] = { 1 + random_below(r, 3), 1 + random_below(r, 2) };
        draft_param(d, "dilation", DT_U32, 1, (uint32_t[]){ 2 }, dilation);
    }
    param_window(d, kernel);
}

/* Convolutions over positions: of tensors of rank 3. */
static void draft_sequence(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 3), kernel = 1 + random_below(r, 5);
    if (x == IR_NONE)
        return;
    bool depthwise = random_below(r, 3) == 0;
    uint32_t channels = random_desc_at(r, x).dims[2], out = depthwise            ? channels * (1 + random_below(r, 2))
                                                            : random_below(r, 4) ? 1 + random_below(r, 24)
                                                                                 : 64; /* whole tiles */
    uint32_t pads[2] = { random_below(r, kernel + 1), random_below(r, kernel + 1) };
    d->op = depthwise ? "DepthWiseConv1d" : "Conv1d";
    draft_take(d, x);
    draft_take(d, random_weights(r, 3, (uint32_t[]){ kernel, depthwise ? 1 : channels, out }, 2, kernel * channels));
    draft_bias(d, out);
    draft_fit_product(d, kernel * (depthwise ? 1 : channels));
    draft_u32(d, "stride", 1 + random_below(r, 3));
    draft_param(d, "pad_amount", DT_U32, 1, (uint32_t[]){ 2 }, pads);
    if (random_below(r, 2))
        draft_u32(d, "dilation", 1 + random_below(r, 4));
}

static void draft_fully_connected(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), out = 1 + random_below(r, 20);
    const struct tensor_desc t = random_desc_at(r, x);
    d->op = "FullyConnected";
    draft_take(d, x);
    uint32_t terms = (uint32_t)(desc_count(&t) / t.dims[0]);
    draft_take(d, random_weights(r, 2, (uint32_t[]){ out, terms }, 0, terms));
    draft_bias(d, out);
    draft_fit_product(d, terms);
    if (t.rank != 2 || random_below(r, 2)) /* the wide form: everything but the batch is one row */
        d->out[0].rank = 2;
}

static void draft_matmul(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), out = 1 + random_below(r, 20);
    const struct tensor_desc t = random_desc_at(r, x);
    d->op = "MatMul";
    draft_take(d, x);
    if (t.rank < 2)
        return;
    draft_take(d, random_weights(r, 2, (uint32_t[]){ t.dims[t.rank - 1], out }, 1, t.dims[t.rank - 1]));
    draft_fit_product(d, t.dims[t.rank - 1]);
}

static void draft_clamp(struct draft *d)
{
    static const char *const ops[] = { "Relu",    "Relu", "Relu1",         "Relu6", "ReluMinMax", "ElementWiseNeuron",
                                       "Sigmoid", "Tanh", "ElementWiseAbs" };
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0);
    d->op = ops[random_below(r, 9)];
    draft_take(d, x);
    if (strcmp(d->op, "ReluMinMax") == 0) {
        float lo = random_real(r);
        draft_f32(d, "min_value", lo);
        draft_f32(d, "max_value", lo + (float)random_below(r, 3));
    } else if (strcmp(d->op, "ElementWiseNeuron") == 0) {
        draft_u32(d, "operation", random_below(r, 2) ? 4 : 6);
    }
    if (random_below(r, 3)) /* most activations keep the encoding, and can be fused */
        d->out[0].q = random_desc_at(r, x).q;
}

static void draft_binary(struct draft *d)
{
    static const char *const ops[] = { "ElementWiseAdd", "ElementWiseAdd", "ElementWiseMultiply", "ElementWiseSubtract",
                                       "ElementWiseMaximum" };
    struct random_graph *r = d->r;
    uint32_t a = random_pick(r, 0), b = random_pick(r, 0);
    struct tensor_desc da = random_desc_at(r, a), db = random_desc_at(r, b);
    d->op = ops[random_below(r, 5)];
    if (!desc_same_shape(&da, &db) || random_below(r, 3) == 0) {
        struct tensor_desc c = random_desc(r, r->type, da.rank, da.dims);
        for (uint8_t i = 0; i < c.rank; i++)
            c.dims[i] = random_below(r, 2) ? c.dims[i] : 1;
        b = random_tensor(r, &c, IR_CONST);
    }
    if (random_below(r, 6) == 0) { /* constants only: for the folding pass */
        db = random_desc_at(r, b);
        struct tensor_desc c = random_desc(r, r->type, db.rank, db.dims);
        a = random_tensor(r, &c, IR_CONST);
        b = random_below(r, 2) ? a : random_tensor(r, &c, IR_CONST);
    }
    draft_take(d, a);
    draft_take(d, b);
}

static void draft_pool(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4), kernel[2] = { 1 + random_below(r, 3), 1 + random_below(r, 3) };
    if (x == IR_NONE)
        return;
    d->op = random_below(r, 2) ? "PoolAvg2d" : "PoolMax2d";
    draft_take(d, x);
    draft_param(d, "filter_size", DT_U32, 1, (uint32_t[]){ 2 }, kernel);
    param_window(d, kernel[0] < kernel[1] ? kernel[0] : kernel[1]);
    if (random_below(r, 2))
        d->out[0].q = random_desc_at(r, x).q;
}

static void draft_concat(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), y = random_pick(r, random_desc_at(r, x).rank);
    d->op = "Concat";
    draft_take(d, x);
    draft_take(d, y);
    draft_u32(d, "axis", random_below(r, random_desc_at(r, x).rank));
    if (random_below(r, 2))
        d->out[0].q = random_desc_at(r, x).q;
}

static void draft_view(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0);
    const struct tensor_desc t = random_desc_at(r, x);
    d->op = "Reshape";
    draft_take(d, x);
    d->out[0] = t;
    d->out[0].rank = 2;
    d->out[0].dims[0] = t.dims[0];
    d->out[0].dims[1] = (uint32_t)(desc_count(&t) / t.dims[0]);
    if (t.rank == 2) {
        d->out[0].rank = 4;
        memcpy(d->out[0].dims, (uint32_t[]){ t.dims[0], 1, 1, t.dims[1] }, 4 * sizeof(uint32_t));
    }
}

static void draft_transpose(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0), perm[MAX_RANK];
    uint8_t rank = random_desc_at(r, x).rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t k = random_below(r, i + 1);
        perm[i] = perm[k];
        perm[k] = i;
    }
    d->op = "Transpose";
    draft_take(d, x);
    draft_param(d, "perm", DT_U32, 1, (uint32_t[]){ rank }, perm);
    d->out[0].q = random_desc_at(r, x).q;
}

static void draft_pad(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4), pads[8] = { 0 };
    if (x == IR_NONE)
        return;
    for (int i = 2; i < 6; i++)
        pads[i] = random_below(r, 3);
    d->op = "Pad";
    draft_take(d, x);
    draft_u32(d, "scheme", 0);
    draft_param(d, "pad_amount", DT_U32, 2, (uint32_t[]){ 4, 2 }, pads);
    d->out[0].q = random_desc_at(r, x).q;
}

static void draft_mean(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4);
    uint8_t keep = 1;
    if (x == IR_NONE)
        return;
    d->op = "ReduceMean";
    draft_take(d, x);
    draft_param(d, "axes", DT_U32, 1, (uint32_t[]){ 2 }, (uint32_t[]){ 1, 2 });
    draft_param(d, "keep_dims", DT_B8, 0, NULL, (uint32_t[]){ keep });
}

static void draft_batchnorm(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 0);
    const struct tensor_desc t = random_desc_at(r, x);
    struct tensor_desc c = random_desc(r, r->type, 1, &t.dims[t.rank - 1]);
    d->op = "Batchnorm";
    draft_take(d, x);
    draft_take(d, random_tensor(r, &c, IR_CONST));
    draft_take(d, random_tensor(r, &c, IR_CONST));
}

static void draft_softmax(struct draft *d)
{
    d->op = "Softmax";
    draft_take(d, random_pick(d->r, 0));
}

static void draft_resize(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = random_pick(r, 4);
    if (x == IR_NONE)
        return;
    d->op = random_below(r, 2) ? "ResizeBilinear" : "ResizeNearestNeighbor";
    draft_take(d, x);
    struct quant q = random_below(r, 2) ? random_desc_at(r, x).q : d->out[0].q;
    d->out[0] = random_desc_at(r, x);
    d->out[0].q = q;
    d->out[0].dims[1] = 1 + random_below(r, 9);
    d->out[0].dims[2] = 1 + random_below(r, 9);
}

/* ---- the graph -------------------------------------------------------------------------------------------------------- */

/* As often as listed. */
static draft_fn *const drafts[] = {
    draft_conv,
    draft_conv,
    draft_conv,
    draft_conv,
    draft_clamp,
    draft_clamp,
    draft_clamp,
    draft_binary,
    draft_binary,
    draft_pool,
    draft_fully_connected,
    draft_matmul,
    draft_concat,
    draft_view,
    draft_transpose,
    draft_pad,
    draft_mean,
    draft_batchnorm,
    draft_softmax,
    draft_resize,
};

/* Graphs of lines: images, sequences, matrices. */
enum { BY_LINES = 12 };
static draft_fn *const by_lines[3][BY_LINES] = {
    { draft_conv, draft_conv, draft_conv, draft_conv, draft_clamp, draft_binary, draft_binary, draft_pool, draft_concat,
      draft_conv, random_norm, random_along },
    { draft_sequence, draft_sequence, draft_sequence, draft_sequence, draft_clamp, draft_binary, draft_binary, draft_matmul,
      draft_concat, draft_batchnorm, random_norm, random_along },
    { draft_fully_connected, draft_fully_connected, draft_matmul, draft_matmul, draft_clamp, draft_binary, draft_binary,
      draft_binary, draft_concat, draft_batchnorm, random_norm, random_along },
};

/* What the rule makes of the draft; false when it, a backend's facts or the kernels refuse. */
static bool settle(struct draft *d, const struct op_def *op, struct op_value *params, struct ir_node *node)
{
    struct random_graph *r = d->r;
    struct ir_call v;
    struct tensor_desc want[DRAFT_OUTS];
    struct kernel_bound k;
    uint32_t none[DRAFT_OUTS];
    memcpy(want, d->out, sizeof want);
    *node = (struct ir_node){ .op = op, .n_in = d->n_in, .in = d->in, .params = params, .out = none, .post = OP_POST_NONE };
    for (uint32_t i = 0; i < d->n_in; i++)
        if (d->in[i] == IR_NONE)
            return false;
    if (op_params_bind(op, NULL, d->names, d->values, d->n_params, params) != ST_OK)
        return false;
    ir_call(r->g, node, &v);
    for (uint32_t i = 0; i < d->n_out; i++)
        v.out[i] = &d->out[i];
    v.call.n_out = d->n_out;
    if (op_infer(&v.call, want) != ST_OK)
        return false;
    for (uint32_t i = 0; i < d->n_out; i++) {
        if (desc_count(&want[i]) > r->max_elements)
            return false;
        d->out[i] = want[i];
    }
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(op->id));
    return args && op_check(&v.call) == ST_OK && (!r->wide || op_backend_takes(OP_BACKEND_HTP, &v.call) == ST_OK) &&
           kernel_bind(&v.call, ISA_REF, args, &k) == ST_OK && k.macs < r->max_macs;
}

static draft_fn *choose(struct random_graph *r)
{
    if (r->after_product)
        return random_below(r, 3) ? draft_clamp : draft_batchnorm;
    if (r->lines)
        return by_lines[random_pick(r, 4) != IR_NONE ? 0 : random_pick(r, 3) != IR_NONE ? 1 : 2][random_below(r, BY_LINES)];
    if (r->choose && random_below(r, 6) == 0)
        return random_choice;
    if (r->large && random_below(r, 2)) /* layers that keep the size come first in the list */
        return random_more[random_below(r, random_more_keep)];
    if (r->wide && random_below(r, 5) < 3)
        return random_more[random_below(r, random_more_count)];
    return drafts[random_below(r, sizeof drafts / sizeof drafts[0])];
}

static enum status add_op(struct random_graph *r)
{
    struct draft d = { .r = r, .n_out = 1 };
    struct op_value params[16];
    struct ir_node node;
    uint32_t index, out[DRAFT_OUTS];
    for (int i = 0; i < DRAFT_OUTS; i++)
        d.out[i] = (struct tensor_desc){ .type = r->type, .q = i ? d.out[0].q : random_encoding(r, r->type) };
    r->after_product = r->after_product && random_below(r, 2);
    choose(r)(&d);
    r->after_product = false;
    const struct op_def *op = d.op ? op_find(d.op) : NULL;
    if (!op || !settle(&d, op, params, &node))
        return ST_OK;
    for (uint32_t i = 0; i < d.n_out; i++) {
        out[i] = random_tensor(r, &d.out[i], IR_NATIVE);
        RETURN_IF(out[i] == IR_NONE, ST_NO_MEMORY, "no memory for a random graph");
    }
    node.n_out = d.n_out;
    node.out = out;
    if (d.turns)
        r->type = d.out[0].type;
    r->has_batchnorm |= op->id == OP_Batchnorm;
    r->after_product =
        op->id == OP_Conv2d || op->id == OP_DepthWiseConv2d || op->id == OP_FullyConnected || op->id == OP_TransposeConv2d;
    return ir_add_node(r->g, &node, &index);
}

/* What nobody reads is read by the client, and so are some others; now and then something stays unused. */
static enum status choose_outputs(struct random_graph *r)
{
    struct arena a;
    struct ir_uses u;
    arena_init(&a);
    enum status st = ir_uses(r->g, &a, &u);
    bool any = false;
    for (uint32_t i = 0; st == ST_OK && i < r->g->tensors.n; i++) {
        if (u.producer[i] == IR_NONE)
            continue;
        bool unread = u.n_consumers[i] == 0;
        if (unread ? !any || random_below(r, 8) : random_below(r, 10) == 0) {
            r->g->tensors.at[i].role = IR_OUTPUT;
            any = true;
        }
    }
    arena_finish(&a);
    return st;
}

static enum status fill_graph(struct random_graph *r, unsigned nodes, const uint32_t limit[4])
{
    for (uint32_t i = 0; limit && i <= random_below(r, 2); i++) {
        uint32_t dims[4];
        for (int k = 0; k < 4; k++)
            dims[k] = 1 + random_below(r, limit[k]);
        for (int k = 1; k < 3 && r->large; k++)
            dims[k] = limit[k] / 3 + dims[k] * 2 / 3;
        if (r->lines) /* batches that differ would go separate ways */
            dims[0] = limit[0];
        struct tensor_desc d = random_desc(r, r->type, 4, dims);
        RETURN_IF(random_tensor(r, &d, IR_INPUT) == IR_NONE, ST_NO_MEMORY, "no memory for a random graph");
    }
    if (r->wide && random_below(r, 4) == 0) { /* a truth value to choose by */
        struct tensor_desc d = { .type = DT_B8, .rank = 1, .dims = { 1 }, .q = { .definition = 2 } };
        RETURN_IF(random_tensor(r, &d, IR_INPUT) == IR_NONE, ST_NO_MEMORY, "no memory for a random graph");
        r->choose = true;
    }
    for (unsigned i = 0; i < nodes || !r->g->nodes.n; i++)
        TRY(add_op(r));
    return choose_outputs(r);
}

enum status random_graph_make(struct random_graph *r, uint64_t seed, unsigned nodes)
{
    static const enum dtype types[] = { DT_F32, DT_F32, DT_UQ8, DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16 };
    *r = (struct random_graph){ .seed = seed * 0x9e3779b97f4a7c15u + 1, .max_elements = 6000, .max_macs = 1000000 };
    TRY(ir_graph_create("random", &r->g));
    random_below(r, 2);
    r->type = types[random_below(r, 7)];
    return fill_graph(r, nodes, (uint32_t[]){ 2, 9, 9, 20 });
}

enum status random_graph_make_wide(struct random_graph *r, uint64_t seed, bool large)
{
    static const enum dtype types[] = { DT_F32, DT_F16, DT_UQ8, DT_UQ8, DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16 };
    *r = (struct random_graph){
        .seed = seed * 0x9e3779b97f4a7c15u + 1, .wide = true, .large = large, .max_elements = 6000, .max_macs = 1000000
    };
    TRY(ir_graph_create("random", &r->g));
    random_below(r, 2);
    r->type = types[random_below(r, 8)];
    if (!large)
        return fill_graph(r, 2 + random_below(r, 24), (uint32_t[]){ 3, 12, 12, 36 });
    r->max_elements = 1500000;
    r->max_macs = 10000000;
    return fill_graph(r, 4 + random_below(r, 14), (uint32_t[]){ 2, 150, 150, 40 });
}

enum status random_graph_make_lines(struct random_graph *r, uint64_t seed, unsigned nodes)
{
    static const enum dtype types[] = { DT_F32, DT_F16, DT_UQ8, DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16 };
    *r = (struct random_graph){
        .seed = seed * 0x9e3779b97f4a7c15u + 1, .lines = true, .max_elements = 12000, .max_macs = 2000000
    };
    TRY(ir_graph_create("lines", &r->g));
    random_below(r, 2);
    r->type = types[random_below(r, 7)];
    uint32_t batch = random_below(r, 2) ? 1 : 2 + random_below(r, 4), kind = random_below(r, 8);
    if (kind < 5) /* a sequence may be an image of one line */
        return fill_graph(r, nodes, kind ? (uint32_t[]){ batch, 48, 9, 20 } : (uint32_t[]){ batch, 1, 100, 20 });
    struct tensor_desc d = random_desc(r, r->type, 2, (uint32_t[]){ 1 + random_below(r, 100), 1 + random_below(r, 40) });
    if (kind > 5)
        d = random_desc(r, r->type, 3, (uint32_t[]){ batch, 1 + random_below(r, 100), 1 + random_below(r, 20) });
    RETURN_IF(random_tensor(r, &d, IR_INPUT) == IR_NONE, ST_NO_MEMORY, "no memory for a random graph");
    return fill_graph(r, nodes, NULL);
}

void random_graph_free(struct random_graph *r)
{
    ir_graph_free(r->g);
}

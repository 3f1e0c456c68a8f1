/* SPDX-License-Identifier: Apache-2.0 */
/* Draws an operator, parameters and constants; asks the operator's rule for the shape of the result; keeps what the rule and the kernels
 * accept. Nothing here knows how an operator is computed. */
#include "random_graph.h"

#include <string.h>

#include "base/mem.h"
#include "kernels/kernels.h"

enum { MAX_PARAMS = 6, MAX_ELEMENTS = 6000 };

/* One operator being put together. */
struct draft {
    struct random_graph *r;
    const char *op;
    uint32_t in[4], n_in;
    const char *names[MAX_PARAMS];
    struct op_value values[MAX_PARAMS];
    uint32_t data[MAX_PARAMS][16], n_params;
    struct tensor_desc out; /* what is asked for: type, encoding, sometimes dimensions */
};

uint32_t random_below(struct random_graph *r, uint32_t n)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((r->seed >> 33) % n);
}

static float small_real(struct random_graph *r)
{
    return (float)((int)random_below(r, 4001) - 2000) / 1024.0f;
}

void random_fill(struct random_graph *r, const struct tensor_desc *d, void *data)
{
    uint64_t n = desc_count(d);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t v = random_below(r, 1u << 16) ^ random_below(r, 1u << 16) << 15;
        if (d->type == DT_F32)
            ((float *)data)[i] = small_real(r);
        else if (d->type == DT_SQ32)
            ((int32_t *)data)[i] = (int32_t)(v % 2001) - 1000;
        else if (dtype_bits(d->type) == 32)
            ((uint32_t *)data)[i] = v % 3;
        else
            memcpy((char *)data + i * dtype_bits(d->type) / 8, &v, dtype_bits(d->type) / 8);
    }
}

static struct quant encoding(struct random_graph *r, enum dtype t)
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

static struct tensor_desc desc_of(struct random_graph *r, enum dtype t, uint8_t rank, const uint32_t *dims)
{
    struct tensor_desc d = { .type = t, .rank = rank, .q = encoding(r, t) };
    memcpy(d.dims, dims, rank * sizeof(dims[0]));
    return d;
}

/* By value: adding a tensor moves the others. */
static struct tensor_desc desc_at(const struct random_graph *r, uint32_t t)
{
    return r->g->tensors.at[t].desc;
}

static uint32_t add_tensor(struct random_graph *r, const struct tensor_desc *d, enum ir_role role)
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

/* A tensor that holds values by now: an input or the result of a node; rank 0 stands for any. */
static uint32_t any_tensor(struct random_graph *r, uint8_t rank)
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

static void take(struct draft *d, uint32_t tensor)
{
    d->in[d->n_in++] = tensor;
}

static void param(struct draft *d, const char *name, enum dtype type, uint8_t rank, const uint32_t *dims, const uint32_t *values)
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

static void param_u32(struct draft *d, const char *name, uint32_t value)
{
    param(d, name, DT_U32, 0, NULL, &value);
}

static void param_f32(struct draft *d, const char *name, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    param(d, name, DT_F32, 0, NULL, &bits);
}

static void param_window(struct draft *d, uint32_t kernel)
{
    uint32_t stride[2] = { 1 + random_below(d->r, 2), 1 + random_below(d->r, 2) }, pads[4];
    for (int i = 0; i < 4; i++)
        pads[i] = random_below(d->r, kernel);
    param(d, "stride", DT_U32, 1, (uint32_t[]){ 2 }, stride);
    param(d, "pad_amount", DT_U32, 2, (uint32_t[]){ 2, 2 }, pads);
}

/* Weights with one scale, or one per element of `axis`; 8 bits, sometimes 16 for 16-bit activations. */
static uint32_t weights(struct random_graph *r, uint8_t rank, const uint32_t *dims, int axis)
{
    float scales[256];
    bool wide = dtype_bits(r->type) == 16 && random_below(r, 3) == 0;
    struct tensor_desc d = desc_of(r, !dtype_is_fixed(r->type) ? r->type : wide ? DT_SQ16 : DT_SQ8, rank, dims);
    d.q.offset = 0;
    if (dtype_is_fixed(r->type) && random_below(r, 2) && d.dims[axis] <= 256) {
        for (uint32_t i = 0; i < d.dims[axis]; i++)
            scales[i] = (float)(1 + random_below(r, 64)) / 8192.0f;
        d.q = (struct quant){ .kind = Q_AXIS, .definition = 1, .axis = axis, .n = d.dims[axis], .scales = scales };
    }
    return add_tensor(r, &d, IR_CONST);
}

static void take_bias(struct draft *d, uint32_t n)
{
    if (random_below(d->r, 3) == 0)
        return;
    struct tensor_desc b = desc_of(d->r, dtype_is_fixed(d->r->type) ? DT_SQ32 : d->r->type, 1, (uint32_t[]){ n });
    b.q.offset = 0;
    b.q.scale = random_below(d->r, 2) ? 0 : b.q.scale / 256; /* 0: in the accumulator's own scale */
    if (b.type == DT_SQ32 && b.q.scale == 0)
        b.q = (struct quant){ .definition = 2 };
    take(d, add_tensor(d->r, &b, IR_CONST));
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static void draft_conv(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 4), kernel = 1 + random_below(r, 3);
    if (x == IR_NONE)
        return;
    uint32_t channels = desc_at(r, x).dims[3], kind = random_below(r, 4);
    uint32_t out = kind == 1 ? channels * (1 + random_below(r, 2)) : 1 + random_below(r, 24);
    d->op = kind == 1 ? "DepthWiseConv2d" : kind == 2 ? "TransposeConv2d" : "Conv2d";
    take(d, x);
    take(d, weights(r, 4, (uint32_t[]){ kernel, 1 + random_below(r, 3), kind == 1 ? 1 : channels, out }, 3));
    take_bias(d, out);
    param_window(d, kernel);
}

static void draft_fully_connected(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0), out = 1 + random_below(r, 20);
    const struct tensor_desc t = desc_at(r, x);
    d->op = "FullyConnected";
    take(d, x);
    take(d, weights(r, 2, (uint32_t[]){ out, (uint32_t)(desc_count(&t) / t.dims[0]) }, 0));
    take_bias(d, out);
    if (t.rank != 2 || random_below(r, 2)) /* the wide form: everything but the batch is one row */
        d->out.rank = 2;
}

static void draft_matmul(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0), out = 1 + random_below(r, 20);
    const struct tensor_desc t = desc_at(r, x);
    d->op = "MatMul";
    take(d, x);
    if (t.rank >= 2)
        take(d, weights(r, 2, (uint32_t[]){ t.dims[t.rank - 1], out }, 1));
}

static void draft_clamp(struct draft *d)
{
    static const char *const ops[] = { "Relu", "Relu", "Relu1", "Relu6", "ReluMinMax", "ElementWiseNeuron", "Sigmoid", "Tanh", "ElementWiseAbs" };
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0);
    d->op = ops[random_below(r, 9)];
    take(d, x);
    if (strcmp(d->op, "ReluMinMax") == 0) {
        float lo = small_real(r);
        param_f32(d, "min_value", lo);
        param_f32(d, "max_value", lo + (float)random_below(r, 3));
    } else if (strcmp(d->op, "ElementWiseNeuron") == 0) {
        param_u32(d, "operation", random_below(r, 2) ? 4 : 6);
    }
    if (random_below(r, 3)) /* most activations keep the encoding, and can be fused */
        d->out.q = desc_at(r, x).q;
}

static void draft_binary(struct draft *d)
{
    static const char *const ops[] = { "ElementWiseAdd", "ElementWiseAdd", "ElementWiseMultiply", "ElementWiseSubtract", "ElementWiseMaximum" };
    struct random_graph *r = d->r;
    uint32_t a = any_tensor(r, 0), b = any_tensor(r, 0);
    struct tensor_desc da = desc_at(r, a), db = desc_at(r, b);
    d->op = ops[random_below(r, 5)];
    if (!desc_same_shape(&da, &db) || random_below(r, 3) == 0) {
        struct tensor_desc c = desc_of(r, r->type, da.rank, da.dims);
        for (uint8_t i = 0; i < c.rank; i++)
            c.dims[i] = random_below(r, 2) ? c.dims[i] : 1;
        b = add_tensor(r, &c, IR_CONST);
    }
    if (random_below(r, 6) == 0) { /* constants only: for the folding pass */
        db = desc_at(r, b);
        struct tensor_desc c = desc_of(r, r->type, db.rank, db.dims);
        a = add_tensor(r, &c, IR_CONST);
        b = random_below(r, 2) ? a : add_tensor(r, &c, IR_CONST);
    }
    take(d, a);
    take(d, b);
}

static void draft_pool(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 4), kernel[2] = { 1 + random_below(r, 3), 1 + random_below(r, 3) };
    if (x == IR_NONE)
        return;
    d->op = random_below(r, 2) ? "PoolAvg2d" : "PoolMax2d";
    take(d, x);
    param(d, "filter_size", DT_U32, 1, (uint32_t[]){ 2 }, kernel);
    param_window(d, kernel[0] < kernel[1] ? kernel[0] : kernel[1]);
    if (random_below(r, 2))
        d->out.q = desc_at(r, x).q;
}

static void draft_concat(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0), y = any_tensor(r, desc_at(r, x).rank);
    d->op = "Concat";
    take(d, x);
    take(d, y);
    param_u32(d, "axis", random_below(r, desc_at(r, x).rank));
    if (random_below(r, 2))
        d->out.q = desc_at(r, x).q;
}

static void draft_view(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0);
    const struct tensor_desc t = desc_at(r, x);
    d->op = "Reshape";
    take(d, x);
    d->out = t;
    d->out.rank = 2;
    d->out.dims[0] = t.dims[0];
    d->out.dims[1] = (uint32_t)(desc_count(&t) / t.dims[0]);
    if (t.rank == 2) {
        d->out.rank = 4;
        memcpy(d->out.dims, (uint32_t[]){ t.dims[0], 1, 1, t.dims[1] }, 4 * sizeof(uint32_t));
    }
}

static void draft_transpose(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0), perm[MAX_RANK];
    uint8_t rank = desc_at(r, x).rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t k = random_below(r, i + 1);
        perm[i] = perm[k];
        perm[k] = i;
    }
    d->op = "Transpose";
    take(d, x);
    param(d, "perm", DT_U32, 1, (uint32_t[]){ rank }, perm);
    d->out.q = desc_at(r, x).q;
}

static void draft_pad(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 4), pads[8] = { 0 };
    if (x == IR_NONE)
        return;
    for (int i = 2; i < 6; i++)
        pads[i] = random_below(r, 3);
    d->op = "Pad";
    take(d, x);
    param_u32(d, "scheme", 0);
    param(d, "pad_amount", DT_U32, 2, (uint32_t[]){ 4, 2 }, pads);
    d->out.q = desc_at(r, x).q;
}

static void draft_mean(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 4);
    uint8_t keep = 1;
    if (x == IR_NONE)
        return;
    d->op = "ReduceMean";
    take(d, x);
    param(d, "axes", DT_U32, 1, (uint32_t[]){ 2 }, (uint32_t[]){ 1, 2 });
    param(d, "keep_dims", DT_B8, 0, NULL, (uint32_t[]){ keep });
}

static void draft_batchnorm(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 0);
    const struct tensor_desc t = desc_at(r, x);
    struct tensor_desc c = desc_of(r, r->type, 1, &t.dims[t.rank - 1]);
    d->op = "Batchnorm";
    take(d, x);
    take(d, add_tensor(r, &c, IR_CONST));
    take(d, add_tensor(r, &c, IR_CONST));
}

static void draft_softmax(struct draft *d)
{
    d->op = "Softmax";
    take(d, any_tensor(d->r, 0));
}

static void draft_resize(struct draft *d)
{
    struct random_graph *r = d->r;
    uint32_t x = any_tensor(r, 4);
    if (x == IR_NONE)
        return;
    d->op = random_below(r, 2) ? "ResizeBilinear" : "ResizeNearestNeighbor";
    take(d, x);
    struct quant q = random_below(r, 2) ? desc_at(r, x).q : d->out.q;
    d->out = desc_at(r, x);
    d->out.q = q;
    d->out.dims[1] = 1 + random_below(r, 9);
    d->out.dims[2] = 1 + random_below(r, 9);
}

/* ---- the graph -------------------------------------------------------------------------------------------------------- */

/* As often as listed. */
static void (*const drafts[])(struct draft *) = {
    draft_conv, draft_conv, draft_conv, draft_conv, draft_clamp, draft_clamp, draft_clamp, draft_binary, draft_binary, draft_pool,
    draft_fully_connected, draft_matmul, draft_concat, draft_view, draft_transpose, draft_pad, draft_mean, draft_batchnorm, draft_softmax,
    draft_resize,
};

/* What the rule makes of the draft; false when it, or the kernels, refuse. */
static bool settle(struct draft *d, const struct op_def *op, struct op_value *params, struct ir_node *node)
{
    struct random_graph *r = d->r;
    struct ir_call v;
    struct tensor_desc want = d->out;
    struct kernel_bound k;
    uint32_t none;
    *node = (struct ir_node){ .op = op, .n_in = d->n_in, .in = d->in, .params = params, .out = &none, .post = OP_POST_NONE };
    if (op_params_bind(op, NULL, d->names, d->values, d->n_params, params) != ST_OK)
        return false;
    ir_call(r->g, node, &v);
    v.out[0] = &d->out;
    v.call.n_out = 1;
    if (op_infer(&v.call, &want) != ST_OK || desc_count(&want) > MAX_ELEMENTS)
        return false;
    v.out[0] = &want;
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(op->id));
    bool ok = args && op_check(&v.call) == ST_OK && kernel_bind(&v.call, ISA_REF, args, &k) == ST_OK && k.macs < 1000000;
    d->out = want;
    return ok;
}

static enum status add_op(struct random_graph *r)
{
    struct draft d = { .r = r, .out = { .type = r->type, .q = encoding(r, r->type) } };
    struct op_value params[16];
    struct ir_node node;
    uint32_t index;
    r->after_product = r->after_product && random_below(r, 2);
    if (r->after_product)
        (random_below(r, 3) ? draft_clamp : draft_batchnorm)(&d);
    else
        drafts[random_below(r, sizeof drafts / sizeof drafts[0])](&d);
    r->after_product = false;
    const struct op_def *op = d.op ? op_find(d.op) : NULL;
    if (!op || !settle(&d, op, params, &node))
        return ST_OK;
    uint32_t out = add_tensor(r, &d.out, IR_NATIVE);
    node.n_out = 1;
    node.out = &out;
    r->has_batchnorm |= op->id == OP_Batchnorm;
    r->after_product = op->id == OP_Conv2d || op->id == OP_DepthWiseConv2d || op->id == OP_FullyConnected || op->id == OP_TransposeConv2d;
    return out == IR_NONE ? ST_NO_MEMORY : ir_add_node(r->g, &node, &index);
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

enum status random_graph_make(struct random_graph *r, uint64_t seed, unsigned nodes)
{
    static const enum dtype types[] = { DT_F32, DT_F32, DT_UQ8, DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16 };
    *r = (struct random_graph){ .seed = seed * 0x9e3779b97f4a7c15u + 1 };
    TRY(ir_graph_create("random", &r->g));
    random_below(r, 2);
    r->type = types[random_below(r, 7)];
    for (uint32_t i = 0; i <= random_below(r, 2); i++) {
        struct tensor_desc d = desc_of(r, r->type, 4, (uint32_t[]){ 1 + random_below(r, 2), 1 + random_below(r, 9), 1 + random_below(r, 9),
                                                                    1 + random_below(r, 20) });
        RETURN_IF(add_tensor(r, &d, IR_INPUT) == IR_NONE, ST_NO_MEMORY, "no memory for a random graph");
    }
    for (unsigned i = 0; i < nodes || !r->g->nodes.n; i++)
        TRY(add_op(r));
    return choose_outputs(r);
}

void random_graph_free(struct random_graph *r)
{
    ir_graph_free(r->g);
}

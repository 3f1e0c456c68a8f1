/* SPDX-License-Identifier: Apache-2.0 */
/* Constants in fixed point: weights with one scale or one per output, biases in the scale of the sum they are added to. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "convert/builder.h"
#include "convert/quantize_plan.h"

/* ---- what a port is ----------------------------------------------------------------------------------------------- */

static bool is_convolution(enum op_id op)
{
    return op == OP_Conv1d || op == OP_Conv2d || op == OP_Conv3d || op == OP_DepthWiseConv1d || op == OP_DepthWiseConv2d ||
           op == OP_TransposeConv1d || op == OP_TransposeConv2d || op == OP_TransposeConv3d;
}

static bool is_recurrent(enum op_id op)
{
    return op == OP_Lstm || op == OP_Gru;
}

static const struct quantize_layer *layer_of(const struct plan *p, uint32_t node)
{
    for (size_t i = 0; p->o->layers && i < p->o->layers->list.n; i++)
        if (p->o->layers->list.at[i].node == node)
            return &p->o->layers->list.at[i];
    return NULL;
}

struct plan_port plan_port(const struct plan *p, const struct ir_node *n, uint32_t i)
{
    enum op_id op = n->op->id;
    const struct op_port *port = op_in_port(n->op, i);
    bool product = is_convolution(op) || op == OP_FullyConnected || op == OP_MatMul;
    struct plan_port r = { .use = PLAN_VALUE, .axis = -1, .bias = IR_NONE, .like = IR_NONE };
    if (product && i == 1) {
        uint32_t rank = p->g->tensors.at[n->in[1]].desc.rank;
        struct ir_call v;
        ir_call(p->g, n, &v);
        bool turned = op == OP_MatMul && op_int(&v.call, "transpose_in1", 0);
        r.use = PLAN_WEIGHT;
        r.bias = n->n_in > 2 && n->in[2] != IR_NONE && p->g->tensors.at[n->in[2]].data ? n->in[2] : IR_NONE;
        r.axis = op == OP_FullyConnected ? 0 : turned ? (int32_t)rank - 2 : (int32_t)rank - 1;
        r.per_channel = is_convolution(op) ? p->o->per_channel : p->o->per_row;
        r.layer = layer_of(p, (uint32_t)(n - p->g->nodes.at));
    } else if (product && i == 2) {
        r = (struct plan_port){ .use = PLAN_BIAS, .axis = -1, .product = true, .bias = IR_NONE, .like = IR_NONE };
    } else if (port && port->types == (T_REAL | T_Q32 | T_(DT_I32))) { /* factors and terms of norms and gates */
        r.use = str_eq(port->name, "gamma") || str_starts(port->name, "norm_") ? PLAN_WEIGHT : PLAN_BIAS;
    } else if (op == OP_ElementWiseSelect || op == OP_Concat || op == OP_Pack) {
        r.like = n->out[0];
    } else if (op == OP_Prelu) {
        r.use = PLAN_WEIGHT;
        r.slopes = true;
    } else if (is_recurrent(op) && port && port->name[0] == 'w') {
        r.use = PLAN_WEIGHT;
        r.gates = true;
        if (port->flags & PORT_AXIS) {
            r.axis = 0;
            r.per_channel = p->o->per_row;
        }
    }
    return r;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* Floats of a constant: its own data, or a copy in *copy (to be freed). */
static const float *floats_of(const struct ir_tensor *t, float **copy)
{
    uint64_t n = desc_count(&t->desc);
    if (t->desc.type == DT_F32 && (uintptr_t)t->data % sizeof(float) == 0)
        return t->data;
    float *x = *copy = mem_array(float, n);
    for (uint64_t i = 0; x && i < n; i++)
        x[i] = (float)number_get(t->desc.type, t->data, i);
    return x;
}

/* What there is at index `at` of an axis. */
static void channel_range(const struct tensor_desc *d, const float *x, int32_t axis, uint32_t at, struct quantize_range *s)
{
    uint64_t n = desc_count(d), inner = 1;
    for (uint32_t k = (uint32_t)axis + 1; k < d->rank; k++)
        inner *= d->dims[k];
    float run[64];
    uint32_t used = 0;
    quantize_range_init(s);
    for (uint64_t i = at * inner; i < n; i += inner * d->dims[axis])
        for (uint64_t k = 0; k < inner; k++) {
            run[used++] = x[i + k];
            if (used == sizeof(run) / sizeof(run[0])) {
                quantize_range_add(s, run, used);
                used = 0;
            }
        }
    quantize_range_add(s, run, used);
}

/* ---- encodings ---------------------------------------------------------------------------------------------------- */

/* x: what the weights are multiplied with. */
static struct quantize_rule weight_rule(const struct plan *p, uint32_t t, const struct tensor_desc *x, bool per_channel)
{
    struct quantize_rule r = p->o->param;
    if (p->o->bits && p->o->bits[t])
        r.bits = p->o->bits[t];
    bool wide = r.bits == 16 && dtype_bits(x->type) != 16; /* 16-bit weights exist only beside 16-bit activations */
    r.bits = wide ? 8 : r.bits;
    if (per_channel || r.bits != 8) /* what the operators take */
        r.schema = QUANTIZE_SYMMETRIC;
    return r;
}

static enum status axis_arrays(struct plan_const *c, struct arena *a, uint32_t n, int32_t axis, float **scales)
{
    *scales = arena_array(a, float, n);
    RETURN_IF(!*scales, ST_NO_MEMORY, "no memory for %u scales", n);
    c->desc.q = (struct quant){ .kind = Q_AXIS, .definition = 1, .axis = axis, .n = n, .scales = *scales };
    return ST_OK;
}

static void set_tensor(struct plan_const *c, const struct quantize_encoding *e)
{
    c->desc.type = e->type;
    c->desc.q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = e->scale, .offset = e->offset };
}

/* One scale per output, from the data. */
static enum status channel_scales(const struct plan *p, const struct quantize_rule *r, const float *x, int32_t axis,
                                  struct plan_const *c)
{
    struct tensor_desc *d = &c->desc;
    uint32_t n = d->dims[axis];
    CLEANUP(mem_freep) struct quantize_range *s = mem_new(struct quantize_range);
    float *scales;
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a histogram");
    TRY(axis_arrays(c, p->data, n, axis, &scales));
    for (uint32_t i = 0; i < n; i++) {
        struct quantize_encoding e;
        double lo, hi;
        channel_range(d, x, axis, i, s);
        quantize_search(s, r, &lo, &hi);
        quantize_encode(r, lo, hi, &e);
        d->type = e.type;
        scales[i] = e.scale;
    }
    return ST_OK;
}

static enum status whole_scale(const struct quantize_rule *r, const float *x, struct plan_const *c)
{
    struct quantize_range *s = mem_new(struct quantize_range);
    struct quantize_encoding e;
    double lo, hi;
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a histogram");
    quantize_range_init(s);
    quantize_range_add(s, x, desc_count(&c->desc));
    quantize_search(s, r, &lo, &hi);
    quantize_encode(r, lo, hi, &e);
    mem_free(s);
    set_tensor(c, &e);
    return ST_OK;
}

/* Per-channel and per-block weights have no offsets. */
static void symmetric_entry(const struct quantize_override *v, uint32_t i, struct quantize_encoding *ret)
{
    struct quantize_entry s = v->entries[i];
    s.symmetric = true;
    if (s.has_range && s.min >= 0)
        s.min = -s.max;
    if (!s.has_range && s.offset == 0) /* signed steps, where others count from the least one */
        s.offset = 1ll << (v->bits - 1);
    plan_entry(&s, v->bits, ret);
}

/* Scales of blocks in the order of the graph (quant_block_entry). */
static enum status block_scales(const struct plan *p, const struct quantize_override *v, uint32_t in, int32_t axis,
                                struct plan_const *c)
{
    struct quantize_encoding e;
    uint32_t outs = c->desc.dims[axis], blocks = c->desc.dims[in] / v->block, n = outs * blocks;
    float *scales = arena_array(p->data, float, n);
    RETURN_IF(!scales, ST_NO_MEMORY, "no memory for %u scales", n);
    c->desc.q = (struct quant){ .kind = Q_BLOCK, .definition = 1, .n = n, .scales = scales };
    memcpy(c->desc.q.block, c->desc.dims, sizeof(c->desc.q.block));
    c->desc.q.block[axis] = 1;
    c->desc.q.block[in] = v->block;
    for (uint32_t o = 0; o < outs; o++)
        for (uint32_t b = 0; b < blocks; b++) {
            symmetric_entry(v, v->blocks_first ? b * outs + o : o * blocks + b, &e);
            c->desc.type = e.type;
            uint32_t at[MAX_RANK] = { 0 };
            at[axis] = o;
            at[in] = b;
            scales[quant_block_entry(&c->desc.q, c->desc.dims, c->desc.rank, at)] = e.scale;
        }
    return ST_OK;
}

/* LPBQ: a scale per output, an integer factor per block of it. */
static enum status expansion_scales(const struct plan *p, const struct quantize_override *v, uint32_t blocks, int32_t axis,
                                    struct plan_const *c)
{
    struct quantize_encoding e;
    uint32_t outs = c->desc.dims[axis], most = 0;
    float *scales;
    uint16_t *factors = arena_array(p->data, uint16_t, (size_t)outs * blocks);
    RETURN_IF(!factors, ST_NO_MEMORY, "no memory for %u block scales", outs * blocks);
    TRY(axis_arrays(c, p->data, outs, axis, &scales));
    for (uint32_t o = 0; o < outs; o++) {
        symmetric_entry(v, o, &e);
        scales[o] = v->entries[o].has_scale ? (float)v->entries[o].scale : e.scale;
        for (uint32_t b = 0; b < blocks; b++) {
            factors[o * blocks + b] = v->block_scales[v->blocks_first ? b * outs + o : o * blocks + b];
            most = factors[o * blocks + b] > most ? factors[o * blocks + b] : most;
        }
    }
    c->desc.type = e.type;
    c->desc.q.kind = Q_EXPANSION;
    c->desc.q.blocks_per_axis = blocks;
    c->desc.q.block_scales = factors;
    c->desc.q.block_scale_storage = 16;
    while (c->desc.q.block_scale_bits < 16 && most >> c->desc.q.block_scale_bits)
        c->desc.q.block_scale_bits++;
    return ST_OK;
}

static enum status override_blocks(const struct plan *p, const struct quantize_override *v, const struct plan_port *port,
                                   struct plan_const *c)
{
    const struct tensor_desc *d = &c->desc;
    RETURN_IF(port->axis < 0 || port->gates || d->rank < 2, ST_INVALID_ARG,
              "the encodings of \"%s\" are per block; only weights of convolutions, FullyConnected and MatMul have that",
              v->name);
    uint32_t in = port->axis == d->rank - 1 ? d->rank - 2u : d->rank - 1u, outs = d->dims[port->axis];
    RETURN_IF(v->block > d->dims[in] || d->dims[in] % v->block, ST_INVALID_ARG,
              "the encodings of \"%s\" have blocks of %u; a divisor of the %u input channels is expected", v->name, v->block,
              d->dims[in]);
    uint32_t blocks = d->dims[in] / v->block, want = v->block_scales ? outs : outs * blocks, got = v->n;
    RETURN_IF(
        got != want || (v->block_scales && v->n_block_scales != outs * blocks), ST_INVALID_ARG,
        "the encodings of \"%s\" have %u scales and %u block scales; %u and %u are expected: %u outputs, %u blocks each",
        v->name, got, v->n_block_scales, want, v->block_scales ? outs * blocks : 0, outs, blocks);
    return v->block_scales ? expansion_scales(p, v, blocks, port->axis, c) : block_scales(p, v, in, port->axis, c);
}

static enum status override_scales(const struct plan *p, const struct quantize_override *v, const struct plan_port *port,
                                   struct plan_const *c)
{
    struct quantize_encoding e;
    float *scales;
    if (v->block)
        return override_blocks(p, v, port, c);
    if (v->n == 1) {
        plan_entry(&v->entries[0], v->bits, &e);
        set_tensor(c, &e);
        return ST_OK;
    }
    RETURN_IF(port->axis < 0 || c->desc.dims[port->axis] != v->n, ST_INVALID_ARG,
              "the encodings of \"%s\" have %u entries; 1 or %u (output channels) are expected", v->name, v->n,
              port->axis < 0 ? 1 : c->desc.dims[port->axis]);
    TRY(axis_arrays(c, p->data, v->n, port->axis, &scales));
    for (uint32_t i = 0; i < v->n; i++) {
        symmetric_entry(v, i, &e);
        c->desc.type = e.type;
        scales[i] = e.scale;
    }
    return ST_OK;
}

/* The bias of a sum of products is stored in the sum's own scale, so that it is added without rounding again. */
static enum status bias_scales(const struct plan *p, const struct tensor_desc *x, const struct tensor_desc *w,
                               struct plan_const *c)
{
    uint32_t n = w->q.kind == Q_AXIS || w->q.kind == Q_EXPANSION ? w->q.n : 1;
    float *scales;
    c->desc.type = DT_SQ32;
    if (n == 1 || c->desc.rank == 0 || desc_count(&c->desc) != n) {
        c->desc.q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = x->q.scale * quant_scale(&w->q, 0) };
        return ST_OK;
    }
    TRY(axis_arrays(c, p->data, n, c->desc.rank - 1, &scales));
    for (uint32_t i = 0; i < n; i++)
        scales[i] = (float)((double)x->q.scale * quant_scale(&w->q, i));
    return ST_OK;
}

/* A bias is stored in 32 bits of the scale of its products. When both operands are fine grained it may not fit: weights get
 * larger steps then. */
static void make_room(const struct plan *p, uint32_t bias, const struct tensor_desc *x, struct plan_const *c)
{
    const double most = 2147483647.0 * 0.98;
    if (bias == IR_NONE || !dtype_is_fixed(x->type) || !dtype_is_float(p->g->tensors.at[bias].desc.type))
        return;
    const struct ir_tensor *b = &p->g->tensors.at[bias];
    uint64_t n = desc_count(&b->desc);
    for (uint64_t i = 0; i < n; i++) {
        float *scale = c->desc.q.kind == Q_AXIS ? (float *)&c->desc.q.scales[n == c->desc.q.n ? i : 0] : &c->desc.q.scale;
        double least = fabs(number_get(b->desc.type, b->data, i)) / (most * x->q.scale);
        if (*scale < least && c->desc.q.offset == 0)
            *scale = (float)least;
    }
}

/* x: the data; in: what a weight is multiplied with. */
static enum status own_scales(const struct plan *p, uint32_t t, const struct plan_port *port, const struct tensor_desc *in,
                              const float *x, struct plan_const *c)
{
    struct quantize_rule r = p->o->act;
    r.method = QUANTIZE_MINMAX; /* every value of a constant is there in each run */
    if (port->use == PLAN_BIAS) {
        r = (struct quantize_rule){ .bits = p->o->bias_bits == 8 && p->o->act.bits == 8 ? 8 : 32,
                                    .schema = p->o->param.schema };
        r.schema = r.bits == 32 ? QUANTIZE_SYMMETRIC : r.schema;
    } else if (port->use == PLAN_WEIGHT) {
        bool per_channel = port->per_channel && port->axis >= 0;
        r = weight_rule(p, t, in, per_channel);
        if (r.bits == 4 && (port->axis < 0 || port->gates)) /* only products take 4 bits */
            r = (struct quantize_rule){ .bits = 8, .schema = per_channel ? QUANTIZE_SYMMETRIC : QUANTIZE_ASYMMETRIC };
        if (per_channel && !(port->gates && r.bits == 16)) /* 16 bits of one scale are enough, and are multiplied faster */
            return channel_scales(p, &r, x, port->axis, c);
        if (port->slopes && dtype_bits(in->type) == 16)
            r = (struct quantize_rule){ .bits = 16, .schema = QUANTIZE_ASYMMETRIC };
    }
    return whole_scale(&r, x, c);
}

static enum status fill_row(const struct plan *p, const char *name, uint8_t origin, const float *x, struct plan_const *c)
{
    double lo = 0, hi = 0;
    uint64_t n = desc_count(&c->desc);
    for (uint64_t i = 0; i < n; i++) {
        lo = i ? fmin(lo, x[i]) : x[i];
        hi = i ? fmax(hi, x[i]) : x[i];
    }
    c->data = arena_alloc(p->data, desc_bytes(&c->desc));
    RETURN_IF(!c->data, ST_NO_MEMORY, "no memory for constant \"%s\"", name);
    double sqnr = quantize_data(&c->desc, x, c->data);
    bool axis = c->desc.q.kind != Q_TENSOR;
    float *scale = axis ? NULL : arena_dup(p->data, &c->desc.q.scale, sizeof(float));
    int32_t *offset = axis ? NULL : arena_dup(p->data, &c->desc.q.offset, sizeof(int32_t));
    c->row = (struct quantize_row){ .name = name,
                                    .type = c->desc.type,
                                    .origin = origin,
                                    .constant = true,
                                    .n = axis ? c->desc.q.n : 1,
                                    .scales = axis ? c->desc.q.scales : scale,
                                    .offsets = offset,
                                    .min = lo,
                                    .max = hi,
                                    .sqnr = sqnr };
    RETURN_IF(!c->row.scales, ST_NO_MEMORY, "no memory for constant \"%s\"", name);
    return ST_OK;
}

/* A bias less what the quantized weights add to the mean of the results. *data becomes *copy, which is the caller's
 * to free. */
static enum status take_shift(const struct plan_port *port, uint64_t n, const float **data, float **copy)
{
    float *x = *copy;
    if (!x) {
        x = *copy = mem_array(float, n);
        RETURN_IF(!x, ST_NO_MEMORY, "no memory for a bias of %llu values", (unsigned long long)n);
        memcpy(x, *data, n * sizeof(*x));
    }
    for (uint64_t i = 0; i < n; i++)
        x[i] -= port->shift[i];
    *data = x;
    return ST_OK;
}

static enum status round_weights(const struct quantize_layer *l, const float *x, struct plan_const *c)
{
    uint64_t moved;
    TRY(quantize_round(l, &c->desc, x, c->data, &moved));
    if (moved)
        c->row.sqnr = quantize_data_sqnr(&c->desc, x, c->data);
    return ST_OK;
}

enum status plan_constant(const struct plan *p, uint32_t t, const struct plan_port *port, const struct tensor_desc *x,
                          const struct tensor_desc *w, struct plan_const *ret)
{
    const struct ir_tensor *from = &p->g->tensors.at[t];
    const struct quantize_override *v = p->override[t];
    bool blocks = w && w->q.kind == Q_BLOCK; /* there is no scale of the sum then */
    bool product = port->use == PLAN_BIAS && port->product && !blocks &&
                   (p->o->bias_bits == 32 || p->o->act.bits == 16 || dtype_bits(x->type) == 16);
    uint8_t origin = v ? QUANTIZE_OVERRIDE : product ? QUANTIZE_PRODUCT : QUANTIZE_CONSTANT;
    memset(ret, 0, sizeof(*ret));
    if ((v && v->is_float) || !from->data)
        return ST_OK;
    if (!v && !p->o->stats && port->use == PLAN_WEIGHT && port->axis >= 0 && !port->gates)
        return ST_OK; /* float fallback: weights that nobody encoded */
    CLEANUP(mem_freep) float *copy = NULL;
    const float *data = floats_of(from, &copy);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for constant \"%s\"", from->name);
    ret->desc = from->desc;
    if (port->shift)
        TRY(take_shift(port, desc_count(&ret->desc), &data, &copy));
    if (v && port->use != PLAN_BIAS)
        TRY(override_scales(p, v, port, ret));
    else if (port->use == PLAN_VALUE && p->tensors[t].origin != QUANTIZE_FLOAT)
        set_tensor(ret, &p->tensors[t].e);
    else if (port->like != IR_NONE && p->tensors[port->like].origin != QUANTIZE_FLOAT)
        set_tensor(ret, &p->tensors[port->like].e);
    else if (product)
        TRY(bias_scales(p, x, w, ret));
    else
        TRY(own_scales(p, t, port, x, data, ret));
    if (port->use == PLAN_WEIGHT && !v)
        make_room(p, port->bias, x, ret);
    TRY(fill_row(p, from->name, origin, data, ret));
    return port->layer && p->o->round ? round_weights(port->layer, data, ret) : ST_OK;
}

enum status plan_shift(const struct plan *p, uint32_t t, const struct plan_port *port, const struct tensor_desc *d,
                       const void *data, float **ret)
{
    CLEANUP(mem_freep) float *copy = NULL;
    *ret = NULL;
    if (!port->layer || !p->o->correct || !data || !dtype_is_fixed(d->type))
        return ST_OK;
    const float *w = floats_of(&p->g->tensors.at[t], &copy);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for constant \"%s\"", p->g->tensors.at[t].name);
    return quantize_shift(port->layer, d, w, data, p->arena, ret);
}

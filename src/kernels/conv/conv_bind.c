/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator's description to the args of the conv family: geometry, class of arithmetic, how the work is cut. */
#include <math.h>

#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

#define KERNELS(cls, list) list
#define V(name, isa, accept) kernel_fn name;
#include "kernels/conv/conv.def"
#undef V
#undef KERNELS

static bool conv_accept_narrow(const void *args)
{
    return ((const struct conv_args *)args)->narrow;
}

static bool depthwise_accept(const void *args)
{
    return ((const struct conv_args *)args)->multiplier == 1;
}

static bool depthwise_accept_narrow(const void *args)
{
    return depthwise_accept(args) && conv_accept_narrow(args);
}

enum { MAX_VARIANTS = 5 };
static const struct kernel_variant variants[2 * CONV_CLASSES][MAX_VARIANTS] = {
#define KERNELS(cls, list) [cls] = { list },
#define V(name, isa, accept) { #name, isa, name, accept },
#include "kernels/conv/conv.def"
#undef V
#undef KERNELS
};

static uint32_t round_up(uint32_t v, uint32_t to)
{
    return (v + to - 1) / to * to;
}

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

/* ---- geometry --------------------------------------------------------------------------------------------------- */

static uint32_t param_or_one(const struct op_call *c, const char *name, uint32_t at)
{
    return op_param_index(c->op, name) < 0 ? 1 : (uint32_t)op_int(c, name, at);
}

/* Spatial axis k of `spatial`; a one-dimensional operator has a height of 1. */
static struct conv_axis spatial_axis(const struct op_call *c, uint32_t spatial, int k)
{
    if (k < 0)
        return (struct conv_axis){ 1, 1, 1, 1, 1, 0 };
    uint32_t at = (uint32_t)k;
    return (struct conv_axis){ .in = c->in[0]->dims[1 + at], .out = c->out[0]->dims[1 + at], .kernel = c->in[1]->dims[at],
                               .stride = (uint32_t)op_int(c, "stride", spatial > 1 ? at : 0),
                               .dilation = param_or_one(c, "dilation", spatial > 1 ? at : 0),
                               .pad = (uint32_t)op_int(c, "pad_amount", 2 * at) };
}

static bool axis_padded(const struct conv_axis *v)
{
    return v->pad > 0 || (uint64_t)(v->out - 1) * v->stride + (uint64_t)(v->kernel - 1) * v->dilation >= v->in;
}

static void describe_spatial(const struct op_call *c, struct conv_args *a, enum conv_kind kind)
{
    const struct tensor_desc *x = c->in[0], *w = c->in[1];
    uint32_t spatial = x->rank - 2u;
    a->kind = kind;
    a->batch = x->dims[0];
    a->y = spatial_axis(c, spatial, spatial == 2 ? 0 : -1);
    a->x = spatial_axis(c, spatial, spatial == 2 ? 1 : 0);
    a->ci = x->dims[x->rank - 1];
    a->co = c->out[0]->dims[c->out[0]->rank - 1];
    uint32_t group = kind == CONV_DEPTHWISE ? a->ci : (uint32_t)op_int(c, "group", 0);
    /* One input channel per group: each output channel has an input channel of its own, which is what depthwise means. */
    if (kind == CONV_WINDOW && group > 1 && a->ci == group)
        kind = a->kind = CONV_DEPTHWISE;
    a->taps = a->y.kernel * a->x.kernel;
    a->cig = a->ci / group;
    a->cog = a->co / group;
    a->slices = a->w_slices = group;
    a->w_out = 1;
    a->w_in = w->dims[w->rank - 1];
    a->w_tap = (uint64_t)w->dims[w->rank - 2] * a->w_in;
    a->w_slice = kind == CONV_TRANSPOSED ? (uint64_t)a->cig * a->cog : a->cog;
    if (kind == CONV_DEPTHWISE) {
        a->multiplier = a->co / a->ci;
        a->slices = a->w_slices = 1;
        a->cig = 1;
        a->cog = a->co;
    }
    a->padded = kind == CONV_TRANSPOSED || axis_padded(&a->y) || axis_padded(&a->x);
    a->rows = a->batch * a->y.out * a->x.out;
    a->direct = kind == CONV_WINDOW && a->taps == 1 && !a->padded;
}

static void describe_matrix(struct conv_args *a, uint32_t rows, uint32_t k, uint32_t n)
{
    a->kind = CONV_MATRIX;
    a->taps = 1;
    a->batch = a->slices = a->w_slices = 1;
    a->rows = rows;
    a->cig = k;
    a->ci = k;
    a->cog = a->co = n;
    a->x_row = k;
    a->x_k = 1;
}

static void describe_fully_connected(const struct op_call *c, struct conv_args *a)
{
    uint32_t m = c->in[1]->dims[0], n = c->in[1]->dims[1];
    describe_matrix(a, (uint32_t)(desc_count(c->in[0]) / n), n, m);
    a->w_out = n;
    a->w_in = 1;
    a->direct = true;
}

/* Matrices per step of each batch dimension of the output; 0 where the operand is broadcast. */
static uint32_t batch_strides(const struct tensor_desc *d, const struct tensor_desc *out, uint64_t *strides)
{
    uint64_t step = 1;
    for (uint32_t i = out->rank - 2u; i-- > 0;) {
        int32_t j = (int32_t)i + d->rank - out->rank;
        uint32_t dim = j < 0 ? 1 : d->dims[j];
        strides[i] = dim == 1 ? 0 : step;
        step *= dim;
    }
    return (uint32_t)step;
}

static void describe_matmul(const struct op_call *c, struct conv_args *a)
{
    const struct tensor_desc *x = c->in[0], *w = c->in[1], *out = c->out[0];
    bool tx = op_int(c, "transpose_in0", 0), tw = op_int(c, "transpose_in1", 0);
    uint32_t m = out->dims[out->rank - 2], n = out->dims[out->rank - 1], k = x->dims[x->rank - (tx ? 2 : 1)];
    describe_matrix(a, m, k, n);
    a->n_batch = out->rank - 2u;
    for (uint32_t i = 0; i < a->n_batch; i++) {
        a->batch_dims[i] = out->dims[i];
        a->slices *= out->dims[i];
    }
    batch_strides(x, out, a->x_batch);
    a->w_slices = batch_strides(w, out, a->w_batch);
    a->w_slice = (uint64_t)k * n;
    a->w_out = tw ? k : 1;
    a->w_in = tw ? 1 : n;
    a->x_row = tx ? 1 : k;
    a->x_k = tx ? m : 1;
    a->direct = !tx;
    /* One matrix for all batches: the batches of x are just more rows. */
    if (a->w_slices == 1 && !tx && desc_count(x) == (uint64_t)a->slices * m * k) {
        a->rows = a->slices * m;
        a->slices = 1;
        a->n_batch = 0;
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t kg, wsize;
} class_layout[CONV_CLASSES] = {
    [CONV_Q8] = { 4, 1 }, [CONV_Q16] = { 2, 1 }, [CONV_Q16W16] = { 2, 2 }, [CONV_F32] = { 1, 4 }, [CONV_F16] = { 1, 2 },
};

static enum status choose_class(const struct op_call *c, struct conv_args *a)
{
    uint32_t x = T_(a->x_type), w = T_(a->w_type), out = T_(a->out_type);
    const char *text = "f32 or f16 throughout; uq8 or sq8 with 8- or 4-bit weights; uq16 or sq16 with 16-, 8- or 4-bit weights; "
                       "fixed-point outputs of 8 or 16 bits";
    int cls = -1;
    if ((x & T_FLOAT) && x == w && x == out)
        cls = a->x_type == DT_F32 ? CONV_F32 : CONV_F16;
    else if (!(out & T_Q))
        cls = -1;
    else if ((x & T_Q8) && (w & (T_Q8 | T_Q4)))
        cls = CONV_Q8;
    else if ((x & T_Q16) && (w & (T_Q8 | T_Q4)))
        cls = CONV_Q16;
    else if ((x & T_Q16) && (w & T_Q16))
        cls = CONV_Q16W16;
    RETURN_IF(cls < 0, ST_NOT_SUPPORTED, "%s \"%s\": no kernel takes %s with weights %s and output %s; there are kernels for %s",
              c->op->name, c->node ? c->node : "", dtype_name(a->x_type), dtype_name(a->w_type), dtype_name(a->out_type), text);
    a->cls = (enum conv_class)cls;
    a->kg = class_layout[cls].kg;
    a->wsize = class_layout[cls].wsize;
    return ST_OK;
}

/* How weights are stored: shifted by the whole offset where that fits the element, else to the middle of their range. */
static void choose_shift(struct conv_args *a)
{
    struct ku_range r = ku_range_of(a->w_type, &a->wq);
    int32_t half = a->wsize == 1 ? 128 : 32768, offset = quant_offset(&a->wq, 0);
    bool fits = r.lo + offset >= -half && r.hi + offset < half;
    a->w_shift = fits ? offset : dtype_is_signed(a->w_type) ? 0 : -half;
    a->w_offset = offset - a->w_shift;
}

static enum status describe_quant(const struct op_call *c, struct conv_args *a)
{
    const struct tensor_desc *w = c->in[1], *b = c->n_in > 2 ? c->in[2] : NULL, *out = c->out[0];
    a->x_type = c->in[0]->type;
    a->w_type = w->type;
    a->out_type = out->type;
    a->has_bias = b != NULL;
    a->b_type = b ? b->type : DT_NONE;
    TRY(choose_class(c, a));
    a->f_lo = c->post.lo;
    a->f_hi = c->post.hi;
    if (a->cls == CONV_F32 || a->cls == CONV_F16)
        return ST_OK;
    RETURN_IF(w->q.kind != Q_TENSOR && w->q.kind != Q_AXIS, ST_NOT_SUPPORTED,
              "%s \"%s\": weights have an encoding of kind %u; kernels exist for one scale per tensor or per output channel", c->op->name,
              c->node ? c->node : "", w->q.kind);
    a->wq = w->q;
    if (b)
        a->bq = b->q;
    a->w_bits = quant_bits(&w->q, w->type);
    choose_shift(a);
    a->x_scale = quant_scale(&c->in[0]->q, 0);
    a->x_offset = quant_offset(&c->in[0]->q, 0);
    a->out_scale = quant_scale(&out->q, 0);
    a->out_offset = quant_offset(&out->q, 0);
    struct ku_range r = ku_post_range(out->type, &out->q, &c->post);
    a->q_lo = r.lo;
    a->q_hi = r.hi;
    return ST_OK;
}

/* The largest magnitude that types allow, when the weights themselves are not known. */
static void choose_width(struct conv_args *a)
{
    if (a->cls == CONV_F32 || a->cls == CONV_F16)
        return;
    struct ku_range x = { dtype_min(a->x_type) + a->x_offset, dtype_max(a->x_type) + a->x_offset };
    int64_t x_max = -x.lo > x.hi ? -x.lo : x.hi, half = a->wsize == 1 ? 128 : 32768;
    int64_t w_max = half + (a->w_offset < 0 ? -(int64_t)a->w_offset : a->w_offset);
    a->bound = a->head ? a->head->bound : x_max * w_max * a->taps * a->cig;
    a->narrow = a->bound <= INT32_MAX;
}

enum status conv_describe(const struct op_call *c, struct conv_args *a)
{
    *a = (struct conv_args){ .multiplier = 1, .n_in = c->n_in };
    switch (c->op->id) {
    case OP_FullyConnected: describe_fully_connected(c, a); break;
    case OP_MatMul: describe_matmul(c, a); break;
    case OP_DepthWiseConv1d:
    case OP_DepthWiseConv2d: describe_spatial(c, a, CONV_DEPTHWISE); break;
    case OP_TransposeConv1d:
    case OP_TransposeConv2d: describe_spatial(c, a, CONV_TRANSPOSED); break;
    default: describe_spatial(c, a, CONV_WINDOW); break;
    }
    uint64_t rows = a->kind == CONV_MATRIX ? a->rows : (uint64_t)a->batch * a->y.out * a->x.out;
    RETURN_IF(rows * a->slices > INT32_MAX || desc_count(c->in[1]) > INT32_MAX, ST_NOT_SUPPORTED,
              "%s \"%s\": %llu output positions and %llu weights; at most %d of each are supported", c->op->name, c->node ? c->node : "",
              (unsigned long long)rows, (unsigned long long)desc_count(c->in[1]), INT32_MAX);
    TRY(describe_quant(c, a));
    a->tap_stride = a->kind == CONV_TRANSPOSED ? round_up(a->cig, a->kg) : a->cig;
    a->kpad = round_up(a->taps * a->tap_stride, a->kg);
    a->npad = round_up(a->cog, CONV_BLOCK);
    a->n_sums = a->kind == CONV_TRANSPOSED ? a->taps : 1;
    if (c->n_aux == 2) {
        a->packed = c->aux[0];
        a->head = c->aux[1];
    }
    choose_width(a);
    return ST_OK;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

static uint64_t align64(uint64_t v)
{
    return (v + 63) / 64 * 64;
}

static void cut_depthwise(struct conv_args *a, struct kernel_bound *ret)
{
    a->unit_rows = a->x.out;
    a->row_units = a->batch * a->y.out;
    a->col_units = 1;
    a->pack_bytes = a->packed ? 0 : align64((uint64_t)a->taps * a->npad * a->wsize) + conv_record_bytes(a, a->npad);
    ret->extent = a->row_units;
    ret->work_bytes = a->pack_bytes;
    ret->macs = (uint64_t)a->rows * a->cog * a->taps;
}

/* Few rows are cut along channels too, so that a thread pool has something to share; packing while running wants many rows per unit. */
static void cut_work(struct conv_args *a, struct kernel_bound *ret)
{
    const uint32_t enough = 64, rows_per_pack = 128;
    a->slice_chunks = ceil_div(a->cog, CONV_CHUNK);
    a->chunks = a->slices * a->slice_chunks;
    a->unit_rows = a->kind == CONV_MATRIX ? 1 : a->x.out;
    if (!a->packed)
        a->unit_rows *= ceil_div(rows_per_pack, a->unit_rows);
    a->row_units = ceil_div(a->rows, a->unit_rows);
    a->col_units = a->packed ? ceil_div(enough, a->row_units) : a->chunks;
    if (a->col_units > a->chunks)
        a->col_units = a->chunks;
    if (a->row_units >= enough / 2 && a->packed && a->kind != CONV_MATRIX)
        a->col_units = 1;

    const uint64_t panel_bytes = 768 * 1024;
    a->panel_stride = align64((uint64_t)a->kpad * 4);
    if (a->panel_stride % 4096 == 0)
        a->panel_stride += 64;
    uint64_t rows = panel_bytes / a->panel_stride / CONV_MR * CONV_MR;
    a->panel_rows = rows < CONV_MR ? CONV_MR : rows > CONV_ROWS ? CONV_ROWS : (uint32_t)rows;
    if (a->panel_rows > a->rows)
        a->panel_rows = a->rows;
    a->seg_bytes = align64((uint64_t)a->taps * sizeof(struct conv_seg));
    a->pack_bytes = a->packed ? 0 : align64(conv_block_bytes(a) * (CONV_CHUNK / CONV_BLOCK)) + conv_record_bytes(a, CONV_CHUNK);
    ret->extent = a->row_units * a->col_units;
    /* Not panel_rows * panel_stride, which may grow when k shrinks: binding again with smaller dimensions must not need more. */
    uint64_t least = CONV_MR * a->panel_stride, most = CONV_ROWS * a->panel_stride, budget = least > panel_bytes ? least : panel_bytes;
    uint64_t panel = most < budget ? most : budget;
    if (panel > a->rows * a->panel_stride)
        panel = a->rows * a->panel_stride;
    ret->work_bytes = a->seg_bytes + panel + a->pack_bytes;
    /* Every input pixel of TransposeConv meets every tap once; an output pixel meets only the taps of its phase. */
    uint64_t positions = a->kind == CONV_TRANSPOSED ? (uint64_t)a->batch * a->y.in * a->x.in : a->rows;
    ret->macs = positions * a->slices * a->cog * a->cig * a->taps;
}

static enum status conv_bind(const struct op_call *c, void *args, struct kernel_bound *ret, const struct kernel_variant **list)
{
    struct conv_args *a = args;
    TRY(conv_describe(c, a));
    bool depthwise = a->kind == CONV_DEPTHWISE;
    if (depthwise)
        cut_depthwise(a, ret);
    else
        cut_work(a, ret);
    /* About 20 µs of work at 100 G multiply-accumulates per second. */
    const uint64_t worth = 2000000;
    uint64_t per_unit = ret->macs / ret->extent + 1;
    ret->grain = per_unit >= worth ? 1 : (uint32_t)(worth / per_unit);
    if (ret->grain > ret->extent)
        ret->grain = ret->extent;
    *list = variants[a->cls + (depthwise ? CONV_CLASSES : 0)];
    return ST_OK;
}

const struct kernel_family family_conv = {
    .name = "conv",
    .args_size = sizeof(struct conv_args),
    .bind = conv_bind,
    .aux = conv_aux,
    .aux_fill = conv_aux_fill,
};

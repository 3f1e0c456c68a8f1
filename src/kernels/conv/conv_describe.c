/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator's description to the args of the conv family: its class of arithmetic, encodings, and how wide sums are.
 * Geometry is conv_shape.c, what weights are stored as conv_weight.c. */
#include <math.h>
#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

static uint32_t round_up(uint64_t v, uint32_t to)
{
    return (uint32_t)((v + to - 1) / to * to);
}

static const struct {
    uint8_t kg, wsize;
} class_layout[CONV_CLASSES] = {
    [CONV_Q8] = { 4, 1 }, [CONV_Q16] = { 4, 1 }, [CONV_Q16W16] = { 2, 2 }, [CONV_F32] = { 1, 4 }, [CONV_F16] = { 1, 2 },
};

static enum status choose_class(const struct op_call *c, struct conv_args *a)
{
    uint32_t x = T_(a->x_type), w = T_(a->w_type), out = T_(a->out_type);
    const char *text =
        "f32 or f16, with weights of any type; uq8 or sq8 with 8-, 4- or 2-bit weights; uq16 or sq16 with 16-, 8-, 4- "
        "or 2-bit weights; fixed-point outputs of 8 or 16 bits";
    int cls = -1;
    if (a->bytes) {
        a->cls = CONV_Q8;
        return ST_OK;
    }
    a->dequantized = (x & T_FLOAT) && (w & (T_Q | T_QLOW)) && x == out;
    a->mixed = (x & T_Q) && (w & T_FLOAT) && (out & T_Q);
    if (a->dequantized || a->mixed)
        cls = CONV_F32;
    else if ((x & T_FLOAT) && (w & T_FLOAT) && x == out)
        cls = a->x_type == DT_F16 && a->w_type == DT_F16 ? CONV_F16 : CONV_F32;
    else if (!(out & T_Q))
        cls = -1;
    else if ((x & T_Q8) && (w & (T_Q8 | T_QLOW)))
        cls = CONV_Q8;
    else if ((x & T_Q16) && (w & (T_Q8 | T_QLOW)))
        cls = CONV_Q16;
    else if ((x & T_Q16) && (w & T_Q16))
        cls = CONV_Q16W16;
    RETURN_IF(cls < 0, ST_NOT_SUPPORTED,
              "%s \"%s\": no kernel takes %s with weights %s and output %s; there are kernels for %s", c->op->name,
              c->node ? c->node : "", dtype_name(a->x_type), dtype_name(a->w_type), dtype_name(a->out_type), text);
    a->cls = (enum conv_class)cls;
    return ST_OK;
}

/* An accumulator of runs or of float weights has no unit of its own, so a bias must say what it is worth. */
static enum status check_bias(const struct op_call *c, const struct conv_args *a)
{
    bool own = !a->has_bias || dtype_is_float(a->b_type) || (a->bq.kind != Q_NONE && quant_scale(&a->bq, 0) != 0);
    RETURN_IF(
        (a->blocks || (a->mixed && !a->effective)) && !own, ST_NOT_SUPPORTED,
        "%s \"%s\": the bias is %s without a scale beside weights with block scales; give it a scale, or use an f32 bias",
        c->op->name, c->node ? c->node : "", dtype_name(a->b_type));
    return ST_OK;
}

/* Numbers as they are: scales of one, and a zero point that conv_run learns. */
static enum status describe_bytes(const struct op_call *c, struct conv_args *a)
{
    a->x_type = DT_UQ8;
    a->x_scale = a->out_scale = 1;
    a->whole.scales = c->n_in > CONV_IN_SCALE && c->in[CONV_IN_SCALE] && desc_count(c->in[CONV_IN_SCALE]) > 1;
    RETURN_IF(a->kind == CONV_DEPTHWISE, ST_NOT_SUPPORTED, "%s \"%s\": no kernel takes one input channel per group",
              c->op->name, c->node ? c->node : "");
    return ST_OK;
}

static enum status describe_quant(const struct op_call *c, struct conv_args *a)
{
    const bool bytes = c->op->id == OP_BytesConv2d || c->op->id == OP_BytesMatMul;
    const struct tensor_desc *b = c->n_in > 2 && !bytes ? c->in[2] : NULL, *out = c->out[0];
    a->bytes = bytes;
    a->x_type = c->in[0]->type;
    a->w_type = c->in[1]->type;
    a->out_type = out->type;
    a->has_bias = b != NULL;
    a->b_type = b ? b->type : DT_NONE;
    a->f_lo = c->post.lo;
    a->f_hi = c->post.hi;
    if (b)
        a->bq = b->q;
    TRY(choose_class(c, a));
    if (dtype_is_fixed(a->w_type))
        TRY(conv_weight_describe(c, a));
    a->kg =
        a->blocks && a->cls == CONV_Q16 ? 2 : class_layout[a->cls].kg; /* runs are whole pairs more often than whole fours */
    a->wsize = class_layout[a->cls].wsize;
    if (a->bytes)
        return describe_bytes(c, a);
    if (!dtype_is_fixed(a->x_type))
        return ST_OK;
    TRY(check_bias(c, a));
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
    int64_t x_max = -x.lo > x.hi ? -x.lo : x.hi, w_max = a->w_max + (a->w_offset < 0 ? -(int64_t)a->w_offset : a->w_offset);
    const int64_t terms = a->blocks ? a->run : (int64_t)a->taps * a->cig;
    int64_t most = 0;
    if (__builtin_mul_overflow(x_max, w_max, &most) || __builtin_mul_overflow(most, terms, &most))
        most = INT64_MAX;
    a->bound = a->head ? a->head->bound : most;
    a->narrow = a->bound <= INT32_MAX;
}

enum status conv_describe(const struct op_call *c, struct conv_args *a)
{
    *a = (struct conv_args){ .n_in = c->n_in, .n_m = 1 };
    TRY(conv_shape(c, a));
    TRY(describe_quant(c, a));
    a->tap_stride = a->kind == CONV_TRANSPOSED ? round_up(a->cig, a->kg) : a->cig;
    /* Channels of a tap are rounded up: there may be more of them than weights. */
    const uint64_t k = (uint64_t)a->taps * a->tap_stride;
    RETURN_IF(k > INT32_MAX - 64, ST_NOT_SUPPORTED, "%s \"%s\": sums of %llu products; at most %d are supported",
              c->op->name, c->node ? c->node : "", (unsigned long long)k, INT32_MAX - 64);
    a->kpad = round_up(k, a->kg);
    a->npad = round_up(a->cog, CONV_BLOCK);
    a->n_sums = a->blocks ? a->n_runs : a->kind == CONV_TRANSPOSED ? a->taps : 1;
    if (c->n_aux == 2) {
        a->packed = c->aux[0];
        a->head = c->aux[1];
    }
    choose_width(a);
    a->lifted = conv_lifts(a);
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Codecs from descriptors (see span.h). Bind time only. */
#include <math.h>
#include <string.h>

#include "kernels/span.h"

static void rounding(struct codec *c)
{
    const int64_t exact = 1 << 22;
    int64_t lo = c->lo + c->offset, hi = c->hi + c->offset;
    if (!dtype_is_fixed(c->type))
        return;
    c->wide = lo < -exact || hi > exact;
    c->flo = (float)lo;
    c->fhi = (float)hi;
}

void codec_f32(struct codec *c)
{
    *c = (struct codec){.type = DT_F32, .scale = 1.0f};
}

enum status codec_init(struct codec *c, const struct tensor_desc *d, const struct op_call *call)
{
    *c = (struct codec){.type = d->type, .scale = 1.0f};
    RETURN_IF(d->type == DT_NONE || d->type == DT_STR, ST_NOT_SUPPORTED,
              "%s \"%s\": no kernel for data type %s; floats, integers, fixed point and bool have one", call->op->name,
              call->node ? call->node : "", dtype_name(d->type));
    struct ku_range r = ku_range_of(d->type, &d->q);
    c->lo = r.lo;
    c->hi = r.hi;
    if (!dtype_is_fixed(d->type))
        return ST_OK;
    unsigned bits = quant_bits(&d->q, d->type);
    c->bits = bits < dtype_bits(d->type) ? (uint8_t)bits : 0;
    RETURN_IF(d->q.kind != Q_NONE && d->q.kind != Q_TENSOR && d->q.kind != Q_AXIS, ST_NOT_SUPPORTED,
              "%s \"%s\": a block-wise encoding has no kernel here; per-tensor and per-axis encodings have", call->op->name,
              call->node ? call->node : "");
    c->scale = quant_scale(&d->q, 0);
    c->offset = quant_offset(&d->q, 0);
    if (d->q.kind == Q_AXIS && d->q.n > 1) {
        uint32_t axis = (uint32_t)(d->q.axis < 0 ? d->q.axis + d->rank : d->q.axis);
        c->scales = d->q.scales;
        c->offsets = d->q.offsets;
        c->axis_n = d->q.n;
        c->axis_inner = 1;
        for (uint32_t i = axis + 1; i < d->rank; i++)
            c->axis_inner *= d->dims[i];
    }
    rounding(c);
    return ST_OK;
}

enum status codec_init_out(struct codec *c, const struct tensor_desc *d, const struct op_call *call)
{
    TRY(codec_init(c, d, call));
    float lo = call->post.lo, hi = call->post.hi;
    if (lo == -INFINITY && hi == INFINITY)
        return ST_OK;
    if (dtype_is_float(d->type)) {
        c->limited = true;
        c->flo = lo;
        c->fhi = hi;
        return ST_OK;
    }
    RETURN_IF(!dtype_is_fixed(d->type) || c->scales, ST_NOT_SUPPORTED,
              "%s \"%s\": a clamp cannot be fused behind an output of type %s; float and per-tensor fixed-point outputs can "
              "take it",
              call->op->name, call->node ? call->node : "", dtype_name(d->type));
    struct ku_range r = ku_post_range(d->type, &d->q, &call->post);
    c->lo = r.lo;
    c->hi = r.hi;
    rounding(c);
    return ST_OK;
}

void codec_rescale(struct codec *c, double scale)
{
    c->scale = (float)scale;
}

bool codec_same_bits(const struct tensor_desc *a, const struct tensor_desc *b)
{
    if (a->type != b->type)
        return false;
    if (!dtype_is_fixed(a->type))
        return true;
    /* What is not a per-tensor encoding on both sides belongs to weights on the move: the values stay as they are. */
    bool tensor_a = a->q.kind == Q_TENSOR, tensor_b = b->q.kind == Q_TENSOR;
    if (!tensor_a || !tensor_b)
        return true;
    return a->q.scale == b->q.scale && a->q.offset == b->q.offset &&
           quant_bits(&a->q, a->type) <= quant_bits(&b->q, b->type);
}

bool codec_copies(const struct codec *out, const struct tensor_desc *din, const struct tensor_desc *dout)
{
    if (!codec_same_bits(din, dout) || out->limited)
        return false;
    struct ku_range r = ku_range_of(dout->type, &dout->q);
    return !dtype_is_fixed(dout->type) || (out->lo == r.lo && out->hi == r.hi);
}

bool codec_pair(struct codec *in, struct codec *out, const struct tensor_desc *din, const struct tensor_desc *dout)
{
    if (codec_copies(out, din, dout))
        return true;
    if (dtype_is_fixed(din->type) && dtype_is_fixed(dout->type) && !in->scales && !out->scales) {
        codec_rescale(in, (double)in->scale / (double)out->scale);
        codec_rescale(out, 1.0);
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Making movers (see mover.h). Bind time only. */
#include "kernels/mover.h"

void mover_stored(const struct tensor_desc *out, const struct op_call *c, double real, uint8_t ret[8])
{
    struct codec codec;
    memset(ret, 0, 8);
    if (codec_init(&codec, out, c) != ST_OK)
        return;
    codec.scales = NULL;
    if (dtype_is_fixed(out->type)) {
        float f = (float)real;
        span_store_ref(&codec, ret, 0, 1, 1, &f);
    } else {
        span_store_f64_ref(&codec, ret, 0, 1, &real);
    }
}

enum status mover_constant(struct mover *m, const struct tensor_desc *in, const struct tensor_desc *out,
                           const struct op_call *c, double real)
{
    _Alignas(8) uint8_t stored[8];
    float f;
    mover_stored(in, c, real, stored);
    if (m->copy || !dtype_is_fixed(in->type)) {
        memcpy(m->zero, stored, sizeof(stored));
        if (!m->copy)
            mover_stored(out, c, real, m->zero);
        return ST_OK;
    }
    span_load_ref(&m->in, stored, 0, 1, 1, &f);
    span_store_ref(&m->out, m->zero, 0, 1, 1, &f);
    return ST_OK;
}

enum status mover_init(struct mover *m, const struct tensor_desc *in, const struct tensor_desc *out, const struct op_call *c)
{
    struct tensor_desc din = *in, dout = *out;
    *m = (struct mover){.bytes = (uint8_t)(dtype_bits(out->type) / 8)};
    /* Encodings that are not per tensor only describe what is moved; the values stay as they are. */
    if (codec_same_bits(in, out) && dtype_is_fixed(in->type) && (in->q.kind != Q_TENSOR || out->q.kind != Q_TENSOR))
        din.q = dout.q =
            (struct quant){ .kind = Q_TENSOR, .scale = quant_scale(&in->q, 0), .offset = quant_offset(&in->q, 0) };
    TRY(codec_init(&m->in, &din, c));
    TRY(codec_init_out(&m->out, &dout, c));
    m->copy = codec_pair(&m->in, &m->out, &din, &dout);
    return mover_constant(m, &din, &dout, c, 0.0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar end of a sum of products: from an accumulator to a stored output. Vector engines use it where their own end
 * does not hold. */
#ifndef KERNELS_CONV_CONV_END_H
#define KERNELS_CONV_CONV_END_H

#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

/* v: the result in steps of the output, before rounding. */
static inline void conv_store_steps(const struct conv_args *a, void *out, uint64_t at, float v)
{
    int64_t q = ku_clamp(ku_sub(ku_rne(v), a->out_offset), a->q_lo, a->q_hi);
    if (dtype_bits(a->out_type) == 8)
        ((uint8_t *)out)[at] = (uint8_t)q;
    else
        ((uint16_t *)out)[at] = (uint16_t)q;
}

/* acc: the sum with bias, exact. */
static inline void conv_store_fixed(const struct conv_args *a, void *out, uint64_t at, int64_t acc, float m)
{
    conv_store_steps(a, out, at, (float)acc * m);
}

/* Where the per-channel inputs of products of bytes begin for a chunk. */
static inline uint32_t conv_first_channel(const struct conv_args *a, const struct conv_chunk *c)
{
    return a->kind == CONV_MATRIX ? c->c0 : c->slice * a->cog + c->c0;
}

/* acc: the sum of products of bytes; c: output channel. */
static inline void conv_store_whole(const struct conv_args *a, float *out, uint64_t at, int64_t acc, uint32_t c)
{
    const struct conv_whole *w = &a->whole;
    float v = (float)(int32_t)((uint32_t)(uint64_t)acc + (w->sum ? (uint32_t)w->sum[c] : 0));
    if (w->scale)
        v *= w->scale[w->scales ? c : 0];
    if (w->bias)
        v += w->bias[c];
    out[at] = ku_post(v, a->f_lo, a->f_hi);
}

/* acc: the sum without bias. */
static inline void conv_store_float(const struct conv_args *a, void *out, uint64_t at, float acc, float bias)
{
    float v = ku_post(acc + bias, a->f_lo, a->f_hi);
    if (a->mixed)
        conv_store_steps(a, out, at, v / (float)a->out_scale);
    else if (a->out_type == DT_F32)
        ((float *)out)[at] = v;
    else
        ((uint16_t *)out)[at] = ku_f32_to_f16(v);
}

/* What belongs to a channel whatever the row is: bias and the part of the sum that an engine left out by storing x shifted:
 * the engine's element is x + x_offset - left. */
static inline int64_t conv_fold(const struct conv_panel *p, const struct conv_chunk *c, uint32_t at, uint32_t tap_stride,
                                int64_t left)
{
    uint64_t sum = 0; /* unsigned: a damaged file may hold any number here, and a wrong result is all it may get for it */
    if (left == 0)
        return c->b[at];
    if (c->sum_stride && tap_stride) {
        for (uint32_t s = 0; s < p->n_seg; s++)
            sum += (uint64_t)c->wsum[p->seg[s].k / tap_stride * c->sum_stride + at];
    } else {
        sum = (uint64_t)c->wsum[at];
    }
    return (int64_t)((uint64_t)c->b[at] + (uint64_t)left * sum);
}

/* Sums of products with bias fit 32 bits, for all channels of the chunk: then it does not matter what overflows on
 * the way. */
static inline bool conv_fits_32(const struct conv_args *a, const struct conv_chunk *c)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint64_t b = c->b[i] < 0 ? -(uint64_t)c->b[i] : (uint64_t)c->b[i];
        most = b > most ? b : most;
    }
    return a->bound >= 0 && most <= INT32_MAX && (uint64_t)a->bound + most <= INT32_MAX;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The vector end of 32-bit sums of products; include vec_<isa>.h first. `left` is what engines leave out of their elements
 * (conv_end.h). */
#ifndef KERNELS_CONV_CONV_FIXED_END_H
#define KERNELS_CONV_CONV_FIXED_END_H

#include "kernels/conv/conv_end.h"

struct fixed_end {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct conv_chunk *c;
    void *out;
    vf lo, hi;                      /* output range before the offset is subtracted: whole numbers, exact in f32 */
    vi offset;
    uint32_t bytes, c0;
    uint32_t simple;                /* channels up to here are plain */
    int32_t w_offset;
    const float *m;
    const int32_t *base;            /* per channel: what the sum lacks, modulo 2^32; with bias when the chunk is plain */
    int32_t own[CONV_CHUNK] __attribute__((aligned(64)));
};

static inline void fixed_end_range(struct fixed_end *e, const struct conv_args *a)
{
    e->lo = vf_set1((float)(a->q_lo + a->out_offset));
    e->hi = vf_set1((float)(a->q_hi + a->out_offset));
    e->offset = vi_set1(a->out_offset);
    e->bytes = dtype_bits(a->out_type) / 8;
}

/* All but the base, which fixed_end_base computes into e->own. */
static inline void fixed_end_start(struct fixed_end *e, const struct conv_args *a, const struct conv_panel *p,
                                   const struct conv_chunk *c, void *out)
{
    e->a = a;
    e->p = p;
    e->c = c;
    e->out = out;
    e->c0 = c->c0;
    e->m = c->m;
    e->simple = c->plain && !a->bytes ? c->n : 0;
    e->w_offset = a->w_offset;
    fixed_end_range(e, a);
}

static inline void fixed_end_base(struct fixed_end *e, int64_t left)
{
    const struct conv_args *a = e->a;
    const struct conv_panel *p = e->p;
    const struct conv_chunk *c = e->c;
    e->base = e->own;
    if (a->kind == CONV_TRANSPOSED) {
        for (uint32_t i = 0; i < c->n; i++)
            e->own[i] = (int32_t)(uint32_t)(uint64_t)(conv_fold(p, c, i, a->tap_stride, left) - (c->plain ? 0 : c->b[i]));
        return;
    }
    /* conv_fold in 32 bits, so that it is done in a few vectors: engines come here for every panel. */
    const uint32_t bias = c->plain ? UINT32_MAX : 0, left32 = (uint32_t)(uint64_t)left;
    for (uint32_t i = 0; i < c->n; i++)
        e->own[i] = (int32_t)(((uint32_t)(uint64_t)c->b[i] & bias) + left32 * (uint32_t)(uint64_t)c->wsum[i]);
}

static inline void fixed_end_init(struct fixed_end *e, const struct conv_args *a, const struct conv_panel *p,
                                  const struct conv_chunk *c, int64_t left, void *out)
{
    fixed_end_start(e, a, p, c, out);
    fixed_end_base(e, left);
}

/* Of products of bytes: floats. */
static inline void fixed_end_whole(const struct fixed_end *e, uint64_t to, uint32_t at, uint32_t n, vi acc)
{
    const struct conv_args *a = e->a;
    const struct conv_whole *w = &a->whole;
    const uint32_t c = conv_first_channel(a, e->c) + at;
    vf v = vf_from_int(w->sum ? vi_add(acc, vi_load_n(w->sum + c, n)) : acc);
    if (w->scale)
        v = vf_mul(v, w->scales ? vf_load_n(w->scale + c, n) : vf_set1(*w->scale));
    if (w->bias)
        v = vf_add(v, vf_load_n(w->bias + c, n));
    vf_store_n((float *)e->out + to, vf_min(vf_set1(a->f_hi), vf_max(vf_set1(a->f_lo), v)), n);
}

/* The end of a vector that is not full or not plain. */
static __attribute__((noinline)) void fixed_end_rest(const struct fixed_end *e, uint32_t row, uint32_t at, vi acc)
{
    const struct conv_args *a = e->a;
    const struct conv_panel *p = e->p;
    const struct conv_chunk *c = e->c;
    if (at >= c->n)
        return;
    uint32_t n = c->n - at < VEC_LANES ? c->n - at : VEC_LANES;
    uint64_t to = p->out[row] + c->c0 + at;
    acc = vi_add(acc, vi_load_n(e->base + at, n));
    if (a->w_offset)
        acc = vi_add(acc, vi_set1((int32_t)(uint32_t)(uint64_t)(a->w_offset * p->xsum[row])));
    if (a->bytes) {
        fixed_end_whole(e, to, at, n, acc);
        return;
    }
    if (c->plain) {
        vi_store_n((char *)e->out + to * e->bytes, vi_requant(acc, vf_load_n(c->m + at, n), e->lo, e->hi, e->offset), n,
                   e->bytes);
        return;
    }
    int32_t sum[VEC_LANES];
    vi_store(sum, acc);
    for (uint32_t i = 0; i < n; i++)
        conv_store_fixed(a, e->out, to + i, sum[i] + c->b[at + i], c->m[at + i]);
}

/* One vector of channels of one row, channel `at` of the chunk first. */
static inline __attribute__((always_inline)) void fixed_end_store(const struct fixed_end *e, uint32_t row, uint32_t at,
                                                                  vi acc)
{
    if (at + VEC_LANES > e->simple) {
        fixed_end_rest(e, row, at, acc);
        return;
    }
    if (e->w_offset)
        acc = vi_add(acc, vi_set1((int32_t)((uint32_t)e->w_offset * (uint32_t)(uint64_t)e->p->xsum[row])));
    vi q = vi_requant(vi_add(acc, vi_load(e->base + at)), vf_load(e->m + at), e->lo, e->hi, e->offset);
    vi_store_n((char *)e->out + (e->p->out[row] + e->c0 + at) * e->bytes, q, VEC_LANES, e->bytes);
}

#endif

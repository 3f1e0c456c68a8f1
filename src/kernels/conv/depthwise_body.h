/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise runs with vectors of any length; include vec_<isa>.h first. A vector holds neighbouring channels, four output pixels share each
 * weight that is loaded. Fixed point sums in 32 bits: these variants are chosen only where that is exact. */
#include <string.h>

#include "kernels/conv/conv_fixed_end.h"
#include "kernels/conv/depthwise.h"

enum { DW_PIXELS = 4 };

/* n channels at element `at`, as numbers. The type is a constant where this is used. */
static inline __attribute__((always_inline)) vi fixed_at(enum dtype t, const void *p, uint64_t at, uint32_t n)
{
    switch (t) {
    case DT_UQ8: return vi_from_u8((const uint8_t *)p + at, n);
    case DT_SQ8: return vi_from_s8((const int8_t *)p + at, n);
    case DT_UQ16: return vi_from_u16((const uint16_t *)p + at, n);
    default: return vi_from_s16((const int16_t *)p + at, n);
    }
}

static inline __attribute__((always_inline)) vf float_at(enum dtype t, const void *p, uint64_t at, uint32_t n)
{
    if (t == DT_F32)
        return n >= VEC_LANES ? vf_load((const float *)p + at) : vf_load_n((const float *)p + at, n);
    return n >= VEC_LANES ? vf_load_half((const uint16_t *)p + at) : vf_load_half_n((const uint16_t *)p + at, n);
}

/* The end of one vector of one pixel. */
static inline void fixed_pixel_end(const struct dw_run *r, const struct fixed_end *e, uint64_t to, uint32_t c0, uint32_t n, vi acc)
{
    int32_t t[VEC_LANES];
    if (n > VEC_LANES)
        n = VEC_LANES;
    if (r->plain) {
        for (uint32_t i = 0; i < VEC_LANES; i++)
            t[i] = i < n ? (int32_t)r->b[c0 + i] : 0;
        acc = vi_requant(vi_add(acc, vi_load(t)), vf_load_n(r->m + c0, n), e->lo, e->hi, e->offset);
        vi_store_n((char *)r->out + to * e->bytes, acc, n, e->bytes);
        return;
    }
    vi_store(t, acc);
    for (uint32_t i = 0; i < n; i++)
        conv_store_fixed(r->a, r->out, to + i, t[i] + r->b[c0 + i], r->m[c0 + i]);
}

/* Pixels i … i + p of the run, channels c0 … c0 + n. */
static inline __attribute__((always_inline)) void fixed_pixels(const struct dw_run *r, const struct fixed_end *e, enum dtype t, uint32_t i,
                                                               const int p, uint32_t c0, uint32_t n)
{
    const struct conv_args *a = r->a;
    vi acc[DW_PIXELS], xo = vi_set1(a->x_offset), wo = vi_set1(a->w_offset);
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        acc[j] = vi_zero();
    for (uint32_t line = 0; line < r->lines; line++)
        for (uint32_t tap = 0; tap < r->taps; tap++) {
            uint64_t x = i * r->x_pixel + line * r->x_line + tap * r->x_tap + c0;
            const int8_t *w = (const int8_t *)r->w + (uint64_t)(r->tap + line * a->x.kernel + tap) * a->npad + c0;
            vi wv = vi_add(vi_from_s8(w, VEC_LANES), wo);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++)
                acc[j] = vi_add(acc[j], vi_mul(vi_add(fixed_at(t, r->x, x + (uint64_t)j * r->x_pixel, n), xo), wv));
        }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        fixed_pixel_end(r, e, r->out_at + (uint64_t)(i + (uint32_t)j) * a->co + c0, c0, n, acc[j]);
}

static inline __attribute__((always_inline)) void fixed_run(const struct dw_run *r, enum dtype t)
{
    struct fixed_end e;
    fixed_end_range(&e, r->a);
    for (uint32_t c0 = 0; c0 < r->a->co; c0 += VEC_LANES) {
        uint32_t n = r->a->co - c0, i = 0;
        for (; i + DW_PIXELS <= r->n; i += DW_PIXELS)
            fixed_pixels(r, &e, t, i, DW_PIXELS, c0, n);
        for (; i < r->n; i++)
            fixed_pixels(r, &e, t, i, 1, c0, n);
    }
}

static inline __attribute__((always_inline)) void float_pixels(const struct dw_run *r, enum dtype t, uint32_t i, const int p, uint32_t c0,
                                                               uint32_t n)
{
    const struct conv_args *a = r->a;
    vf acc[DW_PIXELS];
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        acc[j] = vf_zero();
    for (uint32_t line = 0; line < r->lines; line++)
        for (uint32_t tap = 0; tap < r->taps; tap++) {
            uint64_t x = i * r->x_pixel + line * r->x_line + tap * r->x_tap + c0;
            vf w = float_at(t, r->w, (uint64_t)(r->tap + line * a->x.kernel + tap) * a->npad + c0, VEC_LANES);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++)
                acc[j] = vf_fma(float_at(t, r->x, x + (uint64_t)j * r->x_pixel, n), w, acc[j]);
        }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++) {
        uint64_t to = r->out_at + (uint64_t)(i + (uint32_t)j) * a->co + c0;
        vf v = vf_add(acc[j], vf_load_n(r->m + c0, n));
        v = vf_min(vf_set1(a->f_hi), vf_max(vf_set1(a->f_lo), v));
        if (t == DT_F32)
            vf_store_n((float *)r->out + to, v, n);
        else
            vf_store_half_n((uint16_t *)r->out + to, v, n);
    }
}

static inline __attribute__((always_inline)) void float_run(const struct dw_run *r, enum dtype t)
{
    for (uint32_t c0 = 0; c0 < r->a->co; c0 += VEC_LANES) {
        uint32_t n = r->a->co - c0, i = 0;
        for (; i + DW_PIXELS <= r->n; i += DW_PIXELS)
            float_pixels(r, t, i, DW_PIXELS, c0, n);
        for (; i < r->n; i++)
            float_pixels(r, t, i, 1, c0, n);
    }
}

static void q8_run(const struct dw_run *r)
{
    if (r->a->x_type == DT_UQ8)
        fixed_run(r, DT_UQ8);
    else
        fixed_run(r, DT_SQ8);
}

static void q16_run(const struct dw_run *r)
{
    if (r->a->x_type == DT_UQ16)
        fixed_run(r, DT_UQ16);
    else
        fixed_run(r, DT_SQ16);
}

static void f32_run(const struct dw_run *r)
{
    float_run(r, DT_F32);
}

static void f16_run(const struct dw_run *r)
{
    float_run(r, DT_F16);
}

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

/* What belongs to one vector of channels, whatever the pixel. */
struct dw_lanes {
    struct fixed_end e;
    uint32_t c0, n;
    vi b;
    vf m;
};

static void lanes_at(struct dw_lanes *l, const struct dw_run *r, uint32_t c0)
{
    int32_t b[VEC_LANES] = { 0 };
    l->c0 = c0;
    l->n = r->a->co - c0 < VEC_LANES ? r->a->co - c0 : VEC_LANES;
    for (uint32_t i = 0; i < l->n && r->plain; i++)
        b[i] = (int32_t)r->b[c0 + i];
    l->b = vi_load(b);
    l->m = vf_load_n(r->m + c0, l->n);
}

static inline void fixed_pixel_end(const struct dw_run *r, const struct dw_lanes *l, uint64_t to, vi acc)
{
    const struct fixed_end *e = &l->e;
    if (r->plain) {
        vi_store_n((char *)r->out + to * e->bytes, vi_requant(vi_add(acc, l->b), l->m, e->lo, e->hi, e->offset), l->n, e->bytes);
        return;
    }
    int32_t t[VEC_LANES];
    vi_store(t, acc);
    for (uint32_t i = 0; i < l->n; i++)
        conv_store_fixed(r->a, r->out, to + i, t[i] + r->b[l->c0 + i], r->m[l->c0 + i]);
}

/* acc + x * w. With 8-bit x both factors fit 16 bits: the pair product does it, its upper halves being zero in w. */
static inline __attribute__((always_inline)) vi fixed_mac(enum dtype t, vi acc, vi x, vi w)
{
    return t == DT_UQ8 || t == DT_SQ8 ? vi_dot16(acc, x, w) : vi_add(acc, vi_mul(x, w));
}

/* Pixels i … i + p of the run. */
static inline __attribute__((always_inline)) void fixed_pixels(const struct dw_run *r, const struct dw_lanes *l, enum dtype t, uint32_t i,
                                                               const int p, uint32_t n)
{
    const struct conv_args *a = r->a;
    const bool small = t == DT_UQ8 || t == DT_SQ8;
    vi acc[DW_PIXELS], xo = vi_set1(a->x_offset), wo = vi_set1(a->w_offset), low = vi_set1(0xffff);
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        acc[j] = vi_zero();
    for (uint32_t line = 0; line < r->lines; line++)
        for (uint32_t tap = 0; tap < r->taps; tap++) {
            uint64_t x = i * r->x_pixel + line * r->x_line + tap * r->x_tap + l->c0;
            const int8_t *w = (const int8_t *)r->w + (uint64_t)(r->tap + line * a->x.kernel + tap) * a->npad + l->c0;
            vi wv = vi_add(vi_from_s8(w, VEC_LANES), wo);
            if (small)
                wv = vi_and(wv, low);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++)
                acc[j] = fixed_mac(t, acc[j], vi_add(fixed_at(t, r->x, x + (uint64_t)j * r->x_pixel, n), xo), wv);
        }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        fixed_pixel_end(r, l, r->out_at + (uint64_t)(i + (uint32_t)j) * a->co + l->c0, acc[j]);
}

/* n is a constant where vectors are full, so that loads need no masks. */
static inline __attribute__((always_inline)) void fixed_column(const struct dw_run *r, const struct dw_lanes *l, enum dtype t, uint32_t n)
{
    uint32_t i = 0;
    for (; i + DW_PIXELS <= r->n; i += DW_PIXELS)
        fixed_pixels(r, l, t, i, DW_PIXELS, n);
    for (; i < r->n; i++)
        fixed_pixels(r, l, t, i, 1, n);
}

static inline __attribute__((always_inline)) void fixed_run(const struct dw_run *r, enum dtype t)
{
    struct dw_lanes l;
    fixed_end_range(&l.e, r->a);
    for (uint32_t c0 = 0; c0 < r->a->co; c0 += VEC_LANES) {
        lanes_at(&l, r, c0);
        if (l.n == VEC_LANES)
            fixed_column(r, &l, t, VEC_LANES);
        else
            fixed_column(r, &l, t, l.n);
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

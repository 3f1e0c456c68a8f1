/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise runs with vectors of any length; include vec_<isa>.h first. A vector holds neighbouring channels, four output
 * pixels share each weight that is loaded. Fixed point sums in 32 bits: these variants are chosen only where that is exact.
 * Where an input channel has several outputs, a vector of input channels is loaded and its lanes are repeated. */
#include <string.h>

#include "kernels/conv/conv_fixed_end.h"
#include "kernels/conv/conv_wide_end.h"
#include "kernels/conv/depthwise.h"

enum { DW_PIXELS = 4 };

/* A walk over the lines of all planes: element of x and of the weights for the line's first tap. */
struct dw_taps {
    uint64_t x0, w0, x, w;
    uint32_t line, of;
};

static inline __attribute__((always_inline)) struct dw_taps dw_first(const struct dw_run *r, uint64_t x, uint32_t channel)
{
    return (struct dw_taps){ .x0 = x, .w0 = (uint64_t)r->tap * r->a->npad + channel, .of = r->planes * r->lines };
}

static inline __attribute__((always_inline)) bool dw_line(const struct dw_run *r, struct dw_taps *t)
{
    if (t->line == t->of)
        return false;
    uint32_t plane = r->planes == 1 ? 0 : t->line / r->lines, line = r->planes == 1 ? t->line : t->line % r->lines;
    t->x = t->x0 + plane * r->x_plane + line * r->x_line;
    t->w = t->w0 + ((uint64_t)plane * r->a->y.kernel + line) * r->a->x.kernel * r->a->npad;
    t->line++;
    return true;
}

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

/* How a run is computed; all of it is constant where the loops are compiled. */
struct dw_form {
    enum dtype x;
    bool wide;          /* 16-bit weights beside 16-bit x: x = 256 * high + low, two sums */
    bool picked;        /* several outputs per input channel */
};

/* What belongs to one vector of output channels, whatever the pixel. */
struct dw_lanes {
    struct fixed_end e;
    uint32_t c0, n;
    uint32_t x0, nx;    /* input channels: the first, and how many may be loaded */
    vi pick;            /* which of them a lane multiplies; unused where every input channel has one output */
    vi b;
    vf m;
};

static inline void lanes_at(struct dw_lanes *l, const struct dw_run *r, struct dw_form f, uint32_t c0)
{
    const struct conv_args *a = r->a;
    int32_t pick[VEC_LANES] = { 0 };
    l->c0 = c0;
    l->n = a->co - c0 < VEC_LANES ? a->co - c0 : VEC_LANES;
    l->x0 = f.picked ? c0 / a->multiplier : c0;
    l->nx = a->ci - l->x0 < VEC_LANES ? a->ci - l->x0 : VEC_LANES;
    for (uint32_t i = 0, at = c0 - l->x0 * a->multiplier, x = 0; f.picked && i < l->n; i++) {
        pick[i] = (int32_t)x;
        if (++at == a->multiplier) {
            at = 0;
            x++;
        }
    }
    if (f.picked)
        l->pick = vi_load(pick);
    l->m = vf_load_n(r->m + c0, l->n);
}

/* Biases of plain channels, which fit 32 bits. Records are padded to whole vectors. */
static inline void lanes_bias(struct dw_lanes *l, const struct dw_run *r)
{
    int32_t b[VEC_LANES];
    for (uint32_t i = 0; i < VEC_LANES; i++)
        b[i] = (int32_t)r->b[l->c0 + i];
    l->b = vi_load(b);
}

static inline void fixed_pixel_end(const struct dw_run *r, const struct dw_lanes *l, uint64_t to, vi acc)
{
    const struct fixed_end *e = &l->e;
    if (r->plain) {
        vi_store_n((char *)r->out + to * e->bytes, vi_requant(vi_add(acc, l->b), l->m, e->lo, e->hi, e->offset), l->n,
                   e->bytes);
        return;
    }
    int32_t t[VEC_LANES];
    vi_store(t, acc);
    for (uint32_t i = 0; i < l->n; i++)
        conv_store_fixed(r->a, r->out, to + i, t[i] + r->b[l->c0 + i], r->m[l->c0 + i]);
}

/* Sums of high and of low parts of x. */
static inline void wide_pixel_end(const struct dw_run *r, const struct dw_lanes *l, uint64_t to, vi high, vi low)
{
    int64_t sum[VEC_LANES];
    memcpy(sum, r->b + l->c0, sizeof sum); /* records are padded to whole vectors */
    vi_widen(sum, high, 8);
    vi_widen(sum, low, 0);
    if (r->plain) {
        wide_end_store(&l->e, sum, l->m, l->n, (char *)r->out + to * l->e.bytes);
        return;
    }
    for (uint32_t i = 0; i < l->n; i++)
        conv_store_fixed(r->a, r->out, to + i, sum[i], r->m[l->c0 + i]);
}

/* acc + x * w. With 8-bit x both factors fit 16 bits: the pair product does it, its upper halves being zero in w. */
static inline __attribute__((always_inline)) vi fixed_mac(bool small, vi acc, vi x, vi w)
{
    return small ? vi_dot16(acc, x, w) : vi_add(acc, vi_mul(x, w));
}

/* Pixels i … i + p of the run. n: input channels to load. */
static inline __attribute__((always_inline)) void fixed_pixels(const struct dw_run *r, const struct dw_lanes *l,
                                                               struct dw_form f, uint32_t i, const int p, uint32_t n)
{
    const struct conv_args *a = r->a;
    const bool small = f.wide || f.x == DT_UQ8 || f.x == DT_SQ8;
    vi acc[DW_PIXELS], part[DW_PIXELS], xo = vi_set1(a->x_offset), wo = vi_set1(a->w_offset), low = vi_set1(0xffff);
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        acc[j] = part[j] = vi_zero();
    for (struct dw_taps t = dw_first(r, i * r->x_pixel + l->x0, l->c0); dw_line(r, &t);)
        for (uint32_t tap = 0; tap < r->taps; tap++, t.x += r->x_tap, t.w += a->npad) {
            vi wv = f.wide ? vi_from_s16((const int16_t *)r->w + t.w, VEC_LANES)
                           : vi_add(vi_from_s8((const int8_t *)r->w + t.w, VEC_LANES), wo);
            if (small)
                wv = vi_and(wv, low);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++) {
                vi xv = vi_add(fixed_at(f.x, r->x, t.x + (uint64_t)j * r->x_pixel, n), xo);
                if (f.picked)
                    xv = vi_pick(xv, l->pick);
                if (f.wide)
                    part[j] = vi_dot16(part[j], vi_and(xv, vi_set1(255)), wv);
                acc[j] = fixed_mac(small, acc[j], f.wide ? vi_shift8(xv) : xv, wv);
            }
        }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++) {
        uint64_t to = r->out_at + (uint64_t)(i + (uint32_t)j) * a->co + l->c0;
        if (f.wide)
            wide_pixel_end(r, l, to, acc[j], part[j]);
        else
            fixed_pixel_end(r, l, to, acc[j]);
    }
}

/* n is a constant where vectors are full, so that loads need no masks. */
static inline __attribute__((always_inline)) void fixed_column(const struct dw_run *r, const struct dw_lanes *l,
                                                               struct dw_form f, uint32_t n)
{
    uint32_t i = 0;
    for (; i + DW_PIXELS <= r->n; i += DW_PIXELS)
        fixed_pixels(r, l, f, i, DW_PIXELS, n);
    for (; i < r->n; i++)
        fixed_pixels(r, l, f, i, 1, n);
}

static inline __attribute__((always_inline)) void fixed_run(const struct dw_run *r, struct dw_form f)
{
    struct dw_lanes l;
    fixed_end_range(&l.e, r->a);
    for (uint32_t c0 = 0; c0 < r->a->co; c0 += VEC_LANES) {
        lanes_at(&l, r, f, c0);
        lanes_bias(&l, r);
        if (l.nx == VEC_LANES)
            fixed_column(r, &l, f, VEC_LANES);
        else
            fixed_column(r, &l, f, l.nx);
    }
}

/* Channels to load and to store, and taps of a line: constants where vectors are full and kernels have three. */
struct dw_size {
    uint32_t load, store, taps;
};

static inline __attribute__((always_inline)) void float_pixels(const struct dw_run *r, const struct dw_lanes *l,
                                                               struct dw_form f, uint32_t i, const int p, struct dw_size s)
{
    const struct conv_args *a = r->a;
    const uint64_t x_pixel = r->x_pixel, x_tap = r->x_tap, npad = a->npad;
    vf acc[DW_PIXELS];
#pragma GCC unroll 4
    for (int j = 0; j < p; j++)
        acc[j] = vf_zero();
    for (struct dw_taps t = dw_first(r, i * x_pixel + l->x0, l->c0); dw_line(r, &t);)
#pragma GCC unroll 4
        for (uint32_t tap = 0; tap < s.taps; tap++) {
            vf w = float_at(f.x, r->w, t.w + tap * npad, VEC_LANES);
#pragma GCC unroll 4
            for (int j = 0; j < p; j++) {
                vf xv = float_at(f.x, r->x, t.x + tap * x_tap + (uint64_t)j * x_pixel, s.load);
                acc[j] = vf_fma(f.picked ? vf_pick(xv, l->pick) : xv, w, acc[j]);
            }
        }
#pragma GCC unroll 4
    for (int j = 0; j < p; j++) {
        uint64_t to = r->out_at + (uint64_t)(i + (uint32_t)j) * a->co + l->c0;
        vf v = vf_add(acc[j], l->m);
        v = vf_min(vf_set1(a->f_hi), vf_max(vf_set1(a->f_lo), v));
        if (f.x == DT_F32)
            vf_store_n((float *)r->out + to, v, s.store);
        else
            vf_store_half_n((uint16_t *)r->out + to, v, s.store);
    }
}

static inline __attribute__((always_inline)) void float_column(const struct dw_run *r, const struct dw_lanes *l,
                                                               struct dw_form f, struct dw_size s)
{
    uint32_t i = 0;
    for (; i + DW_PIXELS <= r->n; i += DW_PIXELS)
        float_pixels(r, l, f, i, DW_PIXELS, s);
    for (; i < r->n; i++)
        float_pixels(r, l, f, i, 1, s);
}

static inline __attribute__((always_inline)) void float_run(const struct dw_run *r, struct dw_form f)
{
    struct dw_lanes l;
    for (uint32_t c0 = 0; c0 < r->a->co; c0 += VEC_LANES) {
        lanes_at(&l, r, f, c0);
        bool full = l.nx == VEC_LANES && l.n == VEC_LANES;
        if (full && r->taps == 3)
            float_column(r, &l, f, (struct dw_size){ VEC_LANES, VEC_LANES, 3 });
        else if (full)
            float_column(r, &l, f, (struct dw_size){ VEC_LANES, VEC_LANES, r->taps });
        else
            float_column(r, &l, f, (struct dw_size){ l.nx, l.n, r->taps });
    }
}

/* One function per type and for one or several outputs per input channel. */
#define DW_RUN(name, body, type, wide)                            \
    static void name##_one(const struct dw_run *r)                \
    {                                                             \
        body(r, (struct dw_form){ type, wide, false });           \
    }                                                             \
    static void name##_many(const struct dw_run *r)               \
    {                                                             \
        body(r, (struct dw_form){ type, wide, true });            \
    }                                                             \
    static void name(const struct dw_run *r)                      \
    {                                                             \
        if (r->a->multiplier == 1)                                \
            name##_one(r);                                        \
        else                                                      \
            name##_many(r);                                       \
    }

DW_RUN(uq8_run, fixed_run, DT_UQ8, false)
DW_RUN(sq8_run, fixed_run, DT_SQ8, false)
DW_RUN(uq16_run, fixed_run, DT_UQ16, false)
DW_RUN(sq16_run, fixed_run, DT_SQ16, false)
DW_RUN(uq16w16_run, fixed_run, DT_UQ16, true)
DW_RUN(sq16w16_run, fixed_run, DT_SQ16, true)
DW_RUN(f32_run, float_run, DT_F32, false)
DW_RUN(f16_run, float_run, DT_F16, false)
#undef DW_RUN

static void q8_run(const struct dw_run *r)
{
    (r->a->x_type == DT_UQ8 ? uq8_run : sq8_run)(r);
}

static void q16_run(const struct dw_run *r)
{
    (r->a->x_type == DT_UQ16 ? uq16_run : sq16_run)(r);
}

static void q16w16_run(const struct dw_run *r)
{
    (r->a->x_type == DT_UQ16 ? uq16w16_run : sq16w16_run)(r);
}

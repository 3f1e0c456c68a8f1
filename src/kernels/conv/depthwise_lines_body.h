/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of f32, f16 and 16-bit activations with vectors of any length; include vec_<isa>.h first.
 *
 * A vector holds neighbouring channels. Four output pixels are computed at a time, column by column of the input, so that a
 * column is loaded once for all the pixels and taps that meet it; the weights of a vector of channels are prepared once for
 * many lines. Sums are in the order of docs/numerics.md: lines of the kernel, then taps. Pixels at the left and right
 * border, which lack taps, are computed one by one.
 *
 * 16-bit x is multiplied as signed numbers, unsigned ones moved down by 32768, as half a pair product: the upper half of
 * every weight is zero. What that leaves out of a sum is the sum of its weights times a constant. */
#include "kernels/conv/conv_fixed_end.h"
#include "kernels/conv/depthwise.h"

enum { DL_PIXELS = 4, DL_CACHED = 128 * 1024 };

/* Constants where loops are compiled. lines 0: not known. */
struct dl_form {
    enum dtype x;
    uint32_t taps, stride, lines;
    bool full;                      /* all channels of the vector exist */
};

/* One vector of channels. */
struct dl_lanes {
    const struct conv_args *a;
    void *out;
    struct fixed_end e;
    uint32_t c0, n;
    int32_t left;                   /* real x is the multiplied one plus this */
    vf m;                           /* multiplier, or the bias of floats */
    vi b;
    vi w[DEPTHWISE_TAPS * DEPTHWISE_TAPS];
};

/* One output line: what its first kernel line meets in channel c0 of the input, and where its channels go. */
struct dl_line {
    const char *x;
    uint64_t x_line, x_pixel;       /* bytes from one kernel line, one input pixel, to the next */
    uint64_t out;                   /* element */
    uint32_t first, lines;          /* kernel lines in use */
    vi base;                        /* fixed point: where sums begin that have all taps */
};

static inline __attribute__((always_inline)) bool dl_is_fixed(struct dl_form f) { return f.x == DT_UQ16 || f.x == DT_SQ16; }

static inline __attribute__((always_inline)) vi dl_load(struct dl_form f, const char *p, uint32_t n)
{
    switch (f.x) {
    case DT_F32: return (vi)(f.full ? vf_load((const float *)p) : vf_load_n((const float *)p, n));
    case DT_F16: return (vi)(f.full ? vf_load_half((const uint16_t *)p) : vf_load_half_n((const uint16_t *)p, n));
    case DT_UQ16: return vi_sub(vi_from_u16(p, f.full ? VEC_LANES : n), vi_set1(32768));
    default: return vi_from_s16(p, f.full ? VEC_LANES : n);
    }
}

static inline __attribute__((always_inline)) vi dl_mac(struct dl_form f, vi acc, vi x, vi w)
{
    return dl_is_fixed(f) ? vi_dot16(acc, x, w) : (vi)vf_fma((vf)x, (vf)w, (vf)acc);
}

static inline __attribute__((always_inline)) void dl_end(const struct dl_lanes *l, struct dl_form f, uint64_t to, vi acc)
{
    const uint32_t n = f.full ? VEC_LANES : l->n;
    if (dl_is_fixed(f)) {
        vi_store_n((char *)l->out + to * l->e.bytes, vi_requant(acc, l->m, l->e.lo, l->e.hi, l->e.offset), n, l->e.bytes);
        return;
    }
    vf v = vf_min(l->e.hi, vf_max(l->e.lo, vf_add((vf)acc, l->m)));
    if (f.x == DT_F32)
        vf_store_n((float *)l->out + to, v, n);
    else
        vf_store_half_n((uint16_t *)l->out + to, v, n);
}

/* Four pixels, or one, that have all taps. x: the first column of the first pixel. */
static inline __attribute__((always_inline)) void dl_pixels(const struct dl_lanes *l, const struct dl_line *line,
                                                            struct dl_form f, const vi *w, const char *x, uint64_t to,
                                                            const uint32_t p)
{
    const uint32_t lines = f.lines ? f.lines : line->lines, columns = (p - 1) * f.stride + f.taps;
    const uint64_t co = l->a->co;
    vi acc[DL_PIXELS];
#pragma GCC unroll 4
    for (uint32_t j = 0; j < p; j++)
        acc[j] = dl_is_fixed(f) ? line->base : vi_zero();
#pragma GCC unroll 3
    for (uint32_t y = 0; y < lines; y++, x += line->x_line) {
#pragma GCC unroll 16
        for (uint32_t c = 0; c < columns; c++) {
            const vi column = dl_load(f, x + c * line->x_pixel, l->n);
#pragma GCC unroll 4
            for (uint32_t j = 0; j < p; j++) {
                const uint32_t tap = c - j * f.stride;
                if (tap < f.taps)
                    acc[j] = dl_mac(f, acc[j], column, w[y * f.taps + tap]);
            }
        }
    }
#pragma GCC unroll 4
    for (uint32_t j = 0; j < p; j++)
        dl_end(l, f, to + j * co, acc[j]);
}

/* A pixel with some taps of each line; x: what the first of them meets. */
static inline __attribute__((always_inline)) void dl_border(const struct dl_lanes *l, const struct dl_line *line,
                                                            struct dl_form f, const vi *w, const char *x, uint64_t to,
                                                            const struct range taps)
{
    const uint32_t lines = f.lines ? f.lines : line->lines;
    vi acc = vi_zero(), sum = vi_zero();
#pragma GCC unroll 3
    for (uint32_t y = 0; y < lines; y++, x += line->x_line)
#pragma GCC unroll 3
        for (uint32_t t = taps.begin; t < taps.end; t++) {
            acc = dl_mac(f, acc, dl_load(f, x + (t - taps.begin) * line->x_pixel, l->n), w[y * f.taps + t]);
            if (dl_is_fixed(f))
                sum = vi_dot16(sum, vi_set1(1), w[y * f.taps + t]);
        }
    if (dl_is_fixed(f))
        acc = vi_add(vi_add(acc, l->b), vi_mul(sum, vi_set1(l->left)));
    dl_end(l, f, to, acc);
}

/* The usual borders lack one tap of three: their loops are compiled with that. */
static inline __attribute__((always_inline)) void dl_border_at(const struct dl_lanes *l, const struct dl_line *line,
                                                               struct dl_form f, const vi *w, uint32_t ox)
{
    const struct conv_axis *v = &l->a->x;
    const int64_t from = (int64_t)ox * f.stride - v->pad, left = v->in - from;
    const uint32_t t0 = from >= 0        ? 0
                        : -from < f.taps ? (uint32_t)-from
                                         : f.taps,
                   t1 = left >= f.taps ? f.taps
                        : left > t0    ? (uint32_t)left
                                       : t0;
    const int64_t at = t1 > t0 ? from + t0 : 0;
    const char *x = line->x + (uint64_t)at * line->x_pixel;
    const uint64_t to = line->out + (uint64_t)ox * l->a->co;
    if (f.lines && t0 == 1 && t1 == 3)
        dl_border(l, line, f, w, x, to, (struct range){ 1, 3 });
    else if (f.lines && t0 == 0 && t1 == 2)
        dl_border(l, line, f, w, x, to, (struct range){ 0, 2 });
    else
        dl_border(l, line, f, l->w + (uint64_t)line->first * f.taps, x, to, (struct range){ t0, t1 });
}

/* Output pixels [begin, end) of a line have all taps. */
static inline __attribute__((always_inline)) void dl_line_run(const struct dl_lanes *l, const struct dl_line *line,
                                                              struct dl_form f, struct range inner)
{
    const uint32_t taps = f.lines * f.taps, out = l->a->x.out;
    const uint64_t co = l->a->co, step = f.stride * line->x_pixel;
    vi own[9]; /* registers, where the kernel is 3 by 3 */
#pragma GCC unroll 9
    for (uint32_t i = 0; i < taps; i++)
        own[i] = l->w[line->first * f.taps + i];
    const vi *w = taps ? own : l->w + (uint64_t)line->first * f.taps;
    uint32_t ox = 0;
    for (; ox < inner.begin; ox++)
        dl_border_at(l, line, f, w, ox);
    const char *x = line->x + ((int64_t)ox * f.stride - l->a->x.pad) * (int64_t)line->x_pixel;
    uint64_t to = line->out + ox * co;
    for (; ox + DL_PIXELS <= inner.end; ox += DL_PIXELS, x += DL_PIXELS * step, to += DL_PIXELS * co)
        dl_pixels(l, line, f, w, x, to, DL_PIXELS);
    for (; ox < inner.end; ox++, x += step, to += co)
        dl_pixels(l, line, f, w, x, to, 1);
    for (; ox < out; ox++)
        dl_border_at(l, line, f, w, ox);
}

typedef void dl_fn(const struct dl_lanes *l, const struct dl_line *line, struct range inner);

#define DL_FN(type, taps, stride, lines, full)                                                                         \
    static void dl_##type##_##taps##_##stride##_##lines##_##full(const struct dl_lanes *l, const struct dl_line *line, \
                                                                 struct range inner)                                   \
    {                                                                                                                  \
        dl_line_run(l, line, (struct dl_form){ DT_##type, taps, stride, lines, full }, inner);                         \
    }
#define DL_SIZES(type, stride)                                                                                          \
    DL_FN(type, 3, stride, 3, 1)                                                                                        \
    DL_FN(type, 3, stride, 2, 1) DL_FN(type, 3, stride, 0, 0) DL_FN(type, 5, stride, 0, 1) DL_FN(type, 5, stride, 0, 0) \
        DL_FN(type, 7, stride, 0, 1) DL_FN(type, 7, stride, 0, 0)
#define DL_ROW(type, taps, stride, lines, fewer)                                          \
    {                                                                                     \
        dl_##type##_##taps##_##stride##_0_0, dl_##type##_##taps##_##stride##_##fewer##_1, \
            dl_##type##_##taps##_##stride##_##lines##_1                                   \
    }
#define DL_TABLE(type)                                                                    \
    {                                                                                     \
        { DL_ROW(type, 3, 1, 3, 2), DL_ROW(type, 5, 1, 0, 0), DL_ROW(type, 7, 1, 0, 0) }, \
        {                                                                                 \
            DL_ROW(type, 3, 2, 3, 2), DL_ROW(type, 5, 2, 0, 0), DL_ROW(type, 7, 2, 0, 0)  \
        }                                                                                 \
    }

DL_SIZES(F32, 1)
DL_SIZES(F32, 2)
DL_SIZES(F16, 1)
DL_SIZES(F16, 2)
DL_SIZES(UQ16, 1)
DL_SIZES(UQ16, 2)
DL_SIZES(SQ16, 1)
DL_SIZES(SQ16, 2)
/* By stride, by taps of a line: channels that do not fill a vector, two lines, three lines. Those of more than three taps
 * take any number of lines. */
static dl_fn *const dl_f32[2][3][3] = DL_TABLE(F32), *const dl_f16[2][3][3] = DL_TABLE(F16),
                    *const dl_uq16[2][3][3] = DL_TABLE(UQ16), *const dl_sq16[2][3][3] = DL_TABLE(SQ16);

/* ---- vectors of channels ---------------------------------------------------------------------------------------------- */

static void dl_lanes_at(struct dl_lanes *l, uint32_t c0)
{
    const struct conv_args *a = l->a;
    l->c0 = c0;
    l->n = a->co - c0 < VEC_LANES ? a->co - c0 : VEC_LANES;
    l->m = vf_load(conv_m(a->head) + c0);
    for (uint32_t t = 0; t < a->taps; t++) {
        const uint64_t at = (uint64_t)t * a->npad + c0;
        if (a->cls == CONV_F32)
            l->w[t] = (vi)vf_load((const float *)a->packed + at);
        else if (a->cls == CONV_F16)
            l->w[t] = (vi)vf_load_half((const uint16_t *)a->packed + at);
        else
            l->w[t] =
                vi_and(vi_add(vi_from_s8((const int8_t *)a->packed + at, VEC_LANES), vi_set1(a->w_offset)), vi_set1(0xffff));
    }
    if (a->cls != CONV_Q16)
        return;
    int32_t b[VEC_LANES];
    for (uint32_t i = 0; i < VEC_LANES; i++) /* plain channels: biases fit 32 bits; records are padded to whole vectors */
        b[i] = (int32_t)conv_b(a, a->head, a->npad)[c0 + i];
    l->b = vi_load(b);
}

/* Where sums of the line begin; only full sums. */
static vi dl_base(const struct dl_lanes *l, const struct dl_line *line)
{
    vi sum = vi_zero();
    for (uint32_t i = line->first * l->a->x.kernel; i < (line->first + line->lines) * l->a->x.kernel; i++)
        sum = vi_dot16(sum, vi_set1(1), l->w[i]);
    return vi_add(l->b, vi_mul(sum, vi_set1(l->left)));
}

static void dl_lines(struct dl_lanes *l, const char *input, struct range lines, dl_fn *const table[3], struct range inner)
{
    const struct conv_args *a = l->a;
    const uint32_t xs = dtype_bits(a->x_type) / 8;
    struct dl_line line = { .x_pixel = (uint64_t)a->ci * xs, .x_line = (uint64_t)a->y.dilation * a->x.in * a->ci * xs };
    uint32_t based = UINT32_MAX; /* lines and first of the base that is there */
    for (uint32_t at = lines.begin; at < lines.end; at++) {
        const uint32_t image = at / a->y.out;
        const struct dw_valid y = dw_valid_taps(&a->y, at % a->y.out);
        const int64_t iy = y.n ? (int64_t)(at % a->y.out) * a->y.stride - a->y.pad + (int64_t)y.first * a->y.dilation : 0;
        line.first = y.first;
        line.lines = y.n;
        line.x = input + (((uint64_t)image * a->y.in + (uint64_t)iy) * a->x.in * a->ci + l->c0) * xs;
        line.out = (uint64_t)at * a->x.out * a->co + l->c0;
        if (a->cls == CONV_Q16 && based != y.first * 256 + y.n)
            line.base = dl_base(l, &line);
        based = y.first * 256 + y.n;
        table[l->n < VEC_LANES ? 0 : y.n == 3 || a->x.kernel != 3 ? 2 : y.n == 2 ? 1 : 0](l, &line, inner);
    }
}

/* All channels of some lines before the next ones: what one vector brings into the cache is there for the others, too. */
static void dl_run(const struct kernel_call *call, struct range tile, dl_fn *const table[2][3][3])
{
    const struct conv_args *a = call->args;
    const uint64_t bytes = (uint64_t)a->y.stride * a->x.in * a->ci * (dtype_bits(a->x_type) / 8), fit = DL_CACHED / bytes;
    const uint32_t step = fit < 1 ? 1 : fit < tile.end - tile.begin ? (uint32_t)fit : tile.end - tile.begin;
    struct range inner = { (uint32_t)(((uint64_t)a->x.pad + a->x.stride - 1) / a->x.stride), 0 };
    if ((uint64_t)a->x.in + a->x.pad >= a->x.kernel) /* the last window that ends inside */
        inner.end = (uint32_t)(((uint64_t)a->x.in + a->x.pad - a->x.kernel) / a->x.stride) + 1;
    inner.end = inner.end < a->x.out ? inner.end : a->x.out;
    inner.begin = inner.begin < inner.end ? inner.begin : inner.end;
    struct dl_lanes l;
    l.a = a;
    l.out = call->data[a->n_in];
    l.left = a->x_offset + (a->x_type == DT_UQ16 ? 32768 : 0);
    if (a->cls == CONV_Q16) {
        fixed_end_range(&l.e, a);
    } else {
        l.e.lo = vf_set1(a->f_lo);
        l.e.hi = vf_set1(a->f_hi);
    }
    for (uint32_t at = tile.begin; at < tile.end; at += step)
        for (uint32_t c0 = 0; c0 < a->co; c0 += VEC_LANES) {
            dl_lanes_at(&l, c0);
            dl_lines(&l, call->data[0], (struct range){ at, tile.end - at < step ? tile.end : at + step },
                     table[a->x.stride - 1][a->x.kernel / 2 - 1], inner);
        }
}

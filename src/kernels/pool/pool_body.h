/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, compiled once per instruction set. A unit of work is one output pixel and a block of up to SPAN channels. */
#include <math.h>
#include <string.h>

#include "kernels/pool/pool.h"

struct window {
    uint32_t begin[3], end[3]; /* taps inside the image */
    uint64_t padded;           /* taps inside image and padding */
};

static void make_window(const struct pool_args *a, const uint32_t at[3], struct window *w)
{
    w->padded = 1;
    for (int d = 0; d < 3; d++) {
        int64_t lo = (int64_t)at[d] * a->stride[d] - a->before[d], hi = lo + a->size[d];
        int64_t limit = (int64_t)a->in[d] + a->after[d], edge = hi < limit ? hi : limit;
        w->padded *= edge > lo ? (uint64_t)(edge - lo) : 0;
        w->begin[d] = lo < 0 ? 0 : lo > a->in[d] ? a->in[d] : (uint32_t)lo;
        w->end[d] = hi < w->begin[d] ? w->begin[d] : hi > a->in[d] ? a->in[d] : (uint32_t)hi;
    }
}

static uint64_t window_taps(const struct window *w)
{
    uint64_t n = 1;
    for (int d = 0; d < 3; d++)
        n *= w->end[d] - w->begin[d];
    return n;
}

#define FOR_EACH_TAP(a, w, image, at)                                                                             \
    for (uint32_t z = (w)->begin[0]; z < (w)->end[0]; z++)                                                        \
        for (uint32_t y = (w)->begin[1]; y < (w)->end[1]; y++)                                                    \
            for (uint64_t row = ((uint64_t)(image) * (a)->in[0] + z) * (a)->in[1] + y, x = (w)->begin[2], at;     \
                 x < (w)->end[2] && (at = (row * (a)->in[2] + x) * (a)->channels, true); x++)

static inline void take_max(float *restrict acc, const float *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] = v[i] > acc[i] || v[i] != v[i] ? v[i] : acc[i];
}

static inline void take_sum(float *restrict acc, const float *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += v[i];
}

static inline void take_squares(float *restrict acc, const float *restrict v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += v[i] * v[i];
}

/* The end of a pixel: from the accumulated taps to what the output codec stores. */
static void finish(const struct pool_args *a, float *acc, uint32_t n, uint64_t taps, uint64_t divisor)
{
    bool fixed = dtype_is_fixed(a->src.type) && dtype_is_fixed(a->dst.type) && a->kind != POOL_L2;
    float count = (float)divisor,
          m = fixed ? (float)(a->s_in / (a->kind == POOL_AVG ? a->s_out * (double)divisor : a->s_out)) : 0.0f;
    if (!taps)
        for (uint32_t i = 0; i < n; i++)
            acc[i] = 0.0f;
    else if (a->kind == POOL_L2)
        for (uint32_t i = 0; i < n; i++)
            acc[i] = sqrtf(acc[i]);
    else if (fixed)
        for (uint32_t i = 0; i < n; i++)
            acc[i] = acc[i] * m;
    else if (a->kind == POOL_AVG)
        for (uint32_t i = 0; i < n; i++)
            acc[i] = acc[i] / count;
    else
        for (uint32_t i = 0; i < n; i++)
            acc[i] += 0.0f; /* -0 becomes +0: which of two zeros is the larger one is nobody's order */
}

static void sum_wide(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w,
                     uint32_t c, uint32_t n, float *acc)
{
    int64_t sum[SPAN] = {0}, v[SPAN];
    FOR_EACH_TAP(a, w, image, at)
    {
        K(span_load_i64)(a->src.type, call->data[0], (int64_t)(at + c), 1, n, v);
        span_narrow(&a->src, v, n);
        for (uint32_t i = 0; i < n; i++)
            sum[i] += v[i] + a->src.offset;
    }
    for (uint32_t i = 0; i < n; i++)
        acc[i] = (float)sum[i];
}

/* Sixteen channels of f32 stay in a register over all taps. */
typedef float floats __attribute__((vector_size(64)));
typedef int32_t masks __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) void take_floats(const enum pool_kind kind, floats *acc, const float *p)
{
    floats v;
    memcpy(&v, p, sizeof(v));
    if (kind == POOL_MAX) {
        masks more = (v > *acc) | (v != v);
        *acc = (floats)(((masks)v & more) | ((masks)*acc & ~more));
    } else {
        *acc = kind == POOL_AVG ? *acc + v : *acc + v * v;
    }
}

static inline __attribute__((always_inline)) void taps_of(const enum pool_kind kind, const float *from,
                                                          const struct pool_args *a, uint32_t image, const struct window *w,
                                                          uint32_t n, float *acc)
{
    typedef void take_fn(float *acc, const float *v, uint32_t n);
    take_fn *const take = kind == POOL_AVG ? take_sum : kind == POOL_MAX ? take_max : take_squares;
    const floats first = (floats){0} + (kind == POOL_MAX ? -INFINITY : 0.0f);
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64) { /* enough sums side by side to hide what an addition takes */
        floats part[4] = {first, first, first, first};
        FOR_EACH_TAP(a, w, image, at)
#pragma GCC unroll 4
            for (uint32_t k = 0; k < 4; k++)
                take_floats(kind, &part[k], from + at + i + 16 * k);
        memcpy(acc + i, part, sizeof(part));
    }
    for (; i + 16 <= n; i += 16) {
        floats some = first;
        FOR_EACH_TAP(a, w, image, at)
            take_floats(kind, &some, from + at + i);
        memcpy(acc + i, &some, sizeof(some));
    }
    for (uint32_t k = i; k < n; k++)
        acc[k] = first[0];
    if (i < n)
        FOR_EACH_TAP(a, w, image, at)
            take(acc + i, from + at + i, n - i);
}

static void taps_f32(const float *x, const struct pool_args *a, uint32_t image, const struct window *w, uint32_t n,
                     float *acc)
{
    if (a->kind == POOL_MAX)
        taps_of(POOL_MAX, x, a, image, w, n, acc);
    else if (a->kind == POOL_AVG)
        taps_of(POOL_AVG, x, a, image, w, n, acc);
    else
        taps_of(POOL_L2, x, a, image, w, n, acc);
}

/* Tap by tap: other types, and many taps of many channels, which lie too far apart to come back to each of them for every
 * few channels. */
static void taps_loaded(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w,
                        uint32_t c, uint32_t n, float *acc)
{
    typedef void take_fn(float *acc, const float *v, uint32_t n);
    static take_fn *const takes[] = {[POOL_AVG] = take_sum, [POOL_MAX] = take_max, [POOL_L2] = take_squares};
    float buf[SPAN];
    for (uint32_t i = 0; i < n; i++)
        acc[i] = a->kind == POOL_MAX ? -INFINITY : 0.0f;
    FOR_EACH_TAP(a, w, image, at)
    {
        const float *v = buf;
        if (a->src.type == DT_F32)
            v = (const float *)call->data[0] + at + c;
        else
            K(span_load)(&a->src, call->data[0], (int64_t)(at + c), 1, n, buf);
        takes[a->kind](acc, v, n);
    }
}

static void pixel_f32(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w,
                      uint32_t c, uint32_t n, int64_t to)
{
    enum { FEW_TAPS = 25, FEW_CHANNELS = 128 };
    const uint64_t taps = window_taps(w);
    const bool wide = a->kind == POOL_AVG && !a->exact,
               few = !wide && a->src.type == DT_F32 && (taps <= FEW_TAPS || n <= FEW_CHANNELS);
    const bool direct = few && a->dst.type == DT_F32 && !a->dst.limited;
    _Alignas(64) float buf[SPAN];
    float *acc = direct ? (float *)call->data[1] + to : buf;
    if (wide)
        sum_wide(call, a, image, w, c, n, acc);
    else if (few)
        taps_f32((const float *)call->data[0] + c, a, image, w, n, acc);
    else
        taps_loaded(call, a, image, w, c, n, acc);
    finish(a, acc, n, taps, a->count_pad ? w->padded : taps);
    if (!direct)
        K(span_store)(&a->dst, call->data[1], to, 1, n, acc);
}

/* 64 bytes at a time stay in registers over all taps. */
#define PIXEL_RAW(name, T, LOWEST)                                                                                      \
    typedef T name##_bytes __attribute__((vector_size(64)));                                                            \
    static void name(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w, \
                     uint32_t c, uint32_t n, int64_t to)                                                                \
    {                                                                                                                   \
        T *o = (T *)call->data[1] + to;                                                                                 \
        const uint32_t step = 64 / sizeof(T);                                                                           \
        uint32_t i = 0;                                                                                                 \
        for (; i + step <= n; i += step) {                                                                              \
            name##_bytes acc = (name##_bytes){ 0 } + LOWEST;                                                            \
            FOR_EACH_TAP(a, w, image, at)                                                                               \
            {                                                                                                           \
                name##_bytes v, more;                                                                                   \
                memcpy(&v, (const T *)call->data[0] + at + c + i, sizeof(v));                                           \
                more = (name##_bytes)(v > acc);                                                                         \
                acc = (v & more) | (acc & ~more);                                                                       \
            }                                                                                                           \
            memcpy(o + i, &acc, sizeof(acc));                                                                           \
        }                                                                                                               \
        T acc[64];                                                                                                      \
        for (uint32_t k = i; k < n; k++)                                                                                \
            acc[k - i] = LOWEST;                                                                                        \
        if (i < n)                                                                                                      \
            FOR_EACH_TAP(a, w, image, at)                                                                               \
            {                                                                                                           \
                const T *v = (const T *)call->data[0] + at + c;                                                         \
                for (uint32_t k = i; k < n; k++)                                                                        \
                    acc[k - i] = v[k] > acc[k - i] ? v[k] : acc[k - i];                                                 \
            }                                                                                                           \
        for (uint32_t k = i; k < n; k++)                                                                                \
            o[k] = acc[k - i];                                                                                          \
    }
PIXEL_RAW(pixel_u8, uint8_t, 0)
PIXEL_RAW(pixel_s8, int8_t, INT8_MIN)
PIXEL_RAW(pixel_u16, uint16_t, 0)
PIXEL_RAW(pixel_s16, int16_t, INT16_MIN)
#undef PIXEL_RAW

typedef void pixel_fn(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w,
                      uint32_t c, uint32_t n, int64_t to);

static pixel_fn *raw_of(enum dtype t)
{
    const bool is_signed = dtype_is_signed(t);
    return dtype_bits(t) == 8 ? (is_signed ? pixel_s8 : pixel_u8) : is_signed ? pixel_s16 : pixel_u16;
}

/* Plain integers of any width; u64 is compared with its top bit turned. */
static void pixel_whole(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w,
                        uint32_t c, uint32_t n, int64_t to)
{
    int64_t acc[SPAN], v[SPAN], turn = a->src.type == DT_U64 ? INT64_MIN : 0;
    bool first = true;
    memset(acc, 0, sizeof(acc));
    FOR_EACH_TAP(a, w, image, at)
    {
        K(span_load_i64)(a->src.type, call->data[0], (int64_t)(at + c), 1, n, v);
        for (uint32_t i = 0; i < n; i++)
            acc[i] = first || (v[i] ^ turn) > (acc[i] ^ turn) ? v[i] : acc[i];
        first = false;
    }
    K(span_store_i64)(a->dst.type, call->data[1], to, 1, n, acc);
}

/* Where a unit of work lies. */
struct place {
    uint32_t block, at[3], image;
};

static struct place place_of(const struct pool_args *a, uint64_t unit)
{
    struct place p = {.block = (uint32_t)(unit % a->blocks)};
    uint64_t rest = unit / a->blocks;
    for (int d = 2; d >= 0; d--) {
        p.at[d] = (uint32_t)(rest % a->out[d]);
        rest /= a->out[d];
    }
    p.image = (uint32_t)rest;
    return p;
}

/* Divisions for every pixel would take longer than small windows. */
static void next_place(const struct pool_args *a, struct place *p)
{
    if (++p->block < a->blocks)
        return;
    p->block = 0;
    for (int d = 2; d >= 0; d--) {
        if (++p->at[d] < a->out[d])
            return;
        p->at[d] = 0;
    }
    p->image++;
}

void K(pool)(const struct kernel_call *call, struct range tile)
{
    const struct pool_args *a = call->args;
    const uint64_t units = (uint64_t)a->batch * a->out[0] * a->out[1] * a->out[2] * a->blocks,
                   first = (uint64_t)tile.begin * a->parts;
    const uint64_t last = (uint64_t)tile.end * a->parts, end = last < units ? last : units;
    if (first >= end)
        return;
    struct place p = place_of(a, first);
    int64_t to = (int64_t)(first / a->blocks * a->channels + (uint64_t)p.block * SPAN);
    for (uint64_t unit = first; unit < end; unit++, next_place(a, &p)) {
        const uint32_t c = p.block * SPAN, n = a->channels - c < SPAN ? a->channels - c : SPAN;
        struct window w;
        make_window(a, p.at, &w);
        if (a->whole)
            pixel_whole(call, a, p.image, &w, c, n, to);
        else if (a->raw && window_taps(&w))
            raw_of(a->src.type)(call, a, p.image, &w, c, n, to);
        else
            pixel_f32(call, a, p.image, &w, c, n, to);
        to += n;
    }
}

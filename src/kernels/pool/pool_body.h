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

static inline void take_max(float *acc, const float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] = v[i] > acc[i] || v[i] != v[i] ? v[i] : acc[i];
}

static inline void take_sum(float *acc, const float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += v[i];
}

static inline void take_squares(float *acc, const float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        acc[i] += v[i] * v[i];
}

/* The end of a pixel: from the accumulated taps to what the output codec stores. */
static void finish(const struct pool_args *a, float *acc, uint32_t n, uint64_t taps, uint64_t divisor)
{
    bool fixed = dtype_is_fixed(a->src.type) && dtype_is_fixed(a->dst.type) && a->kind != POOL_L2;
    float m = (float)(a->s_in / (a->kind == POOL_AVG ? a->s_out * (double)divisor : a->s_out)), count = (float)divisor;
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
}

static void sum_wide(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w, uint32_t c,
                     uint32_t n, float *acc)
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

static void pixel_f32(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w, uint32_t c,
                      uint32_t n, int64_t to)
{
    typedef void take_fn(float *acc, const float *v, uint32_t n);
    static take_fn *const takes[] = {[POOL_AVG] = take_sum, [POOL_MAX] = take_max, [POOL_L2] = take_squares};
    float acc[SPAN], buf[SPAN];
    uint64_t taps = window_taps(w);
    for (uint32_t i = 0; i < n; i++)
        acc[i] = a->kind == POOL_MAX ? -INFINITY : 0.0f;
    if (a->kind == POOL_AVG && !a->exact)
        sum_wide(call, a, image, w, c, n, acc);
    else
        FOR_EACH_TAP(a, w, image, at)
        {
            const float *v = buf;
            if (a->src.type == DT_F32)
                v = (const float *)call->data[0] + at + c;
            else
                K(span_load)(&a->src, call->data[0], (int64_t)(at + c), 1, n, buf);
            takes[a->kind](acc, v, n);
        }
    finish(a, acc, n, taps, a->count_pad ? w->padded : taps);
    K(span_store)(&a->dst, call->data[1], to, 1, n, acc);
}

#define PIXEL_RAW(name, T, LOWEST)                                                                                            \
    static void name(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w,       \
                     uint32_t c, uint32_t n, int64_t to)                                                                      \
    {                                                                                                                         \
        T acc[SPAN];                                                                                                          \
        for (uint32_t i = 0; i < n; i++)                                                                                      \
            acc[i] = LOWEST;                                                                                                  \
        FOR_EACH_TAP(a, w, image, at)                                                                                         \
        {                                                                                                                     \
            const T *v = (const T *)call->data[0] + at + c;                                                                   \
            for (uint32_t i = 0; i < n; i++)                                                                                  \
                acc[i] = v[i] > acc[i] ? v[i] : acc[i];                                                                       \
        }                                                                                                                     \
        T *o = (T *)call->data[1] + to;                                                                                       \
        for (uint32_t i = 0; i < n; i++)                                                                                      \
            o[i] = acc[i];                                                                                                    \
    }
PIXEL_RAW(pixel_u8, uint8_t, 0)
PIXEL_RAW(pixel_s8, int8_t, INT8_MIN)

/* Plain integers of any width; u64 is compared with its top bit turned. */
static void pixel_whole(const struct kernel_call *call, const struct pool_args *a, uint32_t image, const struct window *w, uint32_t c,
                        uint32_t n, int64_t to)
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

void K(pool)(const struct kernel_call *call, struct range tile)
{
    const struct pool_args *a = call->args;
    uint64_t units = (uint64_t)a->batch * a->out[0] * a->out[1] * a->out[2] * a->blocks;
    for (uint64_t unit = (uint64_t)tile.begin * a->parts; unit < (uint64_t)tile.end * a->parts && unit < units; unit++) {
        uint64_t pixel = unit / a->blocks, rest = pixel;
        uint32_t c = (uint32_t)(unit % a->blocks) * SPAN, n = a->channels - c < SPAN ? a->channels - c : SPAN, at[3];
        for (int d = 2; d >= 0; d--) {
            at[d] = (uint32_t)(rest % a->out[d]);
            rest /= a->out[d];
        }
        struct window w;
        make_window(a, at, &w);
        int64_t to = (int64_t)(pixel * a->channels + c);
        if (a->whole)
            pixel_whole(call, a, (uint32_t)rest, &w, c, n, to);
        else if (a->raw8 && window_taps(&w))
            (dtype_is_signed(a->src.type) ? pixel_s8 : pixel_u8)(call, a, (uint32_t)rest, &w, c, n, to);
        else
            pixel_f32(call, a, (uint32_t)rest, &w, c, n, to);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to an output channel besides its weights (struct conv_record): multiplier, bias, sums of weights, and how
 * large sums of products can become. */
#include <math.h>
#include <string.h>

#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

static int64_t saturate32(double v)
{
    int64_t r = ku_rne64(v);
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
}

/* Types that may be without a scale, in units of the accumulator. */
static bool in_units(enum dtype t)
{
    return t == DT_SQ32 || t == DT_UQ32 || t == DT_I32 || t == DT_I64;
}

/* docs/numerics.md section 3, Bias. `unit`: what one step of the accumulator is worth. */
static int64_t bias_fixed(const struct conv_args *a, const void *bias, uint32_t at, double unit)
{
    if (dtype_is_float(a->b_type))
        return saturate32((double)ku_load_real(bias, a->b_type, at, 0, 0) / unit);
    int64_t q = ku_load_int(bias, a->b_type, at);
    double scale = quant_scale(&a->bq, at);
    int64_t offset = quant_offset(&a->bq, at);
    bool as_it_is =
        a->b_type == DT_I64 || a->bq.kind == Q_NONE || scale == 0 || (offset == 0 && fabs(scale - unit) <= unit / 65536);
    if (in_units(a->b_type) && as_it_is)
        return q > INT32_MAX ? INT32_MAX : q < INT32_MIN ? INT32_MIN : q;
    return saturate32(scale * (double)(q + offset) / unit);
}

/* The bias of a float sum; one of 32 bits without a scale has that of its products. `weight`: a weight of the channel. */
static float bias_real(const struct conv_args *a, const void *bias, uint32_t at, uint64_t weight)
{
    float scale = quant_scale(&a->bq, at);
    if (in_units(a->b_type) && (a->b_type == DT_I64 || a->bq.kind == Q_NONE || scale == 0))
        return (float)((double)ku_load_int(bias, a->b_type, at) * a->x_scale * encoding_scale(&a->w_enc, weight));
    return ku_load_real(bias, a->b_type, at, scale, quant_offset(&a->bq, at));
}

/* Half of what the engines' sums hold: 32 bits, or the 51 bits that become a double exactly. */
static int64_t half_range(const struct conv_args *a)
{
    return (int64_t)1 << (a->cls == CONV_Q8 || (a->kind == CONV_DEPTHWISE && a->wsize == 1) ? 30 : 50);
}

/* Sums of stored weights and of magnitudes over groups of 16 channels; in 32 bits for as many groups as cannot overflow. */
#define SUM_LOOP(name, T)                                                                                              \
    static void sum_##name(const T *w, uint32_t groups, uint32_t kg, int32_t offset, int64_t *sum, int64_t *magnitude) \
    {                                                                                                                  \
        while (groups) {                                                                                               \
            int32_t s[CONV_BLOCK] = { 0 }, m[CONV_BLOCK] = { 0 };                                                      \
            uint32_t some = groups < 4096 ? groups : 4096;                                                             \
            for (uint32_t g = 0; g < some; g++, w += CONV_BLOCK * kg)                                                  \
                for (uint32_t j = 0; j < kg; j++)                                                                      \
                    for (uint32_t c = 0; c < CONV_BLOCK; c++) {                                                        \
                        int32_t v = w[c * kg + j], full = v + offset;                                                  \
                        s[c] += v;                                                                                     \
                        m[c] += full < 0 ? -full : full;                                                               \
                    }                                                                                                  \
            for (uint32_t c = 0; c < CONV_BLOCK; c++) {                                                                \
                sum[c] += s[c];                                                                                        \
                magnitude[c] += m[c];                                                                                  \
            }                                                                                                          \
            groups -= some;                                                                                            \
        }                                                                                                              \
    }

SUM_LOOP(s8, int8_t)
SUM_LOOP(s16, int16_t)

/* k of one row of wsum. */
static uint32_t sum_length(const struct conv_args *a)
{
    return a->blocks ? a->run : a->kind == CONV_TRANSPOSED ? a->tap_stride : a->kpad;
}

/* One block: rows of wsum, and the largest sum of products that these weights can give. */
static int64_t block_sums(const struct conv_args *a, const void *block, uint32_t n, struct conv_record *r, uint32_t c0)
{
    int64_t x_lo = dtype_min(a->x_type) + a->x_offset, x_hi = dtype_max(a->x_type) + a->x_offset;
    int64_t x_max = -x_lo > x_hi ? -x_lo : x_hi, magnitude[CONV_BLOCK] = { 0 }, largest = 0;
    uint32_t groups = sum_length(a) / a->kg;
    for (uint32_t t = 0; t < a->n_sums; t++) {
        int64_t sum[CONV_BLOCK] = { 0 };
        const char *w = (const char *)block + (uint64_t)t * groups * CONV_BLOCK * a->kg * a->wsize;
        if (a->wsize == 2)
            sum_s16((const int16_t *)w, groups, 2, a->w_offset, sum, magnitude);
        else
            sum_s8((const int8_t *)w, groups, a->kg, a->w_offset, sum, magnitude);
        memcpy(&r->wsum[t * r->sum_stride + c0], sum, n * sizeof(int64_t));
    }
    for (uint32_t c = 0; c < n; c++)
        largest = magnitude[c] > largest ? magnitude[c] : largest;
    return largest * x_max;
}

/* Magnitudes need no look at the weights where the types alone keep sums small. */
static bool only_sums(const struct conv_args *a, const struct conv_record *r)
{
    return r->sum && a->kg == 4 && a->wsize == 1 && a->n_sums == 1 && a->bound < half_range(a);
}

static int64_t all_sums(const struct conv_args *a, const void *packed, uint32_t n, struct conv_record *r)
{
    int64_t largest = 0;
    for (uint32_t c = 0; c < n && only_sums(a, r); c += CONV_BLOCK) {
        int64_t sum[CONV_BLOCK];
        r->sum((const int8_t *)packed + c / CONV_BLOCK * conv_block_bytes(a), a->kpad / 4, sum);
        memcpy(&r->wsum[c], sum, (n - c < CONV_BLOCK ? n - c : CONV_BLOCK) * sizeof(int64_t));
    }
    if (only_sums(a, r))
        return a->bound;
    for (uint32_t c = 0; c < n; c += CONV_BLOCK) {
        int64_t v = block_sums(a, (const char *)packed + c / CONV_BLOCK * conv_block_bytes(a),
                               n - c < CONV_BLOCK ? n - c : CONV_BLOCK, r, c);
        largest = v > largest ? v : largest;
    }
    return largest;
}

/* Multipliers of runs, and the bias in steps of the output. */
static void fill_runs(const struct conv_args *a, const void *bias, uint32_t slice, uint32_t c0, uint32_t n,
                      struct conv_record *r)
{
    const uint32_t per_tap = a->cig / a->run;
    const bool offsets = a->n_m > a->n_runs + 1;
    /* Far from where sums of runs could become infinite. */
    const float limit = 0x1p40f;
    for (uint32_t run = 0; run < a->n_runs; run++)
        for (uint32_t c = 0; c < n; c++) {
            uint64_t at = conv_weight_at(a, slice, run / per_tap, run % per_tap * a->run, c0 + c);
            float m = (float)(a->x_scale * encoding_scale(&a->w_enc, at) / a->out_scale);
            float o = offsets ? (float)(a->x_scale * encoding_float_offset(&a->w_enc, at) / a->out_scale) : 0.0f;
            r->m[run * r->m_stride + c] = m;
            if (offsets)
                r->m[(a->n_runs + run) * r->m_stride + c] = o;
            r->plain = r->plain && fabsf(m) < limit && fabsf(o) < limit;
        }
    for (uint32_t c = 0; c < n; c++) {
        uint32_t at = a->kind == CONV_MATRIX ? c0 + c : slice * a->cog + c0 + c;
        double real =
            !a->has_bias ? -0.0
            : dtype_is_float(a->b_type)
                ? (double)ku_load_real(bias, a->b_type, at, 0, 0)
                : (double)quant_scale(&a->bq, at) * (double)(ku_load_int(bias, a->b_type, at) + quant_offset(&a->bq, at));
        float b = (float)(real / a->out_scale);
        r->m[(a->n_m - 1) * r->m_stride + c] = b;
        r->plain = r->plain && fabsf(b) < limit;
    }
}

void conv_record_fill(const struct conv_args *a, const void *packed, const void *bias, uint32_t slice, uint32_t c0,
                      uint32_t n, struct conv_record *r)
{
    const int64_t half = half_range(a);
    bool is_float = a->cls == CONV_F32 || a->cls == CONV_F16;
    r->plain = a->out_offset > -(1 << 22) && a->out_offset < 1 << 22;
    /* Runs that are no whole groups are computed by the reference alone, which needs no sums. */
    bool sums = !is_float && a->kind != CONV_DEPTHWISE && (!a->blocks || a->run % a->kg == 0);
    r->bound = sums ? all_sums(a, packed, n, r) : is_float ? 0 : a->bound;
    if (a->blocks) {
        r->bound = a->bound;
        fill_runs(a, bias, slice, c0, n, r);
        return;
    }
    for (uint32_t c = 0; c < n; c++) {
        uint32_t at = a->kind == CONV_MATRIX ? c0 + c : slice * a->cog + c0 + c;
        if (is_float) {
            r->m[c] = a->has_bias ? bias_real(a, bias, at, conv_weight_at(a, slice, 0, 0, c0 + c)) : -0.0f;
            continue;
        }
        double unit = a->x_scale * encoding_scale(&a->w_enc, conv_weight_at(a, slice, 0, 0, c0 + c));
        r->m[c] = (float)(unit / a->out_scale);
        r->b[c] = a->has_bias ? bias_fixed(a, bias, at, unit) : 0;
        r->plain = r->plain && isfinite(r->m[c]) && r->bound < half && r->b[c] < half && r->b[c] > -half;
    }
}

uint64_t conv_record_bytes(const struct conv_args *a, uint64_t channels)
{
    return sizeof(struct conv_head) + a->n_m * conv_m_stride(channels) * sizeof(float) +
           channels * (1 + a->n_sums) * sizeof(int64_t);
}

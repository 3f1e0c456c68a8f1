/* SPDX-License-Identifier: Apache-2.0 */
/* docs/numerics.md section 3 in plain C. Rows are gathered as int32 holding x + x_offset, or as f32. */
#include <math.h>
#include <string.h>

#include "kernels/conv/conv_end.h"

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static bool never_in_place(const struct conv_args *a)
{
    (void)a;
    return false;
}

#define LOAD_FIXED(T)                                               \
    do {                                                            \
        const T *x_ = src;                                          \
        for (uint32_t i = 0; i < n; i++)                            \
            d[i] = (int32_t)x_[i * stride] + a->x_offset;           \
    } while (0)

static void load_fixed(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    int32_t *d = dst;
    switch (a->x_type) {
    case DT_UQ8: LOAD_FIXED(uint8_t); break;
    case DT_SQ8: LOAD_FIXED(int8_t); break;
    case DT_UQ16: LOAD_FIXED(uint16_t); break;
    default: LOAD_FIXED(int16_t); break;
    }
}

static void load_float(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    float *d = dst;
    if (a->x_type == DT_F32)
        for (uint32_t i = 0; i < n; i++)
            d[i] = ((const float *)src)[i * stride];
    else if (a->mixed)
        for (uint32_t i = 0; i < n; i++)
            d[i] = ku_load_real(src, a->x_type, i * stride, (float)a->x_scale, a->x_offset);
    else
        for (uint32_t i = 0; i < n; i++)
            d[i] = ku_f16_to_f32(((const uint16_t *)src)[i * stride]);
}

static void pad_zero(const struct conv_args *a, void *dst, uint32_t n)
{
    (void)a;
    memset(dst, 0, (size_t)n * 4);
}

static int64_t sum_fixed(const struct conv_args *a, const void *row, uint32_t n)
{
    (void)a;
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += ((const int32_t *)row)[i];
    return sum;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* One row and 16 channels: acc[c] += sum of x * w, in ACC. */
#define DOT_FIXED(name, W, ACC)                                                                                   \
    static void name(const struct conv_args *a, const struct conv_panel *p, const int32_t *x, const void *block,  \
                     int64_t *ret)                                                                                \
    {                                                                                                             \
        const uint32_t kg = a->kg;                                                                                \
        ACC acc[CONV_BLOCK] = { 0 };                                                                              \
        for (uint32_t s = 0; s < p->n_seg; s++) {                                                                 \
            const W *w = (const W *)block + (uint64_t)p->seg[s].k * CONV_BLOCK;                                   \
            for (uint32_t k = 0; k < p->seg[s].n; k += kg, x += kg, w += CONV_BLOCK * kg)                         \
                for (uint32_t j = 0; j < kg; j++)                                                                 \
                    for (uint32_t c = 0; c < CONV_BLOCK; c++)                                                     \
                        acc[c] += (ACC)x[j] * w[c * kg + j];                                                      \
        }                                                                                                         \
        for (uint32_t c = 0; c < CONV_BLOCK; c++)                                                                 \
            ret[c] = acc[c];                                                                                      \
    }

DOT_FIXED(dot_s8_32, int8_t, int32_t)
DOT_FIXED(dot_s8_64, int8_t, int64_t)
DOT_FIXED(dot_s16_64, int16_t, int64_t)

static void block_fixed(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    void (*dot)(const struct conv_args *, const struct conv_panel *, const int32_t *, const void *, int64_t *) =
        a->wsize == 2 ? dot_s16_64 : a->narrow && !a->w_offset ? dot_s8_32 : dot_s8_64;
    uint64_t bytes = conv_block_bytes(a);
    for (uint32_t at = 0; at < c->n; at += CONV_BLOCK) {
        const char *block = (const char *)c->w + at / CONV_BLOCK * bytes;
        uint32_t some = c->n - at < CONV_BLOCK ? c->n - at : CONV_BLOCK;
        for (uint32_t r = 0; r < p->rows; r++) {
            int64_t acc[CONV_BLOCK];
            dot(a, p, p->x[r], block, acc);
            for (uint32_t i = 0; i < some; i++) {
                int64_t sum = acc[i] + (a->w_offset ? a->w_offset * p->xsum[r] : 0) + c->b[at + i];
                if (a->bytes)
                    conv_store_whole(a, out, p->out[r] + c->c0 + at + i, sum, conv_first_channel(a, c) + at + i);
                else
                    conv_store_fixed(a, out, p->out[r] + c->c0 + at + i, sum, c->m[at + i]);
            }
        }
    }
}

/* Sum of one run for channel c of a block: k elements of x and of packed weights. */
static int64_t dot_run(const struct conv_args *a, const int32_t *x, const void *block, uint32_t k, uint32_t c)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < a->run; i++) {
        uint64_t at = (uint64_t)((k + i) / a->kg) * CONV_BLOCK * a->kg + c * a->kg + (k + i) % a->kg;
        sum += (int64_t)x[i] * (a->wsize == 1 ? ((const int8_t *)block)[at] : ((const int16_t *)block)[at]);
    }
    return sum;
}

/* One row, channel `at` of the chunk: runs in ascending order, each with its multiplier. */
static float sum_runs(const struct conv_args *a, const struct conv_panel *p, const struct conv_chunk *c, uint32_t row,
                      uint32_t at)
{
    const char *block = (const char *)c->w + at / CONV_BLOCK * conv_block_bytes(a);
    const int32_t *x = p->x[row];
    const bool offsets = a->n_m > a->n_runs + 1;
    float acc = 0.0f;
    for (uint32_t s = 0; s < p->n_seg; x += p->seg[s].n, s++)
        for (uint32_t i = 0; i < p->seg[s].n;) {
            uint32_t k = p->seg[s].k + i, tap = k / a->tap_stride, channel = k % a->tap_stride;
            if (tap >= a->taps || channel >= a->cig) { /* behind the channels of a tap, or behind all taps */
                i += tap >= a->taps ? p->seg[s].n - i : a->tap_stride - channel;
                continue;
            }
            uint64_t run = (uint64_t)tap * (a->cig / a->run) + channel / a->run;
            acc = fmaf((float)dot_run(a, x + i, block, k, at % CONV_BLOCK), c->m[run * c->m_stride + at], acc);
            if (offsets)
                acc = fmaf((float)sum_fixed(a, x + i, a->run), c->m[(a->n_runs + run) * c->m_stride + at], acc);
            i += a->run;
        }
    return acc + c->m[(a->n_m - 1) * c->m_stride + at];
}

static void block_runs(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    for (uint32_t r = 0; r < p->rows; r++)
        for (uint32_t at = 0; at < c->n; at++)
            conv_store_steps(a, out, p->out[r] + c->c0 + at, sum_runs(a, p, c, r, at));
}

/* Weights as f32, 16 channels of one k. */
static void float_weights(const struct conv_args *a, const void *block, uint64_t k, float w[CONV_BLOCK])
{
    if (a->cls == CONV_F32)
        memcpy(w, (const float *)block + k * CONV_BLOCK, CONV_BLOCK * sizeof(float));
    else
        for (uint32_t c = 0; c < CONV_BLOCK; c++)
            w[c] = ku_f16_to_f32(((const uint16_t *)block)[k * CONV_BLOCK + c]);
}

/* Up to four rows at a time, so that weights are converted once for all of them; each sum still runs over k ascending. */
enum { FLOAT_ROWS = 4 };
static void dot_float(const struct conv_args *a, const struct conv_panel *p, uint32_t row, uint32_t rows, const void *block,
                      float acc[FLOAT_ROWS][CONV_BLOCK])
{
    memset(acc, 0, sizeof(float) * FLOAT_ROWS * CONV_BLOCK);
    uint32_t at = 0;
    for (uint32_t s = 0; s < p->n_seg; s++)
        for (uint32_t k = 0; k < p->seg[s].n; k++, at++) {
            float w[CONV_BLOCK];
            float_weights(a, block, (uint64_t)p->seg[s].k + k, w);
            for (uint32_t r = 0; r < rows; r++) {
                float x = ((const float *)p->x[row + r])[at];
                for (uint32_t c = 0; c < CONV_BLOCK; c++)
                    acc[r][c] = fmaf(x, w[c], acc[r][c]);
            }
        }
}

static void block_float(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    uint64_t bytes = conv_block_bytes(a);
    for (uint32_t at = 0; at < c->n; at += CONV_BLOCK) {
        const char *block = (const char *)c->w + at / CONV_BLOCK * bytes;
        uint32_t some = c->n - at < CONV_BLOCK ? c->n - at : CONV_BLOCK;
        for (uint32_t row = 0; row < p->rows; row += FLOAT_ROWS) {
            float acc[FLOAT_ROWS][CONV_BLOCK];
            uint32_t rows = p->rows - row < FLOAT_ROWS ? p->rows - row : FLOAT_ROWS;
            dot_float(a, p, row, rows, block, acc);
            for (uint32_t r = 0; r < rows; r++)
                for (uint32_t i = 0; i < some; i++)
                    conv_store_float(a, out, p->out[row + r] + c->c0 + at + i, acc[r][i], c->m[at + i]);
        }
    }
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

static const struct conv_engine fixed_engine = { .elem = 4,
                                                 .rows = CONV_VECTOR_ROWS,
                                                 .in_place = never_in_place,
                                                 .load = load_fixed,
                                                 .pad = pad_zero,
                                                 .sum = sum_fixed,
                                                 .block = block_fixed };
static const struct conv_engine runs_engine = { .elem = 4,
                                                .rows = CONV_VECTOR_ROWS,
                                                .in_place = never_in_place,
                                                .load = load_fixed,
                                                .pad = pad_zero,
                                                .sum = sum_fixed,
                                                .block = block_runs };
static const struct conv_engine float_engine = { .elem = 4,
                                                 .rows = CONV_VECTOR_ROWS,
                                                 .in_place = never_in_place,
                                                 .load = load_float,
                                                 .pad = pad_zero,
                                                 .block = block_float };

#define ENTRY(name, engine)                                           \
    kernel_fn name;                                                   \
    void name(const struct kernel_call *call, struct range tile)      \
    {                                                                 \
        conv_run(call, tile, &engine);                                \
    }

ENTRY(conv_q8_ref, fixed_engine)
ENTRY(conv_bytes_ref, fixed_engine)
ENTRY(conv_q16_ref, fixed_engine)
ENTRY(conv_q16w16_ref, fixed_engine)
ENTRY(conv_blocks_ref, runs_engine)
ENTRY(conv_blocks_w16_ref, runs_engine)
ENTRY(conv_f32_ref, float_engine)
ENTRY(conv_f16_ref, float_engine)

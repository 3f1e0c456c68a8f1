/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs at once, for reductions that keep the innermost dimension (the mean over height and width, say): neighbours in
 * the output are neighbours in the input, so a step of all their runs is one contiguous load. Short runs that lie behind
 * each other are taken alike, with a stride. The order of additions is that of section 6. */
#ifndef KERNELS_REDUCE_REDUCE_COLUMNS_H
#define KERNELS_REDUCE_REDUCE_COLUMNS_H

#include <string.h>

#include "kernels/reduce/reduce.h"

enum { COLUMNS = 64 };

static void columns_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base, uint32_t n, float *r)
{
    float lanes[16][COLUMNS] = { 0 }, x[COLUMNS], count = (float)a->n;
    struct view_walk w;
    int64_t at;
    view_seek(&w, &a->run, 0);
    for (uint64_t i = 0; i < a->n; i++) {
        float *lane = lanes[i % 16];
        view_run(&w, 1, &at);
        K(span_load)(&a->in, call->data[0], base + at, a->column_stride, n, x);
        if (a->kind == RED_SUM_SQUARE)
            for (uint32_t c = 0; c < n; c++)
                lane[c] += x[c] * x[c];
        else
            for (uint32_t c = 0; c < n; c++)
                lane[c] += x[c];
    }
    for (int step = 8; step; step >>= 1)
        for (int j = 0; j < step; j++)
            for (uint32_t c = 0; c < n; c++)
                lanes[j][c] += lanes[j + step][c];
    for (uint32_t c = 0; c < n; c++)
        r[c] = a->kind == RED_MEAN ? lanes[0][c] / count : lanes[0][c];
}

static void columns_i64(const struct kernel_call *call, const struct reduce_args *a, int64_t base, uint32_t n, int64_t *sum)
{
    int64_t x[COLUMNS], at, o = dtype_is_fixed(a->in.type) ? a->in.offset : 0;
    struct view_walk w;
    memset(sum, 0, n * sizeof(*sum));
    view_seek(&w, &a->run, 0);
    for (uint64_t i = 0; i < a->n; i++) {
        view_run(&w, 1, &at);
        K(span_load_i64)(a->in.type, call->data[0], base + at, a->column_stride, n, x);
        span_narrow(&a->in, x, n);
        for (uint32_t c = 0; c < n; c++)
            sum[c] = (int64_t)((uint64_t)sum[c] + (uint64_t)(x[c] + o));
    }
}

/* The largest of every column, of the negated numbers for a minimum, and where it was first; a NaN wins over everything, the
 * first one over later ones. */
static void extremes_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base, uint32_t n, float *best,
                         uint32_t *where)
{
    float x[COLUMNS], sign = a->kind == RED_MAX || a->kind == RED_ARGMAX ? 1.0f : -1.0f;
    struct view_walk w;
    int64_t at;
    for (uint32_t c = 0; c < n; c++) {
        best[c] = -INFINITY;
        where[c] = 0;
    }
    view_seek(&w, &a->run, 0);
    for (uint64_t i = 0; i < a->n; i++) {
        view_run(&w, 1, &at);
        K(span_load)(&a->in, call->data[0], base + at, a->column_stride, n, x);
        for (uint32_t c = 0; c < n; c++) {
            float v = x[c] * sign, b = best[c];
            uint32_t more = (v > b) | ((v != v) & (b == b));
            best[c] = more ? v : b;
            where[c] = more ? (uint32_t)i : where[c];
        }
    }
    for (uint32_t c = 0; c < n; c++)
        best[c] = best[c] != best[c] ? NAN : best[c] * sign + 0.0f; /* -0 becomes +0 */
}

static void extremes_i64(const struct kernel_call *call, const struct reduce_args *a, int64_t base, uint32_t n,
                         int64_t *best, uint32_t *where)
{
    int64_t x[COLUMNS], at;
    bool max = a->kind == RED_MAX || a->kind == RED_ARGMAX;
    struct view_walk w;
    view_seek(&w, &a->run, 0);
    for (uint64_t i = 0; i < a->n; i++) {
        view_run(&w, 1, &at);
        K(span_load_i64)(a->in.type, call->data[0], base + at, a->column_stride, n, x);
        span_narrow(&a->in, x, n);
        for (uint32_t c = 0; c < n; c++) {
            bool more = i == 0 || (max ? x[c] > best[c] : x[c] < best[c]);
            best[c] = more ? x[c] : best[c];
            where[c] = more ? (uint32_t)i : where[c];
        }
    }
}

static void store_columns_i64(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, const int64_t *v,
                              uint32_t n)
{
    bool extreme = a->kind == RED_MAX || a->kind == RED_MIN;
    float r[COLUMNS];
    if (a->raw) {
        K(span_store_i64)(a->out[0].type, call->data[1], (int64_t)unit, 1, n, v);
        return;
    }
    for (uint32_t c = 0; c < n; c++)
        r[c] = (float)(extreme ? v[c] + a->in.offset : v[c]) * a->m;
    K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, n, r);
}

static void extreme_columns(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, int64_t base,
                            uint32_t n)
{
    float best[COLUMNS];
    int64_t stored[COLUMNS];
    uint32_t where[COLUMNS];
    double place[COLUMNS];
    if (a->whole)
        extremes_i64(call, a, base, n, stored, where);
    else
        extremes_f32(call, a, base, n, best, where);
    if (a->kind == RED_ARGMAX || a->kind == RED_ARGMIN) {
        for (uint32_t c = 0; c < n; c++)
            place[c] = (double)where[c];
        K(span_store_f64)(&a->out[0], call->data[1], (int64_t)unit, n, place);
    } else if (a->whole) {
        store_columns_i64(call, a, unit, stored, n);
    } else {
        K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, n, best);
    }
}

/* Outputs unit … unit + n, whose first inputs are at base, base + column_stride, … */
static void reduce_columns(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, int64_t base,
                           uint32_t n)
{
    float r[COLUMNS];
    int64_t sum[COLUMNS];
    if (a->kind != RED_SUM && a->kind != RED_MEAN && a->kind != RED_SUM_SQUARE) {
        extreme_columns(call, a, unit, base, n);
        return;
    }
    if (!a->whole) {
        columns_f32(call, a, base, n, r);
        K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, n, r);
        return;
    }
    columns_i64(call, a, base, n, sum);
    store_columns_i64(call, a, unit, sum, n);
}

#endif

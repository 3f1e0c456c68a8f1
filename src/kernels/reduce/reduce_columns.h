/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of many runs at once, for reductions that keep the innermost dimension (the mean over height and width, say): neighbours in the
 * output are neighbours in the input, so a step of all their runs is one contiguous load. The order of additions is that of section 6. */
#ifndef KERNELS_REDUCE_REDUCE_COLUMNS_H
#define KERNELS_REDUCE_REDUCE_COLUMNS_H

#include <string.h>

#include "kernels/reduce/reduce.h"

enum { COLUMNS = 64 };

static void columns_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base, uint32_t n, float *r)
{
    float lanes[16][COLUMNS] = {0}, x[COLUMNS], count = (float)a->n;
    struct view_walk w;
    int64_t at;
    view_seek(&w, &a->run, 0);
    for (uint64_t i = 0; i < a->n; i++) {
        float *lane = lanes[i % 16];
        view_run(&w, 1, &at);
        K(span_load)(&a->in, call->data[0], base + at, 1, n, x);
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
        K(span_load_i64)(a->in.type, call->data[0], base + at, 1, n, x);
        span_narrow(&a->in, x, n);
        for (uint32_t c = 0; c < n; c++)
            sum[c] = (int64_t)((uint64_t)sum[c] + (uint64_t)(x[c] + o));
    }
}

/* Outputs unit … unit + n, whose first inputs are at base, base + 1, … */
static void reduce_columns(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, int64_t base, uint32_t n)
{
    float r[COLUMNS];
    int64_t sum[COLUMNS];
    if (!a->whole) {
        columns_f32(call, a, base, n, r);
        K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, n, r);
        return;
    }
    columns_i64(call, a, base, n, sum);
    if (a->raw) {
        K(span_store_i64)(a->out[0].type, call->data[1], (int64_t)unit, 1, n, sum);
        return;
    }
    for (uint32_t c = 0; c < n; c++)
        r[c] = (float)sum[c] * a->m;
    K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, n, r);
}

#endif

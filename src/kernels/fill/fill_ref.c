/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors made from little or nothing. A unit of work is SPAN elements. */
#define KERNEL_ISA ref
#include "kernels/fill/fill.h"
#include "kernels/mover_body.h"
#include "kernels/random.h"

void fill_shape_ref(const struct kernel_call *call, struct range tile)
{
    const struct fill_args *a = call->args;
    (void)tile;
    for (uint32_t i = 0; i < a->n; i++)
        span_store_i64_ref(a->dst.type, call->data[a->n_in], i, 1, 1, &(int64_t){a->dims[i]});
}

void fill_constant_ref(const struct kernel_call *call, struct range tile)
{
    const struct fill_args *a = call->args;
    uint64_t at = (uint64_t)tile.begin * SPAN, end = (uint64_t)tile.end * SPAN;
    end = end < a->total && a->mover.bytes ? end : a->total; /* packed values: one tile for all */
    if (at < end)
        move_fill_with(&a->mover, call->data[a->n_in], (int64_t)at, end - at, a->value);
}

void fill_random_ref(const struct kernel_call *call, struct range tile)
{
    const struct fill_args *a = call->args;
    uint64_t end = (uint64_t)tile.end * SPAN;
    float seed = 0.0f, v[SPAN];
    end = end < a->total ? end : a->total;
    if (a->seeded)
        span_load_ref(&a->seed, call->data[1], 0, 1, 1, &seed);
    for (uint64_t at = (uint64_t)tile.begin * SPAN; at < end; at += SPAN) {
        uint32_t n = end - at < SPAN ? (uint32_t)(end - at) : SPAN;
        for (uint32_t i = 0; i < n; i++)
            v[i] = a->normal ? (float)((double)a->a + (double)a->b * random_normal(ku_bits_f32(seed), at + i))
                             : a->a + (a->b - a->a) * random_uniform(ku_bits_f32(seed), at + i);
        span_store_ref(&a->dst, call->data[a->n_in], (int64_t)at, 1, n, v);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms along an axis, compiled once per instruction set. */
#include <string.h>

#include "kernels/signal/signal.h"

/* Any number of elements: spans know no limit, but stay within what 32 bits count. */
static inline void load_row(const struct codec *c, const void *base, uint64_t at, uint32_t n, float *dst)
{
    K(span_load)(c, base, (int64_t)at, 1, n, dst);
}

/* ---- HadamardTransform: a unit is one row ------------------------------------------------------------------------ */

void K(hadamard)(const struct kernel_call *call, struct range tile)
{
    const struct hadamard_args *a = call->args;
    float *x = call->work;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        load_row(&a->src, call->data[0], row * a->n, a->n, x);
        for (uint64_t h = 1; h < a->n; h *= 2)
            for (uint64_t i = 0; i < a->n; i += 2 * h)
                for (uint64_t j = i; j < i + h; j++) {
                    float p = x[j], q = x[j + h];
                    x[j] = p + q;
                    x[j + h] = p - q;
                }
        for (uint32_t i = 0; i < a->n; i++)
            x[i] = x[i] * a->scale;
        K(span_store)(&a->dst, call->data[1], (int64_t)(row * a->n), 1, a->n, x);
    }
}

/* ---- RotaryEmbedding: a unit is one head at one position --------------------------------------------------------- */

/* Row of the tables for a position of an image. */
static uint64_t table_row(const struct kernel_call *call, const struct rotary_args *a, uint64_t at)
{
    int64_t p;
    if (!a->positions)
        return at;
    K(span_load_i64)(a->position_type, call->data[3], (int64_t)at, 1, 1, &p);
    return p < 0 ? 0 : p >= (int64_t)a->table ? a->table - 1u : (uint64_t)p;
}

void K(rotary)(const struct kernel_call *call, struct range tile)
{
    const struct rotary_args *a = call->args;
    uint32_t half = a->rotated / 2;
    float *x = call->work, *c = x + a->size, *s = c + half, *y = c + a->rotated;
    uint64_t step = a->interleaved ? 2 : 1, other = a->interleaved ? 1 : half;
    for (uint64_t unit = tile.begin; unit < tile.end; unit++) {
        uint64_t outer = unit / (a->heads_first ? a->sequence : a->heads),
                 image = a->heads_first ? outer / a->heads : outer / a->sequence;
        uint64_t position = a->heads_first ? unit % a->sequence : outer % a->sequence;
        uint64_t row = table_row(call, a, image * a->sequence + position);
        load_row(&a->src, call->data[0], unit * a->size, a->size, x);
        load_row(&a->cos, call->data[1], row * half, half, c);
        load_row(&a->sin, call->data[2], row * half, half, s);
        for (uint64_t i = 0; i < half; i++) {
            float p = x[i * step], q = x[i * step + other];
            y[i * step] = p * c[i] - q * s[i];
            y[i * step + other] = p * s[i] + q * c[i];
        }
        for (uint32_t i = a->rotated; i < a->size; i++)
            y[i] = x[i];
        K(span_store)(&a->dst, call->data[a->n_in], (int64_t)(unit * a->size), 1, a->size, y);
    }
}

/* ---- Stft: a unit is one frame ----------------------------------------------------------------------------------- */

#include "kernels/signal/stft_body.h"

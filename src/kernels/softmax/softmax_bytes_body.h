/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax between 8-bit tensors, compiled once per instruction set: a run has at most 256 different numbers, and so do its
 * exponentials and results. Both are tables; elements are only looked up. Exponentials depend on the largest number of a
 * run, so tables of several such are kept.
 *
 * Include softmax_body.h first, and a file that looks up: tables_made, sum_of, look_up. */
#include "kernels/softmax/softmax.h"

/* The least and the largest byte. */
static void extremes(const uint8_t *x, uint32_t n, uint8_t flip, uint8_t ret[2])
{
    uint8_t lo = 255, hi = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t v = x[i] ^ flip;
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    ret[0] = lo;
    ret[1] = hi;
}

/* Results of the bytes lo … hi. */
static void results_of(const struct codec *out, const float *e, const uint8_t range[2], float sum, uint8_t ret[256])
{
    float p[256];
    const uint32_t n = (uint32_t)range[1] - range[0] + 1;
    for (uint32_t i = 0; i < n; i++)
        p[i] = e[range[0] + i] / sum;
    K(span_store)(out, ret, range[0], 1, n, p);
}

/* What bytes are worth, counted from the least one, signed or not. */
static void real_numbers(const struct softmax_args *a, uint8_t flip, float real[256])
{
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i ^ flip;
    K(span_load)(&a->in, bytes, 0, 1, 256, real);
}

void K(softmax_bytes)(const struct kernel_call *call, struct range tile)
{
    const struct softmax_args *a = call->args;
    const uint8_t flip = a->in.type == DT_SQ8 ? 0x80 : 0;
    const uint64_t last = tile.end * a->unit_runs, end = last < a->runs ? last : a->runs;
    float real[256];
    int largest[SOFTMAX_BYTE_TABLES];
    real_numbers(a, flip, real);
    for (int i = 0; i < SOFTMAX_BYTE_TABLES; i++)
        largest[i] = -1;
    for (uint64_t run = tile.begin * a->unit_runs; run < end; run++) {
        const uint8_t *x = (const uint8_t *)call->data[0] + run * a->n;
        uint8_t range[2], result[256];
        extremes(x, a->n, flip, range);
        const uint32_t at = range[1] % SOFTMAX_BYTE_TABLES;
        struct softmax_bytes *t = (struct softmax_bytes *)call->work + at;
        if (largest[at] != range[1]) {
            float lanes[16] = { 0 }; /* not wanted */
            K(quick_exps)(real, t->e, range[1] + 1u, real[range[1]], a->beta, lanes);
            tables_made(t);
        }
        largest[at] = range[1];
        results_of(&a->out, t->e, range, sum_of(t, x, a->n, flip), result);
        look_up(result, x, a->n, flip, (uint8_t *)call->data[a->n_in] + run * a->n);
    }
}

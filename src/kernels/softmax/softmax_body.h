/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, compiled once per instruction set. A run lives in the workspace as f32 while it is worked on. */
#include <math.h>
#include <string.h>

#include "kernels/quick.h"
#include "kernels/softmax/softmax.h"
#include "kernels/view_load.h"

static float maximum(const float *x, uint32_t n)
{
    float lane[16], m;
    uint32_t i = 0;
    for (int j = 0; j < 16; j++)
        lane[j] = -INFINITY;
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++)
            lane[j] = x[i + (uint32_t)j] > lane[j] ? x[i + (uint32_t)j] : lane[j];
    m = lane[0];
    for (int j = 1; j < 16; j++)
        m = lane[j] > m ? lane[j] : m;
    for (; i < n; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

/* A NaN among the x reaches every result through the sum. n <= SPAN; x and e may be the same. */
static void exponentials(const float *x, float *e, uint32_t n, float max, float beta)
{
    for (uint32_t i = 0; i < n; i++)
        e[i] = beta * (x[i] - max);
    K(quick)(QUICK_EXP, e, e, n);
}

static void load_run(const struct kernel_call *call, const struct softmax_args *a, uint64_t run, int64_t first, float *x)
{
    struct view_walk w = {0};
    float m[SPAN];
    if (a->masked && !a->compressed)
        view_seek(&w, &a->mask_view, run * a->n);
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        K(span_load)(&a->in, call->data[0], first + (int64_t)(at * a->inner), (int64_t)a->inner, n, x + at);
        if (!a->masked || a->compressed)
            continue;
        const float *mask = view_next(&w, &a->mask, call->data[1], n, m);
        for (uint32_t i = 0; i < n; i++)
            x[at + i] += mask[i];
    }
}

/* Positions that belong to another sequence than the run are out of sight. False: nothing is in sight. */
static bool hide_others(const struct kernel_call *call, const struct softmax_args *a, uint64_t run, float *x)
{
    float ids[SPAN], own;
    bool any = false;
    int64_t first = a->batch_runs ? (int64_t)(run / a->batch_runs * a->n) : 0;
    K(span_load)(&a->mask, call->data[1], first + (a->n - a->rows) + (int64_t)(run % a->rows), 1, 1, &own);
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        K(span_load)(&a->mask, call->data[1], first + at, 1, n, ids);
        for (uint32_t i = 0; i < n; i++) {
            bool seen = ids[i] == own && own != 0.0f;
            x[at + i] = seen ? x[at + i] : -INFINITY;
            any = any || seen;
        }
    }
    return any;
}

/* Copies of what args say: compilers cannot know that x does not change them, and would not make vectors. */
static void softmax_run(const struct softmax_args *a, float *x, float max)
{
    const uint32_t all = a->n;
    const float beta = a->beta;
    float lanes[16] = {0}, buf[SPAN], sum;
    for (uint32_t at = 0, n; at < all; at += n) {
        n = all - at < SPAN ? all - at : SPAN;
        float *e = a->log ? buf : x + at;
        exponentials(x + at, e, n, max, beta);
        K(span_lanes)(lanes, e, n);
    }
    sum = span_lanes_end(lanes);
    if (a->log) {
        sum = (float)log((double)sum);
        for (uint32_t i = 0; i < all; i++)
            x[i] = beta * (x[i] - max) - sum;
    } else {
        for (uint32_t i = 0; i < all; i++)
            x[i] = x[i] / sum;
    }
}

void K(softmax)(const struct kernel_call *call, struct range tile)
{
    const struct softmax_args *a = call->args;
    float *x = call->work;
    const uint64_t last = tile.end * a->unit_runs, end = last < a->runs ? last : a->runs;
    for (uint64_t run = tile.begin * a->unit_runs; run < end; run++) {
        int64_t first = (int64_t)(run / a->inner * a->n * a->inner + run % a->inner);
        load_run(call, a, run, first, x);
        if (!a->compressed || hide_others(call, a, run, x))
            softmax_run(a, x, maximum(x, a->n));
        else
            memset(x, 0, a->n * sizeof(*x));
        for (uint32_t at = 0, n; at < a->n; at += n) {
            n = a->n - at < SPAN ? a->n - at : SPAN;
            K(span_store)(&a->out, call->data[a->n_in], first + (int64_t)(at * a->inner), (int64_t)a->inner, n, x + at);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, compiled once per instruction set. A run lives in the workspace as f32 while it is worked on. */
#include <math.h>
#include <string.h>

#include "kernels/quick.h"
#include "kernels/softmax/softmax.h"
#include "kernels/view_load.h"

static void load_run(const struct kernel_call *call, const struct softmax_args *a, int64_t first, float *x)
{
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        K(span_load)(&a->in, call->data[0], first + (int64_t)(at * a->inner), (int64_t)a->inner, n, x + at);
    }
}

static void add_mask(const struct kernel_call *call, const struct softmax_args *a, uint64_t run, float *x)
{
    struct view_walk walk = {0};
    float values[SPAN];

    view_seek(&walk, &a->mask_view, run * a->n);
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        const float *mask = view_next(&walk, &a->mask, call->data[1], n, values);
        for (uint32_t i = 0; i < n; i++)
            x[at + i] += mask[i];
    }
}

/* Entries whose condition is false are out of sight. Returns false when nothing is in sight. */
static bool hide_masked(const struct kernel_call *call, const struct softmax_args *a, uint64_t run, float *x)
{
    struct view_walk walk = {0};
    float values[SPAN];
    bool any = false;

    view_seek(&walk, &a->mask_view, run * a->n);
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        const float *keep = view_next(&walk, &a->mask, call->data[1], n, values);
        for (uint32_t i = 0; i < n; i++) {
            x[at + i] = keep[i] != 0.0f ? x[at + i] : -INFINITY;
            any |= keep[i] != 0.0f;
        }
    }
    return any;
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

/* Returns false when the mask leaves nothing of the run in sight. */
static bool apply_mask(const struct kernel_call *call, const struct softmax_args *a, uint64_t run, float *x)
{
    if (!a->masked)
        return true;
    if (a->compressed)
        return hide_others(call, a, run, x);
    if (a->condition)
        return hide_masked(call, a, run, x);
    add_mask(call, a, run, x);
    return true;
}

/* From x to o, which may be the same. A NaN among the x reaches every result through the sum. */
static void softmax_run(const struct softmax_args *a, const float *x, float *o)
{
    const float max = K(quick_most)(x, a->n);
    float lanes[16] = { 0 };
    if (!a->log) {
        K(quick_exps)(x, o, a->n, max, a->beta, lanes);
        K(quick_shares)(o, o, a->n, span_lanes_end(lanes));
        return;
    }
    float e[SPAN], beta = a->beta;
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        K(quick_exps)(x + at, e, n, max, beta, lanes);
    }
    const float sum = (float)log((double)span_lanes_end(lanes));
    for (uint32_t i = 0, n = a->n; i < n; i++)
        o[i] = beta * (x[i] - max) - sum;
}

static void store_run(const struct kernel_call *call, const struct softmax_args *a, int64_t first, const float *x)
{
    for (uint32_t at = 0, n; at < a->n; at += n) {
        n = a->n - at < SPAN ? a->n - at : SPAN;
        K(span_store)(&a->out, call->data[a->n_in], first + (int64_t)(at * a->inner), (int64_t)a->inner, n, x + at);
    }
}

/* Runs that lie together in f32 are worked on where they are. */
void K(softmax)(const struct kernel_call *call, struct range tile)
{
    const struct softmax_args *a = call->args;
    const uint64_t last = tile.end * a->unit_runs, end = last < a->runs ? last : a->runs;
    const bool in_place = a->inner == 1 && a->in.type == DT_F32 && !a->masked,
               out_place = a->inner == 1 && a->out.type == DT_F32 && !a->out.limited;
    for (uint64_t run = tile.begin * a->unit_runs; run < end; run++) {
        const int64_t first = (int64_t)(run / a->inner * a->n * a->inner + run % a->inner);
        float *work = call->work, *o = out_place ? (float *)call->data[a->n_in] + first : work;
        const float *x = in_place ? (const float *)call->data[0] + first : work;
        if (!in_place)
            load_run(call, a, first, work);
        if (apply_mask(call, a, run, work))
            softmax_run(a, x, o);
        else
            memset(o, 0, a->n * sizeof(*o));
        if (!out_place)
            store_run(call, a, first, o);
    }
}

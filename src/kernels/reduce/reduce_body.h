/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, compiled once per instruction set. A unit of work is one output element: the run of inputs behind it. */
#include <math.h>

#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_columns.h"
#include "kernels/view_load.h"

/* ---- f32 --------------------------------------------------------------------------------------------------------- */

static inline bool better(float x, float best, bool max)
{
    return max ? x > best : x < best;
}

/* A NaN wins over everything, the first one over later ones. */
static void extreme_f32(const float *x, uint32_t n, uint64_t at, bool max, float *best, uint64_t *where)
{
    for (uint32_t i = 0; i < n; i++)
        if (better(x[i], *best, max) || (x[i] != x[i] && *best == *best)) {
            *best = x[i];
            *where = at + i;
        }
}

/* The same without the position, in lanes that the compiler turns into vectors. */
static void extreme_lanes(const float *x, uint32_t n, bool max, float lane[16], bool *nan)
{
    uint32_t odd[16] = { 0 }, any = 0;
    const float sign = max ? 1.0f : -1.0f; /* negation is exact: a minimum is the maximum of the negated */
    for (; n >= 64; n -= 64, x += 64)      /* a lane waits for itself, so it is asked once for four */
        for (int j = 0; j < 16; j++) {
            float p = x[j] * sign, q = x[j + 16] * sign, r = x[j + 32] * sign, s = x[j + 48] * sign;
            odd[j] |= (uint32_t)(p != p) | (uint32_t)(q != q) | (uint32_t)(r != r) | (uint32_t)(s != s);
            p = p > q ? p : q;
            r = r > s ? r : s;
            p = p > r ? p : r;
            lane[j] = p > lane[j] ? p : lane[j];
        }
    for (uint32_t j = 0; j < n; j++) {
        float v = x[j] * sign;
        any |= v != v;
        lane[j % 16] = v > lane[j % 16] ? v : lane[j % 16];
    }
    for (int j = 0; j < 16; j++)
        any |= odd[j];
    *nan |= any;
}

struct walk_f32 {
    struct view_walk w;
    float buf[SPAN];
};

static const float *next_f32(const struct kernel_call *call, const struct reduce_args *a, struct walk_f32 *w, uint64_t at,
                             uint32_t *n)
{
    *n = a->n - at < SPAN ? (uint32_t)(a->n - at) : SPAN;
    return view_next(&w->w, &a->in, call->data[0], *n, w->buf);
}

static void start_f32(const struct reduce_args *a, struct walk_f32 *w, int64_t base)
{
    view_seek(&w->w, &a->run, 0);
    w->w.at += base;
}

/* Lane sum of x, or of (x - mean)^2. */
static float sum_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base, bool squares, float mean)
{
    float lanes[16] = {0}, sq[SPAN];
    struct walk_f32 w;
    uint32_t n;
    start_f32(a, &w, base);
    for (uint64_t at = 0; at < a->n; at += n) {
        const float *x = next_f32(call, a, &w, at, &n);
        for (uint32_t i = 0; squares && i < n; i++)
            sq[i] = (x[i] - mean) * (x[i] - mean);
        K(span_lanes)(lanes, squares ? sq : x, n);
    }
    return span_lanes_end(lanes);
}

static float product_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base)
{
    struct walk_f32 w;
    uint32_t n;
    float p = 1.0f;
    start_f32(a, &w, base);
    for (uint64_t at = 0; at < a->n; at += n) {
        const float *x = next_f32(call, a, &w, at, &n);
        for (uint32_t i = 0; i < n; i++)
            p = p * x[i];
    }
    return p;
}

static void find_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base, uint64_t *where)
{
    bool max = a->kind == RED_ARGMAX;
    struct walk_f32 w;
    uint32_t n;
    float best = max ? -INFINITY : INFINITY;
    *where = 0;
    start_f32(a, &w, base);
    for (uint64_t at = 0; at < a->n; at += n) {
        const float *x = next_f32(call, a, &w, at, &n);
        extreme_f32(x, n, at, max, &best, where);
    }
}

static float most_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t base)
{
    struct walk_f32 w;
    uint32_t n;
    bool nan = false, max = a->kind == RED_MAX;
    float lane[16];
    for (int j = 0; j < 16; j++)
        lane[j] = -INFINITY;
    start_f32(a, &w, base);
    for (uint64_t at = 0; at < a->n; at += n) {
        const float *x = next_f32(call, a, &w, at, &n);
        extreme_lanes(x, n, max, lane, &nan);
    }
    for (int j = 1; j < 16; j++)
        lane[0] = lane[j] > lane[0] ? lane[j] : lane[0];
    return nan ? NAN : (max ? lane[0] : -lane[0]) + 0.0f; /* -0 becomes +0 */
}

static void store_index(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, uint64_t where)
{
    double v = (double)where;
    K(span_store_f64)(&a->out[0], call->data[1], (int64_t)unit, 1, &v);
}

static void reduce_f32(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, int64_t base)
{
    uint64_t where = 0;
    float r = 0.0f, n = (float)a->n;
    switch (a->kind) {
    case RED_SUM:
        r = sum_f32(call, a, base, false, 0.0f);
        break;
    case RED_MEAN:
    case RED_MOMENTS:
        r = sum_f32(call, a, base, false, 0.0f) / n;
        break;
    case RED_SUM_SQUARE:
        r = sum_f32(call, a, base, true, 0.0f);
        break;
    case RED_PROD:
        r = product_f32(call, a, base);
        break;
    case RED_MAX:
    case RED_MIN:
        r = most_f32(call, a, base);
        break;
    default:
        find_f32(call, a, base, &where);
    }
    if (a->kind == RED_ARGMAX || a->kind == RED_ARGMIN) {
        store_index(call, a, unit, where);
        return;
    }
    K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, 1, &r);
    if (a->kind == RED_MOMENTS && call->data[2]) {
        float var = sum_f32(call, a, base, true, r) / n;
        K(span_store)(&a->out[1], call->data[2], (int64_t)unit, 1, 1, &var);
    }
}

/* ---- stored integers --------------------------------------------------------------------------------------------- */

struct totals {
    uint64_t sum, squares, product; /* of q + offset, modulo 2^64 */
    int64_t best;
    uint64_t where;
};

static void total_i64(const struct reduce_args *a, const int64_t *x, uint32_t n, uint64_t at, struct totals *t)
{
    int64_t o = dtype_is_fixed(a->in.type) ? a->in.offset : 0;
    bool max = a->kind == RED_MAX || a->kind == RED_ARGMAX, u64 = a->in.type == DT_U64;
    switch (a->kind) {
    case RED_SUM:
    case RED_MEAN:
        for (uint32_t i = 0; i < n; i++)
            t->sum += (uint64_t)(x[i] + o);
        break;
    case RED_SUM_SQUARE:
        for (uint32_t i = 0; i < n; i++)
            t->squares += (uint64_t)(x[i] + o) * (uint64_t)(x[i] + o);
        break;
    case RED_PROD:
        for (uint32_t i = 0; i < n; i++)
            t->product *= (uint64_t)x[i];
        break;
    default:
        for (uint32_t i = 0; i < n; i++) {
            bool more = u64 ? (uint64_t)x[i] > (uint64_t)t->best : x[i] > t->best;
            bool less = u64 ? (uint64_t)x[i] < (uint64_t)t->best : x[i] < t->best;
            if ((max ? more : less) || at + i == 0) {
                t->best = x[i];
                t->where = at + i;
            }
        }
    }
}

static int64_t mean_int(const struct reduce_args *a, uint64_t sum)
{
    return a->in.type == DT_U64 ? (int64_t)(sum / a->n) : (int64_t)sum / (int64_t)a->n;
}

static void store_i64(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, const struct totals *t)
{
    bool extreme = a->kind == RED_MAX || a->kind == RED_MIN;
    int64_t v = extreme ? t->best
                        : (int64_t)(a->kind == RED_SUM_SQUARE ? t->squares
                                    : a->kind == RED_PROD     ? t->product
                                                              : t->sum);
    if (a->kind == RED_ARGMAX || a->kind == RED_ARGMIN) {
        store_index(call, a, unit, t->where);
    } else if (a->raw) {
        v = a->kind == RED_MEAN ? mean_int(a, t->sum) : v;
        K(span_store_i64)(a->out[0].type, call->data[1], (int64_t)unit, 1, 1, &v);
    } else {
        float r = (float)(extreme ? v + a->in.offset : v) * a->m;
        K(span_store)(&a->out[0], call->data[1], (int64_t)unit, 1, 1, &r);
    }
}

static void reduce_i64(const struct kernel_call *call, const struct reduce_args *a, uint64_t unit, int64_t base)
{
    int64_t x[SPAN];
    struct totals t = {.product = 1};
    struct view_walk w;
    view_seek(&w, &a->run, 0);
    w.at += base;
    for (uint64_t at = 0; at < a->n; at += SPAN) {
        uint32_t n = a->n - at < SPAN ? (uint32_t)(a->n - at) : SPAN;
        view_next_i64(&w, a->in.type, call->data[0], n, x);
        span_narrow(&a->in, x, n);
        total_i64(a, x, n, at, &t);
    }
    store_i64(call, a, unit, &t);
}

void K(reduce)(const struct kernel_call *call, struct range tile)
{
    const struct reduce_args *a = call->args;
    uint64_t end = tile.end < a->runs ? tile.end : a->runs;
    for (uint64_t unit = tile.begin, n; unit < end; unit += n) {
        struct view_walk w;
        uint32_t last = a->outer.rank - 1;
        view_seek(&w, &a->outer, unit);
        n = 1;
        if (a->columns) {
            uint64_t row = a->outer.dims[last] - w.pos[last], most = row < COLUMNS ? row : COLUMNS;
            n = end - unit < most ? end - unit : most;
            reduce_columns(call, a, unit, w.at, (uint32_t)n);
        } else if (a->whole) {
            reduce_i64(call, a, unit, w.at);
        } else {
            reduce_f32(call, a, unit, w.at);
        }
    }
}

/* ---- CumulativeSum ----------------------------------------------------------------------------------------------- */

static void running_f32(const struct kernel_call *call, const struct reduce_args *a, int64_t first, int64_t stride)
{
    float x[SPAN], sum = 0.0f;
    for (uint64_t at = 0; at < a->n; at += SPAN) {
        uint32_t n = a->n - at < SPAN ? (uint32_t)(a->n - at) : SPAN;
        K(span_load)(&a->in, call->data[0], first + (int64_t)at * stride, stride, n, x);
        for (uint32_t i = 0; i < n; i++) {
            float next = sum + x[i];
            x[i] = a->exclusive ? sum : next;
            sum = next;
        }
        K(span_store)(&a->out[0], call->data[1], first + (int64_t)at * stride, stride, n, x);
    }
}

static void running_i64(const struct kernel_call *call, const struct reduce_args *a, int64_t first, int64_t stride)
{
    int64_t x[SPAN];
    float r[SPAN];
    uint64_t sum = 0;
    int64_t o = dtype_is_fixed(a->in.type) ? a->in.offset : 0;
    for (uint64_t at = 0; at < a->n; at += SPAN) {
        uint32_t n = a->n - at < SPAN ? (uint32_t)(a->n - at) : SPAN;
        int64_t from = first + (int64_t)at * stride;
        K(span_load_i64)(a->in.type, call->data[0], from, stride, n, x);
        span_narrow(&a->in, x, n);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t next = sum + (uint64_t)(x[i] + o);
            x[i] = (int64_t)(a->exclusive ? sum : next);
            r[i] = (float)x[i] * a->m;
            sum = next;
        }
        if (a->raw)
            K(span_store_i64)(a->out[0].type, call->data[1], from, stride, n, x);
        else
            K(span_store)(&a->out[0], call->data[1], from, stride, n, r);
    }
}

void K(cumulative)(const struct kernel_call *call, struct range tile)
{
    const struct reduce_args *a = call->args;
    uint64_t end = tile.end < a->runs ? tile.end : a->runs;
    int64_t stride = a->run.strides[0];
    for (uint64_t unit = tile.begin; unit < end; unit++) {
        struct view_walk w;
        view_seek(&w, &a->outer, unit);
        int64_t first = a->reverse ? w.at + (int64_t)(a->n - 1) * stride : w.at;
        (a->whole ? running_i64 : running_f32)(call, a, first, a->reverse ? -stride : stride);
    }
}

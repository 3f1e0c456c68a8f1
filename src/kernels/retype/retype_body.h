/* SPDX-License-Identifier: Apache-2.0 */
/* Type conversions, compiled once per instruction set. */
#include <string.h>

#include "kernels/retype/retype.h"

static void span_copy(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n)
{
    /* A span starts at a multiple of 4 elements, so packed values begin a byte. */
    uint64_t from = dtype_bytes(a->in.type, (uint64_t)at), bytes = dtype_bytes(a->in.type, n);
    memmove((char *)call->data[1] + from, (const char *)call->data[0] + from, bytes);
}

static void span_f32(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n)
{
    float x[SPAN];
    const float *p = x;
    if (a->in.type == DT_F32)
        p = (const float *)call->data[0] + at;
    else
        K(span_load)(&a->in, call->data[0], at, 1, n, x);
    K(span_store)(&a->out, call->data[1], at, 1, n, p);
}

static void span_f64(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n)
{
    double x[SPAN];
    K(span_load_f64)(&a->in, call->data[0], at, n, x);
    K(span_store_f64)(&a->out, call->data[1], at, n, x);
}

static void span_i64(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n)
{
    int64_t x[SPAN];
    K(span_load_i64)(a->in.type, call->data[0], at, 1, n, x);
    for (uint32_t i = 0; a->out.type == DT_B8 && i < n; i++)
        x[i] = x[i] != 0;
    K(span_store_i64)(a->out.type, call->data[1], at, 1, n, x);
}

struct entry {
    float scale;
    int32_t offset;
};

static struct entry entry_of(const struct codec *c, uint64_t element)
{
    if (!c->scales)
        return (struct entry){c->scale, c->offset};
    uint64_t k = element / c->axis_inner % c->axis_n;
    return (struct entry){c->scales[k], c->offsets ? c->offsets[k] : 0};
}

static void span_axis(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n)
{
    int64_t q[SPAN];
    K(span_load_i64)(a->in.type, call->data[0], at, 1, n, q);
    span_narrow(&a->in, q, n);
    for (uint32_t i = 0; i < n; i++) {
        struct entry x = entry_of(&a->in, (uint64_t)at + i), y = entry_of(&a->out, (uint64_t)at + i);
        int64_t v = q[i];
        float m = (float)((double)x.scale / (double)y.scale);
        bool same = x.scale == y.scale && x.offset == y.offset;
        q[i] = same ? ku_clamp(v, a->out.lo, a->out.hi) : ku_requant(v + x.offset, m, y.offset, a->out.lo, a->out.hi);
    }
    K(span_store_i64)(a->out.type, call->data[1], at, 1, n, q);
}

static void span_slow(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n)
{
    float x[SPAN];
    int64_t q[SPAN];
    if (encoding_is_simple(&a->from.q))
        K(span_load)(&a->in, call->data[0], at, 1, n, x);
    else
        for (uint32_t i = 0; i < n; i++)
            x[i] = encoding_real(&a->from, call->data[0], (uint64_t)at + i);
    if (encoding_is_simple(&a->to.q)) {
        K(span_store)(&a->out, call->data[1], at, 1, n, x);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        q[i] = encoding_nearest(&a->to, x[i], (uint64_t)at + i, a->out.lo, a->out.hi);
    K(span_store_i64)(a->out.type, call->data[1], at, 1, n, q);
}

void K(retype)(const struct kernel_call *call, struct range tile)
{
    typedef void span_fn(const struct kernel_call *call, const struct retype_args *a, int64_t at, uint32_t n);
    static span_fn *const modes[] = {
        [RETYPE_COPY] = span_copy, [RETYPE_F32] = span_f32, [RETYPE_F64] = span_f64,
        [RETYPE_I64] = span_i64,   [RETYPE_AXIS] = span_axis, [RETYPE_SLOW] = span_slow,
    };
    const struct retype_args *a = call->args;
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit;
    end = end < a->total ? end : a->total;
    for (uint32_t n; at < end; at += n) {
        n = end - at < SPAN ? (uint32_t)(end - at) : SPAN;
        modes[a->mode](call, a, (int64_t)at, n);
    }
}

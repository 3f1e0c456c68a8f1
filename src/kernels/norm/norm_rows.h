/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose elements lie side by side, some of them at once, compiled once per instruction set. The order of a sum in 16
 * lanes leaves an addition waiting for the one before it; the sums of several runs fill that time. */
#ifndef KERNELS_NORM_NORM_ROWS_H
#define KERNELS_NORM_NORM_ROWS_H

#include <string.h>

enum { NORM_ROWS = 4, NORM_ROOM = 4096 /* elements of a run that are kept as f32 where they are stored otherwise */ };

typedef float norm_lanes __attribute__((vector_size(64), aligned(4), may_alias));

struct norm_rows {
    const float *x[NORM_ROWS];
    float *out[NORM_ROWS];
    float sub[NORM_ROWS], mul[NORM_ROWS], sum[NORM_ROWS];
};

/* Lane sums of x, or of (x - sub)^2. */
static inline __attribute__((always_inline)) void rows_sum(struct norm_rows *w, uint64_t n, const int rows,
                                                           const bool squares)
{
    norm_lanes sum[NORM_ROWS] = { 0 };
    const uint64_t whole = n / 16 * 16;
    for (uint64_t i = 0; i < whole; i += 16)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            norm_lanes v = *(const norm_lanes *)(w->x[r] + i);
            if (squares) {
                v = v - w->sub[r];
                v = v * v;
            }
            sum[r] += v;
        }
    for (int r = 0; r < rows; r++) {
        float lanes[16];
        memcpy(lanes, &sum[r], sizeof lanes);
        for (uint64_t i = whole; i < n; i++) {
            const float d = w->x[r][i] - (squares ? w->sub[r] : 0.0f);
            lanes[i - whole] += squares ? d * d : d;
        }
        w->sum[r] = span_lanes_end(lanes);
    }
}

static inline __attribute__((always_inline)) void rows_statistics(const struct norm_args *a, struct norm_rows *w,
                                                                  const int rows)
{
    const float n = (float)a->n;
    for (int r = 0; r < rows; r++) {
        w->sub[r] = 0.0f;
        w->mul[r] = 1.0f;
    }
    if (a->kind == NORM_CENTER || a->kind == NORM_VARIANCE) {
        rows_sum(w, a->n, rows, false);
        for (int r = 0; r < rows; r++)
            w->sub[r] = w->sum[r] / n;
    }
    if (a->kind == NORM_CENTER)
        return;
    rows_sum(w, a->n, rows, true);
    for (int r = 0; r < rows; r++)
        w->mul[r] = 1.0f / sqrtf((a->kind == NORM_RMS_SUM ? w->sum[r] : w->sum[r] / n) + a->eps);
}

/* x and o may be the same. */
static void rows_apply(const float *x, float *o, uint64_t n, float sub, float mul, const float *gamma, const float *beta)
{
    uint64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        norm_lanes v = (*(const norm_lanes *)(x + i) - sub) * mul;
        if (gamma)
            v = v * *(const norm_lanes *)(gamma + i);
        if (beta)
            v = v + *(const norm_lanes *)(beta + i);
        *(norm_lanes *)(o + i) = v;
    }
    for (; i < n; i++) {
        float v = (x[i] - sub) * mul;
        v = gamma ? v * gamma[i] : v;
        o[i] = beta ? v + beta[i] : v;
    }
}

static bool rows_beside(const struct codec *c, const struct view *v, uint64_t n)
{
    return v->linear && (c->type == DT_F32 || n <= NORM_ROOM);
}

/* Elements of runs follow each other, and so do theirs of gamma and beta. */
static bool rows_plain(const struct norm_args *a)
{
    return a->n && a->kind != NORM_AFFINE && a->kind != NORM_L2 && rows_beside(&a->in, &a->run, a->n) &&
           ((a->out.type == DT_F32 && !a->out.limited) || a->n <= NORM_ROOM) &&
           (!a->gamma_given || rows_beside(&a->gamma, &a->run_affine, a->n)) &&
           (!a->beta_given || rows_beside(&a->beta, &a->run_affine, a->n));
}

/* n elements from `at` on, where they are or in `buf`. */
static const float *rows_load(const struct codec *c, const void *data, int64_t at, uint64_t n, float *buf)
{
    if (c->type == DT_F32)
        return (const float *)data + at;
    for (uint64_t i = 0, k; i < n; i += k) {
        k = n - i < SPAN ? n - i : SPAN;
        K(span_load)(c, data, at + (int64_t)i, 1, (uint32_t)k, buf + i);
    }
    return buf;
}

static void rows_store(const struct codec *c, void *data, int64_t at, uint64_t n, const float *r)
{
    for (uint64_t i = 0, k; i < n; i += k) {
        k = n - i < SPAN ? n - i : SPAN;
        K(span_store)(c, data, at + (int64_t)i, 1, (uint32_t)k, r + i);
    }
}

static void rows_run(const struct kernel_call *call, const struct norm_args *a, uint64_t begin, uint64_t end)
{
    const bool in_place = a->in.type == DT_F32, out_place = a->out.type == DT_F32 && !a->out.limited;
    const uint64_t n = a->n, most = in_place && out_place ? NORM_ROWS : NORM_ROOM / n;
    float room[NORM_ROOM], gammas[NORM_ROOM], betas[NORM_ROOM];
    const float *gamma = NULL, *beta = NULL;
    int64_t loaded = -1;
    for (uint64_t run = begin; run < end;) {
        struct norm_rows w;
        int64_t base[NORM_ROWS];
        const int rows = end - run >= NORM_ROWS && most >= NORM_ROWS ? NORM_ROWS : 1;
        for (int r = 0; r < rows; r++) {
            struct view_walk at;
            view_seek(&at, &a->outer, run + (uint64_t)r);
            base[r] = at.at;
            float *own = room + (most >= NORM_ROWS ? (uint64_t)r * (NORM_ROOM / NORM_ROWS) : 0);
            w.x[r] = rows_load(&a->in, call->data[0], at.at, n, own);
            w.out[r] = out_place ? (float *)call->data[a->n_in] + at.at : own;
        }
        if (rows == NORM_ROWS)
            rows_statistics(a, &w, NORM_ROWS);
        else
            rows_statistics(a, &w, 1);
        for (int r = 0; r < rows; r++) {
            struct view_walk at;
            view_seek(&at, &a->outer_affine, run + (uint64_t)r);
            if (at.at != loaded) {
                gamma = a->gamma_given ? rows_load(&a->gamma, call->data[1], at.at, n, gammas) : NULL;
                beta = a->beta_given ? rows_load(&a->beta, call->data[2], at.at, n, betas) : NULL;
                loaded = at.at;
            }
            rows_apply(w.x[r], w.out[r], n, w.sub[r], w.mul[r], gamma, beta);
            if (!out_place)
                rows_store(&a->out, call->data[a->n_in], base[r], n, w.out[r]);
        }
        run += (uint64_t)rows;
    }
}

#endif

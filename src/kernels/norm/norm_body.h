/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations, compiled once per instruction set. Runs are read span by span as often as needed; nothing is kept in
 * between. */
#include <math.h>

#include "kernels/norm/norm.h"
#include "kernels/view_load.h"

/* Lane sum over a run of x, or of (x - mean)^2. */
static float run_sum(const struct norm_args *a, const void *data, int64_t base, bool squares, float mean)
{
    float buf[SPAN], sq[SPAN], lanes[16] = {0};
    struct view_walk w;
    view_seek(&w, &a->run, 0);
    w.at += base;
    for (uint64_t at = 0; at < a->n; at += SPAN) {
        uint32_t n = a->n - at < SPAN ? (uint32_t)(a->n - at) : SPAN;
        const float *x = view_next(&w, &a->in, data, n, buf);
        if (squares) {
            for (uint32_t i = 0; i < n; i++)
                sq[i] = (x[i] - mean) * (x[i] - mean);
            x = sq;
        }
        K(span_lanes)(lanes, x, n);
    }
    return span_lanes_end(lanes);
}

struct stats {
    float sub, mul, div; /* (x - sub) * mul, or x / div when div != 0 */
};

static struct stats statistics(const struct norm_args *a, const void *data, int64_t base)
{
    struct stats s = {0.0f, 1.0f, 0.0f};
    float n = (float)a->n;
    if (a->kind == NORM_AFFINE)
        return s;
    if (a->kind == NORM_CENTER || a->kind == NORM_VARIANCE)
        s.sub = run_sum(a, data, base, false, 0.0f) / n;
    if (a->kind == NORM_CENTER)
        return s;
    float sum = run_sum(a, data, base, true, s.sub);
    if (a->kind == NORM_L2) {
        float norm = sqrtf(sum);
        s.div = norm < a->eps ? a->eps : norm;
        return s;
    }
    s.mul = 1.0f / sqrtf((a->kind == NORM_RMS_SUM ? sum : sum / n) + a->eps);
    return s;
}

static void apply(const struct norm_args *a, const struct stats *s, const float *x, const float *gamma, const float *beta,
                  float *r, uint32_t n)
{
    if (s->div != 0.0f || a->kind == NORM_L2)
        for (uint32_t i = 0; i < n; i++)
            r[i] = x[i] / s->div;
    else
        for (uint32_t i = 0; i < n; i++)
            r[i] = (x[i] - s->sub) * s->mul;
    if (gamma)
        for (uint32_t i = 0; i < n; i++)
            r[i] = r[i] * gamma[i];
    if (beta)
        for (uint32_t i = 0; i < n; i++)
            r[i] = r[i] + beta[i];
}

static void store_run(const struct norm_args *a, struct view_walk *w, void *out, const float *r, uint32_t n)
{
    int64_t at, stride = a->run.strides[a->run.rank - 1];
    for (uint32_t done = 0; done < n;) {
        uint32_t k = view_run(w, n - done, &at);
        K(span_store)(&a->out, out, at, stride, k, r + done);
        done += k;
    }
}

static void norm_run(const struct kernel_call *call, const struct norm_args *a, int64_t base, int64_t affine)
{
    float x[SPAN], g[SPAN], b[SPAN], r[SPAN];
    struct view_walk wx, wg, wb, wo;
    struct stats s = statistics(a, call->data[0], base);
    view_seek(&wx, &a->run, 0);
    wx.at += base;
    wo = wx;
    view_seek(&wg, &a->run_affine, 0);
    wg.at += affine;
    wb = wg;
    for (uint64_t at = 0; at < a->n; at += SPAN) {
        uint32_t n = a->n - at < SPAN ? (uint32_t)(a->n - at) : SPAN;
        const float *px = view_next(&wx, &a->in, call->data[0], n, x);
        const float *pg = a->gamma_given ? view_next(&wg, &a->gamma, call->data[1], n, g) : NULL;
        const float *pb = a->beta_given ? view_next(&wb, &a->beta, call->data[2], n, b) : NULL;
        apply(a, &s, px, pg, pb, r, n);
        store_run(a, &wo, call->data[a->n_in], r, n);
    }
}

#include "kernels/norm/norm_columns.h"
#include "kernels/norm/norm_rows.h"

void K(norm)(const struct kernel_call *call, struct range tile)
{
    const struct norm_args *a = call->args;
    const uint64_t last = tile.end * a->unit_runs, end = last < a->runs ? last : a->runs;
    for (uint64_t unit = tile.begin; a->columns && unit < tile.end; unit++)
        columns_run(call, a, unit);
    if (a->columns)
        return;
    if (rows_plain(a)) {
        rows_run(call, a, tile.begin * a->unit_runs, end);
        return;
    }
    for (uint64_t run = tile.begin * a->unit_runs; run < end; run++) {
        struct view_walk w, wa;
        view_seek(&w, &a->outer, run);
        view_seek(&wa, &a->outer_affine, run);
        norm_run(call, a, w.at, wa.at);
    }
}

/* ---- Lrn --------------------------------------------------------------------------------------------------------- */

static uint32_t window_begin(uint32_t i, uint32_t radius)
{
    return i > radius ? i - radius : 0;
}

static uint32_t window_end(uint32_t i, uint32_t radius, uint32_t size)
{
    return (uint64_t)i + radius + 1 < size ? i + radius + 1 : size;
}

static float lrn_scale(const struct lrn_args *a, float x, float sum)
{
    return x / (float)pow((double)(a->bias + a->alpha * sum), (double)a->beta);
}

/* Squares of the window, in ascending order of height, width, channel. Element (y, x, c) of an image that begins
 * at `base`. */
static float lrn_one(const struct lrn_args *a, const void *data, int64_t base, uint32_t y, uint32_t x, uint32_t c)
{
    uint32_t h = a->dims[1], w = a->dims[2], n = a->dims[3];
    uint32_t y0 = window_begin(y, a->radius), y1 = window_end(y, a->radius, h), x0 = window_begin(x, a->radius);
    uint32_t x1 = window_end(x, a->radius, w), c0 = c, c1 = c + 1;
    float sum = 0.0f, v;
    if (!a->spatial) {
        y0 = y, y1 = y + 1, x0 = x, x1 = x + 1;
        c0 = window_begin(c, a->radius), c1 = window_end(c, a->radius, n);
    }
    for (uint32_t i = y0; i < y1; i++)
        for (uint32_t j = x0; j < x1; j++)
            for (uint32_t k = c0; k < c1; k++) {
                K(span_load)(&a->in, data, base + ((int64_t)i * w + j) * n + k, 1, 1, &v);
                sum += v * v;
            }
    K(span_load)(&a->in, data, base + ((int64_t)y * w + x) * n + c, 1, 1, &v);
    return lrn_scale(a, v, sum);
}

/* One unit: the channels of one pixel. */
void K(lrn)(const struct kernel_call *call, struct range tile)
{
    const struct lrn_args *a = call->args;
    uint32_t h = a->dims[1], w = a->dims[2], n = a->dims[3];
    for (uint64_t unit = tile.begin; unit < tile.end && unit < (uint64_t)a->dims[0] * h * w; unit++) {
        uint32_t x = (uint32_t)(unit % w), y = (uint32_t)(unit / w % h);
        int64_t base = (int64_t)(unit / w / h * h * w * n);
        for (uint32_t c = 0; c < n; c++) {
            float r = lrn_one(a, call->data[0], base, y, x, c);
            K(span_store)(&a->out, call->data[1], (int64_t)unit * n + c, 1, 1, &r);
        }
    }
}

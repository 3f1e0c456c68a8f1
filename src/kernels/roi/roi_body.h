/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of interest, compiled once per instruction set. A unit of RoiAlign and RoiPooling is one row of bins of
 * one roi. */
#include <math.h>
#include <string.h>

#include "kernels/roi/roi.h"

struct region {
    uint64_t image;
    float lo[2], hi[2]; /* height, width */
};

/* False: the roi names no image. */
static bool load_region(const struct kernel_call *call, const struct roi_args *a, uint64_t roi, struct region *r)
{
    float b[4];
    int64_t image;
    K(span_load)(&a->roi, call->data[1], (int64_t)roi * 4, 1, 4, b); /* x1, y1, x2, y2 */
    K(span_load_i64)(a->index_type, call->data[2], (int64_t)roi, 1, 1, &image);
    *r = (struct region){.image = (uint64_t)image};
    for (uint32_t d = 0; d < 2; d++) {
        r->lo[d] = b[1 - d] / a->ratio[d];
        r->hi[d] = b[3 - d] / a->ratio[d];
    }
    return image >= 0 && image < (int64_t)a->batch;
}

static int64_t pixel_at(const struct roi_args *a, const struct region *r, uint32_t y, uint32_t x)
{
    return (int64_t)(((r->image * a->in[0] + y) * a->in[1] + x) * a->channels);
}

static void store_zero(const struct kernel_call *call, const struct roi_args *a, int64_t to, uint64_t n)
{
    float zero[SPAN] = {0};
    for (uint64_t at = 0; at < n; at += SPAN)
        K(span_store)(&a->dst, call->data[3], to + (int64_t)at, 1, n - at < SPAN ? (uint32_t)(n - at) : SPAN, zero);
}

/* ---- RoiAlign ---------------------------------------------------------------------------------------------------- */

/* The bins of one direction: bin i starts at start + i * step and has n samples. */
struct bins {
    float start, step;
    uint32_t n;
};

static void make_bins(const struct roi_args *a, const struct region *r, uint32_t d, struct bins *b)
{
    float size = r->hi[d] - r->lo[d];
    if (!a->aligned && !(size >= 1.0f))
        size = 1.0f;
    b->start = a->aligned ? r->lo[d] - 0.5f : r->lo[d];
    b->step = size / (float)a->out[d];
    float n = ceilf(b->step);
    b->n = a->samples[d] ? (uint32_t)a->samples[d]
           : n > 0.0f    ? (n < (float)ROI_MAX_SAMPLES ? (uint32_t)n : ROI_MAX_SAMPLES)
                         : 0;
}

/* One sample of one direction: two pixels and the way between them; false when it is outside of the map. */
struct between {
    uint32_t lo, hi;
    float f;
};

static bool find_between(const struct bins *b, uint32_t bin, uint32_t i, uint32_t size, struct between *t)
{
    float x = b->start + (float)bin * b->step + ((float)i + 0.5f) * b->step / (float)b->n;
    if (!(x >= -1.0f && x <= (float)size))
        return false;
    x = x > 0.0f ? x : 0.0f;
    t->lo = (uint32_t)x;
    t->f = x - (float)t->lo;
    if (t->lo >= size - 1) {
        t->lo = size - 1;
        t->f = 0.0f;
    }
    t->hi = t->lo + 1 < size ? t->lo + 1 : t->lo;
    return true;
}

struct align_bin {
    const struct kernel_call *call;
    const struct roi_args *a;
    const struct region *r;
    const struct bins *b; /* height, width */
    uint32_t y, x, c, n;
};

static void add_sample(const struct align_bin *t, const struct between *y, const struct between *x, float *acc)
{
    const struct roi_args *a = t->a;
    float p[4][SPAN];
    for (uint32_t k = 0; k < 4; k++)
        K(span_load)
        (&a->src, t->call->data[0], pixel_at(a, t->r, k & 2 ? y->hi : y->lo, k & 1 ? x->hi : x->lo) + t->c, 1, t->n, p[k]);
    for (uint32_t i = 0; i < t->n; i++) {
        float top = p[0][i] + (p[1][i] - p[0][i]) * x->f, bottom = p[2][i] + (p[3][i] - p[2][i]) * x->f;
        acc[i] += top + (bottom - top) * y->f;
    }
}

static void align_channels(const struct align_bin *t, float *acc)
{
    struct between y, x;
    uint32_t ny = t->b[0].n, nx = t->b[1].n;
    memset(acc, 0, t->n * sizeof(*acc));
    for (uint32_t i = 0; i < ny; i++) {
        if (!find_between(&t->b[0], t->y, i, t->a->in[0], &y))
            continue;
        for (uint32_t j = 0; j < nx; j++)
            if (find_between(&t->b[1], t->x, j, t->a->in[1], &x))
                add_sample(t, &y, &x, acc);
    }
    float count = ny && nx ? (float)ny * (float)nx : 1.0f;
    for (uint32_t i = 0; i < t->n; i++)
        acc[i] = acc[i] / count;
}

void K(roi_align)(const struct kernel_call *call, struct range tile)
{
    const struct roi_args *a = call->args;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        struct region r;
        struct bins b[2];
        float acc[SPAN];
        int64_t to = (int64_t)(row * a->out[1] * a->channels);
        bool known = load_region(call, a, row / a->out[0], &r);
        if (!known || (!a->allow_invalid && !(r.hi[0] >= r.lo[0] && r.hi[1] >= r.lo[1]))) {
            store_zero(call, a, to, (uint64_t)a->out[1] * a->channels);
            continue;
        }
        make_bins(a, &r, 0, &b[0]);
        make_bins(a, &r, 1, &b[1]);
        for (uint32_t x = 0; x < a->out[1]; x++)
            for (uint32_t c = 0; c < a->channels; c += SPAN) {
                struct align_bin t = { .call = call,
                                       .a = a,
                                       .r = &r,
                                       .b = b,
                                       .y = (uint32_t)(row % a->out[0]),
                                       .x = x,
                                       .c = c,
                                       .n = a->channels - c < SPAN ? a->channels - c : SPAN };
                align_channels(&t, acc);
                K(span_store)(&a->dst, call->data[3], to + (int64_t)((uint64_t)x * a->channels + c), 1, t.n, acc);
            }
    }
}

/* ---- RoiPooling -------------------------------------------------------------------------------------------------- */

static uint32_t limited(float v, uint32_t size)
{
    return v > 0.0f ? (v < (float)size ? (uint32_t)v : size) : 0;
}

/* Pixels [begin, end) of a bin along one direction. */
static void pool_bin(const struct roi_args *a, const struct region *r, uint32_t d, uint32_t bin, uint32_t ret[2])
{
    float lo = roundf(r->lo[d]), hi = roundf(r->hi[d]), size = hi - lo + 1.0f;
    size = size >= 1.0f ? size : 1.0f;
    float step = size / (float)a->out[d];
    ret[0] = limited(floorf((float)bin * step + lo), a->in[d]);
    ret[1] = limited(ceilf((float)(bin + 1) * step + lo), a->in[d]);
}

void K(roi_pool)(const struct kernel_call *call, struct range tile)
{
    const struct roi_args *a = call->args;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        struct region r;
        uint32_t h[2], w[2];
        bool known = load_region(call, a, row / a->out[0], &r);
        for (uint32_t x = 0; x < a->out[1]; x++) {
            int64_t to = (int64_t)((row * a->out[1] + x) * a->channels);
            pool_bin(a, &r, 0, (uint32_t)(row % a->out[0]), h);
            pool_bin(a, &r, 1, x, w);
            if (!known || h[0] >= h[1] || w[0] >= w[1]) {
                store_zero(call, a, to, a->channels);
                continue;
            }
            for (uint32_t c = 0; c < a->channels; c += SPAN) {
                float acc[SPAN], v[SPAN];
                uint32_t n = a->channels - c < SPAN ? a->channels - c : SPAN;
                for (uint32_t i = 0; i < n; i++)
                    acc[i] = -INFINITY;
                for (uint32_t y = h[0]; y < h[1]; y++)
                    for (uint32_t k = w[0]; k < w[1]; k++) {
                        K(span_load)(&a->src, call->data[0], pixel_at(a, &r, y, k) + c, 1, n, v);
                        for (uint32_t i = 0; i < n; i++)
                            acc[i] = v[i] > acc[i] || v[i] != v[i] ? v[i] : acc[i];
                    }
                for (uint32_t i = 0; i < n; i++)
                    acc[i] += 0.0f; /* -0 becomes +0, as in other maxima */
                K(span_store)(&a->dst, call->data[3], to + c, 1, n, acc);
            }
        }
    }
}

/* ---- HeatMapMaxKeyPoint ------------------------------------------------------------------------------------------ */

/* Neighbours of the maximum; over the edge it is mirrored. */
static uint32_t mirrored(uint32_t at, int step, uint32_t size)
{
    int64_t i = (int64_t)at + step;
    i = i < 0 ? 1 : i >= (int64_t)size ? (int64_t)size - 2 : i;
    return i < 0 || i >= (int64_t)size ? 0 : (uint32_t)i;
}

/* The top of the parabola through the 3 x 3 values around the maximum: its place relative to the middle (x, y), and its
 * height. */
static float refine(const float g[3][3], float delta[2])
{
    float bx = -0.5f * (g[1][2] - g[1][0]), by = -0.5f * (g[2][1] - g[0][1]);
    float xx = g[1][0] - 2.0f * g[1][1] + g[1][2], yy = g[0][1] - 2.0f * g[1][1] + g[2][1];
    float xy = 0.25f * (g[0][0] - g[0][2] - g[2][0] + g[2][2]);
    float det = xx * yy - xy * xy;
    delta[0] = delta[1] = 0.0f;
    if (!(fabsf(det) >= 1e-5f + 1e-5f * (xy * xy)))
        return g[1][1];
    float dx = (yy * bx - xy * by) / det, dy = (xx * by - xy * bx) / det;
    float far = fabsf(dx) > fabsf(dy) ? fabsf(dx) : fabsf(dy);
    if (far > 1.5f) {
        float scale = 1.5f / far;
        dx = dx * scale;
        dy = dy * scale;
    }
    delta[0] = dx;
    delta[1] = dy;
    return g[1][1] - bx * dx - by * dy + ((xx * dx + xy * dy) * dx + (xy * dx + yy * dy) * dy) * 0.5f;
}

/* A unit is one key point of one box. */
void K(heat_map)(const struct kernel_call *call, struct range tile)
{
    const struct heat_map_args *a = call->args;
    for (uint64_t unit = tile.begin; unit < tile.end; unit++) {
        uint64_t box = unit / a->points, pixels = (uint64_t)a->height * a->width, best = 0;
        int64_t base = (int64_t)(box * pixels * a->points + unit % a->points);
        float most = -INFINITY, v, g[3][3], delta[2], b[4], point[2];
        for (uint64_t i = 0; i < pixels; i++) {
            K(span_load)(&a->map, call->data[0], base + (int64_t)(i * a->points), 1, 1, &v);
            if (v > most) {
                most = v;
                best = i;
            }
        }
        uint32_t y = (uint32_t)(best / a->width), x = (uint32_t)(best % a->width);
        for (int j = -1; j <= 1; j++)
            for (int k = -1; k <= 1; k++) {
                uint64_t at = (uint64_t)mirrored(y, j, a->height) * a->width + mirrored(x, k, a->width);
                K(span_load)(&a->map, call->data[0], base + (int64_t)(at * a->points), 1, 1, &g[j + 1][k + 1]);
            }
        v = refine(g, delta);
        K(span_load)(&a->box, call->data[1], (int64_t)box * 4, 1, 4, b); /* x1, y1, x2, y2 */
        point[0] = ((float)x + delta[0] + 0.5f) * (b[2] - b[0]) / (float)a->width + b[0];
        point[1] = ((float)y + delta[1] + 0.5f) * (b[3] - b[1]) / (float)a->height + b[1];
        K(span_store)(&a->score, call->data[2], (int64_t)unit, 1, 1, &v);
        K(span_store)(&a->point, call->data[3], (int64_t)unit * 2, 1, 2, point);
    }
}

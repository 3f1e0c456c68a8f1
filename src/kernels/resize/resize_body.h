/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing, compiled once per instruction set. A unit of work is one output row: all pixels with the same batch, depth and
 * height. */
#include <math.h>

#include "kernels/mover_body.h"
#include "kernels/resize/resize.h"

enum { TAPS = 4 };

/* What one output position reads along one dimension. */
struct sample {
    uint32_t n;             /* taps: 1 nearest, 2 linear, 4 cubic */
    uint32_t at[TAPS];
    float weight[TAPS];     /* cubic */
    float f;                /* linear: the way from at[0] to at[1] */
};

static float source(const struct resize_args *a, uint32_t d, uint32_t i)
{
    float n_in = (float)a->in[d], n_out = (float)a->out[d], r = n_in / n_out, x = (float)i;
    switch (a->coord) {
    case COORD_HALF_PIXEL:
        return (x + 0.5f) * r - 0.5f;
    case COORD_PYTORCH_HALF_PIXEL:
        return a->out[d] > 1 ? (x + 0.5f) * r - 0.5f : 0.0f;
    case COORD_ALIGN_CORNERS:
        return a->out[d] > 1 ? x * (n_in - 1.0f) / (n_out - 1.0f) : 0.0f;
    case COORD_CENTER:
        return (x + 0.5f) * r;
    default:
        return x * r;
    }
}

static uint32_t inside(float x, uint32_t size)
{
    return x > 0.0f ? (x < (float)(size - 1) ? (uint32_t)x : size - 1) : 0;
}

static void sample_nearest(const struct resize_args *a, float x, uint32_t size, struct sample *s)
{
    float r = a->round == ROUND_FLOOR          ? floorf(x)
              : a->round == ROUND_CEIL         ? ceilf(x)
              : a->round == ROUND_PREFER_FLOOR ? ceilf(x - 0.5f)
                                               : floorf(x + 0.5f);
    s->n = 1;
    s->at[0] = inside(r, size);
}

static void sample_linear(float x, uint32_t size, struct sample *s)
{
    float last = (float)(size - 1);
    x = x < 0.0f ? 0.0f : x > last ? last : x;
    s->n = 2;
    s->at[0] = inside(floorf(x), size);
    s->at[1] = s->at[0] + 1 < size ? s->at[0] + 1 : size - 1;
    s->f = x - (float)s->at[0];
}

static void sample_cubic(const struct resize_args *a, float x, uint32_t size, struct sample *s)
{
    float lo = floorf(x), t = x - lo, c = a->cubic, u = 1.0f - t, sum = 0.0f;
    s->n = TAPS;
    s->weight[0] = ((c * (t + 1.0f) - 5.0f * c) * (t + 1.0f) + 8.0f * c) * (t + 1.0f) - 4.0f * c;
    s->weight[1] = ((c + 2.0f) * t - (c + 3.0f)) * t * t + 1.0f;
    s->weight[2] = ((c + 2.0f) * u - (c + 3.0f)) * u * u + 1.0f;
    s->weight[3] = ((c * (u + 1.0f) - 5.0f * c) * (u + 1.0f) + 8.0f * c) * (u + 1.0f) - 4.0f * c;
    for (int k = 0; k < TAPS; k++) {
        float p = lo - 1.0f + (float)k;
        s->at[k] = inside(p, size);
        if (a->exclude_outside && (p < 0.0f || p > (float)(size - 1)))
            s->weight[k] = 0.0f;
        sum += s->weight[k];
    }
    for (int k = 0; a->exclude_outside && k < TAPS; k++)
        s->weight[k] = s->weight[k] / sum;
}

static void make_sample(const struct resize_args *a, uint32_t d, uint32_t i, struct sample *s)
{
    float x = source(a, d, i);
    *s = (struct sample){.n = 1};
    if (d < a->first)
        return;
    if (a->kind == RESIZE_NEAREST)
        sample_nearest(a, x, a->in[d], s);
    else if (a->kind == RESIZE_LINEAR)
        sample_linear(x, a->in[d], s);
    else
        sample_cubic(a, x, a->in[d], s);
}

#include "kernels/resize/resize_linear.h"

/* Join the taps of one dimension: p[0 … n) into o, which may be p[0]. */
static void blend(const struct sample *s, const float *const *p, float *o, uint32_t channels)
{
    if (s->n == 2) {
        for (uint32_t i = 0; i < channels; i++)
            o[i] = p[0][i] + (p[1][i] - p[0][i]) * s->f;
    } else if (s->n == TAPS) {
        for (uint32_t i = 0; i < channels; i++) {
            float v = s->weight[0] * p[0][i];
            v = v + s->weight[1] * p[1][i];
            v = v + s->weight[2] * p[2][i];
            o[i] = v + s->weight[3] * p[3][i];
        }
    } else if (p[0] != o) {
        memcpy(o, p[0], channels * sizeof(*o));
    }
}

struct pixel {
    const struct resize_args *a;
    const void *src;
    uint64_t image;
    struct sample s[3]; /* depth, height, width */
    uint32_t c, n;      /* channels c … c + n */
};

static void blend_width(const struct pixel *p, uint32_t z, uint32_t y, float *o)
{
    float buf[TAPS][SPAN];
    const float *taps[TAPS] = {0};
    const struct resize_args *a = p->a;
    for (uint32_t k = 0; k < p->s[2].n; k++) {
        uint64_t at = (((p->image * a->in[0] + z) * a->in[1] + y) * a->in[2] + p->s[2].at[k]) * a->channels + p->c;
        taps[k] = buf[k];
        if (a->src.type == DT_F32)
            taps[k] = (const float *)p->src + at;
        else
            K(span_load)(&a->src, p->src, (int64_t)at, 1, p->n, buf[k]);
    }
    blend(&p->s[2], taps, o, p->n);
}

static void blend_height(const struct pixel *p, uint32_t z, float *o)
{
    float buf[TAPS][SPAN];
    const float *taps[TAPS] = {0};
    for (uint32_t k = 0; k < p->s[1].n; k++) {
        blend_width(p, z, p->s[1].at[k], buf[k]);
        taps[k] = buf[k];
    }
    blend(&p->s[1], taps, o, p->n);
}

static void blend_depth(const struct pixel *p, float *o)
{
    float buf[TAPS][SPAN];
    const float *taps[TAPS] = {0};
    if (p->a->first > 0) {
        blend_height(p, 0, o);
        return;
    }
    for (uint32_t k = 0; k < p->s[0].n; k++) {
        blend_height(p, p->s[0].at[k], buf[k]);
        taps[k] = buf[k];
    }
    blend(&p->s[0], taps, o, p->n);
}

/* ---- with antialias: a triangle as wide as the step between output pixels ------------------------------------------ */

struct triangle {
    uint32_t first, n;
    float centre, half, sum; /* sum: of the weights, before they are divided by it */
};

static float triangle_weight(const struct triangle *t, uint32_t k)
{
    float w = 1.0f - fabsf((float)(t->first + k) - t->centre) / t->half;
    return w > 0.0f ? w : 0.0f;
}

static struct triangle make_triangle(const struct resize_args *a, uint32_t d, uint32_t i)
{
    float n_in = (float)a->in[d], n_out = (float)a->out[d];
    float step = a->coord != COORD_ALIGN_CORNERS ? n_in / n_out : a->out[d] > 1 ? (n_in - 1.0f) / (n_out - 1.0f) : 1.0f;
    struct triangle t = {.centre = source(a, d, i), .half = step > 1.0f ? step : 1.0f};
    t.first = inside(ceilf(t.centre - t.half), a->in[d]);
    t.n = inside(floorf(t.centre + t.half), a->in[d]) - t.first + 1;
    for (uint32_t k = 0; k < t.n; k++)
        t.sum += triangle_weight(&t, k);
    return t;
}

static void smooth_row(const struct pixel *p, const struct triangle *t, uint64_t row, float *o)
{
    float buf[SPAN];
    const struct resize_args *a = p->a;
    memset(o, 0, p->n * sizeof(*o));
    for (uint32_t k = 0; k < t->n; k++) {
        float w = triangle_weight(t, k) / t->sum;
        K(span_load)(&a->src, p->src, (int64_t)((row * a->in[2] + t->first + k) * a->channels + p->c), 1, p->n, buf);
        for (uint32_t i = 0; i < p->n; i++)
            o[i] = o[i] + w * buf[i];
    }
}

static void smooth_pixel(const struct pixel *p, const struct triangle *y, const struct triangle *x, float *o)
{
    float row[SPAN];
    memset(o, 0, p->n * sizeof(*o));
    for (uint32_t k = 0; k < y->n; k++) {
        float w = triangle_weight(y, k) / y->sum;
        smooth_row(p, x, p->image * p->a->in[1] + y->first + k, row);
        for (uint32_t i = 0; i < p->n; i++)
            o[i] = o[i] + w * row[i];
    }
}

static void smooth_line(const struct kernel_call *call, struct pixel *p, uint64_t row)
{
    const struct resize_args *a = p->a;
    float o[SPAN];
    struct triangle y = make_triangle(a, 1, (uint32_t)(row % a->out[1]));
    for (uint32_t x = 0; x < a->out[2]; x++) {
        struct triangle t = make_triangle(a, 2, x);
        for (p->c = 0; p->c < a->channels; p->c += SPAN) {
            p->n = a->channels - p->c < SPAN ? a->channels - p->c : SPAN;
            smooth_pixel(p, &y, &t, o);
            K(span_store)(&a->dst, call->data[1], (int64_t)((row * a->out[2] + x) * a->channels + p->c), 1, p->n, o);
        }
    }
}

static void resize_pixel(const struct kernel_call *call, struct pixel *p, int64_t to)
{
    const struct resize_args *a = p->a;
    float o[SPAN];
    if (a->kind == RESIZE_NEAREST) {
        uint64_t at = ((p->image * a->in[0] + p->s[0].at[0]) * a->in[1] + p->s[1].at[0]) * a->in[2] + p->s[2].at[0];
        move_run(&a->mover, call->data[1], to, call->data[0], (int64_t)(at * a->channels), 1, a->channels);
        return;
    }
    for (p->c = 0; p->c < a->channels; p->c += SPAN) {
        p->n = a->channels - p->c < SPAN ? a->channels - p->c : SPAN;
        blend_depth(p, o);
        K(span_store)(&a->dst, call->data[1], to + p->c, 1, p->n, o);
    }
}

void K(resize)(const struct kernel_call *call, struct range tile)
{
    const struct resize_args *a = call->args;
    uint64_t rows = (uint64_t)a->batch * a->out[0] * a->out[1];
    uint64_t end = a->kind == RESIZE_NEAREST ? mover_end(&a->mover, tile, rows) : tile.end < rows ? tile.end : rows;
    if (linear_suits(a)) {
        linear_run(call, a, tile.begin, end);
        return;
    }
    for (uint64_t row = tile.begin; row < end; row++) {
        struct pixel p = {.a = a, .src = call->data[0], .image = row / a->out[1] / a->out[0]};
        if (a->kind == RESIZE_SMOOTH) {
            smooth_line(call, &p, row);
            continue;
        }
        make_sample(a, 0, (uint32_t)(row / a->out[1] % a->out[0]), &p.s[0]);
        make_sample(a, 1, (uint32_t)(row % a->out[1]), &p.s[1]);
        for (uint32_t x = 0; x < a->out[2]; x++) {
            make_sample(a, 2, x, &p.s[2]);
            resize_pixel(call, &p, (int64_t)((row * a->out[2] + x) * a->channels));
        }
    }
}

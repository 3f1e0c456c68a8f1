/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of many neighbouring runs at once, compiled once per instruction set: InstanceNorm, and GroupNorm where a group
 * is 1, 2, 4, 8 or 16 channels.
 *
 * Element i of a run goes to lane i mod 16 (docs/numerics.md section 6). Where a group of g channels divides 16, the channel
 * c of pixel p always has lane (p mod 16/g) · g + c mod g: a lane is a column of the image, and all channels of a pixel are
 * added by whole vectors. */
#ifndef KERNELS_NORM_NORM_COLUMNS_H
#define KERNELS_NORM_NORM_COLUMNS_H

#include <string.h>

/* One image and a block of its channels. */
struct columns {
    const struct norm_args *a;
    const void *data;
    void *out;
    int64_t base;                   /* element of its first pixel, first channel of the block */
    uint32_t n, together;           /* channels; pixels that are loaded at once */
    float sub[NORM_COLUMNS], mul[NORM_COLUMNS], gamma[NORM_COLUMNS], beta[NORM_COLUMNS];
    float lanes[16][NORM_COLUMNS];
};

/* Pixels p … p + k of the block; channels of one follow those of the other. */
static const float *columns_load(const struct columns *c, uint64_t p, uint32_t k, float *buf)
{
    const struct norm_args *a = c->a;
    const int64_t at = c->base + (int64_t)(p * a->channels);
    if (a->in.type == DT_F32)
        return (const float *)c->data + at;
    K(span_load)(&a->in, c->data, at, 1, k * c->n, buf);
    return buf;
}

static uint32_t columns_step(const struct columns *c, uint64_t p)
{
    return c->a->pixels - p < c->together ? (uint32_t)(c->a->pixels - p) : c->together;
}

/* Lane sums of x, or of (x - sub)^2. */
static void columns_sum(struct columns *c, bool squares)
{
    const uint32_t n = c->n, phases = 16 / c->a->group;
    const float *restrict sub = c->sub;
    float buf[SPAN];
    uint32_t phase = 0;
    memset(c->lanes, 0, sizeof c->lanes);
    for (uint64_t p = 0; p < c->a->pixels;) {
        const uint32_t k = columns_step(c, p);
        const float *restrict x = columns_load(c, p, k, buf);
        for (uint32_t j = 0; j < k; j++, x += n) {
            float *restrict lane = c->lanes[phase];
            if (squares)
                for (uint32_t i = 0; i < n; i++)
                    lane[i] += (x[i] - sub[i]) * (x[i] - sub[i]);
            else
                for (uint32_t i = 0; i < n; i++)
                    lane[i] += x[i];
            phase = phase + 1 == phases ? 0 : phase + 1;
        }
        p += k;
    }
}

/* The sum of the group that begins at channel i of the block. */
static float columns_end(const struct columns *c, uint32_t i)
{
    const uint32_t g = c->a->group;
    float lanes[16];
    for (uint32_t j = 0; j < 16; j++)
        lanes[j] = c->lanes[j / g][i + j % g];
    return span_lanes_end(lanes);
}

static void columns_statistics(struct columns *c)
{
    const struct norm_args *a = c->a;
    const float n = (float)a->n;
    for (uint32_t i = 0; i < c->n; i++) {
        c->sub[i] = 0.0f;
        c->mul[i] = 1.0f;
    }
    if (a->kind == NORM_CENTER || a->kind == NORM_VARIANCE) {
        columns_sum(c, false);
        for (uint32_t i = 0; i < c->n; i += a->group)
            for (uint32_t k = 0; k < a->group; k++)
                c->sub[i + k] = k ? c->sub[i] : columns_end(c, i) / n;
    }
    if (a->kind == NORM_CENTER)
        return;
    columns_sum(c, true);
    for (uint32_t i = 0; i < c->n; i += a->group)
        for (uint32_t k = 0; k < a->group; k++)
            c->mul[i + k] =
                k ? c->mul[i] : 1.0f / sqrtf((a->kind == NORM_RMS_SUM ? columns_end(c, i) : columns_end(c, i) / n) + a->eps);
}

static void columns_apply(const struct columns *c)
{
    const struct norm_args *a = c->a;
    const uint32_t n = c->n;
    const float *restrict sub = c->sub, *restrict mul = c->mul, *restrict gamma = c->gamma, *restrict beta = c->beta;
    float buf[SPAN], o[SPAN];
    for (uint64_t p = 0; p < a->pixels;) {
        const uint32_t k = columns_step(c, p);
        const float *restrict x = columns_load(c, p, k, buf);
        float *restrict r = o;
        for (uint32_t j = 0; j < k; j++, x += n, r += n) {
            for (uint32_t i = 0; i < n; i++)
                r[i] = (x[i] - sub[i]) * mul[i];
            if (a->gamma_given)
                for (uint32_t i = 0; i < n; i++)
                    r[i] = r[i] * gamma[i];
            if (a->beta_given)
                for (uint32_t i = 0; i < n; i++)
                    r[i] = r[i] + beta[i];
        }
        K(span_store)(&a->out, c->out, c->base + (int64_t)(p * a->channels), 1, k * n, o);
        p += k;
    }
}

/* Unit: an image and a block of channels. */
static void columns_run(const struct kernel_call *call, const struct norm_args *a, uint64_t unit)
{
    const uint64_t blocks = (a->channels + a->columns - 1) / a->columns, first = unit % blocks * a->columns;
    struct columns c = { .a = a, .data = call->data[0], .out = call->data[a->n_in] };
    c.base = (int64_t)(unit / blocks * a->pixels * a->channels + first);
    c.n = a->channels - first < a->columns ? (uint32_t)(a->channels - first) : a->columns;
    c.together = c.n == a->channels ? SPAN / c.n : 1;
    if (a->gamma_given)
        K(span_load)(&a->gamma, call->data[1], (int64_t)first, 1, c.n, c.gamma);
    if (a->beta_given)
        K(span_load)(&a->beta, call->data[2], (int64_t)first, 1, c.n, c.beta);
    columns_statistics(&c);
    columns_apply(&c);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of images, compiled once per instruction set. */
#include <math.h>

#include "kernels/image/image.h"
#include "kernels/mover_body.h"
#include "kernels/random.h"

static inline uint64_t flat(const uint32_t dims[2], uint64_t image, uint64_t y, uint64_t x)
{
    return (image * dims[0] + y) * dims[1] + x;
}

/* Input position of tap k of window i, -1 when it is in the padding. */
static inline int64_t tap_at(const struct patch_args *a, uint32_t d, uint64_t i, uint64_t k)
{
    int64_t p = (int64_t)(i * a->stride[d]) + (int64_t)(k * a->dilation[d]) - a->before[d];
    return p < (int64_t)a->in[d] ? p : -1;
}

/* ExtractPatches: a unit is one row of windows. */
void K(image_patches)(const struct kernel_call *call, struct range tile)
{
    const struct patch_args *a = call->args;
    uint64_t end = mover_end(&a->mover, tile, (uint64_t)a->batch * a->out[0]);
    uint64_t taps = (uint64_t)a->size[0] * a->size[1];
    for (uint64_t row = tile.begin; row < end; row++)
        for (uint64_t x = 0; x < a->out[1]; x++)
            for (uint64_t k = 0; k < taps; k++) {
                int64_t py = tap_at(a, 0, row % a->out[0], k / a->size[1]), px = tap_at(a, 1, x, k % a->size[1]);
                int64_t to = (int64_t)(((row * a->out[1] + x) * taps + k) * a->channels);
                if (py < 0 || px < 0)
                    move_fill(&a->mover, call->data[1], to, a->channels);
                else
                    move_run(&a->mover, call->data[1], to, call->data[0],
                             (int64_t)(flat(a->in, row / a->out[0], (uint64_t)py, (uint64_t)px) * a->channels), 1,
                             a->channels);
            }
}

/* Im2Col: a unit is one row of the matrix, a channel and a tap for all windows. */
void K(image_im2col)(const struct kernel_call *call, struct range tile)
{
    const struct patch_args *a = call->args;
    uint64_t taps = (uint64_t)a->size[0] * a->size[1], rows = taps * a->channels;
    for (uint64_t unit = tile.begin; unit < tile.end; unit++) {
        uint64_t c = unit % rows / taps, k = unit % taps;
        for (uint64_t y = 0; y < a->out[0]; y++)
            for (uint64_t x = 0; x < a->out[1]; x++) {
                int64_t py = tap_at(a, 0, y, k / a->size[1]), px = tap_at(a, 1, x, k % a->size[1]),
                        to = (int64_t)flat(a->out, unit, y, x);
                if (py < 0 || px < 0)
                    move_fill(&a->mover, call->data[1], to, 1);
                else
                    move_run(&a->mover, call->data[1], to, call->data[0],
                             (int64_t)(flat(a->in, unit / rows, (uint64_t)py, (uint64_t)px) * a->channels + c), 1, 1);
            }
    }
}

/* The window whose tap k lies on position p, -1 when there is none. */
static inline int64_t window_of(const struct patch_args *a, uint32_t d, uint64_t p, uint64_t k)
{
    int64_t at = (int64_t)p + a->before[d] - (int64_t)(k * a->dilation[d]);
    return at >= 0 && at % a->stride[d] == 0 && at / a->stride[d] < (int64_t)a->out[d] ? at / a->stride[d] : -1;
}

/* Col2Im: a unit is one row of the image. */
void K(image_col2im)(const struct kernel_call *call, struct range tile)
{
    const struct patch_args *a = call->args;
    uint64_t taps = (uint64_t)a->size[0] * a->size[1], windows = (uint64_t)a->out[0] * a->out[1];
    for (uint64_t row = tile.begin; row < tile.end; row++)
        for (uint64_t at = 0; at < (uint64_t)a->in[1] * a->channels; at += SPAN) {
            uint64_t end = at + SPAN < (uint64_t)a->in[1] * a->channels ? at + SPAN : (uint64_t)a->in[1] * a->channels;
            float sum[SPAN], v;
            for (uint64_t e = at; e < end; e++) {
                float *o = &sum[e - at];
                *o = 0.0f;
                for (uint64_t k = 0; k < taps; k++) {
                    int64_t y = window_of(a, 0, row % a->in[0], k / a->size[1]),
                            x = window_of(a, 1, e / a->channels, k % a->size[1]);
                    if (y < 0 || x < 0)
                        continue;
                    uint64_t line = (row / a->in[0] * a->channels + e % a->channels) * taps + k;
                    K(span_load)(&a->src, call->data[0], (int64_t)(line * windows) + y * a->out[1] + x, 1, 1, &v);
                    *o += v;
                }
            }
            K(span_store)
            (&a->dst, call->data[1], (int64_t)(row * a->in[1] * a->channels + at), 1, (uint32_t)(end - at), sum);
        }
}

/* ---- ExtractGlimpse ---------------------------------------------------------------------------------------------- */

/* What the noise of an image is made of: for UNIFORM the smallest value and the way to the largest, for GAUSSIAN the mean
 * and the deviation of channel c. */
static void noise_of(const struct glimpse_args *a, const void *src, uint64_t image, uint32_t c, double ret[2])
{
    uint64_t pixels = (uint64_t)a->in[0] * a->in[1], n = a->noise == GLIMPSE_UNIFORM ? pixels * a->channels : pixels;
    int64_t step = a->noise == GLIMPSE_UNIFORM ? 1 : a->channels;
    int64_t base = (int64_t)(image * pixels * a->channels) + (a->noise == GLIMPSE_UNIFORM ? 0 : c);
    float v, lo = INFINITY, hi = -INFINITY;
    double sum = 0.0, squares = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        K(span_load)(&a->src, src, base + (int64_t)i * step, 1, 1, &v);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        sum += (double)v;
    }
    ret[0] = a->noise == GLIMPSE_UNIFORM ? (double)lo : sum / (double)n;
    for (uint64_t i = 0; i < n && a->noise == GLIMPSE_GAUSSIAN; i++) {
        K(span_load)(&a->src, src, base + (int64_t)i * step, 1, 1, &v);
        squares += ((double)v - ret[0]) * ((double)v - ret[0]);
    }
    ret[1] = a->noise == GLIMPSE_UNIFORM ? (double)hi - (double)lo : sqrt(squares / (double)n);
}

static void fill_noise(const struct kernel_call *call, const struct glimpse_args *a, uint64_t image)
{
    uint64_t pixels = (uint64_t)a->size[0] * a->size[1], base = image * pixels * a->channels;
    double of[2] = {0};
    for (uint32_t c = 0; c < a->channels; c++) {
        if (c == 0 || a->noise == GLIMPSE_GAUSSIAN)
            noise_of(a, call->data[0], image, c, of);
        for (uint64_t i = 0; i < pixels; i++) {
            uint64_t e = base + i * a->channels + c;
            double r = a->noise == GLIMPSE_UNIFORM ? (double)random_uniform(0, e) : random_normal(0, e);
            float v = (float)(of[0] + of[1] * r);
            K(span_store)(&a->dst, call->data[2], (int64_t)e, 1, 1, &v);
        }
    }
}

/* First row or column of a window; far away values only need to stay far away. */
static int64_t glimpse_at(const struct glimpse_args *a, uint32_t d, float offset)
{
    float n = (float)a->in[d];
    offset = a->normalized ? offset * n : offset;
    offset = a->centered ? offset * 0.5f + n * 0.5f : offset;
    offset = offset - (float)a->size[d] * 0.5f;
    return offset > -1e9f ? (offset < 1e9f ? (int64_t)offset : (int64_t)1e9) : (int64_t)-1e10;
}

/* A unit is one image. */
void K(image_glimpse)(const struct kernel_call *call, struct range tile)
{
    const struct glimpse_args *a = call->args;
    uint64_t row_size = (uint64_t)a->size[1] * a->channels;
    for (uint64_t image = tile.begin; image < tile.end; image++) {
        float offset[2];
        K(span_load)(&a->offset, call->data[1], (int64_t)image * 2, 1, 2, offset); /* y, x */
        int64_t y = glimpse_at(a, 0, offset[0]), x = glimpse_at(a, 1, offset[1]);
        bool whole = y >= 0 && x >= 0 && y + a->size[0] <= a->in[0] && x + a->size[1] <= a->in[1];
        if (!whole && a->noise == GLIMPSE_ZEROES)
            move_fill(&a->mover, call->data[2], (int64_t)(image * a->size[0] * row_size), a->size[0] * row_size);
        else if (!whole)
            fill_noise(call, a, image);
        int64_t left = x < 0 ? -x : 0, right = (int64_t)a->in[1] - x < a->size[1] ? (int64_t)a->in[1] - x : a->size[1];
        for (uint32_t i = 0; i < a->size[0] && left < right; i++)
            if (y + i >= 0 && y + i < a->in[0])
                move_run(&a->mover, call->data[2], (int64_t)((flat(a->size, image, i, 0) + (uint64_t)left) * a->channels),
                         call->data[0], (int64_t)(flat(a->in, image, (uint64_t)(y + i), (uint64_t)(x + left)) * a->channels),
                         1, (uint64_t)(right - left) * a->channels);
    }
}

/* ---- Correlation1D ----------------------------------------------------------------------------------------------- */

static float mean_product(const struct kernel_call *call, const struct correlation_args *a, uint64_t p, uint64_t q)
{
    float lanes[16] = {0}, x[SPAN], y[SPAN];
    for (uint32_t c = 0; c < a->depth; c += SPAN) {
        uint32_t n = a->depth - c < SPAN ? a->depth - c : SPAN;
        K(span_load)(&a->a, call->data[0], (int64_t)(p * a->depth + c), 1, n, x);
        K(span_load)(&a->b, call->data[1], (int64_t)(q * a->depth + c), 1, n, y);
        for (uint32_t i = 0; i < n; i++)
            x[i] = x[i] * y[i];
        K(span_lanes)(lanes, x, n);
    }
    return span_lanes_end(lanes) / (float)a->depth;
}

/* A unit is one row. */
void K(image_correlation)(const struct kernel_call *call, struct range tile)
{
    const struct correlation_args *a = call->args;
    uint64_t shifts = 2 * (uint64_t)a->displacement + 1;
    for (uint64_t row = tile.begin; row < tile.end; row++)
        for (uint64_t x = 0; x < a->width; x++)
            for (uint64_t d = 0; d < shifts; d++) {
                int64_t other = (int64_t)(x + d) + a->first;
                bool inside = other >= 0 && other < (int64_t)a->width;
                uint64_t at = row * a->width + x;
                float v = inside ? mean_product(call, a, at, row * a->width + (uint64_t)other) : 0.0f;
                K(span_store)(&a->dst, call->data[2], (int64_t)(at * shifts + d), 1, 1, &v);
            }
}

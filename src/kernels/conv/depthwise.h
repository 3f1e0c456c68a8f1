/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of depthwise convolutions: one output line at a time, columns in runs that use the same taps. Private to conv/.
 *
 * Taps outside the input are skipped for all types, which is the same as real zero. (Faster kernels for usual sizes have
 * walks of their own: depthwise_quads_avx512.c, depthwise_lines_body.h.) */
#ifndef KERNELS_CONV_DEPTHWISE_H
#define KERNELS_CONV_DEPTHWISE_H

#include "kernels/conv/conv.h"

/* Output pixels first … first + n of a line, all with the same taps. */
struct dw_run {
    const struct conv_args *a;
    const void *w;                 /* [tap][npad] */
    const float *m;
    const int64_t *b;
    bool plain;
    const void *x;                 /* first tap of the first pixel, channel 0 */
    uint64_t x_pixel, x_plane, x_line,
        x_tap; /* element steps: next output pixel, next kernel plane, next line of it, next tap of that */
    uint32_t tap, planes, lines, taps;     /* first tap; kernel planes, lines of a plane and taps of a line in use */
    void *out;
    uint64_t out_at;               /* element of the first pixel, channel 0 */
    uint32_t n;
};
typedef void dw_fn(const struct dw_run *r);

/* Where x and the weights of a tap lie; planes, lines and taps are counted from the first one in use. */
static inline uint64_t dw_x_at(const struct dw_run *r, uint32_t plane, uint32_t line, uint32_t tap)
{
    return plane * r->x_plane + line * r->x_line + tap * r->x_tap;
}

static inline uint64_t dw_tap_at(const struct dw_run *r, uint32_t plane, uint32_t line, uint32_t tap)
{
    return r->tap + ((uint64_t)plane * r->a->y.kernel + line) * r->a->x.kernel + tap;
}

/* Taps of output position o that fall inside the input. */
struct dw_valid {
    uint32_t first, n;
};

static inline struct dw_valid dw_valid_taps(const struct conv_axis *v, uint32_t o)
{
    int64_t start = (int64_t)o * v->stride - v->pad, d = v->dilation;
    int64_t first = start < 0 ? (-start + d - 1) / d : 0, end = start >= v->in ? 0 : (v->in - start + d - 1) / d;
    if (end > v->kernel)
        end = v->kernel;
    return first < end ? (struct dw_valid){ (uint32_t)first, (uint32_t)(end - first) } : (struct dw_valid){ 0, 0 };
}

void depthwise_run(const struct kernel_call *call, struct range tile, dw_fn *fn);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of depthwise convolutions: one output line at a time, columns in runs that use the same taps. Private to conv/.
 *
 * Taps outside the input are skipped for all types, which is the same as real zero. (depthwise_quads_avx512.c has a walk of its own.) */
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
    uint64_t x_pixel, x_plane, x_line, x_tap; /* element steps: next output pixel, next kernel plane, next line of it, next tap of that */
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

void depthwise_run(const struct kernel_call *call, struct range tile, dw_fn *fn);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of depthwise convolutions: one output line at a time, columns in runs that use the same taps. Private to conv/.
 *
 * Taps outside the input are skipped for all types, which is the same as real zero. */
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
    uint64_t x_pixel, x_line, x_tap; /* element steps: next output pixel, next kernel line, next tap of a line */
    uint32_t tap, lines, taps;     /* first tap; kernel lines and taps per line in use */
    void *out;
    uint64_t out_at;               /* element of the first pixel, channel 0 */
    uint32_t n;
};
typedef void dw_fn(const struct dw_run *r);

void depthwise_run(const struct kernel_call *call, struct range tile, dw_fn *fn);

#endif

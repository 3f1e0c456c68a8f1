/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: docs/numerics.md section 3 in plain C, 16 channels at a time. */
#include <math.h>
#include <string.h>

#include "kernels/conv/conv_end.h"
#include "kernels/conv/depthwise.h"

enum { LANES = 16 };

static int64_t weight(const struct conv_args *a, const void *w, uint64_t at)
{
    return (a->wsize == 1 ? ((const int8_t *)w)[at] : ((const int16_t *)w)[at]) + (int64_t)a->w_offset;
}

static float real(const struct conv_args *a, const void *p, uint64_t at)
{
    return ku_load_real(p, a->x_type, at, (float)a->x_scale, a->x_offset);
}

static float real_weight(const struct conv_args *a, const void *w, uint64_t at)
{
    return a->wsize == 4 ? ((const float *)w)[at] : ku_f16_to_f32(((const uint16_t *)w)[at]);
}

static void fixed_run(const struct dw_run *r)
{
    const struct conv_args *a = r->a;
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t c0 = 0; c0 < a->co; c0 += LANES) {
            int64_t acc[LANES] = { 0 };
            uint32_t n = a->co - c0 < LANES ? a->co - c0 : LANES;
            for (uint32_t t = 0; t < r->planes * r->lines * r->taps; t++) {
                uint32_t tap = t % r->taps, line = t / r->taps % r->lines, plane = t / r->taps / r->lines;
                uint64_t x = i * r->x_pixel + dw_x_at(r, plane, line, tap),
                         w = dw_tap_at(r, plane, line, tap) * a->npad + c0;
                for (uint32_t c = 0; c < n; c++)
                    acc[c] +=
                        (ku_load_int(r->x, a->x_type, x + (c0 + c) / a->multiplier) + a->x_offset) * weight(a, r->w, w + c);
            }
            for (uint32_t c = 0; c < n; c++)
                conv_store_fixed(a, r->out, r->out_at + (uint64_t)i * a->co + c0 + c, acc[c] + r->b[c0 + c], r->m[c0 + c]);
        }
}

static void float_run(const struct dw_run *r)
{
    const struct conv_args *a = r->a;
    for (uint32_t i = 0; i < r->n; i++)
        for (uint32_t c0 = 0; c0 < a->co; c0 += LANES) {
            float acc[LANES] = { 0 };
            uint32_t n = a->co - c0 < LANES ? a->co - c0 : LANES;
            for (uint32_t t = 0; t < r->planes * r->lines * r->taps; t++) {
                uint32_t tap = t % r->taps, line = t / r->taps % r->lines, plane = t / r->taps / r->lines;
                uint64_t x = i * r->x_pixel + dw_x_at(r, plane, line, tap),
                         w = dw_tap_at(r, plane, line, tap) * a->npad + c0;
                for (uint32_t c = 0; c < n; c++)
                    acc[c] = fmaf(real(a, r->x, x + (c0 + c) / a->multiplier), real_weight(a, r->w, w + c), acc[c]);
            }
            for (uint32_t c = 0; c < n; c++)
                conv_store_float(a, r->out, r->out_at + (uint64_t)i * a->co + c0 + c, acc[c], r->m[c0 + c]);
        }
}

#define ENTRY(name, fn)                                               \
    kernel_fn name;                                                   \
    void name(const struct kernel_call *call, struct range tile)      \
    {                                                                 \
        depthwise_run(call, tile, fn);                                \
    }

ENTRY(depthwise_q8_ref, fixed_run)
ENTRY(depthwise_q16_ref, fixed_run)
ENTRY(depthwise_q16w16_ref, fixed_run)
ENTRY(depthwise_f32_ref, float_run)
ENTRY(depthwise_f16_ref, float_run)

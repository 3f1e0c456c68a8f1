/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in squares (conv_squares.h) whose windows are read from bands of lines (conv_bands.c). Include what ends sums
 * first. Where strides are larger than 1, positions that they keep apart are brought together:
 *
 *     lines of x    a0 b0 a1 b1 a2 b2 …        band    a0 a1 a2 …    A window of three taps reads a0 b0 a1, the next one
 *                                                      b0 b1 b2 …    a1 b1 a2: each tap is one pixel further again. */
#ifndef KERNELS_CONV_CONV_SQUARES_BANDS_H
#define KERNELS_CONV_CONV_SQUARES_BANDS_H

#include "kernels/conv/conv_squares.h"

/* Pixels of real zero; the planes of a pixel lie one behind the other. */
static void pad_pixels(const struct conv_args *a, uint8_t *dst, uint64_t n)
{
    const uint32_t zero = (uint32_t)-a->x_offset;
    if (PLANES == 1) {
        memset(dst, (uint8_t)zero, n * a->ci);
        return;
    }
    for (uint64_t i = 0; i < n; i++, dst += 2 * (uint64_t)a->ci) {
        memset(dst, (uint8_t)(zero >> 8), a->ci);
        memset(dst + a->ci, (uint8_t)zero, a->ci);
    }
}

/* n pixels, `stride` of them apart. */
static void load_pixels(const struct conv_args *a, uint8_t *dst, const uint8_t *src, uint64_t n, uint64_t stride)
{
    const uint64_t pixel = (uint64_t)a->ci * PLANES;
    if (PLANES == 1 && stride == 1) {
        memcpy(dst, src, n * pixel);
        return;
    }
    for (; n; n--, dst += pixel, src += stride * pixel)
        if (PLANES == 1)
            memcpy(dst, src, pixel);
        else
            split_row(dst, dst + a->ci, src, a->ci);
}

/* Phase `phase` of line `iy` of an image as the windows see it: columns phase, phase + stride, … with the padding. */
static void fill_line(const struct conv_args *a, uint8_t *dst, const uint8_t *image, int64_t iy, uint32_t phase)
{
    const uint64_t width = conv_band_width(a), stride = a->x.stride, pixel = (uint64_t)a->ci * PLANES,
                   before = a->x.pad > phase ? (a->x.pad - phase + stride - 1) / stride : 0,
                   left = before < width ? before : width, first = left * stride + phase - a->x.pad,
                   there =
                       iy < 0 || iy >= a->y.in || left == width || first >= a->x.in ? 0 : (a->x.in - first - 1) / stride + 1,
                   inside = there < width - left ? there : width - left;
    pad_pixels(a, dst, left);
    if (inside)
        load_pixels(a, dst + left * pixel, image + ((uint64_t)iy * a->x.in + first) * pixel, inside, stride);
    pad_pixels(a, dst + (left + inside) * pixel, width - left - inside);
}

/* A band, as far as its taps are concerned: phase (y, x) is number y * phases of x + x of them. */
struct band {
    uint32_t phases_y, phases_x;
    uint64_t pixel, line, phase; /* bytes */
};

static struct band band_of(const struct conv_args *a, uint32_t lines)
{
    struct band b = { conv_band_phases(&a->y), conv_band_phases(&a->x), (uint64_t)a->ci * PLANES, 0, 0 };
    b.line = conv_band_width(a) * b.pixel;
    b.phase = (lines + conv_band_reach(&a->y)) * b.line;
    return b;
}

/* What tap t of the first position is multiplied with. */
static uint64_t band_tap(const struct conv_args *a, const struct band *b, uint32_t t)
{
    const uint64_t y = (uint64_t)(t / a->x.kernel) * a->y.dilation, x = (uint64_t)(t % a->x.kernel) * a->x.dilation;
    return (y % a->y.stride * b->phases_x + x % a->x.stride) * b->phase + y / a->y.stride * b->line +
           x / a->x.stride * b->pixel;
}

/* Lines y … y + lines of a plane. */
static void run_band(struct squares *f, const struct kernel_call *call, const struct band *b, const struct conv_part *p,
                     uint32_t line, uint32_t lines)
{
    const struct conv_args *a = f->a;
    const uint32_t plane = line / a->y.out, y = line % a->y.out;
    const uint64_t width = conv_band_width(a), all = lines + conv_band_reach(&a->y);
    const uint8_t *image = (const uint8_t *)call->data[0] + (uint64_t)plane * a->y.in * a->x.in * b->pixel;
    uint8_t *band = (uint8_t *)call->work + a->seg_bytes;
    for (uint32_t phase = 0; phase < b->phases_y * b->phases_x; phase++)
        for (uint64_t i = 0; i < all; i++)
            fill_line(a, band + phase * b->phase + i * b->line, image,
                      (int64_t)((y + i) * a->y.stride + phase / b->phases_x) - a->y.pad, phase % b->phases_x);
    f->x = band;
    f->out = (uint8_t *)call->data[a->n_in] + (uint64_t)line * a->x.out * f->out_step;
    run_columns(f, p, 0, (lines - 1) * width + a->x.out);
}

/* `few` computes a few positions of a sequence. */
static inline void run_bands(const struct kernel_call *call, struct range tile, kernel_fn *few)
{
    const struct conv_args *a = call->args;
    const uint32_t most = conv_phase_lines(a, STEP, PLANES);
    const struct band b = band_of(a, most);
    uint64_t tap_x[CONV_BAND_TAPS];
    struct squares f;
    if (!most || a->x.out < CONV_BAND_PIXELS) {
        few(call, tile);
        return;
    }
    squares_init(&f, call, STEP);
    squares_steps(&f, b.pixel, PLANES == 2 ? a->ci : TILE * b.pixel);
    f.width = (uint32_t)conv_band_width(a);
    f.taps = a->taps;
    f.tap_x = tap_x;
    for (uint32_t t = 0; t < a->taps; t++)
        tap_x[t] = band_tap(a, &b, t);
    choose_form(&f);
    for (uint32_t at = tile.begin; at < tile.end;) {
        const struct conv_part p = conv_part(a, at, tile.end);
        for (uint32_t line = p.row0, lines; line < p.row1; line += lines) {
            const uint32_t left = p.row1 - line,
                           same = a->y.out - line % a->y.out; /* row units are lines, planes one behind the other */
            lines = left < same ? left : same;
            lines = lines < most ? lines : most;
            run_band(&f, call, &b, &p, line, lines);
        }
        at += p.units;
    }
    squares_end(&f);
}

#endif

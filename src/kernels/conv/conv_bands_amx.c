/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit convolutions whose windows are read from bands of lines (conv_bands.c), AMX, in squares (conv_squares.h). */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_flat.h"
enum { ROWS_APART = true };
#include "kernels/conv/conv_squares.h"

/* Line `iy` of an image as the windows see it. */
static void fill_line(const struct conv_args *a, uint8_t *dst, const uint8_t *image, int64_t iy)
{
    const uint64_t width = conv_band_width(a), left = a->x.pad < width ? a->x.pad : width,
                   inside = iy < 0 || iy >= a->y.in  ? 0
                            : a->x.in < width - left ? a->x.in
                                                     : width - left;
    const int zero = (uint8_t)-a->x_offset;
    memset(dst, zero, left * a->ci);
    if (inside)
        memcpy(dst + left * a->ci, image + (uint64_t)iy * a->x.in * a->ci, inside * a->ci);
    memset(dst + (left + inside) * a->ci, zero, (width - left - inside) * a->ci);
}

/* Lines y … y + lines of a plane. */
static void run_band(struct squares *f, const struct kernel_call *call, uint32_t col, uint32_t line, uint32_t lines)
{
    const struct conv_args *a = f->a;
    const uint32_t plane = line / a->y.out, y = line % a->y.out;
    const uint64_t width = conv_band_width(a), reach = conv_band_reach(&a->y);
    const uint8_t *image = (const uint8_t *)call->data[0] + (uint64_t)plane * a->y.in * a->x.in * a->ci;
    uint8_t *band = (uint8_t *)call->work + a->seg_bytes;
    for (uint64_t i = 0; i < lines + reach; i++)
        fill_line(a, band + i * width * a->ci, image, (int64_t)(y + i) - a->y.pad);
    f->x = band;
    f->out = (uint8_t *)call->data[a->n_in] + (uint64_t)line * a->x.out * a->co;
    run_columns(f, col, 0, (lines - 1) * width + a->x.out);
}

kernel_fn conv_q8_bands_amx, conv_q8_amx;

void conv_q8_bands_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    const uint32_t most = conv_band_lines(a, STEP, 1);
    uint64_t tap_x[CONV_BAND_TAPS];
    struct squares f;
    if (!most || a->x.out < PIECE) { /* a few positions of a sequence */
        conv_q8_amx(call, tile);
        return;
    }
    squares_init(&f, call, STEP);
    f.width = (uint32_t)conv_band_width(a);
    f.taps = a->taps;
    f.tap_x = tap_x;
    for (uint32_t t = 0; t < a->taps; t++)
        tap_x[t] = ((uint64_t)(t / a->x.kernel) * a->y.dilation * f.width + t % a->x.kernel * a->x.dilation) * a->ci;
    choose_form(&f);
    for (uint32_t at = tile.begin, lines; at < tile.end; at += lines) {
        const uint32_t col = at / a->row_units, line = at % a->row_units, left = tile.end - at,
                       same = a->y.out - line % a->y.out; /* row units are lines, planes one behind the other */
        lines = left < same ? left : same;
        lines = lines < most ? lines : most;
        run_band(&f, call, col, line, lines);
    }
    squares_end(&f);
}

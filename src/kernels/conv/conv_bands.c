/* SPDX-License-Identifier: Apache-2.0 */
/* Windows without gathering. A band is some lines of x, copied once with their padding in place:
 *
 *     padding | x x x x x x | padding     A row is a position of the band; what it meets of tap (y, x) lies (y * width + x)
 *     padding | x x x x x x | padding     pixels behind it. Positions follow each other, also from one line to the next, so
 *     padding | x x x x x x | padding     an engine whose rows are equally far apart needs no copy of each window. The
 *                                         positions at the end of a line are computed for nothing.
 *
 * A window of 3 by 3 is read from a ninth of the memory, which a first-level cache holds where gathered rows do not fit. */
#include "kernels/conv/conv_walk.h"

/* Of the band: an engine's elements are bytes, in one plane or more. */
static uint64_t pixel_bytes(const struct conv_walk *w)
{
    return (uint64_t)w->a->ci * (w->e->planes ? w->e->planes : 1);
}

uint32_t conv_phase_lines(const struct conv_args *a, uint32_t step, uint32_t planes)
{
    const uint32_t useless = 4; /* at most a quarter of the positions */
    if (!step || a->kind != CONV_WINDOW || a->taps == 1 || a->taps > CONV_BAND_TAPS || a->slices > 1 || a->ci % step ||
        !a->packed || (a->x.stride > 1 && a->x.dilation > 1) || (a->y.stride > 1 && a->y.dilation > 1) || a->z.in != 1 ||
        a->z.kernel != 1 || a->z.out != 1 || a->z.pad)
        return 0;
    if (conv_band_reach(&a->x) > conv_band_width(a) / useless)
        return 0;
    const uint64_t phases = (uint64_t)conv_band_phases(&a->x) * conv_band_phases(&a->y),
                   line = conv_band_width(a) * a->ci * (planes ? planes : 1) * phases,
                   room = a->panel_rows * a->panel_stride / line, above = conv_band_reach(&a->y);
    return room <= above ? 0 : room - above < a->y.out ? (uint32_t)(room - above) : a->y.out;
}

uint32_t conv_band_lines(const struct conv_args *a, uint32_t step, uint32_t planes)
{
    return a->x.stride > 1 || a->y.stride > 1 || a->w_offset ? 0 : conv_phase_lines(a, step, planes);
}

/* Line `iy` of an image, from `src` on; outside of the image it is all padding. */
static void fill_line(const struct conv_walk *w, char *dst, const char *src, int64_t iy)
{
    const struct conv_args *a = w->a;
    const uint32_t width = (uint32_t)conv_band_width(a), left = a->x.pad < width ? a->x.pad : width;
    const uint32_t inside = iy < 0 || iy >= a->y.in ? 0 : a->x.in < width - left ? a->x.in : width - left;
    const uint64_t line = (uint64_t)a->x.in * a->ci * (dtype_bits(a->x_type) / 8), pixel = pixel_bytes(w);
    w->e->pad_band(a, dst, left);
    if (inside)
        w->e->load_band(a, dst + left * pixel, src + (uint64_t)iy * line, inside);
    w->e->pad_band(a, dst + (left + inside) * pixel, width - left - inside);
}

static void set_taps(struct conv_walk *w)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    for (uint32_t t = 0; t < a->taps; t++) {
        p->seg[t] = (struct conv_seg){ t * a->ci, a->ci };
        w->seg_x[t] = ((uint64_t)(t / a->x.kernel) * a->y.dilation * conv_band_width(a) + t % a->x.kernel * a->x.dilation) *
                      pixel_bytes(w);
    }
    p->n_seg = a->taps;
    p->k_total = a->kpad;
    p->seg_x = w->seg_x;
    p->stride = pixel_bytes(w);
}

/* All positions of the band whose first output is line y of a plane. */
static void run_band(struct conv_walk *w, uint32_t plane, uint32_t y, uint32_t lines)
{
    const struct conv_args *a = w->a;
    struct conv_panel *p = &w->p;
    const uint32_t width = (uint32_t)conv_band_width(a), all = (lines - 1) * width + a->x.out;
    const uint64_t first = ((uint64_t)plane * a->y.out + y) * a->x.out;
    for (uint32_t at = 0, rows, line = 0, x = 0; at < all; at += rows) {
        rows = all - at < w->panel_rows ? all - at : w->panel_rows;
        for (uint32_t i = 0; i < rows; i++) {
            p->x[i] = w->rows + (at + i) * pixel_bytes(w);
            p->out[i] = x < a->x.out ? (first + (uint64_t)line * a->x.out + x) * a->co : CONV_NOWHERE;
            if (++x == width)
                x = 0, line++;
        }
        p->rows = rows;
        conv_flush(w);
    }
}

void conv_walk_bands(struct conv_walk *w, uint32_t line0, uint32_t line1)
{
    const struct conv_args *a = w->a;
    set_taps(w);
    for (uint32_t line = line0, n; line < line1; line += n) {
        const uint32_t plane = line / a->y.out, y = line % a->y.out, left = a->y.out - y;
        n = line1 - line < left ? line1 - line : left;
        n = n < w->band_lines ? n : w->band_lines;
        const char *image =
            w->x + (uint64_t)plane * a->y.in * a->x.in * a->ci * (dtype_bits(a->x_type) / 8);
        for (uint32_t i = 0; i < n + conv_band_reach(&a->y); i++)
            fill_line(w, w->rows + i * conv_band_width(a) * pixel_bytes(w), image, (int64_t)y + i - a->y.pad);
        run_band(w, plane, y, n);
    }
}

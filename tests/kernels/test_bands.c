/* SPDX-License-Identifier: Apache-2.0 */
/* Windows read from bands (conv_bands.c), on any CPU: an engine that multiplies nothing, but looks whether each row of each
 * panel finds the pixels of its window, and whether every output gets its row once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/conv/conv_walk.h"

enum { CHANNELS = 64, ZERO = 0xEE, SEEN = 1 << 16 };

static uint8_t image[SEEN * 4];
static unsigned seen[SEEN]; /* per output position: rows for it */

static void load_band(const struct conv_args *a, char *dst, const char *src, uint32_t pixels)
{
    memcpy(dst, src, (size_t)pixels * a->ci);
}

static void pad_band(const struct conv_args *a, char *dst, uint32_t pixels)
{
    memset(dst, ZERO, (size_t)pixels * a->ci);
}

static bool in_place(const struct conv_args *a)
{
    (void)a;
    return false;
}

/* The byte that the definition of a convolution multiplies: docs/numerics.md section 3. */
static uint8_t expected(const struct conv_args *a, uint64_t position, uint32_t tap, uint32_t channel)
{
    uint64_t plane = position / (a->y.out * a->x.out), y = position / a->x.out % a->y.out, x = position % a->x.out;
    int64_t iy = (int64_t)y + (int64_t)(tap / a->x.kernel) * a->y.dilation - a->y.pad,
            ix = (int64_t)x + (int64_t)(tap % a->x.kernel) * a->x.dilation - a->x.pad;
    if (iy < 0 || iy >= a->y.in || ix < 0 || ix >= a->x.in)
        return ZERO;
    return image[((plane * a->y.in + (uint64_t)iy) * a->x.in + (uint64_t)ix) * a->ci + channel];
}

static void block(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    (void)c, (void)out;
    assert_int_equal(p->n_seg, a->taps);
    for (uint32_t r = 0; r < p->rows; r++) {
        if (r) /* a tile of the matrix unit is rows at equal distances */
            assert_ptr_equal((const char *)p->x[r - 1] + p->stride, p->x[r]);
        if (p->out[r] == CONV_NOWHERE)
            continue;
        assert_int_equal(p->out[r] % a->co, 0);
        seen[p->out[r] / a->co]++;
        for (uint32_t s = 0; s < p->n_seg; s++)
            for (uint32_t k = 0; k < p->seg[s].n; k++)
                assert_int_equal(((const uint8_t *)p->x[r])[p->seg_x[s] + k],
                                 expected(a, p->out[r] / a->co, (p->seg[s].k + k) / a->ci, (p->seg[s].k + k) % a->ci));
    }
}

static const struct conv_engine engine = { .elem = 1,
                                           .rows = 32,
                                           .in_place = in_place,
                                           .block = block,
                                           .band_step = CHANNELS,
                                           .load_band = load_band,
                                           .pad_band = pad_band };

static struct conv_axis axis(uint32_t in, uint32_t kernel, uint32_t dilation, uint32_t before, uint32_t after)
{
    return (struct conv_axis){ .in = in,
                               .out = in + before + after - (kernel - 1) * dilation,
                               .kernel = kernel,
                               .stride = 1,
                               .dilation = dilation,
                               .pad = before };
}

static struct conv_args args_of(uint32_t batch, struct conv_axis y, struct conv_axis x)
{
    static const struct conv_head head;
    struct conv_args a = { .cls = CONV_Q8,
                           .kind = CONV_WINDOW,
                           .z = { 1, 1, 1, 1, 1, 0 },
                           .y = y,
                           .x = x,
                           .batch = batch,
                           .n_in = 2,
                           .ci = CHANNELS,
                           .co = 16,
                           .slices = 1,
                           .w_slices = 1,
                           .cig = CHANNELS,
                           .cog = 16,
                           .npad = 16,
                           .taps = y.kernel * x.kernel,
                           .tap_stride = CHANNELS,
                           .kg = 4,
                           .wsize = 1,
                           .n_m = 1,
                           .n_sums = 1,
                           .x_type = DT_UQ8,
                           .padded = true,
                           .packed = &head,
                           .head = &head,
                           .unit_rows = x.out,
                           .row_units = batch * y.out,
                           .col_units = 1,
                           .chunks = 1,
                           .slice_chunks = 1,
                           .rows = batch * y.out * x.out };
    a.kpad = a.taps * CHANNELS;
    a.panel_stride = (uint64_t)a.kpad * 4;
    a.panel_rows = 48;
    a.seg_bytes = 1024;
    return a;
}

static uint32_t lines_of(const struct conv_args *a)
{
    return conv_band_lines(a, engine.band_step, engine.planes);
}

/* Every output of lines [begin, end) has its row, and no other one. */
static void walk(const struct conv_args *a, uint32_t begin, uint32_t end)
{
    void *work = malloc(a->seg_bytes + a->panel_rows * a->panel_stride), *data[3] = { image, NULL, NULL };
    assert_non_null(work);
    memset(seen, 0, sizeof seen);
    conv_run(&(struct kernel_call){ .args = a, .data = data, .work = work }, (struct range){ begin, end }, &engine);
    for (uint32_t i = 0; i < a->rows; i++)
        assert_int_equal(seen[i], i / a->x.out >= begin && i / a->x.out < end);
    free(work);
}

static void rows_find_their_windows(void **state)
{
    (void)state;
    const struct conv_args nets[] = {
        args_of(1, axis(14, 3, 1, 1, 1), axis(14, 3, 1, 1, 1)), args_of(2, axis(7, 3, 1, 1, 1), axis(7, 3, 1, 1, 1)),
        args_of(1, axis(9, 3, 1, 0, 0), axis(13, 3, 1, 0, 0)),  args_of(1, axis(20, 3, 2, 2, 2), axis(20, 3, 2, 2, 2)),
        args_of(3, axis(5, 1, 1, 0, 0), axis(11, 3, 1, 2, 0)),  args_of(1, axis(12, 5, 1, 0, 4), axis(31, 2, 1, 1, 0)),
    };
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (uint8_t)(i * 2654435761u >> 13) & 0x7F; /* never what padding is */
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct conv_args a = nets[i];
        assert_in_range(lines_of(&a), 1, a.y.out);
        walk(&a, 0, a.row_units);
        walk(&a, a.row_units / 3, a.row_units - 1);
        a.panel_rows = (uint32_t)((a.x.out + (a.x.kernel - 1) * a.x.dilation) * CHANNELS *
                                      (uint64_t)((a.y.kernel - 1) * a.y.dilation + 1) / a.panel_stride +
                                  1);
        assert_true(lines_of(&a) < a.y.out); /* several bands */
        walk(&a, 0, a.row_units);
    }
}

static void some_windows_have_no_band(void **state)
{
    (void)state;
    const struct conv_axis usual = axis(14, 3, 1, 1, 1);
    struct conv_args a = args_of(1, usual, usual);
    a.w_offset = 1; /* rows would have to be summed */
    assert_int_equal(lines_of(&a), 0);
    a = args_of(1, usual, axis(5, 3, 1, 1, 1)); /* 2 of 7 positions for nothing */
    assert_int_equal(lines_of(&a), 0);
    a = args_of(1, usual, usual);
    a.panel_rows = 0; /* no room for a line */
    assert_int_equal(lines_of(&a), 0);
    /* Taps so far apart that their distance in 32 bits is 0. */
    a = args_of(1, usual, usual);
    a.x = (struct conv_axis){ .in = 14, .out = 14, .kernel = 3, .stride = 1, .dilation = 1u << 31, .pad = 1u << 31 };
    assert_int_equal(lines_of(&a), 0);
    a = args_of(1, usual, usual);
    a.y = (struct conv_axis){ .in = 14, .out = 14, .kernel = 3, .stride = 1, .dilation = 1u << 31, .pad = 1u << 31 };
    assert_int_equal(lines_of(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_find_their_windows),
                                        cmocka_unit_test(some_windows_have_no_band) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

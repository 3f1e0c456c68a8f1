/* SPDX-License-Identifier: Apache-2.0 */
/* A stage for convolutions of bytes that keep channels apart: some channels of the input lines that an output line needs,
 * copied side by side with real zero around the image. So every pixel has all taps, and a line that several output lines
 * need is copied once.
 *
 * A tile is cut into strips of columns that find room on the stage; all lines of a tile are done for one strip before the
 * next.
 *
 * conv_stage_<isa>.h includes this. It says before how pixels are staged: struct stage_form, stage_pixel_bytes, stage_zeros,
 * stage_pixels. */
#ifndef KERNELS_CONV_CONV_STAGE_WALK_H
#define KERNELS_CONV_CONV_STAGE_WALK_H

#include "kernels/conv/conv_stage.h"

enum { STAGE_BYTES = 24 * 1024 };

struct stage {
    const struct conv_args *a;
    struct stage_form form;
    uint32_t c0;                    /* first input channel */
    /* The strip: every out_step-th output pixel from ox on, n of them; every in_step-th input pixel from x on, n_in
     * of them. */
    uint32_t ox, out_step, n;
    int64_t x;
    uint32_t in_step, n_in;
    int64_t staged[STAGE_LINES];    /* which input lines are there */
    uint8_t bytes[STAGE_BYTES + STAGE_CHANNELS]
        __attribute__((aligned(64))); /* the last pixel may be read with its channels behind it */
};

/* An output line of a strip: the staged input line of every kernel line; pixels are `column` bytes apart. */
struct stage_line {
    const uint8_t *x[STAGE_LINES];
    uint64_t column;
    uint32_t at;                    /* output line, counted over all images */
};
typedef void stage_fn(void *ctx, const struct stage *s, const struct stage_line *line);

/* Input line y, with real zero for what is outside. */
static void stage_input(const struct stage *s, const uint8_t *image, int64_t y, uint8_t *to)
{
    const struct conv_args *a = s->a;
    const int64_t step = s->in_step, first = s->x < 0 ? (-s->x + step - 1) / step : 0,
                  last = s->x >= a->x.in ? 0 : (a->x.in - s->x + step - 1) / step;
    uint32_t end = last < s->n_in ? (uint32_t)last : s->n_in, begin = first < end ? (uint32_t)first : end;
    if (y < 0 || y >= a->y.in)
        begin = end = 0;
    stage_zeros(&s->form, to, begin);
    if (begin < end)
        stage_pixels(&s->form, to + (uint64_t)begin * stage_pixel_bytes(&s->form),
                     image + (uint64_t)((y * a->x.in + s->x + begin * step) * a->ci) + s->c0, (uint64_t)step * a->ci,
                     end - begin);
    stage_zeros(&s->form, to + (uint64_t)end * stage_pixel_bytes(&s->form), s->n_in - end);
}

/* The lines that an output line needs; those of the line before stay where they are. */
static void stage_inputs(struct stage *s, const uint8_t *image, struct stage_line *line)
{
    const struct conv_args *a = s->a;
    const uint64_t top = (uint64_t)(line->at % a->y.out) * a->y.stride;
    for (uint32_t l = 0; l < a->y.kernel; l++) {
        int64_t y = (int64_t)top - a->y.pad + (int64_t)l * a->y.dilation;
        uint32_t slot = a->y.dilation == 1 ? (uint32_t)((top + l) % a->y.kernel) : l;
        uint8_t *to = s->bytes + (uint64_t)slot * s->n_in * stage_pixel_bytes(&s->form);
        if (s->staged[slot] != y)
            stage_input(s, image, y, to);
        s->staged[slot] = y;
        line->x[l] = to;
    }
}

/* All lines of the tile, for the pixels of the strip. */
static void stage_strip(struct stage *s, const void *input, struct range lines, stage_fn *fn, void *ctx)
{
    const struct conv_args *a = s->a;
    const uint64_t image = (uint64_t)a->y.in * a->x.in * a->ci;
    struct stage_line line;
    uint32_t of = UINT32_MAX;
    line.column = stage_pixel_bytes(&s->form);
    for (line.at = lines.begin; line.at < lines.end; line.at++) {
        if (line.at / a->y.out != of)
            for (uint32_t i = 0; i < STAGE_LINES; i++)
                s->staged[i] = INT64_MIN;
        of = line.at / a->y.out;
        stage_inputs(s, (const uint8_t *)input + of * image, &line);
        fn(ctx, s, &line);
    }
}

/* Calls fn for every strip and output line. With dilation, every so manieth pixel is one convolution without; with a stride,
 * too, pixels are single. */
static void stage_run(struct stage *s, const void *input, struct range lines, stage_fn *fn, void *ctx)
{
    const struct conv_args *a = s->a;
    const uint32_t stride = a->x.stride, dilation = a->x.dilation,
                   room = STAGE_BYTES / stage_pixel_bytes(&s->form) / a->y.kernel;
    const bool single = stride > 1 && dilation > 1;
    const uint32_t phases = single ? a->x.out : dilation < a->x.out ? dilation : a->x.out;
    const uint32_t most = single || room < a->x.kernel + stride ? 1 : (room - a->x.kernel) / stride + 1;
    s->in_step = dilation;
    s->out_step = phases;
    for (uint32_t phase = 0; phase < phases; phase++) {
        const uint32_t all = (a->x.out - phase + phases - 1) / phases, strips = (all + most - 1) / most;
        for (uint32_t i = 0; i < strips; i++) {
            const uint32_t begin = (uint32_t)((uint64_t)all * i / strips);
            s->ox = phase + begin * phases;
            s->n = (uint32_t)((uint64_t)all * (i + 1) / strips) - begin;
            s->x = (int64_t)s->ox * stride - a->x.pad;
            s->n_in = (s->n - 1) * stride + a->x.kernel;
            stage_strip(s, input, lines, fn, ctx);
        }
    }
}

#endif

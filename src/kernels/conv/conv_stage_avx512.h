/* SPDX-License-Identifier: Apache-2.0 */
/* A stage for convolutions of bytes that keep channels apart: 64 channels of the input lines that an output line needs, copied side by side with real zero
 * around the image. So every pixel has all taps, and a line that several output lines need is copied once. Include vec_avx512.h first.
 *
 * A tile is cut into strips of columns that find room on the stage; all lines of a tile are done for one strip before the next. Staged bytes are
 * unsigned: signed ones are moved up by 128. */
#ifndef KERNELS_CONV_CONV_STAGE_AVX512_H
#define KERNELS_CONV_CONV_STAGE_AVX512_H

#include "kernels/conv/conv_stage.h"

enum { STAGE_BYTES = 24 * 1024 };

struct stage {
    const struct conv_args *a;
    uint32_t c0, per;               /* first input channel; pixels in 64 bytes: 2 where they have 32 channels, else 1 */
    __mmask64 mask;                 /* channels that are there */
    vi flip, zero;                  /* from x as it is stored to staged bytes; real zero among these */
    /* The strip: every out_step-th output pixel from ox on, n of them; every in_step-th input pixel from x on, n_in of them. */
    uint32_t ox, out_step, n;
    int64_t x;
    uint32_t in_step, n_in;
    int64_t staged[STAGE_LINES];    /* which input lines are there */
    uint8_t bytes[STAGE_BYTES + STAGE_CHANNELS] __attribute__((aligned(64))); /* the last pixel may be read with its channels behind it */
};

/* An output line of a strip: the staged input line of every kernel line; pixels are `column` bytes apart. */
struct stage_line {
    const uint8_t *x[STAGE_LINES];
    uint64_t column;
    uint32_t at;                    /* output line, counted over all images */
};
typedef void stage_fn(void *ctx, const struct stage *s, const struct stage_line *line);

static inline void stage_init(struct stage *s, const struct conv_args *a, uint32_t per)
{
    const bool flip = a->x_type == DT_SQ8;
    s->a = a;
    s->per = per;
    s->flip = _mm512_set1_epi8(flip ? (char)0x80 : 0);
    s->zero = _mm512_set1_epi8((char)(flip ? 128 - a->x_offset : -a->x_offset));
}

/* n channels from c0 on. */
static inline void stage_channels(struct stage *s, uint32_t c0, uint32_t n)
{
    s->c0 = c0;
    s->mask = n < STAGE_CHANNELS ? ~(__mmask64)0 >> (STAGE_CHANNELS - n) : ~(__mmask64)0;
}

static inline uint32_t stage_pixel_bytes(const struct stage *s)
{
    return STAGE_CHANNELS / s->per;
}

/* What is stored might be the stage itself, as far as compilers know: what loops need is read before them. */
static inline void stage_zeros(const struct stage *s, uint8_t *to, uint32_t n)
{
    const vi zero = s->zero;
    const uint8_t *const end = to + (uint64_t)n * stage_pixel_bytes(s);
    if (s->per == 2)
        for (; to < end; to += 32)
            _mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256(zero));
    else
        for (; to < end; to += STAGE_CHANNELS)
            _mm512_storeu_si512(to, zero);
}

static inline void stage_pixels(const struct stage *s, uint8_t *to, const uint8_t *from, uint64_t step, uint32_t n)
{
    const vi flip = s->flip;
    const __mmask64 mask = s->mask;
    const uint8_t *const end = to + (uint64_t)n * stage_pixel_bytes(s);
    if (s->per == 2)
        for (; to < end; to += 32, from += step)
            _mm256_storeu_si256((__m256i *)to, _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from), _mm512_castsi512_si256(flip)));
    else
        for (; to < end; to += STAGE_CHANNELS, from += step)
            _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, from), flip));
}

/* Input line y, with real zero for what is outside. */
static void stage_input(const struct stage *s, const uint8_t *image, int64_t y, uint8_t *to)
{
    const struct conv_args *a = s->a;
    const int64_t step = s->in_step, first = s->x < 0 ? (-s->x + step - 1) / step : 0, last = s->x >= a->x.in ? 0 : (a->x.in - s->x + step - 1) / step;
    uint32_t end = last < s->n_in ? (uint32_t)last : s->n_in, begin = first < end ? (uint32_t)first : end;
    if (y < 0 || y >= a->y.in)
        begin = end = 0;
    stage_zeros(s, to, begin);
    if (begin < end)
        stage_pixels(s, to + (uint64_t)begin * stage_pixel_bytes(s), image + (uint64_t)((y * a->x.in + s->x + begin * step) * a->ci) + s->c0,
                     (uint64_t)step * a->ci, end - begin);
    stage_zeros(s, to + (uint64_t)end * stage_pixel_bytes(s), s->n_in - end);
}

/* The lines that an output line needs; those of the line before stay where they are. */
static void stage_inputs(struct stage *s, const uint8_t *image, struct stage_line *line)
{
    const struct conv_args *a = s->a;
    const uint32_t top = line->at % a->y.out * a->y.stride;
    for (uint32_t l = 0; l < a->y.kernel; l++) {
        int64_t y = (int64_t)top - a->y.pad + (int64_t)l * a->y.dilation;
        uint32_t slot = a->y.dilation == 1 ? (top + l) % a->y.kernel : l;
        uint8_t *to = s->bytes + (uint64_t)slot * s->n_in * stage_pixel_bytes(s);
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
    line.column = stage_pixel_bytes(s);
    for (line.at = lines.begin; line.at < lines.end; line.at++) {
        if (line.at / a->y.out != of)
            for (uint32_t i = 0; i < STAGE_LINES; i++)
                s->staged[i] = INT64_MIN;
        of = line.at / a->y.out;
        stage_inputs(s, (const uint8_t *)input + of * image, &line);
        fn(ctx, s, &line);
    }
}

/* Calls fn for every strip and output line. With dilation, every so manieth pixel is one convolution without; with a stride, too, pixels are single. */
static void stage_run(struct stage *s, const void *input, struct range lines, stage_fn *fn, void *ctx)
{
    const struct conv_args *a = s->a;
    const uint32_t stride = a->x.stride, dilation = a->x.dilation, room = STAGE_BYTES / stage_pixel_bytes(s) / a->y.kernel;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Linear resizing of images, compiled once per instruction set (resize_body.h includes this). What columns read is worked
 * out once for all lines of a tile; as many neighbouring pixels as fill a span are blended between one load and one store.
 * The arithmetic is that of resize_body.h: width first, then height. */
#ifndef KERNELS_RESIZE_RESIZE_LINEAR_H
#define KERNELS_RESIZE_RESIZE_LINEAR_H

enum { LINEAR_COLUMNS = 256 };

struct linear {
    const struct resize_args *a;
    const void *src;
    void *dst;
    uint32_t x, n;                      /* output columns x … x + n */
    uint32_t at[2][LINEAR_COLUMNS];
    float f[LINEAR_COLUMNS];
};

/* Input pixels from `first` on of the two lines that an output line lies between. */
struct linear_piece {
    const float *top, *bottom;
    uint32_t first, column, n;          /* column: of the block, the first of n */
    float f;
};

static inline __attribute__((always_inline)) void linear_blend(const struct linear *l, const struct linear_piece *p,
                                                               const uint32_t channels, float *restrict o)
{
    const float fy = p->f;
    for (uint32_t j = p->column; j < p->column + p->n; j++, o += channels) {
        const uint64_t left = (uint64_t)(l->at[0][j] - p->first) * channels,
                       right = (uint64_t)(l->at[1][j] - p->first) * channels;
        const float *tl = p->top + left, *tr = p->top + right, *bl = p->bottom + left, *br = p->bottom + right, fx = l->f[j];
        for (uint32_t i = 0; i < channels; i++) {
            const float top = tl[i] + (tr[i] - tl[i]) * fx, bottom = bl[i] + (br[i] - bl[i]) * fx;
            o[i] = top + (bottom - top) * fy;
        }
    }
}

/* Few channels are written out. */
static void linear_pixels(const struct linear *l, const struct linear_piece *p, float *o)
{
    switch (l->a->channels) {
    case 1: linear_blend(l, p, 1, o); break;
    case 2: linear_blend(l, p, 2, o); break;
    case 3: linear_blend(l, p, 3, o); break;
    case 4: linear_blend(l, p, 4, o); break;
    default: linear_blend(l, p, l->a->channels, o); break;
    }
}

/* n <= 2 * SPAN elements of an input line as floats. */
static const float *linear_load(const struct linear *l, uint64_t at, uint32_t n, float *buf)
{
    if (l->a->src.type == DT_F32)
        return (const float *)l->src + at;
    K(span_load)(&l->a->src, l->src, (int64_t)at, 1, n < SPAN ? n : SPAN, buf);
    if (n > SPAN)
        K(span_load)(&l->a->src, l->src, (int64_t)at + SPAN, 1, n - SPAN, buf + SPAN);
    return buf;
}

/* How many columns from x on fit a span, with the pixels that they read in two. At least one: it reads two neighbours. */
static uint32_t linear_fit(const struct linear *l, uint32_t x)
{
    const uint32_t channels = l->a->channels, most = SPAN / channels, left = l->n - x;
    uint32_t k = left < most ? left : most;
    while (k > 1 && (uint64_t)(l->at[1][x + k - 1] - l->at[0][x] + 1) * channels > 2 * SPAN)
        k--;
    return k;
}

static void linear_row(const struct linear *l, uint64_t row)
{
    const struct resize_args *a = l->a;
    const uint64_t image = row / a->out[1] * a->in[1];
    float top[2 * SPAN], bottom[2 * SPAN], o[SPAN];
    struct sample y;
    make_sample(a, 1, (uint32_t)(row % a->out[1]), &y);
    struct linear_piece p = { .f = y.f };
    for (p.column = 0; p.column < l->n; p.column += p.n) {
        p.first = l->at[0][p.column];
        p.n = linear_fit(l, p.column);
        const uint32_t n = (l->at[1][p.column + p.n - 1] - p.first + 1) * a->channels;
        p.top = linear_load(l, ((image + y.at[0]) * a->in[2] + p.first) * a->channels, n, top);
        p.bottom = linear_load(l, ((image + y.at[1]) * a->in[2] + p.first) * a->channels, n, bottom);
        linear_pixels(l, &p, o);
        K(span_store)
        (&a->dst, l->dst, (int64_t)((row * a->out[2] + l->x + p.column) * a->channels), 1, p.n * a->channels, o);
    }
}

/* Height and width are resized, and a pixel is at most a span. */
static bool linear_suits(const struct resize_args *a)
{
    return a->kind == RESIZE_LINEAR && a->first == 1 && a->channels <= SPAN;
}

static void linear_run(const struct kernel_call *call, const struct resize_args *a, uint64_t begin, uint64_t end)
{
    struct linear l = { .a = a, .src = call->data[0], .dst = call->data[1] };
    for (l.x = 0; l.x < a->out[2]; l.x += l.n) {
        l.n = a->out[2] - l.x < LINEAR_COLUMNS ? a->out[2] - l.x : LINEAR_COLUMNS;
        for (uint32_t i = 0; i < l.n; i++) {
            struct sample s;
            make_sample(a, 2, l.x + i, &s);
            l.at[0][i] = s.at[0];
            l.at[1][i] = s.at[1];
            l.f[i] = s.f;
        }
        for (uint64_t row = begin; row < end; row++)
            linear_row(&l, row);
    }
}

#endif

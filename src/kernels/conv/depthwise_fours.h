/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of bytes from a stage in vectors of 256 bits: the walk over output pixels, four at a time.
 * depthwise_pairs_body.h and depthwise_quads_avxvnni.c include it behind their stage and say how pixels are computed:
 * fours_sums, for some channels. */
#ifndef KERNELS_CONV_DEPTHWISE_FOURS_H
#define KERNELS_CONV_DEPTHWISE_FOURS_H

enum { PIXELS = 4 };

/* Columns from one output pixel to the next, taps of a line, lines. Where loops are compiled for the usual kernels these are
 * constants. */
struct form {
    uint32_t apart, taps, lines;
};

/* Output pixels of one line: where their columns are staged, and where they go. Bytes. */
struct group {
    const struct stage_line *line;
    uint64_t first;
    uint8_t *out;
    uint64_t next;
};

/* What all blocks of channels have; the first member of what a kernel needs. */
struct fours {
    const struct conv_args *a;
    uint8_t *out;
    uint32_t c0;
    struct form form;
};
typedef void group_fn(const struct fours *q, const struct group *g);

/* `p` pixels. */
static inline __attribute__((always_inline)) void fours_sums(const struct fours *q, const struct group *g,
                                                             const struct form f, const int p);

static void one_of_any(const struct fours *q, const struct group *g)
{
    fours_sums(q, g, q->form, 1);
}

static void four_of_any(const struct fours *q, const struct group *g)
{
    fours_sums(q, g, q->form, PIXELS);
}

#define FOUR(size, apart)                                                           \
    static void four_##size##_##apart(const struct fours *q, const struct group *g) \
    {                                                                               \
        fours_sums(q, g, (struct form){ apart, size, size }, PIXELS);               \
    }
FOUR(3, 1)
FOUR(3, 2)
FOUR(5, 1)
FOUR(5, 2)
#undef FOUR

static group_fn *choose_four(const struct form *f)
{
    static group_fn *const usual[2][2] = { { four_3_1, four_3_2 }, { four_5_1, four_5_2 } };
    const bool has = f->lines == f->taps && (f->taps == 3 || f->taps == 5) && f->apart <= 2;
    return has ? usual[f->taps == 5][f->apart - 1] : four_of_any;
}

/* Groups of four pixels; the last one begins where it ends with the strip, some of it a second time. */
static void fours_line(void *ctx, const struct stage *s, const struct stage_line *line)
{
    const struct fours *q = ctx;
    const struct conv_args *a = q->a;
    const uint32_t p = s->n < PIXELS ? 1 : PIXELS;
    group_fn *const fn = p == 1 ? one_of_any : choose_four(&q->form);
    uint8_t *out = q->out + ((uint64_t)line->at * a->x.out + s->ox) * a->co + q->c0;
    struct group g = { .line = line, .next = (uint64_t)s->out_step * a->co };
    for (uint32_t x = 0; x < s->n; x += p) {
        const uint32_t from = x + p <= s->n ? x : s->n - p;
        g.first = (uint64_t)from * a->x.stride * line->column;
        g.out = out + from * g.next;
        fn(q, &g);
    }
}

static struct fours fours_init(const struct kernel_call *call)
{
    const struct conv_args *a = call->args;
    return (struct fours){ a, call->data[a->n_in], 0, { a->x.stride, a->x.kernel, a->y.kernel } };
}

/* Blocks of so many channels; `begin` makes ready what a block needs, from s->c0 on. All channels of some lines come before
 * the next ones: what some channels bring into the cache is there for the others, too. */
static void fours_run(const struct kernel_call *call, struct range tile, uint32_t channels, struct fours *q, struct stage *s,
                      void (*begin)(struct fours *q, struct stage *s))
{
    const struct conv_args *a = call->args;
    const uint64_t cached = 128 * 1024, line = (uint64_t)a->y.stride * a->x.in * a->ci, fit = cached / line;
    const uint32_t all = tile.end - tile.begin, step = fit < 1 ? 1 : fit < all ? (uint32_t)fit : all;
    for (uint32_t at = tile.begin; at < tile.end; at += step)
        for (s->c0 = 0; s->c0 < a->co; s->c0 += channels) {
            q->c0 = s->c0;
            begin(q, s);
            stage_run(s, call->data[0], (struct range){ at, tile.end - at < step ? tile.end : at + step }, fours_line, q);
        }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer. One unit of work: the state is one. */
#define KERNEL_ISA ref
#include "kernels/buffer/buffer.h"
#include "kernels/mover_body.h"

/* `n` places of every outer row: from place `from` of a row of `src_row` places to place `to` of a row of
 * `dst_row` places. */
struct piece {
    uint32_t n, to, dst_row, from, src_row;
};

static void move_places(const struct buffer_args *a, const struct mover *m, void *dst, const void *src, struct piece p)
{
    for (uint64_t o = 0; o < a->outer; o++)
        move_run(m, dst, (int64_t)((o * p.dst_row + p.to) * a->inner), src, (int64_t)((o * p.src_row + p.from) * a->inner),
                 1, p.n * a->inner);
}

static void fill_places(const struct buffer_args *a, void *dst, uint32_t n, uint32_t to, uint32_t row)
{
    for (uint64_t o = 0; o < a->outer; o++)
        move_fill(&a->same, dst, (int64_t)((o * row + to) * a->inner), n * a->inner);
}

static bool wants_reset(const struct buffer_args *a, const void *flag)
{
    float v = 0.0f;
    if (a->has_reset)
        span_load_ref(&a->reset, flag, 0, 1, 1, &v);
    return v != 0.0f;
}

/* How many places of the state hold something. The state may be in memory that others can write to: any number there is made
 * one that fits. */
static uint32_t filled(const struct buffer_args *a, const struct buffer_state *s)
{
    uint32_t fill = s->fill < a->room ? s->fill : a->room;
    return fill - fill % a->frame;
}

/* A new beginning: nothing but padding. A buffer that is full of padding gives up `stride` places at once, as any full one
 * does. */
static uint32_t begin(const struct buffer_args *a, void *kept)
{
    uint32_t fill = a->padding > a->room ? a->padding - a->stride : a->padding;
    fill_places(a, kept, fill, 0, a->room);
    return fill;
}

/* What was kept, then the new frame, then nothing; or nothing first. */
static void write_output(const struct buffer_args *a, void *const *data, const void *kept, uint32_t fill)
{
    void *out = data[a->out];
    uint32_t there = fill + a->frame, at = a->mode == BUFFER_RIGHT ? a->size - there : 0;
    move_places(a, &a->same, out, kept, (struct piece){fill, at, a->size, 0, a->room});
    move_places(a, &a->in, out, data[0], (struct piece){a->frame, at + fill, a->size, 0, a->frame});
    fill_places(a, out, a->size - there, at ? 0 : there, a->size);
}

void buffer_ref(const struct kernel_call *call, struct range tile)
{
    const struct buffer_args *a = call->args;
    struct buffer_state *s = call->state;
    uint8_t *kept = (uint8_t *)call->state + BUFFER_STATE_DATA;
    (void)tile;
    uint32_t fill = !s->begun || wants_reset(a, call->data[1]) ? begin(a, kept) : filled(a, s);
    uint32_t there = fill + a->frame;
    if (there < a->size) { /* not full: the frame is kept beside the others */
        if (a->mode == BUFFER_BLOCKING)
            atomic_store_explicit(call->ended, 1, memory_order_relaxed);
        else
            write_output(a, call->data, kept, fill);
        move_places(a, &a->in, kept, call->data[0], (struct piece){a->frame, fill, a->room, 0, a->frame});
        s->fill = there;
    } else { /* full: the oldest `stride` places go, the rest of the output is what the next execution needs */
        write_output(a, call->data, kept, fill);
        s->fill = a->size - a->stride;
        move_places(a, &a->same, kept, call->data[a->out], (struct piece){s->fill, 0, a->room, a->stride, a->size});
    }
    s->begun = 1;
}

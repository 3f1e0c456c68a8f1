/* SPDX-License-Identifier: Apache-2.0 */
/* Moves buffers inside a finished plan so that threads find their share of memory in their own cache.
 *
 * Two threads compute the first and the second half of every tensor. A tensor that lies over the middle of one that was
 * there before has its halves where those were; beside the middle one thread writes what is in the other one's cache, which
 * takes as long as computing it:
 *
 *     before    [ 0 0 0 0 0 0 | 1 1 1 1 1 1 ]
 *     good            [ 0 0 0 | 1 1 1 ]
 *     bad       [ 0 0 0 | 1 1 1 ]
 *
 * Who was last where is painted on a map of the arena, buffer after buffer in the order of time, some times around since one
 * run follows the other; each buffer goes to the place that fits best of those that buffers near it in time have. The plan
 * stays as large as it was. */
#include <string.h>

#include "prepare/plan.h"

enum { MOST_BUFS = 256, CELLS = 512, ROUNDS = 3, NEAR = 16, NOBODY = 2 };

struct settle {
    struct plan_buf *b;
    uint32_t n_move, n;
    uint64_t total, cell;
    uint32_t order[MOST_BUFS];
    uint8_t map[CELLS + 1];
};

static bool is_free(const struct settle *s, uint32_t i, uint64_t at)
{
    const struct plan_buf *own = &s->b[i];
    for (uint32_t k = 0; k < s->n; k++) {
        const struct plan_buf *o = &s->b[k];
        if (k != i && o->size && o->first <= own->last && own->first <= o->last && at < o->offset + o->size &&
            o->offset < at + own->size)
            return false;
    }
    return true;
}

/* Cells of the halves of a buffer at this offset. */
static void cells_of(const struct settle *s, uint32_t i, uint64_t at, uint32_t ret[3])
{
    ret[0] = (uint32_t)(at / s->cell);
    ret[1] = (uint32_t)((at + s->b[i].size / 2) / s->cell);
    ret[2] = (uint32_t)((at + s->b[i].size) / s->cell);
}

/* Cells that somebody else was in last; counted up to `most`. */
static uint32_t strangers(const struct settle *s, uint32_t i, uint64_t at, uint32_t most)
{
    uint32_t c[3], sum = 0;
    cells_of(s, i, at, c);
    for (uint32_t k = c[0]; k < c[2] && sum < most; k++)
        sum += s->map[k] != (k >= c[1]);
    return sum;
}

static void paint(struct settle *s, uint32_t i)
{
    uint32_t c[3];
    cells_of(s, i, s->b[i].offset, c);
    for (uint32_t k = c[0]; k < c[2]; k++)
        s->map[k] = k >= c[1];
}

/* Places that a buffer near in time suggests: at its beginning, over its middle, at its end. */
static void look_at(const struct settle *s, uint32_t i, const struct plan_buf *o, uint32_t *least, uint64_t *best)
{
    const struct plan_buf *own = &s->b[i];
    int64_t more = (int64_t)o->size - (int64_t)own->size, align = own->align ? own->align : 1;
    for (int k = 0; k < 3; k++) {
        int64_t at = (int64_t)o->offset + more * k / 2;
        at = at < 0 ? 0 : at / align * align;
        if ((uint64_t)at + own->size > s->total)
            continue;
        uint32_t n = strangers(s, i, (uint64_t)at, *least);
        if (n < *least && is_free(s, i, (uint64_t)at)) {
            *least = n;
            *best = (uint64_t)at;
        }
    }
}

static void settle_one(struct settle *s, uint32_t at)
{
    uint32_t i = s->order[at], least = strangers(s, i, s->b[i].offset, CELLS);
    uint64_t best = s->b[i].offset;
    bool moves = s->b[i].size && s->b[i].fixed == PLAN_ANY;
    for (uint32_t k = 1; k <= NEAR && k < s->n_move && least && moves; k++) {
        look_at(s, i, &s->b[s->order[(at + s->n_move - k) % s->n_move]], &least, &best);
        look_at(s, i, &s->b[s->order[(at + k) % s->n_move]], &least, &best);
    }
    s->b[i].offset = best;
    paint(s, i);
}

static void sort_by_time(struct settle *s)
{
    for (uint32_t i = 0; i < s->n_move; i++) {
        uint32_t k = i;
        for (; k && s->b[s->order[k - 1]].first > s->b[i].first; k--)
            s->order[k] = s->order[k - 1];
        s->order[k] = i;
    }
}

void plan_settle(struct plan_buf *b, uint32_t n_move, uint32_t n, uint64_t total)
{
    if (n_move < 2 || n_move > MOST_BUFS || !total)
        return;
    struct settle s = { .b = b, .n_move = n_move, .n = n, .total = total, .cell = (total + CELLS - 1) / CELLS };
    memset(s.map, NOBODY, sizeof(s.map));
    sort_by_time(&s);
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t k = 0; k < n_move; k++)
            settle_one(&s, k);
}

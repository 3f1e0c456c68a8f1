/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of operators that are computed a few lines at a time: which lines of every member are wanted, and how many of them
 * must be kept.
 *
 *     conv 3x3 -> t -> conv 3x3 -> y      lines 4, 5 of y want lines 3 … 6 of t; lines 3 and 4 are there from the slab
 *                                         before
 *
 * Lines are only ever dropped at the lower end, so what is kept is one run of lines that moves up. */
#include "ops/ops.h"

uint32_t op_chain_images(const struct op_chain *c, const struct op_lines *lines)
{
    bool plain = true;
    for (uint32_t e = 0; e < c->first[c->n]; e++)
        plain &= c->edges[e].reach.plain;
    for (uint32_t i = 0; i < c->n && !plain; i++)
        if (lines[i].images != lines[0].images)
            return 0;
    return plain ? 1 : lines[0].images;
}

static uint32_t first_line(const struct op_reach *r, uint32_t line)
{
    int64_t at = (int64_t)line * r->stride - r->before;
    return at < 0 ? 0 : at > r->lines ? r->lines : (uint32_t)at;
}

/* What the readers so far want of a maker, and one more of them. */
static void want(struct op_chain_span *w, const struct op_reach *reach, const struct op_chain_span *reader)
{
    uint32_t lo = first_line(reach, reader->from), begin = reader->from, end = reader->end;
    op_reach_lines(reach, &begin, &end);
    w->begin = lo < w->begin ? lo : w->begin;
    w->end = end > w->end ? end : w->end;
}

void op_chain_next(const struct op_chain *c, uint32_t begin, uint32_t end, struct op_chain_span *spans)
{
    struct op_chain_span wanted[OP_CHAIN_MAX];
    for (uint32_t i = 0; i < c->n; i++)
        wanted[i] = (struct op_chain_span){ .begin = UINT32_MAX };
    wanted[c->n - 1] = (struct op_chain_span){ begin, 0, end };
    spans[c->n - 1].end = begin;
    for (uint32_t i = c->n; i-- > 0;) {
        uint32_t done = spans[i].end;
        spans[i].begin = wanted[i].begin;
        spans[i].from = wanted[i].begin > done ? wanted[i].begin : done;
        spans[i].end = wanted[i].end > spans[i].from ? wanted[i].end : spans[i].from;
        for (uint32_t e = c->first[i]; e < c->first[i + 1]; e++)
            want(&wanted[c->edges[e].maker], &c->edges[e].reach, &spans[i]);
    }
}

void op_chain_heights(const struct op_chain *c, uint32_t lines, uint32_t height, uint32_t *ret)
{
    for (uint32_t i = 0; i < c->n; i++)
        ret[i] = 0;
    for (uint32_t p = 0; p < lines; p++) {
        struct op_chain_span spans[OP_CHAIN_MAX] = { { 0 } };
        op_chain_next(c, p, lines - p < height ? lines : p + height, spans);
        for (uint32_t i = 0; i < c->n; i++)
            ret[i] = spans[i].end - spans[i].begin > ret[i] ? spans[i].end - spans[i].begin : ret[i];
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes: what an operator needs in fast memory to compute a part of its result. The oracle goes over the elements of every
 * box and looks which elements of the inputs they need; then graphs are prepared with little fast memory, and what every
 * command of the finished binary touches must fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "binary/binary.h"
#include "prepare/prepare.h"
#include "prepare/tile_vtcm.h"
#include "random_graph.h"
#include "test_scale.h"

enum { KIB = 1024, ALIGN = 64, CALLS = 3000, GRAPHS = 300 };

static void check(enum status st, const char *what)
{
    if (st != ST_OK)
        fail_msg("%s: %s", what, status_text());
}

static uint64_t up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

/* A window over an image, with all that the oracle needs. */
struct made {
    struct tensor_desc x, w, y;
    const struct tensor_desc *in[2], *out[1];
    struct op_value params[16];
    uint32_t stride[2], dilation[2], filter[2], pad[4];
    uint32_t groups;
    struct op_call call;
};

static void set(struct made *m, const char *name, const uint32_t *data, uint32_t n)
{
    int at = op_param_index(m->call.op, name);
    assert_true(at >= 0 && at < 16);
    m->params[at] = (struct op_value){ .type = DT_U32, .rank = 1, .count = n, .dims = { n }, .data = data };
}

static bool is_pool(enum op_id op)
{
    return op == OP_PoolMax2d || op == OP_PoolAvg2d;
}

static void make_call(struct random_graph *r, enum op_id op, struct made *m)
{
    static const enum dtype types[] = { DT_UQ8, DT_UQ16, DT_F16 };
    enum dtype type = types[random_below(r, 3)];
    *m = (struct made){ .groups = 1 };
    m->call = (struct op_call){
        .op = op_get(op), .n_in = is_pool(op) ? 1 : 2, .n_out = 1, .in = m->in, .out = m->out, .params = m->params
    };
    for (int i = 0; i < 2; i++) {
        m->filter[i] = 1 + random_below(r, is_pool(op) ? 12 : 5);
        m->stride[i] = 1 + random_below(r, is_pool(op) ? 16 : 3);
        m->dilation[i] = is_pool(op) ? 1 : 1 + random_below(r, 2);
        m->pad[2 * i] = random_below(r, m->filter[i]);
    }
    uint32_t h = 12 + random_below(r, 40), w = 12 + random_below(r, 40), c = 1 + random_below(r, 80),
             columns = 1 + random_below(r, 90), depth = c;
    if (op == OP_Conv2d && random_below(r, 3) == 0) {
        m->groups = 1 + random_below(r, 4);
        c = m->groups * (depth = 1 + random_below(r, 40));
        columns = m->groups * (1 + random_below(r, 40));
    }
    columns = is_pool(op) || op == OP_DepthWiseConv2d ? c : columns;
    uint32_t side[2], from[2] = { h, w };
    for (int i = 0; i < 2; i++)
        side[i] = (from[i] + m->pad[2 * i] - (m->filter[i] - 1) * m->dilation[i] - 1) / m->stride[i] + 1;
    m->x = (struct tensor_desc){ .type = type, .rank = 4, .dims = { 1 + random_below(r, 2), h, w, c } };
    m->w = (struct tensor_desc){ .type = DT_SQ8,
                                 .rank = 4,
                                 .dims = { m->filter[0], m->filter[1], op == OP_DepthWiseConv2d ? 1 : depth, columns } };
    m->y = (struct tensor_desc){ .type = type, .rank = 4, .dims = { m->x.dims[0], side[0], side[1], columns } };
    m->in[0] = &m->x, m->in[1] = &m->w, m->out[0] = &m->y;
    set(m, "stride", m->stride, 2);
    if (is_pool(op))
        set(m, "filter_size", m->filter, 2);
    else
        set(m, "dilation", m->dilation, 2);
}

/* ---- the oracle ------------------------------------------------------------------------------------------------------- */

struct part {
    uint32_t begin[3], end[3]; /* lines, columns, channels */
};

static uint64_t tile_bytes(const struct tensor_desc *d, uint64_t lines, uint64_t columns, uint64_t channels)
{
    bool image = d->dims[1] > 1, wide = d->type != DT_UQ8; /* float16 or 16 bits */
    return (image ? up(lines, 8) : lines) * (image ? up(columns, wide ? 4 : 8) : columns) * up(channels, 32) *
           (wide ? 2 : 1);
}

/* Some taps of the window along one side. */
struct taps {
    uint32_t begin, end;
};

/* Lines, or columns, of the input that these of the result need for some taps: how many there are, and how many from the
 * first to the last one. */
struct reached {
    uint64_t touched, span;
};

static struct reached reached(const struct made *m, int side, uint32_t begin, uint32_t end, struct taps taps)
{
    bool seen[64] = { false };
    int64_t lo = INT64_MAX, hi = -1, n = m->x.dims[1 + side];
    struct reached ret = { 0 };
    for (uint32_t o = begin; o < end; o++)
        for (uint32_t t = taps.begin; t < taps.end; t++) {
            int64_t at = (int64_t)o * m->stride[side] - m->pad[2 * side] + (int64_t)t * m->dilation[side];
            if (at < 0 || at >= n)
                continue;
            ret.touched += !seen[at];
            seen[at] = true;
            lo = at < lo ? at : lo;
            hi = at > hi ? at : hi;
        }
    ret.span = hi < lo ? 0 : (uint64_t)(hi - lo + 1);
    return ret;
}

/* Channels of the input, of the first `depth` terms of every sum. */
static uint64_t channels_reached(const struct made *m, const struct part *p, uint32_t depth)
{
    bool seen[512] = { false };
    uint64_t n = 0;
    uint32_t each = m->y.dims[3] / m->groups, terms = m->w.dims[2];
    bool sums = m->call.op->id == OP_Conv2d;
    for (uint32_t c = p->begin[2]; c < p->end[2]; c++)
        for (uint32_t k = 0; k < (sums ? depth : 1); k++)
            seen[sums ? c / each * terms + k : c] = true;
    for (int i = 0; i < 512; i++)
        n += seen[i];
    return n;
}

/* Bytes of both inputs and of the result for one part. */
struct need {
    uint64_t at_least[3], fair[3];
};

static void more(uint64_t *to, uint64_t n)
{
    *to = n > *to ? n : *to;
}

/* Pieces of a pool's window of up to `depth` taps, 1: all of them; whole lines, or parts of one. */
static void piece_of(const struct made *m, uint32_t depth, uint32_t ret[2])
{
    bool cut = m->call.n_in == 1 && depth > 1;
    ret[1] = cut && depth < m->filter[1] ? depth : m->filter[1];
    ret[0] = cut ? depth / ret[1] : m->filter[0];
}

/* The most that a piece needs; returns how many there are. */
static uint32_t window_needed(const struct made *m, const struct part *p, uint32_t depth, struct need *ret)
{
    uint64_t channels = channels_reached(m, p, depth), made = 0;
    uint32_t step[2], pieces = 0;
    bool cut = m->call.n_in == 1 && depth > 1, sums = cut && m->call.op->id == OP_PoolAvg2d;
    piece_of(m, depth, step);
    for (uint32_t l = 0; l < m->filter[0]; l += step[0])
        for (uint32_t c = 0; c < m->filter[1]; c += step[1], pieces++) {
            struct taps t[2] = { { l, l + step[0] }, { c, c + step[1] } };
            t[0].end = t[0].end < m->filter[0] ? t[0].end : m->filter[0];
            t[1].end = t[1].end < m->filter[1] ? t[1].end : m->filter[1];
            struct reached lines = reached(m, 0, p->begin[0], p->end[0], t[0]),
                           columns = reached(m, 1, p->begin[1], p->end[1], t[1]);
            more(&ret->fair[0], tile_bytes(&m->x, lines.span, columns.span, channels));
            more(&ret->at_least[0],
                 tile_bytes(&m->x, cut ? lines.touched : lines.span, cut ? columns.touched : columns.span, channels));
        }
    if (sums) /* exact ones of fixed point; floats */
        made = up(p->end[0] - p->begin[0], 8) * up(p->end[1] - p->begin[1], 8) * up(p->end[2] - p->begin[2], 32) *
               (dtype_is_fixed(m->x.type) ? 8 : 4);
    ret->fair[0] += made;
    ret->at_least[0] += made;
    return pieces;
}

static uint32_t needed(const struct made *m, const struct part *p, uint32_t depth, struct need *ret)
{
    *ret = (struct need){ 0 };
    if (m->call.n_in > 1)
        ret->fair[1] = (uint64_t)m->filter[0] * m->filter[1] * (m->call.op->id == OP_Conv2d ? up(depth, 32) : 1) *
                       up(p->end[2] - p->begin[2], 32);
    ret->fair[2] = tile_bytes(&m->y, p->end[0] - p->begin[0], p->end[1] - p->begin[1], p->end[2] - p->begin[2]);
    memcpy(ret->at_least, ret->fair, sizeof ret->fair);
    return window_needed(m, p, depth, ret);
}

static struct part part_at(const struct made *m, const struct binary_box *b, uint32_t line, uint32_t column,
                           uint32_t channel)
{
    uint32_t n[3] = { m->y.dims[1], m->y.dims[2], m->y.dims[3] };
    struct part p = { { line, column, channel }, { line + b->lines, column + b->columns, channel + b->channels } };
    for (int i = 0; i < 3; i++)
        p.end[i] = p.end[i] < n[i] ? p.end[i] : n[i];
    return p;
}

static uint32_t any_part(struct random_graph *r, uint32_t whole, uint32_t step)
{
    uint32_t n = step * (1 + random_below(r, whole / step + 1));
    return n < whole ? n : whole;
}

/* Terms of a product; of a pool all taps, or fewer. */
static uint32_t any_depth(struct random_graph *r, const struct binary_box_op *o)
{
    if (!o->terms || random_below(r, 2))
        return any_part(r, o->whole.depth, o->step.depth);
    return 2 + random_below(r, o->terms - 2);
}

static void boxes_hold_what_their_elements_need(void **state)
{
    (void)state;
    static const enum op_id ops[] = { OP_Conv2d, OP_DepthWiseConv2d, OP_PoolMax2d, OP_PoolAvg2d };
    struct random_graph r = { .seed = 11 };
    for (unsigned i = 0, n = test_scale(CALLS); i < n; i++) {
        struct made m;
        struct binary_box_op o;
        struct need most = { 0 };
        make_call(&r, ops[i % 4], &m);
        if (m.y.dims[1] < 2) /* rows, not an image */
            continue;
        binary_box_op(&m.call, &o);
        assert_true(o.whole.lines == m.y.dims[1] && o.whole.columns == m.y.dims[2] && o.whole.channels == m.y.dims[3]);
        struct binary_box b = { any_part(&r, o.whole.lines, o.step.lines), any_part(&r, o.whole.columns, o.step.columns),
                                any_part(&r, o.whole.channels, o.step.channels), any_depth(&r, &o) };
        uint64_t boxes = 0;
        uint32_t pieces = 0;
        assert_true(binary_box_fits(&o, &b));
        for (uint32_t l = 0; l < o.whole.lines; l += b.lines)
            for (uint32_t w = 0; w < o.whole.columns; w += b.columns)
                for (uint32_t c = 0; c < o.whole.channels; c += b.channels, boxes++) {
                    struct part p = part_at(&m, &b, l, w, c);
                    struct need need;
                    pieces = needed(&m, &p, b.depth, &need);
                    for (int k = 0; k < 3; k++) {
                        more(&most.at_least[k], need.at_least[k]);
                        more(&most.fair[k], need.fair[k]);
                    }
                }
        struct binary_box sides;
        assert_int_equal(binary_box_count(&o, &b, &sides), boxes * m.y.dims[0]);
        if (o.terms)
            assert_int_equal(sides.depth, pieces);
        for (uint32_t k = 0; k < m.call.n_in + 1; k++) {
            uint64_t said = binary_box_operand(&o, &b, k), want = most.at_least[k < m.call.n_in ? k : 2],
                     fair = most.fair[k < m.call.n_in ? k : 2];
            if (said < want || said > 4 * fair + 4 * 2048)
                fail_msg(
                    "%s, call %u: operand %u of a box of %u x %u x %u, %u deep, takes %llu bytes; its elements need %llu",
                    m.call.op->name, i, k, b.lines, b.columns, b.channels, b.depth, (unsigned long long)said,
                    (unsigned long long)want);
        }
    }
}

/* ---- choices ---------------------------------------------------------------------------------------------------------- */

/* Every box in steps: is there one that fits, and what is the least that moves? */
static bool cheapest(const struct tile_ask *a, uint64_t *ret)
{
    const struct binary_box_op *o = a->op;
    bool any = false;
    *ret = UINT64_MAX;
    for (uint32_t l = 0; l < o->whole.lines;) {
        l = l + o->step.lines < o->whole.lines ? l + o->step.lines : o->whole.lines;
        for (uint32_t c = 0; c < o->whole.channels;) {
            c = c + o->step.channels < o->whole.channels ? c + o->step.channels : o->whole.channels;
            struct binary_box b = { l, o->whole.columns, c, o->whole.depth };
            struct binary_moves m;
            if (binary_box_bytes(o, &b, a->roles) > a->budget)
                continue;
            binary_box_moves(o, &b, a->roles, &m);
            any = true;
            *ret = binary_moves_in(&m) + binary_moves_out(&m) < *ret ? binary_moves_in(&m) + binary_moves_out(&m) : *ret;
        }
    }
    return any;
}

static void the_choice_fits_and_moves_little(void **state)
{
    (void)state;
    static const enum op_id ops[] = { OP_Conv2d, OP_DepthWiseConv2d, OP_PoolMax2d, OP_PoolAvg2d };
    struct random_graph r = { .seed = 5 };
    unsigned cut = 0, worse = 0, n = test_scale(CALLS / 3);
    for (unsigned i = 0; i < n; i++) {
        struct made m;
        struct binary_box_op o;
        struct binary_moves moves;
        uint64_t least;
        make_call(&r, ops[i % 4], &m);
        binary_box_op(&m.call, &o);
        uint8_t roles[3] = { random_below(&r, 2) ? ROLE_STREAMS : ROLE_STAYS, ROLE_CONSTANT,
                             random_below(&r, 2) ? ROLE_STREAMS : ROLE_STAYS };
        if (m.call.n_in == 1)
            roles[1] = roles[2];
        struct tile_ask a = { &o, roles, (uint64_t)KIB << random_below(&r, 9) };
        struct tile_choice c = tile_box(&a);
        assert_int_equal(c.found, binary_box_bytes(&o, &o.least, roles) <= a.budget);
        if (!c.found)
            continue;
        assert_true(binary_box_fits(&o, &c.box));
        assert_int_equal(c.bytes, binary_box_bytes(&o, &c.box, roles));
        assert_true(c.bytes <= a.budget);
        if (!cheapest(&a, &least))
            continue;
        binary_box_moves(&o, &c.box, roles, &moves);
        cut += c.box.lines < o.whole.lines || c.box.channels < o.whole.channels;
        worse += binary_moves_in(&moves) + binary_moves_out(&moves) > least + least / 4 + 64 * KIB;
    }
    assert_true(cut > n / 20);
    assert_true(worse <= n / 50); /* halves are not all there is */
}

/* A window of the whole image comes once, whatever its pieces; windows that overlap come again, piece by piece. */
static void pieces_of_windows_come_again(void **state)
{
    (void)state;
    static const uint32_t all[] = { 256, 256 }, one[] = { 1, 1 }, half[] = { 128, 256 }, step[] = { 64, 256 };
    struct made m = { .x = { .type = DT_UQ8, .rank = 4, .dims = { 1, 256, 256, 32 } },
                      .y = { .type = DT_UQ8, .rank = 4, .dims = { 1, 1, 1, 32 } } };
    m.call =
        (struct op_call){ .op = op_get(OP_PoolMax2d), .n_in = 1, .n_out = 1, .in = m.in, .out = m.out, .params = m.params };
    m.in[0] = &m.x, m.out[0] = &m.y;
    set(&m, "filter_size", all, 2);
    set(&m, "stride", one, 2);
    const uint8_t roles[] = { ROLE_STREAMS, ROLE_STAYS };
    struct binary_box_op o;
    struct binary_moves moves;
    binary_box_op(&m.call, &o);
    struct tile_choice c = tile_box(&(struct tile_ask){ &o, roles, 64 * KIB });
    assert_true(c.found && c.bytes <= 64 * KIB && c.box.depth > 1);
    binary_box_moves(&o, &c.box, roles, &moves);
    assert_true(moves.fill == 256 * 256 * 32 && moves.weights == 0);

    m.y.dims[1] = 3; /* lines 0 to 127, 64 to 191, 128 to 255: with 8 of the 128 lines of a window at a time */
    set(&m, "filter_size", half, 2);
    set(&m, "stride", step, 2);
    binary_box_op(&m.call, &o);
    const struct binary_box b = { 3, 1, 32, 8 * 256 };
    binary_box_moves(&o, &b, roles, &moves);
    assert_int_equal(moves.fill, 3 * 128 * 256 * 32);
}

/* A product whose weights do not fit together: with its input in the window they come once, part by part; with both in DRAM
 * one of them comes again. */
static void weights_come_once_where_they_can(void **state)
{
    (void)state;
    static const uint32_t one[] = { 1, 1 };
    struct made m = { .x = { .type = DT_UQ8, .rank = 4, .dims = { 1, 16, 16, 512 } },
                      .w = { .type = DT_SQ8, .rank = 4, .dims = { 1, 1, 512, 512 } },
                      .y = { .type = DT_UQ8, .rank = 4, .dims = { 1, 16, 16, 512 } } };
    m.call =
        (struct op_call){ .op = op_get(OP_Conv2d), .n_in = 2, .n_out = 1, .in = m.in, .out = m.out, .params = m.params };
    m.in[0] = &m.x, m.in[1] = &m.w, m.out[0] = &m.y;
    set(&m, "stride", one, 2);
    set(&m, "dilation", one, 2);
    struct binary_box_op o;
    struct binary_moves moves;
    binary_box_op(&m.call, &o);
    const struct binary_box b = { 8, 16, 128, 512 };
    binary_box_moves(&o, &b, (const uint8_t[]){ ROLE_STAYS, ROLE_CONSTANT, ROLE_STAYS }, &moves);
    assert_true(moves.fill == 0 && moves.spill == 0 && moves.weights == 512 * 512);
    binary_box_moves(&o, &b, (const uint8_t[]){ ROLE_CLIENT, ROLE_CONSTANT, ROLE_STREAMS }, &moves);
    assert_true(moves.spill == 16 * 16 * 512 && moves.outputs == 0 &&
                moves.fill == 0); /* weights for both halves of the lines, or the input for every quarter of the channels */
    assert_true(moves.inputs == 16 * 16 * 512 && moves.weights == 2 * 512 * 512);
    assert_int_equal(binary_box_bytes(&o, &b, (const uint8_t[]){ ROLE_STREAMS, ROLE_CONSTANT, ROLE_STREAMS }),
                     8 * 16 * 512 + 512 * 128 + 8 * 16 * 128);
}

/* ---- finished binaries ------------------------------------------------------------------------------------------------ */

/* What of the window's bytes a whole tensor takes. */
static uint64_t whole_bytes(const struct tensor_desc *d)
{
    uint64_t rows = 1, plain = desc_bytes(d), tiles;
    for (uint32_t i = 0; i + 1 < d->rank; i++)
        rows *= i + 3 == d->rank && d->rank >= 4 && d->dims[d->rank - 3] > 1 ? up(d->dims[i], 8)
                : i + 2 == d->rank && d->rank >= 4 && d->dims[d->rank - 3] > 1
                    ? up(d->dims[i], d->type == DT_UQ8 || d->type == DT_SQ8 ? 8 : 4)
                    : d->dims[i];
    tiles = rows * up(d->rank ? d->dims[d->rank - 1] : 1, 32) * (dtype_is_float(d->type) ? 2 : dtype_bits(d->type) / 8);
    return plain > tiles ? plain : tiles;
}

/* Operands of one node that are whole in the window, and its room for the others: together no more than there is. */
static void check_node(const struct binary_graph *g, uint32_t k, uint64_t vtcm)
{
    const struct binary_node *n = &g->nodes[k];
    uint64_t sum = n->tile.bytes;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        bool counts = t != BINARY_NONE && g->tensors[t].place == PLACE_VTCM;
        for (uint32_t j = 0; j < i && counts; j++) { /* once, also where the result takes the place of an input */
            uint32_t u = j < n->n_in ? n->in[j] : n->out[j - n->n_in];
            counts = u == BINARY_NONE || g->tensors[u].place != PLACE_VTCM || g->tensors[u].offset != g->tensors[t].offset;
        }
        sum += counts ? whole_bytes(&g->tensors[t].desc) : 0;
    }
    if (sum > vtcm)
        fail_msg("node \"%s\" needs %llu bytes of %llu", n->name, (unsigned long long)sum, (unsigned long long)vtcm);
}

/* A command does not do more than one box, where its units are lines, and what it needs of operands in DRAM is no more than
 * the room that the node has. */
static unsigned check_commands(const struct binary_graph *g)
{
    unsigned seen = 0;
    for (uint32_t i = 0; i < g->n_commands; i++) {
        const struct binary_command *c = &g->commands[i];
        const struct binary_node *n = &g->nodes[c->node];
        const struct tensor_desc *y = &g->tensors[n->out[0]].desc;
        uint32_t last = i;
        while (last + 1 < g->n_commands && g->commands[last + 1].node == c->node)
            last++;
        bool lines = y->rank == 4 && y->dims[1] > 1 && y->dims[0] == 1 && g->commands[last].end == y->dims[1];
        if (!lines || (g->chain_of && g->chain_of[c->node] != BINARY_NONE) || !n->tile.box.lines)
            continue;
        if (c->end - c->begin > n->tile.box.lines)
            fail_msg("node \"%s\": a command of %u lines, in a box are %u", n->name, c->end - c->begin, n->tile.box.lines);
        uint64_t made = g->tensors[n->out[0]].place == PLACE_VTCM
                            ? 0
                            : up(c->end - c->begin, 8) * up(n->tile.box.columns, 4) * up(n->tile.box.channels, 32) *
                                  dtype_bits(y->type) / 8;
        assert_true(made == 0 || dtype_is_float(y->type) || made <= n->tile.bytes);
        seen++;
    }
    return seen;
}

static void commands_of_prepared_graphs_fit(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1024 * KIB, 256 * KIB, 64 * KIB };
    static const struct chain_limits chains[2] = { { 0 }, { .bytes = 64 * KIB, .lines = 1, .twice = 200 } };
    unsigned commands = 0, tiles = 0, without = 0, chained = 0, n = test_scale(GRAPHS);
    for (unsigned i = 0; i < n; i++) {
        struct random_graph r;
        check(i % 3 ? random_graph_make_lines(&r, i, 24) : random_graph_make_wide(&r, i, i % 2), "make");
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct prepare_target t = { .passes = prepare_default_passes,
                                        .tensor_align = ALIGN,
                                        .max_tiles = 4,
                                        .order_steps = 5000,
                                        .plan_nodes = 20000,
                                        .vtcm_bytes = sizes[s],
                                        .chains = chains[i % 2] };
            struct ir_graph *g;
            struct binary_image im;
            struct binary b;
            check(ir_clone(r.g, &g), "clone");
            check(prepare(&t, &(struct prepare_opts){ .opt_level = 2 }, g, &im), "prepare");
            check(binary_open(im.data, im.size, &b), "open");
            const struct binary_graph *p = &b.graphs[0];
            for (uint32_t k = 0; k < p->n_nodes; k++) {
                check_node(p, k, sizes[s]);
                tiles += p->nodes[k].tile.box.lines > 0;
                without += p->nodes[k].tile.box.lines == 0 && !(p->nodes[k].op->flags & OP_VIEW) &&
                           !binary_is_transfer(&p->nodes[k]) && !(p->chain_of && p->chain_of[k] != BINARY_NONE);
            }
            for (uint32_t c = 0; c < p->n_chains; c++)
                assert_true(p->nodes[p->chains[c].first + p->chains[c].n - 1].tile.box.lines > 0);
            chained += p->n_chains;
            commands += check_commands(p);
            binary_close(&b);
            binary_image_free(&im);
            ir_graph_free(g);
        }
        random_graph_free(&r);
    }
    print_message("%u tiles, %u nodes without, %u chains, %u commands by lines\n", tiles, without, chained, commands);
    assert_true(chained > n && without * 50 < tiles &&
                (n < GRAPHS || commands > n)); /* few graphs have operators of many boxes outside chains */
}

/* ---- files that lie about tiles --------------------------------------------------------------------------------------- */

static void lie_none(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->box = (struct binary_box){ 0 }; }
static void lie_no_lines(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->box.lines = 0; }
static void lie_many_lines(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->box.lines = 65; }
static void lie_columns(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->box.columns = UINT32_MAX; }
static void lie_channels(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->box.channels = 65; }
static void lie_depth(struct binary_tile *t, const struct binary_graph *g)
{
    (void)g, t->box.depth = 16;
}
static void lie_more(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->bytes++; }
static void lie_less(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->bytes /= 2; }
static void lie_far(struct binary_tile *t, const struct binary_graph *g) { t->offset = g->info.vtcm_used - t->bytes + 1; }
static void lie_farther(struct binary_tile *t, const struct binary_graph *g) { (void)g, t->offset = UINT64_MAX; }

/* Where nobody else is: then only the alignment is wrong (tell makes the window larger). */
static void lie_askew(struct binary_tile *t, const struct binary_graph *g)
{
    t->offset = g->info.vtcm_used + 32;
}
static void lie_over_result(struct binary_tile *t, const struct binary_graph *g)
{
    t->offset = g->tensors[g->nodes[0].out[0]].offset;
}

typedef void lie_fn(struct binary_tile *, const struct binary_graph *);

/* Write the file again with a lie about one node's tile, NULL: as it is. The reader must notice. */
static void tell(const struct binary *b, uint32_t node, lie_fn *lie, size_t number)
{
    const struct binary_graph *p = &b->graphs[0];
    struct binary_node *nodes = mem_array(struct binary_node, p->n_nodes);
    const void **data = mem_array(const void *, p->n_tensors);
    struct binary_image im;
    struct binary c;
    assert_true(nodes && data);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        data[i] = p->tensors[i].place == PLACE_CONST ? p->constants + p->tensors[i].offset : NULL;
    memcpy(nodes, p->nodes, p->n_nodes * sizeof(nodes[0]));
    if (lie)
        lie(&nodes[node].tile, p);
    struct binary_source s = { .info = p->info,
                               .n_tensors = p->n_tensors,
                               .n_nodes = p->n_nodes,
                               .n_commands = p->n_commands,
                               .tensors = p->tensors,
                               .data = data,
                               .nodes = nodes,
                               .commands = p->commands,
                               .n_chains = p->n_chains,
                               .chains = p->chains };
    if (lie == lie_askew)
        s.info.vtcm_bytes = s.info.vtcm_used = p->info.vtcm_used + nodes[node].tile.bytes + ALIGN;
    check(binary_write(&b->target, &s, &im), "write");
    enum status st = binary_open(im.data, im.size, &c);
    if ((st == ST_OK) != !lie)
        fail_msg("node %u, lie %zu: %s", node, number, st == ST_OK ? "not noticed" : status_text());
    if (st == ST_OK)
        binary_close(&c);
    binary_image_free(&im);
    mem_free(data);
    mem_free(nodes);
}

static void tell_all(const char *text, uint32_t node, lie_fn *const *lies, size_t n)
{
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = ALIGN,
                                .max_tiles = 4,
                                .plan_nodes = 1000,
                                .vtcm_bytes = 64 * KIB,
                                .chains = { .bytes = 8 * KIB, .lines = 1, .twice = 200 } };
    struct ir_graph *g;
    struct binary_image im;
    struct binary b;
    check(ir_parse(text, strlen(text), &g), "parse");
    check(prepare(&t, &(struct prepare_opts){ .opt_level = 2 }, g, &im), "prepare");
    check(binary_open(im.data, im.size, &b), "open");
    const struct binary_graph *p = &b.graphs[0];
    bool member = p->chain_of && p->chain_of[node] != BINARY_NONE;
    assert_true(p->nodes[node].tile.box.lines > 0 &&
                (member || (p->nodes[node].tile.bytes > 0 && p->nodes[node].tile.box.channels < 64 &&
                            p->tensors[p->nodes[node].out[0]].place == PLACE_VTCM)));
    for (size_t i = 0; i < n; i++)
        tell(&b, node, lies[i], i);
    binary_close(&b);
    binary_image_free(&im);
    ir_graph_free(g);
}

static void lies_about_tiles_are_noticed(void **state)
{
    (void)state;
    static lie_fn *const lies[] = { NULL,     lie_none, lie_no_lines, lie_many_lines, lie_columns, lie_channels,   lie_depth,
                                    lie_more, lie_less, lie_far,      lie_farther,    lie_askew,   lie_over_result };
    tell_all("graph \"g\" { in %x : uq8[1,64,64,64] scale=0.5 offset=0 tmp %a : uq8[1,8,32,64] scale=0.5 offset=0 tmp %b : "
             "uq8[1,32,8,64] scale=0.5 offset=0 out %y : uq8[1,8,32,64] scale=0.5 offset=0\n"
             " %a = PoolMax2d \"a\" (%x) { filter_size=u32[2](8,2), stride=u32[2](8,2), pad_amount=u32[2,2](0,0,0,0) } %b = "
             "Transpose \"b\" (%a) { perm=u32[4](0,2,1,3) }\n"
             " %y = Transpose \"y\" (%b) { perm=u32[4](0,2,1,3) } }",
             0, lies, sizeof lies / sizeof lies[0]);
}

/* Nodes 1 and 2 are a chain: the first of them has a box and no room, the last one the room of both. */
static void lies_about_tiles_of_chains_are_noticed(void **state)
{
    (void)state;
    static lie_fn *const inside[] = { NULL,         lie_no_lines, lie_many_lines, lie_columns,
                                      lie_channels, lie_depth,    lie_more,       lie_askew };
    static lie_fn *const last[] = { NULL,     lie_none, lie_no_lines, lie_many_lines, lie_columns, lie_channels,   lie_depth,
                                    lie_more, lie_less, lie_far,      lie_farther,    lie_askew,   lie_over_result };
    static const char text[] =
        "graph \"g\" { in %x : uq8[1,64,16,32] scale=0.5 offset=-128 out %y : uq8[1,16,64,32] scale=0.5 offset=-128\n"
        " tmp %a : uq8[1,16,64,32] scale=0.5 offset=-128 tmp %b : uq8[1,16,64,32] scale=0.5 offset=-128\n"
        " %a = Transpose \"a\" (%x) { perm=u32[4](0,2,1,3) } %b = Sigmoid \"b\" (%a) %y = Tanh \"y\" (%b) }";
    tell_all(text, 1, inside, sizeof inside / sizeof inside[0]);
    tell_all(text, 2, last, sizeof last / sizeof last[0]);
}

/* ---- what commands move ----------------------------------------------------------------------------------------------- */

/* Commands of a node share out what it moves; of operands that do not fit, every byte moves at least once. */
static void commands_share_out_what_moves(void **state)
{
    (void)state;
    struct random_graph r;
    struct prepare_target t = {
        .passes = prepare_default_passes, .tensor_align = ALIGN, .max_tiles = 4, .plan_nodes = 1000, .vtcm_bytes = 64 * KIB
    };
    struct binary_image im;
    struct binary b;
    check(random_graph_make_wide(&r, 3, true), "make");
    check(prepare(&t, &(struct prepare_opts){ .opt_level = 2 }, r.g, &im), "prepare");
    check(binary_open(im.data, im.size, &b), "open");
    const struct binary_graph *p = &b.graphs[0];
    struct binary_moves *of = mem_array(struct binary_moves, p->n_commands), sum = { 0 }, all = { 0 }, m;
    struct binary_transfers moved;
    binary_transfers(p, &moved);
    binary_command_moves(p, of);
    for (uint32_t i = 0; i < p->n_commands; i++)
        sum.inputs += of[i].inputs, sum.outputs += of[i].outputs, sum.weights += of[i].weights, sum.fill += of[i].fill,
            sum.spill += of[i].spill;
    for (uint32_t k = 0; k < p->n_nodes; k++) {
        binary_node_moves(p, k, &m);
        all.inputs += m.inputs, all.outputs += m.outputs, all.weights += m.weights, all.fill += m.fill, all.spill += m.spill;
    }
    assert_memory_equal(&sum, &all, sizeof sum);
    binary_graph_moves(p, &m);
    assert_memory_equal(&m, &all, sizeof sum);
    assert_true(2 * all.fill >= moved.filled + moved.read && 2 * all.spill >= moved.spilled + moved.written &&
                all.outputs > 0 && all.inputs > 0); /* float16 there */
    mem_free(of);
    binary_close(&b);
    binary_image_free(&im);
    random_graph_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies_about_tiles_are_noticed),     cmocka_unit_test(lies_about_tiles_of_chains_are_noticed),
        cmocka_unit_test(commands_share_out_what_moves),    cmocka_unit_test(boxes_hold_what_their_elements_need),
        cmocka_unit_test(the_choice_fits_and_moves_little), cmocka_unit_test(pieces_of_windows_come_again),
        cmocka_unit_test(weights_come_once_where_they_can), cmocka_unit_test(commands_of_prepared_graphs_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of an estimate: no unit of the device does two things at once, commands wait for what they need, boxes are in fast
 * memory together only where there is room for them, and a file gives back what was put into it, whatever bytes it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "handmade.h"
#include "prepared.h"
#include "random_graph.h"

enum { GRAPHS = 60, NODES = 24, THREADS = 3, ALIGN = 64 };

static const struct cost_device device = { .clock_mhz = 1000,
                                           .matrix_macs = 1024,
                                           .vector_units = THREADS,
                                           .vector_percent = 400,
                                           .vtcm_rate = 200,
                                           .dram_mb_s = 4000,
                                           .launch = { 700, 30 } };

/* All spans of a graph, in the order of the file. */
struct spans {
    struct binary_span *at;
    uint32_t n;
};

static struct spans spans_of(const struct binary_graph *g)
{
    struct spans s = { mem_array(struct binary_span, g->timeline.n_spans + 1), 0 };
    struct binary_span_reader r;
    assert_non_null(s.at);
    for (binary_span_first(g, &r); binary_span_next(&r, &s.at[s.n]); s.n++)
        assert_true(s.n < g->timeline.n_spans);
    assert_int_equal(s.n, g->timeline.n_spans);
    return s;
}

/* ---- units ------------------------------------------------------------------------------------------------------------ */

struct edge {
    uint64_t time;
    int32_t more; /* threads that are busy from then on */
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time) : (x->more > y->more) - (x->more < y->more);
}

/* How much of a unit is busy at once, at most. */
static int32_t peak(const struct spans *s, uint32_t unit)
{
    struct edge *edges = mem_array(struct edge, 2 * s->n + 1);
    uint32_t n = 0;
    int32_t now = 0, most = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct binary_span *p = &s->at[i];
        int32_t width = p->all ? THREADS : 1;
        if (p->unit != unit)
            continue;
        edges[n++] = (struct edge){ p->start, width };
        edges[n++] = (struct edge){ p->start + p->cycles, -width };
    }
    qsort(edges, n, sizeof *edges, by_time);
    for (uint32_t i = 0; i < n; i++) {
        now += edges[i].more;
        most = now > most ? now : most;
    }
    mem_free(edges);
    return most;
}

/* What a command brings is there before it works, and its results are there before they leave. */
static void check_order(const struct binary_graph *g, const struct spans *s)
{
    for (uint32_t i = 0, end; i < s->n; i = end) {
        uint64_t come = 0, from = UINT64_MAX, to = 0, go = UINT64_MAX;
        for (end = i; end < s->n && s->at[end].command == s->at[i].command; end++) {
            const struct binary_span *p = &s->at[end];
            bool works = p->unit == UNIT_MATRIX || p->unit == UNIT_VECTOR;
            come = p->unit == UNIT_FETCH && p->start + p->cycles > come ? p->start + p->cycles : come;
            go = p->unit == UNIT_STORE && p->start < go ? p->start : go;
            from = works && p->start < from ? p->start : from;
            to = works && p->start + p->cycles > to ? p->start + p->cycles : to;
        }
        bool transfer = binary_is_transfer(&g->nodes[g->commands[s->at[i].command].node]);
        assert_true(transfer || (come <= from && to <= go));
    }
}

static void check_cycles(const struct binary_graph *g, const struct spans *s)
{
    uint64_t *of = mem_array(uint64_t, g->n_commands), *node = mem_array(uint64_t, g->n_nodes), sum = 0, end = 0;
    binary_command_cycles(g, of);
    for (uint32_t i = 0; i < g->n_commands; i++) {
        sum += of[i];
        node[g->commands[i].node] += of[i];
    }
    for (uint32_t i = 0; i < s->n; i++)
        end = s->at[i].start + s->at[i].cycles > end ? s->at[i].start + s->at[i].cycles : end;
    assert_int_equal(sum, g->info.cycles);
    assert_int_equal(end, g->info.cycles);
    for (uint32_t k = 0; k < g->n_nodes; k++)
        if (!g->chain_of || g->chain_of[k] == BINARY_NONE)
            assert_int_equal(node[k], g->nodes[k].cycles);
    mem_free(of);
    mem_free(node);
}

/* ---- random graphs ---------------------------------------------------------------------------------------------------- */

static void nothing_is_in_two_places(void **state)
{
    (void)state;
    uint32_t seen[UNIT_COUNT] = { 0 };
    for (uint32_t i = 0; i < GRAPHS; i++) {
        static const uint64_t windows[] = { 1 << 20, 64 << 10, 16 << 10 };
        struct random_graph r;
        struct prepared p;
        check((i % 2 ? random_graph_make_lines : random_graph_make)(&r, 4001 + i, NODES), "make");
        struct cost_device d = device;
        d.vtcm_bytes = windows[i % 3];
        struct prepare_target t = { .passes = prepare_default_passes,
                                    .tensor_align = ALIGN,
                                    .max_tiles = 32,
                                    .plan_nodes = 1000,
                                    .order_steps = 1000,
                                    .vtcm_bytes = d.vtcm_bytes,
                                    .chains = { .bytes = 4096, .lines = 1, .twice = 100 },
                                    .device = &d };
        prepared_make(&p, r.g, &t, &(struct prepare_opts){ .opt_level = 2 });
        const struct binary_graph *g = &p.b.graphs[0];
        struct spans s = spans_of(g);
        assert_true(peak(&s, UNIT_MATRIX) <= 1 && peak(&s, UNIT_VECTOR) <= THREADS && peak(&s, UNIT_FETCH) <= 1 &&
                    peak(&s, UNIT_STORE) <= 1);
        check_order(g, &s);
        check_cycles(g, &s);
        for (uint32_t k = 0; k < s.n; k++)
            seen[s.at[k].unit]++;
        mem_free(s.at);
        unmake(&p);
        random_graph_free(&r);
    }
    for (uint32_t u = 0; u < UNIT_COUNT; u++)
        assert_true(seen[u] > GRAPHS);
}

/* Level 3 tries what level 2 does, and keeps what is faster; both give the same results (test_vtcm.c). */
static void more_effort_is_never_slower(void **state)
{
    (void)state;
    uint32_t faster = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct random_graph r;
        uint64_t cycles[4];
        check((i % 2 ? random_graph_make_lines : random_graph_make)(&r, 5001 + i, NODES), "make");
        for (uint32_t level = 2; level <= 3; level++) {
            struct cost_device d = device;
            struct prepared p;
            d.vtcm_bytes = 24 << 10;
            struct prepare_target t = { .passes = prepare_default_passes,
                                        .tensor_align = ALIGN,
                                        .max_tiles = 32,
                                        .plan_nodes = 1000,
                                        .order_steps = 1000,
                                        .vtcm_bytes = d.vtcm_bytes,
                                        .chains = { .bytes = 4096, .lines = 1, .twice = 100 },
                                        .device = &d };
            prepared_make(&p, r.g, &t, &(struct prepare_opts){ .opt_level = level });
            cycles[level] = p.b.graphs[0].info.cycles;
            unmake(&p);
        }
        assert_true(cycles[3] <= cycles[2]);
        faster += cycles[3] < cycles[2];
        random_graph_free(&r);
    }
    print_message("%u of %d graphs are faster\n", faster, (int)GRAPHS);
    assert_true(faster > 0);
}

/* ---- two boxes -------------------------------------------------------------------------------------------------------- */

/* When work on a node begins and ends, and its first transfer begins. */
static void times_of(const struct spans *s, uint32_t node, uint64_t *fetch, uint64_t *end)
{
    *fetch = UINT64_MAX;
    *end = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct binary_span *p = &s->at[i];
        if (p->node == node && p->unit == UNIT_FETCH && p->start < *fetch)
            *fetch = p->start;
        if (p->node == node && (p->unit == UNIT_MATRIX || p->unit == UNIT_VECTOR) && p->start + p->cycles > *end)
            *end = p->start + p->cycles;
    }
}

/* Two products with 256 KiB of weights each, whole or in parts: the weights of the second one come while the first one is at
 * work where there is room for both, and otherwise after it. */
static void weights_come_ahead_where_there_is_room(void **state)
{
    (void)state;
    enum { SIDE = 512, KIB = 1024 };
    uint32_t ahead = 0, behind = 0;
    struct str text;
    str_init(&text);
    str_addf(&text,
             "graph \"g\" { in %%x : uq8[64,%d] scale=0.5 offset=0 tmp %%t : uq8[64,%d] scale=0.5 offset=0 out %%y : "
             "uq8[64,%d] scale=0.5 offset=0\n",
             SIDE, SIDE, SIDE);
    for (int i = 0; i < 2; i++) {
        str_addf(&text, " const %%w%d : sq8[%d,%d] scale=0.25 offset=0 = x\"", i, SIDE, SIDE);
        for (int k = 0; k < SIDE * SIDE; k++)
            str_add(&text, "01");
        str_add(&text, "\"\n");
    }
    str_add(&text, " %t = FullyConnected \"a\" (%x, %w0) %y = FullyConnected \"b\" (%t, %w1) }");
    for (uint64_t window = 96; window <= 1024; window += 32) {
        static const struct pass passes[] = {
            { "order", plan_order }, { "vtcm", tile_vtcm }, { "plan", plan_memory }, { "emit", emit_commands }, {}
        };
        struct cost_device d = device;
        struct prepared p;
        struct ir_graph *g;
        uint64_t fetch, end, unused;
        d.vtcm_bytes = window * KIB;
        d.matrix_macs = 16; /* the first one takes longer than any transfer */
        struct prepare_target t = { .passes = passes,
                                    .tensor_align = ALIGN,
                                    .max_tiles = 16,
                                    .plan_nodes = 1000,
                                    .vtcm_bytes = d.vtcm_bytes,
                                    .device = &d };
        check(ir_parse(str_text(&text), text.n, &g), "parse");
        prepared_make(&p, g, &t, &(struct prepare_opts){ .opt_level = 2 });
        const struct binary_graph *b = &p.b.graphs[0];
        struct spans s = spans_of(b);
        assert_int_equal(b->n_nodes, 2);
        times_of(&s, 1, &fetch, &unused);
        times_of(&s, 0, &unused, &end);
        bool room = b->nodes[0].tile.bytes + b->nodes[1].tile.bytes + 64 * SIDE <=
                    d.vtcm_bytes; /* and what the first one hands to the second */
        if (room ? fetch >= end : fetch < end)
            fail_msg("%llu KiB: tiles of %llu and %llu bytes, %s, and the second one comes at %llu, when the first one ends "
                     "at %llu",
                     (unsigned long long)window, (unsigned long long)b->nodes[0].tile.bytes,
                     (unsigned long long)b->nodes[1].tile.bytes, room ? "both fit" : "not both", (unsigned long long)fetch,
                     (unsigned long long)end);
        *(room ? &ahead : &behind) += 1;
        mem_free(s.at);
        unmake(&p);
        ir_graph_free(g);
    }
    print_message("%u windows with room for both, %u without\n", ahead, behind);
    assert_true(ahead > 0 && behind > 0);
    str_finish(&text);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------ */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Spans of any size and order, some commands without any, some of a chain. */
static void bytes_give_back_what_was_put_in(void **state)
{
    (void)state;
    enum { COMMANDS = 500, MOST = 4 * COMMANDS, MEMBERS = 5 };
    static struct binary_span spans[MOST], sorted[MOST];
    static struct binary_command commands[COMMANDS];
    static uint32_t chain_of[COMMANDS + MEMBERS];
    const struct binary_chain chain = { .first = 0, .n = MEMBERS };
    uint64_t seed = 7;
    uint32_t n = 0;
    for (uint32_t c = 0; c < COMMANDS; c++) {
        commands[c] = (struct binary_command){ .node = c < 100 ? MEMBERS - 1 : c };
        chain_of[c] = c < MEMBERS ? 0 : BINARY_NONE;
        for (uint32_t i = 0; i < next(&seed) % 5; i++) {
            uint32_t node = c < 100 ? (uint32_t)(next(&seed) % MEMBERS) : c, shift = (uint32_t)(next(&seed) % 50);
            spans[n++] = (struct binary_span){ c,
                                               node,
                                               (uint8_t)(next(&seed) % UNIT_COUNT),
                                               next(&seed) % 2,
                                               next(&seed) << 31 >> shift,
                                               1 + (next(&seed) << 20 >> shift),
                                               0 };
        }
    }
    memcpy(sorted, spans, sizeof spans);
    for (uint32_t i = n; i > 1; i--) { /* another order; of one command and unit the same */
        uint32_t k = (uint32_t)(next(&seed) % (n - 1));
        struct binary_span a = spans[k], b = spans[k + 1];
        if (a.command != b.command) {
            spans[k] = b;
            spans[k + 1] = a;
        }
    }
    struct binary_graph g = {
        .n_commands = COMMANDS, .commands = commands, .n_chains = 1, .chains = &chain, .chain_of = chain_of
    };
    const struct binary_timeline line = { .clock_mhz = 1, .threads = 1, .n_spans = n };
    const uint8_t *bytes;
    check(binary_spans_encode(&g, &line, spans, &bytes, &g.span_bytes), "encode");
    g.spans = bytes + 16;
    g.span_bytes -= 16;
    g.timeline = line;
    struct spans back = spans_of(&g);
    for (uint32_t i = 0; i < n; i++) {
        const struct binary_span *a = &back.at[i], *b = &sorted[i];
        assert_true(a->command == b->command && a->node == b->node && a->unit == b->unit && a->all == b->all &&
                    a->start == b->start && a->cycles == b->cycles);
    }
    mem_free(back.at);
    mem_free((void *)bytes);
}

/* A file with any byte of its spans changed, or cut, is refused or read to the end. */
static void damaged_spans_do_no_harm(void **state)
{
    (void)state;
    struct random_graph r;
    struct prepared p;
    struct cost_device d = device;
    d.vtcm_bytes = 64 << 10;
    check(random_graph_make_lines(&r, 4003, NODES), "make");
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = ALIGN,
                                .max_tiles = 8,
                                .plan_nodes = 1000,
                                .vtcm_bytes = d.vtcm_bytes,
                                .chains = { .bytes = 4096, .lines = 1, .twice = 100 },
                                .device = &d };
    prepared_make(&p, r.g, &t, &(struct prepare_opts){ .opt_level = 2 });
    struct bin_header h;
    struct bin_section found = { 0 };
    uint8_t *data = mem_alloc_aligned(4096, p.im.size);
    memcpy(&h, p.im.data, sizeof h);
    for (uint32_t i = 0; i < h.n_sections; i++) {
        struct bin_section s;
        memcpy(&s, (const uint8_t *)p.im.data + sizeof h + i * sizeof s, sizeof s);
        found = s.kind == SEC_SPANS ? s : found;
    }
    assert_true(found.size > 16);
    uint32_t refused = 0;
    for (uint64_t i = 0; i < found.size; i++)
        for (uint32_t bit = 0; bit < 8; bit++) {
            struct binary b;
            memcpy(data, p.im.data, p.im.size);
            data[found.offset + i] ^= (uint8_t)(1u << bit);
            hm_repair(data, p.im.size);
            if (binary_open(data, p.im.size, &b) != ST_OK) {
                assert_non_null(strstr(status_text(), "estimate"));
                refused++;
                continue;
            }
            struct spans s = spans_of(&b.graphs[0]);
            mem_free(s.at);
            binary_close(&b);
        }
    assert_true(refused > found.size);
    mem_free(data);
    unmake(&p);
    random_graph_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_in_two_places),
        cmocka_unit_test(more_effort_is_never_slower),
        cmocka_unit_test(weights_come_ahead_where_there_is_room),
        cmocka_unit_test(bytes_give_back_what_was_put_in),
        cmocka_unit_test(damaged_spans_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

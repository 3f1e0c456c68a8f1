/* SPDX-License-Identifier: Apache-2.0 */
/* Fast memory of any size gives the same bits, and the plan keeps its promises: nothing lies beyond the window, and nobody's
 * bytes are overwritten while somebody will read them. That is checked on the finished binary, byte by byte, without looking
 * at what the compiler thought. What is live between two steps is all that a run needs of its window. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/program.h"
#include "prepare/prepare.h"
#include "prepare/tile_vtcm.h"
#include "prepared.h"
#include "random_graph.h"
#include "test_scale.h"

enum { GRAPHS = 400, MAX_IO = 64, ALIGN = 64, NODES = 24, KIB = 1024 };

static bool with_chains;

static const struct binary_graph *make(struct prepared *p, const struct ir_graph *g, uint64_t vtcm, uint32_t level)
{
    static const struct chain_limits chains[2] = { { 0 }, { .bytes = 4 * KIB, .lines = 1, .twice = 200 } };
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = ALIGN,
                                .max_tiles = 4,
                                .order_steps = level == 1 ? 0 : 5000,
                                .plan_nodes = 20000,
                                .vtcm_bytes = vtcm,
                                .chains = chains[with_chains] };
    struct prepare_opts o = { .opt_level = level };
    prepared_make(p, g, &t, &o);
    return &p->b.graphs[0];
}

/* ---- the checker ------------------------------------------------------------------------------------------------------ */

/* Who wrote each byte last, of the two memories. A tensor is known by the number of the value that it holds, so that a view
 * has the number of its input. */
struct memory {
    uint64_t bytes[2];
    uint32_t *owner[2];
};

static struct memory *memory_new(uint64_t vtcm, uint64_t spill)
{
    struct memory *m = mem_new(struct memory);
    assert_non_null(m);
    m->bytes[0] = vtcm, m->bytes[1] = spill;
    for (int i = 0; i < 2; i++)
        assert_non_null(m->owner[i] = mem_array(uint32_t, m->bytes[i] + 1));
    return m;
}

static void memory_free(struct memory *m)
{
    mem_free(m->owner[0]);
    mem_free(m->owner[1]);
    mem_free(m);
}

static int which(const struct binary_tensor *t)
{
    return t->place == PLACE_VTCM ? 0 : t->place == PLACE_SPILL ? 1 : -1;
}

static void check_reads(const struct binary_graph *g, const struct memory *m, const uint32_t *value,
                        const struct binary_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct binary_tensor *x = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]];
        for (uint64_t at = 0; x && which(x) >= 0 && at < desc_bytes(&x->desc); at++)
            if (m->owner[which(x)][x->offset + at] != value[n->in[i]])
                fail_msg("node \"%s\" reads tensor \"%s\" when something else is there", n->name, x->name);
    }
}

/* The room of a node's tile, or of its chain's, belongs to nobody else while it runs: it is overwritten before, and nothing
 * is written over it. */
static void use_room(const struct binary_graph *g, struct memory *m, uint32_t k)
{
    const struct binary_chain *c = g->chain_of && g->chain_of[k] != BINARY_NONE ? &g->chains[g->chain_of[k]] : NULL;
    uint32_t last = c ? c->first + c->n - 1 : k;
    const struct binary_tile *t = &g->nodes[last].tile;
    assert_true(t->offset + t->bytes <= m->bytes[0]);
    for (uint64_t at = 0; at < t->bytes; at++) {
        uint32_t *owner = &m->owner[0][t->offset + at];
        if (k != (c ? c->first : k) && *owner != BINARY_NONE)
            fail_msg("node \"%s\": something was written over its tile", g->nodes[k].name);
        *owner = BINARY_NONE;
    }
}

static void check_plan(const struct binary_graph *g, uint64_t vtcm)
{
    struct memory *m = memory_new(vtcm, g->info.spill_fill_bytes);
    uint32_t *value = mem_array(uint32_t, g->n_tensors);
    uint64_t out = 0, back = 0;
    for (uint32_t t = 0; t < g->n_tensors; t++)
        value[t] = t + 1;
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        use_room(g, m, k);
        check_reads(g, m, value, n);
        for (uint32_t i = 0; i < n->n_out; i++) {
            const struct binary_tensor *y = &g->tensors[n->out[i]],
                                       *x = n->n_in && n->in[0] != BINARY_NONE ? &g->tensors[n->in[0]] : NULL;
            assert_int_not_equal(y->io == 0 && y->place == PLACE_SCRATCH, 1);
            if (which(y) < 0)
                continue;
            assert_true(y->offset + desc_bytes(&y->desc) <= m->bytes[which(y)]);
            if (n->op->flags & OP_VIEW && x && x->place == y->place && x->offset == y->offset)
                value[n->out[i]] = value[n->in[0]];
            for (uint64_t at = 0; at < desc_bytes(&y->desc); at++)
                m->owner[which(y)][y->offset + at] = value[n->out[i]];
        }
        for (uint64_t at = 0; at < n->tile.bytes; at++)
            assert_int_equal(m->owner[0][n->tile.offset + at], BINARY_NONE);
        const struct binary_chain *c = g->chain_of && g->chain_of[k] != BINARY_NONE ? &g->chains[g->chain_of[k]] : NULL;
        for (uint32_t i = 0; c && c->first + c->n - 1 == k && i < c->n; i++) /* members read while the last one writes */
            check_reads(g, m, value, &g->nodes[c->first + i]);
        if (n->op->id == OP_TcmToDram) {
            assert_int_equal(g->tensors[n->in[0]].place, PLACE_VTCM);
            assert_int_equal(g->tensors[n->out[0]].place, PLACE_SPILL);
            out += desc_bytes(&g->tensors[n->in[0]].desc);
        }
        if (n->op->id == OP_DramToTcm) {
            assert_int_equal(g->tensors[n->in[0]].place, PLACE_SPILL);
            assert_int_equal(g->tensors[n->out[0]].place, PLACE_VTCM);
            back += desc_bytes(&g->tensors[n->in[0]].desc);
        }
    }
    assert_true(g->info.vtcm_used <= vtcm);
    assert_int_equal(g->info.vtcm_bytes, vtcm);
    struct binary_transfers moves;
    binary_transfers(g, &moves);
    assert_int_equal(moves.spilled > 0, out > 0);
    assert_int_equal(moves.filled > 0, back > 0);
    mem_free(value);
    memory_free(m);
}

/* ---- results ---------------------------------------------------------------------------------------------------------- */

struct buffers {
    void *data[MAX_IO];
    uint32_t n;
};

static void buffers_free(struct buffers *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        mem_free(b->data[i]);
}

/* Somebody else computes in the window between all steps of a run, and only what is live is put back. */
struct stranger {
    struct exec_program *p;
    uint64_t bytes, kept, most; /* of the window; saved in all, and at once */
    uint8_t *window, *backup;
    _Atomic uint32_t word, stop; /* asks for it now and then; no more */
    bool always;                 /* behind every command */
};

static uint64_t half_done; /* times that a run was interrupted inside a step */

static void interrupt(void *arg, uint32_t step)
{
    struct stranger *s = arg;
    atomic_store(&s->word, s->always);
    half_done += s->p->begun > step;
    memset(s->backup, 0x5A, s->bytes);
    uint64_t kept = exec_save_window(s->p, step, s->backup);
    memset(s->window, 0xA5, s->bytes);
    exec_restore_window(s->p, step, s->backup);
    s->kept += kept;
    s->most = kept > s->most ? kept : s->most;
}

static void *ask(void *arg)
{
    struct stranger *s = arg;
    while (!atomic_load(&s->stop)) {
        atomic_store(&s->word, 1);
        sched_yield();
    }
    return NULL;
}

/* Steps run beside each other until somebody asks, which is any time; once behind every command. */
static void run_asked(struct stranger *s, struct exec_run *r)
{
    pthread_t thread;
    r->give_way = &s->word;
    atomic_store(&s->word, s->always = true);
    check(exec_run(s->p, r), "run");
    s->always = false;
    assert_int_equal(pthread_create(&thread, NULL, ask, s), 0);
    for (int i = 0; i < 3; i++)
        check(exec_run(s->p, r), "run");
    atomic_store(&s->stop, 1);
    pthread_join(thread, NULL);
}

static uint64_t saved, saved_less; /* bytes by all runs; runs that never had to save all of their window */

static struct buffers run(const struct binary_graph *g, uint64_t seed, struct team *team)
{
    struct random_graph r = { .seed = seed };
    struct buffers b = { .n = g->n_io };
    struct exec_binding bind[MAX_IO] = { { 0 } };
    struct stranger s = { .bytes = g->info.vtcm_used };
    assert_true(b.n <= MAX_IO);
    for (uint32_t i = 0; i < b.n; i++) {
        const struct tensor_desc *d = &g->tensors[g->io[i]].desc;
        assert_non_null(bind[i].data = b.data[i] = mem_alloc_aligned(64, desc_bytes(d)));
        if (i < g->info.n_inputs)
            random_fill(&r, d, b.data[i]);
    }
    assert_non_null(s.window = mem_alloc_aligned(4096, s.bytes + 1));
    assert_non_null(s.backup = mem_alloc(s.bytes + 1));
    memset(s.window, 0xA5, s.bytes + 1);
    check(exec_load(g, &(struct exec_opts){ .isa = cpu_isa(), .team = team, .vtcm = s.window }, &s.p), "load");
    for (int again = 0; again < (team ? 3 : 2); again++) {
        struct exec_run run = { .io = bind, .between = again ? interrupt : NULL, .between_arg = &s };
        for (uint32_t i = g->info.n_inputs; i < b.n; i++)
            memset(b.data[i], 0x55, desc_bytes(&g->tensors[g->io[i]].desc));
        if (again < 2)
            check(exec_run(s.p, &run), "run");
        else
            run_asked(&s, &run);
    }
    assert_int_equal(s.window[s.bytes], 0xA5);
    saved += s.kept;
    saved_less += s.kept && s.most < s.bytes;
    exec_unload(s.p);
    mem_free(s.window);
    mem_free(s.backup);
    return b;
}

static void same(const struct binary_graph *g, const struct buffers *a, const struct buffers *b)
{
    assert_int_equal(a->n, b->n);
    for (uint32_t i = g->info.n_inputs; i < a->n; i++)
        assert_memory_equal(a->data[i], b->data[i], desc_bytes(&g->tensors[g->io[i]].desc));
}

static uint64_t moved(const struct binary_graph *g)
{
    struct binary_moves m;
    binary_graph_moves(g, &m);
    return binary_moves_in(&m) + binary_moves_out(&m);
}

static void any_size_gives_the_same_bits(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1 << 20, 65536, 16384, 8192, 2048, 256 };
    unsigned n = test_scale(GRAPHS), with_transfers = 0, with_streams = 0, chained = 0;
    for (unsigned i = 0; i < n; i++) {
        struct random_graph r;
        struct prepared plain, small;
        with_chains = i % 2;
        check((with_chains ? random_graph_make_lines : random_graph_make)(&r, 1 + i, NODES), "make");
        const struct binary_graph *g = make(&plain, r.g, 0, 2);
        struct buffers want = run(g, i, NULL);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            uint64_t before = UINT64_MAX;
            for (uint32_t level = 1; level <= 3; level++) {
                const struct binary_graph *h = make(&small, r.g, sizes[s], level);
                check_plan(h, sizes[s]);
                struct buffers got = run(h, i, NULL);
                same(h, &want, &got);
                struct binary_transfers t;
                binary_transfers(h, &t);
                with_transfers += t.filled > 0;
                with_streams += t.read + t.written > 0;
                chained += h->n_chains > 0 && t.filled > 0;
                if (moved(h) > before)
                    fail_msg("graph %u, %llu bytes: level %u moves %llu bytes, the one below %llu", i,
                             (unsigned long long)sizes[s], level, (unsigned long long)moved(h), (unsigned long long)before);
                before = moved(h);
                buffers_free(&got);
                unmake(&small);
            }
        }
        buffers_free(&want);
        unmake(&plain);
        random_graph_free(&r);
    }
    assert_true(with_transfers > n && with_streams > n && chained > n / 10 && saved > 0 &&
                saved_less > n); /* the test has something to test */
}

static void any_moment_gives_the_same_bits(void **state)
{
    (void)state;
    struct team *team;
    check(team_create(3, &team), "team");
    for (unsigned i = 0, n = test_scale(GRAPHS / 4); i < n; i++) {
        struct random_graph r;
        struct prepared plain, small;
        with_chains = i % 2;
        check((with_chains ? random_graph_make_lines : random_graph_make)(&r, 1001 + i, NODES), "make");
        const struct binary_graph *g = make(&plain, r.g, 0, 2), *h = make(&small, r.g, 8192, 2);
        struct buffers want = run(g, i, NULL), got = run(h, i, team);
        same(h, &want, &got);
        buffers_free(&want);
        buffers_free(&got);
        unmake(&small);
        unmake(&plain);
        random_graph_free(&r);
    }
    team_free(team);
    assert_true(half_done > test_scale(GRAPHS / 4));
}

/* An encoder and a decoder with long skips: what was made first is read last. */
static const char unet[] =
    "graph \"u\" {\n"
    " in %x : uq8[1,64,64,32] scale=0.5 offset=-128\n out %y : uq8[1,64,64,32] scale=0.5 offset=-128\n"
    " tmp %a : uq8[1,64,64,64] scale=0.5 offset=-128\n tmp %pa : uq8[1,32,32,64] scale=0.5 offset=-128\n"
    " tmp %b : uq8[1,32,32,128] scale=0.5 offset=-128\n tmp %pb : uq8[1,16,16,128] scale=0.5 offset=-128\n"
    " tmp %c : uq8[1,16,16,256] scale=0.5 offset=-128\n tmp %c2 : uq8[1,16,16,256] scale=0.5 offset=-128\n"
    " tmp %ub : uq8[1,32,32,256] scale=0.5 offset=-128\n tmp %jb : uq8[1,32,32,384] scale=0.5 offset=-128\n tmp %db : "
    "uq8[1,32,32,64] scale=0.5 offset=-128\n"
    " tmp %ua : uq8[1,64,64,64] scale=0.5 offset=-128\n tmp %ja : uq8[1,64,64,128] scale=0.5 offset=-128\n"
    " %a = Concat \"a\" (%x, %x) { axis=u32(3) }\n %pa = PoolMax2d \"pa\" (%a) { filter_size=u32[2](2,2), "
    "stride=u32[2](2,2), pad_amount=u32[2,2](0,0,0,0) }\n"
    " %b = Concat \"b\" (%pa, %pa) { axis=u32(3) }\n %pb = PoolMax2d \"pb\" (%b) { filter_size=u32[2](2,2), "
    "stride=u32[2](2,2), pad_amount=u32[2,2](0,0,0,0) }\n"
    " %c = Concat \"c\" (%pb, %pb) { axis=u32(3) }\n %c2 = Sigmoid \"c2\" (%c)\n"
    " %ub = ResizeNearestNeighbor \"ub\" (%c2)\n %jb = Concat \"jb\" (%ub, %b) { axis=u32(3) }\n"
    " %db = StridedSlice \"db\" (%jb) { ranges=i32[4,3](0,1,1,0,32,1,0,32,1,0,384,6) }\n"
    " %ua = ResizeNearestNeighbor \"ua\" (%db)\n %ja = Concat \"ja\" (%ua, %a) { axis=u32(3) }\n"
    " %y = StridedSlice \"y\" (%ja) { ranges=i32[4,3](0,1,1,0,64,1,0,64,1,0,128,4) }\n}\n";

static void more_room_moves_less(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 64, 256, 512, 1024, 2048, 4096, 8192 };
    struct ir_graph *g;
    struct prepared plain, small;
    struct team *team;
    uint64_t before = UINT64_MAX, filled = 0;
    with_chains = false;
    check(team_create(3, &team), "team");
    check(ir_parse(unet, sizeof unet - 1, &g), "parse");
    const struct binary_graph *p = make(&plain, g, 0, 2);
    struct buffers want = run(p, 7, NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (uint32_t level = 1; level <= 3; level++) {
            const struct binary_graph *h = make(&small, g, sizes[s] * KIB, level);
            check_plan(h, sizes[s] * KIB);
            struct buffers got = run(h, 7, team);
            same(h, &want, &got);
            if (level == 2) {
                if (moved(h) > before)
                    fail_msg("%llu KiB move %llu bytes, less room %llu", (unsigned long long)sizes[s],
                             (unsigned long long)moved(h), (unsigned long long)before);
                before = moved(h);
                struct binary_transfers t;
                binary_transfers(h, &t);
                filled += t.filled;
            }
            buffers_free(&got);
            unmake(&small);
        }
    assert_int_equal(before, 2 * 64 * 64 * 32); /* with room enough, what the client brings and takes */
    assert_true(filled > 0);
    buffers_free(&want);
    unmake(&plain);
    ir_graph_free(g);
    team_free(team);
}

/* Lines that members of a chain hand to each other lie in the chain's room in the window, where one thread computes: its
 * place in scratch is not touched. */
static void lines_lie_in_the_window(void **state)
{
    (void)state;
    static const char text[] =
        "graph \"g\" { in %x : uq8[1,64,16,32] scale=0.5 offset=-128 out %y : uq8[1,16,64,32] scale=0.5 offset=-128\n"
        " tmp %a : uq8[1,16,64,32] scale=0.5 offset=-128 tmp %b : uq8[1,16,64,32] scale=0.5 offset=-128\n"
        " %a = Transpose \"a\" (%x) { perm=u32[4](0,2,1,3) } %b = Sigmoid \"b\" (%a) %y = Tanh \"y\" (%b) }";
    struct ir_graph *g;
    struct prepared made;
    struct exec_program *p;
    check(ir_parse(text, sizeof text - 1, &g), "parse");
    with_chains = true;
    const struct binary_graph *b = make(&made, g, 256 * KIB, 2);
    assert_int_equal(b->n_chains, 1);
    const struct binary_chain *c = &b->chains[0];
    const struct binary_tensor *lines = &b->tensors[b->nodes[c->first].out[0]];
    const struct binary_tile *tile = &b->nodes[c->first + c->n - 1].tile;
    assert_true(lines->place == PLACE_LINES && lines->bytes > 0 && tile->bytes >= lines->offset + lines->bytes);
    uint8_t *scratch = mem_alloc_aligned(64, b->info.scratch_bytes), *vtcm = mem_alloc_aligned(64, b->info.vtcm_used),
            *in = mem_alloc_aligned(64, 64 * 16 * 32), *out = mem_alloc_aligned(64, 64 * 16 * 32);
    assert_true(scratch && vtcm && in && out);
    memset(scratch, 0xa5, b->info.scratch_bytes);
    memset(vtcm, 0xa5, b->info.vtcm_used);
    for (int i = 0; i < 64 * 16 * 32; i++)
        in[i] = (uint8_t)(i * 7);
    check(exec_load(b, &(struct exec_opts){ .isa = cpu_isa(), .scratch = scratch, .vtcm = vtcm }, &p), "load");
    check(exec_run(p, &(struct exec_run){ .io = (struct exec_binding[]){ { .data = in }, { .data = out } } }), "run");
    unsigned here = 0, there = 0;
    for (uint64_t i = 0; i < lines->bytes; i++) {
        here += vtcm[tile->offset + lines->offset + i] != 0xa5;
        there += scratch[c->work_offset + lines->offset + i] != 0xa5;
    }
    assert_true(here > lines->bytes / 2 && there == 0);
    exec_unload(p);
    mem_free(scratch);
    mem_free(vtcm);
    mem_free(in);
    mem_free(out);
    unmake(&made);
    ir_graph_free(g);
}

/* ---- the walk alone --------------------------------------------------------------------------------------------------- */

/* Four results of 10 bytes, read in the order they were made; room for three. The last one made drives out what is read
 * last. */
static void the_farthest_leaves_first(void **state)
{
    (void)state;
    static const uint32_t v[] = { 0, 1, 2, 3 };
    const struct vtcm_job jobs[] = {
        { .out = v, .n_out = 1 },   { .out = v + 1, .n_out = 1 }, { .out = v + 2, .n_out = 1 }, { .out = v + 3, .n_out = 1 },
        { .in = v + 3, .n_in = 1 }, { .in = v, .n_in = 1 },       { .in = v + 1, .n_in = 1 },   { .in = v + 2, .n_in = 1 },
    };
    const uint64_t bytes[] = { 10, 10, 10, 10 };
    const struct vtcm_problem p = { .n_values = 4, .n_jobs = 8, .bytes = bytes, .moved = bytes, .jobs = jobs };
    static const struct vtcm_act want[] = { { VTCM_RUN, 0 },  { VTCM_RUN, 1 },  { VTCM_RUN, 2 }, { VTCM_SPILL, 2 },
                                            { VTCM_DROP, 2 }, { VTCM_RUN, 3 },  { VTCM_RUN, 4 }, { VTCM_RUN, 5 },
                                            { VTCM_RUN, 6 },  { VTCM_FILL, 2 }, { VTCM_RUN, 7 } };
    struct vtcm_plan plan;
    check(vtcm_walk(&p, &(struct vtcm_policy){ .room = 30 }, &plan), "walk");
    assert_int_equal(plan.acts.n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < plan.acts.n; i++)
        assert_true(plan.acts.at[i].kind == want[i].kind && plan.acts.at[i].what == want[i].what);
    assert_true(plan.spilled == 10 && plan.filled == 10 && plan.streamed == 0 && plan.unread[2]);
    vtcm_plan_finish(&plan);
    check(vtcm_walk(&p, &(struct vtcm_policy){ .room = 5 }, &plan), "walk");
    assert_true(plan.spilled == 0 && plan.filled == 0 && plan.streamed == 80); /* written once, read once, piece by piece */
    vtcm_plan_finish(&plan);
}

/* A graph with more constants than a device takes is refused with the numbers. */
static void too_many_constants_are_refused(void **state)
{
    (void)state;
    static const float zeros[KIB];
    static const char text[] = "graph \"g\" { in %x : f32[1024] out %y : f32[1024] %y = Relu \"r\" (%x) }";
    struct ir_graph *g;
    struct binary_image im;
    uint32_t c;
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = ALIGN,
                                .max_tiles = 1,
                                .plan_nodes = 1000,
                                .vtcm_bytes = 64 * KIB,
                                .const_kb = 3 };
    struct ir_tensor weights = {
        .name = "w", .desc = { .type = DT_F32, .rank = 1, .dims = { KIB } }, .role = IR_CONST, .data = zeros
    };
    check(ir_parse(text, sizeof text - 1, &g), "parse");
    check(ir_add_const(g, &weights, true, &c), "constant");
    struct ir_node *n = &g->nodes.at[0];
    uint32_t in[2] = { n->in[0], c };
    n->op = op_get(OP_ElementWiseAdd);
    n->in = in;
    n->n_in = 2;
    assert_int_equal(prepare(&t, &(struct prepare_opts){ .opt_level = 2 }, g, &im), ST_NO_MEMORY);
    assert_non_null(strstr(status_text(), "estimated allocation of 4 KB, limit is 3 KB"));
    assert_non_null(strstr(status_text(), "memory usage too large"));
    ir_graph_free(g);
}

/* Hundreds of thousands of commands: what a command takes of the file, with its share of everything else, and that the
 * cycles of commands are those of nodes. */
static void large_graphs_stay_small(void **state)
{
    (void)state;
    enum { LAYERS = 4700, TILES = 64 };
    static const struct cost_device device = { .clock_mhz = 1000,
                                               .matrix_macs = 1024,
                                               .vector_units = 2,
                                               .vector_percent = 400,
                                               .vtcm_rate = 200,
                                               .dram_mb_s = 50000,
                                               .launch = { 700, 30 },
                                               .vtcm_bytes = 1 << 20 };
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = ALIGN,
                                .max_tiles = TILES,
                                .order_steps = 20000,
                                .plan_nodes = 20000,
                                .vtcm_bytes = 1 << 20,
                                .device = &device };
    struct str text;
    struct ir_graph *g;
    struct binary_image im;
    struct binary b;
    str_init(&text);
    str_add(&text, "graph \"large\" { in %t0 : uq8[4194304] scale=0.5 offset=0");
    for (int i = 1; i <= LAYERS; i++)
        str_addf(&text, " %s %%t%d : uq8[4194304] scale=0.5 offset=0", i == LAYERS ? "out" : "tmp", i);
    for (int i = 1; i <= LAYERS; i++)
        str_addf(&text, " %%t%d = %s \"n%d\" (%%t%d)", i, i % 2 ? "Sigmoid" : "Tanh", i, i - 1);
    str_add(&text, " }");
    check(ir_parse(str_text(&text), text.n, &g), "parse");
    check(prepare(&t, &(struct prepare_opts){ .opt_level = 2 }, g, &im), "prepare");
    check(binary_open(im.data, im.size, &b), "open");
    const struct binary_graph *p = &b.graphs[0];
    assert_true(p->n_commands >= 300000);
    print_message("%u commands, %.1f bytes of the file each\n", p->n_commands, (double)im.size / p->n_commands);
    assert_true(im.size <= 36 * (uint64_t)p->n_commands);
    uint64_t *cycles = mem_array(uint64_t, p->n_commands), sum = 0;
    binary_command_cycles(p, cycles);
    for (uint32_t i = 0; i < p->n_commands; i++)
        sum += cycles[i];
    assert_int_equal(sum, p->info.cycles);
    assert_int_equal(p->nodes[0].resources, RESOURCE_VECTOR | RESOURCE_DMA);
    assert_true(p->info.cycles + 2 * (uint64_t)p->n_commands >=
                moved(p) * device.clock_mhz /
                    device.dram_mb_s); /* the DMA engine alone takes so long, each time rounded down */
    mem_free(cycles);
    binary_close(&b);
    binary_image_free(&im);
    ir_graph_free(g);
    str_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_farthest_leaves_first),
        cmocka_unit_test(more_room_moves_less),
        cmocka_unit_test(lines_lie_in_the_window),
        cmocka_unit_test(too_many_constants_are_refused),
        cmocka_unit_test(any_size_gives_the_same_bits), cmocka_unit_test(any_moment_gives_the_same_bits),
        cmocka_unit_test(large_graphs_stay_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

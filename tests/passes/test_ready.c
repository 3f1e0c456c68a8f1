/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that run beside each other: random programs in every order that their waits allow see what they would see one after
 * the other; runs that are paused, that end early, whose buffers lie over each other. */
#include <pthread.h>
#include <setjmp.h>
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
#include "one_team.h"
#include "prepared.h"
#include "random_graph.h"
#include "test_scale.h"

enum { GRAPHS = 400, ORDERS = 6, THREADS = 3, N = 128 * 128, RUNS = 100 };

ONE_TEAM(THREADS);

static const struct prepare_target target = { .passes = prepare_default_passes,
                                              .tensor_align = 64,
                                              .max_tiles = 8,
                                              .order_steps = 5000,
                                              .plan_nodes = 20000 };

static void make(struct prepared *p, const struct ir_graph *g)
{
    struct prepare_opts o = { .opt_level = 2 };
    prepared_make(p, g, &target, &o);
}

static void make_text(struct prepared *p, const char *text)
{
    struct ir_graph *g;
    check(ir_parse(text, strlen(text), &g), "parse");
    make(p, g);
    ir_graph_free(g);
}

/* ---- any allowed order ------------------------------------------------------------------------------------------------ */

/* Memory in which every byte holds the step that wrote it last, by place and by entry of the I/O table. */
struct shadow {
    uint32_t *place[PLACE_COUNT], **io;
};

static uint32_t *shadow_of(const struct shadow *m, const struct binary_tensor *t)
{
    return t->place == PLACE_IO ? m->io[t->offset] : m->place[t->place] ? m->place[t->place] + t->offset : NULL;
}

static void shadow_make(struct shadow *m, const struct binary_graph *g)
{
    *m = (struct shadow){ .io = mem_array(uint32_t *, g->n_io) };
    m->place[PLACE_SCRATCH] = mem_array(uint32_t, g->info.scratch_bytes + 1);
    for (uint32_t i = 0; i < g->n_io; i++)
        m->io[i] = mem_array(uint32_t, desc_bytes(&g->tensors[g->io[i]].desc));
}

static void shadow_free(struct shadow *m, const struct binary_graph *g)
{
    for (uint32_t i = 0; i < g->n_io; i++)
        mem_free(m->io[i]);
    mem_free(m->io);
    mem_free(m->place[PLACE_SCRATCH]);
}

static void mix(uint64_t *hash, uint32_t v)
{
    *hash = (*hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 29;
}

/* What a step sees of the steps before it; then it leaves its own number. A view over its own input does nothing. */
static void shadow_node(const struct shadow *m, const struct binary_graph *g, uint32_t node, uint32_t step, uint64_t *seen)
{
    const struct binary_node *n = &g->nodes[node];
    if (n->op->flags & OP_VIEW && n->n_out == 1 &&
        shadow_of(m, &g->tensors[n->in[0]]) == shadow_of(m, &g->tensors[n->out[0]]))
        return;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct binary_tensor *t = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]];
        uint32_t *at = t ? shadow_of(m, t) : NULL;
        for (uint64_t k = 0; at && k < desc_bytes(&t->desc); k++)
            mix(seen, at[k]);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct binary_tensor *t = n->out[i] == BINARY_NONE ? NULL : &g->tensors[n->out[i]];
        uint32_t *at = t ? shadow_of(m, t) : NULL;
        for (uint64_t k = 0; at && k < desc_bytes(&t->desc); k++)
            at[k] = step + 1;
    }
}

static void shadow_step(const struct shadow *m, const struct binary_graph *g, uint32_t step, uint64_t *seen)
{
    uint32_t last = BINARY_NONE;
    for (uint32_t i = 0; i < g->n_commands; i++) {
        uint32_t node = g->commands[i].node,
                 first = g->chain_of && g->chain_of[node] != BINARY_NONE ? g->chains[g->chain_of[node]].first : node;
        for (uint32_t k = first; g->commands[i].step == step && node != last && k <= node; k++)
            shadow_node(m, g, k, step, seen);
        last = g->commands[i].step == step ? node : last;
    }
}

/* One of the steps that may begin: those that it waits for are done, and so is all that lies a window back. */
static uint32_t pick(struct random_graph *r, const struct exec_step *steps, const bool *done, uint32_t n)
{
    uint32_t low = 0, may[EXEC_WINDOW], count = 0;
    while (done[low])
        low++;
    for (uint32_t s = low; s < n && s < low + EXEC_WINDOW; s++) {
        bool ready = !done[s];
        for (uint32_t i = 0; i < 32 && i < s; i++)
            ready = ready && (!(steps[s].waits >> i & 1) || done[s - 1 - i]);
        if (ready)
            may[count++] = s;
    }
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; i++) /* where workers stop looking there is nothing to find */
        assert_true(may[i] < steps[low].beside);
    return may[random_below(r, count)];
}

static void compare_orders(struct random_graph *r, const struct binary_graph *g)
{
    struct exec_step *steps = mem_array(struct exec_step, g->n_steps);
    uint64_t *want = mem_array(uint64_t, g->n_steps);
    uint8_t *phased = mem_array(uint8_t, g->n_nodes);
    check(depend_phases(g, phased), "phases");
    check(depend_load(g, phased, steps), "depend");
    mem_free(phased);
    for (int order = 0; order <= ORDERS; order++) {
        struct shadow m;
        bool *done = mem_array(bool, g->n_steps + 1);
        shadow_make(&m, g);
        for (uint32_t k = 0; k < g->n_steps; k++) {
            uint32_t s = order ? pick(r, steps, done, g->n_steps) : k;
            uint64_t seen = 0;
            shadow_step(&m, g, s, &seen);
            done[s] = true;
            if (!order)
                want[s] = seen;
            else if (want[s] != seen)
                fail_msg("seed %llu: step %u sees other memory when steps run in another order", (unsigned long long)r->seed,
                         s);
        }
        shadow_free(&m, g);
        mem_free(done);
    }
    mem_free(want);
    mem_free(steps);
}

static void every_order_sees_the_same(void **state)
{
    (void)state;
    unsigned n = test_scale(GRAPHS);
    for (unsigned i = 1; i <= n; i++) {
        struct random_graph r;
        struct prepared p;
        check(i % 4 ? random_graph_make(&r, 7000 + i, 10 + i % 50) : random_graph_make_lines(&r, 7000 + i, 10 + i % 20),
              "make");
        make(&p, r.g);
        compare_orders(&r, &p.b.graphs[0]);
        unmake(&p);
        random_graph_free(&r);
    }
}

/* ---- what waits for what ---------------------------------------------------------------------------------------------- */

/* Two ways from x to y, one of two operators: they need not wait for each other, the sum waits for both. */
static const char two_ways[] =
    "graph \"g\" { in %x : f32[8,8] tmp %a : f32[8,8] tmp %b : f32[8,8] tmp %c : f32[8,8] out %y : f32[8,8]\n"
    "%a = Softmax \"a\" (%x) %b = Softmax \"b\" (%a) %c = LogSoftmax \"c\" (%x) { axis=u32(1) } %y = ElementWiseAdd \"y\" "
    "(%b, %c) }";

static uint32_t step_of(const struct binary_graph *g, const char *node)
{
    for (uint32_t i = 0; i < g->n_commands; i++)
        if (!strcmp(g->nodes[g->commands[i].node].name, node))
            return g->commands[i].step;
    fail_msg("no node \"%s\"", node);
    return 0;
}

static bool waits_for(const struct exec_step *steps, uint32_t s, uint32_t other)
{
    return other < s && steps[s].waits >> (s - 1 - other) & 1;
}

static void ways_do_not_wait(void **state)
{
    (void)state;
    struct prepared p;
    struct exec_step steps[8] = { { 0 } };
    make_text(&p, two_ways);
    const struct binary_graph *g = &p.b.graphs[0];
    uint32_t a = step_of(g, "a"), b = step_of(g, "b"), c = step_of(g, "c"), y = step_of(g, "y");
    check(depend_load(g, (uint8_t[8]){ 0 }, steps), "depend");
    assert_true(waits_for(steps, b, a));
    assert_false(waits_for(steps, c, a) || waits_for(steps, a, c));
    assert_true(waits_for(steps, y, b > c ? b : c));
    assert_int_equal(steps[y - 1].beside, y);
    unmake(&p);
}

/* ---- shares ----------------------------------------------------------------------------------------------------------- */

/* The units of a step's tiles, up to the end of each node. */
static uint64_t units_of_tiles(const struct exec_program *p, uint32_t step)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->g->n_commands; i++) {
        const struct binary_command *c = &p->g->commands[i];
        uint32_t extent = p->nodes[c->node].extent;
        if (c->step == step && c->begin < extent)
            sum += (c->end < extent ? c->end : extent) - c->begin;
    }
    return sum;
}

/* Commands of one node follow each other and are as equal as its units can be; all together they are what the tiles are. */
static void check_shares(const struct exec_program *p, uint32_t step)
{
    uint64_t sum = 0, least = UINT64_MAX, most = 0;
    for (uint32_t i = p->steps[step].begin; i < p->steps[step].end; i++) {
        const struct exec_command *c = &p->commands[i];
        const struct exec_node *node = &p->nodes[c->node];
        bool first = i == p->steps[step].begin || c[-1].node != c->node;
        uint64_t end = c->end < node->extent ? c->end : node->extent, units = end - c->begin;
        assert_true(c->begin < end && (first || c->begin == c[-1].end));
        sum += units;
        least = first || units < least ? units : least;
        most = first || units > most ? units : most;
        assert_true(most - least < 2 * (uint64_t)node->whole);
    }
    assert_int_equal(sum, units_of_tiles(p, step));
}

static void workers_have_equal_shares(void **state)
{
    (void)state;
    struct exec_opts o = { .team = team, .isa = cpu_isa() };
    unsigned n = test_scale(GRAPHS), shared = 0;
    for (unsigned i = 1; i <= n; i++) {
        struct random_graph r;
        struct prepared p;
        struct exec_program *program;
        check(i % 2 ? random_graph_make(&r, 9000 + i, 20) : random_graph_make_lines(&r, 9000 + i, 20), "make");
        make(&p, r.g);
        check(exec_load(&p.b.graphs[0], &o, &program), "load");
        for (uint32_t s = 0; s < p.b.graphs[0].n_steps; s++) {
            check_shares(program, s);
            shared += program->steps[s].end - program->steps[s].begin > 1;
        }
        exec_unload(program);
        unmake(&p);
        random_graph_free(&r);
    }
    assert_true(shared > 0 || n < GRAPHS);
}

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

/* Large enough for workers to be called. */
static const char wide[] =
    "graph \"g\" { in %x : f32[128,128] tmp %a : f32[128,128] tmp %b : f32[128,128] tmp %c : f32[128,128] tmp %d : "
    "f32[128,128] tmp %e : f32[128,128]\n"
    "out %y : f32[128,128] out %z : f32[128,128]\n"
    "%a = Softmax \"a\" (%x) %b = LogSoftmax \"b\" (%x) { axis=u32(1) } %c = Tanh \"c\" (%x) %d = Softmax \"d\" (%b)\n"
    "%e = ElementWiseAdd \"e\" (%a, %d) %y = ElementWiseAdd \"y\" (%e, %c) %z = Transpose \"z\" (%x) { perm=u32[2](1,0) } }";

struct side {
    float x[N], y[N], z[N];
};

static void fill(struct side *s)
{
    for (int i = 0; i < N; i++)
        s->x[i] = (float)(i * 37 % 23) / 8 - 1;
}

static void run_side(struct exec_program *p, struct side *s, void *z, struct exec_run *r)
{
    struct exec_binding io[3] = { { .data = s->x }, { .data = s->y }, { .data = z } };
    r->io = io;
    check(exec_run(p, r), "run");
}

/* Somebody who keeps asking a program for a pause. */
struct presser {
    _Atomic uint32_t pause, stop;
    pthread_t thread;
    struct prepared p;
    struct exec_program *program;
};

static void *press(void *arg)
{
    struct presser *b = arg;
    while (!b->stop)
        b->pause = 1;
    return NULL;
}

/* `want`: inputs and what a run gives that was left alone. */
static void press_begin(struct presser *b, struct side *want)
{
    struct exec_opts o = { .team = team, .isa = cpu_isa() };
    b->pause = b->stop = 0;
    make_text(&b->p, wide);
    fill(want);
    check(exec_load(&b->p.b.graphs[0], &o, &b->program), "load");
    run_side(b->program, want, want->z, &(struct exec_run){ 0 });
    assert_int_equal(pthread_create(&b->thread, NULL, press, b), 0);
}

static void press_end(struct presser *b)
{
    b->stop = 1;
    pthread_join(b->thread, NULL);
    exec_unload(b->program);
    unmake(&b->p);
}

/* Somebody keeps asking for a pause; every run gets there in the end, with the results of one that was left alone. */
static void paused_runs_go_on(void **state)
{
    (void)state;
    struct presser b;
    static struct side want, got;
    press_begin(&b, &want);
    got = want;
    for (int i = 0; i < RUNS; i++) {
        struct exec_binding io[3] = { { .data = got.x }, { .data = got.y }, { .data = got.z } };
        struct exec_run r = { .io = io, .pause = &b.pause };
        enum status st = ST_PAUSED;
        memset(got.y, 0, sizeof got.y);
        memset(got.z, 0, sizeof got.z);
        for (int tries = 0; st == ST_PAUSED; tries++) {
            uint32_t before = r.step;
            r.pause = tries % 4 == 3 ? NULL : &b.pause; /* so that it ends even when nobody is quick enough */
            b.pause = 0;
            st = exec_run(b.program, &r);
            assert_true(st != ST_PAUSED || r.step >= before);
        }
        check(st, "run");
        assert_int_equal(r.step, 0);
        assert_memory_equal(&got, &want, sizeof got);
    }
    press_end(&b);
}

struct visitor {
    _Atomic uint32_t *word;
    uint32_t last, calls;
    bool by_step;
};

static void visit(void *arg, uint32_t step)
{
    struct visitor *v = arg;
    assert_true(step >= v->last + v->by_step);
    v->last = step;
    v->calls++;
    *v->word = 0;
}

/* Before every step when nobody says otherwise; else when it is asked for, which a worker may do at any time: between any
 * two commands. */
static void runs_give_way(void **state)
{
    (void)state;
    struct presser b;
    static struct side want, got;
    press_begin(&b, &want);
    got = want;
    for (int i = 0; i < RUNS; i++) {
        struct visitor v = { .word = &b.pause, .by_step = i % 2 == 0 };
        struct exec_run r = { .between = visit, .between_arg = &v, .give_way = i % 2 ? &b.pause : NULL };
        memset(got.y, 0, sizeof got.y);
        memset(got.z, 0, sizeof got.z);
        run_side(b.program, &got, got.z, &r);
        assert_memory_equal(&got, &want, sizeof got);
        assert_true(i % 2 ? v.calls <= b.p.b.graphs[0].n_commands : v.calls == b.p.b.graphs[0].n_steps - 1);
    }
    press_end(&b);
}

static void stay(void *arg, uint32_t step)
{
    struct visitor *v = arg;
    assert_true(step >= v->last);
    v->last = step;
    v->calls++;
}

/* A word that stays set lets a run rest behind every command, and it gets on: one thread has as many commands as the step
 * has, a team some of them at the same time. */
static void runs_rest_behind_every_command(void **state)
{
    (void)state;
    struct presser b;
    static struct side want, got;
    _Atomic uint32_t word = 1;
    press_begin(&b, &want);
    got = want;
    struct exec_program *one;
    struct exec_opts alone = { .isa = cpu_isa() };
    check(exec_load(&b.p.b.graphs[0], &alone, &one), "load");
    for (int i = 0; i < RUNS; i++) {
        struct visitor v = { 0 };
        struct exec_program *p = i % 2 ? one : b.program;
        struct exec_run r = { .between = stay, .between_arg = &v, .give_way = &word };
        memset(got.y, 0, sizeof got.y);
        memset(got.z, 0, sizeof got.z);
        run_side(p, &got, got.z, &r);
        assert_memory_equal(&got, &want, sizeof got);
        assert_true(i % 2 ? v.calls == p->n_commands - 1 : v.calls >= 1 && v.calls < p->n_commands);
    }
    exec_unload(one);
    press_end(&b);
}

/* A run that was paused may be given up: the next one begins anew. */
static void paused_runs_are_given_up(void **state)
{
    (void)state;
    struct prepared p;
    struct exec_program *program;
    struct exec_opts o = { .team = team, .isa = cpu_isa() };
    static struct side want, got;
    _Atomic uint32_t pause = 1;
    make_text(&p, wide);
    fill(&want);
    got = want;
    check(exec_load(&p.b.graphs[0], &o, &program), "load");
    run_side(program, &want, want.z, &(struct exec_run){ 0 });
    struct exec_binding io[3] = { { .data = got.x }, { .data = got.y }, { .data = got.z } };
    struct exec_run r = { .io = io, .pause = &pause };
    assert_int_equal(exec_run(program, &r), ST_PAUSED);
    assert_int_equal(r.step, 0);
    run_side(program, &got, got.z, &(struct exec_run){ 0 });
    assert_memory_equal(&got, &want, sizeof got);
    exec_unload(program);
    unmake(&p);
}

/* Both outputs in one buffer: what stays is what the later step wrote, as with one thread. */
static void buffers_over_each_other(void **state)
{
    (void)state;
    struct prepared p;
    struct exec_program *alone, *many;
    struct exec_opts o = { .isa = cpu_isa() };
    static struct side want, got;
    make_text(&p, wide);
    fill(&want);
    got = want;
    check(exec_load(&p.b.graphs[0], &o, &alone), "load");
    o.team = team;
    check(exec_load(&p.b.graphs[0], &o, &many), "load");
    for (int i = 0; i < RUNS; i++) {
        bool shared = i % 3 != 0;
        memset(got.z, 0, sizeof got.z);
        memcpy(want.z, got.z, sizeof got.z);
        run_side(alone, &want, shared ? want.y : want.z, &(struct exec_run){ 0 });
        run_side(many, &got, shared ? got.y : got.z, &(struct exec_run){ 0 });
        assert_memory_equal(&got, &want, sizeof got);
    }
    exec_unload(alone);
    exec_unload(many);
    unmake(&p);
}

/* The first in the order of the binary is named, whoever was quicker. */
static void says_who_waits(const struct binary_graph *g)
{
    uint32_t first = 0;
    while (g->nodes[first].op->id != OP_Buffer)
        first++;
    char want[64];
    snprintf(want, sizeof want, "node \"%s\" waits", g->nodes[first].name);
    if (!strstr(status_text(), want))
        fail_msg("%s is not in: %s", want, status_text());
}

/* A window of three frames says nothing in the first two runs, and one of five in the first four; the way beside them
 * does. */
static void early_ends_beside_others(void **state)
{
    (void)state;
    static const char text[] =
        "graph \"g\" { in %x : f32[1,8] tmp %b : f32[3,8] out %y : f32[3,8] tmp %c : f32[1,8] out %z : f32[1,8]\n"
        "tmp %d : f32[5,8] out %w : f32[5,8]\n"
        "%b = Buffer \"b\" (%x) { buffer_size=u32(3), buffer_dim=u32(0), mode=u32(0) } %y = Relu \"y\" (%b)\n"
        "%c = Softmax \"c\" (%x) %z = Relu \"z\" (%c)\n"
        "%d = Buffer \"d\" (%c) { buffer_size=u32(5), buffer_dim=u32(0), mode=u32(0) } %w = Relu \"w\" (%d) }";
    struct prepared p;
    struct exec_program *program;
    struct exec_opts o = { .team = team, .isa = cpu_isa() };
    float x[8], y[24], z[8], w[40];
    make_text(&p, text);
    check(exec_load(&p.b.graphs[0], &o, &program), "load");
    for (int i = 0; i < RUNS; i++) {
        uint8_t made[3] = { 7, 7, 7 };
        struct exec_binding io[4] = { { .data = x },
                                      { .data = y, .produced = &made[0] },
                                      { .data = z, .produced = &made[1] },
                                      { .data = w, .produced = &made[2] } };
        struct exec_run r = { .io = io };
        int phase = i % 6;
        if (phase == 0)
            exec_reset_state(program);
        for (int k = 0; k < 8; k++)
            x[k] = (float)(phase + 1);
        memset(z, 0, sizeof z);
        assert_int_equal(exec_run(program, &r), phase < 4 ? ST_ENDED_EARLY : ST_OK);
        if (phase < 2)
            says_who_waits(&p.b.graphs[0]);
        assert_int_equal(made[0], phase >= 2);
        assert_int_equal(made[1], 1);
        assert_int_equal(made[2], phase >= 4);
        assert_true(z[0] == 0.125f);
        for (int k = 0; k < 24 && phase >= 2; k++)
            assert_true(y[k] == (float)(phase - 1 + k / 8));
    }
    exec_unload(program);
    unmake(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_sees_the_same),      cmocka_unit_test(ways_do_not_wait),
        cmocka_unit_test(workers_have_equal_shares),      cmocka_unit_test(paused_runs_go_on),
        cmocka_unit_test(paused_runs_are_given_up),       cmocka_unit_test(buffers_over_each_other),
        cmocka_unit_test(early_ends_beside_others),       cmocka_unit_test(runs_give_way),
        cmocka_unit_test(runs_rest_behind_every_command),
    };
    return cmocka_run_group_tests(tests, make_team, free_team);
}

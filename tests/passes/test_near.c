/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that begin before the step before theirs is done: whatever order their needs allow, the bits are those of one
 * thread; and networks that are cut alike have such commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/program.h"
#include "prepared.h"
#include "random_graph.h"
#include "test_scale.h"

enum { GRAPHS = 120, ORDERS = 4, MAX_IO = 8 };

static const struct prepare_target target = { .passes = prepare_default_passes,
                                              .tensor_align = 64,
                                              .max_tiles = 16,
                                              .order_steps = 2000,
                                              .plan_nodes = 5000 };

/* What of a run is done, by command and by step. */
struct done {
    bool *command, *step;
    uint32_t low;
};

static bool all_steps(const struct done *d, uint32_t s, uint32_t waits)
{
    for (uint32_t i = 0; i < 32 && i < s; i++)
        if (waits >> i & 1 && !d->step[s - 1 - i])
            return false;
    return true;
}

static bool may_run(const struct exec_program *p, const struct done *d, uint32_t s, uint32_t command)
{
    const struct exec_step *step = &p->steps[s];
    if (d->command[command])
        return false;
    if (all_steps(d, s, step->waits))
        return true;
    if (!step->near || !all_steps(d, s, step->far))
        return false;
    for (uint32_t i = p->needs[command].begin; i < p->needs[command].end; i++)
        if (!d->command[step[-1].begin + i])
            return false;
    return true;
}

/* One of the commands that may run now; the further ahead, the likelier. */
static uint32_t pick(struct random_graph *r, const struct exec_program *p, const struct done *d, uint32_t *ret_step)
{
    uint32_t count = 0, chosen = UINT32_MAX;
    for (uint32_t s = d->low; s < p->g->n_steps && s < d->low + EXEC_WINDOW; s++)
        for (uint32_t c = p->steps[s].begin; c < p->steps[s].end; c++)
            if (may_run(p, d, s, c)) {
                assert_true(s < p->steps[d->low].ahead); /* workers look as far as that */
                count++;
                if (random_below(r, count) < 1 + count / 2) {
                    chosen = c;
                    *ret_step = s;
                }
            }
    assert_int_not_equal(chosen, UINT32_MAX);
    return chosen;
}

static void finish(const struct exec_program *p, struct done *d, uint32_t s, uint32_t command)
{
    bool all = true;
    d->command[command] = true;
    for (uint32_t c = p->steps[s].begin; c < p->steps[s].end; c++)
        all = all && d->command[c];
    d->step[s] = all;
    while (d->low < p->g->n_steps && (d->step[d->low] || p->steps[d->low].begin == p->steps[d->low].end))
        d->step[d->low++] = true;
}

/* A run by hand. */
static void run_in_some_order(struct random_graph *r, struct exec_program *p, unsigned workers)
{
    struct done d = { mem_array(bool, p->n_commands), mem_array(bool, p->g->n_steps + 1), 0 };
    for (uint32_t i = 0, s = 0; i < p->n_commands; i++) {
        uint32_t c = pick(r, p, &d, &s);
        assert_true(command_run(p, c, random_below(r, workers)));
        finish(p, &d, s, c);
    }
    assert_int_equal(d.low, p->g->n_steps);
    mem_free(d.command);
    mem_free(d.step);
}

static uint32_t compare(struct random_graph *r, const struct binary_graph *g, struct team *team)
{
    struct exec_binding one[MAX_IO] = { { 0 } }, many[MAX_IO] = { { 0 } };
    struct exec_program *alone, *p;
    uint32_t near = 0;
    assert_true(g->n_io <= MAX_IO);
    for (uint32_t i = 0; i < g->n_io; i++) {
        const struct tensor_desc *d = &g->tensors[g->io[i]].desc;
        one[i].data = mem_zalloc(desc_bytes(d));
        many[i].data = i < g->info.n_inputs ? one[i].data : mem_zalloc(desc_bytes(d));
        if (i < g->info.n_inputs)
            random_fill(r, d, one[i].data);
    }
    check(exec_load(g, &(struct exec_opts){ .isa = cpu_isa() }, &alone), "load");
    check(exec_run(alone, &(struct exec_run){ .io = one }), "run");
    check(exec_load(g, &(struct exec_opts){ .isa = cpu_isa(), .team = team }, &p), "load");
    for (uint32_t s = 0; s < g->n_steps; s++)
        near += p->steps[s].near;
    check(exec_run(p, &(struct exec_run){ .io = many }), "run");
    for (int order = 0; order <= ORDERS; order++) {
        for (uint32_t i = g->info.n_inputs; i < g->n_io; i++) {
            uint64_t bytes = desc_bytes(&g->tensors[g->io[i]].desc);
            if (memcmp(one[i].data, many[i].data, bytes) != 0)
                fail_msg("seed %llu, %s: \"%s\" differs", (unsigned long long)r->seed, order ? "by hand" : "with threads",
                         g->tensors[g->io[i]].name);
            memset(many[i].data, 0, bytes);
        }
        if (p->team && order < ORDERS)
            run_in_some_order(r, p, team_size(team));
        else
            break;
    }
    for (uint32_t i = 0; i < g->n_io; i++) {
        mem_free(one[i].data);
        if (i >= g->info.n_inputs)
            mem_free(many[i].data);
    }
    exec_unload(alone);
    exec_unload(p);
    return near;
}

static void every_order_gives_the_same_bits(void **state)
{
    (void)state;
    static const unsigned sizes[] = { 2, 3, 7 };
    unsigned n = test_scale(GRAPHS);
    uint32_t near = 0;
    for (unsigned i = 1; i <= n; i++) {
        struct random_graph r;
        struct prepared p;
        struct team *team;
        check(team_create(sizes[i % 3], &team), "team");
        check(i % 4 ? random_graph_make_lines(&r, 3000 + i, 8 + i % 20) : random_graph_make_wide(&r, 3000 + i, i % 8 == 0),
              "make");
        prepared_make(&p, r.g, &target, &(struct prepare_opts){ .opt_level = 2 });
        if (p.b.graphs[0].n_io <= MAX_IO)
            near += compare(&r, &p.b.graphs[0], team);
        unmake(&p);
        random_graph_free(&r);
        team_free(team);
    }
    assert_true(near > 0 || n < GRAPHS);
}

/* ---- who needs whom --------------------------------------------------------------------------------------------------- */

/* Element-wise operators on 64 lines of 512 elements, then a maximum over three lines. */
static const char lines[] =
    "graph \"g\" { in %x : f32[1,64,32,16] in %z : f32[1,64,32,16] tmp %a : f32[1,64,32,16] tmp %b : f32[1,64,32,16]\n"
    "tmp %c : f32[1,64,32,16] out %y : f32[1,64,32,16]\n"
    "%a = ElementWiseAdd \"a\" (%x, %z) %b = ElementWiseMultiply \"b\" (%a, %z)\n"
    "%c = PoolMax2d \"c\" (%b) { filter_size=u32[2](3,3), stride=u32[2](1,1), pad_amount=u32[2,2](1,1,1,1) }\n"
    "%y = ElementWiseSubtract \"y\" (%c, %x) }";

static const struct exec_step *step_of(const struct exec_program *p, const char *node)
{
    for (uint32_t s = 0; s < p->g->n_steps; s++)
        if (!strcmp(p->g->nodes[p->commands[p->steps[s].begin].node].name, node))
            return &p->steps[s];
    fail_msg("no node \"%s\"", node);
    return NULL;
}

static void commands_need_their_own_and_borders(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct prepared p;
    struct ir_graph *g;
    struct exec_program *program;
    struct team *team;
    check(team_create(THREADS, &team), "team");
    check(ir_parse(lines, strlen(lines), &g), "parse");
    prepared_make(&p, g, &target, &(struct prepare_opts){ .opt_level = 2 });
    check(exec_load(&p.b.graphs[0], &(struct exec_opts){ .isa = cpu_isa(), .team = team }, &program), "load");
    const struct exec_step *b = step_of(program, "b"), *c = step_of(program, "c"), *y = step_of(program, "y");
    assert_true(b->near && c->near && y->near);
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct exec_need *own = program->needs + i;
        assert_int_equal(own[b->begin].begin, i);
        assert_int_equal(own[b->begin].end, i + 1);
        assert_int_equal(own[c->begin].begin, i ? i - 1 : 0);
        assert_int_equal(own[c->begin].end, i + 1 < THREADS ? i + 2 : THREADS);
        assert_int_equal(own[y->begin].begin, i);
        assert_int_equal(own[y->begin].end, i + 1);
    }
    exec_unload(program);
    unmake(&p);
    ir_graph_free(g);
    team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_same_bits),
        cmocka_unit_test(commands_need_their_own_and_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

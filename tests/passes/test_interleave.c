/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a team (ready.c) and the team (thread.c) themselves, on small programs and in every order of what their
 * threads do that has few surprises, then in random ones: everything is computed once, nothing before what it waits for, and
 * the caller does not wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "exec/program.h"
#include "interleave.h"
#include "test_scale.h"

#include "../../src/base/thread.c"
#include "../../src/exec/ready.c"

enum { MAX_STEPS = 8, MAX_COMMANDS = 32, RANDOM_RUNS = 4000, PROGRAMS = 3000, PROGRAM_RUNS = 20, SPINNING = 8 };

/* A step of a program. */
struct part {
    uint32_t n;     /* commands */
    uint32_t after; /* bit i: step i */
    bool light, phase;
    bool near; /* command i of n needs those of the step before at the same place, and `more` beside it on either side */
    uint32_t more;
};

/* What happens to a run from outside. */
enum event { NOTHING, PAUSE, GIVE_WAY, ABORT };

struct plan {
    const char *name;
    unsigned threads;
    enum event event;
    bool late; /* somebody was late in the run before */
    struct part parts[MAX_STEPS];
};

static struct {
    const struct plan *plan;
    struct exec_program p;
    struct binary_graph g;
    struct exec_step steps[MAX_STEPS];
    struct exec_command commands[MAX_COMMANDS];
    struct exec_need needs[MAX_COMMANDS];
    struct exec_turn turns[MAX_STEPS];
    struct exec_job job;
    _Atomic uint32_t pause, give_way, abort;
    uint8_t begun[MAX_COMMANDS], done[MAX_COMMANDS];
    unsigned computing;
} now;

/* ---- what the queue calls --------------------------------------------------------------------------------------------- */

static bool steps_done(uint32_t step, uint32_t from, uint32_t to)
{
    bool all = true;
    for (uint32_t i = now.steps[step].begin + from; i < now.steps[step].begin + to; i++)
        all &= now.done[i];
    return all;
}

static uint32_t step_of(uint32_t command)
{
    uint32_t s = 0;
    while (command >= now.steps[s].end)
        s++;
    return s;
}

static bool may_run(uint32_t command)
{
    uint32_t s = step_of(command);
    bool may = true;
    for (uint32_t i = 0; i < s; i++) {
        struct exec_need need = { 0, (uint8_t)now.plan->parts[i].n };
        if (now.plan->parts[s].near && i + 1 == s)
            need = now.needs[command];
        may &= !(now.plan->parts[s].after >> i & 1) || steps_done(i, need.begin, need.end);
    }
    return may;
}

bool command_run(struct exec_program *p, uint32_t index, unsigned worker)
{
    (void)worker;
    if (atomic_load_explicit(&now.abort, memory_order_relaxed)) {
        atomic_store_explicit(&p->job->stop, ST_ABORTED, memory_order_relaxed);
        return false;
    }
    if (now.begun[index]++)
        interleave_fail("a command runs twice");
    if (!may_run(index))
        interleave_fail("a command runs too early");
    now.computing++;
    point(); /* it takes its time */
    now.computing--;
    now.done[index] = 1;
    return true;
}

enum status depend_load(const struct binary_graph *g, const uint8_t *phased, struct exec_step *steps)
{
    (void)g, (void)phased, (void)steps;
    return ST_OK;
}

void early_begin(struct exec_program *p)
{
    (void)p;
}

void early_after(struct exec_program *p, uint32_t node)
{
    (void)p, (void)node;
}

enum status early_end(const struct exec_program *p, const struct exec_binding *io)
{
    (void)p, (void)io;
    return ST_OK;
}

enum status outside_failed(const struct exec_program *p)
{
    (void)p;
    return ST_PACKAGE_OP;
}

/* ---- a program -------------------------------------------------------------------------------------------------------- */

static uint32_t closure(uint32_t after)
{
    uint32_t all = after;
    for (uint32_t s = MAX_STEPS; s-- > 0;)
        all |= all >> s & 1 ? now.plan->parts[s].after : 0;
    return all;
}

static uint32_t backwards(uint32_t step, uint32_t set)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < step; i++)
        bits |= (set >> (step - 1 - i) & 1) << i;
    return bits;
}

static void make_needs(uint32_t s)
{
    const struct part *part = &now.plan->parts[s];
    uint32_t before = part[-1].n;
    for (uint32_t i = 0; i < part->n; i++) {
        uint32_t from = i * before / part->n, to = (i + 1) * before / part->n;
        struct exec_need *need = &now.needs[now.steps[s].begin + i];
        need->begin = (uint8_t)(from > part->more ? from - part->more : 0);
        need->end = (uint8_t)(to + part->more < before ? to + part->more : before);
    }
}

static void make_step(uint32_t s)
{
    const struct part *part = &now.plan->parts[s];
    struct exec_step *step = &now.steps[s];
    uint32_t far = part->after & ~(s ? 1u << (s - 1) : 0), begin = s ? step[-1].end : 0;
    *step = (struct exec_step){ .begin = begin, .end = begin + part->n, .near = part->near, .phase = part->phase };
    step->heavy = !part->light;
    step->waits = backwards(s, part->after);
    step->far = backwards(s, far);
    step->far_all = backwards(s, closure(far));
    step->beside = step->ahead = s + 1;
    for (uint32_t i = 0; i < s; i++) {
        if (!(closure(part->after) >> i & 1))
            now.steps[i].beside = s + 1;
        if (!((part->near ? closure(far) : closure(part->after)) >> i & 1))
            now.steps[i].ahead = s + 1;
    }
    if (part->near)
        make_needs(s);
}

static void make_program(const struct plan *plan)
{
    memset(&now, 0, sizeof(now));
    now.plan = plan;
    for (; now.g.n_steps < MAX_STEPS && plan->parts[now.g.n_steps].n; now.g.n_steps++)
        make_step(now.g.n_steps);
    now.g.info.name = "g";
    now.p = (struct exec_program){ .g = &now.g, .steps = now.steps, .commands = now.commands, .turns = now.turns };
    now.p.needs = now.needs;
    now.p.job = &now.job;
    now.p.alone_runs = plan->late;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------ */

static void others_run(void *arg, uint32_t step)
{
    (void)arg, (void)step;
    if (now.computing)
        interleave_fail("somebody computes while others may run");
    atomic_store(&now.give_way, 0);
}

static void *event_main(void *arg)
{
    (void)arg;
    if (now.plan->event == GIVE_WAY)
        atomic_store(&now.give_way, 1);
    if (now.plan->event == PAUSE)
        atomic_store(&now.pause, 1);
    if (now.plan->event == ABORT)
        atomic_store(&now.abort, 1);
    return NULL;
}

static bool all_before(uint32_t step)
{
    bool right = true;
    for (uint32_t s = 0; s < now.g.n_steps; s++)
        for (uint32_t i = now.steps[s].begin; i < now.steps[s].end; i++)
            right &= now.done[i] == (s < step);
    return right;
}

static void *run_main(void *arg)
{
    (void)arg;
    struct exec_run r = { .pause = &now.pause, .give_way = &now.give_way, .between = others_run };
    team_create(now.plan->threads, &now.p.team);
    pthread_t event = 0;
    if (now.plan->event)
        pthread_create(&event, NULL, event_main, NULL);
    enum status st;
    while ((st = ready_run(&now.p, &r)) == ST_PAUSED) {
        if (!all_before(r.step))
            interleave_fail("a paused run is no number of steps");
        atomic_store(&now.pause, 0);
    }
    if (now.plan->event)
        pthread_join(event, NULL);
    team_free(now.p.team);
    if (st != (atomic_load(&now.job.stop) ? ST_ABORTED : ST_OK))
        interleave_fail("another status");
    if (st == ST_OK && !all_before(now.g.n_steps))
        interleave_fail("something was not computed");
    return NULL;
}

static void explain(const char *why)
{
    char text[512];
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < il.n_choices && n < sizeof(text) - 16; i++)
        if (il.choices[i].chosen)
            n += (size_t)snprintf(text + n, sizeof(text) - n, " %u:%u", i, il.choices[i].chosen);
    fail_msg("%s, %u cores: %s; choices%s", now.plan->name, il.cores, why, text);
}

static void one_run(const struct plan *plan)
{
    make_program(plan);
    const char *why = interleave_run(run_main, NULL);
    if (why)
        explain(why);
}

static uint32_t few_surprises(const struct plan *plan, unsigned most)
{
    uint32_t runs = 0;
    il.cores = 1; /* nobody spins */
    il.random = il.n_given = 0;
    do
        one_run(plan);
    while (++runs, interleave_next(most));
    return runs;
}

static void random_runs(const struct plan *plan, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        il.cores = i % SPINNING ? 1 : FIBERS;
        il.random = UINT64_C(2) * i + 1;
        one_run(plan);
    }
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

static const struct plan plans[] = {
    { "two that end together",
      2,
      NOTHING,
      false,
      { { .n = 1, .after = 0 }, { .n = 1, .after = 0 }, { .n = 1, .after = 3 } } },
    { "two that end together, paused",
      2,
      PAUSE,
      false,
      { { .n = 1, .after = 0 }, { .n = 1, .after = 0 }, { .n = 1, .after = 3 } } },
    { "two that end together, interrupted",
      2,
      GIVE_WAY,
      false,
      { { .n = 1, .after = 0 }, { .n = 1, .after = 0 }, { .n = 1, .after = 3 } } },
    { "two that end together, aborted",
      2,
      ABORT,
      false,
      { { .n = 1, .after = 0 }, { .n = 1, .after = 0 }, { .n = 1, .after = 3 } } },
    { "one behind the other",
      2,
      NOTHING,
      false,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1 }, { .n = 1, .after = 2 } } },
    { "one behind the other, interrupted", 2, GIVE_WAY, false, { { .n = 2, .after = 0 }, { .n = 2, .after = 1 } } },
    { "one behind the other, paused", 2, PAUSE, false, { { .n = 2, .after = 0 }, { .n = 2, .after = 1 } } },
    { "light steps",
      2,
      GIVE_WAY,
      false,
      { { .n = 1, .after = 0, .light = true },
        { .n = 2, .after = 0, .light = true },
        { .n = 1, .after = 2, .light = true } } },
    { "near steps",
      2,
      NOTHING,
      false,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1, .near = true }, { .n = 2, .after = 2, .near = true } } },
    { "near steps, interrupted",
      2,
      GIVE_WAY,
      false,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1, .near = true }, { .n = 2, .after = 2, .near = true } } },
    { "near steps, paused",
      2,
      PAUSE,
      false,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1, .near = true }, { .n = 2, .after = 2, .near = true } } },
    { "phases",
      2,
      NOTHING,
      false,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1, .phase = true }, { .n = 2, .after = 2, .phase = true } } },
    { "phases alone, interrupted",
      2,
      GIVE_WAY,
      true,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1, .phase = true }, { .n = 2, .after = 2, .phase = true } } },
    { "phases alone, paused",
      2,
      PAUSE,
      true,
      { { .n = 2, .after = 0 }, { .n = 2, .after = 1, .phase = true }, { .n = 2, .after = 2, .phase = true } } },
    { "three workers", 3, NOTHING, false, { { .n = 3, .after = 0 }, { .n = 1, .after = 0 }, { .n = 2, .after = 3 } } },
    { "three workers, near steps",
      3,
      NOTHING,
      false,
      { { .n = 3, .after = 0 }, { .n = 3, .after = 1, .near = true, .more = 1 } } },
    { "three workers, interrupted", 3, GIVE_WAY, false, { { .n = 3, .after = 0 }, { .n = 3, .after = 1, .near = true } } },
};

enum { N_PLANS = sizeof(plans) / sizeof(plans[0]) };

static void any_order_with_few_surprises(void **state)
{
    (void)state;
    unsigned percent = test_scale(100), most = percent < 100 ? 1 : percent < 1000 ? 2 : 3;
    for (unsigned i = 0; i < N_PLANS; i++) {
        uint32_t runs = few_surprises(&plans[i], most - (plans[i].threads > 2));
        print_message("%s: %u orders\n", plans[i].name, runs);
    }
}

static void random_orders(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_PLANS; i++)
        random_runs(&plans[i], 0, test_scale(RANDOM_RUNS));
}

static void random_plan(struct plan *plan)
{
    *plan = (struct plan){ .name = "random", .threads = 2 + interleave_random(3), .late = !interleave_random(3) };
    plan->event = (enum event)interleave_random(4);
    uint32_t n = 2 + interleave_random(MAX_STEPS - 1);
    for (uint32_t s = 0; s < n; s++) {
        struct part *p = &plan->parts[s];
        p->n = 1 + interleave_random(4);
        p->after = s ? interleave_random(1u << s) | (interleave_random(3) ? 1u << (s - 1) : 0) : 0;
        p->light = !interleave_random(4);
        p->phase = !interleave_random(4);
        p->near = s && p->n > 1 && p[-1].n > 1 && p->after >> (s - 1) && interleave_random(3);
        p->more = interleave_random(2);
    }
}

static void random_programs(void **state)
{
    (void)state;
    for (unsigned i = 0, n = test_scale(PROGRAMS); i < n; i++) {
        struct plan plan;
        il.random = UINT64_C(2) * i + 1;
        random_plan(&plan);
        random_runs(&plan, i * PROGRAM_RUNS, PROGRAM_RUNS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_order_with_few_surprises), cmocka_unit_test(random_orders),
                                        cmocka_unit_test(random_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

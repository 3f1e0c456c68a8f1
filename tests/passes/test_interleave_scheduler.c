/* SPDX-License-Identifier: Apache-2.0 */
/* The run queue of a device (scheduler.c) in every order of what its threads do that has few
 * surprises, then in random ones: units have one holder, equals keep their order, holders are
 * asked to yield, every turn ends once, and no thread waits for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/forks.h"
#include "interleave.h"
#include "test_scale.h"

static void model_wait_until(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
    struct timespec until = { (time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000) };
    model_futex(0, word, 0, expected, deadline_ns ? &until : NULL);
}
#define futex_wait_until model_wait_until
#define futex_wake(word, n) model_futex(0, (word), 1, (n), NULL)

#include "../../src/base/scheduler.c"

enum { MOST = 5, UNITS = 2, RANDOM_RUNS = 6000, PLANS = 4000, PLAN_RUNS = 10, NO_UNIT = -1 };

/* What happens to one thread's turn. */
struct part {
    uint32_t level;
    int program, device; /* which unit; NO_UNIT: no device unit */
    uint32_t threads, commands;
    uint32_t again;      /* how many more times its thread asks for a turn, without a signal */
    bool ordered, keeps; /* asynchronous; not preemptible */
    bool aborted, late;  /* it has a signal that is triggered, or times out */
};

struct plan {
    const char *name;
    unsigned n;
    bool pauses; /* one more thread pauses the group once */
    struct part parts[MOST];
};

static struct {
    const struct plan *plan;
    struct sched_group group;
    struct sched_unit devices[UNITS];
    struct sched_needs needs[UNITS]; /* of each program */
    struct sched_turn turns[MOST];
    struct cancel cancels[MOST];
    const struct sched_turn *program_of[UNITS], *device_of[UNITS];
    uint64_t last_ticket[UNITS][SCHED_LEVELS];
    uint64_t last_thread[UNITS]; /* that had a turn with this program */
    unsigned ran, cancelled, computing, repeats;
    bool paused, ordered;
} now;

static uint32_t passes; /* over all runs of a plan: patient turns that were passed */

static void hold_units(const struct sched_turn *t, const struct part *part, bool program)
{
    if (now.paused && program)
        interleave_fail("a turn begins while its group is paused");
    if (program && now.program_of[part->program])
        interleave_fail("two turns have one program");
    if (part->device != NO_UNIT && now.device_of[part->device])
        interleave_fail("two turns have one device unit");
    if (program)
        now.program_of[part->program] = t;
    if (part->device != NO_UNIT)
        now.device_of[part->device] = t;
}

static void let_units_go(const struct part *part, bool program)
{
    if (program)
        now.program_of[part->program] = NULL;
    if (part->device != NO_UNIT)
        now.device_of[part->device] = NULL;
}

/* Turns that wait when t is asked for and that it may not pass: those of higher level, and those of its own that are
 * not patient any more. */
static uint32_t not_to_be_passed(const struct sched_turn *t)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < now.plan->n; i++) {
        const struct sched_turn *o = &now.turns[i];
        bool above = o->level > t->level && o->needs == t->needs && !now.ordered;
        if (o->queued && (above || !o->patient))
            set |= 1U << i;
    }
    return set;
}

/* An older turn of the same level and program is passed only while it is patient, and only by the thread that had
 * the last turn. */
static void check_passed(const struct sched_turn *t, const struct part *part, uint32_t unpassable)
{
    bool came_back = now.last_thread[part->program] == t->thread;
    if (t->ticket < now.last_ticket[part->program][part->level] && !now.repeats)
        interleave_fail("a turn passed an older one of its level");

    for (unsigned i = 0; i < now.plan->n && !now.plan->pauses; i++) {
        const struct sched_turn *o = &now.turns[i];
        bool older = o->queued && o->needs == t->needs && o->ticket < t->ticket;
        if (older && o->level > t->level && unpassable >> i & 1)
            interleave_fail("a turn passed one of higher level");
        if (!older || o->level != t->level)
            continue;
        if (unpassable >> i & 1)
            interleave_fail("a turn passed one that is not patient");
        if (!came_back)
            interleave_fail("a turn of another thread passed a patient one");
        passes++;
    }
}

/* Equals with one program begin in the order in which they were asked for, and a preempted one goes on first. */
static void check_order(const struct sched_turn *t, const struct part *part, uint32_t unpassable)
{
    for (unsigned i = 0; i < now.plan->n; i++) {
        const struct sched_turn *o = &now.turns[i];
        bool equal = part->device != NO_UNIT && o->level == t->level && o->needs && o->needs->device == t->needs->device;
        if (equal && o->queued && o->preempted && o->ticket < t->ticket)
            interleave_fail("a turn passed one that was preempted");
    }
    check_passed(t, part, unpassable);
    now.last_ticket[part->program][part->level] = t->ticket;
    now.last_thread[part->program] = t->thread;
}

/* Whoever is wanted above was asked to yield. */
static void check_asked(struct sched_turn *t, const struct part *part)
{
    if (part->keeps)
        return;
    lock_device();
    bool asked = atomic_load_explicit(&t->give_way, memory_order_relaxed);
    bool should = is_wanted(t) || cores_are_taken(t);
    unlock_device();
    if (should && !asked)
        interleave_fail("a turn in the way of a higher one was not asked to yield");
}

/* False: cancelled while it was preempted. */
static bool compute(struct sched_turn *t, const struct part *part)
{
    for (uint32_t i = 0; i < part->commands; i++) {
        point();
        check_asked(t, part);
        if (part->keeps || !atomic_load_explicit(&t->give_way, memory_order_relaxed))
            continue;
        let_units_go(part, false);
        if (!sched_yield_turn(t))
            return false;
        hold_units(t, part, false);
    }
    return true;
}

/* False: it was cancelled before it began. */
static bool one_turn(struct sched_turn *t, const struct part *part)
{
    point();
    uint32_t unpassable = not_to_be_passed(t);
    enum status st = sched_enter(t);
    if (st != ST_OK) {
        if (st != (part->late ? ST_TIMED_OUT : ST_ABORTED) || (!part->late && !part->aborted))
            interleave_fail("a turn was refused for no reason");
        if (part->ordered)
            sched_drop(t);
        return false;
    }
    check_order(t, part, unpassable);
    hold_units(t, part, true);
    bool whole = compute(t, part);
    if (!whole && !part->aborted && !part->late)
        interleave_fail("a turn was cancelled for no reason");
    if (whole)
        let_units_go(part, true);
    else
        now.program_of[part->program] = NULL;
    sched_leave(t);
    return true;
}

static void *turn_main(void *arg)
{
    struct sched_turn *t = arg;
    const struct part *part = &now.plan->parts[t - now.turns];
    for (uint32_t i = 0; i <= part->again; i++) {
        bool ran = one_turn(t, part);
        now.ran += ran;
        now.cancelled += !ran;
        t->cancel = NULL;
    }
    return NULL;
}

static void *abort_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < now.plan->n; i++) {
        if (!now.plan->parts[i].aborted)
            continue;
        atomic_store(&now.cancels[i].abort, 1);
        sched_cancel(&now.cancels[i]);
    }
    return NULL;
}

static void *pause_main(void *arg)
{
    (void)arg;
    sched_pause(&now.group);
    now.paused = true;
    if (now.program_of[0] || now.program_of[1])
        interleave_fail("a turn runs while its group is paused");
    point();
    now.paused = false;
    sched_resume(&now.group);
    return NULL;
}

static void make_turn(unsigned i)
{
    const struct part *part = &now.plan->parts[i];
    struct sched_needs *needs = &now.needs[part->program];
    needs->device = part->device == NO_UNIT ? NULL : &now.devices[part->device];
    needs->threads = part->threads;
    needs->preemptible = !part->keeps;
    now.cancels[i] = (struct cancel){ .deadline_ns = part->late ? CLOCK_TICK_NS * 20 : 0 };
    now.turns[i] = (struct sched_turn){ .group = &now.group, .needs = needs, .level = part->level };
    if (part->aborted || part->late)
        now.turns[i].cancel = &now.cancels[i];
    if (part->ordered)
        sched_order(&now.turns[i]);
}

static void *run_main(void *arg)
{
    (void)arg;
    pthread_t threads[MOST];
    bool aborts = false;
    for (unsigned i = 0; i < now.plan->n; i++) {
        make_turn(i);
        aborts |= now.plan->parts[i].aborted;
    }
    for (unsigned i = 1; i < now.plan->n; i++)
        pthread_create(&threads[i], NULL, turn_main, &now.turns[i]);
    if (now.plan->pauses)
        pthread_create(&threads[0], NULL, pause_main, NULL);
    else if (aborts)
        pthread_create(&threads[0], NULL, abort_main, NULL);
    turn_main(&now.turns[0]);
    for (unsigned i = now.plan->pauses || aborts ? 0 : 1; i < now.plan->n; i++)
        pthread_join(threads[i], NULL);

    if (now.ran + now.cancelled != now.plan->n + now.repeats)
        interleave_fail("a turn was lost");
    if (device.n_waiting || device.running || now.group.active)
        interleave_fail("a turn was left in a list");
    for (uint32_t i = 0; i < SCHED_LEVELS; i++)
        if (now.group.ordered[i] || device.threads[i])
            interleave_fail("a turn was left in the order");
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
    memset(&now, 0, sizeof(now));
    now.plan = plan;
    for (unsigned i = 0; i < plan->n; i++) {
        now.repeats += plan->parts[i].again;
        now.ordered |= plan->parts[i].ordered;
    }
    device.cores = il.cores; /* the number is asked for once */
    const char *why = interleave_run(run_main, NULL);
    if (why)
        explain(why);
}

static uint32_t few_surprises(const struct plan *plan, unsigned most)
{
    uint32_t runs = 0;
    il.cores = 2;
    il.random = il.n_given = 0;
    do
        one_run(plan);
    while (++runs, interleave_next(most));
    return runs;
}

static void random_runs(const struct plan *plan, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        il.cores = 1 + i % 3;
        il.random = UINT64_C(2) * i + 1;
        one_run(plan);
    }
}

/* ---- plans ------------------------------------------------------------------------------------------------------------ */

/* Programs 0 and 1; both of a plan's parts with one program have the same device unit and threads. */
static const struct plan plans[] = {
    { "two equals of one graph",
      2,
      false,
      { { .level = 2, .threads = 1, .device = NO_UNIT, .commands = 1 },
        { .level = 2, .threads = 1, .device = NO_UNIT, .commands = 1 } } },
    { "one comes back while an equal waits",
      2,
      false,
      { { .level = 2, .threads = 1, .device = NO_UNIT, .commands = 1, .again = 2 },
        { .level = 2, .threads = 1, .device = NO_UNIT, .commands = 1 } } },
    { "one comes back while an equal waits for the team",
      2,
      false,
      { { .level = 2, .program = 0, .threads = 2, .commands = 1, .again = 1 },
        { .level = 2, .program = 1, .threads = 2, .commands = 1 } } },
    { "one comes back while an equal and a higher one wait for the graph",
      3,
      false,
      { { .level = 2, .threads = 1, .device = NO_UNIT, .commands = 1, .again = 1 },
        { .level = 2, .threads = 1, .device = NO_UNIT, .commands = 1 },
        { .level = 4, .threads = 1, .device = NO_UNIT, .commands = 1 } } },
    { "high and low on one team",
      2,
      false,
      { { .level = 0, .program = 0, .threads = 2, .commands = 3 },
        { .level = 4, .program = 1, .threads = 2, .commands = 1 } } },
    { "high and low in two contexts",
      2,
      false,
      { { .level = 0, .program = 0, .device = 0, .threads = 2, .commands = 3 },
        { .level = 4, .program = 1, .device = 1, .threads = 2, .commands = 1 } } },
    { "low that keeps its turn",
      2,
      false,
      { { .level = 0, .program = 0, .commands = 2, .keeps = true }, { .level = 4, .program = 1, .commands = 1 } } },
    { "low is aborted",
      2,
      false,
      { { .level = 0, .program = 0, .threads = 2, .commands = 3, .aborted = true },
        { .level = 4, .program = 1, .threads = 2, .commands = 1 } } },
    { "a waiting one is too late",
      2,
      false,
      { { .level = 2, .program = 0, .commands = 1 }, { .level = 2, .program = 0, .commands = 1, .late = true } } },
    { "asynchronous, then synchronous",
      3,
      false,
      { { .level = 2, .program = 0, .commands = 1 },
        { .level = 2, .program = 1, .commands = 1, .ordered = true },
        { .level = 2, .program = 0, .commands = 1, .ordered = true } } },
    { "asynchronous ones of two levels, one aborted",
      3,
      false,
      { { .level = 0, .program = 0, .commands = 2, .ordered = true, .aborted = true },
        { .level = 4, .program = 1, .commands = 1, .ordered = true },
        { .level = 0, .program = 1, .commands = 1 } } },
    { "a pause",
      2,
      true,
      { { .level = 0, .program = 0, .threads = 2, .commands = 2 },
        { .level = 4, .program = 1, .threads = 2, .commands = 1 } } },
};

enum { N_PLANS = sizeof(plans) / sizeof(plans[0]) };

static void any_order_with_few_surprises(void **state)
{
    (void)state;
    unsigned percent = test_scale(100), most = percent < 100 ? 1 : percent < 1000 ? 2 : 3;
    for (unsigned i = 0; i < N_PLANS; i++) {
        passes = 0;
        uint32_t runs = few_surprises(&plans[i], most);
        bool one_graph = plans[i].parts[0].again && plans[i].parts[0].program == plans[i].parts[1].program;
        assert_int_equal(passes > 0, one_graph); /* who comes back at once passes, nothing else does */
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
    *plan = (struct plan){ .name = "random", .n = 2 + interleave_random(3), .pauses = !interleave_random(4) };
    int devices[UNITS];
    uint32_t threads[UNITS];
    bool keeps[UNITS];
    for (unsigned u = 0; u < UNITS; u++) {
        devices[u] = (int)interleave_random(3) - 1;
        threads[u] = interleave_random(3);
        keeps[u] = !interleave_random(5);
    }
    for (unsigned i = 0; i < plan->n; i++) {
        struct part *p = &plan->parts[i];
        p->program = (int)interleave_random(UNITS);
        p->device = devices[p->program];
        p->threads = threads[p->program];
        p->keeps = keeps[p->program];
        p->level = interleave_random(3);
        p->commands = 1 + interleave_random(3);
        p->ordered = !interleave_random(3);
        p->again = p->ordered ? 0 : interleave_random(3);
        p->aborted = !plan->pauses && !interleave_random(4);
        p->late = !p->aborted && !interleave_random(6);
    }
}

static void random_plans(void **state)
{
    (void)state;
    for (unsigned i = 0, n = test_scale(PLANS); i < n; i++) {
        struct plan plan;
        il.random = UINT64_C(2) * i + 1;
        random_plan(&plan);
        random_runs(&plan, i * PLAN_RUNS, PLAN_RUNS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_order_with_few_surprises), cmocka_unit_test(random_orders),
                                        cmocka_unit_test(random_plans) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

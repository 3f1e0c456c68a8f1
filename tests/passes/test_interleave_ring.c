/* SPDX-License-Identifier: Apache-2.0 */
/* The way of runs through a session: the client's side (link_run.c), the ring, the runner (runner.c) and its runs
 * (worker_run.c), in every order of what their threads do that has few surprises, then in random ones. No run is lost,
 * doubled or left waiting; what is of higher priority interrupts the run that is being done; equals keep their order;
 * a run ends with its signal's error only when it has a signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "interleave.h"
#include "rpc/rpc_fault.h"
#include "rpc/rpc_link.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"
#include "test_scale.h"

enum { TIMED_MOST_NS = 1000000 };

/* Sleeps that look for a dead session are sleeps without an end here, so a wake-up that is lost is noticed. */
static void model_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns)
{
    uint64_t at = il.clock + ns;
    struct timespec until = { (time_t)(at / 1000000000), (long)(at % 1000000000) };
    model_futex(0, word, 0, expected, ns && ns <= TIMED_MOST_NS ? &until : NULL);
}

static bool model_spin(_Atomic uint32_t *word, uint32_t old, uint64_t ns)
{
    return ns && atomic_load(word) != old;
}

#define shared_wait model_wait
#define shared_wake(word) model_futex(0, (word), 1, INT32_MAX, NULL)
#define shared_spin model_spin
#define sched_getcpu() ((int)il.now)
#define pthread_cond_timedwait(cond, lock, until) ((void)(until), model_cond_wait((cond), (lock)))
#define thread_start(ret, name, fn, arg) (model_create((ret), NULL, (fn), (arg)) ? ST_SYSTEM : ST_OK)
#define thread_name_self(name) ((void)0)

#include "../../src/rpc/link_run.c"
#undef HOLD_LOOK_NS
#include "../../src/rpc/runner.c"
/* Both have a function of this name. */
#define run worker_run_bound
#include "../../src/rpc/worker_run.c"
#undef run

enum { PROGRAMS = 3, CLIENTS = 3, RANDOM_RUNS = 4000, PLANS = 3000, PLAN_RUNS = 10 };

/* A client's thread: how often it runs which program, and how. */
struct part {
    uint32_t program, priority;
    uint32_t commands, again;
    uint32_t poll_us;
    bool aborted; /* its first run has a signal that is triggered */
    bool after;   /* it begins when the one before it has ended */
};

struct plan {
    const char *name;
    unsigned n;
    bool large; /* it has so many orders that one surprise has to do */
    struct part parts[CLIENTS];
};

static struct {
    const struct plan *plan;
    struct rpc_ring ring;
    struct rpc_session session;
    struct worker worker;
    struct runner *runner;
    struct rpc_call areas[PROGRAMS];
    struct link_program links[PROGRAMS];
    struct worker_program programs[PROGRAMS];
    struct cancel cancels[CLIENTS];
    pthread_t threads[CLIENTS];
    const struct part *part_of[PROGRAMS]; /* whose run of the program is on its way */
    uint64_t submitted_ns[PROGRAMS];      /* of the last run that is in the ring, and whose bell has rung */
    uint32_t executed[PROGRAMS], ok[PROGRAMS];
    uint32_t computing, yielded; /* bits of programs */
    unsigned aborts;
} now;

/* ---- what the client's side calls ------------------------------------------------------------------------------------- */

struct link_program *link_program_find(struct rpc_session *s, uint32_t id)
{
    (void)s;
    return &now.links[id];
}

static void check_ring(void)
{
    uint32_t seen = 0;
    for (uint32_t i = now.ring.head; i != now.ring.tail; i++) {
        uint32_t bit = 1U << *(uint32_t *)&now.ring.entries[i % RPC_MAX_PROGRAMS];
        if (seen & bit)
            interleave_fail("a program is in the ring twice");
        seen |= bit;
    }
    seen = 0;
    for (uint32_t i = 0; i < now.runner->n; i++) {
        uint32_t bit = 1U << now.runner->queue[i].program;
        if (seen & bit)
            interleave_fail("a program is in the runner's list twice");
        seen |= bit;
    }
}

/* A client calls it when its call is in the ring and the bell has rung. */
void watch_begin(struct rpc_watch *watch, uint64_t now_ns)
{
    *watch = (struct rpc_watch){ .looked_ns = now_ns };
    check_ring();
    for (unsigned i = 0; i < PROGRAMS; i++)
        if (now.areas[i].submit_ns == now_ns)
            now.submitted_ns[i] = now_ns;
}

bool link_alive(struct rpc_session *s)
{
    (void)s;
    return true;
}

enum status link_check(struct rpc_session *s)
{
    (void)s;
    return ST_OK;
}

enum status link_lost(struct rpc_session *s, const char *why)
{
    (void)s, (void)why;
    interleave_fail("a session was given up");
    return ST_COMMUNICATION;
}

enum status link_watch(struct rpc_session *s, struct rpc_watch *watch, const char *what, uint64_t limit_ns)
{
    (void)s, (void)watch, (void)what, (void)limit_ns;
    return ST_OK;
}

struct fault_hit fault_message(void)
{
    return (struct fault_hit){ 0 };
}

/* ---- what the session's side calls ------------------------------------------------------------------------------------ */

struct worker_program *worker_program_find(struct worker *w, uint32_t id)
{
    (void)w;
    return id < PROGRAMS ? &now.programs[id] : NULL;
}

struct worker_map *worker_map_find(struct worker *w, uint32_t id)
{
    (void)w, (void)id;
    return NULL;
}

bool worker_shares(struct worker *w, const struct worker_program *p)
{
    (void)w, (void)p;
    return false;
}

bool worker_may_interrupt(struct worker *w, const struct worker_program *p, uint32_t program)
{
    (void)w, (void)p, (void)program;
    return true;
}

void worker_nice_use(struct worker *w, const struct worker_program *p)
{
    (void)w, (void)p;
}

void worker_window_claim(struct worker *w, struct worker_program *p)
{
    (void)w, (void)p;
}

void worker_window_leave(struct worker *w, const struct worker_program *p)
{
    (void)w, (void)p;
}

uint32_t worker_slices_run(struct worker *w, struct worker_program *p)
{
    (void)w, (void)p;
    return 0;
}

bool worker_slices_independent(const struct binary_graph *g)
{
    (void)g;
    return true;
}

uint64_t desc_bytes(const struct tensor_desc *d)
{
    (void)d;
    return 0;
}

uint64_t dtype_bytes(enum dtype t, uint64_t n)
{
    (void)t;
    return n;
}

void worker_yield(struct worker *w, struct worker_program *p, uint32_t step)
{
    (void)w, (void)step;
    if (now.yielded >> p->id & 1)
        interleave_fail("a run that gave way gives way again");
    now.yielded |= 1U << p->id;
}

void worker_resume(struct worker *w, struct worker_program *p)
{
    (void)w;
    now.yielded &= ~(1U << p->id);
    if (now.computing & ~now.yielded & ~(1U << p->id))
        interleave_fail("a run goes on while another one computes");
}

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

static bool is_queued(uint32_t i)
{
    bool submitted = now.submitted_ns[i] && now.submitted_ns[i] == now.areas[i].submit_ns;
    return submitted && *(uint32_t *)&now.areas[i].state == CALL_QUEUED;
}

/* The calls that are to interrupt a run of this priority. */
static void find_above(uint32_t priority, uint64_t submitted_ns[PROGRAMS])
{
    for (uint32_t i = 0; i < PROGRAMS; i++)
        submitted_ns[i] = is_queued(i) && now.part_of[i]->priority > priority ? now.submitted_ns[i] : 0;
}

/* They have been seen since. */
static void check_above(const uint64_t submitted_ns[PROGRAMS])
{
    for (uint32_t i = 0; i < PROGRAMS; i++)
        if (submitted_ns[i] && submitted_ns[i] == now.submitted_ns[i] && is_queued(i))
            interleave_fail("a run of higher priority does not interrupt");
}

/* Nothing of a higher priority may be waiting, and no equal that is before it in the ring. */
static void check_first(uint32_t program)
{
    const struct part *part = now.part_of[program];
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        if (i == program || !is_queued(i) || now.aborts)
            continue;
        bool before = (int32_t)(now.links[i].ring_at - now.links[program].ring_at) < 0;
        if (now.part_of[i]->priority == part->priority && before)
            interleave_fail("a run passed an equal that was in the ring before it");
    }
}

static bool is_cancelled(const struct cancel *c)
{
    return c && atomic_load(&c->abort);
}

enum status exec_run(struct exec_program *p, struct exec_run *r)
{
    uint32_t program = (uint32_t)((uint8_t *)p - (uint8_t *)&now) - 1;
    const struct part *part = now.part_of[program];
    if (!part || now.computing & ~now.yielded)
        interleave_fail(part ? "two runs compute at once" : "a run that nothing asked for");
    check_first(program);
    check_ring();
    now.computing |= 1U << program;
    for (uint32_t i = 0; i < part->commands; i++) {
        uint64_t above[PROGRAMS];
        find_above(part->priority, above);
        point();
        if (is_cancelled(r->cancel)) {
            now.computing &= ~(1U << program);
            return ST_ABORTED;
        }
        if (i && atomic_load_explicit(r->give_way, memory_order_relaxed))
            r->between(r->between_arg, i);
        if (i)
            check_above(above);
    }
    now.computing &= ~(1U << program);
    now.executed[program]++;
    return ST_OK;
}

static void one_run(unsigned client, const struct part *part, struct cancel *cancel)
{
    struct rpc_run r = { .program = part->program, .priority = part->priority, .cancel = cancel };
    r.wait.poll_us = part->poll_us;
    uint32_t before = now.executed[part->program];
    (void)client;
    enum status st = link_run(&now.session, &r);
    if (st != ST_OK && (st != ST_ABORTED || !cancel))
        interleave_fail("a run was refused for no reason");
    if (st == ST_OK && now.executed[part->program] == before)
        interleave_fail("a run was answered, but not done");
    now.ok[part->program] += st == ST_OK;
}

static void *client_main(void *arg)
{
    const struct part *part = arg;
    unsigned client = (unsigned)(part - now.plan->parts);
    if (part->after)
        pthread_join(now.threads[client - 1], NULL);
    for (uint32_t i = 0; i <= part->again; i++) {
        now.part_of[part->program] = part; /* all of a program are alike */
        one_run(client, part, part->aborted && !i ? &now.cancels[client] : NULL);
    }
    return NULL;
}

static void *abort_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < now.plan->n; i++)
        if (now.plan->parts[i].aborted)
            atomic_store(&now.cancels[i].abort, 1);
    return NULL;
}

/* The graph has no inputs and outputs; lists of none are no null pointers all the same. */
static struct exec_binding no_io;
static struct rpc_call_io none_asked;

static void make_programs(void)
{
    static const struct binary_graph graph = { .info = { .name = "g" } };
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        now.links[i] = (struct link_program){ .id = i, .ring = &now.ring, .area = &now.areas[i] };
        now.programs[i] =
            (struct worker_program){ .id = i, .g = &graph, .area = &now.areas[i], .io = &no_io, .asked = &none_asked };
        now.programs[i].exec = (struct exec_program *)((uint8_t *)&now + i + 1);
    }
    now.session.cores = 2;
    now.worker.hello.spin_us = il.cores > 1 ? 100 : 0;
}

static void *run_main(void *arg)
{
    (void)arg;
    pthread_t aborts = 0;
    make_programs();
    if (runner_start(&now.worker, 0, &now.ring, &now.runner) != ST_OK)
        interleave_fail("no runner");
    for (unsigned i = 1; i < now.plan->n; i++)
        pthread_create(&now.threads[i], NULL, client_main, (void *)(uintptr_t)&now.plan->parts[i]);
    if (now.aborts)
        pthread_create(&aborts, NULL, abort_main, NULL);
    client_main((void *)(uintptr_t)&now.plan->parts[0]);
    for (unsigned i = 1; i < now.plan->n; i++)
        pthread_join(now.threads[i], NULL);
    if (now.aborts)
        pthread_join(aborts, NULL);
    runner_stop(now.runner);
    now.runner = NULL;

    for (uint32_t i = 0; i < PROGRAMS; i++)
        if (now.executed[i] < now.ok[i] || (!now.aborts && now.executed[i] != now.ok[i]))
            interleave_fail("a run was lost or doubled");
    if (now.computing || now.yielded)
        interleave_fail("a run was left in the middle");
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

static void play(const struct plan *plan)
{
    static struct runner *left; /* of a run that was given up */
    mem_free(left);
    memset(&now, 0, sizeof(now));
    now.plan = plan;
    for (unsigned i = 0; i < plan->n; i++)
        now.aborts += plan->parts[i].aborted;
    const char *why = interleave_run(run_main, NULL);
    left = now.runner;
    if (why)
        explain(why);
}

static uint32_t few_surprises(const struct plan *plan, unsigned most)
{
    uint32_t runs = 0;
    il.cores = 2;
    il.random = il.n_given = 0;
    do
        play(plan);
    while (++runs, interleave_next(most));
    return runs;
}

static void random_runs(const struct plan *plan, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        il.cores = 1 + i % 2;
        il.random = UINT64_C(2) * i + 1;
        play(plan);
    }
}

/* ---- plans ------------------------------------------------------------------------------------------------------------ */

static const struct plan plans[] = {
    { "one that comes again", 1, false, { { .commands = 1, .again = 1 } } },
    { "one that polls and comes again", 1, false, { { .commands = 1, .again = 1, .poll_us = 100 } } },
    { "two equals", 2, false, { { .program = 0, .commands = 1 }, { .program = 1, .commands = 1 } } },
    { "two of one program", 2, false, { { .commands = 1 }, { .commands = 1 } } },
    { "low and high", 2, false, { { .program = 0, .commands = 3 }, { .program = 1, .priority = 9, .commands = 1 } } },
    { "one is aborted, and comes again", 1, false, { { .commands = 2, .again = 1, .aborted = true } } },
    { "low is aborted beside high",
      2,
      true,
      { { .program = 0, .commands = 2, .again = 1, .aborted = true }, { .program = 1, .priority = 9, .commands = 1 } } },
    { "low, highest, then higher",
      3,
      true,
      { { .program = 0, .commands = 8 },
        { .program = 2, .priority = 9, .commands = 1 },
        { .program = 1, .priority = 5, .commands = 1, .after = true } } },
    { "low, higher, highest",
      3,
      true,
      { { .program = 0, .commands = 3 },
        { .program = 1, .priority = 5, .commands = 3 },
        { .program = 2, .priority = 9, .commands = 1 } } },
};

enum { N_PLANS = sizeof(plans) / sizeof(plans[0]) };

static void any_order_with_few_surprises(void **state)
{
    (void)state;
    unsigned percent = test_scale(100), most = percent < 1000 ? 2 : 3;
    for (unsigned i = 0; i < N_PLANS; i++) {
        uint32_t runs = few_surprises(&plans[i], plans[i].large ? most - 1 : most);
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
    uint32_t priorities[PROGRAMS], commands[PROGRAMS];
    *plan = (struct plan){ .name = "random", .n = 1 + interleave_random(CLIENTS) };
    for (unsigned i = 0; i < PROGRAMS; i++) {
        priorities[i] = 5 * interleave_random(3);
        commands[i] = 1 + interleave_random(3);
    }
    for (unsigned i = 0; i < plan->n; i++) {
        struct part *p = &plan->parts[i];
        p->program = interleave_random(PROGRAMS);
        p->priority = priorities[p->program];
        p->commands = commands[p->program];
        p->again = interleave_random(3);
        p->poll_us = interleave_random(2) ? 100 : 0;
        p->aborted = !interleave_random(4);
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

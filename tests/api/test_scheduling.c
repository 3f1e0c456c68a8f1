/* SPDX-License-Identifier: Apache-2.0 */
/* The order of executions: priorities inside a context and between contexts, pre-emption, and
 * signals of executions that wait. The tests count who was done when. A held callback keeps the
 * queue of its level where a test needs something to wait for; nothing is measured, and nothing
 * sleeps. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api_test.h"

enum { JOBS = 16, HANG_SECONDS = 60, SIDE = 256, N = SIDE * SIDE, DEPTH = 120, TRIES = 40, SHORT_US = 3000 };

/* ---- jobs and the board of their notifications ------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned done, order[JOBS];
    Qnn_ErrorHandle_t status[JOBS];
    bool held;
} board;

struct job {
    unsigned index;
    bool hold; /* stay in the callback until the board is let go */
    const struct net *net;
    float x[AFFINE_N], y[AFFINE_N];
    Qnn_Tensor_t in, out;
};

static struct job jobs[JOBS];
static float big_x[N], big_y[JOBS][N], big_want[N];

static void on_done(void *param, Qnn_NotifyStatus_t status)
{
    struct job *j = param;
    pthread_mutex_lock(&board.lock);
    board.status[j->index] = status.error;
    board.order[board.done++] = j->index;
    pthread_cond_broadcast(&board.change);
    while (j->hold && board.held)
        pthread_cond_wait(&board.change, &board.lock);
    pthread_mutex_unlock(&board.lock);
}

static void board_wait(unsigned n)
{
    pthread_mutex_lock(&board.lock);
    while (board.done < n)
        pthread_cond_wait(&board.change, &board.lock);
    pthread_mutex_unlock(&board.lock);
}

static unsigned board_done(void)
{
    pthread_mutex_lock(&board.lock);
    unsigned n = board.done;
    pthread_mutex_unlock(&board.lock);
    return n;
}

static void board_let_go(void)
{
    pthread_mutex_lock(&board.lock);
    board.held = false;
    pthread_cond_broadcast(&board.change);
    pthread_mutex_unlock(&board.lock);
}

static Qnn_ErrorHandle_t submit(unsigned i, const struct net *net, Qnn_ProfileHandle_t p, Qnn_SignalHandle_t s)
{
    struct job *j = &jobs[i];
    j->index = i;
    j->net = net;
    for (int k = 0; k < AFFINE_N; k++)
        j->x[k] = (float)(i * 10 + (unsigned)k);
    j->in = WITH(net->x, j->x);
    j->out = WITH(net->y, j->y);
    return q.graphExecuteAsync(net->graph, &j->in, 1, &j->out, 1, p, s, on_done, j);
}

static void results_are_right(unsigned i)
{
    for (int k = 0; k < AFFINE_N; k++)
        assert_true(jobs[i].y[k] == jobs[i].x[k] * 2 + 1);
}

static void job_is_right(unsigned i)
{
    OK(board.status[i]);
    results_are_right(i);
}

static int setup(void **state)
{
    memset(&board, 0, sizeof board);
    memset(jobs, 0, sizeof jobs);
    pthread_mutex_init(&board.lock, NULL);
    pthread_cond_init(&board.change, NULL);
    alarm(HANG_SECONDS);
    return env_setup(state);
}

static int teardown(void **state)
{
    alarm(0);
    return env_teardown(state);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t graph_priority(Qnn_GraphHandle_t g, uint32_t priority)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = (Qnn_Priority_t)priority };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    return q.graphSetConfig(g, list);
}

static Qnn_ErrorHandle_t context_priority(Qnn_ContextHandle_t c, uint32_t priority)
{
    QnnContext_Config_t o = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = (Qnn_Priority_t)priority };
    const QnnContext_Config_t *list[] = { &o, NULL };
    return q.contextSetConfig(c, list);
}

static struct net small(Qnn_ContextHandle_t c, const char *name, Qnn_Priority_t priority)
{
    struct net n;
    OK(net_affine(c, name, 2, 1, &n));
    OK(graph_priority(n.graph, priority));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

/* A graph of many commands, milliseconds altogether: Softmax of Softmax of … */
static struct net large(Qnn_ContextHandle_t c, const char *name, Qnn_Priority_t priority)
{
    struct net n;
    OK(q.graphCreate(c, name, NULL, &n.graph));
    OK(graph_priority(n.graph, priority));
    n.x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, SIDE, SIDE);
    n.y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, SIDE, SIDE);
    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    Qnn_Tensor_t from = n.x;
    for (int i = 0; i < DEPTH; i++) {
        Qnn_Tensor_t to = n.y;
        if (i + 1 < DEPTH) {
            to = TENSOR(keep_name("%s_t%d", name, i), NATIVE, FLOAT_32, SIDE, SIDE);
            OK(q.tensorCreateGraphTensor(n.graph, &to));
        }
        struct op o = { .name = keep_name("%s_n%d", name, i), .type = "Softmax", .np = 1, .ni = 1, .no = 1 };
        o.p[0] = param_f32("beta", 1.0f + (float)(i % 7));
        o.in[0] = from;
        o.out[0] = to;
        OK(op_add(n.graph, &o));
        from = to;
    }
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static Qnn_ErrorHandle_t submit_large(unsigned i, const struct net *net)
{
    struct job *j = &jobs[i];
    j->index = i;
    j->in = WITH(net->x, big_x);
    j->out = WITH(net->y, big_y[i]);
    return q.graphExecuteAsync(net->graph, &j->in, 1, &j->out, 1, NULL, NULL, on_done, j);
}

/* ---- priorities ------------------------------------------------------------------------------------------------------- */

static void run_small(const struct net *n)
{
    float x[AFFINE_N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[AFFINE_N];
    OK(net_run(n, x, y, AFFINE_N, AFFINE_N));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == x[i] * 2 + 1);
}

/* Three LOW executions are asked for and one of them is done, then a HIGH one is: it does not wait for the others. */
static void test_high_passes_queued_low(void **state)
{
    (void)state;
    struct net low = small(env.context, "low", QNN_PRIORITY_LOW), high = small(env.context, "high", QNN_PRIORITY_HIGH);
    board.held = true;
    jobs[0].hold = true;
    for (unsigned i = 0; i < 3; i++)
        OK(submit(i, &low, NULL, NULL));
    board_wait(1);
    run_small(&high);
    assert_int_equal(board_done(), 1);
    OK(submit(3, &high, NULL, NULL)); /* nor does one in the background */
    board_wait(2);
    assert_int_equal(board.order[1], 3);
    board_let_go();
    board_wait(4);
    assert_int_equal(board.order[2], 1);
    assert_int_equal(board.order[3], 2);
    for (unsigned i = 0; i < 4; i++)
        job_is_right(i);
}

/* What was asked for before, with the same priority or a higher one, is done before. */
static void test_equals_keep_their_order(void **state)
{
    (void)state;
    struct net low = small(env.context, "low", QNN_PRIORITY_LOW), high = small(env.context, "high", QNN_PRIORITY_HIGH),
               other = small(env.context, "other", QNN_PRIORITY_LOW);
    for (unsigned i = 0; i < 8; i++)
        OK(submit(i, i % 2 ? &low : &other, NULL, NULL));
    for (unsigned i = 8; i < 12; i++)
        OK(submit(i, &high, NULL, NULL));
    run_small(&low);
    for (unsigned i = 0; i < 12; i++) /* notifications may come later */
        results_are_right(i);
    board_wait(12);
    unsigned next_low = 0, next_high = 8;
    for (unsigned i = 0; i < 12; i++) {
        unsigned *next = board.order[i] < 8 ? &next_low : &next_high;
        assert_int_equal(board.order[i], (*next)++);
        job_is_right(board.order[i]);
    }
}

/* Looks at results that may just be written, which the thread sanitizer would call a race. */
__attribute__((no_sanitize("thread"))) static bool is_computed(const volatile float *y)
{
    for (int i = 0; i < N; i++)
        if (y[i] != big_want[i])
            return false;
    return true;
}

/* A HIGH execution is done before a LOW one that was asked for earlier. A slow machine may be done
 * with the LOW one before it asks for the HIGH one, so this is tried some times; in one context it
 * never happens without pre-emption. */
static void preempts(Qnn_ContextHandle_t high_context, bool async)
{
    struct net low = large(env.context, "low", QNN_PRIORITY_LOW), high = small(high_context, "high", QNN_PRIORITY_HIGH);
    unsigned passed = 0;
    OK(net_run(&low, big_x, big_want, N, N));
    for (unsigned i = 0; i < TRIES && !passed; i++) {
        board.done = 0;
        memset(big_y[0], 0, sizeof big_y[0]);
        OK(submit_large(0, &low));
        if (async)
            OK(submit(1, &high, NULL, NULL));
        else
            run_small(&high);
        if (!async) /* the notification of the LOW one may come late, its results do not */
            passed += !is_computed(big_y[0]);
        board_wait(async ? 2 : 1);
        if (async)
            passed += board.order[0] == 1;
        OK(board.status[0]);
        assert_memory_equal(big_y[0], big_want, sizeof big_want); /* to the bit */
    }
    assert_true(passed);
}

static void test_preempts_in_its_context(void **state)
{
    (void)state;
    preempts(env.context, false);
}

static void test_preempts_in_the_background(void **state)
{
    (void)state;
    preempts(env.context, true);
}

static void test_preempts_another_context(void **state)
{
    (void)state;
    Qnn_ContextHandle_t other;
    OK(q.contextCreate(env.backend, NULL, NULL, &other));
    preempts(other, false);
}

static void *run_in_turns(void *net)
{
    for (int i = 0; i < 50; i++)
        run_small(net);
    return NULL;
}

static void test_many_priorities_at_once(void **state)
{
    (void)state;
    static const Qnn_Priority_t levels[] = { QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_NORMAL_HIGH,
                                             QNN_PRIORITY_HIGH };
    struct net nets[COUNT(levels)], big[COUNT(levels)];
    pthread_t threads[COUNT(levels)];
    for (unsigned i = 0; i < COUNT(levels); i++) {
        nets[i] = small(env.context, keep_name("small%u", i), levels[i]);
        big[i] = large(env.context, keep_name("large%u", i), levels[i]);
    }
    OK(net_run(&big[0], big_x, big_want, N, N));
    for (unsigned i = 0; i < COUNT(levels); i++)
        pthread_create(&threads[i], NULL, run_in_turns, &nets[i]);
    for (unsigned i = 0; i < 8; i++)
        OK(submit_large(i, &big[i % COUNT(levels)]));
    board_wait(8);
    for (unsigned i = 0; i < 8; i++) {
        OK(board.status[i]);
        assert_memory_equal(big_y[i], big_want, sizeof big_want);
    }
    for (unsigned i = 0; i < COUNT(levels); i++)
        pthread_join(threads[i], NULL);
}

/* Only the enumerators are priorities. */
static void test_only_enumerators(void **state)
{
    (void)state;
    static const uint32_t right[] = { 0, 50, 100, 150, 200, 300, 400, 500 }, wrong[] = { 1, 120, 250, 499, 501, UINT32_MAX };
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    for (unsigned i = 0; i < COUNT(right); i++) {
        OK(graph_priority(n.graph, right[i]));
        OK(context_priority(env.context, right[i]));
        run_small(&n);
    }
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "100 (NORMAL)", graph_priority(n.graph, wrong[i]));
        FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, keep_name("priority is %u;", wrong[i]),
                     context_priority(env.context, wrong[i]));
    }
}

/* ---- signals ---------------------------------------------------------------------------------------------------------- */

static Qnn_SignalHandle_t make_signal(QnnSignal_ConfigOption_t option, uint64_t us)
{
    QnnSignal_Config_t c = { .option = option };
    if (option == QNN_SIGNAL_CONFIG_OPTION_TIMEOUT)
        c.timeoutDurationUs = us;
    const QnnSignal_Config_t *config[] = { &c, NULL };
    Qnn_SignalHandle_t s = NULL;
    OK(q.signalCreate(env.backend, config, &s));
    return s;
}

/* Job 0 is done and stays in its callback; job 1 waits for the thread that is in there. */
static void block(const struct net *n)
{
    board.held = true;
    jobs[0].hold = true;
    OK(submit(0, n, NULL, NULL));
    board_wait(1);
    OK(submit(1, n, NULL, NULL));
}

static void unblock(unsigned n_done)
{
    board_let_go();
    board_wait(n_done);
    job_is_right(0);
    job_is_right(1);
}

struct call {
    const struct net *net;
    Qnn_SignalHandle_t signal;
    bool async;
    Qnn_ErrorHandle_t result;
};

static void *call_main(void *arg)
{
    struct call *c = arg;
    float x[AFFINE_N] = { 0 }, y[AFFINE_N];
    Qnn_Tensor_t in = WITH(c->net->x, x), out = WITH(c->net->y, y);
    if (c->async)
        c->result = submit(2, c->net, NULL, c->signal);
    else
        c->result = q.graphExecute(c->net->graph, &in, 1, &out, 1, NULL, c->signal);
    return NULL;
}

static void trigger_when_used(Qnn_SignalHandle_t s)
{
    Qnn_ErrorHandle_t e;
    while (CODE(e = q.signalTrigger(s)) == QNN_SIGNAL_ERROR_SIGNAL_IDLE)
        sched_yield();
    OK(e);
}

static void test_abort_a_waiting_call(void **state)
{
    (void)state;
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    struct call c = { .net = &n, .signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0) };
    pthread_t thread;
    block(&n);
    pthread_create(&thread, NULL, call_main, &c);
    trigger_when_used(c.signal);
    pthread_join(thread, NULL);
    FAILS(QNN_GRAPH_ERROR_ABORTED, c.result);
    assert_int_equal(board_done(), 1);
    unblock(2);
    OK(q.signalFree(c.signal));
}

static void test_timeout_of_a_waiting_call(void **state)
{
    (void)state;
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    struct call c = { .net = &n, .signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, SHORT_US) };
    block(&n);
    call_main(&c);
    FAILS_SAYING(QNN_GRAPH_ERROR_TIMED_OUT, "waited for its turn", c.result);
    assert_int_equal(board_done(), 1);
    unblock(2);
}

/* The first in the queue, and one behind others; it is notified before them. */
static void abort_job(unsigned in_front)
{
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    Qnn_SignalHandle_t s = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0);
    block(&n);
    for (unsigned i = 0; i < in_front; i++)
        OK(submit(3 + i, &n, NULL, NULL));
    OK(submit(2, &n, NULL, s));
    OK(q.signalTrigger(s));
    board_wait(2);
    assert_int_equal(board.order[1], 2);
    FAILS(QNN_GRAPH_ERROR_ABORTED, board.status[2]);
    FAILS(QNN_SIGNAL_ERROR_SIGNAL_IDLE, q.signalTrigger(s));
    unblock(3 + in_front);
    for (unsigned i = 0; i < in_front; i++)
        job_is_right(3 + i);
    OK(q.contextFree(env.context, NULL));
    OK(q.signalFree(s));
}

static void test_abort_a_waiting_job(void **state)
{
    (void)state;
    abort_job(0);
}

static void test_abort_a_job_behind_others(void **state)
{
    (void)state;
    abort_job(3);
}

static void test_timeout_of_a_waiting_job(void **state)
{
    (void)state;
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    block(&n);
    OK(submit(2, &n, NULL, make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, SHORT_US)));
    board_wait(2);
    assert_int_equal(board.order[1], 2);
    FAILS(QNN_GRAPH_ERROR_TIMED_OUT, board.status[2]);
    unblock(3);
}

static void test_signal_of_a_waiting_call_is_in_use(void **state)
{
    (void)state;
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    struct call c = { .net = &n, .signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0) };
    pthread_t thread;
    block(&n);
    pthread_create(&thread, NULL, call_main, &c);
    while (CODE(q.signalFree(c.signal)) != QNN_SIGNAL_ERROR_SIGNAL_IN_USE) { /* freed before the call had it */
        pthread_join(thread, NULL);
        c.signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0);
        pthread_create(&thread, NULL, call_main, &c);
    }
    FAILS(QNN_GRAPH_ERROR_SIGNAL_IN_USE, submit(2, &n, NULL, c.signal));
    OK(q.signalTrigger(c.signal));
    pthread_join(thread, NULL);
    FAILS(QNN_GRAPH_ERROR_ABORTED, c.result);
    unblock(2);
}

/* A call that waits for room in a full queue ends with its signal too, without a notification. */
static void test_abort_a_call_that_waits_for_room(void **state)
{
    (void)state;
    QnnContext_Config_t depth = { .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
                                  .asyncExeQueueDepth = { QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC, { 2 } } };
    const QnnContext_Config_t *config[] = { &depth, NULL };
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(env.backend, NULL, config, &c));
    struct net n = small(c, "n", QNN_PRIORITY_NORMAL);
    struct call call = { .net = &n, .signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0), .async = true };
    pthread_t thread;
    block(&n);
    pthread_create(&thread, NULL, call_main, &call);
    trigger_when_used(call.signal);
    pthread_join(thread, NULL);
    FAILS(QNN_GRAPH_ERROR_ABORTED, call.result);
    unblock(2);
    OK(q.contextFree(c, NULL));
    assert_int_equal(board.done, 2);
}

/* A LOW execution that was pre-empted, or runs, or waits: the trigger returns when it has let go. */
static void test_abort_at_any_time(void **state)
{
    (void)state;
    struct net low = large(env.context, "low", QNN_PRIORITY_LOW), high = small(env.context, "high", QNN_PRIORITY_HIGH);
    Qnn_SignalHandle_t s = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0);
    pthread_t thread;
    OK(net_run(&low, big_x, big_want, N, N));
    pthread_create(&thread, NULL, run_in_turns, &high);
    hush(true);
    for (unsigned i = 0; i < TRIES; i++) {
        board.done = 0;
        jobs[0] = (struct job){ .in = WITH(low.x, big_x), .out = WITH(low.y, big_y[0]) };
        OK(q.graphExecuteAsync(low.graph, &jobs[0].in, 1, &jobs[0].out, 1, NULL, s, on_done, &jobs[0]));
        for (unsigned k = 0; k < i; k++)
            run_small(&high);
        uint32_t code = CODE(q.signalTrigger(s));
        board_wait(1);
        if (code == QNN_SUCCESS && board.status[0] != QNN_SUCCESS)
            FAILS(QNN_GRAPH_ERROR_ABORTED, board.status[0]);
        else
            OK(board.status[0]);
    }
    hush(false);
    pthread_join(thread, NULL);
    OK(net_run(&low, big_x, big_y[0], N, N)); /* the graph is whole */
    assert_memory_equal(big_y[0], big_want, sizeof big_want);
}

/* ---- calls from notifications ----------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t from_callback;

static void execute_in_callback(void *param, Qnn_NotifyStatus_t status)
{
    on_done(param, status); /* stays until job 1 waits behind this */
    struct call c = { .net = jobs[0].net };
    call_main(&c);
    from_callback = c.result;
}

/* What waits for the callback to return cannot be waited for there. */
static void test_execute_in_a_callback(void **state)
{
    (void)state;
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    jobs[0] = (struct job){ .hold = true, .net = &n };
    jobs[0].in = WITH(n.x, jobs[0].x);
    jobs[0].out = WITH(n.y, jobs[0].y);
    board.held = true;
    from_callback = QNN_GRAPH_ERROR_ABORTED;
    OK(q.graphExecuteAsync(n.graph, &jobs[0].in, 1, &jobs[0].out, 1, NULL, NULL, execute_in_callback, &jobs[0]));
    board_wait(1);
    OK(submit(1, &n, NULL, NULL));
    board_let_go();
    board_wait(2);
    job_is_right(1);
    OK(from_callback);
}

/* ---- everything at once ----------------------------------------------------------------------------------------------- */

enum { CLIENTS = 4, STRESS_RUNS = 150, STRESS_GRAPHS = 4 };

static struct {
    struct net nets[2][STRESS_GRAPHS];
    _Atomic unsigned accepted, notified, wrong;
} stress;

struct stress_job {
    float x[AFFINE_N], y[AFFINE_N];
    Qnn_SignalHandle_t signal;
    Qnn_Tensor_t in, out;
};

static bool is_right(const struct stress_job *j, Qnn_ErrorHandle_t e)
{
    uint32_t code = CODE(e);
    if (j->signal && (code == QNN_GRAPH_ERROR_ABORTED || code == QNN_GRAPH_ERROR_TIMED_OUT))
        return true;
    for (int i = 0; i < AFFINE_N; i++)
        if (j->y[i] != j->x[i] * 2 + 1)
            return false;
    return code == QNN_SUCCESS;
}

static void stress_done(void *param, Qnn_NotifyStatus_t status)
{
    struct stress_job *j = param;
    if (!is_right(j, status.error))
        atomic_fetch_add(&stress.wrong, 1);
    free(j);
    atomic_fetch_add(&stress.notified, 1);
}

static uint32_t random_of(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

static void *stress_main(void *arg)
{
    static const Qnn_Priority_t levels[] = { QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_HIGH };
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    Qnn_SignalHandle_t abort_it = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0),
                       late = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, 20);
    for (unsigned i = 0; i < STRESS_RUNS; i++) {
        const struct net *n = &stress.nets[random_of(&seed, 2)][random_of(&seed, STRESS_GRAPHS)];
        struct stress_job *j = calloc(1, sizeof *j);
        uint32_t what = random_of(&seed, 8);
        j->signal = what == 0 ? abort_it : what == 1 ? late : NULL;
        for (int k = 0; k < AFFINE_N; k++)
            j->x[k] = (float)random_of(&seed, 1000);
        j->in = WITH(n->x, j->x);
        j->out = WITH(n->y, j->y);
        if (random_of(&seed, 3)) {
            Qnn_ErrorHandle_t e = q.graphExecuteAsync(n->graph, &j->in, 1, &j->out, 1, NULL, j->signal, stress_done, j);
            bool accepted = e == QNN_SUCCESS;
            atomic_fetch_add(&stress.accepted, accepted);
            if (!accepted)
                free(j); /* the signal is still in use, or the call waited for room for too long */
        } else {
            Qnn_ErrorHandle_t e = q.graphExecute(n->graph, &j->in, 1, &j->out, 1, NULL, j->signal);
            if (CODE(e) != QNN_GRAPH_ERROR_SIGNAL_IN_USE && !is_right(j, e))
                atomic_fetch_add(&stress.wrong, 1);
            free(j);
        }
        if (!random_of(&seed, 4))
            q.signalTrigger(abort_it);
        if (!random_of(&seed, 6))
            graph_priority(n->graph, levels[random_of(&seed, COUNT(levels))]);
    }
    return NULL;
}

/* Any calls, priorities and signals from several threads, while large graphs run: every execution ends once, with the right
 * results or for the reason that its signal gave. */
static void test_stress(void **state)
{
    (void)state;
    Qnn_ContextHandle_t contexts[2] = { env.context };
    pthread_t threads[CLIENTS];
    memset(&stress, 0, sizeof stress);
    OK(q.contextCreate(env.backend, NULL, NULL, &contexts[1]));
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < STRESS_GRAPHS; i++)
            stress.nets[c][i] = small(contexts[c], keep_name("small%d", i), QNN_PRIORITY_NORMAL);
    struct net low = large(contexts[0], "large", QNN_PRIORITY_LOW), other = large(contexts[1], "large", QNN_PRIORITY_LOW);
    OK(net_run(&low, big_x, big_want, N, N));
    hush(true);
    for (uintptr_t i = 0; i < CLIENTS; i++)
        pthread_create(&threads[i], NULL, stress_main, (void *)(i + 1));
    for (unsigned i = 0; i < 8; i++)
        OK(submit_large(i, i % 2 ? &low : &other));
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    hush(false);
    board_wait(8);
    for (unsigned i = 0; i < 8; i++) {
        OK(board.status[i]);
        assert_memory_equal(big_y[i], big_want, sizeof big_want);
    }
    while (atomic_load(&stress.notified) < stress.accepted)
        sched_yield();
    for (int c = 0; c < 2; c++)
        OK(q.contextFree(contexts[c], NULL));
    assert_int_equal(stress.notified, stress.accepted);
    assert_int_equal(stress.wrong, 0);
    print_message("%u asynchronous executions\n", (unsigned)stress.accepted);
}

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The wait is told, and is part of the whole. */
static void test_queue_wait_is_told(void **state)
{
    (void)state;
    struct net n = small(env.context, "n", QNN_PRIORITY_NORMAL);
    Qnn_ProfileHandle_t p;
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    block(&n);
    OK(submit(2, &n, p, NULL));
    uint64_t begin = now_us(), end;
    while ((end = now_us()) < begin + SHORT_US)
        sched_yield();
    unblock(3);
    job_is_right(2);
    const struct event *wait = profile_find(p, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT);
    assert_non_null(wait);
    uint64_t waited = wait->data.value;
    assert_true(waited >= end - begin - 1);
    assert_true(profile_find(p, QNN_PROFILE_EVENTTYPE_EXECUTE)->data.value >= waited);
    OK(q.profileFree(p));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* An argument is the name of the only test to run. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (int i = 0; i < N; i++)
        big_x[i] = (float)(i % 101) / 50;
    const struct CMUnitTest tests[] = {
        TEST(test_high_passes_queued_low),
        TEST(test_equals_keep_their_order),
        TEST(test_preempts_in_its_context),
        TEST(test_preempts_in_the_background),
        TEST(test_preempts_another_context),
        TEST(test_many_priorities_at_once),
        TEST(test_only_enumerators),
        TEST(test_abort_a_waiting_call),
        TEST(test_timeout_of_a_waiting_call),
        TEST(test_abort_a_waiting_job),
        TEST(test_abort_a_job_behind_others),
        TEST(test_timeout_of_a_waiting_job),
        TEST(test_signal_of_a_waiting_call_is_in_use),
        TEST(test_abort_a_call_that_waits_for_room),
        TEST(test_abort_at_any_time),
        TEST(test_queue_wait_is_told),
        TEST(test_execute_in_a_callback),
        TEST(test_stress),
    };
    lib_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lib_close();
    return failed;
}

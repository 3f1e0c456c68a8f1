/* SPDX-License-Identifier: Apache-2.0 */
/* Executions in the background, signals that interrupt calls, and many threads at once. Nothing here depends on how fast
 * anything is: where two threads race, both outcomes are checked. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_test.h"

/* ---- notifications ---------------------------------------------------------------------------------------------------- */

enum { JOBS = 64, CHILD_SECONDS = 20 };

struct board {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned done, order[JOBS];
    Qnn_ErrorHandle_t status[JOBS];
    pthread_t caller;
    bool on_caller, held;
};

struct job {
    struct board *board;
    unsigned index;
    bool hold; /* stay in the callback until the board is no longer held */
    float x[AFFINE_N], y[AFFINE_N];
    Qnn_Tensor_t in, out; /* stay where they are until the job has ended */
};

static struct board board;
static struct job jobs[JOBS];
static struct net net;

static void on_done(void *param, Qnn_NotifyStatus_t status)
{
    struct job *j = param;
    struct board *b = j->board;
    pthread_mutex_lock(&b->lock);
    b->on_caller |= pthread_equal(pthread_self(), b->caller) != 0;
    b->status[j->index] = status.error;
    b->order[b->done++] = j->index;
    pthread_cond_broadcast(&b->change);
    while (j->hold && b->held)
        pthread_cond_wait(&b->change, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

static void board_wait(unsigned n)
{
    pthread_mutex_lock(&board.lock);
    while (board.done < n)
        pthread_cond_wait(&board.change, &board.lock);
    pthread_mutex_unlock(&board.lock);
}

static void board_let_go(void)
{
    pthread_mutex_lock(&board.lock);
    board.held = false;
    pthread_cond_broadcast(&board.change);
    pthread_mutex_unlock(&board.lock);
}

static Qnn_ErrorHandle_t submit(unsigned i, Qnn_SignalHandle_t s)
{
    struct job *j = &jobs[i];
    j->board = &board;
    j->index = i;
    for (int k = 0; k < AFFINE_N; k++)
        j->x[k] = (float)(i * 10 + (unsigned)k);
    j->in = WITH(net.x, j->x);
    j->out = WITH(net.y, j->y);
    return q.graphExecuteAsync(net.graph, &j->in, 1, &j->out, 1, NULL, s, on_done, j);
}

static void check_job(unsigned i)
{
    for (int k = 0; k < AFFINE_N; k++)
        if (jobs[i].y[k] != jobs[i].x[k] * 2 + 1)
            fail_msg("job %u element %d is %g", i, k, (double)jobs[i].y[k]);
}

static int setup(void **state)
{
    int failed = env_setup(state);
    board =
        (struct board){ .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER, .caller = pthread_self() };
    memset(jobs, 0, sizeof jobs);
    return failed;
}

static void build(Qnn_ContextHandle_t c)
{
    OK(net_affine(c, "net", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
}

/* ---- asynchronous executions ------------------------------------------------------------------------------------------ */

static void test_many_jobs(void **state)
{
    (void)state;
    build(env.context);
    for (unsigned i = 0; i < JOBS; i++)
        OK(submit(i, NULL));
    board_wait(JOBS);
    assert_false(board.on_caller);
    for (unsigned i = 0; i < JOBS; i++) {
        OK(board.status[i]);
        check_job(i);
        assert_int_equal(board.order[i], i); /* first in, first out */
    }
}

/* Whether the thread that serves the queue sleeps; it has let go of its last job then, which is not so when it notifies. */
static bool server_sleeps(void)
{
    char path[64], text[256];
    bool sleeps = false;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", d->d_name);
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        close(fd);
        text[n > 0 ? n : 0] = 0;
        sleeps |= strstr(text, "(qnn-async) S") != NULL;
    }
    closedir(tasks);
    return sleeps;
}

#ifdef __SANITIZE_THREAD__
enum { CHILD_STARTS = false }; /* the thread sanitizer ends a child that starts a thread */
#else
enum { CHILD_STARTS = true };
#endif

static int use_in_child(void)
{
    alarm(CHILD_SECONDS);                                      /* a child that hangs ends, too */
    if (CHILD_STARTS && !strcmp(lib_name(), "libQnnCpu.so")) { /* sessions belong to the process that opened them */
        if (submit(1, NULL) != QNN_SUCCESS)
            return EXIT_FAILURE;
        board_wait(2);
        if (board.status[1] != QNN_SUCCESS || jobs[1].y[1] != jobs[1].x[1] * 2 + 1)
            return EXIT_FAILURE;
        while (!server_sleeps())
            sched_yield();
    }
    return CODE(q.contextFree(env.context, NULL)) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* In a forked child the thread that serves the queue is gone, and nobody may wait for it. */
static void test_forked_child(void **state)
{
    (void)state;
    build(env.context);
    OK(submit(0, NULL));
    board_wait(1);
    while (!server_sleeps())
        sched_yield();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(use_in_child());
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == EXIT_SUCCESS);
    OK(submit(1, NULL));
    board_wait(2);
    check_job(1);
}

/* Synchronous executions stand in the same queue: when one returns, the jobs before it have run. */
static void test_sync_among_async(void **state)
{
    (void)state;
    float x[AFFINE_N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[AFFINE_N];
    build(env.context);
    for (unsigned i = 0; i < 8; i++)
        OK(submit(i, NULL));
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == x[i] * 2 + 1);
    board_wait(8);
    for (unsigned i = 0; i < 8; i++)
        check_job(i);
}

/* The structs of a call are the client's again when it returns: what is told of an execution is written into those of a
 * synchronous one only. */
static void test_structs_are_left_alone(void **state)
{
    (void)state;
    build(env.context);
    Qnn_Tensor_t out = WITH(TENSOR2("net_y", APP_READ, FLOAT_32, 1, AFFINE_N), jobs[0].y), in = WITH(net.x, jobs[0].x);
    TV(out).id = TV(net.y).id;
    out.v2.isProduced = 7;
    jobs[0].board = &board;
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, on_done, &jobs[0]));
    board_wait(1);
    OK(board.status[0]);
    check_job(0);
    assert_int_equal(out.v2.isProduced, 7);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    assert_int_equal(out.v2.isProduced, 1);
}

/* A call that fails does not notify. */
static void test_failing_call(void **state)
{
    (void)state;
    build(env.context);
    Qnn_Tensor_t in = net.x, out = WITH(net.y, jobs[0].y); /* no input buffer */
    jobs[0].board = &board;
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, on_done, &jobs[0]));
    in = WITH(net.x, jobs[0].x);
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphExecuteAsync(net.graph, &in, 0, &out, 1, NULL, NULL, on_done, &jobs[0]));
    OK(submit(1, NULL));
    board_wait(1);
    assert_int_equal(board.done, 1);
    assert_int_equal(board.order[0], 1);
}

/* Without a notify function the client is told nothing, but the work is done: before that of a later call, and, unless
 * nobody will miss it, before the context is gone. */
static void test_no_notify_function(void **state)
{
    (void)state;
    float x[AFFINE_N] = { 0 }, y[AFFINE_N];
    build(env.context);
    Qnn_Tensor_t in = WITH(net.x, jobs[0].x), out = WITH(net.y, jobs[0].y);
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, NULL, NULL));
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
    check_job(0); /* its y was 0 */
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, NULL, NULL));
    OK(q.contextFree(env.context, NULL));
}

static struct {
    _Atomic unsigned accepted;
    unsigned n;
} feeder;

static void *feed(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i < feeder.n; i++)
        if (submit(i, NULL) == QNN_SUCCESS)
            atomic_fetch_add(&feeder.accepted, 1);
    return NULL;
}

static Qnn_ErrorHandle_t context_of_depth(uint32_t n, Qnn_ContextHandle_t *ret)
{
    QnnContext_Config_t depth = { .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
                                  .asyncExeQueueDepth = { QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC, { n } } };
    const QnnContext_Config_t *config[] = { &depth, NULL };
    return q.contextCreate(env.backend, NULL, config, ret);
}

/* A queue of depth 2 whose first callback is held takes no more than the depth allows; the rest waits. */
static void test_queue_depth(void **state)
{
    (void)state;
    enum { DEPTH = 2, N = 8 };
    Qnn_ContextHandle_t c;
    OK(context_of_depth(DEPTH, &c));
    build(c);
    board.held = true;
    jobs[0].hold = true;
    OK(submit(0, NULL));
    board_wait(1); /* the callback of job 0 stands still, and with it the queue */
    feeder.n = N;
    atomic_store(&feeder.accepted, 0);
    pthread_t t;
    pthread_create(&t, NULL, feed, NULL);
    while (atomic_load(&feeder.accepted) < DEPTH - 1)
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_true(atomic_load(&feeder.accepted) <= DEPTH);
    board_let_go();
    pthread_join(t, NULL);
    assert_int_equal(atomic_load(&feeder.accepted), N - 1);
    board_wait(N);
    for (unsigned i = 0; i < N; i++)
        check_job(i);
    OK(q.contextFree(c, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_CONFIG, context_of_depth(0, &c));
}

static Qnn_ErrorHandle_t submitted[2];

static void submit_in_callback(void *param, Qnn_NotifyStatus_t status)
{
    for (unsigned i = 0; i < 2; i++)
        submitted[i] = submit(1 + i, NULL);
    on_done(param, status);
}

/* A callback may ask for more executions, but it cannot wait for room that comes only when it returns. */
static void test_queue_full_in_callback(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    OK(context_of_depth(2, &c));
    build(c);
    jobs[0] = (struct job){ .board = &board };
    Qnn_Tensor_t in = WITH(net.x, jobs[0].x), out = WITH(net.y, jobs[0].y);
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, submit_in_callback, &jobs[0]));
    board_wait(2);
    OK(submitted[0]);
    FAILS(QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL, submitted[1]);
    check_job(1);
    OK(q.contextFree(c, NULL));
}

static void *free_context(void *context)
{
    return (void *)(uintptr_t)q.contextFree(context, NULL);
}

/* Every job that was accepted is answered, run or not. */
static void test_free_with_jobs(void **state)
{
    (void)state;
    enum { N = 10 };
    build(env.context);
    board.held = true;
    jobs[0].hold = true;
    for (unsigned i = 0; i < N; i++)
        OK(submit(i, NULL));
    board_wait(1);
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, free_context, env.context);
    Qnn_GraphHandle_t g;
    while (q.graphRetrieve(env.context, "net", &g) == QNN_SUCCESS) /* until the context is on its way out */
        sched_yield();
    board_let_go();
    pthread_join(t, &result);
    OK((uintptr_t)result);
    assert_int_equal(board.done, N);
    for (unsigned i = 0; i < N; i++) {
        uint32_t code = CODE(board.status[i]);
        assert_true(code == QNN_SUCCESS || code == QNN_GRAPH_ERROR_INVALID_CONTEXT);
        if (code == QNN_SUCCESS)
            check_job(i);
    }
}

static Qnn_ErrorHandle_t from_callback;

static void free_in_callback(void *param, Qnn_NotifyStatus_t status)
{
    from_callback = q.contextFree(env.context, NULL);
    on_done(param, status);
}

static void test_free_from_callback(void **state)
{
    (void)state;
    build(env.context);
    jobs[0] = (struct job){ .board = &board };
    Qnn_Tensor_t in = WITH(net.x, jobs[0].x), out = WITH(net.y, jobs[0].y);
    OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, free_in_callback, &jobs[0]));
    board_wait(1);
    assert_int_not_equal(CODE(from_callback), QNN_SUCCESS); /* refused, not a deadlock */
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

static void test_idle_signals(void **state)
{
    (void)state;
    Qnn_SignalHandle_t a = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0),
                       t = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, 1000000), d;
    FAILS(QNN_SIGNAL_ERROR_SIGNAL_IDLE, q.signalTrigger(a));
    FAILS(QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE, q.signalTrigger(t));
    OK(q.signalCreate(env.backend, NULL, &d));
    QnnSignal_Config_t c = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 5 },
                       bad = { .option = QNN_SIGNAL_CONFIG_UNDEFINED };
    const QnnSignal_Config_t *config[] = { &c, NULL }, *bads[] = { &bad, NULL };
    OK(q.signalSetConfig(a, config)); /* now it is a timeout */
    FAILS(QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE, q.signalTrigger(a));
    FAILS(QNN_SIGNAL_ERROR_INVALID_ARGUMENT, q.signalSetConfig(a, bads));
    OK(q.signalFree(a));
    OK(q.signalFree(t));
    OK(q.signalFree(d));
    FAILS(QNN_SIGNAL_ERROR_INVALID_HANDLE, q.signalFree(a));
    FAILS(QNN_SIGNAL_ERROR_INVALID_HANDLE, q.signalTrigger(a));
}

/* One signal belongs to one call at a time. */
static void test_signal_in_use(void **state)
{
    (void)state;
    build(env.context);
    Qnn_SignalHandle_t s = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0);
    board.held = true;
    jobs[0].hold = true;
    OK(submit(0, NULL));
    board_wait(1);
    OK(submit(1, s)); /* waits behind the held callback */
    FAILS(QNN_GRAPH_ERROR_SIGNAL_IN_USE, submit(2, s));
    FAILS(QNN_SIGNAL_ERROR_SIGNAL_IN_USE, q.signalFree(s));
    FAILS(QNN_SIGNAL_ERROR_SIGNAL_IN_USE, q.signalSetConfig(s, NULL));
    board_let_go();
    board_wait(2);
    OK(board.status[1]);
    OK(submit(2, s)); /* free for the next call */
    board_wait(3);
    OK(q.contextFree(env.context, NULL)); /* the job has let go of everything */
    OK(q.signalFree(s));
}

enum { LONG = 1 << 16, DEEP = 100 };
static float long_x[LONG], long_y[LONG];

static void test_timeout(void **state)
{
    (void)state;
    struct net chain;
    OK(net_chain(env.context, "chain", DEEP, LONG, &chain));
    Qnn_SignalHandle_t shortly = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, 1),
                       later = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, 600000000);
    FAILS(QNN_GRAPH_ERROR_TIMED_OUT, q.graphFinalize(chain.graph, NULL, shortly));
    OK(q.graphFinalize(chain.graph, NULL, later)); /* the graph is still whole */
    Qnn_Tensor_t in = WITH(chain.x, long_x), out = WITH(chain.y, long_y);
    FAILS(QNN_GRAPH_ERROR_TIMED_OUT, q.graphExecute(chain.graph, &in, 1, &out, 1, NULL, shortly));
    OK(q.graphExecute(chain.graph, &in, 1, &out, 1, NULL, later));
    assert_true(long_y[0] == DEEP && long_y[LONG - 1] == DEEP);
    FAILS(QNN_GRAPH_ERROR_TIMED_OUT,
          q.graphExecute(chain.graph, &in, 1, &out, 1, NULL, shortly)); /* as often as it is used */
}

struct trigger {
    Qnn_SignalHandle_t signal;
    _Atomic bool ready, stop;
    Qnn_ErrorHandle_t result; /* the first that is not SIGNAL_IDLE */
};

static void *pull(void *arg)
{
    struct trigger *t = arg;
    atomic_store(&t->ready, true);
    do
        t->result = q.signalTrigger(t->signal);
    while (CODE(t->result) == QNN_SIGNAL_ERROR_SIGNAL_IDLE && !atomic_load(&t->stop));
    return NULL;
}

/* The thread that triggers races with the call; whoever wins, the answers fit together. Repeated until the trigger
 * has won. */
static void abort_until_won(struct net *chain, bool finalize)
{
    struct trigger t = { .signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0) };
    unsigned won = 0, tries = 0;
    while (!won && tries++ < 200) {
        pthread_t thread;
        atomic_store(&t.stop, false);
        atomic_store(&t.ready, false);
        pthread_create(&thread, NULL, pull, &t);
        while (!atomic_load(&t.ready))
            sched_yield();
        Qnn_Tensor_t in = WITH(chain->x, long_x), out = WITH(chain->y, long_y);
        Qnn_ErrorHandle_t e = finalize ? q.graphFinalize(chain->graph, NULL, t.signal)
                                       : q.graphExecute(chain->graph, &in, 1, &out, 1, NULL, t.signal);
        atomic_store(&t.stop, true);
        pthread_join(thread, NULL);
        if (CODE(e) == QNN_GRAPH_ERROR_ABORTED) {
            OK(t.result);
            won++;
        } else {
            OK(e);
        }
        if (finalize && !won)
            OK(net_chain(env.context, keep_name("chain%u", tries), DEEP, LONG, chain));
    }
    print_message("aborted at try %u\n", tries);
    assert_true(won);
    OK(q.signalFree(t.signal));
}

static void test_abort(void **state)
{
    (void)state;
    struct net chain;
    OK(net_chain(env.context, "chain", DEEP, LONG, &chain));
    abort_until_won(&chain, true);
    OK(q.graphFinalize(chain.graph, NULL, NULL));
    abort_until_won(&chain, false);
    Qnn_Tensor_t in = WITH(chain.x, long_x), out = WITH(chain.y, long_y);
    OK(q.graphExecute(chain.graph, &in, 1, &out, 1, NULL, NULL));
    assert_true(long_y[0] == DEEP && long_y[LONG - 1] == DEEP);
}

/* Until the trigger has won; then the signal is used again at once, by a job that waits. */
static void abort_and_submit(const struct net *chain, unsigned job)
{
    struct trigger t = { .signal = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0) };
    for (bool won = false; !won;) {
        pthread_t thread;
        atomic_store(&t.stop, false);
        pthread_create(&thread, NULL, pull, &t);
        Qnn_Tensor_t in = WITH(chain->x, long_x), out = WITH(chain->y, long_y);
        won = CODE(q.graphExecute(chain->graph, &in, 1, &out, 1, NULL, t.signal)) == QNN_GRAPH_ERROR_ABORTED;
        if (won)
            OK(submit(job, t.signal));
        atomic_store(&t.stop, true);
        pthread_join(thread, NULL);
    }
    OK(t.result);
}

/* Whoever triggers a signal waits for the call that it was attached to, not for the next one that has it. */
static void test_abort_and_use_again(void **state)
{
    (void)state;
    enum { ROUNDS = 15 }; /* with the first job they fit the queue */
    struct net chain;
    Qnn_ContextHandle_t other; /* so that its executions do not stand behind jobs */
    build(env.context);
    OK(q.contextCreate(env.backend, NULL, NULL, &other));
    OK(net_chain(other, "chain", DEEP, LONG, &chain));
    OK(q.graphFinalize(chain.graph, NULL, NULL));
    board.held = true;
    jobs[0].hold = true;
    OK(submit(0, NULL));
    board_wait(1);
    for (unsigned i = 1; i <= ROUNDS; i++)
        abort_and_submit(&chain, i);
    board_let_go();
    board_wait(1 + ROUNDS);
    for (unsigned i = 1; i <= ROUNDS; i++)
        OK(board.status[i]);
}

static void test_timeout_of_waiting_job(void **state)
{
    (void)state;
    build(env.context);
    Qnn_SignalHandle_t s = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, 1);
    board.held = true;
    jobs[0].hold = true;
    OK(submit(0, NULL));
    board_wait(1);
    OK(submit(1, s)); /* the time counts from here, not from when its turn comes */
    board_let_go();
    board_wait(2);
    FAILS(QNN_GRAPH_ERROR_TIMED_OUT, board.status[1]);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 40 };

struct runner {
    struct net net;
    float mul;
    unsigned wrong;
};

static void *run_rounds(void *arg)
{
    struct runner *r = arg;
    float x[AFFINE_N], y[AFFINE_N];
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AFFINE_N; i++)
            x[i] = (float)(round * 8 + (unsigned)i);
        if (net_run(&r->net, x, y, AFFINE_N, AFFINE_N) != QNN_SUCCESS)
            r->wrong++;
        for (int i = 0; i < AFFINE_N; i++)
            r->wrong += y[i] != x[i] * r->mul + 1;
    }
    return NULL;
}

static void run_all(struct runner *r)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, run_rounds, &r[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(r[i].wrong, 0);
    }
}

static void test_threads(void **state)
{
    (void)state;
    struct runner r[THREADS];
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct runner){ .mul = (float)i };
        OK(net_affine(env.context, keep_name("g%d", i), (float)i, 1, &r[i].net));
        OK(q.graphFinalize(r[i].net.graph, NULL, NULL));
    }
    run_all(r); /* a graph each, in one context */
    for (int i = 1; i < THREADS; i++)
        r[i] = r[0];
    run_all(r); /* all on the same graph: more than the API promises */
}

static void *whole_life(void *arg)
{
    struct runner *r = arg;
    for (int i = 0; i < 5; i++) {
        Qnn_BackendHandle_t b;
        Qnn_ContextHandle_t c;
        r->wrong += q.backendCreate(NULL, NULL, &b) != QNN_SUCCESS || q.contextCreate(b, NULL, NULL, &c) != QNN_SUCCESS ||
                    net_affine(c, "own", r->mul, 1, &r->net) != QNN_SUCCESS ||
                    q.graphFinalize(r->net.graph, NULL, NULL) != QNN_SUCCESS;
        if (!r->wrong)
            run_rounds(r);
        r->wrong += q.backendFree(b) != QNN_SUCCESS;
    }
    return NULL;
}

static void test_lives_in_threads(void **state)
{
    (void)state;
    struct runner r[THREADS];
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct runner){ .mul = (float)i };
        pthread_create(&t[i], NULL, whole_life, &r[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(r[i].wrong, 0);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, env_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_many_jobs),
        CASE(test_forked_child),
        CASE(test_sync_among_async),
        CASE(test_structs_are_left_alone),
        CASE(test_failing_call),
        CASE(test_no_notify_function),
        CASE(test_queue_depth),
        CASE(test_queue_full_in_callback),
        CASE(test_free_with_jobs),
        CASE(test_free_from_callback),
        CASE(test_idle_signals),
        CASE(test_signal_in_use),
        CASE(test_timeout),
        CASE(test_abort),
        CASE(test_abort_and_use_again),
        CASE(test_timeout_of_waiting_job),
        CASE(test_threads),
        CASE(test_lives_in_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

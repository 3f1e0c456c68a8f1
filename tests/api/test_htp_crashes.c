/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of several threads, with random priorities, signals and batches, on sessions that are killed at random
 * points and opened again. After each round every execution has ended exactly once: with the right bits, with its
 * signal's error, or, where the session was killed, with SYSTEM_COMMUNICATION. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_test.h"

enum { ROUNDS = 24, CLIENTS = 4, CONTEXTS = 2, GRAPHS = 3, RUNS = 40, JOBS = CLIENTS * RUNS, BATCH = 3 };

struct job {
    float x[BATCH * AFFINE_N], y[BATCH * AFFINE_N];
    uint32_t batch;
    Qnn_SignalHandle_t signal;
    Qnn_Tensor_t in, out;
    bool accepted;
    Qnn_ErrorHandle_t result;
    _Atomic uint32_t ends; /* how often it was told to have ended */
};

static struct {
    struct net nets[CONTEXTS][GRAPHS];
    struct job jobs[JOBS];
    _Atomic uint32_t ended, begun;
    _Atomic bool killed;
    unsigned round;
} now;

static uint32_t random_of(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

/* ---- one execution ---------------------------------------------------------------------------------------------------- */

static void end_job(struct job *j, Qnn_ErrorHandle_t result)
{
    j->result = result;
    atomic_fetch_add(&j->ends, 1);
    atomic_fetch_add(&now.ended, 1);
}

static void on_end(void *param, Qnn_NotifyStatus_t status)
{
    end_job(param, status.error);
}

static void make_job(struct job *j, const struct net *n, uint32_t *seed)
{
    uint32_t dims[] = { 1, AFFINE_N };
    j->batch = random_of(seed, 4) ? 1 : BATCH;
    dims[0] = j->batch;
    for (uint32_t i = 0; i < j->batch * AFFINE_N; i++)
        j->x[i] = (float)random_of(seed, 1000);
    memset(j->y, 0xA5, sizeof j->y);
    uint32_t bytes = j->batch * AFFINE_N * (uint32_t)sizeof(float);
    j->in = tensor_data(tensor_shaped(n->x, 2, dims), j->x, bytes);
    j->out = tensor_data(tensor_shaped(n->y, 2, dims), j->y, bytes);
}

static bool has_right_bits(const struct job *j)
{
    for (uint32_t i = 0; i < j->batch * AFFINE_N; i++)
        if (j->y[i] != j->x[i] * 2 + 1)
            return false;
    return true;
}

static bool is_untouched_after(const struct job *j)
{
    static const uint8_t mark[4] = { 0xA5, 0xA5, 0xA5, 0xA5 };
    for (uint32_t i = j->batch * AFFINE_N; i < BATCH * AFFINE_N; i++)
        if (memcmp(&j->y[i], mark, sizeof mark) != 0)
            return false;
    return true;
}

/* NULL: it ended as it may. */
static const char *wrong_end(const struct job *j, bool killed)
{
    uint32_t code = CODE(j->result);
    if (atomic_load(&j->ends) != 1)
        return atomic_load(&j->ends) ? "it ended more than once" : "it never ended";
    if (!is_untouched_after(j))
        return "it wrote behind its output";
    if (code == QNN_SUCCESS)
        return has_right_bits(j) ? NULL : "its results are wrong";
    if (code == QNN_COMMON_ERROR_SYSTEM_COMMUNICATION)
        return killed ? NULL : "the session is alive";
    bool signalled = code == QNN_GRAPH_ERROR_ABORTED || code == QNN_GRAPH_ERROR_TIMED_OUT;
    return signalled && j->signal ? NULL : "it failed for no reason";
}

/* ---- clients ---------------------------------------------------------------------------------------------------------- */

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

static void set_priority(Qnn_GraphHandle_t g, Qnn_Priority_t priority)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = priority };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    q.graphSetConfig(g, list);
}

static void run_job(struct job *j, const struct net *n, bool async)
{
    Qnn_ErrorHandle_t e;
    atomic_fetch_add(&now.begun, 1);
    j->accepted = true; /* before a notification looks at it */
    e = async ? q.graphExecuteAsync(n->graph, &j->in, 1, &j->out, 1, NULL, j->signal, on_end, j)
              : q.graphExecute(n->graph, &j->in, 1, &j->out, 1, NULL, j->signal);
    if (CODE(e) == QNN_GRAPH_ERROR_SIGNAL_IN_USE)
        j->accepted = false;
    else if (!async || e != QNN_SUCCESS)
        end_job(j, e);
}

static void *client_main(void *arg)
{
    static const Qnn_Priority_t levels[] = { QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL, QNN_PRIORITY_HIGH };
    uint32_t client = (uint32_t)(uintptr_t)arg;
    uint32_t seed = now.round * CLIENTS + client + 1;
    Qnn_SignalHandle_t abort_it = make_signal(QNN_SIGNAL_CONFIG_OPTION_ABORT, 0),
                       late = make_signal(QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, 20);
    for (uint32_t i = 0; i < RUNS; i++) {
        struct job *j = &now.jobs[client * RUNS + i];
        const struct net *n = &now.nets[random_of(&seed, CONTEXTS)][random_of(&seed, GRAPHS)];
        uint32_t what = random_of(&seed, 8);
        make_job(j, n, &seed);
        j->signal = what == 0 ? abort_it : what == 1 ? late : NULL;
        run_job(j, n, random_of(&seed, 2));
        if (!random_of(&seed, 4))
            q.signalTrigger(abort_it);
        if (!random_of(&seed, 6))
            set_priority(n->graph, levels[random_of(&seed, COUNT(levels))]);
    }
    return NULL;
}

/* ---- rounds ----------------------------------------------------------------------------------------------------------- */

/* Sessions belong to the thread that made the first context, this one. */
static unsigned sessions(int *ret_last)
{
    unsigned n = 0;
    FILE *f = fopen(keep_name("/proc/self/task/%d/children", (int)getpid()), "re");
    while (f && fscanf(f, "%d", ret_last) == 1)
        n++;
    if (f)
        fclose(f);
    return n;
}

static void open_contexts(Qnn_ContextHandle_t c[CONTEXTS])
{
    for (unsigned i = 0; i < CONTEXTS; i++) {
        OK(q.contextCreate(env.backend, NULL, NULL, &c[i]));
        for (unsigned g = 0; g < GRAPHS; g++) {
            OK(net_affine(c[i], keep_name("g%u", g), 2, 1, &now.nets[i][g]));
            OK(q.graphFinalize(now.nets[i][g].graph, NULL, NULL));
        }
    }
}

/* A session that begins while executions on the dead one still end. The first try may be what finds it dead. */
static void start_again(void)
{
    Qnn_ContextHandle_t c;
    struct net n;
    float x[AFFINE_N] = { 3 }, y[AFFINE_N];
    for (bool first = true;; first = false) {
        OK(q.contextCreate(env.backend, NULL, NULL, &c));
        OK(net_affine(c, "again", 2, 1, &n));
        Qnn_ErrorHandle_t e = q.graphFinalize(n.graph, NULL, NULL);
        if (e == QNN_SUCCESS)
            e = net_run(&n, x, y, AFFINE_N, AFFINE_N);
        if (e == QNN_SUCCESS)
            break;
        if (!first || CODE(e) != QNN_COMMON_ERROR_SYSTEM_COMMUNICATION)
            fail_msg("no new session: %s", explain(e));
        OK(q.contextFree(c, NULL));
    }
    assert_true(y[0] == 7 && y[1] == 1);
    OK(q.contextFree(c, NULL));
}

/* After so many executions have begun, or ended. */
static void kill_session(int pid, uint32_t *seed)
{
    uint32_t after = random_of(seed, JOBS / 2);
    _Atomic uint32_t *count = random_of(seed, 2) ? &now.begun : &now.ended;
    while (atomic_load(count) < after)
        sched_yield();
    atomic_store(&now.killed, true);
    assert_int_equal(kill(pid, SIGKILL), 0);
}

static void check_round(unsigned *ok, unsigned *lost)
{
    for (unsigned i = 0; i < JOBS; i++) {
        const struct job *j = &now.jobs[i];
        const char *why = j->accepted ? wrong_end(j, now.killed) : NULL;
        if (why)
            fail_msg("round %u, execution %u: %s (%s)", now.round, i, why, explain(j->result));
        *ok += j->accepted && j->result == QNN_SUCCESS;
        *lost += j->accepted && CODE(j->result) == QNN_COMMON_ERROR_SYSTEM_COMMUNICATION;
    }
}

static void one_round(unsigned round, unsigned *ok, unsigned *lost)
{
    Qnn_ContextHandle_t c[CONTEXTS];
    pthread_t threads[CLIENTS];
    uint32_t seed = 7 * round + 1;
    int pid = 0;
    memset(&now, 0, sizeof now);
    now.round = round;
    open_contexts(c);
    assert_int_equal(sessions(&pid), 1);
    hush(true);
    for (uintptr_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, client_main, (void *)i), 0);
    bool kills = round % 4 != 0;
    if (kills)
        kill_session(pid, &seed);
    if (kills)
        start_again();
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    hush(false);
    uint32_t accepted = 0;
    for (unsigned i = 0; i < JOBS; i++)
        accepted += now.jobs[i].accepted;
    while (atomic_load(&now.ended) < accepted) /* none is left waiting */
        sched_yield();
    for (unsigned i = 0; i < CONTEXTS; i++)
        OK(q.contextFree(c[i], NULL));
    check_round(ok, lost);
    assert_int_equal(sessions(&pid), 0);
}

static void test_rounds(void **state)
{
    (void)state;
    unsigned ok = 0, lost = 0;
    for (unsigned round = 0; round < ROUNDS; round++)
        one_round(round, &ok, &lost);
    assert_true(ok > 0 && lost > 0);
    print_message("%u executions ended well, %u with their session\n", ok, lost);
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    return q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.backendFree(env.backend));
    lib_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rounds) };
    return cmocka_run_group_tests(tests, setup, teardown);
}

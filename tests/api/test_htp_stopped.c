/* SPDX-License-Identifier: Apache-2.0 */
/* A DSP process that stands still (SIGSTOP): every call on it returns QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, signals keep
 * their time, and a new context works. A call that hangs is ended by the time limit of the test. */
#include "api_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOST QNN_COMMON_ERROR_SYSTEM_COMMUNICATION
#define SHORT "1000" /* ms, of a session that is stopped on purpose */
#define DAY "86400000"

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static int placed_pid; /* of the context placed last */
static char placed_text[2048];

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    int session;
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "the context is on session ");
    if (at && sscanf(at, "the context is on session %d (process %d)", &session, &placed_pid) == 2)
        snprintf(placed_text, sizeof placed_text, "%s", text);
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    return q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
           q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    Qnn_ErrorHandle_t e = q.backendFree(backend);
    q.logFree(listener);
    lib_close();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    return e != QNN_SUCCESS;
}

static struct net new_net(Qnn_ContextHandle_t *c)
{
    struct net n;
    OK(q.contextCreate(backend, NULL, NULL, c));
    OK(net_affine(*c, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static Qnn_ErrorHandle_t run_with(const struct net *n, Qnn_SignalHandle_t signal)
{
    float x[AFFINE_N] = { 0 }, y[AFFINE_N];
    Qnn_Tensor_t in = n->x, out = n->y;
    in.v1.clientBuf = (Qnn_ClientBuffer_t){ x, sizeof x };
    out.v1.clientBuf = (Qnn_ClientBuffer_t){ y, sizeof y };
    return q.graphExecute(n->graph, &in, 1, &out, 1, NULL, signal);
}

static void stop(int pid)
{
    siginfo_t info;
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
}

static void assert_recovers(int dead_pid)
{
    Qnn_ContextHandle_t c;
    struct net n = new_net(&c);
    assert_int_not_equal(placed_pid, dead_pid);
    OK(run_with(&n, NULL));
    OK(q.contextFree(c, NULL));
}

static unsigned children(void)
{
    unsigned n = 0;
    int pid;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    while (f && fscanf(f, "%d", &pid) == 1)
        n++;
    if (f)
        fclose(f);
    return n;
}

/* ---- what is called first --------------------------------------------------------------------------------------------- */

struct stopped {
    Qnn_ContextHandle_t c, other; /* on one session */
    struct net n, unfinished;     /* of `other` */
    Qnn_MemHandle_t mem;
    Qnn_MemDescriptor_t memory;
    void *binary;
    uint64_t bytes;
};

static Qnn_ErrorHandle_t do_execute(struct stopped *s)
{
    return run_with(&s->n, NULL);
}

static Qnn_ErrorHandle_t do_finalize(struct stopped *s)
{
    return q.graphFinalize(s->unfinished.graph, NULL, NULL);
}

static Qnn_ErrorHandle_t do_register(struct stopped *s)
{
    Qnn_MemHandle_t m;
    int fd = memfd_create("another", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    Qnn_MemDescriptor_t d = s->memory;
    d.ionInfo.fd = fd;
    Qnn_ErrorHandle_t e = q.memRegister(s->c, &d, 1, &m);
    close(fd);
    return e;
}

static Qnn_ErrorHandle_t do_create(struct stopped *s)
{
    Qnn_ContextHandle_t c;
    return q.contextCreateFromBinary(backend, NULL, NULL, s->binary, s->bytes, &c, NULL);
}

/* Freeing works, whatever the session does. */
static Qnn_ErrorHandle_t do_free(struct stopped *s)
{
    OK(q.contextFree(s->other, NULL));
    s->other = NULL;
    return run_with(&s->n, NULL);
}

static Qnn_ErrorHandle_t do_deregister(struct stopped *s)
{
    OK(q.memDeRegister(&s->mem, 1));
    s->mem = NULL;
    return run_with(&s->n, NULL);
}

static void begin_stopped(struct stopped *s, uint32_t dims[1])
{
    int fd = memfd_create("io", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    dims[0] = AFFINE_N;
    setenv("OPENQNN_SESSION_TIMEOUT", SHORT, 1);
    *s = (struct stopped){ .memory = { .memShape = { 1, dims, NULL },
                                       .dataType = QNN_DATATYPE_FLOAT_32,
                                       .memType = QNN_MEM_TYPE_ION,
                                       .ionInfo = { fd } } };
    s->n = new_net(&s->c);
    OK(q.contextGetBinarySize(s->c, &s->bytes));
    s->binary = malloc(s->bytes);
    OK(q.contextGetBinary(s->c, s->binary, s->bytes, &s->bytes));
    new_net(&s->other);
    unsetenv("OPENQNN_SESSION_TIMEOUT"); /* for the session that takes its place */
    OK(net_affine(s->other, "unfinished", 2, 1, &s->unfinished));
    OK(q.memRegister(s->c, &s->memory, 1, &s->mem));
}

static void end_stopped(struct stopped *s)
{
    if (s->mem)
        OK(q.memDeRegister(&s->mem, 1));
    if (s->other)
        OK(q.contextFree(s->other, NULL));
    OK(q.contextFree(s->c, NULL));
    close(s->memory.ionInfo.fd);
    free(s->binary);
}

static void test_first_call(void **state)
{
    (void)state;
    static Qnn_ErrorHandle_t (*const first[])(struct stopped * s) = { do_execute, do_finalize, do_register,
                                                                      do_create,  do_free,     do_deregister };
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        struct stopped s;
        uint32_t dims[1];
        char pid[32];
        const char *text = NULL;
        begin_stopped(&s, dims);
        int dead = placed_pid;
        stop(dead);
        FAILS(LOST, first[i](&s));
        FAILS(LOST, run_with(&s.n, NULL)); /* from now on at once */
        OK(q.errorGetVerboseMessage(LOST, &text));
        snprintf(pid, sizeof pid, "process %d", dead);
        assert_non_null(strstr(text, pid));
        assert_non_null(strstr(text, "no sign of life for 1"));
        assert_non_null(strstr(text, "OPENQNN_SESSION_TIMEOUT"));
        assert_non_null(strstr(text, "create them again"));
        q.errorFreeVerboseMessage(text);
        assert_recovers(dead);
        end_stopped(&s);
        assert_int_equal(children(), 0);
    }
}

static void test_only_free(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    new_net(&c);
    stop(placed_pid);
    OK(q.contextFree(c, NULL));
    assert_int_equal(children(), 0);
}

/* ---- signals ---------------------------------------------------------------------------------------------------------- */

struct job {
    const struct net *n;
    Qnn_SignalHandle_t signal;
    Qnn_ErrorHandle_t e;
    _Atomic bool ended;
    pthread_t thread;
};

static void *execute_until_lost(void *arg)
{
    struct job *j = arg;
    while (j->e == QNN_SUCCESS)
        j->e = run_with(j->n, j->signal);
    j->ended = true;
    return NULL;
}

/* The process is stopped somewhere in a row of runs, each of which has the time of its signal. Only the signal ends the last
 * one: the session's own limit is a day. */
static void signal_during_run(bool by_time)
{
    QnnSignal_Config_t time = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 1000000 };
    const QnnSignal_Config_t *configs[] = { by_time ? &time : NULL, NULL };
    Qnn_ContextHandle_t c;
    struct job j = { 0 };
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    struct net n = new_net(&c);
    int pid = placed_pid;
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    OK(q.signalCreate(backend, configs, &j.signal));
    j.n = &n;
    assert_int_equal(pthread_create(&j.thread, NULL, execute_until_lost, &j), 0);
    stop(pid);
    while (!by_time && !j.ended)
        q.signalTrigger(j.signal); /* fails between two runs */
    pthread_join(j.thread, NULL);
    uint32_t taken_back = by_time ? QNN_GRAPH_ERROR_TIMED_OUT : QNN_GRAPH_ERROR_ABORTED;
    kill(pid, SIGKILL); /* a call that was taken back left it alone */
    if (CODE(j.e) != LOST && CODE(j.e) != taken_back)
        fail_msg("the call returned %u", CODE(j.e));
    OK(q.signalFree(j.signal));
    OK(q.contextFree(c, NULL));
    assert_recovers(pid);
}

static void test_timeout(void **state)
{
    (void)state;
    signal_during_run(true);
}

static void test_abort(void **state)
{
    (void)state;
    signal_during_run(false);
}

/* Calls that load something on a session that stands still for a day: the signal ends them, with their own error, and they
 * leave everything as it was. The other contexts of the session go on when it does. */
static Qnn_ErrorHandle_t load_with(struct stopped *s, unsigned which, Qnn_SignalHandle_t signal)
{
    Qnn_ContextHandle_t c = NULL;
    if (which)
        return q.graphFinalize(s->unfinished.graph, NULL, signal);
    Qnn_ErrorHandle_t e = q.contextCreateFromBinaryWithSignal(backend, NULL, NULL, s->binary, s->bytes, &c, NULL, signal);
    if (e == QNN_SUCCESS)
        OK(q.contextFree(c, NULL));
    return e;
}

struct load_job {
    struct stopped *s;
    Qnn_SignalHandle_t signal;
    unsigned which;
    Qnn_ErrorHandle_t e;
    _Atomic bool ended;
};

static void *load_in_thread(void *arg)
{
    struct load_job *j = arg;
    j->e = load_with(j->s, j->which, j->signal);
    j->ended = true;
    return NULL;
}

static Qnn_ErrorHandle_t load_aborted(struct stopped *s, unsigned which)
{
    struct load_job j = { .s = s, .which = which };
    pthread_t thread;
    OK(q.signalCreate(backend, NULL, &j.signal));
    assert_int_equal(pthread_create(&thread, NULL, load_in_thread, &j), 0);
    while (!j.ended)
        q.signalTrigger(j.signal); /* fails before the call has it */
    pthread_join(thread, NULL);
    OK(q.signalFree(j.signal));
    return j.e;
}

static void test_loads(void **state)
{
    (void)state;
    static const uint32_t late[] = { QNN_CONTEXT_ERROR_TIMED_OUT, QNN_GRAPH_ERROR_TIMED_OUT },
                          aborted[] = { QNN_CONTEXT_ERROR_ABORTED, QNN_GRAPH_ERROR_ABORTED };
    QnnSignal_Config_t time = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 50000 };
    struct stopped s = { 0 };
    Qnn_SignalHandle_t signal;
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    s.n = new_net(&s.c);
    OK(q.contextGetBinarySize(s.c, &s.bytes));
    s.binary = malloc(s.bytes);
    OK(q.contextGetBinary(s.c, s.binary, s.bytes, &s.bytes));
    new_net(&s.other);
    OK(net_affine(s.other, "unfinished", 2, 1, &s.unfinished));
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    OK(q.signalCreate(backend, (const QnnSignal_Config_t *[]){ &time, NULL }, &signal));

    int pid = placed_pid;
    for (unsigned i = 0; i < 2; i++) {
        stop(pid);
        FAILS(late[i], load_with(&s, i, signal));
        FAILS(aborted[!i], load_aborted(&s, !i));
        FAILS(late[i], load_with(&s, i, signal));
        assert_int_equal(kill(pid, SIGCONT), 0);
        OK(run_with(&s.n, NULL));
        OK(load_with(&s, 0, NULL));
    }
    OK(q.graphFinalize(s.unfinished.graph, NULL, NULL)); /* it is what it was */
    OK(run_with(&s.unfinished, NULL));
    OK(q.signalFree(signal));
    OK(q.contextFree(s.other, NULL));
    OK(q.contextFree(s.c, NULL));
    free(s.binary);
    assert_int_equal(children(), 0);
}

/* A signal counts from the call: here while another call, which has none, has the context for as long as the session stands
 * still. */
static void *finalize_in_thread(void *arg)
{
    struct load_job *j = arg;
    j->e = q.graphFinalize(j->s->unfinished.graph, NULL, NULL);
    return NULL;
}

static void test_waits_for_context(void **state)
{
    (void)state;
    QnnSignal_Config_t time = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 50000 };
    struct stopped s = { 0 };
    struct load_job j = { .s = &s };
    struct net late;
    pthread_t thread;
    Qnn_SignalHandle_t signal;
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    s.n = new_net(&s.c);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    OK(net_affine(s.c, "unfinished", 2, 1, &s.unfinished));
    OK(net_affine(s.c, "late", 2, 1, &late));
    OK(q.signalCreate(backend, (const QnnSignal_Config_t *[]){ &time, NULL }, &signal));
    int pid = placed_pid;
    stop(pid);
    assert_int_equal(pthread_create(&thread, NULL, finalize_in_thread, &j), 0);
    for (int i = 0; i < 3; i++) /* in any order */
        FAILS(QNN_GRAPH_ERROR_TIMED_OUT, q.graphFinalize(late.graph, NULL, signal));
    assert_int_equal(kill(pid, SIGCONT), 0);
    pthread_join(thread, NULL);
    OK(j.e);
    OK(q.graphFinalize(late.graph, NULL, NULL));
    OK(run_with(&late, NULL));
    OK(run_with(&s.unfinished, NULL));
    OK(q.signalFree(signal));
    OK(q.contextFree(s.c, NULL));
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    Qnn_ContextHandle_t c[THREADS];
    struct net n[THREADS];
    struct job j[THREADS];
    memset(j, 0, sizeof j);
    setenv("OPENQNN_SESSION_TIMEOUT", SHORT, 1);
    for (int i = 0; i < THREADS; i++) {
        n[i] = new_net(&c[i]);
        j[i].n = &n[i];
    }
    int pid = placed_pid;
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&j[i].thread, NULL, execute_until_lost, &j[i]), 0);
    stop(pid);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(j[i].thread, NULL);
        assert_int_equal(CODE(j[i].e), LOST);
    }
    assert_recovers(pid);
    for (int i = 0; i < THREADS; i++)
        OK(q.contextFree(c[i], NULL));
    assert_int_equal(children(), 0);
}

/* ---- settings --------------------------------------------------------------------------------------------------------- */

static void test_settings(void **state)
{
    (void)state;
    static const char *const names[] = { "OPENQNN_SESSION_TIMEOUT", "OPENQNN_SESSION_DEBUG" };
    for (int i = 0; i < 2; i++) {
        Qnn_ContextHandle_t c;
        const char *text = NULL;
        struct net n;
        setenv(names[i], "soon", 1);
        OK(q.contextCreate(backend, NULL, NULL, &c));
        OK(net_affine(c, "net", 2, 1, &n));
        Qnn_ErrorHandle_t e = q.graphFinalize(n.graph, NULL, NULL);
        assert_int_not_equal(e, QNN_SUCCESS);
        OK(q.errorGetVerboseMessage(e, &text));
        assert_non_null(strstr(text, names[i]));
        assert_non_null(strstr(text, "\"soon\""));
        q.errorFreeVerboseMessage(text);
        OK(q.contextFree(c, NULL));
        unsetenv(names[i]);
        assert_recovers(-1);
    }
}

/* What a session is locked in by is told where it is told which session it is. */
static void test_told(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    new_net(&c);
    const char *at = strstr(placed_text, "it is locked in by: ");
    assert_non_null(at);
    print_message("%s\n", at);
    OK(q.contextFree(c, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_free, setup, teardown),
        cmocka_unit_test_setup_teardown(test_timeout, setup, teardown),
        cmocka_unit_test_setup_teardown(test_abort, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_for_context, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

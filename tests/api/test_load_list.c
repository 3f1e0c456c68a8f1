/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext_createFromBinaryListAsync: it returns before its contexts are there, loads several at
 * a time, tells of each when it is ready, and its signal ends all of it. Where one thing must come
 * before another, a callback waits for it: the wrong order hangs until the time limit of the test. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_test.h"

enum { LISTED = 4, GRAPHS = 2 };

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static struct net nets[GRAPHS];
static void *bytes;
static uint64_t size;

/* ---- who loads -------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static pthread_t loader;
static unsigned loaders; /* threads that began to load contexts of the list, at most 2 are counted */

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    if (!strstr(text, "of a list"))
        return;

    pthread_mutex_lock(&lock);
    if (!loaders) {
        loader = pthread_self();
        loaders = 1;
    } else if (loaders == 1 && !pthread_equal(loader, pthread_self())) {
        loaders = 2;
    }
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static int setup(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    lib_open();
    OK(q.logCreate(listen, QNN_LOG_LEVEL_DEBUG, &listener));
    OK(q.backendCreate(listener, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(net_affine(c, "first", 2, 1, &nets[0]));
    OK(net_affine(c, "second", 3, 2, &nets[1]));
    OK(q.graphFinalize(nets[0].graph, NULL, NULL));
    OK(q.graphFinalize(nets[1].graph, NULL, NULL));
    OK(q.contextGetBinarySize(c, &size));
    bytes = malloc(size);
    OK(q.contextGetBinary(c, bytes, size, &size));
    OK(q.contextFree(c, NULL));
    loaders = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.backendFree(backend));
    OK(q.logFree(listener));
    free(bytes);
    lib_close();
    return 0;
}

/* ---- a list ----------------------------------------------------------------------------------- */

/* What was told about one context. */
struct told {
    struct list *list;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graphs[GRAPHS];
    Qnn_ErrorHandle_t status;
    unsigned n_graphs, n_contexts;
};

struct list {
    struct told told[LISTED];
    unsigned n_contexts;                /* notifications */
    void (*on_told)(struct list *list); /* in each notification */
    Qnn_SignalHandle_t signal;
    sem_t returned;
    bool inside; /* a notification */
};

static void on_notify(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    static const char *const names[GRAPHS] = { "first", "second" };
    struct told *t = param;
    struct list *list = t->list;
    assert_false(list->inside); /* clients have no lock: one at a time */
    list->inside = true;
    if (list->on_told)
        list->on_told(list);
    if (type == QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT) {
        assert_null(context);
        assert_int_equal(t->n_contexts, 0);
        assert_string_equal(name, names[t->n_graphs]);
        t->graphs[t->n_graphs++] = graph;
        assert_true((graph != NULL) == (status == QNN_SUCCESS));
    }
    list->inside = false;

    pthread_mutex_lock(&lock);
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT) {
        t->context = context;
        t->status = status;
        t->n_contexts++;
        list->n_contexts++;
    }
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

/* The arguments are gone when the call is back, but for the binaries. */
static Qnn_ErrorHandle_t begin(struct list *list, const void *const data[LISTED])
{
    static const char *const names[] = { "first", "second", NULL };
    char *copies[] = { strdup(names[0]), strdup(names[1]), NULL };
    QnnContext_Config_t enable = { .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = (const char *const *)copies };
    const QnnContext_Config_t *config[] = { &enable, NULL };
#define PARAMS(i)                                                                                      \
    {                                                                                                  \
        QNN_CONTEXT_PARAMS_VERSION_1, .v1 = { config, data[i], size, NULL, on_notify, &list->told[i] } \
    }
    QnnContext_Params_t p[LISTED] = { PARAMS(0), PARAMS(1), PARAMS(2), PARAMS(3) };
    const QnnContext_Params_t *all[LISTED + 1] = { &p[0], &p[1], &p[2], &p[3], NULL };
    for (int i = 0; i < LISTED; i++)
        list->told[i] = (struct told){ .list = list };
    Qnn_ErrorHandle_t e = q.contextCreateFromBinaryListAsync(backend, NULL, all, NULL, list->signal);
    memset((void *)p, 0xA5, sizeof p);
    memset(all, 0xA5, sizeof all);
    memset(&enable, 0xA5, sizeof enable);
    for (int i = 0; i < 2; i++) {
        memset(copies[i], 'x', strlen(copies[i]));
        free(copies[i]);
    }
    return e;
}

static void wait_for_all(struct list *list)
{
    pthread_mutex_lock(&lock);
    while (list->n_contexts < LISTED)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

static void runs(const struct told *t, unsigned graph, float mul, float add)
{
    struct net n = nets[graph];
    float x[AFFINE_N], y[AFFINE_N];
    for (int i = 0; i < AFFINE_N; i++)
        x[i] = (float)i;
    n.graph = t->graphs[graph];
    OK(net_run(&n, x, y, AFFINE_N, AFFINE_N));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == (float)i * mul + add);
}

static void all_work(struct list *list)
{
    for (int i = 0; i < LISTED; i++) {
        OK(list->told[i].status);
        assert_int_equal(list->told[i].n_graphs, GRAPHS);
        assert_int_equal(list->told[i].n_contexts, 1);
        runs(&list->told[i], 0, 2, 1);
        runs(&list->told[i], 1, 3, 2);
        OK(q.contextFree(list->told[i].context, NULL));
    }
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void await_return(struct list *list)
{
    sem_wait(&list->returned);
    sem_post(&list->returned);
}

static void test_returns_at_once(void **state)
{
    (void)state;
    struct list list = { .on_told = await_return };
    sem_init(&list.returned, 0, 0);
    OK(begin(&list, (const void *[]){ bytes, bytes, bytes, bytes }));
    assert_int_equal(list.n_contexts, 0);
    sem_post(&list.returned);
    wait_for_all(&list);
    all_work(&list);
    sem_destroy(&list.returned);
}

static void await_second_loader(struct list *list)
{
    (void)list;
    pthread_mutex_lock(&lock);
    while (loaders < 2)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

/* While the first one is told about, another thread loads the next. */
static void test_several_at_a_time(void **state)
{
    (void)state;
    cpu_set_t cpus;
    struct list list = { .on_told = await_second_loader };
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < 2) {
        print_message("one core: contexts are loaded one after the other\n");
        skip();
    }
    OK(begin(&list, (const void *[]){ bytes, bytes, bytes, bytes }));
    wait_for_all(&list);
    all_work(&list);
}

static void test_one_bad_file(void **state)
{
    (void)state;
    struct list list = { 0 };
    char *bad = malloc(size);
    memcpy(bad, bytes, size);
    memset(bad, 0, 16);
    OK(begin(&list, (const void *[]){ bytes, bad, bytes, bytes }));
    wait_for_all(&list);
    FAILS(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, list.told[1].status);
    assert_null(list.told[1].context);
    for (int i = 0; i < LISTED; i++) {
        if (i == 1)
            continue;
        OK(list.told[i].status);
        runs(&list.told[i], 0, 2, 1);
        OK(q.contextFree(list.told[i].context, NULL));
    }
    free(bad);
}

static void new_signal(struct list *list, uint64_t timeout_us)
{
    QnnSignal_Config_t o = { .option = QNN_SIGNAL_CONFIG_OPTION_ABORT };
    if (timeout_us)
        o = (QnnSignal_Config_t){ .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = timeout_us };
    OK(q.signalCreate(backend, (const QnnSignal_Config_t *[]){ &o, NULL }, &list->signal));
}

/* The signal is the list's until the last context was told about. */
static void end_signal(struct list *list)
{
    Qnn_ErrorHandle_t e;
    while ((e = q.signalFree(list->signal)) != QNN_SUCCESS) { /* the worker is about to let go of it */
        FAILS(QNN_SIGNAL_ERROR_SIGNAL_IN_USE, e);
        sched_yield();
    }
}

static void trigger(struct list *list)
{
    struct list other = { .signal = list->signal };
    list->on_told = NULL;
    assert_int_not_equal(begin(&other, (const void *[]){ bytes, bytes, bytes, bytes }), QNN_SUCCESS); /* in use */
    OK(q.signalTrigger(list->signal));
}

/* From the notification about the first graph: its context and all that follow end. */
static void test_abort(void **state)
{
    (void)state;
    unsigned aborted = 0;
    struct list list = { .on_told = trigger };
    new_signal(&list, 0);
    OK(begin(&list, (const void *[]){ bytes, bytes, bytes, bytes }));
    wait_for_all(&list);
    for (int i = 0; i < LISTED; i++) {
        bool ended = CODE(list.told[i].status) == QNN_CONTEXT_ERROR_ABORTED;
        aborted += ended;
        assert_true((list.told[i].context == NULL) == ended);
        if (!ended)
            OK(q.contextFree(list.told[i].context, NULL));
    }
    assert_true(aborted >= LISTED - 1); /* another worker may just have been done */
    end_signal(&list);
}

static void test_timeout(void **state)
{
    (void)state;
    struct list list = { 0 };
    new_signal(&list, 1);
    OK(begin(&list, (const void *[]){ bytes, bytes, bytes, bytes }));
    wait_for_all(&list);
    for (int i = 0; i < LISTED; i++) {
        FAILS(QNN_CONTEXT_ERROR_TIMED_OUT, list.told[i].status);
        assert_int_equal(list.told[i].n_graphs, 0);
    }
    end_signal(&list);
}

/* For clients that free their buffers at once. */
static void test_waiting(void **state)
{
    (void)state;
    struct list list = { 0 };
    setenv("OPENQNN_LIST_WAIT", "1", 1);
    OK(begin(&list, (const void *[]){ bytes, bytes, bytes, bytes }));
    unsetenv("OPENQNN_LIST_WAIT");
    assert_int_equal(list.n_contexts, LISTED);
    all_work(&list);
}

/* A backend that is freed waits for its lists. */
static void test_backend_waits(void **state)
{
    (void)state;
    struct list list = { 0 };
    OK(begin(&list, (const void *[]){ bytes, bytes, bytes, bytes }));
    OK(q.backendFree(backend));
    assert_int_equal(list.n_contexts, LISTED);
    OK(q.backendCreate(listener, NULL, &backend));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_returns_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_bad_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_abort, setup, teardown),
        cmocka_unit_test_setup_teardown(test_timeout, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_backend_waits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

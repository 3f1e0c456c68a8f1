/* SPDX-License-Identifier: Apache-2.0 */
/* Priorities of graphs as threads of the HTP have them: told by profiles and by the log, wherever a priority is set. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_test.h"

enum { HMX_EVENT = 30014, HVX_EVENT = 30015 };

static const struct {
    Qnn_Priority_t priority;
    uint64_t hmx, hvx;
} table[] = {
    { QNN_PRIORITY_LOW, 0xC5, 0xC6 },
    { QNN_PRIORITY_NORMAL, 0xC0, 0xC1 },
    { QNN_PRIORITY_NORMAL_HIGH, 0xBD, 0xBE },
    { QNN_PRIORITY_HIGH, 0xBB, 0xBC },
};

static Qnn_LogHandle_t listener;
static char last_line[512];

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list ap)
{
    (void)level, (void)time;
    char line[sizeof last_line];
    vsnprintf(line, sizeof line, fmt, ap);
    if (strstr(line, "runs with priority"))
        memcpy(last_line, line, sizeof line);
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    return q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
           q.backendCreate(listener, NULL, &env.backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.backendFree(env.backend));
    OK(q.logFree(listener));
    lib_close();
    return 0;
}

static void runs_with(const struct net *n, unsigned row)
{
    char hmx[32];
    float x[AFFINE_N] = { 0 }, y[AFFINE_N];
    Qnn_Tensor_t in = WITH(n->x, x), out = WITH(n->y, y);
    Qnn_ProfileHandle_t p;
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(q.graphExecute(n->graph, &in, 1, &out, 1, p, NULL));
    assert_non_null(profile_find(p, HMX_EVENT));
    assert_int_equal(profile_find(p, HMX_EVENT)->data.value, table[row].hmx);
    assert_int_equal(profile_find(p, HVX_EVENT)->data.value, table[row].hvx);
    OK(q.profileFree(p));
    snprintf(hmx, sizeof hmx, "HMX threads at 0x%X", (unsigned)table[row].hmx);
    assert_non_null(strstr(last_line, hmx));
}

static void test_graph(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    struct net n;
    OK(net_affine(c, "n", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    runs_with(&n, 1); /* NORMAL is the default */
    for (unsigned i = 0; i < COUNT(table); i++) {
        QnnGraph_Config_t o = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = table[i].priority };
        const QnnGraph_Config_t *list[] = { &o, NULL };
        OK(q.graphSetConfig(n.graph, list));
        runs_with(&n, i);
    }
    OK(q.contextFree(c, NULL));
}

static void test_context(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT(table); i++) {
        QnnContext_Config_t o = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = table[i].priority };
        const QnnContext_Config_t *list[] = { &o, NULL };
        Qnn_ContextHandle_t c;
        struct net n;
        OK(q.contextCreate(env.backend, NULL, list, &c));
        OK(net_affine(c, "n", 2, 1, &n));
        OK(q.graphFinalize(n.graph, NULL, NULL));
        runs_with(&n, i);
        o.priority = table[3 - i].priority;
        OK(q.contextSetConfig(c, list)); /* all its graphs */
        runs_with(&n, 3 - i);
        OK(q.contextFree(c, NULL));
    }
}

static void test_binary(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16];
    Qnn_ContextBinarySize_t size;
    Qnn_ContextHandle_t c;
    struct net n;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    OK(net_affine(c, "n", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextGetBinary(c, bytes, sizeof bytes, &size));
    OK(q.contextFree(c, NULL));
    for (unsigned i = 0; i < COUNT(table); i++) {
        QnnContext_Config_t o = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = table[i].priority };
        const QnnContext_Config_t *list[] = { &o, NULL };
        OK(q.contextCreateFromBinary(env.backend, NULL, list, bytes, size, &c, NULL));
        OK(q.graphRetrieve(c, "n", &n.graph));
        runs_with(&n, i);
        OK(q.contextFree(c, NULL));
    }
}

/* ---- nice values ------------------------------------------------------------------------------------------------------ */

/* Of the thread with this name, in the process of that folder; false: there is none. */
static bool nice_of_thread(const char *process, const char *thread, int *ret)
{
    bool found = false;
    DIR *tasks = opendir(keep_name("%s/task", process));
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        char text[512] = "";
        FILE *f = fopen(keep_name("%s/task/%.20s/stat", process, d->d_name), "re");
        size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f)
            fclose(f);
        text[n] = 0;
        char *end = strrchr(text, ')');
        if (!end || !strstr(text, thread))
            continue;
        found = sscanf(end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %d", ret) == 1;
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* The thread that runs programs is in this process or in a child. */
static int nice_of_session(void)
{
    int nice = 0;
    char pid[32];
    if (nice_of_thread("/proc/self", "(qnn-session)", &nice))
        return nice;
    FILE *f = fopen(keep_name("/proc/self/task/%d/children", (int)getpid()), "re");
    bool found = false;
    while (f && !found && fscanf(f, "%31s", pid) == 1)
        found = nice_of_thread(keep_name("/proc/%s", pid), "(qnn-session)", &nice);
    if (f)
        fclose(f);
    assert_true(found);
    return nice;
}

/* A session has no capabilities: what counts there is the limit, which this process may be allowed to raise. */
static bool limit_allows(int nice)
{
    struct rlimit limit = { 40, 40 };

    if (setrlimit(RLIMIT_NICE, &limit) != 0 && getrlimit(RLIMIT_NICE, &limit) != 0)
        return false;
    return (rlim_t)(20 - nice) <= limit.rlim_max;
}

static bool may_be_nice(void)
{
    int how;
    int nice = getpriority(PRIO_PROCESS, 0) - 12;
    const char *session = getenv("OPENQNN_SESSION");
    bool in_process = session && strcmp(session, "inproc") == 0;
    pid_t child = fork();

    if (!child && in_process)
        _exit(setpriority(PRIO_PROCESS, 0, nice));
    if (!child)
        _exit(!limit_allows(nice));
    return waitpid(child, &how, 0) == child && WIFEXITED(how) && !WEXITSTATUS(how);
}

static void test_nice(void **state)
{
    (void)state;
    static const int steps[] = { 5, 0, -3, -5 };
    int own = getpriority(PRIO_PROCESS, 0);
    bool allowed = own - 12 >= -20 && may_be_nice();
    bool may = allowed;
    Qnn_ContextHandle_t c;
    struct net n;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    OK(net_affine(c, "n", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    for (unsigned i = 0; i < COUNT(table); i++) {
        QnnGraph_Config_t o = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = table[i].priority };
        const QnnGraph_Config_t *list[] = { &o, NULL };
        OK(q.graphSetConfig(n.graph, list));
        runs_with(&n, i);
        if (i == 0) /* sessions of sanitizer builds keep capabilities, and with them the right */
            may |= nice_of_session() != own;
        int wanted = own + (may ? steps[i] : 0);
        assert_int_equal(nice_of_session(), wanted < 19 ? wanted : 19);
    }
    if (!may)
        print_message("SKIP: nice values: sessions may not lower theirs\n");
    assert_int_equal(getpriority(PRIO_PROCESS, 0), own); /* the client's threads keep theirs */
    OK(q.contextFree(c, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_graph), cmocka_unit_test(test_context),
                                        cmocka_unit_test(test_binary), cmocka_unit_test(test_nice) };
    return cmocka_run_group_tests(tests, setup, teardown);
}

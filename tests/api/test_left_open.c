/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that leave things open: a library that is closed with contexts not freed ends its sessions, and a process without
 * free descriptors is told so. Argument: libQnnLpai.so, or nothing for OPENQNN_TEST_LIB. */
#include "api_test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream_kit.h"

enum { CYCLES = 50 };

static bool lpai;

static unsigned children(void)
{
    unsigned n = 0;
    int pid;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fscanf(f, "%d", &pid) == 1)
        n++;
    fclose(f);
    return n;
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Threads of this process. */
static unsigned threads(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void say_nothing(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

static Qnn_ErrorHandle_t open_net(Qnn_BackendHandle_t *b, Qnn_ContextHandle_t *c, struct net *n)
{
    Qnn_LogHandle_t log;
    OK(q.logCreate(say_nothing, QNN_LOG_LEVEL_ERROR, &log));
    Qnn_ErrorHandle_t e = q.backendCreate(log, NULL, b);
    if (e == QNN_SUCCESS)
        e = q.contextCreate(*b, NULL, NULL, c);
    if (e == QNN_SUCCESS)
        e = net_affine(*c, "net", 2, 1, n);
    return e == QNN_SUCCESS ? q.graphFinalize(n->graph, NULL, NULL) : e;
}

static Qnn_ErrorHandle_t run(const struct net *n)
{
    float x[AFFINE_N], y[AFFINE_N] = { 0 };
    for (int i = 0; i < AFFINE_N; i++)
        x[i] = (float)i;
    Qnn_ErrorHandle_t e = net_run(n, x, y, AFFINE_N, AFFINE_N);
    for (int i = 0; i < AFFINE_N && e == QNN_SUCCESS; i++)
        assert_true(y[i] == 2 * x[i] + 1);
    return e;
}

/* ---- closed without free ---------------------------------------------------------------------------------------------- */

/* Memory that a client forgets cannot be found again once the library is gone. */
#if defined(__SANITIZE_ADDRESS__)
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static void use_and_leave(int what)
{
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c, second;
    struct net n, other;
    OK(open_net(&b, &c, &n));
    OK(run(&n));
    if (what % 2)
        OK(q.contextFree(c, NULL));
    if (what % 3 == 0) {
        OK(q.contextCreate(b, NULL, NULL, &second));
        OK(net_affine(second, "other", 2, 1, &other));
        OK(q.graphFinalize(other.graph, NULL, NULL));
    }
}

static void use_and_leave_lpai(void)
{
    static struct stream s;
    stream_open(&s, KIT_LPAI, 8, true);
    assert_int_equal(children(), 1);
}

static void test_closed(void **state)
{
    (void)state;
    unsigned fds = 0, tasks = 0;
    for (int i = 0; i < CYCLES; i++) {
        if (lpai) {
            use_and_leave_lpai();
            kit_unuse(KIT_LPAI);
        } else {
            lib_open();
            use_and_leave(i);
            lib_close();
        }
        assert_int_equal(children(), 0);
        if (!i) { /* what is opened once stays open */
            fds = descriptors();
            tasks = threads();
        }
        assert_int_equal(descriptors(), fds);
        assert_int_equal(threads(), tasks);
    }
}

/* The end of a program, whose other threads are still busy: it ends, and with the code that main gave. */
static struct net busy_net;

static void *run_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        run(&busy_net);
    return NULL;
}

static void test_exit_while_busy(void **state)
{
    (void)state;
    enum { ENDS = 20, CODE_OF_MAIN = 7 };
    if (lpai)
        skip(); /* the same code */
    for (int i = 0; i < ENDS; i++) {
        int how;
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            Qnn_BackendHandle_t b;
            Qnn_ContextHandle_t c;
            lib_open();
            if (open_net(&b, &c, &busy_net) != QNN_SUCCESS || pthread_create(&thread, NULL, run_for_ever, NULL) != 0)
                _exit(1);
            for (int k = 0; k < i; k++)
                run(&busy_net);
            exit(CODE_OF_MAIN);
        }
        assert_int_equal(waitpid(pid, &how, 0), pid);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), CODE_OF_MAIN);
    }
}

/* ---- no descriptors --------------------------------------------------------------------------------------------------- */

/* 0: all worked; 1: a failure that says what it is for want of; else a defect. */
static int with_limit(unsigned free_fds)
{
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    struct net n;
    struct rlimit l;
    int highest = open("/dev/null", O_RDWR);

    close(highest);
    l.rlim_cur = l.rlim_max = (unsigned)highest + free_fds;
    setrlimit(RLIMIT_NOFILE, &l);
    Qnn_ErrorHandle_t e = open_net(&b, &c, &n);
    if (e == QNN_SUCCESS)
        e = run(&n);
    if (e == QNN_SUCCESS)
        return 0;
    const char *text = explain(e);
    bool good = strstr(text, "no free file descriptor") && strstr(text, "RLIMIT_NOFILE") && strstr(text, "limit");
    if (!good) {
        printf("%u descriptors: 0x%x: %s\n", free_fds, CODE(e), text);
        return 2;
    }
    return 1;
}

static void test_no_descriptors(void **state)
{
    (void)state;
    enum { MOST = 24, RESULTS = 3 };
    unsigned counts[RESULTS] = { 0 };
    if (lpai)
        skip(); /* it goes on in the client's process then, and warns */
    for (unsigned free_fds = 0; free_fds < MOST; free_fds++) {
        int how, said[2];
        char byte;
        assert_int_equal(pipe(said), 0);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            dup2(said[1], STDERR_FILENO);
            close(said[0]), close(said[1]);
            lib_open();
            int result = with_limit(free_fds);
            fflush(stdout);
            _exit(result);
        }
        close(said[1]);
        assert_int_equal(waitpid(pid, &how, 0), pid);
        assert_true(WIFEXITED(how));
        assert_in_range(WEXITSTATUS(how), 0, 1);
        counts[WEXITSTATUS(how)]++;
        assert_int_equal(read(said[0], &byte, 1), 0);
        close(said[0]);
    }
    print_message("%u limits: %u worked, %u were explained\n", MOST, counts[0], counts[1]);
    assert_true(counts[0] > 0 && counts[1] > 0);
}

int main(int argc, char **argv)
{
    lpai = argc > 1 && strcmp(argv[1], "libQnnLpai.so") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_exit_while_busy),
        cmocka_unit_test(test_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

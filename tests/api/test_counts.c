/* SPDX-License-Identifier: Apache-2.0 */
/* OPENQNN_COUNTS: the file says how many graphs a process finalized and executed, whatever way the process
 * ends. Every case is a process of its own: this program, started with the name of what it does. */
#include "api_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;
static char folder[] = "/tmp/openqnn-counts-XXXXXX";
static char file[128];

/* ---- the processes ---------------------------------------------------------------------------------------------------- */

static struct net begin(void)
{
    static void *none;
    struct net n;
    lib_open();
    if (env_setup(&none) != 0)
        exit(3);
    OK(net_affine(env.context, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static void execute(const struct net *n, int times)
{
    float x[AFFINE_N] = { 0 };
    float y[AFFINE_N];
    for (int i = 0; i < times; i++)
        OK(net_run(n, x, y, AFFINE_N, AFFINE_N));
}

static void notified(void *param, Qnn_NotifyStatus_t status)
{
    (void)status;
    if (write(*(int *)param, "", 1) != 1)
        exit(4);
}

/* Three that run, and one whose buffer is too small. */
static void execute_async(struct net *n)
{
    float x[AFFINE_N] = { 0 };
    float y[AFFINE_N];
    char done;
    int ends[2];
    if (pipe(ends) != 0)
        exit(5);
    for (int i = 0; i < 3; i++) {
        Qnn_Tensor_t in = WITH(n->x, x);
        Qnn_Tensor_t out = WITH(n->y, y);
        OK(q.graphExecuteAsync(n->graph, &in, 1, &out, 1, NULL, NULL, notified, &ends[1]));
        if (read(ends[0], &done, 1) != 1)
            exit(6);
    }

    Qnn_Tensor_t in = tensor_data(n->x, x, 1);
    Qnn_Tensor_t out = WITH(n->y, y);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL));
}

static void reload_binary(void)
{
    Qnn_ContextBinarySize_t size = 0;
    Qnn_ContextHandle_t c;
    OK(q.contextGetBinarySize(env.context, &size));
    void *bytes = malloc(size);
    OK(q.contextGetBinary(env.context, bytes, size, &size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &c, NULL));
    free(bytes);
}

static int be(const char *what)
{
    if (strcmp(what, "load") == 0) {
        lib_dlopen(lib_name(), RTLD_NOW | RTLD_LOCAL);
        return 0;
    }
    for (int round = 0; strcmp(what, "reopen") == 0 && round < 2; round++) {
        void *none;
        struct net each = begin();
        execute(&each, 1 + round);
        env_teardown(&none);
        lib_close();
    }
    if (strcmp(what, "reopen") == 0)
        return 0;

    struct net n = begin();
    if (strcmp(what, "async") == 0)
        execute_async(&n);
    else if (strcmp(what, "binary") == 0)
        reload_binary();
    else
        execute(&n, 5);
    if (strcmp(what, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(what, "fork") != 0)
        return 0;

    pid_t pid = fork();
    if (pid == 0)
        exit(0); /* what the parent executed is not told twice */
    return waitpid(pid, NULL, 0) == pid ? 0 : 7;
}

/* ---- what they leave -------------------------------------------------------------------------------------------------- */

static pid_t start(const char *what, const char *to)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv("OPENQNN_COUNTS", to, 1);
        execl(self, self, what, (char *)NULL);
        _exit(9);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static char *text(void)
{
    static char all[1 << 16];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, all, sizeof all - 1);
    if (fd >= 0)
        close(fd);
    all[n > 0 ? n : 0] = 0;
    return all;
}

static void leaves(const char *what, const char *format)
{
    char line[512];
    char wanted[1024] = "";
    char rest[512];
    unlink(file);
    pid_t pid = start(what, file);
    int status = finish(pid);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);

    snprintf(rest, sizeof rest, "%s", format);
    for (char *part = strtok(rest, "|"); part; part = strtok(NULL, "|")) {
        snprintf(line, sizeof line, "%d\t%s\t%s\n", (int)pid, lib_name(), part);
        strcat(wanted, line);
    }
    assert_string_equal(text(), wanted);
}

#define LINE(state, finalized, loaded, executed, failed) \
    state "\tfinalized=" #finalized "\tloaded=" #loaded "\texecuted=" #executed "\tfailed=" #failed

static void test_lines(void **state)
{
    (void)state;
    leaves("load", LINE("end", 0, 0, 0, 0));
    leaves("run", LINE("begin", 1, 0, 1, 0) "|" LINE("end", 1, 0, 5, 0));
    leaves("async", LINE("begin", 1, 0, 1, 0) "|" LINE("end", 1, 0, 3, 1));
    leaves("binary", LINE("end", 1, 1, 0, 0));
    leaves("killed", LINE("begin", 1, 0, 1, 0));
    leaves("fork", LINE("begin", 1, 0, 1, 0) "|" LINE("end", 1, 0, 5, 0));
    leaves("reopen",
           LINE("begin", 1, 0, 1, 0) "|" LINE("end", 1, 0, 1, 0) "|" LINE("begin", 1, 0, 1, 0) "|" LINE("end", 1, 0, 2, 0));
}

/* Lines of processes that write at the same time stay whole. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 12 };
    pid_t pids[MANY];
    unsigned begun = 0;
    unsigned ended = 0;
    unlink(file);
    for (int i = 0; i < MANY; i++)
        pids[i] = start("run", file);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(finish(pids[i]), 0);

    for (char *line = strtok(text(), "\n"); line; line = strtok(NULL, "\n")) {
        const char *after = strchr(line, '\t');
        assert_non_null(after);
        after += 1 + strlen(lib_name()) + 1;
        if (strcmp(after, LINE("begin", 1, 0, 1, 0)) == 0)
            begun++;
        else if (strcmp(after, LINE("end", 1, 0, 5, 0)) == 0)
            ended++;
        else
            fail_msg("\"%s\" is no line", line);
    }
    assert_int_equal(begun, MANY);
    assert_int_equal(ended, MANY);
}

/* A file that cannot be written is told, once, on standard error; nothing else changes. */
static void test_no_file(void **state)
{
    (void)state;
    char to[256];
    char said[4096] = "";
    int ends[2];
    snprintf(to, sizeof to, "%s/missing/counts", folder);
    assert_int_equal(pipe(ends), 0);
    int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    pid_t pid = start("run", to);
    dup2(before, STDERR_FILENO);
    close(before);
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; (n = read(ends[0], said + used, sizeof said - 1 - used)) > 0;)
        used += (size_t)n;
    close(ends[0]);

    assert_int_equal(finish(pid), 0);
    const char *first = strstr(said, "OPENQNN_COUNTS");
    assert_non_null(first);
    assert_non_null(strstr(said, to));
    assert_null(strstr(first + 1, "OPENQNN_COUNTS"));
}

static int set_up(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "%s/counts", mkdtemp(folder));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_file),
    };
    self = argv[0];
    return argc > 1 ? be(argv[1]) : cmocka_run_group_tests(tests, set_up, tear_down);
}

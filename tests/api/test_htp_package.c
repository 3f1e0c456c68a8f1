/* SPDX-License-Identifier: Apache-2.0 */
/* Op packages in sessions of libQnnHtp.so, which are other processes: the package runs there and cannot do more than the
 * session may, and where it crashes only the session is gone. test_op_package.c has what holds for all libraries;
 * package.c is the package, its path is the first argument; a second one: libQnnHtp.so stands alone, without a skel. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_test.h"
#include "package_kit.h"

enum { N = 8 };

static const char *path;
static const float x8[N] = { 1, -2, 3, -4, 5, -6, 7, -8 };

static Qnn_Tensor_t created(Qnn_GraphHandle_t g, Qnn_Tensor_t t)
{
    OK(q.tensorCreateGraphTensor(g, &t));
    return t;
}

static void add(Qnn_GraphHandle_t g, const char *package, const char *type, Qnn_Tensor_t x, Qnn_Tensor_t y)
{
    struct op o = { .name = keep_name("%s_%s", type, TV(y).name),
                    .type = type,
                    .package = package,
                    .ni = 1,
                    .no = 1,
                    .in = { x },
                    .out = { y } };
    OK(op_add(g, &o));
}

/* y = the operator of x, finalized. */
static struct net one_node(Qnn_ContextHandle_t context, const char *type)
{
    struct net n = { 0 };
    OK(q.graphCreate(context, keep_name("graph_%s", type), NULL, &n.graph));
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    add(n.graph, strcmp(type, "Relu") == 0 ? NULL : "tests.one", type, n.x, n.y);
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static void reg(Qnn_BackendHandle_t backend)
{
    OK(q.backendRegisterOpPackage(backend, path, "package_one", NULL));
}

static void adds_one(const struct net *n)
{
    float y[N];
    OK(net_run(n, x8, y, N, N));
    for (int i = 0; i < N; i++)
        assert_true(y[i] == x8[i] + 1);
}

/* The session of the sanitizer builds has files (docs/sessions.md). */
static bool sandboxed(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

static void test_in_session(void **state)
{
    (void)state;
    float y[N];
    reg(env.backend);
    struct net n = one_node(env.context, "Where");
    OK(net_run(&n, x8, y, N, N));
    assert_true(y[WHERE_PROCESS] > 0 && y[WHERE_PROCESS] != (float)getpid());
    assert_true(y[WHERE_FILES] == (sandboxed() ? 0.f : 1.f));
}

/* The client gets the documented code, and goes on with a new context. */
static void test_crash(void **state)
{
    (void)state;
    static const float negative[N] = { -1 };
    float y[N];
    reg(env.backend);
    for (int i = 0; i < 2; i++) {
        Qnn_ContextHandle_t context = NULL;
        OK(q.contextCreate(env.backend, NULL, NULL, &context));
        struct net n = one_node(context, "Crash");
        adds_one(&n);
        FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, net_run(&n, negative, y, N, N));
        FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, net_run(&n, x8, y, N, N));
        OK(q.contextFree(context, NULL));
    }
    struct net n = one_node(env.context, "Increment");
    adds_one(&n);
}

/* A session has the packages that were registered before it was started; contexts that need others get one of their own, and
 * those that need none go where there is one. */
static void test_sessions_apart(void **state)
{
    (void)state;
    float y[N], where[2][N];
    struct net plain = one_node(env.context, "Relu");
    OK(net_run(&plain, x8, y, N, N));

    Qnn_BackendHandle_t backend = NULL;
    Qnn_ContextHandle_t context = NULL, again = NULL;
    OK(q.backendCreate(NULL, NULL, &backend));
    reg(backend);
    OK(q.contextCreate(backend, NULL, NULL, &context));
    struct net with = one_node(context, "Where");
    OK(net_run(&with, x8, where[0], N, N));
    OK(q.contextCreate(backend, NULL, NULL, &again));
    with = one_node(again, "Where");
    OK(net_run(&with, x8, where[1], N, N));
    assert_true(where[0][WHERE_PROCESS] == where[1][WHERE_PROCESS]);

    OK(net_run(&plain, x8, y, N, N));
    assert_true(y[0] == 1 && y[1] == 0);
    OK(q.backendFree(backend));
}

/* A context whose session runs already cannot get packages any more: it says so. */
static void test_too_late(void **state)
{
    (void)state;
    one_node(env.context, "Relu");
    reg(env.backend);
    struct net n = { 0 };
    OK(q.graphCreate(env.context, "late", NULL, &n.graph));
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    add(n.graph, "tests.one", "Increment", n.x, n.y);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "before the first graph", q.graphFinalize(n.graph, NULL, NULL));

    Qnn_ContextHandle_t context = NULL;
    OK(q.contextCreate(env.backend, NULL, NULL, &context));
    n = one_node(context, "Increment");
    adds_one(&n);
}

/* Float graphs compute in float16, packages in what the client declared. */
static void test_precision(void **state)
{
    (void)state;
    static const float fine[N] = { 1.000244140625f, 70000 };
    float y[N];
    reg(env.backend);
    struct net n = one_node(env.context, "Increment");
    OK(net_run(&n, fine, y, N, N));
    assert_true(y[0] == 2.000244140625f && y[1] == 70001);

    OK(q.graphCreate(env.context, "behind", NULL, &n.graph));
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    Qnn_Tensor_t t = created(n.graph, TENSOR("t", NATIVE, FLOAT_32, 1, N));
    add(n.graph, NULL, "Relu", n.x, t);
    add(n.graph, "tests.one", "Increment", t, n.y);
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(net_run(&n, fine, y, N, N));
    assert_true(y[0] == 2);
}

/* Saved by one backend handle, loaded by another that registered the package. */
static void test_binary(void **state)
{
    (void)state;
    uint64_t size = 0, written = 0;
    reg(env.backend);
    one_node(env.context, "Increment");
    OK(q.contextGetBinarySize(env.context, &size));
    void *saved = malloc(size);
    OK(q.contextGetBinary(env.context, saved, size, &written));

    Qnn_BackendHandle_t backend = NULL;
    Qnn_ContextHandle_t context = NULL;
    struct net n = { .x = TENSOR("x", APP_WRITE, FLOAT_32, 1, N), .y = TENSOR("y", APP_READ, FLOAT_32, 1, N) };
    OK(q.backendCreate(NULL, NULL, &backend));
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "op package \"tests.one\"",
                 q.contextCreateFromBinary(backend, NULL, NULL, saved, written, &context, NULL));
    reg(backend);
    OK(q.contextCreateFromBinary(backend, NULL, NULL, saved, written, &context, NULL));
    OK(q.graphRetrieve(context, "graph_Increment", &n.graph));
    TV(n.x).id = 1;
    TV(n.y).id = 2;
    adds_one(&n);
    OK(q.backendFree(backend));
    free(saved);
}

/* A file with the head of a program for Hexagon. */
static void test_other_code(void **state)
{
    (void)state;
    static const unsigned char head[64] = { 0x7f, 'E', 'L', 'F', 1, 1, 1, [16] = 3, [18] = 164 };
    char name[] = "/tmp/qnn-package-XXXXXX";
    int file = mkstemp(name);
    assert_true(file >= 0 && write(file, head, sizeof head) == (ssize_t)sizeof head);
    close(file);
    FAILS_SAYING(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, "code for Hexagon",
                 q.backendRegisterOpPackage(env.backend, name, "package_one", "HTP"));
    unlink(name);
    FAILS_SAYING(QNN_BACKEND_ERROR_NOT_SUPPORTED, "code for Hexagon",
                 q.backendRegisterOpPackage(env.backend, path, "package_one", "HTP"));
    FAILS_SAYING(QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "\"FOO\"",
                 q.backendRegisterOpPackage(env.backend, path, "package_one", "FOO"));
    OK(q.backendRegisterOpPackage(env.backend, path, "package_one", "CPU"));
}

/* The library in a folder of its own, where it finds no skel and is started as the session itself. */
static void copy_library(char *folder)
{
    char command[4096];

    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "cp '%s/libQnnHtp.so' '%s'", getenv("OPENQNN_LIB_DIR"), folder);
    assert_int_equal(system(command), 0);
    setenv("OPENQNN_LIB_DIR", folder, 1);
}

static void remove_library(const char *folder)
{
    char file[4096];

    snprintf(file, sizeof file, "%s/libQnnHtp.so", folder);
    unlink(file);
    rmdir(folder);
}

#define T(name) cmocka_unit_test_setup_teardown(name, env_setup, env_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(test_in_session), T(test_crash),  T(test_sessions_apart), T(test_too_late),
        T(test_precision),  T(test_binary), T(test_other_code),
    };
    if (argc < 2)
        return 1;
    path = argv[1];

    char folder[] = "/tmp/qnn-alone-XXXXXX";
    const bool alone = argc > 2;
    if (alone)
        copy_library(folder);
    lib_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (alone)
        remove_library(folder);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* OPENQNN_MEMORY_BUDGET: graphs that need more memory than the user allows are refused with an explanation, and what is
 * freed can be used again. */
#include <stdlib.h>
#include <string.h>

#include "api_test.h"

enum { SIDE = 1024, N = SIDE * SIDE }; /* two matrices lie in memory at a time: 8 MiB */

static void limit(const char *mib)
{
    setenv("OPENQNN_MEMORY_BUDGET", mib, 1);
}

static int setup(void **state)
{
    limit("");
    return env_setup(state);
}

static struct net build(const char *name)
{
    struct net n;
    OK(q.graphCreate(env.context, name, NULL, &n.graph));
    net_turns(&n, SIDE);
    return n;
}

static void runs(const struct net *n)
{
    static float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1021);
    OK(net_run(n, x, y, N, N));
    for (int i = 0; i < N; i++)
        if (y[i] != 2 * x[i % SIDE * SIDE + i / SIDE])
            fail_msg("element %d is %g", i, (double)y[i]);
}

static void test_finalize(void **state)
{
    (void)state;
    struct net n = build("net");
    limit("4");
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "OPENQNN_MEMORY_BUDGET allows 4 MiB", q.graphFinalize(n.graph, NULL, NULL));
    limit("64");
    OK(q.graphFinalize(n.graph, NULL, NULL)); /* it is still what the client built */
    runs(&n);
}

static void test_binary(void **state)
{
    (void)state;
    struct net n = build("net");
    uint64_t size = 0, written = 0;
    Qnn_ContextHandle_t c[9];
    unsigned fit = 0;
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextGetBinarySize(env.context, &size));
    void *binary = malloc(size);
    OK(q.contextGetBinary(env.context, binary, size, &written));

    limit("40");
    while (fit < COUNT(c) &&
           q.contextCreateFromBinary(env.backend, NULL, NULL, binary, written, &c[fit], NULL) == QNN_SUCCESS)
        fit++;
    assert_in_range(fit, 1, COUNT(c) - 1); /* together they have a limit, */
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "other graphs have",
                 q.contextCreateFromBinary(env.backend, NULL, NULL, binary, written, &c[fit], NULL));
    OK(q.contextFree(c[0], NULL)); /* and what one gives back another one gets */
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, binary, written, &c[0], NULL));
    OK(q.graphRetrieve(c[0], "net", &n.graph));
    runs(&n);
    for (unsigned i = 0; i < fit; i++)
        OK(q.contextFree(c[i], NULL));
    free(binary);
}

static void test_not_a_number(void **state)
{
    (void)state;
    static const char *const bad[] = { "abc", "-1", "12MB", "99999999999999999999999" };
    struct net n = build("net");
    for (unsigned i = 0; i < COUNT(bad); i++) {
        limit(bad[i]);
        FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, bad[i], q.graphFinalize(n.graph, NULL, NULL));
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, env_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_finalize),
        CASE(test_binary),
        CASE(test_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

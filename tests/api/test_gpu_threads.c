/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of libQnnGpu.so in several threads: they share programs and constants, come and go at the same time, and each has
 * its own results. */
#include <QNN/GPU/QnnGpuBackend.h>
#include <pthread.h>
#include <stdlib.h>

#include "gpu_shim_kit.h"

enum { THREADS = 4, LIVES = 4, RUNS = 10, ROUNDS = 10 };

static Qnn_BackendHandle_t backend;

/* cmocka's checks end a test from its own thread only, so threads count what is wrong. */
static void *live(void *arg)
{
    float mul = (float)(uintptr_t)arg + 1.0f, x[AFFINE_N] = { 1, 2, 3, 4 }, y[AFFINE_N];
    uintptr_t wrong = 0;
    for (int i = 0; i < LIVES; i++) {
        Qnn_ContextHandle_t c;
        struct net n;
        if (q.contextCreate(backend, NULL, NULL, &c) != QNN_SUCCESS)
            return (void *)(wrong + 1);
        wrong += net_affine(c, "net", mul, 0.5f, &n) != QNN_SUCCESS || q.graphFinalize(n.graph, NULL, NULL) != QNN_SUCCESS;
        for (int k = 0; k < RUNS && !wrong; k++) {
            wrong += net_run(&n, x, y, AFFINE_N, AFFINE_N) != QNN_SUCCESS;
            for (int j = 0; j < AFFINE_N; j++)
                wrong += y[j] != x[j] * mul + 0.5f;
        }
        wrong += q.contextFree(c, NULL) != QNN_SUCCESS;
    }
    return (void *)wrong;
}

static void test_threads(void **state)
{
    (void)state;
    const QnnGpuBackend_CustomConfig_t share = { .option = QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                                 .weightSharingEnabled = 1 };
    QnnBackend_Config_t config = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                   .customConfig = (QnnBackend_CustomConfig_t)(uintptr_t)&share };
    pthread_t threads[THREADS];
    OK(q.backendCreate(NULL, (const QnnBackend_Config_t *[]){ &config, NULL }, &backend));
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_ptr_equal(wrong, NULL);
    }
    OK(q.backendFree(backend));
}

static pthread_barrier_t together;

/* Whether the context gives its binary, as large as it says. */
static bool gives_binary(Qnn_ContextHandle_t c)
{
    uint64_t size = 0, written = 0;
    if (q.contextGetBinarySize(c, &size) != QNN_SUCCESS)
        return false;

    void *bytes = malloc(size);
    bool ok = q.contextGetBinary(c, bytes, size, &written) == QNN_SUCCESS && written > 0 && written <= size;
    free(bytes);
    return ok;
}

/* Contexts of their own, whose programs are the same. The first one that is asked for its binary reads the device's. */
static void *ask(void *arg)
{
    uintptr_t wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        Qnn_ContextHandle_t c = NULL;
        struct net n;
        wrong += q.contextCreate(backend, NULL, NULL, &c) != QNN_SUCCESS;
        wrong += net_affine(c, "net", (float)(uintptr_t)arg, 0.5f, &n) != QNN_SUCCESS;
        wrong += q.graphFinalize(n.graph, NULL, NULL) != QNN_SUCCESS;
        pthread_barrier_wait(&together);
        wrong += !gives_binary(c);
        pthread_barrier_wait(&together);
        wrong += q.contextFree(c, NULL) != QNN_SUCCESS;
    }
    return (void *)wrong;
}

static void test_binaries(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    OK(q.backendCreate(NULL, NULL, &backend));
    assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
    shim->reset();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_ptr_equal(wrong, NULL);
    }
    assert_true(shim->count("clGetProgramInfo") > 0);
    assert_int_equal(shim->meetings(), 0);
    pthread_barrier_destroy(&together);
    OK(q.backendFree(backend));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads), cmocka_unit_test(test_binaries) };
    shim_open();
    return cmocka_run_group_tests(tests, NULL, shim_nothing_left);
}

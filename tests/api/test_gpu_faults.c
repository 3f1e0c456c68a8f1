/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnGpu.so when OpenCL fails: each call in turn, memory that runs out, a compiler that refuses, a device that goes away.
 * Every failure is an error with the right code, and what comes after works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_shim_kit.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

/* A network from the first call to the last; the code of the first call that failed. */
static Qnn_ErrorHandle_t whole_life(void)
{
    Qnn_BackendHandle_t b = NULL;
    Qnn_ContextHandle_t c = NULL;
    struct net n;
    float x[AFFINE_N] = { 1, 2, 3 }, y[AFFINE_N];
    Qnn_ErrorHandle_t e = q.backendCreate(NULL, NULL, &b);
    if (e == QNN_SUCCESS)
        e = q.contextCreate(b, NULL, NULL, &c);
    if (e == QNN_SUCCESS)
        e = net_affine(c, "net", 2.0f, 0.5f, &n);
    if (e == QNN_SUCCESS)
        e = q.graphFinalize(n.graph, NULL, NULL);
    for (int i = 0; i < 2 && e == QNN_SUCCESS; i++) /* the second time as a recorded queue, where there is one */
        e = net_run(&n, x, y, AFFINE_N, AFFINE_N);
    for (int i = 0; i < AFFINE_N && e == QNN_SUCCESS; i++)
        assert_true(y[i] == x[i] * 2.0f + 0.5f);
    if (b)
        OK(q.backendFree(b)); /* the context goes with it */
    assert_int_equal(shim->live(), 0); /* nothing is left on the device, however it ended */
    return e;
}

static void healthy(void)
{
    shim->reset();
    OK(whole_life());
}

/* Some failures are no reason to give up; results are right then, which whole_life checks. */
static void test_each_call(void **state)
{
    (void)state;
    static const int codes[] = { CL_OUT_OF_HOST_MEMORY, CL_INVALID_OPERATION };
    healthy();
    uint32_t calls = shim->count(NULL), refused = 0;
    assert_true(calls > 20);
    hush(true);
    for (uint32_t i = 0; i < calls; i++) {
        shim->reset();
        shim->refuse(NULL, i, codes[i % COUNT(codes)], false);
        Qnn_ErrorHandle_t e = whole_life();
        assert_true(e == QNN_SUCCESS || explain(e)[0]);
        refused += e != QNN_SUCCESS;
    }
    hush(false);
    print_message("%u calls of OpenCL, %u of them needed\n", calls, refused);
    assert_true(refused > calls / 2);
    healthy();
}

static void fails_with(uint32_t code, const char *words, const char *function, int cl_code)
{
    shim->reset();
    shim->refuse(function, 0, cl_code, true);
    hush(true);
    Qnn_ErrorHandle_t e = whole_life();
    hush(false);
    assert_int_equal(CODE(e), code);
    if (!strstr(explain(e), words))
        fail_msg("\"%s\" is not in: %s", words, explain(e));
    healthy();
}

static void test_no_memory(void **state)
{
    (void)state;
    fails_with(QNN_COMMON_ERROR_MEM_ALLOC, "CL_MEM_OBJECT_ALLOCATION_FAILURE", "clCreateBuffer",
               CL_MEM_OBJECT_ALLOCATION_FAILURE);
    fails_with(QNN_COMMON_ERROR_MEM_ALLOC, "CL_OUT_OF_RESOURCES", "clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES);
}

static void test_build_failure(void **state)
{
    (void)state;
    fails_with(QNN_GRAPH_ERROR_FINALIZE_FAILED, "could not build", "clBuildProgram", CL_BUILD_PROGRAM_FAILURE);
}

/* The context that lost its device stays unusable; a new one is not made where the old one was. */
static void test_lost_device(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t old, fresh;
    struct net n, m;
    float y[CONV_OUT], want[CONV_OUT];
    shim->reset();
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &old));
    OK(net_conv(old, "net", &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    shim->refuse("clFinish", 0, CL_DEVICE_NOT_AVAILABLE, true);
    hush(true);
    FAILS_SAYING(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, "device is gone", net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    hush(false);
    shim->reset();
    OK(q.contextCreate(b, NULL, NULL, &fresh));
    assert_int_equal(shim->count("clCreateContext"), 1);
    OK(net_conv(fresh, "net", &m));
    OK(q.graphFinalize(m.graph, NULL, NULL));
    OK(net_run(&m, conv_in, y, CONV_IN, CONV_OUT));
    conv_expected(want);
    floats_are(y, want, CONV_OUT, 1e-5f);
    OK(q.backendFree(b));
    healthy();
}

/* Programs are built once per process, whatever the number of contexts and graphs. */
static void test_programs_once(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c[3];
    struct net n;
    uint32_t built = 0;
    shim->reset();
    OK(q.backendCreate(NULL, NULL, &b));
    for (int i = 0; i < 3; i++) {
        OK(q.contextCreate(b, NULL, NULL, &c[i]));
        for (int k = 0; k < 2; k++) {
            OK(net_conv(c[i], k ? "b" : "a", &n));
            OK(q.graphFinalize(n.graph, NULL, NULL));
            built = built ? built : shim->count("clBuildProgram");
        }
    }
    assert_true(built > 0);
    assert_int_equal(shim->count("clBuildProgram"), built);
    assert_int_equal(shim->count("clCreateContext"), 1);
    OK(q.contextFree(c[0], NULL)); /* the others still have what it made */
    float y[CONV_OUT];
    OK(net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    OK(q.backendFree(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_build_failure),
        cmocka_unit_test(test_lost_device),
        cmocka_unit_test(test_programs_once),
    };
    shim_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

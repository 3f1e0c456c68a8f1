/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of libQnnGpu.so has its effect, seen in what OpenCL is asked for, or is refused with a reason. Results are
 * always the same. */
#include <QNN/GPU/QnnGpuBackend.h>
#include <QNN/GPU/QnnGpuContext.h>
#include <QNN/GPU/QnnGpuGraph.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_shim_kit.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static Qnn_ErrorHandle_t backend_with(const QnnGpuBackend_CustomConfig_t *options, uint32_t n, Qnn_BackendHandle_t *ret)
{
    QnnBackend_Config_t configs[4];
    const QnnBackend_Config_t *list[5] = { NULL };
    for (uint32_t i = 0; i < n; i++) {
        configs[i] = (QnnBackend_Config_t){ .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                            .customConfig = (QnnBackend_CustomConfig_t)(uintptr_t)&options[i] };
        list[i] = &configs[i];
    }
    return q.backendCreate(NULL, list, ret);
}

static int setup(void **state)
{
    (void)state;
    shim->reset();
    return q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS ||
           q.contextCreate(env.backend, NULL, NULL, &env.context) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    return q.backendFree(env.backend) != QNN_SUCCESS;
}

static Qnn_ErrorHandle_t graph_with(const void *custom, const char *name, Qnn_GraphHandle_t *ret)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = (QnnGraph_CustomConfig_t)custom };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    return q.graphCreate(env.context, name, list, ret);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

enum { WIDE = 4096 };

/* Four transposes in a row, left as they are. */
static void make_chain(const QnnGpuGraph_CustomConfig_t *c, const char *name, struct net *ret)
{
    Qnn_Tensor_t t[5];
    QnnGpuGraph_CustomConfig_t as_made = *c;
    as_made.disableNodeOptimizations = 1;
    OK(graph_with(&as_made, name, &ret->graph));
    for (int i = 0; i < 5; i++) {
        const uint32_t dims[] = { i % 2 ? WIDE / 64 : 64, i % 2 ? 64 : WIDE / 64 };
        t[i] = tensor_make(QNN_TENSOR_VERSION_1, keep_name("%s_%d", name, i),
                           i == 0   ? QNN_TENSOR_TYPE_APP_WRITE
                           : i == 4 ? QNN_TENSOR_TYPE_APP_READ
                                    : QNN_TENSOR_TYPE_NATIVE,
                           QNN_DATATYPE_FLOAT_32, 2, dims);
        OK(q.tensorCreateGraphTensor(ret->graph, &t[i]));
    }
    for (int i = 0; i < 4; i++) {
        struct op o = { .name = keep_name("%s_op%d", name, i),
                        .type = "Transpose",
                        .ni = 1,
                        .no = 1,
                        .np = 1,
                        .in = { t[i] },
                        .out = { t[i + 1] } };
        o.p[0] = param_u32s(ret->graph, "perm", 1, (uint32_t[]){ 2 }, (uint32_t[]){ 1, 0 });
        OK(op_add(ret->graph, &o));
    }
    ret->x = t[0];
    ret->y = t[4];
    OK(q.graphFinalize(ret->graph, NULL, NULL));
}

static void run_chain(const struct net *n)
{
    static float x[WIDE], y[WIDE];
    for (int i = 0; i < WIDE; i++)
        x[i] = (float)i;
    memset(y, 0, sizeof y);
    OK(net_run(n, x, y, WIDE, WIDE));
    assert_memory_equal(x, y, sizeof x);
}

static void test_memory(void **state)
{
    (void)state;
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    uint64_t bytes[2];
    for (int i = 0; i < 2; i++) {
        struct net n;
        c.disableMemoryOptimizations = (uint8_t)i;
        uint64_t before = shim->buffer_bytes();
        make_chain(&c, i ? "apart" : "shared", &n);
        bytes[i] = shim->buffer_bytes() - before;
        run_chain(&n);
    }
    /* Three tensors are inside; two of them can have the same memory. */
    assert_int_equal(bytes[1] - bytes[0], WIDE * sizeof(float));
}

static void test_recording(void **state)
{
    (void)state;
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    struct net n, plain;
    make_chain(&c, "recorded", &n);
    for (int i = 0; i < 4; i++)
        run_chain(&n);
    if (!shim->count("clCreateCommandBufferKHR")) {
        print_message("SKIP: the device has no cl_khr_command_buffer\n");
        skip();
    }
    assert_int_equal(shim->count("clCreateCommandBufferKHR"), 1);
    assert_int_equal(shim->count("clEnqueueCommandBufferKHR"), 3);
    assert_int_equal(shim->count("clEnqueueNDRangeKernel"), 4); /* of the first run */
    c.disableQueueRecording = 1;
    make_chain(&c, "plain", &plain);
    for (int i = 0; i < 3; i++)
        run_chain(&plain);
    assert_int_equal(shim->count("clEnqueueCommandBufferKHR"), 3);
    assert_int_equal(shim->count("clEnqueueNDRangeKernel"), 16);
}

/* A recording that fails is no failure of the graph. */
static void test_recording_fails(void **state)
{
    (void)state;
    static const char *const functions[] = { "clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR",
                                             "clFinalizeCommandBufferKHR" };
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    for (size_t i = 0; i < COUNT(functions); i++) {
        struct net n;
        shim->reset();
        make_chain(&c, functions[i], &n);
        shim->refuse(functions[i], 0, CL_INVALID_OPERATION, true);
        for (int k = 0; k < 3; k++)
            run_chain(&n);
        assert_int_equal(shim->count("clEnqueueCommandBufferKHR"), 0);
    }
}

static void test_without_extension(void **state)
{
    (void)state;
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    struct net n;
    OK(q.contextFree(env.context, NULL));
    shim->extensions("-cl_khr_command_buffer");
    OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
    make_chain(&c, "plain", &n);
    for (int k = 0; k < 3; k++)
        run_chain(&n);
    assert_int_equal(shim->count("clCreateCommandBufferKHR"), 0);
}

/* Memory is planned for the device at hand; a binary for another one may not fit, and says so. */
static void test_alignment(void **state)
{
    (void)state;
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    Qnn_ContextHandle_t again;
    struct net n;
    uint64_t size, written;
    c.disableMemoryOptimizations = 1;
    make_chain(&c, "loose", &n);
    OK(q.contextGetBinarySize(env.context, &size));
    void *bytes = malloc(size);
    OK(q.contextGetBinary(env.context, bytes, size, &written));
    OK(q.contextFree(env.context, NULL));
    shim->align(32768);
    hush(true);
    Qnn_ErrorHandle_t e = q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, written, &again, NULL);
    hush(false);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    assert_non_null(strstr(explain(e), "wants multiples of 32768"));
    OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
    make_chain(&c, "tight", &n);
    run_chain(&n);
    free(bytes);
}

/* ---- the backend ------------------------------------------------------------------------------------------------------ */

enum { WEIGHTS = 64 * 64 };

/* y = x W with 64 by 64 weights, equal in all graphs. */
static void make_product(Qnn_ContextHandle_t c, const char *name, struct net *ret)
{
    static float w[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = (float)(i % 7) - 3;
    OK(q.graphCreate(c, name, NULL, &ret->graph));
    Qnn_Tensor_t x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, 64),
                 k = WITH(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, 64, 64), w),
                 y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, 64);
    OK(q.tensorCreateGraphTensor(ret->graph, &x));
    OK(q.tensorCreateGraphTensor(ret->graph, &k));
    OK(q.tensorCreateGraphTensor(ret->graph, &y));
    struct op o = { .name = name, .type = "MatMul", .ni = 2, .no = 1, .in = { x, k }, .out = { y } };
    OK(op_add(ret->graph, &o));
    ret->x = x;
    ret->y = y;
    OK(q.graphFinalize(ret->graph, NULL, NULL));
}

static void run_product(const struct net *n)
{
    float x[64], y[64], want[64] = { 0 };
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i % 5);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 64; k++)
            want[i] += x[k] * ((float)((k * 64 + i) % 7) - 3);
    OK(net_run(n, x, y, 64, 64));
    floats_are(y, want, 64, 1e-3f);
}

/* Two contexts with two graphs each; the bytes that were asked of the device for them. */
static uint64_t four_graphs(bool share)
{
    const QnnGpuBackend_CustomConfig_t o = { .option = QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                             .weightSharingEnabled = share };
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c[2];
    struct net n[4];
    uint64_t before = shim->buffer_bytes();
    OK(backend_with(&o, 1, &b));
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0)
            OK(q.contextCreate(b, NULL, NULL, &c[i / 2]));
        make_product(c[i / 2], i % 2 ? "two" : "one", &n[i]);
    }
    uint64_t bytes = shim->buffer_bytes() - before;
    for (int i = 0; i < 4; i++)
        run_product(&n[i]);
    OK(q.contextFree(c[0], NULL)); /* what it shared stays */
    run_product(&n[2]);
    run_product(&n[3]);
    OK(q.backendFree(b));
    return bytes;
}

static void test_weight_sharing(void **state)
{
    (void)state;
    uint64_t apart = four_graphs(false), shared = four_graphs(true);
    assert_true(apart - shared >= 3 * WEIGHTS * sizeof(float));
}

static void test_kernel_profiling(void **state)
{
    (void)state;
    const QnnGpuBackend_CustomConfig_t o = { .option = QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING,
                                             .disableKernelProfiling = 1 };
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t p;
    struct net n;
    float x[64] = { 0 }, y[64];
    OK(backend_with(&o, 1, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    make_product(c, "net", &n);
    OK(q.profileCreate(b, QNN_PROFILE_LEVEL_DETAILED, &p));
    Qnn_Tensor_t in = WITH(n.x, x), out = WITH(n.y, y);
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, p, NULL));
    assert_int_equal(shim->count("clGetEventProfilingInfo"), 0);
    OK(q.backendFree(b));
}

/* ---- refusals --------------------------------------------------------------------------------------------------------- */

static void says(Qnn_ErrorHandle_t e, const char *words)
{
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    if (!strstr(explain(e), words))
        fail_msg("\"%s\" is not in: %s", words, explain(e));
}

static void test_refused_of_backends(void **state)
{
    (void)state;
    static const struct {
        QnnGpuBackend_CustomConfig_t option;
        const char *words;
    } backend[] = {
        { { .option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, .enableTuningMode = 2 }, "ENABLE_TUNING_MODE is 2" },
        { { .option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR, .performanceCacheDir = NULL },
          "PERFORMANCE_CACHE_DIR is NULL" },
        { { .option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR, .performanceCacheDir = "/nonexistent" },
          "no folder" },
        { { .option = QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE, .invalidatePerformanceCache = 3 },
          "INVALIDATE_PERFORMANCE_CACHE is 3" },
        { { .option = QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED, .weightSharingEnabled = 9 },
          "WEIGHT_SHARING_ENABLED is 9" },
        { { .option = QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING, .disableKernelProfiling = 7 },
          "DISABLE_KERNEL_PROFILING is 7" },
        { { .option = (QnnGpuBackend_ConfigOption_t)5 }, "unknown option 5" },
    };
    Qnn_BackendHandle_t b;
    hush(true);
    for (size_t i = 0; i < COUNT(backend); i++)
        says(backend_with(&backend[i].option, 1, &b), backend[i].words);
    hush(false);
}

static void test_refused_of_contexts(void **state)
{
    (void)state;
    static const struct {
        QnnGpuContext_CustomConfig_t option;
        const char *words; /* NULL: ignored with a warning */
    } context[] = {
        { { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT, .perfHint = (QnnGpuContext_PerfHint_t)3 }, "perf hint 3" },
        { { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS, .useGLBuffers = 2 }, "USE_GL_BUFFERS is 2" },
        { { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS, .useGLBuffers = 1 }, NULL },
        { { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR, .kernelRepoDir = "" }, "KERNEL_REPO_DIR is empty" },
        { { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO, .invalidateKernelRepo = 4 },
          "INVALIDATE_KERNEL_REPO is 4" },
        { { .option = (QnnGpuContext_ConfigOption_t)4 }, "unknown option 4" },
    };
    Qnn_ContextHandle_t made;
    hush(true);
    for (size_t i = 0; i < COUNT(context); i++) {
        QnnContext_Config_t c = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                  .customConfig = (QnnContext_CustomConfig_t)&context[i].option };
        Qnn_ErrorHandle_t e = q.contextCreate(env.backend, NULL, (const QnnContext_Config_t *[]){ &c, NULL }, &made);
        if (context[i].words)
            says(e, context[i].words);
        else
            OK(e);
    }
    hush(false);
}

static void test_refused_of_graphs(void **state)
{
    (void)state;
    static const struct {
        QnnGpuGraph_CustomConfigV2_t option;
        const char *words;
    } graph[] = {
        { { .option = QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION, .precision = (QnnGpu_Precision_t)4 }, "precision 4" },
        { { .option = QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_MEMORY_OPTIMIZATIONS, .disableMemoryOptimizations = 2 }, "is 2" },
        { { .option = QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS, .disableNodeOptimizations = 2 }, "is 2" },
        { { .option = QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_QUEUE_RECORDING, .disableQueueRecording = 2 }, "is 2" },
        { { .option = QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG }, "fences are not supported" },
        { { .option = (QnnGpuGraph_ConfigOption_t)5 }, "unknown option 5" },
    };
    Qnn_GraphHandle_t g;
    hush(true);
    for (size_t i = 0; i < COUNT(graph); i++) {
        QnnGpuGraph_CustomConfigV2_t c = graph[i].option;
        c.handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG;
        says(graph_with(&c, "g", &g), graph[i].words);
    }
    hush(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recording, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recording_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_extension, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alignment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weight_sharing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernel_profiling, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_of_backends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_of_contexts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_of_graphs, setup, teardown),
    };
    shim_open();
    return cmocka_run_group_tests(tests, NULL, shim_nothing_left);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnGpu.so from end to end: networks, context binaries, profiles, options, and the client's own OpenCL buffers. */
#include <QNN/GPU/QnnGpuContext.h>
#include <QNN/GPU/QnnGpuGraph.h>
#include <QNN/GPU/QnnGpuMem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_cl.h"
#include "gpu_kit.h"

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_GPU);
    return q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS ||
           q.contextCreate(env.backend, NULL, NULL, &env.context) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    return q.backendFree(env.backend) != QNN_SUCCESS; /* the context goes with it */
}

/* ---- networks --------------------------------------------------------------------------------------------------------- */

static void run_conv(const struct net *n)
{
    float y[CONV_OUT], want[CONV_OUT];
    conv_expected(want);
    OK(net_run(n, conv_in, y, CONV_IN, CONV_OUT));
    floats_are(y, want, CONV_OUT, 1e-5f);
}

static void test_network(void **state)
{
    (void)state;
    struct net n;
    OK(net_conv(env.context, "net", &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    run_conv(&n);
    run_conv(&n);
}

static void test_binary(void **state)
{
    (void)state;
    struct net n;
    uint64_t size = 0, written = 0;
    Qnn_ContextHandle_t again;
    OK(net_conv(env.context, "net", &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextGetBinarySize(env.context, &size));
    void *bytes = malloc(size);
    OK(q.contextGetBinary(env.context, bytes, size, &written));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, written, &again, NULL));
    OK(q.graphRetrieve(again, "net", &n.graph));
    run_conv(&n);
    OK(q.contextFree(again, NULL));
    /* The CPU backend says whose it is. */
    Qnn_BackendHandle_t cpu;
    kit_use(KIT_CPU);
    OK(q.backendCreate(NULL, NULL, &cpu));
    hush(true);
    assert_int_not_equal(CODE(q.contextCreateFromBinary(cpu, NULL, NULL, bytes, written, &again, NULL)), QNN_SUCCESS);
    hush(false);
    OK(q.backendFree(cpu));
    kit_use(KIT_GPU);
    free(bytes);
}

/* The value of the event whose name contains `text`; -1: there is none. */
static int64_t event_value(Qnn_ProfileHandle_t p, const char *text)
{
    const QnnProfile_EventId_t *events, *below;
    uint32_t n = 0, m = 0;
    QnnProfile_EventData_t data;
    OK(q.profileGetEvents(p, &events, &n));
    for (uint32_t i = 0; i < n; i++) {
        OK(q.profileGetEventData(events[i], &data));
        if (strstr(data.identifier, text))
            return (int64_t)data.value;
        OK(q.profileGetSubEvents(events[i], &below, &m));
        for (uint32_t k = 0; k < m; k++) {
            OK(q.profileGetEventData(below[k], &data));
            if (strstr(data.identifier, text))
                return (int64_t)data.value;
        }
    }
    return -1;
}

static void test_profile(void **state)
{
    (void)state;
    for (QnnProfile_Level_t level = QNN_PROFILE_LEVEL_BASIC; level <= QNN_PROFILE_LEVEL_DETAILED; level++) {
        struct net n;
        float y[CONV_OUT];
        Qnn_ProfileHandle_t p;
        OK(q.profileCreate(env.backend, level, &p));
        OK(net_conv(env.context, level == QNN_PROFILE_LEVEL_BASIC ? "basic" : "detailed", &n));
        OK(q.graphFinalize(n.graph, NULL, NULL));
        Qnn_Tensor_t x = tensor_data(n.x, conv_in, sizeof conv_in), out = tensor_data(n.y, y, sizeof y);
        OK(q.graphExecute(n.graph, &x, 1, &out, 1, p, NULL));
        assert_true(event_value(p, "Accelerator") >= 0);
        assert_int_equal(event_value(p, "host to device"), 1);
        assert_int_equal(event_value(p, "device to host"), 1);
        assert_int_equal(event_value(p, "OpId_0") >= 0, level == QNN_PROFILE_LEVEL_DETAILED);
        OK(q.profileFree(p));
    }
}

/* What the backend cannot do is refused where the client asks, with the code of operator packages and the value that was
 * seen. */
static void test_refused_operators(void **state)
{
    (void)state;
    static uint8_t dynamic[] = { 1, 0 };
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4, 4), y = TENSOR("y", APP_READ, FLOAT_32, 4, 4),
                 open = TENSOR2("open", APP_WRITE, FLOAT_32, 4, 4);
    Qnn_Tensor_t fixed_in = tensor_quant(TENSOR("a", APP_WRITE, UFIXED_POINT_8, 4, 4), 0.1f, 0),
                 fixed_out = tensor_quant(TENSOR("b", APP_READ, UFIXED_POINT_8, 4, 4), 0.1f, 0);
    Qnn_Tensor_t wide = TENSOR("w", APP_WRITE, UINT_64, 4, 4), wide_out = TENSOR("v", APP_READ, UINT_64, 4, 4);
    open.v2.isDynamicDimensions = dynamic;
    static const char *const texts[] = { "float", "no kernel", "dynamic", "u64", "i32" };
    struct op ops[] = {
        { .name = "relu", .type = "Relu", .ni = 1, .no = 1, .in = { fixed_in }, .out = { fixed_out } },
        { .name = "quantize", .type = "Quantize", .ni = 1, .no = 1, .in = { x }, .out = { fixed_out } },
        { .name = "open", .type = "Relu", .ni = 1, .no = 1, .in = { open }, .out = { y } },
        { .name = "wide", .type = "ElementWiseAbs", .ni = 1, .no = 1, .in = { wide }, .out = { wide_out } },
        { .name = "convert",
          .type = "Convert",
          .ni = 1,
          .no = 1,
          .in = { x },
          .out = { TENSOR("i", APP_READ, INT_32, 4, 4) } },
    };
    for (size_t i = 0; i < COUNT(ops); i++) {
        hush(true);
        Qnn_ErrorHandle_t e = op_validate(env.backend, &ops[i]);
        hush(false);
        assert_int_equal(CODE(e), QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE);
        assert_non_null(strstr(explain(e), ops[i].type));
        if (!strstr(explain(e), texts[i]))
            fail_msg("\"%s\" does not say \"%s\"", explain(e), texts[i]);
    }
}

/* ---- options ---------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t graph_with(const void *custom, const char *name, Qnn_GraphHandle_t *ret)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = (QnnGraph_CustomConfig_t)custom };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    return q.graphCreate(env.context, name, list, ret);
}

/* x through a native tensor of float32: 1 + 2^-12 is 1 in float16. */
static float through_native(QnnGpu_Precision_t precision, const char *name)
{
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    Qnn_GraphHandle_t g;
    float x[4] = { 1.0f + 0x1p-12f, 0, 0, 0 }, y[4];
    c.precision = precision;
    OK(graph_with(&c, name, &g));
    Qnn_Tensor_t in = TENSOR("x", APP_WRITE, FLOAT_32, 4), mid = TENSOR("m", NATIVE, FLOAT_32, 4),
                 out = TENSOR("y", APP_READ, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(g, &in));
    OK(q.tensorCreateGraphTensor(g, &mid));
    OK(q.tensorCreateGraphTensor(g, &out));
    struct op a = { .name = "a", .type = "ElementWiseAbs", .ni = 1, .no = 1, .in = { in }, .out = { mid } };
    struct op b = { .name = "b", .type = "ElementWiseNeg", .ni = 1, .no = 1, .in = { mid }, .out = { out } };
    OK(op_add(g, &a));
    OK(op_add(g, &b));
    OK(q.graphFinalize(g, NULL, NULL));
    in = tensor_data(in, x, sizeof x);
    out = tensor_data(out, y, sizeof y);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    return -y[0];
}

/* (x + 1) - x through a native tensor of float16, x being 2048: 2049 is 2048 in float16. */
static float sum_in_native(QnnGpu_Precision_t precision, const char *name)
{
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    Qnn_GraphHandle_t g;
    _Float16 x[2] = { (_Float16)2048.0f, (_Float16)1.0f }, one[1] = { (_Float16)1.0f }, y[2];
    c.precision = precision;
    OK(graph_with(&c, name, &g));
    Qnn_Tensor_t in = TENSOR("x", APP_WRITE, FLOAT_16, 2), unit = WITH(TENSOR("one", STATIC, FLOAT_16, 1), one),
                 mid = TENSOR("m", NATIVE, FLOAT_16, 2), out = TENSOR("y", APP_READ, FLOAT_16, 2);
    OK(q.tensorCreateGraphTensor(g, &in));
    OK(q.tensorCreateGraphTensor(g, &unit));
    OK(q.tensorCreateGraphTensor(g, &mid));
    OK(q.tensorCreateGraphTensor(g, &out));
    struct op a = { .name = "a", .type = "ElementWiseAdd", .ni = 2, .no = 1, .in = { in, unit }, .out = { mid } };
    struct op b = { .name = "b", .type = "ElementWiseSubtract", .ni = 2, .no = 1, .in = { mid, in }, .out = { out } };
    OK(op_add(g, &a));
    OK(op_add(g, &b));
    OK(q.graphFinalize(g, NULL, NULL));
    in = tensor_data(in, x, sizeof x);
    out = tensor_data(out, y, sizeof y);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    return (float)y[0];
}

static void test_precision(void **state)
{
    assert_true(sum_in_native(QNN_GPU_PRECISION_USER_PROVIDED, "half") == 0.0f);
    assert_true(sum_in_native(QNN_GPU_PRECISION_FP32, "half_as_fp32") == 1.0f);
    (void)state;
    assert_true(through_native(QNN_GPU_PRECISION_USER_PROVIDED, "user") == 1.0f + 0x1p-12f);
    assert_true(through_native(QNN_GPU_PRECISION_FP32, "fp32") == 1.0f + 0x1p-12f);
    assert_true(through_native(QNN_GPU_PRECISION_FP16, "fp16") == 1.0f);
    assert_true(through_native(QNN_GPU_PRECISION_HYBRID, "hybrid") == 1.0f);
}

static void test_refused_options(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    QnnGpuGraph_CustomConfig_t c = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    c.precision = (QnnGpu_Precision_t)7;
    hush(true);
    Qnn_ErrorHandle_t e = graph_with(&c, "bad", &g);
    hush(false);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    assert_non_null(strstr(explain(e), "precision 7"));
    QnnGpuGraph_CustomConfigV2_t v2 = { .handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG,
                                        .option = QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS,
                                        .disableNodeOptimizations = 1 };
    OK(graph_with(&v2, "good", &g));
    QnnGpuContext_CustomConfig_t hint = { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT,
                                          .perfHint = (QnnGpuContext_PerfHint_t)9 };
    QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &hint };
    const QnnContext_Config_t *list[] = { &config, NULL };
    Qnn_ContextHandle_t other;
    hush(true);
    e = q.contextCreate(env.backend, NULL, list, &other);
    hush(false);
    assert_non_null(strstr(explain(e), "perf hint 9"));
    hint.perfHint = QNN_GPU_CONTEXT_PERF_HINT_LOW;
    OK(q.contextCreate(env.backend, NULL, list, &other));
    OK(q.contextFree(other, NULL));
}

/* ---- the client's buffers --------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t register_buffer(Qnn_ContextHandle_t context, void *buffer, uint32_t n, Qnn_MemHandle_t *ret)
{
    QnnGpu_MemInfoCustom_t info = QNN_GPU_MEM_INFO_CUSTOM_INIT;
    uint32_t dims[1] = { n };
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    info.memType = QNN_GPU_MEM_OPENCL;
    info.buffer = buffer;
    d.memShape = (Qnn_MemShape_t){ 1, dims, NULL };
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = QNN_MEM_TYPE_CUSTOM;
    d.customInfo = &info;
    return q.memRegister(context, &d, 1, ret);
}

static Qnn_Tensor_t with_handle(Qnn_Tensor_t t, Qnn_MemHandle_t h)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = h;
    return t;
}

static void refuse_buffer(void *buffer, uint32_t n, const char *why)
{
    Qnn_MemHandle_t h;
    hush(true);
    Qnn_ErrorHandle_t e = register_buffer(env.context, buffer, n, &h);
    hush(false);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    assert_null(h);
    if (!strstr(explain(e), why))
        fail_msg("\"%s\" is not in: %s", why, explain(e));
}

/* A graph that is loaded before the first buffer comes must move into the client's OpenCL context. */
static void test_buffers(void **state)
{
    (void)state;
    struct client_cl cl;
    struct net n;
    Qnn_ProfileHandle_t p;
    Qnn_MemHandle_t h[2];
    float x[AFFINE_N], y[AFFINE_N], want[AFFINE_N];
    assert_int_equal(client_cl_open(&cl), 0);
    for (int i = 0; i < AFFINE_N; i++)
        want[i] = (x[i] = (float)i - 3) * 2.0f + 0.5f;
    OK(net_affine(env.context, "net", 2.0f, 0.5f, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(net_run(&n, x, y, AFFINE_N, AFFINE_N));
    floats_are(y, want, AFFINE_N, 0);
    cl_mem in = client_cl_buffer(&cl, CL_MEM_READ_WRITE, sizeof x), out = client_cl_buffer(&cl, CL_MEM_READ_WRITE, sizeof y);
    OK(register_buffer(env.context, in, AFFINE_N, &h[0]));
    OK(register_buffer(env.context, out, AFFINE_N, &h[1]));
    float *map = client_cl_map(&cl, in, CL_MAP_WRITE, sizeof x);
    memcpy(map, x, sizeof x);
    client_cl_unmap(&cl, in, map);
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    Qnn_Tensor_t tx = with_handle(n.x, h[0]), ty = with_handle(n.y, h[1]);
    OK(q.graphExecute(n.graph, &tx, 1, &ty, 1, p, NULL));
    assert_int_equal(event_value(p, "host to device"), 0);
    assert_int_equal(event_value(p, "device to host"), 0);
    OK(q.profileFree(p));
    map = client_cl_map(&cl, out, CL_MAP_READ, sizeof y);
    floats_are(map, want, AFFINE_N, 0);
    client_cl_unmap(&cl, out, map);
    /* From the buffer to the host, and the other way round. */
    ty = tensor_data(n.y, y, sizeof y);
    memset(y, 0, sizeof y);
    OK(q.graphExecute(n.graph, &tx, 1, &ty, 1, NULL, NULL));
    floats_are(y, want, AFFINE_N, 0);
    OK(q.memDeRegister(h, 2));
    OK(net_run(&n, x, y, AFFINE_N, AFFINE_N));
    CL_CALL(&cl, clReleaseMemObject)(in);
    CL_CALL(&cl, clReleaseMemObject)(out);
    client_cl_close(&cl);
}

static void test_refused_buffers(void **state)
{
    (void)state;
    struct client_cl a, b;
    Qnn_MemHandle_t h;
    int here = 0;
    assert_int_equal(client_cl_open(&a), 0);
    assert_int_equal(client_cl_open(&b), 0);
    cl_mem good = client_cl_buffer(&a, CL_MEM_READ_WRITE, 64), other = client_cl_buffer(&b, CL_MEM_READ_WRITE, 64);
    refuse_buffer(NULL, 16, "NULL");
    refuse_buffer(&here, 16, "not an OpenCL buffer");
    refuse_buffer((void *)0x10000, 16, "not an OpenCL buffer");
    refuse_buffer(good, 17, "has 64 bytes; the tensor needs 68");
    OK(register_buffer(env.context, good, 16, &h));
    refuse_buffer(good, 16, "registered with this context already");
    refuse_buffer(other, 16, "another OpenCL context");
    OK(q.memDeRegister(&h, 1));
    hush(true);
    FAILS(QNN_MEM_ERROR_INVALID_HANDLE, q.memDeRegister(&h, 1));
    hush(false);
    OK(register_buffer(env.context, other, 16, &h));
    /* Released by the client, still held by the registration. */
    CL_CALL(&b, clReleaseMemObject)(other);
    OK(q.memDeRegister(&h, 1));
    CL_CALL(&a, clReleaseMemObject)(good);
    client_cl_close(&a);
    client_cl_close(&b);
}

static void test_read_only_output(void **state)
{
    (void)state;
    struct client_cl cl;
    struct net n;
    Qnn_MemHandle_t h;
    float x[AFFINE_N] = { 0 };
    assert_int_equal(client_cl_open(&cl), 0);
    OK(net_affine(env.context, "net", 2.0f, 0.5f, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    cl_mem out = client_cl_buffer(&cl, CL_MEM_READ_ONLY, sizeof x);
    OK(register_buffer(env.context, out, AFFINE_N, &h));
    Qnn_Tensor_t tx = tensor_data(n.x, x, sizeof x), ty = with_handle(n.y, h);
    hush(true);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "read-only", q.graphExecute(n.graph, &tx, 1, &ty, 1, NULL, NULL));
    hush(false);
    OK(q.memDeRegister(&h, 1));
    CL_CALL(&cl, clReleaseMemObject)(out);
    client_cl_close(&cl);
}

/* ---- without a driver ------------------------------------------------------------------------------------------------- */

/* In a process of its own, before OpenCL has looked for drivers: the error names the package. */
static int without_driver(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        Qnn_BackendHandle_t b = NULL;
        setenv("OCL_ICD_VENDORS", "/nonexistent/vendors", 1);
        kit_use(KIT_GPU);
        hush(true);
        Qnn_ErrorHandle_t e = q.backendCreate(NULL, NULL, &b);
        hush(false);
        bool said = e != QNN_SUCCESS && strstr(explain(e), "pocl-opencl-icd");
        if (!said)
            fprintf(stderr, "without a driver: %s\n", explain(e));
        _exit(!said);
    }
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_network, setup, teardown),
        cmocka_unit_test_setup_teardown(test_binary, setup, teardown),
        cmocka_unit_test_setup_teardown(test_profile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(test_precision, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_options, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buffers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_buffers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_only_output, setup, teardown),
    };
    if (without_driver())
        return 1;
    kit_need_device();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

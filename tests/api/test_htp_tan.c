/* SPDX-License-Identifier: Apache-2.0 */
/* Tan as ONNX Runtime's provider builds it: Sin, Cos and ElementWiseDivide of float32 tensors in a graph that asks for
 * FLOAT16, on a device chosen by its SoC model. The provider's test UnaryOp_Tan_fp takes SM8350, which has no float16, and
 * allows 1e-5: the graph computes in float32 there, also from a context binary. With float16 the error is larger. */
#include "api_test.h"

#include <math.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>

enum { SM8350 = 30, SM8550 = 43, N = 6 };

static const float angles[N] = { 0.1f, 0.5f, 1.0f, -0.5f, 0.3f, -1.0f };
static const float tolerance = 1e-5f;

static Qnn_DeviceHandle_t device;
static Qnn_ContextHandle_t context;

static void open_on(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };

    OK(q.deviceCreate(NULL, list, &device));
    OK(q.contextCreate(env.backend, device, NULL, &context));
}

static void close_again(void)
{
    OK(q.contextFree(context, NULL));
    OK(q.deviceFree(device));
}

static void add(Qnn_GraphHandle_t graph, struct op node)
{
    OK(op_validate(env.backend, &node));
    OK(op_add(graph, &node));
}

static struct net build_tan(void)
{
    QnnHtpGraph_CustomConfig_t half = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
                                        .precision = QNN_PRECISION_FLOAT16 };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &half };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    struct net net = { .x = TENSOR("x", APP_WRITE, FLOAT_32, 1, 2, 3), .y = TENSOR("y", APP_READ, FLOAT_32, 1, 2, 3) };
    Qnn_Tensor_t sin_out = TENSOR("x_sin_out", NATIVE, FLOAT_32, 1, 2, 3);
    Qnn_Tensor_t cos_out = TENSOR("x_cos_out", NATIVE, FLOAT_32, 1, 2, 3);

    OK(q.graphCreate(context, "tan", list, &net.graph));
    OK(q.tensorCreateGraphTensor(net.graph, &net.x));
    OK(q.tensorCreateGraphTensor(net.graph, &sin_out));
    OK(q.tensorCreateGraphTensor(net.graph, &cos_out));
    OK(q.tensorCreateGraphTensor(net.graph, &net.y));

    add(net.graph, (struct op){ "tan_Sin", QNN_OP_ELEMENT_WISE_SIN, .ni = 1, .no = 1, .in = { net.x }, .out = { sin_out } });
    add(net.graph, (struct op){ "tan_Cos", QNN_OP_ELEMENT_WISE_COS, .ni = 1, .no = 1, .in = { net.x }, .out = { cos_out } });
    add(net.graph, (struct op){ "tan_Div", QNN_OP_ELEMENT_WISE_DIVIDE, .ni = 2, .no = 1, .in = { sin_out, cos_out },
                                .out = { net.y } });
    OK(q.graphFinalize(net.graph, NULL, NULL));
    return net;
}

static double largest_error(struct net *net)
{
    float y[N];
    double most = 0;
    Qnn_Tensor_t in = WITH(net->x, angles);
    Qnn_Tensor_t out = WITH(net->y, y);

    OK(q.graphExecute(net->graph, &in, 1, &out, 1, NULL, NULL));
    for (int i = 0; i < N; i++)
        most = fmax(most, fabs(y[i] - tan((double)angles[i])));
    return most;
}

static void test_without_float16(void **state)
{
    static uint8_t bytes[65536];
    uint64_t size;

    (void)state;
    open_on(SM8350);
    struct net net = build_tan();
    assert_true(largest_error(&net) <= tolerance);

    OK(q.contextGetBinary(context, bytes, sizeof bytes, &size));
    OK(q.contextFree(context, NULL));
    OK(q.contextCreateFromBinary(env.backend, device, NULL, bytes, size, &context, NULL));
    OK(q.graphRetrieve(context, "tan", &net.graph));
    assert_true(largest_error(&net) <= tolerance);
    close_again();
}

/* Shows that the tolerance above tells the precisions apart. */
static void test_with_float16(void **state)
{
    (void)state;
    open_on(SM8550);
    struct net net = build_tan();
    double error = largest_error(&net);

    assert_true(error > tolerance && error < 0.01);
    close_again();
}

/* A process has sessions of one architecture, so each part is a process. */
int main(int argc, char **argv)
{
    const struct CMUnitTest without[] = {
        cmocka_unit_test_setup_teardown(test_without_float16, env_setup, env_teardown),
    };
    const struct CMUnitTest with[] = {
        cmocka_unit_test_setup_teardown(test_with_float16, env_setup, env_teardown),
    };
    bool float16 = argc > 1 && !strcmp(argv[1], "float16");

    lib_open();
    int failed = float16 ? cmocka_run_group_tests(with, NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
    lib_close();
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Executing with tensors that say another type than the graph has: the bytes are used as before, and the log says once per
 * graph what was probably meant. */
#include "api_test.h"

#include <stdio.h>
#include <string.h>

enum { N = 4 };

static struct {
    unsigned warnings;
    char text[1024];
} told;

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[sizeof(told.text)];

    (void)timestamp;
    vsnprintf(text, sizeof(text), fmt, args);
    if (level != QNN_LOG_LEVEL_WARN || !strstr(text, "comes as"))
        return;
    told.warnings++;
    memcpy(told.text, text, sizeof(text));
}

static int setup(void **state)
{
    (void)state;
    memset(&told, 0, sizeof(told));
    OK(q.logCreate(listen, QNN_LOG_LEVEL_WARN, &listener));
    OK(q.backendCreate(listener, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &context));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.contextFree(context, NULL));
    OK(q.backendFree(backend));
    OK(q.logFree(listener));
    return 0;
}

/* y = Relu(x) in 8 bits around 128. */
static struct net make_relu(const char *name)
{
    struct net net = { .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, N), 0.5f, -128),
                       .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, N), 0.5f, -128) };

    OK(q.graphCreate(context, name, NULL, &net.graph));
    OK(q.tensorCreateGraphTensor(net.graph, &net.x));
    OK(q.tensorCreateGraphTensor(net.graph, &net.y));
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { net.x }, { net.y } };
    OK(op_add(net.graph, &relu));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    return net;
}

static void execute_as(const struct net *net, Qnn_DataType_t type)
{
    uint8_t x[N * sizeof(float)] = { 100, 128, 130, 255 };
    uint8_t y[N] = { 0 };
    Qnn_Tensor_t in = tensor_data(net->x, x, sizeof(x));
    Qnn_Tensor_t out = tensor_data(net->y, y, sizeof(y));

    in.v1.dataType = type;
    OK(q.graphExecute(net->graph, &in, 1, &out, 1, NULL, NULL));
    assert_memory_equal(y, ((uint8_t[N]){ 128, 128, 130, 255 }), N);
}

static void test_floats_for_bytes(void **state)
{
    (void)state;
    struct net net = make_relu("floats");

    execute_as(&net, QNN_DATATYPE_FLOAT_32);
    execute_as(&net, QNN_DATATYPE_FLOAT_32);
    assert_int_equal(told.warnings, 1);
    assert_non_null(strstr(told.text, "\"x\""));
    assert_non_null(strstr(told.text, "scale 0.5 and offset -128"));

    struct net other = make_relu("another");
    execute_as(&other, QNN_DATATYPE_FLOAT_32);
    assert_int_equal(told.warnings, 2);
}

/* Types of the same bytes under another name, or none at all, are no mistake. */
static void test_other_words_for_bytes(void **state)
{
    static const Qnn_DataType_t same[] = { QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_UINT_8, QNN_DATATYPE_INT_8,
                                           QNN_DATATYPE_UNDEFINED };
    (void)state;
    struct net net = make_relu("bytes");

    for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        execute_as(&net, same[i]);
    assert_int_equal(told.warnings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_floats_for_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_words_for_bytes, setup, teardown),
    };
    lib_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

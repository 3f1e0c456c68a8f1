/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that work: built, finalized and executed in every supported way, with results computed by hand. */
#include <string.h>

#include "api_test.h"

static void create(Qnn_GraphHandle_t g, Qnn_Tensor_t *t)
{
    OK(q.tensorCreateGraphTensor(g, t));
    assert_int_not_equal(TV(*t).id, 0);
}

static void node(Qnn_GraphHandle_t g, const char *name, const char *type, const Qnn_Tensor_t *in, uint32_t ni,
                 Qnn_Tensor_t out)
{
    struct op o = { .name = name, .type = type, .ni = ni, .no = 1, .out = { out } };
    memcpy(o.in, in, ni * sizeof *in);
    OK(op_add(g, &o));
}
#define NODE(g, name, type, out, ...) \
    node((g), (name), (type), (Qnn_Tensor_t[]){ __VA_ARGS__ }, (uint32_t)COUNT(((Qnn_Tensor_t[]){ __VA_ARGS__ })), (out))

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static void test_float(void **state)
{
    (void)state;
    struct net net;
    float y[CONV_OUT], want[CONV_OUT];
    OK(net_conv(env.context, "conv", &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    conv_expected(want);
    for (int i = 0; i < 3; i++) {
        memset(y, 0xFF, sizeof y);
        OK(net_run(&net, conv_in, y, CONV_IN, CONV_OUT));
        floats_are(y, want, CONV_OUT, 1e-6f);
    }
}

/* Conv2d with steps of 1/2, 1/4 and 1/8 in the quantized tensors, so that every result is exact: for each position of the
 * output acc = sum (x - 2) * (w - 3), real = acc / 8 + bias, stored = real * 2 + 5. */
static void quantized_conv(Qnn_DataType_t bias_type, const char *name)
{
    static const uint32_t ones[2] = { 1, 1 }, zeros[4];
    static const uint8_t x[9] = { 2, 4, 6, 8, 10, 12, 2, 6, 10 }, w[4] = { 3, 5, 7, 3 };
    static const int32_t bias32[1] = { 16 };
    static const uint8_t bias8[1] = { 16 };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, name, NULL, &g));
    bool wide = bias_type == QNN_DATATYPE_SFIXED_POINT_32;
    Qnn_Tensor_t in = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, 3, 3, 1), 0.5f, -2);
    Qnn_Tensor_t filter = tensor_quant(WITH(TENSOR("w", STATIC, UFIXED_POINT_8, 2, 2, 1, 1), w), 0.25f, -3);
    Qnn_Tensor_t bias = tensor_quant(
        tensor_make(QNN_TENSOR_VERSION_1, "b", QNN_TENSOR_TYPE_STATIC, bias_type, 1, (uint32_t[]){ 1 }), 0.125f, 0);
    bias = wide ? WITH(bias, bias32) : WITH(bias, bias8);
    Qnn_Tensor_t out = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, 2, 2, 1), 0.5f, -5);
    create(g, &in);
    create(g, &filter);
    create(g, &bias);
    create(g, &out);
    struct op o = {
        .name = "conv", .type = "Conv2d", .np = 2, .ni = 3, .in = { in, filter, bias }, .no = 1, .out = { out }
    };
    o.p[0] = param_u32s(g, "stride", 1, (uint32_t[]){ 2 }, ones);
    o.p[1] = param_u32s(g, "pad_amount", 2, (uint32_t[]){ 2, 2 }, zeros);
    OK(op_validate(env.backend, &o));
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    uint8_t y[4] = { 0 }, want[4];
    for (int oy = 0; oy < 2; oy++)
        for (int ox = 0; ox < 2; ox++) {
            int acc = 0;
            for (int k = 0; k < 4; k++)
                acc += (x[(oy + k / 2) * 3 + ox + k % 2] - 2) * (w[k] - 3);
            double real = acc / 8.0 + 2.0, stored = real * 2 + 5;
            assert_true(stored == (double)(int)stored && stored <= 255); /* exact, as promised above */
            want[oy * 2 + ox] = (uint8_t)stored;
        }
    in = WITH(in, x);
    out = WITH(out, y);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    assert_memory_equal(y, want, sizeof y);
}

static void test_quantized(void **state)
{
    (void)state;
    quantized_conv(QNN_DATATYPE_SFIXED_POINT_32, "bias32");
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    Qnn_ContextHandle_t first = env.context;
    env.context = c;
    quantized_conv(QNN_DATATYPE_UFIXED_POINT_8, "bias8"); /* as the SDK's sample apps have it */
    env.context = first;
    OK(q.contextFree(c, NULL));
}

/* Versions 1 and 2 of the tensor struct in one graph, and an output that the next node reads. */
static void test_versions_mixed_and_read_output(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "mixed", NULL, &g));
    Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, FLOAT_32, 4), mid = TENSOR("mid", APP_READ, FLOAT_32, 4),
                 y = TENSOR2("y", APP_READ, FLOAT_32, 4);
    create(g, &x);
    create(g, &mid);
    create(g, &y);
    NODE(g, "relu", "Relu", mid, x);
    NODE(g, "double", "ElementWiseAdd", y, mid, mid);
    OK(q.graphFinalize(g, NULL, NULL));
    static const float in[4] = { -1, 2, -3, 4 }, relu[4] = { 0, 2, 0, 4 }, twice[4] = { 0, 4, 0, 8 };
    float got_mid[4], got_y[4];
    /* outputs in another order than created, and in the other version than created */
    Qnn_Tensor_t y1 = TENSOR("y", APP_READ, FLOAT_32, 4);
    TV(y1).id = TV(y).id;
    Qnn_Tensor_t outs[] = { WITH(y1, got_y), WITH(mid, got_mid) };
    Qnn_Tensor_t ins[] = { WITH(x, in) };
    OK(q.graphExecute(g, ins, 1, outs, 2, NULL, NULL));
    floats_are(got_mid, relu, 4, 0);
    floats_are(got_y, twice, 4, 0);
}

static void test_no_inputs(void **state)
{
    (void)state;
    static const float a[3] = { 1, -2, 3 };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "constant", NULL, &g));
    Qnn_Tensor_t c = WITH(TENSOR("a", STATIC, FLOAT_32, 3), a), mid = TENSOR("mid", NATIVE, FLOAT_32, 3),
                 y = TENSOR("y", APP_READ, FLOAT_32, 3);
    create(g, &c);
    create(g, &mid);
    create(g, &y);
    NODE(g, "relu", "Relu", mid, c);
    NODE(g, "sum", "ElementWiseAdd", y, mid, c);
    OK(q.graphFinalize(g, NULL, NULL));
    float got[3];
    Qnn_Tensor_t out = WITH(y, got);
    for (int i = 0; i < 2; i++) {
        memset(got, 0xFF, sizeof got);
        OK(q.graphExecute(g, NULL, 0, &out, 1, NULL, NULL));
        floats_are(got, (float[]){ 2, -2, 6 }, 3, 0);
    }
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphExecute(g, &out, 0, &out, 1, NULL, NULL));
}

/* ---- kinds of tensors ------------------------------------------------------------------------------------------------- */

static void test_absent_optional_input(void **state)
{
    (void)state;
    /* FullyConnected without its bias, once by a shorter list, once by a tensor of type NULL. */
    static const float w[6] = { 1, 2, 3, 4, 5, 6 }, in[3] = { 1, 1, 2 };
    for (int with_null = 0; with_null < 2; with_null++) {
        Qnn_GraphHandle_t g;
        OK(q.graphCreate(env.context, with_null ? "null" : "short", NULL, &g));
        Qnn_Tensor_t x = TENSOR(with_null ? "x1" : "x0", APP_WRITE, FLOAT_32, 1, 3),
                     y = TENSOR(with_null ? "y1" : "y0", APP_READ, FLOAT_32, 1, 2);
        Qnn_Tensor_t wt = WITH(TENSOR(with_null ? "w1" : "w0", STATIC, FLOAT_32, 2, 3), w);
        create(g, &x);
        create(g, &wt);
        create(g, &y);
        struct op o = { .name = "fc",
                        .type = "FullyConnected",
                        .ni = with_null ? 3u : 2u,
                        .in = { x, wt, tensor_absent() },
                        .no = 1,
                        .out = { y } };
        OK(op_validate(env.backend, &o));
        OK(op_add(g, &o));
        OK(q.graphFinalize(g, NULL, NULL));
        float got[2];
        Qnn_Tensor_t ix = WITH(x, in), oy = WITH(y, got);
        OK(q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
        floats_are(got, (float[]){ 9, 21 }, 2, 0);
    }
}

/* ExecuTorch leaves the channels of a Prelu where the model has them, as dimension 1. */
static void test_prelu_of_dimension_1(void **state)
{
    (void)state;
    static const float slopes[5] = { 1, 2, 3, 4, 5 };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 2, 5, 1, 3), y = TENSOR("y", APP_READ, FLOAT_32, 2, 5, 1, 3);
    Qnn_Tensor_t five = WITH(TENSOR("five", STATIC, FLOAT_32, 5), slopes),
                 four = WITH(TENSOR("four", STATIC, FLOAT_32, 4), slopes);
    create(g, &x);
    create(g, &y);
    create(g, &five);
    create(g, &four);
    struct op o = { .name = "prelu", .type = "Prelu", .ni = 2, .in = { x, four }, .no = 1, .out = { y } };
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(env.backend, &o));
    assert_int_not_equal(op_add(g, &o), QNN_SUCCESS);
    o.in[1] = five;
    OK(op_validate(env.backend, &o));
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    float in[30], want[30], got[30];
    for (int i = 0; i < 30; i++) {
        in[i] = i % 2 ? -0.5f * (float)i : (float)i;
        want[i] = in[i] < 0 ? in[i] * slopes[i / 3 % 5] : in[i];
    }
    Qnn_Tensor_t ix = WITH(x, in), oy = WITH(y, got);
    OK(q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
    floats_are(got, want, 30, 0);
}

static void test_created_null_tensor(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t n = tensor_absent(); /* some clients create absent tensors like any other */
    TV(n).name = "absent";
    OK(q.tensorCreateGraphTensor(g, &n));
}

static void test_optional_output(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4), y = TENSOR("y", APP_READ, FLOAT_32, 4),
                 extra = TENSOR("e", OPTIONAL_APP_READ, FLOAT_32, 4);
    create(g, &x);
    create(g, &y);
    create(g, &extra);
    NODE(g, "relu", "Relu", y, x);
    NODE(g, "twice", "ElementWiseAdd", extra, x, x);
    OK(q.graphFinalize(g, NULL, NULL));
    static const float in[4] = { -1, 2, -3, 4 };
    float got[4], got_extra[4];
    Qnn_Tensor_t ix = WITH(x, in), outs[] = { WITH(y, got), WITH(extra, got_extra) };
    OK(q.graphExecute(g, &ix, 1, outs, 1, NULL, NULL));
    floats_are(got, (float[]){ 0, 2, 0, 4 }, 4, 0);
    OK(q.graphExecute(g, &ix, 1, outs, 2, NULL, NULL));
    floats_are(got_extra, (float[]){ -2, 4, -6, 8 }, 4, 0);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(g, &ix, 1, outs + 1, 1, NULL, NULL)); /* y is not optional */
}

/* The client may reuse or free the memory of STATIC data as soon as the tensor is created. */
static void test_static_is_copied(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    float add[2] = { 10, 20 };
    char name[] = "constant";
    uint32_t dims[] = { 2 };
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 2), y = TENSOR("y", APP_READ, FLOAT_32, 2),
                 c = WITH(TENSOR(name, STATIC, FLOAT_32, 2), add);
    TV(c).dimensions = dims;
    create(g, &x);
    create(g, &y);
    create(g, &c);
    add[0] = add[1] = 999;
    name[0] = '!';
    dims[0] = 77;
    Qnn_Tensor_t by_id = TENSOR("constant", STATIC, FLOAT_32, 2);
    TV(by_id).id = TV(c).id;
    NODE(g, "add", "ElementWiseAdd", y, x, by_id);
    OK(q.graphFinalize(g, NULL, NULL));
    float got[2];
    Qnn_Tensor_t ix = WITH(x, ((float[]){ 1, 2 })), oy = WITH(y, got);
    OK(q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
    floats_are(got, (float[]){ 11, 22 }, 2, 0);
}

static struct {
    unsigned given, taken_back;
} raw;

static Qnn_ErrorHandle_t give_raw(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, uint64_t id, Qnn_ClientBuffer_t *buf)
{
    static float data[2] = { 3, 4 };
    (void)c, (void)g, (void)id;
    raw.given++;
    *buf = (Qnn_ClientBuffer_t){ data, sizeof data };
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t take_raw(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, uint64_t id)
{
    (void)c, (void)g, (void)id;
    raw.taken_back++;
    return QNN_SUCCESS;
}

static void test_retrieved_data(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    Qnn_TensorRetrieveRaw_t callbacks = { give_raw, take_raw };
    memset(&raw, 0, sizeof raw);
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, FLOAT_32, 2), y = TENSOR2("y", APP_READ, FLOAT_32, 2),
                 c = TENSOR2("c", STATIC, FLOAT_32, 2);
    c.v2.memType = QNN_TENSORMEMTYPE_RETRIEVE_RAW;
    c.v2.retrieveRaw = &callbacks;
    create(g, &x);
    create(g, &y);
    create(g, &c);
    NODE(g, "add", "ElementWiseAdd", y, x, c);
    OK(q.graphFinalize(g, NULL, NULL));
    float got[2];
    Qnn_Tensor_t ix = WITH(x, ((float[]){ 1, 2 })), oy = WITH(y, got);
    OK(q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
    floats_are(got, (float[]){ 4, 6 }, 2, 0);
    assert_true(raw.given >= 1);
    assert_int_equal(raw.given, raw.taken_back);
}

/* A tensor of the context: output of one graph, input of another. */
static void test_context_tensor(void **state)
{
    (void)state;
    Qnn_Tensor_t shared = TENSOR("shared", APP_READWRITE, FLOAT_32, 4);
    OK(q.tensorCreateContextTensor(env.context, &shared));
    assert_int_not_equal(TV(shared).id, 0);
    Qnn_GraphHandle_t first, second;
    OK(q.graphCreate(env.context, "first", NULL, &first));
    OK(q.graphCreate(env.context, "second", NULL, &second));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4), y = TENSOR("y", APP_READ, FLOAT_32, 4);
    create(first, &x);
    create(second, &y);
    NODE(first, "relu", "Relu", shared, x);
    NODE(second, "twice", "ElementWiseAdd", y, shared, shared);
    OK(q.graphFinalize(first, NULL, NULL));
    OK(q.graphFinalize(second, NULL, NULL));
    static const float in[4] = { -1, 2, -3, 4 };
    float between[4], got[4];
    Qnn_Tensor_t ix = WITH(x, in), rw = WITH(shared, between), oy = WITH(y, got);
    OK(q.graphExecute(first, &ix, 1, &rw, 1, NULL, NULL));
    floats_are(between, (float[]){ 0, 2, 0, 4 }, 4, 0);
    OK(q.graphExecute(second, &rw, 1, &oy, 1, NULL, NULL));
    floats_are(got, (float[]){ 0, 4, 0, 8 }, 4, 0);
}

/* ---- shapes ----------------------------------------------------------------------------------------------------------- */

static void test_batch_multiple(void **state)
{
    (void)state;
    struct net net;
    OK(net_affine(env.context, "batch", 3, -1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    float x[4 * AFFINE_N], y[4 * AFFINE_N], want[4 * AFFINE_N];
    for (int i = 0; i < 4 * AFFINE_N; i++) {
        x[i] = (float)i;
        want[i] = (float)i * 3 - 1;
    }
    for (uint32_t batch = 1; batch <= 4; batch++) {
        uint32_t dims[] = { batch, AFFINE_N }, bytes = batch * AFFINE_N * (uint32_t)sizeof(float);
        Qnn_Tensor_t in = tensor_data(tensor_shaped(net.x, 2, dims), x, bytes),
                     out = tensor_data(tensor_shaped(net.y, 2, dims), y, bytes);
        memset(y, 0, sizeof y);
        OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
        floats_are(y, want, batch * AFFINE_N, 0);
        for (uint32_t i = batch * AFFINE_N; i < 4 * AFFINE_N; i++)
            assert_true(y[i] == 0);
    }
    uint32_t two[] = { 2, AFFINE_N }, three[] = { 3, AFFINE_N };
    Qnn_Tensor_t in = WITH(tensor_shaped(net.x, 2, two), x), out = WITH(tensor_shaped(net.y, 2, three), y);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL)); /* not the same factor */
    in = WITH(tensor_shaped(net.x, 2, three), x);
    out = WITH(tensor_shaped(net.y, 2, two), y);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    in = WITH(tensor_shaped(net.x, 2, two), x);
    out = tensor_data(tensor_shaped(net.y, 2, two), y, AFFINE_N * sizeof(float));
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR,
          q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL)); /* a buffer for one only */
}

/* A tensor's dimensions count no whole number of batches: nothing runs, and no byte of the output is written. */
static void test_batch_refused(void **state)
{
    (void)state;
    static const uint32_t wrong[][2] = { { 3, AFFINE_N }, { 5, AFFINE_N },     { 1, AFFINE_N },
                                         { 0, AFFINE_N }, { 2, 2 * AFFINE_N }, { 4, AFFINE_N + 1 } };
    static const uint32_t same_bytes[][2] = { { 1, 2 * AFFINE_N }, { AFFINE_N, 2 } };
    float x[5 * AFFINE_N] = { 0 };
    float y[5 * AFFINE_N];
    Qnn_GraphHandle_t graph;

    OK(q.graphCreate(env.context, "pairs", NULL, &graph));
    Qnn_Tensor_t in = TENSOR("in", APP_WRITE, FLOAT_32, 2, AFFINE_N);
    Qnn_Tensor_t out = TENSOR("out", APP_READ, FLOAT_32, 2, AFFINE_N);
    OK(q.tensorCreateGraphTensor(graph, &in));
    OK(q.tensorCreateGraphTensor(graph, &out));
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { in }, { out } };
    OK(op_add(graph, &relu));
    OK(q.graphFinalize(graph, NULL, NULL));

    for (unsigned i = 0; i < COUNT(wrong); i++) {
        Qnn_Tensor_t xs = tensor_data(tensor_shaped(in, 2, wrong[i]), x, sizeof x);
        Qnn_Tensor_t ys = tensor_data(tensor_shaped(out, 2, wrong[i]), y, sizeof y);

        for (unsigned k = 0; k < COUNT(y); k++)
            y[k] = 77;
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "multiple", q.graphExecute(graph, &xs, 1, &ys, 1, NULL, NULL));
        for (unsigned k = 0; k < COUNT(y); k++)
            assert_true(y[k] == 77);
    }

    /* Another view of the very same bytes is no batch. */
    for (unsigned i = 0; i < COUNT(same_bytes); i++) {
        Qnn_Tensor_t xs = tensor_data(tensor_shaped(in, 2, same_bytes[i]), x, sizeof x);
        Qnn_Tensor_t ys = tensor_data(tensor_shaped(out, 2, same_bytes[i]), y, sizeof y);

        y[2 * AFFINE_N - 1] = 77;
        OK(q.graphExecute(graph, &xs, 1, &ys, 1, NULL, NULL));
        assert_true(y[2 * AFFINE_N - 1] == 0);
    }
}

static Qnn_Tensor_t dynamic(Qnn_Tensor_t t, uint8_t *flags)
{
    t.v2.isDynamicDimensions = flags;
    return t;
}

static void test_dynamic_dimensions(void **state)
{
    (void)state;
    static uint8_t flags[] = { 1, 0 };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "dynamic", NULL, &g));
    Qnn_Tensor_t x = dynamic(TENSOR2("x", APP_WRITE, FLOAT_32, 4, 2), flags),
                 mid = dynamic(TENSOR2("mid", NATIVE, FLOAT_32, 4, 2), flags),
                 y = dynamic(TENSOR2("y", APP_READ, FLOAT_32, 4, 2), flags);
    create(g, &x);
    create(g, &mid);
    create(g, &y);
    NODE(g, "relu", "Relu", mid, x);
    NODE(g, "twice", "ElementWiseAdd", y, mid, mid);
    OK(q.graphFinalize(g, NULL, NULL));
    static const float in[8] = { -1, 2, -3, 4, 5, -6, 7, 8 };
    for (uint32_t rows = 1; rows <= 4; rows++) {
        float got[8];
        uint32_t out_dims[] = { 4, 2 };
        for (int i = 0; i < 8; i++)
            got[i] = 777;
        Qnn_Tensor_t ix = tensor_data(tensor_shaped(x, 2, (uint32_t[]){ rows, 2 }), in, rows * 2 * (uint32_t)sizeof(float)),
                     oy = WITH(y, got);
        TV(oy).dimensions = out_dims;
        OK(q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
        assert_int_equal(out_dims[0], rows);
        assert_int_equal(out_dims[1], 2);
        for (uint32_t i = 0; i < 8; i++)
            assert_true(got[i] == (i >= rows * 2 ? 777 : in[i] > 0 ? 2 * in[i] : 0));
    }
    float got[16];
    Qnn_Tensor_t ix = WITH(tensor_shaped(x, 2, (uint32_t[]){ 5, 2 }), got), oy = WITH(y, got);
    FAILS_SAYING(QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE, "\"x\"",
                 q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL)); /* above the maximum */
    ix = WITH(tensor_shaped(x, 2, (uint32_t[]){ 3, 1 }), got);
    FAILS(QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE, q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL)); /* a fixed dimension */
    Qnn_Tensor_t fixed = dynamic(WITH(TENSOR2("c", STATIC, FLOAT_32, 4, 2), in), flags);
    Qnn_GraphHandle_t h;
    OK(q.graphCreate(env.context, "other", NULL, &h));
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorCreateGraphTensor(h, &fixed)); /* never on STATIC */
}

/* Rank 0: one value, no dimensions. */
static void test_scalar(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "scalar", NULL, &g));
    Qnn_Tensor_t x = tensor_make(QNN_TENSOR_VERSION_1, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 0, NULL);
    Qnn_Tensor_t y = tensor_make(QNN_TENSOR_VERSION_1, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 0, NULL);
    create(g, &x);
    create(g, &y);
    NODE(g, "twice", "ElementWiseAdd", y, x, x);
    OK(q.graphFinalize(g, NULL, NULL));
    float in[1] = { 21 }, got[1] = { 0 };
    Qnn_Tensor_t ix = WITH(x, in), oy = WITH(y, got);
    OK(q.graphExecute(g, &ix, 1, &oy, 1, NULL, NULL));
    assert_true(got[0] == 42);
}

/* ---- several graphs --------------------------------------------------------------------------------------------------- */

static void test_several_graphs(void **state)
{
    (void)state;
    struct net nets[5];
    float x[AFFINE_N], y[AFFINE_N], want[AFFINE_N];
    for (int i = 0; i < 5; i++)
        OK(net_affine(env.context, keep_name("graph%d", i), (float)i, 1, &nets[i]));
    for (int i = 0; i < AFFINE_N; i++)
        x[i] = (float)i - 3;
    for (int k = 4; k >= 0; k--)
        OK(q.graphFinalize(nets[k].graph, NULL, NULL));
    for (int k = 0; k < 5; k++) {
        Qnn_GraphHandle_t found;
        OK(q.graphRetrieve(env.context, keep_name("graph%d", k), &found));
        assert_ptr_equal(found, nets[k].graph);
        for (int i = 0; i < AFFINE_N; i++)
            want[i] = x[i] * (float)k + 1;
        OK(net_run(&nets[k], x, y, AFFINE_N, AFFINE_N));
        floats_are(y, want, AFFINE_N, 0);
    }
}

static void test_graph_config(void **state)
{
    (void)state;
    QnnGraph_Config_t priority = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH },
                      bad = { .option = (QnnGraph_ConfigOption_t)55 };
    const QnnGraph_Config_t *good[] = { &priority, NULL }, *bads[] = { &bad, NULL }, *empty[] = { NULL };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "a", good, &g));
    OK(q.graphSetConfig(g, good));
    OK(q.graphSetConfig(g, empty));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "55", q.graphSetConfig(g, bads));
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphCreate(env.context, "b", bads, &g));
    OK(q.graphCreate(env.context, "b", empty, &g)); /* the name is free: nothing of the failure is left */
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_float),
        CASE(test_quantized),
        CASE(test_versions_mixed_and_read_output),
        CASE(test_no_inputs),
        CASE(test_absent_optional_input),
        CASE(test_prelu_of_dimension_1),
        CASE(test_created_null_tensor),
        CASE(test_optional_output),
        CASE(test_static_is_copied),
        CASE(test_retrieved_data),
        CASE(test_context_tensor),
        CASE(test_batch_multiple),
        CASE(test_batch_refused),
        CASE(test_dynamic_dimensions),
        CASE(test_scalar),
        CASE(test_several_graphs),
        CASE(test_graph_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

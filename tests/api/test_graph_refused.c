/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that must be refused, each with the documented code and an explanation that names the culprit. */
#include <string.h>

#include "api_test.h"

static Qnn_GraphHandle_t new_graph(const char *name)
{
    Qnn_GraphHandle_t g = NULL;
    OK(q.graphCreate(env.context, name, NULL, &g));
    return g;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static void test_tensors(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("g");
    static const float data[4] = { 1, 2, 3, 4 };
    Qnn_Tensor_t t = TENSOR("twin", APP_WRITE, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(g, &t));
    t = TENSOR("twin", NATIVE, FLOAT_32, 2);
    FAILS_SAYING(QNN_TENSOR_ERROR_ALREADY_EXISTS, "twin", q.tensorCreateGraphTensor(g, &t));
    struct {
        uint32_t code;
        const char *says;
        Qnn_Tensor_t t;
    } bad[] = {
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "a0", TENSOR("a0", STATIC, FLOAT_32, 4) }, /* no data */
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "a1",
          tensor_data(TENSOR("a1", STATIC, FLOAT_32, 4), data, 15) },                                      /* too little */
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "a2", WITH(TENSOR("a2", APP_WRITE, FLOAT_32, 4), data) }, /* too early */
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "a3", TENSOR("a3", APP_READWRITE, FLOAT_32, 4) },         /* of a context */
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "a4", TENSOR("a4", NATIVE, FLOAT_32, 4, 0) },
        { QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, "a5", TENSOR("a5", NATIVE, STRING, 4) },
        { QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, "a6", TENSOR("a6", NATIVE, UNDEFINED, 4) },
        { QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, "a7",
          TENSOR("a7", NATIVE, FLOAT_32, 1, 1, 1, 1, 1, 1, 1, 1, 1) }, /* rank 9 */
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "a8", TENSOR("a8", UNDEFINED, FLOAT_32, 4) },
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "scale", tensor_quant(TENSOR("a9", NATIVE, UFIXED_POINT_8, 4), 0, 0) },
        { QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "scale", tensor_quant(TENSOR("b0", NATIVE, UFIXED_POINT_8, 4), -1, 0) },
    };
    for (unsigned i = 0; i < COUNT(bad); i++) {
        FAILS_SAYING(bad[i].code, bad[i].says, q.tensorCreateGraphTensor(g, &bad[i].t));
        assert_int_equal(TV(bad[i].t).id, 0);
    }
    t = TENSOR("c0", NATIVE, FLOAT_32, 4);
    TV(t).dimensions = NULL;
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorCreateGraphTensor(g, &t));
    t = TENSOR("c1", NATIVE, FLOAT_32, 4);
    t.version = (Qnn_TensorVersion_t)9;
    FAILS(QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, q.tensorCreateGraphTensor(g, &t));
    t = TENSOR("c2", NATIVE, FLOAT_32, 4);
    TV(t).dataFormat = QNN_TENSOR_DATA_FORMAT_UBWC_NV12;
    FAILS(QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, q.tensorCreateGraphTensor(g, &t));
    t = TENSOR("c3", NATIVE, FLOAT_32, 4);
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
          q.tensorCreateContextTensor(env.context, &t)); /* NATIVE belongs to a graph */
    t = TENSOR("huge", NATIVE, FLOAT_32, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF);
    assert_int_not_equal(CODE(q.tensorCreateGraphTensor(g, &t)), QNN_SUCCESS);
    for (unsigned i = 0; i < COUNT(bad); i++) { /* none of the refused names is taken */
        t = TENSOR(TV(bad[i].t).name, NATIVE, FLOAT_32, 1);
        OK(q.tensorCreateGraphTensor(g, &t));
    }
}

static void test_context_tensor_names(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t c = TENSOR("shared", APP_READWRITE, FLOAT_32, 4), t = TENSOR("shared", NATIVE, FLOAT_32, 4);
    OK(q.tensorCreateContextTensor(env.context, &c));
    FAILS(QNN_TENSOR_ERROR_ALREADY_EXISTS, q.tensorCreateGraphTensor(g, &t));
    FAILS(QNN_TENSOR_ERROR_ALREADY_EXISTS, q.tensorCreateContextTensor(env.context, &c));
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static void test_nodes(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("g");
    static const float data[4] = { 1, 2, 3, 4 };
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4), y = TENSOR("y", APP_READ, FLOAT_32, 4),
                 c = WITH(TENSOR("c", STATIC, FLOAT_32, 4), data), loose = TENSOR("loose", NATIVE, FLOAT_32, 4),
                 never = TENSOR("never", NATIVE, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    OK(q.tensorCreateGraphTensor(g, &c));
    OK(q.tensorCreateGraphTensor(g, &loose));
    Qnn_Tensor_t strange = x;
    TV(strange).id = 4242;
    TV(strange).name = "strange";
    struct {
        uint32_t code;
        const char *says;
        struct op o;
    } bad[] = {
        { 6005, "Reluu", { .name = "n", .type = "Reluu", .ni = 1, .in = { x }, .no = 1, .out = { y } } },
        { 6005,
          "my.pkg",
          { .name = "n", .package = "my.pkg", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } } },
        { 6005,
          "bogus",
          { .name = "n",
            .type = "Softmax",
            .np = 1,
            .p = { param_u32("bogus", 1) },
            .ni = 1,
            .in = { x },
            .no = 1,
            .out = { y } } },
        { 6005,
          "beta",
          { .name = "n",
            .type = "Softmax",
            .np = 2,
            .p = { param_f32("beta", 1), param_f32("beta", 2) },
            .ni = 1,
            .in = { x },
            .no = 1,
            .out = { y } } },
        { 6005,
          "stride",
          { .name = "n", .type = "Conv2d", .ni = 2, .in = { x, c }, .no = 1, .out = { y } } }, /* a mandatory parameter */
        { 6007, "loose", { .name = "n", .type = "Relu", .ni = 1, .in = { loose }, .no = 1, .out = { y } } },
        { 6004, "4242", { .name = "n", .type = "Relu", .ni = 1, .in = { strange }, .no = 1, .out = { y } } },
        { 6004,
          "never",
          { .name = "n", .type = "Relu", .ni = 1, .in = { never }, .no = 1, .out = { y } } }, /* id 0: not created */
        { 6004,
          "\"x\"",
          { .name = "n", .type = "Relu", .ni = 1, .in = { c }, .no = 1, .out = { x } } }, /* writes an input */
        { 6004,
          "\"c\"",
          { .name = "n", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { c } } }, /* writes a constant */
    };
    for (unsigned i = 0; i < COUNT(bad); i++)
        FAILS_SAYING(bad[i].code, bad[i].says, op_add(g, &bad[i].o));
    struct op good = { .name = "n", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    OK(op_add(g, &good));
    struct op again = { .name = "m", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    assert_int_not_equal(CODE(op_add(g, &again)), QNN_SUCCESS); /* y is written twice */
    Qnn_OpConfig_t v9 = op_config(&good);
    v9.version = (Qnn_OpConfigVersion_t)9;
    FAILS(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, q.graphAddNode(g, v9));
    Qnn_OpConfig_t null_lists = op_config(&good);
    null_lists.v1.inputTensors = NULL;
    FAILS(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, q.graphAddNode(g, null_lists));
    OK(q.graphFinalize(g, NULL, NULL)); /* the refusals left nothing in the graph */
}

static void test_parameter_must_be_static(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 2, 3), y = TENSOR("y", APP_READ, FLOAT_32, 3, 2),
                 perm = TENSOR("perm", APP_WRITE, UINT_32, 2);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    OK(q.tensorCreateGraphTensor(g, &perm));
    struct op o = { .name = "t", .type = "Transpose", .np = 1, .ni = 1, .in = { x }, .no = 1, .out = { y } };
    o.p[0] = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_TENSOR, .name = "perm", .tensorParam = perm };
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "perm", op_add(g, &o));
}

static void test_validation(void **state)
{
    (void)state;
    Qnn_Tensor_t x = TENSOR("x", NATIVE, FLOAT_32, 2, 3), y = TENSOR("y", NATIVE, FLOAT_32, 2, 3),
                 wrong = TENSOR("y", NATIVE, FLOAT_32, 3, 2), other = TENSOR("y", NATIVE, INT_32, 2, 3),
                 text = TENSOR("y", NATIVE, STRING, 2, 3);
    struct op o = { .name = "r", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    OK(op_validate(env.backend, &o)); /* ids do not exist yet */
    o.out[0] = wrong;
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "Relu", op_validate(env.backend, &o));
    o.out[0] = other;
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(env.backend, &o));
    o.out[0] = text;
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(env.backend, &o));
    o.out[0] = y;
    o.type = "NoSuchOp";
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "NoSuchOp", op_validate(env.backend, &o));
    o.type = "Relu";
    o.package = "other.package";
    FAILS_SAYING(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, "other.package", op_validate(env.backend, &o));
    o.package = NULL;
    o.ni = 0;
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(env.backend, &o));
    o.ni = 2;
    o.in[1] = x;
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(env.backend, &o));
}

/* During partitioning clients ask with constants whose data they do not have yet. */
static void test_validation_without_data(void **state)
{
    (void)state;
    Qnn_Tensor_t x = TENSOR("x", NATIVE, FLOAT_32, 1, 4, 4, 1), w = TENSOR("w", STATIC, FLOAT_32, 3, 3, 1, 2),
                 b = TENSOR("b", STATIC, FLOAT_32, 2), y = TENSOR("y", NATIVE, FLOAT_32, 1, 2, 2, 2);
    static const uint32_t ones[2] = { 1, 1 }, zeros[4];
    struct op o = { .name = "conv", .type = "Conv2d", .np = 2, .ni = 3, .in = { x, w, b }, .no = 1, .out = { y } };
    o.p[0] = param_u32s(NULL, "stride", 1, (uint32_t[]){ 2 }, ones);
    o.p[1] = param_u32s(NULL, "pad_amount", 2, (uint32_t[]){ 2, 2 }, zeros);
    OK(op_validate(env.backend, &o));
}

/* ---- states ----------------------------------------------------------------------------------------------------------- */

static void test_states(void **state)
{
    (void)state;
    struct net net;
    float x[AFFINE_N] = { 0 }, y[AFFINE_N];
    OK(net_affine(env.context, "net", 1, 1, &net));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, "net", net_run(&net, x, y, AFFINE_N, AFFINE_N));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "net", q.graphFinalize(net.graph, NULL, NULL));
    Qnn_Tensor_t late = TENSOR("late", NATIVE, FLOAT_32, 4);
    assert_int_not_equal(CODE(q.tensorCreateGraphTensor(net.graph, &late)), QNN_SUCCESS);
    struct op o = { .name = "late", .type = "Relu", .ni = 1, .in = { net.x }, .no = 1, .out = { net.y } };
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, op_add(net.graph, &o));
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N)); /* none the worse */
}

static void test_zero_nodes(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("empty");
    FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, "empty", q.graphFinalize(g, NULL, NULL));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(g, &x));
    FAILS(QNN_GRAPH_ERROR_FINALIZE_FAILED, q.graphFinalize(g, NULL, NULL));
    Qnn_Tensor_t y = TENSOR("y", APP_READ, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op o = { .name = "r", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL)); /* a failed finalize leaves the graph as it was */
}

/* addNode does no deep validation; what does not fit is refused at the latest by finalize, which names the node. */
static void test_shape_mismatch(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4), y = TENSOR("y", APP_READ, FLOAT_32, 5);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op o = { .name = "crooked", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    Qnn_ErrorHandle_t e = op_add(g, &o);
    if (e == QNN_SUCCESS)
        e = q.graphFinalize(g, NULL, NULL);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    assert_true(CODE(e) >= QNN_GRAPH_MIN_ERROR && CODE(e) <= QNN_GRAPH_MAX_ERROR);
    explanation_has(CODE(e), "crooked", __FILE__, __LINE__);
}

/* Counts that nobody can mean are refused before anything behind the lists is read. */
static void test_counts_that_lie(void **state)
{
    (void)state;
    static const uint32_t lies[] = { 4097, 1u << 24, INT32_MAX, UINT32_MAX };
    Qnn_GraphHandle_t g = new_graph("lies");
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 4), y = TENSOR("y", APP_READ, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    for (unsigned i = 0; i < COUNT(lies); i++)
        for (unsigned what = 0; what < 3; what++) {
            struct op o = { .name = "n",
                            .type = "Concat",
                            .np = 1,
                            .p = { param_u32("axis", 0) },
                            .ni = 1,
                            .in = { x },
                            .no = 1,
                            .out = { y } };
            *(what == 0 ? &o.ni : what == 1 ? &o.no : &o.np) = lies[i];
            FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, keep_name("%u", lies[i]), op_validate(env.backend, &o));
            FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, keep_name("%u", lies[i]), op_add(g, &o));
        }
}

/* A parameter that is named by its id has the bytes it was created with, whatever the node says of its shape. */
static void test_parameter_of_another_shape(void **state)
{
    (void)state;
    static const uint32_t perm[] = { 1, 0 };
    Qnn_GraphHandle_t g = new_graph("param");
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 2, 3), y = TENSOR("y", APP_READ, FLOAT_32, 3, 2),
                 p = WITH(TENSOR("p", STATIC, UINT_32, 2), perm);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    OK(q.tensorCreateGraphTensor(g, &p));
    struct op o = { .name = "n",
                    .type = "Transpose",
                    .np = 1,
                    .p = { { .paramType = QNN_PARAMTYPE_TENSOR, .name = "perm" } },
                    .ni = 1,
                    .in = { x },
                    .no = 1,
                    .out = { y } };
    o.p[0].tensorParam = tensor_data(tensor_shaped(p, 1, (const uint32_t[]){ 1u << 20 }), NULL, 0);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "4194304 bytes here; it was created with 8", op_add(g, &o));
    o.p[0].tensorParam = tensor_data(p, NULL, 0);
    OK(op_add(g, &o));
}

static void test_names(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("one"), h = NULL;
    assert_int_not_equal(CODE(q.graphCreate(env.context, "one", NULL, &h)), QNN_SUCCESS);
    FAILS(QNN_GRAPH_ERROR_INVALID_NAME, q.graphCreate(env.context, NULL, NULL, &h));
    FAILS(QNN_GRAPH_ERROR_INVALID_NAME, q.graphRetrieve(env.context, NULL, &h));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST, "two", q.graphRetrieve(env.context, "two", &h));
    OK(q.graphRetrieve(env.context, "one", &h));
    assert_ptr_equal(g, h);
}

/* ---- executions ------------------------------------------------------------------------------------------------------- */

static void test_executions(void **state)
{
    (void)state;
    struct net net;
    float x[AFFINE_N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[AFFINE_N];
    OK(net_affine(env.context, "net", 2, 0, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y), wrong = in, empty = net.x, no_out = net.y,
                 small = tensor_data(net.x, x, sizeof x - 1), tiny = tensor_data(net.y, y, sizeof y - 1);
    TV(wrong).id = 31337;
    Qnn_Tensor_t v9 = in;
    v9.version = (Qnn_TensorVersion_t)9;
    Qnn_Tensor_t bad_mem = in;
    TV(bad_mem).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(bad_mem).memHandle = (Qnn_MemHandle_t)(uintptr_t)0x1234;
    Qnn_Tensor_t twice[] = { in, in }, twice_out[] = { out, out };
    struct {
        uint32_t code;
        const char *says;
        const Qnn_Tensor_t *in;
        uint32_t n_in;
        Qnn_Tensor_t *out;
        uint32_t n_out;
    } bad[] = {
        { 6004, "31337", &wrong, 1, &out, 1 },   { 6004, "net_x", &empty, 1, &out, 1 },
        { 6004, "net_x", &small, 1, &out, 1 },   { 6004, "net_y", &in, 1, &tiny, 1 },
        { 6004, "net_y", &in, 1, &no_out, 1 },   { 6004, "net_x", NULL, 0, &out, 1 },
        { 6004, "net_y", &in, 1, NULL, 0 },      { 6000, "numInputs", &in, 0, &out, 1 },
        { 6000, "numOutputs", &in, 1, &out, 0 }, { 6000, "inputs", NULL, 1, &out, 1 },
        { 6000, "outputs", &in, 1, NULL, 1 },    { 6004, "net_y", &out, 1, &out, 1 },
        { 6004, "net_x", &in, 1, &in, 1 },       { 6004, "version", &v9, 1, &out, 1 },
        { 6004, "net_x", &bad_mem, 1, &out, 1 }, { 6004, "twice", twice, 2, &out, 1 },
        { 6004, "twice", &in, 1, twice_out, 2 },
    };
    for (unsigned i = 0; i < COUNT(bad); i++)
        FAILS_SAYING(bad[i].code, bad[i].says,
                     q.graphExecute(net.graph, bad[i].in, bad[i].n_in, bad[i].out, bad[i].n_out, NULL, NULL));
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == 2 * x[i]);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_tensors),
        CASE(test_context_tensor_names),
        CASE(test_nodes),
        CASE(test_parameter_must_be_static),
        CASE(test_validation),
        CASE(test_validation_without_data),
        CASE(test_states),
        CASE(test_zero_nodes),
        CASE(test_shape_mismatch),
        CASE(test_counts_that_lie),
        CASE(test_parameter_of_another_shape),
        CASE(test_names),
        CASE(test_executions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

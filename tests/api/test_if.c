/* SPDX-License-Identifier: Apache-2.0 */
/* If and its subgraphs, in all libraries: the graph that the condition asks for runs and the other one does not, also inside
 * each other, with tensors of the graphs around them, and out of a context binary; what makes no sense is refused where it
 * is added. */
#include <stdlib.h>
#include <string.h>

#include "stream_kit.h"

enum { N = 16 };

static const enum kit_lib libs[] = { KIT_CPU, KIT_LPAI, KIT_HTP };
static struct env at;
static Qnn_GraphHandle_t top;
static struct guarded scratch, persistent;

static void begin(enum kit_lib lib)
{
    kit_use(lib);
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &at.backend));
    OK(q.contextCreate(at.backend, NULL, NULL, &at.context));
    OK(q.graphCreate(at.context, "top", NULL, &top));
}

static void end(enum kit_lib lib)
{
    OK(q.contextFree(at.context, NULL));
    OK(q.backendFree(at.backend));
    if (lib == KIT_LPAI && scratch.map) {
        guarded_free(&scratch);
        guarded_free(&persistent);
    }
    scratch = persistent = (struct guarded){ 0 };
}

static void finalize(enum kit_lib lib)
{
    OK(q.graphFinalize(top, NULL, NULL));
    if (lib == KIT_LPAI)
        stream_pools(top, true, &scratch, &persistent);
}

static Qnn_GraphHandle_t sub(Qnn_GraphHandle_t g, const char *name)
{
    Qnn_GraphHandle_t s = NULL;
    OK(q.graphCreateSubgraph(g, name, &s));
    assert_non_null(s);
    return s;
}

static Qnn_Tensor_t vec(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type)
{
    return stream_tensor(g, name, type, 8, 1, (uint32_t[]){ N });
}

static Qnn_Tensor_t flag(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type)
{
    Qnn_Tensor_t t = tensor_make(QNN_TENSOR_VERSION_1, name, type, QNN_DATATYPE_BOOL_8, 1, (uint32_t[]){ 1 });
    OK(q.tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_Tensor_t constant(Qnn_GraphHandle_t g, const char *name, uint8_t value)
{
    uint8_t data[N];
    memset(data, value, N);
    Qnn_Tensor_t t =
        tensor_make(QNN_TENSOR_VERSION_2, name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UFIXED_POINT_8, 1, (uint32_t[]){ N });
    t = WITH(tensor_quant(t, 4.0f / 255, -128), data);
    OK(q.tensorCreateGraphTensor(g, &t));
    return t;
}

static void node(Qnn_GraphHandle_t g, const char *name, const char *type, Qnn_Tensor_t a, const Qnn_Tensor_t *b,
                 Qnn_Tensor_t y)
{
    struct op o = { .name = name, .type = type, .ni = b ? 2 : 1, .in = { a }, .no = 1, .out = { y } };
    if (b)
        o.in[1] = *b;
    OK(op_add(g, &o));
}

static Qnn_Param_t handle_param(const char *name, Qnn_GraphHandle_t graph)
{
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_SCALAR;
    p.name = name;
    p.scalarParam.dataType = QNN_DATATYPE_UINT_64;
    p.scalarParam.uint64Value = (uint64_t)(uintptr_t)graph;
    return p;
}

static struct op branch(const char *name, const char *yes, const char *no, Qnn_Tensor_t c, Qnn_Tensor_t y)
{
    struct op o = { .name = name, .type = "If", .np = 2, .ni = 1, .in = { c }, .no = 1, .out = { y } };
    o.p[0] = param_text("then_graph", yes);
    o.p[1] = param_text("else_graph", no);
    return o;
}

/* ---- both ways -------------------------------------------------------------------------------------------------------- */

/* y = c ? x + 8 : min(x, 100); x is an input of one subgraph and taken from outside by the other. */
static void build_simple(enum kit_lib lib, bool by_handle, Qnn_Tensor_t *x, Qnn_Tensor_t *c, Qnn_Tensor_t *y)
{
    begin(lib);
    *x = vec(top, "x", QNN_TENSOR_TYPE_APP_WRITE);
    *c = flag(top, "c", QNN_TENSOR_TYPE_APP_WRITE);
    *y = vec(top, "y", QNN_TENSOR_TYPE_APP_READ);
    Qnn_Tensor_t eight = constant(top, "eight", 128 + 8), result = vec(top, "result", QNN_TENSOR_TYPE_NATIVE);
    Qnn_GraphHandle_t yes = sub(top, "yes"), no = sub(top, "no");
    Qnn_Tensor_t i = vec(yes, "yes_i", QNN_TENSOR_TYPE_APP_WRITE), o = vec(yes, "yes_o", QNN_TENSOR_TYPE_APP_READ);
    node(yes, "yes_add", "ElementWiseAdd", i, &eight, o);
    Qnn_Tensor_t limit = constant(no, "no_limit", 100), t = vec(no, "no_t", QNN_TENSOR_TYPE_NATIVE),
                 p = vec(no, "no_o", QNN_TENSOR_TYPE_APP_READ);
    node(no, "no_min", "ElementWiseMinimum", *x, &limit, t);
    node(no, "no_max", "ElementWiseMaximum", t, &t, p);
    struct op o_if = branch("choice", "yes", "no", *c, result);
    if (by_handle) {
        o_if.p[0] = handle_param("then_graph", yes);
        o_if.p[1] = handle_param("else_graph", no);
    }
    o_if.ni = 2;
    o_if.in[1] = *x;
    OK(op_add(top, &o_if));
    node(top, "last", "ElementWiseMaximum", result, &result, *y);
    FAILS(QNN_GRAPH_ERROR_SUBGRAPH, q.graphFinalize(yes, NULL, NULL));
    FAILS(QNN_GRAPH_ERROR_SUBGRAPH, q.graphExecute(no, NULL, 0, NULL, 0, NULL, NULL));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "taken up",
                 op_add(yes, &(struct op){ .name = "late", .type = "Relu", .ni = 1, .in = { i }, .no = 1, .out = { o } }));
}

static void run_simple(Qnn_Tensor_t x, Qnn_Tensor_t c, Qnn_Tensor_t y)
{
    static _Alignas(64) uint8_t in[64], cond[64], out[64];
    for (uint32_t round = 0; round < 20; round++) {
        kit_fill(in, N, round + 1);
        cond[0] = round % 3 == 0 ? 0 : (uint8_t)round;
        Qnn_Tensor_t ins[] = { tensor_data(x, in, N), tensor_data(c, cond, 1) }, o = tensor_data(y, out, N);
        memset(out, 0x5C, sizeof out);
        OK(q.graphExecute(top, ins, 2, &o, 1, NULL, NULL));
        for (int k = 0; k < N; k++)
            assert_int_equal(out[k], cond[0] ? (in[k] > 247 ? 255 : in[k] + 8) : in[k] < 100 ? in[k] : 100);
    }
}

static void test_both_ways(void **state)
{
    (void)state;
    for (int by_handle = 0; by_handle < 2; by_handle++)
        for (size_t l = 0; l < COUNT(libs); l++) {
            Qnn_Tensor_t x, c, y;
            build_simple(libs[l], by_handle, &x, &c, &y);
            assert_int_equal(q.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_SUBGRAPH), QNN_PROPERTY_SUPPORTED);
            finalize(libs[l]);
            run_simple(x, c, y);
            end(libs[l]);
        }
}

static void test_binary(void **state)
{
    (void)state;
    for (size_t l = 0; l < COUNT(libs); l++) {
        Qnn_Tensor_t x, c, y;
        build_simple(libs[l], false, &x, &c, &y);
        OK(q.graphFinalize(top, NULL, NULL));
        struct kit_binary b = kit_save(at.context);
        OK(q.contextFree(at.context, NULL));
        OK(q.contextCreateFromBinary(at.backend, NULL, NULL, b.data, b.size, &at.context, NULL));
        Qnn_GraphHandle_t none;
        FAILS(QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST, q.graphRetrieve(at.context, "yes", &none));
        OK(q.graphRetrieve(at.context, "top", &top));
        FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.graphCreateSubgraph(top, "more", &none));
        if (libs[l] == KIT_LPAI)
            stream_pools(top, false, &scratch, &persistent);
        run_simple(x, c, y);
        end(libs[l]);
        free(b.data);
    }
}

/* ---- inside each other ------------------------------------------------------------------------------------------------ */

/* out = c ? (d ? x + 1 : x + 2) : (d ? x + 3 : x + 4), everything taken from outside, the inner condition too. */
static void nested(enum kit_lib lib)
{
    static _Alignas(64) uint8_t in[64], cond[2][64], out[64];
    begin(lib);
    Qnn_Tensor_t x = vec(top, "x", QNN_TENSOR_TYPE_APP_WRITE), c = flag(top, "c", QNN_TENSOR_TYPE_APP_WRITE),
                 d = flag(top, "d", QNN_TENSOR_TYPE_APP_WRITE), y = vec(top, "y", QNN_TENSOR_TYPE_APP_READ), plus[4];
    for (uint8_t i = 0; i < 4; i++)
        plus[i] = constant(top, keep_name("plus%u", i), (uint8_t)(129 + i));
    for (int side = 0; side < 2; side++) {
        Qnn_GraphHandle_t outer = sub(top, keep_name("outer%d", side));
        Qnn_Tensor_t o = vec(outer, keep_name("outer%d_o", side), QNN_TENSOR_TYPE_APP_READ);
        for (int k = 0; k < 2; k++) {
            Qnn_GraphHandle_t inner = sub(outer, keep_name("inner%d%d", side, k));
            Qnn_Tensor_t p = vec(inner, keep_name("inner%d%d_o", side, k), QNN_TENSOR_TYPE_APP_READ);
            node(inner, keep_name("add%d%d", side, k), "ElementWiseAdd", x, &plus[2 * side + k], p);
        }
        struct op i = branch("same name", keep_name("inner%d0", side), keep_name("inner%d1", side), d, o);
        OK(op_add(outer, &i));
    }
    struct op i = branch("same name", "outer0", "outer1", c, y);
    OK(op_add(top, &i));
    finalize(lib);
    for (int round = 0; round < 8; round++) {
        kit_fill(in, N, (uint32_t)round);
        for (int k = 0; k < N; k++)
            in[k] &= 127;
        cond[0][0] = round & 1;
        cond[1][0] = round >> 1 & 1;
        Qnn_Tensor_t ins[] = { tensor_data(x, in, N), tensor_data(c, cond[0], 1), tensor_data(d, cond[1], 1) },
                     o = tensor_data(y, out, N);
        OK(q.graphExecute(top, ins, 3, &o, 1, NULL, NULL));
        for (int k = 0; k < N; k++)
            assert_int_equal(out[k], in[k] + 1 + 2 * !cond[0][0] + !cond[1][0]);
    }
    end(lib);
}

static void test_nested(void **state)
{
    (void)state;
    for (size_t l = 0; l < COUNT(libs); l++)
        nested(libs[l]);
}

/* A branch that does not run does not see the frame: its window holds the frames of its own turns. */
static void test_state(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t in[64], cond[64], out[64];
    for (size_t l = 0; l < COUNT(libs); l++) {
        begin(libs[l]);
        const uint32_t one[] = { 1, 1 }, two[] = { 1, 2 };
        Qnn_Tensor_t x = stream_tensor(top, "x", QNN_TENSOR_TYPE_APP_WRITE, 8, 2, one),
                     c = flag(top, "c", QNN_TENSOR_TYPE_APP_WRITE),
                     y = stream_tensor(top, "y", QNN_TENSOR_TYPE_APP_READ, 8, 2, two);
        for (int k = 0; k < 2; k++) {
            Qnn_GraphHandle_t s = sub(top, k ? "odd" : "even");
            Qnn_Tensor_t w = stream_tensor(s, keep_name("w%d", k), QNN_TENSOR_TYPE_APP_READ, 8, 2, two);
            OK(stream_buffer(s, keep_name("window%d", k), 2, QNN_OP_BUFFER_MODE_NON_BLOCKING_RIGHT, &x, NULL, &w));
        }
        struct op i = branch("turns", "odd", "even", c, y);
        OK(op_add(top, &i));
        finalize(libs[l]);
        for (uint8_t t = 0; t < 20; t++) {
            in[0] = t;
            cond[0] = t & 1;
            Qnn_Tensor_t ins[] = { tensor_data(x, in, 1), tensor_data(c, cond, 1) }, o = tensor_data(y, out, 2);
            OK(q.graphExecute(top, ins, 2, &o, 1, NULL, NULL));
            assert_int_equal(out[1], t);
            assert_int_equal(out[0], t < 2 ? 128 : t - 2);
        }
        end(libs[l]);
    }
}

/* ---- refused ---------------------------------------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    (void)state;
    Qnn_GraphHandle_t other, none = NULL;
    begin(KIT_CPU);
    OK(q.graphCreate(at.context, "other", NULL, &other));
    Qnn_Tensor_t x = vec(top, "x", QNN_TENSOR_TYPE_APP_WRITE), c = flag(top, "c", QNN_TENSOR_TYPE_APP_WRITE),
                 y = vec(top, "y", QNN_TENSOR_TYPE_APP_READ),
                 wide = stream_tensor(top, "wide", QNN_TENSOR_TYPE_APP_READ, 16, 1, (uint32_t[]){ N }),
                 strange = vec(other, "strange", QNN_TENSOR_TYPE_APP_WRITE);
    Qnn_GraphHandle_t yes = sub(top, "yes"), no = sub(top, "no"), empty = sub(top, "empty"), long_one = sub(top, "long"),
                      foreign = sub(other, "foreign");
    (void)empty, (void)foreign;
    Qnn_Tensor_t o = vec(yes, "o", QNN_TENSOR_TYPE_APP_READ), p = vec(no, "p", QNN_TENSOR_TYPE_APP_READ),
                 i = vec(no, "i", QNN_TENSOR_TYPE_APP_WRITE),
                 l = stream_tensor(long_one, "l", QNN_TENSOR_TYPE_APP_READ, 8, 1, (uint32_t[]){ N }),
                 missing = vec(empty, "missing", QNN_TENSOR_TYPE_APP_READ), m = vec(long_one, "m", QNN_TENSOR_TYPE_APP_READ);
    (void)missing;
    node(yes, "relu_yes", "Relu", x, NULL, o);
    node(no, "relu_no", "Relu", i, NULL, p);
    node(long_one, "relu_l", "Relu", x, NULL, l);
    node(long_one, "relu_m", "Relu", x, NULL, m);
    struct op bad = { .name = "far",
                      .type = "Relu",
                      .ni = 1,
                      .in = { strange },
                      .no = 1,
                      .out = { vec(yes, "far_o", QNN_TENSOR_TYPE_NATIVE) } };
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "another graph", op_add(yes, &bad));
#define REFUSED(text, code, ...)                     \
    do {                                             \
        struct op if_ = branch("if", "yes", "yes", c, y); \
        __VA_ARGS__;                                 \
        FAILS_SAYING(code, text, op_add(top, &if_)); \
    } while (0)
    const uint32_t config = QNN_GRAPH_ERROR_INVALID_OP_CONFIG;
    REFUSED("else_graph", config, if_.np = 1);
    REFUSED("no graph of this context", config, if_.p[1] = param_text("else_graph", "nobody"));
    REFUSED("not a subgraph of this graph", config, if_.p[1] = param_text("else_graph", "foreign"));
    REFUSED("not a subgraph of this graph", config, if_.p[1] = param_text("else_graph", "top"));
    REFUSED("handle", config, if_.p[1] = handle_param("else_graph", at.context));
    REFUSED("else_graph", config, if_.p[1] = param_u32("else_graph", 3));
    REFUSED("NULL", config, if_.p[1] = param_text("else_graph", NULL));
    REFUSED("condition", config, if_.in[0] = x);
    REFUSED("condition", config, if_.ni = 0);
    REFUSED("has more inputs", config, if_.p[1] = param_text("else_graph", "no"));
    REFUSED("outputs", config, if_.p[1] = param_text("else_graph", "long"));
    REFUSED("type, shape and encoding", config, if_.out[0] = wide);
    REFUSED("not written", QNN_GRAPH_ERROR_UNCONNECTED_NODE, if_.p[1] = param_text("else_graph", "empty"));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_NAME, "already", q.graphCreateSubgraph(top, "yes", &none));
    FAILS(QNN_GRAPH_ERROR_INVALID_NAME, q.graphCreateSubgraph(top, NULL, &none));
    struct op good = branch("if", "yes", "no", c, y);
    good.ni = 2;
    good.in[1] = x;
    OK(op_add(top, &good)); /* nothing that was refused is in the way */
    OK(q.graphFinalize(top, NULL, NULL));
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, q.graphCreateSubgraph(top, "late", &none));
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, q.graphCreateSubgraph(empty, "later", &none));
    end(KIT_CPU);
}

/* Graph `at` of those inside each other: the last one has y = x + 8, others have y = c ? the next one : min(x, 100). */
static void fill_level(Qnn_GraphHandle_t g, int at, int depth, Qnn_Tensor_t x, Qnn_Tensor_t c, Qnn_Tensor_t y)
{
    if (at == depth) {
        Qnn_Tensor_t eight = constant(g, "eight", 128 + 8);
        node(g, "add", "ElementWiseAdd", x, &eight, y);
        return;
    }
    Qnn_GraphHandle_t other = sub(g, keep_name("e%d", at));
    Qnn_Tensor_t limit = constant(other, keep_name("limit%d", at), 100),
                 o = vec(other, keep_name("e_y%d", at), QNN_TENSOR_TYPE_APP_READ);
    node(other, keep_name("min%d", at), "ElementWiseMinimum", x, &limit, o);
    struct op choice = branch(keep_name("if%d", at), keep_name("s%d", at), keep_name("e%d", at), c, y);
    OK(op_add(g, &choice));
}

/* As deep as it may be, which works, and one deeper, which is refused at once. */
static void test_depth(void **state)
{
    (void)state;
    Qnn_GraphHandle_t graphs[100] = { NULL };
    int depth = 0;
    begin(KIT_CPU);
    Qnn_Tensor_t x = vec(top, "x", QNN_TENSOR_TYPE_APP_WRITE), c = flag(top, "c", QNN_TENSOR_TYPE_APP_WRITE),
                 y = vec(top, "y", QNN_TENSOR_TYPE_APP_READ);
    graphs[0] = top;
    while (CODE(q.graphCreateSubgraph(graphs[depth], keep_name("s%d", depth), &graphs[depth + 1])) == QNN_SUCCESS)
        assert_in_range(++depth, 1, 98);
    assert_in_range(depth, 4, 98);
    for (int i = depth; i > 0; i--)
        fill_level(graphs[i], i, depth, x, c, vec(graphs[i], keep_name("y%d", i), QNN_TENSOR_TYPE_APP_READ));
    fill_level(top, 0, depth, x, c, y);
    finalize(KIT_CPU);
    run_simple(x, c, y);
    end(KIT_CPU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways), cmocka_unit_test(test_binary),  cmocka_unit_test(test_nested),
        cmocka_unit_test(test_state),     cmocka_unit_test(test_refused), cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of op packages on libQnnCpu.so and libQnnHtp.so: registered, built into graphs, saved, executed, and everything
 * that can be wrong with a package. package.c is the package; its path is the first argument. What the package itself counts
 * is looked at where it runs in this process; the others are test_htp_package.c. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/CPU/QnnCpuOpPackage.h>

#include "api_test.h"
#include "package_kit.h"

enum { N = 8 };

static const char *path;
static const float x8[N] = { 1, -2, 3, -4, 5, -6, 7, -8 };

static struct package_state *state_of(void **lib)
{
    *lib = dlopen(path, RTLD_NOW);
    assert_non_null(*lib);
    package_state_fn *fn = (package_state_fn *)dlsym(*lib, "package_state");
    assert_non_null(fn);
    return fn();
}

static Qnn_ErrorHandle_t reg(const char *provider_name)
{
    return q.backendRegisterOpPackage(env.backend, path, provider_name, "CPU");
}

static Qnn_GraphHandle_t new_graph(const char *name)
{
    Qnn_GraphHandle_t g = NULL;
    OK(q.graphCreate(env.context, name, NULL, &g));
    return g;
}

static Qnn_Tensor_t created(Qnn_GraphHandle_t g, Qnn_Tensor_t t)
{
    OK(q.tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_ErrorHandle_t add(Qnn_GraphHandle_t g, const char *package, const char *type, Qnn_Tensor_t x, Qnn_Tensor_t y)
{
    struct op o = { .name = keep_name("%s_%s", type, TV(y).name),
                    .type = type,
                    .package = package,
                    .ni = 1,
                    .no = 1,
                    .in = { x },
                    .out = { y } };
    return op_add(g, &o);
}

/* y = package's operator of x, in a graph of its own. */
static struct net one_node(const char *name, const char *package, const char *type)
{
    struct net n = { .graph = new_graph(name) };
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    OK(add(n.graph, package, type, n.x, n.y));
    return n;
}

static void gives(const struct net *n, const float *wanted)
{
    float y[N];
    memset(y, 0xFF, sizeof y);
    OK(net_run(n, x8, y, N, N));
    assert_memory_equal(y, wanted, sizeof y);
}

static void plus(float by, float ret[N])
{
    for (int i = 0; i < N; i++)
        ret[i] = x8[i] + by;
}

/* ---- what works ------------------------------------------------------------------------------------------------------- */

/* Both versions, and an old one, whose operators have the same names. */
static void test_versions(void **state)
{
    (void)state;
    float want[N];
    OK(reg("package_one"));
    OK(reg("package_two"));
    struct net one = one_node("one", "tests.one", "Increment"), two = one_node("two", "tests.two", "Increment");
    OK(q.graphFinalize(one.graph, NULL, NULL));
    OK(q.graphFinalize(two.graph, NULL, NULL));
    plus(1, want);
    gives(&one, want);
    plus(2, want);
    gives(&two, want);
    gives(&two, want);
}

static void test_old_version(void **state)
{
    (void)state;
    float want[N];
    OK(q.backendRegisterOpPackage(env.backend, path, "package_old", ""));
    struct net one = one_node("one", "tests.one", "Increment");
    OK(q.graphFinalize(one.graph, NULL, NULL));
    plus(1, want);
    gives(&one, want);
}

/* Between built-in operators of every kind: what it reads and writes is whole and in the graph's own layout. */
static void test_among_others(void **state)
{
    (void)state;
    static const float two[1] = { 2 };
    OK(reg("package_one"));
    Qnn_GraphHandle_t g = new_graph("g");
    struct net n = { .graph = g,
                     .x = created(g, TENSOR("x", APP_WRITE, FLOAT_32, 1, N)),
                     .y = created(g, TENSOR("y", APP_READ, FLOAT_32, 1, N)) };
    Qnn_Tensor_t c = created(g, WITH(TENSOR("two", STATIC, FLOAT_32, 1), two)),
                 a = created(g, TENSOR("a", NATIVE, FLOAT_32, 1, N)), b = created(g, TENSOR("b", NATIVE, FLOAT_32, 1, N)),
                 d = created(g, TENSOR("d", NATIVE, FLOAT_32, 1, N)), k = created(g, TENSOR("k", NATIVE, FLOAT_32, 1)),
                 dead = created(g, TENSOR("dead", NATIVE, FLOAT_32, 1));
    struct op mul = { .name = "mul", .type = "ElementWiseMultiply", .ni = 2, .no = 1, .in = { n.x, c }, .out = { a } };
    OK(op_add(g, &mul));
    OK(add(g, "tests.one", "Increment", a, b));
    OK(add(g, "tests.one", "Increment", c, k));    /* of a constant: still at run time */
    OK(add(g, "tests.one", "Increment", c, dead)); /* that nobody reads: it runs */
    OK(add(g, NULL, "Relu", b, d));
    struct op sum = { .name = "sum", .type = "ElementWiseAdd", .ni = 2, .no = 1, .in = { d, k }, .out = { n.y } };
    OK(op_add(g, &sum));
    OK(q.graphFinalize(g, NULL, NULL));
    void *lib;
    struct package_state *s = state_of(&lib);
    s->runs = 0;
    float want[N];
    for (int i = 0; i < N; i++)
        want[i] = (2 * x8[i] + 1 > 0 ? 2 * x8[i] + 1 : 0) + 3;
    gives(&n, want);
    assert_int_equal(s->runs, 3);
    gives(&n, want);
    assert_int_equal(s->runs, 6);
    dlclose(lib);
}

static Qnn_Param_t param_tensor(const char *name, Qnn_Tensor_t t)
{
    Qnn_Param_t p = { .paramType = QNN_PARAMTYPE_TENSOR, .name = name };
    p.tensorParam = t;
    return p;
}

/* Numbers, texts and tensors as parameters, two results; the tensor created in the graph, or given with the node. */
static void test_parameters(void **state)
{
    (void)state;
    static const float table[4] = { 10, 20, 30, 40 };
    OK(reg("package_one"));
    for (int made = 0; made < 2; made++) {
        Qnn_GraphHandle_t g = new_graph(made ? "made" : "given");
        Qnn_Tensor_t x = created(g, TENSOR("x", APP_WRITE, FLOAT_32, 2, 4)),
                     y = created(g, TENSOR("y", APP_READ, FLOAT_32, 2, 4)),
                     z = created(g, TENSOR("z", APP_READ, FLOAT_32, 2, 4)),
                     t = WITH(TENSOR("t", STATIC, FLOAT_32, 4), table);
        if (made) {
            t = created(g, t);
            TV(t).clientBuf = (Qnn_ClientBuffer_t){ NULL, 0 };
        }
        struct op o = { .name = "mix",
                        .type = "Mix",
                        .package = "tests.one",
                        .np = 3,
                        .ni = 1,
                        .no = 2,
                        .in = { x },
                        .out = { y, z },
                        .p = { param_f32("gain", 0.5f), param_tensor("table", t),
                               param_text("mode", made ? "minus" : "plus") } };
        OK(op_add(g, &o));
        OK(q.graphFinalize(g, NULL, NULL));
        float got[2][N];
        Qnn_Tensor_t in = WITH(x, x8), out[2] = { WITH(y, got[0]), WITH(z, got[1]) };
        OK(q.graphExecute(g, &in, 1, out, 2, NULL, NULL));
        for (int i = 0; i < N; i++) {
            float want = 0.5f * x8[i] + (made ? -1.f : 1.f) * table[i % 4];
            assert_true(got[0][i] == want && got[1][i] == x8[i] - table[i % 4]);
        }
    }
}

/* Scalars of every type arrive as numbers. */
static void test_scalars(void **state)
{
    (void)state;
    OK(reg("package_one"));
    static const struct {
        Qnn_Scalar_t value;
        float want;
    } cases[] = {
        { { QNN_DATATYPE_FLOAT_32, .floatValue = 2.5f }, 2.5f }, { { QNN_DATATYPE_INT_32, .int32Value = -3 }, -3 },
        { { QNN_DATATYPE_UINT_32, .uint32Value = 7 }, 7 },       { { QNN_DATATYPE_INT_8, .int8Value = -4 }, -4 },
        { { QNN_DATATYPE_UINT_8, .uint8Value = 200 }, 200 },     { { QNN_DATATYPE_INT_16, .int16Value = -500 }, -500 },
        { { QNN_DATATYPE_BOOL_8, .bool8Value = 1 }, 1 },         { { QNN_DATATYPE_INT_64, .int64Value = -65536 }, -65536 },
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct net n = { .graph = new_graph(keep_name("g%u", i)) };
        n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
        n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
        struct op o = { .name = "inc",
                        .type = "Increment",
                        .package = "tests.one",
                        .np = 1,
                        .ni = 1,
                        .no = 1,
                        .in = { n.x },
                        .out = { n.y },
                        .p = { { .paramType = QNN_PARAMTYPE_SCALAR, .name = "constant", .scalarParam = cases[i].value } } };
        OK(op_add(n.graph, &o));
        OK(q.graphFinalize(n.graph, NULL, NULL));
        float want[N];
        plus(cases[i].want, want);
        gives(&n, want);
    }
}

/* What a package sees of a tensor; optional inputs that are not there; encodings. */
static void test_what_it_sees(void **state)
{
    (void)state;
    OK(reg("package_one"));
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t x = created(g, tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 2, 4), 0.5f, -128)),
                 r = created(g, tensor_quant(TENSOR("r", APP_READ, UFIXED_POINT_8, 2, 4), 0.5f, -128)),
                 y = created(g, TENSOR("y", APP_READ, FLOAT_32, SPY_COUNT));
    OK(add(g, "tests.one", "Relu", x, r));
    struct op o = { .name = "spy",
                    .type = "Spy",
                    .package = "tests.one",
                    .np = 1,
                    .ni = 2,
                    .no = 1,
                    .in = { x, tensor_absent() },
                    .out = { y },
                    .p = { param_u32("any", 1) } };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    static const uint8_t bytes[N] = { 0, 127, 128, 129, 255, 1, 200, 100 },
                         want[N] = { 128, 128, 128, 129, 255, 128, 200, 128 };
    uint8_t got[N];
    float facts[SPY_COUNT];
    Qnn_Tensor_t in = WITH(x, bytes), out[2] = { WITH(r, got), WITH(y, facts) };
    OK(q.graphExecute(g, &in, 1, out, 2, NULL, NULL));
    assert_memory_equal(got, want, sizeof want);
    static const float told[] = {
        QNN_CPU_DATATYPE_UINT_8, 2, 2, 4, 0.5f, -128, QNN_CPUOPPACKAGE_TENSOR_DATA_FORMAT_FLAT_BUFFER, 1, 0
    };
    assert_memory_equal(facts, told, sizeof told);
}

static uint32_t listed(Qnn_BackendHandle_t b, const char *package, const char *name)
{
    const QnnBackend_OperationName_t *ops = NULL;
    uint32_t n = 0, found = 0;
    OK(q.backendGetSupportedOperations(b, &n, &ops));
    for (uint32_t i = 0; i < n; i++)
        found += !strcmp(ops[i].packageName, package) && !strcmp(ops[i].name, name);
    return found;
}

static void test_list(void **state)
{
    (void)state;
    assert_int_equal(listed(env.backend, "tests.one", "Relu"), 0);
    OK(reg("package_one"));
    OK(reg("package_two"));
    assert_int_equal(listed(env.backend, "tests.one", "Relu"), 1);
    assert_int_equal(listed(env.backend, "tests.two", "Increment"), 1);
    assert_int_equal(listed(env.backend, "qti.aisw", "Relu"), 1);
    assert_int_equal(listed(NULL, "tests.one", "Relu"), 0);
    static const QnnProperty_Key_t keys[] = { QNN_PROPERTY_BACKEND_SUPPORT_OP_PACKAGE, QNN_PROPERTY_GROUP_OP_PACKAGE,
                                              QNN_PROPERTY_OP_PACKAGE_SUPPORTS_VALIDATION,
                                              QNN_PROPERTY_OP_PACKAGE_SUPPORTS_OP_IMPLS,
                                              QNN_PROPERTY_OP_PACKAGE_SUPPORTS_DUPLICATE_NAMES };
    for (unsigned i = 0; i < COUNT(keys); i++)
        FAILS(QNN_PROPERTY_SUPPORTED, q.propertyHasCapability(keys[i]));
}

/* ---- registration ----------------------------------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *provider;
        uint32_t code;
        const char *says;
    } bad[] = {
        { "package_nothing", QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND, "package_nothing" },
        { "package_version_3", QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION, "3.0.0" },
        { "package_version_0", QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION, "0.0.0" },
        { "package_blank", QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION, "0.0.0" },
        { "package_no_init", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no init" },
        { "package_no_terminate", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no terminate" },
        { "package_no_get_info", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no getInfo" },
        { "package_no_validate", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no validateOpConfig" },
        { "package_no_create_op", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no createOpImpl" },
        { "package_no_free_op", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no freeOpImpl" },
        { "package_no_create", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no create" },
        { "package_no_free", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no free" },
        { "package_init_fails", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED,
          "QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE" },
        { "package_info_fails", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "QNN_OP_PACKAGE_ERROR_INVALID_INFO" },
        { "package_info_null", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no information" },
        { "package_nameless", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no name" },
        { "package_builtin", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "qti.aisw" },
        { "package_empty", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "0 operators" },
        { "package_listless", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "no list" },
        { "package_holes", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "operator 1 of 2" },
        { "package_provider_fails", QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "interface provider returned" },
    };
    void *lib;
    struct package_state *s = state_of(&lib);
    for (unsigned i = 0; i < COUNT(bad); i++)
        FAILS_SAYING(bad[i].code, bad[i].says, reg(bad[i].provider));
    assert_int_equal(s->begun, s->ended); /* what was begun before it was refused */
    FAILS_SAYING(lib_is_htp() ? QNN_BACKEND_ERROR_NOT_SUPPORTED : QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED,
                 "target \"HTP\"", q.backendRegisterOpPackage(env.backend, path, "package_one", "HTP"));
    FAILS_SAYING(QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED, "target \"FOO\"; here \"CPU\" or none",
                 q.backendRegisterOpPackage(env.backend, path, "package_one", "FOO"));
    FAILS_SAYING(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, "/nowhere.so",
                 q.backendRegisterOpPackage(env.backend, "/nowhere.so", "package_one", NULL));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, q.backendRegisterOpPackage(env.backend, NULL, "package_one", NULL));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, q.backendRegisterOpPackage(env.backend, path, NULL, NULL));
    FAILS(QNN_BACKEND_ERROR_INVALID_HANDLE, q.backendRegisterOpPackage(NULL, path, "package_one", NULL));
    OK(reg("package_one")); /* nothing of all that is left */
    FAILS_SAYING(QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE, "tests.one", reg("package_one"));
    assert_int_equal(listed(env.backend, "tests.one", "Relu"), 1);
    dlclose(lib);
}

/* A library is begun once in the process, ended with the last backend that has it, and then closed. */
static void test_life(void **state)
{
    (void)state;
    void *lib;
    struct package_state *s = state_of(&lib);
    int begun = s->begun, ended = s->ended;
    Qnn_BackendHandle_t other = NULL;
    OK(q.backendCreate(NULL, NULL, &other));
    OK(reg("package_one"));
    OK(q.backendRegisterOpPackage(other, path, "package_one", NULL));
    assert_int_equal(s->begun, begun + 1);
    assert_int_equal(s->logged > 0, 1);
    struct net n = one_node("g", "tests.one", "Increment");
    int created_before = s->created, freed_before = s->freed;
    OK(q.graphFinalize(n.graph, NULL, NULL));
    assert_int_equal(s->created, created_before + 1);
    OK(q.backendFree(other));
    assert_int_equal(s->ended, ended);
    float want[N];
    plus(1, want);
    gives(&n, want);
    OK(q.contextFree(env.context, NULL));
    assert_int_equal(s->freed, freed_before + 1);
    dlclose(lib);
    lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(lib); /* the backend has it */
    dlclose(lib);
    OK(q.backendFree(env.backend));
    assert_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    OK(q.backendCreate(NULL, NULL, &env.backend));
    OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
    OK(reg("package_one"));
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static void test_nodes_refused(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t x = created(g, TENSOR("x", APP_WRITE, FLOAT_32, 1, N)),
                 y = created(g, TENSOR("y", APP_READ, FLOAT_32, 1, N)),
                 i32 = created(g, TENSOR("i32", APP_WRITE, INT_32, 1, N)), d = TENSOR2("d", APP_WRITE, FLOAT_32, 1, N);
    static uint8_t dynamic[2] = { 1, 0 };
    d.v2.isDynamicDimensions = dynamic;
    d = created(g, d);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "no other is registered", add(g, "tests.one", "Increment", x, y));
    OK(reg("package_one"));
    OK(reg("package_two"));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "\"tests.one\", \"tests.two\"",
                 add(g, "tests.three", "Increment", x, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "it has \"Increment\", \"Relu\"", add(g, "tests.two", "Mix", x, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE",
                 add(g, "tests.one", "Increment", i32, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "dynamic dimensions", add(g, "tests.one", "Increment", d, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "there is no operator \"PackageOp\"", add(g, NULL, "PackageOp", x, y));
    struct op o = { .name = "n", .type = "Increment", .package = "tests.one", .ni = 1, .no = 0, .in = { x } };
    FAILS(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, op_add(g, &o));
    o = (struct op){
        .name = "n", .type = "Increment", .package = "tests.one", .np = 1, .ni = 1, .no = 1, .in = { x }, .out = { y }
    };
    o.p[0] = param_f32("", 1);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "no name", op_add(g, &o));
    o.p[0] = param_tensor("table", x);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, "STATIC", op_add(g, &o));
    o.p[0] = param_tensor("table", TENSOR("none", STATIC, FLOAT_32, 4));
    assert_int_not_equal(CODE(op_add(g, &o)), QNN_SUCCESS);
    OK(add(g, "tests.one", "Increment", x, y)); /* nothing that was refused took the output */
}

/* QnnBackend_validateOpConfig asks the package. */
static void test_validate(void **state)
{
    (void)state;
    struct op o = { .name = "n",
                    .type = "Increment",
                    .package = "tests.one",
                    .ni = 1,
                    .no = 1,
                    .in = { TENSOR("x", APP_WRITE, FLOAT_32, N) },
                    .out = { TENSOR("y", NATIVE, FLOAT_32, N) } };
    FAILS(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, op_validate(env.backend, &o));
    OK(reg("package_one"));
    OK(op_validate(env.backend, &o));
    o.type = "Nothing";
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(env.backend, &o));
    o.type = "Increment";
    o.in[0] = TENSOR("x", APP_WRITE, INT_32, N);
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "tests.one", op_validate(env.backend, &o));
    static const float table[2];
    o.in[0] = TENSOR("x", APP_WRITE, FLOAT_32, N);
    o.np = 1;
    o.p[0] = param_tensor("table", WITH(TENSOR("t", STATIC, FLOAT_32, 2), table));
    OK(op_validate(env.backend, &o));
}

/* In a node only the ids of tensors need be right; the package sees what they are. */
static void test_ids_only(void **state)
{
    (void)state;
    OK(reg("package_one"));
    struct net n = { .graph = new_graph("g") };
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    Qnn_Tensor_t x = TENSOR("", UNDEFINED, UNDEFINED, 1), y = x;
    TV(x).id = TV(n.x).id;
    TV(y).id = TV(n.y).id;
    OK(add(n.graph, "tests.one", "Increment", x, y));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    float want[N];
    plus(1, want);
    gives(&n, want);
}

static void test_no_implementation(void **state)
{
    (void)state;
    OK(reg("package_one"));
    static const char *const types[] = { "Refused", "NoImpl", "BadImpl" }, *const says[] = { "createOpImpl returned",
                                                                                             "no implementation",
                                                                                             "without opImplFn" };
    void *lib;
    struct package_state *s = state_of(&lib);
    int open = s->created - s->freed;
    for (int i = 0; i < 3; i++) {
        struct net n = one_node(types[i], "tests.one", types[i]);
        FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, says[i], q.graphFinalize(n.graph, NULL, NULL));
        FAILS(QNN_GRAPH_ERROR_FINALIZE_FAILED, q.graphFinalize(n.graph, NULL, NULL)); /* it is still what it was */
    }
    assert_int_equal(s->created - s->freed, open);
    dlclose(lib);
}

/* ---- executions ------------------------------------------------------------------------------------------------------- */

static void test_run_fails(void **state)
{
    (void)state;
    OK(reg("package_one"));
    struct net n = { .graph = new_graph("g") };
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    Qnn_Tensor_t t = created(n.graph, TENSOR("t", NATIVE, FLOAT_32, 1, N));
    OK(add(n.graph, "tests.one", "Fails", n.x, t));
    OK(add(n.graph, "tests.one", "Increment", t, n.y));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    void *lib;
    struct package_state *s = state_of(&lib);
    static const float negative[N] = { -1 };
    float y[N], want[N];
    plus(2, want);
    for (int i = 0; i < 3; i++) {
        int runs = s->runs;
        FAILS_SAYING(QNN_GRAPH_ERROR_GENERAL, "Fails_t", net_run(&n, negative, y, N, N));
        explanation_has(QNN_GRAPH_ERROR_GENERAL, "3200", __FILE__, __LINE__);
        assert_int_equal(s->runs, runs); /* nothing behind it ran */
        gives(&n, want);
    }
    dlclose(lib);
}

/* Nodes of packages run in their order and one at a time, however many threads there are. */
static void test_order(void **state)
{
    (void)state;
    enum { NODES = 12 };
    OK(reg("package_one"));
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t x = created(g, TENSOR("x", APP_WRITE, FLOAT_32, 1, 1 << 15)), y[NODES];
    for (int i = 0; i < NODES; i++) {
        y[i] = created(g, TENSOR(keep_name("y%d", i), APP_READ, FLOAT_32, 1, 1 << 15));
        OK(add(g, "tests.one", "Order", x, y[i]));
    }
    OK(q.graphFinalize(g, NULL, NULL));
    void *lib;
    struct package_state *s = state_of(&lib);
    s->runs = s->most = 0;
    s->slow = 20000;
    size_t bytes = (size_t)(1 << 15) * sizeof(float);
    float *room = calloc(NODES + 1, bytes);
    Qnn_Tensor_t in = tensor_data(x, room, (uint32_t)bytes);
    for (int i = 0; i < NODES; i++)
        y[i] = tensor_data(y[i], room + (i + 1) * (size_t)(1 << 15), (uint32_t)bytes);
    for (int run = 0; run < 20; run++) {
        OK(q.graphExecute(g, &in, 1, y, NODES, NULL, NULL));
        for (int i = 0; i < NODES; i++)
            assert_true(room[(i + 1) * (size_t)(1 << 15)] == (float)(run * NODES + i + 1));
    }
    assert_int_equal(s->most, 1);
    s->slow = 0;
    free(room);
    dlclose(lib);
}

/* Under a condition it runs only where that holds; of a batch it runs once per slice. */
static void test_condition_and_batch(void **state)
{
    (void)state;
    OK(reg("package_one"));
    struct net n = { .graph = new_graph("top") };
    n.x = created(n.graph, TENSOR("x", APP_WRITE, FLOAT_32, 1, N));
    n.y = created(n.graph, TENSOR("y", APP_READ, FLOAT_32, 1, N));
    Qnn_Tensor_t c = created(n.graph, TENSOR("c", APP_WRITE, BOOL_8, 1));
    static const char *const packages[] = { "tests.one", NULL }, *const types[] = { "Increment", "ElementWiseNeg" };
    for (int i = 0; i < 2; i++) {
        Qnn_GraphHandle_t s = NULL;
        OK(q.graphCreateSubgraph(n.graph, i ? "no" : "yes", &s));
        OK(add(s, packages[i], types[i], n.x, created(s, TENSOR(i ? "n" : "p", APP_READ, FLOAT_32, 1, N))));
    }
    struct op o = { .name = "if", .type = "If", .np = 2, .ni = 1, .no = 1, .in = { c }, .out = { n.y } };
    o.p[0] = param_text("then_graph", "yes");
    o.p[1] = param_text("else_graph", "no");
    OK(op_add(n.graph, &o));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    void *lib;
    struct package_state *s = state_of(&lib);
    for (uint8_t yes = 0; yes < 2; yes++) {
        float y[N];
        int runs = s->runs;
        Qnn_Tensor_t in[] = { WITH(n.x, x8), tensor_data(c, &yes, 1) }, out = WITH(n.y, y);
        OK(q.graphExecute(n.graph, in, 2, &out, 1, NULL, NULL));
        assert_int_equal(s->runs, runs + yes);
        for (int i = 0; i < N; i++)
            assert_true(y[i] == (yes ? x8[i] + 1 : -x8[i]));
    }
    struct net b = one_node("batch", "tests.one", "Increment");
    OK(q.graphFinalize(b.graph, NULL, NULL));
    float x[3 * N], y[3 * N];
    for (int i = 0; i < 3 * N; i++)
        x[i] = (float)i;
    uint32_t dims[] = { 3, N };
    int runs = s->runs;
    Qnn_Tensor_t in = WITH(tensor_shaped(b.x, 2, dims), x), out = WITH(tensor_shaped(b.y, 2, dims), y);
    OK(q.graphExecute(b.graph, &in, 1, &out, 1, NULL, NULL));
    assert_int_equal(s->runs, runs + 3);
    for (int i = 0; i < 3 * N; i++)
        assert_true(y[i] == x[i] + 1);
    dlclose(lib);
}

struct hook {
    struct net n;
    Qnn_ErrorHandle_t run, other, backend;
} hook;

static void call_back(void)
{
    float y[N];
    hook.run = net_run(&hook.n, x8, y, N, N);
    hook.other = q.graphRetrieve(env.context, "g", &(Qnn_GraphHandle_t){ NULL });
    hook.backend = q.backendFree(env.backend);
}

/* A package that calls the library from inside of a call is told so, and nothing hangs. */
static void test_calls_back(void **state)
{
    (void)state;
    OK(reg("package_one"));
    hook.n = one_node("g", "tests.one", "Hook");
    OK(q.graphFinalize(hook.n.graph, NULL, NULL));
    void *lib;
    struct package_state *s = state_of(&lib);
    s->hook = call_back;
    float want[N];
    plus(1, want);
    gives(&hook.n, want);
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, hook.run);
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, hook.other);
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, hook.backend);
    s->hook = NULL;
    dlclose(lib);
}

static void *run_many(void *arg)
{
    float want[N];
    plus(1, want);
    for (int i = 0; i < 200; i++)
        gives(arg, want);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    OK(reg("package_one"));
    struct net n = one_node("g", "tests.one", "Increment");
    OK(q.graphFinalize(n.graph, NULL, NULL));
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, run_many, &n), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

/* ---- context binaries ------------------------------------------------------------------------------------------------- */

static void test_binary(void **state)
{
    (void)state;
    static const float table[4] = { 10, 20, 30, 40 };
    OK(reg("package_one"));
    Qnn_GraphHandle_t g = new_graph("g");
    Qnn_Tensor_t x = created(g, TENSOR("x", APP_WRITE, FLOAT_32, 2, 4)),
                 y = created(g, TENSOR("y", APP_READ, FLOAT_32, 2, 4)),
                 z = created(g, TENSOR("z", APP_READ, FLOAT_32, 2, 4));
    struct op o = { .name = "mix",
                    .type = "Mix",
                    .package = "tests.one",
                    .np = 3,
                    .ni = 1,
                    .no = 2,
                    .in = { x },
                    .out = { y, z },
                    .p = { param_text("mode", "minus"), param_tensor("table", WITH(TENSOR("t", STATIC, FLOAT_32, 4), table)),
                           param_f32("gain", 3) } };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    uint64_t size = 0, written = 0;
    OK(q.contextGetBinarySize(env.context, &size));
    void *saved = malloc(size);
    OK(q.contextGetBinary(env.context, saved, size, &written));

    Qnn_BackendHandle_t b = NULL;
    Qnn_ContextHandle_t c = NULL;
    OK(q.backendCreate(NULL, NULL, &b));
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "op package \"tests.one\", which is not registered",
                 q.contextCreateFromBinary(b, NULL, NULL, saved, written, &c, NULL));
    OK(q.backendRegisterOpPackage(b, path, "package_one", NULL));
    OK(q.contextCreateFromBinary(b, NULL, NULL, saved, written, &c, NULL));
    OK(q.graphRetrieve(c, "g", &g));
    float got[2][N];
    Qnn_Tensor_t in = WITH(x, x8), out[2] = { WITH(y, got[0]), WITH(z, got[1]) };
    OK(q.graphExecute(g, &in, 1, out, 2, NULL, NULL));
    for (int i = 0; i < N; i++)
        assert_true(got[0][i] == 3 * x8[i] - table[i % 4] && got[1][i] == x8[i] - table[i % 4]);
    OK(q.backendFree(b));
    free(saved);
}

#define T(name) cmocka_unit_test_setup_teardown(name, env_setup, env_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(test_versions),
        T(test_old_version),
        T(test_among_others),
        T(test_parameters),
        T(test_scalars),
        T(test_what_it_sees),
        T(test_list),
        T(test_refused),
        T(test_life),
        T(test_nodes_refused),
        T(test_validate),
        T(test_ids_only),
        T(test_no_implementation),
        T(test_run_fails),
        T(test_order),
        T(test_condition_and_batch),
        T(test_calls_back),
        T(test_threads),
        T(test_binary),
    };
    if (argc < 2)
        return 1;
    path = argv[1];
    setenv("OPENQNN_THREADS", "4", 1);
    lib_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

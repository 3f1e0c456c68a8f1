/* SPDX-License-Identifier: Apache-2.0 */
/* Updateable tensors: new values count from the next finalize on, in graphs that were built here and, as a section of a
 * binary, in contexts made from the binary as it was before. The model is a product with an adapter beside it, as those who
 * serve one language model with many adapters have it. */
#include "api_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpProfile.h>
#include <QNN/System/QnnSystemInterface.h>

#include "system_lib.h"

enum { SIDE = 64, RANK = 4 };

static float weights[SIDE * SIDE];

static bool lib_is_gpu(void)
{
    return strstr(lib_name(), "Gpu") != NULL;
}

struct adapter {
    float a[SIDE * RANK], b[RANK * SIDE];
};

struct model {
    struct net net;
    Qnn_Tensor_t a, b;
};

/* Small integers: sums are exact in any order. */
static struct adapter adapter_of(int seed)
{
    struct adapter ret;
    for (int i = 0; i < SIDE * RANK; i++) {
        ret.a[i] = (float)((i * 5 + seed * 3) % 7 - 3);
        ret.b[i] = (float)((i * 3 + seed * 11) % 5 - 2);
    }
    return ret;
}

/* y = x W + (x A) B */
static void build(Qnn_ContextHandle_t c, const char *name, const struct adapter *first, struct model *m)
{
    for (int i = 0; i < SIDE * SIDE; i++)
        weights[i] = (float)(i * 7 % 15 - 7);
    OK(q.graphCreate(c, name, NULL, &m->net.graph));
    m->net.x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, SIDE);
    m->net.y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, SIDE);
    m->a = WITH(TENSOR(keep_name("%s_a", name), UPDATEABLE_STATIC, FLOAT_32, SIDE, RANK), first->a);
    m->b = WITH(TENSOR(keep_name("%s_b", name), UPDATEABLE_STATIC, FLOAT_32, RANK, SIDE), first->b);
    Qnn_Tensor_t w = WITH(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, SIDE, SIDE), weights),
                 p = TENSOR(keep_name("%s_p", name), NATIVE, FLOAT_32, 1, SIDE),
                 r = TENSOR(keep_name("%s_r", name), NATIVE, FLOAT_32, 1, RANK),
                 s = TENSOR(keep_name("%s_s", name), NATIVE, FLOAT_32, 1, SIDE);
    Qnn_Tensor_t *all[] = { &m->net.x, &m->net.y, &m->a, &m->b, &w, &p, &r, &s };
    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(m->net.graph, all[i]));
    struct op ops[] = {
        { .name = "base", .type = "MatMul", .ni = 2, .in = { m->net.x, w }, .no = 1, .out = { p } },
        { .name = "down", .type = "MatMul", .ni = 2, .in = { m->net.x, m->a }, .no = 1, .out = { r } },
        { .name = "up", .type = "MatMul", .ni = 2, .in = { r, m->b }, .no = 1, .out = { s } },
        { .name = "sum", .type = "ElementWiseAdd", .ni = 2, .in = { p, s }, .no = 1, .out = { m->net.y } },
    };
    for (unsigned i = 0; i < COUNT(ops); i++)
        OK(op_add(m->net.graph, &ops[i]));
}

static void run(const struct net *n, float y[SIDE])
{
    float x[SIDE];
    for (int i = 0; i < SIDE; i++)
        x[i] = (float)(i % 5 - 2);
    OK(net_run(n, x, y, SIDE, SIDE));
}

/* y is what the model gives with that adapter. */
static bool is_of(const float y[SIDE], int seed)
{
    struct adapter t = adapter_of(seed);
    float x[SIDE], r[RANK] = { 0 };
    for (int i = 0; i < SIDE; i++)
        x[i] = (float)(i % 5 - 2);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < RANK; k++)
            r[k] += x[i] * t.a[i * RANK + k];
    for (int j = 0; j < SIDE; j++) {
        float sum = 0;
        for (int i = 0; i < SIDE; i++)
            sum += x[i] * weights[i * SIDE + j];
        for (int k = 0; k < RANK; k++)
            sum += r[k] * t.b[k * SIDE + j];
        if (y[j] != sum)
            return false;
    }
    return true;
}

static bool computes(const struct net *n, int seed)
{
    float y[SIDE];
    run(n, y);
    return is_of(y, seed);
}

static Qnn_ErrorHandle_t update(const struct model *m, int seed)
{
    struct adapter t = adapter_of(seed);
    Qnn_Tensor_t a = WITH(m->a, t.a), b = WITH(m->b, t.b);
    const Qnn_Tensor_t *list[] = { &a, &b };
    return q.tensorUpdateGraphTensors(m->net.graph, list, COUNT(list));
}

static void start(struct model *m)
{
    struct adapter t = adapter_of(0);
    build(env.context, "lora", &t, m);
    OK(q.graphFinalize(m->net.graph, NULL, NULL));
    assert_true(computes(&m->net, 0));
}

static void test_new_data(void **state)
{
    (void)state;
    struct model m;
    start(&m);
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, q.graphFinalize(m.net.graph, NULL, NULL));
    for (int seed = 1; seed < 4; seed++) {
        OK(update(&m, seed));
        assert_true(computes(&m.net, seed - 1)); /* until it is finalized */
        OK(q.graphFinalize(m.net.graph, NULL, NULL));
        assert_true(computes(&m.net, seed));
        assert_false(computes(&m.net, seed - 1));
    }
}

static void test_before_the_first_finalize(void **state)
{
    (void)state;
    struct model m;
    struct adapter t = adapter_of(0);
    build(env.context, "lora", &t, &m);
    OK(update(&m, 2));
    OK(q.graphFinalize(m.net.graph, NULL, NULL));
    assert_true(computes(&m.net, 2));
}

/* ---- encodings -------------------------------------------------------------------------------------------------------- */

/* y = x w, both bytes; the encodings of all three change. */
static void test_new_encodings(void **state)
{
    (void)state;
    if (lib_is_gpu()) /* floats only */
        skip();
    static const uint8_t w[4] = { 130, 120, 140, 128 }, w2[4] = { 124, 138, 128, 132 };
    uint8_t x[4] = { 10, 20, 30, 40 }, y[4];
    struct net n;
    OK(q.graphCreate(env.context, "fixed", NULL, &n.graph));
    n.x = tensor_quant(TENSOR("x", UPDATEABLE_APP_WRITE, UFIXED_POINT_8, 4), 0.5f, 0);
    n.y = tensor_quant(TENSOR("y", UPDATEABLE_APP_READ, UFIXED_POINT_8, 4), 1.0f, -128);
    Qnn_Tensor_t wt = tensor_quant(WITH(TENSOR("w", UPDATEABLE_STATIC, UFIXED_POINT_8, 4), w), 0.25f, -128);
    Qnn_Tensor_t *all[] = { &n.x, &n.y, &wt };
    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(n.graph, all[i]));
    struct op times = {
        .name = "times", .type = "ElementWiseMultiply", .ni = 2, .in = { n.x, wt }, .no = 1, .out = { n.y }
    };
    OK(op_add(n.graph, &times));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    for (int round = 0; round < 2; round++) {
        const uint8_t *now = round ? w2 : w;
        float sx = round ? 0.25f : 0.5f, sw = round ? 0.5f : 0.25f, sy = round ? 0.5f : 1.0f;
        Qnn_Tensor_t in = WITH(n.x, x), out = WITH(n.y, y);
        OK(q.graphExecute(n.graph, &in, 1, &out, 1, NULL, NULL));
        for (int i = 0; i < 4; i++) {
            double real = x[i] * sx * (now[i] - 128.0) * sw / sy + 128; /* whole and halves: no rounding to agree on */
            assert_true(y[i] >= real - 0.5 && y[i] <= real + 0.5);
        }
        if (round)
            break;
        Qnn_Tensor_t x2 = tensor_quant(n.x, 0.25f, 0), y2 = tensor_quant(n.y, 0.5f, -128),
                     wt2 = tensor_quant(WITH(wt, w2), 0.5f, -128);
        const Qnn_Tensor_t *list[] = { &x2, &y2, &wt2 };
        OK(q.tensorUpdateGraphTensors(n.graph, list, COUNT(list)));
        OK(q.graphFinalize(n.graph, NULL, NULL));
    }
}

/* ---- tensors of the context ------------------------------------------------------------------------------------------- */

static void plus_shared(const char *name, const Qnn_Tensor_t *shared, struct net *n)
{
    OK(q.graphCreate(env.context, name, NULL, &n->graph));
    n->x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 4);
    n->y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 4);
    OK(q.tensorCreateGraphTensor(n->graph, &n->x));
    OK(q.tensorCreateGraphTensor(n->graph, &n->y));
    struct op plus = {
        .name = "plus", .type = "ElementWiseAdd", .ni = 2, .in = { n->x, *shared }, .no = 1, .out = { n->y }
    };
    OK(op_add(n->graph, &plus));
    OK(q.graphFinalize(n->graph, NULL, NULL));
}

static void adds(const struct net *n, float wanted)
{
    float x[4] = { 1, 2, 3, 4 }, y[4];
    OK(net_run(n, x, y, 4, 4));
    for (int i = 0; i < 4; i++)
        assert_true(y[i] == x[i] + wanted);
}

static void test_context_tensor(void **state)
{
    (void)state;
    static const float one[4] = { 1, 1, 1, 1 }, nine[4] = { 9, 9, 9, 9 };
    Qnn_Tensor_t shared = WITH(TENSOR("shared", UPDATEABLE_STATIC, FLOAT_32, 4), one);
    struct net first, second;
    OK(q.tensorCreateContextTensor(env.context, &shared));
    plus_shared("first", &shared, &first);
    plus_shared("second", &shared, &second);
    Qnn_Tensor_t now = WITH(shared, nine);
    const Qnn_Tensor_t *list[] = { &now };
    FAILS(QNN_TENSOR_ERROR_DOES_NOT_EXIST, q.tensorUpdateGraphTensors(first.graph, list, 1));
    OK(q.tensorUpdateContextTensors(env.context, list, 1));
    OK(q.graphFinalize(first.graph, NULL, NULL));
    adds(&first, 9);
    adds(&second, 1);
    OK(q.graphFinalize(second.graph, NULL, NULL));
    adds(&second, 9);
}

/* ---- subgraphs -------------------------------------------------------------------------------------------------------- */

static Qnn_Tensor_t four(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                         const float *data)
{
    Qnn_Tensor_t t = tensor_make(QNN_TENSOR_VERSION_1, name, type, dtype, 1, (uint32_t[]){ 4 });
    if (data)
        t = tensor_data(t, data, 4 * sizeof *data);
    OK(q.tensorCreateGraphTensor(g, &t));
    return t;
}

enum { YES, NO, TOP };

/* y = c ? x + outer : x + inner: a tensor of the graph around, which the subgraph borrows, and one of its own. */
static void test_subgraphs(void **state)
{
    (void)state;
    if (lib_is_gpu()) /* no If */
        skip();
    static const float two[4] = { 2, 2, 2, 2 }, three[4] = { 3, 3, 3, 3 },
                       more[2][4] = { { 20, 20, 20, 20 }, { 30, 30, 30, 30 } };
    static const Qnn_DataType_t f32 = QNN_DATATYPE_FLOAT_32;
    static const char *const names[2] = { "yes", "no" };
    Qnn_GraphHandle_t g[3];
    Qnn_Tensor_t out[2], constant[2];
    OK(q.graphCreate(env.context, "top", NULL, &g[TOP]));
    Qnn_Tensor_t x = four(g[TOP], "x", QNN_TENSOR_TYPE_APP_WRITE, f32, NULL),
                 y = four(g[TOP], "y", QNN_TENSOR_TYPE_APP_READ, f32, NULL), c = TENSOR("c", APP_WRITE, BOOL_8, 1);
    OK(q.tensorCreateGraphTensor(g[TOP], &c));
    constant[YES] = four(g[TOP], "outer", QNN_TENSOR_TYPE_UPDATEABLE_STATIC, f32, two);
    for (int i = YES; i <= NO; i++) {
        OK(q.graphCreateSubgraph(g[TOP], names[i], &g[i]));
        out[i] = four(g[i], keep_name("%s_y", names[i]), QNN_TENSOR_TYPE_APP_READ, f32, NULL);
        if (i == NO)
            constant[NO] = four(g[i], "inner", QNN_TENSOR_TYPE_UPDATEABLE_STATIC, f32, three);
        struct op add = { .name = keep_name("%s_add", names[i]), .type = "ElementWiseAdd", .ni = 2 };
        add.in[0] = x;
        add.in[1] = constant[i];
        add.no = 1;
        add.out[0] = out[i];
        OK(op_add(g[i], &add));
    }
    struct op choice = { .name = "choice", .type = "If", .np = 2, .ni = 1, .in = { c }, .no = 1, .out = { y } };
    choice.p[0] = param_text("then_graph", "yes");
    choice.p[1] = param_text("else_graph", "no");
    OK(op_add(g[TOP], &choice));
    OK(q.graphFinalize(g[TOP], NULL, NULL));
    for (int round = 0; round < 2; round++) {
        for (uint8_t yes = 0; yes < 2; yes++) {
            float in[4] = { 1, 2, 3, 4 }, got[4];
            Qnn_Tensor_t ins[] = { WITH(x, in), tensor_data(c, &yes, 1) }, o = WITH(y, got);
            OK(q.graphExecute(g[TOP], ins, 2, &o, 1, NULL, NULL));
            for (int i = 0; i < 4; i++)
                assert_true(got[i] == in[i] + (yes ? 2 : 3) * (round ? 10 : 1));
        }
        for (int i = YES; i <= NO && !round; i++) {
            Qnn_Tensor_t now = WITH(constant[i], more[i]);
            const Qnn_Tensor_t *list[] = { &now };
            OK(q.tensorUpdateGraphTensors(g[i == YES ? TOP : NO], list, 1));
        }
        if (!round)
            OK(q.graphFinalize(g[TOP], NULL, NULL));
    }
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

struct saved {
    void *data;
    uint64_t size;
};

static QnnContext_Buffer_t raw(void *data, uint64_t size)
{
    return (QnnContext_Buffer_t){ .version = QNN_CONTEXT_BUFFER_VERSION_1,
                                  .v1 = { .memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = { data, size } } };
}

static struct saved save(Qnn_ContextHandle_t c)
{
    struct saved s;
    uint64_t written;
    OK(q.contextGetBinarySize(c, &s.size));
    assert_non_null(s.data = malloc(s.size));
    OK(q.contextGetBinary(c, s.data, s.size, &written));
    return s;
}

static struct saved section_of(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g)
{
    struct saved s;
    uint64_t written = 0;
    OK(q.contextGetBinarySectionSize(c, g, QNN_CONTEXT_SECTION_UPDATABLE, &s.size));
    assert_non_null(s.data = malloc(s.size));
    QnnContext_Buffer_t b = raw(s.data, s.size);
    OK(q.contextGetBinarySection(c, g, QNN_CONTEXT_SECTION_UPDATABLE, &b, &written, NULL, NULL));
    assert_int_equal(written, s.size);
    return s;
}

static Qnn_ErrorHandle_t apply(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, const void *data, uint64_t size)
{
    QnnContext_Buffer_t b = raw((void *)(uintptr_t)data, size);
    return q.contextApplyBinarySection(c, g, QNN_CONTEXT_SECTION_UPDATABLE, &b, NULL, NULL);
}

/* The file as it was first, and sections of the adapters behind it. */
static struct saved base, sections[4];
static struct model built;

static int sections_setup(void **state)
{
    env_setup(state);
    start(&built);
    base = save(env.context);
    for (int seed = 1; seed < 4; seed++) {
        OK(update(&built, seed));
        OK(q.graphFinalize(built.net.graph, NULL, NULL));
        sections[seed] = section_of(env.context, seed == 2 ? NULL : built.net.graph);
    }
    return 0;
}

static int sections_teardown(void **state)
{
    free(base.data);
    for (int i = 1; i < 4; i++)
        free(sections[i].data);
    return env_teardown(state);
}

static Qnn_ContextHandle_t from_base(struct net *n)
{
    Qnn_ContextHandle_t c;
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, base.data, base.size, &c, NULL));
    *n = built.net;
    OK(q.graphRetrieve(c, "lora", &n->graph));
    return c;
}

static void test_sections(void **state)
{
    (void)state;
    struct net n;
    Qnn_ContextHandle_t c = from_base(&n);
    assert_true(computes(&n, 0));
    static const int order[] = { 1, 2, 1, 3, 3 };
    for (unsigned i = 0; i < COUNT(order); i++) {
        OK(apply(c, i % 2 ? n.graph : NULL, sections[order[i]].data, sections[order[i]].size));
        assert_true(computes(&n, order[i]));
    }
    OK(q.contextFree(c, NULL));
}

static void test_profile(void **state)
{
    (void)state;
    static const uint32_t htp[] = { QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_QNN,
                                    QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_RPC,
                                    QNN_HTP_PROFILE_EVENTTYPE_GRAPH_APPLY_BINARY_SECTION_QNN_ACC };
    static const uint32_t cpu[] = { QNN_PROFILE_EVENTTYPE_INIT };
    Qnn_ProfileHandle_t p;
    struct net n;
    Qnn_ContextHandle_t c = from_base(&n);
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    QnnContext_Buffer_t b = raw(sections[1].data, sections[1].size);
    OK(q.contextApplyBinarySection(c, n.graph, QNN_CONTEXT_SECTION_UPDATABLE, &b, p, NULL));
    uint32_t found = 0, wanted = lib_is_htp() ? COUNT(htp) : COUNT(cpu);
    (void)profile_events(p, &found);
    assert_true(found == wanted || lib_is_gpu()); /* which also tells of kernels that it compiled */
    for (uint32_t i = 0; i < wanted; i++)
        assert_non_null(profile_find(p, lib_is_htp() ? htp[i] : cpu[i]));
    OK(q.profileFree(p));
    OK(q.contextFree(c, NULL));
}

/* The weights that no update changes are not in it. */
static void test_sections_are_small(void **state)
{
    (void)state;
    assert_true(base.size > sizeof weights);
    for (int i = 1; i < 4; i++)
        assert_true(sections[i].size < base.size - sizeof weights * 3 / 4);
}

static void test_section_of_a_built_context(void **state)
{
    (void)state;
    OK(apply(env.context, built.net.graph, sections[1].data, sections[1].size));
    assert_true(computes(&built.net, 1));
    OK(update(&built, 2)); /* updates go on from what was given last */
    OK(q.graphFinalize(built.net.graph, NULL, NULL));
    assert_true(computes(&built.net, 2));
}

/* Whatever is refused leaves the graph as it was. */
static void test_damaged(void **state)
{
    (void)state;
    struct net n;
    Qnn_ContextHandle_t c = from_base(&n);
    OK(apply(c, n.graph, sections[1].data, sections[1].size));
    uint8_t *copy = malloc(sections[2].size);
    assert_non_null(copy);
    hush(true);
    for (uint64_t size = 1; size < sections[2].size; size += 1 + size / 16)
        FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, apply(c, n.graph, sections[2].data, size));
    for (uint64_t at = 0; at < sections[2].size; at += 1 + at / 16) {
        memcpy(copy, sections[2].data, sections[2].size);
        copy[at] ^= 0x10;
        assert_int_not_equal(CODE(apply(c, n.graph, copy, sections[2].size)), QNN_SUCCESS);
    }
    hush(false);
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, "whole context binary", apply(c, n.graph, base.data, base.size));
    free(copy);
    assert_true(computes(&n, 1));
    OK(q.contextFree(c, NULL));
}

static void test_of_another_model(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    struct net n;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    OK(net_affine(c, "lora", 2, 3, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    FAILS(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, apply(c, n.graph, sections[1].data, sections[1].size));
    OK(net_affine(c, "other", 2, 3, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, "nothing for graph \"other\"",
                 apply(c, n.graph, sections[1].data, sections[1].size));
    OK(q.contextFree(c, NULL));
}

/* Two graphs of a context, one of which a section does not fit: neither changes. */
static void test_all_or_none(void **state)
{
    (void)state;
    struct model second;
    struct adapter t = adapter_of(0);
    build(env.context, "more", &t, &second);
    OK(q.graphFinalize(second.net.graph, NULL, NULL));
    OK(update(&second, 3));
    OK(q.graphFinalize(second.net.graph, NULL, NULL));
    struct saved both = section_of(env.context, NULL);
    struct net n;
    Qnn_ContextHandle_t c = from_base(&n); /* it has no graph "more" */
    FAILS_SAYING(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, "more", apply(c, NULL, both.data, both.size));
    assert_true(computes(&n, 0));
    OK(apply(c, n.graph, both.data, both.size));
    assert_true(computes(&n, 3));
    OK(q.contextFree(c, NULL));
    free(both.data);
}

/* What a client brings for weights need not grow with every adapter. */
static void test_room_for_weights(void **state)
{
    (void)state;
    QnnHtpContext_CustomProperty_t p = { .option = QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                          *list[] = { &property, NULL };
    struct net n;
    Qnn_ContextHandle_t c = from_base(&n);
    if (!lib_is_htp()) {
        OK(q.contextFree(c, NULL));
        skip();
    }
    OK(q.contextGetProperty(c, list));
    uint64_t once = p.weightsBufferSize;
    assert_true(once >= sizeof weights);
    for (int i = 0; i < 12; i++)
        OK(apply(c, NULL, sections[1 + i % 3].data, sections[1 + i % 3].size));
    OK(q.contextGetProperty(c, list));
    assert_in_range(p.weightsBufferSize, once, 2 * once);
    OK(q.contextFree(c, NULL));
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

static struct {
    struct net net;
    _Atomic bool stop;
    _Atomic unsigned runs, done, wrong;
} busy;

static void *keep_running(void *arg)
{
    (void)arg;
    while (!busy.stop) {
        float y[SIDE];
        run(&busy.net, y);
        busy.wrong += !is_of(y, 1) && !is_of(y, 2);
        busy.runs++;
    }
    return NULL;
}

static void on_done(void *param, Qnn_NotifyStatus_t status)
{
    (void)param;
    busy.wrong += status.error != QNN_SUCCESS;
    busy.done++;
    Qnn_GraphHandle_t same;
    busy.wrong += CODE(q.graphRetrieve(param, "lora", &same)) != QNN_SUCCESS; /* wants what whoever applies a section has */
}

/* Sections come while the graph runs, and runs wait in the queue. */
static void test_while_it_runs(void **state)
{
    (void)state;
    enum { ROUNDS = 8, QUEUED = 4 };
    pthread_t t;
    float x[SIDE] = { 0 }, y[QUEUED][SIDE];
    Qnn_ContextHandle_t c = from_base(&busy.net);
    busy.stop = false;
    busy.runs = busy.done = busy.wrong = 0;
    OK(apply(c, NULL, sections[1].data, sections[1].size));
    assert_int_equal(pthread_create(&t, NULL, keep_running, NULL), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < QUEUED; i++) {
            Qnn_Tensor_t in = WITH(busy.net.x, x), out = WITH(busy.net.y, y[i]);
            OK(q.graphExecuteAsync(busy.net.graph, &in, 1, &out, 1, NULL, NULL, on_done, c));
        }
        OK(apply(c, busy.net.graph, sections[1 + round % 2].data, sections[1 + round % 2].size));
        while (busy.done < (round + 1) * QUEUED || busy.runs <= round)
            sched_yield();
    }
    busy.stop = true;
    pthread_join(t, NULL);
    assert_int_equal(busy.wrong, 0);
    OK(q.contextFree(c, NULL));
}

/* ---- what binaries say ------------------------------------------------------------------------------------------------ */

static void test_reflection(void **state)
{
    (void)state;
    void *lib = system_open();
    const QnnSystemInterface_t *system = system_provider(lib);
    QnnSystemContext_Handle_t h;
    const QnnSystemContext_BinaryInfo_t *info;
    Qnn_ContextBinarySize_t size;
    OK(system->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextCreate(&h));
    OK(system->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextGetBinaryInfo(h, base.data, base.size, &info, &size));
    const QnnSystemContext_GraphInfoV3_t *g = &info->contextBinaryInfoV3.graphs[0].graphInfoV3;
    assert_int_equal(g->numUpdateableTensors, 2);
    for (int i = 0; i < 2; i++) {
        const Qnn_TensorV1_t *v = &TV(g->updateableTensors[i]), *was = i ? &built.b.v1 : &built.a.v1;
        assert_string_equal(v->name, was->name);
        assert_int_equal(v->id, was->id);
        assert_int_equal(v->type, QNN_TENSOR_TYPE_UPDATEABLE_STATIC);
    }
    OK(system->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextFree(h));
    dlclose(lib);
}

/* ---- wrong use -------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t update_one(Qnn_GraphHandle_t g, Qnn_Tensor_t t)
{
    const Qnn_Tensor_t *list[] = { &t };
    return q.tensorUpdateGraphTensors(g, list, 1);
}

static void test_refused_updates(void **state)
{
    (void)state;
    struct model m;
    start(&m);
    struct adapter t = adapter_of(1);
    Qnn_Tensor_t wrong = WITH(m.a, t.a);
    uint32_t dims[2] = { RANK, SIDE };
    FAILS(QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE, update_one(m.net.graph, tensor_shaped(wrong, 2, dims)));
    TV(wrong).clientBuf.dataSize--;
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, update_one(m.net.graph, wrong));
    wrong = WITH(m.a, t.a);
    TV(wrong).id = 1000;
    FAILS(QNN_TENSOR_ERROR_DOES_NOT_EXIST, update_one(m.net.graph, wrong));
    FAILS(QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE, update_one(m.net.graph, m.net.x));
    struct net plain;
    OK(net_affine(env.context, "plain", 2, 3, &plain));
    OK(q.graphFinalize(plain.graph, NULL, NULL));
    FAILS(QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE, update_one(plain.graph, plain.x));
    /* One of two is wrong: neither is taken. */
    Qnn_Tensor_t good = WITH(m.b, t.b);
    const Qnn_Tensor_t *list[] = { &good, &wrong, NULL };
    FAILS(QNN_TENSOR_ERROR_DOES_NOT_EXIST, q.tensorUpdateGraphTensors(m.net.graph, list, 2));
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorUpdateGraphTensors(m.net.graph, &list[2], 1));
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, q.graphFinalize(m.net.graph, NULL, NULL));
    assert_true(computes(&m.net, 0));
}

static void test_refused_sections(void **state)
{
    (void)state;
    uint64_t size;
    struct net n;
    char small[16];
    QnnContext_Buffer_t b = raw(small, sizeof small);
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
          q.contextGetBinarySection(env.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, &size, NULL, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
          q.contextGetBinarySectionSize(env.context, NULL, (QnnContext_SectionType_t)4, &size));
    OK(q.contextGetBinarySectionSize(env.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS, &size));
    FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED,
          q.contextGetBinarySectionSize(env.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS, &size));
    OK(update(&built, 1));
    FAILS(QNN_CONTEXT_ERROR_NOT_FINALIZED,
          q.contextGetBinarySectionSize(env.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &size));
    Qnn_ContextHandle_t c = from_base(&n);
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
          q.contextGetBinarySectionSize(c, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &size));
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, update_one(n.graph, built.a));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, apply(c, built.net.graph, sections[1].data, sections[1].size));
    b.v1.memType = QNN_CONTEXTMEMTYPE_MEMHANDLE;
    FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED,
          q.contextApplyBinarySection(c, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, NULL, NULL));
    OK(q.contextFree(c, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new_data, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_before_the_first_finalize, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_new_encodings, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_context_tensor, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_subgraphs, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_refused_updates, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_sections, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_profile, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_sections_are_small, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_section_of_a_built_context, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_damaged, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_of_another_model, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_all_or_none, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_room_for_weights, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_while_it_runs, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_reflection, sections_setup, sections_teardown),
        cmocka_unit_test_setup_teardown(test_refused_sections, sections_setup, sections_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

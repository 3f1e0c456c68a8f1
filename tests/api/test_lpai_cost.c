/* SPDX-License-Identifier: Apache-2.0 */
/* What LPAI says of cost, and what it saves: estimates in profiles, and rooms of inputs and outputs that share memory where
 * an operator works in place. */
#include "lpai_kit.h"

#include <stdlib.h>
#include <string.h>

#define SCRATCH QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM

static _Alignas(64) uint8_t x[KIT_IN], y[64];

struct estimate {
    uint64_t cycles, node_cycles, scratch, persistent, model, io;
    uint32_t nodes;
};

/* Everything below one event. */
static void collect(QnnProfile_EventId_t id, struct estimate *e)
{
    const QnnProfile_EventId_t *ids;
    uint32_t n;
    QnnProfile_EventData_t d;
    OK(q.profileGetEventData(id, &d));
    if (d.unit == QNN_PROFILE_EVENTUNIT_CYCLES && d.type == QNN_PROFILE_EVENTTYPE_NODE) {
        e->node_cycles += d.value;
        e->nodes++;
        assert_non_null(strstr(d.identifier, "estimated"));
    } else if (d.unit == QNN_PROFILE_EVENTUNIT_CYCLES) {
        e->cycles += d.value;
    } else if (d.unit == QNN_PROFILE_EVENTUNIT_BYTES) {
        e->scratch += strcmp(d.identifier, "Bytes moved (scratch)") ? 0 : d.value;
        e->persistent += strcmp(d.identifier, "Bytes moved (persistent)") ? 0 : d.value;
        e->model += strcmp(d.identifier, "Bytes moved (model)") ? 0 : d.value;
        e->io += strcmp(d.identifier, "Bytes moved (I/O)") ? 0 : d.value;
    }
    OK(q.profileGetSubEvents(id, &ids, &n));
    for (uint32_t i = 0; i < n; i++)
        collect(ids[i], e);
}

static struct estimate run_profiled(uint32_t version, QnnProfile_Level_t level)
{
    struct kit_binary b = kit_binary(8, version);
    struct kit_loaded l;
    struct estimate e = { 0 };
    Qnn_ProfileHandle_t p;
    const QnnProfile_EventId_t *ids;
    uint32_t n;
    kit_load(&b, 8, &l);
    struct guarded s = guarded_new(l.scratch, true);
    OK(kit_pool(l.net.graph, SCRATCH, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    OK(q.profileCreate(l.backend, level, &p));
    Qnn_Tensor_t in = tensor_data(l.net.x, x, l.net.x_bytes), out = tensor_data(l.net.y, y, l.net.y_bytes);
    OK(q.graphExecute(l.net.graph, &in, 1, &out, 1, p, NULL));
    OK(q.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++)
        collect(ids[i], &e);
    OK(q.profileFree(p));
    kit_unload(&l);
    guarded_free(&s);
    free(b.data);
    return e;
}

static void test_estimates(void **state)
{
    (void)state;
    static const uint32_t versions[] = { QNN_LPAI_BACKEND_HW_VERSION_V4, QNN_LPAI_BACKEND_HW_VERSION_V5,
                                         QNN_LPAI_BACKEND_HW_VERSION_V6, QNN_LPAI_BACKEND_HW_VERSION_V7 };
    uint64_t before = UINT64_MAX;
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct estimate e = run_profiled(versions[i], QNN_PROFILE_LEVEL_DETAILED),
                        again = run_profiled(versions[i], QNN_PROFILE_LEVEL_DETAILED);
        assert_memory_equal(&e, &again, sizeof(e));
        assert_true(e.nodes > 0);
        assert_int_equal(e.cycles, e.node_cycles);
        assert_true(e.cycles < before); /* newer hardware does more per cycle */
        before = e.cycles;
        /* x is read by two convolutions, y is written once; no state */
        assert_int_equal(e.io, 2 * KIT_IN + KIT_OUT);
        assert_int_equal(e.persistent, 0);
        assert_true(e.model >= 3 * 3 * 4 * 8 + 4 * 8 + KIT_OUT * 128);
        assert_true(e.scratch >= 5 * 8 * 8 * 8);
    }
    struct estimate basic = run_profiled(0, QNN_PROFILE_LEVEL_BASIC);
    assert_int_equal(basic.nodes, 0);
}

/* x -> Neg -> Relu -> y: input, tensor between and output are one room, whoever brings which buffer. */
static void test_rooms_in_place(void **state)
{
    (void)state;
    enum { N = 1000 };
    static _Alignas(64) uint8_t mine[N], result[N];
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    struct kit_net n = { .x_bytes = N, .y_bytes = N };
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "g", NULL, &n.graph));
    n.x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, N), 0.1f, -100);
    n.y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, N), 0.1f, -100);
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_8, N), 0.1f, -100);
    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    OK(q.tensorCreateGraphTensor(n.graph, &t));
    struct op neg = { .name = "neg", .type = "ElementWiseNeg", .ni = 1, .in = { n.x }, .no = 1, .out = { t } };
    struct op relu = { .name = "relu", .type = "Relu", .ni = 1, .in = { t }, .no = 1, .out = { n.y } };
    OK(op_add(n.graph, &neg));
    OK(op_add(n.graph, &relu));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    uint32_t size = kit_size(n.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    assert_int_equal(size, (N + 63) / 64 * 64);
    struct guarded s = guarded_new(size, true);
    OpenQnnLpaiGraph_IoRoom_t in = { "x", 0, 0 }, out = { "y", 0, 0 };
    OK(kit_property(n.graph, OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM, &in));
    OK(kit_property(n.graph, OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM, &out));
    OK(kit_pool(n.graph, SCRATCH, s.data, size));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    for (uint32_t turn = 0; turn < 8; turn++) {
        bool own_x = turn & 1, own_y = turn & 2;
        uint8_t *from = own_x ? mine : s.data + in.offset, *to = own_y ? result : s.data + out.offset, before[N];
        kit_fill(from, N, turn);
        memcpy(before, from, N);
        OK(kit_run(&n, own_x ? mine : NULL, own_y ? result : NULL));
        for (uint32_t i = 0; i < N; i++) { /* real values are (q - 100) / 10 */
            int neg_q = 200 - before[i] < 0 ? 0 : 200 - before[i], want = neg_q < 100 ? 100 : neg_q;
            assert_int_equal(to[i], want);
        }
        if (own_x)
            assert_memory_equal(mine, before, N);
    }
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(b));
    guarded_free(&s);
}

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_LPAI);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_rooms_in_place),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}

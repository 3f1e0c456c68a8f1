/* SPDX-License-Identifier: Apache-2.0 */
/* The performance infrastructure: ids, votes, the rules between them, and their codes. */
#include "api_test.h"
#include "apart.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>

#define INVALID QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT
#define UNSUPPORTED QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG

typedef QnnHtpPerfInfrastructure_PowerConfig_t config;

static const QnnHtpDevice_PerfInfrastructure_t *perf;

static config vote(QnnHtpPerfInfrastructure_PowerConfigOption_t option)
{
    config c;
    memset(&c, 0, sizeof c);
    c.option = option;
    return c;
}
#define VOTE(name) vote(QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_##name)

static config dcvs(void)
{
    config c = VOTE(DCVS_V3);
    c.dcvsV3Config = (QnnHtpPerfInfrastructure_DcvsV3_t){
        .setDcvsEnable = 1,
        .powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
        .setSleepLatency = 1,
        .sleepLatency = 40,
        .setBusParams = 1,
        .busVoltageCornerMin = DCVS_VOLTAGE_VCORNER_TURBO,
        .busVoltageCornerTarget = DCVS_VOLTAGE_VCORNER_TURBO,
        .busVoltageCornerMax = DCVS_VOLTAGE_VCORNER_TURBO,
        .setCoreParams = 1,
        .coreVoltageCornerMin = DCVS_VOLTAGE_VCORNER_SVS,
        .coreVoltageCornerTarget = DCVS_VOLTAGE_VCORNER_NOM,
        .coreVoltageCornerMax = DCVS_VOLTAGE_VCORNER_TURBO,
    };
    return c;
}

static config hmx(void)
{
    config c = VOTE(HMX_V2);
    c.hmxV2Config = (QnnHtpPerfInfrastructure_HmxV2_t){ 0, DCVS_EXP_VCORNER_TUR, DCVS_EXP_VCORNER_TUR, DCVS_EXP_VCORNER_TUR,
                                                        QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH };
    return c;
}

static Qnn_ErrorHandle_t set2(uint32_t id, const config *a, const config *b)
{
    const config *list[] = { a, b, NULL };
    return perf->setPowerConfig(id, list);
}

static Qnn_ErrorHandle_t set(uint32_t id, config a)
{
    return set2(id, &a, NULL);
}

static uint32_t new_id(void)
{
    uint32_t id = 0;
    OK(perf->createPowerConfigId(0, 0, &id));
    assert_int_not_equal(id, 0);
    return id;
}

static void use_soc(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t s = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t c = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &s };
    const QnnDevice_Config_t *list[] = { &c, NULL };
    Qnn_DeviceHandle_t d;
    OK(q.deviceCreate(NULL, list, &d));
    OK(q.deviceFree(d));
}

/* Some clients vote before they ask for an id. */
static void test_first_id_without_asking(void **state)
{
    (void)state;
    OK(set(1, dcvs()));
    OK(perf->destroyPowerConfigId(1));
    FAILS_SAYING(INVALID, "id 1 ", perf->destroyPowerConfigId(1));
    FAILS(INVALID, set(1, dcvs()));
    FAILS(INVALID, set(0, dcvs()));
}

static void test_ids(void **state)
{
    (void)state;
    uint32_t a = new_id(), b = new_id(), none = 77;
    assert_int_not_equal(a, b);
    FAILS(QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR, perf->createPowerConfigId(0, 0, NULL));
    FAILS_SAYING(INVALID, "device 3", perf->createPowerConfigId(3, 0, &none));
    FAILS_SAYING(INVALID, "core 9", perf->createPowerConfigId(0, 9, &none));
    assert_int_equal(none, 77);
    OK(perf->destroyPowerConfigId(a));
    FAILS(INVALID, set(a, dcvs()));
    OK(set(b, dcvs()));
    FAILS(INVALID, perf->setPowerConfig(b, NULL));
    OK(perf->destroyPowerConfigId(b));
}

static void test_clock_votes(void **state)
{
    (void)state;
    uint32_t id = new_id();
    config c = dcvs();
    OK(set(id, c));
    c.dcvsV3Config.sleepLatency = 9;
    FAILS_SAYING(INVALID, "9 us", set(id, c));
    c.dcvsV3Config.sleepLatency = 65535;
    OK(set(id, c));
    c.dcvsV3Config.sleepLatency = 65536;
    FAILS(INVALID, set(id, c));
    c.dcvsV3Config.setSleepLatency = 0; /* then it does not count */
    OK(set(id, c));
    c.dcvsV3Config.busVoltageCornerTarget = (QnnHtpPerfInfrastructure_VoltageCorner_t)0x33;
    FAILS_SAYING(INVALID, "0x33", set(id, c));
    c = dcvs();
    c.dcvsV3Config.coreVoltageCornerMin = DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER;
    FAILS_SAYING(INVALID, "core", set(id, c));
    c = dcvs();
    c.dcvsV3Config.dcvsEnable = 1;
    c.dcvsV3Config.powerMode = (QnnHtpPerfInfrastructure_PowerMode_t)3;
    FAILS_SAYING(INVALID, "mode 3", set(id, c));
    FAILS_SAYING(UNSUPPORTED, "77", set(id, vote((QnnHtpPerfInfrastructure_PowerConfigOption_t)77)));
    OK(perf->destroyPowerConfigId(id));
}

static void test_polling(void **state)
{
    (void)state;
    uint32_t id = new_id();
    config poll = VOTE(RPC_POLLING_TIME), adaptive = VOTE(ADAPTIVE_POLLING_TIME), latency = VOTE(RPC_CONTROL_LATENCY),
           timeout = VOTE(HMX_TIMEOUT_INTERVAL_US);
    adaptive.adaptivePollingTimeConfig = 1000;
    FAILS_SAYING(INVALID, "RPC polling", set(id, adaptive));
    poll.rpcPollingTimeConfig = 9999;
    OK(set2(id, &adaptive, &poll)); /* one call may bring both, in any order */
    poll.rpcPollingTimeConfig = 10000;
    OK(set(id, poll));
    poll.rpcPollingTimeConfig = 10001;
    FAILS_SAYING(INVALID, "10001 us; 0 to 10000", set(id, poll));
    latency.rpcControlLatencyConfig = 100;
    timeout.hmxTimeoutIntervalUsConfig = 300000;
    OK(set2(id, &latency, &timeout));
    OK(perf->destroyPowerConfigId(id));
}

/* The table of the matrix unit's votes. */
static void test_matrix_unit(void **state)
{
    (void)state;
    uint32_t id = new_id();
    config d = dcvs(), h = hmx(), none = VOTE(DCVS_V3), ddr = VOTE(DDR_PERF_MODE);
    FAILS_SAYING(UNSUPPORTED, "v75", set2(id, &d, &h)); /* the default SoC is older */
    use_soc(57);
    FAILS_SAYING(INVALID, "clock vote", set(id, h));
    ddr.ddrPerfModeConfig = 1;
    FAILS_SAYING(INVALID, "clock vote", set(id, ddr));
    OK(set2(id, &h, &d));
    OK(set(id, ddr));
    h.hmxV2Config.hmxVoltageCornerMin = (QnnHtpPerfInfrastructure_ExpVoltageCorner_t)0x40;
    FAILS_SAYING(INVALID, "matrix unit", set(id, h));
    h.hmxV2Config.hmxPickDefault = 1; /* corners do not count then */
    OK(set(id, h));
    OK(set(id, none));                 /* clocks are gone, and all that hung on them */
    FAILS(INVALID, set(id, hmx()));
    OK(perf->destroyPowerConfigId(id));
    use_soc(43);
}

static void test_finer_corners(void **state)
{
    (void)state;
    uint32_t id = new_id();
    config e = VOTE(DCVS_V3_EXP), d = dcvs(), c = VOTE(CENG), x = VOTE(CENG_EXP);
    e.dcvsV3ExpConfig = (QnnHtpPerfInfrastructure_DcvsV3Exp_t){
        .setCoreParams = 1, .coreVoltageCornerMin = DCVS_EXP_VCORNER_SVS, .coreVoltageCornerTarget = DCVS_EXP_VCORNER_NOM,
        .coreVoltageCornerMax = DCVS_EXP_VCORNER_MAX,
    };
    c.cengConfig =
        (QnnHtpPerfInfrastructure_Ceng_t){ DCVS_VOLTAGE_VCORNER_NOM, DCVS_VOLTAGE_VCORNER_NOM, DCVS_VOLTAGE_VCORNER_NOM, 0 };
    x.cengExpConfig =
        (QnnHtpPerfInfrastructure_CengExp_t){ DCVS_EXP_VCORNER_NOM, DCVS_EXP_VCORNER_NOM, DCVS_EXP_VCORNER_NOM, 0 };
    FAILS_SAYING(UNSUPPORTED, "v85", set(id, e));
    FAILS_SAYING(INVALID, "clock vote", set(id, c));
    OK(set2(id, &d, &c));
    FAILS_SAYING(INVALID, "one kind", set(id, x));
    OK(perf->destroyPowerConfigId(id));
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    uint32_t id = new_id();
    config d = dcvs(), bad = vote((QnnHtpPerfInfrastructure_PowerConfigOption_t)99), ddr = VOTE(DDR_PERF_MODE);
    FAILS(UNSUPPORTED, set2(id, &d, &bad));
    FAILS(INVALID, set(id, ddr)); /* the clock vote of the refused call was not taken */
    OK(perf->destroyPowerConfigId(id));
}

static void test_memory_config(void **state)
{
    (void)state;
    QnnHtpPerfInfrastructure_MemoryConfig_t grow = { .option = QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE,
                                                     .memGrowSizeConfig = 1 << 20 },
                                            bad = { .option = (QnnHtpPerfInfrastructure_MemoryConfigOption_t)7 };
    const QnnHtpPerfInfrastructure_MemoryConfig_t *list[] = { &grow, NULL }, *bads[] = { &bad, NULL };
    OK(perf->setMemoryConfig(0, 0, list));
    FAILS(INVALID, perf->setMemoryConfig(1, 0, list));
    FAILS(INVALID, perf->setMemoryConfig(0, 0, NULL));
    FAILS(UNSUPPORTED, perf->setMemoryConfig(0, 0, bads));
}

/* How often the caller of executions did something while it waited: event 30012 polled, 30013 slept. */
static uint64_t waited(const struct net *net, uint32_t type, unsigned times, bool until_seen)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < times && !(until_seen && sum); i++) {
        float x[AFFINE_N] = { 1 }, y[AFFINE_N];
        Qnn_Tensor_t in = WITH(net->x, x), out = WITH(net->y, y);
        Qnn_ProfileHandle_t p;
        uint32_t n;
        bool there = false;
        OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
        OK(q.graphExecute(net->graph, &in, 1, &out, 1, p, NULL));
        const struct event *e = profile_events(p, &n);
        for (uint32_t k = 0; k < n; k++) {
            there |= e[k].data.type == type;
            sum += e[k].data.type == type ? e[k].data.value : 0;
        }
        assert_true(there);
        OK(q.profileFree(p));
    }
    return sum;
}

/* Polls under a vote, this thread and the session on different cores. */
static uint64_t polled_apart(const struct net *net, uint32_t type)
{
    cpu_set_t before;
    if (!apart_begin(&before))
        return 1;
    uint64_t polls = waited(net, type, 100000, true);
    apart_end(&before);
    return polls;
}

/* Callers poll under a vote and at no other time. */
static void test_vote_makes_callers_poll(void **state)
{
    (void)state;
    enum { POLLED = 30012, SLEPT = 30013 };
    struct net net;
    uint32_t id = new_id();
    config poll = VOTE(RPC_POLLING_TIME);
    poll.rpcPollingTimeConfig = 9999;
    env_setup(NULL);
    OK(net_affine(env.context, "net", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    assert_int_equal(waited(&net, POLLED, 100, false), 0);
    assert_true(waited(&net, SLEPT, 100000, true) > 0);
    OK(set(id, poll));
    assert_true(polled_apart(&net, POLLED) > 0);
    OK(perf->destroyPowerConfigId(id));
    assert_int_equal(waited(&net, POLLED, 100, false), 0);
    env_teardown(NULL);
}

/* ---- estimates -------------------------------------------------------------------------------------------------------- */

/* Two convolutions that the matrix unit computes, and something else in between, on a device of that SoC. */
struct simulated {
    Qnn_DeviceHandle_t device;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
};
enum { SIDE = 64, DEPTH = 64, ROOM = SIDE * SIDE * DEPTH };

static Qnn_Tensor_t created(const struct simulated *s, Qnn_Tensor_t t)
{
    OK(q.tensorCreateGraphTensor(s->graph, &t));
    return t;
}

static struct simulated simulate(uint32_t soc)
{
    static uint8_t weights[DEPTH * DEPTH];
    struct simulated s = { 0 };
    QnnHtpDevice_CustomConfig_t htp = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t c = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &htp };
    const QnnDevice_Config_t *list[] = { &c, NULL };

    OK(q.backendCreate(NULL, NULL, &s.backend));
    OK(q.deviceCreate(NULL, list, &s.device));
    OK(q.contextCreate(s.backend, s.device, NULL, &s.context));
    OK(q.graphCreate(s.context, "net", NULL, &s.graph));
    s.x = created(&s, tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, SIDE, SIDE, DEPTH), 0.5f, -128));
    s.y = created(&s, tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, SIDE, SIDE, DEPTH), 0.5f, -128));
    Qnn_Tensor_t a = created(&s, tensor_quant(TENSOR("a", NATIVE, UFIXED_POINT_8, 1, SIDE, SIDE, DEPTH), 0.5f, -128)),
                 b = created(&s, tensor_quant(TENSOR("b", NATIVE, UFIXED_POINT_8, 1, SIDE, SIDE, DEPTH), 1 / 256.f, 0));
    Qnn_Tensor_t w =
        created(&s, WITH(tensor_quant(TENSOR("w", STATIC, UFIXED_POINT_8, 1, 1, DEPTH, DEPTH), 0.5f, -128), weights));
    static uint32_t strides[] = { 1, 1 }, pads[] = { 0, 0, 0, 0 };
    struct op o = { .name = "conv", .type = "Conv2d", .ni = 2, .no = 1, .np = 2, .in = { s.x, w }, .out = { a } };
    struct op soft = { .name = "soft", .type = "Softmax", .ni = 1, .no = 1, .in = { a }, .out = { b } };
    o.p[0] = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_TENSOR, .name = "stride" };
    o.p[0].tensorParam = created(&s, WITH(TENSOR("stride", STATIC, UINT_32, 2), strides));
    o.p[1] = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_TENSOR, .name = "pad_amount" };
    o.p[1].tensorParam = created(&s, WITH(TENSOR("pad", STATIC, UINT_32, 2, 2), pads));
    OK(op_add(s.graph, &o));
    OK(op_add(s.graph, &soft));
    o.name = "again";
    o.in[0] = b;
    o.out[0] = s.y;
    OK(op_add(s.graph, &o));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    return s;
}

static void simulated_free(struct simulated *s)
{
    OK(q.contextFree(s->context, NULL));
    OK(q.deviceFree(s->device));
    OK(q.backendFree(s->backend));
}

/* The value of an event of one execution; UINT64_MAX: there is none. */
static uint64_t event_of(const struct simulated *s, uint32_t type, char *ret_name)
{
    static uint8_t x[ROOM], y[ROOM];
    Qnn_Tensor_t in = WITH(s->x, x), out = WITH(s->y, y);
    Qnn_ProfileHandle_t p;

    OK(q.profileCreate(s->backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(q.graphExecute(s->graph, &in, 1, &out, 1, p, NULL));
    const struct event *e = profile_find(p, type);
    uint64_t value = e ? e->data.value : UINT64_MAX;
    if (ret_name)
        snprintf(ret_name, 256, "%s", e ? e->data.identifier : "");
    OK(q.profileFree(p));
    return value;
}

static config fastest(void)
{
    config c = dcvs();
    c.dcvsV3Config.coreVoltageCornerMin = c.dcvsV3Config.coreVoltageCornerTarget = c.dcvsV3Config.coreVoltageCornerMax =
        c.dcvsV3Config.busVoltageCornerMin = c.dcvsV3Config.busVoltageCornerTarget = c.dcvsV3Config.busVoltageCornerMax =
            DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER;
    return c;
}

static config matrix_at(QnnHtpPerfInfrastructure_ExpVoltageCorner_t corner, QnnHtpPerfInfrastructure_ClkPerfMode_t mode)
{
    config c = VOTE(HMX_V2);
    c.hmxV2Config = (QnnHtpPerfInfrastructure_HmxV2_t){ 0, corner, corner, corner, mode };
    return c;
}

/* The matrix unit has a clock of its own, and the core's without a vote. */
static void test_matrix_clock(void **state)
{
    (void)state;
    enum { ESTIMATE = 30005, SM8650 = 57 };
    struct simulated s = simulate(SM8650);
    uint32_t id = new_id();
    config core = fastest(), slow = matrix_at(DCVS_EXP_VCORNER_MIN, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH),
           high = matrix_at(DCVS_EXP_VCORNER_NOM, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH),
           low = matrix_at(DCVS_EXP_VCORNER_NOM, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW);
    char name[256];

    OK(set(id, core));
    uint64_t full = event_of(&s, ESTIMATE, name);
    assert_null(strstr(name, "matrix unit"));
    OK(set(id, slow));
    uint64_t slowest = event_of(&s, ESTIMATE, name);
    assert_non_null(strstr(name, "1770 MHz, matrix unit at 531 MHz"));
    OK(set(id, high));
    uint64_t at_high = event_of(&s, ESTIMATE, NULL);
    OK(set(id, low));
    uint64_t at_low = event_of(&s, ESTIMATE, NULL);
    print_message("estimated us: %u, %u, %u, %u\n", (unsigned)full, (unsigned)at_high, (unsigned)at_low, (unsigned)slowest);
    assert_true(full > 0 && full < at_high && at_high < at_low && at_low < slowest);

    low.hmxV2Config.hmxPickDefault = 1;
    OK(set(id, low));
    assert_int_equal(event_of(&s, ESTIMATE, NULL), full);
    OK(perf->destroyPowerConfigId(id));
    simulated_free(&s);
    use_soc(43);
}

/* Devices of two architectures in one process: each has its sessions, at the same time and one after the other. */
static void test_two_architectures(void **state)
{
    (void)state;
    static uint8_t x[ROOM], y[2][ROOM];
    struct simulated a = simulate(43), b = simulate(57), c;

    for (int i = 0; i < ROOM; i++)
        x[i] = (uint8_t)(i * 7);
    for (int round = 0; round < 2; round++) {
        Qnn_Tensor_t in_a = WITH(a.x, x), out_a = WITH(a.y, y[0]), in_b = WITH(b.x, x), out_b = WITH(b.y, y[1]);
        memset(y, round, sizeof y);
        OK(q.graphExecute(a.graph, &in_a, 1, &out_a, 1, NULL, NULL));
        OK(q.graphExecute(b.graph, &in_b, 1, &out_b, 1, NULL, NULL));
        assert_memory_equal(y[0], y[1], ROOM);
    }
    simulated_free(&a);
    c = simulate(69);
    simulated_free(&b);
    simulated_free(&c);
    a = simulate(43);
    simulated_free(&a);
}

/* The device sleeps as deep as every vote allows. */
static void test_wake_up(void **state)
{
    (void)state;
    enum { WAKE_UP = 30018, SM8550 = 43 };
    struct simulated s = simulate(SM8550);
    uint32_t a = new_id(), b = new_id();
    config c = dcvs();

    assert_true(event_of(&s, WAKE_UP, NULL) == UINT64_MAX);
    c.dcvsV3Config.sleepLatency = 1000;
    OK(set(a, c));
    assert_int_equal(event_of(&s, WAKE_UP, NULL), 1000);
    c.dcvsV3Config.sleepLatency = 70;
    OK(set(b, c));
    assert_int_equal(event_of(&s, WAKE_UP, NULL), 70);
    c.dcvsV3Config.setSleepDisable = c.dcvsV3Config.sleepDisable = 1;
    OK(set(b, c));
    assert_int_equal(event_of(&s, WAKE_UP, NULL), 0);
    c.dcvsV3Config.sleepDisable = 0;
    OK(set(b, c));
    assert_int_equal(event_of(&s, WAKE_UP, NULL), 70);
    OK(perf->destroyPowerConfigId(b));
    assert_int_equal(event_of(&s, WAKE_UP, NULL), 1000);
    OK(perf->destroyPowerConfigId(a));
    simulated_free(&s);
}

/* The matrix unit is switched off when it had nothing to do for long enough. */
static void test_matrix_timeout(void **state)
{
    (void)state;
    enum { POWER_UPS = 30021 };
    struct simulated s = simulate(43);
    uint32_t id = new_id();
    config c = VOTE(HMX_TIMEOUT_INTERVAL_US);

    assert_true(event_of(&s, POWER_UPS, NULL) == UINT64_MAX);
    c.hmxTimeoutIntervalUsConfig = 1;
    OK(set(id, c));
    assert_int_equal(event_of(&s, POWER_UPS, NULL), 1);
    c.hmxTimeoutIntervalUsConfig = 300000;
    OK(set(id, c));
    assert_int_equal(event_of(&s, POWER_UPS, NULL), 0);
    OK(perf->destroyPowerConfigId(id));
    simulated_free(&s);
}

/* A vote for the latency of calls makes callers sleep a short time at once, as often as it takes: a chain of a million
 * numbers takes milliseconds, and without the vote a caller sleeps 20 ms at once. */
static void test_latency_shortens_naps(void **state)
{
    (void)state;
    enum { SLEPT = 30013, RUNS = 5, CHAIN = 16, NUMBERS = 1 << 20 };
    static float x[NUMBERS], y[NUMBERS];
    struct net net;
    uint32_t id = new_id();
    config latency = VOTE(RPC_CONTROL_LATENCY);
    uint64_t slept[2] = { 0 };

    env_setup(NULL);
    OK(net_chain(env.context, "net", CHAIN, NUMBERS, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    latency.rpcControlLatencyConfig = 50;
    for (int voted = 0; voted < 2; voted++) {
        if (voted)
            OK(set(id, latency));
        for (int i = 0; i < RUNS; i++) {
            Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
            Qnn_ProfileHandle_t p;

            OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
            OK(q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL));
            slept[voted] += profile_find(p, SLEPT)->data.value;
            OK(q.profileFree(p));
        }
    }
    print_message("slept %llu times, with the vote %llu times\n", (unsigned long long)slept[0],
                  (unsigned long long)slept[1]);
    assert_true(slept[1] > 2 * slept[0]);
    OK(perf->destroyPowerConfigId(id));
    env_teardown(NULL);
}

/* The structure names an id, too: another one than that of the call is a mistake. */
static void test_foreign_context(void **state)
{
    (void)state;
    uint32_t id = new_id(), other = new_id();
    config c = dcvs();

    c.dcvsV3Config.contextId = id;
    OK(set(id, c));
    c.dcvsV3Config.contextId = other;
    OK(set(id, c)); /* with a warning */
    setenv("OPENQNN_STRICT", "1", 1);
    FAILS_SAYING(INVALID, "contextId", set(id, c));
    c.dcvsV3Config.contextId = 0;
    OK(set(id, c));
    unsetenv("OPENQNN_STRICT");
    OK(perf->destroyPowerConfigId(other));
    OK(perf->destroyPowerConfigId(id));
}

/* Votes are in a detailed profile of what runs under them. */
static void test_in_profile(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p;
    struct net net;
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    uint32_t id = new_id(), n;
    const QnnProfile_EventId_t *ids;
    bool seen = false;
    config poll = VOTE(RPC_POLLING_TIME), d = dcvs();
    poll.rpcPollingTimeConfig = 123;
    OK(set2(id, &d, &poll));
    env_setup(NULL);
    OK(net_affine(env.context, "net", 2, 1, &net));
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL));
    OK(q.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        OK(q.profileGetEventData(ids[i], &e));
        seen |= strstr(e.identifier, "polling 123 us") != NULL;
    }
    assert_true(seen);
    env_teardown(NULL);
    OK(perf->destroyPowerConfigId(id));
}

static char heard[4096];

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t when, va_list ap)
{
    (void)level;
    (void)when;
    size_t n = strlen(heard);
    vsnprintf(heard + n, sizeof heard - n, fmt, ap);
}

/* ... and in the log, in the words that clients look for; every message begins with the name of the backend and a letter for
 * its level. */
static void test_in_log(void **state)
{
    (void)state;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    uint32_t id = new_id();
    config d = dcvs();
    char min[64];
    OK(q.logCreate(listen, QNN_LOG_LEVEL_VERBOSE, &log));
    OK(q.backendCreate(log, NULL, &backend));
    assert_memory_equal(heard, "QnnDsp <I> ", 11);
    heard[0] = 0;
    OK(set(id, d));
    snprintf(min, sizeof min, "coreVoltageCornerMin %u,", (unsigned)d.dcvsV3Config.coreVoltageCornerMin);
    assert_memory_equal(heard, "QnnDsp <V> ", 11);
    assert_non_null(strstr(heard, min));
    heard[0] = 0;
    OK(q.logSetLogLevel(log, QNN_LOG_LEVEL_INFO));
    OK(set(id, d));
    assert_string_equal(heard, "");
    OK(q.backendFree(backend));
    OK(q.logFree(log));
    OK(perf->destroyPowerConfigId(id));
}

static int setup(void **state)
{
    (void)state;
    QnnDevice_Infrastructure_t infra = NULL;
    lib_open();
    OK(q.deviceGetInfrastructure(&infra));
    assert_int_equal(infra->infraType, QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF);
    perf = &infra->perfInfra;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lib_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_id_without_asking),
        cmocka_unit_test(test_vote_makes_callers_poll),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_clock_votes),
        cmocka_unit_test(test_polling),
        cmocka_unit_test(test_matrix_unit),
        cmocka_unit_test(test_finer_corners),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_memory_config),
        cmocka_unit_test(test_in_profile),
        cmocka_unit_test(test_matrix_clock),
        cmocka_unit_test(test_wake_up),
        cmocka_unit_test(test_latency_shortens_naps),
        cmocka_unit_test(test_matrix_timeout),
        cmocka_unit_test(test_two_architectures),
        cmocka_unit_test(test_foreign_context),
        cmocka_unit_test(test_in_log),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

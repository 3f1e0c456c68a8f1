/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of libQnnHtp.so: the events of each stage by type and name, times that nest, and no host time under the name of
 * cycles. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpPerfInfrastructure.h>
#include <QNN/HTP/QnnHtpProfile.h>

static Qnn_ProfileHandle_t profile;

static int setup(void **state)
{
    return env_setup(state) || q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &profile) != QNN_SUCCESS;
}

static uint64_t event(uint32_t type, const char *name, uint32_t unit)
{
    const struct event *e = profile_find(profile, type);
    if (!e)
        fail_msg("no event of type %u (%s)", type, name);
    assert_string_equal(e->data.identifier, name);
    assert_int_equal(e->data.unit, unit);
    return e->data.value;
}
#define US(type, name) event(QNN_HTP_PROFILE_EVENTTYPE_##type, name, QNN_PROFILE_EVENTUNIT_MICROSEC)

#define CYCLES(type, name) event(QNN_HTP_PROFILE_EVENTTYPE_##type, name, QNN_PROFILE_EVENTUNIT_CYCLES)

/* The sum over what lies below the estimate of an execution. */
static uint64_t node_cycles(void)
{
    uint64_t sum = 0;
    uint32_t n;
    bool said = false;
    const struct event *e = profile_events(profile, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool cycles = e[i].data.unit == QNN_PROFILE_EVENTUNIT_CYCLES;
        said |= e[i].data.type == 30020 && strstr(e[i].data.identifier, "All cycles are estimated for SM8550 (HTP v73)");
        if (cycles)
            assert_true(said); /* before the first one */
        sum += cycles && e[i].depth && e[i].data.type == QNN_PROFILE_EVENTTYPE_NODE ? e[i].data.value : 0;
    }
    return sum;
}

static void test_stages(void **state)
{
    (void)state;
    static char bytes[65536];
    uint64_t size;
    struct net n;
    Qnn_ContextHandle_t c;
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    OK(net_affine(env.context, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, profile, NULL));
    uint64_t rpc = US(GRAPH_FINALIZE_HOST_RPC_TIME_MICROSEC, "RPC (finalize) time");
    assert_true(US(GRAPH_FINALIZE_HTP_RPC_TIME_MICROSEC, "QNN accelerator (finalize) time") <= rpc);
    Qnn_Tensor_t in = WITH(n.x, x), out = WITH(n.y, y);
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
    uint64_t whole = event(QNN_PROFILE_EVENTTYPE_EXECUTE, "QNN (execute) time", QNN_PROFILE_EVENTUNIT_MICROSEC);
    rpc = US(GRAPH_EXECUTE_HOST_RPC_TIME_MICROSEC, "RPC (execute) time");
    uint64_t worker = US(GRAPH_EXECUTE_HTP_RPC_TIME_MICROSEC, "QNN accelerator (execute) time"),
             accel = US(GRAPH_EXECUTE_ACCEL_TIME_MICROSEC, "Accelerator (execute) time");
    US(GRAPH_EXECUTE_RESOURCE_POWER_UP_TIME, "Time for HVX + HMX power on and acquire");
    assert_true(accel <= worker + 1 && worker <= rpc + 1 && rpc <= whole + 1); /* each rounded on its own */
    assert_int_equal(event(QNN_HTP_PROFILE_EVENTTYPE_GRAPH_NUMBER_OF_HVX_THREADS, "Number of HVX threads used",
                           QNN_PROFILE_EVENTUNIT_COUNT),
                     4);
    event(QNN_PROFILE_EVENTTYPE_NODE, "net_times:OpId_0 (us)", QNN_PROFILE_EVENTUNIT_MICROSEC);
    OK(q.contextGetBinary(env.context, bytes, sizeof bytes, &size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &c, profile));
    US(CONTEXT_LOAD_BIN_HOST_RPC_TIME_MICROSEC, "RPC (load binary) time");
    US(CONTEXT_LOAD_BIN_HTP_RPC_TIME_MICROSEC, "QNN accelerator (load binary) time");
    OK(q.contextFree(c, profile));
    US(GRAPH_DEINIT_HOST_RPC_TIME_MICROSEC, "RPC (deinit) time");
}

/* Estimates are the same whenever they are asked for: those of operators sum up to that of the graph, at finalize as at
 * execute, and bytes are those of the tensors. */
static void test_estimates(void **state)
{
    (void)state;
    struct net n;
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    OK(net_affine(env.context, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, profile, NULL));
    event(QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE, "Performance estimate", QNN_PROFILE_EVENTUNIT_NONE);
    uint64_t cycles = CYCLES(GRAPH_FINALIZE_PERF_ESTIMATE_SIM_EXEC_CYCLES, "Simulated execution (cycles, estimated)");
    assert_true(cycles > 0);
    assert_true(CYCLES(GRAPH_FINALIZE_PERF_ESTIMATE_SIM_EXEC_LOWER_CYCLES,
                       "Simulated execution, lower (cycles, estimated)") < cycles);
    assert_true(CYCLES(GRAPH_FINALIZE_PERF_ESTIMATE_SIM_EXEC_UPPER_CYCLES,
                       "Simulated execution, upper (cycles, estimated)") > cycles);
    assert_true(event(QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_INPUT_FILL, "Input fill (estimated)",
                      QNN_PROFILE_EVENTUNIT_BYTES) >= sizeof x / 2); /* float16 */
    assert_true(event(QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_OUTPUT_SPILL, "Output spill (estimated)",
                      QNN_PROFILE_EVENTUNIT_BYTES) >= sizeof y / 2);
    assert_int_equal(event(QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_INTERMEDIATE_SPILL,
                           "Intermediate spill (estimated)", QNN_PROFILE_EVENTUNIT_BYTES),
                     0);
    Qnn_Tensor_t in = WITH(n.x, x), out = WITH(n.y, y);
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
    assert_int_equal(CYCLES(GRAPH_EXECUTE_ACCEL_TIME_CYCLE, "Accelerator (execute) time (cycles)"), cycles);
    assert_int_equal(node_cycles(), cycles);
    assert_true(event(30007, "Bytes moved by DMA (inputs, estimated)", QNN_PROFILE_EVENTUNIT_BYTES) >= sizeof x / 2);
    assert_true(event(30008, "Bytes moved by DMA (outputs, estimated)", QNN_PROFILE_EVENTUNIT_BYTES) >= sizeof y / 2);
    assert_int_equal(event(30010, "Bytes moved by DMA (spill, estimated)", QNN_PROFILE_EVENTUNIT_BYTES), 0);
    uint64_t us = event(30005, "Accelerator (execute) time (estimated, at 1220 MHz)", QNN_PROFILE_EVENTUNIT_MICROSEC);
    Qnn_ProfileHandle_t basic;
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &basic));
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, basic, NULL));
    assert_non_null(profile_find(basic, 30005));
    assert_int_equal(profile_find(basic, 30005)->data.value, us);
    assert_null(profile_find(basic, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_TIME_CYCLE));
    OK(q.profileFree(basic));
    assert_true(us * 1220 <= cycles + 1220 && cycles <= us * 1220 + 1220);
}

/* The estimated time of a large sum while a clock is voted for. */
static uint64_t estimate_at(const struct net *n, QnnHtpPerfInfrastructure_VoltageCorner_t core,
                            QnnHtpPerfInfrastructure_VoltageCorner_t bus)
{
    enum { LARGE = 1 << 20 };
    static float x[LARGE], y[LARGE];
    QnnDevice_Infrastructure_t infrastructure = NULL;
    QnnHtpPerfInfrastructure_PowerConfig_t vote;
    const QnnHtpPerfInfrastructure_PowerConfig_t *votes[] = { &vote, NULL };
    Qnn_Tensor_t in = WITH(n->x, x), out = WITH(n->y, y);
    uint32_t id;

    memset(&vote, 0, sizeof vote);
    vote.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3;
    vote.dcvsV3Config.setCoreParams = vote.dcvsV3Config.setBusParams = 1;
    vote.dcvsV3Config.coreVoltageCornerMin = vote.dcvsV3Config.coreVoltageCornerTarget =
        vote.dcvsV3Config.coreVoltageCornerMax = core;
    vote.dcvsV3Config.busVoltageCornerMin = vote.dcvsV3Config.busVoltageCornerTarget =
        vote.dcvsV3Config.busVoltageCornerMax = bus;

    OK(q.deviceGetInfrastructure(&infrastructure));
    const QnnHtpDevice_PerfInfrastructure_t *perf = &((QnnHtpDevice_Infrastructure_t *)infrastructure)->perfInfra;
    OK(perf->createPowerConfigId(0, 0, &id));
    OK(perf->setPowerConfig(id, votes));
    OK(q.graphExecute(n->graph, &in, 1, &out, 1, profile, NULL));
    OK(perf->destroyPowerConfigId(id));
    const struct event *e = profile_find(profile, 30005);
    assert_non_null(e);
    return e->data.value;
}

/* Slower clocks make the estimate longer, and "disabled" is not the fastest. A slow bus counts where transfers take longer
 * than computing. */
static void test_estimate_follows_votes(void **state)
{
    (void)state;
    static const QnnHtpPerfInfrastructure_VoltageCorner_t falling[] = {
        DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER,
        DCVS_VOLTAGE_VCORNER_TURBO,
        DCVS_VOLTAGE_VCORNER_NOM_PLUS,
        DCVS_VOLTAGE_VCORNER_NOM,
        DCVS_VOLTAGE_VCORNER_SVS_PLUS,
        DCVS_VOLTAGE_VCORNER_SVS,
        DCVS_VOLTAGE_VCORNER_SVS2,
        DCVS_VOLTAGE_VCORNER_MIN_VOLTAGE_CORNER,
    };
    const QnnHtpPerfInfrastructure_VoltageCorner_t max = falling[0];
    const QnnHtpPerfInfrastructure_VoltageCorner_t min = falling[sizeof falling / sizeof falling[0] - 1];
    struct net n;
    uint64_t before = 0;

    OK(net_chain(env.context, "net", 1, 1 << 20, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    for (unsigned i = 0; i < sizeof falling / sizeof falling[0]; i++) {
        uint64_t us = estimate_at(&n, falling[i], max);

        assert_true(us > before);
        before = us;
    }
    assert_true(estimate_at(&n, DCVS_VOLTAGE_CORNER_DISABLE, max) >= before);
    assert_true(estimate_at(&n, max, min) > estimate_at(&n, max, max));
    assert_int_equal(estimate_at(&n, max, DCVS_VOLTAGE_CORNER_DISABLE), estimate_at(&n, max, min));
}

/* Clients look for the cycles among the events that a profile lists, and for operators right below them; the level that they
 * read is the first one. */
static void test_nesting(void **state)
{
    (void)state;
    struct net n;
    uint32_t count, nodes = 0;
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    OK(net_affine(env.context, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    Qnn_Tensor_t in = WITH(n.x, x), out = WITH(n.y, y);
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
    const struct event *e = profile_events(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        bool node = e[i].data.type == QNN_PROFILE_EVENTTYPE_NODE;
        bool part = e[i].data.type > 30040 && e[i].data.type <= 30050; /* of the call's time, below their sum */
        assert_int_equal(e[i].depth, node || part);
        nodes += node;
    }
    assert_int_equal(nodes, 4); /* two operators, each in time and in cycles */
    assert_int_equal(profile_find(profile, QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_TIME_CYCLE)->depth, 0);
}

/* Sanitizers bring a malloc that does not count. */
static bool inproc(void)
{
    const char *session = getenv("OPENQNN_SESSION");

    return (session && strcmp(session, "inproc") == 0) || getenv("ASAN_OPTIONS");
}

/* Bytes in sessions before the first context and after the last one. */
static void test_memory_profiling(void **state)
{
    (void)state;
    static char bytes[65536];
    uint64_t size;
    struct net n;
    Qnn_ContextHandle_t c;
    QnnHtpContext_CustomConfig_t htp = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_DSP_MEMORY_PROFILING_ENABLED,
                                         .dspMemoryProfilingEnabled = true };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &htp };
    const QnnContext_Config_t *list[] = { &custom, NULL };
    OK(net_affine(env.context, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(q.contextGetBinary(env.context, bytes, sizeof bytes, &size));
    OK(q.contextFree(env.context, NULL));
    OK(q.contextCreateFromBinary(env.backend, NULL, list, bytes, size, &c, profile));
    uint64_t before = event(30002, "DSP:before_context_created", QNN_PROFILE_EVENTUNIT_BYTES);
    OK(q.contextFree(c, NULL));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &c, NULL));
    OK(q.contextSetConfig(c, list)); /* also later */
    OK(q.contextFree(c, profile));
    uint64_t after = event(30003, "DSP:after_context_freed", QNN_PROFILE_EVENTUNIT_BYTES);
    if (!inproc()) { /* the process of the session uses memory of its own, and nothing of the context is left of it */
        assert_in_range(before, 1024, 64 << 20);
        assert_in_range(after, before, before + (64 << 10));
    }
}

/* A timeline is there when it is asked for, at the detailed level. */
static void test_optrace(void **state)
{
    (void)state;
    struct net n;
    float x[AFFINE_N] = { 1 }, y[AFFINE_N];
    QnnProfile_Config_t on = { .option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE, .enableOptrace = 1 };
    const QnnProfile_Config_t *config[] = { &on, NULL };
    assert_int_equal(q.propertyHasCapability(QNN_PROPERTY_PROFILE_SUPPORT_OPTRACE_CONFIG), QNN_PROPERTY_SUPPORTED);
    OK(net_affine(env.context, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, profile, NULL));
    Qnn_Tensor_t in = WITH(n.x, x), out = WITH(n.y, y);
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
    assert_null(profile_find(profile, QNN_PROFILE_EVENTTYPE_TRACE));
    OK(q.profileSetConfig(profile, config));
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
    assert_int_equal(event(QNN_PROFILE_EVENTTYPE_TRACE, "net_times:OpId_0 (begin, us)", QNN_PROFILE_EVENTUNIT_MICROSEC),
                     0); /* the first one */
    event(QNN_PROFILE_EVENTTYPE_NODE, "net_times:OpId_0 (us)", QNN_PROFILE_EVENTUNIT_MICROSEC);
}

static void test_linting(void **state)
{
    (void)state;
    Qnn_ProfileHandle_t p;
    OK(q.profileCreate(env.backend, QNN_HTP_PROFILE_LEVEL_LINTING, &p));
    OK(q.profileFree(p));
    FAILS(QNN_PROFILE_ERROR_UNSUPPORTED, q.profileCreate(env.backend, 7002, &p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stages, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_estimates, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_estimate_follows_votes, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_nesting, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_memory_profiling, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_optrace, setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_linting, setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

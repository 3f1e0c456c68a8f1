/* SPDX-License-Identifier: Apache-2.0 */
/* The performance infrastructure: the functions clients call through QnnDevice_getInfrastructure, and what their structures
 * mean. They do not pass api/, so they tell it themselves what they return. */
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpPerfInfrastructure.h>

#include "backend/htp/htp_backend.h"

static Qnn_ErrorHandle_t result(enum status st)
{
    uint32_t code = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_FAILED;
    if (st == ST_OK)
        return QNN_SUCCESS;
    if (st == ST_INVALID_ARG)
        code = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT;
    else if (st == ST_INVALID_HANDLE)
        code = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_HANDLE_PTR;
    else if (st == ST_NOT_SUPPORTED)
        code = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG;
    else if (st == ST_NO_MEMORY)
        code = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_MEM_ALLOC;
    if (backend_host.failed)
        backend_host.failed(code);
    return code;
}

/* ---- one function per kind of vote ------------------------------------------------------------------------------------ */

static enum status take_dcvs(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;
    const QnnHtpPerfInfrastructure_DcvsV3_t *d = &c->dcvsV3Config;

    v->clock = (struct htp_clock_vote){
        .active = d->setDcvsEnable || d->setSleepLatency || d->setSleepDisable || d->setBusParams || d->setCoreParams,
        .set_dcvs = d->setDcvsEnable,
        .dcvs = d->dcvsEnable,
        .mode = (uint32_t)d->powerMode,
        .set_latency = d->setSleepLatency,
        .latency_us = d->sleepLatency,
        .set_sleep_disable = d->setSleepDisable,
        .sleep_disable = d->sleepDisable,
        .set_bus = d->setBusParams,
        .bus = { (uint32_t)d->busVoltageCornerMin, (uint32_t)d->busVoltageCornerTarget, (uint32_t)d->busVoltageCornerMax },
        .set_core = d->setCoreParams,
        .core = { (uint32_t)d->coreVoltageCornerMin, (uint32_t)d->coreVoltageCornerTarget,
                  (uint32_t)d->coreVoltageCornerMax },
    };
    (void)option;
    return ST_OK;
}

static enum status take_dcvs_exp(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;
    const QnnHtpPerfInfrastructure_DcvsV3Exp_t *d = &c->dcvsV3ExpConfig;

    v->clock = (struct htp_clock_vote){
        .active = true,
        .exp = true,
        .mode = (uint32_t)d->powerMode,
        .set_latency = d->setSleepLatency,
        .latency_us = d->sleepLatency,
        .set_sleep_disable = d->setSleepDisable,
        .sleep_disable = d->sleepDisable,
        .set_bus = d->setBusParams,
        .bus = { (uint32_t)d->busVoltageCornerMin, (uint32_t)d->busVoltageCornerTarget, (uint32_t)d->busVoltageCornerMax },
        .set_core = d->setCoreParams,
        .core = { (uint32_t)d->coreVoltageCornerMin, (uint32_t)d->coreVoltageCornerTarget,
                  (uint32_t)d->coreVoltageCornerMax },
        .core_mode = (uint32_t)d->corePerfMode,
        .bus_mode = (uint32_t)d->busPerfMode,
    };
    (void)option;
    return ST_OK;
}

static enum status take_hmx(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;
    const QnnHtpPerfInfrastructure_HmxV2_t *h = &c->hmxV2Config;

    v->hmx = (struct htp_unit_vote){
        .active = true, .exp = true, .pick_default = h->hmxPickDefault, .mode = (uint32_t)h->hmxPerfMode,
        .v = { (uint32_t)h->hmxVoltageCornerMin, (uint32_t)h->hmxVoltageCornerTarget, (uint32_t)h->hmxVoltageCornerMax },
    };
    (void)option;
    return ST_OK;
}

static enum status take_ceng(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;
    const QnnHtpPerfInfrastructure_Ceng_t *e = &c->cengConfig;

    v->ceng = (struct htp_unit_vote){
        .active = true, .mode = (uint32_t)e->cengPerfMode,
        .v = { (uint32_t)e->cengVoltageCornerMin, (uint32_t)e->cengVoltageCornerTarget, (uint32_t)e->cengVoltageCornerMax },
    };
    htp_option_warn(&htp_power_options, option);
    return ST_OK;
}

static enum status take_ceng_exp(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;
    const QnnHtpPerfInfrastructure_CengExp_t *e = &c->cengExpConfig;

    v->ceng = (struct htp_unit_vote){
        .active = true, .exp = true, .mode = (uint32_t)e->cengPerfMode,
        .v = { (uint32_t)e->cengVoltageCornerMin, (uint32_t)e->cengVoltageCornerTarget, (uint32_t)e->cengVoltageCornerMax },
    };
    htp_option_warn(&htp_power_options, option);
    return ST_OK;
}

static enum status take_latency(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;

    v->rpc_latency_us = c->rpcControlLatencyConfig;
    v->latency_set = true;
    (void)option;
    return ST_OK;
}

static enum status take_polling(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;

    v->polling_us = c->rpcPollingTimeConfig;
    v->polling_set = true;
    (void)option;
    return ST_OK;
}

static enum status take_timeout(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;

    v->hmx_timeout_us = c->hmxTimeoutIntervalUsConfig;
    v->timeout_set = true;
    (void)option;
    return ST_OK;
}

static enum status take_adaptive(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;

    v->adaptive_us = c->adaptivePollingTimeConfig;
    v->adaptive_set = true;
    (void)option;
    return ST_OK;
}

static enum status take_ddr(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpPerfInfrastructure_PowerConfig_t *c = custom;
    struct htp_votes *v = settings;

    v->ddr_mode = c->ddrPerfModeConfig;
    v->ddr_set = true;
    if (c->ddrPerfModeConfig)
        htp_option_warn(&htp_power_options, option);
    return ST_OK;
}

/* ---- the tables ------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define OPTION(id, function, ...) { .number = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_##id, .name = #id, \
    .take = function, __VA_ARGS__ }
static const struct htp_option power_rows[] = {
    OPTION(DCVS_V3, take_dcvs, .test = "test_htp_votes.c: test_clock_votes, test_htp_profile.c: "
                                       "test_estimate_follows_votes, test_htp_votes.c: test_wake_up, "
                                       "test_htp_votes.c: test_foreign_context",
        .allowed = "power modes 1, 2, 4, 8, 16 and 32; sleep latency 10 to 65535 us; corners 0x10 to 0xa0, "
                   "least not above most",
        .effect = "the core corner scales the estimated time (30005), as does the bus corner where memory "
                  "is the limit; sleep latency and disable say how long the device may take to wake up (30018); other "
                  "votes hang on this one. A contextId of another id is ignored with a warning, or refused with "
                  "OPENQNN_STRICT"),
    OPTION(RPC_CONTROL_LATENCY, take_latency, .test = "test_htp_votes.c: test_latency_shortens_naps",
        .allowed = "microseconds, 0: none",
        .effect = "a caller that sleeps for the answer of its session does so for that long at a time (50 us at least), so "
                  "that the kernel keeps its core from deep sleep; the shortest vote counts, and 30013 has the number"),
    OPTION(RPC_POLLING_TIME, take_polling, .test = "test_htp_votes.c: test_polling",
        .allowed = "0 to 10000 us",
        .effect = "for that long a caller polls for the answer of its session before it sleeps (30012, 30013)"),
    OPTION(HMX_TIMEOUT_INTERVAL_US, take_timeout, .test = "test_htp_votes.c: test_matrix_timeout",
        .allowed = "microseconds, 0: none",
        .effect = "profiles tell how often the matrix unit would be off in the middle of a graph, because operators of "
                  "other units took that long by the estimate (30021); the longest vote counts, and what switching it on "
                  "takes is not known"),
    OPTION(HMX_V2, take_hmx, .arch = 75, .test = "test_htp_votes.c: test_matrix_unit, test_htp_votes.c: test_matrix_clock",
        .allowed = "default, or corners and clock mode 0 to 16 and 255, beside a clock vote of the same id",
        .effect = "operators of the matrix unit pass at its clock in the estimated time (30005); mode 1 (LOW) is the clock "
                  "of the corner below, and the other modes are the corner's"),
    OPTION(ADAPTIVE_POLLING_TIME, take_adaptive, .test = "test_htp_votes.c: test_polling",
        .allowed = "microseconds, beside a polling time of the same id",
        .effect = "callers of graphs that take at least that long begin to poll when the answer is about due"),
    OPTION(DDR_PERF_MODE, take_ddr, .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_power_told_once",
        .allowed = "a mode, beside a clock vote of the same id", .effect = "estimates have one bandwidth of DRAM"),
    OPTION(CENG, take_ceng, .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_power_told_once",
        .allowed = "corners and clock mode, beside a clock vote of the same id",
        .effect = "no compute engine besides vector and matrix units is simulated"),
    OPTION(DCVS_V3_EXP, take_dcvs_exp, .arch = 85, .test = "test_htp_votes.c: test_finer_corners",
        .allowed = "as DCVS_V3, with corners 0 and 0x100 to 0xffff; not beside votes of the older kind",
        .effect = "as DCVS_V3, and kept over the end of a session"),
    OPTION(CENG_EXP, take_ceng_exp, .arch = 85, .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: "
                                                                                  "test_power_told_once",
        .allowed = "as CENG, with corners 0 and 0x100 to 0xffff", .effect = "see CENG"),
};

static const struct htp_option memory_rows[] = {
    { .number = QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE, .name = "GROW_SIZE", .outcome = HTP_NO_EFFECT,
        .allowed = "bytes", .test = "test_htp_limits.c: test_power_told_once",
        .effect = "the memory of a session grows as it is needed, up to its address space" },
};
/* clang-format on */

enum { POWER_ROWS = sizeof power_rows / sizeof power_rows[0] };
static _Atomic bool power_warned[POWER_ROWS], memory_warned[1];
const struct htp_option_table htp_power_options = {
    .kind = "power",
    .prefix = "QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_",
    .rows = power_rows,
    .n = POWER_ROWS,
    .warned = power_warned,
};
const struct htp_option_table htp_memory_options = {
    .kind = "power memory",
    .prefix = "QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_",
    .rows = memory_rows,
    .n = 1,
    .warned = memory_warned,
};

/* ---- the functions ---------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t create_id(uint32_t deviceId, uint32_t coreId, uint32_t *powerConfigId)
{
    if (!powerConfigId)
        return result(status_fail(ST_INVALID_HANDLE, "powerConfigId is NULL; give a pointer that receives the id"));
    return result(htp_vote_id(deviceId, coreId, powerConfigId));
}

static Qnn_ErrorHandle_t destroy_id(uint32_t powerConfigId)
{
    return result(htp_vote_drop(powerConfigId));
}

/* The id is an argument of the call; the structure names it once more. */
static enum status check_context(uint32_t id, const QnnHtpPerfInfrastructure_PowerConfig_t *c)
{
    static _Atomic bool said;
    uint32_t named = 0;

    if (c->option == QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3)
        named = c->dcvsV3Config.contextId;
    if (c->option == QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3_EXP)
        named = c->dcvsV3ExpConfig.contextId;
    if (!named || named == id)
        return ST_OK;
    return htp_deviate(&said, ST_INVALID_ARG,
                       "a clock vote for power config %u has contextId %u; it counts for %u: set contextId to the id of the "
                       "call, or 0",
                       id, named, id);
}

static enum status set_power(uint32_t id, const QnnHtpPerfInfrastructure_PowerConfig_t **config)
{
    struct htp_votes v;
    RETURN_IF(!config, ST_INVALID_ARG, "config is NULL; give a NULL-terminated list");
    TRY(htp_vote_get(id, &v));
    for (; *config; config++) {
        uint32_t option = (uint32_t)(*config)->option;
        const struct htp_option *row = htp_option_find(&htp_power_options, option);

        RETURN_IF(!row, ST_NOT_SUPPORTED, "power option %u is unknown; 1 (DCVS_V3) to 10 (CENG_EXP) are known", option);
        TRY(check_context(id, *config));
        TRY(htp_option_take(&htp_power_options, row, *config, &v));
    }
    return htp_vote_set(id, &v);
}

static Qnn_ErrorHandle_t set_power_config(uint32_t powerConfigId, const QnnHtpPerfInfrastructure_PowerConfig_t **config)
{
    return result(set_power(powerConfigId, config));
}

static enum status set_memory(uint32_t device, uint32_t core, const QnnHtpPerfInfrastructure_MemoryConfig_t **config)
{
    RETURN_IF(!config, ST_INVALID_ARG, "config is NULL; give a NULL-terminated list");
    for (; *config; config++) {
        RETURN_IF((*config)->option != QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE, ST_NOT_SUPPORTED,
                  "memory option %u is unknown; 1 (GROW_SIZE) is known", (unsigned)(*config)->option);
        TRY(htp_vote_memory(device, core, (*config)->memGrowSizeConfig));
        htp_option_warn(&htp_memory_options, &memory_rows[0]);
    }
    return ST_OK;
}

static Qnn_ErrorHandle_t set_memory_config(uint32_t deviceId, uint32_t coreId,
                                           const QnnHtpPerfInfrastructure_MemoryConfig_t **config)
{
    return result(set_memory(deviceId, coreId, config));
}

void *htp_infrastructure(void)
{
    static QnnHtpDevice_Infrastructure_t infrastructure = {
        .infraType = QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF,
        .perfInfra = { .createPowerConfigId = create_id,
                       .destroyPowerConfigId = destroy_id,
                       .setPowerConfig = set_power_config,
                       .setMemoryConfig = set_memory_config },
    };
    return &infrastructure;
}

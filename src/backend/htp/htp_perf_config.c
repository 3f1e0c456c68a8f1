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

static void take_dcvs(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
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
}

static void take_dcvs_exp(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
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
}

static void take_hmx(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    const QnnHtpPerfInfrastructure_HmxV2_t *h = &c->hmxV2Config;
    v->hmx = (struct htp_unit_vote){
        .active = true, .exp = true, .pick_default = h->hmxPickDefault, .mode = (uint32_t)h->hmxPerfMode,
        .v = { (uint32_t)h->hmxVoltageCornerMin, (uint32_t)h->hmxVoltageCornerTarget, (uint32_t)h->hmxVoltageCornerMax },
    };
}

static void take_ceng(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    const QnnHtpPerfInfrastructure_Ceng_t *e = &c->cengConfig;
    v->ceng = (struct htp_unit_vote){
        .active = true, .mode = (uint32_t)e->cengPerfMode,
        .v = { (uint32_t)e->cengVoltageCornerMin, (uint32_t)e->cengVoltageCornerTarget, (uint32_t)e->cengVoltageCornerMax },
    };
}

static void take_ceng_exp(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    const QnnHtpPerfInfrastructure_CengExp_t *e = &c->cengExpConfig;
    v->ceng = (struct htp_unit_vote){
        .active = true, .exp = true, .mode = (uint32_t)e->cengPerfMode,
        .v = { (uint32_t)e->cengVoltageCornerMin, (uint32_t)e->cengVoltageCornerTarget, (uint32_t)e->cengVoltageCornerMax },
    };
}

static void take_latency(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    v->rpc_latency_us = c->rpcControlLatencyConfig;
    v->latency_set = true;
}

static void take_polling(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    v->polling_us = c->rpcPollingTimeConfig;
    v->polling_set = true;
}

static void take_timeout(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    v->hmx_timeout_us = c->hmxTimeoutIntervalUsConfig;
    v->timeout_set = true;
}

static void take_adaptive(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    v->adaptive_us = c->adaptivePollingTimeConfig;
    v->adaptive_set = true;
}

static void take_ddr(const QnnHtpPerfInfrastructure_PowerConfig_t *c, struct htp_votes *v)
{
    v->ddr_mode = c->ddrPerfModeConfig;
    v->ddr_set = true;
}

static void (*const takers[])(const QnnHtpPerfInfrastructure_PowerConfig_t *, struct htp_votes *) = {
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3] = take_dcvs,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY] = take_latency,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME] = take_polling,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US] = take_timeout,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2] = take_hmx,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_ADAPTIVE_POLLING_TIME] = take_adaptive,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE] = take_ddr,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG] = take_ceng,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3_EXP] = take_dcvs_exp,
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG_EXP] = take_ceng_exp,
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

static enum status set_power(uint32_t id, const QnnHtpPerfInfrastructure_PowerConfig_t **config)
{
    struct htp_votes v;
    RETURN_IF(!config, ST_INVALID_ARG, "config is NULL; give a NULL-terminated list");
    TRY(htp_vote_get(id, &v));
    for (; *config; config++) {
        uint32_t option = (uint32_t)(*config)->option;
        RETURN_IF(option >= sizeof takers / sizeof takers[0] || !takers[option], ST_NOT_SUPPORTED,
                  "power option %u is unknown; 1 (DCVS_V3) to 10 (CENG_EXP) are known", option);
        takers[option](*config, &v);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* What clients do on libQnnHtp.so beyond what they do everywhere. */
#include "client_htp.h"

static Qnn_DeviceHandle_t create(Qnn_LogHandle_t log, const QnnDevice_Config_t **config)
{
    Qnn_DeviceHandle_t d = NULL;
    MUST(qnn.deviceCreate(log, config, &d));
    CHECK(d);
    return d;
}

Qnn_DeviceHandle_t htp_device(Qnn_LogHandle_t log, uint32_t soc, QnnHtpDevice_Arch_t arch)
{
    QnnHtpDevice_CustomConfig_t s = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC },
                                a = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH },
                                pd = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD };
    QnnDevice_Config_t c[3] = { { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &s },
                                { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &a },
                                { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &pd } };
    const QnnDevice_Config_t *list[4] = { NULL };
    uint32_t n = 0;
    if (!client_on_htp())
        return NULL;
    CHECK(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE) == QNN_PROPERTY_SUPPORTED);
    s.socModel = soc;
    a.arch.arch = arch;
    if (soc)
        list[n++] = &c[0];
    if (arch)
        list[n++] = &c[1];
    list[n++] = &c[2];
    return create(log, list);
}

Qnn_DeviceHandle_t htp_device_from_platform(Qnn_LogHandle_t log, uint32_t soc, QnnHtpDevice_Arch_t arch)
{
    QnnHtpDevice_DeviceInfoExtension_t extension = {
        .devType = QNN_HTP_DEVICE_TYPE_ON_CHIP,
        .onChipDevice = { .vtcmSize = 8, .socModel = soc, .dlbcSupport = true, .arch = arch }
    };
    QnnDevice_CoreInfo_t core = { .version = QNN_DEVICE_CORE_INFO_VERSION_1, .v1 = { .coreId = 0, .coreType = 0 } };
    QnnDevice_HardwareDeviceInfo_t hardware = { .version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
                                                .v1 = { .numCores = 1, .cores = &core, .deviceInfoExtension = &extension } };
    QnnDevice_PlatformInfo_t platform = { .version = QNN_DEVICE_PLATFORM_INFO_VERSION_1, .v1 = { 1, &hardware } };
    QnnDevice_Config_t c = { .option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO, .hardwareInfo = &platform };
    const QnnDevice_Config_t *list[] = { &c, NULL };
    return client_on_htp() ? create(log, list) : NULL;
}

void htp_device_free(Qnn_DeviceHandle_t device)
{
    if (device)
        MUST(qnn.deviceFree(device));
}

/* ---- votes ------------------------------------------------------------------------------------------------------------ */

static QnnHtpDevice_PerfInfrastructure_t *perf(void)
{
    QnnDevice_Infrastructure_t infra = NULL;
    MUST(qnn.deviceGetInfrastructure(&infra));
    CHECK(infra && infra->infraType == QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF);
    return &infra->perfInfra;
}

uint32_t htp_power_on(void)
{
    uint32_t id = 0;
    if (!client_on_htp())
        return 0;
    MUST(perf()->createPowerConfigId(0, 0, &id));
    CHECK(id);
    return id;
}

void htp_power_set(uint32_t id, bool high)
{
    QnnHtpPerfInfrastructure_VoltageCorner_t corner =
        high ? DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER : DCVS_VOLTAGE_VCORNER_SVS;
    QnnHtpPerfInfrastructure_PowerConfig_t
        latency = { .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY,
                    .rpcControlLatencyConfig = 100 },
        polling = { .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME,
                    .rpcPollingTimeConfig = high ? 9999 : 0 },
        dcvs = { .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3 };
    dcvs.dcvsV3Config = (QnnHtpPerfInfrastructure_DcvsV3_t){
        .contextId = id,
        .setDcvsEnable = 1,
        .dcvsEnable = !high,
        .powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
        .setSleepLatency = 1,
        .sleepLatency = high ? 40 : 1000,
        .setSleepDisable = 1,
        .sleepDisable = high,
        .setBusParams = 1,
        .busVoltageCornerMin = corner,
        .busVoltageCornerTarget = corner,
        .busVoltageCornerMax = corner,
        .setCoreParams = 1,
        .coreVoltageCornerMin = corner,
        .coreVoltageCornerTarget = corner,
        .coreVoltageCornerMax = corner,
    };
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = { &dcvs, &latency, &polling, NULL };
    if (client_on_htp())
        MUST(perf()->setPowerConfig(id, list));
}

void htp_power_off(uint32_t id)
{
    if (client_on_htp())
        MUST(perf()->destroyPowerConfigId(id));
}

/* ---- configs and blobs ------------------------------------------------------------------------------------------------ */

const QnnGraph_Config_t **htp_graph_config(const QnnHtpGraph_CustomConfig_t *customs, uint32_t n)
{
    enum { MAX = 8 };
    static QnnHtpGraph_CustomConfig_t kept[MAX];
    static QnnGraph_Config_t configs[MAX];
    static const QnnGraph_Config_t *list[MAX + 1];
    CHECK(n <= MAX);
    for (uint32_t i = 0; i < n; i++) {
        kept[i] = customs[i];
        configs[i] = (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &kept[i] };
        list[i] = &configs[i];
    }
    list[n] = NULL;
    return client_on_htp() ? list : NULL;
}

void htp_check_blobs(const QnnSystemContext_BinaryInfo_t *info)
{
    if (!client_on_htp())
        return;
    CHECK(info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    const QnnHtpSystemContext_ContextBlobInfo_t *c = v->contextMetadata;
    CHECK(c->version == QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1 &&
          c->contextBinaryContextBlobInfoV1.dspArch >= 68);
    for (uint32_t i = 0; i < v->numGraphs; i++) {
        const QnnHtpSystemContext_GraphBlobInfo_t *g = v->graphs[i].graphInfoV3.graphBlobInfo;
        CHECK(g->version == QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1);
        CHECK(g->contextBinaryGraphBlobInfoV1.vtcmSize >= 1 && g->contextBinaryGraphBlobInfoV1.optimizationLevel >= 1);
        CHECK(g->contextBinaryGraphBlobInfoV1.numHvxThreads >= 1);
    }
}

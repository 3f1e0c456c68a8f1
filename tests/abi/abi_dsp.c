/* SPDX-License-Identifier: Apache-2.0 */
/* What clients rely on in the headers of the DSP backend. Written by hand: the facts beside the repository do not have this
 * family. */
#include "abi_assert.h"

#include "DSP/QnnDspBackend.h"
#include "DSP/QnnDspCommon.h"
#include "DSP/QnnDspContext.h"
#include "DSP/QnnDspDevice.h"
#include "DSP/QnnDspGraph.h"
#include "DSP/QnnDspOpPackage.h"
#include "DSP/QnnDspPerfInfrastructure.h"
#include "DSP/QnnDspProfile.h"
#include "DSP/QnnDspProperty.h"

VALUE(QNN_BACKEND_ID_DSP, 5) VALUE(QNN_DSP_API_VERSION_MAJOR, 5)

STRUCT(QnnDspBackend_CustomConfig_t, 8, 4) PLACE(QnnDspBackend_CustomConfig_t, arch, 4, 4)
PLACE(QnnDspBackend_CustomConfig_t, useSignedProcessDomain, 4, 1)
VALUE(QNN_DSP_BACKEND_CONFIG_OPTION_ARCH, 3) VALUE(QNN_DSP_BACKEND_DSP_ARCH_V66, 66)

STRUCT(QnnDspContext_CustomConfig_t, 8, 4) PLACE(QnnDspContext_CustomConfig_t, fileReadMemoryBudgetInMb, 4, 4)
VALUE(QNN_DSP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET, 10)
STRUCT(QnnDspSystemContext_ContextBlobInfo_t, 8, 4)

STRUCT(QnnDspGraph_OptimizationOption_t, 8, 4) STRUCT(QnnDspGraph_CustomConfig_t, 12, 4)
PLACE(QnnDspGraph_CustomConfig_t, encoding, 4, 4) PLACE(QnnDspGraph_CustomConfig_t, optimizationOption, 4, 8)
VALUE(QNN_DSP_GRAPH_CONFIG_OPTION_PRECISION, 4) VALUE(QNN_DSP_GRAPH_ENCODING_STATIC, 2)

STRUCT(QnnDspPerfInfrastructure_PowerConfig_t, 8, 4) STRUCT(QnnDspPerfInfrastructure_MemoryConfig_t, 8, 4)
STRUCT(QnnDspPerfInfrastructure_ThreadConfig_t, 8, 4)
PLACE(QnnDspPerfInfrastructure_PowerConfig_t, dcvsVoltageCornerMaxConfig, 4, 4)
VALUE(QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY, 9)
VALUE(QNN_DSP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE, 16) VALUE(DCVS_VOLTAGE_VCORNER_TURBO, 128)
VALUE(QNN_DSP_PERF_INFRASTRUCTURE_ERROR_FAILED, QNN_MIN_ERROR_PERF_INFRASTRUCTURE + 5)

STRUCT(QnnDspDevice_Infrastructure_t, 40, 8) PLACE(QnnDspDevice_Infrastructure_t, setThreadConfig, 32, 8)
TYPE(QnnDspPerfInfrastructure_SetPowerConfigFn_t,
     Qnn_ErrorHandle_t (*)(uint32_t, const QnnDspPerfInfrastructure_PowerConfig_t **))
TYPE(QnnDspPerfInfrastructure_CreatePowerConfigIdFn_t, Qnn_ErrorHandle_t (*)(uint32_t *))
TYPE(QnnDevice_Infrastructure_t, QnnDspDevice_Infrastructure_t *)

VALUE(QNN_DSP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_RESOURCE_POWER_UP_TIME, 3011)
VALUE(QNN_DSP_PROFILE_EVENTTYPE_GRAPH_DEINIT_ACCEL_TIME_MICROSEC, 4003)

int main(void)
{
    STRING(QNN_DSP_INTERFACE_PROVIDER_NAME, "DSP_QTI_AISW")
    INIT(QnnDspGraph_CustomConfig_t, QNN_DSP_GRAPH_CUSTOM_CONFIG_INIT, IS(option, 0x7FFFFFFF)
         REAL(optimizationOption.floatValue, 0))
    INIT(QnnDspBackend_CustomConfig_t, QNN_DSP_BACKEND_CUSTOM_CONFIG_INIT, IS(option, 0x7FFFFFFF))
    INIT(QnnDspContext_CustomConfig_t, QNN_DSP_CONTEXT_CUSTOM_CONFIG_INIT, ZERO(fileReadMemoryBudgetInMb))
    INIT(QnnDspPerfInfrastructure_PowerConfig_t, QNN_DSP_PERF_INFRASTRUCTURE_POWER_CONFIG_INIT, ZERO(dcvsEnableConfig))
    INIT(QnnDspPerfInfrastructure_MemoryConfig_t, QNN_DSP_PERF_INFRASTRUCTURE_MEMORY_CONFIG_INIT, ZERO(memGrowSizeConfig))
    INIT(QnnDspPerfInfrastructure_ThreadConfig_t, QNN_DSP_PERF_INFRASTRUCTURE_THREAD_CONFIG_INIT, ZERO(numHvxThreads))
    INIT(QnnDspDevice_Infrastructure_t, QNN_DSP_DEVICE_INFRASTRUCTURE_INIT, ZERO(setPowerConfig))
    return abi_result("abi_dsp.c");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as programs write that follow the public documents: where these call a member otherwise than the headers do, both
 * names are the same place. Compiled as C and as C++ (abi_cxx.cpp). */
#include "abi_assert.h"

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "QnnContext.h"

#define SAME_PLACE(type, a, b)                                       \
    ABI_STATIC(offsetof(type, a) == offsetof(type, b), #type "." #a) \
    ABI_STATIC(ABI_SAME(ABI_TYPEOF(((type *)0)->a), ABI_TYPEOF(((type *)0)->b)), #type "." #a " type")

SAME_PLACE(QnnHtpContext_CustomConfig_t, ioMemoryEstimation, ioMemEstimation)
SAME_PLACE(QnnContext_Config_t, memoryLimitHintConfig, memoryLimitHint)

static int failures;

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    printf("document_names.c: %s\n", what);
    failures++;
}

static void context_settings(void)
{
    QnnHtpContext_CustomConfig_t estimation = QNN_HTP_CONTEXT_CUSTOM_CONFIG_INIT;
    QnnHtpContext_CustomConfig_t group = QNN_HTP_CONTEXT_CUSTOM_CONFIG_INIT;
    QnnHtpContext_CustomConfig_t shared = QNN_HTP_CONTEXT_CUSTOM_CONFIG_INIT;
    QnnContext_Config_t hint = QNN_CONTEXT_CONFIG_INIT;

    estimation.option = QNN_HTP_CONTEXT_CONFIG_OPTION_IO_MEM_ESTIMATION;
    estimation.ioMemoryEstimation = true;
    expect(estimation.ioMemEstimation, "ioMemoryEstimation is ioMemEstimation");

    hint.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT;
    hint.memoryLimitHintConfig = UINT64_C(1) << 40;
    expect(hint.memoryLimitHint == UINT64_C(1) << 40, "memoryLimitHintConfig is memoryLimitHint");

    group.option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING;
    group.concurrentGroupRegistration.firstGroupHandle = 0x0;
    group.concurrentGroupRegistration.maxSpillFillBuffer = 4096;
    shared.option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE;
    shared.shareResOptType = SEQUENTIAL_WITH_VA_OPTIMIZATION;
    expect(group.groupRegistration.maxSpillFillBuffer == 4096, "both kinds of groups look alike");
    expect(shared.shareResOptType == SEQUENTIAL_WITH_VA_OPTIMIZATION, "a kind of sharing");
}

static void power_settings(void)
{
    QnnHtpPerfInfrastructure_PowerConfig_t clock, matrix;

    memset(&clock, 0, sizeof(clock));
    memset(&matrix, 0, sizeof(matrix));
    clock.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3;
    clock.dcvsV3Config.contextId = 7;
    clock.dcvsV3Config.powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE;
    clock.dcvsV3Config.busVoltageCornerTarget = DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER;
    matrix.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2;
    matrix.hmxV2Config.hmxPickDefault = 0;
    matrix.hmxV2Config.hmxVoltageCornerTarget = DCVS_EXP_VCORNER_TUR;
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = { &clock, &matrix, NULL };
    expect(list[0]->dcvsV3Config.contextId == 7 && !list[1]->hmxV2Config.hmxPickDefault, "votes of one call");
}

/* What the documents call the on-chip extension of a device's information is a structure, not an option. */
static void device_settings(void)
{
    QnnHtpDevice_DeviceInfoExtension_t device;

    memset(&device, 0, sizeof(device));
    device.devType = QNN_HTP_DEVICE_TYPE_ON_CHIP;
    device.onChipDevice.vtcmSize = 8;
    device.onChipDevice.socModel = 43;
    device.onChipDevice.arch = QNN_HTP_DEVICE_ARCH_V73;
    expect(device.onChipDevice.socModel == 43, "an HTP that is part of the SoC");
}

int main(void)
{
    context_settings();
    power_settings();
    device_settings();
    return failures != 0;
}

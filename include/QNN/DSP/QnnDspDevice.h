/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspDevice.h: what QnnDevice_getInfrastructure gives for the DSP backend. */
#ifndef OPENQNN_QNNDSPDEVICE_H
#define OPENQNN_QNNDSPDEVICE_H

#include <stddef.h>

#include "../QnnDevice.h"
#include "QnnDspPerfInfrastructure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The opaque struct of QnnDevice.h is completed by the first backend's header that a client includes; in further headers
 * it has a tag of its own, so that any two can be used together. */
#ifndef QNN_DEVICE_INFRASTRUCTURE_IS_COMPLETE
#define QNN_DEVICE_INFRASTRUCTURE_IS_COMPLETE
#define QNN_DSP_DEVICE_INFRASTRUCTURE_TAG _QnnDevice_Infrastructure_t
#else
#define QNN_DSP_DEVICE_INFRASTRUCTURE_TAG _QnnDspDevice_Infrastructure_t
#endif

typedef struct QNN_DSP_DEVICE_INFRASTRUCTURE_TAG {
    QnnDspPerfInfrastructure_CreatePowerConfigIdFn_t createPowerConfigId;
    QnnDspPerfInfrastructure_DestroyPowerConfigIdFn_t destroyPowerConfigId;
    QnnDspPerfInfrastructure_SetPowerConfigFn_t setPowerConfig;
    QnnDspPerfInfrastructure_SetMemoryConfigFn_t setMemoryConfig;
    QnnDspPerfInfrastructure_SetThreadConfigFn_t setThreadConfig;
} QnnDspDevice_Infrastructure_t;

#define QNN_DSP_DEVICE_INFRASTRUCTURE_INIT {NULL, NULL, NULL, NULL, NULL}

#ifdef __cplusplus
}
#endif

#endif

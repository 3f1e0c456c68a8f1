/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiDevice.h: what the LPAI backend tells about its devices.
 * This header and the device headers of other backends cannot be included together: they define the
 * same struct tags. */
#ifndef OPENQNN_QNNLPAIDEVICE_H
#define OPENQNN_QNNLPAIDEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnDevice.h"
#include "QnnLpaiCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of this function are not published. The pointer is kept so that the table has its
 * size; it is null, and a client must not call it. */
typedef Qnn_ErrorHandle_t (*QnnLpaiPerfInfrastructure_SetPowerConfigFn_t)(void);

/* What QnnDevice_HardwareDeviceInfoV1_t::deviceInfoExtension points at. */
typedef struct _QnnDevice_DeviceInfoExtension_t {
    uint32_t socModel;
    uint32_t arch;
    uint32_t domainId;
    const char *domainName;
} QnnLpaiDevice_DeviceInfoExtension_t;

#define QNN_LPAI_DEVICE_INFO_EXTENSION_INIT {0, 0, 0, "adsp"}

/* Kinds of device functions. */
typedef enum {
    QNN_LPAI_DEVICE_INFRASTRUCTURE_TYPE_PERF    = 0,
    QNN_LPAI_DEVICE_INFRASTRUCTURE_TYPE_UNKNOWN = 0x7FFFFFFF
} QnnLpaiDevice_InfrastructureType_t;

/* What QnnDevice_getInfrastructure gives. */
typedef struct _QnnDevice_Infrastructure_t {
    QnnLpaiDevice_InfrastructureType_t infraType;
    union {
        QnnLpaiPerfInfrastructure_SetPowerConfigFn_t setPowerConfig;
    };
} QnnLpaiDevice_Infrastructure_t;

#define QNN_LPAI_DEVICE_INFRASTRUCTURE_INIT {QNN_LPAI_DEVICE_INFRASTRUCTURE_TYPE_UNKNOWN, {NULL}}

#ifdef __cplusplus
}
#endif

#endif

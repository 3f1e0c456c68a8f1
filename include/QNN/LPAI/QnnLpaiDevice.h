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

/* The opaque struct of QnnDevice.h is completed by the first backend's header that a client includes; in further headers
 * it has a tag of its own, so that any two can be used together. */
#ifndef QNN_DEVICE_INFO_EXTENSION_IS_COMPLETE
#define QNN_DEVICE_INFO_EXTENSION_IS_COMPLETE
#define QNN_LPAI_DEVICE_INFO_EXTENSION_TAG _QnnDevice_DeviceInfoExtension_t
#else
#define QNN_LPAI_DEVICE_INFO_EXTENSION_TAG _QnnLpaiDevice_DeviceInfoExtension_t
#endif

/* What QnnDevice_HardwareDeviceInfoV1_t::deviceInfoExtension points at. */
typedef struct QNN_LPAI_DEVICE_INFO_EXTENSION_TAG {
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

/* The opaque struct of QnnDevice.h is completed by the first backend's header that a client includes; in further headers
 * it has a tag of its own, so that any two can be used together. */
#ifndef QNN_DEVICE_INFRASTRUCTURE_IS_COMPLETE
#define QNN_DEVICE_INFRASTRUCTURE_IS_COMPLETE
#define QNN_LPAI_DEVICE_INFRASTRUCTURE_TAG _QnnDevice_Infrastructure_t
#else
#define QNN_LPAI_DEVICE_INFRASTRUCTURE_TAG _QnnLpaiDevice_Infrastructure_t
#endif

/* What QnnDevice_getInfrastructure gives. */
typedef struct QNN_LPAI_DEVICE_INFRASTRUCTURE_TAG {
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

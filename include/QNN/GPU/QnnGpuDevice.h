/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuDevice.h: what the GPU backend tells about its devices.
 * This header and the device headers of other backends cannot be included together: they define the
 * same struct tags. */
#ifndef OPENQNN_QNNGPUDEVICE_H
#define OPENQNN_QNNGPUDEVICE_H

#include <stddef.h>

#include "../QnnDevice.h"
#include "QnnGpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version 1 of the description. */
typedef struct {
    const char *adrenoTier;
} QnnGpuDevice_DeviceInfoExtensionV1_t;

/* Versions of the description. */
typedef enum {
    QNN_GPU_DEVICE_INFO_EXTENSION_V1                      = 0,
    QNN_GPU_DEVICE_INFO_EXTENSION_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF
} QnnGpuDevice_DeviceInfoExtensionConfigOption_t;

/* The opaque struct of QnnDevice.h is completed by the first backend's header that a client includes; in further headers
 * it has a tag of its own, so that any two can be used together. */
#ifndef QNN_DEVICE_INFO_EXTENSION_IS_COMPLETE
#define QNN_DEVICE_INFO_EXTENSION_IS_COMPLETE
#define QNN_GPU_DEVICE_INFO_EXTENSION_TAG _QnnDevice_DeviceInfoExtension_t
#else
#define QNN_GPU_DEVICE_INFO_EXTENSION_TAG _QnnGpuDevice_DeviceInfoExtension_t
#endif

/* What QnnDevice_HardwareDeviceInfoV1_t::deviceInfoExtension points at. */
typedef struct QNN_GPU_DEVICE_INFO_EXTENSION_TAG {
    QnnGpuDevice_DeviceInfoExtensionConfigOption_t option;
    union {
        QnnGpuDevice_DeviceInfoExtensionV1_t deviceInfoV1;
    };
} QnnGpuDevice_DeviceInfoExtension_t;

#define QNN_GPU_DEVICE_INFO_EXTENSION_INIT                              \
    {                                                                   \
        QNN_GPU_DEVICE_INFO_EXTENSION_CONFIG_OPTION_UNDEFINED, {{NULL}} \
    }

/* Which of the GPUs a device is. */
typedef enum {
    QNN_GPU_DEVICE_PRIMARY_GPU        = 0,
    QNN_GPU_DEVICE_SECONDARY_GPU      = 1,
    QNN_GPU_DEVICE_GPU_TYPE_UNDEFINED = 0x7FFFFFFF
} QnnGpuDevice_DeviceType_t;

#ifdef __cplusplus
}
#endif

#endif

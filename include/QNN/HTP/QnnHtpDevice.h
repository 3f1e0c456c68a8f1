/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpDevice.h: what the HTP backend tells about its devices, and its device functions.
 * QnnDevice_getInfrastructure gives a QnnHtpDevice_Infrastructure_t, whose functions vote for
 * clocks and power. This header and the device headers of other backends cannot be included
 * together: they define the same struct tags. */
#ifndef OPENQNN_QNNHTPDEVICE_H
#define OPENQNN_QNNHTPDEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnDevice.h"
#include "../QnnTypes.h"
#include "QnnHtpCommon.h"
#include "QnnHtpDeviceConfigShared.h"
#include "QnnHtpPerfInfrastructure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An HTP that is part of the SoC. */
typedef struct {
    size_t vtcmSize;  /* in megabytes */
    uint32_t socModel;
    bool signedPdSupport;
    bool dlbcSupport;  /* can compress data on its way to DDR */
    QnnHtpDevice_Arch_t arch;
} QnnHtpDevice_OnChipDeviceInfoExtension_t;

/* Where the HTP is. */
typedef enum {
    QNN_HTP_DEVICE_TYPE_ON_CHIP  = 0,
    QNN_HTP_DEVICE_TYPE_OFF_CHIP = 1,
    QNN_HTP_DEVICE_TYPE_UNKNOWN  = 0x7FFFFFFF
} QnnHtpDevice_DeviceType_t;

/* The opaque struct of QnnDevice.h is completed by the first backend's header that a client includes; in further headers
 * it has a tag of its own, so that any two can be used together. */
#ifndef QNN_DEVICE_INFO_EXTENSION_IS_COMPLETE
#define QNN_DEVICE_INFO_EXTENSION_IS_COMPLETE
#define QNN_HTP_DEVICE_INFO_EXTENSION_TAG _QnnDevice_DeviceInfoExtension_t
#else
#define QNN_HTP_DEVICE_INFO_EXTENSION_TAG _QnnHtpDevice_DeviceInfoExtension_t
#endif

/* What QnnDevice_HardwareDeviceInfoV1_t::deviceInfoExtension points at. */
typedef struct QNN_HTP_DEVICE_INFO_EXTENSION_TAG {
    QnnHtpDevice_DeviceType_t devType;
    union {
        QnnHtpDevice_OnChipDeviceInfoExtension_t onChipDevice;
    };
} QnnHtpDevice_DeviceInfoExtension_t;

/* The functions of QnnHtpPerfInfrastructure.h. */
typedef struct {
    QnnHtpPerfInfrastructure_CreatePowerConfigIdFn_t createPowerConfigId;
    QnnHtpPerfInfrastructure_DestroyPowerConfigIdFn_t destroyPowerConfigId;
    QnnHtpPerfInfrastructure_SetPowerConfigFn_t setPowerConfig;
    QnnHtpPerfInfrastructure_SetMemoryConfigFn_t setMemoryConfig;
} QnnHtpDevice_PerfInfrastructure_t;

#define QNN_HTP_DEVICE_PERF_INFRASTRUCTURE_INIT {NULL, NULL, NULL, NULL}

/* Kinds of device functions. */
typedef enum {
    QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF    = 0,
    QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_UNKNOWN = 0x7FFFFFFF
} QnnHtpDevice_InfrastructureType_t;

/* The opaque struct of QnnDevice.h is completed by the first backend's header that a client includes; in further headers
 * it has a tag of its own, so that any two can be used together. */
#ifndef QNN_DEVICE_INFRASTRUCTURE_IS_COMPLETE
#define QNN_DEVICE_INFRASTRUCTURE_IS_COMPLETE
#define QNN_HTP_DEVICE_INFRASTRUCTURE_TAG _QnnDevice_Infrastructure_t
#else
#define QNN_HTP_DEVICE_INFRASTRUCTURE_TAG _QnnHtpDevice_Infrastructure_t
#endif

/* What QnnDevice_getInfrastructure gives. */
typedef struct QNN_HTP_DEVICE_INFRASTRUCTURE_TAG {
    QnnHtpDevice_InfrastructureType_t infraType;
    union {
        QnnHtpDevice_PerfInfrastructure_t perfInfra;
    };
} QnnHtpDevice_Infrastructure_t;

/* Kinds of cores. */
typedef enum {
    QNN_HTP_CORE_TYPE_NSP     = 0,
    QNN_HTP_CORE_TYPE_HPASS   = 1,
    QNN_HTP_CORE_TYPE_MAX     = 2,
    QNN_HTP_CORE_TYPE_UNKNOWN = 0x7FFFFFFF
} QnnHtpDevice_CoreType_t;

#ifdef __cplusplus
}
#endif

#endif

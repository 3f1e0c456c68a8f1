/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDevice.h: which hardware there is and which part of it contexts use.
 * getPlatformInfo describes all devices and cores; create makes a handle for some of them; a
 * context is created on such a handle, or on the default device when the handle is null. A device
 * outlives its contexts. getInfrastructure gives a backend's further functions, for instance power
 * votes. */
#ifndef OPENQNN_QNNDEVICE_H
#define OPENQNN_QNNDEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ids that leave the choice to the backend. */
#define QNN_DEVICE_DEFAULT_DEVICE_ID 0xFFFFFFFFu
#define QNN_DEVICE_DEFAULT_CORE_ID   0xFFFFFFFFu

/* Result codes of QnnDevice functions. */
typedef enum {
    QNN_DEVICE_MIN_ERROR                   = QNN_MIN_ERROR_DEVICE,
    QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE   = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_DEVICE_ERROR_MEM_ALLOC             = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_DEVICE_ERROR_INVALID_ARGUMENT      = QNN_COMMON_ERROR_INVALID_ARGUMENT,
    QNN_DEVICE_ERROR_INVALID_HANDLE        = QNN_MIN_ERROR_DEVICE,
    QNN_DEVICE_ERROR_INVALID_CONFIG        = QNN_MIN_ERROR_DEVICE + 1,
    QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE  = QNN_MIN_ERROR_DEVICE + 2,
    QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT = QNN_MIN_ERROR_DEVICE + 3,
    QNN_DEVICE_ERROR_ACCESS_DENIED         = QNN_MIN_ERROR_DEVICE + 4,
    QNN_DEVICE_NO_ERROR                    = QNN_SUCCESS,
    QNN_DEVICE_MAX_ERROR                   = QNN_MAX_ERROR_DEVICE,
    QNN_DEVICE_ERROR_UNDEFINED             = 0x7FFFFFFF
} QnnDevice_Error_t;

/* A backend's further device functions; the struct is in its device header. */
typedef struct _QnnDevice_Infrastructure_t *QnnDevice_Infrastructure_t;

/* A backend's further facts on a core. */
typedef struct _QnnDevice_CoreInfoExtension_t *QnnDevice_CoreInfoExtension_t;

/* A backend's further facts on a device; the struct is in its device header. */
typedef struct _QnnDevice_DeviceInfoExtension_t *QnnDevice_DeviceInfoExtension_t;

/* Description of a core. */
typedef struct {
    uint32_t coreId;
    uint32_t coreType;
    QnnDevice_CoreInfoExtension_t coreInfoExtension;
} QnnDevice_CoreInfoV1_t;

#define QNN_DEVICE_CORE_INFO_V1_INIT {QNN_DEVICE_DEFAULT_CORE_ID, 0, NULL}

/* Versions of QnnDevice_CoreInfo_t. */
typedef enum {
    QNN_DEVICE_CORE_INFO_VERSION_1         = 1,
    QNN_DEVICE_CORE_INFO_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnDevice_CoreInfoVersion_t;

/* Versioned description of a core. */
typedef struct {
    QnnDevice_CoreInfoVersion_t version;
    union {
        QnnDevice_CoreInfoV1_t v1;
    };
} QnnDevice_CoreInfo_t;

#define QNN_DEVICE_CORE_INFO_INIT {QNN_DEVICE_CORE_INFO_VERSION_1, {QNN_DEVICE_CORE_INFO_V1_INIT}}

/* Description of a hardware device. */
typedef struct {
    uint32_t deviceId;
    uint32_t deviceType;
    uint32_t numCores;
    QnnDevice_CoreInfo_t *cores;
    QnnDevice_DeviceInfoExtension_t deviceInfoExtension;
} QnnDevice_HardwareDeviceInfoV1_t;

#define QNN_DEVICE_HARDWARE_DEVICE_INFO_V1_INIT {QNN_DEVICE_DEFAULT_DEVICE_ID, 0, 0, NULL, NULL}

/* Versions of QnnDevice_HardwareDeviceInfo_t. */
typedef enum {
    QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1         = 1,
    QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnDevice_HardwareDeviceInfoVersion_t;

/* Versioned description of a hardware device. */
typedef struct {
    QnnDevice_HardwareDeviceInfoVersion_t version;
    union {
        QnnDevice_HardwareDeviceInfoV1_t v1;
    };
} QnnDevice_HardwareDeviceInfo_t;

#define QNN_DEVICE_HARDWARE_DEVICE_INFO_INIT                                                 \
    {                                                                                        \
        QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1, {QNN_DEVICE_HARDWARE_DEVICE_INFO_V1_INIT} \
    }

/* Description of the platform. */
typedef struct {
    uint32_t numHwDevices;
    QnnDevice_HardwareDeviceInfo_t *hwDevices;
} QnnDevice_PlatformInfoV1_t;

#define QNN_DEVICE_PLATFORM_INFO_V1_INIT {0, NULL}

/* Versions of QnnDevice_PlatformInfo_t. */
typedef enum {
    QNN_DEVICE_PLATFORM_INFO_VERSION_1         = 1,
    QNN_DEVICE_PLATFORM_INFO_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnDevice_PlatformInfoVersion_t;

/* Versioned description of the platform. */
typedef struct {
    QnnDevice_PlatformInfoVersion_t version;
    union {
        QnnDevice_PlatformInfoV1_t v1;
    };
} QnnDevice_PlatformInfo_t;

#define QNN_DEVICE_PLATFORM_INFO_INIT                                          \
    {                                                                          \
        QNN_DEVICE_PLATFORM_INFO_VERSION_1, {QNN_DEVICE_PLATFORM_INFO_V1_INIT} \
    }

/* Which member of a QnnDevice_Config_t is used. */
typedef enum {
    QNN_DEVICE_CONFIG_OPTION_CUSTOM        = 0,
    QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO = 1,
    QNN_DEVICE_CONFIG_OPTION_UNDEFINED     = 0x7FFFFFFF
} QnnDevice_ConfigOption_t;

/* A backend's own config struct. */
typedef void *QnnDevice_CustomConfig_t;

/* One setting of a device. */
typedef struct {
    QnnDevice_ConfigOption_t option;
    union {
        QnnDevice_CustomConfig_t customConfig;
        QnnDevice_PlatformInfo_t *hardwareInfo;
    };
} QnnDevice_Config_t;

#define QNN_DEVICE_CONFIG_INIT {QNN_DEVICE_CONFIG_OPTION_UNDEFINED, {NULL}}

/* Describes the hardware. The description belongs to the library; release it with freePlatformInfo.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED_FEATURE, HARDWARE_UNAVAILABLE. */
QNN_API Qnn_ErrorHandle_t QnnDevice_getPlatformInfo(Qnn_LogHandle_t logger,
                                                    const QnnDevice_PlatformInfo_t **platformInfo);

/* Releases what getPlatformInfo gave. Error: INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnDevice_freePlatformInfo(Qnn_LogHandle_t logger,
                                                     const QnnDevice_PlatformInfo_t *platformInfo);

/* Gives the backend's further device functions; they stay valid while the library is loaded.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnDevice_getInfrastructure(const QnnDevice_Infrastructure_t *deviceInfra);

/* Creates a device handle; without config, for the default hardware. Errors: INVALID_CONFIG,
 * HARDWARE_UNAVAILABLE, ACCESS_DENIED, INVALID_ARGUMENT, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnDevice_create(Qnn_LogHandle_t logger,
                                           const QnnDevice_Config_t **config,
                                           Qnn_DeviceHandle_t *device);

/* Changes settings of a device. Errors: INVALID_HANDLE, INVALID_CONFIG, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnDevice_setConfig(Qnn_DeviceHandle_t device,
                                              const QnnDevice_Config_t **config);

/* Describes the hardware behind one handle; belongs to the library. Errors: INVALID_HANDLE,
 * INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnDevice_getInfo(Qnn_DeviceHandle_t device,
                                            const QnnDevice_PlatformInfo_t **platformInfo);

/* Frees a device that no context uses any more. Errors: INVALID_HANDLE, ASSOCIATED_TO_CONTEXT. */
QNN_API Qnn_ErrorHandle_t QnnDevice_free(Qnn_DeviceHandle_t device);

#ifdef __cplusplus
}
#endif

#endif

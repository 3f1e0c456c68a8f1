/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpDeviceConfigShared.h: settings of HTP devices, for QnnDevice_Config_t::customConfig. */
#ifndef OPENQNN_QNNHTPDEVICECONFIGSHARED_H
#define OPENQNN_QNNHTPDEVICECONFIGSHARED_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hexagon architectures. */
typedef enum {
    QNN_HTP_DEVICE_ARCH_NONE    = 0,
    QNN_HTP_DEVICE_ARCH_V68     = 68,
    QNN_HTP_DEVICE_ARCH_V69     = 69,
    QNN_HTP_DEVICE_ARCH_V73     = 73,
    QNN_HTP_DEVICE_ARCH_V75     = 75,
    QNN_HTP_DEVICE_ARCH_V79     = 79,
    QNN_HTP_DEVICE_ARCH_V81     = 81,
    QNN_HTP_DEVICE_ARCH_V85     = 85,
    QNN_HTP_DEVICE_ARCH_V89     = 89,
    QNN_HTP_DEVICE_ARCH_UNKNOWN = 0x7FFFFFFF
} QnnHtpDevice_Arch_t;

/* The architecture a device has at least. */
typedef struct {
    uint32_t deviceId;
    QnnHtpDevice_Arch_t arch;
} QnnHtpDevice_Minimum_Arch_t;

/* Whether sessions are signed. */
typedef struct {
    uint32_t deviceId;
    bool useSignedProcessDomain;
} QnnHtpDevice_UseSignedProcessDomain_t;

/* Whether sessions are secure. */
typedef struct {
    uint32_t deviceId;
    bool useSecureProcessDomain;
} QnnHtpDevice_UseSecureProcessDomain_t;

/* Whether executions may be queued. */
typedef struct {
    uint32_t deviceId;
    bool enableAsyncExecute;
} QnnHtpDevice_AsyncExecute_t;

/* Whether the hardware may be divided while running. */
typedef struct {
    uint32_t deviceId;
    bool useDynamicPartitioning;
} QnnHtpDevice_UseDynamicPartitioning_t;

/* Which setting a QnnHtpDevice_CustomConfig_t holds. */
typedef enum {
    QNN_HTP_DEVICE_CONFIG_OPTION_SOC                  = 0,
    QNN_HTP_DEVICE_CONFIG_OPTION_ARCH                 = 1,
    QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD             = 2,
    QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD             = 3,
    QNN_HTP_DEVICE_CONFIG_OPTION_ASYNC_EXECUTE        = 4,
    QNN_HTP_DEVICE_CONFIG_OPTION_DYNAMIC_PARTITIONING = 5,
    QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID              = 6,
    QNN_HTP_DEVICE_CONFIG_OPTION_HTP_EXTENSION        = 0x7FFF0000,
    QNN_HTP_DEVICE_CONFIG_OPTION_UNKNOWN              = 0x7FFFFFFF
} QnnHtpDevice_ConfigOption_t;

/* One HTP setting of a device. */
typedef struct {
    QnnHtpDevice_ConfigOption_t option;
    union {
        uint32_t socModel;
        QnnHtpDevice_Minimum_Arch_t arch;
        QnnHtpDevice_UseSignedProcessDomain_t useSignedProcessDomain;
        QnnHtpDevice_UseSecureProcessDomain_t useSecureProcessDomain;
        QnnHtpDevice_AsyncExecute_t asyncExecute;
        QnnHtpDevice_UseDynamicPartitioning_t useDynamicPartitioning;
        void *htpExtension;
        uint32_t appUid;
    };
} QnnHtpDevice_CustomConfig_t;

#ifdef __cplusplus
}
#endif

#endif

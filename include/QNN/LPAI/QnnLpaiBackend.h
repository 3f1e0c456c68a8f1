/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiBackend.h: settings and properties of the LPAI backend.
 * A config or property is a number and a pointer to what that number stands for; it travels in the
 * customConfig or customProperty of the core structs. */
#ifndef OPENQNN_QNNLPAIBACKEND_H
#define OPENQNN_QNNLPAIBACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnBackend.h"
#include "QnnLpaiCommon.h"
#include "QnnLpaiTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Start value of a QnnLpaiBackend_eNPUCoreNum_t. */
#define QNN_LPAI_BACKEND_ENPU_CORE_NUM_INIT 0

/* One LPAI setting of the backend: an option and the struct it names. */
typedef struct {
    uint32_t option;
    void *config;
} QnnLpaiBackend_CustomConfig_t;

#define QNN_LPAI_BACKEND_CUSTOM_CONFIG_INIT {QNN_LPAI_BACKEND_CUSTOM_CFG_UNDEFINED, NULL}

/* Where graphs will run. */
typedef enum {
    QNN_LPAI_BACKEND_TARGET_X86       = 0,
    QNN_LPAI_BACKEND_TARGET_ARM       = 1,
    QNN_LPAI_BACKEND_TARGET_ADSP      = 2,
    QNN_LPAI_BACKEND_TARGET_TENSILICA = 3,
    QNN_LPAI_BACKEND_TARGET_UNKNOWN   = 0x7FFFFFFF
} QnnLpaiBackend_Target_t;

/* Hardware versions; a minor version is in the upper 16 bits. */
typedef enum {
    QNN_LPAI_BACKEND_HW_VERSION_NA      = 0,
    QNN_LPAI_BACKEND_HW_VERSION_V1      = 1,
    QNN_LPAI_BACKEND_HW_VERSION_V2      = 2,
    QNN_LPAI_BACKEND_HW_VERSION_V3      = 3,
    QNN_LPAI_BACKEND_HW_VERSION_V4      = 4,
    QNN_LPAI_BACKEND_HW_VERSION_V5      = 5,
    QNN_LPAI_BACKEND_HW_VERSION_V5_1    = 65541,
    QNN_LPAI_BACKEND_HW_VERSION_V6      = 6,
    QNN_LPAI_BACKEND_HW_VERSION_V7      = 7,
    QNN_LPAI_BACKEND_HW_VERSION_DEFAULT = QNN_LPAI_BACKEND_HW_VERSION_V6,
    QNN_LPAI_BACKEND_HW_VERSION_UNKNOWN = 0x7FFFFFFF
} QnnLpaiBackend_HwVersion_t;

/* The hardware to compile for. */
typedef struct {
    QnnLpaiBackend_Target_t lpaiTarget;
    QnnLpaiBackend_HwVersion_t hwVersion;
} QnnLpaiBackend_CustomConfigHwInfo_t;

#define QNN_LPAI_BACKEND_CUSTOM_CONFIG_HW_INFO_INIT                  \
    {                                                                \
        QNN_LPAI_BACKEND_TARGET_ADSP, QNN_LPAI_BACKEND_HW_VERSION_V6 \
    }

/* What addresses and sizes of all buffers must be multiples of. */
typedef struct {
    uint32_t startAddrAlignment;
    uint32_t sizeAlignment;
} QnnLpaiBackend_BufferAlignmentReq_t;

#define QNN_LPAI_BACKEND_ALIGNMENT_REQ_INIT {0, 0}

/* One core; coreIndex is set by the caller. */
typedef struct {
    uint32_t coreIndex;
    uint32_t macCnt;  /* multiply-accumulate units */
    uint32_t version;
} QnnLpaiBackend_eNPUCoreInfo_t;

#define QNN_LPAI_BACKEND_ENPU_CORE_INFO_INIT {0, 0, 0}

/* One LPAI property of the backend: an option and where to write it. */
typedef struct {
    uint32_t option;
    void *property;
} QnnLpaiBackend_CustomProperty_t;

#define QNN_LPAI_BACKEND_CUSTOM_PROPERTY_INIT {QNN_LPAI_BACKEND_GET_PROP_UNDEFINED, NULL}

/* Options of QnnLpaiBackend_CustomConfig_t. */
typedef enum {
    QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO   = 0,  /* QnnLpaiBackend_CustomConfigHwInfo_t */
    QNN_LPAI_BACKEND_CUSTOM_CFG_UNDEFINED = 0x7FFFFFFF
} QnnLpaiBackend_CustomConfigOption_t;

/* Options of QnnLpaiBackend_CustomProperty_t. */
typedef enum {
    QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ             = 0,  /* QnnLpaiBackend_BufferAlignmentReq_t */
    QNN_LPAI_BACKEND_GET_PROP_REQUIRE_PERSISTENT_BINARY = 1,  /* uint32_t */
    QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_NUM             = 200,  /* QnnLpaiBackend_eNPUCoreNum_t */
    QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_INFO            = 300,  /* QnnLpaiBackend_eNPUCoreInfo_t */
    QNN_LPAI_BACKEND_GET_PROP_UNDEFINED                 = 0x7FFFFFFF
} QnnLpaiBackend_GetPropertyOption_t;

/* Number of cores. */
typedef uint32_t QnnLpaiBackend_eNPUCoreNum_t;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* QnnMem.h: memory that client and backend share without copies.
 * Register a buffer in a context, use the handle in tensors at execute time, deregister it when no
 * execution uses it. The client allocates and frees the buffer itself; it must stay mapped while
 * registered. */
#ifndef OPENQNN_QNNMEM_H
#define OPENQNN_QNNMEM_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No file descriptor. */
#define QNN_MEM_INVALID_FD (-1)

/* Values of Qnn_MemShape_t::shapeConfig. */
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_RGBA8888          "DATA_FORMAT_UBWC_RGBA8888"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12              "DATA_FORMAT_UBWC_NV12"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12_Y            "DATA_FORMAT_UBWC_NV12_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12_UV           "DATA_FORMAT_UBWC_NV12_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV124R            "DATA_FORMAT_UBWC_NV124R"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV124R_Y          "DATA_FORMAT_UBWC_NV124R_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV124R_UV         "DATA_FORMAT_UBWC_NV124R_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P010              "DATA_FORMAT_UBWC_P010"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P010_Y            "DATA_FORMAT_UBWC_P010_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P010_UV           "DATA_FORMAT_UBWC_P010_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P016              "DATA_FORMAT_UBWC_P016"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P016_Y            "DATA_FORMAT_UBWC_P016_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P016_UV           "DATA_FORMAT_UBWC_P016_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TP10              "DATA_FORMAT_UBWC_TP10"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TP10_Y            "DATA_FORMAT_UBWC_TP10_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TP10_UV           "DATA_FORMAT_UBWC_TP10_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_1X1      "DATA_FORMAT_UBWC_TBAYER10_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_2X2      "DATA_FORMAT_UBWC_TBAYER10_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_3X3      "DATA_FORMAT_UBWC_TBAYER10_3X3"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_4X4      "DATA_FORMAT_UBWC_TBAYER10_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_10BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_10BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_10BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_10BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_10BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_10BPS_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_12BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_12BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_12BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_12BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_12BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_12BPS_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_14BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_14BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_14BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_14BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_14BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_14BPS_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_16BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_16BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_16BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_16BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_16BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_16BPS_4X4"

/* Result codes of QnnMem functions. */
typedef enum {
    QNN_MEM_MIN_ERROR                 = QNN_MIN_ERROR_MEM,
    QNN_MEM_NO_ERROR                  = QNN_SUCCESS,
    QNN_MEM_ERROR_NOT_SUPPORTED       = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_MEM_ERROR_INVALID_ARGUMENT    = QNN_MIN_ERROR_MEM,
    QNN_MEM_ERROR_INVALID_HANDLE      = QNN_MIN_ERROR_MEM + 1,
    QNN_MEM_ERROR_ALREADY_REGISTERED  = QNN_MIN_ERROR_MEM + 2,
    QNN_MEM_ERROR_MAPPING             = QNN_MIN_ERROR_MEM + 3,
    QNN_MEM_ERROR_INVALID_SHAPE       = QNN_MIN_ERROR_MEM + 4,
    QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE = QNN_MIN_ERROR_MEM + 5,
    QNN_MEM_MAX_ERROR                 = QNN_MAX_ERROR_MEM,
    QNN_MEM_ERROR_UNDEFINED           = 0x7FFFFFFF
} QnnMem_Error_t;

/* Kinds of shared memory. */
typedef enum {
    QNN_MEM_TYPE_ION       = 1,
    QNN_MEM_TYPE_CUSTOM    = 2,  /* a backend's own kind */
    QNN_MEM_TYPE_DMA_BUF   = 3,
    QNN_MEM_TYPE_DX12      = 4,
    QNN_MEM_TYPE_UNDEFINED = 0x7FFFFFFF
} Qnn_MemType_t;

/* Extents of the data in a buffer. */
typedef struct {
    uint32_t numDim;
    uint32_t *dimSize;
    const char *shapeConfig;
} Qnn_MemShape_t;

#define QNN_MEM_SHAPE_INIT {0, NULL, NULL}

/* An ION buffer. */
typedef struct {
    int32_t fd;
} Qnn_MemIonInfo_t;

#define QNN_MEM_ION_INFO_INIT {QNN_MEM_INVALID_FD}

/* A DMA buffer and where the client mapped it. */
typedef struct {
    int32_t fd;
    void *data;
} Qnn_MemDmaBufInfo_t;

#define QNN_MEM_DMA_BUF_INFO_INIT {QNN_MEM_INVALID_FD, NULL}

/* A DirectX 12 resource. */
typedef void *Qnn_Dx12ResourceHandle_t;

/* A DirectX 12 buffer. */
typedef struct {
    Qnn_Dx12ResourceHandle_t resourceHandle;
} Qnn_MemDx12BufInfo_t;

#define QNN_MEM_DX12_BUF_INFO_INIT {NULL}

/* A backend's own descriptor. */
typedef void *Qnn_MemInfoCustom_t;

/* A buffer to register. */
typedef struct {
    Qnn_MemShape_t memShape;
    Qnn_DataType_t dataType;
    Qnn_MemType_t memType;
    union {
        Qnn_MemIonInfo_t ionInfo;
        Qnn_MemInfoCustom_t customInfo;
        Qnn_MemDmaBufInfo_t dmaBufInfo;
        Qnn_MemDx12BufInfo_t dx12BufInfo;
    };
} Qnn_MemDescriptor_t;

#define QNN_MEM_DESCRIPTOR_INIT                                             \
    {                                                                       \
        QNN_MEM_SHAPE_INIT, QNN_DATATYPE_UNDEFINED, QNN_MEM_TYPE_UNDEFINED, \
        {QNN_MEM_ION_INFO_INIT}                                             \
    }

/* Registers buffers for use in a context and writes one handle each; either all or none. A buffer
 * has at most one handle.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, ALREADY_REGISTERED, MAPPING, INVALID_SHAPE,
 * UNSUPPORTED_MEMTYPE, NOT_SUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnMem_register(Qnn_ContextHandle_t context,
                                          const Qnn_MemDescriptor_t *memDescriptors,
                                          uint32_t numDescriptors, Qnn_MemHandle_t *memHandles);

/* Ends registrations; a bad handle does not keep the others from being released. The memory itself
 * stays with the client. Errors: INVALID_HANDLE, INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnMem_deRegister(const Qnn_MemHandle_t *memHandles, uint32_t numHandles);

#ifdef __cplusplus
}
#endif

#endif

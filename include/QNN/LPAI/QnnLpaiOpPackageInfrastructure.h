/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiOpPackageInfrastructure.h: the functions an LPAI op package may call while it runs an op.
 * Nodes and tensors are opaque; everything about them is asked through the table, which lives as
 * long as the package is registered. */
#ifndef OPENQNN_QNNLPAIOPPACKAGEINFRASTRUCTURE_H
#define OPENQNN_QNNLPAIOPPACKAGEINFRASTRUCTURE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnOpPackage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most dimensions of a layout. */
#define QNN_LPAI_CUSTOM_OP_MAX_LAYOUT_RANK 5

/* Results of the functions below. */
typedef enum QnnLpaiCustomOp_Error {
    LPAI_CUSTOM_OP_SUCCESS          = 0,
    LPAI_CUSTOM_OP_FAIL             = 1,
    LPAI_CUSTOM_OP_INVALID_ARGUMENT = 2,
    LPAI_CUSTOM_OP_MEMORY           = 3,
    LPAI_CUSTOM_OP_NOT_SUPPORTED    = 4,
    LPAI_CUSTOM_OP_MAX              = 0x7FFFFFFF
} QnnLpaiCustomOp_Error_t;

/* Version of the table. */
typedef struct QnnLpaiCustomOp_Version {
    uint32_t major;
    uint32_t minor;
    uint32_t patch;
} QnnLpaiCustomOp_Version_t;

/* Kinds of layouts. */
typedef enum QnnLpaiCustomOp_LayoutForm {
    QNN_LPAI_CUSTOM_OP_LAYOUT_FORM_FLAT      = 1,
    QNN_LPAI_CUSTOM_OP_LAYOUT_FORM_UNDEFINED = 0x7FFFFFFF
} QnnLpaiCustomOp_LayoutForm_t;

/* How a tensor lies in memory. */
typedef struct QnnLpaiCustomOp_Layout {
    QnnLpaiCustomOp_LayoutForm_t layoutForm;
    uint8_t layoutOrder[QNN_LPAI_CUSTOM_OP_MAX_LAYOUT_RANK];
    uint32_t layoutStride[QNN_LPAI_CUSTOM_OP_MAX_LAYOUT_RANK];
    uint32_t layoutDim[QNN_LPAI_CUSTOM_OP_MAX_LAYOUT_RANK];
} QnnLpaiCustomOp_Layout_t;

/* A scale as scale * 2^-shift. */
typedef struct QnnLpaiCustomOp_IntScale {
    int32_t scale;
    int32_t shift;
} QnnLpaiCustomOp_IntScale_t;

/* Which member of a QnnLpaiCustomOp_QuantScale_t is used. */
typedef enum QnnLpaiCustomOp_ScaleType {
    QNN_LPAI_CUSTOM_OP_QUANT_SCALE_TYPE_INT       = 1,
    QNN_LPAI_CUSTOM_OP_QUANT_SCALE_TYPE_FLOAT     = 2,
    QNN_LPAI_CUSTOM_OP_QUANT_SCALE_TYPE_UNDEFINED = 0x7FFFFFFF
} QnnLpaiCustomOp_ScaleType_t;

/* A scale, as integer or float. */
typedef struct QnnLpaiCustomOp_QuantScale {
    QnnLpaiCustomOp_ScaleType_t type;
    union {
        QnnLpaiCustomOp_IntScale_t iScale;
        float fScale;
    };
} QnnLpaiCustomOp_QuantScale_t;

/* Encoding of a tensor. */
typedef struct QnnLpaiCustomOp_PerTensorQuantInfo {
    QnnLpaiCustomOp_QuantScale_t scale;
    int32_t offset;
} QnnLpaiCustomOp_PerTensorQuantInfo_t;

/* Temporary memory of a node. */
typedef struct QnnLpaiCustomOp_BufferInfo {
    void *buffer;
    uint32_t bufferSize;
} QnnLpaiCustomOp_BufferInfo_t;

/* A node. */
typedef void *QnnLpai_CustomOpNode_t;

/* Number of inputs. */
typedef uint32_t (*QnnLpaiCustomOp_GetNumInputTensors_t)(QnnLpai_CustomOpNode_t node);

/* Number of outputs. */
typedef uint32_t (*QnnLpaiCustomOp_GetNumOutputTensors_t)(QnnLpai_CustomOpNode_t node);

/* A tensor of a node. */
typedef void *QnnLpai_CustomOpTensor_t;

/* An input, or null. */
typedef QnnLpai_CustomOpTensor_t (*QnnLpaiCustomOp_GetInputTensor_t)(
    QnnLpai_CustomOpNode_t node, uint32_t index);

/* An output, or null. */
typedef QnnLpai_CustomOpTensor_t (*QnnLpaiCustomOp_GetOutputTensor_t)(
    QnnLpai_CustomOpNode_t node, uint32_t index);

/* A parameter by its name, or null. */
typedef QnnLpai_CustomOpTensor_t (*QnnLpaiCustomOp_GetParamTensor_t)(
    QnnLpai_CustomOpNode_t node, const char *name);

/* Number of dimensions. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorShapeRank_t)(
    QnnLpai_CustomOpTensor_t tensor, uint32_t *rank);

/* Number of dimensions in memory. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorLayoutRank_t)(
    QnnLpai_CustomOpTensor_t tensor, uint32_t *rank);

/* One dimension. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorShapeDimSize_t)(
    QnnLpai_CustomOpTensor_t tensor, uint32_t index, uint32_t *size);

/* Layout in memory. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorLayout_t)(
    QnnLpai_CustomOpTensor_t tensor, QnnLpaiCustomOp_Layout_t *layout);

/* Element types. */
typedef enum QnnLpaiCustomOp_DataType {
    LPAI_CUSTOM_OP_DATATYPE_INT_4     = 1,
    LPAI_CUSTOM_OP_DATATYPE_UINT_4    = 2,
    LPAI_CUSTOM_OP_DATATYPE_INT_8     = 3,
    LPAI_CUSTOM_OP_DATATYPE_UINT_8    = 4,
    LPAI_CUSTOM_OP_DATATYPE_INT_16    = 5,
    LPAI_CUSTOM_OP_DATATYPE_UINT_16   = 6,
    LPAI_CUSTOM_OP_DATATYPE_INT_32    = 7,
    LPAI_CUSTOM_OP_DATATYPE_UINT_32   = 8,
    LPAI_CUSTOM_OP_DATATYPE_INT_64    = 9,
    LPAI_CUSTOM_OP_DATATYPE_UINT_64   = 10,
    LPAI_CUSTOM_OP_DATATYPE_FLOAT_16  = 11,
    LPAI_CUSTOM_OP_DATATYPE_FLOAT_32  = 12,
    LPAI_CUSTOM_OP_DATATYPE_UNDEFINED = 0x7FFFFFFF
} QnnLpaiCustomOp_DataType_t;

/* Element type. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorDataType_t)(
    QnnLpai_CustomOpTensor_t tensor, QnnLpaiCustomOp_DataType_t *dataType);

/* Size in bytes. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorDataSize_t)(
    QnnLpai_CustomOpTensor_t tensor, uint32_t *size);

/* Kinds of encodings. */
typedef enum QnnLpaiCustomOp_QuantType {
    QNN_LPAI_CUSTOM_OP_QUANT_TYPE_PER_TENSOR = 1,
    QNN_LPAI_CUSTOM_OP_QUANT_TYPE_UNDEFINED  = 0x7FFFFFFF
} QnnLpaiCustomOp_QuantType_t;

/* Kind of encoding. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTensorQuantType_t)(
    QnnLpai_CustomOpTensor_t tensor, QnnLpaiCustomOp_QuantType_t *quantType);

/* The encoding. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetPerTensorQuantParams_t)(
    QnnLpai_CustomOpTensor_t tensor, QnnLpaiCustomOp_PerTensorQuantInfo_t *quantParams);

/* The data; valid during the call of the op. */
typedef void *(*QnnLpaiCustomOp_GetTensorData_t)(QnnLpai_CustomOpTensor_t tensor);

/* The temporary memory the op asked for. */
typedef QnnLpaiCustomOp_Error_t (*QnnLpaiCustomOp_GetTempBuffer_t)(
    QnnLpai_CustomOpNode_t node, QnnLpaiCustomOp_BufferInfo_t *bufferParams);

/* The opaque structs of QnnOpPackage.h are completed by the first backend's header that a client includes; the types of
 * further ones have tags of their own, so that any two headers can be used together. */
#ifndef QNN_OP_PACKAGE_TYPES_ARE_COMPLETE
#define QNN_OP_PACKAGE_TYPES_ARE_COMPLETE
#define QNN_LPAI_OP_PACKAGE_TAG(name) _QnnOpPackage_##name
#else
#define QNN_LPAI_OP_PACKAGE_TAG(name) _QnnLpaiOpPackage_##name
#endif

/* The table given to the package. */
typedef struct QNN_LPAI_OP_PACKAGE_TAG(GlobalInfrastructure_t) {
    QnnLpaiCustomOp_Version_t version;
    QnnLpaiCustomOp_GetNumInputTensors_t getNumInputTensors;
    QnnLpaiCustomOp_GetNumOutputTensors_t getNumOutputTensors;
    QnnLpaiCustomOp_GetInputTensor_t getInputTensor;
    QnnLpaiCustomOp_GetOutputTensor_t getOutputTensor;
    QnnLpaiCustomOp_GetParamTensor_t getParamTensor;
    QnnLpaiCustomOp_GetTensorShapeRank_t getTensorShapeRank;
    QnnLpaiCustomOp_GetTensorLayoutRank_t getTensorLayoutRank;
    QnnLpaiCustomOp_GetTensorShapeDimSize_t getTensorShapeDimSize;
    QnnLpaiCustomOp_GetTensorLayout_t getTensorLayout;
    QnnLpaiCustomOp_GetTensorDataType_t getTensorDataType;
    QnnLpaiCustomOp_GetTensorDataSize_t getTensorDataSize;
    QnnLpaiCustomOp_GetTensorQuantType_t getTensorQuantType;
    QnnLpaiCustomOp_GetPerTensorQuantParams_t getPerTensorQuantParams;
    QnnLpaiCustomOp_GetTensorData_t getTensorData;
    QnnLpaiCustomOp_GetTempBuffer_t getTempBuffer;
} QnnLpaiOpPackage_GlobalInfrastructure_t;

#define QNN_LPAI_OP_PACKAGE_GLOBAL_INFRASTRUCTURE_INIT                                           \
    {                                                                                            \
        {0, 0, 0}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL                                                                               \
    }

#ifdef __cplusplus
}
#endif

#endif

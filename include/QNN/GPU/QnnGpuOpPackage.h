/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGpuOpPackage.h: what GPU op packages give and get.
 * A package turns a node into an operation: kernels, their arguments, the memory objects in
 * between, and what each output is stored in. Arrays of pointers are null-terminated and belong to
 * the package until freeOpImpl. */
#ifndef OPENQNN_QNNGPUOPPACKAGE_H
#define OPENQNN_QNNGPUOPPACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../QnnOpPackage.h"
#include "../QnnTypes.h"
#include "QnnGpuGraph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of the device. */
typedef struct {
    char deviceVersion[128];
    uint32_t interfaceVersion[2];
    char tierName[8];
    uint32_t compilerVersion[4];
    size_t maxWorkGroupSize;
    size_t image1dBufferMaxWidth;
    size_t image2dMaxWidth;
    size_t image2dMaxHeight;
    size_t maxBufferAllocSize;
    uint32_t baseAddrAlignment;
    size_t image2dArrayMaxWidth;
    size_t image2dArrayMaxHeight;
    size_t image2dArrayMaxDepth;
    bool predicateClobberFullRegister;
    bool isLocalMemorySupported;
    bool vector64Support;
} QnnGpu_DeviceProperties_t;

/* The opaque structs of QnnOpPackage.h are completed by the first backend's header that a client includes; the types of
 * further ones have tags of their own, so that any two headers can be used together. */
#ifndef QNN_OP_PACKAGE_TYPES_ARE_COMPLETE
#define QNN_OP_PACKAGE_TYPES_ARE_COMPLETE
#define QNN_GPU_OP_PACKAGE_TAG(name) _QnnOpPackage_##name
#else
#define QNN_GPU_OP_PACKAGE_TAG(name) _QnnGpuOpPackage_##name
#endif

/* What a package gets when it is initialized. */
typedef struct QNN_GPU_OP_PACKAGE_TAG(GlobalInfrastructure_t) {
    const Qnn_ApiVersion_t *sdkApiVersion;
    const QnnGpu_DeviceProperties_t *deviceProperties;
    const char *driverPath;
} QnnGpuOpPackage_GlobalInfrastructure_t;

/* Names the state of a package's kernels, so that stale ones are not reused. */
typedef struct _QnnOpPackage_PackageInfo_t {
    const char *kernelRepoHash;
} QnnGpuOpPackage_PackageInfo_t;

/* An edge of a pattern. */
typedef struct {
    uint32_t producer;
    uint32_t producerOutputIndex;
    uint32_t consumer;
    uint32_t consumerInputIndex;
} QnnGpuOpPackage_SuperNodeConnectionConstraint_t;

/* Which tensor of an op a constraint is about. */
typedef enum {
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_OUTPUT = 1,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_INPUT  = 2
} QnnGpuOpPackage_TensorConstraintSource_t;

/* What a constraint is about. */
typedef enum {
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DATA_TYPE   = 1,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_RANK        = 2,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DIMENSION   = 3,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_TENSOR_TYPE = 4
} QnnGpuOpPackage_TensorConstraintType_t;

/* A condition on a tensor of a pattern. */
typedef struct {
    uint32_t operationIndex;
    QnnGpuOpPackage_TensorConstraintSource_t source;
    union {
        uint32_t index;
        const char *name;
    };
    QnnGpuOpPackage_TensorConstraintType_t type;
    union {
        Qnn_DataType_t dataType;
        Qnn_TensorType_t tensorType;
        uint32_t rank;
        struct {
            uint32_t index;
            uint32_t size;
        } dimension;
    };
} QnnGpuOpPackage_TensorConstraint_t;

/* A pattern of ops that the package implements as one. */
typedef struct {
    const char **operations;
    QnnGpuOpPackage_SuperNodeConnectionConstraint_t **connectionConstraints;
    QnnGpuOpPackage_TensorConstraint_t **tensorConstraints;
} QnnGpuOpPackage_SuperNodeOptimization_t;

#define QNN_GPU_OP_PACKAGE_SUPER_NODE_OPTIMIZATION_INIT {NULL, NULL, NULL}

/* Kinds of rewrites. */
typedef enum {
    QNN_GPU_OPTIMIZATION_TYPE_UNDEFINED  = 0,
    QNN_GPU_OPTIMIZATION_TYPE_SUPER_NODE = 2
} QnnGpuOpPackage_OptimizationType_t;

/* A rewrite the package offers. */
typedef struct _QnnOpPackage_Optimization_t {
    QnnGpuOpPackage_OptimizationType_t type;
    const char *name;
    union {
        const QnnGpuOpPackage_SuperNodeOptimization_t *superNode;
    };
} QnnGpuOpPackage_Optimization_t;

#define QNN_GPU_OP_PACKAGE_OPTIMIZATION_INIT {QNN_GPU_OPTIMIZATION_TYPE_UNDEFINED, NULL, {NULL}}

/* What a package gets for a graph. */
typedef struct _QnnOpPackage_GraphInfrastructure_t {
    QnnGpu_Precision_t precisionMode;
    const QnnGpu_DeviceProperties_t *deviceProperties;
} QnnGpuOpPackage_GraphInfrastructure_t;

/* Where the scales and offsets of an axis are. */
typedef struct {
    uint32_t scaleOffsetId;
} QnnGpu_AxisScaleOffsetInfo_t;

#define QNN_GPU_AXIS_SCALE_OFFSET_INFO_INIT {0}

/* Where the scales and the offsets of an axis are. */
typedef struct {
    uint32_t scaleId;
    uint32_t offsetId;
} QnnGpu_BwAxisScaleOffsetInfo_t;

#define QNN_GPU_BW_AXIS_SCALE_OFFSET_INFO_INIT {0, 0}

/* Block sizes, and where the scales and offsets are. */
typedef struct {
    uint32_t *blockSize;
    uint32_t scaleOffsetId;
} QnnGpu_BlockEncodingInfo_t;

#define QNN_GPU_BLOCK_ENCODING_INFO_INIT {NULL, 0}

/* Block sizes, and where the block scales are. */
typedef struct {
    uint32_t *blockDimensions;
    uint32_t blockScaleId;
} QnnGpu_MicroscalingEncodingInfo_t;

#define QNN_GPU_MICROSCALING_ENCODING_INFO_INIT {NULL, 0}

/* Whose encoding it is. */
typedef enum {
    QNN_GPU_QUANTIZATION_ENCODING_QNN_IMPL  = 0,
    QNN_GPU_QUANTIZATION_ENCODING_CUSTOM    = 1,
    QNN_GPU_QUANTIZATION_ENCODING_UNDEFINED = 0x7FFFFFFF
} QnnGpu_QuantizationEncodingType_t;

/* A package's own encoding. */
typedef void *QnnGpu_QuantizeParamsInfo_Custom_t;

/* Encoding of a memory object. */
typedef struct {
    QnnGpu_QuantizationEncodingType_t encodingType;
    union {
        QnnGpu_AxisScaleOffsetInfo_t axisScaleOffsetInfo;
        QnnGpu_BwAxisScaleOffsetInfo_t bwAxisScaleOffsetInfo;
        QnnGpu_BlockEncodingInfo_t blockEncodingInfo;
        QnnGpu_MicroscalingEncodingInfo_t microscalingEncodingInfo;
        QnnGpu_QuantizeParamsInfo_Custom_t customParams;
    };
} QnnGpu_QuantizeParams_t;

#define QNN_GPU_QUANTIZE_PARAMS_INFO_INIT                                              \
    {                                                                                  \
        QNN_GPU_QUANTIZATION_ENCODING_UNDEFINED, {QNN_GPU_AXIS_SCALE_OFFSET_INFO_INIT} \
    }

/* Kinds of memory objects. */
typedef enum {
    QNN_GPU_MEM_OBJ_TYPE_HOST                     = 0,
    QNN_GPU_MEM_OBJ_TYPE_BUFFER                   = 1,
    QNN_GPU_MEM_OBJ_TYPE_IMAGE2D                  = 2,
    QNN_GPU_MEM_OBJ_TYPE_IMAGE2D_ARRAY            = 3,
    QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D       = 4,
    QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D_ARRAY = 5,
    QNN_GPU_MEM_OBJ_TYPE_UNCLAIMED                = 6,  /* not decided */
    QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER           = 7,
    QNN_GPU_MEM_OBJ_TYPE_ALIAS                    = 8
} QnnGpu_MemoryObjectType_t;

/* Order of the dimensions. */
typedef enum {
    QNN_GPU_MEM_LAYOUT_HWC       = 0,
    QNN_GPU_MEM_LAYOUT_HCW       = 1,
    QNN_GPU_MEM_LAYOUT_CHW       = 2,
    QNN_GPU_MEM_LAYOUT_C_HWC4    = 3,
    QNN_GPU_MEM_LAYOUT_DHWC      = 4,
    QNN_GPU_MEM_LAYOUT_CDHW      = 5,
    QNN_GPU_MEM_LAYOUT_UNDEFINED = 0x7FFFFFFF
} QnnGpu_MemoryLayout_t;

/* Memory that holds a tensor. */
typedef struct {
    QnnGpu_MemoryObjectType_t type;
    Qnn_DataType_t dataType;
    uint32_t *dimensions;
    uint32_t *offsets;
    uint32_t numDimensions;
    QnnGpu_MemoryLayout_t layout;
    QnnGpu_QuantizeParams_t quantizeParams;
    const char *name;
    const char *aliasSourceName;
} QnnGpu_MemoryObject_t;

#define QNN_GPU_MEMORY_OBJECT_INIT                                                  \
    {                                                                               \
        QNN_GPU_MEM_OBJ_TYPE_UNCLAIMED, QNN_DATATYPE_UNDEFINED, NULL, NULL, 0,      \
        QNN_GPU_MEM_LAYOUT_UNDEFINED, QNN_GPU_QUANTIZE_PARAMS_INFO_INIT, NULL, NULL \
    }

/* What a tensor, found by its id, is stored in. */
typedef struct {
    uint32_t id;
    const QnnGpu_MemoryObject_t *memoryObject;
} QnnGpu_TensorStorageType_t;

#define QNN_GPU_TENSOR_STORAGE_TYPE_INIT {0, NULL}

/* One or more ops to implement. */
typedef struct QNN_GPU_OP_PACKAGE_TAG(Node_t) {
    uint32_t optimization;
    const Qnn_OpConfig_t **configs;
    const QnnGpu_TensorStorageType_t **storageTypes;
    int32_t kernelVariant;
} QnnGpuOpPackage_Node_t;

/* What the package stores an output in. */
typedef struct {
    uint32_t opConfigIndex;
    uint32_t outputIndex;
    const QnnGpu_MemoryObject_t *memoryObject;
} QnnGpu_OutputClaim_t;

#define QNN_GPU_OUTPUT_CLAIM_INIT {0, 0, NULL}

/* An argument that is a tensor. */
typedef struct {
    uint32_t opConfigIndex;
    uint32_t tensorIndex;
    uint32_t element;
} QnnGpu_TensorKernelArg_t;

#define QNN_GPU_TENSOR_KERNEL_ARG_INIT {0, 0, 0}

/* Types of plain arguments. */
typedef enum {
    QNN_GPU_KERNEL_ARG_CL_TYPE_CHAR   = 0,
    QNN_GPU_KERNEL_ARG_CL_TYPE_UCHAR  = 1,
    QNN_GPU_KERNEL_ARG_CL_TYPE_SHORT  = 2,
    QNN_GPU_KERNEL_ARG_CL_TYPE_USHORT = 3,
    QNN_GPU_KERNEL_ARG_CL_TYPE_INT    = 4,
    QNN_GPU_KERNEL_ARG_CL_TYPE_UINT   = 5,
    QNN_GPU_KERNEL_ARG_CL_TYPE_LONG   = 6,
    QNN_GPU_KERNEL_ARG_CL_TYPE_ULONG  = 7,
    QNN_GPU_KERNEL_ARG_CL_TYPE_FLOAT  = 8,
    QNN_GPU_KERNEL_ARG_CL_TYPE_DOUBLE = 9
} QnnGpu_DataKernelArgType_t;

/* An argument that is a number. */
typedef struct {
    QnnGpu_DataKernelArgType_t type;
    union {
        int8_t qnnChar;
        uint8_t qnnUChar;
        int16_t qnnShort;
        uint16_t qnnUShort;
        int32_t qnnInt;
        uint32_t qnnUInt;
        int64_t qnnLong;
        uint64_t qnnULong;
        float qnnFloat;
        double qnnDouble;
    };
} QnnGpu_DataKernelArg_t;

#define QNN_GPU_DATA_KERNEL_ARG_INIT {QNN_GPU_KERNEL_ARG_CL_TYPE_CHAR, {0}}

/* An argument that is local memory. */
typedef struct {
    uint32_t size;
} QnnGpu_LocalKernelArg_t;

#define QNN_GPU_LOCAL_KERNEL_ARG_INIT {0}

/* Kinds of arguments. */
typedef enum {
    QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ       = 0,
    QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE  = 1,
    QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE     = 2,
    QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ       = 3,
    QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READWRITE  = 4,
    QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE      = 5,
    QNN_GPU_KERNEL_ARG_TYPE_DATA                = 6,
    QNN_GPU_KERNEL_ARG_TYPE_LOCAL               = 7,
    QNN_GPU_KERNEL_ARG_TYPE_NULL_PTR            = 8,
    QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM     = 9,
    QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_READWRITE = 10
} QnnGpu_KernelArgType_t;

/* One argument of a kernel. */
typedef struct {
    QnnGpu_KernelArgType_t type;
    union {
        QnnGpu_TensorKernelArg_t tensor;
        QnnGpu_DataKernelArg_t data;
        QnnGpu_LocalKernelArg_t local;
    };
} QnnGpu_KernelArg_t;

#define QNN_GPU_KERNEL_ARG_INIT {QNN_GPU_KERNEL_ARG_TYPE_NULL_PTR, {QNN_GPU_TENSOR_KERNEL_ARG_INIT}}

/* Local work sizes to try. */
typedef struct {
    uint32_t minValue[3];
    uint32_t maxValue[3];
    uint32_t stepSize[3];
} QnnGpu_KernelLocalWorkSizeTuning_t;

/* What to tune. */
typedef enum {
    QNN_GPU_KERNEL_TUNING_LOCAL_WORK_SIZE = 0,
    QNN_GPU_KERNEL_TUNING_UNDEFINED       = 0x7FFFFFFF
} QnnGpu_KernelTuningOption_t;

/* One thing to tune. */
typedef struct {
    QnnGpu_KernelTuningOption_t option;
    union {
        QnnGpu_KernelLocalWorkSizeTuning_t lws;
    };
} QnnGpu_KernelTuningConfig_t;

/* Form of a kernel. */
typedef enum {
    QNN_GPU_KERNEL_SOURCE_TYPE_TEXT   = 0,
    QNN_GPU_KERNEL_SOURCE_TYPE_BINARY = 1
} QnnGpu_KernelSourceType_t;

/* A kernel and how to run it. */
typedef struct {
    const void *kernelSource;
    size_t sourceLength;
    QnnGpu_KernelSourceType_t sourceType;
    const char *buildOptions;
    size_t globalWorkDim;
    size_t globalWorkSizes[3];
    size_t localWorkDim;
    size_t localWorkSizes[3];
    QnnGpu_KernelArg_t **args;
    const char *name;
    uint32_t isDynamic;
    QnnGpu_KernelTuningConfig_t **tuningConfigs;
    void *reserved;
} QnnGpu_Kernel_t;

#define QNN_GPU_KERNEL_INIT                                                                     \
    {                                                                                           \
        NULL, 0, QNN_GPU_KERNEL_SOURCE_TYPE_TEXT, NULL, 0, {0, 0, 0}, 0, {0, 0, 0}, NULL, NULL, \
        0, NULL, NULL                                                                           \
    }

/* The implementation of a node. */
typedef struct QNN_GPU_OP_PACKAGE_TAG(OpImpl_t) {
    QnnGpu_OutputClaim_t **outputClaims;
    QnnGpu_MemoryObject_t **memoryObjects;
    QnnGpu_Kernel_t **kernels;
} QnnGpu_Operation_t;

#define QNN_GPU_OPERATION_INIT {NULL, NULL, NULL}

#ifdef __cplusplus
}
#endif

#endif

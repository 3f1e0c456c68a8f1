/* SPDX-License-Identifier: Apache-2.0 */
/* QnnCpuOpPackage.h: what CPU op packages give and get.
 * An implementation is a function and its data; it runs on the tensors of its node, whose data the
 * backend sets before every call. */
#ifndef OPENQNN_QNNCPUOPPACKAGE_H
#define OPENQNN_QNNCPUOPPACKAGE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnGraph.h"
#include "../QnnOpPackage.h"
#include "../QnnTypes.h"
#include "QnnCpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plain row-major data. */
#define QNN_CPUOPPACKAGE_TENSOR_DATA_FORMAT_FLAT_BUFFER 0

/* Importance of a message. */
typedef enum {
    QNN_CPU_MSG_ERROR     = 1,
    QNN_CPU_MSG_DEBUG     = 2,
    QNN_CPU_MSG_LOW       = 3,
    QNN_CPU_MSG_MED       = 4,
    QNN_CPU_MSG_HIGH      = 5,
    QNN_CPU_MSG_UNDEFINED = 0x7FFFFFFF
} QnnCpuOpPackage_MsgType_t;

/* Kinds of measurements. */
typedef enum {
    QNN_CPU_PROFILE_BASIC     = 1,
    QNN_CPU_PROFILE_DETAILED  = 2,
    QNN_CPU_PROFILE_UNDEFINED = 0x7FFFFFFF
} QnnCpuOpPackage_ProfileType_t;

/* A measured value. */
typedef double QnnCpuOpPackage_ProfileData_t;

/* The opaque structs of QnnOpPackage.h are completed by the first backend's header that a client includes; the types of
 * further ones have tags of their own, so that any two headers can be used together. */
#ifndef QNN_OP_PACKAGE_TYPES_ARE_COMPLETE
#define QNN_OP_PACKAGE_TYPES_ARE_COMPLETE
#define QNN_CPU_OP_PACKAGE_TAG(name) _QnnOpPackage_##name
#else
#define QNN_CPU_OP_PACKAGE_TAG(name) _QnnCpuOpPackage_##name
#endif

/* Functions the package may call. */
typedef struct QNN_CPU_OP_PACKAGE_TAG(GlobalInfrastructure_t) {
    void (*reportMessage)(QnnCpuOpPackage_MsgType_t, const char *, ...);
    void (*profile)(QnnCpuOpPackage_ProfileType_t, QnnCpuOpPackage_ProfileData_t);
} QnnCpuOpPackage_GlobalInfra_t;

#define QNN_CPU_OP_PACKAGE_GLOBAL_INFRA_INIT {NULL, NULL}

/* Runs a node. */
typedef Qnn_ErrorHandle_t (*QnnCpuOpPackage_OpImplFn_t)(void *opPkgNodeData);

/* The implementation of a node. */
typedef struct QNN_CPU_OP_PACKAGE_TAG(OpImpl_t) {
    QnnCpuOpPackage_OpImplFn_t opImplFn;
    void *userData;
} QnnCpuOpPackage_OpImpl_t;

#define QNN_CPU_OP_PACKAGE_OPIMPL_INIT {NULL, NULL}

/* Layout of tensor data. */
typedef uint32_t QnnCpuOpPackage_TensorDataFormat_t;

/* Element types, numbered as Qnn_DataType_t. */
typedef enum {
    QNN_CPU_DATATYPE_BOOL_8    = 0x0508,
    QNN_CPU_DATATYPE_INT_8     = 0x0008,
    QNN_CPU_DATATYPE_INT_32    = 0x0032,
    QNN_CPU_DATATYPE_UINT_8    = 0x0108,
    QNN_CPU_DATATYPE_UINT_32   = 0x0132,
    QNN_CPU_DATATYPE_FLOAT_32  = 0x0232,
    QNN_CPU_DATATYPE_UNDEFINED = 0x7FFFFFFF
} QnnCpuOpPackage_DataType_t;

/* A tensor of a node. */
typedef struct {
    QnnCpuOpPackage_TensorDataFormat_t dataFormat;
    QnnCpuOpPackage_DataType_t dataType;
    uint32_t rank;
    uint32_t *maxDimensions;
    uint32_t *currentDimensions;
    void *data;
    Qnn_QuantizeParams_t quantizeParams;
} QnnCpuOpPackage_Tensor_t;

#define QNN_CPU_OP_PACKAGE_TENSOR_INIT                                               \
    {                                                                                \
        0, QNN_CPU_DATATYPE_UNDEFINED, 0, NULL, NULL, NULL, QNN_QUANTIZE_PARAMS_INIT \
    }

/* Which member of a QnnCpuOpPackage_Param_t is used. The undefined value does not fit an int, which
 * strict C wants marked. */
__extension__ typedef enum {
    QNN_CPU_PARAMTYPE_SCALAR    = 0,
    QNN_CPU_PARAMTYPE_TENSOR    = 1,
    QNN_CPU_PARAMTYPE_STRING    = 2,
    QNN_CPU_PARAMTYPE_UNDEFINED = 0xFFFFFFFF
} QnnCpuOpPackage_ParamType_t;

/* A named parameter of a node. */
typedef struct {
    QnnCpuOpPackage_ParamType_t type;
    const char *name;
    union {
        double scalarParam;
        const char *string;
        QnnCpuOpPackage_Tensor_t *tensorParam;
    };
} QnnCpuOpPackage_Param_t;

#define QNN_CPU_OP_PACKAGE_PARAM_INIT {QNN_CPU_PARAMTYPE_UNDEFINED, NULL, {0.0}}

/* A node to implement. */
typedef struct QNN_CPU_OP_PACKAGE_TAG(Node_t) {
    const char *name;
    const char *packageName;
    const char *typeName;
    uint32_t numOfParams;
    QnnCpuOpPackage_Param_t **params;
    uint32_t numOfInputs;
    QnnCpuOpPackage_Tensor_t **inputs;
    uint32_t numOfOutputs;
    QnnCpuOpPackage_Tensor_t **outputs;
} QnnCpuOpPackage_Node_t;

#define QNN_CPU_OP_PACKAGE_NODE_INIT {NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL}

/* Per-graph functions; the CPU backend has none. */
typedef struct _QnnOpPackage_GraphInfrastructure_t QnnCpuOpPackage_GraphInfrastructure_t;

#ifdef __cplusplus
}
#endif

#endif

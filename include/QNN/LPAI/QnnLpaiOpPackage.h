/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiOpPackage.h: what an op package tells the LPAI backend about its operators. */
#ifndef OPENQNN_QNNLPAIOPPACKAGE_H
#define OPENQNN_QNNLPAIOPPACKAGE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnOpPackage.h"
#include "../QnnTypes.h"
#include "QnnLpaiOpPackageInfrastructure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The layout every op must support. */
#define QNN_LPAI_OP_LAYOUT_DEFAULT 0

/* Data types that an input or output may have. */
typedef struct {
    uint32_t numOfTypes;
    Qnn_DataType_t *DataTypes;
} QnnLpaiOpPackage_DataTypeInfo_t;

/* Runs a node; returns a QnnLpaiCustomOp_Error_t. */
typedef int32_t (*LpaiCustomOp_Execute_Fn)(QnnLpai_CustomOpNode_t);

/* Checks a node. */
typedef Qnn_ErrorHandle_t (*QnnLpaiOpPackage_Validate_Fn)(Qnn_OpConfig_t);

/* Writes how many bytes of temporary memory a node needs. */
typedef Qnn_ErrorHandle_t (*QnnLpaiOpPackage_GetTempBufferSize_Fn)(Qnn_OpConfig_t, size_t *);

/* Writes which layouts an op supports. */
typedef Qnn_ErrorHandle_t (*QnnLpaiOpPackage_GetLayoutSupportFlag_Fn)(uint32_t *layoutFlag);

/* One operator of a package. */
typedef struct _QnnOpPackage_OperationInfo_t {
    char *opType;
    LpaiCustomOp_Execute_Fn executeOp;
    uint32_t numOfInputs;
    uint32_t numOfOutputs;
    uint32_t numOfParams;
    QnnLpaiOpPackage_DataTypeInfo_t *inputDatatypes;
    QnnLpaiOpPackage_DataTypeInfo_t *outputDatatypes;
    QnnLpaiOpPackage_Validate_Fn validateOp;
    QnnLpaiOpPackage_GetTempBufferSize_Fn getTempBufferSize;
    QnnLpaiOpPackage_GetLayoutSupportFlag_Fn getLayoutSupportFlag;
} QnnLpaiOpPackage_OperationInfo_t;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* QnnOpPackage.h: what a library with further operators gives to a backend.
 * The library exports a function of type QnnOpPackage_InterfaceProvider_t;
 * QnnBackend_registerOpPackage calls it by name and keeps the table it fills. What a node, an
 * implementation or the infrastructure looks like is the backend's business and defined in its own
 * headers. */
#ifndef OPENQNN_QNNOPPACKAGE_H
#define OPENQNN_QNNOPPACKAGE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnLog.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for later fields of QnnOpPackage_Info_t. */
#define QNN_OP_PACKAGE_RESERVED_INFO_SIZE 12

/* Result codes of QnnOpPackage functions. */
typedef enum {
    QNN_OP_PACKAGE_MIN_ERROR                         = QNN_MIN_ERROR_OP_PACKAGE,
    QNN_OP_PACKAGE_NO_ERROR                          = QNN_SUCCESS,
    QNN_OP_PACKAGE_ERROR_UNSUPPORTED_FEATURE         = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED = QNN_MIN_ERROR_OP_PACKAGE,
    QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED     = QNN_MIN_ERROR_OP_PACKAGE + 1,
    QNN_OP_PACKAGE_ERROR_INVALID_HANDLE              = QNN_MIN_ERROR_OP_PACKAGE + 2,
    QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE      = QNN_MIN_ERROR_OP_PACKAGE + 100,
    QNN_OP_PACKAGE_ERROR_INVALID_INFO                = QNN_MIN_ERROR_OP_PACKAGE + 101,
    QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE          = QNN_MIN_ERROR_OP_PACKAGE + 110,
    QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT            = QNN_MIN_ERROR_OP_PACKAGE + 200,
    QNN_OP_PACKAGE_ERROR_GENERAL                     = QNN_COMMON_ERROR_GENERAL,
    QNN_OP_PACKAGE_MAX_ERROR                         = QNN_MAX_ERROR_OP_PACKAGE,
    QNN_OP_PACKAGE_ERROR_UNDEFINED                   = 0x7FFFFFFF
} QnnOpPackage_Error_t;

/* What a backend offers to a whole package; defined by the backend. */
typedef struct _QnnOpPackage_GlobalInfrastructure_t *QnnOpPackage_GlobalInfrastructure_t;

/* What a backend offers for one graph; defined by the backend. */
typedef struct _QnnOpPackage_GraphInfrastructure_t *QnnOpPackage_GraphInfrastructure_t;

/* An implementation of a node; defined by the backend. */
typedef struct _QnnOpPackage_OpImpl_t *QnnOpPackage_OpImpl_t;

/* A node to implement; defined by the backend. */
typedef struct _QnnOpPackage_Node_t *QnnOpPackage_Node_t;

/* A rewrite the package offers; defined by the backend. */
typedef struct _QnnOpPackage_Optimization_t *QnnOpPackage_Optimization_t;

/* Facts on an operator; defined by the backend. */
typedef struct _QnnOpPackage_OperationInfo_t *QnnOpPackage_OperationInfo_t;

/* Facts on a package; defined by the backend. */
typedef struct _QnnOpPackage_PackageInfo_t QnnOpPackage_PackageInfo_t;

/* What a package contains and which SDK it was built with. It belongs to the package. */
typedef struct {
    const char *packageName;
    const char **operationNames;
    const QnnOpPackage_OperationInfo_t *operationInfo;
    uint32_t numOperations;
    const QnnOpPackage_Optimization_t *optimizations;
    uint32_t numOptimizations;
    const char *sdkBuildId;
    const Qnn_ApiVersion_t *sdkApiVersion;
    const QnnOpPackage_PackageInfo_t *packageInfo;
    const Qnn_Version_t *opsetVersion;
    size_t reserved[12];
} QnnOpPackage_Info_t;

#define QNN_OP_PACKAGE_INFO_INIT                              \
    {                                                         \
        NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, \
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}                  \
    }

/* Initializes the package; called once, before all others. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_InitFn_t)(
    QnnOpPackage_GlobalInfrastructure_t infrastructure);

/* Ends the package; called last. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_TerminateFn_t)(void);

/* Describes the package. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_GetInfoFn_t)(const QnnOpPackage_Info_t **info);

/* Checks a node. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_ValidateOpConfigFn_t)(Qnn_OpConfig_t opConfig);

/* Makes an implementation of a node. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_CreateOpImplFn_t)(
    QnnOpPackage_GraphInfrastructure_t graphInfrastructure, QnnOpPackage_Node_t node,
    QnnOpPackage_OpImpl_t *opImpl);

/* Frees an implementation. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_FreeOpImplFn_t)(QnnOpPackage_OpImpl_t opImpl);

/* Tells the package where to log. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogInitializeFn_t)(QnnLog_Callback_t callback,
                                                            QnnLog_Level_t maxLogLevel);

/* Changes the level of the package. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogSetLevelFn_t)(QnnLog_Level_t maxLogLevel);

/* Ends logging. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogTerminateFn_t)(void);

/* Functions of a package, interface version 1.4: one package per library. */
typedef struct {
    QnnOpPackage_InitFn_t init;
    QnnOpPackage_TerminateFn_t terminate;
    QnnOpPackage_GetInfoFn_t getInfo;
    QnnOpPackage_ValidateOpConfigFn_t validateOpConfig;
    QnnOpPackage_CreateOpImplFn_t createOpImpl;
    QnnOpPackage_FreeOpImplFn_t freeOpImpl;
    QnnOpPackage_LogInitializeFn_t logInitialize;
    QnnOpPackage_LogSetLevelFn_t logSetLevel;
    QnnOpPackage_LogTerminateFn_t logTerminate;
} QnnOpPackage_ImplementationV1_4_t;

#define QNN_OP_PACKAGE_IMPLEMENTATION_V1_4_INIT              \
    {                                                        \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
    }

/* An op package of interface version 2. */
typedef Qnn_Handle_t Qnn_OpPackageHandle_t;

/* Creates the package, with its log. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_CreateFn_t)(
    QnnOpPackage_GlobalInfrastructure_t infrastructure, QnnLog_Callback_t callback,
    QnnLog_Level_t maxLogLevel, Qnn_OpPackageHandle_t *opPackage);

/* Checks a node. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_ValidateOpConfigHandleFn_t)(
    Qnn_OpPackageHandle_t opPackage, Qnn_OpConfig_t opConfig);

/* Makes an implementation of a node. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_CreateOpImplHandleFn_t)(
    Qnn_OpPackageHandle_t opPackage, QnnOpPackage_GraphInfrastructure_t graphInfrastructure,
    QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *opImpl);

/* Frees an implementation. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_FreeOpImplHandleFn_t)(
    Qnn_OpPackageHandle_t opPackage, QnnOpPackage_OpImpl_t opImpl);

/* Changes the level of the package. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogSetLevelHandleFn_t)(
    Qnn_OpPackageHandle_t opPackage, QnnLog_Level_t maxLogLevel);

/* Frees the package. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_FreeFn_t)(Qnn_OpPackageHandle_t opPackage);

/* Functions of a package, interface version 2.0: with a handle, so several can exist. */
typedef struct {
    QnnOpPackage_CreateFn_t create;
    QnnOpPackage_GetInfoFn_t getInfo;
    QnnOpPackage_ValidateOpConfigHandleFn_t validateOpConfig;
    QnnOpPackage_CreateOpImplHandleFn_t createOpImpl;
    QnnOpPackage_FreeOpImplHandleFn_t freeOpImpl;
    QnnOpPackage_LogSetLevelHandleFn_t logSetLevel;
    QnnOpPackage_FreeFn_t free;
} QnnOpPackage_ImplementationV2_0_t;

#define QNN_OP_PACKAGE_IMPLEMENTATION_V2_0_INIT {NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/* The table that a package fills; interfaceVersion tells which member. */
typedef struct {
    Qnn_Version_t interfaceVersion;
    union {
        QnnOpPackage_ImplementationV1_4_t v1_4;
        QnnOpPackage_ImplementationV2_0_t v2_0;
    };
} QnnOpPackage_Interface_t;

#define QNN_OP_PACKAGE_API_VERSION_1_4_0 {1, 4, 0}

#define QNN_OP_PACKAGE_INTERFACE_INIT                                               \
    {                                                                               \
        QNN_OP_PACKAGE_API_VERSION_1_4_0, {QNN_OP_PACKAGE_IMPLEMENTATION_V1_4_INIT} \
    }

/* The function that a package library exports; it fills the table. */
typedef Qnn_ErrorHandle_t (*QnnOpPackage_InterfaceProvider_t)(QnnOpPackage_Interface_t *intface_);

#define QNN_OP_PACKAGE_API_VERSION_2_0_0 {2, 0, 0}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* QnnBackend.h: the root object of a backend library.
 * Create a log first if one is wanted, then the backend, then devices and contexts; free them in
 * the opposite order. The backend also knows the operators: it lists them, checks configurations,
 * and takes further ones from op packages. Freeing it invalidates every handle made below it. */
#ifndef OPENQNN_QNNBACKEND_H
#define OPENQNN_QNNBACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnBackend functions. */
typedef enum {
    QNN_BACKEND_MIN_ERROR                              = QNN_MIN_ERROR_BACKEND,
    QNN_BACKEND_NO_ERROR                               = QNN_SUCCESS,
    QNN_BACKEND_ERROR_MEM_ALLOC                        = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_BACKEND_ERROR_UNSUPPORTED_PLATFORM             = QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED,
    QNN_BACKEND_ERROR_CANNOT_INITIALIZE                = QNN_MIN_ERROR_BACKEND,
    QNN_BACKEND_ERROR_TERMINATE_FAILED                 = QNN_MIN_ERROR_BACKEND + 2,
    QNN_BACKEND_ERROR_NOT_SUPPORTED                    = QNN_MIN_ERROR_BACKEND + 3,
    QNN_BACKEND_ERROR_INVALID_ARGUMENT                 = QNN_MIN_ERROR_BACKEND + 4,
    QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND             = QNN_MIN_ERROR_BACKEND + 5,
    QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND = QNN_MIN_ERROR_BACKEND + 6,
    QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED   = QNN_MIN_ERROR_BACKEND + 7,
    QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION   = QNN_MIN_ERROR_BACKEND + 8,
    QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE             = QNN_MIN_ERROR_BACKEND + 9,
    QNN_BACKEND_ERROR_INCONSISTENT_CONFIG              = QNN_MIN_ERROR_BACKEND + 10,
    QNN_BACKEND_ERROR_INVALID_HANDLE                   = QNN_MIN_ERROR_BACKEND + 11,
    QNN_BACKEND_ERROR_INVALID_CONFIG                   = QNN_MIN_ERROR_BACKEND + 12,
    QNN_BACKEND_MAX_ERROR                              = QNN_MAX_ERROR_BACKEND,
    QNN_BACKEND_ERROR_UNDEFINED                        = 0x7FFFFFFF
} QnnBackend_Error_t;

/* Which member of a QnnBackend_Config_t is used. */
typedef enum {
    QNN_BACKEND_CONFIG_OPTION_CUSTOM          = 0,
    QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING = 1,
    QNN_BACKEND_CONFIG_OPTION_PLATFORM        = 2,  /* string of key:value options */
    QNN_BACKEND_CONFIG_OPTION_UNDEFINED       = 0x7FFFFFFF
} QnnBackend_ConfigOption_t;

/* A backend's own config struct. */
typedef void *QnnBackend_CustomConfig_t;

/* One setting of a backend. */
typedef struct {
    QnnBackend_ConfigOption_t option;
    union {
        QnnBackend_CustomConfig_t customConfig;
        Qnn_ErrorReportingConfig_t errorConfig;
        const char *platformOption;
    };
} QnnBackend_Config_t;

#define QNN_BACKEND_CONFIG_INIT {QNN_BACKEND_CONFIG_OPTION_UNDEFINED, {NULL}}

/* An operator the backend can run. */
typedef struct {
    const char *packageName;
    const char *name;
    const char *target;  /* null: any */
} QnnBackend_OperationName_t;

#define QNN_BACKEND_OPERATION_NAME_INIT {NULL, NULL, NULL}

/* Which member of a QnnBackend_Property_t is used. */
typedef enum {
    QNN_BACKEND_PROPERTY_OPTION_CUSTOM    = 0,
    QNN_BACKEND_PROPERTY_OPTION_UNDEFINED = 0x7FFFFFFF
} QnnBackend_PropertyOption_t;

/* A backend's own property struct. */
typedef void *QnnBackend_CustomProperty_t;

/* One property to read; the option is set by the caller, the value by the library. */
typedef struct {
    QnnBackend_PropertyOption_t option;
    union {
        QnnBackend_CustomProperty_t customProperty;
    };
} QnnBackend_Property_t;

#define QNN_BACKEND_PROPERTY_INIT {QNN_BACKEND_PROPERTY_OPTION_UNDEFINED, {NULL}}

/* Creates a backend; may be called more than once and from several threads. config is a
 * null-terminated list or null. The logger, if any, must outlive the backend.
 * Errors: CANNOT_INITIALIZE, INVALID_CONFIG, INCONSISTENT_CONFIG (contradicts a backend that
 * exists), INVALID_ARGUMENT, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnBackend_create(Qnn_LogHandle_t logger,
                                            const QnnBackend_Config_t **config,
                                            Qnn_BackendHandle_t *backend);

/* Changes settings of a backend that exists. Errors: INVALID_HANDLE, INVALID_CONFIG,
 * INCONSISTENT_CONFIG, NOT_SUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnBackend_setConfig(Qnn_BackendHandle_t backend,
                                               const QnnBackend_Config_t **config);

/* Writes the core and backend API versions of this library. Needs no backend. Error:
 * INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnBackend_getApiVersion(Qnn_ApiVersion_t *pVersion);

/* Points id at the library's build id, a static string. Needs no backend. Error: INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnBackend_getBuildId(const char **id);

/* Loads an op package from packagePath, calls its exported function interfaceProvider and adds its
 * operators; target names the core it is for, or is null. It stays loaded until the backend is
 * freed.
 * Errors: OP_PACKAGE_NOT_FOUND, OP_PACKAGE_IF_PROVIDER_NOT_FOUND, OP_PACKAGE_REGISTRATION_FAILED,
 * OP_PACKAGE_UNSUPPORTED_VERSION, OP_PACKAGE_DUPLICATE, INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnBackend_registerOpPackage(Qnn_BackendHandle_t backend,
                                                       const char *packagePath,
                                                       const char *interfaceProvider,
                                                       const char *target);

/* Lists the operators of the built-in and registered packages; a null backend asks for the built-in
 * ones. The array belongs to the library. Errors: INVALID_HANDLE, INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnBackend_getSupportedOperations(
    Qnn_BackendHandle_t backend, uint32_t *numOperations,
    const QnnBackend_OperationName_t **operations);

/* Checks whether a node like this can run: types, shapes, parameters. Tensor ids and names do not
 * matter.
 * Errors: QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, OP_PACKAGE_NOT_FOUND, INVALID_HANDLE,
 * NOT_SUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnBackend_validateOpConfig(Qnn_BackendHandle_t backend,
                                                      Qnn_OpConfig_t opConfig);

/* Fills the null-terminated list of properties. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * NOT_SUPPORTED (unknown option). */
QNN_API Qnn_ErrorHandle_t QnnBackend_getProperty(Qnn_BackendHandle_t backendHandle,
                                                 QnnBackend_Property_t **properties);

/* Frees the backend and all that was made with it. Errors: INVALID_HANDLE, TERMINATE_FAILED. */
QNN_API Qnn_ErrorHandle_t QnnBackend_free(Qnn_BackendHandle_t backend);

#ifdef __cplusplus
}
#endif

#endif

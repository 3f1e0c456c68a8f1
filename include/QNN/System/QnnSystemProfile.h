/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemProfile.h: writes profile events to a file that profile viewers read.
 * Create a target, serialize events into it as they come, free it to complete the file. */
#ifndef OPENQNN_QNNSYSTEMPROFILE_H
#define OPENQNN_QNNSYSTEMPROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnCommon.h"
#include "../QnnProfile.h"
#include "../QnnTypes.h"
#include "QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An event points at its sub-events. */
typedef struct QnnSystemProfile_ProfileEventV1_t QnnSystemProfile_ProfileEventV1_t;

/* Result codes of QnnSystemProfile functions. */
typedef enum {
    QNN_SYSTEM_PROFILE_NO_ERROR                  = QNN_SUCCESS,
    QNN_SYSTEM_PROFILE_ERROR_UNSUPPORTED_FEATURE = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE      = QNN_MIN_ERROR_SYSTEM,
    QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT    = QNN_MIN_ERROR_SYSTEM + 1,
    QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC           = 31000
} QnnSystemProfile_Error_t;

/* A file to write to. */
typedef struct {
    const char *fileName;
    const char *fileDirectory;
} QnnSystemProfile_SerializationTargetFile_t;

/* Kinds of targets. */
typedef enum {
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE      = 1,
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_UNDEFINED = 0x7FFFFFFF
} QnnSystemProfile_SerializationTargetType_t;

/* Where events go. */
typedef struct {
    QnnSystemProfile_SerializationTargetType_t type;
    union {
        QnnSystemProfile_SerializationTargetFile_t file;
    };
} QnnSystemProfile_SerializationTarget_t;

/* Who was measured; stored at the start of the file. */
typedef struct {
    const char *appName;
    const char *appVersion;
    const char *backendVersion;
} QnnSystemProfile_SerializationFileHeader_t;

/* Which setting a QnnSystemProfile_SerializationTargetConfig_t holds. */
typedef enum {
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_MAX_NUM_MESSAGES     = 0,
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER = 1,
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_UNDEFINED            = 0x7FFFFFFF
} QnnSystemProfile_SerializationTargetConfigType_t;

/* One setting of a target. */
typedef struct {
    QnnSystemProfile_SerializationTargetConfigType_t type;
    union {
        uint32_t maxNumMessages;
        QnnSystemProfile_SerializationFileHeader_t serializationHeader;
    };
} QnnSystemProfile_SerializationTargetConfig_t;

/* The call that was measured, of the backend or of the application. */
typedef enum {
    QNN_SYSTEM_PROFILE_METHOD_TYPE_NONE                            = 0,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE                 = 1,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE                = 2,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC           = 3,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY      = 4,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_DEINIT                  = 5,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_CONTEXT_CREATE              = 6,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_COMPOSE_GRAPHS              = 7,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_EXECUTE_IPS                 = 8,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_GRAPH_COMPONENT         = 9,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_BACKEND_LIB_LOAD            = 10,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_APPLY_BINARY_SECTION    = 11,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_FINALIZE                = 12,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_GET_BINARY_SIZE         = 13,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_GET_BINARY              = 14,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_GET_BINARY_SECTION_SIZE = 15,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE_TENSOR_UPDATES = 16,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_UPDATE_BINARY_SECTION   = 17
} QnnSystemProfile_MethodType_t;

/* Who may see the data. */
typedef enum {
    QNN_SYSTEM_PROFILE_VISIBILITY_PUBLIC  = 0,
    QNN_SYSTEM_PROFILE_VISIBILITY_PRIVATE = 1
} QnnSystemProfile_Visibility_t;

/* The call that events belong to. */
typedef struct {
    uint64_t startTime;  /* microseconds */
    uint64_t stopTime;
    uint64_t startMem;
    uint64_t stopMem;
    QnnSystemProfile_MethodType_t methodType;
    QnnSystemProfile_Visibility_t visibility;
    const char *graphName;
} QnnSystemProfile_HeaderV1_t;

#define QNN_SYSTEM_PROFILE_HEADER_V1_INIT                                                      \
    {                                                                                          \
        0, 0, 0, 0, QNN_SYSTEM_PROFILE_METHOD_TYPE_NONE, QNN_SYSTEM_PROFILE_VISIBILITY_PUBLIC, \
        NULL                                                                                   \
    }

/* Which member of a QnnSystemProfile_ProfileEventV1_t is used. */
typedef enum {
    QNN_SYSTEM_PROFILE_EVENT_DATA           = 0,
    QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA  = 1,
    QNN_SYSTEM_PROFILE_EVENT_DATA_UNDEFINED = 0x7FFFFFFF
} QnnSystemProfile_EventDataType_t;

/* An event and the events below it. */
struct QnnSystemProfile_ProfileEventV1_t {
    QnnSystemProfile_EventDataType_t type;
    union {
        QnnProfile_EventData_t eventData;
        QnnProfile_ExtendedEventData_t extendedEventData;
    };
    QnnSystemProfile_ProfileEventV1_t *profileSubEventData;
    uint32_t numSubEvents;
};

#define QNN_SYSTEM_PROFILE_EVENT_V1_INIT                                                \
    {                                                                                   \
        QNN_SYSTEM_PROFILE_EVENT_DATA_UNDEFINED, {QNN_PROFILE_EVENT_DATA_INIT}, NULL, 0 \
    }

/* A call and its events. */
typedef struct {
    QnnSystemProfile_HeaderV1_t header;
    QnnSystemProfile_ProfileEventV1_t *profilingEvents;
    uint32_t numProfilingEvents;
} QnnSystemProfile_ProfileDataV1_t;

#define QNN_SYSTEM_PROFILE_DATA_V1_INIT {QNN_SYSTEM_PROFILE_HEADER_V1_INIT, NULL, 0}

/* Versions of QnnSystemProfile_ProfileData_t. */
typedef enum {
    QNN_SYSTEM_PROFILE_DATA_VERSION_1         = 1,
    QNN_SYSTEM_PROFILE_DATA_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnSystemProfile_ProfileDataVersion_t;

/* Versioned QnnSystemProfile_ProfileDataV1_t. */
typedef struct {
    QnnSystemProfile_ProfileDataVersion_t version;
    union {
        QnnSystemProfile_ProfileDataV1_t v1;
    };
} QnnSystemProfile_ProfileData_t;

#define QNN_SYSTEM_PROFILE_DATA_INIT                                                 \
    {                                                                                \
        QNN_SYSTEM_PROFILE_DATA_VERSION_UNDEFINED, {QNN_SYSTEM_PROFILE_DATA_V1_INIT} \
    }

/* A target. */
typedef void *QnnSystemProfile_SerializationTargetHandle_t;

/* Creates a target; configs is an array of numConfigs structs. Errors: INVALID_ARGUMENT, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnSystemProfile_createSerializationTarget(
    QnnSystemProfile_SerializationTarget_t serializationTargetInfo,
    QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t numConfigs,
    QnnSystemProfile_SerializationTargetHandle_t *serializationTarget);

/* Appends events, which stay the caller's. Errors: INVALID_HANDLE, INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnSystemProfile_serializeEventData(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget,
    const QnnSystemProfile_ProfileData_t **eventData, uint32_t numEvents);

/* Completes and frees a target. Error: INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnSystemProfile_freeSerializationTarget(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget);

#ifdef __cplusplus
}
#endif

#endif

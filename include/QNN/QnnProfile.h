/* SPDX-License-Identifier: Apache-2.0 */
/* QnnProfile.h: measurements of what the API did.
 * Create a profile with a level, pass it to the calls to be measured, read its events, free it.
 * Events form a tree: an event may have sub-events. Using the handle in another call starts it
 * anew; events and their strings live until then or until free. */
#ifndef OPENQNN_QNNPROFILE_H
#define OPENQNN_QNNPROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Event types. Those from BACKEND on are defined in the header of the backend. */
#define QNN_PROFILE_EVENTTYPE_INIT                100
#define QNN_PROFILE_EVENTTYPE_FINALIZE            300
#define QNN_PROFILE_EVENTTYPE_EXECUTE             400
#define QNN_PROFILE_EVENTTYPE_NODE                404  /* one op of an execution */
#define QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT  405
#define QNN_PROFILE_EVENTTYPE_EXECUTE_PREPROCESS  406
#define QNN_PROFILE_EVENTTYPE_EXECUTE_DEVICE      407
#define QNN_PROFILE_EVENTTYPE_EXECUTE_POSTPROCESS 408
#define QNN_PROFILE_EVENTTYPE_DEINIT              500
#define QNN_PROFILE_EVENTTYPE_TRACE               600  /* a point in time, with a timestamp */
#define QNN_PROFILE_EVENTTYPE_BACKEND             1000

/* How much is measured: whole calls, or every node. */
#define QNN_PROFILE_LEVEL_BASIC    1
#define QNN_PROFILE_LEVEL_DETAILED 2
#define QNN_PROFILE_LEVEL_BACKEND  1000

/* What the value of an event counts. */
#define QNN_PROFILE_EVENTUNIT_MICROSEC 1
#define QNN_PROFILE_EVENTUNIT_BYTES    2
#define QNN_PROFILE_EVENTUNIT_CYCLES   3
#define QNN_PROFILE_EVENTUNIT_COUNT    4
#define QNN_PROFILE_EVENTUNIT_OBJECT   5  /* an opaque object of the backend */
#define QNN_PROFILE_EVENTUNIT_NONE     6
#define QNN_PROFILE_EVENTUNIT_BACKEND  1000

/* Result codes of QnnProfile functions. */
typedef enum {
    QNN_PROFILE_MIN_ERROR                = QNN_MIN_ERROR_PROFILE,
    QNN_PROFILE_NO_ERROR                 = QNN_SUCCESS,
    QNN_PROFILE_ERROR_UNSUPPORTED        = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_PROFILE_ERROR_INVALID_ARGUMENT   = QNN_COMMON_ERROR_INVALID_ARGUMENT,
    QNN_PROFILE_ERROR_MEM_ALLOC          = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_PROFILE_ERROR_INVALID_HANDLE     = QNN_MIN_ERROR_PROFILE,
    QNN_PROFILE_ERROR_HANDLE_IN_USE      = QNN_MIN_ERROR_PROFILE + 1,
    QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT = QNN_MIN_ERROR_PROFILE + 2,
    QNN_PROFILE_MAX_ERROR                = QNN_MAX_ERROR_PROFILE,
    QNN_PROFILE_ERROR_UNDEFINED          = 0x7FFFFFFF
} QnnProfile_Error_t;

/* One of QNN_PROFILE_EVENTTYPE_*. */
typedef uint32_t QnnProfile_EventType_t;

/* One of QNN_PROFILE_EVENTUNIT_*. */
typedef uint32_t QnnProfile_EventUnit_t;

/* A measured value. */
typedef uint64_t QnnProfile_EventValue_t;

/* One event; the identifier belongs to the profile. */
typedef struct {
    QnnProfile_EventType_t type;
    QnnProfile_EventUnit_t unit;
    QnnProfile_EventValue_t value;
    const char *identifier;
} QnnProfile_EventData_t;

#define QNN_PROFILE_EVENT_DATA_INIT {0, 0, 0, NULL}

/* Data for a tool of the backend, and the file it belongs to. */
typedef struct {
    Qnn_OpaqueObject_t opaqueObject;
    const char *fileName;
} QnnProfile_BackendOpaqueObject_t;

#define QNN_PROFILE_BACKEND_OPAQUE_OBJECT_INIT {QNN_OPAQUE_OBJECT_INIT, NULL}

/* One event with a typed value and a time. */
typedef struct {
    QnnProfile_EventType_t type;
    QnnProfile_EventUnit_t unit;
    union {
        Qnn_Scalar_t value;
        QnnProfile_BackendOpaqueObject_t backendOpaqueObject;
    };
    uint64_t timestamp;
    const char *identifier;
} QnnProfile_ExtendedEventDataV1_t;

#define QNN_PROFILE_EXTENDED_EVENT_DATA_V1_INIT {0, 0, {QNN_SCALAR_INIT}, 0, NULL}

/* Versions of QnnProfile_ExtendedEventData_t. */
typedef enum {
    QNN_PROFILE_DATA_VERSION_1         = 1,
    QNN_PROFILE_DATA_VERSION_UNDEFINED = 0x7FFFFFFF
} QnnProfile_ExtendedEventDataVersion_t;

/* Versioned QnnProfile_ExtendedEventDataV1_t. */
typedef struct {
    QnnProfile_ExtendedEventDataVersion_t version;
    union {
        QnnProfile_ExtendedEventDataV1_t v1;
    };
} QnnProfile_ExtendedEventData_t;

#define QNN_PROFILE_EXTENDED_EVENT_DATA_INIT                                  \
    {                                                                         \
        QNN_PROFILE_DATA_VERSION_1, {QNN_PROFILE_EXTENDED_EVENT_DATA_V1_INIT} \
    }

/* Which member of a QnnProfile_Config_t is used. */
typedef enum {
    QNN_PROFILE_CONFIG_OPTION_CUSTOM         = 0,
    QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS     = 1,
    QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE = 2,  /* a timeline of the accelerator */
    QNN_PROFILE_CONFIG_OPTION_UNDEFINED      = 0x7FFFFFFF
} QnnProfile_ConfigOption_t;

/* A backend's own config struct. */
typedef void *QnnProfile_CustomConfig_t;

/* One setting of a profile. */
typedef struct {
    QnnProfile_ConfigOption_t option;
    union {
        QnnProfile_CustomConfig_t customConfig;
        uint64_t numMaxEvents;
        uint8_t enableOptrace;
    };
} QnnProfile_Config_t;

#define QNN_PROFILE_CONFIG_INIT {QNN_PROFILE_CONFIG_OPTION_UNDEFINED, {NULL}}

/* One of QNN_PROFILE_LEVEL_*. */
typedef uint32_t QnnProfile_Level_t;

/* An event; valid as long as its profile. */
typedef uint64_t QnnProfile_EventId_t;

/* Creates a profile of the given level. Errors: UNSUPPORTED (level), INVALID_ARGUMENT, MEM_ALLOC,
 * QNN_BACKEND_ERROR_INVALID_HANDLE. */
QNN_API Qnn_ErrorHandle_t QnnProfile_create(Qnn_BackendHandle_t backend, QnnProfile_Level_t level,
                                            Qnn_ProfileHandle_t *profile);

/* Changes settings of a profile that is not in use. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * HANDLE_IN_USE, UNSUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnProfile_setConfig(Qnn_ProfileHandle_t profileHandle,
                                               const QnnProfile_Config_t **config);

/* Lists the top-level events; the array belongs to the profile. Errors: INVALID_HANDLE,
 * INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnProfile_getEvents(Qnn_ProfileHandle_t profile,
                                               const QnnProfile_EventId_t **profileEventIds,
                                               uint32_t *numEvents);

/* Lists the events below an event; the array belongs to the profile. Errors: INVALID_HANDLE,
 * INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnProfile_getSubEvents(QnnProfile_EventId_t eventId,
                                                  const QnnProfile_EventId_t **subEventIds,
                                                  uint32_t *numSubEvents);

/* Reads an event. Errors: INVALID_HANDLE, INVALID_ARGUMENT, INCOMPATIBLE_EVENT (needs
 * getExtendedEventData). */
QNN_API Qnn_ErrorHandle_t QnnProfile_getEventData(QnnProfile_EventId_t eventId,
                                                  QnnProfile_EventData_t *eventData);

/* Reads an event with its typed value and time. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * UNSUPPORTED. */
QNN_API Qnn_ErrorHandle_t QnnProfile_getExtendedEventData(QnnProfile_EventId_t eventId,
                                                          QnnProfile_ExtendedEventData_t *eventData);

/* Frees a profile and its events. Errors: INVALID_HANDLE, HANDLE_IN_USE. */
QNN_API Qnn_ErrorHandle_t QnnProfile_free(Qnn_ProfileHandle_t profile);

#ifdef __cplusplus
}
#endif

#endif

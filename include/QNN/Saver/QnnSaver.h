/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSaver.h: a backend that records API calls as a C source and a data file, to be replayed on
 * another backend.
 * Initialize it before anything else, then use the API as usual; results are dummies. */
#ifndef OPENQNN_QNNSAVER_H
#define OPENQNN_QNNSAVER_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnBackend.h"
#include "../QnnCommon.h"
#include "QnnSaverCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of the Saver. */
typedef enum {
    QNN_SAVER_MIN_ERROR                  = QNN_MIN_ERROR_BACKEND_SAVER,
    QNN_SAVER_ERROR_DUMMY_RETVALUE       = QNN_MIN_ERROR_BACKEND_SAVER,  /* a value the Saver cannot know */
    QNN_SAVER_ERROR_ALREADY_INSTANTIATED = QNN_MIN_ERROR_BACKEND_SAVER + 1,
    QNN_SAVER_MAX_ERROR                  = QNN_MAX_ERROR_BACKEND_SAVER
} QnnSaver_Error_t;

/* Names of the two files. */
typedef struct {
    const char *modelFileName;
    const char *dataFileName;
} QnnSaver_FileConfig_t;

/* Which setting a QnnSaver_Config_t holds. */
typedef enum {
    QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY = 0,
    QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP = 1,
    QNN_SAVER_CONFIG_OPTION_BACKEND_ID       = 2,  /* the backend to replay on */
    QNN_SAVER_CONFIG_OPTION_FILE_CONFIG      = 3,
    QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER     = 4,
    QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER     = 5,
    QNN_SAVER_CONFIG_OPTION_UNDEFINED        = 0x7FFFFFFF
} QnnSaver_ConfigOption_t;

/* One setting of the Saver. */
typedef struct {
    QnnSaver_ConfigOption_t option;
    union {
        const char *outputDirectory;
        uint8_t appendTimestamp;
        uint32_t backendId;
        QnnSaver_FileConfig_t fileConfig;
        uint8_t writeOutputHeader;
        uint8_t writeOutputFooter;
    };
} QnnSaver_Config_t;

#define QNN_SAVER_CONFIG_INIT {QNN_SAVER_CONFIG_OPTION_UNDEFINED, {NULL}}

/* Starts recording; config is a null-terminated list or null. Errors:
 * QNN_SAVER_ERROR_ALREADY_INSTANTIATED, QNN_COMMON_ERROR_INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnSaver_initialize(const QnnSaver_Config_t **config);

#ifdef __cplusplus
}
#endif

#endif

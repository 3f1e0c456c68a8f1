/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSaverCommon.h: identity and version of the Saver backend. */
#ifndef OPENQNN_QNNSAVERCOMMON_H
#define OPENQNN_QNNSAVERCOMMON_H

#include "../QnnTypes.h"

/* Backend id and provider name. */
#define QNN_BACKEND_ID_SAVER              2
#define QNN_SAVER_INTERFACE_PROVIDER_NAME "SAVER_QTI_AISW"

/* Version of the Saver API. */
#define QNN_SAVER_API_VERSION_MAJOR 1
#define QNN_SAVER_API_VERSION_MINOR 1
#define QNN_SAVER_API_VERSION_PATCH 0

#define QNN_SAVER_API_VERSION_INIT                                                              \
    {                                                                                           \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},                  \
        {QNN_SAVER_API_VERSION_MAJOR, QNN_SAVER_API_VERSION_MINOR, QNN_SAVER_API_VERSION_PATCH} \
    }

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpCommon.h: identity and versions of the HTP backend, libQnnHtp.so.
 * HTP is the Hexagon tensor processor: graphs are compiled for its vector and matrix units and its
 * on-chip memory (VTCM) and run in a session of their own. */
#ifndef OPENQNN_QNNHTPCOMMON_H
#define OPENQNN_QNNHTPCOMMON_H

#include "../QnnTypes.h"

/* Backend id and provider name. */
#define QNN_BACKEND_ID_HTP              6
#define QNN_HTP_INTERFACE_PROVIDER_NAME "HTP_QTI_AISW"

/* Version of the HTP API. */
#define QNN_HTP_API_VERSION_MAJOR 5
#define QNN_HTP_API_VERSION_MINOR 48
#define QNN_HTP_API_VERSION_PATCH 0

/* Version of the blobs in a context binary. */
#define QNN_HTP_CONTEXT_BLOB_VERSION_MAJOR 4
#define QNN_HTP_CONTEXT_BLOB_VERSION_MINOR 0
#define QNN_HTP_CONTEXT_BLOB_VERSION_PATCH 4

/* Security versions of the libraries on the accelerator; older architectures have none. */
#define QNN_HTP_NATIVE_LIB_SECURITY_VERSIONING_MIN_ARCH 73
#define QNN_HTP_V73_NATIVE_LIB_SECURITY_VERSION_MAJOR   1
#define QNN_HTP_V73_NATIVE_LIB_SECURITY_VERSION_MINOR   0
#define QNN_HTP_V73_NATIVE_LIB_SECURITY_VERSION_PATCH   0
#define QNN_HTP_V75_NATIVE_LIB_SECURITY_VERSION_MAJOR   1
#define QNN_HTP_V75_NATIVE_LIB_SECURITY_VERSION_MINOR   0
#define QNN_HTP_V75_NATIVE_LIB_SECURITY_VERSION_PATCH   0
#define QNN_HTP_V79_NATIVE_LIB_SECURITY_VERSION_MAJOR   1
#define QNN_HTP_V79_NATIVE_LIB_SECURITY_VERSION_MINOR   0
#define QNN_HTP_V79_NATIVE_LIB_SECURITY_VERSION_PATCH   0
#define QNN_HTP_V81_NATIVE_LIB_SECURITY_VERSION_MAJOR   1
#define QNN_HTP_V81_NATIVE_LIB_SECURITY_VERSION_MINOR   0
#define QNN_HTP_V81_NATIVE_LIB_SECURITY_VERSION_PATCH   0
#define QNN_HTP_V85_NATIVE_LIB_SECURITY_VERSION_MAJOR   1
#define QNN_HTP_V85_NATIVE_LIB_SECURITY_VERSION_MINOR   0
#define QNN_HTP_V85_NATIVE_LIB_SECURITY_VERSION_PATCH   0

#define QNN_HTP_API_VERSION_INIT                                                          \
    {                                                                                     \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},            \
        {QNN_HTP_API_VERSION_MAJOR, QNN_HTP_API_VERSION_MINOR, QNN_HTP_API_VERSION_PATCH} \
    }

#endif

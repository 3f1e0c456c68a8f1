/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspCommon.h: identity and versions of the DSP backend, libQnnDsp.so, the one of DSPs before HTP.
 * openqnn has no such library; clients include these headers and open the library only where it exists. */
#ifndef OPENQNN_QNNDSPCOMMON_H
#define OPENQNN_QNNDSPCOMMON_H

#include "../QnnCommon.h"
#include "../QnnTypes.h"

/* Backend id and provider name. */
#define QNN_BACKEND_ID_DSP              5
#define QNN_DSP_INTERFACE_PROVIDER_NAME "DSP_QTI_AISW"

/* Version of the DSP API. */
#define QNN_DSP_API_VERSION_MAJOR 5
#define QNN_DSP_API_VERSION_MINOR 0
#define QNN_DSP_API_VERSION_PATCH 1

/* Version of its binaries, and of the blobs in them. */
#define QNN_DSP_BINARY_VERSION_MAJOR       1
#define QNN_DSP_BINARY_VERSION_MINOR       0
#define QNN_DSP_BINARY_VERSION_PATCH       0
#define QNN_DSP_CONTEXT_BLOB_VERSION_MAJOR 1
#define QNN_DSP_CONTEXT_BLOB_VERSION_MINOR 0
#define QNN_DSP_CONTEXT_BLOB_VERSION_PATCH 0

#define QNN_DSP_API_VERSION_INIT                                                          \
    {                                                                                     \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},            \
        {QNN_DSP_API_VERSION_MAJOR, QNN_DSP_API_VERSION_MINOR, QNN_DSP_API_VERSION_PATCH} \
    }

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiCommon.h: identity and versions of the LPAI backend, libQnnLpai.so.
 * LPAI is the low-power accelerator beside the audio DSP (eNPU). All memory of a graph, scratch,
 * persistent and I/O, is brought by the client. */
#ifndef OPENQNN_QNNLPAICOMMON_H
#define OPENQNN_QNNLPAICOMMON_H

#include "../QnnTypes.h"

/* Backend ids, the second for code that runs in island mode, and provider name. */
#define QNN_BACKEND_ID_LPAI              12
#define QNN_BACKEND_ID_LPAI_ISLAND       16
#define QNN_LPAI_INTERFACE_PROVIDER_NAME "LPAI_QTI_AISW"

/* Version of the LPAI API. */
#define QNN_LPAI_API_VERSION_MAJOR 2
#define QNN_LPAI_API_VERSION_MINOR 33
#define QNN_LPAI_API_VERSION_PATCH 0

/* Version of LPAI binaries. */
#define QNN_LPAI_BINARY_VERSION_MAJOR 1
#define QNN_LPAI_BINARY_VERSION_MINOR 0
#define QNN_LPAI_BINARY_VERSION_PATCH 0

/* Version of the blobs in a context binary. */
#define QNN_LPAI_CONTEXT_BLOB_VERSION_MAJOR 1
#define QNN_LPAI_CONTEXT_BLOB_VERSION_MINOR 0
#define QNN_LPAI_CONTEXT_BLOB_VERSION_PATCH 0

#define QNN_LPAI_API_VERSION_INIT                                                            \
    {                                                                                        \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},               \
        {QNN_LPAI_API_VERSION_MAJOR, QNN_LPAI_API_VERSION_MINOR, QNN_LPAI_API_VERSION_PATCH} \
    }

#endif

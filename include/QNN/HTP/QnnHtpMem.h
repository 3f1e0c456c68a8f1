/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpMem.h: HTP's own kinds of memory, for Qnn_MemDescriptor_t::customInfo.
 * A file descriptor with an offset lets one buffer serve many tensors; weights, spill-fill and VTCM
 * backup can live in client buffers, too. */
#ifndef OPENQNN_QNNHTPMEM_H
#define OPENQNN_QNNHTPMEM_H

#include <stdint.h>

#include "../QnnMem.h"
#include "QnnHtpCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A part of a buffer. */
typedef struct {
    int32_t fd;
    uint64_t offset;
} QnnHtpMem_SharedBufferConfig_t;

/* Kinds of HTP memory. */
typedef enum {
    QNN_HTP_MEM_QURT                     = 0,  /* an address in the session */
    QNN_HTP_MEM_SHARED_BUFFER            = 1,  /* one buffer for several tensors */
    QNN_HTP_MEM_WEIGHTS_BUFFER           = 2,  /* constants of a context */
    QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER  = 3,  /* what does not fit into VTCM */
    QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER = 4,  /* VTCM of a graph that had to yield */
    QNN_HTP_MEM_UNDEFINED                = 0x7FFFFFFF
} QnnHtpMem_Type_t;

/* An address in the session's memory. */
typedef uint32_t QnnHtpMem_QurtAddress_t;

/* An HTP buffer to register. */
typedef struct {
    QnnHtpMem_Type_t type;
    uint64_t size;
    union {
        QnnHtpMem_QurtAddress_t qurtAddress;
        QnnHtpMem_SharedBufferConfig_t sharedBufferConfig;
        QnnHtpMem_SharedBufferConfig_t weightsBufferConfig;
        QnnHtpMem_SharedBufferConfig_t sharedSpillfillBufferConfig;
        QnnHtpMem_SharedBufferConfig_t sharedVTCMBackupBufferConfig;
        QnnHtpMem_QurtAddress_t sharedSpillfillBufferQurtAddress;
        QnnHtpMem_QurtAddress_t sharedVTCMBackupBufferQurtAddress;
    };
} QnnMemHtp_Descriptor_t;

#ifdef __cplusplus
}
#endif

#endif

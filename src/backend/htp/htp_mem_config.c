/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's HTP memory descriptor names. */
#include <QNN/HTP/QnnHtpMem.h>

#include "backend/htp/htp_backend.h"

enum status htp_mem_custom(const void *info, struct backend_mem_spec *ret)
{
    const QnnMemHtp_Descriptor_t *d = info;
    static const enum backend_mem_use uses[] = {
        [QNN_HTP_MEM_SHARED_BUFFER] = MEM_TENSOR,
        [QNN_HTP_MEM_WEIGHTS_BUFFER] = MEM_WEIGHTS,
        [QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER] = MEM_SPILL_FILL,
        [QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER] = MEM_VTCM_BACKUP,
    };
    /* A descriptor that was filled for ION has a small number here. */
    RETURN_IF((uintptr_t)info < 4096, ST_INVALID_ARG,
              "custom memory: customInfo is %p; a QnnMemHtp_Descriptor_t is expected", info);
    RETURN_IF(
        d->type == QNN_HTP_MEM_QURT, ST_MEM_TYPE,
        "custom memory: type 0 (QURT) is VTCM that a thread of the client's own holds in the DSP process: a signed "
        "process domain (SIGNEDPD), the highest priority, and a graph of less VTCM than the SoC has (v73 and later); a "
        "session here runs no such threads. Graphs share VTCM by themselves; for memory of the client register a file "
        "descriptor with type 1 (SHARED_BUFFER)");
    RETURN_IF((uint32_t)d->type >= sizeof uses / sizeof uses[0], ST_MEM_TYPE,
              "custom memory: type %u is unknown; 1 (SHARED_BUFFER) to 4 (SHARED_VTCMBACKUP_BUFFER) are known",
              (unsigned)d->type);
    RETURN_IF(d->sharedBufferConfig.fd < 0, ST_INVALID_ARG, "custom memory: the file descriptor is %d",
              d->sharedBufferConfig.fd);
    RETURN_IF(!d->size, ST_INVALID_ARG, "custom memory: size is 0; give that of the whole buffer");
    ret->use = uses[d->type];
    ret->fd = d->sharedBufferConfig.fd;
    ret->offset = d->sharedBufferConfig.offset;
    *(ret->use == MEM_TENSOR ? &ret->total : &ret->bytes) = d->size;
    return ST_OK;
}

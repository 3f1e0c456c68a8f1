/* SPDX-License-Identifier: Apache-2.0 */
/* table: memory that clients register or hand over, and the environments that name it. */
#include "QNN/HTP/QnnHtpMem.h"
#include "QNN/LPAI/QnnLpaiMem.h"
#include "QNN/QnnContext.h"
#include "QNN/QnnGraph.h"
#include "QNN/QnnMem.h"
#include "api/saver/saver_table.h"

#define SUB(m, t) { FIELD_OF(S, m, SAVER_STRUCT), .type = &(t) }
#define SUB_WHEN(m, t, v) { FIELD_OF(S, m, SAVER_STRUCT), .type = &(t), WHEN(v) }
#define ARRAY(m, t, at) { FIELD_OF(S, m, SAVER_ARRAY), .type = &(t), .count = COUNT_FIELD, .count_at = offsetof(S, at) }

/* ---- registered memory: file descriptors become those of the program's buffers ---------------------------------------- */

#define S Qnn_MemShape_t
static const struct saver_field shape_f[] = {
    F(numDim, SAVER_U32), ARRAY(dimSize, saver_u32, numDim), F(shapeConfig, SAVER_TEXT)
};
static TYPE(shape, shape_f, );
#undef S
#define S Qnn_MemIonInfo_t
static const struct saver_field ion_f[] = { F(fd, SAVER_FD) };
static TYPE(ion, ion_f, );
#undef S
#define S Qnn_MemDmaBufInfo_t
static const struct saver_field dma_f[] = { F(fd, SAVER_FD), F(data, SAVER_MAPPED) };
static TYPE(dma, dma_f, );
#undef S
#define S Qnn_MemDescriptor_t
static uint32_t memory_type(const void *o)
{
    return (uint32_t)((const S *)o)->memType;
}
static const struct saver_field descriptor_f[] = {
    SUB(memShape, shape), F(dataType, SAVER_I32), F(memType, SAVER_I32), SUB_WHEN(ionInfo, ion, QNN_MEM_TYPE_ION),
    SUB_WHEN(dmaBufInfo, dma, QNN_MEM_TYPE_DMA_BUF), { FIELD_OF(S, customInfo, SAVER_CUSTOM), WHEN(QNN_MEM_TYPE_CUSTOM) }
};
TYPE(saver_mem_descriptor, descriptor_f, .select = memory_type);
#undef S

#define S QnnHtpMem_SharedBufferConfig_t
static const struct saver_field htp_part_f[] = { F(fd, SAVER_FD), F(offset, SAVER_U64) };
static TYPE(htp_part, htp_part_f, );
#undef S
#define S QnnMemHtp_Descriptor_t
static const struct saver_field htp_f[] = {
    F(type, SAVER_I32),
    F(size, SAVER_U64),
    SUB_WHEN(sharedBufferConfig, htp_part, QNN_HTP_MEM_SHARED_BUFFER),
    SUB_WHEN(weightsBufferConfig, htp_part, QNN_HTP_MEM_WEIGHTS_BUFFER),
    SUB_WHEN(sharedSpillfillBufferConfig, htp_part, QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER),
    SUB_WHEN(sharedVTCMBackupBufferConfig, htp_part, QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER),
};
TYPE(saver_htp_memory, htp_f, .select = first_word);
#undef S
#define S QnnLpaiMem_MemInfoCustom_t
static const struct saver_field lpai_f[] = { F(fd, SAVER_FD), F(offset, SAVER_U32) };
TYPE(saver_lpai_memory, lpai_f, );
#undef S

/* ---- buffers of binaries ---------------------------------------------------------------------------------------------- */

#define S QnnContext_BufferV1_t
static const struct saver_field buffer_v1_f[] = {
    F(memType, SAVER_I32), { FIELD_OF(S, binaryBuf, SAVER_BYTES), WHEN(QNN_CONTEXTMEMTYPE_RAW) },
    { FIELD_OF(S, memHandle, SAVER_HANDLE), WHEN(QNN_CONTEXTMEMTYPE_MEMHANDLE) }
};
static TYPE(buffer_v1, buffer_v1_f, .select = first_word);
#undef S
#define S QnnContext_Buffer_t
static const struct saver_field buffer_f[] = { F(version, SAVER_I32), SUB_WHEN(v1, buffer_v1, QNN_CONTEXT_BUFFER_VERSION_1) };
TYPE(saver_context_buffer, buffer_f, .select = first_word);
#undef S

/* ---- environments ----------------------------------------------------------------------------------------------------- */

#define S Qnn_TensorSetV1_t
static const struct saver_field set_v1_f[] = {
    F(numInputs, SAVER_U32), ARRAY(inputs, saver_tensor, numInputs), F(numOutputs, SAVER_U32),
    ARRAY(outputs, saver_tensor, numOutputs)
};
static TYPE(set_v1, set_v1_f, );
#undef S
#define S Qnn_TensorSet_t
static const struct saver_field set_f[] = { F(version, SAVER_I32), SUB_WHEN(v1, set_v1, QNN_TENSOR_SET_VERSION_1) };
static TYPE(set, set_f, .select = first_word);
#undef S
#define S QnnGraph_ExecuteEnvironment_t
static const struct saver_field environment_f[] = { F(option, SAVER_I32), SUB(tensorSet, set) };
TYPE(saver_environment, environment_f, );
#undef S

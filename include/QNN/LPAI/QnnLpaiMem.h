/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiMem.h: kinds of LPAI memory and the descriptor for QnnMem_register. */
#ifndef OPENQNN_QNNLPAIMEM_H
#define OPENQNN_QNNLPAIMEM_H

#include <stdint.h>

#include "../QnnMem.h"
#include "QnnLpaiCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A part of a buffer, for Qnn_MemDescriptor_t::customInfo. */
typedef struct {
    int32_t fd;
    uint32_t offset;
} QnnLpaiMem_MemInfoCustom_t;

#define QNN_LPAI_MEM_INFO_CUSTOM_INIT {0, 0}

/* Where a buffer is. */
typedef enum {
    QNN_LPAI_MEM_TYPE_DDR       = 1,
    QNN_LPAI_MEM_TYPE_LLC       = 2,  /* last-level cache */
    QNN_LPAI_MEM_TYPE_TCM       = 3,  /* memory that stays on in island mode */
    QNN_LPAI_MEM_TYPE_PSRAM     = 4,
    QNN_LPAI_MEM_TYPE_UNDEFINED = 0x7FFFFFFF
} QnnLpaiMem_MemType_t;

#ifdef __cplusplus
}
#endif

#endif

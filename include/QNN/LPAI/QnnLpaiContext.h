/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiContext.h: settings of LPAI contexts, for QnnContext_Config_t::customConfig. */
#ifndef OPENQNN_QNNLPAICONTEXT_H
#define OPENQNN_QNNLPAICONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnContext.h"
#include "QnnLpaiCommon.h"
#include "QnnLpaiTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One LPAI setting of a context: an option and what it names. */
typedef struct {
    uint32_t option;
    void *config;
} QnnLpaiContext_CustomConfig_t;

#define QNN_LPAI_CONTEXT_CUSTOM_CONFIG_INIT {QNN_LPAI_CONTEXT_SET_CFG_UNDEFINED, NULL}

/* Options of QnnLpaiContext_CustomConfig_t. */
typedef enum {
    QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE = 1,  /* QnnLpaiMem_MemType_t */
    QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND         = 11,  /* name of a graph, or null for the whole context */
    QNN_LPAI_CONTEXT_SET_CFG_UNDEFINED             = 0x7FFFFFFF
} QnnLpaiContext_SetConfigOption_t;

#ifdef __cplusplus
}
#endif

#endif

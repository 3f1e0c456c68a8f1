/* SPDX-License-Identifier: Apache-2.0 */
/* QnnCpuGraph.h: settings of CPU graphs, for QnnGraph_Config_t::customConfig. */
#ifndef OPENQNN_QNNCPUGRAPH_H
#define OPENQNN_QNNCPUGRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "../QnnCommon.h"
#include "../QnnGraph.h"
#include "../QnnTypes.h"
#include "QnnCpuCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called after every op with its tensors, which must not be changed. */
typedef Qnn_ErrorHandle_t (*QnnCpuGraph_OpDebugCallback_t)(Qnn_OpConfig_t *opConfig,
                                                           void *callBackParam);

/* The callback and what it gets. */
typedef struct {
    void *callBackParam;
    QnnCpuGraph_OpDebugCallback_t cpuGraphOpDebugCallback;
} QnnCpuGraph_OpDebug_t;

#define QNN_CPU_GRAPH_OP_DEBUG_INIT {NULL, NULL}

/* Whether matrix extensions are used. */
typedef struct {
    bool useQmx;
} QnnCpuGraph_UseQmx_t;

#define QNN_CPU_GRAPH_USE_QMX_INIT {false}

/* Which setting a QnnCpuGraph_CustomConfig_t holds. */
typedef enum {
    QNN_CPU_GRAPH_CONFIG_OPTION_OP_DEBUG_CALLBACK = 1,
    QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX           = 2,
    QNN_CPU_GRAPH_CONFIG_OPTION_UNDEFINED         = 0x7FFFFFFF
} QnnCpuGraph_ConfigOption_t;

/* One CPU setting of a graph. */
typedef struct {
    QnnCpuGraph_ConfigOption_t option;
    union {
        QnnCpuGraph_OpDebug_t cpuGraphOpDebug;
        QnnCpuGraph_UseQmx_t cpuGraphUseQmx;
    };
} QnnCpuGraph_CustomConfig_t;

#define QNN_CPU_GRAPH_CUSTOM_CONFIG_INIT                                     \
    {                                                                        \
        QNN_CPU_GRAPH_CONFIG_OPTION_UNDEFINED, {QNN_CPU_GRAPH_OP_DEBUG_INIT} \
    }

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiGraph.h: settings and properties of LPAI graphs.
 * After retrieving a graph, ask for the sizes of its scratch and persistent memory, set both, set
 * performance and affinity, and finalize; then execute. */
#ifndef OPENQNN_QNNLPAIGRAPH_H
#define OPENQNN_QNNLPAIGRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnGraph.h"
#include "QnnLpaiCommon.h"
#include "QnnLpaiMem.h"
#include "QnnLpaiTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Defaults of QnnLpaiGraph_PerfCfg_t. */
#define QNN_LPAI_GRAPH_DEFAULT_FPS        1
#define QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO 10

/* Initializer of a QnnLpaiGraph_CoreAffinity_t that selects one core by its number. */
#define QNN_LPAI_CORE_AFFINITY(core_id, affinity) {(affinity), 1u << (core_id)}

/* Whether results are needed in time. */
typedef enum {
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME     = 1,
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_NON_REAL_TIME = 2,
    QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_UNDEFINED     = 0x7FFFFFFF
} QnnLpaiGraph_ClientPerfType_t;

/* How often and how fast a graph is to run. */
typedef struct {
    uint32_t fps;  /* inferences per second */
    uint32_t ftrtRatio;  /* in tenths: how much faster than real time */
    QnnLpaiGraph_ClientPerfType_t clientType;
} QnnLpaiGraph_PerfCfg_t;

#define QNN_LPAI_GRAPH_PERF_CFG_INIT                                   \
    {                                                                  \
        QNN_LPAI_GRAPH_DEFAULT_FPS, QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO, \
        QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME                      \
    }

/* Whether the chosen core is a wish or a must. */
typedef enum {
    QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT      = 1,
    QNN_LPAI_GRAPH_CORE_AFFINITY_HARD      = 2,
    QNN_LPAI_GRAPH_CORE_AFFINITY_UNDEFINED = 0x7FFFFFFF
} QnnLpaiGraph_CoreAffinityType_t;

/* The core to run on. */
typedef struct {
    QnnLpaiGraph_CoreAffinityType_t affinity;
    uint32_t coreSelection;  /* one bit; 0: any core */
} QnnLpaiGraph_CoreAffinity_t;

#define QNN_LPAI_GRAPH_CORE_AFFINITY_INIT {QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0}

/* Memory of the client for a graph; it must stay until replaced or the context is freed. */
typedef struct {
    QnnLpaiMem_MemType_t memType;
    uint32_t size;
    void *addr;
} QnnLpaiGraph_Mem_t;

#define QNN_LPAI_GRAPH_MEM_INIT {QNN_LPAI_MEM_TYPE_UNDEFINED, 0, NULL}

/* One LPAI setting of a graph: an option and the struct it names. */
typedef struct {
    uint32_t option;
    void *config;
} QnnLpaiGraph_CustomConfig_t;

#define QNN_LPAI_GRAPH_CUSTOM_CONFIG_INIT {QNN_LPAI_GRAPH_SET_CFG_UNDEFINED, NULL}

/* One LPAI property of a graph: an option and where to write it. */
typedef struct {
    uint32_t option;
    void *property;
} QnnLpaiGraph_CustomProperty_t;

#define QNN_LPAI_GRAPH_CUSTOM_PROPERTY_INIT {QNN_LPAI_GRAPH_GET_PROP_UNDEFINED, NULL}

/* Options of QnnLpaiGraph_CustomConfig_t. */
typedef enum {
    /* QnnLpaiGraph_Mem_t; contents do not survive an execution */
    QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM            = 1,
    /* QnnLpaiGraph_Mem_t; keeps state between executions */
    QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM         = 101,
    /* QnnLpaiGraph_PerfCfg_t */
    QNN_LPAI_GRAPH_SET_CFG_PERF_CFG               = 201,
    /* QnnLpaiGraph_CoreAffinity_t */
    QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY          = 301,
    QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION        = 401,
    QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION       = 501,
    QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT = 601,
    QNN_LPAI_GRAPH_SET_CFG_UNDEFINED              = 0x7FFFFFFF
} QnnLpaiGraph_SetConfigOption_t;

/* Options of QnnLpaiGraph_CustomProperty_t; both are uint32_t, in bytes. */
typedef enum {
    QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE    = 1,
    QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE = 101,
    QNN_LPAI_GRAPH_GET_PROP_UNDEFINED           = 0x7FFFFFFF
} QnnLpaiGraph_GetPropertyOption_t;

#ifdef __cplusplus
}
#endif

#endif

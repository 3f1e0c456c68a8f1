/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspGraph.h: graph options of the DSP backend. */
#ifndef OPENQNN_QNNDSPGRAPH_H
#define OPENQNN_QNNDSPGRAPH_H

#include "../QnnGraph.h"
#include "../QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a QnnDspGraph_OptimizationOption_t sets. */
typedef enum {
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_SCHEDULE_THRESHOLD         = 1,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_RETRIES           = 2,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG = 3, /* 1: prepare fast, 2: run fast */
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC                = 4,
    QNN_DSP_GRAPH_OPTIMIZATION_TYPE_UNKNOWN                    = 0x7FFFFFFF
} QnnDspGraph_OptimizationType_t;

/* One optimization and its value. */
typedef struct {
    QnnDspGraph_OptimizationType_t type;
    float floatValue;
} QnnDspGraph_OptimizationOption_t;

#define QNN_DSP_GRAPH_OPTIMIZATION_OPTION_INIT {QNN_DSP_GRAPH_OPTIMIZATION_TYPE_UNKNOWN, 0.0f}

/* Which setting a QnnDspGraph_CustomConfig_t holds. */
typedef enum {
    QNN_DSP_GRAPH_CONFIG_OPTION_OPTIMIZATION = 1,
    QNN_DSP_GRAPH_CONFIG_OPTION_ENCODING     = 2,
    QNN_DSP_GRAPH_CONFIG_OPTION_PRIORITY     = 3,
    QNN_DSP_GRAPH_CONFIG_OPTION_PRECISION    = 4,
    QNN_DSP_GRAPH_CONFIG_OPTION_UNKNOWN      = 0x7FFFFFFF
} QnnDspGraph_ConfigOption_t;

/* Whether encodings are found at run time; the names without a D are older. */
typedef enum {
    QNN_DSP_GRAPH_ENCODING_DYNAMIC = 1,
    QNN_DSP_GRAPH_ENCOING_DYNAMIC  = QNN_DSP_GRAPH_ENCODING_DYNAMIC,
    QNN_DSP_GRAPH_ENCODING_STATIC  = 2,
    QNN_DSP_GRAPH_ENCOING_STATIC   = QNN_DSP_GRAPH_ENCODING_STATIC,
    QNN_DSP_GRAPH_ENCODING_UNKNOWN = 0x7FFFFFFF,
    QNN_DSP_GRAPH_ENCOING_UNKNOW   = QNN_DSP_GRAPH_ENCODING_UNKNOWN
} QnnDspGraph_Encoding_t;

/* One setting. */
typedef struct {
    QnnDspGraph_ConfigOption_t option;
    union {
        QnnDspGraph_OptimizationOption_t optimizationOption;
        QnnDspGraph_Encoding_t encoding;
        Qnn_Priority_t priority;
        Qnn_Precision_t precision;
    };
} QnnDspGraph_CustomConfig_t;

#define QNN_DSP_GRAPH_CUSTOM_CONFIG_INIT {QNN_DSP_GRAPH_CONFIG_OPTION_UNKNOWN, {QNN_DSP_GRAPH_OPTIMIZATION_OPTION_INIT}}

#ifdef __cplusplus
}
#endif

#endif

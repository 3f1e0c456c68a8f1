/* SPDX-License-Identifier: Apache-2.0 */
/* QnnModelLib.h: what a model library exports.
 * A model library is a network as compiled code: it builds its graphs through the backend's
 * interface table. The caller owns backend and context, and releases the description of the graphs
 * with QnnModel_freeGraphsInfo. The interface table is passed by value, so both sides must be built
 * with headers of the same core API version. */
#ifndef OPENQNN_QNNMODELLIB_H
#define OPENQNN_QNNMODELLIB_H

#include <stdbool.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnGraph.h"
#include "QnnInterface.h"
#include "QnnLog.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong while building the model. */
typedef enum ModelError {
    MODEL_NO_ERROR               = 0,
    MODEL_TENSOR_ERROR           = 1,
    MODEL_PARAMS_ERROR           = 2,
    MODEL_NODES_ERROR            = 3,
    MODEL_GRAPH_ERROR            = 4,
    MODEL_CONTEXT_ERROR          = 5,
    MODEL_GENERATION_ERROR       = 6,
    MODEL_SETUP_ERROR            = 7,
    MODEL_INVALID_ARGUMENT_ERROR = 8,
    MODEL_FILE_ERROR             = 9,
    MODEL_MEMORY_ALLOCATE_ERROR  = 10,
    MODEL_UNKNOWN_ERROR          = 0x7FFFFFFF
} ModelError_t;

/* A composed graph and its inputs and outputs. */
typedef struct GraphInfo {
    Qnn_GraphHandle_t graph;
    char *graphName;
    Qnn_Tensor_t *inputTensors;
    uint32_t numInputTensors;
    Qnn_Tensor_t *outputTensors;
    uint32_t numOutputTensors;
} GraphInfo_t;

/* Settings for one graph, found by its name. */
typedef struct GraphConfigInfo {
    char *graphName;
    const QnnGraph_Config_t **graphConfigs;
} GraphConfigInfo_t;

/* Pointer to a GraphInfo_t. */
typedef GraphInfo_t *GraphInfoPtr_t;

/* Builds all graphs of the model in contextHandle and describes them in graphsInfo, which the
 * library allocates. debug makes every tensor an output. */
QNN_API ModelError_t QnnModel_composeGraphs(Qnn_BackendHandle_t backendHandle,
                                            QNN_INTERFACE_VER_TYPE interface,
                                            Qnn_ContextHandle_t contextHandle,
                                            const GraphConfigInfo_t **graphsConfigInfo,
                                            const uint32_t numGraphsConfigInfo,
                                            GraphInfoPtr_t **graphsInfo, uint32_t *numGraphsInfo,
                                            bool debug, QnnLog_Callback_t logCallback,
                                            QnnLog_Level_t maxLogLevel);

/* Frees the descriptions and sets the pointer to null. The graphs stay in their context. */
QNN_API ModelError_t QnnModel_freeGraphsInfo(GraphInfoPtr_t **graphsInfo, uint32_t numGraphsInfo);

/* As QnnModel_composeGraphs, from a DLC file; exported by libQnnModelDlc.so. */
QNN_API ModelError_t QnnModel_composeGraphsFromDlc(Qnn_BackendHandle_t backendHandle,
                                                   QNN_INTERFACE_VER_TYPE interface,
                                                   Qnn_ContextHandle_t contextHandle,
                                                   const GraphConfigInfo_t **graphsConfigInfo,
                                                   const char *dlcPath,
                                                   const uint32_t numGraphsConfigInfo,
                                                   GraphInfoPtr_t **graphsInfo,
                                                   uint32_t *numGraphsInfo, bool debug,
                                                   QnnLog_Callback_t logCallback,
                                                   QnnLog_Level_t maxLogLevel);

#ifdef __cplusplus
}
#endif

#endif

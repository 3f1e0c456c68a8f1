/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGraph.h: a graph is built, finalized once, and then executed as often as wanted.
 * Create a graph in a context, create its tensors, add nodes in an order in which every input is
 * already produced, finalize. A graph of a context binary is retrieved instead. Graphs live until
 * their context is freed. Calls on one graph, or on it and its context, must not overlap unless a
 * function says otherwise. */
#ifndef OPENQNN_QNNGRAPH_H
#define OPENQNN_QNNGRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result codes of QnnGraph functions. */
typedef enum {
    QNN_GRAPH_MIN_ERROR                       = QNN_MIN_ERROR_GRAPH,
    QNN_GRAPH_NO_ERROR                        = QNN_SUCCESS,
    QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE       = QNN_COMMON_ERROR_NOT_SUPPORTED,
    QNN_GRAPH_ERROR_MEM_ALLOC                 = QNN_COMMON_ERROR_MEM_ALLOC,
    QNN_GRAPH_ERROR_GENERAL                   = QNN_COMMON_ERROR_GENERAL,
    QNN_GRAPH_ERROR_INVALID_ARGUMENT          = QNN_MIN_ERROR_GRAPH,
    QNN_GRAPH_ERROR_INVALID_HANDLE            = QNN_MIN_ERROR_GRAPH + 1,
    QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST      = QNN_MIN_ERROR_GRAPH + 2,
    QNN_GRAPH_ERROR_INVALID_NAME              = QNN_MIN_ERROR_GRAPH + 3,
    QNN_GRAPH_ERROR_INVALID_TENSOR            = QNN_MIN_ERROR_GRAPH + 4,
    QNN_GRAPH_ERROR_INVALID_OP_CONFIG         = QNN_MIN_ERROR_GRAPH + 5,
    QNN_GRAPH_ERROR_SET_PROFILE               = QNN_MIN_ERROR_GRAPH + 6,
    QNN_GRAPH_ERROR_UNCONNECTED_NODE          = QNN_MIN_ERROR_GRAPH + 7,
    QNN_GRAPH_ERROR_CREATE_FAILED             = QNN_MIN_ERROR_GRAPH + 20,
    QNN_GRAPH_ERROR_OPTIMIZATION_FAILED       = QNN_MIN_ERROR_GRAPH + 21,
    QNN_GRAPH_ERROR_FINALIZE_FAILED           = QNN_MIN_ERROR_GRAPH + 22,
    QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED       = QNN_MIN_ERROR_GRAPH + 23,
    QNN_GRAPH_ERROR_GRAPH_FINALIZED           = QNN_MIN_ERROR_GRAPH + 24,
    QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL = QNN_MIN_ERROR_GRAPH + 25,
    QNN_GRAPH_ERROR_SIGNAL_IN_USE             = QNN_MIN_ERROR_GRAPH + 30,
    QNN_GRAPH_ERROR_ABORTED                   = QNN_MIN_ERROR_GRAPH + 31,
    QNN_GRAPH_ERROR_PROFILE_IN_USE            = QNN_MIN_ERROR_GRAPH + 32,
    QNN_GRAPH_ERROR_TIMED_OUT                 = QNN_MIN_ERROR_GRAPH + 33,
    QNN_GRAPH_ERROR_SUBGRAPH                  = QNN_MIN_ERROR_GRAPH + 34,
    QNN_GRAPH_ERROR_DISABLED                  = QNN_MIN_ERROR_GRAPH + 35,
    QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE      = QNN_MIN_ERROR_GRAPH + 36,
    QNN_GRAPH_ERROR_TENSOR_SPARSITY           = QNN_MIN_ERROR_GRAPH + 37,
    QNN_GRAPH_ERROR_EARLY_TERMINATION         = QNN_MIN_ERROR_GRAPH + 38,
    QNN_GRAPH_ERROR_INVALID_CONTEXT           = QNN_MIN_ERROR_GRAPH + 39,
    QNN_GRAPH_MAX_ERROR                       = QNN_MAX_ERROR_GRAPH,
    QNN_GRAPH_ERROR_UNDEFINED                 = 0x7FFFFFFF
} QnnGraph_Error_t;

/* Which member of a QnnGraph_Config_t is used. */
typedef enum {
    QNN_GRAPH_CONFIG_OPTION_CUSTOM                                = 0,
    QNN_GRAPH_CONFIG_OPTION_PRIORITY                              = 3,
    QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE                        = 4,  /* one profile for all executions */
    QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE                   = 5,
    QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS          = 6,  /* then profiling stops */
    QNN_GRAPH_CONFIG_OPTION_ENABLE_BINARY_SECTION_WEIGHTS_UPDATES = 7,
    QNN_GRAPH_CONFIG_OPTION_UNDEFINED                             = 0x7FFFFFFF
} QnnGraph_ConfigOption_t;

/* A backend's own config struct. */
typedef void *QnnGraph_CustomConfig_t;

/* Whether the profile of the graph config is active. */
typedef enum {
    QNN_GRAPH_PROFILING_STATE_ENABLED   = 1,
    QNN_GRAPH_PROFILING_STATE_DISABLED  = 2,
    QNN_GRAPH_PROFILING_STATE_UNDEFINED = 0x7FFFFFFF
} QnnGraph_ProfilingState_t;

/* One setting of a graph. */
typedef struct {
    QnnGraph_ConfigOption_t option;
    union {
        QnnGraph_CustomConfig_t customConfig;
        Qnn_Priority_t priority;
        Qnn_ProfileHandle_t profileHandle;
        QnnGraph_ProfilingState_t profilingState;
        uint32_t numProfilingExecutions;
        uint8_t enableBinarySectionWeightsUpdates;
    };
} QnnGraph_Config_t;

#define QNN_GRAPH_CONFIG_INIT {QNN_GRAPH_CONFIG_OPTION_UNDEFINED, {NULL}}

/* Which member of a QnnGraph_Property_t is used. */
typedef enum {
    QNN_GRAPH_PROPERTY_OPTION_CUSTOM    = 0,
    QNN_GRAPH_PROPERTY_OPTION_UNDEFINED = 0x7FFFFFFF
} QnnGraph_PropertyOption_t;

/* A backend's own property struct. */
typedef void *QnnGraph_CustomProperty_t;

/* One property to read; the option is set by the caller, the value by the library. */
typedef struct {
    QnnGraph_PropertyOption_t option;
    union {
        QnnGraph_CustomProperty_t customProperty;
    };
} QnnGraph_Property_t;

#define QNN_GRAPH_PROPERTY_INIT {QNN_GRAPH_PROPERTY_OPTION_UNDEFINED, {NULL}}

/* What to prepare before executions. */
typedef enum {
    QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES     = 0,  /* use these registered buffers */
    QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS = 1,  /* the library allocates the buffers */
    QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_UNDEFINED            = 0x7FFFFFFF
} QnnGraph_ExecuteEnvironmentOption_t;

/* One preparation and the tensors it is for. */
typedef struct {
    QnnGraph_ExecuteEnvironmentOption_t option;
    union {
        Qnn_TensorSet_t tensorSet;
    };
} QnnGraph_ExecuteEnvironment_t;

/* How an asynchronous execution ended. */
typedef struct {
    Qnn_ErrorHandle_t error;
} Qnn_NotifyStatus_t;

#define QNN_NOTIFY_STATUS_INIT {0}

/* Called from a thread of the library when an asynchronous execution has ended. It should return
 * soon. */
typedef void (*Qnn_NotifyFn_t)(void *notifyParam, Qnn_NotifyStatus_t notifyStatus);

/* Creates an empty graph; its name is unique in the context. Not in a context made from a binary.
 * Errors: INVALID_NAME, INVALID_HANDLE, INVALID_ARGUMENT, CREATE_FAILED, UNSUPPORTED_FEATURE,
 * MEM_ALLOC, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED. */
QNN_API Qnn_ErrorHandle_t QnnGraph_create(Qnn_ContextHandle_t contextHandle, const char *graphName,
                                          const QnnGraph_Config_t **config,
                                          Qnn_GraphHandle_t *graphHandle);

/* Creates a graph that an op of graphHandle runs as its body. It is never finalized or executed
 * itself. Errors: as create. */
QNN_API Qnn_ErrorHandle_t QnnGraph_createSubgraph(Qnn_GraphHandle_t graphHandle,
                                                  const char *graphName,
                                                  Qnn_GraphHandle_t *subgraphHandle);

/* Changes settings of a graph, in general before it is finalized. Errors: INVALID_HANDLE,
 * INVALID_ARGUMENT, GRAPH_FINALIZED, PROFILE_IN_USE, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnGraph_setConfig(Qnn_GraphHandle_t graphHandle,
                                             const QnnGraph_Config_t **config);

/* Fills the null-terminated list of properties. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnGraph_getProperty(Qnn_GraphHandle_t graphHandle,
                                               QnnGraph_Property_t **properties);

/* Adds a node. Its tensors exist already and count by their ids; an input that the client does not
 * write or give must be the output of an earlier node.
 * Errors: INVALID_OP_CONFIG, INVALID_TENSOR, UNCONNECTED_NODE, GRAPH_FINALIZED, INVALID_HANDLE,
 * MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnGraph_addNode(Qnn_GraphHandle_t graphHandle, Qnn_OpConfig_t opConfig);

/* Compiles the graph; afterwards nothing can be added and it can be executed. Also takes in updated
 * tensors. Some backends want it for retrieved graphs, too.
 * Errors: CREATE_FAILED, OPTIMIZATION_FAILED, FINALIZE_FAILED, SET_PROFILE, SIGNAL_IN_USE, ABORTED,
 * TIMED_OUT, SUBGRAPH, INVALID_HANDLE, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnGraph_finalize(Qnn_GraphHandle_t graphHandle,
                                            Qnn_ProfileHandle_t profileHandle,
                                            Qnn_SignalHandle_t signalHandle);

/* Finds a graph of the context by its name. Errors: GRAPH_DOES_NOT_EXIST, INVALID_NAME,
 * INVALID_HANDLE, INVALID_ARGUMENT. */
QNN_API Qnn_ErrorHandle_t QnnGraph_retrieve(Qnn_ContextHandle_t contextHandle,
                                            const char *graphName, Qnn_GraphHandle_t *graphHandle);

/* Does work ahead of the first execution, such as binding registered buffers. What the library
 * cannot do is set back to its initial value. Errors: INVALID_HANDLE, INVALID_ARGUMENT,
 * GRAPH_NOT_FINALIZED, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(
    Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);

/* Runs the graph once and returns when the outputs are written. Tensors are matched by id; of each
 * only the data and, where dynamic, the dimensions are read. The buffers are the client's. A
 * profile handle must be null when the graph config already has one.
 * Errors: GRAPH_NOT_FINALIZED, INVALID_TENSOR, INVALID_ARGUMENT, DISABLED, DYNAMIC_TENSOR_SHAPE,
 * EARLY_TERMINATION, SIGNAL_IN_USE, ABORTED, TIMED_OUT, INVALID_CONTEXT, INVALID_HANDLE, MEM_ALLOC. */
QNN_API Qnn_ErrorHandle_t QnnGraph_execute(Qnn_GraphHandle_t graphHandle,
                                           const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                           Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                           Qnn_ProfileHandle_t profileHandle,
                                           Qnn_SignalHandle_t signalHandle);

/* Queues an execution and returns; notifyFn is called at its end, but not if this call itself
 * fails. Everything passed must stay valid until then. Errors: as execute,
 * EXECUTION_ASYNC_FIFO_FULL. */
QNN_API Qnn_ErrorHandle_t QnnGraph_executeAsync(Qnn_GraphHandle_t graphHandle,
                                                const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                                Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                                Qnn_ProfileHandle_t profileHandle,
                                                Qnn_SignalHandle_t signalHandle,
                                                Qnn_NotifyFn_t notifyFn, void *notifyParam);

/* Undoes prepareExecutionEnvironment; freeing the context does so, too. Errors: INVALID_HANDLE,
 * INVALID_ARGUMENT, UNSUPPORTED_FEATURE. */
QNN_API Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(
    Qnn_GraphHandle_t graphHandle, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);

#ifdef __cplusplus
}
#endif

#endif

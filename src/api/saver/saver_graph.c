/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and tensors, as they are recorded. */
#include "QNN/QnnGraph.h"
#include "QNN/QnnTensor.h"
#include "api/log.h"
#include "api/saver/saver.h"

static void same_ids(const struct saver_object *parent, struct saver_object *graph)
{
    if (parent && graph)
        graph->from_binary = parent->from_binary;
}

static void use_ids(struct saver_call *c, const struct saver_object *o)
{
    c->foreign_ids = o && o->from_binary;
}

Qnn_ErrorHandle_t QnnGraph_create(Qnn_ContextHandle_t contextHandle, const char *graphName, const QnnGraph_Config_t **config,
                                  Qnn_GraphHandle_t *graphHandle)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_create", COMP_GRAPH);
    struct saver_object *o = saver_on(&c, HANDLE_CONTEXT, contextHandle);
    saver_need(&c, graphName, "graphName");
    saver_text(&c, graphName);
    saver_configs(&c, &saver_graph_config, config);
    saver_new(&c, HANDLE_GRAPH, o, graphHandle);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_createSubgraph(Qnn_GraphHandle_t graphHandle, const char *graphName,
                                          Qnn_GraphHandle_t *subgraphHandle)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_createSubgraph", COMP_GRAPH);
    struct saver_object *o = saver_on(&c, HANDLE_GRAPH, graphHandle);
    saver_need(&c, graphName, "graphName");
    saver_text(&c, graphName);
    saver_new(&c, HANDLE_GRAPH, o, subgraphHandle);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_setConfig(Qnn_GraphHandle_t graphHandle, const QnnGraph_Config_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_setConfig", COMP_GRAPH);
    saver_on(&c, HANDLE_GRAPH, graphHandle);
    saver_configs(&c, &saver_graph_config, config);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_getProperty(Qnn_GraphHandle_t graphHandle, QnnGraph_Property_t **properties)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_getProperty", COMP_GRAPH);
    saver_on(&c, HANDLE_GRAPH, graphHandle);
    saver_need(&c, properties, "properties");
    saver_arg(&c, "NULL /* what was asked for is not recorded */");
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnGraph_addNode(Qnn_GraphHandle_t graphHandle, Qnn_OpConfig_t opConfig)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_addNode", COMP_GRAPH);
    use_ids(&c, saver_on(&c, HANDLE_GRAPH, graphHandle));
    saver_value(&c, &saver_op_config, &opConfig);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_finalize(Qnn_GraphHandle_t graphHandle, Qnn_ProfileHandle_t profileHandle,
                                    Qnn_SignalHandle_t signalHandle)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_finalize", COMP_GRAPH);
    saver_on(&c, HANDLE_GRAPH, graphHandle);
    saver_maybe(&c, HANDLE_PROFILE, profileHandle);
    saver_maybe(&c, HANDLE_SIGNAL, signalHandle);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_retrieve(Qnn_ContextHandle_t contextHandle, const char *graphName, Qnn_GraphHandle_t *graphHandle)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_retrieve", COMP_GRAPH);
    struct saver_object *o = saver_on(&c, HANDLE_CONTEXT, contextHandle);
    saver_need(&c, graphName, "graphName");
    saver_text(&c, graphName);
    same_ids(o, saver_new(&c, HANDLE_GRAPH, o, graphHandle));
    return saver_end(&c);
}

/* Nothing is prepared: clients go on with buffers of their own. */
static Qnn_ErrorHandle_t no_environment(const char *name)
{
    log_enter(NULL);
    return api_fail(COMP_GRAPH, ST_NOT_SUPPORTED, "%s cannot be recorded; give buffers when the graph is executed", name);
}

Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs,
                                                       uint32_t envSize)
{
    (void)graphHandle, (void)envs, (void)envSize;
    return no_environment("QnnGraph_prepareExecutionEnvironment");
}

Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(Qnn_GraphHandle_t graphHandle,
                                                       const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize)
{
    (void)graphHandle, (void)envs, (void)envSize;
    return no_environment("QnnGraph_releaseExecutionEnvironment");
}

/* Outputs are an array of the program even when it is empty, for keep_outputs. An asynchronous execution is repeated as one
 * that is waited for: its end is when outputs can be kept. */
Qnn_ErrorHandle_t QnnGraph_execute(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                   Qnn_Tensor_t *outputs, uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle,
                                   Qnn_SignalHandle_t signalHandle)
{
    struct saver_call c;
    saver_begin(&c, "QnnGraph_execute", COMP_GRAPH);
    use_ids(&c, saver_on(&c, HANDLE_GRAPH, graphHandle));
    c.role = ROLE_INPUT;
    saver_array_arg(&c, &saver_tensor, inputs, numInputs);
    saver_arg(&c, "%uu", numInputs);
    c.role = ROLE_OUTPUT;
    saver_array_arg(&c, &saver_tensor, outputs, numOutputs);
    if (numOutputs && c.status == ST_OK)
        str_addf(&c.after, "    keep_outputs(%u, a%u, %uu);\n", c.number, c.names, numOutputs);
    saver_arg(&c, "%uu", numOutputs);
    saver_maybe(&c, HANDLE_PROFILE, profileHandle);
    saver_maybe(&c, HANDLE_SIGNAL, signalHandle);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_executeAsync(Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                        Qnn_Tensor_t *outputs, uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle,
                                        Qnn_SignalHandle_t signalHandle, Qnn_NotifyFn_t notifyFn, void *notifyParam)
{
    Qnn_ErrorHandle_t e = QnnGraph_execute(graphHandle, inputs, numInputs, outputs, numOutputs, profileHandle, signalHandle);
    if (e == QNN_SUCCESS && notifyFn)
        notifyFn(notifyParam, (Qnn_NotifyStatus_t){ QNN_SUCCESS });
    return e;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t create_tensor(const char *name, enum handle_type type, void *handle, Qnn_Tensor_t *tensor)
{
    struct saver_call c;
    saver_begin(&c, name, COMP_TENSOR);
    saver_on(&c, type, handle);
    saver_need(&c, tensor, "tensor");
    if (c.status == ST_OK) {
        Qnn_Tensor_t t = { .version = tensor->version };
        if (t.version == QNN_TENSOR_VERSION_2)
            t.v2 = tensor->v2;
        else
            t.v1 = tensor->v1;
        t.v1.id = 0; /* it is given one now, whatever was in its place */
        saver_array_arg(&c, &saver_tensor, &t, 1);
        str_addf(&c.after, "    tensor_ids[%u] = a%u[0].v1.id;\n", saver_numbers.tensors + 1, c.names);
        saver_numbers.tensors += c.status == ST_OK;
    }
    if (c.status == ST_OK)
        tensor->v1.id = saver_numbers.tensors;
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnTensor_createContextTensor(Qnn_ContextHandle_t context, Qnn_Tensor_t *tensor)
{
    return create_tensor("QnnTensor_createContextTensor", HANDLE_CONTEXT, context, tensor);
}

Qnn_ErrorHandle_t QnnTensor_createGraphTensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor)
{
    return create_tensor("QnnTensor_createGraphTensor", HANDLE_GRAPH, graph, tensor);
}

static Qnn_ErrorHandle_t update(const char *name, enum handle_type type, void *handle, const Qnn_Tensor_t **tensors,
                                uint64_t n)
{
    struct saver_call c;
    saver_begin(&c, name, COMP_TENSOR);
    use_ids(&c, saver_on(&c, type, handle));
    saver_list_arg(&c, &saver_tensor, tensors, n);
    saver_arg(&c, "%lluu", (unsigned long long)n);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph, const Qnn_Tensor_t **tensor, uint64_t numTensors)
{
    return update("QnnTensor_updateGraphTensors", HANDLE_GRAPH, graph, tensor, numTensors);
}

Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context, const Qnn_Tensor_t **tensor,
                                                 uint64_t numTensors)
{
    return update("QnnTensor_updateContextTensors", HANDLE_CONTEXT, context, tensor, numTensors);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and tensors, as they are recorded. */
#include "QNN/QnnGraph.h"
#include "QNN/QnnTensor.h"
#include "api/log.h"
#include "api/saver/saver.h"
#include "base/mem.h"

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

/* ---- environments ----------------------------------------------------------------------------------------------------- */

/* Memory for a tensor, which the client then has. What is not known to have a size stays without. */
static void give_room(struct saver_call *c, struct saver_object *graph, Qnn_Tensor_t *t)
{
    uint64_t bytes = saver_tensor_bytes(&t->v1);
    if (!bytes || bytes > UINT32_MAX)
        return;
    struct saver_room *r = mem_zalloc(sizeof *r + bytes);
    if (!r) {
        saver_fail(c, ST_NO_MEMORY, "no memory for the %llu bytes of tensor \"%s\"", (unsigned long long)bytes,
                   t->v1.name ? t->v1.name : "");
        return;
    }
    r->next = graph->rooms;
    graph->rooms = r;
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ r->bytes, (uint32_t)bytes };
}

static void take_room(struct saver_object *graph, const Qnn_Tensor_t *t)
{
    for (struct saver_room **p = &graph->rooms; *p; p = &(*p)->next)
        if (t->v1.memType == QNN_TENSORMEMTYPE_RAW && t->v1.clientBuf.data == (*p)->bytes) {
            struct saver_room *r = *p;
            *p = r->next;
            mem_free(r);
            return;
        }
}

static void each_tensor(struct saver_call *c, struct saver_object *graph, const QnnGraph_ExecuteEnvironment_t *env,
                        bool give)
{
    const Qnn_TensorSetV1_t *s = &env->tensorSet.v1;
    if (env->option != QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS)
        return;
    for (uint32_t i = 0; i < s->numInputs + s->numOutputs && c->status == ST_OK; i++) {
        Qnn_Tensor_t *t = i < s->numInputs ? &s->inputs[i] : &s->outputs[i - s->numInputs];
        if (give)
            give_room(c, graph, t);
        else
            take_room(graph, t);
    }
}

/* Whether a backend can do it is known when the program runs. */
static Qnn_ErrorHandle_t environments(const char *name, Qnn_GraphHandle_t graphHandle, const void *envs, uint32_t n,
                                      bool give)
{
    struct saver_call c;
    const QnnGraph_ExecuteEnvironment_t *const *at = envs;
    saver_begin(&c, name, COMP_GRAPH);
    struct saver_object *o = saver_on(&c, HANDLE_GRAPH, graphHandle);
    use_ids(&c, o);
    saver_list_arg(&c, &saver_environment, envs, n);
    saver_arg(&c, "%uu", n);
    for (uint32_t i = 0; i < n && c.status == ST_OK; i++)
        if (at[i] && at[i]->tensorSet.version == QNN_TENSOR_SET_VERSION_1)
            each_tensor(&c, o, at[i], give);
    c.question = true;
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs,
                                                       uint32_t envSize)
{
    return environments("QnnGraph_prepareExecutionEnvironment", graphHandle, envs, envSize, true);
}

Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(Qnn_GraphHandle_t graphHandle,
                                                       const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize)
{
    return environments("QnnGraph_releaseExecutionEnvironment", graphHandle, envs, envSize, false);
}

/* ---- executions ------------------------------------------------------------------------------------------------------- */

static void keep_registered(struct saver_call *c, const Qnn_Tensor_t *outputs, uint32_t n)
{
    for (uint32_t i = 0; i < n && c->status == ST_OK; i++) {
        bool registered = outputs[i].v1.memType == QNN_TENSORMEMTYPE_MEMHANDLE;
        const struct saver_object *o = registered ? saver_object_find(outputs[i].v1.memHandle, HANDLE_MEM) : NULL;
        if (o)
            str_addf(&c->after, "    keep_shared(%u, %u, %u, %lluu, %lluu);\n", c->number, i, o->memory.buffer,
                     (unsigned long long)o->memory.offset, (unsigned long long)o->memory.bytes);
    }
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
    keep_registered(&c, outputs, numOutputs);
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
    uint32_t id = saver_numbers.tensors;
    Qnn_ErrorHandle_t e = saver_end(&c);
    if (e == QNN_SUCCESS)
        tensor->v1.id = id;
    return e;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* A model library with an operator of package.c between two built-in ones:
 *
 *     x f32[1,8] -> Elu -> SoftClip (limit 2) -> ElementWiseNeg -> y
 */
#include <stdlib.h>
#include <string.h>

#include "QnnModelLib.h"
#include "QnnOpDef.h"

enum { N = 8, X, E, C, Y, N_TENSORS = Y - X + 1 };

struct model {
    GraphInfo_t *list[1];
    GraphInfo_t graph;
    char name[4];
    Qnn_Tensor_t tensors[N_TENSORS];
};
static uint32_t dims[] = { 1, N };

static Qnn_ErrorHandle_t tensor(const QNN_INTERFACE_VER_TYPE *api, Qnn_GraphHandle_t g, const char *name,
                                Qnn_TensorType_t type, Qnn_Tensor_t *ret)
{
    *ret = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    ret->v1.name = name;
    ret->v1.type = type;
    ret->v1.dataType = QNN_DATATYPE_FLOAT_32;
    ret->v1.rank = 2;
    ret->v1.dimensions = dims;
    return api->tensorCreateGraphTensor(g, ret);
}

struct node {
    const char *package, *type;
    Qnn_Param_t param; /* without a name: none */
};

static Qnn_ErrorHandle_t node(const QNN_INTERFACE_VER_TYPE *api, Qnn_GraphHandle_t g, struct node n, Qnn_Tensor_t *between)
{
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = n.type;
    op.v1.packageName = n.package;
    op.v1.typeName = n.type;
    op.v1.numOfParams = n.param.name ? 1 : 0;
    op.v1.params = &n.param;
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = between;
    op.v1.outputTensors = between + 1;
    return api->graphAddNode(g, op);
}

static Qnn_ErrorHandle_t build(const QNN_INTERFACE_VER_TYPE *api, Qnn_GraphHandle_t g, Qnn_Tensor_t *t)
{
    static const char *const names[N_TENSORS] = { "x", "e", "c", "y" };
    static const Qnn_TensorType_t types[N_TENSORS] = { QNN_TENSOR_TYPE_APP_WRITE, QNN_TENSOR_TYPE_NATIVE,
                                                       QNN_TENSOR_TYPE_NATIVE, QNN_TENSOR_TYPE_APP_READ };
    Qnn_Param_t limit = { .paramType = QNN_PARAMTYPE_SCALAR, .name = "limit" };
    limit.scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
    limit.scalarParam.floatValue = 2;
    const struct node nodes[] = { { QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_ELU, { .name = NULL } },
                                  { "examples.own", "SoftClip", limit },
                                  { QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_ELEMENT_WISE_NEG, { .name = NULL } } };
    Qnn_ErrorHandle_t error = QNN_SUCCESS;
    for (int i = 0; i < N_TENSORS && error == QNN_SUCCESS; i++)
        error = tensor(api, g, names[i], types[i], &t[i]);
    for (int i = 0; i < N_TENSORS - 1 && error == QNN_SUCCESS; i++)
        error = node(api, g, nodes[i], &t[i]);
    return error;
}

ModelError_t QnnModel_composeGraphs(Qnn_BackendHandle_t backend, QNN_INTERFACE_VER_TYPE interface,
                                    Qnn_ContextHandle_t context, const GraphConfigInfo_t **configs, const uint32_t n_configs,
                                    GraphInfoPtr_t **infos, uint32_t *n_infos, bool debug, QnnLog_Callback_t log,
                                    QnnLog_Level_t level)
{
    (void)backend, (void)configs, (void)n_configs, (void)debug, (void)log, (void)level;
    struct model *m = calloc(1, sizeof(*m));
    if (!m)
        return MODEL_MEMORY_ALLOCATE_ERROR;
    memcpy(m->name, "own", sizeof(m->name));
    m->list[0] = &m->graph;
    if (interface.graphCreate(context, m->name, NULL, &m->graph.graph) != QNN_SUCCESS ||
        build(&interface, m->graph.graph, m->tensors) != QNN_SUCCESS) {
        free(m);
        return MODEL_GRAPH_ERROR; /* the backend's log says why */
    }
    m->graph.graphName = m->name;
    m->graph.inputTensors = &m->tensors[0];
    m->graph.outputTensors = &m->tensors[N_TENSORS - 1];
    m->graph.numInputTensors = m->graph.numOutputTensors = 1;
    *infos = m->list;
    *n_infos = 1;
    return MODEL_NO_ERROR;
}

ModelError_t QnnModel_freeGraphsInfo(GraphInfoPtr_t **infos, uint32_t n)
{
    (void)n;
    free(*infos); /* the list is the beginning of the model */
    *infos = NULL;
    return MODEL_NO_ERROR;
}

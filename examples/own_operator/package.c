/* SPDX-License-Identifier: Apache-2.0 */
/* An op package for libQnnCpu.so with one operator:
 *
 *     SoftClip   y = limit * tanh(x / limit)     in: float32; out: the same shape; limit: a number above 0, otherwise 1
 *
 * The backend finds own_operator_provider by name, asks what there is (info), checks nodes (validate), makes one
 * implementation per node when a graph is finalized (create_op) and calls it in every execution (soft_clip). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "CPU/QnnCpuOpPackage.h"

#define PACKAGE "examples.own"
#define OPERATOR "SoftClip"

/* What a node needs while it runs. Tensors are the backend's: their data changes from execution to execution. */
struct clip {
    QnnCpuOpPackage_OpImpl_t impl;
    const QnnCpuOpPackage_Tensor_t *in, *out;
    float limit;
};

static Qnn_ErrorHandle_t soft_clip(void *data)
{
    const struct clip *c = data;
    const float *x = c->in->data;
    float *y = c->out->data;
    size_t n = 1;
    for (uint32_t i = 0; i < c->in->rank; i++)
        n *= c->in->currentDimensions[i];
    for (size_t i = 0; i < n; i++)
        y[i] = c->limit * tanhf(x[i] / c->limit);
    return QNN_SUCCESS;
}

/* ---- questions -------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t info(const QnnOpPackage_Info_t **ret)
{
    static const char *names[] = { OPERATOR };
    static const QnnOpPackage_Info_t all = { .packageName = PACKAGE, .operationNames = names, .numOperations = 1 };
    *ret = &all;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t validate(Qnn_OpConfig_t config)
{
    const Qnn_OpConfigV1_t *c = &config.v1;
    if (strcmp(c->typeName, OPERATOR) || c->numOfInputs != 1 || c->numOfOutputs != 1)
        return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    const Qnn_TensorV1_t *x = &c->inputTensors[0].v1, *y = &c->outputTensors[0].v1;
    int same = x->rank == y->rank && !memcmp(x->dimensions, y->dimensions, x->rank * sizeof(uint32_t));
    if (x->dataType != QNN_DATATYPE_FLOAT_32 || y->dataType != QNN_DATATYPE_FLOAT_32 || !same)
        return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    for (uint32_t i = 0; i < c->numOfParams; i++)
        if (strcmp(c->params[i].name, "limit") || c->params[i].paramType != QNN_PARAMTYPE_SCALAR)
            return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    return QNN_SUCCESS;
}

/* ---- implementations -------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t graph, QnnOpPackage_Node_t node,
                                   QnnOpPackage_OpImpl_t *ret)
{
    (void)graph;
    struct clip *c = malloc(sizeof(*c));
    if (!c)
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    *c = (struct clip){ .impl = { soft_clip, c }, .in = node->inputs[0], .out = node->outputs[0], .limit = 1 };
    for (uint32_t i = 0; i < node->numOfParams; i++)
        c->limit = (float)node->params[i]->scalarParam; /* numbers of any type arrive as double */
    *ret = &c->impl;
    if (c->limit > 0)
        return QNN_SUCCESS;
    free(c);
    return QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT;
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t impl)
{
    free(impl->userData);
    return QNN_SUCCESS;
}

/* ---- the package ------------------------------------------------------------------------------------------------------ */

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infrastructure)
{
    infrastructure->reportMessage(QNN_CPU_MSG_HIGH, "%s is ready", PACKAGE);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t terminate(void)
{
    return QNN_SUCCESS;
}

/* The backend finds it by name. */
__attribute__((visibility("default"))) Qnn_ErrorHandle_t own_operator_provider(QnnOpPackage_Interface_t *ret);

Qnn_ErrorHandle_t own_operator_provider(QnnOpPackage_Interface_t *ret)
{
    ret->interfaceVersion = (Qnn_Version_t)QNN_OP_PACKAGE_API_VERSION_1_4_0;
    ret->v1_4 = (QnnOpPackage_ImplementationV1_4_t){ .init = init,
                                                     .terminate = terminate,
                                                     .getInfo = info,
                                                     .validateOpConfig = validate,
                                                     .createOpImpl = create_op,
                                                     .freeOpImpl = free_op };
    return QNN_SUCCESS;
}

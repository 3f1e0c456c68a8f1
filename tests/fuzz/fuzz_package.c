/* SPDX-License-Identifier: Apache-2.0 */
/* The op package of fuzz_packages: every callback answers as the fuzz target says. What it points to exists; whether it is
 * there at all, what it is called and how it returns is nonsense. */
#include <stdlib.h>

#include <QNN/CPU/QnnCpuOpPackage.h>

#include "fuzz_package.h"

#define EXPORT __attribute__((visibility("default")))

static struct fuzz_answers answers;

EXPORT struct fuzz_answers *fuzz_answers(void);
struct fuzz_answers *fuzz_answers(void)
{
    return &answers;
}

static Qnn_ErrorHandle_t answer(unsigned call)
{
    answers.calls++;
    return answers.result[call];
}

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infra)
{
    (void)infra;
    return answer(ANSWER_INIT);
}

static Qnn_ErrorHandle_t terminate(void)
{
    return answer(ANSWER_TERMINATE);
}

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **ret)
{
    static QnnOpPackage_Info_t info;
    static Qnn_ApiVersion_t version;
    static const char *names[ANSWER_NAMES];

    for (unsigned i = 0; i < ANSWER_NAMES; i++)
        names[i] = answers.names[i];
    info = (QnnOpPackage_Info_t){ .packageName = answers.package,
                                  .operationNames = answers.no_names ? NULL : names,
                                  .numOperations = answers.n_names,
                                  .sdkApiVersion = answers.no_version ? NULL : &version };
    *ret = answers.no_info ? NULL : &info;
    return answer(ANSWER_INFO);
}

static Qnn_ErrorHandle_t validate(Qnn_OpConfig_t config)
{
    (void)config;
    return answer(ANSWER_VALIDATE);
}

static Qnn_ErrorHandle_t run(void *arg)
{
    const QnnCpuOpPackage_Node_t *node = arg;

    for (uint32_t i = 0; i < node->numOfOutputs; i++) { /* what it was given must be there */
        QnnCpuOpPackage_Tensor_t *t = node->outputs[i];
        if (t->data && t->rank)
            *(volatile uint8_t *)t->data = 1;
    }
    return answer(ANSWER_RUN);
}

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t graph, QnnOpPackage_Node_t node,
                                   QnnOpPackage_OpImpl_t *ret)
{
    static QnnCpuOpPackage_OpImpl_t impls[64];
    static unsigned used;
    QnnCpuOpPackage_OpImpl_t *impl = &impls[used++ % 64];

    (void)graph;
    *impl = (QnnCpuOpPackage_OpImpl_t){ answers.no_function ? NULL : run, (void *)node };
    *ret = answers.no_impl ? NULL : impl;
    return answer(ANSWER_CREATE);
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t impl)
{
    (void)impl;
    return answer(ANSWER_FREE);
}

static Qnn_ErrorHandle_t log_init(QnnLog_Callback_t callback, QnnLog_Level_t level)
{
    (void)callback, (void)level;
    return answer(ANSWER_LOG);
}

static Qnn_ErrorHandle_t log_level(QnnLog_Level_t level)
{
    (void)level;
    return answer(ANSWER_LOG);
}

static Qnn_ErrorHandle_t log_end(void)
{
    return answer(ANSWER_LOG);
}

static Qnn_ErrorHandle_t create_package(QnnOpPackage_GlobalInfrastructure_t infra, QnnLog_Callback_t callback,
                                        QnnLog_Level_t level, Qnn_OpPackageHandle_t *ret)
{
    (void)infra, (void)callback, (void)level;
    *ret = answers.no_impl ? NULL : (Qnn_OpPackageHandle_t)&answers;
    return answer(ANSWER_INIT);
}

static Qnn_ErrorHandle_t validate_2(Qnn_OpPackageHandle_t package, Qnn_OpConfig_t config)
{
    (void)package;
    return validate(config);
}

static Qnn_ErrorHandle_t create_2(Qnn_OpPackageHandle_t package, QnnOpPackage_GraphInfrastructure_t graph,
                                  QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *ret)
{
    (void)package;
    return create_op(graph, node, ret);
}

static Qnn_ErrorHandle_t free_2(Qnn_OpPackageHandle_t package, QnnOpPackage_OpImpl_t impl)
{
    (void)package;
    return free_op(impl);
}

static Qnn_ErrorHandle_t free_package(Qnn_OpPackageHandle_t package)
{
    (void)package;
    return answer(ANSWER_TERMINATE);
}

/* Leaves out what bit i of `holes` says. */
#define UNLESS(i, f) (answers.holes >> (i)&1 ? NULL : (f))

EXPORT Qnn_ErrorHandle_t fuzz_provider(QnnOpPackage_Interface_t *ret);
Qnn_ErrorHandle_t fuzz_provider(QnnOpPackage_Interface_t *ret)
{
    ret->interfaceVersion = (Qnn_Version_t){ answers.major, answers.minor, 0 };
    if (answers.major >= 2)
        ret->v2_0 = (QnnOpPackage_ImplementationV2_0_t){ .create = UNLESS(0, create_package),
                                                         .getInfo = UNLESS(1, get_info),
                                                         .validateOpConfig = UNLESS(2, validate_2),
                                                         .createOpImpl = UNLESS(3, create_2),
                                                         .freeOpImpl = UNLESS(4, free_2),
                                                         .free = UNLESS(5, free_package) };
    else
        ret->v1_4 = (QnnOpPackage_ImplementationV1_4_t){ .init = UNLESS(0, init),
                                                         .terminate = UNLESS(5, terminate),
                                                         .getInfo = UNLESS(1, get_info),
                                                         .validateOpConfig = UNLESS(2, validate),
                                                         .createOpImpl = UNLESS(3, create_op),
                                                         .freeOpImpl = UNLESS(4, free_op),
                                                         .logInitialize = UNLESS(6, log_init),
                                                         .logSetLevel = UNLESS(6, log_level),
                                                         .logTerminate = UNLESS(6, log_end) };
    return answer(ANSWER_PROVIDER);
}

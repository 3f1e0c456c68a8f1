/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs and outputs of a graph, read from its binary through the table of libQnnSystem.so; one graph, version 1 of the
 * description. */
#include "seed_kit.h"

#include <QNN/System/QnnSystemInterface.h>

int main(void)
{
    struct seed s = seed_open();
    const QnnSystemInterface_t **providers = NULL;
    uint32_t numProviders = 0;
    MUST(QnnSystemInterface_getProviders(&providers, &numProviders));
    CHECK(numProviders == 1);
    const QNN_SYSTEM_INTERFACE_VER_TYPE *qnnSystemInterface = &providers[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    QnnSystemContext_Handle_t qnnSystemCtxHandle;
    MUST(qnnSystemInterface->systemContextCreate(&qnnSystemCtxHandle));

    const QnnSystemContext_BinaryInfo_t *binaryInfo;
    Qnn_ContextBinarySize_t binaryInfoSize;
    MUST(qnnSystemInterface->systemContextGetBinaryInfo(qnnSystemCtxHandle, s.binary, s.binary_size, &binaryInfo,
                                                        &binaryInfoSize));
    CHECK(binaryInfo->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1);
    CHECK(binaryInfo->contextBinaryInfoV1.numGraphs == 1 &&
          binaryInfo->contextBinaryInfoV1.backendId == QNN_BACKEND_ID_LPAI);
    QnnSystemContext_GraphInfo_t *graphInfos = binaryInfo->contextBinaryInfoV1.graphs;
    QnnSystemContext_GraphInfo_t *graphInfo = &(graphInfos[0]);

    Qnn_Tensor_t *inputs = graphInfo->graphInfoV1.graphInputs;
    Qnn_Tensor_t *outputs = graphInfo->graphInfoV1.graphOutputs;
    size_t numInputs = graphInfo->graphInfoV1.numGraphInputs;
    size_t numOutputs = graphInfo->graphInfoV1.numGraphOutputs;
    CHECK(numInputs == 1 && numOutputs == 1);
    CHECK(strcmp(inputs[0].v1.name, "x") == 0 && strcmp(outputs[0].v1.name, "y") == 0);
    CHECK(inputs[0].v1.rank == 2 && inputs[0].v1.dimensions[1] == SEED_IN);
    MUST(qnnSystemInterface->systemContextFree(qnnSystemCtxHandle));
    seed_close(&s);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs and outputs of a graph, read from its binary with libQnnSystem.so; one graph, version 1 of the description. */
#include "seed_kit.h"

int main(void)
{
    struct seed s = seed_open();
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    MUST(QnnSystemContext_create(&reader));
    MUST(QnnSystemContext_getBinaryInfo(reader, s.binary, s.binary_size, &info, &info_size));
    CHECK(info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1);
    const QnnSystemContext_GraphInfo_t *graph = &info->contextBinaryInfoV1.graphs[0];
    CHECK(info->contextBinaryInfoV1.numGraphs == 1 && info->contextBinaryInfoV1.backendId == QNN_BACKEND_ID_LPAI);
    const Qnn_Tensor_t *inputs = graph->graphInfoV1.graphInputs, *outputs = graph->graphInfoV1.graphOutputs;
    CHECK(graph->graphInfoV1.numGraphInputs == 1 && graph->graphInfoV1.numGraphOutputs == 1);
    CHECK(strcmp(inputs[0].v1.name, "x") == 0 && strcmp(outputs[0].v1.name, "y") == 0);
    CHECK(inputs[0].v1.rank == 2 && inputs[0].v1.dimensions[1] == SEED_IN);
    MUST(QnnSystemContext_free(reader));
    seed_close(&s);
    return 0;
}

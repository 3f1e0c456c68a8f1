/* SPDX-License-Identifier: Apache-2.0 */
/* Packing descriptions of graphs: the same walk is made twice, first to count bytes, then to copy them. */
#include "api/graph_info.h"

#include <string.h>

#include "api/translate.h"
#include "base/mem.h"

/* at NULL: only counts. */
struct block {
    char *at;
    size_t used;
};

static void *copy(struct block *b, const void *from, size_t bytes)
{
    size_t at = b->used;
    b->used += (bytes + 7) & ~(size_t)7;
    if (!b->at || !from)
        return NULL;
    return memcpy(b->at + at, from, bytes);
}

/* Encodings with an array of their own. Block encodings make no sense on inputs and outputs; such a tensor is described
 * without one. */
static void copy_encoding(struct block *b, Qnn_QuantizeParams_t *q)
{
    Qnn_AxisScaleOffset_t *axis = &q->axisScaleOffsetEncoding;
    Qnn_BwAxisScaleOffset_t *bw = &q->bwAxisScaleOffsetEncoding;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_UNDEFINED:
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        axis->scaleOffset = copy(b, axis->scaleOffset, axis->numScaleOffsets * sizeof(*axis->scaleOffset));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        bw->scales = copy(b, bw->scales, bw->numElements * sizeof(*bw->scales));
        bw->offsets = copy(b, bw->offsets, bw->numElements * sizeof(*bw->offsets));
        break;
    default:
        *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    }
}

static Qnn_Tensor_t *copy_tensors(struct block *b, struct compose_list list)
{
    Qnn_Tensor_t *to = copy(b, list.at, list.n * sizeof(*list.at));
    for (uint32_t i = 0; i < list.n; i++) {
        Qnn_Tensor_t t = list.at[i];
        t.v1.name = copy(b, t.v1.name, strlen(t.v1.name) + 1);
        t.v1.dimensions = copy(b, t.v1.dimensions, t.v1.rank * sizeof(uint32_t));
        if (t.version == QNN_TENSOR_VERSION_2)
            t.v2.isDynamicDimensions = copy(b, t.v2.isDynamicDimensions, t.v1.rank);
        copy_encoding(b, &t.v1.quantizeParams);
        if (to)
            to[i] = t;
    }
    return to;
}

static void fill(struct block *b, const struct composed *graphs, uint32_t n, QnnSystemContext_GraphInfoVersion_t version)
{
    QnnSystemContext_GraphInfo_t none = { .version = version }, *to = (void *)b->at;
    b->used = n * sizeof(none);
    for (uint32_t i = 0; i < n; i++) {
        const struct composed *g = &graphs[i];
        QnnSystemContext_GraphInfo_t info = none;
        QnnSystemContext_GraphInfoV3_t *v = &info.graphInfoV3; /* versions 1 and 2 are its beginning */
        v->graphName = copy(b, g->name, strlen(g->name) + 1);
        v->numGraphInputs = g->inputs.n;
        v->graphInputs = copy_tensors(b, g->inputs);
        v->numGraphOutputs = g->outputs.n;
        v->graphOutputs = copy_tensors(b, g->outputs);
        if (version != QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1) {
            v->numUpdateableTensors = g->updateable.n;
            v->updateableTensors = copy_tensors(b, g->updateable);
        }
        if (to)
            to[i] = info;
    }
}

enum status graph_info_pack(const struct composed *graphs, uint32_t n, QnnSystemContext_GraphInfoVersion_t version,
                            QnnSystemContext_GraphInfo_t **ret)
{
    struct block b = { 0 };
    fill(&b, graphs, n, version);
    b.at = mem_zalloc(b.used);
    RETURN_IF(!b.at, ST_NO_MEMORY, "no memory to describe %u graphs", n);
    fill(&b, graphs, n, version);
    *ret = (QnnSystemContext_GraphInfo_t *)b.at;
    return ST_OK;
}

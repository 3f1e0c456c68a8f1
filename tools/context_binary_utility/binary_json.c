/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a context binary as JSON. Readers exist for two shapes, so both can be written: with objects inside
 * "info" (version 1) and flat (version 3). Key names are those that existing readers look for. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "QNN/HTP/QnnHtpCommon.h"
#include "QNN/HTP/QnnHtpSystemContext.h"
#include "common/tensor_text.h"
#include "common/tool_file.h"
#include "context_binary_utility/binary_report.h"

QnnSystemContext_BinaryInfoV3_t report_common(const QnnSystemContext_BinaryInfo_t *info)
{
    if (info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3)
        return info->contextBinaryInfoV3;
    const QnnSystemContext_BinaryInfoV1_t *v = &info->contextBinaryInfoV1; /* version 2 begins alike */
    return (QnnSystemContext_BinaryInfoV3_t){ .backendId = v->backendId,
                                              .buildId = v->buildId,
                                              .coreApiVersion = v->coreApiVersion,
                                              .backendApiVersion = v->backendApiVersion,
                                              .socVersion = v->socVersion,
                                              .contextBlobVersion = v->contextBlobVersion,
                                              .contextBlobSize = v->contextBlobSize,
                                              .numContextTensors = v->numContextTensors,
                                              .contextTensors = v->contextTensors,
                                              .numGraphs = v->numGraphs,
                                              .graphs = v->graphs };
}

static json_t *version_json(Qnn_Version_t v)
{
    return json_pack("{s:I,s:I,s:I}", "major", (json_int_t)v.major, "minor", (json_int_t)v.minor, "patch",
                     (json_int_t)v.patch);
}

static void set(json_t *to, const char *key, json_t *value)
{
    json_object_set_new(to, key, value);
}

static void set_number(json_t *to, const char *key, uint64_t value)
{
    set(to, key, json_integer((json_int_t)value));
}

static void set_text(json_t *to, const char *key, const char *value)
{
    json_t *text = json_string(value ? value : ""); /* NULL for bytes that are not UTF-8 */
    set(to, key, text ? text : json_string("?"));
}

/* {"info": {...}} in version 1, {...} in later ones. */
static json_t *wrap(json_t *fields, int version)
{
    return version == 1 ? json_pack("{s:o}", "info", fields) : fields;
}

static json_t *pair_json(double scale, int32_t offset)
{
    return json_pack("{s:f,s:I}", "scale", scale, "offset", (json_int_t)offset);
}

static json_t *axis_json(const Qnn_QuantizeParams_t *q)
{
    bool bw = q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
    const Qnn_BwAxisScaleOffset_t *b = &q->bwAxisScaleOffsetEncoding;
    const Qnn_AxisScaleOffset_t *a = &q->axisScaleOffsetEncoding;
    json_t *list = json_array(), *o = json_object();
    uint32_t n = bw ? b->numElements : a->numScaleOffsets;
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, bw ? pair_json((double)b->scales[i], b->offsets ? b->offsets[i] : 0)
                                       : pair_json((double)a->scaleOffset[i].scale, a->scaleOffset[i].offset));
    if (bw)
        set_number(o, "bitwidth", b->bitwidth);
    set(o, "axis", json_integer(bw ? b->axis : a->axis));
    set_number(o, "numScaleOffsets", n);
    set(o, "scaleOffset", list);
    return o;
}

static json_t *encoding_json(const Qnn_QuantizeParams_t *q)
{
    json_t *o = json_object();
    set_text(o, "definition", tensor_definition_name(q->encodingDefinition));
    set_text(o, "quantizationEncoding", tensor_encoding_name(q->quantizationEncoding));
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return o;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        set(o, "scaleOffset", pair_json((double)q->scaleOffsetEncoding.scale, q->scaleOffsetEncoding.offset));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        set(o, "bwScaleOffset", pair_json((double)q->bwScaleOffsetEncoding.scale, q->bwScaleOffsetEncoding.offset));
        set_number(json_object_get(o, "bwScaleOffset"), "bitwidth", q->bwScaleOffsetEncoding.bitwidth);
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET: set(o, "axisScaleOffset", axis_json(q)); break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET: set(o, "bwAxisScaleOffset", axis_json(q)); break;
    default: break;
    }
    return o;
}

static json_t *tensor_json(const Qnn_Tensor_t *t, int version)
{
    json_t *o = json_object(), *dims = json_array();
    for (uint32_t i = 0; i < t->v1.rank && t->v1.dimensions; i++)
        json_array_append_new(dims, json_integer(t->v1.dimensions[i]));
    set_number(o, "id", t->v1.id);
    set_text(o, "name", t->v1.name);
    set_text(o, "type", tensor_kind_name(t->v1.type));
    set_text(o, "dataFormat", tensor_format_name(t->v1.dataFormat));
    set_text(o, "dataType", tensor_type(t->v1.dataType)->name);
    set(o, "quantizeParams", encoding_json(&t->v1.quantizeParams));
    set_number(o, "rank", t->v1.rank);
    set(o, "dimensions", dims);
    set_text(o, "memType", tensor_memory_name(t->v1.memType));
    if (t->version == QNN_TENSOR_VERSION_2 && t->v2.isDynamicDimensions) {
        json_t *flags = json_array();
        for (uint32_t i = 0; i < t->v1.rank; i++)
            json_array_append_new(flags, json_boolean(t->v2.isDynamicDimensions[i]));
        set(o, "isDynamicDimensions", flags);
    }
    return wrap(o, version);
}

static json_t *tensors_json(const Qnn_Tensor_t *t, uint32_t n, int version)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, tensor_json(&t[i], version));
    return list;
}

/* Blobs belong to their backend; those of HTP are public. */
static void add_blobs(json_t *o, const QnnSystemContext_GraphInfoV3_t *g, int version)
{
    const QnnHtpSystemContext_GraphBlobInfo_t *first = g->graphBlobInfo;
    if (!first || g->graphBlobInfoSize < sizeof(*first) ||
        first->version != QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1)
        return;
    const QnnHtpSystemContext_GraphBlobInfoV1_t *v1 = &first->contextBinaryGraphBlobInfoV1;
    json_t *blob = json_object();
    set_number(blob, "spillFillBufferSize", v1->spillFillBufferSize);
    set_number(blob, "vtcmSize", v1->vtcmSize);
    set_number(blob, "optimizationLevel", v1->optimizationLevel);
    set_number(blob, "htpDlbc", v1->htpDlbc);
    set_number(blob, "numHvxThreads", v1->numHvxThreads);
    set(o, "graphBlobInfo", wrap(blob, version));
    if (g->graphBlobInfoSize < sizeof(*first) + sizeof(QnnHtpSystemContext_GraphBlobInfoV2_t))
        return;
    const QnnHtpSystemContext_GraphBlobInfoV2_t *v2 = (const void *)(first + 1);
    json_t *more = json_object();
    set_number(more, "nativeKChannelSize", v2->nativeKChannelSize);
    set_number(more, "nativeVChannelSize", v2->nativeVChannelSize);
    set_number(more, "isSafeShareIO", v2->isSafeShareIO);
    set_number(more, "ioTensorSize", v2->ioTensorSize);
    set_number(more, "opDataSize", v2->opDataSize);
    set_number(more, "constSize", v2->constSize);
    set_number(more, "ddrTensorSize", v2->ddrTensorSize);
    set_number(more, "sharedWeightsSize", v2->sharedWeightsSize);
    set(o, "graphBlobInfoV2", more);
}

static json_t *graph_json(const QnnSystemContext_GraphInfo_t *info, uint32_t backend, int version)
{
    const QnnSystemContext_GraphInfoV3_t *g = &info->graphInfoV3; /* earlier versions are its beginning */
    json_t *o = json_object();
    set_text(o, "graphName", g->graphName);
    set_number(o, "numGraphInputs", g->numGraphInputs);
    set(o, "graphInputs", tensors_json(g->graphInputs, g->numGraphInputs, version));
    set_number(o, "numGraphOutputs", g->numGraphOutputs);
    set(o, "graphOutputs", tensors_json(g->graphOutputs, g->numGraphOutputs, version));
    if (info->version >= QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_2) {
        set_number(o, "numUpdateableTensors", g->numUpdateableTensors);
        set(o, "updateableTensors", tensors_json(g->updateableTensors, g->numUpdateableTensors, version));
    }
    if (info->version == QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3) {
        if (backend == QNN_BACKEND_ID_HTP)
            add_blobs(o, g, version);
        set_number(o, "startOpIndex", g->startOpIndex);
        set_number(o, "endOpIndex", g->endOpIndex);
    }
    return wrap(o, version);
}

static void add_hardware(json_t *o, const QnnSystemContext_BinaryInfo_t *info, int version)
{
    const QnnSystemContext_BinaryInfoV1_t *v1 = &info->contextBinaryInfoV1;
    const QnnSystemContext_BinaryInfoV3_t *v3 = &info->contextBinaryInfoV3;
    if (info->version != QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3) {
        set(o, "hwInfoBlobVersion", version_json(v1->hwInfoBlobVersion));
        set_number(o, "hwInfoBlobSize", v1->hwInfoBlobSize);
        return;
    }
    set_number(o, "socModel", v3->socModel);
    const QnnHtpSystemContext_ContextBlobInfo_t *blob = v3->contextMetadata;
    if (v3->backendId != QNN_BACKEND_ID_HTP || !blob || v3->contextMetadataSize < sizeof(*blob))
        return;
    json_t *arch = json_object();
    set_number(arch, "dspArch", blob->contextBinaryContextBlobInfoV1.dspArch);
    set(o, "contextMetadata", wrap(arch, version));
}

enum status report_json(const QnnSystemContext_BinaryInfo_t *info, int version, const char *path)
{
    QnnSystemContext_BinaryInfoV3_t c = report_common(info);
    json_t *o = json_object(), *graphs = json_array(), *root = json_object();
    set_number(o, "backendId", c.backendId);
    set_text(o, "buildId", c.buildId);
    set(o, "coreApiVersion", version_json(c.coreApiVersion));
    set(o, "backendApiVersion", version_json(c.backendApiVersion));
    set_text(o, "socVersion", c.socVersion);
    set(o, "contextBlobVersion", version_json(c.contextBlobVersion));
    set_number(o, "contextBlobSize", c.contextBlobSize);
    add_hardware(o, info, version);
    set_number(o, "numContextTensors", c.numContextTensors);
    set(o, "contextTensors", tensors_json(c.contextTensors, c.numContextTensors, version));
    set_number(o, "numGraphs", c.numGraphs);
    for (uint32_t i = 0; i < c.numGraphs; i++)
        json_array_append_new(graphs, graph_json(&c.graphs[i], c.backendId, version));
    set(o, "graphs", graphs);
    set(root, "info", o);
    set_number(root, "version", (uint64_t)version);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(root);
    RETURN_IF(!text, ST_NO_MEMORY, "JSON text of the context binary");
    enum status st = tool_file_write(path, text, strlen(text));
    free(text);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that newer SDKs appended to the table of libQnnSystem.so: what a DLC holds, one call per fact. All have the same
 * steps, so each is one line here: what it asks about, the type of the answer, and where it is. */
#include "api/dlc_info.h"
#include "api/interface_next.h"
#include "api/system_dlc.h"

/* What a handle stands for; of another kind it is no handle at all. */
#define INFO_FROM_HANDLE(i, handle_, kind_)                                                                     \
    API_OBJECT(struct dlc_info, i, handle_, HANDLE_SYSTEM_DLC_INFO, COMP_SYSTEM);                               \
    log_enter(NULL);                                                                                            \
    API_CHECK((i)->kind == (kind_), COMP_SYSTEM, ST_INVALID_HANDLE, "the handle is that of %s; %s is expected", \
              kind_names[(i)->kind], kind_names[kind_])

#define NEED(pointer) \
    API_CHECK(pointer, COMP_SYSTEM, ST_INVALID_ARG, "%s is NULL; give a pointer that receives it", #pointer)

static const char *const kind_names[] = { "a graph", "a context binary", "a graph of a context binary", "a tensor",
                                          "an encoding" };

typedef const struct dlc_graph_info graph_info;
typedef const QnnSystemContext_BinaryInfo_t binary_info;
typedef const QnnSystemContext_GraphInfo_t binary_graph_info;
typedef const Qnn_Tensor_t tensor_info;
typedef const Qnn_QuantizeParams_t encoding_info;

/* `o` is what the handle stands for. What follows the value is checked first, and its message. */
#define FACT(name, kind, otype, type, value, ...)             \
    static Qnn_ErrorHandle_t name(void *handle, type *answer) \
    {                                                         \
        INFO_FROM_HANDLE(i, handle, kind);                    \
        NEED(answer);                                         \
        otype *o = i->object;                                 \
        __VA_ARGS__;                                          \
        *answer = (value);                                    \
        return QNN_SUCCESS;                                   \
    }

/* The n-th of a list: its handle, or its value. */
#define PART(name, kind, otype, part_kind, n, at)                                                  \
    static Qnn_ErrorHandle_t name(void *handle, uint32_t index, void **answer)                     \
    {                                                                                              \
        INFO_FROM_HANDLE(i, handle, kind);                                                         \
        NEED(answer);                                                                              \
        otype *o = i->object;                                                                      \
        API_CHECK(index < (n), COMP_SYSTEM, ST_INVALID_ARG, "index %u; there are %u", index, (n)); \
        return api_error(COMP_SYSTEM, dlc_info_handle(i->facts, part_kind, (at) + index, answer)); \
    }
#define ENTRY(name, encoding, type, n, value)                                                      \
    static Qnn_ErrorHandle_t name(void *handle, uint32_t index, type *answer)                      \
    {                                                                                              \
        INFO_FROM_HANDLE(i, handle, INFO_ENCODING);                                                \
        NEED(answer);                                                                              \
        encoding_info *o = i->object;                                                              \
        BE_ENCODED(encoding);                                                                      \
        API_CHECK(index < (n), COMP_SYSTEM, ST_INVALID_ARG, "index %u; there are %u", index, (n)); \
        *answer = (value);                                                                         \
        return QNN_SUCCESS;                                                                        \
    }
#define VERSION(name, there, value)                                                                \
    static Qnn_ErrorHandle_t name(void *handle, uint32_t *major, uint32_t *minor, uint32_t *patch) \
    {                                                                                              \
        INFO_FROM_HANDLE(i, handle, INFO_BINARY);                                                  \
        NEED(major);                                                                               \
        NEED(minor);                                                                               \
        NEED(patch);                                                                               \
        binary_info *o = i->object;                                                                \
        BE_THERE(there);                                                                           \
        Qnn_Version_t v = (value);                                                                 \
        *major = v.major, *minor = v.minor, *patch = v.patch;                                      \
        return QNN_SUCCESS;                                                                        \
    }

/* ---- the container ---------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t handles(void *dlc, bool binaries, void ***list, uint32_t *count)
{
    DLC_FROM_HANDLE(d, dlc);
    NEED(list);
    NEED(count);
    enum status st = dlc_describe(d);
    if (st == ST_OK) {
        *count = binaries ? d->facts.n_binaries : d->facts.n_graphs;
        *list = !*count ? NULL : binaries ? d->facts.binary_handles : d->facts.graph_handles;
    }
    return api_error(COMP_SYSTEM, st);
}

static Qnn_ErrorHandle_t graph_handles(void *dlc, void ***list, uint32_t *count)
{
    return handles(dlc, false, list, count);
}

static Qnn_ErrorHandle_t binary_handles(void *dlc, void ***list, uint32_t *count)
{
    return handles(dlc, true, list, count);
}

/* ---- graphs that can be composed -------------------------------------------------------------------------------------- */

FACT(graph_all, INFO_GRAPH, graph_info, graph_info *, o)
FACT(graph_name, INFO_GRAPH, graph_info, const char *, o->v1.graphName)
FACT(graph_inputs, INFO_GRAPH, graph_info, uint32_t, o->v1.numGraphInputs)
FACT(graph_outputs, INFO_GRAPH, graph_info, uint32_t, o->v1.numGraphOutputs)
PART(graph_input, INFO_GRAPH, graph_info, INFO_TENSOR, o->v1.numGraphInputs, o->v1.graphInputs)
PART(graph_output, INFO_GRAPH, graph_info, INFO_TENSOR, o->v1.numGraphOutputs, o->v1.graphOutputs)

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

FACT(tensor_name, INFO_TENSOR, tensor_info, const char *, o->v1.name)
FACT(tensor_id, INFO_TENSOR, tensor_info, uint32_t, o->v1.id)
FACT(tensor_type, INFO_TENSOR, tensor_info, Qnn_TensorType_t, o->v1.type)
FACT(tensor_format, INFO_TENSOR, tensor_info, Qnn_TensorDataFormat_t, o->v1.dataFormat)
FACT(tensor_data_type, INFO_TENSOR, tensor_info, Qnn_DataType_t, o->v1.dataType)
FACT(tensor_rank, INFO_TENSOR, tensor_info, uint32_t, o->v1.rank)

static Qnn_ErrorHandle_t tensor_dimensions(void *handle, uint32_t *dimensions)
{
    INFO_FROM_HANDLE(i, handle, INFO_TENSOR);
    NEED(dimensions);
    tensor_info *o = i->object;
    for (uint32_t k = 0; k < o->v1.rank; k++)
        dimensions[k] = o->v1.dimensions[k];
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t tensor_encoding(void *handle, void **encoding)
{
    INFO_FROM_HANDLE(i, handle, INFO_TENSOR);
    NEED(encoding);
    tensor_info *o = i->object;
    return api_error(COMP_SYSTEM, dlc_info_handle(i->facts, INFO_ENCODING, &o->v1.quantizeParams, encoding));
}

/* ---- encodings -------------------------------------------------------------------------------------------------------- */

#define BE_ENCODED(e)                                                                                                      \
    API_CHECK(o->encodingDefinition == QNN_DEFINITION_DEFINED && o->quantizationEncoding == QNN_QUANTIZATION_ENCODING_##e, \
              COMP_SYSTEM, ST_INVALID_ARG, "the encoding is %u; what is asked for has encoding %u",                        \
              (unsigned)o->quantizationEncoding, (unsigned)QNN_QUANTIZATION_ENCODING_##e)
#define ENCODING(name, e, type, value) FACT(name, INFO_ENCODING, encoding_info, type, value, BE_ENCODED(e))
#define BW_OFFSET(n) (o->bwAxisScaleOffsetEncoding.offsets ? o->bwAxisScaleOffsetEncoding.offsets[n] : 0)

FACT(encoding_defined, INFO_ENCODING, encoding_info, Qnn_Definition_t, o->encodingDefinition)
FACT(encoding_kind, INFO_ENCODING, encoding_info, Qnn_QuantizationEncoding_t, o->quantizationEncoding)
ENCODING(whole_scale, SCALE_OFFSET, float, o->scaleOffsetEncoding.scale)
ENCODING(whole_offset, SCALE_OFFSET, int32_t, o->scaleOffsetEncoding.offset)
ENCODING(bw_bits, BW_SCALE_OFFSET, uint32_t, o->bwScaleOffsetEncoding.bitwidth)
ENCODING(bw_scale, BW_SCALE_OFFSET, float, o->bwScaleOffsetEncoding.scale)
ENCODING(bw_offset, BW_SCALE_OFFSET, int32_t, o->bwScaleOffsetEncoding.offset)
ENCODING(axis_axis, AXIS_SCALE_OFFSET, int32_t, o->axisScaleOffsetEncoding.axis)
ENCODING(axis_count, AXIS_SCALE_OFFSET, uint32_t, o->axisScaleOffsetEncoding.numScaleOffsets)
ENTRY(axis_scale, AXIS_SCALE_OFFSET, float, o->axisScaleOffsetEncoding.numScaleOffsets,
      o->axisScaleOffsetEncoding.scaleOffset[index].scale)
ENTRY(axis_offset, AXIS_SCALE_OFFSET, int32_t, o->axisScaleOffsetEncoding.numScaleOffsets,
      o->axisScaleOffsetEncoding.scaleOffset[index].offset)
ENCODING(bw_axis_bits, BW_AXIS_SCALE_OFFSET, uint32_t, o->bwAxisScaleOffsetEncoding.bitwidth)
ENCODING(bw_axis_axis, BW_AXIS_SCALE_OFFSET, int32_t, o->bwAxisScaleOffsetEncoding.axis)
ENCODING(bw_axis_count, BW_AXIS_SCALE_OFFSET, uint32_t, o->bwAxisScaleOffsetEncoding.numElements)
ENTRY(bw_axis_scale, BW_AXIS_SCALE_OFFSET, float, o->bwAxisScaleOffsetEncoding.numElements,
      o->bwAxisScaleOffsetEncoding.scales[index])
ENTRY(bw_axis_offset, BW_AXIS_SCALE_OFFSET, int32_t, o->bwAxisScaleOffsetEncoding.numElements, BW_OFFSET(index))

/* ---- context binaries: versions 1 and 3 of their description differ in where fields are ------------------------------- */

#define IS_V1 (o->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1)
#define IS_V3 (o->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3)
#define IN_ALL(field) (IS_V1 ? o->contextBinaryInfoV1.field : o->contextBinaryInfoV3.field)
#define BINARY(name, type, field) FACT(name, INFO_BINARY, binary_info, type, IN_ALL(field))
#define BE_THERE(there) \
    API_CHECK(there, COMP_SYSTEM, ST_NOT_SUPPORTED, "a description of version %u has no such field", (unsigned)o->version)
#define BINARY_V1(name, type, field) \
    FACT(name, INFO_BINARY, binary_info, type, o->contextBinaryInfoV1.field, BE_THERE(IS_V1))
#define BINARY_V3(name, type, field) \
    FACT(name, INFO_BINARY, binary_info, type, o->contextBinaryInfoV3.field, BE_THERE(IS_V3))

FACT(binary_all, INFO_BINARY, binary_info, binary_info *, o)
BINARY(binary_backend, uint32_t, backendId)
BINARY(binary_build, const char *, buildId)
VERSION(binary_core_version, true, IN_ALL(coreApiVersion))
VERSION(binary_backend_version, true, IN_ALL(backendApiVersion))
BINARY(binary_soc, const char *, socVersion)
VERSION(binary_hardware_version, IS_V1, o->contextBinaryInfoV1.hwInfoBlobVersion)
VERSION(binary_blob_version, true, IN_ALL(contextBlobVersion))
BINARY_V1(binary_hardware_size, uint32_t, hwInfoBlobSize)
BINARY_V1(binary_hardware, void *, hwInfoBlob)
BINARY(binary_size, uint64_t, contextBlobSize)
BINARY(binary_tensors, uint32_t, numContextTensors)
PART(binary_tensor, INFO_BINARY, binary_info, INFO_TENSOR, IN_ALL(numContextTensors), IN_ALL(contextTensors))
BINARY(binary_graphs, uint32_t, numGraphs)
PART(binary_graph, INFO_BINARY, binary_info, INFO_BINARY_GRAPH, IN_ALL(numGraphs), IN_ALL(graphs))
BINARY_V3(binary_soc_model, uint32_t, socModel)
BINARY_V3(binary_metadata_size, uint32_t, contextMetadataSize)
BINARY_V3(binary_metadata, void *, contextMetadata)

/* ---- their graphs: versions 1 and 2 are the beginning of version 3 ---------------------------------------------------- */

#define SINCE(v) (o->version >= QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_##v)
#define IN_GRAPH(name, type, since, field) \
    FACT(name, INFO_BINARY_GRAPH, binary_graph_info, type, o->graphInfoV3.field, BE_THERE(SINCE(since)))

IN_GRAPH(in_name, const char *, 1, graphName)
IN_GRAPH(in_inputs, uint32_t, 1, numGraphInputs)
IN_GRAPH(in_outputs, uint32_t, 1, numGraphOutputs)
IN_GRAPH(in_updateables, uint32_t, 2, numUpdateableTensors)
IN_GRAPH(in_blob_size, uint32_t, 3, graphBlobInfoSize)
IN_GRAPH(in_blob, void *, 3, graphBlobInfo)
IN_GRAPH(in_start, uint32_t, 3, startOpIndex)
IN_GRAPH(in_end, uint32_t, 3, endOpIndex)
PART(in_input, INFO_BINARY_GRAPH, binary_graph_info, INFO_TENSOR, o->graphInfoV3.numGraphInputs, o->graphInfoV3.graphInputs)
PART(in_output, INFO_BINARY_GRAPH, binary_graph_info, INFO_TENSOR, o->graphInfoV3.numGraphOutputs,
     o->graphInfoV3.graphOutputs)
PART(in_updateable, INFO_BINARY_GRAPH, binary_graph_info, INFO_TENSOR, SINCE(2) ? o->graphInfoV3.numUpdateableTensors : 0,
     o->graphInfoV3.updateableTensors)

/* In the order of the table. */
#define SLOT(f) (next_slot)(void (*)(void))(f)
const next_slot next_dlc_info[NEXT_DLC_INFO] = {
    SLOT(graph_handles),
    SLOT(binary_handles),
    SLOT(graph_all),
    SLOT(binary_all),
    SLOT(graph_name),
    SLOT(graph_inputs),
    SLOT(graph_outputs),
    SLOT(graph_input),
    SLOT(graph_output),
    SLOT(tensor_name),
    SLOT(tensor_id),
    SLOT(tensor_type),
    SLOT(tensor_format),
    SLOT(tensor_data_type),
    SLOT(tensor_rank),
    SLOT(tensor_dimensions),
    SLOT(tensor_encoding),
    SLOT(encoding_defined),
    SLOT(encoding_kind),
    SLOT(whole_scale),
    SLOT(whole_offset),
    SLOT(bw_bits),
    SLOT(bw_scale),
    SLOT(bw_offset),
    SLOT(axis_axis),
    SLOT(axis_count),
    SLOT(axis_scale),
    SLOT(axis_offset),
    SLOT(bw_axis_bits),
    SLOT(bw_axis_axis),
    SLOT(bw_axis_count),
    SLOT(bw_axis_scale),
    SLOT(bw_axis_offset),
    SLOT(binary_backend),
    SLOT(binary_build),
    SLOT(binary_core_version),
    SLOT(binary_backend_version),
    SLOT(binary_soc),
    SLOT(binary_hardware_version),
    SLOT(binary_blob_version),
    SLOT(binary_hardware_size),
    SLOT(binary_hardware),
    SLOT(binary_size),
    SLOT(binary_tensors),
    SLOT(binary_tensor),
    SLOT(binary_graphs),
    SLOT(binary_graph),
    SLOT(binary_soc_model),
    SLOT(binary_metadata_size),
    SLOT(binary_metadata),
    SLOT(in_name),
    SLOT(in_inputs),
    SLOT(in_outputs),
    SLOT(in_updateables),
    SLOT(in_blob_size),
    SLOT(in_blob),
    SLOT(in_start),
    SLOT(in_end),
    SLOT(in_input),
    SLOT(in_output),
    SLOT(in_updateable),
    SLOT(next_free_record_range),
};

/* SPDX-License-Identifier: Apache-2.0 */
/* table: the structs of the core API. Fields that a backend only writes are left out. */
#include "api/saver/saver_types.h"

#include "QNN/QnnBackend.h"
#include "QNN/QnnContext.h"
#include "QNN/QnnDevice.h"
#include "QNN/QnnGlobalConfig.h"
#include "QNN/QnnGraph.h"
#include "QNN/QnnProfile.h"
#include "QNN/QnnSignal.h"
#include "QNN/QnnTypes.h"

const struct saver_type saver_u8 = { .name = "uint8_t", .size = 1, .kind = SAVER_U8, .plain = true };
const struct saver_type saver_u16 = { .name = "uint16_t", .size = 2, .kind = SAVER_U16, .plain = true };
const struct saver_type saver_u32 = { .name = "uint32_t", .size = 4, .kind = SAVER_U32, .plain = true };
const struct saver_type saver_i32 = { .name = "int32_t", .size = 4, .kind = SAVER_I32, .plain = true };
const struct saver_type saver_f32 = { .name = "float", .size = 4, .kind = SAVER_F32, .plain = true };

/* The member that decides is the first one of most structs. */
static uint32_t first_word(const void *object)
{
    return *(const uint32_t *)object;
}

/* ---- encodings -------------------------------------------------------------------------------------------------------- */

#define F(m, k) { FIELD_OF(S, m, k) }
#define SUB(m, t) { FIELD_OF(S, m, SAVER_STRUCT), .type = &(t) }
#define ARRAY(m, t, c, at) { FIELD_OF(S, m, SAVER_ARRAY), .type = &(t), .count = (c), .count_at = offsetof(S, at) }
#define TYPE(var, f, ...) static const struct saver_type var = { FIELDS(f), __VA_ARGS__ }

#define S Qnn_ScaleOffset_t
static const struct saver_field scale_offset_f[] = { F(scale, SAVER_F32), F(offset, SAVER_I32) };
TYPE(scale_offset, scale_offset_f, .name = "Qnn_ScaleOffset_t", .size = sizeof(S), .plain = true);
#undef S
#define S Qnn_FloatScaleOffset_t
static const struct saver_field float_scale_offset_f[] = { F(scale, SAVER_F32), F(offset, SAVER_F32) };
TYPE(float_scale_offset, float_scale_offset_f, .name = "Qnn_FloatScaleOffset_t", .size = sizeof(S), .plain = true);
#undef S
#define S Qnn_AxisScaleOffset_t
static const struct saver_field axis_f[] = {
    F(axis, SAVER_I32), F(numScaleOffsets, SAVER_U32), ARRAY(scaleOffset, scale_offset, COUNT_ENCODED, numScaleOffsets)
};
TYPE(axis, axis_f, .name = "Qnn_AxisScaleOffset_t", .size = sizeof(S));
#undef S
#define S Qnn_BwScaleOffset_t
static const struct saver_field bw_f[] = { F(bitwidth, SAVER_U32), F(scale, SAVER_F32), F(offset, SAVER_I32) };
TYPE(bw, bw_f, .name = "Qnn_BwScaleOffset_t", .size = sizeof(S), .plain = true);
#undef S
#define S Qnn_BwAxisScaleOffset_t
static const struct saver_field bw_axis_f[] = {
    F(bitwidth, SAVER_U32), F(axis, SAVER_I32), F(numElements, SAVER_U32), ARRAY(scales, saver_f32, COUNT_ENCODED, numElements),
    ARRAY(offsets, saver_i32, COUNT_ENCODED, numElements)
};
TYPE(bw_axis, bw_axis_f, .name = "Qnn_BwAxisScaleOffset_t", .size = sizeof(S));
#undef S
#define S Qnn_BwAxisScaleOffsetMapped_t
static const struct saver_field bw_axis_mapped_f[] = {
    F(bitwidth, SAVER_U32), F(axis, SAVER_I32), F(mapping, SAVER_I32), F(numElements, SAVER_U32),
    ARRAY(scales, saver_f32, COUNT_ENCODED, numElements), ARRAY(offsets, saver_i32, COUNT_ENCODED, numElements)
};
TYPE(bw_axis_mapped, bw_axis_mapped_f, .name = "Qnn_BwAxisScaleOffsetMapped_t", .size = sizeof(S));
#undef S
#define S Qnn_BlockEncoding_t
static const struct saver_field block_f[] = {
    ARRAY(blockSize, saver_u32, COUNT_RANK, blockSize), ARRAY(scaleOffset, scale_offset, COUNT_BLOCKS, blockSize)
};
TYPE(block, block_f, .name = "Qnn_BlockEncoding_t", .size = sizeof(S));
#undef S
#define S Qnn_BwBlockMapped_t
static const struct saver_field bw_block_mapped_f[] = {
    F(bitwidth, SAVER_U32), F(mapping, SAVER_I32), ARRAY(blockSize, saver_u32, COUNT_RANK, blockSize),
    ARRAY(scaleOffset, scale_offset, COUNT_BLOCKS, blockSize)
};
TYPE(bw_block_mapped, bw_block_mapped_f, .name = "Qnn_BwBlockMapped_t", .size = sizeof(S));
#undef S
#define S Qnn_FloatBlockEncoding_t
static const struct saver_field float_block_f[] = {
    ARRAY(blockSize, saver_u32, COUNT_RANK, blockSize), ARRAY(floatScaleOffset, float_scale_offset, COUNT_BLOCKS, blockSize)
};
TYPE(float_block, float_block_f, .name = "Qnn_FloatBlockEncoding_t", .size = sizeof(S));
#undef S
#define S Qnn_BwFloatBlockEncoding_t
static const struct saver_field bw_float_block_f[] = {
    F(bitwidth, SAVER_U32), ARRAY(blockSize, saver_u32, COUNT_RANK, blockSize),
    ARRAY(floatScaleOffset, float_scale_offset, COUNT_BLOCKS, blockSize)
};
TYPE(bw_float_block, bw_float_block_f, .name = "Qnn_BwFloatBlockEncoding_t", .size = sizeof(S));
#undef S

/* Block scales of 8 or 16 bits; the count needs the axis, which lies a fixed way before the number of blocks. */
#define EXPANSION(m)                                                                                                  \
    F(axis, SAVER_I32), ARRAY(scaleOffsets, scale_offset, COUNT_CHANNELS, axis), F(numBlocksPerAxis, SAVER_U32),      \
        F(blockScaleBitwidth, SAVER_U32), F(blockScaleStorageType, SAVER_I32),                                        \
        { FIELD_OF(S, blocksScale8, SAVER_ARRAY), .type = &saver_u8, .count = COUNT_AXIS_BLOCKS,                      \
          .count_at = offsetof(S, axis), WHEN(QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8) },                    \
        { FIELD_OF(S, blocksScale16, SAVER_ARRAY), .type = &saver_u16, .count = COUNT_AXIS_BLOCKS,                    \
          .count_at = offsetof(S, axis), WHEN(QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16) }

#define S Qnn_BlockwiseExpansion_t
static uint32_t expansion_storage(const void *o)
{
    return (uint32_t)((const S *)o)->blockScaleStorageType;
}
static const struct saver_field expansion_f[] = { EXPANSION() };
TYPE(expansion, expansion_f, .name = "Qnn_BlockwiseExpansion_t", .size = sizeof(S), .select = expansion_storage);
#undef S
#define S Qnn_BwBlockwiseExpansionMapped_t
static uint32_t bw_expansion_storage(const void *o)
{
    return (uint32_t)((const S *)o)->blockScaleStorageType;
}
static const struct saver_field bw_expansion_f[] = { F(bitwidth, SAVER_U32), F(mapping, SAVER_I32), EXPANSION() };
TYPE(bw_expansion, bw_expansion_f, .name = "Qnn_BwBlockwiseExpansionMapped_t", .size = sizeof(S),
     .select = bw_expansion_storage);
#undef S
#define S Qnn_VectorEncoding_t
static const struct saver_field vector_f[] = {
    SUB(bwAxisScaleOffset, bw_axis), F(rowsPerBlock, SAVER_U32), F(columnsPerBlock, SAVER_U32), F(vectorDimension, SAVER_U8),
    F(vectorStride, SAVER_U8), F(indexBitwidth, SAVER_U8)
};
TYPE(vector, vector_f, .name = "Qnn_VectorEncoding_t", .size = sizeof(S));
#undef S
#define S Qnn_MicroscalingEncoding_t
static uint32_t scale_type(const void *o)
{
    return ((const S *)o)->scaleDataType == QNN_DATATYPE_FLOAT_32;
}
static const struct saver_field microscaling_f[] = {
    F(valueEncoding, SAVER_I32), F(blockRank, SAVER_U32), ARRAY(blockDimensions, saver_u32, COUNT_ENCODED, blockRank),
    F(blockCount, SAVER_U32), F(scaleDataType, SAVER_I32),
    { FIELD_OF(S, blockScales8, SAVER_ARRAY), .type = &saver_u8, .count = COUNT_ENCODED, .count_at = offsetof(S, blockCount),
      WHEN(0) },
    { FIELD_OF(S, blockScalesFloat, SAVER_ARRAY), .type = &saver_f32, .count = COUNT_ENCODED,
      .count_at = offsetof(S, blockCount), WHEN(1) }
};
TYPE(microscaling, microscaling_f, .name = "Qnn_MicroscalingEncoding_t", .size = sizeof(S), .select = scale_type);
#undef S
#define S Qnn_ArrayOf_t
static const struct saver_field array_of_f[] = {
    F(quantizationEncoding, SAVER_I32), F(numElements, SAVER_U32), ARRAY(indexTensor, saver_tensor, COUNT_ONE, indexTensor),
    { FIELD_OF(S, vectorElements, SAVER_LIST), .type = &saver_quantize, .count = COUNT_FIELD,
      .count_at = offsetof(S, numElements) }
};
TYPE(array_of, array_of_f, .name = "Qnn_ArrayOf_t", .size = sizeof(S));
#undef S

/* Without a definition the encoding is not looked at, whatever it says. */
#define S Qnn_QuantizeParams_t
static uint32_t encoding(const void *o)
{
    const S *p = o;
    return p->encodingDefinition == QNN_DEFINITION_DEFINED ? (uint32_t)p->quantizationEncoding
                                                           : QNN_QUANTIZATION_ENCODING_UNDEFINED;
}
#define IN_PLACE(m, t, v) { FIELD_OF(S, m, SAVER_STRUCT), .type = &(t), WHEN(QNN_QUANTIZATION_ENCODING_##v) }
#define BEHIND(m, t, v) { FIELD_OF(S, m, SAVER_ARRAY), .type = &(t), .count = COUNT_ONE, WHEN(QNN_QUANTIZATION_ENCODING_##v) }
static const struct saver_field quantize_f[] = {
    F(encodingDefinition, SAVER_I32),
    F(quantizationEncoding, SAVER_I32),
    IN_PLACE(scaleOffsetEncoding, scale_offset, SCALE_OFFSET),
    IN_PLACE(axisScaleOffsetEncoding, axis, AXIS_SCALE_OFFSET),
    IN_PLACE(bwScaleOffsetEncoding, bw, BW_SCALE_OFFSET),
    IN_PLACE(bwAxisScaleOffsetEncoding, bw_axis, BW_AXIS_SCALE_OFFSET),
    IN_PLACE(blockEncoding, block, BLOCK),
    IN_PLACE(floatBlockEncoding, float_block, FLOAT_BLOCK),
    IN_PLACE(bwFloatBlockEncoding, bw_float_block, BW_FLOAT_BLOCK),
    BEHIND(blockwiseExpansion, expansion, BLOCKWISE_EXPANSION),
    BEHIND(vectorEncoding, vector, VECTOR),
    BEHIND(bwAxisScaleOffsetMappedEncoding, bw_axis_mapped, BW_AXIS_SCALE_OFFSET_MAPPED),
    BEHIND(bwBlockMappedEncoding, bw_block_mapped, BW_BLOCK_MAPPED),
    BEHIND(bwBlockwiseExpansionMappedEncoding, bw_expansion, BW_BLOCKWISE_EXPANSION_MAPPED),
    BEHIND(microScalingEncoding, microscaling, MICROSCALING),
    BEHIND(arrayOfEncoding, array_of, ARRAY_OF),
};
const struct saver_type saver_quantize = { .name = "Qnn_QuantizeParams_t", .size = sizeof(S), FIELDS(quantize_f),
                                           .select = encoding };
#undef S

/* ---- tensors and nodes ------------------------------------------------------------------------------------------------ */

#define S Qnn_SparseLayoutHybridCoo_t
static const struct saver_field coo_f[] = { F(numSpecifiedElements, SAVER_U32), F(numSparseDimensions, SAVER_U32) };
TYPE(coo, coo_f, .name = "Qnn_SparseLayoutHybridCoo_t", .size = sizeof(S), .plain = true);
#undef S
#define S Qnn_SparseParams_t
static const struct saver_field sparse_f[] = {
    F(type, SAVER_I32), { FIELD_OF(S, hybridCoo, SAVER_STRUCT), .type = &coo, WHEN(QNN_SPARSE_LAYOUT_HYBRID_COO) }
};
TYPE(sparse, sparse_f, .name = "Qnn_SparseParams_t", .size = sizeof(S), .plain = true, .select = first_word);
#undef S

#define TENSOR_FIELDS                                                                                                 \
    F(id, SAVER_ID), F(name, SAVER_TEXT), F(type, SAVER_I32), F(dataFormat, SAVER_U32), F(dataType, SAVER_I32),       \
        SUB(quantizeParams, saver_quantize), F(rank, SAVER_U32), ARRAY(dimensions, saver_u32, COUNT_RANK, rank),      \
        F(memType, SAVER_I32), { FIELD_OF(S, clientBuf, SAVER_DATA), WHEN(QNN_TENSORMEMTYPE_RAW) },                   \
        { FIELD_OF(S, memHandle, SAVER_HANDLE), WHEN(QNN_TENSORMEMTYPE_MEMHANDLE) }
#define S Qnn_TensorV1_t
static uint32_t mem_type(const void *o) /* at the same place in both versions */
{
    return (uint32_t)((const S *)o)->memType;
}
static const struct saver_field tensor_v1_f[] = { TENSOR_FIELDS };
const struct saver_type saver_tensor_v1 = { .name = "Qnn_TensorV1_t", .size = sizeof(S), FIELDS(tensor_v1_f),
                                            .select = mem_type };
#undef S
#define S Qnn_TensorV2_t
static const struct saver_field tensor_v2_f[] = {
    TENSOR_FIELDS, ARRAY(isDynamicDimensions, saver_u8, COUNT_RANK, rank), SUB(sparseParams, sparse)
};
TYPE(tensor_v2, tensor_v2_f, .name = "Qnn_TensorV2_t", .size = sizeof(S), .select = mem_type);
#undef S
#define S Qnn_Tensor_t
static const struct saver_field tensor_f[] = {
    F(version, SAVER_I32), { FIELD_OF(S, v1, SAVER_STRUCT), .type = &saver_tensor_v1, WHEN(QNN_TENSOR_VERSION_1) },
    { FIELD_OF(S, v2, SAVER_STRUCT), .type = &tensor_v2, WHEN(QNN_TENSOR_VERSION_2) }
};
const struct saver_type saver_tensor = { .name = "Qnn_Tensor_t", .size = sizeof(S), FIELDS(tensor_f), .select = first_word };
#undef S

#define S Qnn_Scalar_t
#define SCALAR(t, m, k) { FIELD_OF(S, m, k), WHEN(QNN_DATATYPE_##t) }
static const struct saver_field scalar_f[] = {
    F(dataType, SAVER_I32),
    SCALAR(FLOAT_32, floatValue, SAVER_F32),
    SCALAR(FLOAT_64, doubleValue, SAVER_F64),
    SCALAR(STRING, stringValue, SAVER_TEXT),
    SCALAR(BOOL_8, bool8Value, SAVER_U8),
    SCALAR(INT_64, uint64Value, SAVER_U64),
    SCALAR(UINT_64, uint64Value, SAVER_U64),
    SCALAR(INT_32, int32Value, SAVER_I32),
    SCALAR(UINT_32, uint32Value, SAVER_U32),
    SCALAR(SFIXED_POINT_32, int32Value, SAVER_I32),
    SCALAR(UFIXED_POINT_32, uint32Value, SAVER_U32),
    SCALAR(INT_16, uint16Value, SAVER_U16),
    SCALAR(UINT_16, uint16Value, SAVER_U16),
    SCALAR(FLOAT_16, uint16Value, SAVER_U16),
    SCALAR(BFLOAT_16, uint16Value, SAVER_U16),
    SCALAR(SFIXED_POINT_16, uint16Value, SAVER_U16),
    SCALAR(UFIXED_POINT_16, uint16Value, SAVER_U16),
    SCALAR(INT_8, uint8Value, SAVER_U8),
    SCALAR(UINT_8, uint8Value, SAVER_U8),
    SCALAR(SFIXED_POINT_8, uint8Value, SAVER_U8),
    SCALAR(UFIXED_POINT_8, uint8Value, SAVER_U8),
};
const struct saver_type saver_scalar = { .name = "Qnn_Scalar_t", .size = sizeof(S), FIELDS(scalar_f), .select = first_word };
#undef S
#define S Qnn_Param_t
static const struct saver_field param_f[] = {
    F(paramType, SAVER_U32), F(name, SAVER_TEXT),
    { FIELD_OF(S, scalarParam, SAVER_STRUCT), .type = &saver_scalar, WHEN(QNN_PARAMTYPE_SCALAR) },
    { FIELD_OF(S, tensorParam, SAVER_STRUCT), .type = &saver_tensor, WHEN(QNN_PARAMTYPE_TENSOR) }
};
TYPE(param, param_f, .name = "Qnn_Param_t", .size = sizeof(S), .select = first_word);
#undef S
#define S Qnn_OpConfigV1_t
static const struct saver_field op_config_v1_f[] = {
    F(name, SAVER_TEXT), F(packageName, SAVER_TEXT), F(typeName, SAVER_TEXT), F(numOfParams, SAVER_U32),
    ARRAY(params, param, COUNT_FIELD, numOfParams), F(numOfInputs, SAVER_U32),
    ARRAY(inputTensors, saver_tensor, COUNT_FIELD, numOfInputs), F(numOfOutputs, SAVER_U32),
    ARRAY(outputTensors, saver_tensor, COUNT_FIELD, numOfOutputs)
};
TYPE(op_config_v1, op_config_v1_f, .name = "Qnn_OpConfigV1_t", .size = sizeof(S));
#undef S
#define S Qnn_OpConfig_t
static const struct saver_field op_config_f[] = {
    F(version, SAVER_I32), { FIELD_OF(S, v1, SAVER_STRUCT), .type = &op_config_v1, WHEN(QNN_OPCONFIG_VERSION_1) }
};
const struct saver_type saver_op_config = { .name = "Qnn_OpConfig_t", .size = sizeof(S), FIELDS(op_config_f),
                                            .select = first_word };
#undef S

/* ---- settings --------------------------------------------------------------------------------------------------------- */

#define OPTION(m, k, v) { FIELD_OF(S, m, k), WHEN(v) }
#define OPTION_STRUCT(m, t, v) { FIELD_OF(S, m, SAVER_STRUCT), .type = &(t), WHEN(v) }
#define CONFIG(var, f) \
    const struct saver_type var = { .name = NAME_OF(S), .size = sizeof(S), FIELDS(f), .select = first_word }
#define NAME_OF(s) NAME_OF_(s)
#define NAME_OF_(s) #s

#define S Qnn_ErrorReportingConfig_t
static const struct saver_field reporting_f[] = { F(reportingLevel, SAVER_I32), F(storageLimit, SAVER_U32) };
TYPE(reporting, reporting_f, .name = NAME_OF(S), .size = sizeof(S), .plain = true);
#undef S
#define S QnnBackend_Config_t
static const struct saver_field backend_config_f[] = {
    F(option, SAVER_I32), OPTION(customConfig, SAVER_CUSTOM, QNN_BACKEND_CONFIG_OPTION_CUSTOM),
    OPTION_STRUCT(errorConfig, reporting, QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING),
    OPTION(platformOption, SAVER_TEXT, QNN_BACKEND_CONFIG_OPTION_PLATFORM)
};
CONFIG(saver_backend_config, backend_config_f);
#undef S
#define S QnnContext_AsyncExecutionQueueDepth_t
static const struct saver_field depth_f[] = {
    F(type, SAVER_I32), OPTION(depth, SAVER_U32, QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC)
};
TYPE(depth, depth_f, .name = NAME_OF(S), .size = sizeof(S), .plain = true, .select = first_word);
#undef S
#define S QnnContext_Config_t
static const struct saver_field context_config_f[] = {
    F(option, SAVER_I32),
    OPTION(customConfig, SAVER_CUSTOM, QNN_CONTEXT_CONFIG_OPTION_CUSTOM),
    OPTION(priority, SAVER_I32, QNN_CONTEXT_CONFIG_OPTION_PRIORITY),
    OPTION_STRUCT(errorConfig, reporting, QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING),
    OPTION(oemString, SAVER_TEXT, QNN_CONTEXT_CONFIG_OPTION_OEM_STRING),
    OPTION_STRUCT(asyncExeQueueDepth, depth, QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH),
    OPTION(enableGraphs, SAVER_TEXTS, QNN_CONTEXT_CONFIG_ENABLE_GRAPHS),
    OPTION(memoryLimitHint, SAVER_U64, QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT),
    OPTION(isPersistentBinary, SAVER_U8, QNN_CONTEXT_CONFIG_PERSISTENT_BINARY),
    OPTION(binaryCompatibilityType, SAVER_I32, QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY),
    OPTION(isGraphInitDeferred, SAVER_U8, QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT),
    OPTION(graphRetentionOrder, SAVER_TEXTS, QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER),
};
CONFIG(saver_context_config, context_config_f);
#undef S
#define S QnnGraph_Config_t
static const struct saver_field graph_config_f[] = {
    F(option, SAVER_I32),
    OPTION(customConfig, SAVER_CUSTOM, QNN_GRAPH_CONFIG_OPTION_CUSTOM),
    OPTION(priority, SAVER_I32, QNN_GRAPH_CONFIG_OPTION_PRIORITY),
    OPTION(profileHandle, SAVER_HANDLE, QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE),
    OPTION(profilingState, SAVER_I32, QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE),
    OPTION(numProfilingExecutions, SAVER_U32, QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS),
    OPTION(enableBinarySectionWeightsUpdates, SAVER_U8, QNN_GRAPH_CONFIG_OPTION_ENABLE_BINARY_SECTION_WEIGHTS_UPDATES),
};
CONFIG(saver_graph_config, graph_config_f);
#undef S
#define S QnnProfile_Config_t
static const struct saver_field profile_config_f[] = {
    F(option, SAVER_I32), OPTION(customConfig, SAVER_CUSTOM, QNN_PROFILE_CONFIG_OPTION_CUSTOM),
    OPTION(numMaxEvents, SAVER_U64, QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS),
    OPTION(enableOptrace, SAVER_U8, QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE)
};
CONFIG(saver_profile_config, profile_config_f);
#undef S
#define S QnnSignal_Config_t
static const struct saver_field signal_config_f[] = {
    F(option, SAVER_I32), OPTION(customConfig, SAVER_CUSTOM, QNN_SIGNAL_CONFIG_OPTION_CUSTOM),
    OPTION(timeoutDurationUs, SAVER_U64, QNN_SIGNAL_CONFIG_OPTION_TIMEOUT)
};
CONFIG(saver_signal_config, signal_config_f);
#undef S
#define S QnnGlobalConfig_t
static const struct saver_field global_config_f[] = {
    F(option, SAVER_I32), OPTION(socModel, SAVER_I32, QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL)
};
CONFIG(saver_global_config, global_config_f);
#undef S

/* ---- devices ---------------------------------------------------------------------------------------------------------- */

#define S QnnDevice_CoreInfoV1_t
static const struct saver_field core_v1_f[] = {
    F(coreId, SAVER_U32), F(coreType, SAVER_U32), F(coreInfoExtension, SAVER_LOST)
};
TYPE(core_v1, core_v1_f, .name = NAME_OF(S), .size = sizeof(S));
#undef S
#define S QnnDevice_CoreInfo_t
static const struct saver_field core_f[] = {
    F(version, SAVER_I32), OPTION_STRUCT(v1, core_v1, QNN_DEVICE_CORE_INFO_VERSION_1)
};
TYPE(core, core_f, .name = NAME_OF(S), .size = sizeof(S), .select = first_word);
#undef S
#define S QnnDevice_HardwareDeviceInfoV1_t
static const struct saver_field hardware_v1_f[] = {
    F(deviceId, SAVER_U32), F(deviceType, SAVER_U32), F(numCores, SAVER_U32), ARRAY(cores, core, COUNT_FIELD, numCores),
    F(deviceInfoExtension, SAVER_LOST)
};
TYPE(hardware_v1, hardware_v1_f, .name = NAME_OF(S), .size = sizeof(S));
#undef S
#define S QnnDevice_HardwareDeviceInfo_t
static const struct saver_field hardware_f[] = {
    F(version, SAVER_I32), OPTION_STRUCT(v1, hardware_v1, QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1)
};
TYPE(hardware, hardware_f, .name = NAME_OF(S), .size = sizeof(S), .select = first_word);
#undef S
#define S QnnDevice_PlatformInfoV1_t
static const struct saver_field platform_v1_f[] = {
    F(numHwDevices, SAVER_U32), ARRAY(hwDevices, hardware, COUNT_FIELD, numHwDevices)
};
TYPE(platform_v1, platform_v1_f, .name = NAME_OF(S), .size = sizeof(S));
#undef S
#define S QnnDevice_PlatformInfo_t
static const struct saver_field platform_f[] = {
    F(version, SAVER_I32), OPTION_STRUCT(v1, platform_v1, QNN_DEVICE_PLATFORM_INFO_VERSION_1)
};
TYPE(platform, platform_f, .name = NAME_OF(S), .size = sizeof(S), .select = first_word);
#undef S
#define S QnnDevice_Config_t
static const struct saver_field device_config_f[] = {
    F(option, SAVER_I32), OPTION(customConfig, SAVER_CUSTOM, QNN_DEVICE_CONFIG_OPTION_CUSTOM),
    { FIELD_OF(S, hardwareInfo, SAVER_ARRAY), .type = &platform, .count = COUNT_ONE,
      WHEN(QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO) }
};
CONFIG(saver_device_config, device_config_f);
#undef S

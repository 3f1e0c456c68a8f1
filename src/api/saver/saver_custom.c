/* SPDX-License-Identifier: Apache-2.0 */
/* table: settings that only one backend has, behind customConfig. Which backend is meant says BACKEND_ID of
 * QnnSaver_initialize. */
#include "api/saver/saver_table.h"

#include "QNN/HTP/QnnHtpContext.h"
#include "QNN/HTP/QnnHtpDeviceConfigShared.h"
#include "QNN/HTP/QnnHtpGraph.h"
#include "QNN/GPU/QnnGpuCommon.h"
#include "QNN/GPU/QnnGpuGraph.h"
#include "QNN/IR/QnnIrGraph.h"
#include "QNN/LPAI/QnnLpaiCommon.h"

#define OPTION_STRUCT(m, t, v) { FIELD_OF(S, m, SAVER_STRUCT), .type = &(t), WHEN(v) }

/* ---- HTP -------------------------------------------------------------------------------------------------------------- */

#define S QnnHtpGraph_OptimizationOption_t
static const struct saver_field optimization_f[] = { F(type, SAVER_I32), F(floatValue, SAVER_F32) };
static TYPE(optimization, optimization_f, .plain = true);
#undef S
#define S QnnHtpGraph_VtcmConfig_t
static const struct saver_field vtcm_f[] = {
    F(sizeInBytes, SAVER_U32), F(offsetInBytes, SAVER_U32), F(sizeTotalInBytes, SAVER_U32)
};
static TYPE(vtcm, vtcm_f, .plain = true);
#undef S
#define S QnnHtpGraph_ParallelGraphExecutionConfig_t
static const struct saver_field parallel_f[] = {
    F(concurrency, SAVER_I32), { FIELD_OF(S, vtcmConfig, SAVER_STRUCT), .type = &vtcm }
};
static TYPE(parallel, parallel_f, .plain = true);
#undef S
#define S QnnHtp_HmxBoundingInfo_t
static const struct saver_field hmx_f[] = { F(targetHmxFreqHz, SAVER_F32), F(targetDspCoreFreq, SAVER_F32) };
static TYPE(hmx, hmx_f, .plain = true);
#undef S
#define S QnnHtpGraph_FinalizeConfig_t
static const struct saver_field finalize_f[] = {
    F(key, SAVER_TEXT), { FIELD_OF(S, value, SAVER_STRUCT), .type = &saver_scalar }
};
static TYPE(finalize, finalize_f, );
#undef S
#define S QnnHtpGraph_CustomConfig_t
#define HTP(m, k, v) OPTION(m, k, QNN_HTP_GRAPH_CONFIG_OPTION_##v)
static const struct saver_field htp_graph_f[] = {
    F(option, SAVER_I32),
    OPTION_STRUCT(optimizationOption, optimization, QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION),
    HTP(precision, SAVER_I32, PRECISION),
    HTP(vtcmSizeInMB, SAVER_U32, VTCM_SIZE_IN_MB),
    HTP(foldReluActivationIntoConvOff, SAVER_U8, FOLD_RELU_ACTIVATION_INTO_CONV_OFF),
    HTP(shortDepthConvOnHmxOff, SAVER_U8, SHORT_DEPTH_CONV_ON_HMX_OFF),
    HTP(numHvxThreads, SAVER_U64, NUM_HVX_THREADS),
    OPTION_STRUCT(finalizeConfig, finalize, QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG),
    HTP(numCores, SAVER_U32, NUM_CORES),
    OPTION_STRUCT(parallelGraphExecutionConfig, parallel, QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG),
    HTP(vtcmSizeInBytes, SAVER_U32, VTCM_SIZE_IN_BYTES),
    OPTION_STRUCT(hmxBoundingInfo, hmx, QNN_HTP_GRAPH_CONFIG_OPTION_HMX_BOUNDING),
    HTP(weightsPacking, SAVER_U8, WEIGHTS_PACKING),
    HTP(assumeSameQuant, SAVER_U8, ASSUME_SAME_QUANT),
    HTP(shareIOBuffer, SAVER_U8, SHARE_IO_BUFFER),
    HTP(advancedActivationFusion, SAVER_U8, ADVANCED_ACTIVATION_FUSION),
    HTP(highPrecisionSigmoid, SAVER_U8, HIGH_PRECISION_SIGMOID),
    HTP(monolithicLstm, SAVER_U8, MONOLITHIC_LSTM),
    HTP(precisionCompensation, SAVER_U8, PRECISION_COMPENSATION),
};
static TYPE(htp_graph, htp_graph_f, .select = first_word);
#undef HTP
#undef S
#define S QnnHtpContext_GroupRegistration_t
static const struct saver_field group_f[] = { F(firstGroupHandle, SAVER_HANDLE), F(maxSpillFillBuffer, SAVER_U64) };
static TYPE(group, group_f, );
#undef S
#define S QnnHtpContext_CustomConfig_t
#define HTP(m, k, v) OPTION(m, k, QNN_HTP_CONTEXT_CONFIG_OPTION_##v)
static const struct saver_field htp_context_f[] = {
    F(option, SAVER_I32),
    HTP(weightSharingEnabled, SAVER_U8, WEIGHT_SHARING_ENABLED),
    OPTION_STRUCT(groupRegistration, group, QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS),
    HTP(fileReadMemoryBudgetInMb, SAVER_U64, FILE_READ_MEMORY_BUDGET),
    HTP(dspMemoryProfilingEnabled, SAVER_U8, DSP_MEMORY_PROFILING_ENABLED),
    HTP(shareResources, SAVER_U8, SHARE_RESOURCES),
    HTP(ioMemEstimation, SAVER_U8, IO_MEM_ESTIMATION),
    HTP(isPrepareOnly, SAVER_U8, PREPARE_ONLY),
    HTP(initAcceleration, SAVER_U8, INIT_ACCELERATION),
    HTP(skipValidationOnBinarySection, SAVER_U8, SKIP_VALIDATION_ON_BINARY_SECTION),
    HTP(shareResOptType, SAVER_I32, SHARE_RESOURCES_OPTIMIZATION_TYPE),
    HTP(useExtendedUdma, SAVER_U8, USE_EXTENDED_UDMA),
    OPTION_STRUCT(concurrentGroupRegistration, group, QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING),
    HTP(loraWeightSharingEnabled, SAVER_U8, LORA_WEIGHT_SHARING_ENABLED),
    HTP(loraWeightSharingRamPreloadEnabled, SAVER_U8, LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED),
    HTP(reusedIoLimitMb, SAVER_U64, REUSED_IO_LIMIT),
    HTP(referenceWeightSharingEnabled, SAVER_U8, REFERENCE_WEIGHT_SHARING_ENABLED),
    HTP(concurrentDeserializationExtraSizeKB, SAVER_U32, CONCURRENT_DESERIALIZATION_EXTRA_SIZE),
    HTP(graphSplittingEnabled, SAVER_U8, GRAPH_SPLITTING_ENABLED),
};
static TYPE(htp_context, htp_context_f, .select = first_word);
#undef HTP
#undef S

#define DEVICE_FLAG(var, m)                                                                     \
    static const struct saver_field var##_f[] = { F(deviceId, SAVER_U32), F(m, SAVER_U8) };     \
    TYPE(var, var##_f, .plain = true)
#define S QnnHtpDevice_Minimum_Arch_t
static const struct saver_field arch_f[] = { F(deviceId, SAVER_U32), F(arch, SAVER_I32) };
static TYPE(arch, arch_f, .plain = true);
#undef S
#define S QnnHtpDevice_UseSignedProcessDomain_t
DEVICE_FLAG(signed_pd, useSignedProcessDomain);
#undef S
#define S QnnHtpDevice_UseSecureProcessDomain_t
DEVICE_FLAG(secure_pd, useSecureProcessDomain);
#undef S
#define S QnnHtpDevice_AsyncExecute_t
DEVICE_FLAG(async, enableAsyncExecute);
#undef S
#define S QnnHtpDevice_UseDynamicPartitioning_t
DEVICE_FLAG(partitioning, useDynamicPartitioning);
#undef S
#define S QnnHtpDevice_CustomConfig_t
static const struct saver_field htp_device_f[] = {
    F(option, SAVER_I32),
    OPTION(socModel, SAVER_U32, QNN_HTP_DEVICE_CONFIG_OPTION_SOC),
    OPTION_STRUCT(arch, arch, QNN_HTP_DEVICE_CONFIG_OPTION_ARCH),
    OPTION_STRUCT(useSignedProcessDomain, signed_pd, QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD),
    OPTION_STRUCT(useSecureProcessDomain, secure_pd, QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD),
    OPTION_STRUCT(asyncExecute, async, QNN_HTP_DEVICE_CONFIG_OPTION_ASYNC_EXECUTE),
    OPTION_STRUCT(useDynamicPartitioning, partitioning, QNN_HTP_DEVICE_CONFIG_OPTION_DYNAMIC_PARTITIONING),
    OPTION(appUid, SAVER_U32, QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID),
};
static TYPE(htp_device, htp_device_f, .select = first_word);
#undef S

/* ---- IR --------------------------------------------------------------------------------------------------------------- */

#define S QnnIrGraph_SerializationOption_t
static const struct saver_field serialization_f[] = { F(serializationType, SAVER_I32), F(outputPath, SAVER_TEXT) };
static TYPE(serialization, serialization_f, );
#undef S
#define S QnnIrGraph_CustomConfig_t
static const struct saver_field ir_graph_f[] = {
    F(option, SAVER_I32), OPTION_STRUCT(serializationOption, serialization, QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION)
};
static TYPE(ir_graph, ir_graph_f, .select = first_word);
#undef S

/* ---- which is whose --------------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t backend;
    const struct saver_type *owner, *type;
} customs[] = {
    { QNN_BACKEND_ID_HTP, &saver_graph_config, &htp_graph },
    { QNN_BACKEND_ID_HTP, &saver_context_config, &htp_context },
    { QNN_BACKEND_ID_HTP, &saver_device_config, &htp_device },
    { QNN_BACKEND_ID_HTP, &saver_mem_descriptor, &saver_htp_memory },
    { QNN_BACKEND_ID_LPAI, &saver_mem_descriptor, &saver_lpai_memory },
    { QNN_BACKEND_ID_LPAI, &saver_backend_config, &saver_lpai_backend },
    { QNN_BACKEND_ID_LPAI, &saver_context_config, &saver_lpai_context },
    { QNN_BACKEND_ID_LPAI, &saver_graph_config, &saver_lpai_graph },
    { QNN_BACKEND_ID_GPU, &saver_backend_config, &saver_gpu_backend },
    { QNN_BACKEND_ID_GPU, &saver_context_config, &saver_gpu_context },
    { QNN_BACKEND_ID_GPU, &saver_graph_config, &saver_gpu_graph },
    { QNN_BACKEND_ID_IR, &saver_graph_config, &ir_graph },
};

const struct saver_type *saver_custom(uint32_t backend, const struct saver_type *owner, const void *object)
{
    if (backend == QNN_BACKEND_ID_GPU && owner == &saver_graph_config && first_word(object) == QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG)
        return &saver_gpu_graph_v2;
    for (size_t i = 0; i < sizeof customs / sizeof customs[0]; i++)
        if (customs[i].backend == backend && customs[i].owner == owner)
            return customs[i].type;
    return NULL;
}

const char *const *saver_headers(uint32_t backend)
{
    static const char *const htp[] = { "HTP/QnnHtpContext.h", "HTP/QnnHtpDeviceConfigShared.h", "HTP/QnnHtpGraph.h",
                                       "HTP/QnnHtpMem.h", NULL };
    static const char *const gpu[] = { "GPU/QnnGpuBackend.h", "GPU/QnnGpuContext.h", "GPU/QnnGpuGraph.h", NULL };
    static const char *const lpai[] = { "LPAI/QnnLpaiBackend.h", "LPAI/QnnLpaiContext.h", "LPAI/QnnLpaiGraph.h",
                                        "LPAI/QnnLpaiGraphPrepare.h", "LPAI/QnnLpaiMem.h", NULL };
    static const char *const ir[] = { "IR/QnnIrGraph.h", NULL };
    switch (backend) {
    case QNN_BACKEND_ID_HTP: return htp;
    case QNN_BACKEND_ID_GPU: return gpu;
    case QNN_BACKEND_ID_LPAI: return lpai;
    case QNN_BACKEND_ID_IR: return ir;
    default: return NULL;
    }
}

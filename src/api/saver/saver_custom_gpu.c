/* SPDX-License-Identifier: Apache-2.0 */
/* table: settings that only the GPU has. Those of graphs have two forms, told apart by their first word. */
#include "QNN/GPU/QnnGpuBackend.h"
#include "QNN/GPU/QnnGpuContext.h"
#include "QNN/GPU/QnnGpuGraph.h"
#include "api/saver/saver_table.h"

#define S QnnGpuBackend_CustomConfig_t
#define GPU(m, k, v) OPTION(m, k, QNN_GPU_BACKEND_CONFIG_OPTION_##v)
static const struct saver_field backend_f[] = {
    F(option, SAVER_I32),
    GPU(enableTuningMode, SAVER_U8, ENABLE_TUNING_MODE),
    GPU(performanceCacheDir, SAVER_TEXT, PERFORMANCE_CACHE_DIR),
    GPU(invalidatePerformanceCache, SAVER_U8, INVALIDATE_PERFORMANCE_CACHE),
    GPU(weightSharingEnabled, SAVER_U8, WEIGHT_SHARING_ENABLED),
    GPU(disableKernelProfiling, SAVER_U8, DISABLE_KERNEL_PROFILING),
};
TYPE(saver_gpu_backend, backend_f, .select = first_word);
#undef GPU
#undef S

#define S QnnGpuContext_CustomConfig_t
#define GPU(m, k, v) OPTION(m, k, QNN_GPU_CONTEXT_CONFIG_OPTION_##v)
static const struct saver_field context_f[] = {
    F(option, SAVER_I32),
    GPU(perfHint, SAVER_I32, PERF_HINT),
    GPU(useGLBuffers, SAVER_U8, USE_GL_BUFFERS),
    GPU(kernelRepoDir, SAVER_TEXT, KERNEL_REPO_DIR),
    GPU(invalidateKernelRepo, SAVER_U8, INVALIDATE_KERNEL_REPO),
};
TYPE(saver_gpu_context, context_f, .select = first_word);
#undef GPU
#undef S

#define S QnnGpuGraph_CustomConfig_t
static const struct saver_field graph_f[] = {
    F(precision, SAVER_I32), F(disableMemoryOptimizations, SAVER_U8), F(disableNodeOptimizations, SAVER_U8),
    F(disableQueueRecording, SAVER_U8)
};
TYPE(saver_gpu_graph, graph_f, );
#undef S

#define S QnnGpuGraph_CustomConfigV2_t
static uint32_t graph_option(const void *o)
{
    return (uint32_t)((const S *)o)->option;
}
#define GPU(m, k, v) OPTION(m, k, QNN_GPU_GRAPH_CONFIG_OPTION_##v)
static const struct saver_field graph_v2_f[] = {
    F(handshake, SAVER_U32),
    F(option, SAVER_I32),
    GPU(precision, SAVER_I32, PRECISION),
    GPU(disableMemoryOptimizations, SAVER_U8, DISABLE_MEMORY_OPTIMIZATIONS),
    GPU(disableNodeOptimizations, SAVER_U8, DISABLE_NODE_OPTIMIZATIONS),
    GPU(disableQueueRecording, SAVER_U8, DISABLE_QUEUE_RECORDING),
};
TYPE(saver_gpu_graph_v2, graph_v2_f, .select = graph_option);
#undef GPU
#undef S

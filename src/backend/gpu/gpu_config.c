/* SPDX-License-Identifier: Apache-2.0 */
/* What the client's GPU structures mean here; the only file of this folder that sees them. */
#include <string.h>
#include <sys/stat.h>

#include <QNN/GPU/QnnGpuBackend.h>
#include <QNN/GPU/QnnGpuCommon.h>
#include <QNN/GPU/QnnGpuContext.h>
#include <QNN/GPU/QnnGpuGraph.h>
#include <QNN/GPU/QnnGpuMem.h>
#include <QNN/QnnCommon.h>
#include <QNN/QnnSdkBuildId.h>

#include "backend/gpu/gpu_backend.h"
#include "base/mem.h"

static enum status flag(const char *name, uint8_t v)
{
    RETURN_IF(v > 1, ST_INVALID_CONFIG, "GPU config: %s is %u; 0 and 1 are allowed", name, v);
    return ST_OK;
}

static enum status folder(const char *name, const char *path, char ret[BACKEND_FOLDER])
{
    struct stat s;
    RETURN_IF(!path || !path[0], ST_INVALID_CONFIG, "GPU config: %s is %s; a folder is expected", name,
              path ? "empty" : "NULL");
    RETURN_IF(strlen(path) >= BACKEND_FOLDER, ST_INVALID_CONFIG, "GPU config: %s has %zu characters; at most %d are taken",
              name, strlen(path), BACKEND_FOLDER - 1);
    RETURN_IF(stat(path, &s) != 0 || !S_ISDIR(s.st_mode), ST_INVALID_CONFIG,
              "GPU config: %s is \"%s\", which is no folder; make it first", name, path);
    memcpy(ret, path, strlen(path) + 1);
    return ST_OK;
}

/* ---- backend and context ---------------------------------------------------------------------------------------------- */

/* Invalidations get numbers, so that each is followed once. */
static uint32_t next_number(void)
{
    static _Atomic uint32_t last;
    return ++last;
}

static const struct {
    uint32_t option, bit; /* bit of backend_cfg.target */
    const char *name;
} backend_flags[] = {
    { QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, GPU_BACKEND_TUNING, "ENABLE_TUNING_MODE" },
    { QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE, 0, "INVALIDATE_PERFORMANCE_CACHE" },
    { QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED, GPU_BACKEND_WEIGHT_SHARING, "WEIGHT_SHARING_ENABLED" },
    { QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING, GPU_BACKEND_NO_KERNEL_TIMES, "DISABLE_KERNEL_PROFILING" },
};

enum status gpu_backend_config(const void *custom, struct backend_cfg *cfg)
{
    const QnnGpuBackend_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG, "GPU backend config: customConfig is NULL; a QnnGpuBackend_CustomConfig_t is expected");
    cfg->given = true;
    if (c->option == QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR)
        return folder("PERFORMANCE_CACHE_DIR", c->performanceCacheDir, cfg->folder);
    for (size_t i = 0; i < sizeof backend_flags / sizeof backend_flags[0]; i++) {
        if (backend_flags[i].option != (uint32_t)c->option)
            continue;
        TRY(flag(backend_flags[i].name, c->enableTuningMode));
        cfg->target = c->enableTuningMode ? cfg->target | backend_flags[i].bit : cfg->target & ~backend_flags[i].bit;
        if (c->option == QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE)
            cfg->arch = c->invalidatePerformanceCache ? next_number() : 0;
        return ST_OK;
    }
    return status_fail(
        ST_INVALID_CONFIG,
        "GPU backend config: unknown option %u; 0 (ENABLE_TUNING_MODE) to 4 (DISABLE_KERNEL_PROFILING) are known",
        (unsigned)c->option);
}

enum status gpu_context_config(const void *custom, struct backend_context_cfg *cfg)
{
    const QnnGpuContext_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG, "GPU context config: customConfig is NULL; a QnnGpuContext_CustomConfig_t is expected");
    switch ((uint32_t)c->option) {
    case QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT:
        RETURN_IF((uint32_t)c->perfHint >= GPU_PERF_COUNT, ST_INVALID_CONFIG,
                  "GPU context config: perf hint %u; 0 (HIGH), 1 (NORMAL) and 2 (LOW) are allowed", (unsigned)c->perfHint);
        cfg->own[GPU_OWN_PERF_HINT] = 1 + (uint64_t)c->perfHint;
        return ST_OK;
    case QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS:
        TRY(flag("USE_GL_BUFFERS", c->useGLBuffers));
        RETURN_IF(c->useGLBuffers, ST_NOT_SUPPORTED,
                  "GPU context config: USE_GL_BUFFERS is not supported; register OpenCL buffers");
        return ST_OK;
    case QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR:
        TRY(folder("KERNEL_REPO_DIR", c->kernelRepoDir, cfg->folder));
        cfg->own[GPU_OWN_REPO_GIVEN]++;
        return ST_OK;
    case QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO:
        TRY(flag("INVALIDATE_KERNEL_REPO", c->invalidateKernelRepo));
        cfg->own[GPU_OWN_FRESH_REPO] = c->invalidateKernelRepo;
        return ST_OK;
    default:
        return status_fail(ST_INVALID_CONFIG,
                           "GPU context config: unknown option %u; 0 (PERF_HINT) to 3 (INVALIDATE_KERNEL_REPO) are known",
                           (unsigned)c->option);
    }
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static enum status precision(uint32_t v, struct gpu_graph_cfg *s)
{
    RETURN_IF(v >= GPU_PRECISION_COUNT, ST_INVALID_CONFIG,
              "GPU graph config: precision %u; 0 (FP32), 1 (FP16), 2 (HYBRID) and 3 (USER_PROVIDED) are allowed", v);
    s->precision = v;
    return ST_OK;
}

static enum status take_all(const QnnGpuGraph_CustomConfig_t *c, struct gpu_graph_cfg *s)
{
    TRY(flag("disableMemoryOptimizations", c->disableMemoryOptimizations));
    TRY(flag("disableNodeOptimizations", c->disableNodeOptimizations));
    TRY(flag("disableQueueRecording", c->disableQueueRecording));
    TRY(precision((uint32_t)c->precision, s));
    s->disable_memory = c->disableMemoryOptimizations;
    s->disable_nodes = c->disableNodeOptimizations;
    s->disable_recording = c->disableQueueRecording;
    return ST_OK;
}

static enum status take_one(const QnnGpuGraph_CustomConfigV2_t *c, struct gpu_graph_cfg *s)
{
    uint8_t *const flags[] = { NULL, &s->disable_memory, &s->disable_nodes, &s->disable_recording };
    uint32_t option = (uint32_t)c->option;
    if (option == QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION)
        return precision((uint32_t)c->precision, s);
    RETURN_IF(option == QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG, ST_NOT_SUPPORTED,
              "GPU graph config: fences are not supported; an execution is complete when it returns");
    RETURN_IF(option >= sizeof flags / sizeof flags[0], ST_INVALID_CONFIG,
              "GPU graph config: unknown option %u; 0 (PRECISION) to 4 (FENCE_CONFIG) are known", option);
    TRY(flag("a disable option", c->disableMemoryOptimizations));
    *flags[option] = c->disableMemoryOptimizations;
    return ST_OK;
}

enum status gpu_graph_config(const void *custom, struct backend_graph_cfg *cfg)
{
    RETURN_IF(!custom, ST_INVALID_CONFIG,
              "GPU graph config: customConfig is NULL; a QnnGpuGraph_CustomConfig_t is expected");
    struct gpu_graph_cfg *s = cfg->custom;
    if (!s) {
        s = mem_new(struct gpu_graph_cfg);
        RETURN_IF(!s, ST_NO_MEMORY, "no memory for a graph configuration");
        s->precision = GPU_PRECISION_USER;
        cfg->custom = s;
    }
    uint32_t first;
    memcpy(&first, custom, sizeof first);
    return first == QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG ? take_one(custom, s) : take_all(custom, s);
}

void gpu_graph_config_free(struct backend_graph_cfg *cfg)
{
    mem_free(cfg->custom);
    cfg->custom = NULL;
}

/* ---- memory and identity ---------------------------------------------------------------------------------------------- */

enum status gpu_mem_custom(const void *info, struct backend_mem_spec *ret)
{
    const QnnGpu_MemInfoCustom_t *m = info;
    /* A descriptor that was filled for ION has a small number here. */
    RETURN_IF((uintptr_t)info < 4096, ST_INVALID_ARG,
              "custom memory: customInfo is %p; a QnnGpu_MemInfoCustom_t is expected", info);
    RETURN_IF(m->memType != QNN_GPU_MEM_OPENCL, ST_MEM_TYPE, "custom memory: type 0x%x; 0 (QNN_GPU_MEM_OPENCL) is supported",
              (unsigned)m->memType);
    RETURN_IF(!m->buffer, ST_INVALID_ARG, "custom memory: the buffer is NULL; a cl_mem is expected");
    ret->fd = -1;
    ret->object = m->buffer;
    return ST_OK;
}

struct binary_target gpu_target(void)
{
    struct binary_target t = {
        .backend_id = QNN_BACKEND_ID_GPU,
        .core_version = { QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH },
        .backend_version = { QNN_GPU_API_VERSION_MAJOR, QNN_GPU_API_VERSION_MINOR, QNN_GPU_API_VERSION_PATCH },
    };
    strncpy(t.build_id, QNN_SDK_BUILD_ID, sizeof(t.build_id) - 1);
    return t;
}

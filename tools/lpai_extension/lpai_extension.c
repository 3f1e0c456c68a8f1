/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnLpaiNetRunExtensions.so: settings and memory of LPAI graphs for qnn-net-run and qnn-context-binary-generator. It is
 * a client of the public API like the programs that open it; see common/tool_extension.h for when each function
 * is called. */
#include <stdio.h>
#include <string.h>

#include "QNN/LPAI/QnnLpaiContext.h"
#include "QNN/LPAI/QnnLpaiGraphPrepare.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "common/tool_extension.h"
#include "lpai_extension/lpai_memory.h"
#include "lpai_extension/lpai_params.h"
#include "openqnn_lpai.h"

enum { MAX_CUSTOM = 5 };

struct lpai_extension {
    struct extension_host host;
    struct arena arena;
    struct lpai_params params;
    struct lpai_memory memory;
    VEC(void *) pools; /* of graphs, until the context is freed */
    bool direct;
    /* What the lists that are handed out point at. */
    QnnLpaiBackend_CustomConfigHwInfo_t hardware;
    QnnLpaiBackend_CustomConfig_t hardware_custom;
    QnnBackend_Config_t backend;
    const QnnBackend_Config_t *backend_list[2];
    QnnLpaiMem_MemType_t model_type;
    QnnLpaiContext_CustomConfig_t model_custom;
    QnnContext_Config_t context;
    const QnnContext_Config_t *context_list[2];
    QnnLpaiGraph_CustomConfigPrepare_t prepare;
    uint32_t exclude_io, keep_batchnorm;
    QnnLpaiGraph_CustomConfig_t prepare_customs[MAX_CUSTOM];
    QnnGraph_Config_t graph[MAX_CUSTOM];
    const QnnGraph_Config_t *graph_list[MAX_CUSTOM + 1];
};

/* "what: explanation of the backend" as the failure of this library. */
static enum status backend_fail(const struct lpai_extension *e, Qnn_ErrorHandle_t error, const char *what)
{
    const char *text = NULL;
    const QNN_INTERFACE_VER_TYPE *api = e->host.api;
    if (!api->errorGetVerboseMessage || api->errorGetVerboseMessage(error, &text) != QNN_SUCCESS)
        text = NULL;
    enum status st =
        status_fail(ST_STATE, "%s: error %u: %s", what, (unsigned)QNN_GET_ERROR_CODE(error), text ? text : "no explanation");
    if (text && api->errorFreeVerboseMessage)
        api->errorFreeVerboseMessage(text);
    return st;
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

/* The target is the ADSP in direct mode, where TCM is. */
static enum status check_params(struct lpai_extension *e)
{
    const struct lpai_params *p = &e->params;
    QnnLpaiMem_MemType_t type = lpai_params_mem_type(p);
    const char *file = e->host.config_path ? e->host.config_path : "";
    if (type == QNN_LPAI_MEM_TYPE_UNDEFINED)
        e->host.log(QNN_LOG_LEVEL_ERROR, "Invalid memory type");
    RETURN_IF(e->direct && p->backend.has_target && p->backend.target != QNN_LPAI_BACKEND_TARGET_ADSP, ST_INVALID_CONFIG,
              "%s: lpai_backend/target_env is not \"adsp\", but --direct_mode adsp was given; remove one of them", file);
    RETURN_IF(e->host.executes && !e->direct && type == QNN_LPAI_MEM_TYPE_TCM, ST_INVALID_CONFIG,
              "%s: lpai_graph/execute/mem_type \"tcm\" is there in ADSP direct mode only; run with --direct_mode adsp, or "
              "set it to \"ddr\"",
              file);
    if (p->has_debug)
        e->host.log(QNN_LOG_LEVEL_WARN, "lpai_debug has no effect: this backend has no such settings");
    return ST_OK;
}

static enum status open_params(struct lpai_extension *e)
{
    TRY(lpai_params_read(e->host.config_path, &e->params, &e->arena));
    TRY(check_params(e));
    lpai_memory_init(&e->memory, lpai_params_mem_type(&e->params), e->host.log);
    e->hardware = lpai_params_hardware(&e->params);
    return ST_OK;
}

static void close_extension(void *self)
{
    struct lpai_extension *e = self;
    for (size_t i = 0; i < e->pools.n; i++)
        mem_free(e->pools.at[i]);
    vec_finish(&e->pools);
    lpai_memory_finish(&e->memory);
    arena_finish(&e->arena);
    mem_free(e);
}

static int open_extension(const struct extension_host *host, void **ret)
{
    struct lpai_extension *e = mem_new(struct lpai_extension);
    if (!e)
        return status_fail(ST_NO_MEMORY, "no memory for the settings of LPAI");
    e->host = *host;
    e->direct = host->direct_mode != NULL;
    arena_init(&e->arena);
    enum status st = open_params(e);
    if (st != ST_OK) {
        close_extension(e);
        return st;
    }
    *ret = e;
    return ST_OK;
}

/* ---- settings -------------------------------------------------------------------------------------------------------- */

/* Without the section a device finds out by itself what it is; so does the simulation. */
static int backend_configs(void *self, const QnnBackend_Config_t ***ret)
{
    struct lpai_extension *e = self;
    if (!e->params.backend.has_target && !e->params.backend.has_hw && !e->direct)
        return ST_OK;
    e->hardware_custom = (QnnLpaiBackend_CustomConfig_t){ QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO, &e->hardware };
    e->backend = (QnnBackend_Config_t){ .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &e->hardware_custom };
    e->backend_list[0] = &e->backend;
    *ret = e->backend_list;
    return ST_OK;
}

static int backend_created(void *self, Qnn_BackendHandle_t backend)
{
    struct lpai_extension *e = self;
    QnnLpaiBackend_BufferAlignmentReq_t req = QNN_LPAI_BACKEND_ALIGNMENT_REQ_INIT;
    QnnLpaiBackend_CustomProperty_t custom = { QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, &req };
    QnnBackend_Property_t property = { .option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnBackend_Property_t *list[] = { &property, NULL };
    Qnn_ErrorHandle_t error = e->host.api->backendGetProperty(backend, list);
    if (error != QNN_SUCCESS)
        return backend_fail(e, error, "the alignment of buffers");
    e->memory.start_align = req.startAddrAlignment;
    e->memory.size_align = req.sizeAlignment;
    return ST_OK;
}

static int context_configs(void *self, const QnnContext_Config_t ***ret)
{
    struct lpai_extension *e = self;
    if (e->memory.type != QNN_LPAI_MEM_TYPE_TCM || !e->host.executes)
        return ST_OK;
    e->model_type = e->memory.type;
    e->model_custom = (QnnLpaiContext_CustomConfig_t){ QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE, &e->model_type };
    e->context = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &e->model_custom };
    e->context_list[0] = &e->context;
    *ret = e->context_list;
    return ST_OK;
}

static int graph_configs(void *self, const char *graph, const QnnGraph_Config_t ***ret)
{
    (void)graph; /* one section for all graphs */
    struct lpai_extension *e = self;
    e->prepare = (QnnLpaiGraph_CustomConfigPrepare_t){ e->params.graph.prepare.per_layer,
                                                       (char *)e->params.graph.prepare.core_selection };
    e->exclude_io = e->params.graph.prepare.exclude_io;
    e->keep_batchnorm = !e->params.graph.prepare.batchnorm_fold;
    const QnnLpaiGraph_CustomConfig_t customs[] = { { QNN_LPAI_GRAPH_SET_CFG_PREPARE, &e->prepare },
                                                    { OPENQNN_LPAI_GRAPH_SET_CFG_EXCLUDE_IO, &e->exclude_io },
                                                    { OPENQNN_LPAI_GRAPH_SET_CFG_KEEP_BATCHNORM, &e->keep_batchnorm } };
    for (size_t i = 0; i < sizeof(customs) / sizeof(customs[0]); i++) {
        e->prepare_customs[i] = customs[i];
        e->graph[i] =
            (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &e->prepare_customs[i] };
        e->graph_list[i] = &e->graph[i];
    }
    *ret = e->graph_list;
    return ST_OK;
}

/* ---- pools ----------------------------------------------------------------------------------------------------------- */

static enum status make_pool(struct lpai_extension *e, Qnn_GraphHandle_t graph, uint32_t option, QnnLpaiGraph_Mem_t *ret)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t custom = { option, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnGraph_Property_t *list[] = { &property, NULL };
    Qnn_ErrorHandle_t error = e->host.api->graphGetProperty(graph, list);
    if (error != QNN_SUCCESS)
        return backend_fail(e, error, "the sizes of its memory");
    *ret = (QnnLpaiGraph_Mem_t){ QNN_LPAI_MEM_TYPE_DDR, size, NULL };
    if (!size)
        return ST_OK;
    void **slot = vec_push(&e->pools);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for a pool of %u bytes", size);
    *slot = ret->addr = lpai_memory_alloc_ddr(&e->memory, size);
    return ret->addr ? ST_OK : ST_NO_MEMORY;
}

static enum status set_all(struct lpai_extension *e, Qnn_GraphHandle_t graph, QnnLpaiGraph_CustomConfig_t *customs, size_t n)
{
    QnnGraph_Config_t configs[MAX_CUSTOM];
    const QnnGraph_Config_t *list[MAX_CUSTOM + 1] = { NULL };
    for (size_t i = 0; i < n; i++) {
        configs[i] = (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &customs[i] };
        list[i] = &configs[i];
    }
    Qnn_ErrorHandle_t error = e->host.api->graphSetConfig(graph, list);
    return error == QNN_SUCCESS ? ST_OK : backend_fail(e, error, "its settings");
}

static int graph_loaded(void *self, const char *name, Qnn_GraphHandle_t graph, bool *finalize)
{
    struct lpai_extension *e = self;
    QnnLpaiGraph_Mem_t scratch, persistent;
    QnnLpaiGraph_PerfCfg_t perf = lpai_params_perf(&e->params);
    QnnLpaiGraph_CoreAffinity_t affinity = lpai_params_affinity(&e->params);
    TRY(make_pool(e, graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, &scratch));
    TRY(make_pool(e, graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, &persistent));
    QnnLpaiGraph_CustomConfig_t customs[MAX_CUSTOM] = {
        { QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, &scratch },    { QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, &persistent },
        { QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf },          { QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &affinity },
        { QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT, NULL },
    };
    TRY(set_all(e, graph, customs, MAX_CUSTOM));
    char text[256];
    snprintf(text, sizeof(text), "graph \"%s\": %u bytes of scratch, %u bytes of persistent memory", name, scratch.size,
             persistent.size);
    e->host.log(QNN_LOG_LEVEL_INFO, text);
    *finalize = true;
    return ST_OK;
}

static void context_freed(void *self)
{
    struct lpai_extension *e = self;
    for (size_t i = 0; i < e->pools.n; i++)
        mem_free(e->pools.at[i]);
    e->pools.n = 0;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int alloc(void *self, enum extension_use use, size_t bytes, void **ret)
{
    (void)use; /* models, inputs and outputs are always of one type */
    struct lpai_extension *e = self;
    *ret = lpai_memory_alloc(&e->memory, bytes);
    return *ret ? ST_OK : ST_NO_MEMORY;
}

static void release(void *self, void *memory)
{
    struct lpai_extension *e = self;
    lpai_memory_free(&e->memory, memory);
}

static const char *profiling_level(void *self)
{
    struct lpai_extension *e = self;
    return lpai_params_profiling(&e->params);
}

extern const struct extension openqnn_extension;
__attribute__((visibility("default"))) const struct extension openqnn_extension = {
    .version = EXTENSION_VERSION,
    .backend_id = QNN_BACKEND_ID_LPAI,
    .name = "LPAI",
    .open = open_extension,
    .close = close_extension,
    .explain = status_text,
    .backend_configs = backend_configs,
    .backend_created = backend_created,
    .context_configs = context_configs,
    .graph_configs = graph_configs,
    .graph_loaded = graph_loaded,
    .context_freed = context_freed,
    .alloc = alloc,
    .free = release,
    .profiling_level = profiling_level,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* What the client's LPAI structures mean here; the only file of this folder that sees them. One table row per option. */
#include <assert.h>
#include <string.h>

#include <QNN/LPAI/QnnLpaiBackend.h>
#include <QNN/LPAI/QnnLpaiContext.h>
#include <QNN/LPAI/QnnLpaiGraph.h>
#include <QNN/LPAI/QnnLpaiGraphPrepare.h>
#include <QNN/QnnSdkBuildId.h>
#include <openqnn_lpai.h>

#include "backend/lpai/lpai_backend.h"
#include "base/mem.h"

enum { MAX_FPS = 100000, MAX_FTRT = 100000 };

static_assert((int)LPAI_X86 == QNN_LPAI_BACKEND_TARGET_X86 && (int)LPAI_ARM == QNN_LPAI_BACKEND_TARGET_ARM &&
                  (int)LPAI_ADSP == QNN_LPAI_BACKEND_TARGET_ADSP &&
                  (int)LPAI_HW_DEFAULT == (int)QNN_LPAI_BACKEND_HW_VERSION_DEFAULT,
              "the numbers of the API");

const char lpai_build_id[] = QNN_SDK_BUILD_ID;

/* ---- the backend ------------------------------------------------------------------------------------------------------ */

/* Multiply-accumulate units are a choice of the simulation. */
static const struct {
    uint32_t version;
    const char *name;
    uint32_t macs;
} hardware[] = {
    { QNN_LPAI_BACKEND_HW_VERSION_V4, "v4", 128 },     { QNN_LPAI_BACKEND_HW_VERSION_V5, "v5", 256 },
    { QNN_LPAI_BACKEND_HW_VERSION_V5_1, "v5.1", 256 }, { QNN_LPAI_BACKEND_HW_VERSION_V6, "v6", 512 },
    { QNN_LPAI_BACKEND_HW_VERSION_V7, "v7", 1024 },
};

const char *lpai_hw_name(uint32_t version)
{
    for (size_t i = 0; i < sizeof hardware / sizeof hardware[0]; i++)
        if (hardware[i].version == version)
            return hardware[i].name;
    return NULL;
}

uint32_t lpai_hw_version(const struct backend_cfg *cfg)
{
    return cfg->given && cfg->arch ? cfg->arch : LPAI_HW_DEFAULT;
}

struct binary_target lpai_binary_target(uint32_t hw_version)
{
    struct binary_target t = {
        .backend_id = QNN_BACKEND_ID_LPAI,
        .arch = hw_version,
        .core_version = { QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH },
        .backend_version = { QNN_LPAI_API_VERSION_MAJOR, QNN_LPAI_API_VERSION_MINOR, QNN_LPAI_API_VERSION_PATCH },
    };
    strncpy(t.build_id, QNN_SDK_BUILD_ID, sizeof t.build_id - 1);
    return t;
}

enum status lpai_backend_config(const void *custom, struct backend_cfg *cfg)
{
    const QnnLpaiBackend_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG,
              "LPAI backend config: customConfig is NULL; a QnnLpaiBackend_CustomConfig_t is expected");
    RETURN_IF(c->option != QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO, ST_INVALID_CONFIG,
              "LPAI backend config: option %u is unknown; %d (HW_INFO) is known", c->option,
              QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO);
    const QnnLpaiBackend_CustomConfigHwInfo_t *h = c->config;
    RETURN_IF(!h, ST_INVALID_CONFIG,
              "LPAI backend config: HW_INFO is NULL; a QnnLpaiBackend_CustomConfigHwInfo_t is expected");
    RETURN_IF((uint32_t)h->lpaiTarget >= LPAI_TARGET_COUNT, ST_INVALID_CONFIG,
              "LPAI backend config: target %u; 0 (x86), 1 (ARM) and 2 (ADSP) are known", (unsigned)h->lpaiTarget);
    RETURN_IF(h->hwVersion != QNN_LPAI_BACKEND_HW_VERSION_NA && !lpai_hw_name((uint32_t)h->hwVersion), ST_INVALID_CONFIG,
              "LPAI backend config: hardware version 0x%x; 4, 5, 0x10005 (5.1), 6, 7 and 0 (not said) are known",
              (unsigned)h->hwVersion);
    *cfg = (struct backend_cfg){ .given = true, .target = (uint32_t)h->lpaiTarget, .arch = (uint32_t)h->hwVersion };
    return ST_OK;
}

static enum status core_info(uint32_t hw_version, QnnLpaiBackend_eNPUCoreInfo_t *ret)
{
    RETURN_IF(ret->coreIndex >= LPAI_CORES, ST_INVALID_ARG, "LPAI backend property: core %u; there is %d", ret->coreIndex,
              LPAI_CORES);
    for (size_t i = 0; i < sizeof hardware / sizeof hardware[0]; i++)
        if (hardware[i].version == hw_version)
            ret->macCnt = hardware[i].macs;
    ret->version = hw_version;
    return ST_OK;
}

enum status lpai_backend_property(const struct backend_cfg *cfg, void *custom)
{
    const QnnLpaiBackend_CustomProperty_t *p = custom;
    RETURN_IF(!p || !p->property, ST_INVALID_ARG, "LPAI backend property: customProperty or its property pointer is NULL");
    switch (p->option) {
    case QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ:
        *(QnnLpaiBackend_BufferAlignmentReq_t *)p->property =
            (QnnLpaiBackend_BufferAlignmentReq_t){ LPAI_ALIGN, LPAI_ALIGN };
        return ST_OK;
    case QNN_LPAI_BACKEND_GET_PROP_REQUIRE_PERSISTENT_BINARY:
        *(uint32_t *)p->property = cfg->given && cfg->target == LPAI_ADSP;
        return ST_OK;
    case QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_NUM:
        *(QnnLpaiBackend_eNPUCoreNum_t *)p->property = LPAI_CORES;
        return ST_OK;
    case QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_INFO:
        return core_info(lpai_hw_version(cfg), p->property);
    default:
        return status_fail(ST_INVALID_ARG, "LPAI backend property %u is unknown; 0, 1, 200 and 300 are known", p->option);
    }
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

/* DDR or TCM; whether the target has TCM is known to the context. */
static enum status take_mem_type(QnnLpaiMem_MemType_t t, const char *what, bool *tcm)
{
    RETURN_IF(t == QNN_LPAI_MEM_TYPE_LLC || t == QNN_LPAI_MEM_TYPE_PSRAM, ST_INVALID_CONFIG,
              "%s: memory type %u (%s) is not there in the simulation; give 1 (DDR) or, for the ADSP, 3 (TCM)", what,
              (unsigned)t, t == QNN_LPAI_MEM_TYPE_LLC ? "LLC" : "PSRAM");
    RETURN_IF(t != QNN_LPAI_MEM_TYPE_DDR && t != QNN_LPAI_MEM_TYPE_TCM, ST_INVALID_CONFIG,
              "%s: memory type 0x%x is unknown; give 1 (DDR) or, for the ADSP, 3 (TCM)", what, (unsigned)t);
    *tcm = t == QNN_LPAI_MEM_TYPE_TCM;
    return ST_OK;
}

/* NULL: the whole context, else the name of one graph. */
static enum status take_island(const char *graph, struct backend_context_cfg *cfg)
{
    uint64_t n = cfg->own[LPAI_OWN_ISLAND_GRAPHS];
    if (!graph) {
        cfg->own[LPAI_OWN_ISLAND] = true;
        return ST_OK;
    }
    RETURN_IF(!*graph, ST_INVALID_CONFIG,
              "LPAI context config: ENABLE_ISLAND has an empty name; give the name of a graph, or NULL for all");
    RETURN_IF(n == LPAI_ISLAND_MAX, ST_INVALID_CONFIG,
              "LPAI context config: ENABLE_ISLAND names more than %d graphs; NULL stands for all", LPAI_ISLAND_MAX);
    cfg->own[LPAI_OWN_NAMES + n] = (uintptr_t)graph;
    cfg->own[LPAI_OWN_ISLAND_GRAPHS] = n + 1;
    return ST_OK;
}

enum status lpai_context_config(const void *custom, struct backend_context_cfg *cfg)
{
    const QnnLpaiContext_CustomConfig_t *c = custom;
    bool tcm = false;
    RETURN_IF(!c, ST_INVALID_CONFIG,
              "LPAI context config: customConfig is NULL; a QnnLpaiContext_CustomConfig_t is expected");
    if (c->option == QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND)
        return take_island(c->config, cfg);
    RETURN_IF(c->option != QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE, ST_NOT_SUPPORTED,
              "LPAI context config: option %u is unknown; 1 (MODEL_BUFFER_MEM_TYPE) and 11 (ENABLE_ISLAND) are known",
              c->option);
    RETURN_IF(!c->config, ST_INVALID_CONFIG,
              "LPAI context config: MODEL_BUFFER_MEM_TYPE is NULL; a QnnLpaiMem_MemType_t is expected");
    TRY(take_mem_type(*(const QnnLpaiMem_MemType_t *)c->config, "LPAI context config: model buffer", &tcm));
    cfg->own[LPAI_OWN_MODEL_TCM] = tcm;
    return ST_OK;
}

/* ---- registered memory ------------------------------------------------------------------------------------------------ */

enum status lpai_mem_custom(const void *info, struct backend_mem_spec *ret)
{
    const QnnLpaiMem_MemInfoCustom_t *m = info;
    RETURN_IF(!m, ST_INVALID_ARG, "custom memory: customInfo is NULL; a QnnLpaiMem_MemInfoCustom_t is expected");
    RETURN_IF(m->fd < 0, ST_INVALID_ARG, "custom memory: the file descriptor is %d", m->fd);
    RETURN_IF(m->offset % LPAI_ALIGN, ST_INVALID_ARG,
              "custom memory: offset %u; a multiple of %d is needed (backend property ALIGNMENT_REQ)", m->offset,
              LPAI_ALIGN);
    ret->fd = m->fd;
    ret->offset = m->offset;
    return ST_OK;
}

/* ---- graphs: one function per option, writing into the settings ------------------------------------------------------- */

static enum status take_mem(const void *config, enum lpai_pool k, struct lpai_settings *s)
{
    const QnnLpaiGraph_Mem_t *m = config;
    bool tcm = false;
    TRY(take_mem_type(m->memType, k == POOL_SCRATCH ? "LPAI graph config: SCRATCH_MEM" : "LPAI graph config: PERSISTENT_MEM",
                      &tcm));
    s->pool[k] = (struct lpai_mem){ .addr = m->addr, .size = m->size, .given = true, .tcm = tcm };
    return ST_OK;
}

static enum status take_scratch(const void *config, struct lpai_settings *s)
{
    return take_mem(config, POOL_SCRATCH, s);
}

static enum status take_persistent(const void *config, struct lpai_settings *s)
{
    return take_mem(config, POOL_PERSISTENT, s);
}

static enum status take_perf(const void *config, struct lpai_settings *s)
{
    const QnnLpaiGraph_PerfCfg_t *p = config;
    RETURN_IF(!p->fps || p->fps > MAX_FPS, ST_INVALID_CONFIG,
              "LPAI graph config: PERF_CFG has %u frames per second; 1 to %d are allowed", p->fps, MAX_FPS);
    RETURN_IF(p->ftrtRatio > MAX_FTRT, ST_INVALID_CONFIG,
              "LPAI graph config: PERF_CFG has ftrtRatio %u; 0 (default) to %d tenths are allowed", p->ftrtRatio, MAX_FTRT);
    RETURN_IF(p->clientType != QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME &&
                  p->clientType != QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_NON_REAL_TIME,
              ST_INVALID_CONFIG,
              "LPAI graph config: PERF_CFG has client type %u; 1 (real time) and 2 (non real time) are allowed",
              (unsigned)p->clientType);
    s->fps = p->fps;
    s->ftrt_ratio = p->ftrtRatio ? p->ftrtRatio : QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO;
    s->client_type = (uint32_t)p->clientType;
    s->perf_given = true;
    return ST_OK;
}

static enum status take_affinity(const void *config, struct lpai_settings *s)
{
    const QnnLpaiGraph_CoreAffinity_t *a = config;
    RETURN_IF(a->affinity != QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT && a->affinity != QNN_LPAI_GRAPH_CORE_AFFINITY_HARD,
              ST_INVALID_CONFIG, "LPAI graph config: CORE_AFFINITY is %u; 1 (soft) and 2 (hard) are allowed",
              (unsigned)a->affinity);
    RETURN_IF(a->coreSelection & (a->coreSelection - 1), ST_INVALID_CONFIG,
              "LPAI graph config: CORE_AFFINITY selects cores 0x%x; one bit, or 0 for any core, is allowed",
              a->coreSelection);
    RETURN_IF(a->affinity == QNN_LPAI_GRAPH_CORE_AFFINITY_HARD && a->coreSelection >= 1u << LPAI_CORES, ST_INVALID_CONFIG,
              "LPAI graph config: CORE_AFFINITY insists on core 0x%x; there is %d core, use soft affinity to run on any",
              a->coreSelection, LPAI_CORES);
    s->affinity = (uint32_t)a->affinity;
    s->core_selection = a->coreSelection;
    s->affinity_given = true;
    return ST_OK;
}

static enum status take_prepare(const void *config, struct lpai_settings *s)
{
    const QnnLpaiGraph_CustomConfigPrepare_t *p = config;
    const char *cores = p->enableCoreSelection ? p->enableCoreSelection : "";
    RETURN_IF(strnlen(cores, sizeof s->core_names) == sizeof s->core_names, ST_INVALID_CONFIG,
              "LPAI graph config: PREPARE has a core selection of %zu characters or more; fewer are allowed",
              sizeof s->core_names);
    s->per_layer = p->enablePerLayer != 0;
    memcpy(s->core_names, cores, strlen(cores) + 1);
    return ST_OK;
}

static enum status take_exclude_io(const void *config, struct lpai_settings *s)
{
    s->exclude_io = *(const uint32_t *)config != 0;
    return ST_OK;
}

static enum status take_batchnorm(const void *config, struct lpai_settings *s)
{
    s->keep_batchnorm = *(const uint32_t *)config != 0;
    return ST_OK;
}

static enum status take_batch(const void *config, struct lpai_settings *s)
{
    (void)config; /* what it points at is not published; asking for it is enough */
    s->batch_multiple = true;
    return ST_OK;
}

/* These act on a run that is going on, so they cannot wait for it like the others. */
static enum status take_pause(const void *config, struct lpai_settings *s)
{
    (void)config, (void)s;
    return status_fail(ST_INVALID_CONFIG,
                       "LPAI graph config: PAUSE_EXECUTION and RESUME_EXECUTION come alone, in a call of their own");
}

enum when { ALWAYS, BEFORE, AFTER };
static const struct option {
    uint32_t option;
    const char *name;
    enum when when; /* BEFORE, AFTER the graph is compiled or loaded */
    bool may_be_null;
    enum status (*take)(const void *config, struct lpai_settings *s);
} options[] = {
    { QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, "SCRATCH_MEM", AFTER, false, take_scratch },
    { QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, "PERSISTENT_MEM", AFTER, false, take_persistent },
    { QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, "PERF_CFG", ALWAYS, false, take_perf },
    { QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, "CORE_AFFINITY", ALWAYS, false, take_affinity },
    { QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION, "PAUSE_EXECUTION", AFTER, true, take_pause },
    { QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION, "RESUME_EXECUTION", AFTER, true, take_pause },
    { QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT, "BATCH_MULTIPLE_SUPPORT", ALWAYS, true, take_batch },
    { QNN_LPAI_GRAPH_SET_CFG_PREPARE, "PREPARE", BEFORE, false, take_prepare },
    { OPENQNN_LPAI_GRAPH_SET_CFG_EXCLUDE_IO, "EXCLUDE_IO", BEFORE, false, take_exclude_io },
    { OPENQNN_LPAI_GRAPH_SET_CFG_KEEP_BATCHNORM, "KEEP_BATCHNORM", BEFORE, false, take_batchnorm },
};

static enum status take_option(const void *custom, bool loaded, struct lpai_settings *s)
{
    const QnnLpaiGraph_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG, "LPAI graph config: customConfig is NULL; a QnnLpaiGraph_CustomConfig_t is expected");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct option *o = &options[i];
        if (o->option != c->option)
            continue;
        RETURN_IF(o->when == AFTER && !loaded, ST_NOT_FINALIZED,
                  "LPAI graph config: %s can be given when the graph is compiled or loaded%s", o->name,
                  o->take == take_pause ? "" : ", since its size is not known before");
        RETURN_IF(o->when == BEFORE && loaded, ST_FINALIZED,
                  "LPAI graph config: %s is for compiling; the graph is compiled already", o->name);
        RETURN_IF(!o->may_be_null && !c->config, ST_INVALID_CONFIG, "LPAI graph config: %s is NULL", o->name);
        return o->take(c->config, s);
    }
    return status_fail(ST_INVALID_CONFIG, "LPAI graph config: option %u is unknown", c->option);
}

struct lpai_settings lpai_settings_of(const struct backend_graph_cfg *cfg)
{
    if (cfg && cfg->custom)
        return *(const struct lpai_settings *)cfg->custom;
    return (struct lpai_settings){ .fps = QNN_LPAI_GRAPH_DEFAULT_FPS,
                                   .ftrt_ratio = QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO,
                                   .client_type = QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME,
                                   .affinity = QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT };
}

static enum status need_settings(struct backend_graph_cfg *cfg)
{
    if (cfg->custom)
        return ST_OK;
    struct lpai_settings s = lpai_settings_of(cfg);
    cfg->custom = mem_dup(&s, sizeof s);
    RETURN_IF(!cfg->custom, ST_NO_MEMORY, "no memory for the settings of a graph");
    return ST_OK;
}

enum status lpai_graph_config(const void *custom, struct backend_graph_cfg *cfg)
{
    TRY(need_settings(cfg));
    struct lpai_settings s = lpai_settings_of(cfg);
    TRY(take_option(custom, false, &s));
    *(struct lpai_settings *)cfg->custom = s;
    return ST_OK;
}

void lpai_graph_config_free(struct backend_graph_cfg *cfg)
{
    mem_free(cfg->custom);
    cfg->custom = NULL;
}

enum status lpai_loaded_config(struct backend_graph *g, struct backend_graph_cfg *cfg, const void *const *customs, size_t n)
{
    const QnnLpaiGraph_CustomConfig_t *first = customs[0];
    if (n == 1 && first &&
        (first->option == QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION ||
         first->option == QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION)) {
        lpai_pause(g, first->option == QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION);
        return ST_OK;
    }
    TRY(need_settings(cfg));
    struct lpai_settings s = lpai_settings_of(cfg);
    for (size_t i = 0; i < n; i++)
        TRY(take_option(customs[i], true, &s));
    TRY(lpai_change(g, &s));
    *(struct lpai_settings *)cfg->custom = s;
    return ST_OK;
}

/* ---- properties of graphs --------------------------------------------------------------------------------------------- */

static enum status io_room(const struct backend_graph *g, OpenQnnLpaiGraph_IoRoom_t *ret)
{
    RETURN_IF(!ret->name, ST_INVALID_ARG, "LPAI graph property IO_ROOM: name is NULL");
    for (uint32_t k = 0; k < g->g->n_io; k++) {
        const struct binary_tensor *t = &g->g->tensors[g->g->io[k]];
        if (strcmp(t->name, ret->name) != 0)
            continue;
        RETURN_IF(g->home[k] == LPAI_NO_HOME, ST_NOT_FOUND,
                  "tensor \"%s\" has no room in scratch; the graph was compiled with EXCLUDE_IO", t->name);
        ret->offset = (uint32_t)g->home[k];
        ret->size = (uint32_t)desc_bytes(&t->desc);
        return ST_OK;
    }
    return status_fail(ST_NOT_FOUND, "graph \"%s\" has no input or output named \"%s\"", g->g->info.name, ret->name);
}

enum status lpai_graph_property(struct backend_graph *g, void *custom)
{
    const QnnLpaiGraph_CustomProperty_t *p = custom;
    RETURN_IF(!p || !p->property, ST_INVALID_ARG, "LPAI graph property: customProperty or its property pointer is NULL");
    RETURN_IF(!g, ST_NOT_FINALIZED,
              "LPAI graph property: sizes are known when the graph is compiled (QnnGraph_finalize) or loaded from a binary");
    switch (p->option) {
    case QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE:
        *(uint32_t *)p->property = (uint32_t)lpai_pool_bytes(g, POOL_SCRATCH);
        return ST_OK;
    case QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE:
        *(uint32_t *)p->property = (uint32_t)lpai_pool_bytes(g, POOL_PERSISTENT);
        return ST_OK;
    case OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM:
        return io_room(g, p->property);
    default:
        return status_fail(ST_INVALID_ARG,
                           "LPAI graph property %u is unknown; 1 (SCRATCH_MEM_SIZE) and 101 (PERSISTENT_MEM_SIZE) are known",
                           p->option);
    }
}

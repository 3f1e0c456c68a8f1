/* SPDX-License-Identifier: Apache-2.0 */
/* One row per key of the LPAI configuration file. */
#include "lpai_extension/lpai_params.h"

#include <stddef.h>

#include "base/json.h"
#include "base/str.h"

#define AT(member) offsetof(struct lpai_params, member)
#define IN(part, member) (AT(part.member) - AT(part))

/* In the order of the API's numbers. */
static const char *const targets[] = { "x86", "arm", "adsp", NULL };
static const char *const client_types[] = { "real_time", "non_real_time", NULL };
static const char *const affinities[] = { "soft", "hard", NULL };
static const char *const levels[] = { "basic", "detailed", NULL };

static const char *const versions[] = { "v4", "v5", "v5_1", "v6", "v7", NULL };
static const QnnLpaiBackend_HwVersion_t version_values[] = { QNN_LPAI_BACKEND_HW_VERSION_V4, QNN_LPAI_BACKEND_HW_VERSION_V5,
                                                             QNN_LPAI_BACKEND_HW_VERSION_V5_1,
                                                             QNN_LPAI_BACKEND_HW_VERSION_V6,
                                                             QNN_LPAI_BACKEND_HW_VERSION_V7 };

static const struct json_field backend_fields[] = {
    { "target_env", JSON_ENUM, IN(backend, target), .names = targets, .seen = IN(backend, has_target) },
    { "enable_hw_ver", JSON_ENUM, IN(backend, hw), .names = versions, .seen = IN(backend, has_hw) },
    {}
};
static const struct json_field prepare_fields[] = {
    { "enable_batchnorm_fold", JSON_BOOL, .offset = IN(graph.prepare, batchnorm_fold) },
    { "exclude_io", JSON_BOOL, .offset = IN(graph.prepare, exclude_io) },
    { "enable_per_layer", JSON_BOOL, .offset = IN(graph.prepare, per_layer) },
    { "enable_core_selection", JSON_STRING, .offset = IN(graph.prepare, core_selection) },
    {}
};
static const struct json_field execute_fields[] = {
    { "fps", JSON_U32, IN(graph.execute, fps), .min = 1, .max = 100000 },
    { "ftrt_ratio", JSON_U32, IN(graph.execute, ftrt_ratio), .min = 1, .max = 100000 },
    { "client_type", JSON_ENUM, IN(graph.execute, client_type), .names = client_types },
    { "affinity", JSON_ENUM, IN(graph.execute, affinity), .names = affinities },
    { "core_selection", JSON_U32, .offset = IN(graph.execute, core_selection) },
    { "mem_type", JSON_STRING, .offset = IN(graph.execute, mem_type) }, /* unknown names are the allocator's affair */
    {}
};
static const struct json_field graph_fields[] = { { "prepare", JSON_OBJECT, IN(graph, prepare), .sub = prepare_fields },
                                                  { "execute", JSON_OBJECT, IN(graph, execute), .sub = execute_fields },
                                                  {} };
static const struct json_field profile_fields[] = { { "level", JSON_ENUM, IN(profile, level), .names = levels,
                                                      .seen = IN(profile, has_level) },
                                                    {} };
static const struct json_field fields[] = { { "lpai_backend", JSON_OBJECT, AT(backend), .sub = backend_fields },
                                            { "lpai_graph", JSON_OBJECT, AT(graph), .sub = graph_fields },
                                            { "lpai_profile", JSON_OBJECT, AT(profile), .sub = profile_fields },
                                            { "lpai_debug", JSON_ANY, AT(has_debug), .seen = AT(has_debug) },
                                            {} };

enum status lpai_params_read(const char *path, struct lpai_params *ret, struct arena *arena)
{
    *ret = (struct lpai_params){ .backend.target = QNN_LPAI_BACKEND_TARGET_ADSP };
    ret->graph.prepare.batchnorm_fold = true;
    ret->graph.prepare.core_selection = "";
    ret->graph.execute.fps = QNN_LPAI_GRAPH_DEFAULT_FPS;
    ret->graph.execute.ftrt_ratio = QNN_LPAI_GRAPH_DEFAULT_FTRT_RATIO;
    ret->graph.execute.mem_type = "ddr";
    return path ? json_read_file(path, fields, ret, arena) : ST_OK;
}

QnnLpaiBackend_CustomConfigHwInfo_t lpai_params_hardware(const struct lpai_params *p)
{
    return (QnnLpaiBackend_CustomConfigHwInfo_t){
        .lpaiTarget = (QnnLpaiBackend_Target_t)p->backend.target,
        .hwVersion = p->backend.has_hw ? version_values[p->backend.hw] : QNN_LPAI_BACKEND_HW_VERSION_NA,
    };
}

QnnLpaiGraph_PerfCfg_t lpai_params_perf(const struct lpai_params *p)
{
    return (QnnLpaiGraph_PerfCfg_t){
        .fps = p->graph.execute.fps,
        .ftrtRatio = p->graph.execute.ftrt_ratio,
        .clientType =
            (QnnLpaiGraph_ClientPerfType_t)(QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME + p->graph.execute.client_type),
    };
}

QnnLpaiGraph_CoreAffinity_t lpai_params_affinity(const struct lpai_params *p)
{
    return (QnnLpaiGraph_CoreAffinity_t){
        .affinity = (QnnLpaiGraph_CoreAffinityType_t)(QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT + p->graph.execute.affinity),
        .coreSelection = p->graph.execute.core_selection,
    };
}

QnnLpaiMem_MemType_t lpai_params_mem_type(const struct lpai_params *p)
{
    const char *name = p->graph.execute.mem_type;
    return str_eq(name, "ddr")   ? QNN_LPAI_MEM_TYPE_DDR
           : str_eq(name, "tcm") ? QNN_LPAI_MEM_TYPE_TCM
                                 : QNN_LPAI_MEM_TYPE_UNDEFINED;
}

const char *lpai_params_profiling(const struct lpai_params *p)
{
    return p->profile.has_level ? levels[p->profile.level] : NULL;
}

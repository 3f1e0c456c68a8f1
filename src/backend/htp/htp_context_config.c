/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's HTP context options and properties mean: one table row per option. Options that change nothing here yet
 * are kept and said so in the log; no valid option fails. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <QNN/HTP/QnnHtpCommon.h>
#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/QnnSdkBuildId.h>

#include "backend/htp/htp_backend.h"

static_assert(sizeof(struct htp_context_cfg) <= sizeof((struct backend_context_cfg){ 0 }.own),
              "settings fit into the room that api/ carries");
static_assert(HTP_BACKEND_ID == QNN_BACKEND_ID_HTP, "the number of the API");

/* Options of newer headers than include/QNN. */
enum { GRAPH_SPLITTING_CONFIGS = 22, LORA_PRELOAD_BUFFER_GROUPS = 23, PARALLEL_WEIGHT_LOADING = 25 };

enum kind { FLAG, U32, U64, FD, GROUP, LIST };

static const struct option {
    uint32_t option;
    const char *name;
    enum kind kind;
    size_t at;           /* in struct htp_context_cfg */
    uint64_t max;        /* of numbers, 0: no limit */
    bool without_effect; /* kept, and nothing else */
} options[] = {
#define AT(field) offsetof(struct htp_context_cfg, field)
    { QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED, "WEIGHT_SHARING_ENABLED", FLAG, AT(weight_sharing), 0, false },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS, "REGISTER_MULTI_CONTEXTS", GROUP, AT(grouped), 0, false },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET, "FILE_READ_MEMORY_BUDGET", U64, AT(file_budget_mb), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_DSP_MEMORY_PROFILING_ENABLED, "DSP_MEMORY_PROFILING_ENABLED", FLAG, AT(memory_profiling),
      0, false },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES, "SHARE_RESOURCES", FLAG, AT(share_resources), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_IO_MEM_ESTIMATION, "IO_MEM_ESTIMATION", FLAG, AT(io_estimation), 0, false },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY, "PREPARE_ONLY", FLAG, AT(prepare_only), 0, false },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_INIT_ACCELERATION, "INIT_ACCELERATION", FLAG, AT(init_acceleration), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_SKIP_VALIDATION_ON_BINARY_SECTION, "SKIP_VALIDATION_ON_BINARY_SECTION", FLAG,
      AT(skip_section_check), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE, "SHARE_RESOURCES_OPTIMIZATION_TYPE", U32,
      AT(share_type), 2, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_USE_EXTENDED_UDMA, "USE_EXTENDED_UDMA", FLAG, AT(extended_udma), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING, "REGISTER_CONCURRENT_RESOURCE_SHARING", GROUP,
      AT(concurrent_group), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_ENABLED, "LORA_WEIGHT_SHARING_ENABLED", FLAG, AT(lora_sharing), 0,
      true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED, "LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED", FLAG,
      AT(lora_preload), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_REUSED_IO_LIMIT, "REUSED_IO_LIMIT", U64, AT(reused_io_limit_mb), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_REFERENCE_WEIGHT_SHARING_ENABLED, "REFERENCE_WEIGHT_SHARING_ENABLED", FLAG,
      AT(reference_sharing), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_EXTRA_SIZE, "CONCURRENT_DESERIALIZATION_EXTRA_SIZE", U32,
      AT(deserialization_extra_kb), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_GRAPH_SPLITTING_ENABLED, "GRAPH_SPLITTING_ENABLED", FLAG, AT(graph_splitting), 0, true },
    { QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_PATCH, "CONCURRENT_DESERIALIZATION_PATCH", FD, AT(patch_fd),
      0, true },
    { GRAPH_SPLITTING_CONFIGS, "GRAPH_SPLITTING_CONFIGS", FLAG, AT(graph_splitting), 0, true },
    { LORA_PRELOAD_BUFFER_GROUPS, "LORA_PRELOAD_BUFFER_GROUPS", LIST, AT(lora_preload), 0, true },
    { PARALLEL_WEIGHT_LOADING, "PARALLEL_WEIGHT_LOADING", U32, AT(parallel_loading), 2, true },
#undef AT
};

struct htp_context_cfg *htp_context_settings(struct backend_context_cfg *cfg)
{
    return (struct htp_context_cfg *)(void *)cfg->own;
}

/* All members of the union start at the same byte. */
static const char *value_of(const QnnHtpContext_CustomConfig_t *c)
{
    return (const char *)&c->weightSharingEnabled;
}

static enum status take_number(const struct option *o, const char *from, struct htp_context_cfg *s)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    size_t bytes = o->kind == U64 ? sizeof wide : sizeof narrow;
    memcpy(o->kind == U64 ? (void *)&wide : (void *)&narrow, from, bytes);
    uint64_t value = o->kind == U64 ? wide : narrow;
    RETURN_IF(o->max && value > o->max, ST_INVALID_CONFIG, "HTP context config: %s is %llu; 0 to %llu are allowed", o->name,
              (unsigned long long)value, (unsigned long long)o->max);
    memcpy((char *)s + o->at, from, bytes);
    return ST_OK;
}

static void take_group(const struct option *o, const QnnHtpContext_GroupRegistration_t *g, struct htp_context_cfg *s)
{
    *((uint8_t *)s + o->at) = 1;
    *(o->option == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS ? &s->first_of_group
                                                                         : &s->first_of_concurrent_group) =
        g->firstGroupHandle;
    if (!g->firstGroupHandle)
        s->max_spill_fill = g->maxSpillFillBuffer;
}

static enum status take(const struct option *o, const QnnHtpContext_CustomConfig_t *c, struct htp_context_cfg *s)
{
    if (o->without_effect)
        backend_log(BACKEND_INFO, "HTP context config: %s is kept, but changes nothing here", o->name);
    switch (o->kind) {
    case FLAG:
        *((uint8_t *)s + o->at) = *(const uint8_t *)value_of(c) != 0;
        return ST_OK;
    case GROUP:
        take_group(o, &c->groupRegistration, s);
        return ST_OK;
    case LIST: /* the client's, and only good for this call: it is noted that there was one */
        *((uint8_t *)s + o->at) = 1;
        return ST_OK;
    case FD:
    case U32:
    case U64:
        return take_number(o, value_of(c), s);
    }
    return ST_OK;
}

enum status htp_context_config(const void *custom, struct backend_context_cfg *cfg)
{
    const QnnHtpContext_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG, "HTP context config: customConfig is NULL; a QnnHtpContext_CustomConfig_t is expected");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].option == (uint32_t)c->option)
            return take(&options[i], c, htp_context_settings(cfg));
    return status_fail(ST_NOT_SUPPORTED, "HTP context config: option %u is unknown; 1 to 13, 16 to 23 and 25 are known",
                       (unsigned)c->option);
}

enum status htp_context_property(struct backend_context *c, void *custom)
{
    QnnHtpContext_CustomProperty_t *p = custom;
    RETURN_IF(!p, ST_INVALID_ARG,
              "HTP context property: customProperty is NULL; a QnnHtpContext_CustomProperty_t is expected");
    switch (p->option) {
    case QNN_HTP_CONTEXT_GET_PROP_BUFFER_START_ALIGNMENT:
        p->bufferStartAlignment = HTP_BUFFER_ALIGN;
        return ST_OK;
    case QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE:
        p->spillfillBufferSize = c->spill_fill;
        return ST_OK;
    case QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE:
        p->weightsBufferSize = c->weights;
        return ST_OK;
    case QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE:
        p->vtcmBackupBufferSize = (uint64_t)c->vtcm_mb << 20;
        return ST_OK;
    default:
        return status_fail(ST_INVALID_ARG, "HTP context property %u is unknown; 1, 2, 3 and 6 are known",
                           (unsigned)p->option);
    }
}

struct binary_target htp_binary_target(uint32_t soc_model, uint32_t arch)
{
    struct binary_target t = {
        .backend_id = QNN_BACKEND_ID_HTP,
        .soc_model = soc_model,
        .arch = arch,
        .core_version = { QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH },
        .backend_version = { QNN_HTP_API_VERSION_MAJOR, QNN_HTP_API_VERSION_MINOR, QNN_HTP_API_VERSION_PATCH },
    };
    strncpy(t.build_id, QNN_SDK_BUILD_ID, sizeof t.build_id - 1);
    return t;
}

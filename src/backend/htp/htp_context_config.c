/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's HTP context options and properties mean: one table row per option (htp_options.h). */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <QNN/HTP/QnnHtpCommon.h>
#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/QnnSdkBuildId.h>

#include "backend/htp/htp_switch.h"

static_assert(sizeof(struct htp_context_cfg) <= sizeof((struct backend_context_cfg){ 0 }.own),
              "settings fit into the room that api/ carries");
static_assert(HTP_BACKEND_ID == QNN_BACKEND_ID_HTP, "the number of the API");

/* Options of newer headers than include/QNN. */
enum { GRAPH_SPLITTING_CONFIGS = 22, LORA_PRELOAD_BUFFER_GROUPS = 23, PARALLEL_WEIGHT_LOADING = 25 };

/* ---- options with rules of their own ---------------------------------------------------------------------------------- */

static enum status take_group(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_context_cfg *s = settings;
    const QnnHtpContext_GroupRegistration_t *g = &((const QnnHtpContext_CustomConfig_t *)custom)->groupRegistration;

    *((uint8_t *)s + option->at) = 1;
    if (option->number == QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS)
        s->first_of_group = g->firstGroupHandle;
    else
        s->first_of_concurrent_group = g->firstGroupHandle;
    s->max_spill_fill = g->maxSpillFillBuffer;
    return ST_OK;
}

/* The client's list is only good for this call: it is noted that there was one. */
static enum status take_list(const struct htp_option *option, const void *custom, void *settings)
{
    (void)custom;
    *((uint8_t *)settings + option->at) = 1;
    htp_option_warn(&htp_context_options, option);
    return ST_OK;
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define AT(field) offsetof(struct htp_context_cfg, field)
#define OPTION(id, ...) { .number = QNN_HTP_CONTEXT_CONFIG_OPTION_##id, .name = #id, __VA_ARGS__ }
#define NEWER(id, ...) { .number = id, .name = #id, __VA_ARGS__ }
#define FLAG(field) .allowed = "true, false", .value = HTP_VALUE_FLAG, .at = AT(field)
static const struct htp_option option_rows[] = {
    OPTION(WEIGHT_SHARING_ENABLED, FLAG(weight_sharing), .arch = 73,
        .test = "test_shared_weights.c: test_prompts_and_steps, test_shared_weights.c: test_off_means_off, "
                "test_htp_limits.c: test_weight_sharing_limits",
        .effect = "constants that graphs of the context have in common are stored once in its binary, and "
                  "are in memory once when it is loaded; at most 64 graphs, not with ENABLE_DLBC_WEIGHTS. "
                  "Without it graphs keep constants of their own, also equal ones"),
    OPTION(REGISTER_MULTI_CONTEXTS, .take = take_group, .at = AT(grouped), .test = "test_htp_group.c: test_counted_once",
        .allowed = "the first context's handle (0 for the first), and bytes (0: what its largest graph spills)",
        .effect = "contexts of the group use one spill-fill buffer"),
    OPTION(FILE_READ_MEMORY_BUDGET, .allowed = "megabytes, 0: off", .value = HTP_VALUE_U64, .at = AT(file_budget_mb),
        .test = "test_load_memory.c: test_budget, test_load_memory.c: test_budget_without_file",
        .effect = "constants of a mapped file are read into shared memory so many megabytes at a time, and the "
                  "client's process keeps none of them; warns where the binary is not a mapped file"),
    OPTION(DSP_MEMORY_PROFILING_ENABLED, FLAG(memory_profiling), .test = "test_htp_profile.c: test_memory_profiling",
        .effect = "profiles tell bytes in use before the first context and after the last (30002, 30003)"),
    OPTION(SHARE_RESOURCES, FLAG(share_resources),
        .test = "test_htp_share.c: test_with_addresses, test_htp_share.c: test_alone",
        .effect = "for lists of contexts: those on one session compute in the same memory, by "
                  "SHARE_RESOURCES_OPTIMIZATION_TYPE; not with graph switching. In a context alone it "
                  "warns and changes nothing"),
    OPTION(IO_MEM_ESTIMATION, FLAG(io_estimation), .test = "test_htp_session.c: test_io_estimation",
        .effect = "a context goes to a session that has room for its inputs and outputs, too"),
    OPTION(PREPARE_ONLY, FLAG(prepare_only), .test = "test_htp_options.c: test_prepare_only",
        .effect = "no session is started, and executing is refused"),
    OPTION(INIT_ACCELERATION, FLAG(init_acceleration), .test = "test_load_memory.c: test_all_cores",
        .effect = "constants are copied and checked by as many threads as cores; without it by one"),
    OPTION(SKIP_VALIDATION_ON_BINARY_SECTION, FLAG(skip_section_check), .test = "test_load_section.c: test_skipped",
        .effect = "QnnContext_applyBinarySection does not hold a section against its checksum; that tables, sizes and "
                  "places make sense is checked nevertheless"),
    OPTION(SHARE_RESOURCES_OPTIMIZATION_TYPE, .allowed = "0 (SEQUENTIAL_WITH_VA), 1 "
                                                         "(SEQUENTIAL_WITHOUT_VA), 2 (CONCURRENT)",
        .value = HTP_VALUE_U32, .at = AT(share_type), .max = 2,
        .test = "test_htp_share.c: test_with_addresses, test_htp_share.c: test_without_addresses, test_htp_share.c: "
                "test_concurrent, test_htp_share.c: test_refused",
        .effect = "with SHARE_RESOURCES. 0: one spill-fill buffer, scratch and staging memory (v73 and later); 1: one "
                  "spill-fill buffer; 2: one spill-fill and one VTCM backup buffer per priority (v81 and later). "
                  "A device that does not have the type refuses it (UNSUPPORTED_FEATURE)"),
    OPTION(USE_EXTENDED_UDMA, FLAG(extended_udma), .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: "
                                                                                     "test_told_once",
        .effect = "transfers are copies of this computer, whose addresses have 64 bits"),
    OPTION(REGISTER_CONCURRENT_RESOURCE_SHARING, .take = take_group, .at = AT(concurrent_group),
        .allowed = "the first context's handle (0 for the first), and bytes (of the first more than 0)",
        .test = "test_htp_share.c: test_registered, test_htp_share.c: test_refused",
        .effect = "v81 and later: contexts of the group, which have one priority and keep it, use one spill-fill buffer "
                  "and one VTCM backup buffer; other devices refuse it (UNSUPPORTED_FEATURE)"),
    OPTION(LORA_WEIGHT_SHARING_ENABLED, FLAG(lora_sharing), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once",
        .effect = "a graph with other values of its updateable tensors is another program with constants of its own"),
    OPTION(RESERVED_14, .allowed = "anything", .value = HTP_VALUE_FLAG, .at = AT(reserved), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once", .effect = "the public headers do not say what it does"),
    OPTION(RESERVED_15, .allowed = "anything", .value = HTP_VALUE_FLAG, .at = AT(reserved), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once", .effect = "the public headers do not say what it does"),
    OPTION(LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED, FLAG(lora_preload), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once", .effect = "see LORA_WEIGHT_SHARING_ENABLED"),
    OPTION(REUSED_IO_LIMIT, .allowed = "megabytes", .value = HTP_VALUE_U64, .at = AT(reused_io_limit_mb),
        .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_told_once",
        .effect = "a buffer that several registrations name is charged to the session once, however large it is"),
    OPTION(REFERENCE_WEIGHT_SHARING_ENABLED, FLAG(reference_sharing), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once", .effect = "weights of other contexts are not referred to"),
    OPTION(CONCURRENT_DESERIALIZATION_EXTRA_SIZE, .allowed = "kilobytes", .value = HTP_VALUE_U32,
        .at = AT(deserialization_extra_kb), .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_told_once",
        .effect = "binaries are mapped, not deserialized, so loading needs no extra memory"),
    OPTION(GRAPH_SPLITTING_ENABLED, FLAG(graph_splitting), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once", .effect = "a graph stays one program in one session"),
    OPTION(CONCURRENT_DESERIALIZATION_PATCH, .allowed = "a file descriptor", .value = HTP_VALUE_U32, .at = AT(patch_fd),
        .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_told_once",
        .effect = "binaries of all versions are mapped in the same way; no patch is needed"),
    NEWER(GRAPH_SPLITTING_CONFIGS, FLAG(graph_splitting), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once", .effect = "a graph stays one program in one session"),
    NEWER(LORA_PRELOAD_BUFFER_GROUPS, .allowed = "a list", .take = take_list, .at = AT(lora_preload),
        .outcome = HTP_NO_EFFECT, .test = "test_htp_options.c: test_context_options",
        .effect = "see LORA_WEIGHT_SHARING_ENABLED"),
    NEWER(PARALLEL_WEIGHT_LOADING, .allowed = "modes 0 to 2", .value = HTP_VALUE_U32, .at = AT(parallel_loading), .max = 2,
        .outcome = HTP_NO_EFFECT, .test = "test_htp_options.c: test_context_options",
        .effect = "weights are mapped, not read"),
};
/* clang-format on */

enum { ROWS = sizeof option_rows / sizeof option_rows[0] };
static _Atomic bool option_warned[ROWS];
const struct htp_option_table htp_context_options = {
    .kind = "context",
    .prefix = "QNN_HTP_CONTEXT_CONFIG_OPTION_",
    .rows = option_rows,
    .n = ROWS,
    .value_at = offsetof(QnnHtpContext_CustomConfig_t, weightSharingEnabled),
    .warned = option_warned,
};

struct htp_context_cfg *htp_context_settings(struct backend_context_cfg *cfg)
{
    return (struct htp_context_cfg *)(void *)cfg->own;
}

enum status htp_context_config(const void *custom, struct backend_context_cfg *cfg)
{
    const QnnHtpContext_CustomConfig_t *c = custom;

    RETURN_IF(!c, ST_INVALID_CONFIG, "HTP context config: customConfig is NULL; a QnnHtpContext_CustomConfig_t is expected");
    const struct htp_option *option = htp_option_find(&htp_context_options, (uint32_t)c->option);
    RETURN_IF(!option, ST_NOT_SUPPORTED, "HTP context config: option %u is unknown; 1 to 23 and 25 are known",
              (unsigned)c->option);
    return htp_option_take(&htp_context_options, option, custom, htp_context_settings(cfg));
}

struct backend_loading htp_loading(const struct backend_context_cfg *cfg)
{
    const struct htp_context_cfg *s = (const struct htp_context_cfg *)(const void *)cfg->own;
    const uint64_t most_mb = UINT64_MAX >> 20;
    uint64_t mb = s->file_budget_mb < most_mb ? s->file_budget_mb : most_mb;

    const char *excluded = NULL;

    if (cfg->memory_limit)
        excluded = "MEMORY_LIMIT_HINT";
    else if (s->share_resources)
        excluded = "SHARE_RESOURCES";
    else if (s->extended_udma)
        excluded = "USE_EXTENDED_UDMA";
    else if (cfg->device.flags & DEVICE_SECURE)
        excluded = "a device with SECUREPD";
    return (struct backend_loading){ .budget = mb << 20,
                                     .all_cores = s->init_acceleration,
                                     .unsummed_sections = s->skip_section_check,
                                     .no_callbacks = excluded };
}

/* Against the device, once all options of a new context are read. */
enum status htp_context_check(const struct backend_context *c)
{
    const struct htp_option *sharing =
        htp_option_find(&htp_context_options, QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED);

    return c->own.weight_sharing ? htp_option_check_arch(&htp_context_options, sharing, c->arch) : ST_OK;
}

enum status htp_context_property(struct backend_context *c, void *custom)
{
    QnnHtpContext_CustomProperty_t *p = custom;
    RETURN_IF(!p, ST_INVALID_ARG,
              "HTP context property: customProperty is NULL; a QnnHtpContext_CustomProperty_t is expected");
    switch ((uint32_t)p->option) {
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
        RETURN_IF(!htp_memory_property(c, (uint32_t)p->option, &p->spillfillBufferSize), ST_INVALID_ARG,
                  "HTP context property %u is unknown; 1, 2, 3 and 6 are known, and those of docs/contexts.md",
                  (unsigned)p->option);
        return ST_OK;
    }
}

/* The API has no structure for properties of HTP graphs; that of contexts serves. */
enum status htp_graph_property(struct backend_graph *g, void *custom)
{
    QnnHtpContext_CustomProperty_t *p = custom;
    RETURN_IF(!p, ST_INVALID_ARG,
              "HTP graph property: customProperty is NULL; a QnnHtpContext_CustomProperty_t is expected");
    RETURN_IF(!g, ST_NOT_FINALIZED, "the graph has no properties before it is finalized, or where it is not enabled");
    const struct binary_graph *b = g->g;
    switch ((uint32_t)p->option) {
    case QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE: p->spillfillBufferSize = b->info.spill_fill_bytes; return ST_OK;
    case QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE: p->weightsBufferSize = b->constant_bytes; return ST_OK;
    case QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE: p->vtcmBackupBufferSize = b->info.vtcm_used; return ST_OK;
    default:
        RETURN_IF(!htp_graph_memory_property(g, (uint32_t)p->option, &p->spillfillBufferSize), ST_INVALID_ARG,
                  "HTP graph property %u is unknown; 2, 3 and 6 are known, and those of docs/contexts.md",
                  (unsigned)p->option);
        return ST_OK;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* One row per key of the HTP configuration file, and one per performance profile. */
#include "htp_extension/htp_params.h"

#include <stddef.h>
#include <stdlib.h>

#include "QNN/HTP/QnnHtpPerfInfrastructure.h"
#include "base/str.h"

#define G(member) offsetof(struct htp_graph_params, member)
#define C(member) offsetof(struct htp_core_params, member)
#define D(member) offsetof(struct htp_device_params, member)
#define P(member) offsetof(struct htp_params, member)
#define X(member) (P(context.member) - P(context))

static const struct json_field finalize_fields[] = { { "P", JSON_U32, offsetof(struct htp_u32, value),
                                                       .seen = offsetof(struct htp_u32, given) },
                                                     {} };
static const struct json_field graph_fields[] = {
    { "graph_names", JSON_STRINGS, .offset = G(names) },
    { "vtcm_mb", JSON_U32, G(vtcm_mb.value), .seen = G(vtcm_mb.given) },
    { "hvx_threads", JSON_U32, G(hvx_threads.value), .seen = G(hvx_threads.given) },
    { "vtcm_size", JSON_U32, G(vtcm_bytes.value), .seen = G(vtcm_bytes.given) },
    { "O", JSON_F64, G(level.value), .min = 1, .max = 3, .seen = G(level.given) },
    { "dlbc", JSON_F64, G(dlbc.value), .max = UINT32_MAX, .seen = G(dlbc.given) },
    { "dlbc_weights", JSON_F64, G(dlbc_weights.value), .max = UINT32_MAX, .seen = G(dlbc_weights.given) },
    { "sparse_weights_compression", JSON_F64, G(sparse_weights.value), .max = UINT32_MAX, .seen = G(sparse_weights.given) },
    { "finalize_config", JSON_OBJECT, G(finalize), .sub = finalize_fields },
    { "num_cores", JSON_U32, G(cores.value), .min = 1, .max = 8, .seen = G(cores.given) },
    { "slc_alloc_enable", JSON_F64, G(slc.value), .max = UINT32_MAX, .seen = G(slc.given) },
    { "weights_packing", JSON_BOOL, G(weights_packing.value), .seen = G(weights_packing.given) },
    { "short_depth_conv_on_hmx_off", JSON_BOOL, G(short_depth_off.value), .seen = G(short_depth_off.given) },
    { "fold_relu_activation_into_conv_off", JSON_BOOL, G(fold_relu_off.value), .seen = G(fold_relu_off.given) },
    { "fp16_relaxed_precision", JSON_U32, G(fp16.value), .max = 1, .seen = G(fp16.given) },
    { "use_high_precision_fp16_sigmoid", JSON_BOOL, G(sigmoid.value), .seen = G(sigmoid.given) },
    { "monolithic_lstm", JSON_BOOL, G(monolithic_lstm.value), .seen = G(monolithic_lstm.given) },
    { "advanced_activation_fusion", JSON_BOOL, G(activation_fusion.value), .seen = G(activation_fusion.given) },
    {}
};
static const struct json_field core_fields[] = {
    { "perf_profile", JSON_STRING, .offset = C(profile) },
    { "rpc_control_latency", JSON_U32, C(latency.value), .seen = C(latency.given) },
    { "rpc_polling_time", JSON_U32, C(polling.value), .max = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIG_MAX_RPC_POLLING_TIME,
      .seen = C(polling.given) },
    { "hmx_timeout_us", JSON_U32, C(hmx_timeout.value), .seen = C(hmx_timeout.given) },
    { "adaptive_polling_time", JSON_U32, C(adaptive.value), .seen = C(adaptive.given) },
    {}
};
static const struct json_field device_fields[] = {
    { "device_id", JSON_U32, D(device_id.value), .seen = D(device_id.given) },
    { "core_id", JSON_ANY, D(has_core_id), .seen = D(has_core_id) },
    { "core_type", JSON_U32, D(core_type.value), .max = 1, .seen = D(core_type.given) },
    { "soc_id", JSON_U32, D(soc_id.value), .seen = D(soc_id.given) },
    { "soc_model", JSON_U32, D(soc_model.value), .seen = D(soc_model.given) },
    { "dsp_arch", JSON_STRING, .offset = D(arch) },
    { "pd_session", JSON_STRING, .offset = D(pd_session) },
    { "profiling_level", JSON_STRING, .offset = D(profiling) },
    { "use_client_context", JSON_BOOL, .offset = D(client_context) },
    { "cores", JSON_LIST, D(cores), .sub = core_fields, .item_size = sizeof(struct htp_core_params) },
    {}
};
static const struct json_field context_fields[] = {
    { "weight_sharing_enabled", JSON_BOOL, X(weight_sharing.value), .seen = X(weight_sharing.given) },
    { "max_spill_fill_buffer_for_group", JSON_U32, X(spill_fill.value), .seen = X(spill_fill.given) },
    { "group_id", JSON_U32, X(group_id.value), .seen = X(group_id.given) },
    { "file_read_memory_budget_in_mb", JSON_U32, X(file_budget_mb.value), .seen = X(file_budget_mb.given) },
    { "io_memory_estimation", JSON_BOOL, X(io_estimation.value), .seen = X(io_estimation.given) },
    { "init_acceleration", JSON_BOOL, X(init_acceleration.value), .seen = X(init_acceleration.given) },
    { "lora_weight_sharing", JSON_BOOL, X(lora_sharing.value), .seen = X(lora_sharing.given) },
    { "lora_weight_sharing_ram_preload", JSON_BOOL, X(lora_preload.value), .seen = X(lora_preload.given) },
    { "concurrent_deserialization_patch", JSON_STRING, .offset = X(patch) },
    { "extended_udma", JSON_BOOL, X(extended_udma.value), .seen = X(extended_udma.given) },
    { "reused_io_limit_mb", JSON_U32, X(reused_io_mb.value), .seen = X(reused_io_mb.given) },
    {}
};
static const struct json_field group_fields[] = { { "share_resources", JSON_BOOL, P(group.share_resources.value) - P(group),
                                                    .seen = P(group.share_resources.given) - P(group) },
                                                  { "reused_io_limit_mb", JSON_U32, P(group.reused_io_mb.value) - P(group),
                                                    .seen = P(group.reused_io_mb.given) - P(group) },
                                                  {} };
static const char *const memory_types[] = { "shared_buffer", NULL };
static const struct json_field memory_fields[] = {
    { "mem_type", JSON_ENUM, P(memory.type) - P(memory), .names = memory_types, .seen = P(memory.given) - P(memory) },
    {}
};
static const struct json_field fields[] = {
    { "graphs", JSON_LIST, P(graphs), .sub = graph_fields, .item_size = sizeof(struct htp_graph_params) },
    { "devices", JSON_LIST, P(devices), .sub = device_fields, .item_size = sizeof(struct htp_device_params) },
    { "context", JSON_OBJECT, P(context), .sub = context_fields },
    { "groupContext", JSON_OBJECT, P(group), .sub = group_fields },
    { "memory", JSON_OBJECT, P(memory), .sub = memory_fields },
    {}
};

/* One corner for bus and core, least, wanted and most; polling where the documents have it on. */
static const struct htp_profile profiles[] = {
    { "burst", 40, DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 9999 },
    { "sustained_high_performance", 100, DCVS_VOLTAGE_VCORNER_TURBO, 9999 },
    { "high_performance", 100, DCVS_VOLTAGE_VCORNER_TURBO, 9999 },
    { "balanced", 1000, DCVS_VOLTAGE_VCORNER_NOM_PLUS, 0 },
    { "low_balanced", 1000, DCVS_VOLTAGE_VCORNER_NOM, 0 },
    { "high_power_saver", 1000, DCVS_VOLTAGE_VCORNER_SVS_PLUS, 0 },
    { "power_saver", 1000, DCVS_VOLTAGE_VCORNER_SVS, 0 },
    { "low_power_saver", 1000, DCVS_VOLTAGE_VCORNER_SVS2, 0 },
    { "extreme_power_saver", 1000, DCVS_VOLTAGE_CORNER_DISABLE, 0 },
    { "system_settings", 0, 0, 0 }, /* no vote */
    { "default", 0, 0, 0 },
};

enum status htp_params_read(const char *path, struct htp_params *ret, struct arena *arena)
{
    *ret = (struct htp_params){ 0 };
    return path ? json_read_file(path, fields, ret, arena) : ST_OK;
}

const struct htp_profile *htp_profile_find(const char *name)
{
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
        if (str_eq(profiles[i].name, name))
            return &profiles[i];
    return NULL;
}

uint32_t htp_params_arch(const char *text)
{
    char *end;
    unsigned long n = strtoul(*text == 'v' || *text == 'V' ? text + 1 : text, &end, 10);
    return *end || n < 68 || n > 99 ? 0 : (uint32_t)n;
}

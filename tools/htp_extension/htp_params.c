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

/* clang-format off */
#define ROW(key, kind, text, shown, ...) { key, kind, .about = text, .test = "test_htp_tools.py: " shown, __VA_ARGS__ }
static const struct json_field finalize_fields[] = {
    ROW("P", JSON_U32, "FINALIZE_CONFIG, key \"P\"", "test_options_refused",
        .offset = offsetof(struct htp_u32, value), .seen = offsetof(struct htp_u32, given)),
    {}
};
static const struct json_field graph_fields[] = {
    ROW("graph_names", JSON_STRINGS, "the graphs that these settings are for; none: all", "test_names_and_files",
        .offset = G(names)),
    ROW("vtcm_mb", JSON_U32, "VTCM_SIZE_IN_MB", "test_every_key", .offset = G(vtcm_mb.value), .seen = G(vtcm_mb.given)),
    ROW("hvx_threads", JSON_U32, "NUM_HVX_THREADS", "test_every_key",
        .offset = G(hvx_threads.value), .seen = G(hvx_threads.given)),
    ROW("vtcm_size", JSON_U32, "VTCM_SIZE_IN_BYTES", "test_sizes_in_bytes",
        .offset = G(vtcm_bytes.value), .seen = G(vtcm_bytes.given)),
    ROW("O", JSON_F64, "FINALIZE_OPTIMIZATION_FLAG", "test_every_key", .offset = G(level.value), .min = 1, .max = 3,
        .seen = G(level.given)),
    ROW("dlbc", JSON_F64, "ENABLE_DLBC", "test_options_told", .offset = G(dlbc.value), .max = UINT32_MAX,
        .seen = G(dlbc.given)),
    ROW("dlbc_weights", JSON_F64, "ENABLE_DLBC_WEIGHTS", "test_options_told", .offset = G(dlbc_weights.value),
        .max = UINT32_MAX, .seen = G(dlbc_weights.given)),
    ROW("sparse_weights_compression", JSON_F64, "ENABLE_SPARSE_WEIGHTS_COMPRESSION", "test_options_told",
        .offset = G(sparse_weights.value), .max = UINT32_MAX, .seen = G(sparse_weights.given)),
    ROW("finalize_config", JSON_OBJECT, "FINALIZE_CONFIG", "test_options_refused", .offset = G(finalize),
        .sub = finalize_fields),
    ROW("num_cores", JSON_U32, "NUM_CORES", "test_options_refused", .offset = G(cores.value), .min = 1, .max = 8,
        .seen = G(cores.given)),
    ROW("slc_alloc_enable", JSON_F64, "ENABLE_SLC_ALLOCATOR", "test_options_told", .offset = G(slc.value),
        .max = UINT32_MAX, .seen = G(slc.given)),
    ROW("weights_packing", JSON_BOOL, "WEIGHTS_PACKING", "test_options_told", .offset = G(weights_packing.value),
        .seen = G(weights_packing.given)),
    ROW("short_depth_conv_on_hmx_off", JSON_BOOL, "SHORT_DEPTH_CONV_ON_HMX_OFF", "test_options_told",
        .offset = G(short_depth_off.value), .seen = G(short_depth_off.given)),
    ROW("fold_relu_activation_into_conv_off", JSON_BOOL, "FOLD_RELU_ACTIVATION_INTO_CONV_OFF", "test_options_told",
        .offset = G(fold_relu_off.value), .seen = G(fold_relu_off.given)),
    ROW("fp16_relaxed_precision", JSON_U32, "PRECISION, which is deprecated and has no effect", "test_options_told",
        .offset = G(fp16.value), .max = 1, .seen = G(fp16.given)),
    { "float32", JSON_BOOL, .about = "FLOAT32, an option of openqnn alone: the graph computes in float32",
        .test = "test_net_run.py: test_htp_precision", .offset = G(float32.value), .seen = G(float32.given) },
    ROW("use_high_precision_fp16_sigmoid", JSON_BOOL, "HIGH_PRECISION_SIGMOID", "test_options_told",
        .offset = G(sigmoid.value), .seen = G(sigmoid.given)),
    ROW("monolithic_lstm", JSON_BOOL, "MONOLITHIC_LSTM", "test_options_told", .offset = G(monolithic_lstm.value),
        .seen = G(monolithic_lstm.given)),
    ROW("advanced_activation_fusion", JSON_BOOL, "ADVANCED_ACTIVATION_FUSION", "test_options_told",
        .offset = G(activation_fusion.value), .seen = G(activation_fusion.given)),
    {}
};
static const struct json_field core_fields[] = {
    ROW("perf_profile", JSON_STRING, "the votes of a performance profile while graphs are made, executed and freed, and "
        "lower ones in between; --perf_profile wins",
        "test_votes, test_htp_tools.py: test_power_states",
        .offset = C(profile)),
    ROW("rpc_control_latency", JSON_U32, "RPC_CONTROL_LATENCY", "test_votes", .offset = C(latency.value),
        .seen = C(latency.given)),
    ROW("rpc_polling_time", JSON_U32, "RPC_POLLING_TIME", "test_votes", .offset = C(polling.value),
        .max = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIG_MAX_RPC_POLLING_TIME, .seen = C(polling.given)),
    ROW("hmx_timeout_us", JSON_U32, "HMX_TIMEOUT_INTERVAL_US", "test_votes", .offset = C(hmx_timeout.value),
        .seen = C(hmx_timeout.given)),
    ROW("adaptive_polling_time", JSON_U32, "ADAPTIVE_POLLING_TIME; a warning where the profile does not poll", "test_votes",
        .offset = C(adaptive.value), .seen = C(adaptive.given)),
    {}
};
static const struct json_field device_fields[] = {
    ROW("device_id", JSON_U32, "0; others are refused", "test_device_refused", .offset = D(device_id.value),
        .seen = D(device_id.given)),
    ROW("core_id", JSON_U32S, "the cores that votes are for; refused where the SoC has fewer", "test_device_refused",
        .offset = D(core_ids)),
    ROW("core_type", JSON_U32, "0 (NSP); 1 (HPASS) is refused", "test_device_refused", .offset = D(core_type.value),
        .max = 1, .seen = D(core_type.given)),
    ROW("soc_id", JSON_U32, "SOC; soc_model wins", "test_every_key", .offset = D(soc_id.value), .seen = D(soc_id.given)),
    ROW("soc_model", JSON_U32, "SOC", "test_every_key", .offset = D(soc_model.value), .seen = D(soc_model.given)),
    ROW("dsp_arch", JSON_STRING, "ARCH, \"v68\" to \"v89\"", "test_refused", .offset = D(arch)),
    ROW("pd_session", JSON_STRING, "SIGNEDPD: \"unsigned\" or \"signed\"", "test_domain", .offset = D(pd_session)),
    ROW("profiling_level", JSON_STRING, "off, basic, detailed, linting; --profiling_level wins unless it is "
        "\"backend\"",
        "test_device_refused", .offset = D(profiling)),
    ROW("use_client_context", JSON_BOOL, "not available from v68 on: a warning", "test_options_told",
        .offset = D(client_context), .seen = D(has_client_context)),
    ROW("cores", JSON_LIST, "votes; those of the first entry count for all cores of core_id", "test_votes",
        .offset = D(cores), .sub = core_fields, .item_size = sizeof(struct htp_core_params)),
    {}
};
static const struct json_field context_fields[] = {
    ROW("weight_sharing_enabled", JSON_BOOL, "WEIGHT_SHARING_ENABLED", "test_options_told",
        .offset = X(weight_sharing.value), .seen = X(weight_sharing.given)),
    ROW("max_spill_fill_buffer_for_group", JSON_U32, "bytes of the group's spill-fill buffer, with group_id",
        "test_options_refused", .offset = X(spill_fill.value), .seen = X(spill_fill.given)),
    { "group_id", JSON_U32, .about = "REGISTER_MULTI_CONTEXTS: contexts of the program with the same number "
                                     "share a spill-fill buffer", .test = "test_throughput.py: test_htp_group",
        .offset = X(group_id.value), .seen = X(group_id.given) },
    ROW("file_read_memory_budget_in_mb", JSON_U32, "FILE_READ_MEMORY_BUDGET", "test_options_told",
        .offset = X(file_budget_mb.value), .seen = X(file_budget_mb.given)),
    ROW("io_memory_estimation", JSON_BOOL, "IO_MEM_ESTIMATION", "test_options_told", .offset = X(io_estimation.value),
        .seen = X(io_estimation.given)),
    ROW("init_acceleration", JSON_BOOL, "INIT_ACCELERATION", "test_options_told", .offset = X(init_acceleration.value),
        .seen = X(init_acceleration.given)),
    ROW("lora_weight_sharing", JSON_BOOL, "LORA_WEIGHT_SHARING_ENABLED", "test_options_told",
        .offset = X(lora_sharing.value), .seen = X(lora_sharing.given)),
    ROW("lora_weight_sharing_ram_preload", JSON_BOOL, "LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED", "test_options_told",
        .offset = X(lora_preload.value), .seen = X(lora_preload.given)),
    ROW("concurrent_deserialization_patch", JSON_STRING, "CONCURRENT_DESERIALIZATION_PATCH: a file", "test_names_and_files",
        .offset = X(patch)),
    ROW("extended_udma", JSON_BOOL, "USE_EXTENDED_UDMA", "test_options_told", .offset = X(extended_udma.value),
        .seen = X(extended_udma.given)),
    ROW("reused_io_limit_mb", JSON_U32, "REUSED_IO_LIMIT", "test_options_told", .offset = X(reused_io_mb.value),
        .seen = X(reused_io_mb.given)),
    {}
};
static const struct json_field group_fields[] = {
    ROW("share_resources", JSON_BOOL, "SHARE_RESOURCES", "test_options_told",
        .offset = P(group.share_resources.value) - P(group), .seen = P(group.share_resources.given) - P(group)),
    ROW("reused_io_limit_mb", JSON_U32, "REUSED_IO_LIMIT", "test_options_told",
        .offset = P(group.reused_io_mb.value) - P(group), .seen = P(group.reused_io_mb.given) - P(group)),
    {}
};
static const char *const memory_types[] = { "shared_buffer", NULL };
static const struct json_field memory_fields[] = {
    ROW("mem_type", JSON_ENUM, "inputs and outputs in one shared buffer", "test_every_key",
        .offset = P(memory.type) - P(memory), .names = memory_types, .seen = P(memory.given) - P(memory)),
    {}
};
const struct json_field htp_params_fields[] = {
    { "graphs", JSON_LIST, P(graphs), .sub = graph_fields, .item_size = sizeof(struct htp_graph_params) },
    { "devices", JSON_LIST, P(devices), .sub = device_fields, .item_size = sizeof(struct htp_device_params) },
    { "context", JSON_OBJECT, P(context), .sub = context_fields },
    { "groupContext", JSON_OBJECT, P(group), .sub = group_fields },
    { "memory", JSON_OBJECT, P(memory), .sub = memory_fields },
    {}
};
/* clang-format on */

/* States that profiles go to when nothing is done, and that no file can name. */
static const struct htp_profile relaxed = { "RELAXED_POWER_STATE", 2000, DCVS_VOLTAGE_VCORNER_SVS, 0,
                                            .least = DCVS_VOLTAGE_VCORNER_SVS2 };
static const struct htp_profile released = { "RELEASED_POWER_STATE", 65535, DCVS_VOLTAGE_VCORNER_MIN_VOLTAGE_CORNER, 0,
                                             .least = DCVS_VOLTAGE_VCORNER_MIN_VOLTAGE_CORNER };

/* One corner for bus and core, least, wanted and most; polling where the documents have it on. Which state the balanced and
 * the extreme profile go to is not documented: the balanced ones as high_performance, the extreme one as its neighbours. */
static const struct htp_profile profiles[] = {
    { "burst", 40, DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 9999, .idle = &relaxed, .sustained = true },
    { "sustained_high_performance", 100, DCVS_VOLTAGE_VCORNER_TURBO, 9999, .idle = &relaxed, .sustained = true },
    { "high_performance", 100, DCVS_VOLTAGE_VCORNER_TURBO, 9999, .idle = &relaxed },
    { "balanced", 1000, DCVS_VOLTAGE_VCORNER_NOM_PLUS, 0, .idle = &relaxed },
    { "low_balanced", 1000, DCVS_VOLTAGE_VCORNER_NOM, 0, .idle = &relaxed },
    { "high_power_saver", 1000, DCVS_VOLTAGE_VCORNER_SVS_PLUS, 0, .idle = &released },
    { "power_saver", 1000, DCVS_VOLTAGE_VCORNER_SVS, 0, .idle = &released },
    { "low_power_saver", 1000, DCVS_VOLTAGE_VCORNER_SVS2, 0, .idle = &released },
    { "extreme_power_saver", 1000, DCVS_VOLTAGE_CORNER_DISABLE, 0, .idle = &released },
    { .name = "system_settings" }, /* no vote */
    { .name = "default" },
};

enum status htp_params_read(const char *path, struct htp_params *ret, struct arena *arena)
{
    *ret = (struct htp_params){ 0 };
    return path ? json_read_file(path, htp_params_fields, ret, arena) : ST_OK;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's HTP graph options mean: one table row per option (htp_options.h). What depends on the device and on other
 * options is checked in htp_graph_check.c. */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <QNN/HTP/QnnHtpGraph.h>

#include "backend/htp/htp_backend.h"
#include "base/mem.h"

#define AT(field) offsetof(struct htp_graph_cfg, field)
#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

/* Settings as they are, and as they were when they last passed the checks. */
struct settings {
    struct htp_graph_cfg now, checked;
};

/* ---- optimizations: a type and a float -------------------------------------------------------------------------------- */

static float float_of(const void *custom)
{
    return ((const QnnHtpGraph_CustomConfig_t *)custom)->optimizationOption.floatValue;
}

static enum status take_level(const struct htp_option *option, const void *custom, void *settings)
{
    float level = float_of(custom);

    RETURN_IF(!(level >= 1.0f && level <= 3.0f) || level != rintf(level), ST_INVALID_CONFIG,
              "HTP graph config: %s: optimization level %g; 1, 2 and 3 are allowed", option->name, (double)level);
    ((struct htp_graph_cfg *)settings)->opt_level = (uint32_t)level;
    return ST_OK;
}

/* 0 is off, 1 and more is on; what lies between is neither. */
static enum status take_switch(const struct htp_option *option, const void *custom, void *settings)
{
    float value = float_of(custom);

    RETURN_IF(!isfinite(value) || (value != 0 && value < 1), ST_INVALID_CONFIG,
              "HTP graph config: %s is %g; allowed: 0 (off), 1 and more (on)", option->name, (double)value);
    *((uint8_t *)settings + option->at) = value >= 1;
    if (option->outcome == HTP_NO_EFFECT && value >= 1)
        htp_option_warn(&htp_optimizations, option);
    return ST_OK;
}

/* Off is remembered, since it may be said of a loaded graph. */
static enum status take_slc(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_graph_cfg *s = settings;

    TRY(take_switch(option, custom, settings));
    s->slc = s->slc ? HTP_SLC_ON : HTP_SLC_OFF;
    return ST_OK;
}

static enum status take_real(const struct htp_option *option, const void *custom, void *settings)
{
    float value = float_of(custom);

    RETURN_IF(!isfinite(value) || value < 0, ST_INVALID_CONFIG, "HTP graph config: %s is %g; 0 and more are allowed",
              option->name, (double)value);
    memcpy((char *)settings + option->at, &value, sizeof value);
    if (option->outcome == HTP_NO_EFFECT && value != 0)
        htp_option_warn(&htp_optimizations, option);
    return ST_OK;
}

/* clang-format off */
#define OPTIMIZATION(id, ...) { .number = QNN_HTP_GRAPH_OPTIMIZATION_TYPE_##id, .name = #id, __VA_ARGS__ }
#define SWITCH .allowed = "0: off; 1 and more: on", .take = take_switch
static const struct htp_option optimization_rows[] = {
    OPTIMIZATION(SCHEDULE_THRESHOLD, .allowed = "0 and more", .take = take_real, .at = AT(schedule_threshold),
        .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_told_once",
        .effect = "what it is compared with is not published, and the order of operators needs no such number: "
                  "it is the best one of a search that is counted in steps. FINALIZE_OPTIMIZATION_FLAG says how "
                  "long that is"),
    OPTIMIZATION(FINALIZE_RETRIES, .allowed = "0 and more", .take = take_real, .at = AT(finalize_retries),
        .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_told_once",
        .effect = "finalizing does not fail by chance: a plan that does not fit is made again with less room "
                  "until one does, and another attempt would give the same"),
    OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, .allowed = "1, 2 (default), 3", .take = take_level,
        .test = "test_htp_limits.c: test_levels, test_htp_acts.c: test_levels_differ",
        .effect = "effort of the search for an order of operators and for what lies in VTCM. 1: the client's "
                  "order; 2: also the one with the lowest peak, and what moves the fewest bytes; 3: several "
                  "complete plans, with and without chains of operators, of which the one stays that is "
                  "estimated to be the fastest on the SoC (docs/htp-effects.md), and a longer preparation. "
                  "Recorded in the binary"),
    OPTIMIZATION(ENABLE_DLBC, SWITCH, .at = AT(dlbc),
        .test = "test_htp_acts.c: test_dlbc, test_htp_options.c: test_in_binary_info, test_htp_limits.c: "
                "test_dlbc_limits",
        .effect = "tensors between operators move compressed in the estimate, to 73 % (8 bits), 84 % (16 bits) "
                  "or 81 % (floats), as measured on networks with real inputs (docs/cost.md); the client's "
                  "tensors are as the client has them, and a detailed profile tells what compression would "
                  "leave of those of this execution (30034). Results keep their bits. In the binary: htpDlbc. "
                  "At most 32 graphs of a context, 16 together with ENABLE_DLBC_WEIGHTS, not with a group that "
                  "shares a spill-fill buffer"),
    OPTIMIZATION(ENABLE_DLBC_WEIGHTS, SWITCH, .at = AT(dlbc_weights),
        .test = "test_htp_storage.c: test_dlbc_weights, test_htp_limits.c: test_dlbc_limits",
        .effect = "constants are stored compressed in the binary, without loss, and unpacked once when it is "
                  "loaded; the estimate moves as many bytes of a node's weights as are stored of them "
                  "(qnn-context-binary-utility --summary lists them). At most 32 graphs of a context, 16 together "
                  "with ENABLE_DLBC, not with WEIGHT_SHARING_ENABLED nor a shared spill-fill buffer"),
    OPTIMIZATION(ENABLE_SPARSE_WEIGHTS_COMPRESSION, SWITCH, .at = AT(sparse_weights),
        .test = "test_htp_storage.c: test_sparse_weights",
        .effect = "SA8255 and SA8620: constants are stored without their most frequent byte (zeros), with one bit "
                  "each in its place, and unpacked when the binary is loaded; the estimate moves that many bytes. "
                  "ENABLE_DLBC_WEIGHTS wins. Other SoCs do not have it: a warning, and no effect"),
    OPTIMIZATION(ENABLE_SLC_ALLOCATOR, .allowed = "0: off; 1 and more: on", .take = take_slc, .at = AT(slc),
        .moment = HTP_ANY_TIME, .test = "test_htp_acts.c: test_cache, test_htp_limits.c: test_after_finalize",
        .effect = "SM8750 and SM8850: what is spilled stays in 8 MB of the system level cache as far as it fits, "
                  "and comes and goes at twice the rate of DRAM, in the estimate; profiles tell the bytes "
                  "(30016). A finalized graph that has it may be told to do without, and back. Other SoCs have "
                  "no such allocator: a warning, and no effect"),
    OPTIMIZATION(ENABLE_VTCM_RETENTION, SWITCH, .at = AT(vtcm_retention), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once",
        .effect = "graphs of a session take turns with one window, so nothing that one leaves there can be "
                  "relied upon; every execution brings what it needs, and results do not depend on the "
                  "execution before"),
    OPTIMIZATION(ENABLE_CACHED_WEIGHTS, SWITCH, .at = AT(cached_weights), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once",
        .effect = "constants are mapped and used where they lie, so a second execution finds them without a "
                  "copy already; the estimate is that of any execution, whatever the one before left in caches"),
};
/* clang-format on */

static _Atomic bool optimization_warned[COUNT(optimization_rows)];
const struct htp_option_table htp_optimizations = {
    .kind = "graph optimization",
    .prefix = "QNN_HTP_GRAPH_OPTIMIZATION_TYPE_",
    .rows = optimization_rows,
    .n = COUNT(optimization_rows),
    .warned = optimization_warned,
};

static enum status take_optimization(const struct htp_option *option, const void *custom, void *settings)
{
    const QnnHtpGraph_CustomConfig_t *config = custom;
    uint32_t type = (uint32_t)config->optimizationOption.type;
    const struct htp_option *row = htp_option_find(&htp_optimizations, type);

    RETURN_IF(!row, ST_INVALID_CONFIG, "HTP graph config: %s type %u is unknown; 1 to 9 are known", option->name, type);
    return row->take(row, custom, settings);
}

/* ---- options with rules of their own ---------------------------------------------------------------------------------- */

/* All flags lie at the same byte. A client may have put another number than 0 and 1 there, which no bool is. */
static bool flag_of(const QnnHtpGraph_CustomConfig_t *c)
{
    const uint8_t *flag = (const uint8_t *)&c->foldReluActivationIntoConvOff;
    return *flag != 0;
}

/* The option is switched on, or off again: what is on is held against the device, and warned of when it has no effect. */
static void note(struct htp_graph_cfg *s, const struct htp_option *option, bool on)
{
    uint32_t bit = 1u << (option - htp_graph_options.rows);
    s->given = on ? s->given | bit : s->given & ~bit;
}

/* Float graphs compute in float16 whatever is said here; who asks for float32 is told. */
static enum status take_precision(const struct htp_option *option, const void *custom, void *settings)
{
    Qnn_Precision_t precision = ((const QnnHtpGraph_CustomConfig_t *)custom)->precision;

    RETURN_IF(precision != QNN_PRECISION_FLOAT32 && precision != QNN_PRECISION_FLOAT16, ST_INVALID_CONFIG,
              "HTP graph config: precision %u; 0 (float32) and 1 (float16) are supported", (unsigned)precision);
    note(settings, option, precision == QNN_PRECISION_FLOAT32);
    return ST_OK;
}

static enum status take_vtcm_mb(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_graph_cfg *s = settings;

    (void)option;
    s->vtcm_mb = ((const QnnHtpGraph_CustomConfig_t *)custom)->vtcmSizeInMB;
    s->vtcm_max = s->vtcm_mb == QNN_HTP_GRAPH_CONFIG_OPTION_MAX;
    s->vtcm_mb_given = true;
    s->vtcm_bytes = 0;
    s->vtcm_bytes_given = false;
    return ST_OK;
}

static enum status take_vtcm_bytes(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_graph_cfg *s = settings;
    uint32_t bytes = ((const QnnHtpGraph_CustomConfig_t *)custom)->vtcmSizeInBytes;

    RETURN_IF(bytes % HTP_VTCM_STEP, ST_INVALID_CONFIG, "HTP graph config: %s is %u; allowed: %s", option->name, bytes,
              option->allowed);
    s->vtcm_bytes = bytes;
    s->vtcm_mb = (bytes + (1u << 20) - 1) >> 20;
    s->vtcm_max = bytes == 0;
    s->vtcm_mb_given = false;
    s->vtcm_bytes_given = true;
    note(s, option, true);
    return ST_OK;
}

static enum status take_parallel(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_graph_cfg *s = settings;
    const QnnHtpGraph_ParallelGraphExecutionConfig_t *p =
        &((const QnnHtpGraph_CustomConfig_t *)custom)->parallelGraphExecutionConfig;

    RETURN_IF((uint32_t)p->concurrency > QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED, ST_INVALID_CONFIG,
              "HTP graph config: %s: concurrency %u; 0 (none) and 1 (all shared) are known", option->name,
              (unsigned)p->concurrency);
    RETURN_IF(p->vtcmConfig.sizeInBytes % HTP_VTCM_STEP || p->vtcmConfig.offsetInBytes % HTP_VTCM_STEP, ST_INVALID_CONFIG,
              "HTP graph config: %s: VTCM of %u bytes from %u on; allowed: multiples of %d", option->name,
              p->vtcmConfig.sizeInBytes, p->vtcmConfig.offsetInBytes, HTP_VTCM_STEP);
    s->concurrency = (uint32_t)p->concurrency;
    s->concurrency_given = true;
    s->vtcm_part[0] = p->vtcmConfig.sizeInBytes;
    s->vtcm_part[1] = p->vtcmConfig.offsetInBytes;
    s->vtcm_part[2] = p->vtcmConfig.sizeTotalInBytes;
    note(s, option, s->concurrency != 0);
    return ST_OK;
}

enum { MOST_CLOCKS_LOG2 = 3 /* clocks of two units that are further apart are no clocks */ };
static enum status take_bounding(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_graph_cfg *s = settings;
    const QnnHtpGraph_CustomConfig_t *config = custom;
    float hmx = config->hmxBoundingInfo.targetHmxFreqHz;
    float core = config->hmxBoundingInfo.targetDspCoreFreq;

    bool none = hmx == 0 && core == 0;
    bool both = isfinite(hmx) && isfinite(core) && hmx > 0 && core > 0 && fabsf(log2f(hmx / core)) <= MOST_CLOCKS_LOG2;
    RETURN_IF(!none && !both, ST_INVALID_CONFIG, "HTP graph config: %s of %g and %g Hz; allowed: %s", option->name,
              (double)hmx, (double)core, option->allowed);
    s->hmx_hz = hmx;
    s->core_hz = core;
    note(s, option, hmx != 0 || core != 0);
    return ST_OK;
}

static bool finalize_value_known(uint32_t p)
{
    return p <= 6 || p == 8 || p == 13 || (p >= 15 && p <= 17) || (p >= 19 && p <= 23);
}

static enum status take_finalize(const struct htp_option *option, const void *custom, void *settings)
{
    struct htp_graph_cfg *s = settings;
    const QnnHtpGraph_CustomConfig_t *config = custom;
    const char *key = config->finalizeConfig.key;
    uint32_t value = config->finalizeConfig.value.uint32Value;

    RETURN_IF(!key, ST_INVALID_CONFIG, "HTP graph config: %s has no key; \"P\" is known", option->name);
    RETURN_IF(strcmp(key, "P") != 0, ST_INVALID_CONFIG,
              "HTP graph config: %s: key \"%.64s\" is unknown; "
              "\"P\" is known",
              option->name, key);
    RETURN_IF(!finalize_value_known(value), ST_INVALID_CONFIG, "HTP graph config: %s \"P\" is %u; allowed: %s", option->name,
              value, option->allowed);
    s->finalize_p = value;
    s->finalize_p_given = true;
    note(s, option, value != 0);
    return ST_OK;
}

/* On by default: who switches it off is told. */
static enum status take_fusion(const struct htp_option *option, const void *custom, void *settings)
{
    bool on = flag_of(custom);

    ((struct htp_graph_cfg *)settings)->activation_fusion = on;
    note(settings, option, !on);
    return ST_OK;
}

static enum status take_cores(const struct htp_option *option, const void *custom, void *settings)
{
    uint32_t cores = ((const QnnHtpGraph_CustomConfig_t *)custom)->numCores;

    RETURN_IF(cores > option->max, ST_INVALID_CONFIG, "HTP graph config: %s is %u; allowed: %s", option->name, cores,
              option->allowed);
    ((struct htp_graph_cfg *)settings)->cores = cores ? cores : 1;
    note(settings, option, cores > 1);
    return ST_OK;
}

static enum status take_reserved(const struct htp_option *option, const void *custom, void *settings)
{
    (void)custom;
    note(settings, option, true);
    return ST_OK;
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define OPTION(id, ...) { .number = QNN_HTP_GRAPH_CONFIG_OPTION_##id, .name = #id, __VA_ARGS__ }
#define FLAG(field) .allowed = "true, false", .value = HTP_VALUE_FLAG, .at = AT(field)
static const struct htp_option option_rows[] = {
    OPTION(OPTIMIZATION, .allowed = "a type and a value, see below", .take = take_optimization,
        .moment = HTP_ANY_TIME /* its types have their own */,
        .test = "test_htp_options.c: test_graph_options_refused", .effect = "sets one of the optimizations below"),
    OPTION(PRECISION, .allowed = "FLOAT32, FLOAT16", .take = take_precision, .outcome = HTP_NO_EFFECT,
        .test = "test_htp_options.c: test_precision",
        .effect = "deprecated: float graphs compute in float16 with or without it; OPENQNN_FLOAT32 and the "
                  "option FLOAT32 (below) choose float32"),
    OPTION(VTCM_SIZE_IN_MB, .allowed = "0 (all that the SoC has) to the SoC's; default 4", .take = take_vtcm_mb,
        .test = "test_htp_vtcm.c: test_size_is_told, test_htp_limits.c: test_vtcm_mb_above_soc",
        .effect = "the window that the graph computes in. More than the SoC has is cut with a warning, "
                  "since llama.cpp's backends ask every SoC for 8; with OPENQNN_STRICT it is refused"),
    OPTION(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, FLAG(fold_relu_off), .test = "test_htp_limits.c: test_fold_relu_off, "
                                                                      "test_htp_acts.c: test_relu_encoding",
        .effect = "without it a Relu or another clamp behind a product is folded into it: sums are rounded "
                  "once, to the Relu's encoding. With it the Relu stays an operator of its own, in plan, "
                  "estimate and profile, and both encodings are kept: sums are rounded and cut to that of the "
                  "product, then to the Relu's"),
    OPTION(SHORT_DEPTH_CONV_ON_HMX_OFF, FLAG(short_depth_off), .test = "test_htp_acts.c: test_short_depth",
        .effect = "convolutions of fewer than 32 input channels run on the vector units instead of the matrix unit, "
                  "in the binary (units of a node) and the estimate. Results keep their bits: integer products are "
                  "exact for all depths and offsets of weights"),
    OPTION(NUM_HVX_THREADS, .allowed = "0 (all that the SoC has) to the SoC's; default 4", .value = HTP_VALUE_U64,
        .at = AT(hvx_threads), .moment = HTP_UNTIL_FIRST_RUN, .test = "test_htp_limits.c: test_hvx_threads",
        .effect = "vector threads that the estimate counts and profiles report (8001). On a loaded graph, "
                  "until its first execution, profiles report the new number, and the estimate stays that "
                  "of preparing. More than the SoC has is cut with a warning (llama.cpp's backends ask for "
                  "8), or refused with OPENQNN_STRICT"),
    OPTION(FINALIZE_CONFIG, .allowed = "key \"P\" with 0 to 6, 8, 13, 15 to 17, 19 to 23", .take = take_finalize,
        .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_finalize_config",
        .effect = "what the values of \"P\" stand for is not published (\"a separate supplementary note\"); "
                  "other keys and values are refused. FINALIZE_OPTIMIZATION_FLAG chooses how much is tried"),
    OPTION(NUM_CORES, .allowed = "0 and 1 (one) to the SoC's cores", .max = 8, .take = take_cores,
        .test = "test_htp_cores.c: test_work_is_split, test_htp_limits.c: test_cores",
        .effect = "each core of the device computes as large a part of every operator, in lines or channels: in "
                  "the binary, the estimate, profiles (per core 2010 to 2016, 30022 and 30023, bytes exchanged "
                  "30024) and the timeline. This computer's threads compute as before, with the same bits. More "
                  "cores than the SoC has are refused, also when a binary is loaded, and more than one together "
                  "with PARALLEL_GRAPH_EXECUTION_CONFIG, weight sharing or a shared spill-fill buffer"),
    OPTION(PARALLEL_GRAPH_EXECUTION_CONFIG, .take = take_parallel, .test = "test_htp_yield.c: test_concurrency",
        .allowed = "concurrency 0 (none), 1 (all shared); of VTCM multiples of 65536 up to the SoC's",
        .effect = "with 0 graphs that say so run one after the other in the session, also where it has several "
                  "lanes (docs/sessions.md), and interrupt each other by priority; with 1, and without the "
                  "option, graphs run side by side where this computer has cores for it. With 1 the graph is "
                  "planned for sizeInBytes of VTCM. Kept in the binary"),
    OPTION(VTCM_SIZE_IN_BYTES, .allowed = "0 (all that the SoC has), multiples of 65536 up to the SoC's",
        .take = take_vtcm_bytes, .arch = 81, .test = "test_htp_limits.c: test_vtcm_bytes",
        .effect = "the window that the graph computes in; the last of this option and VTCM_SIZE_IN_MB counts"),
    OPTION(HMX_BOUNDING, .take = take_bounding, .test = "test_htp_acts.c: test_bounding",
        .allowed = "the clocks of the matrix unit and of the core in Hz, which are at most 8 times each other, or 0 and 0",
        .effect = "the matrix unit does as much per cycle of the core as the ratio of both clocks says, in the plan, the "
                  "cycles and the timeline of the graph. Votes scale the estimated time as without it"),
    OPTION(WEIGHTS_PACKING, FLAG(weights_packing), .test = "test_htp_storage.c: test_weights_packing",
        .effect = "8-bit weights whose values lie within 16 of each other are stored two per byte in the binary, and "
                  "unpacked once when it is loaded; the estimate moves half of their bytes. "
                  "ENABLE_DLBC_WEIGHTS, which stores them in at most as much, wins"),
    OPTION(ASSUME_SAME_QUANT, FLAG(assume_same_quant), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once",
        .effect = "a promise of the client that encodings are equal, where a compiler does not look; here they "
                  "are compared: equal ones cost nothing, and unlike ones are converted instead of being taken "
                  "for equal"),
    OPTION(SHARE_IO_BUFFER, FLAG(share_io), .outcome = HTP_NO_EFFECT, .test = "test_htp_limits.c: test_told_once",
        .effect = "inputs and outputs that are given in one buffer share it anyway: an execution looks whether "
                  "they overlap (docs/memory.md), so there is nothing to allow"),
    OPTION(ADVANCED_ACTIVATION_FUSION, .allowed = "true (default), false", .take = take_fusion,
        .test = "test_htp_acts.c: test_activation_fusion",
        .effect = "without it Prelu, HardSwish, ElementWiseNeuron and x * Sigmoid(x) behind a product are operators "
                  "of their own in the estimate, instead of work that the product does on the way; clamps are the "
                  "business of FOLD_RELU_ACTIVATION_INTO_CONV_OFF. Results keep their bits"),
    OPTION(HIGH_PRECISION_SIGMOID, FLAG(high_precision_sigmoid), .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once",
        .effect = "Sigmoid of float16 is always the nearest float16 of the exact value, so the option is as if "
                  "it were on; it costs nothing here, and estimates have one rate for Sigmoid"),
    OPTION(MONOLITHIC_LSTM, FLAG(monolithic_lstm), .test = "test_htp_acts.c: test_lstm",
        .effect = "all steps of an Lstm with a state of at most 256 are one operator in the estimate: launched "
                  "once, and the weights of its state come once. Without it each step is, and brings them "
                  "again. Results keep their bits"),
    OPTION(PRECISION_COMPENSATION, FLAG(precision_compensation), .outcome = HTP_NO_EFFECT, .arch = 81,
        .test = "test_htp_limits.c: test_needs_v81",
        .effect = "sums are kept in float32 or wider integers, so there is no loss to make good"),
    OPTION(RESERVED, .allowed = "anything", .take = take_reserved, .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_told_once",
        .effect = "the public headers do not say what it does"),
    { .number = HTP_OPTION_FLOAT32, .name = "FLOAT32", FLAG(float32), .test = "test_htp_options.c: test_precision",
        .effect = "an option of openqnn alone (number 0x4F510001, a flag): the graph computes in float32, "
                  "as with the environment variable OPENQNN_FLOAT32=1" },
};
/* clang-format on */

static _Atomic bool option_warned[COUNT(option_rows)];
const struct htp_option_table htp_graph_options = {
    .kind = "graph",
    .prefix = "QNN_HTP_GRAPH_CONFIG_OPTION_",
    .rows = option_rows,
    .n = COUNT(option_rows),
    .value_at = offsetof(QnnHtpGraph_CustomConfig_t, numHvxThreads),
    .warned = option_warned,
    .warns_later = true,
};
static_assert(COUNT(option_rows) <= 32, "a bit per option");

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

static enum status take_option(const void *custom, struct htp_graph_cfg *s)
{
    const QnnHtpGraph_CustomConfig_t *c = custom;

    RETURN_IF(!c, ST_INVALID_CONFIG, "HTP graph config: customConfig is NULL; a QnnHtpGraph_CustomConfig_t is expected");
    const struct htp_option *option = htp_option_find(&htp_graph_options, (uint32_t)c->option);

    /* ggml's backend never sets the option of one of its configs: whatever is there must not keep it from making graphs. */
    if (!option) {
        backend_log(BACKEND_WARN,
                    "HTP graph config: option %u is unknown and ignored; 1 (OPTIMIZATION) to 18 "
                    "(PRECISION_COMPENSATION) are known",
                    (unsigned)c->option);
        return ST_OK;
    }

    TRY(htp_option_take(&htp_graph_options, option, custom, s));
    if (option->value == HTP_VALUE_FLAG)
        note(s, option, flag_of(c));
    return ST_OK;
}

struct htp_graph_cfg htp_graph_settings(const struct backend_graph_cfg *cfg)
{
    if (cfg && cfg->custom)
        return ((const struct settings *)cfg->custom)->now;
    return (struct htp_graph_cfg){
        .opt_level = 2, .vtcm_mb = HTP_DEFAULT_VTCM_MB, .hvx_threads = HTP_DEFAULT_HVX, .cores = 1, .activation_fusion = 1
    };
}

static enum status store(struct backend_graph_cfg *cfg, const struct htp_graph_cfg *s)
{
    if (!cfg->custom) {
        struct htp_graph_cfg before = htp_graph_settings(cfg);

        cfg->custom = mem_new(struct settings);
        RETURN_IF(!cfg->custom, ST_NO_MEMORY, "no memory for the settings of a graph");
        ((struct settings *)cfg->custom)->checked = before;
    }
    ((struct settings *)cfg->custom)->now = *s;
    return ST_OK;
}

enum status htp_graph_config(const void *custom, struct backend_graph_cfg *cfg)
{
    struct htp_graph_cfg s = htp_graph_settings(cfg);
    TRY(take_option(custom, &s));
    return store(cfg, &s);
}

void htp_graph_config_free(struct backend_graph_cfg *cfg)
{
    mem_free(cfg->custom);
    cfg->custom = NULL;
}

static void warn_of(const struct htp_graph_cfg *s)
{
    for (size_t i = 0; i < COUNT(option_rows); i++)
        if (s->given >> i & 1 && option_rows[i].outcome == HTP_NO_EFFECT)
            htp_option_warn(&htp_graph_options, &option_rows[i]);
}

/* Options that were refused together with the device leave no trace. */
enum status htp_graph_config_check(struct backend_context *c, struct backend_graph_cfg *cfg)
{
    struct settings *settings = cfg->custom;
    if (!settings)
        return ST_OK;

    enum status st = htp_graph_check(c, &settings->now);
    if (st != ST_OK) {
        settings->now = settings->checked;
        return st;
    }
    settings->checked = settings->now;
    warn_of(&settings->now);
    return ST_OK;
}

static enum status check_moment(const struct backend_graph *g, const QnnHtpGraph_CustomConfig_t *c)
{
    const struct htp_option *option = c ? htp_option_find(&htp_graph_options, (uint32_t)c->option) : NULL;

    if (option && option->number == QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION)
        option = htp_option_find(&htp_optimizations, (uint32_t)c->optimizationOption.type);
    if (!option || option->moment == HTP_ANY_TIME)
        return ST_OK;

    RETURN_IF(option->moment == HTP_UNTIL_FINALIZE, ST_FINALIZED,
              "HTP graph config: %s of graph \"%s\", which is finalized; set it before QnnGraph_finalize", option->name,
              g->g->info.name);
    RETURN_IF(g->has_run, ST_FINALIZED,
              "HTP graph config: %s of graph \"%s\", which has been executed; set it before the first execution",
              option->name, g->g->info.name);
    return ST_OK;
}

/* The cache may be taken away from a loaded graph, and given back; the plan of one that was prepared without it stays. */
static enum status check_slc(const struct backend_graph *g, const struct htp_graph_cfg *now,
                             const struct htp_graph_cfg *before)
{
    bool wanted = now->slc == HTP_SLC_ON && before->slc != HTP_SLC_ON;

    RETURN_IF(wanted && !(g->g->info.options & HTP_GRAPH_SLC), ST_FINALIZED,
              "HTP graph config: ENABLE_SLC_ALLOCATOR is 1 for graph \"%s\", which was finalized without it; set it "
              "before QnnGraph_finalize. Later it can be switched off only",
              g->g->info.name);
    return ST_OK;
}

enum status htp_loaded_config(struct backend_graph *g, struct backend_graph_cfg *cfg, const void *const *customs, size_t n)
{
    struct htp_graph_cfg s = htp_graph_settings(cfg);
    struct htp_graph_cfg before = s;

    for (size_t i = 0; i < n; i++) {
        TRY(check_moment(g, customs[i]));
        TRY(take_option(customs[i], &s));
    }
    TRY(htp_graph_check(g->context, &s));
    TRY(check_slc(g, &s, &before));
    TRY(store(cfg, &s));
    warn_of(&s);
    if (s.slc)
        g->slc_off = s.slc == HTP_SLC_OFF;
    if (s.hvx_threads != before.hvx_threads)
        g->hvx_threads = htp_threads(g->context, &s);
    return ST_OK;
}

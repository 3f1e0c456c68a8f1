/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's HTP graph options mean: one table row per option. Options that change nothing here yet are kept and said
 * so in the log; no valid option fails. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include <QNN/HTP/QnnHtpGraph.h>

#include "backend/htp/htp_backend.h"
#include "base/mem.h"

#define AT(field) offsetof(struct htp_graph_cfg, field)

/* ---- optimizations: a type and a float -------------------------------------------------------------------------------- */

static const struct {
    uint32_t type;
    const char *name;
    bool flag; /* else a float, as it is */
    size_t at;
    bool without_effect;
} optimizations[] = {
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_SCHEDULE_THRESHOLD, "SCHEDULE_THRESHOLD", false, AT(schedule_threshold), true },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_RETRIES, "FINALIZE_RETRIES", false, AT(finalize_retries), true },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, "ENABLE_DLBC", true, AT(dlbc), false },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC_WEIGHTS, "ENABLE_DLBC_WEIGHTS", true, AT(dlbc_weights), true },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SPARSE_WEIGHTS_COMPRESSION, "ENABLE_SPARSE_WEIGHTS_COMPRESSION", true,
      AT(sparse_weights), true },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR, "ENABLE_SLC_ALLOCATOR", true, AT(slc), true },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_VTCM_RETENTION, "ENABLE_VTCM_RETENTION", true, AT(vtcm_retention), true },
    { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_CACHED_WEIGHTS, "ENABLE_CACHED_WEIGHTS", true, AT(cached_weights), true },
};

static void without_effect(const char *name)
{
    backend_log(BACKEND_INFO, "HTP graph config: %s is kept, but changes nothing here", name);
}

static enum status take_optimization(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    uint32_t type = (uint32_t)c->optimizationOption.type;
    float v = c->optimizationOption.floatValue;
    if (type == QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG) {
        RETURN_IF(!(v >= 1.0f && v <= 3.0f) || v != rintf(v), ST_INVALID_CONFIG,
                  "HTP graph config: optimization level %g; 1, 2 and 3 are allowed", (double)v);
        s->opt_level = (uint32_t)v;
        return ST_OK;
    }
    for (size_t i = 0; i < sizeof optimizations / sizeof optimizations[0]; i++) {
        if (optimizations[i].type != type)
            continue;
        RETURN_IF(!isfinite(v) || v < 0, ST_INVALID_CONFIG, "HTP graph config: %s is %g; 0 and more are allowed",
                  optimizations[i].name, (double)v);
        if (optimizations[i].flag)
            *((uint8_t *)s + optimizations[i].at) = v != 0;
        else
            memcpy((char *)s + optimizations[i].at, &v, sizeof v);
        if (optimizations[i].without_effect && v != 0)
            without_effect(optimizations[i].name);
        return ST_OK;
    }
    return status_fail(ST_INVALID_CONFIG, "HTP graph config: optimization type %u is unknown; 1 to 9 are known", type);
}

/* ---- options with rules of their own ---------------------------------------------------------------------------------- */

static enum status take_precision(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    RETURN_IF(c->precision != QNN_PRECISION_FLOAT32 && c->precision != QNN_PRECISION_FLOAT16, ST_INVALID_CONFIG,
              "HTP graph config: precision %u; 0 (float32) and 1 (float16) are supported", (unsigned)c->precision);
    s->fp16 = c->precision == QNN_PRECISION_FLOAT16;
    return ST_OK;
}

/* More than there is means all there is; the SoC is known when the graph is finalized. */
static enum status take_vtcm_mb(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    s->vtcm_mb = c->vtcmSizeInMB;
    s->vtcm_max = c->vtcmSizeInMB == QNN_HTP_GRAPH_CONFIG_OPTION_MAX;
    s->vtcm_bytes = 0;
    return ST_OK;
}

static enum status take_vtcm_bytes(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    s->vtcm_bytes = c->vtcmSizeInBytes;
    s->vtcm_mb = (c->vtcmSizeInBytes + (1u << 20) - 1) >> 20;
    s->vtcm_max = c->vtcmSizeInBytes == 0;
    return ST_OK;
}

static enum status take_threads(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    s->hvx_threads = c->numHvxThreads; /* 0: as many as there are */
    return ST_OK;
}

static enum status take_cores(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    RETURN_IF(c->numCores > 8, ST_INVALID_CONFIG, "HTP graph config: %u cores; no SoC has more than 8", c->numCores);
    s->cores = c->numCores;
    if (s->cores > 1)
        without_effect("NUM_CORES");
    return ST_OK;
}

static enum status take_parallel(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    const QnnHtpGraph_ParallelGraphExecutionConfig_t *p = &c->parallelGraphExecutionConfig;
    RETURN_IF((uint32_t)p->concurrency > QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED, ST_INVALID_CONFIG,
              "HTP graph config: concurrency %u; 0 (none) and 1 (all shared) are known", (unsigned)p->concurrency);
    s->concurrency = (uint32_t)p->concurrency;
    s->vtcm_part[0] = p->vtcmConfig.sizeInBytes;
    s->vtcm_part[1] = p->vtcmConfig.offsetInBytes;
    s->vtcm_part[2] = p->vtcmConfig.sizeTotalInBytes;
    without_effect("PARALLEL_GRAPH_EXECUTION_CONFIG");
    return ST_OK;
}

static enum status take_bounding(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    float hmx = c->hmxBoundingInfo.targetHmxFreqHz, core = c->hmxBoundingInfo.targetDspCoreFreq;
    RETURN_IF(!isfinite(hmx) || !isfinite(core) || hmx < 0 || core < 0, ST_INVALID_CONFIG,
              "HTP graph config: HMX_BOUNDING of %g and %g Hz", (double)hmx, (double)core);
    s->hmx_hz = hmx;
    s->core_hz = core;
    without_effect("HMX_BOUNDING");
    return ST_OK;
}

/* "P", with optimization level 3, chooses among ways to search; there is one here. */
static enum status take_finalize(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    const char *key = c->finalizeConfig.key;
    RETURN_IF(!key, ST_INVALID_CONFIG, "HTP graph config: FINALIZE_CONFIG has no key");
    if (strcmp(key, "P") == 0) {
        s->finalize_p = c->finalizeConfig.value.uint32Value;
        s->finalize_p_given = true;
    }
    backend_log(BACKEND_INFO, "HTP graph config: FINALIZE_CONFIG \"%s\" is kept, but changes nothing here", key);
    return ST_OK;
}

static enum status take_reserved(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s)
{
    (void)c, (void)s;
    return ST_OK;
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t option;
    const char *name;
    enum status (*take)(const QnnHtpGraph_CustomConfig_t *c, struct htp_graph_cfg *s); /* NULL: a flag */
    size_t at;
    bool without_effect;
} options[] = {
    { QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION, "OPTIMIZATION", take_optimization, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION, "PRECISION", take_precision, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB, "VTCM_SIZE_IN_MB", take_vtcm_mb, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF, "FOLD_RELU_ACTIVATION_INTO_CONV_OFF", NULL,
      AT(fold_relu_off), false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_SHORT_DEPTH_CONV_ON_HMX_OFF, "SHORT_DEPTH_CONV_ON_HMX_OFF", NULL, AT(short_depth_off),
      true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS, "NUM_HVX_THREADS", take_threads, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG, "FINALIZE_CONFIG", take_finalize, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES, "NUM_CORES", take_cores, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG, "PARALLEL_GRAPH_EXECUTION_CONFIG", take_parallel, 0,
      false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES, "VTCM_SIZE_IN_BYTES", take_vtcm_bytes, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_HMX_BOUNDING, "HMX_BOUNDING", take_bounding, 0, false },
    { QNN_HTP_GRAPH_CONFIG_OPTION_WEIGHTS_PACKING, "WEIGHTS_PACKING", NULL, AT(weights_packing), true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_ASSUME_SAME_QUANT, "ASSUME_SAME_QUANT", NULL, AT(assume_same_quant), true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_SHARE_IO_BUFFER, "SHARE_IO_BUFFER", NULL, AT(share_io), true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_ADVANCED_ACTIVATION_FUSION, "ADVANCED_ACTIVATION_FUSION", NULL, AT(activation_fusion),
      true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_HIGH_PRECISION_SIGMOID, "HIGH_PRECISION_SIGMOID", NULL, AT(high_precision_sigmoid), true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_MONOLITHIC_LSTM, "MONOLITHIC_LSTM", NULL, AT(monolithic_lstm), true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION_COMPENSATION, "PRECISION_COMPENSATION", NULL, AT(precision_compensation), true },
    { QNN_HTP_GRAPH_CONFIG_OPTION_RESERVED, "RESERVED", take_reserved, 0, false },
};

static enum status take_option(const void *custom, struct htp_graph_cfg *s)
{
    const QnnHtpGraph_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG, "HTP graph config: customConfig is NULL; a QnnHtpGraph_CustomConfig_t is expected");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].option != (uint32_t)c->option)
            continue;
        if (options[i].take)
            return options[i].take(c, s);
        /* All flags lie at the same byte. A client may have put another number than 0 and 1 there, which no bool is. */
        const uint8_t *flag = (const uint8_t *)&c->foldReluActivationIntoConvOff;
        *((uint8_t *)s + options[i].at) = *flag != 0;
        if (options[i].without_effect)
            without_effect(options[i].name);
        return ST_OK;
    }
    /* ggml's backend never sets the option of one of its configs: whatever is there must not keep it from making graphs. */
    backend_log(
        BACKEND_WARN,
        "HTP graph config: option %u is unknown and ignored; 1 (OPTIMIZATION) to 18 (PRECISION_COMPENSATION) are known",
        (unsigned)c->option);
    return ST_OK;
}

struct htp_graph_cfg htp_graph_settings(const struct backend_graph_cfg *cfg)
{
    if (cfg && cfg->custom)
        return *(const struct htp_graph_cfg *)cfg->custom;
    return (struct htp_graph_cfg){
        .opt_level = 2, .vtcm_mb = HTP_DEFAULT_VTCM_MB, .hvx_threads = HTP_DEFAULT_HVX, .cores = 1, .activation_fusion = 1
    };
}

static enum status store(struct backend_graph_cfg *cfg, const struct htp_graph_cfg *s)
{
    if (!cfg->custom)
        cfg->custom = mem_new(struct htp_graph_cfg);
    RETURN_IF(!cfg->custom, ST_NO_MEMORY, "no memory for the settings of a graph");
    *(struct htp_graph_cfg *)cfg->custom = *s;
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

enum status htp_loaded_config(struct backend_graph *g, struct backend_graph_cfg *cfg, const void *const *customs, size_t n)
{
    (void)g;
    struct htp_graph_cfg s = htp_graph_settings(cfg);
    for (size_t i = 0; i < n; i++)
        TRY(take_option(customs[i], &s));
    backend_log(BACKEND_INFO, "HTP graph config: options of a graph that is finalized are kept, but change nothing here");
    return store(cfg, &s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpNetRunExtensions.so: settings and power votes of the HTP backend for qnn-net-run and
 * qnn-context-binary-generator. It is a client of the public API like the programs that open it; see common/tool_extension.h
 * for when each function is called. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "QNN/HTP/QnnHtpContext.h"
#include "QNN/HTP/QnnHtpDevice.h"
#include "QNN/HTP/QnnHtpGraph.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/tool_extension.h"
#include "htp_extension/htp_params.h"
#include "htp_extension/htp_voter.h"

enum { MAX_CUSTOM = 24 };

struct htp_extension {
    struct extension_host host;
    struct arena arena;
    struct htp_params params;
    struct htp_voter voter;
    struct htp_extension *next;        /* of those whose context is the first of its group */
    Qnn_ContextHandle_t first;
    int patch_fd;                      /* -1: none */
    bool asked;                        /* settings of a graph were asked for */
};

static const struct htp_device_params *device_of(const struct htp_extension *e)
{
    return e->params.devices.n ? e->params.devices.items : NULL;
}

static const struct htp_core_params *core_of(const struct htp_extension *e)
{
    const struct htp_device_params *d = device_of(e);
    return d && d->cores.n ? d->cores.items : NULL;
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static bool profiling_known(const char *level)
{
    return str_eq(level, "off") || str_eq(level, "basic") || str_eq(level, "detailed") || str_eq(level, "linting");
}

static enum status check_context(const struct htp_extension *e)
{
    RETURN_IF(e->params.context.spill_fill.given && !e->params.context.group_id.given, ST_INVALID_CONFIG,
              "%s: context/max_spill_fill_buffer_for_group is given without context/group_id; add the "
              "number of the group",
              e->host.config_path);
    return ST_OK;
}

static enum status check_device(const struct htp_extension *e, const struct htp_device_params *d)
{
    const char *file = e->host.config_path;
    RETURN_IF(d->arch && !htp_params_arch(d->arch), ST_INVALID_CONFIG,
              "%s: devices/0/dsp_arch is \"%s\"; \"v68\" to \"v89\" are known", file, d->arch);
    RETURN_IF(d->pd_session && !str_eq(d->pd_session, "unsigned") && !str_eq(d->pd_session, "signed"), ST_INVALID_CONFIG,
              "%s: devices/0/pd_session is \"%s\"; \"unsigned\" and \"signed\" are known", file, d->pd_session);
    RETURN_IF(d->device_id.value != 0, ST_INVALID_CONFIG,
              "%s: devices/0/device_id is %u; there is one, "
              "with number 0",
              file, d->device_id.value);
    RETURN_IF(d->core_type.value != 0, ST_INVALID_CONFIG, "%s: devices/0/core_type is %u; 0 (NSP) is supported", file,
              d->core_type.value);
    RETURN_IF(d->core_ids.n > HTP_MAX_CORES, ST_INVALID_CONFIG,
              "%s: devices/0/core_id has %zu entries; no SoC "
              "has more than %d",
              file, d->core_ids.n, HTP_MAX_CORES);
    RETURN_IF(d->profiling && !profiling_known(d->profiling), ST_INVALID_CONFIG,
              "%s: devices/0/profiling_level is \"%s\"; \"off\", \"basic\", \"detailed\" and \"linting\" "
              "are known",
              file, d->profiling);
    if (d->has_client_context)
        e->host.log(QNN_LOG_LEVEL_WARN, "devices/0/use_client_context is not available from v68 on; it has no effect");
    if (e->params.devices.n > 1)
        e->host.log(QNN_LOG_LEVEL_WARN, "devices: there is one; the settings of the first are used");
    return ST_OK;
}

/* The command line wins over the file; a core without a name has the documented default. */
static enum status choose_profile(struct htp_extension *e)
{
    const struct htp_core_params *c = core_of(e);
    const char *name = e->host.perf_profile ? e->host.perf_profile
                       : c && c->profile    ? c->profile
                       : c                  ? "high_performance"
                                            : NULL;
    const struct htp_profile *profile = name ? htp_profile_find(name) : NULL;
    RETURN_IF(name && !profile, ST_INVALID_CONFIG,
              "perf_profile is \"%s\"; burst, sustained_high_performance, high_performance, balanced, "
              "low_balanced, high_power_saver, power_saver, low_power_saver, extreme_power_saver and "
              "system_settings are known",
              name);
    htp_voter_open(&e->voter, &e->host, device_of(e), profile);
    return ST_OK;
}

static enum status open_patch(struct htp_extension *e)
{
    const char *path = e->params.context.patch;
    e->patch_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    RETURN_IF(path && e->patch_fd < 0, ST_IO, "%s: context/concurrent_deserialization_patch: \"%s\" cannot be opened: %m",
              e->host.config_path, path);
    return ST_OK;
}

static enum status open_params(struct htp_extension *e)
{
    TRY(htp_params_read(e->host.config_path, &e->params, &e->arena));
    if (device_of(e))
        TRY(check_device(e, device_of(e)));
    TRY(check_context(e));
    TRY(open_patch(e));
    return choose_profile(e);
}

/* Names that no graph has are nearly always typing errors: the graph then runs with the defaults. */
static void warn_of_names(const struct htp_extension *e)
{
    const struct htp_graph_params *g = e->params.graphs.items;
    for (size_t i = 0; e->asked && i < e->params.graphs.n; i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "graphs/%zu: no graph has one of its graph_names (\"%s\"%s); its settings were not used", i,
                 g[i].names.n ? *(const char **)g[i].names.items : "", g[i].names.n > 1 ? ", ..." : "");
        if (!g[i].used && g[i].names.n)
            e->host.log(QNN_LOG_LEVEL_WARN, text);
    }
}

static void close_extension(void *self)
{
    struct htp_extension *e = self;
    warn_of_names(e);
    htp_voter_close(&e->voter);
    if (e->patch_fd >= 0)
        close(e->patch_fd);
    arena_finish(&e->arena);
    mem_free(e);
}

static int open_extension(const struct extension_host *host, void **ret)
{
    struct htp_extension *e = mem_new(struct htp_extension);
    if (!e)
        return status_fail(ST_NO_MEMORY, "no memory for the settings of HTP");
    e->host = *host;
    e->patch_fd = -1;
    arena_init(&e->arena);
    enum status st = open_params(e);
    if (st != ST_OK) {
        close_extension(e);
        return st;
    }
    *ret = e;
    return ST_OK;
}

/* ---- devices --------------------------------------------------------------------------------------------------------- */

static int device_configs(void *self, const QnnDevice_Config_t ***ret)
{
    struct htp_extension *e = self;
    const struct htp_device_params *d = device_of(e);
    QnnHtpDevice_CustomConfig_t *custom = arena_array(&e->arena, QnnHtpDevice_CustomConfig_t, 3);
    QnnDevice_Config_t *configs = arena_array(&e->arena, QnnDevice_Config_t, 3);
    const QnnDevice_Config_t **list = arena_array(&e->arena, const QnnDevice_Config_t *, 4);
    uint32_t n = 0;
    RETURN_IF(!custom || !configs || !list, ST_NO_MEMORY, "no memory for the settings of a device");
    if (d && (d->soc_model.given || d->soc_id.given)) {
        custom[n].option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC;
        custom[n++].socModel = d->soc_model.given ? d->soc_model.value : d->soc_id.value;
    }
    if (d && d->arch) {
        custom[n].option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH;
        custom[n++].arch.arch = (QnnHtpDevice_Arch_t)htp_params_arch(d->arch);
    }
    if (d && d->pd_session) {
        custom[n].option = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD;
        custom[n++].useSignedProcessDomain.useSignedProcessDomain = str_eq(d->pd_session, "signed");
    }
    for (uint32_t i = 0; i < n; i++) {
        configs[i] = (QnnDevice_Config_t){ .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom[i] };
        list[i] = &configs[i];
    }
    *ret = list;
    return ST_OK;
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

/* The first contexts of groups. All contexts of the program with the same group_id share a spill-fill buffer. */
static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;
static struct htp_extension *groups;

static struct htp_extension *find_group(uint32_t id)
{
    for (struct htp_extension *e = groups; e; e = e->next)
        if (e->params.context.group_id.value == id)
            return e;
    return NULL;
}

static Qnn_ContextHandle_t first_of_group(uint32_t id)
{
    pthread_mutex_lock(&groups_lock);
    const struct htp_extension *e = find_group(id);
    Qnn_ContextHandle_t first = e ? e->first : NULL;
    pthread_mutex_unlock(&groups_lock);
    return first;
}

static int context_created(void *self, Qnn_ContextHandle_t context)
{
    struct htp_extension *e = self;

    if (!e->params.context.group_id.given)
        return ST_OK;
    pthread_mutex_lock(&groups_lock);
    if (!find_group(e->params.context.group_id.value)) {
        e->first = context;
        e->next = groups;
        groups = e;
    }
    pthread_mutex_unlock(&groups_lock);
    return ST_OK;
}

static void context_freed(void *self)
{
    struct htp_extension *e = self;

    pthread_mutex_lock(&groups_lock);
    for (struct htp_extension **at = &groups; *at; at = &(*at)->next) {
        if (*at != e)
            continue;
        *at = e->next;
        break;
    }
    pthread_mutex_unlock(&groups_lock);
}

static uint32_t context_customs(const struct htp_params *p, int patch_fd, QnnHtpContext_CustomConfig_t c[MAX_CUSTOM])
{
    uint32_t n = 0;
    const struct htp_u32 reused_io = p->context.reused_io_mb.given ? p->context.reused_io_mb : p->group.reused_io_mb;
#define CUSTOM(name, member, from)                                             \
    if (from.given) {                                                          \
        c[n].option = QNN_HTP_CONTEXT_CONFIG_OPTION_##name;                    \
        c[n++].member = from.value;                                            \
    }
    CUSTOM(WEIGHT_SHARING_ENABLED, weightSharingEnabled, p->context.weight_sharing)
    CUSTOM(FILE_READ_MEMORY_BUDGET, fileReadMemoryBudgetInMb, p->context.file_budget_mb)
    CUSTOM(IO_MEM_ESTIMATION, ioMemEstimation, p->context.io_estimation)
    CUSTOM(INIT_ACCELERATION, initAcceleration, p->context.init_acceleration)
    CUSTOM(LORA_WEIGHT_SHARING_ENABLED, loraWeightSharingEnabled, p->context.lora_sharing)
    CUSTOM(LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED, loraWeightSharingRamPreloadEnabled, p->context.lora_preload)
    CUSTOM(USE_EXTENDED_UDMA, useExtendedUdma, p->context.extended_udma)
    CUSTOM(REUSED_IO_LIMIT, reusedIoLimitMb, reused_io)
    CUSTOM(SHARE_RESOURCES, shareResources, p->group.share_resources)
#undef CUSTOM
    if (patch_fd >= 0) {
        c[n].option = QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_PATCH;
        c[n++].concurrentDeserializationPatchFd = patch_fd;
    }
    if (p->context.group_id.given) {
        c[n].option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS;
        c[n].groupRegistration.firstGroupHandle = first_of_group(p->context.group_id.value);
        c[n++].groupRegistration.maxSpillFillBuffer = p->context.spill_fill.value;
    }
    return n;
}

static int context_configs(void *self, const QnnContext_Config_t ***ret)
{
    struct htp_extension *e = self;
    QnnHtpContext_CustomConfig_t *custom = arena_array(&e->arena, QnnHtpContext_CustomConfig_t, MAX_CUSTOM);
    QnnContext_Config_t *configs = arena_array(&e->arena, QnnContext_Config_t, MAX_CUSTOM);
    const QnnContext_Config_t **list = arena_array(&e->arena, const QnnContext_Config_t *, MAX_CUSTOM + 1);
    RETURN_IF(!custom || !configs || !list, ST_NO_MEMORY, "no memory for the settings of a context");
    uint32_t n = context_customs(&e->params, e->patch_fd, custom);
    for (uint32_t i = 0; i < n; i++) {
        configs[i] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom[i] };
        list[i] = &configs[i];
    }
    *ret = list;
    return ST_OK;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static bool is_for(const struct htp_graph_params *p, const char *graph)
{
    const char **names = p->names.items;
    for (size_t i = 0; i < p->names.n; i++)
        if (str_eq(names[i], graph))
            return true;
    return p->names.n == 0;
}

static uint32_t optimizations(const struct htp_graph_params *p, QnnHtpGraph_CustomConfig_t *c)
{
    const struct {
        uint32_t type;
        struct htp_real from;
    } rows[] = { { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, p->level },
                 { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, p->dlbc },
                 { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC_WEIGHTS, p->dlbc_weights },
                 { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SPARSE_WEIGHTS_COMPRESSION, p->sparse_weights },
                 { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR, p->slc } };
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].from.given)
            continue;
        c[n].option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION;
        c[n++].optimizationOption =
            (QnnHtpGraph_OptimizationOption_t){ (QnnHtpGraph_OptimizationType_t)rows[i].type, (float)rows[i].from.value };
    }
    return n;
}

static uint32_t graph_customs(const struct htp_graph_params *p, QnnHtpGraph_CustomConfig_t c[MAX_CUSTOM])
{
    uint32_t n = optimizations(p, c);
#define CUSTOM(name, member, from)                           \
    if (from.given) {                                        \
        c[n].option = QNN_HTP_GRAPH_CONFIG_OPTION_##name;    \
        c[n++].member = from.value;                          \
    }
    CUSTOM(VTCM_SIZE_IN_MB, vtcmSizeInMB, p->vtcm_mb)
    CUSTOM(VTCM_SIZE_IN_BYTES, vtcmSizeInBytes, p->vtcm_bytes)
    CUSTOM(NUM_HVX_THREADS, numHvxThreads, p->hvx_threads)
    CUSTOM(NUM_CORES, numCores, p->cores)
    CUSTOM(WEIGHTS_PACKING, weightsPacking, p->weights_packing)
    CUSTOM(SHORT_DEPTH_CONV_ON_HMX_OFF, shortDepthConvOnHmxOff, p->short_depth_off)
    CUSTOM(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, foldReluActivationIntoConvOff, p->fold_relu_off)
    CUSTOM(HIGH_PRECISION_SIGMOID, highPrecisionSigmoid, p->sigmoid)
    CUSTOM(MONOLITHIC_LSTM, monolithicLstm, p->monolithic_lstm)
    CUSTOM(ADVANCED_ACTIVATION_FUSION, advancedActivationFusion, p->activation_fusion)
#undef CUSTOM
    if (p->finalize.p.given) {
        c[n].option = QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG;
        c[n++].finalizeConfig =
            (QnnHtpGraph_FinalizeConfig_t){ "P", { .dataType = QNN_DATATYPE_UINT_32, .uint32Value = p->finalize.p.value } };
    }
    if (p->float32.given) {
        c[n].option = (QnnHtpGraph_ConfigOption_t)HTP_OPTION_FLOAT32;
        c[n++].foldReluActivationIntoConvOff = p->float32.value; /* any flag */
    }
    if (p->fp16.given) {
        c[n].option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION;
        c[n++].precision = p->fp16.value ? QNN_PRECISION_FLOAT16 : QNN_PRECISION_FLOAT32;
    }
    return n;
}

static int graph_configs(void *self, const char *graph, const QnnGraph_Config_t ***ret)
{
    struct htp_extension *e = self;
    struct htp_graph_params *all = e->params.graphs.items;
    QnnHtpGraph_CustomConfig_t *custom = arena_array(&e->arena, QnnHtpGraph_CustomConfig_t, MAX_CUSTOM);
    QnnGraph_Config_t *configs = arena_array(&e->arena, QnnGraph_Config_t, MAX_CUSTOM);
    const QnnGraph_Config_t **list = arena_array(&e->arena, const QnnGraph_Config_t *, MAX_CUSTOM + 1);
    uint32_t n = 0;
    RETURN_IF(!custom || !configs || !list, ST_NO_MEMORY, "no memory for the settings of graph \"%s\"", graph);
    e->asked = true;
    for (size_t i = 0; i < e->params.graphs.n; i++) {
        if (!is_for(&all[i], graph))
            continue;
        all[i].used = true;
        n = n ? n : graph_customs(&all[i], custom); /* the first that says something of it */
    }
    for (uint32_t i = 0; i < n; i++) {
        configs[i] = (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom[i] };
        list[i] = &configs[i];
    }
    *ret = list;
    return ST_OK;
}

/* ---- power ------------------------------------------------------------------------------------------------------------ */

static int stage(void *self, enum extension_stage stage, bool begins)
{
    struct htp_extension *e = self;
    return htp_voter_stage(&e->voter, stage, begins);
}

/* ---- what programs ask for -------------------------------------------------------------------------------------------- */

static bool shared_io(void *self)
{
    const struct htp_extension *e = self;
    return e->params.memory.given; /* the only type */
}

static const char *profiling_level(void *self)
{
    const struct htp_device_params *d = device_of(self);
    return d ? d->profiling : NULL;
}

extern const struct extension openqnn_extension;
__attribute__((visibility("default"))) const struct extension openqnn_extension = {
    .version = EXTENSION_VERSION,
    .backend_id = QNN_BACKEND_ID_HTP,
    .name = "HTP",
    .open = open_extension,
    .close = close_extension,
    .explain = status_text,
    .device_configs = device_configs,
    .context_configs = context_configs,
    .context_created = context_created,
    .graph_configs = graph_configs,
    .context_freed = context_freed,
    .stage = stage,
    .shared_io = shared_io,
    .profiling_level = profiling_level,
};

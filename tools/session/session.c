/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: libraries, handles, context, graphs; see session.h. */
#include "session/session.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_kind.h"
#include "base/str.h"
#include "common/tensor_text.h"
#include "common/tool_log.h"
#include "session/session_private.h"

static void log_callback(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)timestamp;
    tool_vlog((enum tool_level)level, fmt, args);
}

enum status session_need_system(struct session *s, const char *why)
{
    if (s->system.library)
        return ST_OK;
    enum status st = library_open_system(s->opt.system_library, s->opt.backend, &s->system);
    return st == ST_OK ? st : status_prefix(st, "%s needs libQnnSystem.so", why);
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static enum status read_config(struct session *s)
{
    if (s->opt.preset)
        s->config = *s->opt.preset;
    if (s->opt.config_file)
        TRY(session_config_read(s->opt.config_file, &s->config, &s->arena));
    return s->opt.output_tensors ? tool_split_names(s->opt.output_tensors, &s->arena, &s->extra_outputs) : ST_OK;
}

/* A file of the current folder is meant like one of --model: with its path, so that it is found there, too. */
static const char *package_path(struct session *s, const char *name)
{
    char found[PATH_MAX];

    if (strchr(name, '/') || !realpath(name, found))
        return name;
    const char *path = arena_printf(&s->arena, "%s", found);
    return path ? path : name;
}

static enum status register_packages(struct session *s)
{
    for (size_t i = 0; i < s->opt.op_packages.n; i++) {
        struct opt_list parts;
        TRY(tool_split(s->opt.op_packages.items[i], ':', &s->arena, &parts));
        RETURN_IF(parts.n < 2 || parts.n > 3, ST_INVALID_ARG,
                  "--op_packages \"%s\": the form is path:provider or path:provider:target", s->opt.op_packages.items[i]);
        const char *path = package_path(s, parts.items[0]);
        Qnn_ErrorHandle_t error = s->backend.api.backendRegisterOpPackage(s->handle, path, parts.items[1],
                                                                          parts.n == 3 ? parts.items[2] : NULL);
        if (error != QNN_SUCCESS)
            return library_fail(&s->backend.api, error, "op package \"%s\"", s->opt.op_packages.items[i]);
        tool_log(TOOL_INFO, "op package \"%s\" is registered", parts.items[0]);
    }
    return ST_OK;
}

static enum status create_device(struct session *s)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    Qnn_ErrorHandle_t can =
        api->propertyHasCapability ? api->propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE) : QNN_PROPERTY_NOT_SUPPORTED;
    if (QNN_GET_ERROR_CODE(can) == QNN_PROPERTY_NOT_SUPPORTED || !api->deviceCreate)
        return ST_OK;
    const QnnDevice_Config_t **configs;
    TRY(extension_device_configs(s, &configs));
    Qnn_ErrorHandle_t error = api->deviceCreate(s->log, configs, &s->device);
    if (error == QNN_SUCCESS || QNN_GET_ERROR_CODE(error) == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE)
        return ST_OK;
    return library_fail(api, error, "Device Creation failure");
}

static enum status open_backend(struct session *s)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    uint64_t start = clock_ns();
    enum status st = library_open_backend(s->opt.backend, &s->backend);
    if (st != ST_OK)
        return status_prefix(st, "Could not load backend");
    uint64_t stop = clock_ns();
    const QnnBackend_Config_t **configs;
    TRY(extension_open(s));
    TRY(extension_backend_configs(s, &configs));
    Qnn_ErrorHandle_t error = api->logCreate(log_callback, (QnnLog_Level_t)tool_log_max(), &s->log);
    if (error != QNN_SUCCESS)
        tool_log(TOOL_WARN, "the backend offers no log: error %" PRIu64, QNN_GET_ERROR_CODE(error));
    error = api->backendCreate(s->log, configs, &s->handle);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the backend could not be initialized");
    TRY(extension_backend_created(s));
    const char *build_id = "";
    api->backendGetBuildId(&build_id);
    Qnn_Version_t core = s->backend.version.coreApiVersion, own = s->backend.version.backendApiVersion;
    tool_log(TOOL_INFO, "backend \"%s\": %s, id %u, build %s, core API %u.%u.%u, backend API %u.%u.%u", s->opt.backend,
             s->backend.provider, s->backend.id, build_id, core.major, core.minor, core.patch, own.major, own.minor,
             own.patch);
    TRY(register_packages(s));
    TRY(create_device(s));
    TRY(extension_device_created(s));
    TRY(memory_open(s));
    TRY(session_new_profile(s, &s->profile));
    TRY(session_open_profile_log(s));
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_BACKEND_LIB_LOAD,
                                 .start_ns = start,
                                 .stop_ns = stop };
    return session_measured(s, &m);
}

enum status session_open(struct session *s, const struct session_options *opt)
{
    memset(s, 0, sizeof(*s));
    s->opt = *opt;
    arena_init(&s->arena);
    if (!s->opt.output_dir)
        s->opt.output_dir = "./output";
    if (opt->log_level_given)
        tool_log_level((enum tool_level)tool_level_of(opt->log_level));
    TRY(read_config(s));
    TRY(open_backend(s));
    TRY(config_for_context(s));
    TRY(extension_context_configs(s));
    return session_stage(s, EXTENSION_INIT, true);
}

static enum status end_init(struct session *s)
{
    TRY(buffers_open(s));
    TRY(extension_graphs_loaded(s));
    return session_stage(s, EXTENSION_INIT, false);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

enum status session_compose(struct session *s)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_CONTEXT_CREATE, .start_ns = clock_ns() };
    Qnn_ErrorHandle_t error = api->contextCreate(s->handle, s->device, s->context_configs, &s->context);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the context could not be created");
    m.stop_ns = clock_ns();
    TRY(extension_context_created(s));
    TRY(session_measured(s, &m));
    m = (struct session_measure){ .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_COMPOSE_GRAPHS, .start_ns = clock_ns() };
    TRY(compose_models(s));
    m.stop_ns = clock_ns();
    return session_measured(s, &m);
}

enum status session_finalize(struct session *s)
{
    for (size_t i = 0; i < s->graphs.n; i++) {
        struct session_graph *g = &s->graphs.at[i];
        struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE,
                                     .graph = g->name,
                                     .profile = s->profile };
        tool_progress("Finalizing graph", i, s->graphs.n);
        m.start_ns = clock_ns();
        Qnn_ErrorHandle_t error = s->backend.api.graphFinalize(g->handle, s->profile, NULL);
        m.stop_ns = clock_ns();
        if (error != QNN_SUCCESS)
            return library_fail(&s->backend.api, error, "Graph Finalize failure: graph %zu \"%s\"", i, g->name);
        TRY(session_measured(s, &m));
        tool_log(TOOL_INFO, "graph \"%s\" finalized in %.1f ms", g->name, (double)(m.stop_ns - m.start_ns) / 1e6);
    }
    tool_progress("Finalizing graph", 1, 1);
    return end_init(s);
}

enum status session_save(struct session *s, const char *path)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    Qnn_ErrorHandle_t error = api->contextGetBinarySize(s->context, &size);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the size of the context binary");
    CLEANUP(mem_freep) void *data = mem_alloc((size_t)size);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for a context binary of %" PRIu64 " bytes", size);
    error = api->contextGetBinary(s->context, data, size, &written);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the context binary");
    RETURN_IF(written > size, ST_INTERNAL, "the backend wrote %" PRIu64 " bytes into a buffer of %" PRIu64, written, size);
    TRY(tool_file_write(path, data, (size_t)written));
    tool_log(TOOL_INFO, "wrote %" PRIu64 " bytes to \"%s\"", written, path);
    return ST_OK;
}

/* ---- binaries -------------------------------------------------------------------------------------------------------- */

static void free_binary(struct session *s)
{
    if (s->model)
        s->extension.table->free(s->extension.self, s->model);
    else
        tool_file_free(&s->binary);
    s->model = NULL;
    s->binary = (struct tool_file){ 0 };
}

/* The extension library may have a place for models; else the file is read or mapped. */
static enum status place_binary(struct session *s, const char *path, bool map)
{
    uint64_t size;
    TRY(tool_file_size(path, &size));
    enum status st = extension_model_memory(s, (size_t)size, &s->model);
    if (st != ST_OK)
        return status_prefix(st, "no memory for the context binary \"%s\" of %" PRIu64 " bytes", path, size);
    if (!s->model)
        return map ? tool_file_map(path, &s->binary) : tool_file_read(path, &s->binary);
    if (map)
        tool_log(TOOL_WARN, "--use_mmap has no effect: the extension library of the backend says where models are");
    s->binary = (struct tool_file){ .data = s->model, .size = (size_t)size };
    return tool_file_read_at(path, 0, s->model, (size_t)size);
}

static enum status read_binary(struct session *s, const char *path, bool map)
{
    TRY(place_binary(s, path, map));
    enum status st = ST_OK;
    if (file_kind_of(s->binary.data, s->binary.size) != FILE_CONTEXT_BINARY)
        st = status_fail(ST_INVALID_ARG,
                         "the file is not a context binary of openqnn; binaries made by the vendor's tools have another "
                         "format: prepare the model again with qnn-context-binary-generator");
    st = file_kind_explain(st, s->binary.data, s->binary.size, FILE_CONTEXT_BINARY, "a context binary");
    return st == ST_OK ? st : status_prefix(st, "\"%s\"", path);
}

enum status session_validate(struct session *s, const char *path, bool map)
{
    TRY(read_binary(s, path, map));
    Qnn_ErrorHandle_t error =
        s->backend.api.contextValidateBinary(s->handle, s->device, s->context_configs, s->binary.data, s->binary.size);
    return error == QNN_SUCCESS ? ST_OK : library_fail(&s->backend.api, error, "context binary \"%s\" is refused", path);
}

static enum status describe_binary(struct session *s, const char *path, const QnnSystemContext_GraphInfo_t **graphs,
                                   uint32_t *n)
{
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    TRY(session_need_system(s, "--retrieve_context"));
    Qnn_ErrorHandle_t error = s->system.api.systemContextCreate(&s->reader);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error, "libQnnSystem.so: systemContextCreate");
    error = s->system.api.systemContextGetBinaryInfo(s->reader, s->binary.data, s->binary.size, &info, &info_size);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error, "\"%s\" (%zu bytes) could not be read as a context binary", path, s->binary.size);
    bool third = info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3;
    uint32_t backend = third ? info->contextBinaryInfoV3.backendId : info->contextBinaryInfoV1.backendId;
    RETURN_IF(backend != s->backend.id, ST_BINARY_CONFIG, "\"%s\" was built for the backend with id %u; \"%s\" has id %u",
              path, backend, s->opt.backend, s->backend.id);
    *graphs = third ? info->contextBinaryInfoV3.graphs : info->contextBinaryInfoV1.graphs;
    *n = third ? info->contextBinaryInfoV3.numGraphs : info->contextBinaryInfoV1.numGraphs;
    return ST_OK;
}

/* With enable_graphs only those can be retrieved. */
static bool enabled(const struct session *s, const char *name)
{
    const struct json_list *only = &s->config.context.enable_graphs;
    for (size_t i = 0; i < only->n; i++) {
        if (str_eq(((const char *const *)only->items)[i], name))
            return true;
    }
    return only->n == 0;
}

static enum status retrieve_graph(struct session *s, const QnnSystemContext_GraphInfo_t *info)
{
    const QnnSystemContext_GraphInfoV1_t *g = &info->graphInfoV1; /* all versions begin alike */
    if (!enabled(s, g->graphName))
        return ST_OK;
    struct session_graph *to = vec_push(&s->graphs);
    RETURN_IF(!to, ST_NO_MEMORY, "graph");
    *to = (struct session_graph){ .name = g->graphName,
                                  .inputs = g->graphInputs,
                                  .n_inputs = g->numGraphInputs,
                                  .outputs = g->graphOutputs,
                                  .n_outputs = g->numGraphOutputs,
                                  .config = config_of_graph(s, g->graphName) };
    Qnn_ErrorHandle_t error = s->backend.api.graphRetrieve(s->context, g->graphName, &to->handle);
    return error == QNN_SUCCESS ? ST_OK
                                : library_fail(&s->backend.api, error, "graph \"%s\" could not be retrieved", g->graphName);
}

enum status session_retrieve(struct session *s, const char *path, bool map)
{
    const QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 0;
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY,
                                 .profile = s->profile };
    /* Graphs that are loaded again and again should come from a file: from memory they would be copied each time. */
    bool switches = s->config.context.persistent && s->config.context.memory_limit;
    TRY(read_binary(s, path, map || switches));
    TRY(describe_binary(s, path, &graphs, &n));
    m.start_ns = clock_ns();
    Qnn_ErrorHandle_t error = s->backend.api.contextCreateFromBinary(
        s->handle, s->device, s->context_configs, s->binary.data, s->binary.size, &s->context, s->profile);
    m.stop_ns = clock_ns();
    if (error != QNN_SUCCESS)
        return library_fail(&s->backend.api, error, "no context could be created from \"%s\"", path);
    TRY(extension_context_created(s));
    TRY(session_measured(s, &m));
    for (uint32_t i = 0; i < n; i++)
        TRY(retrieve_graph(s, &graphs[i]));
    RETURN_IF(!s->graphs.n, ST_NOT_FOUND, "\"%s\" has no graph that can be used; see context_configs/enable_graphs", path);
    /* Kept until the end when the client promised so; the backend has its own copy otherwise. */
    if (!s->config.context.persistent)
        free_binary(s);
    return end_init(s);
}

enum status session_update(struct session *s, const char *path)
{
    struct tool_file f = { 0 };
    TRY(tool_file_read(path, &f));
    QnnContext_Buffer_t buffer = { .version = QNN_CONTEXT_BUFFER_VERSION_1,
                                   .v1 = { .memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = { f.data, f.size } } };
    bool whole = s->backend.api.propertyHasCapability(QNN_PROPERTY_CONTEXT_SUPPORT_BINARY_SECTION_FULL_CONTEXT) ==
                 QNN_PROPERTY_SUPPORTED; /* all graphs that the file has something for, at once */
    Qnn_ErrorHandle_t error = QNN_SUCCESS;
    for (size_t i = 0; i < (whole ? 1 : s->graphs.n) && error == QNN_SUCCESS; i++)
        error = s->backend.api.contextApplyBinarySection(s->context, whole ? NULL : s->graphs.at[i].handle,
                                                         QNN_CONTEXT_SECTION_UPDATABLE, &buffer, s->profile, NULL);
    enum status st = error == QNN_SUCCESS ? ST_OK : library_fail(&s->backend.api, error, "--binary_updates \"%s\"", path);
    tool_file_free(&f);
    return st;
}

/* ---- the end --------------------------------------------------------------------------------------------------------- */

void session_describe(const struct session *s)
{
    if (tool_log_max() < TOOL_INFO)
        return;
    for (size_t i = 0; i < s->graphs.n; i++) {
        const struct session_graph *g = &s->graphs.at[i];
        tool_log(TOOL_INFO, "graph %zu \"%s\": %u inputs, %u outputs", i, g->name, g->n_inputs, g->n_outputs);
        for (uint32_t t = 0; t < g->n_inputs + g->n_outputs; t++) {
            bool in = t < g->n_inputs;
            CLEANUP(str_finish) struct str text;
            str_init(&text);
            tensor_describe(in ? &g->inputs[t] : &g->outputs[t - g->n_inputs], &text);
            tool_log(TOOL_INFO, "    %s %s", in ? "input " : "output", str_text(&text));
        }
    }
}

static void stage_deinit(struct session *s, bool begins)
{
    if (session_stage(s, EXTENSION_DEINIT, begins) != ST_OK)
        tool_log(TOOL_WARN, "%s", status_text());
}

static void free_context(struct session *s)
{
    stage_deinit(s, true);
    buffers_close(s);
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_DEINIT,
                                 .profile = s->profile,
                                 .start_ns = clock_ns() };
    Qnn_ErrorHandle_t error = s->backend.api.contextFree(s->context, s->profile);
    m.stop_ns = clock_ns();
    if (error != QNN_SUCCESS)
        tool_log(TOOL_WARN, "the context could not be freed: error %" PRIu64, QNN_GET_ERROR_CODE(error));
    if (session_measured(s, &m) != ST_OK)
        tool_log(TOOL_WARN, "%s", status_text());
    extension_context_freed(s);
    stage_deinit(s, false);
}

void session_close(struct session *s)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    for (size_t i = 0; i < s->models.n; i++) {
        if (s->models.at[i].infos)
            s->models.at[i].free_infos(&s->models.at[i].infos, s->models.at[i].n);
    }
    if (s->context)
        free_context(s);
    free_binary(s);
    for (size_t i = 0; i < s->dlcs.n; i++) {
        free(s->dlcs.at[i].infos);
        if (s->dlcs.at[i].handle)
            s->system.api.systemDlcFree(s->dlcs.at[i].handle);
    }
    if (s->profile_log)
        s->system.api.systemProfileFreeSerializationTarget(s->profile_log);
    if (s->reader)
        s->system.api.systemContextFree(s->reader);
    if (s->profile)
        api->profileFree(s->profile);
    extension_close(s);
    if (s->device)
        api->deviceFree(s->device);
    if (s->handle)
        api->backendFree(s->handle);
    if (s->log)
        api->logFree(s->log);
    for (size_t i = 0; i < s->models.n; i++)
        library_close(s->models.at[i].library);
    memory_close(s);
    library_close(s->system.library);
    library_close(s->backend.library);
    vec_finish(&s->models);
    vec_finish(&s->dlcs);
    vec_finish(&s->graphs);
    arena_finish(&s->arena);
}

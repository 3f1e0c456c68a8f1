/* SPDX-License-Identifier: Apache-2.0 */
/* The program's side of backend extensions: which library, when it is asked, and how its answers are joined with the
 * program's own settings; see common/tool_extension.h. */
#include <errno.h>
#include <string.h>

#include "QNN/LPAI/QnnLpaiCommon.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/tool_log.h"
#include "session/session_private.h"

/* Backends whose graphs cannot be executed without their extension library, which is therefore opened when none is named. */
static const struct {
    uint32_t backend_id;
    const char *library;
} defaults[] = {
    { QNN_BACKEND_ID_LPAI, "libQnnLpaiNetRunExtensions.so" }, /* pools */
};

static void log_line(QnnLog_Level_t level, const char *text)
{
    tool_log((enum tool_level)level, "%s", text);
}

/* The library keeps the sentence of its failure in memory of its own. */
static enum status answer(const struct session *s, int failed)
{
    if (!failed)
        return ST_OK;
    const char *why = s->extension.table->explain();
    return status_fail(ST_INVALID_CONFIG, "%s", why && *why ? why : "the extension library failed and does not say why");
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static const char *default_library(const struct session *s)
{
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        if (defaults[i].backend_id == s->backend.id)
            return defaults[i].library;
    }
    return NULL;
}

static enum status open_library(struct session *s)
{
    const char *named = s->config.extensions.library, *name = named ? named : default_library(s);
    RETURN_IF(
        !name && s->config.extensions.config, ST_INVALID_CONFIG,
        "backend_extensions/config_file_path \"%s\" needs backend_extensions/shared_library_path, the library that reads it",
        s->config.extensions.config);
    if (!name)
        return ST_OK;
    s->extension.path = name;
    enum status st = named ? library_open(named, &s->extension.library)
                           : library_open_beside(name, s->opt.backend, &s->extension.library);
    if (st == ST_OK || (!named && !s->config.extensions.config && !s->opt.executes))
        return ST_OK; /* who only prepares graphs with the defaults does without */
    if (named)
        return status_prefix(st, "backend_extensions/shared_library_path (such a library carries the settings of one "
                                 "backend; the CPU backend has none, "
                                 "remove the section)");
    return status_prefix(st, "graphs of this backend are executed with the help of its extension library");
}

static enum status check_table(const struct session *s)
{
    const struct extension *t = s->extension.table;
    RETURN_IF(t->version != EXTENSION_VERSION, ST_NOT_SUPPORTED,
              "extension library \"%s\" has interface version %u; this program has %d: use the library of the same build",
              s->extension.path, t->version, EXTENSION_VERSION);
    RETURN_IF(t->backend_id != s->backend.id, ST_INVALID_CONFIG,
              "extension library \"%s\" is for the backend with id %u (%s); \"%s\" has id %u: name the library of that "
              "backend, or remove the section",
              s->extension.path, t->backend_id, t->name, s->opt.backend, s->backend.id);
    return ST_OK;
}

static void take_profiling_level(struct session *s)
{
    const struct extension *t = s->extension.table;
    const char *level = t->profiling_level ? t->profiling_level(s->extension.self) : NULL;
    bool asked = !s->opt.profiling_given || s->opt.profiling == PROFILING_BACKEND; /* "backend": as its settings say */
    for (uint32_t i = 0; level && asked && session_profiling_levels[i]; i++) {
        if (str_eq(level, session_profiling_levels[i]))
            s->opt.profiling = i;
    }
}

enum status extension_open(struct session *s)
{
    struct session_extension *e = &s->extension;
    void *symbol;
    TRY(open_library(s));
    if (!e->library)
        return ST_OK;
    if (library_symbol(e->library, e->path, EXTENSION_SYMBOL, &symbol) != ST_OK)
        return status_prefix(ST_INVALID_ARG, "\"%s\" is no extension library of this project", e->path);
    const struct extension *t = symbol;
    e->table = t;
    e->host = (struct extension_host){ .program = program_invocation_short_name,
                                       .config_path = s->config.extensions.config,
                                       .direct_mode = s->opt.direct_mode,
                                       .perf_profile = s->opt.perf_profile,
                                       .executes = s->opt.executes,
                                       .api = &s->backend.api,
                                       .log = log_line };
    enum status st = check_table(s);
    if (st == ST_OK)
        st = answer(s, t->open(&e->host, &e->self));
    if (st != ST_OK) {
        e->table = NULL;
        return st;
    }
    tool_log(TOOL_INFO, "extension library \"%s\" for %s, settings of %s", e->path, t->name,
             e->host.config_path ? e->host.config_path : "its defaults");
    take_profiling_level(s);
    return ST_OK;
}

void extension_close(struct session *s)
{
    if (s->extension.table)
        s->extension.table->close(s->extension.self);
    library_close(s->extension.library);
    s->extension = (struct session_extension){ 0 };
}

/* ---- settings -------------------------------------------------------------------------------------------------------- */

/* Asks for a list when the library has the function. */
#define ASK(s, function, ...)                                                            \
    ((s)->extension.table && (s)->extension.table->function                              \
         ? answer(s, (s)->extension.table->function((s)->extension.self, ##__VA_ARGS__)) \
         : ST_OK)

enum status extension_backend_created(struct session *s)
{
    return ASK(s, backend_created, s->handle);
}

enum status extension_device_configs(struct session *s, const QnnDevice_Config_t ***ret)
{
    *ret = NULL;
    return ASK(s, device_configs, ret);
}

enum status extension_device_created(struct session *s)
{
    return ASK(s, device_created, s->device);
}

static size_t list_length(const void *list)
{
    const void *const *l = list;
    size_t n = 0;
    while (l && l[n])
        n++;
    return n;
}

/* Two NULL-terminated lists of pointers in one block. */
static void join(void *to, const void *a, const void *b)
{
    size_t na = list_length(a), nb = list_length(b);
    const void **t = to;
    for (size_t i = 0; i < na; i++)
        t[i] = ((const void *const *)a)[i];
    for (size_t i = 0; i < nb; i++)
        t[na + i] = ((const void *const *)b)[i];
    t[na + nb] = NULL;
}

enum status extension_backend_configs(struct session *s, const QnnBackend_Config_t ***ret)
{
    *ret = NULL;
    TRY(ASK(s, backend_configs, ret));
    if (!s->opt.platform_option)
        return ST_OK;
    QnnBackend_Config_t *own = arena_new(&s->arena, QnnBackend_Config_t);
    const QnnBackend_Config_t **all = arena_array(&s->arena, const QnnBackend_Config_t *, list_length(*ret) + 2);
    RETURN_IF(!own || !all, ST_NO_MEMORY, "backend settings");
    *own = (QnnBackend_Config_t){ .option = QNN_BACKEND_CONFIG_OPTION_PLATFORM, .platformOption = s->opt.platform_option };
    join(all, *ret, (const QnnBackend_Config_t *[]){ own, NULL });
    *ret = all;
    return ST_OK;
}

enum status extension_context_configs(struct session *s)
{
    const QnnContext_Config_t **more = NULL, **all;
    TRY(ASK(s, context_configs, &more));
    if (!list_length(more))
        return ST_OK;
    all = arena_array(&s->arena, const QnnContext_Config_t *, list_length(s->context_configs) + list_length(more) + 1);
    RETURN_IF(!all, ST_NO_MEMORY, "context settings");
    join(all, s->context_configs, more);
    s->context_configs = all;
    return ST_OK;
}

enum status extension_context_created(struct session *s)
{
    return ASK(s, context_created, s->context);
}

enum status extension_graph_configs(struct session *s, const char *graph, const QnnGraph_Config_t **own,
                                    const QnnGraph_Config_t ***ret)
{
    const QnnGraph_Config_t **more = NULL;
    TRY(ASK(s, graph_configs, graph, &more));
    *ret = mem_array(const QnnGraph_Config_t *, list_length(own) + list_length(more) + 1);
    RETURN_IF(!*ret, ST_NO_MEMORY, "settings of graph \"%s\"", graph);
    join(*ret, own, more);
    return ST_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

static enum status finalize_loaded(struct session *s, const struct session_graph *g)
{
    struct session_measure m = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE,
                                 .graph = g->name,
                                 .profile = s->profile };
    m.start_ns = clock_ns();
    Qnn_ErrorHandle_t error = s->backend.api.graphFinalize(g->handle, s->profile, NULL);
    m.stop_ns = clock_ns();
    if (error != QNN_SUCCESS)
        return library_fail(&s->backend.api, error,
                            "Graph Finalize failure: graph \"%s\" with the memory of its extension library", g->name);
    return session_measured(s, &m);
}

enum status extension_graphs_loaded(struct session *s)
{
    for (size_t i = 0; i < s->graphs.n && s->opt.executes; i++) {
        const struct session_graph *g = &s->graphs.at[i];
        bool finalize = false;
        enum status st = ASK(s, graph_loaded, g->name, g->handle, &finalize);
        if (st != ST_OK)
            return status_prefix(st, "graph \"%s\"", g->name);
        if (finalize)
            TRY(finalize_loaded(s, g));
    }
    return ST_OK;
}

enum status session_before_execute(struct session *s, const struct session_graph *g)
{
    return ASK(s, before_execute, g->handle);
}

enum status session_after_execute(struct session *s, const struct session_graph *g)
{
    return ASK(s, after_execute, g->handle);
}

enum status session_stage(struct session *s, enum extension_stage stage, bool begins)
{
    return s->opt.executes ? ASK(s, stage, stage, begins) : ST_OK;
}

void extension_context_freed(struct session *s)
{
    if (s->extension.table && s->extension.table->context_freed)
        s->extension.table->context_freed(s->extension.self);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static bool gives_memory(const struct session *s)
{
    return s->extension.table && s->extension.table->alloc;
}

enum status extension_model_memory(struct session *s, size_t bytes, void **ret)
{
    *ret = NULL;
    return ASK(s, alloc, EXTENSION_MODEL, bytes, ret);
}

enum status extension_io_memory(struct session *s, size_t bytes, void **ret)
{
    *ret = NULL;
    return ASK(s, alloc, EXTENSION_IO, bytes, ret);
}

bool extension_free_memory(struct session *s, void *memory)
{
    if (!gives_memory(s))
        return false;
    s->extension.table->free(s->extension.self, memory);
    return true;
}

bool extension_shares_io(const struct session *s)
{
    const struct extension *t = s->extension.table;
    return t && t->shared_io && t->shared_io(s->extension.self);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: a session for a backend, a context and a model; see throughput.h. */
#include <string.h>

#include "base/str.h"
#include "common/tensor_text.h"
#include "throughput_net_run/throughput.h"

static bool is_dlc(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && str_eq(path + n - 4, ".dlc");
}

/* The settings of a context and its extension library as a configuration file of the other programs would have them. */
static struct session_config preset_of(const struct tp_thread_config *c)
{
    struct session_config preset = { 0 };
    preset.extensions.library = c->backend->extensions;
    preset.extensions.config = c->backend_config;
    preset.context.has_persistent = preset.context.persistent = c->context->persistent;
    preset.context.memory_limit = c->context->memory_limit;
    preset.context.has_memory_limit = c->context->memory_limit != 0;
    preset.context.enable_graphs = c->context->enable_graphs;
    preset.context.retained = c->context->retained;
    preset.context.has_priority = c->context->priority != 0;
    preset.context.priority = preset.context.has_priority ? c->context->priority - 1 : 0;
    return preset;
}

static enum status options_of(struct tp_target *t, struct session_options *ret)
{
    const struct tp_thread_config *c = t->config;
    const struct tp_model *m = c->model;
    *ret = (struct session_options){
        .backend = c->backend->path,
        .platform_option = c->backend->platform_option,
        .perf_profile = c->backend->has_perf_profile ? session_perf_profiles[c->backend->perf_profile] : NULL,
        .profiling = c->backend->profiling,
        .profiling_given = c->backend->profiling != PROFILING_OFF,
        .executes = true,
        .preset = &t->preset,
    };
    ret->output_dir = arena_printf(&t->arena, "%s/%s", m->output_path ? m->output_path : "output", c->name);
    RETURN_IF(!ret->output_dir, ST_NO_MEMORY, "output folder");
    if (c->backend->op_packages)
        TRY(tool_split(c->backend->op_packages, ',', &t->arena, &ret->op_packages));
    return m->cached ? ST_OK : tool_split(m->path, ',', &t->arena, is_dlc(m->path) ? &ret->dlcs : &ret->models);
}

static enum status open_graphs(struct tp_target *t)
{
    if (t->config->model->cached)
        return session_retrieve(&t->session, t->config->model->path, false);
    TRY(session_compose(&t->session));
    return session_finalize(&t->session);
}

enum status tp_target_open(struct tp_target *t, const struct tp_thread_config *c)
{
    struct session_options options;
    memset(t, 0, sizeof(*t));
    arena_init(&t->arena);
    t->config = c;
    t->preset = preset_of(c);
    TRY(options_of(t, &options));
    enum status st = session_open(&t->session, &options);
    if (st == ST_OK)
        st = open_graphs(t);
    return st == ST_OK ? st : status_prefix(st, "thread \"%s\", model \"%s\"", c->name, c->model->name);
}

void tp_target_close(struct tp_target *t)
{
    session_close(&t->session);
    arena_finish(&t->arena);
}

bool tp_target_serves(const struct tp_target *t, const struct tp_thread_config *c)
{
    return t->config->backend == c->backend && t->config->context == c->context && t->config->model == c->model &&
           str_eq(t->config->backend_config, c->backend_config);
}

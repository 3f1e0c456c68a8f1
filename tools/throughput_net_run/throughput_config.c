/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: a row per key, and what the names of threads mean; see throughput.h. */
#include <string.h>

#include "base/str.h"
#include "throughput_net_run/throughput.h"

#define B(member) offsetof(struct tp_backend, member)
#define M(member) offsetof(struct tp_model, member)
#define X(member) offsetof(struct tp_context, member)
#define T(member) offsetof(struct tp_thread_config, member)
#define P(member) offsetof(struct tp_config, member)
#define IN_TEST(member) (P(test.member) - P(test))

static const char *const profiling_levels[] = { "OFF", "BASIC", "DETAILED", NULL }; /* in the order of the session's */
static const char *const input_types[] = { "NATIVE", "FLOAT", NULL };
static const char *const posts[] = { "NONE", "MSE", "MSE_FLOAT32", "MSE_INT8", "MSE_INT16", NULL };
static const char *const output_types[] = { "NATIVE_ONLY", "FLOAT_ONLY", "FLOAT_AND_NATIVE", NULL };
static const char *const saves[] = { "NONE", "NATIVE_LAST", "NATIVE_ALL", NULL };
static const char *const priorities[] = { "DEFAULT", "LOW", "NORMAL", "NORMAL_HIGH", "HIGH", NULL };
static const char *const loop_units[] = { "count", "second", NULL };

static const struct json_field backend_fields[] = {
    { "backendName", JSON_STRING, .offset = B(name), .required = true },
    { "backendPath", JSON_STRING, B(path), .required = true },
    { "profilingLevel", JSON_ENUM, B(profiling), .names = profiling_levels },
    { "backendExtensions", JSON_STRING, .offset = B(extensions) },
    { "perfProfile", JSON_ENUM, B(perf_profile), .names = session_perf_profiles, .seen = B(has_perf_profile) },
    { "opPackagePath", JSON_STRING, .offset = B(op_packages) },
    { "platformOption", JSON_STRING, .offset = B(platform_option) },
    {}
};
static const struct json_field model_fields[] = {
    { "modelName", JSON_STRING, .offset = M(name), .required = true },
    { "modelPath", JSON_STRING, M(path), .required = true },
    { "loadFromCachedBinary", JSON_BOOL, .offset = M(cached) },
    { "inputPath", JSON_STRING, .offset = M(input_path) },
    { "inputDataType", JSON_ENUM, M(input_type), .names = input_types },
    { "postProcessor", JSON_ENUM, M(post), .names = posts },
    { "outputPath", JSON_STRING, .offset = M(output_path) },
    { "outputDataType", JSON_ENUM, M(output_type), .names = output_types },
    { "saveOutput", JSON_ENUM, M(save), .names = saves },
    { "groundTruthPath", JSON_STRING, .offset = M(golden_path) },
    {}
};
static const struct json_field context_fields[] = { { "contextName", JSON_STRING, .offset = X(name), .required = true },
                                                    { "priority", JSON_ENUM, X(priority), .names = priorities },
                                                    { "is_persistent_binary", JSON_BOOL, .offset = X(persistent) },
                                                    { "memory_limit_hint", JSON_I64, X(memory_limit), .max = INT64_MAX },
                                                    { "enable_graphs", JSON_STRINGS, .offset = X(enable_graphs) },
                                                    { "graph_retention_order", JSON_STRINGS, .offset = X(retained) },
                                                    {} };
static const struct json_field thread_fields[] = {
    { "threadName", JSON_STRING, .offset = T(name), .required = true },
    { "backend", JSON_STRING, T(backend_name), .required = true },
    { "context", JSON_STRING, T(context_name), .required = true },
    { "model", JSON_STRING, T(model_name), .required = true },
    { "backendConfig", JSON_STRING, .offset = T(backend_config) },
    { "initModelInLoop", JSON_BOOL, .offset = T(init_in_loop) },
    { "loadInputDataInLoop", JSON_BOOL, .offset = T(load_in_loop) },
    { "useRandomData", JSON_BOOL, .offset = T(random) },
    { "executeAsynchronous", JSON_BOOL, .offset = T(async) },
    { "interval", JSON_U32, .offset = T(interval_us) },
    { "loopUnit", JSON_ENUM, T(loop_unit), .names = loop_units },
    { "loop", JSON_U32, T(loop), .min = 1 },
    {}
};
static const struct json_field test_fields[] = { { "iteration", JSON_I64, IN_TEST(iteration), .required = true },
                                                 { "logLevel", JSON_ENUM, IN_TEST(log_level), .names = tool_log_levels,
                                                   .seen = IN_TEST(has_log_level) },
                                                 { "threads", JSON_LIST, IN_TEST(threads), .sub = thread_fields,
                                                   .item_size = sizeof(struct tp_thread_config), .required = true },
                                                 {} };
static const struct json_field fields[] = {
    { "backends", JSON_LIST, P(backends), .sub = backend_fields, .item_size = sizeof(struct tp_backend), .required = true },
    { "models", JSON_LIST, P(models), .sub = model_fields, .item_size = sizeof(struct tp_model), .required = true },
    { "contexts", JSON_LIST, P(contexts), .sub = context_fields, .item_size = sizeof(struct tp_context), .required = true },
    { "testCase", JSON_OBJECT, P(test), .sub = test_fields, .required = true },
    {}
};

/* The item whose first member, its name, is `name`; says which there are. */
static enum status find(const struct json_list *l, size_t size, const char *kind, const char *name,
                        const struct tp_thread_config *t, const void **ret)
{
    CLEANUP(str_finish) struct str known;
    str_init(&known);
    for (size_t i = 0; i < l->n; i++) {
        const void *item = (const char *)l->items + i * size;
        const char *its;
        memcpy(&its, item, sizeof(its));
        if (str_eq(its, name)) {
            *ret = item;
            return ST_OK;
        }
        str_addf(&known, "%s\"%s\"", i ? ", " : "", its);
    }
    return status_fail(ST_NOT_FOUND, "thread \"%s\" names %s \"%s\", but the file has: %s", t->name, kind, name,
                       l->n ? str_text(&known) : "none");
}

static enum status check_model(const struct tp_model *m)
{
    size_t n = strlen(m->path);
    RETURN_IF(!m->cached && n > 4 && str_eq(m->path + n - 4, ".bin"), ST_INVALID_CONFIG,
              "model \"%s\" is \"%s\", a context binary by its name; add \"loadFromCachedBinary\": true", m->name, m->path);
    RETURN_IF(
        m->golden_path && m->post == POST_NONE, ST_INVALID_CONFIG,
        "model \"%s\" has a groundTruthPath, but no postProcessor that compares with it; add \"postProcessor\": \"MSE\"",
        m->name);
    return ST_OK;
}

static enum status check_thread(const struct tp_config *c, struct tp_thread_config *t)
{
    const void *backend, *context, *model;
    TRY(find(&c->backends, sizeof(struct tp_backend), "backend", t->backend_name, t, &backend));
    TRY(find(&c->contexts, sizeof(struct tp_context), "context", t->context_name, t, &context));
    TRY(find(&c->models, sizeof(struct tp_model), "model", t->model_name, t, &model));
    t->backend = backend;
    t->context = context;
    t->model = model;
    t->loop = t->loop ? t->loop : 1;
    RETURN_IF(t->init_in_loop && t->model->cached, ST_INVALID_CONFIG,
              "thread \"%s\": initModelInLoop composes the model again in every loop; model \"%s\" has "
              "loadFromCachedBinary, leave one out",
              t->name, t->model->name);
    RETURN_IF(t->backend_config && !t->backend->extensions, ST_INVALID_CONFIG,
              "thread \"%s\": backendConfig is read by the extension library, but backend \"%s\" has no backendExtensions",
              t->name, t->backend->name);
    return check_model(t->model);
}

static enum status check(struct tp_config *c)
{
    struct tp_thread_config *threads = c->test.threads.items;
    RETURN_IF(!c->test.threads.n, ST_INVALID_CONFIG, "testCase/threads is empty; there is nothing to run");
    for (size_t i = 0; i < c->test.threads.n; i++) {
        TRY(check_thread(c, &threads[i]));
        for (size_t k = 0; k < i; k++)
            RETURN_IF(str_eq(threads[k].name, threads[i].name), ST_INVALID_CONFIG,
                      "two threads are named \"%s\"; results are told apart by name", threads[i].name);
    }
    return ST_OK;
}

enum status tp_config_read(const char *path, struct tp_config *ret, struct arena *arena)
{
    *ret = (struct tp_config){ 0 };
    TRY(json_read_file(path, fields, ret, arena));
    enum status st = check(ret);
    return st == ST_OK ? st : status_prefix(st, "%s", path);
}

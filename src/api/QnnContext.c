/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext.h: contexts, their configuration and their end. Binaries are in context_binary.c. */
#include "QNN/QnnContext.h"

#include <string.h>

#include "api/context.h"
#include "api/load_image.h"

/* ---- configuration ---------------------------------------------------------------------------------------------------- */

/* Clients send other backends' options to all of them and give up when one is refused. */
static enum status read_custom(const void *custom, struct context_options *o)
{
    enum status st = backend_this->context_config
                         ? backend_this->context_config(custom, &o->cfg)
                         : status_fail(ST_NOT_SUPPORTED, "the %s backend has none", backend_this->name);
    if (st != ST_NOT_SUPPORTED)
        return st;
    api_log(LOG_WARN, "a custom context option is ignored: %s", status_text());
    return ST_OK;
}

static enum status read_option(const QnnContext_Config_t *c, struct context_options *o)
{
    switch (c->option) {
    case QNN_CONTEXT_CONFIG_OPTION_CUSTOM:
        return read_custom(c->customConfig, o);
    case QNN_CONTEXT_CONFIG_OPTION_PRIORITY:
        TRY(priority_check((uint32_t)c->priority, "context"));
        o->cfg.priority = (uint32_t)c->priority;
        o->cfg.priority_given = true;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING: return ST_OK; /* nothing to decide: explanations are always kept */
    case QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT: o->cfg.memory_limit = c->memoryLimitHint; return ST_OK;
    case QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER:
        o->retained = c->graphRetentionOrder && *c->graphRetentionOrder ? c->graphRetentionOrder : NULL;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_OPTION_OEM_STRING:
        o->cfg.oem = c->oemString;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH:
        RETURN_IF(c->asyncExeQueueDepth.type != QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC ||
                      !c->asyncExeQueueDepth.depth || c->asyncExeQueueDepth.depth > backend_this->limits.max_async_depth,
                  ST_INVALID_CONFIG, "the asynchronous queue depth is %u; 1 to %u are allowed", c->asyncExeQueueDepth.depth,
                  backend_this->limits.max_async_depth);
        o->queue_depth = c->asyncExeQueueDepth.depth;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_ENABLE_GRAPHS:
        RETURN_IF(!c->enableGraphs, ST_INVALID_CONFIG,
                  "the list of enabled graphs is NULL; give names and end with NULL, or leave the option out");
        o->enable_graphs = c->enableGraphs;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_PERSISTENT_BINARY:
        o->cfg.persistent_binary = c->isPersistentBinary;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY:
        RETURN_IF((uint32_t)c->binaryCompatibilityType > QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT, ST_INVALID_CONFIG,
                  "binary compatibility %u is unknown; 0 (permissive) and 1 (strict) are known",
                  (unsigned)c->binaryCompatibilityType);
        o->cfg.strict_binary = c->binaryCompatibilityType == QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT;
        return ST_OK;
    case QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT:
        o->deferred = c->isGraphInitDeferred;
        return ST_OK;
    default:
        return status_fail(ST_INVALID_CONFIG, "context option %u is unknown; 0 to 10 are known", (unsigned)c->option);
    }
}

void context_options_init(struct context_options *o)
{
    *o = (struct context_options){ .cfg.priority = QNN_PRIORITY_DEFAULT, .queue_depth = backend_this->limits.async_depth };
}

enum status context_options_read(const QnnContext_Config_t **config, struct context_options *o)
{
    for (; config && *config; config++)
        TRY(read_option(*config, o));
    return ST_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static char **copy_names(const char *const *names)
{
    size_t n = 0;
    while (names[n])
        n++;
    char **out = mem_array(char *, n + 1);
    for (size_t i = 0; out && i < n; i++)
        if (!(out[i] = mem_strdup(names[i]))) {
            names_free(out);
            return NULL;
        }
    return out;
}

void names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        mem_free(names[i]);
    mem_free(names);
}

static struct api_graph *graph_at(struct api_context *c, size_t i)
{
    LOCKED(&c->lock);
    return i < c->graphs.n ? c->graphs.at[i] : NULL;
}

/* Calls with a graph's handle may still look at the other graphs, and add one: all of them end before the first
 * graph goes. */
static void free_graphs(struct api_context *c)
{
    struct api_graph *g;
    for (size_t i = 0; (g = graph_at(c, i)); i++)
        handle_close(g->self, HANDLE_GRAPH, 0);
    while (c->graphs.n)
        graph_free(c->graphs.at[--c->graphs.n]);
}

static void context_free_parts(struct api_context *c, struct api_profile *profile)
{
    c->closing = true; /* jobs that have not started end with INVALID_CONTEXT */
    free_graphs(c);
    queue_finish(&c->queue);
    void *mem;
    while ((mem = children_take(&c->mems)))
        mem_destroy(mem);
    children_finish(&c->mems);
    if (c->state && profile)
        context_stage_events(c, STAGE_DEINIT, profile);
    if (c->state)
        backend_this->close(c->state);
    device_release(c->device);
    packages_release(c->cfg.packages);
    binary_close(&c->binary);
    image_free(c->image);
    ir_graph_free(c->shared);
    vec_finish(&c->graphs);
    vec_finish(&c->tensors);
    names_free(c->enabled);
    names_free(c->retained);
    mem_free(c->oem);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

/* A context without a handle yet; context_publish gives it one. */
enum status context_new(struct api_backend *b, const struct context_options *o, struct api_context **ret)
{
    struct api_context *c = mem_new(struct api_context);
    RETURN_IF(!c, ST_NO_MEMORY, "no memory for a context");
    pthread_mutex_init(&c->lock, NULL);
    queue_init(&c->queue, o->queue_depth);
    c->log = b->log;
    c->backend = b->self;
    c->cfg = o->cfg;
    c->cfg.backend = b->cfg;
    c->cfg.packages = packages_hold(b->packages);
    c->deferred = o->deferred;
    c->oem = o->cfg.oem ? mem_strdup(o->cfg.oem) : NULL;
    c->cfg.oem = c->oem;
    c->enabled = o->enable_graphs ? copy_names(o->enable_graphs) : NULL;
    c->retained = o->retained ? copy_names(o->retained) : NULL;
    c->cfg.enabled = (const char *const *)c->enabled;
    c->cfg.retained = (const char *const *)c->retained;
    bool ok = (c->oem || !o->cfg.oem) && (c->enabled || !o->enable_graphs) && (c->retained || !o->retained);
    enum status st =
        ok ? device_hold(o->device, &c->device, &c->cfg.device) : status_fail(ST_NO_MEMORY, "no memory for a context");
    if (st == ST_OK)
        st = backend_this->open(&c->cfg, &c->state);
    if (st != ST_OK) {
        context_free_parts(c, NULL);
        return st;
    }
    *ret = c;
    return ST_OK;
}

enum status context_publish(struct api_backend *b, struct api_context *c, void **ret)
{
    c->self = handle_open(HANDLE_CONTEXT, c);
    enum status st = c->self ? children_add(&b->contexts, c->self) : status_fail(ST_NO_MEMORY, "no memory for a context");
    if (st != ST_OK) {
        if (c->self)
            handle_close(c->self, HANDLE_CONTEXT, 0);
        context_free_parts(c, NULL);
        return st;
    }
    *ret = c->self;
    return ST_OK;
}

void context_discard(struct api_context *c)
{
    context_free_parts(c, NULL);
}

static bool destroy(void *handle, struct api_profile *profile)
{
    struct api_context *c = handle_close(handle, HANDLE_CONTEXT, 0);
    if (c)
        context_free_parts(c, profile);
    return c;
}

bool context_destroy(void *handle)
{
    return destroy(handle, NULL);
}

bool context_with_state(const void *handle, void (*fn)(struct backend_context *c, void *arg), void *arg)
{
    struct api_context *c = handle_get(handle, HANDLE_CONTEXT);
    if (!c)
        return false;
    fn(c->state, arg);
    handle_put(handle);
    return true;
}

struct api_graph *context_find_graph(struct api_context *c, const char *name)
{
    for (size_t i = 0; i < c->graphs.n; i++)
        if (strcmp(c->graphs.at[i]->name, name) == 0)
            return c->graphs.at[i];
    return NULL;
}

enum status context_alive(struct api_context *c)
{
    return backend_this->check_context ? backend_this->check_context(c->state) : ST_OK;
}

void context_watch(struct api_context *c, const struct cancel *cancel)
{
    if (backend_this->watch_signal)
        backend_this->watch_signal(c->state, cancel);
}

void context_stage_events(struct api_context *c, enum backend_stage stage, struct api_profile *p)
{
    if (backend_this->stage_events)
        backend_this->stage_events(c->state, stage, p ? p->prof : NULL, PROF_ROOT);
}

static enum status context_create(struct api_backend *b, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
                                  void **ret)
{
    struct context_options o;
    struct api_context *c;
    if (backend_this->check_process)
        TRY(backend_this->check_process());
    context_options_init(&o);
    o.device = device;
    TRY(context_options_read(config, &o));
    TRY(context_switching_check(&o));
    TRY(context_new(b, &o, &c));
    return context_publish(b, c, ret);
}

Qnn_ErrorHandle_t QnnContext_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                    const QnnContext_Config_t **config, Qnn_ContextHandle_t *context)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_CONTEXT);
    log_enter(b->log);
    API_CHECK(context, COMP_CONTEXT, ST_INVALID_ARG, "context is NULL; give a pointer that receives the handle");
    return api_error(COMP_CONTEXT, context_create(b, device, config, context));
}

/* What has been decided when the context was created. */
static void warn_of_late(const QnnContext_Config_t *c)
{
    if (c->option == QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT)
        api_log(LOG_WARN, "MEMORY_LIMIT_HINT changes nothing later: a context switches graphs or not from its creation on");
}

/* A new priority of a context is that of all its graphs. */
static void set_priority(struct api_context *c, uint32_t priority)
{
    c->cfg.priority = priority;
    for (size_t i = 0; i < c->graphs.n; i++)
        graph_set_priority(c->graphs.at[i], priority);
}

Qnn_ErrorHandle_t QnnContext_setConfig(Qnn_ContextHandle_t context, const QnnContext_Config_t **config)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    struct context_options o;
    LOCKED(&c->lock);
    context_options_init(&o);
    if (backend_this->context_update)
        memcpy(o.cfg.own, c->cfg.own, sizeof o.cfg.own); /* options that are not given stay as they are */
    enum status st = context_options_read(config, &o);
    if (st == ST_OK)
        st = context_alive(c);
    if (st != ST_OK)
        return api_error(COMP_CONTEXT, st);
    for (; config && *config; config++) {
        API_CHECK((*config)->option == QNN_CONTEXT_CONFIG_OPTION_PRIORITY ||
                      (*config)->option == QNN_CONTEXT_CONFIG_OPTION_CUSTOM ||
                      (*config)->option == QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING ||
                      (*config)->option == QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                  COMP_CONTEXT, ST_INVALID_CONFIG, "context option %u can only be given when the context is created",
                  (unsigned)(*config)->option);
        warn_of_late(*config);
        if ((*config)->option == QNN_CONTEXT_CONFIG_OPTION_PRIORITY && backend_this->check_priority)
            st = backend_this->check_priority(c->state, (uint32_t)(*config)->priority);
        if (st != ST_OK)
            return api_error(COMP_CONTEXT, st);
        if ((*config)->option == QNN_CONTEXT_CONFIG_OPTION_PRIORITY)
            set_priority(c, (uint32_t)(*config)->priority);
    }
    if (backend_this->context_update) {
        memcpy(c->cfg.own, o.cfg.own, sizeof o.cfg.own);
        backend_this->context_update(c->state, &c->cfg);
    }
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnContext_getProperty(Qnn_ContextHandle_t contextHandle, QnnContext_Property_t **properties)
{
    API_OBJECT(struct api_context, c, contextHandle, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    API_CHECK(properties, COMP_CONTEXT, ST_INVALID_ARG, "properties is NULL; give a list of pointers that ends with NULL");
    enum status alive = context_alive(c);
    if (alive != ST_OK)
        return api_error(COMP_CONTEXT, alive);
    for (; *properties; properties++) {
        API_CHECK((*properties)->option == QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, COMP_CONTEXT, ST_INVALID_ARG,
                  "context property %u is unknown; 0 (custom) is known", (unsigned)(*properties)->option);
        API_CHECK(backend_this->context_property, COMP_CONTEXT, ST_NOT_SUPPORTED,
                  "the %s backend has no custom context properties", backend_this->name);
        enum status st = backend_this->context_property(c->state, (*properties)->customProperty);
        if (st != ST_OK)
            return api_error(COMP_CONTEXT, st);
    }
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnContext_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile)
{
    struct api_profile *p;
    void *backend;
    {
        API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
        log_enter(c->log);
        backend = c->backend;
    }
    API_CHECK(in_callback() < CALLBACK_PINNED, COMP_CONTEXT, ST_NOT_PERMITTED,
              "a context cannot be freed from a function that the library called; free it afterwards");
    enum status st = profile_begin(profile, &p);
    if (st != ST_OK)
        return api_error(COMP_CONTEXT, st);
    uint64_t start = clock_ns();
    struct api_backend *b = handle_get(backend, HANDLE_BACKEND);
    if (b) {
        children_remove(&b->contexts, context);
        handle_put(backend);
    }
    bool freed = destroy(context, p);
    if (p && freed)
        prof_add(p->prof, PROF_ROOT, PROF_DEINIT, PROF_UNIT_US, (clock_ns() - start) / 1000, "QNN (deinit) time");
    profile_end(p);
    API_CHECK(freed, COMP_CONTEXT, ST_INVALID_HANDLE, "the context handle is %s", handle_describe(context, HANDLE_CONTEXT));
    return QNN_SUCCESS;
}

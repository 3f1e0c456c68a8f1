/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext.h, the part about binaries: saving a context, and making one from saved bytes or from callbacks. Several at a
 * time are made in context_list.c. */
#include <string.h>

#include "QNN/QnnContext.h"
#include "api/context_load.h"
#include "api/counts.h"
#include "api/load_image.h"

/* ---- saving ----------------------------------------------------------------------------------------------------------- */

/* One part per graph; subgraphs are in the graphs that run them. */
static enum status list_parts(struct api_context *c, const struct binary ***ret, uint32_t *ret_n)
{
    uint32_t n = 0;
    RETURN_IF(c->from_binary, ST_NOT_PERMITTED, "the context was made from a binary; keep that one");
    RETURN_IF(!c->graphs.n, ST_NOT_FINALIZED, "the context has no graphs; build and finalize one first");
    const struct binary **parts = mem_array(const struct binary *, c->graphs.n);
    RETURN_IF(!parts, ST_NO_MEMORY, "no memory to list %zu graphs", c->graphs.n);
    for (size_t i = 0; i < c->graphs.n; i++) {
        if (c->graphs.at[i]->subgraph)
            continue;
        if (c->graphs.at[i]->state != GRAPH_FINAL) {
            mem_free(parts);
            TRY(graph_present(c->graphs.at[i]));
            return status_fail(ST_NOT_FINALIZED,
                               "graph \"%s\" is not finalized; finalize every graph before saving the context",
                               c->graphs.at[i]->name);
        }
        parts[n++] = c->graphs.at[i]->binary;
    }
    *ret = parts;
    *ret_n = n;
    return ST_OK;
}

/* Priorities of the graphs as they are now, in the order of list_parts. */
static enum status list_priorities(const struct api_context *c, uint32_t n, uint32_t **ret)
{
    uint32_t k = 0;
    *ret = mem_array(uint32_t, n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory to list %u graphs", n);
    for (size_t i = 0; i < c->graphs.n; i++)
        if (!c->graphs.at[i]->subgraph)
            (*ret)[k++] = graph_priority(c->graphs.at[i]);
    return ST_OK;
}

static enum status extra_of(struct api_context *c, const uint32_t *priorities, struct binary_extra *ret)
{
    *ret = (struct binary_extra){ .oem = c->oem, .priorities = priorities };
    ret->apart = backend_this->constants_apart && backend_this->constants_apart(c->state);
    return backend_this->context_bytes ? backend_this->context_bytes(c->state, &ret->own, &ret->own_bytes) : ST_OK;
}

static bool packs(const struct binary *const *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t g = 0; g < parts[i]->n_graphs; g++)
            for (uint32_t t = 0; t < parts[i]->graphs[g].n_tensors; t++)
                if (parts[i]->graphs[g].tensors[t].storage != STORE_PLAIN)
                    return true;
    return false;
}

/* The file as it is saved: with constants stored as their graphs want them. */
static enum status make_saved(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra,
                              struct binary_image *ret)
{
    struct binary_image packed = { .data = NULL };
    TRY(binary_merge(parts, n, extra, ret));
    if (!packs(parts, n))
        return ST_OK;

    enum status st = binary_pack(ret->data, ret->size, &packed);
    if (st == ST_OK && !packed.data)
        return ST_OK; /* nothing got smaller */
    binary_image_free(ret);
    *ret = packed;
    return st;
}

static enum status saved_size(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra, uint64_t *ret)
{
    struct binary_image im;
    if (!packs(parts, n))
        return binary_merged_size(parts, n, extra, ret);
    TRY(make_saved(parts, n, extra, &im));
    *ret = im.size;
    binary_image_free(&im);
    return ST_OK;
}

static enum status binary_size(struct api_context *c, uint64_t *ret)
{
    CLEANUP(mem_freep) const struct binary **parts = NULL;
    CLEANUP(mem_freep) uint32_t *priorities = NULL;
    struct binary_extra extra;
    uint32_t n;
    TRY(context_alive(c));
    TRY(list_parts(c, &parts, &n));
    TRY(list_priorities(c, n, &priorities));
    TRY(extra_of(c, priorities, &extra));
    return saved_size(parts, n, &extra, ret);
}

Qnn_ErrorHandle_t QnnContext_getBinarySize(Qnn_ContextHandle_t context, Qnn_ContextBinarySize_t *binaryBufferSize)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    API_CHECK(binaryBufferSize, COMP_CONTEXT, ST_INVALID_ARG, "binaryBufferSize is NULL");
    LOCKED(&c->lock);
    return api_error(COMP_CONTEXT, binary_size(c, binaryBufferSize));
}

static enum status get_binary(struct api_context *c, void *buffer, uint64_t size, uint64_t *written)
{
    CLEANUP(mem_freep) const struct binary **parts = NULL;
    CLEANUP(mem_freep) uint32_t *priorities = NULL;
    struct binary_extra extra;
    struct binary_image im;
    uint32_t n;
    TRY(context_alive(c));
    TRY(list_parts(c, &parts, &n));
    TRY(list_priorities(c, n, &priorities));
    TRY(extra_of(c, priorities, &extra));
    TRY(make_saved(parts, n, &extra, &im));
    bool fits = im.size <= size;
    size_t need = im.size;
    if (fits)
        memcpy(buffer, im.data, im.size);
    binary_image_free(&im);
    RETURN_IF(!fits, ST_INVALID_ARG, "the buffer has %llu bytes; the binary needs %zu (QnnContext_getBinarySize)",
              (unsigned long long)size, need);
    *written = need;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnContext_getBinary(Qnn_ContextHandle_t context, void *binaryBuffer,
                                       Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextBinarySize_t *writtenBufferSize)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    API_CHECK(binaryBuffer && writtenBufferSize, COMP_CONTEXT, ST_INVALID_ARG, "binaryBuffer or writtenBufferSize is NULL");
    LOCKED(&c->lock);
    return api_error(COMP_CONTEXT, get_binary(c, binaryBuffer, binaryBufferSize, writtenBufferSize));
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

static bool enabled(const struct api_context *c, const char *name)
{
    if (!c->enabled)
        return true;
    for (char **n = c->enabled; *n; n++)
        if (strcmp(*n, name) == 0)
            return true;
    return false;
}

static enum status check_target(const struct binary *b, const struct backend_context_cfg *cfg)
{
    RETURN_IF(b->target.backend_id != backend_this->id, ST_BINARY_CONFIG,
              "the binary was made for backend %u by build %s; this is the %s backend (%u)", b->target.backend_id,
              b->target.build_id, backend_this->name, backend_this->id);
    if (backend_this->check_target)
        TRY(backend_this->check_target(cfg, &b->target));
    return backend_this->check_binary ? backend_this->check_binary(cfg, b) : ST_OK;
}

static enum status check_enabled(const struct api_context *c)
{
    for (char **n = c->enabled; n && *n; n++) {
        bool found = false;
        for (uint32_t i = 0; i < c->binary.n_graphs; i++)
            found |= strcmp(c->binary.graphs[i].info.name, *n) == 0;
        RETURN_IF(!found, ST_INVALID_CONFIG, "graph \"%s\" is to be enabled, but the binary has no such graph", *n);
    }
    return ST_OK;
}

static enum status check_given(const struct api_context *c)
{
    struct backend_loading loading = { 0 };
    if (backend_this->loading)
        loading = backend_this->loading(&c->cfg);

    const char *excluded = c->deferred ? "DEFER_GRAPH_INIT" : loading.no_callbacks;
    RETURN_IF(excluded, ST_NOT_SUPPORTED, "DMA-buffer callbacks cannot be used together with %s; leave one of them out",
              excluded);
    return ST_OK;
}

static enum status take_bytes(struct api_context *c, const struct context_source *s)
{
    struct image_request r = { .data = s->data, .size = s->size, .cfg = &c->cfg };

    if (s->given && given_is_raw(s->given)) {
        TRY(given_whole(s->given, s->size, &r.data));
        r.copy = true;
    } else if (s->given) {
        TRY(check_given(c));
        r.provider = given_provider(s->given, c->state);
    }
    TRY(image_open(&r, &c->image));
    return binary_open(c->image->at, c->image->bytes, &c->binary);
}

/* Weights are looked at before they are used: a damaged file would compute wrong numbers and say nothing. */
static enum status load_graph(struct api_context *c, struct api_graph *g, const struct cancel *cancel)
{
    TRY(image_need(c->image, &c->binary.graphs[g->binary_index], cancel));
    TRY(call_check(cancel, "creating the context"));
    TRY(graph_load(g, &c->binary, g->binary_index));
    count(COUNT_LOADED);
    return ST_OK;
}

/* The client may free its buffer before the graph is loaded. */
static enum status announce(struct api_context *c, const struct api_graph *g, const struct cancel *cancel)
{
    const struct binary_graph *b = &c->binary.graphs[g->binary_index];

    if (c->image->how == IMAGE_COPIED || c->image->how == IMAGE_READ)
        TRY(image_bring(c->image, b, cancel));
    return backend_this->announce ? backend_this->announce(c->state, b) : ST_OK;
}

/* A graph has the priority that it was saved with, unless the context was given one. */
static void take_priority(const struct api_context *c, struct api_graph *g)
{
    uint32_t saved = c->binary.graphs[g->binary_index].info.priority;
    bool takes = !c->cfg.priority_given && saved != graph_priority(g) && priority_check(saved, "graph") == ST_OK;
    if (takes && backend_this->check_priority)
        takes = backend_this->check_priority(c->state, saved) == ST_OK;
    if (!takes)
        return;
    graph_set_priority(g, saved);
    api_log(LOG_INFO, "graph \"%s\" has priority %u, as it was saved", g->name, saved);
}

static enum status load_one(struct api_context *c, struct api_graph *g, const struct context_source *s)
{
    g->state = GRAPH_DEFERRED;
    if (c->deferred)
        return announce(c, g, s->cancel);

    enum status st = load_graph(c, g, s->cancel);
    if (s->graph_done)
        s->graph_done(g, st, s->arg);
    return st;
}

static enum status load_graphs(struct api_context *c, const struct context_source *s)
{
    for (uint32_t i = 0; i < c->binary.n_graphs; i++) {
        struct api_graph *g;
        TRY(call_check(s->cancel, "creating the context"));
        TRY(graph_create(c, c->binary.graphs[i].info.name, &g));
        g->binary = &c->binary;
        g->binary_index = i;
        g->state = GRAPH_NOT_ENABLED;
        take_priority(c, g);
        if (enabled(c, g->name))
            TRY(load_one(c, g, s));
    }
    return ST_OK;
}

static enum status fill_context(struct api_context *c, const struct context_source *s)
{
    c->from_binary = true;
    TRY(call_check(s->cancel, "creating the context"));
    TRY(take_bytes(c, s));
    TRY(check_target(&c->binary, &c->cfg));
    TRY(check_enabled(c));
    TRY(context_retained_check(c));

    context_watch(c, s->cancel);
    enum status st = load_graphs(c, s);
    context_watch(c, NULL);
    image_detach(c->image);
    if (s->given)
        given_release(s->given);
    return st;
}

static enum status read_options(const struct context_source *s, struct context_options *o)
{
    context_options_init(o);
    o->device = s->device;
    o->cfg.from_binary = true;
    o->cfg.list = s->list;
    o->cfg.binary = s->given ? NULL : s->data;
    o->cfg.binary_bytes = s->size;
    TRY(context_options_read(s->config, o));
    if (s->list_config && *s->list_config)
        TRY(context_options_read(s->list_config, o)); /* the list's options win over those of the context */
    return context_switching_check(o);
}

enum status context_load_begin(struct api_backend *b, const struct context_source *s, struct api_context **ret)
{
    struct context_options o;
    bool brought = s->given && given_is_raw(s->given);
    RETURN_IF((!s->data && !brought) || !s->size, ST_INVALID_ARG,
              "the binary is NULL or has 0 bytes; give the bytes that QnnContext_getBinary wrote");
    TRY(read_options(s, &o));
    return context_new(b, &o, ret);
}

enum status context_load(struct api_backend *b, struct api_context *c, const struct context_source *s, void **ret)
{
    uint64_t start = clock_ns();
    enum status st = fill_context(c, s);
    if (st == ST_OK) {
        context_stage_events(c, STAGE_LOAD, s->profile);
        st = context_publish(b, c, ret);
    } else {
        context_discard(c);
    }
    if (s->profile)
        prof_add(s->profile->prof, PROF_ROOT, PROF_INIT, PROF_UNIT_US, (clock_ns() - start) / 1000,
                 "QNN (load binary) time");
    return st;
}

static Qnn_ErrorHandle_t create_profiled(struct api_backend *b, struct context_source *s, void **ret, void *profile,
                                         void *signal_handle)
{
    struct api_signal *signal = NULL;
    struct api_context *c = NULL;
    enum status st = profile_begin(profile, &s->profile);
    if (st == ST_OK)
        st = signal_begin(signal_handle, NULL, &signal);
    if (signal)
        s->cancel = &signal->cancel;
    if (st == ST_OK)
        st = context_load_begin(b, s, &c);
    if (st == ST_OK)
        st = context_load(b, c, s, ret);
    signal_end(signal);
    profile_end(s->profile);
    return api_error(COMP_CONTEXT, st);
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryWithSignal(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                                        const QnnContext_Config_t **config, const void *binaryBuffer,
                                                        Qnn_ContextBinarySize_t binaryBufferSize,
                                                        Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile,
                                                        Qnn_SignalHandle_t signal)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_CONTEXT);
    log_enter(b->log);
    API_CHECK(context, COMP_CONTEXT, ST_INVALID_ARG, "context is NULL; give a pointer that receives the handle");
    struct context_source s = { .config = config, .data = binaryBuffer, .size = binaryBufferSize, .device = device };
    return create_profiled(b, &s, context, profile, signal);
}

Qnn_ErrorHandle_t QnnContext_createFromBinary(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                              const QnnContext_Config_t **config, const void *binaryBuffer,
                                              Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
                                              Qnn_ProfileHandle_t profile)
{
    return QnnContext_createFromBinaryWithSignal(backend, device, config, binaryBuffer, binaryBufferSize, context, profile,
                                                 NULL);
}

static enum status validate(const struct api_backend *b, const struct context_source *s)
{
    struct context_options o;
    struct binary bin;
    struct api_device *d;
    RETURN_IF(!s->data || !s->size, ST_INVALID_ARG,
              "the binary is NULL or has 0 bytes; give the bytes that QnnContext_getBinary wrote");
    TRY(read_options(s, &o));
    o.cfg.backend = b->cfg;
    o.cfg.enabled = o.enable_graphs;
    TRY(device_hold(s->device, &d, &o.cfg.device));
    device_release(d);
    TRY(binary_open(s->data, s->size, &bin));
    enum status st = check_target(&bin, &o.cfg);
    if (st == ST_OK)
        st = binary_verify_constants(&bin);
    binary_close(&bin);
    return st;
}

Qnn_ErrorHandle_t QnnContext_validateBinary(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                            const QnnContext_Config_t **config, const void *binaryBuffer,
                                            Qnn_ContextBinarySize_t binaryBufferSize)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_CONTEXT);
    log_enter(b->log);
    struct context_source s = { .config = config, .data = binaryBuffer, .size = binaryBufferSize, .device = device };
    return api_error(COMP_CONTEXT, validate(b, &s));
}

static enum status finish_deferred(struct api_context *c)
{
    RETURN_IF(!c->from_binary || !c->deferred, ST_NOT_PERMITTED,
              "the context was not created with DEFER_GRAPH_INIT; its graphs are ready");
    for (size_t i = 0; i < c->graphs.n; i++) {
        struct api_graph *g = c->graphs.at[i];
        enum status st = g->state == GRAPH_DEFERRED ? load_graph(c, g, NULL) : ST_OK;
        if (st != ST_OK) {
            graph_unload(g); /* it is deferred still, and can be tried again */
            return st;
        }
    }
    c->deferred = false;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnContext_finalize(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    struct api_profile *p;
    enum status st = profile_begin(profile, &p);
    if (st != ST_OK)
        return api_error(COMP_CONTEXT, st);
    LOCKED(&c->lock);
    uint64_t start = clock_ns();
    st = context_alive(c);
    if (st == ST_OK)
        st = finish_deferred(c);
    context_stage_events(c, STAGE_LOAD, p);
    if (p)
        prof_add(p->prof, PROF_ROOT, PROF_INIT, PROF_UNIT_US, (clock_ns() - start) / 1000, "QNN (load binary) time");
    profile_end(p);
    return api_error(COMP_CONTEXT, st);
}

/* ---- the binary through callbacks ------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnContext_createFromBinaryWithCallback(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                                          const QnnContext_Config_t **config,
                                                          const Qnn_ContextBinaryCallback_t *callback,
                                                          const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
                                                          Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile,
                                                          Qnn_SignalHandle_t signal)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_CONTEXT);
    log_enter(b->log);
    API_CHECK(context, COMP_CONTEXT, ST_INVALID_ARG, "context is NULL; give a pointer that receives the handle");
    API_CHECK(callback, COMP_CONTEXT, ST_INVALID_ARG, "callback is NULL; use QnnContext_createFromBinary without callbacks");
    struct context_source s = { .config = config, .data = binaryBuffer, .size = binaryBufferSize, .device = device };
    enum status st = given_new(callback, &s.given);
    if (st != ST_OK)
        return api_error(COMP_CONTEXT, st);

    Qnn_ErrorHandle_t e = create_profiled(b, &s, context, profile, signal);
    given_free(s.given);
    return e;
}

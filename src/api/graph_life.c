/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a graph: created open, finalized into a binary of its own or loaded from its context's, executable, freed. */
#include <stdlib.h>

#include "api/graph_environment.h"
#include "api/memory_budget.h"
#include "api/objects.h"

void graph_free(struct api_graph *g)
{
    graph_env_finish(g);
    graph_unload(g);
    profile_unbind(g->profile);
    if (backend_this->graph_config_free)
        backend_this->graph_config_free(&g->cfg);
    ir_graph_free(g->ir);
    vec_finish(&g->produced);
    vec_finish(&g->captured);
    binary_constants_finish(&g->base);
    pthread_rwlock_destroy(&g->program);
    mem_free(g->name);
    mem_free(g);
}

/* Asynchronous executions may be begun one after the other without a pause: a writer must not wait until there is none. */
static void init_lock(pthread_rwlock_t *l)
{
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(l, &a);
    pthread_rwlockattr_destroy(&a);
}

enum status graph_create(struct api_context *c, const char *name, struct api_graph **ret)
{
    struct api_graph *g = mem_new(struct api_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for graph \"%s\"", name);
    init_lock(&g->program);
    g->context = c;
    g->cfg = (struct backend_graph_cfg){ .priority = c->cfg.priority, .opt_level = 2 };
    g->profile_left = UINT64_MAX;
    g->name = mem_strdup(name);
    struct api_graph **slot = g->name ? vec_push(&c->graphs) : NULL;
    g->self = slot ? handle_open(HANDLE_GRAPH, g) : NULL;
    if (!g->self) {
        c->graphs.n -= slot != NULL;
        graph_free(g);
        return status_fail(ST_NO_MEMORY, "no memory for graph \"%s\"", name);
    }
    *slot = g;
    g->index = (uint32_t)c->graphs.n - 1;
    *ret = g;
    return ST_OK;
}

void graph_unload(struct api_graph *g)
{
    if (g->loaded)
        backend_this->unload(g->loaded);
    budget_give(g->budget);
    graph_run_free(g->sync);
    mem_free(g->io);
    mem_free(g->by_id);
    if (g->own)
        binary_close(g->own);
    mem_free(g->own);
    binary_image_free(&g->image);
    g->own = NULL;
    g->loaded = NULL;
    g->budget = 0;
    g->sync = NULL;
    g->io = NULL;
    g->by_id = NULL;
}

static int by_io_id(const void *a, const void *b, void *io)
{
    uint32_t x = ((const struct graph_io *)io)[*(const uint32_t *)a].id,
             y = ((const struct graph_io *)io)[*(const uint32_t *)b].id;
    return (x > y) - (x < y);
}

static enum status list_io(struct api_graph *g, const struct binary_graph *b)
{
    g->n_io = b->n_io;
    g->n_inputs = b->info.n_inputs;
    g->io = mem_array(struct graph_io, b->n_io);
    g->by_id = mem_array(uint32_t, b->n_io);
    RETURN_IF(!g->io || !g->by_id, ST_NO_MEMORY, "no memory for the tensors of graph \"%s\"", g->name);
    for (uint32_t i = 0; i < b->n_io; i++) {
        g->io[i] = (struct graph_io){ .id = b->tensors[b->io[i]].client_id, .tensor = &b->tensors[b->io[i]] };
        g->by_id[i] = i;
    }
    qsort_r(g->by_id, g->n_io, sizeof *g->by_id, by_io_id, g->io);
    return graph_run_create(g, &g->sync);
}

void graph_set_needs(struct api_graph *g)
{
    struct backend_needs n = { .device = true };
    if (backend_this->needs)
        n = backend_this->needs(g->loaded);
    sched_set_needs(&g->needs, n.device ? &g->context->queue.device : NULL, n.threads, n.preemptible);
}

enum status graph_load(struct api_graph *g, const struct binary *b, uint32_t index)
{
    g->binary = b;
    g->binary_index = index;
    TRY(list_io(g, &b->graphs[index]));
    if (!backend_this->attach) /* otherwise the client brings the memory */
        TRY(budget_take(&b->graphs[index].info, &g->budget));
    TRY(backend_this->load(g->context->state, b, index, &g->loaded));
    graph_set_needs(g);
    g->state = g->context->from_binary ? GRAPH_LOADED : GRAPH_FINAL;
    return ST_OK;
}

enum status graph_check_open(const struct api_graph *g)
{
    RETURN_IF(g->state != GRAPH_OPEN, ST_FINALIZED, "graph \"%s\" is finalized; nothing can be added", g->name);
    RETURN_IF(g->used, ST_FINALIZED,
              "graph \"%s\" is a subgraph that a node or a finalized graph has taken up; nothing can be added to it",
              g->name);
    return ST_OK;
}

/* ---- finalizing ------------------------------------------------------------------------------------------------------- */

/* Prepare works on a copy, so that a graph whose preparation was aborted or failed is still what the client built. */
enum status graph_compile(struct api_graph *g, struct cancel *cancel, struct binary_image *ret)
{
    struct ir_graph *copy;
    TRY(ir_clone(g->ir, &copy));
    enum status st = backend_this->prepare(g->context->state, &g->cfg, copy, cancel, ret);
    ir_graph_free(copy);
    return st;
}

static enum status compile(struct api_graph *g, struct cancel *cancel)
{
    TRY(graph_compile(g, cancel, &g->image));
    if (!g->image.data) {
        g->state = GRAPH_WRITTEN;
        return ST_OK;
    }
    g->own = mem_new(struct binary);
    RETURN_IF(!g->own, ST_NO_MEMORY, "no memory for graph \"%s\"", g->name);
    TRY(binary_open(g->image.data, g->image.size, g->own));
    if (ir_updateable(g->ir))
        TRY(binary_list_constants(&g->own->graphs[0], &g->base));
    return graph_load(g, g->own, 0);
}

/* Subgraphs of a graph that is finalized have done their part. A graph that may be compiled again borrows their
 * constants. */
static void subgraphs_done(const struct api_graph *g, bool keep)
{
    struct api_context *c = g->context;
    for (uint32_t i = g->index + 1; i < c->graphs.n; i++) { /* a subgraph is younger than the graph around it */
        struct api_graph *s = c->graphs.at[i];
        if (!s->subgraph || (s->parent != g->index && !c->graphs.at[s->parent]->done))
            continue;
        s->used = s->done = true;
        if (keep)
            continue;
        ir_graph_free(s->ir);
        s->ir = NULL;
    }
}

enum status graph_finalize(struct api_graph *g, struct cancel *cancel)
{
    enum status st = compile(g, cancel);
    if (st != ST_OK) {
        graph_unload(g);
        binary_constants_finish(&g->base);
        g->image = (struct binary_image){ 0 };
        return st;
    }
    bool keep = g->state != GRAPH_WRITTEN && ir_updateable(g->ir);
    if (!keep) { /* the binary is all that is needed from here on */
        ir_graph_free(g->ir);
        g->ir = NULL;
    }
    g->changed = false;
    vec_finish(&g->produced);
    subgraphs_done(g, keep);
    if (g->state == GRAPH_WRITTEN)
        return ST_OK;
    const struct binary_graph_info *i = &g->own->graphs[0].info;
    api_log(LOG_INFO, "graph \"%s\": %u nodes, %llu bytes of scratch (lower bound %llu), %llu bytes of constants", g->name,
            i->n_source_nodes, (unsigned long long)i->scratch_bytes, (unsigned long long)i->live_bytes,
            (unsigned long long)i->const_bytes);
    return ST_OK;
}

enum status graph_present(const struct api_graph *g)
{
    RETURN_IF(g->state == GRAPH_DEFERRED, ST_NOT_FINALIZED, "graph \"%s\" is deferred; call QnnContext_finalize first",
              g->name);
    RETURN_IF(g->state == GRAPH_NOT_ENABLED, ST_DISABLED,
              "graph \"%s\" was not in the list of enabled graphs of its context; create the context with it among "
              "ENABLE_GRAPHS, or without that option",
              g->name);
    RETURN_IF(g->state == GRAPH_WRITTEN, ST_NOT_SUPPORTED,
              "graph \"%s\" was written to a file; the %s backend does nothing else with it: use the file with another "
              "backend",
              g->name, backend_this->name);
    return ST_OK;
}

enum status graph_attach(struct api_graph *g)
{
    TRY(graph_present(g));
    RETURN_IF(g->context->from_binary && !backend_this->attach, ST_NOT_SUPPORTED,
              "graph \"%s\" comes from a binary and is ready to execute", g->name);
    RETURN_IF(!backend_this->attach || g->attached, ST_FINALIZED, "graph \"%s\" is finalized already", g->name);
    TRY(backend_this->attach(g->loaded, &g->cfg));
    g->attached = true;
    return ST_OK;
}

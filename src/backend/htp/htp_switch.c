/* SPDX-License-Identifier: Apache-2.0 */
/* Graph switching: graphs of a context that are in the session only while they are needed (MEMORY_LIMIT_HINT with
 * PERSISTENT_BINARY).
 *
 *     when the context is created   the graphs of the retention order are loaded; without one, the first enabled graph
 *     when a graph runs             loaded: nothing happens. Otherwise graphs that are not in the retention order leave;
 *                                   then, while there is no room, those that are in it, from its end; then it is loaded
 *
 * Executions of such a context take turns (htp_needs), so that no graph leaves while it runs. What a graph remembers
 * between executions waits for it in the client's memory. */
#include "backend/htp/htp_switch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/htp/htp_group.h"
#include "base/clock.h"
#include "base/mem.h"

#define NOT_RETAINED UINT32_MAX

/* ---- life ------------------------------------------------------------------------------------------------------------- */

enum status htp_switch_create(struct backend_context *c)
{
    const struct backend_context_cfg *cfg = &c->cfg;
    c->by_graph = cfg->from_binary && cfg->enabled;
    if (!cfg->from_binary || !cfg->persistent_binary || !cfg->memory_limit)
        return ST_OK;
    RETURN_IF(c->own.share_resources, ST_INVALID_CONFIG,
              "HTP context config: SHARE_RESOURCES cannot be used with graph switching (MEMORY_LIMIT_HINT %" PRIu64
              "); leave one of them out",
              cfg->memory_limit);

    c->switching = mem_new(struct htp_switch);
    RETURN_IF(!c->switching, ST_NO_MEMORY, "no memory for a context");
    c->by_graph = true;
    return ST_OK;
}

void htp_switch_free(struct backend_context *c)
{
    struct htp_switch *w = c->switching;
    if (!w)
        return;
    vec_finish(&w->steps);
    mem_free(w);
    c->switching = NULL;
}

/* ---- order ------------------------------------------------------------------------------------------------------------ */

/* Smaller is more important. */
static uint32_t rank_of(const struct backend_context *c, const char *graph)
{
    const char *const *names = c->cfg.retained;
    for (uint32_t i = 0; names && names[i]; i++)
        if (strcmp(names[i], graph) == 0)
            return i;
    return NOT_RETAINED;
}

bool htp_switch_preloads(const struct backend_context *c, const struct binary *b, uint32_t graph)
{
    const char *name = b->graphs[graph].info.name;
    if (c->cfg.retained)
        return rank_of(c, name) != NOT_RETAINED;
    if (c->cfg.enabled)
        return c->cfg.enabled[0] && strcmp(c->cfg.enabled[0], name) == 0;
    return graph == 0;
}

/* Of graphs that are loaded one by one those that are in the session once the context is there. */
bool htp_graph_counts(const struct backend_context *c, const struct binary *b, uint32_t graph)
{
    const char *const *name = c->cfg.enabled;
    if (c->switching)
        return htp_switch_preloads(c, b, graph);
    while (name && *name && strcmp(*name, b->graphs[graph].info.name) != 0)
        name++;
    return !name || *name;
}

uint64_t htp_constants_once(const struct backend_context *c, const struct binary *b, uint32_t graph)
{
    for (uint32_t i = 0; i < graph; i++)
        if (htp_graph_counts(c, b, i) && b->graphs[i].constants == b->graphs[graph].constants)
            return 0;
    return b->graphs[graph].constant_bytes;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

uint64_t htp_graph_bytes(const struct backend_graph *g)
{
    return g->program == RPC_NONE ? 0 : g->heap_bytes + g->staging.bytes + g->state.bytes;
}

/* What the session has for the context: picks are counted once, however many of their graphs are loaded. */
uint64_t htp_context_bytes_loaded(struct backend_context *c)
{
    uint64_t bytes = 0;
    for (const struct htp_binary *h = c->binaries; h; h = h->next)
        bytes += h->bytes.bytes;
    for (const struct backend_graph *g = c->graphs; g; g = g->next)
        bytes += htp_graph_bytes(g);
    return bytes;
}

static uint64_t graphs_loaded(const struct backend_context *c)
{
    uint64_t n = 0;
    for (const struct backend_graph *g = c->graphs; g; g = g->next)
        n += g->program != RPC_NONE;
    return n;
}

static bool switch_property(const struct backend_context *c, uint32_t property, uint64_t *ret)
{
    const struct htp_switch *w = c->switching;
    if (property != HTP_PROPERTY_LOADS && property != HTP_PROPERTY_UNLOADS)
        return false;
    *ret = 0;
    if (w)
        *ret = property == HTP_PROPERTY_LOADS ? w->loads : w->unloads;
    return true;
}

bool htp_memory_property(struct backend_context *c, uint32_t property, uint64_t *ret)
{
    bool known = true;
    pthread_mutex_lock(&c->lock);
    if (property == HTP_PROPERTY_LOADED_BYTES)
        *ret = htp_context_bytes_loaded(c);
    else if (property == HTP_PROPERTY_LOADED_GRAPHS)
        *ret = graphs_loaded(c);
    else
        known = switch_property(c, property, ret) || htp_group_property(c, property, ret);
    pthread_mutex_unlock(&c->lock);
    return known;
}

bool htp_graph_memory_property(struct backend_graph *g, uint32_t property, uint64_t *ret)
{
    if (property != HTP_PROPERTY_LOADED_BYTES && property != HTP_PROPERTY_LOADED_GRAPHS)
        return false;
    pthread_mutex_lock(&g->context->lock);
    *ret = property == HTP_PROPERTY_LOADED_BYTES ? htp_graph_bytes(g) : g->program != RPC_NONE;
    pthread_mutex_unlock(&g->context->lock);
    return true;
}

static void note(struct backend_context *c, const struct backend_graph *g, bool loaded, uint64_t bytes)
{
    struct htp_switch *w = c->switching;
    struct htp_switch_step *step = vec_push(&w->steps);

    backend_log(BACKEND_INFO, "graph switch: \"%s\" is %s, %" PRIu64 " bytes", g->g->info.name,
                loaded ? "loaded" : "unloaded", bytes);
    if (loaded)
        w->loads++;
    else
        w->unloads++;
    if (step)
        *step = (struct htp_switch_step){ .graph = g->g, .bytes = bytes, .loaded = loaded };
}

void htp_switch_loaded(struct backend_graph *g, uint64_t bytes)
{
    struct backend_context *c = g->context;
    c->switching->copied += g->binary->users == 1 ? g->binary->copied : 0;
    note(c, g, true, bytes);
}

static void leave(struct backend_graph *g)
{
    struct backend_context *c = g->context;
    uint64_t before = htp_context_bytes_loaded(c);
    htp_graph_exit(g);
    note(c, g, false, before - htp_context_bytes_loaded(c));
}

/* The loaded graph that matters least: one that is not retained, or of those that are, the last. NULL: there is none. */
static struct backend_graph *least_important(struct backend_context *c, const struct backend_graph *keep)
{
    struct backend_graph *worst = NULL;
    uint32_t worst_rank = 0;
    for (struct backend_graph *g = c->graphs; g; g = g->next) {
        uint32_t rank = rank_of(c, g->g->info.name);
        if (g == keep || g->program == RPC_NONE || (worst && rank <= worst_rank))
            continue;
        worst = g;
        worst_rank = rank;
    }
    return worst;
}

static void leave_not_retained(struct backend_context *c, const struct backend_graph *keep)
{
    for (struct backend_graph *g = c->graphs; g; g = g->next)
        if (g != keep && g->program != RPC_NONE && rank_of(c, g->g->info.name) == NOT_RETAINED)
            leave(g);
}

/* ---- switching -------------------------------------------------------------------------------------------------------- */

static enum status make_room_and_load(struct backend_graph *g, const struct cancel *cancel)
{
    struct backend_context *c = g->context;
    leave_not_retained(c, g);
    for (;;) {
        enum status st = cancel_status(cancel);
        RETURN_IF(st != ST_OK, st, "the execution ended while graph \"%s\" was to be loaded", g->g->info.name);

        uint64_t before = htp_context_bytes_loaded(c);
        st = htp_graph_enter(g);
        if (st == ST_OK) {
            htp_switch_loaded(g, htp_context_bytes_loaded(c) - before);
            return ST_OK;
        }
        struct backend_graph *victim = st == ST_NO_MEMORY ? least_important(c, g) : NULL;
        if (!victim)
            return st;
        leave(victim);
    }
}

enum status htp_switch_in(struct backend_graph *g, const struct backend_run *r)
{
    struct backend_context *c = g->context;
    uint64_t start = clock_ns();
    pthread_mutex_lock(&c->lock);
    enum status st = g->program == RPC_NONE ? make_room_and_load(g, r->cancel) : ST_OK;
    c->switching->ns += clock_ns() - start;
    pthread_mutex_unlock(&c->lock);
    return st;
}

static void add_step(struct prof *prof, int32_t parent, const struct htp_switch_step *s)
{
    char name[256];
    snprintf(name, sizeof name, "Graph \"%.180s\" %s", s->graph->info.name, s->loaded ? "loaded" : "unloaded");
    prof_add(prof, parent, s->loaded ? HTP_EVENT_GRAPH_LOADED : HTP_EVENT_GRAPH_UNLOADED, PROF_UNIT_BYTES, s->bytes, name);
}

void htp_switch_events(struct backend_context *c, struct prof *prof, int32_t parent)
{
    struct htp_switch *w = c->switching;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; prof && i < w->steps.n; i++)
        add_step(prof, parent, &w->steps.at[i]);
    if (prof && w->steps.n) {
        prof_add(prof, parent, HTP_EVENT_SWITCH_TIME, PROF_UNIT_US, (w->ns + 500) / 1000, "Graph switch time");
        prof_add(prof, parent, HTP_EVENT_SWITCH_COPIED, PROF_UNIT_BYTES, w->copied, "Bytes copied to load graphs");
    }
    w->steps.n = 0;
    w->ns = w->copied = 0;
    c->loading = (struct htp_times){ 0 };
    pthread_mutex_unlock(&c->lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs in a session: the binary mapped there once per context, a program loaded from it, and staging memory for tensors
 * that will come as plain pointers. Tensors declared with a memory handle get none (Qmem graphs). */
#include "backend/htp/htp_group.h"
#include "backend/htp/htp_switch.h"
#include "backend/htp/htp_cores.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define NO_PLACE UINT64_MAX

/* ---- the binary ------------------------------------------------------------------------------------------------------- */

static enum status binary_get(struct backend_context *c, struct htp_session *s, const struct binary *b,
                              struct htp_binary **ret)
{
    for (struct htp_binary *h = c->binaries; h; h = h->next)
        if (h->binary == b) {
            h->users++;
            *ret = h;
            return ST_OK;
        }
    struct htp_binary *h = mem_new(struct htp_binary);
    RETURN_IF(!h, ST_NO_MEMORY, "no memory to load a context binary");
    *h = (struct htp_binary){ .next = c->binaries, .binary = b, .users = 1, .in = b->map, .in_bytes = b->size };
    enum status st = htp_shared_adopt(s, b->map, b->size, c->signal, &h->bytes);
    if (st != ST_OK) {
        mem_free(h);
        return st;
    }
    c->binaries = h;
    *ret = h;
    return ST_OK;
}

static void binary_put(struct backend_context *c, struct htp_session *s, struct htp_binary *b)
{
    if (!b || --b->users)
        return;
    struct htp_binary **at = &c->binaries;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    if (c->by_graph)
        htp_pick_release(s, b);
    else
        htp_shared_free(s, &b->bytes);
    mem_free(b);
}

/* ---- staging ---------------------------------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t n)
{
    return (n + HTP_ALIGN - 1) & ~(uint64_t)(HTP_ALIGN - 1);
}

/* A place for each tensor that has none reserved by the client; returns the bytes of all. */
static uint64_t lay_out(struct backend_graph *g, bool all)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        const struct binary_tensor *t = &g->g->tensors[g->g->io[i]];
        bool wanted = all || !t->mem_handle;
        g->place[i] = wanted ? bytes : NO_PLACE;
        bytes += wanted ? align_up(desc_bytes(&t->desc) * g->staged) : 0;
    }
    return bytes;
}

static void free_staging(struct backend_graph *g, struct htp_session *s)
{
    if (g->shared_staging)
        g->staging = (struct htp_shared){ 0 };
    else
        htp_shared_free(s, &g->staging);
    g->shared_staging = false;
}

static enum status reserve(struct backend_graph *g, struct htp_session *s, bool all)
{
    free_staging(g, s);
    uint64_t bytes = lay_out(g, all);
    if (!bytes)
        return ST_OK;
    g->shared_staging = !g->own_staging && htp_group_staging(g->context, s, bytes, &g->staging);
    return g->shared_staging ? ST_OK : htp_shared_alloc(s, bytes, g->context->signal, &g->staging);
}

enum status htp_graph_reserve(struct backend_graph *g, bool all)
{
    return reserve(g, g->context->session, all);
}

bool htp_graph_begin(struct backend_graph *g, enum status *ret)
{
    *ret = ST_OK;
    if (!g->shared_staging)
        return false;
    if (htp_group_begin(g->context))
        return true;

    bool all = true;
    for (uint32_t i = 0; i < g->g->n_io; i++)
        all &= g->place[i] != NO_PLACE;
    g->own_staging = true;
    *ret = htp_graph_reserve(g, all);
    return false;
}

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

/* Slices of the others remember something of each other, or have sizes of their own. */
static bool has_slices(const struct binary_graph *g)
{
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].desc.dynamic)
            return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op->id == OP_NONE)
            return false;
    return !g->info.persistent_bytes;
}

/* Bytes of a slice that are copied. */
static uint64_t staged_bytes(const struct backend_graph *g, const struct backend_run *r)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->g->n_io; i++)
        if (r->io[i].data && !r->io[i].mem)
            bytes += desc_bytes(&g->g->tensors[g->g->io[i]].desc);
    return bytes;
}

enum status htp_graph_slices(struct backend_graph *g, const struct backend_run *r, uint32_t wanted, uint32_t *ret)
{
    *ret = 1;
    if (wanted < 2 || !has_slices(g->g))
        return ST_OK;
    uint64_t each = staged_bytes(g, r);
    uint64_t most = each ? HTP_STAGING_MOST / each : wanted;
    uint32_t n = most < wanted ? (uint32_t)most : wanted;
    if (n < 2 || !each || n <= g->staged) {
        *ret = n ? n : 1;
        return ST_OK;
    }

    bool all = true;
    for (uint32_t i = 0; i < g->g->n_io; i++)
        all &= g->place[i] != NO_PLACE;
    g->staged = n;
    enum status st = htp_graph_reserve(g, all);
    if (st == ST_NO_MEMORY) { /* of the session's addresses: one slice had room */
        g->staged = n = 1;
        st = htp_graph_reserve(g, all);
    }
    *ret = n;
    return st;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

struct request {
    const struct binary *binary;
    uint32_t graph;
    bool estimate; /* refuse what all graphs of the file together would not fit into */
    struct backend_graph *g;
};

static uint64_t sum_need(const struct backend_context *c, const struct htp_session *s, const struct binary *b)
{
    uint64_t need = c->by_graph ? 0 : b->size, window = 0 /* which they share */;
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph_info *n = &b->graphs[i].info;
        if (!htp_graph_counts(c, b, i))
            continue;
        need += n->persistent_bytes + (c->own.io_estimation ? n->io_bytes : 0);
        need += c->by_graph ? htp_constants_once(c, b, i) : 0;
        window = n->vtcm_used > window ? n->vtcm_used : window;
    }
    return need + window + htp_group_need(c, s, b);
}

static enum status check_room(const struct backend_context *c, const struct htp_session *s, const struct binary *b)
{
    struct rpc_usage u = { 0 };
    uint64_t need = sum_need(c, s, b);
    s->link->usage(s->s, &u);
    uint64_t used = u.mapped_bytes + u.heap_bytes, room = used < u.budget ? u.budget - used : 0;
    RETURN_IF(u.budget && need > room, ST_NO_MEMORY,
              "%" PRIu64 " bytes are needed%s; session %u has %" PRIu64 " of %" PRIu64 " left", need,
              c->own.io_estimation ? " with inputs and outputs" : "", s->index, room, u.budget);
    return ST_OK;
}

static void undo(struct backend_context *c, struct htp_session *s, struct backend_graph *g)
{
    if (g->program != RPC_NONE)
        s->link->unload(s->s, g->program);
    g->program = RPC_NONE;
    htp_shared_free(s, &g->state);
    free_staging(g, s);
    binary_put(c, s, g->binary);
    g->binary = NULL;
}

/* What a graph remembers has to outlive its program where that comes and goes. */
static enum status make_state(struct backend_graph *g, struct htp_session *s, struct rpc_pool *ret)
{
    if (!g->kept)
        return ST_OK;
    TRY(htp_shared_alloc(s, g->g->info.persistent_bytes, g->context->signal, &g->state));
    ret->map = g->state.map;
    return ST_OK;
}

/* VTCM sharing: a graph that takes at least half of the device's VTCM, but not all of it, lies at the end, and what lies in
 * the rest meanwhile needs no saving. All others begin at the beginning. */
static uint64_t window_begin(const struct backend_context *c, const struct binary_graph_info *i)
{
    enum { FIRST_SHARING_ARCH = 73 };
    const uint64_t all = (uint64_t)c->vtcm_mb << 20;
    const bool overmap = i->vtcm_bytes < all && i->vtcm_bytes * 2 >= all;

    return c->arch >= FIRST_SHARING_ARCH && overmap ? all - i->vtcm_bytes : 0;
}

static enum status load_parts(struct backend_context *c, struct htp_session *s, struct request *r)
{
    struct backend_graph *g = r->g;
    uint32_t number = r->graph;
    if (c->by_graph)
        TRY(htp_pick_get(c, s, r->binary, r->graph, &g->binary, &number));
    else
        TRY(binary_get(c, s, r->binary, &g->binary));
    TRY(htp_lay_all(c, s, g->binary));
    struct rpc_load l = { .map = g->binary->bytes.map, .bytes = g->binary->bytes.bytes, .graph = number };
    l.serial = g->g->info.options & HTP_GRAPH_SERIAL;
    l.cancel = c->signal;
    l.window_at = window_begin(c, &g->g->info);
    if (g->packages)
        TRY(htp_packages_in(c, s, g->g->info.name));
    struct htp_group_pools shared;
    TRY(htp_group_get(c, s, r->binary, r->graph, &shared));
    l.spill = shared.pool[HTP_GROUP_SPILL];
    l.scratch = shared.pool[HTP_GROUP_SCRATCH];
    TRY(make_state(g, s, &l.persistent));
    TRY(htp_session_result(s, s->link->load(s->s, &l)));
    g->program = l.program;
    g->heap_bytes = l.heap_bytes;
    if (shared.pool[HTP_GROUP_BACKUP].map)
        TRY(htp_session_result(s, s->link->set_backup(s->s, g->program, shared.pool[HTP_GROUP_BACKUP])));
    if (g->kept)
        memcpy(g->state.at, g->kept, g->state.bytes);
    c->loading.rpc_ns += l.rpc_ns;
    c->loading.worker_ns += l.worker_ns;
    c->loading.calls++;
    return reserve(g, s, false);
}

static enum status load_on(struct backend_context *c, struct htp_session *s, void *arg)
{
    struct request *r = arg;
    if (r->estimate)
        TRY(check_room(c, s, r->binary));
    uint64_t before = c->switching ? htp_context_bytes_loaded(c) : 0;
    enum status st = load_parts(c, s, r);
    if (st != ST_OK) {
        undo(c, s, r->g);
        if (!c->session)
            htp_group_unplace(c);
    } else if (c->switching) {
        htp_switch_loaded(r->g, htp_context_bytes_loaded(c) + htp_graph_bytes(r->g) - before);
    }
    return st;
}

/* A file is placed as a whole. One whose graphs are not all enabled may fit although all of them would not. */
static enum status place(struct backend_context *c, struct request *r)
{
    bool first = !c->session;
    r->estimate = first && (r->binary->n_graphs > 1 || c->own.io_estimation);
    enum status st = htp_place(c, load_on, r);
    if (st == ST_NO_MEMORY && r->estimate && !c->own.io_estimation && !c->switching) {
        r->estimate = false;
        st = htp_place(c, load_on, r);
    }
    return st;
}

static enum status make_tables(struct backend_graph *g)
{
    uint32_t n = g->g->n_io;
    g->place = mem_array(uint64_t, n);
    g->io = mem_array(struct rpc_io, n);
    g->dims = mem_array(uint32_t, (size_t)n * MAX_RANK);
    g->made = mem_array(uint8_t, n);
    RETURN_IF(!g->place || !g->io || !g->dims || !g->made, ST_NO_MEMORY, "graph \"%s\": no memory to load it",
              g->g->info.name);
    return ST_OK;
}

/* Room that a graph had before it was updated serves for the one after the next. */
static struct htp_constants *free_room(struct backend_context *c, uint64_t bytes)
{
    for (size_t i = 0; i < c->constants.n; i++)
        if (!c->constants.at[i].users && c->constants.at[i].room >= bytes)
            return &c->constants.at[i];
    struct htp_constants *new = vec_push(&c->constants);
    if (!new)
        return NULL;
    *new = (struct htp_constants){ .offset = c->weights, .room = align_up(bytes) };
    c->weights += new->room;
    return new;
}

static struct htp_constants *same_constants(struct backend_context *c, const struct binary_graph *g)
{
    for (size_t i = 0; i < c->constants.n; i++) {
        struct htp_constants *k = &c->constants.at[i];
        if (k->users && k->at == g->constants && k->bytes == g->constant_bytes)
            return k;
    }
    return NULL;
}

static enum status find_constants(struct backend_context *c, const struct binary_graph *g, uint64_t *ret_offset)
{
    struct htp_constants *k = same_constants(c, g);
    if (!k)
        k = free_room(c, g->constant_bytes);
    RETURN_IF(!k, ST_NO_MEMORY, "graph \"%s\": no memory to load it", g->info.name);
    k->at = g->constants;
    k->bytes = g->constant_bytes;
    k->users++;
    *ret_offset = k->offset;
    return ST_OK;
}

/* What its constants and those of other graphs take in a buffer for weights; what it spills. */
static enum status place_constants(struct backend_context *c, const struct binary_graph *g, uint64_t *ret_offset)
{
    *ret_offset = 0;
    pthread_mutex_lock(&c->lock);
    c->spill_fill = g->info.spill_fill_bytes > c->spill_fill ? g->info.spill_fill_bytes : c->spill_fill;
    enum status st = g->constant_bytes ? find_constants(c, g, ret_offset) : ST_OK;
    pthread_mutex_unlock(&c->lock);
    return st;
}

enum status htp_announce(struct backend_context *c, const struct binary_graph *g)
{
    uint64_t offset;
    return place_constants(c, g, &offset);
}

static enum status prepare_to_switch(struct backend_graph *g)
{
    uint64_t bytes = g->g->info.persistent_bytes;
    lay_out(g, false);
    g->kept = bytes ? mem_alloc(bytes) : NULL;
    RETURN_IF(bytes && !g->kept, ST_NO_MEMORY, "graph \"%s\": no memory to load it", g->g->info.name);
    if (bytes)
        memset(g->kept, 0, bytes);
    return ST_OK;
}

/* A graph that takes the place of one of its name (a section was applied) waits for its first execution. */
static bool loads_now(const struct backend_graph *g)
{
    for (const struct backend_graph *other = g->context->graphs; other; other = other->next)
        if (strcmp(other->g->info.name, g->g->info.name) == 0)
            return false;
    return htp_switch_preloads(g->context, g->file, g->file_graph);
}

static enum status load(struct backend_graph *g, const struct binary *b, uint32_t graph)
{
    struct backend_context *c = g->context;
    TRY(make_tables(g));
    c->loaded = g->g;
    if (c->own.prepare_only) {
        g->prepare_only = true;
        return ST_OK;
    }
    pthread_mutex_lock(&c->lock);
    struct htp_hardware named;
    if (!htp_device_named(&c->cfg.device, &named) && !c->session)
        c->arch = b->target.arch; /* the default device is whatever the model was made for */
    pthread_mutex_unlock(&c->lock);
    TRY(htp_group_check(c, &g->g->info));
    TRY(htp_cores_check(c, &g->g->info));
    if (c->switching)
        TRY(prepare_to_switch(g));
    struct request r = { .binary = b, .graph = graph, .g = g };
    TRY(htp_packages_check(c, g->g, &g->packages));
    if (!c->switching || loads_now(g))
        TRY(place(c, &r));
    TRY(place_constants(c, g->g, &g->weights_at));
    g->has_constants = g->g->constant_bytes != 0;
    return ST_OK;
}

static uint64_t pool_bytes(const struct backend_graph *g, enum htp_pool pool)
{
    const uint64_t bytes[HTP_POOLS] = {
        [HTP_SPILL] = g->g->info.spill_fill_bytes, [HTP_BACKUP] = g->g->info.vtcm_used, [HTP_WEIGHTS] = g->g->constant_bytes
    };
    return bytes[pool];
}

static uint64_t begin_in(const struct backend_graph *g, enum htp_pool pool)
{
    return pool == HTP_WEIGHTS ? g->weights_at : 0; /* the others take turns */
}

enum status htp_graph_pool(struct backend_graph *g, enum htp_pool pool, const struct backend_mem *m)
{
    struct htp_session *s = g->context->session;
    if (g->program == RPC_NONE || !pool_bytes(g, pool))
        return ST_OK;
    struct rpc_pool at = { .map = m ? m->buffer->map : 0, .offset = m ? m->offset + begin_in(g, pool) : 0 };
    enum status st = pool == HTP_SPILL    ? s->link->set_spill(s->s, g->program, at)
                     : pool == HTP_BACKUP ? s->link->set_backup(s->s, g->program, at)
                                          : s->link->set_weights(s->s, g->program, at);
    return htp_session_result(s, st);
}

/* The new graph uses the buffers of the others, where they are large enough; the client may register larger ones. */
static enum status join_pool(struct backend_graph *g, enum htp_pool pool)
{
    static const char *const does[HTP_POOLS] = { "spills", "computes in", "has constants of" };
    const struct backend_mem *m = g->context->pools[pool];
    if (!m || m->bytes >= begin_in(g, pool) + pool_bytes(g, pool))
        return m ? htp_graph_pool(g, pool, m) : ST_OK;
    backend_log(BACKEND_INFO,
                "graph \"%s\" %s %" PRIu64 " bytes, more than the registered buffer has; it uses memory of its own",
                g->g->info.name, does[pool], pool_bytes(g, pool));
    return ST_OK;
}

static enum status join_pools(struct backend_graph *g)
{
    enum status st = ST_OK;
    for (int i = 0; i < HTP_POOLS && st == ST_OK; i++)
        st = join_pool(g, (enum htp_pool)i);
    return st;
}

enum status htp_graph_enter(struct backend_graph *g)
{
    struct backend_context *c = g->context;
    struct request r = { .binary = g->file, .graph = g->file_graph, .g = g };
    enum status st = load_parts(c, c->session, &r);
    if (st == ST_OK)
        st = join_pools(g);
    if (st != ST_OK)
        undo(c, c->session, g);
    return st;
}

void htp_graph_exit(struct backend_graph *g)
{
    if (g->kept)
        memcpy(g->kept, g->state.at, g->state.bytes);
    undo(g->context, g->context->session, g);
    g->staged = 1;
}

static enum status join_context(struct backend_graph *g)
{
    struct backend_context *c = g->context;
    pthread_mutex_lock(&c->lock);
    enum status st = join_pools(g);
    g->next = c->graphs;
    c->graphs = g;
    pthread_mutex_unlock(&c->lock);
    return st;
}

static void leave_context(struct backend_graph *g)
{
    struct backend_graph **at = &g->context->graphs;
    while (*at && *at != g)
        at = &(*at)->next;
    if (*at)
        *at = g->next;
}

enum status htp_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret)
{
    RETURN_IF(b->target.backend_id != HTP_BACKEND_ID, ST_BINARY_CONFIG,
              "the context binary was made for backend %u; this is the HTP backend (%d)", b->target.backend_id,
              HTP_BACKEND_ID);
    RETURN_IF(graph >= b->n_graphs, ST_INVALID_ARG, "graph %u of a context binary that has %u", graph, b->n_graphs);
    struct backend_graph *g = mem_new(struct backend_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory to load a graph");
    g->context = c;
    g->g = &b->graphs[graph];
    g->file = b;
    g->file_graph = graph;
    g->program = RPC_NONE;
    g->staged = 1;
    g->hvx_threads = g->g->info.hvx_threads;
    enum status st = load(g, b, graph);
    if (st == ST_OK)
        st = join_context(g);
    if (st != ST_OK) {
        htp_unload(g);
        return st;
    }
    backend_log(BACKEND_VERBOSE, "graph \"%s\" is loaded: %u nodes, %u tensors of the client", g->g->info.name,
                g->g->n_nodes, g->g->n_io);
    *ret = g;
    return ST_OK;
}

void htp_unload(struct backend_graph *g)
{
    if (!g)
        return;
    struct backend_context *c = g->context;
    uint64_t start = clock_ns();
    pthread_mutex_lock(&c->lock);
    c->loaded = c->loaded == g->g ? NULL : c->loaded;
    leave_context(g);
    if (g->has_constants)
        same_constants(c, g->g)->users--;
    if (c->session)
        undo(c, c->session, g);
    c->unloading.rpc_ns += clock_ns() - start;
    c->unloading.calls++;
    pthread_mutex_unlock(&c->lock);
    mem_free(g->kept);
    mem_free(g->place);
    mem_free(g->io);
    mem_free(g->dims);
    mem_free(g->made);
    mem_free(g->marks);
    mem_free(g->times);
    mem_free(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that compute in memory of the client: scratch, persistent memory, spill-fill and backup buffers, copies of
 * weights inside mappings of the session. A mapping that holds an open binary is none, since programs trust
 * their binaries. */
#include <string.h>

#include "rpc/rpc.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

enum { POOL_ALIGN = 64 };

/* Under lock: the memory, or NULL for pool.map 0. */
static enum status find_pool(struct worker *w, struct rpc_pool pool, uint64_t need, const char *what, void **ret)
{
    *ret = NULL;
    if (!pool.map)
        return ST_OK;
    struct worker_map *m = worker_map_find(w, pool.map);
    RETURN_IF(!m, ST_NOT_FOUND, "%s memory: mapping %u is not one of this session", what, pool.map);
    RETURN_IF(!m->writable, ST_INVALID_ARG, "%s memory: mapping %u is for reading only", what, pool.map);
    RETURN_IF(m->programs, ST_INVALID_ARG, "%s memory: mapping %u holds a context binary that is in use", what, pool.map);
    RETURN_IF(pool.offset > m->bytes || need > m->bytes - pool.offset, ST_INVALID_ARG,
              "%s memory of %llu bytes; the mapping has %llu behind offset %llu", what, (unsigned long long)need,
              (unsigned long long)(pool.offset < m->bytes ? m->bytes - pool.offset : 0), (unsigned long long)pool.offset);
    RETURN_IF((uintptr_t)(m->data + pool.offset) % POOL_ALIGN, ST_INVALID_ARG,
              "%s memory at offset %llu; a multiple of %d is needed", what, (unsigned long long)pool.offset, POOL_ALIGN);
    *ret = m->data + pool.offset;
    return ST_OK;
}

static bool overlap(const uint8_t *a, uint64_t a_bytes, const uint8_t *b, uint64_t b_bytes)
{
    return a && b && a < b + b_bytes && b < a + a_bytes;
}

enum status worker_pools_find(struct worker *w, const struct rpc_request *q, uint32_t binary_map,
                              const struct binary_graph_info *i, struct exec_opts *o)
{
    struct rpc_pool scratch = { q->load.scratch_map, q->load.scratch_offset },
                    persistent = { q->load.persistent_map, q->load.persistent_offset },
                    spill = { q->load.spill_map, q->load.spill_offset };
    RETURN_IF(scratch.map == binary_map || persistent.map == binary_map || spill.map == binary_map, ST_INVALID_ARG,
              "mapping %u holds the binary; a program cannot compute in it", binary_map);
    pthread_mutex_lock(&w->lock);
    enum status st = find_pool(w, scratch, i->scratch_bytes, "scratch", &o->scratch);
    if (st == ST_OK)
        st = find_pool(w, persistent, i->persistent_bytes, "persistent", &o->persistent);
    if (st == ST_OK)
        st = find_pool(w, spill, i->spill_fill_bytes, "spill-fill", &o->spill);
    pthread_mutex_unlock(&w->lock);
    TRY(st);
    RETURN_IF(overlap(o->scratch, i->scratch_bytes, o->persistent, i->persistent_bytes), ST_INVALID_ARG,
              "scratch and persistent memory overlap");
    RETURN_IF(overlap(o->scratch, i->scratch_bytes, o->spill, i->spill_fill_bytes) ||
                  overlap(o->persistent, i->persistent_bytes, o->spill, i->spill_fill_bytes),
              ST_INVALID_ARG, "the spill-fill buffer overlaps with scratch or persistent memory");
    return ST_OK;
}

void worker_pool_hold(struct worker *w, uint32_t map)
{
    if (map)
        worker_map_find(w, map)->pools++;
}

void worker_pool_drop(struct worker *w, uint32_t map)
{
    if (map)
        worker_map_find(w, map)->pools--;
}

/* With the lock, and no run of the program going on. */
static enum status replace_scratch(struct worker *w, struct worker_program *p, struct rpc_pool pool)
{
    void *at;
    RETURN_IF(!p->scratch || !pool.map, ST_INVALID_ARG,
              "program %u computes in memory of the session's own; scratch can be replaced by another mapping only", p->id);
    TRY(find_pool(w, pool, p->g->info.scratch_bytes, "scratch", &at));
    worker_pool_hold(w, pool.map);
    worker_pool_drop(w, p->scratch);
    p->scratch = pool.map;
    p->paused = 0;
    exec_set_scratch(p->exec, at);
    return ST_OK;
}

/* The same for the spill-fill buffer, which nobody's bytes outlive a run in; so several programs may have the same one, and
 * take turns. */
static enum status replace_spill(struct worker *w, struct worker_program *p, struct rpc_pool pool)
{
    void *at;
    RETURN_IF(p->paused, ST_IN_USE, "program %u is paused; its spill-fill buffer is in use", p->id);
    uint64_t own = shared_pages(p->g->info.spill_fill_bytes), before = p->spill ? 0 : own, after = pool.map ? 0 : own;
    TRY(find_pool(w, pool, p->g->info.spill_fill_bytes, "spill-fill", &at));
    if (after > before)
        TRY(worker_charge(w, after, "a spill-fill buffer"));
    TRY(exec_set_spill(p->exec, at));
    p->heap_bytes = p->heap_bytes - before + after;
    w->heap_bytes = w->heap_bytes - before + after;
    worker_pool_hold(w, pool.map);
    worker_pool_drop(w, p->spill);
    p->spill = pool.map;
    return ST_OK;
}

/* And for the copy of its fast memory while it waits. */
static enum status replace_backup(struct worker *w, struct worker_program *p, struct rpc_pool pool)
{
    void *at;
    TRY(find_pool(w, pool, p->g->info.vtcm_used, "VTCM backup", &at));
    worker_pool_hold(w, pool.map);
    worker_pool_drop(w, p->backup);
    p->backup = pool.map;
    p->backup_at = at;
    return ST_OK;
}

/* A program that has other constants in these bytes of the file. Graphs of one binary may have the same. */
static const struct worker_program *weights_in_the_way(struct worker *w, const struct worker_program *p,
                                                       const struct worker_map *m, uint64_t offset)
{
    for (size_t i = 0; i < w->programs.n; i++) {
        const struct worker_program *q = w->programs.at[i];
        const struct worker_map *n = q && q != p && q->weights ? worker_map_find(w, q->weights) : NULL;
        if (!n || n->device != m->device || n->inode != m->inode || offset >= q->weights_offset + q->g->constant_bytes ||
            q->weights_offset >= offset + p->g->constant_bytes)
            continue;
        if (q->g->constants != p->g->constants || q->weights_offset != offset)
            return q;
    }
    return NULL;
}

static enum status find_weights(struct worker *w, const struct worker_program *p, struct rpc_pool pool, void **ret)
{
    uint64_t bytes = p->g->constant_bytes;
    TRY(find_pool(w, pool, bytes, "weights", ret));
    const struct worker_map *m = pool.map ? worker_map_find(w, pool.map) : NULL;
    const struct worker_program *q = m ? weights_in_the_way(w, p, m, m->offset + pool.offset) : NULL;
    RETURN_IF(q, ST_INVALID_ARG,
              "weights of %llu bytes at offset %llu; those of graph \"%s\" are at offset %llu of the same memory",
              (unsigned long long)bytes, (unsigned long long)(m->offset + pool.offset), q->g->info.name,
              (unsigned long long)q->weights_offset);
    return ST_OK;
}

typedef enum status replace_fn(struct worker *w, struct worker_program *p, struct rpc_pool pool);

static enum status replace_idle(struct worker *w, const struct rpc_request *q, replace_fn *with)
{
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_find_idle(w, q->scratch.program);
    enum status st = p ? with(w, p, (struct rpc_pool){ q->scratch.map, q->scratch.offset }) : ST_OK;
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!p, ST_NOT_FOUND, "program %u is not one of this session", q->scratch.program);
    return st;
}

enum status worker_set_scratch(struct worker *w, const struct rpc_request *q)
{
    return replace_idle(w, q, replace_scratch);
}

enum status worker_set_spill(struct worker *w, const struct rpc_request *q)
{
    return replace_idle(w, q, replace_spill);
}

enum status worker_set_backup(struct worker *w, const struct rpc_request *q)
{
    return replace_idle(w, q, replace_backup);
}

/* Without the lock: it may take long. */
static enum status copy_weights(struct worker_program *p, void *to)
{
    /* Another graph may be reading the same ones. */
    if (to && memcmp(to, p->g->constants, p->g->constant_bytes) != 0)
        memcpy(to, p->g->constants, p->g->constant_bytes);
    p->weights_memory = to;
    TRY(exec_set_constants(p->exec, to));
    return worker_slices_constants(p);
}

enum status worker_set_weights(struct worker *w, const struct rpc_request *q)
{
    struct rpc_pool pool = { q->scratch.map, q->scratch.offset };
    void *at;
    pthread_mutex_lock(&w->lock);
    struct worker_program *p = worker_find_idle(w, q->scratch.program);
    enum status st = p ? find_weights(w, p, pool, &at) : ST_OK;
    if (p && st == ST_OK)
        p->runs++; /* keeps runs away */
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!p, ST_NOT_FOUND, "program %u is not one of this session", q->scratch.program);
    TRY(st);
    st = copy_weights(p, at);
    pthread_mutex_lock(&w->lock);
    if (st == ST_OK) {
        worker_pool_hold(w, pool.map);
        worker_pool_drop(w, p->weights);
        p->weights = pool.map;
        p->weights_offset = pool.map ? worker_map_find(w, pool.map)->offset + pool.offset : 0;
    }
    p->runs--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return st;
}

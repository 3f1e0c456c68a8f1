/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages of a session: mappings, and the way to worker_load.c for programs. All that is held is charged to the
 * session's address space; what would not fit is refused before anything is done. */
#include "rpc/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "rpc/rpc.h"
#include "rpc/rpc_shared.h"

enum { PAGE = 4096 };

/* ---- mappings --------------------------------------------------------------------------------------------------------- */

struct worker_map *worker_map_find(struct worker *w, uint32_t id)
{
    uint32_t index = id & ((1u << RPC_INDEX_BITS) - 1);
    if (index >= w->maps.n || !w->maps.at[index].used || w->maps.at[index].generation != id >> RPC_INDEX_BITS)
        return NULL;
    return &w->maps.at[index];
}

/* 1 … 65534: no id is ever RPC_NONE or 0. */
uint32_t worker_generation(struct worker *w)
{
    return w->generation = w->generation % ((1u << RPC_INDEX_BITS) - 2) + 1;
}

enum status worker_charge(struct worker *w, uint64_t bytes, const char *what)
{
    uint64_t used = w->mapped_bytes + w->heap_bytes, budget = w->hello.budget;
    RETURN_IF(budget && (bytes > budget || used > budget - bytes), ST_NO_MEMORY,
              "%s of %llu bytes does not fit: %llu of the session's %llu bytes of address space are in use (%llu mapped, "
              "%llu heap), %llu are free",
              what, (unsigned long long)bytes, (unsigned long long)used, (unsigned long long)budget,
              (unsigned long long)w->mapped_bytes, (unsigned long long)w->heap_bytes,
              (unsigned long long)(budget - (used < budget ? used : budget)));
    return ST_OK;
}

static enum status free_slot(struct worker *w, uint32_t *ret)
{
    for (*ret = 0; *ret < w->maps.n; ++*ret)
        if (!w->maps.at[*ret].used)
            return ST_OK;
    RETURN_IF(w->maps.n >= RPC_MAX_MAPS || !vec_push(&w->maps), ST_NO_MEMORY,
              "no memory for mapping number %zu of a session", w->maps.n + 1);
    return ST_OK;
}

static enum status map_request(const struct rpc_request *q, const int *fds, uint64_t inside, void **ret)
{
    if (!q->map.rest_bytes)
        return shared_map(fds[0], q->map.offset - inside, q->map.bytes + inside, q->map.writable, ret);
    RETURN_IF(q->map.writable, ST_INVALID_ARG, "a mapping of two parts is for reading only");
    return shared_map_joined(fds, (uint64_t[]){ q->map.offset, q->map.rest_offset },
                             (uint64_t[]){ q->map.bytes, q->map.rest_bytes }, ret);
}

/* Pages of a mapping become those of other memory. Its addresses are charged already. */
static enum status do_lay(struct worker *w, const struct rpc_request *q, int fd)
{
    uint64_t there;
    pthread_mutex_lock(&w->lock);
    struct worker_map *m = worker_map_find(w, q->map.over);
    uint64_t pages = m ? m->pages : 0;
    bool whole = m && m->data == m->at && !m->pools;
    pthread_mutex_unlock(&w->lock);

    RETURN_IF(!m, ST_NOT_FOUND, "mapping %u is not one of this session", q->map.over);
    RETURN_IF(!whole || q->map.writable || (q->map.at | q->map.offset | q->map.bytes) % PAGE || q->map.at > pages ||
                  q->map.bytes > pages - q->map.at || !q->map.bytes,
              ST_INVALID_ARG, "%llu bytes at %llu in place of %llu in a mapping of %llu; whole pages inside are expected",
              (unsigned long long)q->map.bytes, (unsigned long long)q->map.offset, (unsigned long long)q->map.at,
              (unsigned long long)pages);
    TRY(shared_fd_bytes(fd, &there));
    RETURN_IF(q->map.offset > there || q->map.bytes > there - q->map.offset, ST_MAPPING,
              "%llu bytes at offset %llu of a descriptor that has %llu", (unsigned long long)q->map.bytes,
              (unsigned long long)q->map.offset, (unsigned long long)there);

    void *at = mmap((uint8_t *)m->at + q->map.at, q->map.bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)q->map.offset);
    RETURN_IF(at == MAP_FAILED, ST_MAPPING, "%llu bytes could not be mapped: %s", (unsigned long long)q->map.bytes,
              strerrordesc_np(errno));
    return ST_OK;
}

/* Only the thread that handles control messages adds mappings: between the two locked parts nobody takes the slot or the
 * space. */
static enum status do_map(struct worker *w, const struct rpc_request *q, const int *fds, struct rpc_reply *r)
{
    uint64_t inside = q->map.offset % PAGE, bytes = q->map.bytes + q->map.rest_bytes, pages = shared_pages(bytes + inside);
    uint32_t slot = 0;
    void *at = NULL;
    RETURN_IF(!q->map.bytes || q->map.bytes > INT64_MAX - PAGE || q->map.offset > INT64_MAX - PAGE ||
                  q->map.rest_bytes > INT64_MAX - PAGE - q->map.bytes,
              ST_INVALID_ARG, "a mapping of %llu and %llu bytes at offset %llu", (unsigned long long)q->map.bytes,
              (unsigned long long)q->map.rest_bytes, (unsigned long long)q->map.offset);
    pthread_mutex_lock(&w->lock);
    enum status st = worker_charge(w, pages, "a mapping");
    if (st == ST_OK)
        st = free_slot(w, &slot);
    pthread_mutex_unlock(&w->lock);
    TRY(st);
    TRY(map_request(q, fds, inside, &at));
    pthread_mutex_lock(&w->lock);
    struct worker_map *m = &w->maps.at[slot];
    *m = (struct worker_map){ .used = true,
                              .generation = worker_generation(w),
                              .at = at,
                              .data = (uint8_t *)at + inside,
                              .bytes = bytes,
                              .pages = pages,
                              .writable = q->map.writable };
    shared_fd_file(fds[0], &m->device, &m->inode);
    m->offset = q->map.offset;
    w->mapped_bytes += pages;
    w->n_maps++;
    r->map.id = m->generation << RPC_INDEX_BITS | slot;
    pthread_mutex_unlock(&w->lock);
    return ST_OK;
}

/* Waits for runs that use it; a program that uses it is the client's mistake. */
static enum status do_unmap(struct worker *w, uint32_t id)
{
    struct worker_map *m, gone = { 0 };
    pthread_mutex_lock(&w->lock);
    while ((m = worker_map_find(w, id)) && m->runs)
        pthread_cond_wait(&w->changed, &w->lock);
    uint32_t programs = m ? m->programs : 0, pools = m ? m->pools : 0;
    if (m && !programs && !pools) {
        gone = *m;
        m->used = false;
        w->mapped_bytes -= gone.pages;
        w->n_maps--;
    }
    pthread_mutex_unlock(&w->lock);
    RETURN_IF(!m, ST_NOT_FOUND, "mapping %u is not one of this session", id);
    RETURN_IF(programs, ST_IN_USE, "mapping %u holds the binary of %u loaded graphs; unload them first", id, programs);
    RETURN_IF(pools, ST_IN_USE, "mapping %u is memory that %u loaded graphs compute in; unload them first", id, pools);
    shared_unmap(gone.at, gone.pages);
    return ST_OK;
}

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static enum status handle(struct worker *w, const struct rpc_request *q, const int *fds, struct rpc_reply *r)
{
    switch (q->type) {
    case RPC_MAP: return q->map.over ? do_lay(w, q, fds[0]) : do_map(w, q, fds, r);
    case RPC_UNMAP:
        return do_unmap(w, q->id);
    case RPC_LOAD:
        return worker_load(w, q, r);
    case RPC_AREA:
        return worker_area(w, q, fds[0]);
    case RPC_UNLOAD:
        return worker_unload(w, q->id);
    case RPC_SCRATCH:
        return worker_set_scratch(w, q);
    case RPC_SPILL:
        return worker_set_spill(w, q);
    case RPC_BACKUP:
        return worker_set_backup(w, q);
    case RPC_WEIGHTS:
        return worker_set_weights(w, q);
    case RPC_RESET:
        return worker_reset(w, q->id);
    }
    return status_fail(ST_COMMUNICATION, "a %s request to a session that is open", rpc_type_name(q->type));
}

void worker_set_signal(struct worker *w, const struct cancel *signal)
{
    atomic_store(&w->signal, signal);
}

void worker_handle(struct worker *w, const struct rpc_request *q, const int *fds, struct rpc_reply *ret)
{
    memset(ret, 0, sizeof(*ret));
    pthread_mutex_lock(&w->control);
    enum status st = handle(w, q, fds, ret);
    pthread_mutex_lock(&w->lock);
    ret->mapped_bytes = w->mapped_bytes;
    ret->heap_bytes = w->heap_bytes;
    ret->n_maps = w->n_maps;
    ret->n_programs = w->n_programs;
    pthread_mutex_unlock(&w->lock);
    pthread_mutex_unlock(&w->control);
    ret->magic = RPC_MAGIC;
    ret->type = q->type;
    ret->seq = q->seq;
    ret->status = st;
    if (st != ST_OK)
        strncpy(ret->text, status_text(), sizeof(ret->text) - 1);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

void worker_free(struct worker *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->programs.n; i++)
        worker_program_free(w->programs.at[i]);
    worker_packages_end(w);
    w->window_charged = 0;
    worker_window_close(w);
    for (size_t i = 0; i < w->maps.n; i++)
        if (w->maps.at[i].used) {
            if (w->maps.at[i].programs)
                binary_close(&w->maps.at[i].binary);
            shared_unmap(w->maps.at[i].at, w->maps.at[i].pages);
        }
    vec_finish(&w->programs);
    vec_finish(&w->maps);
    for (uint32_t i = 0; i < w->n_lanes; i++)
        team_free(w->lanes[i].team);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    pthread_mutex_destroy(&w->control);
    mem_free(w);
}

enum status worker_create(const struct rpc_hello *h, struct worker **ret)
{
    RETURN_IF(h->threads < 1 || h->threads > TEAM_MAX, ST_INVALID_ARG, "a session of %u threads; 1 to %d are allowed",
              h->threads, TEAM_MAX);
    RETURN_IF(h->lanes > RPC_MAX_LANES, ST_INVALID_ARG, "a session of %u lanes; at most %d are possible", h->lanes,
              RPC_MAX_LANES);
    struct worker *w = mem_new(struct worker);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for a session");
    w->hello = *h;
    pthread_mutex_init(&w->control, NULL);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    /* Threads are started now: a session may not start any once it is locked in. */
    enum status st = ST_OK;
    w->n_lanes = h->lanes ? h->lanes : 1;
    for (uint32_t i = 0; h->threads > 1 && st == ST_OK && i < w->n_lanes; i++)
        st = team_create(h->threads, &w->lanes[i].team);
    if (st != ST_OK) {
        worker_free(w);
        return st;
    }
    worker_nice_begin(w);
    *ret = w;
    return ST_OK;
}

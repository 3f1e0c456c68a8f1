/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch and persistent memory: is it what the plan needs, and does nobody else compute in it?
 *
 * Scratch may be shared by graphs that do not run at the same time; persistent memory belongs to one graph. All attached
 * graphs of the process are in one list, because clients share buffers between contexts. */
#include <stdio.h>
#include <string.h>

#include "backend/lpai/lpai_backend.h"
#include "base/forks.h"

static const struct {
    const char *name, *size, *option;
} words[POOL_COUNT] = {
    [POOL_SCRATCH] = { "scratch", "SCRATCH_MEM_SIZE", "SCRATCH_MEM" },
    [POOL_PERSISTENT] = { "persistent", "PERSISTENT_MEM_SIZE", "PERSISTENT_MEM" },
};

uint64_t lpai_pool_bytes(const struct backend_graph *g, enum lpai_pool k)
{
    const uint64_t bytes[POOL_COUNT] = {
        [POOL_SCRATCH] = g->g->info.scratch_bytes, [POOL_PERSISTENT] = g->g->info.persistent_bytes
    };
    return (bytes[k] + LPAI_ALIGN - 1) / LPAI_ALIGN * LPAI_ALIGN;
}

bool lpai_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a && b && a_bytes && b_bytes && (x <= y ? y - x < a_bytes : x - y < b_bytes);
}

static bool on_adsp(const struct backend_graph *g)
{
    return g->context->cfg.given && g->context->cfg.target == LPAI_ADSP;
}

static bool pools_overlap(const struct lpai_mem *a, const struct lpai_mem *b)
{
    return a->given && b->given && lpai_overlap(a->addr, a->size, b->addr, b->size);
}

bool lpai_is_island(const struct backend_graph *g)
{
    bool named = false;
    for (int i = 0; i < LPAI_ISLAND_MAX && g->context->island_graphs[i]; i++)
        named |= strcmp(g->context->island_graphs[i], g->g->info.name) == 0;
    return on_adsp(g) && (g->context->island || named);
}

/* A name that no graph has is a mistake that nobody would notice until DDR is off. */
enum status lpai_check_islands(const struct backend_context *c, const struct binary *b)
{
    char names[256] = "";
    for (uint32_t k = 0, used = 0; k < b->n_graphs && used < sizeof names; k++)
        used += (uint32_t)snprintf(names + used, sizeof names - used, "%s\"%s\"", k ? ", " : "", b->graphs[k].info.name);
    for (int i = 0; i < LPAI_ISLAND_MAX && c->island_graphs[i]; i++) {
        bool found = false;
        for (uint32_t k = 0; k < b->n_graphs; k++)
            found |= strcmp(c->island_graphs[i], b->graphs[k].info.name) == 0;
        RETURN_IF(!found, ST_INVALID_CONFIG, "ENABLE_ISLAND names graph \"%s\"; the context binary has %s",
                  c->island_graphs[i], names);
    }
    return ST_OK;
}

/* Only the ADSP has TCM; in island mode it has nothing else, since DDR is off. */
static enum status check_type(const struct backend_graph *g, enum lpai_pool k, const struct lpai_mem *m)
{
    RETURN_IF(m->tcm && !on_adsp(g), ST_INVALID_ARG,
              "graph \"%s\": the %s memory is said to be in TCM, which only the ADSP has; create the backend with HW_INFO "
              "for the ADSP, or give memory "
              "type 1 (DDR)",
              g->g->info.name, words[k].name);
    RETURN_IF(!m->tcm && m->size && lpai_is_island(g), ST_INVALID_ARG,
              "graph \"%s\" is enabled for island mode, where DDR is off; its %s memory must be in TCM (memory type 3)",
              g->g->info.name, words[k].name);
    return ST_OK;
}

static enum status check_pool(const struct backend_graph *g, enum lpai_pool k, const struct lpai_mem *m)
{
    const char *graph = g->g->info.name, *what = words[k].name;
    uint64_t need = lpai_pool_bytes(g, k);
    TRY(check_type(g, k, m));
    RETURN_IF(!m->addr && (need || m->size), ST_INVALID_ARG, "graph \"%s\": the %s memory is NULL; %llu bytes are needed",
              graph, what, (unsigned long long)need);
    if (!m->addr)
        return ST_OK;
    RETURN_IF(
        (uintptr_t)m->addr % LPAI_ALIGN, ST_INVALID_ARG,
        "graph \"%s\": the %s memory starts at %p; the address must be a multiple of %d (backend property ALIGNMENT_REQ)",
        graph, what, (void *)m->addr, LPAI_ALIGN);
    RETURN_IF(m->size < need, ST_INVALID_ARG,
              "graph \"%s\": the %s memory has %llu bytes; %llu are needed (graph property %s)", graph, what,
              (unsigned long long)m->size, (unsigned long long)need, words[k].size);
    RETURN_IF(
        m->size % LPAI_ALIGN, ST_INVALID_ARG,
        "graph \"%s\": the %s memory has %llu bytes; the size must be a multiple of %d (backend property ALIGNMENT_REQ)",
        graph, what, (unsigned long long)m->size, LPAI_ALIGN);
    RETURN_IF((uintptr_t)m->addr + m->size < (uintptr_t)m->addr, ST_INVALID_ARG,
              "graph \"%s\": the %s memory ends beyond the address space", graph, what);
    RETURN_IF(!lpai_writable(m->addr, need), ST_INVALID_ARG,
              "graph \"%s\": the %s memory at %p (%llu bytes) is not readable and writable; it must stay allocated until "
              "QnnContext_free",
              graph, what, (void *)m->addr, (unsigned long long)need);
    RETURN_IF(lpai_overlap(m->addr, m->size, g->binary->map, g->binary->size), ST_INVALID_ARG,
              "graph \"%s\": the %s memory overlaps the context binary, which is used in place", graph, what);
    return ST_OK;
}

enum status lpai_pools_check(const struct backend_graph *g, const struct lpai_settings *s)
{
    for (int k = 0; k < POOL_COUNT; k++)
        if (s->pool[k].given)
            TRY(check_pool(g, (enum lpai_pool)k, &s->pool[k]));
    RETURN_IF(
        pools_overlap(&s->pool[POOL_SCRATCH], &s->pool[POOL_PERSISTENT]), ST_INVALID_ARG,
        "graph \"%s\": scratch (%p, %llu bytes) and persistent memory (%p, %llu bytes) overlap; give two separate buffers",
        g->g->info.name, (void *)s->pool[POOL_SCRATCH].addr, (unsigned long long)s->pool[POOL_SCRATCH].size,
        (void *)s->pool[POOL_PERSISTENT].addr, (unsigned long long)s->pool[POOL_PERSISTENT].size);
    return ST_OK;
}

enum status lpai_pools_complete(const struct backend_graph *g, const struct lpai_settings *s)
{
    RETURN_IF(lpai_is_island(g) && !g->context->model_tcm, ST_PREPARE_FAILED,
              "graph \"%s\" is enabled for island mode, where DDR is off; its model must be in TCM too: load it into TCM "
              "and say so with the context option "
              "MODEL_BUFFER_MEM_TYPE 3",
              g->g->info.name);
    for (int k = 0; k < POOL_COUNT; k++) {
        uint64_t need = lpai_pool_bytes(g, (enum lpai_pool)k);
        RETURN_IF(need && !s->pool[k].given, ST_PREPARE_FAILED,
                  "graph \"%s\" needs %llu bytes of %s memory and has none; give them with QnnGraph_setConfig, option %s, "
                  "before QnnGraph_finalize",
                  g->g->info.name, (unsigned long long)need, words[k].name, words[k].option);
    }
    return ST_OK;
}

/* ---- the graphs of the process ---------------------------------------------------------------------------------------- */

static pthread_mutex_t claims_lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(claims_lock)
static struct lpai_claim *claims;
static struct {
    uint64_t bytes;
    unsigned buffers;
} tcm_models;

static enum status check_others(const struct backend_graph *g, const struct lpai_settings *s)
{
    for (const struct lpai_claim *c = claims; c; c = c->next) {
        if (c == &g->claim)
            continue;
        for (int k = 0; k < POOL_COUNT; k++)
            for (int j = 0; j < POOL_COUNT; j++)
                RETURN_IF((k == POOL_PERSISTENT || j == POOL_PERSISTENT) && pools_overlap(&s->pool[k], &c->pool[j]),
                          ST_INVALID_ARG,
                          "graph \"%s\": its %s memory overlaps the %s memory of graph \"%s\"; only scratch may be shared",
                          g->g->info.name, words[k].name, words[j].name, c->graph);
    }
    return ST_OK;
}

/* TCM that everybody but `g` holds, and `g` with these settings. Graphs with the same scratch hold it together. */
static enum status check_tcm(const struct backend_graph *g, const struct lpai_settings *s)
{
    uint64_t bytes = tcm_models.bytes;
    unsigned buffers = tcm_models.buffers;
    for (int k = 0; k < POOL_COUNT; k++) {
        bytes += s->pool[k].tcm ? s->pool[k].size : 0;
        buffers += s->pool[k].tcm && s->pool[k].size;
        for (const struct lpai_claim *c = claims; c; c = c->next) {
            bool shared = c->pool[k].addr == s->pool[k].addr;
            if (c == &g->claim || !c->pool[k].tcm || !c->pool[k].size || shared)
                continue;
            bytes += c->pool[k].size;
            buffers++;
        }
    }
    RETURN_IF(bytes > LPAI_TCM_BYTES || buffers > LPAI_TCM_BUFFERS, ST_INVALID_ARG,
              "graph \"%s\": with its memory %u buffers of %llu bytes would be in TCM; there is room for %d buffers of %d "
              "bytes together",
              g->g->info.name, buffers, (unsigned long long)bytes, LPAI_TCM_BUFFERS, LPAI_TCM_BYTES);
    return ST_OK;
}

enum status lpai_claim_model(struct backend_context *c, const struct binary *b)
{
    if (c->tcm_binary == b)
        return ST_OK;
    pthread_mutex_lock(&claims_lock);
    uint64_t total = tcm_models.bytes + b->size;
    unsigned buffers = tcm_models.buffers + 1;
    bool fits = total <= LPAI_TCM_BYTES && buffers <= LPAI_TCM_BUFFERS;
    if (fits) {
        tcm_models.bytes = total;
        tcm_models.buffers = buffers;
        c->tcm_bytes += b->size;
        c->tcm_models++;
        c->tcm_binary = b;
    }
    pthread_mutex_unlock(&claims_lock);
    RETURN_IF(!fits, ST_INVALID_CONFIG,
              "the model has %llu bytes; with it %u models of %llu bytes would be in TCM, which holds %d buffers of %d "
              "bytes together",
              (unsigned long long)b->size, buffers, (unsigned long long)total, LPAI_TCM_BUFFERS, LPAI_TCM_BYTES);
    return ST_OK;
}

void lpai_claim_model_drop(struct backend_context *c)
{
    pthread_mutex_lock(&claims_lock);
    tcm_models.bytes -= c->tcm_bytes;
    tcm_models.buffers -= c->tcm_models;
    pthread_mutex_unlock(&claims_lock);
}

enum status lpai_claim_pools(struct backend_graph *g, const struct lpai_settings *s)
{
    pthread_mutex_lock(&claims_lock);
    enum status st = check_others(g, s);
    if (st == ST_OK)
        st = check_tcm(g, s);
    if (st == ST_OK) {
        for (int k = 0; k < POOL_COUNT; k++)
            g->claim.pool[k] = s->pool[k];
        g->claim.graph = g->g->info.name;
        if (!g->claim.listed) {
            g->claim.next = claims;
            claims = &g->claim;
            g->claim.listed = true;
        }
    }
    pthread_mutex_unlock(&claims_lock);
    return st;
}

void lpai_claim_drop(struct backend_graph *g)
{
    pthread_mutex_lock(&claims_lock);
    for (struct lpai_claim **c = &claims; *c; c = &(*c)->next)
        if (*c == &g->claim) {
            *c = g->claim.next;
            break;
        }
    g->claim.listed = false;
    pthread_mutex_unlock(&claims_lock);
}

static enum status check_running(const struct backend_graph *g)
{
    for (const struct lpai_claim *c = claims; c; c = c->next)
        RETURN_IF(c != &g->claim && c->running && pools_overlap(&c->pool[POOL_SCRATCH], &g->claim.pool[POOL_SCRATCH]),
                  ST_NOT_PERMITTED,
                  "graph \"%s\" has the same scratch memory as graph \"%s\", which is running; graphs that run at the same "
                  "time need scratch of their own",
                  g->g->info.name, c->graph);
    return ST_OK;
}

bool lpai_scratch_is_own(const struct backend_graph *g)
{
    bool own = true;
    pthread_mutex_lock(&claims_lock);
    for (const struct lpai_claim *c = claims; c && own; c = c->next)
        own = c == &g->claim || !pools_overlap(&c->pool[POOL_SCRATCH], &g->claim.pool[POOL_SCRATCH]);
    pthread_mutex_unlock(&claims_lock);
    return own;
}

/* A few system calls, not one per page: a pool that is gone or was made read-only as a whole is noticed. */
static enum status check_still_there(const struct backend_graph *g, enum lpai_pool k)
{
    const struct lpai_mem *m = &g->claim.pool[k];
    uint64_t bytes = lpai_pool_bytes(g, k);
    const char *until = k == POOL_SCRATCH ? " or until another one is set" : "";
    RETURN_IF(!lpai_mapped(m->addr, bytes), ST_INVALID_ARG,
              "graph \"%s\": its %s memory at %p is not there any more; it must stay until QnnContext_free%s",
              g->g->info.name, words[k].name, (void *)m->addr, until);
    RETURN_IF(!lpai_ends_usable(m->addr, bytes, true), ST_INVALID_ARG,
              "graph \"%s\": its %s memory at %p (%llu bytes) cannot be written any more; it must stay writable until "
              "QnnContext_free%s",
              g->g->info.name, words[k].name, (void *)m->addr, (unsigned long long)bytes, until);
    return ST_OK;
}

enum status lpai_check_binary(const struct backend_graph *g)
{
    const struct binary *b = g->binary;
    if (!g->context->in_place)
        return ST_OK;

    RETURN_IF(!lpai_mapped(b->map, b->size) || !lpai_ends_usable(b->map, b->size, false), ST_INVALID_ARG,
              "graph \"%s\": its context binary at %p (%llu bytes) is not there any more; with the option PERSISTENT_BINARY "
              "it must stay, and stay readable, until QnnContext_free",
              g->g->info.name, b->map, (unsigned long long)b->size);
    return ST_OK;
}

enum status lpai_run_enter(struct backend_graph *g)
{
    TRY(lpai_check_binary(g));
    for (int k = 0; k < POOL_COUNT; k++)
        TRY(check_still_there(g, (enum lpai_pool)k));
    pthread_mutex_lock(&claims_lock);
    enum status st = check_running(g);
    if (st == ST_OK)
        g->claim.running = true;
    pthread_mutex_unlock(&claims_lock);
    return st;
}

void lpai_run_leave(struct backend_graph *g)
{
    pthread_mutex_lock(&claims_lock);
    g->claim.running = false;
    pthread_mutex_unlock(&claims_lock);
}

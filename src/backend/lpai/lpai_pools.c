/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch and persistent memory: is it what the plan needs, and does nobody else compute in it?
 *
 * Scratch may be shared by graphs that do not run at the same time; persistent memory belongs to one graph. All attached graphs of the process are
 * in one list, because clients share buffers between contexts. */
#include "backend/lpai/lpai_backend.h"

static const struct {
    const char *name, *size, *option;
} words[POOL_COUNT] = {
    [POOL_SCRATCH] = { "scratch", "SCRATCH_MEM_SIZE", "SCRATCH_MEM" },
    [POOL_PERSISTENT] = { "persistent", "PERSISTENT_MEM_SIZE", "PERSISTENT_MEM" },
};

uint64_t lpai_pool_bytes(const struct backend_graph *g, enum lpai_pool k)
{
    const uint64_t bytes[POOL_COUNT] = { [POOL_SCRATCH] = g->g->info.scratch_bytes, [POOL_PERSISTENT] = g->g->info.persistent_bytes };
    return (bytes[k] + LPAI_ALIGN - 1) / LPAI_ALIGN * LPAI_ALIGN;
}

bool lpai_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a && b && a_bytes && b_bytes && (x <= y ? y - x < a_bytes : x - y < b_bytes);
}

static bool pools_overlap(const struct lpai_mem *a, const struct lpai_mem *b)
{
    return a->given && b->given && lpai_overlap(a->addr, a->size, b->addr, b->size);
}

static enum status check_pool(const struct backend_graph *g, enum lpai_pool k, const struct lpai_mem *m)
{
    const char *graph = g->g->info.name, *what = words[k].name;
    uint64_t need = lpai_pool_bytes(g, k);
    RETURN_IF(!m->addr && (need || m->size), ST_INVALID_ARG, "graph \"%s\": the %s memory is NULL; %llu bytes are needed", graph, what,
              (unsigned long long)need);
    if (!m->addr)
        return ST_OK;
    RETURN_IF((uintptr_t)m->addr % LPAI_ALIGN, ST_INVALID_ARG,
              "graph \"%s\": the %s memory starts at %p; the address must be a multiple of %d (backend property ALIGNMENT_REQ)", graph, what,
              (void *)m->addr, LPAI_ALIGN);
    RETURN_IF(m->size < need, ST_INVALID_ARG, "graph \"%s\": the %s memory has %llu bytes; %llu are needed (graph property %s)", graph, what,
              (unsigned long long)m->size, (unsigned long long)need, words[k].size);
    RETURN_IF(m->size % LPAI_ALIGN, ST_INVALID_ARG,
              "graph \"%s\": the %s memory has %llu bytes; the size must be a multiple of %d (backend property ALIGNMENT_REQ)", graph, what,
              (unsigned long long)m->size, LPAI_ALIGN);
    RETURN_IF((uintptr_t)m->addr + m->size < (uintptr_t)m->addr, ST_INVALID_ARG, "graph \"%s\": the %s memory ends beyond the address space", graph, what);
    RETURN_IF(!lpai_writable(m->addr, need), ST_INVALID_ARG,
              "graph \"%s\": the %s memory at %p (%llu bytes) is not readable and writable; it must stay allocated until QnnContext_free", graph, what,
              (void *)m->addr, (unsigned long long)need);
    RETURN_IF(lpai_overlap(m->addr, m->size, g->binary->map, g->binary->size), ST_INVALID_ARG,
              "graph \"%s\": the %s memory overlaps the context binary, which is used in place", graph, what);
    return ST_OK;
}

enum status lpai_pools_check(const struct backend_graph *g, const struct lpai_settings *s)
{
    for (int k = 0; k < POOL_COUNT; k++)
        if (s->pool[k].given)
            TRY(check_pool(g, (enum lpai_pool)k, &s->pool[k]));
    RETURN_IF(pools_overlap(&s->pool[POOL_SCRATCH], &s->pool[POOL_PERSISTENT]), ST_INVALID_ARG,
              "graph \"%s\": scratch (%p, %llu bytes) and persistent memory (%p, %llu bytes) overlap; give two separate buffers", g->g->info.name,
              (void *)s->pool[POOL_SCRATCH].addr, (unsigned long long)s->pool[POOL_SCRATCH].size, (void *)s->pool[POOL_PERSISTENT].addr,
              (unsigned long long)s->pool[POOL_PERSISTENT].size);
    return ST_OK;
}

enum status lpai_pools_complete(const struct backend_graph *g, const struct lpai_settings *s)
{
    for (int k = 0; k < POOL_COUNT; k++) {
        uint64_t need = lpai_pool_bytes(g, (enum lpai_pool)k);
        RETURN_IF(need && !s->pool[k].given, ST_PREPARE_FAILED,
                  "graph \"%s\" needs %llu bytes of %s memory and has none; give them with QnnGraph_setConfig, option %s, before QnnGraph_finalize",
                  g->g->info.name, (unsigned long long)need, words[k].name, words[k].option);
    }
    return ST_OK;
}

/* ---- the graphs of the process ---------------------------------------------------------------------------------------------- */

static pthread_mutex_t claims_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lpai_claim *claims;

static enum status check_others(const struct backend_graph *g, const struct lpai_settings *s)
{
    for (const struct lpai_claim *c = claims; c; c = c->next) {
        if (c == &g->claim)
            continue;
        for (int k = 0; k < POOL_COUNT; k++)
            for (int j = 0; j < POOL_COUNT; j++)
                RETURN_IF((k == POOL_PERSISTENT || j == POOL_PERSISTENT) && pools_overlap(&s->pool[k], &c->pool[j]), ST_INVALID_ARG,
                          "graph \"%s\": its %s memory overlaps the %s memory of graph \"%s\"; only scratch may be shared", g->g->info.name,
                          words[k].name, words[j].name, c->graph);
    }
    return ST_OK;
}

enum status lpai_claim_pools(struct backend_graph *g, const struct lpai_settings *s)
{
    pthread_mutex_lock(&claims_lock);
    enum status st = check_others(g, s);
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
        RETURN_IF(c != &g->claim && c->running && pools_overlap(&c->pool[POOL_SCRATCH], &g->claim.pool[POOL_SCRATCH]), ST_NOT_PERMITTED,
                  "graph \"%s\" has the same scratch memory as graph \"%s\", which is running; graphs that run at the same time need scratch of their own",
                  g->g->info.name, c->graph);
    return ST_OK;
}

enum status lpai_run_enter(struct backend_graph *g)
{
    for (int k = 0; k < POOL_COUNT; k++)
        RETURN_IF(!lpai_mapped(g->claim.pool[k].addr, lpai_pool_bytes(g, (enum lpai_pool)k)), ST_INVALID_ARG,
                  "graph \"%s\": its %s memory at %p is not there any more; it must stay until QnnContext_free%s", g->g->info.name, words[k].name,
                  (void *)g->claim.pool[k].addr, k == POOL_SCRATCH ? " or until another one is set" : "");
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

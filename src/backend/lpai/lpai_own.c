/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of our own for graphs whose clients leave that to the library: they say how fast and where a graph is to run
 * (PERF_CFG, CORE_AFFINITY), and no word about memory. It is as if a client had given DDR of the sizes asked for: checked,
 * claimed and replaceable like that, and gone with the graph. Such a client does not ask for the alignment of buffers
 * either, so its inputs and outputs may be anywhere. */
#include "backend/lpai/lpai_backend.h"
#include "base/mem.h"

static bool left_to_us(const struct backend_graph *g, const struct lpai_settings *s)
{
    return s->perf_given && s->affinity_given && !s->pool[POOL_SCRATCH].given && !s->pool[POOL_PERSISTENT].given &&
           !lpai_is_island(g);
}

enum status lpai_own_make(struct backend_graph *g, const struct lpai_settings *s)
{
    if (!left_to_us(g, s))
        return ST_OK;
    for (int k = 0; k < POOL_COUNT; k++) {
        uint64_t need = (lpai_pool_bytes(g, (enum lpai_pool)k) + LPAI_ALIGN - 1) / LPAI_ALIGN * LPAI_ALIGN;
        if (!need)
            continue;
        g->own[k] = (struct lpai_mem){ .addr = mem_alloc_aligned(LPAI_ALIGN, need), .size = need, .given = true };
        if (!g->own[k].addr) {
            lpai_own_free(g);
            return status_fail(ST_NO_MEMORY, "graph \"%s\": no memory for %llu bytes that the client leaves to the library",
                               g->g->info.name, (unsigned long long)need);
        }
    }
    g->left_to_us = true;
    backend_log(
        BACKEND_INFO,
        "graph \"%s\": the client gives no memory; %llu bytes of scratch and %llu of persistent memory are the library's",
        g->g->info.name, (unsigned long long)g->own[POOL_SCRATCH].size, (unsigned long long)g->own[POOL_PERSISTENT].size);
    return ST_OK;
}

void lpai_own_fill(const struct backend_graph *g, struct lpai_settings *s)
{
    for (int k = 0; k < POOL_COUNT; k++)
        if (!s->pool[k].given)
            s->pool[k] = g->own[k];
}

void lpai_own_free(struct backend_graph *g)
{
    g->left_to_us = false;
    for (int k = 0; k < POOL_COUNT; k++) {
        mem_free(g->own[k].addr);
        g->own[k] = (struct lpai_mem){ 0 };
    }
}

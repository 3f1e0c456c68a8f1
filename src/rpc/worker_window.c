/* SPDX-License-Identifier: Apache-2.0 */
/* The fast memory of a session. A DSP has one VTCM, and the graphs of a session run one after the other, so all of them
 * compute in the same window, each from its beginning. It is as many addresses as the largest SoC has; memory stands behind
 * what graphs have touched. Behind it is room for what graphs have there that had to give way, as many as can wait at once
 * (worker_yield.c). */
#include <sys/mman.h>

#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

enum { WINDOW_MOST = 16 << 20 };
#define ALL_BYTES ((size_t)WINDOW_MOST * (1 + WORKER_MAX_WAITING))

static uint64_t need_of(const struct binary_graph *g)
{
    return shared_pages(g->info.vtcm_used);
}

/* Under lock: what the loaded graphs need, the largest of them. */
static uint64_t largest(const struct worker *w)
{
    uint64_t most = 0;
    for (size_t i = 0; i < w->programs.n; i++)
        if (w->programs.at[i] && need_of(w->programs.at[i]->g) > most)
            most = need_of(w->programs.at[i]->g);
    return most;
}

uint64_t worker_window_growth(const struct worker *w, const struct binary_graph *g)
{
    uint64_t need = need_of(g);
    return need > w->window.charged ? need - w->window.charged : 0;
}

enum status worker_window_open(struct worker *w, const struct binary_graph *g, void **ret)
{
    *ret = NULL;
    if (!g->info.vtcm_used)
        return ST_OK;
    RETURN_IF(g->info.vtcm_used > WINDOW_MOST, ST_NOT_SUPPORTED,
              "graph \"%s\" computes in %llu bytes of VTCM; no SoC has more than %d", g->info.name,
              (unsigned long long)g->info.vtcm_used, WINDOW_MOST);
    if (!w->window.at) {
        void *at = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        RETURN_IF(at == MAP_FAILED, ST_NO_MEMORY, "graph \"%s\": no memory for the session's VTCM", g->info.name);
        w->window.at = at;
    }
    *ret = w->window.at;
    return ST_OK;
}

uint8_t *worker_window_backup(struct worker *w)
{
    return w->window.at + (size_t)WINDOW_MOST * ++w->window.n_backups;
}

void worker_window_fit(struct worker *w)
{
    uint64_t need = largest(w);
    w->heap_bytes = w->heap_bytes - w->window.charged + need;
    w->window.charged = need;
}

void worker_window_close(struct worker *w)
{
    if (!w->window.at || w->window.charged)
        return;
    munmap(w->window.at, ALL_BYTES);
    w->window.at = NULL;
}

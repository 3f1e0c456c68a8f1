/* SPDX-License-Identifier: Apache-2.0 */
/* The fast memory of a session. A DSP has one VTCM, and the graphs of a lane run one after the other, so all of them
 * compute in the same window, each from where the client says. It is as many addresses as the largest SoC has; memory stands
 * behind what graphs have touched. Behind it is room for what graphs have there that had to give way, as many as can wait at
 * once (worker_yield.c). It is charged once, as on a device, however many lanes there are.
 *
 *     | a graph of a small part |            | a graph of the most of it, at the end |    neither is saved for the other */
#include <sys/mman.h>

#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

enum { WINDOW_ALIGN = 65536 };

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
    return need > w->window_charged ? need - w->window_charged : 0;
}

enum status worker_window_open(struct worker *w, uint32_t lane, const struct binary_graph *g, uint64_t begin, void **ret)
{
    struct worker_window *v = &w->lanes[lane].window;
    *ret = NULL;
    if (!g->info.vtcm_used)
        return ST_OK;
    RETURN_IF(g->info.vtcm_used > WORKER_WINDOW_MOST, ST_NOT_SUPPORTED,
              "graph \"%s\" computes in %llu bytes of VTCM; no SoC has more than %d", g->info.name,
              (unsigned long long)g->info.vtcm_used, WORKER_WINDOW_MOST);
    RETURN_IF(begin > WORKER_WINDOW_MOST - g->info.vtcm_used || begin % WINDOW_ALIGN, ST_INVALID_ARG,
              "graph \"%s\": its %llu bytes of VTCM begin at %llu; a multiple of %d is expected, within %d bytes",
              g->info.name, (unsigned long long)g->info.vtcm_used, (unsigned long long)begin, WINDOW_ALIGN,
              WORKER_WINDOW_MOST);
    if (!v->at) {
        const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        /* cppcheck-suppress invalidFunctionArg ; memory without a file has no descriptor */
        void *at = mmap(NULL, WORKER_WINDOW_BYTES, PROT_READ | PROT_WRITE, how, -1, 0);
        RETURN_IF(at == MAP_FAILED, ST_NO_MEMORY, "graph \"%s\": no memory for the session's VTCM", g->info.name);
        v->at = at;
    }
    *ret = v->at + begin;
    return ST_OK;
}

uint8_t *worker_window_backup(struct worker_window *v)
{
    return v->at + (size_t)WORKER_WINDOW_MOST * ++v->n_backups;
}

void worker_window_fit(struct worker *w)
{
    uint64_t need = largest(w);
    w->heap_bytes = w->heap_bytes - w->window_charged + need;
    w->window_charged = need;
}

void worker_window_close(struct worker *w)
{
    for (uint32_t i = 0; !w->window_charged && i < w->n_lanes; i++) {
        struct worker_window *v = &w->lanes[i].window;
        if (v->at)
            munmap(v->at, WORKER_WINDOW_BYTES);
        v->at = NULL;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that give way to others of higher priority. One that waits keeps everything but fast memory. What it has there is
 * saved when another one needs the room and not before, into the client's backup buffer if there is one, and put back before
 * it goes on. Where their parts of fast memory do not overlap, nothing is saved.
 *
 *     window     low computes | saved … | high computes | restored | low computes
 *     waiting                   low       low
 *
 * All of this happens on the threads that run programs, each for its lane. */
#include "base/clock.h"
#include "rpc/worker.h"

/* ---- who may run while others wait ------------------------------------------------------------------------------------ */

static bool same_memory(struct worker *w, uint32_t a, uint32_t b)
{
    const struct worker_map *x = a ? worker_map_find(w, a) : NULL, *y = b ? worker_map_find(w, b) : NULL;
    return x && y && x->device == y->device && x->inode == y->inode;
}

/* Scratch and spill-fill buffers of the client may serve several programs that take turns; one that waits is not done with
 * them. */
static bool share(struct worker *w, const struct worker_program *p, const struct worker_program *q)
{
    const uint32_t a[] = { p->scratch, p->persistent, p->spill }, b[] = { q->scratch, q->persistent, q->spill };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (same_memory(w, a[i], b[k]))
                return true;
    return false;
}

bool worker_shares(struct worker *w, const struct worker_program *p)
{
    for (size_t i = 0; i < w->programs.n; i++) {
        const struct worker_program *q = w->programs.at[i];
        if (q && q != p && q->running && share(w, q, p))
            return true;
    }
    return false;
}

bool worker_may_interrupt(struct worker *w, const struct worker_program *p, uint32_t program)
{
    pthread_mutex_lock(&w->lock);
    const struct worker_program *q = worker_program_find(w, program);
    bool may = q && w->lanes[p->lane].window.n_waiting < WORKER_MAX_WAITING && !worker_shares(w, q);
    pthread_mutex_unlock(&w->lock);
    return may;
}

/* ---- fast memory ------------------------------------------------------------------------------------------------------ */

/* Under lock. The client may have given the same buffer to several contexts; the second one that has to wait is saved in
 * memory of the session. */
static bool backup_is_taken(struct worker *w, const struct worker_program *p)
{
    for (uint32_t lane = 0; lane < w->n_lanes; lane++)
        for (uint32_t i = 0; i < w->lanes[lane].window.n_waiting; i++) {
            const struct worker_program *q = w->lanes[lane].window.waiting[i];
            if (q != p && q->away.saved && q->away.saved == q->backup_at && same_memory(w, p->backup, q->backup))
                return true;
        }
    return false;
}

static void find_backup(struct worker *w, struct worker_program *p)
{
    pthread_mutex_lock(&w->lock);
    p->away.saved = p->backup && !backup_is_taken(w, p) ? p->backup_at : worker_window_backup(&w->lanes[p->lane].window);
    pthread_mutex_unlock(&w->lock);
}

/* Where a program may have tensors: the part that it asked for, or what it takes, if that is more. */
static uint64_t window_end(const struct worker_program *p)
{
    const struct binary_graph_info *i = &p->g->info;
    return p->window_at + (i->vtcm_bytes > i->vtcm_used ? i->vtcm_bytes : i->vtcm_used);
}

static bool overlap(const struct worker_program *p, const struct worker_program *q)
{
    return p->window_at < window_end(q) && q->window_at < window_end(p);
}

static void save(struct worker *w, struct worker_program *p)
{
    uint64_t begin = clock_ns();

    find_backup(w, p);
    p->yields.saved_bytes += exec_save_window(p->exec, p->away.step, p->away.saved);
    p->away.release_ns = clock_ns() - begin;
}

/* Only the thread of the lane changes the list. */
void worker_window_claim(struct worker *w, struct worker_program *p)
{
    struct worker_window *v = &w->lanes[p->lane].window;

    for (uint32_t i = 0; p->g->info.vtcm_used && i < v->n_waiting; i++) {
        struct worker_program *q = v->waiting[i];

        if (!q->g->info.vtcm_used || q->away.saved)
            continue;
        if (overlap(p, q))
            save(w, q);
        else
            q->yields.shared++;
    }
}

/* ---- waiting and going on --------------------------------------------------------------------------------------------- */

void worker_yield(struct worker *w, struct worker_program *p, uint32_t step)
{
    struct worker_window *v = &w->lanes[p->lane].window;
    pthread_mutex_lock(&w->lock);
    p->away = (struct worker_away){ .step = step, .since_ns = clock_ns() };
    p->yields.count++;
    v->waiting[v->n_waiting++] = p;
    pthread_mutex_unlock(&w->lock);
}

void worker_resume(struct worker *w, struct worker_program *p)
{
    uint64_t begin = clock_ns();
    struct worker_window *v = &w->lanes[p->lane].window;
    worker_nice_use(w, p);
    if (p->away.saved)
        exec_restore_window(p->exec, p->away.step, p->away.saved);
    pthread_mutex_lock(&w->lock);
    v->n_waiting--;
    if (p->away.saved && p->away.saved != p->backup_at)
        v->n_backups--; /* the last one: who waited first goes on last */
    p->away.saved = NULL;
    pthread_mutex_unlock(&w->lock);
    p->yields.release_ns += p->away.release_ns;
    p->yields.wait_ns += begin - p->away.since_ns - p->away.release_ns;
    p->yields.restore_ns += clock_ns() - begin;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that give way to others of higher priority. Who waits keeps everything but fast memory, which belongs to the one that
 * computes. What the owner has there is saved when somebody else needs the room and not before, into the client's backup
 * buffer if there is one, and put back before the owner goes on.
 *
 *     window     low computes | saved … | high computes | restored | low computes
 *     waiting                   low       low
 *
 * All of this happens on the thread that runs programs. */
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

bool worker_may_interrupt(struct worker *w, const struct worker_program *p, uint32_t program)
{
    const struct worker_window *v = &w->window;
    pthread_mutex_lock(&w->lock);
    const struct worker_program *q = worker_program_find(w, program);
    bool may = q && v->n_waiting < WORKER_MAX_WAITING && !share(w, p, q);
    for (uint32_t i = 0; may && i < v->n_waiting; i++)
        may = !share(w, v->waiting[i], q);
    pthread_mutex_unlock(&w->lock);
    return may;
}

/* ---- fast memory ------------------------------------------------------------------------------------------------------ */

/* The client may have given the same buffer to several contexts; the second one that has to wait is saved in memory of the
 * session. */
static uint8_t *backup_for(struct worker *w, const struct worker_program *p)
{
    bool taken = !p->backup;
    pthread_mutex_lock(&w->lock);
    for (uint32_t i = 0; !taken && i < w->window.n_waiting; i++) {
        const struct worker_program *q = w->window.waiting[i];
        taken = q != p && q->away.saved && q->away.saved == q->backup_at && same_memory(w, p->backup, q->backup);
    }
    pthread_mutex_unlock(&w->lock);
    return taken ? worker_window_backup(w) : p->backup_at;
}

void worker_window_claim(struct worker *w, struct worker_program *p)
{
    struct worker_program *o = w->window.owner;
    if (!p->g->info.vtcm_used || o == p)
        return;
    if (o) {
        uint64_t begin = clock_ns();
        o->away.saved = backup_for(w, o);
        o->yields.saved_bytes += exec_save_window(o->exec, o->away.step, o->away.saved);
        o->away.release_ns = clock_ns() - begin;
    }
    w->window.owner = p;
}

void worker_window_leave(struct worker *w, const struct worker_program *p)
{
    if (w->window.owner == p)
        w->window.owner = NULL;
}

/* ---- waiting and going on --------------------------------------------------------------------------------------------- */

void worker_yield(struct worker *w, struct worker_program *p, uint32_t step)
{
    p->away = (struct worker_away){ .step = step, .since_ns = clock_ns() };
    p->yields.count++;
    w->window.waiting[w->window.n_waiting++] = p;
}

void worker_resume(struct worker *w, struct worker_program *p)
{
    uint64_t begin = clock_ns();
    w->window.n_waiting--;
    if (p->away.saved) {
        exec_restore_window(p->exec, p->away.step, p->away.saved);
        w->window.owner = p;
        if (p->away.saved != p->backup_at)
            w->window.n_backups--; /* the last one: who waited first goes on last */
        p->away.saved = NULL;
    }
    p->yields.release_ns += p->away.release_ns;
    p->yields.wait_ns += begin - p->away.since_ns - p->away.release_ns;
    p->yields.restore_ns += clock_ns() - begin;
}

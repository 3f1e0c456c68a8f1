/* SPDX-License-Identifier: Apache-2.0 */
/* Control calls of the client's side. After any misunderstanding the session is ended: a peer that answers with something
 * else cannot be trusted with the next message, and the client recovers from a dead session anyway. */
#include "rpc/rpc_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel_lock.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "rpc/rpc_fault.h"
#include "rpc/rpc_shared.h"

#define NS_PER_MS UINT64_C(1000000)

/* ---- messages --------------------------------------------------------------------------------------------------------- */

enum status link_lost(struct rpc_session *s, const char *why)
{
    char first_why[STATUS_TEXT_MAX];

    pthread_mutex_lock(&s->lock);
    bool first = !atomic_load(&s->dead);
    if (first) {
        snprintf(s->why, sizeof(s->why), "%s", why);
        atomic_store(&s->dead, true);
    }
    strcpy(first_why, s->why);
    pthread_mutex_unlock(&s->lock);

    if (first)
        s->t->cut(s);
    return status_fail(ST_COMMUNICATION, "process %d: %s", (int)s->pid, first_why);
}

enum status link_watch(struct rpc_session *s, struct rpc_watch *watch, const char *what, uint64_t limit_ns)
{
    if (!limit_ns)
        return ST_OK;

    uint64_t silent_ns = watch_look(watch, &s->common->heartbeat, clock_ns());
    RETURN_IF(silent_ns >= limit_ns, ST_COMMUNICATION,
              "no sign of life for %llu ms, waiting for %s, and it was killed; the limit is %llu ms, which "
              "OPENQNN_SESSION_TIMEOUT changes, 0 to wait for ever",
              (unsigned long long)(silent_ns / NS_PER_MS), what, (unsigned long long)(limit_ns / NS_PER_MS));
    return ST_OK;
}

enum status link_check(struct rpc_session *s)
{
    RETURN_IF(s->owner != getpid(), ST_COMMUNICATION, "the session belongs to process %d; a forked child (%d) opens its own",
              (int)s->owner, (int)getpid());
    if (atomic_load(&s->dead))
        return link_lost(s, "it has ended");
    return ST_OK;
}

static enum status send_and_check(struct rpc_session *s, const struct rpc_request *q, const int *fds, unsigned n_fds,
                                  struct rpc_reply *ret)
{
    struct rpc_reply answer;
    size_t n = 0;
    struct fault_hit fault = fault_message();
    enum status st = s->t->exchange(s, q, fault.truncate ? sizeof(*q) / 2 : sizeof(*q), fds, n_fds, &answer, &n);
    if (fault.kill)
        return link_fault(s, fault.restart);
    s->owes = st == ST_ABORTED || st == ST_TIMED_OUT;
    s->owed = *q;
    TRY(st);
    return rpc_reply_check(&answer, n, q, ret);
}

/* With control locked. */
static enum status exchange_now(struct rpc_session *s, struct rpc_request *q, const int *fds, unsigned n_fds,
                                const struct cancel *cancel, struct rpc_reply *ret)
{
    TRY(link_check(s)); /* it may have died with the message before this one */
    memset(ret, 0, sizeof(*ret));
    if (link_put_off(s, q))
        return ST_OK;

    s->cancel = cancel;
    enum status st = link_settle(s);
    if (st == ST_OK) {
        link_set_signal(s, cancel);
        q->magic = RPC_MAGIC;
        q->seq = ++s->seq;
        st = send_and_check(s, q, fds, n_fds, ret);
    }
    s->cancel = NULL;
    TRY(st);

    pthread_mutex_lock(&s->lock);
    s->usage.mapped_bytes = ret->mapped_bytes;
    s->usage.heap_bytes = ret->heap_bytes;
    s->usage.malloc_bytes = ret->malloc_bytes;
    s->usage.n_maps = ret->n_maps;
    s->usage.n_programs = ret->n_programs;
    pthread_mutex_unlock(&s->lock);
    return ST_OK;
}

enum status link_exchange_until(struct rpc_session *s, struct rpc_request *q, const int *fds, unsigned n_fds,
                                const struct cancel *cancel, struct rpc_reply *ret)
{
    TRY(link_check(s));
    enum status st = cancel_lock(&s->control, cancel);
    RETURN_IF(st != ST_OK, st, "the call was ended by its signal before the session was asked");
    st = exchange_now(s, q, fds, n_fds, cancel, ret);
    pthread_mutex_unlock(&s->control);
    if (st == ST_OK && ret->status != ST_OK)
        st = status_fail((enum status)ret->status, "%s", ret->text);
    if (st == ST_COMMUNICATION && !atomic_load(&s->dead)) {
        char why[STATUS_TEXT_MAX];
        strcpy(why, status_text());
        return link_lost(s, why);
    }
    return st;
}

enum status link_exchange(struct rpc_session *s, struct rpc_request *q, struct rpc_reply *ret)
{
    return link_exchange_until(s, q, NULL, 0, NULL, ret);
}

/* ---- mappings --------------------------------------------------------------------------------------------------------- */

enum status link_map_with(struct rpc_session *s, struct rpc_mapping *m)
{
    uint64_t there;
    TRY(link_check(s));
    TRY(shared_fd_bytes(m->fd, &there)); /* a descriptor that is not open cannot be sent */
    RETURN_IF(fault_refuse(FAULT_REFUSE_MAP), ST_MAPPING, "a mapping of %llu bytes: refused by OPENQNN_FAULT",
              (unsigned long long)m->bytes);
    struct rpc_request q = { .type = RPC_MAP };
    q.map.offset = m->offset;
    q.map.bytes = m->bytes;
    q.map.writable = m->writable;
    q.map.over = m->over;
    q.map.at = m->at;
    struct rpc_reply r;
    TRY(link_exchange_until(s, &q, &m->fd, 1, m->cancel, &r));
    m->map = r.map.id;
    return ST_OK;
}

enum status link_map(struct rpc_session *s, int fd, uint64_t offset, uint64_t bytes, bool writable, uint32_t *ret)
{
    struct rpc_mapping m = { .fd = fd, .offset = offset, .bytes = bytes, .writable = writable };

    TRY(link_map_with(s, &m));
    *ret = m.map;
    return ST_OK;
}

enum status link_map_joined(struct rpc_session *s, const struct rpc_piece *head, const struct rpc_piece *rest,
                            const struct cancel *signal, uint32_t *ret)
{
    uint64_t there;
    int fds[] = { head->fd, rest->fd };
    TRY(link_check(s));
    for (int i = 0; i < 2; i++)
        TRY(shared_fd_bytes(fds[i], &there));
    RETURN_IF(fault_refuse(FAULT_REFUSE_MAP), ST_MAPPING, "a mapping of %llu bytes: refused by OPENQNN_FAULT",
              (unsigned long long)(head->bytes + rest->bytes));

    struct rpc_request q = { .type = RPC_MAP };
    q.map.offset = head->offset;
    q.map.bytes = head->bytes;
    q.map.rest_offset = rest->offset;
    q.map.rest_bytes = rest->bytes;
    struct rpc_reply r;
    TRY(link_exchange_until(s, &q, fds, 2, signal, &r));
    *ret = r.map.id;
    return ST_OK;
}

static enum status by_id(struct rpc_session *s, enum rpc_type type, uint32_t id)
{
    struct rpc_request q = { .type = type };
    struct rpc_reply r;
    q.id = id;
    return link_exchange(s, &q, &r);
}

enum status link_unmap(struct rpc_session *s, uint32_t map)
{
    return by_id(s, RPC_UNMAP, map);
}

/* ---- programs --------------------------------------------------------------------------------------------------------- */

struct link_program *link_program_find(struct rpc_session *s, uint32_t id)
{
    for (size_t i = 0; i < s->programs.n; i++)
        if (s->programs.at[i]->id == id)
            return s->programs.at[i];
    return NULL;
}

static void program_free(struct link_program *p)
{
    if (p)
        shared_unmap(p->area, p->area_bytes);
    mem_free(p);
}

/* The area is the client's memory: the session cannot take it away or make it smaller. */
static enum status give_area(struct rpc_session *s, struct link_program *p, const struct cancel *cancel)
{
    int fd;
    void *at;
    TRY(shared_create("qnn-run", p->area_bytes, &fd));
    enum status st = shared_map(fd, 0, p->area_bytes, true, &at);
    if (st == ST_OK) {
        p->area = at;
        struct rpc_request q = { .type = RPC_AREA };
        struct rpc_reply r;
        q.area.program = p->id;
        q.area.bytes = p->area_bytes;
        st = link_exchange_until(s, &q, &fd, 1, cancel, &r);
    }
    close(fd);
    return st;
}

static enum status add_program(struct rpc_session *s, const struct rpc_reply *r, const struct cancel *cancel)
{
    struct link_program *p = mem_new(struct link_program);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory to load a graph");
    p->id = r->load.program;
    p->n_io = r->load.n_io;
    p->max_marks = r->load.max_marks;
    p->ring = &s->rings[r->load.lane];
    p->area_bytes = rpc_area_bytes(p->n_io, p->max_marks);
    enum status st = give_area(s, p, cancel);
    if (st == ST_OK) {
        pthread_mutex_lock(&s->lock);
        struct link_program **slot = vec_push(&s->programs);
        if (slot)
            *slot = p;
        else
            st = status_fail(ST_NO_MEMORY, "no memory to load a graph");
        pthread_mutex_unlock(&s->lock);
    }
    if (st != ST_OK)
        program_free(p);
    return st;
}

enum status link_load(struct rpc_session *s, struct rpc_load *l)
{
    uint64_t begin = clock_ns();
    struct rpc_request q = { .type = RPC_LOAD };
    struct rpc_reply r;
    q.load.map = l->map;
    q.load.graph = l->graph;
    q.load.bytes = l->bytes;
    q.load.serial = l->serial;
    q.load.window_at = l->window_at;
    q.load.scratch_map = l->scratch.map;
    q.load.scratch_offset = l->scratch.offset;
    q.load.persistent_map = l->persistent.map;
    q.load.persistent_offset = l->persistent.offset;
    q.load.spill_map = l->spill.map;
    q.load.spill_offset = l->spill.offset;
    TRY(link_exchange_until(s, &q, NULL, 0, l->cancel, &r));
    if (r.load.lane >= s->lanes)
        return link_lost(s, "it loaded a graph for a lane that there is not");
    enum status st = add_program(s, &r, l->cancel);
    if (st != ST_OK) {
        char why[STATUS_TEXT_MAX];
        strcpy(why, status_text());
        by_id(s, RPC_UNLOAD, r.load.program);
        return status_fail(st, "%s", why);
    }
    l->program = r.load.program;
    l->heap_bytes = r.load.heap_bytes;
    l->worker_ns = r.load.worker_ns;
    l->rpc_ns = clock_ns() - begin;
    return ST_OK;
}

enum status link_unload(struct rpc_session *s, uint32_t program)
{
    struct link_program *p;
    TRY(link_check(s));
    pthread_mutex_lock(&s->lock);
    while ((p = link_program_find(s, program)) && p->busy)
        pthread_cond_wait(&s->turn, &s->lock);
    if (p) {
        size_t i = 0;
        while (s->programs.at[i] != p)
            i++;
        s->programs.at[i] = s->programs.at[--s->programs.n];
    }
    pthread_mutex_unlock(&s->lock);
    RETURN_IF(!p, ST_NOT_FOUND, "program %u is not one of this session", program);
    program_free(p);
    return by_id(s, RPC_UNLOAD, program);
}

static enum status set_pool(struct rpc_session *s, enum rpc_type type, uint32_t program, struct rpc_pool pool)
{
    struct rpc_request q = { .type = type };
    struct rpc_reply r;
    q.scratch.program = program;
    q.scratch.map = pool.map;
    q.scratch.offset = pool.offset;
    return link_exchange(s, &q, &r);
}

enum status link_set_scratch(struct rpc_session *s, uint32_t program, struct rpc_pool scratch)
{
    return set_pool(s, RPC_SCRATCH, program, scratch);
}

enum status link_set_spill(struct rpc_session *s, uint32_t program, struct rpc_pool spill)
{
    return set_pool(s, RPC_SPILL, program, spill);
}

enum status link_set_backup(struct rpc_session *s, uint32_t program, struct rpc_pool backup)
{
    return set_pool(s, RPC_BACKUP, program, backup);
}

enum status link_set_weights(struct rpc_session *s, uint32_t program, struct rpc_pool weights)
{
    return set_pool(s, RPC_WEIGHTS, program, weights);
}

enum status link_reset(struct rpc_session *s, uint32_t program)
{
    return by_id(s, RPC_RESET, program);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

/* All that are open through this library. A session stays in the list until it is closed, also when it is dead. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rpc_session *list;

static void list_add(struct rpc_session *s)
{
    pthread_mutex_lock(&list_lock);
    s->next = list;
    list = s;
    pthread_mutex_unlock(&list_lock);
}

static void list_remove(struct rpc_session *s)
{
    pthread_mutex_lock(&list_lock);
    struct rpc_session **at = &list;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    pthread_mutex_unlock(&list_lock);
}

/* With the session's lock. */
static bool runs_something(const struct rpc_session *s)
{
    for (size_t i = 0; i < s->programs.n; i++)
        if (s->programs.at[i]->busy)
            return true;
    return false;
}

/* Ends a session that no thread uses. Its memory stays: threads that outlive the end of main may still look at it. */
static void abandon(struct rpc_session *s)
{
    if (s->owner != getpid()) /* the parent's */
        return;
    if (pthread_mutex_trylock(&s->control) != 0)
        return;

    pthread_mutex_lock(&s->lock);
    bool idle = !runs_something(s);
    if (idle && !atomic_exchange(&s->dead, true))
        strcpy(s->why, "it was ended with the library");
    pthread_mutex_unlock(&s->lock);

    if (idle)
        s->t->abandon(s);
    pthread_mutex_unlock(&s->control);
}

enum status link_fault(struct rpc_session *s, bool all)
{
    static const char restart[] = "the subsystem restarted, by OPENQNN_FAULT";
    if (!all)
        return link_lost(s, "killed by OPENQNN_FAULT");

    pthread_mutex_lock(&list_lock);
    for (struct rpc_session *other = list; other; other = other->next)
        if (other->owner == getpid())
            link_lost(other, restart);
    pthread_mutex_unlock(&list_lock);
    return link_lost(s, restart);
}

/* Destructors run when a library is unloaded, and at the end of a program, whose other threads may still be in a call. Those
 * are left alone, and nothing here waits for them. */
bool link_abandon_all(void)
{
    if (pthread_mutex_trylock(&list_lock) != 0)
        return false;

    bool none = !list;
    for (struct rpc_session *s = list; s; s = s->next)
        abandon(s);
    pthread_mutex_unlock(&list_lock);
    return none;
}

bool link_alive(struct rpc_session *s)
{
    if (s->owner != getpid() || atomic_load(&s->dead))
        return false;
    if (!s->t->lost(s))
        return true;
    link_lost(s, "it has ended");
    return false;
}

void link_usage(struct rpc_session *s, struct rpc_usage *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->usage;
    pthread_mutex_unlock(&s->lock);
    ret->pid = s->pid;
}

void link_close(struct rpc_session *s)
{
    if (!s)
        return;
    list_remove(s);
    s->t->stop(s);
    for (size_t i = 0; i < s->programs.n; i++)
        program_free(s->programs.at[i]);
    vec_finish(&s->programs);
    vec_finish(&s->later);
    shared_unmap(s->common, rpc_common_bytes(s->lanes));
    if (s->common_fd >= 0)
        close(s->common_fd);
    pthread_cond_destroy(&s->turn);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->control);
    mem_free(s);
}

static enum status init_turn(struct rpc_session *s)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&s->turn, &attr);
    pthread_condattr_destroy(&attr);
    RETURN_IF(failed, ST_SYSTEM, "a session's queue could not be made: %s", strerrordesc_np(failed));
    return ST_OK;
}

static enum status start(struct rpc_session *s, const struct rpc_session_opts *o)
{
    void *common;
    TRY(fault_read());
    TRY(watch_limit_read(&s->limit_ns));
    RETURN_IF(fault_refuse(FAULT_REFUSE_OPEN), ST_LOADING, "the session was not started: refused by OPENQNN_FAULT");
    TRY(shared_create("qnn-ring", rpc_common_bytes(s->lanes), &s->common_fd));
    TRY(shared_map(s->common_fd, 0, rpc_common_bytes(s->lanes), true, &common));
    s->common = common;
    s->rings = s->common->rings;
    return s->t->start(s, o);
}

enum status link_open(const struct rpc_transport *t, const char *build_id, const struct rpc_session_opts *o,
                      struct rpc_session **ret)
{
    struct rpc_session *s = mem_new(struct rpc_session);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a session");
    s->t = t;
    s->build_id = build_id;
    s->common_fd = s->sock = s->pidfd = -1;
    s->owner = getpid();
    s->cores = cpu_cores();
    s->lanes = !o->lanes ? 1 : o->lanes < RPC_MAX_LANES ? o->lanes : RPC_MAX_LANES;
    s->usage.budget = o->budget;
    enum status st = init_turn(s);
    if (st != ST_OK) {
        mem_free(s);
        return st;
    }
    pthread_mutex_init(&s->control, NULL);
    pthread_mutex_init(&s->lock, NULL);
    list_add(s);
    st = start(s, o);
    if (st != ST_OK) {
        link_close(s);
        return st;
    }
    *ret = s;
    return ST_OK;
}

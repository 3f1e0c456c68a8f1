/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program: write the call into its area, ring the bell, wait for the answer.
 *
 * Waiting is what the client voted for: spin for poll_us, or with adaptive polling sleep until the answer is about due and
 * spin then, and after that sleep on the call's state word. A sleeper wakes up now and then by itself, to look whether the
 * session is still there and whether the client's signal wants the run to end. With a vote for the latency it does so that
 * often: the kernel lets a core sleep no deeper than its next timer allows. Nothing is allocated. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "rpc/rpc_fault.h"
#include "rpc/rpc_link.h"
#include "rpc/rpc_shared.h"

enum {
    LOOK_NS = 20 * 1000000,     /* is the session still there? */
    LOOK_SIGNAL_NS = 1000000,   /* signals are flags that wake nobody */
    ADAPT_EARLY_NS = 60 * 1000, /* waking up takes this long at worst */
    SPIN_PART_NS = 20 * 1000,   /* while spinning, look at signals and cores this often */
    MAX_POLL_US = 10000,
    LEAST_NAP_NS = 50 * 1000, /* timers of the kernel are not more exact than this */
};

/* ---- one run of a program at a time ----------------------------------------------------------------------------------- */

static enum status stopped(const struct cancel *c)
{
    RETURN_IF(atomic_load_explicit(&c->abort, memory_order_relaxed), ST_ABORTED, "aborted by its signal before it began");
    RETURN_IF(c->deadline_ns && clock_ns() >= c->deadline_ns, ST_TIMED_OUT, "past the time of its signal before it began");
    return ST_OK;
}

static void wait_turn(struct rpc_session *s, uint64_t ns)
{
    uint64_t at = clock_ns() + ns;
    struct timespec t = { (time_t)(at / 1000000000), (long)(at % 1000000000) };
    pthread_cond_timedwait(&s->turn, &s->lock, &t);
}

static enum status take_turn(struct rpc_session *s, const struct rpc_run *r, struct link_program **ret)
{
    enum status st = ST_OK;
    struct link_program *p;
    pthread_mutex_lock(&s->lock);
    while ((p = link_program_find(s, r->program)) && p->busy && st == ST_OK) {
        wait_turn(s, LOOK_SIGNAL_NS);
        st = r->cancel ? stopped(r->cancel) : ST_OK;
    }
    if (p && st == ST_OK)
        p->busy = true;
    pthread_mutex_unlock(&s->lock);
    TRY(st);
    RETURN_IF(!p, ST_NOT_FOUND, "program %u is not one of this session", r->program);
    *ret = p;
    return ST_OK;
}

static void leave_turn(struct rpc_session *s, struct link_program *p)
{
    pthread_mutex_lock(&s->lock);
    p->busy = false;
    pthread_cond_broadcast(&s->turn);
    pthread_mutex_unlock(&s->lock);
}

/* ---- there ------------------------------------------------------------------------------------------------------------ */

static void write_call(struct link_program *p, const struct rpc_run *r)
{
    struct rpc_call *c = p->area;
    struct rpc_call_io *io = rpc_area_io(c);
    for (uint32_t i = 0; i < r->n_io; i++) {
        const struct rpc_io *from = &r->io[i];
        io[i].map = from->map;
        io[i].offset = from->offset;
        io[i].bytes = from->bytes;
        io[i].stride = from->stride;
        io[i].has_dims = from->dims != NULL;
        io[i].wants_dims = from->out_dims != NULL;
        if (from->dims)
            memcpy(io[i].dims, from->dims, from->rank * sizeof(uint32_t));
    }
    atomic_store(&c->cancel.abort, r->cancel ? atomic_load(&r->cancel->abort) : 0);
    c->cancel.deadline_ns = r->cancel ? r->cancel->deadline_ns : 0;
    atomic_store(&c->pause, r->pause ? atomic_load(r->pause) : 0);
    c->step = r->step;
    c->priority = r->priority;
    c->n_io = r->n_io;
    c->slices = r->slices ? r->slices : 1;
    c->hold = 0;
    c->profile_nodes = r->profile_nodes;
    c->status = ST_INTERNAL;
    c->submit_ns = clock_ns();
}

/* A call that was taken back, but that the session has not seen yet. */
static bool in_ring(const struct link_program *p, uint32_t tail)
{
    uint32_t head = atomic_load(&p->ring->head);
    return p->ring_at - head < tail - head && atomic_load(&p->ring->entries[p->ring_at % RPC_MAX_PROGRAMS]) == p->id;
}

/* The area is complete before its state says so, and the state before the ring does. */
static void submit(struct rpc_session *s, struct link_program *p)
{
    struct rpc_ring *ring = p->ring;
    atomic_store(&p->area->client_sleeps, 0);
    atomic_store(&p->area->state, CALL_QUEUED);
    pthread_mutex_lock(&s->lock);
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (!in_ring(p, tail)) {
        atomic_store(&ring->entries[tail % RPC_MAX_PROGRAMS], p->id);
        p->ring_at = tail;
        atomic_store(&ring->tail, tail + 1);
    }
    pthread_mutex_unlock(&s->lock);
    atomic_store_explicit(&ring->client_cpu, (uint32_t)sched_getcpu(), memory_order_relaxed);
    /* Behind the tail: whoever begins a run says so first, and looks there then. */
    if (p->area->priority > atomic_load(&ring->running))
        atomic_store(&ring->rang, 1);
    atomic_fetch_add(&ring->bell, 1);
    if (atomic_load(&ring->session_sleeps))
        shared_wake(&ring->bell);
}

/* ---- and back --------------------------------------------------------------------------------------------------------- */

/* The client's signal reaches a run through the area; a call that did not begin is taken back. True: taken back. The
 * deadline is in the area already. */
static bool pass_signal(struct rpc_call *c, const struct cancel *cancel)
{
    uint32_t queued = CALL_QUEUED;
    if (!cancel || stopped(cancel) == ST_OK)
        return false;
    atomic_store(&c->cancel.abort, atomic_load(&cancel->abort));
    return atomic_compare_exchange_strong(&c->state, &queued, CALL_IDLE);
}

static void sleep_once(struct rpc_call *c, uint32_t state, uint64_t ns)
{
    atomic_store(&c->client_sleeps, 1);
    if (atomic_load(&c->state) == state)
        shared_wait(&c->state, state, ns);
    atomic_store(&c->client_sleeps, 0);
}

/* When to start polling: at once, or with adaptive polling when the answer is about due. */
static uint64_t poll_begin(const struct link_program *p, const struct rpc_run *r, uint64_t poll_ns)
{
    uint64_t submit = p->area->submit_ns, early = poll_ns / 2 + ADAPT_EARLY_NS;
    return r->wait.adaptive && p->usual_ns > 2 * early ? submit + p->usual_ns - early : submit;
}

static uint64_t at_most(uint64_t ns, uint64_t most)
{
    return ns < most ? ns : most;
}

/* Spinning would keep the session from running. */
static bool same_core(const struct link_program *p)
{
    return atomic_load_explicit(&p->ring->session_cpu, memory_order_relaxed) == (uint32_t)sched_getcpu();
}

/* Is the session still there, and does it answer? A signal that has fired is not kept waiting as long as a run without. */
static enum status look_at_session(struct rpc_session *s, struct rpc_watch *watch, const struct cancel *cancel)
{
    bool fired = cancel && stopped(cancel) != ST_OK;
    const char *what = fired ? "a run after its signal" : "a run";
    uint64_t limit_ns = s->limit_ns;

    if (!link_alive(s))
        return link_lost(s, "it ended during a run");
    if (fired && limit_ns > WATCH_SIGNAL_NS)
        limit_ns = WATCH_SIGNAL_NS;

    enum status st = link_watch(s, watch, what, limit_ns);
    if (st == ST_OK)
        return ST_OK;

    char why[STATUS_TEXT_MAX];
    strcpy(why, status_text());
    return link_lost(s, why);
}

/* How long to sleep at a time. */
static uint64_t nap_ns(const struct rpc_run *r)
{
    uint64_t look = r->cancel || r->pause ? LOOK_SIGNAL_NS : LOOK_NS, nap = (uint64_t)r->wait.latency_us * 1000;

    if (!nap)
        return look;
    return at_most(nap < LEAST_NAP_NS ? LEAST_NAP_NS : nap, look);
}

static enum status await(struct rpc_session *s, struct link_program *p, struct rpc_run *r)
{
    struct rpc_call *c = p->area;
    struct rpc_watch watch;
    uint64_t poll_ns = s->cores > 1 ? at_most(r->wait.poll_us, MAX_POLL_US) * 1000 : 0;
    uint64_t begin = poll_begin(p, r, poll_ns), end = begin + poll_ns, look = nap_ns(r), looked = c->submit_ns;
    watch_begin(&watch, looked);
    for (uint32_t state; (state = atomic_load(&c->state)) != CALL_DONE;) {
        if (pass_signal(c, r->cancel))
            return stopped(r->cancel);
        if (r->pause && atomic_load(r->pause))
            atomic_store(&c->pause, 1);
        uint64_t now = clock_ns();
        if (now - looked > LOOK_NS) {
            looked = now;
            TRY(look_at_session(s, &watch, r->cancel));
        }
        bool poll = now >= begin && now < end && !same_core(p);
        r->polls += poll;
        r->sleeps += !poll;
        if (poll)
            shared_spin(&c->state, state, at_most(end - now, SPIN_PART_NS));
        else
            sleep_once(c, state, now < begin ? at_most(begin - now, look) : look);
    }
    return ST_OK;
}

static void take_results(struct link_program *p, struct rpc_run *r, uint32_t n_marks)
{
    struct rpc_call_io *io = rpc_area_io(p->area);
    for (uint32_t i = 0; i < r->n_io; i++) {
        if (r->io[i].out_dims)
            memcpy(r->io[i].out_dims, io[i].out_dims, r->io[i].rank * sizeof(uint32_t));
        if (r->io[i].produced)
            *r->io[i].produced = io[i].produced != 0;
    }
    r->n_marks = !r->marks ? 0 : n_marks < r->max_marks ? n_marks : r->max_marks;
    if (r->n_marks)
        memcpy(r->marks, rpc_area_marks(p->area, p->n_io), r->n_marks * sizeof(r->marks[0]));
}

enum status link_read_answer(struct rpc_session *s, struct link_program *p, struct rpc_run *r)
{
    struct rpc_call *c = p->area;
    uint32_t status = c->status, n_marks = c->n_marks;
    r->notice_ns = c->notice_ns;
    r->queue_ns = c->queue_ns;
    r->worker_ns = c->worker_ns;
    r->exec_ns = c->exec_ns;
    r->yields = c->yields;
    r->beside = c->beside;
    if (status >= ST_COUNT || n_marks > p->max_marks)
        return link_lost(s, "its answer makes no sense");
    if (status == ST_COMMUNICATION)
        return link_lost(s, "it did not understand a run");
    if (status == ST_OK || status == ST_ENDED_EARLY || status == ST_PAUSED)
        take_results(p, r, n_marks);
    r->step = status == ST_PAUSED ? c->step : 0;
    if (status == ST_OK)
        return ST_OK;
    char text[STATUS_TEXT_MAX];
    memcpy(text, c->text, sizeof(text));
    text[sizeof(text) - 1] = 0;
    return status_fail((enum status)status, "%s", text);
}

static enum status check_run(const struct link_program *p, const struct rpc_run *r)
{
    RETURN_IF(r->n_io != p->n_io, ST_INVALID_ARG, "a run with %u tensors; the program has %u", r->n_io, p->n_io);
    for (uint32_t i = 0; i < r->n_io; i++)
        RETURN_IF((r->io[i].dims || r->io[i].out_dims) && (!r->io[i].rank || r->io[i].rank > RPC_MAX_RANK), ST_INVALID_ARG,
                  "tensor %u of a run has dimensions and rank %u; 1 to %d are allowed", i, r->io[i].rank, RPC_MAX_RANK);
    return ST_OK;
}

static enum status run_now(struct rpc_session *s, struct link_program *p, struct rpc_run *r)
{
    TRY(check_run(p, r));
    write_call(p, r);
    struct fault_hit fault = fault_message();
    if (fault.truncate)
        p->area->n_io = UINT32_MAX;
    p->area->hold = fault.hold;
    submit(s, p);
    if (fault.kill)
        return link_fault(s, fault.restart);
    TRY(await(s, p, r));
    r->rpc_ns = clock_ns() - p->area->submit_ns;
    p->usual_ns = p->usual_ns ? (3 * p->usual_ns + r->rpc_ns) / 4 : r->rpc_ns;
    return link_read_answer(s, p, r);
}

enum status link_run(struct rpc_session *s, struct rpc_run *r)
{
    struct link_program *p;
    r->n_marks = 0;
    r->rpc_ns = r->notice_ns = r->queue_ns = r->worker_ns = r->exec_ns = 0;
    r->yields = (struct rpc_yields){ 0 };
    r->polls = r->sleeps = r->beside = 0;
    TRY(link_check(s));
    TRY(take_turn(s, r, &p));
    enum status st = run_now(s, p, r);
    leave_turn(s, p);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The executions of a context. Turns are given by base/scheduler.h; here are the threads that wait
 * for those of asynchronous executions, and the limit on how many of these there are.
 *
 * There is one FIFO and one thread per level, started by the first asynchronous execution of that
 * level. So an execution of a high level does not wait for a thread that is busy with a low one.
 * One more thread, started with the first signal, ends executions in the middle of a FIFO that
 * were aborted or are too late. */
#include "api/objects.h"
#include "api/thread_words.h"
#include "base/clock.h"
#include "base/forks.h"
#include "base/thread.h"

enum status queue_init(struct run_queue *q, uint32_t depth)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->room, &attr);
    pthread_cond_init(&q->look, &attr);
    pthread_condattr_destroy(&attr);
    for (uint32_t i = 0; i < SCHED_LEVELS; i++) {
        q->lanes[i].queue = q;
        pthread_cond_init(&q->lanes[i].filled, NULL);
    }
    q->depth = depth;
    forks_watch();
    q->forks = forks_so_far();
    return ST_OK;
}

/* A forked child has a copy of the queue, but not the threads that serve it, nor those that wait for room. */
static bool others_are_gone(const struct run_queue *q)
{
    return q->forks != forks_so_far();
}

/* The first call in a child begins again. */
static void look_for_others(struct run_queue *q)
{
    if (!others_are_gone(q))
        return;
    uint32_t depth = q->depth;
    *q = (struct run_queue){ .depth = depth };
    queue_init(q, depth);
    pthread_mutex_lock(&q->lock); /* queue_init made a new one */
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

/* Why an execution ended before it began. */
static enum status explain(enum status st, const struct api_graph *g)
{
    if (st == ST_ABORTED)
        return status_fail(st, "graph \"%s\": aborted by its signal while it waited for its turn", g->name);
    if (st == ST_TIMED_OUT)
        return status_fail(st, "graph \"%s\": past the time of its signal while it waited for its turn", g->name);
    return st;
}

enum status queue_enter(const struct api_graph *g, struct sched_turn *t)
{
    return explain(sched_enter(t), g);
}

/* Until the condition is signalled or the deadline has passed; 0: there is none. */
static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
    if (!deadline_ns) {
        pthread_cond_wait(cond, lock);
        return;
    }
    struct timespec until = { (time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000) };
    pthread_cond_timedwait(cond, lock, &until);
}

static enum status wait_for_room(struct run_queue *q, const struct run_job *job)
{
    const struct cancel *c = job->turn.cancel;
    RETURN_IF(
        thread_words()->is_queue && q->waiting >= q->depth, ST_QUEUE_FULL,
        "the queue holds %u executions, its depth, and a callback cannot wait for room; raise ASYNC_EXECUTION_QUEUE_DEPTH",
        q->depth);

    while (q->waiting >= q->depth) {
        TRY(explain(cancel_status(c), job->graph));
        wait_until(&q->room, &q->lock, c ? c->deadline_ns : 0);
    }
    return ST_OK;
}

/* ---- the threads of levels -------------------------------------------------------------------------------------------- */

static void unlink_job(struct run_lane *lane, struct run_job *job, struct run_job *before)
{
    *(before ? &before->next : &lane->first) = job->next;
    if (lane->last == job)
        lane->last = before;
}

/* NULL: the queue is being shut down, and the lane is empty. */
static struct run_job *next_job(struct run_lane *lane)
{
    struct run_queue *q = lane->queue;
    LOCKED(&q->lock);
    while (!lane->first) {
        if (q->stop)
            return NULL;
        pthread_cond_wait(&lane->filled, &q->lock);
    }
    struct run_job *job = lane->first;
    unlink_job(lane, job, NULL);
    return job;
}

static void end_job(struct run_queue *q)
{
    LOCKED(&q->lock);
    q->waiting--;
    pthread_cond_broadcast(&q->room);
}

static void *serve(void *arg)
{
    struct run_lane *lane = arg;
    thread_words()->is_queue = true;
    for (struct run_job *job; (job = next_job(lane));) {
        struct run_queue *q = lane->queue;
        job->run(job, queue_enter(job->graph, &job->turn)); /* leaves its turn before it notifies the client */
        end_job(q);
    }
    return NULL;
}

/* ---- the thread for signals ------------------------------------------------------------------------------------------- */

/* A job that is to end without a turn; otherwise NULL, and when the first of the others is due, 0: never. */
static struct run_job *stopped_job(struct run_queue *q, uint64_t *due_ns)
{
    *due_ns = 0;
    for (uint32_t i = 0; i < SCHED_LEVELS; i++) {
        struct run_job *before = NULL;
        for (struct run_job *job = q->lanes[i].first; job; before = job, job = job->next) {
            const struct cancel *c = job->turn.cancel;
            if (cancel_status(c) != ST_OK) {
                unlink_job(&q->lanes[i], job, before);
                return job;
            }
            if (c && c->deadline_ns && (!*due_ns || c->deadline_ns < *due_ns))
                *due_ns = c->deadline_ns;
        }
    }
    return NULL;
}

static struct run_job *await_stopped_job(struct run_queue *q)
{
    struct run_job *job;
    uint64_t due_ns;
    LOCKED(&q->lock);
    while (!(job = stopped_job(q, &due_ns)) && !q->stop_watching)
        wait_until(&q->look, &q->lock, due_ns);
    return job;
}

static void *watch(void *arg)
{
    struct run_queue *q = arg;
    thread_words()->is_queue = true;
    for (struct run_job *job; (job = await_stopped_job(q));) {
        job->run(job, explain(cancel_status(job->turn.cancel), job->graph));
        end_job(q);
    }
    return NULL;
}

void queue_look(struct run_queue *q)
{
    LOCKED(&q->lock);
    pthread_cond_broadcast(&q->look);
    pthread_cond_broadcast(&q->room);
}

/* ---- submission and end ----------------------------------------------------------------------------------------------- */

static enum status start_threads(struct run_queue *q, const struct run_job *job)
{
    struct run_lane *lane = &q->lanes[job->turn.level];
    if (!lane->started)
        TRY(thread_start(&lane->thread, "qnn-async", serve, lane));
    lane->started = true;
    if (job->turn.cancel && !q->watches) {
        TRY(thread_start(&q->watcher, "qnn-signals", watch, q));
        q->watches = true;
    }
    return ST_OK;
}

enum status queue_submit(struct run_queue *q, struct run_job *job)
{
    LOCKED(&q->lock);
    look_for_others(q);
    TRY(start_threads(q, job));
    TRY(wait_for_room(q, job));

    struct run_lane *lane = &q->lanes[job->turn.level];
    q->waiting++;
    job->next = NULL;
    sched_order(&job->turn);
    *(lane->last ? &lane->last->next : &lane->first) = job;
    lane->last = job;
    pthread_cond_signal(&lane->filled);
    if (job->turn.cancel)
        pthread_cond_signal(&q->look);
    return ST_OK;
}

static void stop_threads(struct run_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    for (uint32_t i = 0; i < SCHED_LEVELS; i++)
        pthread_cond_broadcast(&q->lanes[i].filled);
    pthread_mutex_unlock(&q->lock);
    for (uint32_t i = 0; i < SCHED_LEVELS; i++)
        if (q->lanes[i].started)
            pthread_join(q->lanes[i].thread, NULL);

    pthread_mutex_lock(&q->lock);
    q->stop_watching = true;
    pthread_cond_broadcast(&q->look);
    pthread_mutex_unlock(&q->lock);
    if (q->watches)
        pthread_join(q->watcher, NULL);
}

void queue_finish(struct run_queue *q)
{
    if (others_are_gone(q)) /* they would be waited for */
        return;
    stop_threads(q);
    for (uint32_t i = 0; i < SCHED_LEVELS; i++)
        pthread_cond_destroy(&q->lanes[i].filled);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->room);
    pthread_cond_destroy(&q->look);
}

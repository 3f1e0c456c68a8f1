/* SPDX-License-Identifier: Apache-2.0 */
/* The run queue of a context: tickets give every execution its turn, in the order of the calls; one worker thread, started
 * by the first asynchronous execution, serves those. A synchronous execution on an idle queue costs two uncontended lock
 * operations. */
#include "api/objects.h"
#include "api/thread_words.h"
#include "base/forks.h"
#include "base/thread.h"

enum status queue_init(struct run_queue *q, uint32_t depth)
{
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->turn, NULL);
    pthread_cond_init(&q->room, NULL);
    q->depth = depth;
    forks_watch();
    q->forks = forks_so_far();
    return ST_OK;
}

/* A forked child has a copy of the queue, but not the thread that serves it, nor those that had or wanted a turn. */
static bool others_are_gone(const struct run_queue *q)
{
    return q->forks != forks_so_far();
}

/* Whoever comes first in a child begins again. */
static void look_for_others(struct run_queue *q)
{
    if (!others_are_gone(q))
        return;
    pthread_cond_init(&q->turn, NULL);
    pthread_cond_init(&q->room, NULL);
    q->forks = forks_so_far();
    q->first = q->last = NULL;
    q->waiting = 0;
    q->serving = q->next;
    q->started = q->active = q->paused = false;
}

void queue_enter(struct run_queue *q)
{
    LOCKED(&q->lock);
    look_for_others(q);
    uint64_t ticket = q->next++;
    while (q->serving != ticket || q->paused)
        pthread_cond_wait(&q->turn, &q->lock);
    q->active = true;
}

void queue_leave(struct run_queue *q)
{
    LOCKED(&q->lock);
    q->serving++;
    q->active = false;
    if (q->serving != q->next || q->paused)
        pthread_cond_broadcast(&q->turn);
}

void queue_pause(struct run_queue *q)
{
    LOCKED(&q->lock);
    look_for_others(q);
    q->paused = true;
    while (q->active)
        pthread_cond_wait(&q->turn, &q->lock);
}

void queue_resume(struct run_queue *q)
{
    LOCKED(&q->lock);
    q->paused = false;
    pthread_cond_broadcast(&q->turn);
}

/* The next job, once its turn has come; NULL: the queue is being shut down and empty. */
static struct run_job *next_job(struct run_queue *q)
{
    LOCKED(&q->lock);
    while (!(q->first && q->serving == q->first->ticket && !q->paused)) {
        if (q->stop && !q->first)
            return NULL;
        pthread_cond_wait(&q->turn, &q->lock);
    }
    struct run_job *job = q->first;
    q->active = true;
    q->first = job->next;
    if (!q->first)
        q->last = NULL;
    return job;
}

static void *work(void *arg)
{
    struct run_queue *q = arg;
    thread_words()->is_queue = true;
    for (struct run_job *job; (job = next_job(q));) {
        job->run(job); /* leaves the queue itself, before it notifies the client */
        LOCKED(&q->lock);
        q->waiting--;
        pthread_cond_broadcast(&q->room);
    }
    return NULL;
}

enum status queue_submit(struct run_queue *q, struct run_job *job)
{
    LOCKED(&q->lock);
    look_for_others(q);
    if (!q->started) {
        TRY(thread_start(&q->worker, "qnn-async", work, q));
        q->started = true;
    }
    RETURN_IF(
        thread_words()->is_queue && q->waiting >= q->depth, ST_QUEUE_FULL,
        "the queue holds %u executions, its depth, and a callback cannot wait for room; raise ASYNC_EXECUTION_QUEUE_DEPTH",
        q->depth);
    while (q->waiting >= q->depth)
        pthread_cond_wait(&q->room, &q->lock);
    q->waiting++;
    job->ticket = q->next++;
    job->next = NULL;
    *(q->last ? &q->last->next : &q->first) = job;
    q->last = job;
    pthread_cond_broadcast(&q->turn);
    return ST_OK;
}

void queue_finish(struct run_queue *q)
{
    if (others_are_gone(q)) /* they would be waited for */
        return;
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_broadcast(&q->turn);
    pthread_mutex_unlock(&q->lock);
    if (q->started)
        pthread_join(q->worker, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->turn);
    pthread_cond_destroy(&q->room);
}

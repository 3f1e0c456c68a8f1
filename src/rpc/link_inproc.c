/* SPDX-License-Identifier: Apache-2.0 */
/* A session without a process: the worker and its runner in the client's, on the same messages, ring and areas. For
 * debuggers and sanitizers (OPENQNN_SESSION=inproc). What ends a session's process would end the client here, except for
 * faults of OPENQNN_FAULT. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "rpc/rpc_link.h"
#include "rpc/worker.h"

enum { SPIN_US = 20 };

static enum status inproc_start(struct rpc_session *s, const struct rpc_session_opts *o)
{
    struct rpc_hello h = { .version = RPC_LINK_VERSION, .arch = o->arch, .threads = o->threads, .lanes = s->lanes,
                           .budget = o->budget };
    h.spin_us = s->cores > 1 ? SPIN_US : 0;
    s->limit_ns = 0; /* it stands still only together with its client */
    TRY(worker_create(&h, &s->worker));
    TRY(worker_packages_begin(s->worker, o->packages)); /* the client has opened them */
    for (uint32_t i = 0; i < s->lanes; i++)
        TRY(runner_start(s->worker, i, &s->rings[i], &s->runners[i]));
    return ST_OK;
}

static enum status inproc_exchange(struct rpc_session *s, const void *bytes, size_t n, const int *fds, unsigned n_fds,
                                   void *answer, size_t *ret_n)
{
    struct rpc_request q;
    struct rpc_reply r;
    TRY(rpc_request_check(bytes, n, n_fds, &q));
    worker_set_signal(s->worker, s->cancel);
    worker_handle(s->worker, &q, fds, &r);
    memcpy(answer, &r, sizeof(r));
    *ret_n = sizeof(r);
    return ST_OK;
}

static bool inproc_lost(struct rpc_session *s)
{
    return atomic_load(&s->dead);
}

static void inproc_cut(struct rpc_session *s)
{
    (void)s; /* link_lost has marked it; what is running ends by itself */
}

static void inproc_stop(struct rpc_session *s)
{
    if (s->owner != getpid()) /* a forked child has a copy of the memory, but not the thread */
        return;
    for (uint32_t i = 0; i < s->lanes; i++)
        runner_stop(s->runners[i]);
    worker_free(s->worker);
}

/* Nothing runs, so its threads end at once. */
static void inproc_abandon(struct rpc_session *s)
{
    inproc_stop(s);
    memset(s->runners, 0, sizeof(s->runners));
    s->worker = NULL;
    if (s->common_fd >= 0)
        close(s->common_fd);
    s->common_fd = -1;
}

static const struct rpc_transport transport = {
    .start = inproc_start,
    .exchange = inproc_exchange,
    .lost = inproc_lost,
    .cut = inproc_cut,
    .stop = inproc_stop,
    .abandon = inproc_abandon,
};

static enum status inproc_open(const struct rpc_session_opts *o, struct rpc_session **ret)
{
    return link_open(&transport, RPC_BUILD_ID, o, ret);
}

const struct rpc_link rpc_link_inproc = {
    .arch = 0,
    .build_id = RPC_BUILD_ID,
    .open = inproc_open,
    LINK_CALLS,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in a process of their own: the link of a stub library. Control messages are packets on a socket pair. The client
 * notices the end of the process by the pidfd, not only by the socket, whose other end a forked child might have inherited
 * in the wrong moment. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel_lock.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "rpc/link_process.h"
#include "rpc/link_spawn.h"
#include "rpc/rpc_link.h"
#include "rpc/rpc_packet.h"

enum { SPIN_US = 50, START_MS = 30000, SLICE_MS = 100 };
#define NS_PER_MS UINT64_C(1000000)

/* ---- packets ---------------------------------------------------------------------------------------------------------- */

static bool process_lost(struct rpc_session *s)
{
    struct pollfd p = { .fd = s->pidfd, .events = POLLIN };
    return poll(&p, 1, 0) > 0;
}

/* Wait for an answer or the end of the process. An answer given before the end still counts, and a process that is silent
 * for too long counts as ended. */
static enum status await_answer(struct rpc_session *s, const char *what, uint64_t limit_ns)
{
    struct pollfd p[] = { { .fd = s->sock, .events = POLLIN }, { .fd = s->pidfd, .events = POLLIN } };
    struct rpc_watch watch;
    uint64_t fired_ns = 0;
    int slice_ms = s->cancel ? (int)(CANCEL_LOOK_NS / NS_PER_MS) : SLICE_MS;

    watch_begin(&watch, clock_ns());
    for (int n; (n = poll(p, 2, slice_ms)) <= 0;) {
        RETURN_IF(n < 0 && errno != EINTR, ST_COMMUNICATION, "its socket cannot be read: %s", strerrordesc_np(errno));
        TRY(link_watch(s, &watch, what, limit_ns));
        TRY(link_pass_signal(s, &fired_ns));
    }

    RETURN_IF(!(p[0].revents & POLLIN), ST_COMMUNICATION, "the process has ended");
    return ST_OK;
}

static enum status receive(struct rpc_session *s, uint32_t type, struct packet *answer, uint64_t limit_ns)
{
    char what[64];

    snprintf(what, sizeof(what), "the answer to a %s message", rpc_type_name(type));
    TRY(await_answer(s, what, limit_ns));
    RETURN_IF(!packet_receive(s->sock, answer), ST_COMMUNICATION, "the process has ended");
    unsigned unexpected = answer->n_fds;
    packet_close_fds(answer);
    RETURN_IF(unexpected, ST_COMMUNICATION, "an answer with %u descriptors; none is expected", unexpected);
    return ST_OK;
}

static enum status exchange(struct rpc_session *s, const struct rpc_request *q, size_t n, const int *fds, unsigned n_fds,
                            struct packet *answer, uint64_t limit_ns)
{
    RETURN_IF(!packet_send(s->sock, q, n, fds, n_fds), ST_COMMUNICATION, "the process has ended");
    return receive(s, q->type, answer, limit_ns);
}

static enum status process_collect(struct rpc_session *s, void *answer, size_t *ret_n)
{
    struct packet p = { .bytes = answer, .size = sizeof(struct rpc_reply) };
    TRY(receive(s, s->owed.type, &p, s->limit_ns));
    *ret_n = p.size;
    return ST_OK;
}

static enum status process_exchange(struct rpc_session *s, const void *bytes, size_t n, const int *fds, unsigned n_fds,
                                    void *answer, size_t *ret_n)
{
    struct packet p = { .bytes = answer, .size = sizeof(struct rpc_reply) };
    TRY(exchange(s, bytes, n, fds, n_fds, &p, s->limit_ns));
    *ret_n = p.size;
    return ST_OK;
}

/* ---- hello ------------------------------------------------------------------------------------------------------------ */

static enum status check_hello(const struct rpc_reply *r, const struct rpc_hello *mine, const char *skel)
{
    RETURN_IF(r->hello.version != mine->version || strcmp(r->hello.build_id, mine->build_id) != 0, ST_LOADING,
              "%s is of build \"%s\" (link %u); the stub library and the backend are of build \"%s\" (link %u); take all "
              "from one installation",
              skel, r->hello.build_id, r->hello.version, mine->build_id, mine->version);
    RETURN_IF(r->hello.arch != mine->arch, ST_LOADING, "%s is for arch %u; a session of arch %u was asked for", skel,
              r->hello.arch, mine->arch);
    if (r->status != ST_OK)
        return status_fail((enum status)r->status, "%s: %s", skel, r->text);
    return ST_OK;
}

/* Programs take longer to start than sessions to answer. 0: for ever. */
static uint64_t start_limit(const struct rpc_session *s, const struct rpc_session_opts *o)
{
    uint64_t ns = (o->start_ms ? o->start_ms : START_MS) * NS_PER_MS;

    if (!s->limit_ns || o->start_ms)
        return s->limit_ns ? ns : 0;
    return s->limit_ns > ns ? s->limit_ns : ns;
}

static enum status say_hello(struct rpc_session *s, const struct rpc_session_opts *o, const char *skel)
{
    struct rpc_request q = { .magic = RPC_MAGIC, .type = RPC_HELLO };
    struct rpc_reply raw, r;
    struct packet p = { .bytes = &raw, .size = sizeof(raw) };
    q.hello = (struct rpc_hello){ .version = RPC_LINK_VERSION, .arch = o->arch, .threads = o->threads, .lanes = s->lanes,
                                 .budget = o->budget };
    q.hello.spin_us = s->cores > 1 ? SPIN_US : 0;
    snprintf(q.hello.build_id, sizeof(q.hello.build_id), "%s", s->build_id);
    /* The session ends with the client also where a forked child of the client keeps the socket open. */
    int fds[] = { s->common_fd, (int)syscall(SYS_pidfd_open, getpid(), 0) };
    if (fds[1] < 0)
        TRY(descriptors_left(ST_SYSTEM, "the client in its session"));
    s->cancel = o->cancel;
    enum status st = exchange(s, &q, sizeof(q), fds, fds[1] < 0 ? 1 : 2, &p, start_limit(s, o));
    s->cancel = NULL;
    if (fds[1] >= 0)
        close(fds[1]);
    if (st == ST_ABORTED || st == ST_TIMED_OUT)
        return st;
    if (st == ST_OK)
        st = rpc_reply_check(&raw, p.size, &q, &r);
    if (st != ST_OK)
        return status_fail(ST_LOADING, "%s did not start as a session: %s", skel, status_text());
    s->usage.guards = r.hello.guards;
    s->usage.base_bytes = s->usage.malloc_bytes = r.malloc_bytes;
    return check_hello(&r, &q.hello, skel);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static enum status process_start(struct rpc_session *s, const struct rpc_session_opts *o)
{
    char path[RPC_PATH_MAX];
    const char *skel = o->skel;
    struct spawned child;
    if (!skel) {
        TRY(rpc_find_skel(o->arch, link_process_folder(), path, NULL));
        skel = path;
    }
    TRY(spawn_session(skel, o->packages, &child));
    s->sock = child.sock;
    s->pidfd = child.pidfd;
    s->pid = child.pid;
    TRY(say_hello(s, o, skel));
    close(s->common_fd); /* both sides have it mapped */
    s->common_fd = -1;
    return ST_OK;
}

static void process_cut(struct rpc_session *s)
{
    spawn_kill(s->pidfd);
}

/* There is nothing in a session that wants to be saved: it is ended the short way. */
static void process_stop(struct rpc_session *s)
{
    if (s->pidfd < 0)
        return;
    if (s->owner == getpid()) {
        spawn_kill(s->pidfd);
        spawn_reap(s->pidfd);
    }
    close(s->pidfd);
    close(s->sock);
    s->pidfd = s->sock = -1;
}

const struct rpc_transport link_process_transport = {
    .start = process_start,
    .exchange = process_exchange,
    .collect = process_collect,
    .lost = process_lost,
    .cut = process_cut,
    .stop = process_stop,
    .abandon = process_stop,
};

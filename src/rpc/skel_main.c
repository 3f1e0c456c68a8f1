/* SPDX-License-Identifier: Apache-2.0 */
/* The process of a session. It is a skel program (skel_program.c) or the backend library itself (skel_entry.c), started
 * with one end of a socket pair at SPAWN_FD.
 *
 *   main thread   requests → worker_handle → replies, until the client is gone
 *   qnn-session   runs, from the ring of its lane (runner.c)
 *   qnn-heartbeat answers the client that asks for a sign of life
 *   qnn-worker-N  help with the steps of a program
 *
 * It lives as long as its client: it ends with the socket, or with the client's pidfd when somebody else keeps the socket
 * open. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/thread.h"
#include "rpc/link_spawn.h"
#include "rpc/rpc.h"
#include "rpc/rpc_packet.h"
#include "rpc/rpc_shared.h"
#include "rpc/skel_main.h"
#include "rpc/skel_sandbox.h"
#include "rpc/worker.h"

struct skel {
    int64_t arch; /* SKEL_ANY_ARCH: what the client asks for */
    int client; /* pidfd, -1: none */
    struct worker *worker;
    struct runner *runners[RPC_MAX_LANES];
    pthread_t heartbeat;
    uint32_t guards; /* enum rpc_guard */
    const char *packages; /* of the client, NULL: none */
    enum status packages_opened;
    char why[STATUS_TEXT_MAX]; /* they were not */
};

/* Keys pressed in the client's terminal and the client's manager mean the client; the session follows it. */
static void leave_signals_to_the_client(void)
{
    static const int theirs[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP, SIGPIPE };
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
        signal(theirs[i], SIG_IGN);
}

/* False: nobody is there any more. */
static bool next_packet(const struct skel *k, struct packet *p)
{
    struct pollfd f[] = { { .fd = SPAWN_FD, .events = POLLIN }, { .fd = k->client, .events = POLLIN } };
    while (poll(f, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return !(f[1].revents & POLLIN) && packet_receive(SPAWN_FD, p);
}

/* Does nothing else, so it has an answer as long as the process runs at all. */
static void *heartbeat(void *arg)
{
    struct rpc_heartbeat *heart = arg;
    thread_name_self("qnn-heartbeat");

    for (uint32_t seen = 0;;) {
        shared_wait(&heart->ping, seen, 0);
        seen = atomic_load(&heart->ping);
        atomic_store(&heart->pong, seen);
    }
    return NULL;
}

static enum status open_session(struct skel *k, const struct rpc_hello *h, int common_fd)
{
    void *at;
    const uint32_t lanes = h->lanes ? h->lanes : 1;
    RETURN_IF(h->version != RPC_LINK_VERSION || strcmp(h->build_id, RPC_BUILD_ID) != 0, ST_LOADING,
              "the skel is of build \"%s\" (link %d), the client of build \"%s\" (link %u)", RPC_BUILD_ID, RPC_LINK_VERSION,
              h->build_id, h->version);
    if (k->arch == SKEL_ANY_ARCH)
        k->arch = h->arch;
    RETURN_IF(h->arch != k->arch, ST_LOADING, "the skel is for arch %d, the client asks for arch %u", (int)k->arch, h->arch);
    TRY(shared_map(common_fd, 0, rpc_common_bytes(lanes), true, &at));
    struct rpc_common *common = at;
    TRY(worker_create(h, &k->worker));
    worker_set_signal(k->worker, &common->control);
    for (uint32_t i = 0; i < lanes; i++)
        TRY(runner_start(k->worker, i, &common->rings[i], &k->runners[i]));
    return thread_start(&k->heartbeat, "qnn-heartbeat", heartbeat, &common->heartbeat);
}

/* What malloc has handed out in this process. */
static uint64_t bytes_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void answer_hello(const struct skel *k, const struct rpc_request *q, enum status st)
{
    struct rpc_reply r = { .magic = RPC_MAGIC, .type = RPC_HELLO, .seq = q->seq, .status = st };
    r.malloc_bytes = bytes_in_use();
    r.hello = (struct rpc_hello){ .version = RPC_LINK_VERSION, .arch = (uint32_t)k->arch, .guards = k->guards };
    strcpy(r.hello.build_id, RPC_BUILD_ID);
    if (st != ST_OK)
        strncpy(r.text, status_text(), sizeof(r.text) - 1);
    packet_send(SPAWN_FD, &r, sizeof(r), NULL, 0);
}

/* Files cannot be opened once the process is locked in. */
static void open_packages(struct skel *k)
{
    k->packages = getenv(SPAWN_PACKAGES);
    k->packages_opened = worker_packages_open(k->packages);
    if (k->packages_opened != ST_OK)
        snprintf(k->why, sizeof(k->why), "%s", status_text());
}

static enum status begin_packages(struct skel *k)
{
    if (k->packages_opened != ST_OK)
        return status_fail(k->packages_opened, "%s", k->why);
    return worker_packages_begin(k->worker, k->packages);
}

static bool say_hello(struct skel *k)
{
    char bytes[sizeof(struct rpc_request)];
    struct packet p = { .bytes = bytes, .size = sizeof(bytes) };
    struct rpc_request q = { .type = RPC_HELLO };
    if (!next_packet(k, &p))
        return false;
    enum status st = rpc_request_check(bytes, p.size, p.n_fds, &q);
    if (st == ST_OK && q.type != RPC_HELLO)
        st = status_fail(ST_COMMUNICATION, "a session begins with hello, not with %s", rpc_type_name(q.type));
    if (st == ST_OK)
        st = open_session(k, &q.hello, p.fds[0]);
    if (st == ST_OK && p.n_fds > 1) {
        k->client = p.fds[1];
        p.n_fds = 1;
    }
    packet_close_fds(&p);
    cpu_isa(); /* asks the kernel for matrix registers */
    cpu_cores();
    const uint32_t lanes = q.hello.lanes ? q.hello.lanes : 1;
    if (st == ST_OK && RPC_SANDBOX)
        k->guards |=
            skel_sandbox(q.hello.budget, lanes * WORKER_WINDOW_BYTES + WORKER_SLICES_MOST, lanes * q.hello.threads + 3);
    if (st == ST_OK)
        st = begin_packages(k);
    answer_hello(k, &q, st);
    return st == ST_OK;
}

static void serve(struct skel *k)
{
    static char bytes[sizeof(struct rpc_request)];
    static struct rpc_reply r;
    for (;;) {
        struct packet p = { .bytes = bytes, .size = sizeof(bytes) };
        struct rpc_request q = { .type = RPC_TYPES };
        if (!next_packet(k, &p))
            return;
        enum status st =
            p.cut ? status_fail(ST_COMMUNICATION, "too many descriptors") : rpc_request_check(bytes, p.size, p.n_fds, &q);
        if (st == ST_OK) {
            worker_handle(k->worker, &q, p.fds, &r);
            r.malloc_bytes = bytes_in_use();
        } else {
            memset(&r, 0, sizeof(r));
            r.status = st;
            strncpy(r.text, status_text(), sizeof(r.text) - 1);
        }
        packet_close_fds(&p);
        if (!packet_send(SPAWN_FD, &r, sizeof(r), NULL, 0))
            return;
    }
}

int skel_main(int64_t arch, const char *name)
{
    struct skel k = { .arch = arch, .client = -1 };
    int type = 0;
    socklen_t size = sizeof(type);
    if (getsockopt(SPAWN_FD, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
        fprintf(stderr, "%s can be a session of a backend library, which starts it; it cannot be used alone.\n", name);
        return 2;
    }
    leave_signals_to_the_client();
    open_packages(&k);
    if (RPC_SANDBOX) {
        const char *debug = getenv("OPENQNN_SESSION_DEBUG");
        k.guards = skel_confine(debug && strcmp(debug, "1") == 0);
    }
    if (say_hello(&k))
        serve(&k);
    _exit(0); /* all at once: there is nobody to clean up for */
}

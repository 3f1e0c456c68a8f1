/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/rpc_packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    char bytes[CMSG_SPACE(PACKET_FDS * sizeof(int))];
    struct cmsghdr align;
};

bool packet_send(int sock, const void *bytes, size_t n, const int *fds, unsigned n_fds)
{
    union control control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)bytes, .iov_len = n };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
    if (n_fds) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(sock, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}

static void take_fds(struct msghdr *m, struct packet *p)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            p->n_fds = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(p->fds, CMSG_DATA(c), p->n_fds * sizeof(int));
        }
}

bool packet_receive(int sock, struct packet *p)
{
    union control control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = p->bytes, .iov_len = p->size };
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
    };
    ssize_t got;
    p->n_fds = 0;
    do
        got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    p->size = (size_t)got;
    p->cut = (m.msg_flags & MSG_CTRUNC) != 0;
    take_fds(&m, p);
    return true;
}

void packet_close_fds(struct packet *p)
{
    for (unsigned i = 0; i < p->n_fds; i++)
        close(p->fds[i]);
    p->n_fds = 0;
}

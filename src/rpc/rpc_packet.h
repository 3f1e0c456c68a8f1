/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with descriptors on the socket pair of a session; private to rpc/. */
#ifndef RPC_RPC_PACKET_H
#define RPC_RPC_PACKET_H

#include <stdbool.h>
#include <stddef.h>

enum { PACKET_FDS = 4 };

struct packet {
    void *bytes;
    size_t size;      /* in: room; out: length of the packet, larger than the room when it did not fit */
    int fds[PACKET_FDS];
    unsigned n_fds;
    bool cut;         /* more descriptors than expected came along */
};

bool packet_send(int sock, const void *bytes, size_t n, const int *fds, unsigned n_fds); /* false: the other side is gone */
bool packet_receive(int sock, struct packet *p); /* the same; descriptors are the caller's to close */
void packet_close_fds(struct packet *p);

#endif

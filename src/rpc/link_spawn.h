/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the process of a session; private to rpc/. */
#ifndef RPC_LINK_SPAWN_H
#define RPC_LINK_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

enum { SPAWN_FD = 3 }; /* where the session finds its end of the socket pair */

struct spawned {
    pid_t pid;
    int pidfd, sock;
};

/* Runs `skel` with nothing of the client's but standard error and the settings that it reads. All signals
 * have their defaults there, and nothing is blocked. Safe in a client with threads. `packages`: as in rpc_session_opts. */
enum status spawn_session(const char *skel, const char *packages, struct spawned *ret);

/* The variable by which a session learns of its op packages before it is locked in. */
#define SPAWN_PACKAGES "OPENQNN_SESSION_PACKAGES"

/* OPENQNN_SESSION_DEBUG: whether debuggers and preloaded libraries are let into sessions. */
enum status spawn_debug_read(bool *ret);

void spawn_kill(int pidfd); /* -1 allowed */
/* Wait for its end, but not for one that the kernel or a debugger holds back. A client that has waited for all its children
 * itself is no error. */
void spawn_reap(int pidfd);

#endif

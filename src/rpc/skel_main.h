/* SPDX-License-Identifier: Apache-2.0 */
/* The process of a session, for the programs and libraries that can be one; private to rpc/. */
#ifndef RPC_SKEL_MAIN_H
#define RPC_SKEL_MAIN_H

#include <stdint.h>

enum { SKEL_ANY_ARCH = -1 };

/* Serves the client at SPAWN_FD until it is gone, and ends the process; returns only when there is
 * no client. `arch` is what the session is for, or SKEL_ANY_ARCH; `name` is for the message. */
int skel_main(int64_t arch, const char *name);

#endif

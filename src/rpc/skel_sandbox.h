/* SPDX-License-Identifier: Apache-2.0 */
/* What a session gives up before it looks at anything of its client; private to rpc/. */
#ifndef RPC_SKEL_SANDBOX_H
#define RPC_SKEL_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* No new privileges, limits, and a filter that leaves the system calls which memory, threads and the socket need; for all
 * threads of the process. `budget` limits the address space, beyond what is in use, fast memory, and what threads may
 * reserve; 0: no limit. False: the kernel has no filters. */
bool skel_sandbox(uint64_t budget, uint64_t windows, unsigned threads);

#endif

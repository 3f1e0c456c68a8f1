/* SPDX-License-Identifier: Apache-2.0 */
/* What a session gives up before it looks at anything of its client; private to rpc/. */
#ifndef RPC_SKEL_SANDBOX_H
#define RPC_SKEL_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* Both return what they did of enum rpc_guard; what the kernel does not allow is left out.
 *
 * Capabilities, namespaces and files. A thread inherits these, so this comes before the first thread. debug: the memory of
 * the process can be looked at, as debuggers do, and core dumps are left as they are. */
uint32_t skel_confine(bool debug);

/* Limits, and a filter that leaves the system calls which memory, threads and the socket need; for all threads of the
 * process. `budget` limits the address space, beyond what is in use, fast memory, and what threads may reserve; 0: no
 * limit. */
uint32_t skel_sandbox(uint64_t budget, uint64_t windows, unsigned threads);

/* The size of the process, opened before files cannot be opened any more; -1: it is not. */
#define SKEL_STATM "/proc/self/statm"
extern int skel_statm;

#endif

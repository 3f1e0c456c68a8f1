/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that two processes look at: making it, mapping it, and sleeping on its words; private to rpc/. */
#ifndef RPC_RPC_SHARED_H
#define RPC_RPC_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "rpc/rpc_message.h"

/* Zeroed memory that nobody can make smaller while the other side has it mapped. `name` shows up in /proc/PID/maps. */
enum status shared_create(const char *name, uint64_t bytes, int *ret_fd);
/* How many bytes can be mapped of what is behind the descriptor. */
enum status shared_fd_bytes(int fd, uint64_t *ret);
void shared_fd_file(int fd, uint64_t *ret_device, uint64_t *ret_inode); /* which file it is, zeros: nobody knows */
/* Map `bytes` from page-aligned `offset`, after a look at what is really there. */
enum status shared_map(int fd, uint64_t offset, uint64_t bytes, bool writable, void **ret);
/* Two parts one behind the other, for reading: `head_bytes` are whole pages. */
enum status shared_map_joined(const int fds[2], const uint64_t offsets[2], const uint64_t bytes[2], void **ret);
void shared_unmap(void *at, uint64_t bytes); /* NULL allowed */
uint64_t shared_pages(uint64_t bytes);       /* rounded up to whole pages; UINT64_MAX when that overflows */

/* Across processes. Sleeps while *word == expected, for at most `ns` (0: without limit), or shorter for no reason. */
void shared_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns);
void shared_wake(_Atomic uint32_t *word);

/* Spin until *word differs from `old` or `ns` are over; true: it differs. */
bool shared_spin(_Atomic uint32_t *word, uint32_t old, uint64_t ns);

#endif

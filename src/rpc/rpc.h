/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a client and a DSP session share: pages behind a file descriptor, so that another process can map them and nothing is copied.
 * (Sessions themselves, their messages and the worker process come to this folder.) */
#ifndef RPC_RPC_H
#define RPC_RPC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed, page aligned, mapped shared. The registry remembers address, size and descriptor. */
enum status rpc_alloc(size_t size, void **ret);
enum status rpc_free(void *address);  /* ST_NOT_FOUND: not the start of an allocation; nothing happens then */
int rpc_fd(const void *address);      /* the descriptor of the allocation that holds this address, or -1; it belongs to the allocation */
size_t rpc_size(const void *address); /* of the allocation that holds this address, 0: none */
unsigned rpc_live(void);              /* allocations not freed yet, for leak tests */

#endif

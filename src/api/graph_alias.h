/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of one execution that share memory: right results, or an error (graph_alias.c). */
#ifndef API_GRAPH_ALIAS_H
#define API_GRAPH_ALIAS_H

#include <stdint.h>

#include "base/status.h"

enum { ALIAS_ALIGN = 64 };

/* Where a tensor's bytes are. Memory of this process has device and inode 0 and begins at its address; registered memory
 * begins at its offset in the file. All zero: nowhere that concerns other tensors. */
struct io_span {
    uint64_t device, inode;
    uint64_t begin, bytes;
};

struct alias;
struct graph_run;

enum status alias_create(uint32_t n_io, struct alias **ret); /* *ret is to be freed after a failure, too */
void alias_free(struct alias *a, uint32_t n_io);             /* NULL allowed */
void alias_note(struct alias *a, uint32_t io, struct io_span span);

/* When all tensors are noted. Allocates when tensors overlap that did not the last time. */
enum status alias_check(struct graph_run *r);

/* When the run has its turn: executions before it may write what is copied. */
enum status alias_copy(struct graph_run *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what the process has allocated and makes chosen allocations fail. Linked into a test, it takes the place of malloc
 * for the libraries that the test opens, too. */
#ifndef TESTS_API_ALLOC_HOOK_H
#define TESTS_API_ALLOC_HOOK_H

#include <stdbool.h>
#include <stdint.h>

int64_t alloc_live_bytes(void);  /* as malloc_usable_size sees them */
int64_t alloc_live_blocks(void);

void alloc_fail_at(uint64_t n); /* from now on count allocations; the one with number n, from 0, fails */
void alloc_fail_never(void);
bool alloc_failed(void);        /* since the last alloc_fail_at */
uint64_t alloc_count(void);     /* allocations since the last alloc_fail_at */

#endif

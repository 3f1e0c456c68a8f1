/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation. All heap memory of the libraries comes from here, checked for overflow; every failure is returned, never
 * fatal. Tests make the n-th allocation fail by interposing malloc (tests/api/alloc_hook.c), so this layer stays thin. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);  /* uninitialised; size 0 gives a unique pointer; NULL on failure */
void *mem_zalloc(size_t size); /* zeroed */
void *mem_realloc(void *p, size_t size);
void *mem_alloc_array(size_t count, size_t size);   /* zeroed; NULL when count * size overflows */
void *mem_alloc_aligned(size_t align, size_t size); /* align: power of two, at least sizeof(void *); zeroed */
void *mem_alloc_pages(size_t size);                        /* 4096-byte aligned, contents undefined: for large copies */
void *mem_dup(const void *p, size_t size);
char *mem_strdup(const char *s); /* NULL for NULL */
void mem_free(void *p);
void mem_freep(void *pp); /* for CLEANUP: frees *pp */

#define mem_new(T) ((T *)mem_zalloc(sizeof(T)))
#define mem_array(T, n) ((T *)mem_alloc_array((n), sizeof(T)))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: many small allocations with one lifetime, freed together. Chunks grow geometrically and never move. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks; /* newest first */
    size_t used;                /* bytes handed out, for reports */
};

void arena_init(struct arena *a);                /* allocates nothing */
void arena_finish(struct arena *a);              /* frees everything; a is usable again */
void *arena_alloc(struct arena *a, size_t size); /* zeroed, 16-byte aligned; NULL on failure; size 0 allowed */
void *arena_alloc_array(struct arena *a, size_t count, size_t size);
void *arena_dup(struct arena *a, const void *p, size_t size);
char *arena_strdup(struct arena *a, const char *s); /* NULL for NULL */
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc_array((a), (n), sizeof(T)))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: a list of zeroed chunks, bytes handed out from the newest one.
 *
 *     a->chunks -> [ head | used ....... | free ... ] -> [ head | used | rest ] -> NULL
 *
 * A request too large for the usual chunk gets one of its own, put second in the list, so the newest keeps its
 * free space. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { ALIGN = 16, FIRST_CHUNK = 2048, LAST_CHUNK = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, cap;
    _Alignas(ALIGN) unsigned char at[];
};

static struct arena_chunk *chunk_add(struct arena *a, size_t need)
{
    struct arena_chunk *top = a->chunks;
    size_t cap = !top ? FIRST_CHUNK : top->cap < LAST_CHUNK / 2 ? 2 * top->cap : LAST_CHUNK;
    bool own = need > cap / 2; /* a large part of a chunk: do not waste the rest of the newest */
    if (own)
        cap = need;
    struct arena_chunk *c = mem_zalloc(sizeof(*c) + cap);
    if (!c)
        return NULL;
    c->cap = cap;
    struct arena_chunk **place = own && top ? &top->next : &a->chunks;
    c->next = *place;
    *place = c;
    return c;
}

void arena_init(struct arena *a)
{
    *a = (struct arena){};
}

void arena_finish(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        mem_free(c);
    }
    arena_init(a);
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > PTRDIFF_MAX - 2 * sizeof(struct arena_chunk))
        return NULL;
    size_t need = size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    struct arena_chunk *c = a->chunks;
    if (!c || c->cap - c->used < need)
        c = chunk_add(a, need);
    if (!c)
        return NULL;
    void *p = c->at + c->used;
    c->used += need;
    a->used += need;
    return p;
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : arena_alloc(a, bytes);
}

void *arena_dup(struct arena *a, const void *p, size_t size)
{
    void *copy = arena_alloc(a, size);
    if (copy && size)
        memcpy(copy, p, size);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_dup(a, s, strlen(s) + 1) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *s = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (s)
        vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}

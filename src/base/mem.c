/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation over malloc: overflow checks, zeroing, and size 0 made an ordinary size. */
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE = 4 << 20, HUGE_PAGE = 2 << 20 };

/* malloc(0) may give NULL, which callers would take for a failure. */
static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

void *mem_alloc(size_t size)
{
    return size > PTRDIFF_MAX ? NULL : malloc(at_least_one(size));
}

void *mem_zalloc(size_t size)
{
    return size > PTRDIFF_MAX ? NULL : calloc(1, at_least_one(size));
}

void *mem_realloc(void *p, size_t size)
{
    return size > PTRDIFF_MAX ? NULL : realloc(p, at_least_one(size));
}

void *mem_alloc_array(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : mem_zalloc(bytes);
}

/* Whole pages of large blocks are given back to the kernel instead, which brings zeroed ones where they are touched: a
 * scratch arena of gigabytes costs what a graph uses of it. */
static void *zeroed(uint8_t *p, size_t size)
{
    uint8_t *from = (uint8_t *)(((uintptr_t)p + PAGE - 1) & ~(uintptr_t)(PAGE - 1)),
            *to = (uint8_t *)((uintptr_t)(p + size) & ~(uintptr_t)(PAGE - 1));
    if (size < LARGE || madvise(from, (size_t)(to - from), MADV_DONTNEED) != 0)
        return memset(p, 0, size);
    memset(p, 0, (size_t)(from - p));
    memset(to, 0, (size_t)(p + size - to));
    return p;
}

/* Weights and tensors are walked from end to end, and the processor looks up every page. What fills huge pages asks for
 * them; the rest, and all where the system has none, is in ordinary ones. */
static void *aligned(size_t align, size_t size)
{
    void *p = NULL;
    const bool huge = size >= HUGE_PAGE;
    if (size > PTRDIFF_MAX || posix_memalign(&p, huge && align < HUGE_PAGE ? HUGE_PAGE : align, at_least_one(size)))
        return NULL;
    if (huge)
        (void)madvise(p, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return p;
}

void *mem_alloc_aligned(size_t align, size_t size)
{
    void *p = aligned(align, size);
    return p ? zeroed(p, at_least_one(size)) : NULL;
}

void *mem_alloc_pages(size_t size)
{
    return aligned(PAGE, size);
}

void *mem_dup(const void *p, size_t size)
{
    void *copy = mem_alloc(size);
    if (copy && size)
        memcpy(copy, p, size);
    return copy;
}

char *mem_strdup(const char *s)
{
    return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

void mem_free(void *p)
{
    free(p);
}

void mem_freep(void *pp)
{
    void *p;
    memcpy(&p, pp, sizeof(p)); /* pp points to a pointer of any type */
    free(p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and its family in front of the C library's. The dynamic linker's own allocations (thread-local storage of a library
 * that was opened at run time) never fail here: it ends the process when they do, whatever the library does. */
#include "alloc_hook.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The C library's own, under the names it exports them by. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

enum { NEVER = -1 };

static _Atomic int64_t live_bytes, live_blocks;
static _Atomic int64_t countdown = NEVER;
static _Atomic uint64_t counted;
static _Atomic bool armed, failed;
static uintptr_t linker_low, linker_high;

int64_t alloc_live_bytes(void)
{
    return atomic_load(&live_bytes);
}

int64_t alloc_live_blocks(void)
{
    return atomic_load(&live_blocks);
}

static int find_linker(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (!strstr(info->dlpi_name, "/ld-linux"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, high = low + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            linker_low = low;
            linker_high = high;
        }
    }
    return 1;
}

void alloc_fail_at(uint64_t n)
{
    if (!linker_high)
        dl_iterate_phdr(find_linker, NULL);
    atomic_store(&failed, false);
    atomic_store(&counted, 0);
    atomic_store(&countdown, (int64_t)n);
    atomic_store(&armed, true);
}

void alloc_fail_never(void)
{
    atomic_store(&armed, false);
}

bool alloc_failed(void)
{
    return atomic_load(&failed);
}

uint64_t alloc_count(void)
{
    return atomic_load(&counted);
}

static bool fails(const void *caller)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed))
        return false;
    if ((uintptr_t)caller >= linker_low && (uintptr_t)caller < linker_high)
        return false;
    atomic_fetch_add(&counted, 1);
    if (atomic_fetch_sub(&countdown, 1) != 0)
        return false;
    atomic_store(&failed, true);
    errno = ENOMEM;
    return true;
}

static void *count_in(void *p)
{
    if (p) {
        atomic_fetch_add(&live_bytes, (int64_t)malloc_usable_size(p));
        atomic_fetch_add(&live_blocks, 1);
    }
    return p;
}

static void count_out(void *p)
{
    if (p) {
        atomic_fetch_sub(&live_bytes, (int64_t)malloc_usable_size(p));
        atomic_fetch_sub(&live_blocks, 1);
    }
}

EXPORT void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : count_in(__libc_malloc(size));
}

EXPORT void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : count_in(__libc_calloc(count, size));
}

EXPORT void *realloc(void *p, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    int64_t before = p ? (int64_t)malloc_usable_size(p) : 0;
    void *moved = __libc_realloc(p, size);
    if (!moved && size)
        return NULL; /* p is still there */
    atomic_fetch_sub(&live_bytes, before);
    atomic_fetch_sub(&live_blocks, p != NULL);
    return count_in(moved);
}

EXPORT void *memalign(size_t align, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : count_in(__libc_memalign(align, size));
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : count_in(__libc_memalign(align, size));
}

EXPORT int posix_memalign(void **ret, size_t align, size_t size)
{
    void *p = fails(__builtin_return_address(0)) ? NULL : count_in(__libc_memalign(align, size));
    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

EXPORT void free(void *p)
{
    int saved = errno;
    count_out(p);
    __libc_free(p);
    errno = saved;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows about a range of addresses. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/lpai/lpai_backend.h"

/* msync fails for pages that are not mapped, and with MS_ASYNC it does nothing else. */
bool lpai_mapped(const void *p, uint64_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)p & ~(page - 1), end = (uintptr_t)p + bytes;
    if (!bytes)
        return true;
    int saved = errno;
    bool mapped = msync((void *)begin, end - begin, MS_ASYNC) == 0 || errno != ENOMEM;
    errno = saved;
    return mapped;
}

/* The list of mappings is ordered by address. Without /proc there is nothing to ask, and the client is believed. */
bool lpai_writable(const void *p, uint64_t bytes)
{
    unsigned long at = (unsigned long)p, end = at + bytes, low, high;
    char line[512], rights[8];
    FILE *f = bytes ? fopen("/proc/self/maps", "re") : NULL;
    if (!f)
        return lpai_mapped(p, bytes);
    bool whole = true; /* a long path comes in pieces; only the first has the addresses */
    while (at < end && fgets(line, sizeof line, f)) {
        bool first = whole;
        whole = strchr(line, '\n') != NULL;
        if (!first || sscanf(line, "%lx-%lx %7s", &low, &high, rights) != 3 || high <= at)
            continue;
        if (low > at || rights[0] != 'r' || rights[1] != 'w')
            break;
        at = high;
    }
    fclose(f);
    return at >= end;
}

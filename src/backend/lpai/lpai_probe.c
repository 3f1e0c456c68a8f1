/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows about a range of addresses. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
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

/* One byte of each page, read, or written back as it is: the kernel answers with an error where the process would get a signal. A process may always
 * do that to itself, but some sandboxes do not allow the call; then the client is believed. */
static bool touch(uintptr_t begin, uintptr_t end, bool write)
{
    enum { AT_ONCE = 64 };
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char byte[AT_ONCE];
    for (uintptr_t at = begin; at < end;) {
        struct iovec there[AT_ONCE], here = { byte, 0 };
        unsigned n = 0;
        for (; n < AT_ONCE && at < end; n++, at = (at & ~(page - 1)) + page)
            there[n] = (struct iovec){ (void *)at, 1 };
        here.iov_len = n;
        errno = 0;
        ssize_t done = write ? process_vm_writev(getpid(), there, n, there, n, 0) : process_vm_readv(getpid(), &here, 1, there, n, 0);
        if (done < 0 && (errno == ENOSYS || errno == EPERM))
            return true;
        if (done != (ssize_t)n)
            return false;
    }
    return true;
}

bool lpai_usable(const void *p, uint64_t bytes, bool write, bool known)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)p, end = begin + bytes, last = (end - 1) & ~(page - 1);
    if (!bytes)
        return true;
    int saved = errno;
    bool ok = lpai_mapped(p, bytes) && touch(known && last > begin ? last : begin, end, write);
    errno = saved;
    return ok;
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

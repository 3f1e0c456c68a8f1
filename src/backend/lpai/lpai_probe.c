/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows about a range of addresses. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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

/* The kernel answers with an error where the process would get a signal, so it is asked to read or to write there in calls
 * that change nothing: a signal mask to be used in a way that does not exist, and an atomic addition of 0 beside a wait
 * queue. Where a sandbox forbids these calls the client is believed. */
static bool can_read(uintptr_t at)
{
    return syscall(SYS_rt_sigprocmask, -1, at & ~(uintptr_t)7, NULL, 8) == 0 || errno != EFAULT;
}

static bool can_write(uintptr_t at)
{
    uint32_t queue = 0;
    long result = syscall(SYS_futex, &queue, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, at & ~(uintptr_t)3,
                          FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0));
    return result >= 0 || errno != EFAULT;
}

static bool touch(uintptr_t at, bool write)
{
    int saved = errno;
    bool ok = write ? can_write(at) : can_read(at);
    errno = saved;
    return ok;
}

bool lpai_usable(const void *p, uint64_t bytes, bool write)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)p + bytes;
    for (uintptr_t at = (uintptr_t)p; at < end; at = (at & ~(page - 1)) + page)
        if (!touch(at, write))
            return false;
    return true;
}

bool lpai_ends_usable(const void *p, uint64_t bytes, bool write)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)p, last = first + bytes - 1;
    return !bytes || (touch(last, write) && (first / page == last / page || touch(first, write)));
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

/* The mapping that holds the whole range, if it is shared; what it maps, and the range's offset in that. */
static bool shared_mapping(uintptr_t begin, uint64_t bytes, dev_t *device, ino_t *inode, uint64_t *offset)
{
    unsigned long low, high, from, file;
    unsigned major, minor;
    char line[512], rights[8];
    FILE *f = fopen("/proc/self/maps", "re");
    bool found = false, whole = true;
    while (f && !found && fgets(line, sizeof line, f)) {
        bool first = whole;
        whole = strchr(line, '\n') != NULL;
        if (!first || sscanf(line, "%lx-%lx %7s %lx %x:%x %lu", &low, &high, rights, &from, &major, &minor, &file) != 7 ||
            begin < low || begin >= high)
            continue;
        found = rights[3] == 's' && file && bytes <= high - begin;
        *device = makedev(major, minor);
        *inode = file;
        *offset = from + (begin - low);
        if (!found)
            break;
    }
    if (f)
        fclose(f);
    return found;
}

int lpai_shared_fd(const void *p, uint64_t bytes, uint64_t *ret_offset)
{
    dev_t device = 0;
    ino_t inode = 0;
    if (!shared_mapping((uintptr_t)p, bytes, &device, &inode, ret_offset))
        return -1;
    DIR *open_ones = opendir("/proc/self/fd");
    int ret = -1;
    for (struct dirent *d; open_ones && ret < 0 && (d = readdir(open_ones));) {
        struct stat st;
        int fd = atoi(d->d_name);
        bool same =
            d->d_name[0] != '.' && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == device && st.st_ino == inode;
        if (same && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR)
            ret = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    if (open_ones)
        closedir(open_ones);
    return ret;
}

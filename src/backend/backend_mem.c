/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory in this process: the client's descriptor is mapped, and tensors are computed right there. */
#include "backend/backend.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reading beyond the end of a file would be a SIGBUS in the middle of a kernel, so the size is asked first. Devices that do
 * not tell (character devices, some DMA heaps) are believed. */
static enum status check_size(int fd, uint64_t offset, uint64_t bytes)
{
    struct stat st;
    RETURN_IF(fstat(fd, &st) != 0, ST_MAPPING, "file descriptor %d cannot be mapped: %s", fd, strerror(errno));
    off_t end = st.st_size > 0 || S_ISREG(st.st_mode) ? st.st_size : lseek(fd, 0, SEEK_END);
    if (end < 0 || (end == 0 && !S_ISREG(st.st_mode)))
        return ST_OK;
    RETURN_IF(offset > (uint64_t)end || bytes > (uint64_t)end - offset, ST_MAPPING,
              "file descriptor %d has %lld bytes; %llu bytes at offset %llu do not fit", fd, (long long)end,
              (unsigned long long)bytes, (unsigned long long)offset);
    return ST_OK;
}

enum status backend_map_fd(struct backend_context *c, int fd, uint64_t offset, uint64_t bytes, void **ret)
{
    (void)c;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = offset % page, length;
    RETURN_IF(bytes == 0 || __builtin_add_overflow(bytes, skip, &length) || length > SIZE_MAX / 2 || offset > INT64_MAX,
              ST_MAPPING, "%llu bytes at offset %llu of a file descriptor; at least 1 byte below 2^63 is expected",
              (unsigned long long)bytes, (unsigned long long)offset);
    TRY(check_size(fd, offset, bytes));
    uint8_t *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - skip));
    RETURN_IF(base == MAP_FAILED, ST_MAPPING, "file descriptor %d, %llu bytes at offset %llu could not be mapped: %s", fd,
              (unsigned long long)bytes, (unsigned long long)offset, strerror(errno));
    *ret = base + skip;
    return ST_OK;
}

void backend_unmap_fd(struct backend_context *c, void *address, uint64_t bytes)
{
    (void)c;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), skip = (uintptr_t)address % page;
    munmap((uint8_t *)address - skip, bytes + skip);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See rpc_shared.h. Descriptors come from anyone: what is claimed about their size is compared with what the kernel says,
 * because touching a mapping behind the end of its file ends the process. */
#include "rpc/rpc_shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"

enum { PAGE = 4096, SPINS_PER_LOOK = 32, NS_PER_S = 1000000000 };

/* Growing any file beyond the limit on file sizes, also one in memory, ends the process by a signal. */
static enum status check_file_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return ST_OK;
    RETURN_IF(bytes > limit.rlim_cur, ST_NO_MEMORY,
              "shared memory of %llu bytes: files of this process may have %llu at most; raise the limit (ulimit -f)",
              (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    return ST_OK;
}

enum status shared_create(const char *name, uint64_t bytes, int *ret_fd)
{
    TRY(check_file_limit(bytes));
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        TRY(descriptors_left(ST_SYSTEM, "shared memory"));
    RETURN_IF(fd < 0, ST_SYSTEM, "shared memory of %llu bytes: no memfd: %s", (unsigned long long)bytes,
              strerrordesc_np(errno));
    if (bytes > INT64_MAX || ftruncate(fd, (off_t)bytes) != 0) {
        int why = errno;
        close(fd);
        return status_fail(ST_NO_MEMORY, "shared memory of %llu bytes: %s", (unsigned long long)bytes, strerrordesc_np(why));
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    *ret_fd = fd;
    return ST_OK;
}

/* The plain system call: the C library's fstat may look up a path, which a session is not allowed to. */
enum status shared_fd_bytes(int fd, uint64_t *ret)
{
    struct stat s;
    RETURN_IF(syscall(SYS_fstat, fd, &s) != 0, ST_MAPPING,
              "file descriptor %d: %s; it must be open while memory is registered", fd, strerrordesc_np(errno));
    bool other =
        S_ISDIR(s.st_mode) || S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode) || S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode);
    RETURN_IF(other, ST_MAPPING, "file descriptor %d is a %s; memory of a file, memfd or DMA buffer is expected", fd,
              S_ISDIR(s.st_mode)    ? "directory"
              : S_ISFIFO(s.st_mode) ? "pipe"
              : S_ISSOCK(s.st_mode) ? "socket"
                                    : "device");
    off_t size = S_ISREG(s.st_mode)
                     ? s.st_size
                     : lseek(fd, 0, SEEK_END); /* DMA buffers are no regular files and tell their size this way */
    RETURN_IF(size <= 0, ST_MAPPING, "file descriptor %d has no bytes that can be mapped", fd);
    *ret = (uint64_t)size;
    return ST_OK;
}

void shared_fd_file(int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
    struct stat s;
    bool known = syscall(SYS_fstat, fd, &s) == 0;
    *ret_device = known ? s.st_dev : 0;
    *ret_inode = known ? s.st_ino : 0;
}

enum status shared_map(int fd, uint64_t offset, uint64_t bytes, bool writable, void **ret)
{
    uint64_t there;
    TRY(shared_fd_bytes(fd, &there));
    RETURN_IF(!bytes || offset > there || bytes > there - offset, ST_MAPPING,
              "%llu bytes at offset %llu of a descriptor that has %llu; register what is there", (unsigned long long)bytes,
              (unsigned long long)offset, (unsigned long long)there);
    void *p = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, (off_t)offset);
    RETURN_IF(p == MAP_FAILED && errno == EACCES, ST_MAPPING,
              "the descriptor does not allow to %s; open it for reading and writing", writable ? "write" : "read");
    RETURN_IF(p == MAP_FAILED, ST_MAPPING, "%llu bytes could not be mapped: %s", (unsigned long long)bytes,
              strerrordesc_np(errno));
    *ret = p;
    return ST_OK;
}

static enum status map_over(void *at, int fd, uint64_t offset, uint64_t bytes)
{
    uint64_t there;
    TRY(shared_fd_bytes(fd, &there));
    RETURN_IF(!bytes || offset % PAGE || offset > there || bytes > there - offset, ST_MAPPING,
              "%llu bytes at offset %llu of a descriptor that has %llu", (unsigned long long)bytes,
              (unsigned long long)offset, (unsigned long long)there);
    void *p = mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    RETURN_IF(p == MAP_FAILED, ST_MAPPING, "%llu bytes could not be mapped: %s", (unsigned long long)bytes,
              strerrordesc_np(errno));
    return ST_OK;
}

enum status shared_map_joined(const int fds[2], const uint64_t offsets[2], const uint64_t bytes[2], void **ret)
{
    uint64_t pages = shared_pages(bytes[1]);
    RETURN_IF(!bytes[0] || bytes[0] % PAGE || bytes[0] > INT64_MAX - PAGE || pages > INT64_MAX - bytes[0], ST_MAPPING,
              "%llu bytes and %llu behind them; the first part has to be whole pages", (unsigned long long)bytes[0],
              (unsigned long long)bytes[1]);

    uint8_t *at = mmap(NULL, bytes[0] + pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    RETURN_IF(at == MAP_FAILED, ST_MAPPING, "%llu bytes could not be mapped: %s", (unsigned long long)(bytes[0] + pages),
              strerrordesc_np(errno));

    enum status st = map_over(at, fds[0], offsets[0], bytes[0]);
    if (st == ST_OK)
        st = map_over(at + bytes[0], fds[1], offsets[1], bytes[1]);
    if (st != ST_OK) {
        munmap(at, bytes[0] + pages);
        return st;
    }
    *ret = at;
    return ST_OK;
}

void shared_unmap(void *at, uint64_t bytes)
{
    if (at)
        munmap(at, bytes);
}

uint64_t shared_pages(uint64_t bytes)
{
    return bytes > UINT64_MAX - (PAGE - 1) ? UINT64_MAX : (bytes + PAGE - 1) / PAGE * PAGE;
}

void shared_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns)
{
    struct timespec t = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
    syscall(SYS_futex, word, FUTEX_WAIT, expected, ns ? &t : NULL, NULL, 0);
}

void shared_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool shared_spin(_Atomic uint32_t *word, uint32_t old, uint64_t ns)
{
    for (uint64_t end = clock_ns() + ns; ns;) {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return true;
            __builtin_ia32_pause();
        }
        if (clock_ns() >= end)
            break;
    }
    return atomic_load(word) != old;
}

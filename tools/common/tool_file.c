/* SPDX-License-Identifier: Apache-2.0 */
/* Files; see tool_file.h. */
#include "common/tool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_write.h"
#include "base/mem.h"

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Opens a regular file and tells its size. */
static enum status open_regular(const char *path, int *ret, uint64_t *size)
{
    struct stat st;
    CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, ST_IO, "cannot open \"%s\": %s", path, strerror(errno));
    RETURN_IF(fstat(fd, &st), ST_IO, "cannot read \"%s\": %s", path, strerror(errno));
    RETURN_IF(!S_ISREG(st.st_mode), ST_IO, "cannot read \"%s\": it is not a regular file", path);
    *size = (uint64_t)st.st_size;
    *ret = fd;
    fd = -1;
    return ST_OK;
}

static enum status read_all(int fd, const char *path, uint64_t offset, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        RETURN_IF(n < 0, ST_IO, "cannot read \"%s\": %s", path, strerror(errno));
        RETURN_IF(n == 0, ST_IO, "cannot read \"%s\": it ends after %" PRIu64 " bytes, %zu are missing", path, offset + done,
                  size - done);
        done += (size_t)n;
    }
    return ST_OK;
}

enum status tool_file_read(const char *path, struct tool_file *ret)
{
    CLEANUP(close_fd) int fd = -1;
    CLEANUP(mem_freep) void *data = NULL;
    uint64_t size;
    TRY(open_regular(path, &fd, &size));
    data = mem_alloc((size_t)size);
    RETURN_IF(!data, ST_NO_MEMORY, "\"%s\": no memory for its %" PRIu64 " bytes", path, size);
    TRY(read_all(fd, path, 0, data, (size_t)size));
    *ret = (struct tool_file){ .data = TAKE(data), .size = (size_t)size };
    return ST_OK;
}

enum status tool_file_map(const char *path, struct tool_file *ret)
{
    CLEANUP(close_fd) int fd = -1;
    uint64_t size;
    TRY(open_regular(path, &fd, &size));
    if (!size)
        return tool_file_read(path, ret);
    void *data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    RETURN_IF(data == MAP_FAILED, ST_IO, "cannot map \"%s\": %s", path, strerror(errno));
    *ret = (struct tool_file){ .data = data, .size = (size_t)size, .mapped = true };
    return ST_OK;
}

void tool_file_release(const struct tool_file *f, const void *bytes, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)bytes, to = from + size, start = (uintptr_t)f->data;
    if (!f->mapped || from < start || to < from || to > start + f->size)
        return;
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void tool_file_free(struct tool_file *f)
{
    if (f->mapped)
        munmap(f->data, f->size);
    else
        mem_free(f->data);
    *f = (struct tool_file){ 0 };
}

enum status tool_file_size(const char *path, uint64_t *ret)
{
    CLEANUP(close_fd) int fd = -1;
    return open_regular(path, &fd, ret);
}

enum status tool_file_read_at(const char *path, uint64_t offset, void *to, size_t size)
{
    CLEANUP(close_fd) int fd = -1;
    uint64_t have;
    TRY(open_regular(path, &fd, &have));
    return read_all(fd, path, offset, to, size);
}

enum status tool_file_write(const char *path, const void *data, size_t size)
{
    return file_write_all(path, data, size);
}

enum status tool_make_dirs(const char *path)
{
    CLEANUP(mem_freep) char *copy = mem_strdup(path);
    RETURN_IF(!copy, ST_NO_MEMORY, "path \"%s\"", path);
    for (char *p = copy + 1; *copy; p++) {
        char c = *p;
        if (c != '/' && c)
            continue;
        *p = '\0';
        RETURN_IF(mkdir(copy, 0755) && errno != EEXIST, ST_IO, "cannot create the folder \"%s\": %s", copy, strerror(errno));
        if (!c)
            break;
        *p = c;
    }
    struct stat st;
    RETURN_IF(stat(path, &st) || !S_ISDIR(st.st_mode), ST_IO, "cannot create the folder \"%s\": a file has that name", path);
    return ST_OK;
}

void tool_own_folder(char *buf, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - 1);
    buf[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(buf, '/');
    if (slash)
        *slash = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Caches as files: the kernel repository and the performance cache. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/gpu/gpu_cache.h"
#include "base/file_write.h"
#include "base/mem.h"

enum { MAX_FILE = 1 << 30 }; /* bytes; more is no cache of ours */

static enum status read_all(int fd, const char *path, void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = read(fd, (char *)data + at, bytes - at);
        RETURN_IF(n <= 0 && errno != EINTR, ST_IO, "\"%s\" cannot be read: %s", path,
                  n ? strerror(errno) : "it became shorter");
        at += n > 0 ? (size_t)n : 0;
    }
    return ST_OK;
}

static enum status load_fd(struct gpu_cache *c, int fd, const char *path)
{
    struct stat s;
    RETURN_IF(fstat(fd, &s) != 0 || !S_ISREG(s.st_mode), ST_IO, "\"%s\" is no ordinary file", path);
    RETURN_IF(s.st_size > MAX_FILE, ST_BAD_BINARY, "\"%s\" has %lld bytes; caches have at most %d", path,
              (long long)s.st_size, (int)MAX_FILE);
    CLEANUP(mem_freep) void *data = mem_alloc((size_t)s.st_size + 1);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory to read \"%s\"", path);
    TRY(read_all(fd, path, data, (size_t)s.st_size));
    enum status st = gpu_cache_read(c, data, (uint64_t)s.st_size);
    return st == ST_OK ? ST_OK : status_prefix(st, "\"%s\"", path);
}

enum status gpu_cache_load(struct gpu_cache *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return ST_OK;
    RETURN_IF(fd < 0, ST_IO, "\"%s\" cannot be opened: %s", path, strerror(errno));
    enum status st = load_fd(c, fd, path);
    close(fd);
    return st;
}

enum status gpu_cache_save(const struct gpu_cache *c, const char *path)
{
    uint64_t bytes;
    CLEANUP(mem_freep) void *data = NULL;

    TRY(gpu_cache_write(c, &data, &bytes));
    return file_write_all(path, data, bytes);
}

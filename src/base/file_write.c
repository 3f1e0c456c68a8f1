/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_guard.h"
#include "base/file_stale.h"
#include "base/mem.h"
#include "base/str.h"

enum {
    MOST_LINKS = 40,      /* as many as the kernel follows */
    MOST_NAMES = 1000,    /* of temporary files that exist already */
    NAME_KEPT = 100,      /* characters of the target's name in the temporary one: names have an end */
    STREAM_BUFFER = 65536,
};

/* ---- where to -------------------------------------------------------------------------------------------------------- */

static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* The path that the link at *path leads to; false when it is no link. */
static bool follow(char **path)
{
    char link[PATH_MAX];
    ssize_t n = readlink(*path, link, sizeof link - 1);
    if (n <= 0)
        return false;

    link[n] = '\0';
    struct str next;
    str_init(&next);
    if (link[0] != '/')
        str_addn(&next, *path, (size_t)folder_length(*path));
    str_add(&next, link);
    if (next.failed) {
        str_finish(&next);
        return false;
    }

    mem_free(*path);
    *path = next.at;
    return true;
}

/* Whoever redirected the output of this process holds that file open, and would not see one that takes its place. */
static bool is_standard_stream(const struct stat *s)
{
    for (int fd = 0; fd <= 2; fd++) {
        struct stat own;
        if (fstat(fd, &own) == 0 && own.st_dev == s->st_dev && own.st_ino == s->st_ino)
            return true;
    }
    return false;
}

static bool is_replaceable(const char *path, const struct stat *s)
{
    return S_ISREG(s->st_mode) && !is_standard_stream(s) && !str_starts(path, "/dev/fd/") && !str_starts(path, "/proc/");
}

/* A file without a name is found by its descriptor when it gets one. */
enum { OWN_PATH_MAX = 40 };

static const char *own_path(int fd, char path[OWN_PATH_MAX])
{
    snprintf(path, OWN_PATH_MAX, "/proc/self/fd/%d", fd);
    return path;
}

/* Not every file system can do this, and without /proc the file could not be named. */
static int open_unnamed(const struct file_write *w)
{
    char path[OWN_PATH_MAX];
    struct str folder;
    str_init(&folder);
    str_addf(&folder, "%.*s.", folder_length(w->target), w->target);

    int fd = folder.failed ? -1 : open(str_text(&folder), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    str_finish(&folder);
    if (fd >= 0 && access(own_path(fd, path), F_OK) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int make_named(const struct file_write *w, const char *name)
{
    char path[OWN_PATH_MAX];
    if (w->unnamed)
        return linkat(AT_FDCWD, own_path(w->fd, path), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? w->fd : -1;

    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* A name beside the target that no file has; the descriptor, or -1. */
static int name_temporary(struct file_write *w)
{
    static _Atomic unsigned counter;
    int folder = folder_length(w->target);
    int fd = -1;
    errno = EEXIST;

    for (int i = 0; i < MOST_NAMES && fd < 0 && errno == EEXIST; i++) {
        struct str name;
        str_init(&name);
        str_addf(&name, "%.*s%.*s.part-%ld-%u", folder, w->target, NAME_KEPT, w->target + folder, (long)getpid(), counter++);
        mem_free(w->temporary);
        w->temporary = name.at;
        errno = ENOMEM;
        fd = name.failed ? -1 : make_named(w, name.at);
    }
    return fd;
}

/* Of earlier processes, of the same target. */
static void remove_stale(const struct file_write *w)
{
    struct str folder;
    struct str beginning;
    int n = folder_length(w->target);

    str_init(&folder);
    str_init(&beginning);
    str_addf(&folder, "%.*s.", n, w->target);
    str_addf(&beginning, "%.*s.part-", NAME_KEPT, w->target + n);
    if (!folder.failed && !beginning.failed)
        file_stale_remove(str_text(&folder), str_text(&beginning));

    str_finish(&folder);
    str_finish(&beginning);
}

static void forget_temporary(struct file_write *w)
{
    mem_free(w->temporary);
    w->temporary = NULL;
}

static int open_temporary(struct file_write *w)
{
    int fd = open_unnamed(w);
    if (fd >= 0) {
        w->unnamed = true;
        return fd;
    }

    remove_stale(w);
    fd = name_temporary(w);
    if (fd >= 0)
        file_stale_hold(fd);
    return fd;
}

/* A file that may be written in a folder that may not. */
static bool may_write_in_place(const struct file_write *w, int error)
{
    bool folder_refuses = error == EACCES || error == EPERM || error == EROFS;
    return w->replaces && folder_refuses && access(w->target, W_OK) == 0;
}

static enum status open_target(struct file_write *w, const char *path)
{
    struct stat s;
    bool exists = stat(path, &s) == 0;
    w->replaces = exists && is_replaceable(path, &s);
    w->mode = w->replaces ? s.st_mode & 07777 : 0;
    RETURN_IF(w->replaces && access(path, W_OK) != 0, ST_IO, "cannot write \"%s\": %s", path, strerror(errno));

    if (exists && !w->replaces) {
        int kind = S_ISREG(s.st_mode) ? O_RDWR : O_WRONLY;
        w->fd = open(path, kind | O_TRUNC | O_CLOEXEC);
    } else {
        for (int i = 0; i < MOST_LINKS && follow(&w->target); i++)
            continue;
        w->fd = open_temporary(w);
        int error = errno;
        if (w->fd < 0)
            forget_temporary(w);
        if (w->fd < 0 && may_write_in_place(w, error))
            w->fd = open(w->target, O_RDWR | O_TRUNC | O_CLOEXEC);
        else
            errno = error;
    }
    RETURN_IF(w->fd < 0, ST_IO, "cannot write \"%s\": %s", path, strerror(errno));
    return ST_OK;
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static bool write_bytes(int fd, const char *data, size_t size)
{
    FILE_GUARD(guard);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, data + done, size - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static ssize_t stream_write(void *cookie, const char *data, size_t size)
{
    struct file_write *w = cookie;
    if (write_bytes(w->fd, data, size))
        return (ssize_t)size;
    if (!w->error)
        w->error = errno;
    return 0;
}

/* Writers go back over what they wrote, to fill in a length or take back a comma. */
static int stream_seek(void *cookie, off64_t *at, int whence)
{
    struct file_write *w = cookie;
    off64_t reached = lseek64(w->fd, *at, whence);
    if (reached < 0)
        return -1;

    *at = reached;
    return 0;
}

enum status file_write_begin(struct file_write *w, const char *path)
{
    *w = (struct file_write){ .fd = -1, .target = mem_strdup(path) };
    RETURN_IF(!w->target, ST_NO_MEMORY, "no memory to write \"%s\"", path);

    enum status st = open_target(w, path);
    if (st == ST_OK) {
        w->to = fopencookie(w, "w", (cookie_io_functions_t){ .write = stream_write, .seek = stream_seek });
        if (!w->to)
            st = status_fail(ST_NO_MEMORY, "no memory to write \"%s\"", path);
        else
            setvbuf(w->to, NULL, _IOFBF, STREAM_BUFFER);
    }
    if (st != ST_OK)
        file_write_abort(w);
    return st;
}

/* ---- taking the place ------------------------------------------------------------------------------------------------- */

static enum status not_written(const struct file_write *w, int error)
{
    bool kept = w->replaces && (w->temporary || w->unnamed);
    const char *former = kept ? "; the former file is as it was" : "";
    return status_fail(ST_IO, "cannot write all of \"%s\": %s%s", w->target, strerror(error), former);
}

/* Only a former file is worth waiting for the disk. */
static bool settle(const struct file_write *w)
{
    return !w->replaces || (fchmod(w->fd, w->mode) == 0 && fsync(w->fd) == 0);
}

/* A link takes no other file's place, so where there is one the name comes first. */
static bool take_place(struct file_write *w)
{
    if (w->unnamed && !w->replaces && make_named(w, w->target) >= 0) {
        w->unnamed = false;
        return true;
    }

    if (w->unnamed && name_temporary(w) < 0) {
        forget_temporary(w);
        return false;
    }
    w->unnamed = false;
    if (rename(w->temporary, w->target) != 0)
        return false;

    forget_temporary(w);
    return true;
}

enum status file_write_replace(struct file_write *w)
{
    bool ok = fflush(w->to) == 0 && !w->error;
    if (!ok)
        return not_written(w, w->error ? w->error : errno);
    if (!w->temporary && !w->unnamed)
        return ST_OK;

    return settle(w) && take_place(w) ? ST_OK : not_written(w, errno);
}

enum status file_write_end(struct file_write *w)
{
    enum status st = file_write_replace(w);
    if (st == ST_OK) {
        int fd = w->fd;
        w->fd = -1;
        if (close(fd) != 0 && errno != EINTR)
            st = not_written(w, errno);
    }
    file_write_abort(w);
    return st;
}

void file_write_abort(struct file_write *w)
{
    int error = errno;
    if (!w->target)
        return;

    if (w->to)
        (void)fclose(w->to); /* closes the stream, not the descriptor */
    if (w->fd >= 0)
        close(w->fd);
    if (w->temporary)
        unlink(w->temporary);
    mem_free(w->temporary);
    mem_free(w->target);
    *w = (struct file_write){ 0 };
    errno = error;
}

/* ---- in one call ------------------------------------------------------------------------------------------------------ */

enum status file_write_all(const char *path, const void *data, size_t size)
{
    CLEANUP(file_write_abort) struct file_write w = { 0 };
    TRY(file_write_begin(&w, path));
    if (!write_bytes(w.fd, data, size))
        w.error = errno;
    return file_write_end(&w);
}

enum status file_append(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    RETURN_IF(fd < 0, ST_IO, "cannot write \"%s\": %s", path, strerror(errno));

    struct stat s = { 0 };
    bool ok = fstat(fd, &s) == 0 && write_bytes(fd, data, size);
    int error = errno;
    bool cut = !ok && S_ISREG(s.st_mode) && ftruncate(fd, s.st_size) == 0;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    RETURN_IF(!ok, ST_IO, "cannot write all of \"%s\": %s%s", path, strerror(error),
              cut ? "; it has its former length" : "");
    return ST_OK;
}

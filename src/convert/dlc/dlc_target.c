/* SPDX-License-Identifier: Apache-2.0 */
/* Where the archive library writes a DLC: into a file that takes its place when it is whole (base/file_write.h). The
 * library's own files would follow no link, and would be left behind by a process that is killed. */
#include <errno.h>
#include <unistd.h>

#include "base/file_guard.h"
#include "convert/dlc/dlc_target.h"

static zip_int64_t write_some(struct dlc_target *t, const void *data, zip_uint64_t size)
{
    FILE_GUARD(guard);
    for (zip_uint64_t done = 0; done < size;) {
        ssize_t n = write(t->file->fd, (const char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            t->error = n < 0 ? errno : ENOSPC;
            zip_error_set(&t->zip_error, ZIP_ER_WRITE, t->error);
            return -1;
        }
        done += (zip_uint64_t)n;
    }
    return (zip_int64_t)size;
}

static zip_int64_t seek(struct dlc_target *t, void *data, zip_uint64_t size)
{
    const zip_source_args_seek_t *to = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, size, &t->zip_error);
    if (!to)
        return -1;
    if (lseek(t->file->fd, to->offset, to->whence) < 0) {
        zip_error_set(&t->zip_error, ZIP_ER_SEEK, errno);
        return -1;
    }
    return 0;
}

/* There is no archive yet. */
static zip_int64_t tell_of_it(void *data, zip_uint64_t size, zip_error_t *error)
{
    if (size < sizeof(zip_stat_t)) {
        zip_error_set(error, ZIP_ER_INVAL, 0);
        return -1;
    }
    zip_stat_t *stat = data;
    zip_stat_init(stat);
    stat->size = 0;
    stat->valid |= ZIP_STAT_SIZE;
    return sizeof(*stat);
}

static zip_int64_t answer(void *user, void *data, zip_uint64_t size, zip_source_cmd_t command)
{
    struct dlc_target *t = user;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
            ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
            ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_WRITE: return write_some(t, data, size);
    case ZIP_SOURCE_SEEK_WRITE: return seek(t, data, size);
    case ZIP_SOURCE_TELL_WRITE: return lseek(t->file->fd, 0, SEEK_CUR);
    case ZIP_SOURCE_STAT: return tell_of_it(data, size, &t->zip_error);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&t->zip_error, data, size);
    case ZIP_SOURCE_OPEN: /* before a new archive takes the old one's place */
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE: return 0;
    default: /* nothing is read back */ zip_error_set(&t->zip_error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

zip_source_t *dlc_target_source(struct dlc_target *t, struct file_write *file, zip_error_t *error)
{
    *t = (struct dlc_target){ .file = file };
    zip_error_init(&t->zip_error);
    return zip_source_function_create(answer, t, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See line_append.h. */
#include "base/line_append.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/file_guard.h"

bool line_append(const char *path, const char *line, size_t n)
{
    FILE_GUARD(guard);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;

    bool done = !n || write(fd, line, n) == (ssize_t)n;
    close(fd);
    return done;
}

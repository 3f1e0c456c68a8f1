/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_stale.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_LOOKS = 64,
    STALE_SECONDS = 3600, /* a lock of another machine may not be seen here */
};

void file_stale_hold(int fd)
{
    (void)flock(fd, LOCK_EX | LOCK_NB);
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

static bool is_temporary(const char *name, const char *beginning)
{
    size_t n = strlen(beginning);
    if (strncmp(name, beginning, n) != 0)
        return false;

    const char *process = name + n;
    if (digits(process) == 0 || process[digits(process)] != '-')
        return false;

    const char *number = process + digits(process) + 1;
    return digits(number) > 0 && number[digits(number)] == '\0';
}

/* Of a regular file; the lock is held then. */
static bool is_left_behind(int fd)
{
    struct stat s;
    bool is_old = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && time(NULL) - s.st_mtime >= STALE_SECONDS;
    return is_old && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void file_stale_remove(const char *folder, const char *beginning)
{
    static _Atomic unsigned looks;
    if (atomic_fetch_add(&looks, 1) >= MOST_LOOKS)
        return;

    DIR *dir = opendir(folder);
    if (!dir)
        return;

    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_temporary(entry->d_name, beginning))
            continue;
        int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (is_left_behind(fd))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        close(fd);
    }
    closedir(dir);
}

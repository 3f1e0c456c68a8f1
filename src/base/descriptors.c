/* SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

enum status descriptors_left(enum status st, const char *what)
{
    struct rlimit limit = { 0, 0 };

    RETURN_IF(errno == ENFILE, st, "no free file descriptors for %s: the whole system has as many open as it allows", what);
    if (errno != EMFILE)
        return ST_OK;

    getrlimit(RLIMIT_NOFILE, &limit);
    return status_fail(st,
                       "no free file descriptors for %s: limit %llu, and all of them are open; close some or raise "
                       "RLIMIT_NOFILE (ulimit -n)",
                       what, (unsigned long long)limit.rlim_cur);
}

int descriptors_errno(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    int why = fd < 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return why == EMFILE ? EMFILE : 0;
}

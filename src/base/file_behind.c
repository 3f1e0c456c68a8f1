/* SPDX-License-Identifier: Apache-2.0 */
/* See file_behind.h. The kernel names device, inode and path of a mapping. The path may lead to another file by now, and
 * numbers of devices are not those of stat on every file system: so the file is mapped here, too, and the kernel's words
 * about both mappings are compared. */
#include "base/file_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One line of /proc/self/maps. */
struct mapping {
    uint64_t begin, end, offset, inode;
    unsigned major, minor;
    bool private;
    char path[PATH_MAX];
};

enum { PAGE = 4096, LINE_MAX_BYTES = PATH_MAX + 128, ENTRIES = 512 };

/* Of an entry of /proc/self/pagemap: the page is in memory, or swapped out; it belongs to a file or is shared. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

static bool parse(const char *line, struct mapping *m)
{
    char access[5];
    int path_at = 0;
    int n = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->begin, &m->end, access,
                   &m->offset, &m->major, &m->minor, &m->inode, &path_at);
    if (n != 7)
        return false;

    m->private = access[3] == 'p';
    snprintf(m->path, sizeof m->path, "%.*s", (int)strcspn(line + path_at, "\n"), line + path_at);
    return true;
}

static bool same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

/* The mapping of the first byte, when all others up to `end` go on in the same file. */
static bool find(uint64_t at, uint64_t end, struct mapping *ret)
{
    char line[LINE_MAX_BYTES];
    struct mapping now;
    uint64_t next = at; /* the first address that is not covered yet */
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f)
        return false;

    while (next < end && fgets(line, sizeof line, f)) {
        if (!parse(line, &now) || now.end <= next)
            continue;

        bool first = next == at;
        bool goes_on = now.begin <= next && now.inode != 0;
        if (!first && goes_on)
            goes_on = same_file(&now, ret) && now.offset == ret->offset + (now.begin - ret->begin);
        if (!goes_on)
            break;
        if (first)
            *ret = now;
        ret->private = ret->private || now.private;
        next = now.end;
    }

    fclose(f);
    return next >= end;
}

/* Pages of a private mapping that were written to are not those of the file any more. */
static bool unchanged(uint64_t at, uint64_t end)
{
    uint64_t entries[ENTRIES], page = at / PAGE, last = (end + PAGE - 1) / PAGE;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool clean = fd >= 0;

    while (clean && page < last) {
        uint64_t wanted = last - page < ENTRIES ? last - page : ENTRIES;
        ssize_t n = pread(fd, entries, wanted * sizeof entries[0], (off_t)(page * sizeof entries[0]));
        clean = n >= (ssize_t)sizeof entries[0];
        uint64_t got = clean ? (uint64_t)n / sizeof entries[0] : 0;

        for (uint64_t i = 0; i < got && clean; i++)
            clean = !(entries[i] & (PAGE_PRESENT | PAGE_SWAPPED)) || (entries[i] & PAGE_OF_FILE);
        page += got;
    }

    if (fd >= 0)
        close(fd);
    return clean;
}

static bool is_that_file(int fd, const struct mapping *wanted)
{
    struct mapping here;
    void *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return false;

    bool same = find((uintptr_t)at, (uintptr_t)at + PAGE, &here) && same_file(&here, wanted);
    munmap(at, PAGE);
    return same;
}

enum status file_behind(const void *at, size_t size, struct file_behind *ret)
{
    uint64_t begin = (uintptr_t)at;
    struct mapping m = { 0 };

    RETURN_IF(!size || size > UINT64_MAX - begin || !find(begin, begin + size, &m) || m.path[0] != '/', ST_NOT_FOUND,
              "the %zu bytes at %p are not a mapping of one file", size, at);
    RETURN_IF(m.private && !unchanged(begin, begin + size), ST_NOT_FOUND,
              "the %zu bytes at %p were changed since \"%s\" was mapped", size, at, m.path);

    int fd = open(m.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    RETURN_IF(fd < 0, ST_NOT_FOUND, "\"%s\", which is mapped at %p, cannot be opened: %s", m.path, at,
              strerrordesc_np(errno));
    if (!is_that_file(fd, &m)) {
        close(fd);
        return status_fail(ST_NOT_FOUND, "\"%s\" is not the file any more that is mapped at %p", m.path, at);
    }

    *ret = (struct file_behind){ .fd = fd, .offset = m.offset + (begin - m.begin) };
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded in front of a test program (LD_PRELOAD), makes the n-th call of a class fail that a library of ours makes. Calls of
 * the test itself, of the C library and of others never fail. torture.py says what:
 *
 *     TORTURE_COUNTS=FILE   counts calls in shared memory: a row for the client, one for sessions (see rows below)
 *     TORTURE_FAIL=CLASS    the class, by its place in the table of names
 *     TORTURE_AT=N          the call that fails, from 0; without it nothing fails
 *     TORTURE_ERRNO=E       with this error
 *     TORTURE_IN=session    in session processes; otherwise in the client
 *     TORTURE_PROGRAM=1     calls of the program itself count, too: it has the library linked in
 *
 * A cmocka test that fails ends the program: what later tests would find is the wreck of this one. */
#undef _FILE_OFFSET_BITS /* both open and open64 are here, as functions of their own */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* The same order as in torture.py. */
enum class {
    ALLOC,
    MMAP,
    MEMFD,
    SOCKETPAIR,
    READ,
    WRITE,
    RENAME,
    OPEN,
    FTRUNCATE,
    POLL,
    SENDMSG,
    RECVMSG,
    THREAD,
    SPAWN,
    CLASSES
};
enum { ROWS = 2, BOOT_BYTES = 1 << 16 };

static _Atomic uint64_t (*counts)[CLASSES]; /* the client's, then those of sessions */
static _Atomic int64_t countdown = -1;
static unsigned failing = CLASSES, row;
static int error_number = ENOMEM;
static bool whole_program, skipping;

/* The functions behind ours. */
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void (*next_free)(void *);

/* ---- whose call it is ------------------------------------------------------------------------ */

static bool is_ours(const void *caller)
{
    struct dl_find_object found;

    if (_dl_find_object((void *)caller, &found) != 0)
        return false;
    const char *path = found.dlfo_link_map->l_name;
    if (!path || !path[0]) /* the program */
        return whole_program || row != 0;

    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, "libQnn", 6) == 0 || strncmp(name, "libcdsprpc", 10) == 0;
}

static bool fails(enum class c, const void *caller)
{
    if (!counts || !is_ours(caller))
        return false;
    atomic_fetch_add(&counts[row][c], 1);
    if (c != failing || atomic_fetch_sub(&countdown, 1) != 0)
        return false;
    errno = error_number;
    return true;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static bool is_session(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (n <= 0)
        return false;
    path[n] = '\0';
    return strstr(path, "Skel.so") != NULL;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void find_next(void)
{
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("TORTURE_COUNTS");
    const char *where = getenv("TORTURE_IN");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (!next_free)
        find_next();
    if (fd < 0)
        return;
    row = is_session();
    whole_program = number("TORTURE_PROGRAM", 0) != 0;
    bool wanted = where && strcmp(where, "session") == 0;
    if (wanted == (row == 1)) {
        failing = (unsigned)number("TORTURE_FAIL", CLASSES);
        error_number = (int)number("TORTURE_ERRNO", ENOMEM);
        atomic_store(&countdown, (int64_t)number("TORTURE_AT", (uint64_t)-1));
    }
    void *at = mmap(NULL, ROWS * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED)
        counts = at;
}

/* ---- allocations ----------------------------------------------------------------------------- */

/* Before the functions behind ours are known, dlsym itself allocates. */
static _Alignas(16) char boot[BOOT_BYTES];
static size_t boot_used;

static void *boot_alloc(size_t size)
{
    size_t at = boot_used;

    boot_used += (size + 31) / 16 * 16;
    if (boot_used > sizeof(boot))
        return NULL;
    memcpy(boot + at, &size, sizeof(size));
    return boot + at + 16;
}

static bool of_boot(const void *p)
{
    return (const char *)p >= boot && (const char *)p < boot + sizeof(boot);
}

EXPORT void *malloc(size_t size)
{
    if (!next_malloc)
        return boot_alloc(size);
    return fails(ALLOC, CALLER) ? NULL : next_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    if (!next_calloc)
        return boot_alloc(count * size);
    return fails(ALLOC, CALLER) ? NULL : next_calloc(count, size);
}

EXPORT void *realloc(void *p, size_t size)
{
    if (of_boot(p) || !next_realloc) {
        size_t old = 0;
        void *moved = next_malloc ? next_malloc(size) : boot_alloc(size);
        if (p)
            memcpy(&old, (char *)p - 16, sizeof(old));
        if (p && moved)
            memcpy(moved, p, old < size ? old : size);
        return moved;
    }
    return fails(ALLOC, CALLER) ? NULL : next_realloc(p, size);
}

EXPORT void *memalign(size_t align, size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : next_memalign(align, size);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
    return fails(ALLOC, CALLER) ? NULL : next_memalign(align, size);
}

EXPORT int posix_memalign(void **ret, size_t align, size_t size)
{
    return fails(ALLOC, CALLER) ? ENOMEM : next_posix_memalign(ret, align, size);
}

EXPORT void free(void *p)
{
    if (p && !of_boot(p) && next_free)
        next_free(p);
}

/* ---- system calls ---------------------------------------------------------------------------- */

#define NEXT(name)                 \
    static __typeof__(name) *next; \
    if (!next)                     \
        *(void **)&next = dlsym(RTLD_NEXT, #name);

#define WRAP(result, name, class, bad, parameters, ...)          \
    EXPORT result name parameters;                               \
    EXPORT result name parameters                                \
    {                                                            \
        NEXT(name)                                               \
        return fails(class, CALLER) ? (bad) : next(__VA_ARGS__); \
    }

WRAP(void *, mmap, MMAP, MAP_FAILED, (void *at, size_t n, int prot, int flags, int fd, off_t offset), at, n, prot, flags, fd,
     offset)
WRAP(void *, mmap64, MMAP, MAP_FAILED, (void *at, size_t n, int prot, int flags, int fd, off_t offset), at, n, prot, flags,
     fd, offset)
WRAP(int, memfd_create, MEMFD, -1, (const char *name, unsigned flags), name, flags)
WRAP(int, socketpair, SOCKETPAIR, -1, (int domain, int type, int protocol, int fds[2]), domain, type, protocol, fds)
WRAP(ssize_t, read, READ, -1, (int fd, void *at, size_t n), fd, at, n)
WRAP(ssize_t, pread, READ, -1, (int fd, void *at, size_t n, off_t offset), fd, at, n, offset)
WRAP(ssize_t, pread64, READ, -1, (int fd, void *at, size_t n, off_t offset), fd, at, n, offset)
WRAP(ssize_t, write, WRITE, -1, (int fd, const void *at, size_t n), fd, at, n)
WRAP(ssize_t, pwrite, WRITE, -1, (int fd, const void *at, size_t n, off_t offset), fd, at, n, offset)
WRAP(ssize_t, pwrite64, WRITE, -1, (int fd, const void *at, size_t n, off_t offset), fd, at, n, offset)
WRAP(int, fsync, WRITE, -1, (int fd), fd)
WRAP(int, rename, RENAME, -1, (const char *from, const char *to), from, to)
WRAP(FILE *, fopen, OPEN, NULL, (const char *path, const char *mode), path, mode)
WRAP(FILE *, fopen64, OPEN, NULL, (const char *path, const char *mode), path, mode)
WRAP(int, ftruncate, FTRUNCATE, -1, (int fd, off_t n), fd, n)
WRAP(int, ftruncate64, FTRUNCATE, -1, (int fd, off_t n), fd, n)
WRAP(int, poll, POLL, -1, (struct pollfd * fds, nfds_t n, int timeout), fds, n, timeout)
WRAP(ssize_t, sendmsg, SENDMSG, -1, (int fd, const struct msghdr *m, int flags), fd, m, flags)
WRAP(ssize_t, recvmsg, RECVMSG, -1, (int fd, struct msghdr *m, int flags), fd, m, flags)
WRAP(int, pthread_create, THREAD, EAGAIN, (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *arg), t, a, f,
     arg)
WRAP(int, posix_spawn, SPAWN, EAGAIN,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
      char *const argv[], char *const env[]),
     pid, path, actions, attributes, argv, env)

/* What sessions are started with (src/rpc/link_spawn.c). */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
EXPORT int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    NEXT(__clone)
    va_list list;
    va_start(list, arg);
    void *pid = va_arg(list, void *);
    va_end(list);
    return fails(SPAWN, CALLER) ? -1 : next(fn, stack, flags, arg, pid);
}

/* A test that found no session to kill must not kill its process group, or everything. */
EXPORT int kill(pid_t pid, int signal)
{
    NEXT(kill)
    if (pid <= 1) {
        errno = ESRCH;
        return -1;
    }
    return next(pid, signal);
}

#define WRAP_OPEN(name)                                                               \
    EXPORT int name(const char *path, int flags, ...);                                \
    EXPORT int name(const char *path, int flags, ...)                                 \
    {                                                                                 \
        NEXT(name)                                                                    \
        va_list list;                                                                 \
        va_start(list, flags);                                                        \
        unsigned mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, unsigned) : 0; \
        va_end(list);                                                                 \
        return fails(OPEN, CALLER) ? -1 : next(path, flags, mode);                    \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

/* ---- cmocka ---------------------------------------------------------------------------------- */

EXPORT void _skip(const char *file, int line);
EXPORT void _skip(const char *file, int line)
{
    NEXT(_skip)
    skipping = true;
    next(file, line);
}

static bool of_cmocka(const void *caller)
{
    struct dl_find_object found;

    return _dl_find_object((void *)caller, &found) == 0 && strstr(found.dlfo_link_map->l_name, "libcmocka");
}

void __longjmp_chk(jmp_buf to, int value);
EXPORT void __longjmp_chk(jmp_buf to, int value)
{
    NEXT(__longjmp_chk)
    bool skips = skipping;

    skipping = false;
    if (of_cmocka(CALLER) && !skips && failing < CLASSES)
        exit(1);
    next(to, value);
    __builtin_unreachable();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See link_spawn.h. The child shares the client's memory until it runs the skel (the client's thread stands still so long):
 * a client of many gigabytes starts a session as fast as a small one. It makes plain system calls only, because the C
 * library and sanitizers keep state of the client's thread in that memory. */
#include "rpc/link_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/mem.h"
#include "base/str.h"

enum {
    SESSION_FDS = 10,
    STACK = 64 * 1024,
    KERNEL_SIGNALS = 64,
    REAP_MS = 10000,
    VARIABLE_MAX = 100 << 10,
    PIDFD_TYPE = 3 /* P_PIDFD */
};
#define LOADER "/lib64/ld-linux-x86-64.so.2" /* the ABI's name for it */

struct plan {
    const char *skel;
    int sock;
    int failed; /* errno of what kept the child from becoming the skel; 0: it became one */
    const char **environment;
};

/* What a session may know of the client's environment, by how the names begin: its own settings, where its libraries are,
 * and the settings of the C library, sanitizers and coverage. */
static const char *const known[] = { "OPENQNN_", "LD_LIBRARY_PATH=", "MALLOC_", "GLIBC_TUNABLES=",
                                     "ASAN_",    "UBSAN_",           "TSAN_",   "LSAN_",
                                     "GCOV_",    "LLVM_PROFILE_" };

static bool may_know(const char *entry, bool debug)
{
    if (strncmp(entry, SPAWN_PACKAGES "=", strlen(SPAWN_PACKAGES "=")) == 0) /* set here, for this session */
        return false;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(entry, known[i], strlen(known[i])) == 0)
            return true;

    /* Code of others (LD_PRELOAD, LD_AUDIT) comes into a session only when that is asked for; sanitizers may need it. */
    return (debug || !RPC_SANDBOX) && strncmp(entry, "LD_", strlen("LD_")) == 0;
}

static enum status name_packages(const char *packages, char **ret)
{
    *ret = NULL;
    if (!packages || !*packages)
        return ST_OK;

    size_t bytes = strlen(packages) + sizeof(SPAWN_PACKAGES "=");
    RETURN_IF(bytes > VARIABLE_MAX, ST_NO_MEMORY,
              "the paths of op packages have %zu bytes; a session takes %d: register fewer, or move them to shorter paths",
              bytes, VARIABLE_MAX);
    *ret = mem_alloc(bytes);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory to start a session");
    snprintf(*ret, bytes, SPAWN_PACKAGES "=%s", packages);
    return ST_OK;
}

/* A list of the variables that a session gets, with one more; the caller frees it. */
static enum status choose_environment(const char *more, const char ***ret)
{
    bool debug;
    TRY(spawn_debug_read(&debug));

    size_t all = 0;
    while (environ && environ[all])
        all++;
    const char **list = mem_array(const char *, all + 2);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory to start a session");

    size_t n = 0;
    for (size_t i = 0; i < all && environ[i]; i++)
        if (may_know(environ[i], debug))
            list[n++] = environ[i];
    if (more)
        list[n++] = more;
    list[n] = NULL;

    *ret = list;
    return ST_OK;
}

enum status spawn_debug_read(bool *ret)
{
    const char *text = getenv("OPENQNN_SESSION_DEBUG");
    bool on = text && str_eq(text, "1");

    RETURN_IF(text && !on && !str_eq(text, "0"), ST_INVALID_ARG,
              "OPENQNN_SESSION_DEBUG=\"%s\"; 0 (off) or 1 (on) is expected", text);
    *ret = on;
    return ST_OK;
}

/* clone by the name that sanitizers leave alone: what they do around it is meant for children with memory of their own. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

/* As the kernel has it; zeros are the default action. */
struct kernel_action {
    uint64_t handler, flags, restorer, mask;
};

__attribute__((no_sanitize("address", "thread", "undefined"))) static void close_from(unsigned first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
    struct rlimit l = { 0, 0 };
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &l);
    for (unsigned fd = first; fd < (l.rlim_cur < 65536 ? (unsigned)l.rlim_cur : 65536); fd++)
        syscall(SYS_close, fd);
}

/* Few descriptors of the client's soft limit shall not be too few for the session. False: the hard limit is lower. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static bool raise_limit(void)
{
    struct rlimit limit = { 0, 0 };
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) != 0 || limit.rlim_cur >= SESSION_FDS)
        return true;
    if (limit.rlim_max < SESSION_FDS)
        return false;
    limit.rlim_cur = SESSION_FDS;
    return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL) == 0;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) static bool set_up_descriptors(int sock)
{
    /* The socket first, and all else closed: then there is room, however few descriptors the client may have. */
    if (sock == SPAWN_FD)
        syscall(SYS_fcntl, sock, F_SETFD, 0);
    else if (syscall(SYS_dup2, sock, SPAWN_FD) < 0)
        return false;
    close_from(SPAWN_FD + 1);

    bool quiet = sock == 2 || syscall(SYS_fcntl, 2, F_GETFD) < 0;
    if (sock == 2)
        syscall(SYS_close, 2);
    syscall(SYS_close, 0);
    syscall(SYS_close, 1);

    long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    if (null >= 0) {
        syscall(SYS_fcntl, null, F_DUPFD, 1);
        if (quiet)
            syscall(SYS_fcntl, null, F_DUPFD, 2);
    }
    return true;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) static int child(void *arg)
{
    struct plan *p = arg;
    struct kernel_action standard = { 0, 0, 0, 0 };
    uint64_t none = 0;
    for (int i = 1; i <= KERNEL_SIGNALS; i++)
        syscall(SYS_rt_sigaction, i, &standard, NULL, sizeof(none));
    if (!raise_limit() || !set_up_descriptors(p->sock)) {
        p->failed = EMFILE;
        syscall(SYS_exit_group, 127);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
    const char *direct[] = { p->skel, NULL }, *loaded[] = { LOADER, p->skel, NULL };
    syscall(SYS_execve, p->skel, direct, p->environment);
    int why = errno;
    if (why == EACCES) /* a file that lost its x bit, as libraries often do when they are copied */
        syscall(SYS_execve, LOADER, loaded, p->environment);
    p->failed = why;
    syscall(SYS_exit_group, 127);
    return 0;
}

static enum status not_started(const char *skel, int why)
{
    struct rlimit limit = { 0, 0 };

    getrlimit(RLIMIT_NOFILE, &limit);
    RETURN_IF(why == EMFILE, ST_SYSTEM,
              "no free file descriptors for a session: it needs %d, and the hard limit is %llu; raise RLIMIT_NOFILE "
              "(ulimit -Hn)",
              SESSION_FDS, (unsigned long long)limit.rlim_max);
    return status_fail(
        ST_LOADING,
        "%s could not be started: %s; it must be a skel of this installation on a file system that allows programs", skel,
        strerrordesc_np(why));
}

static enum status start(const char *skel, const char *packages, int sock, struct spawned *ret)
{
    struct plan p = { .skel = skel, .sock = sock };
    sigset_t all, before;
    CLEANUP(mem_freep) char *named = NULL;
    CLEANUP(mem_freep) const char **environment = NULL;

    TRY(name_packages(packages, &named));
    TRY(choose_environment(named, &environment));
    p.environment = environment;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    RETURN_IF(stack == MAP_FAILED, ST_NO_MEMORY, "no memory to start a session");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the client may run in the child */
    int pidfd = -1;
    pid_t pid = __clone(child, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PIDFD, &p, &pidfd);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK);

    errno = why;
    if (pid < 0)
        TRY(descriptors_left(ST_SYSTEM, "the process of a session"));
    RETURN_IF(pid < 0, ST_SYSTEM, "no process for a session: %s; check the limits on processes and memory",
              strerrordesc_np(why));
    if (p.failed) {
        spawn_reap(pidfd);
        close(pidfd);
        return not_started(skel, p.failed);
    }
    ret->pid = pid;
    ret->pidfd = pidfd;
    return ST_OK;
}

enum status spawn_session(const char *skel, const char *packages, struct spawned *ret)
{
    int pair[2];
    bool failed = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0;
    if (failed)
        TRY(descriptors_left(ST_SYSTEM, "the socket of a session"));
    RETURN_IF(failed, ST_SYSTEM, "no socket pair for a session: %s", strerrordesc_np(errno));

    enum status st = start(skel, packages, pair[1], ret);
    close(pair[1]);
    if (st != ST_OK)
        close(pair[0]);
    else
        ret->sock = pair[0];
    return st;
}

void spawn_kill(int pidfd)
{
    if (pidfd >= 0)
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

void spawn_reap(int pidfd)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };
    siginfo_t info;

    while (poll(&p, 1, REAP_MS) < 0 && errno == EINTR)
        ;
    while (waitid((idtype_t)PIDFD_TYPE, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL) != 0 && errno == EINTR)
        ;
}

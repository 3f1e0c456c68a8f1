/* SPDX-License-Identifier: Apache-2.0 */
/* See link_spawn.h. The child shares the client's memory until it runs the skel (the client's thread stands still so long):
 * a client of many gigabytes starts a session as fast as a small one. It makes plain system calls only, because the C
 * library and sanitizers keep state of the client's thread in that memory. */
#include "rpc/link_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 64 * 1024, MAX_ENVIRONMENT = 64, KERNEL_SIGNALS = 64, PIDFD_TYPE = 3 /* P_PIDFD */ };
#define LOADER "/lib64/ld-linux-x86-64.so.2" /* the ABI's name for it */

struct plan {
    const char *skel;
    int sock;
    int failed; /* errno */
    const char *environment[MAX_ENVIRONMENT + 1];
};

/* What a session may know of the client's environment, by how the names begin: its own settings, and those of the loader,
 * the C library, sanitizers and coverage. */
static const char *const known[] = { "OPENQNN_", "LD_",   "MALLOC_", "GLIBC_TUNABLES=", "ASAN_", "UBSAN_",
                                     "TSAN_",    "LSAN_", "GCOV_",   "LLVM_PROFILE_" };

static bool may_know(const char *entry)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(entry, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

static void choose_environment(struct plan *p)
{
    size_t n = 0;
    for (char **e = environ; e && *e && n < MAX_ENVIRONMENT; e++)
        if (may_know(*e))
            p->environment[n++] = *e;
    p->environment[n] = NULL;
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

__attribute__((no_sanitize("address", "thread", "undefined"))) static void set_up_descriptors(int sock)
{
    long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    long other = syscall(SYS_fcntl, sock, F_DUPFD, SPAWN_FD + 1); /* out of the way of what is put in place now */
    syscall(SYS_dup2, null, 0);
    syscall(SYS_dup2, null, 1);
    if (syscall(SYS_fcntl, 2, F_GETFD) < 0)
        syscall(SYS_dup2, null, 2);
    syscall(SYS_dup2, other, SPAWN_FD);
    close_from(SPAWN_FD + 1);
}

__attribute__((no_sanitize("address", "thread", "undefined"))) static int child(void *arg)
{
    struct plan *p = arg;
    struct kernel_action standard = { 0, 0, 0, 0 };
    uint64_t none = 0;
    for (int i = 1; i <= KERNEL_SIGNALS; i++)
        syscall(SYS_rt_sigaction, i, &standard, NULL, sizeof(none));
    set_up_descriptors(p->sock);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
    const char *direct[] = { p->skel, NULL }, *loaded[] = { LOADER, p->skel, NULL };
    syscall(SYS_execve, p->skel, direct, p->environment);
    p->failed = errno;
    if (errno == EACCES) /* a file that lost its x bit, as libraries often do when they are copied */
        syscall(SYS_execve, LOADER, loaded, p->environment);
    syscall(SYS_exit_group, 127);
    return 0;
}

static enum status start(const char *skel, int sock, struct spawned *ret)
{
    struct plan p = { .skel = skel, .sock = sock };
    sigset_t all, before;
    choose_environment(&p);
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    RETURN_IF(stack == MAP_FAILED, ST_NO_MEMORY, "no memory to start a session");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the client may run in the child */
    int pidfd = -1;
    pid_t pid = __clone(child, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PIDFD, &p, &pidfd);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK);
    RETURN_IF(pid < 0, ST_SYSTEM, "no process for a session: %s; check the limits on processes and memory",
              strerrordesc_np(why));
    /* A child that could not be replaced has ended already; one that runs the loader has noted its first failure, and goes
     * on. */
    siginfo_t info = { 0 };
    bool ended =
        p.failed && waitid((idtype_t)PIDFD_TYPE, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL) == 0 && info.si_pid;
    if (ended) {
        close(pidfd);
        return status_fail(
            ST_LOADING,
            "%s could not be started: %s; it must be a skel of this installation on a file system that allows programs",
            skel, strerrordesc_np(p.failed));
    }
    ret->pid = pid;
    ret->pidfd = pidfd;
    return ST_OK;
}

enum status spawn_session(const char *skel, struct spawned *ret)
{
    int pair[2];
    RETURN_IF(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0, ST_SYSTEM,
              "no socket pair for a session: %s", strerrordesc_np(errno));
    enum status st = start(skel, pair[1], ret);
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
    siginfo_t info;
    while (waitid((idtype_t)PIDFD_TYPE, (id_t)pidfd, &info, WEXITED | __WALL) != 0 && errno == EINTR)
        ;
}

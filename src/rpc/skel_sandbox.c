/* SPDX-License-Identifier: Apache-2.0 */
/* See skel_sandbox.h. The filter is a list of what is allowed; all else fails with EPERM. Nothing in it opens a file, makes
 * a socket, starts a process or thread, or makes memory executable. */
#include "rpc/skel_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpc/rpc.h"

enum rule {
    ANY,
    NOT_EXEC,   /* the third argument has no PROT_EXEC */
    TO_STDERR,  /* the first argument is 2: last words of assertions and of the C library */
    OWN_NAME,   /* the first argument is PR_SET_NAME: threads name themselves */
    OWN_THREAD, /* the first two arguments are 0: the nice value of the calling thread */
    TO_SELF,    /* the first argument is this process: abort() signals its own process; no other process may be signalled */
};

/* The first ones are those of every run and message. */
static const struct {
    uint16_t number;
    uint8_t rule;
} allowed[] = {
    { SYS_futex, ANY },
    { SYS_recvmsg, ANY },
    { SYS_sendmsg, ANY },
    { SYS_poll, ANY },
    { SYS_ppoll, ANY },
    { SYS_clock_gettime, ANY },
    { SYS_sched_yield, ANY },
    { SYS_mmap, NOT_EXEC },
    { SYS_munmap, ANY },
    { SYS_mprotect, NOT_EXEC },
    { SYS_mremap, ANY },
    { SYS_madvise, ANY },
    { SYS_brk, ANY },
    { SYS_close, ANY },
    { SYS_fstat, ANY },
    { SYS_lseek, ANY },
    { SYS_clock_nanosleep, ANY },
    { SYS_nanosleep, ANY },
    { SYS_gettimeofday, ANY },
    { SYS_restart_syscall, ANY },
    { SYS_sched_getaffinity, ANY },
    { SYS_getcpu, ANY },
    { SYS_getrandom, ANY },
    { SYS_getpid, ANY },
    { SYS_gettid, ANY },
    { SYS_tgkill, TO_SELF },
    { SYS_setpriority, OWN_THREAD },
    { SYS_prctl, OWN_NAME },
    { SYS_rseq, ANY }, /* threads that were started before the filter may still be on their first steps */
    { SYS_set_robust_list, ANY },
    { SYS_rt_sigprocmask, ANY },
    { SYS_rt_sigaction, ANY },
    { SYS_rt_sigreturn, ANY },
    { SYS_write, TO_STDERR },
    { SYS_writev, TO_STDERR },
    { SYS_exit, ANY },
    { SYS_exit_group, ANY },
};

enum {
    N_ALLOWED = sizeof(allowed) / sizeof(allowed[0]),
    PER_ROW = 7,
    MAX_CODE = 8 + N_ALLOWED * PER_ROW,
    X32 = 0x40000000,
    NOFILE = 16
};
#define ARENA_RESERVE (UINT64_C(128) << 20) /* of address space, which the C library sets aside per thread */
#define SLACK (UINT64_C(1) << 30)

struct code {
    struct sock_filter at[MAX_CODE];
    unsigned short n;
};

static void add(struct code *c, uint16_t op, uint32_t k, uint8_t yes, uint8_t no)
{
    c->at[c->n++] = (struct sock_filter){ op, yes, no, k };
}

static void add_load(struct code *c, size_t offset)
{
    add(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void add_return(struct code *c, uint32_t action)
{
    add(c, BPF_RET | BPF_K, action, 0, 0);
}

/* The first argument, of rules about that. */
static uint32_t wanted_by(enum rule rule)
{
    if (rule == TO_SELF)
        return (uint32_t)getpid();
    return rule == OWN_NAME ? PR_SET_NAME : STDERR_FILENO;
}

static void add_row(struct code *c, uint32_t number, enum rule rule)
{
    const uint32_t wanted = wanted_by(rule);

    if (rule == ANY) {
        add(c, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        add_return(c, SECCOMP_RET_ALLOW);
        return;
    }
    if (rule == OWN_THREAD) {
        add(c, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 6);
        add_load(c, offsetof(struct seccomp_data, args[0]));
        add(c, BPF_JMP | BPF_JEQ | BPF_K, PRIO_PROCESS, 0, 3);
        add_load(c, offsetof(struct seccomp_data, args[1]));
        add(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
        add_return(c, SECCOMP_RET_ALLOW);
        add_return(c, SECCOMP_RET_ERRNO | EPERM);
        return;
    }
    add(c, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    if (rule == NOT_EXEC) {
        add_load(c, offsetof(struct seccomp_data, args[2])); /* the low half: flags are no larger */
        add(c, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
    } else {
        add_load(c, offsetof(struct seccomp_data, args[0]));
        add(c, BPF_JMP | BPF_JEQ | BPF_K, wanted, 0, 1);
    }
    add_return(c, SECCOMP_RET_ALLOW);
    add_return(c, SECCOMP_RET_ERRNO | EPERM);
}

static void build(struct code *c)
{
    add_load(c, offsetof(struct seccomp_data, arch));
    add(c, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    add_return(c, SECCOMP_RET_KILL_PROCESS);
    add_load(c, offsetof(struct seccomp_data, nr));
    add(c, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
    add_return(c, SECCOMP_RET_ERRNO | EPERM);
    for (unsigned i = 0; i < N_ALLOWED; i++)
        add_row(c, allowed[i].number, allowed[i].rule);
    add_return(c, SECCOMP_RET_ERRNO | EPERM);
}

static uint64_t address_space_now(void)
{
    char text[64] = "";
    int file = skel_statm >= 0 ? skel_statm : open(SKEL_STATM, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? pread(file, text, sizeof(text) - 1, 0) : 0;

    if (file >= 0)
        close(file);
    skel_statm = -1;
    return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void limit(int which, uint64_t value)
{
    struct rlimit l = { value, value };
    setrlimit((__rlimit_resource_t)which, &l);
}

uint32_t skel_sandbox(uint64_t budget, uint64_t windows, unsigned threads)
{
    if (budget && budget < UINT64_MAX / 2)
        limit(RLIMIT_AS, address_space_now() + budget + windows + threads * ARENA_RESERVE + SLACK);
    limit(RLIMIT_NOFILE, NOFILE);
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_MEMLOCK, 0);
    struct code c = { .n = 0 };
    build(&c);
    struct sock_fprog program = { c.n, c.at };
    /* SPEC_ALLOW: kernels of a sandboxed process should not be slower than others; the only code of others in it is
     * that of the client, which runs without a filter there. */
    bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                        &program) == 0;
    return done ? RPC_GUARD_FILTER : 0;
}

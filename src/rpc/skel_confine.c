/* SPDX-License-Identifier: Apache-2.0 */
/* What a session gives up before it has threads. The filter (skel_sandbox.c) refuses most of it already; this is what still
 * holds should there be a way around the filter. Each step is tried, and none is needed: containers often allow no
 * namespaces, and old kernels have no Landlock. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpc/rpc.h"
#include "rpc/skel_sandbox.h"

enum { NICE_LEAST = -20 };

int skel_statm = -1;

/* ---- namespaces ------------------------------------------------------------------------------------------------------- */

/* The network and IPC namespaces belong to the user namespace, where that can be made: no privilege is needed for them then.
 * There is no PID namespace, because only a child would be in it; the filter has no call that takes a process. */
static uint32_t leave_namespaces(void)
{
    enum { ALL = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC };
    static const struct {
        int flag;
        uint32_t guard;
    } each[] = { { CLONE_NEWUSER, RPC_GUARD_USER }, { CLONE_NEWNET, RPC_GUARD_NETWORK }, { CLONE_NEWIPC, RPC_GUARD_IPC } };
    uint32_t done = 0;

    if (unshare(ALL) == 0)
        return RPC_GUARD_USER | RPC_GUARD_NETWORK | RPC_GUARD_IPC;

    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
        if (unshare(each[i].flag) == 0)
            done |= each[i].guard;
    return done;
}

/* ---- capabilities ----------------------------------------------------------------------------------------------------- */

static uint32_t drop_capabilities(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } }, now[_LINUX_CAPABILITY_U32S_3];

    /* The bounding set needs a capability; a process without it has none to lose, and may gain none either. */
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

    if (syscall(SYS_capset, &head, none) != 0 || syscall(SYS_capget, &head, now) != 0)
        return 0;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if (now[i].effective | now[i].permitted | now[i].inheritable)
            return 0;
    return RPC_GUARD_CAPABILITIES;
}

/* The capability for smaller nice values goes with the others; a limit says the same (worker_nice.c). */
static void keep_nice_values(void)
{
    const rlim_t all = 20 - NICE_LEAST;
    struct rlimit nice = { all, all };

    if (setrlimit(RLIMIT_NICE, &nice) == 0 || getrlimit(RLIMIT_NICE, &nice) != 0)
        return;

    nice.rlim_cur = nice.rlim_max;
    setrlimit(RLIMIT_NICE, &nice);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

/* The kernel's interface, which headers of older systems lack in part. */
struct landlock_rules {
    uint64_t files, network, scopes;
};

enum {
    LANDLOCK_CREATE = 444,
    LANDLOCK_RESTRICT = 446,
    LANDLOCK_VERSION = 1,
    NETWORK_ALL = 3, /* bind and connect TCP */
    SCOPES_ALL = 3,  /* abstract sockets, and signals to processes outside */
};

/* Each version knows more rights to files. */
static uint64_t file_rights(long version)
{
    enum { FIRST = 13, REFER, TRUNCATE, IOCTL };
    int n = FIRST;

    if (version >= 2)
        n = REFER;
    if (version >= 3)
        n = TRUNCATE;
    if (version >= 5)
        n = IOCTL;
    return (UINT64_C(1) << n) - 1;
}

/* Rules that name nothing allow nothing. What is open already, and descriptors that come by the socket, are no matter. */
static uint32_t forbid_files(void)
{
    long version = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
    if (version < 1)
        return 0;

    struct landlock_rules rules = { .files = file_rights(version) };
    size_t size = offsetof(struct landlock_rules, network);
    if (version >= 4) {
        rules.network = NETWORK_ALL;
        size = offsetof(struct landlock_rules, scopes);
    }
    if (version >= 6) {
        rules.scopes = SCOPES_ALL;
        size = sizeof(rules);
    }

    int set = (int)syscall(LANDLOCK_CREATE, &rules, size, 0);
    if (set < 0)
        return 0;
    bool done = syscall(LANDLOCK_RESTRICT, set, 0) == 0;
    close(set);
    return done ? RPC_GUARD_LANDLOCK : 0;
}

/* ---- all -------------------------------------------------------------------------------------------------------------- */

static uint32_t hide_memory(bool debug)
{
    struct rlimit none = { 0, 0 };

    if (debug) {
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* a new user namespace has changed it */
        return 0;
    }
    setrlimit(RLIMIT_CORE, &none); /* it would hold the client's tensors */
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? RPC_GUARD_UNDUMPABLE : 0;
}

uint32_t skel_confine(bool debug)
{
    uint32_t done = 0;

    skel_statm = open(SKEL_STATM, O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    keep_nice_values();
    done |= leave_namespaces();
    done |= drop_capabilities();
    done |= hide_memory(debug);
    done |= forbid_files();
    return done;
}

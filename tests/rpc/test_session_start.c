/* SPDX-License-Identifier: Apache-2.0 */
/* How the process of a session begins, what it may do, and when it ends. Argument: a skel of another build. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc/link_spawn.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_packet.h"
#include "rpc/rpc_shared.h"
#include "rpc/skel_sandbox.h"
#include "rpc_kit.h"

static const char *other_skel;
static char folder[] = "/tmp/openqnn-session-XXXXXX";

/* ---- helpers ---------------------------------------------------------------------------------------------------------- */

static void assert_says(const char *word)
{
    if (!strstr(kit_link->explain(), word))
        fail_msg("\"%s\" does not say \"%s\"", kit_link->explain(), word);
}

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void copy_to(const char *from, const char *to, mode_t mode)
{
    static char block[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t n; (n = read(in, block, sizeof(block))) > 0;)
        assert_int_equal(write(out, block, (size_t)n), n);
    fchmod(out, mode);
    close(in), close(out);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    assert_int_equal(write(out, bytes, n), n);
    close(out);
}

static char *skel_path(uint32_t arch)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/libQnnHtpV%uSkel.so", getenv("OPENQNN_LIB_DIR"), arch);
    return path;
}

static enum status open_with(const char *skel, struct rpc_session **ret)
{
    struct rpc_session_opts o = kit_opts();
    o.skel = skel;
    return kit_link->open(&o, ret);
}

static pid_t pid_of(struct rpc_session *s)
{
    struct rpc_usage u;
    kit_link->usage(s, &u);
    return u.pid;
}

/* The value of a line of /proc/PID/status, as a number to the base. */
static unsigned long long status_of(pid_t pid, const char *key, int base)
{
    char path[64], line[512];
    unsigned long long value = ~0ull;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            value = strtoull(line + strlen(key) + 1, NULL, base);
    if (f)
        fclose(f);
    return value;
}

static void await_end(int pidfd)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };
    assert_int_equal(poll(&p, 1, 60000), 1);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static void test_wrong_skels(void **state)
{
    (void)state;
    struct rpc_session *s;
    unsigned fds = kit_fds(), children = kit_children();
    assert_int_equal(open_with(other_skel, &s), ST_LOADING);
    assert_says("v1.0.0_other");
    assert_says(kit_link->build_id);
    assert_int_equal(open_with(skel_path(75), &s), ST_LOADING);
    assert_says("75");
    assert_says("73");
    assert_int_equal(open_with("/nowhere/libQnnHtpV73Skel.so", &s), ST_LOADING);
    assert_says("/nowhere/");
    assert_int_equal(open_with("/bin/true", &s), ST_LOADING);
    assert_says("did not start as a session");
    write_file(in_folder("text.so"), "hello\n", 6);
    assert_int_equal(open_with(in_folder("text.so"), &s), ST_LOADING);
    struct rpc_session_opts o = kit_opts();
    o.arch = 68;
    assert_int_equal(kit_link->open(&o, &s), ST_LOADING);
    o = kit_opts();
    o.build_id = "v9";
    assert_int_equal(kit_link->open(&o, &s), ST_LOADING);
    assert_says("v9");
    o = kit_opts();
    o.threads = 0;
    assert_int_equal(kit_link->open(&o, &s), ST_INVALID_ARG);
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(kit_children(), children);
}

/* Libraries lose the x bit when they are copied around. */
static void test_not_executable(void **state)
{
    (void)state;
    struct rpc_session *s;
    copy_to(skel_path(73), in_folder("libQnnHtpV73Skel.so"), 0444);
    enum status st = open_with(in_folder("libQnnHtpV73Skel.so"), &s);
    if (st != ST_OK)
        fail_msg("%s", kit_link->explain());
    kit_link->close(s);
    unlink(in_folder("libQnnHtpV73Skel.so"));
}

static void test_search(void **state)
{
    (void)state;
    char path[RPC_PATH_MAX], note[RPC_NOTE_MAX], list[8192];
    const char *lib = getenv("OPENQNN_LIB_DIR");
    unsigned char hexagon[64] = { 0x7f, 'E', 'L', 'F', 1, 1, 1, [18] = 164 };
    unsetenv("ADSP_LIBRARY_PATH");
    assert_int_equal(rpc_find_skel(73, lib, path, note), ST_OK);
    assert_string_equal(path, skel_path(73));
    assert_string_equal(note, "");
    assert_int_equal(rpc_find_skel(73, "/nowhere", path, note), ST_LOADING);
    assert_non_null(strstr(status_text(), "/nowhere/../hexagon-v73/unsigned"));
    snprintf(list, sizeof(list), "/nowhere;%s;/tmp", lib);
    setenv("ADSP_LIBRARY_PATH", list, 1);
    assert_int_equal(rpc_find_skel(75, "/nowhere", path, note), ST_OK);
    assert_string_equal(path, skel_path(75));
    assert_string_equal(note, "");
    snprintf(list, sizeof(list), "/nowhere:%s", lib);
    setenv("ADSP_LIBRARY_PATH", list, 1);
    assert_int_equal(rpc_find_skel(75, NULL, path, note), ST_OK);
    assert_non_null(strstr(note, "';'"));
    write_file(in_folder("libQnnHtpV73Skel.so"), hexagon, sizeof(hexagon));
    setenv("ADSP_LIBRARY_PATH", folder, 1);
    assert_int_equal(rpc_find_skel(73, lib, path, note), ST_OK); /* the one beside the backend */
    assert_string_equal(path, skel_path(73));
    assert_non_null(strstr(note, "real DSP"));
    unlink(in_folder("libQnnHtpV73Skel.so"));
    unsetenv("ADSP_LIBRARY_PATH");
}

static void on_signal(int number)
{
    (void)number;
}

/* Whatever the client does with its signals and descriptors, the session starts with none of it. */
static void test_clean_start(void **state)
{
    (void)state;
    struct rpc_session *s;
    sigset_t all, before;
    int leak = dup(2);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGCHLD, on_signal);
    setenv("OPENQNN_SESSION_DEBUG", "1", 1); /* only root sees the descriptors of others */
    assert_int_equal(open_with(NULL, &s), ST_OK);
    unsetenv("OPENQNN_SESSION_DEBUG");
    pid_t pid = pid_of(s);
    assert_int_equal(status_of(pid, "SigBlk", 16), 0);
    assert_int_equal(status_of(pid, "SigIgn", 16) >> (SIGUSR1 - 1) & 1, 0);
    assert_int_equal(status_of(pid, "SigIgn", 16) >> (SIGINT - 1) & 1, 1);
    char link[64], target[64] = "";
    snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, leak);
    assert_true(leak < 5 || readlink(link, target, sizeof(target)) < 0);
    kit_link->close(s);
    signal(SIGUSR1, SIG_DFL), signal(SIGCHLD, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(leak);
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps by itself then */
    assert_int_equal(open_with(NULL, &s), ST_OK);
    kit_link->close(s);
    signal(SIGCHLD, SIG_DFL);
}

static size_t environment_of(pid_t pid, char *text, size_t size)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int file = open(path, O_RDONLY);
    if (file < 0) {
        print_message("SKIP: this user does not see the environment of a session\n");
        skip();
    }
    for (ssize_t got; (got = read(file, text + n, size - n)) > 0;)
        n += (size_t)got;
    close(file);
    assert_in_range(n, 1, size - 1);
    return n;
}

/* In a list of texts that end with 0; the first one begins behind nothing. */
static bool has_text(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Keys and passwords of the client are not for a process that reads files of strangers; libraries that are preloaded into it
 * are not for one that is locked in. However many settings there are, all of ours arrive. */
static void test_environment(void **state)
{
    (void)state;
    struct rpc_session *s;
    enum { MANY = 200 };
    struct rpc_usage u;
    static char text[1 << 16];
    char name[64];
    setenv("SESSION_TEST_SECRET", "hunter2", 1);
    setenv("LD_PRELOAD", "", 1);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "OPENQNN_TEST_%d", i);
        setenv(name, "many", 1);
    }
    setenv("OPENQNN_ISA", "avx2", 1);
    assert_int_equal(open_with(NULL, &s), ST_OK);
    kit_link->usage(s, &u);
    size_t n = environment_of(u.pid, text, sizeof(text));
    kit_link->close(s);

    assert_false(has_text(text, n, "hunter2"));
    assert_true(has_text(text, n, "OPENQNN_ISA=avx2"));
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "OPENQNN_TEST_%d=many", i);
        assert_true(has_text(text, n, name));
        *strchr(name, '=') = 0;
        unsetenv(name);
    }
    if (u.guards & RPC_GUARD_FILTER) /* sanitizers have to be loaded first */
        assert_false(has_text(text, n, "LD_PRELOAD"));

    setenv("OPENQNN_SESSION_DEBUG", "1", 1);
    assert_int_equal(open_with(NULL, &s), ST_OK);
    kit_link->usage(s, &u);
    n = environment_of(u.pid, text, sizeof(text));
    kit_link->close(s);
    assert_true(has_text(text, n, "LD_PRELOAD="));
    assert_false(u.guards & RPC_GUARD_UNDUMPABLE);
    setenv("OPENQNN_SESSION_DEBUG", "yes", 1);
    assert_int_equal(open_with(NULL, &s), ST_INVALID_ARG);
    assert_says("OPENQNN_SESSION_DEBUG=\"yes\"");
    unsetenv("OPENQNN_SESSION_DEBUG"), unsetenv("LD_PRELOAD");
    unsetenv("SESSION_TEST_SECRET"), unsetenv("OPENQNN_ISA");
}

/* What the session says of its namespaces is what the kernel says. */
static void check_namespaces(pid_t pid, uint32_t guards)
{
    static const struct {
        const char *name;
        uint32_t guard;
    } each[] = { { "user", RPC_GUARD_USER }, { "net", RPC_GUARD_NETWORK }, { "ipc", RPC_GUARD_IPC } };
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        char path[64], mine[64] = "", its[64] = "";
        snprintf(path, sizeof(path), "/proc/self/ns/%s", each[i].name);
        assert_true(readlink(path, mine, sizeof(mine) - 1) > 0);
        snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, each[i].name);
        if (readlink(path, its, sizeof(its) - 1) < 0) {
            print_message("SKIP: the %s namespace of a session is not to be seen\n", each[i].name);
            continue;
        }
        assert_int_equal(strcmp(mine, its) != 0, (guards & each[i].guard) != 0);
    }
}

static void test_locked_in(void **state)
{
    (void)state;
    struct rpc_session_opts o = kit_opts();
    struct rpc_session *s;
    struct rpc_usage u;
    char path[64], line[256];
    o.budget = UINT64_C(1) << 30;
    assert_int_equal(kit_link->open(&o, &s), ST_OK);
    kit_link->usage(s, &u);
    if (!(u.guards & RPC_GUARD_FILTER)) {
        kit_link->close(s);
        print_message("SKIP: sessions are not locked in here (sanitizer build, or a kernel without filters)\n");
        skip();
    }
    assert_int_equal(status_of(u.pid, "NoNewPrivs", 10), 1);
    assert_int_equal(status_of(u.pid, "Seccomp", 10), 2);
    static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapAmb" };
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        assert_int_equal(status_of(u.pid, sets[i], 16), 0);
    assert_true(u.guards & RPC_GUARD_CAPABILITIES);
    assert_true(u.guards & RPC_GUARD_UNDUMPABLE);
    check_namespaces(u.pid, u.guards);
    snprintf(path, sizeof(path), "/proc/%d/limits", u.pid);
    FILE *f = fopen(path, "r");
    unsigned long long files = 0, core = 1, space = 0;
    while (fgets(line, sizeof(line), f)) {
        sscanf(line, "Max open files %llu", &files);
        sscanf(line, "Max core file size %llu", &core);
        sscanf(line, "Max address space %llu", &space);
    }
    fclose(f);
    assert_int_equal(files, 16);
    assert_int_equal(core, 0);
    assert_in_range(space, o.budget, UINT64_C(16) << 30);
    kit_link->close(s);
}

/* What a session has mapped is its own program, or has no name in any folder. */
static void test_no_files(void **state)
{
    (void)state;
    struct kit_client c;
    char path[64], line[4096];
    unsigned shared = 0;
    setenv("OPENQNN_SESSION_DEBUG", "1", 1); /* only root sees the mappings of others */
    assert_int_equal(kit_open(&c), ST_OK);
    unsetenv("OPENQNN_SESSION_DEBUG");
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid_of(c.s));
    FILE *f = fopen(path, "r");
    while (fgets(line, sizeof(line), f)) {
        shared += strstr(line, "/memfd:") != NULL;
        assert_null(strstr(line, "/dev/shm"));
        assert_null(strstr(line, " /tmp"));
    }
    fclose(f);
    assert_in_range(shared, 4, 8); /* ring, area, binary, buffer */
    kit_close(&c);
}

/* Without the filter, what is given up before it; 0: something is still there. */
static bool confined(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    uint32_t guards = skel_confine(false);
    bool good = syscall(SYS_capget, &head, caps) == 0;

    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        good &= !caps[i].effective && !caps[i].permitted && !caps[i].inheritable;
    if (guards & RPC_GUARD_USER) /* there it had the right to drop them */
        for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
            good &= prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 0;
    good &= prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
    good &= prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    if (guards & RPC_GUARD_LANDLOCK) {
        good &= open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES;
        good &= open("/tmp/session-test", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES;
    }
    return good;
}

/* The filter by itself: each of these must be refused in a process that has it. */
static int try_all(void)
{
    int missed = 0;
    const char *argv[] = { "/bin/true", NULL };
    if (!confined())
        return 32;
    if (!skel_sandbox(0, 0, 1))
        return 77;
    missed |= (open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM) << 0;
    missed |= (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) << 1;
    missed |= (execv("/bin/true", (char **)argv) == 0 || errno != EPERM) << 2;
    missed |= (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EPERM)
              << 3;
    missed |= (syscall(SYS_fork) >= 0 || errno != EPERM) << 4;
    missed |= (ptrace(PTRACE_TRACEME, 0, 0, 0) >= 0 || errno != EPERM) << 5;
    missed |= (kill(getppid(), 0) >= 0 || errno != EPERM) << 6;
    /* Last words of the C library are signals to itself; the client and everybody else are out of reach. */
    missed |= (syscall(SYS_tgkill, getpid(), gettid(), 0) != 0) << 7;
    missed |= (syscall(SYS_tgkill, getppid(), getppid(), 0) == 0 || errno != EPERM) << 8;
    missed |= (syscall(SYS_tkill, getppid(), 0) == 0 || errno != EPERM) << 9;
    missed |= (syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), 0, NULL) == 0 || errno != EPERM) << 10;
    return __builtin_ffs(missed); /* an exit status has 8 bits */
}

static void test_filter(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        syscall(SYS_exit_group, try_all()); /* a sanitizer's _exit wants more than the filter allows */
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == 77) {
        print_message("SKIP: this kernel has no filters\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* ---- a client that does not speak the language ------------------------------------------------------------------------ */

static struct rpc_reply talk(int sock, const void *bytes, size_t n, const int *fds, unsigned n_fds)
{
    static struct rpc_reply r;
    struct packet p = { .bytes = &r, .size = sizeof(r) };
    struct pollfd f = { .fd = sock, .events = POLLIN };
    assert_true(packet_send(sock, bytes, n, fds, n_fds));
    assert_int_equal(poll(&f, 1, 60000), 1);
    assert_true(packet_receive(sock, &p));
    assert_int_equal(p.size, sizeof(r));
    return r;
}

static struct rpc_request hello(void)
{
    struct rpc_request q = { .magic = RPC_MAGIC, .type = RPC_HELLO };
    q.hello = (struct rpc_hello){ .version = RPC_LINK_VERSION, .arch = 73, .threads = 1 };
    strcpy(q.hello.build_id, kit_link->build_id);
    return q;
}

static void test_bad_language(void **state)
{
    (void)state;
    static char large[8192];
    struct spawned child;
    struct rpc_request q = hello(), map = { .magic = RPC_MAGIC, .type = RPC_MAP };
    uint64_t bytes;
    int ring, fds[4];
    fds[0] = fds[1] = fds[2] = fds[3] = kit_binary(&bytes);
    map.map.bytes = bytes;
    assert_int_equal(shared_create("ring", rpc_common_bytes(1), &ring), ST_OK);
    assert_int_equal(spawn_session(skel_path(73), NULL, &child), ST_OK);
    assert_int_equal(talk(child.sock, &q, sizeof(q), &ring, 1).status, ST_OK);
    assert_int_equal(talk(child.sock, "x", 1, NULL, 0).status, ST_COMMUNICATION);
    assert_int_equal(talk(child.sock, large, sizeof(large), NULL, 0).status, ST_COMMUNICATION);
    assert_int_equal(talk(child.sock, &map, sizeof(map) - 1, fds, 1).status, ST_COMMUNICATION);
    assert_int_equal(talk(child.sock, &map, sizeof(map), NULL, 0).status, ST_COMMUNICATION);
    assert_int_equal(talk(child.sock, &map, sizeof(map), fds, 4).status, ST_COMMUNICATION);
    assert_int_equal(talk(child.sock, &q, sizeof(q), &ring, 1).status, ST_COMMUNICATION);
    map.type = RPC_TYPES;
    assert_int_equal(talk(child.sock, &map, sizeof(map), fds, 1).status, ST_COMMUNICATION);
    map.type = RPC_MAP; /* and it is still there */
    for (int i = 0; i < 100; i++)
        assert_int_equal(talk(child.sock, &map, sizeof(map), fds, 1).status, ST_OK);
    close(child.sock);
    spawn_reap(child.pidfd);
    close(child.pidfd), close(ring);
}

/* A first message that is no greeting: told so, and the process ends by itself. */
static void test_bad_greeting(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct spawned child;
        struct rpc_request q = hello();
        int ring;
        assert_int_equal(shared_create("ring", i == 3 ? 64 : rpc_common_bytes(1), &ring), ST_OK); /* 3: too small a ring */
        q.type = i == 1 ? RPC_MAP : RPC_HELLO;
        q.magic ^= i == 2;
        assert_int_equal(spawn_session(skel_path(73), NULL, &child), ST_OK);
        assert_int_not_equal(talk(child.sock, &q, i == 0 ? 3 : sizeof(q), &ring, 1).status, ST_OK);
        spawn_reap(child.pidfd);
        close(child.sock), close(child.pidfd), close(ring);
    }
}

/* A client that ends without a word, also while a child of it keeps its descriptors open. */
static void test_follows_the_client(void **state)
{
    (void)state;
    for (int keeps_open = 0; keeps_open < 2; keeps_open++) {
        int pipes[2], hold[2];
        assert_int_equal(pipe(pipes), 0);
        assert_int_equal(pipe(hold), 0);
        pid_t client = fork();
        if (client == 0) {
            struct rpc_session *s;
            pid_t pid = open_with(NULL, &s) == ST_OK ? pid_of(s) : 0;
            if (keeps_open && fork() == 0) {
                char c;
                close(hold[1]);
                _exit((int)read(hold[0], &c, 1)); /* until the test is done */
            }
            _exit(write(pipes[1], &pid, sizeof(pid)) != sizeof(pid) || raise(SIGKILL));
        }
        pid_t session = 0;
        assert_int_equal(read(pipes[0], &session, sizeof(session)), sizeof(session));
        assert_true(session > 0);
        int pidfd = (int)syscall(SYS_pidfd_open, session, 0);
        waitpid(client, NULL, 0);
        if (pidfd >= 0) /* else it is gone already */
            await_end(pidfd);
        close(pidfd), close(pipes[0]), close(pipes[1]), close(hold[0]), close(hold[1]);
    }
}

/* A forked child has the parent's memory, but the session is not its own. */
static void test_fork(void **state)
{
    (void)state;
    struct kit_client c;
    assert_int_equal(kit_open(&c), ST_OK);
    pid_t pid = fork();
    if (pid == 0) {
        uint32_t map;
        bool good = !kit_link->alive(c.s) && kit_run(&c, (struct rpc_wait){ 0 }) == ST_COMMUNICATION &&
                    kit_link->map(c.s, 0, 0, 1, false, &map) == ST_COMMUNICATION;
        kit_link->close(c.s);
        _exit(!good);
    }
    int how;
    waitpid(pid, &how, 0);
    assert_int_equal(how, 0);
    kit_fill(&c, 5);
    assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_OK);
    assert_true(kit_right(&c, 5));
    kit_close(&c);
}

static void test_every_arch(void **state)
{
    (void)state;
    static const uint32_t archs[] = { 68, 69, 73, 75, 79, 81, 85, 89 };
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        struct kit_client c;
        kit_arch = archs[i];
        kit_link = kit_stub(kit_arch);
        assert_int_equal(kit_link->arch, archs[i]);
        assert_int_equal(kit_open(&c), ST_OK);
        kit_fill(&c, 1);
        assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_OK);
        assert_true(kit_right(&c, 1));
        kit_close(&c);
    }
    kit_arch = 73;
    kit_link = kit_stub(kit_arch);
}

/* Lists of op packages: a session suits contexts that need no more than it has, whatever the order. */
static void test_package_lists(void **state)
{
    (void)state;
    static const char a[] = "/p/a.so" RPC_PACKAGE_UNIT "fn" RPC_PACKAGE_END,
                      b[] = "/p/b.so" RPC_PACKAGE_UNIT "fn" RPC_PACKAGE_END,
                      other[] = "/p/a.so" RPC_PACKAGE_UNIT "other" RPC_PACKAGE_END,
                      longer[] = "/x/p/a.so" RPC_PACKAGE_UNIT "fn" RPC_PACKAGE_END;
    char both[sizeof(a) + sizeof(b)];

    snprintf(both, sizeof(both), "%s%s", a, b);
    assert_true(rpc_packages_within("", "") && rpc_packages_within("", a) && rpc_packages_within(a, a));
    assert_true(rpc_packages_within(a, both) && rpc_packages_within(b, both) && rpc_packages_within(both, both));
    assert_false(rpc_packages_within(a, "") || rpc_packages_within(both, a) || rpc_packages_within(a, b));
    assert_false(rpc_packages_within(a, longer) || rpc_packages_within(longer, a) || rpc_packages_within(a, other));
}

/* A library that is not there is named; a program without the table of op packages says so. */
static void test_packages_refused(void **state)
{
    (void)state;
    struct rpc_session *s = NULL;
    struct rpc_session_opts o = kit_opts();

    o.packages = "/nowhere/package.so" RPC_PACKAGE_UNIT "fn" RPC_PACKAGE_END;
    assert_int_equal(kit_link->open(&o, &s), ST_UNKNOWN_PACKAGE);
    assert_says("/nowhere/package.so");
    assert_int_equal(rpc_link_inproc.open(&o, &s), ST_NOT_SUPPORTED);
    assert_non_null(strstr(status_text(), "does not run op packages"));
}

int main(int argc, char **argv)
{
    if (argc < 2 || !mkdtemp(folder))
        return 1;
    other_skel = argv[1];
    kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_skels),
        cmocka_unit_test(test_not_executable),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_clean_start),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_locked_in),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_bad_language),
        cmocka_unit_test(test_bad_greeting),
        cmocka_unit_test(test_package_lists),
        cmocka_unit_test(test_packages_refused),
        cmocka_unit_test(test_follows_the_client),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_every_arch),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(in_folder("text.so"));
    rmdir(folder);
    return failed;
}

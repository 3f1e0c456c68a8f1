/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of control messages: a load ends at the node where its signal fires; a session that stands still does not keep
 * the call, and nothing of what was given up is left in it. Time limits are those of the test: without the signal
 * the calls wait for a day. Argument: inproc or process. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "rpc/rpc_link.h"
#include "rpc/worker.h"
#include "rpc_kit.h"

#define OK(call) assert_int_equal(call, ST_OK)
#define DAY "86400000"

enum { PAGE = 4096 };

static bool own_process;

static struct cancel aborted(void)
{
    struct cancel c = { .deadline_ns = 0 };
    atomic_store(&c.abort, 1);
    return c;
}

/* Fires when the session has got the message, and before the test is over. */
static struct cancel soon(void)
{
    return (struct cancel){ .deadline_ns = clock_ns() + 50000000 };
}

static pid_t pid_of(struct rpc_session *s)
{
    struct rpc_usage u;
    kit_link->usage(s, &u);
    return u.pid;
}

/* Returns when it stands still. */
static void stop(struct rpc_session *s)
{
    siginfo_t info;
    pid_t pid = pid_of(s);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
}

static void go_on(struct rpc_session *s)
{
    assert_int_equal(kill(pid_of(s), SIGCONT), 0);
}

static void works(struct kit_client *c, uint32_t seed)
{
    kit_fill(c, seed);
    OK(kit_run(c, (struct rpc_wait){ 0 }));
    assert_true(kit_right(c, seed));
}

/* After a message of the client's own, the session has what it had. */
static void has_as_before(struct kit_client *c, const struct rpc_usage *before)
{
    struct rpc_usage now;
    OK(kit_link->reset(c->s, c->program));
    kit_link->usage(c->s, &now);
    assert_int_equal(now.n_programs, before->n_programs);
    assert_int_equal(now.n_maps, before->n_maps);
    assert_int_equal(now.mapped_bytes, before->mapped_bytes);
    assert_int_equal(now.heap_bytes, before->heap_bytes);
}

/* ---- a session that works --------------------------------------------------------------------------------------------- */

/* Nothing is sent. */
static void test_before(void **state)
{
    (void)state;
    struct kit_client c;
    struct rpc_usage before;
    uint64_t bytes;
    kit_binary(&bytes);
    OK(kit_open(&c));
    kit_link->usage(c.s, &before);
    struct cancel abort = aborted(), late = { .deadline_ns = 1 }, quiet = { .deadline_ns = 0 };
    uint32_t sent = c.s->seq;
    struct rpc_load l = { .map = c.binary, .bytes = bytes, .cancel = &abort };
    assert_int_equal(kit_link->load(c.s, &l), ST_ABORTED);
    l.cancel = &late;
    assert_int_equal(kit_link->load(c.s, &l), ST_TIMED_OUT);
    assert_int_equal(c.s->seq, sent);
    l.cancel = &quiet;
    OK(kit_link->load(c.s, &l));
    OK(kit_link->unload(c.s, l.program));
    l.cancel = NULL;
    OK(kit_link->load(c.s, &l));
    OK(kit_link->unload(c.s, l.program));
    has_as_before(&c, &before);
    works(&c, 3);
    kit_close(&c);
}

/* What the session does when the signal fires while it loads: no more nodes are bound, and nothing stays. */
static void test_ends_at_a_node(void **state)
{
    (void)state;
    if (own_process) {
        print_message("SKIP: looks into the session\n");
        skip();
    }
    struct kit_client c;
    struct rpc_usage before;
    struct rpc_reply r;
    struct rpc_request q = { .magic = RPC_MAGIC, .type = RPC_LOAD };
    OK(kit_open(&c));
    kit_link->usage(c.s, &before);
    kit_binary(&q.load.bytes);
    q.load.map = c.binary;
    struct cancel abort = aborted(), late = { .deadline_ns = 1 };
    worker_set_signal(c.s->worker, &abort);
    worker_handle(c.s->worker, &q, NULL, &r);
    assert_int_equal(r.status, ST_ABORTED);
    assert_non_null(strstr(r.text, "with 0 of "));
    worker_set_signal(c.s->worker, &late);
    worker_handle(c.s->worker, &q, NULL, &r);
    assert_int_equal(r.status, ST_TIMED_OUT);
    worker_set_signal(c.s->worker, NULL);
    has_as_before(&c, &before);
    works(&c, 4);
    kit_close(&c);
}

/* ---- one that stands still -------------------------------------------------------------------------------------------- */

static void need_process(void)
{
    if (own_process)
        return;
    print_message("SKIP: a session in this process cannot be stopped alone\n");
    skip();
}

static enum status call(struct kit_client *c, unsigned which, const struct cancel *cancel)
{
    uint64_t bytes;
    kit_binary(&bytes);
    struct rpc_load l = { .map = c->binary, .bytes = bytes, .cancel = cancel };
    struct rpc_mapping m = { .fd = rpc_fd(c->memory), .bytes = KIT_BYTES, .cancel = cancel };
    return which ? kit_link->map_with(c->s, &m) : kit_link->load(c->s, &l);
}

/* The session does what it was asked when it goes on; then that is undone. */
static void test_stopped(void **state)
{
    (void)state;
    need_process();
    struct cancel abort = aborted();
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct kit_client c;
        struct rpc_usage before;
        OK(kit_open(&c));
        kit_link->usage(c.s, &before);
        stop(c.s);
        struct cancel late = soon(), later = soon();
        assert_int_equal(call(&c, i, &late), ST_TIMED_OUT);
        assert_non_null(strstr(kit_link->explain(), "without an answer"));
        assert_int_equal(call(&c, 0, &abort), ST_ABORTED);
        assert_int_equal(call(&c, 0, &later), ST_TIMED_OUT); /* the session still owes the first answer */
        go_on(c.s);
        has_as_before(&c, &before);
        works(&c, i);
        kit_close(&c);
    }
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* What frees does not wait for a session that owes an answer, and is done nevertheless. */
static void test_put_off(void **state)
{
    (void)state;
    need_process();
    struct kit_client c;
    struct rpc_usage before;
    uint32_t map;
    uint64_t bytes;
    kit_binary(&bytes);
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    OK(kit_open(&c));
    kit_link->usage(c.s, &before);
    OK(kit_link->map(c.s, rpc_fd(c.memory), 0, KIT_BYTES, false, &map));
    struct rpc_load other = { .map = c.binary, .bytes = bytes };
    OK(kit_link->load(c.s, &other));
    stop(c.s);
    struct cancel late = soon();
    assert_int_equal(call(&c, 0, &late), ST_TIMED_OUT);
    OK(kit_link->unload(c.s, other.program));
    OK(kit_link->unmap(c.s, map));
    go_on(c.s);
    has_as_before(&c, &before);
    assert_int_equal(kit_link->unmap(c.s, map), ST_NOT_FOUND);
    works(&c, 9);
    kit_close(&c);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* Closing a session that owes something does not wait either, nor is anything left. */
static void test_closed(void **state)
{
    (void)state;
    need_process();
    struct kit_client c;
    unsigned fds = kit_fds(), children = kit_children();
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    OK(kit_open(&c));
    stop(c.s);
    struct cancel late = soon();
    assert_int_equal(call(&c, 0, &late), ST_TIMED_OUT);
    kit_close(&c);
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(kit_children(), children);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* Without a signal the limit of the session counts, as ever, also for an answer that is owed. */
static void test_limit(void **state)
{
    (void)state;
    need_process();
    struct kit_client c;
    setenv("OPENQNN_SESSION_TIMEOUT", "500", 1);
    OK(kit_open(&c));
    stop(c.s);
    struct cancel late = soon();
    assert_int_equal(call(&c, 1, &late), ST_TIMED_OUT);
    assert_int_equal(call(&c, 0, NULL), ST_COMMUNICATION);
    assert_non_null(strstr(kit_link->explain(), "the answer to a map message"));
    kit_close(&c);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* ---- memory in place of pages of a mapping ---------------------------------------------------------------------------- */

static int file_of(const void *data, uint64_t bytes)
{
    int fd = memfd_create("part", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)(bytes + PAGE - 1) / PAGE * PAGE), 0);
    assert_int_equal(pwrite(fd, data, bytes, 0), (ssize_t)bytes);
    return fd;
}

/* A binary whose pages are empty but for the first one; the others are brought by another descriptor. */
static void test_lay(void **state)
{
    (void)state;
    struct kit_client c;
    struct rpc_usage before, after;
    uint64_t bytes;
    int whole = kit_binary(&bytes);
    OK(kit_open(&c));
    assert_true(bytes > 2 * PAGE);
    uint8_t *all = mmap(NULL, bytes, PROT_READ, MAP_SHARED, whole, 0);
    int first = file_of(all, PAGE), rest = file_of(all + PAGE, bytes - PAGE);
    uint64_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    assert_int_equal(ftruncate(first, (off_t)pages), 0);
    struct rpc_mapping m = { .fd = first, .bytes = bytes };
    OK(kit_link->map_with(c.s, &m));
    struct rpc_load l = { .map = m.map, .bytes = bytes };
    OK(kit_link->load(c.s, &l)); /* tables are in the first page, constants are not */
    uint32_t own = c.program;
    c.program = l.program;
    kit_fill(&c, 5);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    assert_false(kit_right(&c, 5));
    OK(kit_link->unload(c.s, l.program));

    kit_link->usage(c.s, &before);
    const struct rpc_mapping good = { .fd = rest, .bytes = pages - PAGE, .over = m.map, .at = PAGE };
    const struct {
        uint64_t offset, bytes, at;
        uint32_t over;
        bool writable;
        enum status want;
    } bad[] = { { 1, PAGE, PAGE, m.map, false, ST_INVALID_ARG },
                { 0, 100, PAGE, m.map, false, ST_INVALID_ARG },
                { 0, 0, PAGE, m.map, false, ST_INVALID_ARG },
                { 0, PAGE, 100, m.map, false, ST_INVALID_ARG },
                { 0, PAGE, pages, m.map, false, ST_INVALID_ARG },
                { 0, pages, PAGE, m.map, false, ST_INVALID_ARG },
                { 0, UINT64_MAX - PAGE + 1, PAGE, m.map, false, ST_INVALID_ARG },
                { 0, PAGE, PAGE, m.map, true, ST_INVALID_ARG },
                { 0, PAGE, PAGE, 4711, false, ST_NOT_FOUND },
                { pages, PAGE, PAGE, m.map, false, ST_MAPPING } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct rpc_mapping b = { .fd = rest, .offset = bad[i].offset, .bytes = bad[i].bytes, .at = bad[i].at };
        b.over = bad[i].over;
        b.writable = bad[i].writable;
        assert_int_equal(kit_link->map_with(c.s, &b), bad[i].want);
    }
    struct rpc_mapping lay = good;
    OK(kit_link->map_with(c.s, &lay));
    close(rest), close(first);
    kit_link->usage(c.s, &after);
    assert_int_equal(after.mapped_bytes, before.mapped_bytes);
    assert_int_equal(after.n_maps, before.n_maps);
    OK(kit_link->load(c.s, &l));
    c.program = l.program;
    works(&c, 5);
    OK(kit_link->unload(c.s, l.program));
    OK(kit_link->unmap(c.s, m.map));
    c.program = own;
    munmap(all, bytes);
    kit_close(&c);
}

int main(int argc, char **argv)
{
    own_process = argc > 1 && strcmp(argv[1], "process") == 0;
    if (own_process)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before),  cmocka_unit_test(test_ends_at_a_node), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_put_off), cmocka_unit_test(test_closed),         cmocka_unit_test(test_limit),
        cmocka_unit_test(test_lay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that stand still: every call on them returns, and a session that only takes long is left alone. Time is counted
 * by the heartbeats of a session, at most ten a second, and limits are far from what a busy machine does to a thread.
 * Argument: inproc or process. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "rpc/rpc_watch.h"
#include "stage.h"

#define MS UINT64_C(1000000)
#define LIMIT "2000" /* ms, of a healthy session */
#define SHORT "1000" /* of one that is stopped on purpose */
#define DAY "86400000"

enum { BEATS = 30 /* more time than LIMIT */ };

static bool own_process;

static void need_process(void)
{
    if (own_process)
        return;
    print_message("SKIP: a session in this process cannot be stopped alone\n");
    skip();
}

static pid_t pid_of(struct rpc_session *s)
{
    struct rpc_usage u;
    kit_link->usage(s, &u);
    return u.pid;
}

/* Returns when it stands still: the signal has arrived by then. */
static void stop(struct rpc_session *s)
{
    siginfo_t info;
    pid_t pid = pid_of(s);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
}

static void assert_says(const char *text, const char *word)
{
    if (!strstr(text, word))
        fail_msg("\"%s\" does not say \"%s\"", text, word);
}

static void assert_works(void)
{
    struct kit_client c;
    OK(kit_open(&c));
    kit_fill(&c, 77);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    assert_true(kit_right(&c, 77));
    kit_close(&c);
}

static void await_beats(struct rpc_session *s, uint32_t n)
{
    uint32_t from = atomic_load(&s->common->heartbeat.pong);
    while (atomic_load(&s->common->heartbeat.pong) - from < n)
        usleep(1000);
}

/* ---- counting --------------------------------------------------------------------------------------------------------- */

static void test_count(void **state)
{
    (void)state;
    struct rpc_heartbeat heart = { .ping = 0 };
    struct rpc_watch w;
    uint64_t now = 5 * MS;
    watch_begin(&w, now);
    assert_int_equal(watch_look(&w, &heart, now += 20 * MS), 0);
    assert_int_equal(heart.ping, 0); /* short calls ask for nothing */
    assert_int_equal(watch_look(&w, &heart, now += 80 * MS), 0);
    assert_int_equal(heart.ping, 1);
    for (uint64_t i = 1; i <= 50; i++)
        assert_int_equal(watch_look(&w, &heart, now += 20 * MS), i * 20 * MS);
    assert_int_equal(heart.ping, 1); /* one question at a time */
    heart.pong = 1;
    assert_int_equal(watch_look(&w, &heart, now += 20 * MS), 0);
    assert_int_equal(heart.ping, 1);
    assert_int_equal(watch_look(&w, &heart, now += 100 * MS), 0);
    assert_int_equal(heart.ping, 2);
    heart.ping = heart.pong = 7; /* another call asked meanwhile */
    assert_int_equal(watch_look(&w, &heart, now += 20 * MS), 0);
}

/* A client that was stopped for an hour has not been waiting for an hour. */
static void test_suspended_count(void **state)
{
    (void)state;
    struct rpc_heartbeat heart = { .ping = 0 };
    struct rpc_watch w;
    uint64_t now = 0, hour = 3600000 * MS;
    watch_begin(&w, now);
    assert_int_equal(watch_look(&w, &heart, now += hour), 0);
    assert_int_equal(watch_look(&w, &heart, now += 50 * MS), 50 * MS);
    assert_int_equal(watch_look(&w, &heart, now += hour), 50 * MS + WATCH_SLICE_NS);
    assert_int_equal(watch_look(&w, &heart, now += 50 * MS), 100 * MS + WATCH_SLICE_NS);
}

/* Numbers wrap after years. */
static void test_wrap(void **state)
{
    (void)state;
    struct rpc_heartbeat heart = { .ping = UINT32_MAX, .pong = UINT32_MAX };
    struct rpc_watch w;
    watch_begin(&w, 0);
    watch_look(&w, &heart, 100 * MS);
    assert_int_equal(heart.ping, 0);
    assert_int_equal(watch_look(&w, &heart, 150 * MS), 50 * MS);
    heart.pong = 0;
    assert_int_equal(watch_look(&w, &heart, 200 * MS), 0);
}

static void test_setting(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "x", "1s", "-1", "99", "1", "86400001", "99999999999999999999", " 500", "0x10"
    };
    struct kit_client c;
    uint64_t ns;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char seen[64];
        snprintf(seen, sizeof seen, "OPENQNN_SESSION_TIMEOUT=\"%s\"", wrong[i]);
        setenv("OPENQNN_SESSION_TIMEOUT", wrong[i], 1);
        assert_int_equal(kit_open(&c), ST_INVALID_ARG);
        assert_says(kit_link->explain(), seen);
        assert_says(kit_link->explain(), "100 to 86400000");
    }
    setenv("OPENQNN_SESSION_TIMEOUT", "250", 1);
    OK(watch_limit_read(&ns));
    assert_int_equal(ns, 250 * MS);
    setenv("OPENQNN_SESSION_TIMEOUT", "0", 1);
    OK(watch_limit_read(&ns));
    assert_int_equal(ns, 0);
    assert_works();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    OK(watch_limit_read(&ns));
    assert_int_equal(ns, 10000 * MS);
}

/* ---- stopped ---------------------------------------------------------------------------------------------------------- */

static struct rpc_load load_of(const struct kit_client *c)
{
    struct rpc_load l = { .map = c->binary };
    kit_binary(&l.bytes);
    return l;
}

static enum status call(struct kit_client *c, unsigned which)
{
    struct rpc_load l = load_of(c);
    uint32_t map;
    switch (which) {
    case 0: return kit_run(c, (struct rpc_wait){ 0 });
    case 1: return kit_run(c, (struct rpc_wait){ .poll_us = 1000, .adaptive = true });
    case 2: return kit_link->map(c->s, rpc_fd(c->memory), 0, KIT_BYTES, true, &map);
    case 3: return kit_link->unmap(c->s, c->buffer);
    case 4: return kit_link->load(c->s, &l);
    case 5: return kit_link->unload(c->s, c->program);
    case 6: return kit_link->reset(c->s, c->program);
    case 7: return kit_link->set_scratch(c->s, c->program, own);
    case 8: return kit_link->set_spill(c->s, c->program, own);
    case 9: return kit_link->set_backup(c->s, c->program, own);
    default: return kit_link->set_weights(c->s, c->program, own);
    }
}

enum { CALLS = 11 };

/* Whatever is called first on a stopped session finds out, and everything after that has the same answer at once. */
static void test_every_call(void **state)
{
    (void)state;
    need_process();
    unsigned fds = kit_fds(), children = kit_children();
    setenv("OPENQNN_SESSION_TIMEOUT", SHORT, 1);
    for (unsigned first = 0; first < CALLS; first++) {
        struct kit_client c;
        char pid[32];
        OK(kit_open(&c));
        stop(c.s);
        snprintf(pid, sizeof pid, "process %d:", (int)pid_of(c.s));
        assert_int_equal(call(&c, first), ST_COMMUNICATION);
        for (unsigned i = 0; i < CALLS; i++) {
            assert_says(kit_link->explain(), pid);
            assert_says(kit_link->explain(), "no sign of life for 1");
            assert_says(kit_link->explain(), "the limit is 1000 ms");
            assert_says(kit_link->explain(), first < 2 ? "a run" : "message");
            assert_int_equal(call(&c, i), ST_COMMUNICATION);
        }
        assert_false(kit_link->alive(c.s));
        kit_close(&c);
    }
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(kit_children(), children);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    assert_works();
}

static void test_closed_while_stopped(void **state)
{
    (void)state;
    need_process();
    struct kit_client c;
    unsigned children = kit_children();
    OK(kit_open(&c));
    stop(c.s);
    kit_close(&c);
    assert_int_equal(kit_children(), children);
}

/* Stopped in the middle of a run, which waits at its first step. */
static void test_during_a_run(void **state)
{
    (void)state;
    need_process();
    setenv("OPENQNN_SESSION_TIMEOUT", SHORT, 1);
    open_stage(yield_at(1, 1, 1, 1));
    struct actor *a = enter(0, 0, own);
    begin(a, CALL_RUNNING);
    stop(stage.s);
    pthread_join(a->thread, NULL);
    assert_int_equal(a->st, ST_COMMUNICATION);
    close_stage();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    assert_works();
}

/* The signal of a client counts although the session may be silent for a day: here the test would not end. */
static void test_abort(void **state)
{
    (void)state;
    need_process();
    setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
    open_stage(yield_at(1, 1, 1, 1));
    struct actor *a = enter(0, 0, own);
    begin(a, CALL_RUNNING);
    stop(stage.s);
    atomic_store(&a->cancel.abort, 1);
    pthread_join(a->thread, NULL);
    assert_int_equal(a->st, ST_COMMUNICATION);
    close_stage();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    assert_works();
}

static void *run_until(void *arg)
{
    struct actor *a = arg;
    a->cancel.deadline_ns = clock_ns() + 1000 * MS;
    a->st = kit_link->run(a->c.s, &a->run);
    return NULL;
}

/* Stopped before and during the run; in both cases the run has the time of its signal. */
static void test_timeout(void **state)
{
    (void)state;
    need_process();
    for (int during = 0; during < 2; during++) {
        setenv("OPENQNN_SESSION_TIMEOUT", DAY, 1);
        open_stage(yield_at(1, 1, 1, 1));
        struct actor *a = enter(0, 0, own);
        struct rpc_call *c = call_of(a);
        if (!during)
            stop(stage.s);
        assert_int_equal(pthread_create(&a->thread, NULL, run_until, a), 0);
        while (during && atomic_load(&c->state) == CALL_IDLE)
            sched_yield();
        if (during)
            stop(stage.s);
        pthread_join(a->thread, NULL);
        /* What had not begun was taken back, and nothing happened to the session. */
        assert_true(a->st == ST_TIMED_OUT || (during && a->st == ST_COMMUNICATION));
        close_stage();
        unsetenv("OPENQNN_SESSION_TIMEOUT");
    }
    assert_works();
}

static void *keep_calling(void *arg)
{
    struct actor *a = arg;
    uint32_t map;
    while (a->st == ST_OK)
        a->st = a->seed % 2 ? kit_link->run(a->c.s, &a->run)
                            : kit_link->map(a->c.s, rpc_fd(a->c.memory), 0, KIT_BYTES, true, &map);
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    need_process();
    setenv("OPENQNN_SESSION_TIMEOUT", SHORT, 1);
    for (int round = 0; round < 3; round++) {
        open_stage("");
        for (uint32_t i = 0; i < ACTORS; i++)
            enter(i, i * 10, own);
        for (uint32_t i = 0; i < ACTORS; i++)
            assert_int_equal(pthread_create(&actors[i].thread, NULL, keep_calling, &actors[i]), 0);
        stop(stage.s);
        for (uint32_t i = 0; i < ACTORS; i++) {
            pthread_join(actors[i].thread, NULL);
            assert_int_equal(actors[i].st, ST_COMMUNICATION);
        }
        close_stage();
    }
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    assert_works();
}

/* A program that is started as a skel, and lives, but says nothing. */
static void test_start(void **state)
{
    (void)state;
    need_process();
    struct rpc_session_opts o = kit_opts();
    struct rpc_session *s;
    unsigned fds = kit_fds(), children = kit_children();
    o.skel = "/usr/bin/yes";
    o.start_ms = 300;
    assert_int_equal(kit_link->open(&o, &s), ST_LOADING);
    assert_says(kit_link->explain(), "no sign of life");
    assert_says(kit_link->explain(), "hello");
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(kit_children(), children);
}

/* ---- busy ------------------------------------------------------------------------------------------------------------- */

/* Longer than the limit, and healthy. */
static void test_long_run(void **state)
{
    (void)state;
    need_process();
    setenv("OPENQNN_SESSION_TIMEOUT", LIMIT, 1);
    open_stage(yield_at(2, 1, 1, 1));
    struct actor *low = enter(0, 0, own), *high = enter(1, 100, own);
    begin(low, CALL_RUNNING);
    await_beats(stage.s, BEATS);
    run(high);
    end(low);
    close_stage();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* A control message that waits for the run before it, longer than the limit. */
static void *reset_it(void *arg)
{
    struct actor *a = arg;
    a->st = kit_link->reset(a->c.s, actors[0].c.program);
    return NULL;
}

static void test_long_message(void **state)
{
    (void)state;
    need_process();
    setenv("OPENQNN_SESSION_TIMEOUT", LIMIT, 1);
    open_stage(yield_at(2, 1, 1, 1));
    struct actor *low = enter(0, 0, own), *high = enter(1, 100, own);
    pthread_t thread;
    begin(low, CALL_RUNNING);
    actors[2] = (struct actor){ .c = { .s = stage.s } };
    assert_int_equal(pthread_create(&thread, NULL, reset_it, &actors[2]), 0);
    await_beats(stage.s, 2 * BEATS); /* two ask */
    run(high);
    end(low);
    pthread_join(thread, NULL);
    OK(actors[2].st);
    close_stage();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* 0: no watchdog, so nothing is asked, and a session that was stopped goes on. */
static void test_no_limit(void **state)
{
    (void)state;
    need_process();
    setenv("OPENQNN_SESSION_TIMEOUT", "0", 1);
    open_stage(yield_at(2, 1, 1, 1));
    struct actor *low = enter(0, 0, own), *high = enter(1, 100, own);
    begin(low, CALL_RUNNING);
    assert_int_equal(atomic_load(&stage.s->common->heartbeat.ping), 0);
    stop(stage.s);
    kill(pid_of(stage.s), SIGCONT);
    run(high);
    end(low);
    assert_int_equal(atomic_load(&stage.s->common->heartbeat.ping), 0);
    close_stage();
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

/* ---- a client that is stopped itself ---------------------------------------------------------------------------------- */

/* The client process: a run that is in progress when it is stopped, and right after it goes on. */
static int client(int to_parent, int from_parent)
{
    char go;
    open_stage(yield_at(2, 1, 1, 1));
    struct actor *low = enter(0, 0, own), *high = enter(1, 100, own);
    begin(low, CALL_RUNNING);
    pid_t pid = pid_of(stage.s);
    if (write(to_parent, &pid, sizeof pid) != sizeof pid || read(from_parent, &go, 1) != 1)
        return 1;
    await_beats(stage.s, 3);
    run(high);
    end(low);
    close_stage();
    return 0;
}

static void await_stop(pid_t pid)
{
    int how;
    assert_int_equal(waitpid(pid, &how, WUNTRACED), pid);
    assert_true(WIFSTOPPED(how));
}

static void suspend(bool both)
{
    int up[2], down[2], how;
    pid_t session;
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    setenv("OPENQNN_SESSION_TIMEOUT", LIMIT, 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(client(up[1], down[0]));
    assert_int_equal(read(up[0], &session, sizeof session), sizeof session);
    if (both)
        kill(session, SIGSTOP);
    kill(pid, SIGSTOP);
    await_stop(pid);
    /* A clock: the heartbeats of a session of this process. */
    open_stage(yield_at(2, 1, 1, 1));
    struct actor *low = enter(0, 0, own), *high = enter(1, 100, own);
    begin(low, CALL_RUNNING);
    await_beats(stage.s, BEATS);
    run(high);
    end(low);
    close_stage();
    kill(pid, SIGCONT);
    if (both)
        kill(session, SIGCONT);
    assert_int_equal(write(down[1], "g", 1), 1);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    close(up[0]), close(up[1]), close(down[0]), close(down[1]);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
}

static void test_suspended_client(void **state)
{
    (void)state;
    need_process();
    suspend(false);
}

static void test_suspended_machine(void **state)
{
    (void)state;
    need_process();
    suspend(true);
}

int main(int argc, char **argv)
{
    own_process = argc > 1 && strcmp(argv[1], "process") == 0;
    if (own_process)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_suspended_count),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_setting),
        cmocka_unit_test(test_every_call),
        cmocka_unit_test(test_closed_while_stopped),
        cmocka_unit_test(test_during_a_run),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_suspended_client),
        cmocka_unit_test(test_suspended_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

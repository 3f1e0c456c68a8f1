/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that die. A scripted client loses its session after each of its first messages; whatever was going on, it sees
 * ST_COMMUNICATION, closes, opens another, and nothing is left of the old one. Argument: inproc or process. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc_kit.h"
#include "test_scale.h"

enum { MESSAGES = 500, ROUNDS = 64 };

static bool own_process;

/* One round of all that a client does: 12 messages. */
static enum status round_of(struct kit_client *c, uint32_t seed)
{
    const struct rpc_link *l = kit_link;
    uint64_t bytes;
    int fd = kit_binary(&bytes);
    struct rpc_load load = { .bytes = bytes };
    uint32_t buffer;
    TRY(l->map(c->s, fd, 0, bytes, false, &load.map));
    TRY(l->map(c->s, rpc_fd(c->memory), KIT_BYTES, KIT_BYTES, true, &buffer));
    TRY(l->load(c->s, &load)); /* two messages */
    kit_fill(c, seed);
    TRY(kit_run(c, (struct rpc_wait){ .poll_us = seed % 3 * 50 }));
    assert_true(kit_right(c, seed));
    TRY(l->reset(c->s, load.program));
    struct rpc_run r = { .program = load.program, .io = c->io, .n_io = KIT_IO };
    TRY(l->run(c->s, &r));
    assert_true(kit_right(c, seed));
    TRY(l->unload(c->s, load.program));
    TRY(l->unmap(c->s, buffer));
    return l->unmap(c->s, load.map);
}

static enum status script(struct kit_client *c)
{
    TRY(kit_open(c));
    for (uint32_t i = 0; i < ROUNDS; i++)
        TRY(round_of(c, i));
    return ST_OK;
}

static void assert_all_dead(struct kit_client *c)
{
    uint32_t map;
    uint64_t bytes;
    struct rpc_load load = { .map = c->binary, .bytes = 100 };
    assert_false(kit_link->alive(c->s));
    assert_int_equal(kit_link->map(c->s, kit_binary(&bytes), 0, 10, false, &map), ST_COMMUNICATION);
    assert_int_equal(kit_link->unmap(c->s, c->buffer), ST_COMMUNICATION);
    assert_int_equal(kit_link->load(c->s, &load), ST_COMMUNICATION);
    assert_int_equal(kit_run(c, (struct rpc_wait){ 0 }), ST_COMMUNICATION);
    assert_int_equal(kit_link->reset(c->s, c->program), ST_COMMUNICATION);
    assert_int_equal(kit_link->unload(c->s, c->program), ST_COMMUNICATION);
}

static void assert_works(void)
{
    struct kit_client c;
    assert_int_equal(kit_open(&c), ST_OK);
    kit_fill(&c, 77);
    assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_OK);
    assert_true(kit_right(&c, 77));
    kit_close(&c);
}

/* setenv keeps every text it ever had, which would look like a leak. */
static void set_fault(const char *format, unsigned n)
{
    static char text[64] = "OPENQNN_FAULT=";
    snprintf(text + strlen("OPENQNN_FAULT="), 40, format, n);
    putenv(text);
}

/* Fails at the n-th message, is cleaned up, and works without the fault. */
static void fail_at(const char *format, unsigned n)
{
    struct kit_client c;
    set_fault(format, n);
    enum status st = script(&c);
    if (st != ST_COMMUNICATION)
        fail_msg("message %u: %s: %s", n, status_name(st), kit_link->explain());
    unsetenv("OPENQNN_FAULT");
    if (c.s) {
        assert_all_dead(&c);
        kit_close(&c);
    }
    assert_works();
}

static void every_message(const char *format, unsigned step)
{
    assert_works(); /* what is allocated once */
    struct mallinfo2 heap = mallinfo2();
    unsigned fds = kit_fds(), mappings = kit_mappings(), children = kit_children(), live = rpc_live();
    for (unsigned n = 1; n <= MESSAGES; n += step)
        fail_at(format, n);
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(kit_mappings(), mappings);
    assert_int_equal(kit_children(), children);
    assert_int_equal(rpc_live(), live);
    /* setenv keeps every value that it was given, and the threads of a session in this process something for themselves; the
     * address sanitizer knows better what is a leak. */
    assert_in_range(mallinfo2().uordblks, 0, heap.uordblks + (own_process ? 16384 : 65536));
}

static void test_kill(void **state)
{
    (void)state;
    every_message("kill@%u", test_scale(100) < 100 ? 7 : 1);
}

static void test_truncate(void **state)
{
    (void)state;
    every_message("truncate@%u", 13);
}

static void test_faults(void **state)
{
    (void)state;
    struct kit_client c;
    set_fault("refuse_map@%u", 2);
    assert_int_equal(kit_open(&c), ST_MAPPING);
    set_fault("refuse_open@%u", 1);
    assert_int_equal(kit_open(&c), ST_LOADING);
    assert_int_equal(kit_open(&c), ST_OK); /* the second one */
    kit_close(&c);
    set_fault("delay@%u:1,delay@2:0", 1);
    assert_int_equal(kit_open(&c), ST_OK);
    kit_close(&c);
    static const char *const wrong[] = { "kil@1",           "kill", "kill@0",       "kill@x", "delay@1", "kill@1:5",
                                         "delay@1:9999999", "@3",   "kill@1;kill@2" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("OPENQNN_FAULT", wrong[i], 1);
        assert_int_equal(kit_open(&c), ST_INVALID_ARG);
        assert_non_null(strstr(kit_link->explain(), "OPENQNN_FAULT"));
    }
    unsetenv("OPENQNN_FAULT");
    assert_works();
}

/* ---- from outside ----------------------------------------------------------------------------------------------------- */

static void *kill_it(void *arg)
{
    struct rpc_usage u;
    kit_link->usage(arg, &u);
    kill(u.pid, SIGKILL);
    return NULL;
}

static void test_kill_from_outside(void **state)
{
    (void)state;
    if (!own_process) {
        print_message("SKIP: a session in this process cannot be killed alone\n");
        skip();
    }
    for (uint32_t i = 0; i < 40; i++) {
        struct kit_client c;
        pthread_t killer;
        enum status st = ST_OK;
        assert_int_equal(kit_open(&c), ST_OK);
        for (uint32_t k = 0; k < i % 5; k++)
            assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_OK);
        pthread_create(&killer, NULL, kill_it, c.s);
        for (uint32_t k = 0; st == ST_OK; k++)
            st = i % 2 ? round_of(&c, k) : kit_run(&c, (struct rpc_wait){ .poll_us = i % 3 * 100, .adaptive = i % 4 == 0 });
        assert_int_equal(st, ST_COMMUNICATION);
        pthread_join(killer, NULL);
        assert_all_dead(&c);
        kit_close(&c);
    }
    assert_works();
}

/* A file that gets shorter under a mapping ends whoever touches it: that must be the session. */
static void test_truncated_file(void **state)
{
    (void)state;
    if (!own_process)
        skip();
    struct kit_client c;
    uint32_t map;
    int file = memfd_create("shrinks", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, KIT_BYTES), 0);
    assert_int_equal(kit_open(&c), ST_OK);
    assert_int_equal(kit_link->map(c.s, file, 0, KIT_BYTES, true, &map), ST_OK);
    c.io[0] = (struct rpc_io){ .map = map, .bytes = KIT_BYTES };
    assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_OK);
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_COMMUNICATION);
    assert_all_dead(&c);
    kit_close(&c);
    close(file);
    assert_works();
}

int main(int argc, char **argv)
{
    own_process = argc > 1 && strcmp(argv[1], "process") == 0;
    if (own_process)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill),   cmocka_unit_test(test_truncate),          cmocka_unit_test(test_faults),
        cmocka_unit_test(test_kill_from_outside), cmocka_unit_test(test_truncated_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

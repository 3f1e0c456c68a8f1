/* SPDX-License-Identifier: Apache-2.0 */
/* What a link promises, the same for a session in this process and for one of its own (argument: inproc or process). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "apart.h"
#include "base/clock.h"
#include "rpc_kit.h"

#define OK(expr) check((expr), #expr, __LINE__)
static void check(enum status st, const char *what, int line)
{
    if (st != ST_OK)
        fail_msg("line %d: %s: %s: %s", line, what, status_name(st), kit_link->explain());
}

static void assert_says(const char *word)
{
    if (!strstr(kit_link->explain(), word))
        fail_msg("\"%s\" does not say \"%s\"", kit_link->explain(), word);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const struct rpc_wait waits[] = { { .poll_us = 0 },
                                             { .poll_us = 2000 },
                                             { .poll_us = 50, .latency_us = 100 },
                                             { .poll_us = 100, .adaptive = true },
                                             { .poll_us = 9999, .adaptive = true },
                                             { .latency_us = 1 } };
    struct kit_client c;
    OK(kit_open(&c));
    for (uint32_t i = 0; i < 50; i++) {
        kit_fill(&c, i);
        OK(kit_run(&c, waits[i % 6]));
        assert_true(kit_right(&c, i));
    }
    kit_close(&c);
}

/* Nobody spins who was not asked to; who was does, sooner or later: not when the answer is there already, nor on the core
 * that the session is on. */
static void test_ways_to_wait(void **state)
{
    (void)state;
    struct kit_client c;
    uint64_t polls = 0;
    cpu_set_t before;
    OK(kit_open(&c));
    struct rpc_run r = { .program = c.program, .io = c.io, .n_io = KIT_IO };
    for (uint32_t i = 0; i < 200; i++) {
        OK(kit_link->run(c.s, &r));
        assert_int_equal(r.polls, 0);
    }
    const bool apart = apart_begin(&before);
    r.wait.poll_us = 2000;
    for (uint32_t i = 0; i < 200000 && !polls && apart; i++) {
        OK(kit_link->run(c.s, &r));
        polls += r.polls;
    }
    apart_end(&before);
    assert_true(polls > 0 || !apart);
    kit_close(&c);
}

static void test_times_and_marks(void **state)
{
    (void)state;
    struct kit_client c;
    struct prof_mark marks[64];
    OK(kit_open(&c));
    struct rpc_run r = {
        .program = c.program, .io = c.io, .n_io = KIT_IO, .profile_nodes = true, .marks = marks, .max_marks = 64
    };
    uint64_t before = clock_ns();
    OK(kit_link->run(c.s, &r));
    uint64_t after = clock_ns();
    assert_in_range(r.n_marks, 4, 64);
    for (uint32_t i = 0; i < r.n_marks; i++) {
        assert_in_range(marks[i].begin_ns, before, marks[i].end_ns);
        assert_in_range(marks[i].end_ns, marks[i].begin_ns, after);
        assert_true(marks[i].node < 4);
    }
    assert_true(r.exec_ns > 0 && r.exec_ns <= r.worker_ns && r.worker_ns <= r.rpc_ns && r.rpc_ns <= after - before);
    r.max_marks = 2;
    OK(kit_link->run(c.s, &r));
    assert_int_equal(r.n_marks, 2);
    r.profile_nodes = false;
    OK(kit_link->run(c.s, &r));
    assert_int_equal(r.n_marks, 0);
    kit_close(&c);
}

/* The tables of a binary from one file, its constants from another: one mapping, charged in pages, that runs. */
static void test_joined_maps(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    struct kit_client c;
    struct rpc_usage before, after;
    uint64_t bytes;
    uint32_t map = 0;
    OK(kit_open(&c));
    int fd = kit_binary(&bytes);
    struct rpc_piece head = { .fd = fd, .bytes = PAGE };
    struct rpc_piece rest = { .fd = fd, .offset = PAGE, .bytes = bytes - PAGE };
    kit_link->usage(c.s, &before);
    OK(kit_link->map_joined(c.s, &head, &rest, NULL, &map));
    kit_link->usage(c.s, &after);
    assert_int_equal(after.mapped_bytes - before.mapped_bytes, (bytes + PAGE - 1) / PAGE * PAGE);

    struct rpc_load l = { .map = map, .bytes = bytes };
    uint32_t former = c.program;
    OK(kit_link->load(c.s, &l));
    c.program = l.program;
    kit_fill(&c, 3);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    assert_true(kit_right(&c, 3));
    OK(kit_link->unload(c.s, l.program));
    OK(kit_link->unmap(c.s, map));
    c.program = former;

    struct rpc_piece wrong = head;
    wrong.bytes = PAGE - 1;
    assert_int_equal(kit_link->map_joined(c.s, &wrong, &rest, NULL, &map), ST_MAPPING);
    assert_says("whole pages");
    wrong = rest;
    wrong.offset = 1;
    assert_int_equal(kit_link->map_joined(c.s, &head, &wrong, NULL, &map), ST_MAPPING);
    wrong = rest;
    wrong.bytes = 1 << 30;
    assert_int_equal(kit_link->map_joined(c.s, &head, &wrong, NULL, &map), ST_MAPPING);
    kit_link->usage(c.s, &after);
    assert_int_equal(after.mapped_bytes, before.mapped_bytes);
    kit_close(&c);
}

/* Each is refused with its reason, and the session goes on. */
static void test_refused_runs(void **state)
{
    (void)state;
    struct kit_client c;
    uint32_t read_only;
    OK(kit_open(&c));
    OK(kit_link->map(c.s, rpc_fd(c.memory), 0, KIT_BYTES, false, &read_only));
    struct {
        uint32_t entry;
        struct rpc_io io;
        enum status want;
        const char *says;
    } bad[] = {
        { 0, { .map = 12345, .bytes = KIT_BYTES }, ST_NOT_FOUND, "12345" },
        { 0, { .map = RPC_NONE }, ST_INVALID_ARG, "x" },
        { 1, { .map = c.buffer, .offset = 2 * KIT_BYTES + 4, .bytes = KIT_BYTES }, ST_INVALID_TENSOR, "12284" },
        { 1, { .map = c.buffer, .offset = UINT64_MAX, .bytes = KIT_BYTES }, ST_INVALID_TENSOR, "behind offset" },
        { 1, { .map = c.buffer, .offset = 2 * KIT_BYTES + 1, .bytes = KIT_BYTES }, ST_INVALID_TENSOR, "behind offset" },
        { 2, { .map = c.buffer, .offset = 0, .bytes = KIT_BYTES - 1 }, ST_INVALID_TENSOR, "12287" },
        { 1, { .map = c.buffer, .offset = KIT_BYTES + 2, .bytes = KIT_BYTES }, ST_INVALID_TENSOR, "multiple of 4" },
        { 2, { .map = read_only, .offset = 0, .bytes = KIT_BYTES }, ST_INVALID_TENSOR, "reading only" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        kit_io(&c);
        c.io[bad[i].entry] = bad[i].io;
        assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), bad[i].want);
        assert_says(bad[i].says);
        assert_true(kit_link->alive(c.s));
    }
    kit_io(&c);
    struct rpc_run r = { .program = c.program, .io = c.io, .n_io = 2 };
    assert_int_equal(kit_link->run(c.s, &r), ST_INVALID_ARG);
    r.program = 99, r.n_io = KIT_IO;
    assert_int_equal(kit_link->run(c.s, &r), ST_NOT_FOUND);
    kit_fill(&c, 3);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    assert_true(kit_right(&c, 3));
    kit_close(&c);
}

static void test_refused_maps(void **state)
{
    (void)state;
    struct kit_client c;
    uint32_t map;
    int pipes[2], file = memfd_create("file", MFD_CLOEXEC), closed = dup(file);
    assert_int_equal(ftruncate(file, 10000), 0);
    close(closed);
    assert_int_equal(pipe(pipes), 0);
    OK(kit_open(&c));
    assert_int_equal(kit_link->map(c.s, closed, 0, 10, false, &map), ST_MAPPING);
    assert_int_equal(kit_link->map(c.s, -1, 0, 10, false, &map), ST_MAPPING);
    assert_int_equal(kit_link->map(c.s, pipes[0], 0, 10, false, &map), ST_MAPPING);
    assert_says("pipe");
    assert_int_equal(kit_link->map(c.s, file, 0, 10001, true, &map), ST_MAPPING);
    assert_says("10001");
    assert_int_equal(kit_link->map(c.s, file, 9999, 2, true, &map), ST_MAPPING);
    assert_int_equal(kit_link->map(c.s, file, 0, 0, true, &map), ST_INVALID_ARG);
    assert_int_equal(kit_link->map(c.s, file, UINT64_MAX, 1, true, &map), ST_INVALID_ARG);
    assert_int_equal(kit_link->map(c.s, file, 1, UINT64_MAX, true, &map), ST_INVALID_ARG);
    OK(kit_link->map(c.s, file, 4099, 5901, true, &map));
    OK(kit_link->unmap(c.s, map));
    assert_int_equal(kit_link->unmap(c.s, map), ST_NOT_FOUND);
    assert_int_equal(kit_link->unmap(c.s, c.binary), ST_IN_USE);
    assert_true(kit_link->alive(c.s));
    kit_close(&c);
    close(file), close(pipes[0]), close(pipes[1]);
}

static void test_refused_loads(void **state)
{
    (void)state;
    struct kit_client c;
    uint64_t bytes;
    kit_binary(&bytes);
    OK(kit_open(&c));
    struct rpc_load l = { .map = c.binary, .bytes = bytes, .graph = 1 };
    assert_int_equal(kit_link->load(c.s, &l), ST_INVALID_ARG);
    l = (struct rpc_load){ .map = 7, .bytes = bytes };
    assert_int_equal(kit_link->load(c.s, &l), ST_NOT_FOUND);
    l = (struct rpc_load){ .map = c.binary, .bytes = bytes * 2 };
    assert_int_equal(kit_link->load(c.s, &l), ST_INVALID_ARG);
    l = (struct rpc_load){ .map = c.buffer, .bytes = KIT_BYTES };
    assert_int_equal(kit_link->load(c.s, &l), ST_BAD_BINARY);
    assert_int_equal(kit_link->unload(c.s, 4711), ST_NOT_FOUND);
    assert_int_equal(kit_link->reset(c.s, 4711), ST_NOT_FOUND);
    OK(kit_link->reset(c.s, c.program));
    OK(kit_link->unload(c.s, c.program));
    assert_int_equal(kit_link->unload(c.s, c.program), ST_NOT_FOUND);
    OK(kit_link->unmap(c.s, c.binary));
    kit_close(&c);
}

/* Sparse files stand for gigabytes. What is refused leaves the session as it was. */
/* Programs compute in memory of the client when it gives some; what does not fit is refused, and what is in use stays
 * mapped. */
static void test_pools(void **state)
{
    (void)state;
    struct kit_client c;
    void *memory;
    uint32_t map, read_only;
    uint64_t bytes;
    kit_binary(&bytes);
    OK(kit_open(&c));
    OK(rpc_alloc(4 * KIT_BYTES, &memory));
    memset(memory, 0xA5, 4 * KIT_BYTES);
    OK(kit_link->map(c.s, rpc_fd(memory), 0, 4 * KIT_BYTES, true, &map));
    OK(kit_link->map(c.s, rpc_fd(memory), 0, 4 * KIT_BYTES, false, &read_only));
    struct { struct rpc_pool scratch; enum status want; const char *says; } bad[] = {
        { { 12345, 0 }, ST_NOT_FOUND, "12345" },
        { { map, 32 }, ST_INVALID_ARG, "multiple of 64" },
        { { map, 3 * KIT_BYTES + 64 }, ST_INVALID_ARG, "behind offset" },
        { { map, UINT64_MAX - 63 }, ST_INVALID_ARG, "behind offset" },
        { { read_only, 0 }, ST_INVALID_ARG, "reading only" },
        { { c.binary, 0 }, ST_INVALID_ARG, "binary" },
    };
    struct rpc_usage before, now;
    kit_link->usage(c.s, &before);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rpc_load l = { .map = c.binary, .bytes = bytes, .scratch = bad[i].scratch };
        assert_int_equal(kit_link->load(c.s, &l), bad[i].want);
        assert_says(bad[i].says);
    }
    struct rpc_load l = { .map = c.binary, .bytes = bytes, .scratch = { map, KIT_BYTES } };
    OK(kit_link->load(c.s, &l));
    uint32_t own = c.program;
    c.program = l.program;
    for (uint32_t i = 0; i < 4; i++) {
        kit_fill(&c, i);
        OK(kit_run(&c, (struct rpc_wait){ 0 }));
        assert_true(kit_right(&c, i));
        const uint8_t *p = memory;
        for (uint32_t k = 0; k < 4; k++) /* in its part and nowhere else */
            assert_int_equal(p[k * KIT_BYTES] == 0xA5 &&
                                 memcmp(p + k * KIT_BYTES, p + k * KIT_BYTES + 1, KIT_BYTES - 1) == 0,
                             k != (i < 2 ? 1 : 2));
        memset(memory, 0xA5, 4 * KIT_BYTES);
        if (i == 1)
            OK(kit_link->set_scratch(c.s, c.program, (struct rpc_pool){ map, 2 * KIT_BYTES }));
        assert_int_equal(kit_link->set_scratch(c.s, c.program, (struct rpc_pool){ read_only, 0 }), ST_INVALID_ARG);
    }
    assert_int_equal(kit_link->set_scratch(c.s, own, (struct rpc_pool){ map, 0 }), ST_INVALID_ARG);
    assert_int_equal(kit_link->set_scratch(c.s, 99, (struct rpc_pool){ map, 0 }), ST_NOT_FOUND);
    assert_int_equal(kit_link->unmap(c.s, map), ST_IN_USE);
    assert_says("compute in");
    OK(kit_link->unload(c.s, c.program));
    OK(kit_link->unmap(c.s, map));
    OK(kit_link->unmap(c.s, read_only));
    kit_link->usage(c.s, &now);
    assert_int_equal(now.heap_bytes, before.heap_bytes);
    c.program = own;
    kit_close(&c);
    OK(rpc_free(memory));
}

/* A paused run goes on where it stopped, and nowhere else. */
static void test_pause(void **state)
{
    (void)state;
    struct kit_client c;
    _Atomic uint32_t pause = 1;
    OK(kit_open(&c));
    kit_fill(&c, 5);
    struct rpc_run r = { .program = c.program, .io = c.io, .n_io = KIT_IO, .pause = &pause };
    assert_int_equal(kit_link->run(c.s, &r), ST_PAUSED);
    assert_int_equal(r.step, 0);
    pause = 0;
    OK(kit_link->run(c.s, &r));
    assert_true(kit_right(&c, 5));
    r.step = 2; /* it is not paused */
    assert_int_equal(kit_link->run(c.s, &r), ST_COMMUNICATION);
    kit_close(&c);
}

static void test_budget(void **state)
{
    (void)state;
    const uint64_t GiB = UINT64_C(1) << 30, budget = 4026531840; /* 3.75 GiB */
    struct rpc_session_opts o = kit_opts();
    struct rpc_session *s;
    struct rpc_usage u, v;
    uint32_t maps[4], none;
    int file = memfd_create("sparse", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, 8 * (off_t)GiB), 0);
    o.budget = budget;
    OK(kit_link->open(&o, &s));
    for (uint32_t i = 0; i < 3; i++)
        OK(kit_link->map(s, file, i * GiB, GiB, true, &maps[i]));
    kit_link->usage(s, &u);
    assert_int_equal(u.mapped_bytes, 3 * GiB);
    assert_int_equal(u.budget, budget);
    assert_int_equal(kit_link->map(s, file, 0, GiB, true, &none), ST_NO_MEMORY);
    assert_says("1073741824");
    assert_says("3221225472");
    assert_says("805306368 are free");
    kit_link->usage(s, &v);
    v.malloc_bytes = u.malloc_bytes; /* of its process: sentences of refusals count */
    assert_memory_equal(&u, &v, sizeof(u));
    OK(kit_link->map(s, file, 0, 805306368, true, &maps[3]));
    assert_int_equal(kit_link->map(s, file, 0, 1, true, &none), ST_NO_MEMORY);
    OK(kit_link->unmap(s, maps[1]));
    OK(kit_link->map(s, file, 5 * GiB, 1, true, &none)); /* a page */
    kit_link->usage(s, &v);
    assert_int_equal(v.mapped_bytes, budget - GiB + 4096);
    kit_link->close(s);
    close(file);
}

static void test_budget_of_programs(void **state)
{
    (void)state;
    uint64_t bytes;
    int fd = kit_binary(&bytes);
    struct rpc_session_opts o = kit_opts();
    struct rpc_session *s;
    struct rpc_usage u;
    struct rpc_load l = { .bytes = bytes };
    OK(kit_link->open(&o, &s));
    OK(kit_link->map(s, fd, 0, bytes, false, &l.map));
    OK(kit_link->load(s, &l));
    kit_link->usage(s, &u);
    assert_true(u.heap_bytes == l.heap_bytes && l.heap_bytes >= KIT_BYTES); /* the scratch tensor at least */
    OK(kit_link->unload(s, l.program));
    kit_link->usage(s, &u);
    assert_int_equal(u.heap_bytes, 0);
    assert_int_equal(u.n_programs, 0);
    kit_link->close(s);
    o.budget = u.mapped_bytes + l.heap_bytes - 1;
    OK(kit_link->open(&o, &s));
    OK(kit_link->map(s, fd, 0, bytes, false, &l.map));
    assert_int_equal(kit_link->load(s, &l), ST_NO_MEMORY);
    assert_says("graph \"kit\"");
    OK(kit_link->unmap(s, l.map));
    kit_link->close(s);
}

static void test_signals(void **state)
{
    (void)state;
    struct kit_client c;
    OK(kit_open(&c));
    struct cancel cancel = { .deadline_ns = clock_ns() - 1 };
    struct rpc_run r = { .program = c.program, .io = c.io, .n_io = KIT_IO, .cancel = &cancel };
    assert_int_equal(kit_link->run(c.s, &r), ST_TIMED_OUT);
    cancel.deadline_ns = 0;
    atomic_store(&cancel.abort, 1);
    assert_int_equal(kit_link->run(c.s, &r), ST_ABORTED);
    atomic_store(&cancel.abort, 0);
    cancel.deadline_ns = clock_ns() + 60 * UINT64_C(1000000000);
    kit_fill(&c, 9);
    OK(kit_link->run(c.s, &r));
    assert_true(kit_right(&c, 9));
    kit_close(&c);
}

/* Dimensions travel both ways; memory is needed only for those of the run, outputs aside. */
static void test_dynamic(void **state)
{
    (void)state;
    struct kit_client c;
    struct rpc_load l = { 0 };
    int fd = kit_dynamic_binary(&l.bytes);
    OK(kit_open(&c));
    OK(kit_link->map(c.s, fd, 0, l.bytes, false, &l.map));
    OK(kit_link->load(c.s, &l));
    for (uint32_t rows = 1; rows <= KIT_ROWS; rows += 21) {
        uint32_t dims[2] = { rows, KIT_COLUMNS }, y[2] = { 0 }, z[2] = { 0 };
        uint8_t produced = 7;
        struct rpc_run r = { .program = l.program, .io = c.io, .n_io = KIT_IO };
        kit_io(&c);
        kit_fill(&c, rows);
        c.io[0].dims = dims, c.io[0].rank = 2, c.io[0].bytes = rows * KIT_COLUMNS * sizeof(float);
        c.io[1].out_dims = y, c.io[1].rank = c.io[2].rank = 2, c.io[2].out_dims = z;
        c.io[2].produced = &produced;
        OK(kit_link->run(c.s, &r));
        assert_int_equal(produced, 1);
        assert_true(y[0] == rows && y[1] == KIT_COLUMNS && z[0] == KIT_COLUMNS && z[1] == rows);
        for (uint32_t i = 0; i < rows * KIT_COLUMNS; i++) {
            float twice = 2 * c.memory[i];
            assert_true(c.memory[KIT_N + i] == (twice > 0 ? twice : 0));
            assert_true(c.memory[2 * KIT_N + i % KIT_COLUMNS * rows + i / KIT_COLUMNS] == twice);
        }
    }
    uint32_t large[2] = { KIT_ROWS + 1, KIT_COLUMNS };
    struct rpc_run r = { .program = l.program, .io = c.io, .n_io = KIT_IO };
    c.io[0].dims = large;
    assert_int_equal(kit_link->run(c.s, &r), ST_DYNAMIC_SHAPE);
    c.io[0].rank = 0;
    assert_int_equal(kit_link->run(c.s, &r), ST_INVALID_ARG);
    kit_close(&c);
    close(fd);
}

/* What the session writes is in the client's pages at once, and what the client writes in the session's: there is only one
 * copy. */
static void test_one_copy(void **state)
{
    (void)state;
    struct kit_client c;
    OK(kit_open(&c));
    kit_fill(&c, 1);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    float *view = mmap(NULL, KIT_IO * KIT_BYTES, PROT_READ, MAP_SHARED, rpc_fd(c.memory), 0);
    assert_ptr_not_equal(view, MAP_FAILED);
    assert_memory_equal(view, c.memory, KIT_IO * KIT_BYTES);
    kit_fill(&c, 2);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    assert_true(kit_right(&c, 2));
    assert_memory_equal(view, c.memory, KIT_IO * KIT_BYTES);
    munmap(view, KIT_IO * KIT_BYTES);
    kit_close(&c);
}

static void test_nothing_left(void **state)
{
    (void)state;
    struct kit_client c;
    OK(kit_open(&c)); /* what is opened once per process */
    kit_close(&c);
    unsigned fds = kit_fds(), mappings = kit_mappings(), children = kit_children(), live = rpc_live();
    for (int i = 0; i < 20; i++) {
        OK(kit_open(&c));
        OK(kit_run(&c, (struct rpc_wait){ 0 }));
        kit_close(&c);
    }
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(kit_mappings(), mappings);
    assert_int_equal(kit_children(), children);
    assert_int_equal(rpc_live(), live);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_times_and_marks),
        cmocka_unit_test(test_refused_runs), cmocka_unit_test(test_joined_maps),
        cmocka_unit_test(test_refused_maps), cmocka_unit_test(test_refused_loads),
        cmocka_unit_test(test_budget),       cmocka_unit_test(test_budget_of_programs),
        cmocka_unit_test(test_signals),      cmocka_unit_test(test_one_copy),
        cmocka_unit_test(test_dynamic),      cmocka_unit_test(test_pools),
        cmocka_unit_test(test_pause),        cmocka_unit_test(test_ways_to_wait),
        cmocka_unit_test(test_nothing_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

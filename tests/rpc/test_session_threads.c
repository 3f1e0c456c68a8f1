/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one session: right results for each, whatever the others do; runs are served by priority. Argument: inproc
 * or process. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_link.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"
#include "rpc_kit.h"
#include "test_scale.h"

enum { THREADS = 6, RUNS = 60, CALLS = 5 };
#define LOST_NS (UINT64_C(20) * 1000000000) /* nothing takes so long that happens at all */

struct job {
    struct kit_client c; /* the session is shared, the buffer is not */
    uint32_t index;
    bool own_program;
    const char *failed;
};

#define TRY_JOB(expr)                \
    do {                             \
        if (!(expr)) {               \
            j->failed = #expr;       \
            return NULL;             \
        }                            \
    } while (0)

/* Half of the threads run the same program with buffers of their own; the others load and map all the time. */
static void *work(void *arg)
{
    struct job *j = arg;
    struct kit_client *c = &j->c;
    uint64_t bytes;
    int fd = kit_binary(&bytes);
    uint32_t shared_program = c->program, map;
    for (uint32_t i = 0; i < RUNS; i++) {
        struct rpc_load l = { .bytes = bytes };
        if (j->own_program) {
            TRY_JOB(kit_link->map(c->s, fd, 0, bytes, false, &l.map) == ST_OK);
            TRY_JOB(kit_link->load(c->s, &l) == ST_OK);
        }
        TRY_JOB(kit_link->map(c->s, rpc_fd(c->memory), 0, KIT_IO * KIT_BYTES, true, &map) == ST_OK);
        c->buffer = map;
        kit_io(c);
        kit_fill(c, i + j->index);
        struct cancel never = { .deadline_ns = 0 };
        struct rpc_run r = { .program = j->own_program ? l.program : shared_program,
                             .io = c->io,
                             .n_io = KIT_IO,
                             .priority = j->index,
                             .wait = { j->index % 3 * 40, j->index % 2 },
                             .cancel = i % 2 ? &never : NULL };
        TRY_JOB(kit_link->run(c->s, &r) == ST_OK);
        TRY_JOB(kit_right(c, i + j->index));
        TRY_JOB(kit_link->unmap(c->s, map) == ST_OK);
        if (j->own_program)
            TRY_JOB(kit_link->unload(c->s, l.program) == ST_OK && kit_link->unmap(c->s, l.map) == ST_OK);
    }
    return NULL;
}

static void test_many(void **state)
{
    (void)state;
    struct kit_client first;
    static struct job jobs[THREADS];
    pthread_t threads[THREADS];
    assert_int_equal(kit_open(&first), ST_OK);
    for (uint32_t i = 0; i < THREADS; i++) {
        void *p;
        assert_int_equal(rpc_alloc(KIT_IO * KIT_BYTES, &p), ST_OK);
        jobs[i] = (struct job){ .c = first, .index = i, .own_program = i % 2 };
        jobs[i].c.memory = p;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        rpc_free(jobs[i].c.memory);
        if (jobs[i].failed)
            fail_msg("thread %u: %s", i, jobs[i].failed);
    }
    kit_close(&first);
}

static void *abort_it(void *arg)
{
    struct cancel *cancel = arg;
    atomic_store(&cancel->abort, 1);
    return NULL;
}

/* Whenever the signal comes, the run ends well or says so, and the next one is right. */
static void test_abort_any_time(void **state)
{
    (void)state;
    struct kit_client c;
    assert_int_equal(kit_open(&c), ST_OK);
    for (uint32_t i = 0; i < 50; i++) {
        struct cancel cancel = { .deadline_ns = i % 2 ? clock_ns() + i * 2000 : 0 };
        struct rpc_run r = {
            .program = c.program, .io = c.io, .n_io = KIT_IO, .cancel = &cancel, .wait = { i % 4 * 30, false }
        };
        pthread_t t;
        pthread_create(&t, NULL, abort_it, &cancel);
        enum status st = kit_link->run(c.s, &r);
        assert_true(st == ST_OK || st == ST_ABORTED || st == ST_TIMED_OUT);
        pthread_join(t, NULL);
        kit_fill(&c, i);
        assert_int_equal(kit_run(&c, (struct rpc_wait){ 0 }), ST_OK);
        assert_true(kit_right(&c, i));
    }
    kit_close(&c);
}

/* ---- order: the worker by itself, with everything queued before it looks ---------------------------------------------- */

static struct rpc_reply ask(struct worker *w, struct rpc_request q, int fd)
{
    struct rpc_reply r;
    q.magic = RPC_MAGIC;
    worker_handle(w, &q, &fd, &r);
    assert_int_equal(r.status, ST_OK);
    return r;
}

static struct rpc_call *make_call(struct worker *w, uint32_t map, uint64_t bytes, uint32_t *ret_program)
{
    struct rpc_request load = { .type = RPC_LOAD }, area = { .type = RPC_AREA };
    load.load.map = map, load.load.bytes = bytes;
    struct rpc_reply r = ask(w, load, -1);
    int fd;
    void *at;
    area.area.program = *ret_program = r.load.program;
    area.area.bytes = rpc_area_bytes(r.load.n_io, r.load.max_marks);
    assert_int_equal(shared_create("area", area.area.bytes, &fd), ST_OK);
    assert_int_equal(shared_map(fd, 0, area.area.bytes, true, &at), ST_OK);
    ask(w, area, fd);
    close(fd);
    return at;
}

static void test_priorities(void **state)
{
    (void)state;
    static const uint32_t priority[CALLS] = { 5, 100, 5, 200, 100 }, order[CALLS] = { 3, 1, 4, 0, 2 };
    struct rpc_hello h = { .threads = 1 };
    struct rpc_request map = { .type = RPC_MAP };
    struct worker *w;
    struct runner *r;
    struct rpc_call *calls[CALLS];
    struct rpc_ring *ring = mem_alloc_aligned(64, sizeof(*ring));
    void *memory;
    int fd = kit_binary(&map.map.bytes);
    assert_int_equal(worker_create(&h, &w), ST_OK);
    struct rpc_reply binary = ask(w, map, fd);
    uint64_t bytes = map.map.bytes;
    assert_int_equal(rpc_alloc(KIT_IO * KIT_BYTES, &memory), ST_OK);
    map.map.bytes = KIT_IO * KIT_BYTES, map.map.writable = 1;
    struct rpc_reply buffer = ask(w, map, rpc_fd(memory));
    for (uint32_t i = 0; i < CALLS; i++) {
        uint32_t program;
        calls[i] = make_call(w, binary.map.id, bytes, &program);
        for (uint32_t k = 0; k < KIT_IO; k++)
            rpc_area_io(calls[i])[k] =
                (struct rpc_call_io){ .map = buffer.map.id, .offset = k * KIT_BYTES, .bytes = KIT_BYTES };
        calls[i]->n_io = KIT_IO, calls[i]->priority = priority[i], calls[i]->submit_ns = 1;
        atomic_store(&calls[i]->state, CALL_QUEUED);
        atomic_store(&ring->entries[i], program);
        atomic_store(&ring->tail, i + 1);
    }
    assert_int_equal(runner_start(w, 0, ring, &r), ST_OK);
    for (uint32_t i = 0; i < CALLS; i++) {
        for (uint32_t now; (now = atomic_load(&calls[i]->state)) != CALL_DONE;) {
            atomic_store(&calls[i]->client_sleeps, 1);
            shared_wait(&calls[i]->state, now, 1000000);
        }
        assert_int_equal(calls[i]->status, ST_OK);
    }
    for (uint32_t i = 1; i < CALLS; i++) /* submitted at the same time, so the queue time tells the order */
        assert_true(calls[order[i - 1]]->queue_ns < calls[order[i]]->queue_ns);
    runner_stop(r);
    worker_free(w);
    for (uint32_t i = 0; i < CALLS; i++)
        shared_unmap(calls[i], rpc_area_bytes(KIT_IO, 4));
    rpc_free(memory);
    mem_free(ring);
}

/* A session is told to stop at any moment, also when its thread has just seen that it need not and is about to sleep. */
static void test_stop_any_time(void **state)
{
    (void)state;
    enum { STOPS = 3000 };
    struct rpc_hello h = { .threads = 1 };
    struct worker *w;
    struct rpc_ring *ring = mem_alloc_aligned(64, sizeof(*ring));
    assert_int_equal(worker_create(&h, &w), ST_OK);
    for (uint32_t i = 0; i < STOPS; i++) {
        struct runner *r;
        atomic_store(&ring->stop, 0);
        assert_int_equal(runner_start(w, 0, ring, &r), ST_OK);
        for (uint32_t spin = i % 128 * 64; spin > 0; spin--) /* a thread takes some microseconds to start */
            __builtin_ia32_pause();
        runner_stop(r);
    }
    worker_free(w);
    mem_free(ring);
}

/* In the ring of a session in this process: a call of the program that was taken back, and much behind it that keeps the
 * session busy while it looks. */
static void leave_behind(struct kit_client *c)
{
    enum { MUCH = RPC_MAX_PROGRAMS - 2, NO_PROGRAM = 0 };
    struct rpc_ring *ring = &c->s->rings[0];
    struct link_program *p = link_program_find(c->s, c->program);
    while (atomic_load(&ring->head) != atomic_load(&ring->tail))
        sched_yield();
    uint32_t tail = atomic_load(&ring->tail);
    p->ring_at = tail;
    atomic_store(&ring->entries[tail++ % RPC_MAX_PROGRAMS], p->id);
    for (uint32_t i = 0; i < MUCH; i++)
        atomic_store(&ring->entries[tail++ % RPC_MAX_PROGRAMS], NO_PROGRAM);
    atomic_store(&ring->tail, tail);
    atomic_fetch_add(&ring->bell, 1);
    shared_wake(&ring->bell);
}

/* A call that was taken back may still stand in the ring when the program is run again. Either the session sees the second
 * call there, or the client sees that the session has been there; a run that both leave to the other would never begin. */
static void test_again_after_taken_back(void **state)
{
    (void)state;
    enum { ROUNDS = 2000 };
    struct kit_client c;
    assert_int_equal(kit_open(&c), ST_OK);
    for (uint32_t i = 0, n = test_scale(ROUNDS); i < n; i++) {
        struct cancel now = { .abort = 1 }, lost = { .deadline_ns = clock_ns() + LOST_NS };
        struct rpc_run r = { .program = c.program, .io = c.io, .n_io = KIT_IO, .cancel = &now };
        assert_int_equal(kit_link->run(c.s, &r), ST_ABORTED);
        if (kit_link == &rpc_link_inproc)
            leave_behind(&c);
        for (uint32_t spin = i % 256 * 4; spin > 0; spin--)
            __builtin_ia32_pause();
        r.cancel = &lost;
        r.wait.poll_us = i % 2 * 40;
        assert_int_equal(kit_link->run(c.s, &r), ST_OK);
    }
    kit_close(&c);
}

/* A program that has not run while others did so billions of times. */
static void test_after_many_runs(void **state)
{
    (void)state;
    struct kit_client c;
    struct cancel lost = { .deadline_ns = clock_ns() + LOST_NS };
    if (kit_link != &rpc_link_inproc)
        skip();
    assert_int_equal(kit_open(&c), ST_OK);
    struct rpc_run r = { .program = c.program, .io = c.io, .n_io = KIT_IO, .cancel = &lost };
    assert_int_equal(kit_link->run(c.s, &r), ST_OK);
    struct rpc_ring *ring = &c.s->rings[0];
    while (!atomic_load(&ring->session_sleeps)) /* it does not look while both change */
        sched_yield();
    atomic_fetch_add(&ring->head, UINT32_C(1) << 31);
    atomic_fetch_add(&ring->tail, UINT32_C(1) << 31);
    assert_int_equal(kit_link->run(c.s, &r), ST_OK);
    kit_close(&c);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_abort_any_time),
        cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_stop_any_time),
        cmocka_unit_test(test_again_after_taken_back),
        cmocka_unit_test(test_after_many_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that give way to others of higher priority, at known points, in this process and in one of its own. */
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "rpc/worker.h"
#include "stage.h"

static void test_gives_way(void **state)
{
    (void)state;
    for (uint32_t step = 1; step < STEPS; step++) {
        open_stage(yield_at(2, 1, 1, step));
        struct actor *low = enter(0, 50, own), *high = enter(1, 100, own);
        begin(low, CALL_RUNNING);
        run(high);
        end(low);
        assert_int_equal(low->run.yields.count, 1);
        assert_int_equal(low->run.yields.saved_bytes, KIT_BYTES); /* x + c, and nothing else of the window */
        assert_int_equal(high->run.yields.count, 0);
        const struct rpc_yields *y = &low->run.yields;
        assert_true(y->release_ns + y->wait_ns >= high->run.exec_ns &&
                    y->release_ns + y->wait_ns + y->restore_ns <= low->run.exec_ns);
        kit_fill(&low->c, low->seed);
        run(low); /* as ever */
        assert_int_equal(low->run.yields.count, 0);
        close_stage();
    }
}

/* Each one interrupts the one before, and they go on in the opposite order. */
static void test_three_deep(void **state)
{
    (void)state;
    open_stage(yield_at(4, 1, 3, 2));
    struct actor *a[ACTORS];
    for (uint32_t i = 0; i < ACTORS; i++)
        a[i] = enter(i, 100 * i, own);
    for (uint32_t i = 0; i + 1 < ACTORS; i++)
        begin(a[i], CALL_RUNNING);
    run(a[3]);
    for (uint32_t i = 3; i-- > 0;) {
        end(a[i]);
        assert_int_equal(a[i]->run.yields.count, 1);
        assert_int_equal(a[i]->run.yields.saved_bytes, KIT_BYTES);
    }
    close_stage();
}

/* The one that asks first has the priority of the one that runs: it waits, although a higher one gets through. */
static void test_equals_wait(void **state)
{
    (void)state;
    open_stage(yield_at(3, 1, 1, 1));
    struct actor *first = enter(0, 50, own), *equal = enter(1, 50, own), *high = enter(2, 51, own);
    share_results(equal, first);
    begin(first, CALL_RUNNING);
    begin(equal, CALL_QUEUED);
    run(high);
    pthread_join(first->thread, NULL);
    OK(first->st);
    assert_int_equal(first->run.yields.count, 1);
    end(equal);
    assert_int_equal(equal->run.yields.count, 0);
    close_stage();
}

/* Who computes in the same memory of the client cannot come between, however high. */
static void test_shared_memory_waits(void **state)
{
    (void)state;
    void *memory;
    uint32_t map[2];
    OK(rpc_alloc(4096, &memory));
    open_stage(yield_at(3, 3, 1, 1));
    for (int i = 0; i < 2; i++) /* twice the same */
        OK(kit_link->map(stage.s, rpc_fd(memory), 0, 4096, true, &map[i]));
    struct actor *low = enter(0, 50, (struct rpc_pool){ map[0], 0 }),
                 *shares = enter(1, 200, (struct rpc_pool){ map[1], 0 }), *high = enter(2, 100, own);
    share_results(shares, low);
    begin(low, CALL_RUNNING);
    begin(shares, CALL_QUEUED);
    run(high);
    pthread_join(low->thread, NULL);
    OK(low->st);
    end(shares);
    assert_int_equal(low->run.yields.count, 1);
    close_stage();
    OK(rpc_free(memory));
}

/* The client's buffer holds what was saved, and only that; two that wait at once do not use it both. */
static void test_backup_buffer(void **state)
{
    (void)state;
    enum { OFFSET = 4096, BYTES = OFFSET + WINDOW };
    void *memory;
    uint32_t map, small;
    OK(rpc_alloc(BYTES, &memory));
    const uint8_t *at = memory;
    memset(memory, 0xA5, BYTES);
    open_stage(yield_at(3, 6, 2, 1));
    struct actor *low = enter(0, 10, own), *middle = enter(1, 20, own), *high = enter(2, 30, own);
    OK(kit_link->map(stage.s, rpc_fd(memory), 0, BYTES, true, &map));
    OK(kit_link->map(stage.s, rpc_fd(memory), 0, WINDOW - 1, true, &small));
    assert_int_equal(kit_link->set_backup(stage.s, low->c.program, (struct rpc_pool){ small, 0 }), ST_INVALID_ARG);
    assert_non_null(strstr(kit_link->explain(), "VTCM backup memory of 1048576 bytes; the mapping has 1048575"));
    OK(kit_link->set_backup(stage.s, low->c.program, (struct rpc_pool){ map, OFFSET }));
    OK(kit_link->set_backup(stage.s, middle->c.program, (struct rpc_pool){ map, OFFSET }));
    begin(low, CALL_RUNNING);
    begin(middle, CALL_RUNNING);
    run(high);
    end(middle);
    end(low);
    const float *saved = (const float *)(at + BYTES - KIT_BYTES), *z = low->c.memory + 2 * KIT_N;
    for (uint32_t i = 0; i < KIT_N; i++)
        assert_true(saved[i] == z[i % KIT_COLUMNS * KIT_ROWS + i / KIT_COLUMNS]);
    for (uint32_t i = 0; i < BYTES - KIT_BYTES; i++)
        assert_int_equal(at[i], 0xA5);
    assert_int_equal(kit_link->unmap(stage.s, map), ST_IN_USE);
    OK(kit_link->set_backup(stage.s, low->c.program, own));
    OK(kit_link->unload(stage.s, middle->c.program));
    OK(kit_link->unmap(stage.s, map));
    close_stage();
    OK(rpc_free(memory));
}

/* A run that holds for somebody who never comes ends by its signal. */
static void test_abort_while_waiting(void **state)
{
    (void)state;
    open_stage(yield_at(1, 1, 1, 1));
    struct actor *low = enter(0, 0, own);
    begin(low, CALL_RUNNING);
    atomic_store(&low->cancel.abort, 1);
    pthread_join(low->thread, NULL);
    assert_int_equal(low->st, ST_ABORTED);
    assert_true(low->run.sleeps > 0 && low->run.polls == 0); /* it had to wait, and nobody asked it to spin */
    atomic_store(&low->cancel.abort, 0);
    run(low);
    close_stage();
}

/* The call that waits ends when the session does. */
static void test_death_while_waiting(void **state)
{
    (void)state;
    struct rpc_usage u;
    open_stage(yield_at(1, 1, 1, 1));
    struct actor *low = enter(0, 0, own);
    begin(low, CALL_RUNNING);
    kit_link->usage(stage.s, &u);
    if (u.pid)
        kill(u.pid, SIGKILL);
    else
        link_lost(stage.s, "the test says so");
    pthread_join(low->thread, NULL);
    assert_int_equal(low->st, ST_COMMUNICATION);
    close_stage();
}

/* Without faults: threads of two priorities, each checking its own results, until a lower one has given way. */
static _Atomic uint32_t gave_way;

static void *repeat(void *arg)
{
    struct actor *a = arg;
    for (uint32_t i = 0; (i < 200 || (!gave_way && i < 1000000)) && a->st == ST_OK; i++) {
        kit_fill(&a->c, a->seed = i);
        a->st = kit_link->run(a->c.s, &a->run);
        if (a->st == ST_OK && !kit_right(&a->c, a->seed))
            a->st = ST_INTERNAL;
        gave_way += a->run.yields.count;
    }
    return NULL;
}

static void test_crowd(void **state)
{
    (void)state;
    gave_way = 0;
    open_stage("");
    for (uint32_t i = 0; i < ACTORS; i++)
        enter(i, i / 2 * 100, own);
    for (uint32_t i = 0; i < ACTORS; i++)
        assert_int_equal(pthread_create(&actors[i].thread, NULL, repeat, &actors[i]), 0);
    for (uint32_t i = 0; i < ACTORS; i++) {
        pthread_join(actors[i].thread, NULL);
        OK(actors[i].st);
    }
    assert_true(gave_way > 0);
    close_stage();
}

/* A run that may not be interrupted is not disturbed either: it would have to call its threads together to look. Nobody
 * takes the calls here. */
static void test_equals_do_not_ring(void **state)
{
    (void)state;
    static const struct {
        uint32_t running, priority, rings;
    } cases[] = { { 100, 100, 0 }, { 100, 50, 0 }, { 100, 101, 1 }, { 0, 1, 1 } };
    if (kit_link != &rpc_link_inproc)
        skip(); /* the thread of another process cannot be stopped from here */
    open_stage("");
    struct rpc_ring *ring = stage.s->rings;
    runner_stop(stage.s->runners[0]);
    stage.s->runners[0] = NULL;
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct actor *a = enter(i, cases[i].priority, own);
        uint32_t bell = atomic_load(&ring->bell);
        atomic_store(&ring->running, cases[i].running);
        atomic_store(&ring->rang, 0);
        begin(a, CALL_QUEUED);
        while (atomic_load(&ring->bell) == bell)
            sched_yield();
        assert_int_equal(atomic_load(&ring->rang), cases[i].rings);
        atomic_store(&a->cancel.abort, 1);
        pthread_join(a->thread, NULL);
        assert_int_equal(a->st, ST_ABORTED);
    }
    close_stage();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_way),           cmocka_unit_test(test_three_deep),
        cmocka_unit_test(test_equals_wait),         cmocka_unit_test(test_shared_memory_waits),
        cmocka_unit_test(test_backup_buffer),       cmocka_unit_test(test_abort_while_waiting),
        cmocka_unit_test(test_death_while_waiting), cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_equals_do_not_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

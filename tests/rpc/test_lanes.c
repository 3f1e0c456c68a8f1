/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with several lanes: programs of different lanes run at the same time, unless they compute in the same memory. The
 * first program of the stage, which nobody runs, is in lane 0, so actors are in lanes 1, 0, 1, … of two. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

static void open_lanes(uint32_t lanes, const char *faults)
{
    kit_lanes = lanes;
    open_stage(faults);
    kit_lanes = 1;
}

/* One waits before a step for somebody of higher priority, who does not come before the other one is done: with one lane the
 * other one would wait for it. */
static void test_side_by_side(void **state)
{
    (void)state;
    for (uint32_t step = 1; step < STEPS; step++) {
        open_lanes(2, yield_at(3, 1, 1, step));
        struct actor *first = enter(0, 50, own), *other = enter(1, 50, own), *high = enter(2, 100, own);
        begin(first, CALL_RUNNING);
        run(other);
        assert_int_equal(atomic_load(&call_of(first)->state), CALL_RUNNING);
        assert_int_equal(other->run.yields.count, 0);
        run(high); /* in the lane of the first one, which gives way */
        end(first);
        assert_int_equal(first->run.yields.count, 1);
        assert_int_equal(first->run.yields.saved_bytes, KIT_BYTES);
        close_stage();
    }
}

/* Programs that compute in the same memory of the client run one after the other, also from different lanes. */
static void test_shared_memory(void **state)
{
    (void)state;
    void *memory;
    uint32_t map[2];
    OK(rpc_alloc(4096, &memory));
    open_lanes(2, yield_at(3, 3, 1, 1));
    for (int i = 0; i < 2; i++) /* twice the same */
        OK(kit_link->map(stage.s, rpc_fd(memory), 0, 4096, true, &map[i]));
    struct actor *first = enter(0, 50, (struct rpc_pool){ map[0], 0 }),
                 *shares = enter(1, 50, (struct rpc_pool){ map[1], 0 }), *high = enter(2, 100, own);
    struct rpc_ring *ring = &stage.s->rings[0]; /* of the second one */
    begin(first, CALL_RUNNING);
    begin(shares, CALL_QUEUED);
    for (uint32_t i = 0; i < 1000 || atomic_load(&ring->head) != atomic_load(&ring->tail); i++)
        sched_yield(); /* its lane has seen it, and could have begun */
    assert_int_equal(atomic_load(&call_of(shares)->state), CALL_QUEUED);
    run(high);
    end(first);
    end(shares);
    assert_true(shares->run.queue_ns + shares->run.worker_ns > first->run.yields.wait_ns); /* it was there all the time */
    close_stage();
    OK(rpc_free(memory));
}

/* The same program id in the ring of another lane is nobody's there. */
static void test_wrong_lane(void **state)
{
    (void)state;
    open_lanes(2, "");
    struct actor *a = enter(0, 50, own);
    struct rpc_ring *wrong = &stage.s->rings[0];
    uint32_t tail = atomic_load(&wrong->tail);
    struct rpc_call *call = call_of(a);
    atomic_store(&call->state, CALL_QUEUED);
    atomic_store(&wrong->entries[tail % RPC_MAX_PROGRAMS], a->c.program);
    atomic_store(&wrong->tail, tail + 1);
    atomic_fetch_add(&wrong->bell, 1);
    enter(1, 50, own);
    run(&actors[1]); /* in that lane, behind it */
    assert_int_equal(atomic_load(&call->state), CALL_QUEUED);
    atomic_store(&call->state, CALL_IDLE);
    run(a);
    close_stage();
}

static void *repeat(void *arg)
{
    struct actor *a = arg;
    for (uint32_t i = 0; i < 400 && a->st == ST_OK; i++) {
        kit_fill(&a->c, a->seed = i);
        a->st = kit_link->run(a->c.s, &a->run);
        if (a->st == ST_OK && !kit_right(&a->c, a->seed))
            a->st = ST_INTERNAL;
    }
    return NULL;
}

/* More actors than lanes, of two priorities, two of them in the same memory: each finds its own results. */
static void test_crowd(void **state)
{
    (void)state;
    static const uint32_t lanes[] = { 1, 2, 3, RPC_MAX_LANES };
    for (size_t k = 0; k < sizeof lanes / sizeof lanes[0]; k++) {
        void *memory;
        uint32_t map;
        OK(rpc_alloc(4096, &memory));
        open_lanes(lanes[k], "");
        OK(kit_link->map(stage.s, rpc_fd(memory), 0, 4096, true, &map));
        for (uint32_t i = 0; i < ACTORS; i++)
            enter(i, i / 2 * 100, i % 2 ? (struct rpc_pool){ map, 0 } : own);
        for (uint32_t i = 0; i < ACTORS; i++)
            assert_int_equal(pthread_create(&actors[i].thread, NULL, repeat, &actors[i]), 0);
        for (uint32_t i = 0; i < ACTORS; i++) {
            pthread_join(actors[i].thread, NULL);
            OK(actors[i].st);
        }
        close_stage();
        OK(rpc_free(memory));
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_wrong_lane),
        cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

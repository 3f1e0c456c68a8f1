/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand frames through libQnnLpai.so without one allocation. */
#include <stdlib.h>
#include <string.h>

#include "alloc_hook.h"
#include "stream_kit.h"

enum { FRAMES = 10000, KINDS = 50 };

static void test_frames(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t x[KIT_IN], y[64], want[KINDS][KIT_OUT];
    for (uint32_t i = 0; i < KINDS; i++)
        kit_expected(8, i, want[i]);
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    struct guarded s = guarded_new(l.scratch, true), other = guarded_new(l.scratch, false);
    OK(kit_pool(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    alloc_fail_at(UINT32_MAX); /* count */
    for (uint32_t i = 0; i < FRAMES; i++) {
        kit_fill(x, KIT_IN, i % KINDS);
        memset(y, 0, KIT_OUT);
        OK(kit_run(&l.net, x, y));
        assert_memory_equal(y, want[i % KINDS], KIT_OUT);
    }
    uint64_t made = alloc_count();
    alloc_fail_never();
    assert_int_equal(made, 0);
    /* Neither with inputs and outputs in scratch. */
    OK(kit_pool(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, other.data, l.scratch));
    alloc_fail_at(UINT32_MAX);
    for (uint32_t i = 0; i < 100; i++)
        OK(q.graphExecute(l.net.graph, NULL, 0, NULL, 0, NULL, NULL));
    made = alloc_count();
    alloc_fail_never();
    assert_int_equal(made, 0);
    kit_unload(&l);
    guarded_free(&s);
    guarded_free(&other);
    free(b.data);
}

/* Neither with state in persistent memory, in either library. */
static void test_state_frames(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t x[64], y[64];
    for (int lib = KIT_CPU; lib <= KIT_LPAI; lib++) {
        struct stream s;
        stream_open(&s, (enum kit_lib)lib, 8, true);
        alloc_fail_at(UINT32_MAX);
        for (uint32_t i = 0; i < 1000; i++) {
            kit_fill(x, STREAM_IN, i);
            OK(stream_run(&s, x, i % 100 == 0, y));
        }
        uint64_t made = alloc_count();
        alloc_fail_never();
        assert_int_equal(made, 0);
        stream_close(&s);
    }
    kit_use(KIT_LPAI);
}

/* Memory that the backend keeps for a graph does not grow with its tensors: all of those are the client's. The allocator may
 * give a block that is a little larger than what was asked for, depending on what was freed before. */
enum { ROUNDING = 512 };
static void test_nothing_kept(void **state)
{
    (void)state;
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    struct guarded s = guarded_new(l.scratch, true);
    int64_t before = alloc_live_bytes();
    OK(kit_pool(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    int64_t program = alloc_live_bytes() - before;
    kit_unload(&l);
    kit_load(&b, 8, &l);
    before = alloc_live_bytes();
    struct guarded larger = guarded_new(1 << 20, true);
    OK(kit_pool(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, larger.data, 1 << 20));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    int64_t again = alloc_live_bytes() - before;
    assert_in_range(again, program - ROUNDING, program + ROUNDING);
    kit_unload(&l);
    guarded_free(&s);
    guarded_free(&larger);
    free(b.data);
}

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_LPAI);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_frames), cmocka_unit_test(test_state_frames),
                                        cmocka_unit_test(test_nothing_kept) };
    return cmocka_run_group_tests(tests, setup, NULL);
}

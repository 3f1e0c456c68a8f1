/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of libQnnLpai.so in any order, from one thread and from four that share their objects: pools are set, replaced and
 * left out while graphs run, executions are paused, contexts are freed under them, binaries have bits flipped. Nothing is
 * expected of a single call but that it returns, and that a refusal is explained; a network with memory of its own computes
 * what it always did. The same seed gives the same calls:
 *
 *     test_random_lpai [CALLS [SEED]] */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lpai_kit.h"
#include "random_args.h"
#include "test_scale.h"

enum kind { BACKEND, CONTEXT, GRAPH, PROFILE, KINDS };
enum { SLOTS = 3, THREADS = 4, CALLS = 6000, POOL_BYTES = 1 << 17, BINARY_BYTES = 1 << 16, NETS = 4 };

static _Atomic(void *) slots[KINDS][SLOTS];
static unsigned calls = CALLS, first_seed = 1;
static struct kit_binary original;

struct player {
    struct dice dice;
    struct kit_net nets[NETS];
    _Alignas(64) uint8_t pools[2][POOL_BYTES], binary[BINARY_BYTES];
    unsigned serial, accepted, refused, silent;
};

static Qnn_ErrorHandle_t free_object(enum kind k, void *h)
{
    return k == BACKEND   ? q.backendFree(h)
           : k == CONTEXT ? q.contextFree(h, NULL)
           : k == PROFILE ? q.profileFree(h)
                          : QNN_SUCCESS;
}

static Qnn_ErrorHandle_t made(struct player *p, enum kind k, Qnn_ErrorHandle_t e, void *const *h)
{
    void *old = e == QNN_SUCCESS ? atomic_exchange(&slots[k][dice_draw(&p->dice, SLOTS)], *h) : NULL;
    if (old)
        free_object(k, old);
    return e;
}

static void *pick(struct player *p, enum kind k)
{
    static const uintptr_t odd[] = { 0, 1, 0xdeadbeef, UINTPTR_MAX };
    switch (dice_draw(&p->dice, 40)) {
    case 0: return (void *)odd[dice_draw(&p->dice, COUNT(odd))];
    case 1: return slots[dice_draw(&p->dice, KINDS)][0];
    default: return slots[k][dice_draw(&p->dice, SLOTS)];
    }
}

/* A graph of this thread most of the time. */
static void *pick_graph(struct player *p)
{
    return dice_one_in(&p->dice, 4) ? pick(p, GRAPH) : p->nets[dice_draw(&p->dice, NETS)].graph;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static Qnn_ErrorHandle_t call_create(struct player *p)
{
    static const uint32_t versions[] = { 0, 4,  5,
                                         6, 7,  QNN_LPAI_BACKEND_HW_VERSION_V5_1,
                                         1, 99, QNN_LPAI_BACKEND_HW_VERSION_UNKNOWN };
    static const int targets[] = { QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_TARGET_X86,
                                   QNN_LPAI_BACKEND_TARGET_ADSP, 77 };
    void *h = NULL;
    switch (dice_draw(&p->dice, 12)) { /* with a backend that falls out of its slot go its contexts */
    case 0:
        return made(p, BACKEND,
                    kit_backend(versions[dice_draw(&p->dice, COUNT(versions))],
                                (QnnLpaiBackend_Target_t)targets[dice_draw(&p->dice, COUNT(targets))], &h),
                    &h);
    case 1: return made(p, PROFILE, q.profileCreate(pick(p, BACKEND), (QnnProfile_Level_t)dice_draw(&p->dice, 4), &h), &h);
    default: return made(p, CONTEXT, q.contextCreate(pick(p, BACKEND), NULL, NULL, &h), &h);
    }
}

static Qnn_ErrorHandle_t call_free(struct player *p)
{
    enum kind k = (enum kind)dice_draw(&p->dice, KINDS);
    if (!dice_one_in(&p->dice, k == BACKEND ? 64 : k == CONTEXT ? 8 : 2))
        k = GRAPH; /* with these goes all that others need */
    return free_object(k, pick(p, k));
}

static Qnn_ErrorHandle_t call_net(struct player *p)
{
    struct kit_net *n = &p->nets[dice_draw(&p->dice, NETS)];
    Qnn_ErrorHandle_t e =
        kit_build(pick(p, CONTEXT), keep_name("net%u", p->serial++), dice_one_in(&p->dice, 2) ? 8 : 16, NULL, n);
    if (e == QNN_SUCCESS)
        made(p, GRAPH, e, &n->graph);
    return e == QNN_SUCCESS && !dice_one_in(&p->dice, 4) ? q.graphFinalize(n->graph, NULL, NULL) : e;
}

static Qnn_ErrorHandle_t call_pool(struct player *p)
{
    void *g = pick_graph(p);
    bool scratch = dice_one_in(&p->dice, 2);
    uint32_t size = POOL_BYTES, skip = dice_one_in(&p->dice, 8) ? dice_draw(&p->dice, 100) : 0;
    if (dice_one_in(&p->dice, 2))
        kit_property(g, scratch ? QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE : QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE,
                     &size);
    size = size > POOL_BYTES ? POOL_BYTES : dice_one_in(&p->dice, 8) ? dice_draw(&p->dice, size + 1) : size;
    QnnLpaiGraph_Mem_t m = { dice_one_in(&p->dice, 8) ? (QnnLpaiMem_MemType_t)dice_draw(&p->dice, 6) : QNN_LPAI_MEM_TYPE_DDR,
                             size > skip ? size - skip : 0, dice_one_in(&p->dice, 16) ? NULL : p->pools[scratch] + skip };
    return kit_config(g, scratch ? QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM : QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, &m);
}

static Qnn_ErrorHandle_t call_setting(struct player *p)
{
    static const uint32_t options[] = { QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION, QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION,
                                        QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT, 0, 9999 };
    QnnLpaiGraph_PerfCfg_t perf = { dice_draw(&p->dice, 100), dice_draw(&p->dice, 100),
                                    (QnnLpaiGraph_ClientPerfType_t)dice_draw(&p->dice, 4) };
    QnnLpaiGraph_CoreAffinity_t core = { (QnnLpaiGraph_CoreAffinityType_t)dice_draw(&p->dice, 4), dice_draw(&p->dice, 16) };
    uint32_t value = 0;
    switch (dice_draw(&p->dice, 4)) {
    case 0: return kit_config(pick_graph(p), QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, dice_one_in(&p->dice, 8) ? NULL : &perf);
    case 1: return kit_config(pick_graph(p), QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, dice_one_in(&p->dice, 8) ? NULL : &core);
    case 2:
        return kit_property(pick_graph(p),
                            dice_one_in(&p->dice, 2) ? QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE : dice_draw(&p->dice, 200),
                            &value);
    default:
        return kit_config(pick_graph(p), options[dice_draw(&p->dice, COUNT(options))],
                          dice_one_in(&p->dice, 2) ? NULL : p->dice.ground);
    }
}

static Qnn_ErrorHandle_t call_run(struct player *p)
{
    const struct kit_net *n = &p->nets[dice_draw(&p->dice, NETS)];
    if (dice_one_in(&p->dice, 6))
        return q.graphFinalize(pick_graph(p), dice_one_in(&p->dice, 2) ? NULL : pick(p, PROFILE), NULL);
    Qnn_Tensor_t x = tensor_data(n->x, p->dice.ground, dice_one_in(&p->dice, 16) ? dice_draw(&p->dice, 1000) : n->x_bytes);
    Qnn_Tensor_t y =
        tensor_data(n->y, p->dice.ground + 2048, dice_one_in(&p->dice, 16) ? dice_draw(&p->dice, 1000) : n->y_bytes);
    void *g = dice_one_in(&p->dice, 8) ? pick(p, GRAPH) : n->graph;
    if (dice_one_in(&p->dice, 8))
        return q.graphExecuteAsync(g, &x, 1, &y, 1, NULL, NULL, NULL, NULL);
    return q.graphExecute(g, &x, 1, &y, dice_one_in(&p->dice, 32) ? 0 : 1,
                          dice_one_in(&p->dice, 2) ? NULL : pick(p, PROFILE), NULL);
}

static Qnn_ErrorHandle_t call_binary(struct player *p)
{
    void *h = NULL;
    uint64_t n = original.size, written = 0;
    if (dice_one_in(&p->dice, 3)) {
        Qnn_ErrorHandle_t e = q.contextGetBinarySize(pick(p, CONTEXT), &n);
        return e != QNN_SUCCESS
                   ? e
                   : q.contextGetBinary(pick(p, CONTEXT), p->binary, dice_draw(&p->dice, BINARY_BYTES), &written);
    }
    memcpy(p->binary, original.data, n);
    if (dice_one_in(&p->dice, 3))
        p->binary[dice_draw(&p->dice, (uint32_t)n)] ^= (uint8_t)(1u << dice_draw(&p->dice, 8));
    n = dice_one_in(&p->dice, 16) ? dice_draw(&p->dice, (uint32_t)n) : n;
    Qnn_ErrorHandle_t e =
        made(p, CONTEXT, q.contextCreateFromBinary(pick(p, BACKEND), NULL, NULL, p->binary, n, &h, NULL), &h);
    return e != QNN_SUCCESS ? e : made(p, GRAPH, q.graphRetrieve(pick(p, CONTEXT), "net", &h), &h);
}

static const struct {
    unsigned share;
    Qnn_ErrorHandle_t (*make)(struct player *p);
} choices[] = { { 1, call_create },  { 1, call_free }, { 4, call_net },   { 6, call_pool },
                { 3, call_setting }, { 8, call_run },  { 2, call_binary } };

static void *play(void *arg)
{
    struct player *p = arg;
    unsigned all = 0;
    for (unsigned i = 0; i < COUNT(choices); i++)
        all += choices[i].share;
    for (unsigned i = 0; i < calls; i++) {
        uint32_t at = dice_draw(&p->dice, all), k = 0;
        for (; at >= choices[k].share; k++)
            at -= choices[k].share;
        Qnn_ErrorHandle_t e = choices[k].make(p);
        *(e == QNN_SUCCESS ? &p->accepted : &p->refused) += 1;
        if (e != QNN_SUCCESS && !explain(e)[0])
            p->silent = CODE(e);
    }
    return NULL;
}

/* ---- before and after ------------------------------------------------------------------------------------------------- */

/* A network of its own among all that. */
static void play_around(unsigned n)
{
    uint8_t want[KIT_OUT];
    _Alignas(64) uint8_t x[KIT_IN], y[64];
    struct kit_loaded mine;
    pthread_t t[THREADS];
    kit_expected(8, 5, want);
    kit_load(&original, 8, &mine);
    struct guarded scratch = guarded_new(mine.scratch, true), persistent = guarded_new(mine.persistent + 64, false);
    OK(kit_pool(mine.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch.data, mine.scratch));
    OK(kit_pool(mine.net.graph, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, persistent.data, mine.persistent));
    OK(q.graphFinalize(mine.net.graph, NULL, NULL));
    for (unsigned i = 0; i < SLOTS; i++) {
        void *backend = NULL, *context = NULL;
        OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &backend));
        OK(q.contextCreate(backend, NULL, NULL, &context));
        slots[BACKEND][i] = backend;
        slots[CONTEXT][i] = context;
    }
    struct player *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
    assert_non_null(p);
    memset(p, 0, n * sizeof *p);
    hush(true);
    for (unsigned i = 0; i < n; i++) {
        p[i].dice.state = first_seed * 1000003ull + i;
        p[i].serial = i << 20;
        for (unsigned k = 0; k < NETS; k++)
            p[i].nets[k] = (struct kit_net){ NULL, mine.net.x, mine.net.y, mine.net.x_bytes, mine.net.y_bytes };
        assert_int_equal(pthread_create(&t[i], NULL, play, &p[i]), 0);
    }
    unsigned accepted = 0, refused = 0, silent = 0;
    for (unsigned i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
        accepted += p[i].accepted, refused += p[i].refused, silent = p[i].silent ? p[i].silent : silent;
    }
    for (unsigned k = KINDS; k-- > 0;)
        for (unsigned i = 0; i < SLOTS; i++)
            free_object((enum kind)k, atomic_exchange(&slots[k][i], NULL));
    hush(false);
    print_message("%u threads: %u calls accepted, %u refused\n", n, accepted, refused);
    assert_int_equal(silent, 0);
    assert_true(accepted > refused / 20); /* else the calls say nothing */
    kit_fill(x, sizeof x, 5);
    OK(kit_run(&mine.net, x, y));
    assert_memory_equal(y, want, sizeof want);
    kit_unload(&mine);
    guarded_free(&scratch);
    guarded_free(&persistent);
    free(p);
}

static void test_one_thread(void **state)
{
    (void)state;
    play_around(1);
}

static void test_four_threads(void **state)
{
    (void)state;
    play_around(THREADS);
}

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_LPAI);
    original = kit_binary(8, 0);
    return original.size <= BINARY_BYTES ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(original.data);
    return 0;
}

int main(int argc, char **argv)
{
    calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : test_scale(CALLS);
    first_seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_thread), cmocka_unit_test(test_four_threads) };
    return cmocka_run_group_tests(tests, setup, teardown);
}

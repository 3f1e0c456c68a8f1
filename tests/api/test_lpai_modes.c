/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnLpai.so as inside the ADSP: TCM and island mode, pause and resume, and the time budget in profiles. */
#include "lpai_kit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SCRATCH QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM
#define PERSISTENT QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM
#define BAD QNN_GRAPH_ERROR_INVALID_ARGUMENT
enum { PAGE = 4096 };
enum { TCM_BYTES = 2035712, TCM_BUFFERS = 32, MORE = 4096 };

static _Alignas(64) uint8_t x[KIT_IN], y[128];

/* ---- a context on the ADSP -------------------------------------------------------------------------------------------- */

struct adsp {
    struct kit_binary b;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct kit_net net;
    uint32_t scratch;
    uint8_t *memory; /* more than scratch needs */
};

/* `island`: NULL none, "*" the whole context, else a graph. */
static Qnn_ErrorHandle_t adsp_context(struct adsp *a, QnnLpaiMem_MemType_t model, const char *island)
{
    QnnLpaiContext_CustomConfig_t type = { QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE, &model },
                                  isl = { QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND,
                                          island && *island != '*' ? (void *)(uintptr_t)island : NULL };
    QnnContext_Config_t keep = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 },
                        of_type = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &type },
                        of_island = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &isl };
    const QnnContext_Config_t *list[] = { &keep, &of_type, island ? &of_island : NULL, NULL };
    return q.contextCreateFromBinary(a->backend, NULL, list, a->b.data, a->b.size, &a->context, NULL);
}

static struct adsp adsp_open(QnnLpaiMem_MemType_t model, const char *island)
{
    struct adsp a = { .b = kit_binary(8, QNN_LPAI_BACKEND_HW_VERSION_V6) };
    struct kit_loaded l; /* for the tensors */
    kit_load(&a.b, 8, &l);
    a.net = l.net;
    a.scratch = l.scratch;
    kit_unload(&l);
    OK(kit_backend(QNN_LPAI_BACKEND_HW_VERSION_V6, QNN_LPAI_BACKEND_TARGET_ADSP, &a.backend));
    OK(adsp_context(&a, model, island));
    OK(q.graphRetrieve(a.context, "net", &a.net.graph));
    a.memory = aligned_alloc(64, a.scratch + MORE);
    return a;
}

static void adsp_close(struct adsp *a)
{
    OK(q.contextFree(a->context, NULL));
    OK(q.backendFree(a->backend));
    free(a->memory);
    free(a->b.data);
}

static Qnn_ErrorHandle_t give(const struct adsp *a, QnnLpaiMem_MemType_t type, uint32_t size)
{
    QnnLpaiGraph_Mem_t m = { type, size, a->memory };
    return kit_config(a->net.graph, SCRATCH, &m);
}

/* The ADSP uses the client's binary in place. One that is taken away is an error, not a signal. */
static void test_binary_in_place(void **state)
{
    (void)state;
    struct adsp a = adsp_open(QNN_LPAI_MEM_TYPE_DDR, NULL);
    size_t bytes = (a.b.size + 2 * PAGE - 1) / PAGE * PAGE;
    uint8_t *own = a.b.data;
    uint8_t want[KIT_OUT];
    kit_expected(8, 11, want);
    kit_fill(x, KIT_IN, 11);

    for (int finalized = 0; finalized < 2; finalized++) {
        uint8_t *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(pages != MAP_FAILED);
        OK(q.contextFree(a.context, NULL));

        memcpy(pages + 1, own, a.b.size);
        a.b.data = pages + 1;
        setenv("OPENQNN_STRICT", "1", 1);
        FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "multiple of 64", adsp_context(&a, QNN_LPAI_MEM_TYPE_DDR, NULL));
        unsetenv("OPENQNN_STRICT");
        OK(adsp_context(&a, QNN_LPAI_MEM_TYPE_DDR, NULL));
        OK(q.contextFree(a.context, NULL));

        memcpy(pages, own, a.b.size);
        a.b.data = pages;
        OK(adsp_context(&a, QNN_LPAI_MEM_TYPE_DDR, NULL));
        OK(q.graphRetrieve(a.context, "net", &a.net.graph));
        OK(give(&a, QNN_LPAI_MEM_TYPE_DDR, a.scratch));
        if (finalized) {
            OK(q.graphFinalize(a.net.graph, NULL, NULL));
            OK(kit_run(&a.net, x, y));
            assert_memory_equal(y, want, KIT_OUT);
        }

        /* A page without rights takes its place, so that no other mapping gets these addresses. */
        assert_true(mmap(pages, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == pages);
        if (finalized)
            FAILS_SAYING(BAD, "context binary", kit_run(&a.net, x, y));
        else
            FAILS_SAYING(BAD, "context binary", q.graphFinalize(a.net.graph, NULL, NULL));
        munmap(pages, bytes);
        if (finalized)
            FAILS_SAYING(BAD, "context binary", kit_run(&a.net, x, y));
    }
    a.b.data = own;
    adsp_close(&a);
}

/* ---- TCM and island --------------------------------------------------------------------------------------------------- */

static void test_tcm_pools(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT];
    struct adsp a = adsp_open(QNN_LPAI_MEM_TYPE_TCM, NULL);
    OK(give(&a, QNN_LPAI_MEM_TYPE_TCM, a.scratch));
    OK(q.graphFinalize(a.net.graph, NULL, NULL));
    kit_expected(8, 3, want);
    kit_fill(x, KIT_IN, 3);
    OK(kit_run(&a.net, x, y));
    assert_memory_equal(y, want, KIT_OUT);
    OK(give(&a, QNN_LPAI_MEM_TYPE_DDR, a.scratch)); /* between executions, of another kind */
    OK(kit_run(&a.net, x, y));
    adsp_close(&a);
}

/* All of TCM together has 2,035,712 bytes. */
static void test_tcm_full(void **state)
{
    (void)state;
    struct adsp a = adsp_open(QNN_LPAI_MEM_TYPE_TCM, NULL), b = adsp_open(QNN_LPAI_MEM_TYPE_DDR, NULL);
    uint32_t room = (uint32_t)(TCM_BYTES - a.b.size) / 64 * 64;
    uint8_t *large = aligned_alloc(64, TCM_BYTES);
    QnnLpaiGraph_Mem_t all = { QNN_LPAI_MEM_TYPE_TCM, room, large }, too_much = { QNN_LPAI_MEM_TYPE_TCM, room + 64, large };
    OK(kit_config(a.net.graph, SCRATCH, &too_much));
    FAILS_SAYING(BAD, "2035712", q.graphFinalize(a.net.graph, NULL, NULL));
    OK(kit_config(a.net.graph, SCRATCH, &all));
    OK(q.graphFinalize(a.net.graph, NULL, NULL));
    FAILS_SAYING(BAD, "2035712", kit_config(a.net.graph, SCRATCH, &too_much));
    OK(kit_run(&a.net, x, y));
    struct adsp same = adsp_open(QNN_LPAI_MEM_TYPE_DDR, NULL); /* what two graphs share is there once */
    OK(kit_config(same.net.graph, SCRATCH, &all));
    OK(q.graphFinalize(same.net.graph, NULL, NULL));
    OK(kit_run(&same.net, x, y));
    adsp_close(&same);
    OK(give(&b, QNN_LPAI_MEM_TYPE_TCM, b.scratch));
    FAILS_SAYING(BAD, "TCM", q.graphFinalize(b.net.graph, NULL, NULL));
    OK(give(&b, QNN_LPAI_MEM_TYPE_DDR, b.scratch));
    OK(q.graphFinalize(b.net.graph, NULL, NULL));
    adsp_close(&a); /* its share comes back */
    OK(give(&b, QNN_LPAI_MEM_TYPE_TCM, b.scratch));
    OK(kit_run(&b.net, x, y));
    adsp_close(&b);
    free(large);
}

/* 32 buffers; the 33rd is refused, and those that are there go on working. */
static void test_tcm_buffers(void **state)
{
    (void)state;
    struct adsp a = adsp_open(QNN_LPAI_MEM_TYPE_TCM, NULL);
    Qnn_ContextHandle_t first = a.context, more[TCM_BUFFERS];
    for (int i = 1; i < TCM_BUFFERS; i++) {
        OK(adsp_context(&a, QNN_LPAI_MEM_TYPE_TCM, NULL));
        more[i] = a.context;
    }
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "32 buffers", adsp_context(&a, QNN_LPAI_MEM_TYPE_TCM, NULL));
    OK(give(&a, QNN_LPAI_MEM_TYPE_TCM, a.scratch));
    FAILS_SAYING(BAD, "32 buffers", q.graphFinalize(a.net.graph, NULL, NULL));
    OK(q.contextFree(more[1], NULL));
    OK(q.graphFinalize(a.net.graph, NULL, NULL));
    OK(kit_run(&a.net, x, y));
    for (int i = 2; i < TCM_BUFFERS; i++)
        OK(q.contextFree(more[i], NULL));
    a.context = first;
    adsp_close(&a);
}

static void test_tcm_elsewhere(void **state)
{
    (void)state;
    static const QnnLpaiBackend_Target_t targets[] = { QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_TARGET_ARM };
    struct adsp a = { .b = kit_binary(8, QNN_LPAI_BACKEND_HW_VERSION_V6) };
    for (unsigned i = 0; i < COUNT(targets); i++) {
        Qnn_GraphHandle_t g;
        OK(kit_backend(QNN_LPAI_BACKEND_HW_VERSION_V6, targets[i], &a.backend));
        FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "only the ADSP", adsp_context(&a, QNN_LPAI_MEM_TYPE_TCM, NULL));
        FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "PSRAM", adsp_context(&a, QNN_LPAI_MEM_TYPE_PSRAM, NULL));
        FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "LLC", adsp_context(&a, QNN_LPAI_MEM_TYPE_LLC, NULL));
        OK(adsp_context(&a, QNN_LPAI_MEM_TYPE_DDR, NULL));
        OK(q.graphRetrieve(a.context, "net", &g));
        uint32_t size = kit_size(g, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
        void *p = aligned_alloc(64, size);
        QnnLpaiGraph_Mem_t m = { QNN_LPAI_MEM_TYPE_TCM, size, p };
        FAILS_SAYING(BAD, "only the ADSP", kit_config(g, SCRATCH, &m));
        OK(q.contextFree(a.context, NULL));
        OK(q.backendFree(a.backend));
        free(p);
    }
    free(a.b.data);
}

/* Nothing of a graph in island mode is in DDR. */
static void test_island(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT];
    static const char *const who[] = { "*", "net" };
    kit_expected(8, 5, want);
    for (unsigned i = 0; i < COUNT(who); i++) {
        struct adsp a = adsp_open(QNN_LPAI_MEM_TYPE_TCM, who[i]);
        FAILS_SAYING(BAD, "must be in TCM", give(&a, QNN_LPAI_MEM_TYPE_DDR, a.scratch));
        OK(give(&a, QNN_LPAI_MEM_TYPE_TCM, a.scratch + MORE));
        OK(q.graphFinalize(a.net.graph, NULL, NULL));
        kit_fill(x, KIT_IN, 5);
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "island", kit_run(&a.net, x, y));
        uint8_t *in = a.memory + a.scratch, *out = in + 1024; /* what the pool has beyond the graph's need */
        memcpy(in, x, KIT_IN);
        OK(kit_run(&a.net, in, out));
        assert_memory_equal(out, want, KIT_OUT);
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "\"net_y\"", kit_run(&a.net, in, y));
        adsp_close(&a);
    }
    struct adsp other = adsp_open(QNN_LPAI_MEM_TYPE_DDR, NULL), ddr = adsp_open(QNN_LPAI_MEM_TYPE_DDR, "net");
    OK(give(&ddr, QNN_LPAI_MEM_TYPE_TCM, ddr.scratch));
    FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, "MODEL_BUFFER_MEM_TYPE", q.graphFinalize(ddr.net.graph, NULL, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "empty name", adsp_context(&other, QNN_LPAI_MEM_TYPE_DDR, ""));
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "names graph \"nte\"; the context binary has \"net\"",
                 adsp_context(&other, QNN_LPAI_MEM_TYPE_DDR, "nte"));
    OK(q.graphRetrieve(ddr.context, "net", &ddr.net.graph));
    adsp_close(&other);
    adsp_close(&ddr);
}

/* ---- pause and resume ------------------------------------------------------------------------------------------------- */

enum { BATCH = 400 };
static _Alignas(64) uint8_t many_x[BATCH * KIT_IN], many_y[BATCH * KIT_OUT], other_y[BATCH * KIT_OUT];

struct worker {
    _Atomic bool started;
    const struct kit_net *net;
    Qnn_ErrorHandle_t result;
    uint8_t produced;
};

static Qnn_ErrorHandle_t run_batch(const struct kit_net *n, uint8_t *to, uint8_t *produced)
{
    Qnn_Tensor_t in = tensor_data(tensor_shaped(n->x, 4, (uint32_t[]){ BATCH, 8, 8, 4 }), many_x, sizeof many_x),
                 out = tensor_data(tensor_shaped(n->y, 2, (uint32_t[]){ BATCH, KIT_OUT }), to, sizeof many_y);
    out.version = QNN_TENSOR_VERSION_2; /* the first version is its beginning */
    out.v2.isDynamicDimensions = NULL;
    out.v2.isProduced = 7;
    Qnn_ErrorHandle_t e = q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL);
    *produced = out.v2.isProduced;
    return e;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    atomic_store(&w->started, true);
    w->result = run_batch(w->net, many_y, &w->produced);
    return NULL;
}

/* Stopped between two slices of the batch: nothing is in scratch, so it may lie elsewhere, but the batch still goes on where
 * it stopped. */
static void finish_between(const struct kit_loaded *l, void *scratch)
{
    uint8_t produced = 0;
    OK(kit_pool(l->net.graph, SCRATCH, scratch, l->scratch));
    OK(kit_config(l->net.graph, QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION, NULL));
    OK(run_batch(&l->net, many_y, &produced));
    assert_int_equal(produced, 1);
}

/* Stops an execution in another thread until one is caught in the middle; false: it was over each time. */
static bool pause_halfway(const struct kit_loaded *l, void *scratch, void *elsewhere)
{
    for (int attempt = 0; attempt < 200; attempt++) {
        struct worker w = { .net = &l->net };
        pthread_t t;
        memset(many_y, 0, sizeof many_y);
        assert_int_equal(pthread_create(&t, NULL, run_worker, &w), 0);
        while (!atomic_load(&w.started))
            sched_yield();
        for (volatile int k = 0; k < attempt * 100; k++)
            ; /* a little longer each time */
        OK(kit_config(l->net.graph, QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION, NULL));
        pthread_join(t, NULL);
        if (CODE(w.result) == QNN_GRAPH_ERROR_ABORTED) {
            assert_int_equal(w.produced, 0);
            if (CODE(kit_pool(l->net.graph, SCRATCH, elsewhere, l->scratch)) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED)
                return true;
            finish_between(l, scratch);
        } else {
            OK(w.result);
            assert_int_equal(w.produced, 1);
            OK(kit_config(l->net.graph, QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION, NULL));
        }
    }
    return false;
}

static void test_pause(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT], produced = 0;
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l, shares;
    kit_load(&b, 8, &l);
    kit_load(&b, 8, &shares);
    void *scratch = aligned_alloc(64, l.scratch), *other = aligned_alloc(64, l.scratch);
    OK(kit_pool(l.net.graph, SCRATCH, scratch, l.scratch));
    OK(kit_pool(shares.net.graph, SCRATCH, scratch, l.scratch));
    OK(kit_config(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT, NULL));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    OK(q.graphFinalize(shares.net.graph, NULL, NULL));
    for (uint32_t i = 0; i < BATCH; i++)
        kit_fill(many_x + i * KIT_IN, KIT_IN, i);
    /* Before anything began: nothing is halfway, and the scratch is free for others. */
    OK(kit_config(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION, NULL));
    FAILS_SAYING(QNN_GRAPH_ERROR_ABORTED, "step 0", run_batch(&l.net, many_y, &produced));
    OK(kit_run(&shares.net, x, y));
    OK(kit_config(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION, NULL));
    if (!pause_halfway(&l, scratch, other)) {
        print_message("SKIP: no execution was caught in the middle\n");
        OK(run_batch(&l.net, many_y, &produced));
    } else {
        FAILS(QNN_GRAPH_ERROR_ABORTED, run_batch(&l.net, many_y, &produced)); /* still paused */
        FAILS_SAYING(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, "same scratch", kit_run(&shares.net, x, y));
        OK(kit_config(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION, NULL));
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "same tensors", run_batch(&l.net, other_y, &produced));
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "same tensors", kit_run(&l.net, x, y));
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "same tensors", kit_run(&l.net, many_x, many_y)); /* of one slice */
        OK(run_batch(&l.net, many_y, &produced)); /* goes on where it stopped */
    }
    for (uint32_t i = 0; i < BATCH; i += 37) {
        kit_expected(8, i, want);
        assert_memory_equal(many_y + i * KIT_OUT, want, KIT_OUT);
    }
    OK(kit_run(&shares.net, x, y));
    OK(kit_pool(l.net.graph, SCRATCH, other, l.scratch));
    OK(run_batch(&l.net, other_y, &produced));
    assert_int_equal(produced, 1);
    assert_memory_equal(other_y, many_y, sizeof many_y);
    kit_unload(&l);
    kit_unload(&shares);
    free(scratch);
    free(other);
    free(b.data);
}

static void test_pause_refused(void **state)
{
    (void)state;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t c;
    struct kit_net n;
    QnnLpaiGraph_CustomConfig_t pause = { QNN_LPAI_GRAPH_SET_CFG_PAUSE_EXECUTION, NULL },
                                resume = { QNN_LPAI_GRAPH_SET_CFG_RESUME_EXECUTION, NULL };
    QnnGraph_Config_t a = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &pause },
                      b = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &resume };
    const QnnGraph_Config_t *both[] = { &a, &b, NULL };
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(kit_build(c, "net", 8, NULL, &n));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, "PAUSE_EXECUTION", kit_config(n.graph, pause.option, NULL));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(kit_config(n.graph, pause.option, NULL)); /* before it has its memory, too */
    FAILS_SAYING(BAD, "alone", q.graphSetConfig(n.graph, both));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(backend));
}

/* ---- the time budget -------------------------------------------------------------------------------------------------- */

static const QnnProfile_EventData_t *find_event(Qnn_ProfileHandle_t p, const char *begin)
{
    uint32_t n;
    const struct event *e = profile_events(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (e[i].depth == 1 && strncmp(e[i].data.identifier, begin, strlen(begin)) == 0)
            return &e[i].data;
    return NULL;
}

static void test_budget(void **state)
{
    (void)state;
    static const struct {
        uint32_t fps, ratio, us;
        const char *words;
    } cases[] = {
        { 1, 10, 1000000, "(1 fps, 1.0 x real time, real time)" },
        { 50, 20, 10000, "(50 fps, 2.0 x real time, real time)" },
        { 30, 15, 22222, "(30 fps, 1.5 x real time, real time)" },
        { 100, 1, 100000, "(100 fps, 0.1 x real time, real time)" },
        { 100000, 100000, 0, "(100000 fps, 10000.0 x real time, real time)" },
    };
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    void *scratch = aligned_alloc(64, l.scratch);
    OK(kit_pool(l.net.graph, SCRATCH, scratch, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    for (unsigned i = 0; i < COUNT(cases); i++) {
        QnnLpaiGraph_PerfCfg_t perf = { cases[i].fps, cases[i].ratio, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME };
        Qnn_ProfileHandle_t p;
        Qnn_Tensor_t in = tensor_data(l.net.x, x, KIT_IN), out = tensor_data(l.net.y, y, KIT_OUT);
        OK(kit_config(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &perf));
        OK(q.profileCreate(l.backend, QNN_PROFILE_LEVEL_BASIC, &p));
        OK(q.graphExecute(l.net.graph, &in, 1, &out, 1, p, NULL));
        const QnnProfile_EventData_t *e = find_event(p, "Time budget per inference");
        assert_non_null(e);
        assert_int_equal(e->value, cases[i].us);
        assert_int_equal(e->unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
        assert_non_null(strstr(e->identifier, cases[i].words));
        assert_non_null(find_event(p, "Time budget used on this host (percent, measured)"));
        OK(q.profileFree(p));
    }
    kit_unload(&l);
    free(scratch);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary_in_place), cmocka_unit_test(test_tcm_pools),     cmocka_unit_test(test_tcm_full),
        cmocka_unit_test(test_tcm_buffers),     cmocka_unit_test(test_tcm_elsewhere), cmocka_unit_test(test_island),
        cmocka_unit_test(test_pause),           cmocka_unit_test(test_pause_refused), cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}

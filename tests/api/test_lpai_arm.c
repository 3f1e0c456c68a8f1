/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnLpai.so on the ARM target: graphs run in a session, another process. The state is the client's persistent memory all
 * the same, shared pools are used in place, a session that dies is an error to recover from, and without one graphs run
 * here. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream_kit.h"

#define LOST QNN_COMMON_ERROR_SYSTEM_COMMUNICATION
enum { FRAMES = 12, POISON = 0xA5, SEED = 11 };

static _Alignas(64) uint8_t x[64], y[64];
static uint8_t want[FRAMES][STREAM_OUT];

/* The first child, 0: there is none. */
static int child(unsigned *ret_n)
{
    int pid, first = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    for (*ret_n = 0; fscanf(f, "%d", &pid) == 1; ++*ret_n)
        first = first ? first : pid;
    fclose(f);
    return first;
}

static unsigned children(void)
{
    unsigned n;
    child(&n);
    return n;
}

static Qnn_ErrorHandle_t frame(const struct stream *s, int t)
{
    kit_fill(x, STREAM_IN, (uint32_t)t * 2654435761u + 1);
    return stream_run(s, x, false, y);
}

static void frame_is_right(const struct stream *s, int t)
{
    OK(frame(s, t));
    assert_memory_equal(y, want[t], STREAM_OUT);
}

static void test_session(void **state)
{
    (void)state;
    struct stream s, other;
    assert_int_equal(children(), 0);
    stream_open(&s, KIT_LPAI, 8, true);
    assert_int_equal(children(), 1);
    stream_open(&other, KIT_LPAI, 8, false); /* one session for both */
    assert_int_equal(children(), 1);
    for (int t = 0; t < FRAMES; t++) {
        frame_is_right(&s, t);
        frame_is_right(&other, t);
    }
    stream_close(&s);
    assert_int_equal(children(), 1);
    stream_close(&other);
    assert_int_equal(children(), 0);
}

/* The state can be saved and put back, because it is in the client's memory and nowhere else. */
static void test_save_state(void **state)
{
    (void)state;
    struct stream s;
    uint8_t saved[4096];
    stream_open(&s, KIT_LPAI, 8, true);
    assert_true(s.persistent.bytes && s.persistent.bytes <= sizeof saved);
    for (int t = 0; t < FRAMES / 2; t++)
        frame_is_right(&s, t);
    memcpy(saved, s.persistent.data, s.persistent.bytes);
    for (int again = 0; again < 2; again++) {
        memcpy(s.persistent.data, saved, s.persistent.bytes);
        for (int t = FRAMES / 2; t < FRAMES; t++)
            frame_is_right(&s, t);
    }
    stream_close(&s);
}

/* ---- shared pools ----------------------------------------------------------------------------------------------------- */

struct shared {
    int fd;
    uint8_t *map, *data;
};

static struct shared shared_new(size_t offset)
{
    struct shared m = { .fd = memfd_create("pool", MFD_CLOEXEC) };
    assert_int_equal(ftruncate(m.fd, 65536), 0);
    m.map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
    assert_ptr_not_equal(m.map, MAP_FAILED);
    memset(m.map, POISON, 65536);
    m.data = m.map + offset;
    return m;
}

static void shared_free(struct shared *m)
{
    munmap(m->map, 65536);
    close(m->fd);
}

static bool all_poison(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != POISON)
            return false;
    return true;
}

/* A pool is part of a larger buffer; the session computes in that part and touches nothing else. */
static void test_shared_pools(void **state)
{
    (void)state;
    struct stream s, t;
    struct shared scratch = shared_new(4096 + 192), other = shared_new(64), persistent = shared_new(8192 + 64);
    stream_open(&t, KIT_LPAI, 8, true);
    struct kit_binary b = kit_save(t.context);
    size_t need = t.scratch.bytes, keep = t.persistent.bytes;
    s = t;
    OK(q.contextCreateFromBinary(s.backend, NULL, NULL, b.data, b.size, &s.context, NULL));
    OK(q.graphRetrieve(s.context, "stream", &s.graph));
    OK(kit_pool(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch.data, (uint32_t)need));
    OK(kit_pool(s.graph, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, persistent.data, (uint32_t)keep));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    for (int i = 0; i < FRAMES; i++) {
        struct shared *now = i % 4 < 2 ? &scratch : &other;
        OK(kit_pool(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, now->data, (uint32_t)need));
        memset(now->data, POISON, need);
        frame_is_right(&s, i);
        assert_false(all_poison(now->data, need)); /* computed right there */
        if (i == FRAMES / 2) /* and back from ordinary memory */
            OK(kit_pool(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, t.scratch.data, (uint32_t)need));
    }
    const struct shared *all[] = { &scratch, &other, &persistent };
    for (int i = 0; i < 3; i++) {
        size_t before = (size_t)(all[i]->data - all[i]->map), size = i == 2 ? keep : need;
        assert_true(all_poison(all[i]->map, before));
        assert_true(all_poison(all[i]->data + size, 65536 - before - size));
    }
    memset(persistent.data, 0, keep);
    frame_is_right(&s, 0);
    OK(q.contextFree(s.context, NULL));
    stream_close(&t);
    free(b.data);
    shared_free(&scratch);
    shared_free(&other);
    shared_free(&persistent);
}

/* ---- registered memory ------------------------------------------------------------------------------------------------ */

static Qnn_MemHandle_t register_part(Qnn_ContextHandle_t c, int fd, uint32_t offset, const Qnn_Tensor_t *t)
{
    QnnLpaiMem_MemInfoCustom_t part = { fd, offset };
    Qnn_MemDescriptor_t d = { .memShape = { TV(*t).rank, TV(*t).dimensions, NULL },
                              .dataType = TV(*t).dataType,
                              .memType = QNN_MEM_TYPE_CUSTOM };
    Qnn_MemHandle_t m;
    d.customInfo = &part;
    OK(q.memRegister(c, &d, 1, &m));
    return m;
}

static Qnn_Tensor_t in_memory(Qnn_Tensor_t t, Qnn_MemHandle_t m)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = m;
    return t;
}

/* How often the session has a file of this name mapped; -1: it does not let us look. */
static int mapped_in_session(const char *name)
{
    char path[64], line[512];
    unsigned n;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", child(&n));
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    bool any = false;
    for (; fgets(line, sizeof line, f); any = true)
        found += strstr(line, name) != NULL;
    fclose(f);
    return any ? found : -1;
}

/* Registered before there is a session and after: tensors are read and written where they are. */
static void test_registered(void **state)
{
    (void)state;
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    uint8_t right[64];
    kit_expected(8, SEED, right);
    kit_load(&b, 8, &l);
    int fd = memfd_create("lpai-io", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 3 * 4096), 0);
    uint8_t *file = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    Qnn_MemHandle_t mx = register_part(l.context, fd, 4096 + 64, &l.net.x);
    struct guarded m = guarded_new(l.scratch, true);
    OK(kit_pool(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, m.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    Qnn_MemHandle_t my = register_part(l.context, fd, 8192, &l.net.y);
    int there = mapped_in_session("lpai-io");
    if (there < 0)
        print_message("SKIP: the mappings of the session cannot be read\n");
    else
        assert_int_equal(there, 2);
    memset(file, POISON, 3 * 4096);
    kit_fill(file + 4096 + 64, KIT_IN, SEED);
    Qnn_Tensor_t in = in_memory(l.net.x, mx), out = in_memory(l.net.y, my);
    for (int i = 0; i < 3; i++) {
        memset(file + 8192, 0, KIT_OUT);
        OK(q.graphExecute(l.net.graph, &in, 1, &out, 1, NULL, NULL));
        assert_memory_equal(file + 8192, right, KIT_OUT);
        assert_true(all_poison(file, 4096 + 64) && all_poison(file + 8192 + KIT_OUT, 4096 - KIT_OUT));
    }
    OK(q.memDeRegister(&my, 1));
    assert_true(there < 0 || mapped_in_session("lpai-io") == 1);
    Qnn_Tensor_t plain = tensor_data(l.net.y, y, KIT_OUT);
    OK(q.graphExecute(l.net.graph, &in, 1, &plain, 1, NULL, NULL));
    assert_memory_equal(y, right, KIT_OUT);
    kit_unload(&l);
    guarded_free(&m);
    munmap(file, 3 * 4096);
    close(fd);
    free(b.data);
}

/* 0 would be the process group of this test. */
static int hit_child(int signal)
{
    unsigned n;
    pid_t pid = child(&n);
    siginfo_t info;

    if (pid <= 0 || kill(pid, signal) != 0)
        return -1;
    /* The signal comes when it comes: the session might still answer. */
    return signal == SIGSTOP ? waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL) : 0;
}

/* ---- when it dies ----------------------------------------------------------------------------------------------------- */

/* SIGKILL, or SIGSTOP: then it is killed because it is silent. */
static void lose_session(int signal)
{
    struct stream s, fresh;
    uint8_t before[4096];
    setenv("OPENQNN_SESSION_TIMEOUT", "1000", 1);
    stream_open(&s, KIT_LPAI, 8, true);
    unsetenv("OPENQNN_SESSION_TIMEOUT");
    frame_is_right(&s, 0);
    memcpy(before, s.persistent.data, s.persistent.bytes);
    assert_int_equal(hit_child(signal), 0);
    FAILS_SAYING(LOST, "create them again", frame(&s, 1));
    FAILS(LOST, frame(&s, 1));
    FAILS(LOST, kit_pool(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, s.scratch.data, (uint32_t)s.scratch.bytes));
    assert_memory_equal(before, s.persistent.data,
                        s.persistent.bytes); /* the state is that of the last frame that was done */
    stream_open(&fresh, KIT_LPAI, 8, false); /* beside the dead one */
    frame_is_right(&fresh, 0);
    memcpy(fresh.persistent.data, before, s.persistent.bytes);
    frame_is_right(&fresh, 1);
    stream_close(&s);
    frame_is_right(&fresh, 2);
    stream_close(&fresh);
    assert_int_equal(children(), 0);
}

static void test_killed(void **state)
{
    (void)state;
    lose_session(SIGKILL);
}

static void test_stopped(void **state)
{
    (void)state;
    lose_session(SIGSTOP);
}

struct runner {
    const struct stream *s;
    _Atomic int done;
    Qnn_ErrorHandle_t ended;
};

static void *run_until_lost(void *arg)
{
    struct runner *r = arg;
    for (int t = 0; r->ended == QNN_SUCCESS; t++) {
        Qnn_Tensor_t in[2] = { tensor_data(r->s->x, x, STREAM_IN), r->s->reset }, out = tensor_data(r->s->y, y, STREAM_OUT);
        static _Alignas(64) uint8_t reset[64] = { 1 };
        in[1] = tensor_data(in[1], reset, 1);
        r->ended = q.graphExecute(r->s->graph, in, 2, &out, 1, NULL, NULL);
        atomic_store(&r->done, t + 1);
    }
    return NULL;
}

/* While a thread executes one frame after another. */
static void test_killed_while_running(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct stream s;
        pthread_t thread;
        stream_open(&s, KIT_LPAI, 8, true);
        struct runner r = { .s = &s };
        assert_int_equal(pthread_create(&thread, NULL, run_until_lost, &r), 0);
        while (atomic_load(&r.done) < 1 + round * 7)
            ;
        assert_int_equal(hit_child(SIGKILL), 0);
        pthread_join(thread, NULL);
        assert_int_equal(CODE(r.ended), LOST);
        stream_close(&s);
        assert_int_equal(children(), 0);
    }
}

/* Every message once. */
static void test_faults(void **state)
{
    (void)state;
    struct kit_binary b = kit_binary(8, 0);
    uint8_t right[64];
    int lost = 0;
    kit_expected(8, SEED, right);
    hush(true);
    for (int n = 1; n < 20; n++) {
        struct kit_loaded l;
        struct guarded m;
        char fault[64];
        kit_load(&b, 8, &l);
        m = guarded_new(l.scratch, true);
        OK(kit_pool(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, m.data, l.scratch));
        snprintf(fault, sizeof fault, n % 2 ? "kill@%d" : "truncate@%d", n);
        setenv("OPENQNN_FAULT", fault, 1);
        Qnn_ErrorHandle_t e = q.graphFinalize(l.net.graph, NULL, NULL);
        static _Alignas(64) uint8_t in[KIT_IN];
        kit_fill(in, KIT_IN, SEED);
        for (int k = 0; k < 3 && e == QNN_SUCCESS; k++) {
            e = kit_run(&l.net, in, y);
            if (e == QNN_SUCCESS)
                assert_memory_equal(y, right, KIT_OUT);
        }
        if (e != QNN_SUCCESS) {
            assert_int_equal(CODE(e), LOST);
            lost++;
        }
        kit_unload(&l);
        guarded_free(&m);
    }
    unsetenv("OPENQNN_FAULT");
    hush(false);
    assert_in_range(lost, 6, 18);
    assert_int_equal(children(), 0);
    free(b.data);
}

/* ---- without one ------------------------------------------------------------------------------------------------------ */

static void test_without_session(void **state)
{
    (void)state;
    static const char *const variables[][2] = { { "OPENQNN_SESSION", "inproc" }, { "OPENQNN_FAULT", "refuse_open@1" } };
    for (int i = 0; i < 2; i++) {
        struct stream s;
        setenv(variables[i][0], variables[i][1], 1);
        stream_open(&s, KIT_LPAI, 8, true);
        assert_int_equal(children(), 0);
        for (int t = 0; t < FRAMES; t++)
            frame_is_right(&s, t);
        stream_close(&s);
        unsetenv(variables[i][0]);
    }
}

static int setup(void **state)
{
    (void)state;
    struct stream s;
    setenv("LPAI_TEST_TARGET", "arm", 1);
    stream_open(&s, KIT_CPU, 8, true);
    for (int t = 0; t < FRAMES; t++) {
        OK(frame(&s, t));
        memcpy(want[t], y, STREAM_OUT);
    }
    stream_close(&s);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),    cmocka_unit_test(test_save_state), cmocka_unit_test(test_shared_pools),
        cmocka_unit_test(test_registered), cmocka_unit_test(test_killed),     cmocka_unit_test(test_killed_while_running),
        cmocka_unit_test(test_stopped),    cmocka_unit_test(test_faults),     cmocka_unit_test(test_without_session),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the CPU backend from a graph in text to results: prepare, load, run, batches, profiles, signals, memory of
 * the client, and executions from several threads at once. */
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

#include "backend_net.h"
#include "base/thread.h"

enum { N = 8 * 512, THREADS = 3 };

static const char text[] = "graph \"net\" {\n"
                           "  in %x : f32[8,512]\n"
                           "  in %w : f32[8,512]\n"
                           "  out %y : f32[8,512]\n"
                           "  tmp %t : f32[8,512]\n"
                           "  %t = ElementWiseAdd \"add\" (%x, %w)\n"
                           "  %y = Relu \"relu\" (%t)\n"
                           "}\n";

static void fill(float *x, float *w, int count, int seed)
{
    for (int i = 0; i < count; i++) {
        x[i] = (float)((i + seed) % 13) - 6;
        w[i] = (float)((i + seed) % 5) - 2;
    }
}

static bool right(const float *x, const float *w, const float *y, int count)
{
    for (int i = 0; i < count; i++) {
        float t = x[i] + w[i];
        if (y[i] != (t > 0 ? t : 0))
            return false;
    }
    return true;
}

static void test_run_and_batch(void **state)
{
    (void)state;
    static float x[3 * N], w[3 * N], y[3 * N];
    struct net n;
    make(&n, text, THREADS);
    struct backend_io io[3] = { { .data = x }, { .data = w }, { .data = y } };
    for (uint32_t batch = 1; batch <= 3; batch++) {
        struct backend_run r = { .io = io, .batch = batch };
        fill(x, w, (int)batch * N, (int)batch);
        memset(y, 0xff, sizeof(y));
        check(backend_this->run(n.graph, &r));
        assert_true(right(x, w, y, (int)batch * N));
    }
    unmake(&n);
}

/* Tiles of several threads under a condition that the graph itself computes; the branch that is not asked for may not end
 * the run early. */
static void test_branches(void **state)
{
    (void)state;
    static const char branches[] =
        "graph \"net\" {\n"
        "  graph \"neg\" { in %i : f32[8,65536] out %o : f32[8,65536] %o = ElementWiseNeg \"neg\" (%i) }\n"
        "  graph \"window\" { in %i : f32[8,65536] tmp %w : f32[16,65536] tmp %s : f32[8,65536] out %o : f32[8,65536]\n"
        "    %w = Buffer \"frames\" (%i) { buffer_size=u32(16), buffer_dim=u32(0), stride=u32(8) }\n"
        "    %s = StridedSlice \"oldest\" (%w) { ranges=i32[2,3](0,8,1,0,65536,1) }\n"
        "    %o = Relu \"relu\" (%s) }\n"
        "  in %x : f32[8,65536]\n"
        "  in %a : f32[1]\n"
        "  in %b : f32[1]\n"
        "  tmp %c : b8[1]\n"
        "  out %y : f32[8,65536]\n"
        "  %c = ElementWiseGreater \"greater\" (%a, %b)\n"
        "  %y = If \"if\" (%c, %x, %x) { then_graph=\"neg\", else_graph=\"window\" }\n"
        "}\n";
    enum { M = 8 * 65536 };
    static float x[M], y[M];
    float a, b = 0.5f;
    uint8_t produced;
    struct net n;
    make(&n, branches, THREADS);
    struct backend_io io[4] = { { .data = x }, { .data = &a }, { .data = &b }, { .data = y, .produced = &produced } };
    struct backend_run r = { .io = io, .batch = 1 };
    float before = 0; /* first value of the frame that the window saw last; 0: none yet */
    for (int round = 1; round < 12; round++) {
        a = round % 3 == 0;
        for (int i = 0; i < M; i++)
            x[i] = (float)(round + i % 100);
        enum status st = backend_this->run(n.graph, &r);
        bool early = a == 0 && before == 0;
        assert_int_equal(st, early ? ST_ENDED_EARLY : ST_OK);
        assert_int_equal(produced, !early);
        for (int i = 0; i < M && !early; i++)
            assert_true(y[i] == (a > b ? -x[i] : before + (float)(i % 100)));
        before = a > b ? before : (float)round;
    }
    unmake(&n);
}

/* A batch says that outputs are missing when they are in any of its slices, also when the last one has them. */
static void test_batch_that_ends_early(void **state)
{
    (void)state;
    enum { FRAME = 8, FRAMES = 3, BATCH = 4 };
    struct net n;
    float x[BATCH * FRAME], y[BATCH * FRAMES * FRAME];
    make(&n,
         "graph \"g\" { in %x : f32[1,8] tmp %b : f32[3,8] out %y : f32[3,8]\n"
         "%b = Buffer \"b\" (%x) { buffer_size=u32(3), buffer_dim=u32(0), mode=u32(0) } %y = Relu \"y\" (%b) }",
         THREADS);
    for (int i = 0; i < BATCH * FRAME; i++)
        x[i] = (float)(i / FRAME + 1);
    struct backend_io io[2] = { { .data = x }, { .data = y } };
    struct backend_run r = { .io = io, .batch = BATCH };
    assert_int_equal(backend_this->run(n.graph, &r), ST_ENDED_EARLY);
    for (int slice = FRAMES - 1; slice < BATCH; slice++)
        for (int i = 0; i < FRAMES * FRAME; i++)
            assert_true(y[slice * FRAMES * FRAME + i] == (float)(slice + 2 - FRAMES + i / FRAME));
    r.batch = 2;
    check(backend_this->run(n.graph, &r));
    unmake(&n);
}

static void test_profile(void **state)
{
    (void)state;
    static float x[N], w[N], y[N];
    static const uint32_t levels[] = { PROF_BASIC, PROF_DETAILED };
    struct net n;
    make(&n, text, THREADS);
    for (int i = 0; i < 2; i++) {
        struct prof *p;
        uint32_t ids[16], nodes = 0;
        check(prof_create(levels[i], &p));
        struct backend_io io[3] = { { .data = x }, { .data = w }, { .data = y } };
        int32_t top = prof_add(p, PROF_ROOT, PROF_EXECUTE, PROF_UNIT_US, 0, "execute");
        struct backend_run r = { .io = io, .batch = 1, .prof = p, .prof_parent = top };
        check(backend_this->run(n.graph, &r));
        uint32_t count = prof_children(p, top, ids, 16);
        assert_true(count >= 1 && count <= 16);
        for (uint32_t k = 0; k < count; k++) {
            nodes += prof_at(p, ids[k])->type == PROF_NODE;
            assert_int_equal(prof_at(p, ids[k])->unit, PROF_UNIT_US);
        }
        assert_int_equal(nodes, levels[i] == PROF_DETAILED ? n.b.graphs[0].n_nodes : 0);
        prof_free(p);
    }
    unmake(&n);
}

static void test_signal(void **state)
{
    (void)state;
    static float x[N], w[N], y[N];
    struct net n;
    make(&n, text, THREADS);
    struct backend_io io[3] = { { .data = x }, { .data = w }, { .data = y } };
    struct cancel c = { .abort = 1 };
    struct backend_run r = { .io = io, .batch = 1, .cancel = &c };
    assert_int_equal(backend_this->run(n.graph, &r), ST_ABORTED);
    c = (struct cancel){ .deadline_ns = 1 };
    assert_int_equal(backend_this->run(n.graph, &r), ST_TIMED_OUT);
    r.cancel = NULL;
    check(backend_this->run(n.graph, &r));
    unmake(&n);
}

/* What the graphs of a context share in the run queue, as in src/api/queue.c. */
struct device {
    struct sched_group group;
    struct sched_unit team;
};

struct client {
    struct device *device;
    struct backend_graph *graph;
    struct sched_needs *needs; /* of the graph */
    int seed;
    bool ok;
};

static struct sched_needs needs_of(struct device *device, const struct backend_graph *graph)
{
    struct backend_needs wanted = backend_this->needs(graph);
    struct sched_needs needs = { 0 };

    sched_set_needs(&needs, wanted.device ? &device->team : NULL, wanted.threads, wanted.preemptible);
    return needs;
}

static enum status run_in_turn(struct client *c, struct backend_run *r)
{
    struct sched_turn turn = { .group = &c->device->group, .needs = c->needs, .cancel = r->cancel, .level = 2 };
    enum status st = sched_enter(&turn);
    if (st != ST_OK)
        return st;

    r->turn = &turn;
    st = backend_this->run(c->graph, r);
    sched_leave(&turn);
    return st;
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    float *x = malloc(3 * N * sizeof(float)), *w = x + N, *y = w + N;
    struct backend_io io[3] = { { .data = x }, { .data = w }, { .data = y } };
    struct cancel cancel = { .abort = 0 };
    struct backend_run r = { .io = io, .batch = 1, .cancel = c->seed % 2 ? &cancel : NULL };
    c->ok = x != NULL;
    for (int i = 0; c->ok && i < 100; i++) {
        fill(x, w, N, c->seed + i);
        c->ok = run_in_turn(c, &r) == ST_OK && right(x, w, y, N);
    }
    free(x);
    return NULL;
}

/* Graphs of one context take turns; even the same graph. */
static void test_many_threads(void **state)
{
    (void)state;
    enum { CLIENTS = 6 };
    struct net n;
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    struct backend_graph *second;
    struct device device = { 0 };
    make(&n, text, THREADS);
    check(backend_this->load(n.context, &n.b, 0, &second));
    struct sched_needs first_needs = needs_of(&device, n.graph);
    struct sched_needs second_needs = needs_of(&device, second);
    for (int i = 0; i < CLIENTS; i++) {
        bool is_first = i % 3 != 0;
        clients[i] = (struct client){ .device = &device,
                                      .graph = is_first ? n.graph : second,
                                      .needs = is_first ? &first_needs : &second_needs,
                                      .seed = i };
        check(thread_start(&threads[i], "client", run_client, &clients[i]));
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(clients[i].ok);
    }
    backend_this->unload(second);
    unmake(&n);
}

static void test_memory(void **state)
{
    (void)state;
    struct net n;
    void *at;
    make(&n, text, THREADS);
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 10000), 0);
    check(backend_this->mem_map(n.context, fd, 4100, 5900, &at));
    memset(at, 0x5a, 5900);
    uint8_t seen = 0;
    assert_int_equal(pread(fd, &seen, 1, 4100), 1);
    assert_int_equal(seen, 0x5a);
    backend_this->mem_unmap(n.context, at, 5900);
    assert_int_equal(backend_this->mem_map(n.context, fd, 4100, 5901, &at), ST_MAPPING);
    assert_int_equal(backend_this->mem_map(n.context, fd, UINT64_MAX, 1, &at), ST_MAPPING);
    assert_int_equal(backend_this->mem_map(n.context, fd, 0, 0, &at), ST_MAPPING);
    assert_int_equal(backend_this->mem_map(n.context, -1, 0, 1, &at), ST_MAPPING);
    close(fd);
    unmake(&n);
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(backend_this->id, 3);
    assert_true(backend_capable(backend_this, 202));
    assert_false(backend_capable(backend_this, 1501));
    assert_true(backend_has_op(backend_this, OP_ElementWiseAdd));
    struct tensor_desc d = { .type = DT_F32, .rank = 1, .dims = { 4 } }, s = { .type = DT_F32, .rank = 1, .dims = { 4 } };
    const struct tensor_desc *in[1] = { &d }, *out[1] = { &s };
    struct op_call c = { .op = op_find("Relu"), .n_in = 1, .n_out = 1, .in = in, .out = out, .post = { -1e30f, 1e30f } };
    check(backend_supports(backend_this, &c));
    struct binary_target foreign = { .backend_id = 6 };
    struct binary b = { .target = foreign, .n_graphs = 1 };
    struct backend_context *cx;
    struct backend_graph *g;
    check(backend_this->open(NULL, &cx));
    assert_int_equal(backend_this->load(cx, &b, 0, &g), ST_BINARY_CONFIG);
    backend_this->close(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_and_batch), cmocka_unit_test(test_profile),
        cmocka_unit_test(test_signal),        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_table),
        cmocka_unit_test(test_branches),      cmocka_unit_test(test_batch_that_ends_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

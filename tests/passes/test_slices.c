/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose slices are computed side by side: the same bits as one slice after the other on one thread, whatever is left
 * over, and in turn wherever a slice may see what another one did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"
#include "backend_net.h"
#include "base/clock.h"
#include "test_scale.h"

enum { N = 96 * 96, BATCH = 9, ROUNDS = 20, LATE = 200 };

static const char products[] = "graph \"net\" {\n"
                               "  in %x : f32[96,96] in %w : f32[96,96] out %y : f32[96,96]\n"
                               "  tmp %a : f32[96,96] tmp %b : f32[96,96]\n"
                               "  %a = MatMul \"a\" (%x, %w)\n"
                               "  %b = Tanh \"b\" (%a)\n"
                               "  %y = MatMul \"y\" (%b, %x)\n"
                               "}\n";

static const char remembers[] =
    "graph \"net\" {\n"
    "  in %x : f32[96,96] in %w : f32[96,96] out %y : f32[384,96]\n"
    "  tmp %a : f32[96,96]\n"
    "  %a = MatMul \"a\" (%x, %w)\n"
    "  %y = Buffer \"y\" (%a) { buffer_size=u32(384), buffer_dim=u32(0), stride=u32(96), mode=u32(0) }\n"
    "}\n";

static void fill(float *x, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)((i * 7 + seed) % 23) - 11) / 64;
}

static enum status run(const struct net *n, float *x, float *w, float *y, uint32_t batch, struct cancel *cancel)
{
    uint8_t produced = 0;
    struct backend_io io[3] = { { .data = x }, { .data = w }, { .data = y, .produced = &produced } };
    struct backend_run r = { .io = io, .batch = batch, .cancel = cancel };
    enum status st = backend_this->run(n->graph, &r);
    assert_true(produced == (st == ST_OK) || st == ST_TIMED_OUT);
    return st;
}

static float x[BATCH * N], w[BATCH * N], want[(BATCH + 1) * N], got[(BATCH + 1) * N];

static void test_the_same_bits(void **state)
{
    (void)state;
    struct net one, many;
    make(&one, products, 1);
    for (uint32_t threads = 2; threads <= 4; threads++) {
        make(&many, products, threads);
        for (uint32_t i = 0, batch = 1; i < test_scale(ROUNDS); i++, batch = batch % BATCH + 1) {
            bool loaded = many.graph->slices.programs, enough = batch >= threads;
            fill(x, BATCH * N, i);
            fill(w, BATCH * N, i + 3);
            memset(want, 0xff, sizeof(want));
            memset(got, 0xff, sizeof(got));
            for (uint32_t k = 0; k < batch; k++)
                check(run(&one, x + k * N, w + k * N, want + k * N, 1, NULL));
            check(run(&many, x, w, got, batch, NULL));
            assert_memory_equal(got, want, sizeof(got)); /* and nothing behind the last slice */
            assert_int_equal(many.graph->slices.programs != NULL, loaded || enough);
        }
        unmake(&many);
    }
    unmake(&one);
}

/* Each slice reads what the one before it wrote. */
static void test_buffers_over_each_other(void **state)
{
    (void)state;
    struct net one, many;
    make(&one, products, 1);
    make(&many, products, 2);
    for (uint32_t i = 0; i < test_scale(ROUNDS); i++) {
        fill(w, BATCH * N, i);
        fill(want, (BATCH + 1) * N, i + 1);
        memcpy(got, want, sizeof(got));
        for (uint32_t k = 0; k < BATCH; k++)
            check(run(&one, want + k * N, w + k * N, want + (k + 1) * N, 1, NULL));
        check(run(&many, got, w, got + N, BATCH, NULL));
        assert_memory_equal(got, want, sizeof(got));
    }
    unmake(&many);
    unmake(&one);
}

static void test_signals(void **state)
{
    (void)state;
    struct net n;
    struct cancel abort = { .abort = 1 }, late = { .deadline_ns = 1 }, never = { .abort = 0 };
    make(&n, products, 2);
    assert_int_equal(run(&n, x, w, got, BATCH, &abort), ST_ABORTED);
    assert_non_null(strstr(status_text(), "aborted by its signal"));
    assert_int_equal(run(&n, x, w, got, BATCH, &late), ST_TIMED_OUT);
    for (uint32_t i = 0; i < test_scale(LATE); i++) { /* somewhere on the way, or not at all */
        late.deadline_ns = clock_ns() + i % 100 * 10000;
        enum status st = run(&n, x, w, got, BATCH, &late);
        assert_true(st == ST_TIMED_OUT || st == ST_OK);
    }
    check(run(&n, x, w, got, BATCH, &never));
    unmake(&n);
}

static void test_graphs_that_remember(void **state)
{
    (void)state;
    static float y[BATCH * 4 * N];
    struct net n;
    make(&n, remembers, 2);
    assert_false(n.graph->slices.allowed);
    assert_int_equal(run(&n, x, w, y, 2, NULL), ST_ENDED_EARLY);
    assert_null(n.graph->slices.programs);
    unmake(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_same_bits), cmocka_unit_test(test_buffers_over_each_other),
                                        cmocka_unit_test(test_signals), cmocka_unit_test(test_graphs_that_remember) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

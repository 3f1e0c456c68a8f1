/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of latencies against sorted lists of the same times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "throughput_net_run/throughput.h"

enum { N = 5000 };

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Times from one nanosecond to hours. */
static void test_percentiles(void **state)
{
    static uint64_t times[N];
    static const double parts[] = { 0, 0.01, 0.5, 0.9, 0.99, 0.999 };
    uint64_t random = 12345, sum = 0;
    (void)state;
    for (unsigned bits = 1; bits <= 44; bits++) {
        struct latency l = { 0 };
        sum = 0;
        for (int i = 0; i < N; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            times[i] = 1 + (random >> (64 - bits));
            sum += times[i];
            latency_add(&l, times[i]);
        }
        qsort(times, N, sizeof(times[0]), ascending);
        assert_true(l.n == N && l.sum_ns == sum && l.min_ns == times[0] && l.max_ns == times[N - 1]);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            double want = (double)times[(size_t)(parts[i] * N)] / 1e3, got = latency_us(&l, parts[i]);
            assert_true(got > want * 0.96 && got < want * 1.04);
        }
        assert_true(latency_us(&l, 1) == (double)l.max_ns / 1e3);
    }
}

static void test_edges(void **state)
{
    struct latency none = { 0 }, one = { 0 }, all = { 0 };
    (void)state;
    assert_true(latency_us(&none, 0.5) == 0);
    latency_add(&one, 777777);
    for (double part = 0; part <= 1; part += 0.25)
        assert_true(latency_us(&one, part) == 777.777);
    latency_add(&all, 0);
    latency_add(&all, UINT64_MAX); /* the last counter */
    assert_true(all.counters[LATENCY_COUNTERS - 1] == 1 && all.min_ns == 0 && all.max_ns == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_percentiles), cmocka_unit_test(test_edges) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every scenario again with its first, second, third … allocation failing: an error comes back, nothing leaks, nothing
 * crashes. */
#include "test_scale.h"
#include "alloc_hook.h"
#include "api_cycle.h"
#include "api_test.h"

enum { ALL_BELOW = 700, SAMPLES = 500 };

/* Returns the bytes that are left. */
static int64_t run_failing(const struct scenario *s, uint64_t n, Qnn_ErrorHandle_t *ret)
{
    int64_t before = alloc_live_bytes();
    hush(true);
    alloc_fail_at(n);
    *ret = s->run();
    alloc_fail_never();
    hush(false);
    return alloc_live_bytes() - before;
}

/* The last allocation that fails is followed by a good run: the libraries are none the worse. */
static void run_with_failures(const struct scenario *s)
{
    for (int i = 0; i < 3; i++) /* thread stacks, lists that grow: what is allocated once */
        OK(s->run());
    alloc_fail_at(UINT64_MAX >> 1);
    OK(s->run());
    uint64_t total = alloc_count();
    alloc_fail_never();
    uint64_t step = total > ALL_BELOW ? total / test_scale(SAMPLES) + 1 : 1;
    unsigned runs = 0, survived = 0;
    for (uint64_t n = 0; n < total; n += step, runs++) {
        Qnn_ErrorHandle_t e = 0;
        int64_t left = run_failing(s, n, &e);
        if (left > 0) /* each library makes room for explanations with the first failure of a thread in it; what leaks does
                         so again */
            left = run_failing(s, n, &e);
        if (left > 0)
            fail_msg("%s: allocation %llu of %llu failed, result %u; %lld bytes are left, each time", s->name,
                     (unsigned long long)n, (unsigned long long)total, CODE(e), (long long)left);
        if (CODE(e) == WRONG_RESULT || CODE(e) == MUST_FAIL)
            fail_msg("%s: allocation %llu failed and the result is wrong (%u)", s->name, (unsigned long long)n, CODE(e));
        survived += alloc_failed() && e == QNN_SUCCESS; /* something that can do without */
    }
    OK(s->run());
    print_message("%s: %llu allocations, %u of them failed in turn, %u runs succeeded all the same\n", s->name,
                  (unsigned long long)total, runs, survived);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_scenarios; i++)
        run_with_failures(&scenarios[i]);
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    hush(true);
    q.backendCreate(NULL, NULL, NULL); /* the first failure of a thread makes its room for explanations, which stays */
    hush(false);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test_setup(test_failing_allocations, setup) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

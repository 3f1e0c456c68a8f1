/* SPDX-License-Identifier: Apache-2.0 */
/* Every scenario again with its first, second, third … allocation failing: an error comes back, nothing leaks, nothing crashes. */
#include "test_scale.h"
#include "alloc_hook.h"
#include "api_cycle.h"
#include "api_test.h"

enum { ALL_BELOW = 700, SAMPLES = 500 };

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
        int64_t before = alloc_live_bytes(), blocks = alloc_live_blocks();
        hush(true);
        alloc_fail_at(n);
        Qnn_ErrorHandle_t e = s->run();
        alloc_fail_never();
        hush(false);
        bool failed = alloc_failed();
        if (alloc_live_bytes() > before)
            fail_msg("%s: allocation %llu of %llu failed, result %u; %lld bytes in %lld blocks are left", s->name, (unsigned long long)n,
                     (unsigned long long)total, CODE(e), (long long)(alloc_live_bytes() - before), (long long)(alloc_live_blocks() - blocks));
        if (CODE(e) == WRONG_RESULT || CODE(e) == MUST_FAIL)
            fail_msg("%s: allocation %llu failed and the result is wrong (%u)", s->name, (unsigned long long)n, CODE(e));
        survived += failed && e == QNN_SUCCESS; /* something that can do without */
    }
    OK(s->run());
    print_message("%s: %llu allocations, %u of them failed in turn, %u runs succeeded all the same\n", s->name, (unsigned long long)total, runs, survived);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand rounds of creating, executing and freeing leave no byte, no descriptor and no thread behind. */
#include <dirent.h>

#include "alloc_hook.h"
#include "api_cycle.h"
#include "api_test.h"

enum { ROUNDS = 1000, WARM_UP = 20 };

static unsigned entries(const char *folder)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void round_of(const struct scenario *s)
{
    Qnn_ErrorHandle_t e = s->run();
    if (e != QNN_SUCCESS)
        fail_msg("%s: %u: %s", s->name, CODE(e), explain(e));
}

static void test_no_leak(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_scenarios; i++) {
        for (int k = 0; k < WARM_UP; k++)
            round_of(&scenarios[i]);
        unsigned fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
        int64_t bytes = alloc_live_bytes(), blocks = alloc_live_blocks();
        for (int k = 0; k < ROUNDS; k++)
            round_of(&scenarios[i]);
        int64_t more = alloc_live_bytes() - bytes, more_blocks = alloc_live_blocks() - blocks;
        if (more > 0 || more_blocks > 0)
            fail_msg("%s: %lld bytes in %lld blocks are left after %d rounds", scenarios[i].name, (long long)more,
                     (long long)more_blocks, ROUNDS);
        assert_int_equal(entries("/proc/self/fd"), fds);
        assert_int_equal(entries("/proc/self/task"), threads);
    }
}

/* Closing the library gives back what it had taken as a whole. */
static void test_no_leak_of_library(void **state)
{
    (void)state;
    lib_close();
    int64_t bytes = 0;
    for (int i = 0; i < 30; i++) {
        lib_open();
        round_of(&scenarios[0]);
        lib_close();
        if (i == 9)
            bytes = alloc_live_bytes();
    }
    int64_t more = alloc_live_bytes() - bytes;
    if (more > 0)
        fail_msg("%lld bytes are left after opening the library 20 times", (long long)more);
    lib_open();
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_leak), cmocka_unit_test(test_no_leak_of_library) };
    return cmocka_run_group_tests(tests, setup, NULL);
}

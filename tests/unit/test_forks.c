/* SPDX-License-Identifier: Apache-2.0 */
/* A child of a process with many threads finds the locks of the library free, whatever those threads were doing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/forks.h"

enum { FORKS = 50, CHILD_SECONDS = 60 };

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(first)
FORKS_HOLD(second)

static atomic_bool over;
static atomic_uint turns;

/* Holds one of them or both, taken in either order, most of the time. */
static void *hold(void *arg)
{
    bool other_way = arg != NULL;

    while (!atomic_load(&over)) {
        pthread_mutex_lock(other_way ? &second : &first);
        bool both = pthread_mutex_trylock(other_way ? &first : &second) == 0;
        for (int i = 0; i < 100000; i++)
            atomic_fetch_add(&turns, 1);
        if (both)
            pthread_mutex_unlock(other_way ? &first : &second);
        pthread_mutex_unlock(other_way ? &second : &first);
        sched_yield();
    }
    return NULL;
}

static void child_finds_locks_free(void **state)
{
    pthread_t threads[2];
    (void)state;

    assert_int_equal(pthread_create(&threads[0], NULL, hold, NULL), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, hold, &over), 0);
    while (atomic_load(&turns) == 0)
        ;
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        unsigned before = forks_so_far();
        pid_t pid = fork();
        if (pid == 0)
            _exit(pthread_mutex_trylock(&first) != 0 || pthread_mutex_trylock(&second) != 0 || forks_so_far() != before + 1);
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(pthread_mutex_trylock(&first), 0); /* and the parent has them back */
    assert_int_equal(pthread_mutex_trylock(&second), 0);
}

/* A fork under one of the locks gives up waiting for it. */
static void fork_under_a_lock_ends(void **state)
{
    int status = 0;
    (void)state;

    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_finds_locks_free),
        cmocka_unit_test(fork_under_a_lock_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What api/ keeps per thread survives a failed allocation: no thread loses that it is in a callback, none sees the words
 * of another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_hook.h"
#include "api/thread_words.h"

/* The words of a thread whose first call finds no memory. */
static struct thread_words *words_without_memory(void)
{
    alloc_fail_at(0);
    struct thread_words *words = thread_words();
    assert_true(alloc_failed());
    alloc_fail_never();
    return words;
}

static void *nested(void *arg)
{
    struct thread_words *outer = arg;
    struct thread_words *mine = words_without_memory();
    assert_ptr_not_equal(mine, outer);
    assert_int_equal(mine->callback, 0);
    return NULL;
}

static void *first_call_fails(void *arg)
{
    struct thread_words *reserve = words_without_memory();
    reserve->callback = 3;
    reserve->log = arg;
    reserve->last_code = 1002;

    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, nested, reserve), 0);
    pthread_join(other, NULL);

    struct thread_words *block = thread_words();
    assert_ptr_not_equal(block, reserve);
    assert_int_equal(block->callback, 3);
    assert_ptr_equal(block->log, arg);
    assert_int_equal(block->last_code, 1002);
    assert_ptr_equal(thread_words(), block);
    return NULL;
}

static void words_move_when_memory_returns(void **state)
{
    (void)state;
    int log = 0;
    for (int i = 0; i < 200; i++) { /* more threads than reserves: they are given back */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, first_call_fails, &log), 0);
        pthread_join(thread, NULL);
    }
}

static void *first_call(void *arg)
{
    (void)arg;
    struct thread_words *words = thread_words();
    assert_non_null(words);
    assert_int_equal(words->callback, 0);
    return NULL;
}

static void words_end_with_their_thread(void **state)
{
    (void)state;
    int64_t before = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, first_call, NULL), 0);
        pthread_join(thread, NULL);
        if (i == 9) /* the C library keeps stacks of threads that ended */
            before = alloc_live_blocks();
    }
    assert_int_equal(alloc_live_blocks(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_move_when_memory_returns),
        cmocka_unit_test(words_end_with_their_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: signals and names of new ones, the worker team under many small jobs, futex, fork. */
#include "unit.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"

struct seen {
    sigset_t mask;
    char name[32];
    _Atomic uint32_t go;
};

static void *look_around(void *p)
{
    struct seen *s = p;
    while (!s->go)
        futex_wait(&s->go, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
    return NULL;
}

static void new_thread_has_name_and_no_signals(void **state)
{
    (void)state;
    struct seen s = { .go = 0 };
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pthread_t t;
    assert_int_equal(thread_start(&t, "a-name-longer-than-15", look_around, &s), ST_OK);
    s.go = 1;
    futex_wake(&s.go, 1);
    pthread_join(t, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_string_equal(s.name, "a-name-longer-t");
    static const int client_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE };
    for (size_t i = 0; i < COUNT(client_signals); i++) {
        assert_true(sigismember(&s.mask, client_signals[i]));
        assert_int_equal(sigismember(&before, client_signals[i]), sigismember(&after, client_signals[i]));
    }
    assert_false(sigismember(&s.mask, SIGSEGV));
}

struct sum {
    unsigned size;
    unsigned calls[64]; /* per worker, written by it alone */
    _Atomic unsigned total;
};

static void add_one(void *arg, unsigned worker)
{
    struct sum *s = arg;
    s->calls[worker]++;
    s->total++;
}

static void team_calls_each_worker_once(void **state)
{
    (void)state;
    static const unsigned sizes[] = { 1, 2, 3, 8, 33 };
    for (size_t k = 0; k < COUNT(sizes); k++) {
        struct team *t = NULL;
        assert_int_equal(team_create(sizes[k], &t), ST_OK);
        assert_int_equal(team_size(t), sizes[k]);
        struct sum s = { .size = sizes[k] };
        unsigned jobs = sizes[k] > 8 ? 200 : 3000;
        for (unsigned i = 0; i < jobs; i++) {
            team_run(t, add_one, &s);
            assert_int_equal(s.total, (i + 1) * sizes[k]); /* all are done when team_run returns */
        }
        for (unsigned w = 0; w < sizes[k]; w++)
            assert_int_equal(s.calls[w], jobs);
        team_free(t);
    }
    team_free(NULL);
}

static void team_limits(void **state)
{
    (void)state;
    struct team *t = (struct team *)&t;
    assert_int_equal(team_create(0, &t), ST_INVALID_ARG);
    assert_non_null(strstr(status_text(), "1 to 1024"));
    assert_int_equal(team_create(TEAM_MAX + 1, &t), ST_INVALID_ARG);
    assert_ptr_equal(t, &t);       /* untouched */
    for (int i = 0; i < 50; i++) { /* freed without ever running */
        assert_int_equal(team_create(4, &t), ST_OK);
        team_free(t);
    }
}

static void *own_team(void *arg)
{
    struct team *t;
    struct sum s = { .size = 3 };
    if (team_create(3, &t) != ST_OK)
        return NULL;
    for (int i = 0; i < 500; i++)
        team_run(t, add_one, &s);
    team_free(t);
    return s.total == 1500 ? arg : NULL;
}

static void teams_side_by_side(void **state)
{
    (void)state;
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(thread_start(&t[i], NULL, own_team, &t[i]), ST_OK);
    for (int i = 0; i < 4; i++) {
        void *ret;
        pthread_join(t[i], &ret);
        assert_ptr_equal(ret, &t[i]);
    }
}

static void forked_child_works_alone(void **state)
{
    (void)state;
    struct team *t;
    struct sum s = { .size = 4 };
    assert_int_equal(team_create(4, &t), ST_OK);
    team_run(t, add_one, &s);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        team_run(t, add_one, &s);
        bool ok = s.total == 8 && s.calls[3] == 2;
        team_free(t); /* has nobody to wait for */
        _exit(ok ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    team_run(t, add_one, &s); /* the parent's team goes on */
    assert_int_equal(s.total, 8);
    team_free(t);
}

static void futex_returns_when_value_differs(void **state)
{
    (void)state;
    _Atomic uint32_t word = 5;
    futex_wait(&word, 4);
    futex_wake(&word, 1);
    assert_int_equal(word, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_thread_has_name_and_no_signals),
        cmocka_unit_test(team_calls_each_worker_once),
        cmocka_unit_test(team_limits),
        cmocka_unit_test(teams_side_by_side),
        cmocka_unit_test(forked_child_works_alone),
        cmocka_unit_test(futex_returns_when_value_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

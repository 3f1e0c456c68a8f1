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

/* Pieces of work that workers take one by one. */
enum { PIECES = 96 };
struct work {
    _Atomic unsigned next, total;
    _Atomic unsigned busy[64];    /* per worker: calls that are running */
    unsigned done[PIECES];        /* per piece, written by whoever took it */
    _Atomic bool clash;           /* two calls with one worker number at the same time */
};

static void take_pieces(void *arg, unsigned worker)
{
    struct work *w = arg;
    if (w->busy[worker]++)
        w->clash = true;
    for (unsigned i; (i = w->next++) < PIECES;) {
        w->done[i]++;
        w->total++;
    }
    w->busy[worker]--;
}

/* Everything is done when team_run returns, once, and nobody is inside any more. */
static bool share_out(struct team *t, struct work *w, unsigned jobs)
{
    for (unsigned k = 0; k < jobs; k++) {
        w->next = 0;
        team_run(t, take_pieces, w);
        for (unsigned i = 0; i < 64; i++)
            if (w->busy[i])
                return false;
        if (w->total % PIECES)
            return false;
    }
    for (unsigned i = 0; i < PIECES; i++)
        if (w->done[i] != w->total / PIECES)
            return false;
    return !w->clash;
}

static void team_does_each_piece_once(void **state)
{
    (void)state;
    static const unsigned sizes[] = { 1, 2, 3, 8, 33 };
    for (size_t k = 0; k < COUNT(sizes); k++) {
        struct team *t = NULL;
        struct work w = { 0 };
        unsigned jobs = sizes[k] > 8 ? 200 : 3000;
        assert_int_equal(team_create(sizes[k], &t), ST_OK);
        assert_int_equal(team_size(t), sizes[k]);
        assert_true(share_out(t, &w, jobs));
        assert_int_equal(w.total, jobs * PIECES);
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
    struct work w = { 0 };
    if (team_create(3, &t) != ST_OK)
        return NULL;
    bool ok = share_out(t, &w, 500);
    team_free(t);
    return ok && w.total == 500 * PIECES ? arg : NULL;
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
    struct work w = { 0 };
    assert_int_equal(team_create(4, &t), ST_OK);
    assert_true(share_out(t, &w, 1));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool ok = share_out(t, &w, 1) && w.total == 2 * PIECES;
        team_free(t); /* has nobody to wait for */
        _exit(ok ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    assert_true(share_out(t, &w, 1)); /* the parent's team goes on */
    assert_int_equal(w.total, 2 * PIECES);
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
        cmocka_unit_test(team_does_each_piece_once),
        cmocka_unit_test(team_limits),
        cmocka_unit_test(teams_side_by_side),
        cmocka_unit_test(forked_child_works_alone),
        cmocka_unit_test(futex_returns_when_value_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in any order with any arguments, first from one thread and then from four that share their objects: objects are
 * freed while others use them, graphs are built by two threads at once, freed handles come back. Nothing is expected of a
 * single call but that it returns, and that a refusal is explained; a graph that was left alone computes what it always did.
 * The same seed gives the same calls:
 *
 *     test_random_calls [CALLS [SEED]] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <QNN/Saver/QnnSaverCommon.h>

#include "random_calls.h"
#include "test_scale.h"

enum { THREADS = 4, CALLS = 20000 };

static int shared_file;
static unsigned calls = CALLS, first_seed = 1;

/* ---- players ---------------------------------------------------------------------------------------------------------- */

static void *play(void *arg)
{
    struct player *p = arg;
    for (unsigned i = 0; i < calls; i++) {
        Qnn_ErrorHandle_t e = random_call(p);
        *(e == QNN_SUCCESS ? &p->accepted : &p->refused) += 1;
        if (e != QNN_SUCCESS && !explain(e)[0])
            p->silent = CODE(e);
    }
    return NULL;
}

static struct player *players_new(unsigned n)
{
    struct player *p = calloc(n, sizeof *p);
    assert_non_null(p);
    for (unsigned i = 0; i < n; i++) {
        p[i].serial = i << 20;
        player_init(&p[i], first_seed * 1000003ull + i);
    }
    return p;
}

/* A net of its own among all that, before and after. */
static void play_around(unsigned n)
{
    struct net net;
    float x[AFFINE_N] = { 1, 2, 3 }, y[AFFINE_N], want[AFFINE_N] = { 3, 5, 7, 1, 1, 1, 1, 1 };
    pthread_t t[THREADS];
    OK(net_affine(env.context, "mine", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    struct player *p = players_new(n);
    random_calls_begin(shared_file);
    hush(true);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(pthread_create(&t[i], NULL, play, &p[i]), 0);
    for (unsigned i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    random_calls_end();
    hush(false);
    unsigned accepted = 0, refused = 0, silent = 0;
    for (unsigned i = 0; i < n; i++)
        accepted += p[i].accepted, refused += p[i].refused, silent = p[i].silent ? p[i].silent : silent;
    print_message("%u threads: %u calls accepted, %u refused\n", n, accepted, refused);
    assert_int_equal(silent, 0);
    assert_true(accepted > refused / 100); /* else the calls say nothing */
    free(p);
    if (provider->backendId == QNN_BACKEND_ID_SAVER) /* which computes nothing */
        return;
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
    floats_are(y, want, AFFINE_N, 0);
}

static void test_one_thread(void **state)
{
    (void)state;
    play_around(1);
}

static void test_four_threads(void **state)
{
    (void)state;
    play_around(THREADS);
}

static int open_file(void **state)
{
    static const char zeros[4096];
    FILE *f = tmpfile();
    if (!f || fwrite(zeros, 1, sizeof zeros, f) != sizeof zeros || fflush(f))
        return 1;
    shared_file = fileno(f);
    *state = f;
    return 0;
}

static int close_file(void **state)
{
    return fclose(*state);
}

int main(int argc, char **argv)
{
    calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : test_scale(CALLS);
    first_seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_thread, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_four_threads, env_setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}

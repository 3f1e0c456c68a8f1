/* SPDX-License-Identifier: Apache-2.0 */
/* All backends for hours: several threads per backend create, finalize, execute, save, load and free, under
 * changing floating-point modes, while sessions are killed and stopped, and children are forked that have few
 * descriptors or little memory. At every check all threads rest and all backends are freed: then memory,
 * descriptors, threads and processes must be what they were at the first check. Ends by itself; ends only
 * processes that are its children.
 *
 *     soak HOURS [every=SECONDS] [threads=PER_BACKEND] [seed=N] [stops=1] [backends=cpu,htp,lpai,gpu]
 *
 * stops=1 leaves stopped sessions stopped; without it they go on after a moment. The exit status is 1 when a
 * result differed, a call failed without reason, a child crashed or hung, or something grew. */
#include "soak.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 32, MAX_CHECKS = 4096, HANG_SECONDS = 180, GROWTH_KIB = 8192 };

static struct soak_backend backends[SOAK_BACKENDS] = {
    { .name = "cpu", .library = "libQnnCpu.so" },
    { .name = "htp", .library = "libQnnHtp.so", .has_sessions = true },
    { .name = "lpai", .library = "libQnnLpai.so", .fixed = true },
    { .name = "gpu", .library = "libQnnGpu.so" },
};
static unsigned n_backends;

static struct {
    double seconds, every;
    unsigned threads;
    uint64_t seed;
    bool stops;
    const char *wanted;
} options = { .threads = 2, .seed = 1, .wanted = "cpu,htp,lpai,gpu" };

static pthread_rwlock_t resting; /* players read it for a cycle, a check writes it */
static atomic_bool over;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- players --------------------------------------------------------------------------------- */

struct player {
    struct soak_backend *backend;
    uint64_t dice;
    pthread_t thread;
};

static void *play(void *arg)
{
    struct player *p = arg;

    while (!atomic_load(&over)) {
        pthread_rwlock_rdlock(&resting);
        soak_cycle(p->backend, soak_draw(&p->dice));
        pthread_rwlock_unlock(&resting);
    }
    return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

struct check {
    double at;
    struct soak_usage usage;
};
static struct check checks[MAX_CHECKS];
static unsigned n_checks;

static void rest(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += HANG_SECONDS;
    if (pthread_rwlock_timedwrlock(&resting, &t) == 0)
        return;
    printf("ERROR a call has not returned for %d seconds\n", HANG_SECONDS);
    fflush(stdout);
    abort(); /* the core shows where */
}

static uint64_t sum(size_t offset)
{
    uint64_t ret = 0;

    for (unsigned i = 0; i < n_backends; i++)
        ret += atomic_load((_Atomic uint64_t *)((char *)&backends[i] + offset));
    return ret;
}
#define SUM(field) ((unsigned long long)sum(offsetof(struct soak_backend, field)))

static void check(const struct soak_disturbances *d, double begin)
{
    struct check *c = &checks[n_checks];

    rest();
    for (unsigned i = 0; i < n_backends; i++)
        soak_end(&backends[i]);
    c->at = now() - begin;
    soak_measure(&c->usage);
    for (unsigned i = 0; i < n_backends; i++)
        if (!soak_begin(&backends[i]))
            backends[i].errors++;
    pthread_rwlock_unlock(&resting);

    if (n_checks == 0)
        printf("%8s %9s %10s %7s %6s %5s %6s %7s %6s %9s %4s %7s %6s\n", "seconds", "cycles", "executes", "lost", "kills",
               "stops", "forks", "errors", "wrong", "RSS KiB", "fds", "threads", "procs");
    printf("%8.0f %9llu %10llu %7llu %6llu %5llu %6llu %7llu %6llu %9llu %4u %7u %6u\n", c->at, SUM(cycles), SUM(executes),
           SUM(lost), (unsigned long long)d->kills, (unsigned long long)d->stopped, (unsigned long long)d->forks,
           SUM(errors) + (unsigned long long)d->fork_failures, SUM(wrong), (unsigned long long)c->usage.rss_kib,
           c->usage.descriptors, c->usage.threads, c->usage.children + c->usage.zombies);
    fflush(stdout);
    if (n_checks + 1 < MAX_CHECKS)
        n_checks++;
}

static unsigned complain(bool wrong, const char *what, uint64_t before, uint64_t after)
{
    if (wrong)
        printf("ERROR %s: %llu at the first check, %llu at the last\n", what, (unsigned long long)before,
               (unsigned long long)after);
    return wrong;
}

/* Memory may still settle in the first third; a leak grows after it as well. */
static unsigned compare(void)
{
    const struct soak_usage *first = &checks[0].usage;
    const struct soak_usage *last = &checks[n_checks - 1].usage;
    const struct soak_usage *settled = &checks[n_checks / 3].usage;
    unsigned wrong = 0;

    wrong += complain(last->descriptors > first->descriptors, "descriptors", first->descriptors, last->descriptors);
    wrong += complain(last->threads > first->threads, "threads", first->threads, last->threads);
    wrong += complain(last->children > first->children, "processes", first->children, last->children);
    wrong += complain(last->zombies > 1, "zombies", first->zombies, last->zombies); /* one may be the forker's */
    wrong += complain(last->rss_kib > settled->rss_kib + settled->rss_kib / 10 + GROWTH_KIB, "memory (KiB)",
                      settled->rss_kib, last->rss_kib);
    return wrong;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool take(const char *arg)
{
    const char *value = strchr(arg, '=');
    size_t n = value ? (size_t)(value - arg) : 0;

    if (!value)
        return false;
    value++;
    if (n == 5 && strncmp(arg, "every", n) == 0)
        options.every = atof(value);
    else if (n == 7 && strncmp(arg, "threads", n) == 0)
        options.threads = (unsigned)atoi(value);
    else if (n == 4 && strncmp(arg, "seed", n) == 0)
        options.seed = strtoull(value, NULL, 10);
    else if (n == 5 && strncmp(arg, "stops", n) == 0)
        options.stops = atoi(value) != 0;
    else if (n == 8 && strncmp(arg, "backends", n) == 0)
        options.wanted = value;
    else
        return false;
    return true;
}

static void open_backends(void)
{
    for (unsigned i = 0; i < SOAK_BACKENDS; i++) {
        if (!strstr(options.wanted, backends[i].name) || !soak_open(&backends[i]))
            continue;
        struct soak_backend opened = backends[i];
        backends[n_backends++] = opened;
    }
    for (unsigned i = 0; i < n_backends; i++)
        if (!soak_learn(&backends[i])) {
            printf("ERROR %s does not compute what it should\n", backends[i].name);
            exit(1);
        }
}

static unsigned soak(struct soak_disturbances *d)
{
    struct player players[MAX_THREADS] = { 0 };
    unsigned n = n_backends * options.threads;
    pthread_t killer;
    pthread_t forker;
    double begin = now();

    for (unsigned i = 0; i < n; i++) {
        players[i] = (struct player){ .backend = &backends[i % n_backends], .dice = options.seed * 1000 + i };
        pthread_create(&players[i].thread, NULL, play, &players[i]);
    }
    atomic_store(&soak_disturbed, true);
    pthread_create(&killer, NULL, soak_kill_sessions, d);
    pthread_create(&forker, NULL, soak_fork_children, d);
    do {
        double left = options.seconds - (now() - begin);
        double pause = left < options.every ? left : options.every;
        soak_pause(pause > 0 ? (unsigned)(1000 * pause) + 1 : 1);
        check(d, begin);
    } while (now() - begin < options.seconds || n_checks < 2); /* two to compare */

    atomic_store(&d->over, true);
    pthread_join(killer, NULL);
    pthread_join(forker, NULL);
    atomic_store(&over, true);
    for (unsigned i = 0; i < n; i++)
        pthread_join(players[i].thread, NULL);
    return compare();
}

int main(int argc, char **argv)
{
    pthread_rwlockattr_t attributes;
    bool usable = argc > 1;

    options.seconds = argc > 1 ? atof(argv[1]) * 3600 : 0;
    for (int i = 2; i < argc; i++)
        usable = usable && take(argv[i]);
    if (options.every <= 0)
        options.every = options.seconds < 600 ? options.seconds / 10 : 60;
    if (!usable || options.seconds <= 0 || options.threads == 0 || options.threads > MAX_THREADS / SOAK_BACKENDS) {
        fprintf(stderr, "soak HOURS [every=SECONDS] [threads=1..8] [seed=N] [stops=1] [backends=cpu,htp,lpai,gpu]\n");
        return 2;
    }

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&resting, &attributes);
    open_backends();
    if (n_backends == 0)
        return 77;
    printf("soak: %u backends, %u threads each, %.0f s, seed %llu\n", n_backends, options.threads, options.seconds,
           (unsigned long long)options.seed);

    struct soak_disturbances d = {
        .stops = options.stops, .seed = options.seed, .backends = backends, .n_backends = n_backends
    };
    unsigned grown = soak(&d);
    for (unsigned i = 0; i < n_backends; i++) {
        soak_end(&backends[i]);
        printf("%-5s %9llu cycles %10llu executions %6llu lost %4llu errors %4llu wrong\n", backends[i].name,
               (unsigned long long)backends[i].cycles, (unsigned long long)backends[i].executes,
               (unsigned long long)backends[i].lost, (unsigned long long)backends[i].errors,
               (unsigned long long)backends[i].wrong);
    }
    bool failed = grown || SUM(errors) || SUM(wrong) || d.fork_failures;
    printf("soak: %s\n", failed ? "FAILED" : "nothing grew, nothing differed");
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Code of several threads, run on one in every order that matters. A file that is included behind this header has its atomic
 * operations, futexes and threads replaced: threads are coroutines, and before every atomic operation somebody else may go
 * on. Stores are seen by others late if their memory order allows it, as on x86: they wait in a queue of their thread until
 * that reads and writes in one, stores in the one order for all, sleeps or ends.
 *
 * A run is the list of choices made in it. The first takes none: everybody goes on until it sleeps, and stores are seen at
 * once. interleave_next changes the last choice that can be changed, as long as no more than `most` of them were: few are
 * enough for nearly every mistake, and all runs with few are possible. Or choices are random. */
#ifndef TESTS_PASSES_INTERLEAVE_H
#define TESTS_PASSES_INTERLEAVE_H

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/thread.h"

enum {
    FIBERS = 6,
    FIBER_STACK = 128 << 10,
    STORES = 64,
    CHOICES = 1 << 16,     /* nothing that ends takes so many */
    CLOCK_TICK_NS = 50000, /* who looks at the clock twice has waited long enough */
};

struct store {
    void *at;
    size_t size;
    uint64_t value;
};

struct fiber {
    ucontext_t context;
    bool used, done;
    const void *sleeps; /* the word it sleeps on, or the fiber that it waits for */
    uint64_t until;     /* that its sleep ends at by itself; 0: never */
    struct store stores[STORES];
    unsigned n_stores;
    bool late; /* what it stores is not seen yet */
    void *(*fn)(void *);
    void *arg;
};

struct choice {
    uint8_t chosen, n, costs;
};

static struct {
    struct fiber fibers[FIBERS];
    unsigned now, cores;
    ucontext_t host;
    struct choice *choices;
    uint32_t n_choices, n_given;
    uint64_t random; /* 0: choices are given */
    uint64_t clock;
    const char *failed;
} il;

static void interleave_fail(const char *why)
{
    il.failed = il.failed ? il.failed : why;
    setcontext(&il.host); /* the run is given up where it is */
    abort();
}

/* ---- choices ---------------------------------------------------------------------------------------------------------- */

static uint32_t interleave_random(uint32_t n)
{
    il.random = il.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((il.random >> 33) % n);
}

/* 0: the usual. */
static unsigned choose(unsigned n, bool costs)
{
    enum { RARELY = 6 };
    if (n < 2)
        return 0;
    if (il.n_choices == CHOICES)
        interleave_fail("it does not end");
    struct choice *c = &il.choices[il.n_choices++];
    if (il.random)
        *c = (struct choice){ .chosen = costs && interleave_random(RARELY) ? 0 : (uint8_t)interleave_random(n) };
    else if (il.n_choices > il.n_given)
        c->chosen = 0;
    c->n = (uint8_t)n;
    c->costs = costs;
    return c->chosen;
}

/* Whether there is another run, with at most `most` unusual choices. */
static bool interleave_next(unsigned most)
{
    unsigned cost = 0;
    for (uint32_t i = 0; i < il.n_choices; i++)
        cost += il.choices[i].costs && il.choices[i].chosen;
    for (uint32_t i = il.n_choices; i-- > 0;) {
        struct choice *c = &il.choices[i];
        cost -= c->costs && c->chosen;
        if (c->chosen + 1 < c->n && cost + c->costs <= most) {
            c->chosen++;
            il.n_given = i + 1;
            return true;
        }
    }
    return false;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static uint64_t read_word(const void *at, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, at, size);
    return v;
}

static void publish(struct fiber *f)
{
    for (unsigned i = 0; i < f->n_stores; i++)
        memcpy(f->stores[i].at, &f->stores[i].value, f->stores[i].size);
    f->n_stores = 0;
    f->late = false;
}

static bool can_go(const struct fiber *f)
{
    return f->used && !f->done && !f->sleeps;
}

static void go_on_with(unsigned next)
{
    unsigned was = il.now;
    il.now = next;
    if (next != was)
        swapcontext(&il.fibers[was].context, &il.fibers[next].context);
}

/* When nothing else happens, time passes until the first sleep with a deadline ends. */
static void let_time_pass(void)
{
    struct fiber *first = NULL;
    for (unsigned i = 0; i < FIBERS; i++) {
        struct fiber *f = &il.fibers[i];
        if (can_go(f))
            return;
        if (f->used && !f->done && f->until && (!first || f->until < first->until))
            first = f;
    }
    if (!first)
        return;
    il.clock = first->until > il.clock ? first->until : il.clock;
    first->sleeps = NULL;
}

/* Somebody goes on: the one who is at it, if it can. */
static void pass_on(void)
{
    unsigned others[FIBERS], n = 0;
    let_time_pass();
    bool self = can_go(&il.fibers[il.now]);
    if (self)
        others[n++] = il.now;
    for (unsigned i = 0; i < FIBERS; i++)
        if (i != il.now && can_go(&il.fibers[i]))
            others[n++] = i;
    if (!n)
        interleave_fail("everybody waits");
    go_on_with(others[choose(n, self)]);
}

static void point(void)
{
    struct fiber *f = &il.fibers[il.now];
    if (!f->late)
        publish(f);
    pass_on();
}

static uint64_t model_load(const volatile void *p, size_t size)
{
    point();
    const struct fiber *f = &il.fibers[il.now];
    for (unsigned i = f->n_stores; i-- > 0;)
        if (f->stores[i].at == (const void *)p)
            return f->stores[i].value;
    return read_word((const void *)p, size);
}

static void model_store(volatile void *p, size_t size, uint64_t value, memory_order order)
{
    point();
    struct fiber *f = &il.fibers[il.now];
    if (f->n_stores == STORES)
        publish(f);
    f->stores[f->n_stores++] = (struct store){ (void *)p, size, value };
    if (order == memory_order_seq_cst)
        publish(f);
    else if (!f->late)
        f->late = choose(2, true);
}

/* Reads, and returns what is to be written through *p by the caller in the same moment. */
static uint64_t model_begin_change(volatile void *p, size_t size)
{
    publish(&il.fibers[il.now]);
    point();
    return read_word((const void *)p, size);
}

static uint64_t model_add(volatile void *p, size_t size, uint64_t by)
{
    uint64_t was = model_begin_change(p, size), is = was + by;
    memcpy((void *)p, &is, size);
    return was;
}

static uint64_t model_or(volatile void *p, size_t size, uint64_t bits)
{
    uint64_t was = model_begin_change(p, size), is = was | bits;
    memcpy((void *)p, &is, size);
    return was;
}

static uint64_t model_exchange(volatile void *p, size_t size, uint64_t value)
{
    uint64_t was = model_begin_change(p, size);
    memcpy((void *)p, &value, size);
    return was;
}

static bool model_swap(volatile void *p, size_t size, void *expected, uint64_t value)
{
    uint64_t was = model_begin_change(p, size);
    bool same = was == read_word(expected, size);
    memcpy(same ? (void *)p : expected, same ? &value : &was, size);
    return same;
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

/* Ends of threads and futexes wake everybody who sleeps there: who looks again loses nothing. */
static void wake(const void *sleeping_on)
{
    for (unsigned i = 0; i < FIBERS; i++)
        if (il.fibers[i].sleeps == sleeping_on)
            il.fibers[i].sleeps = NULL;
}

static void fiber_main(void)
{
    struct fiber *f = &il.fibers[il.now];
    f->fn(f->arg);
    publish(f);
    f->done = true;
    if (f == il.fibers)
        setcontext(&il.host);
    wake(f);
    pass_on();
    abort();
}

static unsigned model_thread(void *(*fn)(void *), void *arg)
{
    static uint8_t stacks[FIBERS][FIBER_STACK];
    unsigned i = 0;
    while (i < FIBERS && il.fibers[i].used)
        i++;
    if (i == FIBERS)
        interleave_fail("more threads than there is room for");
    struct fiber *f = &il.fibers[i];
    f->used = true;
    f->fn = fn;
    f->arg = arg;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stacks[i];
    f->context.uc_stack.ss_size = FIBER_STACK;
    makecontext(&f->context, fiber_main, 0);
    return i;
}

static int model_create(pthread_t *ret, const void *attr, void *(*fn)(void *), void *arg)
{
    (void)attr;
    *ret = (pthread_t)model_thread(fn, arg);
    return 0;
}

static int model_join(pthread_t thread, void **ret)
{
    (void)ret;
    struct fiber *f = &il.fibers[(unsigned)thread];
    publish(&il.fibers[il.now]);
    while (!f->done) {
        il.fibers[il.now].sleeps = f;
        pass_on();
    }
    return 0;
}

/* A sleep with a deadline ends by itself where that is chosen, and the clock is behind the deadline then. */
static long model_futex(long number, void *word, int op, uint32_t value, const struct timespec *until, ...)
{
    enum { OPERATION = 127, WAKE = 1 };
    struct fiber *f = &il.fibers[il.now];
    (void)number;
    publish(f);
    point();
    if ((op & OPERATION) == WAKE) {
        wake(word);
        return 0;
    }
    if (read_word(word, sizeof(uint32_t)) != value)
        return 0;
    uint64_t deadline = until ? (uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec : 0;
    if (until && choose(2, true)) {
        il.clock = deadline > il.clock ? deadline : il.clock;
        return 0;
    }
    f->sleeps = word;
    f->until = deadline;
    pass_on();
    f->until = 0;
    return 0;
}

/* A mutex is its first word: 1 when it is locked. */
static int model_lock(pthread_mutex_t *mutex)
{
    uint32_t *word = (uint32_t *)mutex;
    publish(&il.fibers[il.now]);
    point();
    while (*word) {
        il.fibers[il.now].sleeps = mutex;
        pass_on();
    }
    *word = 1;
    return 0;
}

static int model_unlock(pthread_mutex_t *mutex)
{
    publish(&il.fibers[il.now]);
    *(uint32_t *)mutex = 0;
    wake(mutex);
    return 0;
}

static int model_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    model_unlock(mutex);
    il.fibers[il.now].sleeps = cond;
    pass_on();
    return model_lock(mutex);
}

static int model_cond_broadcast(pthread_cond_t *cond)
{
    wake(cond);
    return 0;
}

/* Keeps the compiler quiet in files that do not use them all. */
static inline void model_unused(void)
{
    (void)model_lock, (void)model_cond_wait, (void)model_cond_broadcast, (void)model_exchange;
    (void)model_or, (void)model_add, (void)model_create, (void)model_join;
}

static uint64_t model_clock(void)
{
    return il.clock += CLOCK_TICK_NS;
}

/* One run from its beginning; returns why it failed, or NULL. */
static const char *interleave_run(void *(*fn)(void *), void *arg)
{
    static volatile bool begun;
    for (unsigned i = 0; i < FIBERS; i++) {
        struct fiber *f = &il.fibers[i];
        f->used = f->done = f->late = false;
        f->sleeps = NULL;
        f->until = 0;
        f->n_stores = 0;
    }
    if (!il.choices)
        il.choices = calloc(CHOICES, sizeof(il.choices[0]));
    il.n_choices = 0;
    il.clock = 0;
    il.failed = NULL;
    il.now = model_thread(fn, arg);
    begun = false;
    getcontext(&il.host); /* the end of a run comes back here */
    if (!begun) {
        begun = true;
        setcontext(&il.fibers[il.now].context);
    }
    return il.failed;
}

/* ---- in place of what threads use ------------------------------------------------------------------------------------- */

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_strong
#undef atomic_exchange
#undef atomic_compare_exchange_strong_explicit
#define MODEL_TYPE(p) __typeof__(+*(p))
#define atomic_load_explicit(p, order) ((MODEL_TYPE(p))model_load((p), sizeof(*(p))))
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store_explicit(p, v, order) model_store((p), sizeof(*(p)), (uint64_t)(v), (order))
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add_explicit(p, v, order) model_add((p), sizeof(*(p)), (uint64_t)(v))
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub_explicit(p, v, order) atomic_fetch_add_explicit(p, -(uint64_t)(v), order)
#define atomic_fetch_sub(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_or(p, v) model_or((p), sizeof(*(p)), (uint64_t)(v))
#define atomic_compare_exchange_strong_explicit(p, e, v, yes, no) model_swap((p), sizeof(*(p)), (e), (uint64_t)(v))
#define atomic_compare_exchange_weak(p, e, v) model_swap((p), sizeof(*(p)), (e), (uint64_t)(v))
#define atomic_compare_exchange_strong(p, e, v) model_swap((p), sizeof(*(p)), (e), (uint64_t)(v))
#define atomic_exchange(p, v) ((MODEL_TYPE(p))model_exchange((p), sizeof(*(p)), (uint64_t)(v)))
#define pthread_mutex_lock model_lock
#define pthread_mutex_unlock model_unlock
#define pthread_cond_wait model_cond_wait
#define pthread_cond_broadcast model_cond_broadcast
#define pthread_create model_create
#define pthread_join model_join
#define pthread_self() ((pthread_t)(il.now + 1))
#define pthread_sigmask(how, set, before) ((void)(set), (void)(before))
#define pthread_setname_np(thread, name) ((void)(name))
#define syscall model_futex
#define clock_ns model_clock
#define cpu_cores() (il.cores)

#endif

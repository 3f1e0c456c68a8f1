/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of a batch in one run: as many as there are threads run side by side, the rest in turn, with the bits of
 * single runs; what lies between slices stays as it is. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "rpc_kit.h"

enum { MOST = 9, GAP = 64, STRIDE = KIT_IO * KIT_BYTES + GAP, THREADS = 2, TRIES = 20000 };
static const uint8_t mark = 0xA5;

#define OK(expr) check((expr), #expr, __LINE__)
static void check(enum status st, const char *what, int line)
{
    if (st != ST_OK)
        fail_msg("line %d: %s: %s: %s", line, what, status_name(st), kit_link->explain());
}

struct batch {
    struct kit_client c;
    uint8_t *memory;
    uint32_t map;
    struct rpc_io io[KIT_IO];
};

static void open_batch(struct batch *b, int (*binary)(uint64_t *))
{
    uint64_t bytes;
    OK(kit_open(&b->c));
    if (binary) {
        struct rpc_load l = { 0 };
        int fd = binary(&l.bytes);
        OK(kit_link->map(b->c.s, fd, 0, l.bytes, false, &l.map));
        OK(kit_link->load(b->c.s, &l));
        b->c.program = l.program;
    }
    bytes = (uint64_t)MOST * STRIDE;
    OK(rpc_alloc(bytes, (void **)&b->memory));
    OK(kit_link->map(b->c.s, rpc_fd(b->memory), 0, bytes, true, &b->map));
    for (uint32_t i = 0; i < KIT_IO; i++)
        b->io[i] = (struct rpc_io){ .map = b->map, .offset = i * KIT_BYTES, .bytes = KIT_BYTES, .stride = STRIDE };
}

static void close_batch(struct batch *b)
{
    kit_close(&b->c);
    OK(rpc_free(b->memory));
}

/* The client's own memory, with which kit_fill and kit_right work, and a slice. */
static void fill(struct batch *b, uint32_t n)
{
    memset(b->memory, mark, (size_t)MOST * STRIDE);
    for (uint32_t k = 0; k < n; k++) {
        kit_fill(&b->c, k + 1);
        memcpy(b->memory + (size_t)k * STRIDE, b->c.memory, KIT_BYTES);
    }
}

static void is_right(struct batch *b, uint32_t n)
{
    for (uint32_t k = 0; k < MOST; k++) {
        uint8_t *slice = b->memory + (size_t)k * STRIDE;
        memcpy(b->c.memory, slice, KIT_IO * KIT_BYTES);
        assert_true(k >= n || kit_right(&b->c, k + 1));
        for (size_t i = k < n ? KIT_IO * KIT_BYTES : 0; i < STRIDE; i++)
            assert_int_equal(slice[i], mark);
    }
}

static struct rpc_run run_of(struct batch *b, uint32_t n)
{
    return (struct rpc_run){ .program = b->c.program, .io = b->io, .n_io = KIT_IO, .slices = n };
}

static void test_every_number(void **state)
{
    (void)state;
    struct batch b;
    open_batch(&b, NULL);
    for (uint32_t n = MOST; n > 0; n--) {
        struct rpc_run r = run_of(&b, n);
        fill(&b, n);
        OK(kit_link->run(b.c.s, &r));
        is_right(&b, n);
        assert_int_equal(r.beside, n / THREADS * THREADS);
    }
    close_batch(&b);
}

static int window_binary(uint64_t *ret_bytes)
{
    return kit_window_binary(1 << 20, ret_bytes);
}

/* Each program of a slice has fast memory of its own, and the window of the session is left alone. */
static void test_fast_memory(void **state)
{
    (void)state;
    struct batch b;
    open_batch(&b, window_binary);
    for (uint32_t n = 2; n <= MOST; n += 3) {
        struct rpc_run r = run_of(&b, n);
        fill(&b, n);
        OK(kit_link->run(b.c.s, &r));
        is_right(&b, n);
        assert_int_equal(r.beside, n / THREADS * THREADS);
        assert_int_equal(r.yields.count, 0);
    }
    close_batch(&b);
}

/* Constants that are read elsewhere: also by the programs that were loaded for slices before. */
static void test_weights(void **state)
{
    (void)state;
    struct batch b;
    void *memory;
    uint32_t map;
    enum { BYTES = 1 << 16 };
    open_batch(&b, NULL);
    OK(rpc_alloc(BYTES, &memory));
    OK(kit_link->map(b.c.s, rpc_fd(memory), 0, BYTES, true, &map));
    for (int i = 0; i < 4; i++) {
        struct rpc_run r = run_of(&b, 4);
        OK(kit_link->set_weights(b.c.s, b.c.program, (struct rpc_pool){ .map = i % 2 ? map : 0 }));
        fill(&b, 4);
        OK(kit_link->run(b.c.s, &r));
        is_right(&b, 4);
        assert_int_equal(r.beside, 4);
    }
    /* They are really read there. */
    OK(kit_link->set_weights(b.c.s, b.c.program, (struct rpc_pool){ .map = map }));
    memset(memory, 0, BYTES);
    struct rpc_run r = run_of(&b, 2);
    fill(&b, 2);
    OK(kit_link->run(b.c.s, &r));
    for (uint32_t k = 0; k < 2; k++) {
        memcpy(b.c.memory, b.memory + (size_t)k * STRIDE, KIT_IO * KIT_BYTES);
        assert_false(kit_right(&b.c, k + 1));
    }
    kit_close(&b.c);
    OK(rpc_free(b.memory));
    OK(rpc_free(memory));
}

static void refused(struct batch *b, uint32_t n, const char *word)
{
    struct rpc_run r = run_of(b, n);
    assert_int_not_equal(kit_link->run(b->c.s, &r), ST_OK);
    if (!strstr(kit_link->explain(), word))
        fail_msg("\"%s\" does not say \"%s\"", kit_link->explain(), word);
}

static void test_refused(void **state)
{
    (void)state;
    struct batch b;
    open_batch(&b, NULL);
    fill(&b, 0);
    refused(&b, MOST + 1, "the mapping has");
    b.io[0].stride = UINT64_MAX - 3;
    refused(&b, 3, "the mapping has");
    b.io[0].stride = STRIDE + 2;
    refused(&b, 2, "multiple of 4");
    b.io[0].stride = STRIDE;
    is_right(&b, 0); /* nothing was written */
    close_batch(&b);

    open_batch(&b, kit_dynamic_binary);
    refused(&b, 2, "dynamic dimensions");
    close_batch(&b);
}

/* The signal of the client ends a batch between two commands, with its own error, and the program is whole. */
static void test_cancelled(void **state)
{
    (void)state;
    struct batch b;
    bool in_the_middle = false;
    open_batch(&b, NULL);
    for (uint32_t i = 0; i < TRIES && !in_the_middle; i++) {
        /* Up to 64 us, and up to twice as late in each further round: instrumented code takes longer to begin. */
        const uint64_t late_ns = (UINT64_C(1000) << i / 64 % 10) * (i % 64);
        struct cancel late = { .deadline_ns = clock_ns() + late_ns };
        struct rpc_run r = run_of(&b, MOST);
        r.cancel = &late;
        fill(&b, MOST);
        enum status st = kit_link->run(b.c.s, &r);
        if (st == ST_OK)
            is_right(&b, MOST);
        else
            assert_int_equal(st, ST_TIMED_OUT);
        in_the_middle = st == ST_TIMED_OUT && !strstr(kit_link->explain(), "before it began");
    }
    assert_true(in_the_middle);
    struct rpc_run r = run_of(&b, MOST);
    fill(&b, MOST);
    OK(kit_link->run(b.c.s, &r));
    is_right(&b, MOST);
    close_batch(&b);
}

struct low {
    struct batch *b;
    enum status st;
    _Atomic bool done;
};

/* Whole batches, until one gave way. */
static void *run_low(void *arg)
{
    struct low *low = arg;
    bool gave_way = false;
    for (uint32_t i = 0; i < TRIES && low->st == ST_OK && !gave_way; i++) {
        struct rpc_run r = run_of(low->b, MOST - 1);
        low->st = kit_link->run(low->b->c.s, &r);
        if (low->st == ST_OK && r.beside != MOST - 1)
            low->st = ST_INTERNAL;
        gave_way = r.yields.count > 0;
    }
    if (low->st == ST_OK && !gave_way)
        low->st = ST_NOT_FOUND;
    atomic_store(&low->done, true);
    return NULL;
}

/* All slices of LOW run side by side, and HIGH comes in between: both have their results. */
static void test_preempted(void **state)
{
    (void)state;
    struct batch b;
    struct kit_client *c = &b.c;
    pthread_t thread;
    open_batch(&b, NULL);
    fill(&b, MOST - 1);
    struct rpc_load l = { .map = c->binary };
    kit_binary(&l.bytes);
    OK(kit_link->load(c->s, &l));
    struct low low = { .b = &b };
    assert_int_equal(pthread_create(&thread, NULL, run_low, &low), 0);
    for (uint32_t i = 0; !atomic_load(&low.done); i++) {
        struct rpc_run high = { .program = l.program, .priority = 100, .io = c->io, .n_io = KIT_IO };
        kit_fill(c, i);
        OK(kit_link->run(c->s, &high));
        assert_true(kit_right(c, i));
    }
    pthread_join(thread, NULL);
    OK(low.st);
    is_right(&b, MOST - 1);
    close_batch(&b);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
    if (!kit_link)
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number), cmocka_unit_test(test_fast_memory), cmocka_unit_test(test_weights),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_cancelled),   cmocka_unit_test(test_preempted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

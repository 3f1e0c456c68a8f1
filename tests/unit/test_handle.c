/* SPDX-License-Identifier: Apache-2.0 */
/* Handles: stale, foreign and invented ids, growth, worn-out slots, and eight threads that get, put and close at once.
 * The table is included as source, so that a slot can be aged without sixteen million closings. */
#include "unit.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle.c"

enum { THREADS = 8, ROUNDS = 3000 };

static uint64_t bits(const void *h)
{
    return (uintptr_t)h;
}

static void *from_bits(uint64_t v)
{
    return (void *)(uintptr_t)v;
}

static void one_life(void **state)
{
    (void)state;
    int object;
    unsigned before = handle_live_count();
    void *h = handle_open(HANDLE_GRAPH, &object);
    assert_non_null(h);
    assert_int_equal(handle_live_count(), before + 1);
    assert_ptr_equal(handle_get(h, HANDLE_GRAPH), &object);
    assert_ptr_equal(handle_get(h, HANDLE_GRAPH), &object);
    handle_put(h);
    assert_string_equal(handle_describe(h, HANDLE_GRAPH), "valid");
    assert_string_equal(handle_describe(h, HANDLE_CONTEXT), "a graph handle");
    assert_null(handle_get(h, HANDLE_CONTEXT));
    assert_null(handle_close(h, HANDLE_CONTEXT, 0));
    assert_ptr_equal(handle_close(h, HANDLE_GRAPH, 1), &object); /* with the pin that is left */
    assert_int_equal(handle_live_count(), before);

    assert_null(handle_get(h, HANDLE_GRAPH));
    assert_null(handle_close(h, HANDLE_GRAPH, 0));
    handle_put(h);
    assert_string_equal(handle_describe(h, HANDLE_GRAPH), "already freed");

    void *again = handle_open(HANDLE_GRAPH, &object); /* the slot is used again, the id is another */
    assert_true(again != h);
    assert_null(handle_get(h, HANDLE_GRAPH));
    assert_string_equal(handle_describe(h, HANDLE_GRAPH), "already freed");
    handle_put(h);
    assert_ptr_equal(handle_close(again, HANDLE_GRAPH, 0), &object);
}

static void bad_arguments(void **state)
{
    (void)state;
    int object;
    assert_null(handle_open(HANDLE_GRAPH, NULL));
    assert_null(handle_open((enum handle_type)0, &object));
    assert_null(handle_open(HANDLE_TYPE_COUNT, &object));
    assert_null(handle_get(NULL, HANDLE_GRAPH));
    assert_null(handle_close(NULL, HANDLE_GRAPH, 0));
    handle_put(NULL);
    assert_string_equal(handle_describe(NULL, HANDLE_GRAPH), "NULL");
    for (int t = 1; t < HANDLE_TYPE_COUNT; t++) {
        assert_non_null(handle_type_name((enum handle_type)t));
        void *h = handle_open((enum handle_type)t, &object);
        assert_non_null(strstr(handle_describe(h, (enum handle_type)(t % 12 + 1)), handle_type_name((enum handle_type)t)));
        assert_ptr_equal(handle_close(h, (enum handle_type)t, 0), &object);
    }
    assert_string_equal(handle_type_name((enum handle_type)0), "unknown");
    assert_string_equal(handle_type_name((enum handle_type) - 5), "unknown");
}

/* Any other 64-bit value, in particular each that differs in one bit, is refused and changes nothing. */
static void foreign_and_garbage(void **state)
{
    (void)state;
    int object;
    void *h = handle_open(HANDLE_CONTEXT, &object);
    assert_string_equal(handle_describe(&object, HANDLE_CONTEXT), "not a handle of this library");
    assert_string_equal(handle_describe(from_bits(bits(h) ^ UINT64_C(1) << 60), HANDLE_CONTEXT),
                        "not a handle of this library");
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint64_t v = i < 64 ? bits(h) ^ UINT64_C(1) << i : i & 1 ? x : (bits(h) & ~UINT64_C(0xffffffffff)) | (x >> 24);
        if (v == bits(h))
            continue;
        void *bad = from_bits(v);
        for (int t = -1; t <= HANDLE_TYPE_COUNT; t += i < 64 ? 1 : 5) {
            assert_null(handle_get(bad, (enum handle_type)t));
            assert_null(handle_close(bad, (enum handle_type)t, (unsigned)i & 3));
        }
        handle_put(bad);
        assert_non_null(handle_describe(bad, HANDLE_CONTEXT));
    }
    handle_put(h); /* a pin nobody took */
    assert_ptr_equal(handle_get(h, HANDLE_CONTEXT), &object);
    assert_ptr_equal(handle_close(h, HANDLE_CONTEXT, 1), &object);
}

static void many_handles(void **state)
{
    (void)state;
    enum { N = 5000 };
    static int objects[N];
    static void *h[N];
    unsigned before = handle_live_count();
    for (int i = 0; i < N; i++)
        assert_non_null(h[i] = handle_open((enum handle_type)(1 + i % 12), &objects[i]));
    for (int i = 0; i < N; i++) {
        assert_ptr_equal(handle_get(h[i], (enum handle_type)(1 + i % 12)), &objects[i]);
        handle_put(h[i]);
    }
    assert_int_equal(handle_live_count(), before + N);
    for (int i = 0; i < N; i++)
        assert_ptr_equal(handle_close(h[i * 7 % N], (enum handle_type)(1 + i * 7 % N % 12), 0), &objects[i * 7 % N]);
    assert_int_equal(handle_live_count(), before);
    for (int i = 0; i < N; i++)
        assert_null(handle_get(h[i], (enum handle_type)(1 + i % 12)));
}

/* The last index of each chunk and the first of the next are neighbours in no memory, but in the arithmetic. */
static void indices_map_to_slots(void **state)
{
    (void)state;
    assert_int_equal(chunk_of(0), 0);
    assert_int_equal(chunk_of(FIRST_SLOTS - 1), 0);
    assert_int_equal(chunk_of(FIRST_SLOTS), 1);
    assert_int_equal(chunk_of(3 * FIRST_SLOTS - 1), 1);
    assert_int_equal(chunk_of(3 * FIRST_SLOTS), 2);
    assert_int_equal(chunk_of(SLOTS_MAX - 1), CHUNKS - 1);
    assert_true(SLOTS_MAX <= 0xffffff);
    assert_null(slot_at(SLOTS_MAX));
    assert_null(slot_at(UINT32_MAX));
}

static void worn_out_slot_is_retired(void **state)
{
    (void)state;
    int object;
    void *first = handle_open(HANDLE_LOG, &object);
    uint32_t index = id_split(first).index;
    assert_ptr_equal(handle_close(first, HANDLE_LOG, 0), &object);
    atomic_store(&slot_at(index)->word, (uint64_t)(GENERATION_MAX - 1) << 40);
    void *last = handle_open(HANDLE_LOG, &object);
    assert_int_equal(id_split(last).index, index);
    assert_int_equal(id_split(last).generation, GENERATION_MAX);
    assert_ptr_equal(handle_close(last, HANDLE_LOG, 0), &object);
    void *next = handle_open(HANDLE_LOG, &object);
    assert_int_not_equal(id_split(next).index, index);
    assert_null(handle_get(last, HANDLE_LOG));
    assert_null(handle_get(first, HANDLE_LOG));
    assert_ptr_equal(handle_close(next, HANDLE_LOG, 0), &object);
}

static void *close_in_thread(void *h)
{
    return handle_close(h, HANDLE_DEVICE, 0);
}

/* The second closer loses, but the pin it brought must end, or the first would wait for ever. */
static void losing_closer_gives_up_its_pin(void **state)
{
    (void)state;
    for (int brought = 0; brought < 2; brought++) {
        int object;
        void *h = handle_open(HANDLE_DEVICE, &object), *got = NULL;
        pthread_t t;
        assert_ptr_equal(handle_get(h, HANDLE_DEVICE), &object);
        assert_int_equal(pthread_create(&t, NULL, close_in_thread, h), 0);
        while (handle_get(h, HANDLE_DEVICE)) { /* until the other has begun */
            handle_put(h);
            sched_yield();
        }
        assert_string_equal(handle_describe(h, HANDLE_DEVICE), "already freed");
        assert_null(handle_close(h, HANDLE_DEVICE, (unsigned)brought));
        if (!brought)
            handle_put(h);
        pthread_join(t, &got);
        assert_ptr_equal(got, &object);
    }
}

/* Eight threads fight over one handle per round: all pin it when they can, all try to close it; one must win, and the
 * object (poisoned by the winner before it is freed) must never be seen by another after that. */
struct object {
    _Atomic int alive;
};

struct race {
    pthread_barrier_t barrier;
    _Atomic(void *) handle;
    _Atomic int winners, bad;
};

static void *racer(void *p)
{
    struct race *r = p;
    for (int round = 0; round < ROUNDS; round++) {
        if (pthread_barrier_wait(&r->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            struct object *o = malloc(sizeof(*o));
            o->alive = 1;
            r->winners = 0;
            r->handle = handle_open(HANDLE_MEM, o);
        }
        pthread_barrier_wait(&r->barrier);
        void *h = r->handle;
        unsigned own = 0;
        for (int i = 0; i < 4; i++) {
            struct object *o = handle_get(h, HANDLE_MEM);
            if (o && o->alive != 1)
                r->bad++;
            if (o && i < 3)
                handle_put(h);
            else
                own += o != NULL;
        }
        struct object *mine = handle_close(h, HANDLE_MEM, own);
        if (mine) {
            r->winners++;
            mine->alive = 0;
            free(mine);
        }
        if (handle_get(h, HANDLE_MEM))
            r->bad++;
        pthread_barrier_wait(&r->barrier);
        if (r->winners != 1)
            r->bad++;
    }
    return NULL;
}

static void threads_get_put_close_one(void **state)
{
    (void)state;
    struct race r = { .bad = 0 };
    pthread_t t[THREADS];
    unsigned before = handle_live_count();
    pthread_barrier_init(&r.barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, racer, &r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&r.barrier);
    assert_int_equal(r.bad, 0);
    assert_int_equal(handle_live_count(), before);
}

/* Eight threads open, use and close handles of their own through shared places, where others use and close them too. */
enum { PLACES = 16 };
static _Atomic(void *) places[PLACES];

static void drop(void *h)
{
    struct object *o = h ? handle_close(h, HANDLE_SIGNAL, 0) : NULL;
    if (o) {
        o->alive = 0;
        free(o);
    }
}

static void *trader(void *p)
{
    uint64_t x = 7919u * (1 + (uintptr_t)p);
    uintptr_t bad = 0;
    for (int i = 0; i < ROUNDS * 4; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        _Atomic(void *) *place = &places[x % PLACES];
        void *h = *place;
        struct object *o = handle_get(h, HANDLE_SIGNAL);
        if (o) {
            bad += o->alive != 1;
            handle_put(h);
        }
        if (x >> 20 & 1) {
            o = malloc(sizeof(*o));
            o->alive = 1;
            drop(atomic_exchange(place, handle_open(HANDLE_SIGNAL, o)));
        } else if (x >> 21 & 1) {
            drop(h);
        }
    }
    return (void *)bad;
}

static void threads_trade_handles(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    unsigned before = handle_live_count();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, trader, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    for (int i = 0; i < PLACES; i++)
        drop(places[i]);
    assert_int_equal(handle_live_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_life),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(foreign_and_garbage),
        cmocka_unit_test(many_handles),
        cmocka_unit_test(indices_map_to_slots),
        cmocka_unit_test(worn_out_slot_is_retired),
        cmocka_unit_test(losing_closer_gives_up_its_pin),
        cmocka_unit_test(threads_get_put_close_one),
        cmocka_unit_test(threads_trade_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

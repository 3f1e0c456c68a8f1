/* SPDX-License-Identifier: Apache-2.0 */
/* Handle table. Slots lie in chunks that double in size and never move, so a slot is found without a lock. All that decides
 * about a handle is one 64-bit word, so that "is it still valid" and "pin it" are one compare-and-swap:
 *
 *     63       40 39   32   31   30         0
 *     | generation | type | live |    pins   |       low half: also the futex on which handle_close waits
 *
 * Life of a slot: free (not live, type 0) -> live -> closing (not live, pins > 0) -> free. The generation grows each time
 * a slot is used; one that has used up its generations is never used again. The mutex is only for opening and closing. */
#include "base/handle.h"
#include "base/forks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define PIN_MASK UINT64_C(0x7fffffff)
#define LIVE (UINT64_C(1) << 31)
#define GENERATION_MAX 0xffffffu

enum { FIRST_SLOTS_LOG2 = 8, FIRST_SLOTS = 1 << FIRST_SLOTS_LOG2, CHUNKS = 24 - FIRST_SLOTS_LOG2 };
#define SLOTS_MAX ((FIRST_SLOTS << CHUNKS) - FIRST_SLOTS) /* index + 1 fits in 24 bits */

struct slot {
    _Atomic uint64_t word;
    void *object;       /* stable while pinned */
    uint32_t next_free; /* index + 1 */
};

struct id {
    uint32_t library, type, generation, index;
};

/* The first chunk is static: most clients never need more, and it outlives threads that still run at exit. */
static struct slot first_slots[FIRST_SLOTS];
static _Atomic(struct slot *) chunks[CHUNKS] = { first_slots }; /* chunk k has FIRST_SLOTS << k slots */
static _Atomic uint32_t library_tag;                            /* 0: nothing opened yet, all handles are foreign */
static _Atomic unsigned live_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lock)
/* Under the lock: slots ever used, list of free ones among them, generation that a fresh slot begins with. */
static uint32_t used_slots, free_list, first_generation;

static const char *const type_names[HANDLE_TYPE_COUNT] = {
    [HANDLE_LOG] = "log",
    [HANDLE_BACKEND] = "backend",
    [HANDLE_DEVICE] = "device",
    [HANDLE_CONTEXT] = "context",
    [HANDLE_GRAPH] = "graph",
    [HANDLE_MEM] = "memory",
    [HANDLE_PROFILE] = "profile",
    [HANDLE_SIGNAL] = "signal",
    [HANDLE_SYSTEM_CONTEXT] = "system context",
    [HANDLE_SYSTEM_LOG] = "system log",
    [HANDLE_SYSTEM_DLC] = "DLC",
    [HANDLE_SYSTEM_PROFILE] = "system profile",
    [HANDLE_SYSTEM_DLC_RECORD] = "DLC record",
    [HANDLE_SYSTEM_DLC_INFO] = "DLC info",
};

static const char *const live_texts[HANDLE_TYPE_COUNT] = {
    [HANDLE_LOG] = "a log handle",
    [HANDLE_BACKEND] = "a backend handle",
    [HANDLE_DEVICE] = "a device handle",
    [HANDLE_CONTEXT] = "a context handle",
    [HANDLE_GRAPH] = "a graph handle",
    [HANDLE_MEM] = "a memory handle",
    [HANDLE_PROFILE] = "a profile handle",
    [HANDLE_SIGNAL] = "a signal handle",
    [HANDLE_SYSTEM_CONTEXT] = "a system context handle",
    [HANDLE_SYSTEM_LOG] = "a system log handle",
    [HANDLE_SYSTEM_DLC] = "a DLC handle",
    [HANDLE_SYSTEM_PROFILE] = "a system profile handle",
    [HANDLE_SYSTEM_DLC_RECORD] = "a DLC record handle",
    [HANDLE_SYSTEM_DLC_INFO] = "a DLC info handle",
};

/* With handles left the client may still be running threads through us (destructors also run at exit): then the chunks
 * stay, as do the objects. */
__attribute__((destructor(101))) static void handle_unload(void)
{
    if (atomic_load(&live_count))
        return;
    for (int k = 1; k < CHUNKS; k++)
        mem_free(atomic_exchange(&chunks[k], NULL));
}

static struct id id_split(const void *handle)
{
    uint64_t v = (uintptr_t)handle;
    return (struct id){ (uint32_t)(v >> 56), (uint32_t)(v >> 48 & 0xff), (uint32_t)(v >> 24 & 0xffffff),
                        (uint32_t)(v & 0xffffff) - 1 };
}

static void *id_join(struct id id)
{
    return (void *)(uintptr_t)((uint64_t)id.library << 56 | (uint64_t)id.type << 48 | (uint64_t)id.generation << 24 |
                               (id.index + 1));
}

/* The word without pins of a slot that the id is right for. */
static uint64_t word_of(struct id id, uint64_t live)
{
    return (uint64_t)id.generation << 40 | (uint64_t)id.type << 32 | live;
}

static int chunk_of(uint32_t index)
{
    return 31 - __builtin_clz(index + FIRST_SLOTS) - FIRST_SLOTS_LOG2;
}

/* NULL when the index is outside of what was ever allocated; index 0xffffffff (id 0) included. */
static struct slot *slot_at(uint32_t index)
{
    if (index >= SLOTS_MAX)
        return NULL;
    int k = chunk_of(index);
    struct slot *chunk = atomic_load_explicit(&chunks[k], memory_order_acquire);
    return chunk ? &chunk[index + FIRST_SLOTS - ((uint32_t)FIRST_SLOTS << k)] : NULL;
}

/* The slot of a handle with this library's mark; whether the generation is right is for the caller to see in the word. */
static struct slot *slot_of(struct id id)
{
    bool ours = id.library && id.library == atomic_load_explicit(&library_tag, memory_order_relaxed);
    return ours && id.type ? slot_at(id.index) : NULL;
}

static _Atomic uint32_t *futex_of(struct slot *s)
{
    return (_Atomic uint32_t *)(void *)&s->word; /* the low half: x86-64 is little-endian */
}

/* Random, so that ids of another library or of an earlier load of this one are refused. */
static void draw_tag(void)
{
    uint64_t r = 0;
    if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
        r = clock_ns();
    r = (r ^ (uintptr_t)&library_tag) * UINT64_C(0x9e3779b97f4a7c15);
    first_generation = 1 + (uint32_t)(r >> 8 & 0x3fffff);
    atomic_store(&library_tag, 1 + (uint32_t)((r >> 40) % 255));
}

/* Under the lock: an index nobody uses, its slot allocated. */
static bool take_index(uint32_t *ret)
{
    if (free_list) {
        *ret = free_list - 1;
        free_list = slot_at(*ret)->next_free;
        return true;
    }
    if (used_slots >= SLOTS_MAX)
        return false;
    int k = chunk_of(used_slots);
    if (!atomic_load(&chunks[k])) {
        struct slot *chunk = mem_array(struct slot, (size_t)FIRST_SLOTS << k);
        if (!chunk)
            return false;
        atomic_store_explicit(&chunks[k], chunk, memory_order_release);
    }
    *ret = used_slots++;
    return true;
}

/* Take `n` pins off, whatever the state; false when the handle has not that many. `after` gets the new word. */
static bool unpin(struct slot *s, struct id id, uint64_t n, uint64_t *after)
{
    uint64_t w = atomic_load_explicit(&s->word, memory_order_relaxed);
    do {
        if ((w & ~(PIN_MASK | LIVE)) != word_of(id, 0) || (w & PIN_MASK) < n)
            return false;
        *after = w - n;
    } while (!atomic_compare_exchange_weak_explicit(&s->word, &w, *after, memory_order_release, memory_order_relaxed));
    return true;
}

static void unpin_and_wake(struct slot *s, struct id id, uint64_t n)
{
    uint64_t after;
    if (n && unpin(s, id, n, &after) && !(after & LIVE) && !(after & PIN_MASK))
        futex_wake(futex_of(s), 1);
}

/* From live to closing, the caller's own pins ended in the same step; exactly one thread gets true. */
static bool begin_close(struct slot *s, struct id id, uint64_t own_pins)
{
    uint64_t w = atomic_load_explicit(&s->word, memory_order_relaxed), next;
    do {
        if ((w & ~PIN_MASK) != word_of(id, LIVE))
            return false;
        uint64_t pins = w & PIN_MASK;
        next = word_of(id, 0) | (pins > own_pins ? pins - own_pins : 0);
    } while (!atomic_compare_exchange_weak_explicit(&s->word, &w, next, memory_order_acq_rel, memory_order_relaxed));
    return true;
}

static void give_back(struct slot *s, struct id id)
{
    pthread_mutex_lock(&lock);
    s->object = NULL;
    atomic_store_explicit(&s->word, (uint64_t)id.generation << 40, memory_order_release);
    if (id.generation < GENERATION_MAX) {
        s->next_free = free_list;
        free_list = id.index + 1;
    }
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&live_count, 1);
}

void *handle_open(enum handle_type type, void *object)
{
    if (!object || (unsigned)type < 1 || (unsigned)type >= HANDLE_TYPE_COUNT)
        return NULL;
    struct id id = { .type = (uint32_t)type };
    pthread_mutex_lock(&lock);
    if (!atomic_load(&library_tag))
        draw_tag();
    bool ok = take_index(&id.index);
    pthread_mutex_unlock(&lock);
    if (!ok)
        return NULL;

    struct slot *s = slot_at(id.index);
    uint32_t last = (uint32_t)(atomic_load(&s->word) >> 40);
    id.library = atomic_load(&library_tag);
    id.generation = last ? last + 1 : first_generation;
    s->object = object;
    atomic_fetch_add(&live_count, 1);
    atomic_store_explicit(&s->word, word_of(id, LIVE), memory_order_release);
    return id_join(id);
}

void *handle_get(const void *handle, enum handle_type type)
{
    struct id id = id_split(handle);
    struct slot *s = slot_of(id);
    if (!s || id.type != (unsigned)type)
        return NULL;
    uint64_t w = atomic_load_explicit(&s->word, memory_order_relaxed);
    do {
        if ((w & ~PIN_MASK) != word_of(id, LIVE) || (w & PIN_MASK) == PIN_MASK)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&s->word, &w, w + 1, memory_order_acquire, memory_order_relaxed));
    return s->object;
}

void handle_put(const void *handle)
{
    struct id id = id_split(handle);
    struct slot *s = slot_of(id);
    if (s)
        unpin_and_wake(s, id, 1);
}

void *handle_close(void *handle, enum handle_type type, unsigned own_pins)
{
    struct id id = id_split(handle);
    struct slot *s = slot_of(id);
    if (!s || id.type != (unsigned)type)
        return NULL;
    if (!begin_close(s, id, own_pins)) {
        unpin_and_wake(s, id, own_pins); /* the thread that won waits for them */
        return NULL;
    }
    for (uint64_t w; (w = atomic_load_explicit(&s->word, memory_order_acquire)) & PIN_MASK;)
        futex_wait(futex_of(s), (uint32_t)w);
    void *object = s->object;
    give_back(s, id);
    return object;
}

const char *handle_describe(const void *handle, enum handle_type wanted)
{
    if (!handle)
        return "NULL";
    struct id id = id_split(handle);
    struct slot *s = slot_of(id);
    uint64_t w = s ? atomic_load(&s->word) : 0;
    uint32_t generation = (uint32_t)(w >> 40);
    if (!generation || id.type >= HANDLE_TYPE_COUNT || id.generation > generation || !id.generation)
        return "not a handle of this library";
    if (id.generation < generation || !(w & LIVE))
        return "already freed";
    if ((w & ~PIN_MASK) != word_of(id, LIVE))
        return "not a handle of this library"; /* invented: right but for the type */
    return id.type == (unsigned)wanted ? "valid" : live_texts[id.type];
}

const char *handle_type_name(enum handle_type type)
{
    return (unsigned)type < HANDLE_TYPE_COUNT && type_names[type] ? type_names[type] : "unknown";
}

unsigned handle_live_count(void)
{
    return atomic_load(&live_count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a thread are a block of base/per_thread.h. Their users cannot fail, and a lost "this thread is in a
 * callback" would let a client wait for itself; so there is a reserve for threads whose first call finds no memory.
 *
 * A reserve's owner is found by its pthread_t. It is given back by the first call that finds memory again; of a thread
 * that ended before that, a later thread with the same pthread_t takes it over. All threads beyond the reserve share the
 * last one: messages may then reach another thread's log, and a call may be refused as one from a callback. */
#include "api/thread_words.h"

#include <stdatomic.h>

enum { RESERVES = 64 };

struct reserve {
    _Atomic uintptr_t owner; /* 0: free */
    struct thread_words words;
};

static struct per_thread words_slot = PER_THREAD_INIT(sizeof(struct thread_words));
static struct reserve reserves[RESERVES + 1];
static _Atomic unsigned reserves_taken;

static void words_free(void *block)
{
    per_thread_free_block(&words_slot, block);
}

__attribute__((constructor(101))) static void words_load(void)
{
    per_thread_open(&words_slot, words_free);
}

__attribute__((destructor(101))) static void words_unload(void)
{
    per_thread_close(&words_slot);
}

static struct reserve *reserve_find(uintptr_t owner)
{
    for (unsigned i = 0; i < RESERVES; i++)
        if (atomic_load(&reserves[i].owner) == owner)
            return &reserves[i];

    return NULL;
}

static struct reserve *reserve_take(uintptr_t owner)
{
    struct reserve *mine = reserve_find(owner);
    if (mine)
        return mine;

    for (unsigned i = 0; i < RESERVES; i++) {
        uintptr_t unowned = 0;
        if (!atomic_compare_exchange_strong(&reserves[i].owner, &unowned, owner))
            continue;
        atomic_fetch_add(&reserves_taken, 1);
        reserves[i].words = (struct thread_words){ 0 };
        return &reserves[i];
    }

    return &reserves[RESERVES];
}

/* Words that a thread had in the reserve move into its new block. */
static void reserve_move(uintptr_t owner, struct thread_words *words)
{
    struct reserve *mine = reserve_find(owner);
    if (!mine)
        return;

    struct per_thread_link link = words->link;
    *words = mine->words;
    words->link = link;
    atomic_store(&mine->owner, 0);
    atomic_fetch_sub(&reserves_taken, 1);
}

struct thread_words *thread_words(void)
{
    struct thread_words *words = per_thread_find(&words_slot);
    if (words)
        return words;

    uintptr_t self = (uintptr_t)pthread_self();
    words = per_thread_get(&words_slot);
    if (!words)
        return &reserve_take(self)->words;
    if (atomic_load(&reserves_taken))
        reserve_move(self, words);

    return words;
}

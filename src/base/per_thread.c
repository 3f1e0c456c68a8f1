/* SPDX-License-Identifier: Apache-2.0 */
#include "base/per_thread.h"

#include "base/mem.h"

static void link_block(struct per_thread *slot, struct per_thread_link *block)
{
    pthread_mutex_lock(&slot->lock);

    block->next = slot->all;
    if (slot->all)
        slot->all->prev = block;
    slot->all = block;

    pthread_mutex_unlock(&slot->lock);
}

static void unlink_block(struct per_thread *slot, struct per_thread_link *block)
{
    pthread_mutex_lock(&slot->lock);

    if (block->prev)
        block->prev->next = block->next;
    else
        slot->all = block->next;
    if (block->next)
        block->next->prev = block->prev;

    pthread_mutex_unlock(&slot->lock);
}

void per_thread_open(struct per_thread *slot, void (*free_block)(void *block))
{
    slot->has_key = pthread_key_create(&slot->key, free_block) == 0;
}

void per_thread_close(struct per_thread *slot)
{
    if (!slot->has_key)
        return;

    slot->has_key = false;
    pthread_key_delete(slot->key);
    while (slot->all)
        per_thread_free_block(slot, slot->all);
}

void per_thread_free_block(struct per_thread *slot, void *block)
{
    struct per_thread_link *link = block;

    if (link->is_static)
        return;
    unlink_block(slot, link);
    mem_free(link);
}

void *per_thread_find(const struct per_thread *slot)
{
    return slot->has_key ? pthread_getspecific(slot->key) : NULL;
}

void *per_thread_get(struct per_thread *slot)
{
    struct per_thread_link *block = per_thread_find(slot);
    if (block && !block->is_static)
        return block;
    if (!slot->has_key)
        return NULL;

    block = mem_zalloc(slot->block_size);
    if (!block)
        return NULL;
    if (pthread_setspecific(slot->key, block)) {
        mem_free(block);
        return NULL;
    }
    link_block(slot, block);

    return block;
}

void per_thread_set_static(struct per_thread *slot, void *block)
{
    if (slot->has_key)
        pthread_setspecific(slot->key, block);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The event tree behind a profile handle.
 *
 * Clients keep event ids for as long as the handle lives, also across calls that start a new window of top-level events. So
 * events never move and never go away before prof_free: they sit in chunks that only grow, and names are kept once each,
 * since a profile that is used for many executions sees the same few names again and again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile/profile.h"

enum { CHUNK_SHIFT = 8, CHUNK = 1 << CHUNK_SHIFT, NO_EVENT = -1, DROPPED = -2 };

/* Children form a list, so that listing them costs their number, not the number of all events. */
struct item {
    struct prof_event event;
    int32_t first, last, next;
    uint32_t n_children;
};

struct prof {
    uint32_t level;
    bool trace;
    uint32_t n;        /* events kept */
    uint32_t window;   /* the first event of the current call */
    uint64_t limit;    /* events per call */
    uint64_t dropped;
    int32_t first_root, last_root;
    uint32_t n_roots;
    struct arena arena;
    VEC(struct item *) chunks;
    const char **names; /* open addressing, a power of two of slots */
    size_t n_names, cap_names;
    struct str text; /* for names that are put together */
};

static struct item *item_at(const struct prof *p, uint32_t index)
{
    return &p->chunks.at[index >> CHUNK_SHIFT][index & (CHUNK - 1)];
}

static const char **name_slot(const char **slots, size_t cap, const char *name)
{
    size_t i = str_hash(name) & (cap - 1);
    while (slots[i] && strcmp(slots[i], name) != 0)
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static bool names_grow(struct prof *p)
{
    size_t cap = p->cap_names ? p->cap_names * 2 : 64;
    const char **slots = mem_array(const char *, cap);
    if (!slots)
        return false;
    for (size_t i = 0; i < p->cap_names; i++)
        if (p->names[i])
            *name_slot(slots, cap, p->names[i]) = p->names[i];
    mem_free(p->names);
    p->names = slots;
    p->cap_names = cap;
    return true;
}

/* The one copy of `name`, or NULL when out of memory. */
static const char *name_keep(struct prof *p, const char *name)
{
    if (p->n_names * 2 >= p->cap_names && !names_grow(p))
        return NULL;
    const char **slot = name_slot(p->names, p->cap_names, name);
    if (!*slot) {
        *slot = arena_strdup(&p->arena, name);
        if (*slot)
            p->n_names++;
    }
    return *slot;
}

static bool room_for_one(struct prof *p)
{
    if (p->n < p->chunks.n << CHUNK_SHIFT)
        return true;
    struct item *chunk = arena_array(&p->arena, struct item, CHUNK);
    struct item **slot = chunk ? vec_push(&p->chunks) : NULL;
    if (!slot)
        return false;
    *slot = chunk;
    return true;
}

static void link_child(struct prof *p, int32_t parent, int32_t id)
{
    int32_t *first = &p->first_root, *last = &p->last_root;
    uint32_t *count = &p->n_roots;
    if (parent != PROF_ROOT) {
        struct item *up = item_at(p, (uint32_t)parent);
        first = &up->first;
        last = &up->last;
        count = &up->n_children;
    }
    if (*last == NO_EVENT)
        *first = id;
    else
        item_at(p, (uint32_t)*last)->next = id;
    *last = id;
    (*count)++;
}

static int32_t drop(struct prof *p)
{
    p->dropped++;
    return DROPPED;
}

int32_t prof_add(struct prof *p, int32_t parent, uint32_t type, uint32_t unit, uint64_t value, const char *name)
{
    bool known = parent == PROF_ROOT || (parent >= 0 && (uint32_t)parent < p->n);
    if (!known || p->n == INT32_MAX || p->n - p->window >= p->limit || !room_for_one(p))
        return drop(p);
    const char *kept = name_keep(p, name ? name : "");
    if (!kept)
        return drop(p);
    int32_t id = (int32_t)p->n++;
    *item_at(p, (uint32_t)id) = (struct item){
        .event = { .type = type,
                   .unit = unit,
                   .value = value,
                   .timestamp_us = clock_wall_us(),
                   .name = kept,
                   .parent = parent },
        .first = NO_EVENT,
        .last = NO_EVENT,
        .next = NO_EVENT,
    };
    link_child(p, parent, id);
    return id;
}

int32_t prof_addf(struct prof *p, int32_t parent, uint32_t type, uint32_t unit, uint64_t value, const char *format, ...)
{
    va_list arguments;

    p->text.n = 0;
    va_start(arguments, format);
    str_vaddf(&p->text, format, arguments);
    va_end(arguments);
    if (!p->text.failed)
        return prof_add(p, parent, type, unit, value, str_text(&p->text));

    str_finish(&p->text); /* the next name may be shorter */
    return drop(p);
}

void prof_set(struct prof *p, int32_t event, uint64_t value)
{
    if (event >= 0 && (uint32_t)event < p->n)
        item_at(p, (uint32_t)event)->event.value = value;
}

uint32_t prof_count(const struct prof *p)
{
    return p->n;
}

uint64_t prof_dropped(const struct prof *p)
{
    return p->dropped;
}

const struct prof_event *prof_at(const struct prof *p, uint32_t index)
{
    return index < p->n ? &item_at(p, index)->event : NULL;
}

uint32_t prof_children(const struct prof *p, int32_t parent, uint32_t *ids, uint32_t cap)
{
    if (parent != PROF_ROOT && (parent < 0 || (uint32_t)parent >= p->n))
        return 0;
    const struct item *up = parent == PROF_ROOT ? NULL : item_at(p, (uint32_t)parent);
    int32_t id = up ? up->first : p->first_root;
    for (uint32_t i = 0; id != NO_EVENT && i < cap; i++) {
        ids[i] = (uint32_t)id;
        id = item_at(p, (uint32_t)id)->next;
    }
    return up ? up->n_children : p->n_roots;
}

void prof_reset(struct prof *p)
{
    p->window = p->n;
    p->first_root = p->last_root = NO_EVENT;
    p->n_roots = 0;
    p->dropped = 0;
}

void prof_limit(struct prof *p, uint64_t max_events)
{
    p->limit = max_events;
}

uint32_t prof_level(const struct prof *p)
{
    return p->level;
}

void prof_set_trace(struct prof *p, bool on)
{
    p->trace = on;
}

bool prof_trace(const struct prof *p)
{
    return p->trace;
}

void prof_free(struct prof *p)
{
    if (!p)
        return;
    vec_finish(&p->chunks);
    mem_free(p->names);
    str_finish(&p->text);
    arena_finish(&p->arena);
    mem_free(p);
}

enum status prof_create(uint32_t level, struct prof **ret)
{
    struct prof *p = mem_new(struct prof);
    RETURN_IF(!p, ST_NO_MEMORY, "profile: no memory for the profile object");
    p->level = level;
    p->limit = UINT64_MAX;
    arena_init(&p->arena);
    str_init(&p->text);
    prof_reset(p);
    *ret = p;
    return ST_OK;
}

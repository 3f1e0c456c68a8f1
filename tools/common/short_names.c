/* SPDX-License-Identifier: Apache-2.0 */
/* A name is cut into words at / ; : . _ and the like. For runs of one word, then two, and so on, a table counts in how many
 * names a run occurs; a name takes the first run that occurs in it alone. */
#include "common/short_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
    SHORT_ENOUGH = 18, /* letters of a name that is left as it is */
    MOST_WORDS = 96,   /* of a name that are looked at */
    LONGEST_RUN = 8,   /* words */
};

struct word {
    uint32_t from, to; /* letters of the name */
};

struct name {
    const char *text;
    uint32_t n;
    struct word words[MOST_WORDS];
};

/* In how many names a run occurs: 1, or 2 for several. */
struct count {
    uint64_t hash;
    uint32_t last; /* name that was counted last, by its number + 1; 0: an empty place */
    bool several;
};

struct table {
    struct count *at;
    size_t mask;
};

static void cut(struct name *name, const char *text)
{
    uint32_t i = 0;

    name->text = text;
    name->n = 0;
    while (text[i] && name->n < MOST_WORDS) {
        while (text[i] && !isalnum((unsigned char)text[i]))
            i++;
        uint32_t from = i;
        while (text[i] && isalnum((unsigned char)text[i]))
            i++;
        if (i > from)
            name->words[name->n++] = (struct word){ from, i };
    }
}

/* Of the words only, so that a_b and a/b are one run. */
static uint64_t hash_of(const struct name *name, uint32_t first, uint32_t n)
{
    uint64_t hash = 14695981039346656037u;

    for (uint32_t w = first; w < first + n; w++) {
        for (uint32_t i = name->words[w].from; i < name->words[w].to; i++)
            hash = (hash ^ (unsigned char)name->text[i]) * 1099511628211u;
        hash = (hash ^ '/') * 1099511628211u;
    }
    return hash;
}

static struct count *find(const struct table *t, uint64_t hash)
{
    size_t i = hash & t->mask;

    while (t->at[i].last && t->at[i].hash != hash)
        i = (i + 1) & t->mask;
    return &t->at[i];
}

static void count_runs(const struct table *t, const struct name *name, uint32_t number, uint32_t length)
{
    for (uint32_t w = 0; w + length <= name->n; w++) {
        uint64_t hash = hash_of(name, w, length);
        struct count *c = find(t, hash);

        c->several |= c->last && c->last != number + 1;
        c->hash = hash;
        c->last = number + 1;
    }
}

/* The first run of so many words that begins with a letter and occurs in no other name. */
static const char *choose(const struct table *t, const struct name *name, uint32_t length, struct arena *a)
{
    for (uint32_t w = 0; w + length <= name->n; w++) {
        uint32_t from = name->words[w].from;
        uint32_t to = name->words[w + length - 1].to;

        if (!isalpha((unsigned char)name->text[from]))
            continue;
        if (!find(t, hash_of(name, w, length))->several)
            return arena_printf(a, "%.*s", (int)(to - from), name->text + from);
    }
    return NULL;
}

/* ---- all names -------------------------------------------------------------------------------------------------------- */

/* The first of equal names, by number; each counts once. */
static uint32_t *first_of_equals(const char *const *names, size_t n)
{
    size_t size = 16;
    while (size < 2 * n)
        size *= 2;

    uint32_t *first = mem_array(uint32_t, n + 1);
    CLEANUP(mem_freep) uint32_t *places = mem_array(uint32_t, size);

    for (size_t i = 0; first && places && i < n; i++) {
        size_t k = str_hash(names[i]) & (size - 1);

        while (places[k] && !str_eq(names[places[k] - 1], names[i]))
            k = (k + 1) & (size - 1);
        if (!places[k])
            places[k] = (uint32_t)i + 1;
        first[i] = places[k] - 1;
    }
    if (places)
        return first;
    mem_free(first);
    return NULL;
}

struct shortener {
    const char *const *names;
    size_t n;
    const uint32_t *first; /* per name, the first that is equal */
    struct table table;
    struct arena *a;
    const char **ret;
};

/* Names without a short one yet get a run of so many words, where one is theirs alone; *left: some still have none. */
static void with_runs(const struct shortener *s, uint32_t length, bool *left)
{
    struct name name;

    memset(s->table.at, 0, (s->table.mask + 1) * sizeof *s->table.at);
    for (size_t i = 0; i < s->n; i++) {
        cut(&name, s->names[i]);
        if (s->first[i] == i)
            count_runs(&s->table, &name, (uint32_t)i, length);
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->ret[i] || s->first[i] != i)
            continue;
        cut(&name, s->names[i]);
        s->ret[i] = choose(&s->table, &name, length, s->a);
        *left |= !s->ret[i];
    }
}

static size_t all_words(const char *const *names, size_t n)
{
    struct name name;
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        cut(&name, names[i]);
        sum += name.n;
    }
    return sum;
}

enum status short_names(const char *const *names, size_t n, struct arena *a, const char **ret)
{
    size_t size = 64;
    bool left = true;

    while (size < 2 * all_words(names, n))
        size *= 2;
    CLEANUP(mem_freep) uint32_t *first = first_of_equals(names, n);
    CLEANUP(mem_freep) struct count *counts = mem_array(struct count, size);
    RETURN_IF(!first || !counts, ST_NO_MEMORY, "no memory to shorten %zu names", n);

    struct shortener s = { .names = names, .n = n, .first = first, .table = { counts, size - 1 }, .a = a, .ret = ret };
    for (size_t i = 0; i < n; i++)
        ret[i] = strlen(names[i]) <= SHORT_ENOUGH ? names[i] : NULL;
    for (uint32_t length = 1; left && length <= LONGEST_RUN; length++) {
        left = false;
        with_runs(&s, length, &left);
    }
    for (size_t i = 0; i < n; i++)
        if (!ret[i])
            ret[i] = ret[first[i]] ? ret[first[i]] : names[i];
    return ST_OK;
}

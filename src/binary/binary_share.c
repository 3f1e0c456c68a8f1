/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of several graphs in one file. A graph whose constants are to a good part in the section of graphs before it
 * names them there, and adds what is not:
 *
 *     prefill:  embeddings weights mask                     section 0:  embeddings weights mask | mask'
 *     decode:   embeddings weights mask'        becomes     both graphs name it
 *
 * Others begin a section of their own, so that a graph that is used alone brings little that only others need. Bytes are
 * compared, not names; the first graph of a section keeps its offsets. Where graphs are to stay apart, only those that had
 * one section before share one. */
#include <string.h>
#include <zlib.h>

#include "binary/binary_format.h"

enum {
    SHARE_LEAST = 8,     /* graphs join where at least one byte of so many is there already */
    SHARE_SAMPLE = 1024, /* of a constant's bytes at either end are hashed: those that are equal are compared anyway */
};

static enum status no_memory(void)
{
    return status_fail(ST_NO_MEMORY, "context binary: no memory to find constants that graphs share");
}

static uint32_t hash_of(const uint8_t *data, uint64_t bytes)
{
    uint64_t part = bytes < SHARE_SAMPLE ? bytes : SHARE_SAMPLE;
    uint32_t crc = (uint32_t)crc32_z(0, data, part);
    return (uint32_t)crc32_z(crc, data + bytes - part, part) ^ (uint32_t)bytes * 0x9e3779b9u;
}

/* Updateable constants belong to their graph alone. */
static bool can_share(const struct binary_tensor *t)
{
    return t->place == PLACE_CONST && t->bytes && !t->updateable;
}

/* ---- what is there ---------------------------------------------------------------------------------------------------- */

/* Constants with the same hash are a list; slots hold 1 + the index of its first. */
static enum status grow_slots(struct bin_share *s)
{
    size_t n = s->slots.n ? s->slots.n * 2 : 256;
    uint32_t *at = mem_array(uint32_t, n);
    if (!at)
        return no_memory();
    mem_free(s->slots.at);
    s->slots.at = at;
    s->slots.n = s->slots.cap = n;
    for (uint32_t i = 0; i < s->consts.n; i++) {
        struct bin_shared *c = &s->consts.at[i];
        c->next = at[c->hash & (n - 1)];
        at[c->hash & (n - 1)] = i + 1;
    }
    return ST_OK;
}

static enum status remember(struct bin_share *s, struct bin_shared c)
{
    if (s->consts.n >= s->slots.n)
        TRY(grow_slots(s));
    struct bin_shared *slot = vec_push(&s->consts);
    if (!slot)
        return no_memory();
    uint32_t *first = &s->slots.at[c.hash & (s->slots.n - 1)];
    *slot = c;
    slot->next = *first;
    *first = (uint32_t)s->consts.n;
    return ST_OK;
}

/* The next constant with these bytes behind `after`, NULL for the first. */
static const struct bin_shared *find(const struct bin_share *s, const struct bin_shared *want,
                                     const struct bin_shared *after)
{
    uint32_t i = after ? after->next : s->slots.n ? s->slots.at[want->hash & (s->slots.n - 1)] : 0;
    for (; i; i = s->consts.at[i - 1].next) {
        const struct bin_shared *c = &s->consts.at[i - 1];
        if (c->hash == want->hash && c->bytes == want->bytes && memcmp(c->data, want->data, c->bytes) == 0)
            return c;
    }
    return NULL;
}

static struct bin_shared constant_of(const struct binary_graph *g, const struct binary_tensor *t)
{
    const uint8_t *data = g->constants + t->offset;
    return (struct bin_shared){ .data = data, .bytes = t->bytes, .offset = t->offset, .hash = hash_of(data, t->bytes) };
}

/* ---- one graph -------------------------------------------------------------------------------------------------------- */

/* The section that has most of a graph's bytes, BINARY_NONE when none has enough. */
static enum status choose(const struct bin_share *s, const struct binary_graph *g, uint32_t *ret)
{
    *ret = BINARY_NONE;
    if (!s->sections.n)
        return ST_OK;
    uint64_t *found = mem_array(uint64_t, s->sections.n), all = 0, most = 0;
    if (!found)
        return no_memory();
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        if (!can_share(t))
            continue;
        struct bin_shared want = constant_of(g, t);
        all += t->bytes;
        for (const struct bin_shared *c = find(s, &want, NULL); c; c = find(s, &want, c))
            found[c->section] += t->bytes;
    }
    for (uint32_t i = 0; i < s->sections.n; i++)
        if (found[i] > most && found[i] >= all / SHARE_LEAST) {
            most = found[i];
            *ret = i;
        }
    mem_free(found);
    return ST_OK;
}

static const struct bin_shared *find_in(const struct bin_share *s, const struct bin_shared *want, uint32_t section)
{
    const struct bin_shared *c = find(s, want, NULL);
    while (c && c->section != section)
        c = find(s, want, c);
    return c;
}

/* Constants of a graph that are in a section where they were. */
static enum status keep(struct bin_share *s, const struct binary_graph *g, uint32_t section)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        if (!can_share(&g->tensors[i]))
            continue;
        struct bin_shared c = constant_of(g, &g->tensors[i]);
        c.section = section;
        if (!find_in(s, &c, section))
            TRY(remember(s, c));
    }
    return ST_OK;
}

/* The section that began as the one of this graph: graphs of a file that was merged before have one together. */
static uint32_t section_of(const struct bin_share *s, const struct binary_graph *g)
{
    for (uint32_t i = 0; i < s->sections.n; i++)
        if (s->sections.at[i].data == g->constants && s->sections.at[i].bytes == g->constant_bytes)
            return i;
    return BINARY_NONE;
}

static enum status begin_section(struct bin_share *s, const struct binary_graph *g, uint32_t crc, uint32_t *ret)
{
    struct bin_shared_section *section = vec_push(&s->sections);
    if (!section)
        return no_memory();
    *section = (struct bin_shared_section){ .data = g->constants, .bytes = g->constant_bytes, .crc = crc };
    section->size = section->bytes;
    *ret = (uint32_t)s->sections.n - 1;
    return keep(s, g, *ret);
}

/* Behind what the section has. */
static enum status append(struct bin_share *s, struct bin_shared *c, bool shared)
{
    struct bin_shared_section *section = &s->sections.at[c->section];
    c->offset = (section->size + BIN_ALIGN - 1) & ~(uint64_t)(BIN_ALIGN - 1);
    section->size = c->offset + c->bytes;
    struct bin_shared *slot = vec_push(&s->added);
    if (!slot)
        return no_memory();
    *slot = *c;
    return shared ? remember(s, *c) : ST_OK;
}

static enum status join(struct bin_share *s, const struct binary_graph *g, uint32_t section, struct bin_tensor *records)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        if (t->place != PLACE_CONST)
            continue;
        struct bin_shared want = constant_of(g, t);
        const struct bin_shared *c = can_share(t) ? find_in(s, &want, section) : NULL;
        want.section = section;
        if (!c)
            TRY(append(s, &want, can_share(t)));
        records[i].offset = c ? c->offset : want.offset;
    }
    return ST_OK;
}

enum status bin_share_graph(struct bin_share *s, const struct binary_graph *g, uint32_t crc, struct bin_tensor *records,
                            uint32_t *ret)
{
    *ret = section_of(s, g);
    if (*ret != BINARY_NONE)
        return keep(s, g, *ret);
    if (!s->apart)
        TRY(choose(s, g, ret));
    if (*ret == BINARY_NONE)
        return begin_section(s, g, crc, ret);
    return join(s, g, *ret, records);
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

enum status bin_share_pieces(const struct bin_share *s, struct bin_pieces *p)
{
    for (uint32_t i = 0; i < s->sections.n; i++) {
        const struct bin_shared_section *section = &s->sections.at[i];
        bool whole = section->size == section->bytes; /* nothing was added */
        TRY(bin_add(p, (struct bin_piece){ .kind = SEC_CONSTANTS,
                                           .index = i,
                                           .link = BINARY_NONE,
                                           .size = section->size,
                                           .data = whole ? section->data : NULL,
                                           .crc = section->crc,
                                           .has_crc = whole }));
    }
    return ST_OK;
}

void bin_share_fill(const struct bin_share *s, const struct bin_pieces *p, uint8_t *file)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct bin_piece *piece = &p->at[i];
        if (piece->kind != SEC_CONSTANTS || piece->data)
            continue;
        const struct bin_shared_section *section = &s->sections.at[piece->index];
        memcpy(file + piece->offset, section->data, section->bytes);
        for (size_t k = 0; k < s->added.n; k++)
            if (s->added.at[k].section == piece->index)
                memcpy(file + piece->offset + s->added.at[k].offset, s->added.at[k].data, s->added.at[k].bytes);
    }
}

void bin_share_finish(struct bin_share *s)
{
    vec_finish(&s->consts);
    vec_finish(&s->added);
    vec_finish(&s->sections);
    vec_finish(&s->slots);
}

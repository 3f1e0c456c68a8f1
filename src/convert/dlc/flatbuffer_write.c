/* SPDX-License-Identifier: Apache-2.0 */
/* Building a flatbuffer backwards. Numbers are little-endian as the machine's. */
#include "convert/dlc/flatbuffer_write.h"

#include <string.h>

#include "base/mem.h"

enum { ALIGN_MAX = 8 };
static const size_t size_max = (size_t)1 << 31; /* offsets are 32 bits with a sign */

void fbw_init(struct fbw *w, size_t expected)
{
    *w = (struct fbw){0};
    w->cap = expected < 1024 ? 1024 : expected;
    w->at = mem_alloc(w->cap);
    w->failed = !w->at;
}

void fbw_free(struct fbw *w)
{
    mem_free(w->at);
    *w = (struct fbw){.failed = true};
}

/* Room for `n` more bytes; what is written moves to the end of the larger block. */
static bool room(struct fbw *w, size_t n)
{
    if (w->failed)
        return false;
    if (n > size_max - w->used) {
        w->failed = w->too_large = true;
        return false;
    }
    if (n <= w->cap - w->used)
        return true;
    size_t cap = w->cap;
    while (cap < w->used + n)
        cap *= 2;
    uint8_t *at = mem_alloc(cap);
    w->failed = !at;
    if (!at)
        return false;
    memcpy(at + cap - w->used, w->at + w->cap - w->used, w->used);
    mem_free(w->at);
    w->at = at;
    w->cap = cap;
    return true;
}

static void put(struct fbw *w, const void *data, size_t n)
{
    if (!room(w, n))
        return;
    w->used += n;
    if (n)
        memcpy(w->at + w->cap - w->used, data, n);
}

/* Zeros, until what follows after `n` more bytes lies at a multiple of `align`, counted from the end. */
static void pad(struct fbw *w, size_t n, size_t align)
{
    static const uint8_t zero[ALIGN_MAX];
    put(w, zero, (align - (w->used + n) % align) % align);
}

static void put_u32(struct fbw *w, uint32_t v)
{
    put(w, &v, sizeof v);
}

static uint32_t place(const struct fbw *w)
{
    return w->failed ? 0 : (uint32_t)w->used;
}

/* The distance from here, where it will be written, to `to`. */
static void put_ref(struct fbw *w, uint32_t to)
{
    pad(w, 4, 4);
    put_u32(w, (uint32_t)(w->used + 4 - to));
}

uint32_t fbw_string(struct fbw *w, const char *s)
{
    size_t n = s ? strlen(s) : 0;
    pad(w, n + 1, 4);
    put(w, "", 1);
    put(w, s, n);
    put_u32(w, (uint32_t)n);
    return place(w);
}

uint32_t fbw_bytes(struct fbw *w, const void *data, uint64_t n)
{
    if (n > size_max) {
        w->failed = w->too_large = true;
        return 0;
    }
    pad(w, n, 8);
    put(w, data, n);
    put_u32(w, (uint32_t)n);
    return place(w);
}

uint32_t fbw_words(struct fbw *w, const void *data, uint32_t n)
{
    pad(w, 4 * (size_t)n, 4);
    put(w, data, 4 * (size_t)n);
    put_u32(w, n);
    return place(w);
}

uint32_t fbw_refs(struct fbw *w, const uint32_t *places, uint32_t n)
{
    pad(w, 4 * (size_t)n, 4);
    for (uint32_t i = n; i-- > 0;)
        put_ref(w, places[i]);
    put_u32(w, n);
    return place(w);
}

/* ---- tables ----------------------------------------------------------------------------------------------------------- */

void fbw_begin(struct fbw *w)
{
    memset(w->fields, 0, sizeof w->fields);
    w->n_fields = 0;
    w->table_end = (uint32_t)w->used;
}

static void field_done(struct fbw *w, unsigned field)
{
    w->fields[field] = (uint32_t)w->used;
    if (field >= w->n_fields)
        w->n_fields = field + 1;
}

void fbw_u8(struct fbw *w, unsigned field, uint8_t v, uint8_t absent)
{
    if (v == absent)
        return;
    put(w, &v, 1);
    field_done(w, field);
}

void fbw_i32(struct fbw *w, unsigned field, int32_t v, int32_t absent)
{
    if (v == absent)
        return;
    pad(w, 4, 4);
    put(w, &v, 4);
    field_done(w, field);
}

void fbw_f32(struct fbw *w, unsigned field, float v)
{
    pad(w, 4, 4);
    put(w, &v, 4);
    field_done(w, field);
}

void fbw_ref(struct fbw *w, unsigned field, uint32_t to)
{
    if (!to)
        return;
    put_ref(w, to);
    field_done(w, field);
}

/* The place of an equal description, or 0. */
static uint32_t find_vtable(const struct fbw *w, const uint16_t *vtable, size_t bytes)
{
    for (uint32_t i = 0; i < FBW_VTABLES && i < w->n_vtables; i++) {
        const uint8_t *at = w->at + w->cap - w->vtables[i];
        if (bytes <= w->vtables[i] && memcmp(at, vtable, bytes) == 0)
            return w->vtables[i];
    }
    return 0;
}

uint32_t fbw_end(struct fbw *w)
{
    pad(w, 4, 4);
    put_u32(w, 0); /* becomes the way to the description */
    if (w->failed)
        return 0;
    uint32_t table = (uint32_t)w->used;
    uint16_t vtable[2 + FBW_FIELDS] = {(uint16_t)(4 + 2 * w->n_fields), (uint16_t)(table - w->table_end)};
    for (uint32_t i = 0; i < w->n_fields; i++)
        vtable[2 + i] = w->fields[i] ? (uint16_t)(table - w->fields[i]) : 0;
    uint32_t at = find_vtable(w, vtable, vtable[0]);
    if (!at) {
        put(w, vtable, vtable[0]);
        if (w->failed)
            return 0;
        at = (uint32_t)w->used;
        w->vtables[w->n_vtables++ % FBW_VTABLES] = at;
    }
    int32_t way = (int32_t)at - (int32_t)table; /* the description is that far before the table; negative: behind it */
    memcpy(w->at + w->cap - table, &way, sizeof way);
    return table;
}

enum status fbw_finish(struct fbw *w, uint32_t root, const char identifier[4], const uint8_t prefix[8], const uint8_t **ret,
                       size_t *ret_size)
{
    pad(w, 8, ALIGN_MAX);
    put(w, identifier, 4);
    put_ref(w, root);
    if (prefix)
        put(w, prefix, 8);
    RETURN_IF(w->too_large, ST_NOT_SUPPORTED, "the model has more than 2 GiB of constants; a DLC of this form holds less");
    RETURN_IF(w->failed, ST_NO_MEMORY, "no memory for the parts of a DLC");
    *ret = w->at + w->cap - w->used;
    *ret_size = w->used;
    return ST_OK;
}

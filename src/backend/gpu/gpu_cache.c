/* SPDX-License-Identifier: Apache-2.0 */
/* Caches in memory and as bytes; the only parser of gpu_cache.h's form. */
#include "backend/gpu/gpu_cache.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

#define MAGIC "OQNC"
enum { VERSION = 1, MAX_ENTRIES = 1 << 14 }; /* entries are searched one by one */

struct header {
    char magic[4];
    uint32_t version, kind, n;
    struct gpu_key maker;
    uint32_t settings, crc;
};
static_assert(sizeof(struct header) == 40, "as gpu_cache.h says");

struct record {
    struct gpu_key key;
    uint64_t bytes;
};
static_assert(sizeof(struct record) == 24, "as gpu_cache.h says");

/* ---- keys ------------------------------------------------------------------------------------------------------------- */

static void mix(struct gpu_key *k, uint64_t v)
{
    k->at[0] = (k->at[0] ^ v) * 0x9fb21c651e98df25u;
    k->at[0] ^= k->at[0] >> 35;
    k->at[1] = (k->at[1] + v) * 0xd6e8feb86659fd93u;
    k->at[1] ^= k->at[1] >> 32;
}

void gpu_key_add(struct gpu_key *k, const void *data, uint64_t bytes)
{
    const uint8_t *p = data;
    uint64_t v;
    for (uint64_t left = bytes; left; left -= left < 8 ? left : 8, p += 8) {
        v = 0;
        memcpy(&v, p, left < 8 ? left : 8);
        mix(k, v);
    }
    mix(k, bytes);
}

void gpu_key_text(struct gpu_key *k, const char *text)
{
    gpu_key_add(k, text, strlen(text));
}

/* ---- entries ---------------------------------------------------------------------------------------------------------- */

void gpu_cache_finish(struct gpu_cache *c)
{
    for (size_t i = 0; i < c->entries.n; i++)
        mem_free(c->entries.at[i].data);
    vec_finish(&c->entries);
}

const struct gpu_entry *gpu_cache_find(const struct gpu_cache *c, const struct gpu_key *key)
{
    for (size_t i = 0; i < c->entries.n; i++)
        if (memcmp(&c->entries.at[i].key, key, sizeof *key) == 0)
            return &c->entries.at[i];
    return NULL;
}

static enum status put(struct gpu_cache *c, const struct gpu_key *key, const void *data, uint64_t bytes)
{
    struct gpu_entry *e = (struct gpu_entry *)(uintptr_t)gpu_cache_find(c, key);
    void *copy = mem_dup(data, bytes);
    if (!e && c->entries.n == MAX_ENTRIES) { /* the oldest goes */
        mem_free(c->entries.at[0].data);
        memmove(&c->entries.at[0], &c->entries.at[1], --c->entries.n * sizeof *e);
    }
    if (copy && !e && (e = vec_push(&c->entries)))
        e->key = *key;
    if (!copy || !e) {
        mem_free(copy);
        return status_fail(ST_NO_MEMORY, "no memory for %llu bytes of a cache", (unsigned long long)bytes);
    }
    mem_free(e->data);
    e->data = copy;
    e->bytes = bytes;
    return ST_OK;
}

enum status gpu_cache_put(struct gpu_cache *c, const struct gpu_key *key, const void *data, uint64_t bytes)
{
    TRY(put(c, key, data, bytes));
    c->changed = true;
    return ST_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------ */

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static enum status check_header(const struct gpu_cache *c, const void *data, uint64_t bytes, struct header *h)
{
    RETURN_IF(bytes < sizeof *h || memcmp(data, MAGIC, 4), ST_BAD_BINARY, "it is no cache of the GPU backend");
    memcpy(h, data, sizeof *h);
    RETURN_IF(h->version != VERSION || h->kind != (uint32_t)c->kind, ST_BINARY_CONFIG,
              "it has version %u and kind %u; %d and %d are expected", h->version, h->kind, (int)VERSION, (int)c->kind);
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)data + sizeof *h, bytes - sizeof *h);
    RETURN_IF(crc != h->crc, ST_BAD_BINARY, "it is damaged: checksum %08x, expected %08x", crc, h->crc);
    RETURN_IF(h->n > MAX_ENTRIES, ST_BAD_BINARY, "it has %u entries; at most %d are kept", h->n, (int)MAX_ENTRIES);
    RETURN_IF(memcmp(&h->maker, &c->maker, sizeof h->maker), ST_BINARY_CONFIG,
              "it was made by another version of the kernels");
    return ST_OK;
}

/* The record at *at, which moves behind it. */
static enum status next_record(const uint8_t *data, uint64_t bytes, uint64_t *at, struct record *r)
{
    RETURN_IF(bytes - *at < sizeof *r, ST_BAD_BINARY, "it ends inside an entry");
    memcpy(r, data + *at, sizeof *r);
    *at += sizeof *r;
    RETURN_IF(r->bytes > bytes - *at || padded(r->bytes) > bytes - *at, ST_BAD_BINARY,
              "an entry of %llu bytes reaches behind its end", (unsigned long long)r->bytes);
    *at += padded(r->bytes);
    return ST_OK;
}

enum status gpu_cache_read(struct gpu_cache *c, const void *data, uint64_t bytes)
{
    struct header h;
    struct record r;
    uint64_t at = sizeof h;
    TRY(check_header(c, data, bytes, &h));
    for (uint32_t i = 0; i < h.n; i++)
        TRY(next_record(data, bytes, &at, &r));
    at = sizeof h;
    for (uint32_t i = 0; i < h.n; i++) {
        uint64_t from = at + sizeof r;
        TRY(next_record(data, bytes, &at, &r));
        if (!gpu_cache_find(c, &r.key))
            TRY(put(c, &r.key, (const uint8_t *)data + from, r.bytes));
    }
    c->settings = c->settings ? c->settings : h.settings;
    return ST_OK;
}

enum status gpu_cache_write(const struct gpu_cache *c, void **ret, uint64_t *bytes)
{
    struct header h = { .magic = MAGIC,
                        .version = VERSION,
                        .kind = c->kind,
                        .n = (uint32_t)c->entries.n,
                        .maker = c->maker,
                        .settings = c->settings };
    uint64_t total = sizeof h, at = sizeof h;
    for (size_t i = 0; i < c->entries.n; i++)
        total += sizeof(struct record) + padded(c->entries.at[i].bytes);
    uint8_t *data = mem_zalloc(total);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for a cache of %llu bytes", (unsigned long long)total);
    for (size_t i = 0; i < c->entries.n; i++) {
        const struct gpu_entry *e = &c->entries.at[i];
        memcpy(data + at, &(struct record){ e->key, e->bytes }, sizeof(struct record));
        memcpy(data + at + sizeof(struct record), e->data, e->bytes);
        at += sizeof(struct record) + padded(e->bytes);
    }
    h.crc = (uint32_t)crc32_z(0, data + sizeof h, total - sizeof h);
    memcpy(data, &h, sizeof h);
    *ret = data;
    *bytes = total;
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a context, and the repository that keeps them for the next process. */
#include "backend/gpu/gpu_registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/mem.h"

/* One file per op package; the built-in one is the only one there is. */
#define FILE_NAME "gpukernelcache.qti.aisw"

void gpu_registry_init(struct gpu_registry *r, const char *folder, bool fresh)
{
    *r = (struct gpu_registry){ .cache = { .kind = GPU_CACHE_PROGRAMS, .maker = gpu_program_maker() } };
    if (!folder[0])
        return;
    snprintf(r->path, sizeof r->path, "%s/" FILE_NAME, folder);
    if (fresh)
        unlink(r->path);
    if (gpu_cache_load(&r->cache, r->path) == ST_OK)
        return;
    backend_log(BACKEND_WARN, "GPU kernel repository: %s; it is ignored and written again", status_text());
    r->cache.changed = true;
}

static bool switched_off(void)
{
    const char *wanted = getenv("OPENQNN_GPU_BINARIES");
    return wanted && strcmp(wanted, "off") == 0;
}

const struct gpu_entry *gpu_registry_find(const struct gpu_registry *r, const struct gpu_key *key)
{
    return switched_off() ? NULL : gpu_cache_find(&r->cache, key);
}

static enum status add_program(struct gpu_registry *r, struct gpu_home *h, enum gpu_source source, enum gpu_storage storage)
{
    CLEANUP(mem_freep) void *data = NULL;
    uint64_t bytes;
    if (!r->used[source][storage])
        return ST_OK;
    struct gpu_key key = gpu_program_key(h, source, storage);
    if (gpu_cache_find(&r->cache, &key))
        return ST_OK;
    TRY(gpu_program_bytes(h, source, storage, &data, &bytes));
    return gpu_cache_put(&r->cache, &key, data, bytes);
}

/* A device may have no device binaries; then there is only text. */
static void add_programs(struct gpu_registry *r, struct gpu_home *h)
{
    for (int s = 0; s < GPU_SOURCE_COUNT && !switched_off(); s++)
        for (int t = 0; t < GPU_STORAGE_COUNT; t++)
            if (add_program(r, h, (enum gpu_source)s, (enum gpu_storage)t) != ST_OK)
                backend_log(BACKEND_WARN, "GPU: a program is not stored: %s", status_text());
}

static void save(struct gpu_registry *r)
{
    enum status st = gpu_cache_load(&r->cache, r->path); /* what others added meanwhile */
    if (gpu_cache_save(&r->cache, r->path) != ST_OK)
        backend_log(BACKEND_WARN, "GPU kernel repository: %s; kernels are not kept", status_text());
    else if (st == ST_OK)
        backend_log(BACKEND_INFO, "GPU kernel repository: \"%s\" has %zu programs", r->path, r->cache.entries.n);
}

void gpu_registry_finish(struct gpu_registry *r, struct gpu_home *h)
{
    if (r->path[0])
        add_programs(r, h);
    if (r->path[0] && r->cache.changed)
        save(r);
    gpu_cache_finish(&r->cache);
    mem_free(r->bytes);
    *r = (struct gpu_registry){ 0 };
}

void gpu_registry_read(struct gpu_registry *r, const struct binary *b)
{
    if (r->seen == b || !b->own_bytes)
        return;
    r->seen = b;
    size_t before = r->cache.entries.n;
    if (gpu_cache_read(&r->cache, b->own, b->own_bytes) != ST_OK)
        backend_log(BACKEND_INFO, "GPU: device binaries of the context binary are not used: %s", status_text());
    r->cache.changed |= r->cache.entries.n > before;
}

static enum status write_used(struct gpu_registry *r, struct gpu_home *h, struct gpu_cache *out)
{
    for (int s = 0; s < GPU_SOURCE_COUNT; s++) {
        for (int t = 0; t < GPU_STORAGE_COUNT; t++) {
            if (!r->used[s][t])
                continue;
            struct gpu_key key = gpu_program_key(h, (enum gpu_source)s, (enum gpu_storage)t);
            const struct gpu_entry *e = gpu_cache_find(&r->cache, &key);
            if (e)
                TRY(gpu_cache_put(out, &key, e->data, e->bytes));
        }
    }
    return ST_OK;
}

enum status gpu_registry_write(struct gpu_registry *r, struct gpu_home *h, const void **ret, uint64_t *bytes)
{
    CLEANUP(gpu_cache_finish)
    struct gpu_cache out = { .kind = GPU_CACHE_PROGRAMS, .maker = r->cache.maker, .settings = r->cache.settings };
    add_programs(r, h);
    TRY(write_used(r, h, &out));
    mem_free(TAKE(r->bytes));
    TRY(gpu_cache_write(&out, &r->bytes, bytes));
    *ret = r->bytes;
    return ST_OK;
}

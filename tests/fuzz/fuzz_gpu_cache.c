/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: caches of the GPU backend. Each input is tried as it is and once more with its maker and checksum made right;
 * what is read and written again reads the same. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "backend/gpu/gpu_cache.h"
#include "base/mem.h"

enum { HEADER = 40, MAKER = 16, CHECKSUM = 36 };

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void same(const struct gpu_cache *a, const struct gpu_cache *b)
{
    require(a->entries.n == b->entries.n && a->settings == b->settings);
    for (size_t i = 0; i < a->entries.n; i++) {
        const struct gpu_entry *e = gpu_cache_find(b, &a->entries.at[i].key);
        require(e && e->bytes == a->entries.at[i].bytes && memcmp(e->data, a->entries.at[i].data, e->bytes) == 0);
    }
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct gpu_cache a = { .kind = GPU_CACHE_PROGRAMS }, b = a;
    void *bytes;
    uint64_t n;
    status_clear();
    if (gpu_cache_read(&a, data, size) != ST_OK) {
        require(status_text()[0] && !a.entries.n);
        return;
    }
    require(gpu_cache_write(&a, &bytes, &n) == ST_OK && gpu_cache_read(&b, bytes, n) == ST_OK);
    same(&a, &b);
    mem_free(bytes);
    gpu_cache_finish(&a);
    gpu_cache_finish(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    if (size < HEADER)
        return 0;
    uint8_t *copy = malloc(size);
    require(copy != NULL);
    memcpy(copy, data, size);
    memset(copy + MAKER, 0, 16);
    uint32_t crc = (uint32_t)crc32_z(0, copy + HEADER, size - HEADER);
    memcpy(copy + CHECKSUM, &crc, sizeof crc);
    try_bytes(copy, size);
    free(copy);
    return 0;
}

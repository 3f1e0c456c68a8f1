/* SPDX-License-Identifier: Apache-2.0 */
/* What was dear to come by and may be used again: device binaries of programs, and sizes of work groups that tuning found. A
 * cache is a list of byte strings under 128-bit keys; keys are hashes of everything that a result depends on, so that an
 * entry that does not fit any more is simply never found. In memory, in files and in context binaries it has one form:
 *
 *     OFFSET  SIZE  FIELD
 *          0     4  magic "OQNC"
 *          4     4  format version, 1
 *          8     4  kind (enum gpu_cache_kind)
 *         12     4  number of entries
 *         16    16  maker: hash of the kernels' texts; a cache of another maker is of no use as a whole
 *         32     4  settings: 1 + performance hint of a saved context, 0: not said
 *         36     4  crc32 of all that follows
 *         40        entries: key (16), bytes n (8), n bytes, zeros up to a multiple of 8
 *
 * Nothing is trusted: gpu_cache_read takes any bytes. */
#ifndef BACKEND_GPU_GPU_CACHE_H
#define BACKEND_GPU_GPU_CACHE_H

#include <stdint.h>

#include "base/status.h"
#include "base/vec.h"

struct gpu_key {
    uint64_t at[2];
};

/* A hash that grows: begin with GPU_KEY_INIT. Strings are added with their end. */
#define GPU_KEY_INIT ((struct gpu_key){ { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu } })
void gpu_key_add(struct gpu_key *k, const void *data, uint64_t bytes);
void gpu_key_text(struct gpu_key *k, const char *text);

enum gpu_cache_kind { GPU_CACHE_PROGRAMS = 1, GPU_CACHE_TUNING = 2 };

struct gpu_entry {
    struct gpu_key key;
    void *data;
    uint64_t bytes;
};

struct gpu_cache {
    enum gpu_cache_kind kind;
    struct gpu_key maker;
    uint32_t settings;
    bool changed; /* has entries that its file does not have */
    VEC(struct gpu_entry) entries;
};

void gpu_cache_finish(struct gpu_cache *c);
const struct gpu_entry *gpu_cache_find(const struct gpu_cache *c, const struct gpu_key *key); /* NULL: none */
/* A copy of the bytes under a key that is not there yet, or in place of what is there. */
enum status gpu_cache_put(struct gpu_cache *c, const struct gpu_key *key, const void *data, uint64_t bytes);

/* Adds the entries of these bytes that are not there yet. ST_BAD_BINARY: damaged; ST_BINARY_CONFIG: of another maker, kind
 * or version. Nothing is added then. */
enum status gpu_cache_read(struct gpu_cache *c, const void *data, uint64_t bytes);
enum status gpu_cache_write(const struct gpu_cache *c, void **ret, uint64_t *bytes); /* free with mem_free */

/* The same with files. A file that is not there is an empty cache. Saving replaces the file at once: readers see the old one
 * or the new one. */
enum status gpu_cache_load(struct gpu_cache *c, const char *path);
enum status gpu_cache_save(const struct gpu_cache *c, const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: updates of context binaries, put together with the file that a graph was before. The checksum would stop
 * nearly every mutation, so each input is tried as it is and with the right one, and short ones as changes to a good update
 * (offset in two bytes, new value in one). */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../passes/handmade.h"
#include "fuzz_run.h"

enum { CRC_AT = 16, HEADER = 32, MAX_CHANGES = 60 };

static struct binary_image base_image, good;
static struct binary base;
static struct binary_constants constants;

static void make_good(void)
{
    static struct handmade made;
    const struct binary *part = &base;
    const struct binary_constants *list = &constants;
    hm_make(&made, "net", 8, 8); /* constants of a few bytes are not worth a hole */
    require(binary_write(&made.target, &made.src, &base_image) == ST_OK);
    require(binary_open(base_image.data, base_image.size, &base) == ST_OK);
    require(binary_list_constants(&base.graphs[0], &constants) == ST_OK);
    require(binary_update_write(&part, &list, 1, &good) == ST_OK);
}

static void repair(uint8_t *data, size_t size)
{
    if (size < HEADER)
        return;
    memset(data + CRC_AT, 0, 4);
    uint64_t told;
    memcpy(&told, data + 8, 8);
    uint32_t crc = (uint32_t)crc32_z(0, data, told < size ? told : size);
    memcpy(data + CRC_AT, &crc, 4);
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct binary_update u;
    status_clear();
    bool summed = binary_update_open(data, size, &u) == ST_OK;
    require(summed || status_text()[0] != '\0');
    if (binary_update_open_unsummed(data, size, &u) != ST_OK) {
        require(!summed);
        require(status_text()[0] != '\0');
        return;
    }
    for (uint32_t i = 0; i < u.n_parts; i++) {
        struct binary_image im;
        struct binary b;
        require(strlen(binary_update_name(&u, i)) < size);
        if (binary_update_build(&u, i, &constants, &im) != ST_OK)
            continue;
        if (binary_open(im.data, im.size, &b) == ST_OK)
            binary_close(&b);
        binary_image_free(&im);
    }
}

static void try_repaired(const uint8_t *data, size_t size, const uint8_t *changes, size_t n)
{
    uint8_t *copy = malloc(size ? size : 1);
    require(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    for (size_t i = 0; i + 3 <= n; i += 3)
        copy[(changes[i] | changes[i + 1] << 8) % size] = changes[i + 2];
    repair(copy, size);
    try_bytes(copy, size);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!good.data)
        make_good();
    try_bytes(data, size);
    try_repaired(data, size, NULL, 0);
    if (size <= MAX_CHANGES)
        try_repaired(good.data, good.size, data, size);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the reader of context binaries, and what runs behind it. Checksums would stop nearly every mutation at the
 * door, so each input is tried as it is, then with its checksums made right, then as a list of changes to a good file
 * (offset in two bytes, new value in one), since inserting a byte moves all that follows. A file that opens must dump, every
 * operator in it must bind or say why not, and a small one must load and run. */
#include <stdlib.h>
#include <string.h>

#include "../passes/handmade.h"
#include "fuzz_run.h"

enum { MAX_BYTES = 1 << 20, MAX_COMMANDS = 1 << 12, MAX_MACS = 1 << 22 };

static bool is_small(const struct binary_graph *g)
{
    uint64_t io = 0, work = 0;
    if (g->info.scratch_bytes > MAX_BYTES || g->info.persistent_bytes > MAX_BYTES || g->info.vtcm_bytes > MAX_BYTES ||
        g->info.spill_fill_bytes > MAX_BYTES || g->n_commands > MAX_COMMANDS)
        return false;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint64_t bytes = desc_bytes(&g->tensors[i].desc);
        if (bytes > MAX_BYTES)
            return false;
        io += g->tensors[i].io ? bytes : 0;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++)
            work += g->nodes[i].in[k] == BINARY_NONE ? 0 : desc_count(&g->tensors[g->nodes[i].in[k]].desc);
    return io <= 4 * MAX_BYTES && work <= MAX_MACS;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct binary b;
    status_clear();
    if (binary_open(data, size, &b) != ST_OK) {
        require(status_text()[0] != '\0');
        return;
    }
    struct str s;
    str_init(&s);
    binary_dump(&b, &s);
    require(!s.failed && s.n > 0);
    str_finish(&s);
    (void)binary_verify_constants(&b);
    for (uint32_t i = 0; i < b.n_graphs; i++) {
        bind_binary_graph(&b.graphs[i]);
        if (is_small(&b.graphs[i]))
            run_binary_graph(&b.graphs[i]);
    }
    binary_close(&b);
}

static void try_changes(const uint8_t *data, size_t size)
{
    static struct handmade made;
    struct binary_image im;
    hm_make(&made, "net", 2, 3);
    made.tensors[HM_X].desc.dynamic = size & 1; /* the shapes behind it are fixed: refused by some rules only */
    require(binary_write(&made.target, &made.src, &im) == ST_OK);
    uint8_t *file = im.data;
    for (size_t i = 0; i + 3 <= size; i += 3)
        file[(data[i] | data[i + 1] << 8) % im.size] = data[i + 2];
    hm_repair(file, im.size);
    try_bytes(file, im.size);
    binary_image_free(&im);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    require(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    hm_repair(copy, size);
    try_bytes(copy, size);
    free(copy);
    if (size <= 60)
        try_changes(data, size);
    return 0;
}

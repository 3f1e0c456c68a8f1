/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the ONNX front end. A file that converts gives a graph that verifies, can be printed, and runs when it is
 * small; one that is refused is explained. The bytes lie in a block of exactly their size, so that a read past the end is
 * seen. Options vary with the size of the input.
 *
 * Hardly a file survives inserted bytes, since every message says its length. So each input is also taken as changes of a
 * good file of the corpus: the first byte chooses the file, then groups of three bytes say where and what is replaced. Most
 * changes go to bytes that are no part of the framing, found by trying. FUZZ_DEPTH=1 tells at the end how far the inputs
 * came. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "convert/onnx/onnx_model.h"
#include "fuzz_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { SEEDS_MAX = 64, SEED_BYTES = 4096, CHANGES_MAX = 6 };
static struct {
    uint8_t bytes[SEED_BYTES];
    size_t size;
    uint16_t loose[SEED_BYTES]; /* positions that can be changed without breaking the framing */
    size_t n_loose;
} seeds[SEEDS_MAX];
static unsigned n_seeds;
static unsigned long tried[2], read_whole[2], converted[2]; /* as they are; as changes */

static void try_file(const void *data, size_t size, const struct convert_opts *o, bool changes)
{
    struct convert_report r;
    struct ir_graph *g = NULL;
    convert_report_init(&r);
    status_clear();
    enum status st = convert_onnx(data, size, NULL, o, &r, &g);
    require((st == ST_OK) == (g != NULL));
    tried[changes]++;
    read_whole[changes] += st != ST_BAD_TEXT;
    converted[changes] += st == ST_OK;
    if (g) {
        check_graph(g);
        compile_and_run(g);
    } else {
        require(status_text()[0] != 0);
    }
    for (size_t i = 0; i < r.issues.n; i++)
        require(r.issues.at[i].reason[0] != 0);
    ir_graph_free(g);
    convert_report_finish(&r);
}

static void try_exact(const uint8_t *data, size_t size, const struct convert_opts *o, bool changes)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        return;
    memcpy(exact, data, size);
    try_file(exact, size, o, changes);
    free(exact);
}

static void try_changes(const uint8_t *data, size_t size, const struct convert_opts *o)
{
    uint8_t copy[SEED_BYTES];
    unsigned k = data[0] % n_seeds, changes = 0;
    if (!seeds[k].size)
        return;
    memcpy(copy, seeds[k].bytes, seeds[k].size);
    for (size_t i = 1; i + 2 < size && changes < CHANGES_MAX; i += 3, changes++) {
        size_t at = data[i] | (size_t)data[i + 1] << 8;
        bool any = !seeds[k].n_loose || at % 16 == 0;
        copy[any ? at / 16 % seeds[k].size : seeds[k].loose[at / 16 % seeds[k].n_loose]] = data[i + 2];
    }
    try_exact(copy, seeds[k].size, o, true);
}

static bool is_framed(const uint8_t *bytes, size_t size)
{
    struct arena a;
    struct onnx_model m;
    arena_init(&a);
    bool ok = onnx_parse_model(&a, bytes, size, &m) == ST_OK;
    arena_finish(&a);
    return ok;
}

static void find_loose(unsigned k)
{
    for (size_t i = 0; i < seeds[k].size; i++) {
        uint8_t old = seeds[k].bytes[i];
        bool loose = true;
        for (unsigned v = 1; v < 256 && loose; v += 42) {
            seeds[k].bytes[i] = (uint8_t)(old ^ v);
            loose = is_framed(seeds[k].bytes, seeds[k].size);
        }
        seeds[k].bytes[i] = old;
        if (loose)
            seeds[k].loose[seeds[k].n_loose++] = (uint16_t)i;
    }
}

static void tell_depth(void)
{
    for (int i = 0; i < 2; i++)
        fprintf(stderr, "%s: %lu tried, %lu well-formed, %lu converted\n", i ? "changes of a good file" : "as they are",
                tried[i], read_whole[i], converted[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *folder = (*argv)[*argc - 1];
    DIR *d = opendir(folder);
    for (struct dirent *e; d && n_seeds < SEEDS_MAX && (e = readdir(d));) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        FILE *f = strstr(e->d_name, ".onnx") ? fopen(path, "rb") : NULL;
        if (!f)
            continue;
        seeds[n_seeds].size = fread(seeds[n_seeds].bytes, 1, SEED_BYTES, f);
        fclose(f);
        find_loose(n_seeds++);
    }
    if (d)
        closedir(d);
    if (getenv("FUZZ_DEPTH"))
        atexit(tell_depth);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct convert_opts o = {.preserve_io = size & 1, .float16 = size & 2};
    try_exact(data, size, &o, false);
    if (size && n_seeds)
        try_changes(data, size, &o);
    return 0;
}

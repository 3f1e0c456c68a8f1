/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the TFLite front end. A file that converts gives a graph that verifies, can be printed, and runs when it is
 * small; one that is refused is explained, and an unsupported one has a report. The bytes lie in a block of exactly their
 * size, once aligned and once not.
 *
 * Few files survive inserted bytes, so a short input is also taken as changes of a good file of the corpus: the first byte
 * chooses the file, then groups of four bytes say where, what, and how much of it is replaced. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "fuzz_run.h"

static void try_file(const void *data, size_t size, const struct convert_opts *o)
{
    struct convert_report r;
    struct ir_graph *g = NULL;
    convert_report_init(&r);
    status_clear();
    enum status st = convert_tflite(data, size, o, &r, &g);
    require((st == ST_OK) == (g != NULL));
    if (g) {
        check_graph(g);
        compile_and_run(g);
    } else {
        require(status_text()[0] != '\0');
    }
    require(st == ST_OK || st != ST_INTERNAL);
    ir_graph_free(g);
    convert_report_finish(&r);
}

static void try_bytes(const uint8_t *data, size_t size)
{
    static const struct convert_opts plain, others = {.batch = 3, .float16 = true, .preserve_io = true, .reset_state = true};
    char *exact = malloc(size + 1);
    require(exact != NULL);
    memcpy(exact, data, size);
    try_file(exact, size, &plain);
    memcpy(exact + 1, data, size);
    try_file(exact + 1, size, &others);
    free(exact);
}

/* ---- changes of good files ------------------------------------------------------------------------------------------ */

enum { MAX_GOOD = 16, MAX_BYTES = 4096, MAX_SHORT = 64 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    uint8_t at[MAX_BYTES];
    size_t n;
} good[MAX_GOOD];
static unsigned n_good;

static void keep_good(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = n_good < MAX_GOOD && strstr(name, ".tflite") ? fopen(path, "rb") : NULL;
    if (!f)
        return;
    good[n_good].n = fread(good[n_good].at, 1, MAX_BYTES, f);
    n_good += good[n_good].n > 8;
    fclose(f);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++) {
        struct dirent **names;
        int n = (*argv)[i][0] == '-' ? -1 : scandir((*argv)[i], &names, NULL, alphasort);
        for (int k = 0; k < n; k++) {
            keep_good((*argv)[i], names[k]->d_name);
            free(names[k]);
        }
        if (n >= 0)
            free(names);
    }
    return 0;
}

static void try_changes(const uint8_t *data, size_t size)
{
    static const uint32_t values[] = { 0,
                                       1,
                                       2,
                                       3,
                                       4,
                                       5,
                                       7,
                                       8,
                                       9,
                                       16,
                                       31,
                                       64,
                                       127,
                                       128,
                                       255,
                                       256,
                                       1000,
                                       65535,
                                       65536,
                                       1u << 24,
                                       INT32_MAX,
                                       1u << 31,
                                       UINT32_MAX - 1,
                                       UINT32_MAX,
                                       0x7f800000,
                                       0x7fc00000,
                                       0x3f800000 };
    unsigned file = data[0] % n_good;
    size_t n = good[file].n;
    uint8_t changed[MAX_BYTES];
    memcpy(changed, good[file].at, n);
    for (size_t i = 1; i + 4 <= size; i += 4) {
        size_t at = (data[i] + 256u * data[i + 1]) % n, width = data[i + 3] & 1 ? 1 : 4;
        uint32_t value = data[i + 3] & 2 ? data[i + 2] : values[data[i + 2] % (sizeof(values) / sizeof(values[0]))];
        at = width == 4 ? at & ~(size_t)3 : at;
        if (at + width <= n)
            memcpy(changed + at, &value, width);
    }
    try_bytes(changed, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    if (n_good && size >= 5 && size <= MAX_SHORT)
        try_changes(data, size);
    return 0;
}

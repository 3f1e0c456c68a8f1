/* SPDX-License-Identifier: Apache-2.0 */
/* How small tensors get: dlbc FILE.raw ... prints the bytes of the files, and those that compression leaves of them
 * (src/binary/binary_dlbc.c). The files are what qnn-net-run --debug writes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "binary/binary.h"

enum { LEAST = 64 /* bytes: smaller ones are counted as they are */ };

static uint8_t *read_file(const char *path, uint64_t *ret_bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;

    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (data && fread(data, 1, (size_t)size, f) != (size_t)size) {
        free(data);
        data = NULL;
    }
    fclose(f);
    *ret_bytes = (uint64_t)size;
    return data;
}

int main(int argc, char **argv)
{
    uint64_t all = 0, left = 0;

    for (int i = 1; i < argc; i++) {
        uint64_t bytes;
        uint8_t *data = read_file(argv[i], &bytes);
        if (!data) {
            perror(argv[i]);
            return 1;
        }
        all += bytes;
        left += bytes < LEAST ? bytes : binary_compressed_bytes(data, bytes);
        free(data);
    }
    if (!all) {
        fprintf(stderr, "usage: %s FILE.raw ...\n", argv[0]);
        return 2;
    }
    printf("%" PRIu64 " of %" PRIu64 " bytes, %.3f\n", left, all, (double)left / (double)all);
    return 0;
}

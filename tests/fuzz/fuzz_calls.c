/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: calls of the API in any order with any arguments, stale handles among them (tests/api/random_calls.c). The
 * first byte chooses the library, the others are the decisions of one player, who stops when they are used up. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../api/random_calls.h"
#include "fuzz_api.h"

enum { MAX_CALLS = 256, FILE_BYTES = 4096 };

static const char *const libraries[] = { "libQnnCpu.so", "libQnnHtp.so", "libQnnLpai.so" };

static int shared_file(void)
{
    static int fd = -1;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        require(fd >= 0 && ftruncate(fd, FILE_BYTES) == 0);
    }
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct player p;
    struct fuzz_library *l;

    if (size == 0)
        return 0;
    l = fuzz_library(libraries[data[0] % (sizeof(libraries) / sizeof(libraries[0]))]);
    provider = l->provider;
    q = l->q;

    memset(&p, 0, sizeof(p));
    player_init(&p, data[0]);
    random_calls_begin(shared_file());
    p.dice.script = data + 1;
    p.dice.left = size - 1;
    for (int i = 0; i < MAX_CALLS && p.dice.left > 0; i++)
        (void)fuzz_done(l, random_call(&p));
    random_calls_end();
    return 0;
}

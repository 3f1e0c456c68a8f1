/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are opened and closed for ever: all pairs, in every order, for many rounds.
 *
 * Programs with plugins open and close backends in any order. What a library leaves behind in the process (static
 * thread-local room, pthread keys, descriptors) runs out only after some dozen rounds.
 *
 *   test_reopen ROUNDS LIBRARY... */
#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "QNN/QnnInterface.h"

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void fail(const char *what, const char *library, unsigned round)
{
    printf("round %u: %s %s: %s\n", round, what, library, dlerror());
    exit(1);
}

/* A failing call and a free of a wrong handle: they use what the library keeps per thread. */
static void use(void *library)
{
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = NULL;
    *(void **)&get = dlsym(library, "QnnInterface_getProviders");
    if (!get)
        return;

    const QnnInterface_t **providers = NULL;
    uint32_t count = 0;
    if (get(&providers, &count) || count != 1) {
        printf("QnnInterface_getProviders gave %u providers\n", count);
        exit(1);
    }
    if (providers[0]->QNN_INTERFACE_VER_NAME.backendFree((Qnn_BackendHandle_t)(uintptr_t)12345) == QNN_SUCCESS) {
        printf("an invented handle was freed\n");
        exit(1);
    }
}

static void *open_library(const char *name, unsigned round)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail("open", name, round);
    use(library);
    return library;
}

static void close_library(void *library, const char *name, unsigned round)
{
    if (dlclose(library))
        fail("close", name, round);
}

/* Bit 0: which is opened first; bit 1: which is closed first. */
static void round_of_pair(const char *const names[2], unsigned round)
{
    unsigned first = round & 1;
    unsigned first_closed = round >> 1 & 1;
    void *opened[2];

    opened[first] = open_library(names[first], round);
    opened[!first] = open_library(names[!first], round);
    close_library(opened[first_closed], names[first_closed], round);
    close_library(opened[!first_closed], names[!first_closed], round);
}

/* One of the two is always open: each opens before the other closes. */
static void chain_of_pair(const char *const names[2], unsigned rounds)
{
    void *opened = open_library(names[0], 0);
    for (unsigned round = 0; round < rounds; round++) {
        unsigned next = (round + 1) & 1;
        void *other = open_library(names[next], round);
        close_library(opened, names[!next], round);
        opened = other;
    }
    close_library(opened, names[rounds & 1], rounds);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: test_reopen ROUNDS LIBRARY LIBRARY...\n");
        return 2;
    }
    unsigned rounds = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned before = descriptors();

    /* Errors without a log go to standard error; the wrong handle is told thousands of times. */
    if (!freopen("/dev/null", "w", stderr))
        return 2;

    unsigned pairs = 0;
    for (int i = 2; i < argc; i++) {
        for (int k = i + 1; k < argc; k++, pairs++) {
            const char *names[2] = { argv[i], argv[k] };
            for (unsigned round = 0; round < rounds; round++)
                round_of_pair(names, round);
            chain_of_pair(names, rounds);
        }
    }

    unsigned after = descriptors();
    printf("%u pairs, %u rounds each in four orders and in a chain; %u descriptors before, %u after\n", pairs, rounds,
           before, after);
    return after > before;
}

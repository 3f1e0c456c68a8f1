/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are opened and closed for ever, in orders drawn at random, for many rounds.
 *
 * Programs with plugins open and close backends in any order. What a library leaves behind in the process (static
 * thread-local room, pthread keys, descriptors) runs out only after some dozen rounds.
 *
 * A round opens two to ten of the libraries and closes them in another order, so that it tries dozens of pairs at
 * once; at the end each pair must have met in each of its four orders. Every other round leaves its last library
 * open until the next one has opened all of its own: the process then never has none.
 *
 *   test_reopen ROUNDS LIBRARY LIBRARY... */
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "QNN/QnnInterface.h"

enum { MOST_LIBRARIES = 64, MOST_OPEN = 10 };

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

/* Numbers from 0 to below - 1, the same in each run of the test. */
static unsigned drawn(unsigned below)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % below);
}

static void shuffle(unsigned *items, unsigned count)
{
    for (unsigned i = count; i > 1; i--) {
        unsigned k = drawn(i);
        unsigned last = items[i - 1];
        items[i - 1] = items[k];
        items[k] = last;
    }
}

/* Position of each library in an order. */
static void places_of(const unsigned *order, unsigned count, unsigned *places)
{
    for (unsigned i = 0; i < count; i++)
        places[order[i]] = i;
}

/* met[a][b][k], a < b: k's bit 0 is set when b opened first, bit 1 when b closed first. */
static void count_pairs(unsigned (*met)[MOST_LIBRARIES][4], const unsigned *opening, const unsigned *closing, unsigned count)
{
    unsigned opened[MOST_LIBRARIES], closed[MOST_LIBRARIES];
    places_of(opening, count, opened);
    places_of(closing, count, closed);

    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < count; k++) {
            unsigned a = opening[i], b = opening[k];
            if (a < b)
                met[a][b][(opened[b] < opened[a]) | (closed[b] < closed[a]) << 1]++;
        }
    }
}

static unsigned rarest(unsigned (*met)[MOST_LIBRARIES][4], unsigned count)
{
    unsigned least = UINT32_MAX;
    for (unsigned a = 0; a < count; a++) {
        for (unsigned b = a + 1; b < count; b++) {
            for (unsigned k = 0; k < 4; k++)
                least = met[a][b][k] < least ? met[a][b][k] : least;
        }
    }
    return least;
}

int main(int argc, char **argv)
{
    static unsigned met[MOST_LIBRARIES][MOST_LIBRARIES][4];
    if (argc < 4 || argc - 2 > MOST_LIBRARIES) {
        fprintf(stderr, "usage: test_reopen ROUNDS LIBRARY LIBRARY... (%d at most)\n", MOST_LIBRARIES);
        return 2;
    }
    unsigned rounds = (unsigned)strtoul(argv[1], NULL, 10);
    char **names = argv + 2;
    unsigned libraries = (unsigned)argc - 2;
    unsigned before = descriptors();

    /* Errors without a log go to standard error; the wrong handle is told thousands of times. */
    if (!freopen("/dev/null", "w", stderr))
        return 2;

    unsigned all[MOST_LIBRARIES], closing[MOST_LIBRARIES];
    for (unsigned i = 0; i < libraries; i++)
        all[i] = i;

    void *left = NULL;
    for (unsigned round = 0; round < rounds; round++) {
        unsigned most = libraries < MOST_OPEN ? libraries : MOST_OPEN;
        unsigned count = 2 + drawn(most - 1);
        void *opened[MOST_LIBRARIES];

        shuffle(all, libraries);
        for (unsigned i = 0; i < count; i++)
            opened[all[i]] = open_library(names[all[i]], round);
        if (left)
            close_library(left, "the one of the round before", round);

        memcpy(closing, all, count * sizeof *closing);
        shuffle(closing, count);
        count_pairs(met, all, closing, count);

        bool leaves = round & 1;
        for (unsigned i = 0; i < count - leaves; i++)
            close_library(opened[closing[i]], names[closing[i]], round);
        left = leaves ? opened[closing[count - 1]] : NULL;
    }
    if (left)
        close_library(left, "the last one", rounds);

    unsigned after = descriptors();
    unsigned least = rarest(met, libraries);
    printf("%u libraries, %u rounds, each pair %u times or more in each of its orders; %u descriptors before, %u after\n",
           libraries, rounds, least, before, after);
    return after > before || !least;
}

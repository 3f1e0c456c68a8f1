/* SPDX-License-Identifier: Apache-2.0 */
/* How long is a table that came by value?
 *
 * QnnSystemDlc_composeGraphs and QnnModel_composeGraphsFromDlc get the interface as a struct, not as a pointer, and the
 * struct of an older or newer client is shorter or longer than ours. On x86_64 it lies on the stack, and the last arguments
 * follow it: they are where the caller's table ends. Nothing in the struct says where that is (the version in it is the
 * provider's), but slots are functions and the arguments are data, so the first word that points into no code is behind the
 * table. */
#include <stdbool.h>
#include <stdio.h>

#include "api/interface_next.h"

enum { FEWEST_SLOTS = 62, HEADER_SLOTS = 72, MOST_SLOTS = 96 };
_Static_assert(sizeof(QNN_INTERFACE_VER_TYPE) == HEADER_SLOTS * sizeof(next_slot), "the table of include/QNN");
_Static_assert(sizeof(struct next_interface) ==
                   offsetof(QnnInterface_t, QNN_INTERFACE_VER_NAME) + MOST_SLOTS * sizeof(next_slot),
               "the longest table");

/* `maps` has one line for each range of memory: begin-end permissions ... */
static bool is_code(FILE *maps, uintptr_t word)
{
    unsigned long begin, end;
    char may[5], line[512];
    rewind(maps);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, may) == 3 && word >= begin && word < end)
            return may[2] == 'x';
    return false;
}

static unsigned count_slots(const uintptr_t *slots)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return HEADER_SLOTS;
    unsigned n = FEWEST_SLOTS;
    /* A table may have empty slots; an argument that is NULL is a mistake, which gets its error as one behind our
     * own table. */
    while (n < MOST_SLOTS && (slots[n] ? is_code(maps, slots[n]) : n < HEADER_SLOTS))
        n++;
    (void)fclose(maps);
    return n;
}

const uintptr_t *next_behind_table(const void *slots)
{
    const uintptr_t *words = slots;
    return words + count_slots(words);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* States of nodes: inside persistent memory, aligned, and nobody else's. A state outlives the execution that wrote it, so it
 * may not share a byte with another state or with a tensor of the persistent pool, whenever those are used. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "binary/binary_format.h"

enum { STATE_ALIGN = 64 };

struct stretch {
    uint64_t begin, end;
    const char *name;
    bool state; /* tensors may share memory with each other */
};

static int by_begin(const void *x, const void *y)
{
    const struct stretch *a = x, *b = y;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static enum status check_range(const struct bin_reader *r, const struct binary_node *n)
{
    uint64_t end, have = r->g->info.persistent_bytes;
    RETURN_IF(__builtin_add_overflow(n->state_offset, n->state_bytes, &end) || end > have, ST_BAD_BINARY,
              "context binary, node \"%s\": a state of %" PRIu64 " bytes at %" PRIu64 "; persistent memory has %" PRIu64,
              n->name, n->state_bytes, n->state_offset, have);
    RETURN_IF(n->state_offset % STATE_ALIGN, ST_BAD_BINARY,
              "context binary, node \"%s\": a state at %" PRIu64 "; a multiple of %d is expected", n->name, n->state_offset,
              STATE_ALIGN);
    return ST_OK;
}

/* Sorted by address, a stretch is compared with those that reach furthest so far; of states, which share nothing, that is
 * the last one. */
static enum status check_sorted(const struct bin_reader *r, const struct stretch *s, uint32_t n)
{
    struct stretch any = { .name = "" }, state = any;
    for (uint32_t i = 0; i < n; i++) {
        const struct stretch *before = s[i].state ? &any : &state;
        RETURN_IF(before->end > s[i].begin, ST_BAD_BINARY,
                  "context binary, %s: \"%s\" and \"%s\" share persistent memory at %" PRIu64, r->graph, before->name,
                  s[i].name, s[i].begin);
        any = s[i].end > any.end ? s[i] : any;
        state = s[i].state ? s[i] : state;
    }
    return ST_OK;
}

enum status bin_check_states(const struct bin_reader *r)
{
    const struct binary_graph *g = r->g;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].state_bytes != 0;
    if (n == 0)
        return ST_OK;
    CLEANUP(mem_freep) struct stretch *s = mem_array(struct stretch, (size_t)g->n_nodes + g->n_tensors);
    RETURN_IF(!s, ST_NO_MEMORY, "context binary, %s: no memory to check %u states", r->graph, n);
    n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *node = &g->nodes[i];
        if (node->state_bytes == 0)
            continue;
        TRY(check_range(r, node));
        s[n++] = (struct stretch){ node->state_offset, node->state_offset + node->state_bytes, node->name, true };
    }
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].place == PLACE_PERSISTENT)
            s[n++] = (struct stretch){ g->tensors[i].offset, g->tensors[i].offset + g->tensors[i].bytes, g->tensors[i].name,
                                       false };
    qsort(s, n, sizeof(s[0]), by_begin);
    return check_sorted(r, s, n);
}

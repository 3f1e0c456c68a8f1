/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a graph says that it needs. A plan may be poor, but a memory is never larger than all that lies in it, one
 * after the other: without this check a file of a few bytes makes its reader ask for gigabytes. */
#include <inttypes.h>

#include "base/mem.h"
#include "binary/binary_format.h"

/* Alignment of what lies in a memory; and what any graph may have of it, of fast memory as much as a large device has. */
enum { CLAIM_ROUND = 4096, CLAIM_SLACK = 1 << 20, CLAIM_WINDOW = 64 << 20 };

/* Sums that would overflow stay at the largest number. */
static void add(uint64_t *sum, uint64_t bytes)
{
    bool fits = bytes <= UINT64_MAX - CLAIM_ROUND;
    uint64_t whole = fits ? (bytes + CLAIM_ROUND - 1) / CLAIM_ROUND * CLAIM_ROUND : UINT64_MAX;

    *sum = whole > UINT64_MAX - *sum ? UINT64_MAX : *sum + whole;
}

static void mark(uint8_t *used, const uint32_t *tensors, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (tensors[i] != BINARY_NONE)
            used[tensors[i]] = 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What tensors take by their shapes, which nodes have been checked with; `bytes` of the record may be anything. */
static void add_tensors(const struct binary_graph *g, const uint8_t *used, uint64_t need[PLACE_COUNT])
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        bool room = t->place == PLACE_SCRATCH && t->client_id; /* of an I/O tensor */

        if (used[i] || room)
            add(&need[t->place], larger(desc_bytes(&t->desc), binary_vtcm_bytes(&t->desc)));
    }
}

static void add_nodes(const struct binary_graph *g, uint64_t need[PLACE_COUNT])
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];

        add(&need[PLACE_SCRATCH], n->work_bytes);
        add(&need[PLACE_PERSISTENT], n->state_bytes);
        add(&need[PLACE_VTCM], n->tile.bytes);
    }
    for (uint32_t i = 0; i < g->n_chains; i++)
        add(&need[PLACE_SCRATCH], g->chains[i].work_bytes);
}

enum status bin_check_claims(const struct bin_reader *r)
{
    const struct binary_graph *g = r->g;
    const struct {
        const char *name;
        uint64_t claim, slack;
        enum binary_place place;
    } memory[] = { { "scratch memory", g->info.scratch_bytes, CLAIM_SLACK, PLACE_SCRATCH },
                   { "persistent memory", g->info.persistent_bytes, CLAIM_SLACK, PLACE_PERSISTENT },
                   { "fast memory", g->info.vtcm_used, CLAIM_WINDOW, PLACE_VTCM },
                   { "spill-fill buffer", g->info.spill_fill_bytes, CLAIM_SLACK, PLACE_SPILL } };
    uint64_t need[PLACE_COUNT] = { 0 };

    CLEANUP(mem_freep) uint8_t *used = mem_array(uint8_t, g->n_tensors);
    RETURN_IF(!used, ST_NO_MEMORY, "context binary, %s: no memory to check its %u tensors", r->graph, g->n_tensors);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        mark(used, g->nodes[i].in, g->nodes[i].n_in);
        mark(used, g->nodes[i].out, g->nodes[i].n_out);
        mark(used, g->nodes[i].aux, g->nodes[i].n_aux);
    }

    add_tensors(g, used, need);
    add_nodes(g, need);
    for (size_t k = 0; k < sizeof(memory) / sizeof(memory[0]); k++) {
        uint64_t slack = memory[k].slack;
        bool too_large = memory[k].claim > slack && memory[k].claim - slack > need[memory[k].place];

        RETURN_IF(too_large, ST_BAD_BINARY,
                  "context binary, %s: it asks for %" PRIu64 " bytes of %s; all that its operators use of it has %" PRIu64,
                  r->graph, memory[k].claim, memory[k].name, need[memory[k].place]);
    }
    return ST_OK;
}

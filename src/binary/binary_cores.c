/* SPDX-License-Identifier: Apache-2.0 */
/* What moves besides when several cores of a device share the work of a graph. Each has units and fast memory of its own,
 * and computes as large a part of every operator as the others:
 *
 *   lines      where the result has as many; each core then needs all weights, and of its operands the lines that its
 *              windows reach
 *   channels   of products: each core has weights of its own, and needs all of the operand
 *   nothing    where there are neither: one core computes, and what others have made comes to it
 *
 * Of the first two the one that moves less is taken; a chain, which goes line by line, is split by lines.
 * Of an operand that lies in fast memory a core has the part that it has made; the rest comes from the others, through
 * DRAM. */
#include "base/mem.h"
#include "binary/binary_format.h"

enum split { BY_NOTHING, BY_LINES, BY_CHANNELS };

static uint64_t parts_of(uint64_t all, uint64_t part)
{
    return (all + part - 1) / part;
}

static bool can_split(const struct bin_seen *s, enum split split, uint32_t cores)
{
    if (split == BY_LINES)
        return s->op.planes * s->op.whole.lines >= cores;
    return s->op.whole.depth > 1 && s->op.whole.channels >= cores * s->op.step.channels;
}

/* The result of one core. */
static struct binary_box part_of(const struct bin_seen *s, enum split split, uint32_t cores)
{
    struct binary_box b = s->op.whole;

    if (split == BY_LINES)
        b.lines = (uint32_t)parts_of(s->op.planes * b.lines, cores);
    if (split == BY_CHANNELS)
        b.channels = (uint32_t)parts_of(b.channels, cores);
    b.lines = b.lines < s->op.whole.lines ? b.lines : s->op.whole.lines;
    return b;
}

/* What a core has of an operand that all of them have made. */
static uint64_t own_bytes(const struct tensor_desc *d, enum split split, uint32_t cores)
{
    struct tensor_desc part = *d;
    uint32_t line = d->rank >= 4 ? d->rank - 3u : 0;

    if (split != BY_LINES || d->rank < 2 || !d->dims[line])
        return binary_tile_bytes(d) / cores;
    part.dims[line] = (uint32_t)parts_of(d->dims[line], cores);
    return binary_tile_bytes(&part);
}

/* Of operand i, all that cores need and have not made themselves. */
static uint64_t missing_bytes(const struct bin_seen *s, uint32_t i, enum split split, uint32_t cores)
{
    const struct tensor_desc *d = s->in[i];
    struct binary_box part = part_of(s, split, cores);
    uint64_t whole = binary_tile_bytes(d), need = binary_box_operand(&s->op, &part, i);
    uint64_t own = own_bytes(d, split, cores);

    need = need < whole ? need : whole;
    if (split == BY_NOTHING)
        return whole - own;
    return need > own ? cores * (need - own) : 0;
}

static uint64_t *sum_of(struct binary_moves *m, uint8_t role)
{
    if (role == ROLE_STAYS)
        return &m->exchanged;
    if (role == ROLE_STREAMS)
        return &m->fill;
    return role == ROLE_CLIENT ? &m->inputs : NULL;
}

static void add_split(const struct binary_graph *g, const struct bin_seen *s, const uint32_t *in, enum split split,
                      struct binary_moves *ret)
{
    uint32_t cores = g->info.cores;

    if (split == BY_LINES)
        ret->weights *= cores;
    for (uint32_t i = 0; i < s->call.n_in; i++) {
        uint64_t *sum = sum_of(ret, s->roles[i]);
        bool there = s->in[i] && g->tensors[in[i]].place != PLACE_NONE;
        bool repeated = i > 0 && s->in[i] == s->in[0];
        if (there && sum && !repeated)
            *sum += missing_bytes(s, i, split, cores);
    }
}

/* What is between cores moves twice. */
static uint64_t cost_of(const struct binary_moves *m)
{
    return binary_moves_in(m) + binary_moves_out(m);
}

void bin_add_core_moves(const struct binary_graph *g, uint32_t node, const struct bin_seen *s, struct binary_moves *ret)
{
    bool in_chain = g->chain_of && g->chain_of[node] != BINARY_NONE;
    struct binary_moves best = *ret;
    bool found = false;

    for (enum split split = BY_LINES; split <= BY_CHANNELS; split++) {
        bool possible = in_chain ? split == BY_LINES : can_split(s, split, g->info.cores);
        struct binary_moves m = *ret;
        if (!possible)
            continue;
        add_split(g, s, g->nodes[node].in, split, &m);
        best = !found || cost_of(&m) < cost_of(&best) ? m : best;
        found = true;
    }
    if (!found)
        add_split(g, s, g->nodes[node].in, BY_NOTHING, &best);
    *ret = best;
}

/* ---- what each core moves --------------------------------------------------------------------------------------------- */

static uint32_t end_of_node(const struct binary_graph *g, uint32_t first)
{
    uint32_t end = first;

    while (end < g->n_commands && g->commands[end].node == g->commands[first].node)
        end++;
    return end;
}

static void add_moves(struct binary_moves *to, const struct binary_moves *m)
{
    to->weights += m->weights;
    to->inputs += m->inputs;
    to->outputs += m->outputs;
    to->fill += m->fill;
    to->spill += m->spill;
    to->exchanged += m->exchanged;
}

enum status binary_core_moves(const struct binary_graph *g, struct binary_moves ret[BINARY_MAX_CORES])
{
    uint32_t cores = g->info.cores;
    if (cores < 2) {
        binary_graph_moves(g, ret);
        return ST_OK;
    }
    struct binary_moves *moves = mem_array(struct binary_moves, (size_t)g->n_commands + 1);

    RETURN_IF(!moves, ST_NO_MEMORY, "no memory for the transfers of %u commands", g->n_commands);
    binary_command_moves(g, moves);
    for (uint32_t c = 0; c < cores; c++)
        ret[c] = (struct binary_moves){ 0 };
    for (uint32_t i = 0, end; i < g->n_commands; i = end) {
        end = end_of_node(g, i);
        for (uint32_t k = i; k < end; k++)
            add_moves(&ret[(uint64_t)(k - i) * cores / (end - i)], &moves[k]);
    }
    mem_free(moves);
    return ST_OK;
}

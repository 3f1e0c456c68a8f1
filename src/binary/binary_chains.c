/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a graph apart: chains. A chain that passes here computes nothing outside its slabs, whatever lines its commands
 * name: members work line by line, results inside are seen by later members only, and every slab holds what op_chain_heights
 * says. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "binary/binary_format.h"

enum { MAX_EDGES = 4 * OP_CHAIN_MAX };

struct check {
    struct bin_reader *r;
    uint32_t *maker; /* per tensor: the member that makes it, BINARY_NONE: none */
    const struct binary_chain *c;
    uint32_t first[OP_CHAIN_MAX + 1];
    struct op_lines lines[OP_CHAIN_MAX]; /* of every member's result */
    struct op_chain_edge edges[MAX_EDGES];
};

void bin_call(const struct binary_graph *g, const struct binary_node *n, const struct tensor_desc **in,
              const struct tensor_desc **out, struct op_call *c)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]].desc;
    for (uint32_t i = 0; i < n->n_out; i++)
        out[i] = n->out[i] == BINARY_NONE ? NULL : &g->tensors[n->out[i]].desc;
    *c = (struct op_call){ .op = n->op,
                           .node = n->name,
                           .n_in = n->n_in,
                           .n_out = n->n_out,
                           .in = in,
                           .out = out,
                           .params = n->params,
                           .post = n->post };
}

static bool dynamic(const struct op_call *c)
{
    bool any = false;
    for (uint32_t i = 0; i < c->n_in; i++)
        any |= c->in[i] && c->in[i]->dynamic;
    return any;
}

/* One member: what it reads of the chain, and that it can be one. */
static enum status check_member(struct check *k, uint32_t i)
{
    const struct binary_graph *g = k->r->g;
    const struct binary_node *n = &g->nodes[k->c->first + i];
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    struct op_call call;
    bin_call(g, n, in, out, &call);
    bool can = n->n_out == 1 && out[0] && !n->n_guards && !n->state_bytes && !dynamic(&call) && op_by_lines(&call) &&
               desc_lines(out[0], &k->lines[i]);
    RETURN_IF(!can || k->lines[i].n > OP_CHAIN_LINES, ST_BAD_BINARY,
              "context binary, node \"%s\": it cannot be computed line by line in a chain", n->name);
    bool last = i + 1 == k->c->n;
    RETURN_IF((g->tensors[n->out[0]].place == PLACE_LINES) == last, ST_BAD_BINARY,
              "context binary, node \"%s\": its result is in the wrong place for a chain", n->name);
    k->first[i + 1] = k->first[i];
    for (uint32_t p = 0; p < n->n_in; p++) {
        uint32_t t = n->in[p];
        if (t == BINARY_NONE || g->tensors[t].place != PLACE_LINES)
            continue;
        struct op_chain_edge *e = &k->edges[k->first[i + 1]];
        RETURN_IF(k->maker[t] == BINARY_NONE || k->maker[t] < k->c->first || k->first[i + 1] == MAX_EDGES ||
                      !op_reach(&call, p, &e->reach),
                  ST_BAD_BINARY, "context binary, node \"%s\": it reads lines of \"%s\", which are not there", n->name,
                  g->tensors[t].name);
        e->maker = k->maker[t] - k->c->first;
        e->input = p;
        k->first[i + 1]++;
    }
    RETURN_IF(k->maker[n->out[0]] != BINARY_NONE, ST_BAD_BINARY, "context binary, node \"%s\": \"%s\" is made twice",
              n->name, g->tensors[n->out[0]].name);
    k->maker[n->out[0]] = k->c->first + i;
    return ST_OK;
}

/* Every slab is long enough, and they lie one behind the other below the workspaces of the members. */
static enum status check_slabs(const struct check *k, struct binary_chain *c)
{
    const struct binary_graph *g = k->r->g;
    struct op_chain chain = { .n = c->n, .first = k->first, .edges = k->edges };
    uint32_t heights[OP_CHAIN_MAX], readers[OP_CHAIN_MAX] = { 0 };
    uint64_t end = 0;
    for (uint32_t e = 0; e < k->first[c->n]; e++)
        readers[k->edges[e].maker]++;
    for (uint32_t i = 0; i + 1 < c->n; i++)
        RETURN_IF(!readers[i], ST_BAD_BINARY, "context binary, node \"%s\": nobody in its chain reads its lines",
                  g->nodes[c->first + i].name);
    c->images = op_chain_images(&chain, k->lines);
    RETURN_IF(!c->images, ST_BAD_BINARY, "context binary, node \"%s\": its chain has results of several numbers of images",
              g->nodes[c->first + c->n - 1].name);
    op_chain_heights(&chain, c->lines / c->images, c->height, heights);
    for (uint32_t i = 0; i + 1 < c->n; i++) {
        const struct binary_tensor *t = &g->tensors[g->nodes[c->first + i].out[0]];
        RETURN_IF(t->bytes / k->lines[i].bytes < heights[i] || t->offset < end || t->offset % BIN_ALIGN ||
                      t->offset > c->work_bytes || t->bytes > c->work_bytes - t->offset,
                  ST_BAD_BINARY,
                  "context binary, tensor \"%s\": %" PRIu64 " bytes at %" PRIu64 " of a chain's workspace of %" PRIu64
                  "; %u lines of %" PRIu64 " bytes are needed",
                  t->name, t->bytes, t->offset, c->work_bytes, heights[i], k->lines[i].bytes);
        end = t->offset + t->bytes;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const struct binary_node *n = &g->nodes[c->first + i];
        RETURN_IF(n->work_bytes && (n->work_offset < c->work_offset || n->work_offset - c->work_offset < end ||
                                    n->work_offset - c->work_offset > c->work_bytes ||
                                    n->work_bytes > c->work_bytes - (n->work_offset - c->work_offset)),
                  ST_BAD_BINARY, "context binary, node \"%s\": its workspace is not in that of its chain", n->name);
    }
    return ST_OK;
}

static enum status check_chain(struct check *k, uint32_t i, uint32_t from)
{
    const struct binary_graph *g = k->r->g;
    struct binary_chain *c = (struct binary_chain *)&g->chains[i];
    uint64_t end;
    RETURN_IF(c->first < from || c->n < 2 || c->n > OP_CHAIN_MAX || c->first > g->n_nodes || c->n > g->n_nodes - c->first ||
                  !c->height,
              ST_BAD_BINARY,
              "context binary, %s: chain %u has %u nodes from %u, %u lines at a time; 2 … %d of %u are expected",
              k->r->graph, i, c->n, c->first, c->height, OP_CHAIN_MAX, g->n_nodes);
    RETURN_IF(__builtin_add_overflow(c->work_offset, c->work_bytes, &end) || end > g->info.scratch_bytes ||
                  c->work_offset % BIN_ALIGN,
              ST_BAD_BINARY,
              "context binary, %s: chain %u has a workspace of %" PRIu64 " bytes at %" PRIu64 "; scratch has %" PRIu64,
              k->r->graph, i, c->work_bytes, c->work_offset, g->info.scratch_bytes);
    k->c = c;
    k->first[0] = 0;
    for (uint32_t m = 0; m < c->n; m++) {
        TRY(check_member(k, m));
        ((uint32_t *)g->chain_of)[c->first + m] = i;
    }
    c->lines = k->lines[c->n - 1].n;
    return check_slabs(k, c);
}

/* Lines exist inside their chain alone. */
static enum status check_others(const struct check *k)
{
    const struct binary_graph *g = k->r->g;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        RETURN_IF(g->tensors[i].place == PLACE_LINES && k->maker[i] == BINARY_NONE, ST_BAD_BINARY,
                  "context binary, tensor \"%s\": no chain makes its lines", g->tensors[i].name);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];
        for (uint32_t p = 0; p < n->n_in + n->n_out + n->n_guards; p++) {
            uint32_t t = p < n->n_in + n->n_out ? n->in[p] : n->guards[2 * (p - n->n_in - n->n_out)];
            bool lines = t != BINARY_NONE && g->tensors[t].place == PLACE_LINES;
            RETURN_IF(lines && (!g->chain_of || g->chain_of[i] == BINARY_NONE || g->chain_of[i] != g->chain_of[k->maker[t]]),
                      ST_BAD_BINARY, "context binary, node \"%s\": \"%s\" is seen inside its chain only", n->name,
                      g->tensors[t].name);
        }
    }
    return ST_OK;
}

enum status bin_read_chains(struct bin_reader *r)
{
    struct binary_graph *g = r->g;
    g->n_chains = r->sec[SEC_CHAINS].n;
    struct binary_chain *chains = arena_array(r->arena, struct binary_chain, g->n_chains);
    uint32_t *chain_of = g->n_chains ? arena_array(r->arena, uint32_t, g->n_nodes) : NULL;
    CLEANUP(mem_freep) uint32_t *maker = mem_array(uint32_t, g->n_tensors);
    CLEANUP(mem_freep) struct check *k = mem_new(struct check);
    RETURN_IF(!chains || (g->n_chains && !chain_of) || !maker || !k, ST_NO_MEMORY,
              "context binary, %s: no memory for %u chains", r->graph, g->n_chains);
    for (uint32_t i = 0; i < g->n_chains; i++) {
        struct bin_chain rec;
        memcpy(&rec, r->sec[SEC_CHAINS].data + (size_t)i * sizeof(rec), sizeof(rec));
        chains[i] = (struct binary_chain){ .first = rec.first,
                                           .n = rec.n,
                                           .height = rec.height,
                                           .work_offset = rec.work_offset,
                                           .work_bytes = rec.work_bytes };
    }
    if (chain_of)
        memset(chain_of, 0xff, g->n_nodes * sizeof(chain_of[0]));
    memset(maker, 0xff, g->n_tensors * sizeof(maker[0]));
    g->chains = chains;
    g->chain_of = chain_of;
    *k = (struct check){ .r = r, .maker = maker };
    for (uint32_t i = 0, from = 0; i < g->n_chains; from = chains[i].first + chains[i].n, i++)
        TRY(check_chain(k, i, from));
    return check_others(k);
}

enum status bin_check_chain_commands(const struct bin_reader *r)
{
    struct binary_graph *g = r->g;
    uint64_t marks = g->n_commands;
    for (uint32_t i = 0; g->n_chains && i < g->n_commands; i++) {
        uint32_t at = g->chain_of[g->commands[i].node];
        if (at == BINARY_NONE)
            continue;
        const struct binary_chain *c = &g->chains[at];
        RETURN_IF(g->commands[i].node != c->first + c->n - 1, ST_BAD_BINARY,
                  "context binary, %s: command %u is of node %u inside chain %u; the last node is expected", r->graph, i,
                  g->commands[i].node, at);
        marks += c->n - 1;
    }
    RETURN_IF(marks > UINT32_MAX, ST_BAD_BINARY, "context binary, %s: %" PRIu64 " parts of commands", r->graph, marks);
    g->n_marks = (uint32_t)marks;
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: operators that hand each other lines instead of tensors (tile_chain.c makes them, binary_chains.c checks them).
 *
 * A command is a range of lines of the last result. It goes up in slabs of the planned height; for each, op_chain_next says
 * which lines every member has to compute, and the members do so one after the other. The lines of a result lie one behind
 * the other in its slab, in the workspace of the thread. Kernels address whole tensors, so they are given the address that
 * line 0 would have:
 *
 *     tensor     0 1 2 3 4 5 6 7 8 9 …       lines 5 to 8 are in the slab; when line 9 no longer fits, 7 and 8, which are
 *     slab                 [5 6 7 8]         still wanted, move to its beginning */
#include <string.h>

#include "base/clock.h"
#include "exec/program.h"

enum { MAX_OPERANDS = 16 };

/* One command while it runs. */
struct run {
    const struct exec_program *p;
    const struct exec_chain *c;
    uint8_t *work, *slabs;
    uint64_t *ns;                /* per member: time spent, NULL: nobody asks */
    uint32_t image;              /* lines below are counted in this one */
    uint32_t at[OP_CHAIN_MAX];   /* the line that each slab begins with */
    struct op_chain_span spans[OP_CHAIN_MAX];
};

/* Where line 0 of a member's result would be. */
static void *line_zero(const struct run *r, uint32_t member)
{
    const struct exec_member *m = &r->c->members[member];
    return (void *)((uintptr_t)r->slabs + m->slab - ((uint64_t)r->image * m->lines + r->at[member]) * m->line_bytes);
}

/* Room for the lines to come, at the expense of those that nobody wants any more. */
static void make_room(struct run *r, uint32_t i)
{
    const struct exec_member *m = &r->c->members[i];
    const struct op_chain_span *s = &r->spans[i];
    if (s->end - r->at[i] <= m->capacity)
        return;
    uint8_t *slab = r->slabs + m->slab;
    memmove(slab, slab + (s->begin - r->at[i]) * m->line_bytes, (s->from - s->begin) * m->line_bytes);
    r->at[i] = s->begin;
}

static void run_member(struct run *r, uint32_t i)
{
    const struct exec_chain *c = r->c;
    const struct exec_member *m = &c->members[i];
    const struct exec_node *n = &r->p->nodes[c->node + i];
    void *data[MAX_OPERANDS];
    memcpy(data, n->data, m->n_operands * sizeof(data[0]));
    for (uint32_t e = c->shape.first[i]; e < c->shape.first[i + 1]; e++)
        data[c->shape.edges[e].input] = line_zero(r, c->shape.edges[e].maker);
    if (i + 1 < c->shape.n) {
        make_room(r, i);
        data[m->n_operands - 1] = line_zero(r, i);
    }
    struct kernel_call call = {
        .args = n->args, .data = data, .work = r->work + m->work, .ended = &r->p->ended[c->node + i]
    };
    uint32_t first = r->image * m->lines;
    n->run(&call, (struct range){ first + r->spans[i].from, first + r->spans[i].end });
}

static void run_slab(struct run *r)
{
    uint64_t begin = r->ns ? clock_ns() : 0;
    for (uint32_t i = 0; i < r->c->shape.n; i++) {
        if (r->spans[i].from < r->spans[i].end)
            run_member(r, i);
        if (r->ns) {
            uint64_t end = clock_ns();
            r->ns[i] += end - begin;
            begin = end;
        }
    }
}

/* Lines of one image. */
static void run_image(struct run *r, struct range lines)
{
    const struct exec_chain *c = r->c;
    uint32_t total = lines.end - lines.begin, slabs = (total + c->height - 1) / c->height;
    memset(r->spans, 0, c->shape.n * sizeof(r->spans[0]));
    for (uint32_t s = 0; s < slabs; s++) {
        uint32_t begin = lines.begin + (uint32_t)((uint64_t)total * s / slabs),
                 end = lines.begin + (uint32_t)((uint64_t)total * (s + 1) / slabs);
        op_chain_next(&c->shape, begin, end, r->spans);
        for (uint32_t i = 0; s == 0 && i < c->shape.n; i++)
            r->at[i] = r->spans[i].begin;
        run_slab(r);
    }
}

void chain_run(const struct exec_program *p, const struct exec_chain *c, struct range lines, unsigned worker, uint64_t *ns)
{
    struct run r = { .p = p, .c = c, .work = program_work(p, c->work, worker), .ns = ns };
    uint32_t per = c->members[c->shape.n - 1].lines;
    r.slabs = r.work == c->work ? c->slabs : r.work;
    for (uint32_t at = lines.begin, end; at < lines.end; at = end) {
        r.image = at / per;
        end = lines.end - at < per - at % per ? lines.end : at + (per - at % per);
        run_image(&r, (struct range){ at % per, at % per + (end - at) });
    }
}

/* A window of fast memory has room for the lines of a chain, for one thread. */
void chain_place(struct exec_program *p, uint32_t i)
{
    const struct binary_chain *b = &p->g->chains[i];
    const struct binary_tile *tile = &p->g->nodes[b->first + b->n - 1].tile;
    struct exec_chain *c = &p->chains[i];
    const struct exec_member *top = &c->members[b->n - 2]; /* slabs lie one behind the other */
    c->work = p->scratch + b->work_offset;
    c->slabs = p->vtcm && top->slab + top->capacity * top->line_bytes <= tile->bytes ? p->vtcm + tile->offset : c->work;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

static enum status load_member(struct exec_program *p, struct exec_chain *c, uint32_t i, uint32_t *first,
                               struct op_chain_edge *edges)
{
    const struct binary_graph *g = p->g;
    const struct binary_node *n = &g->nodes[c->node + i];
    const struct binary_chain *b = &g->chains[g->chain_of[c->node]];
    const struct binary_tensor *out = &g->tensors[n->out[0]];
    struct exec_member *m = &c->members[i];
    struct exec_call view;
    struct op_lines lines = { 0 };
    bind_call(p, c->node + i, &view);
    desc_lines(&out->desc, &lines);
    RETURN_IF(n->n_in + n->n_out > MAX_OPERANDS || !lines.bytes, ST_BAD_BINARY,
              "node \"%s\": %u operands in a chain; at most %d are possible", n->name, n->n_in + n->n_out, MAX_OPERANDS);
    *m = (struct exec_member){ .slab = out->offset,
                               .line_bytes = lines.bytes,
                               .capacity = (uint32_t)(out->bytes / lines.bytes),
                               .lines = lines.n / b->images,
                               .n_operands = n->n_in + n->n_out,
                               .work = n->work_bytes ? n->work_offset - b->work_offset : 0 };
    first[i + 1] = first[i];
    for (uint32_t k = 0; k < n->n_in; k++) {
        if (n->in[k] == BINARY_NONE || g->tensors[n->in[k]].place != PLACE_LINES)
            continue;
        struct op_chain_edge *e = &edges[first[i + 1]++];
        e->maker = p->producer[n->in[k]] - c->node;
        e->input = k;
        c->halo |= op_reach(&view.call, k, &e->reach) && e->reach.window > e->reach.stride;
    }
    return ST_OK;
}

enum status chain_load(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    p->chains = arena_array(&p->arena, struct exec_chain, g->n_chains);
    RETURN_IF(!p->chains, ST_NO_MEMORY, "graph \"%s\": no memory for %u chains", g->info.name, g->n_chains);
    for (uint32_t k = 0; k < g->n_chains; k++) {
        const struct binary_chain *b = &g->chains[k];
        struct exec_chain *c = &p->chains[k];
        uint32_t n_edges = 0, *first = arena_array(&p->arena, uint32_t, b->n + 1);
        for (uint32_t i = 0; i < b->n; i++)
            n_edges += g->nodes[b->first + i].n_in;
        struct op_chain_edge *edges = arena_array(&p->arena, struct op_chain_edge, n_edges);
        *c = (struct exec_chain){ .node = b->first,
                                  .height = b->height,
                                  .members = arena_array(&p->arena, struct exec_member, b->n),
                                  .shape = { .n = b->n, .first = first, .edges = edges } };
        RETURN_IF(!first || !edges || !c->members, ST_NO_MEMORY, "graph \"%s\": no memory for a chain of %u nodes",
                  g->info.name, b->n);
        for (uint32_t i = 0; i < b->n; i++)
            TRY(load_member(p, c, i, first, edges));
        p->nodes[b->first + b->n - 1].chain = c;
    }
    return ST_OK;
}

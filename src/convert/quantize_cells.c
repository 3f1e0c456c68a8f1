/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of an Lstm in all of its steps. A graph shows only what they hold at the end, but between steps they are stored in
 * that result's encoding: what it does not cover is cut off in the middle of a sequence.
 *
 *     %h, %c, %last = Lstm(%x, …)   ->   %h, %c, %last, %i, %f, %g = Lstm(%x, …)      cell = f · cell + i · g, step by step
 *
 * The graph that runs for the statistics gives the gates of every step; tensors and nodes keep their indexes. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

enum { IN_CELL = 11, OUT_CELL = 1, PLAIN_OUTS = 3 };
static const char *const gate_names[QUANTIZE_GATES] = { "gate_i", "gate_f", "gate_c" };

static bool has_steps(const struct ir_graph *g, const struct ir_node *n, struct quantize_cell *ret)
{
    struct ir_call v;
    if (n->dead || n->op->id != OP_Lstm || n->n_out != PLAIN_OUTS || g->tensors.at[n->in[0]].desc.type != DT_F32)
        return false;
    ir_call(g, n, &v);
    const struct tensor_desc *x = v.in[0], *w = v.in[1];
    bool major = op_int(&v.call, "time_major", 0);
    if (x->rank != 3 || x->dims[!major] < 2)
        return false;
    *ret = (struct quantize_cell){ .out = n->out[OUT_CELL],
                                   .first = n->n_in > IN_CELL ? n->in[IN_CELL] : IR_NONE,
                                   .time = x->dims[!major],
                                   .batch = x->dims[major],
                                   .units = w->dims[0],
                                   .time_major = major,
                                   .backwards = op_int(&v.call, "direction", 0) != 0,
                                   .clip = op_real(&v.call, "cell_clip_threshold", 0) };
    return true;
}

/* The node of `g`, a copy, with a result for every gate. */
static enum status show_gates(struct ir_graph *g, uint32_t node, struct quantize_cell *c)
{
    uint32_t *out = arena_array(&g->arena, uint32_t, PLAIN_OUTS + QUANTIZE_GATES);
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for the gates of \"%s\"", g->nodes.at[node].name);
    memcpy(out, g->nodes.at[node].out, PLAIN_OUTS * sizeof(*out));
    for (uint32_t k = 0; k < QUANTIZE_GATES; k++) {
        struct ir_tensor t = { .role = IR_NATIVE, .desc = { .type = DT_F32, .rank = 3, .dims = { 0, 0, c->units } } };
        t.name = arena_printf(&g->arena, "%s/%s", g->nodes.at[node].name, gate_names[k]);
        RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for the gates of \"%s\"", g->nodes.at[node].name);
        t.desc.dims[!c->time_major] = c->time;
        t.desc.dims[c->time_major] = c->batch;
        TRY(ir_add_tensor(g, &t, &c->gates[k]));
        out[PLAIN_OUTS + k] = c->gates[k];
    }
    g->nodes.at[node].out = out;
    g->nodes.at[node].n_out = PLAIN_OUTS + QUANTIZE_GATES;
    return ST_OK;
}

static enum status find_all(const struct ir_graph *g, struct quantize_cells *ret)
{
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        struct quantize_cell c, *slot;
        if (!has_steps(g, &g->nodes.at[k], &c))
            continue;
        if (!ret->graph)
            TRY(ir_clone(g, &ret->graph));
        slot = vec_push(&ret->list);
        RETURN_IF(!slot, ST_NO_MEMORY, "no memory for cells");
        TRY(show_gates(ret->graph, k, &c));
        *slot = c;
    }
    return ST_OK;
}

enum status quantize_cells_find(const struct ir_graph *g, struct quantize_cells *ret)
{
    memset(ret, 0, sizeof(*ret));
    enum status st = find_all(g, ret);
    if (st != ST_OK)
        quantize_cells_finish(ret);
    return st;
}

void quantize_cells_finish(struct quantize_cells *c)
{
    vec_finish(&c->list);
    ir_graph_free(c->graph);
    c->graph = NULL;
}

/* ---- observing ---------------------------------------------------------------------------------------------------- */

struct sums {
    float *gates[QUANTIZE_GATES], *first, *cell;
};

static void follow(const struct quantize_cell *c, const struct sums *s, uint32_t batch, struct quantize_range *to)
{
    memcpy(s->cell, s->first + (size_t)batch * c->units, c->units * sizeof(float));
    for (uint32_t step = 0; step < c->time; step++) {
        uint32_t t = c->backwards ? c->time - 1 - step : step;
        size_t row = (c->time_major ? (size_t)t * c->batch + batch : (size_t)batch * c->time + t) * c->units;
        for (uint32_t u = 0; u < c->units; u++) {
            double v = (double)s->gates[1][row + u] * s->cell[u] + (double)s->gates[0][row + u] * s->gates[2][row + u];
            s->cell[u] = (float)(c->clip > 0 ? fmin(fmax(v, -c->clip), c->clip) : v);
        }
        quantize_range_add(to, s->cell, c->units);
    }
}

static enum status observe_cell(const struct quantize_cells *cs, const struct quantize_cell *c, quantize_value *value,
                                void *arg, struct quantize_range *to)
{
    size_t rows = (size_t)c->time * c->batch, n = rows * c->units, kept = (size_t)c->batch * c->units;
    CLEANUP(mem_freep) float *room = mem_array(float, QUANTIZE_GATES *n + kept + c->units);
    RETURN_IF(!room, ST_NO_MEMORY, "no memory for the cells of %zu steps", rows);
    struct sums s = { .first = room + QUANTIZE_GATES * n, .cell = room + QUANTIZE_GATES * n + kept };
    for (uint32_t k = 0; k < QUANTIZE_GATES; k++) {
        s.gates[k] = room + k * n;
        if (!value(arg, c->gates[k], s.gates[k]))
            return ST_OK;
    }
    const struct ir_tensor *first = c->first == IR_NONE ? NULL : &cs->graph->tensors.at[c->first];
    if (first && first->role == IR_CONST && first->data && first->desc.type == DT_F32)
        memcpy(s.first, first->data, kept * sizeof(float));
    else if (first && first->role != IR_ABSENT)
        value(arg, c->first, s.first); /* zeros when nobody knows */
    for (uint32_t b = 0; b < c->batch; b++)
        follow(c, &s, b, to);
    return ST_OK;
}

enum status quantize_cells_observe(const struct quantize_cells *c, quantize_value *value, void *arg,
                                   struct quantize_range *stats)
{
    for (size_t i = 0; i < c->list.n; i++)
        TRY(observe_cell(c, &c->list.at[i], value, arg, &stats[c->list.at[i].out]));
    return ST_OK;
}

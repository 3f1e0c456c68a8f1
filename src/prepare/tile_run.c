/* SPDX-License-Identifier: Apache-2.0 */
/* Finds attention: from the second product back to the first one, over one Softmax and element-wise operators. */
#include "prepare/tile_run.h"

struct search {
    const struct ir_graph *g;
    const struct ir_uses *uses;
};

static const struct tensor_desc *desc_of(const struct search *s, uint32_t t)
{
    return &s->g->tensors.at[t].desc;
}

uint32_t tile_run_extent(const struct tensor_desc *d, uint32_t side)
{
    return d->rank < side ? 1 : d->dims[d->rank - side];
}

static bool plain(const struct tensor_desc *d)
{
    return !d->dynamic && (d->q.kind == Q_NONE || d->q.kind == Q_TENSOR);
}

/* A result that only the next operator of the run sees. */
static bool inside(const struct search *s, uint32_t t)
{
    return s->g->tensors.at[t].role == IR_NATIVE && s->uses->n_consumers[t] == 1;
}

static bool usable(const struct search *s, const struct ir_node *n)
{
    struct ir_call v;
    ir_call(s->g, n, &v);
    bool ok = n->n_out == 1 && !n->n_guards && n->n_in && n->in[0] != IR_NONE && plain(v.out[0]) && v.out[0]->rank >= 2 &&
              v.out[0]->rank <= 4;
    for (uint32_t i = 0; i < n->n_in && ok; i++)
        ok = !v.in[i] || (!v.in[i]->dynamic && (v.in[i]->rank < 2 || plain(v.in[i])));
    if (ok && n->op->id == OP_MatMul)
        return !op_int(&v.call, "transpose_in0", 0) && v.in[0]->rank == v.out[0]->rank &&
               tile_run_extent(v.in[0], ROWS) == tile_run_extent(v.out[0], ROWS);
    if (ok && n->op->id == OP_MaskedSoftmax)
        return op_int(&v.call, "mode", 0) == 0; /* numbers of a compressed mask are of all rows */
    if (ok && n->op->id == OP_Softmax)
        return op_axis(&v.call, "axis", 0, v.out[0]->rank) == v.out[0]->rank - 1u;
    return ok && n->op->flags & OP_ELEMENTWISE;
}

/* The operator before node k: the one whose result has as many rows as that of k, and is seen by k alone. */
static uint32_t before(const struct search *s, uint32_t k, uint8_t *from)
{
    const struct ir_node *n = &s->g->nodes.at[k];
    for (uint32_t i = 0; i < (n->op->flags & OP_ELEMENTWISE ? n->n_in : 1); i++) {
        uint32_t t = n->in[i], maker = t == IR_NONE ? IR_NONE : s->uses->producer[t];
        if (maker == IR_NONE || !inside(s, t) ||
            !desc_same_shape(desc_of(s, t), n->op->id == OP_MatMul ? desc_of(s, t) : desc_of(s, n->out[0])))
            continue;
        *from = (uint8_t)i;
        return maker;
    }
    return IR_NONE;
}

/* From the second product back to the first one, over one Softmax. */
bool tile_run_find(const struct ir_graph *g, const struct ir_uses *uses, uint32_t last, struct tile_run *ret)
{
    const struct search search = { g, uses }, *s = &search;
    uint32_t list[TILE_RUN_MAX], n = 0, softmaxes = 0;
    uint8_t from[TILE_RUN_MAX];
    if (s->g->nodes.at[last].op->id != OP_MatMul)
        return false;
    for (uint32_t k = last; n < TILE_RUN_MAX && usable(s, &s->g->nodes.at[k]);) {
        enum op_id op = s->g->nodes.at[k].op->id;
        list[n++] = k;
        softmaxes += op == OP_Softmax || op == OP_MaskedSoftmax;
        if (op == OP_MatMul && k != last)
            break;
        k = before(s, k, &from[n - 1]);
        if (k == IR_NONE)
            return false;
    }
    if (softmaxes != 1 || n < 3 || s->g->nodes.at[list[n - 1]].op->id != OP_MatMul || list[n - 1] == last)
        return false;
    *ret = (struct tile_run){ .n = n };
    for (uint32_t i = 0; i < n; i++) {
        ret->node[i] = list[n - 1 - i];
        ret->from[i] = i ? from[n - 1 - i] : 0;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that go through a sequence step by step (Lstm, Gru). Every step waits for the one before it: it is a product of
 * its own, of as many rows as there are sequences, and its gates; and it brings its weights again, as steps do that are
 * written out one behind the other. A device may also be told to do all steps of a small Lstm as one operator. */
#include "prepare/cost.h"

enum { MONOLITHIC_DEPTH = 256 /* the most that the public documents recommend it for */ };
enum { LSTM_TIME_MAJOR = 3, GRU_TIME_MAJOR = 2, FIRST_OF_STATE = 4, LSTM_GATES = 4, GRU_GATES = 3 };

static bool flag(const struct op_value *v)
{
    return v->count && *(const uint8_t *)v->data;
}

bool cost_steps(const struct binary_graph *g, const struct binary_node *n, struct cost_steps *ret)
{
    bool lstm = n->op->id == OP_Lstm;
    if ((!lstm && n->op->id != OP_Gru) || n->n_in <= FIRST_OF_STATE || n->in[FIRST_OF_STATE] == BINARY_NONE)
        return false;
    const struct tensor_desc *x = &g->tensors[n->in[0]].desc, *w = &g->tensors[n->in[FIRST_OF_STATE]].desc;
    bool time_major = flag(&n->params[lstm ? LSTM_TIME_MAJOR : GRU_TIME_MAJOR]);
    bool steps = x->rank == 3;
    *ret = (struct cost_steps){ .n = steps ? x->dims[time_major ? 0 : 1] : 1,
                                .depth = w->rank ? w->dims[w->rank - 1] : 0,
                                .rows = steps ? x->dims[time_major ? 1 : 0] : x->dims[0],
                                .weights = (lstm ? LSTM_GATES : GRU_GATES) * desc_count(w) * binary_tile_bits(w->type) / 8 };
    return ret->n > 0 && ret->rows > 0;
}

bool cost_steps_apart(const struct cost_device *d, const struct binary_graph *g, const struct binary_node *n,
                      struct cost_steps *ret)
{
    if (!cost_steps(g, n, ret))
        return false;
    return !d->monolithic_lstm || n->op->id != OP_Lstm || ret->depth > MONOLITHIC_DEPTH;
}

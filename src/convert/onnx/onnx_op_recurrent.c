/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN, one QNN layer per direction. Weights of a direction and gate are rows of the source's tensors:
 * constants are cut in place, others by slices. A plain RNN is a GRU whose update gate is held shut and whose reset gate is
 * held open. */
#include <string.h>

#include "convert/onnx/onnx.h"

struct layer {
    struct onnx_value *x, *w, *r, *b, *h, *c, *p;
    uint32_t gates, directions, hidden, input, steps, batch, in; /* in: [time, batch, input] */
    bool batch_first, varied; /* varied: sequences of different lengths */
    struct onnx_lengths lengths;
    enum dtype type;
};

/* Rows [from, from + count) of direction d: a matrix, or a vector when v has no columns. */
static enum status rows(struct onnx_cx *cx, struct onnx_value *v, uint32_t d, uint32_t from, uint32_t count, uint32_t *ret)
{
    uint32_t columns = v->rank == 3 ? v->dims[2] : 1, dims[2] = {count, columns}, rank = v->rank - 1u, t;
    RETURN_IF(v->rank < 2 || d >= v->dims[0] || from + count > v->dims[1], ST_INVALID_OP,
              "weights or biases have the wrong shape");
    if (onnx_is_const(v) && !v->view && onnx_inner_type(v->stored) == v->stored) {
        struct tensor_desc desc = {.type = v->stored, .rank = (uint8_t)rank, .dims = {count, columns}};
        const char *data = (const char *)v->data + ((uint64_t)d * v->dims[1] + from) * columns * (dtype_bits(v->stored) / 8);
        return build_const(B, onnx_name(cx, "part"), &desc, data, onnx_aligned(&desc, data), ret);
    }
    TRY(onnx_tensor(cx, v, NULL, &t));
    int32_t ranges[9] = {(int32_t)d, (int32_t)d + 1, 1, (int32_t)from, (int32_t)(from + count), 1, 0, (int32_t)columns, 1};
    TRY(build_node(B,
                   &(struct build_spec){ .op = "StridedSlice",
                                         .name = onnx_name(cx, "part"),
                                         BUILD_IN(t),
                                         .params = { BUILD_RANGES("ranges", v->rank, ranges) } },
                   &t));
    return build_reshape(B, onnx_name(cx, "gate"), t, rank, dims, ret);
}

static enum status zeros(struct onnx_cx *cx, const struct layer *l, uint32_t rank, const uint32_t *dims, uint32_t *ret)
{
    struct tensor_desc d = {.type = l->type, .rank = (uint8_t)rank};
    memcpy(d.dims, dims, rank * sizeof(*dims));
    TRY(desc_check(&d, "zeros"));
    TRY(onnx_charge(cx, "zeros", desc_bytes(&d), 1));
    void *data = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for zeros");
    return build_const(B, onnx_name(cx, "zero"), &d, data, true, ret);
}

/* A state of direction d as [batch, hidden]. */
static enum status state(struct onnx_cx *cx, const struct layer *l, struct onnx_value *v, uint32_t d, uint32_t *ret)
{
    uint32_t dims[2] = {l->batch, l->hidden}, t;
    static const uint8_t swap[3] = {1, 0, 2};
    if (!v)
        return zeros(cx, l, 2, dims, ret);
    RETURN_IF(v->rank != 3 || onnx_count(v) != (uint64_t)l->directions * l->batch * l->hidden, ST_INVALID_OP,
              "an initial state has the wrong shape");
    TRY(onnx_tensor(cx, v, l->batch_first ? swap : NULL, &t));
    int32_t ranges[9] = {(int32_t)d, (int32_t)d + 1, 1, 0, (int32_t)l->batch, 1, 0, (int32_t)l->hidden, 1};
    if (l->directions > 1)
        TRY(build_node(B,
                       &(struct build_spec){ .op = "StridedSlice",
                                             .name = onnx_name(cx, "state"),
                                             BUILD_IN(t),
                                             .params = { BUILD_RANGES("ranges", 3, ranges) } },
                       &t));
    return build_reshape(B, onnx_name(cx, "initial"), t, 2, dims, ret);
}

/* ---- what all three share ----------------------------------------------------------------------------------------- */

/* Whether some sequence may have fewer steps than there are. */
static bool is_varied(struct onnx_cx *cx, const struct onnx_node *n, uint32_t steps)
{
    const struct onnx_value *lens = onnx_has(n, 4) ? onnx_find(cx, n->in[4]) : NULL;
    if (lens && (!onnx_is_const(lens) || lens->view))
        return true;
    for (uint64_t i = 0; lens && i < onnx_count(lens); i++)
        if (number_get_int(lens->stored, lens->data, i) != steps)
            return true;
    return false;
}

/* What QNN's layers cannot do: it is done step by step then. */
static bool is_unusual(struct onnx_cx *cx, const struct onnx_node *n, const char *const *usual, uint32_t each)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "activations");
    for (uint32_t i = 0; a && i < a->n_strings; i++)
        if (strcasecmp(a->strings[i], usual[i % each]) != 0)
            return true;
    const struct onnx_value *x = onnx_has(n, 0) ? onnx_find(cx, n->in[0]) : NULL;
    if (!x || x->rank != 3 || onnx_attr(cx, n, "clip") || onnx_attr_int(cx, n, "input_forget", 0))
        return true;
    /* Of the cells of an LSTM only the last is known. */
    return is_varied(cx, n, x->dims[onnx_attr_int(cx, n, "layout", 0) != 0]) && !strcmp(n->op, "LSTM") && onnx_wants(n, 2);
}

static enum status begin(struct onnx_cx *cx, const struct onnx_node *n, uint32_t gates, struct layer *l)
{
    static const uint8_t swap[3] = {1, 0, 2};
    *l = (struct layer){.gates = gates, .batch_first = onnx_attr_int(cx, n, "layout", 0)};
    TRY(onnx_in(cx, n, 0, &l->x));
    TRY(onnx_in(cx, n, 1, &l->w));
    TRY(onnx_in(cx, n, 2, &l->r));
    TRY(onnx_in_opt(cx, n, 3, &l->b));
    TRY(onnx_in_opt(cx, n, 5, &l->h));
    IMPOSSIBLE_WHEN(l->x->rank != 3 || l->w->rank != 3 || l->r->rank != 3,
                    "the input has rank %u, the weights %u and %u; 3 is expected", l->x->rank, l->w->rank, l->r->rank);
    l->directions = l->w->dims[0];
    l->hidden = l->r->dims[2];
    l->input = l->x->dims[2];
    l->steps = l->x->dims[l->batch_first ? 1 : 0];
    l->batch = l->x->dims[l->batch_first ? 0 : 1];
    RETURN_IF(l->directions < 1 || l->directions > 2 || l->w->dims[1] != gates * l->hidden, ST_INVALID_OP,
              "the weights have the wrong shape");
    TRY(onnx_tensor(cx, l->x, l->batch_first ? swap : NULL, &l->in));
    l->type = onnx_inner_type(l->x->type);
    l->varied = is_varied(cx, n, l->steps);
    if (!l->varied)
        return ST_OK;
    struct onnx_value *lens;
    TRY(onnx_in(cx, n, 4, &lens));
    return onnx_lengths(cx, lens, l->steps, l->batch, &l->lengths);
}

static bool is_reverse(struct onnx_cx *cx, const struct onnx_node *n, uint32_t d)
{
    return d == 1 || !strcmp(onnx_attr_text(cx, n, "direction", "forward"), "reverse");
}

/* Sequences of different lengths are turned around before a layer that runs forward. */
static bool runs_back(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t d)
{
    return is_reverse(cx, n, d) && !l->varied;
}

static enum status input_of(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t d, uint32_t *ret)
{
    *ret = l->in;
    return l->varied && is_reverse(cx, n, d) ? onnx_lengths_turn(cx, &l->lengths, l->in, ret) : ST_OK;
}

/* From what a layer gave for all steps to what lies inside the sequences. */
static enum status keep_lengths(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t d,
                                uint32_t *all, uint32_t *h)
{
    uint32_t first;
    if (!l->varied)
        return ST_OK;
    if (onnx_wants(n, 1)) {
        TRY(state(cx, l, l->h, d, &first));
        TRY(onnx_lengths_last(cx, &l->lengths, *all, first, h));
    }
    if (is_reverse(cx, n, d))
        TRY(onnx_lengths_turn(cx, &l->lengths, *all, all));
    return onnx_lengths_cut(cx, &l->lengths, *all, all);
}

/* Per direction [batch, size]; joined [directions, batch, size], or with the batch first. */
static enum status out_state(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t i,
                             const uint32_t *t)
{
    static const uint8_t swap[3] = {1, 0, 2};
    uint32_t part[2], y, dims[3] = {1, l->batch, l->hidden};
    if (!onnx_wants(n, i))
        return ST_OK;
    for (uint32_t d = 0; d < l->directions; d++)
        TRY(build_reshape(B, onnx_name(cx, "last"), t[d], 3, dims, &part[d]));
    y = part[0];
    if (l->directions == 2)
        TRY(build_node(B,
                       &(struct build_spec){ .op = "Concat",
                                             .name = onnx_name(cx, "directions"),
                                             BUILD_IN(part[0], part[1]),
                                             .params = { BUILD_U32("axis", 0) } },
                       &y));
    return onnx_out(cx, n, i, y, l->batch_first ? swap : NULL);
}

/* Per direction [time, batch, hidden]; joined [time, directions, batch, hidden], or [batch, time, directions, hidden]. */
static enum status out_sequence(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, const uint32_t *t)
{
    static const uint8_t batch_first[4] = {1, 2, 0, 3};
    uint32_t part[2], y, dims[4] = {l->steps, 1, l->batch, l->hidden};
    if (!onnx_wants(n, 0))
        return ST_OK;
    for (uint32_t d = 0; d < l->directions; d++)
        TRY(build_reshape(B, onnx_name(cx, "sequence"), t[d], 4, dims, &part[d]));
    y = part[0];
    if (l->directions == 2)
        TRY(build_node(B,
                       &(struct build_spec){ .op = "Concat",
                                             .name = onnx_name(cx, "directions"),
                                             BUILD_IN(part[0], part[1]),
                                             .params = { BUILD_U32("axis", 1) } },
                       &y));
    return onnx_out(cx, n, 0, y, l->batch_first ? batch_first : NULL);
}

/* ---- LSTM --------------------------------------------------------------------------------------------------------- */

enum { GATE_I, GATE_O, GATE_F, GATE_C };

/* The sum of both biases of a gate. */
static enum status gate_bias(struct onnx_cx *cx, const struct layer *l, uint32_t d, uint32_t gate, uint32_t *ret)
{
    uint32_t a, b, dims[1] = {l->hidden};
    if (!l->b)
        return zeros(cx, l, 1, dims, ret);
    if (onnx_is_const(l->b) && !l->b->view) {
        RETURN_IF(l->b->rank != 2 || l->b->dims[1] != 2 * l->gates * l->hidden || d >= l->b->dims[0], ST_INVALID_OP,
                  "the bias has the wrong shape");
        struct tensor_desc desc = {.type = l->type, .rank = 1, .dims = {l->hidden}};
        void *sum = arena_alloc(&cx->b.g->arena, desc_bytes(&desc));
        RETURN_IF(!sum, ST_NO_MEMORY, "no memory for a bias");
        for (uint64_t i = 0; i < l->hidden; i++) {
            uint64_t at = (uint64_t)d * l->b->dims[1] + (uint64_t)gate * l->hidden + i,
                     second = at + (uint64_t)l->gates * l->hidden;
            number_put(l->type, sum, i,
                       number_get(l->b->stored, l->b->data, at) + number_get(l->b->stored, l->b->data, second));
        }
        return build_const(B, onnx_name(cx, "bias"), &desc, sum, true, ret);
    }
    TRY(rows(cx, l->b, d, gate * l->hidden, l->hidden, &a));
    TRY(rows(cx, l->b, d, (l->gates + gate) * l->hidden, l->hidden, &b));
    return build_binary(B, "ElementWiseAdd", onnx_name(cx, "bias"), a, b, ret);
}

static enum status lstm_direction(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t d,
                                  uint32_t *ret)
{
    static const uint8_t gate_order[4] = {GATE_F, GATE_C, GATE_O, GATE_I}; /* of the ports */
    static const uint8_t wx[4] = {1, 2, 3, 16}, wh[4] = {4, 5, 6, 17}, bias[4] = {7, 8, 9, 21};
    uint32_t in[25];
    for (uint32_t i = 0; i < 25; i++)
        in[i] = IR_NONE;
    TRY(input_of(cx, n, l, d, &in[0]));
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t gate = gate_order[i];
        TRY(rows(cx, l->w, d, gate * l->hidden, l->hidden, &in[wx[i]]));
        TRY(rows(cx, l->r, d, gate * l->hidden, l->hidden, &in[wh[i]]));
        TRY(gate_bias(cx, l, d, gate, &in[bias[i]]));
    }
    TRY(state(cx, l, l->h, d, &in[10]));
    TRY(state(cx, l, l->c, d, &in[11]));
    if (l->p) { /* peepholes come in the order i, o, f */
        TRY(rows(cx, l->p, d, 0, l->hidden, &in[18]));
        TRY(rows(cx, l->p, d, 2 * l->hidden, l->hidden, &in[19]));
        TRY(rows(cx, l->p, d, l->hidden, l->hidden, &in[20]));
    }
    return build_node(
        B,
        &(struct build_spec){ .op = "Lstm",
                              .name = cx->label,
                              .in = in,
                              .n_in = 25,
                              .n_out = 3,
                              .params = { BUILD_U32("direction", runs_back(cx, n, l, d)), BUILD_B8("time_major", 1) } },
        ret);
}

static enum status convert_lstm(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    struct layer l;
    uint32_t y[2][3], all[2], h[2], c[2];
    if (is_unusual(cx, n, usual, 3))
        return onnx_unroll(cx, n);
    TRY(begin(cx, n, 4, &l));
    TRY(onnx_in_opt(cx, n, 6, &l.c));
    TRY(onnx_in_opt(cx, n, 7, &l.p));
    for (uint32_t d = 0; d < l.directions; d++) {
        TRY(lstm_direction(cx, n, &l, d, y[d]));
        all[d] = y[d][0];
        c[d] = y[d][1];
        h[d] = y[d][2];
        TRY(keep_lengths(cx, n, &l, d, &all[d], &h[d]));
    }
    TRY(out_sequence(cx, n, &l, all));
    TRY(out_state(cx, n, &l, 1, h));
    return out_state(cx, n, &l, 2, c);
}

/* ---- GRU and RNN -------------------------------------------------------------------------------------------------- */

static enum status gru_direction(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t d,
                                 uint32_t *ret)
{
    uint32_t in[14];
    TRY(input_of(cx, n, l, d, &in[0]));
    for (uint32_t g = 0; g < 3; g++) {
        TRY(rows(cx, l->w, d, g * l->hidden, l->hidden, &in[1 + g]));
        TRY(rows(cx, l->r, d, g * l->hidden, l->hidden, &in[4 + g]));
        in[7 + g] = in[10 + g] = IR_NONE;
        if (l->b) {
            TRY(rows(cx, l->b, d, g * l->hidden, l->hidden, &in[7 + g]));
            TRY(rows(cx, l->b, d, (3 + g) * l->hidden, l->hidden, &in[10 + g]));
        }
    }
    TRY(state(cx, l, l->h, d, &in[13]));
    struct tensor_desc out[2] = {{.type = DT_NONE}, {.rank = 2}};
    return build_node(
        B,
        &(struct build_spec){
            .op = "Gru",
            .name = cx->label,
            .in = in,
            .n_in = 14,
            .n_out = 2,
            .out = out,
            .params = { BUILD_U32("direction", runs_back(cx, n, l, d)), BUILD_B8("time_major", 1),
                        BUILD_U32("linear_before_reset", onnx_attr_int(cx, n, "linear_before_reset", 0) != 0) } },
        ret);
}

static enum status filled(struct onnx_cx *cx, const struct layer *l, double value, uint32_t *ret)
{
    struct tensor_desc d = {.type = l->type, .rank = 1, .dims = {l->hidden}};
    void *data = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for a bias");
    for (uint32_t i = 0; i < l->hidden; i++)
        number_put(l->type, data, i, value);
    return build_const(B, onnx_name(cx, "hold"), &d, data, true, ret);
}

/* h = tanh(W x + R h + b): z = sigmoid(-1000) = 0, r = sigmoid(1000) = 1 */
static enum status rnn_direction(struct onnx_cx *cx, const struct onnx_node *n, const struct layer *l, uint32_t d,
                                 uint32_t *ret)
{
    uint32_t in[14], shape_w[2] = {l->hidden, l->input}, shape_r[2] = {l->hidden, l->hidden};
    TRY(input_of(cx, n, l, d, &in[0]));
    TRY(zeros(cx, l, 2, shape_w, &in[1]));
    in[2] = in[1];
    TRY(rows(cx, l->w, d, 0, l->hidden, &in[3]));
    TRY(zeros(cx, l, 2, shape_r, &in[4]));
    in[5] = in[4];
    TRY(rows(cx, l->r, d, 0, l->hidden, &in[6]));
    TRY(filled(cx, l, -1000, &in[7]));
    TRY(filled(cx, l, 1000, &in[8]));
    TRY(filled(cx, l, 0, &in[10]));
    in[11] = in[12] = in[10];
    TRY(gate_bias(cx, l, d, 0, &in[9]));
    TRY(state(cx, l, l->h, d, &in[13]));
    struct tensor_desc out[2] = {{.type = DT_NONE}, {.rank = 2}};
    return build_node(
        B,
        &(struct build_spec){ .op = "Gru",
                              .name = cx->label,
                              .in = in,
                              .n_in = 14,
                              .n_out = 2,
                              .out = out,
                              .params = { BUILD_U32("direction", runs_back(cx, n, l, d)), BUILD_B8("time_major", 1) } },
        ret);
}

static enum status convert_gru_rnn(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const char *const gru[] = {"Sigmoid", "Tanh"}, *const rnn[] = {"Tanh"};
    bool plain = !strcmp(n->op, "RNN");
    struct layer l;
    uint32_t y[2][2], all[2], h[2];
    if (is_unusual(cx, n, plain ? rnn : gru, plain ? 1 : 2))
        return onnx_unroll(cx, n);
    TRY(begin(cx, n, plain ? 1 : 3, &l));
    for (uint32_t d = 0; d < l.directions; d++) {
        TRY(plain ? rnn_direction(cx, n, &l, d, y[d]) : gru_direction(cx, n, &l, d, y[d]));
        all[d] = y[d][0];
        h[d] = y[d][1];
        TRY(keep_lengths(cx, n, &l, d, &all[d], &h[d]));
    }
    TRY(out_sequence(cx, n, &l, all));
    return out_state(cx, n, &l, 1, h);
}

const struct onnx_row onnx_rows_recurrent[] = {
    {"LSTM", 0, convert_lstm, NULL},
    {"GRU", 0, convert_gru_rnn, NULL},
    {"RNN", 0, convert_gru_rnn, NULL},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with a time axis: Lstm, Gru, Buffer, Stft. */
#include "ops/op_rules.h"

/* All operands of a float layer are of one type; those of a fixed-point layer are fixed point, or i32 or f32 biases. */
static enum status gate_types(const struct op_call *c, uint32_t last)
{
    char text[DESC_TEXT_MAX];
    enum dtype x = c->in[0]->type;
    if (dtype_is_fixed(x))
        return rule_affine_types(c, 1, last);
    for (uint32_t i = 1; i <= last && i < c->n_in; i++)
        REFUSE_IF(c->in[i] && c->in[i]->type != x, c, "input %u (\"%s\") is %s; %s is expected, the type of input 0", i,
                  rule_in_name(c, i), desc_text(c->in[i], text), dtype_name(x));
    return ST_OK;
}

/* Matrices have one scale, or one per row without offsets. A bias without a scale of its own has that of its products, and
 * there must be one. */
static enum status row_scales(const struct op_call *c, uint32_t biases, uint32_t last)
{
    char text[DESC_TEXT_MAX];
    uint32_t several = 0;
    for (uint32_t i = 1; i < c->n_in && i <= last; i++) {
        const struct tensor_desc *w = c->in[i];
        if (!w || !dtype_is_fixed(w->type) || w->q.kind <= Q_TENSOR)
            continue;
        several = several ? several : i;
        REFUSE_IF(w->q.kind != Q_AXIS || (w->q.axis != 0 && w->q.axis != -2), c,
                  "input %u (\"%s\") is %s with one scale per %s; one scale, or one per row (axis 0), is expected", i,
                  rule_in_name(c, i), desc_text(w, text), w->q.kind == Q_AXIS ? "column" : "block");
        for (uint32_t k = 0; w->q.offsets && k < w->q.n; k++)
            REFUSE_IF(w->q.offsets[k], c, "input %u (\"%s\") has a scale per row and offset %d in row %u; 0 is expected", i,
                      rule_in_name(c, i), w->q.offsets[k], k);
    }
    for (uint32_t i = 1; several && i < c->n_in && i <= last; i++) {
        const struct tensor_desc *b = c->in[i];
        bool own = !b || !(biases >> i & 1) || (b->type != DT_I32 && !(b->type == DT_SQ32 && quant_scale(&b->q, 0) == 0.0f));
        REFUSE_IF(
            !own, c,
            "input %u (\"%s\") is %s without a scale of its own, and input %u (\"%s\") has one per row; give the bias a "
            "scale, or make it f32",
            i, rule_in_name(c, i), desc_text(b, text), several, rule_in_name(c, several));
    }
    return ST_OK;
}

/* [time, batch, size] or [batch, time, size]; without a time axis one step, time 0. */
struct sequence {
    uint32_t time, batch, size;
    bool time_major;
};

static enum status read_sequence(const struct op_call *c, uint32_t least_rank, struct sequence *ret)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0];
    REFUSE_IF(x->rank < least_rank || x->rank > 3, c, "input 0 is %s of rank %u; %s is expected", desc_text(x, text),
              x->rank, least_rank == 3 ? "rank 3" : "rank 2 ([batch, input]) or 3 (with time)");
    bool major = op_int(c, "time_major", 0);
    *ret = (struct sequence){.size = x->dims[x->rank - 1], .time_major = major};
    if (x->rank == 2) {
        ret->batch = x->dims[0];
        return ST_OK;
    }
    ret->time = x->dims[major ? 0 : 1];
    ret->batch = x->dims[major ? 1 : 0];
    return ST_OK;
}

/* A layer with a reset input keeps its state between executions; one that changes its batch could not. */
static enum status stateful_rule(const struct op_call *c, const struct sequence *s, uint32_t reset)
{
    if (!rule_in(c, reset))
        return ST_OK;
    const struct tensor_desc *x = c->in[0];
    TRY(rule_vector(c, reset, 1, "one flag"));
    uint8_t batch = x->rank == 3 && s->time_major ? 2 : 1;
    REFUSE_IF(x->dynamic & batch, c,
              "input 0 has a dynamic batch; with a \"reset\" input the layer keeps a state per batch element, so the batch "
              "must be fixed");
    return ST_OK;
}

static enum status sequence_out(const struct op_call *c, struct tensor_desc *want, const struct sequence *s, uint32_t size)
{
    rule_type_computed(want, c->in[0]);
    if (s->time == 0)
        return rule_set(c, want, 2, (uint64_t[]){s->batch, size});
    uint64_t first = s->time_major ? s->time : s->batch, second = s->time_major ? s->batch : s->time;
    TRY(rule_set(c, want, 3, (uint64_t[]){first, second, size}));
    want->dynamic = c->in[0]->dynamic & 3;
    return ST_OK;
}

/* A state of one step: [batch, size], with or without a leading 1 as the client declared it. */
static enum status state_out(const struct op_call *c, struct tensor_desc *want, const struct sequence *s, uint32_t size)
{
    if (!(dtype_is_fixed(c->in[0]->type) && dtype_is_fixed(want->type)))
        rule_type_computed(want, c->in[0]);
    if (want->rank == 3)
        return rule_set(c, want, 3, (uint64_t[]){1, s->batch, size});
    return rule_set(c, want, 2, (uint64_t[]){s->batch, size});
}

static enum status matrices(const struct op_call *c, const uint8_t *ports, uint32_t n, uint32_t rows, uint32_t columns)
{
    for (uint32_t i = 0; i < n; i++)
        TRY(rule_dims(c, ports[i], 2, (uint32_t[]){rows, columns}, columns ? "[units, input]" : "[units, output]"));
    return ST_OK;
}

static enum status vectors(const struct op_call *c, uint32_t first, uint32_t last, uint32_t units)
{
    for (uint32_t i = first; i <= last; i++)
        TRY(rule_vector(c, i, units, "one per unit"));
    return ST_OK;
}

static enum status lstm_input_gate(const struct op_call *c)
{
    bool x = rule_in(c, 16), h = rule_in(c, 17), b = rule_in(c, 21);
    REFUSE_IF(x != h || x != b, c,
              "of the input gate's operands \"w_xi\", \"w_hi\" and \"b_i\" only some are given; give all, or none to couple "
              "it to the forget gate");
    return ST_OK;
}

static enum status lstm_shapes(const struct op_call *c, const struct sequence *s, uint32_t units, uint32_t out)
{
    TRY(lstm_input_gate(c));
    TRY(matrices(c, (const uint8_t[]){1, 2, 3, 16}, 4, units, s->size));
    TRY(matrices(c, (const uint8_t[]){4, 5, 6, 17}, 4, units, out));
    TRY(vectors(c, 7, 9, units));
    TRY(rule_vector(c, 10, (uint64_t)s->batch * out, "[batch, output]"));
    TRY(rule_vector(c, 11, (uint64_t)s->batch * units, "[batch, units]"));
    TRY(vectors(c, 12, 15, units));
    TRY(vectors(c, 18, 21, units));
    REFUSE_IF(!rule_in(c, 22) && out != units, c,
              "the recurrent weights take %u values but there are %u units; without \"w_proj\" both must be equal", out,
              units);
    TRY(rule_dims(c, 22, 2, (uint32_t[]){out, units}, "[output, units]"));
    return rule_vector(c, 23, out, "one per output");
}

RULE(lstm)
{
    struct sequence s;
    TRY(read_sequence(c, 2, &s));
    TRY(rule_rank(c, 1, 2, "[units, input]"));
    TRY(rule_rank(c, 4, 2, "[units, output]"));
    uint32_t units = c->in[1]->dims[0], out = c->in[4]->dims[1];
    TRY(lstm_shapes(c, &s, units, out));
    TRY(stateful_rule(c, &s, 24));
    TRY(gate_types(c, 23));
    TRY(row_scales(c, 1u << 7 | 1u << 8 | 1u << 9 | 1u << 21, 23));
    TRY(sequence_out(c, &want[0], &s, out));
    for (uint32_t i = 1; i < c->n_out; i++) {
        bool per_step = i >= 3;
        uint32_t size = i == 2 || i == 7 ? out : units;
        /* The page gives the output gate the size of the output; they differ only with a projection. */
        if (i == 6 && want[i].rank > 0 && want[i].dims[want[i].rank - 1] == out)
            size = out;
        TRY(per_step && want[i].rank == 3 ? sequence_out(c, &want[i], &s, size) : state_out(c, &want[i], &s, size));
    }
    return ST_OK;
}

RULE(gru)
{
    struct sequence s;
    TRY(read_sequence(c, 3, &s));
    TRY(rule_rank(c, 1, 2, "[hidden, input]"));
    uint32_t hidden = c->in[1]->dims[0];
    TRY(matrices(c, (const uint8_t[]){1, 2, 3}, 3, hidden, s.size));
    TRY(matrices(c, (const uint8_t[]){4, 5, 6}, 3, hidden, hidden));
    TRY(vectors(c, 7, 12, hidden));
    TRY(rule_vector(c, 13, (uint64_t)s.batch * hidden, "[1, batch, hidden]"));
    TRY(gate_types(c, 13));
    TRY(row_scales(c, 0x3fu << 7, 13));
    TRY(stateful_rule(c, &s, 14));
    TRY(sequence_out(c, &want[0], &s, hidden));
    if (c->n_out > 1) {
        want[1].rank = want[1].rank == 2 ? 2 : 3;
        TRY(state_out(c, &want[1], &s, hidden));
    }
    return ST_OK;
}

/* A whole number of inputs: a multiple of what one input brings along the buffer's dimension. */
static enum status whole_frames(const struct op_call *c, const char *name, int64_t least, int64_t most, uint32_t frame)
{
    int64_t v = op_int(c, name, 0);
    REFUSE_IF(v % frame || v < least || v > most, c,
              "parameter \"%s\" is %lld; a multiple of %u (what one input brings) from %lld to %lld is expected", name,
              (long long)v, frame, (long long)least, (long long)most);
    return ST_OK;
}

/* The frames of the last executions side by side along one dimension. */
RULE(buffer)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t dim;
    REFUSE_IF(x->dynamic, c, "input 0 has dynamic dimensions; the memory of a buffer is laid out for fixed ones");
    TRY(rule_axis(c, "buffer_dim", x->rank, &dim));
    TRY(rule_vector(c, 1, 1, "one flag"));
    int64_t frame = x->dims[dim], size = op_int(c, "buffer_size", 0);
    TRY(whole_frames(c, "buffer_size", frame, UINT32_MAX, x->dims[dim]));
    TRY(whole_frames(c, "stride", frame, size, x->dims[dim]));
    TRY(whole_frames(c, "buffer_padding", 0, size, x->dims[dim]));
    rule_shape_of(&want[0], x);
    rule_type(&want[0], x);
    return rule_set_dim(c, &want[0], dim, (uint64_t)size);
}

RULE(stft)
{
    const struct tensor_desc *x = c->in[0], *window = rule_in(c, 1);
    REFUSE_IF(x->rank != 2 && x->rank != 3, c, "input 0 has rank %u; [batch, samples, 1] is expected", x->rank);
    REFUSE_IF(x->rank == 3 && x->dims[2] != 1, c,
              "input 0 has %u values per sample; 1 is expected, complex signals are not supported", x->dims[2]);
    TRY(rule_positive(c, "frame_step"));
    REFUSE_IF(!op_has(c, "frame_length") && !window, c,
              "parameter \"frame_length\" is missing; without a window there is no other length");
    uint64_t length = op_has(c, "frame_length") ? (uint64_t)op_int(c, "frame_length", 0) : desc_count(window);
    TRY(rule_vector(c, 1, length, "one per sample of a frame"));
    REFUSE_IF(length == 0 || length > x->dims[1], c, "a frame has %llu samples; 1 … %u (the signal) are allowed",
              (unsigned long long)length, x->dims[1]);
    uint64_t frames = (x->dims[1] - length) / (uint64_t)op_int(c, "frame_step", 0) + 1;
    uint64_t bins = op_int(c, "onesided", 0) ? length / 2 + 1 : length;
    rule_type_computed(&want[0], x);
    return rule_set(c, &want[0], 4, (uint64_t[]){x->dims[0], frames, bins, 2});
}

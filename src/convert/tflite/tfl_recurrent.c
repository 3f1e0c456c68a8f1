/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that remember: LSTM maps onto one node, RNN and SVDF onto a few. What they remember are variables of the file
 * (tfl_state.c). */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

/* ---- LSTM ----------------------------------------------------------------------------------------------------------- */

/* Which input of the TFLite operator each input of Lstm is; relative to the first weight where `base` is added. */
enum { WEIGHTS = 17, NODE_INPUTS = 24 };
enum { STATE_H = 10, STATE_C = 11, NORM_FIRST = 12, NORM_LAST = 15 };
static const uint8_t node_input[NODE_INPUTS] = {
    0,              /* in */
    1, 2, 3,        /* w_xf, w_xc, w_xo */
    5, 6, 7,        /* w_hf, w_hc, w_ho */
    12, 13, 14,     /* b_f, b_c, b_o */
    0, 0,           /* h, c: states */
    0, 1, 2, 3,     /* norm_i, norm_f, norm_c, norm_o: relative to the first of them */
    0, 4,           /* w_xi, w_hi */
    8, 9, 10,       /* w_ci, w_cf, w_co */
    11,             /* b_i */
    15, 16,         /* w_proj, b_proj */
};

struct lstm {
    uint32_t base, h, c;    /* inputs of the TFLite operator: the first weight, the states */
    uint32_t norm;          /* the first weight of the layer normalization, 0: none */
    bool reverse, time_major;
    unsigned cell_clip, projection_clip; /* fields of the options */
};

static enum status lstm_inputs(struct tfl_cx *cx, const struct lstm *l, uint32_t in[NODE_INPUTS])
{
    TRY(tfl_in(cx, 0, &in[0]));
    TRY(tfl_in(cx, l->h, &in[STATE_H]));
    TRY(tfl_in(cx, l->c, &in[STATE_C]));
    bool real = dtype_is_float(tfl_desc(cx, in[0])->type);
    for (uint32_t i = 1; i < NODE_INPUTS; i++) {
        bool norm = i >= NORM_FIRST && i <= NORM_LAST;
        if (i == STATE_H || i == STATE_C)
            continue;
        in[i] = IR_NONE;
        if (norm && !l->norm)
            continue;
        TRY(tfl_opt(cx, (norm ? l->norm : l->base) + node_input[i], &in[i]));
        if (real && in[i] != IR_NONE)
            TRY(tfl_float(cx, "dequantized", in[i], &in[i]));
    }
    return ST_OK;
}

/* ret: the sequence; the states are written. */
static enum status lstm_node(struct tfl_cx *cx, const char *part, const struct lstm *l, const struct tensor_desc *out,
                             uint32_t *ret)
{
    uint32_t in[NODE_INPUTS], made[3];
    struct fb_table o = cx->op->options;
    TRY(lstm_inputs(cx, l, in));
    /* The cell has an encoding of its own, the other state that of the output. */
    struct tensor_desc outs[3] = {*out, *tfl_desc(cx, in[STATE_C]), *tfl_desc(cx, in[STATE_H])};
    struct build_spec spec = {.op = "Lstm", .in = in, .n_in = NODE_INPUTS, .n_out = 3,
                              .params = {BUILD_U32("direction", l->reverse), BUILD_B8("time_major", l->time_major),
                                         BUILD_F32("cell_clip_threshold", fb_float(o, l->cell_clip, 0)),
                                         BUILD_F32("output_clip_threshold", fb_float(o, l->projection_clip, 0))}};
    TRY(tfl_part(cx, part, &spec, outs, made));
    TRY(tfl_state_write(cx, l->c, made[1]));
    TRY(tfl_state_write(cx, l->h, made[2]));
    *ret = made[0];
    return ST_OK;
}

static enum status only_tanh(struct tfl_cx *cx)
{
    enum tfl_activation act = tfl_activation(cx, LSTM_ACTIVATION);
    TFL_REFUSE_IF(act != ACT_TANH, "the activation of the cell is %d; tanh (%d) is supported", (int)act, ACT_TANH);
    return ST_OK;
}

TFL_LOWER(lstm)
{
    bool sequence = cx->row->fused;
    struct lstm l = { .base = 1,
                      .h = 18,
                      .c = 19,
                      .norm = cx->op->in.n > 20 ? 20 : 0,
                      .cell_clip = LSTM_CELL_CLIP,
                      .projection_clip = LSTM_PROJECTION_CLIP };
    uint32_t y;
    if (sequence)
        l.time_major = tfl_flag(cx, LSTM_TIME_MAJOR_OR_KERNEL);
    else
        TFL_REFUSE_IF(tfl_flag(cx, LSTM_TIME_MAJOR_OR_KERNEL),
                      "the basic kernel with joined weights; the full kernel is supported");
    TRY(only_tanh(cx));
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    TRY(lstm_node(cx, "lstm", &l, &out, &y));
    return tfl_bind(cx, 0, y);
}

TFL_LOWER(bilstm)
{
    uint32_t y[2], both;
    bool merge = tfl_flag(cx, BILSTM_MERGE), major = fb_int(cx->op->options, BILSTM_TIME_MAJOR, 1, 1) != 0;
    struct lstm l = { .base = 1,
                      .h = 35,
                      .c = 36,
                      .time_major = major,
                      .cell_clip = BILSTM_CELL_CLIP,
                      .projection_clip = BILSTM_PROJECTION_CLIP };
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    TFL_REFUSE_IF(tfl_has(cx, 39), "an auxiliary input is given; layers without one are supported");
    TRY(only_tanh(cx));
    TRY(lstm_node(cx, "forward", &l, &out, &y[0]));
    l.base = 1 + WEIGHTS;
    l.h = 37;
    l.c = 38;
    l.reverse = true;
    out = merge ? out : *tfl_out_desc(cx, 1);
    TRY(lstm_node(cx, "backward", &l, &out, &y[1]));
    if (!merge) {
        TRY(tfl_bind(cx, 0, y[0]));
        return tfl_bind(cx, 1, y[1]);
    }
    uint32_t axis = tfl_desc(cx, y[0])->rank - 1u;
    TRY(tfl_part(cx, "both",
                 &(struct build_spec){ .op = "Concat", BUILD_IN(y[0], y[1]), .params = { BUILD_U32("axis", axis) } },
                 tfl_out_desc(cx, 0), &both));
    return tfl_bind(cx, 0, both);
}

/* ---- RNN ------------------------------------------------------------------------------------------------------------ */

/* y = f(W·x + b + R·y) */
TFL_LOWER(rnn)
{
    uint32_t in[5], a, b;
    TFL_REFUSE_IF(cx->op->in.n != 5, "%u inputs; 5 are expected", cx->op->in.n);
    for (uint32_t k = 0; k < 5; k++) {
        TRY(tfl_in(cx, k, &in[k]));
        TRY(tfl_float(cx, "dequantized", in[k], &in[k]));
    }
    TFL_REFUSE_IF(!dtype_is_float(tfl_out_desc(cx, 0)->type), "the output is fixed point; float is expected");
    TRY(tfl_part(cx, "input", &(struct build_spec){.op = "FullyConnected", BUILD_IN(in[0], in[1], in[3])}, NULL, &a));
    TRY(tfl_part(cx, "recurrent", &(struct build_spec){.op = "FullyConnected", BUILD_IN(in[4], in[2])}, NULL, &b));
    struct build_spec spec = {.op = "ElementWiseAdd", BUILD_IN(a, b)};
    TRY(tfl_emit_act(cx, &spec, tfl_activation(cx, OPTION_FIRST)));
    return tfl_state_write(cx, 4, cx->scope->map[tfl_number(cx->op->out, 0)]);
}

/* The same for every step of a sequence. */
struct rnn {
    uint32_t x, w, r, b, h; /* in float; x: [batch, time, size], or time first */
    uint32_t batch, time, units;
    bool time_major, reverse;
    enum tfl_activation act;
};

/* Inputs of one direction from number `first` on: weights, recurrent weights, bias, state. */
static enum status rnn_inputs(struct tfl_cx *cx, uint32_t first, struct rnn *s)
{
    uint32_t *const to[] = {&s->w, &s->r, &s->b, &s->h};
    for (uint32_t k = 0; k < 4; k++) {
        TRY(tfl_in(cx, first + k, to[k]));
        TRY(tfl_float(cx, "real", *to[k], to[k]));
    }
    const struct tensor_desc *x = tfl_desc(cx, s->x), *w = tfl_desc(cx, s->w), *r = tfl_desc(cx, s->r),
                             *h = tfl_desc(cx, s->h);
    TFL_REFUSE_IF(x->rank != 3 || w->rank != 2 || r->rank != 2 || w->dims[1] != x->dims[2] || r->dims[0] != w->dims[0] ||
                      r->dims[1] != w->dims[0],
                  "the input has rank %u, weights and recurrent weights have %u and %u; [batch, time, size], [units, size] "
                  "and [units, units] are expected",
                  x->rank, w->rank, r->rank);
    s->time = x->dims[!s->time_major];
    s->batch = x->dims[s->time_major];
    s->units = w->dims[0];
    TFL_REFUSE_IF(desc_count(h) != (uint64_t)s->batch * s->units, "the state has %llu values; %u · %u are expected",
                  (unsigned long long)desc_count(h), s->batch, s->units);
    return ST_OK;
}

/* Step t of the products with the input. */
static enum status rnn_step_of(struct tfl_cx *cx, const struct rnn *s, uint32_t products, uint32_t t, uint32_t *ret)
{
    const uint32_t dims[2] = {s->batch, s->units};
    int32_t rows[3][3] = {{0, (int32_t)s->batch, 1}, {0, (int32_t)s->batch, 1}, {0, (int32_t)s->units, 1}};
    rows[!s->time_major][0] = (int32_t)t;
    rows[!s->time_major][1] = (int32_t)t + 1;
    TRY(tfl_part(
        cx, "step",
        &(struct build_spec){ .op = "StridedSlice", BUILD_IN(products), .params = { BUILD_RANGES("ranges", 3, rows) } },
        NULL, ret));
    return build_reshape(&cx->b, tfl_name(cx, "now"), *ret, 2, dims, ret);
}

enum { STEPS_EACH = 32, STEPS_MAX = STEPS_EACH * STEPS_EACH };

/* All steps side by side; a node takes so many of them. */
static enum status rnn_join(struct tfl_cx *cx, const struct rnn *s, const uint32_t *each, uint32_t *ret)
{
    uint32_t parts[STEPS_EACH] = {0};
    uint32_t n = 0;
    uint32_t axis = !s->time_major;

    for (uint32_t at = 0; at < s->time; at += STEPS_EACH) {
        uint32_t count = s->time - at < STEPS_EACH ? s->time - at : STEPS_EACH;
        TRY(tfl_part(
            cx, "steps",
            &(struct build_spec){ .op = "Pack", .in = each + at, .n_in = count, .params = { BUILD_U32("axis", axis) } },
            NULL, &parts[n++]));
    }
    *ret = parts[0];
    return n == 1 ? ST_OK
                  : tfl_part(cx, "all",
                             &(struct build_spec){
                                 .op = "Concat", .in = parts, .n_in = n, .params = { BUILD_U32("axis", axis) } },
                             NULL, ret);
}

/* One direction; the state is input number `state` of the operator. */
static enum status rnn_direction(struct tfl_cx *cx, struct rnn *s, uint32_t state, uint32_t *ret)
{
    uint32_t products, now, before, h = s->h, *each;
    uint32_t shape[3] = {s->time_major ? s->time : s->batch, s->time_major ? s->batch : s->time, s->units};
    TFL_REFUSE_IF(s->time > STEPS_MAX, "%u steps; they are computed one by one, and at most %d are supported", s->time,
                  STEPS_MAX);
    each = arena_array(&cx->m.arena, uint32_t, s->time);
    RETURN_IF(!each, ST_NO_MEMORY, "no memory for %u steps", s->time);
    TRY(tfl_part(cx, "input", &(struct build_spec){.op = "FullyConnected", BUILD_IN(s->x, s->w, s->b)}, NULL, &products));
    TRY(build_reshape(&cx->b, tfl_name(cx, "products"), products, 3, shape, &products));
    TRY(build_reshape(&cx->b, tfl_name(cx, "state"), h, 2, (const uint32_t[]){s->batch, s->units}, &h));
    for (uint32_t i = 0; i < s->time; i++) {
        uint32_t t = s->reverse ? s->time - 1 - i : i;
        TRY(rnn_step_of(cx, s, products, t, &now));
        TRY(tfl_part(cx, "recurrent", &(struct build_spec){.op = "FullyConnected", BUILD_IN(h, s->r)}, NULL, &before));
        TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "sum"), now, before, &h));
        TRY(tfl_act(cx, h, s->act, &h));
        each[t] = h;
    }
    TRY(tfl_state_write(cx, state, h));
    return rnn_join(cx, s, each, ret);
}

TFL_LOWER(sequence_rnn)
{
    bool both = cx->row->arg != NULL;
    struct rnn s = {.time_major = tfl_flag(cx, SEQUENCE_RNN_TIME_MAJOR), .act = tfl_activation(cx, SEQUENCE_RNN_ACTIVATION)};
    uint32_t y[2];
    TFL_REFUSE_IF(both && (tfl_has(cx, 9) || tfl_has(cx, 10) || tfl_has(cx, 11)),
                  "an auxiliary input is given; layers without one are supported");
    TFL_REFUSE_IF(!dtype_is_float(tfl_out_desc(cx, 0)->type), "the output is fixed point; float is expected");
    TRY(tfl_in(cx, 0, &s.x));
    for (uint32_t k = 0; k < (both ? 2 : 1); k++) {
        s.reverse = k;
        TRY(rnn_inputs(cx, 1 + 4 * k, &s));
        TRY(rnn_direction(cx, &s, 4 + 4 * k, &y[k]));
    }
    if (!both)
        return tfl_bind(cx, 0, y[0]);
    if (tfl_flag(cx, BIRNN_MERGE)) {
        TRY(tfl_part(cx, "both",
                     &(struct build_spec){ .op = "Concat", BUILD_IN(y[0], y[1]), .params = { BUILD_U32("axis", 2) } }, NULL,
                     &y[0]));
        return tfl_bind(cx, 0, y[0]);
    }
    TRY(tfl_bind(cx, 0, y[0]));
    return tfl_bind(cx, 1, y[1]);
}

/* ---- SVDF ----------------------------------------------------------------------------------------------------------- */

struct svdf {
    uint32_t x, feature, time, bias, state; /* in float */
    uint32_t batch, filters, memory, units, rank;
};

static enum status svdf_inputs(struct tfl_cx *cx, struct svdf *s)
{
    uint32_t *const to[] = {&s->x, &s->feature, &s->time, &s->bias, &s->state};
    for (uint32_t k = 0; k < 5; k++) {
        TRY(tfl_opt(cx, k, to[k]));
        TFL_REFUSE_IF(*to[k] == IR_NONE && k != 3, "input %u is missing", k);
        if (*to[k] != IR_NONE)
            TRY(tfl_float(cx, "real", *to[k], to[k]));
    }
    const struct tensor_desc *x = tfl_desc(cx, s->x), *t = tfl_desc(cx, s->time), *st = tfl_desc(cx, s->state);
    int64_t rank = tfl_option(cx, SVDF_RANK, 0);
    TFL_REFUSE_IF(x->rank != 2 || t->rank != 2, "an input of rank %u and time weights of rank %u; rank 2 is expected",
                  x->rank, t->rank);
    s->batch = x->dims[0];
    s->filters = t->dims[0];
    s->memory = t->dims[1];
    TFL_REFUSE_IF(rank < 1 || s->filters % rank, "%u filters of rank %lld; a divisor of them is expected", s->filters,
                  (long long)rank);
    s->rank = (uint32_t)rank;
    s->units = s->filters / s->rank;
    TFL_REFUSE_IF(desc_count(st) != (uint64_t)s->batch * s->filters * s->memory,
                  "the state has %llu values; %u · %u · %u are expected", (unsigned long long)desc_count(st), s->batch,
                  s->filters, s->memory);
    return ST_OK;
}

/* The memory of every filter moves on by one; the newest place takes the features of this input. */
static enum status svdf_memory(struct tfl_cx *cx, const struct svdf *s, uint32_t *ret)
{
    uint32_t now, old, dims[3] = {s->batch, s->filters, 1};
    int32_t rows[3][3] = {{0, (int32_t)s->batch, 1}, {0, (int32_t)s->filters, 1}, {1, (int32_t)s->memory, 1}};
    TRY(tfl_part(cx, "features", &(struct build_spec){.op = "FullyConnected", BUILD_IN(s->x, s->feature)}, NULL, &now));
    TRY(build_reshape(&cx->b, tfl_name(cx, "newest"), now, 3, dims, &now));
    *ret = now;
    if (s->memory == 1)
        return ST_OK;
    dims[2] = s->memory;
    TRY(build_reshape(&cx->b, tfl_name(cx, "memory"), s->state, 3, dims, &old));
    TRY(tfl_part(cx, "older",
                 &(struct build_spec){ .op = "StridedSlice", BUILD_IN(old), .params = { BUILD_RANGES("ranges", 3, rows) } },
                 NULL, &old));
    return tfl_part(cx, "moved",
                    &(struct build_spec){ .op = "Concat", BUILD_IN(old, now), .params = { BUILD_U32("axis", 2) } }, NULL,
                    ret);
}

/* A fixed-point state is rounded before anything reads it: *memory becomes what the next run will see. */
static enum status svdf_keep(struct tfl_cx *cx, uint32_t *memory)
{
    const struct tfl_tensor *st = tfl_source(cx, 4);
    struct tensor_desc d = *tfl_desc(cx, *memory);
    uint32_t t = *memory;
    if (dtype_is_fixed(st->desc.type)) {
        d.type = st->desc.type;
        d.q = st->desc.q;
        TRY(tfl_part(cx, "rounded", &(struct build_spec){.op = "Quantize", BUILD_IN(t)}, &d, &t));
        TRY(tfl_float(cx, "seen", t, memory));
    }
    TRY(build_reshape(&cx->b, tfl_name(cx, "state"), t, st->desc.rank, st->desc.dims, &t));
    return tfl_state_write(cx, 4, t);
}

/* A bias without a scale of its own is in that of its products. */
static enum status svdf_bias(struct tfl_cx *cx, const struct svdf *s, uint32_t *ret)
{
    const struct tfl_tensor *b = tfl_source(cx, 3), *w = tfl_source(cx, 2), *st = tfl_source(cx, 4);
    uint32_t scale;
    *ret = s->bias;
    if (!b || b->desc.type != DT_I32 || !dtype_is_fixed(w->desc.type) || !dtype_is_fixed(st->desc.type))
        return ST_OK;
    struct tensor_desc real = {.type = DT_F32};
    TRY(tfl_scalar(cx, "bias_scale", &real, (double)quant_scale(&w->desc.q, 0) * (double)quant_scale(&st->desc.q, 0),
                   &scale));
    return build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "bias"), s->bias, scale, ret);
}

/* Sum over time, then over the rank: both are one sum of rows of memory·rank. */
TFL_LOWER(svdf)
{
    struct svdf s;
    uint32_t memory, y, time, dims[3];
    enum tfl_activation act = tfl_activation(cx, SVDF_ACTIVATION);
    TRY(svdf_inputs(cx, &s));
    TRY(svdf_memory(cx, &s, &memory));
    TRY(svdf_keep(cx, &memory));
    TRY(svdf_bias(cx, &s, &s.bias));
    memcpy(dims, (uint32_t[]){1, s.filters, s.memory}, sizeof(dims));
    TRY(build_reshape(&cx->b, tfl_name(cx, "time"), s.time, 3, dims, &time));
    TRY(build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "weighted"), memory, time, &y));
    memcpy(dims, (uint32_t[]){s.batch, s.units, s.rank * s.memory}, sizeof(dims));
    TRY(build_reshape(&cx->b, tfl_name(cx, "rows"), y, 3, dims, &y));
    TRY(tfl_part(
        cx, "sum",
        &(struct build_spec){ .op = "ReduceSum", BUILD_IN(y), .params = { BUILD_U32S("axes", 1, (&(uint32_t){ 2 })) } },
        NULL, &y));
    if (s.bias != IR_NONE)
        TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "biased"), y, s.bias, &y));
    if (!dtype_is_fixed(tfl_out_desc(cx, 0)->type))
        return tfl_bind_act(cx, 0, y, act);
    TRY(tfl_part(cx, "quantized", &(struct build_spec){.op = "Quantize", BUILD_IN(y)}, tfl_out_desc(cx, 0), &y));
    return tfl_bind_act(cx, 0, y, act);
}

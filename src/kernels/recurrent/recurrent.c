/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Lstm and Gru. */
#include <string.h>

#include "kernels/families.h"
#include "kernels/recurrent/recurrent.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant lstm_variants[] = {
#include "kernels/recurrent/lstm.def"
    { 0 },
};
static const struct kernel_variant gru_variants[] = {
#include "kernels/recurrent/gru.def"
    { 0 },
};
#undef KERNEL

/* Biases of fixed-point layers that carry no scale of their own are in the steps of the products: s_x * s_w. */
static const struct {
    uint8_t bias, matrix, vector;
} lstm_biases[] = {
    {LSTM_BF, LSTM_WXF, LSTM_X}, {LSTM_BC, LSTM_WXC, LSTM_X}, {LSTM_BO, LSTM_WXO, LSTM_X}, {LSTM_BI, LSTM_WXI, LSTM_X},
}, gru_biases[] = {
    {GRU_BXZ, GRU_WXZ, GRU_X}, {GRU_BXR, GRU_WXR, GRU_X}, {GRU_BXN, GRU_WXN, GRU_X},
    {GRU_BHZ, GRU_WHZ, GRU_H}, {GRU_BHR, GRU_WHR, GRU_H}, {GRU_BHN, GRU_WHN, GRU_H},
};

static void bias_scale(const struct op_call *c, struct rnn_args *a, unsigned bias, unsigned matrix, unsigned vector)
{
    if (!(a->given >> bias & 1) || !dtype_is_fixed(c->in[0]->type))
        return;
    const struct tensor_desc *d = c->in[bias];
    if (d->type != DT_I32 && !(d->type == DT_SQ32 && quant_scale(&d->q, 0) == 0.0f))
        return;
    a->src[bias].type = DT_SQ32;
    a->src[bias].wide = true;
    a->src[bias].offset = 0;
    a->src[bias].scales = NULL;
    vector = a->given >> vector & 1 ? vector : 0;
    codec_rescale(&a->src[bias], (double)a->src[vector].scale * (double)a->src[matrix].scale);
}

static enum status read_operands(const struct op_call *c, struct rnn_args *a)
{
    for (uint32_t i = 0; i < c->n_in && i < RNN_INPUTS; i++)
        if (c->in[i]) {
            a->given |= 1u << i;
            TRY(codec_init(&a->src[i], c->in[i], c));
        }
    for (uint32_t i = 0; i < c->n_out && i < RNN_OUTPUTS; i++)
        if (c->out[i] && c->out[i]->type != DT_NONE) {
            a->wanted |= 1u << i;
            TRY(codec_init(&a->dst[i], c->out[i], c));
        }
    return ST_OK;
}

static void find_whole(const struct op_call *c, struct rnn_args *a)
{
    for (uint32_t i = 0; i < c->n_in && i < RNN_INPUTS; i++)
        if (recurrent_whole(c, i)) {
            bool x = memchr(a->wx, (int)i, sizeof a->wx) != NULL;
            a->whole |= 1u << i;
            a->whole_x |= x;
            a->whole_h |= !x;
        }
    a->whole_first = a->given >> a->first[0] & 1 && recurrent_whole_vector(c, c->in[a->first[0]]);
}

static void read_shape(const struct op_call *c, struct rnn_args *a)
{
    const struct tensor_desc *x = c->in[0];
    bool lstm = c->op->id == OP_Lstm, major = op_int(c, "time_major", 0);
    a->in = x->dims[x->rank - 1];
    a->units = c->in[1]->dims[0];
    a->out = lstm ? c->in[LSTM_WHF]->dims[1] : a->units;
    a->time = x->rank == 3 ? x->dims[major ? 0 : 1] : 1;
    a->batch = x->rank == 3 ? x->dims[major ? 1 : 0] : x->dims[0];
    a->x_batch = a->y_batch = x->rank == 3 && !major ? a->time : 1;
    a->x_time = a->y_time = x->rank == 3 && major ? a->batch : 1;
    a->reverse = op_int(c, "direction", 0) == 1;
    a->sequence[0] = x->rank == 3;
    for (uint32_t i = 3; i < c->n_out && i < RNN_OUTPUTS; i++)
        a->sequence[i] = x->rank == 3 && c->out[i] && c->out[i]->rank == 3;
}

static uint64_t padded(uint64_t n)
{
    return (n + 15) / 16 * 16;
}

static uint64_t bytes_of(const struct codec *c, uint64_t n)
{
    return (dtype_bytes(c->type, n) + 15) / 16 * 16;
}

static void plan_state(struct rnn_args *a, bool lstm, struct kernel_bound *ret)
{
    const uint32_t size[2] = { a->out, lstm ? a->units : 0 };
    a->stateful = a->given >> (lstm ? LSTM_RESET : GRU_RESET) & 1;
    if (!a->stateful)
        return;
    ret->state_bytes = ((uint64_t)a->batch + 15) / 16 * 16;
    for (int i = 0; i < 2; i++) {
        a->state[i] = a->dst[i];
        if (!(a->wanted >> i & 1) || a->dst[i].scales) /* states of such encodings are not rounded */
            codec_f32(&a->state[i]);
        a->state_at[i] = ret->state_bytes;
        ret->state_bytes += bytes_of(&a->state[i], (uint64_t)a->batch * size[i]);
    }
}

/* In the order of the gates in recurrent_body.h. */
static const struct {
    uint8_t wx[4], first[2], reset;
} operands[2] = {
    { { LSTM_WXI, LSTM_WXF, LSTM_WXC, LSTM_WXO }, { LSTM_H, LSTM_C }, LSTM_RESET },
    { { GRU_WXZ, GRU_WXR, GRU_WXN, 0 }, { GRU_H, GRU_H }, GRU_RESET },
};

static bool bytes_apart(const struct rnn_args *a)
{
    for (uint32_t i = 0; i < RNN_OUTPUTS; i++)
        if (a->wanted >> i & 1 && dtype_bits(a->dst[i].type) < 8)
            return false;
    return true;
}

/* Units can be shared out when none needs all others of its own phase: layer norms and projections do. */
static bool can_share(const struct rnn_args *a, bool lstm)
{
    const uint32_t whole = 1u << LSTM_NI | 1u << LSTM_NF | 1u << LSTM_NC | 1u << LSTM_NO | 1u << LSTM_WP;
    return a->batch == 1 && a->time && a->units > RNN_ROWS && a->out == a->units && bytes_apart(a) &&
           !(lstm && a->given & whole);
}

static void plan_phases(struct rnn_args *a, bool lstm, struct kernel_bound *ret)
{
    const uint64_t macs = (uint64_t)a->units * ((uint64_t)a->in + a->out) * (lstm ? 4 : 3),
                   blocks = ((uint64_t)a->units + RNN_ROWS - 1) / RNN_ROWS;
    a->step_phases = lstm || a->linear_before_reset ? 1 : 2;
    const uint64_t phases = (uint64_t)a->time * a->step_phases + (a->stateful && a->time);
    a->phases = (uint32_t)phases;
    kernel_units(ret, a->batch, macs * a->time);
    if (!can_share(a, lstm) || phases * blocks > UINT32_MAX)
        return;
    a->blocks = (uint32_t)blocks;
    ret->extent = (uint32_t)(phases * blocks);
    ret->phases = a->phases;
}

static void plan_work(struct rnn_args *a, struct kernel_bound *ret)
{
    a->steps = a->time == 0 ? 1 : a->time < RNN_STEPS ? a->time : RNN_STEPS;
    uint64_t shared = a->steps * 4 * padded(a->units) + 2 * padded(a->out) + 2 * padded(a->units);
    uint64_t own = a->steps * padded(a->in) + padded(a->out) + padded(a->units > a->out ? a->units : a->out);
    own += (a->whole_x ? a->steps * padded(a->in) : 0) + (a->whole_h ? padded(a->out) : 0); /* two words for a number */
    a->shared_floats = shared;
    ret->work_bytes = 4 * (shared + own);
}

static enum status recurrent_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                  const struct kernel_variant **variants)
{
    struct rnn_args *a = args;
    bool lstm = c->op->id == OP_Lstm;
    *a = (struct rnn_args){ .n_in = c->n_in, .has_c = lstm, .reset = operands[!lstm].reset };
    memcpy(a->wx, operands[!lstm].wx, sizeof a->wx);
    memcpy(a->first, operands[!lstm].first, sizeof a->first);
    TRY(read_operands(c, a));
    read_shape(c, a);
    find_whole(c, a);
    if (lstm) {
        a->cell_clip = (float)op_real(c, "cell_clip_threshold", 0);
        a->out_clip = (float)op_real(c, "output_clip_threshold", 0);
        RETURN_IF(c->n_out > 6 && c->out[6] && c->out[6]->rank && c->out[6]->dims[c->out[6]->rank - 1] != a->units,
                  ST_NOT_SUPPORTED,
                  "Lstm \"%s\": the output gate has %u values per batch; an output of that size is expected",
                  c->node ? c->node : "", a->units);
        for (size_t i = 0; i < sizeof(lstm_biases) / sizeof(lstm_biases[0]); i++)
            bias_scale(c, a, lstm_biases[i].bias, lstm_biases[i].matrix, lstm_biases[i].vector);
    } else {
        a->linear_before_reset = op_int(c, "linear_before_reset", 0);
        for (size_t i = 0; i < sizeof(gru_biases) / sizeof(gru_biases[0]); i++)
            bias_scale(c, a, gru_biases[i].bias, gru_biases[i].matrix, gru_biases[i].vector);
    }
    recurrent_find_turned(c, a);
    plan_state(a, lstm, ret);
    plan_phases(a, lstm, ret);
    plan_work(a, ret);
    *variants = lstm ? lstm_variants : gru_variants;
    return ST_OK;
}

const struct kernel_family family_recurrent = {
    .name = "recurrent",
    .args_size = sizeof(struct rnn_args),
    .bind = recurrent_bind,
    .aux = recurrent_aux,
    .aux_fill = recurrent_aux_fill,
};

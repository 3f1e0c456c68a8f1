/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of layers with a memory: Lstm, Gru, GroupQueryAttention and Buffer. */
#include <math.h>

#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

#define T_STATE (T_FLOAT | T_BOOL | T_INT | T_(DT_U8) | T_(DT_U16) | T_(DT_U32))

/* ---- Lstm, Gru -------------------------------------------------------------------------------------------------------- */

static bool has(const struct op_call *c, uint32_t i)
{
    return i < c->n_in && c->in[i];
}

static bool wanted(const struct op_call *c, uint32_t i)
{
    return i < c->n_out && c->out[i] && c->out[i]->type != DT_NONE;
}

static enum status read_types(const struct op_call *c, uint32_t n_in, uint32_t n_out, struct gpu_recurrent *a)
{
    for (uint32_t i = 0; i < n_in; i++)
        if (has(c, i)) {
            a->given |= 1 << i;
            TRY(gpu_type(c, i, i == (uint32_t)a->reset ? T_STATE : T_FLOAT, &a->in_type[i]));
        }
    for (uint32_t i = 0; i < n_out; i++)
        if (wanted(c, i)) {
            a->wanted |= 1 << i;
            TRY(gpu_type(c, c->n_in + i, T_FLOAT, &a->out_type[i]));
        }
    return ST_OK;
}

/* The kernels of a step: items per batch element, inputs, outputs from 0 on. What is not there is never read or written, and
 * x or out[0] takes its place. */
struct part {
    enum gpu_kernel kernel;
    uint64_t items;
    uint32_t n_in, n_out;
    uint8_t in[9];
};

enum { MAX_STEPS = 1 << 16 };

static enum status add_part(const struct op_call *c, struct gpu_work *w, struct gpu_launch *l, const struct part *p)
{
    l->kernel = p->kernel;
    l->n_operands = 0;
    for (uint32_t i = 0; i < p->n_in; i++)
        l->operand[l->n_operands++] = has(c, p->in[i]) ? p->in[i] : 0;
    for (uint32_t i = 0; i < p->n_out; i++)
        l->operand[l->n_operands++] = (uint8_t)(c->n_in + (wanted(c, i) ? i : 0));
    l->items = (uint64_t)l->args.recurrent.batch * p->items;
    return gpu_add(c, w, l);
}

static enum status add_steps(const struct op_call *c, struct gpu_work *w, struct gpu_launch *l)
{
    struct gpu_recurrent *a = &l->args.recurrent;
    const uint64_t units = (uint64_t)a->units;
    const uint64_t most = (uint64_t)(a->out > a->units ? a->out : a->units);
    const struct part lstm[] = {
        { K_LSTM_SUMS,
          4 * units,
          9,
          0,
          { LSTM_X, LSTM_WXI, LSTM_WXF, LSTM_WXC, LSTM_WXO, LSTM_WHI, LSTM_WHF, LSTM_WHC, LSTM_WHO } },
        { K_LSTM_CELL, units, 8, 0, { LSTM_WCI, LSTM_WCF, LSTM_NI, LSTM_NF, LSTM_NC, LSTM_BI, LSTM_BF, LSTM_BC } },
        { K_LSTM_HIDDEN, units, 3, 0, { LSTM_WCO, LSTM_NO, LSTM_BO } },
        { K_LSTM_END, most, 2, 8, { LSTM_WP, LSTM_BP } },
    };
    const struct part gru[] = {
        { K_GRU_GATES, 2 * units, 9, 0, { GRU_X, GRU_WXZ, GRU_WXR, GRU_WHZ, GRU_WHR, GRU_BXZ, GRU_BXR, GRU_BHZ, GRU_BHR } },
        { K_GRU_END, units, 5, 2, { GRU_X, GRU_WXN, GRU_WHN, GRU_BXN, GRU_BHN } },
    };
    const struct part begin = {
        K_RECURRENT_BEGIN, most, 3, 0, { (uint8_t)a->first_h, (uint8_t)a->first_c, (uint8_t)a->reset }
    };
    bool is_lstm = c->op->id == OP_Lstm;
    TRY(add_part(c, w, l, &begin));
    for (a->step = 0; a->step < a->time; a->step++)
        for (uint32_t i = 0; i < (is_lstm ? 4u : 2u); i++)
            TRY(add_part(c, w, l, is_lstm ? &lstm[i] : &gru[i]));
    return ST_OK;
}

enum status gpu_bind_recurrent(const struct op_call *c, struct gpu_work *w)
{
    bool lstm = c->op->id == OP_Lstm, major = op_int(c, "time_major", 0);
    const struct tensor_desc *x = c->in[0];
    uint32_t n_out = lstm ? 8 : 2;
    struct gpu_launch l = { GPU_ARGS(recurrent) };
    struct gpu_recurrent *a = &l.args.recurrent;
    a->reset = lstm ? LSTM_RESET : GRU_RESET;
    a->first_h = lstm ? LSTM_H : GRU_H;
    a->first_c = lstm ? LSTM_C : 0;
    TRY(read_types(c, (uint32_t)a->reset + 1, n_out, a));
    a->in = (int)x->dims[x->rank - 1];
    a->units = (int)c->in[1]->dims[0];
    a->out = lstm ? (int)c->in[LSTM_WHF]->dims[1] : a->units;
    a->time = x->rank == 3 ? (int)x->dims[major ? 0 : 1] : 1;
    a->batch = x->rank == 3 ? (int)x->dims[major ? 1 : 0] : (int)x->dims[0];
    a->x_batch = x->rank == 3 && !major ? a->time : 1;
    a->x_time = x->rank == 3 && major ? a->batch : 1;
    a->reverse = op_int(c, "direction", 0) == 1;
    a->sequence = x->rank == 3;
    for (uint32_t i = 3; i < c->n_out && i < n_out; i++)
        a->sequence |= (x->rank == 3 && c->out[i] && c->out[i]->rank == 3) << i;
    if (lstm) {
        a->cell_clip = (float)op_real(c, "cell_clip_threshold", 0);
        a->out_clip = (float)op_real(c, "output_clip_threshold", 0);
    } else {
        a->linear_before_reset = (int)op_int(c, "linear_before_reset", 0);
    }
    a->stateful = a->given >> a->reset & 1;
    const int64_t stride = 1 + 2 * (int64_t)a->out + 11 * (int64_t)a->units;
    if (stride > INT32_MAX)
        return gpu_refuse(c, "it keeps %lld numbers for every batch entry; at most %d are supported", (long long)stride,
                          INT32_MAX);
    if (a->time > MAX_STEPS)
        return gpu_refuse(c, "it has %d steps; at most %d are supported, since each is several launches: cut the sequence",
                          a->time, MAX_STEPS);
    a->stride = (int)stride;
    l.room = (uint64_t)a->batch * (uint64_t)a->stride * sizeof(float);
    l.kept = a->stateful;
    return add_steps(c, w, &l);
}

/* ---- GroupQueryAttention ---------------------------------------------------------------------------------------------- */

static enum status attention_args(const struct op_call *c, struct gpu_attention *a)
{
    const struct tensor_desc *q = c->in[GQA_QUERY];
    *a = (struct gpu_attention){ .batch = (int)q->dims[0],
                                 .sequence = (int)q->dims[1],
                                 .heads = (int)op_int(c, "num_heads", 0),
                                 .kv_heads = (int)op_int(c, "kv_num_heads", 0),
                                 .packed = !has(c, GQA_KEY) };
    for (uint32_t i = 0; i < GQA_INPUTS; i++)
        if (has(c, i)) {
            a->given |= 1 << i;
            TRY(gpu_type(c, i, i == GQA_SEQLENS || i == GQA_TOTAL || i == GQA_POSITIONS ? T_INDEX : T_FLOAT,
                         &a->in_type[i]));
        }
    for (uint32_t i = 0; i < c->n_out && i < GQA_OUTPUTS; i++)
        if (c->out[i]) {
            a->wanted |= 1 << i;
            TRY(gpu_type(c, c->n_in + i, T_FLOAT, &a->out_type[i]));
        }
    a->size = (int)q->dims[2] / (a->heads + (a->packed ? 2 * a->kv_heads : 0));
    a->past = has(c, GQA_PAST_KEY) ? (int)c->in[GQA_PAST_KEY]->dims[2] : 0;
    a->present = a->wanted >> GQA_PRESENT_KEY & 1 ? (int)c->out[GQA_PRESENT_KEY]->dims[2] : 0;
    a->scale = op_has(c, "scale") && op_real(c, "scale", 0) != 0.0 ? (float)op_real(c, "scale", 0)
                                                                   : (float)(1.0 / sqrt((double)a->size));
    if (op_int(c, "do_rotary", 0)) {
        a->table = (int)c->in[GQA_COS]->dims[0];
        a->turned = 2 * (int)c->in[GQA_COS]->dims[1];
    }
    return ST_OK;
}

enum status gpu_bind_attention(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_ATTENTION_GATHER, GPU_ARGS(attention) };
    struct gpu_attention *a = &l.args.attention;
    TRY(attention_args(c, a));
#define OR_QUERY(i) (uint8_t)(has(c, i) ? i : GQA_QUERY)
#define OR_OUT(i) (uint8_t)(c->n_in + (a->wanted >> (i) & 1 ? (i) : GQA_OUT))
    const uint8_t first[] = { GQA_QUERY,
                              OR_QUERY(GQA_KEY),
                              OR_QUERY(GQA_VALUE),
                              OR_QUERY(GQA_PAST_KEY),
                              OR_QUERY(GQA_PAST_VALUE),
                              OR_QUERY(GQA_SEQLENS),
                              OR_QUERY(GQA_POSITIONS),
                              OR_QUERY(GQA_COS),
                              OR_QUERY(GQA_SIN),
                              OR_OUT(GQA_PRESENT_KEY),
                              OR_OUT(GQA_PRESENT_VALUE) };
    const uint8_t second[] = { GQA_QUERY,         OR_QUERY(GQA_SEQLENS), OR_QUERY(GQA_POSITIONS),
                               OR_QUERY(GQA_COS), OR_QUERY(GQA_SIN),     OR_OUT(GQA_OUT) };
#undef OR_QUERY
#undef OR_OUT
    uint64_t positions = (uint64_t)a->past + (uint64_t)a->sequence,
             rows = positions > (uint64_t)a->present ? positions : (uint64_t)a->present;
    uint64_t lines = (uint64_t)a->batch * (uint64_t)a->kv_heads,
             units = (uint64_t)a->batch * (uint64_t)a->heads * (uint64_t)a->sequence, size = (uint64_t)a->size;
    uint64_t floats = 2 * lines * positions * size + units * (positions + size);
    if (floats > INT32_MAX)
        return gpu_refuse(c, "it takes %llu numbers of room; at most %d are supported", (unsigned long long)floats,
                          INT32_MAX);
    l.room = floats * sizeof(float);
    for (l.n_operands = 0; l.n_operands < sizeof first; l.n_operands++)
        l.operand[l.n_operands] = first[l.n_operands];
    l.items = lines * rows * size;
    TRY(gpu_add(c, w, &l));
    l.kernel = K_ATTENTION;
    for (l.n_operands = 0; l.n_operands < sizeof second; l.n_operands++)
        l.operand[l.n_operands] = second[l.n_operands];
    l.items = units * GPU_LANES;
    return gpu_add(c, w, &l);
}

/* ---- Buffer ----------------------------------------------------------------------------------------------------------- */

enum { BUFFER_BLOCKING = 0, BUFFER_RIGHT = 2, KEPT_AT = 16 };

enum status gpu_bind_buffer(const struct op_call *c, struct gpu_work *w)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    uint32_t dim = op_axis(c, "buffer_dim", 0, x->rank);
    int64_t mode = op_int(c, "mode", 0);
    uint8_t reset = c->n_in > 1 && c->in[1] ? 1 : 0, out = (uint8_t)c->n_in;
    struct gpu_launch l = {
        .kernel = K_BUFFER_OUTPUT, GPU_ARGS(buffer), .n_operands = 3, .operand = { 0, reset, out }, .kept = true
    };
    struct gpu_buffer *a = &l.args.buffer;
    if (mode == BUFFER_BLOCKING)
        return gpu_refuse(
            c,
            "mode 0 (blocking) ends executions early, which this backend cannot do; 1 and 2 (non-blocking) are supported");
    if (x->type != y->type)
        return gpu_refuse(c, "%s to %s; both must be the same: put a Cast between", dtype_name(x->type),
                          dtype_name(y->type));
    *a = (struct gpu_buffer){ .n = (int)desc_count(y),
                              .outer = 1,
                              .inner = 1,
                              .frame = (int)x->dims[dim],
                              .size = (int)y->dims[dim],
                              .stride = (int)op_int(c, "stride", 0),
                              .padding = (int)op_int(c, "buffer_padding", 0),
                              .right = mode == BUFFER_RIGHT,
                              .has_reset = reset };
    for (uint32_t i = 0; i < x->rank; i++)
        *(i < dim ? &a->outer : &a->inner) *= i == dim ? 1 : (int)x->dims[i];
    a->room = a->size - a->frame;
    if (reset)
        TRY(gpu_type(c, 1, T_STATE, &a->reset_type));
    TRY(gpu_bits_storage(c, x, &l.storage));
    uint64_t kept = (uint64_t)a->outer * (uint64_t)a->room * (uint64_t)a->inner;
    l.room = KEPT_AT + dtype_bytes(x->type, kept);
    l.items = desc_count(y);
    TRY(gpu_add(c, w, &l));
    l.kernel = K_BUFFER_KEEP;
    l.items = kept;
    TRY(gpu_add(c, w, &l));
    l.kernel = K_BUFFER_COUNT;
    l.operand[0] = reset;
    l.n_operands = 1;
    l.items = 1;
    return gpu_add(c, w, &l);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lstm and Gru, compiled once per instruction set. */
#include <math.h>
#include <string.h>

#include "kernels/math.h"
#include "kernels/recurrent/recurrent.h"

enum { ROWS = RNN_ROWS, COLUMNS = 128 };

/* One batch element at work: operands, and vectors of the workspace. x and gates have a row for each of the next steps. */
struct cell {
    const struct rnn_args *a;
    void *const *data;
    float *x, *gates, *h, *c, *gate[4], *hidden, *tmp;
    uint32_t x_row, gate_row;
};

static bool has(const struct cell *s, int i)
{
    return s->a->given >> i & 1;
}

static void load_vector(const struct cell *s, int operand, int64_t at, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i += SPAN)
        K(span_load)(&s->a->src[operand], s->data[operand], at + i, 1, n - i < SPAN ? n - i : SPAN, dst + i);
}

static void store_vector(const struct cell *s, int output, int64_t at, uint32_t n, const float *src)
{
    for (uint32_t i = 0; i < n; i += SPAN)
        K(span_store)(&s->a->dst[output], s->data[s->a->n_in + (uint32_t)output], at + i, 1, n - i < SPAN ? n - i : SPAN, src + i);
}

/* What a tensor would hold after storing and reading back: the precision of a state between time steps. */
static void round_vector(const struct codec *c, uint32_t n, float *v)
{
    uint32_t stored[SPAN];
    if (c->type == DT_F32 || c->scales)
        return;
    for (uint32_t i = 0; i < n; i += SPAN) {
        uint32_t k = n - i < SPAN ? n - i : SPAN;
        K(span_store)(c, stored, 0, 1, k, v + i);
        K(span_load)(c, stored, 0, 1, k, v + i);
    }
}

/* ---- state between executions ------------------------------------------------------------------------------------ */

/* h (0) or C (1) of batch element b, to and from the node's state. */
static void load_state(const struct rnn_args *a, const uint8_t *state, int which, uint32_t b, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i += SPAN)
        K(span_load)(&a->state[which], state + a->state_at[which], (int64_t)b * n + i, 1, n - i < SPAN ? n - i : SPAN, dst + i);
}

static void store_state(const struct rnn_args *a, uint8_t *state, int which, uint32_t b, uint32_t n, const float *src)
{
    for (uint32_t i = 0; i < n; i += SPAN)
        K(span_store)(&a->state[which], state + a->state_at[which], (int64_t)b * n + i, 1, n - i < SPAN ? n - i : SPAN, src + i);
}

/* What the layer remembers counts, unless nothing is remembered yet or the client wants a new beginning. */
static bool remembers(const struct cell *s, const uint8_t *state, int reset_operand, uint32_t b)
{
    float reset;
    if (!s->a->stateful || !state[b])
        return false;
    load_vector(s, reset_operand, 0, 1, &reset);
    return reset == 0.0f;
}

static void first_state(const struct cell *s, int operand, uint32_t b, uint32_t n, float *dst)
{
    memset(dst, 0, n * sizeof(*dst));
    if (has(s, operand))
        load_vector(s, operand, (int64_t)b * n, n, dst);
}

/* acc[u] = fma over k ascending of v[k] * W[u, k], continuing acc. Sixteen rows at a time, turned so that they are vectors. */
static void multiply_block(const struct cell *s, int w, uint32_t row, uint32_t rows, uint32_t columns, const float *v, float *acc)
{
    float turned[COLUMNS * ROWS], line[COLUMNS], sum[ROWS] = {0};
    memcpy(sum, acc, rows * sizeof(*acc));
    memset(turned, 0, sizeof(turned));
    for (uint32_t k = 0; k < columns; k += COLUMNS) {
        uint32_t n = columns - k < COLUMNS ? columns - k : COLUMNS;
        for (uint32_t j = 0; j < rows; j++) {
            K(span_load)(&s->a->src[w], s->data[w], (int64_t)(row + j) * columns + k, 1, n, line);
            for (uint32_t i = 0; i < n; i++)
                turned[i * ROWS + j] = line[i];
        }
        for (uint32_t i = 0; i < n; i++)
            for (int j = 0; j < ROWS; j++)
                sum[j] = fmaf(v[k + i], turned[i * ROWS + (uint32_t)j], sum[j]);
    }
    memcpy(acc, sum, rows * sizeof(*acc));
}

static void multiply_steps(const struct cell *s, int w, const struct rnn_product *what)
{
    struct rnn_product p = *what;
    p.codec = &s->a->src[w];
    p.w = s->a->turned[w];
    p.block_columns = p.columns;
    if (p.w) {
        multiply_turned(&p);
        return;
    }
    for (uint32_t t = 0; t < p.steps; t++)
        for (uint32_t row = 0; row < p.rows; row += ROWS)
            multiply_block(s, w, row, p.rows - row < ROWS ? p.rows - row : ROWS, p.columns, p.v + t * p.v_step, p.acc + t * p.acc_step + row);
}

static void multiply(const struct cell *s, int w, uint32_t rows, uint32_t columns, const float *v, float *acc)
{
    multiply_steps(s, w, &(struct rnn_product){.rows = rows, .columns = columns, .steps = 1, .v = v, .acc = acc});
}

static void add_vector(const struct cell *s, int operand, uint32_t n, float *acc)
{
    if (!has(s, operand))
        return;
    const float *tmp = s->tmp;
    load_vector(s, operand, 0, n, s->tmp);
    for (uint32_t i = 0; i < n; i++)
        acc[i] = acc[i] + tmp[i];
}

static void sigmoid(float *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = math_exp_limit_f32(-v[i]);
    for (uint32_t i = 0; i < n; i++)
        v[i] = (float)(1.0 / (1.0 + math_exp_core((double)v[i])));
}

static void tangent(const float *v, float *o, uint32_t n)
{
    float x[SPAN];
    double e[SPAN];
    for (uint32_t at = 0; at < n; at += SPAN) {
        uint32_t k = n - at < SPAN ? n - at : SPAN;
        for (uint32_t i = 0; i < k; i++)
            x[i] = math_exp_limit_f32(2.0f * fabsf(v[at + i]));
        for (uint32_t i = 0; i < k; i++)
            e[i] = math_exp_core((double)x[i]);
        for (uint32_t i = 0; i < k; i++)
            o[at + i] = (float)math_tanh_core((double)v[at + i], e[i]);
    }
}

static void clip(float *v, uint32_t n, float limit)
{
    if (!(limit > 0.0f))
        return;
    for (uint32_t i = 0; i < n; i++)
        v[i] = v[i] < -limit ? -limit : v[i] > limit ? limit : v[i];
}

/* The sums of the inputs' products of the next steps, in the rows of the gates. */
static void begin_gates(const struct cell *s, const uint8_t *wx, uint32_t steps)
{
    const struct rnn_args *a = s->a;
    for (int g = 0; g < 4; g++) {
        struct rnn_product p = {.rows = a->units, .columns = a->in, .steps = steps, .v = s->x, .v_step = s->x_row,
                                .acc = s->gates + (uint32_t)g * (s->gate_row / 4), .acc_step = s->gate_row};
        for (uint32_t t = 0; t < steps; t++)
            memset(p.acc + t * p.acc_step, 0, a->units * sizeof(*p.acc));
        if (wx[g] && has(s, wx[g]))
            multiply_steps(s, wx[g], &p);
    }
}

static void step_row(const struct rnn_args *a, uint32_t b, uint32_t t, int64_t *x, int64_t *y)
{
    *x = (b * a->x_batch + t * a->x_time) * a->in;
    *y = b * a->y_batch + t * a->y_time;
}

static float *take(float **at, uint32_t n)
{
    float *p = *at;
    *at += (n + 15) / 16 * 16;
    return p;
}

static void cell_init(struct cell *s, const struct kernel_call *call)
{
    const struct rnn_args *a = call->args;
    float *w = call->work;
    *s = (struct cell){.a = a, .data = call->data};
    s->x_row = (a->in + 15) / 16 * 16;
    s->gate_row = 4 * ((a->units + 15) / 16 * 16);
    s->x = take(&w, s->x_row * a->steps);
    s->gates = take(&w, s->gate_row * a->steps);
    s->h = take(&w, a->out);
    s->c = take(&w, a->units);
    s->hidden = take(&w, a->units);
    s->tmp = take(&w, a->units > a->out ? a->units : a->out);
}

/* Gates of the given step. When the steps that were begun are used up, the next ones are. */
static void cell_step(struct cell *s, const uint8_t *wx, uint32_t b, uint32_t step)
{
    const struct rnn_args *a = s->a;
    uint32_t row = step % a->steps, steps = a->time - step < a->steps ? a->time - step : a->steps;
    for (uint32_t i = 0; row == 0 && i < steps; i++) {
        int64_t x, y;
        step_row(a, b, a->reverse ? a->time - 1 - step - i : step + i, &x, &y);
        load_vector(s, 0, x, a->in, s->x + i * s->x_row);
    }
    if (row == 0)
        begin_gates(s, wx, steps);
    for (uint32_t g = 0; g < 4; g++)
        s->gate[g] = s->gates + row * s->gate_row + g * (s->gate_row / 4);
}

/* ---- Lstm -------------------------------------------------------------------------------------------------------- */

enum gate { GATE_I, GATE_F, GATE_C, GATE_O };

static const struct {
    uint8_t wh, wc, norm, bias; /* wc 0: no peephole */
} gates[4] = {
    [GATE_I] = {LSTM_WHI, LSTM_WCI, LSTM_NI, LSTM_BI},
    [GATE_F] = {LSTM_WHF, LSTM_WCF, LSTM_NF, LSTM_BF},
    [GATE_C] = {LSTM_WHC, 0, LSTM_NC, LSTM_BC},
    [GATE_O] = {LSTM_WHO, LSTM_WCO, LSTM_NO, LSTM_BO},
};

/* ---- vectors of units: loops over plain arguments, which compilers make vectors of ---------------------------------------- */

static void add_product(float *z, const float *a, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        z[i] = z[i] + a[i] * b[i];
}

static void product(float *z, const float *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        z[i] = a[i] * z[i];
}

static void rest_of_one(float *z, const float *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        z[i] = 1.0f - a[i];
}

static void new_cell(float *c, const float *f, const float *in, const float *g, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        c[i] = f[i] * c[i] + in[i] * g[i];
}

static void blend(float *h, const float *z, const float *n_gate, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        h[i] = (1.0f - z[i]) * n_gate[i] + z[i] * h[i];
}

/* Section 6's LayerNorm over the units, without the sum's bias. */
static void normalize(const struct cell *s, int weights, uint32_t n, float *z)
{
    float mean = K(span_sum)(z, n) / (float)n;
    for (uint32_t i = 0; i < n; i++) {
        z[i] = z[i] - mean;
        s->tmp[i] = z[i] * z[i];
    }
    float inv = 1.0f / sqrtf(K(span_sum)(s->tmp, n) / (float)n + 1e-8f);
    load_vector(s, weights, 0, n, s->tmp);
    for (uint32_t i = 0; i < n; i++)
        z[i] = z[i] * inv * s->tmp[i];
}

static const uint8_t lstm_wx[4] = {LSTM_WXI, LSTM_WXF, LSTM_WXC, LSTM_WXO};

static void lstm_gate(const struct cell *s, enum gate g)
{
    const struct rnn_args *a = s->a;
    float *z = s->gate[g];
    multiply(s, gates[g].wh, a->units, a->out, s->h, z);
    if (gates[g].wc && has(s, gates[g].wc)) {
        load_vector(s, gates[g].wc, 0, a->units, s->tmp);
        add_product(z, s->tmp, s->c, a->units);
    }
    if (has(s, gates[g].norm))
        normalize(s, gates[g].norm, a->units, z);
    add_vector(s, gates[g].bias, a->units, z);
    if (g == GATE_C)
        tangent(z, z, a->units);
    else
        sigmoid(z, a->units);
}

static void lstm_output(const struct cell *s, float *h)
{
    const struct rnn_args *a = s->a;
    tangent(s->c, s->hidden, a->units);
    product(s->hidden, s->gate[GATE_O], a->units);
    if (has(s, LSTM_WP)) {
        memset(h, 0, a->out * sizeof(*h));
        multiply(s, LSTM_WP, a->out, a->units, s->hidden, h);
        add_vector(s, LSTM_BP, a->out, h);
    } else {
        memcpy(h, s->hidden, a->out * sizeof(*h));
    }
    clip(h, a->out, a->out_clip);
}

static void lstm_cell(const struct cell *s)
{
    const struct rnn_args *a = s->a;
    lstm_gate(s, GATE_F);
    lstm_gate(s, GATE_C);
    if (has(s, LSTM_WXI))
        lstm_gate(s, GATE_I);
    else
        rest_of_one(s->gate[GATE_I], s->gate[GATE_F], a->units);
    new_cell(s->c, s->gate[GATE_F], s->gate[GATE_I], s->gate[GATE_C], a->units);
    clip(s->c, a->units, a->cell_clip);
    lstm_gate(s, GATE_O);
    lstm_output(s, s->h);
}

/* Outputs 3 …: the gates and the hidden state, of every step or of the last. */
static void store_optional(const struct cell *s, uint32_t b, int64_t y, bool last)
{
    const struct rnn_args *a = s->a;
    for (int k = 3; k < RNN_OUTPUTS; k++) {
        const float *v = k == 7 ? s->h : s->gate[k - 3];
        uint32_t n = k == 7 ? a->out : a->units;
        if (a->wanted >> k & 1 && (a->sequence[k] || last))
            store_vector(s, k, (a->sequence[k] ? y : (int64_t)b) * n, n, v);
    }
}

void K(lstm)(const struct kernel_call *call, struct range tile)
{
    const struct rnn_args *a = call->args;
    struct cell s;
    cell_init(&s, call);
    for (uint32_t b = tile.begin; b < tile.end && b < a->batch; b++) {
        if (remembers(&s, call->state, LSTM_RESET, b)) {
            load_state(a, call->state, 0, b, a->out, s.h);
            load_state(a, call->state, 1, b, a->units, s.c);
        } else {
            first_state(&s, LSTM_H, b, a->out, s.h);
            first_state(&s, LSTM_C, b, a->units, s.c);
        }
        for (uint32_t step = 0; step < a->time; step++) {
            int64_t x, y;
            bool last = step + 1 == a->time;
            step_row(a, b, a->reverse ? a->time - 1 - step : step, &x, &y);
            cell_step(&s, lstm_wx, b, step);
            lstm_cell(&s);
            store_optional(&s, b, y, last);
            if (a->wanted & 1)
                store_vector(&s, 0, (a->sequence[0] ? y : (int64_t)b) * a->out, a->out, s.h);
            if (last && a->wanted >> 2 & 1)
                store_vector(&s, 2, (int64_t)b * a->out, a->out, s.h);
            if (last && a->wanted >> 1 & 1)
                store_vector(&s, 1, (int64_t)b * a->units, a->units, s.c);
            round_vector(&a->dst[0], a->out, s.h);
            round_vector(&a->dst[1], a->units, s.c);
        }
        if (a->stateful) {
            store_state(a, call->state, 0, b, a->out, s.h);
            store_state(a, call->state, 1, b, a->units, s.c);
            ((uint8_t *)call->state)[b] = 1;
        }
    }
}

/* ---- Gru --------------------------------------------------------------------------------------------------------- */

enum { GRU_Z_GATE, GRU_R_GATE, GRU_N_GATE, GRU_N_HIDDEN };
static const uint8_t gru_wx[4] = {GRU_WXZ, GRU_WXR, GRU_WXN, 0};

static void gru_gate(const struct cell *s, int gate)
{
    const struct rnn_args *a = s->a;
    float *z = s->gate[gate];
    multiply(s, GRU_WHZ + gate, a->units, a->units, s->h, z);
    add_vector(s, GRU_BXZ + gate, a->units, z);
    add_vector(s, GRU_BHZ + gate, a->units, z);
    sigmoid(z, a->units);
}

static void gru_candidate(const struct cell *s)
{
    const struct rnn_args *a = s->a;
    float *n = s->gate[GRU_N_GATE], *r = s->gate[GRU_R_GATE], *hidden = s->gate[GRU_N_HIDDEN];
    if (a->linear_before_reset) {
        memset(hidden, 0, a->units * sizeof(*hidden));
        multiply(s, GRU_WHN, a->units, a->units, s->h, hidden);
        add_vector(s, GRU_BHN, a->units, hidden);
        add_vector(s, GRU_BXN, a->units, n);
        add_product(n, r, hidden, a->units);
    } else {
        memcpy(hidden, s->h, a->units * sizeof(*hidden));
        product(hidden, r, a->units);
        multiply(s, GRU_WHN, a->units, a->units, hidden, n);
        add_vector(s, GRU_BXN, a->units, n);
        add_vector(s, GRU_BHN, a->units, n);
    }
    tangent(n, n, a->units);
}

static void gru_cell(const struct cell *s)
{
    gru_gate(s, GRU_Z_GATE);
    gru_gate(s, GRU_R_GATE);
    gru_candidate(s);
    blend(s->h, s->gate[GRU_Z_GATE], s->gate[GRU_N_GATE], s->a->units);
}

void K(gru)(const struct kernel_call *call, struct range tile)
{
    const struct rnn_args *a = call->args;
    struct cell s;
    cell_init(&s, call);
    for (uint32_t b = tile.begin; b < tile.end && b < a->batch; b++) {
        if (remembers(&s, call->state, GRU_RESET, b))
            load_state(a, call->state, 0, b, a->units, s.h);
        else
            first_state(&s, GRU_H, b, a->units, s.h);
        for (uint32_t step = 0; step < a->time; step++) {
            int64_t x, y;
            step_row(a, b, a->reverse ? a->time - 1 - step : step, &x, &y);
            cell_step(&s, gru_wx, b, step);
            gru_cell(&s);
            if (a->wanted & 1)
                store_vector(&s, 0, y * a->units, a->units, s.h);
            if (step + 1 == a->time && a->wanted >> 1 & 1)
                store_vector(&s, 1, (int64_t)b * a->units, a->units, s.h);
            round_vector(&a->dst[0], a->units, s.h);
        }
        if (a->stateful) {
            store_state(a, call->state, 0, b, a->units, s.h);
            ((uint8_t *)call->state)[b] = 1;
        }
    }
}

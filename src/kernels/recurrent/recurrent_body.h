/* SPDX-License-Identifier: Apache-2.0 */
/* Lstm and Gru, phase by phase, compiled once per instruction set. */
#include "kernels/recurrent/recurrent_vectors.h"

#include "kernels/recurrent/recurrent_cell.h"

/* ---- Lstm: a phase per step ------------------------------------------------------------------------------------------- */

enum gate { GATE_I, GATE_F, GATE_C, GATE_O };

static const struct {
    uint8_t wh, wc, norm, bias; /* wc 0: no peephole */
} gates[4] = {
    [GATE_I] = {LSTM_WHI, LSTM_WCI, LSTM_NI, LSTM_BI},
    [GATE_F] = {LSTM_WHF, LSTM_WCF, LSTM_NF, LSTM_BF},
    [GATE_C] = {LSTM_WHC, 0, LSTM_NC, LSTM_BC},
    [GATE_O] = {LSTM_WHO, LSTM_WCO, LSTM_NO, LSTM_BO},
};

/* Section 6's LayerNorm over the units, all of which are here, without the sum's bias. */
static void normalize(const struct cell *s, int weights, float *z)
{
    uint32_t n = s->rows;
    float mean = K(span_sum)(z, n) / (float)n;
    for (uint32_t i = 0; i < n; i++) {
        z[i] = z[i] - mean;
        s->tmp[i] = z[i] * z[i];
    }
    float inv = 1.0f / sqrtf(K(span_sum)(s->tmp, n) / (float)n + 1e-8f);
    const float *w = of_units(s, weights);
    for (uint32_t i = 0; i < n; i++)
        z[i] = z[i] * inv * w[i];
}

/* All that is multiplied with h, every other step from the other end: of weights that are more than a cache holds, those
 * that a step read last are still there. */
static void lstm_products(const struct cell *s)
{
    for (int i = 0; i < 4; i++) {
        enum gate g = (enum gate)(s->step & 1 ? 3 - i : i);
        if (g != GATE_I || has(s, LSTM_WXI))
            multiply(s, gates[g].wh, s->a->out, s->h, s->gate[g]);
    }
}

static void lstm_gate(const struct cell *s, enum gate g)
{
    float *z = s->gate[g];
    if (gates[g].wc && has(s, gates[g].wc))
        add_product(z, of_units(s, gates[g].wc), s->c_now, s->rows);
    if (has(s, gates[g].norm))
        normalize(s, gates[g].norm, z);
    add_vector(s, gates[g].bias, z);
    if (g == GATE_C)
        tangent(z, z, s->rows);
    else
        sigmoid(z, s->rows);
}

static void lstm_output(struct cell *s)
{
    const struct rnn_args *a = s->a;
    float *hidden = s->hidden + s->row;
    struct range h = part_of_h(s);
    tangent(s->c_now, hidden, s->rows);
    product(hidden, s->gate[GATE_O], hidden, s->rows);
    if (has(s, LSTM_WP)) {
        memset(s->h_next, 0, a->out * sizeof(*s->h_next));
        multiply_steps(
            s, LSTM_WP, 0,
            &(struct rnn_product){ .rows = a->out, .columns = a->units, .steps = 1, .v = hidden, .acc = s->h_next });
        if (has(s, LSTM_BP)) {
            load_vector(s, LSTM_BP, 0, a->out, s->tmp);
            for (uint32_t i = 0; i < a->out; i++)
                s->h_next[i] = s->h_next[i] + s->tmp[i];
        }
    } else {
        memcpy(s->h_next, hidden, s->rows * sizeof(*hidden));
    }
    clip(s->h_next, h.end - h.begin, a->out_clip);
}

static void lstm_cell(struct cell *s)
{
    const struct rnn_args *a = s->a;
    lstm_products(s);
    lstm_gate(s, GATE_F);
    lstm_gate(s, GATE_C);
    if (has(s, LSTM_WXI))
        lstm_gate(s, GATE_I);
    else
        rest_of_one(s->gate[GATE_I], s->gate[GATE_F], s->rows);
    new_cell(s->c_now, s->gate[GATE_F], s->gate[GATE_I], s->gate[GATE_C], s->rows);
    clip(s->c_now, s->rows, a->cell_clip);
    lstm_gate(s, GATE_O);
    lstm_output(s);
}

/* Outputs with a row per step, or that keep the last: 0 and 7 are h, 3 … 6 the gates, 1 and 2 the last C and h. */
static void lstm_store(const struct cell *s)
{
    const struct rnn_args *a = s->a;
    const bool last = s->step + 1 == a->time;
    const struct range h = part_of_h(s);
    for (int k = 0; k < RNN_OUTPUTS; k++) {
        const bool is_h = k == 0 || k == 2 || k == 7;
        const float *v = is_h ? s->h_next : k == 1 ? s->c_now : s->gate[k - 3];
        if (a->wanted >> k & 1 && (last || a->sequence[k] || k == 0))
            store_vector(s, k,
                         (a->sequence[k] ? row_of_step(s) : (int64_t)s->b) * (is_h ? a->out : a->units) +
                             (is_h ? h.begin : s->row),
                         is_h ? h.end - h.begin : s->rows, v);
    }
    round_vector(&a->dst[0], h.end - h.begin, s->h_next);
    round_vector(&a->dst[1], s->rows, s->c_now);
}

static void lstm_phase(struct cell *s, uint32_t phase)
{
    go_to_step(s, phase);
    if (s->step == 0)
        first_state(s, 1, s->a->units, (struct range){s->row, s->row + s->rows}, s->c_now);
    if (s->step % s->a->steps == 0)
        begin_gates(s);
    lstm_cell(s);
    lstm_store(s);
}

void K(lstm)(const struct kernel_call *call, struct range tile)
{
    run_tile(call, tile, lstm_phase);
}

/* ---- Gru: a phase per step, or two when the reset gate is multiplied into h, all of which the candidate needs --------- */

enum { GRU_Z_GATE, GRU_R_GATE, GRU_N_GATE, GRU_N_HIDDEN };

/* As lstm_products; the candidate's only where it takes h as it is. */
static void gru_products(const struct cell *s)
{
    const int n = s->a->linear_before_reset ? 3 : 2;
    if (s->a->linear_before_reset)
        memset(s->gate[GRU_N_HIDDEN], 0, s->rows * sizeof(float));
    for (int i = 0; i < n; i++) {
        int g = s->step & 1 ? n - 1 - i : i;
        multiply(s, GRU_WHZ + g, s->a->units, s->h, s->gate[g == GRU_N_GATE ? GRU_N_HIDDEN : g]);
    }
}

static void gru_gate(const struct cell *s, int gate)
{
    float *z = s->gate[gate];
    add_vector(s, GRU_BXZ + gate, z);
    add_vector(s, GRU_BHZ + gate, z);
    sigmoid(z, s->rows);
}

static void gru_candidate(const struct cell *s)
{
    const struct rnn_args *a = s->a;
    float *n = s->gate[GRU_N_GATE], *hidden = s->gate[GRU_N_HIDDEN];
    if (a->linear_before_reset) {
        add_vector(s, GRU_BHN, hidden);
        add_vector(s, GRU_BXN, n);
        add_product(n, s->gate[GRU_R_GATE], hidden, s->rows);
    } else {
        multiply(s, GRU_WHN, a->units, hidden - s->row, n);
        add_vector(s, GRU_BXN, n);
        add_vector(s, GRU_BHN, n);
    }
    tangent(n, n, s->rows);
}

static void gru_store(const struct cell *s)
{
    const struct rnn_args *a = s->a;
    if (a->wanted & 1)
        store_vector(s, 0, row_of_step(s) * a->units + s->row, s->rows, s->h_next);
    if (s->step + 1 == a->time && a->wanted >> 1 & 1)
        store_vector(s, 1, (int64_t)s->b * a->units + s->row, s->rows, s->h_next);
    round_vector(&a->dst[0], s->rows, s->h_next);
}

static void gru_phase(struct cell *s, uint32_t phase)
{
    const struct rnn_args *a = s->a;
    go_to_step(s, phase / a->step_phases);
    if (phase % a->step_phases == 0) {
        if (s->step % a->steps == 0)
            begin_gates(s);
        gru_products(s);
        gru_gate(s, GRU_Z_GATE);
        gru_gate(s, GRU_R_GATE);
        if (!a->linear_before_reset)
            product(s->gate[GRU_N_HIDDEN], s->gate[GRU_R_GATE], s->h + s->row, s->rows);
    }
    if (phase % a->step_phases + 1 < a->step_phases)
        return;
    gru_candidate(s);
    blend(s->h_next, s->h + s->row, s->gate[GRU_Z_GATE], s->gate[GRU_N_GATE], s->rows);
    gru_store(s);
}

void K(gru)(const struct kernel_call *call, struct range tile)
{
    run_tile(call, tile, gru_phase);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lstm and Gru: a few launches per time step, one value per work item and nobody waits inside a kernel. The room of a batch element, `stride` floats; h and C of a step lie beside those
 * of the step before, and take turns:
 *
 *     there: 1 when h and C are those of an execution before | h, h | C, C | sums of four gates | four gates | hidden                                          */

struct cell {
    global float *there, *h_old, *h, *c_old, *c, *sum, *gate, *hidden;
};

struct cell cell_of(const struct gpu_recurrent *a, global float *room, int b)
{
    struct cell s;
    int odd = a->step & 1;
    global float *at = room + b * a->stride, *c = at + 1 + 2 * a->out;
    s.there = at;
    s.h_old = at + 1 + odd * a->out;
    s.h = at + 1 + !odd * a->out;
    s.c_old = c + odd * a->units;
    s.c = c + !odd * a->units;
    s.sum = c + 2 * a->units;
    s.gate = s.sum + 4 * a->units;
    s.hidden = s.gate + 4 * a->units;
    return s;
}

bool given(const struct gpu_recurrent *a, int i)
{
    return a->given >> i & 1;
}

float sigmoid_of(float x)
{
    return 1.0f / (1.0f + exp(-x));
}

/* What a state is after its tensor stored it. */
float as_stored(int type, float v)
{
    ushort bits = 0;
    if (type != SCALAR_F16)
        return v;
    vstore_half_rte(v, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
}

float clipped(float v, float limit)
{
    return limit > 0.0f ? (v < -limit ? -limit : v > limit ? limit : v) : v;
}

float times_row(float sum, int x_type, global const void *x, int x_at, int w_type, global const void *w, int w_at, int n)
{
    for (int k = 0; k < n; k++)
        sum = fma(read_real(x_type, x, x_at + k), read_real(w_type, w, w_at + k), sum);
    return sum;
}

float times_state(float sum, global const float *h, int w_type, global const void *w, int w_at, int n)
{
    for (int k = 0; k < n; k++)
        sum = fma(h[k], read_real(w_type, w, w_at + k), sum);
    return sum;
}

int time_of(const struct gpu_recurrent *a)
{
    return a->reverse ? a->time - 1 - a->step : a->step;
}

int row_of(const struct gpu_recurrent *a, int b)
{
    return b * a->x_batch + time_of(a) * a->x_time;
}

/* The beginning of an execution: what is remembered, or the initial states, or zero. What an execution left is where its last step put it. */
kernel void recurrent_begin(struct gpu_recurrent a, global const void *h0, global const void *c0, global const void *reset, global float *room)
{
    int i = get_global_id(0), size = max(a.out, a.units);
    if (i >= a.batch * size)
        return;
    int b = i / size, u = i % size;
    struct cell s = cell_of(&a, room, b);
    bool remembered = a.stateful && s.there[0] != 0.0f && number_at(a.in_type[a.reset], reset, 0) == 0.0f;
    if (u < a.out)
        s.h_old[u] = remembered ? (a.time & 1 ? s.h[u] : s.h_old[u]) : given(&a, a.first_h) ? read_real(a.in_type[a.first_h], h0, b * a.out + u) : 0.0f;
    if (u < a.units && a.first_c)
        s.c_old[u] = remembered ? (a.time & 1 ? s.c[u] : s.c_old[u]) : given(&a, a.first_c) ? read_real(a.in_type[a.first_c], c0, b * a.units + u) : 0.0f;
}

/* ---- Lstm: gates are input, forget, cell, output ------------------------------------------------------------------------------------ */

kernel void lstm_sums(struct gpu_recurrent a, global const void *x, global const void *wxi, global const void *wxf, global const void *wxc, global const void *wxo,
                      global const void *whi, global const void *whf, global const void *whc, global const void *who, global float *room)
{
    int i = get_global_id(0);
    if (i >= a.batch * 4 * a.units)
        return;
    int u = i % a.units, g = i / a.units % 4, b = i / a.units / 4;
    struct cell s = cell_of(&a, room, b);
    if (g == 0 && !given(&a, LSTM_WXI))
        return;
    int px = g == 0 ? LSTM_WXI : g == 1 ? LSTM_WXF : g == 2 ? LSTM_WXC : LSTM_WXO, ph = g == 0 ? LSTM_WHI : g == 1 ? LSTM_WHF : g == 2 ? LSTM_WHC : LSTM_WHO;
    float v = times_row(0.0f, a.in_type[0], x, row_of(&a, b) * a.in, a.in_type[px], g == 0 ? wxi : g == 1 ? wxf : g == 2 ? wxc : wxo, u * a.in, a.in);
    s.sum[g * a.units + u] = times_state(v, s.h_old, a.in_type[ph], g == 0 ? whi : g == 1 ? whf : g == 2 ? whc : who, u * a.out, a.out);
}

float peeped(const struct gpu_recurrent *a, global const float *sum, int peephole, global const void *wc, global const float *c, int u)
{
    return given(a, peephole) && peephole ? sum[u] + read_real(a->in_type[peephole], wc, u) * c[u] : sum[u];
}

/* Peephole, normalization over the units, bias. */
float gate_of(const struct gpu_recurrent *a, global const float *sum, int u, int peephole, global const void *wc, global const float *c, int normed, global const void *norm, int biased,
              global const void *bias)
{
    float v = peeped(a, sum, peephole, wc, c, u);
    if (given(a, normed)) {
        float mean = 0.0f, squares = 0.0f;
        for (int k = 0; k < a->units; k++)
            mean += peeped(a, sum, peephole, wc, c, k);
        mean = mean / (float)a->units;
        for (int k = 0; k < a->units; k++) {
            float d = peeped(a, sum, peephole, wc, c, k) - mean;
            squares += d * d;
        }
        v = (v - mean) * (1.0f / sqrt(squares / (float)a->units + 1e-8f)) * read_real(a->in_type[normed], norm, u);
    }
    return given(a, biased) ? v + read_real(a->in_type[biased], bias, u) : v;
}

kernel void lstm_cell(struct gpu_recurrent a, global const void *wci, global const void *wcf, global const void *ni, global const void *nf, global const void *nc,
                      global const void *bi, global const void *bf, global const void *bc, global float *room)
{
    int i = get_global_id(0);
    if (i >= a.batch * a.units)
        return;
    int u = i % a.units;
    struct cell s = cell_of(&a, room, i / a.units);
    float f = sigmoid_of(gate_of(&a, s.sum + a.units, u, LSTM_WCF, wcf, s.c_old, LSTM_NF, nf, LSTM_BF, bf));
    float g = tanh(gate_of(&a, s.sum + 2 * a.units, u, 0, wcf, s.c_old, LSTM_NC, nc, LSTM_BC, bc));
    float in = given(&a, LSTM_WXI) ? sigmoid_of(gate_of(&a, s.sum, u, LSTM_WCI, wci, s.c_old, LSTM_NI, ni, LSTM_BI, bi)) : 1.0f - f;
    s.gate[u] = in;
    s.gate[a.units + u] = f;
    s.gate[2 * a.units + u] = g;
    s.c[u] = clipped(f * s.c_old[u] + in * g, a.cell_clip);
}

kernel void lstm_hidden(struct gpu_recurrent a, global const void *wco, global const void *no, global const void *bo, global float *room)
{
    int i = get_global_id(0);
    if (i >= a.batch * a.units)
        return;
    int u = i % a.units;
    struct cell s = cell_of(&a, room, i / a.units);
    float o = sigmoid_of(gate_of(&a, s.sum + 3 * a.units, u, LSTM_WCO, wco, s.c, LSTM_NO, no, LSTM_BO, bo));
    s.gate[3 * a.units + u] = o;
    s.hidden[u] = o * tanh(s.c[u]);
}

void put(const struct gpu_recurrent *a, int k, global void *y, int b, int n, int u, float v)
{
    bool rows = a->sequence >> k & 1;
    if (a->wanted >> k & 1 && (rows || a->step + 1 == a->time))
        write_real(a->out_type[k], y, (rows ? row_of(a, b) : b) * n + u, v);
}

/* The end of a step: h, outputs, and states as their tensors store them. */
kernel void lstm_end(struct gpu_recurrent a, global const void *wp, global const void *bp, global void *y0, global void *y1, global void *y2, global void *y3, global void *y4,
                     global void *y5, global void *y6, global void *y7, global float *room)
{
    int i = get_global_id(0), size = max(a.out, a.units);
    if (i >= a.batch * size)
        return;
    int b = i / size, u = i % size;
    struct cell s = cell_of(&a, room, b);
    if (u < a.out) {
        float v = s.hidden[min(u, a.units - 1)];
        if (given(&a, LSTM_WP)) {
            v = times_state(0.0f, s.hidden, a.in_type[LSTM_WP], wp, u * a.units, a.units);
            v = given(&a, LSTM_BP) ? v + read_real(a.in_type[LSTM_BP], bp, u) : v;
        }
        v = clipped(v, a.out_clip);
        put(&a, 0, y0, b, a.out, u, v);
        put(&a, 2, y2, b, a.out, u, v);
        put(&a, 7, y7, b, a.out, u, v);
        s.h[u] = as_stored(a.out_type[0], v);
    }
    if (u < a.units) {
        put(&a, 1, y1, b, a.units, u, s.c[u]);
        put(&a, 3, y3, b, a.units, u, s.gate[u]);
        put(&a, 4, y4, b, a.units, u, s.gate[a.units + u]);
        put(&a, 5, y5, b, a.units, u, s.gate[2 * a.units + u]);
        put(&a, 6, y6, b, a.units, u, s.gate[3 * a.units + u]);
        s.c[u] = as_stored(a.out_type[1], s.c[u]);
    }
    if (u == 0)
        s.there[0] = 1.0f;
}

/* ---- Gru: update and reset, then the new h ------------------------------------------------------------------------------------------ */

kernel void gru_gates(struct gpu_recurrent a, global const void *x, global const void *wxz, global const void *wxr, global const void *whz, global const void *whr,
                      global const void *bxz, global const void *bxr, global const void *bhz, global const void *bhr, global float *room)
{
    int i = get_global_id(0);
    if (i >= a.batch * 2 * a.units)
        return;
    int u = i % a.units, g = i / a.units % 2, b = i / a.units / 2;
    struct cell s = cell_of(&a, room, b);
    float v = times_row(0.0f, a.in_type[0], x, row_of(&a, b) * a.in, a.in_type[GRU_WXZ + g], g ? wxr : wxz, u * a.in, a.in);
    v = times_state(v, s.h_old, a.in_type[GRU_WHZ + g], g ? whr : whz, u * a.units, a.units);
    v = given(&a, GRU_BXZ + g) ? v + read_real(a.in_type[GRU_BXZ + g], g ? bxr : bxz, u) : v;
    v = given(&a, GRU_BHZ + g) ? v + read_real(a.in_type[GRU_BHZ + g], g ? bhr : bhz, u) : v;
    s.gate[g * a.units + u] = sigmoid_of(v);
}

kernel void gru_end(struct gpu_recurrent a, global const void *x, global const void *wxn, global const void *whn, global const void *bxn, global const void *bhn, global void *y0,
                    global void *y1, global float *room)
{
    int i = get_global_id(0);
    if (i >= a.batch * a.units)
        return;
    int u = i % a.units, b = i / a.units;
    struct cell s = cell_of(&a, room, b);
    global const float *z = s.gate, *r = s.gate + a.units;
    float n = times_row(0.0f, a.in_type[0], x, row_of(&a, b) * a.in, a.in_type[GRU_WXN], wxn, u * a.in, a.in);
    float bias_x = given(&a, GRU_BXN) ? read_real(a.in_type[GRU_BXN], bxn, u) : 0.0f, bias_h = given(&a, GRU_BHN) ? read_real(a.in_type[GRU_BHN], bhn, u) : 0.0f;
    if (a.linear_before_reset) {
        n = (n + bias_x) + r[u] * (times_state(0.0f, s.h_old, a.in_type[GRU_WHN], whn, u * a.units, a.units) + bias_h);
    } else {
        for (int k = 0; k < a.units; k++)
            n = fma(r[k] * s.h_old[k], read_real(a.in_type[GRU_WHN], whn, u * a.units + k), n);
        n = n + bias_x + bias_h;
    }
    float v = (1.0f - z[u]) * tanh(n) + z[u] * s.h_old[u];
    if (a.wanted & 1)
        write_real(a.out_type[0], y0, row_of(&a, b) * a.units + u, v);
    if (a.step + 1 == a.time && a.wanted >> 1 & 1)
        write_real(a.out_type[1], y1, b * a.units + u, v);
    s.h[u] = as_stored(a.out_type[0], v);
    if (u == 0)
        s.there[0] = 1.0f;
}

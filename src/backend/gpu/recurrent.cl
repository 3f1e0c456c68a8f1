/* SPDX-License-Identifier: Apache-2.0 */
/* Lstm and Gru: a group of 64 work items per batch element; time runs inside. The room of an element, `stride` floats:
 *
 *     there: 1 when h and C are those of an execution before | h | C | four gates | hidden | one more vector                                    */

struct cell {
    global float *there, *h, *c, *gate[4], *hidden, *more;
};

struct cell cell_of(const struct gpu_recurrent *a, global float *room, int b)
{
    struct cell s;
    global float *at = room + b * a->stride;
    s.there = at;
    s.h = at + 1;
    s.c = s.h + a->out;
    for (int g = 0; g < 4; g++)
        s.gate[g] = s.c + a->units + g * a->units;
    s.hidden = s.gate[3] + a->units;
    s.more = s.hidden + a->units;
    return s;
}

void settle(void)
{
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
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

float sum_of_group(local float *part, float v)
{
    int l = get_local_id(0);
    part[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k)
            part[l] += part[l + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

/* The beginning of a sequence: what is remembered, or the initial states, or zero. */
void first_state(const struct gpu_recurrent *a, global float *to, int n, int operand, global const void *from, int b, bool remembered)
{
    for (int i = get_local_id(0); i < n && !remembered; i += GPU_LANES)
        to[i] = given(a, operand) ? read_real(a->in_type[operand], from, b * n + i) : 0.0f;
}

void store_row(int type, global void *y, int row, int n, global const float *v)
{
    for (int i = get_local_id(0); i < n; i += GPU_LANES)
        write_real(type, y, row * n + i, v[i]);
}

/* One gate: its operands by their places. */
struct gate {
    int wx, wh, wc, norm, bias;
};

void lstm_gate(const struct gpu_recurrent *a, const struct cell *s, local float *part, int which, struct gate g, global const void *x, int x_at, global const void *wx,
               global const void *wh, global const void *wc, global const void *norm, global const void *bias)
{
    int l = get_local_id(0);
    global float *z = s->gate[which];
    float sum = 0.0f;
    for (int u = l; u < a->units; u += GPU_LANES) {
        float v = times_row(0.0f, a->in_type[0], x, x_at, a->in_type[g.wx], wx, u * a->in, a->in);
        v = times_state(v, s->h, a->in_type[g.wh], wh, u * a->out, a->out);
        if (g.wc && given(a, g.wc))
            v = v + read_real(a->in_type[g.wc], wc, u) * s->c[u];
        z[u] = v;
        sum += v;
    }
    float mean = 0.0f, scale = 1.0f;
    if (given(a, g.norm)) {
        mean = sum_of_group(part, sum) / (float)a->units;
        sum = 0.0f;
        for (int u = l; u < a->units; u += GPU_LANES)
            sum += (z[u] - mean) * (z[u] - mean);
        scale = 1.0f / sqrt(sum_of_group(part, sum) / (float)a->units + 1e-8f);
    }
    for (int u = l; u < a->units; u += GPU_LANES) {
        float v = z[u];
        if (given(a, g.norm))
            v = (v - mean) * scale * read_real(a->in_type[g.norm], norm, u);
        if (given(a, g.bias))
            v = v + read_real(a->in_type[g.bias], bias, u);
        z[u] = which == 2 ? tanh(v) : sigmoid_of(v);
    }
}

void lstm_output(const struct gpu_recurrent *a, const struct cell *s, global const void *wp, global const void *bp)
{
    int l = get_local_id(0);
    for (int u = l; u < a->units; u += GPU_LANES)
        s->hidden[u] = s->gate[3][u] * tanh(s->c[u]);
    settle();
    for (int u = l; u < a->out; u += GPU_LANES) {
        float v = s->hidden[u < a->units ? u : 0];
        if (given(a, LSTM_WP)) {
            v = times_state(0.0f, s->hidden, a->in_type[LSTM_WP], wp, u * a->units, a->units);
            v = given(a, LSTM_BP) ? v + read_real(a->in_type[LSTM_BP], bp, u) : v;
        }
        s->h[u] = clipped(v, a->out_clip);
    }
    settle();
}

kernel void lstm(struct gpu_recurrent a, global const void *x, global const void *wxf, global const void *wxc, global const void *wxo, global const void *whf,
                 global const void *whc, global const void *who, global const void *bf, global const void *bc, global const void *bo, global const void *h0,
                 global const void *c0, global const void *ni, global const void *nf, global const void *nc, global const void *no, global const void *wxi,
                 global const void *whi, global const void *wci, global const void *wcf, global const void *wco, global const void *bi, global const void *wp,
                 global const void *bp, global const void *reset, global void *y0, global void *y1, global void *y2, global void *y3, global void *y4, global void *y5,
                 global void *y6, global void *y7, global float *room)
{
    local float part[GPU_LANES];
    int b = get_group_id(0), l = get_local_id(0);
    struct cell s = cell_of(&a, room, b);
    bool remembered = a.stateful && s.there[0] != 0.0f && number_at(a.in_type[LSTM_RESET], reset, 0) == 0.0f;
    settle();
    first_state(&a, s.h, a.out, LSTM_H, h0, b, remembered);
    first_state(&a, s.c, a.units, LSTM_C, c0, b, remembered);
    settle();
    for (int step = 0; step < a.time; step++) {
        int t = a.reverse ? a.time - 1 - step : step, x_at = (b * a.x_batch + t * a.x_time) * a.in, row = b * a.x_batch + t * a.x_time;
        lstm_gate(&a, &s, part, 1, (struct gate){LSTM_WXF, LSTM_WHF, LSTM_WCF, LSTM_NF, LSTM_BF}, x, x_at, wxf, whf, wcf, nf, bf);
        lstm_gate(&a, &s, part, 2, (struct gate){LSTM_WXC, LSTM_WHC, 0, LSTM_NC, LSTM_BC}, x, x_at, wxc, whc, x, nc, bc);
        if (given(&a, LSTM_WXI))
            lstm_gate(&a, &s, part, 0, (struct gate){LSTM_WXI, LSTM_WHI, LSTM_WCI, LSTM_NI, LSTM_BI}, x, x_at, wxi, whi, wci, ni, bi);
        for (int u = l; u < a.units; u += GPU_LANES) {
            if (!given(&a, LSTM_WXI))
                s.gate[0][u] = 1.0f - s.gate[1][u];
            s.c[u] = clipped(s.gate[1][u] * s.c[u] + s.gate[0][u] * s.gate[2][u], a.cell_clip);
        }
        settle();
        lstm_gate(&a, &s, part, 3, (struct gate){LSTM_WXO, LSTM_WHO, LSTM_WCO, LSTM_NO, LSTM_BO}, x, x_at, wxo, who, wco, no, bo);
        settle();
        lstm_output(&a, &s, wp, bp);
        bool last = step + 1 == a.time;
        if (a.wanted & 1)
            store_row(a.out_type[0], y0, a.sequence & 1 ? row : b, a.out, s.h);
        if (last && a.wanted >> 1 & 1)
            store_row(a.out_type[1], y1, b, a.units, s.c);
        if (last && a.wanted >> 2 & 1)
            store_row(a.out_type[2], y2, b, a.out, s.h);
        for (int k = 3; k < 8; k++)
            if (a.wanted >> k & 1 && (a.sequence >> k & 1 || last)) {
                global void *y = k == 3 ? y3 : k == 4 ? y4 : k == 5 ? y5 : k == 6 ? y6 : y7;
                store_row(a.out_type[k], y, a.sequence >> k & 1 ? row : b, k == 7 ? a.out : a.units, k == 7 ? s.h : s.gate[k - 3]);
            }
        settle();
        for (int u = l; u < a.out; u += GPU_LANES)
            s.h[u] = as_stored(a.out_type[0], s.h[u]);
        for (int u = l; u < a.units; u += GPU_LANES)
            s.c[u] = as_stored(a.out_type[1], s.c[u]);
        settle();
    }
    if (l == 0)
        s.there[0] = 1.0f;
}

/* z and r: sigmoids of both sums and both biases. */
void gru_gate(const struct gpu_recurrent *a, const struct cell *s, int which, global const void *x, int x_at, global const void *wx, global const void *wh, global const void *bx,
              global const void *bh)
{
    for (int u = get_local_id(0); u < a->units; u += GPU_LANES) {
        float v = times_row(0.0f, a->in_type[0], x, x_at, a->in_type[GRU_WXZ + which], wx, u * a->in, a->in);
        v = times_state(v, s->h, a->in_type[GRU_WHZ + which], wh, u * a->units, a->units);
        v = given(a, GRU_BXZ + which) ? v + read_real(a->in_type[GRU_BXZ + which], bx, u) : v;
        v = given(a, GRU_BHZ + which) ? v + read_real(a->in_type[GRU_BHZ + which], bh, u) : v;
        s->gate[which][u] = sigmoid_of(v);
    }
}

kernel void gru(struct gpu_recurrent a, global const void *x, global const void *wxz, global const void *wxr, global const void *wxn, global const void *whz,
                global const void *whr, global const void *whn, global const void *bxz, global const void *bxr, global const void *bxn, global const void *bhz,
                global const void *bhr, global const void *bhn, global const void *h0, global const void *reset, global void *y0, global void *y1, global float *room)
{
    int b = get_group_id(0), l = get_local_id(0);
    struct cell s = cell_of(&a, room, b);
    bool remembered = a.stateful && s.there[0] != 0.0f && number_at(a.in_type[GRU_RESET], reset, 0) == 0.0f;
    settle();
    first_state(&a, s.h, a.units, GRU_H, h0, b, remembered);
    settle();
    for (int step = 0; step < a.time; step++) {
        int t = a.reverse ? a.time - 1 - step : step, row = b * a.x_batch + t * a.x_time, x_at = row * a.in;
        gru_gate(&a, &s, 0, x, x_at, wxz, whz, bxz, bhz);
        gru_gate(&a, &s, 1, x, x_at, wxr, whr, bxr, bhr);
        settle();
        for (int u = l; u < a.units; u += GPU_LANES)
            s.hidden[u] = a.linear_before_reset ? s.h[u] : s.gate[1][u] * s.h[u];
        settle();
        for (int u = l; u < a.units; u += GPU_LANES) {
            float n = times_row(0.0f, a.in_type[0], x, x_at, a.in_type[GRU_WXN], wxn, u * a.in, a.in);
            float bias_x = given(&a, GRU_BXN) ? read_real(a.in_type[GRU_BXN], bxn, u) : 0.0f, bias_h = given(&a, GRU_BHN) ? read_real(a.in_type[GRU_BHN], bhn, u) : 0.0f;
            if (a.linear_before_reset)
                n = (n + bias_x) + s.gate[1][u] * (times_state(0.0f, s.hidden, a.in_type[GRU_WHN], whn, u * a.units, a.units) + bias_h);
            else
                n = times_state(n, s.hidden, a.in_type[GRU_WHN], whn, u * a.units, a.units) + bias_x + bias_h;
            s.gate[2][u] = tanh(n);
        }
        settle();
        for (int u = l; u < a.units; u += GPU_LANES)
            s.h[u] = (1.0f - s.gate[0][u]) * s.gate[2][u] + s.gate[0][u] * s.h[u];
        settle();
        if (a.wanted & 1)
            store_row(a.out_type[0], y0, row, a.units, s.h);
        if (step + 1 == a.time && a.wanted >> 1 & 1)
            store_row(a.out_type[1], y1, b, a.units, s.h);
        settle();
        for (int u = l; u < a.units; u += GPU_LANES)
            s.h[u] = as_stored(a.out_type[0], s.h[u]);
        settle();
    }
    if (l == 0)
        s.there[0] = 1.0f;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What Lstm and Gru have in common, compiled once per instruction set: where vectors are, states, products, and the walk
 * over phases. */
#include <string.h>

#include "kernels/recurrent/recurrent.h"

#include "kernels/recurrent/recurrent_numbers.h"

enum { ROWS = RNN_ROWS, COLUMNS = 128 };

/* One batch element at work. A tile computes units row … row + rows - 1 of one phase. */
struct cell {
    const struct rnn_args *a;
    void *const *data;
    uint8_t *state;
    /* Shared by the tiles of a layer; gates have a row for each of the next steps, h is written where the step does not read
     * it. */
    float *gates, *h_of[2], *c, *hidden;
    /* Of this tile: inputs of the next steps, the first h, something in between. */
    float *x, *h_first, *tmp;
    struct rnn_whole x_whole, h_whole; /* the same x and h, where products are of whole numbers */
    int64_t x_sum[RNN_STEPS], h_sum;
    uint32_t x_row, gate_row;
    uint32_t b, step, row, rows;
    const float *h; /* all of it, from the step before */
    float *h_next;  /* from here on it is what a tile computes */
    float *c_now, *gate[4];
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
        K(span_store)
        (&s->a->dst[output], s->data[s->a->n_in + (uint32_t)output], at + i, 1, n - i < SPAN ? n - i : SPAN, src + i);
}

/* ---- states ----------------------------------------------------------------------------------------------------------- */

/* What the layer remembers counts, unless nothing is remembered yet or the client wants a new beginning. */
static bool remembers(const struct cell *s)
{
    float reset;
    if (!s->a->stateful || !s->state[s->b])
        return false;
    load_vector(s, s->a->reset, 0, 1, &reset);
    return reset == 0.0f;
}

/* h (0) or C (1) before the first step, of all `size` values those from `row` on. */
static void first_state(const struct cell *s, int which, uint32_t size, struct range part, float *dst)
{
    const struct rnn_args *a = s->a;
    int64_t at = (int64_t)s->b * size + part.begin;
    uint32_t n = part.end - part.begin;
    if (remembers(s)) {
        for (uint32_t i = 0; i < n; i += SPAN)
            K(span_load)(&a->state[which], s->state + a->state_at[which], at + i, 1, n - i < SPAN ? n - i : SPAN, dst + i);
        return;
    }
    memset(dst, 0, n * sizeof(*dst));
    if (has(s, a->first[which]))
        load_vector(s, a->first[which], at, n, dst);
}

static void keep_state(const struct cell *s, int which, uint32_t size, struct range part, const float *src)
{
    const struct rnn_args *a = s->a;
    for (uint32_t i = part.begin; i < part.end; i += SPAN)
        K(span_store)
        (&a->state[which], s->state + a->state_at[which], (int64_t)s->b * size + i, 1,
         part.end - i < SPAN ? part.end - i : SPAN, src + i);
}

/* The part of h that goes with the units of this tile. Where h is a projection one tile has all of both. */
static struct range part_of_h(const struct cell *s)
{
    return s->a->out == s->a->units ? (struct range){s->row, s->row + s->rows} : (struct range){0, s->a->out};
}

/* A phase of its own, since all tiles of the first step read what is kept here. */
static void keep_states(const struct cell *s)
{
    const struct rnn_args *a = s->a;
    keep_state(s, 0, a->out, part_of_h(s), s->h_of[a->time & 1]);
    if (a->has_c)
        keep_state(s, 1, a->units, (struct range){s->row, s->row + s->rows}, s->c);
    if (s->row == 0)
        s->state[s->b] = 1;
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

/* acc[u] = fma over k ascending of v[k] * W[u, k], continuing acc. Sixteen rows at a time, turned so that they
 * are vectors. */
static void multiply_block(const struct cell *s, int w, uint32_t row, uint32_t rows, uint32_t columns, const float *v,
                           float *acc)
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

/* Rows from `first` on, a multiple of ROWS. */
static void multiply_steps(const struct cell *s, int w, uint32_t first, const struct rnn_product *what)
{
    struct rnn_product p = *what;
    const bool pairs = s->a->whole >> w & 1;
    p.codec = &s->a->src[w];
    p.block_columns = p.columns;
    p.scales = p.codec->scales ? p.codec->scales + first : NULL;
    p.whole = pairs && !what->whole->floats ? what->whole : NULL;
    if (s->a->turned[w]) {
        p.w = (const char *)s->a->turned[w] +
              (uint64_t)first * (pairs ? p.columns + (p.columns & 1) : p.columns) * (dtype_bits(p.codec->type) / 8);
        (p.whole ? multiply_whole : pairs ? multiply_pairs : multiply_turned)(&p);
        return;
    }
    if (p.whole) {
        p.w = (const char *)s->data[w] + (uint64_t)first * p.columns;
        multiply_rows(&p);
        return;
    }
    for (uint32_t t = 0; t < p.steps; t++)
        for (uint32_t row = 0; row < p.rows; row += ROWS)
            multiply_block(s, w, first + row, p.rows - row < ROWS ? p.rows - row : ROWS, p.columns, p.v + t * p.v_step,
                           p.acc + t * p.acc_step + row);
}

static void multiply(const struct cell *s, int w, uint32_t columns, const float *v, float *acc)
{
    multiply_steps(s, w, s->row,
                   &(struct rnn_product){ .rows = s->rows, .columns = columns, .whole = &s->h_whole, .steps = 1, .v = v,
                                          .acc = acc, .backward = s->step & 1 });
}

/* Values of an operand that has one per unit. */
static const float *of_units(const struct cell *s, int operand)
{
    load_vector(s, operand, s->row, s->rows, s->tmp);
    return s->tmp;
}

static void add_vector(const struct cell *s, int operand, float *acc)
{
    if (has(s, operand)) {
        const float *v = of_units(s, operand);
        for (uint32_t i = 0; i < s->rows; i++)
            acc[i] = acc[i] + v[i];
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

static uint32_t time_of(const struct rnn_args *a, uint32_t step)
{
    return a->reverse ? a->time - 1 - step : step;
}

/* The row of the outputs that have one per step. */
static int64_t row_of_step(const struct cell *s)
{
    return s->b * s->a->y_batch + time_of(s->a, s->step) * s->a->y_time;
}

/* The sums of the inputs' products of the next steps, in the rows of the gates. */
static void begin_gates(struct cell *s)
{
    const struct rnn_args *a = s->a;
    uint32_t steps = a->time - s->step < a->steps ? a->time - s->step : a->steps;
    for (uint32_t i = 0; i < steps; i++)
        load_vector(s, 0, (s->b * a->x_batch + time_of(a, s->step + i) * a->x_time) * a->in, a->in, s->x + i * s->x_row);
    if (a->whole_x)
        make_whole(&a->src[0], s->x, steps, a->in, &s->x_whole);
    for (int g = 0; g < 4; g++) {
        struct rnn_product p = {.rows = s->rows, .columns = a->in, .whole = &s->x_whole,
                                .steps = steps, .v = s->x, .v_step = s->x_row,
                                .acc = s->gates + (uint32_t)g * (s->gate_row / 4) + s->row, .acc_step = s->gate_row};
        for (uint32_t t = 0; t < steps; t++)
            memset(p.acc + t * p.acc_step, 0, s->rows * sizeof(*p.acc));
        if (a->wx[g] && has(s, a->wx[g]))
            multiply_steps(s, a->wx[g], s->row, &p);
    }
}

/* h as whole numbers: in the encoding of out[0] between steps, at first in its own, which may have none; one that is not
 * given is 0. */
static void make_h_whole(struct cell *s)
{
    const struct rnn_args *a = s->a;
    const bool own = s->step == 0 && !remembers(s), given = has(s, a->first[0]);
    s->h_whole.floats = own && given && !a->whole_first;
    if (s->h_whole.floats)
        return;
    if (own && !given)
        make_zeros(a->out, &s->h_whole);
    else
        make_whole(own ? &a->src[a->first[0]] : &a->dst[0], s->h, 1, a->out, &s->h_whole);
}

/* Before the phases of a step: where everything is. */
static void go_to_step(struct cell *s, uint32_t step)
{
    const struct rnn_args *a = s->a;
    s->step = step;
    s->h = s->h_of[step & 1];
    s->h_next = s->h_of[(step + 1) & 1] + s->row;
    s->c_now = s->c + s->row;
    for (uint32_t g = 0; g < 4; g++)
        s->gate[g] = s->gates + step % a->steps * s->gate_row + g * (s->gate_row / 4) + s->row;
    if (step == 0) {
        first_state(s, 0, a->out, (struct range){0, a->out}, s->h_first);
        s->h = s->h_first;
    }
    if (a->whole_h)
        make_h_whole(s);
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
    float *w = call->shared ? call->shared : call->work;
    *s = (struct cell){.a = a, .data = call->data, .state = call->state};
    s->x_row = (a->in + 15) / 16 * 16;
    s->gate_row = 4 * ((a->units + 15) / 16 * 16);
    s->gates = take(&w, s->gate_row * a->steps);
    s->h_of[0] = take(&w, a->out);
    s->h_of[1] = take(&w, a->out);
    s->c = take(&w, a->units);
    s->hidden = take(&w, a->units);
    w = (float *)call->work + a->shared_floats;
    s->x = take(&w, s->x_row * a->steps);
    s->h_first = take(&w, a->out);
    s->tmp = take(&w, a->units > a->out ? a->units : a->out);
    s->x_whole = (struct rnn_whole){ .low = (int16_t *)w, .sum = s->x_sum, .step = 2 * s->x_row };
    take(&w, a->whole_x ? s->x_row * a->steps : 0);
    s->h_whole = (struct rnn_whole){ .low = (int16_t *)w, .sum = &s->h_sum };
}

typedef void phase_fn(struct cell *s, uint32_t phase);

static void run_phase(struct cell *s, uint32_t phase, struct range rows, phase_fn *fn)
{
    const struct rnn_args *a = s->a;
    s->row = rows.begin;
    s->rows = (rows.end < a->units ? rows.end : a->units) - rows.begin;
    if (phase == a->time * a->step_phases)
        keep_states(s);
    else
        fn(s, phase);
}

/* A unit of work is a batch element, or some units of one phase. */
static void run_tile(const struct kernel_call *call, struct range tile, phase_fn *fn)
{
    const struct rnn_args *a = call->args;
    struct cell s;
    cell_init(&s, call);
    for (uint32_t i = tile.begin, n; i < tile.end; i += n) {
        n = 1;
        if (a->blocks) {
            uint32_t at = i % a->blocks;
            n = a->blocks - at < tile.end - i ? a->blocks - at : tile.end - i;
            run_phase(&s, i / a->blocks, (struct range){at * ROWS, (at + n) * ROWS}, fn);
            continue;
        }
        s.b = i;
        for (uint32_t phase = 0; phase < a->phases && i < a->batch; phase++)
            run_phase(&s, phase, (struct range){0, a->units}, fn);
    }
}

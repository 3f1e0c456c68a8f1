/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers of fixed-point vectors, and what is rarely multiplied with them; compiled once per instruction set. */
#include <math.h>
#include <string.h>

#include "kernels/recurrent/recurrent.h"

static void make_zeros(uint32_t n, struct rnn_whole *to)
{
    memset(to->low, 0, (n + (n & 1)) * sizeof(*to->low));
    to->high = NULL;
    to->sum[0] = 0;
}

/* n values that came from what this codec stores, so that storing them gives it back. */
static int64_t stored_numbers(const struct codec *c, const float *v, uint32_t n, int16_t *low, int16_t *high)
{
    int64_t numbers[SPAN], sum = 0;
    uint32_t raw[SPAN];
    K(span_store)(c, raw, 0, 1, n, v);
    K(span_load_i64)(c->type, raw, 0, 1, n, numbers);
    for (uint32_t k = 0; k < n; k++) {
        const int32_t q = (int32_t)numbers[k] + c->offset;
        low[k] = (int16_t)(high ? q & 255 : q);
        if (high)
            high[k] = (int16_t)(q >> 8);
        sum += q;
    }
    return sum;
}

/* `to` has room for two words per number, and steps that far apart; vectors are half as far apart. */
static void make_whole(const struct codec *c, const float *v, uint32_t steps, uint32_t n, struct rnn_whole *to)
{
    const bool small = c->lo + c->offset >= -255 && c->hi + c->offset <= 255;
    to->scale = c->scale;
    to->high = small ? NULL : to->low + (n + (n & 1));
    for (uint32_t s = 0; s < steps; s++) {
        int16_t *low = to->low + s * to->step, *high = small ? NULL : to->high + s * to->step;
        to->sum[s] = 0;
        for (uint32_t i = 0; i < n; i += SPAN)
            to->sum[s] += stored_numbers(c, v + s * (to->step / 2) + i, n - i < SPAN ? n - i : SPAN, low + i,
                                         small ? NULL : high + i);
        if (n & 1) {
            low[n] = 0;
            if (high)
                high[n] = 0;
        }
    }
}

/* Rows of a matrix that nobody has turned. */
static void multiply_rows(const struct rnn_product *p)
{
    const struct rnn_whole *v = p->whole;
    const uint8_t flip = p->codec->type == DT_UQ8 ? 0x80 : 0;
    for (uint32_t s = 0; s < p->steps; s++)
        for (uint32_t row = 0; row < p->rows; row++) {
            const uint8_t *w = (const uint8_t *)p->w + (uint64_t)row * p->columns;
            const int16_t *low = v->low + s * v->step, *high = v->high ? v->high + s * v->step : NULL;
            int64_t sum = rnn_byte_offset(p->codec) * v->sum[s];
            for (uint32_t k = 0; k < p->columns; k++)
                sum += (int64_t)(low[k] + (high ? high[k] * 256 : 0)) * (int8_t)(w[k] ^ flip);
            float *acc = &p->acc[s * p->acc_step + row];
            *acc = fmaf((float)sum, v->scale * rnn_row_scale(p, row), *acc);
        }
}

/* A first h of floats with a matrix that was turned for whole numbers: one step of a sequence. */
static void multiply_pairs(const struct rnn_product *p)
{
    const uint64_t pairs = (p->columns + UINT64_C(1)) / 2;
    for (uint32_t row = 0; row < p->rows; row++)
        for (uint32_t k = 0; k < p->columns; k++) {
            int8_t w = ((const int8_t *)p->w)[((row / RNN_ROWS * pairs + k / 2) * RNN_ROWS + row % RNN_ROWS) * 2 + k % 2];
            p->acc[row] = fmaf(p->v[k], (float)(w + rnn_byte_offset(p->codec)) * rnn_row_scale(p, row), p->acc[row]);
        }
}

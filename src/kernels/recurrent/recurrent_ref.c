/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent family for the instruction set of the suffix. */
#define KERNEL_ISA ref
#include <math.h>

#include "kernels/recurrent/recurrent.h"

/* As in recurrent_turned.h. */
static void multiply_turned(const struct rnn_product *p)
{
    for (uint32_t row = 0; row < p->rows; row++)
        for (uint32_t k = 0; k < p->columns; k++) {
            float w;
            span_load_ref(p->codec, p->w, ((int64_t)(row / RNN_ROWS) * p->columns + k) * RNN_ROWS + row % RNN_ROWS, 1, 1,
                          &w);
            for (uint32_t s = 0; s < p->steps; s++)
                p->acc[s * p->acc_step + row] = fmaf(p->v[s * p->v_step + k], w, p->acc[s * p->acc_step + row]);
        }
}

static int64_t sum_whole(const struct rnn_product *p, uint32_t row, uint32_t step)
{
    const struct rnn_whole *v = p->whole;
    const uint64_t pairs = (p->columns + UINT64_C(1)) / 2;
    int64_t sum = rnn_byte_offset(p->codec) * v->sum[step];
    for (uint32_t k = 0; k < p->columns; k++) {
        int8_t w = ((const int8_t *)p->w)[((row / RNN_ROWS * pairs + k / 2) * RNN_ROWS + row % RNN_ROWS) * 2 + k % 2];
        uint64_t at = (uint64_t)step * v->step + k;
        sum += (int64_t)(v->low[at] + (v->high ? v->high[at] * 256 : 0)) * w;
    }
    return sum;
}

/* As in recurrent_whole.h. */
static void multiply_whole(const struct rnn_product *p)
{
    for (uint32_t row = 0; row < p->rows; row++)
        for (uint32_t s = 0; s < p->steps; s++) {
            float *acc = &p->acc[s * p->acc_step + row];
            *acc = fmaf((float)sum_whole(p, row, s), p->whole->scale * rnn_row_scale(p, row), *acc);
        }
}

#include "kernels/recurrent/recurrent_body.h"

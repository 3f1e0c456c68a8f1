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

#include "kernels/recurrent/recurrent_body.h"

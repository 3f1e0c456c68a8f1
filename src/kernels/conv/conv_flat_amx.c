/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products whose rows follow each other in x and in the output, AMX: matrices, and convolutions with windows of one
 * pixel (conv_squares.h). */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_flat.h"
enum { ROWS_APART = false };
#include "kernels/conv/conv_squares.h"

kernel_fn conv_q8_flat_amx, conv_q8_amx;

void conv_q8_flat_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct squares f;
    squares_init(&f, call, conv_flat_step(a));
    if (a->kind == CONV_MATRIX)
        f.x_step = a->x_row;
    choose_form(&f);
    for (uint32_t at = tile.begin, units; at < tile.end; at += units) {
        const uint32_t col = at / a->row_units, unit = at % a->row_units, left = tile.end - at;
        units = left < a->row_units - unit ? left : a->row_units - unit;
        const uint64_t row = (uint64_t)unit * a->unit_rows, end = row + (uint64_t)units * a->unit_rows,
                       last = end < a->rows ? end : a->rows;
        if (last - row >= PIECE) {
            run_columns(&f, col, row, last);
        } else {
            conv_q8_amx(call, (struct range){ at, at + units });
            f.shape = 0;
        }
    }
    squares_end(&f);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products whose rows follow each other in x and in the output, AMX: matrices, and convolutions with windows of one
 * pixel (conv_squares.h). */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_flat.h"
enum { ROWS_APART = false };
#include "kernels/conv/conv_squares_bytes.h"

#include "kernels/conv/conv_squares.h"
#include "kernels/conv/conv_squares_flat.h"

kernel_fn conv_q8_flat_amx, conv_q8_amx;

void conv_q8_flat_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    const uint64_t step = a->kind == CONV_MATRIX ? a->x_row : a->ci;
    struct squares f;
    squares_init(&f, call, conv_flat_step(a));
    if (conv_strided(a))
        squares_brought(&f, call);
    else
        squares_steps(&f, step, TILE * step);
    run_flat(&f, call, tile, conv_q8_amx);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit activations by 8-bit weights, AMX: matrices, and convolutions with windows of one pixel, in squares
 * (conv_squares.h). */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_flat.h"
enum { ROWS_APART = false };
#include "kernels/conv/conv_squares_words.h"

#include "kernels/conv/conv_squares.h"
#include "kernels/conv/conv_squares_flat.h"

kernel_fn conv_q16_flat_amx, conv_q16_amx;

void conv_q16_flat_amx(const struct kernel_call *call, struct range tile)
{
    struct squares f;
    squares_init(&f, call, conv_flat_step(call->args));
    squares_brought(&f, call);
    run_flat(&f, call, tile, conv_q16_amx);
}

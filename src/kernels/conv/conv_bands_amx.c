/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit convolutions whose windows are read from bands of lines, AMX (conv_squares_bands.h). */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_flat.h"
enum { ROWS_APART = true };
#include "kernels/conv/conv_squares_bytes.h"

#include "kernels/conv/conv_squares_bands.h"

kernel_fn conv_q8_bands_amx, conv_q8_amx;

void conv_q8_bands_amx(const struct kernel_call *call, struct range tile)
{
    run_bands(call, tile, conv_q8_amx);
}

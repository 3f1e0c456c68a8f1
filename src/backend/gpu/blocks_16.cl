/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.cl for vectors of 16 floats: 16 sums in 32 registers. */
#define VEC 16
#define ROWS 8

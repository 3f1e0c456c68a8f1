/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.cl for vectors of 4 floats: 12 sums, which leaves room for operands in 16 registers. */
#define VEC 4
#define ROWS 6

/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators of two (or, for Select, three) broadcast operands: docs/numerics.md section 4. */
#ifndef KERNELS_BROADCAST_BROADCAST_H
#define KERNELS_BROADCAST_BROADCAST_H

#include "kernels/kernels.h"
#include "kernels/span.h"
#include "kernels/view.h"

/* In the order of ElementWiseBinary's `operation`; then what only this family needs. */
enum binary_op {
    BIN_ADD,
    BIN_AND,
    BIN_DIVIDE,
    BIN_EQUAL,
    BIN_FLOOR_DIV,
    BIN_FMOD,
    BIN_GREATER,
    BIN_GREATER_EQUAL,
    BIN_LESS,
    BIN_LESS_EQUAL,
    BIN_MAXIMUM,
    BIN_MINIMUM,
    BIN_MOD,
    BIN_MULTIPLY,
    BIN_NOT_EQUAL,
    BIN_OR,
    BIN_POWER,
    BIN_SQUARED_DIFFERENCE,
    BIN_SUBTRACT,
    BIN_XOR,
    BIN_OPERATIONS,
    BIN_PRELU = BIN_OPERATIONS,
    BIN_SCALED_MULTIPLY, /* (a * b) * m: fixed-point Multiply */
    BIN_SELECT,
    BIN_COUNT
};

enum binary_mode {
    BIN_MODE_F32,  /* operands and result as f32 */
    BIN_MODE_I64,  /* integers, signed */
    BIN_MODE_U64,  /* integers, one of them u64 */
    BIN_MODE_WIDE, /* fixed-point Multiply whose factors do not fit f32 */
};

struct broadcast_args {
    uint64_t total, unit; /* elements, of all and of a unit of work */
    uint32_t n_in; /* index of the output among the operands */
    enum binary_op op;
    enum binary_mode mode;
    bool raw; /* Select: the chosen value's bits are copied */
    float m;
    struct codec in[3], out;
    struct view view[3];
    const uint8_t *table; /* of all bytes of operand `varies`, where the other one is a constant number; NULL: none */
    uint32_t varies;
};

kernel_fn broadcast_ref, broadcast_avx2, broadcast_avx512;
kernel_fn broadcast_fixed_avx2, broadcast_fixed_avx512, broadcast_bytes_avx512, broadcast_table_avx512;
kernel_fn select_ref, select_avx2, select_avx512;

#endif

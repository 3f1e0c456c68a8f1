/* SPDX-License-Identifier: Apache-2.0 */
/* The unary family in plain C, and what its rows can do. */
#define KERNEL_ISA ref
#include "kernels/unary/unary_body.h"

bool unary_has_f32(enum unary_op op)
{
    return fns[op].f32 != NULL;
}

bool unary_has_i64(enum unary_op op)
{
    return fns[op].i64 != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is built as several nodes (private to api/): Concat, Pack, Split and UnPack of more tensors than an operator has
 * ports, Prelu with a slope for each channel where channels are dimension 1, which does not broadcast as it is, and Reshape
 * between fixed point and float.
 *
 *     Concat of 100                           two Concats of 50, a Concat of the two
 *     Pack of 100                             two Packs of 50, a Concat of the two
 *     Split into 100                          a Split into two, two Splits into 50
 *     UnPack into 100                         a Split into two, two UnPacks into 50
 *     Prelu of [2,5,8,8] with slopes [5]      a Reshape of the slopes to [5,1,1], a Prelu
 *     Reshape of uq8[6] to f32[2,3]           a Reshape to uq8[2,3], a Dequantize */
#ifndef API_WIDE_NODE_H
#define API_WIDE_NODE_H

#include "base/arena.h"
#include "ops/ops.h"

enum { WIDE_PORTS = MAX_PORTS * MAX_PORTS };

/* An operand below WIDE_BETWEEN is the tensor of the whole node's list with this number; WIDE_BETWEEN + i
 * is `between[i]`. */
enum { WIDE_BETWEEN = 1 << 30 };

#define WIDE_PART_TEXT "node %u of the %u that it is built as" /* numbers in an error text are those of the part */

struct wide_part {
    const struct op_def *op;
    struct op_value *params;
    uint32_t n_in, n_out;
    uint32_t *in, *out;
};

struct wide_plan {
    struct wide_part *parts; /* producers first */
    struct tensor_desc *between;
    uint32_t n_parts, n_between;
};

/* How many tensors an operator may have on one side. */
uint32_t wide_limit(const struct op_def *op);
bool wide_is(const struct op_call *c);
/* The parts of such a call. Encodings of arrays are those of the call. */
enum status wide_plan(const struct op_call *c, struct arena *a, struct wide_plan *ret);
/* A part as a call of its own; `in` and `out` have room for MAX_PORTS. */
struct op_call wide_call(const struct op_call *c, const struct wide_plan *p, uint32_t part, const struct tensor_desc **in,
                         const struct tensor_desc **out);

#endif

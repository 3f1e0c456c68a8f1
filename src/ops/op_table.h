/* SPDX-License-Identifier: Apache-2.0 */
/* The words that the rows of op_table_*.c are written in. Private to ops/.
 *
 *     OP_ROW(Relu, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}, .flags = OP_ELEMENTWISE, .infer = rule_unary)
 *
 * Parameters: a type, then what is true of it: P_U32("stride", REQ, DIMS1(2), AS("[height, width]")). Without REQ and
 * without a DEFAULT… a parameter may be absent, and the operator's rule knows what that means. */
#ifndef OPS_OP_TABLE_H
#define OPS_OP_TABLE_H

#include "ops/op_rules.h"
#include "ops/ops.h"

#define OP_ROW(op, ...) const struct op_def op_row_##op = {.id = OP_##op, .name = #op, __VA_ARGS__};

#define IN(n, t) {n, t, 0}
#define OPT(n, t) {n, t, PORT_OPTIONAL}
#define MANY(n, t) {n, t, PORT_VARIADIC}
#define ANY_NUMBER(n, t) {n, t, PORT_VARIADIC | PORT_OPTIONAL}
#define WEIGHT(n, t) {n, t, PORT_AXIS}
#define ENCODED(n, t) {n, t, PORT_AXIS}
#define OPT_ENCODED(n, t) {n, t, PORT_OPTIONAL | PORT_AXIS}
#define OUT(n, t) {n, t, 0}

#define P_U32(n, ...) {.name = n, .type = DT_U32, __VA_ARGS__}
#define P_I32(n, ...) {.name = n, .type = DT_I32, __VA_ARGS__}
#define P_F32(n, ...) {.name = n, .type = DT_F32, __VA_ARGS__}
#define P_B8(n, ...) {.name = n, .type = DT_B8, __VA_ARGS__}
#define P_ANY(n, ...) {.name = n, .type = DT_NONE, __VA_ARGS__}
#define P_STR(n, ...) {.name = n, .type = DT_STR, __VA_ARGS__}

#define REQ .required = true
#define DEFAULT(v) .dflt = DEFAULT_VALUE, .value = (v)
#define LAST_AXIS .dflt = DEFAULT_LAST
#define OF_RANK .dflt = DEFAULT_RANK
#define OPTIONAL_PARAM .dflt = DEFAULT_NONE
#define DIMS1(a) .rank = 1, .dims = {a}
#define DIMS2(a, b) .rank = 2, .dims = {a, b}
#define LIMIT(n) .limit = (n)
#define AS(text) .layout = text

#define T_ARITH (T_REAL | T_INT | T_UINT)
#define T_BIAS (T_REAL | T_Q32 | T_(DT_I32))
#define T_SUM (T_BIAS | T_(DT_I64)) /* what is added to a sum of products */
#define T_WEIGHT (T_REAL | T_QLOW)
#define T_FLAG (T_BOOL | T_Q8 | T_(DT_U8) | T_(DT_I8) | T_(DT_I32)) /* what clients use for truth values */

#endif

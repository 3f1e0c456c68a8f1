/* SPDX-License-Identifier: Apache-2.0 */
/* table: element-wise operators, activations and type conversions. */
#include "ops/op_table.h"

#define UNARY(op, types) \
    OP_ROW(op, .in = {IN("in", types)}, .out = {OUT("out", types)}, .flags = OP_ELEMENTWISE, .infer = rule_unary)
#define BINARY(op, types, rule)                                                                                              \
    OP_ROW(op, .in = {IN("a", types), IN("b", types)}, .out = {OUT("out", types)}, .flags = OP_ELEMENTWISE, .infer = rule)
#define TRUTH(op, types, rule)                                                                                               \
    OP_ROW(op, .in = {IN("a", types), IN("b", types)}, .out = {OUT("out", T_FLAG)}, .flags = OP_ELEMENTWISE, .infer = rule)

UNARY(ElementWiseAbs, T_ARITH)
UNARY(ElementWiseAsin, T_REAL)
UNARY(ElementWiseAtan, T_REAL)
UNARY(ElementWiseCeil, T_ARITH)
UNARY(ElementWiseCos, T_REAL)
UNARY(ElementWiseExp, T_REAL)
UNARY(ElementWiseFloor, T_ARITH)
UNARY(ElementWiseLog, T_REAL)
UNARY(ElementWiseNeg, T_ARITH)
UNARY(ElementWiseRound, T_ARITH)
UNARY(ElementWiseRsqrt, T_REAL)
UNARY(ElementWiseSign, T_ARITH)
UNARY(ElementWiseSin, T_REAL)
UNARY(ElementWiseSquareRoot, T_REAL)
UNARY(Gelu, T_REAL)
UNARY(HardSwish, T_REAL)
UNARY(Logit, T_REAL)
UNARY(Relu, T_ARITH)
UNARY(Relu1, T_ARITH)
UNARY(Relu6, T_ARITH)
UNARY(Sigmoid, T_REAL)
UNARY(Tanh, T_REAL)

OP_ROW(ElementWiseNot, .in = {IN("in", T_FLAG | T_ARITH)}, .out = {OUT("out", T_FLAG | T_ARITH)}, .flags = OP_ELEMENTWISE,
       .infer = rule_logic_not)
OP_ROW(ElementWiseSoftplus, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_F32("beta", DEFAULT(1.0)), P_F32("threshold", DEFAULT(-1.0))}, .flags = OP_ELEMENTWISE, .infer = rule_unary)
OP_ROW(Elu, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}, .params = {P_F32("alpha", DEFAULT(1.0))},
       .flags = OP_ELEMENTWISE, .infer = rule_unary)
OP_ROW(ReluMinMax, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_ARITH)}, .params = {P_F32("min_value", REQ), P_F32("max_value", REQ)},
       .flags = OP_ELEMENTWISE, .infer = rule_unary)
OP_ROW(ElementWiseUnary, .in = {IN("in", T_ARITH | T_BOOL)}, .out = {OUT("out", T_ARITH | T_BOOL)},
       .params = {P_U32("operation", REQ, LIMIT(16))}, .flags = OP_ELEMENTWISE, .infer = rule_unary_generic)
/* The defaults of alpha and beta depend on the operation (ELU: alpha 1; HARD_SIGMOID: alpha 0.2, beta 0.5; SOFTPLUS: beta 1),
 * so the row has none. */
OP_ROW(ElementWiseNeuron, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_ARITH)},
       .params = {P_U32("operation", REQ, LIMIT(9)), P_F32("alpha", OPTIONAL_PARAM), P_F32("beta", OPTIONAL_PARAM),
                  P_F32("min_value", OPTIONAL_PARAM), P_F32("max_value", OPTIONAL_PARAM), P_F32("threshold", DEFAULT(-1.0))},
       .flags = OP_ELEMENTWISE, .infer = rule_neuron)
OP_ROW(IsInf, .in = {IN("in", T_FLOAT)}, .out = {OUT("out", T_FLAG)},
       .params = {P_B8("detect_negative", DEFAULT(1)), P_B8("detect_positive", DEFAULT(1))}, .flags = OP_ELEMENTWISE,
       .infer = rule_is_special)
OP_ROW(IsNan, .in = {IN("in", T_FLOAT)}, .out = {OUT("out", T_FLAG)}, .flags = OP_ELEMENTWISE, .infer = rule_is_special)

BINARY(ElementWiseAdd, T_ARITH, rule_arithmetic)
BINARY(ElementWiseDivide, T_ARITH, rule_arithmetic)
BINARY(ElementWiseFloorDiv, T_ARITH, rule_arithmetic)
BINARY(ElementWiseFmod, T_ARITH, rule_arithmetic)
BINARY(ElementWiseMaximum, T_ARITH, rule_min_max)
BINARY(ElementWiseMinimum, T_ARITH, rule_min_max)
BINARY(ElementWiseMod, T_ARITH, rule_arithmetic)
BINARY(ElementWiseMultiply, T_ARITH, rule_arithmetic)
BINARY(ElementWiseSquaredDifference, T_ARITH, rule_arithmetic)
BINARY(ElementWiseSubtract, T_ARITH, rule_arithmetic)
TRUTH(ElementWiseAnd, T_ARITH | T_BOOL, rule_logic)
TRUTH(ElementWiseEqual, T_ARITH | T_BOOL, rule_compare)
TRUTH(ElementWiseGreater, T_ARITH | T_BOOL, rule_compare)
TRUTH(ElementWiseGreaterEqual, T_ARITH | T_BOOL, rule_compare)
TRUTH(ElementWiseLess, T_ARITH | T_BOOL, rule_compare)
TRUTH(ElementWiseLessEqual, T_ARITH | T_BOOL, rule_compare)
TRUTH(ElementWiseNotEqual, T_ARITH | T_BOOL, rule_compare)
TRUTH(ElementWiseOr, T_ARITH | T_BOOL, rule_logic)
TRUTH(ElementWiseXor, T_ARITH | T_BOOL, rule_logic)
OP_ROW(ElementWisePower, .in = {IN("base", T_ARITH), IN("exponent", T_ARITH)}, .out = {OUT("out", T_ARITH)}, .flags = OP_ELEMENTWISE,
       .infer = rule_power)
OP_ROW(ElementWiseBinary, .in = {IN("a", T_ARITH | T_BOOL), IN("b", T_ARITH | T_BOOL)}, .out = {OUT("out", T_ARITH | T_BOOL)},
       .params = {P_U32("operation", REQ, LIMIT(20))}, .flags = OP_ELEMENTWISE, .infer = rule_binary_generic)
OP_ROW(ElementWiseSelect, .in = {IN("condition", T_FLAG), IN("a", T_ANY), IN("b", T_ANY)}, .out = {OUT("out", T_ANY)},
       .flags = OP_ELEMENTWISE, .infer = rule_select)
/* Only the name is public. */
OP_ROW(ElementWiseMux, .in = {IN("selector", T_ANY), MANY("in", T_ANY)}, .out = {OUT("out", T_ANY)}, .infer = rule_mux)
OP_ROW(Prelu, .in = {IN("in", T_REAL), IN("slope", T_REAL)}, .out = {OUT("out", T_REAL)}, .flags = OP_ELEMENTWISE, .infer = rule_prelu)

OP_ROW(Softmax, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}, .params = {P_U32("axis", LAST_AXIS), P_F32("beta", DEFAULT(1.0))},
       .infer = rule_softmax)
OP_ROW(LogSoftmax, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}, .params = {P_U32("axis", REQ), P_F32("beta", DEFAULT(1.0))},
       .infer = rule_softmax)
OP_ROW(MaskedSoftmax, .in = {IN("in", T_REAL), IN("mask", T_ARITH | T_BOOL)}, .out = {OUT("out", T_REAL)},
       .params = {P_U32("mode", DEFAULT(0), LIMIT(2))}, .infer = rule_masked_softmax)

OP_ROW(Cast, .in = {ENCODED("in", T_ANY)}, .out = {ENCODED("out", T_ANY)}, .flags = OP_ELEMENTWISE, .infer = rule_cast)
OP_ROW(Convert, .in = {ENCODED("in", T_ANY)}, .out = {ENCODED("out", T_ANY)},
       .params = {P_B8("dynamic_input_data", DEFAULT(0)), P_B8("dynamic_output_data", DEFAULT(0))}, .flags = OP_ELEMENTWISE,
       .infer = rule_convert)
/* From fixed point it is Convert: that is how LiteRT writes a change of encoding that has 32 bits on one side. */
OP_ROW(Quantize, .in = {ENCODED("in", T_FLOAT | T_Q | T_Q32 | T_QLOW)}, .out = {ENCODED("out", T_Q | T_Q32 | T_QLOW)}, .flags = OP_ELEMENTWISE,
       .infer = rule_quantize)
OP_ROW(Dequantize, .in = {ENCODED("in", T_Q | T_Q32 | T_QLOW)}, .out = {OUT("out", T_FLOAT)}, .flags = OP_ELEMENTWISE,
       .infer = rule_dequantize)

OP_ROW(RandomNormalLike, .in = {IN("shape", T_INDEX), OPT("seed", T_FLOAT)}, .out = {OUT("out", T_REAL)},
       .params = {P_F32("mean", DEFAULT(0.0)), P_F32("scale", DEFAULT(1.0))}, .flags = OP_RANDOM, .infer = rule_random_like)
OP_ROW(RandomUniformLike, .in = {IN("shape", T_INDEX), OPT("seed", T_FLOAT)}, .out = {OUT("out", T_REAL)},
       .params = {P_F32("low", DEFAULT(0.0)), P_F32("high", DEFAULT(1.0))}, .flags = OP_RANDOM, .infer = rule_random_like)

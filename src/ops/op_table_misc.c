/* SPDX-License-Identifier: Apache-2.0 */
/* table: control flow, sparse tensors, and what the compiler adds. The first two's inputs and outputs are not described publicly; the rows hold what is known. */
#include "ops/op_table.h"

/* With its two graphs If runs one of them. Without, as the compiler leaves it behind, it hands on the results of one or the other (rule_control.c). */
OP_ROW(If, .in = {IN("condition", T_BOOL), ANY_NUMBER("in", T_ANY)}, .out = {ANY_NUMBER("out", T_ANY)},
       .params = {P_STR("then_graph", OPTIONAL_PARAM), P_STR("else_graph", OPTIONAL_PARAM)}, .infer = rule_if)
OP_ROW(CreateSparse, .in = {IN("indices", T_INDEX), IN("values", T_ANY)}, .out = {OUT("out", T_ANY)}, .infer = rule_create_sparse)
OP_ROW(GetSparseIndices, .in = {IN("in", T_ANY)}, .out = {OUT("indices", T_INDEX)}, .infer = rule_get_sparse_indices)
OP_ROW(GetSparseValues, .in = {IN("in", T_ANY)}, .out = {OUT("values", T_ANY)}, .infer = rule_get_sparse_values)
OP_ROW(SparseToDense, .in = {IN("in", T_ANY)}, .out = {OUT("out", T_ANY)}, .infer = rule_like_input)

/* Copies between the fast memory of a device and DRAM. */
OP_ROW(DramToTcm, .in = {ENCODED("in", T_ANY)}, .out = {ENCODED("out", T_ANY)}, .infer = rule_transfer)
OP_ROW(TcmToDram, .in = {ENCODED("in", T_ANY)}, .out = {ENCODED("out", T_ANY)}, .infer = rule_transfer)

/* PackageOp stands for all operators of op packages, and has none of the numbers of the catalogue: what it computes is the client's business (rule_package.c). */
const struct op_def op_row_package = {.id = OP_NONE, .name = "PackageOp",
       .in = {{"in", T_ANY, PORT_VARIADIC | PORT_OPTIONAL | PORT_AXIS}}, .out = {{"out", T_ANY, PORT_VARIADIC | PORT_AXIS}},
       .params = {P_STR("package", REQ), P_STR("operator", REQ), {.name = "values", .type = DT_U8, DIMS1(DIM_ANY)}},
       .flags = OP_RANDOM, .infer = rule_package_op};

/* SPDX-License-Identifier: Apache-2.0 */
/* table: data movement, indexing, and reductions. */
#include "ops/op_table.h"

#define MOVE .in = {IN("in", T_ANY)}, .out = {OUT("out", T_ANY)}
#define AXES_KEEP .params = {P_U32("axes", REQ, DIMS1(DIM_ANY)), P_B8("keep_dims", DEFAULT(0))}
#define REDUCE(op, types) OP_ROW(op, .in = {IN("in", types)}, .out = {OUT("out", types)}, AXES_KEEP, .infer = rule_reduce)
#define BLOCK P_U32("block_size", REQ, DIMS1(2), AS("[height, width]"))

OP_ROW(Reshape, .in = {IN("in", T_ANY), OPT("shape", T_INDEX)}, .out = {OUT("out", T_ANY)}, .flags = OP_VIEW, .infer = rule_reshape)
OP_ROW(Squeeze, MOVE, .params = {P_U32("axes", DIMS1(DIM_ANY))}, .flags = OP_VIEW, .infer = rule_squeeze)
OP_ROW(ExpandDims, MOVE, .params = {P_U32("axis", OPTIONAL_PARAM), P_U32("axes", DIMS1(DIM_ANY))}, .flags = OP_VIEW,
       .infer = rule_expand_dims)
OP_ROW(Transpose, MOVE, .params = {P_U32("perm", REQ, DIMS1(DIM_RANK), AS("one per input dimension"))}, .infer = rule_transpose)
OP_ROW(Concat, .in = {MANY("in", T_ANY)}, .out = {OUT("out", T_ANY)}, .params = {P_U32("axis", LAST_AXIS)}, .infer = rule_concat)
OP_ROW(Split, .in = {IN("in", T_ANY)}, .out = {MANY("out", T_ANY)}, .params = {P_U32("axis", REQ), P_U32("split_index", REQ, DIMS1(DIM_ANY))},
       .infer = rule_split)
OP_ROW(Tile, MOVE, .params = {P_U32("multiples", REQ, DIMS1(DIM_RANK), AS("one per input dimension"))}, .infer = rule_tile)
OP_ROW(Pack, .in = {MANY("in", T_ANY)}, .out = {OUT("out", T_ANY)}, .params = {P_U32("axis", REQ)}, .infer = rule_pack)
OP_ROW(UnPack, .in = {IN("in", T_ANY)}, .out = {MANY("out", T_ANY)}, .params = {P_U32("axis", REQ)}, .infer = rule_unpack)
OP_ROW(Pad, MOVE,
       .params = {P_U32("scheme", REQ, LIMIT(4)), P_U32("pad_amount", REQ, DIMS2(DIM_RANK, 2), AS("[before, after] per input dimension")),
                  P_ANY("pad_constant_value", DEFAULT(0))},
       .infer = rule_pad)
OP_ROW(StridedSlice, MOVE,
       .params = {P_I32("ranges", REQ, DIMS2(DIM_ANY, 3), AS("[begin, end, stride] per dimension")), P_U32("begin_mask", DEFAULT(0)),
                  P_U32("end_mask", DEFAULT(0)), P_U32("shrink_axes", DEFAULT(0)), P_U32("new_axes_mask", DEFAULT(0))},
       .infer = rule_strided_slice)
OP_ROW(Shape, .in = {IN("in", T_ANY)}, .out = {OUT("out", T_INDEX)}, .params = {P_U32("start", DEFAULT(0)), P_U32("end", OF_RANK)},
       .infer = rule_shape)
OP_ROW(ConstantOfShape, .in = {IN("shape", T_INDEX)}, .out = {OUT("out", T_ANY)}, .params = {P_ANY("value", REQ)},
       .infer = rule_constant_of_shape)
OP_ROW(OneHot, .in = {IN("indices", T_INDEX | T_(DT_U8))}, .out = {OUT("out", T_ANY)},
       .params = {P_U32("depth", REQ), P_U32("axis", OF_RANK), P_ANY("on_value", DEFAULT(1)), P_ANY("off_value", DEFAULT(0))},
       .infer = rule_one_hot)

OP_ROW(Gather, .in = {IN("in", T_ANY), IN("indices", T_INDEX)}, .out = {OUT("out", T_ANY)}, .params = {P_I32("axis", REQ)},
       .infer = rule_gather)
OP_ROW(GatherElements, .in = {IN("in", T_ANY), IN("indices", T_INDEX)}, .out = {OUT("out", T_ANY)}, .params = {P_U32("axis", DEFAULT(0))},
       .infer = rule_gather_elements)
OP_ROW(GatherNd, .in = {IN("in", T_ANY), IN("indices", T_INDEX)}, .out = {OUT("out", T_ANY)}, .params = {P_U32("batch_dims", DEFAULT(0))},
       .infer = rule_gather_nd)
OP_ROW(ScatterElements, .in = {IN("in", T_ANY), IN("indices", T_INDEX), IN("updates", T_ANY)}, .out = {OUT("out", T_ANY)},
       .params = {P_U32("axis", DEFAULT(0)), P_U32("reduction", DEFAULT(0), LIMIT(4))}, .infer = rule_scatter_elements)
OP_ROW(ScatterNd, .in = {IN("in", T_ANY), IN("indices", T_INDEX), IN("updates", T_ANY)}, .out = {OUT("out", T_ANY)},
       .params = {P_U32("reduction", DEFAULT(0), LIMIT(3))}, .infer = rule_scatter_nd)
OP_ROW(BatchPermutation, .in = {IN("in", T_ANY), IN("indices", T_INDEX)}, .out = {OUT("out", T_ANY)}, .infer = rule_batch_permutation)
OP_ROW(NonZero, .in = {IN("in", T_ANY)}, .out = {OUT("out", T_INDEX)}, .infer = rule_non_zero)

OP_ROW(DepthToSpace, MOVE, .params = {BLOCK, P_U32("mode", DEFAULT(0), LIMIT(2))}, .infer = rule_depth_to_space)
OP_ROW(SpaceToDepth, MOVE, .params = {BLOCK, P_U32("mode", DEFAULT(0), LIMIT(2))}, .infer = rule_space_to_depth)
OP_ROW(BatchToSpace, MOVE, .params = {BLOCK, P_U32("crops", DIMS2(2, 2), DEFAULT(0), AS("[[top, bottom], [left, right]]"))},
       .infer = rule_batch_to_space)
OP_ROW(SpaceToBatch, MOVE, .params = {BLOCK, P_U32("pad_amount", DIMS2(2, 2), DEFAULT(0), AS("[[top, bottom], [left, right]]"))},
       .infer = rule_space_to_batch)
OP_ROW(ChannelShuffle, MOVE, .params = {P_U32("num_groups", REQ), P_U32("axis", LAST_AXIS)}, .infer = rule_channel_shuffle)

REDUCE(ReduceMax, T_ARITH | T_BOOL)
REDUCE(ReduceMean, T_ARITH)
REDUCE(ReduceMin, T_ARITH | T_BOOL)
REDUCE(ReduceProd, T_ARITH)
REDUCE(ReduceSum, T_ARITH)
REDUCE(ReduceSumSquare, T_ARITH)
OP_ROW(Argmax, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_INDEX | T_F32)}, .params = {P_U32("axis", REQ), P_B8("keep_dims", DEFAULT(0))},
       .infer = rule_arg_extreme)
OP_ROW(Argmin, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_INDEX | T_F32)}, .params = {P_U32("axis", REQ), P_B8("keep_dims", DEFAULT(0))},
       .infer = rule_arg_extreme)
OP_ROW(TopK, .in = {IN("in", T_ARITH)}, .out = {OUT("values", T_ARITH), OUT("indices", T_INDEX)},
       .params = {P_U32("k", REQ), P_B8("largest", DEFAULT(1))}, .infer = rule_top_k)
OP_ROW(CumulativeSum, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_ARITH)},
       .params = {P_U32("axis", REQ), P_B8("exclusive", DEFAULT(0)), P_B8("reverse", DEFAULT(0))}, .infer = rule_cumulative_sum)
OP_ROW(Moments, .in = {IN("in", T_REAL)}, .out = {OUT("mean", T_REAL), OUT("variance", T_REAL)},
       .params = {P_I32("axes", REQ, DIMS1(DIM_ANY)), P_B8("keep_dims", REQ)}, .infer = rule_moments)

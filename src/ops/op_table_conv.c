/* SPDX-License-Identifier: Apache-2.0 */
/* table: convolutions, matrix products and pooling. */
#include "ops/op_table.h"

#define CONV_PORTS \
    .in = {IN("in", T_REAL), WEIGHT("filter", T_WEIGHT), OPT_ENCODED("bias", T_SUM)}, .out = {OUT("out", T_REAL)}
#define STRIDE(n, text) P_U32("stride", REQ, DIMS1(n), AS(text))
#define DILATION(n, text) P_U32("dilation", DIMS1(n), DEFAULT(1), AS(text))
#define PADS(n, text) P_U32("pad_amount", REQ, DIMS2(n, 2), AS(text))
#define WINDOW(n, text) P_U32("filter_size", REQ, DIMS1(n), AS(text))
#define GROUP P_U32("group", DEFAULT(1))
#define ROUNDING P_U32("rounding_mode", DEFAULT(0), LIMIT(2))

#define HW "[height, width]"
#define HW_PADS "[[top, bottom], [left, right]]"
#define DHW "[depth, height, width]"
#define DHW_PADS "[[front, back], [top, bottom], [left, right]]"

OP_ROW(Conv1d, CONV_PORTS,
       .params = {P_U32("stride", REQ), P_U32("pad_amount", REQ, DIMS1(2), AS("[left, right]")), GROUP, P_U32("dilation", DEFAULT(1))},
       .infer = rule_conv1d)
OP_ROW(Conv2d, CONV_PORTS,
       .params = {STRIDE(2, HW), PADS(2, HW_PADS), GROUP, DILATION(2, HW), P_B8("reuse_sparse_indices", DEFAULT(0))},
       .infer = rule_conv2d)
OP_ROW(Conv3d, CONV_PORTS,
       .params = {STRIDE(3, DHW), PADS(3, DHW_PADS), GROUP, DILATION(3, DHW), P_B8("reuse_sparse_indicies", DEFAULT(0))},
       .infer = rule_conv3d)
OP_ROW(DepthWiseConv1d, CONV_PORTS,
       .params = {P_U32("stride", REQ), P_U32("pad_amount", REQ, DIMS1(2), AS("[left, right]")), P_U32("dilation", DEFAULT(1))},
       .infer = rule_depthwise1d)
OP_ROW(DepthWiseConv2d, CONV_PORTS, .params = {STRIDE(2, HW), PADS(2, HW_PADS), DILATION(2, HW)}, .infer = rule_depthwise2d)
OP_ROW(TransposeConv1d, CONV_PORTS,
       .params = {P_U32("stride", REQ), P_U32("pad_amount", REQ, DIMS1(2), AS("[left, right]")), GROUP,
                  P_U32("output_padding", DEFAULT(0))},
       .infer = rule_transpose_conv1d)
OP_ROW(TransposeConv2d, CONV_PORTS,
       .params = {STRIDE(2, HW), PADS(2, HW_PADS), GROUP, P_U32("output_padding", DIMS1(2), DEFAULT(0), AS(HW))},
       .infer = rule_transpose_conv2d)
OP_ROW(TransposeConv3d, CONV_PORTS,
       .params = {STRIDE(3, DHW), PADS(3, DHW_PADS), DILATION(3, DHW), GROUP, P_U32("output_padding", DIMS1(3), DEFAULT(0), AS(DHW))},
       .infer = rule_transpose_conv3d)

OP_ROW(FullyConnected, .in = {IN("in", T_REAL), WEIGHT("weight", T_WEIGHT), OPT_ENCODED("bias", T_SUM)}, .out = {OUT("out", T_REAL)},
       .params = {P_B8("keep_dims", DEFAULT(0))}, .infer = rule_fully_connected)
OP_ROW(MatMul, .in = {IN("a", T_REAL), WEIGHT("b", T_WEIGHT), OPT_ENCODED("bias", T_SUM)}, .out = {OUT("out", T_REAL)},
       .params = {P_B8("transpose_in0", DEFAULT(0)), P_B8("transpose_in1", DEFAULT(0))}, .infer = rule_matmul)
/* Of floats that are known to be bytes less a zero point (opt_fuse_bytes.c); parameters as those of the operator it was made
 * from. */
#define BYTES_PORTS(x, w)                                                                                                \
    .in = {IN(x, T_(DT_U8)), WEIGHT(w, T_(DT_SQ8)), OPT("zero", T_(DT_U8)), OPT("whole", T_(DT_I32)), OPT("scale", T_(DT_F32)), \
           OPT("bias", T_(DT_F32))},                                                                                     \
    .out = {OUT("out", T_(DT_F32))}
OP_ROW(BytesConv2d, BYTES_PORTS("in", "filter"),
       .params = {STRIDE(2, HW), PADS(2, HW_PADS), GROUP, DILATION(2, HW), P_B8("reuse_sparse_indices", DEFAULT(0))},
       .infer = rule_bytes_conv2d)
OP_ROW(BytesMatMul, BYTES_PORTS("a", "b"), .params = {P_B8("transpose_in0", DEFAULT(0)), P_B8("transpose_in1", DEFAULT(0))},
       .infer = rule_bytes_matmul)
OP_ROW(BytesQuantize, .in = {IN("in", T_(DT_F32)), IN("scale", T_(DT_F32)), IN("zero", T_(DT_U8))}, .out = {OUT("out", T_(DT_U8))},
       .flags = OP_ELEMENTWISE, .infer = rule_bytes_quantize)
/* Inputs of the operator of the same name in ONNX Runtime, in the order that its QNN provider gives them. */
OP_ROW(GroupQueryAttention,
       .in = {IN("query", T_REAL), OPT("seqlens_k", T_INDEX), OPT("total_sequence_length", T_INDEX), OPT("key", T_REAL), OPT("value", T_REAL),
              OPT("past_key", T_REAL), OPT("past_value", T_REAL), OPT("cos_cache", T_REAL), OPT("sin_cache", T_REAL), OPT("position_ids", T_INDEX)},
       .out = {OUT("out", T_REAL), OPT("present_key", T_REAL), OPT("present_value", T_REAL)},
       .params = {P_U32("num_heads", REQ), P_U32("kv_num_heads", REQ), P_B8("do_rotary", DEFAULT(0)), P_F32("scale", OPTIONAL_PARAM)},
       .infer = rule_group_query_attention)

OP_ROW(PoolAvg2d, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {WINDOW(2, HW), STRIDE(2, HW), PADS(2, HW_PADS), P_B8("count_pad_for_edges", DEFAULT(0)), ROUNDING}, .infer = rule_pool2d)
OP_ROW(PoolAvg3d, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {WINDOW(3, DHW), STRIDE(3, DHW), PADS(3, DHW_PADS), P_B8("count_pad_for_edges", DEFAULT(0)), ROUNDING},
       .infer = rule_pool3d)
OP_ROW(PoolMax2d, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_ARITH)},
       .params = {WINDOW(2, HW), STRIDE(2, HW), PADS(2, HW_PADS), ROUNDING}, .infer = rule_pool2d)
OP_ROW(PoolMax3d, .in = {IN("in", T_ARITH)}, .out = {OUT("out", T_ARITH)},
       .params = {WINDOW(3, DHW), STRIDE(3, DHW), PADS(3, DHW_PADS), ROUNDING}, .infer = rule_pool3d)
OP_ROW(L2Pool2d, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}, .params = {WINDOW(2, HW), STRIDE(2, HW), PADS(2, HW_PADS)},
       .infer = rule_pool2d)

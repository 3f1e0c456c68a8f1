/* SPDX-License-Identifier: Apache-2.0 */
/* table: normalizations, recurrent layers and signal processing. */
#include "ops/op_table.h"

#define AFFINE(gamma_flags) \
    .in = {IN("in", T_REAL), {"gamma", T_BIAS, gamma_flags}, OPT("beta", T_BIAS)}, .out = {OUT("out", T_REAL)}

OP_ROW(Batchnorm, AFFINE(0), .flags = OP_ELEMENTWISE, .infer = rule_batchnorm)
OP_ROW(LayerNorm, AFFINE(PORT_OPTIONAL), .params = {P_F32("epsilon", DEFAULT(0.001)), P_U32("axes", REQ, DIMS1(DIM_ANY))},
       .infer = rule_layer_norm)
OP_ROW(RmsNorm, AFFINE(PORT_OPTIONAL), .params = {P_F32("epsilon", DEFAULT(1e-6)), P_U32("axes", DIMS1(DIM_ANY), LAST_AXIS)},
       .infer = rule_rms_norm)
OP_ROW(InstanceNorm, AFFINE(0),
       .params = {P_F32("epsilon", DEFAULT(1e-12)), P_U32("mode", DEFAULT(0), LIMIT(2)), P_B8("normalize_variance", DEFAULT(1)),
                  P_U32("region", DEFAULT(0), LIMIT(3))},
       .infer = rule_instance_norm)
OP_ROW(GroupNorm, AFFINE(PORT_OPTIONAL), .params = {P_F32("epsilon", REQ), P_U32("group", REQ)}, .infer = rule_group_norm)
/* `axes` wins over `axis` when it is there. */
OP_ROW(L2Norm, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_U32("axis", DEFAULT(0)), P_U32("axes", DIMS1(DIM_ANY)), P_F32("epsilon", DEFAULT(1e-12))}, .infer = rule_l2_norm)
OP_ROW(Lrn, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_F32("alpha", DEFAULT(1)), P_F32("beta", DEFAULT(0.5)), P_F32("bias", DEFAULT(1)), P_I32("radius", REQ),
                  P_U32("region", DEFAULT(0), LIMIT(2))},
       .infer = rule_lrn)
OP_ROW(HadamardTransform, .in = {IN("in", T_REAL)}, .out = {OUT("out", T_REAL)}, .params = {P_F32("scale", DEFAULT(1.0))},
       .infer = rule_hadamard)
OP_ROW(RotaryEmbedding, .in = {IN("in", T_REAL), IN("cos", T_REAL), IN("sin", T_REAL), OPT("position_ids", T_INDEX)},
       .out = {OUT("out", T_REAL)}, .params = {P_B8("interleaved", DEFAULT(0)), P_U32("rotary_embedding_dim", DEFAULT(0))},
       .infer = rule_rotary_embedding)

OP_ROW(Lstm,
       .in = {IN("in", T_REAL), WEIGHT("w_xf", T_REAL), WEIGHT("w_xc", T_REAL), WEIGHT("w_xo", T_REAL), WEIGHT("w_hf", T_REAL), WEIGHT("w_hc", T_REAL),
              WEIGHT("w_ho", T_REAL), IN("b_f", T_BIAS), IN("b_c", T_BIAS), IN("b_o", T_BIAS), OPT("h", T_REAL), OPT("c", T_REAL),
              OPT("norm_i", T_BIAS), OPT("norm_f", T_BIAS), OPT("norm_c", T_BIAS), OPT("norm_o", T_BIAS), OPT_ENCODED("w_xi", T_REAL),
              OPT_ENCODED("w_hi", T_REAL), OPT("w_ci", T_REAL), OPT("w_cf", T_REAL), OPT("w_co", T_REAL), OPT("b_i", T_BIAS),
              OPT_ENCODED("w_proj", T_REAL), OPT("b_proj", T_BIAS), OPT("reset", T_FLAG)},
       .out = {OUT("out", T_REAL), OUT("c_out", T_REAL), OUT("h_out", T_REAL), OPT("gate_i", T_REAL), OPT("gate_f", T_REAL),
               OPT("gate_c", T_REAL), OPT("gate_o", T_REAL), OPT("hidden", T_REAL)},
       .params = {P_U32("direction", DEFAULT(0), LIMIT(2)), P_F32("cell_clip_threshold", DEFAULT(0)),
                  P_F32("output_clip_threshold", DEFAULT(0)), P_B8("time_major", DEFAULT(0)), P_F32("input_gate_qscale", DEFAULT(0)),
                  P_F32("forget_gate_qscale", DEFAULT(0)), P_F32("cell_gate_qscale", DEFAULT(0)), P_F32("output_gate_qscale", DEFAULT(0)),
                  P_ANY("hidden_state_offset", DEFAULT(0)), P_F32("hidden_state_qscale", DEFAULT(0))},
       .state_in = 24, .infer = rule_lstm)
/* The page's layout is [time, batch, input], so time_major is true unless the client says otherwise. */
OP_ROW(Gru,
       .in = {IN("in", T_REAL), WEIGHT("w_xz", T_REAL), WEIGHT("w_xr", T_REAL), WEIGHT("w_xn", T_REAL), WEIGHT("w_hz", T_REAL), WEIGHT("w_hr", T_REAL),
              WEIGHT("w_hn", T_REAL), OPT("b_xz", T_BIAS), OPT("b_xr", T_BIAS), OPT("b_xn", T_BIAS), OPT("b_hz", T_BIAS),
              OPT("b_hr", T_BIAS), OPT("b_hn", T_BIAS), OPT("h", T_REAL), OPT("reset", T_FLAG)},
       .out = {OUT("out", T_REAL), OUT("h_out", T_REAL)},
       .params = {P_U32("direction", DEFAULT(0), LIMIT(2)), P_U32("linear_before_reset", DEFAULT(0), LIMIT(2)),
                  P_B8("time_major", DEFAULT(1))},
       .state_in = 14, .infer = rule_gru)
OP_ROW(Buffer, .in = {IN("frame", T_ANY), OPT("reset", T_FLAG)}, .out = {OUT("out", T_ANY)},
       .params = {P_U32("buffer_size", REQ), P_U32("buffer_dim", REQ), P_U32("stride", DEFAULT(1)), P_U32("mode", DEFAULT(0), LIMIT(3)),
                  P_U32("buffer_padding", DEFAULT(0))},
       .flags = OP_STATEFUL, .infer = rule_buffer)
OP_ROW(Stft, .in = {IN("signal", T_REAL), OPT("window", T_REAL)}, .out = {OUT("out", T_REAL)},
       .params = {P_U32("frame_step", REQ), P_U32("frame_length", OPTIONAL_PARAM), P_B8("onesided", DEFAULT(1))}, .infer = rule_stft)

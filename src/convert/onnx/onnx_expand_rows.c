/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are other operators in a row.
 *
 * A row says how, in a few words of text:
 *
 *     ?2 t = Add(#0, #2); !2 t = Identity(#0); @0 = Gelu[approximate=tanh](t)
 *
 *     #0 @0        input and output of the operator; an input that is not there stays away
 *     t            a value in between
 *     [k=1]        attributes: integers, numbers with a point, (lists) of integers, words; k=$name: that of the operator; *:
 *                  all of the operator's
 *     {1,-1}       a list of 64-bit integers
 *     0.5 $name    constants of the first input's type: a number, an attribute, or $name.1, an element of a list of numbers;
 *                  3i: an integer of the second input's type
 *     ?2 !2        only with input 2, only without; ?name !name: an attribute; ?name=word: an attribute that is this (the
 *                  first word listed: or missing)
 *     ^…           the row is for operators with that; more rows of a name are tried in order */
#include "convert/onnx/onnx_expand.h"

#include <stddef.h>

#define MS "com.microsoft"
#define ML "ai.onnx.ml"
#define DQ "DequantizeLinear"
#define ONE_IN "a = " DQ "(#0, #1, #2); "
#define Q_OUT(s, z) "; @0 = QuantizeLinear(y, #" #s ", #" #z ")"
/* weights [directions, in, out] with a scale and a zero point per direction, or per direction and output, as LSTM
 * wants them */
#define LSTM_WEIGHTS(to, w, s, z)                                                                                      \
    "a" to " = Cast[to=1](#" #w "); b" to " = Cast[to=1](#" #z "); c" to " = Flatten[axis=1](b" to "); d" to           \
    " = Unsqueeze[axes=(1)](c" to "); e" to " = Sub(a" to ", d" to "); "                                               \
    "f" to " = Flatten[axis=1](#" #s "); g" to " = Unsqueeze[axes=(1)](f" to "); h" to " = Mul(e" to ", g" to "); " to \
    " = Transpose[perm=(0,2,1)](h" to "); "
/* log of the softmax over dimension 1, which the operator of that name means otherwise before operator set 13 */
#define LOG_SOFTMAX                                                                                                   \
    "m = ReduceMax[axes=(1),keepdims=1](#0); d = Sub(#0, m); e = Exp(d); s = ReduceSum[axes=(1),keepdims=1](e); g = " \
    "Log(s); p = Sub(d, g); "
/* Brevitas and QONNX: values rounded to steps of #1 with zero point #2 and #3 bits, and back to numbers again */
#define QONNX_QUANT(domain, mode, round)                                                          \
    {                                                                                             \
        domain, "Quant",                                                                          \
            "^signed ^narrow ^rounding_mode=" mode                                                \
            " b = Sub(#3, $signed); h = Pow(2.0, b); n = Sub($narrow, h); lo = Mul(n, $signed); " \
            "u = Sub(1.0, $signed); v = Mul(u, $narrow); w = Add(v, 1.0); hi = Sub(h, w); "       \
            "d = Div(#0, #1); q = Add(d, #2); r = " round                                         \
            "(q); x = Max(r, lo); y = Min(x, hi); z = Sub(y, #2); @0 = Mul(z, #1)"                \
    }
#define QONNX(domain)                                                                                                  \
    QONNX_QUANT(domain, "ROUND", "Round"), QONNX_QUANT(domain, "FLOOR", "Floor"), QONNX_QUANT(domain, "CEIL", "Ceil"), \
    {                                                                                                                  \
        domain, "BipolarQuant", "g = GreaterOrEqual(#0, 0.0); n = Neg(#1); @0 = Where(g, #1, n)"                       \
    }

const struct expand_row onnx_expand_rows[] = {
    { MS, "BiasGelu", "t = Add(#0, #1); @0 = Gelu(t)" },
    { MS, "FastGelu", "?1 t = Add(#0, #1); !1 t = Identity(#0); @0 = Gelu[approximate=tanh](t)" },
    { MS, "BiasAdd", "t = Add(#0, #1); @0 = Add(t, #2)" },
    { MS, "FusedConv",
      "?3 c = Conv[*](#0, #1, #2); ?3 d = Add(c, #3); !3 d = Conv[*](#0, #1, #2); @0 = FusedActivation[*](d)" },
    { MS, "FusedGemm",
      "d = Gemm[*](#0, #1, #2); @0 = "
      "FusedActivation[activation=$activation,alpha=$activation_alpha,beta=$activation_beta](d)" },
    { "", "FusedActivation", "^!activation @0 = Identity(#0)" },
    { "", "FusedActivation", "^activation=Relu @0 = Relu(#0)" },
    { "", "FusedActivation", "^activation=Tanh @0 = Tanh(#0)" },
    { "", "FusedActivation", "^activation=Sigmoid @0 = Sigmoid(#0)" },
    { "", "FusedActivation",
      "^activation=LeakyRelu ?activation_params @0 = LeakyRelu[alpha=$activation_params.0](#0); !activation_params @0 = "
      "LeakyRelu[*](#0)" },
    { "", "FusedActivation",
      "^activation=HardSigmoid ?activation_params @0 = "
      "HardSigmoid[alpha=$activation_params.0,beta=$activation_params.1](#0); "
      "!activation_params @0 = HardSigmoid[*](#0)" },
    { "", "FusedActivation",
      "^activation=Clip ^activation_params a = Max(#0, $activation_params.0); @0 = Min(a, $activation_params.1)" },
    { MS, "QLinearAdd", ONE_IN "b = " DQ "(#3, #4, #5); y = Add(a, b)" Q_OUT(6, 7) },
    { MS, "QLinearMul", ONE_IN "b = " DQ "(#3, #4, #5); y = Mul(a, b)" Q_OUT(6, 7) },
    { MS, "QLinearSigmoid", ONE_IN "y = Sigmoid(a)" Q_OUT(3, 4) },
    { MS, "QLinearLeakyRelu", ONE_IN "y = LeakyRelu[*](a)" Q_OUT(3, 4) },
    { MS, "QLinearSoftmax", ONE_IN "y = Softmax[*](a)" Q_OUT(3, 4) },
    { MS, "QLinearReduceMean", ONE_IN "y = ReduceMean[*](a)" Q_OUT(3, 4) },
    { MS, "QLinearGlobalAveragePool", "^channels_last=0 " ONE_IN "y = GlobalAveragePool(a)" Q_OUT(3, 4) },
    { MS, "QLinearAveragePool", "^channels_last=0 " ONE_IN "y = AveragePool[*](a)" Q_OUT(3, 4) },
    { MS, "QLinearWhere", "a = " DQ "(#1, #2, #3); b = " DQ "(#4, #5, #6); y = Where(#0, a, b)" Q_OUT(7, 8) },
    { MS, "QGemm",
      "^transB=0 " ONE_IN "b = " DQ "[axis=1](#3, #4, #5); s = Mul(#1, #4); ?6 c = " DQ "[axis=0](#6, s); "
      "?6 y = Gemm[*](a, b, c); !6 y = Gemm[*](a, b); ?7 @0 = QuantizeLinear(y, #7, #8); !7 @0 = Identity(y)" },
    { MS, "QGemm",
      ONE_IN "b = " DQ "[axis=0](#3, #4, #5); s = Mul(#1, #4); ?6 c = " DQ "[axis=0](#6, s); "
             "?6 y = Gemm[*](a, b, c); !6 y = Gemm[*](a, b); ?7 @0 = QuantizeLinear(y, #7, #8); !7 @0 = Identity(y)" },
    { MS, "DynamicQuantizeMatMul",
      "q, s, z = DynamicQuantizeLinear(#0); m = MatMulInteger(q, #1, z, #3); f = Cast[to=1](m); k = Mul(s, #2); r = Mul(f, "
      "k); "
      "?4 @0 = Add(r, #4); !4 @0 = Identity(r)" },
    /* in float: the inputs of every step would be rounded to 8 bits */
    { MS, "DynamicQuantizeLSTM",
      LSTM_WEIGHTS("w", 1, 8, 9) LSTM_WEIGHTS("r", 2, 10, 11) "@0, @1, @2 = LSTM[*](#0, w, r, #3, #4, #5, #6, #7)" },
    { MS, "MatMulIntegerToFloat",
      "m = MatMulInteger(#0, #1, #4, #5); f = Cast[to=1](m); k = Mul(#2, #3); r = Mul(f, k); ?6 @0 = Add(r, #6); !6 @0 = "
      "Identity(r)" },
    { MS, "RotaryEmbedding", "^scale=1.0 @0 = RotaryEmbedding[*](#0, #2, #3, #1)" },
    { MS, "MultiHeadAttention",
      "^1 ^2 ^!3 ^!4 ^!8 @0, @1, @2 = "
      "Attention[q_num_heads=$num_heads,kv_num_heads=$num_heads,scale=$scale,is_causal=$unidirectional]"
      "(#0, #1, #2, #5, #6, #7)" },
    { MS, "Attention",
      "^!3 ^!4 ^!qkv_hidden_sizes ^do_rotary=0 t = MatMul(#0, #1); ?2 u = Add(t, #2); !2 u = Identity(t); q, k, v = "
      "Split[axis=-1,num_outputs=3](u); "
      "@0 = Attention[q_num_heads=$num_heads,kv_num_heads=$num_heads,scale=$scale,is_causal=$unidirectional](q, k, v, #5)" },
    { "ai.onnx.preview", "FlexAttention", "@0 = FlexAttention[*](#0, #1, #2)" },
    { "", "SwiGLU", "s = Swish[*](#0); @0 = Mul(s, #1)" },
    { "", "OptionalGetElement", "^0 @0 = Identity(#0)" },
    { "", "SoftmaxCrossEntropyLoss", LOG_SOFTMAX "@1 = Identity(p); @0 = NegativeLogLikelihoodLoss[*](p, #1, #2)" },
    { "", "NegativeLogLikelihoodLoss",
      "?ignore_index i = Equal(#1, $ignore_index!); ?ignore_index t = Where(i, 0i, #1); !ignore_index t = Identity(#1); "
      "x = Unsqueeze[axes=(1)](t); g = GatherElements[axis=1](#0, x); h = Squeeze[axes=(1)](g); l = Neg(h); "
      "?2 v = Gather[axis=0](#2, t); ?2 ?ignore_index w = Where(i, 0.0, v); ?2 !ignore_index w = Identity(v); !2 "
      "?ignore_index w = Where(i, 0.0, 1.0); "
      "?2 y = Mul(l, w); !2 ?ignore_index y = Mul(l, w); !2 !ignore_index y = Identity(l); "
      "?reduction=mean ?2 n = ReduceSum[keepdims=0](w); ?reduction=mean !2 ?ignore_index n = ReduceSum[keepdims=0](w); "
      "?reduction=mean ?2 z = ReduceSum[keepdims=0](y); ?reduction=mean !2 ?ignore_index z = ReduceSum[keepdims=0](y); "
      "?reduction=mean ?2 @0 = Div(z, n); ?reduction=mean !2 ?ignore_index @0 = Div(z, n); ?reduction=mean !2 !ignore_index "
      "@0 = ReduceMean[keepdims=0](y); "
      "?reduction=sum @0 = ReduceSum[keepdims=0](y); ?reduction=none @0 = Identity(y)" },
    QONNX("qonnx.custom_op.general"),
    QONNX("onnx.brevitas"),
    QONNX("finn.custom_op.general"),
    { ML, "Binarizer", "g = Greater(#0, $threshold); @0 = CastLike(g, #0)" },
    { ML, "Scaler", "^offset ^scale d = Sub(#0, $offset); @0 = Mul(d, $scale)" },
    { ML, "ArrayFeatureExtractor", "i = Flatten[axis=0](#1); f = Squeeze[axes=(0)](i); @0 = Gather[axis=-1](#0, f)" },
    { 0 },
};

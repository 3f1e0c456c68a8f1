# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX as cases of ort_suite.py: a name, the node, and what goes into it.

An input is a tuple: its shape, and how its numbers are made. Numbers are floats between -1 and 1 unless a word says otherwise. Constants are numpy
arrays; they become initializers. None is an input that is left out."""
import numpy as np

OPSET = 21
rng = np.random.default_rng(7)


class Case:
    def __init__(self, name, op, inputs, outputs=1, domain="", quantize=True, opset=OPSET, **attributes):
        self.name, self.op, self.inputs, self.outputs, self.domain, self.opset = name, op, inputs, outputs, domain, opset
        self.quantize, self.attributes = quantize, attributes

    def has_weights(self):
        return self.op in ("Conv", "ConvTranspose", "Gemm", "MatMul") and isinstance(self.inputs[1], np.ndarray)


def const(*shape, low=-1.0, high=1.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


def unary():
    words = {"Asin": "inner", "Acos": "inner", "Sqrt": "positive", "Log": "positive", "Reciprocal": "positive", "Acosh": "above", "IsNaN": "", "IsInf": "", "Exp": "", "Erf": ""}
    plain = ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log LogSoftmax "
             "Mish Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Hardmax").split()
    for op in plain:
        for shape in ((1, 4, 8, 8), (3, 16), (2, 3, 4, 5, 6)):
            yield Case(f"{op}-{len(shape)}d", op, [(shape, words.get(op, ""))])
    for axis in (0, 1, 2, -1):
        for op in ("Softmax", "LogSoftmax"):
            yield Case(f"{op}-axis{axis}", op, [((2, 3, 4, 5), "")], axis=axis)
    yield Case("HardSigmoid-alpha", "HardSigmoid", [((1, 4, 8), "")], alpha=0.3, beta=0.4)
    yield Case("LeakyRelu-alpha", "LeakyRelu", [((1, 4, 8), "")], alpha=0.3)
    yield Case("Elu-alpha", "Elu", [((1, 4, 8), "")], alpha=0.5)
    yield Case("ThresholdedRelu-alpha", "ThresholdedRelu", [((1, 4, 8), "")], alpha=0.2)
    yield Case("Not", "Not", [((2, 3, 4), "bool")])
    yield Case("Clip-both", "Clip", [((2, 3, 4), ""), np.float32(-0.5), np.float32(0.25)])
    yield Case("Clip-min", "Clip", [((2, 3, 4), ""), np.float32(0)])
    yield Case("Clip-max", "Clip", [((2, 3, 4), ""), None, np.float32(0.25)])
    yield Case("Clip-int32", "Clip", [((2, 3, 4), "int32"), np.int32(-3), np.int32(5)])


def binary():
    shapes = (((1, 3, 4, 4), (1, 3, 4, 4)), ((1, 3, 4, 4), (1, 1, 1, 1)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((5,), (2, 3, 5)))
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "PRelu", "Mean", "Sum"):
        for i, (a, b) in enumerate(shapes):
            if op == "PRelu" and i == 4 or op == "PRelu" and i == 3:
                continue
            positive = "positive" if op in ("Div", "Pow") else ""
            yield Case(f"{op}-{i}", op, [(a, positive), (b, positive)])
            yield Case(f"{op}-{i}-const", op, [(a, positive), const(*b, low=0.2)])
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Equal", "Greater", "Less", "Mod"):
        for dtype in ("int32", "int64"):
            yield Case(f"{op}-{dtype}", op, [((2, 3, 4), dtype), ((2, 3, 4), dtype + "positive")])
    yield Case("Mod-fmod", "Mod", [((2, 3, 4), ""), ((2, 3, 4), "positive")], fmod=1)
    for op in ("And", "Or", "Xor"):
        yield Case(op, op, [((2, 3, 4), "bool"), ((2, 3, 4), "bool")])
    yield Case("Where", "Where", [((2, 3, 4), "bool"), ((2, 3, 4), ""), ((2, 3, 4), "")])
    yield Case("Where-broadcast", "Where", [((2, 1, 4), "bool"), ((2, 3, 1), ""), ((4,), "")])
    yield Case("Where-const", "Where", [((2, 3, 4), "bool"), ((2, 3, 4), ""), np.float32(-0.5).reshape(1)])
    yield Case("Max-3", "Max", [((2, 3), "")] * 3)
    yield Case("Min-1", "Min", [((2, 3), "")])
    yield Case("Sum-3", "Sum", [((2, 3), "")] * 3)


def convolutions():
    spatial = {1: (12,), 2: (9, 8), 3: (6, 5, 7)}
    for rank, size in spatial.items():
        for op in ("Conv", "ConvTranspose"):
            for name, group, channels, out in (("", 1, 4, 6), ("-grouped", 2, 4, 6), ("-depthwise", 4, 4, 4)):
                kernel = (3,) * rank
                weights = (out, channels // group) if op == "Conv" else (channels, out // group)
                w, b = const(*weights, *kernel), const(out)
                x = ((1, channels) + size, "")
                yield Case(f"{op}{rank}d{name}", op, [x, w, b], group=group)
                yield Case(f"{op}{rank}d{name}-nobias", op, [x, w], group=group)
                yield Case(f"{op}{rank}d{name}-pads", op, [x, w, b], group=group, pads=[1] * rank + [0] * rank)
                yield Case(f"{op}{rank}d{name}-stride", op, [x, w, b], group=group, strides=[2] * rank, pads=[1] * (2 * rank))
                yield Case(f"{op}{rank}d{name}-dilation", op, [x, w, b], group=group, dilations=[2] * rank)
                yield Case(f"{op}{rank}d{name}-same", op, [x, w, b], group=group, auto_pad="SAME_UPPER", strides=[2] * rank)
        yield Case(f"ConvTranspose{rank}d-outpad", "ConvTranspose", [((1, 4) + size, ""), const(4, 3, *(3,) * rank), const(3)], strides=[2] * rank,
                   output_padding=[1] * rank)
    yield Case("Conv2d-batch", "Conv", [((3, 4, 9, 8), ""), const(6, 4, 3, 3), const(6)])
    yield Case("Conv2d-dynamic-weights", "Conv", [((1, 4, 9, 8), ""), ((6, 4, 3, 3), "")])
    yield Case("Conv2d-asymmetric", "Conv", [((1, 4, 9, 8), ""), const(6, 4, 3, 1), const(6)], pads=[1, 0, 0, 2], strides=[1, 2])


def products():
    for name, a, b in (("2d", (3, 4), (4, 5)), ("3d", (2, 3, 4), (2, 4, 5)), ("4d", (2, 3, 4, 5), (2, 3, 5, 6)), ("right2d", (2, 3, 4), (4, 5)),
                       ("broadcast", (2, 1, 3, 4), (1, 5, 4, 2)), ("vector", (4,), (4, 5)), ("vectorright", (3, 4), (4,)), ("5d", (1, 2, 2, 3, 4), (1, 2, 2, 4, 5))):
        yield Case(f"MatMul-{name}", "MatMul", [(a, ""), (b, "")])
        yield Case(f"MatMul-{name}-const", "MatMul", [(a, ""), const(*b)])
    for a in (0, 1):
        for b in (0, 1):
            w = const(*((5, 4) if b else (4, 5)))
            x = ((4, 3) if a else (3, 4), "")
            yield Case(f"Gemm-{a}{b}", "Gemm", [x, w, const(5)], transA=a, transB=b)
            yield Case(f"Gemm-{a}{b}-nobias", "Gemm", [x, w], transA=a, transB=b)
    yield Case("Gemm-dynamic", "Gemm", [((3, 4), ""), ((4, 5), ""), ((5,), "")])
    yield Case("Gemm-alpha", "Gemm", [((3, 4), ""), const(4, 5), const(5)], alpha=0.5, beta=2.0)
    for equation, *shapes in (("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bhqd,bhkd->bhqk", (1, 2, 3, 4), (1, 2, 5, 4)),
                              ("bqhd,bkhd->bhqk", (1, 3, 2, 4), (1, 5, 2, 4)), ("bhwc,hkc->bhwk", (1, 3, 4, 5), (3, 6, 5)), ("ij->ji", (3, 4))):
        yield Case("Einsum-" + equation, "Einsum", [(s, "") for s in shapes], equation=equation)


def pooling():
    for rank, size in {1: (12,), 2: (9, 8), 3: (6, 5, 7)}.items():
        x = [((1, 4) + size, "")]
        for op in ("MaxPool", "AveragePool", "LpPool"):
            yield Case(f"{op}{rank}d", op, x, kernel_shape=[3] * rank)
            yield Case(f"{op}{rank}d-stride", op, x, kernel_shape=[2] * rank, strides=[2] * rank)
            yield Case(f"{op}{rank}d-pads", op, x, kernel_shape=[3] * rank, pads=[1] * (2 * rank))
            yield Case(f"{op}{rank}d-ceil", op, x, kernel_shape=[3] * rank, strides=[2] * rank, ceil_mode=1)
            yield Case(f"{op}{rank}d-same", op, x, kernel_shape=[3] * rank, auto_pad="SAME_UPPER", strides=[2] * rank)
        yield Case(f"AveragePool{rank}d-count", "AveragePool", x, kernel_shape=[3] * rank, pads=[1] * (2 * rank), count_include_pad=1)
        yield Case(f"MaxPool{rank}d-dilation", "MaxPool", x, kernel_shape=[2] * rank, dilations=[2] * rank)
        for op in ("GlobalAveragePool", "GlobalMaxPool"):
            yield Case(f"{op}{rank}d", op, x)


def reductions():
    x = ((2, 3, 4, 5), "")
    for op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
        for i, axes in enumerate(((1,), (-1,), (2, 3), (0, 1, 2, 3))):
            for keep in (0, 1):
                yield Case(f"{op}-{i}-{keep}", op, [((2, 3, 4, 5), "positive" if "Log" in op else ""), ints(*axes)], keepdims=keep)
        yield Case(f"{op}-int32", op, [((2, 3, 4), "int32"), ints(1)])
    for op in ("ArgMax", "ArgMin"):
        for axis in (0, 1, -1):
            yield Case(f"{op}-{axis}", op, [x], axis=axis, keepdims=0)
        yield Case(f"{op}-keep", op, [x], axis=2, keepdims=1)
        yield Case(f"{op}-last", op, [x], axis=2, keepdims=1, select_last_index=1)
    for flags in ((0, 0), (1, 0), (0, 1), (1, 1)):
        yield Case(f"CumSum-{flags[0]}{flags[1]}", "CumSum", [x, np.array(2, np.int64)], exclusive=flags[0], reverse=flags[1])
    yield Case("TopK", "TopK", [((2, 3, 8), ""), ints(3)], outputs=2)
    yield Case("TopK-smallest", "TopK", [((2, 3, 8), ""), ints(3)], outputs=2, largest=0)
    yield Case("TopK-axis", "TopK", [((2, 8, 3), ""), ints(3)], outputs=2, axis=1)


def normalization():
    yield Case("BatchNormalization", "BatchNormalization", [((1, 4, 6, 6), ""), const(4), const(4), const(4), const(4, low=0.5)])
    yield Case("BatchNormalization-3d", "BatchNormalization", [((2, 4, 6), ""), const(4), const(4), const(4), const(4, low=0.5)])
    yield Case("BatchNormalization-5d", "BatchNormalization", [((1, 4, 3, 4, 5), ""), const(4), const(4), const(4), const(4, low=0.5)])
    yield Case("InstanceNormalization", "InstanceNormalization", [((2, 4, 6, 6), ""), const(4), const(4)])
    yield Case("InstanceNormalization-3d", "InstanceNormalization", [((2, 4, 6), ""), const(4), const(4)])
    yield Case("LayerNormalization", "LayerNormalization", [((2, 4, 8), ""), const(8), const(8)])
    yield Case("LayerNormalization-nobias", "LayerNormalization", [((2, 4, 8), ""), const(8)])
    yield Case("LayerNormalization-axis", "LayerNormalization", [((2, 4, 8), ""), const(4, 8), const(4, 8)], axis=1)
    yield Case("RMSNormalization", "SimplifiedLayerNormalization", [((2, 4, 8), ""), const(8)], axis=-1)
    yield Case("GroupNormalization", "GroupNormalization", [((2, 4, 6, 6), ""), const(4), const(4)], num_groups=2)
    yield Case("LpNormalization", "LpNormalization", [((2, 4, 8), "")], axis=-1, p=2)
    yield Case("LRN", "LRN", [((1, 8, 6, 6), "")], size=3)
    yield Case("LRN-5", "LRN", [((1, 8, 6, 6), "")], size=5, alpha=0.1, beta=0.5, bias=1.5)
    yield Case("MeanVarianceNormalization", "MeanVarianceNormalization", [((2, 4, 6, 6), "")])
    yield Case("SkipLayerNormalization", "SkipLayerNormalization", [((2, 4, 8), ""), ((2, 4, 8), ""), const(8), const(8)], domain="com.microsoft")
    yield Case("SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", [((2, 4, 8), ""), ((2, 4, 8), ""), const(8)], domain="com.microsoft")
    yield Case("BiasGelu", "BiasGelu", [((2, 4, 8), ""), const(8)], domain="com.microsoft")
    yield Case("QuickGelu", "QuickGelu", [((2, 4, 8), "")], domain="com.microsoft")
    yield Case("FusedMatMul", "FusedMatMul", [((2, 3, 4), ""), ((2, 5, 4), "")], domain="com.microsoft", transB=1, alpha=0.5)

# SPDX-License-Identifier: Apache-2.0
"""Still more cases of ort_suite.py: attributes that the first ones leave at their defaults, older opsets, and types of integers. Their names begin with "+"."""
import itertools

import numpy as np

from ort_cases import Case, const, ints


def more(op, name, inputs, **rest):
    return Case(f"+{op}-{name}", op, inputs, **rest)


def unary():
    for op in ("Relu", "Sigmoid", "Tanh", "Abs", "Exp", "Floor", "Gelu", "HardSwish", "Softplus", "Elu", "Neg", "Round", "Sign"):
        for shape in ((), (1,), (7,), (2, 1, 2, 1, 3, 2)):
            yield more(op, f"{len(shape)}d{shape[:1]}", [(shape, "")])
    for dtype in ("int32", "int64"):
        for op in ("Abs", "Neg", "Sign", "Relu"):
            yield more(op, dtype, [((2, 3, 4), dtype)])
    yield more("Gelu", "tanh", [((2, 3, 4), "")], approximate="tanh")
    yield more("Celu", "alpha", [((2, 3, 4), "")], alpha=0.5)
    yield more("Selu", "both", [((2, 3, 4), "")], alpha=1.2, gamma=0.8)
    yield more("HardSigmoid", "steep", [((2, 3, 4), "")], alpha=3.0, beta=0.1)
    yield more("LeakyRelu", "zero", [((2, 3, 4), "")], alpha=0.0)
    yield more("LeakyRelu", "above", [((2, 3, 4), "")], alpha=1.5)
    for axis in (0, 1, 2, -1, -2):
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            yield more(op, f"old{axis}", [((2, 3, 4, 5), "")], axis=axis, opset=11)
            yield more(op, f"3d{axis}", [((4, 5, 6), "")], axis=axis)
    yield more("Softmax", "5d", [((1, 2, 3, 4, 5), "")], axis=2)
    yield more("Softmax", "wide", [((2, 1000), "")], axis=-1)
    for shape in ((6,), (1, 3, 4, 4), (2, 3, 4, 5, 6)):
        yield more("Clip", f"old{len(shape)}", [(shape, "")], opset=6, min=-0.5, max=0.25)
        yield more("Clip", f"six{len(shape)}", [(shape, ""), np.float32(0), np.float32(6)])
    yield more("Clip", "int64", [((2, 3), "int64"), np.int64(-3), np.int64(4)])
    yield more("Clip", "none", [((2, 3), "")])
    yield more("Clip", "int32-min", [((2, 3), "int32"), np.int32(-3)])
    yield more("Clip", "crossed", [((2, 3, 4), ""), np.float32(0.5), np.float32(-0.5)])


def binary():
    shapes = (((), ()), ((3,), ()), ((1,), (1,)), ((2, 3, 4, 5), (3, 1, 5)), ((1, 1, 4, 1), (2, 3, 1, 5)), ((1, 2, 3, 4, 5), (3, 4, 5)), ((4, 1, 1, 2), (4, 3, 5, 2)), ((1, 2, 3, 1, 2, 2), (3, 1, 1, 2)))
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Equal", "Pow"):
        for i, (a, b) in enumerate(shapes):
            positive = "positive" if op in ("Div", "Pow") else ""
            yield more(op, f"{i}", [(a, positive), (b, positive)])
            yield more(op, f"{i}-first", [const(*a, low=0.2) if a else np.float32(0.4), (b, positive)])
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "GreaterOrEqual", "LessOrEqual", "Mod"):
        for dtype in ("int32", "int64"):
            yield more(op, f"{dtype}-broadcast", [((2, 3, 4), dtype), ((3, 1), dtype + "positive")])
            yield more(op, f"{dtype}-const", [((2, 3, 4), dtype), np.array([1, 2, 3, 5], dtype)])
    for exponent in (0.5, 1.0, 2.0, 3.0, -1.0):
        yield more("Pow", f"to{exponent}", [((2, 3, 4), "positive"), np.float32(exponent)])
        yield more("Pow", f"to1d{exponent}", [((2, 3, 4), "positive"), np.array([exponent], np.float32)])
    yield more("Pow", "square", [((2, 3, 4), ""), np.float32(2)])
    yield more("Pow", "cube", [((2, 3, 4), ""), np.float32(3)])
    yield more("Pow", "int-exponent", [((2, 3, 4), ""), np.array(2, np.int32)])
    yield more("Pow", "long-exponent", [((2, 3, 4), ""), np.array(2, np.int64)])
    yield more("Mod", "fmod-const", [((2, 3, 4), ""), np.float32(0.3)], fmod=1)
    yield more("Mod", "fmod-int", [((2, 3, 4), "int32"), ((2, 3, 4), "int32positive")], fmod=1)
    for dtype in ("bool", "int32", "int64"):
        yield more("Equal", dtype, [((2, 3), dtype), ((3,), dtype)])
        yield more("Where", dtype, [((2, 3), "bool"), ((2, 3), dtype), ((3,), dtype)])
    for op in ("And", "Or", "Xor"):
        yield more(op, "broadcast", [((2, 3, 4), "bool"), ((3, 1), "bool")])
    yield more("Where", "consts", [((2, 3, 4), "bool"), np.float32(0.7).reshape(1), np.float32(-0.5).reshape(1)])
    yield more("Where", "const-first", [((2, 3, 4), "bool"), const(4), ((2, 3, 4), "")])
    yield more("Where", "given", [np.array([[True], [False]]), ((2, 3), ""), ((2, 3), "")])
    yield more("Where", "scalars", [((2, 3, 4), "bool"), np.float32(0.7), ((2, 3, 4), "")])
    for op in ("Max", "Min", "Sum", "Mean"):
        yield more(op, "four", [((2, 3, 4), ""), ((3, 4), ""), ((4,), ""), ((1, 3, 1), "")])
        yield more(op, "one", [((2, 3, 4), "")])
        yield more(op, "five-const", [((2, 3), ""), ((2, 3), ""), const(3), ((2, 3), ""), const(1)])
    for shape, slope in (((1, 3, 4, 4), (3, 1, 1)), ((2, 3, 5), (3, 1)), ((1, 3, 4, 4), (1,)), ((1, 3, 2, 4, 4), (3, 1, 1, 1)), ((2, 6), (6,)), ((2, 6), (1, 6)), ((1, 3, 4, 4), (1, 3, 1, 1))):
        yield more("PRelu", f"{len(shape)}-{len(slope)}{slope[0]}", [(shape, ""), const(*slope)])


def convolutions():
    def name(**a):
        return "-".join(f"{k[:3]}{''.join(map(str, v)) if isinstance(v, list) else v}" for k, v in a.items()) or "plain"
    for rank in (1, 2, 3):
        size = {1: (13,), 2: (10, 7), 3: (5, 6, 4)}[rank]
        one = [1] * rank
        variants = [dict(auto_pad=p, strides=[s] * rank) for p in ("SAME_LOWER", "VALID", "SAME_UPPER") for s in (1, 2)]
        variants += [dict(strides=[2] * rank, dilations=[2] * rank, pads=[2] * (2 * rank)), dict(strides=[3] * rank), dict(pads=[2] * rank + [1] * rank, strides=[2] * rank),
                     dict(auto_pad="SAME_LOWER", dilations=[2] * rank)]
        for a in variants:
            yield more("Conv", f"{rank}-{name(**a)}", [((2, 4) + size, ""), const(6, 4, *[3] * rank), const(6)], **a)
            if "dilations" not in a:
                yield more("ConvTranspose", f"{rank}-{name(**a)}", [((2, 4) + size, ""), const(4, 5, *[3] * rank), const(5)], **a)
            yield more("Conv", f"{rank}-{name(**a)}-twice", [((1, 4) + size, ""), const(8, 1, *[3] * rank), const(8)], group=4, **a)
        for k in (1, 2, 4):
            yield more("Conv", f"{rank}-kernel{k}", [((1, 4) + size, ""), const(6, 4, *[k] * rank), const(6)], kernel_shape=[k] * rank)
            yield more("ConvTranspose", f"{rank}-kernel{k}", [((1, 4) + size, ""), const(4, 5, *[k] * rank), const(5)], strides=[2] * rank)
        yield more("ConvTranspose", f"{rank}-shape", [((1, 4) + size, ""), const(4, 5, *[3] * rank), const(5)], strides=[2] * rank, output_shape=[2 * s for s in size])
        yield more("ConvTranspose", f"{rank}-pads", [((1, 4) + size, ""), const(4, 5, *[3] * rank)], strides=[2] * rank, pads=[1] * rank + [0] * rank, output_padding=one)
        yield more("ConvTranspose", f"{rank}-group", [((1, 4) + size, ""), const(4, 3, *[3] * rank), const(6)], group=2, strides=[2] * rank, pads=[1] * (2 * rank))
        yield more("ConvTranspose", f"{rank}-deep", [((1, 4) + size, ""), const(4, 1, *[2] * rank)], group=4, strides=[2] * rank)
        yield more("ConvTranspose", f"{rank}-dilated", [((1, 4) + size, ""), const(4, 3, *[2] * rank)], dilations=[2] * rank, strides=[2] * rank)
    yield more("Conv", "row", [((1, 3, 8, 9), ""), const(4, 3, 1, 5), const(4)], pads=[0, 2, 0, 2])
    yield more("Conv", "column", [((1, 3, 8, 9), ""), const(4, 3, 5, 1), const(4)], pads=[2, 0, 2, 0], strides=[2, 1])
    yield more("Conv", "big-pads", [((1, 3, 4, 4), ""), const(4, 3, 3, 3)], pads=[4, 4, 4, 4])
    yield more("Conv", "whole", [((1, 3, 4, 4), ""), const(4, 3, 4, 4), const(4)])
    yield more("Conv", "many", [((1, 96, 6, 6), ""), const(64, 96, 3, 3), const(64)], pads=[1, 1, 1, 1])
    yield more("Conv", "one-channel", [((1, 1, 9, 9), ""), const(1, 1, 3, 3), const(1)])
    yield more("Conv", "dynamic-bias", [((1, 3, 8, 9), ""), const(4, 3, 3, 3), ((4,), "")])
    yield more("Conv", "dynamic-all", [((1, 3, 8, 9), ""), ((4, 3, 3, 3), ""), ((4,), "")])
    yield more("Conv", "dynamic-depthwise", [((1, 4, 8, 9), ""), ((4, 1, 3, 3), ""), ((4,), "")], group=4)
    yield more("ConvTranspose", "dynamic", [((1, 3, 8, 9), ""), ((3, 4, 3, 3), "")])
    yield more("Conv", "1-dynamic", [((1, 3, 9), ""), ((4, 3, 3), "")])


def pooling():
    for rank, size in {1: (13,), 2: (10, 7), 3: (7, 6, 5)}.items():
        x = [((2, 3) + size, "")]
        for op in ("MaxPool", "AveragePool", "LpPool"):
            for pad in ("SAME_LOWER", "VALID", "SAME_UPPER"):
                for s in (1, 2, 3):
                    yield more(op, f"{rank}-{pad}{s}", x, kernel_shape=[3] * rank, strides=[s] * rank, auto_pad=pad)
            for begin, end, s, k in itertools.product((0, 1), (0, 1), (2, 3), (2, 3)):
                yield more(op, f"{rank}-ceil{begin}{end}{s}{k}", x, kernel_shape=[k] * rank, strides=[s] * rank, pads=[begin] * rank + [end] * rank, ceil_mode=1)
            yield more(op, f"{rank}-whole", x, kernel_shape=list(size))
            yield more(op, f"{rank}-sparse", x, kernel_shape=[1] * rank, strides=[2] * rank)
        for begin, end, ceil in itertools.product((0, 1), (0, 1), (0, 1)):
            yield more("AveragePool", f"{rank}-count{begin}{end}{ceil}", x, kernel_shape=[3] * rank, strides=[2] * rank, pads=[begin] * rank + [end] * rank, ceil_mode=ceil, count_include_pad=1)
        yield more("AveragePool", f"{rank}-dilated", x, kernel_shape=[2] * rank, dilations=[2] * rank)
        yield more("MaxPool", f"{rank}-dilated", x, kernel_shape=[2] * rank, dilations=[2] * rank, strides=[2] * rank, pads=[1] * (2 * rank))
        yield more("MaxPool", f"{rank}-indices", x, outputs=2, kernel_shape=[2] * rank, strides=[2] * rank)
        yield more("GlobalLpPool", f"{rank}", x)
        for p in (1, 3):
            yield more("LpPool", f"{rank}-p{p}", x, kernel_shape=[2] * rank, p=p)


def reductions():
    ops = ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
    for op in ops:
        word = "positive" if "Log" in op else ""
        yield more(op, "none", [((2, 3, 4), word)])
        yield more(op, "noop", [((2, 3, 4), word)], noop_with_empty_axes=1)
        if op != "ReduceSum":
            yield more(op, "old", [((2, 3, 4), word)], opset=13 if op == "ReduceMax" else 11, axes=[-2], keepdims=0)
        for shape, axes in (((7,), (0,)), ((2, 3, 4, 5, 6), (1, 3)), ((2, 3, 4, 5, 6), (-1, -3)), ((1, 3, 6, 6), (2, 3)), ((3, 4), (0, 1)), ((2, 3, 2, 2, 2, 2), (2, 5)), ((1, 8, 1), (1,)), ((1, 8, 1), (2,))):
            for keep in (0, 1):
                yield more(op, f"{len(shape)}d{'_'.join(map(str, axes))}-{keep}", [(shape, word), ints(*axes)], keepdims=keep)
        yield more(op, "int64", [((2, 3, 4), "int64"), ints(1)])
        yield more(op, "int32-all", [((2, 3), "int32positive")], keepdims=0)
    for op in ("ReduceMax", "ReduceMin"):
        yield more(op, "bool", [((2, 3), "bool"), ints(1)])
    for op in ("ArgMax", "ArgMin"):
        for shape, axis in (((7,), 0), ((1, 3, 6, 6), 1), ((2, 3, 4, 5, 6), -2), ((1, 1, 10), 2), ((3, 1, 2), 1)):
            for keep in (0, 1):
                yield more(op, f"{len(shape)}d{axis}-{keep}", [(shape, "")], axis=axis, keepdims=keep)
        yield more(op, "int32", [((3, 5), "int32")], axis=1)
        yield more(op, "default", [((3, 5), "")])
    for axis in (0, 1, -1, -2):
        for dtype in ("", "int32", "int64"):
            yield more("CumSum", f"{axis}{dtype}", [((2, 3, 4), dtype), np.array(axis, np.int32)], exclusive=1)
    yield more("CumSum", "1d", [((9,), ""), np.array([0], np.int64)], reverse=1)
    for shape, axis, k, largest, sort in (((9,), 0, 4, 1, 1), ((2, 3, 8), -1, 8, 0, 1), ((2, 9, 3), 1, 1, 1, 1), ((1, 4, 6, 6), 1, 2, 1, 1), ((1, 4, 6, 6), -3, 2, 0, 1), ((2, 2, 3, 4, 6), 4, 3, 1, 1), ((100,), 0, 50, 1, 1)):
        yield more("TopK", f"{len(shape)}d{axis}-{k}-{largest}", [(shape, ""), ints(k)], outputs=2, axis=axis, largest=largest, sorted=sort)
    yield more("TopK", "int32", [((3, 8), "int32"), ints(1)], outputs=2)
    yield more("TopK", "int64", [((3, 8), "int64"), ints(1)], outputs=2)


def normalization():
    for shape in ((3, 4), (2, 4, 5), (2, 4, 5, 6), (2, 4, 3, 2, 3)):
        yield more("BatchNormalization", f"{len(shape)}", [(shape, ""), const(4), const(4), const(4), const(4, low=0.5)], epsilon=1e-2)
    for shape in ((2, 4, 5), (2, 4, 5, 6), (1, 4, 3, 2, 3), (3, 4, 1, 7)):
        yield more("InstanceNormalization", f"{shape[0]}{len(shape)}", [(shape, ""), const(4), const(4)], epsilon=1e-3)
    for shape, axis in (((4, 6), -1), ((4, 6), 1), ((2, 3, 4, 6), -1), ((2, 3, 4, 6), -2), ((2, 3, 4, 6), 1), ((1, 2, 3, 4, 6), -1), ((2, 3, 4), 0)):
        rest = shape[axis:] if axis else shape
        yield more("LayerNormalization", f"{len(shape)}d{axis}", [(shape, ""), const(*rest), const(*rest)], axis=axis, epsilon=1e-3)
        yield more("SimplifiedLayerNormalization", f"{len(shape)}d{axis}", [(shape, ""), const(*rest)], axis=axis)
        yield more("RMSNormalization", f"{len(shape)}d{axis}", [(shape, ""), const(*rest)], axis=axis, opset=23)
    for groups in (1, 2, 4):
        for shape in ((2, 4, 6), (1, 4, 5, 6), (1, 4, 2, 3, 4)):
            yield more("GroupNormalization", f"{groups}-{len(shape)}", [(shape, ""), const(4), const(4)], num_groups=groups)
            yield more("GroupNormalization", f"{groups}-{len(shape)}-old", [(shape, ""), const(groups), const(groups)], num_groups=groups, opset=18)
    for axis in (0, 1, 2, -1, -2):
        for p in (1, 2):
            yield more("LpNormalization", f"{axis}-{p}", [((2, 4, 8), "")], axis=axis, p=p)
    yield more("LpNormalization", "4d", [((1, 4, 6, 5), "")], axis=1)
    for size in (1, 3, 7):
        yield more("LRN", f"{size}", [((2, 9, 4, 5), "")], size=size, alpha=0.01)
    yield more("LRN", "3d", [((2, 9, 4), "")], size=3)
    for axes in ((0, 2, 3), (1,), (2, 3)):
        yield more("MeanVarianceNormalization", "".join(map(str, axes)), [((2, 3, 4, 5), "")], axes=axes)


def products():
    for a, b in (((1, 4), (4, 1)), ((1, 1, 4), (1, 4, 1)), ((3, 1), (1, 5)), ((2, 3, 4), (1, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 2, 3, 4), (4, 5)), ((4,), (4,)), ((4,), (2, 4, 5)),
                 ((2, 3, 4), (4,)), ((1, 2, 3, 4), (2, 4, 5)), ((2, 1, 2, 3, 4), (4, 5)), ((2, 100), (100, 33)), ((1, 8, 16, 64), (1, 8, 64, 16)), ((16, 257), (257, 65))):
        yield more("MatMul", f"{a}{b}".replace(" ", ""), [(a, ""), (b, "")])
        yield more("MatMul", f"{a}{b}-const".replace(" ", ""), [(a, ""), const(*b)])
        yield more("MatMul", f"{a}{b}-first".replace(" ", ""), [const(*a), (b, "")])
    for c in ((), (1,), (5,), (1, 5), (3, 1), (3, 5)):
        for alpha, beta in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.3)):
            bias = const(*c) if c else np.float32(0.3)
            yield more("Gemm", f"{c}-{alpha}-{beta}".replace(" ", ""), [((3, 4), ""), const(4, 5), bias], alpha=alpha, beta=beta)
        yield more("Gemm", f"{c}-dynamic".replace(" ", ""), [((4, 3), ""), ((5, 4), ""), (c, "")], transA=1, transB=1)
    yield more("Gemm", "nobias-alpha", [((3, 4), ""), ((4, 5), "")], alpha=0.7)
    for ta, tb in itertools.product((0, 1), (0, 1)):
        for shape in ((), (2,), (2, 3)):
            a = shape + ((4, 3) if ta else (3, 4))
            b = shape + ((5, 4) if tb else (4, 5))
            yield more("FusedMatMul", f"{ta}{tb}{len(shape)}", [(a, ""), (b, "")], domain="com.microsoft", transA=ta, transB=tb, alpha=0.25)
            yield more("FusedMatMul", f"{ta}{tb}{len(shape)}-const", [(a, ""), const(*b)], domain="com.microsoft", transA=ta, transB=tb)
    for ta, tb in ((1, 0), (0, 1), (1, 1)):
        a, b = ((3, 2, 4) if ta else (2, 3, 4)), ((4, 2, 5) if tb else (2, 4, 5))
        yield more("FusedMatMul", f"batch{ta}{tb}", [(a, ""), (b, "")], domain="com.microsoft", transBatchA=ta, transBatchB=tb)
    for equation, *shapes in (("bc,dc->bd", (3, 4), (5, 4)), ("abc,cd->abd", (2, 3, 4), (4, 5)), ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)), ("bnqd,bnkd->bnqk", (1, 2, 3, 4), (1, 2, 5, 4)),
                              ("bnqk,bnkd->bnqd", (1, 2, 3, 5), (1, 2, 5, 4)), ("i,i->i", (4,), (4,)), ("ij,j->i", (3, 4), (4,)), ("ij->i", (3, 4)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
                              ("bhwc,wkc->bhwk", (2, 3, 4, 5), (4, 6, 5)), ("abcd->acbd", (2, 3, 4, 5)), ("bij,bj->bi", (2, 3, 4), (2, 4)), ("ij,kj->ik", (3, 4), (5, 4)), ("bchw,bkhw->bck", (1, 2, 3, 4), (1, 5, 3, 4)),
                              ("abc,abd->acd", (2, 3, 4), (2, 3, 5)), ("bqnh,bknh->bnqk", (1, 3, 2, 4), (1, 5, 2, 4)), ("bnqk,bknh->bqnh", (1, 2, 3, 5), (1, 5, 2, 4)), ("ii->i", (3, 3)), ("nctw,cd->ndtw", (1, 3, 4, 5), (3, 6))):
        yield more("Einsum", equation, [(s, "") for s in shapes], equation=equation)


def moves():
    for shape in ((5,), (3, 4), (2, 3, 4), (1, 2, 3, 2, 2, 2)):
        yield more("Transpose", f"default{len(shape)}", [(shape, "")])
    for word in ("int64", "bool", "int32"):
        yield more("Transpose", word, [((2, 3, 4), word)], perm=(2, 0, 1))
        yield more("Reshape", word, [((2, 3, 4), word), ints(4, -1)])
        yield more("Squeeze", word, [((2, 1, 4), word), ints(1)])
        yield more("Unsqueeze", word, [((2, 4), word), ints(-1)])
        yield more("Tile", word, [((2, 4), word), ints(2, 3)])
        yield more("Slice", word, [((4, 6), word), ints(1), ints(6), ints(1), ints(2)])
        yield more("Split", word, [((4, 6), word)], outputs=2, axis=1, num_outputs=2)
        yield more("Concat", word, [((2, 3), word), ((2, 3), word)], axis=0)
        yield more("Expand", word, [((3, 1), word), ints(2, 3, 4)])
        yield more("Identity", word, [((2, 3), word)])
        yield more("Flatten", word, [((2, 3, 4), word)])
        yield more("Gather", word, [((3, 4), word), ints(2, 0)], axis=0)
        yield more("GatherElements", word, [((3, 4), word), np.array([[0, 2, 1, 0]])], axis=0)
        yield more("GatherND", word, [((3, 4), word), np.array([[0, 2], [1, 0]])])
        yield more("ScatterND", word, [((4, 5), word), np.array([[1], [3]]), ((2, 5), word)])
        yield more("ScatterElements", word, [((4, 5), word), np.array([[1, 0, 2]]), ((1, 3), word)])
    for axis in (0, 1, 2, 3, -1, -2):
        yield more("Flatten", f"{axis}", [((2, 3, 4), "")], axis=axis)
    yield more("Reshape", "scalar", [((1, 1), ""), np.array([], np.int64)])
    yield more("Reshape", "to1", [((2, 3, 4), ""), ints(-1)])
    yield more("Reshape", "six", [((2, 3, 4), ""), ints(1, 2, 1, 3, 1, 4)])
    yield more("Squeeze", "all", [((1, 2, 1, 3), "")])
    yield more("Squeeze", "old", [((1, 2, 1, 3), "")], axes=[-2], opset=11)
    yield more("Unsqueeze", "old", [((2, 3), "")], axes=[0, 3], opset=11)
    yield more("Unsqueeze", "negative", [((2, 3), ""), ints(-1, -4)])
    yield more("Expand", "smaller", [((2, 3, 4), ""), ints(3, 1)])
    yield more("Expand", "same", [((2, 3), ""), ints(2, 3)])
    for shape, repeats in (((5,), (3,)), ((2, 3), (1, 1)), ((1, 2, 3, 4), (2, 1, 2, 1)), ((1, 2, 1, 2, 3), (1, 2, 3, 1, 1))):
        yield more("Tile", f"{len(shape)}", [(shape, ""), ints(*repeats)])
    for shape, axis, n in (((2, 3), -1, 2), ((2, 3, 4, 5), 1, 5), ((2, 3, 4, 5), -3, 2), ((1, 2, 2, 2, 3), 4, 3), ((4,), 0, 1), ((4,), 0, 40)):
        yield more("Concat", f"{len(shape)}d{axis}-{n}", [(shape, "")] * n, axis=axis)
    yield more("Concat", "uneven", [((2, 1, 4), ""), ((2, 3, 4), ""), ((2, 2, 4), "")], axis=-2)
    for axis, parts in ((-1, (1, 3)), (0, (1, 1)), (-2, (2, 1))):
        yield more("Split", f"{axis}", [((2, 3, 4), ""), ints(*parts)], outputs=2, axis=axis)
        yield more("Split", f"{axis}-old", [((2, 3, 4), "")], outputs=2, axis=axis, split=parts, opset=11)
    yield more("Split", "equal-old", [((2, 6), "")], outputs=3, axis=-1, opset=11)
    yield more("Split", "one", [((2, 6), "")], outputs=1, axis=-1, num_outputs=1)
    cases = ((ints(0), ints(2**63 - 1), ints(0), ints(2)), (ints(-100), ints(100), ints(1), None), (ints(2, 0), ints(-1, -2), ints(-1, 0), ints(1, 1)), (ints(5), ints(0), ints(1), ints(-2)),
             (ints(-1), ints(-(2**63)), ints(-2), ints(-1)), (ints(1, 1, 1), ints(3, 4, 5), None, None), (ints(0, 0), ints(4, 6), ints(0, 1), ints(3, 4)))
    for i, (starts, ends, axes, steps) in enumerate(cases):
        yield more("Slice", f"{i}", [((4, 6, 8), ""), starts, ends, axes, steps])
        yield more("Slice", f"{i}-32", [((4, 6, 8), "")] + [None if v is None else np.clip(v, -(2**31), 2**31 - 1).astype(np.int32) for v in (starts, ends, axes, steps)])
    yield more("Slice", "old", [((4, 6, 8), "")], starts=[1, -3], ends=[3, 100], axes=[0, 2], opset=9)
    yield more("Slice", "5d", [((2, 3, 4, 5, 6), ""), ints(0, 1), ints(2, 6), ints(1, 4), ints(1, 3)])
    for mode in ("constant", "reflect", "edge", "wrap"):
        for shape, pads in (((6,), (2, 3)), ((3, 5), (0, 2, 0, 1)), ((2, 4, 5), (0, 1, 2, 0, 2, 3)), ((2, 4, 5), (1, 0, 0, 1, 0, 0)), ((1, 2, 3, 4, 5), (0, 0, 1, 1, 0, 0, 0, 1, 2, 3))):
            yield more("Pad", f"{mode}-{len(shape)}{pads[0]}", [(shape, ""), ints(*pads)], mode=mode)
        yield more("Pad", f"{mode}-axes", [((2, 4, 5), ""), ints(1, 2), None if mode != "constant" else np.float32(0.25), ints(-1)], mode=mode)
        yield more("Pad", f"{mode}-old", [((2, 4, 5), "")], mode=mode, pads=[0, 1, 1, 0, 0, 2], opset=2)
    yield more("Pad", "negative", [((4, 5), ""), ints(0, -1, 0, -2)])
    yield more("Pad", "both", [((4, 5), ""), ints(1, -1, 2, -2)])
    yield more("Pad", "int64", [((2, 5), "int64"), ints(0, 1, 0, 2), np.int64(7)])
    yield more("Pad", "bool", [((2, 5), "bool"), ints(0, 1, 0, 2)])
    yield more("Pad", "minus", [((2, 5), ""), ints(0, 1, 0, 2), np.float32(-0.75)])
    for block in (2, 3):
        for mode in ("DCR", "CRD"):
            yield more("DepthToSpace", f"{block}{mode}", [((2, 2 * block * block, 3, 2), "")], blocksize=block, mode=mode)
        yield more("SpaceToDepth", f"{block}", [((2, 3, 2 * block, 3 * block), "")], blocksize=block)
    for upper, k in itertools.product((0, 1), (-1, 0, 2)):
        yield more("Trilu", f"{upper}{k}", [((2, 4, 5), ""), np.array(k)], upper=upper)
    yield more("Shape", "part", [((2, 3, 4, 5), "")], start=1, end=-1)
    yield more("Shape", "end", [((2, 3, 4, 5), "")], start=-2)
    for start, end, step in ((0, 9, 1), (9, 0, -2), (3, 4, 5)):
        for dtype in (np.int32, np.int64, np.float32):
            yield more("Range", f"{start}{step}{np.dtype(dtype)}", [dtype(start), dtype(end), dtype(step)])
    yield more("ReverseSequence", "batch-first", [((3, 4, 5), ""), ints(1, 2, 4)], batch_axis=0, time_axis=1)
    types = {"": "float", "int32": "int32", "int64": "int64", "bool": "bool"}
    for word, to in itertools.product(types, (1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13)):
        yield more("Cast", f"{types[word]}-{to}", [((2, 3, 4), word)], to=to)
    yield more("Cast", "rank0", [((), "int32")], to=1)


def picks():
    for rank in (1, 2, 3, 4, 5):
        shape = (3, 4, 5, 2, 3)[:rank]
        for axis in sorted({0, rank - 1, -1, -rank}):
            yield more("Gather", f"{rank}d{axis}-scalar", [(shape, ""), np.array(1)], axis=axis)
            yield more("Gather", f"{rank}d{axis}-scalar-given", [(shape, ""), ((), "index2")], axis=axis)
            yield more("Gather", f"{rank}d{axis}-one", [(shape, ""), ints(-1)], axis=axis)
            yield more("Gather", f"{rank}d{axis}-int32", [(shape, ""), ints(1, 0, 1, dtype=np.int32)], axis=axis)
            yield more("GatherElements", f"{rank}d{axis}", [(shape, ""), (shape, "index2")], axis=axis)
            yield more("GatherElements", f"{rank}d{axis}-int32", [(shape, ""), (shape, "index2int32")], axis=axis)
    yield more("Gather", "table", [const(10, 6), ((2, 4), "index9")], axis=0)
    yield more("Gather", "table-int32", [const(10, 6), ((2, 4), "index9int32")], axis=0)
    yield more("Gather", "three", [((3, 4), ""), ((2, 2, 2), "index3")], axis=1)
    for shape, index in (((4,), [[1], [3]]), ((2, 3, 4, 5), [[[0, 1]], [[1, 2]]]), ((2, 3, 4), [[-1, -2]]), ((2, 3, 4), [1, 2]), ((3, 4), [[[[0]], [[2]]]])):
        yield more("GatherND", f"{len(shape)}-{np.shape(index)}".replace(" ", ""), [(shape, ""), np.array(index)])
    for reduction in ("none", "add", "mul", "max", "min"):
        yield more("ScatterND", f"full-{reduction}", [((3, 4), ""), np.array([[0, 1], [2, 3], [1, -1]]), ((3,), "")], reduction=reduction)
        yield more("ScatterND", f"deep-{reduction}", [((2, 3, 4), ""), np.array([[[0, 1]], [[1, 2]]]), ((2, 1, 4), "")], reduction=reduction)
        yield more("ScatterND", f"given-{reduction}", [((4, 3), ""), ((1, 1), "index4"), ((1, 3), "")], reduction=reduction)
        yield more("ScatterElements", f"neg-{reduction}", [((4, 5), ""), np.array([[1, -1, 2], [0, 2, -2]]), ((2, 3), "")], axis=-1, reduction=reduction)
        yield more("ScatterElements", f"same-{reduction}", [((4, 5), ""), np.array([[1, 0, 2, 3, 0]]), const(1, 5)], axis=0, reduction=reduction)
        yield more("ScatterElements", f"3d-{reduction}", [((2, 3, 4), ""), np.array([[[1, 0], [2, 2]]]), ((1, 2, 2), "")], axis=1, reduction=reduction)
    for axis in (0, 1, -1, -2):
        for dtype in (np.float32, np.int32, np.int64):
            yield more("OneHot", f"{axis}{np.dtype(dtype)}", [((2, 3), "index4"), np.array(4), np.array([0, 1], dtype)], axis=axis)
    yield more("OneHot", "values", [((5,), "index4"), ints(6), np.array([-1, 2], np.float32)])
    yield more("NonZero", "const", [np.array([[1.0, 0, 2], [0, 0, 3]], np.float32)])


def resizes():
    for mode, (size, scales) in itertools.product(("nearest", "linear", "cubic"), (((1, 2, 5, 6), (1, 1, 3, 2)), ((2, 2, 6, 6), (1, 1, 0.5, 0.5)), ((1, 2, 7, 5), (1, 1, 1.7, 2.3)), ((1, 5, 6, 2), (1, 2, 2, 1)), ((2, 5), (2, 2)), ((1, 2, 3, 4, 2), (1, 1, 2, 2, 2)),
                                                                     ((1, 3, 8), (1, 1, 2)))):
        for transform in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric"):
            nearest = {"half_pixel": "round_prefer_ceil", "asymmetric": "floor", "align_corners": "round_prefer_ceil"}.get(transform, "round_prefer_floor")
            rest = {"nearest_mode": nearest} if mode == "nearest" else {}
            old = transform == "tf_half_pixel_for_nn"
            yield more("Resize", f"{mode}-{transform}-{len(size)}{scales[-1]}{size[0]}", [(size, ""), np.array([], np.float32), np.array(scales, np.float32)], mode=mode,
                       coordinate_transformation_mode=transform, opset=11 if old else 19 if transform == "half_pixel_symmetric" else 13, **rest)
    for mode in ("linear", "nearest", "cubic"):
        yield more("Resize", f"{mode}-sizes-up", [((1, 2, 5, 6), ""), None, None, ints(1, 2, 11, 13)], mode=mode)
        yield more("Resize", f"{mode}-axes", [((1, 2, 5, 6), ""), None, np.array([2, 2], np.float32)], mode=mode, axes=[2, 3], opset=18)
        yield more("Resize", f"{mode}-antialias", [((1, 2, 8, 6), ""), None, np.array([1, 1, 0.5, 0.5], np.float32)], mode=mode, antialias=1, opset=18)
        yield more("Resize", f"{mode}-policy", [((1, 2, 8, 6), ""), None, None, ints(4, 12)], mode=mode, axes=[2, 3], keep_aspect_ratio_policy="not_larger", opset=18)
    for a, outside in itertools.product((-0.5, -0.75), (0, 1)):
        yield more("Resize", f"cubic{a}{outside}", [((1, 2, 5, 6), ""), None, np.array([1, 1, 1.5, 2], np.float32)], mode="cubic", cubic_coeff_a=a, exclude_outside=outside)
    yield more("Resize", "old", [((1, 2, 5, 6), ""), np.array([1, 1, 2, 2], np.float32)], mode="nearest", opset=10)
    yield more("Resize", "old-linear", [((1, 2, 5, 6), ""), np.array([1, 1, 2, 2], np.float32)], mode="linear", opset=10)
    for mode, padding, align in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)):
        yield more("GridSample", f"{mode}-{padding}-{align}", [((2, 3, 5, 7), ""), const(2, 4, 6, 2, low=-1.3, high=1.3)], mode=mode, padding_mode=padding, align_corners=align, opset=16)
    yield more("GridSample", "5d", [((1, 2, 3, 4, 5), ""), const(1, 2, 3, 4, 3)], mode="linear", opset=20)
    for mode, transform, ratio in itertools.product(("avg", "max"), ("half_pixel", "output_half_pixel"), (0, 2)):
        yield more("RoiAlign", f"{mode}-{transform}-{ratio}", [((2, 3, 8, 8), ""), np.array([[0, 0, 8, 8], [4, 2, 15, 12], [1, 1, 2, 2]], np.float32), ints(0, 1, 0)], mode=mode, output_height=3, output_width=2,
                   sampling_ratio=ratio, spatial_scale=0.5, coordinate_transformation_mode=transform, quantize=False)


def recurrent():
    for op, gates in (("LSTM", 4), ("GRU", 3)):
        count = 3 if op == "LSTM" else 2
        for direction, n, batch, bias in itertools.product(("forward", "reverse", "bidirectional"), (1, 2), (1, 2), (True, False)):
            if (direction == "bidirectional") != (n == 2):
                continue
            parts = [((3, batch, 4), ""), const(n, gates * 5, 4), const(n, gates * 5, 5)] + ([const(n, 2 * gates * 5)] if bias else [])
            yield more(op, f"{direction}-{batch}-{bias}", parts, outputs=count, hidden_size=5, direction=direction, quantize=False)
            yield more(op, f"{direction}-{batch}-{bias}-first", parts, outputs=1, hidden_size=5, direction=direction, quantize=False)
            rest = [None] * (4 - len(parts)) + [None] + [((n, batch, 5), "")] * (count - 1)
            yield more(op, f"{direction}-{batch}-{bias}-given", parts + rest, outputs=count, hidden_size=5, direction=direction, quantize=False)
        yield more(op, "clip", [((3, 2, 4), ""), const(1, gates * 5, 4), const(1, gates * 5, 5)], outputs=count, hidden_size=5, clip=0.3, quantize=False)
        yield more(op, "layout", [((2, 3, 4), ""), const(1, gates * 5, 4), const(1, gates * 5, 5)], outputs=count, hidden_size=5, layout=1, quantize=False)
    yield more("LSTM", "peephole", [((3, 2, 4), ""), const(1, 20, 4), const(1, 20, 5), const(1, 40), None, None, None, const(1, 15)], outputs=3, hidden_size=5, quantize=False)
    yield more("LSTM", "forget", [((3, 2, 4), ""), const(1, 20, 4), const(1, 20, 5), const(1, 40)], outputs=3, hidden_size=5, input_forget=1, quantize=False)
    yield more("GRU", "before", [((3, 2, 4), ""), const(1, 15, 4), const(1, 15, 5), const(1, 30), None, const(1, 2, 5)], outputs=2, hidden_size=5, linear_before_reset=1, quantize=False)


def quantization():
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        zero = 3 if dtype in (np.int8, np.int16) else 100
        for shape, axis in (((2, 3, 4), None), ((5,), None), ((2, 3, 4, 5), 1), ((2, 3, 4), 2), ((6, 3), 0), ((2, 3, 4), -1)):
            scale = np.float32(0.01) if axis is None else const(shape[axis], low=0.005, high=0.02)
            z = np.full(np.shape(scale), zero, dtype)
            rest = {} if axis is None else {"axis": axis}
            yield more("QuantizeLinear", f"{np.dtype(dtype)}-{len(shape)}{axis}", [(shape, ""), scale, z], quantize=False, **rest)
    yield more("QuantizeLinear", "nozero", [((2, 3), ""), np.float32(0.01)], quantize=False)
    yield more("DynamicQuantizeLinear", "plain", [((2, 3), "")], outputs=3, quantize=False)


FAMILIES = (unary, binary, convolutions, pooling, reductions, normalization, products, moves, picks, resizes, recurrent, quantization)

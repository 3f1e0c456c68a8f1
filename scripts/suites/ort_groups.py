# SPDX-License-Identifier: Apache-2.0
"""Graphs of several operators for ort_suite.py (kind "graph"): those that ONNX Runtime's provider turns into one operator, into others, or takes apart.

A graph is a function that gets a Graph and draws on it; its name is the function's, with what the function was called with. Allowed is how far the results may be
from those of the CPU provider, as a part of the largest number: groups with dynamic quantization are computed in floats by the provider."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

GROUPS = {}


class Group:
    quantize = False

    def __init__(self, name, draw, values, allowed, opset):
        self.name, self.draw, self.values, self.allowed, self.opset = name, draw, values, allowed, opset

    def has_weights(self):
        return False


def group(*choices, allowed=0.005, opset=21):
    """Registers a graph, once for each choice."""
    def add(draw):
        for values in choices or ((),):
            values = values if isinstance(values, tuple) else (values,)
            name = "-".join([draw.__name__, *(getattr(v, "__name__", str(v).replace(" ", "")) for v in values)])
            GROUPS[name] = Group(name, draw, values, allowed, opset)
        return draw
    return add


def all_groups():
    yield from GROUPS.values()


class Graph:
    def __init__(self, opset):
        self.opset, self.nodes, self.constants, self.inputs, self.outputs, self.feeds, self.count = opset, [], [], [], [], {}, 0
        self.rng = np.random.default_rng(3)

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def x(self, *shape, low=-1.0, high=1.0, dtype=np.float32):
        name = self.name("x")
        if dtype == bool:
            value = self.rng.integers(0, 2, shape).astype(bool)
        elif np.issubdtype(dtype, np.integer):
            value = self.rng.integers(int(low), int(high) + 1, shape).astype(dtype)
        else:
            value = self.rng.uniform(low, high, shape).astype(dtype)
        self.feeds[name] = np.asarray(value)
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    def c(self, value, dtype=np.float32):
        name = self.name("c")
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def random(self, *shape, low=-1.0, high=1.0):
        return self.c(self.rng.uniform(low, high, shape))

    def four_bits(self, values, signed=True):
        """A constant of 4-bit numbers."""
        name = self.name("c")
        flat = np.asarray(values).astype(np.int8).ravel()
        self.constants.append(helper.make_tensor(name, TensorProto.INT4 if signed else TensorProto.UINT4, np.shape(values), flat.tolist()))
        return name

    def op(self, op, *inputs, outputs=1, domain="", **attributes):
        outs = [self.name("t") for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), outs, name=self.name(op), domain=domain, **attributes))
        return outs[0] if outputs == 1 else outs

    def around(self, name, low=-1.0, high=1.0, dtype=np.uint8):
        """Quantized and back."""
        info = np.iinfo(dtype)
        scale = (high - low) / (info.max - info.min)
        zero = round(info.min - low / scale)
        s, z = self.c(scale), self.c(zero, dtype)
        return self.op("DequantizeLinear", self.op("QuantizeLinear", name, s, z), s, z)

    def stored(self, values, scale, dtype=np.int8, zero=0, axis=None):
        """A constant that is stored as integers."""
        s, z = self.c(scale), self.c(np.full(np.shape(scale), zero), dtype)
        extra = {} if axis is None else {"axis": axis}
        return self.op("DequantizeLinear", self.c(values, dtype), s, z, **extra)

    def y(self, *names):
        self.outputs += names

    def finish(self):
        graph = helper.make_graph(self.nodes, "group", self.inputs, [helper.make_empty_tensor_value_info(n) for n in self.outputs], self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString(), self.feeds


def model_of(case):
    g = Graph(case.opset)
    case.draw(g, *case.values)
    return g.finish()


# ---- data that moves ---------------------------------------------------------------------------------------------------------------


def reshaped(g, x, *shape):
    return g.op("Reshape", x, g.c(shape, np.int64))


@group(2, 3)
def channel_shuffle(g, groups):
    t = g.op("Transpose", reshaped(g, g.op("Relu", g.x(1, 12, 4, 5)), 1, groups, 12 // groups, 4, 5), perm=(0, 2, 1, 3, 4))
    g.y(g.op("Conv", reshaped(g, t, 1, 12, 4, 5), g.random(6, 12, 1, 1)))


@group()
def channel_shuffle_in_the_middle(g):
    c = g.op("Conv", g.x(1, 3, 8, 8), g.random(12, 3, 1, 1))
    t = g.op("Transpose", reshaped(g, g.op("Transpose", c, perm=(0, 2, 3, 1)), 1, 8, 8, 3, 4), perm=(0, 1, 2, 4, 3))
    g.y(g.op("Transpose", reshaped(g, t, 1, 8, 8, 12), perm=(0, 3, 1, 2)))


@group(((0, 1, 3, 5, 2, 4),), ((0, 2, 4, 1, 3, 5),), ((0, 3, 1, 4, 2, 5),))
def six_dimensions(g, perm):
    """Depth to space and the like, as PyTorch exports them."""
    t = g.op("Transpose", reshaped(g, g.x(1, 8, 6, 4), 1, 2, 4, 3, 2, 4), perm=perm)
    g.y(reshaped(g, t, 1, 12, 16))


@group(np.uint8, np.uint16)
def six_dimensions_quantized(g, dtype):
    x = g.around(g.x(1, 8, 6, 4), dtype=dtype)
    t = g.around(g.op("Transpose", g.around(reshaped(g, x, 1, 2, 4, 3, 2, 4), dtype=dtype), perm=(0, 1, 3, 5, 2, 4)), dtype=dtype)
    g.y(g.around(reshaped(g, t, 1, 12, 16), dtype=dtype))


@group((2, "DCR"), (2, "CRD"))
def space_to_depth(g, block, mode):
    """As a Reshape, a Transpose and a Reshape."""
    t = reshaped(g, g.op("Relu", g.x(1, 3, 8, 6)), 1, 3, 8 // block, block, 6 // block, block)
    t = g.op("Transpose", t, perm=(0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    g.y(reshaped(g, t, 1, 12, 4, 3))


@group()
def slices_to_depth(g):
    """The first layer of YOLO: every second pixel, four times."""
    x = g.op("Relu", g.x(1, 3, 8, 6))
    parts = []
    for w in (0, 1):
        for h in (0, 1):
            rows = g.op("Slice", x, g.c([h], np.int64), g.c([8], np.int64), g.c([2], np.int64), g.c([2], np.int64))
            parts.append(g.op("Slice", rows, g.c([w], np.int64), g.c([6], np.int64), g.c([3], np.int64), g.c([2], np.int64)))
    g.y(g.op("Conv", g.op("Concat", *parts, axis=1), g.random(8, 12, 3, 3), pads=(1, 1, 1, 1)))


@group()
def window_partition(g):
    t = g.op("Transpose", reshaped(g, g.op("Relu", g.x(1, 8, 8, 6)), 1, 2, 4, 2, 4, 6), perm=(0, 1, 3, 2, 4, 5))
    w = g.op("Softmax", reshaped(g, t, 4, 16, 6), axis=-1)
    t = g.op("Transpose", reshaped(g, w, 1, 2, 2, 4, 4, 6), perm=(0, 1, 3, 2, 4, 5))
    g.y(reshaped(g, t, 1, 8, 8, 6))


@group()
def transpose_reshape_transpose(g):
    t = reshaped(g, g.op("Transpose", g.op("Relu", g.x(1, 4, 6, 5)), perm=(0, 2, 3, 1)), 1, 30, 4)
    g.y(g.op("Transpose", t, perm=(0, 2, 1)))


@group()
def transpose_gather_transpose(g):
    t = g.op("Gather", g.op("Transpose", g.op("Relu", g.x(2, 3, 4, 5)), perm=(2, 0, 1, 3)), g.c([3, 1], np.int64), axis=0)
    g.y(g.op("Transpose", t, perm=(1, 2, 0, 3)))


@group()
def gather_transpose_reshape(g):
    t = g.op("Gather", g.op("Relu", g.x(1, 16, 8)), g.c(g.rng.integers(0, 16, (4, 4)), np.int64), axis=1)
    g.y(reshaped(g, g.op("Transpose", t, perm=(0, 2, 1, 3)), 1, 16, 8))


@group()
def reshape_einsum_reshape(g):
    t = g.op("Einsum", reshaped(g, g.x(1, 16, 12), 1, 4, 4, 3, 4), g.random(4, 5, 4), equation="bhwkc,hqc->bhwkq")
    g.y(reshaped(g, t, 1, 16, 15))


@group()
def identity_moves(g):
    t = g.op("Transpose", reshaped(g, g.op("Relu", g.x(2, 3, 4)), 2, 3, 4), perm=(0, 1, 2))
    g.y(g.op("Sigmoid", t))


@group((1, False), (-1, False), (0, True), (2, True))
def sequence(g, position, given):
    parts = [g.op("Relu", g.x(3, 4)) for _ in range(3)]
    at = g.x(low=position, high=position, dtype=np.int64) if given else g.c(position, np.int64)
    g.y(g.op("SequenceAt", g.op("SequenceConstruct", *parts), at))


# ---- norms and functions -----------------------------------------------------------------------------------------------------------


def norm(g, x, width, mean=True, power=True):
    d = g.op("Sub", x, g.op("ReduceMean", x, g.c([-1], np.int64), keepdims=1)) if mean else x
    square = g.op("Pow", d, g.c(2)) if power else g.op("Mul", d, d)
    v = g.op("Add", g.op("ReduceMean", square, g.c([-1], np.int64), keepdims=1), g.c(1e-5))
    n = g.op("Div", d, g.op("Sqrt", v)) if mean else g.op("Mul", d, g.op("Reciprocal", g.op("Sqrt", v)))
    return g.op("Mul", n, g.random(width, low=0.5, high=1.5))


@group((True, True), (True, False), (False, True), (False, False))
def norm_in_parts(g, mean, power):
    n = norm(g, g.x(2, 6, 16), 16, mean, power)
    g.y(g.op("Add", n, g.random(16)) if mean else n)


@group((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8), (np.int8, np.uint8), (np.uint16, np.uint8), (np.uint16, np.int8), (np.uint16, np.uint16), (np.int16, np.int8), allowed=0.02)
def layer_norm_quantized(g, active, fixed):
    x = g.around(g.x(1, 8, 16), dtype=active)
    zero = 0 if np.issubdtype(fixed, np.signedinteger) else (int(np.iinfo(fixed).max) + 1) // 2
    gamma = g.stored(np.linspace(80, 120, 16) + zero, 0.01, fixed, zero)
    beta = g.stored(np.linspace(0, 2500, 16), 2 / 255 * 0.01 if active in (np.uint8, np.int8) else 2e-4, np.int32)
    g.y(g.around(g.op("LayerNormalization", x, gamma, beta, axis=-1), -3, 3, active))


@group("none", "same", "other", allowed=0.02)
def layer_norm_bias(g, kind):
    x = g.around(g.x(1, 8, 16))
    parts = [g.stored(np.linspace(208, 248, 16), 0.01, np.uint8, 128)]
    if kind != "none":
        parts.append(g.stored(np.linspace(0, 50, 16) + (128 if kind == "same" else 0), 0.01, np.uint8 if kind == "same" else np.int8, 128 if kind == "same" else 0))
    g.y(g.around(g.op("LayerNormalization", x, *parts, axis=-1), -3, 3))


@group(("erf", 0), ("erf", 1), ("tanh", 0))
def gelu(g, how, order):
    x = g.op("Relu", g.op("Add", g.x(2, 6, 16), g.c(0.5)))
    if how == "erf":
        t = g.op("Add", g.op("Erf", g.op("Div", x, g.c(2 ** 0.5))), g.c(1))
        g.y(g.op("Mul", g.op("Mul", x, t), g.c(0.5)) if order == 0 else g.op("Mul", g.op("Mul", x, g.c(0.5)), t))
        return
    cube = g.op("Mul", g.op("Pow", x, g.c(3)), g.c(0.044715))
    t = g.op("Add", g.op("Tanh", g.op("Mul", g.op("Add", x, cube), g.c((2 / np.pi) ** 0.5))), g.c(1))
    g.y(g.op("Mul", g.op("Mul", x, g.c(0.5)), t))


@group(np.uint8, np.uint16, allowed=0.02)
def gelu_quantized(g, dtype):
    x = g.around(g.x(2, 6, 16), dtype=dtype)
    t = g.around(g.op("Div", x, g.c(2 ** 0.5)), dtype=dtype)
    t = g.around(g.op("Erf", t), dtype=dtype)
    t = g.around(g.op("Add", t, g.around(g.c(1), 0, 1, dtype)), 0, 2, dtype)
    t = g.around(g.op("Mul", x, t), -0.4, 2, dtype)
    g.y(g.around(g.op("Mul", t, g.around(g.c(0.5), 0, 0.5, dtype)), -0.2, 1, dtype))


@group((6, 0.5, True), (6, 0.5, False), (5, 0.5, True), (6, 0.4, True))
def hard_swish_in_parts(g, divisor, beta, first):
    """Six and a half are one operator for the provider."""
    x = g.x(2, 6, 16, low=-4, high=4)
    h = g.op("HardSigmoid", x, alpha=1 / divisor, beta=beta)
    g.y(g.op("Mul", x, h) if first else g.op("Mul", h, x))


@group()
def reciprocal_mul(g):
    g.y(g.op("Mul", g.op("Reciprocal", g.x(2, 6, low=0.5, high=2)), g.x(2, 6)))


@group((0.125, -1), (0.5, 1))
def scale_softmax(g, scale, axis):
    g.y(g.op("Softmax", g.op("Mul", g.x(1, 4, 6, 8, low=-4, high=4), g.c(scale)), axis=axis))


@group(np.uint8, np.uint16, allowed=0.02)
def masked_softmax(g, dtype):
    x = g.around(g.x(1, 2, 4, 6), dtype=dtype)
    mask = g.around(g.x(1, 1, 4, 6, low=0, high=1), 0, 1, dtype)
    m = g.around(g.op("Mul", g.around(g.op("Sub", g.around(g.c(1), 0, 1, dtype), mask), 0, 1, dtype), g.around(g.c(-100), -100, 0, dtype)), -100, 0, dtype)
    g.y(g.around(g.op("Softmax", g.around(g.op("Add", x, m), -101, 1, dtype), axis=3), 0, 1, dtype))


# ---- dynamic quantization ----------------------------------------------------------------------------------------------------------


@group(((1, 4, 4, 8),), ((8, 16),), allowed=0.01)
def dynamic_there_and_back(g, shape):
    g.y(g.op("Relu", g.op("DequantizeLinear", *g.op("DynamicQuantizeLinear", g.x(*shape), outputs=3))))


@group((False, False, True), (True, False, True), (True, True, True), (True, True, False), (True, False, False), allowed=0.02)
def dynamic_matmul(g, bias, per_channel, signed):
    q, s, z = g.op("DynamicQuantizeLinear", g.x(2, 5, 16), outputs=3)
    zero = 0 if signed else 128
    w = g.c(g.rng.integers(-100, 100, (16, 8)) + zero, np.int8 if signed else np.uint8)
    p = g.op("Cast", g.op("MatMulInteger", q, w, z, g.c(zero, np.int8 if signed else np.uint8)), to=1)
    r = g.op("Mul", p, g.op("Mul", s, g.random(8, low=0.005, high=0.01) if per_channel else g.c(0.01)))
    g.y(g.op("Add", r, g.random(8)) if bias else r)


@group((False, False, True, 1), (True, False, True, 1), (True, True, True, 1), (True, True, False, 1), (True, False, True, 4), (False, True, False, 4), allowed=0.02)
def dynamic_conv(g, bias, per_channel, signed, groups):
    q, s, z = g.op("DynamicQuantizeLinear", g.x(1, 4, 8, 8), outputs=3)
    zero, kind = (0, np.int8) if signed else (128, np.uint8)
    w = g.c(g.rng.integers(-100, 100, (4, 4 // groups, 3, 3)) + zero, kind)
    p = g.op("Cast", g.op("ConvInteger", q, w, z, g.c(zero, kind), group=groups, pads=(1, 1, 1, 1)), to=1)
    r = g.op("Mul", p, g.op("Mul", s, g.random(1, 4, 1, 1, low=0.005, high=0.01) if per_channel else g.c(0.01)))
    g.y(g.op("Add", r, g.random(1, 4, 1, 1)) if bias else r)


@group(allowed=0.02)
def dynamic_quantize_matmul(g):
    w = g.c(g.rng.integers(-100, 100, (16, 8)), np.int8)
    g.y(g.op("DynamicQuantizeMatMul", g.x(2, 16), w, g.c(0.01), g.c(0, np.int8), g.random(8), domain="com.microsoft"))


@group((np.uint8, np.uint8), (np.uint8, np.int8), allowed=0.01)
def qlinear_matmul(g, active, fixed):
    x, w = g.x(3, 16, low=0, high=255, dtype=active), g.c(g.rng.integers(-100, 100, (16, 8)) + (128 if fixed == np.uint8 else 0), fixed)
    zero = g.c(128 if fixed == np.uint8 else 0, fixed)
    q = g.op("QLinearMatMul", x, g.c(0.01), g.c(128, active), w, g.c(0.01), zero, g.c(0.1), g.c(128, active))
    g.y(g.op("DequantizeLinear", q, g.c(0.1), g.c(128, active)))


@group((np.uint8, 1, True), (np.int8, 1, False), (np.int8, 4, True), allowed=0.01)
def qlinear_conv(g, fixed, groups, bias):
    zero = 128 if fixed == np.uint8 else 0
    w = g.c(g.rng.integers(-100, 100, (4, 4 // groups, 3, 3)) + zero, fixed)
    parts = [g.x(1, 4, 8, 8, low=0, high=255, dtype=np.uint8), g.c(0.01), g.c(128, np.uint8), w, g.c(0.01), g.c(zero, fixed), g.c(0.1), g.c(128, np.uint8)]
    q = g.op("QLinearConv", *parts, *([g.c(g.rng.integers(-5000, 5000, 4), np.int32)] if bias else []), group=groups, pads=(1, 1, 1, 1))
    g.y(g.op("DequantizeLinear", q, g.c(0.1), g.c(128, np.uint8)))


# ---- weights in blocks -------------------------------------------------------------------------------------------------------------


def blocks(g, rows, columns, block, quantize, axis=0):
    """4-bit weights whose block scales are small integers times a scale per channel (LPBQ)."""
    shape = (rows // block, columns) if axis == 0 else (rows, columns // block)
    channels = columns if axis == 0 else rows
    scale = g.op("DequantizeLinear", g.c(g.rng.integers(1, 16, shape), np.uint8), g.random(channels, low=0.005, high=0.01), g.c(np.zeros(channels), np.uint8), axis=1 - axis)
    zero = g.four_bits(np.zeros(shape))
    if quantize:
        q = g.op("QuantizeLinear", g.random(rows, columns), scale, zero, axis=axis, block_size=block)
    else:
        q = g.four_bits(g.rng.integers(-8, 8, (rows, columns)))
    return g.op("DequantizeLinear", q, scale, zero, axis=axis, block_size=block)


@group((16, 16, 4, True), (16, 16, 4, False), (64, 32, 16, False), (64, 48, 32, True), allowed=0.01)
def lpbq_matmul(g, rows, columns, block, quantize):
    x = g.around(g.x(1, rows), dtype=np.uint16)
    g.y(g.around(g.op("MatMul", x, blocks(g, rows, columns, block, quantize)), -6, 6, np.uint16))


@group((16, 16, 4, True, True), (16, 16, 4, False, False), (64, 32, 16, False, True), allowed=0.01)
def lpbq_gemm(g, rows, columns, block, quantize, bias):
    x = g.around(g.x(1, rows), dtype=np.uint16)
    parts = [g.stored(g.rng.integers(-20000, 20000, columns), 2e-5, np.int32)] if bias else []
    g.y(g.around(g.op("Gemm", x, blocks(g, rows, columns, block, quantize), *parts), -6, 6, np.uint16))


@group((4, 32), (8, 32), (4, 16), allowed=0.01)
def matmul_n_bits(g, bits, block):
    k, n = 64, 24
    per = k // block
    w = g.c(g.rng.integers(0, 256, (n, per, block * bits // 8)), np.uint8)
    g.y(g.op("MatMulNBits", g.x(1, 2, k), w, g.random(n, per, low=0.01, high=0.02), domain="com.microsoft", K=k, N=n, bits=bits, block_size=block))


@group(16, 32, allowed=0.01)
def block_conv(g, block):
    """Weights of 4 bits in blocks of input channels, and an activation that stays a float."""
    shape = (8, 64 // block, 1, 1)
    w = g.op("DequantizeLinear", g.four_bits(g.rng.integers(-8, 8, (8, 64, 1, 1))), g.random(*shape, low=0.01, high=0.02), g.four_bits(np.zeros(shape)), axis=1, block_size=block)
    g.y(g.op("Conv", g.x(1, 64, 6, 6), w))


@group((4, 0), (8, 0), (4, 1), allowed=0.01)
def gather_blocks(g, bits, axis):
    data = g.four_bits(g.rng.integers(0, 16, (16, 64)), signed=False) if bits == 4 else g.c(g.rng.integers(0, 256, (16, 64)), np.uint8)
    at = g.x(3, low=0, high=15, dtype=np.int64)
    g.y(g.op("GatherBlockQuantized", data, at, g.random(16, 2, low=0.01, high=0.02), domain="com.microsoft", gather_axis=axis, quantize_axis=1, block_size=32, **({"bits": 8} if bits == 8 else {})))


@group((16, (3,)), (32, (2, 4)))
def gather_packed_blocks(g, block, shape):
    """Two values in a byte: the form that the provider offers to a GPU library."""
    rows, columns = 12, 64
    table = g.c(g.rng.integers(0, 256, (rows, columns // 2)), np.uint8)
    at = g.x(*shape, low=0, high=rows - 1, dtype=np.int64)
    g.y(g.op("GatherBlockQuantized", table, at, g.random(rows, columns // block, low=0.01, high=0.1), domain="com.microsoft", bits=4, block_size=block, quantize_axis=1))


# ---- 4-bit and 16-bit weights ------------------------------------------------------------------------------------------------------


@group((np.uint8, True), (np.uint16, True), (np.uint16, False), allowed=0.02)
def conv_four_bits(g, active, bias):
    x = g.around(g.x(1, 4, 8, 8), dtype=active)
    scale = np.linspace(0.05, 0.1, 6)
    w = g.op("DequantizeLinear", g.four_bits(g.rng.integers(-8, 8, (6, 4, 3, 3))), g.c(scale), g.four_bits(np.zeros(6)), axis=0)
    step = 2 / (255 if active == np.uint8 else 65535)
    parts = [g.op("DequantizeLinear", g.c(g.rng.integers(-100, 100, 6), np.int32), g.c(scale * step), g.c(np.zeros(6), np.int32), axis=0)] if bias else []
    g.y(g.around(g.op("Conv", x, w, *parts), -6, 6, active))


@group((np.uint8, "tensor"), (np.uint16, "tensor"), (np.uint16, "channel"), allowed=0.02)
def matmul_four_bits(g, active, how):
    x = g.around(g.x(2, 5, 16), dtype=active)
    extra = {"axis": 1} if how == "channel" else {}
    scale, zero = (np.linspace(0.05, 0.1, 8), np.zeros(8)) if how == "channel" else (0.1, np.zeros(()))
    w = g.op("DequantizeLinear", g.four_bits(g.rng.integers(-8, 8, (16, 8))), g.c(scale), g.four_bits(zero), **extra)
    g.y(g.around(g.op("MatMul", x, w), -6, 6, active))


@group(allowed=0.01)
def conv_relu_clip(g):
    """Relu and Clip whose Q/DQ make them superfluous."""
    x = g.around(g.x(1, 4, 8, 8))
    w = g.stored(g.rng.integers(-127, 128, (6, 4, 3, 3)), np.linspace(0.005, 0.01, 6), axis=0)
    b = g.stored(g.rng.integers(-1000, 1000, 6), np.linspace(0.005, 0.01, 6) * 2 / 255, np.int32, axis=0)
    t = g.around(g.op("Conv", x, w, b), 0, 4)
    t = g.around(g.op("Relu", t), 0, 4)
    g.y(g.around(g.op("Clip", t, g.c(0), g.c(6)), 0, 4))


@group((np.uint8, np.uint16), (np.uint16, np.uint8), (np.uint8, np.int8), (np.int8, np.uint8), allowed=0.01)
def requantize(g, one, other):
    """Dequantize and Quantize beside each other."""
    g.y(g.around(g.around(g.op("Relu", g.around(g.x(2, 3, 4), dtype=one)), 0, 1, one), 0, 1, other))


# ---- attention ---------------------------------------------------------------------------------------------------------------------


@group((1, 4, 4, 8, 8, False, 0), (1, 4, 4, 8, 8, True, 0), (2, 4, 4, 8, 8, False, 0), (1, 4, 2, 8, 8, False, 0), (1, 4, 1, 8, 8, True, 0), (1, 4, 4, 8, 8, False, 0.1), (1, 1, 1, 8, 8, False, 0), (1, 4, 4, 6, 9, False, 0), opset=23)
def attention(g, batch, heads, kv, queries, keys, causal, scale):
    extra = {"scale": scale} if scale else {}
    g.y(g.op("Attention", g.x(batch, heads, queries, 16), g.x(batch, kv, keys, 16), g.x(batch, kv, keys, 16), is_causal=int(causal), **extra))


@group((4, 4, False, "none"), (4, 4, True, "none"), (4, 2, False, "none"), (4, 2, True, "float"), (4, 4, False, "float"), (4, 4, False, "bool"), (4, 4, False, "softcap"), opset=23)
def attention_flat(g, heads, kv, causal, mask):
    x = [g.x(1, 8, heads * 16), g.x(1, 8, kv * 16), g.x(1, 8, kv * 16)]
    if mask == "float":
        x.append(g.x(1, heads, 8, 8, low=-0.5, high=0))
    if mask == "bool":
        x.append(g.c(np.tril(np.ones((8, 8))), bool))
    extra = {"softcap": 2.0} if mask == "softcap" else {}
    g.y(g.op("Attention", *x, q_num_heads=heads, kv_num_heads=kv, is_causal=int(causal), **extra))


@group(False, True, opset=23)
def attention_past(g, causal):
    x = [g.x(1, 4, 2, 16), g.x(1, 4, 2, 16), g.x(1, 4, 2, 16), "", g.random(1, 4, 6, 16), g.random(1, 4, 6, 16)]
    g.y(*g.op("Attention", *x, outputs=3, is_causal=int(causal)))


@group((4, False), (4, True))
def multi_head_attention(g, heads, bias):
    x = [g.x(2, 8, heads * 16), g.x(2, 8, heads * 16), g.x(2, 8, heads * 16)]
    g.y(g.op("MultiHeadAttention", *x, *([g.random(3 * heads * 16)] if bias else []), domain="com.microsoft", num_heads=heads))


@group(True, False)
def packed_attention(g, single):
    """Queries, keys and values in one product, as Swin transformers have it."""
    n, s, heads, size = 2, 4, 2, 3
    t = g.op("Transpose", reshaped(g, g.x(n, s, 3 * heads * size), n, s, 3, heads, size), perm=(2, 0, 3, 1, 4))
    q, k, v = (g.op("Gather", t, g.c(i, np.int64), axis=0) for i in range(3))
    p = g.op("MatMul", g.op("Mul", q, g.c(size ** -0.5)), g.op("Transpose", k, perm=(0, 1, 3, 2)))
    p = g.op("Add", p, g.x(n, heads, s, s, low=-0.5, high=0.5))
    if not single:
        p = reshaped(g, g.op("Add", reshaped(g, p, 1, n, heads, s, s), g.x(1, n, heads, s, s, low=-0.5, high=0.5)), n, heads, s, s)
    g.y(g.op("MatMul", g.op("Softmax", p, axis=-1), v))


@group((False, 0, True), (True, 0, True), (False, 4, True), (False, 0, False), opset=23)
def rotary_embedding(g, interleaved, part, positions):
    half = (part or 8) // 2
    caches = [g.random(16, half), g.random(16, half), g.c([[0, 1, 2, 3]], np.int64)] if positions else [g.random(1, 4, half), g.random(1, 4, half)]
    g.y(g.op("RotaryEmbedding", g.x(1, 2, 4, 8), *caches, interleaved=int(interleaved), rotary_embedding_dim=part))


@group(opset=23)
def rms_norm(g):
    g.y(g.op("RMSNormalization", g.x(2, 6, 16), g.random(16, low=0.5, high=1.5), axis=-1))


# ---- others ------------------------------------------------------------------------------------------------------------------------


@group()
def array_feature_extractor(g):
    g.y(g.op("ArrayFeatureExtractor", g.x(3, 8), g.c([1, 5, 2], np.int64), domain="ai.onnx.ml"))


@group()
def inverse(g):
    g.y(g.op("Inverse", g.x(2, 3, 2, 2), domain="com.microsoft"))


@group()
def max_roi_pool(g):
    g.y(g.op("MaxRoiPool", g.x(1, 3, 8, 8), g.c([[0, 0, 0, 4, 4], [0, 2, 1, 7, 6]]), pooled_shape=(2, 2)))


@group()
def dropout(g):
    g.y(g.op("Relu", g.op("Dropout", g.x(2, 3, 4))))


@group(("nearest", 2.0), ("linear", 2.0), opset=9)
def upsample(g, mode, factor):
    g.y(g.op("Upsample", g.x(1, 3, 4, 5), g.c([1, 1, factor, factor]), mode=mode))


@group(True, False)
def if_constant(g, given):
    """A condition that is an input: both branches are in the graph."""
    x = g.x(2, 3)
    name = "cond"
    g.inputs.append(helper.make_tensor_value_info(name, TensorProto.BOOL, ()))
    g.feeds[name] = np.array(given)

    def branch(op, out):
        return helper.make_graph([helper.make_node(op, [x], [out], name=out)], out, [], [helper.make_tensor_value_info(out, 1, (2, 3))])
    g.y(g.op("If", name, then_branch=branch("Relu", "yes"), else_branch=branch("Sigmoid", "no")))


@group(np.uint8, np.uint16, allowed=0.02)
def cast_and_quantize(g, dtype):
    x = g.op("Cast", g.x(2, 3, 4, low=0, high=9, dtype=np.int32), to=1)
    g.y(g.around(g.op("Relu", g.around(x, 0, 9, dtype)), 0, 9, dtype))


@group(np.uint8, np.uint16, allowed=0.02)
def where_constants(g, dtype):
    x = g.around(g.x(2, 3, 4), dtype=dtype)
    g.y(g.around(g.op("Where", g.x(2, 3, 4, dtype=bool), x, g.c(-0.5)), dtype=dtype))


@group(np.uint8, np.uint16, allowed=0.02)
def mixed_precision(g, dtype):
    """An operator in floats between operators in integers."""
    x = g.around(g.x(1, 4, 8, 8), dtype=dtype)
    f = g.op("Sigmoid", x)
    g.y(g.around(g.op("Mul", g.around(f, 0, 1, dtype), x), dtype=dtype), f)

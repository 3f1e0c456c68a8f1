# SPDX-License-Identifier: Apache-2.0
"""Models of one operator for ort_suite.py: in float32, in float16, and with QuantizeLinear and DequantizeLinear around everything."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

# What the activations are, and the weights beside them.
QUANTIZED = {"u8": (np.uint8, np.uint8), "s8": (np.int8, np.int8), "u16": (np.uint16, np.uint8), "s16": (np.int16, np.int8), "u8c": (np.uint8, np.int8),
             "u16c": (np.uint16, np.int8), "u16w16": (np.uint16, np.int16), "u16wu16": (np.uint16, np.uint16)}
WITH_BIAS = ("Conv", "ConvTranspose", "Gemm")


def numbers(shape, words, seed):
    rng = np.random.default_rng(seed)
    if "bool" in words:
        return rng.integers(0, 2, shape).astype(bool)
    if "index" in words:
        limit = int(words[len("index")])
        return rng.integers(0, limit, shape).astype(np.int32 if "int32" in words else np.int64)
    if "int" in words:
        low = 1 if "positive" in words else -9
        return rng.integers(low, 9, shape).astype(np.int64 if "int64" in words else np.int32)
    low, high = (0.2, 2) if "positive" in words else (1.1, 3) if "above" in words else (-0.9, 0.9) if "inner" in words else (-1, 1)
    return rng.uniform(low, high, shape).astype(np.float32)


def scale_of(values, dtype, symmetric):
    info = np.iinfo(dtype)
    low, high = min(float(values.min(initial=0)), 0.0), max(float(values.max(initial=0)), 0.0)
    if symmetric:
        reach = max(-low, high, 1e-4)
        return np.float32(reach / info.max), 0
    scale = max(high - low, 1e-4) / (info.max - info.min)
    return np.float32(scale), int(np.clip(round(info.min - low / scale), info.min, info.max))


class Model:
    """Collects the parts of one graph."""

    def __init__(self, case, seed=1):
        self.case, self.nodes, self.constants, self.inputs, self.feeds = case, [], [], [], {}
        self.parts = []
        for i, part in enumerate(case.inputs):
            if isinstance(part, tuple):
                self.feeds[f"x{i}"] = numbers(*part, seed + i)
            self.parts.append(part)

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, inputs, outputs):
        c = self.case
        self.nodes.append(helper.make_node(c.op, inputs, outputs, name=c.op, domain=c.domain, **c.attributes))

    def finish(self, outputs):
        """Outputs are named only; ONNX Runtime works out the rest (see with_shapes)."""
        given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in self.feeds.items()]
        graph = helper.make_graph(self.nodes, "one", given, [helper.make_empty_tensor_value_info(n) for n in outputs], self.constants)
        opsets = [helper.make_opsetid("", self.case.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return model.SerializeToString(), self.feeds


def is_float(part):
    return part.dtype == np.float32 if isinstance(part, np.ndarray | np.generic) else not any(w in part[1] for w in ("int", "bool", "index"))


def plain(case, dtype=np.float32):
    m = Model(case)
    names = []
    for i, part in enumerate(m.parts):
        if part is None:
            names.append("")
        elif isinstance(part, tuple):
            names.append(f"x{i}")
            if is_float(part):
                m.feeds[f"x{i}"] = m.feeds[f"x{i}"].astype(dtype)
        else:
            # scales of Resize stay what they are
            narrow = is_float(part) and case.op not in ("Resize",)
            names.append(m.constant(f"x{i}", np.asarray(part).astype(dtype) if narrow else part))
    outs = [f"y{i}" for i in range(case.outputs)]
    m.node(names, outs)
    return m.finish(outs)


class Quantized(Model):
    def __init__(self, case, kind):
        super().__init__(case)
        self.active, self.weights = QUANTIZED[kind]
        self.per_channel = kind.endswith("c")
        self.scales = []

    def pair(self, name, source, scale, zero, axis=None):
        extra = {} if axis is None else {"axis": axis}
        self.nodes.append(helper.make_node("DequantizeLinear", [source, scale, zero], [name], **extra))
        return name

    def around(self, name, values, out=None):
        """Quantized and back: the tensor `name` as the operator sees it."""
        scale, zero = scale_of(values, self.active, symmetric=np.issubdtype(self.active, np.signedinteger) and self.active == np.int16)
        s, z = self.constant(name + "_s", scale), self.constant(name + "_z", np.array(zero, self.active))
        self.nodes.append(helper.make_node("QuantizeLinear", [name, s, z], [name + "_q"]))
        self.scales.append(scale)
        return self.pair(out or name + "_d", name + "_q", s, z)

    def fixed(self, i, values):
        """A constant: weights, which may have a scale for each channel."""
        name, op = f"x{i}", self.case.op
        if self.per_channel and op in ("Conv", "ConvTranspose") and i == 1 and not (op == "ConvTranspose" and self.case.attributes.get("group", 1) > 1):
            axis = 0 if op == "Conv" else 1
            rows = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
            scale = np.array([scale_of(r, self.weights, True)[0] for r in rows], np.float32)
            zero = np.zeros(len(scale), self.weights)
        else:
            axis = None
            scale, zero = scale_of(values, self.weights, np.issubdtype(self.weights, np.signedinteger))
            zero = np.array(zero, self.weights)
        shape = [1] * values.ndim
        if axis is not None:
            shape[axis] = -1
        info = np.iinfo(self.weights)
        q = np.clip(np.round(values / np.reshape(scale, shape)) + np.reshape(zero, shape), info.min, info.max).astype(self.weights)
        self.scales.append(scale)
        return self.pair(name, self.constant(name + "_q", q), self.constant(name + "_s", scale), self.constant(name + "_z", zero), axis)

    def bias(self, i, values):
        name = f"x{i}"
        scale = np.asarray(self.scales[0] * self.scales[1], np.float32)
        q = np.clip(np.round(values / scale), -(2**31), 2**31 - 1).astype(np.int32)
        axis = 0 if scale.ndim else None
        return self.pair(name, self.constant(name + "_q", q), self.constant(name + "_s", scale), self.constant(name + "_z", np.zeros(scale.shape, np.int32)), axis)


def quantized(case, kind, results):
    """`results` are the outputs of the float32 model: their ranges become the scales."""
    m = Quantized(case, kind)
    names = []
    for i, part in enumerate(m.parts):
        if part is None:
            names.append("")
        elif isinstance(part, tuple):
            names.append(m.around(f"x{i}", m.feeds[f"x{i}"]) if is_float(part) else f"x{i}")
        elif not is_float(part) or np.ndim(part) == 0 or case.op in ("Resize",):
            names.append(m.constant(f"x{i}", part))
        elif i == 2 and case.op in WITH_BIAS:
            names.append(m.bias(i, part))
        else:
            names.append(m.fixed(i, part))
    m.node(names, [f"t{i}" for i in range(case.outputs)])
    outs = []
    for i, r in enumerate(results):
        if r.dtype != np.float32:
            outs.append(f"t{i}")
            continue
        outs.append(m.around(f"t{i}", r, f"y{i}"))
    return m.finish(outs)


def with_shapes(model, results):
    """The model with outputs as they turned out to be: some operators of the provider need their shapes."""
    m = onnx.load_from_string(model)
    for out, value in zip(m.graph.output, results):
        out.CopyFrom(helper.make_tensor_value_info(out.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    return m.SerializeToString()

# SPDX-License-Identifier: Apache-2.0
"""The QNN API as a client in Python sees it: one library (OPENQNN_TEST_LIB), graphs built from numpy arrays by the calls that execution providers make.

    g = Graph(library, version=2)
    y = g.output((2, 3), "f32")
    g.node("Relu", [g.input(x, "f32")], [y])
    result, = g.run()

Every node is validated before it is added, with the tensors it is added with. Encodings are keyword arguments: scale and offset; scales, offsets and axis; bits
with either; block with scales (BLOCK, or BW_FLOAT_BLOCK where bits is given too); expansion=(scales, block scales) with axis.
"""
import ctypes as C
import os

import numpy as np

APP_WRITE, APP_READ, NATIVE, STATIC, NULL, UPDATEABLE_STATIC = 0, 1, 3, 4, 5, 6
UPDATABLE = 1  # the section of a binary
UNDEFINED = 0x7fffffff
NUMBERS = {  # of a type: the API's, and what numpy keeps it in
    "i8": (0x008, np.int8), "i16": (0x016, np.int16), "i32": (0x032, np.int32), "i64": (0x064, np.int64),
    "u8": (0x108, np.uint8), "u16": (0x116, np.uint16), "u32": (0x132, np.uint32), "u64": (0x164, np.uint64),
    "f16": (0x216, np.float16), "f32": (0x232, np.float32), "b8": (0x508, np.uint8),
    "sq8": (0x308, np.int8), "sq16": (0x316, np.int16), "sq32": (0x332, np.int32),
    "uq8": (0x408, np.uint8), "uq16": (0x416, np.uint16), "sq4": (0x304, np.int8),
}
EXPANSION, BLOCK, BW_AXIS, AXIS, BW_TENSOR, PER_TENSOR, BW_FLOAT_BLOCK = 5, 4, 3, 1, 2, 0, 11

U32, I32, F32, P = C.c_uint32, C.c_int32, C.c_float, C.c_void_p


class Pair(C.Structure):
    _fields_ = [("scale", F32), ("offset", I32)]


class Axis(C.Structure):
    _fields_ = [("axis", I32), ("n", U32), ("pairs", P)]


class BwTensor(C.Structure):
    _fields_ = [("bits", U32), ("scale", F32), ("offset", I32)]


class BwAxis(C.Structure):
    _fields_ = [("bits", U32), ("axis", I32), ("n", U32), ("scales", P), ("offsets", P)]


class Blocks(C.Structure):
    _fields_ = [("sizes", P), ("pairs", P)]


class BwBlocks(C.Structure):
    _fields_ = [("bits", U32), ("sizes", P), ("pairs", P)]


class Expansion(C.Structure):
    _fields_ = [("axis", I32), ("pairs", P), ("blocks", U32), ("bits", U32), ("storage", U32), ("block_scales", P)]


class Encodings(C.Union):
    _fields_ = [("tensor", Pair), ("axis", Axis), ("bw_tensor", BwTensor), ("bw_axis", BwAxis), ("blocks", Blocks), ("bw_blocks", BwBlocks), ("pointer", P)]


class Quantize(C.Structure):
    _fields_ = [("definition", U32), ("encoding", U32), ("u", Encodings)]


class Buffer(C.Structure):
    _fields_ = [("data", P), ("size", U32)]


class TensorV2(C.Structure):
    _fields_ = [("id", U32), ("name", C.c_char_p), ("type", U32), ("format", U32), ("dtype", U32), ("quantize", Quantize), ("rank", U32),
                ("dims", C.POINTER(U32)), ("memory", U32), ("buffer", Buffer), ("dynamic", P), ("sparse", U32 * 3), ("produced", C.c_uint8)]


class Tensor(C.Structure):
    _fields_ = [("version", U32), ("v", TensorV2)]  # version 1 is a prefix


class Number(C.Union):
    _fields_ = [("f32", F32), ("u32", U32), ("i32", I32), ("b8", C.c_uint8), ("u64", C.c_uint64)]


class Scalar(C.Structure):
    _fields_ = [("dtype", U32), ("u", Number)]


class ParamValue(C.Union):
    _fields_ = [("scalar", Scalar), ("tensor", Tensor)]


class Param(C.Structure):
    _fields_ = [("kind", U32), ("name", C.c_char_p), ("u", ParamValue)]


class OpConfig(C.Structure):
    _fields_ = [("version", U32), ("name", C.c_char_p), ("package", C.c_char_p), ("type", C.c_char_p), ("n_params", U32), ("params", C.POINTER(Param)),
                ("n_in", U32), ("ins", C.POINTER(Tensor)), ("n_out", U32), ("outs", C.POINTER(Tensor))]


FUNCTIONS = """propertyHasCapability backendCreate backendSetConfig backendGetApiVersion backendGetBuildId backendRegisterOpPackage
    backendGetSupportedOperations backendValidateOpConfig backendFree contextCreate contextSetConfig contextGetBinarySize contextGetBinary
    contextCreateFromBinary contextFree graphCreate graphCreateSubgraph graphSetConfig graphAddNode graphFinalize graphRetrieve graphExecute
    graphExecuteAsync tensorCreateContextTensor tensorCreateGraphTensor logCreate logSetLogLevel logFree profileCreate profileSetConfig profileGetEvents
    profileGetSubEvents profileGetEventData profileGetExtendedEventData profileFree memRegister memDeRegister deviceGetPlatformInfo
    deviceFreePlatformInfo deviceGetInfrastructure deviceCreate deviceSetConfig deviceGetInfo deviceFree signalCreate signalSetConfig signalTrigger
    signalFree errorGetMessage errorGetVerboseMessage errorFreeVerboseMessage graphPrepareExecutionEnvironment graphReleaseExecutionEnvironment
    graphGetProperty contextValidateBinary contextCreateFromBinaryWithSignal contextCreateFromBinaryListAsync tensorUpdateGraphTensors
    tensorUpdateContextTensors contextGetBinarySectionSize contextGetBinarySection contextApplyBinarySection""".split()


class SectionBuffer(C.Structure):
    _fields_ = [("version", C.c_uint64), ("memory", C.c_uint64), ("data", P), ("size", C.c_uint64)]  # enums, padded


class Provider(C.Structure):
    _fields_ = [("id", U32), ("name", C.c_char_p), ("versions", U32 * 6)] + [(n, P) for n in FUNCTIONS]


class GraphConfig(C.Structure):
    _fields_ = [("option", U32), ("custom", P)]


class HtpGraphConfig(C.Structure):
    _fields_ = [("option", U32), ("value", C.c_uint64 * 4)]  # the union's members all start here


PRECISION, FLOAT16 = 2, 1  # of an HTP graph


class QnnError(Exception):
    pass


class Library:
    """A backend library with its backend and device."""

    def __init__(self):
        self.name = os.environ.get("OPENQNN_TEST_LIB", "libQnnCpu.so")
        self.so = C.CDLL(os.path.join(os.environ["OPENQNN_LIB_DIR"], self.name))
        providers, n = C.POINTER(C.POINTER(Provider))(), U32()
        assert self.so.QnnInterface_getProviders(C.byref(providers), C.byref(n)) == 0
        for f in FUNCTIONS:
            by_value = [P, OpConfig] if f in ("backendValidateOpConfig", "graphAddNode") else []
            setattr(self, f, C.CFUNCTYPE(C.c_uint64, *by_value)(getattr(providers[0].contents, f)))
        self.silent = C.CFUNCTYPE(None, C.c_char_p, U32, C.c_uint64, P)(lambda *_: None)
        self.log, self.backend, self.device = P(), P(), P()
        self.must("logCreate", self.logCreate(self.silent, U32(1), C.byref(self.log)))
        self.must("backendCreate", self.backendCreate(self.log, None, C.byref(self.backend)))
        if "Htp" in self.name:
            self.must("deviceCreate", self.deviceCreate(self.log, None, C.byref(self.device)))

    def must(self, call, result):
        code, text = result & 0xffff, C.c_char_p()
        if code:
            self.errorGetVerboseMessage(C.c_uint64(code), C.byref(text))
            raise QnnError(f"{call}: {code}: {(text.value or b'no explanation').decode()}")


class Value:
    """A tensor of a graph: the API's structure, and the array behind it."""

    def __init__(self, shape, dtype, kind, array=None):
        self.shape, self.dtype, self.kind = tuple(int(d) for d in shape), dtype, kind
        self.array = None if array is None else np.ascontiguousarray(array, NUMBERS[dtype][1])
        if dtype == "sq4":  # two in a byte, the first one in the lower half
            self.array = self.array.ravel()[::2] & 15 | self.array.ravel()[1::2] << 4
        self.tensor = Tensor()


class Graph:
    """A context with one graph. version: of the tensor structures; half: with the precision FLOAT16, where the library is that of the HTP; updates: constants
    are zeros first, and become what they are by an update, of which a context binary has the section."""

    def __init__(self, library, version=1, half=False, updates=False):
        self.updates, self.constants, self.base, self.section = updates, [], None, None
        self.lib, self.version, self.kept, self.names, self.inputs, self.outputs = library, version, [], 0, [], []
        self.context, self.graph, self.runs, self.results = P(), P(), 0, []
        library.must("contextCreate", library.contextCreate(library.backend, library.device or None, None, C.byref(self.context)))
        custom = HtpGraphConfig(PRECISION, (C.c_uint64 * 4)(FLOAT16))
        config = GraphConfig(0, C.addressof(custom))
        configs = (P * 2)(C.addressof(config)) if half and "Htp" in library.name else None
        library.must("graphCreate", library.graphCreate(self.context, b"graph", configs, C.byref(self.graph)))

    def close(self):
        self.lib.must("contextFree", self.lib.contextFree(self.context, None))

    def _name(self, stem):
        self.names += 1
        return f"{stem}_{self.names}".encode()

    def _keep(self, array, dtype):
        self.kept.append(np.ascontiguousarray(array, dtype))
        return self.kept[-1].ctypes.data

    def _pairs(self, scales, offsets, dtype=np.int32):
        pairs = np.zeros(len(scales), np.dtype([("s", np.float32), ("o", dtype)]))
        pairs["s"], pairs["o"] = scales, 0 if offsets is None else offsets
        return self._keep(pairs, pairs.dtype)

    def _blocks(self, u, block, scales, offsets, bits):
        if not bits:
            u.blocks = Blocks(self._keep(block, np.uint32), self._pairs(scales, offsets))
            return BLOCK
        u.bw_blocks = BwBlocks(bits, self._keep(block, np.uint32), self._pairs(scales, offsets, np.float32))
        return BW_FLOAT_BLOCK

    def _encode(self, u, scale=None, offset=0, scales=None, offsets=None, axis=0, bits=0, block=None, expansion=None):
        if expansion:
            e = Expansion(axis, self._pairs(expansion[0], None), np.shape(expansion[1])[1], 4, 0, self._keep(expansion[1], np.uint8))
            self.kept.append(e)
            u.pointer = C.addressof(e)
            return EXPANSION
        if block:
            return self._blocks(u, block, scales, offsets, bits)
        if scales is not None and bits:
            u.bw_axis = BwAxis(bits, axis, len(scales), self._keep(scales, np.float32), None if offsets is None else self._keep(offsets, np.int32))
            return BW_AXIS
        if scales is not None:
            u.axis = Axis(axis, len(scales), self._pairs(scales, offsets))
            return AXIS
        if bits:
            u.bw_tensor = BwTensor(bits, scale, offset)
            return BW_TENSOR
        u.tensor = Pair(scale, offset)
        return PER_TENSOR

    def _create(self, value, encoding):
        t = value.tensor
        t.version, t.v.name, t.v.type, t.v.dtype, t.v.rank = self.version, self._name("t"), value.kind, NUMBERS[value.dtype][0], len(value.shape)
        t.v.dims = C.cast(self._keep(value.shape, np.uint32), C.POINTER(U32)) if value.shape else None
        t.v.quantize.definition = t.v.quantize.encoding = UNDEFINED
        if encoding:
            t.v.quantize.encoding = self._encode(t.v.quantize.u, **encoding)
            t.v.quantize.definition = 1
        if value.kind in (STATIC, UPDATEABLE_STATIC):
            t.v.buffer = Buffer(self._keep(np.zeros_like(value.array), value.array.dtype) if value.kind == UPDATEABLE_STATIC else value.array.ctypes.data,
                                value.array.nbytes)
        self.lib.must("tensorCreateGraphTensor", self.lib.tensorCreateGraphTensor(self.graph, C.byref(t)))
        self.kept.append(value)
        return value

    def input(self, array, dtype, **encoding):
        self.inputs.append(self._create(Value(np.shape(array), dtype, APP_WRITE, array), encoding))
        return self.inputs[-1]

    def const(self, array, dtype, **encoding):
        value = self._create(Value(np.shape(array), dtype, UPDATEABLE_STATIC if self.updates else STATIC, array), encoding)
        self.constants += [value] if self.updates else []
        return value

    def native(self, shape, dtype, **encoding):
        return self._create(Value(shape, dtype, NATIVE), encoding)

    def output(self, shape, dtype, **encoding):
        self.outputs.append(self._create(Value(shape, dtype, APP_READ), encoding))
        return self.outputs[-1]

    def _absent(self):
        t = Tensor(version=self.version)
        t.v.type, t.v.dtype, t.v.name = NULL, UNDEFINED, self._name("absent")
        return t

    def _param(self, to, name, value):
        """A scalar is a pair of number and type, a tensor a list (UINT_32) or a pair of array and type."""
        to.name = name.encode()
        if isinstance(value, tuple) and np.ndim(value[0]) == 0:
            to.u.scalar.dtype = NUMBERS[value[1]][0]
            setattr(to.u.scalar.u, "f32" if value[1] == "f16" else value[1], value[0])
            return
        array, dtype = value if isinstance(value, tuple) else (value, "u32")
        to.kind, to.u.tensor = 1, self._create(Value(np.shape(array), dtype, STATIC, np.asarray(array)), {}).tensor

    def node(self, op, ins, outs, params=None, name=None):
        """None among ins or outs is an optional tensor that is not there."""
        params = params or {}
        p = (Param * max(1, len(params)))()
        for to, (key, value) in zip(p, params.items()):
            self._param(to, key, value)
        i, o = ((Tensor * max(1, len(side)))(*[v.tensor if v else self._absent() for v in side]) for side in (ins, outs))
        config = OpConfig(1, name or self._name("node"), b"qti.aisw", op.encode(), len(params), p, len(ins), i, len(outs), o)
        self.kept.append((p, i, o, config))
        self.lib.must(f"validate {op}", self.lib.backendValidateOpConfig(self.lib.backend, config))
        self.lib.must(f"add {op}", self.lib.graphAddNode(self.graph, config))

    def execute(self):
        i, o = ((Tensor * max(1, len(side)))(*[v.tensor for v in side]) for side in (self.inputs, self.outputs))
        for t, v in zip(i, self.inputs):
            t.v.buffer = Buffer(v.array.ctypes.data, v.array.nbytes)
        results = [np.frombuffer(b"\x5c" * (int(np.prod(v.shape)) * np.dtype(NUMBERS[v.dtype][1]).itemsize), NUMBERS[v.dtype][1]).reshape(v.shape).copy()
                   for v in self.outputs]
        for t, r in zip(o, results):
            t.v.buffer = Buffer(r.ctypes.data, r.nbytes)
        self.lib.must("execute", self.lib.graphExecute(self.graph, i if self.inputs else None, U32(len(self.inputs)), o, U32(len(self.outputs)), None, None))
        self.runs, self.results = self.runs + 1, results
        return results

    def run(self):
        self.lib.must("finalize", self.lib.graphFinalize(self.graph, None, None))
        if self.constants:
            self._update()
        return self.execute()

    def _binary(self):
        size, written = C.c_uint64(), C.c_uint64()
        self.lib.must("contextGetBinarySize", self.lib.contextGetBinarySize(self.context, C.byref(size)))
        binary = C.create_string_buffer(size.value)
        self.lib.must("contextGetBinary", self.lib.contextGetBinary(self.context, binary, size, C.byref(written)))
        return binary, written

    def _update(self):
        self.base = self._binary()
        for value in self.constants:
            value.tensor.v.buffer = Buffer(value.array.ctypes.data, value.array.nbytes)
        tensors = (P * len(self.constants))(*[C.addressof(v.tensor) for v in self.constants])
        self.lib.must("update", self.lib.tensorUpdateGraphTensors(self.graph, tensors, C.c_uint64(len(self.constants))))
        self.lib.must("finalize again", self.lib.graphFinalize(self.graph, None, None))
        size, written = C.c_uint64(), C.c_uint64()
        self.lib.must("section size", self.lib.contextGetBinarySectionSize(self.context, self.graph, U32(UPDATABLE), C.byref(size)))
        self.section = C.create_string_buffer(size.value)
        buffer = SectionBuffer(1, 0, C.addressof(self.section), size)
        self.lib.must("section", self.lib.contextGetBinarySection(self.context, self.graph, U32(UPDATABLE), C.byref(buffer), C.byref(written), None, None))

    def reload(self):
        """The same graph from a context binary. Returns whether its results have the bits of the run before; a graph that ran more than once may have a state."""
        context, before = P(), self.results
        binary, written = self.base or self._binary()
        self.lib.must("contextCreateFromBinary", self.lib.contextCreateFromBinary(self.lib.backend, self.lib.device or None, None, binary, written, C.byref(context), None))
        self.close()
        self.context = context
        self.lib.must("graphRetrieve", self.lib.graphRetrieve(self.context, b"graph", C.byref(self.graph)))
        if self.section:
            buffer = SectionBuffer(1, 0, C.addressof(self.section), len(self.section))
            self.lib.must("apply", self.lib.contextApplyBinarySection(self.context, self.graph, U32(UPDATABLE), C.byref(buffer), None, None))
        return all(a.tobytes() == b.tobytes() for a, b in zip(before, self.execute()))

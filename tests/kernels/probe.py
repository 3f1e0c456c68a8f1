# SPDX-License-Identifier: Apache-2.0
"""Python side of the kernel probe (probe.c): describe an operator with numpy arrays, run it, get arrays back.

    p = Probe()
    y = p.run("Relu", [T(x, "f32")], [O((2, 3), "f32")])[0]
    y = p.run("Conv2d", [T(q, "uq8", scale=0.1, offset=-3), T(w, "sq8", scales=s, axis=3, const=True), None],
              [O(shape, "uq8", scale=0.2, offset=0)], {"stride": u32([1, 1]), "pad_amount": u32([[0, 0], [0, 0]])})

A fixed-point array holds the stored integers. Packed types (2 and 4 bits) are given one value per element and packed here. Failures raise ProbeError with the library's sentence.
"""
import atexit
import ctypes as C
import os
import sys

import numpy as np

MAX_RANK = 8
ISA = {"ref": 0, "avx2": 1, "avxvnni": 2, "avx512": 3, "amx": 4}
NUMPY = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.uint16,
    "sq8": np.int8, "sq16": np.int16, "sq32": np.int32, "sq4": np.int8,
    "uq8": np.uint8, "uq16": np.uint16, "uq32": np.uint32, "uq4": np.uint8, "b8": np.uint8,
    "sq2": np.int8, "uq2": np.uint8, "i4": np.int8, "u4": np.uint8, "i2": np.int8, "u2": np.uint8,
}
PACKED = {"sq4": 4, "uq4": 4, "i4": 4, "u4": 4, "sq2": 2, "uq2": 2, "i2": 2, "u2": 2}  # bits
Q_NONE, Q_TENSOR, Q_AXIS, Q_BLOCK, Q_EXPANSION, Q_VECTOR, Q_FLOAT_BLOCK = range(7)


class ProbeError(Exception):
    pass


class _Tensor(C.Structure):
    _fields_ = [("type", C.c_uint32), ("rank", C.c_uint32), ("dims", C.c_uint32 * MAX_RANK),
                ("quant_kind", C.c_uint32), ("bits", C.c_uint32), ("axis", C.c_int32), ("n", C.c_uint32),
                ("scales", C.c_void_p), ("offsets", C.c_void_p), ("data", C.c_void_p), ("bytes", C.c_uint64),
                ("is_constant", C.c_uint32), ("absent", C.c_uint32), ("mapping", C.c_uint32), ("blocks_per_axis", C.c_uint32),
                ("block_scale_storage", C.c_uint32), ("block_scale_bits", C.c_uint32), ("block", C.c_uint32 * MAX_RANK),
                ("block_scales", C.c_void_p), ("float_offsets", C.c_void_p)]


class _Param(C.Structure):
    _fields_ = [("name", C.c_char_p), ("type", C.c_uint32), ("rank", C.c_uint32), ("dims", C.c_uint32 * MAX_RANK),
                ("count", C.c_uint32), ("data", C.c_void_p)]


class _Case(C.Structure):
    _fields_ = [("op", C.c_char_p), ("n_in", C.c_uint32), ("n_out", C.c_uint32), ("n_params", C.c_uint32),
                ("isa", C.c_uint32), ("ins", C.POINTER(_Tensor)), ("outs", C.POINTER(_Tensor)),
                ("params", C.POINTER(_Param)), ("post_lo", C.c_float), ("post_hi", C.c_float),
                ("tiles", C.c_uint32), ("use_aux", C.c_uint32), ("state", C.c_void_p), ("state_room", C.c_uint64),
                ("state_bytes", C.c_uint64), ("ended", C.c_uint32), ("kernel", C.c_char * 64), ("facts", C.c_char * 8),
                ("text", C.c_char * 1024)]


class T:
    """An operand: array of stored values, type name, encoding. scale/offset: per tensor; scales/offsets and axis: per axis."""

    def __init__(self, array, dtype, scale=None, offset=0, scales=None, offsets=None, axis=-1, bits=0, const=False, mapping=0, block=None,
                 float_offsets=None, block_scales=None):
        """block: sizes per dimension, scales being one per block; block_scales: [scales, blocks] integers of an expansion along axis."""
        self.array = None if array is None else np.ascontiguousarray(array, dtype=NUMPY[dtype])
        self.shape = None if array is None else np.shape(array)
        self.dtype, self.bits, self.axis, self.const = dtype, bits, axis, const
        self.kind = Q_AXIS if scales is not None else Q_TENSOR if scale is not None else Q_NONE
        self.scales = np.atleast_1d(np.asarray(scales if scales is not None else (scale or 0), np.float32))
        o = offsets if offsets is not None else np.zeros(len(self.scales)) if scales is not None else offset
        self.offsets = np.atleast_1d(np.asarray(o, np.int32))
        self.mapping, self.block, self.block_scales = mapping, block, block_scales
        self.float_offsets = None if float_offsets is None else np.asarray(float_offsets, np.float32)
        if block is not None:
            self.kind = Q_BLOCK if float_offsets is None else Q_FLOAT_BLOCK
        if block_scales is not None:
            self.kind = Q_EXPANSION


class O(T):
    """An output: shape, type name, encoding."""

    def __init__(self, shape, dtype, **k):
        super().__init__(np.zeros(shape, NUMPY[dtype]), dtype, **k)


class P:
    """A parameter value: array or scalar with a type name."""

    def __init__(self, value, dtype):
        self.array = np.asarray(value, NUMPY[dtype])
        self.dtype = dtype


def u32(v):
    return P(v, "u32")


def i32(v):
    return P(v, "i32")


def f32(v):
    return P(v, "f32")


def b8(v):
    return P(v, "b8")


def spread_blocks(values, shape, block):
    """One value per block, listed as scales are (docs/numerics.md section 3), for every element of a tensor."""
    grid, order = [d // b for d, b in zip(shape, block)], list(range(len(shape)))
    if len(order) > 1 and block[-1] == 1:
        order = [order[-1], order[-2], *order[:-2]]
    a = np.asarray(values).reshape([grid[i] for i in order]).transpose(np.argsort(order))
    for i, b in enumerate(block):
        a = np.repeat(a, b, axis=i)
    return a


def scaled(n):
    """Number of random cases under OPENQNN_TEST_SCALE (percent)."""
    return max(1, n * int(os.environ.get("OPENQNN_TEST_SCALE", "100")) // 100)


def pack(a, dtype):
    """Stored values, one per byte, as the packed types have them: the first in the lowest bits."""
    bits = PACKED[dtype]
    flat = a.reshape(-1).astype(np.int16) & (2 ** bits - 1)
    flat = np.append(flat, np.zeros(-len(flat) % (8 // bits), np.int16)).reshape(-1, 8 // bits)
    return sum(flat[:, i] << (i * bits) for i in range(8 // bits)).astype(np.uint8)


def unpack(raw, dtype, count):
    bits = PACKED[dtype]
    v = np.stack([raw >> (i * bits) & (2 ** bits - 1) for i in range(8 // bits)], -1).reshape(-1)[:count].astype(np.int8)
    return np.where(v >> (bits - 1), v - 2 ** bits, v).astype(np.int8) if NUMPY[dtype] is np.int8 else v.astype(np.uint8)


def _features(ins, outs, results):
    """What was special about a case, in words: ops_doc.py asks that every operator had all that can happen to it."""
    for t in ins:
        if t.dtype in ("f32", "f16") and not t.const:
            yield "float"
            if np.isnan(t.array).any():
                yield "nan"
            if np.isinf(t.array).any():
                yield "infinity"
        if any(d % 2 and d > 1 for d in t.shape):
            yield "odd"
        if 1 in t.shape:
            yield "one"
    for t, r in zip(outs, results):
        if t.dtype[1:2] == "q" and t.kind == Q_TENSOR and not t.bits:
            info = np.iinfo(NUMPY[t.dtype])
            yield "fixed"
            if (r == info.min).any():
                yield "lowest"
            if (r == info.max).any():
                yield "highest"


class Probe:
    def __init__(self, path=None):
        path = path or os.environ.get("OPENQNN_PROBE") or (sys.argv[1] if len(sys.argv) > 1 else None)
        self.lib = C.CDLL(path)
        self.lib.probe_run.argtypes = [C.POINTER(_Case)]
        assert self.lib.probe_struct_size() == C.sizeof(_Case), "probe.py and probe.c disagree about struct probe_case"
        self.types = {n: self.lib.probe_dtype(n.encode()) for n in NUMPY}
        self.isa = self.lib.probe_isa()
        self.kernel = ""
        self.swept = set()
        self.features = {} if os.environ.get("OPENQNN_OPS_LOG") else None
        self.ran = set()  # (operator, input types, output types, parameters, kernel, facts) of every case that ran, for ops_doc.py
        if os.environ.get("OPENQNN_OPS_LOG"):
            atexit.register(self._write_log)
        self.walk = None
        if os.environ.get("OPENQNN_GPU_WALK"):
            from gpu_walk import Walk
            self.walk = Walk(os.environ["OPENQNN_GPU_WALK"])

    GUARD = 64

    def _write_log(self):
        with open(os.environ["OPENQNN_OPS_LOG"], "a") as f:
            f.writelines("\t".join(row) + "\n" for row in sorted(self.ran))
            f.writelines(f"!\t{op}\t{' '.join(sorted(words))}\n" for op, words in sorted(self.features.items()))

    def _sweep(self, case, kind):
        """Once per kind of case: whatever else op_check would accept in its place must have a kernel (sweep.c)."""
        path = os.environ.get("OPENQNN_OPS_SWEEP")
        if not path or kind in self.swept:
            return
        self.swept.add(kind)
        text, accepted = C.create_string_buffer(1 << 20), C.c_uint32()
        gaps = self.lib.probe_sweep(C.byref(case), text, len(text), C.byref(accepted))
        with open(path, "a") as f:
            f.write(f"#\t{kind[0]}\t{accepted.value}\n" + (text.value.decode() if gaps else ""))

    def _tensor(self, t, keep, writable):
        c = _Tensor()
        if t is None:
            c.absent = 1
            return c
        c.type = self.types[t.dtype]
        c.rank = len(t.shape)
        for i, d in enumerate(t.shape):
            c.dims[i] = d
        c.quant_kind, c.bits, c.axis, c.n = t.kind, t.bits, t.axis, len(t.scales)
        c.scales, c.offsets = t.scales.ctypes.data, t.offsets.ctypes.data
        c.mapping = t.mapping
        if t.block is not None:
            c.block[:len(t.block)] = t.block
        if t.float_offsets is not None:
            c.float_offsets = t.float_offsets.ctypes.data
        if t.block_scales is not None:
            c.block_scales, c.blocks_per_axis = t.block_scales.ctypes.data, t.block_scales.shape[1]
            c.block_scale_storage = c.block_scale_bits = 8 * t.block_scales.itemsize
        raw = pack(t.array, t.dtype) if t.dtype in PACKED else t.array
        raw = np.frombuffer(raw.tobytes(), np.uint8)
        buf = np.full(len(raw) + 2 * self.GUARD + 64, 0x5c, np.uint8)
        start = self.GUARD + (-(buf.ctypes.data + self.GUARD)) % 64
        if not writable:
            buf[start:start + len(raw)] = raw
        c.data, c.bytes, c.is_constant = buf.ctypes.data + start, len(raw), int(t.const)
        keep.append((buf, start, len(raw), t))
        return c

    def run(self, op, ins, outs, params=None, isa="ref", post=(-np.inf, np.inf), tiles=1, aux=True, state=None):
        """state: what the operator keeps between runs, an array of bytes that is long enough, at first all zero."""
        ins = [T(*x) if isinstance(x, tuple) else x for x in ins]
        kin, kout, kpar = [], [], []
        cin = (_Tensor * max(1, len(ins)))(*[self._tensor(t, kin, False) for t in ins])
        cout = (_Tensor * max(1, len(outs)))(*[self._tensor(t, kout, True) for t in outs])
        cpar = (_Param * max(1, len(params or {})))()
        for i, (name, p) in enumerate((params or {}).items()):
            a = np.ascontiguousarray(p.array).reshape(p.array.shape)
            kpar.append((a, name.encode()))
            cpar[i].name, cpar[i].type, cpar[i].rank = kpar[-1][1], self.types[p.dtype], a.ndim
            for j, d in enumerate(a.shape):
                cpar[i].dims[j] = d
            cpar[i].count, cpar[i].data = a.size, a.ctypes.data
        c = _Case(op=op.encode(), n_in=len(ins), n_out=len(outs), n_params=len(params or {}), isa=ISA[isa], ins=cin, outs=cout,
                  params=cpar, post_lo=post[0], post_hi=post[1], tiles=tiles, use_aux=int(aux))
        if state is not None:
            c.state, c.state_room = state.ctypes.data, state.nbytes
        before = None if state is None else state.tobytes()
        status = self.lib.probe_run(C.byref(c))
        self.kernel, self.state_bytes, self.ended = c.kernel.decode(), c.state_bytes, bool(c.ended)
        if status:
            raise ProbeError(c.text.decode())
        self._sweep(c, (op, tuple(sorted(params or {})), tuple(len(t.shape) if t is not None else -1 for t in ins)))
        types = [" ".join(t.dtype if t is not None else "-" for t in side) for side in (ins, outs)]
        self.ran.add((op, *types, " ".join(params or {}), self.kernel, c.facts.decode()))
        result = []
        for buf, start, n, t in kin + kout:
            assert (buf[:start] == 0x5c).all() and (buf[start + n:] == 0x5c).all(), f"{self.kernel}: wrote outside of a tensor"
        for buf, start, n, t in kout:
            raw = buf[start:start + n]
            if t.dtype in PACKED:
                raw = unpack(raw, t.dtype, int(np.prod(t.shape, dtype=np.int64)))
            result.append(np.frombuffer(raw.tobytes(), NUMPY[t.dtype]).reshape(t.shape))
        if self.features is not None:
            self.features.setdefault(op, set()).update(_features([t for t in ins if t is not None], outs, result))
        if self.walk and not self.ended:
            self.walk.case(op, c, ins, outs, result, before, None if state is None else state.tobytes())
        return result

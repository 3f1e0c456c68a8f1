# SPDX-License-Identifier: Apache-2.0
"""TFLite files made by hand, for tests: a writer of flatbuffers and the few tables a small model needs.

    m = Model()
    x = m.tensor([1, 4], "float32", name="x")
    y = m.tensor([1, 4], "float32", name="y")
    m.op(19, [x], [y])                    # RELU
    data = m.file([x], [y])

A table is a dict from field number to (kind, value): i8 i32 u32 i64 f32, str, bytes, u16s i32s f32s i64s, table, tables.
"""

import struct

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "string": 5, "bool": 6, "int16": 7, "complex64": 8, "int8": 9, "resource": 13}
FORMATS = {"float32": "f", "float16": "e", "int32": "i", "uint8": "B", "int64": "q", "bool": "?", "int16": "h", "int8": "b"}
INLINE = {"i8": ("b", 1), "i32": ("i", 4), "u32": ("I", 4), "i64": ("q", 8), "f32": ("f", 4)}


class Writer:
    """Parents before children, so that every offset points forward as the format wants."""

    def __init__(self):
        self.buf = bytearray(b"\0\0\0\0TFL3")

    def align(self, n, ahead=0):
        while (len(self.buf) + ahead) % n:
            self.buf.append(0)

    def root(self, table):
        struct.pack_into("<I", self.buf, 0, self.table(table))
        return bytes(self.buf)

    def table(self, fields):
        fields = {k: v for k, v in fields.items() if v is not None}
        order = sorted(fields, key=lambda k: -INLINE.get(fields[k][0], ("I", 4))[1])
        at, size = {}, 4
        for k in order:
            width = INLINE.get(fields[k][0], ("I", 4))[1]
            size += -size % width
            at[k] = size
            size += width
        count = max(fields, default=-1) + 1
        self.align(8, ahead=4 + 2 * count)
        vtable = len(self.buf)
        self.buf += struct.pack("<HH", 4 + 2 * count, size) + b"".join(struct.pack("<H", at.get(k, 0)) for k in range(count))
        self.align(8)
        pos = len(self.buf)
        self.buf += struct.pack("<i", pos - vtable) + bytes(size - 4)
        for k in order:
            kind, value = fields[k]
            if kind in INLINE:
                struct.pack_into("<" + INLINE[kind][0], self.buf, pos + at[k], value)
        for k in sorted(fields):
            kind, value = fields[k]
            if kind not in INLINE:
                self.refer(pos + at[k], kind, value)
        return pos

    def refer(self, slot, kind, value):
        if kind == "table":
            to = self.table(value)
        elif kind == "tables":
            to = self.count(value)
            slots = len(self.buf)
            self.buf += bytes(4 * len(value))
            for i, v in enumerate(value):
                self.refer(slots + 4 * i, "table", v)
        elif kind in ("str", "bytes"):
            data = value.encode() if kind == "str" else value
            self.align(16, ahead=4)
            to = self.count(data)
            self.buf += data + (b"\0" if kind == "str" else b"")
        else:
            letter = {"u16s": "H", "i32s": "i", "f32s": "f", "i64s": "q"}[kind]
            self.align(8, ahead=4)
            to = self.count(value)
            self.buf += struct.pack("<%d%s" % (len(value), letter), *value)
        struct.pack_into("<I", self.buf, slot, to - slot)

    def count(self, items):
        self.align(4)
        to = len(self.buf)
        self.buf += struct.pack("<I", len(items))
        return to


class Graph:
    def __init__(self, model, name):
        self.model, self.name, self.tensors, self.ops = model, name, [], []

    def tensor(self, shape, dtype, name=None, data=None, scale=None, zero=None, axis=0, variable=False, sparsity=None, signature=None):
        """data: a list of numbers, or bytes. scale: a number, or a list with one per element of axis. sparsity: a table. signature: the shape,
        with -1 where it is open."""
        buffer = 0
        if data is not None:
            raw = data if isinstance(data, bytes) else struct.pack("<%d%s" % (len(data), FORMATS[dtype]), *data)
            self.model.buffers.append({0: ("bytes", raw)})
            buffer = len(self.model.buffers) - 1
        quant = None
        if scale is not None:
            scales = list(scale) if isinstance(scale, (list, tuple)) else [scale]
            zeros = list(zero) if isinstance(zero, (list, tuple)) else [zero or 0] * len(scales)
            quant = ("table", {2: ("f32s", scales), 3: ("i64s", zeros), 6: ("i32", axis)})
        self.tensors.append({0: ("i32s", list(shape)), 1: ("i8", TYPES[dtype]), 2: ("u32", buffer),
                             3: ("str", name or "t%d" % len(self.tensors)), 4: quant, 5: ("i8", 1) if variable else None,
                             6: ("table", sparsity) if sparsity else None, 7: ("i32s", list(signature)) if signature else None})
        return len(self.tensors) - 1

    def op(self, code, inputs, outputs, options=None, options2=None, custom=None, custom_options=None):
        self.ops.append({0: ("u32", self.model.code(code, custom)), 1: ("i32s", inputs), 2: ("i32s", outputs),
                         4: ("table", options) if options is not None else None, 5: ("bytes", custom_options) if custom_options else None, 12: ("table", options2) if options2 else None})

    def table(self, inputs, outputs):
        return {0: ("tables", self.tensors), 1: ("i32s", inputs), 2: ("i32s", outputs), 3: ("tables", self.ops), 4: ("str", self.name)}


class Model(Graph):
    """The main graph; others are added with graph() and closed by giving (graph, inputs, outputs) to file()."""

    def __init__(self):
        super().__init__(self, "main")
        self.buffers, self.codes = [{}], []

    def graph(self, name):
        return Graph(self, name)

    def code(self, number, custom=None):
        if (number, custom) not in self.codes:
            self.codes.append((number, custom))
        return self.codes.index((number, custom))

    def file(self, inputs, outputs, others=()):
        graphs = [self.table(inputs, outputs)] + [g.table(i, o) for g, i, o in others]
        codes = [{0: ("i8", min(n, 127)), 1: ("str", c) if c else None, 3: ("i32", n)} for n, c in self.codes]
        return Writer().root({0: ("u32", 3), 1: ("tables", codes), 2: ("tables", graphs), 3: ("str", "made by hand"), 4: ("tables", self.buffers)})

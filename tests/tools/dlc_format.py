# SPDX-License-Identifier: Apache-2.0
"""DLC files without our library: a writer and a reader of the flatbuffers in it, from the description of the layout alone.

A value is a table (a list of fields), a text, bytes, a list of ints (as int32) or a Refs list of values; a field is None, I(n), F(x), U8(n) or a
value. Tables are written front to back, parents first: the opposite of what the library does.
"""

import io
import struct
import zipfile


class I(int):
    pass


class U8(int):
    pass


class F(float):
    pass


class Refs(list):
    pass


PREFIX = bytes([0xD5, 0x0A, 4, 0, 0, 0, 0, 0])
DTYPE = {"float32": 0x0232, "uint32": 0x0132, "int32": 0x0032, "quint8": 0x0408, "qint8": 0x0308, "qint32": 0x0332}


class Writer:
    def __init__(self):
        self.out = bytearray()

    def align(self, n, after=0):
        while (len(self.out) + after) % n:
            self.out.append(0)

    def patch(self, at, to):
        self.out[at:at + 4] = struct.pack("<I", to - at)

    def put(self, value):
        """Writes a value and what it refers to; its place."""
        if isinstance(value, str):
            value = value.encode()
            self.align(4)
            at = len(self.out)
            self.out += struct.pack("<I", len(value)) + value + b"\0"
            return at
        if isinstance(value, bytes):
            self.align(8, 4)
            at = len(self.out)
            self.out += struct.pack("<I", len(value)) + value
            return at
        if isinstance(value, Refs):
            self.align(4)
            at = len(self.out)
            self.out += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, item in enumerate(value):
                self.patch(at + 4 + 4 * i, self.put(item))
            return at
        if value and all(isinstance(v, int) and not isinstance(v, (I, U8)) for v in value):
            self.align(4)
            at = len(self.out)
            self.out += struct.pack("<I%di" % len(value), len(value), *value)
            return at
        return self.table(value)

    def table(self, fields):
        offsets = [0 if f is None else 4 + 4 * i for i, f in enumerate(fields)]
        self.align(4)
        vtable = len(self.out)
        self.out += struct.pack("<%dH" % (2 + len(fields)), 4 + 2 * len(fields), 4 + 4 * len(fields), *offsets)
        self.align(4)
        at = len(self.out)
        self.out += struct.pack("<i", at - vtable) + bytes(4 * len(fields))
        for i, f in enumerate(fields):
            place = at + 4 + 4 * i
            if isinstance(f, F):
                self.out[place:place + 4] = struct.pack("<f", f)
            elif isinstance(f, U8):
                self.out[place] = f
            elif isinstance(f, I):
                self.out[place:place + 4] = struct.pack("<i", f)
            elif f is not None:
                self.patch(place, self.put(f))
        return at


def flatbuffer(identifier, root):
    w = Writer()
    w.out += bytes(4) + identifier.encode()
    w.patch(0, w.put(root))
    return bytes(w.out)


def container(records, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        for name, data in records.items():
            z.writestr(name, data)
    return out.getvalue()


class Table:
    """Reading: the fields of a table by number."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]

    def place(self, i):
        size = struct.unpack_from("<H", self.data, self.vtable)[0]
        offset = struct.unpack_from("<H", self.data, self.vtable + 4 + 2 * i)[0] if 4 + 2 * i < size else 0
        return self.at + offset if offset else None

    def number(self, i, form="<i"):
        at = self.place(i)
        return 0 if at is None else struct.unpack_from(form, self.data, at)[0]

    def follow(self, i):
        at = self.place(i)
        return None if at is None else at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, i):
        at = self.follow(i)
        return None if at is None else Table(self.data, at)

    def bytes(self, i, size=1):
        at = self.follow(i)
        return b"" if at is None else self.data[at + 4:at + 4 + size * struct.unpack_from("<I", self.data, at)[0]]

    def text(self, i):
        return self.bytes(i).decode()

    def numbers(self, i, form="i"):
        data = self.bytes(i, 4)
        return list(struct.unpack("<%d%s" % (len(data) // 4, form), data))

    def places(self, i):
        at = self.follow(i)
        return [] if at is None else [at + 4 + 4 * k + o for k, o in enumerate(self.numbers(i))]

    def tables(self, i):
        return [Table(self.data, at) for at in self.places(i)]

    def texts(self, i):
        return [self.data[at + 4:at + 4 + struct.unpack_from("<I", self.data, at)[0]].decode() for at in self.places(i)]


def root(record, identifier):
    assert record[:8] == PREFIX and record[12:16] == identifier.encode(), record[:16]
    return Table(record[8:], struct.unpack_from("<I", record, 8)[0])

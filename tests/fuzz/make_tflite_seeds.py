#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the corpus of the TFLite fuzz target anew: make_tflite_seeds.py tests/fuzz/corpus/tflite"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
import tflite_file  # noqa: E402


def conv():
    m = tflite_file.Model()
    x = m.tensor([1, 4, 4, 2], "int8", "x", scale=0.5, zero=3)
    w = m.tensor([3, 2, 2, 2], "int8", "w", data=list(range(24)), scale=[0.1, 0.2, 0.3])
    b = m.tensor([3], "int32", "b", data=[1, 2, 3], scale=[0.05, 0.1, 0.15])
    y = m.tensor([1, 4, 4, 3], "int8", "y", scale=0.5, zero=-7)
    d = m.tensor([1, 3, 3, 3], "int8", "d", data=list(range(27)), scale=[0.1, 0.2, 0.3], axis=3)
    z = m.tensor([1, 2, 2, 3], "int8", "z", scale=0.25, zero=0)
    p = m.tensor([1, 1, 1, 3], "int8", "p", scale=0.25, zero=0)
    m.op(3, [x, w, b], [y], {0: ("i8", 0), 1: ("i32", 1), 2: ("i32", 1), 3: ("i8", 1)})
    m.op(4, [y, d, -1], [z], {0: ("i8", 0), 1: ("i32", 2), 2: ("i32", 2), 3: ("i32", 1), 4: ("i8", 3)})
    m.op(1, [z], [p], {0: ("i8", 1), 1: ("i32", 2), 2: ("i32", 2), 3: ("i32", 2), 4: ("i32", 2)})
    return m.file([x], [p])


def dense():
    m = tflite_file.Model()
    x, q = m.tensor([2, 4], "float32", "x"), m.tensor([3, 4], "int8", "w", data=list(range(12)), scale=0.1)
    b, y = m.tensor([3], "float32", "b", data=[0.5, 1.0, 2.0]), m.tensor([2, 3], "float32", "y")
    s, k = m.tensor([2, 3], "float32", "s"), m.tensor([1], "int32", "axis", data=[1])
    r = m.tensor([2], "float32", "r")
    m.op(9, [x, q, b], [y], {0: ("i8", 1)})
    m.op(25, [y], [s], {0: ("f32", 1.0)})
    m.op(40, [s, k], [r], {0: ("i8", 0)})
    return m.file([x], [r, s])


def moves():
    m = tflite_file.Model()
    x = m.tensor([2, 3, 4], "int16", "x", scale=0.01)
    lists = [m.tensor([3], "int32", "l%d" % i, data=v) for i, v in enumerate(([0, 1, 0], [0, -1, 3], [1, 1, 2]))]
    y = m.tensor([2, 1, 2], "int16", "y", scale=0.01)
    pads, z = m.tensor([3, 2], "int32", "pads", data=[0, 1, 2, 0, 1, 1]), m.tensor([3, 3, 4], "int16", "z", scale=0.01)
    perm, t = m.tensor([3], "int32", "perm", data=[2, 0, 1]), m.tensor([4, 3, 3], "int16", "t", scale=0.01)
    c, shape = m.tensor([8, 3, 3], "int16", "c", scale=0.01), m.tensor([2], "int32", "shape", data=[-1, 9])
    out, axis = m.tensor([8, 9], "int16", "out", scale=0.01), m.tensor([], "int32", "axis", data=[0])
    a, b = m.tensor([4, 9], "int16", "a", scale=0.01), m.tensor([4, 9], "int16", "b", scale=0.01)
    m.op(45, [x] + lists, [y], {0: ("i32", 5), 1: ("i32", 1), 4: ("i32", 0)})
    m.op(34, [y, pads], [z], {})
    m.op(39, [z, perm], [t], {})
    m.op(2, [t, t], [c], {0: ("i32", 0)})
    m.op(22, [c, shape], [out], {})
    m.op(49, [axis, out], [a, b], {0: ("i32", 2)})
    return m.file([x], [a, b])


def lstm():
    m = tflite_file.Model()
    x = m.tensor([1, 2, 2], "float32", "x")
    w = [m.tensor([2, 2], "float32", "w%d" % i, data=[0.1, 0.2, 0.3, 0.4]) for i in range(8)]
    b = [m.tensor([2], "float32", "b%d" % i, data=[0.1, 0.2]) for i in range(4)]
    h, c = m.tensor([1, 2], "float32", "h", variable=True), m.tensor([1, 2], "float32", "c", variable=True)
    y = m.tensor([1, 2, 2], "float32", "y")
    m.op(44, [x] + w + [-1] * 3 + b + [-1] * 2 + [h, c] + [-1] * 4, [y], {0: ("i8", 4)})
    return m.file([x], [y])


def svdf():
    m = tflite_file.Model()
    x, f = m.tensor([1, 2], "float32", "x"), m.tensor([2, 2], "float32", "f", data=[1.0, 2.0, 3.0, 4.0])
    t, b = m.tensor([2, 3], "float32", "t", data=[1.0] * 6), m.tensor([1], "float32", "b", data=[0.5])
    s, y = m.tensor([1, 6], "float32", "s", variable=True), m.tensor([1, 1], "float32", "y")
    m.op(27, [x, f, t, b, s], [y], {0: ("i32", 2), 1: ("i8", 1)})
    return m.file([x], [y])


def variable():
    m = tflite_file.Model()
    x, handle = m.tensor([2], "float32", "x"), m.tensor([], "resource", "handle")
    old, new = m.tensor([2], "float32", "old"), m.tensor([2], "float32", "new")
    init = m.graph("init")
    h2, first = init.tensor([], "resource", "h2"), init.tensor([2], "float32", "first", data=[1.0, 2.0])
    init.op(142, [], [h2], {1: ("str", "acc")})
    init.op(144, [h2, first], [], {})
    m.op(129, [], [], {0: ("i32", 1)})
    m.op(142, [], [handle], {1: ("str", "acc")})
    m.op(143, [handle], [old], {})
    m.op(0, [old, x], [new], {})
    m.op(144, [handle, new], [], {})
    return m.file([x], [new], [(init, [], [])])


def composite():
    m = tflite_file.Model()
    x, y = m.tensor([3], "float32", "x"), m.tensor([3], "float32", "y")
    g = m.graph("inner")
    a, b = g.tensor([3], "float32", "a"), g.tensor([3], "float32", "b")
    g.op(92, [a], [b], {})
    m.op(206, [x], [y], {}, {0: ("str", "square"), 1: ("i32", 1)})
    return m.file([x], [y], [(g, [a], [b])])


def refused():
    m = tflite_file.Model()
    a, b, c = m.tensor([3], "float32", "a"), m.tensor([3], "float32", "b"), m.tensor([3], "float32", "c")
    m.op(32, [a], [b], {}, custom="MyOperator")
    m.op(119, [b], [c], {})
    return m.file([a], [c])


def itself():
    """A composite whose decomposition is the subgraph it stands in."""
    m = tflite_file.Model()
    x, y = m.tensor([3], "float32", "x"), m.tensor([3], "float32", "y")
    m.op(206, [x], [y], {}, {0: ("str", "again"), 1: ("i32", 0)})
    return m.file([x], [y])


def turns():
    """A WHILE that counts to two."""
    m = tflite_file.Model()
    i, x, n, y = m.tensor([], "int32", "i", data=[0]), m.tensor([3], "float32", "x"), m.tensor([], "int32", "n"), m.tensor([3], "float32", "y")
    cond, body = m.graph("cond"), m.graph("body")
    c = [cond.tensor([], "int32", "i"), cond.tensor([3], "float32", "x"), cond.tensor([], "int32", "most", data=[2]), cond.tensor([], "bool", "more")]
    cond.op(58, [c[0], c[2]], [c[3]], {})
    b = [body.tensor([], "int32", "i"), body.tensor([3], "float32", "x"), body.tensor([], "int32", "one", data=[1]), body.tensor([], "int32", "j"), body.tensor([3], "float32", "z")]
    body.op(0, [b[0], b[2]], [b[3]], {})
    body.op(59, [b[1]], [b[4]], {})
    m.op(119, [i, x], [n, y], {0: ("i32", 1), 1: ("i32", 2)})
    return m.file([x], [y], [(cond, c[:2], c[3:]), (body, b[:2], b[3:])])


def main():
    for make in (conv, dense, moves, lstm, svdf, variable, composite, refused, itself, turns):
        with open(os.path.join(sys.argv[1], make.__name__ + ".tflite"), "wb") as f:
            f.write(make())
    with open(os.path.join(sys.argv[1], "cut.tflite"), "wb") as f:
        f.write(conv()[:300])
    for n in (1, 2, 3):  # changes of the files above, see fuzz_tflite.c
        with open(os.path.join(sys.argv[1], "change_%d" % n), "wb") as f:
            f.write(bytes([n]) + bytes((i * 37 + n) % 251 for i in range(4 * n)))


if __name__ == "__main__":
    main()

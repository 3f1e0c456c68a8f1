# SPDX-License-Identifier: Apache-2.0
"""Networks for tests of profiles, and an independent reader of Chrome traces that says what is wrong with one."""

import gzip
import json
import os
import struct
import sys
import zlib
from fractions import Fraction

import numpy as np
import support

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

OPTRACE = ("--profiling_level", "detailed", "--profiling_option", "optrace")


def reader(name):
    return os.path.join(support.BIN, "libQnn%sProfilingReader.so" % name)


# ---- networks ------------------------------------------------------------------------------------------------------------

def branches(side=48, channels=32, op="Sub", prefix="", relu=True):
    """The first showcase model of the profiling guide: a convolution, two branches of two, an operator on their results, and
    the sum with what the branches began with. Returns the file and the names of its operators."""
    rng = np.random.default_rng(1)
    constants, nodes = [], []

    def conv(name, x, inputs, kernel=3):
        constants.append((name + "_w", rng.normal(size=(channels, inputs, kernel, kernel)) / 9))
        pads = [kernel // 2] * 4
        nodes.append(make_onnx.node("Conv", prefix + name, [x, name + "_w"], name, kernel_shape=[kernel, kernel], pads=pads))
        if relu:
            nodes.append(make_onnx.node("Relu", prefix + name + "_relu", [name], name + "_r"))
        return name + "_r" if relu else name

    start = conv("convStart", "image", 3)
    left = conv("convLeft2", conv("convLeft1", start, channels), channels)
    right = conv("convRight2", conv("convRight1", start, channels), channels)
    nodes.append(make_onnx.node(op, prefix + "op", [left, right], "op"))
    nodes.append(make_onnx.node("Add", prefix + "add", ["op", start], "sum"))
    shape = (1, channels, side, side)
    return make_onnx.model(nodes, constants, [("image", (1, 3, side, side))], [("sum", shape)])


def in_turns(side=48, channels=32):
    """A convolution on the results of vectors, which take longer than it: the matrix unit waits for them."""
    rng = np.random.default_rng(1)
    w = [("w%d" % i, rng.normal(size=(channels, 3 if i == 0 else channels, 3, 3)) / 9) for i in range(2)]
    shape = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [make_onnx.node("Conv", "first", ["image", "w0"], "a", **shape), make_onnx.node("Sub", "difference", ["a", "b"], "c"),
             make_onnx.node("Conv", "last", ["c", "w1"], "y", **shape)]
    nodes.insert(1, make_onnx.node("Sigmoid", "sigmoid", ["a"], "b"))
    return make_onnx.model(nodes, w, [("image", (1, 3, side, side))], [("y", (1, channels, side, side))])


# ---- logs ----------------------------------------------------------------------------------------------------------------

def log_string(text):
    data = b"" if text is None else text.encode() + b"\0"
    return struct.pack("<I", len(data)) + data


def write_log(records):
    """A profiling log by its description (docs/profile-log.md). A record: graph, start and stop in microseconds, and events of (type, unit, value, parent, name)."""
    def frame(kind, payload):
        return struct.pack("<4I", kind, len(payload), zlib.crc32(payload), 0) + payload
    data = b"OQNP" + struct.pack("<I", 1) + frame(1, log_string("kit") + log_string("1") + log_string("1"))
    for graph, start, stop, events in records:
        payload = struct.pack("<IIQQI", 1, 0, start, stop, len(events)) + log_string(graph)
        for kind, unit, value, parent, name in events:
            payload += struct.pack("<IIQQi", kind, unit, value, 0, parent) + log_string(name)
        data += frame(2, payload)
    return data


class TraceTest(support.ToolTest):
    """Converts, compiles and runs a network on libQnnHtp.so."""

    def prepare(self, onnx, side=48, runs=1, level=OPTRACE, config=(), convert=()):
        """model.dlc, b/net.bin with its schematic, and out/qnn-profiling-data.log of some runs."""
        self.write("net.onnx", onnx)
        image = np.random.default_rng(2).random((1, 3, side, side), np.float32)
        self.write("image.raw", image.transpose(0, 2, 3, 1).copy().tobytes())
        self.write("calibration.raw", image.tobytes())
        self.write("calibration.txt", self.path("calibration.raw") + "\n")
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net_float.dlc", *convert)
        self.succeeds("qairt-quantizer", "--input_dlc", "net_float.dlc", "--input_list", "calibration.txt", "--output_dlc", "net.dlc")
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--dlc_path", "net.dlc", "--binary_file", "net", "--output_dir", "b", *OPTRACE, *config)
        self.write("list.txt", "\n".join([self.path("calibration.raw")] * runs) + "\n")
        self.run_net(*level, *config)

    def run_net(self, *args):
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/net.bin", "--input_list", "list.txt", "--output_dir", "out", *args)

    def view(self, *args, name="HtpOptrace"):
        return self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", reader(name), *args)

    def refused(self, *args, says, name="HtpOptrace"):
        self.fails("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", reader(name), *args, says=says)

    def trace(self, name):
        data = self.read(name)
        return Trace(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


# ---- traces --------------------------------------------------------------------------------------------------------------

def ns(number):
    """A time of the file, as Perfetto has it: whole nanoseconds. What is finer would be rounded there."""
    exact = Fraction(str(number)) * 1000
    assert exact.denominator == 1, "%s us is no whole number of nanoseconds" % number
    return int(exact)


class Trace:
    """All events of a file, checked as they are read."""

    def __init__(self, data):
        root = json.loads(data, parse_float=str)
        self.events = root["traceEvents"]
        self.processes, self.lanes, self.order, self.slices, self.counters, self.flows, self.instants = {}, {}, {}, {}, {}, {}, []
        for e in self.events:
            getattr(self, "read_" + {"M": "name", "X": "slice", "C": "counter", "s": "flow", "f": "flow", "i": "instant"}[e["ph"]])(e)
        self.check()

    def read_name(self, e):
        key = (e["pid"], e["tid"])
        to = {"process_name": self.processes, "thread_name": self.lanes, "thread_sort_index": self.order, "process_sort_index": {}}[e["name"]]
        value = e["args"].get("name", e["args"].get("sort_index"))
        to[e["pid"] if e["name"] == "process_name" else key] = value

    def read_slice(self, e):
        begin = ns(e["ts"])
        self.slices.setdefault((e["pid"], e["tid"]), []).append((begin, begin + ns(e["dur"]), e))

    def read_counter(self, e):
        (_, value), = e["args"].items()
        self.counters.setdefault((e["pid"], e["name"]), []).append((ns(e["ts"]), float(value)))

    def read_flow(self, e):
        self.flows.setdefault((e["cat"], e["id"]), {})[e["ph"]] = e

    def read_instant(self, e):
        self.instants.append(e)

    def check(self):
        """What Perfetto would drop or complain of."""
        for lane, found in self.slices.items():
            assert lane in self.lanes and lane in self.order, "a lane without a name or place: %s" % (lane,)
            assert lane[0] in self.processes, "a process without a name: %d" % lane[0]
            found.sort(key=lambda s: (s[0], -s[1]))
            open_until = []
            for begin, end, e in found:  # nested slices are those that end within the one around them
                while open_until and open_until[-1] <= begin:
                    open_until.pop()
                assert not open_until or end <= open_until[-1], "slices overlap on %s at %d ns: %s" % (self.lanes[lane], begin, e["name"])
                open_until.append(end)
        for key, found in self.counters.items():
            assert all(a[0] <= b[0] for a, b in zip(found, found[1:])), "a counter that goes back: %s" % (key,)
        for key, ends in self.flows.items():
            assert set(ends) == {"s", "f"}, "an arrow with one end: %s" % (key,)
            assert ns(ends["s"]["ts"]) <= ns(ends["f"]["ts"]), "an arrow that goes back: %s" % (key,)
            for e in ends.values():
                at = ns(e["ts"])
                inside = [s for s in self.slices.get((e["pid"], e["tid"]), []) if s[0] <= at <= s[1]]
                assert inside, "an arrow from or to nothing: %s" % (key,)

    def lane(self, name, process=1):
        """Slices of operators on a lane of a process, without what the device does for itself."""
        keys = [k for k, v in self.lanes.items() if v == name and k[0] == process]
        return [s for k in keys for s in self.slices.get(k, []) if "cycles" in s[2].get("args", {})]

    def device(self):
        return [s for k, found in self.slices.items() if k[0] < 1000 for s in found if "cycles" in s[2].get("args", {})]

    def ops(self):
        return {s[2]["args"]["op"] for s in self.device()}

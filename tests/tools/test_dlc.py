#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DLC files that our library did not write run in the programs, and files that it wrote read as the layout says."""

import io
import json
import os
import struct
import sys
import tarfile
import zipfile

import numpy as np
import support
from dlc_format import DTYPE, F, I, PREFIX, Refs, U8, container, flatbuffer, root

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

X = np.arange(12, dtype=np.float32).reshape(2, 6) - 5
K = np.linspace(-1, 2, 6, dtype=np.float32)


def tensor(name, kind, dtype, shape, info=None):
    return [I(1), name, I(kind), list(shape), None, info, I(DTYPE[dtype]), I(DTYPE[dtype]), None]


def scalar(name, kind, number=None, real=None, text=None):
    value = [I(kind), None if number is None else I(number), None if real is None else F(real), text]
    return [name, I(0), U8(1), value]


def model():
    """y = transpose(x * k), with what other writers put in: a node for the input, texts among the attributes."""
    nodes = Refs([
        ["x", "Input", Refs(["x"]), Refs([])],
        ["mul", "ElementWiseMultiply", Refs(["x", "k"]), Refs(["t"]), Refs([scalar("packageName", 0x7fffffff, text="qti.aisw")])],
        ["perm", "Transpose", Refs(["t"]), Refs(["y"]), Refs([["perm", I(1), U8(0), None, tensor("perm_perm", 4, "uint32", [2])]])],
    ])
    tensors = Refs([tensor("y", 1, "float32", [6, 2]), tensor("x", 0, "float32", [2, 6]), tensor("t", 3, "float32", [2, 6]),
                    tensor("k", 4, "float32", [6])])
    return PREFIX + flatbuffer("NETD", [Refs([["net", nodes, tensors]])])


def params(with_data=True):
    perm, k = struct.pack("<2I", 1, 0), K.tobytes()
    nodes = Refs([[Refs([])], [Refs([])], [Refs([["perm_perm", perm if with_data else b""]])]])
    return flatbuffer("NETP", [Refs([["net", Refs([["k", k if with_data else b""]]), nodes]])])


def params64():
    buffers = Refs([[K.tobytes()], [struct.pack("<2I", 1, 0)]])
    return PREFIX + flatbuffer("NR64", [buffers, params(False)])


class Dlc(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("x.raw", X.tobytes())
        self.write("list.txt", "x.raw\n")

    def run_dlc(self, *args):
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--input_list", "list.txt", "--output_dir", "out", *args)
        got = np.frombuffer(self.read("out", "Result_0", "y.raw"), np.float32).reshape(6, 2)
        np.testing.assert_array_equal(got, (X * K).T)

    def test_others_files(self):
        for weights in (PREFIX + params(), params64()):
            for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                self.write("m.dlc", container({"model": model(), "model.params": weights, "dlc.metadata": "model-version=1\n", "htp.cache": b"x" * 99},
                                              compression))
                self.run_dlc("--dlc_path", "m.dlc")
                self.run_dlc("--dlc_path", "m.dlc", "--model", os.path.join(support.LIB, "libQnnModelDlc.so"))

    def test_context_binary(self):
        self.write("m.dlc", container({"model": model(), "model.params": PREFIX + params()}))
        self.succeeds("qnn-context-binary-generator", "--backend", support.CPU, "--dlc_path", "m.dlc", "--binary_file", "ctx", "--output_dir", "out")
        self.run_dlc("--retrieve_context", "out/ctx.bin")

    def test_full_disk(self):
        """What cannot be written whole is not left behind."""
        self.write("m.dlc", container({"model": model(), "model.params": PREFIX + params()}))
        done = self.run_tool("qnn-context-binary-generator", "--backend", support.CPU, "--dlc_path", "m.dlc", "--binary_file", "ctx", "--output_dir", "out",
                             largest_file=512)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("ctx.bin", done.stderr)
        self.assertFalse(os.path.exists(self.path("out", "ctx.bin")))

        old = self.write("out/ctx.bin", b"the former file")
        done = self.run_tool("qnn-context-binary-generator", "--backend", support.CPU, "--dlc_path", "m.dlc", "--binary_file", "ctx", "--output_dir", "out",
                             largest_file=512)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(self.read(old), b"the former file")
        self.assertEqual(os.listdir(self.path("out")), ["ctx.bin"])

    def test_refused(self):
        good = {"model": model(), "model.params": PREFIX + params()}
        cases = [
            ("version 3", dict(good, model=good["model"][:2] + b"\3" + good["model"][3:])),
            ("version 2", dict(good, model=good["model"][:2] + b"\2" + good["model"][3:])),
            ("this is not a DLC", {"a": b""}),
            ("has no data for it", {"model": good["model"]}),
            ("24 are expected", dict(good, **{"model.params": PREFIX + params(False)})),
            ("Transfers", dict(good, model=good["model"].replace(b"Transpose", b"Transfers"))),
        ]
        for says, records in cases:
            self.write("bad.dlc", container(records))
            self.fails("qnn-net-run", "--backend", support.CPU, "--input_list", "list.txt", "--dlc_path", "bad.dlc", says=says)
        self.fails("qnn-net-run", "--backend", support.CPU, "--input_list", "list.txt", "--model", os.path.join(support.LIB, "libQnnModelDlc.so"),
                   says="--dlc_path")

    def test_ours(self):
        """The first file of the fuzzer's corpus: a quantized convolution."""
        with open(os.path.join(support.SOURCE, "tests/fuzz/corpus/dlc/zip0"), "rb") as file:
            z = zipfile.ZipFile(io.BytesIO(file.read()[1:]))
        self.assertEqual(z.namelist(), ["dlc.metadata", "model", "model.params"])
        graph = root(z.read("model"), "NETD").tables(0)[0]
        self.assertEqual(graph.text(0), "conv")
        conv, relu = graph.tables(1)
        self.assertEqual((conv.text(0), conv.text(1), conv.texts(2), conv.texts(3)), ("c", "Conv2d", ["x", "w", "b"], ["t"]))
        self.assertEqual((relu.text(1), relu.texts(2), relu.texts(3)), ("Relu", ["t"], ["y"]))
        attributes = {a.text(0): a for a in conv.tables(4)}
        self.assertEqual(attributes["group"].number(1), 0)
        self.assertEqual((attributes["group"].table(3).number(0), attributes["group"].table(3).number(1)), (DTYPE["uint32"], 1))
        self.assertEqual((attributes["pad_amount"].number(1), attributes["pad_amount"].table(4).numbers(3)), (1, [2, 2]))
        tensors = {t.text(1): t for t in graph.tables(2)}
        self.assertEqual([tensors[n].number(2) for n in "xytwb"], [0, 1, 3, 4, 4])
        self.assertEqual((tensors["x"].numbers(3), tensors["x"].number(6)), ([1, 4, 4, 3], DTYPE["quint8"]))
        a = tensors["x"].table(5).table(2)
        self.assertEqual((a.number(0), [a.number(i, "<f") for i in (1, 2, 3)], a.number(4)), (8, [-64, 63.5, 0.5], -128))
        b = tensors["w"].table(5).table(3)
        self.assertEqual((b.number(0), [c.number(3, "<f") for c in b.tables(1)]), (3, [0.5, 0.25]))
        self.assertEqual([c.number(1, "<f") for c in b.tables(1)], [-64, -32])

        data = root(z.read("model.params"), "NETP").tables(0)[0]
        self.assertEqual(data.text(0), "conv")
        self.assertEqual({t.text(0): t.bytes(1) for t in data.tables(1)}, {"w": bytes([1, 2, 3, 4, 5, 6]), "b": struct.pack("<2i", 100, 5)})
        first, second = data.tables(2)
        self.assertEqual(len(second.tables(0)), 0)
        values = {t.text(0): t.bytes(1) for t in first.tables(0)}
        self.assertEqual(values[attributes["stride"].table(4).text(1)], struct.pack("<2I", 1, 1))

    def convert_traced(self):
        """A convolution with a batch normalization folded into it, and two Transposes of which nothing remains."""
        node = make_onnx.node
        nodes = [node("Conv", "/net/conv.1", ["x", "w"], "c", kernel_shape=[1, 1]), node("BatchNormalization", "/net/bn", ["c", "s", "b", "m", "v"], "n"),
                 node("Relu", "/net/relu", ["n"], "r"), node("Transpose", "there", ["r"], "t", perm=[0, 2, 3, 1]),
                 node("Transpose", "back", ["t"], "y", perm=[0, 3, 1, 2])]
        long = "w" * 150
        constants = [("w", np.ones((4, 3, 1, 1))), ("s", np.ones(4)), ("b", np.zeros(4)), ("m", np.zeros(4)), ("v", np.ones(4))]
        text = make_onnx.model(nodes, constants, [("x", (1, 3, 5, 6))], [("y", (1, 4, 5, 6))])
        self.write("m.onnx", text)
        self.write("long.onnx", make_onnx.model([node("Conv", "c", ["x", long], "y", kernel_shape=[1, 1])], [(long, np.ones((4, 3, 1, 1)))],
                                                [("x", (1, 3, 5, 6))], [("y", (1, 4, 5, 6))]))
        self.succeeds("qairt-converter", "-i", "m.onnx", "-o", "m.dlc", "--set_model_version", "7.1", "--dump_ir", "m.txt")
        self.succeeds("qnn-onnx-converter", "-i", "m.onnx", "-o", "m.cpp")
        self.succeeds("qnn-onnx-converter", "-i", "long.onnx", "-o", "long.cpp")

    def test_traces_and_viewers(self):
        """Sources of every node in all formats, and what viewers look for: nodes for the inputs, dimensions, names of archive members."""
        self.convert_traced()
        z = zipfile.ZipFile(self.path("m.dlc"))
        self.assertEqual(set(z.namelist()), {"dlc.metadata", "model", "model.params", "openqnn.sources"})
        self.assertIn(b"model-version=7.1\n", z.read("dlc.metadata"))
        graph = root(z.read("model"), "NETD").tables(0)[0]
        sources = root(z.read("openqnn.sources"), "OQNS").tables(0)[0]
        nodes = graph.tables(1)
        self.assertEqual((nodes[0].text(1), nodes[0].texts(2)), ("Input", ["x"]))
        self.assertEqual((sources.text(0), len(sources.texts(1))), (graph.text(0), len(nodes)))
        self.assertEqual(len(root(z.read("model.params"), "NETP").tables(0)[0].tables(2)), len(nodes))
        found = {n.text(1): set(s.split("\n")) for n, s in zip(nodes, sources.texts(1))}
        self.assertEqual(found["Input"], {""})
        self.assertEqual(found["Conv2d"], {"Conv:/net/conv.1", "BatchNormalization:/net/bn"})
        self.assertLessEqual({"Relu:/net/relu"}, found["Relu"])
        everything = set().union(*found.values())
        self.assertLessEqual({"Transpose:there", "Transpose:back"}, everything)
        self.assertIn('from "Conv:/net/conv.1", "BatchNormalization:/net/bn"', self.read("m.txt").decode())

        net = json.loads(self.read("m_net.json"))
        self.assertEqual(net["converter_command"].split()[0].split("/")[-1], "qnn-onnx-converter")
        by_type = {n["type"]: n for n in net["graph"]["nodes"].values()}
        self.assertEqual(set(by_type["Conv2d"]["source_ops"]), found["Conv2d"])
        for tensor in net["graph"]["tensors"].values():
            self.assertEqual(tensor["dims"], tensor["current_dims"])
            self.assertIn(tensor["type"], (0, 1, 3, 4))
        for prefix in ("m", "long"):
            tensors = json.loads(self.read(prefix + "_net.json"))["graph"]["tensors"]
            with tarfile.open(self.path(prefix + ".bin")) as tar:
                sizes = {m.name: m.size for m in tar.getmembers()}
            want = {n + ".raw": 4 * int(np.prod(t["dims"])) for n, t in tensors.items() if t["type"] == 4}
            self.assertEqual(sizes, want)
            self.assertLessEqual(max(map(len, sizes)), 100)
        self.succeeds("qnn-model-lib-generator", "-c", "long.cpp", "-b", "long.bin", "-l", "long", "-o", "lib")

    def test_traces_survive_quantization(self):
        self.convert_traced()
        self.write("in.raw", np.ones((5, 6, 3), np.float32).tobytes())
        self.write("in.txt", "in.raw\n")
        self.succeeds("qairt-quantizer", "--input_dlc", "m.dlc", "--input_list", "in.txt")
        z = zipfile.ZipFile(self.path("m_quantized.dlc"))
        texts = root(z.read("openqnn.sources"), "OQNS").tables(0)[0].texts(1)
        self.assertTrue(any("Conv:/net/conv.1" in t for t in texts))


if __name__ == "__main__":
    support.main()

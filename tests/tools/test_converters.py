#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converters and quantizer from the model file to the numbers: the commands of examples/convert, float results against numpy, quantized
accuracy, every option that changes an encoding, and refusals. Networks of other people run when ../shared/models is there."""

import json
import os
import re
import shlex
import struct
import subprocess
import sys

import numpy as np
import support

CONVERT = os.path.join(support.SOURCE, "examples", "convert")
MODELS = os.environ.get("OPENQNN_MODELS", os.path.join(support.SOURCE, "..", "shared", "models"))
sys.path.insert(0, CONVERT)
import make_onnx  # noqa: E402  (its folder is known only now)
sys.path.insert(0, os.path.join(support.SOURCE, "tests", "models"))
sys.path.insert(0, os.path.join(support.SOURCE, "tests", "fuzz"))
import make_onnx_seeds as seeds  # noqa: E402
import onnx_ops  # noqa: E402
import tflite_file  # noqa: E402


def float_probabilities(images):
    """The network in numpy, channels first like the ONNX file."""
    w = make_onnx.load_weights()

    def conv(x, k, b):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        h, wide = x.shape[2:]
        y = sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + h, j:j + wide], k[:, :, i, j]) for i in range(3) for j in range(3))
        return np.maximum(y + b.reshape(1, -1, 1, 1), 0)

    def pool(x):
        n, c, h, wide = x.shape
        return x.reshape(n, c, h // 2, 2, wide // 2, 2).max((3, 5))

    x = pool(conv(images[:, None], w["w1"], w["b1"]))
    x = pool(conv(x, w["w2"], w["b2"]))
    z = x.reshape(len(x), -1) @ w["w3"].T + w["b3"]
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class Converters(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.images = make_onnx.test_images()
        self.labels = np.arange(len(self.images)) % 10
        self.write("digits.onnx", make_onnx.digits_onnx())
        self.write("samples.txt", "".join(self.write("samples/%03d.raw" % i, x.tobytes()) + "\n" for i, x in enumerate(self.images)))

    def convert(self, *args):
        return self.succeeds("qnn-onnx-converter", "-i", "digits.onnx", "-o", "out/digits.cpp", *args)

    def build(self):
        self.succeeds("qnn-model-lib-generator", "-c", "out/digits.cpp", "-b", "out/digits.bin", "-l", "digits", "-o", "out")

    def results(self, folder, name="probabilities", count=100):
        return np.stack([np.frombuffer(self.read(folder, "Result_%d" % i, name + ".raw"), np.float32) for i in range(count)])

    def run_library(self, folder="results"):
        self.build()
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--model", "out/x86_64-linux-clang/libdigits.so", "--input_list", "samples.txt",
                      "--output_dir", folder)
        return self.results(folder)

    def encodings(self, *args):
        self.convert("--input_list", "samples.txt", "--dump_encodings", "e.json", *args)
        data = json.loads(self.read("e.json"))
        return data["activation_encodings"], data["param_encodings"]

    # ---- from file to numbers ----------------------------------------------------------------------------------------

    def test_float(self):
        out = self.convert()
        self.assertIn("image f32[1,16,16,1] NHWC, in the source NCHW", out)
        self.assertIn("probabilities f32[1,10]", out)
        got, want = self.run_library(), float_probabilities(self.images)
        np.testing.assert_allclose(got, want, atol=2e-6)
        self.assertGreaterEqual((want.argmax(1) == self.labels).mean(), .9)

    def readme(self, heading, end, count):
        """The indented commands of a section, as they stand, with the programs of this build in the path."""
        with open(os.path.join(CONVERT, "README.md"), encoding="utf-8") as file:
            text = file.read().split(heading)[1].split(end)[0]
        commands = [line.strip() for line in text.splitlines() if line.startswith("    ")]
        self.assertEqual(len(commands), count)
        env = dict(os.environ, QNN_SDK_ROOT=support.SOURCE, LD_LIBRARY_PATH=support.LIB,
                   PATH=support.BIN + os.pathsep + os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
        for command in commands:
            words = [w.replace("$QNN_SDK_ROOT/share/QNN", support.SOURCE) for w in shlex.split(command)]
            words[0] = sys.executable if words[0] == "python3" else words[0]
            done = subprocess.run(words, cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, command + "\n" + done.stdout + done.stderr)

    def test_commands_of_the_readme(self):
        self.readme("## An ONNX file", "## A TFLite file", 8)
        want = float_probabilities(self.images)
        for folder in ("out/results", "out/from_dlc"):
            got = self.results(folder)
            self.assertGreaterEqual((got.argmax(1) == want.argmax(1)).mean(), .98)
            self.assertLessEqual(np.abs(got - want).mean(), .01)

    def test_tflite_commands_of_the_readme(self):
        """A fixed-point layer, y = relu(W x + b), whose encodings are those of the file; inputs and outputs of the tools are float."""
        rng = np.random.default_rng(5)
        w, b = rng.integers(-127, 128, (3, 4)).astype(np.int8), rng.integers(-900, 900, 3).astype(np.int32)
        sx, sw, sy, zx, zy = 0.05, 0.01, 0.1, 3, -128
        m = tflite_file.Model()
        x = m.tensor([1, 4], "int8", name="x", scale=sx, zero=zx)
        k = m.tensor([3, 4], "int8", name="w", data=w.tobytes(), scale=sw, zero=0)
        c = m.tensor([3], "int32", name="b", data=b.tobytes(), scale=sx * sw, zero=0)
        y = m.tensor([1, 3], "int8", name="y", scale=sy, zero=zy)
        m.op(9, [x, k, c], [y], {0: ("i8", 1)})  # FULLY_CONNECTED with RELU
        self.write("model.tflite", m.file([x], [y]))
        samples = rng.integers(-128, 128, (6, 4))
        files = [self.write("in/%d.raw" % i, ((q - zx) * sx).astype(np.float32).tobytes()) for i, q in enumerate(samples)]
        self.write("inputs.txt", "".join(f + "\n" for f in files))
        self.readme("## A TFLite file", "## When accuracy", 4)
        exact = ((samples - zx) @ w.T.astype(np.int64) + b) * (sx * sw) / sy + zy
        want = (np.clip(np.rint(exact), -128, 127) - zy) * sy
        np.testing.assert_allclose(self.results("out/results", "y", len(samples)), want, atol=1e-5)

    def test_layout_of_a_tflite_input(self):
        """A model whose input has channels first turns it by itself: given with channels last, nothing is left to turn."""
        m = tflite_file.Model()
        x, p = m.tensor([1, 3, 4, 5], "float32", name="x"), m.tensor([4], "int32", name="p", data=[0, 2, 3, 1])
        a, y = m.tensor([1, 4, 5, 3], "float32", name="a"), m.tensor([1, 4, 5, 3], "float32", name="y")
        m.op(39, [x, p], [a])  # TRANSPOSE
        m.op(19, [a], [y])     # RELU
        self.write("m.tflite", m.file([x], [y]))
        convert = ("qnn-tflite-converter", "-i", "m.tflite", "-o", "out/m.cpp")
        out = self.succeeds(*convert, "--input_layout", "x", "NCHW")
        self.assertIn("1 nodes", out)
        self.assertIn("x f32[1,4,5,3] NHWC, in the source NCHW", out)
        self.assertIn("x f32[1,3,4,5] NHWC", self.succeeds(*convert, "--input_layout", "x", "NHWC"))
        self.fails(*convert, "--input_layout", "x", "NCF", says="rank 4")

    def test_normalization_behind_a_tflite_layer(self):
        """A factor and a term per channel, or for all of them, become part of the layer before them, unless that is switched off; the numbers stay."""
        for factor, term in (((1, 4), (4,)), ((1,), ()), ((), (1, 1)), ((4,), (1,))):
            with self.subTest(factor=factor, term=term):
                self.check_normalization(factor, term)

    def check_normalization(self, factor, term):
        r = np.random.default_rng(3)
        x, w, b, g, o = (np.asarray(r.normal(size=s), np.float32) for s in ((1, 6), (4, 6), (4,), factor, term))
        m = tflite_file.Model()
        t = [m.tensor(a.shape, "float32", name="t%d" % i, **({"data": a.tobytes()} if i else {})) for i, a in enumerate((x, w, b, g, o))]
        made = [m.tensor([1, 4], "float32", name=n) for n in ("a", "b", "y")]
        m.op(9, t[:3], [made[0]])            # FULLY_CONNECTED
        m.op(18, [t[3], made[0]], [made[1]])  # MUL
        m.op(0, [made[1], t[4]], [made[2]])   # ADD
        self.write("m.tflite", m.file([t[0]], [made[2]]))
        self.write("x.raw", x.tobytes())
        self.write("x.txt", "x.raw\n")
        for nodes, args in ((1, []), (3, ["--disable_batchnorm_folding"])):
            self.assertIn("%d nodes" % nodes, self.succeeds("qnn-tflite-converter", "-i", "m.tflite", "-o", "out/m.cpp", *args))
            self.succeeds("qnn-model-lib-generator", "-c", "out/m.cpp", "-b", "out/m.bin", "-l", "m", "-o", "out")
            self.succeeds("qnn-net-run", "--backend", support.CPU, "--model", "out/x86_64-linux-clang/libm.so", "--input_list", "x.txt", "--output_dir", "y")
            np.testing.assert_allclose(np.frombuffer(self.read("y", "Result_0", "y.raw"), np.float32), ((x @ w.T + b) * g + o)[0], rtol=1e-5, atol=1e-5)

    def test_memory(self):
        """Transposed weights are the only copy: what they were made of leaves the memory again."""
        channels, layers = 256, 16
        nodes, consts, size = [], [], channels * channels * 9 * 4
        for i in range(layers):
            nodes.append(seeds.node("Conv", ["x" if i == 0 else "y%d" % i, "w%d" % i], ["y%d" % (i + 1)], pads=[1, 1, 1, 1]))
            consts.append(seeds.tensor("w%d" % i, seeds.FLOAT, (channels, channels, 3, 3), raw=struct.pack("<f", i + 1) * (size // 4)))
        model = seeds.model(nodes, [("x", seeds.FLOAT, (1, channels, 4, 4))], [("y%d" % layers, seeds.FLOAT, (1, channels, 4, 4))], consts, 13)
        path = self.write("big.onnx", model)
        code = ("import resource, subprocess, sys; status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)")
        done = subprocess.run([sys.executable, "-c", code, os.path.join(support.BIN, "qnn-onnx-converter"), "-i", path, "-o", os.path.join(self.folder, "big.cpp")],
                              capture_output=True, text=True, timeout=60, check=True)
        peak = int(done.stdout) * 1024
        print("a file of %.0f MB: %.2f times its size at most in memory" % (len(model) / 1e6, peak / len(model)))
        self.assertLess(peak, 1.8 * len(model))

    def test_quantized_library_and_binary_agree(self):
        self.convert("--input_list", "samples.txt", "--use_per_channel_quantization", "--bias_bw", "32")
        direct = self.run_library("direct")
        self.succeeds("qnn-context-binary-generator", "--backend", support.CPU, "--model", "out/x86_64-linux-clang/libdigits.so", "--binary_file", "c",
                      "--output_dir", "out")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--retrieve_context", "out/c.bin", "--input_list", "samples.txt", "--output_dir", "binary")
        np.testing.assert_array_equal(direct, self.results("binary"))

    def test_net_json(self):
        self.convert("--input_list", "samples.txt", "--use_per_channel_quantization", "--bias_bw", "32")
        data = json.loads(self.read("out", "digits_net.json"))
        self.assertEqual((data["model.cpp"], data["model.bin"]), ("digits.cpp", "digits.bin"))
        self.assertIn("qnn-onnx-converter", data["coverter_command"])
        self.assertLessEqual({"Conv2d", "Relu", "PoolMax2d", "Softmax"}, set(data["op_types"]))
        tensors, nodes = data["graph"]["tensors"], data["graph"]["nodes"]
        image = tensors["image"]
        self.assertEqual((image["type"], image["data_type"], image["current_dims"]), (0, 0x0408, [1, 16, 16, 1]))
        self.assertLess(abs(image["quant_params"]["scale_offset"]["scale"] - 1 / 255), 1e-6)
        conv = [n for n in nodes.values() if n["type"] == "Conv2d"]
        self.assertEqual(len(conv), 2)
        weight = tensors[conv[0]["input_names"][1]]
        self.assertEqual((weight["data_type"], weight["quant_params"]["axis_scale_offset"]["num_scale_offsets"]), (0x0308, 8))

    # ---- the quantizer -----------------------------------------------------------------------------------------------

    def accuracy(self, *args):
        """Calibrated on the first images, judged by the others."""
        seen = 30
        self.write("few.txt", "".join(self.read("samples.txt").decode().splitlines(True)[:seen]))
        self.convert("--input_list", "few.txt", *args)
        got, want = self.run_library("r")[seen:], float_probabilities(self.images)[seen:]
        return (got.argmax(1) == want.argmax(1)).mean(), np.abs(got - want).max()

    def test_precisions(self):
        """Agreement with the float network, and the largest difference of a probability. The weights come from 8 bits per channel, so that
        such weights lose nothing here; images that were not seen may exceed the ranges."""
        ways = {"8 bits": ([], .96, .25),
                "8 bits, per channel, 32-bit bias": (["--use_per_channel_quantization", "--use_per_row_quantization", "--bias_bw", "32"], .98, .2),
                "16-bit activations": (["--act_bw", "16", "--use_per_channel_quantization", "--use_per_row_quantization"], .98, .1),
                "16 bits": (["--act_bw", "16", "--weight_bw", "16"], .98, .02),
                "4-bit weights": (["--weight_bw", "4", "--use_per_channel_quantization", "--use_per_row_quantization", "--bias_bw", "32"], .9, .9),
                "symmetric": (["--act_quantizer", "symmetric", "--param_quantizer", "symmetric"], .95, .3)}
        for name, (args, least, most) in ways.items():
            with self.subTest(name):
                agreement, worst = self.accuracy(*args)
                print("%-36s agrees with float on %5.1f %% of 70 images, probabilities differ by %.4f at most" % (name, 100 * agreement, worst))
                self.assertGreaterEqual(agreement, least)
                self.assertLessEqual(worst, most)

    def test_ranges_are_those_of_the_data(self):
        acts, params = self.encodings()
        image = acts["image"][0]
        self.assertEqual((image["bitwidth"], image["offset"], image["origin"]), (8, 0, "calibrated"))
        self.assertAlmostEqual(image["max"], float(self.images.max()), 5)
        self.assertEqual(acts["probabilities"][0]["origin"], "operator")
        self.assertAlmostEqual(acts["probabilities"][0]["scale"], 1 / 255, 8)
        self.assertEqual(acts["conv1_out"][0], dict(acts["relu1_out"][0], origin="propagated"))
        self.assertEqual(acts["pool1_out"][0]["scale"], acts["relu1_out"][0]["scale"])
        weights = make_onnx.load_weights()["w1"]
        got = [e for name, list_ in params.items() for e in list_ if name.startswith("w1")]
        self.assertEqual(len(got), 1)
        self.assertAlmostEqual(got[0]["scale"], float(weights.max() - weights.min()) / 255, 6)

    def test_methods_and_schemas(self):
        base = self.encodings()[0]["logits"][0]
        for method in ("percentile", "mse", "entropy", "sqnr"):
            e = self.encodings("--act_quantizer_calibration", method, "--percentile_calibration_value", "99.5")[0]["logits"][0]
            self.assertLessEqual(e["scale"], base["scale"] * 1.0001, method)
        e = self.encodings("--act_quantizer_schema", "symmetric")[0]
        self.assertEqual((e["logits"][0]["offset"], e["logits"][0]["is_symmetric"]), (-128, "True"))
        e = self.encodings("--act_quantizer_schema", "unsignedsymmetric")[0]
        self.assertEqual((e["relu1_out"][0]["offset"], e["logits"][0]["offset"]), (0, -128))
        e = self.encodings("--act_bw", "16", "--weight_bw", "16", "--restrict_quantization_steps", "-0x8000 0x7F7F")[1]
        w = make_onnx.load_weights()["w1"]
        scale = [v for k, v in e.items() if k.startswith("w1")][0][0]["scale"]
        self.assertAlmostEqual(scale * 0x7f7f, float(np.abs(w).max()), 5)

    def test_overrides(self):
        override = {"version": "0.6.1", "activation_encodings": {
            "relu1_out": [{"bitwidth": 8, "min": 0.0, "max": 5.1}], "logits": [{"dtype": "float", "bitwidth": 32}], "nothing": [{"bitwidth": 8, "scale": 1.0}]},
            "param_encodings": {"w1": [{"bitwidth": 8, "min": -1.28, "max": 1.27, "is_symmetric": "True"}] * 8}}
        self.write("o.json", json.dumps(override))
        done = self.run_tool("qnn-onnx-converter", "-i", "digits.onnx", "-o", "out/digits.cpp", "--input_list", "samples.txt", "--quantization_overrides",
                             "o.json", "--dump_encodings", "e.json", "--dump_ir", "ir.txt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 4 names in the overrides are no tensors of the graph: \"nothing\"", done.stderr)
        self.assertIn("stay float", done.stdout)
        data = json.loads(self.read("e.json"))
        self.assertAlmostEqual(data["activation_encodings"]["relu1_out"][0]["scale"], .02, 7)
        self.assertEqual(data["activation_encodings"]["relu1_out"][0]["origin"], "override")
        text = self.read("ir.txt").decode()
        self.assertIn("%logits : f32", text)
        self.assertIn("Dequantize", text)
        # The list form; its offset has the other sign.
        listed = {"version": "1.0.0", "activation_encodings": [{"name": "relu1_out", "bw": 8, "dtype": "INT", "enc_type": "PER_TENSOR", "is_sym": False,
                                                                "scale": [.02], "offset": [-3]}], "param_encodings": []}
        self.write("o.json", json.dumps(listed))
        e = self.encodings("--quantization_overrides", "o.json")[0]["relu1_out"][0]
        self.assertEqual((round(e["scale"], 6), e["offset"]), (.02, -3))
        # What was written can be given back.
        self.write("o.json", self.read("e.json"))
        self.assertEqual(self.encodings("--quantization_overrides", "o.json")[0]["relu1_out"][0]["scale"], e["scale"])

    def test_float_fallback(self):
        """Overrides without samples: what has no encoding stays float."""
        self.write("o.json", json.dumps({"activation_encodings": {"image": [{"bitwidth": 8, "min": 0, "max": 1}]}, "param_encodings": {}}))
        self.convert("--quantization_overrides", "o.json", "--dump_ir", "ir.txt")
        text = self.read("ir.txt").decode()
        self.assertIn("%image : uq8", text)
        self.assertIn("%logits : f32", text)
        got = self.run_library()
        self.assertEqual((got.argmax(1) == float_probabilities(self.images).argmax(1)).mean(), 1)

    def test_dlc_keeps_overrides(self):
        """Encodings given to qairt-converter stay; qairt-quantizer adds the missing ones, and no conversions remain between them."""
        names = {"image": 1.0, "conv1_out": 5.1, "relu1_out": 5.1, "pool1_out": 5.1}
        self.write("o.json", json.dumps({"activation_encodings": {k: [{"bitwidth": 8, "min": 0, "max": v}] for k, v in names.items()}, "param_encodings": {
            "w1": [{"bitwidth": 8, "min": -2.56, "max": 2.54, "is_symmetric": "True"}]}}))
        self.succeeds("qairt-converter", "-i", "digits.onnx", "-o", "a.dlc", "-q", "o.json", "--dump_ir", "a.txt")
        self.assertIn("Dequantize", self.read("a.txt").decode())
        self.succeeds("qairt-quantizer", "--input_dlc", "a.dlc", "--input_list", "samples.txt", "--dump_ir", "b.txt", "--bias_bitwidth", "32")
        text = self.read("b.txt").decode()
        self.assertNotIn("= Quantize", text)
        self.assertNotIn("= Dequantize", text)
        self.assertIn("%relu1_out : uq8[1,16,16,8] scale=0.02", text.replace("0.0199999996", "0.02"))
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "a_quantized.dlc", "--input_list", "samples.txt", "--output_dir", "r")
        self.assertGreaterEqual((self.results("r").argmax(1) == float_probabilities(self.images).argmax(1)).mean(), .97)

    def test_preserve_io_and_custom_io(self):
        out = self.convert("--input_list", "samples.txt", "--preserve_io")
        self.assertIn("image f32[1,1,16,16]", out)
        self.assertIn("probabilities f32", out)
        self.assertGreaterEqual((self.run_library().argmax(1) == self.labels).mean(), .9)
        self.convert("--dry_run", "--dump_custom_io_config_template", "io.yaml")
        text = self.read("io.yaml").decode()
        self.assertIn("- IOName: image", text)
        text = re.sub(r"(image\n(?:.*\n)*?  Datatype: )float32\n  QuantParam:\n    Type: .*\n",
                      r"\1uint8\n  QuantParam:\n    Type: QNN_DEFINITION_DEFINED\n    Scale: 0.0078125\n    Offset: 0\n", text, count=1)
        self.write("io.yaml", text)
        out = self.convert("--input_list", "samples.txt", "--custom_io", "io.yaml")
        self.assertIn("scale 0.0078125, offset 0", out)
        self.assertIn("probabilities f32", out)

    def test_custom_layout(self):
        """Three channels: an image in the file's own order gives the same numbers as one in the graph's order."""
        rng = np.random.default_rng(5)
        image = rng.normal(0, 1, (1, 3, 6, 5)).astype(np.float32)
        weights = rng.normal(0, 1, (2, 3, 3, 3)).astype(np.float32)
        nodes = [make_onnx.node("Conv", "c", ["image", "w"], "y", kernel_shape=[3, 3])]
        self.write("c.onnx", make_onnx.model(nodes, [("w", weights)], [("image", image.shape)], [("y", (1, 2, 4, 3))]))
        self.write("io.yaml", "- IOName: image\n  Layout:\n    Model: NCHW\n    Custom: NCHW\n- IOName: y\n  Layout:\n    Model: NCHW\n    Custom: NCHW\n")
        want = sum(np.einsum("nchw,oc->nohw", image[:, :, i:i + 4, j:j + 3], weights[:, :, i, j]) for i in range(3) for j in range(3))
        cases = {"graph": ([], image.transpose(0, 2, 3, 1), (1, 4, 3, 2), (0, 3, 1, 2)), "custom": (["--custom_io", "io.yaml"], image, (1, 2, 4, 3), (0, 1, 2, 3)),
                 "kept": (["--preserve_io", "layout"], image, (1, 2, 4, 3), (0, 1, 2, 3))}
        for name, (args, data, shape, order) in cases.items():
            self.write("list.txt", self.write("%s.raw" % name, np.ascontiguousarray(data).tobytes()))
            self.succeeds("qairt-converter", "-i", "c.onnx", "-o", name + ".dlc", *[a.replace("--custom_io", "--config") for a in args])
            self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", name + ".dlc", "--input_list", "list.txt", "--output_dir", name)
            got = np.frombuffer(self.read(name, "Result_0", "y.raw"), np.float32).reshape(shape).transpose(order)
            np.testing.assert_allclose(got, want, atol=1e-5)
        self.write("io.yaml", "- IOName: image\n  Layout:\n    Model: NCHW\n    Custom: NCF\n")
        self.fails("qnn-onnx-converter", "-i", "c.onnx", "-o", "x.cpp", "--custom_io", "io.yaml", says="do not fit")

    def test_compare(self):
        out = self.convert("--input_list", "samples.txt", "--compare")
        lines = out[out.index("worst first"):].splitlines()[2:]
        rows = [line.split() for line in lines if re.match(r"\s+[-\d.]+\s", line)]
        self.assertGreaterEqual(len(rows), 5)
        self.assertEqual([float(r[0]) for r in rows], sorted(float(r[0]) for r in rows))
        self.assertIn("logits", [r[4] for r in rows])

    # ---- refusals ----------------------------------------------------------------------------------------------------

    def test_refusals(self):
        bad = [(["--input_list", "none.txt"], "none.txt"), (["--input_list", "samples.txt", "--act_bw", "9"], "8 and 16"),
               (["--input_list", "samples.txt", "--weight_bw", "16"], "16-bit activations"), (["--act_quantizer", "magic"], "tf"),
               (["--input_list", "samples.txt", "--restrict_quantization_steps", "x"], "hexadecimal"),
               (["--input_list", "samples.txt", "--algorithms", "magic"], "cle, bc, adaround and amp"), (["-d", "image"], "2 are expected"),
               (["-l", "image", "HWN"], "NCHW"), (["--quantisation_overrides", "o.json"], "quantization_overrides")]
        for args, says in bad:
            self.fails("qnn-onnx-converter", "-i", "digits.onnx", "-o", "out/x.cpp", *args, says=says)
            self.assertFalse(os.path.exists(self.path("out", "x.cpp")))
        for text, says in (("{", "o.json:1"), ("{}", "activation_encodings"), ('{"activation_encodings": {"image": [{"min": 2, "max": 1}]}, "param_encodings": {}}',
                           "min is above max"), ('{"activation_encodings": {}, "param_encodings": [{"name": "w", "enc_type": "LPBQ"}]}', "block_size")):
            self.write("o.json", text)
            self.fails("qnn-onnx-converter", "-i", "digits.onnx", "-o", "out/x.cpp", "--quantization_overrides", "o.json", says=says)
        self.write("junk.onnx", b"\x08\x08junk")
        self.fails("qnn-onnx-converter", "-i", "junk.onnx", says="junk.onnx")
        self.fails("qnn-tflite-converter", "-i", "digits.onnx", says="digits.onnx")
        self.fails("qairt-quantizer", "--input_dlc", "digits.onnx", "--input_list", "samples.txt", says="digits.onnx")
        self.fails("qairt-quantizer", "--input_dlc", "digits.onnx", says="--enable_float_fallback")

    def test_unsupported_operators_are_listed_together(self):
        nodes = [make_onnx.node("Frobnicate", "one", ["image"], "a"), make_onnx.node("Relu", "two", ["a"], "b"),
                 make_onnx.node("Defenestrate", "three", ["b"], "c")]
        self.write("odd.onnx", make_onnx.model(nodes, [], [("image", (1, 4))], [("c", (1, 4))]))
        self.fails("qnn-onnx-converter", "-i", "odd.onnx", "--dry_run", says=["Frobnicate", "\"one\"", "Defenestrate", "\"three\""])

    def test_dimensions_that_a_tiny_file_claims(self):
        """Constants that follow from dimensions are not made when a few bytes ask for gigabytes."""
        wide, floats = (1 << 16, 1 << 16), seeds.FLOAT
        claims = {
            "triangle": ([seeds.node("Trilu", ["x"], ["y"])], wide, 18, "a triangle needs 4294967296 x 1 bytes, which the file does not hold"),
            "matrix": ([seeds.node("EyeLike", ["x"], ["y"])], wide, 18, "a matrix needs 4294967296 x 4 bytes"),
            "mask": ([seeds.node("Attention", ["x", "x", "x"], ["y"], is_causal=1)], (1, 1, 1 << 15, 8), 23, "a mask needs 1073741824 x 1 bytes"),
            "input": ([seeds.node("Relu", ["x"], ["y"])], (1 << 20,) * 4, 18, "its dimensions multiply to more than 2^62 bits"),
        }
        for name, (nodes, shape, opset, says) in claims.items():
            self.write(name + ".onnx", seeds.model(nodes, [("x", floats, shape)], [("y", floats, shape)], (), opset))
            self.fails("qairt-converter", "-i", name + ".onnx", "-o", "out.dlc", says=says)

    def test_half_floats_inside(self):
        """A graph of 16-bit floats whose inputs and outputs are those of the source, or some of them: 1 + 2^-12 is 1 inside."""
        x = np.array([1 + 2.0 ** -12, -3, 0.25, 1e6], "f4")
        nodes = [seeds.node("Relu", ["x.1"], ["r"]), seeds.node("Add", ["r", "z"], ["y.1"]), seeds.node("Cast", ["y.1"], ["w"], to=11)]
        self.write("half.onnx", seeds.model(nodes, [("x.1", seeds.FLOAT, (4,)), ("z", seeds.FLOAT, (4,))], [("y.1", seeds.FLOAT, (4,)), ("w", 11, (4,))]))
        want = np.maximum(x.astype("f2"), 0).astype("f4")
        every = {"x_1": "f4", "z": "f4", "y_1": "f4", "w": "f8"}
        for args, types in ((["--preserve_io"], every), (["--preserve_io", "datatype"], every), (["--preserve_io_datatype"], every),
                            (["--preserve_io_datatype", "x.1", "y_1"], {"x_1": "f4", "z": "f2", "y_1": "f4"}),
                            (["--preserve_io", "layout"], {"x_1": "f2", "z": "f2", "y_1": "f2"})):
            self.succeeds("qairt-converter", "-i", "half.onnx", "-o", "half.dlc", "--float_bitwidth", "16", *args)
            self.write("x.raw", x.astype(types["x_1"]).tobytes())
            self.write("z.raw", np.zeros(4, types["z"]).tobytes())
            self.write("half.txt", "x_1:=x.raw z:=z.raw\n")
            self.succeeds("qnn-net-run", "--backend", "libQnnCpu.so", "--dlc_path", "half.dlc", "--input_list", "half.txt", "--output_dir", "out", "--use_native_input_files",
                          "--use_native_output_files")
            for name in set(types) & {"y_1", "w"}:
                got = np.fromfile(os.path.join(self.folder, "out/Result_0", name + ".raw"), types[name])
                np.testing.assert_array_equal(got.astype("f4"), want, "%s of %s" % (name, args))

    def test_loops_that_only_a_run_ends(self):
        """What has one size however many turns there are may be read behind the loop; a row per turn, and what grows, may not."""
        floats, truth = seeds.FLOAT, 9
        steps = [seeds.node("Add", ["v", "x"], ["w"]), seeds.node("Concat", ["g", "w"], ["h"], axis=0), seeds.node("ReduceMax", ["w"], ["s"], keepdims=0),
                 seeds.node("Less", ["s", "x0"], ["d"])]
        body = onnx_ops.body(steps, [("i", seeds.INT64, ()), ("c", truth, ()), ("v", floats, (2,)), ("g", floats, ("n",))],
                             [("d", truth, ()), ("w", floats, (2,)), ("h", floats, ("n",)), ("w", floats, (2,))])
        first = [seeds.node("ReduceSum", ["x"], ["x0"], keepdims=0)]
        for read, most, says in (("a", 3, None), ("b", 3, "output 1 has another shape after every turn"), ("r", 3, "output 2 has a row per turn"),
                                 ("a", 1 << 40, "nothing ends it after 1024 turns")):
            loop = onnx_ops.turns("Loop", ["m", "yes", "x", "x"], ["a", "b", "r"], body)
            self.write("loop.onnx", seeds.model(first + [loop, seeds.node("Relu", [read], ["y"])], [("x", floats, (2,))], [("y", floats, ("n",))],
                                                [onnx_ops.pb("m", np.array(most)), onnx_ops.pb("yes", np.array(True))]))
            if says:
                self.fails("qairt-converter", "-i", "loop.onnx", "-o", "loop.dlc", says=says)
            else:
                self.succeeds("qairt-converter", "-i", "loop.onnx", "-o", "loop.dlc")

    def test_constant_output_has_its_name(self):
        """Some results are known while converting; clients look for them by the name of the source all the same."""
        self.write("shape.onnx", seeds.model([seeds.node("Shape", ["x"], ["size"]), seeds.node("Relu", ["x"], ["y"])], [("x", seeds.FLOAT, (2, 3))],
                                             [("y", seeds.FLOAT, (2, 3)), ("size", seeds.INT64, (2,))]))
        self.succeeds("qairt-converter", "-i", "shape.onnx", "-o", "shape.dlc")
        self.write("shape.raw", np.zeros((2, 3), "f4").tobytes())
        self.write("shape.txt", "shape.raw\n")
        self.succeeds("qnn-net-run", "--backend", "libQnnCpu.so", "--dlc_path", "shape.dlc", "--input_list", "shape.txt", "--output_dir", "out")
        self.assertEqual(np.fromfile(os.path.join(self.folder, "out/Result_0/size.raw"), "f4").tolist(), [2, 3])

    def test_help(self):
        for name in ("qnn-onnx-converter", "qnn-tflite-converter", "qairt-converter", "qairt-quantizer"):
            out = self.succeeds(name, "--help")
            for part in ("usage:", "Examples:", "Exit status"):
                self.assertIn(part, out)


class OtherPeoplesNetworks(support.ToolTest):
    """Quantized by us, compared with the float references that came with them. There are too few inputs to keep some back: calibration sees
    them all, so the numbers say that nothing is broken, not how accurate such a network is."""

    def setUp(self):
        super().setUp()
        if not os.path.isdir(MODELS):
            print("SKIP: no models beside the source (../shared/models)")
            self.skipTest("no models beside the source (../shared/models)")

    def quantize(self, path, *args):
        model, refs = os.path.join(MODELS, path), os.path.join(MODELS, "refs", os.path.splitext(path)[0])
        folder = re.sub(r"\W", "_", path)
        samples = sorted(f for f in os.listdir(refs) if re.match(r"in_s\d+_0\.bin", f))
        self.write("list.txt", "".join(os.path.join(refs, f) + "\n" for f in samples))
        tool = "qnn-onnx-converter" if path.endswith(".onnx") else "qnn-tflite-converter"
        self.succeeds(tool, "-i", model, "-o", "m.cpp", "--input_list", "list.txt", "--quiet", "--use_per_channel_quantization", "--use_per_row_quantization",
                      "--bias_bw", "32", *args)
        self.succeeds("qnn-model-lib-generator", "-c", "m.cpp", "-b", "m.bin", "-l", "m", "-o", "lib")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--model", "lib/x86_64-linux-clang/libm.so", "--input_list", "list.txt",
                      "--output_dir", folder)
        for i, name in enumerate(samples):
            want = np.fromfile(os.path.join(refs, name.replace("in_", "expected_")), np.float32)
            files = os.listdir(self.path(folder, "Result_%d" % i))
            self.assertEqual(len(files), 1)
            yield np.frombuffer(self.read(folder, "Result_%d" % i, files[0]), np.float32), want

    def check(self, path, decibel, *args):
        noise = signal = 0
        for got, want in self.quantize(path, *args):
            noise, signal = noise + ((got - want) ** 2).sum(), signal + (want ** 2).sum()
            if len(want) <= 1000 and want.min() >= 0:
                self.assertEqual(got.argmax(), want.argmax(), path)
        found = 10 * np.log10(signal / noise)
        print("%-44s %-20s %.1f dB against float" % (path, " ".join(args) or "8 bits", found))
        self.assertGreaterEqual(found, decibel, path)

    def test_networks(self):
        for path, least in (("onnx/mnist.onnx", 30), ("mlperf-tiny/ic_resnet8_float.tflite", 15), ("mlperf-tiny/vww_mobilenetv1_float.tflite", 15),
                            ("mlperf-tiny/ad_autoencoder_float.tflite", 25), ("mlperf-tiny/kws_dscnn_float_hybrid.tflite", 20)):
            with self.subTest(path):
                self.check(path, least)
        self.check("mlperf-tiny/ic_resnet8_float.tflite", 50, "--act_bw", "16", "--weight_bw", "16")


if __name__ == "__main__":
    support.main()

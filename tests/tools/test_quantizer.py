#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quantizer's algorithms on a depthwise network whose channels are scaled badly, judged against numpy on inputs that calibration has not seen."""

import json
import os
import sys
import zipfile

import numpy as np
import support

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

SIZE, CHANNELS = 10, 16


def relu(x):
    return np.maximum(x, 0)


class Network:
    """1x1 convolution, depthwise 3x3, 1x1, mean over the image, and a matrix: a block as mobile networks have it. A factor per channel moves between
    neighbouring layers: the function does not depend on it, ranges per tensor do."""

    def __init__(self, spread):
        rng = np.random.default_rng(5)
        scale = [np.exp(rng.uniform(-spread, spread, CHANNELS)) for _ in range(2)]
        self.w1 = rng.normal(0, .6, (CHANNELS, 3, 1, 1)) * scale[0].reshape(-1, 1, 1, 1)
        self.b1 = rng.normal(.2, .3, CHANNELS) * scale[0]
        self.w2 = rng.normal(0, .4, (CHANNELS, 1, 3, 3)) / scale[0].reshape(-1, 1, 1, 1) * scale[1].reshape(-1, 1, 1, 1)
        self.b2 = rng.normal(.2, .3, CHANNELS) * scale[1]
        self.w3 = rng.normal(0, .4, (CHANNELS, CHANNELS, 1, 1)) / scale[1].reshape(1, -1, 1, 1)
        self.w4 = rng.normal(0, .5, (5, CHANNELS))
        self.b4 = rng.normal(0, .1, 5)

    def onnx(self):
        node = make_onnx.node
        pad = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        nodes = [node("Conv", "one", ["x", "w1", "b1"], "a", kernel_shape=[1, 1]), node("Relu", "relu1", ["a"], "ar"),
                 node("Conv", "two", ["ar", "w2", "b2"], "d", group=CHANNELS, **pad), node("Relu", "relu2", ["d"], "dr"),
                 node("Conv", "three", ["dr", "w3"], "p", kernel_shape=[1, 1]), node("Relu", "relu3", ["p"], "pr"),
                 node("GlobalAveragePool", "mean", ["pr"], "m"), node("Flatten", "flat", ["m"], "f"),
                 node("Gemm", "four", ["f", "w4", "b4"], "y", transB=1)]
        names = ("w1", "b1", "w2", "b2", "w3", "w4", "b4")
        return make_onnx.model(nodes, [(n, getattr(self, n)) for n in names], [("x", (1, 3, SIZE, SIZE))], [("y", (1, 5))])

    def run(self, x):
        """x: [n, SIZE, SIZE, 3]."""
        a = relu(x @ self.w1[:, :, 0, 0].T + self.b1)
        padded = np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0)))
        d = relu(sum(padded[:, i:i + SIZE, j:j + SIZE] * self.w2[:, 0, i, j] for i in range(3) for j in range(3)) + self.b2)
        return relu(d @ self.w3[:, :, 0, 0].T).mean((1, 2)) @ self.w4.T + self.b4


class ComputedWeights(support.ToolTest):
    def test_weights_that_are_computed_from_constants(self):
        """y = x @ sin(k) * c: columns have ranges of their own, which one scale for all of them would lose."""
        rng = np.random.default_rng(3)
        k, c = rng.normal(0, 1, (8, 4)), np.array([[100, 10, 1, .01]])
        node = make_onnx.node
        nodes = [node("Sin", "sin", ["k"], "s"), node("Mul", "scaled", ["s", "c"], "w"), node("MatMul", "product", ["x", "w"], "y")]
        self.write("computed.onnx", make_onnx.model(nodes, [("k", k), ("c", c)], [("x", (1, 8))], [("y", (1, 4))]))
        x = rng.normal(0, 1, (16, 1, 8)).astype("f4")
        self.write("list.txt", "".join(self.write("x/%02d.raw" % i, v.tobytes()) + "\n" for i, v in enumerate(x)))
        self.succeeds("qnn-onnx-converter", "-i", "computed.onnx", "-o", "out/computed.cpp", "--input_list", "list.txt", "--use_per_row_quantization", "--dump_ir", "computed.ir")
        text = self.read("computed.ir").decode()
        line = next(t for t in text.splitlines() if "%w :" in t)
        self.assertIn("const", line)
        scales = [float(v) for v in line.split("scales=(")[1].split(")")[0].split(",")]
        want = np.abs(np.sin(k.astype("f4")) * c).max(0) / 127
        np.testing.assert_allclose(scales, want, rtol=1e-3)
        self.assertNotIn("ElementWiseSin", text)


class ComputedFactors(support.ToolTest):
    def test_bias_beside_two_activations(self):
        """y = x @ w + b with a w of the client's: steps of 16 bits on both sides make products too fine for the bias in 32 bits."""
        rng = np.random.default_rng(23)
        x, w, b = rng.uniform(-1, 1, (8, 3, 16)), rng.uniform(-.05, .05, (8, 6, 16)), rng.uniform(-4, 4, 6)
        node = make_onnx.node("Gemm", "product", ["x", "w", "b"], "y", transB=1)
        self.write("net.onnx", make_onnx.model([node], [("b", b)], [("x", x.shape[1:]), ("w", w.shape[1:])], [("y", (3, 6))]))
        parts = [["%s:=%s" % (n, self.write("%s/%d.raw" % (n, i), v[i].astype("f4").tobytes())) for n, v in (("x", x), ("w", w))] for i in range(8)]
        self.write("list.txt", "".join(" ".join(p) + "\n" for p in parts))
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net.dlc")
        self.succeeds("qairt-quantizer", "--input_dlc", "net.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", "--act_bitwidth", "16", "--bias_bitwidth", "32")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "q.dlc", "--input_list", "list.txt", "--output_dir", "r")
        got = np.stack([np.frombuffer(self.read("r", "Result_%d" % i, "y.raw"), np.float32).reshape(3, 6) for i in range(8)])
        want = x @ w.swapaxes(1, 2) + b
        self.assertLess(np.abs(got - want).max(), 1e-3)


class OddSamples(support.ToolTest):
    """Samples that cannot be what the model is meant for are refused or told; they would be seen as a bad network otherwise."""

    def quantize(self, samples, *more):
        node = make_onnx.node("Relu", "relu", ["x"], "y")
        self.write("net.onnx", make_onnx.model([node], [], [("x", (1, 6))], [("y", (1, 6))]))
        self.write("list.txt", "".join(self.write("x/%d.raw" % i, v.tobytes()) + "\n" for i, v in enumerate(samples)))
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net.dlc")
        return self.run_tool("qairt-quantizer", "--input_dlc", "net.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", *more)

    def test_nan_is_refused(self):
        samples = np.ones((3, 6), "f4")
        samples[1, 4] = np.nan
        done = self.quantize(samples)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn('input "x" of sample 2 has 1 NaN among 6 values', done.stderr)
        self.assertFalse(os.path.exists(self.path("q.dlc")))

    def test_zeros_are_told(self):
        done = self.quantize(np.zeros((3, 6), "f4"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('input "x" is zero in all 3 samples', done.stderr)

    def test_ordinary_samples_are_not(self):
        done = self.quantize(np.random.default_rng(1).normal(0, 1, (3, 6)).astype("f4"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("sample", done.stderr)

    def tokens(self, dtype, *more):
        """A table looked up by int32 tokens, which is what embeddings are."""
        sys.path.insert(0, os.path.join(support.SOURCE, "tests", "fuzz"))
        import make_onnx_seeds as seeds  # noqa: PLC0415
        table = np.random.default_rng(2).normal(0, 1, (9, 4)).astype("f4")
        nodes = [seeds.node("Gather", ["t", "i"], ["g"], axis=0), seeds.node("Relu", ["g"], ["y"])]
        constants = [seeds.tensor("t", seeds.FLOAT, table.shape, raw=table.tobytes())]
        self.write("net.onnx", seeds.model(nodes, [("i", 6, (3,))], [("y", seeds.FLOAT, (3, 4))], constants))
        self.write("list.txt", self.write("i.raw", np.array([4, 7, 2], dtype).tobytes()) + "\n")
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net.dlc")
        done = self.run_tool("qairt-quantizer", "--input_dlc", "net.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", *more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stderr

    def test_integers_read_as_floats(self):
        self.assertIn("--use_native_input_files", self.tokens("i4"))
        self.assertEqual(self.tokens("f4"), "")
        self.assertEqual(self.tokens("i4", "--use_native_input_files"), "")


class Slopes(support.ToolTest):
    def test_slopes_of_sixteen_bits(self):
        """y = x < 0 ? s * x : x: with slopes of 8 bits nothing better than 50 dB could come of 16-bit values."""
        rng = np.random.default_rng(41)
        x, s = rng.normal(-1, 1, (12, 1, 7, 5, 5)).astype("f4"), rng.uniform(-.4, .6, (7, 1, 1))
        node = make_onnx.node("PRelu", "prelu", ["x", "s"], "y")
        self.write("net.onnx", make_onnx.model([node], [("s", s)], [("x", x.shape[1:])], [("y", x.shape[1:])]))
        self.write("list.txt", "".join(self.write("x/%d.raw" % i, v.tobytes()) + "\n" for i, v in enumerate(x)))
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net.dlc", "--preserve_io", "layout")
        self.succeeds("qairt-quantizer", "--input_dlc", "net.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", "--act_bitwidth", "16")
        want = np.where(x < 0, x * s, x)
        for backend in (support.CPU, support.HTP):
            self.succeeds("qnn-net-run", "--backend", backend, "--dlc_path", "q.dlc", "--input_list", "list.txt", "--output_dir", "r")
            got = np.stack([np.frombuffer(self.read("r", "Result_%d" % i, "y.raw"), np.float32) for i in range(len(x))]).reshape(x.shape)
            self.assertGreater(10 * np.log10(np.square(want).sum() / np.square(got - want).sum()), 80)


class Cells(support.ToolTest):
    """An LSTM whose cells fill for twelve steps and are emptied in the last four: what is left at the end says nothing about what they held."""
    STEPS, WIDTH, UNITS = 16, 5, 6

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(17)
        self.w = rng.normal(0, .3, (4, self.UNITS, self.WIDTH))  # input, output, forget, cell
        self.w[:, :, -1] = np.array([0, 0, 6, 0])[:, None]       # the last input keeps or empties
        self.r = rng.normal(0, .2, (4, self.UNITS, self.UNITS))
        self.b = np.zeros((8, self.UNITS))
        self.x = rng.uniform(-1, 2.6, (24, self.STEPS, 1, self.WIDTH))
        self.x[:, :12, :, -1], self.x[:, 12:, :, -1] = 1, -1
        self.x = self.x.astype("f4")
        node = make_onnx.node("LSTM", "lstm", ["x", "w", "r", "b"], "y", hidden_size=self.UNITS)
        constants = [("w", self.w.reshape(1, -1, self.WIDTH)), ("r", self.r.reshape(1, -1, self.UNITS)), ("b", self.b.reshape(1, -1))]
        self.write("lstm.onnx", make_onnx.model([node], constants, [("x", (self.STEPS, 1, self.WIDTH))], [("y", (self.STEPS, 1, 1, self.UNITS))]))
        self.write("list.txt", "".join(self.write("x/%d.raw" % i, v.tobytes()) + "\n" for i, v in enumerate(self.x)))

    def run_numpy(self, x):
        """Results of all steps, and the largest magnitude of a cell in any step and in the last."""
        h, c, all_h, most = np.zeros(self.UNITS), np.zeros(self.UNITS), [], 0
        for step in x.astype("f8"):
            i, o, f, g = (self.w[k] @ step[0] + self.r[k] @ h for k in range(4))
            i, o, f = (1 / (1 + np.exp(-z)) for z in (i, o, f))
            c = f * c + i * np.tanh(g)
            h = o * np.tanh(c)
            all_h.append(h)
            most = max(most, np.abs(c).max())
        return np.array(all_h), most, np.abs(c).max()

    def test_range_of_all_steps(self):
        want, most, last = zip(*(self.run_numpy(x) for x in self.x))
        self.assertGreater(min(most), 1.5 * max(last))
        self.succeeds("qairt-converter", "-i", "lstm.onnx", "-o", "lstm.dlc")
        for bits, least in (("8", 35), ("16", 70)):
            out = self.succeeds("qairt-quantizer", "--input_dlc", "lstm.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", "--bias_bitwidth", "32", "--act_bitwidth", bits,
                                "--weights_bitwidth", bits)
            self.assertNotIn("stay float", out)
            self.assertNotIn("gate_", out)
            self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "q.dlc", "--input_list", "list.txt", "--output_dir", "r")
            got = np.stack([np.frombuffer(self.read("r", "Result_%d" % i, "y.raw"), np.float32) for i in range(len(want))]).reshape(np.shape(want))
            ratio = 10 * np.log10(np.square(want).sum() / np.square(got - want).sum())
            print("lstm of %s bits: %.1f dB" % (bits, ratio))
            self.assertGreater(ratio, least)

    def test_scales_per_row(self):
        """Units whose weights differ by orders of magnitude: one scale per gate leaves nothing of the small ones."""
        self.w *= np.exp(np.linspace(-4, 0, self.UNITS))[None, :, None]
        constants = [("w", self.w.reshape(1, -1, self.WIDTH)), ("r", self.r.reshape(1, -1, self.UNITS)), ("b", self.b.reshape(1, -1))]
        node = make_onnx.node("LSTM", "lstm", ["x", "w", "r", "b"], "y", hidden_size=self.UNITS)
        self.write("lstm.onnx", make_onnx.model([node], constants, [("x", (self.STEPS, 1, self.WIDTH))], [("y", (self.STEPS, 1, 1, self.UNITS))]))
        want = np.array([self.run_numpy(x)[0] for x in self.x])
        self.succeeds("qairt-converter", "-i", "lstm.onnx", "-o", "lstm.dlc")
        ratios = []
        for options in ([], ["--use_per_row_quantization"]):
            self.succeeds("qairt-quantizer", "--input_dlc", "lstm.dlc", "--output_dlc", "q.dlc", "--input_list", "list.txt", "--act_bitwidth", "16", *options)
            for backend in (support.CPU, support.HTP):
                self.succeeds("qnn-net-run", "--backend", backend, "--dlc_path", "q.dlc", "--input_list", "list.txt", "--output_dir", "r")
                got = np.stack([np.frombuffer(self.read("r", "Result_%d" % i, "y.raw"), np.float32) for i in range(len(want))]).reshape(want.shape)
                ratios.append(10 * np.log10(np.square(want).sum((0, 1)) / np.square(got - want).sum((0, 1))).min())  # of the worst unit
        print("worst unit: %.1f and %.1f dB" % (ratios[0], ratios[2]))
        self.assertEqual(ratios[::2], ratios[1::2])
        self.assertGreater(ratios[2], ratios[0] + 10)
        self.assertGreater(ratios[2], 35)


class Algorithms(support.ToolTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(9)
        smooth = rng.normal(0, 1, (72, SIZE // 2, SIZE // 2, 3)).repeat(2, 1).repeat(2, 2)
        self.data = (smooth + rng.normal(.3, .4, (72, SIZE, SIZE, 3))).astype(np.float32)
        for name, part in (("seen", self.data[:24]), ("scored", self.data[24:])):
            self.write(name + ".txt", "".join(self.write("%s/%d.raw" % (name, i), x.tobytes()) + "\n" for i, x in enumerate(part)))

    def prepare(self, spread):
        network = Network(spread)
        self.write("net.onnx", network.onnx())
        self.succeeds("qairt-converter", "-i", "net.onnx", "-o", "net.dlc")
        self.want = network.run(self.data[24:].astype(np.float64))

    def quantize(self, algorithms, *options):
        """Signal to noise in decibel, mean of the shift per output, and what was printed."""
        out = self.succeeds("qairt-quantizer", "--input_dlc", "net.dlc", "--output_dlc", "q.dlc", "--input_list", "seen.txt", "--bias_bitwidth", "32",
                            *(["--apply_algorithms"] + algorithms if algorithms else []), *options)
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "q.dlc", "--input_list", "scored.txt", "--output_dir", "r")
        got = np.stack([np.frombuffer(self.read("r", "Result_%d" % i, "y.raw"), np.float32) for i in range(len(self.want))])
        error = got - self.want
        return 10 * np.log10((self.want ** 2).sum() / (error ** 2).sum()), np.abs(error.mean(0)).mean(), out

    def test_equalization(self):
        """Channels that differ by e^±3 share a scale: most are lost. Equalized, the network is as good as one that was never scaled."""
        self.prepare(3)
        plain, _, _ = self.quantize([])
        equal, _, out = self.quantize(["cle"])
        self.assertIn("cle: 2 pairs of layers equalized", out)
        print("badly scaled depthwise network: %.1f dB, %.1f dB with cle" % (plain, equal))
        self.assertGreater(equal, plain + 10)
        self.prepare(0)
        good, _, _ = self.quantize([])
        self.assertGreater(equal, good - 6)

    def test_correction_and_rounding(self):
        self.prepare(.5)
        for options in (["--weights_bitwidth", "4"], ["--weights_bitwidth", "4", "--use_per_channel_quantization", "--use_per_row_quantization"]):
            plain, shift, _ = self.quantize([], *options)
            corrected, less, out = self.quantize(["bc"], *options)
            rounded, _, said = self.quantize(["adaround"], *options)
            both, _, _ = self.quantize(["adaround", "bc"], *options)
            print("4 bits%s: %.1f dB, bc %.1f, adaround %.1f, both %.1f; shift %.4f, bc %.4f"
                  % (" per channel" if len(options) > 2 else "", plain, corrected, rounded, both, shift, less))
            self.assertLess(less, shift * .6)
            self.assertGreater(corrected, plain)
            self.assertGreater(rounded, plain + 1)
            self.assertGreater(both, plain + 1)
            self.assertIn("bc: worst output", out)
            self.assertIn("adaround: worst output", said)

    def test_same_result_twice(self):
        self.prepare(.5)
        files = []
        for _ in range(2):
            self.quantize(["cle,adaround", "bc"], "--weights_bitwidth", "4")
            files.append(self.read("q.dlc"))
        self.assertEqual(*files)

    def test_mixed_precision(self):
        """The target is reached with some layers of 16 bits, and others that stay."""
        self.prepare(2)
        plain, _, _ = self.quantize([])
        mixed, _, out = self.quantize(["amp"])
        print("mixed precision: %.1f dB, %.1f dB with amp" % (plain, mixed))
        self.assertLess(plain, 28)
        self.assertGreater(mixed, 28)
        self.assertRegex(out, r"amp: \d of \d layers raised to 16 bits")
        kinds = {line.split()[0] for line in out.splitlines() if line.split()[:1] and line.split()[0] in ("uq8", "uq16")}
        self.assertEqual(kinds, {"uq8", "uq16"})

    def test_where_it_is_lost(self):
        """--compare of qnn-net-run: a float run with all tensors, then the quantized model as a DLC and as a context binary. 4-bit weights of one
        layer show from that layer on."""
        self.prepare(0)
        run = ["qnn-net-run", "--backend", support.CPU, "--input_list", "seen.txt"]
        self.succeeds(*run, "--dlc_path", "net.dlc", "--debug", "--output_dir", "float")
        self.write("o.json", json.dumps({"activation_encodings": {}, "param_encodings": {"w3": [{"bitwidth": 4, "min": -1.6, "max": 1.4}]}}))
        self.quantize([], "--act_bitwidth", "16", "--quantization_overrides", "o.json")
        self.succeeds("qnn-context-binary-generator", "--backend", support.CPU, "--dlc_path", "q.dlc", "--binary_file", "q", "--output_dir", ".",
                      "--enable_intermediate_outputs")
        tables = []
        for words in (["--dlc_path", "q.dlc", "--debug"], ["--retrieve_context", "q.bin", "--compare_common"]):
            out = self.succeeds(*run, *words, "--output_dir", "fixed", "--compare", "float")
            lines = out[out.index("worst first"):].splitlines()[2:]
            rows = [line.split() for line in lines if line.startswith(" ") and len(line.split()) == 5]
            found = {r[4]: float(r[0]) for r in rows}
            self.assertEqual([float(r[0]) for r in rows], sorted(found.values()))
            self.assertLessEqual({"ar", "dr", "pr", "m", "y"}, set(found))
            self.assertGreater(found["dr"], found["pr"] + 10)
            got = np.frombuffer(self.read("fixed", "Result_0", "pr.raw"), np.float32)
            self.assertTrue(got.size)
            total = [np.frombuffer(self.read(d, "Result_%d" % i, "y.raw"), np.float32) for d in ("float", "fixed") for i in range(24)]
            want, have = np.array(total[:24], np.float64), np.array(total[24:], np.float64)
            self.assertAlmostEqual(found["y"], 10 * np.log10((want ** 2).sum() / ((have - want) ** 2).sum()), delta=1e-3)
            tables.append(found)
        self.assertEqual(*tables)
        self.fails(*run, "--dlc_path", "q.dlc", "--compare", "nowhere", says="there is no such folder")
        self.fails(*run, "--dlc_path", "q.dlc", "--compare", "float", "--use_native_output_files", says="float results")

    # ---- overrides in all forms ------------------------------------------------------------------------------------------

    def override(self, data):
        self.write("o.json", json.dumps(data))
        decibel, _, _ = self.quantize([], "--act_bitwidth", "16", "--weights_bitwidth", "16", "--quiet", "--quantization_overrides", "o.json")
        return decibel, self.records()

    def records(self):
        with zipfile.ZipFile(self.path("q.dlc")) as z:
            return {n: z.read(n) for n in z.namelist() if n != "dlc.metadata"}

    def test_forms_agree(self):
        """The same encodings in three schemas and both sign conventions give the same file."""
        self.prepare(0)
        network = Network(0)
        scales = np.abs(network.w3[:, :, 0, 0]).max(1) / 7
        scales = [float(np.float32(s)) for s in scales]
        keyed = [{"bitwidth": 4, "scale": s, "offset": -8, "is_symmetric": "True", "dtype": "int"} for s in scales]
        act = {"scale": 1 / 256, "zero": 100}
        forms = [
            {"version": "0.6.1", "activation_encodings": {"pr": [{"bitwidth": 8, "scale": act["scale"], "offset": -act["zero"], "is_symmetric": "False"}]},
             "param_encodings": {"w3": keyed}},
            {"version": "0.6.1", "activation_encodings": {"pr": [{"bitwidth": 8, "scale": act["scale"], "offset": act["zero"], "is_symmetric": "False"}]},
             "param_encodings": {"w3": [dict(k, offset=0) for k in keyed]}},
            {"version": "1.0.0", "activation_encodings": [{"name": "pr", "enc_type": "PER_TENSOR", "dtype": "INT", "bw": 8, "is_sym": False,
                                                           "scale": [act["scale"]], "offset": [-act["zero"]]}],
             "param_encodings": [{"name": "w3", "enc_type": "PER_CHANNEL", "dtype": "INT", "bw": 4, "is_sym": True, "scale": scales, "offset": [-8] * 16}]},
            {"version": "2.0.0", "encodings": [{"name": "pr", "output_dtype": "uint8", "y_scale": act["scale"], "y_zero_point": act["zero"]},
                                               {"name": "w3", "output_dtype": "int4", "y_scale": scales, "y_zero_point": [0] * 16, "axis": 0}]},
        ]
        found = [self.override(f) for f in forms]
        for other in found[1:]:
            self.assertEqual(other[1], found[0][1])
        plain, _, _ = self.quantize([], "--act_bitwidth", "16", "--quiet")
        self.assertNotEqual(self.records(), found[0][1])

    def fake(self, steps):
        """The network with these steps of w3, [output, input], in numpy."""
        network = Network(0)
        w = network.w3[:, :, 0, 0]
        network.w3 = (np.clip(np.round(w / steps), -8, 7) * steps).reshape(network.w3.shape)
        return network.run(self.data[24:].astype(np.float64))

    def test_blocks(self):
        """Scales per block of four input channels, and the same as a scale per output times an integer per block: 16-bit activations show the
        steps that the weights got."""
        self.prepare(0)
        self.write("seen.txt", self.read("scored.txt")) # ranges fit, but for what rounded weights add
        w = Network(0).w3[:, :, 0, 0]
        blocks = np.abs(w).reshape(16, 4, 4).max(2) / 7
        per_channel = blocks.max(1) / 16
        factors = np.maximum(np.ceil(blocks / per_channel[:, None] - 1e-9), 1).astype(int)
        expanded = per_channel[:, None] * factors
        cases = {
            "PER_BLOCK": (blocks, {"version": "1.0.0", "activation_encodings": [], "param_encodings": [
                {"name": "w3", "enc_type": "PER_BLOCK", "dtype": "INT", "bw": 4, "is_sym": True, "block_size": 4, "scale": blocks.flatten().tolist(),
                 "offset": [-8] * 64}]}),
            "2.0.0 blocks": (blocks, {"version": "2.0.0", "encodings": [
                {"name": "w3", "output_dtype": "int4", "y_scale": blocks.tolist(), "axis": 1, "block_size": 4}]}),
            "2.0.0, blocks first": (blocks, {"version": "2.0.0", "encodings": [
                {"name": "w3", "output_dtype": "int4", "y_scale": blocks.T.tolist(), "axis": 0, "block_size": 4}]}),
            "LPBQ": (expanded, {"version": "1.0.0", "activation_encodings": [], "param_encodings": [
                {"name": "w3", "enc_type": "LPBQ", "dtype": "INT", "bw": 8, "compressed_bw": 4, "is_sym": True, "block_size": 4,
                 "scale": per_channel.tolist(), "offset": [-128] * 16, "per_block_int_scale": factors.flatten().tolist()}]}),
            "2.0.0 LPBQ": (expanded, {"version": "2.0.0", "encodings": [
                {"name": "w3", "output_dtype": "int4", "per_channel_float_scale": per_channel.tolist(), "per_block_int_scale": factors.tolist(), "axis": 1,
                 "block_size": 4}]}),
        }
        real = self.want
        for name, (steps, data) in cases.items():
            with self.subTest(name):
                self.want = self.fake(np.repeat(steps, 4, 1))
                near, _ = self.override(data)
                self.want = real
                far, _ = self.override(data)
                self.assertGreater(near, far + 10, name)
        one = cases["LPBQ"][1]["param_encodings"][0]
        for change, says in (({"block_size": 5}, "a divisor of the 16 input channels"), ({"scale": [1.0]}, "16 and 64 are expected"),
                             ({"per_block_int_scale": [0] * 64}, "between 1 and 65535")):
            self.write("o.json", json.dumps({"activation_encodings": [], "param_encodings": [dict(one, **change)]}))
            self.fails("qairt-quantizer", "--input_dlc", "net.dlc", "--input_list", "seen.txt", "--quantization_overrides", "o.json", says=says)

    def test_refusals(self):
        self.prepare(0)
        bad = [(["--apply_algorithms", "magic", "--input_list", "seen.txt"], "cle, bc, adaround and amp"),
               (["--apply_algorithms", "--input_list", "seen.txt"], "is followed by nothing"),
               (["--apply_algorithms", "cle", "--enable_float_fallback"], "--input_list is needed"),
               (["--apply_algorithms", "amp", "--input_list", "seen.txt", "--act_bitwidth", "16", "--weights_bitwidth", "16"], "16 bits already")]
        for args, says in bad:
            self.fails("qairt-quantizer", "--input_dlc", "net.dlc", *args, says=says)


if __name__ == "__main__":
    support.main()

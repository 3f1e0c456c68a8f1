#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No option of the converters is ignored in silence. Every documented one, and every one that --help lists, has a row here: it changes what is written
or printed, or says that it changes nothing and why, or is refused with a reason."""

import json
import os
import re
import sys
import zipfile

import numpy as np
import support

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

CHANGES, TOLD, REFUSED, NEEDED = "changes", "told", "refused", "needed"
LIST = ["--input_list", "list.txt"]
OVERRIDES = ["--quantization_overrides", "o.json"]

LEGACY = {
    "input_network": NEEDED, "output_path": NEEDED, "help": NEEDED, "version": NEEDED,
    "copyright_file": (CHANGES, ["note.txt"]), "dump_ir": (CHANGES, ["dump.txt"]), "dry_run": (CHANGES, ["info"]),
    "out_node": (CHANGES, ["r"]), "out_name": (CHANGES, ["r"]), "input_dim": (CHANGES, ["x", "1,3,8,10"]), "input_layout": (CHANGES, ["x", "NONTRIVIAL"]),
    "input_dtype": (REFUSED, ["x", "complex"]), "input_type": (CHANGES, ["x", "opaque"], LIST), "input_encoding": (CHANGES, ["x", "rgb", "bgr"]),
    "define_symbol": (REFUSED, ["n", "none"]), "batch": (REFUSED, ["0"]), "preserve_io": (CHANGES, []), "custom_io": (CHANGES, ["io.yaml"]),
    "dump_custom_io_config_template": (CHANGES, ["t.yaml"]), "reset_state": (REFUSED, ["--reset_stat"]), "float_bw": (CHANGES, ["16"]),
    "disable_batchnorm_folding": (CHANGES, []), "no_simplification": (CHANGES, []), "keep_disconnected_nodes": (REFUSED, []),
    "export_format": (CHANGES, ["dlc"]), "enable_framework_trace": (TOLD, []), "overwrite_model_prefix": (CHANGES, []), "exclude_named_tensors": (CHANGES, []), "keep_quant_nodes": (REFUSED, []), "arch_checker": (CHANGES, []),
    "op_package_lib": (REFUSED, ["a.so:p"]), "op_package_config": (REFUSED, ["a.xml"]), "package_name": (REFUSED, ["p"]),
    "input_list": (CHANGES, ["list.txt"]), "quantization_overrides": (CHANGES, ["o.json"]), "act_bw": (CHANGES, ["16"], LIST), "weight_bw": (CHANGES, ["4"], LIST),
    "bias_bw": (CHANGES, ["32"], LIST), "act_quantizer": (CHANGES, ["adjusted"], LIST), "param_quantizer": (CHANGES, ["adjusted"], LIST),
    "act_quantizer_calibration": (CHANGES, ["percentile"], LIST + ["--percentile_calibration_value", "90"]),
    "param_quantizer_calibration": (CHANGES, ["mse"], LIST + ["--weight_bw", "4"]),
    "act_quantizer_schema": (CHANGES, ["symmetric"], LIST), "param_quantizer_schema": (CHANGES, ["symmetric"], LIST),
    "percentile_calibration_value": (CHANGES, ["90"], LIST + ["--act_quantizer_calibration", "percentile"]),
    "use_per_channel_quantization": (CHANGES, [], LIST), "use_per_row_quantization": (CHANGES, [], LIST),
    "restrict_quantization_steps": (CHANGES, ["-0x70 0x6F"], LIST), "ignore_encodings": (CHANGES, [], [], "qdq.onnx"),
    "use_native_input_files": (CHANGES, [], LIST, "u8.onnx"), "use_native_dtype": (CHANGES, [], LIST, "u8.onnx"), "use_native_output_files": (TOLD, []),
    "algorithms": (CHANGES, ["bc", "adaround"], LIST), "dump_encodings": (CHANGES, ["e.json"], LIST), "compare": (CHANGES, [], LIST),
    "quiet": (CHANGES, [], LIST), "backend": (REFUSED, ["none.so"], LIST), "debug": NEEDED,
}
CONVERTER = {
    "input_network": NEEDED, "output_path": NEEDED, "help": NEEDED, "version": NEEDED, "debug": NEEDED,
    "copyright_file": (CHANGES, ["note.txt"]), "dump_ir": (CHANGES, ["dump.txt"]), "dry_run": (CHANGES, []),
    "source_model_input_shape": (CHANGES, ["x", "1,3,8,10"]), "source_model_input_layout": (REFUSED, ["x", "XYZ"]),
    "source_model_input_datatype": (REFUSED, ["x", "complex"]), "desired_input_layout": (CHANGES, ["x", "NCHW"]),
    "source_model_output_layout": (REFUSED, ["none", "NF"]), "desired_output_layout": (CHANGES, ["y", "FN"], ["--source_model_output_layout", "y", "NF"]),
    "desired_input_color_encoding": (CHANGES, ["x", "rgba"]), "out_tensor_node": (CHANGES, ["r"]), "out_tensor_name": (CHANGES, ["r"]),
    "onnx_define_symbol": (REFUSED, ["n", "none"]), "onnx_override_batch": (REFUSED, ["0"]), "preserve_io": (CHANGES, []),
    "preserve_io_datatype": (CHANGES, [], OVERRIDES), "config": (CHANGES, ["io.yaml"]), "dump_config_template": (CHANGES, ["t.yaml"]),
    "reset_state": (REFUSED, ["--reset_stat"]), "quantization_overrides": (CHANGES, ["o.json"]), "float_bitwidth": (CHANGES, ["16"]),
    "float_bias_bitwidth": (REFUSED, ["16"]), "disable_batchnorm_folding": (CHANGES, []), "onnx_skip_simplification": (CHANGES, []),
    "enable_framework_trace": (TOLD, []), "onnx_summary": (TOLD, []), "onnx_validate_models": (TOLD, []),
    "onnx_perform_sequence_construct_optimizer": (TOLD, []), "export_format": (CHANGES, ["DLC_STRIP_QUANT"], [], "qdq.onnx"),
    "target_backend": (TOLD, ["HTP"]), "target_soc_model": (TOLD, ["SM8650"]), "set_model_version": (CHANGES, ["3"]), "gguf_config": (REFUSED, ["c"]),
    "lora_weight_list": (REFUSED, ["c"]), "dump_exported_onnx": (REFUSED, []), "tflite_signature_name": (REFUSED, ["s"]),
    "converter_op_package_lib": (REFUSED, ["a.so"]), "op_package_config": (REFUSED, ["a.xml"]), "package_name": (REFUSED, ["p"]),
    "tf_saved_model_tag": (REFUSED, ["t"]), "tf_summary": (REFUSED, []), "quiet": (CHANGES, [], OVERRIDES),
}
QUANTIZER = {
    "input_dlc": NEEDED, "output_dlc": NEEDED, "help": NEEDED, "version": NEEDED, "debug": NEEDED, "input_list": NEEDED,
    "enable_float_fallback": (REFUSED, []), "dump_ir": (CHANGES, ["dump.txt"]), "act_bitwidth": (CHANGES, ["16"]), "act_bw": (CHANGES, ["16"]),
    "weights_bitwidth": (CHANGES, ["4"]), "weight_bw": (CHANGES, ["4"]), "bias_bitwidth": (CHANGES, ["32"]), "bias_bw": (CHANGES, ["32"]),
    "act_quantizer_calibration": (CHANGES, ["percentile"], ["--percentile_calibration_value", "90"]),
    "param_quantizer_calibration": (CHANGES, ["mse"], ["--weight_bw", "4"]), "act_quantizer_schema": (CHANGES, ["symmetric"]),
    "param_quantizer_schema": (CHANGES, ["symmetric"]), "percentile_calibration_value": (CHANGES, ["90"], ["--act_quantizer_calibration", "percentile"]),
    "use_per_channel_quantization": (CHANGES, []), "use_per_row_quantization": (CHANGES, []), "preserve_io_datatype": (CHANGES, []),
    "restrict_quantization_steps": (CHANGES, ["-0x70 0x6F"]), "quantization_overrides": (CHANGES, ["o.json"]),
    "ignore_quantization_overrides": (CHANGES, [], OVERRIDES), "config": (CHANGES, ["dlc.yaml"]), "use_native_input_files": (CHANGES, [], [], "u8.onnx"),
    "apply_algorithms": (CHANGES, ["bc"]), "algorithms": (CHANGES, ["bc"]), "target_backend": (TOLD, ["CPU"]), "target_soc_model": (TOLD, ["x"]),
    "use_aimet_quantizer": (REFUSED, []), "op_package_lib": (REFUSED, ["a.so"]), "dump_encodings": (CHANGES, ["e.json"]), "compare": (CHANGES, []),
    "quiet": (CHANGES, []), "backend": (REFUSED, ["none.so"]),
}


def model_words():
    """The line of a source that says how it was made."""
    return rb"-i [\w.]+onnx -o"


class Options(support.ToolTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        node = make_onnx.node
        nodes = [node("Conv", "conv", ["x", "w", "b"], "c", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                 node("BatchNormalization", "bn", ["c", "s", "t", "m", "v"], "n"), node("Relu", "relu", ["n"], "r"),
                 node("Div", "g1", ["r", "root2"], "g1"), node("Erf", "g2", ["g1"], "g2"), node("Add", "g3", ["g2", "one"], "g3"),
                 node("Mul", "g4", ["r", "g3"], "g4"), node("Mul", "g5", ["g4", "half"], "g"),
                 node("GlobalAveragePool", "mean", ["g"], "p"), node("Flatten", "flat", ["p"], "f"), node("Gemm", "fc", ["f", "k", "kb"], "y", transB=1)]
        constants = [("w", rng.normal(0, 1, (4, 3, 3, 3))), ("b", rng.normal(0, 1, 4)), ("s", np.ones(4) * 2), ("t", np.ones(4)), ("m", np.zeros(4)),
                     ("v", np.ones(4)), ("k", rng.normal(0, 1, (5, 4))), ("kb", rng.normal(0, 1, 5)), ("root2", np.array(np.sqrt(2))),
                     ("one", np.array(1.)), ("half", np.array(.5))]
        self.write("m.onnx", make_onnx.model(nodes, constants, [("x", (1, 3, 6, 6))], [("y", (1, 5))]))
        self.qdq()
        samples = [rng.normal(0, 1, (6, 6, 3)) * (1 if i else 3) for i in range(4)]
        self.write("list.txt", "".join(self.write("s%d.raw" % i, x.astype(np.float32).tobytes()) + "\n" for i, x in enumerate(samples)))
        self.write("o.json", json.dumps({"activation_encodings": {"x": [{"bitwidth": 8, "min": -7, "max": 7}], "r": [{"bitwidth": 8, "min": 0, "max": 9}]},
                                         "param_encodings": {"w": [{"bitwidth": 8, "min": -3, "max": 3, "is_symmetric": "True"}]}}))
        self.write("io.yaml", "- IOName: x\n  Layout:\n    Model: NCHW\n    Custom: NCHW\n")
        self.write("dlc.yaml", "- IOName: x\n  Layout:\n    Model: NHWC\n    Custom: NCHW\n")
        self.write("note.txt", "nobody's")

    def qdq(self):
        """y = dequantize(quantize(x)) * k, and a model that takes bytes."""
        node = make_onnx.node

        def u8(name, value):
            return make_onnx.number(2, 2) + make_onnx.block(8, name) + make_onnx.block(9, bytes([value]))
        nodes = [node("QuantizeLinear", "q", ["x", "s", "z"], "q"), node("DequantizeLinear", "d", ["q", "s", "z"], "d"), node("Mul", "mul", ["d", "k"], "e"),
                 node("QuantizeLinear", "q2", ["e", "s", "z"], "q2"), node("DequantizeLinear", "d2", ["q2", "s", "z"], "y")]
        graph = make_onnx.model(nodes, [("s", np.array(.1)), ("k", np.array(2.))], [("x", (1, 6))], [("y", (1, 6))])
        at = graph.index(make_onnx.block(2, "digits"))
        self.write("qdq.onnx", self.add_to_graph(graph, at, make_onnx.block(5, u8("z", 128))))
        cast = [node("Cast", "cast", ["x"], "f", to=1), node("Mul", "mul", ["f", "k"], "y")]
        plain = make_onnx.model(cast, [("k", np.array(2.))], [("x", (1, 108))], [("y", (1, 108))])
        u8_input = make_onnx.value("x", (1, 108)).replace(make_onnx.number(1, 1) + make_onnx.block(2, b"".join(make_onnx.block(1, make_onnx.number(1, d)) for d in (1, 108))),
                                                          make_onnx.number(1, 2) + make_onnx.block(2, b"".join(make_onnx.block(1, make_onnx.number(1, d)) for d in (1, 108))))
        self.write("u8.onnx", plain.replace(make_onnx.value("x", (1, 108)), u8_input))

    def add_to_graph(self, model, at, data):
        """The graph is field 7: its length grows."""
        head = model[:model.index(make_onnx.block(2, "make_onnx.py")) + len(make_onnx.block(2, "make_onnx.py"))]
        rest = model[len(head):]
        size, shift, n = 0, 0, 1
        while True:
            size |= (rest[n] & 127) << shift
            shift, n = shift + 7, n + 1
            if rest[n - 1] < 128:
                break
        graph = rest[n:n + size]
        return head + make_onnx.block(7, graph + data) + rest[n + size:]

    def content(self, name):
        """A file without the command line that made it."""
        if not name.endswith(".dlc"):
            return re.sub(rb"[^\n]*%s[^\n]*" % model_words(), b"", self.read(name)) if name.endswith(".cpp") else re.sub(
                rb'"con?verter_command": "[^"]*"', b"", self.read(name))
        with zipfile.ZipFile(self.path(name)) as z:
            return {n: re.sub(rb"converter-command=[^\n]*", b"", z.read(n)) for n in z.namelist()}

    def outcome(self, program, model, words):
        """Everything that a run leaves: what it printed (without times and its own command line) and its files."""
        for name in os.listdir(self.folder):
            if name.startswith(("out", "dump", "t.yaml", "e.json")):
                os.remove(self.path(name))
        where = {"qairt-quantizer": ["--input_dlc", model.replace(".onnx", ".dlc"), "-o", "out.dlc"], "qairt-converter": ["-i", model, "-o", "out.dlc"]}
        done = self.run_tool(program, *where.get(program, ["-i", model, "-o", "out.cpp"]), *words)
        files = {}
        for name in sorted(os.listdir(self.folder)):
            if name.startswith(("out", "dump", "t.yaml", "e.json")):
                files[name] = self.content(name)
        return done.returncode, re.sub(r"[\d.]+ ?ms", "", done.stdout), files, done.stderr

    def check(self, program, name, row):
        kind, words, *rest = row
        with_words, model = rest[0] if rest else [], rest[1] if len(rest) > 1 and rest[1].endswith(".onnx") else "m.onnx"
        base = with_words + (LIST if program == "qairt-quantizer" else [])
        rc, out, files, err = self.outcome(program, model, base + ["--" + name] + words)
        if kind == REFUSED:
            self.assertEqual(rc, 1, (program, name, out, err))
            self.assertRegex(err, r"ERROR.*\w{3}.*\w{3}", (program, name))
            self.assertFalse([f for f in files if f.startswith("out")], (program, name))
        elif kind == TOLD:
            self.assertEqual(rc, 0, (program, name, err))
            self.assertIn("--%s changes nothing: " % name, err)
            self.assertEqual((rc, out, files), self.outcome(program, model, base)[:3], (program, name))
        else:
            plain = self.outcome(program, model, base)
            self.assertTrue((rc, out, files) != plain[:3], (program, name, out, err))

    def walk(self, program, table):
        listed = set(re.findall(r"^  --(\w+)", self.succeeds(program, "--help"), re.M))
        self.assertEqual(listed - set(table), set(), program)
        if program == "qairt-quantizer":
            for model in ("m", "u8"):
                self.succeeds("qairt-converter", "-i", model + ".onnx", "-o", model + ".dlc")
        for name, row in table.items():
            with self.subTest(program=program, option=name):
                if row != NEEDED:
                    self.check(program, name, row)

    def run_dlc(self, data, *words, model="m.onnx"):
        self.succeeds("qairt-converter", "-i", model, "-o", "run.dlc", *words)
        self.write("one.raw", np.ascontiguousarray(data, np.float32).tobytes())
        self.write("one.txt", "one.raw\n")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "run.dlc", "--input_list", "one.txt", "--output_dir", "r")
        return np.frombuffer(self.read("r", "Result_0", "y.raw"), np.float32)

    def test_orders(self):
        """Images in other color encodings and layouts give the results of the plain model on the plain image."""
        x = np.random.default_rng(4).normal(0, 1, (6, 6, 3)).astype(np.float32)
        want = self.run_dlc(x)
        alpha = np.full((6, 6, 1), 9, np.float32)
        rgb = x[:, :, ::-1]
        for given, words in ((rgb, ["rgb"]), (x, ["bgr"]), (rgb, ["rgb", "bgr"]), (x[:, :, ::-1], ["bgr", "rgb"]), (np.concatenate([rgb, alpha], 2), ["rgba"]),
                             (np.concatenate([alpha, x], 2), ["argb32", "rgb"])):
            np.testing.assert_array_equal(self.run_dlc(given, "--desired_input_color_encoding", "x", *words), want, str(words))
        np.testing.assert_array_equal(self.run_dlc(x.transpose(2, 0, 1), "--desired_input_layout", "x", "NCHW"), want)
        np.testing.assert_array_equal(self.run_dlc(np.concatenate([rgb, alpha], 2).transpose(2, 0, 1), "-e", "x", "rgba", "--desired_input_layout", "x", "NCHW"), want)
        self.fails("qairt-converter", "-i", "m.onnx", "-e", "x", "nv12", says="bgr, rgb, rgba and argb32")
        self.fails("qairt-converter", "-i", "m.onnx", "-e", "z", "rgb", says="no input \"z\"")

    def test_stripped(self):
        """0.1 steps are there with the model's encodings, and gone without."""
        x = np.array([[.04, .13, -.27, 3.3333, 100, -100]], np.float32)
        kept = self.run_dlc(x, model="qdq.onnx")
        np.testing.assert_allclose(kept, [0, .2, -.6, 6.6, 12.7, -12.8], atol=1e-5)
        np.testing.assert_allclose(self.run_dlc(x, "--export_format", "DLC_STRIP_QUANT", model="qdq.onnx"), 2 * x[0], rtol=1e-6)

    def test_format_of_the_guide(self):
        """--export_format dlc --enable_framework_trace, as the profiling guide has it, with every converter: a DLC with names of the framework."""
        for program, out in (("qairt-converter", "out.dlc"), ("qnn-onnx-converter", "out.cpp"), ("qnn-onnx-converter", "out.dlc")):
            self.succeeds(program, "-i", "m.onnx", "-o", out, "--export_format", "dlc", "--enable_framework_trace")
            self.assertIn("Conv:conv", self.succeeds("qairt-dlc-info", "-i", "out.dlc", "--dump_framework_trace"))
            self.assertFalse(os.path.exists(self.path("out.cpp")))
            os.unlink(self.path("out.dlc"))

    def test_onnx_converter(self):
        self.walk("qnn-onnx-converter", LEGACY)

    def test_tflite_converter(self):
        """The same table of options: the list is the same, and so are the refusals."""
        listed = set(re.findall(r"^  --(\w+)", self.succeeds("qnn-tflite-converter", "--help"), re.M))
        self.assertEqual(listed - set(LEGACY), set())
        for name, row in LEGACY.items():
            if row != NEEDED and row[0] == REFUSED and len(row) == 2 and name not in ("define_symbol", "batch", "input_dtype", "reset_state"):
                self.fails("qnn-tflite-converter", "-i", "m.onnx", "--" + name, *row[1], says="not supported")

    def test_converter(self):
        self.walk("qairt-converter", CONVERTER)

    def test_quantizer(self):
        self.walk("qairt-quantizer", QUANTIZER)


if __name__ == "__main__":
    support.main()

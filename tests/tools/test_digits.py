#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The digit recogniser through all programs: the numbers are those of an independent model in numpy (examples/digits/train.py)."""

import csv
import json
import os
import re
import struct
import tarfile

import numpy as np
import support
import train

CONSTANTS = 11  # a kind of section (docs/binary-format.md)


def load_parameters():
    """Weights from model.bin, encodings from digits_params.h: what the model library is built from."""
    with open(os.path.join(support.DIGITS, "digits_params.h"), encoding="utf-8") as file:
        text = file.read()
    number = r"([-+.\de]+)f"
    q = {"scale": {}, "offset": {}}
    for name, scale, offset in re.findall(r"DIGITS_(\w+)_SCALE %s\n#define \w+ (-?\d+)" % number, text):
        q["scale"][name.lower()], q["offset"][name.lower()] = np.float32(scale), int(offset)
    for name, body in re.findall(r"digits_(w\d)_scales\[\] = \{(.*?)\};", text, re.S):
        q["scale"][name] = np.array(re.findall(r"\{ %s" % number, body), np.float32)
    c1, c2 = train.CHANNELS
    with tarfile.open(os.path.join(support.DIGITS, "model.bin")) as tar:
        for name, kind, shape in (("w1", np.int8, (9, c1)), ("b1", np.int32, -1), ("w2", np.int8, (9 * c1, c2)), ("b2", np.int32, -1),
                                  ("w3", np.int8, (10, -1)), ("b3", np.int32, -1)):
            q[name] = np.frombuffer(tar.extractfile(name + ".raw").read(), kind).reshape(shape)
    q["w3"] = q["w3"].T
    return q


class Digits(support.ToolTest):
    backend, backend_id, backend_name = support.CPU, 3, "CPU"

    def setUp(self):
        super().setUp()
        self.library = self.build_digits()
        self.images = np.fromfile(os.path.join(support.DIGITS, "test_images.raw"), np.uint8).reshape(-1, train.SIZE, train.SIZE, 1)

    def net_run(self, *args):
        return self.succeeds("qnn-net-run", "--backend", self.backend, *args)

    def result(self, *parts, kind=np.float32):
        return np.frombuffer(self.read(*parts), kind)

    def test_same_bits_as_numpy(self):
        """All images in one native file: as many executions, one result file. The logits are an extra output."""
        self.write("list.txt", os.path.join(support.DIGITS, "test_images.raw"))
        out = self.net_run("--model", self.library, "--input_list", "list.txt", "--use_native_input_files", "--output_data_type", "float_and_native",
                           "--set_output_tensors", "digits:logits", "--output_dir", "out")
        self.assertTrue(out.endswith("Finished Executing Graphs\n"))
        q = load_parameters()
        want = train.quantized_logits(q, self.images)
        got = self.result("out", "Result_0", "logits_native.raw", kind=np.uint8).reshape(-1, 10)
        np.testing.assert_array_equal(got, want)
        real = (got.astype(np.int32) + q["offset"]["logits"]).astype(np.float32) * q["scale"]["logits"]
        np.testing.assert_array_equal(self.result("out", "Result_0", "logits.raw").reshape(-1, 10), real)
        e = np.exp(real.astype(np.float64) - real.max(1, keepdims=True))
        found = self.result("out", "Result_0", "probabilities.raw").reshape(-1, 10)
        self.assertLessEqual(np.abs(found - e / e.sum(1, keepdims=True)).max(), 1 / 256)
        labels = np.arange(len(self.images)) % 10
        self.assertGreaterEqual((got.argmax(1) == labels).mean(), .9)

    def make_list(self):
        """Float files, one per line, the first five images."""
        lines = []
        for i, image in enumerate(self.images[:5]):
            lines.append("x:=" + self.write("in/%d.raw" % i, (image.astype(np.float32) * np.float32(1 / 255)).tobytes()))
        self.write("list.txt", "\n".join(lines) + "\n")

    def test_direct_binary_and_async_agree(self):
        self.make_list()
        self.net_run("--model", self.library, "--input_list", "list.txt", "--output_dir", "direct", "--use_native_output_files")
        self.succeeds("qnn-context-binary-generator", "--backend", self.backend, "--model", self.library, "--binary_file", "digits", "--output_dir", "b")
        ways = {"loaded": [], "mapped": ["--use_mmap"], "async": ["--asynchronous"], "again": ["--num_inferences", "23"]}
        for name, extra in ways.items():
            self.net_run("--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", name, "--use_native_output_files", *extra)
            self.assertEqual(sorted(os.listdir(self.path(name))), ["Result_%d" % i for i in range(5)])
            for i in range(5):
                self.assertEqual(self.read(name, "Result_%d" % i, "probabilities.raw"), self.read("direct", "Result_%d" % i, "probabilities.raw"))
        self.assertIn("accepts", self.net_run("--retrieve_context", "b/digits.bin", "--validate_binary"))

    def test_failed_build_keeps_the_library(self):
        """On a full disk, and when the compiler refuses the source."""
        args = ("qnn-model-lib-generator", "-l", "digits", "-o", "libs", "-b", os.path.join(support.DIGITS, "model.bin"), "-c")
        before = self.read(self.library)
        done = self.run_tool(*args, os.path.join(support.DIGITS, "model.c"), largest_file=3000)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(self.read(self.library), before)
        self.fails(*args, self.write("bad.c", "int f(void) { return }\n"), says="refused")
        self.assertEqual(self.read(self.library), before)
        self.assertEqual(os.listdir(os.path.dirname(self.library)), ["libdigits.so"])

    def test_damaged_weights_are_refused(self):
        """By every program that reads the file, before anything is computed with them."""
        self.make_list()
        self.succeeds("qnn-context-binary-generator", "--backend", self.backend, "--model", self.library, "--binary_file", "digits", "--output_dir", ".")
        good = bytearray(self.read("digits.bin"))
        sections = [struct.unpack_from("<IIQQII", good, 128 + 32 * i) for i in range(struct.unpack_from("<I", good, 16)[0])]
        kind, _, offset, size, _, _ = next(s for s in sections if s[0] == CONSTANTS)
        good[offset + size // 2] ^= 0x10
        self.write("bad.bin", bytes(good))
        for extra in [], ["--use_mmap"]:
            self.fails("qnn-net-run", "--backend", self.backend, "--retrieve_context", "bad.bin", "--input_list", "list.txt", "--output_dir", "out",
                       *extra, says=["bad.bin", "constant section", "damaged"])
        self.assertFalse(os.path.exists(self.path("out", "Result_0")))
        self.fails("qnn-context-binary-utility", "--context_binary", "bad.bin", says=["bad.bin", "damaged"])

    def test_binary_is_the_same_for_any_number_of_threads(self):
        self.addCleanup(os.environ.pop, "OPENQNN_THREADS", None)
        for threads in ("1", "3"):
            os.environ["OPENQNN_THREADS"] = threads
            self.succeeds("qnn-context-binary-generator", "--backend", self.backend, "--model", self.library, "--binary_file", "digits" + threads,
                          "--output_dir", "bin")
        self.assertEqual(self.read("bin", "digits1.bin"), self.read("bin", "digits3.bin"))

    def test_debug_outputs(self):
        self.make_list()
        self.net_run("--model", self.library, "--input_list", "list.txt", "--output_dir", "all", "--debug", "--keep_num_outputs", "1")
        self.assertEqual(os.listdir(self.path("all")), ["Result_0"])
        self.assertEqual(sorted(os.listdir(self.path("all", "Result_0"))),
                         sorted(n + ".raw" for n in ("conv1_out", "relu1_out", "pool1_out", "conv2_out", "relu2_out", "pool2_out", "logits", "probabilities")))

    def test_batch_multiplier(self):
        """Five lines of one image each make a batch of four and a rest."""
        self.make_list()
        self.net_run("--model", self.library, "--input_list", "list.txt", "--output_dir", "one")
        done = self.run_tool("qnn-net-run", "--backend", self.backend, "--model", self.library, "--input_list", "list.txt", "--output_dir", "four",
                             "--batch_multiplier", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the last batch has 1 of 4 lines", done.stderr)
        for i in range(5):
            self.assertEqual(self.read("four", "Result_%d" % i, "probabilities.raw"), self.read("one", "Result_%d" % i, "probabilities.raw"))

    def test_profile(self):
        self.make_list()
        self.net_run("--model", self.library, "--input_list", "list.txt", "--output_dir", "p", "--profiling_level", "detailed", "--num_inferences", "7")
        self.assertEqual(os.readlink(self.path("p", "qnn-profiling-data.log")), "qnn-profiling-data_0.log")
        text = self.succeeds("qnn-profile-viewer", "--input_log", "p/qnn-profiling-data.log", "--output", "p.csv")
        for part in ("Qnn Init/Prepare/Finalize/De-Init/Execute/Lib-Load Statistics:", "Finalize Stats:", "Graph 0 (digits):", "NetRun IPS:",
                     "Execute Stats (Average):", "Execute Stats (Max):", "conv1:OpId_", "softmax:OpId_", "Inferences: 7"):
            self.assertIn(part, text)
        with open(self.path("p.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["Msg Timestamp", "Message", "Time", "Unit of Measurement", "Timing Source", "Event Level", "Event Identifier", "Figure"])
        own = [r for r in rows if r["Message"] == "EXECUTE" and r["Timing Source"] == "NETRUN"]
        self.assertEqual(len(own), 7)
        self.assertTrue(any(r["Event Level"] == "SUB-EVENT" for r in rows))
        self.assertTrue(any(r["Unit of Measurement"] == "INFERENCES/SECOND" for r in rows))
        shown = json.loads(self.succeeds("qnn-profile-viewer", "--input_log", "p/qnn-profiling-data.log", "--reader",
                                         os.path.join(support.BIN, "libQnnJsonProfilingReader.so")))
        executed = [r for r in shown["logs"][0]["records"] if (r["graph"], r["method"].lower()) == ("digits", "execute")]
        self.assertEqual([r["calls"] for r in executed], [7])
        self.assertTrue(any(n["name"].startswith("conv1") for n in executed[0]["nodes"]))

    def test_description(self):
        self.succeeds("qnn-context-binary-generator", "--backend", self.backend, "--model", self.library, "--binary_file", "digits", "--output_dir", ".")
        for version in (1, 3):
            self.succeeds("qnn-context-binary-utility", "--context_binary", "digits.bin", "--json_file", "d.json", "--json_version", version)
            data = json.loads(self.read("d.json"))
            self.assertEqual(data["version"], version)
            self.assertEqual((data["info"]["backendId"], data["info"]["numGraphs"]), (self.backend_id, 1))
            graph = data["info"]["graphs"][0]
            graph = graph["info"] if version == 1 else graph
            tensor = graph["graphInputs"][0]
            tensor = tensor["info"] if version == 1 else tensor
            self.assertEqual((graph["graphName"], graph["numGraphOutputs"], tensor["name"], tensor["dimensions"], tensor["dataType"]),
                             ("digits", 1, "x", [1, train.SIZE, train.SIZE, 1], "QNN_DATATYPE_UFIXED_POINT_8"))
            self.assertEqual(np.float32(tensor["quantizeParams"]["scaleOffset"]["scale"]), np.float32(1 / 255))
        text = self.succeeds("qnn-context-binary-utility", "--context_binary", "digits.bin")
        for part in ("backend " + self.backend_name, "graph 0 \"digits\"", "scratch", "lower bound", "constants"):
            self.assertIn(part, text)


class DigitsHtp(Digits):
    """The same numbers from a session."""
    backend, backend_id, backend_name = support.HTP, 6, "HTP"


if __name__ == "__main__":
    support.main()

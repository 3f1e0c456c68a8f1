# SPDX-License-Identifier: Apache-2.0
"""qnn-context-binary-utility --advise on the digits: text and JSON say the same, the estimate is that of the binary, and what cannot be advised on is refused.
The rules have their tests in test_advise.c."""

import json
import os
import re
import sys

import numpy as np
import support

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

EXTENSION = os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so")


class Advise(support.ToolTest):
    def generate(self, backend, name):
        self.succeeds("qnn-context-binary-generator", "--backend", backend, "--model", self.build_digits(), "--binary_file", name, "--output_dir", ".")

    def test_digits(self):
        self.generate(support.HTP, "digits")
        show = ("qnn-context-binary-utility", "--context_binary", "digits.bin", "--advise")
        self.assertEqual(self.succeeds(*show, "--advise_file", "a.json"), "")
        text = self.succeeds(*show)
        graph = json.loads(self.read("a.json"))["graphs"][0]
        summary = json.loads(self.succeeds("qnn-context-binary-utility", "--context_binary", "digits.bin", "--memory_map", "json"))["graphs"][0]
        self.assertEqual((graph["graph"], graph["cycles"], graph["vtcm_bytes"]), ("digits", summary["cycles"], summary["vtcm"]))
        own = next(d for d in graph["devices"] if d["soc_model"] == graph["soc_model"])
        self.assertEqual((own["cycles"], own["time_us"]), (graph["cycles"], graph["time_us"]))
        savings = [a["saving_cycles"] or 0 for a in graph["advice"]]
        self.assertEqual(savings, sorted(savings, reverse=True))
        self.assertIn("%d cycles" % graph["cycles"], text)
        for number, advice in enumerate(graph["advice"], 1):
            self.assertRegex(text, r"(?m)^ *%d\. %s: " % (number, re.escape(advice["rule"])))
            for key in ("reason", "change", "source"):
                self.assertIn(advice[key], text)
        self.succeeds(*show, "--advise_file", "a.txt")
        self.assertEqual(self.read("a.txt").decode(), text)

    def network(self):
        """A quotient of two convolutions, as ONNX."""
        node, ones = make_onnx.node, lambda *shape: np.full(shape, 1 / 16)
        nodes = [node("Conv", "a", ["x", "wa"], "a", kernel_shape=[1, 1]), node("Conv", "b", ["x", "wb"], "b", kernel_shape=[1, 1]),
                 node("Div", "ratio", ["a", "b"], "q"), node("Conv", "c", ["q", "wc"], "y", kernel_shape=[1, 1])]
        self.write("m.onnx", make_onnx.model(nodes, [("wa", ones(32, 32, 1, 1)), ("wb", ones(32, 32, 1, 1)), ("wc", ones(8, 32, 1, 1))],
                                             [("x", (1, 32, 64, 64))], [("y", (1, 8, 64, 64))]))
        self.write("list.txt", self.write("s.raw", np.linspace(1, 2, 32 * 64 * 64, dtype=np.float32).tobytes()))

    def test_arch_checker(self):
        """The converter says what the utility says of its model; --dry_run writes nothing."""
        self.network()
        convert = ("qnn-onnx-converter", "-i", "m.onnx", "-o", "m.cpp", "--input_list", "list.txt", "--arch_checker")
        text = self.succeeds(*convert)
        graph = json.loads(self.read("m_arch_checker.json"))["graphs"][0]
        found = next(a for a in graph["advice"] if a["rule"] == "div-to-mul")
        self.assertGreater(found["saving_cycles"], 0)
        for key in ("reason", "change", "short_name"):
            self.assertIn(found[key], text)
        os.remove(self.path("m_arch_checker.json"))
        self.assertIn(found["reason"], self.succeeds(*convert, "--dry_run"))
        self.assertFalse(os.path.exists(self.path("m_arch_checker.json")))
        self.assertNotIn("div-to-mul", self.succeeds(*convert[:-1]))

    def test_what_if(self):
        """Every row is what the generator makes of the same settings."""
        self.network()
        self.succeeds("qairt-converter", "--input_network", "m.onnx", "--output_path", "f.dlc")
        self.succeeds("qairt-quantizer", "--input_dlc", "f.dlc", "--input_list", "list.txt", "--output_dlc", "m.dlc")
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--dlc_path", "m.dlc", "--binary_file", "m", "--output_dir", ".")
        show = ("qnn-context-binary-utility", "--context_binary", "m.bin", "--advise", "--what_if", "m.dlc", "--backend", support.HTP)
        self.succeeds(*show, "--advise_file", "a.json")
        graph = json.loads(self.read("a.json"))["graphs"][0]
        rows = graph["what_if"]
        self.assertEqual((rows[0]["cycles"], rows[0]["vtcm_bytes"]), (graph["cycles"], graph["vtcm_bytes"]))
        self.assertLessEqual({d["soc_model"] for d in graph["devices"]}, {r["soc_model"] for r in rows})
        for row in rows:
            settings = {key: row[name] for key, name in (("vtcm_mb", "vtcm_mb"), ("O", "optimization")) if row[name]}
            self.write("htp.json", json.dumps({"graphs": [settings], "devices": [{"soc_model": row["soc_model"]}]}))
            self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": EXTENSION, "config_file_path": self.path("htp.json")}}))
            made = self.run_tool("qnn-context-binary-generator", "--backend", support.HTP, "--dlc_path", "m.dlc", "--binary_file", "t", "--output_dir", ".",
                                 "--config_file", "config.json")
            self.assertEqual(made.returncode != 0, row["refused"] is not None, made.stderr)
            if row["refused"] is None:
                summary = json.loads(self.succeeds("qnn-context-binary-utility", "--context_binary", "t.bin", "--memory_map", "json"))["graphs"][0]
                self.assertEqual((row["cycles"], row["vtcm_bytes"]), (summary["cycles"], summary["vtcm"]))
        self.assertEqual(sum(r["refused"] is None for r in rows[:5]), 5)
        self.assertIn("vtcm_mb 8", self.succeeds(*show))
        self.fails(*show[:4], "--what_if", "missing.dlc", "--backend", support.HTP, says="missing.dlc")
        self.fails(*show[:3], "--what_if", "m.dlc", says="--advise")

    def test_documented(self):
        """docs/advise.md has a row for every rule, and none else."""
        with open(os.path.join(support.SOURCE, "tools", "analysis", "advise_rules.c")) as file:
            rules = re.findall(r'^    \{ "([-a-z0-9]+)", ', file.read(), re.M)
        with open(os.path.join(support.SOURCE, "docs", "advise.md")) as file:
            rows = re.findall(r"^\| `([-a-z0-9]+)` \|", file.read().split("## JSON")[0], re.M)
        self.assertEqual(rows, rules)

    def test_refused(self):
        self.generate(support.CPU, "cpu")
        self.fails("qnn-context-binary-utility", "--context_binary", "cpu.bin", "--advise", says=["libQnnHtp.so", "digits"])
        self.fails("qnn-context-binary-utility", "--context_binary", self.write("x.bin", "no binary"), "--advise", says="not a context binary")


if __name__ == "__main__":
    support.main()

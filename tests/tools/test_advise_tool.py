# SPDX-License-Identifier: Apache-2.0
"""qnn-context-binary-utility --advise on the digits: text and JSON say the same, the estimate is that of the binary, and what cannot be advised on is refused.
The rules have their tests in test_advise.c."""

import json
import os
import re

import support


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

# SPDX-License-Identifier: Apache-2.0
"""qnn-profile-viewer --compare: two runs of the digits on the HTP, with one and with four threads of vectors. Averages and changes are worked out again
here from the CSV of the viewer; text and page have the values of the JSON."""

import csv
import io
import json
import os
import re

import support
import test_qhas

EXTENSION = os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so")
FIELDS = ("Message", "Time", "Unit of Measurement", "Event Identifier")


class Compare(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.library = self.build_digits()
        image = os.path.join(support.DIGITS, "images", "digit_7.raw")
        self.run_digits("a", 1, [image])
        self.run_digits("b", 4, [image] * 3)
        self.logs = ("a/qnn-profiling-data.log", "b/qnn-profiling-data.log")

    def run_digits(self, folder, threads, images, *more):
        self.write("list.txt", "\n".join(images))
        self.write("htp.json", json.dumps({"graphs": [{"graph_names": ["digits"], "hvx_threads": threads}]}))
        self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": EXTENSION, "config_file_path": self.path("htp.json")}}))
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--output_dir", folder, "--config_file",
                      "config.json", "--profiling_level", "detailed", *more)

    def averages(self, log):
        """Per operator and unit, from another view of the log."""
        self.succeeds("qnn-profile-viewer", "--input_log", log, "--output", "log.csv")
        found = {}
        for row in csv.DictReader(io.StringIO(self.read("log.csv").decode())):
            message, value, unit, name = (row[f] for f in FIELDS)
            op = re.match(r"(.*):OpId_\d+ \((us|cycles)", name)
            if message == "EXECUTE" and op:
                found.setdefault((op.group(1), op.group(2)), []).append(int(value))
        self.assertTrue(found)
        return {key: sum(values) / len(values) for key, values in found.items()}

    def test_values(self):
        result = json.loads(self.succeeds("qnn-profile-viewer", "--compare", *self.logs, "--compare_format", "json"))
        self.assertEqual((result["a"], result["b"]), self.logs)
        graph = result["graphs"][0]
        self.assertEqual((graph["graph"], graph["a_runs"], graph["b_runs"]), ("digits", 1, 3))
        a, b = self.averages(self.logs[0]), self.averages(self.logs[1])
        seen = set()
        for row in graph["operators"]:
            for unit in ("us", "cycles"):
                key = (row["op"], unit)
                self.assertAlmostEqual(row["a_" + unit], a[key], 6)
                self.assertAlmostEqual(row["b_" + unit], b[key], 6)
                self.assertAlmostEqual(row["change_" + unit], b[key] - a[key], 6)
                if a[key]:
                    self.assertAlmostEqual(row["percent_" + unit], 100 * (b[key] - a[key]) / a[key], 6)
                seen.add(key)
        self.assertEqual(seen, set(a))
        changes = [abs(row["change_cycles"]) for row in graph["operators"]]
        self.assertEqual(changes, sorted(changes, reverse=True))
        self.assertLess(sum(row["change_cycles"] for row in graph["operators"]), 0)  # four threads are faster than one
        total = next(e for e in graph["events"] if e["event"].startswith("Accelerator (execute) time (cycles"))
        self.assertAlmostEqual(total["change_cycles"], sum(row["change_cycles"] for row in graph["operators"]), 3)

    def test_views(self):
        result = json.loads(self.succeeds("qnn-profile-viewer", "--compare", *self.logs, "--compare_format", "json"))
        self.assertEqual(self.succeeds("qnn-profile-viewer", "--compare", *self.logs, "--output", "c.json"), "")
        self.assertEqual(json.loads(self.read("c.json")), result)
        text = self.succeeds("qnn-profile-viewer", "--compare=" + self.logs[0], "--with", self.logs[1])
        for row in result["graphs"][0]["operators"]:
            wanted = r"%+.0f +%s +%.0f +%.0f +%s\n" % (row["change_cycles"], r"[-+.\d]+", row["a_cycles"], row["b_cycles"], re.escape(row["op"]))
            self.assertRegex(text, wanted.replace("+", r"\+", 1) if wanted[0] == "+" else wanted)
        self.succeeds("qnn-profile-viewer", "--compare", *self.logs, "--output", "c.html")
        page = test_qhas.Page(self.read("c.html").decode())
        self.assertEqual(page.loads, [])
        table = json.loads(page.data)["graphs"][0]["parts"][0]["table"]
        keys = [c["key"] for c in table["columns"]]
        for shown, row in zip(table["rows"], result["graphs"][0]["operators"], strict=True):
            for key, value in zip(keys, shown):
                if key == "ref":
                    self.assertEqual(json.loads(page.data)["graphs"][0]["ops"][value][1], row["op"])
                elif isinstance(value, float):
                    self.assertAlmostEqual(value, row[key], delta=1e-6 * max(1, abs(row[key])))
                else:
                    self.assertEqual(value, row[key])

    def test_same(self):
        result = json.loads(self.succeeds("qnn-profile-viewer", "--compare", self.logs[0], self.logs[0], "--compare_format", "json"))
        self.assertEqual({row["change_cycles"] for row in result["graphs"][0]["operators"]}, {0})

    def test_refused(self):
        self.fails("qnn-profile-viewer", "--compare", self.logs[0], says="--with")
        self.fails("qnn-profile-viewer", "--compare", self.logs[0], "missing.log", says="missing.log")
        self.fails("qnn-profile-viewer", "--compare", self.logs[0], "list.txt", says="list.txt")
        self.run_digits("off", 1, [os.path.join(support.DIGITS, "images", "digit_7.raw")])
        former = self.write("kept.txt", "what was there")
        self.fails("qnn-profile-viewer", "--compare", "list.txt", self.logs[0], "--output", "kept.txt", says="list.txt")
        with open(former) as file:
            self.assertEqual(file.read(), "what was there")
        self.assertIn("--compare_format", self.succeeds("qnn-profile-viewer", "--compare", "x", "--help"))
        self.assertIn("--compare", self.succeeds("qnn-profile-viewer", "--help"))


if __name__ == "__main__":
    support.main()

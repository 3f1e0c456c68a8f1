#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs that cannot be changed can be made to tell by environment variables: logs, dumps, and words about variables that mean nothing."""

import glob
import json
import os

import numpy as np
import support


class Diagnostics(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.library = self.build_digits()
        images = [os.path.join(support.DIGITS, "images", "digit_%d.raw" % i) for i in (7, 3, 1)]
        self.write("list.txt", "".join(name + "\n" for name in images))
        self.images = images

    def run_digits(self, backend=support.CPU, **env):
        done = self.run_tool("qnn-net-run", "--backend", backend, "--model", self.library, "--input_list", "list.txt", "--output_dir", "out", more_env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stderr

    def test_dump(self):
        for backend in (support.CPU, support.HTP):
            with self.subTest(backend=backend):
                folder = self.path(os.path.basename(backend))
                said = self.run_digits(backend, OPENQNN_DUMP=folder, OPENQNN_DUMP_RUNS="2")
                self.assertIn("OPENQNN_DUMP: inputs and outputs of graph", said)
                graph, = glob.glob(os.path.join(folder, os.path.basename(backend) + "-*", "digits"))
                self.assertEqual(sorted(os.listdir(graph)), ["run_0001", "run_0002", "tensors.json"])
                with open(os.path.join(graph, "tensors.json"), encoding="utf-8") as file:
                    tensors = json.load(file)["tensors"]
                given, = [t for t in tensors if "input" in t]
                made, = [t for t in tensors if "output" in t]
                for run in (0, 1):
                    parts = [glob.glob(os.path.join(graph, "run_%04d" % (run + 1), name + "_00_*.npy")) for name in ("in", "out")]
                    (x,), (y,) = ([np.load(p) for p in part] for part in parts)
                    self.assertEqual((list(x.shape), list(y.shape)), (given["shape"], made["shape"]))
                    real = (y.astype(np.float32) + made["offset"]) * np.float32(made["scale"])
                    np.testing.assert_allclose(real.ravel(), np.fromfile(self.path("out", "Result_%d" % run, "probabilities.raw"), np.float32), rtol=1e-6)
                    real = (x.astype(np.float32) + given["offset"]) * np.float32(given["scale"])
                    self.assertLessEqual(np.abs(real.ravel() - np.fromfile(self.images[run], np.float32)).max(), given["scale"])

    def test_runs_that_are_no_number(self):
        """They are told, and the first 8 executions are dumped: here all three."""
        said = self.run_digits(OPENQNN_DUMP=self.path("d"), OPENQNN_DUMP_RUNS="1x", OPENQNN_LOG="warn")
        self.assertIn("OPENQNN_DUMP_RUNS=1x is not valid", said)
        self.assertEqual(len(glob.glob(self.path("d", "*", "digits", "run_*"))), 3)

    def test_paths_that_are_too_long(self):
        self.assertIn("nothing is dumped", self.run_digits(OPENQNN_DUMP=self.path("d" * 4000)))
        self.assertIn("nothing is profiled", self.run_digits(OPENQNN_PROFILE=self.path("p" * 5000)))

    def test_dump_to_nowhere(self):
        self.write("file", "")
        said = self.run_digits(OPENQNN_DUMP=self.path("file", "below"))
        self.assertEqual(said.count("OPENQNN_DUMP: "), 1, said)
        self.assertIn("nothing more is dumped", said)

    def test_log_to_a_file(self):
        said = self.run_digits(OPENQNN_LOG="info:" + self.path("log.txt"))
        text = self.read("log.txt").decode()
        self.assertRegex(text, r"(?m)^ *\d+\.\d{6} \d+ info +openqnn: CPU backend, build ")
        self.assertNotIn("CPU backend, build", said)
        self.assertNotRegex(text, r"(?m) verbose | debug ")

    def test_log_to_standard_error(self):
        self.assertIn("info    openqnn: CPU backend, build", self.run_digits(OPENQNN_LOG="info"))
        self.assertNotIn("CPU backend, build", self.run_digits(OPENQNN_LOG="warn"))
        said = self.run_digits(OPENQNN_LOG="loud")
        self.assertIn("OPENQNN_LOG=loud is ignored; error, warn, info, verbose or debug is expected", said)
        self.assertIn("cannot be written", self.run_digits(OPENQNN_LOG="warn:" + self.path("no", "folder")))

    def test_profile(self):
        for backend in (support.CPU, support.HTP):
            with self.subTest(backend=backend):
                name = os.path.basename(backend)
                said = self.run_tool("qnn-net-run", "--backend", backend, "--model", self.library, "--input_list", "list.txt", "--output_dir", "out",
                                     "--profiling_level", "off", more_env=dict(OPENQNN_PROFILE=self.path("p")))
                self.assertEqual(said.returncode, 0, said.stderr)
                log, = glob.glob(self.path("p-" + name + "-*.log"))
                self.assertIn("OPENQNN_PROFILE: executions are profiled in " + log, said.stderr)
                self.succeeds("qnn-profile-viewer", "--input_log", log, "--output", "p.csv")
                rows = self.read("p.csv").decode().splitlines()
                self.assertEqual(sum("QNN (execute) time" in row and row.split(",")[1].strip('" ').upper().find("EXECUTE") >= 0 for row in rows), 3, "\n".join(rows[:12]))
                self.assertIn("digits", self.succeeds("qnn-profile-viewer", "--input_log", log))

    def test_profile_to_nowhere(self):
        said = self.run_digits(OPENQNN_PROFILE=self.path("no", "folder", "p"))
        self.assertEqual(said.count("OPENQNN_PROFILE: "), 1, said)
        self.assertIn("nothing more is profiled", said)

    def test_variables_that_mean_nothing(self):
        cases = ((dict(OPENQNN_THREADS="abc"), "OPENQNN_THREADS=abc is not valid; a whole number from 1 to 255"), (dict(OPENQNN_ISA="sse9"), "ref avx2 avxvnni"),
                 (dict(OPENQNN_SESSION="foo"), "OPENQNN_SESSION=foo is not valid"), (dict(OPENQNN_TREADS="2"), "did you mean OPENQNN_THREADS?"),
                 (dict(OPENQNN_LANES="0"), "from 1 to 255"), (dict(OPENQNN_XYZ_OF_ANOTHER_WORLD="1"), "no variable of openqnn"))
        for env, words in cases:
            with self.subTest(env=env):
                said = self.run_digits(OPENQNN_LOG="warn", **env)
                self.assertIn(words, said)
        quiet = self.run_digits(OPENQNN_LOG="warn", OPENQNN_THREADS="2", OPENQNN_ISA="avx2", OPENQNN_LANES="1")
        self.assertNotIn("not valid", quiet)
        self.assertNotIn("no variable", quiet)

    def test_readme_has_every_variable(self):
        """The table of README and the rows of base/environment.c are about the same variables."""
        with open(os.path.join(support.SOURCE, "README.md"), encoding="utf-8") as file:
            table = {line.split("|")[1].strip() for line in file if line.startswith("| OPENQNN_")}
        with open(os.path.join(support.SOURCE, "src", "base", "environment.c"), encoding="utf-8") as file:
            text = file.read().split("/* For the tests")[0]
        names = {"OPENQNN_" + line.split('"')[1] for line in text.splitlines() if line.startswith("    ") and '("' in line and line.split("(")[0].strip() in
                 ("TEXT", "FLAG", "WORDS", "NUMBER")}
        elsewhere = {"OPENQNN_FAULT", "OPENQNN_SESSION_BYTES", "OPENQNN_GPU_PRODUCTS"}  # docs/sessions.md, docs/internals/gpu.md
        self.assertEqual(table, names - elsewhere)


if __name__ == "__main__":
    support.main()

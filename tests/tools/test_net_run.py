#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-net-run on files that do not fit, on several graphs, and on graphs with several inputs and a batch."""

import json
import os
import re
import sys

import numpy as np
import support

# A model library with two graphs: "sum" adds two float inputs of batch 2, "clip" is a relu on one of them.
MODEL = r"""
#include <stdlib.h>
#include <string.h>
#include "QnnModelLib.h"
#include "QnnOpDef.h"

static uint32_t dims[] = {2, 3};
static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static GraphInfo_t graphs[2];
static GraphInfo_t *list[2] = {&graphs[0], &graphs[1]};
static Qnn_Tensor_t inputs[2][2], outputs[2][1];

static ModelError_t build(QNN_INTERFACE_VER_TYPE *api, Qnn_ContextHandle_t context, int i)
{
    static const char *const names[2][4] = {{"sum", "a", "b", "sum/out:0"}, {"clip", "c", "", "clip_out"}};
    Qnn_GraphHandle_t g;
    if (api->graphCreate(context, names[i][0], NULL, &g)) return MODEL_GRAPH_ERROR;
    uint32_t n = i == 0 ? 2 : 1;
    for (uint32_t k = 0; k < n; k++) {
        inputs[i][k] = tensor(names[i][1 + k], QNN_TENSOR_TYPE_APP_WRITE);
        if (api->tensorCreateGraphTensor(g, &inputs[i][k])) return MODEL_TENSOR_ERROR;
    }
    outputs[i][0] = tensor(names[i][3], QNN_TENSOR_TYPE_APP_READ);
    if (api->tensorCreateGraphTensor(g, &outputs[i][0])) return MODEL_TENSOR_ERROR;
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = names[i][0];
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = i == 0 ? QNN_OP_ELEMENT_WISE_ADD : QNN_OP_RELU;
    op.v1.numOfInputs = n;
    op.v1.inputTensors = inputs[i];
    op.v1.numOfOutputs = 1;
    op.v1.outputTensors = outputs[i];
    if (api->graphAddNode(g, op)) return MODEL_NODES_ERROR;
    graphs[i] = (GraphInfo_t){g, (char *)names[i][0], inputs[i], n, outputs[i], 1};
    return MODEL_NO_ERROR;
}

ModelError_t Two_composeGraphs(Qnn_BackendHandle_t backend, QNN_INTERFACE_VER_TYPE api, Qnn_ContextHandle_t context, const GraphConfigInfo_t **configs,
                               const uint32_t n_configs, GraphInfoPtr_t **infos, uint32_t *n, bool debug, QnnLog_Callback_t log, QnnLog_Level_t level);
__attribute__((visibility("default")))
ModelError_t Two_composeGraphs(Qnn_BackendHandle_t backend, QNN_INTERFACE_VER_TYPE api, Qnn_ContextHandle_t context, const GraphConfigInfo_t **configs,
                               const uint32_t n_configs, GraphInfoPtr_t **infos, uint32_t *n, bool debug, QnnLog_Callback_t log, QnnLog_Level_t level)
{
    (void)backend, (void)configs, (void)n_configs, (void)debug, (void)log, (void)level;
    for (int i = 0; i < 2; i++) {
        ModelError_t error = build(&api, context, i);
        if (error) return error;
    }
    *infos = list;
    *n = 2;
    return MODEL_NO_ERROR;
}
ModelError_t Two_freeGraphsInfo(GraphInfoPtr_t **infos, uint32_t n);
__attribute__((visibility("default"))) ModelError_t Two_freeGraphsInfo(GraphInfoPtr_t **infos, uint32_t n)
{
    (void)n;
    *infos = NULL;
    return MODEL_NO_ERROR;
}
"""


class NetRun(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.succeeds("qnn-model-lib-generator", "-c", self.write("two.c", MODEL), "-l", "two", "-o", ".")
        self.args = ("qnn-net-run", "--backend", support.CPU, "--model", "x86_64-linux-clang/libtwo.so", "--model_prefix", "Two", "--output_dir", "out")

    def floats(self, name, *values):
        self.write(name, np.array(values, np.float32).tobytes())
        return name

    def result(self, *parts):
        return np.frombuffer(self.read("out", *parts), np.float32).tolist()

    def test_two_graphs(self):
        a, b = self.floats("a.raw", 1, 2, 3, 4, 5, 6), self.floats("b.raw", 10, 20, 30, 40, 50, 60)
        c = self.floats("c.raw", -1, 1, -2, 2, -3, 3)
        self.write("sum.txt", "%s %s\nb:=%s a:=%s\n" % (a, b, a, a))
        self.write("clip.txt", "# comment\n%%clip_out\n%s\r\n" % c)
        self.succeeds(*self.args, "--input_list", "sum.txt,clip.txt")
        self.assertEqual(self.result("sum", "Result_0", "sum_out_0.raw"), [11, 22, 33, 44, 55, 66])
        self.assertEqual(self.result("sum", "Result_1", "sum_out_0.raw"), [2, 4, 6, 8, 10, 12])
        self.assertEqual(self.result("clip", "Result_0", "clip_out.raw"), [0, 1, 0, 2, 0, 3])

    def test_htp_precision(self):
        """Floats are float16 inside of libQnnHtp.so, where 70000 is infinite, unless the file says float32."""
        extension = os.path.join(os.environ.get("OPENQNN_BIN_DIR", "."), "libQnnHtpNetRunExtensions.so")
        self.write("sum.txt", "%s %s" % (self.floats("a.raw", 1, 2048, 3, 4, 5, 70000), self.floats("b.raw", 10, 1, 30, 40, 50, 60)))
        self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": extension, "config_file_path": self.path("htp.json")}}))
        args = [support.HTP if a == support.CPU else a for a in self.args] + ["--config_file", "config.json", "--input_list", "sum.txt,__"]
        for value, wanted in ((False, [11, 2048, 33, 44, 55, np.inf]), (True, [11, 2049, 33, 44, 55, 70060])):
            self.write("htp.json", json.dumps({"graphs": [{"graph_names": ["sum"], "float32": value}]}))
            self.succeeds(*args)
            self.assertEqual(self.result("sum", "Result_0", "sum_out_0.raw"), wanted)

    def test_skipped_graph(self):
        self.write("clip.txt", self.floats("c.raw", -1, 1, -2, 2, -3, 3))
        self.succeeds(*self.args, "--input_list", "__,clip.txt")
        self.assertEqual(os.listdir(self.path("out")), ["clip"])
        self.fails(*self.args, "--input_list", "clip.txt", says=["1 lists for 2 graphs", "\"sum\", \"clip\"", "__"])

    def test_batches(self):
        """The batch is 2: files of one element are combined, files of four are two executions in one result."""
        for i in range(3):
            self.floats("c%d.raw" % i, i, -i, i + 1)
        self.write("clip.txt", "c0.raw\nc1.raw\nc2.raw\n")
        self.succeeds(*self.args, "--input_list", "__,clip.txt")
        for i in range(3):
            self.assertEqual(self.result("clip", "Result_%d" % i, "clip_out.raw"), [i, 0, i + 1])
        self.write("clip.txt", self.floats("many.raw", *range(-6, 6)))
        self.succeeds(*self.args, "--input_list", "__,clip.txt")
        self.assertEqual(self.result("clip", "Result_0", "clip_out.raw"), [max(0, v) for v in range(-6, 6)])

    def test_batches_that_were_not_meant(self):
        """A float32 file for an 8-bit tensor is four batches of it: told once, and what to do."""
        image = os.path.join(support.DIGITS, "images", "digit_7.raw")
        self.write("list.txt", image + "\n" + image + "\n")
        run = ("qnn-net-run", "--backend", support.CPU, "--model", self.build_digits(), "--input_list", "list.txt", "--output_dir", "out")
        done = self.run_tool(*run, "--use_native_input_files")
        self.assertEqual((done.returncode, done.stderr.count("taken as 4 executions")), (0, 1), done.stderr)
        self.assertIn("leave out --use_native_input_files", done.stderr)
        self.assertNotIn("executions", self.run_tool(*run).stderr)

    def test_sizes(self):
        self.write("short.raw", b"12345")
        self.write("clip.txt", "short.raw")
        self.fails(*self.args, "--input_list", "__,clip.txt",
                   says=["file \"short.raw\" has 5 bytes", "tensor \"c\" f32[2,3] needs 24 native or 24 as float32", "clip.txt:1"])
        self.write("clip.txt", "none.raw")
        self.fails(*self.args, "--input_list", "__,clip.txt", says=["clip.txt:1", "cannot open \"none.raw\""])
        self.write("clip.txt", "")
        self.fails(*self.args, "--input_list", "__,clip.txt", says="no line names input files")

    def test_names(self):
        c = self.floats("c.raw", 1, 2, 3, 4, 5, 6)
        self.write("sum.txt", c)
        self.fails(*self.args, "--input_list", "sum.txt,__", says=["no file for input \"b\"", "\"a\" f32[2,3]"])
        self.write("sum.txt", "a:=%s d:=%s" % (c, c))
        self.fails(*self.args, "--input_list", "sum.txt,__", says="no input is named \"d\"")
        self.write("sum.txt", " ".join([c] * 3))
        self.fails(*self.args, "--input_list", "sum.txt,__", says="3 files on the line")
        self.write("clip.txt", "%%nothing\n%s" % c)
        self.fails(*self.args, "--input_list", "__,clip.txt", says=["no output named \"nothing\"", "clip_out"])
        self.fails(*self.args, "--input_list", "__,clip.txt", "--set_output_tensors", "clip:zzz", says="no tensor \"zzz\"")
        self.fails(*self.args, "--input_list", "__,clip.txt", "--native_input_tensor_names", "clip:d", says="has no input \"d\"")

    # ---- --compare ---------------------------------------------------------------------------------------------------

    def run_into(self, folder, *values):
        """Runs "clip" on lists of six values each, a line per list."""
        for i, line in enumerate(values):
            self.floats("line%d.raw" % i, *line)
        self.write("clip.txt", "".join("line%d.raw\n" % i for i in range(len(values))))
        self.clip = [folder if a == "out" else a for a in self.args] + ["--input_list", "__,clip.txt"]
        return self.clip

    def compare(self, *words):
        """A row of the table: SQNR, cosine, largest error, number of odd elements."""
        done = self.run_tool(*self.clip, *words)
        rows = [line.split() for line in done.stdout.splitlines() if line.endswith(" clip_out")]
        self.assertLessEqual(len(rows), 1, done.stdout)
        return done.returncode, [r if r == "exact" else float(r) for r in rows[0][:4]] if rows else None, done.stdout + done.stderr

    def test_compare_values(self):
        """Figures are those of numpy, over all results; limits decide on the exit status."""
        reference = [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]
        self.succeeds(*self.run_into("ref", *reference))
        self.run_into("new", *reference)
        self.assertEqual(self.compare("--compare", "ref")[:2], (0, ["exact", 1, 0, 0]))
        self.run_into("new", [1, 2, 3, 4, 5, 6.5], [6, 5, 4, 3, 2.25, 1])
        want = np.array(reference, float).ravel()
        got = np.array([1, 2, 3, 4, 5, 6.5, 6, 5, 4, 3, 2.25, 1])
        sqnr = 10 * np.log10((want ** 2).sum() / ((got - want) ** 2).sum())
        cosine = (want * got).sum() / np.sqrt((want ** 2).sum() * (got ** 2).sum())
        code, row, _ = self.compare("--compare", "ref")
        self.assertEqual(code, 0)
        np.testing.assert_allclose(row, [sqnr, cosine, 0.5, 0], rtol=1e-5)
        for option, holds, fails in (("min_sqnr", sqnr - 0.1, sqnr + 0.1), ("min_cosine", cosine - 1e-4, cosine + 1e-4), ("max_error", 0.5, 0.4)):
            self.assertEqual(self.compare("--compare", "ref", "--compare_" + option, str(holds))[0], 0, option)
            code, _, text = self.compare("--compare", "ref", "--compare_" + option, str(fails))
            self.assertEqual(code, 1, option)
            self.assertIn("1 of 1 tensors miss a limit", text)

    def test_compare_nan(self):
        """NaN on one side only is never exact, in neither direction; NaN on both sides is the same value."""
        plain, odd = [1, 2, 3, 4, 5, 6], [1, np.nan, 3, np.inf, 5, 6]
        for name, first, second, count in (("a", plain, odd, 2), ("b", odd, plain, 2), ("c", odd, odd, 0), ("d", plain, [np.nan] * 6, 6)):
            self.succeeds(*self.run_into("ref" + name, first))
            self.run_into("new", second)
            code, row, text = self.compare("--compare", "ref" + name)
            self.assertEqual((code, row[3]), (int(count > 0), count), text)
            self.assertEqual(row[0] == "exact", count == 0, text)

    def test_compare_this_run(self):
        """What counts is what this run computes: not older files, not its own folder, and also without files."""
        self.succeeds(*self.run_into("ref", [1, 2, 3, 4, 5, 6]))
        self.run_into("new", [2, 2, 3, 4, 5, 6])
        code, row, _ = self.compare("--compare", "ref", "--keep_num_outputs", "0")
        self.assertEqual((code, row[2]), (0, 1))
        self.assertFalse(os.path.exists(self.path("new")))
        self.fails(*self.run_into("ref", [1, 2, 3, 4, 5, 6]), "--compare", "ref", says="the folder that this run writes to")
        os.makedirs(self.path("new", "clip", "Result_0"))
        self.write(os.path.join("new", "clip", "Result_0", "other.raw"), bytes(24))
        self.run_into("new", [1, 2, 3, 4, 5, 6])
        code, row, text = self.compare("--compare", "ref")
        self.assertEqual((code, row), (0, ["exact", 1, 0, 0]), text)
        self.assertNotIn("other", text)
        self.assertEqual(self.compare("--compare", "ref", "--num_inferences", "3")[:2], (0, ["exact", 1, 0, 0]))

    def test_compare_sets(self):
        """A tensor or result that one side lacks, or that has another size there, is a failure; --compare_common leaves out the former."""
        path = os.path.join("ref", "clip", "Result_0")
        self.succeeds(*self.run_into("ref", [1, 2, 3, 4, 5, 6]))
        self.write(os.path.join(path, "more.raw"), bytes(24))
        self.run_into("new", [1, 2, 3, 4, 5, 6])
        code, row, text = self.compare("--compare", "ref")
        self.assertEqual((code, row[0]), (1, "exact"))
        self.assertIn('1 tensors are results only of ref/clip: "more"', text)
        self.assertEqual(self.compare("--compare", "ref", "--compare_common")[0], 0)
        os.remove(self.path(path, "more.raw"))
        self.run_into("new", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
        code, _, text = self.compare("--compare", "ref")
        self.assertEqual(code, 1)
        self.assertIn("are not in all results of", text)
        self.write(os.path.join(path, "clip_out.raw"), bytes(20))
        self.run_into("new", [1, 2, 3, 4, 5, 6])
        code, _, text = self.compare("--compare", "ref", "--compare_common")
        self.assertEqual(code, 1)
        self.assertIn("another number of elements", text)

    def test_compare_batches(self):
        """Results of several executions in one file, and one execution in several files."""
        for lines in ([list(range(12))], [[1, 2, 3], [4, 5, 6]]):
            self.succeeds(*self.run_into("ref%d" % len(lines), *lines))
            lines[-1][-1] += 1
            self.run_into("new", *lines)
            code, row, text = self.compare("--compare", "ref%d" % len(lines))
            self.assertEqual((code, row[2]), (0, 1), text)

    def test_settings(self):
        self.write("clip.txt", self.floats("c.raw", 1, 2, 3, 4, 5, 6))
        self.write("c.json", '{"context_configs": {"context_priority": "high", "async_execute_queue_depth": 4, "memory_limit_hint": 9223372036854775807},'
                   ' "graph_configs": [{"graph_name": "other", "graph_priority": "low"}]}')
        done = self.run_tool(*self.args, "--input_list", "__,clip.txt", "--config_file", "c.json", "--perf_profile", "burst", "--timeout", "10000000",
                             "--asynchronous", "--num_inferences", "50", "--keep_num_outputs", "0", "--log_level", "info")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("no graph has that name", done.stderr)
        self.assertIn("--perf_profile burst has no effect", done.stderr)
        self.assertRegex(done.stdout, r" \d+\.\dms \[ INFO \] graph 1 \"clip\": 1 inputs, 1 outputs")
        self.assertIn("50 inferences", done.stdout)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_graph_switching(self):
        """One graph of two at a time, or both; the profile says which came and went."""
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--model", self.args[4], "--model_prefix", "Two", "--binary_file", "two",
                      "--output_dir", "b")
        self.write("clip.txt", self.floats("c.raw", 1, 2, 3, -4, 5, 6))
        self.write("sum.txt", self.floats("a.raw", 1, 2, 3, 4, 5, 6) + " " + self.floats("b.raw", 10, 20, 30, 40, 50, 60))
        args = ("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/two.bin", "--input_list", "sum.txt,clip.txt", "--output_dir", "out",
                "--profiling_level", "basic", "--config_file", "c.json")
        switching = {"is_persistent_binary": True, "memory_limit_hint": 1}
        for settings, steps in ((switching, ["sum loaded", "sum unloaded", "clip loaded"]),
                                (dict(switching, enable_graphs=["clip", "sum"]), ["clip loaded", "clip unloaded", "sum loaded", "sum unloaded"]),
                                (dict(switching, graph_retention_order=["sum", "clip"]), ["sum loaded", "clip loaded"]), ({}, [])):
            self.write("c.json", json.dumps({"context_configs": settings}))
            self.succeeds(*args)
            self.assertEqual(self.result("clip", "Result_0", "clip_out.raw"), [1, 2, 3, 0, 5, 6])
            text = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data_0.log")
            found = dict.fromkeys(" ".join(words) for words in re.findall(r'Graph "(\w+)" (\w+)', text)) # averages repeat them
            self.assertEqual(list(found), steps, text)
        for settings, says in ((dict(switching, graph_retention_order=["sum", "other"]), ["other", "not in the binary"]),
                               (dict(switching, is_persistent_binary=False, graph_retention_order=["sum"]), "PERSISTENT_BINARY")):
            self.write("c.json", json.dumps({"context_configs": settings}))
            self.fails(*args, says=says)

    def test_binary_updates(self):
        """Files that a client wrote: a context as it was first, with zeros for weights, and the section that has others; the last file given counts."""
        sys.path.insert(0, os.path.join(support.SOURCE, "tests", "clients"))
        from qnn_calls import Graph, Library
        for lib in (support.CPU, support.HTP):
            os.environ["OPENQNN_TEST_LIB"] = os.path.basename(lib)
            library = Library()
            for k in (2, 3):
                g = Graph(library, updates=True)
                y = g.output((4,), "f32")
                g.node("ElementWiseMultiply", [g.input(np.zeros(4), "f32"), g.const(np.full(4, k), "f32")], [y])
                g.run()
                self.write("first.bin", g.base[0].raw[:g.base[1].value])
                self.write("times%d.bin" % k, g.section.raw)
                g.close()
            self.write("x.txt", self.floats("x.raw", 1, 2, 3, 4))
            args = ("qnn-net-run", "--backend", lib, "--retrieve_context", "first.bin", "--input_list", "x.txt", "--output_dir", "out")
            name = y.tensor.v.name.decode() + ".raw"
            for updates, factor in (([], 0), (["--binary_updates", "times2.bin"], 2), (["--binary_updates", "times2.bin,times3.bin"], 3)):
                self.succeeds(*args, *updates)
                self.assertEqual(self.result("Result_0", name), [factor * v for v in (1, 2, 3, 4)])
            self.fails(*args, "--binary_updates", "first.bin", says=["first.bin", "whole context binary"])
            self.fails(*args, "--binary_updates", "x.raw", says="no binary section")


if __name__ == "__main__":
    support.main()

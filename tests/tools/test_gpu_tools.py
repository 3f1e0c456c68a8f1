#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-net-run and qnn-context-binary-generator on libQnnGpu.so with libQnnGpuNetRunExtensions.so: every configuration key, and what becomes of it."""

import ctypes
import json
import os
import sys

import numpy as np
import support
import test_net_run

GPU = os.path.join(support.LIB, "libQnnGpu.so")
EXTENSION = os.path.join(support.BIN, "libQnnGpuNetRunExtensions.so")
ALL_KEYS = {"graph_names": ["clip"], "precision_mode": "fp16", "disable_memory_optimizations": True, "disable_node_optimizations": True,
            "disable_queue_recording": True, "perf_hint": "low", "kernel_repo_path": "kept", "invalidate_kernel_repo": False, "enable_tuning_mode": True,
            "performance_cache_dir": "kept", "invalidate_performance_cache": False, "weight_sharing_enabled": True, "disable_kernel_profiling": True}
# The model of two graphs, taking the settings that the program hands it.
SETTINGS = """
static const GraphConfigInfo_t **given;
static uint32_t n_given;
static const QnnGraph_Config_t **settings_of(const char *name)
{
    for (uint32_t i = 0; i < n_given; i++)
        if (!strcmp(given[i]->graphName, name)) return given[i]->graphConfigs;
    return NULL;
}
"""
MODEL = (test_net_run.MODEL.replace("static GraphInfo_t graphs[2];", SETTINGS + "static GraphInfo_t graphs[2];")
         .replace("graphCreate(context, names[i][0], NULL, &g)", "graphCreate(context, names[i][0], settings_of(names[i][0]), &g)")
         .replace("(void)backend, (void)configs, (void)n_configs,", "given = configs, n_given = n_configs, (void)backend,"))
VALUES = np.array([-1, 1 + 2 ** -12, -2, 2, -3, 3], np.float32)  # the second is 1 in float16


class Gpu(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.succeeds("qnn-model-lib-generator", "-c", self.write("two.c", MODEL), "-l", "two", "-o", ".")
        self.model = ("--model", "x86_64-linux-clang/libtwo.so", "--model_prefix", "Two")
        self.write("c.raw", VALUES.tobytes())
        self.write("clip.txt", "c.raw")
        self.run_args = ("qnn-net-run", "--backend", GPU, "--input_list", "__,clip.txt", "--output_dir", "out")

    def config(self, settings):
        self.write("gpu.json", json.dumps(settings))
        self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": EXTENSION, "config_file_path": self.path("gpu.json")}}))
        return ("--config_file", "config.json")

    def result(self):
        return np.frombuffer(self.read("out", "clip", "Result_0", "clip_out.raw"), np.float32)

    def test_plain(self):
        self.succeeds(*self.run_args, *self.model)
        self.assertEqual(self.result().tolist(), np.maximum(VALUES, 0).tolist())

    def test_every_key(self):
        config = self.config(ALL_KEYS)
        os.mkdir(self.path("kept"))
        self.succeeds("qnn-context-binary-generator", "--backend", GPU, *self.model, "--binary_file", "two", "--output_dir", "b", *config)
        self.succeeds(*self.run_args, "--retrieve_context", "b/two.bin", *config)
        self.assertEqual(self.result().tolist(), np.maximum(VALUES, 0).astype(np.float16).astype(np.float32).tolist())
        kept = sorted(os.listdir(self.path("kept")))
        self.assertEqual([name.split(".")[0] for name in kept], ["gpukernelcache", "gpuperformancecache"])

    def all_events(self, record):
        """The events of a record and those inside of them."""
        return [e for child in record.get("events", []) for e in [child] + self.all_events(child)]

    def test_profiling_reader(self):
        reader = os.path.join(support.BIN, "libQnnGpuProfilingReader.so")
        self.succeeds(*self.run_args, *self.model, "--profiling_level", "detailed")
        self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", reader, "--output", "profile.json")
        records = {(r["graph"], r["method"].lower()): r for r in json.loads(self.read("profile.json"))["logs"][0]["records"]}
        run = next(r for (graph, method), r in records.items() if graph == "clip" and "execute" in method and "ips" not in method)
        names = [e["name"] for e in self.all_events(run)]
        self.assertEqual((run["calls"], sum("host to device" in n for n in names), sum("Accelerator" in n for n in names)), (1, 1, 1))
        self.assertTrue(run["nodes"] and all(0 <= n["share"] <= 1 for n in run["nodes"] if "share" in n))
        shown = json.loads(self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", reader))
        self.assertEqual(len(shown["logs"]), 1)
        self.fails("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", EXTENSION, says="openqnn_profile_reader")
        self.fails("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", "libNoSuchReader.so", says="libNoSuchReader.so")

    def test_refused(self):
        for settings, words in (({"precision_mode": "fp64", "graph_names": ["clip"]}, "precision_mode"), ({"precision_mode": "fp16"}, "graph_names"),
                                ({"perf_hint": "fastest"}, "perf_hint"), ({"perf_hints": "low"}, "perf_hint"),
                                ({"performance_cache_dir": "nowhere"}, "no folder"), ({"kernel_repo_path": "nowhere"}, "no folder")):
            self.fails(*self.run_args, *self.model, *self.config(settings), says=words)

    def test_unknown_graph(self):
        said = self.run_tool(*self.run_args, *self.model, *self.config({"graph_names": ["clips"], "precision_mode": "fp16"}))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn('no graph was called "clips"', said.stderr + said.stdout)


def main():
    try:
        os.stat("/sys/devices/system/cpu")  # without it PoCL ends the process, and the library does not use OpenCL
        count = ctypes.c_uint(0)
        if ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(count)) or not count.value:
            raise OSError("no driver")
    except OSError as error:
        print("SKIP: no OpenCL: %s" % error)
        sys.exit(77)
    support.main()


if __name__ == "__main__":
    main()

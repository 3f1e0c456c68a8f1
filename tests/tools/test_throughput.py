#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-throughput-net-run: threads on one graph and on several, counts, results, files, errors of outputs, and what it refuses."""

import json
import os
import signal
import subprocess

import lpai_model
import support

HTP = os.path.join(support.LIB, "libQnnHtp.so")
BACKENDS = {"cpu": support.CPU, "htp": HTP, "lpai": lpai_model.LPAI}
NUMBERS = ["min_us", "p50_us", "p90_us", "p99_us", "max_us"]


class Throughput(lpai_model.LpaiTest):
    def case(self, *threads, backend=None, model=None, context=None, iteration=1, **more):
        """A configuration with one backend, model and context, to which dictionaries add keys; threads are dictionaries."""
        config = {
            "backends": [dict({"backendName": "b", "backendPath": support.CPU}, **(backend or {}))],
            "models": [dict({"modelName": "m", "modelPath": self.path("libs", "x86_64-linux-clang", "libnet.so")}, **(model or {}))],
            "contexts": [dict({"contextName": "c"}, **(context or {}))],
            "testCase": dict({"iteration": iteration, "logLevel": "warn", "threads": [
                dict({"threadName": "t%d" % i, "backend": "b", "context": "c", "model": "m"}, **t) for i, t in enumerate(threads)]}, **more),
        }
        return self.write("case.json", json.dumps(config))

    def measure(self, *threads, **more):
        self.said = self.succeeds("qnn-throughput-net-run", "--config", self.case(*threads, **more), "--output", "result.json")
        return json.loads(self.read("result.json"))

    def check(self, result, loops, graphs=1):
        """Counts as asked for, and times that fit together."""
        self.assertEqual([t["loops"] for t in result["threads"]], loops)
        self.assertEqual([t["inferences"] for t in result["threads"]], [n * graphs for n in loops])
        self.assertEqual(result["total"]["inferences"], sum(loops) * graphs)
        for t in result["threads"]:
            times = [t[key] for key in NUMBERS]
            self.assertEqual(times, sorted(times), t)
            self.assertGreater(t["min_us"], 0)
            self.assertTrue(t["min_us"] <= t["avg_us"] <= t["max_us"], t)
            self.assertLessEqual(t["avg_us"] * t["inferences"], t["total_us"] * 1.000001)
            self.assertAlmostEqual(t["inferences_per_second"], t["inferences"] * 1e6 / t["total_us"], delta=1e-6 * t["inferences_per_second"])
            self.assertLessEqual(t["total_us"], result["total"]["total_us"])
        total = result["total"]
        self.assertAlmostEqual(total["inferences_per_second"], total["inferences"] * 1e6 / total["total_us"], delta=1e-6 * total["inferences_per_second"])

    def test_backends(self):
        self.model(2)
        for name, path in BACKENDS.items():
            with self.subTest(backend=name):
                result = self.measure({"loop": 30}, {"loop": 20}, {"loop": 10}, backend={"backendPath": path})
                self.check(result, [30, 20, 10])
                self.assertEqual([t["name"] for t in result["threads"]], ["t0", "t1", "t2"])
                self.assertEqual({(t["backend"], t["context"], t["model"]) for t in result["threads"]}, {("b", "c", "m")})
                self.assertIn("t1: TotalTime", self.said)
                self.assertNotIn("mse", result["threads"][0])

    def test_iterations(self):
        self.model()
        result = self.measure({"loop": 3}, {}, iteration=4)
        self.check(result, [12, 4])
        self.assertEqual(result["iterations"], 4)

    def test_files(self):
        """Every thread has the inputs of the list, and writes what the model makes of them."""
        self.model(2)
        want = self.inputs(2)
        for name, path in BACKENDS.items():
            for save, folders in (("NATIVE_ALL", ["Result_0", "Result_1", "Result_2"]), ("NATIVE_LAST", ["Result_0"])):
                for extra in ({}, {"loadInputDataInLoop": True}, {"executeAsynchronous": True}, {"initModelInLoop": True}):
                    with self.subTest(backend=name, save=save, extra=extra):
                        out = "out_%s_%s_%s" % (name, save, "".join(extra))
                        loops = 1 if "initModelInLoop" in extra else 3
                        self.measure(dict({"loop": loops}, **extra), dict({"loop": loops}, **extra), backend={"backendPath": path},
                                     model={"inputPath": "list.txt", "saveOutput": save, "outputPath": out})
                        for thread in ("t0", "t1"):
                            self.assertEqual(sorted(os.listdir(self.path(out, thread))), folders[:loops])
                            for folder in folders[:loops]:
                                self.assertEqual(self.read(out, thread, folder, "y.raw"), want)

    def test_several_inputs(self):
        """The list is gone through again and again, in order."""
        self.model()
        for i in range(3):
            self.write("f%d.raw" % i, bytes([20 + i]) * 100)
        self.write("list.txt", "".join("f%d.raw\n" % i for i in range(3)))
        for more in ({}, {"loadInputDataInLoop": True}):
            self.measure(dict({"loop": 7}, **more), model={"inputPath": "list.txt", "saveOutput": "NATIVE_ALL", "outputPath": "out"})
            for i in range(7):
                self.assertEqual(self.read("out", "t0", "Result_%d" % i, "y.raw"), bytes([20 + i % 3]) * 100)

    def test_htp_group(self):
        """Two contexts with the same group_id: the second one joins the first one's buffer."""
        self.model(2)
        extension = os.path.join(os.environ.get("OPENQNN_BIN_DIR", "."), "libQnnHtpNetRunExtensions.so")
        for group, joined in (({"group_id": 0}, 1), ({}, 0)):
            settings = self.write("htp.json", json.dumps({"context": group}))
            config = json.loads(self.read(self.case({}, {"context": "other"}, backend={"backendPath": HTP, "backendExtensions": extension})))
            config["contexts"].append({"contextName": "other"})
            config["testCase"]["logLevel"] = "info"
            for thread in config["testCase"]["threads"]:
                thread["backendConfig"] = settings
            done = self.run_tool("qnn-throughput-net-run", "--config", self.write("case.json", json.dumps(config)), "--output", "result.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((done.stdout + done.stderr).count("shares the spill-fill buffer of its group, which has 2 contexts"), joined, done.stderr)

    def test_float_files(self):
        self.model()
        self.write("x.raw", b"".join(v.to_bytes(4, "little") for v in [0x3F800000] * 100))  # 1.0
        self.write("list.txt", "x.raw\n")
        self.measure({}, model={"inputPath": "list.txt", "inputDataType": "FLOAT", "saveOutput": "NATIVE_LAST", "outputPath": "out",
                                "outputDataType": "FLOAT_AND_NATIVE"})
        self.assertEqual(self.read("out", "t0", "Result_0", "y.raw"), self.read("x.raw"))
        self.assertEqual(self.read("out", "t0", "Result_0", "y_native.raw"), bytes([12]) * 100)

    def test_errors_of_outputs(self):
        self.model()
        want = self.inputs()
        self.write("golden.raw", want)
        self.write("golden.txt", "golden.raw\n")
        self.write("off.raw", bytes(v + 2 for v in want))
        self.write("off.txt", "off.raw\n")
        self.write("zero.raw", bytes(400))
        self.write("zero.txt", "zero.raw\n")
        squares = sum(((v - 10) / 2) ** 2 for v in want) / len(want)
        for post, golden, mse in (("MSE", None, 0), ("MSE", "golden.txt", 0), ("MSE", "off.txt", 1), ("MSE_INT8", "off.txt", 4), ("MSE_FLOAT32", "zero.txt", squares)):
            with self.subTest(post=post, golden=golden):
                model = {"inputPath": "list.txt", "postProcessor": post}
                if golden:
                    model["groundTruthPath"] = golden
                result = self.measure({"loop": 3}, model=model)
                self.assertAlmostEqual(result["threads"][0]["mse"], mse, places=6)

    def test_model_in_loop(self):
        self.model()
        result = self.measure({"loop": 3, "initModelInLoop": True}, {"loop": 2, "initModelInLoop": True}, {"loop": 4})
        self.check(result, [3, 2, 4])
        self.assertGreater(result["threads"][0]["init_us"], 0)
        self.assertNotIn("init_us", result["threads"][2])

    def test_binary_and_profile(self):
        model = self.model()
        for name, path in BACKENDS.items():
            with self.subTest(backend=name):
                self.succeeds("qnn-context-binary-generator", "--backend", path, "--model", model, "--binary_file", name, "--output_dir", "bin")
                self.check(self.measure({"loop": 5}, {"loop": 5}, backend={"backendPath": path, "profilingLevel": "DETAILED"}, context={"priority": "HIGH"},
                                        model={"modelPath": "bin/%s.bin" % name, "loadFromCachedBinary": True, "outputPath": name}), [5, 5])
                events = self.succeeds("qnn-profile-viewer", "--input_log", name + "/t0/qnn-profiling-data.log")
                self.assertIn("Execute", events)

    def test_graph_switching(self):
        model = self.model()
        self.succeeds("qnn-context-binary-generator", "--backend", HTP, "--model", model, "--binary_file", "net", "--output_dir", "bin")
        context = {"is_persistent_binary": True, "memory_limit_hint": 1, "graph_retention_order": ["net"]}
        cached = {"modelPath": "bin/net.bin", "loadFromCachedBinary": True}
        self.check(self.measure({"loop": 5}, backend={"backendPath": HTP}, context=context, model=cached), [5])
        config = self.case({"loop": 5}, backend={"backendPath": HTP}, context=dict(context, graph_retention_order=["other"]), model=cached)
        self.fails("qnn-throughput-net-run", "--config", config, "--output", "result.json", says="not in the binary")

    def test_extension_library(self):
        self.model()
        self.write("htp.json", json.dumps({"devices": [{"cores": [{"perf_profile": "burst", "rpc_polling_time": 1234}]}], "memory": {"mem_type": "shared_buffer"}}))
        backend = {"backendPath": HTP, "backendExtensions": os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so"), "profilingLevel": "DETAILED"}
        self.check(self.measure({"loop": 5, "backendConfig": "htp.json"}, backend=backend, model={"outputPath": "out"}, logLevel="info"), [5])
        self.assertIn("shared buffers", self.said)
        self.assertIn("polling 1234 us", self.succeeds("qnn-profile-viewer", "--input_log", "out/t0/qnn-profiling-data.log"))

    def test_session_dies(self):
        """A thread that fails ends the others and the program, and the results say so."""
        self.model()
        os.environ["OPENQNN_FAULT"] = "kill@200"
        try:
            done = self.run_tool("qnn-throughput-net-run", "--config", self.case({"loop": 4000000000}, {"loop": 4000000000}, backend={"backendPath": HTP}),
                                 "--output", "result.json")
        finally:
            del os.environ["OPENQNN_FAULT"]
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("QNN_COMMON_ERROR_SYSTEM_COMMUNICATION", done.stderr)
        result = json.loads(self.read("result.json"))
        self.assertTrue(any("SYSTEM_COMMUNICATION" in t.get("error", "") for t in result["threads"]), result)
        self.assertTrue(0 < result["total"]["inferences"] < 200, result)

    def test_interrupt(self):
        """Without an end it runs until it is interrupted, and then tells what it measured."""
        self.model()
        env = dict(os.environ, QNN_SDK_ROOT=support.SOURCE, LD_LIBRARY_PATH=support.LIB)
        config = self.case({"loop": 1, "initModelInLoop": True}, iteration=-1, logLevel="info")
        with subprocess.Popen([os.path.join(support.BIN, "qnn-throughput-net-run"), "--config", config, "--output", "result.json"], cwd=self.folder, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as done:
            for line in done.stdout:  # it has begun when the second iteration composes the graph
                if "finalized" in line:
                    done.send_signal(signal.SIGINT)
                    break
            done.stdout.read()
        self.assertEqual(done.returncode, 0)
        self.assertGreaterEqual(json.loads(self.read("result.json"))["iterations"], 1)

    def refused(self, *threads, says, **more):
        self.fails("qnn-throughput-net-run", "--config", self.case(*threads, **more), says=says)

    def test_refused(self):
        self.model()
        self.refused({"backend": "x"}, says=["thread \"t0\" names backend \"x\"", "\"b\""])
        self.refused({"context": "x"}, says="names context \"x\"")
        self.refused({"model": "x"}, says="names model \"x\"")
        self.refused(says="nothing to run")
        self.refused({}, {"threadName": "t0"}, says="two threads are named \"t0\"")
        self.refused({"loops": 3}, says=["Invalid key: testCase/threads/0/loops", "loop"])
        self.refused({"loopUnit": "minute"}, says="count, second")
        self.refused({}, backend={"perfProfile": "fast"}, says="burst")
        self.refused({}, backend={"backendPath": "libQnnNone.so"}, says=["Could not load backend", "libQnnNone.so"])
        self.refused({}, backend={"platformOption": "a:b"}, says="platform \"a:b\"")
        self.refused({}, model={"modelPath": "net.bin"}, says="loadFromCachedBinary")
        self.refused({"initModelInLoop": True}, model={"modelPath": "net.bin", "loadFromCachedBinary": True}, says="leave one out")
        self.refused({"backendConfig": "htp.json"}, says="backendExtensions")
        self.refused({}, model={"groundTruthPath": "g.txt"}, says="postProcessor")
        self.refused({}, model={"postProcessor": "MSE_INT16"}, says=["MSE_INT16", "\"y\" is uq8"])
        self.refused({}, model={"inputPath": "a.txt,b.txt"}, says="2 lists for 1 graphs")
        self.refused({}, model={"inputPath": "none.txt"}, says="none.txt")
        self.fails("qnn-throughput-net-run", "--config", self.write("bad.json", "{"), says="bad.json")
        self.fails("qnn-throughput-net-run", says="--config")


if __name__ == "__main__":
    support.main()

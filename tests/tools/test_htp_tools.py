#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-net-run and qnn-context-binary-generator on libQnnHtp.so with libQnnHtpNetRunExtensions.so: every configuration key, and what becomes of it."""

import gzip
import json
import os
import re

import support

EXTENSION = os.path.join(os.environ.get("OPENQNN_BIN_DIR", "."), "libQnnHtpNetRunExtensions.so")
READER = os.path.join(os.environ.get("OPENQNN_BIN_DIR", "."), "libQnnHtpOptraceProfilingReader.so")
ALL_KEYS = """{
  // every key there is
  "graphs": [
    { "graph_names": ["another"], "vtcm_mb": 1, "O": 1 },
    { "graph_names": ["digits"], "vtcm_mb": 2, "hvx_threads": 3, "O": 3, "dlbc": 0, "weights_packing": true, "num_cores": 1,
      "short_depth_conv_on_hmx_off": true, "fold_relu_activation_into_conv_off": true, "slc_alloc_enable": 0, "fp16_relaxed_precision": 0,
      "dlbc_weights": 0.0, "float32": false, "sparse_weights_compression": 0, "finalize_config": { "P": 3 }, "use_high_precision_fp16_sigmoid": false, "monolithic_lstm": false, "advanced_activation_fusion": true }
  ],
  "devices": [ { "device_id": 0, "core_id": [0], "core_type": 0, "soc_model": 69, "dsp_arch": "v73", "pd_session": "unsigned", "profiling_level": "linting",
      "use_client_context": true,
      "cores": [ { "perf_profile": "burst", "rpc_control_latency": 90, "rpc_polling_time": 4321, "hmx_timeout_us": 300000, "adaptive_polling_time": 1000 } ] } ],
  "context": { "weight_sharing_enabled": false, "max_spill_fill_buffer_for_group": 0, "group_id": 0, "file_read_memory_budget_in_mb": 100,
      "io_memory_estimation": true, "init_acceleration": true, "lora_weight_sharing": false, "lora_weight_sharing_ram_preload": false, "extended_udma": false, "reused_io_limit_mb": 10 },
  "groupContext": { "share_resources": false, "reused_io_limit_mb": 20 },
  "memory": { "mem_type": "shared_buffer" }
}
"""


class Htp(support.ToolTest):
    def setUp(self):
        super().setUp()
        self.library = self.build_digits()
        self.write("list.txt", os.path.join(support.DIGITS, "images", "digit_7.raw"))

    def config(self, text):
        self.write("htp.json", text)
        self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": EXTENSION, "config_file_path": self.path("htp.json")}}))
        return "config.json"

    def generate(self, *args):
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--model", self.library, "--binary_file", "digits", "--output_dir", "b", *args)
        self.succeeds("qnn-context-binary-utility", "--context_binary", "b/digits.bin", "--json_file", "info.json")
        return json.loads(self.read("info.json"))

    def find(self, tree, key):
        """The first value of that key, wherever it is."""
        if isinstance(tree, dict):
            if key in tree:
                return tree[key]
            tree = list(tree.values())
        for item in tree if isinstance(tree, list) else []:
            found = self.find(item, key)
            if found is not None:
                return found
        return None

    def test_every_key(self):
        config = self.config(ALL_KEYS)
        info = self.generate("--config_file", config)
        got = [self.find(info, key) for key in ("socModel", "dspArch", "vtcmSize", "optimizationLevel", "numHvxThreads")]
        self.assertEqual(got, [69, 79, 2, 3, 3])  # the SoC wins over the architecture
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--output_dir", "plain")
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "out",
                      "--config_file", config)
        self.assertEqual(self.read("out", "Result_0", "probabilities.raw"), self.read("plain", "Result_0", "probabilities.raw"))
        events = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log")
        self.assertIn("polling 4321 us", events)
        self.assertIn("RPC (execute) time", events)

    def test_summary(self):
        """The summary names the SoC, the estimated time, and what of a session the context takes at least."""
        self.generate()
        text = self.succeeds("qnn-context-binary-utility", "--context_binary", "b/digits.bin", "--summary")
        self.assertIn("SoC model 43 (SM8550, v73)", text)
        cycles = int(re.search(r"cycles \(estimated\)\n +(\d+)", text)[1])
        us, mhz = re.search(r"time \(estimated.*\n +([\d.]+)  us at (\d+) MHz", text).groups()
        self.assertAlmostEqual(float(us), cycles / int(mhz), delta=.051)
        least, unit, most = re.search(r"HTP session: at least ([\d.]+) (KiB|MiB); at most (\d+) such", text).groups()
        least = float(least) * {"KiB": 1 << 10, "MiB": 1 << 20}[unit]
        self.assertAlmostEqual(int(most), 3.75 * 2**30 / least, delta=1 + int(most) * .001)
        done = self.run_tool("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "out",
                             more_env=dict(OPENQNN_LOG="info"))
        charged = int(re.search(r"the context is on session 0 .*?: (\d+) of 4026531840 bytes", done.stderr)[1])
        self.assertLessEqual(least, charged)

    def test_defaults(self):
        info = self.generate()
        got = [self.find(info, key) for key in ("socModel", "dspArch", "vtcmSize", "optimizationLevel", "numHvxThreads")]
        self.assertEqual(got, [43, 73, 4, 2, 4])

    def test_perf_profile(self):
        config = self.config("{}")
        for name in ("burst", "balanced", "extreme_power_saver", "system_settings"):
            self.succeeds("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--output_dir", name,
                          "--config_file", config, "--perf_profile", name)

    def events(self, text, *more):
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--output_dir", "out", "--config_file",
                      self.config(text), "--profiling_level", "detailed", *more)
        return self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log")

    def test_votes(self):
        """The table of profiles: corners of core and bus, sleep latency; polling for the three fastest unless the file says another time."""
        for name, corner, sleep, polling in (("burst", 160, 40, 9999), ("sustained_high_performance", 128, 100, 9999), ("high_performance", 128, 100, 9999),
                                             ("balanced", 112, 1000, 0), ("low_balanced", 96, 1000, 0), ("high_power_saver", 80, 1000, 0),
                                             ("power_saver", 64, 1000, 0), ("low_power_saver", 48, 1000, 0), ("extreme_power_saver", 16, 1000, 0)):
            vote = "core 0x%x, bus 0x%x, sleep latency %d us, RPC latency 100 us, polling %d us" % (corner, corner, sleep, polling)
            self.assertIn(vote, self.events('{"devices": [{"cores": [{"perf_profile": "%s"}]}]}' % name))
            self.assertIn(vote, self.events("{}", "--perf_profile", name))
        self.assertIn("core 0x80, bus 0x80, sleep latency 100 us, RPC latency 100 us, polling 777 us", self.events('{"devices": [{"cores": [{"rpc_polling_time": 777}]}]}'))
        self.assertIn("core 0x0, bus 0x0, sleep latency 0 us, RPC latency 90 us, polling 55 us", self.events(
            '{"devices": [{"cores": [{"perf_profile": "system_settings", "rpc_polling_time": 55, "rpc_control_latency": 90}]}]}'))
        self.assertNotIn("Power config", self.events("{}", "--perf_profile", "system_settings"))
        self.assertNotIn("Power config", self.events("{}"))

    def vote_lines(self, name):
        """What the tool says of its votes, and the votes as they arrive: dcvsEnable, sleep latency, least and wanted corner of the core."""
        out = self.said('{"devices": [{"cores": [{"perf_profile": "%s"}]}]}' % name, "--num_inferences", "2", "--log_level", "verbose")
        told = re.findall(r"power: (\S+ (?:begins|ends)): votes of (\w+)", out)
        votes = re.findall(r"dcvsEnable (\d), powerMode \d+, sleepLatency (\d+),.*coreVoltageCornerMin (\d+), coreVoltageCornerTarget (\d+)", out)
        self.assertEqual(len(told), len(votes), out)
        return [(when, what) + tuple(int(n) for n in v) for (when, what), v in zip(told, votes)]

    def test_power_states(self):
        """Votes of the profile while something is done, and lower ones in between; burst and sustained keep theirs for a time (test_power_states.c)."""
        for name, corner, sleep, idle in (("high_performance", 128, 100, "RELAXED"), ("balanced", 112, 1000, "RELAXED"),
                                          ("power_saver", 64, 1000, "RELEASED"), ("extreme_power_saver", 16, 1000, "RELEASED")):
            up, down = (name, 0, sleep, corner, corner), {"RELAXED": ("RELAXED_POWER_STATE", 1, 2000, 48, 64), "RELEASED": ("RELEASED_POWER_STATE", 1, 65535, 32, 32)}[idle]
            stages = ["INIT", "INFERENCE", "INFERENCE", "DE-INIT"]
            want = [(s + e,) + v for s in stages for e, v in ((" begins", up), (" ends", down))]
            self.assertEqual(self.vote_lines(name), want)
        for name in ("burst", "sustained_high_performance"):
            lines = self.vote_lines(name)
            self.assertEqual(lines[0][:2], ("INIT begins", name))
            self.assertFalse([line for line in lines if line[0].endswith("ends")])  # a timer lowers them, not the end of a stage

    def lanes(self, path):
        """Names of lanes, and the spans on each; nothing is in two places at once."""
        text = gzip.open(self.path(path), "rt").read() if path.endswith(".gz") else self.read(path)
        events = json.loads(text)["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        spans = {}
        for e in events:
            if e["ph"] == "X" and "start_cycle" in e["args"]:  # work of operators
                spans.setdefault(names[e["pid"], e["tid"]], []).append((e["args"]["start_cycle"], e["args"]["cycles"], e["args"]["op"], e["args"]["command"]))
        for found in spans.values():
            found.sort()
            for a, b in zip(found, found[1:]):
                self.assertLessEqual(a[0] + a[1], b[0])
        return names, spans, events

    def test_timeline(self):
        """Optrace as the guide goes through it: generator, net-run, viewer."""
        optrace = ("--profiling_level", "detailed", "--profiling_option", "optrace")
        self.generate(*optrace)
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "out", *optrace)
        view = ("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", READER)
        self.write("config.json", json.dumps({"features": {"qhas_json": True, "traceback": True}}))
        self.succeeds(*view, "--schematic", "digits_schematic.bin", "--config", "config.json", "--output", "chrometrace.json")
        names, spans, events = self.lanes("chrometrace.json")
        self.assertEqual(sorted(names.values()), ["DMA read", "DMA write", "HMX", "HVX 0", "HVX 1", "HVX 2", "HVX 3", "digits Runtraces", "digits Yields"])
        self.assertTrue(spans["HMX"] and spans["HVX 0"] and spans["DMA read"])  # ten numbers go in no time
        report = json.loads(self.read("chrometrace_qnn_htp_analysis_summary.json"))[0]
        end = max(start + cycles for found in spans.values() for start, cycles, _, _ in found)
        self.assertEqual(report["htp_overall_summary"]["cycles"], end)
        self.assertEqual(sum(o["cycles"] for o in report["qnn_op"]), end)
        self.assertEqual(sum(o["cycles"] for o in report["qnn_op_types"]), end)
        path = report["dominant_path"]
        for a, b in zip(path, path[1:]):
            self.assertLessEqual(a["start_cycle"] + a["cycles"], b["start_cycle"])
        hmx = next(u for u in report["htp_overall_summary"]["units"] if u["unit"] == "HMX")
        self.assertEqual(hmx["busy_cycles"], sum(cycles for _, cycles, _, _ in spans["HMX"]))
        self.assertEqual(sum(p["cycles"] for p in path if p["unit"] == "HMX"), hmx["busy_cycles"])  # what comes first hides nothing of it
        self.assertIn(b"HTP Overall Summary", self.read("chrometrace_qnn_htp_analysis_summary.html"))
        self.assertFalse(any(e["pid"] >= 1000 for e in events))  # this computer has a clock of its own, and a file
        self.assertTrue(any(e["pid"] >= 1000 and e["ph"] == "X" for e in json.loads(self.read("chrometrace_host.json"))["traceEvents"]))
        self.succeeds(*view, "--context_binary", "b/digits.bin", "--output", "zipped.json.gz")
        self.assertEqual(self.lanes("zipped.json.gz")[1], spans)
        nodes = [o["op"] for o in report["qnn_op"]]
        self.fails(*view, "--schematic", "b/digits.bin", "--zoom_start", "nobody", says=["nobody", "--zoom_start"])
        former = self.read("chrometrace.json")  # a reader that fails leaves the output of an earlier run
        self.fails(*view, "--schematic", "b/digits.bin", "--zoom_start", "nobody", "--output", "chrometrace.json", says="nobody")
        self.assertEqual(self.read("chrometrace.json"), former)
        self.fails(*view, "--schematic", "list.txt", says="list.txt")
        self.fails(*view[:3], "--schematic", "b/digits.bin", says="--reader")
        plain = READER.replace("HtpOptrace", "Htp")
        self.assertIn("Execute Stats (Run 0)", self.succeeds(*view[:3], "--reader", plain, "--output", "p.csv"))
        self.assertIn(b"OpId_", self.read("p.csv"))
        self.fails(*view[:3], "--reader", plain, "--schematic", "b/digits.bin", says="--schematic")
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "basic", "--profiling_level", "basic")
        self.fails("qnn-profile-viewer", "--input_log", "basic/qnn-profiling-data.log", "--reader", READER, says="--schematic")

    def test_cores(self):
        """A lane of each unit per core, and what cores give each other."""
        config = self.config('{"graphs": [{"num_cores": 2}], "devices": [{"soc_model": 52}]}')
        self.generate("--profiling_level", "detailed", "--profiling_option", "optrace", "--config_file", config)
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "out", "--config_file",
                      self.config('{"devices": [{"soc_model": 52}]}'), "--profiling_level", "detailed", "--profiling_option", "optrace")
        view = ("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log")
        self.succeeds(*view, "--reader", READER, "--schematic", "digits_schematic.bin", "--output", "chrometrace.json")
        names, spans, _ = self.lanes("chrometrace.json")
        units = ["DMA read", "DMA write", "HMX", "HVX 0", "HVX 1", "HVX 2", "HVX 3"]
        self.assertEqual(sorted(names.values()), ["Core %d: %s" % (core, unit) for core in (0, 1) for unit in units] + ["digits Runtraces", "digits Yields"])
        self.assertTrue(spans["Core 0: HMX"])  # operators this small are not cut; test_htp_cores.c has larger ones
        self.assertIn("HTP 1: HMX busy", self.succeeds(*view))
        self.fails("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--config_file",
                   self.config('{"devices": [{"soc_model": 43}]}'), says="the device has 1")

    def test_linting(self):
        """What waits and what works is all of the time; others are named where something overlaps."""
        config = self.config('{"devices": [{"profiling_level": "linting"}]}')
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--output_dir", "out", "--config_file", config, "--profiling_level", "backend")
        text = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log").split("Execute Stats (Average)")[1].split("Execute Stats")[0]
        total, rest = re.search(r"critical path execute\) time \(cycles\)\)?: (\d+)", text), text[text.index("critical path"):]
        numbers = lambda pattern: [int(n) for n in re.findall(pattern, rest)]
        nodes, waits = numbers(r":OpId_\d+ \(cycles\): (\d+)"), numbers(r"Wait \(Scheduler\) time\)?: (\d+)")
        overlaps, waiting = numbers(r"Overlap time\)?: (\d+)"), numbers(r"Overlap \(wait\) time\)?: (\d+)")
        self.assertEqual(sum(nodes) + sum(waits), int(total.group(1)))
        self.assertEqual(len(nodes), len(waits))
        self.assertEqual((len(overlaps), len(waiting)), (len(nodes), len(nodes)))
        self.assertTrue(all(o <= n for o, n in zip(overlaps, nodes)) and all(o <= w for o, w in zip(waiting, waits)))
        self.assertIn("Resources: HVX, HMX, DMA", rest)
        self.events("{}")
        self.assertNotIn("critical path", self.events("{}"))

    def test_what_a_device_moves(self):
        self.generate()
        graph = json.loads(self.succeeds("qnn-context-binary-utility", "--context_binary", "b/digits.bin", "--memory_map", "json"))["graphs"][0]
        steps, sums = graph["steps"], {}
        for s in steps:
            for key, value in s["dma"].items():
                sums[key] = sums.get(key, 0) + value
        self.assertEqual((sums["fill"], sums["spill"]), (0, 0))  # everything fits
        self.assertGreater(min(sums["weights"], sums["inputs"], sums["outputs"]), 0)
        self.assertIn("HMX", sum((s["resources"] for s in steps), []))
        self.assertTrue(all("DMA" in s["resources"] for s in steps if s["dma"]["weights"]))
        tiles = [t for t in graph["tensors"] if t["kind"] == "tile"]
        self.assertTrue(tiles)
        for t in tiles:  # nobody else is there meanwhile
            self.assertLessEqual(t["offset"] + t["bytes"], graph["vtcm"])
            for other in graph["tensors"]:
                if other is not t and other["first"] <= t["first"] <= other["last"]:
                    self.assertTrue(other["offset"] + other["bytes"] <= t["offset"] or t["offset"] + t["bytes"] <= other["offset"], (t, other))
        text = self.succeeds("qnn-context-binary-utility", "--context_binary", "b/digits.bin", "--memory_map", "text")
        self.assertIn("DMA of a device", text)
        self.assertIn("%d" % sums["weights"], self.succeeds("qnn-context-binary-utility", "--context_binary", "b/digits.bin", "--summary"))

    def test_sizes_in_bytes(self):
        info = self.generate("--config_file", self.config('{"graphs": [{"graph_names": ["digits"], "vtcm_size": 2097152, "O": 3.0, "dlbc": 2}], "devices": [{"soc_model": 87}]}'))
        self.assertEqual([self.find(info, key) for key in ("vtcmSize", "optimizationLevel")], [2, 3])

    def test_names_and_files(self):
        run = ("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--config_file")
        done = self.run_tool(*run, self.config('{"graphs": [{"graph_names": ["digit"], "vtcm_mb": 2}, {"graph_names": ["digits"], "O": 1}]}'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("graphs/0: no graph has one of its graph_names (\"digit\")", done.stderr)
        self.assertNotIn("graphs/1", done.stderr)
        self.write("patch.bin", b"patch")
        self.succeeds(*run, self.config('{"context": {"concurrent_deserialization_patch": "patch.bin"}}'))
        self.fails(*run, self.config('{"context": {"concurrent_deserialization_patch": "none.bin"}}'), says=["concurrent_deserialization_patch", "none.bin"])

    def said(self, text, *more):
        done = self.run_tool("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--config_file", self.config(text), *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr + done.stdout

    def buffers(self, **keys):
        """A run of the saved model with these keys of context_configs."""
        self.write("config.json", json.dumps({"context_configs": keys}))
        return self.run_tool("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--config_file", "config.json",
                             "--output_dir", "out", "--log_level", "info")

    def test_context_buffers(self):
        """Buffers of the client for weights, and for spill and fill: of the backend's size, of one's own, too small, and none."""
        self.generate()
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "plain")
        done = self.buffers(weights_buffer=-1)
        self.assertEqual(done.returncode, 0, done.stderr)
        size = int(re.search(r"a weights buffer of (\d+) bytes is registered", done.stderr + done.stdout).group(1))
        self.assertGreater(size, 1000)
        self.assertEqual(self.read("out", "Result_0", "probabilities.raw"), self.read("plain", "Result_0", "probabilities.raw"))
        for wanted, code, says in ((size + 8192, 0, "a weights buffer of %d bytes is registered" % (size + 8192)), (size - 1, 1, "context_configs/weights_buffer: a buffer of"),
                                   (-2, 1, "weights_buffer")):
            done = self.buffers(weights_buffer=wanted)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(says, done.stderr + done.stdout)
        self.assertNotIn("is registered", self.buffers(weights_buffer=0).stdout)
        for wanted, says in ((-1, "context_configs/spill_fill_buffer: the graphs need none"), (65536, "a spill-fill buffer of 65536 bytes is registered")):
            done = self.buffers(spill_fill_buffer=wanted)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(says, done.stderr + done.stdout)
        done = self.run_tool("qnn-net-run", "--backend", support.CPU, "--model", self.library, "--input_list", "list.txt", "--config_file", "config.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is for the HTP backend", done.stderr)

    def test_domain(self):
        for wanted, config in (("signed", '{"devices": [{"pd_session": "signed"}]}'), ("unsigned", '{"devices": [{"pd_session": "unsigned"}]}'), ("unsigned", "{}")):
            self.assertIn("its process domain is %s;" % wanted, self.said(config, "--log_level", "info"))

    def test_options_told(self):
        """What has no effect here is told by name, once, at the level that programs show; what has one is not."""
        keys = {"graphs": {"sparse_weights_compression": ("ENABLE_SPARSE_WEIGHTS_COMPRESSION", 1),
                           "slc_alloc_enable": ("ENABLE_SLC_ALLOCATOR", 1),
                           "fp16_relaxed_precision": ("PRECISION ", 0), "use_high_precision_fp16_sigmoid": ("HIGH_PRECISION_SIGMOID", True)},
                "context": {"lora_weight_sharing": ("LORA_WEIGHT_SHARING_ENABLED", True), "lora_weight_sharing_ram_preload": ("LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED", True),
                            "extended_udma": ("USE_EXTENDED_UDMA", True), "reused_io_limit_mb": ("REUSED_IO_LIMIT", 7)},
                "groupContext": {"share_resources": ("SHARE_RESOURCES ", True)},
                "devices": {"use_client_context": ("use_client_context", True)}}
        for section, rows in keys.items():
            for key, (name, value) in rows.items():
                with self.subTest(key=key):
                    one = {key: value}
                    said = self.said(json.dumps({section: [one] if section in ("graphs", "devices") else one}))
                    self.assertEqual(said.count(name), 1, said)
        for text in ('{"graphs": [{"fold_relu_activation_into_conv_off": true}]}', '{"graphs": [{"short_depth_conv_on_hmx_off": true}]}',
                     '{"graphs": [{"advanced_activation_fusion": false}]}', '{"graphs": [{"weights_packing": true}]}', '{"graphs": [{"dlbc_weights": 1}]}', '{"graphs": [{"dlbc": 1}]}', '{"graphs": [{"monolithic_lstm": true}]}',
                     '{"context": {"weight_sharing_enabled": true, "io_memory_estimation": true}}',
                     '{"context": {"file_read_memory_budget_in_mb": 5, "init_acceleration": true}}'):
            self.assertNotIn("no effect", self.said(text))

    def test_options_refused(self):
        run = ("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--config_file")
        for text, says in (('{"graphs": [{"num_cores": 2}]}', "NUM_CORES is 2; the device has 1"), ('{"graphs": [{"finalize_config": {"P": 99}}]}', "99"),
                           ('{"graphs": [{"vtcm_size": 65536}]}', "needs architecture v81"), ('{"graphs": [{"dlbc": 0.5}]}', "0.5"),
                           ('{"context": {"max_spill_fill_buffer_for_group": 100}}', "group_id")):
            self.fails(*run, self.config(text), says=says)

    def test_device_refused(self):
        run = ("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--config_file")
        for text, says in (('{"devices": [{"device_id": 7}]}', "device_id is 7"), ('{"devices": [{"core_type": 1}]}', "0 (NSP)"), ('{"devices": [{"core_id": ["x"]}]}', "core_id"),
                           ('{"devices": [{"profiling_level": "zzz"}]}', "zzz"), ('{"devices": [{"core_id": [5], "cores": [{"perf_profile": "burst"}]}]}', "core_id 5")):
            self.fails(*run, self.config(text), says=says)
        self.said('{"devices": [{"soc_model": 52, "core_id": [0, 1], "cores": [{"perf_profile": "burst"}]}]}', "--profiling_level", "detailed", "--output_dir", "two")
        events = self.succeeds("qnn-profile-viewer", "--input_log", "two/qnn-profiling-data.log")
        self.assertEqual(len(set(re.findall(r"Power config (\d+): core 0xa0", events))), 2)

    def test_refused(self):
        run = ("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--config_file")
        for text, says in (('{"graphs": [{"vtcm": 8}]}', "vtcm_mb"), ('{"graphs": [{"O": 4}]}', "graphs/0/O"), ('{"graphs": [{"O": 2.5}]}', "1, 2 and 3 are allowed"),
                           ('{"devices": [{"dsp_arch": "v12"}]}', "v12"), ('{"devices": [{"pd_session": "maybe"}]}', "maybe"),
                           ('{"devices": [{"cores": [{"perf_profile": "fast"}]}]}', "burst"), ('{"devices": [{"soc_model": 4711}]}', "4711")):
            self.fails(*run, self.config(text), says=says)


if __name__ == "__main__":
    support.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-profile-viewer and its reader libraries on libQnnHtp.so: timelines that nothing is dropped of, parts of graphs, and every setting."""

import csv
import json
import os
import re

import support
from trace_kit import OPTRACE, TraceTest, branches, in_turns, reader, write_log


UNITS = ["HMX", "HVX 0", "HVX 1", "HVX 2", "HVX 3", "DMA read", "DMA write"]
KEYS = ("enable_input_output_flow_events", "enable_sequencer_flow_events", "runtrace", "memory_info", "traceback", "htp_json", "qhas_schema", "qhas_json", "gzip")


class Timelines(TraceTest):
    def setUp(self):
        super().setUp()
        self.prepare(branches())
        self.view("--schematic", "b/net.bin", "--output", "t.json")

    def test_device(self):
        """No slice overlaps another one of its lane, in nanoseconds: Perfetto drops those that do. Lengths are those of the cycles."""
        trace = self.trace("t.json")
        self.assertEqual([trace.lanes[k] for k in sorted(trace.lanes)], UNITS + ["digits Runtraces", "digits Yields"])
        self.assertEqual([k for k, _ in sorted(trace.order.items(), key=lambda item: item[1])], sorted(trace.lanes))
        for key, found in trace.slices.items():
            if trace.lanes[key] in UNITS:  # nothing stands within anything there
                self.assertTrue(all(a[1] <= b[0] for a, b in zip(found, found[1:])), trace.lanes[key])
        self.assertEqual(len(trace.processes), 1)
        for begin, end, e in trace.device():
            first, length = e["args"]["start_cycle"], e["args"]["cycles"]
            for at, cycle in ((begin, first), (end, first + length)):
                self.assertLessEqual(abs(at - cycle * 1000 / 1220), 0.5)

    def test_what_slices_say(self):
        trace = self.trace("t.json")
        conv = next(e["args"] for _, _, e in trace.lane("HMX") if "convLeft1" in e["args"]["op"])
        self.assertEqual((conv["type"], conv["outputs"]), ("Conv2d", "uq8 1x48x48x32"))
        self.assertIn("uq8 1x48x48x32, uq8 3x3x32x32", conv["inputs"])
        moved = {}
        for lane in ("DMA read", "DMA write"):
            for _, _, e in trace.lane(lane):
                parts = {k[6:]: v for k, v in e["args"].items() if k.startswith("bytes_")}
                self.assertEqual(sum(parts.values()), e["args"]["bytes"])
                for reason, n in parts.items():
                    moved[reason] = moved.get(reason, 0) + n
        steps = json.loads(self.succeeds("qnn-context-binary-utility", "--context_binary", "b/net.bin", "--memory_map", "json"))["graphs"][0]["steps"]
        sums = {reason: sum(s["dma"][reason] for s in steps) for reason in ("weights", "inputs", "outputs", "fill", "spill")}
        self.assertEqual(moved, {reason: n for reason, n in sums.items() if n})

    def test_this_computer(self):
        """What was measured has a clock of its own, so it is a file of its own; operators of a chain take turns there, on several lanes."""
        trace = self.trace("t_host.json")
        self.assertEqual(len(trace.processes), 1)
        self.assertIn("this computer", list(trace.processes.values())[0])
        names = [e["name"] for key, found in trace.slices.items() for _, _, e in found if trace.lanes[key].startswith("operators")]
        self.assertEqual(len(names), len(set(names)))
        run, = [s for found in trace.slices.values() for s in found if s[2]["name"] == "inference"]
        for key, found in trace.slices.items():
            self.assertTrue(all(run[0] <= s[0] and s[1] <= run[1] + 2000 for s in found))  # rounded to microseconds
        parts = [s[2]["name"] for key, found in trace.slices.items() for s in found if trace.lanes[key] == "digits Runtraces"]
        self.assertEqual(set(parts) - {"queue wait", "acquire HVX + HMX", "acquire VTCM"}, {"inference", "execute"})
        self.assertTrue(any("convLeft1" in name for name in names))
        self.view("--output", "only.json")  # without a schematic there is nothing else to show
        self.assertEqual(self.read("only.json"), self.read("t_host.json"))

    def test_short_names(self):
        trace = self.trace("t.json")
        names = {e["args"]["op"]: e["name"] for _, _, e in trace.device()}
        self.assertEqual(len(set(names.values())), len(names))
        for op, name in names.items():
            self.assertLessEqual(len(name), 50)
            self.assertTrue(op.endswith(name), (op, name))

    def cut(self, start, end, *more):
        self.view("--schematic", "b/net.bin", "--output", "cut.json", "--config", self.config(qhas_json=True), *(("--zoom_start", start) if start else ()),
                  *(("--zoom_end", end) if end else ()), *more)
        return {name for name in self.trace("cut.json").ops()}

    def config(self, **features):
        return self.write("config.json", json.dumps({"features": features}))

    def test_zoom(self):
        """Operators on the way from one to another; the other branch is none of them. The summary is that of the part."""
        whole = self.trace("t.json").ops()
        self.assertEqual({n for n in self.cut("convLeft1", "convLeft2") if "Right" in n}, set())
        self.assertTrue({"convLeft1", "convLeft2"} <= self.cut("convLeft1", "convLeft2"))
        report = json.loads(self.read("cut_qnn_htp_analysis_summary.json"))[0]
        left = {op["op"]: op["cycles"] for op in report["qnn_op"]}
        self.assertTrue(all("Right" not in name for name in left))
        self.assertEqual(report["htp_overall_summary"]["cycles"], sum(left.values()))
        self.assertAlmostEqual(sum(op["percent"] for op in report["qnn_op"]), 100, delta=0.01 * len(left) + 0.01)
        self.assertEqual({n for n in whole if "conv" in n}, {n for n in self.cut("convStart", "op") if "conv" in n})
        self.assertEqual(self.cut(None, "convLeft2") & {"convRight1", "op", "convStart"}, {"convStart"})
        self.assertEqual(self.cut("convRight2", None) & {"convRight1", "convRight2", "op"}, {"convRight2", "op"})
        self.refused("--schematic", "b/net.bin", "--zoom_start", "convLeft2", "--zoom_end", "convLeft1", says=["no way leads", "convLeft2"])
        self.refused("--schematic", "b/net.bin", "--zoom_start", "convLeft1", "--zoom_end", "convRight2", says="no way leads")
        self.refused("--schematic", "b/net.bin", "--zoom_start", "nothing", says=["nothing", "--zoom_start"])
        self.refused("--zoom_start", "convLeft1", says="--schematic")

    def with_keys(self, **features):
        """The trace with all keys off but some."""
        off = dict.fromkeys(KEYS, False)
        off.update(features)
        self.view("--schematic", "b/net.bin", "--output", "k.json", "--config", self.config(**off))
        return self.trace("k.json")

    def test_every_key_acts(self):
        none = self.with_keys()
        self.assertEqual((none.counters, none.flows), ({}, {}))
        self.assertEqual(sorted(none.lanes.values()), sorted(UNITS))
        self.assertEqual(sorted(self.with_keys(runtrace=True).lanes.values()), sorted(UNITS + ["digits Runtraces", "digits Yields"]))
        self.assertEqual({k[0] for k in self.with_keys(enable_input_output_flow_events=True).flows}, {"input-output"})
        self.assertEqual({k[0] for k in self.with_keys(enable_sequencer_flow_events=True).flows}, {"sequencer"})
        self.assertTrue(self.with_keys(memory_info=True).counters)
        default = self.trace("t.json")  # as the guide says what is on without settings
        self.assertTrue(default.counters and "digits Yields" in default.lanes.values())
        self.assertEqual(default.flows, {})

    def test_memory(self):
        """What rates add up to over time are the bytes that transfers move; VTCM is never fuller than the plan says."""
        trace = self.with_keys(memory_info=True)
        self.assertEqual({name for _, name in trace.counters}, {"DRAM read", "DRAM write", "VTCM read", "VTCM write", "VTCM alloc"})
        for lane, counter in (("DMA read", "DRAM read"), ("DMA write", "DRAM write")):
            points = trace.counters[1, counter]
            bytes_ = sum(rate * (b[0] - a[0]) for a, b in zip(points, points[1:]) for rate in (a[1],))
            self.assertAlmostEqual(bytes_ / sum(e["args"]["bytes"] for _, _, e in trace.lane(lane)), 1, places=6)
            self.assertEqual(points[-1][1], 0)
        summary = json.loads(self.succeeds("qnn-context-binary-utility", "--context_binary", "b/net.bin", "--memory_map", "json"))["graphs"][0]
        alloc = [v for _, v in trace.counters[1, "VTCM alloc"]]
        self.assertEqual(max(alloc), max(s["live"] for s in summary["steps"]))
        self.assertLessEqual(max(alloc), summary["vtcm"])
        self.assertEqual(alloc[-1], 0)
        written = sum(v * (b[0] - a[0]) for a, b in zip(trace.counters[1, "VTCM write"], trace.counters[1, "VTCM write"][1:]) for v in (a[1],))
        outputs = 48 * 48 * 32 * 13  # of 13 operators; those that are part of a product write nothing more
        self.assertGreater(written, outputs / 2)

    def test_framework(self):
        """--dlc: operators of the framework on every slice, and as names of a part; only where traceback is on."""
        dlc = ("--schematic", "b/net.bin", "--dlc", "net.dlc")
        self.view(*dlc, "--output", "f.json")
        names = {e["args"]["op"]: e["args"].get("framework") for _, _, e in self.trace("f.json").device()}
        self.assertEqual(names["convLeft1"], "Conv:convLeft1")
        self.assertEqual(names["op"], "Sub:op")
        self.assertFalse(any("framework" in e["args"] for _, _, e in self.trace("t.json").device()))
        self.view(*dlc, "--output", "f.json", "--config", self.config(traceback=False))
        self.assertFalse(any("framework" in e["args"] for _, _, e in self.trace("f.json").device()))
        self.refused("--schematic", "b/net.bin", "--dlc", "nowhere.dlc", says="nowhere.dlc")
        self.refused("--schematic", "b/net.bin", "--dlc", "list.txt", says="list.txt")
        self.refused("--dlc", "net.dlc", says="--schematic")
        self.write("other.onnx", branches(side=16, prefix="other_"))
        self.succeeds("qairt-converter", "-i", "other.onnx", "-o", "other.dlc")
        self.refused("--schematic", "b/net.bin", "--dlc", "other.dlc", says=["other.dlc", "another model"])

    def test_framework_zoom(self):
        """Names of the framework that no node has here: "a/b" became "a_b"."""
        self.prepare(branches(side=16, prefix="net/"), side=16)
        part = self.cut("net/convLeft1", "net/convLeft2", "--dlc", "net.dlc")
        self.assertTrue({"net_convLeft1", "net_convLeft2"} <= part and not {n for n in part if "Right" in n}, part)
        self.refused("--schematic", "b/net.bin", "--zoom_start", "net/convLeft1", says=["net/convLeft1", "--dlc"])
        self.assertEqual(self.cut("net_convLeft1", "net/convLeft2", "--dlc", "net.dlc"), part)

    def test_arrows(self):
        """An arrow for every operand, from the operator that makes it; it never goes back (the kit checks that)."""
        trace = self.with_keys(enable_input_output_flow_events=True)

        def ends(ends_of):
            found = []
            for kind in "sf":
                e = ends_of[kind]
                at = round(float(e["ts"]) * 1000)
                found.append(next(s[2]["args"]["op"] for s in trace.slices[e["pid"], e["tid"]] if s[0] <= at < max(s[1], s[0] + 1) and "op" in s[2]["args"]))
            return tuple(found)
        edges = {ends(f) for f in trace.flows.values()}
        self.assertTrue({("convStart", "convLeft1"), ("convStart", "convRight1"), ("op", "add")} <= {tuple(n.replace("_relu", "") for n in e) for e in edges}, edges)

    def test_cores(self):
        """Two cores: each has lanes and rates of its own, named so."""
        self.write("htp.json", '{"graphs": [{"graph_names": ["digits"], "num_cores": 2}], "devices": [{"soc_model": 52}]}')
        self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so"),
                                                                     "config_file_path": self.path("htp.json")}}))
        self.prepare(branches(), config=("--config_file", "config.json"))
        trace = self.with_keys(memory_info=True, enable_input_output_flow_events=True, enable_sequencer_flow_events=True)
        self.assertEqual(sorted(trace.lanes.values()), sorted("Core %d: %s" % (core, unit) for core in (0, 1) for unit in UNITS))
        for core in (0, 1):
            for lane, counter in (("DMA read", "DRAM read"), ("DMA write", "DRAM write")):
                points = trace.counters.get((1, "Core %d: %s" % (core, counter)), [(0, 0)])
                moved = sum(a[1] * (b[0] - a[0]) for a, b in zip(points, points[1:]))
                self.assertAlmostEqual(moved, sum(e["args"]["bytes"] for _, _, e in trace.lane("Core %d: %s" % (core, lane))), delta=1)
            self.assertTrue(trace.lane("Core %d: HMX" % core))

    def test_services(self):
        """A unit that waits for a transfer says so until the transfer is done."""
        trace = self.trace("t.json")
        waits = [(key, s) for key, found in trace.slices.items() for s in found if s[2]["name"] == "DmaCheckpointWait"]
        self.assertTrue(waits)
        done = {s[1] for s in trace.lane("DMA read")}
        for _, (_, end, e) in waits:
            self.assertIn(end, done)
            self.assertEqual(e["cat"], "System Service")
        sets = [e for e in trace.instants if e["name"] == "DmaCheckpointSet"]
        self.assertEqual(len(sets), len(waits))
        kinds = {e["cat"] for lane in ("DMA read", "DMA write") for _, _, e in trace.lane(lane)}
        self.assertEqual(kinds, {"DramToTcm", "TcmToDram"})

    def test_sync(self):
        """The matrix unit waits for vectors: until one of their slices ends."""
        self.prepare(in_turns())
        self.view("--schematic", "b/net.bin", "--output", "t.json")
        trace = self.trace("t.json")
        waits = [(key, s) for key, found in trace.slices.items() for s in found if s[2]["name"] == "SyncOp"]
        self.assertTrue(waits)
        for key, (begin, end, e) in waits:
            others = [s for k, found in trace.slices.items() for s in found if k != key and s[1] == end and "cycles" in s[2]["args"]]
            self.assertTrue(others, e)
            self.assertLess(begin, end)

    def test_settings(self):
        """Every key of the guide is known; others, other types and files that are not there are refused, and leave the former output."""
        self.view("--schematic", "b/net.bin", "--output", "all.json", "--config", self.config(
            enable_input_output_flow_events=True, enable_sequencer_flow_events=True, htp_json=True, runtrace=True, memory_info=True, traceback=True, qhas_schema=True,
            qhas_json=True))
        former = self.read("t.json")
        for text, says in (('{"features": {"runtraces": true}}', ["runtraces", "runtrace"]), ('{"features": {"runtrace": "yes please"}}', ["runtrace", "a string"]),
                           ('{"feature": {}}', "features"), ('{"features": {"gzip": 1}}', "gzip"), ("{", "config.json")):
            self.write("config.json", text)
            self.refused("--schematic", "b/net.bin", "--output", "t.json", "--config", "config.json", says=says)
            self.refused("--output", "t.json", "--config", "config.json", says=says)
            self.refused("--output", "t.json", "--config", "config.json", says=says, name="Chrometrace")
            self.assertEqual(self.read("t.json"), former)
        self.refused("--schematic", "b/net.bin", "--config", "nowhere.json", says="nowhere.json")
        self.refused("--output", "t.json", "--schematic", "list.txt", says="list.txt")
        for name in ("Htp", "Json", "Lpai"):
            self.refused("--output", "t.json", "--schematic", "b/net.bin", says="--schematic", name=name)
            self.refused("--output", "t.json", "--dlc", "net.dlc", says="--dlc", name=name)
        self.assertEqual(self.read("t.json"), former)

    def test_schematic(self):
        """Where the guide says: in the folder where the generator runs, per graph. One of other graphs is refused, and a timeline wants its level."""
        self.assertEqual(self.read("digits_schematic.bin"), self.read("b/net.bin"))
        self.assertFalse([n for n in os.listdir(self.path("b")) if "schematic" in n])
        library = self.build_digits()
        generator = ("qnn-context-binary-generator", "--backend", support.HTP, "--model", library, "--binary_file", "x", "--output_dir", "b")
        os.unlink(self.path("digits_schematic.bin"))
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--dlc_path", "net.dlc", "--input_list", "list.txt", "--output_dir", "online", *OPTRACE)
        self.succeeds("qnn-profile-viewer", "--input_log", "online/qnn-profiling-data.log", "--reader", reader("HtpOptrace"), "--schematic", "digits_schematic.bin",
                      "--output", "online.json")
        self.assertEqual(self.trace("online.json").ops(), self.trace("t.json").ops())
        for level in ((), ("--profiling_level", "basic")):
            self.fails(*generator, *level, "--profiling_option", "optrace", says=["--profiling_option", "--profiling_level detailed"])
            self.fails("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/net.bin", "--input_list", "list.txt", *level, "--profiling_option", "optrace",
                       says="--profiling_level detailed")
        self.write("other.onnx", branches(side=16).replace(b"digits", b"others"))
        self.succeeds("qairt-converter", "-i", "other.onnx", "-o", "other.dlc")
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--dlc_path", "other.dlc", "--binary_file", "other", "--output_dir", "b", *OPTRACE)
        former = self.read("t.json")
        self.refused("--schematic", "others_schematic.bin", "--output", "t.json", says=["others_schematic.bin", "\"others\"", "\"digits\""])
        self.assertEqual(self.read("t.json"), former)

    def test_gzip(self):
        """By name, by option, and by key: what lies beside is compressed, too."""
        whole = self.read("t.json")
        self.write("top.json", '{"gzip": true}')
        for output, more in (("z.json.gz", ()), ("z.json", ("--gzip",)), ("z.json", ("--config", self.config(gzip=True))), ("z.json", ("--config", "top.json"))):
            self.view("--schematic", "b/net.bin", "--output", output, *more)
            self.assertEqual(self.read(output)[:2], b"\x1f\x8b")
            self.assertLess(len(self.read(output)), len(whole) / 5)
            self.trace(output)
            self.trace("z_host.json.gz")
            for name in (output, "z_host.json.gz"):
                os.unlink(self.path(name))
        self.refused("--schematic", "b/net.bin", "--config", "top.json", says="--output")


class Guide(TraceTest):
    """The commands of the guide's section on linting."""

    def setUp(self):
        super().setUp()
        self.write("htp_config.json", '{"devices": [ {"profiling_level" : "linting"} ] }')
        self.write("backend_extension_config.json", json.dumps({"backend_extensions": {
            "shared_library_path": os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so"), "config_file_path": self.path("htp_config.json")}}))
        self.prepare(branches(side=16), side=16, runs=3, level=("--profiling_level", "backend", "--config_file", "backend_extension_config.json"))
        self.log = ("--input_log", "out/qnn-profiling-data_0.log")

    def test_every_run(self):
        """libQnnHtpProfilingReader.so: the raw output of every run."""
        text = self.succeeds("qnn-profile-viewer", "--reader", reader("Htp"), *self.log)
        plain = self.succeeds("qnn-profile-viewer", *self.log)
        self.assertEqual([int(n) for n in re.findall(r"Execute Stats \(Run (\d+)\)", text)], [0, 1, 2])
        self.assertEqual(len(re.findall(r"critical path", text)), 3)
        self.assertNotIn("Average", text)
        runs = [int(n) for n in re.findall(r"NetRun: +(\d+)", text.split("Execute Stats", 1)[1].split("(Run 0)")[1])]
        stats = [int(re.search(r"NetRun: +(\d+)", plain.split("Execute Stats (%s)" % w)[1]).group(1)) for w in ("Average", "Min", "Max")]
        self.assertEqual(stats, [sum(runs) // 3, min(runs), max(runs)])

    def test_chrometrace(self):
        """libQnnChrometraceProfilingReader.so: averages, and with --output a timeline of the table."""
        text = self.succeeds("qnn-profile-viewer", "--reader", reader("Chrometrace"), *self.log, "--output", "./chromeTrace.json")
        average = text.split("Execute Stats (Average)")[1].split("Execute Stats")[0]
        trace = self.trace("chromeTrace.json")
        self.assertEqual(sorted(trace.lanes.values()), ["main thread", "overlapped by others (length)"])
        main = trace.lane("main thread")
        at = 0
        for _, _, e in main:  # one behind the other, without holes
            self.assertEqual(e["args"]["start_cycle"], at)
            at += e["args"]["cycles"]
        self.assertEqual(at, int(re.search(r"critical path execute\) time \(cycles\)\): (\d+)", average).group(1)))
        rows = re.findall(r"(?m)^      (\S+:OpId_\d+ \(cycles\)): (\d+)  cycles\n            Wait \(Scheduler\) time: (\d+)  cycles\n"
                          r"            Overlap time: (\d+)  cycles", average)
        shown = {(e["cat"], e["args"]["op"]): e["args"]["cycles"] for found in trace.slices.values() for _, _, e in found}
        self.assertGreater(len(rows), 5)
        for name, work, wait, overlap in rows:
            for kind, cycles in (("Op", work), ("Wait", wait), ("Overlap", overlap)):
                self.assertEqual(shown.get((kind, name), 0), int(cycles), (kind, name))
        self.assertRegex(average, r"(?m)^            Resources: .*HMX")
        self.assertNotRegex(average, r"Resources:.*\d")
        self.run_net("--profiling_level", "basic")
        self.fails("qnn-profile-viewer", "--reader", reader("Chrometrace"), *self.log, "--output", "chromeTrace.json", says="no timeline")
        self.assertEqual(len(self.trace("chromeTrace.json").slices), len(trace.slices))


US, BYTES, COUNT, NODE, POINT = 1, 2, 4, 404, 600


class Runs(TraceTest):
    """Logs written here by their description: moments and waits that no test can wait for."""

    def events(self, begins, lengths, more=()):
        nodes = [(NODE, US, us, 0, "%s:OpId_%d (us)" % (name, i)) for i, (name, us) in enumerate(lengths)]
        points = [(POINT, US, begins[name], 0, "%s:OpId_%d (begin, us)" % (name, i)) for i, (name, _) in enumerate(lengths)]
        return [(3004, US, 900, -1, "Accelerator (execute) time"), *nodes, *points, *more]

    def host(self, records):
        self.write("made.log", write_log(records))
        self.succeeds("qnn-profile-viewer", "--input_log", "made.log", "--reader", reader("HtpOptrace"), "--output", "h.json")
        return self.trace("h.json")

    def test_lanes(self):
        """Operators that overlap are on lanes of their own; those that only meet, or overlap by a rounded microsecond, share one."""
        lengths = [("a", 100), ("b", 50), ("c", 10), ("d", 5)]
        trace = self.host([("g", 1000, 2000, self.events({"a": 0, "b": 20, "c": 100, "d": 109}, lengths))])
        where = {e["name"]: (trace.lanes[key], begin, end) for key, found in trace.slices.items() for begin, end, e in found}
        self.assertEqual({n: where[n] for n in "abcd"}, {"a": ("operators 0", 0, 100000), "b": ("operators 1", 20000, 70000),
                                                         "c": ("operators 0", 100000, 110000), "d": ("operators 0", 110000, 114000)})

    def test_yields(self):
        """What a run waits for comes before its nodes; runs stand where they were; saving, waiting and restoring have a lane."""
        acquire = [(405, US, 30, -1, "Queue wait (execute) time"), (3011, US, 5, -1, "units"), (3010, US, 7, -1, "VTCM")]
        yields = [(3009, COUNT, 2, -1, "n"), (3006, US, 11, -1, "r"), (3007, US, 200, -1, "w"), (3008, US, 13, -1, "s"), (30011, BYTES, 4096, -1, "b")]
        plain = self.events({"a": 0}, [("a", 10)], acquire)
        trace = self.host([("g", 5000, 6000, plain), ("h", 6100, 6900, plain), ("g", 7000, 8000, plain + yields)])
        lanes = {}
        for key, found in trace.slices.items():
            lanes[trace.lanes[key]] = [(e["name"], begin // 1000, end // 1000) for begin, end, e in found]
        self.assertEqual(lanes["operators 0"], [("a", at, at + 10) for at in (42, 1142, 2042)])
        self.assertEqual(lanes["g Runtraces"], [part for at in (0, 2000) for part in (
            ("inference", at, at + 1000), ("queue wait", at, at + 30), ("acquire HVX + HMX", at + 30, at + 35), ("acquire VTCM", at + 35, at + 42),
            ("execute", at + 42, at + 942))])
        self.assertEqual([part[0] for part in lanes["h Runtraces"]], ["inference", "queue wait", "acquire HVX + HMX", "acquire VTCM", "execute"])
        self.assertEqual(lanes["g Yields"], [("save VTCM", 2000, 2011), ("wait for others", 2011, 2211), ("restore VTCM", 2211, 2224)])
        self.assertNotIn("h Yields", lanes)

    def test_many_runs(self):
        """Hundreds of runs of several graphs."""
        plain = self.events({"a": 0}, [("a", 10)])
        trace = self.host([("g%d" % (i % 7), 1000 * i, 1000 * i + 900, plain) for i in range(500)])
        runs = {trace.lanes[key]: len([s for s in found if s[2]["name"] == "inference"]) for key, found in trace.slices.items()}
        self.assertEqual({n: runs["g%d Runtraces" % n] for n in range(7)}, {n: len(range(n, 500, 7)) for n in range(7)})

    def test_device_yields(self):
        """The estimate of what saving and restoring takes, by the rate of all other transfers."""
        self.prepare(branches(side=16), side=16)
        self.write("made.log", write_log([("digits", 0, 900, [(3004, US, 800, -1, "a"), (3009, COUNT, 2, -1, "n"), (30011, BYTES, 1 << 20, -1, "b")])]))
        self.succeeds("qnn-profile-viewer", "--input_log", "made.log", "--reader", reader("HtpOptrace"), "--schematic", "b/net.bin", "--output", "t.json")
        trace = self.trace("t.json")
        yields, = [found for key, found in trace.slices.items() if trace.lanes[key] == "digits Yields"]
        self.assertEqual([e["name"] for _, _, e in yields], ["save VTCM", "restore VTCM"])
        reads = trace.lane("DMA read")
        rate = sum(e["args"]["bytes"] for _, _, e in reads) / sum(end - begin for begin, end, _ in reads)
        for begin, end, e in yields:
            self.assertEqual(e["args"]["bytes"], 1 << 20)
            self.assertAlmostEqual((end - begin) * rate / (1 << 20), 1, delta=0.02)


class Json(TraceTest):
    def test_json(self):
        """The tree of the log: an event stands below the one that it belongs to, and a share is that of one unit below one event."""
        self.prepare(branches(side=16), side=16, runs=3, level=("--profiling_level", "linting"))
        self.view("--output", "p.json", name="Json")
        record = next(r for r in json.loads(self.read("p.json"))["logs"][0]["records"] if r["method"] == "execute")
        roots = {e["name"]: e for e in record["events"]}
        cycles = roots["Accelerator (execute) time (cycles)"]
        self.assertEqual(sum(e["average"] for e in cycles["events"]), cycles["average"])
        lint = next(e for name, e in roots.items() if "critical path" in name)
        left = next(e for e in lint["events"] if e["name"].startswith("convLeft1:"))
        self.assertEqual(left["count"], 3)  # once a run: other operators have their own
        self.assertEqual(len([e for e in left["events"] if e["name"].startswith("Wait")]), 1)
        sums, cycles_of = {}, {e["name"]: e["average"] for e in cycles["events"]}
        for node in record["nodes"]:
            key = (node["parent"], node["unit"])
            sums[key] = sums.get(key, 0) + node["share"]
            if key == ("Accelerator (execute) time (cycles)", "cycles"):
                self.assertAlmostEqual(node["share"], cycles_of[node["name"]] / cycles["average"])
        self.assertGreaterEqual(len(sums), 3)
        for total in sums.values():
            self.assertAlmostEqual(total, 1)


class Names(TraceTest):
    def test_long_names(self):
        """Names of any length: no two events become one, so that times, cycles and beginnings are not averaged together."""
        prefix = "a_very_long_path_" * 60
        self.prepare(branches(side=16, prefix=prefix), side=16)
        text = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--output", "p.csv")
        average = text.split("Execute Stats (Average)")[1].split("Execute Stats (Min)")[0]
        for kind in ("us", "cycles", "begin, us"):
            found = re.findall(r"^ +(\S+):OpId_(\d+) \(%s\): " % kind, average, re.M)
            self.assertEqual([int(n) for _, n in found], list(range(len(found))), kind)
            self.assertTrue(all(name.startswith(prefix) for name, _ in found))
            self.assertIn(prefix + "convLeft1", [name for name, _ in found])
        self.view("--schematic", "b/net.bin", "--output", "t.json")
        trace = self.trace("t_host.json")
        lengths = [end - begin for found in trace.slices.values() for begin, end, e in found if "conv" in e["name"]]
        self.assertGreater(sum(lengths), 0)
        self.assertIn(prefix + "convLeft1", self.trace("t.json").ops())
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--dlc_path", "net.dlc", "--input_list", "list.txt", "--output_dir", "cpu", "--profiling_level", "detailed")
        self.assertIn(prefix + "convLeft1:OpId_", self.succeeds("qnn-profile-viewer", "--input_log", "cpu/qnn-profiling-data.log"))

    def test_names_of_the_guide(self):
        """Programs that read the vendor's reports find their lines; what is estimated says so before the first of them, and in a column."""
        self.prepare(branches(side=16), side=16)
        text = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--output", "p.csv").split("Execute Stats (Average)")[1]
        self.assertRegex(text, r"(?m)^   NetRun:  \d+ us$")
        self.assertRegex(text, r"(?m)^   Backend \(RPC \(execute\) time\): \d+  us$")
        self.assertRegex(text, r"(?m)^   Backend \(Accelerator \(execute\) time \(cycles\)\): \d+  cycles$")
        self.assertRegex(text, r"(?m)^      convLeft1:OpId_\d+ \(cycles\): \d+  cycles$")
        self.assertLess(text.index("All cycles are estimated for SM8550"), text.index("(cycles)"))
        with open(self.path("p.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({r["Figure"] for r in rows if r["Unit of Measurement"] == "CYCLES"}, {"estimated"})
        self.assertEqual({r["Figure"] for r in rows if r["Event Identifier"].startswith("RPC")}, {"measured"})


if __name__ == "__main__":
    support.main()

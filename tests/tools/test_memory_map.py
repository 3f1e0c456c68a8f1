# SPDX-License-Identifier: Apache-2.0
"""The memory map of the digit recogniser: as JSON it obeys the rules of a plan, which are checked here pair by pair and step by step; text and page say the same."""

import html.parser
import json
import os
import re

import support

NASTY = 'a<b>&"c\'</script>'
LPAI = os.path.join(support.LIB, "libQnnLpai.so")


class Page(html.parser.HTMLParser):
    """Elements must close in order; collects what the page would load, and the rectangles."""

    def __init__(self):
        super().__init__()
        self.stack, self.wrong, self.loads, self.tensors, self.steps, self.script = [], [], [], [], [], ""

    def handle_startendtag(self, tag, attrs):
        self.element(tag, dict(attrs))

    def handle_starttag(self, tag, attrs):
        self.element(tag, dict(attrs))
        if tag != "meta" and tag != "input":
            self.stack.append(tag)

    def element(self, tag, attrs):
        self.loads += [attrs[k] for k in ("src", "href", "xlink:href") if k in attrs]
        if tag in ("link", "img", "iframe", "object", "embed"):
            self.loads.append(tag)
        kinds = (attrs.get("class") or "").split()
        if tag == "rect" and "t" in kinds:
            self.tensors.append(attrs)
        if tag == "rect" and "s" in kinds:
            self.steps.append(attrs)

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.stack and self.stack[-1] == "script":
            self.script += data


class MemoryMapTest(support.ToolTest):
    def make(self, backend, name="pool1_out"):
        with open(os.path.join(support.DIGITS, "model.c")) as file:
            text = file.read()
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        source = self.write("model.c", text.replace('"pool1_out"', '"%s"' % escaped))
        for extra in os.listdir(support.DIGITS):
            if extra.endswith(".h"):
                with open(os.path.join(support.DIGITS, extra), "rb") as file:
                    self.write(extra, file.read())
        self.succeeds("qnn-model-lib-generator", "-c", source, "-b", os.path.join(support.DIGITS, "model.bin"), "-l", "digits", "-o", "libs")
        self.succeeds("qnn-context-binary-generator", "--backend", backend, "--model", "libs/x86_64-linux-clang/libdigits.so", "--binary_file", "digits",
                      "--output_dir", ".")

    def show(self, form, *more):
        return self.succeeds("qnn-context-binary-utility", "--context_binary", "digits.bin", "--memory_map", form, *more)

    def check_plan(self, graph):
        """No two tensors in one place at one time, unless one is written over the other in its last step."""
        tensors, align = graph["tensors"], graph["alignment"]
        for i, a in enumerate(tensors):
            self.assertLessEqual(a["offset"] + a["bytes"], graph["scratch"])
            self.assertEqual(a["offset"] % align, 0)
            for b in tensors[i + 1:]:
                at_once = a["first"] <= b["last"] and b["first"] <= a["last"]
                same_place = a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]
                if at_once and same_place:
                    old, new = (a, b) if a["first"] < b["first"] else (b, a)
                    self.assertEqual((new.get("inPlaceOf"), old["last"], new["offset"]), (old["name"], new["first"], old["offset"]))
        for s in graph["steps"]:
            used = set()
            for t in tensors:
                if t["first"] <= s["step"] <= t["last"]:
                    used.update(range(t["offset"] // align, (t["offset"] + t["bytes"] + align - 1) // align))
            self.assertEqual(s["live"], len(used) * align)
        most = max(s["live"] for s in graph["steps"])
        self.assertEqual((graph["peak"]["bytes"], graph["lowerBound"]), (most, most))
        self.assertEqual(graph["steps"][graph["peak"]["step"]]["live"], most)
        self.assertEqual(sorted(t["name"] for t in graph["peak"]["tensors"]),
                         sorted(t["name"] for t in tensors if t["first"] <= graph["peak"]["step"] <= t["last"]))

    def test_json(self):
        for backend in (support.CPU, LPAI):
            self.make(backend)
            data = json.loads(self.show("json"))
            self.assertEqual((data["file"], len(data["graphs"])), ("digits.bin", 1))
            self.check_plan(data["graphs"][0])
        kinds = {t["name"]: t["kind"] for t in data["graphs"][0]["tensors"]} # LPAI: with inputs, outputs and estimates
        self.assertEqual((kinds["x"], kinds["probabilities"], kinds["pool1_out"]), ("input", "output", "tensor"))
        steps = data["graphs"][0]["steps"]
        self.assertEqual(sum(s["cycles"] for s in steps), data["graphs"][0]["cycles"])
        self.assertGreater(steps[0]["cycles"], 0)
        self.assertEqual(sum(s["moved"]["io"]["read"] + s["moved"]["io"]["written"] for s in steps), data["graphs"][0]["io"]) # each once

    def test_text(self):
        self.make(LPAI)
        graph = json.loads(self.show("json"))["graphs"][0]
        text = self.show("text")
        self.assertIn("%d bytes of scratch" % graph["scratch"], text)
        self.assertIn("peak: step %d," % graph["peak"]["step"], text)
        for t in graph["tensors"]:
            self.assertTrue(re.search(r"%d +%d +%d .* %s" % (t["offset"], t["offset"] + t["bytes"], t["bytes"], re.escape(t["name"])), text), t["name"])

    def test_page(self):
        self.make(LPAI, NASTY)
        graph = json.loads(self.show("json"))["graphs"][0]
        self.assertIn(NASTY, [t["name"] for t in graph["tensors"]])
        self.assertEqual(self.show("html", "--memory_map_file", "m.html"), "")
        text = self.read("m.html").decode()
        page = Page()
        page.feed(text)
        page.close()
        self.assertEqual((page.wrong, page.stack, page.loads), ([], [], []))
        self.assertNotIn(NASTY, text)
        self.assertEqual([u for u in re.findall(r"https?://[^\"' ]*", text) if u != "http://www.w3.org/2000/svg"], [])
        self.assertEqual(sorted((t["data-n"], int(t["data-a"]), int(t["data-b"]), int(t["data-f"]), int(t["data-l"])) for t in page.tensors),
                         sorted((t["name"], t["offset"], t["bytes"], t["first"], t["last"]) for t in graph["tensors"]))
        self.assertEqual([int(s["data-b"]) for s in page.steps], [s["live"] for s in graph["steps"]])
        self.assertEqual([i for i, s in enumerate(page.steps) if "peak" in s["class"].split()], [graph["peak"]["step"]])
        height = max(float(t["y"]) + float(t["height"]) for t in page.tensors) - min(float(t["y"]) for t in page.tensors)
        for t in page.tensors: # to scale, but for hairlines
            if float(t["height"]) > 1:
                self.assertAlmostEqual(float(t["height"]) / height, int(t["data-b"]) / graph["scratch"], delta=0.01)

    def test_labels(self):
        """Rectangles of different tensors never show the same text, also where it is cut to fit; the full name stays at hand."""
        self.make(LPAI, "model/of/digits/pool_1/MaxPool")
        text = self.show("html")
        page = Page()
        page.feed(text)
        self.assertEqual({t["data-h"] for t in page.tensors if t["data-n"].endswith("pool_1/MaxPool")}, {"model"})
        labels = {}
        for t in page.tensors:
            labels.setdefault(t["data-h"], set()).add(t["data-n"])
        self.assertEqual([names for names in labels.values() if len(names) > 1], [])
        shown = re.findall(r"<text class=name [^>]*>([^<]*)</text>", text)
        self.assertEqual(sorted(set(shown)), sorted(shown))

    def test_viewer(self):
        self.make(support.CPU)
        self.write("x.raw", bytes(4 * 4096))
        self.write("list.txt", "x.raw\n")
        self.succeeds("qnn-net-run", "--backend", support.CPU, "--retrieve_context", "digits.bin", "--input_list", "list.txt", "--profiling_level", "basic",
                      "--output_dir", "o")
        log = "o/qnn-profiling-data.log"
        self.assertIn("peak: step", self.succeeds("qnn-profile-viewer", "--input_log", log, "--context_binary", "digits.bin"))
        self.succeeds("qnn-profile-viewer", "--input_log", log, "--context_binary", "digits.bin", "--memory_map", "html", "--memory_map_file", "v.html")
        self.assertIn(b"<svg", self.read("v.html"))
        self.fails("qnn-profile-viewer", "--input_log", log, "--memory_map", "html", says="--context_binary")
        self.fails("qnn-profile-viewer", "--input_log", log, "--context_binary", log, says="qnn-profiling-data.log")

    def test_refused(self):
        self.fails("qnn-context-binary-utility", "--context_binary", self.write("x.bin", "{}"), "--memory_map", "text", says="x.bin")
        self.fails("qnn-context-binary-utility", "--context_binary", "x.bin", "--memory_map", "picture", says=["picture", "text", "html"])


if __name__ == "__main__":
    support.main()

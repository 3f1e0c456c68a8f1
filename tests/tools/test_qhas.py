# SPDX-License-Identifier: Apache-2.0
"""QHAS, the analysis summary: the JSON obeys its schema and adds up; the page has the same numbers, and in a real browser clicks sort, filters filter,
plots add up, and links lead where they say. Without Chromium only the last part is skipped, visibly."""

import html.parser
import json
import os
import unittest

import browser
import json_schema
import support

READER = os.path.join(support.BIN, "libQnnHtpOptraceProfilingReader.so")
OPTRACE = ("--profiling_level", "detailed", "--profiling_option", "optrace")
NASTY = 'a<b>&"c\'</script><!--'


class Page(html.parser.HTMLParser):
    """What a page would load, the files that it links to, and the JSON in it."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.where, self.data = [], [], None, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.loads += [attrs[k] for k in ("src", "xlink:href") if k in attrs] + [tag] * (tag in ("link", "img", "iframe", "object", "embed"))
        self.links += [attrs["href"]] if "href" in attrs else []
        self.where = attrs.get("id") if tag == "script" else self.where

    def handle_endtag(self, tag):
        self.where = None if tag == "script" else self.where

    def handle_data(self, data):
        self.data += data if self.where == "data" else ""


class Made(support.ToolTest):
    def make(self, name="pool1_out"):
        """Files of a run of the digits, whose tensor pool1_out may have another name."""
        with open(os.path.join(support.DIGITS, "model.c")) as file:
            text = file.read()
        self.assertIn('"pool1_out"', text)
        for old, new in (('"pool1_out"', name), ('"pool1"', name)):
            text = text.replace(old, json.dumps(new))
        source = self.write("model.c", text)
        for extra in os.listdir(support.DIGITS):
            if extra.endswith(".h"):
                with open(os.path.join(support.DIGITS, extra), "rb") as file:
                    self.write(extra, file.read())
        self.succeeds("qnn-model-lib-generator", "-c", source, "-b", os.path.join(support.DIGITS, "model.bin"), "-l", "digits", "-o", "libs")
        library = "libs/x86_64-linux-clang/libdigits.so"
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--model", library, "--binary_file", "digits", "--output_dir", "b", *OPTRACE)
        self.write("list.txt", os.path.join(support.DIGITS, "images", "digit_7.raw"))
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "out", *OPTRACE)
        self.view()

    def make_mobilenet(self):
        """A network with long names, as converters make them; skipped where the model is not there."""
        model = os.path.join(support.SOURCE, "..", "shared", "models", "vision", "mobilenet_v2_1.0_224_int8_ptq.tflite")
        if not os.path.isfile(model):
            self.skipTest("%s is missing" % model)
        self.succeeds("qairt-converter", "--input_network", model, "--output_path", "m.dlc")
        self.succeeds("qnn-context-binary-generator", "--backend", support.HTP, "--dlc_path", "m.dlc", "--binary_file", "digits", "--output_dir", "b", *OPTRACE)
        os.rename(self.path("main_schematic.bin"), self.path("digits_schematic.bin"))
        self.write("in.raw", bytes(i * 7919 % 251 for i in range(224 * 224 * 3)))
        self.write("list.txt", "in.raw")
        self.succeeds("qnn-net-run", "--backend", support.HTP, "--retrieve_context", "b/digits.bin", "--input_list", "list.txt", "--output_dir", "out",
                      "--use_native_input_files", *OPTRACE)
        self.view()

    def view(self, *more):
        self.write("config.json", json.dumps({"features": {"qhas_json": True, "qhas_schema": True}}))
        self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log", "--reader", READER, "--schematic", "digits_schematic.bin", "--config",
                      "config.json", "--output", "trace.json", *more)
        self.report = json.loads(self.read("trace_qnn_htp_analysis_summary.json"))
        self.page = Page(self.read("trace_qnn_htp_analysis_summary.html").decode())


class Qhas(Made):
    def test_schema(self):
        self.make()
        schema = json.loads(self.read("trace_qhas_schema.json"))
        self.assertEqual(json_schema.check(self.report, schema), [])
        wrong = json.loads(json.dumps(self.report))
        wrong[0]["qnn_op"][0]["cycles"] = "many"
        del wrong[0]["dominant_path"][0]["unit"]
        wrong[0]["htp_op"][0]["more"] = 1
        self.assertEqual(len(json_schema.check(wrong, schema)), 3)
        try:
            import jsonschema
        except ImportError:
            print("not checked by the package jsonschema, which is missing")
        else:
            jsonschema.validate(self.report, schema)

    def test_sums(self):
        """Every table is another view of the same spans."""
        self.make()
        report = self.report[0]
        total, ops, pieces, path = report["htp_overall_summary"], report["qnn_op"], report["htp_op"], report["dominant_path"]
        self.assertEqual(sum(o["cycles"] for o in ops), total["cycles"])
        self.assertEqual(sum(o["cycles"] for o in report["qnn_op_types"]), total["cycles"])
        self.assertAlmostEqual(sum(o["percent"] for o in ops), 100, 6)
        end = 0
        for stretch in path: # all of the time, without holes
            self.assertEqual(stretch["start_cycle"], end)
            self.assertGreater(stretch["cycles"], 0)
            self.assertEqual(stretch["op_id"] < 0, stretch["unit"] == "SyncOp")
            end += stretch["cycles"]
        self.assertEqual(end, total["cycles"])
        for unit in total["units"]:
            lanes = {True: unit["lanes"], False: 1}
            self.assertEqual(unit["dominant_cycles"], sum(p["cycles"] for p in path if p["unit"] == unit["unit"]))
            self.assertEqual(unit["busy_cycles"], sum(p["cycles"] * lanes[p["all_threads"]] for p in pieces if p["unit"] == unit["unit"]))
        for kind in report["htp_op_types"]:
            mine = [p for p in pieces if (p["type"], p["unit"]) == (kind["type"], kind["unit"])]
            self.assertEqual((kind["count"], kind["cycles"]), (len(mine), sum(p["cycles"] for p in mine)))
        for op in ops:
            self.assertEqual(op["dominant_cycles"], sum(p["cycles"] for p in path if p["op_id"] == op["id"]))
            self.assertEqual(op["hmx_cycles"], sum(p["cycles"] for p in pieces if p["op_id"] == op["id"] and p["unit"] == "HMX"))
            self.assertEqual(op["dma_cycles"], sum(p["cycles"] for p in pieces if p["op_id"] == op["id"] and p["unit"].startswith("DMA")))
            self.assertLessEqual(op["macs"], op["padded_macs"])
            most = max(op["hmx_cycles"], op["hvx_cycles"], op["dma_cycles"])
            if op["bound"] in ("HMX", "HVX", "DMA"):
                self.assertEqual(op[op["bound"].lower() + "_cycles"], most)
            else:
                self.assertTrue(op["cycles"] == 0 if op["bound"] == "hidden" else op["cycles"] > 2 * most, op)
        self.assertEqual(len({o["short_name"] for o in ops}), len({o["op"] for o in ops}))
        for op in ops:
            self.assertIn(op["short_name"], op["op"])

    def test_page(self):
        """One file that loads nothing, with the rows of the JSON; names cannot leave the text."""
        self.make(NASTY)
        self.assertEqual(self.page.loads, [])
        self.assertEqual(self.page.links, ["trace_memory_map.html", "trace.json"])
        for link in self.page.links:
            self.assertTrue(os.path.isfile(self.path(link)), link)
        data = json.loads(self.page.data)
        graph, report = data["graphs"][0], self.report[0]
        self.assertIn(NASTY, [full for _, full in graph["ops"]])
        self.assertEqual([p["title"] for p in graph["parts"]], ["HTP Overall Summary", "Advice", "QNN Op Types", "QNN Op", "Roofline", "HTP Op Types",
                                                                 "HTP Op", "Other Devices", "Dominant Path"])
        for part, rows in zip((p for p in graph["parts"] if "table" in p), (report["htp_overall_summary"]["units"], report["advice"], report["qnn_op_types"], report["qnn_op"],
                                               report["htp_op_types"], report["htp_op"], report["devices"], report["dominant_path"])):
            keys = [c["key"] for c in part["table"]["columns"]]
            self.assertEqual(len(part["table"]["rows"]), len(rows))
            for shown, row in zip(part["table"]["rows"], rows):
                for key, value in zip(keys, shown):
                    if key == "ref":
                        self.assertEqual(graph["ops"][value][1] if value >= 0 else "", row["op"])
                    elif isinstance(value, float):
                        self.assertAlmostEqual(value, row[key], delta=1e-6 * abs(value))
                    else:
                        self.assertEqual(value, row[key])

    def test_zoom(self):
        self.make()
        names = [o["op"] for o in self.report[0]["qnn_op"]]
        self.view("--zoom_start", names[1], "--zoom_end", names[2])
        report = self.report[0]
        self.assertEqual([o["op"] for o in report["qnn_op"]], names[1:3])
        self.assertEqual(report["htp_overall_summary"]["cycles"], sum(o["cycles"] for o in report["qnn_op"]))
        self.assertLessEqual({p["op"] for p in report["dominant_path"] + report["htp_op"]}, set(names[1:3]))
        self.assertEqual(json_schema.check(self.report, json.loads(self.read("trace_qhas_schema.json"))), [])


CELLS = "return [...document.querySelectorAll('[data-table=%s] td[data-key=%s]')].map(e => %s)"


@unittest.skipIf(browser.MISSING, browser.MISSING)
class InBrowser(Made):
    def open(self, dark=False):
        self.browser = browser.Browser(self.folder, dark=dark)
        self.addCleanup(self.browser.close)
        self.browser.open(self.path("trace_qnn_htp_analysis_summary.html"))
        self.assertEqual(self.browser.errors(), [])

    def cells(self, table, key, what="+e.dataset.v"):
        return self.browser.run(CELLS % (table, key, what))

    def click(self, selector):
        self.assertTrue(self.browser.run("const e = document.querySelector(arguments[0]); if (e) e.click(); return !!e", selector), selector)

    def type(self, table, key, text):
        self.browser.run("const e = document.querySelector(`[data-table=${arguments[0]}] .filters input[data-key=${arguments[1]}]`);"
                         "e.value = arguments[2]; e.dispatchEvent(new Event('input'))", table, key, text)

    def expand(self, part):
        self.browser.run("document.getElementById(arguments[0]).open = true", part)
        self.browser.wait("return !!document.querySelector('#' + arguments[0] + ' tbody tr[data-row]')", part)

    def test_sort_and_filter(self):
        self.make(NASTY)
        self.open()
        ops = self.report[0]["qnn_op"]
        cycles = [o["cycles"] for o in ops]
        self.assertEqual(self.cells("ops", "cycles"), sorted(cycles, reverse=True)) # as it comes
        self.click("[data-table=ops] .sort[data-key=cycles]")
        self.assertEqual(self.cells("ops", "cycles"), sorted(cycles))
        self.click("[data-table=ops] .sort[data-key=cycles]")
        self.assertEqual(self.cells("ops", "cycles"), cycles)
        self.click("[data-table=ops] .sort[data-key=type]")
        self.assertEqual(self.cells("ops", "type", "e.textContent"), sorted((o["type"] for o in ops), key=str.lower))
        self.click("[data-table=ops] .sort[data-key=dram_read_bytes]")
        self.assertEqual(self.cells("ops", "dram_read_bytes"), sorted((o["dram_read_bytes"] for o in ops), reverse=True))
        self.type("ops", "type", "cONV")
        self.assertEqual(set(self.cells("ops", "type", "e.textContent")), {o["type"] for o in ops if "conv" in o["type"].lower()})
        limit = sorted(o["cycles"] for o in ops if "conv" in o["type"].lower())[0]
        self.type("ops", "cycles", ">%d" % limit) # both filters at once
        wanted = sorted(o["cycles"] for o in ops if "conv" in o["type"].lower() and o["cycles"] > limit)
        self.assertEqual(sorted(self.cells("ops", "cycles")), wanted)
        self.assertLess(len(wanted), len(ops))
        self.assertEqual(self.browser.run("return +document.querySelector('[data-table=ops] tfoot td[data-sum=cycles]').dataset.v"), sum(wanted))
        self.type("ops", "type", "")
        self.type("ops", "cycles", "")
        self.type("ops", "ref", NASTY)
        self.assertEqual(self.cells("ops", "ref", "e.title || e.textContent"), [NASTY])
        self.assertEqual(self.browser.errors(), [])

    def test_plot_and_choice(self):
        self.make()
        self.open()
        self.expand("types")
        types = self.report[0]["qnn_op_types"]
        parts = "return [...document.querySelectorAll('[data-table=types] .chart .item')].map(e => +e.dataset.v)"
        self.click("[data-table=types] .plot[data-key=cycles]")
        some = [t["cycles"] for t in types if t["cycles"]]
        self.assertEqual(self.browser.run(parts), sorted(some, reverse=True))
        self.assertEqual(self.browser.run("return document.querySelectorAll('[data-table=types] .slice').length"), len(some))
        self.click("[data-table=types] tbody tr[data-row]")
        chosen = self.browser.run("return +document.querySelector('[data-table=types] tr.on td[data-key=cycles]').dataset.v")
        self.assertEqual(self.browser.run(parts), [chosen])
        self.click("[data-table=types] .as") # bars
        self.assertEqual(self.browser.run("return document.querySelectorAll('[data-table=types] .track').length"), 1)
        self.assertEqual(self.browser.errors(), [])

    def test_roofline(self):
        """A point per operator that computes and moves anything; what an operator does per cycle is at most the peak of the matrix unit."""
        self.make()
        self.open()
        self.browser.run("document.getElementById('roofline').open = true")
        self.browser.wait("return !!document.querySelector('#roofline svg')")
        ops = [o for o in self.report[0]["qnn_op"] if o["macs_per_byte"] > 0 and o["macs_per_cycle"] > 0]
        self.assertTrue(ops)
        self.assertEqual(self.browser.run("return document.querySelectorAll('#roofline circle').length"), len(ops))
        peak = self.report[0]["htp_overall_summary"]["peak_macs_per_cycle"]
        for op in ops:
            self.assertLessEqual(op["macs_per_cycle"], peak)
        self.assertEqual(self.browser.errors(), [])

    def test_long_tables(self):
        """Only what can be seen is in the page, and scrolling shows the rest."""
        self.make()
        self.open()
        self.expand("htp_ops")
        pieces = self.report[0]["htp_op"]
        seen = set()
        for top in range(0, 26 * len(pieces) + 1, 400):
            self.browser.run("document.querySelector('[data-table=htp_ops] .scroll').scrollTop = arguments[0]", top)
            self.browser.wait("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
            seen.update(self.cells("htp_ops", "id"))
        self.assertEqual(seen, {p["id"] for p in pieces})

    def test_links(self):
        """From an operator to its pieces and to its step in the memory map."""
        self.make()
        self.open()
        self.expand("ops")
        self.type("ops", "type", "conv")
        self.click("[data-table=ops] tbody tr[data-row]")
        name = self.browser.run("return document.querySelector('[data-table=ops] .facts b').textContent")
        op = next(o for o in self.report[0]["qnn_op"] if o["op"] == name)
        href = self.browser.run("return document.querySelector('[data-table=ops] .facts a').href")
        self.browser.run("[...document.querySelectorAll('[data-table=ops] .facts button')].find(b => b.textContent === 'HTP Op').click()")
        self.browser.wait("return !!document.querySelector('[data-table=htp_ops] tbody tr[data-row]')")
        names = set(self.cells("htp_ops", "ref", "e.title || e.textContent"))
        self.assertEqual(names, {name})
        self.browser.open(href)
        self.assertRegex(self.browser.run("return document.querySelector('h2.at').textContent"), "^Step %d:" % op["step"])
        self.assertEqual(self.browser.errors(), [])

    def look(self, dark):
        """Fits a laptop and obeys the wish for dark pages; the picture is for people."""
        back = "return getComputedStyle(document.body).backgroundColor"
        is_light = lambda: sum(int(n) for n in self.browser.run(back).strip("rgb()").split(",")) > 384
        self.open(dark)
        self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 1366)
        self.assertEqual(is_light(), not dark)
        self.browser.picture(os.path.join(os.environ.get("OPENQNN_PICTURES", self.folder), "qhas_%s.png" % ("dark" if dark else "light")))
        self.click("#theme")
        self.assertEqual(is_light(), dark)
        self.assertEqual(self.browser.errors(), [])

    def test_dark(self):
        self.make()
        self.look(True)
        self.look(False)

    def test_long_names(self):
        """Of MobileNet v2 from TFLite, whose names have up to 600 letters: labels are short and all different, and no column is out of sight."""
        self.make_mobilenet()
        self.look(True)
        self.look(False)
        labels = self.browser.run("return [...document.querySelectorAll('[data-table=ops] td[data-key=ref]')].map(e => e.textContent)")
        self.assertGreater(len(labels), 20)
        self.assertEqual(len(set(labels)), len(labels))
        self.assertLess(max(len(label) for label in labels), 32)
        right = self.browser.run("const s = document.querySelector('[data-table=ops] .scroll'); return s.scrollWidth - s.clientWidth")
        self.assertLessEqual(right, 1)


if __name__ == "__main__":
    support.main()

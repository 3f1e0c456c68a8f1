# SPDX-License-Identifier: Apache-2.0
"""qnn-context-binary-generator --check_device on an ONNX model and on the digits: text, JSON, exit status; and the same for any program by variables.
The rules have their tests in tests/passes/test_device_check.c."""

import json
import os
import sys

import support

sys.path.insert(0, os.path.join(support.SOURCE, "examples", "convert"))
import make_onnx  # noqa: E402  (its folder is known only now)

EXTENSION = os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so")


class DeviceCheck(support.ToolTest):
    def convert(self):
        """Two float operators: a softmax over an inner axis, then a Relu."""
        nodes = [make_onnx.node("Softmax", "attend", ["x"], "a", axis=1), make_onnx.node("Relu", "act", ["a"], "y")]
        self.write("m.onnx", make_onnx.model(nodes, [], [("x", (1, 4, 8))], [("y", (1, 4, 8))]))
        self.succeeds("qairt-converter", "--input_network", "m.onnx", "--output_path", "m.dlc")
        return ("--dlc_path", "m.dlc")

    def generate(self, *args, backend=support.HTP, **how):
        return self.run_tool("qnn-context-binary-generator", "--backend", backend, "--output_dir", "out", *args, **how)

    def check(self, *args):
        done = self.generate("--check_file", "c.json", "--binary_file", "m", *args)
        return done, json.loads(self.read("c.json"))["checks"]

    def test_float(self):
        done, checks = self.check(*self.convert(), "--check_device", "SM8350,57")
        self.assertEqual([(c["soc"], c["soc_model"], c["arch"], c["vtcm_mb"]) for c in checks], [("SM8350", 30, 68, 4), ("SM8650", 57, 75, 8)])
        self.assertEqual(done.returncode, 1)
        self.assertIn("on SM8350", done.stderr)
        self.assertNotIn("on SM8650", done.stderr)
        self.assertFalse(os.path.exists(self.path("out", "m.bin")))
        old, new = ({(f["rule"], f["verdict"], f["type"]) for f in c["findings"]} for c in checks)
        self.assertLessEqual({("float", "refused", "Softmax"), ("float", "refused", "Relu"), ("softmax-axis", "unsure", "Softmax")}, old)
        self.assertEqual(new, {("softmax-axis", "unsure", "Softmax")})
        for c in checks:
            self.assertEqual(c["refused"], len({f["node"] for f in c["findings"] if f["verdict"] == "refused"}))
            title = 'graph "%s" on %s (v%d, VTCM %d MB): %d nodes refused, %d unsure, %d fine' % (
                c["graph"], c["soc"], c["arch"], c["vtcm_mb"], c["refused"], c["unsure"], c["fine"])
            self.assertIn(title, done.stdout)
            for f in c["findings"]:
                for key in ("rule", "node", "detail", "remedy", "source"):
                    self.assertIn(f[key], done.stdout)

    def test_fine(self):
        """Nothing is refused: the context is saved, and the exit status is 0."""
        done, checks = self.check("--model", self.build_digits(), "--check_device", "SM8350")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(checks[0]["refused"], 0)
        self.assertGreater(checks[0]["fine"], 0)
        self.assertTrue(os.path.exists(self.path("out", "m.bin")))

    def test_options(self):
        """What the client asks of the device is checked for the SoCs that were named, not for the one that it is prepared for."""
        self.write("htp.json", '{"graphs": [{"graph_names": ["digits"], "vtcm_mb": 8}], "context": {"weight_sharing_enabled": true}}')
        self.write("config.json", json.dumps({"backend_extensions": {"shared_library_path": EXTENSION, "config_file_path": self.path("htp.json")}}))
        done, checks = self.check("--model", self.build_digits(), "--config_file", "config.json", "--check_device", "SM7325,SM8550")
        self.assertEqual(done.returncode, 1)
        old, new = ({f["rule"]: f for f in c["findings"] if f["node"] is None} for c in checks)
        self.assertEqual(set(old), {"vtcm", "weight-sharing"})
        self.assertIn("8 MB are asked for; the SoC has 2", old["vtcm"]["detail"])
        self.assertEqual(new, {})

    def test_refused(self):
        model = ("--model", self.build_digits())
        generator = ("qnn-context-binary-generator", "--backend")
        self.fails(*generator, support.HTP, *model, "--check_device", "SM9999", says=["SM9999", "no known SoC"])
        self.fails(*generator, support.HTP, *model, "--check_file", "c.json", says="--check_device")
        self.fails(*generator, support.CPU, *model, "--check_device", "SM8350", says="use libQnnHtp.so")

    def test_any_program(self):
        """The variables: one warning per rule, a refusal of the operator, lines of JSON; without them nothing."""
        model = self.convert()
        said = {}
        for mode in (None, "warn", "error", "report"):
            env = {"OPENQNN_DEVICE_CHECK_SOCS": "SM8350", "OPENQNN_DEVICE_CHECK_FILE": self.path("%s.jsonl" % mode)}
            said[mode] = self.generate(*model, "--binary_file", str(mode), more_env=dict(env, **({"OPENQNN_DEVICE_CHECK": mode} if mode else {})))
        self.assertEqual([said[m].returncode for m in (None, "warn", "error", "report")], [0, 0, 1, 0])
        for mode in ("warn", "report"):
            self.assertEqual(json.loads(self.read("%s.jsonl" % mode))["refused"], 2)
        self.assertFalse(os.path.exists(self.path("None.jsonl")))
        warned = said["warn"].stdout + said["warn"].stderr
        self.assertEqual((warned.count("by rule float"), warned.count("by rule softmax-axis")), (1, 1))
        self.assertIn("Composing Graphs", said["error"].stderr)
        self.assertIn("refused by rule float", said["error"].stderr)
        for mode in (None, "report"):
            self.assertNotIn("by rule", said[mode].stdout + said[mode].stderr)

    def test_refused_graph(self):
        """What no operator is to blame for is refused when the graph is finalized."""
        env = {"OPENQNN_DEVICE_CHECK": "error", "OPENQNN_DEVICE_CHECK_SOCS": "SM8650,SDM865", "OPENQNN_DEVICE_CHECK_FILE": self.path("e.jsonl")}
        done = self.generate("--model", self.build_digits(), more_env=env)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Finalizing Graphs", done.stderr)
        self.assertIn("refused by rule no-htp", done.stderr)
        self.assertEqual([json.loads(line)["soc"] for line in self.read("e.jsonl").splitlines()], ["SM8650", "SDM865"])
        self.assertEqual(self.generate("--model", self.path("libs", "x86_64-linux-clang", "libdigits.so"),
                                       more_env=dict(env, OPENQNN_DEVICE_CHECK_SOCS="SM8650")).returncode, 0)

    def test_own_device(self):
        """Without a list it is the device of the program."""
        for soc, refused in (("SM8350", 2), ("SM8650", 0)):
            self.generate(*self.convert(), more_env={"OPENQNN_SOC": soc, "OPENQNN_DEVICE_CHECK": "report", "OPENQNN_DEVICE_CHECK_FILE": self.path(soc)})
            check = json.loads(self.read(soc))
            self.assertEqual((check["soc"], check["refused"]), (soc, refused))


if __name__ == "__main__":
    support.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-net-run and qnn-context-binary-generator on libQnnLpai.so: model libraries and binaries, every configuration key, direct mode and its TCM."""

import os
import re

import lpai_model
import support

ALL_KEYS = """{
  // every key there is
  "lpai_backend": { "target_env": "x86", "enable_hw_ver": "v5_1" },
  "lpai_graph": {
    "prepare": { "enable_batchnorm_fold": true, "exclude_io": true, "enable_per_layer": true, "enable_core_selection": "core0" },
    "execute": { "fps": 50, "ftrt_ratio": 20, "client_type": "non_real_time", "affinity": "hard", "core_selection": 1, "mem_type": "ddr" }
  },
  "lpai_profile": { "level": "detailed" }, /* more than the default */
  "lpai_debug": { "anything": [1, 2] }
}
"""
TCM = {"lpai_graph": {"execute": {"mem_type": "tcm"}}}


class Lpai(lpai_model.LpaiTest):
    def test_model_library(self):
        """Without any configuration file: the extension library next to the tools gives the memory."""
        model, want = self.model(), self.inputs()
        said = self.succeeds(*self.run_args("--model", model))
        self.assertEqual(self.result(), want)
        self.assertIn("Finished Executing Graphs", said)

    def test_binary(self):
        binary, want = self.generate(self.model(3)), self.inputs(3)
        self.succeeds(*self.run_args("--retrieve_context", binary))
        self.assertEqual(self.result(), want)
        self.succeeds(*self.run_args("--retrieve_context", binary, "--num_inferences", 5, "--keep_num_outputs", 5))
        for i in range(5):
            self.assertEqual(self.result(number=i), want)
        self.succeeds(*self.run_args("--retrieve_context", binary, "--asynchronous", "--num_inferences", 20))
        self.assertEqual(self.result(), want)
        self.succeeds(*self.run_args("--retrieve_context", binary, "--validate_binary"))

    def test_batch_multiple(self):
        want = self.inputs()
        binary = self.generate(self.model())
        self.write("x0.raw", self.read("x0.raw") * 3)
        self.succeeds(*self.run_args("--retrieve_context", binary, "--batch_multiplier", 3))
        self.assertEqual(self.result(), want * 3)

    def test_every_key(self):
        model, want = self.model(2), self.inputs(2)
        config = self.config(ALL_KEYS)
        binary = self.generate(model, "--config_file", config)
        said = self.run_tool(*self.run_args("--retrieve_context", binary, "--config_file", config, "--log_level", "info"))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(self.result(), want)
        self.assertIn("lpai_debug has no effect", said.stderr)
        self.assertTrue(os.path.exists(self.path("out", "qnn-profiling-data.log")))  # lpai_profile/level turns profiling on
        events = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log")
        self.assertIn("sum1", events)
        self.assertIn("Time budget per inference (50 fps, 2.0 x real time, not real time)", events)
        self.assertIn("Time budget used on this host (percent, measured)", events)

    def test_streaming(self):
        """A graph that remembers: frames before the window is full have no result, and are no failure."""
        binary = self.generate(self.model(window=3))
        for i in range(5):
            self.write("f%d.raw" % i, bytes([20 + i]) * 100)
        self.write("list.txt", "".join("f%d.raw\n" % i for i in range(5)))
        said = self.succeeds(*self.run_args("--retrieve_context", binary, "--log_level", "info"))
        self.assertEqual(said.count("ended early"), 2)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["Result_2", "Result_3", "Result_4"])
        for i in (2, 3, 4):
            self.assertEqual(self.result(number=i), b"".join(bytes([20 + k]) * 100 for k in (i - 2, i - 1, i)))

    def scratch_of(self, config):
        binary = self.generate(self.model(2), "--config_file", config)
        said = self.succeeds(*self.run_args("--retrieve_context", binary, "--log_level", "info"))
        return int(re.search(r"(\d+) bytes of scratch, 0 bytes of persistent", said).group(1))

    def test_exclude_io(self):
        want = self.inputs(2)
        inside = self.scratch_of(self.config({"lpai_graph": {"prepare": {"exclude_io": False}}}))
        self.assertEqual(self.result(), want)
        outside = self.scratch_of(self.config({"lpai_graph": {"prepare": {"exclude_io": True}}}))
        self.assertEqual(self.result(), want)
        self.assertLess(outside, inside)

    def test_hardware_versions(self):
        self.inputs()
        model = self.model()
        for version in ("v4", "v5", "v5_1", "v6", "v7"):
            config = self.config({"lpai_backend": {"target_env": "x86", "enable_hw_ver": version}})
            binary = self.generate(model, "--config_file", config)
            self.succeeds(*self.run_args("--retrieve_context", binary, "--config_file", config))
            here = self.result()
            arm = self.config({"lpai_backend": {"target_env": "arm", "enable_hw_ver": version}}, name="arm")
            self.succeeds(*self.run_args("--retrieve_context", binary, "--config_file", arm))
            self.assertEqual(self.result(), here)  # the same binary, in a session
        other = self.config({"lpai_backend": {"enable_hw_ver": "v5", "target_env": "arm"}}, name="other")
        self.fails(*self.run_args("--retrieve_context", binary, "--config_file", other), says=["BINARY_CONFIGURATION", "v7", "v5"])

    def test_bad_configuration(self):
        model = self.model()
        self.inputs()
        cases = [
            ('{"lpai_graf": {}}', ["Invalid key: lpai_graf (line 1, column 2)", "lpai_graph"]),
            ('{"lpai_graph":\n {"execute": {"fsp": 3}}}', ["lpai_graph/execute/fsp (line 2, column 15)", "nearest known key: fps"]),
            ('{"lpai_backend": {"target_env": "amr"}}', ["\"amr\" is not known", "x86, arm, adsp", "did you mean \"arm\""]),
            ('{"lpai_backend": {"enable_hw_ver": "v9"}}', ["v4, v5, v5_1, v6, v7"]),
            ('{"lpai_graph": {"execute": {"fps": 0}}}', ["fps", "out of range"]),
            ('{"lpai_graph": {"execute": {"ftrt_ratio": "fast"}}}', ["ftrt_ratio", "whole number"]),
            ('{"lpai_graph": {"execute": {"core_selection": 3}}}', ["0x3", "one bit"]),
            ('{"lpai_graph": {"execute": {"core_selection": 8, "affinity": "hard"}}}', ["insists on core 0x8"]),
            ('{"lpai_graph": {"prepare": {"exclude_io": 1}}}', ["exclude_io", "true or false"]),
            ('{"lpai_profile": {"level": "linting"}}', ["basic, detailed"]),
            ('{"lpai_graph": {', ["lpai.conf", "near line 1"]),
            (TCM, ["direct mode", "--direct_mode adsp"]),
        ]
        for text, says in cases:
            with self.subTest(text=text):
                self.fails(*self.run_args("--model", model, "--config_file", self.config(text)), says=says)

    def test_wrong_library(self):
        model = self.model()
        self.inputs()
        self.fails(*self.run_args("--model", model, "--config_file", self.config({}, extension=lpai_model.LPAI)),
                   says=["is no extension library", "openqnn_extension"])
        self.fails(*self.run_args("--model", model, "--config_file", self.config({}, extension="none.so")), says="shared_library_path")
        self.fails("qnn-net-run", "--backend", support.CPU, "--model", model, "--input_list", "list.txt", "--config_file", self.config({}),
                   says=["for the backend with id 12 (LPAI)", "id 3"])


NETWORKS = ["mlperf-tiny/ad_autoencoder_int8", "mlperf-tiny/ic_resnet8_int8", "mlperf-tiny/kws_dscnn_int8", "mlperf-tiny/vww_mobilenetv1_int8",
            "tflm/hello_world_int8", "tflm/micro_speech_int8", "tflm/mnist_lstm_int8", "tflm/person_detect_int8", "vision/mobilenet_v1_0.25_128_u8",
            "vision/mobilenet_v2_1.0_224_int8_ptq", "wakeword/alexa_v2_stream_int8"]
MODELS = os.path.join(support.SOURCE, "..", "shared", "models")


class Networks(lpai_model.LpaiTest):
    """Trained networks from file to result: converted, compiled, saved, run; the bytes are those of libQnnCpu.so."""

    def results(self, folder):
        self.assertTrue(os.listdir(self.path(folder)))
        return {name: self.read(folder, "Result_0", name) for name in sorted(os.listdir(self.path(folder, "Result_0")))}

    def run_on(self, backend, folder, *source):
        self.succeeds("qnn-net-run", "--backend", backend, "--input_list", "list.txt", "--output_dir", folder, "--use_native_input_files",
                      "--use_native_output_files", *source)
        return self.results(folder)

    def test_networks(self):
        if not os.path.isdir(MODELS):
            print("SKIP: there are no models in %s" % MODELS)
            return
        for network in NETWORKS:
            with self.subTest(network=network):
                self.succeeds("qairt-converter", "--input_network", os.path.join(MODELS, network + ".tflite"), "--output_path", "net.dlc")
                said = self.run_tool("qnn-net-run", "--backend", support.CPU, "--dlc_path", "net.dlc", "--input_list", "none", "--log_level", "info").stdout
                files = []
                for name, kind, dims in re.findall(r'input +"([^"]+)" (\w+)\[([\d,]+)\]', said):
                    size = {"uq8": 1, "sq8": 1, "uq16": 2, "sq16": 2}.get(kind, 4)
                    for d in dims.split(","):
                        size *= int(d)
                    files.append(name + ":=" + os.path.basename(self.write("in%d.raw" % len(files), bytes((k * 31 + 7) % 251 for k in range(size)))))
                self.assertTrue(files, said)
                self.write("list.txt", " ".join(files) + "\n")
                want = self.run_on(support.CPU, "cpu", "--dlc_path", "net.dlc")
                self.assertEqual(self.run_on(lpai_model.LPAI, "lpai", "--dlc_path", "net.dlc"), want)
                self.succeeds("qnn-context-binary-generator", "--backend", lpai_model.LPAI, "--dlc_path", "net.dlc", "--binary_file", "net", "--output_dir", "bin",
                              "--config_file", self.config({"lpai_graph": {"prepare": {"exclude_io": True}}}))
                self.assertEqual(self.run_on(lpai_model.LPAI, "saved", "--retrieve_context", "bin/net.bin"), want)


class Direct(lpai_model.LpaiTest):
    """ADSP direct mode: the model and all inputs and outputs in one kind of memory."""

    def direct(self, params, *more, persistent=True):
        return self.run_tool(*self.run_args("--direct_mode", "adsp", "--config_file", self.config(params, persistent=persistent), "--retrieve_context",
                                            "bin/net.bin", "--log_level", "debug", *more))

    def test_ddr_and_tcm(self):
        want = self.inputs(2)
        size = os.path.getsize(self.path(self.generate(self.model(2))))
        for params in ({}, {"lpai_graph": {"execute": {"mem_type": "ddr"}}}):
            done = self.direct(params)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.result(), want)
            self.assertIn("NonRPC net-run SUCCESS", done.stdout)
            self.assertNotIn("tcm", " ".join(w for w in done.stdout.lower().split() if "/" not in w))  # paths may have any name
        self.write("out/Result_0/y.raw", b"")
        done = self.direct(TCM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.result(), want)
        lines = [line.split("] ", 1)[1] for line in done.stdout.splitlines() if "tcm" in line.lower() and "[ INFO ] " in line and "/" not in line]
        self.assertEqual(lines, ["TCM pool current size: 0 max_size: 2035712", "Allocate size %d from tcm pool 0" % ((size + 63) // 64 * 64)] +
                         ["Allocate size 128 from tcm pool 0"] * 3)

    def test_invalid_type(self):
        """The parser says so and goes on; the allocator gives nothing; the program ends."""
        self.inputs()
        self.generate(self.model())
        done = self.direct({"lpai_graph": {"execute": {"mem_type": "sram"}}})
        self.assertEqual(done.returncode, 1)
        errors = [line for line in done.stderr.splitlines() if "[ ERROR ] " in line]
        self.assertTrue(errors[0].endswith("] Invalid memory type"), errors)
        self.assertTrue(errors[1].endswith("] Memory type only supports DDR & TCM"), errors)
        self.assertIn("\"ddr\" or \"tcm\"", errors[2])
        self.assertIn("dspApp->run FAILED", done.stdout)

    def test_pool_too_small(self):
        elements = 1200000
        self.inputs(1, elements)
        self.generate(self.model(1, elements))
        done = self.direct(TCM)
        self.assertEqual(done.returncode, 1)
        self.assertIn("] TCM memory allocation failure: required size: %d" % elements, done.stderr)
        self.assertIn("no fallback", done.stderr)
        self.assertFalse(os.path.exists(self.path("out", "Result_0")))
        self.assertEqual(self.direct({}).returncode, 0)

    def test_model_too_large(self):
        self.inputs()
        self.generate(self.model())
        with open(self.path("bin/net.bin"), "ab") as file:
            file.truncate(2035713)
        done = self.direct(TCM)
        self.assertEqual(done.returncode, 1)
        self.assertIn("TCM memory allocation failure: required size: 2035713", done.stderr)

    def test_too_many_buffers(self):
        """The model and 31 tensors are 32 buffers; one more is refused."""
        self.inputs(30)
        self.generate(self.model(30))
        done = self.direct(TCM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("from tcm pool 0"), 32)
        self.inputs(31)
        self.generate(self.model(31))
        done = self.direct(TCM)
        self.assertEqual(done.returncode, 1)
        self.assertIn("all of its 32 buffers in use", done.stderr)

    def test_rules(self):
        self.inputs()
        model = self.model()
        self.generate(model)
        done = self.direct(TCM, persistent=False)
        self.assertIn("PERSISTENT_BINARY", done.stderr)
        done = self.direct({"lpai_backend": {"target_env": "x86"}})
        self.assertIn("target_env is not \"adsp\"", done.stderr)
        self.fails(*self.run_args("--direct_mode", "adsp", "--model", model), says="--retrieve_context")
        self.fails(*self.run_args("--direct_mode", "cdsp", "--retrieve_context", "bin/net.bin"), says="the only mode is adsp")
        self.fails("qnn-net-run", "--backend", support.CPU, "--retrieve_context", "bin/net.bin", "--direct_mode", "adsp", "--input_list", "list.txt",
                   says="for the LPAI backend")


if __name__ == "__main__":
    support.main()

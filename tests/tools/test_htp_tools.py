#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-net-run and qnn-context-binary-generator on libQnnHtp.so with libQnnHtpNetRunExtensions.so: every configuration key, and what becomes of it."""

import json
import os

import support

EXTENSION = os.path.join(os.environ.get("OPENQNN_BIN_DIR", "."), "libQnnHtpNetRunExtensions.so")
ALL_KEYS = """{
  // every key there is
  "graphs": [
    { "graph_names": ["another"], "vtcm_mb": 1, "O": 1 },
    { "graph_names": ["digits"], "vtcm_mb": 2, "hvx_threads": 3, "O": 3, "dlbc": 1, "weights_packing": true, "num_cores": 1,
      "short_depth_conv_on_hmx_off": true, "fold_relu_activation_into_conv_off": true, "slc_alloc_enable": 0, "fp16_relaxed_precision": 0,
      "use_high_precision_fp16_sigmoid": false, "monolithic_lstm": false, "advanced_activation_fusion": true }
  ],
  "devices": [ { "device_id": 0, "core_id": [0], "core_type": 0, "soc_model": 69, "dsp_arch": "v73", "pd_session": "unsigned", "profiling_level": "linting",
      "use_client_context": true,
      "cores": [ { "perf_profile": "burst", "rpc_control_latency": 90, "rpc_polling_time": 4321, "hmx_timeout_us": 300000, "adaptive_polling_time": 1000 } ] } ],
  "context": { "weight_sharing_enabled": false, "max_spill_fill_buffer_for_group": 0, "group_id": 0, "file_read_memory_budget_in_mb": 100,
      "io_memory_estimation": true, "init_acceleration": true, "lora_weight_sharing": false, "extended_udma": false, "reused_io_limit_mb": 10 },
  "groupContext": { "share_resources": false },
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

    def test_defaults(self):
        info = self.generate()
        got = [self.find(info, key) for key in ("socModel", "dspArch", "vtcmSize", "optimizationLevel", "numHvxThreads")]
        self.assertEqual(got, [43, 73, 4, 2, 4])

    def test_perf_profile(self):
        config = self.config("{}")
        for name in ("burst", "balanced", "extreme_power_saver", "system_settings"):
            self.succeeds("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--output_dir", name,
                          "--config_file", config, "--perf_profile", name)

    def test_refused(self):
        run = ("qnn-net-run", "--backend", support.HTP, "--model", self.library, "--input_list", "list.txt", "--config_file")
        for text, says in (('{"graphs": [{"vtcm": 8}]}', "vtcm_mb"), ('{"graphs": [{"O": 4}]}', "graphs/0/O"),
                           ('{"devices": [{"dsp_arch": "v12"}]}', "v12"), ('{"devices": [{"pd_session": "maybe"}]}', "maybe"),
                           ('{"devices": [{"cores": [{"perf_profile": "fast"}]}]}', "burst"), ('{"devices": [{"soc_model": 4711}]}', "4711")):
            self.fails(*run, self.config(text), says=says)


if __name__ == "__main__":
    support.main()

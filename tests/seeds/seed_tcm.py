#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files and the command that the public page on TCM memory shows, as they are but for the folders."""

import os
import sys

sys.path.insert(0, os.path.join(os.environ["OPENQNN_SOURCE_DIR"], "tests", "tools"))
import lpai_model  # noqa: E402
import support  # noqa: E402

CONF = """{
      "lpai_graph": {
        "execute": {
          "mem_type": "tcm"
        }
      }
    }
"""
JSON = """{
      "backend_extensions": {
        "shared_library_path": "%s/libQnnLpaiNetRunExtensions.so",
        "config_file_path": "%s/eaiParams_direct.conf"
      },
      "context_configs": {
        "is_persistent_binary": true
      }
    }
"""


class Tcm(lpai_model.LpaiTest):
    def setUp(self):
        super().setUp()
        self.want = self.inputs()
        self.generate(self.model())
        os.makedirs(self.path("model"))
        os.rename(self.path("bin/net.bin"), self.path("model/tmp.bin"))
        os.rename(self.path("list.txt"), self.path("model/input_list.txt"))
        self.write("model/eaiParams_direct.json", JSON % (support.BIN, self.folder))

    def command(self, *more):
        return self.run_tool("qnn-net-run", "--input_list", "model/input_list.txt", "--backend", lpai_model.LPAI, "--direct_mode", "adsp", "--config_file",
                             "model/eaiParams_direct.json", "--retrieve_context", "model/tmp.bin", "--use_native_input_files",
                             "--use_native_output_files", *more)

    def test_tcm(self):
        self.write("eaiParams_direct.conf", CONF)
        done = self.command("--log_level", "debug")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.result("output"), self.want)
        self.assertRegex(done.stdout, r"TCM pool current size: \d+ max_size: 2035712\n")
        self.assertRegex(done.stdout, r"Allocate size \d+ from tcm pool 0\n")
        quiet = self.command()
        self.assertEqual(quiet.returncode, 0)
        self.assertNotIn("tcm pool", quiet.stdout)

    def test_invalid_type(self):
        self.write("eaiParams_direct.conf", CONF.replace("tcm", "llc"))
        done = self.command()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"Invalid memory type\n(.*\n)*.*Memory type only supports DDR & TCM\n")


if __name__ == "__main__":
    support.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qnn-net-run with inputs and outputs in shared buffers: the same bytes as with the program's own memory, on every backend; and what it says when it cannot."""

import json
import os
import re
import shutil

import lpai_model
import support

EXTENSION = os.path.join(support.BIN, "libQnnHtpNetRunExtensions.so")
HTP = os.path.join(support.LIB, "libQnnHtp.so")
BACKENDS = {"cpu": support.CPU, "htp": HTP, "lpai": lpai_model.LPAI}


class SharedBuffer(lpai_model.LpaiTest):
    def args(self, backend, *more):
        return ("qnn-net-run", "--backend", backend, "--input_list", "list.txt", "--output_dir", "out", "--use_native_input_files",
                "--use_native_output_files") + more

    def run_and_read(self, backend, *more):
        shutil.rmtree(self.path("out"), ignore_errors=True)
        said = self.succeeds(*self.args(backend, "--log_level", "debug", *more))
        return self.result(), said

    def test_same_bytes(self):
        model, want = self.model(3), self.inputs(3)
        for name, backend in BACKENDS.items():
            with self.subTest(backend=name):
                raw, said = self.run_and_read(backend, "--model", model)
                self.assertEqual(raw, want)
                self.assertNotIn("shared memory", said)
                shared, said = self.run_and_read(backend, "--model", model, "--shared_buffer")
                self.assertEqual(shared, want)
                places = re.findall(r'tensor "(\w+)": 100 bytes in shared memory, file descriptor (\d+)(?:, offset (\d+))?', said)
                self.assertEqual([tensor for tensor, _, _ in places], ["x0", "x1", "x2", "y"])
                offsets = [offset for _, _, offset in places]
                self.assertEqual(offsets, ["0", "128", "256", "384"] if name == "htp" else [""] * 4)
                self.assertEqual(len({fd for _, fd, _ in places}), 1 if name == "htp" else 4)
                shared, said = self.run_and_read(backend, "--model", model, "--shared_buffer", "--asynchronous", "--num_inferences", 20)
                self.assertEqual(shared, want)
                self.assertGreaterEqual(said.count("in shared memory"), 8)

    def test_large_tensors(self):
        """Two of them fit into one allocation, then one that is larger than any allocation for several."""
        for elements, want_fds, want_offsets in ((400000, 2, ["0", "400000", "0", "400000"]), (1200001, 4, ["0"] * 4)):
            model, want = self.model(3, elements), self.inputs(3, elements)
            got, said = self.run_and_read(HTP, "--model", model, "--shared_buffer")
            self.assertEqual(got, want)
            places = re.findall(r"%d bytes in shared memory, file descriptor (\d+), offset (\d+)" % elements, said)
            self.assertEqual([offset for _, offset in places], want_offsets)
            self.assertEqual(len({fd for fd, _ in places}), want_fds)

    def test_configuration(self):
        model, want = self.model(), self.inputs()
        self.write("shared.json", json.dumps({"memory": {"mem_type": "shared_buffer"}}))
        self.write("raw.json", json.dumps({"memory": {"mem_type": "raw"}}))
        for name, backend in BACKENDS.items():
            with self.subTest(backend=name):
                got, said = self.run_and_read(backend, "--model", model, "--config_file", "shared.json")
                self.assertEqual(got, want)
                self.assertEqual(said.count("in shared memory"), 2)
                got, said = self.run_and_read(backend, "--model", model, "--config_file", "raw.json")
                self.assertEqual(got, want)
                self.assertNotIn("in shared memory", said)

    def test_extension_library(self):
        """The configuration of the HTP backend says it, too."""
        model, want = self.model(), self.inputs()
        config = self.config({"memory": {"mem_type": "shared_buffer"}}, name="htp", extension=EXTENSION)
        got, said = self.run_and_read(HTP, "--model", model, "--config_file", config)
        self.assertEqual(got, want)
        self.assertEqual(said.count("in shared memory"), 2)

    def test_binaries_and_batches(self):
        model, want = self.model(2), self.inputs(2)
        for name, backend in BACKENDS.items():
            with self.subTest(backend=name):
                self.succeeds("qnn-context-binary-generator", "--backend", backend, "--model", model, "--binary_file", name, "--output_dir", "bin")
                source = ("--retrieve_context", "bin/%s.bin" % name, "--shared_buffer")
                self.assertEqual(self.run_and_read(backend, *source)[0], want)
        for i in range(2):
            self.write("x%d.raw" % i, self.read("x%d.raw" % i) * 3)
        for name, backend in BACKENDS.items():
            with self.subTest(backend=name, batch=3):
                source = ("--retrieve_context", "bin/%s.bin" % name, "--shared_buffer", "--batch_multiplier", 3)
                self.assertEqual(self.run_and_read(backend, *source)[0], want * 3)

    def copied(self, model, *more):
        self.run_and_read(HTP, "--model", model, "--profiling_level", "detailed", *more)
        events = self.succeeds("qnn-profile-viewer", "--input_log", "out/qnn-profiling-data.log")
        return [int(n) for n in re.findall(r"copied[^\n]*?: *(\d+)", events)]

    def test_nothing_is_copied(self):
        """The session of the HTP backend works in the buffers themselves."""
        model = self.model(2)
        self.inputs(2)
        raw = self.copied(model)
        self.assertTrue(raw and max(raw) == 300, raw)
        shared = self.copied(model, "--shared_buffer")
        self.assertFalse(any(shared), shared)

    def test_memhandle_graph(self):
        """A graph that was built for shared buffers."""
        model, want = self.model(), self.inputs()
        self.succeeds("qnn-context-binary-generator", "--backend", HTP, "--model", model, "--binary_file", "mem", "--output_dir", "bin",
                      "--input_output_tensor_mem_type", "memhandle")
        self.assertEqual(self.run_and_read(HTP, "--retrieve_context", "bin/mem.bin", "--shared_buffer")[0], want)

    def test_reasons(self):
        model = self.model()
        self.inputs()
        self.fails(*self.args(lpai_model.LPAI, "--retrieve_context", self.generate(model), "--direct_mode", "adsp", "--shared_buffer"),
                   says=["--shared_buffer", "--direct_mode"])
        # A backend that has no libcdsprpc.so beside it, nor on any search path; then one that is something else.
        os.mkdir(self.path("alone"))
        alone = shutil.copy(support.CPU, self.path("alone"))
        searched, support.LIB = support.LIB, self.path("alone")
        try:
            self.fails(*self.args(alone, "--model", model, "--shared_buffer"), says=["--shared_buffer needs libcdsprpc.so", "LD_LIBRARY_PATH"])
            shutil.copy(os.path.join(searched, "libQnnSystem.so"), self.path("alone", "libcdsprpc.so"))
            self.fails(*self.args(alone, "--model", model, "--shared_buffer"), says="does not export rpcmem_alloc2")
            shutil.copy(os.path.join(searched, "libcdsprpc.so"), self.path("alone"))
            self.succeeds(*self.args(alone, "--model", model, "--shared_buffer"))
        finally:
            support.LIB = searched


if __name__ == "__main__":
    support.main()

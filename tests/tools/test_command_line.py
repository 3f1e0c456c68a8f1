#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options of all programs: help, version, what is refused and how it is said; and errors that users meet before anything runs."""

import ctypes
import os
import unittest.mock

import support

PROGRAMS = ("qnn-net-run", "qnn-context-binary-generator", "qnn-context-binary-utility", "qnn-model-lib-generator", "qnn-profile-viewer",
            "qnn-platform-validator", "qairt-dlc-info")


class CommandLine(support.ToolTest):
    def test_help_and_version(self):
        for name in PROGRAMS:
            with self.subTest(name):
                text = self.succeeds(name, "--help")
                self.assertIn("usage: " + name, text)
                self.assertIn("Examples:", text)
                self.assertIn("Exit status", text)
                self.assertEqual(text, self.succeeds(name, "-h"))
                self.assertRegex(self.succeeds(name, "--version"), r"^%s v\d+\.\d+\.\d+" % name)

    def test_refused_options(self):
        for name in PROGRAMS:
            with self.subTest(name):
                self.fails(name, says="no options given")
                self.fails(name, "word", says="is not an option")
                self.fails(name, "--zzzzzzzzzzzz", says="--help lists what there is")

    def test_nearest_option(self):
        self.fails("qnn-net-run", "--retrieve_contxt", "x", says="did you mean --retrieve_context?")
        self.fails("qnn-profile-viewer", "--inputlog=x", says="did you mean --input_log?")

    def test_values(self):
        self.fails("qnn-net-run", "--backend", says="--backend needs a value")
        self.fails("qnn-net-run", "--num_inferences", "x", says="is not a whole number")
        self.fails("qnn-net-run", "--num_inferences=0", says="too small")
        self.fails("qnn-net-run", "--log_level=loud", says=["\"loud\" is not known", "error, warn, info"])
        self.fails("qnn-net-run", "--debug=yes", says="takes no value")
        self.fails("qnn-context-binary-generator", "--model", "x", says="--backend FILE is missing")

    def test_combinations(self):
        run = ("qnn-net-run", "--backend", support.CPU)
        self.fails(*run, says="exactly one of --model, --retrieve_context and --dlc_path is needed; 0 are given")
        self.fails(*run, "--model", "a", "--retrieve_context", "b", says="2 are given")
        self.fails(*run, "--retrieve_context", "b", "--debug", says="--enable_intermediate_outputs")
        self.fails(*run, "--model", "a", "--validate_binary", says="--retrieve_context")
        self.fails(*run, "--model", "a", "--num_inferences", "1", "--duration", "1", says="exclude each other")
        self.fails(*run, "--model", "a", "--max_input_cache_tensor_sets", "1", "--max_input_cache_size_mb", "1", says="exclude each other")

    def test_error_names(self):
        self.assertIn("QNN_GRAPH_ERROR_INVALID_TENSOR 6004 0x1774", self.succeeds("qnn-net-run", "--explain_error", "6004"))
        self.assertIn("QNN_CONTEXT_ERROR_NOT_FINALIZED 5003 0x138b", self.succeeds("qnn-net-run", "--explain_error", "0x138b"))
        page = self.succeeds("qnn-net-run", "--explain_error", "14001")
        for words in ("QNN_DEVICE_ERROR_INVALID_CONFIG 14001 0x36b1: a configuration entry", "on a device: mostly the skel library", "here: "):
            self.assertIn(words, page)
        self.assertIn("QNN_SUCCESS", self.succeeds("qnn-net-run", "--explain_error", "0"))
        self.fails("qnn-net-run", "--explain_error", "64000", says="unknown error")
        self.fails("qnn-net-run", "--explain_error", "71540", says=["71540 0x11774 is no error code", "QNN_GRAPH_ERROR_INVALID_TENSOR 6004"])
        self.fails("qnn-net-run", "--explain_error", "-5", says=["-5 is no error code", "-errno"])
        self.fails("qnn-net-run", "--explain_error", "five", says="is not a number")

    def test_libraries(self):
        def backend(path, says):
            self.fails("qnn-net-run", "--backend", path, "--model", "m.so", "--input_list", "l", says=["Could not load backend"] + says)
        backend("/none/libQnnCpu.so", ["there is no file \"/none/libQnnCpu.so\""])
        backend("libNone.so", ["was not found in LD_LIBRARY_PATH", support.LIB])
        backend(self.write("text.so", "{}"), ["is not a shared library but a JSON text"])
        with open(support.CPU, "rb") as file:
            arm = bytearray(file.read(4096))
        arm[18:20] = b"\xb7\x00"
        backend(self.write("arm.so", bytes(arm)), ["is a library for aarch64", "x86-64", "x86_64-linux-clang"])
        backend(os.path.join(support.LIB, "libQnnSystem.so"), ["is no QNN backend"])

    def test_model_library(self):
        source = self.write("empty.c", "int nothing;\n")
        self.succeeds("qnn-model-lib-generator", "-c", source, "-l", "empty", "-o", ".")
        self.fails("qnn-net-run", "--backend", support.CPU, "--model", "x86_64-linux-clang/libempty.so", "--input_list", "l",
                   says=["not a model library with prefix \"QnnModel\"", "QnnModel_composeGraphs"])
        self.fails("qnn-model-lib-generator", "-c", source, "-t", "aarch64-android", says="no target this SDK can build")
        self.fails("qnn-model-lib-generator", "-c", self.write("bad.c", "int x = ;\n"), says="the compiler refused the source")
        self.fails("qnn-model-lib-generator", "-c", "none.cpp", says="cannot open the source")
        self.fails("qnn-model-lib-generator", "-c", os.path.join(support.DIGITS, "model.c"), "-l", "digits", "-o", ".", says=["_binary_obj_binary_", "give -b"])

    def test_compiler_of_several_words(self):
        """CC="ccache gcc" and the like: a program and its arguments, as make and meson understand it."""
        with unittest.mock.patch.dict(os.environ, CC="  env OF_THIS_TEST=1  gcc ", CXX="env -u"):
            self.succeeds("qnn-model-lib-generator", "-c", self.write("some.c", "int nothing;\n"), "-l", "some", "-o", ".")
            self.fails("qnn-model-lib-generator", "-c", self.write("some.cpp", "int nothing;\n"), "-l", "some", says="the compiler refused")
        with unittest.mock.patch.dict(os.environ, CC="/none/gcc -m64"):
            self.fails("qnn-model-lib-generator", "-c", "some.c", says=['the compiler "/none/gcc" could not be started', "set CC"])
        with unittest.mock.patch.dict(os.environ, CC=" "):
            self.succeeds("qnn-model-lib-generator", "-c", "some.c", "-l", "some", "-o", ".")

    def test_weights(self):
        """A file that is no archive has symbols of its own, and C++ sources are compiled as C++."""
        source = self.write("w.cpp", "#include <cstdint>\n#include \"QnnTypes.h\"\nextern \"C\" const uint8_t _binary_data_x_start[], _binary_data_x_end[];\n"
                            "extern \"C\" __attribute__((visibility(\"default\"))) long size() { return _binary_data_x_end - _binary_data_x_start; }\n"
                            "extern \"C\" __attribute__((visibility(\"default\"))) int first() { return _binary_data_x_start[0]; }\n")
        self.write("data.x", b"hello")
        self.succeeds("qnn-model-lib-generator", "-c", source, "-b", "data.x", "-o", "out")
        library = ctypes.CDLL(self.path("out", "x86_64-linux-clang", "libdata.so"))
        self.assertEqual((library.size(), library.first()), (5, ord("h")))

    def test_config_file(self):
        def config(text, says):
            self.fails("qnn-net-run", "--backend", support.CPU, "--model", "m.so", "--config_file", self.write("c.json", text), says=says)
        config('{"graph_configs": [{"graph_name": "g", "graph_prio": "high"}]}', ["Invalid key: graph_configs/0/graph_prio", "graph_priority"])
        config('{"context_configs": {"context_priority": "urgent"}}', "urgent")
        config('{"backend_extensions": {"shared_library_path": "libNone.so"}}', ["backend_extensions/shared_library_path", "libNone.so"])
        config('{', "c.json")

    def test_names_are_said_once(self):
        done = self.run_tool("qnn-net-run", "--backend", support.CPU, "--retrieve_context", self.write("bad.bin", b"OQNB" + bytes(60)), "--input_list", self.write("l", ""))
        self.assertEqual(done.returncode, 1)
        line = next(text for text in done.stderr.splitlines() if "[ ERROR ]" in text)
        self.assertEqual(line.count("QNN_CONTEXT_ERROR_BINARY_VERSION") + line.count("QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY"), 1, line)

    def test_validator(self):
        text = self.succeeds("qnn-platform-validator", "--backend", "cpu", "--testBackend")
        for line in ("Backend = CPU", "Backend Hardware  : Supported", "Backend Libraries : Found", "Unit Test         : Passed"):
            self.assertIn(line, text)
        self.assertIn("CPU,Supported,Found", self.read("output", "Result.csv").decode())
        for backend in ("htp", "lpai"):  # libQnnGpu.so needs a driver
            text = self.succeeds("qnn-platform-validator", "--backend", backend, "--testBackend")
            self.assertIn("Unit Test         : Passed", text)
        self.fails("qnn-platform-validator", "--backend", "tpu", says="choose one of")
        self.fails("qnn-platform-validator", "--backend", "cpu", "--directory", self.folder, says="does not work here")

    def test_wrong_files(self):
        self.fails("qnn-profile-viewer", "--input_log", self.write("a.log", "{}"), says=["a.log", "a JSON text"])
        self.fails("qnn-profile-viewer", "--input_log", "none.log", says="cannot open \"none.log\"")
        self.fails("qnn-context-binary-utility", "--context_binary", support.CPU, says=["is not a context binary but an ELF file", "--model"])
        self.fails("qnn-net-run", "--backend", support.CPU, "--retrieve_context", self.write("d.bin", b"PK\3\4xxxx"), "--input_list", "l",
                   says=["is not a context binary but a zip archive", "--dlc_path"])
        self.fails("qnn-net-run", "--backend", support.CPU, "--dlc_path", self.write("m.dlc", b"PK\3\4xxxx"), "--input_list", "l", says="m.dlc")

    def test_kinds_of_files(self):
        """Every reader names what it was given instead of what it stumbled over, and what to do."""
        files = {"page.bin": (b"\n<!DOCTYPE html><html><body>404</body></html>", ["a web page", "download again"]),
                 "lfs.bin": (b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 9\n", ["a pointer of Git LFS", "git lfs pull"]),
                 "empty.bin": (b"", ["empty", "again"]),
                 "net.bin": (b"\x1c\0\0\0TFL3" + bytes(40), ["a TFLite model", "qnn-tflite-converter"]),
                 "image.bin": (b"\x89PNG\r\n" + bytes(40), ["a PNG image"])}
        readers = (("qnn-onnx-converter", "-o", "o.cpp", "-i"), ("qnn-tflite-converter", "-o", "o.cpp", "-i"), ("qairt-converter", "-o", "o.dlc", "-i"),
                   ("qairt-dlc-info", "-i"), ("qnn-net-run", "--backend", support.CPU, "--input_list", "l", "--retrieve_context"),
                   ("qnn-net-run", "--backend", support.CPU, "--input_list", "l", "--dlc_path"), ("qnn-context-binary-utility", "--context_binary"))
        self.write("l", "")
        for name, (data, words) in files.items():
            self.write(name, data)
            for reader in readers:
                if name == "net.bin" and "conv" in reader[0] and "onnx" not in reader[0]:
                    continue  # these read TFLite models
                with self.subTest(reader=reader, file=name):
                    self.fails(*reader, name, says=words)

    def test_binary_of_another_make(self):
        self.write("vendor.bin", bytes([2, 0, 0, 0, 3]) + b"\xff" * 60)
        for reader in (("qnn-net-run", "--backend", support.CPU, "--input_list", self.write("l", ""), "--retrieve_context"),
                       ("qnn-context-binary-utility", "--context_binary")):
            self.fails(*reader, "vendor.bin", says=["the vendor's tools", "qnn-context-binary-generator"])


if __name__ == "__main__":
    support.main()

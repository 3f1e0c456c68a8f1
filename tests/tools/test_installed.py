# SPDX-License-Identifier: Apache-2.0
"""The installed tree as build files of clients use it: they copy the libraries beside a program, and nothing else."""
import ctypes
import os
import shutil
import struct
import subprocess

import support

BUILD = os.path.dirname(support.BIN)
LIBRARIES = "lib/x86_64-linux-clang"


class Installed(support.ToolTest):
    def install(self):
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.path("stage")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for folder, _, _ in os.walk(self.path("stage")):
            if folder.endswith(LIBRARIES):
                return folder
        self.fail("the installation has no " + LIBRARIES)

    def copy(self, source, name, links):
        """*.so of one folder, with links as links or as files."""
        os.mkdir(self.path(name))
        for file in sorted(os.listdir(source)):
            if file.endswith(".so"):
                shutil.copy(os.path.join(source, file), self.path(name, file), follow_symlinks=not links)
        return self.path(name)

    def recognises(self, folder):
        """A program that finds only this folder runs the digit recogniser in a session."""
        images = os.path.join(support.DIGITS, "images")
        digits = sorted(name for name in os.listdir(images) if name.endswith(".raw"))
        self.write("list.txt", "".join(os.path.join(images, name) + "\n" for name in digits))
        command = [os.path.join(support.BIN, "qnn-net-run"), "--backend", os.path.join(folder, "libQnnHtp.so"), "--model", self.model,
                   "--input_list", "list.txt", "--output_dir", "out"]
        done = subprocess.run(command, cwd=self.folder, env={"LD_LIBRARY_PATH": folder, "PATH": "/usr/bin:/bin"}, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = []
        for i in range(len(digits)):
            scores = struct.unpack("10f", self.read("out", f"Result_{i}", "probabilities.raw"))
            found.append(scores.index(max(scores)))
        self.assertEqual(found, list(range(10)))
        shutil.rmtree(self.path("out"))

    def test_copied_libraries_run(self):
        self.model = self.build_digits()
        libraries = self.install()
        shutil.move(libraries, self.path("only"))  # whatever is elsewhere in the tree is not found
        shutil.rmtree(self.path("stage"))
        self.recognises(self.copy(self.path("only"), "files", False))
        self.recognises(self.copy(self.path("only"), "links", True))

    def test_names_that_build_files_copy(self):
        libraries = self.install()
        for name in ["libHtpPrepare.so", "libQnnHtpPrepare.so", "libQnnHtpV75Stub.so", "libQnnSystem.so", "libcdsprpc.so"]:
            ctypes.CDLL(os.path.join(libraries, name))
        root = libraries[:-len(LIBRARIES)]
        with open(os.path.join(root, "sdk.yaml"), encoding="utf-8") as file:  # ONNX Runtime's build reads the version there
            self.assertRegex(file.read(), r"(?m)^version: [0-9]+\.[0-9]+\.[0-9]+$")
        for skel in ["lib/hexagon-v75/unsigned/libQnnHtpV75Skel.so", "lib/lpai-v6/unsigned/libQnnLpaiSkel.so"]:
            self.assertTrue(os.path.exists(os.path.join(root, skel)), skel)


if __name__ == "__main__":
    support.main()

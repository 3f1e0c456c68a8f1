# SPDX-License-Identifier: Apache-2.0
"""What the tests of the programs share: where things are, how a program is run, and the model they run."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["OPENQNN_BIN_DIR"]
LIB = os.environ["OPENQNN_LIB_DIR"]
SOURCE = os.environ["OPENQNN_SOURCE_DIR"]
DIGITS = os.path.join(SOURCE, "examples", "digits")
CPU = os.path.join(LIB, "libQnnCpu.so")
HTP = os.path.join(LIB, "libQnnHtp.so")
sys.path.insert(0, DIGITS)


class ToolTest(unittest.TestCase):
    """Runs every test in a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="qnn-tools-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def read(self, *parts):
        with open(self.path(*parts), "rb") as file:
            return file.read()

    def run_tool(self, name, *args, largest_file=None, more_env=None):
        """largest_file: writing to a file beyond that many bytes fails, as on a full disk. more_env: further variables."""
        env = dict(os.environ, QNN_SDK_ROOT=SOURCE, LD_LIBRARY_PATH=LIB, **(more_env or {}))
        limit = largest_file and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file)))
        return subprocess.run([os.path.join(BIN, name)] + [str(a) for a in args], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=60, preexec_fn=limit, restore_signals=not limit)  # Python ignores the signal that the limit sends

    def succeeds(self, name, *args):
        done = self.run_tool(name, *args)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fails(self, name, *args, says):
        """The program exits with 1 and its error contains every text of says."""
        done = self.run_tool(name, *args)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, done.stderr)

    def build_digits(self):
        """The model library of examples/digits."""
        self.succeeds("qnn-model-lib-generator", "-c", os.path.join(DIGITS, "model.c"), "-b", os.path.join(DIGITS, "model.bin"), "-l", "digits",
                      "-o", "libs")
        return self.path("libs", "x86_64-linux-clang", "libdigits.so")


def main():
    unittest.main(verbosity=2)

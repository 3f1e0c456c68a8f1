#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of README and of the examples' READMEs, run as they are printed, from the installed tree."""

import os
import re
import shutil
import subprocess

import support

BUILD = os.path.dirname(support.BIN)
COMMAND = re.compile(r"^    (\S.*)$")
PROGRAM = re.compile(r"^(?:[A-Z]=|\./|(?:cc|echo|ls|printf|python3|qnn-[a-z-]+|qairt-[a-z-]+)\b)")


def blocks(path):
    """The command lines of a page, block by block."""
    found, block = [], []
    with open(path, encoding="utf-8") as file:
        for line in list(file) + [""]:
            match = COMMAND.match(line)
            if match:
                block.append(match[1])
                continue
            commands = [c for c in block if PROGRAM.match(c)]
            found += [commands] if commands else []
            block = []
    return found


class Readme(support.ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.stage = os.path.join(BUILD, "readme-stage")
        shutil.rmtree(cls.stage, ignore_errors=True)
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.stage], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.root, = [folder for folder, _, files in os.walk(cls.stage) if "sdk.yaml" in files]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.stage)

    def run_all(self, commands, folder):
        script = "\n".join(["set -eu", ". %s/bin/envsetup.sh" % self.root] + commands)
        env = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "TMPDIR": self.folder}
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=110)
        self.assertEqual(done.returncode, 0, script + "\n" + done.stdout + done.stderr)
        return done.stdout

    def example(self, name, expected, skip=None):
        """Runs the blocks of an example in a copy of its installed folder; at least `expected` commands are there."""
        folder = shutil.copytree(os.path.join(self.root, "share", "QNN", "examples", name), self.path(name))
        commands = [c for block in blocks(os.path.join(folder, "README.md")) for c in block if not (skip and any(skip in b for b in block))]
        self.assertGreaterEqual(len(commands), expected, commands)
        return self.run_all(commands, folder)

    def test_digits(self):
        self.example("digits", 4)

    def test_convert(self):
        self.example("convert", 8, skip="model.tflite")  # that block is for a model of the reader's own

    def test_own_operator(self):
        self.example("own_operator", 8)

    def test_wake_word(self):
        self.assertIn("2 wake words", self.example("wake_word", 4))

    def test_front_page(self):
        shutil.copytree(os.path.join(self.root, "share", "QNN", "examples"), self.path("examples"))
        first, = [b for b in blocks(os.path.join(support.SOURCE, "README.md")) if any("digits" in c for c in b)]
        self.run_all(first, self.folder)
        self.assertTrue(os.path.exists(self.path("out", "memory.html")))


if __name__ == "__main__":
    support.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD LISTEN LPAI SYSTEM: builds the wake-word binary, listens to demo.wav and compares with demo.txt, where wake words end by construction."""

import os
import re
import subprocess
import sys
import tempfile

build, listen, lpai, system = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
with tempfile.TemporaryDirectory() as folder:
    binary = os.path.join(folder, "wake_word.bin")
    subprocess.run([build, lpai, binary], check=True)
    out = subprocess.run([listen, lpai, system, binary, os.path.join(here, "demo.wav")], check=True, capture_output=True, text=True).stdout
    print(out)
    other = subprocess.run([listen, lpai, system, binary, __file__], capture_output=True, text=True)
heard = [float(t) for t in re.findall(r"([\d.]+) s: hello", out)]
spoken = [float(line) for line in open(os.path.join(here, "demo.txt"))]
assert len(heard) == len(spoken) == 2, f"heard {heard}, spoken {spoken}"
for h, s in zip(heard, spoken):
    assert -0.15 < h - s < 0.6, f"heard at {h}, the word ended at {s}"
assert int(re.search(r"persistent memory: (\d+)", out)[1]) < 512, "persistent memory holds the state of the Gru and nothing else"
assert other.returncode == 1 and "WAV" in other.stderr, "a file that is no sound gets a sentence"

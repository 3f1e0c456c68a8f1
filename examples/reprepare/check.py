# SPDX-License-Identifier: Apache-2.0
"""Runs the example as its README says: check.py PROGRAM LIBRARY."""
import os
import subprocess
import sys
import tempfile


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"{args}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(text, *words):
    for word in words:
        if word not in text:
            sys.exit(f"\"{word}\" is not in\n{text}")


program, library = sys.argv[1:3]
os.environ.pop("OPENQNN_SOC", None)
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "model.bin")
    changed = "changed over to the better one"

    run(program, library, file, "--make", "93")
    old = open(file, "rb").read()
    expect(run(program, library, file), "suboptimal", changed, "results are equal")
    new = open(file, "rb").read()
    if new == old:
        sys.exit("the better binary was not saved")
    text = run(program, library, file)
    expect(text, "the best one", "results are equal")
    if changed in text:
        sys.exit("the best binary was prepared again")

    with open(file, "wb") as out:
        out.write(new[: len(new) // 2])
    expect(run(program, library, file), "cannot be used", changed, "results are equal")
    if open(file, "rb").read() != new:
        sys.exit("the binary that was prepared again is another one")
    os.remove(file)
    expect(run(program, library, file), "cannot be used", changed, "results are equal")
    if os.listdir(folder) != ["model.bin"]:
        sys.exit(f"there are other files: {os.listdir(folder)}")

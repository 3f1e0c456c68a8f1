# SPDX-License-Identifier: Apache-2.0
"""Building a client outside of its source, which is not changed."""

import os
import shutil
import subprocess


def run(command, what):
    """What it prints is shown only where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-40:])
        raise SystemExit(f"{tail}\n{what} failed: {' '.join(command)}")


def launcher():
    return ["ccache"] if shutil.which("ccache") else []


def cmake(source, out, target, settings):
    settings = {"CMAKE_BUILD_TYPE": "Release", **settings}
    if launcher():
        settings = {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache", **settings}
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run(["cmake", "-S", source, "-B", out, *generator, *(f"-D{k}={v}" for k, v in settings.items())], "configuring")
    jobs = os.environ.get("SUITE_JOBS", str(os.cpu_count()))
    run(["cmake", "--build", out, "--target", target, "--parallel", jobs], "building")


def is_newer(program, inputs):
    return os.path.exists(program) and all(os.path.getmtime(i) <= os.path.getmtime(program) for i in inputs)


def compile_program(source, program, includes, archives):
    if is_newer(program, [source, *archives]):
        return
    object_file = program + ".o"
    run([*launcher(), "c++", "-std=c++17", "-O1", *(f"-I{i}" for i in includes), "-c", source, "-o", object_file], "compiling")
    run(["c++", object_file, "-o", program, "-Wl,--start-group", *archives, "-Wl,--end-group", "-lpthread", "-ldl"], "linking")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator tests of ExecuTorch's QNN backend on these libraries: its own tests, its own export, its own runtime.

    pip install executorch torchvision ...        (a virtual environment; the tests import what they need, and say what is missing)
    make install PREFIX=DIR && . DIR/bin/envsetup.sh
    executorch_suite.py [--class NAME] [--match TEXT] [--backend htp|gpu|lpai] [--soc NAME] [--part I/N] [--logs DIR]

Classes are those of executorch.backends.qualcomm.tests.test_qnn_delegate: TestQNNFloatingPointOperator, TestQNNQuantizedOperator, ...
Those tests start a program qnn_executor_runner, which wheels do not contain: the program is loaded in this process instead, by the
runtime of the wheel. Every test runs in a process of its own, so that none can take others with it. Ends with 1 when a test failed."""
import argparse
import importlib.machinery
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
import types
import unittest

LIMIT_S = 600
RUNNER = "/bin/true"  # the tests insist on a file


class Anything(types.ModuleType):
    """Stands for torchaudio, which one example model imports and no operator test uses."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(f"{self.__name__}.{name}")


def replace_audio():
    for name in ("torchaudio", "torchaudio.models"):
        module = Anything(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__path__ = []
        sys.modules.setdefault(name, module)


def read_inputs(meta, line, folder):
    import torch
    types_of = {0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16, 6: torch.float32, 7: torch.float64,
                11: torch.bool, 28: torch.uint16}
    tensors = []
    for i, name in enumerate(line.split()):
        t = meta.input_tensor_meta(i)
        with open(os.path.join(folder, name), "rb") as f:
            data = bytearray(f.read())
        tensors.append(torch.frombuffer(data, dtype=types_of[int(t.dtype())]).reshape(tuple(t.sizes())).clone())
    return tuple(tensors)


def run_program(command, folder):
    """What qnn_executor_runner does: every line of inputs through one method."""
    import torch
    from executorch.runtime import Runtime
    option = {command[i]: command[i + 1] for i in range(1, len(command) - 1) if command[i].startswith("--")}
    room = 500_000_000 if "--dump_intermediate_outputs" in command else 0
    program = Runtime.get().load_program(os.path.join(folder, option["--model_path"]), enable_etdump=True, debug_buffer_size=room)
    names = sorted(program.method_names)
    method = program.load_method("forward" if "forward" in names else names[int(option.get("--method_index", 0))])
    with open(option["--input_list_path"], encoding="utf-8") as f:
        lines = f.read().splitlines()
    for at, line in enumerate(lines):
        for i, out in enumerate(method.execute(read_inputs(method.metadata, line, folder))):
            torch.as_tensor(out).contiguous().numpy().tofile(os.path.join(option["--output_folder_path"], f"output_{at}_{i:03d}.raw"))
    program.write_etdump_result_to_file(os.path.join(folder, "etdump.etdp"), os.path.join(folder, "debug_output.bin"))


def replace_runner():
    real = subprocess.run

    def run(command, *rest, **options):
        if not (isinstance(command, list) and command[0] == RUNNER):
            return real(command, *rest, **options)
        done = types.SimpleNamespace(returncode=0, stdout="")
        try:
            run_program(command, options["cwd"])
        except Exception:  # pylint: disable=broad-except
            done.returncode, done.stdout = 1, traceback.format_exc()
        return done

    os.environ["QNN_EXECUTOR_RUNNER"] = RUNNER
    subprocess.run = run


def tests_of(suite):
    for t in suite:
        yield from tests_of(t) if isinstance(t, unittest.TestSuite) else (t,)


def child(test, log, answer):
    fd = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    result = unittest.TestResult()
    test.run(result)
    bad = result.failures + result.errors
    text = bad[0][1] if bad else ""
    os.write(1, text.encode())
    os.write(answer, f"{'skipped' if result.skipped else 'failed' if bad else 'ok'}\n{text[-400:]}".encode())
    os._exit(0)


def run_one(test, log):
    """ok, skipped, failed, ended by a signal, or out of time; and the last lines of a failure."""
    come, go = os.pipe()
    pid = os.fork()
    if not pid:
        child(test, log, go)
    os.close(go)
    ready = select.select([come], [], [], LIMIT_S)[0]
    text = os.read(come, 65536).decode(errors="replace") if ready else "out of time\n"
    os.close(come)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    state, why = (text or f"ended with {status}\n").split("\n", 1)
    return state, why.strip().splitlines()[-1:] or [""]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--class", dest="group", default="TestQNNFloatingPointOperator")
    p.add_argument("--match", default="")
    p.add_argument("--backend", default="htp")
    p.add_argument("--soc", default="SM8650")
    p.add_argument("--part", default="0/1", help="tests I, I + N, I + 2 N, ... of those that match")
    p.add_argument("--logs", default=tempfile.gettempdir())
    a = p.parse_args()
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # ExecuTorch's runtime takes large new memory for zeros, as it is in a program that has just begun
        os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
        os.execv(sys.executable, [sys.executable] + sys.argv)
    if "QNN_SDK_ROOT" not in os.environ:
        sys.exit("QNN_SDK_ROOT is not set; install these libraries with make install and source bin/envsetup.sh")
    replace_audio()
    replace_runner()
    from executorch.backends.qualcomm.tests import test_qnn_delegate
    from executorch.backends.qualcomm.tests.utils import TestQNN
    TestQNN.enable_x86_64, TestQNN.backend, TestQNN.soc_model, TestQNN.build_folder = True, a.backend, a.soc, a.logs
    part, parts = (int(v) for v in a.part.split("/"))
    group = unittest.defaultTestLoader.loadTestsFromTestCase(getattr(test_qnn_delegate, a.group))
    tests = [t for t in tests_of(group) if a.match in t.id()][part::parts]
    count = {}
    for t in tests:
        name = t.id().rsplit(".", 1)[-1]
        state, why = run_one(t, os.path.join(a.logs, f"{a.group}.{name}.log"))
        count[state] = count.get(state, 0) + 1
        print(f"{state:8} {name} {why[0][:160]}", flush=True)
    print(", ".join(f"{n} {state}" for state, n in sorted(count.items())) or "no test matches")
    return int(any(state not in ("ok", "skipped") for state in count))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of ExecuTorch's QNN backend on these libraries: its own tests, its own export, its own runtime.

    pip install executorch torchvision ...        (a virtual environment; the tests import what they need, and say what is missing)
    make install PREFIX=DIR && . DIR/bin/envsetup.sh
    executorch_suite.py [--class NAME,NAME... | --rework FOLDER] [--match TEXT] [--backend htp|gpu|lpai] [--soc NAME] [--first N] [--count N] [--part I/N]
                        [--limit S] [--logs DIR] [--tsv FILE] [--list] [--random-weights]

Classes are those of executorch.backends.qualcomm.tests.test_qnn_delegate: TestQNNFloatingPointOperator, TestQNNQuantizedOperator, ...
Folders are those of its tests/rework: htp/op, htp/feature, passes, utils, ...; these need pytest and pytest-subtests.
Those tests start a program qnn_executor_runner, which wheels do not contain: the program is loaded in this process instead, by the
runtime of the wheel. Every test runs in a process of its own, so that none can take others with it. Ends with 1 when a test failed, and with 2 when none
executed on QNN."""
import argparse
import ctypes
import importlib
import importlib.machinery
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
import unittest

import suite_run

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
    if line is None:
        return tuple(torch.ones(tuple(t.sizes()), dtype=types_of[int(t.dtype())]) for t in map(meta.input_tensor_meta, range(meta.num_inputs())))
    for i, name in enumerate(line.split()):
        t = meta.input_tensor_meta(i)
        with open(os.path.join(folder, name), "rb") as f:
            data = bytearray(f.read())
        tensors.append(torch.frombuffer(data, dtype=types_of[int(t.dtype())]).reshape(tuple(t.sizes())).clone())
    return tuple(tensors)


class Kept(dict):
    """Weights that were not fetched: whoever loads them keeps its own."""


def replace_weights():
    """Nothing is fetched: networks keep the random weights that they are made with."""
    import timm.models._builder
    import torch
    import torchvision.models._api
    load = torch.nn.Module.load_state_dict
    fetch = lambda *rest, **options: Kept()
    torch.manual_seed(1)
    torch.nn.Module.load_state_dict = lambda self, state, *rest, **options: None if isinstance(state, Kept) else load(self, state, *rest, **options)
    torch.hub.load_state_dict_from_url = torchvision.models._api.load_state_dict_from_url = fetch
    timm.models._builder.load_pretrained = lambda *rest, **options: None


def set_options(option):
    """Options of the QNN backend at run time, by the function of the runtime that Python has no name for: an array of a key of 64 bytes, and a bool, an
    int or 256 bytes of text, with the number of the alternative behind."""
    from executorch import lib

    class Option(ctypes.Structure):
        _fields_ = [("key", ctypes.c_char * 64), ("number", ctypes.c_int), ("rest", ctypes.c_char * 252), ("which", ctypes.c_uint8), ("pad", ctypes.c_uint8 * 3)]
    wanted = [Option(b"qnn_runtime_" + name.encode(), int(option["--" + name]), b"", 1) for name in ("log_level", "htp_performance_mode", "profile_level") if "--" + name in option]
    if wanted:
        runtime = ctypes.CDLL(os.path.join(list(lib.__path__)[0], "libexecutorch.so"))
        function = runtime._ZN10executorch7runtime10set_optionEPKcNS0_4SpanINS0_13BackendOptionEEE
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
        array = (Option * len(wanted))(*wanted)
        error = function(b"QnnBackend", array, len(wanted))
        if error:
            raise RuntimeError(f"set_option: {error}")


def run_program(command, folder):
    """What qnn_executor_runner does: every line of inputs through one method."""
    import torch
    from executorch.runtime import Runtime
    option = {command[i]: command[i + 1] for i in range(1, len(command) - 1) if command[i].startswith("--")}
    room = 500_000_000 if "--dump_intermediate_outputs" in command else 0
    runtime = Runtime.get()
    set_options(option)
    program = runtime.load_program(os.path.join(folder, option["--model_path"]), enable_etdump=True, debug_buffer_size=room)
    names = sorted(program.method_names)
    method = program.load_method("forward" if "forward" in names else names[int(option.get("--method_index", 0))])
    lines = [None]
    if "--input_list_path" in option:
        with open(os.path.join(folder, option["--input_list_path"]), encoding="utf-8") as f:
            lines = f.read().splitlines()
    begin = time.monotonic()
    for at, line in enumerate(lines):
        for i, out in enumerate(method.execute(read_inputs(method.metadata, line, folder))):
            torch.as_tensor(out).contiguous().numpy().tofile(os.path.join(option["--output_folder_path"], f"output_{at}_{i:03d}.raw"))
    if "--performance_output_path" in option:
        with open(os.path.join(folder, option["--performance_output_path"]), "w", encoding="utf-8") as f:
            f.write(str((time.monotonic() - begin) * 1000 / len(lines)))
    program.write_etdump_result_to_file(os.path.join(folder, "etdump.etdp"), os.path.join(folder, "debug_output.bin"))


def captured(run):
    """What the process writes meanwhile, as the runner's output; it also goes where it went before."""
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            run()
        finally:
            for fd, old in zip((1, 2), kept):
                os.dup2(old, fd)
                os.close(old)
            file.seek(0)
            text = file.read()
            os.write(1, text)
    return text.decode(errors="replace")


def on_phone(command, base):
    """What adb is asked for, in a folder here: files are copied, and the program that would run there runs in this process."""
    here = lambda path: base + path if path.startswith("/data/") else path
    verb, *rest = command[3:]
    if verb in ("push", "pull"):
        source, to = (here(path) for path in rest if path != "-a")
        if os.path.isdir(to):
            to = os.path.join(to, os.path.basename(source))
        if os.path.isdir(source):
            shutil.copytree(source, to, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, to)
        return ""
    words = rest[0].split()
    if "--model_path" not in words:
        path = here(words[-1])
        if words[0] == "mkdir":
            os.makedirs(path, exist_ok=True)
        else:
            shutil.rmtree(path, ignore_errors=True)
        return ""
    folder = here(words[1])
    if not os.path.exists(os.path.join(folder, "input_list.txt")):  # the runner then makes inputs up
        words = [w for w in words if w != "--input_list_path"]
    return captured(lambda: run_program([here(w) for w in words], folder))


def replace_runner():
    real, base = subprocess.run, tempfile.mkdtemp()

    def run(command, *rest, **options):
        if isinstance(command, list) and command[0] == "adb":
            return types.SimpleNamespace(returncode=0, stdout=on_phone(command, base))
        if not (isinstance(command, list) and (command[0] == RUNNER or str(command[0]).endswith("/qnn_executor_runner"))):
            return real(command, *rest, **options)
        done = types.SimpleNamespace(returncode=0, stdout="")
        try:
            done.stdout = captured(lambda: run_program(command, options["cwd"]))
        except Exception:  # pylint: disable=broad-except
            done.returncode, done.stdout = 1, traceback.format_exc()
        return done

    os.environ["QNN_EXECUTOR_RUNNER"] = RUNNER
    subprocess.run = run


def watch_tolerance(shares):
    """Every comparison of results adds how much of its tolerance was used: 1 is the limit."""
    import torch
    for name in ("allclose", "isclose"):
        real = getattr(torch, name)

        def compare(a, b, rtol=1e-5, atol=1e-8, real=real, **options):
            if a.shape == b.shape and a.numel():
                a64, b64 = a.to(torch.float64), b.to(torch.float64)
                shares.append(((a64 - b64).abs() / (atol + rtol * b64.abs())).max().item())
            return real(a, b, rtol=rtol, atol=atol, **options)
        setattr(torch, name, compare)


# ---- the tests: each is a name and a function that answers ok, skipped or failed, and why ------------------------------------------


def flat(suite):
    for t in suite:
        yield from flat(t) if isinstance(t, unittest.TestSuite) else (t,)


def run_case(test):
    result = unittest.TestResult()
    test.run(result)
    bad = result.failures + result.errors
    return "skipped" if result.skipped else "failed" if bad else "ok", bad[0][1] if bad else ""


def cases_of(a):
    from executorch.backends.qualcomm.tests import test_qnn_delegate
    from executorch.backends.qualcomm.tests.utils import TestQNN
    TestQNN.enable_x86_64, TestQNN.backend, TestQNN.soc_model, TestQNN.build_folder = True, a.backend, a.soc, a.logs
    TestQNN.executorch_root, TestQNN.artifact_dir = os.getcwd(), a.logs
    for group in a.group.split(","):
        for t in flat(unittest.defaultTestLoader.loadTestsFromTestCase(getattr(test_qnn_delegate, group))):
            yield f"{group}.{t.id().rsplit('.', 1)[-1]}", lambda t=t: run_case(t)


class Items:
    """A plugin of pytest that hands each test to somebody else, and collects what became of those that run here."""

    def __init__(self, take):
        self.take, self.reports = take, []

    def pytest_runtest_logreport(self, report):
        self.reports.append(report)

    def run(self, item):
        from _pytest.runner import runtestprotocol
        runtestprotocol(item, nextitem=None)
        bad = [r for r in self.reports if r.failed]
        return "failed" if bad else "skipped" if any(r.skipped for r in self.reports) else "ok", "\n".join(r.longreprtext for r in bad)

    def pytest_runtestloop(self, session):
        self.take((i.nodeid.split("::", 1)[-1], lambda i=i: self.run(i)) for i in session.items)
        return True


def run_rework(a, take):
    import pytest
    from executorch.backends import qualcomm
    folder = os.path.join(list(qualcomm.__path__)[0], "tests", "rework")
    files = [os.path.join(at, "test.py") for at, _, names in os.walk(os.path.join(folder, a.rework)) if "test.py" in names]
    options = ["-v", "-p", "no:cacheprovider", "--rootdir", folder, "--import-mode=importlib"]
    if "feature" in a.rework:  # these insist on a phone
        options += ["--soc_model", a.soc, "--build_folder", phone_build(a), "--device", "none", "--backend", a.backend]
    pytest.main(sorted(files) + options, plugins=[Items(take)])


def phone_build(a):
    """A folder with the program that is copied to a phone; libraries stay where they are."""
    from executorch.backends.qualcomm.export_utils import SimpleADB
    begin = SimpleADB.__init__

    def without_libraries(self, *rest, **options):
        begin(self, *rest, **options)
        self.backend_library_paths = {backend: [] for backend in self.backend_library_paths}
    SimpleADB.__init__ = without_libraries
    folder = os.path.join(a.logs, "build")
    program = os.path.join(folder, "examples/qualcomm/executor_runner/qnn_executor_runner")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with open(program, "wb"):
        pass
    return folder


# ---- one process per test ------------------------------------------------------------------------------------------------------------


def child(run, log, answer, counts):
    os.environ["OPENQNN_COUNTS"] = counts  # the libraries are opened after this
    fd = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    shares = []
    watch_tolerance(shares)
    state, text = run()
    sys.stdout.flush()
    os.write(fd, text.encode())
    last = (text.strip().splitlines() or [""])[-1]
    os.write(answer, f"{state}\n{max(shares):.2f} of the tolerance {last[-400:]}".encode() if shares else f"{state}\n{last[-400:]}".encode())
    ctypes.CDLL(None).exit(0)  # the libraries write their counts; Python would wait for threads that are not in this process


def wait_for(pid, limit):
    """The status of a process that is about to end; it is killed if it does not."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def run_one(run, log, limit, counts):
    """ok, skipped, failed, ended by a signal, or out of time; and the last line of a failure, behind the share of the tolerance that was used."""
    come, go = os.pipe()
    pid = os.fork()
    if not pid:
        child(run, log, go, counts)
    os.close(go)
    ready = select.select([come], [], [], limit)[0]
    text = os.read(come, 65536).decode(errors="replace") if ready else "out of time\n"
    os.close(come)
    status = wait_for(pid, 20 if ready else 0)
    state, why = (text or f"ended with {status}\n").split("\n", 1)
    return state, why.strip()


def warm_up():
    """What the first export loads and collects, so that not every process does it again. One thread: others would not be there in a child."""
    import torch
    torch.set_num_threads(1)
    for name in ("torch._export.passes", "executorch.runtime", "executorch.extension.flat_tensor.serialize.serialize"):
        importlib.import_module(name)
    torch.export.export(torch.nn.ReLU(), (torch.zeros(1),), strict=True).run_decompositions()


RESULTS = {"ok": "passed", "skipped": "skipped", "out of time": "timeout"}


def chosen(tests, a):
    part, parts = (int(v) for v in a.part.split("/"))
    return [t for t in tests if a.match in t[0]][a.first:][part::parts][:a.count]


def run_all(tests, a, outcomes):
    tests = chosen(tests, a)
    if a.list:
        print("\n".join(name for name, _ in tests), file=a.report, flush=True)
        return
    warm_up()
    for name, run in tests:
        begin = time.monotonic()
        file = "".join(c if c.isalnum() or c in "_-" else "." for c in (f"{a.rework}.{name}" if a.rework else name))
        with tempfile.NamedTemporaryFile(prefix="counts-") as counts:
            state, why = run_one(run, os.path.join(a.logs, file + ".log"), a.limit, counts.name)
            executed, failed = suite_run.read_counts(counts.name)
        outcomes.append(suite_run.Outcome(name, RESULTS.get(state, "failed"), executed, failed, time.monotonic() - begin))
        print(f"{state:8} {sum(executed.values()):5} {time.monotonic() - begin:6.1f} s {name} {why[:200]}", file=a.report, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--class", dest="group", default="TestQNNFloatingPointOperator", help="one, or several with commas between")
    p.add_argument("--rework", help="a folder below tests/rework instead of a class")
    p.add_argument("--match", default="")
    p.add_argument("--backend", default="htp")
    p.add_argument("--soc", default="SM8650")
    p.add_argument("--first", type=int, default=0, help="leave out so many of those that match")
    p.add_argument("--count", type=int, help="at most so many of the rest")
    p.add_argument("--part", default="0/1", help="tests I, I + N, I + 2 N, ... of the rest")
    p.add_argument("--limit", type=int, default=600, help="seconds that one test may take")
    p.add_argument("--logs", default=tempfile.gettempdir())
    p.add_argument("--tsv", help="file for one line per test: name, result, executions by library, seconds")
    p.add_argument("--list", action="store_true", help="only name the tests")
    p.add_argument("--random-weights", action="store_true", help="networks are not fetched, where a test asks for trained ones")
    a = p.parse_args()
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:  # ExecuTorch's runtime takes large new memory for zeros, as it is in a program that has just begun
        os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
        os.execv(sys.executable, [sys.executable] + sys.argv)
    if "QNN_SDK_ROOT" not in os.environ:
        sys.exit("QNN_SDK_ROOT is not set; install these libraries with make install and source bin/envsetup.sh")
    os.makedirs(a.logs, exist_ok=True)
    replace_audio()
    replace_runner()
    if a.random_weights:
        replace_weights()
    a.report = os.fdopen(os.dup(1), "w")  # pytest takes standard output for itself
    outcomes = []
    if a.rework:
        run_rework(a, lambda tests: run_all(tests, a, outcomes))
    else:
        run_all(cases_of(a), a, outcomes)
    if a.list:
        return 0
    if a.tsv:
        suite_run.write_table(a.tsv, outcomes)
    print(suite_run.summary(outcomes) if outcomes else "no test matches", file=a.report, flush=True)
    return suite_run.status(outcomes)


if __name__ == "__main__":
    sys.exit(main())

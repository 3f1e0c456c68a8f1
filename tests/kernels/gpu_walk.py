# SPDX-License-Identifier: Apache-2.0
"""libQnnGpu.so on the cases of all oracles, compared with what the CPU kernels gave.

    gpu_walk.py WALK_LIBRARY PROBE_LIBRARY GPU_LIBRARY SOURCE_ROOT [ORACLE...]     prints what ran, with the worst error in units of the bound, and what was refused and why

Fails when a result is outside of its operator's bound (gpu_bounds.py), when the backend fails where it did not refuse, and when an operator that it has a kernel for ran in no case.
With 77 where OpenCL has no device. Inside of an oracle, the class Walk is what the probe calls after every case.
"""
import atexit
import collections
import ctypes as C
import glob
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from gpu_bounds import bound_of, unpromised

RAN, REFUSED, FAILED = range(3)
SCALE = os.environ.get("OPENQNN_TEST_SCALE", "20")
MORE = {"detect": "100"}  # oracles whose cases are float too seldom for that
NO_DEVICE = 77


def error_of(got, want, bound):
    """The largest error in units of the bound; 0 where both are the same bits, both NaN, or both the same infinity."""
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else float("inf")
    if want.dtype == np.float16 and bound:
        bound = max(bound, 2.0 ** -9)
    with np.errstate(all="ignore"):
        a, b = want.astype(np.float64), got.astype(np.float64)
        finite = np.isfinite(a)
        most = max(1.0, float(np.abs(a[finite]).max())) if finite.any() else 1.0
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        off = np.where(same, 0.0, np.abs(a - b) / (bound * most) if bound else np.inf)
    return float(np.where(np.isnan(off), np.inf, off).max()) if off.size else 0.0


class Walk:
    """After every case of the probe, the same one on the GPU."""

    def __init__(self, setting):
        walk, gpu = setting.split(":")
        self.lib = C.CDLL(walk)
        self.left, self.rows = None, collections.defaultdict(lambda: [0, 0.0])
        text = C.create_string_buffer(1024)
        status = self.lib.gpu_walk_open(gpu.encode(), text)
        if status:
            print(f"SKIP: no OpenCL device: {text.value.decode()}")
            sys.stdout.flush()
            os._exit(status if status == NO_DEVICE else 1)
        atexit.register(self._write)

    def case(self, op, case, ins, outs, results, before, after):
        """case: the probe's structure, already run; before, after: what the operator keeps, None where it keeps nothing."""
        kind = [op] + [" ".join(t.dtype if t is not None else "-" for t in side) for side in (ins, outs)]
        graph = (kind, [t.shape if t is not None else None for t in ins])
        again = before is not None and any(before)
        if again and self.left != (graph, before):
            self.rows[("unpromised", *kind, "a state that is not what the case before left")][0] += 1
            return
        keep = []
        for i in range(len(outs)):
            keep.append(np.full(max(1, case.outs[i].bytes), 0x5c, np.uint8))
            case.outs[i].data = keep[-1].ctypes.data
        status = self.lib.gpu_walk_run(C.byref(case), int(again))
        self.left = (graph, after) if status == RAN else None
        if status != RAN:
            what = re.sub(r"\s+", " ", case.text.decode())
            self.rows[("refused" if status == REFUSED else "failed", *kind, what)][0] += 1
            return
        if unpromised(op, ins):
            self.rows[("unpromised", *kind, unpromised(op, ins))][0] += 1
            return
        worst, about = 0.0, ""
        for i, (t, r) in enumerate(zip(outs, results)):
            got = np.frombuffer(keep[i][:case.outs[i].bytes].tobytes(), r.dtype).reshape(r.shape)
            e = error_of(got, r, bound_of(op, i))
            if e > 1 and not about:
                about = f"output {i}: shapes {[x.shape if x is not None else None for x in ins]} to {r.shape}; {self._differences(got, r)}"
            worst = max(worst, e)
        row = self.rows[("wrong" if worst > 1 else "ran", *kind, about)]
        row[0] += 1
        row[1] = max(row[1], worst)

    @staticmethod
    def _differences(got, want):
        bad = np.argwhere(~((got == want) | ((got != got) & (want != want))))
        return f"{len(bad)} of {got.size} differ; " + ", ".join(f"{tuple(map(int, i))}: CPU {want[tuple(i)]!r} GPU {got[tuple(i)]!r}" for i in bad[:4])

    def _write(self):
        with open(os.environ["OPENQNN_GPU_LOG"], "a") as f:
            f.writelines("\t".join((*kind, str(n), repr(worst))).replace("\n", " ") + "\n" for kind, (n, worst) in self.rows.items())


def run_oracles(walk, probe, gpu, root, only):
    with tempfile.TemporaryDirectory() as tmp:
        log = os.path.join(tmp, "log")
        for script in sorted(glob.glob(os.path.join(root, "tests/kernels/oracle_*.py"))):
            name = os.path.basename(script)[7:-3]
            if name == "common" or (only and name not in only):
                continue
            env = dict(os.environ, OPENQNN_GPU_WALK=f"{walk}:{gpu}", OPENQNN_GPU_LOG=log, OPENQNN_ISA="ref", OPENQNN_TEST_SCALE=MORE.get(name, SCALE))
            done = subprocess.run([sys.executable, script, probe], env=env, capture_output=True, text=True)
            if done.returncode == NO_DEVICE:
                print(done.stdout)
                sys.exit(NO_DEVICE)
            if done.returncode:
                sys.exit(f"{name} failed:\n{done.stdout}{done.stderr}")
        with open(log) as f:
            return [line.rstrip("\n").split("\t") for line in f]


def reason(text):
    """A refusal without the names and numbers of the case."""
    text = re.sub(r'^validate: (\d+: )?|QNN_\w+ \(.*?\): |\w+ "node"( on the GPU backend)?: ', "", text)
    text = re.sub(r"\b(in|out)_\d+_\d+", "a tensor", text)
    text = re.sub(r"\b[us]q\d+\[.*?\]", "fixed point", text)
    text = re.sub(r"\b([uif]\d+|[us]q\d+|b8)\b(?= (to|and|in|has|cannot|is)\b|$|;)", "TYPE", re.sub(r"(?<=to )([uif]\d+|[us]q\d+|b8)\b", "TYPE", text))
    return re.sub(r"(in|out)put \d+", r"\1put", re.sub(r"\b\d{2,}\b", "N", text))[:150]


def report(rows, root, whole):
    """What ran, per operator; refusals by reason; what was wrong, which fails the test."""
    ran, worst, refused, bad = collections.Counter(), collections.defaultdict(float), collections.defaultdict(collections.Counter), []
    for how, op, ins, outs, text, n, e in rows:
        if how == "ran":
            ran[op] += int(n)
            worst[op] = max(worst[op], float(e))
        elif how in ("refused", "unpromised"):
            refused[f"{how}: {reason(text)}"][op] += int(n)
        else:
            bad.append(f"{how.upper()} {op}: {ins} to {outs}: {n} cases, {float(e):.3g} of the bound: {text}")
    print(f"{sum(ran.values())} cases of {len(ran)} operators ran within their bounds; error in units of the bound:")
    print("  " + ", ".join(f"{op} {n} ({worst[op]:.2g})" for op, n in sorted(ran.items())))
    for text, ops in sorted(refused.items(), key=lambda x: -sum(x[1].values())):
        print(f"{sum(ops.values())} {text}: {', '.join(f'{op} {n}' for op, n in ops.most_common(6))}{' …' if len(ops) > 6 else ''}")
    with open(os.path.join(root, "src/backend/gpu/gpu_bind.c")) as f:
        lacking = sorted(set(re.findall(r"\[OP_(\w+)\] =", f.read())) - set(ran) - {"COUNT"}) if whole else []
    bad += [f"{op}: it has a kernel, and no case of the oracles ran" for op in lacking]
    print("\n".join(bad[:60]))
    return 1 if bad else 0


def main():
    walk, probe, gpu, root, *only = sys.argv[1:]
    sys.exit(report(run_oracles(walk, probe, gpu, root, only), root, not only))


if __name__ == "__main__":
    main()

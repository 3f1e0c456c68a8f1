#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of one operator through ONNX Runtime's QNN provider on these libraries, compared with ONNX Runtime's own CPU provider.

    pip install onnx onnxruntime; pip download --no-deps onnxruntime-qnn
    ort_suite.py --provider libonnxruntime_providers_qnn.so --backend libQnnHtp.so [--kind f32,u8,...] [--match TEXT] [--list]

Only the provider itself is needed of onnxruntime-qnn, with the libraries in its folder onnxruntime_qnn.libs. Kinds: f32, f16, and Q/DQ of u8, s8, u16 and s16
activations, compared with the tolerance of the provider's own tests (0.4 % of the range); u8c and u16c have a scale for each output channel of a convolution, u16w16 and u16wu16 weights of 16 bits; graph are graphs of
several operators (ort_groups.py). Each model is one of these in the end:

    same      everything ran on the backend, and the results agree
    kept      the provider did not offer the operator to the backend
    refused   the backend refused it
    differs, failed, crashed
    invalid   ONNX Runtime's CPU provider does not run it either
    known     one of the provider's own faults (KNOWN)

Cases run in a process of their own, as many as survive. In the end the executions on each library are told, which it counts itself
(docs/clients-add.md). Ends with 1 when a model differs, failed or crashed, and with 2 when nothing was executed on QNN."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import suite_run

KINDS = ("f32", "f16", "u8", "s8", "u16", "s16", "u8c", "u16c", "u16w16", "u16wu16", "graph")
ABOUT_WEIGHTS = ("u8c", "u16c", "u16w16", "u16wu16")

KNOWN = {r"^\+?Mean-.*/f16": "the provider gives the divisor as float32 beside float16",
         r"^\+?GroupNormalization.*/[us]": "the provider takes the node's layout, then not the node",
         r"^\+AveragePool-\d-dilated/[us]": "the provider takes the node's layout, then not the node",
         r"^\+(Max|Average|Lp)Pool-\d-ceil": "ONNX Runtime infers another shape than its CPU provider computes",
         r"^\+Resize-(nearest|linear)-.*-42.31": "the provider passes on no scales beside sizes",
         r"^\+Resize-(nearest-(sizes|policy)|old-linear)": "the provider passes on neither the way of rounding nor that of older opsets",
         r"^\+Gelu-tanh": "the provider passes on no approximation",
         r"^\+LSTM-forget": "the provider does not know input_forget",
         r"^\+Reduce.*-noop": "the provider takes no axes for all of them",
         r"^\+NonZero-const": "the provider makes a graph without inputs",
         r"^\+Transpose-int64": "the provider gives an output without dimensions",
         r"^\+GatherND-int64": "the provider gives an output of another type",
         r"^\+Gemm-\((1,|3,1|3,5)\)-1.0-1.0/[us]": "the provider adds the bias to a product without an encoding",
         r"^\+Einsum-bij,bj->bi": "the provider makes a MatMul of ranks 3 and 2",
         r"^GatherND-batch": "the provider has the batch dimensions in the output twice",
         r"^STFT/f16": "the provider leaves the window out",
         r"^attention_past-True": "on GPU the provider makes the output a tensor inside of the graph"}


def all_cases():
    import ort_cases as a
    import ort_cases_shape as b
    import ort_groups as c
    import ort_cases_more as d
    for family in (a.unary, a.binary, a.convolutions, a.products, a.pooling, a.reductions, a.normalization, b.moves, b.picks, b.resizes, b.recurrent, c.all_groups, *d.FAMILIES):
        yield from family()


def chosen(args):
    for case in all_cases():
        for kind in args.kind.split(","):
            if (kind == "graph") != hasattr(case, "draw"):
                continue
            if kind not in ("f32", "f16", "graph") and not case.quantize or kind in ABOUT_WEIGHTS and not case.has_weights():
                continue
            if re.search(args.match, f"{case.name}/{kind}"):
                yield case, kind


class Runner:
    def __init__(self, args):
        import onnxruntime
        self.ort, self.args = onnxruntime, args
        onnxruntime.register_execution_provider_library("QNN", os.path.abspath(args.provider))
        self.device = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "QNN"][:1]

    def on_cpu(self, model, feeds):
        options = self.ort.SessionOptions()
        options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        return self.ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)

    def session(self, model, strict):
        """With --context the model is compiled into a context binary first, and that is loaded."""
        if strict and self.args.context:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "context.onnx")
                self.open(model, strict, {"ep.context_enable": "1", "ep.context_file_path": path, "ep.context_embed_mode": self.args.context})
                return self.open(path, strict, {})
        return self.open(model, strict, {})

    def open(self, model, strict, entries):
        options = self.ort.SessionOptions()
        options.log_severity_level = 0 if not strict else 3
        for name, value in entries.items():
            options.add_session_config_entry(name, value)
        on_cpu = "QnnCpu" in self.args.backend  # the provider refuses to work on it without the other CPU provider
        if strict and not on_cpu:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        if strict and on_cpu:
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        settings = {"backend_path": os.path.abspath(self.args.backend)}
        settings.update(s.split("=", 1) for s in self.args.option)
        options.add_provider_for_devices(self.device, settings)
        session = self.ort.InferenceSession(model, options, enable_fallback=0)
        if strict and on_cpu and any(part.ep_name != "QNN" for part in session.get_provider_graph_assignment_info()):
            raise RuntimeError("fallback to CPU")
        return session

    def why_not(self, model):
        """The session that was refused once more, with the provider's log."""
        with tempfile.TemporaryFile() as log:
            saved = os.dup(2)
            os.dup2(log.fileno(), 2)
            try:
                self.session(model, strict=False)
            except Exception as e:  # pylint: disable=broad-except
                os.write(2, str(e).encode())
            finally:
                os.dup2(saved, 2)
                os.close(saved)
            log.seek(0)
            lines = log.read().decode(errors="replace").splitlines()
        ours = [f"{line} {after}" for line, after in zip(lines, lines[1:] + [""]) if re.search(r"(ValidateOpConfig|addNode|finalize)\(\) failed", line, re.I)]
        said = [line.strip() for line in lines if "REASON" in line]
        return ours, said

    def models(self, case, kind):
        import numpy as np
        import ort_groups
        import ort_models
        if kind == "graph":
            model, feeds = ort_groups.model_of(case)
            want = self.on_cpu(model, feeds)
            return ort_models.with_shapes(model, want), feeds, want
        model, feeds = ort_models.plain(case, np.float16 if kind == "f16" else np.float32)
        if kind not in ("f32", "f16"):
            results = self.on_cpu(model, feeds)
            model, feeds = ort_models.quantized(case, kind, results)
        want = self.on_cpu(model, feeds)
        return ort_models.with_shapes(model, want), feeds, want

    def one(self, case, kind):
        try:
            model, feeds, want = self.models(case, kind)
        except Exception as e:  # pylint: disable=broad-except
            return "invalid", str(e)[-200:]
        try:
            session = self.session(model, strict=True)
        except Exception as e:  # pylint: disable=broad-except
            ours, said = self.why_not(model)
            if ours:
                return "refused", ours[-1][-500:]
            return ("kept" if "fallback to CPU" in str(e) else "failed"), (said[-1] if said else str(e))[-300:]
        try:
            got = session.run(None, feeds)
        except Exception as e:  # pylint: disable=broad-except
            return "failed", str(e)[-300:]
        return self.compared(kind, got, want, getattr(case, "allowed", None))

    def compared(self, kind, got, want, allowed):
        import numpy as np
        for g, w in zip(got, want):
            if g.shape != w.shape or g.dtype != w.dtype:
                return "differs", f"{g.dtype}{g.shape} instead of {w.dtype}{w.shape}"
            if not w.size:
                continue
            if not np.issubdtype(w.dtype, np.floating):
                if (g != w).any():
                    return "differs", f"{int((g != w).sum())} of {w.size} numbers"
                continue
            g, w = g.astype(np.float64), w.astype(np.float64)
            reach = float(np.nanmax(np.abs(np.where(np.isfinite(w), w, 0)), initial=0))
            span = max(np.nanmax(w), 0) - min(np.nanmin(w), 0)
            bound = {"f32": 1e-5 + 1e-4 * reach, "f16": 2e-3 + 6e-3 * reach}.get(kind, 0.004 * span + 1e-6)
            bound = bound if allowed is None else 1e-5 + allowed * reach
            bad = ~((np.abs(g - w) <= bound) | (np.isnan(g) & np.isnan(w)) | (g == w))
            if bad.any():
                at = np.unravel_index(int(np.argmax(np.where(bad, np.nan_to_num(np.abs(g - w), nan=9e9), -1))), g.shape)
                return "differs", f"{int(bad.sum())} of {w.size}, e.g. {g[at]:.6g} instead of {w[at]:.6g} at {[int(i) for i in at]} (allowed {bound:.3g})"
        return "same", ""


def work(args):
    runner = Runner(args)
    for i, (case, kind) in enumerate(chosen(args)):
        if i < args.start:
            continue
        print(json.dumps(["begin", i, f"{case.name}/{kind}"]), flush=True)
        print(json.dumps(["end", i, *runner.one(case, kind)]), flush=True)


def supervise(args):
    """Runs workers until one reaches the end; a case in which one dies has crashed."""
    start = 0
    while True:
        command = [sys.executable, os.path.abspath(__file__), "--worker", "--start", str(start), "--provider", args.provider, "--backend", args.backend,
                   "--kind", args.kind, "--match", args.match] + [f"--option={o}" for o in args.option] + (["--context", args.context] if args.context else [])
        open_case = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
            for line in worker.stdout:
                if not line.startswith("["):
                    continue
                word, i, *rest = json.loads(line)
                if word == "begin":
                    open_case = (i, rest[0])
                else:
                    yield open_case[1], *rest
                    start, open_case = i + 1, None
        if open_case is None:
            return
        yield open_case[1], "crashed", f"status {worker.returncode}"
        start = open_case[0] + 1


def report(args):
    """Prints a line for each model that is not as it should be; how many there are of each kind."""
    count = collections.Counter()
    for name, how, why in supervise(args):
        for pattern, fault in KNOWN.items():
            if how not in ("same", "crashed") and re.search(pattern, name):
                how, why = "known", fault
        count[how] += 1
        if args.verbose or how not in ("same", "kept", "invalid", "known"):
            print(f"{how:8} {name}: {why}", flush=True)
    return count


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--provider", required=True)
    p.add_argument("--backend", required=True)
    p.add_argument("--kind", default=",".join(KINDS))
    p.add_argument("--match", default="")
    p.add_argument("--option", action="append", default=[], help="an option of the provider, NAME=VALUE")
    p.add_argument("--context", choices=("0", "1"), help="go through a context binary, beside the model (0) or in it (1)")
    p.add_argument("--verbose", action="store_true", help="print the models that are the same or kept, too")
    p.add_argument("--list", action="store_true")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.list:
        for case, kind in chosen(args):
            print(f"{case.name}/{kind}")
        return 0
    if args.worker:
        work(args)
        return 0
    with tempfile.NamedTemporaryFile(prefix="counts-") as counts:
        os.environ["OPENQNN_COUNTS"] = counts.name
        count = report(args)
        executed, failed = suite_run.read_counts(counts.name)
    print(", ".join(f"{n} {how}" for how, n in count.most_common()) or "no case of that name")
    print(f"executions: {suite_run.describe(executed)}; that failed: {suite_run.describe(failed)}")
    if count["differs"] + count["failed"] + count["crashed"]:
        return 1
    return 0 if executed else 2


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests of single operators through ONNX Runtime's QNN provider on these libraries.

    pip install onnx onnxruntime; pip download --no-deps onnxruntime-qnn
    ort_nodes.py --provider libonnxruntime_providers_qnn.so --backend libQnnHtp.so [--match TEXT] [--verbose]

The tests come with the package onnx, with their inputs and results. Each is one of these in the end:

    same      some of it ran on the backend, and the results are those of the test
    as cpu    they are not, but those of ONNX Runtime's CPU provider are not either
    kept      all of it stayed with the CPU provider
    invalid   the CPU provider does not run it either
    known     one of the provider's own faults (KNOWN)
    differs, failed, crashed

Cases run in a process of their own, as many as survive. Ends with 1 when a test differs, failed or crashed."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import warnings

KNOWN = {r"^test_affine_grid_.*_expanded": "the provider makes a graph without inputs",
         r"^test_attention_.*(local_window_ext_cache|padded_kv).*_expanded": "the provider leaves an input of its graph out",
         r"^test_convtranspose_output_shape$": "the provider has no negative padding, and an output that would need it",
         r"^test_flexattention_double": "the provider gives a Reshape another type",
         r"^test_nonzero_example$": "the provider has a result of another size than the model",
         r"^test_resize_.*(nearest|scales_linear)": "the provider passes on neither the way of rounding nor scales beside sizes",
         r"^test_stft": "the provider reads an input as if it were a constant",
         r"^test_upsample_nearest": "the provider takes the node's layout, then not the node"}


def cases(match):
    import logging
    from onnx.backend.test.case.node import collect_testcases
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    return [c for c in sorted(collect_testcases(None), key=lambda c: c.name) if re.search(match, c.name)]


def with_shapes(case):
    """The model with the shapes of the tensors that are given, and these tensors."""
    import numpy as np
    import onnx
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    given, wanted = ([np.asarray(a) for a in arrays] for arrays in case.data_sets[0])
    for info, value in zip([*model.graph.input, *model.graph.output], given + wanted):
        if info.type.WhichOneof("value") != "tensor_type":
            raise ValueError("a value that is no tensor")
        info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, value.shape))
    return model.SerializeToString(), {i.name: v for i, v in zip(model.graph.input, given)}, wanted


def difference(got, want):
    import numpy as np
    for g, w in zip(got, want):
        if g.shape != w.shape:
            return f"{g.shape} instead of {w.shape}"
        bad = g != w
        if w.dtype.kind == "f":
            a, b = g.astype(np.float64), w.astype(np.float64)
            part = 1e-2 if w.dtype == np.float16 else 1e-3
            bad &= ~((np.abs(a - b) <= part * (1 + np.abs(b))) | (np.isnan(a) & np.isnan(b)))
        if bad.any():
            return f"{int(bad.sum())} of {w.size}, e.g. {g[bad][0]} instead of {w[bad][0]}"
    return ""


class Runner:
    def __init__(self, args):
        import onnxruntime
        self.ort, self.backend = onnxruntime, os.path.abspath(args.backend)
        onnxruntime.register_execution_provider_library("QNN", os.path.abspath(args.provider))
        self.device = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "QNN"][:1]

    def options(self):
        options = self.ort.SessionOptions()
        options.log_severity_level = 4
        return options

    def on_cpu(self, model, feeds):
        return self.ort.InferenceSession(model, self.options(), providers=["CPUExecutionProvider"]).run(None, feeds)

    def on_backend(self, model, feeds):
        options = self.options()
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        options.add_provider_for_devices(self.device, {"backend_path": self.backend})
        session = self.ort.InferenceSession(model, options, enable_fallback=0)
        session.disable_fallback()
        return any(part.ep_name == "QNN" for part in session.get_provider_graph_assignment_info()), session.run(None, feeds)

    def one(self, case):
        try:
            model, feeds, want = with_shapes(case)
            reference = self.on_cpu(model, feeds)
        except Exception as e:  # pylint: disable=broad-except
            return "invalid", str(e)[:200]
        try:
            there, got = self.on_backend(model, feeds)
        except Exception as e:  # pylint: disable=broad-except
            return "failed", str(e)[:300]
        if not there:
            return "kept", ""
        why = difference(got, want)
        return ("as cpu" if why and not difference(got, reference) else "differs" if why else "same"), why


def work(args):
    runner = Runner(args)
    for i, case in enumerate(cases(args.match)):
        if i >= args.start:
            print(json.dumps(["begin", i, case.name]), flush=True)
            print(json.dumps(["end", i, *runner.one(case)]), flush=True)


def supervise(args):
    """Runs workers until one reaches the end; a test in which one dies has crashed."""
    start = 0
    while True:
        command = [sys.executable, os.path.abspath(__file__), "--worker", "--start", str(start), "--provider", args.provider, "--backend", args.backend, "--match", args.match]
        running = None
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
            for line in (text for text in worker.stdout if text.startswith("[")):
                word, i, *rest = json.loads(line)
                if word == "begin":
                    running = rest[0]
                else:
                    yield running, *rest
                    running = None
                start = i + 1
        if running is None:
            return
        yield running, "crashed", f"status {worker.returncode}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--provider", required=True)
    p.add_argument("--backend", required=True)
    p.add_argument("--match", default="")
    p.add_argument("--verbose", action="store_true", help="print all tests that were run")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.worker:
        work(args)
        return 0
    count = collections.Counter()
    for name, how, why in supervise(args):
        if how in ("differs", "failed", "crashed"):
            for pattern, fault in KNOWN.items():
                if re.search(pattern, name):
                    how, why = "known", fault
        count[how] += 1
        if args.verbose or how in ("differs", "failed", "crashed"):
            print(f"{how:8} {name}: {why}", flush=True)
    print(", ".join(f"{n} {how}" for how, n in count.most_common()) or "no test of that name")
    return 1 if count["differs"] + count["failed"] + count["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options, context binaries, profiles and threads of ONNX Runtime's QNN provider on these libraries; ort_suite.py is about operators.

    ort_options.py --provider libonnxruntime_providers_qnn.so --lib FOLDER [--match TEXT] [--list]

FOLDER has libQnnHtp.so and the others. Every scenario is a process of its own, with a folder of its own as its working directory; it passes when
everything ran on the backend and agrees with ONNX Runtime's CPU provider, and when what it asked for beside is there. Ends with 1 when one fails."""
import argparse
import os
import subprocess
import sys
import tempfile

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = (function, ())
    return function


def each(*values):
    """A scenario for every one of these."""
    def add(function):
        for v in values:
            SCENARIOS[f"{function.__name__}[{v}]"] = (function, (v,))
        return function
    return add


# ---- models ------------------------------------------------------------------------------------------------------------------------


def network(rows=4, seed=0, quantize=False, width=64, own=0):
    """Two products with a Relu between them, and an addition of what depends on the rows; weights depend on the seed alone."""
    import numpy as np
    from onnx import helper, numpy_helper
    rng = np.random.default_rng(seed)
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def around(name, scale, zero=128):
        if not quantize:
            return name
        s, z = constant(name + "_s", np.float32(scale)), constant(name + "_z", np.uint8(zero))
        nodes.append(helper.make_node("QuantizeLinear", [name, s, z], [name + "_q"], name=name + "_ql"))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", s, z], [name + "_d"], name=name + "_dl"))
        return name + "_d"

    def weights(name):
        if not quantize:
            return constant(name, rng.uniform(-1, 1, (width, width)).astype(np.float32))
        q, s, z = constant(name + "_q", rng.integers(-127, 127, (width, width)).astype(np.int8)), constant(name + "_s", np.float32(1 / 127)), constant(name + "_z", np.int8(0))
        nodes.append(helper.make_node("DequantizeLinear", [q, s, z], [name], name=name + "_dl"))
        return name

    def step(op, inputs, out):
        nodes.append(helper.make_node(op, inputs, [out], name=out + "_" + op))
        return out
    x = around("x", 2 / 255)
    a = around(step("MatMul", [x, weights("w1")], "a"), 0.2)
    b = around(step("Relu", [a], "b"), 0.1, 0)
    c = around(step("MatMul", [b, weights("w2")], "c"), 0.6)
    plus = np.linspace(-1, 1 + own, rows * width).reshape(rows, width).astype(np.float32)
    k = constant("k", plus)
    if quantize:
        k = constant("k_q", np.clip(np.round(plus * 127) + 128, 0, 255).astype(np.uint8))
        nodes.append(helper.make_node("DequantizeLinear", [k, constant("k_s", np.float32(1 / 127)), constant("k_z", np.uint8(128))], ["k_d"], name="k_dl"))
        k = "k_d"
    y = around(step("Add", [c, k], "y" if not quantize else "t"), 0.6)
    float32 = 1
    graph = helper.make_graph(nodes, f"net{rows}", [helper.make_tensor_value_info("x", float32, (rows, width))],
                              [helper.make_tensor_value_info(y, float32, (rows, width))], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def feeds(rows=4, width=64):
    import numpy as np
    return {"x": np.random.default_rng(9).uniform(-1, 1, (rows, width)).astype(np.float32)}


# ---- sessions ----------------------------------------------------------------------------------------------------------------------


class Runner:
    def __init__(self, args):
        import onnxruntime
        self.ort, self.lib = onnxruntime, os.path.abspath(args.lib)
        onnxruntime.register_execution_provider_library("QNN", os.path.abspath(args.provider))
        self.device = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "QNN"][:1]

    def path(self, name):
        return os.path.join(self.lib, f"libQnn{name}.so")

    def open(self, model, options=None, entries=None, backend="Htp", strict=True):
        so = self.ort.SessionOptions()
        so.log_severity_level = 2
        for name, value in (entries or {}).items():
            so.add_session_config_entry(name, value)
        if strict and backend != "Cpu":
            so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        so.add_provider_for_devices(self.device, {"backend_path": self.path(backend), **(options or {})})
        return self.ort.InferenceSession(model, so)

    def want(self, model, given):
        so = self.ort.SessionOptions()
        so.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return self.ort.InferenceSession(model, so, providers=["CPUExecutionProvider"]).run(None, given)

    def same(self, session, model, given, tolerance=1e-4, run_options=None):
        import numpy as np
        for got, want in zip(session.run(None, given, run_options), self.want(model, given)):
            assert got.shape == want.shape, f"{got.shape} instead of {want.shape}"
            reach = np.abs(want).max(initial=1)
            far = np.abs(got.astype(np.float64) - want).max(initial=0) / reach
            assert far <= tolerance, f"{far:.3g} of the largest number away, {tolerance:.3g} allowed"

    def both(self, options, tolerance=1e-4):
        """In float32 and with Q/DQ."""
        for quantize in (False, True):
            model = network(quantize=quantize)
            self.same(self.open(model, options), model, feeds(), 0.012 if quantize else tolerance)


def files(suffix):
    return sorted(os.path.join(at, n) for at, _, names in os.walk(".") for n in names if n.endswith(suffix))


# ---- options -----------------------------------------------------------------------------------------------------------------------


@each("68", "69", "73", "75", "79", "81", "0")
def htp_arch(r, value):
    r.both({"htp_arch": value})


@each("0", "30", "36", "43", "57", "60", "69", "87")
def soc_model(r, value):
    r.both({"soc_model": value})


@each("burst", "balanced", "default", "high_performance", "high_power_saver", "low_balanced", "extreme_power_saver", "low_power_saver", "power_saver",
      "sustained_high_performance")
def htp_performance_mode(r, value):
    r.both({"htp_performance_mode": value, "rpc_control_latency": "100"})


@each("low", "normal", "normal_high", "high")
def qnn_context_priority(r, value):
    r.both({"qnn_context_priority": value})


@each("0", "1", "2", "3")
def htp_graph_finalization_optimization_mode(r, value):
    r.both({"htp_graph_finalization_optimization_mode": value})


@each("0", "1", "2", "8", "64")
def vtcm_mb(r, value):
    r.both({"vtcm_mb": value})


@each("htp", "cpu", "gpu")
def backend_type(r, value):
    """By type, not by path: the library is looked for beside the provider, then by the linker."""
    model = network()
    so = r.ort.SessionOptions()
    so.add_provider_for_devices(r.device, {"backend_type": value})
    r.same(r.ort.InferenceSession(model, so), model, feeds())


FLAGS = ("enable_htp_shared_memory_allocator", "offload_graph_io_quantization", "disable_file_mapped_weights", "enable_htp_spill_fill_buffer",
         "enable_htp_graph_splitting", "enable_htp_prepare_and_load", "skip_backend_op_validation", "enable_htp_monolithic_lstm", "enable_htp_fp16_clamp_overflow",
         "enable_block_quant_weight_optimization", "enable_framework_op_trace", "skip_qnn_version_check")


@each(*(f"{name}={value}" for name in FLAGS for value in "01"))
def flag(r, value):
    r.both(dict([value.split("=")]))


@each("htp_reused_io_limit_mb=1", "num_graph_prepare_threads=2", "htp_graph_splitting_num_prepare_threads=2", "device_id=0")
def number(r, value):
    r.both(dict([value.split("=")]))


@scenario
def half(r):
    """The provider wants a SoC with it."""
    r.both({"enable_htp_fp16_precision": "1", "soc_model": "60"}, tolerance=5e-3)


@scenario
def extended_udma(r):
    r.both({"extended_udma": "1", "htp_arch": "81"})


@scenario
def bf16(r):
    """The provider writes bfloat16 operators; the library says that it has none, and the CPU provider computes."""
    model = network()
    r.same(r.open(model, {"htp_bf16_enable": "1", "htp_arch": "81"}, strict=False), model, feeds(), 0.02)


# ---- what is written ---------------------------------------------------------------------------------------------------------------


@each("basic", "detailed", "optrace")
def profile(r, level):
    model = network(quantize=True)
    session = r.open(model, {"profiling_level": level, "profiling_file_path": "profile.csv"})
    r.same(session, model, feeds(), 0.012)
    del session
    text = "".join(open(f, encoding="utf-8", errors="replace").read() for f in files(".csv"))
    rows = text.count("\n")
    assert rows > (10 if level != "basic" else 3), f"{rows} rows in {files('.csv')}: {text[:300]}"
    assert level == "basic" or "MatMul" in text, text[:600]
    if level == "optrace":
        assert files(".log") or files("qnn.log"), f"no log: {files('')}"


@scenario
def json_graph(r):
    import json
    model = network()
    session = r.open(model, {"dump_json_qnn_graph": "1", "json_qnn_graph_dir": "."})
    r.same(session, model, feeds())
    found = files(".json")
    assert found, files("")
    graph = json.load(open(found[0], encoding="utf-8"))
    assert "MatMul" in str(graph) or "FullyConnected" in str(graph)


@scenario
def input_graph(r):
    model = network()
    r.same(r.open(model, {"dump_qnn_ep_input_graph": "1", "dump_qnn_ep_input_graph_dir": "."}), model, feeds())


# ---- contexts ----------------------------------------------------------------------------------------------------------------------


def compiled(r, model, path, embed, options=None, more=None):
    r.open(model, options, {"ep.context_enable": "1", "ep.context_file_path": path, "ep.context_embed_mode": embed, **(more or {})})
    assert os.path.exists(path), files("")


@each("0", "1")
def context(r, embed):
    for quantize in (False, True):
        model = network(quantize=quantize)
        path = f"context{int(quantize)}.onnx"
        compiled(r, model, path, embed)
        assert bool(files(".bin")) == (embed == "0"), files("")
        r.same(r.open(path), model, feeds(), 0.012 if quantize else 1e-4)


@each("enable_htp_spill_fill_buffer", "enable_htp_shared_memory_allocator", "disable_file_mapped_weights", "enable_vtcm_backup_buffer_sharing", "htp_share_resource_optimization")
def context_with(r, option):
    """Those that share resources between contexts make lists of contexts, so they are for models that have some."""
    model = network(quantize=True)
    compiled(r, model, "context.onnx", "0", {option: "1"} if "shar" not in option or "memory" in option else None)
    r.same(r.open(os.path.abspath("context.onnx"), {option: "1"}), model, feeds(), 0.012)


@scenario
def prepare_only(r):
    model = network(quantize=True)
    compiled(r, model, "context.onnx", "0", {"enable_htp_prepare_only": "1"})
    r.same(r.open("context.onnx"), model, feeds(), 0.012)


@each("0", "1")
def shared_contexts(r, quantize):
    """Two models into one binary, as prompts and steps of a language model: weights are there once, and both run."""
    quantize = quantize == "1"
    width = 256
    models = [network(rows, quantize=quantize, width=width) for rows in (32, 1)]
    compiled(r, models[0], "alone.onnx", "0")
    alone = sum(os.path.getsize(f) for f in files(".bin"))
    for f in files(".bin"):
        os.remove(f)
    share = {"ep.share_ep_contexts": "1"}
    for name, model in zip(("prompt", "step"), models):  # graphs are named after files
        with open(name + ".onnx", "wb") as f:
            f.write(model)
    compiled(r, "prompt.onnx", "first.onnx", "0", more=share)
    compiled(r, "step.onnx", "second.onnx", "0", more={**share, "ep.stop_share_ep_contexts": "1"})
    both = sum(os.path.getsize(f) for f in files(".bin"))
    weights = 2 * width * width * (1 if quantize else 4)
    print(f"one model {alone} bytes, both {both}, weights {weights}")
    assert both < alone + weights // 4
    kept = [r.open(path, None, share) for path in ("first.onnx", "second.onnx")]  # the second one takes its graph from the first one's context
    for session, model, rows in zip(kept, models, (32, 1)):
        r.same(session, model, feeds(rows, width), 0.012 if quantize else 1e-4)


@scenario
def partitions(r):
    """An operator in the middle that the provider does not know: two contexts in one model."""
    import onnx
    from onnx import helper
    m = onnx.load_from_string(network())
    for n in m.graph.node:
        n.input[:] = ["b2" if i == "b" else i for i in n.input]
    at = [i for i, n in enumerate(m.graph.node) if "b" in n.output][0]
    m.graph.node.insert(at + 1, helper.make_node("Erf", ["b"], ["b1"], name="erf"))
    m.graph.node.insert(at + 2, helper.make_node("CDist", ["b1", "b1"], ["far"], domain="com.microsoft", metric="euclidean", name="far"))
    m.graph.node.insert(at + 3, helper.make_node("ReduceSum", ["far"], ["sum"], keepdims=0, name="sum"))
    m.graph.node.insert(at + 4, helper.make_node("Add", ["b1", "sum"], ["b2"], name="plus"))
    m.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for name, shape in (("far", (4, 4)), ("sum", ()), ("b2", (4, 64)), ("c", (4, 64))):
        m.graph.value_info.append(helper.make_tensor_value_info(name, 1, shape))
    model = m.SerializeToString()
    for embed in "01":
        path = f"parts{embed}.onnx"
        r.open(model, None, {"ep.context_enable": "1", "ep.context_file_path": path, "ep.context_embed_mode": embed}, strict=False)
        parts = [n for n in onnx.load(path).graph.node if n.op_type == "EPContext"]
        assert len(parts) == 2, [n.op_type for n in onnx.load(path).graph.node]
        r.same(r.open(path, strict=False), model, feeds(), 1e-3)


@scenario
def damaged_context(r):
    model = network()
    compiled(r, model, "context.onnx", "0")
    path = files(".bin")[0]
    data = bytearray(open(path, "rb").read())
    for broken in (data[:100], data[:len(data) // 2], b"", bytes(len(data))):
        with open(path, "wb") as f:
            f.write(broken)
        try:
            r.open("context.onnx")
        except Exception as e:  # pylint: disable=broad-except
            print(str(e)[:200])
        else:
            raise AssertionError(f"{len(broken)} bytes were taken for a context")


@scenario
def newer_context(r):
    """A context of a newer architecture than the device."""
    model = network()
    compiled(r, model, "context.onnx", "0", {"htp_arch": "79"})
    r.same(r.open("context.onnx", {"htp_arch": "79"}), model, feeds())
    try:
        r.open("context.onnx", {"htp_arch": "68"})
    except Exception as e:  # pylint: disable=broad-except
        print(str(e)[:200])
        return
    raise AssertionError("v68 took a context of v79")


# ---- runs --------------------------------------------------------------------------------------------------------------------------


@each("1", "0")
def threads(r, shared):
    """One session, several threads, each with power options of its own."""
    import threading
    model = network(quantize=True)
    session = r.open(model, {"enable_htp_shared_memory_allocator": shared})
    bad = []

    def work(mode):
        options = r.ort.RunOptions()
        options.add_run_config_entry("qnn.htp_perf_mode", mode)
        options.add_run_config_entry("qnn.htp_perf_mode_post_run", "balanced")
        options.add_run_config_entry("qnn.rpc_control_latency", "50")
        try:
            for _ in range(10):
                r.same(session, model, feeds(), 0.012, options)
        except Exception as e:  # pylint: disable=broad-except
            bad.append(e)
    all_threads = [threading.Thread(target=work, args=(mode,)) for mode in ("burst", "balanced", "power_saver", "high_performance", "low_balanced")]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    assert not bad, bad[0]


@scenario
def sessions(r):
    """Many at once, of several libraries, freed in another order."""
    model = network()
    kept = [r.open(model, backend=b, strict=False) for b in ("Htp", "Cpu", "Htp", "Cpu", "Htp")]
    for i in (3, 0, 1):
        r.same(kept[i], model, feeds())
        kept[i] = None
    for s in kept:
        if s:
            r.same(s, model, feeds())


@scenario
def bound_memory(r):
    """I/O binding with memory of the provider."""
    import numpy as np
    model = network()
    session = r.open(model, {"enable_htp_shared_memory_allocator": "1"})
    given = feeds()["x"]
    binding = session.io_binding()
    binding.bind_cpu_input("x", given)
    binding.bind_output("y")
    for _ in range(3):
        session.run_with_iobinding(binding)
    want = r.want(model, {"x": given})[0]
    assert np.abs(binding.copy_outputs_to_cpu()[0] - want).max() <= 1e-3


@scenario
def unknown_rows(r):
    """A dimension without a number: the provider leaves such nodes to the CPU provider."""
    import onnx
    m = onnx.load_from_string(network())
    m.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    m.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    model = m.SerializeToString()
    r.same(r.open(model, strict=False), model, feeds())


@scenario
def no_rows(r):
    """A tensor without elements."""
    import numpy as np
    from onnx import helper, numpy_helper
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["a"], name="a"), helper.make_node("Concat", ["a", "none"], ["y"], axis=0, name="y")], "none",
                              [helper.make_tensor_value_info("x", 1, (2, 3))], [helper.make_tensor_value_info("y", 1, (2, 3))],
                              [numpy_helper.from_array(np.zeros((0, 3), np.float32), "none")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    r.same(r.open(model, strict=False), model, {"x": np.ones((2, 3), np.float32)})


@scenario
def op_package(r):
    """A package that is not there is an error at the beginning, or nothing; never a crash."""
    model = network()
    try:
        r.same(r.open(model, {"op_packages": "Custom:./libNowhere.so:CustomInterfaceProvider:CPU"}, strict=False), model, feeds())
    except Exception as e:  # pylint: disable=broad-except
        print(str(e)[:200])


@each("plain", "attribute")
def own_operator(r, value):
    """Operators of the package of tests/api, between others; an attribute becomes a parameter. Domains of such operators come from the environment."""
    import numpy as np
    from onnx import helper
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    subprocess.run(["cc", "-shared", "-fPIC", "-I", os.path.join(root, "include"), os.path.join(root, "tests", "api", "package.c"), "-o", "libtests.so"], check=True)
    more = {"constant": 2.5} if value == "attribute" else {}
    nodes = [helper.make_node("Neg", ["x"], ["a"], name="a"), helper.make_node("Increment", ["a"], ["b"], domain="tests", name="b", **more), helper.make_node("Abs", ["b"], ["y"], name="y")]
    graph = helper.make_graph(nodes, "own", [helper.make_tensor_value_info("x", 1, (1, 32))], [helper.make_tensor_value_info("y", 1, (1, 32))], [], value_info=[helper.make_tensor_value_info("b", 1, (1, 32))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("tests", 1)], ir_version=8).SerializeToString()
    options = {"op_packages": "Increment:" + os.path.abspath("libtests.so") + ":TestsOpPackageInterfaceProvider"}
    given = np.random.default_rng(3).uniform(-1, 1, (1, 32)).astype(np.float32)
    got = r.open(model, options, backend="Cpu").run(None, {"x": given})[0]
    assert np.array_equal(got, np.abs(-given + np.float32(more.get("constant", 1))))


@each("Cpu", "Htp", "Saver")
def saver(r, checks):
    """libQnnSaver.so computes nothing, so running may fail; but what was asked of it is on the disk. One library is asked what it supports, the Saver gets the graph."""
    model = network()
    try:
        r.open(model, {"qnn_saver_path": r.path("Saver")}, backend=checks, strict=False).run(None, feeds())
    except Exception as e:  # pylint: disable=broad-except
        print(str(e)[:200])
    assert files("saver_output.c") and files("params.bin"), f"nothing was recorded: {files('')}"


@each("Cpu", "Htp", "Ir")
def dlc(r, checks):
    """The graph as a DLC, for a library that runs it or for none."""
    try:
        r.open(network(), {"dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": "./dlc", "qnn_ir_backend_path": r.path("Ir")}, backend=checks, strict=False)
    except Exception as e:  # pylint: disable=broad-except
        print(str(e)[:200])
    assert len(files(".dlc")) == 1, files("")


@each("0", "1")
def one_input_twice(r, offload):
    """A graph input that is quantized twice."""
    import numpy as np
    from onnx import helper, numpy_helper
    constants = [numpy_helper.from_array(np.float32(1 / 255), "s"), numpy_helper.from_array(np.uint8(0), "z")]
    nodes = []
    for name in "ab":
        nodes.append(helper.make_node("QuantizeLinear", ["x", "s", "z"], [name + "_q"], name="q" + name))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", "s", "z"], [name], name="d" + name))
    nodes += [helper.make_node("Add", ["a", "b"], ["t"], name="add"), helper.make_node("QuantizeLinear", ["t", "s", "z"], ["t_q"], name="qt"),
              helper.make_node("DequantizeLinear", ["t_q", "s", "z"], ["y"], name="dt")]
    graph = helper.make_graph(nodes, "twice", [helper.make_tensor_value_info("x", 1, (1, 3))], [helper.make_tensor_value_info("y", 1, (1, 3))], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()
    given = {"x": np.array([[0.1, 0.2, 0.3]], np.float32)}
    for backend in ("Cpu", "Htp"):
        r.same(r.open(model, {"offload_graph_io_quantization": offload}, backend=backend, strict=False), model, given, 0.02)


@scenario
def order_of_tensors(r):
    """Inputs and outputs are created in the order of the model, whatever the order of the nodes."""
    import json
    from onnx import helper
    nodes = [helper.make_node("Relu", ["i" + n], ["o" + n], name="relu" + n) for n in "132"]
    sizes = {"1": 3, "2": 5, "3": 7}
    graph = helper.make_graph(nodes, "order", [helper.make_tensor_value_info("i" + n, 1, (1, sizes[n])) for n in "213"],
                              [helper.make_tensor_value_info("o" + n, 1, (1, sizes[n])) for n in "213"])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    r.open(model, {"dump_json_qnn_graph": "1", "json_qnn_graph_dir": "."}, backend="Cpu")
    with open(next(f for f in files(".json") if "_tensor_log" not in f), encoding="utf-8") as f:
        tensors = json.load(f)["graph"]["tensors"]
    for kind, want in ((0, ["i2", "i1", "i3"]), (1, ["o2", "o1", "o3"])):
        assert sorted((n for n, t in tensors.items() if t["type"] == kind), key=lambda n: tensors[n]["id"]) == want


@scenario
def input_without_elements(r):
    """Resize with a region of interest that is an input of the graph and has no elements."""
    import numpy as np
    from onnx import helper, numpy_helper
    graph = helper.make_graph([helper.make_node("Resize", ["x", "roi", "scales"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor", name="resize")],
                              "resize", [helper.make_tensor_value_info("x", 1, (1, 3, 10, 10)), helper.make_tensor_value_info("roi", 1, (0,))],
                              [helper.make_tensor_value_info("y", 1, (1, 3, 20, 20))], [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8).SerializeToString()
    r.same(r.open(model), model, {"x": np.random.default_rng(1).uniform(-10, 10, (1, 3, 10, 10)).astype(np.float32), "roi": np.zeros(0, np.float32)})


@scenario
def input_from_another_part(r):
    """What comes from a node of the CPU provider is an input of the graph beside the model's own."""
    import numpy as np
    from onnx import helper, numpy_helper
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="a"), helper.make_node("Erf", ["a"], ["b"], name="b"), helper.make_node("Add", ["x", "b"], ["y"], name="y")]
    graph = helper.make_graph(nodes, "parts", [helper.make_tensor_value_info("x", 1, (1, 3))], [helper.make_tensor_value_info("y", 1, (1, 3))], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    for backend in ("Cpu", "Htp"):
        r.same(r.open(model, backend=backend, strict=False), model, {"x": np.array([[1, -2, 3]], np.float32)})


@scenario
def adapter(r):
    """Binary sections that a run names (lora_config): a context made from the binary as it was first computes with them from then on."""
    import numpy as np
    from onnx import helper
    os.environ.update(OPENQNN_LIB_DIR=r.lib, OPENQNN_TEST_LIB="libQnnHtp.so")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "clients"))
    from qnn_calls import Graph, Library
    rng, library, names = np.random.default_rng(1), Library(), []
    weights = [rng.integers(-3, 4, (8, 4)).astype(np.float32) for _ in range(2)]
    for k, w in enumerate(weights):  # an update of zeros each
        g = Graph(library, 2, updates=True)
        x, y = g.input(np.zeros((2, 8), np.float32), "f32"), g.output((2, 4), "f32")
        g.node("MatMul", [x, g.const(w, "f32")], [y])
        g.run()
        names = [v.tensor.v.name.decode() for v in (x, y)]
        for name, data in (("first.bin", g.base[0].raw[:g.base[1].value]), (f"section{k}.bin", g.section.raw)):
            with open(name, "wb") as f:
                f.write(data)
        with open(f"adapter{k}.txt", "w", encoding="utf-8") as f:
            f.write(f"graph;{os.path.abspath(f'section{k}.bin')}\n")
        g.close()
    node = helper.make_node("EPContext", names[:1], names[1:], name="graph", domain="com.microsoft", main_context=1, embed_mode=0, ep_cache_context="first.bin", source="QNN",
                            partition_name="graph")
    graph = helper.make_graph([node], "adapter", [helper.make_tensor_value_info(names[0], 1, (2, 8))], [helper.make_tensor_value_info(names[1], 1, (2, 4))])
    with open("adapter.onnx", "wb") as f:
        f.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10).SerializeToString())
    session, x = r.open("adapter.onnx"), rng.integers(-5, 6, (2, 8)).astype(np.float32)
    assert not session.run(None, {names[0]: x})[0].any()
    for k in (0, 1, 0):
        options = r.ort.RunOptions()
        options.add_run_config_entry("qnn.lora_config", os.path.abspath(f"adapter{k}.txt"))
        for o in (options, None):
            assert (session.run(None, {names[0]: x}, o)[0] == x @ weights[k]).all()


# ---- one process per scenario ------------------------------------------------------------------------------------------------------


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--provider", required=True)
    p.add_argument("--lib", required=True)
    p.add_argument("--match", default="")
    p.add_argument("--list", action="store_true")
    p.add_argument("--one", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.one:
        function, values = SCENARIOS[args.one]
        function(Runner(args), *values)
        return 0
    failed = 0
    chosen = [name for name in SCENARIOS if args.match in name]
    for name in chosen:
        if args.list:
            print(name)
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, os.path.abspath(__file__), "--provider", os.path.abspath(args.provider), "--lib", os.path.abspath(args.lib), "--one", name]
            env = {**os.environ, "ORT_QNN_CUSTOM_OP_DOMAINS": "tests:Increment", "LD_LIBRARY_PATH": os.path.abspath(args.lib) + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=300, check=False)
        said = (done.stdout.strip().splitlines() or [""])[-1] if done.returncode == 0 else (done.stderr.strip().splitlines() or [""])[-1]
        print(f"{'ok' if done.returncode == 0 else 'FAILED'} {name} {said[:400]}", flush=True)
        failed += done.returncode != 0
    print(f"{len(chosen)} scenarios, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

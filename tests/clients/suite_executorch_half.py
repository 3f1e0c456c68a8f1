# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's float modules: graphs of float32 tensors with the precision FLOAT16, which is its default for HTP. Conversions of what the client brings or takes lose nothing on the way."""
import numpy as np

from client_cases import case, equal, main, near, quantized, random, real


@case("i32", "u8", "i16")
def cast_to_integers(g, dtype):
    """Cut towards zero: what is just below a whole number as f32 would be that number as f16."""
    x = np.array([8.99999, 0.99999, 100.9999, 3.0, 127.99999, 41.5], np.float32)
    y = g.output(x.shape, dtype)
    g.node("Cast", [g.input(x, "f32")], [y])
    equal(g.run()[0], np.trunc(x))


@case
def cast_from_integers(g):
    """More digits than an f16 has, and more than its largest number."""
    x = np.array([2049, -4099, 70000, -16777215, 7])
    y = g.output(x.shape, "f32")
    g.node("Cast", [g.input(x, "i32")], [y])
    equal(g.run()[0], x)


@case
def cast_of_what_is_computed_too(g):
    """The same input is read by an operator in f16, too."""
    x = np.array([8.99999, -2.99999, 0.5, 63.99999], np.float32)
    whole, y = g.output(x.shape, "i32"), g.output(x.shape, "f32")
    given = g.input(x, "f32")
    g.node("Relu", [given], [y])
    g.node("Cast", [given], [whole])
    results = g.run()
    equal(results[0], np.trunc(x))
    near(results[1], np.maximum(x, 0), 64 * 2 ** -11)


@case
def quantize(g):
    """16 bits of fixed point are more than the digits of an f16."""
    x = random("quantize").uniform(-30, 30, 64).astype(np.float32)
    y = g.output(x.shape, "uq16", scale=1 / 1024, offset=-32768)
    g.node("Quantize", [g.input(x, "f32")], [y])
    equal(g.run()[0], quantized(x, "uq16", 1 / 1024, -32768))


@case
def dequantize(g):
    q = random("dequantize").integers(0, 65536, 64)
    y = g.output(q.shape, "f32")
    g.node("Dequantize", [g.input(q, "uq16", scale=1 / 1024, offset=-32768)], [y])
    equal(g.run()[0], real(q, 1 / 1024, -32768))


if __name__ == "__main__":
    main(on_gpu=6, half=True, versions=(2,))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the wake-word network and writes what the example needs. Python, numpy and espeak-ng; no data from elsewhere.

    train.py [FOLDER]    writes wake_params.h, demo.wav and demo.txt into FOLDER (default: where this file is); about five minutes

    x uq8[1,24] -> fully connected -> relu -> Gru with its state in persistent memory -> fully connected -> sigmoid

It is trained in float32 on streams of three seconds, then quantized: 8-bit weights, 16-bit activations. Scores are of voices that were not trained on.
"""

import os
import sys
import wave

import numpy as np

import speech
from speech import BANDS, RATE

HIDDEN, UNITS = 24, 40
TRAIN, TEST, STREAMS, STEPS, BATCH = 500, 120, 2500, 1500, 48
HELD, BEFORE = 16, 5            # frames after the end of the word that shall say yes; frames before it that do not count
ALARM, NEED, REST = 0.5, 4, 40  # an alarm: NEED frames in a row above ALARM; then REST frames of silence


# ---- the network --------------------------------------------------------------------------------------------------------

def sigmoid(v):
    return 1 / (1 + np.exp(-np.clip(v, -30, 30)))


def init(rng):
    shapes = {"w1": (HIDDEN, BANDS), "b1": (HIDDEN,), "w2": (1, UNITS), "b2": (1,)}
    for g in "zrn":
        shapes |= {"x" + g: (UNITS, HIDDEN), "h" + g: (UNITS, UNITS), "b" + g: (UNITS,)}
    p = {k: rng.normal(0, 1 / np.sqrt(s[-1]), s) if len(s) == 2 else np.zeros(s) for k, s in shapes.items()}
    p["w1"] *= 0.3
    p["b1"] -= p["w1"].sum(1) * 12
    return {k: v.astype(np.float32) for k, v in p.items()}


def forward(p, x):
    """x [time, batch, BANDS] real values. Returns logits [time, batch] and what backward needs."""
    a = np.maximum(0, x @ p["w1"].T + p["b1"])
    h, tape = np.zeros((x.shape[1], UNITS), np.float32), []
    gates = {g: a @ p["x" + g].T + p["b" + g] for g in "zrn"}
    for t in range(len(x)):
        z = sigmoid(gates["z"][t] + h @ p["hz"].T)
        r = sigmoid(gates["r"][t] + h @ p["hr"].T)
        n = np.tanh(gates["n"][t] + (r * h) @ p["hn"].T)
        tape.append((h, z, r, n))
        h = (1 - z) * n + z * h
    hs = np.stack([t[0] for t in tape[1:]] + [h])
    return (hs @ p["w2"].T + p["b2"])[..., 0], (a, tape, hs)


def backward(p, x, saved, dlogit):
    a, tape, hs = saved
    d = {k: np.zeros_like(v) for k, v in p.items()}
    d["w2"], d["b2"] = np.einsum("tb,tbu->u", dlogit, hs)[None], dlogit.sum()[None]
    dg = {g: np.zeros(a.shape[:2] + (UNITS,), np.float32) for g in "zrn"}
    dh = np.zeros_like(hs[0])
    for t in reversed(range(len(x))):
        h, z, r, n = tape[t]
        dh = dh + dlogit[t][:, None] * p["w2"]
        dn, dz = dh * (1 - z) * (1 - n * n), dh * (h - n) * z * (1 - z)
        drh = dn @ p["hn"]
        dr = drh * h * r * (1 - r)
        dg["n"][t], dg["z"][t], dg["r"][t] = dn, dz, dr
        d["hn"] += dn.T @ (r * h)
        d["hz"] += dz.T @ h
        d["hr"] += dr.T @ h
        dh = dh * z + drh * r + dz @ p["hz"] + dr @ p["hr"]
    da = 0
    for g in "zrn":
        d["x" + g] = np.einsum("tbu,tbi->ui", dg[g], a)
        d["b" + g] = dg[g].sum((0, 1))
        da = da + dg[g] @ p["x" + g]
    da = da * (a > 0)
    d["w1"], d["b1"] = np.einsum("tbh,tbi->hi", da, x), da.sum((0, 1))
    return d


# ---- training -----------------------------------------------------------------------------------------------------------

def streams_of(utterances, n, rng):
    """Features [time, n, BANDS], what shall be said, and which frames count."""
    xs, ys, ms = [], [], []
    for _ in range(n):
        samples, ends = speech.stream(utterances, 3.0, rng)
        f = speech.features(samples)
        y, m = np.zeros(len(f), np.float32), np.ones(len(f), np.float32)
        for e in map(speech.frame_of, ends):
            y[e:e + HELD] = 1
            m[max(0, e - BEFORE):e] = 0
            m[e + HELD:e + HELD + 4] = 0
        xs.append(f), ys.append(y), ms.append(m)
    return np.stack(xs, 1).astype(np.float32) / 8, np.stack(ys, 1), np.stack(ms, 1)


def train(streams, rng):
    p = init(rng)
    m1, m2 = ({k: np.zeros_like(v) for k, v in p.items()} for _ in range(2))
    for step in range(1, STEPS + 1):
        pick = rng.integers(streams[0].shape[1], size=BATCH)
        x, y, mask = (v[:, pick] for v in streams)
        logit, saved = forward(p, x)
        prob = sigmoid(logit)
        weight = mask * (1 + 2 * y)
        d = backward(p, x, saved, ((prob - y) * weight / weight.sum()).astype(np.float32))
        norm = np.sqrt(sum((g * g).sum() for g in d.values()))
        rate = 4e-3 * min(1, step / 50) * (1 - 0.95 * step / STEPS)
        for k in p:
            g = d[k] * min(1, 1 / norm)
            m1[k] += 0.1 * (g - m1[k])
            m2[k] += 0.002 * (g * g - m2[k])
            p[k] -= rate * (m1[k] / (1 - 0.9 ** step)) / (np.sqrt(m2[k] / (1 - 0.998 ** step)) + 1e-7)
        if step % 100 == 0:
            loss = -(weight * np.log(np.where(y > 0, prob, 1 - prob) + 1e-7)).sum() / weight.sum()
            print(f"step {step}: loss {loss:.4f}", flush=True)
    return p


def alarms(prob):
    found, run, quiet = [], 0, 0
    for t, v in enumerate(prob):
        quiet, run = quiet - 1, run + 1 if v > ALARM else 0
        if run >= NEED and quiet <= 0:
            found.append(t)
            quiet = REST
    return found


def score(p, utterances, rng, streams=60):
    """Wake words found, all wake words, false alarms, seconds."""
    hit = words = false = 0
    for _ in range(streams):
        samples, ends = speech.stream(utterances, 6.0, rng)
        logit, _ = forward(p, speech.features(samples)[:, None].astype(np.float32) / 8)
        found, ends = alarms(sigmoid(logit[:, 0])), [speech.frame_of(e) for e in ends]
        ok = [any(e - BEFORE - 2 <= f <= e + HELD + 4 for f in found) for e in ends]
        hit, words = hit + sum(ok), words + len(ok)
        false += sum(not any(e - BEFORE - 2 <= f <= e + HELD + 4 for e in ends) for f in found)
    return hit, words, false, streams * 6


# ---- writing ------------------------------------------------------------------------------------------------------------

def quantize(p, x):
    """Weights and biases as integers, and the scale of every tensor."""
    logit, (a, _, _) = forward(p, x)
    scales = {"x": 0.125, "a": float(a.max()) * 1.05 / 32767, "h": 1 / 32767, "logit": float(np.abs(logit).max()) * 1.2 / 32767}
    raw = {}
    source = {"w1": "x", "w2": "h", "xz": "a", "xr": "a", "xn": "a", "hz": "h", "hr": "h", "hn": "h"}
    for k, s in source.items():
        scales[k] = float(np.abs(p[k]).max()) / 127
        raw[k] = np.clip(np.rint(p[k] / scales[k]), -127, 127).astype(np.int8)
    for b, w in {"b1": "w1", "b2": "w2", "bz": "xz", "br": "xr", "bn": "xn"}.items():
        scales[b] = scales[source[w]] * scales[w]
        raw[b] = np.rint(p[b] / scales[b]).astype("<i4")
    dequantized = {k: raw[k].astype(np.float32) * np.float32(scales[k]) for k in raw}
    return raw, scales, dequantized


def c_array(name, v):
    numbers = [str(int(n)) for n in v.ravel()]
    lines = [", ".join(numbers[i:i + 24]) for i in range(0, len(numbers), 24)]
    return f"static const {'int8_t' if v.dtype == np.int8 else 'int32_t'} wake_{name}[{v.size}] = {{\n    " + ",\n    ".join(lines) + ",\n};\n"


def write(folder, raw, scales, demo, ends):
    with open(os.path.join(folder, "wake_params.h"), "w") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* The wake-word network: sizes, scales, weights. Written by train.py; do not edit. */\n"
                "#ifndef WAKE_PARAMS_H\n#define WAKE_PARAMS_H\n\n#include <stdint.h>\n\n")
        f.write(f"enum {{ WAKE_BANDS = {BANDS}, WAKE_HIDDEN = {HIDDEN}, WAKE_UNITS = {UNITS} }};\n")
        f.writelines(f"#define WAKE_SCALE_{k.upper()} {v:.9g}f\n" for k, v in scales.items())
        f.writelines("\n" + c_array(k, v) for k, v in sorted(raw.items()))
        f.write("\n#endif\n")
    with wave.open(os.path.join(folder, "demo.wav"), "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        w.writeframes(np.clip(np.rint(demo * 32767), -32768, 32767).astype("<i2").tobytes())
    with open(os.path.join(folder, "demo.txt"), "w") as f:
        f.writelines(f"{e / RATE:.2f}\n" for e in ends)


def demo_stream(rng):
    """Ten seconds in a voice that was not trained on: two wake words among other phrases."""
    x, at, ends = speech.noise(10 * RATE, np.random.default_rng(5)) * 0.5, RATE // 2, []
    for text in ("good morning", speech.WAKE, "hello world", "the weather is fine", speech.WAKE, "thank you"):
        s = speech.say(text, "en-us+m8", 160, 45)
        x[at:at + len(s)] += 0.6 * s
        at += len(s)
        if text == speech.WAKE:
            ends.append(at)
        at += int(0.45 * RATE)
    return x[:at + RATE // 2], ends


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    rng = np.random.default_rng(1)
    unseen = [v for v in speech.VOICES if v.endswith(("+m7", "+f5"))]
    print("speaking …", flush=True)
    data = speech.utterances(TRAIN, [v for v in speech.VOICES if v not in unseen], rng)
    streams = streams_of(data, STREAMS, rng)
    p = train(streams, rng)
    raw, scales, q = quantize(p, streams[0][:, :64])
    test = speech.utterances(TEST, unseen, rng)
    for name, v in (("float32", p), ("8-bit weights", q)):
        hit, words, false, seconds = score(v, test, np.random.default_rng(2))
        print(f"{name}: {hit} of {words} wake words found, {false} false alarms in {seconds} s of other voices")
    demo, ends = demo_stream(rng)
    write(folder, raw, scales, demo, ends)


if __name__ == "__main__":
    main()

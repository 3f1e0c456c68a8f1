#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speech for the wake-word example: synthesised by espeak-ng in many voices, mixed with noise, cut into streams with labels."""

import io
import subprocess
import wave
from concurrent.futures import ThreadPoolExecutor

import numpy as np

RATE, WINDOW, HOP, BANDS = 16000, 512, 320, 24
WAKE = "hello penguin"
VOICES = [f"{accent}+{person}" for accent in ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029")
          for person in ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f4", "f5")]
OTHERS = """hello; penguin; hello hello; hello world; hello pencil; yellow penguin; a penguin; hello again; mellow engine; hollow;
low pen; the penguin says hello; pendulum; linguist; hello peter; good morning; what time is it; turn on the light; stop the music;
play some jazz; how is the weather today; the quick brown fox jumps over the lazy dog; one two three four; five six seven; eight nine ten;
set a timer for ten minutes; never mind; call my brother; where are you going; it is raining; open the window please; thank you very much;
next song; volume up; volume down; yes; no; maybe tomorrow; I would like some coffee; the train leaves at noon; read me the news;
send a message; happy birthday; remember the milk; a piece of cake; in the middle of the night; all the way home; jelly bean;
fellow passengers; cello; well then; heaven; engine; angle wing; mango; bingo; sandwich; violin; elephant; hello kitty; pelican; begin when"""
OTHERS = [" ".join(p.split()) for p in OTHERS.split(";")]


def say(text, voice, speed, pitch):
    """float32 samples at RATE."""
    out = subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", text], capture_output=True, check=True).stdout
    with wave.open(io.BytesIO(out[:4] + b"\xff\xff\xff\x7f" + out[8:])) as w:
        rate, raw = w.getframerate(), w.readframes(w.getnframes())
    x = np.frombuffer(raw[:len(raw) // 2 * 2], "<i2").astype(np.float32) / 32768
    loud = np.flatnonzero(np.abs(x) > 0.01)
    x = x[loud[0]:loud[-1] + 1] if len(loud) else x
    return np.interp(np.arange(0, len(x), rate / RATE), np.arange(len(x)), x).astype(np.float32)


def utterances(n, voices, rng):
    """n wake words and 2n other phrases, as [(samples, is_wake)]."""
    jobs = []
    for i in range(3 * n):
        text = WAKE if i < n else OTHERS[rng.integers(len(OTHERS))]
        jobs.append((text, voices[rng.integers(len(voices))], int(rng.integers(120, 211)), int(rng.integers(15, 90))))
    with ThreadPoolExecutor(4) as pool:
        return list(zip(pool.map(lambda j: say(*j), jobs), [i < n for i in range(3 * n)]))


def noise(n, rng):
    """White, brown or humming, at a random level."""
    kind, x = rng.integers(3), rng.normal(0, 1, n)
    if kind == 1:
        x = np.convolve(x, np.ones(24) / 24, "same") * 4
    if kind == 2:
        t = np.arange(n) / RATE
        x = 0.2 * x + sum(np.sin(2 * np.pi * rng.uniform(60, 900) * t + rng.uniform(0, 6)) * rng.uniform(0, 0.6) for _ in range(5))
    return (x * 10 ** rng.uniform(-3.4, -2.0)).astype(np.float32)


def stream(speech, seconds, rng):
    """One stream of samples, and where wake words end in it."""
    x, at, ends = noise(int(seconds * RATE), rng), int(rng.uniform(0.1, 0.5) * RATE), []
    while True:
        samples, wake = speech[rng.integers(len(speech))]
        if at + len(samples) + RATE // 2 > len(x):
            return x, ends
        x[at:at + len(samples)] += samples * rng.uniform(0.15, 1.0)
        at += len(samples)
        if wake:
            ends.append(at)
        at += int(rng.uniform(0.2, 1.0) * RATE)


# ---- features: the same numbers as features.c --------------------------------------------------------------------------

def mel_filters():
    """Triangles between 100 and 7000 Hz, equally far apart on the mel scale."""
    mel = lambda f: 2595 * np.log10(1 + f / 700)
    points = 700 * (10 ** (np.linspace(mel(100), mel(7000), BANDS + 2) / 2595) - 1)
    f = np.arange(WINDOW // 2 + 1) * RATE / WINDOW
    up = (f - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    down = (points[2:, None] - f) / (points[2:] - points[1:-1])[:, None]
    return np.maximum(0, np.minimum(up, down))


FILTERS = mel_filters()
HANN = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)


def features(x):
    """uint8 [frames, BANDS]: log2 of band energies in steps of 1/8, from 2^-14 on."""
    frames = np.lib.stride_tricks.sliding_window_view(x, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(frames * HANN)) ** 2
    return np.clip(np.rint((np.log2(power @ FILTERS.T + 1e-4) + 14) * 8), 0, 255).astype(np.uint8)


def frame_of(sample):
    """The first frame whose window ends at or after a sample."""
    return max(0, -(-(sample - WINDOW) // HOP))

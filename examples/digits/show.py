#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows images of digits and what was recognised, side by side in a terminal.

    show.py IMAGES RESULTS      IMAGES: folder of digit_<label>.raw, RESULTS: folder of Result_<i>/probabilities.raw, same order
"""

import array
import os
import sys

SIZE, COLUMNS = 16, 5
COLOR = sys.stdout.isatty() or os.environ.get("DEMO_COLOR") == "1"


def paint(text, code):
    return "\033[%sm%s\033[0m" % (code, text) if COLOR else text


def floats(path):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values


def picture(pixels):
    """Two pixels per character: with colours the upper half block, without them shades."""
    lines = []
    for row in range(0, SIZE, 2):
        line = ""
        for column in range(SIZE):
            upper, lower = pixels[row * SIZE + column], pixels[(row + 1) * SIZE + column]
            if COLOR:
                line += "\033[38;5;%d;48;5;%dm\u2580" % (232 + int(23 * upper), 232 + int(23 * lower))
            else:
                line += " .:-=+*#%@"[int(9.99 * min(1, (upper + lower) / 2))]
        lines.append(line + ("\033[0m" if COLOR else ""))
    return lines


def bars(scores, label):
    """The three best digits with their probabilities."""
    best = sorted(range(10), key=lambda d: -scores[d])[:3]
    lines = []
    for rank, digit in enumerate(best):
        length = int(round(scores[digit] * 8))
        bar = ("\u2588" * length).ljust(8, "\u2591") if COLOR else ("#" * length).ljust(8, ".")
        code = ("1;32" if digit == label else "1;31") if rank == 0 else "2"
        lines.append(paint("%d %s %3.0f%%" % (digit, bar, 100 * scores[digit]), code) + " ")
    return lines


def main():
    folder, results = sys.argv[1:3]
    names = sorted(name for name in os.listdir(folder) if name.endswith(".raw"))
    right, cells = 0, []
    for i, name in enumerate(names):
        label = int(name[len("digit_"):-len(".raw")])
        scores = floats(os.path.join(results, "Result_%d" % i, "probabilities.raw"))
        right += max(range(10), key=lambda d: scores[d]) == label
        cells.append(picture(floats(os.path.join(folder, name))) + bars(scores, label))
    for at in range(0, len(cells), COLUMNS):
        for lines in zip(*cells[at:at + COLUMNS]):
            print("  " + "  ".join(lines))
        print()
    print("  %s of %d recognised" % (paint(str(right), "1;32"), len(names)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The program bench/plan on files as others make them: columns in any order, alignments, fixed offsets, moments of 64 bits, and files that are none.

Plans are read back and checked here, pair by pair."""

import os
import random
import subprocess
import sys
import tempfile
import unittest

PROGRAM, INSTANCES = sys.argv.pop(1), sys.argv.pop(1)


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="qnn-plan-")
        self.addCleanup(self.folder.cleanup)

    def run_on(self, text, *options, name="x.csv"):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        plans = os.path.join(self.folder.name, "plans")
        os.makedirs(plans, exist_ok=True)
        done = subprocess.run([PROGRAM, "-t", "1", "-o", plans, *options, path], capture_output=True, text=True, timeout=100, check=False)
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        offsets = []
        if os.path.exists(os.path.join(plans, name)):
            with open(os.path.join(plans, name)) as file:
                offsets = [int(line.split(",")[1]) for line in file.read().splitlines()[1:]]
        return done, offsets

    def check(self, buffers, offsets, align=None):
        """buffers: (lower, upper, size), half open. Returns the height."""
        self.assertEqual(len(offsets), len(buffers))
        for i, (a, p) in enumerate(zip(buffers, offsets)):
            self.assertEqual(p % (align[i] if align else 1), 0)
            for b, q in zip(buffers[:i], offsets[:i]):
                at_once = a[0] < b[1] and b[0] < a[1] and a[0] < a[1] and b[0] < b[1]
                self.assertFalse(at_once and a[2] and b[2] and p < q + b[2] and q < p + a[2], (a, p, b, q))
        return max(p + b[2] for p, b in zip(offsets, buffers) if b[0] < b[1])

    def test_columns(self):
        done, offsets = self.run_on("size, END ,note,Start,buffer_id\n10,4,x,0,a\n20,9,y,5,b\n5,5,z,4,c\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.check([(0, 5, 10), (5, 10, 20), (4, 6, 5)], offsets), 25)

    def test_no_header(self):
        done, offsets = self.run_on("\n# a comment\n1,0,5,7\r\n2,3,9,8\n")
        self.assertEqual((done.returncode, self.check([(0, 5, 7), (3, 9, 8)], offsets)), (0, 15))

    def test_moments_of_64_bits(self):
        big = 1 << 62
        rows = [(-big, 0, 3), (0, big, 4), (-5, 5, 6), (7, 7, 100)]
        done, offsets = self.run_on("id,lower,upper,size\n" + "".join("%d,%d,%d,%d\n" % (i, *r) for i, r in enumerate(rows)))
        self.assertEqual((done.returncode, self.check(rows, offsets)), (0, 10))

    def test_alignment_and_offset(self):
        done, offsets = self.run_on("id,lower,upper,size,alignment,offset\n0,0,9,10,,\n1,0,9,10,64,\n2,0,9,3,,70\n3,4,5,60,,\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check([(0, 9, 10), (0, 9, 10), (0, 9, 3), (4, 5, 60)], offsets, [1, 64, 1, 1])
        self.assertEqual(offsets[2], 70)

    def test_capacity_in_the_name(self):
        rows = "id,lower,upper,size\n0,0,2,6\n1,1,3,6\n"
        self.assertEqual(self.run_on(rows, name="a.12.csv")[0].returncode, 0)
        done = self.run_on(rows, name="b.11.csv")[0]
        self.assertEqual(done.returncode, 1)
        self.assertIn("MISSED", done.stdout)

    def test_random(self):
        random.seed(5)
        for n in (1, 2, 50, 700, 5000):
            rows = []
            for _ in range(n):
                lower = random.randrange(2 * n)
                rows.append((lower, lower + random.randrange(30), random.randrange(1000)))
            done, offsets = self.run_on("id,lower,upper,size\n" + "".join("%d,%d,%d,%d\n" % (i, *r) for i, r in enumerate(rows)), name="r%d.csv" % n)
            self.assertEqual(done.returncode, 0, done.stderr)
            if n <= 700:
                self.check(rows, offsets) if any(r[0] < r[1] for r in rows) else None

    def test_refused(self):
        for text in ("id,lower,upper,size\n0,5,3,1\n", "id,lower,upper,size\n0,a,3,1\n", "id,lower,upper,size\n0,1,2\n", "id,lower,upper,size\n0,1,2,-4\n",
                     "id,lower,upper,size\n0,1,2,99999999999999999999\n", "id,lower,upper,size\n0,1,2,3x\n", b"\x7fELF\0\0\1\2\n", b"\xff\xfe,\n" * 9,
                     "id,lower,upper,size,alignment\n0,1,2,3,-1\n", "id,start,end,size\n0,1,9223372036854775807,3\n", "x" * 100000 + "\n" + "y" * 100000,
                     "id,lower,upper,size,offset,alignment\n0,1,2,3,5,4\n", "id,lower,upper,size,offset\n0,0,2,3,0\n1,1,2,3,2\n",
                     "id,lower,upper,size\n0,0,2,9223372036854775807\n1,1,2,9223372036854775807\n"):
            done, offsets = self.run_on(text)
            self.assertEqual((done.returncode, offsets), (1, []), text[:60])
            self.assertIn("plan: ", done.stderr)
        self.assertEqual(self.run_on("")[0].returncode, 0)
        done = subprocess.run([PROGRAM, os.path.join(self.folder.name, "none.csv")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.csv", done.stderr)
        for args in ([], ["-t"], ["-t", "soon", "x.csv"], ["-q", "x.csv"]):
            self.assertEqual(subprocess.run([PROGRAM, *args], capture_output=True, check=False).returncode, 2)


class InstancesTest(unittest.TestCase):
    """The published hard instances within their capacity, and real networks at the lower bound."""

    def rows(self, folder, *options):
        path = os.path.join(INSTANCES, folder)
        if not os.path.isdir(path):
            print("SKIP: there are no instances in %s" % path)
            self.skipTest("no instances")
        files = sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(".csv"))
        done = subprocess.run([PROGRAM, *options, *files], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [line.split() for line in done.stdout.splitlines()[1:-1]]

    def test_hard(self):
        for row in self.rows("minimalloc"):
            self.assertLessEqual(int(row[3]), int(row[2]), row)

    def test_networks(self):
        for row in self.rows("graph-lifetimes"):
            self.assertEqual((row[3], row[6]), (row[4], "optimal"), row)


if __name__ == "__main__":
    unittest.main(verbosity=2)

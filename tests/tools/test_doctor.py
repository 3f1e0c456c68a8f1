# SPDX-License-Identifier: Apache-2.0
"""openqnn-doctor: what it finds right in the build and in an installed tree, and what it says of damage made on purpose."""

import json
import os
import re
import resource
import shutil
import subprocess

import support

BUILD = os.path.dirname(support.BIN)
BASICS = ("libQnnCpu.so", "libQnnHtp.so", "libQnnLpai.so", "libQnnSystem.so", "libcdsprpc.so")
RUNTIME = "lib/x86_64-linux-clang"


class Doctor(support.ToolTest):
    def examine(self, libraries=support.LIB, program=None, limits=(), cwd=None, **variables):
        """Exit status, output, and the findings by area, of a run without variables but these."""
        env = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "TMPDIR": self.folder, "LD_LIBRARY_PATH": libraries}
        env = {name: value for name, value in {**env, **variables}.items() if value is not None}

        def limit():
            for which, value in limits:
                resource.setrlimit(which, (value, value))
        done = subprocess.run([program or os.path.join(support.BIN, "openqnn-doctor"), "--json", self.path("doctor.json")], env=env,
                              cwd=cwd or self.folder, capture_output=True, text=True, timeout=100, preexec_fn=limit)
        self.assertEqual(done.stderr, "", done.stdout)
        with open(self.path("doctor.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.check_json(report, done)
        found = {}
        for check in report["checks"]:
            found.setdefault(check["area"], []).append(check)
        return done, found

    def check_json(self, report, done):
        """The file says what the lines say, and result and exit status follow from the findings."""
        statuses = [check["status"] for check in report["checks"]]
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines() if re.match(r"(ok|warn|fail) ", line)], statuses)
        self.assertEqual([report[name] for name in ("ok", "warn", "fail")], [statuses.count(name) for name in ("ok", "warn", "fail")])
        self.assertEqual(report["result"], next(name for name in ("fail", "warn", "ok") if name in statuses))
        self.assertEqual(done.returncode, int("fail" in statuses), done.stdout)
        for check in report["checks"]:
            self.assertIn(check["seen"], done.stdout)
            self.assertTrue(check["status"] == "ok" or check.get("advice"), check)  # what is not right says what to do

    def only(self, found, area, status, *words):
        """The area has one finding with these words, and it has this status."""
        fitting = [check for check in found.get(area, []) if all(word in check["seen"] for word in words)]
        self.assertEqual([check["status"] for check in fitting], [status], (area, words, found.get(area)))
        return fitting[0]

    def copy(self, name, *left_out, source=support.LIB):
        """The libraries in a folder of their own, links as files."""
        os.mkdir(self.path(name))
        for file in sorted(os.listdir(source)):
            if re.fullmatch(r"(libQnn\w+|libcdsprpc)\.so", file) and file not in left_out and not any(
                    part.startswith("*") and part[1:] in file for part in left_out):
                shutil.copy(os.path.join(source, file), self.path(name, file))
        return self.path(name)

    def healthy(self, done, found):
        self.assertEqual(done.returncode, 0, done.stdout)
        for area in ("CPU", "HTP", "LPAI"):
            self.only(found, area, "ok", "runs a graph", "_openqnn")
        self.assertEqual([check["status"] for check in found["shared memory"]], ["ok", "ok"])
        for name in BASICS:
            self.only(found, "libraries", "ok", name)

    def test_build(self):
        done, found = self.examine()
        self.healthy(done, found)
        self.only(found, "environment", "ok", "no OPENQNN_ variable is set")
        session, = found["session"]
        self.assertIn(session["status"], ("ok", "warn"))  # containers refuse some guards; all that are missing are named
        with open(os.path.join(support.SOURCE, "src", "rpc", "rpc_guards.c"), encoding="utf-8") as file:
            guards = re.findall(r'"([\w ]+)",', file.read())
        self.assertEqual(len(guards), 7)
        for guard in guards:
            self.assertIn(guard, session["seen"])
        self.assertEqual("not in force" in session["seen"], session["status"] == "warn")

    def test_installed(self):
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.path("stage")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        root, = [folder for folder, _, files in os.walk(self.path("stage")) if "sdk.yaml" in files]
        program = os.path.join(root, "bin/x86_64-linux-clang/openqnn-doctor")
        done, found = self.examine(libraries=os.path.join(root, RUNTIME), program=program, QNN_SDK_ROOT=root)
        self.healthy(done, found)
        self.assertNotIn("search path", found)
        self.assertNotIn("copies", found)

        # Without the variables its own libraries are found all the same, but programs of others do not find them.
        done, found = self.examine(libraries=None, program=program)
        self.healthy(done, found)
        self.assertIn("envsetup.sh", self.only(found, "search path", "warn", "LD_LIBRARY_PATH has no folder of openqnn")["advice"])

    def test_no_libraries(self):
        done, found = self.examine(libraries=None)
        self.assertEqual(done.returncode, 1)
        for area in ("CPU", "HTP", "LPAI"):
            self.only(found, area, "fail", "was not found in LD_LIBRARY_PATH (not set)")
        self.only(found, "GPU", "warn", "libQnnGpu.so")
        self.only(found, "libraries", "fail", "libQnnSystem.so")
        self.only(found, "shared memory", "fail", "libcdsprpc.so")

    def test_skels(self):
        """Sessions start from the library itself when there is no skel; one that is there must be of the same build."""
        folder = self.copy("copy", "*Skel", "*Stub")
        done, found = self.examine(libraries=folder)
        self.healthy(done, found)
        for arch in (68, 69, 73, 75, 79, 81):
            shutil.copy("/bin/true", os.path.join(folder, f"libQnnHtpV{arch}Skel.so"))
        done, found = self.examine(libraries=folder)
        self.assertEqual(done.returncode, 1)
        self.only(found, "CPU", "ok", "runs a graph")
        self.assertIn("of the same build", self.only(found, "HTP", "fail", "Skel.so")["advice"])
        self.assertNotIn("session", found)

    def test_left_out_skel(self):
        for arch in (68, 69, 73, 75, 79, 81):
            self.write(f"device/libQnnHtpV{arch}Skel.so", "not for this machine")
        done, found = self.examine(ADSP_LIBRARY_PATH=self.path("device"))
        self.healthy(done, {**found, "HTP": found["HTP"][:1]})
        self.only(found, "HTP", "warn", "was left out")

    def test_skel_of_another_folder(self):
        first, second = self.copy("first"), self.copy("second")
        with open(os.path.join(second, "libQnnHtpV73Skel.so"), "ab") as file:
            file.write(b"another build")
        for paths, place in (({}, first), ({"ADSP_LIBRARY_PATH": second}, second)):
            done, found = self.examine(libraries=first + ":" + second, **paths)
            self.healthy(done, found)
            self.only(found, "copies", "warn", "libQnnHtpV73Skel.so: first comes " + os.path.realpath(place))

    def test_damaged_library(self):
        folder = self.copy("copy")
        self.write("copy/libQnnCpu.so", "no library\n")
        done, found = self.examine(libraries=folder)
        self.assertEqual(done.returncode, 1)
        self.only(found, "CPU", "fail", "is not a shared library")
        self.only(found, "HTP", "ok", "runs a graph")

    def test_crashing_library(self):
        folder = self.copy("copy")
        source = self.write("crash.c", "#include <stdio.h>\n__attribute__((constructor)) static void crash(void)\n"
                            "{\n    puts(\"noise\");\n    fflush(stdout);\n    __builtin_trap();\n}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", os.path.join(folder, "libQnnGpu.so"), source], check=True)
        done, found = self.examine(libraries=folder)
        self.only(found, "GPU", "warn", "it crashed: ")
        self.assertNotIn("noise", done.stdout)
        self.healthy(done, found)

    def test_variables(self):
        done, found = self.examine(OPENQNN_ISA="sse9", OPENQNN_LANSE="2")
        self.healthy(done, found)
        self.only(found, "environment", "warn", "OPENQNN_ISA=sse9 is not valid", "ref avx2")
        self.only(found, "environment", "warn", "OPENQNN_LANSE", "did you mean OPENQNN_LANES?")
        self.assertEqual(len(found["CPU"] + found["HTP"] + found["LPAI"]), 3)  # told once, though each library warns
        self.only(found, "kernels", "ok" if "avx2" in found["processor"][0]["seen"] else "warn")
        done, found = self.examine(OPENQNN_ISA="ref", OPENQNN_SESSION="inproc")
        self.healthy(done, found)
        self.only(found, "environment", "ok", "OPENQNN_ISA=ref", "OPENQNN_SESSION=inproc")
        self.only(found, "kernels", "warn", "they bind ref")
        self.only(found, "session", "warn", "OPENQNN_SESSION=inproc")
        done, found = self.examine(OPENQNN_SESSION_DEBUG="perhaps")
        self.assertEqual(done.returncode, 1)
        self.only(found, "HTP", "fail", "OPENQNN_SESSION_DEBUG=\"perhaps\"")

    def test_two_copies(self):
        first, second = self.copy("first"), self.copy("second")
        done, found = self.examine(libraries=first + ":" + second)
        self.healthy(done, found)
        self.only(found, "copies", "ok", "libQnnCpu.so: 2 files with the same bytes")
        with open(os.path.join(second, "libQnnCpu.so"), "ab") as file:
            file.write(b"another build")
        done, found = self.examine(libraries=first + ":" + second)
        self.healthy(done, found)
        other = self.only(found, "copies", "warn", "libQnnCpu.so: first comes " + os.path.realpath(first))
        self.assertRegex(other["seen"], r"other bytes are in: %s/libQnnCpu.so \(\d+ bytes, [\d.]+ \(v[\d.]+_openqnn\)\)" % os.path.realpath(second))
        self.assertIn("LD_LIBRARY_PATH", other["advice"])
        os.remove(os.path.join(first, "libQnnSystem.so"))
        done, found = self.examine(libraries=first + ":" + second)
        self.only(found, "libraries", "warn", "second/libQnnSystem.so is in another folder")

    def test_folders_of_variables(self):
        done, found = self.examine(ADSP_LIBRARY_PATH=self.path("none") + ";" + support.LIB, QNN_SDK_ROOT=self.path("nothing"))
        self.healthy(done, found)
        self.only(found, "search path", "warn", "ADSP_LIBRARY_PATH", "/none\"")
        self.only(found, "search path", "warn", "QNN_SDK_ROOT", "/nothing/lib/x86_64-linux-clang\"")

    def test_limits(self):
        done, found = self.examine(limits=[(resource.RLIMIT_NOFILE, 200), (resource.RLIMIT_FSIZE, 1 << 19)])
        self.assertEqual(done.returncode, 1)
        self.assertIn("ulimit -n", self.only(found, "limits", "warn", "open files (RLIMIT_NOFILE): 200")["advice"])
        self.assertIn("ulimit -f", self.only(found, "limits", "warn", "RLIMIT_FSIZE): 524288 bytes")["advice"])
        self.only(found, "shared memory", "fail", "no memfd of 1048576 bytes: File too large")

    def test_opencl(self):
        if not os.path.exists(os.path.join(support.LIB, "libQnnGpu.so")):
            self.skipTest("libQnnGpu.so is not built: there are no OpenCL headers")
        done, found = self.examine(OPENQNN_OPENCL_LIBRARY=self.path("libNone.so"))
        self.healthy(done, found)
        self.assertIn("install an OpenCL loader", self.only(found, "GPU", "warn", "libNone.so")["advice"])

    def test_help(self):
        text = self.succeeds("openqnn-doctor", "--help")
        for words in ("usage: openqnn-doctor [--json FILE]", "--quiet", "Examples:", "Exit status"):
            self.assertIn(words, text)
        self.fails("openqnn-doctor", "--jsn", "x", says="did you mean --json?")

    def test_quiet(self):
        env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": support.LIB, "OPENQNN_ISA": "sse9"}
        done = subprocess.run([os.path.join(support.BIN, "openqnn-doctor"), "--quiet"], env=env, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("warn  environment", done.stdout)
        self.assertNotRegex(done.stdout, r"(?m)^ok ")
        self.assertRegex(done.stdout.splitlines()[-1], r"^\d+ ok, \d+ warn, 0 fail$")

    def test_json_not_written(self):
        done = subprocess.run([os.path.join(support.BIN, "openqnn-doctor"), "--json", self.path("none", "doctor.json")],
                              env={"LD_LIBRARY_PATH": support.LIB}, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 1)
        self.assertIn("none/doctor.json", done.stderr)


if __name__ == "__main__":
    support.main()

# SPDX-License-Identifier: Apache-2.0
"""openqnn.pc and openqnn-config.cmake: programs of others are built against the installed tree, wherever it was moved.

    test_build_files.py PkgConfig | CMake      77, a skip, where that program is not installed
"""

import os
import shutil
import subprocess
import sys

import support

BUILD = os.path.dirname(support.BIN)
EXAMPLES = "share/QNN/examples"

PROJECT = """cmake_minimum_required(VERSION 3.13)
project(client C CXX)
find_package(openqnn %s REQUIRED %s)
add_executable(client_c ${EXAMPLES}/client_c/main.c)
target_link_libraries(client_c PRIVATE openqnn::openqnn)
add_executable(client_cpp ${EXAMPLES}/client_cpp/main.cpp)
target_compile_features(client_cpp PRIVATE cxx_std_17)
target_link_libraries(client_cpp PRIVATE openqnn::openqnn)
add_executable(shared shared.c)
target_link_libraries(shared PRIVATE openqnn::cdsprpc)
message(STATUS "cpu=${openqnn_Cpu_LIBRARY}")
message(STATUS "tools=${openqnn_TOOL_DIR}")
"""
SHARED = """#include "rpcmem.h"
int main(void)
{
    void *p = rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, 4096);
    int fd = p ? rpcmem_to_fd(p) : -1;
    rpcmem_free(p);
    return fd < 0;
}
"""


class Installed(support.ToolTest):
    def setUp(self):
        super().setUp()
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.path("stage")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        installed, = [folder for folder, _, files in os.walk(self.path("stage")) if "sdk.yaml" in files]
        self.root = self.path("moved tree")  # a blank in the path, too
        shutil.move(installed, self.root)

    def run_all(self, *command, expect=0, env=None):
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def runs(self, program, libraries):
        text = self.run_all(program, os.path.join(libraries, "libQnnCpu.so"), os.path.join(libraries, "libQnnSystem.so"))
        self.assertIn("same bits", text)

    def has_no_paths_of_the_build(self, *names):
        for name in names:
            with open(os.path.join(self.root, name), encoding="utf-8") as file:
                text = file.read()
            for word in (BUILD, support.SOURCE, "/usr/local", "/opt", "@version@"):
                self.assertNotIn(word, text, name)


class PkgConfig(Installed):
    def test_build(self):
        self.has_no_paths_of_the_build("lib/pkgconfig/openqnn.pc")
        env = {"PKG_CONFIG_PATH": os.path.join(self.root, "lib", "pkgconfig")}
        libraries = self.run_all("pkg-config", "--variable=libdir", "openqnn", env=env).strip().replace("\\", "")
        self.assertTrue(os.path.samefile(libraries, os.path.join(self.root, "lib", "x86_64-linux-clang")), libraries)
        with open(os.path.join(self.root, "sdk.yaml"), encoding="utf-8") as file:
            self.assertIn("version: " + self.run_all("pkg-config", "--modversion", "openqnn", env=env).strip(), file.read())
        self.run_all("pkg-config", "--exists", "openqnn >= 2.40", env=env)
        self.run_all("pkg-config", "--exists", "openqnn >= 99", env=env, expect=1)

        source = os.path.join(self.root, EXAMPLES, "client_c", "main.c")
        script = "eval \"cc -o client '%s' $(pkg-config --cflags --libs openqnn)\"" % source
        self.run_all("sh", "-ec", script, env=env)
        self.runs(self.path("client"), libraries)


class CMake(Installed):
    def configure(self, version="", components="", expect=0):
        self.write("CMakeLists.txt", PROJECT % (version, components))
        self.write("shared.c", SHARED)
        shutil.rmtree(self.path("build"), ignore_errors=True)
        return self.run_all("cmake", "-S", ".", "-B", "build", "-DCMAKE_PREFIX_PATH=" + self.root,
                            "-DEXAMPLES=" + os.path.join(self.root, EXAMPLES), expect=expect)

    def test_build(self):
        self.has_no_paths_of_the_build("lib/cmake/openqnn/openqnn-config.cmake", "lib/cmake/openqnn/openqnn-config-version.cmake")
        libraries = os.path.join(self.root, "lib", "x86_64-linux-clang")
        text = self.configure("2.40", "COMPONENTS Cpu System")
        self.assertIn("cpu=" + os.path.realpath(libraries) + "/libQnnCpu.so", text)
        self.assertIn("tools=" + os.path.realpath(self.root) + "/bin/x86_64-linux-clang", text)
        self.run_all("cmake", "--build", "build")
        self.runs(self.path("build", "client_c"), libraries)
        self.runs(self.path("build", "client_cpp"), libraries)
        self.run_all(self.path("build", "shared"))

    def test_refused(self):
        self.assertIn("libQnnNpu.so; components are Cpu", " ".join(self.configure("", "COMPONENTS Npu", expect=1).split()))
        self.assertIn("compatible", self.configure("99.0", "", expect=1))
        self.assertIn("compatible", self.configure("1.0", "", expect=1))


PROGRAMS = {"PkgConfig": "pkg-config", "CMake": "cmake"}

if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if argument in PROGRAMS and not shutil.which(PROGRAMS[argument]):
            print(PROGRAMS[argument] + " is not installed")
            sys.exit(77)
    support.main()

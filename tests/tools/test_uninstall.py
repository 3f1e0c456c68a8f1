# SPDX-License-Identifier: Apache-2.0
"""scripts/installed_files: make uninstall removes what was installed, and leaves what others put beside it."""

import os
import subprocess

import support

SCRIPT = os.path.join(support.SOURCE, "scripts", "installed_files")
LIST = "share/QNN/installed-files.txt"


class Uninstall(support.ToolTest):
    def call(self, *arguments, expect=0):
        done = subprocess.run([SCRIPT, *arguments], cwd=self.folder, env={"PATH": "/usr/bin:/bin", "TMPDIR": self.folder}, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def install(self, *names):
        """Files in the tree, and the log that meson writes of them and of their folders."""
        for name in names:
            self.write("root/" + name, "x")
        folders = {os.path.dirname(name) for name in names} - {""}
        self.write("log", "# List of files installed by Meson\n" + "".join(self.path("root", name) + "\n" for name in [*names, *folders]))
        self.call("note", self.path("log"), self.path("root"))

    def left(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.path("root"))
                      for folder, folders, files in os.walk(self.path("root")) for name in files + folders)

    def test_log_of_meson(self):
        """A project that installs as this one does, since other tests write the log of this build."""
        self.write("source/meson.build", "project('small')\ninstall_subdir('include', install_dir: 'include')\n"
                   "install_data('a b.txt', install_dir: 'share/QNN')\ninstall_symlink('link', pointing_to: '../share/QNN/a b.txt', install_dir: 'lib')\n")
        self.write("source/include/QNN/HTP/a.h", "x")
        self.write("source/a b.txt", "x")
        subprocess.run(["meson", "setup", "--prefix=/opt/tree", "build", "source"], cwd=self.folder, check=True, capture_output=True)
        subprocess.run(["meson", "install", "-C", "build", "--destdir", self.path("stage")], cwd=self.folder, check=True, capture_output=True)
        log, root = self.path("build/meson-logs/install-log.txt"), self.path("stage/opt/tree")
        self.assertTrue(os.path.exists(os.path.join(root, "include/include/QNN/HTP/a.h")))
        self.assertEqual(self.call("note", log, self.path("stage//opt/tree/")), "")
        self.assertIn("removed: 4 files", self.call("remove", root))
        self.assertFalse(os.path.exists(root))
        self.assertIn("DESTDIR must be absolute", self.call("note", log, self.path("other")))
        self.assertFalse(os.path.exists(self.path("other")))

    def test_all_is_removed(self):
        self.install("lib/x/libQnnCpu.so", "bin/with blank", "sdk.yaml")
        os.symlink("libQnnCpu.so", self.path("root/lib/x/link.so"))
        self.write("log", self.path("root/lib/x/link.so") + "\n/elsewhere/file\n" + self.path("rooted") + "\n")
        self.call("note", self.path("log"), self.path("root"))
        self.write("rooted", "not below root/")
        self.assertIn("removed: 5 files", self.call("remove", self.path("root")))
        self.assertFalse(os.path.exists(self.path("root")))
        self.assertTrue(os.path.exists(self.path("rooted")))

    def test_files_of_others_stay(self):
        self.write("root/lib/other.so", "y")
        self.install("lib/x/libQnnCpu.so", "include/QNN/a.h")
        self.write("root/include/QNN/own.h", "y")
        self.call("remove", self.path("root"))
        self.assertEqual(self.left(), ["include", "include/QNN", "include/QNN/own.h", "lib", "lib/other.so"])

    def test_earlier_installation(self):
        self.install("lib/old.so", "lib/both.so")
        self.install("lib/both.so")  # a later version has one file less
        self.call("remove", self.path("root"))
        self.assertFalse(os.path.exists(self.path("root")))

    def test_refused(self):
        self.write("root/file", "y")
        self.assertIn("give the PREFIX", self.call("remove", self.path("root"), expect=1))
        for line in ("/etc/passwd", "../log", "lib/../../log", "lib/..", ""):
            self.write("root/" + LIST, "file\n" + line + "\n")
            self.assertIn("nothing was removed", self.call("remove", self.path("root"), expect=1))
            self.assertTrue(os.path.exists(self.path("root/file")))
        self.assertIn("usage", self.call("remove", expect=2))


if __name__ == "__main__":
    support.main()

# SPDX-License-Identifier: Apache-2.0
"""Clients that their own build has built: which programs of a build folder have tests, and what is run of them."""

import os

import gtest_suite
import suite_run


def programs(folder, is_wanted):
    """Paths of executable files whose name is wanted, below a folder; a program that is there twice counts once."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.endswith(".runfiles"))
        for name in sorted(files):
            path = os.path.join(place, name)
            if is_wanted(name, place) and os.path.isfile(path) and os.access(path, os.X_OK):
                found.setdefault(name, path)
    return [found[name] for name in sorted(found)]


def gtest_cases(paths, limit, is_wanted=lambda name: True):
    """A case for each test of the gtest programs, named after the program where there are several."""
    cases = []
    for path in paths:
        before = f"{os.path.basename(path)}: " if len(paths) > 1 else ""
        cases += [suite_run.Case(before + name, [path, "--gtest_filter=" + name], gtest_suite.judge)
                  for name in gtest_suite.list_tests(path, limit) if is_wanted(name)]
    return cases

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Formats the C and C++ sources with .clang-format. Files marked as tables keep the columns their authors gave them, what is generated stays as it is, and
# include/ keeps its own.
set -eu
cd "$(dirname "$0")/.."
find src tools tests bench examples -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) -print |
    while IFS= read -r file; do
        head -n 5 "$file" | grep -qE '/\* table \*/|do not edit' || printf '%s\0' "$file"
    done | xargs -0 -r -n 16 clang-format -i --style=file

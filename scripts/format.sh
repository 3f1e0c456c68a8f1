#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Formats new files, and the lines that were changed since a commit (BASE, otherwise the last one), with .clang-format. Files marked
# as tables keep the columns their authors gave them, what is generated stays as it is, and include/ keeps its own.
set -eu
cd "$(dirname "$0")/.."
base=${BASE:-HEAD} folders='src tools tests bench examples'

# Names of C and C++ sources on standard input; those to format, each with a zero behind it.
sources()
{
    { grep -E '\.(c|h|cpp)$' || true; } |
        while IFS= read -r file; do
            head -n 5 "$file" | grep -qE '/\* table( \*/|:)|[Gg]enerated by |do not edit' || printf '%s\0' "$file"
        done
}

# shellcheck disable=SC2086 # folders are several words
{
    git ls-files --others --exclude-standard -- $folders | sources | xargs -0 -r clang-format -i --style=file
    git diff --name-only --diff-filter=d "$base" -- $folders | sources | xargs -0 -r git clang-format --quiet --force "$base" --
}

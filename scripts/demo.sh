#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make demo: a trained network goes through every tool, and the terminal shows what happened.
#
#   scripts/demo.sh [BUILD_DIR]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
tools=$build/tools libs=$build/src/api digits=examples/digits
work=$build/demo
backend=$libs/libQnnCpu.so
export QNN_SDK_ROOT="$PWD" LD_LIBRARY_PATH="$PWD/$libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
case $build in /*) LD_LIBRARY_PATH="$libs" ;; esac

if [ -t 1 ]; then bold='\033[1;36m' dim='\033[2m' plain='\033[0m'; else bold='' dim='' plain=''; fi
title() { printf "\n${bold}%s${plain}\n" "$*"; }
# Shows a command as one would type it, then runs it.
run() {
    shown=$(printf '%s ' "$@" | sed "s|$tools/||g; s|$work/||g; s|$libs/||g")
    printf "${dim}  \$ %s${plain}\n" "$shown"
    "$@" >"$work/log.txt" 2>&1 || { cat "$work/log.txt"; exit 1; }
}

rm -rf "$work"
mkdir -p "$work"

title "1  A model library: source and weights of a digit recogniser, trained by $digits/train.py"
run "$tools/qnn-model-lib-generator" -c $digits/model.c -b $digits/model.bin -l digits -o "$work"

title "2  Prepared for a backend and saved as a context binary"
run "$tools/qnn-context-binary-generator" --backend "$backend" --model "$work/x86_64-linux-clang/libdigits.so" \
    --binary_file digits --output_dir "$work"

title "3  What is in it, and the memory that was planned before anything runs"
run "$tools/qnn-context-binary-utility" --context_binary "$work/digits.bin" --summary
sed -n '/^graph /,$p' "$work/log.txt" | sed 's/^/  /'

title "4  Run on ten images that the network has never seen"
for image in $digits/images/*.raw; do echo "$image"; done >"$work/list.txt"
run "$tools/qnn-net-run" --backend "$backend" --retrieve_context "$work/digits.bin" --input_list "$work/list.txt" \
    --output_dir "$work/output" --num_inferences 1000 --profiling_level detailed
echo
python3 $digits/show.py $digits/images "$work/output"

title "5  Where the time went: average of 1000 inferences on this machine"
run "$tools/qnn-profile-viewer" --input_log "$work/output/qnn-profiling-data.log" --output "$work/profile.csv"
if [ -t 1 ]; then full='█' empty='░'; else full='#' empty='.'; fi
awk -v full="$full" -v empty="$empty" '
    BEGIN { n = 0 }
    /NetRun IPS/ { ips = $3 }
    /^Execute Stats \(Average\)/ { average = 1 }
    /^Execute Stats \(Min\)/ { average = 0 }
    average && /^   NetRun:/ { whole = $2 }
    average && /:OpId_/ { sub(/:OpId_.*/, "", $1); name[n] = $1; us[n] = $(NF - 1); sum += us[n]; n++ }
    END {
        for (i = 0; i < n; i++) {
            bar = ""
            for (k = 0; k < 30; k++)
                bar = bar (k < 30 * us[i] / (sum ? sum : 1) ? full : empty)
            printf "  %-10s %s %5d us\n", name[i], bar, us[i]
        }
        printf "  %-10s %-30s %5d us per inference, %.0f inferences per second\n", "whole call", "", whole, ips
    }' "$work/log.txt"

title "Everything is in $work/; every tool has --help"

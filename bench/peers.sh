#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what make bench compares with, for those who want that: ONNX Runtime in BUILD/peers, oneDNN from Debian's packages.
#
#     bench/peers.sh [BUILD]
#
# Nothing else in this project uses either.
set -eu
build=${1:-build}
test -d "$build" || { echo "peers.sh: there is no folder $build; configure first: meson setup $build" >&2; exit 1; }

python3 -m venv "$build/peers"
"$build/peers/bin/pip" install --quiet numpy onnxruntime
"$build/peers/bin/python" -c 'import onnxruntime; print("ONNX Runtime", onnxruntime.__version__)'

if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
if $sudo apt-get install -y -q libdnnl-dev; then
    meson setup --reconfigure "$build" >/dev/null
    ninja -C "$build" bench/peer_dnnl || echo 'oneDNN: this version is not one that bench/peer_dnnl.c is written for (2.x)'
fi

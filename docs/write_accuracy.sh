#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `write_accuracy.sh BIN`: docs/accuracy.md from runs of both MPIs, then the sentences in README.md. RANKWISE_WINDOW is the
# time for each validation, after which no run is begun; said again, it goes on. RANKWISE_OPTIONS are for the first two.
# Two hours as it is; nothing else may run meanwhile.
set -eu
cd "$(dirname "$0")/.."
bin=$1 state=build/validation window=${RANKWISE_WINDOW:-1h}
options=${RANKWISE_OPTIONS---cases cg,ft,mg,lj,halo,hpl,transpose,chain --ranks 16,8 --repetitions 3}
# LAMMPS: that of the `mpich` environment, and Debian's for Open MPI.
PATH=$bin:$PATH
mkdir -p $state
validate() { # name of the state, launcher, options
    local how="--resume" status=0
    [ -e "$state/$1/plan.json" ] || how=$3
    # shellcheck disable=SC2086
    "$bin/rankwise" lab validate --no-progress --state "$state/$1" --window "$window" $how -- "$2" || status=$?
    # 75: some runs are missing; 1: some failed, which the page tells.
    [ $status -le 1 ] || [ $status = 75 ]
}
mpich=$PWD/.mpi/mpich-5.0.2/bin/mpiexec openmpi=$PWD/.mpi/openmpi-5.0.11/bin/mpiexec
validate mpich "$mpich" "$options"
validate openmpi "$openmpi" "$options"
# Rhodopsin takes ten times as long as the others.
validate mpich-rhodo "$mpich" "--cases rhodo --ranks 16 --rates 150mbit --repetitions 3"
validate openmpi-rhodo "$openmpi" "--cases rhodo --ranks 16 --rates 150mbit --repetitions 3"
also=(--also $state/openmpi --also $state/mpich-rhodo --also $state/openmpi-rhodo)
"$bin/rankwise" lab validate --resume --no-progress --window 0s --state $state/mpich "${also[@]}" -o docs/accuracy.md -f || [ $? -le 75 ]
"$bin/python" docs/accuracy_in_readme.py

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `write_accuracy.sh BIN`: docs/accuracy.md from runs of both MPIs, then the sentences in README.md. RANKWISE_WINDOW is the
# time for each validation, after which no run is begun; said again, it goes on. RANKWISE_STATE is where they are kept.
# Two hours as it is; nothing else may run meanwhile.
set -eu
cd "$(dirname "$0")/.."
bin=$1 state=${RANKWISE_STATE:-build/validation} window=${RANKWISE_WINDOW:-1h}
programs="cg,ft,mg,lj,halo,hpl,transpose,chain"
# LAMMPS: that of the `mpich` environment, and Debian's for Open MPI.
PATH=$bin:$PATH
mkdir -p "$state"
go_on() { # options of `lab validate`
    local status=0
    "$bin/rankwise" lab validate --no-progress "$@" || status=$?
    # 75: some runs are missing; 1: some failed, which the page tells.
    [ $status -le 1 ] || [ $status = 75 ]
}
validate() { # name of the state, release of the MPI, options
    local how="--resume"
    [ -e "$state/$1/plan.json" ] || how=$3
    # shellcheck disable=SC2086
    go_on --state "$state/$1" --window "$window" $how -- "$PWD/.mpi/$2/bin/mpiexec"
}
mpich=mpich-5.0.2 openmpi=openmpi-5.0.11
validate mpich $mpich "--cases $programs --ranks 16 --repetitions 5"
validate openmpi $openmpi "--cases $programs --ranks 16 --repetitions 5"
validate mpich8 $mpich "--cases $programs --ranks 8 --rates 150mbit --repetitions 3"
validate openmpi8 $openmpi "--cases $programs --ranks 8 --rates 150mbit --repetitions 3"
# Rhodopsin takes ten times as long as the others.
validate mpich-rhodo $mpich "--cases rhodo --ranks 16 --rates 150mbit --repetitions 3"
validate openmpi-rhodo $openmpi "--cases rhodo --ranks 16 --rates 150mbit --repetitions 3"
also=()
for each in openmpi mpich8 openmpi8 mpich-rhodo openmpi-rhodo; do
    also+=(--also "$state/$each")
done
go_on --resume --window 0s --state "$state/mpich" "${also[@]}" -o docs/accuracy.md -f
"$bin/python" docs/accuracy_in_readme.py

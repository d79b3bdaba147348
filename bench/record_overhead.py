# SPDX-License-Identifier: BSD-3-Clause
"""What recording and tuning add to an MPI call, on every MPI at hand, in ns, beside two floors.

Usage: .venv/bin/python bench/record_overhead.py [ROUNDS [NAME]]

The variants take turns in every round. A run gives its best batch and the 10th percentile of its 200 batches (fewer
where a phase would last more than a second); printed are the best of all runs and, behind it, the median of the
percentiles over the rounds (3). All MPIs together take about five minutes on an idle machine. Phases of one
process are exact to about 1 ns; where two ranks meet, only the best ones compare. The floors (bench/record_floor.c)
count by peer and size, and read the tick counter twice. MPIs come from tests/install_mpis.sh; NAME chooses those
whose names contain it.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import mpis

from rankwise.record.library import What, variables
from rankwise.tune.preload import tune_environment

RECORDED = {
    "counted": What(counts=True),
    "timed": What(),
    "traced": What(trace=True),
    "exact": What(trace=True, exact=True),
    "sites": What(call_sites=True),
}
VARIANTS = ("without", "floor", "floor_timed", *RECORDED, "tuned")
# Ranks, and what the program is given.
LAUNCHES = ((1,), (2,), (1, "multiple"), (2, "multiple"))


def run_once(
    mpi: mpis.Mpi, program: Path, variant: str, ranks: int, *arguments: str
) -> dict[str, tuple[float, float]]:
    """One run: best and 10th percentile of the batches, ns a call, by phase. Recordings go to memory if possible."""
    shared_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared_memory) as directory:
        added = {}
        if variant in RECORDED:
            added = variables(Path(directory), RECORDED[variant], None)
        elif variant == "tuned":
            added = tune_environment(Path(directory), None)
        elif variant != "without":
            added = {"LD_PRELOAD": str(program.with_name(f"{program.name}.{variant}.so"))}
        command = [program, *arguments]
        if ranks == 1:
            command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]
        done = subprocess.run(
            mpi.launch(ranks, *command, environment=added),
            env={k: v for k, v in mpi.environment().items() if "YIELD" not in k.upper()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: (float(best), float(low)) for name, best, low in lines}


def measure(mpi: mpis.Mpi, scratch: Path, rounds: int) -> None:
    """Print the table of one MPI."""
    program = mpi.compile(Path(__file__).with_suffix(".c"), scratch / mpi.name)
    for variant, flags in (("floor", ()), ("floor_timed", ("-DTIMED",))):
        source = Path(__file__).with_name("record_floor.c")
        mpi.compile(source, scratch / f"{mpi.name}.{variant}.so", "-shared", "-fPIC", *flags)
    print(f"{mpi.name}: ns a call; added: best of all runs (median of {rounds} runs)")
    for ranks, *arguments in LAUNCHES:
        runs = {variant: [] for variant in VARIANTS}
        for number in range(rounds):
            turn = number % len(VARIANTS)
            for variant in VARIANTS[turn:] + VARIANTS[:turn]:
                runs[variant].append(run_once(mpi, program, variant, ranks, *arguments))
        for phase in runs["without"][0]:
            best = {v: min(run[phase][0] for run in runs[v]) for v in VARIANTS}
            median = {v: statistics.median(run[phase][1] for run in runs[v]) for v in VARIANTS}
            added = "  ".join(
                f"{v} {best[v] - best['without']:+5.1f} ({median[v] - median['without']:+5.1f})"
                for v in VARIANTS[1:]
            )
            name = f"{phase} {' '.join(arguments)}"
            print(f"  {name:24} {best['without']:6.1f} ({median['without']:6.1f})  {added}", flush=True)


def main() -> None:
    """Measure and print a table for each MPI."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as scratch:
        for mpi in mpis.installed():
            if wanted in mpi.name:
                measure(mpi, Path(scratch), rounds)


if __name__ == "__main__":
    main()

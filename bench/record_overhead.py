# SPDX-License-Identifier: BSD-3-Clause
"""What recording costs an MPI call: ns added by counting and timing, and by tracing, on every MPI at hand.

Usage: .venv/bin/python bench/record_overhead.py [ROUNDS]

One process, the variants interleaved in every round; each run takes the 10th percentile of 200 batches of 1000 calls,
and what is printed is the median over the rounds (9). MPIs come from tests/install_mpis.sh.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import mpis

from rankwise.record.library import library_directory

VARIANTS = ("without", "counted", "traced")


def run_once(mpi: mpis.Mpi, program: Path, variant: str) -> dict[str, float]:
    """One run: ns a call by phase. Recordings go to memory where there is /dev/shm."""
    shared_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=shared_memory) as directory:
        added = {}
        if variant != "without":
            added["LD_PRELOAD"] = str(library_directory() / "librankwise_record.so")
            added["RANKWISE_DIR"] = directory
        if variant == "traced":
            added["RANKWISE_TRACE"] = "1"
        done = subprocess.run(
            mpi.launch(1, "taskset", "-c", str(max(os.sched_getaffinity(0))), program, environment=added),
            env=mpi.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def main() -> None:
    """Measure and print a table for each MPI."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as scratch:
        for mpi in mpis.installed():
            program = mpi.compile(Path(__file__).with_suffix(".c"), Path(scratch) / mpi.name)
            runs: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
            for number in range(rounds):
                for variant in VARIANTS[number % 3 :] + VARIANTS[: number % 3]:
                    runs[variant].append(run_once(mpi, program, variant))
            print(f"{mpi.name}: ns a call, median of {rounds} runs")
            for phase in runs["without"][0]:
                median = {v: statistics.median(run[phase] for run in runs[v]) for v in VARIANTS}
                added = [f"{v} +{median[v] - median['without']:.1f}" for v in VARIANTS[1:]]
                print(f"  {phase:16} {median['without']:7.1f}   {'   '.join(added)}", flush=True)


if __name__ == "__main__":
    main()

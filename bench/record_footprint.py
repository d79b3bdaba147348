# SPDX-License-Identifier: BSD-3-Clause
"""What recording takes of memory and of MPI_Finalize, by ranks and peers; and of LAMMPS' CPU time.

Usage: .venv/bin/python bench/record_footprint.py [ROUNDS [NAME]]

Memory of a rank: what is resident of the recorder's mappings, and what other memory its process has more than without
a recorder. LAMMPS (if PATH has an `lmp`; with MPICH's own ABI): the melt of tests/programs/melt.lammps with 8 ranks, 4
times as many steps, in pairs of a run with and one without recording; the ratio of their CPU times, its median and a
bootstrap interval of 95 %. All MPIs together take some minutes; NAME chooses those whose names contain it.
"""

import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import mpis

from rankwise.record.library import What, variables

RECORDED = {"without": None, "recorded": What(), "traced": What(trace=True)}
SIZES = ((2, 1), (8, 4), (16, 4), (32, 4), (32, 31))
RESAMPLED = 2000


def run(mpi: mpis.Mpi, what: What | None, ranks: int, *command: str | Path) -> tuple[str, float]:
    """Output and CPU time of all processes."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            mpi.launch(ranks, *command, environment=variables(Path(directory), what, None) if what else {}),
            env=mpi.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def footprint(mpi: mpis.Mpi, program: Path, rounds: int) -> None:
    """Print memory and the time of MPI_Finalize."""
    for ranks, peers in SIZES:
        found = {name: [] for name in RECORDED}
        for _ in range(rounds):
            for name, what in RECORDED.items():
                found[name].append([float(n) for n in run(mpi, what, ranks, program, str(peers))[0].split()])
        middle = {
            name: [statistics.median(column) for column in zip(*runs, strict=True)]
            for name, runs in found.items()
        }
        for name in list(RECORDED)[1:]:
            mapped, anonymous, finalize_s = middle[name]
            print(
                f"  {ranks:3} ranks, {peers:2} peers, {name:8}: mapped {mapped / 1024:.2f} MiB a rank, "
                f"other memory {(anonymous - middle['without'][1]) / 1024:+.2f} MiB, MPI_Finalize "
                f"{1e3 * finalize_s:.1f} ms (without {1e3 * middle['without'][2]:.1f})",
                flush=True,
            )


def lammps(mpi: mpis.Mpi, scratch: Path, rounds: int) -> None:
    """Print the ratio of CPU times."""
    program = shutil.which("lmp")
    if not program or not mpi.name.startswith("mpich-") or mpi.name.endswith("-abi"):
        return
    melt = scratch / "melt.lammps"
    melt.write_text((mpis.PROGRAMS / "melt.lammps").read_text().replace("run 60", "run 240"))
    ratios = []
    for number in range(rounds):
        cpu = {}
        for name in ("without", "recorded") if number % 2 else ("recorded", "without"):
            cpu[name] = run(mpi, RECORDED[name], 8, program, "-in", melt, "-log", "none", "-screen", "none")[
                1
            ]
        ratios.append(cpu["recorded"] / cpu["without"])
    medians = sorted(statistics.median(random.choices(ratios, k=rounds)) for _ in range(RESAMPLED))
    print(
        f"  LAMMPS, 8 ranks: CPU time recorded / without {statistics.median(ratios):.3f} "
        f"({medians[RESAMPLED // 40]:.3f} .. {medians[-RESAMPLED // 40]:.3f}), {rounds} pairs"
    )


def main() -> None:
    """Measure with each MPI."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as directory:
        for mpi in mpis.installed():
            if wanted in mpi.name:
                print(f"{mpi.name}:")
                source = Path(__file__).with_suffix(".c")
                lammps(mpi, Path(directory), 2 * rounds)
                footprint(mpi, mpi.compile(source, Path(directory) / mpi.name), rounds)


if __name__ == "__main__":
    main()

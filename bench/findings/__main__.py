# SPDX-License-Identifier: BSD-3-Clause
"""Record real programs with the MPIs that are installed, and list what is told of each.

    python -m findings -o DIRECTORY [--only TEXT] [--libraries NAME,...]

Each program runs on 2 ranks with a core each, and on 4 and 8, which share the cores of a small machine. Recordings are
kept in DIRECTORY, and made where they are missing. MPIs are those of tests/install_mpis.sh and Debian's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from findings.programs import TOP, Library, Program, programs
from rankwise.findings.catalogue import findings_of
from rankwise.quantities import seconds_text
from rankwise.recording import Recording

RANKS = (2, 4, 8)
QUIET = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Ranks that wait for each other give up the core: only where they share it.
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def main() -> int:
    """Record what is missing, then print a table."""
    parser = argparse.ArgumentParser(prog="python -m findings", description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIRECTORY")
    parser.add_argument("--only", default="", metavar="TEXT", help="recordings with this in their names")
    parser.add_argument(
        "--libraries", default="mpich-5.0.2,openmpi-5.0.11,debian-openmpi", metavar="NAME,..."
    )
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    output = args.output.resolve()
    (output / "input").mkdir(parents=True, exist_ok=True)
    told = 0
    for program in programs(_libraries(args.libraries.split(",")), output / "input"):
        for ranks in RANKS:
            name = f"{program.name}.{ranks}.{program.library.name}"
            if args.only in name and (path := _recorded(program, ranks, cores, output / f"{name}.rw")):
                told += _tell(path)
    print(f"{told} recordings")
    return 0


def _libraries(names: list[str]) -> list[Library]:
    found = [Library(path.parent.parent.name, path) for path in sorted((TOP / ".mpi").glob("*/bin/mpiexec"))]
    for name in ("mpich", "openmpi"):
        if path := shutil.which(f"mpiexec.{name}"):
            found.append(Library(f"debian-{name}", Path(path)))
    return [library for library in found if library.name in names]


def _recorded(program: Program, ranks: int, cores: int, path: Path) -> Path | None:
    """The recording, made if it is missing; `None` where the program failed."""
    if path.exists():
        return path
    line = program.library.line(ranks, cores, *program.command)
    command = [
        sys.executable,
        "-m",
        "rankwise",
        "record",
        "--trace",
        "--exact-times",
        "-q",
        "-o",
        str(path),
        "--",
        *line,
    ]
    environment = os.environ | QUIET | program.environment
    try:
        done = subprocess.run(
            command, env=environment, cwd=program.directory, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        print(f"{path.name}: took longer than 120 s", file=sys.stderr)
        return None
    if done.returncode:
        print(f"{path.name}: status {done.returncode}: {done.stderr[-300:]}", file=sys.stderr)
    return path if path.exists() and not done.returncode else None


def _tell(path: Path) -> int:
    recording = Recording.open(path)
    found, without = findings_of(recording)
    elapsed_s = float(recording.ranks["time_s"].to_numpy().max())
    print(f"{path.stem}  {seconds_text(elapsed_s)}")
    for each in found:
        cost = "-" if each.cost_s is None else f"{100 * each.cost_s / elapsed_s:.0f} %"
        print(f"    {each.name:<22} {cost:>5} {each.confidence:<6} {each.sentence}")
    for other in without:
        if "failed" in other.why:
            print(f"    {other.name}: {other.why}")
    sys.stdout.flush()
    return 1


if __name__ == "__main__":
    sys.exit(main())

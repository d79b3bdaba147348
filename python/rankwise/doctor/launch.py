# SPDX-License-Identifier: BSD-3-Clause
"""One launch with the user's own launcher and options, in which each rank says where it is instead of running."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import elftools

from rankwise.child import ending_with_us
from rankwise.doctor import in_rank
from rankwise.doctor.reports import Reports, read
from rankwise.errors import RankwiseError
from rankwise.launchers import LaunchLine, Segment, check_family, mpi_of, parse
from rankwise.launchers.detect import find_program
from rankwise.launchers.wrappers import behind_wrappers
from rankwise.run.directory import make_run_directory
from rankwise.scratch import remove_scratch

# Launchers whose options are not known here: what they start is appended.
_STARTED_AS_THEY_ARE = ("flux", "jsrun", "aprun", "lrun", "ibrun", "prun", "mpiexec", "mpirun", "srun")
# Options that name a file of programs.
_PROGRAM_FILES = ("configfile", "app", "multi-prog")


@dataclass(frozen=True)
class Launched:
    """How a launch ended, and what its ranks said.

    Attributes:
        line: The launch line, behind `timeout` and the like.
        executed: What was executed.
        status: Exit status of the launcher, negative for a signal.
        reports: What the ranks said.
        unfit: Why launcher and program do not belong together, `None` if they do as far as is known.
    """

    line: LaunchLine
    executed: list[str]
    status: int
    reports: Reports
    unfit: str | None


def launch(words: Sequence[str]) -> Launched:
    """Start one process a rank that says where it is.

    Args:
        words: The launch line, with or without a program.

    Raises:
        RankwiseError: It cannot be started, or no program can be put in the place of its own.
    """
    typed = parse(words)
    line = behind_wrappers(typed)
    before = list(words[: len(words) - len(line.words())])
    scratch = make_run_directory()
    try:
        executed = [*before, *_with_reports(line, str(scratch / "ranks"))]
        ended = _run(executed)
        reports = read(scratch / "ranks", ended.stdout.decode(errors="replace"))
    finally:
        remove_scratch(scratch)
    return Launched(line, executed, ended.returncode, reports, _unfit(line))


def _run(words: list[str]) -> subprocess.CompletedProcess[bytes]:
    sys.stdout.flush()
    try:
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, preexec_fn=ending_with_us()
        )
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        hint = "load your MPI module first, for example `module load openmpi`"
        raise RankwiseError(f"`{words[0]}` cannot be started: {why}", hint) from error


def _with_reports(line: LaunchLine, directory: str) -> list[str]:
    """The words of the line with `in_rank.py` in the place of each program."""
    for segment in line.segments:
        named = next((option for option in segment.options if option.name in _PROGRAM_FILES), None)
        if named is not None:
            raise RankwiseError(
                f"`{' '.join(named.words)}` leaves the programs to a file, in which nothing can be put in their place",
                "type the line without it, with the same options: for example `rankwise doctor -- srun -n 4`",
            )
    script = [sys.executable, "-I", "-S", "-B", str(Path(in_rank.__file__).resolve()), directory]
    script += [str(Path(elftools.__file__).resolve().parents[1]), line.launcher.family or ""]
    script.append(line.launcher.path or "")
    if line.launcher.kind == "none":
        word = line.segments[0].program or ""
        if os.path.basename(word) in _STARTED_AS_THEY_ARE:
            if shutil.which(word) is None:
                hint = "load the module that has it, for example `module load openmpi`"
                raise RankwiseError(f"there is no `{word}` on PATH", hint)
            return [*line.words(), *script]
    return line.words([_replaced(segment, script) for segment in line.segments])


def _replaced(segment: Segment, script: list[str]) -> Segment:
    """What binds or limits a rank before its program (`taskset`, `numactl`, ...) stays in front."""
    if segment.program is None:
        return replace(segment, program=script[0], arguments=tuple(script[1:]))
    own = behind_wrappers(parse([segment.program, *segment.arguments]))
    program = own.program
    moved = segment.last("wdir", "wd", "chdir")
    place = moved.values[0] if moved and moved.values else None
    try:
        found = find_program(program, place) if program is not None else None
    except RankwiseError as error:
        raise RankwiseError(
            error.message, f"{error.hint}, or leave it off: where ranks run needs no program"
        ) from error
    words = [segment.program, *segment.arguments]
    kept = words[: len(words) - len(own.words())]
    new = [*kept, *script, *([os.path.abspath(found)] if found else [])]
    return replace(segment, program=new[0], arguments=tuple(new[1:]))


def _unfit(line: LaunchLine) -> str | None:
    for segment in line.segments:
        if segment.program is None or line.launcher.kind == "none":
            continue
        try:
            mpi = mpi_of(find_program(segment.program))
        except RankwiseError:
            continue  # Not linked with an MPI that is known: nothing says that it is unfit.
        try:
            check_family(line, mpi)
        except RankwiseError as error:
            return error.message
    return None

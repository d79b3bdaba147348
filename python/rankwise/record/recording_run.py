# SPDX-License-Identifier: BSD-3-Clause
"""One recording from the typed line to the written directory."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import rankwise
from rankwise.errors import RankwiseError
from rankwise.launchers import Launch, LaunchLine, MpiOfProgram, emit_environment, parse
from rankwise.launchers.detect import Flavour, find_program, mpi_of_line, programs_of
from rankwise.launchers.execute import Ended
from rankwise.launchers.library import expected_library
from rankwise.launchers.wrappers import behind_wrappers
from rankwise.record import directory, library
from rankwise.record.manifest import LauncherUsed, Manifest, MpiFound, write
from rankwise.record.settings import settings


@dataclass(frozen=True)
class RecordingRun:
    """A recording about to be made, or being made; `flavour` is what the user said with `--mpi`.

    `claim` keeps others out of its directory until this process ends.
    """

    line: LaunchLine
    mpi: MpiOfProgram
    launch: Launch
    path: Path
    manifest: Manifest
    flavour: Flavour | None = None
    claim: directory.Claim | None = None


def prepare(
    words: list[str],
    output: str | None,
    force: bool,
    what: library.What,
    flavour: Flavour | None,
    inherited: Mapping[str, str] | None = None,
    typed: list[str] | None = None,
) -> RecordingRun:
    """Check everything that can be checked, make the directory, and say what to execute.

    Args:
        words: The launch line, not empty.
        output: Where to write, `None` for a name by program, ranks and job.
        force: Replace a recording that is there.
        what: What is recorded.
        flavour: The program's MPI where the user says it.
        inherited: The environment the launcher will have; ours by default.
        typed: The launch line to keep, if other words are executed.

    Raises:
        RankwiseError: It cannot be recorded; nothing was written or started.
    """
    line = parse(words)
    programs = programs_of(line, "record")
    mpi = mpi_of_line(line, programs, flavour)
    inner, started = _started(line, programs)
    path = Path(output or directory.default_name(inner))
    mpi_library = mpi.path or expected_library(line, programs, flavour)
    run = directory.new_run()
    launch = emit_environment(line, library.variables(path, what, mpi_library, flavour, run), inherited)
    claim = directory.create(path, force, run)
    manifest = Manifest(
        rankwise=rankwise.__version__,
        command=what.command(typed or words),
        directory=os.getcwd(),
        host=socket.gethostname(),
        ranks=inner.ranks,
        programs=started,
        launcher=_launcher(inner),
        mpi=MpiFound(mpi.flavour, mpi.library, mpi.path, mpi.reason),
        trace=what.trace,
        job=os.environ.get("SLURM_JOB_ID") or os.environ.get("PBS_JOBID") or os.environ.get("LSB_JOBID"),
        start_s=time.time(),
        settings=settings(line.segments, inherited or os.environ),
        run=run,
        locked=claim.lock is not None,
    )
    write_first(manifest, path)
    return RecordingRun(line, mpi, launch, path, manifest, flavour, claim)


@dataclass(frozen=True)
class Request:
    """A recording to be made of what is started for another reason, as `rankwise record` would be asked for it."""

    output: str
    force: bool
    what: library.What


def prepare_with(
    launch: Launch, typed: list[str], request: Request, flavour: Flavour | None = None
) -> RecordingRun:
    """The same, of a launch that has an environment of its own already; the recording's launch has both.

    Args:
        launch: What would be executed; what it preloads comes after the recorder.
        typed: The launch line to keep: files that the emitted one names are gone afterwards.
        request: What to record.
        flavour: The program's MPI where the user says it.

    Raises:
        RankwiseError: As `prepare`.
    """
    made = prepare(
        launch.words, request.output, request.force, request.what, flavour,
        inherited=launch.environment_of_first(os.environ), typed=typed,
    )  # fmt: skip
    both = Launch(
        made.launch.words,
        launch.environment | made.launch.environment,
        (*launch.without, *made.launch.without),
    )
    return replace(made, launch=both)


def write_first(manifest: Manifest, path: Path) -> None:
    """Write recording.json into the new directory.

    Raises:
        RankwiseError: It cannot be written; the directory is gone.
    """
    try:
        write(manifest, path)
    except OSError as error:
        directory.remove_if_empty(path)
        raise RankwiseError(
            f"the recording `{path}` cannot be written: {os.strerror(error.errno or 0).lower()}",
            "choose another place with `-o DIR`",
            status=125,
        ) from None


def finish(run: RecordingRun, ended: Ended) -> bool:
    """Note how the launch ended; returns whether anything was recorded, and leaves no empty directory."""
    try:
        if directory.remove_if_empty(run.path):
            return False
        known: dict[str, float | None] = {"start_s": ended.start_s, "end_s": ended.end_s}
        known |= {"exit_status": ended.status, "signal": ended.signal, "asked_to_end": ended.asked_to_end}
        write(msgspec.structs.replace(run.manifest, **known), run.path)
        directory.synchronise_raw(run.path)
        return True
    finally:
        _release(run)


def abandon(run: RecordingRun) -> None:
    """Take back the directory of a launch that did not start."""
    directory.remove_if_empty(run.path)
    _release(run)


def _release(run: RecordingRun) -> None:
    if run.claim is not None and run.claim.lock is not None:
        os.close(run.claim.lock)


def _started(line: LaunchLine, programs: list[str]) -> tuple[LaunchLine, list[str]]:
    """What a wrapper such as `timeout` starts, as far as it is found."""
    inner = behind_wrappers(line)
    if inner is line:
        return line, programs
    try:
        return inner, [find_program(each.program) for each in inner.segments if each.program is not None]
    except RankwiseError:
        return line, programs


def _launcher(line: LaunchLine) -> LauncherUsed:
    launcher = line.launcher
    return LauncherUsed(launcher.kind, launcher.vendor, launcher.version, launcher.path)

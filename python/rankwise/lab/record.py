# SPDX-License-Identifier: BSD-3-Clause
"""A run in a lab that leaves a recording."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

import rankwise
from rankwise.errors import RankwiseError
from rankwise.lab.run import LabRun
from rankwise.launchers.line import Launch, LaunchLine, Segment
from rankwise.placement.file import to_dict
from rankwise.record import directory, library
from rankwise.record.manifest import LauncherUsed, Manifest, MpiFound
from rankwise.record.recording_run import RecordingRun, write_first
from rankwise.record.settings import settings


def begin(
    prepared: LabRun, path: Path, what: library.What, force: bool, options: Sequence[str] = ()
) -> tuple[RecordingRun, dict[str, str]]:
    """Make the recording's directory; returns the session and the variables that make ranks record into it.

    Args:
        prepared: What to run.
        path: The recording's directory.
        what: What is kept.
        force: Replace a recording that is there.
        options: Those of `rankwise lab run`, to be kept with the program's own words.
    """
    launcher, mpi, lab = prepared.launcher, prepared.mpi, prepared.lab
    segment = Segment((), prepared.words[0], tuple(prepared.words[1:]), prepared.placement.ranks)
    line = LaunchLine(launcher, (segment,))
    identity = directory.new_run()
    variables = library.variables(path, what, prepared.mpi_library, run=identity)
    try:
        claim = directory.create(path, force, identity)
    except RankwiseError as error:
        # `-o` of `rankwise lab run` is another file.
        error.hint = error.hint and error.hint.replace("`-o DIR`", "`--record DIR`")
        raise
    manifest = Manifest(
        rankwise=rankwise.__version__,
        command=["rankwise", "lab", "run", "--name", lab.name, *options, "--", *what.command(prepared.words)],
        directory=os.getcwd(),
        host=lab.front.host,
        ranks=prepared.placement.ranks,
        programs=[prepared.program],
        launcher=LauncherUsed(launcher.kind, launcher.vendor, launcher.version, launcher.path),
        mpi=MpiFound(mpi.flavour, mpi.library, mpi.path, mpi.reason),
        trace=what.trace,
        job=None,
        start_s=time.time(),
        settings=settings(line.segments, os.environ),
        lab=msgspec.to_builtins(lab),
        placement=to_dict(prepared.placement),
        run=identity,
        locked=claim.lock is not None,
    )
    write_first(manifest, path)
    return RecordingRun(line, mpi, Launch(prepared.words), path, manifest, claim=claim), variables

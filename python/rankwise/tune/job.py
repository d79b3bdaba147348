# SPDX-License-Identifier: BSD-3-Clause
"""One tuned job from the typed line to what its tuner left behind."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.launchers import Launch, LaunchLine, emit_environment, parse
from rankwise.launchers.detect import Flavour, mpi_of_line, programs_of
from rankwise.launchers.hosts import allocation, line_hosts
from rankwise.launchers.library import expected_library
from rankwise.launchers.wrappers import behind_wrappers
from rankwise.record import recording_run
from rankwise.scratch import remove_scratch
from rankwise.tune import directories
from rankwise.tune.document import Tuner
from rankwise.tune.preload import tune_environment
from rankwise.tune.session import Asked, Session

_OF_THIS_HOST = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class TunedJob:
    """A job about to start, whose tuner runs already.

    Attributes:
        launch: What to execute.
        session: Its tuner.
        scratch: Holds the ranks' pages.
        recording: The recording made meanwhile, if one was asked for.
    """

    launch: Launch
    session: Session
    scratch: Path
    recording: recording_run.RecordingRun | None

    def end(self) -> Tuner:
        """End the tuner; returns what it did. Keeps its events with the recording, too.

        Raises:
            RankwiseError: Its events cannot be read, or the summary cannot be written.
        """
        done = self.session.end()
        if self.recording is not None and self.session.events.exists():
            beside = self.recording.path / "tune"
            beside.mkdir(exist_ok=True)
            shutil.copyfile(self.session.events, beside / f"{socket.gethostname()}.jsonl")
        return done

    def abandon(self) -> None:
        """Take back the directories of a job that did not start."""
        if self.recording is not None:
            recording_run.abandon(self.recording)
        self.session.abandon()

    def close(self) -> None:
        """End the tuner if it still runs, and remove what is of this job only."""
        self.session.close()
        remove_scratch(self.scratch)


def prepare(
    words: list[str],
    asked: Asked,
    record: recording_run.Request | None = None,
    flavour: Flavour | None = None,
) -> TunedJob:
    """Check everything that can be checked, start the tuner, and say what to execute.

    Args:
        words: The launch line, not empty.
        asked: How to tune.
        record: Of a recording to be made as well.
        flavour: The program's MPI where the user says it.

    Raises:
        RankwiseError: It cannot be tuned so; nothing was started, and nothing is left.
    """
    line = parse(words)
    refuse_other_hosts(behind_wrappers(line))
    programs = programs_of(line, "tune")
    mpi = mpi_of_line(line, programs, flavour)
    library = mpi.path or expected_library(line, programs, flavour)
    with ExitStack() as undo:
        session = Session(asked)
        undo.callback(session.abandon)
        scratch = directories.pages_directory()
        undo.callback(remove_scratch, scratch)
        pages = scratch / "pages"
        pages.mkdir(mode=0o700)
        launch = emit_environment(line, tune_environment(pages, library, flavour))
        recording = None
        if record is not None:
            recording = recording_run.prepare_with(launch, words, record, flavour)
            undo.callback(recording_run.abandon, recording)
            launch = recording.launch
        session.start(replace(session.plan, pages=pages))
        undo.pop_all()
    return TunedJob(launch, session, scratch, recording)


def refuse_other_hosts(line: LaunchLine) -> None:
    """Refuse a launch on hosts other than this one: its tuner sees this one only.

    Raises:
        RankwiseError: The line or the allocation names another host.
    """
    here = {socket.gethostname(), socket.gethostname().partition(".")[0], *_OF_THIS_HOST}
    others = [
        host
        for host in line_hosts(line) or allocation(os.environ)
        if host not in here and host.partition(".")[0] not in here
    ]
    if others:
        raise RankwiseError(
            f"the job has ranks on `{others[0]}`, and `rankwise tune` sees those of this host only",
            "start it on one host, or let each node's daemon tune it (`rankwise tune --daemon`)",
        )

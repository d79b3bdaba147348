# SPDX-License-Identifier: BSD-3-Clause
"""One tuned job from the typed line to what its tuner left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rankwise.launchers import Launch, LaunchLine, emit_environment, parse
from rankwise.launchers.detect import Flavour, mpi_of_line, programs_of
from rankwise.launchers.hosts import allocation, line_hosts
from rankwise.launchers.library import expected_library
from rankwise.launchers.wrappers import behind_wrappers
from rankwise.record import recording_run
from rankwise.scratch import remove_scratch
from rankwise.tune import directories, node
from rankwise.tune.document import Tuner
from rankwise.tune.output import EVENTS
from rankwise.tune.preload import tune_environment
from rankwise.tune.session import Asked, Session
from rankwise.tune.summary import tuners_of_hosts, write_summary

_OF_THIS_HOST = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class TunedJob:
    """A job about to start, whose tuner runs already.

    Attributes:
        launch: What to execute.
        session: Its tuner.
        scratch: Holds the ranks' pages.
        recording: The recording made meanwhile, if one was asked for.
        others: Other hosts that the launch line or the allocation names.
    """

    launch: Launch
    session: Session
    scratch: Path
    recording: recording_run.RecordingRun | None
    others: list[str]

    def end(self) -> tuple[list[Tuner], list[str]]:
        """End the tuner. Keeps the events of all hosts with the recording, too.

        Returns:
            What each tuner did, that of this host first; of what is not known or not put back, a sentence each.

        Raises:
            RankwiseError: Events cannot be read, or the summary cannot be written.
        """
        done = [self.session.end()]
        output = self.session.output
        beside = self.recording.path / "tune" if self.recording is not None else None
        shared = output or beside
        if shared is None:
            known_with = ["what was done on other hosts is known with `-o NAME.tune` only"]
            return done, self.session.left + (known_with if self.others else [])
        unknown = node.await_events(shared, self.others)
        done += tuners_of_hosts(shared)
        if output is not None and len(done) > 1:
            write_summary(output, done)
        if beside is not None:
            for file in {self.session.events, *(output.glob("*.jsonl") if output is not None else ())}:
                here = file.name == EVENTS
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(file, beside / (f"{socket.gethostname()}.jsonl" if here else file.name))
        return done, self.session.left + unknown

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
    others = other_hosts(behind_wrappers(line))
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
        of_nodes = node.NodeAsked(
            act=asked.act,
            irq=asked.irq,
            machine=os.path.abspath(asked.machine) if asked.machine is not None else None,
            pages=str(pages),
            events=_shared(session.output, record.output if record is not None else None),
        )
        variables = tune_environment(pages, library, flavour) | node.node_environment(of_nodes)
        launch = emit_environment(line, variables)
        recording = None
        if record is not None:
            recording = recording_run.prepare_with(launch, words, record, flavour)
            undo.callback(recording_run.abandon, recording)
            (recording.path / "tune").mkdir()
            launch = recording.launch
        session.start(replace(session.plan, pages=pages))
        undo.pop_all()
    return TunedJob(launch, session, scratch, recording, others)


def _shared(output: Path | None, recording: str | None) -> str | None:
    """Where events of other hosts are to be: in what the user keeps, which other nodes are likely to see."""
    if output is not None:
        return str(output.resolve())
    return os.path.join(os.path.realpath(recording), "tune") if recording is not None else None


def other_hosts(line: LaunchLine) -> list[str]:
    """Hosts of a launch, or of the allocation that it is in, other than this one."""
    here = {socket.gethostname(), socket.gethostname().partition(".")[0], *_OF_THIS_HOST}
    return [
        host
        for host in line_hosts(line) or allocation(os.environ)
        if host not in here and host.partition(".")[0] not in here
    ]

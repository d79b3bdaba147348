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
from rankwise.record.library import What
from rankwise.scratch import remove_scratch
from rankwise.tune import directories
from rankwise.tune.document import Tuner, tuner_of
from rankwise.tune.events import FILE_NAME, read_events
from rankwise.tune.output import claim, remove_empty, write_summary
from rankwise.tune.plan import Plan, this_node
from rankwise.tune.preload import tune_environment
from rankwise.tune.tuner_process import TunerProcess

_OF_THIS_HOST = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Asked:
    """What the user asked for.

    Attributes:
        act: Change anything; without it, only say what would be done.
        irq: Interrupts may be moved as well.
        machine: The machine file that costs are taken from.
        output: Directory `NAME.tune` to keep plan, events and summary in; `None` to keep nothing.
        force: Replace what is there.
        record: Directory of a recording to be made as well.
        flavour: The program's MPI where the user says it.
    """

    act: bool = True
    irq: bool = False
    machine: str | None = None
    output: str | None = None
    force: bool = False
    record: str | None = None
    flavour: Flavour | None = None


@dataclass(frozen=True)
class TunedJob:
    """A job about to start, whose tuner runs already.

    Attributes:
        line: As typed.
        launch: What to execute.
        tuner: The tuner of this node.
        kept: Where plan and events are: `NAME.tune`, or a directory that `close` removes.
        scratch: Holds the ranks' pages, and `kept` where no other was asked for.
        state: Directory of the tuner's journal.
        output: `NAME.tune`, if it was asked for.
        recording: The recording made meanwhile, if one was asked for.
    """

    line: LaunchLine
    launch: Launch
    tuner: TunerProcess
    kept: Path
    scratch: Path
    state: Path
    output: Path | None
    recording: recording_run.RecordingRun | None

    def end(self) -> Tuner:
        """End the tuner; returns what it did. Keeps its events with the recording, too.

        Raises:
            RankwiseError: Its events cannot be read, or the summary cannot be written.
        """
        self.tuner.end()
        done = tuner_of(read_events(self.kept / FILE_NAME))
        if self.output is not None:
            write_summary(self.output, done)
        if self.recording is not None and (self.kept / FILE_NAME).exists():
            beside = self.recording.path / "tune"
            beside.mkdir(exist_ok=True)
            shutil.copyfile(self.kept / FILE_NAME, beside / f"{socket.gethostname()}.jsonl")
        return done

    def close(self) -> None:
        """End the tuner if it still runs, and remove what is of this job only."""
        self.tuner.end()
        remove_scratch(self.scratch)
        directories.remove_state(self.state, directories.GUARD_S)


def prepare(words: list[str], asked: Asked) -> TunedJob:
    """Check everything that can be checked, start the tuner, and say what to execute.

    Args:
        words: The launch line, not empty.
        asked: How to tune.

    Raises:
        RankwiseError: It cannot be tuned so; nothing was started, and nothing is left.
    """
    line = parse(words)
    refuse_other_hosts(behind_wrappers(line))
    programs = programs_of(line, "tune")
    mpi = mpi_of_line(line, programs, asked.flavour)
    library = mpi.path or expected_library(line, programs, asked.flavour)
    pus, costs = this_node(asked.machine)
    with ExitStack() as undo:
        output = None
        if asked.output is not None:
            output = claim(asked.output, asked.force)
            undo.callback(remove_empty, output)
        scratch = directories.pages_directory()
        undo.callback(remove_scratch, scratch)
        state = directories.new_state(os.getpid())
        undo.callback(shutil.rmtree, state, ignore_errors=True)
        kept = output or scratch
        pages = scratch / "pages"
        pages.mkdir(mode=0o700)
        launch = emit_environment(line, tune_environment(pages, library, asked.flavour))
        plan = Plan(
            pus=pus,
            costs=costs,
            state=state,
            socket=directories.check_socket(state / directories.SOCKET),
            act=asked.act,
            irq=asked.irq,
            pages=pages,
            events=kept.resolve() / FILE_NAME,
        )
        plan.write(kept / "plan")
        recording = None
        if asked.record is not None:
            recording = _recording(words, launch, asked)
            undo.callback(recording_run.abandon, recording)
            launch = recording.launch
        tuner = TunerProcess(kept / "plan", plan.socket, kept / "log")
        undo.pop_all()
    return TunedJob(line, launch, tuner, kept, scratch, state, output, recording)


def _recording(words: list[str], launch: Launch, asked: Asked) -> recording_run.RecordingRun:
    recording = recording_run.prepare(
        launch.words, asked.record, asked.force, What(), flavour=asked.flavour,
        inherited=launch.environment_of_first(os.environ), typed=words,
    )  # fmt: skip
    both = Launch(
        recording.launch.words,
        launch.environment | recording.launch.environment,
        (*launch.without, *recording.launch.without),
    )
    return replace(recording, launch=both)


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
            status=125,
        )

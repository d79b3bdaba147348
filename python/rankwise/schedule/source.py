# SPDX-License-Identifier: BSD-3-Clause
"""Where schedules come from: a traced recording, GOAL as text or binary, and traces of other tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from rankwise import _core, whole_files
from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.quantities import bytes_text
from rankwise.recording.call_times import CallTimes, call_times
from rankwise.recording.completeness import Gap, check_usable
from rankwise.recording.expansion import algorithms_of
from rankwise.recording.job import choose_job
from rankwise.recording.layouts import TRACE_CUT
from rankwise.recording.raw import read
from rankwise.recording.recording import Recording
from rankwise.recording.span import Span, span_of
from rankwise.schedule import simgrid, untraced
from rankwise.schedule.faults import FaultError
from rankwise.schedule.inputs import name_file, read_bytes
from rankwise.schedule.omitted import gather, not_modelled, sentence
from rankwise.schedule.schedules import Schedule
from rankwise.schedule.untraced import UntracedRun

BYTES_AN_OPERATION = 110
"""Of a schedule and its replay."""

MEMORY_BYTES = 2 << 30
"""Schedules of recordings may take that unless something else is said."""


Kind = Literal["recording", "goal", "goal-binary", "simgrid", "otf2", "counts"]


@dataclass(frozen=True)
class Source:
    """A schedule and what is known of the run it comes from.

    Attributes:
        schedule: `_core.schedule.Schedule`, its messages matched; any number of replays share it. Of a recording
            without trace its `UntracedRun`, of one whose schedule would be too large a `_core.schedule.StreamedTrace`.
        kind: What was read; `counts` is a recording without trace.
        omitted: What the input holds that the schedule does not: sentence -> how often.
        library: Whose collective algorithms are followed, `mpich` or `openmpi`; `None` for GOAL.
        recorded: Where the ranks ran when they were recorded, if that is known.
        span: How long that took, if it is known and the schedule has all of it.
        expand: Gives the schedule of ranks on these nodes, if collectives go by who shares a node; in `schedule` each
            rank has a node of its own.
        not_modelled: Calls of which the model has no more than how long they took, or not even that: part of the
            ranks' time.
        missing: What of the run was not recorded, so that it is a part that is replayed.
        lab_rate_bytes_per_s: Of the interfaces of the lab that it was recorded in; `None` outside of labs.
        generated: What a recording was generated from and on what, if no program ran.
        calls: Gives the recorded calls of each rank, where `span` is known.
    """

    schedule: Schedule | UntracedRun
    kind: Kind = "goal"
    omitted: dict[str, int] = field(default_factory=dict)
    library: str | None = None
    recorded: Placement | None = None
    span: Span | None = None
    expand: Callable[[np.ndarray], Schedule] | None = field(default=None, compare=False)
    not_modelled: dict[str, float] = field(default_factory=dict)
    missing: list[Gap] = field(default_factory=list)
    lab_rate_bytes_per_s: float | None = None
    generated: str | None = None
    calls: Callable[[], list[CallTimes]] | None = field(default=None, compare=False)

    @property
    def in_windows(self) -> bool:
        """Whether the schedule is never in memory as a whole: each replay reads the traces again."""
        return isinstance(self.schedule, _core.schedule.StreamedTrace)

    @property
    def whole_bytes(self) -> int:
        """About how much memory the schedule takes as a whole."""
        return self.schedule.operations * BYTES_AN_OPERATION

    def whole(self, path: str | os.PathLike[str], what: str) -> _core.schedule.Schedule:
        """The schedule, for what needs it as a whole.

        Args:
            path: Where it comes from, for the message.
            what: Needs it, as "a timeline".

        Raises:
            RankwiseError: It is replayed in windows.
        """
        if not isinstance(self.schedule, _core.schedule.Schedule):
            needed = (self.whole_bytes >> 30) + 1
            raise RankwiseError(
                f"{what} needs the schedule of `{path}` as a whole, about {bytes_text(self.whole_bytes)}",
                f"allow it with `--memory {needed}GiB`, or record a phase of the program",
            )
        return self.schedule


def load(
    path: str | os.PathLike[str],
    library: str | None = None,
    flops_per_s: float | None = None,
    counts_suffice: bool = False,
    memory_bytes: int = MEMORY_BYTES,
) -> Source:
    """Read what can be replayed; what it is, is told by what is in it.

    Args:
        path: `NAME.rw` recorded with `--trace`, GOAL text or binary GOAL, a time-independent trace of SimGrid or the
            index of its files, the anchor file of an OTF2 trace (`.otf2`) or its directory.
        library: Whose collective algorithms to follow instead of those of the recorded program's MPI; MPICH's
            where none was recorded.
        flops_per_s: Speed of a core, for traces that count floating-point operations.
        memory_bytes: Recordings whose schedule takes more than about that are replayed in windows.
        counts_suffice: Take a recording without trace for what it has: counts of messages, and computation.

    Raises:
        RankwiseError: It cannot be read, has no trace, or its messages do not match; the file is named.
    """
    path = Path(path)
    anchor = path / "traces.otf2" if path.is_dir() else path
    if anchor.suffix == ".otf2" and anchor.is_file():
        from rankwise.schedule import otf2_trace

        library = library or "mpich"
        with name_file(path):
            schedule, omitted = otf2_trace.read(anchor, library)
        return Source(schedule, "otf2", omitted, library)
    if path.is_dir():
        if counts_suffice and not _has_trace(path):
            counts, recorded, omitted, missing = untraced.of_recording(path)
            return Source(counts, "counts", omitted, recorded=recorded, missing=missing)
        return _from_recording(path, library, memory_bytes)
    with name_file(path):
        if _core.schedule.Schedule.is_goal_binary(read_bytes(path, 8)):
            # Mapped: large files are not in memory beside their schedule.
            mapped = np.memmap(path, np.uint8, "r")
            return Source(_core.schedule.Schedule.read_goal_binary(mapped, str(path)), "goal-binary")
        data = read_bytes(path)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RankwiseError(
                f"`{path}` is neither a recording directory nor a trace: byte {error.start} is not text",
                "name a recording, for example `rankwise predict app.rw --machine M.machine.toml`",
            ) from None
        if not text.strip():
            raise RankwiseError(
                f"`{path}` is empty", "record a program: `rankwise record --trace -- mpiexec -n 4 ./app`"
            )
        files = [path] if simgrid.looks_like(text) else simgrid.files_of(path, text)
        if files:
            library = library or "mpich"
            schedule, omitted = simgrid.read(files, flops_per_s, library)
            return Source(schedule, "simgrid", omitted, library)
        return Source(_core.schedule.Schedule.read_goal(text, str(path)), "goal")


@contextmanager
def name_calls(source_path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors on operations (deadlocks, unmatched messages) get the file's name; in recordings, MPI calls too."""
    try:
        yield
    except FaultError as error:
        path = Path(source_path)
        recorded = path.is_dir() and not (path / "traces.otf2").is_file()
        raise (error.of_recording(path) if recorded else error.of_file(path)) from None


def write_goal(schedule: _core.schedule.Schedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule as GOAL text, as binary GOAL if the name ends in `.bin`.

    Raises:
        RankwiseError: The file cannot be written, or binary GOAL cannot hold the schedule.
    """
    target = Path(path)
    binary = target.suffix == ".bin"
    whole_files.write(target, schedule.write_goal_binary() if binary else schedule.write_goal().encode())


def _has_trace(path: Path) -> bool:
    return bool(Recording.open(path).context["trace"]["ranks"] > 0)


def _from_recording(path: Path, library: str | None, memory_bytes: int) -> Source:
    recording = Recording.open(path)
    missing = check_usable(path, recording.context)
    job = choose_job(read(path))
    library = library or algorithms_of(job.threads[0].rank)
    with name_calls(path), name_file(path):
        run = _core.schedule.TracedRun.read([t.record for t in job.first_threads], library)
        if run.operations_about * BYTES_AN_OPERATION > memory_bytes:
            in_windows = run.in_windows()
            schedule: Schedule = in_windows
            omissions = in_windows.omitted
        else:
            schedule, omissions = run.schedule()
    cut = [what for what, _ in omissions if what.kind == "truncated"]
    if cut and not recording.context["partial_ranks"]:
        raise RankwiseError(
            f"the recording `{path}` is damaged: {sentence(cut[0])}",
            f"see what there is with `rankwise report {path}`; record it again",
        )
    omitted = gather(omissions)
    further = len(job.threads) - len(job.first_threads)
    if further:
        omitted["threads besides each rank's first"] = further

    def expand(node: np.ndarray) -> Schedule:
        with name_calls(path), name_file(path):
            if isinstance(schedule, _core.schedule.Schedule):
                return run.schedule(node.tolist())[0]
            return run.in_windows(node=node.tolist())

    whole = not any(thread.has(TRACE_CUT) for thread in job.first_threads)
    one_clock = recording.in_lab or recording.generated is not None
    span = span_of(job.first_threads, one_clock=one_clock) if whole else None
    by_nodes = expand if run.goes_by_nodes else None
    calls = not_modelled(recording)
    return Source(
        schedule,
        "recording",
        omitted,
        library,
        recording.placement,
        span,
        by_nodes,
        calls,
        missing,
        recording.lab_rate_bytes_per_s,
        recording.generated,
        partial(call_times, job.first_threads, span) if span else None,
    )

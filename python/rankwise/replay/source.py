# SPDX-License-Identifier: BSD-3-Clause
"""Where schedules come from: a traced recording, GOAL as text or binary, and traces of other tools."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise import _core, whole_files
from rankwise.errors import RankwiseError
from rankwise.replay import simgrid

if TYPE_CHECKING:
    from rankwise.placement.placement import Placement
    from rankwise.recording.span import Span
    from rankwise.replay.counts import Counts

_EVENT = re.compile(r"rank ([0-9]+), event ([0-9]+)")


@dataclass(frozen=True)
class Source:
    """A schedule and what is known of the run it comes from.

    Attributes:
        schedule: `_core.replay.Schedule`, its messages matched; any number of replays share it. Of a recording without
            trace its `Counts`.
        kind: As in `rankwise.replay.document.Input`; `counts` is a recording without trace.
        omitted: What the input holds that the schedule does not: sentence -> how often.
        library: Whose collective algorithms are followed, `mpich` or `openmpi`; `None` for GOAL.
        recorded: Where the ranks ran when they were recorded, if that is known.
        span: How long that took, if it is known and the schedule has all of it.
    """

    schedule: _core.replay.Schedule | Counts
    kind: str
    omitted: dict[str, int] = field(default_factory=dict)
    library: str | None = None
    recorded: Placement | None = None
    span: Span | None = None


def load(
    path: str | os.PathLike[str],
    library: str | None = None,
    flops_per_s: float | None = None,
    counts_suffice: bool = False,
) -> Source:
    """Read what can be replayed; what it is, is told by what is in it.

    Args:
        path: `NAME.rw` recorded with `--trace`, GOAL text or binary GOAL, a time-independent trace of SimGrid or the
            index of its files, the anchor file of an OTF2 trace (`.otf2`) or its directory.
        library: Whose collective algorithms to follow instead of those of the recorded program's MPI; MPICH's
            where none was recorded.
        flops_per_s: Speed of a core, for traces that count floating-point operations.
        counts_suffice: Take a recording without trace for what it has: counts of messages, and computation.

    Raises:
        RankwiseError: It cannot be read, has no trace, or its messages do not match; the file is named.
    """
    path = Path(path)
    anchor = path / "traces.otf2" if path.is_dir() else path
    if anchor.suffix == ".otf2" and anchor.is_file():
        from rankwise.replay import otf2_trace

        library = library or "mpich"
        with named(path):
            schedule, omitted = otf2_trace.read(anchor, library)
        return Source(schedule, "otf2", omitted, library)
    if path.is_dir():
        if counts_suffice and not _has_trace(path):
            from rankwise.replay.counts import of_recording

            counts, recorded = of_recording(path)
            return Source(counts, "counts", recorded=recorded)
        return _from_recording(path, library)
    data = read_bytes(path)
    with named(path):
        if _core.replay.Schedule.is_goal_binary(data):
            return Source(_core.replay.Schedule.read_goal_binary(data, str(path)), "goal-binary")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RankwiseError(
                f"`{path}` is neither a recording directory nor a trace: byte {error.start} is not text",
                "name a recording, for example `rankwise predict app.rw --machine M.machine.toml`",
            ) from None
        files = [path] if simgrid.looks_like(text) else simgrid.files_of(path, text)
        if files:
            library = library or "mpich"
            schedule, omitted = simgrid.read(files, flops_per_s, library)
            return Source(schedule, "simgrid", omitted, library)
        return Source(_core.replay.Schedule.read_goal(text, str(path)), "goal")


def read_bytes(path: Path) -> bytes:
    """A file's content.

    Raises:
        RankwiseError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            "record a program: `rankwise record --trace -- mpiexec -n 4 ./app`",
        ) from None


@contextmanager
def named(path: Path):
    """Errors on what a file holds as a whole (messages that do not match, a circle) get its name, too."""
    try:
        yield
    except RankwiseError as error:
        if str(path) in str(error):
            raise
        raise RankwiseError(f"`{path}`: {error}", error.hint, status=error.status) from None


@contextmanager
def calls_named(source_path: str | os.PathLike[str]):
    """Errors that name events of a recording (a deadlock, messages that do not match) get their MPI functions, too."""
    try:
        yield
    except RankwiseError as error:
        path = Path(source_path)
        if not path.is_dir() or not _EVENT.search(error.message):
            raise
        message = _EVENT.sub(lambda found: _with_call(path, found), error.message)
        raise RankwiseError(message, error.hint, status=error.status) from None


def _with_call(path: Path, found: re.Match) -> str:
    from rankwise.recording.recording import Recording

    functions, kinds = _core.trace.calls(), Recording.open(path).events(int(found[1]))["kind"]
    at = int(found[2])
    if at >= len(kinds) or kinds[at] >= len(functions):
        return found[0]
    return f"{found[0]} ({functions[kinds[at]][0]})"


def write_goal(schedule: _core.replay.Schedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule as GOAL text, as binary GOAL if the name ends in `.bin`.

    Raises:
        RankwiseError: The file cannot be written, or binary GOAL cannot hold the schedule.
    """
    target = Path(path)
    binary = target.suffix == ".bin"
    whole_files.write(target, schedule.write_goal_binary() if binary else schedule.write_goal().encode())


def _has_trace(path: Path) -> bool:
    from rankwise.recording.recording import Recording

    return Recording.open(path).context["trace"]["ranks"] > 0


def _from_recording(path: Path, library: str | None) -> Source:
    from rankwise.recording.expansion import library_of
    from rankwise.recording.job import choose_job
    from rankwise.recording.raw import TRACE_CUT, read
    from rankwise.recording.recording import Recording
    from rankwise.recording.span import span_of

    job = choose_job(read(path))
    if job.missing_ranks:
        raise RankwiseError(
            f"the recording `{path}` lacks rank `{job.missing_ranks[0]}`"
            + (f" and {len(job.missing_ranks) - 1} more" if len(job.missing_ranks) > 1 else ""),
            "record it again, with every node writing to the recording directory",
        )
    library = library or library_of(job.threads[0].rank)
    with calls_named(path), named(path):
        schedule, omitted = _core.replay.Schedule.from_trace([t.record for t in job.first_threads], library)
    further = len(job.threads) - len(job.first_threads)
    if further:
        omitted["threads besides each rank's first"] = further
    recording = Recording.open(path)
    whole = not any(thread.has(TRACE_CUT) for thread in job.first_threads)
    span = span_of(job.first_threads, one_clock=recording.in_lab) if whole else None
    return Source(schedule, "recording", omitted, library, recording.placement, span)

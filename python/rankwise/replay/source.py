# SPDX-License-Identifier: BSD-3-Clause
"""Where schedules come from: a traced recording, or a GOAL file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise import _core
from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.placement.placement import Placement


@dataclass(frozen=True)
class Source:
    """A schedule and what is known of the run it comes from.

    Attributes:
        schedule: `_core.replay.Schedule`, its messages matched; any number of replays share it.
        kind: `recording` or `goal`.
        omitted: What the input holds that the schedule does not: sentence -> how often.
        library: Whose collective algorithms are followed, `mpich` or `openmpi`; `None` for GOAL.
        recorded: Where the ranks ran when they were recorded, if that is known.
    """

    schedule: _core.replay.Schedule
    kind: str
    omitted: dict[str, int] = field(default_factory=dict)
    library: str | None = None
    recorded: Placement | None = None


def load(path: str | os.PathLike[str], library: str | None = None) -> Source:
    """Read a recording directory or a GOAL file.

    Args:
        path: `NAME.rw` recorded with `--trace`, or GOAL text.
        library: Whose collective algorithms to follow instead of those of the recorded program's MPI.

    Raises:
        RankwiseError: It cannot be read, has no trace, or its messages do not match.
    """
    path = Path(path)
    if path.is_dir():
        return _from_recording(path, library)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            "record a program: `rankwise record --trace -- mpiexec -n 4 ./app`",
        ) from None
    except UnicodeDecodeError:
        raise RankwiseError(
            f"`{path}` is neither a recording directory nor GOAL text",
            "name a recording, for example `rankwise predict app.rw --machine M.machine.toml`",
        ) from None
    return Source(_core.replay.Schedule.read_goal(text, str(path)), "goal")


def _from_recording(path: Path, library: str | None) -> Source:
    from rankwise.recording.expansion import library_of
    from rankwise.recording.job import largest_job
    from rankwise.recording.raw import read
    from rankwise.recording.recording import Recording

    job = largest_job(read(path))
    if job.missing_ranks:
        raise RankwiseError(
            f"the recording `{path}` lacks rank `{job.missing_ranks[0]}`"
            + (f" and {len(job.missing_ranks) - 1} more" if len(job.missing_ranks) > 1 else ""),
            "record it again, with every node writing to the recording directory",
        )
    library = library or library_of(job.threads[0].rank)
    schedule, omitted = _core.replay.Schedule.from_trace([t.record for t in job.first_threads], library)
    further = len(job.threads) - len(job.first_threads)
    if further:
        omitted["threads besides each rank's first"] = further
    return Source(schedule, "recording", omitted, library, Recording.open(path).placement)

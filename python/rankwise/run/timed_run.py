# SPDX-License-Identifier: BSD-3-Clause
"""One run with a limit of time, and how long it took inside MPI's bounds."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rankwise.launchers.execute import Ended
from rankwise.record.recording_run import finish
from rankwise.recording.job import choose_job
from rankwise.recording.layouts import FINALIZED
from rankwise.recording.raw import read
from rankwise.recording.span import span_of
from rankwise.run.failures import last_line
from rankwise.run.limited import run_limited
from rankwise.run.placed_run import PlacedRun


class RunFailedError(Exception):
    """A run that counts as failed; the text says how it ended."""


@dataclass(frozen=True)
class Made:
    """A run that succeeded.

    Attributes:
        time_s: See `time_of`.
        others: Part of all cores' time that others used during the launch; `None` on a cluster, where it is not known.
        launch_s: Of the whole launch.
        invalid: Why the run does not count (`rankwise.lab.usage`); empty if it does.
    """

    time_s: float
    others: float | None
    launch_s: float
    invalid: str = ""


def run_placed(session: PlacedRun, path: Path, limit_s: float) -> Made:
    """Run to the end on a cluster, output into `path` + `.log`, and close the session.

    Args:
        session: What to run, placed and recorded into `path`.
        path: The recording.
        limit_s: Most time for the whole launch.

    Raises:
        RunFailedError: As `outcome_of`; it did not end in time; or a rank was not where it should be.
    """
    log, start_s = path.with_name(path.name + ".log"), time.time()
    try:
        with open(log, "wb") as output:
            status = run_limited(session.launch, limit_s, output)
        if session.recording:
            finish(session.recording, Ended(status, None, False, start_s, time.time()))
        launch_s, astray = time.time() - start_s, session.verify().astray
    except subprocess.TimeoutExpired:
        raise RunFailedError(f"not finished after {limit_s:.0f} s") from None
    finally:
        session.close()
    if astray and not status:
        raise RunFailedError(f"rank {astray[0].rank} did not run where the placement says")
    return outcome_of(path, log, status, None, launch_s, one_clock=False)


def outcome_of(
    path: Path,
    log: Path,
    status: int,
    others: float | None,
    launch_s: float,
    invalid: str = "",
    one_clock: bool = True,
) -> Made:
    """What a launch that has ended came to; its output goes if it succeeded.

    Args:
        path: The recording.
        log: The launch's output.
        status: Its exit status.
        others: As in `Made`.
        launch_s: As in `Made`.
        invalid: As in `Made`.
        one_clock: As of `time_of`.

    Raises:
        RunFailedError: It did not end with status 0, or left a partial recording.
    """
    if status:
        said = last_line(log.read_text(errors="replace"))
        raise RunFailedError(f"status {status}" + (f": {said}" if said else ""))
    log.unlink()
    return Made(time_of(path, one_clock), others, launch_s, invalid)


def time_of(path: Path, one_clock: bool = True) -> float:
    """Seconds from when the last rank has left MPI_Init to when the last rank enters MPI_Finalize.

    What a schedule describes, which begins with all ranks at once. Ranks of a lab share one clock.
    """
    ranks = choose_job(read(path)).first_threads
    partial = [thread.rank["world_rank"] for thread in ranks if not thread.has(FINALIZED)]
    if partial or len(ranks) < ranks[0].rank["world_size"]:
        raise RunFailedError(f"recorded in part only{f' by rank {partial[0]}' if partial else ''}")
    span = span_of(ranks, one_clock)
    if span is None:
        raise RunFailedError("recorded without a clock")
    return span.time_s

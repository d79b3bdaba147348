# SPDX-License-Identifier: BSD-3-Clause
"""Cases measured in a lab or on a cluster: their programs built, placed, run several times and recorded."""

from __future__ import annotations

import atexit
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.placement.distribution import CommMatrix, matrix_of
from rankwise.recording.recording import Recording
from rankwise.run.timed_run import Made, RunFailedError
from rankwise.scratch import make_scratch, remove_scratch
from rankwise.study.cases import Case, Outcome
from rankwise.study.platforms import Platform
from rankwise.study.request import Request
from rankwise.study.run.in_lab import StudyLab
from rankwise.study.run.of_recording import of_several, outcome_of
from rankwise.study.run.on_cluster import Cluster

RUNS = 3
_MOST_RUNS = 6
"""Where some do not count because this machine's processors decided them."""

_LIMIT_S = 600.0


def measure(request: Request, platform: Platform, case: Case) -> Outcome:
    """Run a case several times.

    Raises:
        RankwiseError: It cannot be run, a run failed, or none counts.
    """
    made: list[Outcome] = []
    why = ""
    for _ in range(_MOST_RUNS):
        if len(made) == RUNS:
            break
        recording, run = _run(request, platform, case)
        if run.invalid:
            why = run.invalid
            continue
        made.append(outcome_of(recording, run.time_s))
    if not made:
        raise RankwiseError(
            f"no run of `{case.program.label}` ({case.label}) counts: {why}",
            "use fewer ranks (`--ranks 4`), a smaller class (`--app cg.S`), or a machine with more cores",
        )
    return of_several(made)


def record_messages(request: Request, platform: Platform, case: Case) -> CommMatrix:
    """What a case sends, from one run.

    Raises:
        RankwiseError: It cannot be run, or failed.
    """
    return matrix_of(_run(request, platform, case)[0].messages)


def machine(request: Request, study: str) -> Platform:
    """The lab or cluster, measured; what is in the study's directory from before is taken.

    Raises:
        RankwiseError: It cannot be measured.
    """
    return _site(request).measured()


def nodes(request: Request) -> Platform:
    """The nodes of the lab or cluster, for placing ranks.

    Raises:
        RankwiseError: They cannot be found out.
    """
    return _site(request).platform()


def _run(request: Request, platform: Platform, case: Case) -> tuple[Recording, Made]:
    site = _site(request)
    words = site.words(case)
    path = _scratch() / f"{int(time.monotonic_ns())}.rw"
    placement = case.seats.on(platform.topology, case.ranks)
    try:
        made = site.run(words, placement, path, _LIMIT_S)
    except RunFailedError as failed:
        raise RankwiseError(
            f"a run of `{case.program.label}` ({case.label}) failed: {failed}",
            f"try it by hand: `{' '.join(words)}`",
        ) from None
    return Recording.open(path), made


@lru_cache(maxsize=1)
def _site(request: Request) -> StudyLab | Cluster:
    """The site of a study; a lab of its own stays up as long as this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    made: Callable[[Request, ExitStack], StudyLab | Cluster]
    made = StudyLab.of if request.mode == "lab" else Cluster.of
    return made(request, stack)


@lru_cache(maxsize=1)
def _scratch() -> Path:
    made = make_scratch(tempfile.gettempdir(), "rankwise-study-")
    atexit.register(remove_scratch, made)
    return made

# SPDX-License-Identifier: BSD-3-Clause
"""Outcomes of a study's cases, each made once: what is kept in the study's directory is not made again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.placement.distribution import CommMatrix
from rankwise.study.cases import Case, Outcome
from rankwise.study.platforms import Platform
from rankwise.study.request import Request
from rankwise.study.run import on_machine


class PartDoneError(RankwiseError):
    """A part of a job array has made its cases; those of others are missing yet."""


def outcomes(request: Request, platform: Platform, cases: Sequence[Case]) -> dict[Case, Outcome]:
    """What comes of each case, predicted or measured as the request says.

    Of a part of a job array only this part's cases are made; those of other parts are there if they were kept before.

    Args:
        request: What was asked for.
        platform: The machine; a lab or cluster as it was described or found.
        cases: What to do.

    Returns:
        Of the cases that are there.

    Raises:
        RankwiseError: A case does not fit the machine, or cannot be run.
    """
    found: dict[Case, Outcome] = {}
    number, of = request.part
    for at, case in enumerate(cases):
        kept = _kept(request, platform, case)
        outcome = _read(kept)
        if outcome is None and at % of == number - 1:
            request.progress(f"{case.program.label} {case.label} on {platform.name}")
            outcome = _make(request, platform, case)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                whole_files.write(kept, msgspec.json.encode(outcome))
        if outcome is not None:
            found[case] = outcome
    return found


def all_outcomes(request: Request, platform: Platform, cases: Sequence[Case]) -> dict[Case, Outcome]:
    """As `outcomes`, of all cases.

    Raises:
        PartDoneError: Other parts of a job array have not made theirs.
        RankwiseError: As `outcomes`.
    """
    found = outcomes(request, platform, cases)
    missing = [case for case in cases if case not in found]
    if missing:
        raise PartDoneError(
            f"{len(missing)} of {len(cases)} cases are made by other parts of the job array",
            "run the study again with the same `-o` when all parts have ended",
        )
    return found


def recorded_messages(request: Request, platform: Platform, case: Case) -> CommMatrix:
    """What a case sends when it runs, from a recording of it.

    Raises:
        RankwiseError: The case cannot be run or recorded.
    """
    from rankwise.study.run import measured

    request.progress(f"{case.program.label} {case.label} on {platform.name}")
    return measured.record_messages(request, platform, case)


def _make(request: Request, platform: Platform, case: Case) -> Outcome:
    if request.mode == "machine":
        return on_machine.predict(case, platform)
    from rankwise.study.run import measured

    return measured.measure(request, platform, case)


def _kept(request: Request, platform: Platform, case: Case) -> Path | None:
    """Where what was measured of a case is kept, by all that it depends on; predictions are made anew."""
    if request.directory is None or request.mode == "machine":
        return None
    key = hashlib.sha256(f"{request.mode} {platform.name}\n{case!r}".encode()).hexdigest()[:16]
    return request.directory / "outcomes" / f"{key}.json"


def _read(kept: Path | None) -> Outcome | None:
    if kept is None or not kept.is_file():
        return None
    try:
        return msgspec.json.decode(kept.read_bytes(), type=Outcome)
    except (msgspec.DecodeError, OSError):
        return None  # a run that was killed while it wrote, or of another version: made again

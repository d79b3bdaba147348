# SPDX-License-Identifier: BSD-3-Clause
"""Cases measured in a lab or on a cluster."""

from __future__ import annotations

from typing import NoReturn

from rankwise.errors import RankwiseError
from rankwise.placement.distribution import CommMatrix
from rankwise.study.cases import Case, Outcome
from rankwise.study.platforms import Platform
from rankwise.study.request import Request


def measure(request: Request, platform: Platform, case: Case) -> Outcome:
    """Run a case."""
    _refuse(request)


def record_messages(request: Request, platform: Platform, case: Case) -> CommMatrix:
    """What a case sends."""
    _refuse(request)


def machine(request: Request, study: str) -> Platform:
    """The lab or cluster, measured."""
    _refuse(request)


def _refuse(request: Request) -> NoReturn:
    raise RankwiseError(
        f"studies cannot be made with `--on {request.mode}` by this version",
        "predict them: `--on machine FILE`",
    )

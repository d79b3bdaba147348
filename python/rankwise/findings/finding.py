# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a run: a sentence that names the culprit, what it costs, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEAST_SHARE = 0.05
"""Of the run time. What costs less is not told: runs of one program differ by as much among themselves."""

LEAST_S = 0.01
"""Waiting for a core is known between samples 10 ms apart, so nothing shorter is told apart from it."""


@dataclass(frozen=True)
class Finding:
    """One thing that is worth fixing.

    Attributes:
        name: Of its kind, as `rankwise explain` takes it.
        sentence: What is wrong and who is the culprit; no capital, no full stop.
        evidence: What it is told from, a sentence each.
        ranks: World ranks that are to blame, or concerned.
        cost_s: Run time that fixing it saves, about; `null` where that is not known.
        estimate: How the cost was estimated, or why it is not known.
        do: What to do.
        command: A command line for that; `null` where there is none.
        confidence: `high`: the recording shows it; `medium`: something else may look the same.
        refuted_by: What would show that it is wrong.
    """

    name: str
    sentence: str
    evidence: list[str]
    ranks: list[int]
    cost_s: float | None
    estimate: str
    do: str
    command: str | None
    confidence: Literal["high", "medium"]
    refuted_by: str


@dataclass(frozen=True)
class NotLookedFor:
    """A finding that this recording cannot have.

    Attributes:
        name: Of its kind.
        why: What is missing for it.
    """

    name: str
    why: str

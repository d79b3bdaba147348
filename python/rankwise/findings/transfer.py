# SPDX-License-Identifier: BSD-3-Clause
"""What transfer is lost to: by channel and shared resource, and what of it another placement gives back."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.errors import RankwiseError
from rankwise.explain.losses import Loss
from rankwise.findings.on_machine import OnMachine


@dataclass(frozen=True)
class TransferSplit:
    """The transfer efficiency taken apart, by replays with one thing free each.

    Attributes:
        makespan_s: Predicted run time as it ran.
        losses: What the run would save if a channel (or its latency, bytes or overhead), or a resource that ranks
            share, were free; the largest first. They do not add up: two that hide each other lose nothing each.
        placement_s: What the best placement found saves; `None` if none could be searched for.
        why_no_placement: Why not.
    """

    makespan_s: float
    losses: list[Loss]
    placement_s: float | None
    why_no_placement: str | None = None


def transfer_split(there: OnMachine) -> TransferSplit | None:
    """Of a run on a machine; `None` where it cannot be predicted as it ran."""
    try:
        makespan_s, found = there.prediction.makespan_s, there.losses
    except RankwiseError:
        return None
    try:
        saved_s = makespan_s - there.candidates[-1].makespan_s
    except RankwiseError as error:
        return TransferSplit(makespan_s, found, None, error.message)
    return TransferSplit(makespan_s, found, max(saved_s, 0.0))

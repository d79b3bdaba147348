# SPDX-License-Identifier: BSD-3-Clause
"""What a prediction loses to one thing, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LossKind = Literal["resource", "channel", "communication"]
LossPart = Literal["latency", "bytes", "overhead", "all"]


@dataclass(frozen=True)
class Loss:
    """By how much a program would be faster without one thing, all others as they are.

    Losses do not add up: two things that hide each other lose nothing each and something together.

    Attributes:
        kind: `resource`, `channel` or `communication` (everything but computation and its order).
        name: Of the resource or the channel; several resources are joined by `+`.
        part: Of a channel: `latency`, `bytes`, `overhead` or `all`; else `all`.
        lost_s: Makespan as predicted less the makespan if this were free; below 0 where a faster part makes the
            whole slower (interfaces that serve messages in another order).
    """

    kind: LossKind
    name: str
    part: LossPart
    lost_s: float

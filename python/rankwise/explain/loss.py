# SPDX-License-Identifier: BSD-3-Clause
"""What a prediction loses to one thing, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LossKind = Literal["resource", "channel", "communication"]
LossPart = Literal["latency", "bytes", "overhead", "all"]
_INTERFACES = ["nic_tx", "nic_rx"]  # both directions, free together


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


def loss_name(kind: str, name: str, part: str) -> str:
    """`network bytes`, `network interfaces (nic_tx, nic_rx)`, `all communication`: what a `Loss` is lost to."""
    if kind == "communication":
        return "all communication"
    if kind == "channel":
        return f"{name} {part}"
    names = name.split("+")
    return f"network interfaces ({', '.join(names)})" if names == _INTERFACES else " + ".join(names)

# SPDX-License-Identifier: BSD-3-Clause
"""How much slower computation gets with more cores at it, and how these numbers were obtained."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Literal

import msgspec


class Curve(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Factors by which code that only waits for memory takes longer, with 1, 2, ... cores at it.

    Attributes:
        values: The first is 1; none is smaller than the one before.
        obtained: `measured` needs `low` and `high`; `published` and `assumed` need `source`.
        low: Lower ends of the confidence intervals, one for each value.
        high: Their upper ends.
        source: A citation, or the reason for the assumption.
        samples: Number of timings behind each measured value.
    """

    values: Annotated[list[float], msgspec.Meta(min_length=1)]
    obtained: Literal["measured", "published", "assumed"]
    low: list[float] | None = None
    high: list[float] | None = None
    source: str | None = None
    samples: Annotated[int, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for value in self.values) or self.values[0] != 1:
            raise ValueError("the first of `values` is 1, the time of one core alone; all are finite")
        if any(more < fewer for fewer, more in pairwise(self.values)):
            raise ValueError("`values` do not fall: more cores do not make one of them faster")
        if self.obtained == "measured":
            ends = zip(self.low or [], self.values, self.high or [], strict=False)
            if not len(self.low or []) == len(self.high or []) == len(self.values):
                raise ValueError("measured numbers need `low` and `high`, one for each of `values`")
            if any(not low <= value <= high for low, value, high in ends):
                raise ValueError("`values` are outside `low` .. `high`")
        elif not self.source:
            raise ValueError(f"numbers that are {self.obtained} need their `source`")

    def drawn(self, draw: float) -> Curve:
        """All values moved alike within their intervals.

        Args:
            draw: By how much of each value's side of its interval; below 0 towards the lower end.
        """
        if self.low is None or self.high is None:
            return self
        sides = self.high if draw > 0 else self.low
        moved = [value + abs(draw) * (side - value) for value, side in zip(self.values, sides, strict=True)]
        rising: list[float] = []
        for value in moved:
            rising.append(max(value, rising[-1]) if rising else 1.0)
        return Curve(rising, "assumed", source="drawn from its interval")

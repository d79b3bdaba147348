# SPDX-License-Identifier: BSD-3-Clause
"""A number of a machine file, and how it was obtained. Contract: formats/machine.md."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

Obtained = Literal["measured", "published", "assumed"]


class Estimate(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """One number and how it was obtained.

    Attributes:
        value: In the unit of the key that holds it.
        obtained: `measured` needs `low` and `high`; `published` and `assumed` need `source`.
        low: Lower end of the confidence interval (`Machine.confidence`).
        high: Its upper end.
        source: A citation, or the reason for the assumption.
        samples: Number of timings behind a measured value.
        disturbed: Others used the machine whenever it was timed, so that the value is not to be trusted; the interval
            is as wide as the timings and what others took.
    """

    value: float
    obtained: Obtained
    low: float | None = None
    high: float | None = None
    source: str | None = None
    samples: Annotated[int, msgspec.Meta(ge=0)] | None = None
    disturbed: bool = False

    def __post_init__(self) -> None:
        if not all(math.isfinite(x) and x >= 0 for x in (self.value, self.low or 0.0, self.high or 0.0)):
            raise ValueError("a number that is negative or not finite")
        if self.obtained == "measured":
            if self.low is None or self.high is None:
                raise ValueError("a measured number needs `low` and `high`")
            if not self.low <= self.value <= self.high:
                raise ValueError("`value` is outside `low` .. `high`")
        elif not self.source:
            raise ValueError(f"a number that is {self.obtained} needs its `source`")

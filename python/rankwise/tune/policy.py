# SPDX-License-Identifier: BSD-3-Clause
"""When a tuner acts: fields of Policy (tune/tuner.hpp), with the same defaults."""

from __future__ import annotations

from typing import Annotated

import msgspec

_Share = Annotated[float, msgspec.Meta(ge=0, le=1, description="a number from 0 to 1")]
_Seconds = Annotated[
    float, msgspec.Meta(gt=0, le=86400, description="a number of seconds above 0, at most 86400")
]
_Moves = msgspec.Meta(ge=0, le=1000, description="a number from 0 to 1000")
# The plan's names have no units.
_IN_PLAN = {f"{name}_s": name for name in ("settle", "window", "first_pause", "longest_pause", "period")}


class Policy(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """When to act.

    Attributes:
        begin_above: Estimated gain, as a part of the time, that begins a change.
        end_below: That below which ranks are left alone until it exceeds the first again.
        settle_s: After a change, before it is measured.
        window_s: One window of a measurement.
        windows: How many without the change, with it, and without it again.
        moves_per_s: How many more changes may be made each second.
        most_moves: How many at once.
        first_pause_s: After a change that did not help; doubled each time.
        longest_pause_s: The most that it becomes.
        period_s: Between full samples while nothing is done.
    """

    begin_above: _Share = 0.03
    end_below: _Share = 0.01
    settle_s: _Seconds = 0.05
    window_s: _Seconds = 0.1
    windows: Annotated[int, msgspec.Meta(ge=3, le=1000, description="a whole number from 3 to 1000")] = 8
    moves_per_s: Annotated[float, _Moves] = 0.2
    most_moves: Annotated[float, msgspec.Meta(ge=1, le=1000, description="a number from 1 to 1000")] = 4
    first_pause_s: _Seconds = 2
    longest_pause_s: _Seconds = 600
    period_s: _Seconds = 1

    def __post_init__(self) -> None:
        for small, large in (("end_below", "begin_above"), ("first_pause_s", "longest_pause_s")):
            low, high = getattr(self, small), getattr(self, large)
            if low > high:
                raise ValueError(f"`policy.{small}` is {low:g}, above `{large}`, which is {high:g}")

    def fields(self) -> dict[str, float]:
        """All, as the plan names them: without their units."""
        return {_IN_PLAN.get(name, name): getattr(self, name) for name in self.__struct_fields__}

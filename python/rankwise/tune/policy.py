# SPDX-License-Identifier: BSD-3-Clause
"""When a tuner acts: fields of Policy (tune/tuner.hpp), which has the defaults."""

from __future__ import annotations

from typing import Annotated

import msgspec

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Seconds = Annotated[float, msgspec.Meta(gt=0, le=86400)]
# The plan's names have no units.
_IN_PLAN = {f"{name}_s": name for name in ("settle", "window", "first_pause", "longest_pause", "period")}


class Policy(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What differs from the defaults.

    Attributes:
        begin_above: Estimated gain, as a part of the time, that begins a change.
        end_below: That below which ranks are left alone until it exceeds the first again.
        settle_s: After a change, before it is measured.
        window_s: A sub-window of a measurement.
        windows: Sub-windows without the change, with it, and without it again.
        moves_per_s: Refill of the budget of changes.
        most_moves: What it can hold.
        first_pause_s: After a change that did not help; doubled each time.
        longest_pause_s: The most that it becomes.
        period_s: Between full samples while nothing is done.
    """

    begin_above: _Share | None = None
    end_below: _Share | None = None
    settle_s: _Seconds | None = None
    window_s: _Seconds | None = None
    windows: Annotated[int, msgspec.Meta(ge=3, le=1000)] | None = None
    moves_per_s: Annotated[float, msgspec.Meta(ge=0, le=1000)] | None = None
    most_moves: Annotated[float, msgspec.Meta(ge=1, le=1000)] | None = None
    first_pause_s: _Seconds | None = None
    longest_pause_s: _Seconds | None = None
    period_s: _Seconds | None = None

    def __post_init__(self) -> None:
        if self.begin_above is not None and self.end_below is not None and self.end_below > self.begin_above:
            raise ValueError("`end_below` is above `begin_above`")

    def fields(self) -> dict[str, float]:
        """Those that are given, as the plan names them: without their units."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return {_IN_PLAN.get(name, name): value for name, value in given.items() if value is not None}

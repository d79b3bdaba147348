# SPDX-License-Identifier: BSD-3-Clause
"""The run predicted on a machine, with its ranks where they ran and elsewhere."""

from __future__ import annotations

import msgspec

from rankwise.explain.loss import Loss


class PredictedTimeline(msgspec.Struct, frozen=True):
    """What ranks do over the predicted time, which is in pieces of equal length.

    Attributes:
        end_s: When the last rank ends.
        ranks_per_row: Ranks in each row of `rows`.
        rows: By group of ranks, for each piece what they do most of the time: `c` computation, `w` waiting for other
            ranks (until the other side begins), `t` transfer, `o` the processor time of messages, `.` after their end.
    """

    end_s: float
    ranks_per_row: int
    rows: list[str]


class PlacementPrediction(msgspec.Struct, frozen=True):
    """One placement.

    Attributes:
        name: `as it ran`, what was asked for, or `as placed`: the best that a short search finds.
        time_s: Predicted run time; `null` where `why_not` says why.
        low_s: Lower end of its interval; `null` where neither numbers of the machine nor a run say how sure it is.
        high_s: Upper end.
        parts_s: What the time of the mean rank consists of; the parts add up to `time_s`. `computation`,
            `core_sharing`, `memory`, `interrupts` and `overhead` as of `rankwise predict`; waiting by cause, or
            `waiting` where the causes are not known; `ended` from its end to that of the last rank.
        losses: What would be saved if one thing were free, each alone, the largest first. They do not add up.
        timeline: `null` likewise, or where `why_no_timeline` says why.
        why_not: Why it is not predicted.
        why_no_timeline: Why nothing is known over time.
    """

    name: str
    time_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    parts_s: dict[str, float] = {}
    losses: list[Loss] = []
    timeline: PredictedTimeline | None = None
    why_not: str | None = None
    why_no_timeline: str | None = None


class Predicted(msgspec.Struct, frozen=True):
    """Placements compared.

    Attributes:
        machine: Path of the machine file.
        anchored: Whether times are anchored at the recorded run.
        placements: As it ran, those asked for, and the best that was found.
        search_s: How long that was searched for.
        why_none_placed: Why there is no better one.
        why_not: Why nothing is predicted; `null` if something is.
    """

    machine: str
    anchored: bool
    placements: list[PlacementPrediction]
    search_s: float
    why_none_placed: str | None = None
    why_not: str | None = None

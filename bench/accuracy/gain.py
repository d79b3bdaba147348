# SPDX-License-Identifier: BSD-3-Clause
"""What one placement saves of another's time."""

from __future__ import annotations

from typing import NamedTuple

from rankwise.lab.validation.statistics import Compared


class Gain(NamedTuple):
    """What one placement saves, as a part of another's time; `low` and `high`: where both times' intervals end."""

    measured: float
    low: float
    high: float
    predicted: float

    @classmethod
    def between(cls, better: Compared, other: Compared) -> Gain:
        """Of two placements that were measured."""
        return cls(
            measured=1 - better.measured.value / other.measured.value,
            low=1 - better.measured.high / other.measured.low,
            high=1 - better.measured.low / other.measured.high,
            predicted=1 - better.predicted_s / other.predicted_s,
        )

    def is_near(self, points: float) -> bool:
        """Whether it is predicted to within this."""
        return abs(self.measured - self.predicted) <= points

    def is_possible(self, points: float) -> bool:
        """Whether it is predicted to within this of what the runs leave open."""
        return self.low - points <= self.predicted <= self.high + points

    def is_sure(self, points: float) -> bool:
        """Whether the runs themselves say it to within this, on either side."""
        return max(self.measured - self.low, self.high - self.measured) <= points

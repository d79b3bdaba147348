# SPDX-License-Identifier: BSD-3-Clause
"""Whether a prediction puts two things in the order in which they were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

DIFFERENT = 1.1
"""Times that differ by a smaller factor are no different."""
CLEAR = 1.01
"""A prediction that differs by a smaller factor says nothing of which is faster."""


@dataclass(frozen=True)
class Pair:
    """Two times as they were measured and as they were predicted, in seconds.

    Attributes:
        measured: The first over the second.
        predicted: The same of the predictions.
    """

    measured: float
    predicted: float

    @property
    def differs(self) -> bool:
        """Whether the measured times are different."""
        return _factor(self.measured) > DIFFERENT

    @property
    def is_right(self) -> bool:
        """Whether the faster one is predicted to be faster, or none where there is no difference."""
        if not self.differs:
            return _factor(self.predicted) <= DIFFERENT
        return _factor(self.predicted) > CLEAR and (self.measured > 1) == (self.predicted > 1)


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio)


@dataclass(frozen=True)
class Orders:
    """How many pairs are right, of those that differ and of those that do not."""

    right: int
    different: int
    said_same: int
    same: int

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Orders:
        """Count them."""
        every = list(pairs)
        different = [each for each in every if each.differs]
        same = [each for each in every if not each.differs]
        return cls(
            sum(each.is_right for each in different),
            len(different),
            sum(each.is_right for each in same),
            len(same),
        )

    def __str__(self) -> str:
        parts = [f"{self.right} of {self.different}"] if self.different else []
        if self.same:
            parts.append(f"no difference said in {self.said_same} of {self.same} where there is none")
        return ", ".join(parts) or "none"


def median_error(ratios: Iterable[float]) -> float:
    """Median of how far predictions are from measured times.

    Args:
        ratios: Predicted over measured.
    """
    return median([math.inf if ratio <= 0 else abs(ratio - 1) for ratio in ratios])

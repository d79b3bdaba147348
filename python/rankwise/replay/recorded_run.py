# SPDX-License-Identifier: BSD-3-Clause
"""The run that was recorded beside its prediction: what the model is known to be off by on the machine it ran on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

ONE_RUN = 0.02
"""Two runs of a program on the same cores, standard deviation of the logarithm of their times."""

ONE_PLACEMENT = 0.035
"""What the replay misses of one placement and not of others, likewise."""

_OWN_SHARE = 1 / 3  # of what it misses, where that is much


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run beside its prediction.

    Attributes:
        recorded_s: From when the last rank has left MPI_Init to when the last rank enters MPI_Finalize.
        predicted_s: The same, predicted.
        rank_recorded_s: Until each rank enters MPI_Finalize.
        rank_predicted_s: The same, predicted.
    """

    recorded_s: float
    predicted_s: float
    rank_recorded_s: np.ndarray
    rank_predicted_s: np.ndarray

    @property
    def error(self) -> float:
        """Predicted over recorded, less 1."""
        return self.predicted_s / self.recorded_s - 1

    @property
    def rank_errors(self) -> np.ndarray:
        """The same of each rank."""
        errors: np.ndarray = self.rank_predicted_s / np.maximum(self.rank_recorded_s, 1e-12) - 1
        return errors

    @property
    def factor(self) -> float:
        """What predictions are off by in either direction, 1 or more."""
        return max(self.predicted_s / self.recorded_s, self.recorded_s / self.predicted_s)

    @property
    def weight(self) -> float:
        """How much of what the replay missed is taken to be missed everywhere: of its logarithm, 0 to 1.

        The estimate of an effect from one observation of it, whose own size says how large effects are; the rest is the
        run's and the placement's (docs/internals/intervals.md, "The anchor").
        """
        missed = math.log(self.factor) ** 2
        return missed / (missed + ONE_RUN**2 + ONE_PLACEMENT**2)

    def scale(self, replayed_s: float) -> float:
        """What replayed times are multiplied by, if the recorded placement is replayed in this time."""
        return float((self.recorded_s / replayed_s) ** self.weight)

    def spread(self, as_recorded: bool) -> float:
        """Standard deviation of the logarithm of what an anchored time is off by.

        Args:
            as_recorded: Whether the ranks are where they were recorded.
        """
        missed = math.log(self.factor)
        if as_recorded:
            return math.hypot(ONE_RUN, (1 - self.weight) * missed)
        own = max(ONE_PLACEMENT, _OWN_SHARE * missed)
        return math.sqrt((1 + self.weight) * (own**2 + ONE_RUN**2))

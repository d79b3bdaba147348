# SPDX-License-Identifier: BSD-3-Clause
"""How far estimated times of placements are from replayed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class EstimateError:
    """How far estimated times of placements are from their replayed ones.

    Attributes:
        placements: How many were compared.
        gap: Mean of how far estimated times are from replayed ones, as a part of these; `None` if a time is 0.
        tau: Kendall's tau-b of both orders; `None` if there is no order to compare.
    """

    placements: int
    gap: float | None
    tau: float | None

    @classmethod
    def of(cls, estimated_s: np.ndarray, replayed_s: np.ndarray) -> EstimateError:
        """Of the same placements in the same order."""
        tau = kendall(estimated_s, replayed_s)
        gap = _gap(estimated_s, replayed_s)
        return cls(len(replayed_s), *(None if math.isnan(value) else value for value in (gap, tau)))


def _gap(estimated_s: np.ndarray, replayed_s: np.ndarray) -> float:
    return float(np.mean(np.abs(estimated_s / replayed_s - 1))) if (replayed_s > 0).all() else math.nan


def kendall(one: np.ndarray, other: np.ndarray) -> float:
    """Kendall's tau-b: 1 for the same order, -1 for the opposite one, 0 for none; NaN if one has no order."""
    a, b = (np.sign(np.subtract.outer(values, values)) for values in (one, other))
    pairs = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / pairs) if pairs else math.nan

# SPDX-License-Identifier: BSD-3-Clause
"""A run in pieces of equal length, and what was counted in each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PIECES = 20


def grown(
    time: npt.NDArray[np.float64], column: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """What a column grew in each piece; between two samples it grows evenly. NaN where it is not known."""
    known = ~np.isnan(column)
    if known.sum() < 2:
        return np.full(len(edges) - 1, np.nan)
    pieces: npt.NDArray[np.float64] = np.diff(np.interp(edges, time[known], column[known]))
    return pieces


def share(part: float, whole: float) -> float | None:
    """Part of a whole; `None` where that is nothing or not known."""
    return float(part / whole) if whole > 0 and not np.isnan(part) else None

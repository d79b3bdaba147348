# SPDX-License-Identifier: BSD-3-Clause
"""A run in pieces of equal length, and what was counted in each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from rankwise.recording import Recording

_MOST_PIECES = 20
_Floats = npt.NDArray[np.float64]


def edges(recording: Recording) -> _Floats | None:
    """Where pieces begin and end, the same for ranks and nodes; `None` where no rank and no node has three samples.

    There are never more pieces than the most that one of them has between its samples, so that none is made up.
    """
    intervals, end_s = 0, 0.0
    for name, key in (("rank_samples", ["rank"]), ("core_samples", ["host", "pu"])):
        samples = recording.table(name)
        if len(samples):
            intervals = max(intervals, int(samples.group_by(key).len()["len"].max()) - 1)  # type: ignore[arg-type]
            end_s = max(end_s, samples.select(pl.max("time_s")).item() or 0.0)
    if intervals < 2 or not end_s:
        return None
    return np.linspace(0, end_s, min(intervals, _MOST_PIECES) + 1)


def grown(time: _Floats, column: _Floats, edges: _Floats) -> _Floats:
    """What a column grew in each piece; between two samples it grows evenly.

    NaN where it is not known: where fewer than two samples have it, and from where the later ones have it no more.
    """
    known = ~np.isnan(column)
    if known.sum() < 2:
        return np.full(len(edges) - 1, np.nan)
    pieces: _Floats = np.diff(np.interp(edges, time[known], column[known]))
    if not known[-1]:
        pieces[edges[1:] > time[known][-1]] = np.nan
    return pieces


def summed(parts: list[_Floats], edges: _Floats) -> _Floats:
    """The sum of those that are known in each piece; NaN where none is."""
    if not parts:
        return np.full(len(edges) - 1, np.nan)
    together = np.array(parts)
    unknown = np.isnan(together).all(axis=0)
    return np.where(unknown, np.nan, np.nansum(together, axis=0))


def share(part: float, whole: float) -> float | None:
    """Part of a whole; `None` where that is nothing or not known."""
    return float(part / whole) if whole > 0 and not np.isnan(part) else None

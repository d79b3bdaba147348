# SPDX-License-Identifier: BSD-3-Clause
"""Time against size as a few straight lines.

All divisions into at most K segments are searched by dynamic programming, so the best for each number of segments is
found and not only a good one; the number is chosen by the Bayesian information criterion (G. Schwarz, Estimating the
Dimension of a Model, 1978). Errors are relative to
the time and to how well it is known: 10 ns count as much at 100 ns as 1 us at 10 us. Lines neither fall nor
start below the floor they are given, as no message gets cheaper by a byte more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

# Timings of one point are not known better than this from launch to launch, so BIC may not gain by fitting closer.
RELATIVE_NOISE = 0.01
# Times that grow by this factor more than sizes do outgrow a cache: two points may be a segment there.
OUTGROWS = 1.1


@dataclass(frozen=True)
class Line:
    """`intercept + slope * x` for the points `first` to `last` (inclusive)."""

    first: int
    last: int
    intercept: float
    slope: float


def fit_line(
    x: np.ndarray, y: np.ndarray, floor: float = 0.0, errors: np.ndarray | float = 1.0
) -> tuple[float, float, float]:
    """Weighted least squares with slope >= 0 and intercept >= floor.

    Args:
        x: Sizes.
        y: Times, positive.
        floor: Least intercept.
        errors: Relative error of each time; the weight is 1 / (y * error)^2.

    Returns:
        Intercept, slope, and the sum of squared distances in units of the errors.
    """
    w = 1 / (y * errors) ** 2
    sw, swx, swy = w.sum(), (w * x).sum(), (w * y).sum()
    swxx, swxy = (w * x * x).sum(), (w * x * y).sum()
    spread = sw * swxx - swx**2
    candidates = []
    if spread > 1e-12 * sw * swxx:
        slope = (sw * swxy - swx * swy) / spread
        candidates.append(((swy - slope * swx) / sw, slope))
    if not candidates or candidates[0][0] < floor or candidates[0][1] < 0:
        # The optimum under the bounds lies on one of them: a level line, or one through the floor.
        candidates = [(max(floor, swy / sw), 0.0)]
        if swxx > 0:
            candidates.append((floor, max(0.0, (swxy - floor * swx) / swxx)))
    distances = [float((w * (a + b * x - y) ** 2).sum()) for a, b in candidates]
    best = int(np.argmin(distances))
    intercept, slope = candidates[best]
    return float(intercept), float(slope), distances[best]


def scatter(x: np.ndarray, y: np.ndarray) -> float:
    """Relative noise from point to point: how far each lies from the line through its two neighbours.

    A median over all points, so that the bends between a few straight segments do not count. 0 below five points.
    """
    if len(x) < 5:
        return 0.0
    right = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off = y[1:-1] - (1 - right) * y[:-2] - right * y[2:]
    # Of independent noise, equal in all three points, the distance has this many times the variance.
    spread = np.sqrt(y[1:-1] ** 2 + ((1 - right) * y[:-2]) ** 2 + (right * y[2:]) ** 2)
    return float(1.4826 * np.median(np.abs(off) / spread))


def segment(
    x: np.ndarray,
    y: np.ndarray,
    *,
    most: int = 6,
    least_points: int = 3,
    borders: Collection[int] = (),
    floor: float = 0.0,
    errors: np.ndarray | float = RELATIVE_NOISE,
) -> list[Line]:
    """Divide points into segments and fit a line to each.

    Args:
        x: Sizes, ascending.
        y: Times, positive.
        most: Most segments.
        least_points: Fewest points of a segment, where `borders` leave as many; two where messages outgrow a cache, as
            lines that start at the floor or above cannot follow that.
        borders: Positions after which a segment must end (a known change of protocol).
        floor: Least intercept of any line.
        errors: Relative error of each time, or of all.

    Returns:
        The lines in order; together they cover all points.
    """
    count = len(x)
    known = np.broadcast_to(np.asarray(errors, dtype=float), count)
    stops = sorted({b for b in borders if 0 <= b < count - 1} | {count - 1})
    most = max(most, len(stops))
    blocks = [(0 if not i else stops[i - 1] + 1, stop) for i, stop in enumerate(stops)]
    need = {p: min(least_points, b - a + 1) for a, b in blocks for p in range(a, b + 1)}
    block_of = {p: i for i, (a, b) in enumerate(blocks) for p in range(a, b + 1)}
    lines: dict[tuple[int, int], tuple[float, float, float]] = {}
    for i in range(count):
        for j in range(
            i + min(need[i], 2 if _outgrows(x, y, i) else need[i]) - 1, blocks[block_of[i]][1] + 1
        ):
            lines[i, j] = fit_line(x[i : j + 1], y[i : j + 1], floor, known[i : j + 1])
    # best[k][j]: least error of points 0..j in k + 1 segments, and where the last of them starts.
    best = [{j: (lines[0, j][2], 0) for j in range(count) if (0, j) in lines}]
    for _ in range(1, most):
        row: dict[int, tuple[float, int]] = {}
        for (i, j), (_a, _b, error) in lines.items():
            if i and i - 1 in best[-1]:
                total = best[-1][i - 1][0] + error
                if j not in row or total < row[j][0]:
                    row[j] = (total, i)
        best.append(row)
    scores = {
        k: row[count - 1][0] + (3 * (k + 1) - 1) * np.log(count)
        for k, row in enumerate(best)
        if count - 1 in row
    }
    k = min(scores, key=scores.__getitem__)
    found, last = [], count - 1
    while k >= 0:
        first = best[k][last][1]
        found.append(Line(first, last, *lines[first, last][:2]))
        last, k = first - 1, k - 1
    return found[::-1]


def _outgrows(x: np.ndarray, y: np.ndarray, at: int) -> bool:
    """Whether time grows faster than in proportion to size from this point to the next."""
    return at + 1 < len(x) and y[at + 1] * (x[at] + 1) > OUTGROWS * y[at] * (x[at + 1] + 1)


def held_out(
    x: np.ndarray,
    y: np.ndarray,
    *,
    borders: Collection[int] = (),
    floor: float = 0.0,
    errors: np.ndarray | float = RELATIVE_NOISE,
    folds: int = 4,
) -> np.ndarray:
    """How far lines are from points that they were not fitted to: every `folds`-th is left out in turn.

    The first and the last point and those at a border are never left out, as nothing else tells of what is beyond.

    Returns:
        Relative distances, one for each point that was left out once; empty for a few points.
    """
    count = len(x)
    known = np.broadcast_to(np.asarray(errors, dtype=float), count)
    fixed = {0, count - 1} | {b for b in borders} | {b + 1 for b in borders}
    off = []
    for fold in range(folds):
        out = [i for i in range(count) if i % folds == fold and i not in fixed]
        kept = np.array([i for i in range(count) if i not in out], dtype=int)
        if not out or len(kept) < 3:
            continue
        stops = [int(np.searchsorted(kept, b)) for b in borders]
        lines = segment(x[kept], y[kept], borders=stops, floor=floor, errors=known[kept])
        for i in out:
            line = next(each for each in lines if i < kept[each.last])
            off.append(abs((line.intercept + line.slope * x[i]) / y[i] - 1))
    return np.array(off)

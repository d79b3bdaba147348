# SPDX-License-Identifier: BSD-3-Clause
"""Where a curve needs more sizes: between neighbours whose times a straight line through the others foretells badly."""

from __future__ import annotations

import math
from collections.abc import Sequence

# A point this far from the line between its neighbours is a bend; less may be noise.
BENT = 0.15
_FINEST = 1.1  # sizes closer than this tell nothing more


def bends(sizes: Sequence[int], times: Sequence[float], most: int) -> list[int]:
    """Sizes to add: halfway, in logarithms, on both sides of where the curve bends the most.

    Args:
        sizes: Ascending.
        times: The median at each.
        most: How many sizes to return at most.
    """
    # A single point that is off is noise, a jump stays: the median of three keeps what a neighbour confirms.
    smooth = [
        sorted(times[max(0, at - 1) : at + 2])[1] if 0 < at < len(times) - 1 else t
        for at, t in enumerate(times)
    ]
    off = []
    for at in range(1, len(sizes) - 1):
        (x0, x1, x2), (y0, y1, y2) = sizes[at - 1 : at + 2], smooth[at - 1 : at + 2]
        between = y0 + (y2 - y0) * (x1 - x0) / (x2 - x0)
        if y1 > 0 and abs(between / y1 - 1) > BENT:
            off.append((abs(between / y1 - 1), at))
    found: list[int] = []
    for _, at in sorted(off, reverse=True):
        for low, high in ((at - 1, at), (at, at + 1)):
            middle = round(math.sqrt(max(1, sizes[low]) * sizes[high]))
            fine = middle < _FINEST * sizes[low] or sizes[high] < _FINEST * middle
            if middle not in (*sizes, *found) and not fine:
                found.append(middle)
    return sorted(found[:most])

# SPDX-License-Identifier: BSD-3-Clause
"""How many steps a program of a validation takes: so many that single sleeps, and its begin and end, matter little."""

from __future__ import annotations

import math

# Between MPI_Init and MPI_Finalize. Longer runs say no more, and there are dozens of each case.
LEAST_S, MOST_S = 2.0, 6.0


def fitting_steps(steps: int, time_s: float) -> int:
    """The least number that makes a run of 2 s of one that takes `time_s` with this number of steps.

    The number itself where that takes 2 to 6 s, and what takes 6 s where it takes more, at least 1.
    """
    if time_s < LEAST_S:
        return math.ceil(steps * LEAST_S / time_s)
    if time_s > MOST_S:
        return max(1, int(steps * MOST_S / time_s))
    return steps

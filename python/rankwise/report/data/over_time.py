# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks did when, and the iterations of the program."""

from __future__ import annotations

import msgspec


class Iterations(msgspec.Struct, frozen=True):
    """What one rank does again and again, as columns of equal length.

    An iteration is from one call of the anchor to the next. Of more than 2 000, neighbours are joined.

    Attributes:
        rank: The rank.
        anchor: The call that each begins with.
        calls: MPI calls in each.
        count: How many there are.
        begin_s: When each, or the first of those joined, begins.
        end_s: When the last of them ends.
        joined: How many these are.
        mean_s: How long one takes, the mean of those joined.
        most_s: The longest of them.
        median_s: How long one takes, the median of all.
        low_s: A quarter takes less.
        high_s: A quarter takes longer.
    """

    rank: int
    anchor: str
    calls: int
    count: int
    begin_s: list[float]
    end_s: list[float]
    joined: list[int]
    mean_s: list[float]
    most_s: list[float]
    median_s: float
    low_s: float
    high_s: float


class OverTime(msgspec.Struct, frozen=True):
    """What ranks did over time, from an exact trace; on one axis, from the first MPI_Init on.

    Waiting for a core is known between samples (of 10 ms): it is spread as of `WaitingCall`.

    Attributes:
        end_s: Where the axis ends. It is in pieces of equal length.
        computation: Share of each piece outside MPI on a core, the mean of the ranks that were between MPI_Init and
            MPI_Finalize.
        core: Waiting for a core.
        waiting: In MPI, waiting for other ranks.
        transfer: In the same calls, from when the last thing that they needed had begun.
        other_mpi: In calls whose waiting is not told apart.
        ranks_per_row: Ranks in each row of `rows`.
        rows: By group of ranks, for each piece what they did most of the time: `c` computation, `q` waiting for a core,
            `w` for other ranks, `t` transfer or `o` other MPI; `.` before MPI_Init and after MPI_Finalize.
        iterations: Of the program; `null` where none were found.
        why_not: Why nothing is known; `null` if it is.
    """

    end_s: float
    computation: list[float]
    core: list[float]
    waiting: list[float]
    transfer: list[float]
    other_mpi: list[float]
    ranks_per_row: int
    rows: list[str]
    iterations: Iterations | None
    why_not: str | None

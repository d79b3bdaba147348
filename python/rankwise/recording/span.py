# SPDX-License-Identifier: BSD-3-Clause
"""How long a run took between MPI_Init and MPI_Finalize: what a schedule made from it describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.recording.layouts import FINALIZED
from rankwise.recording.raw import Thread


@dataclass(frozen=True)
class Span:
    """A run, from when its last rank has left MPI_Init.

    Attributes:
        rank_s: Until when each rank enters MPI_Finalize, in seconds.
    """

    rank_s: np.ndarray

    @property
    def time_s(self) -> float:
        """Until the last rank enters MPI_Finalize."""
        return float(self.rank_s.max())


def span_of(threads: Sequence[Thread], one_clock: bool = False) -> Span | None:
    """The span of a run; `None` if a rank did not get to MPI_Finalize or its clock is not known.

    A replay begins with all ranks at once. Where hosts have clocks of their own, the begin is that of the last rank of
    each host: what hosts differ by then is in the span.

    Args:
        threads: The first thread of each rank, in their order, of all ranks.
        one_clock: All hosts have the same clock, as the nodes of a lab do.
    """
    if any(not thread.has(FINALIZED) or not thread.rank["seconds_per_tick"] for thread in threads):
        return None
    begun: dict[str, int] = {}
    for thread in threads:
        clock = "" if one_clock else thread.rank["host"]
        begun[clock] = max(begun.get(clock, 0), thread.rank["init_ticks"])
    return Span(
        np.array(
            [
                thread.seconds(
                    max(thread.rank["finalize_ticks"] - begun["" if one_clock else thread.rank["host"]], 0)
                )
                for thread in threads
            ]
        )
    )

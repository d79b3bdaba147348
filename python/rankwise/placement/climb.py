# SPDX-License-Identifier: BSD-3-Clause
"""Swaps judged by estimated predictions: what the search's objective does not see, such as who waits when."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# A change that the estimate calls better by less may be the estimate's own error.
_LEAST_GAIN = 1e-4
_PROPOSALS = 24
_GIVE_UP_AFTER = 20


@dataclass(frozen=True)
class Moves:
    """Which swaps are possible.

    Attributes:
        node: Node of each slot.
        fixed: Ranks that stay.
        keep_nodes: Whether ranks stay on their nodes.
    """

    node: np.ndarray
    fixed: frozenset[int]
    keep_nodes: bool

    def some(self, slot: Sequence[int], count: int, rng: np.random.Generator) -> list[list[int]]:
        """Up to `count` different placements that are a swap, or a move to an empty slot, away."""
        occupant = {taken: rank for rank, taken in enumerate(slot)}
        movable = [rank for rank in range(len(slot)) if rank not in self.fixed]
        found: dict[tuple[int, int], list[int]] = {}
        for _ in range(4 * count if movable else 0):
            rank = movable[rng.integers(len(movable))]
            here, there = slot[rank], int(rng.integers(len(self.node)))
            other = occupant.get(there)
            if there == here or other in self.fixed:
                continue
            if self.keep_nodes and self.node[there] != self.node[here]:
                continue
            moved = list(slot)
            moved[rank] = there
            if other is not None:
                moved[other] = here
            found.setdefault((min(here, there), max(here, there)), moved)
            if len(found) == count:
                break
        return list(found.values())


def climb(
    slot: Sequence[int],
    moves: Moves,
    estimator: Callable[[list[list[int]]], np.ndarray],
    rng: np.random.Generator,
    end: float,
    found: Callable[[float], None] = lambda time_s: None,
) -> tuple[list[int], bool]:
    """Take the best of some random swaps as long as there are better ones.

    Args:
        slot: Slot of each rank at the start.
        moves: Which swaps are possible.
        estimator: About the predicted times of placements, comparable within one call.
        rng: Where the swaps come from.
        end: When to stop, in seconds of `time.monotonic`.
        found: Called with the best estimated time so far after each call of `estimator`.

    Returns:
        The slots in the end, and whether Ctrl-C ended the climb.
    """
    best = list(slot)
    count, failures = 2, 0  # a few at first, to see how long they take
    try:
        while failures < _GIVE_UP_AFTER and (now := time.monotonic()) < end:
            proposals = moves.some(best, count, rng)
            if not proposals:
                break
            times = estimator([best, *proposals])
            chosen = int(np.argmin(times))
            found(float(times[chosen]))
            if times[chosen] < times[0] * (1 - _LEAST_GAIN):
                best, failures = proposals[chosen - 1], 0
            else:
                failures += 1
            took = max(time.monotonic() - now, 1e-6) / (len(proposals) + 1)
            # The same numbers in every run as long as there is time for them, so that a seed gives one result.
            count = int(np.clip((end - time.monotonic()) / took - 1, 1, min(2 * count, _PROPOSALS)))
    except KeyboardInterrupt:
        return best, True
    return best, False

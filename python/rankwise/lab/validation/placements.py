# SPDX-License-Identifier: BSD-3-Clause
"""The placements of a validation: simple ones, random ones, the best and the worst that were found."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.placement.search import Estimator, Judge, PlacementSearch

# In order of what is dropped last.
NAMES = ("blocked", "cyclic", "optimised", "worst", "random-1", "plane=2", "random-2", "random-3")
_SIMPLE = {"blocked", "cyclic", "plane=2"}
_FEWEST = 3
_TRIED, _JUDGED, _SEARCH_S = 1000, 6, 2.0


def check_count(count: int) -> None:
    """Raise unless so many placements can be compared."""
    if not _FEWEST <= count <= len(NAMES):
        raise RankwiseError(
            f"a validation compares {_FEWEST} to {len(NAMES)} placements, not `{count}`",
            f"in this order: {', '.join(NAMES)}",
        )


def choose(
    search: PlacementSearch,
    judge: Judge,
    count: int,
    seed: int,
    dealt: Callable[[str], Placement],
    estimator: Estimator | None = None,
    can_run: Callable[[Placement], bool] = lambda placement: True,
) -> dict[str, Placement]:
    """Placements by name.

    Args:
        search: Of the program on the machine.
        judge: Predicts a placement's time.
        count: How many of `NAMES`.
        seed: Of random placements and searches.
        dealt: The placement of a simple allocation, as the recorded run has it: `blocked`, `cyclic` or `plane=K`.
        estimator: About the predicted times of many placements, for the search.
        can_run: Whether a placement can be launched; others are not chosen.

    Returns:
        The first `count` of `NAMES`, without simple ones that are the same with so few ranks. `optimised` is what
        `rankwise place` finds; `worst` is the slowest, as judged, of the few among many random ones that the
        search's stand-in finds worst.
    """
    wanted = NAMES[:count]
    chosen = {}
    rng = np.random.default_rng(seed)
    slots = len(search.slots.node)
    randoms = [rng.permutation(slots)[: search.ranks].tolist() for _ in range(_TRIED)]
    in_turn = (placement for slot in randoms if can_run(placement := search.placement(slot, "random")))
    for name in wanted:
        if name.startswith("random-"):
            chosen[name] = next(in_turn)
        elif name == "optimised":
            found = search.run(judge, seed=seed, budget_s=_SEARCH_S, estimator=estimator)
            best = sorted((each for each in found if each.prediction), key=lambda each: each.makespan_s)
            chosen[name] = next(each.placement for each in [found[-1], *best] if can_run(each.placement))
        elif name == "worst":
            scored = sorted(
                (search.candidate(name, slot) for slot in randoms), key=lambda each: -each.objective_s
            )
            possible = (each for each in scored if can_run(each.placement))
            judged = [
                (judge(each.placement).makespan_s, each.placement)
                for each in itertools.islice(possible, _JUDGED)
            ]
            chosen[name] = max(judged, key=lambda each: each[0])[1]
        else:
            chosen[name] = dealt(name)
            if any(
                _where(chosen[name]) == _where(chosen[other]) for other in _SIMPLE & chosen.keys() - {name}
            ):
                del chosen[name]
    return chosen


def _where(placement: Placement) -> tuple[list[int], list[int]]:
    return placement.node.tolist(), placement.cores.tolist()

# SPDX-License-Identifier: BSD-3-Clause
"""Who talks to whom in the benchmarks (Narayanaswamy, Balaji & Feng 2008, section 4.5), told from counted messages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.placement.distribution import CommMatrix
from rankwise.study.counts import LIBRARY_OF_PAPERS, messages
from rankwise.study.program import workload_program
from rankwise.study.result import ClaimOutcome

_NEIGHBOURS = "none of these: neighbours in a grid"
_FOUND = {
    "FT": "all-to-all in the one row that 16 ranks are",
    **dict.fromkeys(("BT", "LU", "SP"), _NEIGHBOURS),
}
_ANOTHER = "another pattern"

_SMALL_BYTES = 64
"""Reductions and barriers are not what names a pattern."""


def of_paper(labels: list[str]) -> list[ClaimOutcome]:
    """The patterns that the paper names, one an outcome.

    Args:
        labels: Programs that were counted.
    """
    known: dict[str, tuple[int, str, Callable[[np.ndarray, np.ndarray], bool]]] = {
        "CG": (16, "groups of four with exchanges at their boundaries", _groups_of_four),
        "FT": (16, "all-to-all in rows and columns", _all_to_all),
        "IS": (16, "all-to-all", _all_to_all),
        "MG": (64, "partners at distances of powers of two", _powers_of_two),
        **dict.fromkeys(("BT", "LU", "SP"), (16, "more complex", _none_of_these)),
    }
    outcomes = []
    for label, (ranks, words, is_so) in known.items():
        if label not in labels:
            continue
        large = _large(messages(workload_program(label.lower()), ranks, LIBRARY_OF_PAPERS))
        right = is_so(*large)
        ours = _FOUND.get(label, words) if right else _ANOTHER
        outcomes.append(
            ClaimOutcome(
                "N-pattern", f"{label} on {ranks} ranks", "pattern", words, ours, "exact count", right
            )
        )
    return outcomes


def _large(matrix: CommMatrix) -> tuple[np.ndarray, np.ndarray]:
    chosen = (matrix.bytes_up_to > _SMALL_BYTES) & (matrix.source != matrix.destination)
    pairs = np.unique(np.stack([matrix.source[chosen], matrix.destination[chosen]]), axis=1)
    return pairs[0], pairs[1]


def _groups_of_four(source: np.ndarray, destination: np.ndarray) -> bool:
    """Whether between groups of four each rank has one partner, that of the transposed place."""
    between = source // 4 != destination // 4
    transposed = destination[between] == (source[between] % 4) * 4 + source[between] // 4
    return bool(transposed.all()) and bool((~between).any())


def _all_to_all(source: np.ndarray, destination: np.ndarray) -> bool:
    """Whether every rank sends to every other: one row of the process grid has all of up to 256 ranks."""
    ranks = int(max(source.max(), destination.max())) + 1
    return len(source) == ranks * (ranks - 1)


def _none_of_these(source: np.ndarray, destination: np.ndarray) -> bool:
    """Whether a rank has some neighbours in a grid of processes, in none of the other patterns."""
    several = int(np.unique(source, return_counts=True)[1].max()) > 1
    named = (_groups_of_four, _all_to_all, _powers_of_two)
    return several and not any(is_so(source, destination) for is_so in named)


def _powers_of_two(source: np.ndarray, destination: np.ndarray) -> bool:
    """Whether partners are 2^k apart, in a dimension of the process grid whose ends meet."""
    distance = np.abs(source - destination)
    side = round(len(np.unique(source)) ** (1 / 3))
    steps = [span * step for span in (1, side, side * side) for step in (1, 2, side - 1)]
    return set(np.unique(distance).tolist()) <= set(steps)

# SPDX-License-Identifier: BSD-3-Clause
"""What a prediction's time consists of: waiting by cause, critical path, timeline, from one replay that keeps them."""

from __future__ import annotations

import numpy as np

from rankwise import _core
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor

_TIMES = ("ready", "begin", "end", "arrives", "gap_from", "gap_to")


class Explanation:
    """Waiting by cause, critical path and timeline of one replay, each made when it is asked for.

    Args:
        replay: What the core kept.
        position: Place of each rank in the order in which it was replayed; `None`: that of their numbers.
        scale: What its times are multiplied by.
    """

    def __init__(
        self, replay: _core.explain.Explanation, position: np.ndarray | None = None, scale: float = 1.0
    ):
        self._replay = replay
        self._scale = scale
        self._position = position

    @property
    def waiting(self) -> dict[str, np.ndarray]:
        """Seconds of each rank by cause (`_core.explain.WAITS_FOR`), which add up to its waiting."""
        found = {cause: self._scale * times for cause, times in self._replay.waiting.items()}
        if self._position is None:
            return found
        return {cause: times[self._position] for cause, times in found.items()}

    @property
    def critical_path(self) -> dict[str, np.ndarray]:
        """One entry a stretch: `operation` (of the replay's order), `rank`, `cause`, `from_s`, `to_s`."""
        path = self._replay.critical_path
        return self._named(path | {key: self._scale * path[key] for key in ("from_s", "to_s")})

    @property
    def timeline(self) -> dict[str, np.ndarray]:
        """Columns of `rankwise.explain.timeline.Timeline`."""
        found = self._replay.timeline
        if self._scale == 1.0:
            return self._named(found)
        scaled = {key: np.rint(self._scale * found[key]).astype(np.int64) for key in _TIMES}
        return self._named(found | scaled)

    def _named(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self._position is None:
            return columns
        return columns | {"rank": np.argsort(self._position).astype(np.uint32)[columns["rank"]]}


def explain(predictor: Predictor, placement: Placement) -> Explanation:
    """Replay with the ranks placed, and keep what happened when.

    Raises:
        RankwiseError: As `Predictor.predict`.
    """
    return Explanation(predictor.explain(placement), predictor.position, predictor.scale)

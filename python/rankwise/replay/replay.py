# SPDX-License-Identifier: BSD-3-Clause
"""A replay of which is kept what happened when."""

from __future__ import annotations

import numpy as np

from rankwise import _core


class Replay:
    """Waiting by cause, critical path and timeline of one replay, each made when it is asked for.

    Args:
        replay: What the core kept.
        position: Place of each rank in the order in which it was replayed; `None`: that of their numbers.
    """

    def __init__(self, replay: _core.replay.RecordedReplay, position: np.ndarray | None = None):
        self._replay = replay
        self._position = position

    @property
    def waiting(self) -> dict[str, np.ndarray]:
        """Seconds of each rank by cause (`_core.replay.WAITS_FOR`), which add up to its waiting."""
        found = self._replay.waiting
        if self._position is None:
            return found
        return {cause: times[self._position] for cause, times in found.items()}

    @property
    def critical_path(self) -> dict[str, np.ndarray]:
        """One entry a stretch: `operation` (of the replay's order), `rank`, `cause`, `from_s`, `to_s`."""
        return self._named(self._replay.critical_path)

    @property
    def timeline(self) -> dict[str, np.ndarray]:
        """Columns of `rankwise.replay.timeline.Timeline`."""
        return self._named(self._replay.timeline)

    def _named(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self._position is None:
            return columns
        return columns | {"rank": np.argsort(self._position).astype(np.uint32)[columns["rank"]]}

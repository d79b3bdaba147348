# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of one program by which of its ranks share a node, which MPI libraries' collectives go by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import numpy as np

from rankwise import _core
from rankwise.machine.placement import Placement

_KEPT = 3


class Expansions:
    """Makes a schedule for each partition of the ranks into nodes when it is first asked for, and keeps the last ones.

    Args:
        expand: Gives the schedule of a program whose ranks are on these nodes.
        flat: The schedule where there is one node, or one rank a node: then there is nothing to go by.
        alone: Makes a schedule's computation as long as it is alone.
    """

    def __init__(
        self,
        expand: Callable[[np.ndarray], _core.replay.Schedule],
        flat: _core.replay.Schedule,
        alone: Callable[[_core.replay.Schedule], _core.replay.Schedule],
    ):
        self._expand, self._flat, self._alone = expand, flat, alone
        self._kept: OrderedDict[bytes, _core.replay.Schedule] = OrderedDict()
        self._lock = Lock()

    def on(self, placement: Placement) -> _core.replay.Schedule:
        """The schedule with the ranks placed."""
        node = partition(placement.node)
        if node.max(initial=0) in (0, len(node) - 1):
            return self._flat
        key = node.tobytes()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._alone(self._expand(node))
            self._kept.move_to_end(key)
            found = self._kept[key]
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def partition(node: np.ndarray) -> np.ndarray:
    """Nodes of ranks numbered in the order in which they come up: equal where the same ranks share nodes."""
    _, first, number = np.unique(node, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.uint32)
    place[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    return place[number]

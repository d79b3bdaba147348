# SPDX-License-Identifier: BSD-3-Clause
"""The schedules of one program: by which of its ranks share a node, and by the order in which ties are served."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

import numpy as np

from rankwise import _core
from rankwise.machine.placement import Placement

_MOST = 3

Schedule = _core.schedule.Schedule | _core.schedule.StreamedTrace


class _Latest:
    """What was made for the last few keys.

    Args:
        most: How many.
    """

    def __init__(self, most: int):
        self._most = most
        self._made: OrderedDict[bytes, Schedule] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes, make: Callable[[], Schedule]) -> Schedule:
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
                while len(self._made) > self._most:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]


class Schedules:
    """Makes a schedule for each partition of the ranks into nodes when it is first asked for; the last ones stay.

    Args:
        flat: The schedule where there is one node, or one rank a node: MPI libraries have nothing to go by then.
        expand: Gives the schedule of a program whose ranks are on these nodes; `None` if all are `flat`.

    Attributes:
        flat: As given.
        position: Place of each rank in the order in which events of one time are served; `None`: by number.
    """

    def __init__(self, flat: Schedule, expand: Callable[[np.ndarray], Schedule] | None = None):
        self.flat = flat
        self.position: np.ndarray | None = None
        self._expand, self._expanded = expand, _Latest(_MOST)
        self._flat_in_order, self._in_order = flat, _Latest(1)

    def in_order(self, position: np.ndarray) -> Schedules:
        """The same, with ties served in another order of ranks.

        Args:
            position: Place of each rank in it.
        """
        other = Schedules(self.flat, self._expand)
        other._expanded = self._expanded
        if (position != np.arange(len(position))).any():
            other.position, other._flat_in_order = position, _renumber(self.flat, position)
        return other

    def on(self, placement: Placement) -> Schedule:
        """The schedule with the ranks placed, ranks by number."""
        expand = self._expand
        if expand is None:
            return self.flat
        node = partition(placement.node)
        if node.max(initial=0) in (0, len(node) - 1):
            return self.flat
        return self._expanded.get(node.tobytes(), lambda: expand(node))

    def in_order_on(self, placement: Placement) -> Schedule:
        """The same, ranks in the order in which ties are served."""
        schedule = self.on(placement)
        position = self.position
        if position is None:
            return schedule
        if schedule is self.flat:
            return self._flat_in_order
        key = partition(placement.node).tobytes()
        return self._in_order.get(key, lambda: _renumber(schedule, position))


def _renumber(schedule: Schedule, position: np.ndarray) -> _core.schedule.Schedule:
    assert isinstance(schedule, _core.schedule.Schedule)  # those in windows are served by number
    return schedule.renumbered(position)


def partition(node: np.ndarray) -> np.ndarray:
    """Nodes of ranks numbered in the order in which they come up: equal where the same ranks share nodes."""
    _, first, number = np.unique(node, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.uint32)
    place[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    of_rank: np.ndarray = place[number]
    return of_rank

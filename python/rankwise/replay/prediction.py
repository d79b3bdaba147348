# SPDX-License-Identifier: BSD-3-Clause
"""How long a program would run somewhere, and on what it spends its time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.machine.placement import Placement
from rankwise.replay.ports import PortLoads
from rankwise.replay.sharing import SharedLoad
from rankwise.replay.uncertainty import Interval


def of_nodes(by_interface: dict[str, dict[str, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    """What passed the interfaces of each node together, of what passed each: `Prediction.by_interface`."""
    return {
        way: {key: values.sum(axis=1, dtype=values.dtype) for key, values in loads.items()}
        for way, loads in by_interface.items()
    }


@dataclass(frozen=True)
class PlainReplay:
    """What a replay says that is anchored at nothing.

    Attributes:
        makespan_s: When the last rank ends.
        interval: As that of a `Prediction`.
    """

    makespan_s: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Prediction:
    """How long a program would run somewhere, and on what it spends its time.

    Attributes:
        placement: Where the ranks were.
        makespan_s: When the last rank ends.
        finish_s: When each rank ends.
        parts_s: What each rank's time consists of, by part; those of a rank with one processor add up to `finish_s`.
            `computation`; `overhead`, the processor time of its messages; `core_sharing`, how much longer it took
            because others use its core; `memory`, because others load its memory or cache; `interrupts`, because its
            core did the node's protocol work; `waiting`, the rest.
        interfaces: For `tx` and `rx`, arrays over nodes: `messages`, `bytes`, `busy_s`, `queued_s` (the sum of what
            each message waited for others). Where nodes have several interfaces, their sums.
        by_interface: The same of each interface, of shape (nodes, interfaces of a node). A message that is cut over all
            of them is one of each.
        channels: Messages and bytes by the channel whose link class they used.
        shared: How memories, caches and interrupt cores were used.
        not_modelled: Names of the machine's resources that the replay leaves out.
        ports: What passed the switches, where the machine names them.
        interval: Where the makespan lies as far as it is known; `None` if it was not asked for.
        plain: The replay as it is, where the times are anchored at a recorded run.
        ended_sends: Sends of a recording that did not wait for their receive, because in the recorded order ranks
            would wait for each other for ever.
    """

    placement: Placement
    makespan_s: float
    finish_s: np.ndarray
    parts_s: dict[str, np.ndarray]
    interfaces: dict[str, dict[str, np.ndarray]]
    by_interface: dict[str, dict[str, np.ndarray]]
    channels: dict[str, tuple[int, int]]
    not_modelled: tuple[str, ...]
    ports: PortLoads | None = None
    shared: tuple[SharedLoad, ...] = ()
    interval: Interval | None = None
    plain: PlainReplay | None = None
    ended_sends: int = 0

    @property
    def has_several_interfaces(self) -> bool:
        """Whether nodes have more than one network interface."""
        return bool(self.by_interface["tx"]["bytes"].shape[1] > 1)

    def busiest_interface_s(self) -> float:
        """Time of the busiest network interface, one direction."""
        return float(max(self.by_interface[way]["busy_s"].max(initial=0.0) for way in ("tx", "rx")))

    @property
    def waiting_s(self) -> np.ndarray:
        """Of each rank."""
        return self.parts_s["waiting"]

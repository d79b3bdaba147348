# SPDX-License-Identifier: BSD-3-Clause
"""How far messages go with the ranks as they ran, and with the ranks in the order of the machine on the same cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK, NODE, PACKAGE, SELF, UNBOUND
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.recording import Recording

_WORDS = {NETWORK: "between nodes", NODE: "between packages", PACKAGE: "between caches"}


@dataclass(frozen=True)
class Crossing:
    """What part of the bytes crosses a level of the machine.

    Attributes:
        level: Channel that such messages travel, or a wider one.
        as_ran: Part of the bytes between ranks as it ran.
        in_order: The same with the ranks in the order of the machine.
    """

    level: str
    as_ran: float
    in_order: float

    @property
    def words(self) -> str:
        """Where such messages go."""
        return _WORDS.get(self.level, f"beyond a shared {self.level}")


def in_order(placement: Placement) -> Placement:
    """The same seats, taken by the ranks in turn: a node, package and cache is full before the next one begins."""
    first = placement.cores[placement.core_start[:-1]]
    return placement.renumbered(np.lexsort((first, placement.node)).tolist())


def crossings(recording: Recording) -> list[Crossing]:
    """By level, the widest first, what crosses it.

    Raises:
        RankwiseError: It is not known where the ranks ran, or they sent nothing.
    """
    placement, topology = recording.placement, recording.topology
    if placement is None or topology is None:
        raise RankwiseError("it is not known on which cores the ranks ran")
    table = (
        recording.messages.drop_nulls("destination")
        .group_by("source", "destination")
        .agg(pl.col("bytes").sum())
    )
    source, destination, size = (table[name].to_numpy() for name in ("source", "destination", "bytes"))
    source, destination = source.astype(np.int64), destination.astype(np.int64)
    apart = (source != destination) & (size > 0)
    if not apart.any():
        raise RankwiseError("no bytes go from one rank to another")
    pairs = source[apart], destination[apart], size[apart].astype(float)
    now, then = (_by_level(each, topology, *pairs) for each in (placement, in_order(placement)))
    return [Crossing(level, now[level], then[level]) for level in now]


def _by_level(
    placement: Placement, topology: Topology, source: np.ndarray, destination: np.ndarray, size: np.ndarray
) -> dict[str, float]:
    locations = placement.locations(topology)
    channel = locations.between(source, destination)
    names = [name for name in locations.channels if name not in (SELF, UNBOUND)]
    of_channel = np.bincount(channel, size, minlength=len(locations.channels)) / size.sum()
    # Ranks that are not bound are somewhere on their node.
    known = not of_channel[locations.channels.index(UNBOUND)]
    found, beyond = {}, 0.0
    for name in reversed(names):
        beyond += float(of_channel[locations.channels.index(name)])
        if name == NETWORK or known:
            found[name] = beyond
    return found

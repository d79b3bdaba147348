# SPDX-License-Identifier: BSD-3-Clause
"""What ranks share under a placement: nodes, memories and caches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.machine.channels import NETWORK
from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.distribution import even_distribution
from rankwise.placement.loads import interrupt_cores


@dataclass(frozen=True)
class Shared:
    """How many ranks share things of one kind.

    Attributes:
        most: Ranks of the one that most ranks have.
        mean: Ranks that a rank finds in its own, itself included, in the mean.
    """

    most: int
    mean: float


@dataclass(frozen=True)
class Sharing:
    """What ranks share under a placement.

    Attributes:
        node: Nodes.
        memory: NUMA nodes; `None` where a rank may use cores of several, or the topology names none.
        caches: By name of those that several cores share, from the innermost; ranks bound to several caches of
            a level are in none of it.
        even_share: Share of messages that would cross the network if every rank talked to every other alike (Chai,
            Gao & Panda 2007, section 5.2); `None` for a single rank.
        interrupted: Ranks that may run on their node's interrupt core; `None` if the machine has none.
    """

    node: Shared
    memory: Shared | None
    caches: dict[str, Shared]
    even_share: float | None
    interrupted: tuple[int, ...] | None = None


def sharing(placement: Placement, topology: Topology, machine: Machine | None = None) -> Sharing:
    """What the ranks of a placement share, on the nodes of a topology, and who is on a machine's interrupt cores."""
    at = interrupt_cores(machine, topology) if machine else []
    interrupted = None
    if any(core is not None for core in at):
        nodes = placement.node.tolist()
        interrupted = tuple(rank for rank, node in enumerate(nodes) if at[node] in placement.cores_of(rank))
    names = dict.fromkeys(name for node in dict.fromkeys(topology.nodes) for name, _ in node.caches)
    counted = {name: _count(_own(placement, topology, name)) for name in names}
    return Sharing(
        node=_count(placement.node) or Shared(0, 0.0),
        memory=_count(_own(placement, topology, None)),
        caches={name: shared for name, shared in counted.items() if shared},
        even_share=even_distribution(placement.locations(topology)).get(NETWORK),
        interrupted=interrupted,
    )


def _own(placement: Placement, topology: Topology, cache: str | None) -> np.ndarray:
    """The memory (or the cache of a level) of each rank as a number unique over nodes, -1 where it is not one."""
    kinds = {}
    for node in dict.fromkeys(topology.nodes):
        ids = node.numa_nodes if cache is None else dict(node.caches).get(cache, (-1,) * node.cores)
        kinds[node] = np.array(ids, dtype=np.int64)
    widest = max((int(ids.max(initial=0)) for ids in kinds.values()), default=0) + 1
    found = np.empty(placement.ranks, dtype=np.int64)
    for rank, node in enumerate(placement.node.tolist()):
        first, *others = set(kinds[topology.nodes[node]][list(placement.cores_of(rank))].tolist())
        found[rank] = -1 if others or first < 0 else node * widest + first
    return found


def _count(owned: np.ndarray) -> Shared | None:
    """How many ranks have the same number, of those that have one."""
    _, counts = np.unique(owned[owned >= 0], return_counts=True)
    if not len(counts):
        return None
    return Shared(int(counts.max()), float((counts**2).sum() / counts.sum()))

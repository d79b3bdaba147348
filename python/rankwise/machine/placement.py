# SPDX-License-Identifier: BSD-3-Clause
"""Where each rank runs: its node and the logical cores it may use there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from rankwise.errors import RankwiseError
from rankwise.machine.channels import Locations
from rankwise.machine.topology import Topology
from rankwise.quantities import counted


@dataclass(frozen=True)
class Placement:
    """Rank -> (node, logical cores).

    Attributes:
        node_names: Host names, or `node0`, `node1`, ... where they are not known.
        topology_sha256: Hash of each node's topology, in which the core indices are meant.
        node: For each rank, an index into `node_names`.
        core_start: Where each rank's cores begin in `cores`; one longer than there are ranks.
        cores: Logical core indices of all ranks, each rank's ascending; no rank has none.
        allocation: How it was made: `blocked`, `cyclic`, `plane=K`, `explicit`, `optimised`, `recorded`.
        partial: What was missing in the recording that it was searched for, if anything was.
    """

    node_names: tuple[str, ...]
    topology_sha256: tuple[str, ...]
    node: np.ndarray
    core_start: np.ndarray
    cores: np.ndarray
    allocation: str = "explicit"
    partial: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "node", np.asarray(self.node, dtype=np.int64))
        object.__setattr__(self, "core_start", np.asarray(self.core_start, dtype=np.int64))
        object.__setattr__(self, "cores", np.asarray(self.cores, dtype=np.int64))

    @classmethod
    def explicit(
        cls,
        topology: Topology,
        ranks: Sequence[tuple[int, Sequence[int]]],
        node_names: Sequence[str] | None = None,
        allocation: str = "explicit",
    ) -> Placement:
        """A placement from (node, logical cores) of each rank, checked against the topology.

        Raises:
            RankwiseError: A node or core that does not exist, or a rank without cores.
        """
        placement = cls(
            node_names=tuple(node_names) if node_names else default_names(len(topology.nodes)),
            topology_sha256=tuple(node.sha256 for node in topology.nodes),
            node=np.array([node for node, _ in ranks], dtype=np.int64),
            core_start=np.cumsum([0, *(len(cores) for _, cores in ranks)]),
            cores=np.array([core for _, cores in ranks for core in sorted(cores)], dtype=np.int64),
            allocation=allocation,
        )
        placement.check(topology)
        return placement

    @classmethod
    def from_bindings(
        cls,
        topology: Topology,
        node: Sequence[int],
        os_pus: Sequence[Sequence[int]],
        node_names: Sequence[str] | None = None,
    ) -> Placement:
        """The placement of a run, from the OS PU indices that each rank was allowed to use.

        A rank that was not bound may use all cores. So may one whose PUs its node's topology does not know.
        """
        ranks = []
        for index, pus in zip(node, os_pus, strict=True):
            cores = topology.nodes[index].cores_of(pus)
            ranks.append((index, cores or tuple(range(topology.nodes[index].cores))))
        return cls.explicit(topology, ranks, node_names, allocation="recorded")

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.node)

    def cores_of(self, rank: int) -> tuple[int, ...]:
        """Logical cores of a rank."""
        return tuple(self.cores[self.core_start[rank] : self.core_start[rank + 1]].tolist())

    def renumbered(self, order: Sequence[int]) -> Placement:
        """The same seats, in which rank `i` has that of rank `order[i]`."""
        cores = [self.cores_of(rank) for rank in order]
        return replace(
            self,
            node=self.node[list(order)],
            core_start=np.cumsum([0, *map(len, cores)]),
            cores=np.array([core for each in cores for core in each], dtype=np.int64),
        )

    @property
    def trimmed(self) -> Placement:
        """The same without the nodes behind the last one that has ranks."""
        used = int(self.node.max(initial=0)) + 1
        return replace(self, node_names=self.node_names[:used], topology_sha256=self.topology_sha256[:used])

    def same_seats(self, other: Placement) -> bool:
        """Whether all ranks are on the same cores as in another placement, whatever the nodes are called."""
        mine, its = (
            np.unique(each.node, return_index=True, return_inverse=True)[1:] for each in (self, other)
        )
        return (
            self.ranks == other.ranks
            and np.array_equal(mine[0][mine[1]], its[0][its[1]])
            and np.array_equal(self.core_start, other.core_start)
            and np.array_equal(self.cores, other.cores)
        )

    @cached_property
    def bound(self) -> npt.NDArray[np.bool_]:
        """For each rank, whether it has one core to run on."""
        bound: npt.NDArray[np.bool_] = np.diff(self.core_start) == 1
        return bound

    @cached_property
    def injective(self) -> bool:
        """Whether no two ranks share a core."""
        of_entry = np.repeat(self.node, np.diff(self.core_start))
        widest = int(self.cores.max(initial=0)) + 1
        seats = of_entry * widest + self.cores
        return len(np.unique(seats)) == len(seats)

    def locations(self, topology: Topology) -> Locations:
        """Where the ranks are, for the channels between them."""
        return Locations.of(topology, self.node, self.core_start, self.cores)

    def check(self, topology: Topology) -> None:
        """Check that every rank has cores, and that its topology has them.

        Raises:
            RankwiseError: It does not fit, or was made for another topology.
        """
        if len(self.node_names) != len(topology.nodes):
            raise RankwiseError(
                f"the placement has {counted(len(self.node_names), 'node')}, the topology {len(topology.nodes)}",
                "use a placement that was made for as many nodes, or a machine or lab that has them",
            )
        triples = list(zip(self.node_names, self.topology_sha256, topology.nodes, strict=True))
        if others := [(name, node) for name, wanted, node in triples if wanted != node.sha256]:
            raise RankwiseError(
                for_another_kind([name for name, _ in others], "here", {node.kind for _, node in others}),
                "make the placement again for these nodes, or describe those that it was made for, for example "
                "`--node 'package:2 core:2'`",
            )
        sizes = np.array([node.cores for node in topology.nodes], dtype=np.int64)
        if np.any(wrong := (self.node < 0) | (self.node >= len(sizes))):
            rank = int(np.argmax(wrong))
            raise RankwiseError(
                f"rank {rank} is placed on node {self.node[rank]} of a topology with {counted(len(sizes), 'node')}",
                "nodes count from 0",
            )
        if np.any(empty := np.diff(self.core_start) == 0):
            raise RankwiseError(
                f"rank {int(np.argmax(empty))} has no core", "give each rank at least one logical core"
            )
        of_entry = np.repeat(self.node, np.diff(self.core_start))
        if np.any(wrong := (self.cores < 0) | (self.cores >= sizes[of_entry])):
            entry = int(np.argmax(wrong))
            rank = int(np.searchsorted(self.core_start, entry, side="right")) - 1
            core, size = self.cores[entry], sizes[of_entry[entry]]
            raise RankwiseError(
                f"rank {rank} is placed on core {core} of a node with {counted(int(size), 'core')}",
                "logical cores count from 0",
            )


def default_names(nodes: int) -> tuple[str, ...]:
    """Names of nodes that have none yet."""
    return tuple(f"node{index}" for index in range(nodes))


def misfit(recorded: Placement | None, topology: Topology) -> str | None:
    """Why the ranks cannot be put where they were recorded; None if they ran on nodes like these."""
    if recorded is None:
        return "it is not known where its ranks ran"
    ran_on, there = len(recorded.node_names), len(topology.nodes)
    if ran_on > there:
        return f"its ranks ran on {counted(ran_on, 'node')}, the machine has {there}"
    wanted, found = recorded.topology_sha256, [node.sha256 for node in topology.nodes[:ran_on]]
    if list(wanted) == found:
        return None
    return "its ranks ran on nodes with another topology than the machine's"


def fits(recorded: Placement | None, topology: Topology) -> TypeGuard[Placement]:
    """Whether the ranks ran on nodes like these."""
    return misfit(recorded, topology) is None


def for_another_kind(nodes: Sequence[str], where: str, kinds: Iterable[str]) -> str:
    """Why a placement is refused, for a message.

    Args:
        nodes: Names of the nodes that it has.
        where: `here`, or what nodes were looked for in.
        kinds: Of the nodes that are there.
    """
    there = "; ".join(sorted(kinds)) or "not known"
    return f"{_names_text(nodes)}: the placement was made for nodes of another kind ({where}: {there})"


def _names_text(nodes: Sequence[str]) -> str:
    """Names of nodes for a message, the first three and how many more."""
    more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
    return ", ".join(f"`{name}`" for name in nodes[:3]) + more

# SPDX-License-Identifier: BSD-3-Clause
"""Memories, caches and interrupt cores of a machine, and where a placement's ranks use them, as the replay wants it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK
from rankwise.machine.machine import Machine, Resource
from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.replay.processors import Core
from rankwise.replay.switches import Switches

_NONE = 2**32 - 1
_OF_NODES = ("node", "package", "numa")


@dataclass(frozen=True)
class SharedLoad:
    """How ranks used one memory, cache or interrupt core.

    Attributes:
        resource: Its name in the machine file.
        node: Of the placement.
        number: Which of the node's: logical package or cache, OS index of the NUMA node, 0 of a node; of an interrupt
            core its logical core.
        busy_s: While any job used it.
        saturated_s: While jobs asked for more than it has, and took longer; 0 of an interrupt core.
    """

    resource: str
    node: int
    number: int
    busy_s: float
    saturated_s: float


def is_modelled(resource: Resource) -> bool:
    """Whether the replay knows such a memory, cache or interrupt core."""
    if resource.kind == "interrupt_core":
        return resource.discipline == "fifo" and resource.per == "node"
    return resource.kind in ("memory", "cache") and resource.discipline == "sharing"


class Sharing:
    """The part of the model that is neither link classes nor interfaces nor cores.

    Args:
        machine: The machine.
        switches: What of it is modelled.
        memory_bound: Of each rank, the part of its computation alone that waits for memory.

    Raises:
        RankwiseError: A resource does not fit the machine's nodes.
    """

    def __init__(self, machine: Machine, switches: Switches, memory_bound: np.ndarray | None):
        self._machine = machine
        known = [resource for resource in machine.resources if is_modelled(resource)]
        on = {"memory": switches.memory, "cache": switches.caches}
        self._bandwidths = [r for r in known if on.get(r.kind, False)]
        network = machine.link_class(NETWORK)
        host_processed = network is not None and network.protocol == "host-processed"
        interrupts = [
            r for r in known if r.kind == "interrupt_core" and switches.interrupts and host_processed
        ]
        self._interrupts = interrupts[0] if interrupts else None
        self._slow = {
            r.name for r in self._bandwidths if r.per_core_bytes_per_s is not None and switches.slowdown
        }
        self._memory_bound = memory_bound

    @property
    def slows_computation(self) -> bool:
        """Whether how long ranks compute depends on who computes beside them."""
        return bool(self._slow)

    def convert_bandwidths(self) -> list[_core.machine.Bandwidth]:
        """Memories and caches, as a replay takes them."""
        return [self._bandwidth(each) for each in self._bandwidths]

    def convert_interrupt_core(self) -> _core.machine.InterruptCore | None:
        """What messages cost the interrupt cores, as a replay takes it."""
        if self._interrupts is None:
            return None
        each, rate = self._interrupts.per_message_s, self._interrupts.capacity_bytes_per_s
        far_factor = self._interrupts.far_factor
        return _core.machine.InterruptCore(
            per_message_s=each.value if each else 0.0,
            s_per_byte=1 / rate.value if rate else 0.0,
            far_factor=far_factor.value if far_factor else 1.0,
        )

    def find_interrupting_links(self) -> list[bool]:
        """Of each link class, whether its messages use the interrupt cores."""
        if self._interrupts is None:
            return [False] * len(self._machine.link_classes)
        return self._passing(self._interrupts)

    def locate(
        self,
        topology: Topology,
        placement: Placement,
        processor_cores: Sequence[frozenset[Core]],
    ) -> dict[str, Any]:
        """Which memory, cache and interrupt core each rank uses: arguments of `_core.machine.Placement`.

        Args:
            topology: Nodes of the placement.
            placement: Where the ranks are.
            processor_cores: Cores of each processor.
        """
        out: dict[str, Any] = {}
        if self._bandwidths:
            out["domain"] = [self._domains(each, topology, placement)[0] for each in self._bandwidths]
            out["memory_bound"] = self.bound_of(placement.ranks)
        if self._interrupts:
            out |= self._interrupt_cores_of(self._interrupts, topology, placement, processor_cores)
        return out

    def loads(
        self, shared: Sequence[_core.replay.SharedLoad], topology: Topology, placement: Placement
    ) -> list[SharedLoad]:
        """Names for what a replay of that placement says of each memory, cache and interrupt core."""
        where = [self._domains(each, topology, placement)[1] for each in self._bandwidths]
        names = [each.name for each in self._bandwidths]
        if self._interrupts:
            names.append(self._interrupts.name)
            core = _core_number(self._interrupts)
            numbers = self._interrupt_cores(self._interrupts, topology)
            node_of = {number: node for node, number in reversed(list(enumerate(numbers)))}
            where.append([(node_of[number], core) for number in range(len(node_of))])
        return [
            SharedLoad(
                names[each.resource], *where[each.resource][each.number], each.busy_s, each.saturated_s
            )
            for each in shared
        ]

    def bound_of(self, ranks: int) -> np.ndarray:
        """Of each rank, the part of its computation that waits for memory."""
        if self._memory_bound is not None:
            return self._memory_bound.astype(np.float64)
        measured = any(each.slowdown is not None for each in self._bandwidths)
        return np.full(ranks, 1.0 if measured else 0.0)

    def _bandwidth(self, resource: Resource) -> _core.machine.Bandwidth:
        per_core, slowdown = resource.per_core_bytes_per_s, resource.slowdown
        return _core.machine.Bandwidth(
            capacity_bytes_per_s=resource.total_bytes_per_s(),
            per_core_bytes_per_s=per_core.value if per_core else 0.0,
            slowdown=list(slowdown.values) if slowdown else [],
            passes=resource.passes.value if resource.passes else 1.0,
            copies=self._passing(resource),
            computation=resource.name in self._slow,
        )

    def _passing(self, resource: Resource) -> list[bool]:
        """Of each link class, whether its messages use the resource."""
        channels = resource.channels
        return [not channels or link.channel in channels for link in self._machine.link_classes]

    def _domains(
        self, resource: Resource, topology: Topology, placement: Placement
    ) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """Number of each rank's memory or cache, and node and number in it of each."""
        kinds = set(topology.nodes)
        of_caches = {name for node in kinds for name, _ in node.caches}
        if resource.per not in (*_OF_NODES, *of_caches):
            listed = ", ".join(f"`{name}`" for name in sorted(of_caches)) or "none"
            raise RankwiseError(
                f"resource `{resource.name}` is one for each `{resource.per}`, which no cores of a node share",
                f"shared caches of these nodes: {listed}",
            )
        ids_of = {node: objects_of(resource.per, node) for node in kinds}
        ids = [ids_of[node] for node in topology.nodes]
        usual: dict[tuple[int, tuple[int, ...]], int] = {}
        number: dict[tuple[int, int], int] = {}
        of_rank = np.full(placement.ranks, _NONE, dtype=np.uint32)
        for rank, node in enumerate(placement.node.tolist()):
            where = (node, placement.cores_of(rank))
            if where not in usual:
                # A rank that may run in several is taken to run where most of its cores are.
                usual[where] = Counter(ids[node][core] for core in where[1]).most_common(1)[0][0]
            if usual[where] >= 0:
                of_rank[rank] = number.setdefault((node, usual[where]), len(number))
        return of_rank, list(number)

    def _interrupt_cores(self, resource: Resource, topology: Topology) -> list[int]:
        """Of each node, the number of its interrupt core: nodes emulated on one host can have the same."""
        core, host_cores = _core_number(resource), self._machine.node.host_cores
        nodes = range(len(topology.nodes))
        short = next((node for node in topology.nodes if node.cores <= core), None)
        if short is not None:
            raise RankwiseError(
                f"`core` of `{resource.name}` is {core}, the nodes have cores 0 to {short.cores - 1}",
                "give the logical index of a core (formats/machine.md)",
            )
        number: dict[int, int] = {}
        return [number.setdefault(host_cores[n][core] if host_cores else n, len(number)) for n in nodes]

    def _interrupt_cores_of(
        self,
        resource: Resource,
        topology: Topology,
        placement: Placement,
        processor_cores: Sequence[frozenset[Core]],
    ) -> dict[str, Any]:
        core, core_of = _core_number(resource), self._interrupt_cores(resource, topology)
        host_cores = self._machine.node.host_cores
        processor_of = {core: p for p, cores in enumerate(processor_cores) for core in cores}
        on = np.full(max(core_of) + 1, _NONE, dtype=np.uint32)
        for node, number in enumerate(core_of):
            where = (0, host_cores[node][core]) if host_cores else (node, core)
            on[number] = processor_of.get(where, _NONE)
        near_of = {node: _near(node, core) for node in set(topology.nodes)}
        near = [near_of[node] for node in topology.nodes]
        far = [
            near[node].isdisjoint(placement.cores_of(rank))
            for rank, node in enumerate(placement.node.tolist())
        ]
        return {
            "interrupt_core": np.array(core_of, dtype=np.uint32),
            "interrupt_processor": on,
            "far": np.array(far, dtype=np.uint8),
        }


def _core_number(resource: Resource) -> int:
    """The logical core that an interrupt core is."""
    assert resource.core is not None  # machine files without it are refused
    return resource.core


def objects_of(per: str, node: NodeTopology) -> Sequence[int]:
    """Of each core, which of the node's objects of what a resource is `per` it uses, -1 if none."""
    if per == "node":
        return (0,) * node.cores
    if per == "package":
        return node.packages
    if per == "numa":
        return node.numa_nodes
    return dict(node.caches).get(per, (-1,) * node.cores)


def _near(node: NodeTopology, core: int) -> frozenset[int]:
    """Cores that share a cache with a core; where none does, those of its package."""
    sharing = [ids for _, ids in node.caches if ids[core] >= 0 and ids.count(ids[core]) > 1]
    levels = sharing or [node.packages]
    return frozenset(other for ids in levels for other in range(node.cores) if ids[other] == ids[core])

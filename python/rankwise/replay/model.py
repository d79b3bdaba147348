# SPDX-License-Identifier: BSD-3-Clause
"""A machine as the replay is given it: the parts of the model that are on, as the numbers that it indexes with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankwise import _core
from rankwise.machine.channels import NETWORK
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.machine import INTERFACE_KINDS, Machine, Resource
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.convert import convert_links, convert_placement, detour_s, without_buffers
from rankwise.replay.ports import convert_interface, convert_network, passing_s
from rankwise.replay.sharing import Sharing, is_modelled
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import has_intervals, resample


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """What is modelled of a machine.

    Attributes:
        machine: The machine.
        topology: Its nodes.
        switches: What of it is modelled.
        memory_bound: Of each rank, the part of its computation alone that waits for memory; `None`: as the machine
            file's measured `slowdown` says, where it has one, else nothing.
    """

    machine: Machine
    topology: Topology
    switches: Switches = Switches()
    memory_bound: np.ndarray | None = None

    @cached_property
    def sharing(self) -> Sharing:
        """Memories, caches and interrupt cores."""
        return Sharing(self.machine, self.switches, self.memory_bound)

    @cached_property
    def network(self) -> _core.machine.Network | None:
        """Its switches, where it names them."""
        return convert_network(self.machine) if self.switches.switches else None

    @cached_property
    def core_machine(self) -> _core.machine.Machine:
        """The machine as replays take it.

        Raises:
            RankwiseError: A resource does not fit the nodes.
        """
        machine, switches, sharing = self.machine, self.switches, self.sharing
        linked = machine if switches.buffers else without_buffers(machine)
        return _core.machine.Machine(
            link_classes=convert_links(linked, switches.contacts, sharing.find_interrupting_links()),
            tx=convert_interface(self._interfaces["nic_tx"]),
            rx=convert_interface(self._interfaces["nic_rx"]),
            half_duplex=any(each is not None and each.half_duplex for each in self._interfaces.values()),
            core_sharing=self._core_sharing,
            progress=switches.progress,
            handshake=switches.handshake,
            bandwidths=sharing.convert_bandwidths(),
            interrupts=sharing.convert_interrupt_core(),
            network=self.network,
            interfaces=self.interfaces_of_node,
            striped_from_bytes=self.striped_from_bytes,
            striped_over=self.several_interfaces.stripes if self.several_interfaces else None,
            detour_s=detour_s(self.several_interfaces),
        )

    @property
    def several_interfaces(self) -> Interfaces | None:
        """The interfaces of a node, where the machine file says which it has."""
        return self.machine.interfaces if self.switches.interfaces else None

    @property
    def interfaces_of_node(self) -> int:
        """How many interfaces a node has."""
        return len(self.several_interfaces.at) if self.several_interfaces else 1

    @property
    def striped_from_bytes(self) -> int | None:
        """Messages of at least this size pass several interfaces of a node; `None`: no message does."""
        several = self.several_interfaces
        return int(several.striped_from_bytes.value) if several and several.striped_from_bytes else None

    @property
    def interface_costs_s(self) -> dict[str, tuple[float, float]]:
        """What messages that pass an interface cost each other there, each and per byte: `tx` and `rx`."""
        return {direction: passing_s(self._interfaces[f"nic_{direction}"]) for direction in ("tx", "rx")}

    @property
    def shares_cores(self) -> bool:
        """Whether ranks on one core share its time."""
        return self._core_sharing != "none"

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """Names of the machine's resources that the replay does not know."""
        return tuple(
            each.name
            for each in self.machine.resources
            if not (
                self._is_interface(each)
                or self._is_core(each)
                or is_modelled(each)
                or (self.machine.network and each.is_port())
            )
        )

    @cached_property
    def _interfaces(self) -> dict[str, Resource | None]:
        found: dict[str, Resource | None] = dict.fromkeys(INTERFACE_KINDS)
        if self.switches.interfaces:
            found |= {each.kind: each for each in self.machine.resources if self._is_interface(each)}
        return found

    @property
    def _core_sharing(self) -> str:
        """What the ranks of one core do while they wait inside MPI."""
        if not self.switches.core_sharing:
            return "none"
        said = [each.waiting for each in self.machine.resources if self._is_core(each)]
        return (said[-1] if said else None) or "yield"

    @staticmethod
    def _is_interface(resource: Resource) -> bool:
        return (
            resource.kind in INTERFACE_KINDS
            and resource.discipline == "fifo"
            and resource.per in ("node", "interface")
        )

    @staticmethod
    def _is_core(resource: Resource) -> bool:
        return resource.kind == "core" and resource.discipline == "sharing" and resource.per == "core"

    def topology_of(self, placement: Placement) -> Topology:
        """The nodes of a placement, which may use fewer than the machine has."""
        count = len(placement.node_names)
        nodes = self.topology.nodes
        return Topology(nodes[:count]) if count < len(nodes) else self.topology

    def convert(self, placement: Placement) -> _core.machine.Placement:
        """The ranks of a placement that fits, as a replay takes them."""
        topology = self.topology_of(placement)
        return convert_placement(self.machine, topology, placement, self.sharing, self.several_interfaces)

    def loads_by_channel(self, result: _core.replay.Prediction) -> dict[str, tuple[int, int]]:
        """Messages and bytes by channel, of a replay of this model."""
        links = self.machine.link_classes
        names = [link.channel for link in links]
        names += [NETWORK] * (len(result.channel_messages) - len(links))  # those with detours
        found = dict.fromkeys(names[: len(links)], (0, 0))
        for name, *more in zip(
            names, result.channel_messages.tolist(), result.channel_bytes.tolist(), strict=True
        ):
            found[name] = (found[name][0] + more[0], found[name][1] + more[1])
        return found

    def drawn(self, count: int, seed: int) -> Iterator[Model]:
        """The model with the machine's numbers drawn from their intervals; none if it has none."""
        rng = np.random.default_rng(seed)
        for _ in range(count if has_intervals(self.machine) else 0):
            yield replace(self, machine=resample(self.machine, rng))

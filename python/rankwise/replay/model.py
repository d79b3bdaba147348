# SPDX-License-Identifier: BSD-3-Clause
"""A machine as the replay is given it: the parts of the model that are on, as the numbers that it indexes with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.machine.machine import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.layout import has_buffers, layout, links, without_buffers
from rankwise.replay.ports import network_of, passing
from rankwise.replay.sharing import Sharing, is_modelled
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import has_intervals, resample

INTERFACES = ("nic_tx", "nic_rx")


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
    def network(self) -> dict[str, Any] | None:
        """Its switches, where it names them."""
        return network_of(self.machine) if self.switches.switches else None

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """Those of all replays that do not depend on the placement.

        Raises:
            RankwiseError: A resource does not fit the nodes.
        """
        machine, switches = self.machine, self.switches
        return {
            "links": links(machine if switches.buffers else without_buffers(machine), switches.contacts),
            **self._interfaces_and_cores[0],
            "progress": switches.progress,
            "handshake": switches.handshake,
            "resources": {"network": self.network, **self.sharing.resources()},
        }

    @property
    def interfaces(self) -> dict[str, dict[str, Any]]:
        """What messages that pass a node's interface cost each other there: `tx` and `rx`."""
        known = self._interfaces_and_cores[0]
        return {direction: known[direction] for direction in ("tx", "rx")}

    @property
    def shares_cores(self) -> bool:
        """Whether ranks on one core share its time."""
        return bool(self._interfaces_and_cores[0]["core_sharing"] != "none")

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """Names of the machine's resources that the replay does not know."""
        return self._interfaces_and_cores[1]

    @cached_property
    def _interfaces_and_cores(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Interfaces and cores, and the names of resources that are not known."""
        machine, switches, free = self.machine, self.switches, passing(None)
        interfaces = dict.fromkeys(INTERFACES, free)
        waiting, others = "yield", []
        for resource in machine.resources:
            if resource.kind in interfaces and resource.discipline == "fifo" and resource.per == "node":
                interfaces[resource.kind] = passing(resource) if switches.interfaces else free
            elif resource.kind == "core" and resource.discipline == "sharing" and resource.per == "core":
                waiting = resource.waiting or "yield"
            elif not is_modelled(resource) and not (machine.network and resource.is_port()):
                others.append(resource.name)
        cores = waiting if switches.core_sharing else "none"
        known = {"tx": interfaces["nic_tx"], "rx": interfaces["nic_rx"], "core_sharing": cores}
        return known, tuple(others)

    def topology_of(self, placement: Placement) -> Topology:
        """The nodes of a placement, which may use fewer than the machine has."""
        count = len(placement.node_names)
        nodes = self.topology.nodes
        return Topology(nodes[:count]) if count < len(nodes) else self.topology

    def layout(self, placement: Placement) -> dict[str, Any]:
        """The ranks of a placement that fits, as a replay takes them."""
        return layout(self.machine, self.topology_of(placement), placement, self.sharing)

    def drawn(self, count: int, seed: int) -> Iterator[Model]:
        """The model with the machine's numbers drawn from their intervals; none if it has none."""
        rng = np.random.default_rng(seed)
        for _ in range(count if has_intervals(self.machine) else 0):
            yield replace(self, machine=resample(self.machine, rng))

    def left_out_in_windows(self) -> dict[str, list[str]]:
        """By part of the model, what of the machine a replay in windows would leave out."""
        found = {part: [f"`{each}`" for each in names] for part, names in self.sharing.switched_on().items()}
        if self.network:
            found["switches"] = ["the switches"]
        if self.switches.buffers and self.switches.progress and has_buffers(self.machine):
            found["buffers"] = ["the socket buffers"]
        return found

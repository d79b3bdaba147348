# SPDX-License-Identifier: BSD-3-Clause
"""How much ranks load what they share besides interfaces: memories and interrupt cores, for the search's objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.machine.interfaces import groups_of_cores
from rankwise.machine.machine import Machine
from rankwise.machine.topology import Topology
from rankwise.placement.costs import CoreSlots, interface_time, interfaces


@dataclass(frozen=True)
class RankTimes:
    """How ranks spend their time, as one prediction says.

    Attributes:
        computation_s: Of each rank.
        busy: The share of each rank's time in which it does not wait.
        memory_bound: The part of each rank's computation that waits for memory.
    """

    computation_s: np.ndarray
    busy: np.ndarray
    memory_bound: np.ndarray

    @classmethod
    def of(cls, parts_s: dict[str, np.ndarray], memory_bound: np.ndarray) -> RankTimes:
        """From what a prediction says each rank's time consists of."""
        whole = np.maximum(sum(parts_s.values()), 1e-300)
        return cls(parts_s["computation"], 1 - parts_s["waiting"] / whole, memory_bound)


def interrupt_cores(machine: Machine, topology: Topology) -> list[int | None]:
    """The logical core of each node that does its protocol work; `None` where nobody's core does."""
    network = machine.link_class(NETWORK)
    found = next((each.core for each in machine.resources if each.kind == "interrupt_core"), None)
    if network is None or network.protocol != "host-processed" or found is None:
        return [None] * len(topology.nodes)
    return [found if found < node.cores else None for node in topology.nodes]


def loads(
    messages: pl.DataFrame, machine: Machine, topology: Topology, slots: CoreSlots, times: RankTimes
) -> dict[str, Any]:
    """What `Search.share` takes; parts that the machine does not describe are empty.

    A rank's demand of its memory is the time in which what it moves would fill one: what computation that waits for
    memory moves, and a copy of each byte that it sends and receives.

    Args:
        messages: The recording's messages table.
        machine: Memories, interfaces, interrupt core.
        topology: The nodes.
        slots: Places of ranks.
        times: How the ranks spend their time.
    """
    ranks = len(times.busy)
    rows = messages.filter((pl.col("source") != pl.col("destination")) & (pl.col("destination") >= 0))
    source, destination = (rows[name].to_numpy().astype(np.int64) for name in ("source", "destination"))
    count, volume = (rows[name].to_numpy().astype(np.float64) for name in ("messages", "bytes"))
    memory, demand = _memories(machine, topology, slots), []
    resource = next((each for each in machine.resources if each.kind == "memory"), None)
    capacity = resource.total_bytes_per_s() if resource else None
    if resource and capacity and np.isfinite(capacity):
        moved = np.bincount(source, volume, ranks) + np.bincount(destination, volume, ranks)
        alone = resource.per_core_bytes_per_s.value if resource.per_core_bytes_per_s else 0.0
        passes = resource.passes.value if resource.passes else 1.0
        demand = ((times.computation_s * times.memory_bound * alone + moved * passes) / capacity).tolist()
    core = interrupt_cores(machine, topology)
    kinds = {each.kind: each for each in machine.resources}
    wire = sum(interface_time(each, count, volume).sum() for each in interfaces(machine))
    share = 0.0
    if wire > 0 and any(each is not None for each in core):
        # Each message is interrupt work at both of its ends.
        share = 2 * float(interface_time(kinds["interrupt_core"], count, volume).sum()) / float(wire)
    heads = {
        seat: slot
        for slot, seat in enumerate(zip(slots.node.tolist(), slots.core[:, 0].tolist(), strict=True))
    }
    return {
        "memory": memory if demand else [],
        "demand": demand,
        "interrupt_core": [heads.get((node, at), -1) for node, at in enumerate(core)] if share else [],
        "busy": times.busy.tolist(),
        "interrupts": share,
    }


def interface_groups(
    machine: Machine, topology: Topology, slots: CoreSlots
) -> tuple[list[int], list[float]] | None:
    """Which interfaces the ranks of each slot share, where nodes have several: what `Search.use_interfaces` takes.

    Where the number of a rank on its node decides, that are all of the node's, evenly.
    """
    interfaces = machine.interfaces
    if interfaces is None:
        return None
    groups = {node: groups_of_cores(interfaces, node) for node in set(topology.nodes)}
    of_node = [groups[node] for node in topology.nodes]
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    of_slot = [
        numbers.setdefault((node, of_node[node][core]), len(numbers))
        for node, core in zip(slots.node.tolist(), slots.core[:, 0].tolist(), strict=True)
    ]
    return of_slot, [1 / len(those) for _, those in numbers]


def _memories(machine: Machine, topology: Topology, slots: CoreSlots) -> list[int]:
    """The memory of each slot as a number unique over nodes; -1 where the topology names none."""
    per = next((each.per for each in machine.resources if each.kind == "memory"), "node")
    numbers: dict[tuple[int, int], int] = {}
    found = []
    for node, core in zip(slots.node.tolist(), slots.core[:, 0].tolist(), strict=True):
        described = topology.nodes[node]
        at = {"numa": described.numa_nodes, "package": described.packages}.get(per, (0,) * described.cores)[
            core
        ]
        found.append(-1 if at < 0 else numbers.setdefault((node, at), len(numbers)))
    return found

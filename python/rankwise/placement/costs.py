# SPDX-License-Identifier: BSD-3-Clause
"""What each pair of ranks costs at each distance: messages and a machine become the search's costs and slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankwise.machine.channels import NETWORK, NODE, PACKAGE, cache_channels
from rankwise.machine.link_classes import link_index
from rankwise.machine.machine import LinkClass, Machine, Resource
from rankwise.machine.topology import NodeTopology, Topology


@dataclass(frozen=True)
class CoreSlots:
    """Every core of every node, or every group of some neighbouring ones, as a place for one rank.

    Attributes:
        node: Node of each slot.
        core: Logical cores of each slot, one row a slot.
        groups: For each slot what it is in, widest first: node, package, caches, core. Two slots whose first k
            entries are equal are k levels apart.
        channels: The channel of pairs that are 0, 1, ... levels apart.
    """

    node: np.ndarray
    core: np.ndarray
    groups: np.ndarray
    channels: tuple[str, ...]

    @classmethod
    def of(
        cls, topology: Topology, cores_per_rank: int = 1, forbidden: frozenset[tuple[int, int]] = frozenset()
    ) -> CoreSlots:
        """The slots of a topology, nodes in order, cores in logical order.

        Args:
            topology: The nodes.
            cores_per_rank: Cores of a slot; they are of one package.
            forbidden: Cores (node, logical core) that belong to no slot.
        """
        names = sorted({name for node in set(topology.nodes) for name in cache_channels(node)}, reverse=True)
        taken = [
            _rows_of(each, cores_per_rank, [core for node, core in forbidden if node == at])
            for at, each in enumerate(topology.nodes)
        ]
        node = np.concatenate([np.full(len(rows), at) for at, rows in enumerate(taken)])
        core = np.concatenate(taken)
        heads = [rows[:, 0] for rows in taken]
        columns = [
            node,
            np.concatenate(
                [np.array(each.packages)[head] for each, head in zip(topology.nodes, heads, strict=True)]
            ),
        ]
        for name in names:
            parts = []
            for each, head in zip(topology.nodes, heads, strict=True):
                ids = dict(each.caches).get(name) if name in cache_channels(each) else None
                # Cores without this cache share nothing at this level: ids that no cache has.
                alone = -1 - np.arange(each.cores)
                parts.append((alone if ids is None else np.where(np.array(ids) >= 0, ids, alone))[head])
            columns.append(np.concatenate(parts))
        groups = np.stack([*columns, core[:, 0]], axis=1).astype(np.int32)
        return cls(node.astype(np.int32), core, groups, (NETWORK, NODE, PACKAGE, *names))

    @property
    def reachable(self) -> frozenset[str]:
        """Channels between some two slots; a machine of one node has no `network`."""
        wholes = [len(np.unique(self.groups[:, :level], axis=0)) for level in range(self.groups.shape[1] + 1)]
        return frozenset(
            name for level, name in enumerate(self.channels) if wholes[level + 1] > wholes[level]
        )


def nodes_that_hold(
    topology: Topology, ranks: int, cores_per_rank: int, forbidden: frozenset[tuple[int, int]]
) -> int:
    """How many of the first nodes have slots for the ranks; all of them if they do not."""
    cores: dict[int, list[int]] = {}
    for number, core in forbidden:
        cores.setdefault(number, []).append(core)
    for at, node in enumerate(topology.nodes):
        ranks -= len(_rows_of(node, cores_per_rank, cores.get(at, [])))
        if ranks <= 0:
            return at + 1
    return len(topology.nodes)


def _rows_of(node: NodeTopology, size: int, forbidden: list[int]) -> np.ndarray:
    """Groups of `size` neighbouring cores of each package of a node, without some cores."""
    rows = []
    for package in dict.fromkeys(node.packages):
        own = [core for core in range(node.cores) if node.packages[core] == package and core not in forbidden]
        rows += [own[at : at + size] for at in range(0, len(own) - size + 1, size)]
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, size)


def message_time(link: LinkClass, bytes_each: np.ndarray) -> np.ndarray:
    """LogGOPS time in seconds of messages of these sizes, sender's and receiver's overheads included.

    L + o + o_receive + (s-1) (G + 2 O) (formats/loggops.md); the handshake of sizes beyond the eager limit is in
    the L of their segment (formats/machine.md).
    """
    size = np.asarray(bytes_each, dtype=np.float64)
    limits = np.array([np.inf if s.up_to_bytes is None else s.up_to_bytes for s in link.segments])
    parameters = np.array(
        [
            (
                s.L_s.value,
                s.o_s.value + (s.o_receive_s or s.o_s).value,
                s.G_s_per_byte.value + 2 * s.O_s_per_byte.value,
            )
            for s in link.segments
        ]
    )
    latency, overhead, per_byte = parameters[np.searchsorted(limits, size)].T
    time_s: np.ndarray = latency + overhead + np.maximum(size - 1, 0) * per_byte
    return time_s


def interfaces(machine: Machine) -> tuple[Resource | None, Resource | None]:
    """What messages occupy on the nodes they leave and enter; without interfaces, the interrupt core at both ends."""
    kinds = {resource.kind: resource for resource in machine.resources}
    otherwise = kinds.get("interrupt_core") if not {"nic_tx", "nic_rx"} & kinds.keys() else None
    return kinds.get("nic_tx", otherwise), kinds.get("nic_rx", otherwise)


def interface_time(resource: Resource | None, messages: np.ndarray, bytes_total: np.ndarray) -> np.ndarray:
    """Seconds that messages occupy a network interface in one direction; 0 where the machine names none."""
    if resource is None:
        return np.zeros(len(messages))
    each = resource.per_message_s.value if resource.per_message_s else 0.0
    rate = resource.capacity_bytes_per_s.value if resource.capacity_bytes_per_s else np.inf
    return messages * each + bytes_total / rate


# What decides only between equals counts this much less.
_LESS = 1e-3


@dataclass(frozen=True)
class CommCosts:
    """Neighbour lists of the ranks (compressed rows) with costs in seconds; both directions of a pair are summed.

    Attributes:
        offsets: Where each rank's neighbours begin; one longer than there are ranks.
        neighbour: Neighbouring ranks.
        cost: For each entry, the pair's LogGOPS time at each level.
        nic_out: Time on the sending interface if the pair is on different nodes, as seen from the rank.
        nic_in: The same for receiving.
    """

    offsets: np.ndarray
    neighbour: np.ndarray
    cost: np.ndarray
    nic_out: np.ndarray
    nic_in: np.ndarray

    @classmethod
    def of(
        cls,
        messages: pl.DataFrame,
        ranks: int,
        machine: Machine,
        channels: tuple[str, ...],
        reachable: frozenset[str] | None = None,
        objective: str = "time",
    ) -> CommCosts:
        """Sum the messages table (source, destination, messages, bytes; one row a size range and call).

        Messages of a row are taken to be of their mean size. Messages to self cost the same everywhere. Channels
        that are not `reachable` (default: all are) need no link class and cost nothing.

        Args:
            messages: The table.
            ranks: Number of ranks.
            machine: Link classes and network interfaces.
            channels: Of pairs that share 0, 1, ... levels.
            reachable: See above.
            objective: `time`: costs are seconds of LogGOPS. `network`: time on the interfaces, everything else only
                where that is equal. `bytes`: bytes between nodes, those inside only where these are equal.
        """
        rows = messages.filter((pl.col("source") != pl.col("destination")) & (pl.col("messages") > 0))
        count, total = (rows[name].to_numpy().astype(np.float64) for name in ("messages", "bytes"))
        source, destination = (rows[name].to_numpy().astype(np.int64) for name in ("source", "destination"))
        # One rank a core: no pair is as near as the last level, the same core.
        nothing = np.zeros(len(count))
        levels = [
            count * message_time(machine.link_classes[link_index(machine, name)], total / count)
            if reachable is None or name in reachable
            else nothing
            for name in channels
        ]
        sending, receiving = interfaces(machine)
        sent, received = interface_time(sending, count, total), interface_time(receiving, count, total)
        if objective == "network":
            levels = [level * _LESS for level in levels]
        elif objective == "bytes":
            levels = [total * _LESS**depth for depth in range(len(channels))]
            sent = received = nothing
        # Every message is an entry of its source (out) and of its destination (in).
        key = np.concatenate([source * ranks + destination, destination * ranks + source])
        pairs, entry = np.unique(key, return_inverse=True)

        def summed(of_source: np.ndarray, of_destination: np.ndarray) -> np.ndarray:
            return np.bincount(entry, np.concatenate([of_source, of_destination]), len(pairs)).astype(
                np.float32
            )

        cost = np.stack(
            [*(summed(level, level) for level in levels), np.zeros(len(pairs), np.float32)], axis=1
        )
        return cls(
            offsets=np.searchsorted(pairs // ranks, np.arange(ranks + 1)).astype(np.int64),
            neighbour=(pairs % ranks).astype(np.int32),
            cost=np.ascontiguousarray(cost),
            # What the source sends leaves its node; the destination's own interface takes it in.
            nic_out=summed(sent, nothing),
            nic_in=summed(nothing, received),
        )

# SPDX-License-Identifier: BSD-3-Clause
"""The level that a message travels: the narrowest thing its two ends share.

From the narrowest: `self` (a rank to itself), each cache that several cores but not the whole package share
(`L2`, `L3`, ...), `package` (intra-CMP), `node` (inter-CMP, across packages), `network` (inter-node). The
messages of two ranks whose bindings do not tell which it is inside their node are `unbound`. Terms of Chai,
Gao & Panda (2007), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who only shows channels by name computes nothing
    import numpy as np

    from rankwise.machine.topology import NodeTopology, Topology

SELF, PACKAGE, NODE, NETWORK, UNBOUND = "self", "package", "node", "network", "unbound"

# What the paper on message distribution calls them.
LITERATURE_NAMES = {PACKAGE: "intra-CMP", NODE: "inter-CMP", NETWORK: "inter-node"}


def cache_channels(node: NodeTopology) -> tuple[str, ...]:
    """Names of the cache levels that are channels of a node of their own, from the innermost.

    A level that groups cores just as a narrower one, or as the packages do, is none: nothing would travel it.
    """
    names, groupings = [], {_grouping(node.packages)}
    for name, ids in node.caches:
        grouping = _grouping(ids)
        wider_than_package = any(len({node.packages[core] for core in group}) > 1 for group in grouping)
        if grouping not in groupings and not wider_than_package:
            groupings.add(grouping)
            names.append(name)
    return tuple(names)


def channel_names(topology: Topology) -> tuple[str, ...]:
    """All channels that a topology can have, from the narrowest, with `unbound` at the end."""
    caches = {name for node in set(topology.nodes) for name in cache_channels(node)}
    return (SELF, *sorted(caches), PACKAGE, NODE, NETWORK, UNBOUND)


def _grouping(ids: Sequence[int]) -> frozenset[frozenset[int]]:
    groups: dict[int, set[int]] = {}
    for core, ident in enumerate(ids):
        if ident >= 0:
            groups.setdefault(ident, set()).add(core)
    return frozenset(frozenset(group) for group in groups.values())


@dataclass(frozen=True)
class Locations:
    """Where each rank is, level by level, as numbers that are equal if and only if the thing is shared.

    Attributes:
        channels: Names by number, as `channel_names` gives them.
        node: Node of each rank.
        package: Package of each rank, unique over nodes; -1 if its cores are in several.
        caches: For each cache channel, the cache of each rank, unique over nodes; -1 if none or several.
    """

    channels: tuple[str, ...]
    node: np.ndarray
    package: np.ndarray
    caches: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, topology: Topology, node: np.ndarray, core_start: np.ndarray, cores: np.ndarray) -> Locations:
        """Locate ranks that may each use several cores.

        Args:
            topology: The nodes.
            node: Node index of each rank.
            core_start: Where each rank's cores begin in `cores`, one longer than there are ranks; none is
                empty.
            cores: Logical core indices of all ranks.
        """
        import numpy as np

        names = channel_names(topology)
        levels = [PACKAGE, *names[1 : names.index(PACKAGE)]]
        first_core, table = _core_table(topology, levels)
        rank_of_entry = np.repeat(np.arange(len(node)), np.diff(core_start))
        located = first_core[node[rank_of_entry]] + cores
        found = []
        for ids in table:
            of_entry = ids[located]
            low = np.minimum.reduceat(of_entry, core_start[:-1]) if len(node) else of_entry
            high = np.maximum.reduceat(of_entry, core_start[:-1]) if len(node) else of_entry
            found.append(np.where(low == high, low, -1))
        return cls(channels=names, node=node, package=found[0], caches=tuple(found[1:]))

    def between(self, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
        """Channel numbers (indices into `channels`) of messages between pairs of ranks."""
        import numpy as np

        number = {name: at for at, name in enumerate(self.channels)}
        channel = np.full(np.shape(source), number[NETWORK], dtype=np.int8)
        same_node = self.node[source] == self.node[destination]
        package_of_source, package_of_destination = self.package[source], self.package[destination]
        known = (package_of_source >= 0) & (package_of_destination >= 0)
        channel[same_node & ~known] = number[UNBOUND]
        channel[same_node & known] = number[NODE]
        channel[known & (package_of_source == package_of_destination)] = number[PACKAGE]
        for at in reversed(range(len(self.caches))):
            cache_of_source = self.caches[at][source]
            shared = (cache_of_source >= 0) & (cache_of_source == self.caches[at][destination])
            channel[shared] = 1 + at
        channel[np.equal(source, destination)] = number[SELF]
        return channel


def _core_table(topology: Topology, levels: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where each node's cores begin, and for each level the id of every core, unique over nodes."""
    import numpy as np

    sizes = np.array([node.cores for node in topology.nodes], dtype=np.int64)
    first_core = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    one_node: dict[tuple[NodeTopology, str], np.ndarray] = {}
    table = []
    for level in levels:
        parts = []
        for at, node in enumerate(topology.nodes):
            key = (node, level)
            if key not in one_node:
                one_node[key] = np.array(_ids(node, level), dtype=np.int64)
            local = one_node[key]
            # No node has more groups than cores, so ids offset by the node's first core never meet.
            parts.append(np.where(local >= 0, local + first_core[at], -1))
        table.append(np.concatenate(parts) if parts else np.empty(0, dtype=np.int64))
    return first_core, table


def _ids(node: NodeTopology, level: str) -> Sequence[int]:
    if level == PACKAGE:
        return node.packages
    return dict(node.caches)[level] if level in cache_channels(node) else (-1,) * node.cores

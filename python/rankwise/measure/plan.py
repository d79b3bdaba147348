# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks measure which channel, on which cores; and the steps a launch walks through."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rankwise.machine.channels import NETWORK, NODE, PACKAGE, cache_channels
from rankwise.machine.topology import NodeTopology

MOST_SHARING = 16  # pairs through one interface; beyond, every other count would only cost time


@dataclass(frozen=True)
class Rank:
    """Where one rank may run.

    Attributes:
        number: In MPI_COMM_WORLD.
        host: Its host name.
        cores: Its logical cores, as the launcher allows them.
        pu: For each of them the OS index to bind to.
    """

    number: int
    host: str
    cores: tuple[int, ...]
    pu: tuple[int, ...]


@dataclass(frozen=True)
class End:
    """One end of a pair: a rank, the OS index of the PU it is bound to, and what stands behind that PU."""

    rank: int
    host: str
    core: int
    pu: int


@dataclass(frozen=True)
class Pair:
    """Two ranks that measure."""

    source: End
    destination: End

    @property
    def shares_a_core(self) -> bool:
        """Whether both ends run on one PU of one machine; of emulated nodes, PUs are the machine's."""
        return self.source.pu == self.destination.pu


@dataclass
class Plan:
    """What will be measured.

    Attributes:
        pairs: By channel.
        sharing: Pairs from one node to another, to be used 1, 2, ... at a time.
        missing: By channel, why it is not measured.
        one_machine: Whether those nodes are emulated on one machine.
        by_host: All ranks, by host.
        nodes: Topology by host.
        yields: Whether ranks that wait leave their cores to others.
    """

    pairs: dict[str, Pair] = field(default_factory=dict)
    sharing: list[Pair] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    one_machine: bool = False
    by_host: dict[str, list[Rank]] = field(default_factory=dict)
    nodes: dict[str, NodeTopology] = field(default_factory=dict)
    yields: bool = False

    @property
    def cores_suffice(self) -> bool:
        """Whether all ends of the pairs in `sharing` have PUs of their own."""
        ends = [end for pair in self.sharing for end in (pair.source, pair.destination)]
        return len({("" if self.one_machine else end.host, end.pu) for end in ends}) == len(ends)


def channel_of(node: NodeTopology, a: int, b: int) -> str:
    """Channel between two cores of a node."""
    levels = dict(node.caches)
    for name in cache_channels(node):
        if levels[name][a] == levels[name][b] >= 0:
            return name
    return PACKAGE if node.packages[a] == node.packages[b] else NODE


def choose(
    ranks: Sequence[Rank], topologies: Mapping[str, NodeTopology], same_machine: Callable[[str, str], bool]
) -> Plan:
    """Choose a pair for every channel that these ranks can reach.

    A rank that may use several cores is bound to one of them while it measures, so one launch reaches several channels.
    Pairs whose ends have PUs of their own go first, then those that leave out OS core 0, which often serves interrupts.

    Args:
        ranks: All ranks.
        topologies: By host.
        same_machine: Whether two hosts are one machine (emulated nodes), whose PUs are then the same.
    """
    plan = Plan(nodes=dict(topologies))
    by_host = plan.by_host
    for rank in ranks:
        by_host.setdefault(rank.host, []).append(rank)
    for host, members in by_host.items():
        for pair in _inside(host, members):
            channel = channel_of(topologies[host], pair.source.core, pair.destination.core)
            if channel not in plan.pairs or _badness(pair, True) < _badness(plan.pairs[channel], True):
                plan.pairs[channel] = pair
    hosts = list(by_host)
    if len(hosts) > 1:
        plan.one_machine = same_machine(hosts[0], hosts[1])
        plan.sharing = _between(by_host[hosts[0]], by_host[hosts[1]], plan.one_machine)
        plan.pairs[NETWORK] = plan.sharing[0]
    _explain(plan, topologies, len(hosts))
    return plan


def _ends(rank: Rank) -> list[End]:
    return [End(rank.number, rank.host, core, pu) for core, pu in zip(rank.cores, rank.pu, strict=True)]


def _inside(host: str, members: Sequence[Rank]) -> Iterator[Pair]:
    # Ranks with equal cores reach the same channels: two of each are enough.
    alike: dict[tuple[int, ...], list[Rank]] = {}
    for rank in members:
        alike.setdefault(rank.cores, []).append(rank)
    few = [rank for group in alike.values() for rank in group[:2]]
    for a, b in itertools.combinations(sorted(few, key=lambda r: r.number), 2):
        for x, y in itertools.product(_ends(a), _ends(b)):
            if x.core != y.core:
                yield Pair(x, y)


def _between(first: Sequence[Rank], second: Sequence[Rank], one_machine: bool) -> list[Pair]:
    """Disjoint pairs, each with PUs as little used by those before as possible."""
    pairs: list[Pair] = []
    used: dict[tuple[str, int], int] = {}
    left = list(second)
    for a in first[:MOST_SHARING]:
        options = [Pair(x, y) for b in left for x, y in itertools.product(_ends(a), _ends(b))]
        if not options:
            break

        def load(pair: Pair) -> tuple[object, ...]:
            ends = [("" if one_machine else e.host, e.pu) for e in (pair.source, pair.destination)]
            return (
                *_badness(pair, one_machine)[:1],
                sum(used.get(e, 0) for e in ends),
                _badness(pair, one_machine),
            )

        best = min(options, key=load)
        pairs.append(best)
        left = [b for b in left if b.number != best.destination.rank]
        for end in (best.source, best.destination):
            key = ("" if one_machine else end.host, end.pu)
            used[key] = used.get(key, 0) + 1
    return pairs


def _badness(pair: Pair, one_machine: bool) -> tuple[bool, int, int]:
    zeros = (pair.source.pu == 0) + (pair.destination.pu == 0)
    return (one_machine and pair.shares_a_core, zeros, pair.source.rank + pair.destination.rank)


def _explain(plan: Plan, topologies: Mapping[str, NodeTopology], hosts: int) -> None:
    nodes = list(topologies.values())
    exists = {
        **{name: True for node in nodes for name in cache_channels(node)},
        PACKAGE: any(n.cores > n.package_count for n in nodes),
        NODE: any(n.package_count > 1 for n in nodes),
    }
    for channel, there in exists.items():
        if channel not in plan.pairs:
            no_pair = "no two of the launched ranks may use cores that are so close"
            absent = "a node has one package" if channel == NODE else "a package has one core"
            plan.missing[channel] = no_pair if there else absent
    if hosts < 2:
        plan.missing[NETWORK] = "all ranks are on one node"

# SPDX-License-Identifier: BSD-3-Clause
"""Times of collectives whose algorithm is known by name, predicted on a machine that one of them calibrates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source
from rankwise.study.calls import ELEMENT_BYTES, collective
from rankwise.study.platforms import Platform

# Of PICO's names without what says whose code it is, ours; `rules`: what the library's rules choose.
RULES = "rules"
ALGORITHMS = {
    "allgather": {
        "ring": "ring",
        "recursive_doubling": "recursive_doubling",
        "neighbor": "neighbor_exchange",
        "brucks": "bruck",
        "k_bruck": "bruck",
        "sparbit": "sparbit",
    },
    "allreduce": {
        "ring": "ring",
        "recursive_doubling": "recursive_doubling",
        "rabenseifner": "rabenseifner",
        "bine_lat": "bine_doubling",
    },
    "alltoall": {"linear": "linear", "pairwise": "pairwise", "modified_bruck": "bruck"},
    "bcast": {
        "binomial": "binomial",
        "knomial": "knomial",
        "scatter_allgather": "scatter_recursive_doubling_allgather",
        "scatter_allgather_ring": "scatter_ring_allgather",
    },
    "gather": {"binomial": "binomial", "linear": "linear", "linear_synch": "linear_sync"},
    "reduce": {"binomial": "binomial", "linear": "linear", "rabenseifner": "rabenseifner"},
    "reduce_scatter": {
        "recursive_halving": "recursive_halving",
        "pairwise": "pairwise",
        "ring": "ring",
    },
    "scatter": {"binomial": "binomial", "linear_nb": "linear"},
}
IN_BLOCKS = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter")
"""Collectives in which each rank has a block; the others have whole buffers."""
ROUND_OF_NEIGHBOURS = ("ring", "neighbor_exchange")
"""Algorithms whose rounds are all alike: of many ranks some are replayed, and the rest are as many rounds more."""
SOME, MORE = 64, 128
COMBINING_PASSES = 3
COPYING_PASSES = 2


@dataclass(frozen=True)
class NamedCall:
    """A collective with its algorithm.

    Attributes:
        collective: In lower case.
        algorithm: Our name of it, or `rules`.
        nodes: How many.
        each: Ranks on each, one node after the other.
        count: Integers, of all ranks together where each has a block.
    """

    collective: str
    algorithm: str
    nodes: int
    each: int
    count: int

    @property
    def ranks(self) -> int:
        """How many take part."""
        return self.nodes * self.each


def our_name(collective: str, name: str) -> str | None:
    """Our name of an algorithm, `None` if it is none of ours."""
    base, _, whose = name.rpartition("_")
    if base == "default" and whose == "ompi":
        return RULES
    return ALGORITHMS.get(collective, {}).get(base)


class NamedAlgorithms:
    """Predictions of collectives between nodes.

    Args:
        platform: The machine, whose network's numbers are published or assumed.
        slowness: What latency, overheads and times of bytes between nodes are multiplied by.

    Raises:
        RankwiseError: The machine does not say what one core moves, from which combining and copying are taken.
    """

    def __init__(self, platform: Platform, slowness: float = 1.0):
        self.machine = slower(platform.machine, slowness)
        self._node = platform.topology.nodes[0]
        rates = [each.per_core_bytes_per_s for each in platform.machine.resources]
        rate = next((each.value for each in rates if each), 0.0)
        if rate == 0:
            raise RankwiseError(
                f"`{platform.name}` does not say what a core moves alone",
                "give its memory `per_core_bytes_per_s` (formats/machine.md)",
            )
        self.combine_s_per_byte = COMBINING_PASSES / rate
        self._copy_s_per_byte = COPYING_PASSES / rate

    def time_s(self, call: NamedCall) -> float:
        """When the last rank has ended, if all begin at once."""
        if call.each == 1 and call.ranks > MORE and call.algorithm in ROUND_OF_NEIGHBOURS:
            block = max(1, call.count // call.ranks)
            some, more = (self._replay(_part(call, ranks, block)) for ranks in (SOME, MORE))
            return some + (more - some) * (call.ranks - SOME) / (MORE - SOME)
        return self._replay(call)

    def _replay(self, call: NamedCall) -> float:
        copy_s = self._copy_s_per_byte * copied_bytes(call)
        schedule = _schedule(call, self.combine_s_per_byte, copy_s)
        topology, placement = _placement(self._node, call.nodes, call.each)
        prediction = Predictor.of(Source(schedule), self.machine, topology).predict(placement)
        return float(prediction.finish_s.max())


def _part(call: NamedCall, ranks: int, block: int) -> NamedCall:
    return NamedCall(call.collective, call.algorithm, ranks, 1, block * ranks)


def copied_bytes(call: NamedCall) -> float:
    """What a rank copies within its own memory: Bruck's algorithm has its blocks in another order.

    An allgather turns all of them once; an alltoall turns them before and after, and packs and unpacks half of them in
    each round (Bruck et al. 1997; Thakur, Rabenseifner & Gropp 2005).
    """
    if call.algorithm != "bruck":
        return 0.0
    times = 1.0 if call.collective == "allgather" else 2 + math.ceil(math.log2(call.ranks))
    return times * call.count * ELEMENT_BYTES


@lru_cache(maxsize=64)
def _schedule(call: NamedCall, combine_s_per_byte: float, copy_s: float) -> _core.schedule.Schedule:
    elements = call.count // call.ranks if call.collective in IN_BLOCKS else call.count
    return collective(
        call.collective,
        call.ranks,
        elements * ELEMENT_BYTES,
        library="openmpi-4",
        algorithm="" if call.algorithm == RULES else call.algorithm,
        combine_s_per_byte=combine_s_per_byte,
        after_s=copy_s,
    )


@lru_cache(maxsize=64)
def _placement(node: NodeTopology, nodes: int, each: int) -> tuple[Topology, Placement]:
    """Ranks in blocks, those of a node on cores that are equally far apart."""
    topology = Topology((node,) * nodes)
    seats = [(rank // each, ((rank % each) * node.cores // each,)) for rank in range(nodes * each)]
    return topology, Placement.explicit(topology, seats)


def slower(machine: Machine, slowness: float) -> Machine:
    """The machine with all times of messages between nodes multiplied."""
    why = f"; times {slowness:.3g}, calibrated"

    def times(estimate: Estimate, factor: float) -> Estimate:
        return Estimate(
            value=estimate.value * factor, obtained="assumed", source=(estimate.source or "measured") + why
        )

    def link(each: LinkClass) -> LinkClass:
        if each.channel != NETWORK:
            return each
        keys = ("L_s", "o_s", "g_s", "G_s_per_byte", "O_s_per_byte")
        segments = [
            msgspec.structs.replace(part, **{key: times(getattr(part, key), slowness) for key in keys})
            for part in each.segments
        ]
        return msgspec.structs.replace(each, segments=segments)

    resources = [
        msgspec.structs.replace(each, capacity_bytes_per_s=times(each.capacity_bytes_per_s, 1 / slowness))
        if each.kind in ("nic_tx", "nic_rx") and each.capacity_bytes_per_s
        else each
        for each in machine.resources
    ]
    return msgspec.structs.replace(
        machine, link_classes=[link(each) for each in machine.link_classes], resources=resources
    )


def on_two_rails(platform: Platform) -> Platform:
    """The machine that cuts messages beyond the eager limit over two interfaces (UCX_MAX_RNDV_RAILS, 2 by default).

    Such a message has twice the rate.
    """
    machine = platform.machine
    interfaces, network = machine.interfaces, machine.link_class(NETWORK)
    assert interfaces is not None and network is not None and network.eager_limit_bytes is not None
    limit = int(network.eager_limit_bytes.value)
    why = "UCX_MAX_RNDV_RAILS, 2 by default"
    last = network.segments[-1]
    rate = Estimate(
        value=last.G_s_per_byte.value / 2,
        obtained="assumed",
        source=f"{last.G_s_per_byte.source}; twice that over two interfaces ({why})",
    )
    segments = [
        *network.segments[:-1],
        msgspec.structs.replace(last, up_to_bytes=limit),
        msgspec.structs.replace(last, G_s_per_byte=rate),
    ]
    links = [
        msgspec.structs.replace(each, segments=segments) if each is network else each
        for each in machine.link_classes
    ]
    striped = msgspec.structs.replace(
        interfaces,
        striped_from_bytes=Estimate(value=limit + 1, obtained="assumed", source=why),
        striped_over=2,
    )
    machine = msgspec.structs.replace(machine, link_classes=links, interfaces=striped)
    return Platform(platform.name, machine, platform.topology)


def slowness_of(platform: Platform, call: NamedCall, measured_s: float) -> float:
    """How much slower than published the network is, so that one call takes what was measured.

    Raises:
        RankwiseError: No factor between a tenth and a hundred gives that time.
    """
    low, high = 0.1, 100.0
    if (
        not NamedAlgorithms(platform, low).time_s(call)
        < measured_s
        < NamedAlgorithms(platform, high).time_s(call)
    ):
        raise RankwiseError(
            f"no network of `{platform.name}` makes `{call.collective}` take {measured_s:g} s"
        )
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        if NamedAlgorithms(platform, middle).time_s(call) < measured_s:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)

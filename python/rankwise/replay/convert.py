# SPDX-License-Identifier: BSD-3-Clause
"""A machine and a placement as the numbers that the replay indexes with."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from rankwise import _core
from rankwise.machine.channels import NETWORK, SELF, Locations
from rankwise.machine.estimate import Estimate
from rankwise.machine.interfaces import Interfaces, own_interfaces
from rankwise.machine.link_classes import link_index
from rankwise.machine.machine import LinkClass, Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.processors import processors
from rankwise.replay.sharing import Sharing

_Place = tuple[int, tuple[int, ...]]  # a node of its kind, and cores


def convert_placement(
    machine: Machine,
    topology: Topology,
    placement: Placement,
    sharing: Sharing | None = None,
    interfaces: Interfaces | None = None,
) -> _core.machine.Placement:
    """A placement as a replay indexes with it; with `sharing` and `interfaces` what these need.

    A *place* is a core, or the set of cores that an unbound rank may use, of a kind of node. Ranks share a processor
    if their places of the same node, or on an emulated machine their cores of the host, do (`processors`).
    """
    place_of: dict[_Place, int] = {}
    cores = [placement.cores_of(rank) for rank in range(placement.ranks)]
    first: dict[int, int] = {}  # node of each kind that has ranks
    place = [
        place_of.setdefault((first.setdefault(id(topology.nodes[node]), node), each), len(place_of))
        for node, each in zip(placement.node.tolist(), cores, strict=True)
    ]
    host_cores = machine.node.host_cores
    processor, cores_of = processors(
        [
            frozenset((node, core) if host_cores is None else (0, host_cores[node][core]) for core in each)
            for node, each in zip(placement.node.tolist(), cores, strict=True)
        ]
    )
    nodes = len(np.unique(placement.node))
    inside = (
        _place_links(machine, topology, list(place_of))
        if nodes < placement.ranks
        # Nothing travels inside a node, so nodes of one core need no link class for it.
        else np.zeros(len(place_of) ** 2, dtype=np.uint8)
    )
    return _core.machine.Placement(
        node=placement.node.astype(np.uint32),
        place=np.array(place, dtype=np.uint32),
        places=len(place_of),
        processor=np.array(processor, dtype=np.uint32),
        capacity=np.array([len(each) for each in cores_of], dtype=np.uint32),
        place_link=inside,
        network_link=link_index(machine, NETWORK) if nodes > 1 else 0,
        self_link=link_index(machine, SELF),
        **(sharing.locate(topology, placement, cores_of) if sharing else {}),
        **(_own_interfaces(machine, interfaces, topology, placement) if interfaces else {}),
    )


def _own_interfaces(
    machine: Machine, interfaces: Interfaces, topology: Topology, placement: Placement
) -> dict[str, Any]:
    """Which interface each rank uses, and whether that is far; detours have the link classes behind the file's."""
    own = own_interfaces(interfaces, topology, placement)
    number = placement.node.astype(np.uint32) * len(interfaces.at) + own.number
    if detour_s(interfaces) == 0 or machine.link_class(NETWORK) is None:
        return {"interface": number}
    return {
        "interface": number,
        "is_detour": own.is_far.astype(np.uint8),
        "detour_link": len(machine.link_classes),
    }


def detour_s(interfaces: Interfaces | None) -> float:
    """Latency of an interface that is far from its rank."""
    return interfaces.far_s.value if interfaces and interfaces.far_s else 0.0


def _place_links(machine: Machine, topology: Topology, places: list[_Place]) -> np.ndarray:
    """Link class between each two places of a node, as seen by two ranks in them; 0 where no node has both."""
    twice = [*places, *places]  # two ranks of one place, too
    start = np.cumsum([0, *(len(cores) for _, cores in twice)])
    flat = np.array([core for _, cores in twice for core in cores], dtype=np.int64)
    node = np.array([kind for kind, _ in twice], dtype=np.int64)
    located = Locations.of(topology, node, start, flat)
    one, other = np.divmod(np.arange(len(places) ** 2), max(len(places), 1))
    channels = located.between(one, other + len(places))
    numbers = np.unique(channels[node[one] == node[other]])
    index = {int(number): link_index(machine, located.channels[number]) for number in numbers}
    return np.array([index.get(int(number), 0) for number in channels], dtype=np.uint8)


def convert_links(machine: Machine, contacts: bool, interrupts: list[bool]) -> list[_core.machine.LinkClass]:
    """Its link classes as a replay takes them.

    Args:
        machine: The machine.
        contacts: Whether first messages cost more than later ones.
        interrupts: Of each link class, whether its messages use interrupt cores.
    """
    return [_link(*each, contacts) for each in zip(machine.link_classes, interrupts, strict=True)]


# A limit that no message reaches; the engine counts bytes in 64 bits.
MOST_BYTES = 2**62
BUFFERS = ("socket_buffer_bytes", "send_buffer_bytes", "unexpected_buffer_bytes")


def without_buffers(machine: Machine) -> Machine:
    """The machine with unlimited buffers."""
    free = dict.fromkeys(BUFFERS)
    links = [msgspec.structs.replace(link, **free) for link in machine.link_classes]
    return msgspec.structs.replace(machine, link_classes=links)


def _bytes(limit: Estimate | None) -> int | None:
    return None if limit is None else min(int(limit.value), MOST_BYTES)


def _link(link: LinkClass, interrupts: bool, contacts: bool) -> _core.machine.LinkClass:
    return _core.machine.LinkClass(
        [
            _core.machine.Segment(
                up_to_bytes=segment.up_to_bytes,
                L_s=segment.L_s.value,
                o_s=segment.o_s.value,
                o_receive_s=(segment.o_receive_s or segment.o_s).value,
                g_s=segment.g_s.value,
                G_s_per_byte=segment.G_s_per_byte.value,
                O_s_per_byte=segment.O_s_per_byte.value,
            )
            for segment in link.segments
        ],
        eager_limit_bytes=_bytes(link.eager_limit_bytes),
        socket_buffer_bytes=_bytes(link.socket_buffer_bytes),
        send_buffer_bytes=_bytes(link.send_buffer_bytes),
        unexpected_buffer_bytes=_bytes(link.unexpected_buffer_bytes),
        connect_s=link.connect_s.value if contacts and link.connect_s else 0.0,
        in_call=link.progress == "in-call",
        overlap=link.overlap,
        network=link.channel == NETWORK,
        interrupts=interrupts,
    )

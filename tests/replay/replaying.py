# SPDX-License-Identifier: BSD-3-Clause
"""Replays of schedules written as lists of `reference.Op`, in nanoseconds."""

from __future__ import annotations

import msgspec
import numpy as np
from interfaces_reference import Several
from machine_reference import Link, Place
from reference import Op, Parameters, goal
from sharing_reference import Shared

from rankwise import _core
from rankwise.machine.estimate import Estimate
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.replay.ports import convert_switches


def schedule_of(ranks: list[list[Op]]):
    return _core.schedule.Schedule.read_goal(goal(ranks), "test.goal")


def switches(
    shape: FatTree | Torus | Dragonfly, hop: int = 0, port_byte: int = 0, port_message: int = 0, *, ports=None
) -> _core.machine.Network:
    """The switches between the nodes, all cables alike unless `ports` says otherwise; times in nanoseconds."""
    port = _core.machine.Interface(port_message * 1e-9, port_byte * 1e-9)
    network = msgspec.structs.replace(
        shape, hop_s=Estimate(value=hop * 1e-9, obtained="published", source="test")
    )
    return convert_switches(network, ports or [port] * len(shape.links()))


def picoseconds(times_s) -> list[int]:
    return [round(t * 1e12) for t in times_s]


def plain(ranks: list[list[Op]], p: Parameters) -> list[int]:
    """Finish times in picoseconds under plain LogGOPS."""
    result = schedule_of(ranks).replay_loggops(
        L_s=p.L * 1e-9,
        o_s=p.o * 1e-9,
        g_s=p.g * 1e-9,
        G_s_per_byte=p.G * 1e-9,
        O_s_per_byte=p.O * 1e-9,
        S_bytes=p.S,
    )
    return picoseconds(result.finish_s)


def link_class(link: Link, interrupts: bool = False) -> _core.machine.LinkClass:
    segment = _core.machine.Segment(
        up_to_bytes=None,
        L_s=link.L * 1e-9,
        o_s=link.o * 1e-9,
        o_receive_s=link.o_receive * 1e-9,
        g_s=link.g * 1e-9,
        G_s_per_byte=link.G * 1e-9,
        O_s_per_byte=link.O * 1e-9,
    )
    return _core.machine.LinkClass(
        [segment],
        eager_limit_bytes=link.S,
        connect_s=link.connect * 1e-9,
        in_call=link.in_call,
        overlap=link.overlap,
        network=link.network,
        interrupts=interrupts,
        socket_buffer_bytes=link.socket_buffer,
        send_buffer_bytes=link.send_buffer,
        unexpected_buffer_bytes=link.unexpected_buffer,
    )


def machine_of(place: Place, *, interrupts: _core.machine.InterruptCore | None = None, **more):
    """A machine with these links and interfaces; `more` as `_core.machine.Machine` has it."""
    links = (place.itself, place.inside, place.network)
    return _core.machine.Machine(
        link_classes=[link_class(link, interrupts is not None and link.network) for link in links],
        tx=_core.machine.Interface(place.tx_message * 1e-9, place.tx_byte * 1e-9),
        rx=_core.machine.Interface(place.rx_message * 1e-9, place.rx_byte * 1e-9),
        interrupts=interrupts,
        half_duplex=place.half_duplex,
        **more,
    )


def placed(node: list[int], processor: list[int], capacity: list[int] | None = None, **more):
    """Ranks on nodes that have one place each; `more` as `_core.machine.Placement` has it."""
    return _core.machine.Placement(
        node=np.array(node, dtype=np.uint32),
        place=np.zeros(len(node), dtype=np.uint32),
        places=1,
        processor=np.array(processor, dtype=np.uint32),
        capacity=np.array(capacity or [1] * (max(processor) + 1), dtype=np.uint32),
        place_link=np.array([1], dtype=np.uint8),
        network_link=2,
        self_link=0,
        **more,
    )


def model(
    place: Place,
    processor: list[int],
    core_sharing: str = "none",
    capacity: list[int] | None = None,
    progress: bool = True,
    handshake: bool = True,
    network: _core.machine.Network | None = None,
) -> dict:
    """Arguments of a replay on a machine whose nodes have one place each."""
    how = {"core_sharing": core_sharing, "progress": progress, "handshake": handshake, "network": network}
    return {"machine": machine_of(place, **how), "placement": placed(place.node, processor, capacity)}


def on_shared(ranks: list[list[Op]], place: Place, shared: Shared):
    """Replay on a machine whose ranks share more than interfaces."""
    return schedule_of(ranks).replay(**shared_model(place, shared))


def shared_loads(prediction) -> list[tuple[int, int, float, float]]:
    """How memories, caches and interrupt cores were used."""
    return [(each.resource, each.number, each.busy_s, each.saturated_s) for each in prediction.shared]


def shared_model(
    place: Place,
    shared: Shared,
    progress: bool = True,
    handshake: bool = True,
    network: _core.machine.Network | None = None,
) -> dict:
    """Arguments of a replay on a machine whose nodes have one place each, and what its ranks share."""
    count, none = len(place.node), 2**32 - 1
    bandwidths = [
        _core.machine.Bandwidth(
            capacity_bytes_per_s=memory.capacity * 1e9,
            per_core_bytes_per_s=(memory.per_core or 0) * 1e9,
            slowdown=[float(each) for each in memory.slowdown or ()],
            passes=float(memory.passes),
            copies=[name in memory.copies for name in ("itself", "inside", "network")],
            computation=memory.per_core is not None,
        )
        for memory in shared.memories
    ]
    where = {
        "memory_bound": np.array([float(each) for each in shared.memory_bound] or [0.0] * count),
        "domain": [
            np.array([none if d is None else d for d in memory.domain], dtype=np.uint32)
            for memory in shared.memories
        ],
    }
    core = None
    if (interrupts := shared.interrupts) is not None:
        core = _core.machine.InterruptCore(
            per_message_s=interrupts.per_message * 1e-9,
            s_per_byte=interrupts.per_byte * 1e-9,
            far_factor=float(interrupts.factor),
        )
        processors = [none if p is None else p for p in interrupts.processor]
        where |= {
            "interrupt_core": np.arange(len(interrupts.processor), dtype=np.uint32),
            "interrupt_processor": np.array(processors, dtype=np.uint32),
            "far": np.array([rank in interrupts.far for rank in range(count)], dtype=np.uint8),
        }
    how = {"core_sharing": shared.waiting, "progress": progress, "handshake": handshake, "network": network}
    return {
        "machine": machine_of(place, interrupts=core, bandwidths=bandwidths, **how),
        "placement": placed(place.node, shared.processor, shared.cores, **where),
    }


def with_several(place: Place, several: Several, network: _core.machine.Network | None = None) -> dict:
    """Arguments of a replay on a machine whose nodes have several interfaces."""
    of_rank = [node * several.number + k for node, k in zip(place.node, several.of_rank, strict=True)]
    machine = machine_of(
        place,
        network=network,
        interfaces=several.number,
        striped_from_bytes=several.striped_from,
        striped_over=several.striped_over,
        detour_s=several.far * 1e-9,
    )
    where = {"interface": np.array(of_rank, dtype=np.uint32)}
    if several.far:
        where |= {"is_detour": np.array(several.is_far, dtype=np.uint8), "detour_link": 3}
    return {"machine": machine, "placement": placed(place.node, list(range(len(place.node))), **where)}


def on_machine(
    ranks: list[list[Op]],
    place: Place,
    core_sharing: str = "none",
    processor: list[int] | None = None,
    capacity: list[int] | None = None,
    progress: bool = True,
    handshake: bool = True,
    network: _core.machine.Network | None = None,
):
    """Replay on a machine whose nodes have one place each; by default every rank has its own processor."""
    processor = list(range(len(ranks))) if processor is None else processor
    return schedule_of(ranks).replay(
        **model(place, processor, core_sharing, capacity, progress, handshake, network)
    )

# SPDX-License-Identifier: BSD-3-Clause
"""Replays of schedules written as lists of `reference.Op`, in nanoseconds."""

from __future__ import annotations

import numpy as np
from machine_reference import Link, Place
from reference import Op, Parameters, goal
from sharing_reference import Shared

from rankwise import _core
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.machine.network import plain as plain_network


def schedule_of(ranks: list[list[Op]]):
    return _core.replay.Schedule.read_goal(goal(ranks), "test.goal")


def switches(
    shape: FatTree | Torus | Dragonfly, hop: int = 0, port_byte: int = 0, port_message: int = 0
) -> dict:
    """The switches between the nodes, all cables alike; times in nanoseconds."""
    port = {"per_message_s": port_message * 1e-9, "s_per_byte": port_byte * 1e-9}
    return plain_network(shape, [port] * len(shape.links())) | {"hop_s": hop * 1e-9}


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


def link_dict(link: Link) -> dict:
    return {
        "segments": [
            {
                "up_to_bytes": None,
                "L_s": link.L * 1e-9,
                "o_s": link.o * 1e-9,
                "o_receive_s": link.o_receive * 1e-9,
                "g_s": link.g * 1e-9,
                "G_s_per_byte": link.G * 1e-9,
                "O_s_per_byte": link.O * 1e-9,
            }
        ],
        "eager_limit_bytes": link.S,
        "connect_s": link.connect * 1e-9,
        "in_call": link.in_call,
        "overlap": link.overlap,
        "network": link.network,
        "socket_buffer_bytes": link.socket_buffer,
        "send_buffer_bytes": link.send_buffer,
        "unexpected_buffer_bytes": link.unexpected_buffer,
    }


def model(
    place: Place,
    processor: list[int],
    core_sharing: str = "none",
    capacity: list[int] | None = None,
    progress: bool = True,
    handshake: bool = True,
    network: dict | None = None,
) -> dict:
    """Arguments of a replay on a machine whose nodes have one place each."""
    return {
        "resources": {"network": network},
        "links": [link_dict(link) for link in (place.itself, place.inside, place.network)],
        "tx": {"per_message_s": place.tx_message * 1e-9, "s_per_byte": place.tx_byte * 1e-9},
        "rx": {"per_message_s": place.rx_message * 1e-9, "s_per_byte": place.rx_byte * 1e-9},
        "core_sharing": core_sharing,
        "progress": progress,
        "handshake": handshake,
        "layout": {
            "node": np.array(place.node, dtype=np.uint32),
            "place": np.zeros(len(place.node), dtype=np.uint32),
            "places": 1,
            "processor": np.array(processor, dtype=np.uint32),
            "capacity": np.array(capacity or [1] * (max(processor) + 1), dtype=np.uint32),
            "place_link": np.array([1], dtype=np.uint8),
            "network_link": 2,
            "self_link": 0,
        },
    }


def on_shared(ranks: list[list[Op]], place: Place, shared: Shared):
    """Replay on a machine whose ranks share more than interfaces."""
    return schedule_of(ranks).replay_on_machine(**shared_model(place, shared))


def shared_model(place: Place, shared: Shared) -> dict:
    """Arguments of a replay on a machine whose nodes have one place each, and what its ranks share."""
    arguments = model(place, shared.processor, shared.waiting, shared.cores)
    count, none = len(place.node), 2**32 - 1
    arguments["resources"] = {
        "bandwidths": [
            {
                "capacity_bytes_per_s": memory.capacity * 1e9,
                "per_core_bytes_per_s": (memory.per_core or 0) * 1e9,
                "slowdown": [float(each) for each in memory.slowdown or ()],
                "passes": float(memory.passes),
                "copies": [name in memory.copies for name in ("itself", "inside", "network")],
                "computation": memory.per_core is not None,
            }
            for memory in shared.memories
        ],
        "interrupts": None,
    }
    bound = [float(each) for each in shared.memory_bound] or [0.0] * count
    layout = arguments["layout"]
    layout["memory_bound"] = np.array(bound)
    layout["domain"] = [
        np.array([none if d is None else d for d in memory.domain], dtype=np.uint32)
        for memory in shared.memories
    ]
    if (interrupts := shared.interrupts) is not None:
        arguments["resources"]["interrupts"] = {
            "per_message_s": interrupts.per_message * 1e-9,
            "s_per_byte": interrupts.per_byte * 1e-9,
            "far_factor": float(interrupts.factor),
            "links": [False, False, True],
        }
        layout["interrupt_core"] = np.arange(len(interrupts.processor), dtype=np.uint32)
        where = [none if p is None else p for p in interrupts.processor]
        layout["interrupt_processor"] = np.array(where, dtype=np.uint32)
        layout["far"] = np.array([rank in interrupts.far for rank in range(count)], dtype=np.uint8)
    return arguments


def on_machine(
    ranks: list[list[Op]],
    place: Place,
    core_sharing: str = "none",
    processor: list[int] | None = None,
    capacity: list[int] | None = None,
    progress: bool = True,
    handshake: bool = True,
    network: dict | None = None,
):
    """Replay on a machine whose nodes have one place each; by default every rank has its own processor."""
    processor = list(range(len(ranks))) if processor is None else processor
    return schedule_of(ranks).replay_on_machine(
        **model(place, processor, core_sharing, capacity, progress, handshake, network)
    )

# SPDX-License-Identifier: BSD-3-Clause
"""What a prediction loses to each Resource and channel: the gain if it were free, found by replaying without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec

from rankwise.machine.channels import NETWORK
from rankwise.machine.file import Estimate, LinkClass, Machine
from rankwise.replay.layout import without_buffers
from rankwise.replay.predict import INTERFACES, Prediction, Predictor
from rankwise.replay.switches import Switches

_FREE = Estimate(0.0, "assumed", source="what if it were free")
_PARTS: dict[str, tuple[str, ...]] = {
    "latency": ("L_s",),
    "bytes": ("G_s_per_byte", "O_s_per_byte"),
    "overhead": ("o_s", "o_receive_s", "g_s"),
}


@dataclass(frozen=True)
class Loss:
    """By how much a program would be faster without one thing, all others as they are.

    Losses do not add up: two things that hide each other lose nothing each and something together.

    Attributes:
        kind: `resource`, `channel` or `communication` (everything but computation and its order).
        name: Of the resource or the channel; several resources are joined by `+`.
        part: Of a channel: `latency`, `bytes`, `overhead` or `all`; else `all`.
        lost_s: Makespan as predicted less the makespan if this were free; below 0 where a faster part makes the
            whole slower (interfaces that serve messages in another order).
    """

    kind: str
    name: str
    part: str
    lost_s: float


@dataclass(frozen=True)
class _WhatIf:
    kind: str
    name: str
    part: str
    machine: Machine
    switches: Switches


def losses(
    predictor: Predictor, prediction: Prediction, done: Callable[[], None] = lambda: None
) -> list[Loss]:
    """Replay with each part of the machine that the program uses made free, one replay a part.

    Args:
        predictor: What made the prediction.
        prediction: Of a placement.
        done: Called after each replay.

    Returns:
        Largest loss first.
    """

    def lost(what_if: _WhatIf) -> Loss:
        other = predictor.variant(what_if.machine, what_if.switches).predict(prediction.placement)
        done()
        return Loss(what_if.kind, what_if.name, what_if.part, prediction.makespan_s - other.makespan_s)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the replay itself runs without Python's lock
        found = list(pool.map(lost, _what_ifs(predictor, prediction)))
    return sorted(found, key=lambda each: -each.lost_s)


def count(predictor: Predictor, prediction: Prediction) -> int:
    """How many replays `losses` does."""
    return len(list(_what_ifs(predictor, prediction)))


def _what_ifs(predictor: Predictor, prediction: Prediction) -> Iterable[_WhatIf]:
    machine, switches = predictor.machine, predictor.switches
    crossing = int(prediction.interfaces["tx"]["messages"].sum()) > 0
    interfaces = [
        r.name for r in machine.resources if r.kind in INTERFACES and r.name not in predictor.not_modelled
    ]
    if crossing and switches.interfaces:
        for names in [[name] for name in interfaces] + [interfaces] * (len(interfaces) > 1):
            yield _WhatIf("resource", "+".join(names), "all", _without(machine, names), switches)
    switched = [r.name for r in machine.resources if r.is_port()] if prediction.ports else []
    if prediction.ports and float(prediction.ports.queued_s.sum()) > 0:
        for names in [[name] for name in switched] + [switched] * (len(switched) > 1):
            yield _WhatIf("resource", "+".join(names), "all", _with_free_ports(machine, names), switches)
    used = [link for link in machine.link_classes if prediction.channels[link.channel][0]]
    if switches.buffers and any(link.socket_buffer_bytes for link in used):
        yield _WhatIf("resource", "buffers", "all", machine, replace(switches, buffers=False))
    cores = [r.name for r in machine.resources if r.kind == "core" and r.name not in predictor.not_modelled]
    if switches.core_sharing and float(prediction.parts_s["core_sharing"].sum()) > 0:
        name = cores[0] if cores else "core"
        yield _WhatIf("resource", name, "all", machine, replace(switches, core_sharing=False))
    interrupts = [r.name for r in machine.resources if r.kind == "interrupt_core"]
    held_up = {each.resource for each in prediction.shared if each.saturated_s > 0}
    held_up |= {each.resource for each in prediction.shared if each.busy_s > 0} & {*interrupts}
    for name in (r.name for r in machine.resources if r.name in held_up):
        yield _WhatIf("resource", name, "all", _without(machine, [name]), switches)
    for link in machine.link_classes:
        if prediction.channels[link.channel][0] == 0:
            continue
        for part, fields in [*_PARTS.items(), ("all", sum(_PARTS.values(), ()))]:
            freed = _with_link(machine, _freed(link, fields))
            if link.channel == NETWORK and "L_s" in fields:
                freed = _without_hops(freed)
            yield _WhatIf("channel", link.channel, part, freed, switches)
    if any(messages for messages, _ in prediction.channels.values()):
        free = msgspec.structs.replace(_without(machine, interfaces + interrupts), network=None)
        free = without_buffers(free)
        for link in machine.link_classes:
            free = _with_link(free, _freed(link, sum(_PARTS.values(), ())))
        yield _WhatIf("communication", "communication", "all", free, switches)


def _without(machine: Machine, names: list[str]) -> Machine:
    left = [resource for resource in machine.resources if resource.name not in names]
    return msgspec.structs.replace(machine, resources=left)


def _with_free_ports(machine: Machine, names: list[str]) -> Machine:
    """Kept, so that no other resource describes their cables instead."""
    free = {"capacity_bytes_per_s": None, "per_message_s": None}
    each = [msgspec.structs.replace(r, **free) if r.name in names else r for r in machine.resources]
    return msgspec.structs.replace(machine, resources=each)


def _without_hops(machine: Machine) -> Machine:
    network = machine.network and msgspec.structs.replace(machine.network, hop_s=None)
    return msgspec.structs.replace(machine, network=network)


def _freed(link: LinkClass, fields: tuple[str, ...]) -> LinkClass:
    segments = [msgspec.structs.replace(s, **dict.fromkeys(fields, _FREE)) for s in link.segments]
    return msgspec.structs.replace(link, segments=segments)


def _with_link(machine: Machine, link: LinkClass) -> Machine:
    links = [link if link.channel == each.channel else each for each in machine.link_classes]
    return msgspec.structs.replace(machine, link_classes=links)

# SPDX-License-Identifier: BSD-3-Clause
"""What a prediction loses to each Resource and channel: the gain if it were free, found by replaying without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec

from rankwise.explain.loss import Loss, LossKind, LossPart
from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import INTERFACE_KINDS, LinkClass, Machine
from rankwise.replay.convert import without_buffers
from rankwise.replay.prediction import Prediction
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches

_FREE = Estimate(0.0, "assumed", source="what if it were free")

_PARTS: dict[LossPart, tuple[str, ...]] = {
    "latency": ("L_s",),
    "bytes": ("G_s_per_byte", "O_s_per_byte"),
    "overhead": ("o_s", "o_receive_s", "g_s"),
}


@dataclass(frozen=True)
class _WhatIf:
    kind: LossKind
    name: str
    part: LossPart
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


def _without(machine: Machine, names: Collection[str]) -> Machine:
    left = [resource for resource in machine.resources if resource.name not in names]
    return msgspec.structs.replace(machine, resources=left)


def _with_free_ports(machine: Machine, names: Collection[str]) -> Machine:
    """Kept, so that no other resource describes their cables instead."""
    free = {"capacity_bytes_per_s": None, "per_message_s": None}
    each = [msgspec.structs.replace(r, **free) if r.name in names else r for r in machine.resources]
    return msgspec.structs.replace(machine, resources=each)


@dataclass(frozen=True)
class _Kinds:
    """Kinds of Resources that are made free in the same way.

    Attributes:
        kinds: Of the machine file.
        used: Names of those whose loss is worth a replay.
        free: The machine with some of them free.
        together: Also made free together, because a message passes one after the other.
    """

    kinds: tuple[str, ...]
    used: Callable[[Prediction, list[str]], Collection[str]]
    free: Callable[[Machine, Collection[str]], Machine] = _without
    together: bool = False


def _if_crossed(prediction: Prediction, names: list[str]) -> list[str]:
    return names if prediction.interfaces["tx"]["messages"].sum() > 0 else []


def _if_queued(prediction: Prediction, names: list[str]) -> list[str]:
    return names if prediction.ports and prediction.ports.queued_s.sum() > 0 else []


_KINDS = (
    _Kinds(INTERFACE_KINDS, _if_crossed, together=True),
    _Kinds(("switch_port",), _if_queued, _with_free_ports, together=True),
    _Kinds(("memory", "cache"), lambda p, names: {e.resource for e in p.shared if e.saturated_s > 0}),
    _Kinds(("interrupt_core",), lambda p, names: {e.resource for e in p.shared if e.busy_s > 0}),
)


def _what_ifs(predictor: Predictor, prediction: Prediction) -> Iterable[_WhatIf]:
    machine, switches = predictor.machine, predictor.switches
    modelled = [r for r in machine.resources if r.name not in predictor.not_modelled]
    for each in _KINDS:
        known = [r.name for r in modelled if r.kind in each.kinds]
        used = each.used(prediction, known) if _is_on(switches, each.kinds) else []
        names = [name for name in known if name in used]
        for some in [[name] for name in names] + [names] * (each.together and len(names) > 1):
            yield _WhatIf("resource", "+".join(some), "all", each.free(machine, some), switches)
    linked = [link for link in machine.link_classes if prediction.channels[link.channel][0]]
    if switches.buffers and any(link.socket_buffer_bytes for link in linked):
        yield _WhatIf("resource", "buffers", "all", machine, replace(switches, buffers=False))
    if switches.contacts and any(link.connect_s and link.connect_s.value for link in linked):
        yield _WhatIf("resource", "contacts", "all", machine, replace(switches, contacts=False))
    if switches.core_sharing and float(prediction.parts_s["core_sharing"].sum()) > 0:
        cores = [r.name for r in modelled if r.kind == "core"]  # a machine file need not name them
        without = replace(switches, core_sharing=False)
        yield _WhatIf("resource", cores[0] if cores else "core", "all", machine, without)
    for link in linked:
        for part, fields in (_PARTS | {"all": sum(_PARTS.values(), ())}).items():
            freed = _with_link(machine, _free(link, fields))
            if link.channel == NETWORK and "L_s" in fields:
                freed = _without_further_latency(freed)
            yield _WhatIf("channel", link.channel, part, freed, switches)
    if any(messages for messages, _ in prediction.channels.values()):
        passed = [r.name for r in modelled if r.kind in (*INTERFACE_KINDS, "interrupt_core")]
        free = without_buffers(msgspec.structs.replace(_without(machine, passed), network=None))
        free = _without_further_latency(free)
        for link in machine.link_classes:
            free = _with_link(free, _free(link, sum(_PARTS.values(), ())))
        without = replace(switches, contacts=False)
        yield _WhatIf("communication", "communication", "all", free, without)


def _is_on(switches: Switches, kinds: tuple[str, ...]) -> bool:
    return switches.interfaces or kinds != INTERFACE_KINDS


def _without_further_latency(machine: Machine) -> Machine:
    network = machine.network and msgspec.structs.replace(machine.network, hop_s=None)
    interfaces = machine.interfaces and msgspec.structs.replace(machine.interfaces, far_s=None)
    return msgspec.structs.replace(machine, network=network, interfaces=interfaces)


def _free(link: LinkClass, fields: tuple[str, ...]) -> LinkClass:
    segments = [msgspec.structs.replace(s, **dict.fromkeys(fields, _FREE)) for s in link.segments]
    connect_s = None if "o_s" in fields else link.connect_s  # M13: it is overhead
    return msgspec.structs.replace(link, segments=segments, connect_s=connect_s)


def _with_link(machine: Machine, link: LinkClass) -> Machine:
    links = [link if link.channel == each.channel else each for each in machine.link_classes]
    return msgspec.structs.replace(machine, link_classes=links)

# SPDX-License-Identifier: BSD-3-Clause
"""Single numbers of a machine changed by hand: `network.G=0.1ns/B`, `nic.capacity=1GB/s`, `core.waiting=spin`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

import msgspec

from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.machine import INTERFACE_KINDS, LinkClass, Machine, Resource, Segment
from rankwise.machine.quantities import rate, size, time, time_per_byte

_Parse = Callable[[str], float | None]
_SEGMENT_KEYS: dict[str, tuple[str, _Parse, str]] = {
    "L": ("L_s", time, "2us"),
    "o": ("o_s", time, "2us"),
    "o_receive": ("o_receive_s", time, "2us"),
    "g": ("g_s", time, "2us"),
    "G": ("G_s_per_byte", time_per_byte, "0.1ns/B"),
    "O": ("O_s_per_byte", time_per_byte, "0.1ns/B"),
}
_RESOURCE_KEYS: dict[str, tuple[str, _Parse, str]] = {
    "capacity": ("capacity_bytes_per_s", rate, "1GB/s"),
    "per_message": ("per_message_s", time, "2us"),
    "per_core": ("per_core_bytes_per_s", rate, "1GB/s"),
}
_WAITING = ("yield", "spin")
_USE = ("nearest", "round-robin", "block")
_PROGRESS = ("in-call", "independent")
_OVERLAP = ("true", "false")
_BUFFERS = ("socket_buffer", "send_buffer", "unexpected_buffer")
_BY_HAND = "set by hand: "
_UNITS: dict[_Parse, str] = {time: "s", time_per_byte: "s/B", rate: "B/s", size: "B"}


def apply(machine: Machine, settings: Iterable[str]) -> Machine:
    """The machine with numbers replaced, each marked as assumed.

    Args:
        machine: Stays as it is.
        settings: `TARGET.KEY=VALUE`; a target is a channel, a resource, `nic` for both directions, or `interfaces`
            where a node has several.

    Raises:
        RankwiseError: No such target or key, or a value without its unit.
    """
    for setting in settings:
        match = re.fullmatch(r"([^.=]+)\.([^.=]+)=(.+)", setting.strip())
        if not match:
            raise RankwiseError(
                f"`{setting}` is not a setting, which is written TARGET.KEY=VALUE",
                "for example `--set network.G=0.1ns/B`",
            )
        machine = _apply_one(machine, match[1], match[2], match[3].strip(), setting)
    return machine


def _apply_one(machine: Machine, target: str, key: str, value: str, setting: str) -> Machine:
    if target == NETWORK and key == "hop" and machine.network is not None:
        hop_s = _estimate(time, value, "50ns", setting)
        network = msgspec.structs.replace(machine.network, hop_s=hop_s)
        return msgspec.structs.replace(machine, network=network)
    if target == "interfaces" and machine.interfaces is not None:
        return _interfaces(machine, machine.interfaces, key, value, setting)
    chosen = [at for at, resource in enumerate(machine.resources) if _is(resource, target)]
    if chosen:
        resources = list(machine.resources)
        for at in chosen:
            resources[at] = _resource(resources[at], key, value, setting)
        changed = msgspec.structs.replace(machine, resources=resources)
        return _measured_through(machine, changed, setting) if key in ("capacity", "G") else changed
    channels = [link.channel for link in machine.link_classes]
    if target in channels:
        links = list(machine.link_classes)
        at = channels.index(target)
        links[at] = _link_class(links[at], key, value, setting)
        return msgspec.structs.replace(machine, link_classes=links)
    names = [*channels, *(resource.name for resource in machine.resources)]
    if any(resource.kind.startswith("nic") for resource in machine.resources):
        names.append("nic")
    if machine.interfaces is not None:
        names.append("interfaces")
    listed = ", ".join(f"`{name}`" for name in names)
    raise RankwiseError(f"machine `{machine.name}` has no channel or resource `{target}`", f"it has {listed}")


def _measured_through(machine: Machine, changed: Machine, setting: str) -> Machine:
    """A machine whose network costs a byte what it does through the changed interfaces.

    What a byte was measured to cost between nodes holds the time that it takes the slower of both interfaces, or is
    below that where a segment's bytes are hardly told apart from latency: that part follows, the rest stays.
    """
    before, after = _interface_s_per_byte(machine), _interface_s_per_byte(changed)
    if not before or before == after:
        return changed

    def through(segment: Segment, smallest: int) -> Segment:
        per_byte = segment.G_s_per_byte
        if (per_byte.source or "").startswith(_BY_HAND):
            return segment
        part = min(per_byte.value, before / _interfaces_of(machine, smallest))
        source = f"{_BY_HAND}{setting}, through which it was measured"
        follows = Estimate(per_byte.value - part + part * after / before, "assumed", source=source)
        return msgspec.structs.replace(segment, G_s_per_byte=follows)

    links = [
        msgspec.structs.replace(link, segments=list(map(through, link.segments, _smallest(link))))
        if link.channel == NETWORK
        else link
        for link in changed.link_classes
    ]
    return msgspec.structs.replace(changed, link_classes=links)


def _smallest(link: LinkClass) -> list[int]:
    """Of each segment of a link class, the smallest message."""
    limits = [segment.up_to_bytes for segment in link.segments[:-1]]
    return [0, *(limit + 1 for limit in limits if limit is not None)]


def _interfaces_of(machine: Machine, size: int) -> int:
    """How many interfaces a message of this size passes on its way out of a node."""
    several = machine.interfaces
    if several is None or several.striped_from_bytes is None or size < several.striped_from_bytes.value:
        return 1
    return several.stripes


def _interface_s_per_byte(machine: Machine) -> float:
    """What the slower direction of an interface takes for a byte; 0 where nothing limits it."""
    limits = [
        1 / resource.capacity_bytes_per_s.value
        for resource in machine.resources
        if resource.kind in INTERFACE_KINDS and resource.capacity_bytes_per_s
    ]
    return max(limits, default=0.0)


def changes_interfaces(machine: Machine, settings: Iterable[str]) -> bool:
    """Whether settings change what a node's interfaces carry, through which latency and overheads were measured."""
    return _interface_s_per_byte(machine) not in (0.0, _interface_s_per_byte(apply(machine, settings)))


def number(parse: _Parse, text: str) -> float | None:
    """What `parse` makes of a value; 0 is one in any unit."""
    return 0.0 if text == "0" else parse(text)


def scale(key: str) -> tuple[_Parse, str] | None:
    """How values of a key are read, and the unit of what comes out; `None` for keys whose values are words."""
    if key in ("S", "striped_from", *_BUFFERS):
        return size, _UNITS[size]
    if key in ("hop", "connect", "far"):
        return time, _UNITS[time]
    known = _SEGMENT_KEYS.get(key) or _RESOURCE_KEYS.get(key)
    return (known[1], _UNITS[known[1]]) if known else None


def _interfaces(machine: Machine, several: Interfaces, key: str, value: str, setting: str) -> Machine:
    if key == "use":
        change: dict[str, object] = {"use": _word(value, _USE, setting)}
    elif key == "striped_from":
        limit = None if value == "none" else _estimate(size, value, "1MiB", setting)
        change = {"striped_from_bytes": limit}
        if limit is None:
            change["striped_over"] = None
    elif key == "striped_over":
        if not re.fullmatch("[0-9]+", value):
            raise RankwiseError(
                f"`{value}` in `{setting}` is no number of interfaces",
                "for example `--set interfaces.striped_over=2`",
            )
        change = {"striped_over": int(value)}
    elif key == "far":
        change = {"far_s": _estimate(time, value, "0.2us", setting)}
    else:
        raise RankwiseError(
            f"`interfaces` has no key `{key}`",
            "it has `use` (nearest, round-robin, block), `striped_from`, `striped_over`, `far`",
        )
    try:
        changed = msgspec.structs.replace(several, **change)
        changed.__post_init__()
        return _with_interfaces(machine, changed)
    except ValueError as error:
        raise RankwiseError(
            f"`{setting}`: {error}", "formats/machine.md says what belongs together"
        ) from None


def _with_interfaces(machine: Machine, interfaces: Interfaces) -> Machine:
    changed = msgspec.structs.replace(machine, interfaces=interfaces)
    changed.__post_init__()
    return changed


def _is(resource: Resource, target: str) -> bool:
    return resource.name == target or (target == "nic" and resource.kind in INTERFACE_KINDS)


def _estimate(parse: _Parse, value: str, example: str, setting: str) -> Estimate:
    found = number(parse, value)
    if found is None or not math.isfinite(found):
        raise RankwiseError(
            f"`{value}` in `{setting}` is not a value with its unit",
            f"for example `--set {setting.partition('=')[0]}={example}`",
        )
    return Estimate(found, "assumed", source=f"{_BY_HAND}{setting}")


def _word(value: str, words: tuple[str, ...], setting: str) -> str:
    if value not in words:
        parameter = setting.partition("=")[0]
        raise RankwiseError(
            f"`{value}` in `{setting}` is not a value of `{parameter}`",
            "use " + " or ".join(f"`--set {parameter}={word}`" for word in words),
        )
    return value


def _resource(resource: Resource, key: str, value: str, setting: str) -> Resource:
    if key == "waiting" and resource.kind == "core":
        return msgspec.structs.replace(resource, waiting=_word(value, _WAITING, setting))
    if key == "G":
        each = _estimate(time_per_byte, value, "0.1ns/B", setting)
        per_s = 1 / each.value if each.value else math.inf
        capacity = Estimate(per_s, "assumed", source=each.source) if math.isfinite(per_s) else None
        return msgspec.structs.replace(resource, capacity_bytes_per_s=capacity)
    if key not in _RESOURCE_KEYS:
        raise RankwiseError(
            f"resource `{resource.name}` has no key `{key}`",
            "it has `capacity`, `per_message`, `per_core`, `G`"
            + (", `waiting` (yield, spin)" if resource.kind == "core" else ""),
        )
    field, parse, example = _RESOURCE_KEYS[key]
    if parse is rate and number(parse, value) == 0:
        raise RankwiseError(
            f"`{setting}`: a capacity of 0 lets nothing pass",
            f"`--set {resource.name}.G=0ns/B` makes it unlimited",
        )
    estimate = _estimate(parse, value, example, setting)
    try:
        return msgspec.structs.replace(resource, **{field: estimate})
    except ValueError as error:
        raise RankwiseError(
            f"`{setting}`: {error}", "formats/machine.md says which keys a resource of each kind has"
        ) from None


def _changed(link: LinkClass, setting: str, **values: object) -> LinkClass:
    try:
        changed = msgspec.structs.replace(link, **values)
        changed.__post_init__()
    except ValueError as error:
        raise RankwiseError(
            f"`{setting}`: {error}", "set the keys that belong together in order (formats/machine.md)"
        ) from None
    return changed


def _link_class(link: LinkClass, key: str, value: str, setting: str) -> LinkClass:
    if key == "S":
        limit = None if value == "none" else _estimate(size, value, "64KiB", setting)
        return msgspec.structs.replace(link, eager_limit_bytes=limit)
    if key == "connect":
        return msgspec.structs.replace(link, connect_s=_estimate(time, value, "0.3ms", setting))
    if key in _BUFFERS:
        limit = None if value == "none" else _estimate(size, value, "64KiB", setting)
        return _changed(link, setting, **{f"{key}_bytes": limit})
    if key == "progress":
        return _changed(link, setting, progress=_word(value, _PROGRESS, setting))
    if key == "overlap":
        return _changed(link, setting, overlap=_word(value, _OVERLAP, setting) == "true")
    if key not in _SEGMENT_KEYS:
        raise RankwiseError(
            f"link class `{link.channel}` has no key `{key}`",
            "it has `L`, `o`, `o_receive`, `g`, `G`, `O`, `S`, `connect`, `socket_buffer`, `send_buffer`, "
            "`unexpected_buffer`, `progress` (in-call, independent), "
            "`overlap` (true, false); `hop` is one of `network` where the machine has `[network]`",
        )
    field, parse, example = _SEGMENT_KEYS[key]
    estimate = _estimate(parse, value, example, setting)
    segments: list[Segment] = [msgspec.structs.replace(s, **{field: estimate}) for s in link.segments]
    return msgspec.structs.replace(link, segments=segments)

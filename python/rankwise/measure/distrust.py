# SPDX-License-Identifier: BSD-3-Clause
"""Which numbers of a machine rest on points that others disturbed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Machine, Resource, Segment
from rankwise.measure.fitting.disturbed import disturbed_points
from rankwise.measure.questions import QUESTIONS

_Numbers = TypeVar("_Numbers", Segment, Resource, LinkClass)
_SENDING, _RECEIVING = (
    ("send_overhead", "stream_cpu", "exchange_cpu"),
    ("receive_overhead", "stream_cpu", "exchange_cpu"),
)
# Tests that the numbers of a segment come from; a latency is what the overheads leave of a ping-pong.
_OF_SEGMENT = {
    "L_s": ("pingpong", *_SENDING, *_RECEIVING),
    "o_s": _SENDING,
    "o_receive_s": _RECEIVING,
    "O_s_per_byte": (*_SENDING, *_RECEIVING),
    "g_s": ("stream",),
    "G_s_per_byte": ("pingpong",),
}
_OF_RESOURCE = {
    "nic_tx": "share",
    "nic_rx": "share",
    "core": "waiting",
    "memory": "memory",
    "cache": "memory",
    "interrupt_core": "core_scan",
}
_RESOURCE_KEYS = ("capacity_bytes_per_s", "per_message_s", "per_core_bytes_per_s", "far_factor")
_ALL_NODES = ("exchange_cpu",)  # their channel is not the network's


def mark_distrusted(machine: Machine, samples: pl.DataFrame) -> Machine:
    """The machine with `disturbed` at each number that comes of points that others disturbed.

    Args:
        machine: As fitted to these samples.
        samples: Of all tests and launches.
    """
    points = disturbed_points(samples)
    if not points:
        return machine
    tests = {test for test, _, _, _ in points}
    links = [_link(link, points) for link in machine.link_classes]
    resources = [
        _with(each, _RESOURCE_KEYS) if _OF_RESOURCE.get(each.kind) in tests else each
        for each in machine.resources
    ]
    answers: dict[str, Mapping[str, Any]] = dict(machine.answers)
    for question in QUESTIONS:
        if question.name in answers and tests & set(question.tests):
            answers[question.name] = {key: _mark(each) for key, each in answers[question.name].items()}
    return msgspec.structs.replace(machine, link_classes=links, resources=resources, answers=answers)


def _link(link: LinkClass, points: Collection[tuple[str, str, int, int]]) -> LinkClass:
    sizes: dict[str, set[int]] = {}
    for test, channel, _, size in points:
        if channel == link.channel or (link.channel == NETWORK and test in _ALL_NODES):
            sizes.setdefault(test, set()).add(size)
    segments, above = [], -1
    for segment in link.segments:
        up_to = segment.up_to_bytes
        inside = {
            size for size in sizes.get("pingpong", ()) if above < size and (up_to is None or size <= up_to)
        }
        # Overheads are those of all eager sizes, wherever the segment is.
        seen = {test for test in sizes if test != "pingpong" or inside}
        segments.append(_with(segment, [key for key, tests in _OF_SEGMENT.items() if seen & set(tests)]))
        above = up_to or above
    link = msgspec.structs.replace(link, segments=segments)
    return _with(
        link, [key for key, test in (("eager_limit_bytes", "eager"), ("connect_s", "peers")) if test in sizes]
    )


def _with(what: _Numbers, keys: Iterable[str]) -> _Numbers:
    return msgspec.structs.replace(what, **{key: _mark(getattr(what, key)) for key in keys})


def _mark(value: object) -> object:
    if isinstance(value, Estimate) and value.obtained == "measured":
        return msgspec.structs.replace(value, disturbed=True)
    return value

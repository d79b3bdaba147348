# SPDX-License-Identifier: BSD-3-Clause
"""Which numbers of a machine file were timed only while others used the machine."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import Machine


def distrusted(machine: Machine) -> list[str]:
    """Numbers that predictions read and that are marked `disturbed`, as `network.L_s`, each once."""
    return list(dict.fromkeys(_names(machine)))


def _names(machine: Machine) -> Iterator[str]:
    for link in machine.link_classes:
        for part in (*link.segments, link):
            yield from (f"{link.channel}.{key}" for key in _disturbed(part))
    if machine.interfaces is not None:
        yield from (f"interfaces.{key}" for key in _disturbed(machine.interfaces))
    for resource in machine.resources:
        yield from (f"{resource.name}.{key}" for key in _disturbed(resource))


def _disturbed(part: msgspec.Struct) -> Iterator[str]:
    for key in part.__struct_fields__:
        value = getattr(part, key)
        if isinstance(value, Estimate) and value.disturbed:
            yield key

# SPDX-License-Identifier: BSD-3-Clause
"""What a machine file says that cannot be, although each of its keys is well formed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rankwise.errors import RankwiseError
from rankwise.machine.channels import UNBOUND, channel_names
from rankwise.machine.estimate import Estimate
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.machine import LinkClass, Machine
from rankwise.machine.nodes import Node, OtherNodes, describe
from rankwise.machine.topology import NodeTopology, Topology

_SIZES = ("eager_limit_bytes", "socket_buffer_bytes", "send_buffer_bytes", "unexpected_buffer_bytes")
_TIMES = ("L_s", "o_s", "o_receive_s", "g_s", "G_s_per_byte", "O_s_per_byte")
_LONGEST_S = 1e12  # of a message, or of a byte: beyond, sums of times lose what is short
_OBJECTS = ("node", "package", "numa", "core", "switch", "interface")


class Problem(NamedTuple):
    """One of them: the key's path, a sentence, and a way out."""

    path: str
    sentence: str
    hint: str


def problems(machine: Machine) -> Iterator[Problem]:
    """Problems of the numbers alone."""
    if not 0 < machine.confidence < 1:
        yield Problem("confidence", "a level of confidence lies between 0 and 1", "for example 0.95")
    for key, value in machine.context.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield Problem(f"context.{key}", "a number that is not finite", "leave the key out")
    for at, link in enumerate(machine.link_classes):
        yield from _sizes(link, f"link_classes[{at}]", _SIZES)
        yield from _times(link, f"link_classes[{at}]")
    if machine.interfaces is not None:
        yield from _sizes(machine.interfaces, "interfaces", ("striped_from_bytes",))
        yield from _too_long({"far_s": machine.interfaces.far_s}, "interfaces")
    for at, resource in enumerate(machine.resources):
        if problem := resource.contradiction():
            yield Problem(
                f"resources[{at}].slowdown",
                problem,
                "one of the numbers is wrong; leave `capacity_bytes_per_s` out and it follows from `slowdown`",
            )


def _sizes(of: LinkClass | Interfaces, path: str, keys: Sequence[str]) -> Iterator[Problem]:
    for key in keys:
        size = getattr(of, key)
        if size is not None and not size.value.is_integer():
            yield Problem(
                f"{path}.{key}",
                f"{size.value!r} bytes: a size is a whole number",
                f"for example {size.value:.0f}",
            )


def _times(link: LinkClass, path: str) -> Iterator[Problem]:
    times: dict[str, Estimate | None] = {"connect_s": link.connect_s}
    for at, segment in enumerate(link.segments):
        times |= {f"segments[{at}].{key}": getattr(segment, key) for key in _TIMES}
    yield from _too_long(times, path)


def _too_long(times: Mapping[str, Estimate | None], path: str) -> Iterator[Problem]:
    for key, time in times.items():
        if time is not None and time.value > _LONGEST_S:
            yield Problem(
                f"{path}.{key}",
                f"{time.value:g} is more than {_LONGEST_S:g} s",
                "times are in seconds, for example 1.5e-6",
            )


def topology_problems(machine: Machine, directory: Path) -> Iterator[Problem]:
    """Problems of a machine with the topology of its nodes; `directory` is where its file lies."""
    kinds: list[NodeTopology] = []
    of: list[tuple[str, Node | OtherNodes]] = [("node", machine.node)]
    of += [(f"node.others[{at}]", other) for at, other in enumerate(machine.node.others)]
    for path, kind in of:
        try:
            kinds.append(describe(kind, directory))
        except RankwiseError as error:
            key = "topology" if kind.topology is not None else "topology_xml"
            yield Problem(f"{path}.{key}", error.message, error.hint or "see `lstopo --of synthetic`")
            return
    kind_of = {node: at for at, other in enumerate(machine.node.others, 1) for node in other.nodes}
    for at, cores in enumerate(machine.node.host_cores or []):
        node = kinds[kind_of.get(at, 0)]
        if len(cores) != node.cores:
            yield Problem(
                "node.host_cores",
                f"node {at} of `host_cores` has {len(cores)} cores, its `topology` has {node.cores}",
                "list one core of the host for each logical core",
            )
    if machine.interfaces is not None:
        for (path, _), node in zip(of, kinds, strict=True):
            if misfit := machine.interfaces.misfit(node):
                where = "" if path == "node" else f" in the nodes of `{path}`"
                hint = "packages go by their logical number, NUMA nodes by their OS index, both from 0"
                yield Problem("interfaces.at", misfit + where, hint)
    known = [name for name in channel_names(Topology(tuple(kinds))) if name != UNBOUND]
    listed = "channels of this topology: " + ", ".join(f"`{name}`" for name in known)
    caches = sorted({name for node in kinds for name, _ in node.caches})
    fewest = min(node.cores for node in kinds)
    for at, link in enumerate(machine.link_classes):
        if link.channel not in known:
            yield Problem(
                f"link_classes[{at}].channel", f"its topology has no channel `{link.channel}`", listed
            )
    for at, resource in enumerate(machine.resources):
        path = f"resources[{at}]"
        for channel in resource.channels:
            if channel not in known:
                yield Problem(f"{path}.channels", f"its topology has no channel `{channel}`", listed)
        if resource.per not in (*_OBJECTS, *caches):
            those = ", ".join(f"`{name}`" for name in (*_OBJECTS, *caches))
            yield Problem(f"{path}.per", f"its topology has no `{resource.per}`", f"it has {those}")
        if resource.core is not None and resource.core >= fewest:
            where = "some nodes have" if machine.node.others else "there is"
            yield Problem(f"{path}.core", f"{where} no core {resource.core}", f"cores are 0 to {fewest - 1}")

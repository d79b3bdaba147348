# SPDX-License-Identifier: BSD-3-Clause
"""From the core scan to the Resource `interrupt_core` of a machine file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from rankwise.machine.channels import NETWORK, cache_channels
from rankwise.machine.estimate import Estimate
from rankwise.machine.machine import LinkClass, Resource
from rankwise.machine.topology import NodeTopology
from rankwise.measure.fitting.fit import measured
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.cores import SIZES, serving
from rankwise.measure.questions.settled import medians

_SMALL, _LARGE = min(SIZES), max(SIZES)
_SOURCE = "a lower bound: what {} costs more where a rank streams on this core than on others (core scan)"


def interrupt_core(
    samples: pl.DataFrame, plan: Plan, links: Sequence[LinkClass]
) -> tuple[list[Resource], list[LinkClass]]:
    """The core that does the network's work, and the link classes without that work.

    A message waits for that core in series (formats/loggops.md M9), and the ping-pong held that wait: what a message
    costs there is taken from the network's L.

    Args:
        samples: Of all tests and launches.
        plan: Who measured.
        links: Of the same machine.

    Returns:
        No resource and the links as they are where no single core served the network, or interfaces do its work.
    """
    network = next((link for link in links if link.channel == NETWORK), None)
    rows = samples.filter(pl.col("test") == "core_scan")
    if network is None or network.protocol != "host-processed" or rows.is_empty():
        return [], list(links)
    pu, _ = serving(rows.filter(pl.col("setting") > 0))
    node = plan.nodes[plan.pairs[NETWORK].source.host]
    core = None if pu is None else node.core_of_pu.get(pu)
    if pu is None or core is None:
        return [], list(links)
    sums = rows.filter(pl.col("setting") == 0)
    trips, further = (medians(sums, ["source_cpu", "bytes"], pl.col(f"value{n}")) for n in (1, 2))
    message = _dearer(further, pu, _SMALL)
    if message >= min(segment.L_s.value for segment in network.segments):
        message = 0.0
    per_byte = (_dearer(further, pu, _LARGE) - message) / (_LARGE - _SMALL)
    resource = Resource(
        name="interrupt_core",
        kind="interrupt_core",
        discipline="fifo",
        per="node",
        core=core,
        per_message_s=_bound(message, "a message") if message > 0 else None,
        capacity_bytes_per_s=_bound(1 / per_byte, "a byte") if per_byte > 0 else None,
        far_factor=_far(trips, node, core, network),
    )
    return [resource], [_without(message, link) if link is network else link for link in links]


def _dearer(further: Mapping[tuple[Any, ...], Median], pu: int, size: int) -> float:
    """Seconds a message takes longer on this core than on others, 0 unless intervals say that it does."""
    on = further.get((pu, size))
    off = [time for (cpu, bytes_), time in further.items() if bytes_ == size and cpu != pu]
    if on is None or not off or on.low <= np.median([time.high for time in off]):
        return 0.0
    return on.value - float(np.median([time.value for time in off]))


def _bound(value: float, what: str) -> Estimate:
    return Estimate(float(f"{value:.4e}"), "assumed", source=_SOURCE.format(what))


def _far(
    trips: Mapping[tuple[Any, ...], Median], node: NodeTopology, core: int, network: LinkClass
) -> Estimate | None:
    """How much more a receiver's overhead is on cores that share nothing with this one; `None` if not known."""
    overhead = network.segments[0].o_receive_s or network.segments[0].o_s
    caches = dict(node.caches)
    shared = [caches[name] for name in cache_channels(node)] or [node.packages]
    near: list[Median] = []
    far: list[Median] = []
    for (pu, size), trip in trips.items():
        other = node.core_of_pu.get(pu)
        if size == _SMALL and other is not None and other != core:
            (near if any(ids[other] == ids[core] >= 0 for ids in shared) else far).append(trip)
    if not near or not far or overhead.value <= 0:
        return None

    def factor(of_far: str, of_near: str) -> float:
        longer = np.median([getattr(t, of_far) for t in far]) - np.median([getattr(t, of_near) for t in near])
        return 1 + float(longer) / overhead.value

    value, low, high = factor("value", "value"), factor("low", "high"), factor("high", "low")
    return measured(value, low, high, sum(trip.count for trip in far)) if low > 1 else None


def _without(message: float, link: LinkClass) -> LinkClass:
    """The link class with L shorter by what the interrupt core now has."""

    def less(latency: Estimate) -> Estimate:
        ends = {key: getattr(latency, key) for key in ("low", "high")}
        ends = {key: None if end is None else max(0.0, end - message) for key, end in ends.items()}
        return msgspec.structs.replace(latency, value=latency.value - message, **ends)

    segments = [msgspec.structs.replace(each, L_s=less(each.L_s)) for each in link.segments]
    return msgspec.structs.replace(link, segments=segments)

# SPDX-License-Identifier: BSD-3-Clause
"""From the samples of all launches to a `Machine`, each number with how it was obtained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import polars as pl

from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK
from rankwise.machine.estimate import Estimate
from rankwise.machine.file import SCHEMA
from rankwise.machine.machine import LinkClass, Machine, Progress, Protocol, Resource, Waiting
from rankwise.machine.nodes import Node
from rankwise.measure.fitting.capacity import Sweep, sweep
from rankwise.measure.fitting.fit import ChannelFit, fit_channel, measured, rest
from rankwise.measure.fitting.points import FITTED, Points, collect
from rankwise.measure.fitting.statistics import CONFIDENCE, Median, median
from rankwise.measure.sharing import RATE_BYTES, SHARE_BYTES


@dataclass
class Found:
    """What was learned of one channel, for people and JSON."""

    channel: str
    points: Points
    fit: ChannelFit
    latency: Median
    bandwidths: dict[int, float]  # bytes/s by message size, from the ping-pong
    cache_line: Median | None = None


@dataclass
class Findings:
    """What was learned of the machine.

    Attributes:
        channels: By name.
        missing: By channel, why there is nothing.
        bytes_sweep: Bytes/s of 1, 2, ... pairs through one interface.
        messages_sweep: Messages/s of the same.
    """

    channels: dict[str, Found] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    bytes_sweep: Sweep | None = None
    messages_sweep: Sweep | None = None


def find(samples: pl.DataFrame, missing: Mapping[str, str]) -> Findings:
    """Fit every channel that has samples; one with too few becomes missing."""
    findings = Findings(missing=dict(missing))
    samples = samples.filter(pl.col("test").is_in(FITTED))
    for channel in samples["channel"].unique(maintain_order=True):
        of_channel = samples.filter(pl.col("channel") == channel)
        points = collect(of_channel.filter(pl.col("test") != "share"))
        try:
            fit = fit_channel(points)
        except RankwiseError as error:
            findings.missing[channel] = error.message
            continue
        sizes = points.sizes("pingpong")
        lines = of_channel.filter((pl.col("test") == "cache_line") & (pl.col("value1") > 0))[
            "value1"
        ].to_numpy()
        if points.modes.two:
            fast = lines <= points.modes.border
            lines = lines[fast if points.regime == "faster" else ~fast]
        findings.channels[channel] = Found(
            channel=channel,
            points=points,
            fit=fit,
            latency=points.median("pingpong", sizes[0]),
            bandwidths={s: s / points.median("pingpong", s).value for s in sizes if s},
            cache_line=median(lines) if len(lines) else None,
        )
    network = samples.filter(pl.col("channel") == NETWORK)
    findings.bytes_sweep = sweep(network, SHARE_BYTES, "value1")
    findings.messages_sweep = sweep(network, RATE_BYTES, "value2")
    return findings


def machine(
    findings: Findings,
    name: str,
    node: Node,
    context: Mapping[str, str | int | float | bool],
    network_protocol: Protocol,
    waiting: Waiting,
    cores_suffice: bool,
    progress: Mapping[str, Progress] = MappingProxyType({}),
) -> Machine:
    """Put a machine together.

    Args:
        findings: What `find` returned.
        name: Of the machine.
        node: Number of nodes and their topology.
        context: What the numbers were obtained with.
        network_protocol: `host-processed` or `offloaded`.
        waiting: How ranks wait inside MPI: `spin` or `yield`.
        cores_suffice: Whether the pairs of the sharing sweep had cores of their own; if not, a rate of messages says
            nothing of the interface.
        progress: Verdict by channel of the answer `progress`, which decides; the fit's own serves where there is none.
    """
    notes = [f"not measured: {channel}: {reason}" for channel, reason in sorted(findings.missing.items())]
    return Machine(
        schema=SCHEMA,
        name=name,
        node=node,
        link_classes=[
            _link(found, network_protocol, waiting, progress.get(found.channel))
            for found in findings.channels.values()
        ],
        resources=[*_interfaces(findings, cores_suffice), _cores(waiting)],
        notes="; ".join(notes) or None,
        confidence=CONFIDENCE,
        context={**context, **_context_of(findings)},
    )


def _link(found: Found, network_protocol: Protocol, waiting: Waiting, verdict: Progress | None) -> LinkClass:
    network = found.channel == NETWORK
    # Where waiting sleeps, overheads are processor time, which does not tell how long a transfer held the wait.
    progress: Progress = (verdict or found.fit.progress) if waiting == "spin" else "in-call"
    return LinkClass(
        channel=found.channel,
        protocol=network_protocol if network else "shared-memory",
        progress=progress,
        # Through shared memory the ranks' own cores copy. On a network O says how long a core is busy with a byte, up
        # to all of G where the core does all of the work.
        overlap=network,
        segments=found.fit.segments,
        eager_limit_bytes=found.fit.eager_limit,
    )


def _cores(waiting: Waiting) -> Resource:
    return Resource(name="core", kind="core", discipline="sharing", per="core", waiting=waiting)


def _interfaces(findings: Findings, cores_suffice: bool) -> list[Resource]:
    if NETWORK not in findings.channels:
        return []
    capacity = _capacity(findings.bytes_sweep)
    per_message = _per_message(findings, cores_suffice)
    return [
        Resource(
            name=kind,
            kind=kind,
            discipline="fifo",
            per="node",
            channels=[NETWORK],
            capacity_bytes_per_s=capacity,
            per_message_s=per_message,
        )
        for kind in ("nic_tx", "nic_rx")
    ]


def _capacity(found: Sweep | None) -> Estimate | None:
    if found is None:
        return None
    if found.capacity is None:
        count = max(found.rates)
        source = f"a lower bound: {count} pairs, the most that were tried, together got this much without holding up"
        return Estimate(found.most, "assumed", source=source)
    c = found.capacity
    return measured(c.value, c.low, c.high, c.count)


def _per_message(findings: Findings, cores_suffice: bool) -> Estimate | None:
    """Time of the interface for a message besides its bytes, where the sweep of small messages reached a limit."""
    rate = findings.messages_sweep.capacity if findings.messages_sweep else None
    if rate is None or not cores_suffice:
        return None
    bytes_s = 0.0
    if findings.bytes_sweep and findings.bytes_sweep.capacity:
        bytes_s = RATE_BYTES / findings.bytes_sweep.capacity.value
    value, low, high = (1 / r - bytes_s for r in (rate.value, rate.high, rate.low))
    return rest(Median(value, low, high, rate.count), "their bytes")


def _context_of(findings: Findings) -> dict[str, str | int | float | bool]:
    """Per channel: how good the fit is, what was left out."""
    context: dict[str, str | int | float | bool] = {}
    for name, found in findings.channels.items():
        context[f"{name}_worst_fit_error"] = round(found.fit.worst_error, 4)
        context[f"{name}_worst_fit_bytes"] = found.fit.worst_bytes
        context[f"{name}_worst_fit_low_s"] = found.fit.worst.low
        context[f"{name}_worst_fit_high_s"] = found.fit.worst.high
        if found.fit.held_out_error is not None:
            context[f"{name}_held_out_error"] = round(found.fit.held_out_error, 4)
        context[f"{name}_interrupted_share"] = round(found.points.interrupted, 4)
        context[f"{name}_interrupted_kept_share"] = round(found.points.kept_interrupted, 4)
        context[f"{name}_other_regime_share"] = round(found.points.other_regime, 4)
        if found.points.regime:
            context[f"{name}_regime"] = found.points.regime
        if found.cache_line is not None and math.isfinite(found.cache_line.value):
            context[f"{name}_cache_line_s"] = found.cache_line.value
    return context

# SPDX-License-Identifier: BSD-3-Clause
"""Latency and bandwidth of each channel (Chai, Gao & Panda 2007, section 5.1, figure 2)."""

from __future__ import annotations

import numpy as np

from rankwise.machine.channels import LITERATURE_NAMES
from rankwise.machine.topology import Topology
from rankwise.study.compared import given, holds, number
from rankwise.study.microbenchmarks import Pair, pair, ping_pong_s
from rankwise.study.platforms import BENSLEY, Platform
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import machines

SUMMARY = "latency and bandwidth by channel, from one rank to another"
CLAIMS = ("C-lat", "C-bw")
TAKES: tuple[str, ...] = ()

SIZES = tuple(2**k for k in range(23))
SMALL_BYTES, LARGE_BYTES = 1, 4 << 20
_LATENCY_US = {"package": 0.42, "node": 0.89, "network": 2.83}
_BANDWIDTH_MB_S = {"package": 6684.0, "node": 1258.0, "network": 1532.0}


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: A machine cannot be read or measured.
    """
    on = machines(request, "levels", BENSLEY)
    how: How = "predicted" if request.mode == "machine" else "measured"
    tables, figures, claims = [], [], []
    verdicts = []
    for platform in on:
        pairs = channel_pairs(platform)
        times = {channel: [ping_pong_s(at, size) for size in SIZES] for channel, at in pairs.items()}
        tables.append(_table(platform, times))
        figures += _figures(platform, times)
        latency = {channel: 1e6 * each[0] for channel, each in times.items()}
        bandwidth = {channel: LARGE_BYTES / each[-1] / 1e6 for channel, each in times.items()}
        said = [
            f"{_name(channel)} {latency[channel]:.2f} us and {bandwidth[channel]:.0f} MB/s"
            for channel in times
        ]
        verdicts.append(f"{platform.name}: {', '.join(said)}")
        if platform.of_paper and not request.machines:
            claims += _claims(
                latency,
                {c: max(s / t for s, t in zip(SIZES, each, strict=True)) / 1e6 for c, each in times.items()},
                times,
                how,
            )
    return StudyResult(
        study="levels",
        title="Latency and bandwidth by channel",
        on=[platform.name for platform in on],
        how=how,
        verdict="; ".join(verdicts) + ".",
        tables=tables,
        figures=figures,
        claims=claims,
    )


def channel_pairs(platform: Platform) -> dict[str, Pair]:
    """Two cores of each channel of a machine, nearest first."""
    node = platform.topology.nodes[0]
    places = [(0, core) for core in range(1, node.cores)]
    places += [(1, 0)] if len(platform.topology.nodes) > 1 else []
    found: dict[str, Pair] = {}
    for place in places:
        at = pair(platform, (0, 0), place)
        locations = at.placement.locations(Topology(platform.topology.nodes[: place[0] + 1]))
        channel = locations.channels[int(locations.between(np.array([0]), np.array([1]))[0])]
        found.setdefault(channel, at)
    return found


def _name(channel: str) -> str:
    return LITERATURE_NAMES.get(channel, channel)


def _table(platform: Platform, times: dict[str, list[float]]) -> Table:
    rows: list[list[Cell]] = []
    for at, size in enumerate(SIZES):
        of_size = [each[at] for each in times.values()]
        rows.append(
            [size, *(round(1e6 * t, 3) for t in of_size), *(round(size / t / 1e6, 1) for t in of_size)]
        )
    columns = [f"{_name(channel)} ({unit})" for unit in ("us", "MB/s") for channel in times]
    return Table(f"Half a round trip and bandwidth, {platform.name}", ["bytes", *columns], rows)


def _figures(platform: Platform, times: dict[str, list[float]]) -> list[Figure]:
    x = [float(size) for size in SIZES]
    return [
        Figure(
            name=f"levels-latency-{platform.name}",
            title=f"Figure 2: latency by channel, {platform.name}",
            x_label="message size (bytes)",
            y_label="latency (us)",
            series=[Series(_name(channel), x, [1e6 * t for t in each]) for channel, each in times.items()],
            x_scale="log",
            y_scale="log",
        ),
        Figure(
            name=f"levels-bandwidth-{platform.name}",
            title=f"Figure 2: bandwidth by channel, {platform.name}",
            x_label="message size (bytes)",
            y_label="bandwidth (MB/s, 10^6 bytes)",
            series=[
                Series(_name(channel), x, [size / t / 1e6 for size, t in zip(SIZES, each, strict=True)])
                for channel, each in times.items()
            ],
            x_scale="log",
        ),
    ]


def _claims(
    latency: dict[str, float], bandwidth: dict[str, float], times: dict[str, list[float]], how: How
) -> list[ClaimOutcome]:
    """The paper's channels: its chip is our package, whose cores share an L2."""
    note = "the machine file was made from this figure"
    claims = [
        number(
            "C-lat",
            f"small-message latency, {_name(channel)}",
            paper,
            latency[_of(channel, latency)],
            lambda v: f"{v:.2f} us",
            how,
            note,
            calibration=True,
        )
        for channel, paper in _LATENCY_US.items()
    ]
    claims += [
        number(
            "C-bw",
            f"peak bandwidth, {_name(channel)}",
            paper,
            bandwidth[_of(channel, bandwidth)],
            lambda v: f"{v:.0f} MB/s",
            how,
            note,
            calibration=True,
        )
        for channel, paper in _BANDWIDTH_MB_S.items()
    ]
    large = {channel: times[_of(channel, times)][-1] for channel in ("node", "network")}
    claims.append(
        given(
            holds(
                "C-bw",
                "for large messages inter-CMP is slower than inter-node",
                "slower",
                ", ".join(f"{_name(c)} {LARGE_BYTES / t / 1e6:.0f} MB/s" for c, t in large.items()),
                how,
                {"4 MiB": large["node"] > large["network"]},
            )
        )
    )
    return claims


def _of(channel: str, found: dict[str, float] | dict[str, list[float]]) -> str:
    return channel if channel in found else next(iter(found))

# SPDX-License-Identifier: BSD-3-Clause
"""Which channels messages travel, by size (Chai, Gao & Panda 2007, section 5.2, figures 3 and 4, table 1)."""

from __future__ import annotations

import msgspec
import numpy as np

from rankwise.machine.topology import Topology
from rankwise.placement.distribution import message_distribution
from rankwise.placement.distribution_data import MessageDistribution, SizeRange
from rankwise.report.words import range_text
from rankwise.study.cases import Case, Seats
from rankwise.study.compared import beyond, exact, given, holds, joined, noted, number, percent
from rankwise.study.counts import LIBRARY_OF_PAPERS, messages
from rankwise.study.platforms import BENSLEY, Platform
from rankwise.study.program import StudyProgram, workload_program
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import recorded_messages

SUMMARY = "which channels messages travel, by size, in messages and bytes"
CLAIMS = ("C-dist", "C-even", "C-tab1", "C-cores", "C-namd", "C-hpl", "C-half")

CHANNELS = {"package": "intra-CMP", "node": "inter-CMP", "network": "inter-node"}
# Table 1: percent of messages and of bytes by channel.
TABLE_1 = {
    "IS": ((13, 18, 69), (7, 13, 80)),
    "FT": ((9, 16, 75), (7, 13, 80)),
    "CG": ((45, 45, 10), (36, 37, 27)),
    "MG": ((32, 32, 36), (25, 25, 50)),
    "BT": ((1, 33, 66), (0, 33, 67)),
    "SP": ((1, 33, 66), (0, 33, 67)),
    "LU": ((1, 50, 49), (0, 50, 50)),
}
TABLE_1_POINTS = 2.0
_COLUMNS = (
    "ranks go down the columns of the grid, which was chosen. Along the rows, HPL's default, 2 % would stay"
)
_GRID_OF_64 = (
    "the paper does not say the grid of 64 ranks, or their order. An 8 x 8 grid is taken, down the columns"
)
_PATCHES = "NAMD's load balancer moves computation to other ranks. The workload has no load balancer"
OF_ALL = ("message_share_of_all", "byte_share_of_all")
FIGURE_RANGES = (256, 4096, 65536, 262144)


def run(request: Request) -> StudyResult:
    """The study; its counts are exact where the programs are workloads.

    Raises:
        RankwiseError: The machine has too few cores a node, or a program cannot be counted.
    """
    platform = nodes(request, BENSLEY)[0]
    ranks = request.ranks_or(16, 2)
    programs = request.programs_or([*(name.lower() for name in TABLE_1), "namd", "hpl"])
    cores = min(4, platform.topology.nodes[0].cores)
    seats = Seats(-(-ranks // cores), cores, "blocked", "os")
    found = {each.label: _distribution(request, platform, each, ranks, seats) for each in programs}
    inside = {name: _inside(distribution) for name, distribution in found.items()}
    most = max(inside, key=lambda name: inside[name])
    mean = float(np.mean(list(inside.values())))
    of_paper = platform.of_paper and not request.programs and request.ranks is None
    return StudyResult(
        study="message-distribution",
        title="Message distribution",
        on=[platform.name],
        how="exact count" if request.mode == "machine" else "measured",
        verdict=f"On average {percent(mean)} of messages stay in their node; {most} has the largest share, "
        f"{percent(inside[most])}.",
        tables=[_totals(found, ranks), *(_by_size(name, each) for name, each in found.items())],
        figures=[figure for name, each in found.items() for figure in _figures(name, each)],
        claims=_claims(request, platform, found) if of_paper else [],
    )


def _distribution(
    request: Request, platform: Platform, program: StudyProgram, ranks: int, seats: Seats
) -> MessageDistribution:
    placement = seats.on(platform.topology, ranks)
    if request.mode == "machine":
        matrix = messages(program, ranks, LIBRARY_OF_PAPERS if platform.of_paper else "mpich")
    else:
        matrix = recorded_messages(request, platform, Case(program, ranks, seats, "blocked"))
    nodes = Topology.of(platform.topology.nodes[0], len(placement.node_names))
    return message_distribution(matrix, placement.locations(nodes), FIGURE_RANGES)


def _shares(part: SizeRange, key: str) -> dict[str, float]:
    """By channel; a key that ends in `_of_all` is of all ranks together, as table 1, others are averaged over ranks."""
    shares = {each.channel: getattr(each, key) or 0.0 for each in part.channels}
    return {channel: shares.get(channel, 0.0) for channel in CHANNELS}


def _inside(distribution: MessageDistribution) -> float:
    return 1.0 - _shares(distribution.total, "message_share_of_all")["network"]


def _totals(found: dict[str, MessageDistribution], ranks: int) -> Table:
    rows: list[list[Cell]] = []
    for name, each in found.items():
        shares = [_shares(each.total, key) for key in OF_ALL]
        rows.append([name, *(round(100 * share, 1) for part in shares for share in part.values())])
    columns = [f"{what}, {channel} (%)" for what in ("messages", "bytes") for channel in CHANNELS.values()]
    return Table(f"All sizes, {ranks} ranks, blocked", ["program", *columns], rows)


def _by_size(name: str, distribution: MessageDistribution) -> Table:
    rows: list[list[Cell]] = []
    for part in distribution.ranges:
        if part.messages:
            shares = [_shares(part, key) for key in ("message_share", "byte_share")]
            overall = [part.message_share or 0.0, part.byte_share or 0.0]
            cells = [[all_, *each.values()] for all_, each in zip(overall, shares, strict=True)]
            rows.append([range_text(part), *(round(100 * share, 1) for each in cells for share in each)])
    parts = ["overall", *CHANNELS.values()]
    columns = [f"{what}, {part} (%)" for what in ("messages", "bytes") for part in parts]
    return Table(f"{name} by size", ["bytes", *columns], rows)


def _figures(name: str, distribution: MessageDistribution) -> list[Figure]:
    parts = [part for part in distribution.ranges if part.messages]
    ranges = [range_text(part) for part in parts]
    figures = []
    for what, key in (("messages", "message_share"), ("bytes", "byte_share")):
        shares = [_shares(part, key) for part in parts]
        series = [
            Series(words, ranges, [each[channel] for each in shares]) for channel, words in CHANNELS.items()
        ]
        series.append(Series("overall", ranges, [getattr(part, key) for part in parts]))
        figures.append(
            Figure(
                name=f"message-distribution-{name.lower()}-{what}",
                title=f"Message distribution of {name}: {what}",
                x_label="message size (bytes)",
                y_label=f"share of the range's {what}",
                series=series,
                kind="stacked",
            )
        )
    return figures


def _claims(
    request: Request, platform: Platform, found: dict[str, MessageDistribution]
) -> list[ClaimOutcome]:
    claims = [given(_definition(found)), _even(found)]
    for at, (what, key) in enumerate(zip(("messages", "bytes"), OF_ALL, strict=True)):
        for name, published in TABLE_1.items():
            if name not in found:
                continue
            ours = {
                CHANNELS[channel]: 100 * share for channel, share in _shares(found[name].total, key).items()
            }
            paper = dict(zip(CHANNELS.values(), map(float, published[at]), strict=True))
            claims.append(
                exact(
                    "C-tab1",
                    f"{name}, {what} by channel",
                    paper,
                    ours,
                    TABLE_1_POINTS,
                    lambda v: f"{v:.0f} %",
                )
            )
    claims.append(given(_os_order(platform)))
    inside = [_inside(found[name]) for name in TABLE_1 if name in found]
    claims.append(
        number(
            "C-half",
            "share of messages that stay in the node, mean of the seven NAS programs",
            0.5,
            float(np.mean(inside)),
            percent,
            "exact count",
        )
    )
    if "NAMD" in found:
        claims += _namd(found["NAMD"])
    if "HPL" in found:
        claims += _hpl(request, platform, found["HPL"])
    return claims


def _definition(found: dict[str, MessageDistribution]) -> ClaimOutcome:
    """That shares of channels add up to 1 in each range, and the ranges' to 1."""
    right = {}
    for name, each in found.items():
        of_channels = [sum(_shares(part, "message_share").values()) for part in each.ranges if part.messages]
        overall = sum(part.message_share or 0.0 for part in each.ranges)
        right[name] = all(abs(total - 1) < 1e-9 for total in [*of_channels, overall])
    outcome = holds(
        "C-dist",
        "by size range, shares of messages by channel and of the whole, averaged over ranks",
        "m1/m, m2/m, m3/m, m/n",
        "the shares of each range and of all ranges add up to 1",
        "exact count",
        right,
    )
    return msgspec.structs.replace(outcome, kind="definition")


def _even(found: dict[str, MessageDistribution]) -> ClaimOutcome:
    even = {each.channel: each.share for each in next(iter(found.values())).even}
    ours = {words: 100 * even.get(channel, 0.0) for channel, words in CHANNELS.items()}
    paper = {"intra-CMP": 6.7, "inter-CMP": 13.3, "inter-node": 80.0}
    return exact("C-even", "even distribution at 4x4", paper, ours, 0.05, lambda v: f"{v:.1f} %")


def _os_order(platform: Platform) -> ClaimOutcome:
    """Logical and OS order of cores differ on this machine, and placements say which they mean."""
    node = platform.topology.nodes[0]
    pairs = [tuple(pu for pus in node.pus[core : core + 2] for pu in pus) for core in (0, 2)]
    right = pairs == [(0, 2), (1, 3)]
    return ClaimOutcome(
        "C-cores",
        "OS cores 0 and 2 share one chip, 1 and 3 the other; the machine file carries both orders",
        "note",
        "0, 2 / 1, 3",
        " / ".join(", ".join(map(str, pair)) for pair in pairs),
        "hardware figure",
        right,
    )


def _namd(distribution: MessageDistribution) -> list[ClaimOutcome]:
    medium = next(part for part in distribution.ranges if part.up_to_bytes == 65536)
    shares = {"messages": medium.message_share or 0.0, "bytes": medium.byte_share or 0.0}
    right = {what: share > 0.9 for what, share in shares.items()}
    shown = joined([f"{percent(share)} of {what}" for what, share in shares.items()])
    ours = {CHANNELS[channel]: 100 * share for channel, share in _shares(medium, "message_share").items()}
    paper = {"intra-CMP": 10.0, "inter-CMP": 30.0, "inter-node": 60.0}
    close = all(abs(ours[name] - value) <= max(0.2 * value, 2.0) for name, value in paper.items())
    return [
        beyond(
            holds(
                "C-namd",
                "more than 90 % of messages and bytes in 4 to 64 KB",
                "> 90 %",
                shown,
                "exact count",
                right,
            ),
        ),
        ClaimOutcome(
            "C-namd",
            "messages of 4 to 64 KB by channel",
            "number",
            "about 10, 30, 60 %",
            ", ".join(f"{value:.0f}" for value in ours.values()) + " %",
            "exact count",
            close,
            "" if close else _PATCHES,
        ),
    ]


def _hpl(request: Request, platform: Platform, small: MessageDistribution) -> list[ClaimOutcome]:
    large = _distribution(request, platform, workload_program("hpl"), 64, Seats(16, 4, "blocked", "os"))
    ours = {
        CHANNELS[channel]: 100 * share for channel, share in _shares(large.total, "message_share").items()
    }
    paper = {"intra-CMP": 15.0, "inter-CMP": 42.0, "inter-node": 43.0}
    close = all(abs(ours[name] - value) <= 0.2 * value for name, value in paper.items())
    most = max(small.ranges, key=lambda part: part.message_share or 0.0)
    largest = next(part for part in small.ranges if part.up_to_bytes is None).byte_share or 0.0
    by_channel = ", ".join(f"{value:.0f}" for value in ours.values()) + " %"
    in_range = f"{percent(most.message_share or 0.0)} in {range_text(most)}"
    right = {
        ("4x4: almost all messages stay in the node", "almost all", percent(_inside(small))): _inside(small)
        > 0.9,
        ("most messages have 256 B to 4 KB", "256 B to 4 KB", in_range): most.up_to_bytes == 4096,
        ("most bytes are in messages above 256 KB", "> 256 KB", percent(largest)): largest > 0.5,
    }
    (words, is_so), *_ = right.items()
    nearly_all = holds("C-hpl", *words, "exact count", {"HPL": is_so})
    return [
        ClaimOutcome(
            "C-hpl",
            "16x4: messages by channel",
            "number",
            "15, 42, 43 %",
            by_channel,
            "exact count",
            close,
            "" if close else _GRID_OF_64,
        ),
        *(holds("C-hpl", *words, "exact count", {"HPL": is_so}) for words, is_so in [*right.items()][1:]),
        given(noted(nearly_all, _COLUMNS)),
    ]

# SPDX-License-Identifier: BSD-3-Clause
"""Network interfaces beside each other: the curves of Brightwell, Doerfler & Underwood (2006), and what they can do."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.study.compared import EQUAL, given, holds, listed, number, untested
from rankwise.study.cost import computation_notes
from rankwise.study.microbenchmarks import (
    WINDOW,
    Pair,
    availability,
    collective_s,
    exchange_s,
    pair,
    ping_pong_s,
    send_receive_s,
    stream_s,
)
from rankwise.study.platforms import ELAN_4, INFINIBAND, INFINIPATH, XD1, Platform
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Scale, Series, StudyResult, Table
from rankwise.study.run.machines import machines
from rankwise.study.scaled import efficiencies

SUMMARY = "interfaces beside each other: what they can do, every curve, scaling"
CLAIMS = ("I-caps", "I-pp", "I-bidi", "I-coll", "I-rate", "I-cpu", "I-scale", "I-mem")
TAKES: tuple[str, ...] = ()

SIZES = tuple(4**k for k in range(12))
SMALL_BYTES = 4
COMB_BYTES = 100_000
INTERVALS_S = tuple(1e-6 * 4**k for k in range(8))
COLLECTIVE_RANKS = 32
LIBRARY = "mpich2"
CONNECTION_BYTES = 65536
"""Of memory that a connection-oriented interface commits for a peer at each end, buffers and queues: assumed."""

_CAPABILITIES = (
    "protocol_work",
    "transmit_dma",
    "connections",
    "registration",
    "independent_progress",
    "offloaded_matching",
    "overlap",
)
# Sections 2.1 to 2.5, as far as the paper says it.
_PAPER_CAPABILITIES: dict[str, dict[str, str | bool]] = {
    INFINIPATH: {
        "protocol_work": "host",
        "transmit_dma": "none",
        "connections": "connectionless",
        "registration": "receive",
        "independent_progress": False,
        "offloaded_matching": False,
        "overlap": "little",
    },
    ELAN_4: {
        "registration": "none",
        "independent_progress": True,
        "offloaded_matching": True,
        "overlap": "full",
    },
    INFINIBAND: {
        "connections": "connection-oriented",
        "registration": "both",
        "independent_progress": False,
        "overlap": "after-match",
    },
    XD1: {
        "transmit_dma": "long",
        "connections": "connection-oriented",
        "registration": "both",
        "independent_progress": False,
        "offloaded_matching": False,
        "overlap": "after-match",
    },
}
_SHORT = {INFINIPATH: "InfiniPath", ELAN_4: "Elan-4", INFINIBAND: "InfiniBand", XD1: "XD1"}

_HITCHES = (
    "only figures show where they are and how deep. The machine files have the same parameters on both sides of a "
    "change of protocol. `rankwise measure` finds such steps on a real machine"
)

Curves = dict[str, list[float | None]]


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: A machine has one node, or cannot be measured.
    """
    on = machines(request, "interconnect", INFINIPATH, ELAN_4, INFINIBAND, XD1)
    names = {platform.name: _SHORT.get(platform.name, platform.name) for platform in on}
    pairs = {names[platform.name]: pair(platform, (0, 0), (1, 0)) for platform in on}
    how: How = "predicted" if request.mode == "machine" else "measured"
    curves = _curves(pairs, {names[platform.name]: platform for platform in on})
    scaling = {
        names[platform.name]: efficiencies(request, platform, (1, 2))
        for platform in on
        if request.mode == "machine"
    }
    fastest = min(pairs, key=lambda name: curves["ping-pong (us)"][name][1] or 0.0)
    rate = {name: 1 / stream_s(at, SMALL_BYTES) for name, at in pairs.items()}
    most = max(rate, key=lambda name: rate[name])
    return StudyResult(
        study="interconnect",
        title="Network interfaces beside each other",
        on=list(names.values()),
        how=how,
        verdict=f"{fastest} has the lowest latency; {most} has the highest message rate, {rate[most] / 1e6:.2f} M/s.",
        tables=[
            _capabilities(on, names),
            *(_table(what, each) for what, each in curves.items()),
            *_scaled(scaling),
        ],
        figures=[
            *(_figure(what, each) for what, each in curves.items()),
            *_scaled_figures(scaling),
            _memory(),
        ],
        claims=_claims(on, names, pairs, curves, rate, scaling, how)
        if not request.machines and request.mode == "machine"
        else [],
        notes=computation_notes(request, on),
    )


_BENCHMARKS: dict[str, tuple[str, Callable[[Pair, int], float]]] = {
    "ping-pong (us)": ("1, ping-pong latency", lambda at, size: 1e6 * ping_pong_s(at, size)),
    "ping-pong (MB/s)": ("2, ping-pong bandwidth", lambda at, size: size / ping_pong_s(at, size) / 1e6),
    "send-receive (MB/s)": (
        "3, send-receive bandwidth",
        lambda at, size: 2 * size / send_receive_s(at, size) / 1e6,
    ),
    "streaming (MB/s)": (
        f"8, streaming bandwidth, {WINDOW} sends",
        lambda at, size: size / stream_s(at, size) / 1e6,
    ),
    "message rate (M/s)": ("9, message rate", lambda at, size: 1e-6 / stream_s(at, size)),
}
_COLLECTIVES = {
    "broadcast (us)": ("5, broadcast", "MPI_Bcast"),
    "allreduce (us)": ("6, allreduce", "MPI_Allreduce"),
    "all-to-all (us)": ("7, all-to-all", "MPI_Alltoall"),
}


def _curves(pairs: dict[str, Pair], platforms: dict[str, Platform]) -> dict[str, Curves]:
    found: dict[str, Curves] = {
        what: {name: [of(at, size) for size in SIZES] for name, at in pairs.items()}
        for what, (_, of) in _BENCHMARKS.items()
    }
    found["exchange (MB/s)"], found["availability (%)"] = {}, {}
    for what in _COLLECTIVES:
        found[what] = {}
    for name, platform in platforms.items():
        ranks = min(COLLECTIVE_RANKS, len(platform.topology.nodes))
        placement = _one_a_node(platform, ranks)
        found["exchange (MB/s)"][name] = [
            4 * size / exchange_s(platform, placement, size) / 1e6 for size in SIZES
        ]
        for what, (_, call) in _COLLECTIVES.items():
            sizes = [size if size <= 1 << 20 or call != "MPI_Alltoall" else None for size in SIZES]
            found[what][name] = [
                None if size is None else 1e6 * collective_s(platform, placement, call, size, LIBRARY)
                for size in sizes
            ]
        found["availability (%)"][name] = [
            100 * availability(pairs[name], COMB_BYTES, interval) for interval in INTERVALS_S
        ]
    return dict(sorted(found.items(), key=lambda item: _number(item[0])))


def _one_a_node(platform: Platform, ranks: int) -> Placement:
    return Placement.explicit(
        Topology(platform.topology.nodes[:ranks]), [(node, (0,)) for node in range(ranks)]
    )


def _table(what: str, curves: Curves) -> Table:
    x, label = _x(what)
    rows: list[list[Cell]] = []
    for at, value in enumerate(x):
        cells = [each[at] for each in curves.values()]
        rows.append([value, *(cell if cell is None else float(f"{cell:.4g}") for cell in cells)])
    return Table(f"{what[0].upper()}{what[1:]}", [label, *curves], rows)


def _x(what: str) -> tuple[list[float], str]:
    if what == "availability (%)":
        return [round(1e6 * interval) for interval in INTERVALS_S], "interval (us)"
    return [*SIZES], "bytes"


def _title(what: str) -> str:
    """The paper's number of a figure, and what it shows."""
    known = {**_BENCHMARKS, **_COLLECTIVES}
    if what in known:
        return known[what][0]
    return {"exchange (MB/s)": "4, exchange"}.get(what, "10, CPU availability")


def _number(what: str) -> int:
    return int(_title(what).split(",")[0])


def _figure(what: str, curves: Curves) -> Figure:
    x, label = _x(what)
    times: Scale = "log" if "us" in what else "linear"
    return Figure(
        name="interconnect-" + re.sub(r"[^a-z]+", "-", what.lower()).strip("-"),
        title=f"Figure {_title(what)}",
        x_label="polling interval (us)" if label != "bytes" else "message size (bytes)",
        y_label=what,
        series=[Series(name, [float(value) for value in x], each) for name, each in curves.items()],
        x_scale="log",
        y_scale=times,
    )


def _capabilities(on: list[Platform], names: dict[str, str]) -> Table:
    rows: list[list[Cell]] = []
    for key in _CAPABILITIES:
        values = [getattr(platform.machine.capabilities, key, None) for platform in on]
        rows.append([key.replace("_", " "), *(None if value is None else _words(value) for value in values)])
    return Table("What the interfaces can do", ["", *names.values()], rows)


def _words(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _scaled(scaling: dict[str, dict[str, dict[int, float]]]) -> list[Table]:
    tables = []
    for problem in next(iter(scaling.values()), {}):
        nodes = sorted({n for each in scaling.values() for n in each[problem]})
        rows: list[list[Cell]] = [
            [
                n,
                *(
                    round(100 * each[problem][n], 1) if n in each[problem] else None
                    for each in scaling.values()
                ),
            ]
            for n in nodes
        ]
        tables.append(Table(f"LAMMPS, efficiency (%): {problem}", ["nodes", *scaling], rows))
    return tables


def _scaled_figures(scaling: dict[str, dict[str, dict[int, float]]]) -> list[Figure]:
    return [
        Figure(
            name="interconnect-lammps-" + problem.replace(", ", "-").replace(" ", "-"),
            title=f"Figure 11: efficiency of LAMMPS, scaled size, {problem}",
            x_label="nodes",
            y_label="efficiency (%)",
            series=[
                Series(
                    name, [float(n) for n in each[problem]], [100 * value for value in each[problem].values()]
                )
                for name, each in scaling.items()
            ],
            x_scale="log",
        )
        for problem in next(iter(scaling.values()), {})
    ]


def memory_a_node(nodes: int, ranks_a_node: int = 2) -> int:
    """Bytes that a connection-oriented interface commits on each node for a job that uses all of them."""
    ranks = nodes * ranks_a_node
    return ranks_a_node * (ranks - 1) * CONNECTION_BYTES


def _memory() -> Figure:
    nodes = [2.0**k for k in range(1, 14)]
    return Figure(
        name="interconnect-memory",
        title="Section 2.3: memory committed to connections of one job, two ranks a node",
        x_label="nodes",
        y_label="memory a node (MB)",
        series=[
            Series("connection-oriented", nodes, [memory_a_node(int(n)) / 1e6 for n in nodes]),
            Series("connectionless", nodes, [0.0] * len(nodes)),
        ],
        x_scale="log",
    )


def _claims(
    on: list[Platform],
    names: dict[str, str],
    pairs: dict[str, Pair],
    curves: dict[str, Curves],
    rate: dict[str, float],
    scaling: dict[str, dict[str, dict[int, float]]],
    how: How,
) -> list[ClaimOutcome]:
    latency = {name: 1e6 * ping_pong_s(at, 1) for name, at in pairs.items()}
    peak = {
        name: max(value or 0.0 for value in each) / 1e3 for name, each in curves["ping-pong (MB/s)"].items()
    }
    both = {
        name: max(value or 0.0 for value in each) / 1e3
        for name, each in curves["send-receive (MB/s)"].items()
    }
    free = {name: each[0] or 0.0 for name, each in curves["availability (%)"].items()}
    custom = [latency[name] for name in ("InfiniPath", "Elan-4", "XD1")]
    others = max(value for name, value in peak.items() if name != "XD1")
    assumed = "latencies and overheads are in the paper's figures only. The machine files assume them"

    def us(value: float) -> str:
        return f"{value:.2f} us"

    def gigabytes(value: float) -> str:
        return f"{value:.2f} GB/s"

    def million(value: float) -> str:
        return f"{value / 1e6:.2f} M/s"

    slope = {what: _steepest(curves[what]) for what in ("allreduce (us)", "all-to-all (us)")}
    at_128 = {
        name: min(each.values(), key=lambda e: e[max(e)])[128]
        for name, each in scaling.items()
        if 128 in next(iter(each.values()))
    }
    falls = (curves["exchange (MB/s)"]["InfiniPath"][-1] or 0.0) < 0.8 * max(
        value or 0.0 for value in curves["exchange (MB/s)"]["InfiniPath"]
    )
    return [
        given(_capability_claim(on, names)),
        given(
            holds(
                "I-pp",
                "the three custom interfaces have equal latency",
                "equal",
                listed(latency, us),
                how,
                {"custom": max(custom) <= 1.2 * min(custom)},
                assumed,
            )
        ),
        number(
            "I-pp",
            "InfiniBand's latency by theirs",
            3.0,
            latency["InfiniBand"] / float(np.mean(custom)),
            lambda v: f"{v:.1f} x",
            how,
            assumed,
            calibration=True,
        ),
        number("I-pp", "XD1's ping-pong peak", 1.3, peak["XD1"], gigabytes, how, calibration=True),
        given(
            holds(
                "I-pp",
                "which is more than 35 % above the rest",
                "> 35 %",
                listed(peak, gigabytes),
                how,
                {"XD1": peak["XD1"] > 1.35 * others},
            )
        ),
        untested(
            "I-pp",
            "changes of protocol are seen in the bandwidth, most in that of XD1 and InfiniPath",
            "ordering",
            "visible",
            _HITCHES,
        ),
        ClaimOutcome(
            "I-bidi",
            "XD1's send-receive peak",
            "number",
            "> 2 GB/s",
            gigabytes(both["XD1"]),
            how,
            both["XD1"] > 2.0,
        ),
        given(
            holds(
                "I-bidi",
                "Elan-4 is limited by PCI-X, which carries both directions together",
                "limited",
                f"{both['Elan-4']:.2f} GB/s both ways, {peak['Elan-4']:.2f} GB/s one way",
                how,
                {"Elan-4": both["Elan-4"] < 1.5 * peak["Elan-4"]},
            )
        ),
        untested(
            "I-bidi",
            "XD1 and InfiniPath have dips where the protocol changes",
            "ordering",
            "found and named",
            _HITCHES,
        ),
        holds(
            "I-coll",
            "Elan-4 is steeper in allreduce",
            "Elan-4 steepest",
            f"{slope['allreduce (us)']} steepest",
            how,
            {"Elan-4": slope["allreduce (us)"] == "Elan-4"},
            "what makes it so is not in the paper",
        ),
        holds(
            "I-coll",
            "XD1 is steeper in all-to-all",
            "XD1 steepest",
            f"{slope['all-to-all (us)']} steepest",
            how,
            {"XD1": slope["all-to-all (us)"] == "XD1"},
            "the paper gives MVAPICH's better algorithms as the reason",
        ),
        holds(
            "I-coll",
            "InfiniPath's exchange falls off at large messages",
            "falls",
            "does not fall" if not falls else "falls",
            how,
            {"InfiniPath": falls},
            "section 4 of the paper gives a software error as the reason. The model does not have it",
        ),
        given(
            ClaimOutcome(
                "I-rate",
                "InfiniPath's rate of small messages by Elan-4's and XD1's",
                "number",
                "> 2 x",
                listed(rate, million),
                how,
                rate["InfiniPath"] > 2 * max(rate["Elan-4"], rate["XD1"]),
                assumed,
            )
        ),
        number(
            "I-rate",
            "InfiniPath's rate by InfiniBand's",
            10.0,
            rate["InfiniPath"] / rate["InfiniBand"],
            lambda v: f"{v:.1f} x",
            how,
            assumed,
            calibration=True,
        ),
        holds(
            "I-cpu",
            "100 KB messages: Elan-4 leaves nearly all of a processor, XD1, InfiniBand much, InfiniPath half",
            "Elan-4 > XD1, InfiniBand > InfiniPath, about 50 %",
            listed(free, lambda v: f"{v:.0f} %"),
            how,
            {
                "order": free["Elan-4"] >= max(free["XD1"], free["InfiniBand"]) > free["InfiniPath"],
                "InfiniPath": 40 <= free["InfiniPath"] <= 60,
            },
        ),
        ClaimOutcome(
            "I-scale",
            "LAMMPS, scaled size, to 128 nodes: all scale reasonably well",
            "curves",
            "reasonably well",
            "at 128 nodes, the worse of both problems: " + listed(at_128, lambda v: f"{100 * v:.0f} %"),
            how,
            all(value > 0.7 for value in at_128.values()),
        ),
        *_scale_claims(scaling, how),
        given(
            ClaimOutcome(
                "I-mem",
                "memory a node for connections of a job on 4096 nodes and 8192 processors",
                "number",
                "> 1 GB",
                f"{memory_a_node(4096) / 1e9:.2f} GB",
                "hardware figure",
                memory_a_node(4096) > 1e9,
                "64 KiB for a peer at each end, assumed",
            )
        ),
    ]


def _scale_claims(scaling: dict[str, dict[str, dict[int, float]]], how: How) -> list[ClaimOutcome]:
    """What the paper says of its figure 11 beside that all scale; its words are "slightly" and "very similar"."""
    alone, two = (
        {name: each[f"LJ, {count} a node"][128] for name, each in scaling.items() if name != "XD1"}
        for count in (1, 2)
    )
    not_infinipath = {name: value for name, value in alone.items() if name != "InfiniPath"}

    def curves(statement: str, paper: str, values: dict[str, float], right: bool) -> ClaimOutcome:
        shown = listed(values, lambda v: f"{100 * v:.1f} %")
        why = (
            ""
            if right
            else "the three curves are close. Their order depends on overheads that the files assume"
        )
        return ClaimOutcome(
            "I-scale", statement, "curves", paper, f"at 128 nodes, LJ: {shown}", how, right, why
        )

    return [
        curves(
            "one rank a node: InfiniBand and Elan-4 scale slightly better than InfiniPath",
            "slightly better",
            alone,
            min(not_infinipath.values()) > alone["InfiniPath"],
        ),
        curves(
            "two ranks a node: the three are very similar",
            "very similar",
            two,
            max(two.values()) <= (1 + EQUAL) * min(two.values()),
        ),
        curves(
            "two ranks a node: InfiniBand slightly less than the others",
            "slightly less",
            two,
            two["InfiniBand"] == min(two.values()),
        ),
        untested(
            "I-scale",
            "the same of the problem Stouch",
            "curves",
            "figure 11",
            "its input is not published. Another one, with a quarter of the atoms, takes its place",
        ),
    ]


def _steepest(curves: Curves) -> str:
    """Whose time grows most from messages of a few bytes to the largest."""
    growth = {}
    for name, each in curves.items():
        known = [value for value in each if value is not None]
        growth[name] = known[-1] / known[1]
    return max(growth, key=lambda name: growth[name])


def _capability_claim(on: list[Platform], names: dict[str, str]) -> ClaimOutcome:
    wrong = []
    for platform in on:
        for key, value in _PAPER_CAPABILITIES[platform.name].items():
            if getattr(platform.machine.capabilities, key, None) != value:
                wrong.append(f"{names[platform.name]} {key}")
    return ClaimOutcome(
        "I-caps",
        "what each interface does",
        "table",
        "sections 2.1 to 2.5",
        "as the paper" if not wrong else f"differs: {', '.join(wrong)}",
        "hardware figure",
        not wrong,
    )

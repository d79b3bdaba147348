# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidth and latency by core of the node, one protocol stack or two side by side.

Narayanaswamy, Balaji & Feng (2007), section 5, figures 2 to 6: sender and receiver are on the same core of two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.machine.machine import Machine, Resource
from rankwise.machine.topology import NodeTopology
from rankwise.study.compared import given, holds, number, untested
from rankwise.study.microbenchmarks import pair, ping_pong_s, predictor, stream, stream_s
from rankwise.study.platforms import ETHERNET_A, ETHERNET_B, IWARP_A, IWARP_B, Platform
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import machines

SUMMARY = "bandwidth, latency, interrupts and misses by core of the node"
CLAIMS = ("S-bw", "S-irq", "S-cache", "S-lat")
TAKES: tuple[str, ...] = ()

SIZES = tuple(4**k for k in range(12))
LARGE_BYTES = SIZES[-1]
SMALL_BYTES = 64
WINDOW = 64
FLAT = 0.02
"""Share by which bandwidths of cores may differ that are "flat"."""


@dataclass(frozen=True)
class _Scan:
    """What was found on one machine, by core of the kernel's number."""

    platform: Platform
    gigabits_per_s: dict[int, list[float]]
    latency_us: dict[int, list[float]]
    interrupted: dict[int, float] | None  # share of the protocol work that each core is interrupted for


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: A machine has one node, or cannot be measured.
    """
    on = machines(request, "core-scan", ETHERNET_A, IWARP_A, ETHERNET_B, IWARP_B)
    scans = [_scan(platform) for platform in on]
    how: How = "predicted" if request.mode == "machine" else "measured"
    first = scans[0]
    large = {core: each[-1] for core, each in first.gigabits_per_s.items()}
    best, worst = max(large, key=lambda core: large[core]), min(large, key=lambda core: large[core])
    spread = large[best] / large[worst] - 1
    if spread <= FLAT:
        verdict = f"On {first.platform.name} all cores reach the same bandwidth, {large[best]:.2f} Gb/s."
    else:
        verdict = (
            f"On {first.platform.name} core {best} reaches {large[best]:.2f} Gb/s, core {worst} "
            f"{large[worst]:.2f}: {100 * spread:.0f} % more by choosing the core."
        )
    by_name = {scan.platform.name: scan for scan in scans}
    tested = not request.machines and request.mode == "machine"
    return StudyResult(
        study="core-scan",
        title="The cores of a node and the network",
        on=[platform.name for platform in on],
        how=how,
        verdict=verdict,
        tables=[_table(scan) for scan in scans],
        figures=[figure for scan in scans for figure in _figures(scan)],
        claims=_claims(by_name, how) if tested else [],
        missing=[
            "cache misses by core: hardware counters are read where ranks run, `rankwise record --counters`"
        ],
    )


def _scan(platform: Platform) -> _Scan:
    node = platform.topology.nodes[0]
    gigabits, latency = {}, {}
    for core in node.os_order:
        at = pair(platform, (0, core), (1, core))
        name = node.pus[core][0]
        gigabits[name] = [8e-9 * size / stream_s(at, size, WINDOW) for size in SIZES]
        latency[name] = [1e6 * ping_pong_s(at, size) for size in SIZES]
    return _Scan(platform, gigabits, latency, _interrupted(platform))


def _interrupted(platform: Platform) -> dict[int, float] | None:
    """Share of the node's protocol work by core, of a stream to another core; `None` where no core does any."""
    node = platform.topology.nodes[0]
    at = pair(platform, (0, node.cores - 1), (1, node.cores - 1))
    shared = predictor(platform, stream(LARGE_BYTES, WINDOW)).predict(at.placement).shared
    serving = interrupt_core(platform.machine)
    if serving is None:
        return None
    busy = {load.number: load.busy_s for load in shared if load.resource == serving.name and load.node == 1}
    total = sum(busy.values())
    return {node.pus[core][0]: busy.get(core, 0.0) / total if total else 0.0 for core in node.os_order}


def interrupt_core(machine: Machine) -> Resource | None:
    """The resource that serves the network's interrupts; `None` where the file has none."""
    return next((resource for resource in machine.resources if resource.kind == "interrupt_core"), None)


def near(node: NodeTopology, core: int, other: int) -> bool:
    """Whether two logical cores are of one package."""
    return node.packages[core] == node.packages[other]


def _table(scan: _Scan) -> Table:
    rows: list[list[Cell]] = []
    small = SIZES.index(SMALL_BYTES)
    for core, rates in scan.gigabits_per_s.items():
        share = None if scan.interrupted is None else round(100 * scan.interrupted[core], 1)
        latency = scan.latency_us[core]
        rows.append([core, round(rates[-1], 3), round(latency[small], 2), round(latency[-1], 1), share])
    columns = ["core", "bandwidth (Gb/s)", "latency, 64 B (us)", "latency, 4 MiB (us)", "interrupts (%)"]
    return Table(f"By core of the kernel's number, {scan.platform.name}", columns, rows)


def _figures(scan: _Scan) -> list[Figure]:
    x = [float(size) for size in SIZES]
    name = scan.platform.name
    return [
        Figure(
            name=f"core-scan-bandwidth-{name}",
            title=f"Figures 2 and 3: MPI bandwidth by core, {name}",
            x_label="message size (bytes)",
            y_label="bandwidth (Gb/s)",
            series=[Series(f"core {core}", x, [*each]) for core, each in scan.gigabits_per_s.items()],
            x_scale="log",
        ),
        Figure(
            name=f"core-scan-latency-{name}",
            title=f"Figures 5 and 6: MPI latency by core, {name}",
            x_label="message size (bytes)",
            y_label="latency (us)",
            series=[Series(f"core {core}", x, [*each]) for core, each in scan.latency_us.items()],
            x_scale="log",
            y_scale="log",
        ),
    ]


def _claims(scans: dict[str, _Scan], how: How) -> list[ClaimOutcome]:
    tcp, iwarp, other = scans[ETHERNET_A], scans[IWARP_A], scans[ETHERNET_B]
    large = {core: each[-1] for core, each in tcp.gigabits_per_s.items()}
    flat = {core: each[-1] for core, each in iwarp.gigabits_per_s.items()}
    at_b = {core: each[-1] for core, each in other.gigabits_per_s.items()}
    small = {core: each[SIZES.index(SMALL_BYTES)] for core, each in tcp.latency_us.items()}
    long = {core: each[-1] for core, each in tcp.latency_us.items()}
    note = "the machine file was made from these bandwidths"

    def by_core(values: dict[int, float], unit: str) -> str:
        return ", ".join(f"core {core} {value:.2f} {unit}" for core, value in sorted(values.items()))

    in_order = at_b[1] < min(at_b[2], at_b[3]) and max(at_b[2], at_b[3]) < at_b[0]
    interrupted = (tcp.interrupted or {}).get(0, 0.0)
    node, serving = tcp.platform.topology.nodes[0], interrupt_core(tcp.platform.machine)
    assert serving is not None and serving.core is not None
    sharing = {os: near(node, node.core_of_pu[os], serving.core) for os in range(4)}
    return [
        *(
            number(
                "S-bw",
                f"TCP bandwidth on core {core}",
                paper,
                large[core],
                lambda v: f"{v:.1f} Gb/s",
                how,
                note,
                calibration=True,
            )
            for core, paper in {0: 2.0, 1: 2.2, 2: 3.0, 3: 2.2}.items()
        ),
        given(
            holds(
                "S-bw",
                "iWARP bandwidth is flat over cores",
                "flat",
                by_core(flat, "Gb/s"),
                how,
                {"iWARP": max(flat.values()) <= (1 + FLAT) * min(flat.values())},
            )
        ),
        given(
            number(
                "S-irq",
                "share of interrupts of core 0",
                0.99,
                interrupted,
                lambda v: f"{100 * v:.1f} %",
                how,
                "the machine file names one core that serves the network",
            )
        ),
        untested(
            "S-irq",
            "interrupts per message by core",
            "number",
            "figure 4(a)",
            "its values are in a figure only; how many messages one interrupt serves is not in the machine file",
        ),
        given(
            ClaimOutcome(
                "S-cache",
                "L2 misses on cores 0 and 2 are clearly below those on 1 and 3",
                "ordering",
                "0, 2 below 1, 3",
                ", ".join(
                    f"core {core} {'shares' if shares else 'does not share'} the interrupt core's cache"
                    for core, shares in sharing.items()
                ),
                "hardware figure",
                [core for core, shares in sharing.items() if shares] == [0, 2],
                "which cores find data in the interrupt core's cache; misses themselves need counters",
            )
        ),
        untested(
            "S-cache",
            "the difference of L2 misses shrinks with message size",
            "ordering",
            "shrinks",
            "a prediction has no hardware counters; `rankwise record --counters` reads them where ranks run",
        ),
        holds(
            "S-lat",
            "small messages: core 2 best, core 0 slightly worse, cores 1 and 3 worst",
            "2 < 0 < 1, 3",
            by_core(small, "us"),
            how,
            {"order": small[2] < small[0] < min(small[1], small[3]) and small[0] < 1.25 * small[2]},
            "in the model the interrupt core works on a message until a rank can have it. What it does afterwards, and "
            "how long a rank there waits for that, is not known",
        ),
        holds(
            "S-lat",
            "large messages: core 0 loses its advantage over cores 1 and 3",
            "core 0 not better",
            by_core(long, "us"),
            how,
            {"core 0": long[0] >= 0.98 * min(long[1], long[3])},
        ),
        given(
            holds(
                "S-maps",
                "set-up B: the interrupt core 1 is worst, core 0 best, 2 and 3 in between",
                "1 < 2, 3 < 0",
                by_core(at_b, "Gb/s"),
                how,
                {"order": in_order},
            )
        ),
    ]

# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share their node's network interface (Narayanaswamy, Balaji & Feng 2008, section 4.3, figures 2 to 4)."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from rankwise.study.arrangements import Arrangements, arrangements, usual_ranks
from rankwise.study.cases import Case, Outcome
from rankwise.study.compared import (
    EQUAL,
    SLOWER,
    about_equal,
    counted,
    exact,
    given,
    holds,
    joined,
    listed,
    noted,
    number,
    percent,
    percent_more,
)
from rankwise.study.cost import computation_notes
from rankwise.study.counts import interface_tables, library_of, messages, network_bytes
from rankwise.study.platforms import MYRI_10G, Platform
from rankwise.study.request import Request
from rankwise.study.result import ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes

SUMMARY = "what few and many ranks a node cost the network, what stays in the node"
CLAIMS = ("N-even", "N-co", "N-4x4", "N-time", "N-data1", "N-data2")

PROGRAMS = ("bt", "cg", "ft", "is", "lu", "mg", "sp")
ITERATIONS = 4
"""Of each program's timed section: times are compared with each other, and iterations are alike."""

# The paper's arrangements, on nodes of four cores.
ALONE, FOUR = "1 a node", "4 a node"
TWO, PROCESSOR = "2 a node, co-processor", "2 a node, virtual processor"


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has too few nodes, or a case cannot be made.
    """
    platform = nodes(request, MYRI_10G)[0]
    ranks = request.ranks_or(usual_ranks(platform, 16), 4)
    programs = request.programs_or(PROGRAMS)
    arranged = arrangements(platform, ranks)
    cases = {
        (program.label, name): Case(program, ranks, where, name, ITERATIONS)
        for program in programs
        for name, where in arranged.seats.items()
    }
    made = all_outcomes(request, platform, list(cases.values()))
    by = {key: made[case] for key, case in cases.items()}
    if request.mode == "machine":
        by = {key: _counted(outcome, cases[key], platform) for key, outcome in by.items()}
    labels = [program.label for program in programs]
    how: How = "predicted" if request.mode == "machine" else "measured"
    of_paper = platform.of_paper and not request.programs and request.ranks is None
    return StudyResult(
        study="network-sharing",
        title="Ranks that share a network interface",
        on=[platform.name],
        how=how,
        verdict=_verdict(by, labels, arranged),
        tables=[
            _table(by, labels, ranks, arranged),
            *(interface_tables(platform, list(cases.values())) if request.mode == "machine" else []),
        ],
        figures=_figures(by, labels, how, arranged),
        notes=computation_notes(request, [platform]),
        claims=_claims(by, labels, how) if of_paper else [],
    )


def _counted(outcome: Outcome, case: Case, platform: Platform) -> Outcome:
    """With the bytes of the whole program, not only of the iterations that were predicted."""
    matrix = messages(case.program, case.ranks, library_of(platform))
    size = network_bytes(matrix, case.seats.on(platform.topology, case.ranks))
    return msgspec.structs.replace(outcome, network_bytes=size)


def _verdict(by: dict[tuple[str, str], Outcome], labels: list[str], arranged: Arrangements) -> str:
    """What the second rank a node costs, or more of them where nodes have more cores, and what the last ones."""
    alone, half, full = arranged.alone, arranged.coprocessor, arranged.full
    small = (alone, half, full) == (ALONE, TWO, FOUR)
    half = half if half != alone else full
    slower = [
        label for label in labels if by[label, full].time_s > 1.02 * by[label, arranged.processor].time_s
    ]
    worst = max(labels, key=lambda label: by[label, half].time_s / by[label, alone].time_s)
    cost = percent_more(by[worst, half].time_s / by[worst, alone].time_s)
    first = "Two ranks on a node instead of one" if small else f"{half} instead of {alone}"
    first += f": {worst} gets slower most, {cost}"
    if half == full:
        return f"{first}."
    last = "four ranks on a node instead of two" if small else f"{full} instead of {arranged.processor}"
    none = f"{last} slow down none"
    return f"{first}; " + (f"{last} slow down {joined(slower)}." if slower else f"{none}.")


def _ratio(by: dict[tuple[str, str], Outcome], label: str, to: str, base: str, what: str) -> float | None:
    value, below = getattr(by[label, to], what), getattr(by[label, base], what)
    return None if value is None or not below else value / below


def _table(
    by: dict[tuple[str, str], Outcome], labels: list[str], ranks: int, arranged: Arrangements
) -> Table:
    rows: list[list[str | int | float | None]] = []
    names = list(arranged.seats)
    for label in labels:
        for base, to in pairwise(names):
            parts = [_ratio(by, label, to, base, what) for what in ("time_s", "network_s", "network_bytes")]
            rows.append([label, f"{to} / {base}", *(part and round(part, 4) for part in parts)])
    return Table(
        f"{ranks} ranks, distributed over the nodes in turn: each arrangement by the one before",
        ["program", "arrangements", "time", "network time", "network bytes"],
        rows,
    )


def _figures(
    by: dict[tuple[str, str], Outcome], labels: list[str], how: How, arranged: Arrangements
) -> list[Figure]:
    figures = []
    halves = (("a", arranged.alone, arranged.coprocessor), ("b", arranged.processor, arranged.full))
    for number_, what, words in (
        (2, "time_s", "execution time"),
        (3, "network_s", "network communication time"),
        (4, "network_bytes", "network communication data size"),
    ):
        for letter, base, to in halves:
            if base == to or any(getattr(by[label, base], what) is None for label in labels):
                continue
            figures.append(
                Figure(
                    name=f"network-sharing-{number_}{letter}",
                    title=f"Figure {number_}({letter}): {base} and {to}, {how}",
                    x_label="program",
                    y_label=f"{words} / {base}",
                    series=[
                        Series(base, labels, [1.0] * len(labels)),
                        Series(to, labels, [_ratio(by, label, to, base, what) for label in labels]),
                    ],
                    kind="bars",
                )
            )
    return figures


def _claims(by: dict[tuple[str, str], Outcome], labels: list[str], how: How) -> list[ClaimOutcome]:
    def ratios(to: str, base: str, what: str) -> dict[str, float]:
        return {label: _ratio(by, label, to, base, what) or 1.0 for label in labels}

    co, four = ratios(TWO, ALONE, "time_s"), ratios(FOUR, PROCESSOR, "time_s")
    net_co, net_four = ratios(TWO, ALONE, "network_s"), ratios(FOUR, PROCESSOR, "network_s")
    data_co, data_four = ratios(TWO, ALONE, "network_bytes"), ratios(FOUR, PROCESSOR, "network_bytes")
    worst = max(co, key=lambda label: co[label])
    as_paper_4 = {
        label: four[label] > 1 + SLOWER if label in ("CG", "FT", "IS") else about_equal(four[label])
        for label in labels
    }
    as_paper_4["MG"] = four["MG"] <= 1 + EQUAL
    clear = {label: data_four[label] <= 0.75 for label in ("BT", "LU", "MG", "SP")}
    clear |= {"CG": about_equal(data_four["CG"])} | {
        label: 0.8 < data_four[label] < 1 for label in ("FT", "IS")
    }
    return [
        given(_even()),
        holds(
            "N-co",
            "16x1 to 8x2 co-processor: every program slows down",
            "all slower",
            listed(co, percent_more),
            how,
            {label: ratio > 1 + SLOWER for label, ratio in co.items()},
        ),
        number(
            "N-co",
            "16x1 to 8x2 co-processor: how much IS slows down",
            0.27,
            co["IS"] - 1,
            percent,
            how,
            "two numbers of the machine file are assumed: overheads of the network, and how long a key takes in caches",
        ),
        holds(
            "N-co",
            "16x1 to 8x2 co-processor: IS slows down most",
            "IS",
            worst,
            how,
            {"IS": worst == "IS"},
        ),
        *(
            holds(
                "N-4x4",
                f"8x2 virtual processor to 4x4: {statement}",
                words,
                listed({label: four[label] for label in of}, percent_more),
                how,
                {label: as_paper_4[label] for label in of},
            )
            for statement, words, of in (
                ("CG, FT and IS slow down", "slower", ("CG", "FT", "IS")),
                ("BT, LU and SP stay about the same", "similar", ("BT", "LU", "SP")),
                ("MG stays or gains", "similar or faster", ("MG",)),
            )
        ),
        holds(
            "N-time",
            "network time rises for all from 16x1 to 8x2 co-processor",
            "all rise",
            listed(net_co, percent_more),
            how,
            {label: ratio > 1 for label, ratio in net_co.items()},
        ),
        holds(
            "N-time",
            "network time from 8x2 virtual processor to 4x4 rises for CG, FT and IS only",
            "CG, FT, IS rise, others drop",
            listed(net_four, percent_more),
            how,
            {label: (ratio > 1) == (label in ("CG", "FT", "IS")) for label, ratio in net_four.items()},
        ),
        exact(
            "N-data1",
            "network bytes, 8x2 co-processor / 16x1",
            {label: 0.933 if label in ("FT", "IS") else 1.0 for label in labels},
            data_co,
            0.001,
            percent_more,
        ),
        counted(
            noted(
                holds(
                    "N-data2",
                    "network bytes, 4x4 / 8x2: clear drops for BT, LU (up to half), MG, SP; CG none; FT, IS small",
                    "LU -50 % at most, CG 0",
                    listed(data_four, percent_more),
                    "exact count",
                    clear,
                ),
                "in the paper LU drops most. Here MG drops as much",
            ),
        ),
    ]


def _even() -> ClaimOutcome:
    """The chance that a message crosses the network if all others are equally likely to get it."""
    ours = {f"{nodes}x{each}": (16 - each) / 15 for nodes, each in ((8, 2), (4, 4))}
    paper = {"8x2": 0.93, "4x4": 0.80}
    return exact(
        "N-even",
        "chance to cross the network with uniform peers",
        paper,
        ours,
        0.005,
        lambda v: f"{100 * v:.0f} %",
    )

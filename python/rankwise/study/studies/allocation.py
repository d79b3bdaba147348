# SPDX-License-Identifier: BSD-3-Clause
"""Blocked, cyclic and plane allocation (Narayanaswamy, Balaji & Feng 2008, sections 3.2, 4.4, 4.5, figures 7 and 8)."""

from __future__ import annotations

from rankwise.study.arrangements import full_ranks, usual_ranks
from rankwise.study.cases import Case, Outcome, Seats
from rankwise.study.compared import (
    EQUAL,
    counted,
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
from rankwise.study.grids import (
    branches_over_switches,
    doubling_between_nodes,
    neighbours_in_node,
    tree_edges_between_nodes,
)
from rankwise.study.patterns import of_paper
from rankwise.study.platforms import MYRI_10G, Platform
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes

SUMMARY = "ranks distributed in blocks, in turn or in planes: time, network time, bytes"
CLAIMS = ("N-alloc", "N-adata", "N-shape", "N-pattern")

PROGRAMS = ("bt", "cg", "ft", "is", "lu", "mg", "sp")
ITERATIONS = 4
_MG = "its bytes rise by 5 % only. Neither paper nor model has a reason for ten times the network time"
_CG = "the model computes CG fast. With slower computation the network's gain would be a smaller part of the time"
_FEWER_BYTES = (
    "placed blocked, BT, LU and SP send fewer bytes between nodes; FT and IS send as many, as the paper says"
)
CYCLIC, BLOCKED, PLANE = "cyclic", "blocked", "plane=2"


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has too few nodes or cores, or a case cannot be made.
    """
    platform = nodes(request, MYRI_10G)[0]
    ranks = request.ranks_or(usual_ranks(platform, 64), 4)
    programs = request.programs_or(PROGRAMS)
    each = min(full_ranks(platform.topology.nodes[0]), max(1, ranks // 2))
    cases = {
        (program.label, how): Case(program, ranks, Seats(-(-ranks // each), each, how), how, ITERATIONS)
        for program in programs
        for how in (CYCLIC, BLOCKED, PLANE)
    }
    made = all_outcomes(request, platform, list(cases.values()))
    by = {key: made[case] for key, case in cases.items()}
    labels = [program.label for program in programs]
    how: How = "predicted" if request.mode == "machine" else "measured"
    sizes = _sizes(request, cases, platform, by)
    times = {label: by[label, BLOCKED].time_s / by[label, CYCLIC].time_s for label in labels}
    faster = joined([label for label in labels if times[label] < 1 - EQUAL])
    slower = joined([label for label in labels if times[label] > 1 + EQUAL])
    tested = platform.of_paper and not request.programs and request.ranks is None
    return StudyResult(
        study="allocation",
        title="Blocked, cyclic and plane allocation",
        on=[platform.name],
        how=how,
        verdict=f"Blocked instead of cyclic speeds up {faster or 'none'} and slows down {slower or 'none'}.",
        tables=[
            _table(by, sizes, labels, ranks, each),
            *(interface_tables(platform, list(cases.values())) if request.mode == "machine" else []),
            _grids(),
        ],
        figures=_figures(by, sizes, labels, how),
        claims=_claims(by, sizes, labels, times, how) if tested else [],
        notes=computation_notes(request, [platform]),
    )


Key = tuple[str, str]


def _sizes(
    request: Request, cases: dict[Key, Case], platform: Platform, by: dict[Key, Outcome]
) -> dict[Key, int]:
    """Network bytes: counted for the whole program where times are predicted for a few iterations."""
    if request.mode != "machine":
        return {key: outcome.network_bytes for key, outcome in by.items()}
    return {
        key: network_bytes(
            messages(case.program, case.ranks, library_of(platform)),
            case.seats.on(platform.topology, case.ranks),
        )
        for key, case in cases.items()
    }


def _network(by: dict[Key, Outcome], label: str, how: str) -> float | None:
    value, base = by[label, how].network_s, by[label, CYCLIC].network_s
    return None if value is None or not base else value / base


def _table(by: dict[Key, Outcome], sizes: dict[Key, int], labels: list[str], ranks: int, each: int) -> Table:
    rows: list[list[Cell]] = []
    for label in labels:
        for how in (BLOCKED, PLANE):
            network = _network(by, label, how)
            time = by[label, how].time_s / by[label, CYCLIC].time_s
            size = sizes[label, how] / sizes[label, CYCLIC] if sizes[label, CYCLIC] else None
            rows.append([label, how, round(time, 4), network and round(network, 4), size and round(size, 4)])
    columns = ["program", "allocation", "time", "network time", "network bytes"]
    return Table(f"{ranks} ranks, {each} a node: each allocation by cyclic", columns, rows)


def _grids() -> Table:
    rows: list[list[Cell]] = []
    for sides, cores in (((16, 16), 4), ((8, 8), 4), ((8, 8), 8), ((8, 8, 8), 4), ((8, 8, 8), 8)):
        rows.append([" x ".join(map(str, sides)), cores, *neighbours_in_node(sides, cores)])
    columns = ["grid of ranks", "cores a node", "neighbours in the node, blocked (%)", "cyclic (%)"]
    return Table("Neighbours in a grid (section 3.2)", columns, rows)


def _figures(by: dict[Key, Outcome], sizes: dict[Key, int], labels: list[str], how: How) -> list[Figure]:
    size = [sizes[label, BLOCKED] / max(1, sizes[label, CYCLIC]) for label in labels]
    values: dict[str, tuple[str, list[float | None]]] = {
        "7a": ("execution time", [by[label, BLOCKED].time_s / by[label, CYCLIC].time_s for label in labels]),
        "7b": ("network communication time", [_network(by, label, BLOCKED) for label in labels]),
        "8": ("network communication data size", [*size]),
    }
    return [
        Figure(
            name=f"allocation-{number_}",
            title=f"Figure {number_}: cyclic and blocked, {how}",
            x_label="program",
            y_label=f"{words} / cyclic",
            series=[Series(CYCLIC, labels, [1.0] * len(labels)), Series(BLOCKED, labels, list(ratios))],
            kind="bars",
        )
        for number_, (words, ratios) in values.items()
        if None not in ratios
    ]


def _claims(
    by: dict[Key, Outcome], sizes: dict[Key, int], labels: list[str], times: dict[str, float], how: How
) -> list[ClaimOutcome]:
    data = {label: sizes[label, BLOCKED] / sizes[label, CYCLIC] for label in labels}
    network = {label: _network(by, label, BLOCKED) or 0.0 for label in labels}
    as_paper = {"CG": 0.45 <= data["CG"] <= 0.55, "MG": 1.0 < data["MG"] <= 1.1}
    as_paper |= {label: abs(data[label] - 1) < 0.005 for label in ("FT", "IS")}
    edges, branches = tree_edges_between_nodes(64, 4), branches_over_switches(64, 16)
    far = doubling_between_nodes(64, 4)
    others = [label for label in labels if label not in ("CG", "MG")]
    return [
        number(
            "N-alloc",
            "CG at 16x4 gains blocked",
            0.17,
            1 - times["CG"],
            lambda v: f"{100 * v:.0f} %",
            how,
            _CG,
        ),
        holds(
            "N-alloc",
            "BT, FT, IS, LU and SP are equal or slower blocked",
            "equal or slower",
            listed({label: times[label] for label in others}, percent_more),
            how,
            {label: times[label] >= 1 - EQUAL for label in others},
        ),
        holds(
            "N-alloc",
            "MG is much slower blocked",
            "drops heavily",
            percent_more(times["MG"]),
            how,
            {"MG": times["MG"] > 1 + EQUAL},
            _MG,
        ),
        holds(
            "N-alloc",
            "CG's network time falls blocked",
            "a substantial reduction",
            percent_more(network["CG"]),
            how,
            {"CG": network["CG"] < 1 - EQUAL},
        ),
        holds(
            "N-alloc",
            "the network time of all others rises blocked",
            "all others rise",
            listed({label: network[label] for label in labels if label != "CG"}, percent_more),
            how,
            {label: network[label] > 1 for label in labels if label != "CG"},
            _FEWER_BYTES,
        ),
        number(
            "N-alloc",
            "MG's network time, blocked / cyclic",
            10.0,
            network["MG"],
            lambda v: f"{v:.1f} x",
            how,
            _MG,
        ),
        counted(
            holds(
                "N-adata",
                "blocked / cyclic network bytes",
                "CG half, FT and IS unchanged, MG slightly more",
                listed(data, percent_more),
                "exact count",
                as_paper,
            ),
        ),
        *_shapes(),
        noted(
            holds(
                "N-shape",
                "regular long-distance (tree) exchange favours cyclic",
                "cyclic",
                f"of a recursive doubling of 64 ranks {percent(far[1])} of the bytes cross the network cyclic, "
                f"{percent(far[0])} blocked",
                "exact count",
                {"64 ranks": far[1] < far[0]},
            ),
            "this holds if messages grow with their distance. In a binomial tree of equal messages half of them go "
            f"to the next rank: {edges[1]} of 63 cross cyclic and {edges[0]} blocked",
        ),
        holds(
            "N-shape",
            "with layers of switches, branches of a tree belong in the lowest",
            "lowest",
            f"{branches[0]} edges leave the lowest switch with branches in it, {branches[1]} with ranks distributed",
            "exact count",
            {"tree of 64": branches[0] < branches[1]},
        ),
        *of_paper(labels),
    ]


def _shapes() -> list[ClaimOutcome]:
    """Neighbours in square and cubic grids of N a side on nodes of M cores: N > M and N = M."""
    outcomes = []
    for dimensions, words in ((2, "N x N"), (3, "N x N x N")):
        right, shown = {}, []
        for side, cores in ((8, 4), (8, 8)):
            blocked, cyclic = neighbours_in_node((side,) * dimensions, cores)
            right[f"N = {side}, M = {cores}"] = blocked > cyclic if side > cores else blocked == cyclic
            shown.append(f"N = {side}, M = {cores}: {blocked:g} and {cyclic:g} %")
        outcomes.append(
            holds(
                "N-shape",
                f"on a grid of {words} ranks with M cores a node, neighbours in the node, blocked and cyclic",
                "N > M: more blocked; N = M: equal",
                "; ".join(shown),
                "exact count",
                right,
            )
        )
    return outcomes

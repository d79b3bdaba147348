# SPDX-License-Identifier: BSD-3-Clause
"""Speed-up from 2 ranks on, on two machines (Chai, Gao & Panda 2007, section 5.5, figure 8)."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.errors import RankwiseError
from rankwise.study.arrangements import full_ranks, usual_ranks
from rankwise.study.cases import Case, Seats
from rankwise.study.compared import about_equal, holds, listed
from rankwise.study.cost import computation_notes
from rankwise.study.platforms import BENSLEY, SINGLE_CORE, Platform
from rankwise.study.program import StudyProgram
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes
from rankwise.study.scaled import efficiencies

SUMMARY = "speed-up of a fixed and a growing problem, by ranks a node"
CLAIMS = ("C-scale",)

PROGRAMS = ("mg", "lu", "namd", "is", "ft", "cg", "hpl")
ITERATIONS = 3
IDEAL = 0.85
"""Share of the ideal speed-up that is "almost ideal"."""


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: A machine has too few nodes, or a case cannot be made.
    """
    on = nodes(request, BENSLEY, SINGLE_CORE)
    most = request.ranks_or(max(usual_ranks(platform, 16) for platform in on), 4)
    counts = [ranks for ranks in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if ranks <= most]
    programs = request.programs_or(PROGRAMS)
    counts = [ranks for ranks in counts if all(each.runs_on(ranks) for each in programs)]
    if len(counts) < 2:
        raise RankwiseError(
            "recordings of two numbers of ranks at least are needed, each a power of two",
            'give them in one: `--app "4.rw 8.rw"`',
        )
    how: How = "predicted" if request.mode == "machine" else "measured"
    speed = {platform.name: _speed_ups(request, platform, programs, counts, None) for platform in on}
    few = {
        f"{each} a node on {platform.name}": _speed_ups(request, platform, programs, counts, each)
        for platform in on
        for each in (1, 2)
        if _each(platform) > each
    }
    growing = {platform.name: _growing(request, platform, most) for platform in on} if _grows(request) else {}
    last = counts[-1]
    first = next(iter(speed.values()))
    best = max(first, key=lambda label: first[label][last])
    tested = all(platform.of_paper for platform in on) and not request.programs and not request.machines
    return StudyResult(
        study="scalability",
        title=f"Speed-up from {counts[0]} to {last} ranks",
        on=[platform.name for platform in on],
        how=how,
        verdict=f"On {on[0].name} {best} scales best: from {counts[0]} to {last} ranks it gets "
        f"{first[best][last]:.1f} times as fast; {last / counts[0]:.0f} is ideal.",
        tables=[
            *(_table(name, each, counts) for name, each in (speed | few).items()),
            *(_growing_table(name, each) for name, each in growing.items()),
        ],
        figures=[
            *(_figure(label, speed, counts) for label in first),
            *(_growing_figure(name, each) for name, each in growing.items()),
        ],
        missing=[]
        if growing
        else ["a problem that grows with the ranks: it is made without `--app`, not in labs"],
        notes=computation_notes(request, on),
        claims=_claims(speed[on[0].name], speed[on[1].name], how) if tested and last == 16 else [],
    )


def _each(platform: Platform) -> int:
    """Ranks of a full node; a processor each where a node's processors have one core."""
    node = platform.topology.nodes[0]
    return 1 if node.cores == len(set(node.packages)) else full_ranks(node)


def _speed_ups(
    request: Request,
    platform: Platform,
    programs: Sequence[StudyProgram],
    counts: Sequence[int],
    a_node: int | None,
) -> dict[str, dict[int, float]]:
    """Of each program, performance on so many ranks by that on the fewest; cores are taken by the kernel's number.

    Args:
        request: What was asked for.
        platform: The machine.
        programs: What runs.
        counts: Numbers of ranks, the fewest first.
        a_node: Ranks a node, as far as there are nodes; `None`: full nodes.
    """
    each = a_node or _each(platform)
    words = f"{a_node} a node" if a_node else "full nodes"
    cases = {
        (program.label, ranks): Case(
            program,
            ranks,
            Seats(-(-ranks // each), min(each, ranks), "blocked", "os"),
            f"{ranks} ranks, {words}",
            ITERATIONS,
        )
        for program in programs
        for ranks in counts
        if a_node is None or ranks <= a_node * len(platform.topology.nodes)
    }
    made = all_outcomes(request, platform, list(cases.values()))
    times: dict[str, dict[int, float]] = {program.label: {} for program in programs}
    for (label, ranks), case in cases.items():
        times[label][ranks] = made[case].time_s
    return {label: {n: by[counts[0]] / time for n, time in by.items()} for label, by in times.items() if by}


def _grows(request: Request) -> bool:
    """Whether a growing problem is asked for: not of the user's programs, nor where all ranks share this machine."""
    return request.mode != "lab" and not request.programs


def _growing(request: Request, platform: Platform, most: int) -> dict[str, dict[int, float]]:
    a_node = sorted({1, min(2, platform.topology.nodes[0].cores), _each(platform)})
    return efficiencies(request, platform, a_node, most)


def _growing_table(name: str, by: dict[str, dict[int, float]]) -> Table:
    nodes = sorted({n for each in by.values() for n in each})
    rows: list[list[Cell]] = [
        [label, *(round(100 * each[n], 1) if n in each else None for n in nodes)]
        for label, each in by.items()
    ]
    title = f"LAMMPS on {name}, the same work a rank: time on one node by that on n (%)"
    return Table(title, ["problem", *(f"{n} nodes" if n > 1 else "1 node" for n in nodes)], rows)


def _growing_figure(name: str, by: dict[str, dict[int, float]]) -> Figure:
    return Figure(
        name=f"scalability-growing-{name}",
        title=f"The same work a rank on {name}: LAMMPS",
        x_label="nodes",
        y_label="efficiency (%)",
        series=[
            Series(label, [float(n) for n in each], [100 * value for value in each.values()])
            for label, each in by.items()
        ],
        x_scale="log",
    )


def _table(name: str, speed: dict[str, dict[int, float]], counts: list[int]) -> Table:
    rows: list[list[Cell]] = [
        [label, *(round(each[ranks], 3) if ranks in each else None for ranks in counts)]
        for label, each in speed.items()
    ]
    return Table(
        f"Speed-up on {name}, {counts[0]} ranks are 1", ["program", *(f"{n} ranks" for n in counts)], rows
    )


def _figure(label: str, speed: dict[str, dict[str, dict[int, float]]], counts: list[int]) -> Figure:
    x = [float(ranks) for ranks in counts]
    series = [Series(name, x, [each[label][ranks] for ranks in counts]) for name, each in speed.items()]
    ideal = Series("ideal", x, [ranks / counts[0] for ranks in counts])
    return Figure(
        name=f"scalability-{label.lower()}",
        title=f"Figure 8: {label}",
        x_label="processes",
        y_label=f"performance / {counts[0]} processes",
        series=[*series, ideal],
    )


def _claims(
    multi: dict[str, dict[int, float]], single: dict[str, dict[int, float]], how: How
) -> list[ClaimOutcome]:
    at_16 = {label: each[16] for label, each in multi.items()}
    other = {label: each[16] for label, each in single.items()}
    shown = {label: other[label] / at_16[label] for label in at_16}

    def times(value: float) -> str:
        return f"{value:.2f}"

    near: dict[str, float] = {label: at_16[label] for label in ("LU", "MG") if label in at_16}
    same: dict[str, float] = {label: shown[label] for label in ("MG", "LU", "NAMD") if label in shown}
    better: dict[str, float] = {label: shown[label] for label in ("IS", "FT", "CG") if label in shown}
    return [
        holds(
            "C-scale",
            "LU and MG scale nearly ideally from 2 to 16",
            "of 8, nearly 8",
            listed(near, times),
            how,
            {label: value >= IDEAL * 8 for label, value in near.items()},
        ),
        holds(
            "C-scale",
            "IS, FT and CG scale better on the single-core cluster",
            "single-core / multicore > 1",
            listed(better, times),
            how,
            {label: ratio > 1.0 for label, ratio in better.items()},
        ),
        holds(
            "C-scale",
            "MG, LU and NAMD scale the same on both",
            "single-core / multicore = 1",
            listed(same, times),
            how,
            {label: about_equal(ratio) for label, ratio in same.items()},
            "MG goes through its arrays a dozen times for 58 operations of a point. So in the model it waits for "
            "memory, as FT does. The paper's figures do not show that",
        ),
    ]

# SPDX-License-Identifier: BSD-3-Clause
"""Speed-up from 2 ranks on, on two machines (Chai, Gao & Panda 2007, section 5.5, figure 8)."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.study.cases import Case, Seats
from rankwise.study.compared import about_equal, holds, listed
from rankwise.study.platforms import BENSLEY, SINGLE_CORE, Platform
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes

SUMMARY = "speed-up from 2 to N ranks of a fixed problem, on two machines"
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
    most = request.ranks_or(16, 4)
    counts = [ranks for ranks in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if ranks <= most]
    programs = request.programs_or(PROGRAMS)
    counts = [ranks for ranks in counts if all(each.runs_on(ranks) for each in programs)]
    if len(counts) < 2:
        raise RankwiseError(
            "recordings of two numbers of ranks at least are needed, each a power of two",
            'give them in one: `--app "4.rw 8.rw"`',
        )
    how: How = "predicted" if request.mode == "machine" else "measured"
    speed: dict[str, dict[str, dict[int, float]]] = {}
    for platform in on:
        cases = {
            (program.label, ranks): Case(
                program, ranks, _seats(platform, ranks), f"{ranks} ranks", ITERATIONS
            )
            for program in programs
            for ranks in counts
        }
        made = all_outcomes(request, platform, list(cases.values()))
        speed[platform.name] = {
            program.label: {
                ranks: made[cases[program.label, counts[0]]].time_s / made[cases[program.label, ranks]].time_s
                for ranks in counts
            }
            for program in programs
        }
    last = counts[-1]
    first = next(iter(speed.values()))
    best = max(first, key=lambda label: first[label][last])
    tested = all(platform.of_paper for platform in on) and not request.programs and not request.machines
    return StudyResult(
        study="scalability",
        title=f"Speed-up from {counts[0]} to {last} ranks",
        on=[platform.name for platform in on],
        how=how,
        verdict=f"On {on[0].name} {best} scales best, {first[best][last]:.1f} of {last / counts[0]:.0f}.",
        tables=[_table(name, each, counts) for name, each in speed.items()],
        figures=[_figure(label, speed, counts) for label in first],
        claims=_claims(speed[on[0].name], speed[on[1].name], how) if tested and last == 16 else [],
    )


def _seats(platform: Platform, ranks: int) -> Seats:
    """Full nodes, cores by the kernel's number; a node's processors of their own where it has one core each."""
    node = platform.topology.nodes[0]
    single = node.cores == len(set(node.packages))
    each = 1 if single else min(node.cores, 4)
    return Seats(-(-ranks // each), min(each, ranks), "blocked", "os")


def _table(name: str, speed: dict[str, dict[int, float]], counts: list[int]) -> Table:
    rows: list[list[Cell]] = [
        [label, *(round(each[ranks], 3) for ranks in counts)] for label, each in speed.items()
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
            "MG goes through its arrays a dozen times for 58 operations of a point, so that by the model it waits for "
            "memory as FT does; the paper has none of that in its figures, 5 among them",
        ),
    ]

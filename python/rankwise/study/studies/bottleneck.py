# SPDX-License-Identifier: BSD-3-Clause
"""Few ranks on one, two or four nodes (Chai, Gao & Panda 2007, section 5.3, figures 5 and 6)."""

from __future__ import annotations

import math
from dataclasses import replace

from rankwise.errors import RankwiseError
from rankwise.machine.topology import NodeTopology
from rankwise.sentences import capital
from rankwise.study.arrangements import full_ranks, spread
from rankwise.study.cases import Case, Outcome, Seats
from rankwise.study.compared import SLOWER, about_equal, holds, joined, listed, percent_more
from rankwise.study.cost import HPL_BYTES_PER_OPERATION, computation_notes
from rankwise.study.counts import interface_tables
from rankwise.study.platforms import BENSLEY, Platform
from rankwise.study.program import StudyProgram
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes

SUMMARY = "ranks of a full node on 1, 2 and more nodes; two on and across chips"
CLAIMS = ("C-cont", "C-two")
TAKES: tuple[str, ...] = ("--app",)

PROGRAMS = ("is", "ft", "cg", "mg", "lu", "bt", "sp", "hpl")
_SQUARES = ("bt", "sp")  # square numbers of ranks only
ITERATIONS = 3
_NO_LOOKAHEAD = (("depth", "0"),)
"""Of HPL, whose updates wait for memory: formats/loggops.md M1 cannot slow computations that look for messages."""
# The paper's arrangements, on nodes of four cores.
FULL, HALF, SPREAD = "1x4", "2x2", "4x1"
CHIP, CHIPS, MEMORIES, NODES = "intra-CMP", "inter-CMP", "inter-NUMA", "inter-node"

_COPIES = (
    "inside a node two cores exchange large blocks by copies at 1258 MB/s (section 5.1). The interface moves both "
    "directions at once"
)
_SHARED = f"{_COPIES}. By the same rates one rank fills the interface, and here two share it"


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has too few nodes or cores, or a case cannot be made.
    """
    platform = nodes(request, BENSLEY)[0]
    programs = request.programs_or(PROGRAMS)
    full = _full(platform)
    ranks, spread_nodes = next(iter(full.values())).ranks_a_node, list(full.values())[-1].nodes
    if not (running := _running(programs, ranks)):
        for each in programs:
            each.on(ranks)  # says which recordings there are
        raise RankwiseError(
            f"the programs do not run on `{ranks}` ranks, a full node of `{platform.name}`",
            "`--app cg` runs on any power of two",
        )
    by_full = _times(request, platform, running, ranks, full)
    pairs = _running(programs, 2)
    by_two = _times(request, platform, pairs, 2, _two(platform.topology.nodes[0])) if pairs else {}
    how: How = "predicted" if request.mode == "machine" else "measured"
    name, last = next(iter(full)), list(full)[-1]
    worse = [label for label, each in by_full.items() if each[name] > 1 + SLOWER]
    many, few = _WORDS.get(ranks, str(ranks)), _WORDS.get(spread_nodes, str(spread_nodes))
    left_out = [each.label for each in programs if each not in running]
    return StudyResult(
        study="bottleneck",
        title="What a full node costs",
        on=[platform.name],
        how=how,
        verdict=f"Slower with {many} ranks on one node than on {few} nodes: {joined(worse) or 'none'}.",
        tables=[
            _table(f"{capital(many)} ranks: time by that on {few} nodes", by_full),
            *([_table("Two ranks: time by that on two nodes", by_two)] if by_two else []),
            *_interfaces(request, platform, running, ranks, full),
        ],
        figures=[
            _figure("bottleneck-5", f"Figure 5: {many} ranks, {how}", last, by_full),
            *([_figure("bottleneck-6", f"Figure 6: two ranks, {how}", NODES, by_two)] if by_two else []),
        ],
        claims=_claims(by_full, by_two, how) if platform.of_paper and not request.programs else [],
        missing=[f"{joined(left_out)}, which cannot be run on {ranks} ranks"] if left_out else [],
        notes=computation_notes(request, [platform]),
    )


_WORDS = {2: "two", 4: "four"}


def _full(platform: Platform) -> dict[str, Seats]:
    """Ranks of a full node on one node, on two, one rank of each processor of both first, and on as many as there are.

    Raises:
        RankwiseError: The machine has one node, or its nodes one core.
    """
    count, node = len(platform.topology.nodes), platform.topology.nodes[0]
    if count < 2 or node.cores < 2:
        raise RankwiseError(
            f"`{platform.name}` is too small: two nodes of two cores are needed",
            "use a machine that has them, such as the paper's, without `--on`",
        )
    ranks = full_ranks(node)
    most = min(ranks, 1 << (count.bit_length() - 1))
    return {
        f"{on}x{ranks // on}": Seats(on, ranks // on, "blocked", spread(node) if on > 1 else "logical")
        for on in sorted({1, 2, most})
    }


def _two(node: NodeTopology) -> dict[str, Seats]:
    """Two ranks that share a chip, that do not, and on two nodes."""
    apart = CHIPS if node.package_count > 1 else MEMORIES
    seats = {CHIP: Seats(1, 2)}
    if node.package_count > 1 or len(set(node.numa_nodes)) > 1:
        seats[apart] = Seats(1, 2, "blocked", spread(node))
    return seats | {NODES: Seats(2, 1)}


def _running(programs: tuple[StudyProgram, ...], ranks: int) -> tuple[StudyProgram, ...]:
    """Programs that run on a number of ranks, as far as that is known."""
    square = math.isqrt(ranks) ** 2 == ranks
    return tuple(
        each for each in programs if each.runs_on(ranks) and (square or each.workload not in _SQUARES)
    )


def _interfaces(
    request: Request,
    platform: Platform,
    programs: tuple[StudyProgram, ...],
    ranks: int,
    seats: dict[str, Seats],
) -> list[Table]:
    if request.mode != "machine":
        return []
    several = {name: where for name, where in seats.items() if where.nodes > 1}
    cases = [Case(each, ranks, where, name) for each in programs for name, where in several.items()]
    return interface_tables(platform, cases)


def _times(
    request: Request,
    platform: Platform,
    programs: tuple[StudyProgram, ...],
    ranks: int,
    seats: dict[str, Seats],
) -> dict[str, dict[str, float]]:
    """Of each program: time of each arrangement by that of the last one."""
    cases = {
        (program.label, name): _case(program, ranks, where, name)
        for program in programs
        for name, where in seats.items()
    }
    made: dict[Case, Outcome] = all_outcomes(request, platform, list(cases.values()))
    last = list(seats)[-1]
    return {
        program.label: {
            name: made[cases[program.label, name]].time_s / made[cases[program.label, last]].time_s
            for name in seats
        }
        for program in programs
    }


def _case(program: StudyProgram, ranks: int, seats: Seats, label: str) -> Case:
    if program.workload != "hpl":
        return Case(program, ranks, seats, label, ITERATIONS)
    whole = replace(program, options=tuple({**dict(_NO_LOOKAHEAD), **dict(program.options)}.items()))
    return Case(whole, ranks, seats, label, bytes_per_operation=HPL_BYTES_PER_OPERATION)


def _table(title: str, by: dict[str, dict[str, float]]) -> Table:
    rows: list[list[Cell]] = [
        [label, *(round(ratio, 4) for ratio in each.values())] for label, each in by.items()
    ]
    return Table(title, ["program", *next(iter(by.values()))], rows)


def _figure(name: str, title: str, base: str, by: dict[str, dict[str, float]]) -> Figure:
    labels = list(by)
    return Figure(
        name=name,
        title=title,
        x_label="program",
        y_label=f"execution time / {base}",
        series=[
            Series(where, labels, [by[label][where] for label in labels]) for where in next(iter(by.values()))
        ],
        kind="bars",
    )


def _claims(
    four: dict[str, dict[str, float]], two: dict[str, dict[str, float]], how: How
) -> list[ClaimOutcome]:
    named = ("IS", "FT", "CG", "SP", "HPL")
    full = {label: four[label][FULL] for label in named if label in four}
    half = {label: each[HALF] for label, each in four.items()}
    chip = {label: each[CHIP] / max(each[CHIPS], each[NODES]) for label, each in two.items() if label != "IS"}
    chips = {label: each[CHIPS] for label, each in two.items()}
    return [
        holds(
            "C-cont",
            "1x4 is worse than 4x1 for IS, FT, CG, SP and HPL",
            "worse",
            listed(full, percent_more),
            how,
            {label: ratio > 1 + SLOWER for label, ratio in full.items()},
        ),
        holds(
            "C-cont",
            "2x2 is about equal to 4x1",
            "about equal",
            listed(half, percent_more),
            how,
            {label: about_equal(ratio) for label, ratio in half.items()},
            _SHARED,
        ),
        holds(
            "C-two",
            "two ranks on a chip are slower than across chips or nodes",
            "slower",
            listed(chip, percent_more),
            how,
            {label: ratio > 1 + SLOWER for label, ratio in chip.items()},
        ),
        holds(
            "C-two",
            "two ranks across chips and across nodes are comparable, but for IS",
            "comparable",
            listed({label: ratio for label, ratio in chips.items() if label != "IS"}, percent_more),
            how,
            {label: about_equal(ratio) for label, ratio in chips.items() if label != "IS"},
            _COPIES,
        ),
        holds(
            "C-two",
            "IS loses across chips to across nodes",
            "slower across chips",
            percent_more(chips.get("IS", 1.0)),
            how,
            {"IS": chips.get("IS", 1.0) > 1.0},
        ),
    ]

# SPDX-License-Identifier: BSD-3-Clause
"""Which rank shares the interrupt core, and what a swap gains (Narayanaswamy, Balaji & Feng 2007, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.errors import RankwiseError
from rankwise.study.cases import Case, Outcome, Seats
from rankwise.study.compared import beyond, holds, listed, noted, number, percent
from rankwise.study.cost import computation_notes
from rankwise.study.lennard_jones import lennard_jones
from rankwise.study.platforms import ETHERNET_A, IWARP_A, Platform
from rankwise.study.program import StudyProgram, workload_program
from rankwise.study.request import Request
from rankwise.study.result import Cell, ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes
from rankwise.study.studies.core_scan import interrupt_core

SUMMARY = "computation and waiting by rank; whom the interrupt core costs; swaps"
CLAIMS = ("S-gromacs", "S-lammps", "S-maps")
TAKES: tuple[str, ...] = ("--app",)

ITERATIONS = 20
RANKS = 8
ATOMS_OF_PAPER = 64 * 32_000
"""Of LAMMPS: 32 000 atoms "scaled up 64 times" (section 6.2), whose messages have the 256 KB that it names."""
NO_DIFFERENCE = 0.005
"""Share of the time below which mappings are the same."""

# Tables 1 and 2: ranks on cores 0 to 3 of both nodes.
MAPPINGS: dict[str, dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "gromacs": {
        "A": ((0, 4, 2, 6), (7, 3, 5, 1)),
        "A'": ((6, 4, 2, 0), (7, 3, 5, 1)),
        "B": ((0, 2, 4, 6), (5, 1, 3, 7)),
        "B'": ((2, 0, 4, 6), (5, 1, 3, 7)),
    },
    "lammps": {
        "A": ((2, 0, 4, 6), (1, 3, 5, 7)),
        "A'": ((0, 2, 4, 6), (1, 3, 5, 7)),
        "B": ((0, 4, 2, 6), (7, 3, 5, 1)),
        "B'": ((6, 4, 2, 0), (7, 3, 5, 1)),
    },
}
_NO_IMBALANCE = (
    "in the paper's input ranks 6 and 7 have less work and wait. In the workload all ranks compute alike"
)
_BUFFERS = (
    "this needs the right sizes of buffers. They are from the kernel's documents, and from section 6.2, which explains "
    "this run by them"
)
_BOTH = (
    "in the model ranks fall out of step for two reasons: the interrupt core, and pairs that are on other cores in the "
    "two nodes (A and B'). The paper gives only the interrupt core"
)
_ONE_WAITS = "ranks 1 and 2, on the interrupt cores, work while their partners wait in MPI"


@dataclass(frozen=True)
class _Mapped:
    """One program with its mappings on one machine."""

    platform: Platform
    program: StudyProgram
    outcomes: dict[str, Outcome]
    swaps: dict[tuple[int, int], float]  # time of the first mapping with two ranks swapped, by its time


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has less than two nodes or four cores a node, or a case cannot be made.
    """
    on = nodes(request, ETHERNET_A, IWARP_A)
    programs = request.programs or (workload_program("gromacs"), lennard_jones(ATOMS_OF_PAPER // RANKS))
    found = [_mapped(request, platform, program) for platform in on for program in programs]
    how: How = "predicted" if request.mode == "machine" else "measured"
    tested = not request.machines and not request.programs
    return StudyResult(
        study="mapping",
        title="Ranks and the interrupt core",
        on=[platform.name for platform in on],
        how=how,
        verdict=" ".join(_sentence(each) for each in found if each.platform is on[0]),
        tables=[table for each in found for table in (_parts(each), _swaps(each))],
        figures=[_figure(each, name) for each in found for name in each.outcomes],
        claims=_claims({(each.platform.name, each.program.workload): each for each in found}, how)
        if tested
        else [],
        notes=computation_notes(request, on),
    )


def _mapped(request: Request, platform: Platform, program: StudyProgram) -> _Mapped:
    if len(platform.topology.nodes) < 2 or platform.topology.nodes[0].cores < 4:
        raise RankwiseError(
            f"`{platform.name}` is too small: two nodes of four cores are needed", "use another machine file"
        )
    mappings = MAPPINGS.get(program.workload, {"in order": ((0, 2, 4, 6), (1, 3, 5, 7))})
    cases = {name: Case(program, RANKS, _seats(where), name, ITERATIONS) for name, where in mappings.items()}
    first = next(iter(cases.values()))
    pairs = _pairs(platform, first)
    swapped = {
        pair: replace(first, seats=_swapped(first.seats, *pair), label=f"swap {pair}") for pair in pairs
    }
    made = all_outcomes(request, platform, [*cases.values(), *swapped.values()])
    base = made[first].time_s
    return _Mapped(
        platform,
        program,
        {name: made[case] for name, case in cases.items()},
        {pair: made[case].time_s / base for pair, case in swapped.items()},
    )


def _seats(where: tuple[tuple[int, ...], tuple[int, ...]]) -> Seats:
    place = {rank: (node, core) for node, ranks in enumerate(where) for core, rank in enumerate(ranks)}
    return Seats(2, 4, explicit=tuple(place[rank] for rank in range(RANKS)))


def _pairs(platform: Platform, case: Case) -> list[tuple[int, int]]:
    """Each rank on an interrupt core with each other rank of its node."""
    serving = interrupt_core(platform.machine)
    if serving is None or serving.core is None:
        return []
    os_core = platform.topology.nodes[0].pus[serving.core][0]
    seats = case.seats.explicit
    return [
        (rank, other)
        for rank, (node, core) in enumerate(seats)
        if core == os_core
        for other in range(RANKS)
        if other != rank and seats[other][0] == node
    ]


def _swapped(seats: Seats, a: int, b: int) -> Seats:
    order = list(seats.explicit)
    order[a], order[b] = order[b], order[a]
    return replace(seats, explicit=tuple(order))


def _sentence(each: _Mapped) -> str:
    times = {name: outcome.time_s for name, outcome in each.outcomes.items()}
    best, worst = min(times, key=lambda name: times[name]), max(times, key=lambda name: times[name])
    if times[worst] < times[best] * (1 + NO_DIFFERENCE):
        return f"{each.program.label} takes the same time however it is mapped."
    said = f"{each.program.label}: mapping {best} is {percent(1 - times[best] / times[worst])} faster than {worst}"
    if each.swaps:
        pair = min(each.swaps, key=lambda key: each.swaps[key])
        gain = 1 - each.swaps[pair]
        said += f"; from {next(iter(times))}, swapping ranks {pair[0]} and {pair[1]} gains {percent(gain)}"
    return said + "."


def _split(outcome: Outcome) -> dict[str, np.ndarray]:
    parts = {"computation": outcome.computation_s, "waiting": outcome.waiting_s, "sending": outcome.sending_s}
    return {name: np.array(values) / outcome.time_s for name, values in parts.items()}


def _parts(each: _Mapped) -> Table:
    rows: list[list[Cell]] = []
    for name, outcome in each.outcomes.items():
        for part, shares in _split(outcome).items():
            rows.append([name, part, *(round(100 * share, 1) for share in shares.tolist())])
    return Table(
        f"{each.program.label} on {each.platform.name}: percent of the time, by rank",
        ["mapping", "part", *(f"rank {rank}" for rank in range(RANKS))],
        rows,
        [", ".join(f"{name}: {outcome.time_s:.4g} s" for name, outcome in each.outcomes.items())],
    )


def _swaps(each: _Mapped) -> Table:
    rows: list[list[Cell]] = [[f"{a} and {b}", round(ratio, 4)] for (a, b), ratio in each.swaps.items()]
    title = (
        f"{each.program.label} on {each.platform.name}: time after a swap with the rank on the interrupt core"
    )
    return Table(title, ["ranks", "time / as mapped"], rows, [] if rows else ["no core serves the network"])


def _figure(each: _Mapped, name: str) -> Figure:
    ranks = [f"rank {rank}" for rank in range(RANKS)]
    mapping = name.replace("'", "-swapped").replace(" ", "-")
    return Figure(
        name=f"mapping-{each.program.label.lower()}-{mapping}-{each.platform.name}",
        title=f"Figures 7 and 11: {each.program.label}, mapping {name}, {each.platform.name}",
        x_label="process",
        y_label="share of the time",
        series=[Series(part, ranks, shares.tolist()) for part, shares in _split(each.outcomes[name]).items()],
        kind="stacked",
    )


def _in_mpi(outcome: Outcome) -> float:
    """What the paper calls communication performance: time in MPI, mean of ranks."""
    return float(np.mean(np.array(outcome.waiting_s) + np.array(outcome.sending_s)))


def _claims(found: dict[tuple[str, str], _Mapped], how: How) -> list[ClaimOutcome]:
    tcp = {name: found[ETHERNET_A, name] for name in MAPPINGS}
    offloaded = {name: found[IWARP_A, name] for name in MAPPINGS}
    return [
        *_gromacs(tcp["gromacs"], how),
        _offloaded("S-gromacs", offloaded["gromacs"], how),
        *_lammps(tcp["lammps"], how),
        _offloaded("S-lammps", offloaded["lammps"], how),
        _order(tcp["gromacs"], how, _NO_IMBALANCE),
        _order(tcp["lammps"], how, _BOTH),
    ]


def _gromacs(each: _Mapped, how: How) -> list[ClaimOutcome]:
    split = _split(each.outcomes["A"])
    computing, waiting = split["computation"].tolist(), split["waiting"].tolist()
    elsewhere = [rank for rank in range(RANKS) if rank not in (0, 7)]  # 7 is on the other interrupt core
    idle = {f"rank {rank}": waiting[rank] for rank in (6, 7)}
    gain = 1 - each.outcomes["A'"].time_s / each.outcomes["A"].time_s
    return [
        beyond(
            holds(
                "S-gromacs",
                "the rank on core 0 computes most of the time, more than those beside it, and hardly waits",
                "> 60 %",
                f"rank 0 computes {percent(computing[0])}, others "
                f"{percent(max(computing[r] for r in elsewhere))} at most; "
                f"it waits {percent(waiting[0])}, others {percent(min(waiting[r] for r in elsewhere))} at least",
                how,
                {
                    "60 %": computing[0] > 0.6,
                    "more than others": computing[0] > max(computing[r] for r in elsewhere) + NO_DIFFERENCE,
                    "waiting": waiting[0] + NO_DIFFERENCE < min(waiting[r] for r in elsewhere),
                },
                _NO_IMBALANCE,
            ),
        ),
        beyond(
            holds(
                "S-gromacs",
                "waiting of ranks 6 and 7",
                "> 40 %",
                listed(idle, percent),
                how,
                {name: value > 0.4 for name, value in idle.items()},
                _NO_IMBALANCE,
            ),
        ),
        number(
            "S-gromacs", "gain of a waiting rank on core 0 (A to A')", 0.11, gain, percent, how, _NO_IMBALANCE
        ),
    ]


def _offloaded(claim: str, each: _Mapped, how: How) -> ClaimOutcome:
    times = [outcome.time_s for outcome in each.outcomes.values()]
    spread = float(np.std(times) / np.mean(times))
    outcome = holds(
        claim,
        f"offloaded stack: {each.program.label} takes the same time however it is mapped (standard deviation)",
        "< 2 %" if claim == "S-gromacs" else "no difference",
        percent(spread),
        how,
        {each.program.label: spread < 0.02},
        "ranks of a node exchange at other rates on one chip than across",
    )
    return beyond(outcome) if claim == "S-gromacs" else outcome


def _lammps(each: _Mapped, how: How) -> list[ClaimOutcome]:
    waits = _split(each.outcomes["A"])
    slow = [float(waits["computation"][rank]) for rank in (1, 2)]
    others = [float(waits["computation"][rank]) for rank in range(RANKS) if rank not in (1, 2)]
    out_of_phase = min(slow) > max(others) and float(np.mean(waits["waiting"])) > 0.3
    working = f"ranks 1 and 2 compute {percent(min(slow))} of the time, others {percent(max(others))}; all wait in MPI"
    saved = {
        better: 1 - _in_mpi(each.outcomes[better]) / _in_mpi(each.outcomes[worse])
        for worse, better in (("A", "A'"), ("B", "B'"))
    }
    times = 1 / (1 - saved["A'"])
    return [
        noted(
            holds("S-lammps", _ONE_WAITS, "out of phase", working, how, {"A": out_of_phase}),
            f"{_BUFFERS}; {_BOTH}",
        ),
        *(
            number("S-lammps", f"time in MPI that mapping {better} saves", 0.5, value, percent, how, _BOTH)
            for better, value in saved.items()
        ),
        noted(
            beyond(
                holds(
                    "S-lammps",
                    "communication is more than twice as fast with A' as with A (section 7)",
                    "> 2 x",
                    f"{times:.1f} x",
                    how,
                    {"A'": times > 2},
                )
            ),
            _BOTH,
        ),
    ]


def _order(each: _Mapped, how: How, why: str) -> ClaimOutcome:
    seconds = {name: outcome.time_s for name, outcome in each.outcomes.items()}
    order = {
        f"{better} before {worse}": seconds[better] < seconds[worse] * (1 - NO_DIFFERENCE)
        for worse, better in (("A", "A'"), ("B", "B'"))
    }
    return holds(
        "S-maps",
        f"set-up A, {each.program.label}: A' before A and B' before B",
        "A' < A, B' < B",
        listed(seconds, lambda value: f"{value:.3f} s"),
        how,
        order,
        why,
    )

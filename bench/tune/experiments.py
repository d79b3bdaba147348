# SPDX-License-Identifier: BSD-3-Clause
"""Section 6 of Narayanaswamy, Balaji and Feng (2007) on nodes that are simulated, under the tuner itself.

Tables 1 and 2 there have two nodes of four cores, whose cores 0 process what the network brings. Here they are two
packages of one node, as a tuner sees the ranks of one node only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "tune"))

import simulated_nodes

_NODE = "node packages 2 cores 4\npolicy act 1\n"
_SECONDS = 60
# Rank on each core, node by node: combination A of each table.
_GROMACS_A = (0, 4, 2, 6, 7, 3, 5, 1)
_LAMMPS_A = (2, 0, 4, 6, 1, 3, 5, 7)


@dataclass(frozen=True)
class Experiment:
    """What came out of one.

    Attributes:
        name: S-gromacs, S-lammps.
        given: A sentence on what was simulated.
        before: Core of each rank.
        after: The same when it ended.
        said: What the tuner saw, of each change that was kept.
        swapped: Ranks of each change that was kept.
        estimated: Part of an iteration's time that the changes were estimated to save, of the first.
        measured: The same as measured by the tuner.
        gain: Iterations by those without it.
        best_gain: The same on the mapping of the paper, which stays.
        published: What the paper says.
    """

    name: str
    given: str
    before: list[str]
    after: list[str]
    said: list[str]
    swapped: list[list[int]]
    estimated: float | None
    measured: float | None
    gain: float
    best_gain: float
    published: str


def _experiment(name: str, given: str, order: tuple[int, ...], better: tuple[int, ...], job: str, interrupts: float,
                published: str) -> Experiment:  # fmt: skip
    program = simulated_nodes.built()

    def scenario(cores: tuple[int, ...]) -> str:
        pus = ",".join(str(cores.index(rank)) for rank in range(len(cores)))
        return (
            f"{_NODE}job {name} pus {pus} {job}\nat 0 irq 0 {interrupts}\nat 0 irq 4 {interrupts}\n"
            f"at 1 start {name}\nuntil {_SECONDS}\n"
        )

    tuned, left = (
        simulated_nodes.simulate(program, scenario(order)),
        simulated_nodes.static(program, scenario(order)),
    )
    best = simulated_nodes.static(program, scenario(better))
    kept = tuned.of("kept")
    proposed = {str(event["moves"]): event["why"] for event in tuned.of("proposed")}
    return Experiment(
        name,
        given,
        left.jobs[name]["masks"],
        tuned.jobs[name]["masks"],
        [proposed.get(str(event["moves"]), event["why"]) for event in kept],
        [event["ranks"] for event in kept],
        kept[0].get("estimated_gain") if kept else None,
        kept[0].get("measured_gain") if kept else None,
        tuned.iterations / left.iterations,
        best.iterations / left.iterations,
        published,
    )


def gromacs() -> Experiment:
    """Rank 0 computes most, ranks 6 and 7 wait most."""
    computation = {0: 0.010, 6: 0.0055, 7: 0.0055}
    text = ",".join(f"{computation.get(rank, 0.0085):.4f}" for rank in range(8))
    return _experiment(
        "S-gromacs",
        "Rank 0 computes all of an iteration, ranks 6 and 7 wait 45 % of it, the others 15 %; each core 0 loses 10 % "
        "to interrupts; combination A of Table 1.",
        _GROMACS_A,
        (6, 4, 2, 0, 7, 3, 5, 1),
        f"compute {text} pattern ring bytes 1000",
        0.1,
        "ranks 0 and 6 are swapped (A'), nearly 11 % faster",
    )


def lammps() -> Experiment:
    """Pairs that exchange large messages, of which two have a rank on a core 0 each."""
    return _experiment(
        "S-lammps",
        "Pairs 0-1, 2-3, 4-5, 6-7 exchange 256 KB an iteration, all ranks compute the same; each core 0 "
        "loses 30 % to interrupts; combination A of Table 2. The simulation has a rule: ranks on unequal cores wait "
        "for each other, for 80 % of the difference. The rule decides how much is gained. The tuner decides that "
        "something is changed.",
        _LAMMPS_A,
        (0, 2, 4, 6, 1, 3, 5, 7),
        f"compute {','.join(['0.005'] * 8)} pattern pairs bytes 262144 out_of_phase 0.8",
        0.3,
        "ranks 0 and 2 are swapped (A'), so that 0 and 1 both have a core 0; communication about 50 % faster",
    )


def experiments() -> list[Experiment]:
    """Both."""
    return [gromacs(), lammps()]

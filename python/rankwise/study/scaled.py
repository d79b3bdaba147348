# SPDX-License-Identifier: BSD-3-Clause
"""Efficiency of a problem that grows with the ranks, by ranks a node (figure 11 of Brightwell et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.study.cases import Case, Seats
from rankwise.study.lennard_jones import lennard_jones
from rankwise.study.platforms import Platform
from rankwise.study.request import Request
from rankwise.study.run.outcomes import all_outcomes

SCALED_NODES = (1, 2, 4, 8, 16, 32, 64, 128)
# Two problems of fixed size a rank: Lennard-Jones as published with LAMMPS, and one of a quarter of the computation.
SCALED_ATOMS = {"LJ": 32_000, "a quarter of the atoms": 8_000}
ITERATIONS = 4


def efficiencies(
    request: Request, platform: Platform, a_node: Sequence[int], most_ranks: int | None = None
) -> dict[str, dict[int, float]]:
    """Of each problem and number of ranks a node, time on one node by that on n, by n.

    Args:
        request: What was asked for.
        platform: The machine.
        a_node: Numbers of ranks a node.
        most_ranks: None with more ranks.

    Raises:
        RankwiseError: The ranks do not fit, or a case cannot be made.
    """
    found: dict[str, dict[int, float]] = {}
    for problem, atoms in SCALED_ATOMS.items():
        program = lennard_jones(atoms)
        for each in a_node:
            nodes = [
                n
                for n in SCALED_NODES
                if n <= len(platform.topology.nodes) and (most_ranks is None or n * each <= most_ranks)
            ]
            cases = {n: Case(program, n * each, Seats(n, each), f"{n}x{each}", ITERATIONS) for n in nodes}
            made = all_outcomes(request, platform, list(cases.values()))
            times = {n: made[case].time_s for n, case in cases.items()}
            found[f"{problem}, {each} a node"] = {n: times[1] / time for n, time in times.items()}
    return found

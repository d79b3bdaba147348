# SPDX-License-Identifier: BSD-3-Clause
"""What programs of studies send, counted without running them, and what of it crosses the network under a placement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rankwise.machine.interfaces import own_interfaces
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.distribution import CommMatrix, matrix_of
from rankwise.study.cases import Case
from rankwise.study.platforms import Platform
from rankwise.study.program import StudyProgram
from rankwise.study.result import Cell, Table
from rankwise.workloads import decompose, generate

LIBRARY_OF_PAPERS = "mpich2"
"""Whose collectives the papers' MPI libraries had: MPICH2 1.0 and what was made from it."""


def library_of(platform: Platform) -> str:
    """Whose collectives programs have on a machine."""
    return LIBRARY_OF_PAPERS if platform.of_paper else "mpich"


@lru_cache(maxsize=64)
def messages(program: StudyProgram, ranks: int, library: str) -> CommMatrix:
    """All messages of a program on a number of ranks, collectives expanded into theirs.

    Args:
        program: A workload or a recording.
        ranks: Number of ranks; of a recording those that it has.
        library: Whose collective algorithms.

    Raises:
        RankwiseError: The program is neither, or cannot run on so many ranks.
    """
    program = program.on(ranks)
    program.check_known()
    if program.recording is not None:
        from rankwise.recording.recording import Recording

        return matrix_of(Recording.open(program.recording).messages)
    counted = generate(program.workload, program.problem_class, ranks, options=dict(program.options))
    found = decompose(counted, library)
    size = found.bytes * found.messages
    return CommMatrix(found.source, found.destination, found.bytes, found.messages, size)


def network_bytes(matrix: CommMatrix, placement: Placement) -> int:
    """Bytes between nodes."""
    return int(matrix.bytes[_crosses(matrix, placement)].sum())


def _crosses(matrix: CommMatrix, placement: Placement) -> np.ndarray:
    """Of each row, whether it is between nodes."""
    known = matrix.destination >= 0
    other = placement.node[np.maximum(matrix.destination, 0)]
    crosses: np.ndarray = (placement.node[matrix.source] != other) & known
    return crosses


def interface_tables(platform: Platform, cases: Sequence[Case]) -> list[Table]:
    """Bytes that leave nodes through each of their interfaces, over all nodes; nothing where a node has one.

    Args:
        platform: The machine.
        cases: Of programs whose messages are known without running them.
    """
    interfaces = platform.machine.interfaces
    if interfaces is None or len(interfaces.at) < 2:
        return []
    rows: list[list[Cell]] = []
    for case in cases:
        matrix = messages(case.program, case.ranks, library_of(platform))
        placement = case.seats.on(platform.topology, case.ranks)
        nodes = Topology(platform.topology.nodes[: len(placement.node_names)])
        own = own_interfaces(interfaces, nodes, placement).number[matrix.source]
        crosses = _crosses(matrix, placement)
        sent = np.bincount(own[crosses], matrix.bytes[crosses], len(interfaces.at))
        rows.append([case.program.label, case.label, *(round(float(size) / 1e9, 4) for size in sent)])
    numbers = range(len(interfaces.at))
    notes = [
        f"GB through each interface of all nodes: {', '.join(map(interfaces.describe, numbers))}; ranks use them as"
        f' `use = "{interfaces.use}"` of the machine file says.'
    ]
    if interfaces.striped_from_bytes:
        notes.append("Messages that are cut over several interfaces are counted at their rank's own.")
    return [Table("Network bytes by interface", ["program", "arrangement", *map(str, numbers)], rows, notes)]

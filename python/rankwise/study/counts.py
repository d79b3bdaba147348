# SPDX-License-Identifier: BSD-3-Clause
"""What programs of studies send, counted without running them, and what of it crosses the network under a placement."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rankwise.machine.placement import Placement
from rankwise.placement.distribution import CommMatrix, matrix_of
from rankwise.study.program import StudyProgram
from rankwise.workloads import decompose, generate

LIBRARY_OF_PAPERS = "mpich2"
"""Whose collectives the papers' MPI libraries had: MPICH2 1.0 and what was made from it."""


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
    crosses = placement.node[matrix.source] != placement.node[np.maximum(matrix.destination, 0)]
    return int(matrix.bytes[crosses & (matrix.destination >= 0)].sum())

# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of single MPI calls, as benchmarks of MPI libraries make them."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise import _core

ELEMENT_BYTES = 4
"""Of an integer or a single-precision number, which reductions of benchmarks combine."""


def ring(ranks: int, bytes: int, iterations: int) -> _core.schedule.Schedule:
    """MPI_Sendrecv to the next rank from the one before, over and over.

    Args:
        ranks: How many.
        bytes: Of each message.
        iterations: How often.
    """
    builder = _core.schedule.ProgramBuilder(ranks, "mpich", "call")
    for rank in range(ranks):
        before, after = (rank - 1) % ranks, (rank + 1) % ranks
        for _ in range(iterations):
            receive = builder.ireceive(rank, before, bytes, 0, 0)
            builder.wait(rank, [receive, builder.isend(rank, after, bytes, 0, 0)])
    return builder.finish()


def collective(
    name: str,
    ranks: int,
    bytes: int,
    *,
    library: str = "mpich",
    algorithm: str = "",
    combine_s_per_byte: float = 0.0,
    nodes: Sequence[int] | None = None,
    after_s: float = 0.0,
) -> _core.schedule.Schedule:
    """One call of a collective by all ranks at once.

    Args:
        name: In lower case.
        ranks: How many.
        bytes: As the recording counts them: of a rank's block, or of the whole buffer where it has no blocks.
        library: Whose choice of algorithms is followed.
        algorithm: Instead of that choice.
        combine_s_per_byte: Of a reduction.
        nodes: Node of each rank, where the choice goes by it.
        after_s: What each rank has to do when its messages are there, such as to put blocks in order.

    Raises:
        RankwiseError: There is no such algorithm.
    """
    builder = _core.schedule.ProgramBuilder(ranks, library, "call")
    if nodes is not None:
        builder.place(list(nodes))
    total = bytes * ranks if name in ("allgatherv", "reduce_scatter") else 0
    for rank in range(ranks):
        requests = builder.collective(
            rank,
            name,
            bytes=bytes,
            element_bytes=ELEMENT_BYTES if bytes % ELEMENT_BYTES == 0 else 1,
            total_bytes=total,
            algorithm=algorithm,
            combine_s_per_byte=combine_s_per_byte,
        )
        builder.wait(rank, requests)
        builder.compute(rank, round(after_s * 1e12))
    return builder.finish()

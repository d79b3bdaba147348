# SPDX-License-Identifier: BSD-3-Clause
"""A workload's messages with its collectives decomposed into those that an MPI library sends for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from rankwise import _core
from rankwise.workloads.generate import Communication
from rankwise.workloads.program import Collective

SEND = 0  # kinds of `_core.collectives.steps`


@lru_cache(maxsize=4096)
def steps(
    library: str, call: str, rank: int, size: int, root: int, size_bytes: int, datatype_bytes: int
) -> tuple[tuple[int, int, int, int], ...]:
    """One rank's messages of one collective call, by the algorithm the library takes by default.

    Args:
        library: `mpich` or `openmpi`.
        call: Name of the MPI function.
        rank: In the communicator.
        size: Of the communicator.
        root: In the communicator; -1 where there is none.
        size_bytes: As in `Collective.bytes`.
        datatype_bytes: Size of one element.

    Returns:
        (kind, peer, round, bytes): kind 0 is a send, others are receives; peers are ranks in the communicator; steps of
        a round are posted together, when those of the round before have completed.
    """
    operation = call.removeprefix("MPI_").lower()
    element = max(datatype_bytes, 1)
    algorithm = _core.collectives.select(
        library, operation, size=size, bytes=size_bytes, element_bytes=element
    )
    found = _core.collectives.steps(
        operation, algorithm, rank=rank, size=size, root=max(root, 0), bytes=size_bytes, element_bytes=element
    )
    return tuple(step[:4] for step in found)


def decompose(communication: Communication, library: str = "mpich") -> Communication:
    """The same program with messages in place of its collective calls.

    Args:
        communication: What `generate` counted.
        library: Whose algorithms: `mpich` or `openmpi`, as chosen by default and without knowledge of nodes.

    Returns:
        Point-to-point messages only.
    """
    rows = [
        np.stack(
            [communication.source, communication.destination, communication.bytes, communication.messages]
        )
    ]
    for collective in communication.collectives:
        sent = np.array(list(_sends(collective, library)), dtype=np.int64).reshape(-1, 4)
        rows.append(sent.T)
    table = np.concatenate(rows, axis=1)
    distinct, row = np.unique(table[:3], axis=1, return_inverse=True)
    messages = np.zeros(distinct.shape[1], dtype=np.int64)
    np.add.at(messages, row.reshape(-1), table[3])
    source, destination, size_bytes = distinct
    return Communication(communication.ranks, source, destination, size_bytes, messages, ())


def _sends(collective: Collective, library: str) -> Iterator[tuple[int, int, int, int]]:
    members = collective.communicator
    if collective.sizes is not None:
        yield from _sends_of_blocks(collective, collective.sizes, library)
        return
    arguments = (len(members), collective.root, collective.bytes, collective.datatype_bytes)
    for rank, world_rank in enumerate(members):
        for kind, peer, _, size_bytes in steps(library, collective.call, rank, *arguments):
            if kind == SEND:
                yield world_rank, members[peer], size_bytes, collective.calls


def _sends_of_blocks(
    collective: Collective, sizes: np.ndarray, library: str
) -> Iterator[tuple[int, int, int, int]]:
    members = collective.communicator
    algorithm = _core.collectives.select(
        library, "alltoallv", size=len(members), element_bytes=collective.datatype_bytes
    )
    for rank, world_rank in enumerate(members):
        found = _core.collectives.steps(
            "alltoallv",
            algorithm,
            rank=rank,
            size=len(members),
            element_bytes=collective.datatype_bytes,
            sizes=sizes[rank].tolist(),
            receive_sizes=sizes[:, rank].tolist(),
        )
        for kind, peer, _, size_bytes, _ in found:
            if kind == SEND:
                yield world_rank, members[peer], size_bytes, collective.calls

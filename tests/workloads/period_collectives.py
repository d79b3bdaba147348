# SPDX-License-Identifier: BSD-3-Clause
"""Collectives as messages, as MPICH2 1.0 (and MVAPICH2 of 2006, made from it) sent them, for powers of two of ranks.

Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19 (2005): binomial
trees for short broadcasts and reductions, recursive doubling for short allreduces, pairwise exchange for long
all-to-alls, dissemination for barriers.
"""

from collections import Counter

from rankwise.workloads import Collective, Communication

SHORT_REDUCTION_BYTES = 2048
LONG_ALLTOALL_BYTES = 32768


def binomial_tree(size):
    """Edges (parent, child) of the tree with root 0."""
    return [(child - (child & -child), child) for child in range(1, size)]


def messages_of_one_call(call: str, size: int, root: int, size_bytes: int):
    """Messages (source, destination, bytes) in ranks of the communicator."""
    steps = [1 << k for k in range(size.bit_length() - 1)]
    if call == "MPI_Barrier":
        return [(r, (r + d) % size, 0) for d in steps for r in range(size)]
    if call == "MPI_Bcast":
        return [((p + root) % size, (c + root) % size, size_bytes) for p, c in binomial_tree(size)]
    if call == "MPI_Reduce":
        assert size_bytes <= SHORT_REDUCTION_BYTES
        return [((c + root) % size, (p + root) % size, size_bytes) for p, c in binomial_tree(size)]
    if call == "MPI_Allreduce":
        assert size_bytes <= SHORT_REDUCTION_BYTES
        return [(r, r ^ d, size_bytes) for d in steps for r in range(size)]
    assert call == "MPI_Alltoall"
    return [(r, r ^ d, size_bytes) for d in range(1, size) for r in range(size)]


def decomposed(communication: Communication) -> Counter:
    """All messages between different ranks: (source, destination, bytes) -> how many."""
    counts: Counter = Counter()
    for source, destination, size_bytes, messages in zip(
        communication.source.tolist(),
        communication.destination.tolist(),
        communication.bytes.tolist(),
        communication.messages.tolist(),
        strict=True,
    ):
        if source != destination:
            counts[source, destination, size_bytes] += messages
    for collective in communication.collectives:
        _add(counts, collective)
    return counts


def _add(counts: Counter, collective: Collective) -> None:
    members = collective.communicator
    if collective.call == "MPI_Alltoall":
        assert collective.bytes > LONG_ALLTOALL_BYTES
    for source, destination, size_bytes in messages_of_one_call(
        collective.call, len(members), collective.root, collective.bytes
    ):
        counts[members[source], members[destination], size_bytes] += collective.calls

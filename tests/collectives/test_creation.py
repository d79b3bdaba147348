# SPDX-License-Identifier: BSD-3-Clause
"""What each library sends to make a communicator, in numbers that were counted, or follow from its sources."""

import pytest
from monitored import modelled_creation
from rankwise._core import collectives

# Ranks -> messages, bytes. Of Open MPI 5 as its monitoring component counted them; of MPICH: 260 bytes by
# Rabenseifner's algorithm, with two messages of all bytes for the rank beyond a power of two; colours and keys by
# recursive doubling or Bruck's algorithm.
AGREED_MPICH = {2: (4, 520), 5: (18, 2080), 16: (128, 7800)}
SPLIT_MPICH = {2: (6, 520 + 16), 5: (33, 2080 + 160), 16: (192, 7800 + 1920)}
AGREED = {2: (6, 24), 5: (24, 96), 16: (90, 360)}
SPLIT = {2: (8, 40), 5: (39, 256), 16: (154, 2280)}
KNOWN = [
    ("mpich", "MPI_Comm_dup", AGREED_MPICH),
    ("mpich", "MPI_Comm_create", AGREED_MPICH),
    ("mpich", "MPI_Cart_create", AGREED_MPICH),
    ("mpich", "MPI_Comm_split", SPLIT_MPICH),
    ("mpich", "MPI_Cart_sub", SPLIT_MPICH),
    ("mpich", "MPI_Comm_split_type", {n: (2 * m, 2 * b) for n, (m, b) in SPLIT_MPICH.items()}),
    ("openmpi", "MPI_Comm_dup", AGREED),
    ("openmpi", "MPI_Cart_create", AGREED),
    ("openmpi-4", "MPI_Graph_create", AGREED),
    ("openmpi", "MPI_Dist_graph_create_adjacent", AGREED),
    ("openmpi", "MPI_Comm_split", SPLIT),
    ("openmpi-4", "MPI_Comm_split", SPLIT),
    ("openmpi", "MPI_Comm_split_type", {2: (8, 72), 5: (34, 336), 16: (154, 1896)}),
]


@pytest.mark.parametrize(("library", "function", "known"), KNOWN)
def test_messages_and_bytes_are_those_that_are_known(library, function, known):
    for size, expected in known.items():
        pairs = modelled_creation(function, size, library).values()
        assert (sum(each[0] for each in pairs), sum(each[1] for each in pairs)) == expected


def test_a_grid_that_may_be_reordered_is_a_split_in_mpich_only():
    for function in ("MPI_Cart_create", "MPI_Graph_create"):
        assert collectives.creation("mpich", function, reorder=True) == collectives.creation(
            "mpich", "MPI_Comm_split"
        )
        assert collectives.creation("openmpi", function, reorder=True) == collectives.creation(
            "openmpi", "MPI_Comm_dup"
        )


@pytest.mark.parametrize(
    "function", ["MPI_Comm_create_group", "MPI_Comm_idup", "MPI_Intercomm_merge", "MPI_Comm_spawn"]
)
def test_of_others_nothing_is_known(function):
    assert collectives.creation("mpich", function) == []
    assert collectives.creation("openmpi", function) == []

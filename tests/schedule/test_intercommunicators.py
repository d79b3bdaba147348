# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of intercommunicators become messages between and within their two groups."""

from __future__ import annotations

import pytest
from raw_writer import write_recording
from traced import ranks_of

from rankwise.schedule.source import load

ROOT_HERE, BESIDE = -3, -1
LEFT, RIGHT = [0, 1, 2], [3, 4]
ROOTED = {"MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Scatter", "MPI_Gatherv", "MPI_Scatterv"}


def schedule_of(tmp_path, calls, library="mpich"):
    """Of three ranks and two: `calls(rank, root)` makes one rank's call; the root is rank 1 of the left group."""
    ranks = ranks_of(5)
    for rank in ranks:
        groups = (LEFT, RIGHT) if rank.world_rank in LEFT else (RIGHT, LEFT)
        rank.comm(2, groups[0], remote=groups[1])
        calls(rank, {1: ROOT_HERE, 3: 1, 4: 1}.get(rank.world_rank, BESIDE))
    return load(write_recording(tmp_path / "x.rw", ranks), library)


def messages(source):
    """Source, destination and bytes of all messages, as GOAL has them."""
    found = []
    for block in source.schedule.write_goal().split("rank ")[1:]:
        rank = block.split()[0]
        for line in block.splitlines():
            if ": send " in line:
                _, _, size, _, peer, *_ = line.split()
                found.append((int(rank), int(peer), int(size.removesuffix("b"))))
    return sorted(found)


def test_a_broadcast_goes_to_the_first_of_the_other_group_and_down(tmp_path):
    source = schedule_of(tmp_path, lambda rank, root: rank.coll("MPI_Bcast", 100, comm=2, root=root))
    assert messages(source) == [(1, 3, 100), (3, 4, 100)]
    assert source.omitted == {}


def test_a_reduction_goes_up_within_the_other_group_and_to_the_root(tmp_path):
    source = schedule_of(tmp_path, lambda rank, root: rank.coll("MPI_Reduce", 80, comm=2, root=root))
    assert messages(source) == [(3, 1, 80), (4, 3, 80)]


def test_each_group_gets_what_the_other_reduced(tmp_path):
    # GIVEN 8 bytes: too few to be cut, so both ways are trees
    source = schedule_of(tmp_path, lambda rank, root: rank.coll("MPI_Allreduce", 8, comm=2))
    left = [(1, 0, 8), (2, 0, 8), (0, 1, 8), (0, 2, 8)]
    right = [(4, 3, 8), (3, 4, 8)]
    assert messages(source) == sorted([*left, *right, (0, 3, 8), (3, 0, 8)])


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("mpich", [(3, 1, 5000), (4, 1, 5000)]),  # long: directly
        ("openmpi", [(3, 1, 10000), (4, 3, 5000)]),
    ],
)
def test_a_gather_of_long_blocks(tmp_path, library, expected):
    calls = lambda rank, root: rank.coll("MPI_Gather", 5000, comm=2, root=root)  # noqa: E731
    assert messages(schedule_of(tmp_path, calls, library)) == expected


def test_all_to_all_goes_across_only_with_the_sizes_that_senders_say(tmp_path):
    def calls(rank, _):
        others = RIGHT if rank.world_rank in LEFT else LEFT
        sizes = [10 * rank.world_rank + k for k in range(len(others))]
        rank.coll("MPI_Alltoallv", sum(sizes), comm=2, sizes=sizes)

    expected = [(a, b, 10 * a + k) for a in LEFT for k, b in enumerate(RIGHT)]
    expected += [(b, a, 10 * b + k) for b in RIGHT for k, a in enumerate(LEFT)]
    assert messages(schedule_of(tmp_path, calls)) == sorted(expected)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
@pytest.mark.parametrize("size", [8, 3000, 100000])
@pytest.mark.parametrize(
    "call",
    [
        *sorted(ROOTED),
        *("MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall"),
        *("MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Ibcast", "MPI_Iallreduce"),
    ],
)
def test_all_messages_of_all_operations_meet(tmp_path, call, size, library):
    # GIVEN reductions to blocks of as many bytes in all for both groups, as MPI wants it
    def calls(rank, root):
        others = RIGHT if rank.world_rank in LEFT else LEFT
        own = 5 - len(others)
        block = size // own if "scatter_block" in call or call == "MPI_Reduce_scatter" else size
        sizes = [size] * len(others) if call in ("MPI_Gatherv", "MPI_Scatterv") and root == ROOT_HERE else []
        total = size if call == "MPI_Reduce_scatter" else size * len(others)
        rooted = call in ROOTED or call == "MPI_Ibcast"
        rank.coll(call, block, comm=2, root=root if rooted else -1, element=1, size2=total, sizes=sizes)
        if call.startswith("MPI_I"):
            rank.waitall(1)

    # THEN nothing is left over, and something goes each way that it must
    source = schedule_of(tmp_path, calls, library)
    across = {(a in LEFT, b in LEFT) for a, b, _ in messages(source) if (a in LEFT) != (b in LEFT)}
    down, up = (True, False), (False, True)
    if "cast" in call or "Scatter" in call:
        assert across == {down}
    elif call in ROOTED:
        assert across == {up}
    else:
        assert across == {down, up}
    assert source.omitted == {}


SPAWNED = 0xFFFFFFFE


def test_collectives_with_spawned_processes_are_left_out_and_said(tmp_path):
    # GIVEN two ranks with an intercommunicator to two that were spawned, and all of them in one communicator
    ranks = ranks_of(2)
    for rank in ranks:
        rank.comm(2, [0, 1], remote=[SPAWNED, SPAWNED])
        rank.comm(3, [0, 1, SPAWNED, SPAWNED], instance=1)
        for comm in (2, 3):
            rank.coll("MPI_Barrier", 0, comm=comm)
            rank.coll("MPI_Alltoall", 8, comm=comm)
        rank.coll("MPI_Barrier", 0)
    source = load(write_recording(tmp_path / "x.rw", ranks), "mpich")
    # THEN what remains is the barrier of the two
    assert messages(source) == [(0, 1, 0), (1, 0, 0)]
    assert set(source.omitted.values()) == {4}
    assert all("partners are not known" in what for what in source.omitted)

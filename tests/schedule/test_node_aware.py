# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that go by which ranks share a node are expanded anew for each placement."""

from __future__ import annotations

import numpy as np
import pytest
from machines import machine
from raw_writer import write_recording
from traced import ranks_of

from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.schedules import partition
from rankwise.schedule.source import Source, load

MACHINE = machine({"L_s": 1e-5, "o_s": 1e-6}, {"L_s": 1e-6, "o_s": 1e-7}, nodes=4)
TOPOLOGY = topology_of(MACHINE, ".")


@pytest.fixture
def source_of(tmp_path):
    """A recording of eight ranks that make `calls`, as the library's own selection has it."""

    def make(calls, library="mpich", **more):
        ranks = ranks_of(8)
        for rank in ranks:
            for call in calls:
                rank.coll(call, 8, gap=1000, root=0 if call == "MPI_Bcast" else -1)
        return load(write_recording(tmp_path / "x.rw", ranks), library, **more)

    return make


def crossing(source, node):
    """Messages that leave their node, with two ranks on each of some nodes."""
    taken, ranks = {}, []
    for each in node:
        taken[each] = taken.get(each, -1) + 1
        ranks.append((each, [taken[each] % 2]))
    predictor = Predictor.of(source, MACHINE, TOPOLOGY)
    prediction = predictor.predict(Placement.explicit(TOPOLOGY, ranks))
    return int(prediction.interfaces["tx"]["messages"].sum())


BLOCKED, CYCLIC, MIXED = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3] * 2, [0, 1, 1, 0, 2, 3, 3, 2]


@pytest.mark.parametrize("node", [BLOCKED, CYCLIC, MIXED])
def test_mpich_sends_between_first_ranks_of_nodes_only(source_of, node):
    # GIVEN 8 bytes, so that four first ranks do recursive doubling: two messages each
    source = source_of(["MPI_Allreduce"])
    assert crossing(source, node) == 4 * 2
    # AND all others stay within the node, whatever was predicted before
    assert crossing(source, node) == 8


def test_broadcasts_and_barriers_do_so_too(source_of):
    assert crossing(source_of(["MPI_Bcast"]), CYCLIC) == 3


def test_open_mpi_5_reduces_between_nodes_and_broadcasts_back(source_of):
    # GIVEN four nodes: three messages to the first of them, and three back
    assert crossing(source_of(["MPI_Allreduce"], "openmpi"), BLOCKED) == 6
    assert crossing(source_of(["MPI_Allgather"], "openmpi"), CYCLIC) == 8


def test_nothing_changes_on_one_node_and_with_open_mpi_4(source_of):
    source = source_of(["MPI_Allreduce"])
    flat = source.schedule.messages
    assert source.expand is not None
    assert source.expand(np.zeros(8, dtype=np.uint32)).messages == flat
    tuned = source_of(["MPI_Allreduce"], "openmpi-4")
    assert tuned.expand is None
    # recursive doubling of eight ranks in three rounds, two of which cross
    assert crossing(tuned, BLOCKED) == 16


def test_programs_without_such_collectives_have_one_schedule(source_of):
    assert source_of(["MPI_Alltoall"]).expand is None


def test_in_windows_and_many_at_once_it_is_the_same(source_of):
    whole = source_of(["MPI_Allreduce", "MPI_Barrier", "MPI_Bcast"] * 20)
    windows = source_of(["MPI_Allreduce", "MPI_Barrier", "MPI_Bcast"] * 20, memory_bytes=1)
    assert windows.in_windows
    placements = [
        Placement.explicit(TOPOLOGY, [(n, [node[:r].count(n)]) for r, n in enumerate(node)])
        for node in (BLOCKED, CYCLIC, MIXED, BLOCKED)
    ]
    one, other = (Predictor.of(each, MACHINE, TOPOLOGY) for each in (whole, windows))
    expected = [one.predict(placement).makespan_s for placement in placements]
    assert [other.predict(placement).makespan_s for placement in placements] == expected
    assert one.makespans_s(placements).tolist() == expected
    assert other.makespans_s(placements).tolist() == expected
    # AND not what it would be without looking at nodes
    assert (
        Predictor.of(Source(whole.schedule), MACHINE, TOPOLOGY).predict(placements[1]).makespan_s
        != expected[1]
    )


def test_ties_in_another_order_are_those_of_the_expanded_schedule(source_of):
    source = source_of(["MPI_Allreduce"] * 3)
    placement = Placement.explicit(TOPOLOGY, [(n, [CYCLIC[:r].count(n)]) for r, n in enumerate(CYCLIC)])
    predictor = Predictor.of(source, MACHINE, TOPOLOGY)
    turned = predictor.in_order(np.arange(8, dtype=np.uint32)[::-1].copy())
    assert turned.predict(placement).interfaces["tx"]["messages"].sum() == 3 * 8


def test_nodes_are_numbered_as_they_come_up():
    assert partition(np.array([7, 3, 7, 0, 3])).tolist() == [0, 1, 0, 2, 1]

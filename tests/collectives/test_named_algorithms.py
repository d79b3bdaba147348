# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of collectives whose algorithm is named, and what combining costs."""

import numpy as np
import pytest

from rankwise import _core
from rankwise.errors import RankwiseError

MIB = 2**20


def schedule(collective: str, ranks: int, bytes: int, node=None, **how):
    builder = _core.schedule.ProgramBuilder(ranks, "mpich", "call")
    if node is not None:
        builder.place(node)
    for rank in range(ranks):
        builder.wait(rank, builder.collective(rank, collective, bytes=bytes, element_bytes=4, **how))
    return builder.finish()


def makespan_s(schedule, ranks: int) -> float:
    """On nodes of one rank each, where a message takes 10 us and 1 ns for each byte after the first."""
    segment = _core.machine.Segment(
        L_s=10e-6, o_s=0, o_receive_s=0, g_s=0, G_s_per_byte=1e-9, O_s_per_byte=0, up_to_bytes=None
    )
    link = _core.machine.LinkClass([segment], in_call=True, overlap=True, network=True, interrupts=False)
    machine = _core.machine.Machine(
        link_classes=[link], tx=_core.machine.Interface(), rx=_core.machine.Interface()
    )
    one_each = np.arange(ranks, dtype=np.uint32)
    placement = _core.machine.Placement(
        node=one_each,
        place=np.zeros(ranks, dtype=np.uint32),
        places=1,
        processor=one_each,
        capacity=np.ones(ranks, dtype=np.uint32),
        place_link=np.zeros(1, dtype=np.uint8),
        network_link=0,
        self_link=0,
    )
    return schedule.replay(machine, placement).makespan_s


def test_the_named_algorithm_is_taken_instead_of_the_librarys():
    # GIVEN an allreduce of 1 MiB on 8 ranks, which MPICH would do by Rabenseifner's algorithm
    # WHEN ring and recursive doubling are named
    ring = schedule("allreduce", 8, MIB, algorithm="ring")
    doubling = schedule("allreduce", 8, MIB, algorithm="recursive_doubling")
    # THEN each has its messages: 2 (n - 1) blocks of an eighth, log2 n whole buffers, from each rank
    assert (ring.messages, ring.bytes) == (8 * 14, 8 * 14 * MIB // 8)
    assert (doubling.messages, doubling.bytes) == (8 * 3, 8 * 3 * MIB)


def test_combining_takes_its_time_for_each_byte_received():
    # GIVEN recursive doubling of 1 MiB on 4 ranks: two rounds, each of a message
    a_round_s = 10e-6 + (MIB - 1) * 1e-9
    free = makespan_s(schedule("allreduce", 4, MIB, algorithm="recursive_doubling"), 4)
    assert free == pytest.approx(2 * a_round_s, abs=1e-11)
    # WHEN combining takes a quarter of a nanosecond a byte
    costly = schedule("allreduce", 4, MIB, algorithm="recursive_doubling", combine_s_per_byte=0.25e-9)
    # THEN each of both rounds is as much longer
    assert makespan_s(costly, 4) == pytest.approx(2 * (a_round_s + MIB * 0.25e-9), abs=1e-11)


def test_what_is_only_moved_is_not_combined():
    assert makespan_s(schedule("allgather", 4, MIB, combine_s_per_byte=1e-9), 4) == makespan_s(
        schedule("allgather", 4, MIB), 4
    )


def test_compositions_follow_the_nodes_that_are_given():
    # GIVEN an allreduce of one element on 8 ranks, on one node and on two
    flat = schedule("allreduce", 8, 4)
    by_nodes = schedule("allreduce", 8, 4, node=[0, 0, 0, 0, 1, 1, 1, 1])
    # THEN MPICH reduces and broadcasts in each node: 3 messages each, and 2 between the nodes
    assert flat.messages == 8 * 3
    assert by_nodes.messages == 2 * 3 + 2 + 2 * 3


def test_an_algorithm_of_another_collective_is_refused():
    with pytest.raises(RankwiseError, match="no algorithm `pairwise` for `allreduce`"):
        schedule("allreduce", 4, 8, algorithm="pairwise")


def test_nodes_of_other_ranks_are_refused():
    with pytest.raises(RankwiseError, match="nodes of `3` ranks for `4`"):
        schedule("allreduce", 4, 8, node=[0, 0, 1])

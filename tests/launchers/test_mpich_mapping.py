# SPDX-License-Identifier: BSD-3-Clause
"""Orders of hosts in which MPICH's ranks learn who is on their node."""

import pytest

from rankwise.launchers.mpich_mapping import host_order


@pytest.mark.parametrize("of_rank", [[0, 0, 1, 1], [2, 0, 1, 2, 0, 1], [0, 1, 1, 2, 0, 2]])
def test_hosts_stay_in_their_order_where_that_works(of_rank):
    # GIVEN ranks whose hosts come in turn, or with nothing repeated
    # WHEN an order is asked for THEN it is the given one
    assert host_order(of_rank, len(set(of_rank))) == tuple(range(len(set(of_rank))))


def test_ranks_in_several_repeating_groups_have_no_order():
    # GIVEN the order of hosts that was seen to hang in MPI_Init of MPICH 5.0.2
    of_rank = [0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1]
    # THEN there is none
    assert host_order(of_rank, 4) is None


def test_a_node_that_would_be_taken_for_a_repetition_gets_another_number():
    # GIVEN another one that was seen to hang: the repeat 0,2,3 is followed by node 1
    of_rank = [1, 0, 2, 3, 0, 2, 3, 1, 2, 3, 1, 0, 3, 1, 0, 2]
    # WHEN hosts may be in another order
    order = host_order(of_rank, 4)
    # THEN there is one that is not the given one
    assert sorted(order) == [0, 1, 2, 3] and order != (0, 1, 2, 3)

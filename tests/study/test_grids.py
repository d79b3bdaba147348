# SPDX-License-Identifier: BSD-3-Clause
"""What stays in a node of regular exchanges, against counting pair by pair."""

import itertools

import pytest

from rankwise.study.grids import branches_over_switches, far_levels_between_nodes, neighbours_in_node


@pytest.mark.parametrize(("sides", "cores"), [((4, 4), 4), ((6, 4), 3), ((4, 2, 2), 2), ((8,), 4)])
def test_neighbours_in_the_node_are_those_of_all_pairs(sides, cores):
    places = list(itertools.product(*map(range, sides)))
    pairs = [
        (a, b)
        for (a, p), (b, q) in itertools.combinations(enumerate(places), 2)
        if sum(abs(x - y) for x, y in zip(p, q, strict=True)) == 1
    ]
    nodes = len(places) // cores
    blocked = 100 * sum(a // cores == b // cores for a, b in pairs) / len(pairs)
    cyclic = 100 * sum(a % nodes == b % nodes for a, b in pairs) / len(pairs)
    assert neighbours_in_node(sides, cores) == pytest.approx((blocked, cyclic), abs=0.01)


def test_the_upper_levels_of_a_tree_stay_in_the_node_if_ranks_are_dealt():
    # GIVEN ranks 0 to 7 on four nodes of two: the edge of 0 and 4 is the only one over four ranks
    assert far_levels_between_nodes(8, 2) == (1, 0)
    # GIVEN 16 on four nodes of four: 0-4, 8-12 and 0-8
    assert far_levels_between_nodes(16, 4) == (3, 0)


def test_branches_within_switches_leave_them_once_each():
    # GIVEN 16 ranks under 4 switches of 4 nodes: three branches hang on the first
    assert branches_over_switches(16, 4)[0] == 3
    assert branches_over_switches(16, 4)[1] > 3

# SPDX-License-Identifier: BSD-3-Clause
"""What stays in a node of regular exchanges, against counting pair by pair."""

import itertools

import pytest

from rankwise.study.grids import branches_over_switches, neighbours_in_node, tree_edges_between_nodes


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


def test_a_trees_edges_are_counted_one_by_one():
    # GIVEN ranks 0 to 7 on four nodes of two: 0-1, 2-3, 4-5 and 6-7 stay in blocks, 0-4 with ranks dealt
    assert tree_edges_between_nodes(8, 2) == (3, 6)


def test_branches_within_switches_leave_them_once_each():
    # GIVEN 16 ranks under 4 switches of 4 nodes: three branches hang on the first
    assert branches_over_switches(16, 4)[0] == 3
    assert branches_over_switches(16, 4)[1] > 3

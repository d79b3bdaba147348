# SPDX-License-Identifier: BSD-3-Clause
"""Ranks whose sets of cores overlap share what they have in common, and no core is counted twice."""

from __future__ import annotations

import pytest

from rankwise.replay.processors import processors


def divided(*sets):
    return sizes(processors([frozenset((0, core) for core in each) for each in sets]))


def sizes(divided):
    processor, cores = divided
    return processor, [len(each) for each in cores]


def test_ranks_with_cores_of_their_own_have_a_processor_each():
    assert divided([2], [0], [1, 3]) == ([0, 1, 2], [1, 1, 2])


def test_ranks_with_the_same_cores_share_them_all():
    assert divided([0, 1], [0, 1], [2], [0, 1]) == ([0, 0, 1, 0], [2, 1])


def test_the_same_core_of_another_node_is_another_core():
    sets = [frozenset({(node, 0)}) for node in (0, 1, 0)]
    assert processors(sets) == ([0, 1, 0], sets[:2])


@pytest.mark.parametrize(
    ("sets", "speeds"),
    [
        # GIVEN a free rank beside a bound one: it moves to the other core
        ([[0, 1], [1]], [1, 1]),
        # two free ranks beside a bound one: three on two cores
        ([[0, 1], [0, 1], [1]], [2 / 3] * 3),
        # a free rank beside two that share a core: it keeps away from that
        ([[0, 1, 2, 3], [1], [1]], [1, 1 / 2, 1 / 2]),
        # a free rank where every core is taken: it takes a little from all
        ([[0, 1, 2, 3], [0], [1], [2], [3]], [4 / 5] * 5),
        # cores that a rank may use through two others
        ([[0], [0, 1], [1, 2], [2]], [3 / 4] * 4),
        # nested twice: the crowded core first, then the crowded pair, then the rest
        ([[0], [0], [0], [0, 1], [0, 1], [0, 1, 2, 3]], [1 / 3] * 3 + [1 / 2] * 2 + [1]),
    ],
)
def test_where_sets_overlap_each_rank_gets_its_fair_share(sets, speeds):
    processor, capacity = divided(*sets)
    users = [processor.count(each) for each in range(len(capacity))]
    # THEN no core is counted twice, and the ranks are as fast as these share
    assert sum(capacity) <= len({core for each in sets for core in each})
    assert [min(1, capacity[each] / users[each]) for each in processor] == pytest.approx(speeds)


def test_a_chain_of_sets_does_not_depend_on_the_order_of_ranks():
    sets = [[0], [0, 1], [1, 2], [2], [2]]
    processor, capacity = divided(*sets)
    backwards, same = divided(*sets[::-1])
    pairs = {(i, j) for i in range(5) for j in range(5) if processor[i] == processor[j]}
    assert pairs == {(i, j) for i in range(5) for j in range(5) if backwards[4 - i] == backwards[4 - j]}
    assert sorted(capacity) == sorted(same)

# SPDX-License-Identifier: BSD-3-Clause
"""Swaps by estimated predictions."""

import itertools
import time

import numpy as np

from rankwise.placement.climb import Moves, climb

NODE = np.array([0, 0, 0, 1, 1, 1])


def far_from(wanted: list[int]):
    """Estimator: how many ranks are not on the slot that is wanted for them."""
    return lambda slots: np.array(
        [1.0 + sum(a != b for a, b in zip(each, wanted, strict=True)) for each in slots]
    )


def run(start, wanted, fixed=(), keep_nodes=False, seconds=5.0):
    moves = Moves(NODE, frozenset(fixed), keep_nodes)
    return climb(start, moves, far_from(wanted), np.random.default_rng(1), time.monotonic() + seconds)[0]


def test_the_wanted_placement_is_reached():
    assert run([0, 1, 2, 3], [5, 0, 3, 1]) == [5, 0, 3, 1]


def test_fixed_ranks_and_nodes_stay():
    # GIVEN that rank 0 stays on slot 0, although it is wanted on 5
    assert run([0, 1, 2, 3], [5, 0, 3, 1], fixed=[0])[0] == 0
    # AND that nobody changes the node
    reached = run([0, 1, 4, 3], [2, 3, 0, 5], keep_nodes=True)
    assert reached[0] == 2 and reached[3] == 5
    assert [int(NODE[slot]) for slot in reached] == [0, 0, 1, 1]


def test_all_proposals_are_placements_and_differ():
    moves = Moves(NODE, frozenset(), False)
    proposals = moves.some([0, 1, 2, 3], 50, np.random.default_rng(0))
    # THEN they are the 6 swaps of two ranks and the 8 moves to an empty slot
    assert len(proposals) == 14
    assert all(len(set(each)) == 4 for each in proposals)
    assert all(a != b for a, b in itertools.combinations(proposals, 2))


def test_nothing_is_done_without_time():
    assert run([0, 1, 2, 3], [5, 0, 3, 1], seconds=-1) == [0, 1, 2, 3]


def test_ctrl_c_keeps_the_best_so_far():
    calls = []

    def estimator(slots):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return far_from([5, 0, 3, 1])(slots)

    slot, interrupted = climb(
        [0, 1, 2, 3],
        Moves(NODE, frozenset(), False),
        estimator,
        np.random.default_rng(1),
        time.monotonic() + 5,
    )
    assert interrupted and len(set(slot)) == 4


def test_the_same_seed_asks_for_the_same_placements_however_long_that_takes():
    # GIVEN an estimate, and one that takes a while now and then
    wanted = [3, 1, 2, 0, 5, 4, 7, 6]

    def asked(delay_s):
        batches = []

        def estimator(slots):
            time.sleep(delay_s * (len(batches) % 3))
            batches.append([list(each) for each in slots])
            return far_from(wanted)(slots)

        moves = Moves(np.zeros(8, dtype=int), frozenset(), False)
        climb(list(range(8)), moves, estimator, np.random.default_rng(3), time.monotonic() + 60)
        return batches

    # WHEN the same seed climbs with both and there is time enough THEN both are asked the same
    assert asked(0.0) == asked(0.004)


def test_the_best_time_so_far_is_told_and_never_rises():
    # GIVEN a climb
    told = []
    wanted = [3, 1, 2, 0, 5, 4, 7, 6]
    moves = Moves(np.zeros(8, dtype=int), frozenset(), False)
    # WHEN it runs
    end = time.monotonic() + 60
    slot, _ = climb(list(range(8)), moves, far_from(wanted), np.random.default_rng(3), end, told.append)
    # THEN what it told went down to the time of what it gave
    assert told == sorted(told, reverse=True) and told[0] > told[-1]
    assert told[-1] == far_from(wanted)([slot])[0]

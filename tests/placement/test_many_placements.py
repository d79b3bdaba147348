# SPDX-License-Identifier: BSD-3-Clause
"""Many placements of one schedule: replayed in threads, estimated without a queue."""

import numpy as np
import pytest
from machines import machine
from reference import Op
from replaying import schedule_of

from rankwise.errors import RankwiseError
from rankwise.machine.placement import Placement
from rankwise.placement.estimate_error import EstimateError, kendall
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

RANKS = 8
LINK = {"L_s": 1e-6, "o_s": 1e-7, "g_s": 1e-7, "G_s_per_byte": 1e-10}
MACHINE = machine(LINK, LINK | {"L_s": 2e-7}, nic_bytes_per_s=1e9)


def pairs(steps=5, size=10000, distance=1):
    """Ranks r and r + distance exchange messages, between computations of different length."""
    ranks = [[] for _ in range(RANKS)]
    for step in range(steps):
        for r, own in enumerate(ranks):
            peer = r + distance if r // distance % 2 == 0 else r - distance
            before = [len(own) - 1] if own else []
            own.append(Op("calc", 5000 + 700 * ((r * 5 + step) % 8), requires=before))
            at = len(own)
            own += [Op("recv", size, peer, requires=[at - 1]), Op("send", size, peer, requires=[at - 1])]
            own.append(Op("calc", 0, requires=[at, at + 1]))
    return schedule_of(ranks)


def predictor(schedule=None):
    return Predictor.of(Source(schedule or pairs()), MACHINE)


def placed(predictor, order):
    """Rank r on the order[r]-th core of all."""
    return Placement.explicit(predictor.topology, [(int(k) // 2, [int(k) % 2]) for k in order])


def shuffled(predictor, count):
    rng = np.random.default_rng(3)
    return [placed(predictor, rng.permutation(RANKS)) for _ in range(count)]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_replays_in_threads_are_the_replays_one_by_one(threads):
    p = predictor()
    placements = shuffled(p, 11)
    together = p.makespans_s(placements, threads)
    assert together.tolist() == [p.makespan_s(each) for each in placements]


def test_the_estimate_is_exact_where_nothing_queues_in_another_order():
    # GIVEN a chain through all ranks, in which one thing happens after the other
    ranks = [[Op("calc", 1000), Op("send", 500, 1, requires=[0])]]
    for r in range(1, RANKS):
        own = [Op("recv", 500, r - 1), Op("calc", 300 * r, requires=[0])]
        ranks.append([*own, Op("send", 500, r + 1, requires=[1])] if r < RANKS - 1 else own)
    p = predictor(schedule_of(ranks))
    placements = shuffled(p, 20)
    assert p.estimates_s(placements) == pytest.approx(p.makespans_s(placements), rel=1e-12)


@pytest.mark.parametrize("S", [0, 10**6])
def test_the_estimate_of_the_first_placement_errs_by_its_simplifications_only(S):
    network = LINK | {"S": S}
    p = Predictor.of(Source(pairs()), machine(network, network | {"L_s": 2e-7}, nic_bytes_per_s=1e9))
    placements = [placed(p, range(RANKS))]
    assert p.estimates_s(placements) == pytest.approx(p.makespans_s(placements), rel=1e-3)


def test_the_estimate_sees_processors_that_ranks_share():
    p = predictor(schedule_of([[Op("calc", 6000)] for _ in range(4)]))
    placements = [placed(p, [0, 1, 2, 3]), placed(p, [0, 0, 0, 1])]
    assert p.estimates_s(placements) == pytest.approx([6e-6, 18e-6])


def test_the_estimate_serves_what_comes_early_in_idle_time():
    # GIVEN two senders on one node; rank 0's message is large and comes after rank 1's
    ranks = [
        [Op("calc", 30000), Op("send", 20000, 2, requires=[0])],
        [Op("calc", 1000), Op("send", 10, 3, requires=[0])],
        [Op("recv", 20000, 0), Op("calc", 5000, requires=[0])],
        [Op("recv", 10, 1), Op("calc", 50000, requires=[0])],
    ]
    p = predictor(schedule_of(ranks))
    # WHEN another placement has them the other way round, or apart
    placements = [placed(p, order) for order in ([0, 1, 2, 3], [2, 3, 0, 1], [0, 2, 4, 6], [0, 2, 1, 3])]
    # THEN nobody waits for who has not come yet
    assert p.estimates_s(placements) == pytest.approx(p.makespans_s(placements), rel=1e-9)


def test_the_estimate_ranks_placements_as_replays_do():
    # GIVEN ranks that exchange with their neighbour, and one placement that keeps all pairs within a node
    p = predictor()
    apart = [placed(p, [0, 2, 4, 6, 1, 3, 5, 7])] + [placed(p, [0, 2, 1, 3, 4, 6, 5, 7])] * 9
    placements = [*apart, placed(p, range(RANKS)), *shuffled(p, 20)]
    estimated, replayed = p.estimates_s(placements), p.makespans_s(placements)
    # THEN it is the best of all, and the others are not far from their replays
    assert np.argmin(estimated) == np.argmin(replayed) == 10
    assert np.abs(estimated / replayed - 1).mean() < 0.2


def test_an_error_of_one_placement_is_raised():
    p = predictor(schedule_of([[Op("recv", 1, 1), Op("send", 1, 1, requires=[0])],
                               [Op("recv", 1, 0), Op("send", 1, 0, requires=[0])]]))  # fmt: skip
    placements = [placed(p, [0, 1]), placed(p, [0, 2])]
    for judges in (p.makespans_s, p.estimates_s):
        with pytest.raises(RankwiseError, match="deadlock"):
            judges(placements)


def test_no_placement_has_no_makespan():
    assert predictor().makespans_s([]).tolist() == predictor().estimates_s([]).tolist() == []


def test_an_estimate_that_is_kept_gives_what_a_new_one_does():
    p, placements = predictor(), shuffled(predictor(), 12)
    some, others = placements[:6], placements[6:]
    fresh = [predictor().estimates_s(each).tolist() for each in (some, others)]
    # WHEN one schedule is estimated from one placement, again, from another one, on another machine, and as at first
    kept = [p.estimates_s(each).tolist() for each in (some, some, others)]
    slower = p.variant(machine(LINK | {"L_s": 1e-3}, LINK | {"L_s": 1e-3}), p.switches)
    assert (slower.estimates_s(some) > np.array(fresh[0])).all()
    kept.append(p.estimates_s(some).tolist())
    # THEN the first placement and the machine decide, and nothing else
    assert kept == [fresh[0], fresh[0], fresh[1], fresh[0]]


def test_kendalls_tau_is_one_for_the_same_order_and_counts_ties():
    one = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall(one, 10 * one) == 1 and kendall(one, -one) == -1
    assert kendall(one, np.array([1.0, 2.0, 2.0, 3.0])) == pytest.approx(5 / np.sqrt(6 * 5))
    assert np.isnan(kendall(one, np.ones(4)))


def test_estimates_are_as_far_from_replays_as_the_mean_of_their_parts():
    replayed = np.array([1.0, 2.0, 4.0])
    error = EstimateError.of(np.array([1.1, 1.8, 4.0]), replayed)
    assert error == EstimateError(placements=3, gap=pytest.approx(0.2 / 3), tau=1)
    assert EstimateError.of(-replayed, replayed) == EstimateError(placements=3, gap=2, tau=-1)
    assert EstimateError.of(np.ones(2), np.array([0.0, 1.0])) == EstimateError(
        placements=2, gap=None, tau=None
    )

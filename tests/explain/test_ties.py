# SPDX-License-Identifier: BSD-3-Clause
"""Events of one time: whom is served first depends on no name and no order of the input, and its effect is told."""

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import machine
from reference import goal
from schedules import schedules

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.explain.critical_path import critical_path
from rankwise.explain.explanation import explain
from rankwise.explain.ties import tie_spread
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.placement.simple import allocate
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source

# Two ranks of a node send to two others at one time; the second one's receiver has much to do yet.
ANOMALY = (
    "num_ranks 4\nrank 0 {\nsend 10000b to 2\n}\nrank 1 {\nsend 10000b to 3\n}\nrank 2 {\nrecv 10000b from 0\n}\n"
    "rank 3 {\nr: recv 10000b from 1\nc: calc 50000\nc requires r\n}\n"
)
SEATS = [(0, 0), (0, 1), (1, 0), (2, 0)]


def predictor_of(text, where):
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    return Predictor.of(Source(schedule), where, topology_of(where, "."))


def placed(predictor, seats):
    return Placement.explicit(predictor.topology, [(node, [core]) for node, core in seats])


def predicted(text, where, seats):
    """With ties served in the order that names do not change."""
    predictor = predictor_of(text, where)
    placement = placed(predictor, seats)
    try:
        return predictor.in_canonical_order(placement).predict(placement)
    except RankwiseError as error:
        assume(not error.message.startswith("deadlock"))
        raise


def test_the_spread_of_other_orders_is_told():
    # GIVEN a tie at an interface: the one message that is served second waits 10 us
    predictor = predictor_of(ANOMALY, machine(nic_bytes_per_s=1e9))
    placement = placed(predictor, SEATS)
    makespan = predictor.predict(placement).makespan_s
    assert makespan == pytest.approx(70e-6)
    # THEN other orders are 10 us faster, or as fast
    spread = tie_spread(predictor, placement, makespan, orders=8)
    assert (spread.low_s, spread.high_s, spread.orders) == (pytest.approx(60e-6), makespan, 8)


def test_without_a_tie_no_order_changes_anything():
    predictor = predictor_of(ANOMALY.replace("send 10000b to 3", "calc 1\nsend 9999b to 3"), machine())
    placement = placed(predictor, SEATS)
    makespan = predictor.predict(placement).makespan_s
    spread = tie_spread(predictor, placement, makespan)
    assert (spread.low_s, spread.high_s) == (makespan, makespan)


def blocks(text):
    """The first line of GOAL text, and the blocks of its ranks."""
    head, *ranks = text.split("rank ")
    return head, ["rank " + each for each in ranks]


@settings(max_examples=60, deadline=None)
@given(schedules(), st.randoms(use_true_random=False))
def test_blocks_and_edges_of_the_input_may_come_in_any_order(ops, shuffled):
    where = machine(nic_bytes_per_s=1e9)
    text = goal(ops)
    before = predicted(text, where, SEATS[: len(ops)])
    # GIVEN the same file with its ranks in another order, and each rank's edges
    head, ranks = blocks(text)
    for at, block in enumerate(ranks):
        first, *lines, last = block.strip().split("\n")
        edges = [line for line in lines if "requires" in line]
        shuffled.shuffle(edges)
        ranks[at] = "\n".join([first, *(line for line in lines if "requires" not in line), *edges, last, ""])
    shuffled.shuffle(ranks)
    # THEN everything is as it was
    after = predicted(head + "".join(ranks), where, SEATS[: len(ops)])
    assert after.finish_s.tolist() == before.finish_s.tolist()


def renaming(data, most):
    ops = data.draw(schedules())
    costs = {"L_s": 3e-9, "o_s": 2e-9, "G_s_per_byte": 1e-9, "S": data.draw(st.sampled_from([0, 50, 10**6]))}
    where = machine(costs, costs, nic_bytes_per_s=1e9)
    seats = data.draw(
        st.lists(
            st.sampled_from([(n, c) for n in range(most) for c in (0, 1)]),
            min_size=len(ops),
            max_size=len(ops),
        )
    )
    before = predicted(goal(ops), where, seats)
    # GIVEN the same program with its ranks called otherwise, on nodes that are called otherwise
    ranks = data.draw(st.permutations(range(len(ops))))
    nodes = data.draw(st.permutations(range(4)))
    renamed, seats_now = [None] * len(ops), [None] * len(ops)
    for rank, name in enumerate(ranks):
        for op in ops[rank]:
            if op.kind != "calc" and op.peer in range(len(ops)):
                op.peer = ranks[op.peer]
        renamed[name], seats_now[name] = ops[rank], (nodes[seats[rank][0]], seats[rank][1])
    # THEN it takes as long, interfaces, shared cores and ties included
    assert predicted(goal(renamed), where, seats_now).makespan_s == before.makespan_s


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_names_of_ranks_and_nodes_do_not_change_the_makespan(data):
    renaming(data, 3)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.data())
def test_names_of_ranks_and_nodes_do_not_change_the_makespan_of_many_programs(data):
    renaming(data, data.draw(st.integers(1, 4)))


def test_a_larger_program_with_many_ties_does_not_care_for_names():
    # GIVEN 16 ranks of which each sends to all others at once and then computes, every one another time; four to a node
    ranks, rng = 16, random.Random(1)
    lines = {
        rank: [f"r{k}: recv 5000b from {{{(rank - k) % ranks}}}" for k in range(1, ranks)]
        for rank in range(ranks)
    }
    for rank, own in lines.items():
        own += [f"s{k}: send 4000b to {{{(rank + k) % ranks}}}" for k in range(1, ranks)]
        own += [f"c: calc {5000 * rank}", f"c requires r{1 + rank % 3}"]

    def text(names):
        own = [
            "\n".join([f"rank {names[r]} {{", *(line.format(*names) for line in lines[r]), "}"])
            for r in lines
        ]
        return f"num_ranks {ranks}\n" + "\n".join(own) + "\n"

    where = machine({"L_s": 1e-6}, {"L_s": 1e-7}, nic_bytes_per_s=1e9)
    seats = [(rank // 4, rank % 4 // 2) for rank in range(ranks)]
    names = list(range(ranks))
    times, by_number = set(), set()
    for _ in range(6):
        placed_now = [seats[names.index(name)] for name in range(ranks)]
        times.add(predicted(text(names), where, placed_now).makespan_s)
        predictor = predictor_of(text(names), where)
        by_number.add(predictor.predict(placed(predictor, placed_now)).makespan_s)
        rng.shuffle(names)
    # THEN it takes the same time under all names, which the order of numbers does not give
    assert len(times) == 1
    assert len(by_number) > 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_in_another_order_ranks_keep_their_results(data):
    # GIVEN a machine on which nothing is shared, so that ties change nothing
    ops = data.draw(schedules(chained=True))
    costs = {"L_s": 3e-9, "o_s": 2e-9, "G_s_per_byte": 1e-9, "S": data.draw(st.sampled_from([0, 10**6]))}
    predictor = predictor_of(goal(ops), machine(costs, costs))
    placement = allocate(len(ops), 4, 1, predictor.topology.nodes[0], "blocked")[0]
    try:
        before, replay = predictor.predict(placement), explain(predictor, placement)
    except RankwiseError:
        assume(False)
    other = predictor.in_order(np.array(data.draw(st.permutations(range(len(ops)))), dtype=np.uint32))
    after, again = other.predict(placement), explain(other, placement)
    # THEN every rank has what it had
    assert after.finish_s.tolist() == before.finish_s.tolist()
    for part, times in before.parts_s.items():
        assert after.parts_s[part].tolist() == times.tolist()
    for cause, times in replay.waiting.items():
        assert again.waiting[cause].tolist() == times.tolist()
    assert critical_path(again).rank_s.keys() <= set(range(len(ops)))
    ends = [np.bincount(each["rank"], each["end"], len(ops)) for each in (replay.timeline, again.timeline)]
    assert ends[0].tolist() == ends[1].tolist()


def test_a_deadlock_is_told_in_the_numbers_of_the_program():
    text = (
        "num_ranks 3\nrank 0 {\ncalc 5\n}\nrank 1 {\nr: recv 1b from 2\ns: send 1b to 2\ns requires r\n}\n"
        "rank 2 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n"
    )
    predictor = predictor_of(text, machine())
    placement = placed(predictor, SEATS[:3])
    with pytest.raises(RankwiseError, match="rank 1, line 6.*rank 2, line 11"):
        predictor.in_order(np.array([2, 0, 1], dtype=np.uint32)).predict(placement)


def test_an_order_that_is_none_is_refused():
    schedule = _core.schedule.Schedule.read_goal(ANOMALY, "x.goal")
    for position, expected in (
        ([0, 1], "`2` ranks for a program of `4`"),
        ([0, 0, 1, 2], "rank `1` has no place"),
    ):
        with pytest.raises(RankwiseError, match=expected):
            schedule.renumbered(np.array(position, dtype=np.uint32))

# SPDX-License-Identifier: BSD-3-Clause
"""Nodes with several interfaces: which one a message passes, in closed form and against the slow reference (M15)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from interfaces_reference import NO_SWITCHES, InterfacesReference, Several
from machine_reference import Link, Place
from paths_reference import Switched
from reference import Op
from replaying import picoseconds, schedule_of, switches, with_several
from schedules import examples, schedules
from test_against_reference import SHAPES, agree, places, small

L, SIZE = 3000, 1000
FREE = Link()


def place(nodes, **interfaces):
    return Place(node=list(nodes), itself=FREE, inside=FREE, network=Link(L=L, network=True), **interfaces)


def messages(*pairs, ranks=4, size=SIZE):
    """Each pair's first rank sends to its second."""
    found = [[] for _ in range(ranks)]
    for source, target in pairs:
        found[source].append(Op("send", size, target))
        found[target].append(Op("recv", size, source))
    return found


def replay(pairs, several, where, ranks=4, network=None, size=SIZE, **how):
    return schedule_of(messages(*pairs, ranks=ranks, size=size)).replay(
        **with_several(where, several, network), **how
    )


def finish(result):
    return [round(time * 1e9) for time in result.finish_s]


def near(*of_rank, number=2, **more):
    return Several(number, list(of_rank), [False] * len(of_rank), **more)


TWO_NODES = place((0, 0, 1, 1), tx_byte=2, rx_byte=2)


def test_messages_of_one_interface_queue_and_those_of_two_do_not():
    # GIVEN two messages from a node to another at 2 ns a byte: over one interface, two at each end, two at one
    one = replay([(0, 2), (1, 3)], near(0, 0, 0, 0), TWO_NODES)
    two = replay([(0, 2), (1, 3)], near(0, 1, 0, 1), TWO_NODES)
    into_one = replay([(0, 2), (1, 3)], near(0, 1, 1, 1), TWO_NODES)
    # THEN the second waits for the first where they meet
    assert finish(one)[2:] == [L + 2 * SIZE, L + 4 * SIZE]
    assert finish(two)[2:] == [L + 2 * SIZE, L + 2 * SIZE]
    assert finish(into_one)[2:] == [L + 2 * SIZE, L + 4 * SIZE]
    assert one.tx["bytes"].tolist() == [2 * SIZE, 0, 0, 0]
    assert two.tx["bytes"].tolist() == [SIZE, SIZE, 0, 0]
    assert into_one.rx["messages"].tolist() == [0, 0, 0, 2]
    assert round(into_one.rx["queued_s"][3] * 1e9) == 2 * SIZE


def test_an_interface_far_from_its_rank_adds_its_latency_at_either_end():
    for is_far, detours in (([0, 0], 0), ([1, 0], 1), ([0, 1], 1), ([1, 1], 2)):
        several = Several(2, [0, 0, 0, 0], [is_far[0], 0, is_far[1], 0], far=70)
        assert finish(replay([(0, 2)], several, TWO_NODES))[2] == L + detours * 70 + 2 * SIZE


def test_request_answer_and_data_of_a_rendezvous_are_each_as_far():
    where = place((0, 0, 1, 1), tx_byte=2, rx_byte=2)
    where.network.S = 0
    several = Several(2, [0, 0, 0, 0], [1, 0, 1, 0], far=70)
    assert finish(replay([(0, 2)], several, where))[2] == L + 3 * 2 * 70 + 2 * SIZE


def test_a_large_message_passes_all_interfaces_at_once():
    # GIVEN messages that are cut from 1000 bytes on
    several = near(0, 0, 0, 0, number=4, striped_from=SIZE)
    alone = replay([(0, 2)], several, TWO_NODES)
    # THEN each interface has a quarter, and of two messages at once the second waits for that of the first
    assert finish(alone)[2] == L + 2 * SIZE // 4
    assert alone.tx["bytes"].tolist() == [SIZE // 4] * 4 + [0] * 4
    assert alone.rx["messages"].tolist() == [0] * 4 + [1] * 4
    both = replay([(0, 2), (1, 3)], several, TWO_NODES)
    assert finish(both)[2:] == [L + 2 * SIZE // 4, L + 4 * SIZE // 4]
    # AND one byte less passes one
    below = replay([(0, 2)], several, TWO_NODES, size=SIZE - 1)
    assert finish(below)[2] == L + 2 * (SIZE - 1)


def test_messages_are_cut_over_the_rank_s_own_interface_and_those_that_follow():
    # GIVEN two of four interfaces for each message, whose sender has the last and whose receiver the second
    several = near(3, 0, 1, 0, number=4, striped_from=SIZE, striped_over=2)
    result = replay([(0, 2)], several, TWO_NODES)
    assert finish(result)[2] == L + 2 * SIZE // 2
    assert result.tx["bytes"].tolist() == [SIZE // 2, 0, 0, SIZE // 2] + [0] * 4
    assert result.rx["bytes"].tolist() == [0] * 4 + [0, SIZE // 2, SIZE // 2, 0]


def test_a_part_waits_for_what_its_own_interface_still_has_to_do():
    # GIVEN a message over interface 1 and then a striped one, from another rank of the node
    several = near(1, 0, 0, 0, number=2, striped_from=SIZE)
    ranks = [
        [Op("send", 500, 2)],
        [Op("calc", 1), Op("send", SIZE, 3, requires=[0])],
        [Op("recv", 500, 0)],
        [Op("recv", SIZE, 1)],
    ]
    result = schedule_of(ranks).replay(**with_several(TWO_NODES, several))
    # THEN the part over interface 1 begins to leave when the message is through: both take 1000 ns of it
    assert finish(result)[2:] == [L + 1000, L + 2000]
    assert [round(time * 1e9) for time in result.tx["queued_s"]] == [0, 999, 0, 0]


def test_what_a_striped_message_went_into_adds_up_to_the_makespan():
    several = near(1, 0, 0, 0, number=2, striped_from=SIZE)
    ranks = [
        [Op("send", 500, 2)],
        [Op("calc", 1), Op("send", SIZE, 3, requires=[0])],
        [Op("recv", 500, 0)],
        [Op("recv", SIZE, 1)],
    ]
    path = schedule_of(ranks).explain(**with_several(TWO_NODES, several)).critical_path
    assert round(float(np.sum(path["to_s"] - path["from_s"])) * 1e9) == L + 2000


@st.composite
def several_interfaces(draw, ranks):
    number = draw(st.integers(1, 3))
    of_rank = [draw(st.integers(0, number - 1)) for _ in ranks]
    is_far = [draw(st.booleans()) for _ in ranks]
    striped_from = draw(st.sampled_from([None, None, 0, 2, 20]))
    over = draw(st.sampled_from([None, *range(1, number + 1)]))
    return Several(number, of_rank, is_far, draw(st.sampled_from([0, 5, 300])), striped_from, over)


@examples(250)
@given(schedules(), st.data())
def test_several_interfaces_are_equal_on_random_schedules(ranks, data):
    where, several = data.draw(places(ranks)), data.draw(several_interfaces(ranks))
    agree(
        InterfacesReference(ranks, where, several).run,
        lambda: picoseconds(schedule_of(ranks).replay(**with_several(where, several)).finish_s),
    )


@examples(150)
@given(schedules(), st.data())
def test_several_interfaces_behind_switches_are_equal_on_random_schedules(ranks, data):
    where, several = data.draw(places(ranks)), data.draw(several_interfaces(ranks))
    shape = data.draw(st.sampled_from(SHAPES))
    for link in (where.itself, where.inside, where.network):
        link.overlap = True
    hop, byte, message = data.draw(small), data.draw(small), data.draw(small)
    network = switches(shape, hop, byte, message)
    switched = Switched(network.way, lambda port: 0, hop, [message], [byte])
    agree(
        InterfacesReference(ranks, where, several, switched).run,
        lambda: picoseconds(schedule_of(ranks).replay(**with_several(where, several, network)).finish_s),
    )


@examples(60)
@given(schedules(), st.data())
def test_one_interface_that_is_named_is_as_one_that_is_not(ranks, data):
    where = data.draw(places(ranks))
    several = Several(
        1, [0] * len(ranks), [False] * len(ranks), striped_from=data.draw(st.sampled_from([None, 2]))
    )
    named = schedule_of(ranks)
    bare = with_several(where, Several(1, [0] * len(ranks), [False] * len(ranks)))
    agree(
        InterfacesReference(ranks, where, several, NO_SWITCHES).run,
        lambda: picoseconds(named.replay(**bare).finish_s),
    )


def random_exchange(ranks: int, seed: int):
    rng = np.random.default_rng(seed)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, ranks, (6 * ranks, 2)) if a != b]
    found = [[Op("calc", int(rng.integers(1, 50)))] for _ in range(ranks)]
    for a, b in pairs:
        size = int(rng.choice([1, 200, 5000]))
        found[a].append(Op("send", size, b, requires=[len(found[a]) - 1]))
        found[b].append(Op("recv", size, a))
    return found


def test_threads_and_one_order_give_the_same_bits():
    # GIVEN 40 nodes of 3 ranks and 2 interfaces
    count = 120
    where = place([r // 3 for r in range(count)], tx_byte=1, rx_byte=2, tx_message=20)
    where.network.G = 1
    of_rank, is_far = [r % 2 for r in range(count)], [r % 5 == 0 for r in range(count)]
    schedule = schedule_of(random_exchange(count, 3))
    for several in (
        Several(2, of_rank, is_far, far=40),
        Several(2, of_rank, is_far, far=40, striped_from=1000),
        Several(2, of_rank, is_far, far=40, striped_from=100_000),  # larger than any
    ):
        arguments = with_several(where, several)
        whole = schedule.replay(**arguments, in_one_order=True)
        for threads in (1, 2, 4):
            found = schedule.replay(**arguments, threads=threads)
            assert found.finish_s.tolist() == whole.finish_s.tolist()
            for key in ("messages", "bytes", "busy_s", "queued_s"):
                assert found.tx[key].tolist() == whole.tx[key].tolist()
                assert found.rx[key].tolist() == whole.rx[key].tolist()
        assert whole.queues == 1
    assert schedule.replay(**with_several(where, near(*of_rank))).queues == 40


def test_an_estimate_of_the_first_placement_equals_its_replay():
    # GIVEN messages that are served in the order in which they come, striped or not
    for how in ({}, {"striped_from": SIZE}, {"striped_from": SIZE, "number": 3, "striped_over": 2}):
        arguments = with_several(TWO_NODES, near(0, 1, 1, 1, **how))
        schedule = schedule_of(messages((0, 2), (1, 3), (0, 3)))
        found = schedule.estimates_s(arguments["machine"], [arguments["placement"]])
        assert found[0] == schedule.replay(**arguments).makespan_s

# SPDX-License-Identifier: BSD-3-Clause
"""Plain LogGOPS in closed form (formats/plain_loggops.md). Times in nanoseconds, parameters as LogGOPSim's defaults."""

import pytest
from reference import Op, Parameters
from replaying import plain

L, o, g, G, O, S = 2500, 1500, 1000, 6, 1, 65535  # noqa: E741 - the model's own letters
DEFAULT = Parameters(L=L, o=o, g=g, G=G, O=O, S=S)
ONLY = {
    name: Parameters(**{name: value}) for name, value in (("L", L), ("o", o), ("g", g), ("G", G), ("O", O))
}


def times(ranks, p=DEFAULT):
    return [time / 1000 for time in plain(ranks, p)]


def one_message(size, send_after=0, receive_after=0):
    sender = [Op("calc", send_after), Op("send", size, 1, requires=[0])]
    receiver = [Op("calc", receive_after), Op("recv", size, 0, requires=[0])]
    return [sender, receiver]


def flood(count, size):
    chain = [[i - 1] if i else [] for i in range(count)]
    return [
        [Op("send", size, 1, requires=c) for c in chain],
        [Op("recv", size, 0, requires=c) for c in chain],
    ]


@pytest.mark.parametrize("size", [1, 2, 1000, S])
def test_an_eager_message_takes_two_overheads_latency_and_its_bytes(size):
    # GIVEN a receive that is posted early
    finish = times(one_message(size))
    # THEN the sender is busy for its overhead, the receiver for all of it; G counts from the second byte, and beats O
    assert finish == [o + (size - 1) * O, o + L + o + (size - 1) * G]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("L", [0, L]), ("o", [o, 2 * o]), ("g", [0, 0]), ("G", [0, 99 * G]), ("O", [99 * O, 99 * O])],
)
def test_each_parameter_alone(name, expected):
    assert times(one_message(100), ONLY[name]) == expected


def test_an_unexpected_message_costs_its_receiver_when_it_comes_and_nothing_at_the_receive():
    # GIVEN a receiver that waits for rank 2 first, which sends much later
    late = 10**6
    receiver = [Op("recv", 1, 2), Op("recv", 100, 0, requires=[0])]
    finish = times([[Op("send", 100, 1)], receiver, [Op("calc", late), Op("send", 1, 1, requires=[0])]])
    # THEN nothing of the first message is left to be done after the second
    assert finish[:2] == [o + 99 * O, late + o + L + o]


def test_a_message_that_comes_during_a_computation_is_charged_after_it():
    late = 10**6
    assert times(one_message(100, receive_after=late)) == [o + 99 * O, late + o + 99 * G]


def test_messages_of_one_interface_keep_their_gap():
    # GIVEN g larger than o, so that the interface and not the processor is the limit
    p = Parameters(L=100, o=10, g=1000)
    assert times(flood(5, 1), p) == [4 * 1000 + 10, 4 * 1000 + 10 + 100 + 10]


def test_bytes_fill_the_gap():
    p = Parameters(L=100, o=10, G=3)
    # THEN each message holds the sender's interface, and the receiver's processor after it
    first = 10 + 100
    assert times(flood(4, 101), p) == [3 * 300 + 10, first + 4 * (10 + 300)]


def test_a_rendezvous_sender_goes_on_when_an_early_receiver_gets_the_message():
    size = S + 1
    sender, receiver = one_message(size)
    sender.append(Op("calc", 7, requires=[1]))
    arrives = o + L
    # THEN it waits for the latency only if that ends after its own overhead
    assert times([sender, receiver]) == [max(arrives, o + (size - 1) * O) + 7, arrives + o + (size - 1) * G]


def test_a_rendezvous_sender_waits_for_a_late_receiver():
    size, late = S + 1, 10**7
    sender, receiver = one_message(size, receive_after=late)
    sender.append(Op("calc", 7, requires=[1]))
    # THEN both meet when the receive is posted: no acknowledgement travels
    assert times([sender, receiver]) == [late + 7, late + o + (size - 1) * G]


def test_S_is_inclusive():
    def sender_ends(size):
        sender, receiver = one_message(size, receive_after=10**7)
        sender.append(Op("calc", 0, requires=[1]))
        return times([sender, receiver])[0]

    assert sender_ends(S) < 10**6
    assert sender_ends(S + 1) == 10**7


def test_ping_pong_is_a_multiple_of_one_way():
    rounds, size = 10, 100
    a, b = [], []
    for k in range(rounds):
        before = [len(a) - 1] if k else []
        a += [Op("send", size, 1, requires=before), Op("recv", size, 1, requires=[len(a)])]
        b += [Op("recv", size, 0, requires=before), Op("send", size, 0, requires=[len(b)])]
    one_way = o + L + o + (size - 1) * G
    # THEN the last thing is the ping's receive at rank 0
    assert times([a, b])[0] == 2 * rounds * one_way


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_token_round_a_ring_takes_one_message_a_hop(ranks):
    size = 8
    schedule = [[Op("send", size, 1), Op("recv", size, ranks - 1, requires=[0])]]
    schedule += [
        [Op("recv", size, r - 1), Op("send", size, (r + 1) % ranks, requires=[0])] for r in range(1, ranks)
    ]
    assert times(schedule)[0] == ranks * (2 * o + L + (size - 1) * G)


def test_a_binomial_broadcast_ends_at_its_last_leaf():
    # GIVEN 8 ranks; rank 0 sends to 4, 2, 1, whoever has received goes on with the lower halves
    ranks = [[] for _ in range(8)]
    for r in range(8):
        low = (r & -r).bit_length() - 1 if r else 3
        if r:
            ranks[r].append(Op("recv", 1, r & (r - 1)))
        for bit in reversed(range(low)):
            ranks[r].append(Op("send", 1, r | 1 << bit, requires=[len(ranks[r]) - 1] if ranks[r] else []))
    p = Parameters(L=1000, o=300, g=100)
    hop = 300 + 1000 + 300
    # THEN a rank that is the k-th child of its parent hears 300 (k - 1) later than the first would
    expected = [
        900,
        2 * 300 + hop,
        300 + hop + 300,
        300 + 2 * hop,
        hop + 600,
        hop + 300 + hop,
        2 * hop + 300,
        3 * hop,
    ]
    assert times(ranks, p) == expected


def test_a_rank_may_send_to_itself():
    finish = times([[Op("recv", 100, 0), Op("send", 100, 0)]])
    assert finish == [o + L + o + 99 * G]


def test_eight_senders_at_one_receiver_queue_at_its_interface():
    size, senders = 60000, 8
    ranks = [[Op("recv", size, 1 + k) for k in range(senders)]] + [
        [Op("send", size, 0)] for _ in range(senders)
    ]
    # THEN each message holds the receiver for o + (s-1) G, one after the other
    assert times(ranks)[0] == o + L + senders * (o + (size - 1) * G)


def test_0_byte_messages_come_G_early_as_in_loggopsim():
    assert times(one_message(0), Parameters(L=L, o=o, g=g, G=G)) == [o, o + L + o - G]


def test_a_computation_beside_communication_uses_its_own_processor():
    # GIVEN a computation on processor 1 while processor 0 receives
    receiver = [Op("recv", 1, 0), Op("calc", 5000, cpu=1)]
    assert times([[Op("send", 1, 1)], receiver]) == [o, max(5000, 2 * o + L)]


def test_irequires_lets_the_next_operation_begin_at_the_start():
    # GIVEN a rendezvous that nobody answers before 10^6
    late = 10**6
    p = Parameters(L=10, o=100, S=0)
    sender = [Op("send", 1, 1), Op("calc", 50, irequires=[0])]
    finish = times([sender, [Op("calc", late), Op("recv", 1, 0, requires=[0])]], p)
    # THEN the computation comes right after the send's overhead; the clock then goes on to the late match
    assert finish == [late, late + 100]

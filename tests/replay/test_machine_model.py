# SPDX-License-Identifier: BSD-3-Clause
"""What ranks share, and rendezvous, in closed form (formats/loggops.md). Times in nanoseconds."""

from dataclasses import replace

import pytest
from machine_reference import Link, Place
from reference import Op, Parameters
from replaying import on_machine, plain

NOTHING = Link()
EAGER = Link(L=3000, o=100, o_receive=200, G=2, network=True)
RENDEZVOUS = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True)
KB = 1000


def place(node, network=EAGER, **interfaces):
    return Place(node=node, itself=NOTHING, inside=NOTHING, network=network, **interfaces)


def times(result):
    return [round(time * 1e12) / 1000 for time in result.finish_s]


def send_and_receive(size=KB, send_after=0, receive_after=0):
    return [
        [Op("calc", send_after), Op("send", size, 1, requires=[0])],
        [Op("calc", receive_after), Op("recv", size, 0, requires=[0])],
    ]


def test_without_anything_shared_a_message_takes_what_it_takes_in_plain_loggops():
    network = Link(L=2500, o=1500, o_receive=1500, g=1000, G=6, O=1, network=True)
    for size in (1, 2, 5000):
        ranks = [[Op("send", size, 1)], [Op("recv", size, 0)]]
        expected = plain(ranks, Parameters(L=2500, o=1500, g=1000, G=6, O=1))
        assert [round(t * 1000) for t in times(on_machine(ranks, place([0, 1], network)))] == expected


def test_an_eager_message_that_came_while_the_receiver_computed_costs_its_overhead_only():
    # GIVEN a message that is there long before its receive
    finish = times(on_machine(send_and_receive(receive_after=10**6), place([0, 1])))
    assert finish == [100, 10**6 + 200]


def test_the_first_message_between_two_ranks_costs_both_of_them_once():
    # GIVEN a message to and fro, twice, between two ranks that meet
    network = Link(L=3000, o=100, o_receive=200, network=True, connect=5000)
    trips = [
        [
            Op("send", 1, 1),
            *(Op(kind, 1, 1, requires=[k]) for k, kind in enumerate(("recv", "send", "recv"))),
        ],
        [
            Op("recv", 1, 0),
            *(Op(kind, 1, 0, requires=[k]) for k, kind in enumerate(("send", "recv", "send"))),
        ],
    ]
    first, later = times(on_machine(trips, place([0, 1], network)))
    # THEN the first one has it twice, whichever way the others go
    assert first == 4 * (100 + 3000 + 200) + 2 * 5000 and later == first - 3000 - 200
    # THEN each other rank costs it again, and what the machine does not say is nothing
    three = [[Op("send", 1, 1), Op("send", 1, 2, requires=[0])], [Op("recv", 1, 0)], [Op("recv", 1, 0)]]
    assert times(on_machine(three, place([0, 1, 2], network)))[0] == 2 * (100 + 5000)
    assert times(on_machine(three, place([0, 1, 2])))[0] == 200


@pytest.mark.parametrize("others", [1, 24, 25, 64, 150])
def test_each_of_many_others_is_met_once(others):
    # GIVEN a rank that sends to each of the others, from the last to the first, and then to each again
    network = Link(L=3000, o=100, o_receive=200, network=True, connect=5000)
    peers = [*range(others, 0, -1)] * 2
    sends = [Op("send", 1, peer, requires=[k - 1] if k else []) for k, peer in enumerate(peers)]
    ranks = [sends, *([Op("recv", 1, 0), Op("recv", 1, 0, requires=[0])] for _ in range(others))]
    # THEN each costs it once what meeting costs
    ended = times(on_machine(ranks, place([*range(others + 1)], network)))
    assert ended[0] == others * (2 * 100 + 5000)


def test_a_rank_need_not_meet_itself():
    # GIVEN a rank that receives from itself, on a machine whose ranks take long to meet
    alone = [[Op("send", 1, 0), Op("recv", 1, 0)]]
    meets = Link(L=3000, o=100, o_receive=200, network=True, connect=5000)
    assert times(on_machine(alone, place([0], meets))) == times(
        on_machine(alone, place([0], replace(meets, connect=0)))
    )


def test_bytes_the_processor_handles_are_hidden_only_while_it_is_idle():
    network = Link(L=3000, o=100, o_receive=200, G=2, O=1, network=True)
    early = times(on_machine(send_and_receive(), place([0, 1], network)))
    late = times(on_machine(send_and_receive(receive_after=10**6), place([0, 1], network)))
    assert early == [100 + 999, 100 + 3000 + 2 * 999 + 200]
    assert late == [100 + 999, 10**6 + 200 + 999]


def test_a_rendezvous_with_both_sides_ready_takes_the_latency_that_was_measured():
    finish = times(on_machine(send_and_receive(), place([0, 1], RENDEZVOUS)))
    # THEN request and answer are a third of L each, and the sender goes on when its last byte has left
    assert finish == [100 + 2000 + 2 * 999, 100 + 3000 + 2 * 999 + 200]


def test_a_rendezvous_waits_for_a_late_receiver():
    late = 10**6
    finish = times(on_machine(send_and_receive(receive_after=late), place([0, 1], RENDEZVOUS)))
    # THEN the answer, then the data, travel after the receive is posted
    assert finish == [late + 1000 + 2 * 999, late + 2000 + 2 * 999 + 200]


def test_without_the_handshake_a_late_receiver_costs_the_whole_latency_of_the_data():
    late = 10**6
    finish = times(
        on_machine(send_and_receive(receive_after=late), place([0, 1], RENDEZVOUS), handshake=False)
    )
    assert finish == [late + 2 * 999, late + 3000 + 2 * 999 + 200]


def nonblocking(computation, in_call):
    """Rank 0 posts a send, computes, then waits; rank 1 waits in its receive."""
    network = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True, in_call=in_call)
    sender = [Op("send", KB, 1), Op("calc", computation, irequires=[0]), Op("calc", 0, requires=[0, 1])]
    return [sender, [Op("recv", KB, 0)]], place([0, 1], network)


def test_progress_in_calls_only_starts_the_data_when_the_sender_is_back_inside_mpi():
    computation = 10**6
    # GIVEN a rendezvous whose answer comes while the sender computes
    finish = times(on_machine(*nonblocking(computation, in_call=True)))
    # THEN its data go when the computation has ended
    assert finish == [100 + computation + 2 * 999, 100 + computation + 1000 + 2 * 999 + 200]


def test_independent_progress_overlaps_the_transfer_with_the_computation():
    computation = 10**6
    for model in (on_machine(*nonblocking(computation, in_call=False)),
                  on_machine(*nonblocking(computation, in_call=True), progress=False)):  # fmt: skip
        assert times(model) == [100 + computation, 100 + 3000 + 2 * 999 + 200]


def test_the_receiver_answers_only_inside_mpi():
    # GIVEN a posted receive, then a computation, then the wait for it
    late = 10**6
    network = Link(L=3000, o=100, o_receive=200, G=2, S=0, network=True, in_call=True)
    receiver = [Op("recv", KB, 0), Op("calc", late), Op("calc", 0, requires=[0, 1])]
    finish = times(on_machine([[Op("send", KB, 1)], receiver], place([0, 1], network)))
    assert finish == [late + 1000 + 2 * 999, late + 2000 + 2 * 999 + 200]


def test_messages_to_one_node_queue_at_its_interface():
    # GIVEN 8 ranks on nodes of their own, which send 60 kB each to ranks of one node at 1 byte/ns
    senders, size = 8, 60 * KB
    ranks = [[Op("send", size, senders + k)] for k in range(senders)] + [
        [Op("recv", size, k)] for k in range(senders)
    ]
    network = Link(L=3000, o=100, o_receive=200, G=1, network=True)
    nodes = [*range(1, senders + 1)] + [0] * senders
    result = on_machine(ranks, place(nodes, network, rx_byte=1))
    # THEN the k-th receiver ends after k messages have passed
    first = 100 + 3000
    assert times(result)[senders:] == [first + (k + 1) * size + 200 for k in range(senders)]
    assert result.rx["bytes"][0] == senders * size
    assert round(result.rx["busy_s"][0] * 1e9) == senders * size
    assert round(result.rx["queued_s"][0] * 1e9) == sum(k * size for k in range(senders))


def test_messages_of_one_node_queue_at_its_interface():
    size = 10 * KB
    ranks = [[Op("send", size, 2)], [Op("send", size, 3)], [Op("recv", size, 0)], [Op("recv", size, 1)]]
    network = Link(L=3000, o=100, o_receive=200, network=True)
    alone = times(on_machine(ranks, place([0, 1, 2, 3], network, tx_byte=3)))
    together = times(on_machine(ranks, place([0, 0, 1, 2], network, tx_byte=3)))
    assert alone[2:] == [100 + 3000 + 3 * size + 200] * 2
    assert together[2:] == [100 + 3000 + 3 * size + 200, 100 + 3000 + 6 * size + 200]


def test_both_directions_of_an_interface_are_independent():
    size = 10 * KB
    ranks = [[Op("send", size, 1), Op("recv", size, 1)], [Op("send", size, 0), Op("recv", size, 0)]]
    network = Link(L=3000, o=100, o_receive=200, network=True)
    assert times(on_machine(ranks, place([0, 1], network, tx_byte=3, rx_byte=3))) == [3300 + 3 * size] * 2


def test_a_half_duplex_interface_carries_one_direction_at_a_time():
    # GIVEN two nodes that send to each other at once, and messages that take 3 us of an interface
    ranks = [[Op("send", KB, 1 - r), Op("recv", KB, 1 - r)] for r in range(2)]
    both, shared = (place([0, 1], tx_byte=3, rx_byte=3, half_duplex=each) for each in (False, True))
    one_way = [ranks[0][:1], [Op("recv", KB, 0)]]
    # THEN what comes waits for what goes, from 3100 on when it is there, and alone there is no difference
    assert times(on_machine(ranks, both)) == [100 + 3000 + 3000 + 200] * 2
    assert times(on_machine(ranks, shared)) == times(on_machine(ranks, both))
    late = replace(EAGER, L=1000)
    crossing = replace(shared, network=late)
    assert times(on_machine(ranks, crossing)) == [100 + 3000 + 3000 + 200] * 2
    assert times(on_machine(ranks, replace(crossing, half_duplex=False))) == [100 + 1000 + 3000 + 200] * 2
    assert times(on_machine(one_way, crossing)) == times(
        on_machine(one_way, replace(crossing, half_duplex=False))
    )


def test_messages_inside_a_node_do_not_pass_the_interface():
    inside = Link(L=300, o=100, o_receive=100)
    where = Place(node=[0, 0], itself=NOTHING, inside=inside, network=EAGER, tx_byte=5)
    result = on_machine([[Op("send", KB, 1)], [Op("recv", KB, 0)]], where)
    assert times(result) == [100, 500]
    assert result.tx["bytes"].tolist() == [0]
    assert result.channel_bytes.tolist() == [0, KB, 0]


def test_a_core_that_moves_the_bytes_cannot_compute_meanwhile():
    inside = Link(L=300, o=100, o_receive=100, G=2, overlap=False)
    where = Place(node=[0, 0], itself=NOTHING, inside=inside, network=EAGER)
    ranks = [[Op("send", KB, 1), Op("calc", 5000, irequires=[0])], [Op("recv", KB, 0)]]
    assert times(on_machine(ranks, where)) == [100 + 2 * 999 + 5000, 100 + 300 + 2 * 999 + 100]


@pytest.mark.parametrize("ranks_on_core", [1, 2, 3, 7])
def test_ranks_of_one_core_share_its_time(ranks_on_core):
    ranks = [[Op("calc", 6000)] for _ in range(ranks_on_core)]
    result = on_machine(ranks, place([0] * ranks_on_core), "yield", [0] * ranks_on_core)
    assert times(result) == [6000 * ranks_on_core] * ranks_on_core
    shared = [round(t * 1e9) for t in result.core_sharing_s]
    assert shared == [6000 * (ranks_on_core - 1)] * ranks_on_core


def test_a_core_is_shared_only_as_long_as_both_need_it():
    # GIVEN 3000 and 9000 of work: both at half speed until 6000, then the longer alone
    ranks = [[Op("calc", 3000)], [Op("calc", 9000)]]
    assert times(on_machine(ranks, place([0, 0]), "yield", [0, 0])) == [6000, 12000]


def test_a_rank_that_waits_leaves_the_core_or_spins():
    # GIVEN rank 1 waits for a message of rank 2, which computes elsewhere, on the core where rank 0 computes
    ranks = [[Op("calc", 10000)], [Op("recv", 1, 2)], [Op("calc", 50000), Op("send", 1, 1, requires=[0])]]
    inside = Link(L=0)
    where = Place(node=[0, 0, 0], itself=NOTHING, inside=inside, network=EAGER)
    assert times(on_machine(ranks, where, "yield", [0, 0, 1])) == [10000, 50000, 50000]
    assert times(on_machine(ranks, where, "spin", [0, 0, 1])) == [20000, 50000, 50000]


def test_ranks_of_emulated_nodes_share_a_host_core_across_nodes():
    # GIVEN two nodes on one host core; rank 0 computes while rank 1 of the other node waits for its message
    network = Link(L=3000, o=100, o_receive=200, network=True)
    ranks = [
        [Op("calc", 6000), Op("send", 1, 1, requires=[0])],
        [Op("calc", 6000), Op("recv", 1, 0, requires=[0])],
    ]
    # THEN both compute at half speed, and the message then finds both at full speed
    shared = times(on_machine(ranks, place([0, 1], network), "yield", [0, 0]))
    assert shared == [12000 + 100, 12000 + 100 + 3000 + 200]


def test_three_ranks_free_to_use_two_cores_run_at_two_thirds():
    ranks = [[Op("calc", 6000)] for _ in range(3)]
    assert times(on_machine(ranks, place([0, 0, 0]), "yield", [0, 0, 0], [2])) == [9000] * 3


def test_the_parts_of_a_rank_add_up_to_its_finish():
    network = Link(L=3000, o=100, o_receive=200, G=2, O=1, S=500, network=True, in_call=True)
    ranks = [
        [Op("calc", 1000), Op("send", KB, 1, requires=[0]), Op("recv", 10, 1, requires=[1])],
        [Op("recv", KB, 0), Op("calc", 7, requires=[0]), Op("send", 10, 0, requires=[1])],
    ]
    result = on_machine(ranks, place([0, 1], network, tx_byte=1, rx_byte=1), "yield", [0, 0])
    parts = result.computation_s + result.overhead_s + result.core_sharing_s + result.waiting_s
    assert parts == pytest.approx(result.finish_s)
    assert [round(t * 1e9) for t in result.computation_s] == [1000, 7]
    assert min(result.waiting_s) > 0

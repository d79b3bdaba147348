# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that can be full, in closed form (formats/loggops.md M12). Times in nanoseconds."""

from dataclasses import replace

import pytest
from machine_reference import Link, Place
from machines import machine
from reference import Op
from replaying import model, on_machine, schedule_of, shared_model
from sharing_reference import Interrupts, Shared

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.explain.losses import losses
from rankwise.machine.machine import topology_of
from rankwise.machine.overrides import apply
from rankwise.placement.simple import allocate
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source

L, O_SEND, O_RECEIVE, BUFFER, SIZE = 3000, 100, 200, 4000, 10000
TCP = Link(
    L=L, o=O_SEND, o_receive=O_RECEIVE, G=2, in_call=True, network=True, socket_buffer=BUFFER, send_buffer=0
)
LATE = 10**6


def place(link=TCP, ranks=2):
    return Place(node=list(range(ranks)), itself=Link(), inside=Link(), network=link)


def times(ranks, link=TCP):
    return [round(time * 1e9) for time in on_machine(ranks, place(link, len(ranks))).finish_s]


def to_a_rank_that_computes(size=SIZE, computation=LATE):
    """Rank 0 sends; rank 1 has posted its receive, computes, and waits for it."""
    return [
        [Op("send", size, 1)],
        [Op("recv", size, 0), Op("calc", computation), Op("calc", 0, requires=[0, 1])],
    ]


def test_who_waits_in_its_receive_reads_as_the_bytes_come():
    # GIVEN a buffer that covers latency and a quarter of itself: the last byte is there as without
    ranks = [[Op("send", SIZE, 1)], [Op("recv", SIZE, 0)]]
    unlimited = replace(TCP, socket_buffer=None)
    expected = O_SEND + L + 2 * (SIZE - 1) + O_RECEIVE
    assert times(ranks, unlimited) == [O_SEND, expected]
    # THEN the sender is held up until the last bytes fit: the part of 1000 that makes room for them has come
    found = times(ranks)
    assert found[1] == expected
    assert found[0] == O_SEND + L + 2 * (SIZE - BUFFER) - 2


def test_a_window_that_is_smaller_than_the_latency_slows_the_stream():
    # GIVEN parts of 1000 bytes, 4 at a time, each 2000 ns long, on a way of 20000
    link = replace(TCP, L=20000)
    ranks = [[Op("send", SIZE, 1)], [Op("recv", SIZE, 0)]]
    # THEN parts 0, 4 and 8 each wait for the one 4 before: the tenth comes 2 rounds of latency later
    round_trip = 20000 + 2 * 1000
    assert times(ranks, link)[1] == O_SEND + 2 * round_trip - 2 + 20000 + 2 * 2000 + O_RECEIVE


def test_a_message_that_fits_leaves_its_sender_at_once():
    assert times(to_a_rank_that_computes(BUFFER)) == [O_SEND, LATE + O_RECEIVE]


def test_one_that_does_not_keeps_its_sender_until_the_receiver_is_back_in_mpi():
    found = times(to_a_rank_that_computes())
    # THEN 4000 bytes wait at the receiver; it reads them when it is back, and then the rest flows
    assert found[0] == LATE + L + 2 * (SIZE - 2 * BUFFER)
    assert found[1] == LATE + L + 2 * (SIZE - BUFFER) + O_RECEIVE


def test_what_the_library_keeps_lets_the_sender_go_but_moves_only_inside_mpi():
    # GIVEN a library that keeps all of it, and a sender that computes twice as long as the receiver
    link = replace(TCP, send_buffer=SIZE)
    ranks = to_a_rank_that_computes()
    ranks[0].append(Op("calc", 2 * LATE, requires=[0]))
    found = times(ranks, link)
    # THEN the sender goes on at once, and what the host had not taken comes when it has computed
    assert found[0] == O_SEND + 2 * LATE
    assert found[1] == O_SEND + 2 * LATE + L + 2 * (SIZE - BUFFER) + O_RECEIVE


def test_the_data_of_a_rendezvous_stop_when_their_sender_leaves_mpi():
    # GIVEN a nonblocking rendezvous whose answer finds the sender inside MPI, which then computes
    link = replace(TCP, S=0, L=3000)
    sender = [
        Op("send", SIZE, 1),
        Op("recv", 1, 1, 1),
        Op("calc", LATE, requires=[1], irequires=[0]),
        Op("calc", 0, requires=[0, 2]),
    ]
    receiver = [Op("recv", SIZE, 0), Op("calc", 3000), Op("send", 0, 0, 1, requires=[1])]
    in_call = times([sender, receiver], link)
    together = times([sender, receiver], replace(link, socket_buffer=None))
    # THEN with unlimited buffers the host goes on alone, else what it had not taken waits
    assert together[1] < LATE < in_call[1]
    assert in_call[1] > in_call[0] > LATE


def test_messages_without_a_receive_are_read_as_far_as_the_library_keeps_them():
    # GIVEN a receiver inside MPI, which posts its receive only later
    def ranks():
        return [
            [Op("send", SIZE, 1)],
            [Op("recv", 1, 2, 1), Op("recv", SIZE, 0, requires=[0])],
            [Op("calc", LATE), Op("send", 1, 1, 1, requires=[0])],
        ]

    posted = LATE + O_SEND + L + O_RECEIVE
    # THEN an unlimited library takes it all
    assert times(ranks())[0] == O_SEND + L + 2 * (SIZE - BUFFER) - 2
    # AND one that keeps nothing leaves it in the host's buffer
    assert times(ranks(), replace(TCP, unexpected_buffer=0))[0] == posted + L + 2 * (SIZE - 2 * BUFFER)


def test_a_send_that_finds_buffers_full_waits_for_them_and_on_the_path_for_the_receiver():
    replay = schedule_of(to_a_rank_that_computes()).explain(**model(place(), [0, 1]))
    held_up = LATE + L + 2 * (SIZE - 2 * BUFFER) - O_SEND
    assert round(replay.waiting["full_buffer"][0] * 1e9) == held_up
    path = replay.critical_path
    causes = [_core.explain.CAUSES[cause] for cause in path["cause"]]
    assert causes == ["computation", "bytes", "overhead"]
    assert round(path["to_s"][0] * 1e9) == LATE


def head_to_head(size):
    return [[Op("send", size, 1 - r), Op("recv", size, 1 - r, requires=[0])] for r in range(2)]


def test_two_that_send_to_each_other_first_need_buffers():
    link = replace(TCP, unexpected_buffer=0)
    # GIVEN messages that fit, and such that do not
    assert max(times(head_to_head(BUFFER), link)) < LATE
    with pytest.raises(RankwiseError) as caught:
        times(head_to_head(SIZE), link)
    # THEN the circle is named, with a way out; a library that keeps unexpected messages has none
    assert caught.value.message.startswith("deadlock: rank 0, line")
    assert "rank 1, line" in caught.value.message
    assert "buffer" in caught.value.hint
    assert max(times(head_to_head(SIZE))) < LATE


def test_what_waits_behind_a_message_that_nobody_receives_is_named_with_it():
    # GIVEN a second message behind one whose receive waits for the second
    link = replace(TCP, unexpected_buffer=0, send_buffer=None)
    ranks = [
        [Op("send", SIZE, 1, 1), Op("send", SIZE, 1, 2, requires=[0])],
        [Op("recv", SIZE, 0, 2), Op("recv", SIZE, 0, 1, requires=[0])],
    ]
    with pytest.raises(RankwiseError, match="deadlock: rank 1, line .* waits for the first"):
        times(ranks, link)


KIB = 1024


def exchange(pairs, steps, computation, size):
    """Irecv, Send, Wait, computation, again and again, with the rank beside (S-lammps, figure 10)."""
    ranks = []
    for rank in range(2 * pairs):
        ops = []
        for step in range(steps):
            at = len(ops)
            before = [at - 1] if step else []
            ops += [
                Op("recv", size, rank ^ 1, requires=before),
                Op("send", size, rank ^ 1, requires=before, irequires=[at]),
                Op("calc", 0, requires=[at, at + 1]),
                Op("calc", computation, requires=[at + 2]),
            ]
        ranks.append(ops)
    return ranks


def replayed(on_interrupts, buffers):
    """20 exchanges of 256 KiB and 2 ms of computation.

    Ranks are alone on nodes whose interrupt core is theirs (`on_interrupts`) or another one.
    """
    ranks = len(on_interrupts)
    link = Link(L=20000, o=5000, o_receive=5000, G=1, in_call=True, network=True, **buffers)
    where = Shared(
        processor=list(range(ranks)),
        cores=[1] * ranks,
        waiting="yield",
        interrupts=Interrupts([r if on else None for r, on in enumerate(on_interrupts)], per_byte=1),
    )
    schedule = schedule_of(exchange(ranks // 2, 20, 2_000_000, 256 * KIB))
    return schedule.explain(**shared_model(place(link, ranks), where))


def waits(on_interrupts, buffers):
    """Makespan, and each rank's time in MPI_Send and in MPI_Wait, in ms."""
    replay = replayed(on_interrupts, buffers)
    timeline, found = replay.timeline, []
    for rank in range(len(on_interrupts)):
        own = timeline["rank"] == rank
        kind, ready, end = (timeline[key][own] for key in ("kind", "ready", "end"))
        sends = (kind == 1).nonzero()[0]
        found.append(((end - ready)[sends].sum() / 1e9, (end[sends + 1] - end[sends]).sum() / 1e9))
    return replay.prediction.makespan_s * 1e3, found


TCP_BUFFERS = {"socket_buffer": 64 * KIB, "send_buffer": 64 * KIB}


def test_ranks_on_unequal_cores_run_out_of_phase_and_those_on_equal_cores_do_not():
    # GIVEN a rank beside the interrupts and one on them, both with the same work (claim S-lammps)
    unequal_ms, ((send_ms, wait_ms), (send_on_ms, wait_on_ms)) = waits([False, True], TCP_BUFFERS)
    # THEN one waits in MPI_Send while the other waits in MPI_Wait
    assert send_ms > 5 * wait_ms
    assert wait_on_ms > 5 * send_on_ms
    # AND neither does so when both are on the interrupts, or both beside them
    for equal in (False, True):
        equal_ms, both = waits([equal, equal], TCP_BUFFERS)
        assert equal_ms < 0.75 * unequal_ms
        for in_send_ms, in_wait_ms in both:
            assert in_send_ms < 2 * in_wait_ms and in_wait_ms < 2 * in_send_ms
    # AND it is the buffers that do it
    unlimited_ms, _ = waits([False, True], {})
    assert unlimited_ms < 0.75 * unequal_ms


def test_what_ranks_wait_for_is_told_and_the_critical_path_has_no_gaps():
    replay = replayed([False, True], TCP_BUFFERS)
    cause = {name: [round(time * 1e3) for time in times] for name, times in replay.waiting.items()}
    # THEN the one on the interrupts waits for its peer to be back in MPI, the other one for what that sends then
    assert cause["no_progress"][1] > 15 > 5 > cause["no_progress"][0]
    assert cause["late_sender"][0] > 15 > 5 > cause["late_sender"][1]
    # AND the path leads from the end to the beginning, and mostly over computation
    path = replay.critical_path
    assert path["from_s"][0] == 0
    assert path["to_s"][-1] == pytest.approx(replay.prediction.makespan_s)
    assert path["from_s"][1:] == pytest.approx(path["to_s"][:-1])
    length = path["to_s"] - path["from_s"]
    computed = [_core.explain.CAUSES[cause] == "computation" for cause in path["cause"]]
    assert length[computed].sum() > 0.6 * replay.prediction.makespan_s


def test_pairing_ranks_on_equal_cores_more_than_halves_the_time_in_communication():
    computation_ms = 20 * 2
    apart_ms, _ = waits([False, True, True, False], TCP_BUFFERS)
    paired_ms, _ = waits([False, False, True, True], TCP_BUFFERS)
    assert paired_ms - computation_ms < 0.5 * (apart_ms - computation_ms)


def predictor(settings=(), **arguments):
    network = {"L_s": 3e-6, "o_s": 1e-7, "G_s_per_byte": 2e-9, "progress": "in-call"}
    where = apply(machine(network), settings)
    return Predictor.of(
        Source(schedule_of(to_a_rank_that_computes())), where, topology_of(where, "."), **arguments
    )


SETTINGS = ("network.socket_buffer=4000B", "network.send_buffer=0B")


def finish_ns(of):
    placement = allocate(2, 2, 1, of.topology.nodes[0], "blocked")[0]
    return [round(time * 1e9) for time in of.predict(placement).finish_s]


def test_buffers_are_set_switched_off_and_told_as_a_loss():
    bounded, free = predictor(SETTINGS), predictor()
    assert finish_ns(bounded)[0] > LATE > finish_ns(free)[0]
    assert finish_ns(predictor(SETTINGS, switches=Switches(buffers=False))) == finish_ns(free)
    assert finish_ns(predictor((*SETTINGS, "network.send_buffer=none")))[0] < LATE
    placement = allocate(2, 2, 1, bounded.topology.nodes[0], "blocked")[0]
    lost = {loss.name: loss.lost_s for loss in losses(bounded, bounded.predict(placement))}
    assert lost["buffers"] * 1e9 == pytest.approx(L + 2 * (SIZE - BUFFER))


def test_buffers_that_cannot_be_are_refused():
    with pytest.raises(RankwiseError, match="needs `progress"):
        predictor(("network.progress=independent", *SETTINGS))
    with pytest.raises(RankwiseError, match="only matter with `socket_buffer_bytes`"):
        predictor(("network.send_buffer=0B",))


def test_estimates_are_as_with_buffers_without_limit():
    # GIVEN a library that queues what does not fit: a receive can begin before its message is handed to the link
    ranks = [
        [Op("send", SIZE, 1), Op("send", 100, 1), Op("recv", 8, 1, requires=[1])],
        [Op("recv", SIZE, 0), Op("recv", 100, 0, requires=[0]), Op("send", 8, 0)],
    ]
    queued = replace(TCP, send_buffer=None, unexpected_buffer=5000)
    # WHEN placements are estimated on that machine and on one whose buffers never fill
    found = []
    for link in (queued, replace(queued, socket_buffer=None)):
        on = model(place(link), [0, 1])
        found.append(schedule_of(ranks).estimates_s(on["machine"], [on["placement"]] * 2).tolist())
    # THEN both are the replay without limits
    assert found[0] == found[1]
    assert found[1] == pytest.approx([schedule_of(ranks).replay(**on).makespan_s] * 2)

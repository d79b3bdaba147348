# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a program as a whole: each kind's fields and sentence."""

from __future__ import annotations

import pytest
from machine_reference import Link, Place
from raw_writer import Rank
from replaying import model
from traced import ANY_SOURCE, ranks_of

from rankwise import _core
from rankwise.schedule.faults import FaultError

Schedule, TracedRun = _core.schedule.Schedule, _core.schedule.TracedRun
FREE = {"L_s": 0, "o_s": 0, "g_s": 0, "G_s_per_byte": 0, "O_s_per_byte": 0}


def goal(*ranks: str):
    """A schedule; line numbers count from `num_ranks`, which is the first."""
    return Schedule.read_goal(
        f"num_ranks {len(ranks)}\n" + "".join(f"rank {k} {{\n{each}\n}}\n" for k, each in enumerate(ranks)),
        "x.goal",
    )


def at(operation: _core.OperationAt) -> tuple:
    return (operation.rank, operation.unit, operation.number, operation.kind, operation.bytes, operation.peer)


def fault_of(call) -> FaultError:
    with pytest.raises(FaultError) as caught:
        call()
    assert caught.value.hint
    return caught.value


def test_a_circle():
    error = fault_of(lambda: goal("a: calc 1\nb: calc 2\na requires b\nb requires a"))
    assert error.fault.kind == "circle"
    assert {(each.number, each.time_ps) for each in error.fault.operations} == {(3, 1000), (4, 2000)}
    assert error.message.startswith("operations wait for each other in a circle: rank 0, line ")
    assert error.message.endswith(" waits for the first") and "`calc 1`" in error.message


@pytest.mark.parametrize(
    ("how", "eager", "hint"),
    [("recv", 9, "has to send before it receives"), ("send", 8, "`eager_limit_bytes`")],
)
def test_a_deadlock(how, eager, hint):
    other = {"send": "recv", "recv": "send"}[how]
    words = {"send": "to", "recv": "from"}
    schedule = goal(
        *(
            f"a: {how} 9b {words[how]} {1 - rank}\nb: {other} 9b {words[other]} {1 - rank}\nb requires a"
            for rank in range(2)
        )
    )
    error = fault_of(lambda: schedule.replay_loggops(**FREE, S_bytes=eager))
    assert error.fault.kind == "deadlock"
    assert {at(each) for each in error.fault.operations} == {
        (0, "line", 3, how, 9, 1),
        (1, "line", 8, how, 9, 0),
    }
    assert error.message.startswith("deadlock: rank 0, line 3: `")
    assert hint in error.hint


def test_many_in_a_circle_are_counted():
    ranks = 12
    schedule = goal(
        *(
            f"a: recv 1b from {(rank + 1) % ranks}\nb: send 1b to {(rank - 1) % ranks}\nb requires a"
            for rank in range(ranks)
        )
    )
    error = fault_of(lambda: schedule.replay_loggops(**FREE, S_bytes=9))
    assert len(error.fault.operations) == ranks
    assert error.message.count("recv") == 8
    assert error.message.endswith(" and 4 more waits for the first")


def test_a_message_longer_than_anything():
    schedule = goal("send 100000000000000000b to 1", "recv 100000000000000000b from 0")
    error = fault_of(lambda: schedule.replay_loggops(**FREE | {"G_s_per_byte": 1}, S_bytes=9))
    assert (error.fault.kind, error.fault.bytes) == ("long_message", 10**17)
    assert "about `100000000000000000` bytes takes longer than 13 days" in error.message


def test_a_program_longer_than_anything():
    schedule = goal(
        "\n".join([f"a{k}: calc {10**15}" for k in range(4)] + [f"a{k + 1} requires a{k}" for k in range(3)])
    )
    error = fault_of(lambda: schedule.replay_loggops(**FREE, S_bytes=9))
    assert error.fault.kind == "long_program"
    assert error.of_file("x.goal").message.startswith("`x.goal`: the program takes longer than 26 days")


@pytest.mark.parametrize(
    ("ranks", "kind", "where", "count", "sentence"),
    [
        (
            ("send 2b to 1", "recv 1b from 0"),
            "small_receive",
            (1, "line", 6, "recv", 1, 0),
            0,
            "a message of `2` bytes meets a smaller receive, rank 1, line 6: `recv 1b from 0 tag 0`",
        ),
        (
            ("send 1b to 1 tag 5\nsend 3b to 1 tag 5", "calc 1"),
            "unreceived",
            (0, "line", 3, "send", 1, 1),
            2,
            "a message that nobody receives from rank `0` to rank `1` with tag `5` (and 1 more between these ranks), "
            "rank 0, line 3: `send 1b to 1 tag 5`",
        ),
        (
            ("calc 1", "recv 1b from 0 tag 5"),
            "unsent",
            (1, "line", 6, "recv", 1, 0),
            1,
            "a receive that nothing is sent to from rank `0` to rank `1` with tag `5`, rank 1, line 6: "
            "`recv 1b from 0 tag 5`",
        ),
    ],
)
def test_messages_that_do_not_match(ranks, kind, where, count, sentence):
    error = fault_of(lambda: goal(*ranks))
    assert (error.fault.kind, at(error.fault.operations[0]), error.fault.count) == (kind, where, count)
    assert error.message == sentence
    assert error.of_file("x.goal").message == f"`x.goal`: {sentence}"


def test_an_operation_that_nobody_answers():
    # GIVEN a receive from anybody, and no other send
    schedule = goal("recv 1b from -1", "calc 1")
    error = fault_of(lambda: schedule.replay_loggops(**FREE, S_bytes=9))
    assert (error.fault.kind, at(error.fault.operations[0])) == ("unanswered", (0, "line", 3, "recv", 1, -1))
    assert error.message == "an operation that nobody answers: rank 0, line 3: `recv 1b from -1 tag 0`"


@pytest.mark.parametrize(
    ("calls", "kind", "where", "sentence"),
    [
        (
            lambda a, b: a.send(1, 8),
            "unreceived",
            (0, "event", 1, "send", 8, 1),
            "nobody receives from rank `0`",
        ),
        (
            lambda a, b: b.recv(0, 8),
            "unsent",
            (1, "event", 1, "recv", 8, 0),
            "nothing is sent to from rank `0`",
        ),
        (lambda a, b: a.send(7, 8), "missing_peer", (0, "event", 1, "send", 8, 7), "rank `7` does not exist"),
        (
            lambda a, b: b.irecv(ANY_SOURCE, 8),
            "endless_receive",
            (1, "event", 1, "recv", 8, -1),
            "rank 1, event 1: `recv 8b from -1",
        ),
    ],
)
def test_the_same_of_a_trace_whole_and_in_windows(records_of, calls, kind, where, sentence):
    ranks = ranks_of(2)
    for rank in ranks:
        rank.coll("MPI_Barrier", 0)
    calls(*ranks)
    run = TracedRun.read(records_of(ranks), "mpich")
    for read in (run.in_windows, run.schedule) if kind != "endless_receive" else (run.in_windows,):
        error = fault_of(read)
        assert (error.fault.kind, at(error.fault.operations[0])) == (kind, where)
        assert sentence in error.message


def test_a_small_receive_in_windows(records_of):
    sender, receiver = ranks_of(2)
    sender.send(1, 100)
    receiver.recv(0, 99)
    run = TracedRun.read(records_of([sender, receiver]), "mpich")
    arguments = model(Place([0, 0], Link(), Link(), Link(network=True)), [0, 1])
    error = fault_of(lambda: run.in_windows().replay(**arguments))
    assert (error.fault.kind, error.fault.bytes) == ("small_receive", 100)
    assert at(error.fault.operations[0]) == (1, "event", 0, "recv", 99, 0)


def test_a_rank_without_trace(records_of):
    error = fault_of(lambda: TracedRun.read(records_of([Rank(0, 1)]), "mpich"))
    assert (error.fault.kind, error.fault.rank) == ("untraced", 0)
    assert error.message == "rank `0` has no trace in this recording" and "--trace" in error.hint

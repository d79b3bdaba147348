# SPDX-License-Identifier: BSD-3-Clause
"""What ranks wait for, the critical path, and the timeline's file, on exchanges that can be written down."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import machine
from reference import goal
from schedules import schedules

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.explain import perfetto
from rankwise.explain.critical_path import critical_path
from rankwise.explain.explanation import explain
from rankwise.explain.timeline import Timeline
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source, load

NETWORK = {"L_s": 9e-6, "o_s": 1e-6, "G_s_per_byte": 1e-9}
TWO = "num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}\n"
LATE_SENDER = TWO.format("c: calc 10000\ns: send 1001b to 1\ns requires c", "recv 1001b from 0")
LATE_RECEIVER = TWO.format("send 1001b to 1", "c: calc 20000\nr: recv 1001b from 0\nr requires c")


def replayed(text, where, seats):
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, [(node, [core]) for node, core in seats])
    predictor = Predictor.of(Source(schedule), where, topology)
    prediction = predictor.predict(placement)
    return prediction, explain(predictor, placement), placement


def causes(text, where, seats):
    prediction, replay, _ = replayed(text, where, seats)
    found = replay.waiting
    assert sum(found.values()) == pytest.approx(prediction.waiting_s, abs=1e-15)
    return [
        {cause: times[rank] for cause, times in found.items() if times[rank]} for rank in range(len(seats))
    ]


def test_a_late_sender():
    (first, second) = causes(LATE_SENDER, machine(NETWORK), [(0, 0), (1, 0)])
    assert first == {}
    # THEN until it has computed and begins to send; then the sender's overhead, latency and 1000 bytes
    assert second == pytest.approx({"late_sender": 10e-6, "transfer": 11e-6})


def test_a_late_receiver():
    (first, second) = causes(LATE_RECEIVER, machine(NETWORK | {"S": 0}), [(0, 0), (1, 0)])
    # THEN from o until the receive was posted; then its answer travels L/3, and 1000 bytes leave
    assert first == pytest.approx({"late_receiver": 19e-6, "transfer": 4e-6})
    # AND the receiver, whose own receive came last, for the answer and the data
    assert second == pytest.approx({"transfer": 7e-6})


def test_a_queue_at_an_interface():
    text = "num_ranks 4\n" + "".join(
        f"rank {rank} {{\nsend 10000b to {rank + 2}\n}}\nrank {rank + 2} {{\nrecv 10000b from {rank}\n}}\n"
        for rank in (0, 1)
    )
    found = causes(text, machine(nic_bytes_per_s=1e9), [(0, 0), (0, 1), (1, 0), (2, 0)])
    assert found[2] == pytest.approx({"transfer": 10e-6})
    assert found[3] == pytest.approx({"tx_queue": 10e-6, "transfer": 10e-6})


def test_a_rendezvous_that_waits_until_the_other_rank_is_inside_mpi():
    network = NETWORK | {"S": 0, "progress": "in-call"}
    # GIVEN a receiver that posts its receive and computes 50 us, while the sender waits
    receiver = "r: recv 1001b from 0\nc: calc 50000\nc irequires r"
    (first, _) = causes(TWO.format("send 1001b to 1", receiver), machine(network), [(0, 0), (1, 0)])
    # THEN its request is there 1 + 3 us after the begin, the answer leaves after 50 us; then 3 us and 1000 bytes
    assert first == pytest.approx({"transfer": 3e-6 + 4e-6, "no_progress": 50e-6 - 4e-6})
    # GIVEN a sender that has begun to send and computes 50 us, while the receiver waits
    sender = "s: send 1001b to 1\nc: calc 50000\nc irequires s"
    (_, second) = causes(TWO.format(sender, "recv 1001b from 0"), machine(network), [(0, 0), (1, 0)])
    # THEN the answer is back after 1 + 3 + 3 us, the data leave after 1 + 50, then 3 us and 1000 bytes
    assert second == pytest.approx({"transfer": 7e-6 + 4e-6, "no_progress": 51e-6 - 7e-6})


def test_a_first_rendezvous_waits_for_nobody_where_both_are_inside_mpi():
    # GIVEN a sender whose first message takes 5 us longer, and a receiver that waits from the beginning
    network = NETWORK | {"S": 0, "progress": "in-call", "connect_s": 5e-6}
    (first, _) = causes(
        TWO.format("send 1001b to 1", "recv 1001b from 0"), machine(network), [(0, 0), (1, 0)]
    )
    # THEN the request, the answer and the bytes travel, and nothing else holds the sender up
    assert first == pytest.approx({"transfer": 3e-6 + 3e-6 + 1e-6})


def test_a_synchronous_send_waits_for_its_receive_however_small(tmp_path):
    # GIVEN 8 bytes to be received after 20 us, far below any limit, sent by MPI_Ssend
    (tmp_path / "ssend.txt").write_text(
        "0 init\n0 ssend 1 3 8 1\n0 finalize\n1 init\n1 compute 20000\n1 recv 0 3 8 1\n1 finalize\n"
    )
    schedule = load(tmp_path / "ssend.txt", flops_per_s=1e9).schedule
    where = machine(NETWORK)
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, [(0, [0]), (1, [0])])
    replay = explain(Predictor.of(Source(schedule), where, topology), placement)
    # THEN the sender waits, and the path goes through what the receiver computed
    assert replay.waiting["late_receiver"][0] == pytest.approx(19e-6)
    assert critical_path(replay).cause_s["computation"] == pytest.approx(20e-6)


def path_of(text, where, seats):
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, [(node, [core]) for node, core in seats])
    predictor = Predictor.of(Source(schedule), where, topology)
    return critical_path(explain(predictor, placement))


def test_the_critical_path_of_one_message():
    path = path_of(LATE_SENDER, machine(NETWORK), [(0, 0), (1, 0)])
    assert path.cause_s == pytest.approx(
        {"computation": 10e-6, "latency": 9e-6, "overhead": 2e-6, "bytes": 1e-6}
    )
    assert list(path.cause_s)[0] == "computation"
    assert path.rank_s == pytest.approx({0: 11e-6, 1: 1e-6})
    assert path.messages == 1


def test_the_critical_path_goes_through_what_holds_up_a_rendezvous():
    # GIVEN data that cannot leave while their sender computes, 20 us behind its overhead
    text = TWO.format("s: send 1001b to 1\nc: calc 20000\nc irequires s", "recv 1001b from 0")
    path = path_of(text, machine(NETWORK | {"S": 0, "progress": "in-call"}), [(0, 0), (1, 0)])
    assert path.cause_s == pytest.approx(
        {"computation": 20e-6, "latency": 3e-6, "overhead": 2e-6, "bytes": 1e-6}
    )
    assert path.rank_s == pytest.approx({0: 21e-6, 1: 1e-6})


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_causes_and_path_add_up_in_any_program(data):
    ops = data.draw(schedules(wildcards=data.draw(st.booleans()), chained=data.draw(st.booleans())))
    values = {
        "L_s": 3e-9,
        "o_s": 2e-9,
        "G_s_per_byte": 1e-9,
        "O_s_per_byte": data.draw(st.sampled_from([0, 1e-9])),
    }
    values |= {"S": data.draw(st.sampled_from([0, 50, 10**6])), "overlap": data.draw(st.booleans())}
    values |= {"progress": data.draw(st.sampled_from(["in-call", "independent"]))}
    seats = data.draw(
        st.lists(st.sampled_from([(0, 0), (0, 1), (1, 0)]), min_size=len(ops), max_size=len(ops))
    )
    where = machine(values, values, nic_bytes_per_s=1e9)
    try:
        prediction, replay, _ = replayed(goal(ops), where, seats)
    except RankwiseError:
        assume(False)
    assert all((each >= 0).all() for each in replay.waiting.values())
    assert sum(replay.waiting.values()) == pytest.approx(prediction.waiting_s, abs=1e-15)
    path = critical_path(replay)
    assert sum(path.cause_s.values()) == pytest.approx(prediction.makespan_s, abs=1e-12)


def test_the_file_has_a_track_a_rank_in_its_node(tmp_path):
    prediction, replay, placement = replayed(LATE_SENDER, machine(NETWORK), [(0, 0), (1, 0)])
    written = perfetto.write(tmp_path / "t.json", Timeline.of(replay), placement)
    assert (written.slices, written.left_out) == (4, 0)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {(e["pid"], e["args"]["name"]) for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert names >= {(0, "node0"), (1, "node1"), (0, "rank 0"), (1, "rank 1")}
    slices = [(e["pid"], e["tid"], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert (0, 0, "compute", 0.0, 10.0) in slices
    assert [e["args"]["bytes"] for e in events if e["name"] == "send to 1"] == [1001]
    ends = [e["ts"] + e["dur"] for e in events if e["ph"] == "X"]
    assert max(ends) == pytest.approx(prediction.makespan_s * 1e6)


def test_every_event_of_the_file_has_what_the_format_asks_for(tmp_path):
    # The Trace Event Format: metadata events name processes and threads, complete events have a begin and a length
    _, replay, placement = replayed(LATE_RECEIVER, machine(NETWORK | {"S": 0}), [(0, 0), (1, 0)])
    perfetto.write(tmp_path / "t.json", Timeline.of(replay), placement)
    document = json.loads((tmp_path / "t.json").read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"}
    keys = {"M": {"name", "ph", "pid", "args"}, "X": {"name", "ph", "pid", "tid", "ts", "dur"}}
    for event in document["traceEvents"]:
        assert keys[event["ph"]] <= set(event) <= keys[event["ph"]] | {"tid", "args"}
        assert isinstance(event["pid"], int) and isinstance(event["name"], str)
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] > 0
    # AND slices of a track do not overlap
    for rank in (0, 1):
        track = sorted(
            (e["ts"], e["dur"]) for e in document["traceEvents"] if e["ph"] == "X" and e["tid"] == rank
        )
        assert all(ts + dur <= after + 1e-9 for (ts, dur), (after, _) in zip(track, track[1:], strict=False))


def test_a_long_timeline_keeps_its_longest_slices(tmp_path):
    _, replay, placement = replayed(LATE_SENDER, machine(NETWORK), [(0, 0), (1, 0)])
    written = perfetto.write(tmp_path / "t.json", Timeline.of(replay), placement, most=2)
    assert (written.slices, written.left_out) == (2, 2)
    assert written.shortest_s == pytest.approx(10e-6)

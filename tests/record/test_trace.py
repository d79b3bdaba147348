# SPDX-License-Identifier: BSD-3-Clause
"""The trace says the same as the tables, in program order."""

from collections import Counter

import pytest
import raw_reader
from rankwise._core import trace

pytestmark = pytest.mark.mpi


WITHOUT_PARENT = {"MPI_Comm_create_from_group", "MPI_Comm_get_parent", "MPI_Comm_join", "MPI_Comm_spawn"}
TRACED = [("messages.c", "exact"), ("messages.c", "1"), ("collectives.c", "exact"), ("communicators.c", "1")]


@pytest.fixture(scope="module", params=TRACED, ids=lambda param: f"{param[0]}-{param[1]}")
def traced(request, record_once):
    return record_once(request.param[0], 4, trace=request.param[1])


def test_every_call_is_one_event_or_one_poll(traced):
    for thread in traced:
        assert thread.has("traced")
        events = thread.events()
        counted = Counter(event["call"] for event in events)
        polls = sum(event["values"][0] for event in events if event["call"] == "poll")
        calls = {name: total[0] for name, total in thread.totals.items() if total[0]}
        # AND of polls that follow each other the first is an event of its own
        runs = [
            (event["values"][0], before["call"])
            for before, event in zip([{"call": ""}, *events], events, strict=False)
            if event["call"] == "poll"
        ]
        assert all(count == 1 for count, before in runs if before not in ("poll", "sched"))
        polled = 0
        for name, count in calls.items():
            if name.startswith(("MPI_Test", "MPI_Iprobe", "MPI_Improbe")) and name != "MPI_Test_cancelled":
                polled += count - counted[name]
            elif name != "MPI_Init":
                assert counted[name] == count, name
        assert polled == polls
        assert counted["lost"] == 0


def test_gaps_and_durations_fill_the_time_from_init_to_the_end_of_finalize(traced):
    for thread in traced:
        events = thread.events()
        assert events[-1]["call"] == "MPI_Finalize"
        until_finalize = sum(e["gap"] + e["ticks"] for e in events) - events[-1]["ticks"]
        inside = sum(event["ticks"] for event in events)
        measured = [
            thread.info["finalize_ticks"] - thread.info["init_ticks"],
            sum(v[1] for name, v in thread.totals.items() if name != "MPI_Init"),
        ]
        if thread.info["trace_coding"] == 5:
            assert [until_finalize, inside] == measured
        else:
            # The bound that the format states: half of the longest, and a unit for each power of two.
            rounding = 64 << thread.info["trace_unit_shift"]
            longest = max(max(event["gap"], event["ticks"]) for event in events)
            for traced_ticks, ticks in zip([until_finalize, inside], measured, strict=True):
                assert abs(traced_ticks - ticks) <= 2 * (longest / 2 + rounding)


def test_messages_of_the_trace_are_those_of_the_tables(traced):
    for thread in traced:
        sent, received, requests = Counter(), Counter(), {}
        for event in thread.events():
            kind, call = event.get("class"), event["call"]
            if kind in ("send", "isend", "sendrecv", "isendrecv") and event["to"] != -1:
                sent[event["to"], call] += event["bytes"]
            if kind in ("recv", "sendrecv") and event["from"] != -1:
                received[event["from"], call] += event["received"]
            if "request" in event:
                requests[event["request"]] = event
            for number in event.get("started", []):
                if requests[number]["class"] == "send_init":
                    sent[requests[number]["to"], requests[number]["call"]] += requests[number]["bytes"]
            for done in event.get("completed", []):
                if done.get("from", -1) != -1 and not requests[done["request"]].get("cancelled"):
                    received[done["from"], requests[done["request"]]["call"]] += done["received"]
            if kind == "cancel":
                requests[event["of"]]["cancelled"] = True
        by_size = {key: value for key, value in thread.sent_bytes.items() if value}
        known_to_their_caller = {
            key: value
            for key, value in by_size.items()
            if "all" in key[1] or "tterv" in key[1] or "atherv" in key[1]
        }
        assert +sent == {key: v for key, v in by_size.items() if key not in known_to_their_caller}
        assert +received == {key: value for key, value in thread.received_bytes.items() if value}


def test_every_request_is_completed_as_often_as_it_was_started(traced):
    for thread in traced:
        balance, persistent = Counter(), set()
        for event in thread.events():
            if event.get("class", "").endswith("_init"):
                persistent.add(event["request"])
            elif "request" in event:
                balance[event["request"]] += 1
            balance.update(event.get("started", []))
            balance.subtract(done["request"] for done in event.get("completed", []))
        assert not +balance
        assert not -balance


def test_what_a_communicator_is_made_of_is_in_the_trace(traced):
    for thread in traced:
        made = [event for event in thread.events() if event.get("class") == "comm"]
        known = {0, *thread.comms}
        for event in made:
            assert event["parent"] in known or event["call"] in WITHOUT_PARENT, event
            assert event["reorder"] in (
                (0, 1) if "raph" in event["call"] or "Cart" in event["call"] else (0,)
            )


def test_the_worked_examples_of_the_format_decode():
    # GIVEN the bytes in the comment of formats/recording.h, with the call numbers put in
    send, wait = (raw_reader.CALLS.index(name) for name in ("MPI_Send", "MPI_Wait"))

    def varint(number):
        return bytes([number & 0x7F | 0x80, number >> 7])

    text = (raw_reader.TOP / "formats" / "recording.h").read_text()
    lines = [bytes.fromhex(line.strip(" *")) for line in text.splitlines() if line.startswith(" *       ")
             and all(len(word) == 2 for word in line.strip(" *").split())]  # fmt: skip
    first, second, coded, changed = lines
    (sent,) = raw_reader.Coded([first[:1] + varint(send) + first[2:]], True, 0).events
    assert (sent["gap"], sent["ticks"], sent["to"], sent["tag"], sent["bytes"]) == (1000, 200, 5, 7, 300)
    (waited,) = raw_reader.Coded([second[:1] + varint(wait) + second[2:]], True, 0).events
    assert waited["completed"] == [{"request": -2, "from": 3, "came_tag": 0, "received": 64}]
    four = raw_reader.Coded([coded[:1] + varint(send) + coded[2:]], False, 0).events
    assert [(e["call"], e["gap"], e["ticks"], e["to"], e["bytes"]) for e in four] == [
        ("MPI_Send", 5, 3, 1, 8)
    ] * 4
    five = raw_reader.Coded([coded[:1] + varint(send) + coded[2:] + changed], False, 0).events
    assert [(e["gap"], e["ticks"], e["to"], e["bytes"]) for e in five] == [(5, 3, 1, 8)] * 4 + [(5, 3, 1, 24)]


def test_a_loop_costs_its_times_only_and_both_readers_see_the_same(mpi, compiled, record):
    # GIVEN a program that sends a token round 2000 times
    # WHEN it is traced with rounded and with exact times
    for mode, most_bytes in (("1", 4), ("exact", 8)):
        recorded = record(mpi, 2, compiled(mpi, "ring.c"), 2000, environment={"RANKWISE_TRACE": mode})
        for path in sorted((recorded.directory / "raw").glob("*.rwn")):
            node = trace.NodeFile(str(path))
            threads = raw_reader.read_node(path)
            for core, plain in zip(node.threads, threads, strict=True):
                # THEN an event takes a byte or two, more where times change all the time
                events = plain.events()
                assert len(events) >= 4000
                calls = sum(event["call"] not in ("poll", "sched") for event in events)
                assert sum(map(len, plain.trace)) < most_bytes * calls
                # AND the package's reader decodes it to the same
                decoded = core.events()
                assert decoded["problem"] == ""
                assert decoded["gap_ticks"].tolist() == [event["gap"] for event in events]
                assert decoded["duration_ticks"].tolist() == [event["ticks"] for event in events]
                assert decoded["send_bytes"].tolist() == [event.get("bytes", 0) for event in events]
            path.unlink()


@pytest.mark.slow
def test_programs_that_never_repeat_themselves_are_traced_whole(mpi, compiled, record):
    # GIVEN more different messages than the coder remembers, and lists longer than it takes
    recorded = record(mpi, 2, compiled(mpi, "irregular.c"), trace=True)
    # THEN every one is in the trace, in order, with what it sent
    for thread in recorded.threads:
        events = thread.events()
        sent = [(e["tag"], e["bytes"]) for e in events if e["call"] == "MPI_Isend"]
        assert sent == [(i % 1000, i * 7919 % 100003) for i in range(9000)]
        waited = [len(e["completed"]) for e in events if e["call"] == "MPI_Waitall"]
        assert waited == [18000]
    node = trace.NodeFile(str(next((recorded.directory / "raw").glob("*.rwn"))))
    assert [thread.events()["problem"] for thread in node.threads] == ["", ""]
    # (threads are in the order of their slots, which ranks take as they come)
    read = sorted(len(thread.events()["kind"]) for thread in node.threads)
    assert read == sorted(len(thread.events()) for thread in recorded.threads)


def test_only_the_calls_asked_for_are_traced_and_all_are_counted(mpi, compiled, record):
    # GIVEN a ring of 23 laps: rank 0 asks for rank and size, then sends and receives in turn
    # WHEN calls 5 to 8 of each rank are to be traced
    recorded = record(
        mpi,
        2,
        compiled(mpi, "ring.c"),
        23,
        environment={"RANKWISE_TRACE": "1", "RANKWISE_TRACE_CALLS": "5..8"},
    )
    # THEN these are in the trace, the others in the totals only
    for thread, expected in zip(
        recorded.threads, (["MPI_Send", "MPI_Recv"], ["MPI_Recv", "MPI_Send"]), strict=True
    ):
        assert [event["call"] for event in thread.events() if event["call"] != "sched"] == 2 * expected
        assert thread.has("cut") and thread.count("MPI_Send") == thread.count("MPI_Recv") == 23

# SPDX-License-Identifier: BSD-3-Clause
"""The trace says the same as the tables, in program order."""

from collections import Counter

import pytest
import raw_reader

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module", params=["messages.c", "collectives.c", "communicators.c"])
def traced(request, record_once):
    return record_once(request.param, 4, trace=True)


def test_every_call_is_one_event_or_one_poll(traced):
    for thread in traced:
        assert thread.has("traced")
        events = raw_reader.events(thread.trace)
        counted = Counter(event["call"] for event in events)
        polls = sum(event["values"][0] for event in events if event["call"] == "poll")
        calls = {name: total[0] for name, total in thread.totals.items() if total[0]}
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
        events = raw_reader.events(thread.trace)
        assert events[-1]["call"] == "MPI_Finalize"
        until_finalize = sum(e["gap"] + e["ticks"] for e in events) - events[-1]["ticks"]
        assert until_finalize == thread.info["finalize_ticks"] - thread.info["init_ticks"]
        inside = sum(event["ticks"] for event in events)
        assert inside == sum(v[1] for name, v in thread.totals.items() if name != "MPI_Init")


def test_messages_of_the_trace_are_those_of_the_tables(traced):
    for thread in traced:
        sent, received, requests = Counter(), Counter(), {}
        for event in raw_reader.events(thread.trace):
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
        for event in raw_reader.events(thread.trace):
            if event.get("class", "").endswith("_init"):
                persistent.add(event["request"])
            elif "request" in event:
                balance[event["request"]] += 1
            balance.update(event.get("started", []))
            balance.subtract(done["request"] for done in event.get("completed", []))
        assert not +balance
        assert not -balance


def test_the_worked_examples_of_the_format_decode():
    # GIVEN the bytes in the comment of formats/recording.h, with the call numbers put in
    send, wait = (raw_reader.CALLS.index(name) for name in ("MPI_Send", "MPI_Wait"))

    def varint(number):
        return bytes([number & 0x7F | 0x80, number >> 7])

    text = (raw_reader.TOP / "formats" / "recording.h").read_text()
    lines = [bytes.fromhex(line.strip(" *")) for line in text.splitlines() if line.startswith(" *       ")
             and all(len(word) == 2 for word in line.strip(" *").split())]  # fmt: skip
    first, second = lines
    (sent,) = raw_reader.events(varint(send) + first[1:])
    assert (sent["gap"], sent["ticks"], sent["to"], sent["tag"], sent["bytes"]) == (1000, 200, 5, 7, 300)
    (waited,) = raw_reader.events(varint(wait) + second[1:])
    assert waited["completed"] == [{"request": -2, "from": 3, "came_tag": 0, "received": 64}]

# SPDX-License-Identifier: BSD-3-Clause
"""Packed events: the worked examples of the contract, every payload, and damage."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankwise._core import trace
from raw_writer import (
    CALL_NUMBERS,
    LOST,
    POLL,
    SCHED,
    changes_example,
    coded_example,
    gaps_example,
    size_bin,
    u,
    z,
)
from raw_writer import single as event

from rankwise.recording.layouts import TRACE_EXACT, TRACE_QUANTISED

HEADER = Path(__file__).resolve().parents[2] / "formats" / "recording.h"


def test_the_worked_examples_of_the_contract_decode_to_what_it_says():
    # GIVEN the byte sequences in formats/recording.h, with 12 standing for MPI_Send and 30 for MPI_Wait
    send, wait, coded, changed = (
        bytes.fromhex(line)
        for line in re.findall(r"^ \*       ((?:[0-9a-f]{2} +)*[0-9a-f]{2})$", HEADER.read_text(), re.M)
    )
    assert (send[:2], wait[:2], coded[:2]) == (b"\xf2\x0c", b"\xf2\x1e", b"\xf0\x0c")
    # WHEN they are decoded, behind two receive requests for the second to complete
    irecv = event("MPI_Irecv", 0, 0, u(0) + z(3) + z(0) + u(64))
    decoded = trace.decode(
        b"\xf2"
        + u(CALL_NUMBERS["MPI_Send"])
        + send[2:]
        + irecv
        + irecv
        + b"\xf2"
        + u(CALL_NUMBERS["MPI_Wait"])
        + wait[2:]
    )
    # THEN they are what the text beside them says
    assert decoded["problem"] == ""
    assert (decoded["gap_ticks"][0], decoded["duration_ticks"][0], decoded["comm"][0]) == (1000, 200, 0)
    assert (decoded["send_peer"][0], decoded["send_tag"][0], decoded["send_bytes"][0]) == (5, 7, 300)
    assert (decoded["gap_ticks"][3], decoded["duration_ticks"][3]) == (5, 90)
    assert list(decoded["completion_offsets"]) == [0, 0, 0, 0, 1]
    assert decoded["completion_request"][0] == 0
    assert decoded["completion_is_receive"][0] == 1
    assert (decoded["completion_peer"][0], decoded["completion_tag"][0], decoded["completion_bytes"][0]) == (
        3,
        0,
        64,
    )

    # AND the coded one is four times the same event
    four = trace.decode(coded[:1] + u(CALL_NUMBERS["MPI_Send"]) + coded[2:], TRACE_QUANTISED)
    assert four["problem"] == ""
    columns = ("gap_ticks", "duration_ticks", "send_peer", "send_bytes")
    assert [four[name].tolist() for name in columns] == [[5] * 4, [3] * 4, [1] * 4, [8] * 4]

    # AND the one behind it has 24 bytes
    five = trace.decode(coded[:1] + u(CALL_NUMBERS["MPI_Send"]) + coded[2:] + changed, TRACE_QUANTISED)
    assert five["problem"] == ""
    assert [five[name].tolist() for name in columns] == [[5] * 5, [3] * 5, [1] * 5, [8] * 4 + [24]]


def test_tokens_of_every_kind_are_decoded():
    events = trace.decode(coded_example(), TRACE_QUANTISED)
    assert events["problem"] == ""
    send, wait = CALL_NUMBERS["MPI_Send"], CALL_NUMBERS["MPI_Waitall"]
    assert events["kind"].tolist() == [
        send,
        wait,
        send,
        wait,
        send,
        POLL,
        SCHED,
        send,
        wait,
        send,
        wait,
        send,
    ]
    assert events["gap_ticks"][1] == 4 << 15 and events["duration_ticks"][1] == 5 << 15
    assert (events["runqueue_wait_ns"][6], events["cpu_ns"][6]) == (3 << 17, 9 << 17)
    assert (events["gap_ticks"][5], events["duration_ticks"][5], events["count"][5]) == (100, 200, 3)


def test_shapes_that_are_given_by_what_they_change_are_decoded():
    events = trace.decode(changes_example(), TRACE_QUANTISED)
    assert events["problem"] == ""
    assert events["kind"][-3:].tolist() == [CALL_NUMBERS["MPI_Send"]] * 3
    assert events["send_peer"][-3:].tolist() == [1, 1, 3]
    assert events["send_bytes"][-3:].tolist() == [24, 8, 9]
    assert len(set(events["gap_ticks"][-4:-1])) == 1 and events["gap_ticks"][-1] > events["gap_ticks"][-2]


def test_the_processor_time_of_a_gap_is_that_of_the_next_call():
    events = trace.decode(gaps_example(), TRACE_QUANTISED)
    assert events["problem"] == ""
    # A sample in between is no call.
    assert events["kind"][-3:].tolist() == [SCHED, *[CALL_NUMBERS["MPI_Send"]] * 2]
    assert events["gap_cpu_ns"][-3:].tolist() == [-1, 9 << 10, -1]
    assert set(events["gap_cpu_ns"][:-3]) == {-1}


@pytest.mark.parametrize("damage", [b"\xf7", b"\xf7\x80", b"\xf7" + u(2**54)])
def test_a_processor_time_that_is_none_is_damage(damage):
    events = trace.decode(damage, TRACE_QUANTISED)
    assert len(events["kind"]) == 0 and "after event 0" in events["problem"]


@pytest.mark.parametrize(
    "damage",
    [
        b"\xf5" + u(0) + u(1) + z(1) + b"\x77",  # nothing is expected yet
        b"\xf5" + u(1 + CALL_NUMBERS["MPI_Send"]) + u(1) + z(1) + b"\x77",  # no such call came
        b"\xf6" + u(2**64 - 1) + u(1) + u(1) + b"\x77",  # no such kind
        b"\xf6",
    ],
)
def test_changes_of_nothing_are_damage(damage):
    events = trace.decode(damage, TRACE_QUANTISED)
    assert len(events["kind"]) == 0 and "after event 0" in events["problem"]


def test_changes_of_numbers_that_the_other_does_not_have_are_damage():
    send = u(CALL_NUMBERS["MPI_Send"]) + u(0) + z(1) + z(0) + u(8)
    by = b"\xf5" + u(1 + CALL_NUMBERS["MPI_Send"]) + u(0b10000) + z(1) + b"\x77"
    assert "after event 1" in trace.decode(b"\xf0" + send + b"\x77" + by, TRACE_QUANTISED)["problem"]


@pytest.mark.parametrize(
    "damage",
    [
        b"\x01",  # nothing is expected yet
        b"\xf1\x00\x66",  # no shape has a number
        b"\xff",  # no token
        b"\xf0" + u(CALL_NUMBERS["MPI_Comm_rank"]) + b"\xff",  # no code where one should be
        b"\xf0" + u(CALL_NUMBERS["MPI_Comm_rank"]) + b"\x00",  # a time below zero
        b"\xf0" + u(CALL_NUMBERS["MPI_Comm_rank"]) + b"\xff\xf8\x00",  # a time beyond 64 bits
        b"\xf3",
    ],
)
def test_what_no_writer_writes_is_damage(damage):
    events = trace.decode(damage, TRACE_QUANTISED)
    assert len(events["kind"]) == 0 and "after event 0" in events["problem"]


@pytest.mark.parametrize("coding", [0, 4, 7])
def test_another_coding_is_named_with_those_that_are_read(coding):
    events = trace.decode(gaps_example(), coding)
    assert len(events["kind"]) == 0
    assert events["problem"] == f"the trace has coding {coding}, which should be 5 or 6"


@settings(max_examples=500, deadline=None)
@given(st.data(), st.sampled_from([TRACE_EXACT, TRACE_QUANTISED]))
def test_changed_bytes_of_a_coded_trace_never_crash(data, coding):
    stream = bytearray(gaps_example() * 3)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        stream = stream or bytearray(b"\x01")
    events = trace.decode(bytes(stream), coding, data.draw(st.sampled_from([0, 4, 32, 33])))
    # An event takes a byte at least, but those of a count that goes on do not come without their times.
    assert len(events["kind"]) <= len(stream)
    assert len(events["completion_offsets"]) == len(events["kind"]) + 1


def test_every_class_of_call_gives_its_payload():
    stream = b"".join([
        event("MPI_Sendrecv", 1, 2, u(0) + z(4) + z(5) + u(6) + u(0) + z(-2) + z(-1) + z(7) + z(8) + u(9)),
        event("MPI_Isend", 1, 2, u(3) + z(-1) + z(0) + u(0)),
        event("MPI_Recv_init", 1, 2, u(0) + z(-2) + z(-1) + u(4096)),
        event("MPI_Start", 1, 2, u(1) + u(1)),
        event("MPI_Iallreduce", 1, 2, u(2) + z(-1) + u(1) + u(8) + u(800) + u(0) + u(0)),
        event("MPI_Alltoallv", 1, 2, u(0) + z(-1) + u(0) + u(4) + u(60) + u(0) + u(3) + bytes([10, 20, 30])),
        event("MPI_Neighbor_alltoall", 1, 2, u(0) + z(-1) + bytes([0, 4, 8, 0, 2]) + z(7) + u(8) + z(-1) + u(8)),
        event("MPI_Waitall", 1, 2, u(2) + u(3) + u(0) + u(1) + u(0)),
        event("MPI_Iprobe", 1, 2, u(0) + z(-2) + z(-1) + z(6) + z(1) + u(77)),
        event("MPI_Request_free", 1, 2, u(2)),
        event("MPI_Comm_rank", 1, 2),
        event(POLL, 10, 20, u(5)),
        event(SCHED, 0, 0, u(1000) + u(2000)),
        event(LOST, 0, 0, u(12)),
    ])  # fmt: skip
    events = trace.decode(stream)
    assert events["problem"] == ""
    assert list(events["request"]) == [-1, 0, 1, -1, 2, -1, -1, -1, -1, 1, -1, -1, -1, -1]
    assert (
        events["recv_peer"][0],
        events["recv_tag"][0],
        events["recv_bytes"][0],
        events["posted_peer"][0],
    ) == (7, 8, 9, -2)
    assert events["send_peer"][1] == -1 and events["comm"][1] == 3
    assert (events["posted_peer"][2], events["recv_bytes"][2]) == (-2, 4096)
    assert (events["flags"][4], events["datatype_bytes"][4], events["bytes"][4]) == (1, 8, 800)
    assert list(events["sizes"]) == [10, 20, 30, 8, 8] and list(events["size_offsets"][5:7]) == [0, 3]
    assert list(events["size_destination"]) == [-1, -1, -1, 7, -1]
    assert list(events["completion_request"]) == [1, 0, 2]
    assert list(events["count"][11:]) == [5, 0, 12]
    assert (events["runqueue_wait_ns"][12], events["cpu_ns"][12]) == (1000, 2000)


def test_a_stream_cut_inside_an_event_keeps_the_events_before_it_and_says_where():
    whole = event("MPI_Send", 1, 2, u(0) + z(1) + z(2) + u(300))
    events = trace.decode(whole * 3 + whole[:-1])
    assert len(events["kind"]) == 3
    assert "after event 3" in events["problem"] and f"byte {3 * len(whole)}" in events["problem"]


def test_a_list_longer_than_the_stream_is_damage_and_allocates_nothing():
    events = trace.decode(event("MPI_Waitall", 1, 2, u(2**60)))
    assert len(events["kind"]) == 0 and events["problem"]


def test_a_number_of_more_than_64_bits_is_damage():
    def send_of(size: bytes):
        return trace.decode(event("MPI_Send", 1, 2, u(0) + z(1) + z(2) + size))

    largest, one_more = b"\xff" * 9 + b"\x01", b"\x80" * 9 + b"\x02"
    assert send_of(largest)["problem"] == "" and send_of(largest)["send_bytes"][0] == 2**64 - 1
    assert send_of(one_more)["problem"]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_never_crash(stream):
    events = trace.decode(stream)
    assert len(events["kind"]) <= len(stream)
    assert len(events["completion_offsets"]) == len(events["kind"]) + 1


numbers = st.integers(0, 2**64 - 1)
ints = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 2**32 - 1), ints, ints, numbers), max_size=50))
def test_what_was_packed_comes_back(sends):
    stream = b"".join(event("MPI_Send", g, d, u(c) + z(p) + z(t) + u(b)) for g, d, c, p, t, b in sends)
    events = trace.decode(stream)
    columns = ["gap_ticks", "duration_ticks", "comm", "send_peer", "send_tag", "send_bytes"]
    assert [tuple(int(events[name][i]) for name in columns) for i in range(len(sends))] == sends


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 1023, 1024, 1025, 2**63, 2**63 + 1])
def test_sizes_share_a_bin_up_to_a_power_of_two(size):
    assert trace.size_bin(size) == size_bin(size)
    assert trace.size_bin_upper(trace.size_bin(min(size, 2**63))) >= min(size, 2**63)

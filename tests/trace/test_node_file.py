# SPDX-License-Identifier: BSD-3-Clause
"""The reader of a node's file: what it finds, and what it makes of damage."""

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rankwise._core import trace
from raw_writer import CHUNK_BYTES, DEAD, HEADER_BYTES, PEERS, TRACE, Rank, RawFile, single, u, z

from rankwise.errors import RankwiseError
from rankwise.recording import layouts
from rankwise.recording.raw import rank_fields


def two_ranks() -> RawFile:
    file = RawFile()
    for me in range(2):
        rank = Rank(me, 2, affinity=(me,))
        rank.send(1 - me, 100, times=23)
        rank.collective("MPI_Allreduce", 8, element=8)
        for i in range(10):
            rank.event("MPI_Send", i, 5, u(0) + z(1 - me) + z(0) + u(100))
        file.add(rank, events_a_run=3)
    return file


def peer_entry(*values: int) -> bytes:
    return np.array(values, layouts.PEER_ENTRY).tobytes()


def peers(thread):
    return np.sort(np.frombuffer(thread.peers, layouts.PEER_ENTRY)).tolist()


def test_two_ranks_are_read_with_their_tables_and_traces(tmp_path):
    file = trace.NodeFile(str(two_ranks().write(tmp_path / "n0.rwn")))
    assert {cover for _, _, cover in file.runs} == {"whole"}
    assert file.problems == []
    assert [rank_fields(thread)["world_rank"] for thread in file.threads] == [0, 1]
    first = file.threads[0]
    assert first.problems == []
    assert rank_fields(first)["host"] == "n0" and rank_fields(first)["seconds_per_tick"] == pytest.approx(
        1e-9
    )
    assert [entry[0] for entry in peers(first)] == [1] and peers(first)[0][3:] == (23, 2300)
    assert len(first.collectives) == layouts.COLLECTIVE_ENTRY.itemsize
    assert len(first.communicators) == 2
    assert list(first.events()["gap_ticks"]) == list(range(10))


CLOSED_BIT = (35, 7)  # of a run's header


@pytest.mark.one_of(4)
@pytest.mark.parametrize("run", range(9))
def test_a_bit_that_is_not_as_it_was_written_is_found_wherever_a_run_has_it(tmp_path, run):
    # GIVEN a file of nine kinds of runs that were closed
    rank = Rank(0, 1, modules=["/bin/app"], sites=[(0, "MPI_Send", 64, 3, 100, 24)])
    rank.send(0, 100)
    rank.collective("MPI_Barrier", 0)
    rank.event("MPI_Send", 7, 5, u(0) + z(0) + z(0) + u(100))
    file = RawFile(run=(1, 2))
    owner = file.add(rank)
    file.add_run(DEAD, peer_entry(1, 5, 3, 10, 40), 1, owner=owner)
    good = file.bytes()
    path = tmp_path / "n0.rwn"
    path.write_bytes(good)
    whole = trace.NodeFile(str(path))
    assert whole.problems == whole.notes == [] and len(whole.runs) == 9
    name, at, _ = whole.runs[run]
    used = {"the rank record": 2600, "an outgrown table": 0, "the trace": 7}.get(name, 24)
    header = set(range(64)) - set(range(24, 32) if used == 0 else ())  # nobody asks how much was used of it
    for byte in [*sorted(header), *range(64, 64 + used, 7)]:
        for bit in (0, 3, 7):
            content = bytearray(good)
            content[at + byte] ^= 1 << bit
            path.write_bytes(content)
            # WHEN one bit of its header or of what is in it is another one
            damaged = trace.NodeFile(str(path))
            # THEN it is said; of the bit that says that a run is closed, that it is not covered
            if (byte, bit) == CLOSED_BIT and name[:7] not in ("the log", "the tra"):
                assert damaged.runs[run][2] == "uncovered"
            else:
                assert damaged.problems, (name, byte, bit)


def test_what_was_written_after_the_last_checksum_is_not_taken_for_damage(tmp_path):
    # GIVEN a rank that was killed: its table changed since, and its trace went on
    rank = Rank(0, 1, flags=0, sealed_ns=5_000)
    file = RawFile()
    payload = rank.record() + rank.totals_bytes()
    owner = file.add_run(1, payload, len(payload), checked=0)
    file.add_run(PEERS, peer_entry(0, 5, 3, 12, 48), 1, owner=owner, checked=0)
    event = single(0, 1, 1)
    file.add_run(TRACE, 3 * event, 3 * len(event), owner=owner, checked=2 * len(event))
    file.add_unused()
    # THEN it is read, as not covered
    node = trace.NodeFile(str(file.write(tmp_path / "n0.rwn")))
    assert node.problems == [] and [cover for _, _, cover in node.runs] == ["uncovered"] * 3
    assert node.notes == ["1 of 4 chunks hold nothing, the first at byte 200704"]
    (thread,) = node.threads
    assert (
        thread.uncovered
        and len(thread.events()["kind"]) == 3
        and rank_fields(thread)["sealed_ticks"] == 5_000
    )
    # AND what does not change any more is damaged if it did
    at = node.runs[2][1] + 64
    content = bytearray(file.bytes())
    content[at] ^= 1
    (tmp_path / "n0.rwn").write_bytes(content)
    assert trace.NodeFile(str(tmp_path / "n0.rwn")).problems == [
        f"the trace at byte {at - 64} does not match its checksum"
    ]


@pytest.mark.parametrize("flags, damaged", [(1, True), (1 | 4, False), (0, False)])
def test_a_chunk_that_holds_nothing_is_damage_unless_ranks_were_killed_or_had_no_space(
    tmp_path, flags, damaged
):
    file = RawFile()
    file.add(Rank(0, 1, flags=flags))
    file.add_unused()
    node = trace.NodeFile(str(file.write(tmp_path / "n0.rwn")))
    assert bool(node.problems) == damaged and bool(node.notes) != damaged
    # AND so is a file of another length
    path = tmp_path / "n1.rwn"
    path.write_bytes(file.bytes()[:-CHUNK_BYTES])
    node = trace.NodeFile(str(path))
    said = node.problems if damaged else node.notes
    assert any("is another length" in each for each in said)


def test_spawned_processes_have_no_world_rank_and_hide_no_later_communicator(tmp_path):
    # GIVEN an intercommunicator with three spawned processes, a definition that cannot be, and a duplicate of world
    unknown = 0xFFFFFFFE
    rank = Rank(0, 2)
    rank.comm(2, [0, 1], instance=1, remote=[unknown] * 3)
    rank.comm(3, [0, 99_999_999], instance=0)
    rank.comm(4, [0, 1], instance=2)
    file = RawFile()
    file.add(rank)
    # WHEN read
    (thread,) = trace.NodeFile(str(file.write(tmp_path / "n0.rwn"))).threads
    # THEN only the impossible one is missing
    assert [np.frombuffer(comm[0], layouts.COMM)["index"][0] for comm in thread.communicators] == [0, 1, 2, 4]
    assert thread.problems == ["communicator 3 is damaged and was left out"]


def test_an_empty_file_and_a_file_of_zeros_hold_no_rank(tmp_path):
    for content in (b"", bytes(100), bytes(HEADER_BYTES), bytes(HEADER_BYTES + 3 * CHUNK_BYTES)):
        path = tmp_path / "n0.rwn"
        path.write_bytes(content)
        assert trace.NodeFile(str(path)).threads == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b"#!/bin/sh\n" + b, ["not a raw recording", "byte 0"]),
        (lambda b: b[:4] + struct.pack("<I", 5) + b[8:], ["format version 5", "byte 4", "versions 3 and 4"]),
        (lambda b: b[:4] + struct.pack("<I", 2) + b[8:], ["format version 2", "byte 4", "versions 3 and 4"]),
        (lambda b: b[:8] + struct.pack("<I", 4096) + b[12:], ["chunks of 4096 bytes"]),
        (lambda b: b[:16] + struct.pack("<Q", 1) + b[24:], ["another list of MPI functions"]),
        (lambda b: b[:20], ["stops at byte 20"]),
        (lambda b: b[:33] + b"\1" + b[34:], ["does not match its checksum"]),
        (lambda b: bytes(HEADER_BYTES) + b[HEADER_BYTES:], ["zeros in place of"]),
    ],
)
def test_a_file_that_is_none_of_ours_is_an_error_that_says_what_was_expected(tmp_path, change, words):
    path = tmp_path / "n0.rwn"
    path.write_bytes(change(two_ranks().bytes()))
    with pytest.raises(RankwiseError) as error:
        trace.NodeFile(str(path))
    assert str(path) in error.value.message and error.value.hint
    assert all(word in error.value.message for word in words)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(RankwiseError, match="cannot read"):
        trace.NodeFile(str(tmp_path / "nowhere.rwn"))


def test_an_outgrown_table_is_not_counted_twice(tmp_path):
    file = RawFile()
    rank = Rank(0, 2)
    owner = file.add(rank)
    old = peer_entry(1, 5, 3, 10, 40)
    file.add_run(DEAD, old, 1, owner=owner)
    file.add_run(PEERS, peer_entry(1, 5, 3, 12, 48), 1, owner=owner, sequence=1)
    (thread,) = trace.NodeFile(str(file.write(tmp_path / "n0.rwn"))).threads
    assert peers(thread) == [(1, 5, 3, 12, 48)]


def test_of_a_table_that_was_being_copied_when_the_process_died_the_complete_one_is_read(tmp_path):
    file = RawFile()
    owner = file.add_run(1, Rank(0, 4).record() + bytes(40 * 652), 2600 + 40 * 652)
    full = b"".join(peer_entry(peer, 5, 3, 10, 40) for peer in range(4))
    file.add_run(PEERS, full, 4, owner=owner)
    file.add_run(PEERS, full[:48].ljust(192, b"\0"), 8, owner=owner, sequence=1)
    (thread,) = trace.NodeFile(str(file.write(tmp_path / "n0.rwn"))).threads
    assert len(peers(thread)) == 4


def test_a_rank_killed_before_its_second_clock_reading_takes_the_rate_of_the_node(tmp_path):
    file = RawFile()
    file.add(Rank(0, 2, clocks=1))
    file.add(Rank(1, 2))
    first, second = trace.NodeFile(str(file.write(tmp_path / "n0.rwn"))).threads
    assert first.seconds_per_tick == second.seconds_per_tick == pytest.approx(1e-9)


def test_a_missing_part_of_a_trace_ends_it_there(tmp_path):
    file = RawFile()
    rank = Rank(0, 1)
    event = single(0, 1, 1)
    owner = file.add(rank)
    file.add_run(TRACE, event, len(event), owner=owner, sequence=0)
    file.add_run(TRACE, event, len(event), owner=owner, sequence=2)
    (thread,) = trace.NodeFile(str(file.write(tmp_path / "n0.rwn"))).threads
    assert len(thread.events()["kind"]) == 1
    assert thread.problems == ["part 1 of the trace is missing; it ends there"]


@pytest.mark.parametrize(
    "keep", [HEADER_BYTES, HEADER_BYTES + 3000, HEADER_BYTES + CHUNK_BYTES + 5000, -CHUNK_BYTES - 7]
)
def test_a_file_cut_short_keeps_what_is_there(tmp_path, keep):
    whole = two_ranks().bytes()
    path = tmp_path / "n0.rwn"
    path.write_bytes(whole[:keep])
    file = trace.NodeFile(str(path))
    assert len(file.threads) <= 2
    if keep < 0:
        assert len(file.threads) == 2 and any("the file ends at byte" in problem for problem in file.problems)


def read_everything(path):
    for thread in trace.NodeFile(str(path)).threads:
        assert (np.frombuffer(thread.peers, layouts.PEER_ENTRY)["count"] > 0).all()
        assert rank_fields(thread)["world_rank"] < rank_fields(thread)["world_size"]
        assert len(thread.calls) == layouts.CALL_TOTAL.itemsize * len(trace.calls())
        assert len(thread.collectives) % layouts.COLLECTIVE_ENTRY.itemsize == 0
        thread.events()
        thread.communicators  # noqa: B018 - read for its side effects


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_damage_never_crashes_the_reader(tmp_path, data):
    # GIVEN a good file with some words overwritten where structure lives, and perhaps cut short
    content = bytearray(two_ranks().bytes())
    starts = [
        HEADER_BYTES + chunk * CHUNK_BYTES for chunk in range((len(content) - HEADER_BYTES) // CHUNK_BYTES)
    ]
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.sampled_from([8, *starts]))
        offset = start + data.draw(st.integers(0, 300))
        patch = data.draw(st.binary(min_size=1, max_size=8))
        content[offset : offset + len(patch)] = patch
    path = tmp_path / "n0.rwn"
    path.write_bytes(content[: data.draw(st.integers(HEADER_BYTES, len(content)))])
    # THEN it is read as far as it makes sense, or refused with a sentence
    try:
        read_everything(path)
    except RankwiseError as error:
        assert str(path) in error.message


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=6000))
def test_random_bytes_never_crash_the_reader(tmp_path, content):
    path = tmp_path / "n0.rwn"
    path.write_bytes(content)
    try:
        read_everything(path)
    except RankwiseError as error:
        assert str(path) in error.message

# SPDX-License-Identifier: BSD-3-Clause
"""The tables made of a recording: known answers from raw files written by hand."""

import subprocess

import polars as pl
import pytest
from elftools.elf.elffile import ELFFile
from raw_writer import ABORTED, FINALIZED, UNCLASSIFIED, Rank, write_recording

from rankwise.exports import mpip
from rankwise.recording import Recording
from rankwise.report import words
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

LAPS = 23


def ring(size, hosts=1):
    ranks = [Rank(me, size, host=f"n{me * hosts // size}", affinity=(me,)) for me in range(size)]
    for rank in ranks:
        rank.send((rank.world_rank + 1) % size, 100, times=LAPS)
        rank.recv((rank.world_rank - 1) % size, 100, times=LAPS)
    return ranks


def rows(frame, *columns):
    return frame.select(columns).rows()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_ring_of_23_laps_has_its_messages_and_bytes_from_both_sides(tmp_path, size):
    recording = Recording.open(write_recording(tmp_path / "ring.rw", ring(size, hosts=min(size, 2))))
    expected = sorted((me, (me + 1) % size, LAPS, LAPS * 100) for me in range(size))
    for table in (recording.messages, recording.received):
        assert rows(table, "source", "destination", "messages", "bytes") == sorted(expected)
        assert set(rows(table, "bytes_over", "bytes_up_to")) == {(64, 128)}
    assert set(rows(recording.messages, "call", "collective", "algorithm")) == {("MPI_Send", False, None)}
    assert recording.world_size == size and recording.ranks["rank"].to_list() == list(range(size))
    calls = {call: count for call, count in rows(recording.calls.filter(rank=0), "call", "count")}
    assert calls == {"MPI_Send": LAPS, "MPI_Recv": LAPS}


def test_messages_of_no_bytes_have_the_range_null_to_0(tmp_path):
    sender, receiver = Rank(0, 2), Rank(1, 2)
    for size in (0, 1, 2, 3, 1 << 40):
        sender.send(1, size)
    recording = Recording.open(write_recording(tmp_path / "sizes.rw", [sender, receiver]))
    assert rows(recording.messages.sort("bytes_up_to"), "bytes_over", "bytes_up_to", "bytes") == [
        (None, 0, 0),
        (0, 1, 1),
        (1, 2, 2),
        (2, 4, 3),
        (1 << 39, 1 << 40, 1 << 40),
    ]


def test_collectives_appear_as_calls_and_as_messages_between_world_ranks(tmp_path):
    # GIVEN two allreduces in the world, and one broadcast among the odd ranks from their second
    ranks = [Rank(me, 4) for me in range(4)]
    for rank in ranks:
        rank.collective("MPI_Allreduce", 8, element=8, times=2)
        if rank.world_rank % 2 == 1:
            rank.comm(2, [1, 3])
            rank.collective("MPI_Bcast", 40, comm=2, root=1)
    recording = Recording.open(write_recording(tmp_path / "coll.rw", ranks))
    # THEN their messages are recursive doubling's and the tree's
    assert rows(
        recording.messages.filter(call="MPI_Bcast"), "source", "destination", "bytes", "algorithm"
    ) == [(3, 1, 40, "binomial")]
    allreduce = recording.messages.filter(call="MPI_Allreduce")
    assert rows(allreduce, "source", "destination", "messages") == [
        (me, me ^ mask, 2) for me in range(4) for mask in sorted((1, 2), key=lambda mask, me=me: me ^ mask)
    ]
    assert allreduce["collective"].all()
    # AND the calls are there, with the root as a world rank and one communicator for both members
    bcasts = recording.collectives.filter(call="MPI_Bcast")
    assert rows(bcasts, "rank", "root", "count", "bytes", "algorithm") == [
        (1, 3, 1, 40, "binomial"),
        (3, 3, 1, 40, "binomial"),
    ]
    (communicator,) = bcasts["communicator"].unique()
    assert recording.communicators.filter(communicator=communicator)["members"].to_list() == [[1, 3]]
    assert recording.communicators.filter(communicator=0)["members"].to_list() == [[0, 1, 2, 3]]


def test_open_mpi_is_expanded_with_its_own_algorithms(tmp_path):
    ranks = [Rank(me, 5, flavour=2, version="Open MPI v5.0.11") for me in range(5)]
    for rank in ranks:
        rank.collective("MPI_Barrier", 0)
    recording = Recording.open(write_recording(tmp_path / "ompi.rw", ranks))
    assert recording.context["mpi"]["family"] == "openmpi"
    assert set(recording.messages["algorithm"]) == {"linear"}
    assert recording.messages["messages"].sum() == 8


def test_what_the_caller_recorded_of_a_collective_is_taken_as_it_is(tmp_path):
    # GIVEN an alltoallv that sends 50 bytes to each, nothing to rank 0, and copies its own block
    ranks = [Rank(me, 3) for me in range(3)]
    for rank in ranks:
        rank.collective("MPI_Alltoallv", 100)
        for peer in range(3):
            rank.peer_bytes(peer, 50 if peer else 0, "MPI_Alltoallv")
    recording = Recording.open(write_recording(tmp_path / "v.rw", ranks))
    assert rows(recording.messages, "source", "destination", "bytes", "collective", "algorithm") == [
        (0, 1, 50, True, "direct"),
        (0, 2, 50, True, "direct"),
        (1, 2, 50, True, "direct"),
        (2, 1, 50, True, "direct"),
    ]
    assert recording.context["not_recorded"] == []
    # AND the call itself says so, so that it is found with its messages
    assert rows(recording.collectives, "call", "algorithm") == [("MPI_Alltoallv", "direct")] * 3


def test_a_damaged_table_is_made_again(tmp_path):
    directory = write_recording(tmp_path / "d.rw", [Rank(me, 2) for me in range(2)])
    ranks = Recording.open(directory).ranks
    table = directory / "tables" / "ranks.parquet"
    # WHEN it is cut, or has as many bytes but others
    for content in (b"garbage", bytes(table.stat().st_size)):
        table.write_bytes(content)
        # THEN nobody notices
        assert Recording.open(directory).ranks.equals(ranks)


def test_a_list_of_members_that_another_rank_wrote_serves_all(tmp_path):
    ranks = [Rank(me, 4) for me in range(4)]
    for rank in ranks:
        members = [3, 1, 0, 2]
        rank.comm(2, members, listed=members.index(rank.world_rank) < 2)
        rank.collective("MPI_Barrier", 0, comm=2)
    recording = Recording.open(write_recording(tmp_path / "irregular.rw", ranks))
    assert [3, 1, 0, 2] in recording.communicators["members"].to_list()
    assert rows(recording.messages.filter(source=3), "destination", "messages") == [(0, 1), (1, 1)]


def test_a_list_of_members_serves_all_communicators_of_the_group(tmp_path):
    # GIVEN a group whose members are written down with its first communicator only
    ranks = [Rank(me, 4) for me in range(4)]
    for rank in ranks:
        members = [3, 1, 0, 2]
        rank.comm(2, members, listed=members.index(rank.world_rank) < 2)
        rank.comm(3, members, instance=1, listed=False)
        rank.collective("MPI_Barrier", 0, comm=3)
    recording = Recording.open(write_recording(tmp_path / "again.rw", ranks))
    assert recording.context["not_recorded"] == []
    assert rows(recording.messages.filter(source=3), "destination", "messages") == [(0, 1), (1, 1)]


def test_two_communicators_of_one_group_stay_apart(tmp_path):
    ranks = [Rank(me, 2) for me in range(2)]
    for rank in ranks:
        rank.comm(2, [0, 1], instance=1)
        rank.collective("MPI_Barrier", 0, comm=2)
        rank.collective("MPI_Barrier", 0, comm=0)
    recording = Recording.open(write_recording(tmp_path / "dup.rw", ranks))
    assert rows(recording.communicators.filter(size=2), "instance") == [(0,), (1,)]
    assert recording.collectives["communicator"].n_unique() == 2


def test_collectives_without_known_members_are_said_to_be_missing(tmp_path):
    ranks = [Rank(me, 2) for me in range(2)]
    for rank in ranks:
        rank.comm(2, [1, 0], listed=False)
        rank.collective("MPI_Allreduce", 8, comm=2)
        rank.collective("MPI_Allreduce", 8, comm=9)
    recording = Recording.open(write_recording(tmp_path / "lost.rw", ranks))
    assert recording.messages.height == 0
    assert recording.context["not_recorded"] == [
        {"what": "collectives", "count": 4, "why": "the communicator's members are not known"}
    ]


def test_what_an_origin_fetched_is_a_message_from_its_target(tmp_path):
    # GIVEN an origin that put 100 bytes, got 200, and did both with 4 bytes
    origin, target = Rank(0, 2), Rank(1, 2)
    origin.send(1, 100, call="MPI_Put")
    origin.recv(1, 200, call="MPI_Get")
    origin.send(1, 4, call="MPI_Fetch_and_op")
    origin.recv(1, 4, call="MPI_Fetch_and_op")
    recording = Recording.open(write_recording(tmp_path / "rma.rw", [origin, target]))
    # THEN the data went both ways, and no point-to-point message was received
    assert sorted(rows(recording.messages, "source", "destination", "call", "bytes")) == [
        (0, 1, "MPI_Fetch_and_op", 4),
        (0, 1, "MPI_Put", 100),
        (1, 0, "MPI_Fetch_and_op", 4),
        (1, 0, "MPI_Get", 200),
    ]
    assert recording.received.height == 0


def test_unknown_peers_are_null_and_said(tmp_path):
    rank = Rank(0, 1, flags=FINALIZED | UNCLASSIFIED)
    rank.send(0xFFFFFFFE, 8)
    recording = Recording.open(write_recording(tmp_path / "unknown.rw", [rank]))
    assert rows(recording.messages, "source", "destination") == [(0, None)]
    assert recording.context["not_recorded"][0]["what"] == "peers"


def test_time_is_split_into_mpi_and_the_rest(tmp_path):
    finished = Rank(0, 2, run_ns=10**9, runqueue_wait_ns=5 * 10**6)
    finished.send(1, 8, times=4, ns=25_000_000)
    finished.count("MPI_Finalize", ns=30_000_000)
    killed = Rank(1, 2, run_ns=2 * 10**9, flags=0, schedstat_samples=0)
    recording = Recording.open(write_recording(tmp_path / "time.rw", [finished, killed]))
    first, second = recording.ranks.to_dicts()
    assert (first["time_s"], first["mpi_s"], first["compute_s"]) == pytest.approx((1.0, 0.1, 0.9))
    assert first["runqueue_wait_s"] == pytest.approx(0.005) and not first["partial"]
    assert second["time_s"] == pytest.approx(2.0) and second["partial"]
    assert second["runqueue_wait_s"] is None
    (send,) = recording.calls.filter(call="MPI_Send").to_dicts()
    assert (send["time_s"], send["max_s"], send["bytes"]) == pytest.approx((0.1, 0.025, 32))
    assert recording.context["partial_ranks"] == [{"rank": 1, "why": "MPI_Finalize was not reached"}]


def test_a_killed_rank_lived_as_long_as_its_calls_took_and_until_the_one_that_did_not_return(tmp_path):
    # GIVEN clocks that were read last after 1 ms, then calls of 5 ms, and of the other rank a call after 8 ms
    first = Rank(0, 2, run_ns=1_000_000, flags=0)
    first.count("MPI_Barrier", ns=5_000_000)
    second = Rank(1, 2, run_ns=1_000_000, flags=0, in_call=("MPI_Recv", 8_000_000))
    second.count("MPI_Barrier", ns=5_000_000)
    ranks = Recording.open(write_recording(tmp_path / "killed.rw", [first, second])).ranks
    # THEN no rank was longer in MPI than it lived
    assert ranks["time_s"].to_list() == pytest.approx([0.005, 0.008])
    assert ranks["mpi_s"].to_list() == pytest.approx([0.005, 0.005])
    assert ranks["compute_s"].to_list() == pytest.approx([0.0, 0.003])


def test_threads_of_a_process_are_added_up(tmp_path):
    first, second = Rank(0, 1), Rank(0, 1, thread=1, flags=0)
    for rank in (first, second):
        rank.send(0, 8, times=3)
    recording = Recording.open(write_recording(tmp_path / "threads.rw", [first, second]))
    assert recording.ranks["threads"].to_list() == [2] and recording.ranks["partial"].to_list() == [False]
    assert recording.messages["messages"].to_list() == [6]


def test_sent_and_received_tables_keep_their_columns_when_empty(tmp_path):
    recording = Recording.open(write_recording(tmp_path / "nothing.rw", [Rank(0, 1)]))
    assert recording.messages.schema["algorithm"] == pl.String
    assert recording.messages.schema["bytes_over"] == pl.Int64
    assert recording.received.height == recording.calls.height == recording.collectives.height == 0


def test_aborted_ranks_are_partial(tmp_path):
    recording = Recording.open(write_recording(tmp_path / "abort.rw", [Rank(0, 1, flags=ABORTED)]))
    assert recording.context["partial_ranks"] == [{"rank": 0, "why": "MPI_Abort was called"}]


def test_what_recording_cost_is_calls_at_their_cost_and_the_rest(tmp_path):
    # GIVEN two ranks of a second that measured 10 and 30 ns a call, one of which was busy otherwise too
    ranks = [Rank(0, 2, call_cost_ns=10, recorder_ns=1_000_000), Rank(1, 2, call_cost_ns=30)]
    for rank in ranks:
        rank.send(1 - rank.world_rank, 8, times=1000)
    # WHEN
    recorder = Recording.open(write_recording(tmp_path / "cost.rw", ranks)).context["recorder"]
    # THEN the cost is the median, and the share that of the rank with most
    assert recorder["timed"] and recorder["call_cost_s"] == pytest.approx(20e-9)
    assert recorder["share"] == pytest.approx(1e-3 + 1000 * 10e-9)


def test_the_cost_of_a_rank_that_was_killed_early_is_over_what_it_is_known_to_have_run(tmp_path):
    # GIVEN a rank whose clocks were read before MPI_Init ended only, and that was killed 2 ms after that
    killed = Rank(
        0, 2, flags=0, run_ns=0, shift_ns=500_000, call_cost_ns=10, recorder_ns=1_000_000,
        in_call=("MPI_Recv", 2_500_000),
    )  # fmt: skip
    other = Rank(1, 2, call_cost_ns=10)
    recorder = Recording.open(write_recording(tmp_path, [killed, other])).context["recorder"]
    # THEN 1 ms of 2 ms is half, and not 1 ms of a tick
    assert recorder["share"] == pytest.approx(0.5)


def test_a_cost_of_more_than_all_the_time_a_rank_ran_is_said_not_to_be_known(tmp_path):
    # GIVEN a rank that was killed 1 ms after MPI_Init, and a recorder that counted 2 ms
    rank = Rank(0, 1, run_ns=1_000_000, call_cost_ns=10, recorder_ns=2_000_000)
    recording = Recording.open(write_recording(tmp_path / "short.rw", [rank]))
    # THEN no share is made of it, and the report says so
    assert recording.context["recorder"]["share"] is None
    text = words.recording_cost(build(recording))
    assert text == "10 ns a call, measured as the run began; its part of a rank's time is not known"


def test_times_of_calls_have_a_shortest_and_a_distribution(tmp_path):
    rank = Rank(0, 1)
    rank.count("MPI_Barrier", ns=100)
    rank.count("MPI_Barrier", ns=1000, times=3)
    recording = Recording.open(write_recording(tmp_path / "times.rw", [rank]))
    (barrier,) = recording.calls.to_dicts()
    assert (barrier["min_s"], barrier["max_s"]) == pytest.approx((100e-9, 1000e-9))
    assert recording.durations.select("rank", "call", "count").rows() == [
        (0, "MPI_Barrier", 1),
        (0, "MPI_Barrier", 3),
    ]
    assert recording.durations["from_s"].to_list() == pytest.approx([64e-9, 512e-9])
    assert recording.durations["below_s"].to_list() == pytest.approx([128e-9, 1024e-9])


def test_call_sites_keep_what_their_files_do_not_say(tmp_path):
    # GIVEN calls from a program that is not there any more, and from code that belongs to no file
    rank = Rank(0, 1, modules=["/nowhere/app"])
    rank.sites = [
        (0, "MPI_Send", 0x40, 3, 300, 24),
        (0xFFFFFFFF, "MPI_Send", 0x7F0000000000, 1, 50, 8),
    ]
    # WHEN
    sites = Recording.open(write_recording(tmp_path / "sites.rw", [rank])).call_sites
    # THEN their counts are there, and what they are is not known
    assert sites.select("module", "offset", "count", "function", "file", "line").rows() == [
        (None, 0x7F0000000000, 1, None, None, None),
        ("/nowhere/app", 0x40, 3, None, None, None),
    ]


def test_cplusplus_functions_are_named_as_their_source_has_them(tmp_path):
    # GIVEN a call from a C++ library
    library = tmp_path / "libhalo.so"
    source = "namespace halo { template <class T> void swap(T *) {} template void swap<double>(double *); }"
    compiled = ["c++", "-x", "c++", "-", "-shared", "-fPIC", "-o", library]
    subprocess.run(compiled, input=source, text=True, check=True)
    with library.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab").get_symbol_by_name("_ZN4halo4swapIdEEvPT_")
    rank = Rank(0, 1, modules=[str(library)])
    rank.sites = [(0, "MPI_Send", symbols[0]["st_value"] + 2, 3, 300, 24)]
    rank.send(0, 8, times=3, ns=100)
    recording = Recording.open(write_recording(tmp_path / "sites.rw", [rank]))
    # THEN it has the name of its source, and keeps that of its symbol
    name = "void halo::swap<double>(double*)"
    assert rows(recording.call_sites, "function", "symbol") == [(name, "_ZN4halo4swapIdEEvPT_")]
    # AND so do the report, whose terminal leaves out what is long, and mpiP
    report = build(recording)
    assert (report.call_sites[0].function, report.call_sites[0].symbol) == (name, "_ZN4halo4swapIdEEvPT_")
    assert "halo::swap, libhalo.so +0x" in render_text(report, section="call-sites")
    assert "<code>void halo::<wbr>swap&lt;double&gt;(double*)</code>" in render_html(report)
    mpip.write(recording, tmp_path / "sites.mpiP")
    assert "void_halo::swap<double>(double*)" in (tmp_path / "sites.mpiP").read_text()


def test_ranks_that_end_inside_finalize_are_whole_and_said(tmp_path):
    # GIVEN two ranks of which one is killed in MPI_Finalize, as Open MPI does when another exits with a status
    ranks = [Rank(0, 2, in_call=("MPI_Finalize", 10**9)), Rank(1, 2)]
    context = Recording.open(write_recording(tmp_path / "finalize.rw", ranks)).context
    # THEN nothing of it is missing, and where it ended is said
    assert context["partial_ranks"] == []
    assert context["problems"] == ["MPI_Finalize did not return on 1 of 2 ranks (0); all before it is here"]

# SPDX-License-Identifier: BSD-3-Clause
"""Waiting and transferring in every view of the report."""

import pytest
from raw_writer import CUT, FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.recording import Recording
from rankwise.report import build, data
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

US = 1000  # ticks are nanoseconds


def two_ranks(flags=0):
    """On two hosts: rank 1 begins to receive at 100 us, is sent to at 130 us and done at 135 us; then rank 0 alike."""
    first, second = (Rank(me, 2, host=f"n{me}", flags=FINALIZED | TRACED | flags) for me in range(2))
    send = [u(0) + z(1 - me) + z(0) + u(8) for me in range(2)]
    received = [u(0) + z(1 - me) + z(0) + z(1 - me) + z(0) + u(8) for me in range(2)]
    first.event("MPI_Send", 130 * US, 2 * US, send[0])
    second.event("MPI_Recv", 100 * US, 35 * US, received[1])
    second.event("MPI_Send", 100 * US, 1 * US, send[1])
    first.event("MPI_Recv", 8 * US, 100 * US, received[0])
    return [first, second]


def test_every_view_says_what_was_waiting_and_how_far_the_clocks_are_known(tmp_path):
    report = build.build(Recording.open(write_recording(tmp_path, two_ranks())))
    # GIVEN delays of 5 us both ways, so that the clocks are known within 5 us, and alike
    assert [(clock.host, clock.offset_s) for clock in report.waiting.clocks] == [("n0", 0), ("n1", 0)]
    assert report.waiting.clocks[1].bound_s == pytest.approx(5e-6)
    # THEN rank 1 waited 30 of 35 us, rank 0 95 of 100 us
    (call,) = report.waiting.calls
    assert (call.call, call.most_rank) == ("MPI_Recv", 0)
    assert (call.time_s, call.waiting_s, call.most_s) == pytest.approx((135e-6, 125e-6, 95e-6))
    text = " ".join(render_text(report, verbose=True).split())
    assert "MPI_Recv 67.5 us 92.6 % 7.4 % 95 us (rank 0)" in text
    assert "those of 2 hosts within 5 us of the first one's" in text
    page = render_html(report)
    assert (
        "Waiting and transferring" in page and "<td>92.6 %</td><td>7.4 %</td><td>95 us</td><td>0</td>" in page
    )
    assert data.to_dict(report)["waiting"]["calls"][0]["most_rank"] == 0


def test_a_ranks_time_is_in_parts_that_make_the_whole(tmp_path):
    # GIVEN the same calls, in a run of 1 s
    ranks = two_ranks()
    for rank, send_us, receive_us in ((ranks[0], 2, 100), (ranks[1], 1, 35)):
        rank.count("MPI_Send", send_us * US)
        rank.count("MPI_Recv", receive_us * US)
    report = build.build(Recording.open(write_recording(tmp_path, ranks)))
    # THEN waiting and transfer are those of the receives, and the sends are other MPI
    time = report.time
    assert time.why_not_split is None
    assert time.waiting_s == pytest.approx([95e-6, 30e-6])
    assert time.transfer_s == pytest.approx([5e-6, 5e-6])
    assert time.other_mpi_s == pytest.approx([2e-6, 1e-6])
    assert time.computation_s == pytest.approx([1 - 102e-6, 1 - 36e-6])
    columns = (
        time.computation_s,
        time.core_s,
        time.waiting_s,
        time.transfer_s,
        time.other_mpi_s,
        time.unattributed_s,
    )
    assert [sum(parts) for parts in zip(*columns, strict=True)] == pytest.approx(report.ranks.time_s)


def test_waiting_for_a_core_is_taken_off_all_time_in_mpi_alike(tmp_path):
    # GIVEN rank 1 in MPI for 80 of 100 ms, 20 of them in a receive that it waited in for 10; 40 ms without a core
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, run_ns=100_000 * US) for me in range(2)]
    ranks[0].event("MPI_Send", 30_000 * US, 0, u(0) + z(1) + z(0) + u(8))
    ranks[1].event("MPI_Recv", 20_000 * US, 20_000 * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    ranks[1].count("MPI_Recv", 20_000 * US)
    ranks[1].count("MPI_Send", 60_000 * US)
    ranks[1].runqueue_wait_ns = 40_000 * US
    time = build.build(Recording.open(write_recording(tmp_path, ranks))).time
    # THEN half of all that was in MPI at least: a quarter of it in the receive, half of that waiting
    assert (time.core_s[1], time.unattributed_s[1]) == pytest.approx((40e-3, 20e-3))
    assert (time.waiting_s[1], time.transfer_s[1], time.other_mpi_s[1]) == pytest.approx((5e-3, 5e-3, 30e-3))


def test_a_trace_that_cannot_tell_says_why_and_what_to_do(tmp_path):
    report = build.build(Recording.open(write_recording(tmp_path, two_ranks(CUT))))
    assert report.waiting.calls == []
    for view in (render_text(report, verbose=True), render_html(report)):
        words = " ".join(view.split())
        assert "only a part of this run" in words and "rankwise record --trace --exact-times" in words


def test_a_recording_without_a_trace_says_nothing_of_it(tmp_path):
    report = build.build(Recording.open(write_recording(tmp_path, [Rank(0, 1)])))
    assert report.waiting is None
    assert "transferring" not in render_text(report, verbose=True) and "transferring" not in render_html(
        report
    )


def test_calls_that_are_short_for_what_is_known_of_the_clocks_are_not_split(tmp_path):
    # GIVEN receives of 3.5 ms on two hosts, 9 ms after their sends began in both directions
    first, second = (Rank(me, 2, host=f"n{me}", flags=FINALIZED | TRACED) for me in range(2))
    send = [u(0) + z(1 - me) + z(0) + u(8) for me in range(2)]
    received = [u(0) + z(1 - me) + z(0) + z(1 - me) + z(0) + u(8) for me in range(2)]
    first.event("MPI_Send", 0, 0, send[0])
    second.event("MPI_Recv", 5500 * US, 3500 * US, received[1])
    second.event("MPI_Send", 0, 0, send[1])
    first.event("MPI_Recv", 14500 * US, 3500 * US, received[0])
    # WHEN
    report = build.build(Recording.open(write_recording(tmp_path, [first, second])))
    # THEN no view splits them, and each says why in a line
    assert report.waiting.calls == []
    (call,) = report.waiting.unsplit
    assert (call.call, call.count, call.clocks_s) == ("MPI_Recv", 2, pytest.approx(9e-3))
    for view in (render_text(report, verbose=True), render_html(report)):
        words = " ".join(view.split())
        assert (
            "not told apart: MPI_Recv, whose calls take 3.5 ms on average: the clocks are known to 9 ms"
            in words
        )
        assert "transferring" not in words.replace("Waiting and transferring", "")


def test_waiting_for_a_core_is_neither_waiting_for_others_nor_transferring(tmp_path):
    # GIVEN a rank that received for 80 ms of its 100 ms, all but 10 ms of which it waited for a core
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, run_ns=100_000 * US) for me in range(2)]
    ranks[0].event("MPI_Send", 0, 0, u(0) + z(1) + z(0) + u(8))
    ranks[1].event("MPI_Recv", 20_000 * US, 80_000 * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    ranks[1].runqueue_wait_ns = 90_000 * US
    report = build.build(Recording.open(write_recording(tmp_path, ranks)))
    # THEN 70 to 80 ms of the receive were that, and at most 10 ms transfer
    (call,) = report.waiting.calls
    assert (call.core.least_s, call.core.most_s) == pytest.approx((70e-3, 80e-3))
    assert (call.transfer.least_s, call.transfer.most_s) == pytest.approx((0, 10e-3), abs=1e-9)
    assert "MPI_Recv 40 ms 0.0 % 0-12 % 88-100 % 0 s (rank 1)" in " ".join(
        render_text(report, verbose=True).split()
    )
    assert "<th>for a core</th>" in render_html(report)

# SPDX-License-Identifier: BSD-3-Clause
"""Waiting and transferring in every view of the report."""

import json
import re

import pytest
from raw_writer import CUT, FINALIZED, TRACED, Rank, u, write_recording, z
from traces import recording_of, traced

from rankwise.findings import talp
from rankwise.findings.efficiency import of_recording
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


def late_and_without_a_core():
    """Rank 1 is late for a message, a barrier and another message; both wait for a core between samples of 50 ms."""
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, run_ns=200_000 * US) for me in range(2)]
    barrier = u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0)
    send, received = u(0) + z(1) + z(0) + u(8), u(0) + z(0) + z(0) + z(0) + z(0) + u(8)
    for name, gap_ms, inside_ms, payload in (
        ("MPI_Send", 20, 10, send),
        ("MPI_Barrier", 5, 35, barrier),
        ("MPI_Send", 100, 1, send),
        ("MPI_Bcast", 0, 9, u(0) + z(0) + u(0) + u(8) + u(8) + u(0) + u(0)),
    ):
        ranks[0].event(name, gap_ms * 1000 * US, inside_ms * 1000 * US, payload)
        ranks[0].count(name, inside_ms * 1000 * US)
    for name, gap_ms, inside_ms, payload in (
        ("MPI_Recv", 10, 22, received),
        ("MPI_Barrier", 33, 5, barrier),
        ("MPI_Recv", 25, 90, received),
        ("MPI_Bcast", 0, 1, u(0) + z(0) + u(0) + u(8) + u(8) + u(0) + u(0)),
    ):
        ranks[1].event(name, gap_ms * 1000 * US, inside_ms * 1000 * US, payload)
        ranks[1].count(name, inside_ms * 1000 * US)
    ranks[0].runqueue_wait_ns, ranks[1].runqueue_wait_ns = 110_000 * US, 90_000 * US
    return ranks


def test_computation_and_waiting_are_one_number_each_in_the_whole_report(tmp_path):
    recording = Recording.open(write_recording(tmp_path, late_and_without_a_core()))
    report = build.build(recording)
    time, calls, over, count = report.time, report.waiting.calls, report.over_time, 2
    # THEN what the ranks computed is the same in the efficiencies, by rank, in the parts and over time
    computed_s = sum(time.computation_s)
    assert 0 < computed_s < sum(report.ranks.compute_s)
    assert report.efficiency.useful_mean_s * count == pytest.approx(computed_s)
    assert report.ranks.compute_on_core_s == pytest.approx(time.computation_s)
    of_run = dict(
        computation=computed_s,
        core=sum(time.core_s),
        waiting=sum(time.waiting_s),
        transfer=sum(time.transfer_s),
        other_mpi=sum(time.other_mpi_s),
    )
    piece_s = over.end_s / len(over.computation)
    for key, part_s in of_run.items():
        assert sum(getattr(over, key)) * piece_s * count == pytest.approx(part_s, rel=0.02), key
    # AND waiting for others is inside its bounds, and what ranks waited for each other
    for of_call, parts_s in (("waiting", time.waiting_s), ("transfer", time.transfer_s)):
        bounds = [getattr(call, of_call) for call in calls]
        assert sum(each.least_s for each in bounds) <= sum(parts_s) <= sum(each.most_s for each in bounds)
        assert sum(each.least_s for each in bounds) < sum(each.most_s for each in bounds)
    assert sum(call.waiting_s for call in calls) == pytest.approx(sum(time.waiting_s))
    assert sum(report.pair_waits.waited_s) == pytest.approx(sum(time.waiting_s))
    for call in calls:
        assert call.waiting.least_s <= call.waiting_s <= call.waiting.most_s
        assert call.core.least_s <= call.core_s <= call.core.most_s
        assert call.most_s <= call.waiting_s
    whole = [time.computation_s, time.core_s, time.waiting_s, time.transfer_s, time.other_mpi_s]
    assert [sum(each) for each in zip(*whole, strict=True)] == pytest.approx(report.ranks.time_s)
    assert not any(time.unattributed_s)


def test_time_in_mpi_is_the_same_in_every_export(tmp_path):
    # GIVEN ranks that wait for a core in MPI and outside
    recording = Recording.open(write_recording(tmp_path / "a.rw", late_and_without_a_core()))
    # WHEN that is exported as TALP's JSON
    talp.write(tmp_path / "a.json", recording, of_recording(recording))
    # THEN waiting for a core outside MPI is neither useful nor in MPI, which is as long as in the table of ranks
    region = json.loads((tmp_path / "a.json").read_text())["Application"]["Global"]
    assert region["mpiTime"] == round(sum(recording.ranks["mpi_s"]) * 1e9)
    assert region["usefulTime"] + region["mpiTime"] < region["elapsedTime"] * 2


def test_calls_that_are_not_split_are_told_with_their_time_and_why(tmp_path):
    # GIVEN most of the time in MPI_Send, and some in MPI_Bcast
    report = build.build(Recording.open(write_recording(tmp_path, late_and_without_a_core())))
    assert [call.call for call in report.waiting.not_split] == ["MPI_Send", "MPI_Bcast"]
    # THEN each view has a line for each reason, with times a rank
    for view in (render_text(report, verbose=True), render_html(report)):
        words = " ".join(view.replace("&#39;", "'").split())
        assert "ot told apart: MPI_Send 5.5 ms a rank: they waited for no receive, and then" in words
        assert "ot told apart: MPI_Bcast 5 ms a rank: they waited for no root, and ranks may" in words


def test_without_a_trace_computation_and_efficiency_are_between_bounds(tmp_path):
    # GIVEN ranks that are outside MPI for 400 ms of 1 s, and wait for a core for 300 ms
    ranks = [Rank(me, 2, runqueue_wait_ns=300_000 * US) for me in range(2)]
    for rank in ranks:
        rank.count("MPI_Barrier", 600_000 * US)
    report = build.build(Recording.open(write_recording(tmp_path, ranks)))
    # THEN they computed for 100 to 400 ms, and every view says so
    assert report.time.computation_s == pytest.approx([0.1, 0.1])
    assert report.efficiency.between["parallel"] == pytest.approx((0.1, 0.4))
    text, page = render_text(report), render_html(report)
    assert "computation, at least 10.0 %" in text and "computation, at least 10.0 %" in page
    assert "0.10-0.40" in text and "0.10-0.40" in page
    assert "mean 100 ms to 400 ms" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_a_trace_that_cannot_tell_says_why_and_what_to_do(tmp_path):
    report = build.build(Recording.open(write_recording(tmp_path, two_ranks(CUT))))
    assert report.waiting.calls == []
    for view in (render_text(report, verbose=True), render_html(report)):
        words = " ".join(re.sub("<[^>]+>", "", view).split())
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
    assert "MPI_Recv 40 ms 0.0 % 0-12 % 88-100 % -" in " ".join(render_text(report, verbose=True).split())
    assert '<th scope="col">for a core</th>' in render_html(report)


def test_calls_of_which_nothing_is_known_have_a_sentence_and_no_row(tmp_path):
    # GIVEN a receive that waited for nobody, of a rank that waited for a core for all of it or none
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, run_ns=100_000 * US) for me in range(2)]
    ranks[0].event("MPI_Send", 0, 0, u(0) + z(1) + z(0) + u(8))
    ranks[1].event("MPI_Recv", 50_000 * US, 50_000 * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    ranks[1].count("MPI_Recv", 50_000 * US)
    ranks[1].runqueue_wait_ns = 50_000 * US
    report = build.build(Recording.open(write_recording(tmp_path, ranks)))
    (call,) = report.waiting.calls
    assert (call.transfer.least_s, call.transfer.most_s) == pytest.approx((0, 50e-3), abs=1e-9)
    # THEN there is no row of it
    said = "ot told apart: MPI_Recv 25 ms a rank: all of it may be transferring, or waiting for a core"
    for view in (render_text(report, section="waiting"), render_html(report)):
        assert said in " ".join(view.split())
    assert "0-100 %" not in render_text(report, section="waiting")


def test_waiting_in_sends_is_one_number_in_the_whole_report(tmp_path):
    # GIVEN a rank that waits 10 ms in each of 10 sends of 1 MiB, as the other receives late, which then waits as long
    first, second = traced(2)
    for _ in range(10):
        end_ms = first.at_ms + 11
        first.send_to(1, 0, end_ms - first.at_ms, 1 << 20)
        first.send_to(1, 10, 1)
        second.recv_from(0, 10, 1, 1 << 20)
        second.recv_from(0, 0, first.at_ms - second.at_ms)
    report = build.build(recording_of(tmp_path / "a.rw", [first, second]))
    # THEN it is the same in what to fix, in where time went, by function, over time, and by whom it was for
    assert report.findings[0].sentence == "rank 0 waits 100 ms in MPI_Send for rank 1, which receives late"
    assert report.time.waiting_s == pytest.approx([0.1, 0.1])
    assert report.time.transfer_s == pytest.approx([0.01, 0.02])
    assert report.time.other_mpi_s == pytest.approx([0.01, 0], abs=1e-9)
    waited = {call.call: (call.waiting_s, call.most_rank) for call in report.waiting.calls}
    assert waited == {"MPI_Send": (pytest.approx(0.1), 0), "MPI_Recv": (pytest.approx(0.1), 1)}
    over = report.over_time
    assert sum(over.waiting) * over.end_s / len(over.waiting) == pytest.approx(0.1, rel=0.02)
    pairs = report.pair_waits
    by_pair = dict(zip(zip(pairs.waiting, pairs.late, strict=True), pairs.waited_s, strict=True))
    assert by_pair == {(0, 1): pytest.approx(0.1), (1, 0): pytest.approx(0.1)}
    assert {(each.waiting, each.call) for each in pairs.worst} == {(0, "MPI_Send"), (1, "MPI_Recv")}
    # AND the sends that waited for nobody have a line
    assert [(call.call, call.time_s) for call in report.waiting.not_split] == [
        ("MPI_Send", pytest.approx(0.01))
    ]


def test_waiting_for_a_late_root_is_one_number_in_the_whole_report(tmp_path):
    # GIVEN a root that comes 50 ms later to a broadcast than the others, and one that comes early to another
    ranks = traced(3)
    for me, rank in enumerate(ranks):
        rank.together("MPI_Bcast", 60 if me == 0 else 10, 1 if me == 0 else 51, root=0)
        rank.together("MPI_Bcast", 5 if me == 0 else 55, 1 if me == 0 else 2, root=0)
        rank.together("MPI_Barrier", 0, rank.until(119))
    report = build.build(recording_of(tmp_path / "a.rw", ranks))
    assert report.findings[0].name == "late-collective"
    assert report.time.waiting_s == pytest.approx([0.051, 0.05, 0.05], abs=1e-9)
    pairs = report.pair_waits
    assert {(1, 0), (2, 0)} < set(zip(pairs.waiting, pairs.late, strict=True))
    (left,) = report.waiting.not_split
    assert (left.call, left.time_s) == ("MPI_Bcast", pytest.approx(1e-3 + 1e-3 + 2 * 2e-3))

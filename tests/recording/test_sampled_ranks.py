# SPDX-License-Identifier: BSD-3-Clause
"""Samples written by hand: what the tables and the report say of them."""

import errno

import pytest
from raw_writer import NODE_NOTES, NODE_SAMPLES, Rank, RawFile, notes_bytes, samples_bytes, write_recording

from rankwise.recording import Recording
from rankwise.recording.layouts import (
    NOT_KNOWN,
    NOTE_ABSENT,
    NOTE_ALLOWED,
    NOTE_COLUMNS,
    NOTE_FACT,
    NOTE_RAN_ON,
    SAMPLES,
)
from rankwise.recording.samples import decode, pus_of
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

START = 10_000  # ticks of MPI_Init, as raw_writer has them
MS = 1_000_000
COLUMNS = [(START, NOTE_COLUMNS, 1, name) for name in ("user_ns", "system_ns", "involuntary_switches", "cpu")]
CYCLES = (START, NOTE_COLUMNS, 3, "counter:cycles")


def sampled_rank(rows, notes=(), **more) -> Rank:
    rank = Rank(0, 1, affinity=(0, 1), **more)
    rank.notes = [*COLUMNS, (START, NOTE_ALLOWED, 0, "0-1"), *notes]
    rank.rows = rows
    return rank


def decoded(rank: Rank):
    return decode(samples_bytes(rank.rows), notes_bytes(rank.notes))


ROWS = [
    [START, 0, 0, 5, 0],
    [START + 100 * MS, 60 * MS, 30 * MS, 5, 1],
    [START + 200 * MS, 90 * MS, 30 * MS, 205, 1],
]


def test_lists_of_the_kernel_are_read():
    assert pus_of("0-3,8\n") == [0, 1, 2, 3, 8] and pus_of("5") == [5] and pus_of("") == []
    assert pus_of("x,-1,99999999,2") == [2]


def test_tables_have_what_was_counted_between_the_samples(tmp_path):
    change = (START + 150 * MS, NOTE_ALLOWED, 0, "1")
    end = [(START + 200 * MS, NOTE_RAN_ON, 0, "0-1"), (START, NOTE_FACT, 0, "peak_memory_kib\t2048")]
    end += [(START, NOTE_FACT, 0, "memory_kib:0\t1024"), (START, NOTE_FACT, 0, "memory_kib:2\t1")]
    recording = Recording.open(write_recording(tmp_path / "a.rw", [sampled_rank(ROWS, [change, *end])]))
    row = recording.table("rank_use").row(0, named=True)
    assert (row["user_s"], row["system_s"]) == pytest.approx((0.09, 0.03)) and row[
        "involuntary_switches"
    ] == 200
    assert row["voluntary_switches"] is None and row["minor_faults"] is None
    assert row["peak_memory_bytes"] == 2 << 20 and row["memory_bytes"] == [1 << 20, 0, 1 << 10]
    assert row["ran_on"] == [0, 1] and row["mask_changes"] == 1
    assert recording.table("rank_masks")["pus"].to_list() == [[0, 1], [1]]
    assert recording.table("rank_masks")["time_s"].to_list() == pytest.approx([0, 0.15])
    samples = recording.table("rank_samples")
    assert samples["time_s"].to_list() == pytest.approx([0, 0.1, 0.2]) and samples["pu"].to_list() == [
        0,
        1,
        1,
    ]
    assert samples["involuntary_switches"].to_list() == [0, 0, 200]


def test_rows_left_by_a_process_that_was_killed_while_it_made_room_count_once():
    # GIVEN rows 0, 2 and 4 of five, moved up, of which only the first two had come, and a row half written
    rows = [[START + i * MS, i, 0, i, 0] for i in range(5)]
    left = [rows[0], rows[2], rows[2], rows[3], [0, 99, 99, 99, 99], rows[4]]
    sampled = decoded(sampled_rank(left))
    assert sampled.column("user_ns").tolist() == [0, 2, 3, 4]


def test_a_number_that_a_row_has_not_is_not_known():
    rows = [[START, 0, 0, 5, 0], [START + MS, NOT_KNOWN, 0, 5, NOT_KNOWN], [START + 2 * MS, 7, 0, 5, 0]]
    sampled = decoded(sampled_rank(rows))
    assert sampled.total("user_ns") == 7 and sampled.total("cpu") == 0
    assert [value != value for value in sampled.column("user_ns")] == [False, True, False]  # NaN
    assert sampled.total("no such column") is None


def test_counters_that_took_turns_are_scaled_and_that_is_said(tmp_path):
    # GIVEN a counter that counted for half of the time, and one that never did
    rows = [
        [*ROWS[0], 0, 0, 0, 0, 0, 0],
        [*ROWS[1], 500, 80, 40, 0, 80, 0],
        [*ROWS[2], 1000, 200, 100, 0, 200, 0],
    ]
    never = (START, NOTE_COLUMNS, 3, "counter:r1234")
    recording = Recording.open(write_recording(tmp_path / "a.rw", [sampled_rank(rows, [CYCLES, never])]))
    counters = {row["counter"]: row for row in recording.table("rank_counters").iter_rows(named=True)}
    assert counters["cycles"]["count"] == 2000 and counters["r1234"]["count"] is None
    use = build(recording).use
    assert [each.running_share for each in use.counters] == [0.5, 0.0]
    assert any("took turns" in sentence and "cycles" in sentence for sentence in use.notable)


@pytest.mark.parametrize(
    ("number", "why", "words", "remedy"),
    [
        (errno.ENOENT, "", ["no such counter", "ENOENT"], "virtual machine"),
        (
            errno.EACCES,
            "perf_event_paranoid is 3",
            ["not allow", "EACCES", "paranoid is 3"],
            "perf_event_paranoid=1",
        ),
        (errno.EPERM, "", ["not allow", "EPERM"], "seccomp"),
        (errno.EMFILE, "", ["EMFILE"], "ulimit -n"),
        (0, "no such name of perf's, and libpfm.so.4 (libpfm4) is not there", ["libpfm4"], "install libpfm4"),
    ],
)
def test_an_absent_counter_has_a_reason_and_what_would_give_it(tmp_path, number, why, words, remedy):
    absent = (START, NOTE_ABSENT, number, f"counter:cycles\t{why}")
    recording = Recording.open(write_recording(tmp_path / "a.rw", [sampled_rank(ROWS, [absent])]))
    report = build(recording)
    (found,) = report.use.absent
    assert found.sources == ["cycles"] and all(word in found.why for word in words)
    assert remedy in found.remedy
    for page in (render_text(report, verbose=True), render_html(report)):
        assert "bsent: cycles" in page


def test_the_report_says_what_stands_out_and_nothing_else(tmp_path):
    quiet = [
        [START, 0, 0, 5, 0],
        [START + 100 * MS, 99 * MS, MS, 6, 0],
        [START + 200 * MS, 198 * MS, MS, 7, 0],
    ]
    report = build(Recording.open(write_recording(tmp_path / "quiet.rw", [sampled_rank(quiet)])))
    assert report.use.notable == [] and "nothing stands out" in render_text(report, verbose=True)
    change = (START + 150 * MS, NOTE_ALLOWED, 0, "2")
    report = build(Recording.open(write_recording(tmp_path / "loud.rw", [sampled_rank(ROWS, [change])])))
    text = render_text(report, verbose=True)
    assert "nothing stands out" not in text
    assert any(
        "changed while it ran: rank 0 had PU 2 from 150 ms on" in each.sentence for each in report.findings
    )
    assert any("lost the core" in each and "200 times" in each for each in report.use.notable)
    # AND over time: the last half has all lost cores
    pieces = report.use.over_time
    assert pieces[0].involuntary_switches_per_s == 0 and pieces[-1].involuntary_switches_per_s == 2000
    assert max(map(len, text.splitlines())) <= 80


def test_recordings_of_the_version_before_have_no_samples_and_are_read(tmp_path):
    # GIVEN a file of format 3
    file = RawFile(version=3)
    file.add(Rank(0, 1))
    file.write(tmp_path / "old.rw" / "raw" / "n0.rwn")
    recording = Recording.open(tmp_path / "old.rw")
    report = build(recording)
    assert recording.context["samples"] is None
    assert report.use.why_not == "no samples of any rank: it was recorded by an older Rankwise"
    assert recording.table("rank_use").is_empty() and recording.table("rank_samples").is_empty()
    # AND that is said, with no table and nothing that would stand out
    for page in (render_text(report, verbose=True), render_html(report)):
        assert "o samples of any rank: it was recorded by an older Rankwise" in page
        assert "nothing stands out" not in page.lower() and "--section" not in page


def test_damaged_samples_are_read_as_far_as_they_are_whole():
    rank = sampled_rank(ROWS)
    rows, notes = samples_bytes(rank.rows), notes_bytes(rank.notes)
    assert decode(rows[: SAMPLES.itemsize - 1], notes) is None
    # WHEN the last row is cut, the log ends inside a note, and a note says more columns than there are
    sampled = decode(rows[:-8], notes[:-4] + b"\xff")
    assert len(sampled.ticks) == 2 and sampled.columns.keys() == {
        "user_ns",
        "system_ns",
        "involuntary_switches",
        "cpu",
    }
    many = notes_bytes([(0, NOTE_COLUMNS, 1 << 31, "user_ns")])
    assert decode(rows, many).columns == {}


def test_runs_of_the_node_belong_to_no_rank(tmp_path):
    file = RawFile()
    owner = file.add(Rank(0, 1))
    log, rows = notes_bytes(COLUMNS), samples_bytes(ROWS)
    file.add_run(NODE_NOTES, log, len(log), owner=owner + 100)
    file.add_run(NODE_SAMPLES, rows, len(rows), owner=owner + 100)
    from rankwise._core import trace

    node = trace.NodeFile(str(file.write(tmp_path / "n0.rwn")))
    assert node.problems == [] and node.samples == rows and node.notes_of_samples == log

# SPDX-License-Identifier: BSD-3-Clause
"""The timeline of what was sampled, of samples written by hand."""

import pytest
from raw_writer import NODE_NOTES, NODE_SAMPLES, Rank, RawFile, notes_bytes, samples_bytes, write_recording

from rankwise.recording import Recording
from rankwise.recording.layouts import NOT_KNOWN, NOTE_ALLOWED, NOTE_COLUMNS
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text.tracks import view
from rankwise.report.use_words import track_name, track_rate_text

START, MS = 10_000, 1_000_000


def rank(rows):
    made = Rank(0, 1, affinity=(0, 1))
    made.notes = [(START, NOTE_COLUMNS, 1, name) for name in ("cpu", "runqueue_wait_ns")]
    made.notes.append((START, NOTE_ALLOWED, 0, "0-1"))
    made.rows = rows
    return made


def recorded(tmp_path, rows):
    return build(Recording.open(write_recording(tmp_path / "a.rw", [rank(rows)])))


ROWS = [
    [START, 0, 0],
    [START + 100 * MS, 0, 50 * MS],
    [START + 200 * MS, 1, 50 * MS],
    [START + 400 * MS, 1, NOT_KNOWN],
]


def test_a_rank_waits_moves_and_is_not_known_where_no_sample_says_it(tmp_path):
    # GIVEN a rank that waits half of the first 100 ms, then moves, and is not known at the end
    report = recorded(tmp_path, ROWS)
    timeline = report.use.timeline
    # THEN there are as many pieces as intervals
    assert timeline.edges_s == pytest.approx([0, 0.4 / 3, 0.8 / 3, 0.4])
    (track,) = timeline.tracks
    assert (track.kind, track.of, track.moves_s) == ("waiting for a core", "rank 0", pytest.approx([0.2]))
    # AND the 50 ms are in the first of them, and nothing is said of the last
    assert track.per_s[0] == pytest.approx(50 / (400 / 3)) and track.per_s[1:] == [pytest.approx(0), None]
    assert track.pu == [0, 1, 1]
    page = render_html(report)
    assert "By rank, core and interface over time" in page and "came to another core" in page
    assert "    rank 0                  9·   1 move" in [line.plain for line in view(report)]
    assert track_rate_text(track.kind, track.per_s[0]) == "37.5 %"
    assert track_name(track, ["a", "b"]) == "rank 0"


def test_without_samples_between_start_and_end_there_is_no_timeline(tmp_path):
    report = recorded(tmp_path, [ROWS[0], ROWS[2]])
    assert report.use.timeline is None
    assert "By rank, core and interface over time" not in render_html(report)


def test_cores_interfaces_and_ports_have_tracks_and_what_was_nothing_has_none(tmp_path):
    # GIVEN a node whose PU 1 gets 100 interrupts in the second half, eth0 30 bytes in the first, a port 5 words each
    names = ["interrupts", "interface:eth0", "interface:lo", "port:mlx5_0/1"]
    counts = [2, 8, 8, 4]
    log = notes_bytes([(START, NOTE_COLUMNS, n, name) for name, n in zip(names, counts, strict=True)])
    idle = [0] * 8
    eth0 = [0, 0, 0, 0, 10, 0, 0, 0], [20, 0, 0, 0, 20, 0, 0, 0]
    rows = samples_bytes(
        [
            [START, 7, 7, *eth0[0], *idle, 100, 0, NOT_KNOWN, 0],
            [START + 100 * MS, 7, 7, *eth0[1], *idle, 105, 0, NOT_KNOWN, 0],
            [START + 200 * MS, 7, 107, *eth0[1], *idle, 110, 0, NOT_KNOWN, 0],
        ]
    )
    made = rank([[START, 0, 0], [START + 100 * MS, 0, 0], [START + 200 * MS, 0, 0]])
    file = RawFile()
    owner = file.add(made)
    file.add_run(NODE_NOTES, log, len(log), owner=owner)
    file.add_run(NODE_SAMPLES, rows, len(rows), owner=owner)
    (tmp_path / "n.rw" / "raw").mkdir(parents=True)
    file.write(tmp_path / "n.rw" / "raw" / "n0.rwn")
    report = build(Recording.open(tmp_path / "n.rw"))
    # THEN each is where it was
    found = {(track.kind, track.of): track.per_s for track in report.use.timeline.tracks}
    assert found == {
        ("interrupts", "PU 1"): pytest.approx([0, 1000]),
        ("bytes", "eth0"): pytest.approx([300, 0]),
        ("bytes of ports", "mlx5_0/1"): pytest.approx([200, 200]),
    }
    text = "\n".join(line.plain for line in view(report))
    assert "    PU 1                    ·9" in text and "    eth0                    9·" in text
    assert "bytes, 9 is 300 B a second" in text
    page = render_html(report)
    assert "bytes of ports, at most 200 B a second" in page

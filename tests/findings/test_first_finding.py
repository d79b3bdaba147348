# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise record` says first when a program has ended."""

from raw_writer import Rank, write_recording

from rankwise.cli.record_end import first_finding
from rankwise.recording import Recording
from rankwise.report import build
from rankwise.report.data.kept import report_of

MS = 1_000_000


def of(path, useful_ms):
    ranks = [Rank(me, len(useful_ms), affinity=(me,)) for me in range(len(useful_ms))]
    for rank, useful in zip(ranks, useful_ms, strict=True):
        rank.count("MPI_Allreduce", ns=(1000 - useful) * MS)
    return Recording.open(write_recording(path, ranks))


def test_a_run_ends_with_what_to_fix_first(tmp_path):
    # GIVEN a rank with four times the work of the others, in a run of 1 s
    assert first_finding(of(tmp_path / "a.rw", [200, 200, 200, 800])) == [
        "what to fix first: rank 3 computes 4.0 times as long as the mean of the others (about 450 ms of 1 s)"
    ]


def test_a_run_with_nothing_to_fix_ends_without_such_a_line(tmp_path):
    assert first_finding(of(tmp_path / "a.rw", [800, 800, 800, 800])) == []


def test_the_report_finds_what_was_worked_out(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # GIVEN a run that was ended with a line
    recording = of(tmp_path / "a.rw", [200, 200, 200, 800])
    first_finding(recording)
    # WHEN its report is asked for THEN nothing is made again
    monkeypatch.delattr(build, "build")
    assert report_of(Recording.open(recording.path)).findings[0].name == "load-imbalance"


def test_a_run_ends_without_such_a_line_where_it_cannot_be_made(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delattr(build, "build")
    assert first_finding(of(tmp_path / "a.rw", [200, 200, 200, 800])) == []

# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for a core as a part of its own: of ranks whose parts are known beforehand."""

import pytest
from raw_writer import Rank, write_recording

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

MS = 1_000_000


def report_of(tmp_path, waited_ms, ranks=2, **options):
    """Ranks bound to one core, 980 of their 1000 ms in MPI."""
    made = [
        Rank(me, ranks, affinity=(0,), runqueue_wait_ns=waited_ms * MS, run_ns=1000 * MS, **options)
        for me in range(ranks)
    ]
    for rank in made:
        rank.count("MPI_Allreduce", ns=980 * MS)
    return build(Recording.open(write_recording(tmp_path, made)))


def test_waiting_for_a_core_is_neither_in_mpi_nor_computing(tmp_path):
    # GIVEN ranks that waited for a core for 900 ms
    report = report_of(tmp_path, 900)
    # THEN at least 80 ms were in MPI, none outside for certain, and of 20 ms it is not known which
    for at in range(2):
        parts = (
            report.ranks.runqueue_wait_s[at],
            report.ranks.mpi_on_core_s[at],
            report.ranks.compute_on_core_s[at],
            report.ranks.unattributed_s[at],
        )
        assert parts == pytest.approx((0.9, 0.08, 0, 0.02))
        assert sum(parts) == pytest.approx(report.ranks.time_s[at])
    summary = report.summary
    assert (summary.runqueue_wait_share, summary.mpi_on_core_share) == pytest.approx((0.9, 0.08))
    assert (summary.compute_on_core_share, summary.unattributed_share) == pytest.approx((0, 0.02))
    # AND every view says so
    text = render_text(report, verbose=True)
    assert "app on 2 ranks, 1 s; 90 % of it waiting for a core, 8-10 % in MPI\n" in text
    assert "▓ waiting for a core 90.0 % ▒ MPI, at least 8.0 % ? MPI or computation 2.0 %" in " ".join(
        render_text(report).split()
    )
    page = render_html(report)
    assert (
        ">waiting for a core 90.0 %<" in page
        and ">MPI, at least 8.0 %<" in page
        and ">MPI or computation 2.0 %<" in page
    )
    assert "known of each rank and not of each call" in " ".join(text.split())
    assert "known of ranks and not of calls" in page


def test_ranks_that_had_their_cores_are_shown_as_before(tmp_path):
    report = report_of(tmp_path, 0)
    assert (report.summary.runqueue_wait_share, report.summary.mpi_on_core_share) == pytest.approx((0, 0.98))
    for view in (render_text(report, verbose=True), render_html(report).partition("<script")[0]):
        assert "waiting for a core" not in view.lower()
    assert "; 98 % of it in MPI" in render_text(report, verbose=True)


def test_what_was_not_sampled_is_not_taken_off(tmp_path):
    report = report_of(tmp_path, 0, schedstat_samples=0)
    assert report.ranks.runqueue_wait_s == report.ranks.unattributed_s == [None, None]
    assert report.summary.runqueue_wait_share is report.summary.mpi_on_core_share is None
    assert "; 98 % of it in MPI" in render_text(report, verbose=True)

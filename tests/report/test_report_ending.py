# SPDX-License-Identifier: BSD-3-Clause
"""The report's first line says how a run ended that did not reach MPI_Finalize."""

import json

import pytest
from raw_writer import ABORTED, FINALIZED, MANIFEST, Rank, write_recording

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.data import to_dict
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

REAL_S = 1_700_000_000  # when raw_writer's ranks began


def ended(path, ranks, exit_status, told_to_end=None):
    write_recording(path, ranks)
    manifest = MANIFEST | {"ranks": len(ranks), "exit_status": exit_status, "told_to_end": told_to_end}
    manifest |= {"start_s": REAL_S, "end_s": REAL_S + 2.0}
    (path / "recording.json").write_text(json.dumps(manifest))
    return build(Recording.open(path))


def waiting(me, size, call="MPI_Recv"):
    return Rank(me, size, flags=0, in_call=(call, 500_000_000))


@pytest.mark.parametrize(
    ("ranks", "status", "kind", "brief"),
    [
        ([Rank(0, 2, flags=ABORTED), waiting(1, 2)], 3, "abort", "rank 0 called MPI_Abort"),
        ([waiting(0, 2), Rank(1, 2, flags=0)], 139, "crash", "rank 1 crashed"),
        (
            [waiting(0, 3), Rank(1, 3, flags=0), Rank(2, 3, flags=0)],
            139,
            "crash",
            "one of ranks 1, 2 crashed",
        ),
        ([waiting(0, 2), waiting(1, 2)], 124, "stopped", "ended from outside after 1.5 s in MPI_Recv"),
        (
            [waiting(0, 3), waiting(1, 3, "MPI_Barrier"), Rank(2, 3, flags=0)],
            124,
            "stopped",
            "ended from outside after 1.5 s in MPI_Recv and MPI_Barrier, rank 2 in no MPI call",
        ),
        # Nothing says how long: its clocks were read only once.
        (
            [Rank(0, 1, flags=0, clocks=1, in_call=("MPI_Recv", 5))],
            124,
            "stopped",
            "ended from outside in MPI_Recv",
        ),
        ([Rank(0, 1, flags=0)], 124, "stopped", "ended from outside"),
    ],
)
def test_the_first_line_names_the_end_and_who_caused_it(tmp_path, ranks, status, kind, brief):
    report = ended(tmp_path / "x.rw", ranks, status)
    first_line = " ".join(render_text(report).partition("Ended before MPI_Finalize")[0].split())
    assert f"; {brief};" in f"{first_line};"
    assert f'<p class="ended">{brief}</p>' in render_html(report)
    ending = to_dict(report)["program"]["ending"]
    assert (ending["kind"], ending["brief"]) == (kind, brief)


def test_a_run_that_ended_well_says_nothing_of_it(tmp_path):
    report = ended(tmp_path / "x.rw", [Rank(me, 2, flags=FINALIZED) for me in range(2)], 0)
    assert report.program.ending is None
    text = render_text(report)
    assert text.startswith("app: 2 ranks, 1 node, 1 s\n") and "MPI_Finalize" not in text
    assert 'class="ended"' not in render_html(report)


@pytest.mark.parametrize(
    ("ranks", "status", "kind", "text"),
    [
        (
            [waiting(0, 3, "MPI_Barrier"), waiting(1, 3, "MPI_Barrier"), waiting(2, 3, "MPI_Send")],
            6,
            "crash",
            "rank 2 ended or was ended in MPI_Send (exit status 6); waiting were ranks 0, 1 in MPI_Barrier",
        ),
        (
            [waiting(0, 2, "MPI_Barrier"), waiting(1, 2, "MPI_Send")],
            6,
            "unknown",
            "the run ended before MPI_Finalize (exit status 6); in calls were rank 0 in MPI_Barrier, "
            "rank 1 in MPI_Send: one of these ended it",
        ),
        ([waiting(0, 1)], 6, "crash", "rank 0 ended or was ended in MPI_Recv (exit status 6)"),
        (
            [waiting(0, 1)],
            124,
            "stopped",
            "the run was ended from outside (exit status 124); rank 0 was in MPI_Recv, for 1.5 s",
        ),
        (
            [waiting(0, 2), Rank(1, 2, flags=0)],
            139,
            "crash",
            "rank 1 ended without MPI_Finalize, in no MPI call (exit status 139: segmentation fault); "
            "waiting for others was rank 0 in MPI_Recv",
        ),
        (
            [waiting(0, 2), waiting(1, 2)],
            137,
            "unknown",
            "the run ended before MPI_Finalize (exit status 137: killed); waiting were ranks 0, 1 in MPI_Recv, "
            "for 1.5 s",
        ),
    ],
)
def test_a_rank_that_ended_in_a_call_is_not_among_those_that_waited(tmp_path, ranks, status, kind, text):
    report = ended(tmp_path / "x.rw", ranks, status)
    assert (report.program.ending.kind, report.program.ending.text) == (kind, text)


def test_a_run_that_record_was_told_to_end_was_stopped_whatever_its_status(tmp_path):
    report = ended(tmp_path / "x.rw", [waiting(0, 2), waiting(1, 2)], 15, told_to_end=15)
    assert (report.program.ending.kind, report.program.ending.ranks) == ("stopped", [])


def test_how_it_ended_is_no_missing_thing_and_is_said_once(tmp_path):
    report = ended(tmp_path / "x.rw", [waiting(0, 2), Rank(1, 2, flags=0)], 139)
    text, page = " ".join(render_text(report).split()), render_html(report)
    assert "Ended before MPI_Finalize: rank 1 ended without MPI_Finalize, in no MPI call" in text
    assert "the end of rank" not in text + page.partition("<script")[0]
    assert text.count("rank 1 ended") == 1
    assert "<strong>Ended before MPI_Finalize</strong>: rank 1 ended" in page
    assert [gap.what for gap in report.gaps if gap.of_the_end] == ["the end of rank 0", "the end of rank 1"]

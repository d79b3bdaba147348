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


def ended(path, ranks, exit_status, end_s=REAL_S + 2.0):
    write_recording(path, ranks)
    manifest = MANIFEST | {"ranks": len(ranks), "exit_status": exit_status, "start_s": REAL_S, "end_s": end_s}
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
    first_line = " ".join(render_text(report).partition("mpiexec")[0].split())
    assert f"; {brief};" in f"{first_line};"
    assert f'<p class="ended">{brief}</p>' in render_html(report)
    ending = to_dict(report)["program"]["ending"]
    assert (ending["kind"], ending["brief"]) == (kind, brief)


def test_a_run_that_ended_well_says_nothing_of_it(tmp_path):
    report = ended(tmp_path / "x.rw", [Rank(me, 2, flags=FINALIZED) for me in range(2)], 0)
    assert report.program.ending is None
    assert render_text(report).startswith("app on 2 ranks, 1 s; 0 % of it in MPI\n")
    assert 'class="ended"' not in render_html(report)

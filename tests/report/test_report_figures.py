# SPDX-License-Identifier: BSD-3-Clause
"""The report's figures for papers."""

import re
import sys

import numpy as np
import pytest
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.exports.calls import Calls
from rankwise.recording.raw import CALL_NAMES
from rankwise.report.figures import timeline

NAMES = ("communication-matrix", "message-distribution", "time-per-rank", "timeline")


def kind(name):
    return int(np.flatnonzero(name == CALL_NAMES)[0])


def traced(path, ranks=2):
    """Ranks that exchange a message in a ring."""
    made = [Rank(me, ranks, flags=FINALIZED | TRACED) for me in range(ranks)]
    for me, rank in enumerate(made):
        right, left = (me + 1) % ranks, (me - 1) % ranks
        rank.send(right, 100)
        rank.event("MPI_Send", 1000, 100, u(0) + z(right) + z(0) + u(100))
        rank.event("MPI_Recv", 1000, 100, u(0) + z(left) + z(0) + z(left) + z(0) + u(100))
    return write_recording(path, made)


def test_all_figures_are_drawn_as_svg_and_pdf(record, tmp_path, capsys):
    # GIVEN a recording without a trace
    assert main(["report", str(record()), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    # THEN all but the timeline are there, and why it is not is said
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {f"{name}{ending}" for name in NAMES[:3] for ending in (".svg", ".pdf")}
    assert "`timeline`" in capsys.readouterr().err
    for name in NAMES[:3]:
        assert (tmp_path / "out" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        text = (tmp_path / "out" / f"{name}.svg").read_text()
        assert text.startswith("<?xml") and not re.search(r'href="https?:', text)


def test_a_trace_gives_a_timeline(tmp_path):
    path = traced(tmp_path / "x.rw")
    assert main(["report", str(path), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    assert {"timeline.svg", "timeline.pdf"} <= {each.name for each in (tmp_path / "out").iterdir()}


@pytest.mark.slow
def test_figures_of_one_recording_are_the_same_each_time(tmp_path):
    path = traced(tmp_path / "x.rw")
    for name in ("a", "b"):
        assert main(["report", str(path), "--figures", str(tmp_path / name), "--json", "-q"]) == 0
    for each in (tmp_path / "a").iterdir():
        assert each.read_bytes() == (tmp_path / "b" / each.name).read_bytes(), each.name


@pytest.mark.slow
def test_no_figure_is_replaced_without_force(record, tmp_path, capsys):
    path, out = record(), str(tmp_path / "out")
    assert main(["report", str(path), "--figures", out, "--json", "-q"]) == 0
    assert main(["report", str(path), "--figures", out, "--json", "-q"]) == 1
    assert "--force" in capsys.readouterr().err
    assert main(["report", str(path), "--figures", out, "--json", "-q", "--force"]) == 0


def test_without_matplotlib_it_says_what_to_install(record, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", str(record()), "--figures", str(tmp_path / "out"), "--json"]) == 1
    assert "pip install 'rankwise[figures]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_each_piece_of_the_timeline_has_the_shares_of_what_was_done_in_it():
    # GIVEN a rank that leaves MPI_Init after 1 s, computes 1 s, sends 2 s, computes 0.4 s and is in a barrier 0.6 s
    of = Calls(
        kind=np.array([kind("MPI_Send"), kind("MPI_Barrier")]),
        begin_s=np.array([2.0, 4.4]),
        end_s=np.array([4.0, 5.0]),
        init_s=1.0,
    )
    found = timeline.shares_of(of, np.arange(8.0))
    # THEN, second by second
    names = [name for name, _ in timeline.DOING]
    computes, sends, collects = (
        found[:, names.index(n)] for n in ("computation", "point-to-point", "collectives")
    )
    assert computes.tolist() == pytest.approx([0, 1, 0, 0, 0.4, 0, 0])
    assert sends.tolist() == pytest.approx([0, 0, 1, 1, 0, 0, 0])
    assert collects.tolist() == pytest.approx([0, 0, 0, 0, 0.6, 0, 0])


@pytest.mark.one_of(2)
@pytest.mark.parametrize("ranks", [1, 300])
def test_figures_of_few_and_many_ranks(tmp_path, ranks):
    path = traced(tmp_path / "x.rw", ranks)
    assert main(["report", str(path), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    # A shape a part and a picture a raster, whatever the number of ranks.
    assert (tmp_path / "out" / "time-per-rank.svg").stat().st_size < 200_000
    assert (tmp_path / "out" / "timeline.svg").stat().st_size < 300_000

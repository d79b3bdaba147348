# SPDX-License-Identifier: BSD-3-Clause
"""The report's figures for papers."""

import json
import re
import sys
from importlib.resources import files

import numpy as np
import pytest
import traces
from matplotlib.colors import to_hex, to_rgb
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from test_defects import late

from rankwise.cli import main
from rankwise.recording import Recording
from rankwise.report import figures
from rankwise.report.build import build
from rankwise.report.figures import timeline
from rankwise.report.figures.drawing import SHADES
from rankwise.report.html import distribution
from rankwise.report.html.stack import COLOURS

NAMES = ("communication-matrix", "message-distribution", "time-per-rank", "timeline")


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


def test_the_timeline_has_the_parts_and_colours_of_the_time_of_each_rank(tmp_path):
    # GIVEN rank 1 computing 60 ms before it sends, rank 0 waiting for that from its 20th ms on, both then in a barrier
    first, second = traces.traced(2)
    first.recv_from(1, 20, 42)
    second.send_to(0, 60, 2)
    for rank in (first, second):
        rank.together("MPI_Barrier", rank.until(100), 20)
    recording = traces.recording_of(tmp_path / "a.rw", [first, second])
    # WHEN
    axes = timeline.draw(build(recording), recording).axes[0]
    # THEN each moment has the colour that the part has in bars
    (image,) = axes.images
    raster, end_s = image.get_array(), image.get_extent()[1]

    def at(rank, ms):
        return to_hex(raster[rank, int(ms / 1000 / end_s * raster.shape[1])])

    assert [at(0, ms) for ms in (10, 40, 80)] == [
        COLOURS[key] for key in ("computation", "waiting", "computation")
    ]
    assert (at(1, 40), at(1, 90), at(1, 110)) == (
        COLOURS["computation"],
        COLOURS["computation"],
        COLOURS["transfer"],
    )
    # AND the legend has what there is: sends are other MPI, and nobody waited for a core
    legend = {text.get_text() for text in axes.figure.legends[0].get_texts()}
    assert legend == {"computation", "waiting for other ranks", "transfer", "other MPI"}


def test_the_timeline_shows_waiting_for_a_core(tmp_path):
    # GIVEN ranks that were without a core for half of the time
    recording = Recording.open(write_recording(tmp_path / "a.rw", late(core_ms=100)))
    drawing = timeline.draw(build(recording), recording)
    assert "waiting for a core" in {text.get_text() for text in drawing.legends[0].get_texts()}
    colours = drawing.axes[0].images[0].get_array()[..., :3].reshape(-1, 3)
    # THEN a part of what each piece shows is that
    core, computing = (np.array(to_rgb(COLOURS[key])) for key in ("core", "computation"))
    assert np.isclose(colours, (core + computing) / 2, atol=0.02).all(axis=1).any()


def matrix_of_ring(tmp_path, sizes):
    ranks = [Rank(me, len(sizes)) for me in range(len(sizes))]
    for me, size in enumerate(sizes):
        ranks[me].send((me + 1) % len(sizes), size)
    drawing = figures.draw_matrix(build(Recording.open(write_recording(tmp_path / "a.rw", ranks))))
    drawing.draw_without_rendering()
    return drawing.axes[0]


def test_nearly_equal_bytes_have_nearly_one_colour_and_most_is_light(tmp_path):
    axes = matrix_of_ring(tmp_path, [38462, 38465])
    (image,) = axes.images
    one, other = (np.array(image.to_rgba(size)) for size in (38462, 38465))
    assert np.abs(one - other).max() < 0.02 and to_hex(other) == SHADES[-1]
    # AND of ranks there are whole ones
    for axis in (axes.xaxis, axes.yaxis):
        assert [each for each in axis.get_ticklocs() if -0.5 <= each <= 1.5] == [0, 1]


def test_bytes_of_several_magnitudes_are_on_a_logarithmic_scale(tmp_path):
    (image,) = matrix_of_ring(tmp_path, [100, 1000, 10000]).images
    least, between, most = (to_hex(image.to_rgba(size)) for size in (100, 1000, 10000))
    assert (least, between, most) == (SHADES[0], to_hex(image.cmap(0.5)), SHADES[-1])


def test_matrices_have_the_colours_of_the_page():
    script = files("rankwise.report.html").joinpath("matrix.js").read_text()
    assert json.loads(re.search(r"VIRIDIS = (\[.*?\])", script)[1]) == list(SHADES)


def test_a_distribution_names_the_channels_that_have_something(record):
    # GIVEN two ranks on one package
    report = build(Recording.open(record(ranks=2, per_node=2)))
    drawing = figures.draw_distribution(report)
    named = [text.get_text() for text in drawing.axes[1].get_legend().get_texts()]
    drawn = [
        label
        for at, (label, _) in enumerate(distribution.legend(report.distributions[0]))
        if any(bar[1][at].share for _, bars in distribution.bars(report.distributions[0]) for bar in bars)
    ]
    assert named == drawn and len(named) < len(distribution.legend(report.distributions[0]))


@pytest.mark.one_of(2)
@pytest.mark.parametrize("ranks", [1, 300])
def test_figures_of_few_and_many_ranks(tmp_path, ranks):
    path = traced(tmp_path / "x.rw", ranks)
    assert main(["report", str(path), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    # A shape a part and a picture a raster, whatever the number of ranks.
    assert (tmp_path / "out" / "time-per-rank.svg").stat().st_size < 200_000
    assert (tmp_path / "out" / "timeline.svg").stat().st_size < 300_000

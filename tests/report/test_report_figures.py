# SPDX-License-Identifier: BSD-3-Clause
"""The report's figures for papers."""

import base64
import io
import json
import re
import sys
from importlib.resources import files
from xml.etree import ElementTree

import matplotlib.image
import msgspec
import numpy as np
import pytest
import traces
from matplotlib.colors import to_hex, to_rgb
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from test_defects import late

from rankwise.cli import main
from rankwise.recording import Recording
from rankwise.report import figures, time_words
from rankwise.report.build import build
from rankwise.report.data.communication import CommMatrix
from rankwise.report.figures import timeline
from rankwise.report.figures.drawing import SHADES
from rankwise.report.html import distribution
from rankwise.report.html.stack import COLOURS

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
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


class Drawn:
    """An SVG file that matplotlib wrote."""

    def __init__(self, path):
        self.text = path.read_text()
        self.root = ElementTree.fromstring(self.text)
        # Letters are shapes; what they say is told in comments.
        self.words = [word.strip() for word in re.findall(r"<!-- (.*?) -->", self.text, re.DOTALL)]

    def shapes(self, colour):
        """Corners of each shape that is filled with a colour, but for the squares of legends."""
        groups = [g for g in self.root.iter(f"{SVG}g") if (g.get("id") or "").startswith("legend")]
        in_legends = {path for g in groups for path in g.iter(f"{SVG}path")}
        paths = [path for path in self.root.iter(f"{SVG}path") if path not in in_legends]
        return [corners(path) for path in paths if f"fill: {colour.lower()}" in path.get("style", "")]

    def width_of_axes(self):
        """Of the first picture's field."""
        (field,) = [g for g in self.root.iter(f"{SVG}g") if g.get("id") == "patch_2"]
        return np.ptp(corners(field.find(f"{SVG}path"))[:, 0])

    def cells(self, ranks):
        """The colours in the middle of each cell of the raster."""
        image = next(self.root.iter(f"{SVG}image"))
        pixels = matplotlib.image.imread(
            io.BytesIO(base64.b64decode(image.get(f"{XLINK}href").partition("base64,")[2]))
        )
        at = ((np.arange(ranks) + 0.5) / ranks * len(pixels)).astype(int)
        return (pixels[::-1] if "scale(1 -1)" in image.get("transform", "") else pixels)[np.ix_(at, at)]


def corners(path):
    """Of a shape of an SVG file."""
    return np.array([float(number) for number in re.findall(r"-?[\d.]+", path.get("d"))]).reshape(-1, 2)


def height_at(shape, x):
    """How high a shape is there."""
    crossed = []
    for (x0, y0), (x1, y1) in zip(shape, np.roll(shape, -1, axis=0), strict=True):
        if min(x0, x1) <= x < max(x0, x1):
            crossed.append(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return max(crossed) - min(crossed) if crossed else 0.0


def test_the_bars_of_each_rank_are_as_high_as_its_times(record, tmp_path):
    path = record()
    assert main(["report", str(path), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    figure, report = Drawn(tmp_path / "out" / "time-per-rank.svg"), build(Recording.open(path))
    parts = time_words.parts(report)
    ranks, heights, seconds = len(report.ranks.rank), [], []
    for part in parts:
        # THEN each part has a shape, in its colour and with its name
        (shape,) = figure.shapes(COLOURS[part.key])
        assert part.name in figure.words
        left, right = shape[:, 0].min(), shape[:, 0].max()
        heights += [height_at(shape, left + (rank + 0.5) * (right - left) / ranks) for rank in range(ranks)]
        seconds += part.seconds
    # AND is as high at each rank as its seconds are, which differ
    scale = max(heights) / max(seconds)
    assert heights == pytest.approx([scale * each for each in seconds], abs=0.01 * max(heights))
    assert len(parts) > 1 and max(seconds[-ranks:]) > 5 * min(seconds[-ranks:])
    assert {"rank", "time (s)", "app on 16 ranks: time per rank"} <= set(figure.words)


def test_the_matrix_has_a_colour_where_messages_are(tmp_path):
    # GIVEN a ring, to whose first neighbour more is sent
    made = [Rank(me, 5) for me in range(5)]
    for me, rank in enumerate(made):
        rank.send((me + 1) % 5, 100_000 if me == 0 else 100)
    path = write_recording(tmp_path / "x.rw", made)
    assert main(["report", str(path), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    figure = Drawn(tmp_path / "out" / "communication-matrix.svg")
    cells = figure.cells(5)
    # THEN row by sender, column by receiver, those are drawn, and no others
    drawn = {(row, column) for row in range(5) for column in range(5) if cells[row, column, 3] > 0}
    assert drawn == {(me, (me + 1) % 5) for me in range(5)}
    # AND the larger one in another colour
    colours = {(row, column): tuple(cells[row, column]) for row, column in drawn}
    assert len(set(colours.values())) == 2 and list(colours.values()).count(colours[0, 1]) == 1
    assert {"receiver (rank)", "sender (rank)", "bytes"} <= set(figure.words)


def test_the_distribution_has_a_bar_a_channel_as_long_as_its_share(record, tmp_path):
    # GIVEN messages inside nodes and between them
    path = record()
    assert main(["report", str(path), "--figures", str(tmp_path / "out"), "--json", "-q"]) == 0
    figure = Drawn(tmp_path / "out" / "message-distribution.svg")
    (placed,) = build(Recording.open(path)).distributions
    shown = 0
    for at, (label, colour) in enumerate(distribution.legend(placed)):
        # THEN each channel's bars are in its colour, of messages on the left and of bytes on the right
        shares = [pieces[at].share for _, found in distribution.bars(placed) for _, pieces, _ in found]
        widths = [np.ptp(shape[:, 0]) for shape in figure.shapes(colour)]
        assert (label in figure.words) == any(shares)
        if not any(shares):
            continue
        assert len(widths) == len(shares)
        shown += sum(share > 0 for share in shares)
        scale = figure.width_of_axes()
        assert widths == pytest.approx([scale * share for share in shares], abs=0.01 * scale)
    assert shown > 4
    rows = {name for _, found in distribution.bars(placed) for name, _, _ in found}
    assert rows | {"share of the messages (%)", "share of the bytes (%)", placed.name} <= set(figure.words)


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


def test_groups_of_several_nodes_are_named_at_the_axes(tmp_path):
    # GIVEN four ranks on four nodes, and groups of two nodes
    ranks = [Rank(rank, 4, host=f"n{rank}") for rank in range(4)]
    report = build(Recording.open(write_recording(tmp_path / "a.rw", ranks)))
    matrix = CommMatrix(2, 2, [0], [1], [1], [8], [[0, 1], [2, 3]])
    drawing = figures.draw_matrix(msgspec.structs.replace(report, matrix=matrix))
    assert drawing.axes[0].get_xlabel() == "receiver (group of 2 nodes)"


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

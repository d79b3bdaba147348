# SPDX-License-Identifier: BSD-3-Clause
"""A page has at most 2 MB, whatever it is of, and says what is not in it."""

import re

import enlarged as made_up
import msgspec
import pytest
from browser import TIP, drawn, opened
from enlarged import enlarged

from rankwise.compare.comparison import compare
from rankwise.compare.scaling import Scaling, ScalingRow
from rankwise.recording import Recording
from rankwise.report.html import _page, drawn_from, fitting, render
from rankwise.report.html.fitting import CUTS, MOST_BYTES, Kept
from rankwise.report.html.several import render_comparison, render_scaling
from rankwise.report.use_data import Timeline, Track

SAID = "Left out, so that the page is not larger than 2 MB: "


@pytest.fixture
def alone(monkeypatch):
    """Function -> an enlarged report with a rank a node, and a track a rank with many moves."""
    monkeypatch.setattr(made_up, "PER_NODE", 1)

    def make(report, ranks):
        large = enlarged(report, ranks)
        placed = [msgspec.structs.replace(large.map.placed[0], name=f"placement {at}") for at in range(4)]
        large = msgspec.structs.replace(large, map=msgspec.structs.replace(large.map, placed=placed))
        tracks = [
            Track("waiting for a core", rank, f"rank {rank}", [0.5], [2], [at / 1000 for at in range(50)])
            for rank in range(20)
        ]
        use = msgspec.structs.replace(large.use, timeline=Timeline([0.0, 1.0], tracks))
        return msgspec.structs.replace(large, use=use, distributions=3 * large.distributions[:1])

    return make


def series(runs):
    """A scaling series of these reports."""
    rows = [
        ScalingRow(
            f"app.{at}.rw", run.program.world_size, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0, 1.0, None, None, None, None, None
        )
        for at, run in enumerate(runs)
    ]  # fmt: skip
    return Scaling("rankwise.scaling/1", "0.1.0", "strong", True, "no counters", rows)


def left_out(page):
    return re.findall(f"{SAID}([^<]*)[.] <code>", page)


def heavy(report, ranks, placements):
    """As many numbers as a report can have: of few ranks each part of the matrix has all pairs."""
    large = enlarged(report, ranks)
    ran, whole = large.map.placed[0], large.matrix_parts.parts[0]
    placed = [ran, *(msgspec.structs.replace(ran, name=f"placement {at}") for at in range(placements))]
    parts = [
        whole,
        *(msgspec.structs.replace(whole, name=f"comm {at}", kind="communicator") for at in range(4)),
    ]
    return msgspec.structs.replace(
        large,
        map=msgspec.structs.replace(large.map, placed=placed),
        matrix_parts=msgspec.structs.replace(large.matrix_parts, parts=parts if ranks <= 256 else [whole]),
    )


@pytest.mark.parametrize(
    ("ranks", "placements", "cut"),
    [
        pytest.param(256, 0, "messages of single communicators", marks=pytest.mark.slow),
        (10_000, 5, "maps of placements from the third on"),
    ],
)
def test_what_is_least_useful_is_left_out_of_a_page_that_would_be_too_large(report, ranks, placements, cut):
    # GIVEN a page of more than 2 MB
    large = heavy(report, ranks, placements)
    assert len(_page(large, Kept(large, 400), {}).encode()) > MOST_BYTES
    # WHEN
    page = render(large)
    # THEN it is not that large, and says what is not in it
    assert len(page.encode()) <= 2_000_000
    assert re.search(f"Left out, so that the page is not larger than 2 MB: [^.]*{cut}", page)
    # AND bytes of placements that are not drawn are there all the same
    table = page[page.index('id="placements"') :] if placements else ""
    assert all(f"<td>placement {at}</td>" in table for at in range(placements))


@pytest.mark.slow
def test_every_way_to_leave_out_leaves_less(report, alone):
    # GIVEN a run that has all that can be left out
    kept = Kept(whole := alone(report, 1_100), 400)
    size = len(_page(whole, kept, {}))
    for cut in CUTS:
        if cut.section not in ("predicted", "context") and (cut.what or cut.less is not CUTS[-1].less):
            # WHEN
            kept = cut.less(kept)
            # THEN
            assert size > (size := len(_page(whole, kept, {}))), cut
    # AND sums are the same
    assert sum(kept.report.pair_waits.waited_s) == pytest.approx(sum(whole.pair_waits.waited_s))
    assert sum(kept.report.matrix.bytes) == sum(whole.matrix.bytes)


def test_curves_that_are_left_out_leave_some_of_each_kind(report):
    # GIVEN more curves of one kind than a page that is too large has of all, and two of another behind them
    waits = [Track("waiting for a core", 0, f"rank {at}", [at / 16], [2], []) for at in range(16)]
    bytes_of = [Track("bytes", 0, f"eth{at}", [1e9 * at], None, []) for at in range(2)]
    use = msgspec.structs.replace(report.use, timeline=Timeline([0.0, 1.0], waits + bytes_of))
    less = next(cut.less for cut in CUTS if cut.section == "use")
    # WHEN
    whole = Kept(msgspec.structs.replace(report, use=use), 400)
    fewer = less(whole)
    # THEN those with the most are there, in their order
    assert fewer.report.use.timeline.tracks == waits[-4:] + bytes_of
    # AND the page says how many
    assert "of each kind there are at most 4 rows" in _page(fewer.report, fewer, {})
    assert "of each kind there are at most 16 rows" in _page(whole.report, whole, {})
    # AND there is nothing to leave out any more
    assert less(fewer) == fewer


def test_what_is_left_in_the_end_does_not_grow_with_ranks_nodes_and_words(report, alone, monkeypatch):
    # GIVEN no room at all, runs of few and many ranks, and a very long command line
    monkeypatch.setattr(fitting, "MOST_BYTES", 0)

    def smallest(ranks):
        large, last = alone(report, ranks), []
        program = msgspec.structs.replace(large.program, command=["./app", *map(str, range(100 * ranks))])
        large = msgspec.structs.replace(large, program=program)
        fitting.fitted(Kept(large, 400), CUTS, lambda kept, out: last.append((kept, out)) or "a page")
        return _page(large, *last[-1])

    # WHEN
    small, large = smallest(512), smallest(2_560)
    # THEN
    assert len(large) < len(small) + 5_000 < 300_000
    # AND each section says what it has not
    said = left_out(large)
    assert len(said) == 7
    for what in ("the map", "the picture", "times of single ranks", "the command line behind"):
        assert any(what in each for each in said)


@pytest.mark.slow
def test_a_run_of_a_rank_a_node_has_a_small_page_that_says_what_it_has_not(report, alone):
    page = render(alone(report, 6_000))
    assert len(page.encode()) <= MOST_BYTES
    assert left_out(page)


@pytest.mark.slow
def test_the_page_of_fifty_thousand_ranks_still_has_pictures(report):
    page = render(enlarged(report, 50_000))
    assert len(page.encode()) <= MOST_BYTES
    for name in ("map", "matrix", "ranks", "waits"):
        assert f'id="{name}-picture"' in page


def test_pictures_of_parts_say_of_what_they_are(report, tmp_path, alone):
    # GIVEN a page with fewer nodes and bars than there are
    whole = enlarged(report, 1_100)
    nodes = sorted(whole.map.placed[0].nodes, key=lambda node: -node.sent_bytes - node.received_bytes)
    text = _page(whole, Kept(whole, 20, most_links=60, most_nodes=100, most_bars=550), {})
    with opened(text, tmp_path) as shown:
        drawn(shown)
        # THEN nodes are those with the most bytes, and all are counted
        first = shown.page.locator("#map-picture .nodes details").first.locator("b").inner_text()
        assert first == nodes[0].name
        assert "1100 nodes; the 8 with the most bytes" in shown.page.locator("#map-picture").inner_text()
        # AND where a rank's node is not there, or no rank, this is said
        there = {node.ranks[0] for node in nodes[:100]}
        ask, found = shown.page.locator("#map-picture input"), shown.page.locator("#map-picture .nodes").first
        gone = next(rank for rank in range(1_100) if rank not in there)
        for rank, said in (
            (gone, f"The node of rank {gone} is not on this page: it is in rankwise report --json."),
            (1_100, "There is no rank 1100 here."),
            (nodes[0].ranks[0], nodes[0].name),
        ):
            ask.fill(str(rank))
            ask.press("Enter")
            assert said in found.inner_text()
        # AND a bar is the mean of neighbours
        canvas = shown.page.locator("#ranks-picture canvas")
        box = canvas.bounding_box()
        canvas.hover(position={"x": 63, "y": box["height"] / 2})
        assert shown.page.locator(TIP).inner_text().startswith("ranks 0-1")
        assert (shown.problems, shown.requests) == ([], [])


def test_the_last_of_bars_that_are_means_may_be_of_one_rank(report):
    bars = drawn_from(Kept(enlarged(report, 64), 20, most_bars=22))["bars"]
    assert bars["names"][-2:] == ["ranks 60-62", "rank 63"]


def test_pages_of_several_recordings_are_small_and_say_what_they_have_not(report, alone, monkeypatch):
    # GIVEN runs of a rank a node, which have more numbers than there is room for
    ranks, most = 1_500, 250_000
    monkeypatch.setattr(fitting, "MOST_BYTES", most)
    recording, run = Recording.open(report.recording), alone(report, ranks)
    runs = [alone(report, ranks // 4), *[run] * 4]
    # WHEN
    compared = render_comparison(compare([recording], [recording]), run, run)
    scaled = render_scaling(series(runs), runs)
    # THEN
    assert len(compared.encode()) <= most and len(scaled.encode()) <= most
    assert "messages between single ranks" in " ".join(left_out(compared))
    assert "maps of all runs but the first and the last" in " ".join(left_out(scaled))
    assert scaled.count("of each recording has them") == 1


def test_pages_of_several_recordings_have_words_left_in_the_end(report, tmp_path, monkeypatch):
    # GIVEN no room at all
    monkeypatch.setattr(fitting, "MOST_BYTES", 0)
    recording, runs = Recording.open(report.recording), [enlarged(report, each) for each in (300, 600)]
    # WHEN
    pages = [
        render_comparison(compare([recording], [recording]), runs[1], runs[1]),
        render_scaling(series(runs), runs),
    ]
    # THEN neither picture is there, no words say that it could not be made, and scripts do not mind
    for page in pages:
        assert "the maps" in " ".join(left_out(page)) and "-picture" not in page.partition("<script")[0]
        assert "Where the ranks ran is not known" not in page and "No messages between ranks" not in page
        with opened(page, tmp_path) as shown:
            drawn(shown)
            assert (shown.problems, shown.requests) == ([], [])

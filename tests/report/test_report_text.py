# SPDX-License-Identifier: BSD-3-Clause
"""The report in the terminal: what it begins with, and its sections by name."""

import io

import msgspec
import pytest
from enlarged import enlarged
from raw_writer import Rank, write_recording

from rankwise.cli import main
from rankwise.cli.terminal import encodable
from rankwise.recording import Recording
from rankwise.report import FIRST, IN_HTML_ONLY, SECTIONS
from rankwise.report.build import build
from rankwise.report.data.map import Map
from rankwise.report.html import render as render_html
from rankwise.report.placements import Asked, asked_placements
from rankwise.report.text import VIEWS, render
from rankwise.report.text.map import first as first_map


@pytest.fixture
def report(record):
    """16 ranks, bound to the cores of 4 nodes of 2 packages of 2 cores."""
    return build(Recording.open(record()))


def headings(text):
    """Lines that are not indented, up to what is said of them."""
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return [line.partition(":")[0].partition(",")[0] for line in lines]


def drawn(placed, kinds, report):
    """The map's lines of this placement."""
    changed = msgspec.structs.replace(report, map=Map(kinds, [placed]))
    return [line.plain for line in first_map(changed)]


def test_it_begins_with_the_blocks_of_the_html_report(report):
    text = render(report)
    assert text.startswith(
        "app: 16 ranks, 4 nodes, 2 s\n  complete: every rank left its records, and all its calls ended\n"
    )
    assert headings(text) == ["app", *(SECTIONS[name] for name in FIRST), "More"]
    page = render_html(report)
    assert (
        ">app: 16 ranks, 4 nodes, 2 s<" in page
        and "Complete: every rank left its records, and all its calls ended." in page
    )
    # AND has no matrix, no sizes and no tables, but says how to get them
    assert "Communication matrix" not in text and "256 B" not in text and "Where MPI time goes" not in text
    assert "`--section NAME`: distribution, matrix, ranks, calls, collectives," in text


def test_all_sections_are_there_when_asked_for(report):
    text = render(report, verbose=True)
    for said in ("Communication matrix", "Time by rank", "Where MPI time goes", "Network time", "Context"):
        assert f"\n{said}" in text
    assert text.index("Efficiency") < text.index("Map: ") < text.index("Message distribution")


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", VIEWS)
def test_each_section_is_printed_alone_or_says_what_it_takes(report, name):
    assert list(VIEWS) == [each for each in SECTIONS if each not in IN_HTML_ONLY]
    text = render(report, section=name)
    (heading, *_) = headings(text)
    if VIEWS[name](report):
        assert text in render(report, verbose=True)
    else:
        assert heading == SECTIONS[name] and len(text.splitlines()) == 1


def test_an_unknown_section_is_a_usage_error_with_the_nearest(record, capsys):
    assert main(["report", str(record()), "--section", "matrices"]) == 2
    assert "did you mean `matrix`?" in capsys.readouterr().err


@pytest.mark.parametrize("ranks", [256, 4096])
def test_many_ranks_keep_to_80_columns_and_a_few_screens(report, ranks):
    large = enlarged(report, ranks)
    for name in (None, *VIEWS):
        lines = render(large, section=name).splitlines()
        assert max(map(len, lines)) <= 80, name
        assert len(lines) < 400, name
    assert len(render(large).splitlines()) < 80


def test_the_time_of_the_mean_rank_is_a_bar_of_its_parts(tmp_path):
    # GIVEN ranks that are in MPI for a quarter and three quarters of their second
    ranks = [Rank(me, 2) for me in range(2)]
    for rank, share in zip(ranks, (0.25, 0.75), strict=True):
        rank.count("MPI_Barrier", ns=int(share * 1e9))
    text = render(build(Recording.open(write_recording(tmp_path, ranks))))
    # THEN half of the mean bar is computation, and the rank with less is below it
    assert "  █ computation 50.0 %  ▒ MPI 50.0 %\n" in text
    assert f"\n  mean rank  {'█' * 28}{'▒' * 28}\n  rank 1     {'█' * 14}{'▒' * 42}\n" in text


def test_a_rank_has_its_time_beside_its_bar_where_the_run_took_longer(tmp_path):
    # GIVEN a run of 1 s of which one rank was there for half
    ranks = [Rank(me, 2, run_ns=run_ns) for me, run_ns in enumerate((10**9, 5 * 10**8))]
    for rank in ranks:
        rank.count("MPI_Barrier", ns=250_000_000)
    report = build(Recording.open(write_recording(tmp_path, ranks)))
    lines = {line.split()[0]: line for line in render(report, section="time").splitlines() if "█" in line}
    assert lines["mean"].endswith(" 750 ms") and lines["rank"].endswith(" 500 ms")
    assert "<span>500 ms</span>" in render_html(report)


def test_the_map_has_each_rank_on_its_core_and_the_bytes(report):
    (placed,) = report.map.placed
    title, first, *_ = drawn(placed, report.map.kinds, report)
    sent = sum(node.sent_bytes for node in placed.nodes)
    assert title.startswith("Map: ") and title.endswith(" between nodes") and sent > 0
    assert first.split("]")[:2] == ["  n0  [0 1", " [2 3"]
    assert first.endswith(" received")


def test_the_map_marks_shared_cores_idle_ones_and_those_that_take_interrupts(record):
    recording = Recording.open(record())
    asked = asked_placements(recording, Asked(nodes="1x16", node="package:2 l3:2 core:8"))
    report = build(recording, asked)
    kinds, (node,) = report.map.kinds, report.map.placed[1].nodes
    # GIVEN four ranks on one core, one on the next, and three that may use all
    node = msgspec.structs.replace(
        node, ranks=list(range(8)), cores=[[0]] * 4 + [[1], [], [], []], interrupt_pus=[2]
    )
    lines = drawn(msgspec.structs.replace(report.map.placed[1], nodes=[node]), kinds, report)
    text = " ".join(" ".join(lines).split())
    assert "node0 [(0,1,..,3 4 -! - x5) (- x8)] [(- x8) (- x8)]; on any of 32 cores: 3 ranks, 5-7" in text
    assert "[ ] package; ( ) L3; numbers are ranks; - a core without one; ! takes a network" in text


def test_both_placements_are_mapped(record, tmp_path):
    recording = Recording.open(record())
    asked = asked_placements(recording, Asked(allocations=["cyclic"]))
    text = render(build(recording, asked))
    assert "\nMap, as it ran: " in text and "\nMap, 4x4 cyclic: " in text
    assert "[0 4] [8 12]" in text


def test_a_terminal_that_takes_ascii_only_gets_ascii(report):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    text = encodable(render(report, verbose=True), stream)
    assert text.isascii() and max(map(len, text.splitlines())) <= 80
    assert "load balance x serialisation x transfer" in text and "# computation" in text
    # AND what a name has is written out
    assert encodable("né", stream) == "n\\xe9"
    assert encodable("█ né", io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) == "█ né"

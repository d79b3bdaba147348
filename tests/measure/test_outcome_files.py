# SPDX-License-Identifier: BSD-3-Clause
"""What people and files get to see of a measurement: answers, the page, the figure."""

import argparse
import dataclasses
import json
import types
import xml.etree.ElementTree as ElementTree

import msgspec
import numpy as np
import pytest
from made_samples import Noise, Truth, samples
from test_questions import plan_of, table

from rankwise.cli import measure_end, measure_plot
from rankwise.cli.terminal import Terminal
from rankwise.errors import RankwiseError
from rankwise.machine.file import dumps, loads
from rankwise.machine.nodes import Node
from rankwise.machine.topology import from_synthetic
from rankwise.measure import figure, outcome, page
from rankwise.measure.answer_table import document, entries, text
from rankwise.measure.curves import curves
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.machine_file import find, machine
from rankwise.measure.questions import answers
from rankwise.measure.questions.answer import Answer, Column, Doubt, Plot
from rankwise.quantities import bytes_text

KNOWN = Median(2e-6, 1e-6, 3e-6, 9)
MINUS = Median(-1, -2, 0, 3)
ANSWER = Answer(
    "rate",
    "How many",
    "up to <2> & more",
    (
        Column("who"),
        Column("size", "bytes"),
        Column("time", "s"),
        Column("share", "share"),
        Column("n", "count"),
    ),
    (("a", 8, KNOWN, 0.5, 3), ("a", 64, 4e-6, None, 12000), ("b", 8, float("nan"), 1.0, 1)),
    doubts=(Doubt("few samples", "few"),),
    values={
        "t_s": KNOWN,
        "word": "yes",
        "count": 3,
        "none_s": None,
        "bad_s": float("nan"),
        "minus_s": Median(-1, -2, 0, 3),
    },
    reasons={"none_s": "no counters here"},
    plot=Plot("size", "time", "who"),
)
MISSING = Answer("other", "Something else", "not measured: one node", missing="one node")


@pytest.fixture(scope="module")
def findings():
    return find(samples(Truth(), Noise(), seed=3), {"network": "one node"})


@pytest.fixture(scope="module")
def built(findings):
    made = machine(findings, "test", Node(1, topology="core:2"), {"mpi": "<MPI>"}, "offloaded", "spin", True)
    return msgspec.structs.replace(made, answers=entries([ANSWER, MISSING]))


def test_values_are_shown_with_their_units():
    shown = [[text(v, c) for v, c in zip(row, ANSWER.columns, strict=True)] for row in ANSWER.rows]
    assert shown == [
        ["a", "8 B", "2 us", "50 %", "3"],
        ["a", "64 B", "4 us", "-", "12 k"],
        ["b", "8 B", "-", "100 %", "1"],
    ]


def test_the_machine_file_says_of_every_number_how_it_was_obtained_or_why_it_is_not_there(built):
    again = loads(dumps(built))
    assert again == built
    rate = again.answers["rate"]
    assert rate["t_s"].obtained == "measured"
    assert (rate["t_s"].low, rate["t_s"].high, rate["t_s"].samples) == (1e-6, 3e-6, 9)
    assert rate["word"] == "yes"
    assert rate["none_s_unknown"] == "no counters here"
    assert "bad_s" not in rate and "minus_s" not in rate
    assert again.answers["other"]["sentence"] == "not measured: one node"


def test_json_has_tables_and_no_nan():
    told = json.loads(json.dumps(document([ANSWER, MISSING]), allow_nan=False))
    assert told["rate"]["rows"][2][2] is None
    assert told["rate"]["rows"][0][2]["low"] == 1e-6
    assert told["rate"]["doubts"] == [{"text": "few samples", "code": "few"}]
    assert told["other"]["missing"] == "one node"


def test_curves_lie_on_their_fits(findings):
    (curve,) = curves(findings.channels.values())
    assert curve.limit == 8192
    x = np.concatenate([line[0] for line in curve.lines])
    y = np.concatenate([line[1] for line in curve.lines])
    assert (np.diff(x) > 0).all()
    assert np.abs(np.interp(curve.sizes, x, y) / curve.times_s - 1).max() < 0.1
    assert (curve.low_s <= curve.times_s).all() and (curve.times_s <= curve.high_s).all()


def test_the_page_needs_no_network_and_shows_curves_answers_and_doubts(findings, built):
    html = page.render(built, curves(findings.channels.values()), [ANSWER, MISSING])
    for word in (
        "Channel package",
        "up to &lt;2&gt; &amp; more",
        "few samples",
        "not measured: one node",
        "12 k",
    ):
        assert word in html, word
    assert "&lt;MPI&gt;" in html
    assert "<script src=" not in html and "<link" not in html
    assert html.count('data-root-id="') == 2
    # THEN a page without anything is a page
    assert "<h1>test</h1>" in page.render(built, [], [])


def test_the_figure_is_an_svg_and_the_same_each_time(findings, tmp_path):
    drawn = curves(findings.channels.values())
    paths = [tmp_path / name for name in ("a.svg", "b.svg")]
    for path in paths:
        figure.draw(drawn, path)
    assert ElementTree.parse(paths[0]).getroot().tag.endswith("svg")
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    ("name", "said"),
    [("x.txt", "ends in none of"), ("there.svg", "exists"), ("no/where.html", "does not exist")],
)
def test_plots_that_cannot_be_written_are_refused_before_anything_is_measured(
    tmp_path, monkeypatch, name, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.svg").touch()
    with pytest.raises(RankwiseError, match=said) as caught:
        measure_plot.check([name], force=False)
    assert caught.value.hint
    measure_plot.check(["there.svg", "new.html"], force=True)


def test_the_machine_file_and_the_answer_say_the_same_of_progress(findings):
    def made(waiting, **verdict):
        node = Node(1, topology="core:2")
        built = machine(findings, "test", node, {}, "offloaded", waiting, True, verdict)
        return built.link_class("package").progress

    assert findings.channels["package"].fit.progress == "in-call"
    assert made("spin") == "in-call"
    assert made("spin", package="independent") == "independent"
    # THEN where waiting sleeps, it is taken to be as in these libraries
    assert made("yield", package="independent") == "in-call"


def test_both_errors_of_a_fit_are_told_in_80_columns(findings, capsys):
    terminal = Terminal(argparse.Namespace(quiet=0, verbose=0, color="never", no_progress=True))
    measure_end._errors(terminal, findings)
    fit = findings.channels["package"].fit
    said = capsys.readouterr().out
    assert f"not fitted to  package {100 * fit.held_out_error:.0f} %" in said
    assert f"error is largest  package {bytes_text(fit.worst_bytes)}" in said
    assert measure_end._row(findings.channels["package"])[-1] == f"{100 * fit.worst_error:.0f} %"
    # THEN the widest values of a channel fit
    wide = ("package", "1.23 us", "±100 %", "12.3 GB/s", "1.23 us", "1.23 us", ">4.19 MB", "100 %")
    terminal.table(measure_end.COLUMNS, [wide])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_line_that_is_far_off_is_a_warning_and_not_a_percentage(findings, capsys):
    # GIVEN a channel of which a point is 4.5 times off its line
    terminal = Terminal(argparse.Namespace(quiet=0, verbose=0, color="never", no_progress=True))
    found = findings.channels["package"]
    measure_end._doubts(terminal, found)
    assert "poor-fit" not in capsys.readouterr().err
    off = dataclasses.replace(found, fit=dataclasses.replace(found.fit, worst_error=3.51))
    measure_end._doubts(terminal, off)
    # THEN it is said, with what to do
    said = " ".join(capsys.readouterr().err.split())
    assert "`package` is not measured well" in said and "4.5 times off" in said and "[poor-fit]" in said
    assert "`--budget`" in said
    assert measure_end._row(off)[-1] == ">100 %"


def test_each_kind_of_node_is_written_and_channels_that_none_has_are_not(findings, tmp_path):
    some = dataclasses.replace(findings, channels=dict(findings.channels), missing={})
    nodes = [from_synthetic(words) for words in ("package:2 core:2", "package:1 l2:2 core:2")]
    irregular = dataclasses.replace(nodes[0], packages=(0, 0, 0, 1))
    topologies = dict(zip("abcd", [nodes[0], nodes[1], nodes[0], irregular], strict=True))
    site = types.SimpleNamespace(host_cores=lambda: None, xml=lambda node: b"<topology/>")
    session = types.SimpleNamespace(topologies=topologies, site=site)
    some.channels["L2"] = some.channels["L7"] = some.channels["package"]
    outcome._only_known(some, session)
    assert list(some.channels) == ["package", "L2"]
    assert some.missing == {"L7": "none of the nodes has it"}
    node = outcome._node(session, tmp_path / "x.machine.toml")
    assert (node.count, from_synthetic(node.topology)) == (4, nodes[0])
    assert [(kind.nodes, kind.topology_xml) for kind in node.others] == [
        ([1], None),
        ([3], "x.topology.2.xml"),
    ]
    assert from_synthetic(node.others[0].topology) == nodes[1]
    assert (tmp_path / "x.topology.2.xml").exists()


def test_the_widest_table_of_answers_fits_80_columns(capsys):
    rows = [
        {"test": "polling", "bytes": 100_000, "setting": 100_000, "value1": 1e-3, "value2": 2e-3}
        | {"value3": 1.234e-6 * (1 + n / 100)}
        for n in range(9)
    ]
    rows += [{"test": "host_receive", "bytes": 65536, "value1": 1e-6, "value2": 3e-6, "value3": 1e-6}] * 9
    rows += [{"test": "post_work_wait", "setting": 50, "value2": 1.0, "value4": 1.0, "value5": 1.0}] * 9
    (found,) = [a for a in answers(table(*rows), plan_of("aa")) if a.name == "availability"]
    terminal = Terminal(argparse.Namespace(quiet=0, verbose=0, color="never", no_progress=True))
    measure_end._answers(terminal, [found])
    said = capsys.readouterr().out
    assert "PWW, work 0.5" in said and "100 kB" in said and "(post-work-wait)" in said
    assert max(map(len, said.splitlines())) <= 80


def test_columns_of_which_nothing_is_known_are_left_out_on_the_terminal(capsys):
    answer = dataclasses.replace(ANSWER, rows=(("a", 8, None, 0.5, None), ("b", 64, None, None, None)))
    measure_end._answers(
        Terminal(argparse.Namespace(quiet=0, verbose=0, color="never", no_progress=True)), [answer]
    )
    said = capsys.readouterr()
    assert "size" in said.out and "share" in said.out
    assert "time" not in said.out
    assert "few samples  [few]" in said.err

# SPDX-License-Identifier: BSD-3-Clause
"""Pages of studies in a browser, and their figures for papers."""

from collections import Counter

import msgspec
import pytest
from browser import opened

from rankwise.study.catalogue import study
from rankwise.study.program import parse_program
from rankwise.study.request import Request
from rankwise.study.result import Figure, Series, StudyResult, Table, Target
from rankwise.study.show import figure, markdown, page, text

EVIL = '<script>document.title="owned"</script>|'


@pytest.fixture(scope="module")
def result():
    # GIVEN lines, bars and stacked bars, one with a hole, and names that try to be more than names
    lines = Figure(
        "a", EVIL, "x", "y", [Series("one", [1.0, 2.0], [1.0, None]), Series("ideal", [1.0], [2.0])]
    )
    bars = Figure(
        "b",
        "bars",
        "x",
        "y",
        [Series(EVIL, ["p", "q"], [1.0, 2.0]), Series("t", ["p", "q"], [2.0, None])],
        "bars",
    )
    parts = [Series("u", ["p"], [0.25]), Series("v", ["p"], [0.75]), Series("overall", ["p"], [0.5])]
    stacked = Figure("c", "stacked", "x", "y", parts, "stacked")
    table = Table("t", ["name", "value"], [[EVIL, 1.5], ["b", None]])
    targets = [
        Target.of("pairs", 97.25, "at least", 98),
        Target.of("worst", 15.0, "at most", 15),
        Target.of("none", None, "at most", 2, ""),
    ]
    return StudyResult(
        "s", "S", [EVIL], "predicted", "done.", [table], [lines, bars, stacked], targets=targets
    )


def test_a_browser_draws_all_figures_without_complaint(result, tmp_path):
    with opened(page.render(result), tmp_path) as shown:
        shown.page.wait_for_timeout(1000)
        # The charts are in shadow trees, which locators see into.
        canvases, problems = shown.page.locator("canvas").count(), shown.problems
    assert problems == []
    assert canvases >= 3


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_figures_are_drawn_for_papers(result, at, ending, tmp_path):
    path = tmp_path / f"figure.{ending}"
    figure.draw(result.figures[at], path)
    assert path.stat().st_size > 1000


def test_a_cell_of_markdown_stays_one(result):
    rows = [line for line in markdown.render(result).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {3, 5}


def test_targets_say_what_was_found_and_whether_it_is_enough(result):
    expected = [
        ["pairs", "97.25 %", "at least 98 %", "missed"],
        ["worst", "15 %", "at most 15 %", "met"],
        ["none", "-", "at most 2", "not judged"],
    ]
    # THEN in each form
    lines = [str(each) for each in text.render(result)]
    for row in expected:
        assert any(all(cell in line for cell in row) for line in lines)
        assert f"| {' | '.join(row)} |" in markdown.render(result)
        assert "".join(f'<td class="text">{cell}</td>' for cell in row) in page.render(result)
    plain = msgspec.to_builtins(result)["targets"]
    assert [each["met"] for each in plain] == [False, True, None]


@pytest.mark.parametrize(
    "name",
    [
        "levels",
        pytest.param("interconnect", marks=pytest.mark.slow),
        "network-sharing",
        "mapping",
        "message-distribution",
    ],
)
def test_figures_have_names_of_their_own(name):
    programs = () if name in ("levels", "interconnect", "mapping") else (parse_program("cg.S"),)
    found = Counter(each.name for each in study(name).run(Request(programs=programs)).figures)
    assert max(found.values()) == 1

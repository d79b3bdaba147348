# SPDX-License-Identifier: BSD-3-Clause
"""The HTML report: offline, escaped, and drawn by a browser without complaints."""

import json
from html.parser import HTMLParser

import msgspec
import pytest
from bokeh.models import ColorBar
from bokeh.palettes import Viridis256
from browser import drawn

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.data import to_dict
from rankwise.report.html import matrix, render
from rankwise.report.html.distribution import charts
from rankwise.report.placements import Asked, asked_placements

EVIL = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts by id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self._inside = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self._inside = dict(attributes).get("id")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data


@pytest.fixture
def report(record):
    recording = Recording.open(record(command=("mpiexec", "./app", EVIL), name="a<b>.rw"))
    return build(recording, asked_placements(recording, Asked(nodes="4x4", node="package:2 l3:2 core:1")))


def test_nothing_is_loaded_from_anywhere(report):
    page = Page(render(report))
    assert [tag for tag, _ in page.elements if tag in ("link", "iframe", "img", "object", "embed")] == []
    references = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action", "data", "poster")
    ]
    assert references == []


def test_what_users_typed_is_text(report):
    page = Page(render(report))
    # The scripts are the library, the charts and the JSON; none came from the command line.
    bodies = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert bodies.count("application/json") == 1
    assert "owned" not in "".join(text for name, text in page.scripts.items() if name != "rankwise-report")
    assert not any("onerror" in attributes for _, attributes in page.elements)


def test_the_json_in_the_page_is_the_report(report):
    page = Page(render(report))
    assert json.loads(page.scripts["rankwise-report"]) == to_dict(report)


def test_the_page_of_16_ranks_is_small(report):
    assert len(render(report).encode()) < 2_000_000


def test_a_browser_draws_it_without_complaint(report, tmp_path):
    # WHEN it is opened
    canvases, problems = drawn(render(report), tmp_path)
    # THEN every chart is drawn and nothing was complained about
    assert problems == []
    assert canvases >= 6


def test_equal_values_have_one_colour_and_one_tick(record):
    # GIVEN a matrix whose cells all have the same bytes
    report = build(Recording.open(record()))
    equal = msgspec.structs.replace(report.matrix, bytes=[4096] * len(report.matrix.bytes))
    # WHEN it is drawn
    (bar,) = matrix.chart(msgspec.structs.replace(report, matrix=equal)).select(ColorBar)
    # THEN the value has the colour of the most, and the scale has this value only
    assert list(bar.color_mapper.palette) == [Viridis256[-1]] and bar.ticker.ticks == [4096]
    assert bar.color_mapper.low < 4096 <= bar.color_mapper.high
    # AND values that differ have a scale
    (bar,) = matrix.chart(report).select(ColorBar)
    assert len(bar.color_mapper.palette) > 1
    # AND no two ticks read the same, also where sizes differ by less than what is written
    alike = [10_968 + index % 2 for index in range(len(report.matrix.bytes))]
    nearly = msgspec.structs.replace(report.matrix, bytes=alike)
    (bar,) = matrix.chart(msgspec.structs.replace(report, matrix=nearly)).select(ColorBar)
    assert len(bar.ticker.ticks) == 1 and len(bar.color_mapper.palette) == 1


def test_legends_and_pairs_of_charts_wrap_on_narrow_pages(report):
    page = Page(render(report))
    classes = [attributes.get("class") for _, attributes in page.elements]
    assert classes.count("pair") == len(report.distributions)
    assert classes.count("legend") == len(report.distributions) + 1
    # No chart has a legend of its own, which could not wrap.
    assert all(not chart.legend for placed in report.distributions for chart in charts(placed).values())

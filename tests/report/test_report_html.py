# SPDX-License-Identifier: BSD-3-Clause
"""The HTML report: one offline file, escaped, the same first screen for all recordings."""

import base64
import html
import json
import re
import zlib
from html.parser import HTMLParser

import jinja2
import msgspec
import numpy as np
import pytest
from browser import TIP, drawn, opened
from enlarged import enlarged

from rankwise.findings.finding import Finding
from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.data import to_dict
from rankwise.report.html import render
from rankwise.report.placements import Asked, asked_placements
from rankwise.report.tuning import TunedChange

EVIL = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>'
FIRST = ["fix", "efficiency", "time", "map"]


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts by id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.texts, self._inside = [], {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside = dict(attributes).get("id", "page" if tag == "script" else "style")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if not self._inside:
            self.texts.append(data)
        elif self._inside != "style":
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
    assert all(value.startswith("#") for value in references)
    # AND what the contents name is there
    names = {attributes.get("id") for _, attributes in page.elements}
    assert {value[1:] for value in references} <= names


def test_what_users_typed_is_text(report):
    page = Page(render(report))
    assert sorted(page.scripts) == ["look", "numbers", "page"]
    assert "owned" not in "".join(page.scripts.values())
    assert not any("onerror" in attributes for _, attributes in page.elements)


@pytest.mark.slow
def test_commands_in_sentences_are_code_and_have_no_backticks(report, record):
    # GIVEN pages that say what was not recorded, what is missing, and what a tuner did
    broken = build(Recording.open(record(name="b.rw", broken=True)))
    why = "`numad` moves them, too"
    changed = TunedChange(
        "n0", True, 0.5, None, 1.0, [0], None, "rank 0 to CPU 1", None, None, "refused", why
    )
    tuned = msgspec.structs.replace(report, tuning=[changed], notes=["see `--job 2`"])
    for each in (report, broken, tuned, enlarged(report, 256)):
        page = Page(render(each))
        assert [text for text in page.texts if "`" in text] == []
        assert any(text.startswith("rankwise record") for text in page.texts)


def test_options_of_commands_are_not_broken_behind_their_hyphens(report):
    # GIVEN a command with options, a path with hyphens, and what is no option
    program = msgspec.structs.replace(
        report.program, command=["mpiexec", "-n", "2", "./my-app", "--tiles", "<b>"]
    )
    page = render(msgspec.structs.replace(report, program=program))
    # THEN options are kept whole, and what users typed is text
    options = re.findall(r'<span class="option">([^<]*)</span>', page[page.index('class="command"') :])
    assert options[:2] == ["-n", "--tiles"]
    assert "./my-app" in page and "<b>" not in page and ".option { white-space: nowrap; }" in page


def test_the_page_carries_what_it_draws_with_four_digits(report):
    page = Page(render(report))
    carried = json.loads(zlib.decompress(base64.b64decode(page.scripts["numbers"])))
    whole = to_dict(report)
    for name in ("computation_s", "other_mpi_s"):
        assert carried["time"][name] == pytest.approx(whole["time"][name], rel=1e-3)
    # AND pairs with three, and where they are in one column
    assert carried["matrix"]["bytes"] == pytest.approx(whole["matrix"]["bytes"], rel=5e-3)
    source, destination = divmod(np.cumsum(carried["matrix"]["cells"]), carried["matrix"]["groups"])
    assert source.tolist() == whole["matrix"]["source"]
    assert destination.tolist() == whole["matrix"]["destination"]
    assert carried["map"]["placed"][0]["nodes"] == whole["map"]["placed"][0]["nodes"]


@pytest.mark.one_of(4)
@pytest.mark.parametrize("ranks", [16, 256, 4096, 10_000])
def test_the_page_is_small(report, ranks):
    page = render(enlarged(report, ranks))
    assert len(page.encode()) < 2_000_000 and "Left out, so that" not in page


@pytest.mark.parametrize(
    ("ranks", "by_turns", "mapped", "unit"),
    [
        (256, False, True, "rank"),
        (640, False, True, "node"),
        (640, False, False, "node"),
        (640, True, True, "node"),
        (640, True, False, "rank"),
    ],
)
def test_words_and_picture_say_the_same_of_what_a_row_is(report, tmp_path, ranks, by_turns, mapped, unit):
    # GIVEN few or many ranks, node by node or dealt round the nodes, and where they ran or not
    large = enlarged(report, ranks)
    if by_turns:
        host = [rank % len(large.program.hosts) for rank in range(ranks)]
        large = msgspec.structs.replace(large, ranks=msgspec.structs.replace(large.ranks, host=host))
    if not mapped:
        large = msgspec.structs.replace(large, map=msgspec.structs.replace(large.map, placed=[]))
    with opened(render(large), tmp_path) as shown:
        # WHEN
        drawn(shown)
        # THEN
        for name, words in (("matrix", "From each"), ("waits", "Each")):
            assert f"{words} {unit} (row)" in shown.page.locator("main").inner_text()
            canvas = shown.page.locator(f"#{name}-picture canvas")
            canvas.hover(position={"x": 47, "y": 23})
            tip = shown.page.locator(TIP).inner_text()
            assert tip.startswith("node0" if unit == "node" else "rank ")


def test_the_first_screen_is_the_same_for_all_recordings(report, record):
    # GIVEN runs with and without times, places and a regular end
    broken = build(Recording.open(record(name="b.rw", broken=True)))
    untimed = msgspec.structs.replace(
        report, time=None, efficiency=None, map=msgspec.structs.replace(report.map, placed=[])
    )
    for each in (report, broken, untimed):
        page = Page(render(each))
        headings = [attributes.get("id") for tag, attributes in page.elements if tag == "h2"]
        # THEN it has the same parts in the same order
        assert headings[: len(FIRST)] == FIRST


def test_contents_and_headings_are_the_same_words(report):
    # GIVEN a page with nearly all sections
    page = render(enlarged(report, 16))
    names = dict(re.findall(r'<a href="#([a-z-]+)">([^<]+)</a>', page.partition("</nav>")[0]))
    headings = dict(re.findall(r'<h2 id="([a-z-]+)">([^<]+)</h2>', page))
    # THEN each heading begins with what the contents call it
    assert len(names) > 14 and list(names) == [each for each in headings if each in names]
    assert all(headings[ident].startswith(name) for ident, name in names.items())


def test_a_finding_says_what_it_costs_and_what_shows_it(report):
    # GIVEN more findings than the first screen shows, some with a command
    findings = [
        Finding(
            "late-sender",
            f"rank {at} <waits>",
            ["so"],
            [at],
            0.5,
            "that",
            "this",
            f"do 'it' {at}" if at else None,
            "high",
            "that",
        )  # fmt: skip
        for at in range(6)
    ]
    page = render(msgspec.structs.replace(report, findings=findings))
    text = html.unescape(re.sub("<[^>]*>", "", page))
    # THEN each has its sentence, its cost and a command
    for at in range(6):
        assert (
            f"Rank {at} <waits>: " in text
            and (f"do 'it' {at}" if at else "rankwise explain late-sender") in text
        )
    assert text.count("fixing it saves about 500 ms") == 6
    assert "3 more findings" in text


def test_templates_are_compiled_once_and_again_where_what_was_kept_is_damaged(record, tmp_path, monkeypatch):
    report = build(Recording.open(record()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    page = render(report)
    kept = [each for each in tmp_path.glob("cache/rankwise/templates/*/*") if each.is_file()]
    assert kept
    # WHEN they are compiled already
    with monkeypatch.context() as refusing:
        refusing.setattr(jinja2.Environment, "_generate", lambda *_, **__: pytest.fail("compiled again"))
        assert render(report) == page
    # THEN the page is the same, also from files that are not as they were written
    for at, each in enumerate(kept):
        content = each.read_bytes()
        each.write_bytes((b"", content[:40], content[:-50], b"j2" + bytes(100))[at % 4])
    assert render(report) == page
    # AND without a directory
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert render(report) == page

# SPDX-License-Identifier: BSD-3-Clause
"""The HTML report in a browser: by pointer, by keyboard, on paper, at any number of ranks, wide and narrow."""

import re

import enlarged as made_up
import msgspec
import pytest
from browser import TIP, drawn, opened, pixels, shades
from enlarged import enlarged, halo

from rankwise.findings.data import Efficiency
from rankwise.findings.finding import Finding, NotLookedFor
from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.data import CallSite
from rankwise.report.html import render
from rankwise.report.placements import Asked, asked_placements
from rankwise.report.tuning import TunedChange
from rankwise.report.use_data import Moment, Timeline, Track

EVIL = '<img src=x onerror="document.title=1">'
SLOW = ((16, 1200), (256, 500), (256, 1200))
OF_ALL_SIZES = pytest.mark.parametrize(
    ("ranks", "width"),
    [
        pytest.param(ranks, width, marks=pytest.mark.slow if (ranks, width) in SLOW else ())
        for ranks in (16, 256, 4096)
        for width in (1200, 500)
    ],
)


@OF_ALL_SIZES
def test_it_is_drawn_without_requests_and_complaints(report, tmp_path, ranks, width):
    # WHEN the page of many ranks is opened
    with opened(render(enlarged(report, ranks)), tmp_path, width) as shown:
        page = drawn(shown)
        # THEN all is drawn, and nothing is wider than the window
        assert page.locator("canvas").count() >= 3
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("(nav => nav.scrollWidth <= nav.clientWidth)(document.querySelector('nav'))")
        # AND the pointer shows numbers on each raster
        for name in ("ranks-picture", "matrix-picture"):
            page.locator(f"#{name} canvas").hover()
            assert "rank" in page.locator(TIP).inner_text() or "node" in page.locator(TIP).inner_text()
        # AND the matrix has many colours
        assert shades(page.locator("#matrix-picture canvas")) > 50
        assert (shown.problems, shown.requests) == ([], [])


def test_hovering_says_what_an_efficiency_means(report, tmp_path):
    with opened(render(report), tmp_path) as shown:
        page = drawn(shown)
        page.locator(".factors i").first.hover()
        assert "of all their time" in page.locator(TIP).inner_text()
        page.locator(".stack.mean i").first.hover()
        assert "computation" in page.locator(TIP).inner_text()


def test_everything_is_reached_by_keyboard(report, tmp_path):
    with opened(render(report), tmp_path, color_scheme="light") as shown:
        page = drawn(shown)
        background = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(background)
        # WHEN the first key stops at what leads to the report, the second at the switch, and Enter turns it
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "To the report"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "theme"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        # THEN the page is dark
        assert page.evaluate(background) != light
        # AND Enter opens what is closed
        closed = page.locator("details:not([open]) > summary").first
        closed.focus()
        place = page.evaluate(
            "[...document.querySelectorAll('details')].indexOf(document.activeElement.parentElement)"
        )
        page.keyboard.press("Enter")
        assert page.evaluate(f"document.querySelectorAll('details')[{place}].open")
        # AND arrows go through tabs and over rasters
        page.locator("#ranks-picture [role=tab]").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#ranks-picture [role=tab]").nth(1).get_attribute("aria-selected") == "true"
        page.locator("#matrix-picture canvas").focus()
        page.keyboard.press("ArrowRight")
        assert "rank" in page.locator(TIP).inner_text()
        page.keyboard.press("Escape")
        assert page.locator(TIP).count() == 0
        # AND there is no stop in what has no focus of its own
        stops = page.evaluate("document.querySelectorAll('canvas:not([tabindex])').length")
        assert stops == 0 and shown.problems == []


def test_pages_follow_the_systems_colours(report, tmp_path):
    found = []
    for scheme in ("light", "dark"):
        with opened(render(report), tmp_path, color_scheme=scheme) as shown:
            found.append(drawn(shown).evaluate("getComputedStyle(document.body).backgroundColor"))
    assert found == ["rgb(255, 255, 255)", "rgb(20, 24, 28)"]


@pytest.mark.parametrize(("width", "beside"), [(1200, True), (500, False)])
def test_a_placement_is_beside_the_one_of_the_run(report, tmp_path, width, beside):
    with opened(render(report), tmp_path, width) as shown:
        page = drawn(shown)
        # GIVEN the map as it ran, with the rank of each core
        ran, asked = (page.locator("#map-picture section").nth(at) for at in range(2))
        assert ran.locator(".node").count() == asked.locator(".node").count() == 4
        assert ran.locator(".core.used").count() == 16
        ran.locator(".core.used").nth(5).hover()
        assert "rank 5" in page.locator(TIP).inner_text()
        assert "node0" in asked.locator(".node").first.inner_text()
        # THEN the other one is to the right where there is room, and else below
        one, other = ran.bounding_box(), asked.bounding_box()
        assert (other["x"] >= one["x"] + one["width"]) == beside
        assert (other["y"] >= one["y"] + one["height"]) == (not beside)


def test_of_many_placements_tabs_choose_the_second(record, tmp_path):
    recording = Recording.open(record())
    asked = asked_placements(recording, Asked(nodes="4x4", allocations=["blocked", "cyclic"]))
    with opened(render(build(recording, asked)), tmp_path) as shown:
        page = drawn(shown)
        second = page.locator("#map-picture section").nth(1)
        second.locator(".core.used").nth(1).hover()
        assert "rank 1" in page.locator(TIP).inner_text()
        second.locator("[role=tab]").nth(1).click()
        second.locator(".core.used").nth(1).hover()
        assert "rank 4" in page.locator(TIP).inner_text()
        # AND what was drawn before is forgotten, and leaves nothing that listens
        page.evaluate("""() => {
            window.listening = 0
            window.addEventListener = () => { window.listening += 1 }
        }""")
        count = page.evaluate("pictures.size")
        # ALSO where it was replaced before it was ever painted
        second.evaluate("""async section => {
            for (const at of [0, 1, 0, 1]) {
                section.querySelectorAll("[role=tab]")[at].click()
                await Promise.resolve()
            }
        }""")
        assert page.evaluate("[pictures.size, window.listening]") == [count, 0]


@OF_ALL_SIZES
def test_sections_after_the_first_screen(report, tmp_path, ranks, width):
    with opened(render(enlarged(report, ranks)), tmp_path, width) as shown:
        page = drawn(shown)
        # WHEN each switch of the matrix is turned
        matrix = page.locator("#matrix-picture canvas")
        what, which, how = (page.locator("#matrix-picture [role=tablist]").nth(at) for at in range(3))
        seen = {pixels(matrix)}
        for switch, names in (
            (what, ["bytes", "messages", "time"]),
            (which, ["all", "point-to-point", "collective", "MPI_COMM_WORLD"]),
        ):
            assert switch.locator("[role=tab]").all_inner_texts() == names
            for at in range(1, len(names)):
                switch.locator("[role=tab]").nth(at).click()
                seen.add(pixels(matrix))
        # THEN bytes, messages and times are other pictures, and parts without times say so
        assert len(seen) == 4
        assert "is not known" in page.locator("#matrix-picture p").inner_text()
        what.locator("[role=tab]").first.click()
        assert shades(matrix) > 50
        how.locator("[role=tab]").nth(1).click()
        matrix.hover()
        assert "rank" in page.locator(TIP).inner_text()
        # AND each other picture tells of what is under the pointer
        row = "node" if ranks > 512 else "rank"
        for name, words in (("waits", f" for {row}"), ("sizes", "up to"), ("phases", "computation")):
            canvas = page.locator(f"#{name}-picture canvas").first
            canvas.hover()
            assert words in page.locator(TIP).inner_text()
        rows = page.locator("#phases-picture canvas").nth(1)
        rows.hover()
        assert "rank" in page.locator(TIP).inner_text()
        page.locator("#phases-picture canvas").nth(2).hover()
        assert "from" in page.locator(TIP).inner_text()
        page.locator("#sizes-picture canvas").nth(1).hover()
        assert "/s" in page.locator(TIP).inner_text()
        # AND branches of call sites open
        inner = page.locator("#call-tree > details > details").nth(1)
        inner.locator("summary").click()
        assert inner.locator("div.branch").first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert (shown.problems, shown.requests) == ([], [])


def test_bars_of_nodes_open_to_ranks(report, tmp_path):
    with opened(render(enlarged(report, 4096)), tmp_path) as shown:
        page = drawn(shown)
        place = page.locator("#ranks-picture")
        place.locator("canvas").click(position={"x": 66, "y": 200})
        place.locator("canvas").hover(position={"x": 66, "y": 200})
        assert page.locator(TIP).inner_text().startswith("rank 0\n")
        place.get_by_role("button", name="back to all nodes").click()
        place.locator("canvas").hover(position={"x": 66, "y": 200})
        assert page.locator(TIP).inner_text().startswith("node00000\n")


@pytest.mark.parametrize("width", [1200, pytest.param(500, marks=pytest.mark.slow)])
def test_a_bar_of_several_nodes_opens_to_the_ranks_of_all(report, tmp_path, width, monkeypatch):
    # GIVEN more nodes than pixels
    monkeypatch.setattr(made_up, "PER_NODE", 8)
    large = enlarged(report, 10_000)
    assert len(large.program.hosts) == 1250
    with opened(render(large), tmp_path, width) as shown:
        page = drawn(shown)
        place, tip = page.locator("#ranks-picture"), page.locator(TIP)
        canvas = place.locator("canvas")
        canvas.hover(position={"x": 70, "y": 200})
        first, last = re.match(r"node0*(\d+) to node0*(\d+), mean\n", tip.inner_text()).groups()
        nodes = int(last) - int(first) + 1
        assert nodes > 1
        # WHEN a bar is clicked on
        canvas.click(position={"x": 70, "y": 200})
        # THEN each of its nodes is there with all its ranks
        assert f"node{int(first):05} to node{int(last):05}" in place.inner_text()
        place.get_by_text("As text: time by rank of").click()
        place.locator("li").first.wait_for()
        said = [re.match(r"rank \d+, node\d+", each)[0] for each in place.locator("li").all_text_contents()]
        assert said == [
            f"rank {rank}, node{rank // 8:05}" for rank in range(8 * int(first), 8 * (int(last) + 1))
        ]
        assert (shown.problems, shown.requests) == ([], [])


def with_findings(report, count):
    """A report with so many findings, whose sentences are as long as those of real ones."""
    sentence = (
        "ranks 4, 7 wait 1.25 s in MPI_Recv for rank 11, which sends late, {} times of 4000, in solve.f90"
    )
    findings = [
        Finding("late-sender", sentence.format(at), ["so"], [4, 7], 0.75, "why", "do", None, "high", "that")
        for at in range(count)
    ]
    return msgspec.structs.replace(report, findings=findings)


@pytest.mark.parametrize("width", [1200, 500])
def test_four_blocks_begin_on_the_first_window(report, tmp_path, width):
    # GIVEN a page with three findings and all that a trace says of efficiency
    efficiency = Efficiency(16, 4.0, 2.0, 2.5, 0.5, 0.8, 0.9, 0.9, 0.6, 0.7, 0.85, 3.5, None, 0.1)
    full = msgspec.structs.replace(with_findings(report, 3), efficiency=efficiency)
    with opened(render(full), tmp_path, width) as shown:
        page = drawn(shown)
        # THEN all four begin on a window that is 900 pixels high, in their order
        tops = [page.locator(f"#{name}").bounding_box() for name in ("fix", "efficiency", "time", "map")]
        ends = [box["y"] + box["height"] for box in tops]
        assert ends == sorted(ends) and ends[-1] <= 900
        # AND each finding's sentence begins there, and what fixing it saves
        for at in range(3):
            item = page.locator(".findings > li").nth(at)
            saves = item.locator(".saves")
            assert saves.is_visible() and "750 ms" in saves.inner_text()
            assert saves.bounding_box()["x"] + saves.bounding_box()["width"] <= width
        assert (shown.problems, shown.requests) == ([], [])


def test_what_is_folded_in_a_narrow_window_opens_by_keys_and_is_printed(report, tmp_path):
    full = with_findings(report, 3)
    hidden = """[...document.querySelectorAll(".folds *:not(.unfold, details *)")].filter(each =>
        each.textContent.trim() && !each.getClientRects().length).length"""
    with opened(render(full), tmp_path, 500) as shown:
        page = drawn(shown)
        third = page.locator(".findings > li").nth(2)
        command = third.locator(".do code")
        assert not command.is_visible() and page.evaluate(hidden) > 0
        # WHEN its button is pressed THEN all of it is there, and once more: folded again
        button = third.get_by_role("button", name="more of finding 3")
        button.press("Enter")
        assert command.is_visible() and button.get_attribute("aria-expanded") == "true"
        assert third.evaluate("each => each.scrollWidth <= each.clientWidth")
        button.press("Space")
        assert not command.is_visible() and button.get_attribute("aria-expanded") == "false"
        # AND the contents open, too, and lead to a section
        page.get_by_role("button", name="Contents").press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.url.endswith("#fix")
        # WHEN all buttons are pressed THEN nothing is hidden
        closed = page.locator(".unfold[aria-expanded=false]:visible")
        while closed.count():
            closed.first.press("Enter")
        assert page.evaluate(hidden) == 0
    # AND nothing on paper, in wide windows, and where scripts are off
    for width, media, scripts in ((500, "print", True), (1200, "screen", True), (500, "screen", False)):
        with opened(render(full), tmp_path, width, java_script_enabled=scripts) as shown:
            shown.page.emulate_media(media=media)
            assert shown.page.locator(".findings .do code").nth(2).is_visible()
            assert not shown.page.locator(".unfold").first.is_visible()


def test_any_ranks_node_of_many_is_found(report, tmp_path):
    with opened(render(enlarged(report, 4096)), tmp_path) as shown:
        page = drawn(shown)
        page.locator("#map-picture input").fill("4000")
        page.keyboard.press("Enter")
        first = page.locator("#map-picture .node").first
        first.locator(".core").first.wait_for()  # a node is drawn when the browser says that it was opened
        assert "node00062" in first.inner_text() and first.locator(".core.used").count() == 64
        assert first.locator(".core.interrupts").count() == 1


def test_paper_is_light_and_shows_what_is_closed(report, tmp_path):
    # GIVEN a dark page, and what it looks like when it is printed
    with opened(render(report), tmp_path, color_scheme="dark") as shown:
        page = drawn(shown)
        page.evaluate("""addEventListener("beforeprint", () => {
            window.closed_then = document.querySelectorAll("details:not([open], .as-text)").length
            window.colour_then = getComputedStyle(document.querySelector("canvas")).color
        })""")
        closed = page.locator("details:not([open], .as-text)").count()
        # WHEN
        assert len(page.pdf()) > 20_000
        # THEN all but the pictures' texts was open, and rasters wrote in dark colours
        assert page.evaluate("[window.closed_then, window.colour_then]") == [0, "rgb(29, 36, 43)"]
        # AND it is as it was afterwards
        assert page.locator("details:not([open], .as-text)").count() == closed > 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()


@pytest.mark.parametrize("ranks", [256, 4096])
def test_what_is_printed_fits_on_a4(report, tmp_path, ranks):
    # GIVEN a page as wide as A4 without its margins
    with opened(render(enlarged(report, ranks)), tmp_path, 718) as shown:
        page = drawn(shown)
        # WHEN it is printed
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        # THEN no table and no picture is cut
        assert page.locator("table:visible").count() > 5
        assert page.evaluate("document.documentElement.scrollWidth") <= 718


@pytest.mark.parametrize("ranks", [16, pytest.param(256, marks=pytest.mark.slow), 4096])
def test_a_narrow_page_is_printed_whole(report, tmp_path, ranks):
    # GIVEN a narrow window, and what it looks like when it is printed
    large = with_findings(halo(report, ranks, 26) if ranks > 256 else enlarged(report, ranks), 3)
    with opened(render(large), tmp_path, 500) as shown:
        page = drawn(shown)
        page.evaluate("""addEventListener("beforeprint", () => {
            const hidden = each => !each.getClientRects().length
            window.then = [document.querySelectorAll("details:not([open], .as-text)").length,
                [...document.querySelectorAll("main canvas")].filter(each => hidden(each) || !each.width).length]
        })""")
        # WHEN
        printed = page.pdf(format="A4")
        # THEN all was open and drawn, on as many pages as somebody would print
        assert page.evaluate("window.then") == [0, 0]
        pages = len(re.findall(rb"/Type\s*/Page\b", printed))
        assert 3 <= pages <= 60
        # AND afterwards the window is as it was: each finding but the first is short
        assert page.locator(".findings .unfold:visible").count() == 2
        assert not page.locator(".findings .do").nth(2).is_visible()
        assert (shown.problems, shown.requests) == ([], [])


def test_names_of_the_recording_stay_text(report, tmp_path):
    large = enlarged(report, 16)
    hosts = [EVIL] * len(report.program.hosts)
    nodes = [msgspec.structs.replace(node, name=EVIL) for node in report.map.placed[0].nodes]
    placed = [msgspec.structs.replace(report.map.placed[0], name=EVIL, nodes=nodes), *report.map.placed[1:]]
    evil = msgspec.structs.replace(
        report,
        program=msgspec.structs.replace(report.program, name=EVIL, hosts=hosts),
        map=msgspec.structs.replace(report.map, placed=placed),
        call_sites=[CallSite(EVIL, EVIL, 64, EVIL, EVIL, EVIL, 1, 1, 1.0, 8, 0.5)],
        notes=[EVIL],
        matrix_parts=msgspec.structs.replace(
            large.matrix_parts,
            parts=[msgspec.structs.replace(part, name=EVIL) for part in large.matrix_parts.parts],
            not_known=[EVIL],
        ),
        findings=[Finding(EVIL, EVIL, [EVIL], [0], 1.0, EVIL, EVIL, EVIL, "high", EVIL)],
        not_looked_for=[NotLookedFor(EVIL, EVIL)],
        use=msgspec.structs.replace(
            report.use, timeline=Timeline([0.0, 1.0], [Track(EVIL, 0, EVIL, [0.5], [2], [])])
        ),
    )
    with opened(render(evil), tmp_path) as shown:
        page = drawn(shown)
        # AND everything is open
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        page.wait_for_timeout(300)
        assert EVIL in page.locator("#call-tree").inner_text()
        assert page.title() != "1" and page.locator("img").count() == 0
        assert (shown.problems, shown.requests) == ([], [])


def test_what_happened_over_time_is_told_by_piece(report, tmp_path):
    # GIVEN a rank that waited for a core for half of the first of two pieces, and moved
    track = Track("waiting for a core", 0, "rank 3", [0.5, None], [2, 2], [0.4])
    moments = [Moment(0.0, 1.0, 0.25, None, 4.0, None), Moment(1.0, 2.0, None, None, 8.0, None)]
    use = msgspec.structs.replace(
        report.use, timeline=Timeline([0.0, 1.0, 2.0], [track]), over_time=moments, nodes_over_time=[]
    )
    with opened(render(msgspec.structs.replace(report, use=use)), tmp_path) as shown:
        page = drawn(shown)
        tracks = page.locator("#tracks-picture canvas")
        tracks.hover(position={"x": 400, "y": 10})
        assert page.locator(TIP).inner_text() == "rank 3, waiting for a core: 50.0 %, on PU 2"
        tracks.hover(position={"x": tracks.bounding_box()["width"] - 50, "y": 10})
        assert "nothing known" in page.locator(TIP).inner_text()
        page.locator("#over-time-picture canvas").hover(position={"x": 400, "y": 10})
        assert page.locator(TIP).inner_text() == "page faults: 4 a second"
        assert shown.problems == []


def test_each_change_of_the_tuner_is_there_as_text(report, tmp_path):
    # GIVEN a rank that waited for a core, and changes of the tuners of two nodes
    track = Track("waiting for a core", 0, "rank 3", [0.5, 0.2], [2, 2], [0.4])
    tuned = [
        TunedChange(
            "n0", True, 0.1, 0.2, 0.5, [0], "seen", "rank 0 from PU 0 to 1", 0.2, None, "undone", "no"
        ),
        TunedChange("n0", True, 0.8, 0.9, 1.5, [1], "seen", "rank 1 from PU 0 to 2", 0.2, None, "kept", None),
        TunedChange("n1", False, 0.5, None, 0.6, [2], None, "rank 2 to PU 1", None, None, "refused", None),
    ]
    use = msgspec.structs.replace(report.use, timeline=Timeline([0.0, 1.0, 2.0], [track]))
    with opened(render(msgspec.structs.replace(report, use=use, tuning=tuned)), tmp_path) as shown:
        # WHEN the picture is read as text
        picture = drawn(shown).locator("#tracks-picture")
        picture.locator("summary").click()
        lines = picture.get_by_role("listitem")
        lines.first.wait_for()
        # THEN of the rank there is the most, and of the tuner each change
        told = [line.splitlines()[0] for line in lines.all_inner_texts()]
        most = "rank 3, waiting for a core: 50.0 %, on PU 2, the most, at 0 s to 1 s"
        assert told == [
            most,
            "tuning n0, 100 ms to 500 ms: undone: rank 0 from PU 0 to 1",
            "tuning n0, 800 ms to 1.5 s: kept: rank 1 from PU 0 to 2",
            "tuning n1, 500 ms to 600 ms: refused: rank 2 to PU 1",
        ]
        assert shown.problems == []


def test_pictures_have_names_keys_and_their_numbers_as_text(report, tmp_path):
    with opened(render(enlarged(report, 16)), tmp_path) as shown:
        page = drawn(shown)
        # GIVEN what is drawn by its roles and names
        names = [
            "time by rank",
            "messages between ranks",
            "who waits for whom",
            "what each rank did over time",
        ]
        for name in names:
            picture = page.get_by_role("application", name=f"{name}; arrow keys say what is where")
            # WHEN keys move over it THEN what is there is said
            picture.focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowDown")
            assert "rank" in page.get_by_role("status").inner_text()
            # AND all of it is there as text
            page.get_by_text(f"As text: {name}", exact=True).click()
            lines = page.locator("details", has_text=f"As text: {name}").get_by_role("listitem")
            lines.first.wait_for()
            assert lines.count() >= 16
            assert "rank 0" in " ".join(lines.all_inner_texts())
        assert page.get_by_role("main").count() == 1
        # AND each switch has a panel, which says what is chosen
        tabs = page.get_by_role("tab")
        assert tabs.count() > 6
        for tab in tabs.all():
            assert page.locator(f"#{tab.get_attribute('aria-controls')}[role=tabpanel]").count() == 1
        page.get_by_role("tab", name="least computation first").click()
        assert page.get_by_role("tabpanel", name="order: least computation first").count() == 1
        # AND headings of tables are of their columns
        assert page.locator("th").count() == page.get_by_role("columnheader", include_hidden=True).count() > 0
        assert page.locator("th:not([scope=col])").count() == 0
        # AND bars say what they are made of
        bar = page.locator(".stack:not(.mean)").first
        assert bar.get_attribute("role") == "img" and "computation" in bar.get_attribute("aria-label")
        assert shown.problems == []


def test_a_table_that_is_too_wide_is_reached_by_keys(report, tmp_path):
    with opened(render(report), tmp_path, 500) as shown:
        page = drawn(shown)
        page.wait_for_function("document.querySelectorAll('.scroll[tabindex]').length")
        for each in page.locator(".scroll:visible").all():
            wider = each.evaluate("each => each.scrollWidth > each.clientWidth")
            assert (each.get_attribute("tabindex") == "0") == wider


@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_that_cannot_draw_says_so(report, tmp_path, scripts):
    # GIVEN a browser without what unpacks the numbers, or without scripts
    text = render(report).replace("<script>", "<script>delete window.DecompressionStream;", 1)
    with opened(text, tmp_path, java_script_enabled=scripts) as shown:
        if scripts:
            said = shown.page.get_by_role("alert").inner_text()
            assert "Firefox 120" in said and "Safari 17.5" in said
        else:
            said = shown.page.locator("main").inner_text()
            assert "JavaScript, which is off" in said
        assert "rankwise report --json" in said

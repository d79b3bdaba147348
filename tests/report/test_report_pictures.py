# SPDX-License-Identifier: BSD-3-Clause
"""What all pictures of the HTML report do: their keys and their text."""

import enlarged as made_up
import msgspec
from browser import drawn, opened, pixels
from enlarged import enlarged

from rankwise.report.html import render, rounded


def test_keys_of_the_browser_stay_its_own(report, tmp_path):
    with opened(render(enlarged(report, 16)), tmp_path) as shown:
        page = drawn(shown)
        canvas = page.locator("#matrix-picture canvas")
        press = """(canvas, [key, more]) => canvas.dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }))"""
        canvas.focus()
        whole = pixels(canvas)
        for name in ("ctrlKey", "altKey", "metaKey"):
            # WHEN a key is pressed together with one of these
            left = [canvas.evaluate(press, [key, {name: True}]) for key in ("+", "ArrowLeft")]
            # THEN the browser does with it what it does, and the picture nothing
            assert left == [True, True] and pixels(canvas) == whole
        # AND alone they are the picture's
        assert not canvas.evaluate(press, ["ArrowLeft", {}])
        canvas.evaluate(press, ["+", {}])
        assert pixels(canvas) != whole
        # AND tabs stay as they are, too
        first = page.locator("#matrix-picture [role=tab]").first
        first.focus()
        first.evaluate(press, ["ArrowRight", {"altKey": True}])
        assert first.get_attribute("aria-selected") == "true"


def test_text_has_the_most_of_many_pairs_and_makes_no_more(report, tmp_path):
    # GIVEN a matrix of 65 536 pairs
    large = enlarged(report, 256)
    with opened(render(large), tmp_path) as shown:
        page = drawn(shown)
        page.evaluate("""() => {
            const own = Number.prototype.toFixed
            window.numbers = 0
            Number.prototype.toFixed = function (...given) { window.numbers += 1; return own.apply(this, given) }
        }""")
        # WHEN
        page.get_by_text("As text: messages between ranks", exact=True).click()
        lines = page.locator("#matrix-picture li")
        lines.first.wait_for()
        # THEN it begins with the largest, and says where those are that it has not
        drawn_bytes = rounded(large.matrix.bytes)
        most = max(range(256**2), key=lambda at: drawn_bytes[at])
        pair = large.matrix.source[most], large.matrix.destination[most]
        assert lines.first.inner_text().startswith("rank {} to rank {}: ".format(*pair))
        assert lines.last.inner_text() == f"{256**2 - 200} more are in rankwise report --json"
        # AND words were made of these only
        assert page.evaluate("window.numbers") < 2000
        assert (shown.problems, shown.requests) == ([], [])


def test_a_picture_that_fails_says_so_in_its_place_and_leaves_the_others(report, tmp_path):
    # GIVEN a page of which one picture cannot be drawn
    text = render(enlarged(report, 16))
    begin = "function drawWaits(holder, report) {"
    assert begin in text
    with opened(text.replace(begin, f"{begin} null.x"), tmp_path) as shown:
        page = drawn(shown)
        # THEN it says so, and all others are there
        said = page.get_by_role("alert")
        assert said.count() == page.locator("#waits-picture [role=alert]").count() == 1
        assert "TypeError" in said.inner_text() and "rankwise report --json" in said.inner_text()
        for name in ("ranks", "matrix", "sizes", "phases"):
            assert page.locator(f"#{name}-picture canvas").count() > 0
        assert page.locator("#map-picture .node").count() > 0
        assert len(shown.problems) == 1


def test_a_rank_without_time_is_in_the_order_of_computation(report, tmp_path):
    # GIVEN ranks of which one has no time at all
    large = enlarged(report, 16)
    time_s, computed = list(large.ranks.time_s), list(large.time.computation_s)
    time_s[5] = computed[5] = 0.0
    order = sorted(range(16), key=lambda rank: computed[rank] / (time_s[rank] or 1))
    large = msgspec.structs.replace(
        large,
        ranks=msgspec.structs.replace(large.ranks, time_s=time_s),
        time=msgspec.structs.replace(large.time, computation_s=computed),
    )
    with opened(render(large), tmp_path) as shown:
        page = drawn(shown)
        # WHEN
        page.get_by_role("tab", name="least computation first").click()
        page.get_by_text("As text: time by rank", exact=True).click()
        page.locator("#ranks-picture li").first.wait_for()
        # THEN it is the first one, and the others are in their order
        told = page.locator("#ranks-picture li").all_inner_texts()
        assert [each.split()[1] for each in told] == [str(rank) for rank in order]
        assert order[0] == 5


def test_back_to_nodes_shows_all_also_where_these_are_as_many_as_ranks(report, tmp_path, monkeypatch):
    # GIVEN a rank a node
    monkeypatch.setattr(made_up, "PER_NODE", 1)
    with opened(render(enlarged(report, 600)), tmp_path) as shown:
        page = drawn(shown)
        canvas = page.locator("#matrix-picture canvas")
        whole = pixels(canvas)
        # WHEN a pair is opened, and left again
        canvas.click(position={"x": 60, "y": 40})
        assert pixels(canvas) != whole
        page.locator("#matrix-picture").get_by_role("button", name="back to nodes").click()
        # THEN all is there
        page.evaluate("document.activeElement.blur()")
        assert pixels(canvas) == whole
        assert (shown.problems, shown.requests) == ([], [])


def test_a_picture_that_fails_when_it_is_drawn_anew_says_so_and_leaves_the_others(report, tmp_path):
    with opened(render(enlarged(report, 16)), tmp_path) as shown:
        page = drawn(shown)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        canvases = page.locator("canvas")
        labels = canvases.evaluate_all(
            "all => all.map(each => each.getAttribute('aria-label').split(';')[0])"
        )
        rasters = [
            "bytes between nodes",
            "messages between ranks",
            "who waits for whom",
            "what each rank did over time",
        ]
        others = sorted(set(labels) - set(rasters))
        assert len(others) == len(labels) - len(rasters) > 0
        # GIVEN that no raster can be drawn any more, and which pictures are written on
        page.evaluate("""() => {
            const own = CanvasRenderingContext2D.prototype, { createImageData, fillText } = own
            window.written = new Set()
            window.mend = () => { own.createImageData = createImageData }
            own.createImageData = () => { throw new Error("broken") }
            own.fillText = function (...given) {
                window.written.add(this.canvas.getAttribute("aria-label").split(";")[0])
                return fillText.apply(this, given)
            }
        }""")
        # WHEN the colours change THEN all others are drawn, and each raster says in its place that it is missing
        page.locator("#theme").click()
        assert page.evaluate("[...window.written].sort()") == others
        alerts = page.get_by_role("alert")
        assert alerts.count() == len(rasters) == len(shown.problems)
        for said, label in zip(alerts.all_inner_texts(), rasters, strict=True):
            assert said.startswith(f'The picture "{label}" is not drawn or not whole') and "broken" in said
        # AND so it is when the window gets narrower, where it is said no second time
        page.evaluate("window.written.clear()")
        page.set_viewport_size({"width": 700, "height": 900})
        page.wait_for_function(f"window.written.size == {len(others)}")
        assert alerts.count() == len(rasters) == len(shown.problems)
        # WHEN they can be drawn again THEN nothing is missing
        page.evaluate("window.mend()")
        page.locator("#theme").click()
        assert alerts.count() == 0 and page.evaluate("window.written.size") == len(labels)

# SPDX-License-Identifier: BSD-3-Clause
"""The matrix of messages in a browser: by rank or by node, opened to ranks, enlarged and moved."""

import re

import msgspec
import pytest
from browser import TIP, drawn, opened, pixels
from enlarged import enlarged, halo

from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.html import render
from rankwise.report.matrix import by_node, members_by_node
from rankwise.report.placements import Asked, asked_placements


def test_the_matrix_is_ordered_by_node_with_lines_where_nodes_end(record, tmp_path):
    # GIVEN ranks dealt to two nodes in turn: 0, 2, 4, 6 and 1, 3, 5, 7
    path = record(ranks=8)
    recording = Recording.open(path)
    asked = asked_placements(recording, Asked(nodes="2x4", allocations=["cyclic"]))
    with opened(render(build(recording, asked)), tmp_path) as shown:
        page = drawn(shown)
        order = page.locator("#matrix-picture [role=tablist]").last
        assert order.locator("[role=tab]").all_inner_texts()[0] == "by rank"
        order.locator("[role=tab]").last.click()
        canvas = page.locator("#matrix-picture canvas")
        box = canvas.bounding_box()
        side = min(box["width"] - 50, 480) / 8  # of few ranks no larger than needed
        # THEN the second row is that of rank 2, and the last column that of rank 7
        canvas.hover(position={"x": 46 + 7.5 * side, "y": 22 + 1.5 * side})
        assert page.locator(TIP).inner_text().startswith("rank 2 to rank 7: ")


def middle_of(canvas, row, column, rows):
    """Where in the picture of a matrix that has so many rows this cell is."""
    side = min(canvas.bounding_box()["width"] - 50, 660) / rows
    return {"x": 46 + (column + 0.5) * side, "y": 22 + (row + 0.5) * side}


@pytest.mark.parametrize("ranks", [4096, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_matrix_of_many_pairs_is_by_node_and_opens_to_ranks(report, tmp_path, ranks):
    # GIVEN a halo of 26 points
    page_text = render(halo(report, ranks, 26))
    assert len(page_text.encode()) < 2_000_000 and "Left out, so that" not in page_text
    assert "Lines are where a node ends" in page_text
    with opened(page_text, tmp_path) as shown:
        page = drawn(shown)
        canvas, tip = page.locator("#matrix-picture canvas"), page.locator(TIP)
        level = page.locator("#matrix-picture [role=tablist]").last
        back = page.get_by_role("button", name="back to nodes").first
        nodes = -(-ranks // 64)
        # WHEN the pointer is on a pair of nodes
        place = middle_of(canvas, 2, 3, nodes)
        canvas.hover(position=place)
        # THEN it says which, and their bytes together
        assert tip.inner_text().startswith(
            "node00002 (64 ranks, 128 to 191) to node00003 (64 ranks, 192 to 255): "
        )
        assert "kB" in tip.inner_text() and not back.is_visible()
        # WHEN it is clicked on THEN its ranks are there, and one more click leads back
        whole = pixels(canvas)
        canvas.click(position=place)
        assert level.locator("[aria-selected=true]").inner_text() == "ranks" and pixels(canvas) != whole
        canvas.hover(position=middle_of(canvas, 63, 0, 64))
        assert tip.inner_text() == "rank 191 to rank 192: 1 kB, 1 message"
        # AND a finger moves these, and the page where all is seen
        assert canvas.evaluate("c => c.style.touchAction") == "none"
        back.click()
        assert pixels(canvas) == whole and canvas.evaluate("c => c.style.touchAction") == ""
        # AND keys do the same
        canvas.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        assert level.locator("[aria-selected=true]").inner_text() == "ranks"
        page.keyboard.press("Backspace")
        assert level.locator("[aria-selected=true]").inner_text() == "nodes"
        # AND each of these turns draws the picture once
        times = canvas.evaluate("""c => {
            const tabs = document.querySelectorAll("#matrix-picture [role=tablist]"), last = tabs[tabs.length - 1]
            const context = c.getContext("2d"), put = context.putImageData
            let times = 0
            context.putImageData = (...given) => { times += 1; put.apply(context, given) }
            for (const at of [1, 0]) last.children[at].click()
            delete context.putImageData
            return times
        }""")
        assert times == 2
        # AND the text is of what is drawn
        lines = page.locator("#matrix-picture li")
        page.get_by_text("As text: messages between ranks").click()
        assert lines.first.text_content().startswith("node0")
        # AND a double click opens, and does not zoom into what it opened
        canvas.dblclick(position=place)
        assert lines.first.text_content().startswith("rank ")
        # AND the text is of the ranks of these two nodes only, until all of them are shown
        pairs = [tuple(map(int, re.findall(r"rank (\d+)", each))) for each in lines.all_text_contents()]
        assert pairs and all(128 <= one < 192 <= other < 256 for one, other in pairs)
        page.locator("#matrix-picture").get_by_role("button", name="whole").click()
        assert lines.last.text_content().endswith("more are in rankwise report --json")
        back.click()
        canvas.dblclick(position=place)
        canvas.hover(position=middle_of(canvas, 63, 0, 64))
        assert tip.inner_text() == "rank 191 to rank 192: 1 kB, 1 message"
        assert (shown.problems, shown.requests) == ([], [])


def test_more_pairs_than_a_page_has_are_by_node_only_and_that_is_said(report, tmp_path):
    with opened(render(halo(report, 4096, 100)), tmp_path) as shown:
        page = drawn(shown)
        assert "too many pairs of ranks for this page" in page.locator("main").inner_text()
        canvas = page.locator("#matrix-picture canvas")
        canvas.hover(position=middle_of(canvas, 4, 5, 256))
        assert page.locator(TIP).inner_text().startswith("node00001, ranks 64-79 to node00001, ranks 80-95: ")


def test_groups_of_several_nodes_say_so(report, tmp_path):
    # GIVEN 1 024 ranks on 512 nodes, and rows of two nodes
    large = halo(report, 1024, 26)
    hosts = [rank // 2 for rank in range(1024)]
    matrix = by_node(large.matrix, members_by_node(hosts), 1024)
    program = msgspec.structs.replace(large.program, hosts=[f"n{at}" for at in range(512)])
    ranks = msgspec.structs.replace(large.ranks, host=hosts)
    few = msgspec.structs.replace(large, matrix=matrix, program=program, ranks=ranks, time=None)
    with opened(render(few), tmp_path) as shown:
        page = drawn(shown)
        assert "From each group of 2 nodes" in page.locator("main").inner_text()
        canvas = page.locator("#matrix-picture canvas")
        canvas.hover(position=middle_of(canvas, 1, 1, 256))
        tip = page.locator(TIP).inner_text()
        assert tip.startswith("n2 and 1 more, ranks 4-7 to n2 and 1 more, ranks 4-7: ")


def test_a_zoomed_matrix_is_moved_by_drag_and_keys(report, tmp_path):
    with opened(render(enlarged(report, 256)), tmp_path) as shown:
        page = drawn(shown)
        canvas, tip = page.locator("#matrix-picture canvas"), page.locator(TIP)
        canvas.scroll_into_view_if_needed()
        # GIVEN a quarter of each side, around what is under the pointer
        for _ in range(2):
            canvas.dblclick(position=middle_of(canvas, 0, 0, 256))
        canvas.hover(position=middle_of(canvas, 0, 0, 64))
        assert tip.inner_text().startswith("rank 0 to rank 0")
        # WHEN it is dragged by ten cells THEN what was there is ten cells on
        box, at, to = canvas.bounding_box(), middle_of(canvas, 30, 30, 64), middle_of(canvas, 20, 20, 64)
        page.mouse.move(box["x"] + at["x"], box["y"] + at["y"])
        page.mouse.down()
        page.mouse.move(box["x"] + to["x"], box["y"] + to["y"], steps=4)
        page.mouse.up()
        canvas.hover(position=middle_of(canvas, 5, 6, 64))
        assert tip.inner_text().startswith("rank 15 to rank 16")
        # AND keys go on at the edge
        canvas.focus()
        for _ in range(40):
            page.keyboard.press("ArrowRight")
        canvas.hover(position=middle_of(canvas, 5, 6, 64))
        row, column = (int(number) for number in re.findall(r"rank (\d+)", tip.inner_text()))
        assert row == 15 and column > 20

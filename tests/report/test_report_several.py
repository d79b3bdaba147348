# SPDX-License-Identifier: BSD-3-Clause
"""The HTML reports of several recordings: curves of a scaling series, runs before and after."""

import re

import msgspec
import numpy as np
import pytest
from browser import TIP, drawn, opened
from enlarged import enlarged, halo
from raw_writer import Rank, write_recording

from rankwise.cli import main
from rankwise.compare.comparison import Circumstance, compare
from rankwise.compare.scaling import Scaling, ScalingRow
from rankwise.compare.words import without_cores
from rankwise.findings.data import Efficiency
from rankwise.recording import Recording
from rankwise.report import efficiency_words
from rankwise.report.build import build
from rankwise.report.html.several import curves, render_comparison, render_scaling
from rankwise.report.html.several.matrices import in_same_groups, matrices

EVIL = '<img src=x onerror="document.title=1">'


def row(ranks, time_s, speed_up, balance, serialisation, transfer, computation=1.0):
    communication = serialisation * transfer
    parallel = balance * communication
    return ScalingRow(
        recording=f"app.{ranks}.rw",
        ranks=ranks,
        time_s=time_s,
        speed_up=speed_up,
        global_efficiency=parallel * computation,
        parallel=parallel,
        load_balance=balance,
        communication=communication,
        computation_scaling=computation,
        instruction_scaling=None,
        ipc_scaling=None,
        frequency_scaling=None,
        serialisation=serialisation,
        transfer=transfer,
    )


SERIES = Scaling(
    "rankwise.scaling/1",
    "0.1.0",
    "strong",
    True,
    "not all runs have counted instructions and cycles",
    [row(8, 8.0, 1, 1, 1, 1), row(16, 5.0, 1.6, 0.9, 0.8, 1), row(32, 4.0, 2, 0.9, 0.5, 0.9)],
)


@pytest.fixture
def report(record):
    return build(Recording.open(record()))


@pytest.fixture
def runs(report):
    return [enlarged(report, each.ranks) for each in SERIES.rows]


def test_speed_up_is_drawn_in_powers_of_two_beside_the_ideal_line():
    chart = curves.speed_up([8, 16, 32], [1, 2, 2], "#000000")
    (first, second, third), (x, y, last_x, last_y) = chart.curves[0].points, chart.ideal
    # THEN all is on the ideal line until it is half as fast, which is one of two doublings lower
    assert (first.x, first.y) == (x, y) and third.x == last_x
    assert second.x == pytest.approx((x + last_x) / 2, abs=0.1)
    assert second.y == third.y == pytest.approx((y + last_y) / 2, abs=0.1)
    assert third.tip == "32 ranks: 2.00, ideal 4.00"
    assert [text for _, text in chart.x_ticks] == ["8", "16", "32"]
    assert [text for _, text in chart.y_ticks] == ["1", "2", "4"]


def test_what_gets_slower_with_more_ranks_is_drawn_below_one():
    chart = curves.speed_up([2, 4], [1, 0.5], "#000000")
    assert [text for _, text in chart.y_ticks] == ["0.5", "1", "2"]
    assert chart.curves[0].points[1].y == chart.y_ticks[0][0]


def test_efficiencies_are_drawn_from_0_to_1_and_what_is_not_known_is_not():
    chart = curves.efficiencies(
        [8, 32], [("parallel", "#000000", [1, 0.5]), ("transfer", "#111111", [None, 1])]
    )
    at = {text: y for y, text in chart.y_ticks}
    assert list(at) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    parallel, transfer = chart.curves
    assert [point.y for point in parallel.points] == [at["1.0"], pytest.approx((at["0.0"] + at["1.0"]) / 2)]
    assert [point.tip for point in transfer.points] == ["32 ranks: transfer 1.00"]
    # AND curves are told apart without colours, too
    assert parallel.mark != transfer.mark


def test_curves_with_equal_values_are_all_seen(runs):
    # GIVEN three curves of which the first and the last are equal; what is drawn later lies above
    equal = [1.0, 0.9, 0.5]
    found = curves.efficiencies(
        [8, 16, 32], [("a", "red", equal), ("b", "blue", [1, 0.5, 0.2]), ("c", "red", equal)]
    )
    # THEN the first one is larger, and only that
    assert [each.above for each in found.curves] == [1, 0, 0]
    # AND it is drawn so
    text = render_scaling(SERIES, runs)
    chart = text[text.index('id="efficiency"') : text.index('id="time"')]
    widths = [int(each) for each in re.findall(r'class="line" style="stroke-width:(\d+)px"', chart)]
    sizes = {float(each) for each in re.findall(r"scale\(([\d.]+)\)", chart)}
    assert widths[1:3] == [4, 2] and sizes >= {1.0, 1.3}


def test_the_scaling_page_says_what_falls(runs):
    text = " ".join(render_scaling(SERIES, runs).split())
    assert "2.00 times as fast with 4 times the ranks" in text
    assert (
        "serialisation from 1.00 to 0.50, load balance from 1.00 to 0.90, transfer from 1.00 to 0.90" in text
    )
    # AND the same blocks come first as in the report of one recording, with the table of the same numbers
    assert re.findall(r'<h2 id="(\w+)"', text) == ["fix", "efficiency", "time", "map"]
    assert "<td>32</td><td>0.41</td><td>0.90</td><td>0.50</td><td>0.90</td><td>1.00</td>" in text


def test_a_series_of_weak_scaling_is_not_said_to_be_faster(runs):
    weak = msgspec.structs.replace(SERIES, kind="weak")
    assert "weak scaling, 2.00 times the work in the same time, ideal 4</h1>" in render_scaling(weak, runs)


def test_small_efficiencies_are_not_shown_as_none(runs):
    rows = [msgspec.structs.replace(each, parallel=0.0043, transfer=0.0) for each in SERIES.rows]
    page = render_scaling(msgspec.structs.replace(SERIES, rows=rows), runs)
    assert "32 ranks: parallel 0.004" in page and "32 ranks: transfer 0.00" in page
    assert efficiency_words.text(0.0951) == "0.10" and efficiency_words.text(None) == "-"


def test_where_ranks_waited_for_a_core_a_series_says_that_it_is_not_the_programs(runs):
    assert without_cores(SERIES) is None
    rows = [
        msgspec.structs.replace(each, core_wait_share=share)
        for each, share in zip(SERIES.rows, (0.0, 0.2, 0.6), strict=True)
    ]
    crowded = msgspec.structs.replace(SERIES, rows=rows)
    page = " ".join(render_scaling(crowded, runs).split())
    assert "Ranks waited for a core for 20 % of their time with 16 ranks, 60 % with 32 ranks: there" in page
    assert "<td>60.0 %</td>" in page and "<td>0.0 %</td>" in page


def test_without_an_ideal_time_communication_is_drawn(runs):
    rows = [msgspec.structs.replace(each, serialisation=None, transfer=None) for each in SERIES.rows]
    text = render_scaling(msgspec.structs.replace(SERIES, rows=rows), runs)
    assert "32 ranks: communication 0.45" in text and "serialisation" not in text


@pytest.mark.parametrize("width", [1200, 500])
def test_the_scaling_page_in_a_browser(runs, tmp_path, width):
    with opened(render_scaling(SERIES, runs), tmp_path, width, color_scheme="light") as shown:
        page = drawn(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        tables = page.locator(".curves + .scroll")
        assert tables.evaluate_all("all => all.every(each => each.scrollWidth <= each.clientWidth)")
        # THEN the pointer and the keyboard say what a point is
        points = page.locator("[aria-label='speed-up over ranks'] .point")
        assert points.count() == 3
        points.last.hover()
        assert page.locator(TIP).inner_text() == "32 ranks: 2.00, ideal 4.00"
        page.locator("[aria-label='efficiency over ranks'] .point").first.focus()
        assert page.locator(TIP).inner_text() == "8 ranks: parallel 1.00"
        # AND bars are as long as the runs, and each run has its map
        ends = [page.locator(".stacks .stack").nth(at).bounding_box()["width"] for at in range(3)]
        whole = [sum(each.ranks.time_s) / len(each.ranks.time_s) for each in runs]
        assert ends == pytest.approx([max(ends) * each / max(whole) for each in whole], rel=0.02)
        assert page.locator("#map-picture [role=tab]").last.inner_text().startswith("32 ranks")
        # AND it is dark where that is wanted, and can be printed
        page.keyboard.press("Home")
        page.locator("#theme").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 28)"
        assert len(page.pdf()) > 20_000
        assert (shown.problems, shown.requests) == ([], [])


@pytest.fixture
def sides(record):
    """Two runs, of which the second waits less."""
    before = Recording.open(record(name="before.rw"))
    after = Recording.open(record(name="after.rw", bound=False))
    return before, after


@pytest.mark.parametrize("width", [1200, 500])
def test_the_comparison_in_a_browser(sides, tmp_path, width):
    found = compare([sides[0]], [sides[1]])
    text = render_comparison(found, *map(build, sides))
    with opened(text, tmp_path, width) as shown:
        page = drawn(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # THEN each efficiency has a bar for each side, as long as its value
        known = [each for each in found.differences if each.of == "efficiency"]
        shown_bars = page.locator(".pairs i")
        assert shown_bars.count() == 2 * len(known) > 0
        parallel = next(each for each in known if each.what == "parallel")
        widths = shown_bars.evaluate_all(
            "all => all.map(each => parseFloat(each.style.getPropertyValue('--part')))"
        )
        assert widths[:2] == pytest.approx([100 * parallel.before, 100 * parallel.after], abs=0.1)
        shown_bars.nth(1).hover()
        assert page.locator(TIP).inner_text().startswith(f"after: parallel efficiency {parallel.after:.2f}")
        # AND both maps are there
        assert "before" in page.locator("#map-picture").inner_text()
        assert page.locator("#map-picture .core.used").count() >= 16
        assert (shown.problems, shown.requests) == ([], [])


@pytest.mark.parametrize("width", [1200, 500])
def test_the_matrices_of_two_runs_are_compared_pair_by_pair(tmp_path, width):
    # GIVEN runs in which rank 0 sends more to 1 than before, and nothing to 2 any more
    made = []
    for name, sent in (("a.rw", {1: 2, 2: 5}), ("b.rw", {1: 3})):
        ranks = [Rank(me, 3) for me in range(3)]
        for peer, count in sent.items():
            ranks[0].send(peer, 1000, times=count)
        made.append(Recording.open(write_recording(tmp_path / name, ranks)))
    text = render_comparison(compare(made[:1], made[1:]), *map(build, made))
    with opened(text, tmp_path, width, color_scheme="light") as shown:
        page = drawn(shown)
        canvas = page.locator("#compared-picture canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        cell = min(box["width"] - 50, 240) / 3  # of few ranks no larger than needed

        def said(column):
            canvas.hover(position={"x": 46 + cell * (column + 0.5), "y": 22 + cell / 2})
            return page.locator(TIP).inner_text()

        def colour(column):
            place = [46 + cell * (column + 0.5), 22 + cell / 2]
            return canvas.evaluate(
                "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x * canvas.width / canvas.clientWidth, "
                "y * canvas.width / canvas.clientWidth, 1, 1).data].slice(0, 3)",
                place,
            )

        # THEN each pair tells both, and the difference is orange where there is more, blue where there is less
        assert said(1) == "rank 0 to rank 1: before 2 kB, 2 messages; after 3 kB, 3 messages"
        assert said(2) == "rank 0 to rank 2: before 5 kB, 5 messages; after 0 B, 0 messages"
        assert (shown.problems, shown.requests) == ([], [])  # reading pixels is complained of
        (more_red, _, more_blue), (less_red, _, less_blue) = colour(1), colour(2)
        assert more_red > more_blue and less_blue > less_red
        # AND a switch shows one side alone
        page.get_by_role("tab", name="after", exact=True).click()
        assert len(set(colour(2))) > 1 and colour(2) == colour(0)


def test_the_text_of_a_difference_has_what_became_less_too(tmp_path):
    # GIVEN 16 ranks that each send a message more to each, but rank 3 nothing to 4 any more
    made = []
    for name, each, those in (("a.rw", 1, 100), ("b.rw", 2, 0)):
        ranks = [Rank(me, 16) for me in range(16)]
        for me in range(16):
            for peer in {*range(16)} - {me}:
                times = those if (me, peer) == (3, 4) else each
                if times:
                    ranks[me].send(peer, 1000, times=times)
        made.append(Recording.open(write_recording(tmp_path / name, ranks)))
    text = render_comparison(compare(made[:1], made[1:]), *map(build, made))
    with opened(text, tmp_path) as shown:
        # WHEN
        drawn(shown).get_by_text("As text: messages between ranks").click()
        lines = shown.page.locator("#compared-picture li")
        # THEN that is the first line, and the last one says where the others are
        assert lines.first.inner_text().startswith("rank 3 to rank 4: before 100 kB, 100 messages; after 0 B")
        assert lines.last.inner_text() == "40 more are in rankwise report --json of each recording"


def test_matrices_of_too_many_pairs_are_compared_by_parts_of_nodes(report, tmp_path):
    # GIVEN twice the same run of more pairs than a page has
    recording, large = Recording.open(report.recording), halo(report, 4096, 100)
    text = render_comparison(compare([recording], [recording]), large, large)
    with opened(text, tmp_path) as shown:
        canvas = drawn(shown).locator("#compared-picture canvas")
        # WHEN the pointer is on its first pair
        canvas.hover(position={"x": 47, "y": 23})
        # THEN it says of which node and ranks it is
        assert (
            shown.page.locator(TIP)
            .inner_text()
            .startswith(
                "node00000, ranks 0-15 to node00000, ranks 0-15: before 120 kB, 120 messages; after 120 kB, "
            )
        )
        assert (shown.problems, shown.requests) == ([], [])


def test_matrices_of_many_ranks_are_compared_by_node_and_open_to_ranks(report, tmp_path):
    # GIVEN two runs of 1024 ranks, of which each sends twice as much in the second one
    recording, before = Recording.open(report.recording), halo(report, 1024, 26)
    matrix = before.matrix
    after = msgspec.structs.replace(
        before, matrix=msgspec.structs.replace(matrix, bytes=[2 * each for each in matrix.bytes])
    )
    text = render_comparison(compare([recording], [recording]), before, after)
    with opened(text, tmp_path) as shown:
        page = drawn(shown)
        holder = page.locator("#compared-picture")
        canvas, level = holder.locator("canvas"), holder.locator("[role=tablist]").last
        side = min(canvas.bounding_box()["width"] - 50, 660)

        def place(row, column, rows):
            return {"x": 46 + side * (column + 0.5) / rows, "y": 22 + side * (row + 0.5) / rows}

        # WHEN the pointer is on the first of 16 nodes of 64 ranks, which are drawn in quarters
        canvas.hover(position=place(8, 9, 64))
        # THEN it says which ranks these are, and what all of them send
        tip = page.locator(TIP).inner_text()
        assert tip.startswith("node00002 (16 ranks, 128 to 143) to node00002 (16 ranks, 144 to 159): before ")
        # WHEN the pair is clicked on
        canvas.click(position=place(8, 9, 64))
        # THEN its ranks are there, and a click leads back
        assert level.locator("[aria-selected=true]").inner_text() == "ranks"
        canvas.hover(position=place(15, 0, 16))
        assert page.locator(TIP).inner_text() == (
            "rank 143 to rank 144: before 1 kB, 1 message; after 2 kB, 1 message"
        )
        holder.get_by_role("button", name="back to nodes").click()
        assert level.locator("[aria-selected=true]").inner_text() == "nodes"
        assert (shown.problems, shown.requests) == ([], [])


@pytest.fixture
def placed(tmp_path, monkeypatch):
    """Function -> a recording of 16 ranks on these hosts, in which each sends to all, too many pairs for a page."""
    monkeypatch.setattr("rankwise.report.matrix.MOST_PAIRS", 100)

    def make(name, host_of, sent):
        ranks = [Rank(me, 16, host=f"n{host_of(me)}") for me in range(16)]
        for me, rank in enumerate(ranks):
            for step in range(1, 16):
                rank.send((me + step) % 16, 1000, times=sent(me))
        return write_recording(tmp_path / name, ranks)

    return make


def test_a_run_with_another_placement_is_compared_by_rank_where_there_are_many_pairs(placed, tmp_path):
    # GIVEN ranks dealt round four nodes, and then node by node, of which rank 3 sends more than before
    before = placed("before.rw", lambda rank: rank % 4, lambda rank: 2)
    after = placed("after.rw", lambda rank: rank // 4, lambda rank: 5 if rank == 3 else 2)
    sides = [Recording.open(each) for each in (before, after)]
    members = [build(each).matrix.members for each in sides]
    assert members[0] != members[1] and all(members)
    # WHEN
    same = in_same_groups([(each, build(each)) for each in sides])
    found = matrices(*same)
    # THEN what differs is what rank 3 sends
    cells = np.cumsum(found["cells"]) // found["groups"]
    more = dict.fromkeys(range(16), 0) | {3: 15 * 3}
    assert {row: int(np.array(found["difference"]["messages"])[cells == row].sum()) for row in more} == more
    # AND the page has it
    assert main(["report", str(before), str(after), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert 'id="compared-picture"' in page


def test_a_run_with_the_same_placement_is_compared_by_node(placed):
    sides = [Recording.open(placed(name, lambda rank: rank % 4, lambda rank: 2)) for name in ("a.rw", "b.rw")]
    reports = [build(each) for each in sides]
    assert in_same_groups(list(zip(sides, reports, strict=True))) == reports
    assert matrices(*reports)["members"] == reports[0].matrix.members


def test_runs_on_different_numbers_of_ranks_have_no_matrix_in_common(report):
    few, many = (enlarged(report, ranks) for ranks in (16, 32))
    recording = Recording.open(report.recording)
    text = render_comparison(compare([recording], [recording]), few, many)
    assert 'id="compared-picture"' not in text and "The runs are on different numbers of ranks" in text


def test_intervals_of_several_runs_are_told(record):
    made = [Recording.open(record(name=f"{at}.rw")) for at in range(8)]
    found = compare(made[:4], made[4:])
    text = " ".join(render_comparison(found, build(made[0]), build(made[4])).split())
    assert "The run time changed between +0 s and +0 s with 97 % confidence: noise." in text
    head = "".join(f'<th scope="col">{name}</th>' for name in ("at least", "at most", "p"))
    assert f'{head}<th scope="col" class="text">noise?</th>' in text
    assert '<td>1.000</td><td class="text">noise</td>' in text


def test_what_users_typed_is_text_in_a_comparison(sides, tmp_path):
    found = compare([sides[0]], [sides[1]])
    found = msgspec.structs.replace(
        found, changed=[Circumstance("command", EVIL, EVIL)], moved=[EVIL], before=[EVIL]
    )
    reports = [
        msgspec.structs.replace(each, program=msgspec.structs.replace(each.program, name=EVIL))
        for each in map(build, sides)
    ]
    with opened(render_comparison(found, *reports), tmp_path) as shown:
        page = drawn(shown)
        assert page.title() != "1" and page.locator("img").count() == 0
        assert (shown.problems, shown.requests) == ([], [])


def test_pages_of_many_ranks_are_small(report):
    many = enlarged(report, 10_000)
    efficiency = Efficiency(10_000, 1.0, 0.5, 0.6, 0.5, 0.9, 0.9, 0.9, 0.6)
    many = msgspec.structs.replace(many, efficiency=efficiency)
    rows = [msgspec.structs.replace(SERIES.rows[0], ranks=each) for each in (2_500, 5_000, 10_000)]
    runs = [enlarged(report, 2_500), enlarged(report, 5_000), many]
    assert len(render_scaling(msgspec.structs.replace(SERIES, rows=rows), runs).encode()) < 2_000_000
    recording = Recording.open(report.recording)
    assert len(render_comparison(compare([recording], [recording]), many, many).encode()) < 2_000_000


@pytest.fixture
def typed(record, tmp_path):
    for ranks in (8, 16):
        record(name=f"app.{ranks}.rw", ranks=ranks)
    record(name="again.rw")

    def run(*words):
        return main(["report", *(str(tmp_path / word) if ".rw" in word else word for word in words)])

    return run


def test_several_recordings_are_written_beside_the_last_one(typed, tmp_path, capsys):
    # GIVEN a comparison, and a series in any order
    for words, name, said in (
        (["app.16.rw", "again.rw"], "app.16-again.report.html", "What changed"),
        (["app.16.rw", "app.8.rw"], "app.8-app.16.report.html", "speed-up over ranks"),
    ):
        assert typed(*words) == 0
        assert name in capsys.readouterr().err
        page = (tmp_path / name).read_text()
        assert page.startswith("<!DOCTYPE html>") and said in page
        # THEN it is made anew
        assert typed(*words) == 0


def test_a_named_report_of_several_is_replaced_only_with_force(typed, tmp_path, capsys):
    target = tmp_path / "mine.html"
    words = ["app.16.rw", "again.rw", "-o", str(target)]
    assert typed(*words) == 0
    assert typed(*words) == 1
    assert "exists" in capsys.readouterr().err
    assert typed(*words, "--force") == 0
    # AND what is no report never is
    target.write_text("chapter 1")
    assert typed(*words, "--force") == 1
    assert target.read_text() == "chapter 1"


def test_json_of_several_writes_no_page(typed, tmp_path, capsys):
    assert typed("app.16.rw", "again.rw", "--json") == 0
    assert capsys.readouterr().err == "" and not list(tmp_path.glob("*.html"))

# SPDX-License-Identifier: BSD-3-Clause
"""Placements compared on a machine, and predicted timelines, by numbers that can be written down."""

import msgspec
import numpy as np
import pytest
from browser import TIP, drawn, opened
from enlarged import enlarged
from machines import machine
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z
from saved_topology import save_topology

from rankwise import _core
from rankwise.explain.explanation import explain
from rankwise.explain.timeline import Timeline
from rankwise.findings.on_machine import OnMachine
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.quantities import seconds_text
from rankwise.recording import Recording
from rankwise.replay.predictor import Predictor
from rankwise.report.build import build
from rankwise.report.html import look, render
from rankwise.report.html.predicted import bars
from rankwise.report.placements import Placed
from rankwise.report.predicted.predict import PLACED, timeline
from rankwise.report.predicted.words import largest_losses
from rankwise.report.text import render as render_text
from rankwise.schedule.source import Source

MS = MB = 1_000_000
NETWORK = {"L_s": 9e-6, "o_s": 1e-6, "G_s_per_byte": 1e-9}
TWO = "num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}\n"


def over_time(text, pieces, **more):
    """What two ranks on two nodes do in each piece."""
    return over_time_of(text, [(0, [0]), (1, [0])], machine(NETWORK | more), pieces)


def over_time_of(text, seats, where, pieces=800):
    schedule = _core.schedule.Schedule.read_goal(text, "x.goal")
    topology = topology_of(where, ".")
    placement = Placement.explicit(topology, seats)
    predictor = Predictor.of(Source(schedule), where, topology)
    finish_s = predictor.predict(placement).finish_s
    return timeline(Timeline.of(explain(predictor, placement)), finish_s, pieces)


def test_a_late_sender_is_waited_for_until_it_sends():
    # GIVEN 10 us of computation, then a message of 1 us overhead, 9 us latency and 1 us of bytes, 1 us to receive
    text = TWO.format("c: calc 10000\ns: send 1001b to 1\ns requires c", "recv 1001b from 0")
    found = over_time(text, 22)
    assert found.end_s == pytest.approx(22e-6)
    # THEN in pieces of a microsecond
    assert found.rows[0].startswith("c" * 10 + "o")
    assert found.rows[1] == "w" * 10 + "t" * 11 + "o"


def test_a_late_receiver_is_waited_for_until_it_receives():
    text = TWO.format("send 1001b to 1", "c: calc 20000\nr: recv 1001b from 0\nr requires c")
    found = over_time(text, 60, S=0)
    first = found.rows[0]
    waited = first.count("w") * found.end_s / 60
    assert waited == pytest.approx(19.5e-6, abs=1e-6)
    assert "c" not in first and found.rows[1].startswith("c")


def test_a_computation_that_needs_a_message_waits_for_its_sender():
    # GIVEN messages that cost no processor time
    text = TWO.format(
        "c: calc 10000\ns: send 1001b to 1\ns requires c", "r: recv 1001b from 0\nd: calc 10000\nd requires r"
    )
    found = over_time(text, 30, o_s=0)
    assert found.rows[1] == "w" * 10 + "t" * 10 + "c" * 10
    assert found.rows[0].startswith("c" * 10)


def test_many_ranks_share_rows():
    text = "num_ranks 600\n" + "".join(
        f"rank {at} {{\ncalc {1000 if at < 300 else 500}\n}}\n" for at in range(600)
    )
    found = over_time_of(text, [(at // 2, [at % 2]) for at in range(600)], machine(NETWORK, nodes=300), 10)
    assert (found.ranks_per_row, len(found.rows)) == (3, 200)
    assert found.rows[0] == "c" * 10 and found.rows[199] == "c" * 5 + "." * 5


@pytest.fixture
def crossed(tmp_path):
    """Ranks 0 and 1, and 2 and 3, send each other 1 MB in turn across two nodes, 20 times; each computes 5 ms."""
    ranks = []
    for me in range(4):
        rank = Rank(me, 4, f"n{me % 2}", affinity=(me // 2,), flags=FINALIZED | TRACED, run_ns=20 * 30 * MS)
        peer = me ^ 1
        sent, received = u(0) + z(peer) + z(0) + u(MB), u(0) + z(peer) + z(0) + z(peer) + z(0) + u(MB)
        for lap in range(20):
            if me % 2 == 0:
                rank.event("MPI_Send", 5 * MS, 0, sent)
                rank.event("MPI_Recv", 0, 25 * MS, received)
            else:
                rank.event("MPI_Recv", 0, (25 if lap else 15) * MS, received)
                rank.event("MPI_Send", 5 * MS, 0, sent)
        rank.send(peer, MB, times=20, ns=0)
        rank.recv(peer, MB, times=20, ns=25 * MS)
        ranks.append(rank)
    path = write_recording(tmp_path / "a.rw", ranks)
    for host in ("n0", "n1"):
        save_topology(path / "raw" / f"{host}.topology.tar", (0, 0))
    return Recording.open(path)


def on(recording):
    """On nodes of two cores whose network takes 10 ms for 1 MB."""
    where = machine(network={"G_s_per_byte": 1e-8}, nodes=2)
    there = OnMachine(recording, where, recording.topology, "m.machine.toml")
    there.search_s = 0.2
    return there


@pytest.fixture
def report(crossed):
    there = on(crossed)
    blocked = Placement.explicit(crossed.topology, [(0, [0]), (0, [1]), (1, [0]), (1, [1])], ("n0", "n1"))
    other = machine(nodes=3)
    three = topology_of(other, ".")
    misfit = Placement.explicit(three, [(0, [0]), (0, [1]), (1, [0]), (2, [1])])
    asked = [
        Placed("blocked", "", None, blocked, crossed.topology),
        Placed("misfit", "", None, misfit, three),
    ]
    return build(crossed, asked, on_machine=there)


def test_placements_have_times_and_parts_that_make_them(report):
    ran, blocked, misfit, placed = report.predicted.placements
    # THEN what the network took is saved by partners on one node, 20 times 2 messages of 10 ms
    assert ran.time_s == pytest.approx(0.6, rel=0.05)
    assert ran.time_s - blocked.time_s == pytest.approx(0.4, rel=0.05)
    assert placed.name == PLACED and placed.time_s == pytest.approx(blocked.time_s, rel=0.02)
    for each in (ran, blocked, placed):
        assert sum(each.parts_s.values()) == pytest.approx(each.time_s)
    assert ran.parts_s["computation"] == pytest.approx(0.1, rel=0.05)
    # AND the time as it ran lies where it is known to, what is lost is the network's bytes
    assert ran.low_s <= ran.time_s <= ran.high_s
    name, lost_s, _ = largest_losses(ran)[0]
    assert name == "network bytes" and lost_s == pytest.approx(0.4, rel=0.05)
    # AND what does not fit says why
    assert misfit.time_s is None and misfit.why_not
    # AND the best is on the map
    assert [each.name for each in report.map.placed][-1] == PLACED


def test_bars_are_as_long_as_the_times(report):
    ran, blocked, placed = bars(report)
    longest = max(ran.placement.time_s, ran.placement.high_s)
    assert ran.share == pytest.approx(ran.placement.time_s / longest)
    less_s = ran.placement.time_s - blocked.placement.time_s
    assert (ran.change, blocked.change) == ("-", f"{seconds_text(less_s)} less")
    assert sum(piece.share for piece in ran.pieces) == pytest.approx(1)


def test_the_page_says_how_parts_of_a_replay_differ_from_those_of_recorded_calls(report, crossed):
    said = "The parts of a bar are of a replay, which has each message inside a collective"
    assert said in " ".join(render(report).split())
    # AND says nothing of bars where there are none
    assert said not in " ".join(render(build(crossed)).split())


def test_the_terminal_compares_predicted_times_with_their_intervals(report):
    # GIVEN the report and its section
    ran, blocked, misfit, placed = report.predicted.placements
    for text in (render_text(report), render_text(report, section="placements")):
        lines = text[text.index("Placements compared") :].splitlines()
        assert max(map(len, lines)) <= 80
        # THEN both have what the page has
        rows = {line[2:11].strip(): line[11:].split("  ") for line in lines[1:4]}
        assert list(rows) == ["as it ran", "blocked", PLACED]
        for each in (ran, blocked, placed):
            numbers = [part.strip() for part in rows[each.name] if part.strip()]
            assert numbers[:3] == [
                seconds_text(each.time_s),
                seconds_text(each.low_s),
                seconds_text(each.high_s),
            ]
        assert rows["as it ran"][-1] == "80 MB" and rows["blocked"][-1] == "0 B"
        assert f"not predicted, misfit: {misfit.why_not}" in " ".join(text.split())
    # AND the section what is lost
    assert "as it ran loses most to: network bytes" in text


def test_where_nothing_can_be_predicted_it_says_why(crossed, monkeypatch):
    monkeypatch.setattr(
        "rankwise.findings.on_machine.why_not_replayed", lambda recording: "there is no trace"
    )
    report = build(crossed, on_machine=on(crossed))
    assert report.predicted.placements == [] and report.predicted.why_not == "there is no trace"
    assert "No time is predicted: there is no trace." in render(report)
    assert "no time is predicted: there is no trace" in render_text(report, section="placements")


def test_without_a_machine_placements_are_compared_by_bytes(crossed):
    asked = Placement.explicit(crossed.topology, [(0, [0]), (0, [1]), (1, [0]), (1, [1])], ("n0", "n1"))
    text = render(build(crossed, [Placed("blocked", "", None, asked, crossed.topology)]))
    assert "<td>as it ran</td><td>80 MB</td>" in text and "<td>blocked</td><td>0 B</td>" in text
    assert "--machine FILE" in text and 'id="predicted"' not in text


@pytest.mark.parametrize("width", [1200, 500])
def test_the_timeline_in_a_browser(report, tmp_path, width):
    with opened(render(report), tmp_path, width) as shown:
        page = drawn(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        canvas = page.locator("#predicted-picture canvas")
        box = canvas.bounding_box()
        # THEN the first rank computes first, and the second waits for it
        said = []
        for row in (0, 1):
            canvas.hover(position={"x": 72, "y": row * 18 + 9})
            said.append(page.locator(TIP).inner_text())
        assert said[0].startswith("rank 0, ") and said[0].endswith(": computation")
        assert said[1].startswith("rank 1, ") and said[1].endswith(": waiting for other ranks")
        # AND what is drawn there has the colours of the legend
        ratio = canvas.evaluate("c => c.width / c.clientWidth")
        column = canvas.evaluate(
            f"c => [...c.getContext('2d').getImageData({72 * ratio}, 0, 1, {36 * ratio}).data]"
        )
        first, second = (int(place * ratio) * 4 for place in (9, 27))
        assert column[first : first + 4] == [*bytes.fromhex(look.BLUE[1:]), 255]
        assert column[second : second + 4] == [*bytes.fromhex(look.ORANGE[1:]), 255]
        # AND a faster placement ends earlier on the same axis
        page.locator("#predicted-picture [role=tab]").nth(1).click()
        canvas.hover(position={"x": box["width"] - 8, "y": 9})
        assert page.locator(TIP).inner_text().endswith(": not in the run")
        assert (shown.problems, shown.requests) == ([], [])


def test_names_of_placements_stay_text(report, tmp_path):
    evil = '<img src=x onerror="document.title=1">'
    placements = [msgspec.structs.replace(each, name=evil) for each in report.predicted.placements]
    predicted = msgspec.structs.replace(
        report.predicted, placements=placements, machine=evil, why_none_placed=evil
    )
    with opened(render(msgspec.structs.replace(report, predicted=predicted)), tmp_path) as shown:
        page = drawn(shown)
        assert page.title() != "1" and page.locator("img").count() == 0
        assert shown.problems == []


@pytest.mark.slow
def test_the_page_of_many_ranks_with_timelines_is_small(report):
    # GIVEN rows as many and as long as they become, at random, and a map of another placement
    letters, chance = np.array(list("cwto")), np.random.default_rng(0)
    rows = ["".join(letters[row]) for row in chance.integers(0, 4, (128, 120))]
    longest = msgspec.structs.replace(report.predicted.placements[0].timeline, rows=rows, ranks_per_row=79)
    placements = [
        msgspec.structs.replace(each, timeline=longest) if each.timeline else each
        for each in report.predicted.placements
    ]
    predicted = msgspec.structs.replace(report.predicted, placements=placements)
    many = msgspec.structs.replace(enlarged(report, 10_000), predicted=predicted)
    ran = many.map.placed[0]
    placed = [ran, msgspec.structs.replace(ran, name=PLACED)]
    many = msgspec.structs.replace(many, map=msgspec.structs.replace(many.map, placed=placed))
    page = render(many)
    assert len(page.encode()) < 2_000_000 and "Left out, so that" not in page


def test_timelines_of_many_ranks_have_fewer_pieces():
    text = "num_ranks 256\n" + "".join(f"rank {at} {{\ncalc 1000\n}}\n" for at in range(256))
    found = over_time_of(text, [(at // 2, [at % 2]) for at in range(256)], machine(NETWORK, nodes=128))
    assert {len(row) for row in found.rows} == {240} and found.rows[255] == "c" * 240

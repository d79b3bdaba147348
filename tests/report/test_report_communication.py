# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the matrix, who waits for whom, message sizes, phases and iterations, on runs with known answers."""

import msgspec
import numpy as np
import pytest
from browser import drawn, opened
from raw_writer import ABORTED, FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.recording import Recording
from rankwise.report import communication_words
from rankwise.report.build import build
from rankwise.report.data import CallSite
from rankwise.report.html import call_tree, render
from rankwise.report.text import render as render_text

US = 1000  # ticks are nanoseconds
BARRIER = u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0)
LAPS, RANKS, HOP, WORK, SEND = 23, 4, 5, 100, 2


def ring():
    """A message of 1 KiB goes round 23 times: each rank works 100 us on it, and it comes 5 us after it was sent."""
    ranks = [Rank(me, RANKS, flags=FINALIZED | TRACED) for me in range(RANKS)]
    ends = [0] * RANKS

    def event(me, call, gap, until, payload):
        ranks[me].event(call, gap * US, (until - ends[me] - gap) * US, payload)
        ends[me] = until

    def send(me):
        begin = ends[me] + WORK
        event(me, "MPI_Send", WORK, begin + SEND, u(0) + z((me + 1) % RANKS) + z(0) + u(1024))
        return begin

    def receive(me, sent):
        peer = (me - 1) % RANKS
        event(me, "MPI_Recv", 0, sent + HOP, u(0) + z(peer) + z(0) + z(peer) + z(0) + u(1024))

    for _ in range(LAPS):
        sent = send(0)
        for me in range(1, RANKS):
            receive(me, sent)
            sent = send(me)
        receive(0, sent)
    for me, rank in enumerate(ranks):
        rank.send((me + 1) % RANKS, 1024, times=LAPS, ns=SEND * US)
        rank.recv((me - 1) % RANKS, 1024, times=LAPS, ns=(ends[me] - LAPS * (WORK + SEND)) * US // LAPS)
        rank.run_ns = max(ends) * US
    return ranks


@pytest.fixture
def report(tmp_path):
    return build(Recording.open(write_recording(tmp_path / "ring.rw", ring())))


def test_who_waits_for_whom_is_all_that_was_waited(report):
    waits = report.pair_waits
    found = dict(zip(zip(waits.waiting, waits.late, strict=True), waits.waited_s, strict=True))
    # THEN rank 0 waits in each lap for all others but its own send, the others so in all laps but the first
    round_us = (RANKS - 1) * (HOP + WORK) - SEND
    assert found == pytest.approx(
        {(0, 3): LAPS * round_us * 1e-6}
        | {
            (me, me - 1): ((LAPS - 1) * round_us + WORK + (me - 1) * (HOP + WORK)) * 1e-6
            for me in range(1, RANKS)
        }
    )
    assert waits.calls == [LAPS] * RANKS
    assert sum(waits.waited_s) == pytest.approx(sum(call.waiting_s for call in report.waiting.calls))
    worst = waits.worst[0]
    assert (worst.waiting, worst.late, worst.call, worst.call_s) == (
        0,
        3,
        "MPI_Recv",
        pytest.approx(found[0, 3]),
    )
    assert waits.most_late[0] == (3, pytest.approx(found[0, 3]))
    assert "for rank 3" in communication_words.waits_text(report)


def test_time_of_a_pair_is_that_of_its_messages(report):
    (part,) = report.matrix_parts.parts
    # THEN all are from point to point, and each of a pair's 23 messages took 5 us
    assert (part.name, part.pairs, part.messages) == ("point-to-point", [0, 1, 2, 3], [LAPS] * RANKS)
    assert part.time_s == pytest.approx([LAPS * HOP * 1e-6] * RANKS)
    assert report.matrix_parts.not_known == []


def test_bandwidth_is_bytes_by_time_of_messages_that_were_waited_for(report):
    sizes = report.sizes
    assert (sizes.channels, sizes.up_to_bytes, sizes.messages) == (["all"], [1024], [[LAPS * RANKS]])
    assert (sizes.timed, sizes.together, sizes.not_timed) == ([[LAPS * RANKS]], [[0]], None)
    assert sizes.timed_bytes[0][0] / sizes.time_s[0][0] == pytest.approx(1024 / (HOP * 1e-6))
    assert communication_words.size_rows(report) == [
        ["1 KiB", "all messages", "92", "94.2 kB", "92", "205 MB/s"]
    ]


def test_laps_are_iterations(report):
    found = report.over_time.iterations
    lap_s = RANKS * (HOP + WORK) * 1e-6
    assert (found.rank, found.anchor, found.calls, found.count) == (0, "MPI_Send to rank 1", 2, LAPS)
    # THEN the last one ends with its last call, as nothing comes after it
    assert found.mean_s == pytest.approx([lap_s] * (LAPS - 1) + [lap_s - WORK * 1e-6])
    assert found.begin_s == pytest.approx([WORK * 1e-6 + lap * lap_s for lap in range(LAPS)])
    assert communication_words.iterations_text(report).startswith(
        "23 repetitions of 2 MPI calls on rank 0, each from one MPI_Send to rank 1 to the next: median 420 us, half of "
        "them 420 us to 420 us"
    )


def test_what_ranks_did_over_time_is_what_they_did_in_all(report):
    over = report.over_time
    parts = np.array([over.computation, over.waiting, over.transfer, over.other_mpi])
    assert parts.sum(axis=0) == pytest.approx(1)
    # THEN the mean of the pieces is what all ranks did in the run
    whole = LAPS * RANKS * (HOP + WORK)
    waiting = sum(report.pair_waits.waited_s) / RANKS * 1e6
    for part, us in zip(parts[1:], (waiting, LAPS * HOP, LAPS * SEND), strict=True):
        assert part.mean() == pytest.approx(us / whole, rel=1e-6)
    assert (over.end_s, over.ranks_per_row, len(over.rows)) == (pytest.approx(whole * 1e-6), 1, RANKS)
    # AND it is said where every call is
    assert "<code>rankwise export --format perfetto</code> has every call" in render(report)
    # AND one of them works at a time
    assert over.rows[0][:2] == "cc" and over.rows[1][:2] == "ww"


def test_receives_that_a_call_ends_together_have_times_at_most(tmp_path):
    # GIVEN a rank that waits for two messages in one call: it ends at 60 us, they were sent at 40 and 50 us
    ranks = [Rank(me, 3, flags=FINALIZED | TRACED) for me in range(3)]
    for me, begin in ((0, 40), (1, 50)):
        ranks[me].send(2, 4096)
        ranks[me].event("MPI_Send", begin * US, 1 * US, u(0) + z(2) + z(0) + u(4096))
    for peer in range(2):
        ranks[2].event("MPI_Irecv", 1 * US, 1 * US, u(0) + z(peer) + z(0) + u(4096))
    done = b"".join(u(2 - peer) + u(1) + z(peer) + z(0) + u(4096) for peer in range(2))
    ranks[2].event("MPI_Waitall", 6 * US, 50 * US, u(2) + done)
    # WHEN
    report = build(Recording.open(write_recording(tmp_path / "two.rw", ranks)))
    # THEN it waited for the one that was sent last
    assert (report.pair_waits.waiting, report.pair_waits.late) == ([2], [1])
    assert report.pair_waits.waited_s == pytest.approx([40e-6])
    # AND both are timed to its end
    assert (report.sizes.timed, report.sizes.together) == ([[2]], [[2]])
    assert report.sizes.time_s[0] == pytest.approx([30e-6])
    assert communication_words.size_rows(report)[0][-1] == "≥ 273 MB/s"


def test_the_last_member_of_a_collective_is_waited_for(tmp_path):
    ranks = [Rank(me, 3, flags=FINALIZED | TRACED) for me in range(3)]
    for me, came in ((0, 10), (1, 30), (2, 20)):
        ranks[me].collective("MPI_Barrier", 0)
        ranks[me].event("MPI_Barrier", came * US, (40 - came) * US, BARRIER)
    waits = build(Recording.open(write_recording(tmp_path / "barrier.rw", ranks))).pair_waits
    assert (waits.waiting, waits.late) == ([0, 2], [1, 1])
    assert waits.waited_s == pytest.approx([20e-6, 10e-6])
    assert waits.most_late == [(1, pytest.approx(30e-6))]


def test_messages_are_told_by_kind_and_communicator(tmp_path):
    # GIVEN three sums over pairs of ranks, one over all, and messages to the next rank
    ranks = [Rank(me, 4) for me in range(4)]
    for me, rank in enumerate(ranks):
        pair = [me // 2 * 2, me // 2 * 2 + 1]
        rank.comm(2, pair)
        rank.collective("MPI_Allreduce", 8, comm=2, times=3)
        rank.collective("MPI_Allreduce", 8, times=1)
        rank.send((me + 1) % 4, 100)
    report = build(Recording.open(write_recording(tmp_path / "split.rw", ranks)))
    # THEN each part has its pairs
    parts = {part.name: part for part in report.matrix_parts.parts}
    assert list(parts) == ["point-to-point", "collective", "2 communicators of 2 ranks", "MPI_COMM_WORLD"]
    ends = list(zip(report.matrix.source, report.matrix.destination, strict=True))

    def pairs(name):
        part = parts[name]
        return {ends[at]: bytes_ for at, bytes_ in zip(part.pairs, part.bytes, strict=True)}

    assert pairs("point-to-point") == {(0, 1): 100, (1, 2): 100, (2, 3): 100, (3, 0): 100}
    assert pairs("2 communicators of 2 ranks") == {(0, 1): 24, (1, 0): 24, (2, 3): 24, (3, 2): 24}
    world = pairs("MPI_COMM_WORLD")
    for pair, size in pairs("collective").items():
        assert size == world.get(pair, 0) + pairs("2 communicators of 2 ranks").get(pair, 0)
    # AND what is not known is said
    text = " ".join(report.matrix_parts.not_known)
    assert "the communicator of 4 point-to-point messages: this needs" in text
    assert "the time of messages: this needs" in text
    assert all(part.time_s is None for part in parts.values())


def test_without_a_trace_the_page_says_what_it_takes(record):
    report = build(Recording.open(record()))
    assert (report.pair_waits, report.over_time) == (None, None)
    assert report.sizes.not_timed == "this needs `rankwise record --trace --exact-times`"
    page = render(report)
    for name in ("waiting", "phases", "sizes"):
        assert f'<h2 id="{name}">' in page
    option = '<span class="option">{}</span>'
    assert (
        page.count(
            f"this needs <code>rankwise record {option.format('--trace')} {option.format('--exact-times')}</code>"
        )
        >= 3
    )
    # AND sizes are told by channel all the same: 15 messages of 1 KiB from each rank, 12 of them to other nodes
    sizes = report.sizes
    network = sizes.messages[sizes.channels.index("network")]
    assert network[sizes.up_to_bytes.index(1024)] == 16 * 12


def test_of_loops_in_loops_the_outer_one_repeats(tmp_path):
    # GIVEN 8 steps of ten times two messages, and a barrier
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for _ in range(8):
        for me, rank in enumerate(ranks):
            for size in (8, 4096) * 10:
                rank.event("MPI_Send", 10 * US, 5 * US, u(0) + z(1 - me) + z(0) + u(size))
            rank.event("MPI_Barrier", 10 * US, 5 * US, BARRIER)
    found = build(Recording.open(write_recording(tmp_path / "any.rw", ranks))).over_time.iterations
    assert (found.count, found.calls, found.anchor) == (7, 21, "MPI_Barrier")
    assert found.median_s == pytest.approx(21 * 15e-6)


def test_small_messages_have_a_latency_and_no_bandwidth(tmp_path):
    # GIVEN receivers that wait for messages of 4 B, 256 B and 1 MiB, which take 10, 15 and 1000 us
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, runqueue_wait_ns=200_000_000) for me in range(2)]
    for size, us in ((4, 10), (256, 15), (1 << 20, 1000)):
        ranks[0].event("MPI_Send", 50 * US, us * US, u(0) + z(1) + z(0) + u(size))
        ranks[0].send(1, size)
        ranks[1].event("MPI_Recv", 0, (50 + us) * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(size))
    # AND those of 8 KiB find a receiver that comes late
    ranks[0].event("MPI_Send", 0, 10 * US, u(0) + z(1) + z(0) + u(8192))
    ranks[0].send(1, 8192)
    ranks[1].event("MPI_Recv", 100 * US, 10 * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(8192))
    report = build(Recording.open(write_recording(tmp_path / "any.rw", ranks)))
    # THEN only the largest are long enough for a bandwidth, and of each other it is said what there is
    rows = {row[0]: row[-1] for row in communication_words.size_rows(report)}
    assert rows == {"4 B": "10 us each", "256 B": "15 us each", "8 KiB": "-", "1 MiB": "1.05 GB/s"}
    for view in (render(report), render_text(report, verbose=True)):
        words = " ".join(view.split())
        assert "no receiver was waiting when these were sent" in words
        assert "more than half of which is latency" in words and "the network may be faster" in words


def test_bytes_without_a_bandwidth_are_said_where_they_are_most(tmp_path):
    # GIVEN a message of 1 MiB with a time, and two whose receiver came late; waiting for a core for a fifth
    def ranks_of(late):
        ranks = [Rank(me, 2, flags=FINALIZED | TRACED, runqueue_wait_ns=200_000_000) for me in range(2)]
        for us, size in ((1000, 1 << 20), *[(10, 1 << 21)] * late):
            ranks[0].event("MPI_Send", 50 * US, us * US, u(0) + z(1) + z(0) + u(size))
            ranks[0].send(1, size)
            begin, inside = (0, 50 + us) if us == 1000 else (100, us)
            ranks[1].event("MPI_Recv", begin * US, inside * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(size))
        return ranks

    report = build(Recording.open(write_recording(tmp_path / "a.rw", ranks_of(2))))
    said = "No bandwidth is known of 80.0 % of the bytes: collectives sent them, or no receiver was waiting"
    assert said in " ".join(render(report).split())
    # AND not where they are few
    report = build(Recording.open(write_recording(tmp_path / "b.rw", ranks_of(0))))
    assert "No bandwidth is known of" not in render(report)


def test_where_no_bandwidth_is_known_the_network_is_not_said_to_be_faster(tmp_path):
    # GIVEN messages of 4 B with a time, of ranks that waited for a core
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, runqueue_wait_ns=200_000_000) for me in range(2)]
    ranks[0].event("MPI_Send", 50 * US, 10 * US, u(0) + z(1) + z(0) + u(4))
    ranks[0].send(1, 4)
    ranks[1].event("MPI_Recv", 0, 60 * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(4))
    report = build(Recording.open(write_recording(tmp_path / "a.rw", ranks)))
    assert [row[-1] for row in communication_words.size_rows(report)] == ["10 us each"]
    assert communication_words.size_notes(report) == []


def test_each_bar_of_joined_iterations_says_how_many_these_are(tmp_path):
    # GIVEN 4 000 equal iterations in 1.5 s
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for _ in range(4000):
        for rank in ranks:
            rank.event("MPI_Barrier", 365 * US, 10 * US, BARRIER)
    report = build(Recording.open(write_recording(tmp_path / "any.rw", ranks)))
    found = report.over_time.iterations
    assert (found.count, len(found.begin_s), found.joined) == (4000, 2000, [2] * 2000)
    with opened(render(report), tmp_path) as shown:
        # WHEN the pointer is on each pixel of the picture, from where the first one begins to where the last one ends
        told = (
            drawn(shown)
            .locator("#phases-picture canvas")
            .last.evaluate("""canvas => {
            const box = canvas.getBoundingClientRect(), told = []
            for (let x = 72; x < box.width - 2; x += 1) {
                canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + 20 }))
                told.push(document.querySelector(".tip").hidden ? "" : document.querySelector(".tip").textContent)
            }
            return told
        }""")
        )
    # THEN there is a bar, of two
    assert len(told) > 900
    assert {each.partition(": ")[2] for each in told} == {"375 us, the mean of 2; at most 375 us"}


def test_irregular_calls_are_no_iterations(tmp_path):
    chance = np.random.default_rng(1)
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for sends in chance.integers(0, 2, 200).tolist():
        for me, rank in enumerate(ranks):
            call, payload = (
                ("MPI_Send", u(0) + z(1 - me) + z(0) + u(8)) if sends else ("MPI_Barrier", BARRIER)
            )
            rank.event(call, 10 * US, 5 * US, payload)
    report = build(Recording.open(write_recording(tmp_path / "any.rw", ranks)))
    assert report.over_time.iterations is None
    assert "No repetitions were found" in render(report)


def test_a_run_that_was_aborted_is_shown_to_its_end(tmp_path):
    # GIVEN a rank that receives, and another that sends and aborts 1 ms later; clocks were read before that
    ranks = [Rank(me, 2, flags=TRACED | (ABORTED if me == 0 else 0), run_ns=500 * US) for me in range(2)]
    ranks[0].event("MPI_Send", 100 * US, 10 * US, u(0) + z(1) + z(0) + u(8))
    ranks[0].event("MPI_Abort", 1000 * US, 0)
    ranks[1].event("MPI_Recv", 0, 200 * US, u(0) + z(0) + z(0) + z(0) + z(0) + u(8))
    # WHEN
    over = build(Recording.open(write_recording(tmp_path / "aborted.rw", ranks))).over_time
    # THEN the axis has all events
    assert over.end_s >= 1110e-6
    assert np.array([over.computation, over.waiting, over.transfer, over.other_mpi]).max() <= 1
    assert over.rows[1][0] == "w"


def test_call_sites_are_a_tree(report):
    def site(call, module, function, line, count, time_s):
        return CallSite(
            call,
            module,
            64,
            function and f"{function}<double>(int)",
            function,
            function and "/src/halo.c",
            line,
            count,
            time_s,
            8 * count,
            time_s / 10,
        )

    sites = [
        site("MPI_Recv", "/opt/app", "exchange", 12, 10, 2.0),
        site("MPI_Send", "/opt/app", "exchange", 11, 10, 1.0),
        site("MPI_Allreduce", "/opt/app", "main", 7, 5, 0.5),
        site("MPI_Bcast", "/lib/libx.so", None, None, 1, 0.25),
    ]
    changed = msgspec.structs.replace(report, call_sites=sites)
    app, lib = call_tree.call_tree(changed, 500)
    # THEN a branch has what is inside
    assert (app.name, app.whole, app.time, app.calls) == ("app", "/opt/app", "875 ms", "25")
    assert [(each.name, each.time) for each in app.inside] == [
        ("exchange<double>(int)", "750 ms"),
        ("main<double>(int)", "125 ms"),
    ]
    # AND a place is written as in findings
    assert [(each.name, each.place, each.whole) for each in app.inside[0].inside] == [
        ("MPI_Recv", "exchange, halo.c:12", "/src/halo.c:12"),
        ("MPI_Send", "exchange, halo.c:11", "/src/halo.c:11"),
    ]
    (call,) = lib.inside[0].inside
    assert (lib.inside[0].name, call.place) == ("function not known", "libx.so +0x40")
    assert call.whole == "/lib/libx.so +0x40"
    assert app.part == pytest.approx(3.5 / 3.75)
    assert "<code>exchange&lt;double&gt;(int)</code>" in render(changed)

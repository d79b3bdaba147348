# SPDX-License-Identifier: BSD-3-Clause
"""Findings of recordings written by hand, whose defects are known."""

import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import polars as pl
import pytest
from raw_writer import ABORTED, FINALIZED, SCHED, TRACED, UNTIMED, Rank, u, write_recording, z
from sampled_nodes import computing, recorded_on_nodes
from saved_topology import save_topology
from traces import recording_of, traced

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.findings import catalogue, defects
from rankwise.findings.catalogue import DEFECTS, findings_of
from rankwise.findings.defects import lost_packets, tcp_retransmits, unbound_migrating
from rankwise.findings.evidence import Evidence, NodeSeats
from rankwise.findings.late import LatePair
from rankwise.findings.names import NAMES
from rankwise.recording import Recording
from rankwise.recording.layouts import NOTE_ALLOWED, NOTE_COLUMNS
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

MS = 1_000_000


def recorded(path, ranks, packages=(0, 0, 1, 1)) -> Recording:
    """On nodes of four PUs, if nothing else is said."""
    path = write_recording(path, ranks)
    for host in {rank.host for rank in ranks}:
        save_topology(path / "raw" / f"{host}.topology.tar", packages)
    return Recording.open(path)


def four(useful_ms, **more) -> list[Rank]:
    """Ranks of a run of 1 s that are outside MPI for as long as said, each bound to a core of its own."""
    made = [Rank(me, len(useful_ms), affinity=(me,), **more) for me in range(len(useful_ms))]
    for rank, useful in zip(made, useful_ms, strict=True):
        rank.count("MPI_Allreduce", ns=(1000 - useful) * MS)
    return made


def names(recording) -> list[str]:
    return [each.name for each in findings_of(recording)[0]]


def test_a_rank_that_computes_four_times_as_long_costs_what_is_more_than_the_mean(tmp_path):
    recording = recorded(tmp_path / "a.rw", four([200, 200, 200, 800]))
    (found,) = findings_of(recording)[0]
    assert (found.name, found.ranks) == ("load-imbalance", [3])
    assert found.sentence == "rank 3 computes 4.0 times as long as the mean of the others"
    assert found.cost_s == pytest.approx(0.8 - 0.35)
    # AND every view begins with it
    report = build(recording)
    text = " ".join(render_text(report, verbose=True).split())
    assert (
        "1. rank 3 computes 4.0 times as long as the mean of the others; fixing it saves about 450 ms of 1 s"
        in text
    )
    assert text.index("What to fix") < text.index("Efficiency")
    assert found.sentence[1:] in render_html(report)


def test_half_of_the_ranks_may_be_to_blame(tmp_path):
    (found,) = findings_of(recorded(tmp_path / "a.rw", four([300, 300, 900, 900])))[0]
    assert found.ranks == [2, 3] and found.cost_s == pytest.approx(0.3)
    assert found.sentence.startswith("ranks 2, 3 compute 3.0 times as long")


def test_ranks_that_differ_by_little_have_nothing_to_fix_and_that_is_said(tmp_path):
    # GIVEN 80 ms more on one rank, whose mending saves 60 ms: more than 5 %; and half of that
    assert names(recorded(tmp_path / "a.rw", four([800, 800, 800, 880]))) == []
    assert names(recorded(tmp_path / "b.rw", four([700, 700, 700, 780]))) == ["load-imbalance"]
    recording = recorded(tmp_path / "c.rw", four([900, 900, 900, 940]))
    assert names(recording) == []
    text = " ".join(render_text(build(recording), verbose=True).split())
    assert (
        "nothing to fix was found; what costs less than 50 ms is not named looked for too-many-ranks" in text
    )
    not_looked_for = text.split("not looked for: ")[1]
    assert "late-sender" in not_looked_for
    assert "this needs `rankwise record --trace --exact-times`" in not_looked_for


def test_a_low_efficiency_without_a_finding_says_what_most_is_lost_to(tmp_path):
    # GIVEN ranks that compute for 8 ms of a second, of which nothing is found
    report = build(recorded(tmp_path / "a.rw", four([8, 8, 8, 8])))
    report = msgspec.structs.replace(report, findings=[])
    said = (
        "othing to fix was found; what costs less than 50 ms is not named. Parallel efficiency is 0.01 all the same: "
        "most is lost to communication (0.01)"
    )
    for text in (render_text(report), render_text(report, section="fix"), render_html(report)):
        assert said in " ".join(text.split())


def test_where_calls_were_not_timed_no_cost_is_said_to_be_too_small(tmp_path):
    # GIVEN ranks whose calls were counted, and nothing timed
    ranks = [Rank(me, 2, flags=FINALIZED | UNTIMED) for me in range(2)]
    report = build(recorded(tmp_path / "a.rw", ranks))
    assert not report.findings
    for text in (render_text(report), render_text(report, section="fix"), render_html(report)):
        said = " ".join(text.split())
        assert "othing to fix was found; calls were not timed, so most costs are not known" in said
        assert "what costs less than" not in said


def test_waiting_for_a_core_is_taken_off_computation(tmp_path):
    # GIVEN a rank that is outside MPI for 600 ms more, 550 of which it may have waited for a core
    ranks = four([200, 200, 200, 800])
    ranks[3].runqueue_wait_ns = 550 * MS
    found = findings_of(recorded(tmp_path / "a.rw", ranks))[0]
    # THEN that is what is told, and no imbalance, of which 50 ms are sure; it was in MPI for 200 ms at most
    assert [each.name for each in found] == ["busy-cores"] and found[0].cost_s == pytest.approx(0.35)


def test_an_imbalance_that_depends_on_where_ranks_waited_for_a_core_is_said_not_to_be_judged(tmp_path):
    # GIVEN two ranks that are outside MPI for 900 and 600 ms, and wait for a core for 500 ms each
    ranks = four([900, 600])
    for rank in ranks:
        rank.runqueue_wait_ns = 500 * MS
    found, without = findings_of(recorded(tmp_path / "a.rw", ranks))
    # THEN they may have computed for 400 ms both, or 500 and 100 ms
    assert "load-imbalance" not in [each.name for each in found]
    (why,) = (each.why for each in without if each.name == "load-imbalance")
    assert "could not be judged, because ranks waited for a core for 50 %" in why and "--trace" in why


def test_a_trace_finds_the_imbalance_of_ranks_that_waited_for_a_core(tmp_path):
    # GIVEN ranks that compute for 100 and 300 ms of 1 s, by the processor time between their calls, in gaps of 450 ms
    ranks = traced(2)
    for rank, compute_ms in zip(ranks, (100, 300), strict=True):
        rank.trace.append(b"\xf7" + u(compute_ms * MS >> 10))
        rank.together("MPI_Barrier", 450, 550)
        rank.trace.append(b"\xf4" + u(600 * MS >> 17) + u(400 * MS >> 17))
        rank.runqueue_wait_ns = 600 * MS
    (found,) = (
        each
        for each in findings_of(recording_of(tmp_path / "a.rw", ranks))[0]
        if each.name == "load-imbalance"
    )
    # THEN the one computes 200 ms more, which costs half of that
    assert (found.ranks, found.confidence) == ([1], "medium") and found.cost_s == pytest.approx(0.1, abs=0.02)
    assert "ranks waited for a core for 60 % of their time" in found.evidence[-1]


def test_standing_still_is_not_called_computation(tmp_path):
    ranks = four([200, 200, 200, 800])
    ranks[3].still_ns = 700 * MS
    ranks[3].mpi_ns = 200 * MS
    for rank in ranks:
        rank.modules, rank.sites = ["/opt/app"], [(0, "MPI_Allreduce", 0x40, 1, rank.mpi_ns, 0)]
    (found,) = findings_of(recorded(tmp_path / "a.rw", ranks))[0]
    assert found.sentence.startswith("rank 3 is outside MPI 4.0 times")
    # AND of what it is a part is said directly before
    first, still, others, place = found.evidence
    assert first == "800 ms against 200 ms of the others, in a run of 1 s"
    assert still == (
        "rank 3 stood still for 500 ms of that: it slept, was stopped, or waited for a file or another thread"
    )
    assert others == "the others are in MPI for 800 ms, rank 3 for 200 ms"
    assert place.startswith("the others spend most of their MPI time in MPI_Allreduce at app +0x40: look")


def test_more_ranks_than_cores_cost_what_they_waited(tmp_path):
    # GIVEN five ranks on four PUs that waited for a core for 200 ms each, and a rank with 2.5 times the work
    ranks = four([300, 300, 300, 300, 950])
    for rank in ranks:
        rank.affinity, rank.runqueue_wait_ns = (0, 1, 2, 3), 200 * MS
    first, second = findings_of(recorded(tmp_path / "a.rw", ranks))[0]
    assert second.name == "too-many-ranks" and second.cost_s == pytest.approx(0.2)
    assert second.sentence == "5 ranks share 4 PUs of n0"
    # AND of the work what is sure: 750 ms of one, 300 ms of each other
    assert (first.name, first.cost_s) == ("load-imbalance", pytest.approx(0.75 - 0.39))


def test_ranks_that_wait_for_a_core_while_they_wait_for_others_lose_nothing(tmp_path):
    # GIVEN five ranks on four PUs, one of which computes all the time while the others look for its message
    ranks = four([300, 300, 300, 300, 960])
    for rank in ranks:
        rank.affinity, rank.runqueue_wait_ns = (0, 1, 2, 3), 400 * MS
    ranks[4].runqueue_wait_ns = 0
    # THEN cores for all save no more than what is left of the run beside that computation, which is not told
    assert names(recorded(tmp_path / "a.rw", ranks)) == ["load-imbalance"]


@pytest.mark.parametrize(("wait_ms", "expected"), [(400, ["shared-core"]), (20, [])])
def test_two_ranks_on_one_core_while_others_are_free(tmp_path, wait_ms, expected):
    ranks = four([900, 900])
    for rank in ranks:
        rank.affinity, rank.runqueue_wait_ns = (0,), wait_ms * MS
    found = findings_of(recorded(tmp_path / "a.rw", ranks))[0]
    assert [each.name for each in found] == expected
    if found:
        assert found[0].sentence == "ranks 0, 1 share PU 0 of n0 while 3 PUs there have no rank"
        assert found[0].cost_s == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("pus", "all_pus", "crowded", "free"),
    [
        ([{0}, {1}], 2, None, None),
        ([{0, 1}, {0, 1}], 2, None, None),
        ([{0}, {0}], 2, ({0}, [0, 1]), 1),
        ([{0}, {0}, {1}], 2, ({0}, [0, 1]), 0),
        ([{0, 1}, {0, 1}, {0, 1}], 8, ({0, 1}, [0, 1, 2]), 6),
        ([{0}, {0, 1}, {1}], 2, ({0, 1}, [0, 1, 2]), 0),
        ([set(), set()], None, None, None),
        ([set(), {0}, {0}], None, ({0}, [1, 2]), 0),
    ],
)
def test_ranks_are_too_many_where_they_are_more_than_the_pus_that_they_may_use(pus, all_pus, crowded, free):
    node = NodeSeats("n0", list(range(len(pus))), [frozenset(each) for each in pus], all_pus)
    found = node.crowded()
    assert found == (crowded and (frozenset(crowded[0]), crowded[1]))
    if found:
        assert node.free(*found) == free


def test_ranks_that_were_bound_to_one_core_later_are_that_changes_doing(tmp_path):
    ranks = four([900, 900])
    columns = [(10_000, NOTE_COLUMNS, 1, "user_ns")]
    for rank in ranks:
        rank.runqueue_wait_ns = 450 * MS
        rank.notes = [*columns, (10_000, NOTE_ALLOWED, 0, str(rank.world_rank))]
        rank.rows = [[10_000, 0], [10_000 + 1000 * MS, 5]]
    ranks[0].notes.append((10_000 + 150 * MS, NOTE_ALLOWED, 0, "1"))
    (found,) = findings_of(recorded(tmp_path / "a.rw", ranks))[0]
    assert (found.name, found.ranks, found.cost_s) == ("cores-changed", [0], pytest.approx(0.45))
    assert "rank 0 had PU 1 from 150 ms on, and PU 0 before" in found.sentence


def late(back=False, core_ms=0) -> list[Rank]:
    """Rank 0 computes 100 ms and sends, rank 1 waits for that and then computes as long, five times.

    Rank 1 sends an answer before it computes, or after that (`back`). Of 200 ms both wait `core_ms` for a core.
    """
    first, second = (
        Rank(me, 2, affinity=(me,), flags=FINALIZED | TRACED, run_ns=1000 * MS) for me in range(2)
    )
    sent = [u(0) + z(1 - me) + z(0) + u(8) for me in range(2)]
    received = [u(0) + z(1 - me) + z(0) + z(1 - me) + z(0) + u(8) for me in range(2)]
    barrier = u(0) + z(-1) + u(0) + u(8) + u(0) + u(0) + u(0)
    for _ in range(5):
        first.event("MPI_Send", 100 * MS, MS, sent[0])
        second.event("MPI_Recv", 0, 101 * MS, received[1])
        if back:
            second.event("MPI_Send", 98 * MS, MS, sent[1])
            first.event("MPI_Recv", 0, 99 * MS, received[0])
        else:
            second.event("MPI_Send", 0, MS, sent[1])
            second.event("MPI_Barrier", 97 * MS, MS, barrier)
            first.event("MPI_Recv", 0, MS, received[0])
            first.event("MPI_Barrier", 0, 98 * MS, barrier)
        for rank in (first, second):
            if core_ms:
                rank.event(SCHED, 0, 0, u(core_ms * MS) + u((200 - core_ms) * MS))
                rank.runqueue_wait_ns += core_ms * MS
    for rank in (first, second):
        rank.count("MPI_Recv", ns=500 * MS)
    return [first, second]


def test_a_sender_that_computes_while_its_receiver_waits_is_named(tmp_path):
    found = findings_of(recorded(tmp_path / "a.rw", late()))[0]
    # THEN rank 1 waited 100 ms five times
    assert found[0].name == "late-sender" and found[0].ranks == [0, 1]
    assert found[0].sentence == "rank 1 waits 500 ms in MPI_Recv for rank 0, which sends late"
    assert "5 messages that rank 0 sends with MPI_Send" in found[0].evidence[0]
    assert found[0].cost_s == pytest.approx(0.5, rel=0.05)


def test_what_a_late_sender_waited_for_a_core_is_not_its_fault(tmp_path):
    found, not_looked_for = findings_of(recorded(tmp_path / "a.rw", late(core_ms=90)))
    assert [each.name for each in found] == ["busy-cores"]
    assert "late-sender" not in {each.name for each in not_looked_for}


@pytest.mark.parametrize(
    ("core_s", "computes_s", "costs"),
    [
        (0.0, 0.3, [0.4]),
        (0.6, 0.01, []),
        (0.6, 0.3, "it could not be judged, because ranks waited for a core for"),
    ],
)
def test_a_rank_that_is_late_by_its_work_or_for_want_of_a_core_could_not_be_judged(core_s, computes_s, costs):
    # GIVEN a rank that another one waited for 0.4 s of 1 s for, and that at least computed, and wanted a core, so long
    pair = LatePair(0, 1, "message", 0, 0, 0.4, 1, 8.0)
    times = SimpleNamespace(
        elapsed_s=1.0,
        useful_least_s=np.full(2, computes_s),
        useful_most_s=np.full(2, 0.9),
        core_outside_s=np.full(2, core_s),
    )
    evidence = SimpleNamespace(times=times, core_waiting=core_s)
    # WHEN what it costs is asked for, THEN it is known, or for sure nothing, or that cannot be told
    if isinstance(costs, str):
        with pytest.raises(RankwiseError, match=costs):
            Evidence.costly_pairs(evidence, [pair], 1.0)
    else:
        assert [cost for cost, _ in Evidence.costly_pairs(evidence, [pair], 1.0)] == costs


def test_a_run_of_which_a_rank_is_missing_is_not_judged_by_times(tmp_path):
    ranks = four([200, 200, 200, 800])
    ranks[1].flags = ABORTED
    found, not_looked_for = findings_of(recorded(tmp_path / "a.rw", ranks))
    assert found == []
    assert ("load-imbalance", "not every rank is recorded to its end") in [
        (each.name, each.why) for each in not_looked_for
    ]


def test_a_finding_that_fails_does_not_break_the_report(tmp_path, monkeypatch):
    def fail(evidence):
        raise ZeroDivisionError("no such thing")

    broken = SimpleNamespace(NAME="broken", PAGE="", find=fail)
    monkeypatch.setattr(catalogue, "DEFECTS", (broken, *DEFECTS))
    report = build(recorded(tmp_path / "a.rw", four([200, 800])))
    assert [each.name for each in report.findings] == ["load-imbalance"]
    assert "broken: it failed: ZeroDivisionError: no such thing" in " ".join(
        render_text(report, verbose=True).split()
    )


def counts(nodes=(), interfaces=(), **more):
    """What is asked of a recording for what nodes counted: its tables, of which not given ones are empty."""
    schema = [
        "host",
        "interface",
        "rx_errors",
        "rx_dropped",
        "tx_errors",
        "tx_dropped",
        "rx_packets",
        "tx_packets",
    ]
    tables = {
        "interface_samples": pl.DataFrame(list(interfaces), schema=schema, orient="row"),
        "port_counters": pl.DataFrame(
            schema={
                "host": pl.String,
                "device": pl.String,
                "port": pl.String,
                "counter": pl.String,
                "count": pl.Int64,
            }
        ),
    } | more
    return SimpleNamespace(
        recording=SimpleNamespace(
            context={"nodes": list(nodes)}, table=lambda name: tables[name], ranks=more.get("ranks")
        )
    )


@pytest.mark.parametrize(
    ("again", "sent", "told"), [(30, 7000, True), (7, 7000, False), (9, 100, False), (10, 10_000, True)]
)
def test_tcp_that_sends_one_segment_of_a_thousand_again_is_told(again, sent, told):
    tcp = {"sent_segments": sent, "retransmitted_segments": again}
    nodes = [{"host": f"n{at}", "tcp": tcp, "tcp_causes": {"timeouts": 2, "needless": 0}} for at in range(3)]
    found = tcp_retransmits.find(counts([*nodes, {"host": "x", "tcp": None, "tcp_causes": None}]))
    assert bool(found) == told
    if told:
        assert (
            found[0].sentence.startswith("TCP of n0 sent")
            and "(2 timeouts); the same on 2 more nodes" in found[0].sentence
        )


@pytest.mark.parametrize(("lost", "told"), [(9, False), (10, True)])
def test_an_interface_that_loses_packets_is_told(lost, told):
    rows = [("n0", "eth0", 0, 0, 0, 0, 10_000, 0), ("n0", "eth0", 0, lost, 0, 0, 50_000, 50_000)]
    found = lost_packets.find(counts(interfaces=rows))
    assert bool(found) == told
    if told:
        assert "10 at eth0 of n0, of 100 k" in found[0].sentence


def test_ranks_that_are_bound_or_move_seldom_do_not_migrate():
    ranks = pl.DataFrame({"rank": [0, 1, 2], "time_s": [10.0] * 3})
    use = pl.DataFrame({"rank": [0, 1, 2], "migrations": [1000, 999, 1000]})
    evidence = counts(ranks=ranks, rank_use=use)
    evidence.nodes = [
        NodeSeats("n0", [0, 1, 2], [frozenset({0, 1, 2}), frozenset({0, 1, 2}), frozenset({3})], 4)
    ]
    evidence.asked = None
    evidence.cores_of = lambda host, pus: len(pus)
    evidence.bound_command = lambda: "mpiexec -bind-to core -n 3 ./app"
    (found,) = unbound_migrating.find(evidence)
    assert (
        found.ranks == [0]
        and found.sentence == "rank 0 is not bound to a core and moved often: rank 0 most, 1 k times"
    )


def test_each_file_of_defects_is_a_finding_that_is_looked_for():
    files = {path.stem for path in Path(defects.__file__).parent.glob("*.py")} - {"__init__"}
    assert sorted(name.replace("-", "_") for name in NAMES) == sorted(files)
    assert [defect.NAME for defect in DEFECTS] == list(NAMES)


def test_each_finding_has_a_page_with_all_that_one_must_know(capsys):
    for defect in DEFECTS:
        assert main(["explain", defect.NAME]) == 0
        page = capsys.readouterr().out
        # What to do comes first: the other parts say why one should believe it.
        parts = ("What to do:", "How it is detected:", "Shown if:", "Its cost:", "It is wrong if:")
        assert [found for found in re.findall(r"^[\w ]+:", page, re.MULTILINE) if found in parts] == list(
            parts
        )
        assert max(map(len, page.splitlines())) <= 80
        sentences = re.split(r"(?<=[.:?;])\s", " ".join(page.split()))
        assert max(len(each.split()) for each in sentences) <= 35, defect.NAME
        # A list is one: no item flows into the line before it, nor what follows the list into its last item.
        assert not re.search(r"\S - \w+: |: - ", page), defect.NAME
        for part in page.split("\n\n"):
            _, *items = re.split(r"^- ", part, flags=re.MULTILINE)
            assert all(line.startswith("  ") for item in items for line in item.splitlines()[1:]), defect.NAME
            if any(item.rstrip().endswith(";") for item in items):
                assert not any(re.search(r"[.?]\s+\S", item) for item in items), defect.NAME
        assert "run-queue" not in page, defect.NAME
    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    assert all(defect.NAME in listed for defect in DEFECTS)
    assert main(["explain", "no-such"]) == 1
    assert "there is no finding `no-such`" in capsys.readouterr().err


@pytest.mark.parametrize("ranks", [4, 16])
def test_one_rank_that_another_process_kept_from_its_core_costs_what_it_delays_the_others(tmp_path, ranks):
    # GIVEN a rank that waits 480 ms for its core, outside MPI, while all others wait for it
    made = computing([480] * (ranks - 1) + [960])
    made[-1].runqueue_wait_ns = 480 * MS
    (found, *_) = findings_of(recorded_on_nodes(tmp_path / "a.rw", made, {"n0": [{}] * 4}))[0]
    assert (found.name, found.ranks) == ("busy-cores", [ranks - 1])
    assert found.cost_s == pytest.approx(0.44, abs=0.05)


def test_a_crowded_node_among_many_is_told(tmp_path):
    # GIVEN one node of ten whose two ranks share a PU and wait for it
    hosts = [f"n{at // 2}" for at in range(20)]
    made = computing([400] * 18 + [900, 900], hosts)
    for rank in made[-2:]:
        rank.affinity, rank.runqueue_wait_ns = (0,), 450 * MS
    found = findings_of(recorded_on_nodes(tmp_path / "a.rw", made, {host: [{}] * 4 for host in hosts}))[0]
    assert {"shared-core", "too-many-ranks"} & {each.name for each in found}


def test_ranks_with_threads_in_mpi_are_not_judged_by_their_times(tmp_path):
    made = computing([900, 10, 10, 10])
    made += [Rank(me, 4, affinity=(me,), thread=1) for me in range(1, 4)]
    found, without = findings_of(recorded_on_nodes(tmp_path / "a.rw", made, {"n0": [{}] * 4}))
    assert "load-imbalance" not in [each.name for each in found]
    assert any("several threads of a rank call MPI" in each.why for each in without)

# SPDX-License-Identifier: BSD-3-Clause
"""Findings of where ranks are: their order, better placements, interfaces."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import machine
from pairs import LAPS, MB, MS, pairs, save
from raw_writer import FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.errors import RankwiseError
from rankwise.explain.loss import Loss
from rankwise.findings.catalogue import findings_of
from rankwise.findings.defects import order_does_not_matter
from rankwise.findings.evidence import Evidence
from rankwise.findings.on_machine import OnMachine
from rankwise.findings.order import crossings, in_order
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.quantities import seconds_text
from rankwise.recording import Recording
from rankwise.report.build import build
from rankwise.report.text import render


def on(recording, **how) -> Evidence:
    """On nodes of two cores whose network takes 10 ms for 1 MB."""
    there = OnMachine(
        recording,
        machine(network={"G_s_per_byte": 1e-8}, nodes=2, **how),
        recording.topology,
        "m.machine.toml",
    )
    there.search_s = 0.2
    return Evidence(recording, there)


def found(evidence):
    return {each.name: each for each in findings_of(evidence)[0]}


def test_ranks_dealt_round_the_nodes_while_neighbours_talk(tmp_path):
    recording = pairs(tmp_path / "a.rw")
    told = found(on(recording))
    # THEN all bytes go between nodes and need not, and what order saves is the messages' 10 ms, 40 times
    order = told["order-against-hierarchy"]
    assert order.sentence == (
        "ranks are not in the order of the machine: now 100 % of the bytes go between nodes, and in the order of the "
        "machine 0 % would"
    )
    assert order.cost_s == pytest.approx(0.4, rel=0.05)
    # AND the search has nothing better, which is not told twice
    assert "far-placement" not in told and "order-does-not-matter" not in told


def test_without_a_machine_it_is_told_without_a_cost(tmp_path):
    order = found(pairs(tmp_path / "a.rw"))["order-against-hierarchy"]
    assert order.cost_s is None and "--machine" in order.estimate
    # AND there is nothing to paste, as it is not known how it was launched
    assert order.command is None


@pytest.mark.parametrize(
    ("mpi_ms", "waited_ms", "told"),
    [
        ([500, 500, 500, 500], 0, True),
        # Waiting for the rank that computes longer, and waiting for a core, are not the order's.
        ([10, 500, 500, 500], 0, False),
        ([500, 500, 500, 500], 480, False),
    ],
)
def test_waiting_for_others_or_a_core_is_not_what_order_costs(tmp_path, mpi_ms, waited_ms, told):
    # GIVEN ranks dealt round two nodes whose neighbours talk, without a trace
    ranks = []
    for me, ms in enumerate(mpi_ms):
        rank = Rank(me, 4, f"n{me % 2}", affinity=(me // 2,), flags=FINALIZED, run_ns=1000 * MS)
        rank.mpi_ns, rank.runqueue_wait_ns = ms * MS, waited_ms * MS
        rank.send(me ^ 1, MB, times=20, ns=ms * MS // 20)
        ranks.append(rank)
    assert ("order-against-hierarchy" in found(Evidence(save(tmp_path / "a.rw", ranks)))) == told


def test_with_a_machine_that_it_cannot_be_predicted_on_it_is_told_without_a_cost_too(tmp_path, monkeypatch):
    # GIVEN a run whose trace is not there
    monkeypatch.setattr(
        "rankwise.findings.on_machine.why_not_replayed", lambda recording: "there is no trace"
    )
    order = found(on(pairs(tmp_path / "a.rw")))["order-against-hierarchy"]
    assert order.cost_s is None and order.estimate == "not predicted: there is no trace"


def test_ranks_in_order_are_not_told(tmp_path):
    recording = pairs(tmp_path / "a.rw", (0, 0, 1, 1))
    assert "order-against-hierarchy" not in found(recording)
    assert not {"order-against-hierarchy", "far-placement"} & set(found(on(recording)))


def test_messages_that_cost_little_are_not_told(tmp_path):
    # GIVEN the same, where the messages take 1 % of the run
    recording = pairs(tmp_path / "a.rw", message_ms=0, compute_ms=50)
    there = OnMachine(recording, machine(network={"G_s_per_byte": 1e-10}, nodes=2), recording.topology, "m")
    there.search_s = 0.2
    assert "order-against-hierarchy" not in found(Evidence(recording, there))


def test_a_better_placement_that_no_order_is_names_the_pairs(tmp_path):
    # GIVEN ranks in order, whose partners are 0 and 3, 1 and 2: numbers 0 and 1 exchanged with 3 and 2 of the pairs
    recording = pairs(tmp_path / "a.rw", (0, 1, 1, 0))
    evidence = on(recording)
    # WHEN order does not help: rank 0 is with 3, in order with 1, which is its partner
    told = found(evidence)
    assert "order-against-hierarchy" in told
    # AND where it does not, the best placement is told with who belongs together
    crossed = crosswise(tmp_path / "b.rw")
    far = found(on(crossed))["far-placement"]
    assert far.cost_s == pytest.approx(0.4, rel=0.05)
    assert "ranks 0 and 2 (40 MB)" in far.evidence[1] and "ranks 1 and 3 (40 MB)" in far.evidence[1]
    assert "rankwise place" in far.command and "--machine m.machine.toml" in far.command


def crosswise(path) -> Recording:
    """Ranks 0 and 2, and 1 and 3, talk; two ranks a node, in order."""
    ranks = []
    for me in range(4):
        rank = Rank(me, 4, f"n{me // 2}", affinity=(me % 2,), flags=FINALIZED | TRACED, run_ns=LAPS * 30 * MS)
        peer = me ^ 2
        sent, received = u(0) + z(peer) + z(0) + u(MB), u(0) + z(peer) + z(0) + z(peer) + z(0) + u(MB)
        for lap in range(LAPS):
            if me < 2:
                rank.event("MPI_Send", 5 * MS, 0, sent)
                rank.event("MPI_Recv", 0, 25 * MS, received)
            else:
                rank.event("MPI_Recv", 0, (25 if lap else 15) * MS, received)
                rank.event("MPI_Send", 5 * MS, 0, sent)
        rank.send(peer, MB, times=LAPS, ns=0)
        rank.recv(peer, MB, times=LAPS, ns=25 * MS)
        ranks.append(rank)
    return save(path, ranks)


def test_transfer_is_split_by_channel_and_what_placing_gives_back(tmp_path):
    recording = pairs(tmp_path / "a.rw")
    evidence = on(recording)
    report = build(recording, on_machine=evidence.on_machine)
    split = report.transfer_split
    # THEN bytes of the network are two thirds of the run of 600 ms, which placing gives back
    assert split.makespan_s == pytest.approx(0.6, rel=0.02)
    (network,) = (each for each in split.losses if (each.name, each.part) == ("network", "bytes"))
    assert network.lost_s == pytest.approx(0.4, rel=0.05)
    assert split.placement_s == pytest.approx(0.4, rel=0.05)
    text = " ".join(render(report, verbose=True).split())
    assert (
        f"network bytes {seconds_text(network.lost_s)} (" in text
        and "the best placement found gives back 400 ms" in text
    )


def test_without_a_machine_there_is_no_split(tmp_path):
    assert build(pairs(tmp_path / "a.rw")).transfer_split is None


def test_what_is_not_known_is_said(tmp_path):
    rank = Rank(0, 1)
    rank.count("MPI_Barrier", ns=1000)
    recording = Recording.open(write_recording(tmp_path / "a.rw", [rank]))
    with pytest.raises(RankwiseError, match="it is not known on which cores"):
        crossings(recording)
    with pytest.raises(RankwiseError, match="--machine FILE"):
        Evidence(recording).on_machine  # noqa: B018


@given(st.permutations(range(8)))
def test_order_takes_the_same_seats_whoever_had_them(seats):
    topology = Topology.of(from_synthetic("package:2 core:2"), 2)
    placement = Placement.explicit(topology, [(seat // 4, [seat % 4]) for seat in seats])
    ordered = in_order(placement)
    assert ordered.node.tolist() == [0] * 4 + [1] * 4
    assert np.array_equal(ordered.cores, [0, 1, 2, 3] * 2)


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("resource", "nic_tx+nic_rx", "the network interfaces (nic_tx, nic_rx)"),
        ("resource", "memory", "the resource memory"),
        ("channel", "network", "the channel network"),
    ],
)
def test_what_costs_time_where_order_does_not_matter_has_the_words_of_reports(kind, name, words):
    # GIVEN placements that all take 10 s, of which 4 s are lost to one thing
    times = SimpleNamespace(makespan_s=10.0, prediction=True)
    there = SimpleNamespace(
        recorded=SimpleNamespace(node=[0, 1]),
        prediction=times,
        candidates=[times, times],
        losses=[Loss(kind, name, "all", 4.0)],
    )
    # WHEN
    (found,) = order_does_not_matter.find(SimpleNamespace(on_machine=there, mpi_share=0.5))
    # THEN it is named as elsewhere in the report
    assert found.sentence.endswith(f"; time is lost to {words}")
    assert found.evidence == [f"if {words} took no time, the run would take 4 s less"]

# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of workloads that did not run: counts, times and what is said of them."""

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankwise.cli
from rankwise.errors import RankwiseError
from rankwise.generated import ideal, relays
from rankwise.generated.recording import Ran, generate
from rankwise.machine.file import load as load_machine
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.recording import Recording
from rankwise.recording.check import check
from rankwise.recording.job import choose_job
from rankwise.recording.raw import read
from rankwise.recording.traces.timeline import rank_events
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import Source, load
from rankwise.workloads import generate as count
from rankwise.workloads import program, schedule
from rankwise.workloads.program import Kind

BENSLEY = Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml"
EVERY = [
    ("cg", "S", 8, {}),
    ("ft", "S", 4, {}),
    ("mg", "S", 8, {}),
    ("bt", "S", 4, {}),
    ("is", "S", 4, {}),
    ("lu", "S", 4, {}),
    ("halo", "", 6, {"points": "27"}),
    ("lammps", "", 4, {"thermo": 2}),
    ("gromacs", "", 8, {"pme": 2}),
    ("namd", "", 5, {}),
    ("ring", "", 3, {"bytes": 1 << 16, "tile": 1 << 14}),
    ("tree", "", 7, {"shape": "binary"}),
    ("alltoall", "", 5, {"order": "linear"}),
    ("random", "", 9, {}),
    ("hpl", "", 6, {"n": 400, "nb": 16, "bcast": "2ring"}),
]
KINDS = ("MPI_Send", "MPI_Isend")


def on_ideal(ranks: int, **more) -> Ran:
    machine = ideal.machine(ranks)
    topology = topology_of(machine, Path("."))
    placement = Placement.explicit(topology, [(0, [rank]) for rank in range(ranks)])
    return Ran(machine, topology, placement, **more)


def on_bensley(ranks: int, each: int) -> Ran:
    machine = load_machine(BENSLEY)
    topology = topology_of(machine, BENSLEY.parent)
    seats = [(rank // each, [rank % each]) for rank in range(ranks)]
    return Ran(machine, topology, Placement.explicit(topology, seats))


def made(tmp_path, name, problem_class, ranks, options, ran, iterations=3):
    chosen = program(name, problem_class, ranks, iterations, options)
    generate(chosen, ran, tmp_path / "made.rw", ["rankwise", "workloads", name])
    return chosen, Recording.open(tmp_path / "made.rw")


def by_size_range(counted) -> Counter:
    """(source, destination, upper end of the size range) -> messages and bytes."""
    found = Counter()
    columns = (counted.source, counted.destination, counted.bytes, counted.messages)
    for source, destination, size, messages in zip(*(c.tolist() for c in columns), strict=True):
        upper = 1 << (size - 1).bit_length() if size else 0
        found[source, destination, upper, "messages"] += messages
        found[source, destination, upper, "bytes"] += messages * size
    return +found


def recorded_by_size_range(messages) -> Counter:
    found = Counter()
    for row in messages.iter_rows(named=True):
        for what in ("messages", "bytes"):
            found[row["source"], row["destination"], row["bytes_up_to"], what] += row[what]
    return +found


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("name", "problem_class", "ranks", "options"), EVERY, ids=[case[0] for case in EVERY]
)
def test_tables_have_what_is_counted_without_running(tmp_path, name, problem_class, ranks, options):
    # GIVEN a recording of a workload WHEN it is read as any other
    _, recording = made(tmp_path, name, problem_class, ranks, options, on_ideal(ranks))
    counted = count(name, problem_class, ranks, 3, options)
    # THEN nothing is missing, and point-to-point messages are those counted, as sent and as received
    assert {each.state for each in check(recording.path)} <= {"whole", "not covered"}
    assert recording.context["problems"] == []
    sent = recording.messages.filter(pl.col("call").is_in(KINDS))
    assert recorded_by_size_range(sent) == by_size_range(counted)
    assert recording.received["bytes"].sum() == sent["bytes"].sum()
    assert recording.received["messages"].sum() == sent["messages"].sum()
    # AND so are the collectives
    calls = Counter()
    for each in counted.collectives:
        # Of an alltoallv a rank knows what it sends itself; here all send as much.
        own = each.bytes if each.sizes is None else each.bytes // len(each.communicator)
        calls[each.call, each.communicator, own] += each.calls * len(each.communicator)
    members = dict(recording.communicators.select("communicator", "members").iter_rows())
    found = Counter()
    for row in recording.collectives.iter_rows(named=True):
        found[row["call"], tuple(members[row["communicator"]]), row["bytes"]] += row["count"]
    assert found == calls


EXACT = ("cg", "mg", "lammps", "ring", "tree")


@pytest.mark.one_of(3)
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])
def test_a_prediction_is_that_of_the_workloads_own_schedule(tmp_path, case):
    # GIVEN a recording of ranks of which each has a node, so that no collective goes by nodes
    name, problem_class, _, options = case
    if name in ("gromacs", "random"):
        options = {"peers": 3} if name == "random" else {"pme": 1}
    ran = on_bensley(4, 1)
    chosen, recording = made(tmp_path, name, problem_class, 4, options, ran)
    # WHEN it and the workload's schedule are replayed
    found, wanted = (
        Predictor.of(source, ran.machine, ran.topology, plain=True).in_canonical_order(ran.placement)
        for source in (load(recording.path), Source(schedule(chosen, 1e9), "goal"))
    )
    # THEN times are equal; where messages are waited for together or arrive at once, but for the order of ties
    tolerance = 1e-9 if name in EXACT else 0.03
    assert found.makespan_s(ran.placement) == pytest.approx(wanted.makespan_s(ran.placement), rel=tolerance)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case[0])
def test_the_recorded_run_is_its_own_replay(tmp_path, case):
    # GIVEN a recording made on a machine with several ranks a node
    name, problem_class, ranks, options = case
    ran = on_bensley(ranks, 4)
    _, recording = made(tmp_path, name, problem_class, ranks, options, ran)
    # WHEN it is replayed where it says that it ran
    source = load(recording.path)
    assert source.recorded.same_seats(ran.placement)
    predictor = Predictor.of(source, ran.machine, ran.topology, plain=True).in_canonical_order(ran.placement)
    replayed = predictor.predict(ran.placement)
    # THEN every rank reaches its end when the recording says
    assert source.omitted == {}
    assert replayed.finish_s == pytest.approx(source.span.rank_s, rel=1e-6, abs=1e-9)


def test_calls_take_as_long_as_the_model_says(tmp_path):
    # GIVEN two ranks of one package that swap 1000 bytes, after one has computed for 10 us, the other for as long
    ran = on_bensley(2, 2)
    chosen, recording = made(tmp_path, "ring", "", 2, {"bytes": 8000, "passes": 5}, ran, iterations=1)
    job = choose_job(read(recording.path))
    for each in rank_events(job):
        names = [str(kind) for kind in each.columns["kind"]]
        # WHEN its calls are laid on one axis THEN computation of 2 * 1000 * 5 operations lies before the receive
        assert len(names) == 6  # barrier, receive, send, wait, reduce, finalize
        gap_s = each.columns["gap_ticks"] * 1e-12
        assert gap_s == pytest.approx([0, 1e-5, 0, 0, 0, 0])
        duration_s = each.columns["duration_ticks"] * 1e-12
        # AND posting takes no time, a send its overhead and copy, the wait what is left until the copy is there
        link = next(link for link in ran.machine.link_classes if link.channel == "package").segments
        segment = next(s for s in link if s.up_to_bytes is None or s.up_to_bytes >= 8000)
        assert duration_s[1] == 0
        assert duration_s[2] >= segment.o_s.value
        arrives = segment.o_s.value * 2 + segment.L_s.value + 7999 * segment.G_s_per_byte.value
        assert duration_s[2] + duration_s[3] >= arrives * 0.99


def test_clocks_of_all_nodes_are_one(tmp_path):
    # GIVEN a ring over two nodes, in which all compute for as long
    _, recording = made(tmp_path, "ring", "", 4, {"bytes": 1 << 20}, on_bensley(4, 2))
    # THEN nobody has to find out how clocks relate
    assert [(clock.offset_s, clock.bound_s, clock.spread_s) for clock in recording.clocks()] == [
        (0, 0, 0)
    ] * 2
    # AND waiting is told apart from transferring
    waits = recording.waits()
    assert waits["waiting_s"].null_count() == 0
    assert (waits["waiting_s"] <= waits["time_s"] + 1e-12).all()


def test_without_a_machine_only_waiting_takes_time(tmp_path):
    # GIVEN a tree on an ideal network, in which nobody computes
    _, recording = made(tmp_path, "tree", "", 8, {}, on_ideal(8))
    # THEN calls take no time
    assert recording.ranks["time_s"].to_list() == [0.0] * 8
    # AND where ranks compute, all time is computation: 3 iterations of 64^3 points with 13 operations
    generate(program("halo", "", 8, 3), on_ideal(8), tmp_path / "halo.rw", [])
    halo = Recording.open(tmp_path / "halo.rw")
    assert halo.ranks["compute_s"].to_list() == pytest.approx([3 * 64**3 * 13 * 1e-9] * 8)
    assert halo.ranks["mpi_s"].sum() == 0


def test_slower_cores_and_shares_of_the_operations_change_computation_alone(tmp_path):
    _, slow = made(tmp_path, "halo", "", 4, {}, on_ideal(4, operations_per_s=5e8, computation=0.1))
    assert slow.ranks["compute_s"].to_list() == pytest.approx([3 * 64**3 * 13 * 0.1 / 5e8] * 4)


def test_node_names_and_cores_are_those_of_the_placement(tmp_path):
    # GIVEN a machine whose OS order is not its logical order
    ran = on_bensley(6, 4)
    _, recording = made(tmp_path, "tree", "", 6, {}, ran)
    # THEN ranks were bound to the PUs of their cores, on nodes of that topology
    pus = [entry["pus"] for entry in recording.context["bindings"]]
    assert pus == [[0], [2], [1], [3], [0], [2]]
    assert [host["host"] for host in recording.context["hosts"]] == ["node0", "node1"]
    assert recording.placement.same_seats(ran.placement)


def test_it_says_everywhere_that_nothing_ran(tmp_path, capsys):
    # GIVEN a generated recording
    path = tmp_path / "cg.rw"
    assert (
        rankwise.cli.main(["workloads", "cg", "--trace", "--class", "S", "--ranks", "4", "-o", str(path)])
        == 0
    )
    assert capsys.readouterr().err == f"Wrote {path}\nnext: rankwise report {path}\n"
    # WHEN it is reported and predicted
    assert rankwise.cli.main(["report", str(path)]) == 0
    first = capsys.readouterr().out
    assert rankwise.cli.main(["report", "-v", "-f", str(path)]) == 0
    report = capsys.readouterr().out
    assert rankwise.cli.main(["predict", str(path), "--machine", str(BENSLEY), "--no-losses"]) == 0
    predicted = capsys.readouterr().err
    assert rankwise.cli.main(["report", str(path), str(path)]) == 0
    compared = capsys.readouterr().err
    # THEN each says what it is
    assert compared.count(f"no program ran of `{path}`: it is cg class S on an ideal network") == 2
    assert "exit status" not in report
    assert "generated, not measured" in " ".join(first.split())
    assert "No program ran: this is cg class S on an ideal network, 1 Gf a core." in " ".join(report.split())
    assert "no program ran: this is cg class S on an ideal network, 1 Gf a core  [generated]" in predicted


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cg", "--trace", "--count"], "`--trace` does without `--count` and `--json`"),
        (["cg", "--machine", "m.toml"], "`--machine` goes with NAME and `--trace`"),
        (["--trace"], "`--trace` goes with NAME and `--trace`"),
        (["cg", "--trace", "--iterations", "0"], "`--iterations 0` is none"),
    ],
)
def test_options_that_do_not_go_together_are_said(capsys, arguments, sentence):
    assert rankwise.cli.main(["workloads", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_recording_that_is_there_is_replaced_if_asked_for_alone(tmp_path, capsys):
    line = ["workloads", "tree", "--trace", "--ranks", "2", "--iterations", "1", "-o", str(tmp_path / "t.rw")]
    assert rankwise.cli.main(line) == 0
    before = (tmp_path / "t.rw" / "recording.json").read_bytes()
    assert rankwise.cli.main(line) == 125
    assert (tmp_path / "t.rw" / "recording.json").read_bytes() == before
    assert rankwise.cli.main([*line, "--force"]) == 0


def test_more_ranks_than_cores_are_refused_before_anything_is_written(tmp_path, capsys):
    line = [
        "workloads",
        "tree",
        "--trace",
        "--ranks",
        "17",
        "--machine",
        str(BENSLEY),
        "-o",
        str(tmp_path / "t.rw"),
    ]
    assert rankwise.cli.main(line) == 1
    assert "has 16 cores, not `17`" in capsys.readouterr().err
    assert not (tmp_path / "t.rw").exists()


def test_a_placement_of_other_ranks_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(RankwiseError, match="the placement has 3 ranks, the program has 4"):
        generate(program("tree", "", 4), on_ideal(3), tmp_path / "t.rw", [])
    assert not (tmp_path / "t.rw").exists()


@pytest.mark.parametrize("broadcast", ["1ring", "1ringM", "2ring", "2ringM"])
def test_what_depends_on_time_is_found_when_a_replay_finds_it(tmp_path, broadcast):
    # GIVEN HPL, whose ranks look for panels to pass on while they compute, on two nodes
    options = {"n": 1600, "nb": 32, "p": 2, "q": 4, "bcast": broadcast}
    ran = on_bensley(8, 4)
    chosen, recording = made(tmp_path, "hpl", "", 8, options, ran, iterations=None)
    # WHEN it and the workload's own schedule, which looks after each part, are replayed
    found, wanted = (
        Predictor.of(source, ran.machine, ran.topology, plain=True).in_canonical_order(ran.placement)
        for source in (load(recording.path), Source(schedule(chosen, 1e9), "goal"))
    )
    # THEN the run takes as long: panels are passed on in the midst of computation, not behind it
    assert found.makespan_s(ran.placement) == pytest.approx(wanted.makespan_s(ran.placement), rel=0.01)
    # AND all that computes takes as long as its operations
    operations = sum(float(events["operations"].sum()) for _, events in chosen.each_rank())
    assert recording.ranks["compute_s"].sum() == pytest.approx(operations * 1e-9, rel=1e-3)


def test_relays_cut_computation_where_they_are_found():
    # GIVEN a relay over two computations of 10 and 20 operations, with a send between them
    kinds = [Kind.RELAY_RECV, Kind.RELAY_SEND, Kind.COMPUTE, Kind.SEND, Kind.COMPUTE, Kind.RELAY_END]
    events = {"kind": np.array(kinds), "operations": np.array([0.0, 0, 10, 0, 20, 0])}
    events |= {"peer": np.array([1, 2, 0, 3, 0, 0]), "counts": np.empty(0)}

    def moved(operations):
        found = relays._moved(events, np.array([0]), np.array([operations]))
        return list(zip(found["kind"].tolist(), found["operations"].tolist(), strict=True))

    passed_on = [(Kind.RECV, 0), (Kind.SEND, 0)]
    send, end = (Kind.SEND, 0), (Kind.RELAY_END, 0)
    # WHEN it is found before, within, or after them, THEN it is cut there
    assert moved(4.0) == [(Kind.COMPUTE, 4), *passed_on, (Kind.COMPUTE, 6), send, (Kind.COMPUTE, 20), end]
    assert moved(15.0) == [(Kind.COMPUTE, 10), send, (Kind.COMPUTE, 5), *passed_on, (Kind.COMPUTE, 15), end]
    assert moved(99.0) == [(Kind.COMPUTE, 10), send, (Kind.COMPUTE, 20), *passed_on, end]


def test_hpl_is_recorded_as_it_comes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert rankwise.cli.main(["workloads", "hpl", "--trace"]) == 0
    assert Recording.open(tmp_path / "hpl.16r.rw").world_size == 16


def test_an_ideal_machine_has_no_more_cores_than_a_node_can_have():
    with pytest.raises(RankwiseError, match="at most 8192 ranks"):
        ideal.machine(8193)
    assert np.all([link.segments[0].L_s.value == 0 for link in ideal.machine(2).link_classes])


@pytest.mark.slow
def test_a_thousand_ranks(tmp_path):
    chosen, recording = made(tmp_path, "halo", "", 1024, {}, on_ideal(1024))
    assert recording.world_size == 1024
    assert recording.messages.filter(pl.col("call") == "MPI_Isend")["messages"].sum() == 3 * 1024 * 6

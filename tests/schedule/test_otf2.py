# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 traces, written with the otf2 package as Score-P writes them."""

import re
import sys
from pathlib import Path

import pytest

from rankwise.cli import main
from rankwise.errors import RankwiseError
from rankwise.replay.plain import LogGOPS, predict_plain
from rankwise.schedule.source import load

otf2 = pytest.importorskip("otf2", reason="the otf2 package is not installed")

MACHINE = Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml"
TICKS = 10**6  # a second


class Trace:
    """A trace of some ranks under construction; `call` writes an MPI call that takes no time."""

    def __init__(self, path, ranks):
        self.path, self.ranks = path, ranks

    def __enter__(self):
        self.archive = otf2.writer.open(str(self.path), timer_resolution=TICKS)
        trace = self.archive.__enter__()
        self.definitions = trace.definitions
        node = self.definitions.system_tree_node("node0", parent=self.definitions.system_tree_node("machine"))
        self.locations = []
        for rank in range(self.ranks):
            group = self.definitions.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            self.locations.append(self.definitions.location("Master thread", group=group))
        mpi = otf2.Paradigm.MPI
        self.definitions.group("", otf2.GroupType.COMM_LOCATIONS, mpi, members=self.locations)
        self.world = self.comm(range(self.ranks))
        self.regions = {}
        self.writers = [trace.event_writer_from_location(location) for location in self.locations]
        self.now = [1000] * self.ranks
        for rank in range(self.ranks):
            self.call(rank, "MPI_Init", takes=500)
        return self

    def comm(self, members):
        group = self.definitions.group(
            "", otf2.GroupType.COMM_GROUP, otf2.Paradigm.MPI, members=[self.locations[m] for m in members]
        )
        return self.definitions.comm("comm", group=group)

    def compute(self, rank, ticks):
        self.now[rank] += ticks

    def call(self, rank, name, *records, takes=0):
        if name not in self.regions:
            self.regions[name] = self.definitions.region(name, paradigm=otf2.Paradigm.MPI)
        writer = self.writers[rank]
        writer.enter(self.now[rank], self.regions[name])
        for record, *arguments in records:
            getattr(writer, record)(self.now[rank], *arguments)
        self.now[rank] += takes
        writer.leave(self.now[rank], self.regions[name])

    def collective(self, rank, name, root, sent, received, comm=None):
        operation = getattr(otf2.CollectiveOp, name.upper())
        end = ("mpi_collective_end", operation, comm or self.world, root, sent, received)
        self.call(rank, "MPI_" + name.capitalize(), ("mpi_collective_begin",), end)

    def __exit__(self, *error):
        for rank in range(self.ranks):
            self.call(rank, "MPI_Finalize")
            self.now[rank] += 10**6  # what follows is no part of the program
            self.call(rank, "MPI_Initialized")
        return self.archive.__exit__(*error)


def goal(path):
    return load(path).schedule.write_goal()


def test_computation_is_what_is_between_calls(tmp_path):
    # GIVEN 2 ms of computation, 7 ms in a send, 3 ms of computation behind it
    with Trace(tmp_path / "t", 2) as trace:
        trace.compute(0, 2000)
        trace.call(0, "MPI_Send", ("mpi_send", 1, trace.world, 7, 100), takes=7000)
        trace.compute(0, 3000)
        trace.call(1, "MPI_Recv", ("mpi_recv", 0, trace.world, 7, 100), takes=9000)
    read = load(tmp_path / "t")
    assert (read.kind, read.library, read.omitted) == ("otf2", "mpich", {})
    assert read.schedule.write_goal().split("\n") == [
        "num_ranks 2", "", "rank 0 {", "l0: calc 2000000", "l1: send 100b to 1 tag 0", "l2: calc 3000000",
        "l1 requires l0", "l2 requires l1", "}", "", "rank 1 {", "l0: recv 100b from 0 tag 0", "}", "",
    ]  # fmt: skip
    assert goal(tmp_path / "t" / "traces.otf2") == read.schedule.write_goal()


def test_requests_end_where_they_are_waited_for(tmp_path):
    with Trace(tmp_path / "t", 2) as trace:
        trace.call(0, "MPI_Isend", ("mpi_isend", 1, trace.world, 7, 1, 5))
        trace.call(0, "MPI_Wait", ("mpi_isend_complete", 5))
        trace.call(1, "MPI_Irecv", ("mpi_irecv_request", 9))
        trace.call(1, "MPI_Irecv", ("mpi_irecv_request", 10))  # is cancelled
        trace.compute(1, 8)
        trace.call(1, "MPI_Wait", ("mpi_irecv", 0, trace.world, 7, 1, 9))
        trace.compute(1, 1)
    read = load(tmp_path / "t")
    # THEN a message of 10 us comes while 8 us are computed, and 1 us follows it
    assert predict_plain(read.schedule, LogGOPS(L_s=10e-6)).makespan_s == pytest.approx(11e-6)
    assert list(read.omitted.values()) == [1]


def test_the_halves_of_a_sendrecv_do_not_wait_for_each_other(tmp_path):
    with Trace(tmp_path / "t", 3) as trace:
        for rank in range(3):
            out = ("mpi_send", (rank + 1) % 3, trace.world, 1, 10)
            trace.call(rank, "MPI_Sendrecv", out, ("mpi_recv", (rank + 2) % 3, trace.world, 1, 10))
    # THEN a ring of rendezvous messages goes round
    assert predict_plain(load(tmp_path / "t").schedule, LogGOPS(L_s=1e-6, S_bytes=0)).makespan_s > 0


def test_ranks_of_a_communicator_are_translated(tmp_path):
    with Trace(tmp_path / "t", 3) as trace:
        comm = trace.comm([2, 0])
        trace.call(2, "MPI_Send", ("mpi_send", 1, comm, 1, 10))
        trace.call(0, "MPI_Recv", ("mpi_recv", 0, comm, 1, 10))
        for rank in (0, 2):
            trace.collective(rank, "bcast", 0, 2 * 8 if rank == 2 else 0, 8, comm)
    text = goal(tmp_path / "t")
    assert re.findall(r"send (\d+)b to (\d)", text) == [("10", "0"), ("8", "0")]
    assert re.findall(r"recv (\d+)b from (\d)", text) == [("10", "2"), ("8", "2")]


N = 4
# What Score-P states for each rank: bytes to and from all, as if they exchanged directly.
STATED = {
    "barrier": (lambda me: (0, 0), 0),
    "bcast": (lambda me: (400 if me == 1 else 0, 100), 300),
    "reduce": (lambda me: (100, 400 if me == 1 else 0), 300),
    "gather": (lambda me: (24, 96 if me == 1 else 0), 96),
    "scatter": (lambda me: (96 if me == 1 else 0, 24), 96),
    "allgather": (lambda me: (4 * 40, 4 * 40), 480),
    "gatherv": (lambda me: (8 * (me + 1), 80 if me == 1 else 0), 8 + 24 + 32),
    "scatterv": (lambda me: (80 if me == 1 else 0, 8 * (me + 1)), 8 + 24 + 32),
    "alltoallv": (lambda me: (4 * 8 * (me + 1), 80), 3 * 80),
    "alltoall": (lambda me: (4 * 1000, 4 * 1000), 12000),
}


@pytest.mark.parametrize("name", STATED)
def test_blocks_are_found_in_what_is_stated(tmp_path, name):
    stated, expected = STATED[name]
    with Trace(tmp_path / "t", N) as trace:
        for rank in range(N):
            trace.collective(rank, name, 1, *stated(rank))
    assert sum(int(each) for each in re.findall(r"send (\d+)b", goal(tmp_path / "t"))) == expected


@pytest.mark.parametrize(
    ("name", "plain", "in_place"),
    [
        ("allreduce", lambda me: (4 * 101, 4 * 101), lambda me: (3 * 101, 3 * 101)),
        ("reduce", lambda me: (100, 400 if me == 1 else 0), lambda me: (0, 300) if me == 1 else (100, 0)),
        ("scan", lambda me: ((N - me) * 100, (me + 1) * 100), lambda me: ((N - me - 1) * 100, me * 100)),
    ],
)
def test_in_place_is_told_where_it_can_be(tmp_path, name, plain, in_place):
    texts = []
    for at, stated in enumerate((plain, in_place)):
        with Trace(tmp_path / str(at), N) as trace:
            for rank in range(N):
                trace.collective(rank, name, 1, *stated(rank))
        texts.append(goal(tmp_path / str(at)))
    assert texts[0] == texts[1]
    assert "send" in texts[0]


def test_nonblocking_collectives_run_beside_computation(tmp_path):
    with Trace(tmp_path / "t", 2) as trace:
        for rank in range(2):
            trace.call(rank, "MPI_Ibarrier", ("non_blocking_collective_request", 3))
            trace.compute(rank, 10)
            operation = (otf2.CollectiveOp.BARRIER, trace.world, 0xFFFFFFFF, 0, 0, 3)
            trace.call(rank, "MPI_Wait", ("non_blocking_collective_complete", *operation))
    assert predict_plain(load(tmp_path / "t").schedule, LogGOPS(L_s=9e-6)).makespan_s == pytest.approx(10e-6)


def test_a_damaged_trace_is_one_error(tmp_path):
    with Trace(tmp_path / "t", 2) as trace:
        trace.collective(0, "bcast", 0, 10, 5)
    anchor = tmp_path / "t" / "traces.otf2"
    anchor.write_bytes(anchor.read_bytes()[:20])
    with pytest.raises(RankwiseError) as error:
        load(anchor)
    assert f"`{anchor}` cannot be read by the otf2 package" in str(error.value)


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "traces.otf2").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(RankwiseError) as error:
        load(tmp_path)
    assert "pip install 'rankwise[otf2]'" in error.value.hint


def test_no_placement_is_searched_for_a_trace(tmp_path, capsys):
    with Trace(tmp_path / "app", 2) as trace:
        for rank in range(2):
            trace.compute(rank, 100)
    words = ["place", str(tmp_path / "app"), "--machine", str(MACHINE), "-o", str(tmp_path / "best.json")]
    assert main(words) == 1
    assert f"error: `{tmp_path / 'app'}` is a trace of OTF2" in capsys.readouterr().err
    assert not (tmp_path / "best.json").exists()

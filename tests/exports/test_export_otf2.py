# SPDX-License-Identifier: BSD-3-Clause
"""Recordings as OTF2 archives, read back by the reader of `predict` and by the otf2 package."""

import re
import shutil
import subprocess
import sys
from collections import Counter

import mpis
import pytest
from raw_writer import u, write_recording, z
from traced import random_program, ranks_of

from rankwise.cli import main
from rankwise.schedule.source import load

otf2 = pytest.importorskip("otf2", reason="the otf2 package is not installed")


def exported(path):
    directory = path.with_name(path.stem + "-otf2")
    assert main(["export", str(path), "--format", "otf2", "-q"]) == 0
    return directory


def messages(source):
    """By rank, how many sends and receives of what size there are with whom."""
    found = Counter()
    for rank, part in enumerate(source.schedule.write_goal().split("rank ")[1:]):
        for kind, size, peer in re.findall(r": (send|recv) (\d+)b (?:to|from) (\d+)", part):
            found[rank, kind, int(size), int(peer)] += 1
    return found


def events(directory):
    with otf2.reader.open(str(directory / "traces.otf2")) as trace:
        return [(location.name, location.group.name, event) for location, event in trace.events]


def test_a_ring_is_read_back_with_its_messages(ring):
    # GIVEN a ring of 23 laps on 4 ranks
    path = ring()
    directory = exported(path)
    # THEN the archive has each message once at each end
    read = load(directory)
    assert (read.kind, read.omitted) == ("otf2", {})
    assert messages(read) == messages(load(path))
    assert sum(messages(read).values()) == 2 * 4 * 23
    # AND a location a rank on its node, and times in nanoseconds
    found = events(directory)
    assert {group for _, group, _ in found} == {f"MPI Rank {rank}" for rank in range(4)}
    first = next(e for _, _, e in found if type(e).__name__ == "MpiSend")
    # after 300 us in MPI_Init and 10 us of computation
    assert first.time == 310_000 and (first.msg_tag, first.msg_length) == (7, 1000)
    calls = Counter(e.region.name for _, _, e in found if type(e).__name__ == "Enter")
    assert calls == {"MPI_Send": 92, "MPI_Recv": 92, "MPI_Init": 4, "MPI_Finalize": 4, "ring": 4}


def test_computation_is_read_back(ring):
    path = ring()
    directory = exported(path)

    def computed(source):
        return sum(map(int, re.findall(r": calc (\d+)", source.schedule.write_goal())))

    # Up to the rounding to nanoseconds.
    assert computed(load(directory)) == pytest.approx(computed(load(path)), abs=1000 * 4 * 48)


def test_all_kinds_of_calls_are_read_back(tmp_path):
    # GIVEN requests, one of them cancelled, MPI_PROC_NULL, collectives, and a communicator that turns ranks round

    ranks = ranks_of(4)
    for me, rank in enumerate(ranks):
        right, left = (me + 1) % 4, (me - 1) % 4
        rank.comm(2, [3, 2, 1, 0])
        rank.irecv(left, 64, tag=3)  # 4 back behind the next ones
        rank.isend(right, 64, tag=3)
        rank.irecv(-1, 8)  # of MPI_PROC_NULL
        rank.irecv(-2, 8, tag=9)  # is cancelled
        rank.waitall((4, left, 3, 64), 3, (2, -1, -1, 0), (1, -1, -1, 0))
        both = z(right) + z(5) + u(100 + me), z(left) + z(5) + z(left) + z(5) + u(100 + left)
        rank.event("MPI_Sendrecv", 10, 100, u(2) + both[0] + u(2) + both[1])
        rank.send(-1, 8)
        rank.coll("MPI_Barrier", 0)
        for comm, root in ((0, 1), (2, 0)):
            for call in ("MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Scatter"):
                rank.coll(call, 80, comm=comm, root=root)
        rank.coll("MPI_Allreduce", 64)  # which halves as bytes do: OTF2 does not know what is an element
        for call in ("MPI_Allgather", "MPI_Alltoall", "MPI_Scan", "MPI_Exscan"):
            rank.coll(call, 80)
        rank.coll("MPI_Reduce_scatter_block", 8)
        rank.coll("MPI_Alltoallv", 4 * 16, sizes=(16, 16, 16, 16))
        rank.coll(
            "MPI_Gatherv",
            8 * (me + 1),
            root=2,
            size2=80 * (me == 2),
            sizes=(8, 16, 24, 32) if me == 2 else (),
        )
        rank.coll("MPI_Ibcast", 40, root=3)
        rank.waitall(1)
    path = write_recording(tmp_path / "x.rw", ranks)
    # WHEN
    directory = exported(path)
    # THEN the messages are the same, those inside collectives too
    assert messages(load(directory)) == messages(load(path))
    kinds = Counter(type(e).__name__ for _, _, e in events(directory))
    assert kinds["MpiRequestCancelled"] == kinds["NonBlockingCollectiveComplete"] == 4
    received = {
        e.size_received
        for _, _, e in events(directory)
        if str(getattr(e, "collective_op", "")).endswith("ALLTOALLV")
    }
    assert received == {64}


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_read_back(tmp_path, seed):
    path = write_recording(tmp_path / "x.rw", random_program(seed, 4, 40))
    written, read = messages(load(path)), messages(load(exported(path)))
    # THEN as many messages go each way, and those from point to point have their sizes; what is received there has its
    # own size in OTF2, and that of its buffer in a recording
    ways = [Counter(), Counter()]
    for way, found in zip(ways, (written, read), strict=True):
        for (rank, kind, size, peer), count in found.items():
            if kind == "send":
                way[rank, peer] += count
            if kind == "send" and size in (1, 100, 3000):
                way[rank, peer, size] += count
    assert ways[0] == ways[1] and ways[0]


def test_a_peer_that_is_no_rank_is_refused(tmp_path, capsys):
    ranks = ranks_of(2)
    ranks[0].send(5, 8)
    path = write_recording(tmp_path / "x.rw", ranks)
    assert main(["export", str(path), "--format", "otf2"]) == 1
    assert "message with rank `5`" in capsys.readouterr().err
    assert not (tmp_path / "x-otf2").exists()


def test_what_has_no_records_is_said(tmp_path, capsys):
    ranks = ranks_of(2)
    for rank in ranks:
        rank.event("MPI_Put", 10, 100)
    assert main(["export", str(write_recording(tmp_path / "x.rw", ranks)), "--format", "otf2"]) == 0
    assert "2 one-sided calls" in capsys.readouterr().err


def test_a_part_of_a_run_has_no_end_and_says_so(ring):
    directory = exported(ring(last=0))
    assert b"partial: the end of rank 3" in (directory / "traces.otf2").read_bytes()
    ended = [
        group
        for _, group, e in events(directory)
        if type(e).__name__ == "Enter" and e.region.name == "MPI_Finalize"
    ]
    assert sorted(ended) == [f"MPI Rank {rank}" for rank in range(3)]


def test_an_archive_is_replaced_only_by_force(ring, capsys):
    path = ring()
    directory = exported(path)
    assert main(["export", str(path), "--format", "otf2"]) == 1
    assert "--force" in capsys.readouterr().err
    assert main(["export", str(path), "--format", "otf2", "--force"]) == 0
    assert messages(load(directory)) == messages(load(path))


def test_without_the_package_it_says_what_to_install(ring, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "otf2", None)
    assert main(["export", str(ring()), "--format", "otf2"]) == 1
    assert "pip install 'rankwise[otf2]'" in capsys.readouterr().err


@pytest.mark.mpi
def test_a_recorded_ring_is_read_back_and_by_otf2_print(compiled, tmp_path):
    mpi = mpis.named("mpich-5.0.2")
    line = mpi.launch(4, compiled(mpi, "ring.c"))
    words = [sys.executable, "-m", "rankwise", "record", "--trace", "--exact-times", "-o", "ring.rw", "-q"]
    subprocess.run([*words, "--", *line], env=mpi.environment(), cwd=tmp_path, check=True)
    directory = exported(tmp_path / "ring.rw")
    assert messages(load(directory)) == messages(load(tmp_path / "ring.rw"))
    sends = {
        key: count for key, count in messages(load(directory)).items() if key[1] == "send" and key[2] == 1000
    }
    assert sends == {(rank, "send", 1000, (rank + 1) % 4): 23 for rank in range(4)}
    if shutil.which("otf2-print"):  # Debian package `otf2-tools`
        done = subprocess.run(
            ["otf2-print", directory / "traces.otf2"], capture_output=True, text=True, check=True
        )
        assert done.stdout.count("MPI_SEND") == 4 * 23

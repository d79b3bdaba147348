# SPDX-License-Identifier: BSD-3-Clause
"""Ranks and threads with other cores than were asked for or are needed, in recordings written by hand."""

import json

import pytest
from raw_writer import MANIFEST, Rank, write_recording
from saved_topology import save_topology

from rankwise.findings.catalogue import findings_of
from rankwise.recording import Recording
from rankwise.recording.layouts import NOTE_ALLOWED, NOTE_COLUMNS

MS = 1_000_000
START = 10_000


def threaded(me, size, pus, threads=1, wait_ms=0, crowded=True) -> Rank:
    """A rank of 1 s, mostly outside MPI, whose threads were looked at twice."""
    rank = Rank(me, size, affinity=pus, runqueue_wait_ns=wait_ms * MS)
    rank.count("MPI_Allreduce", ns=50 * MS)
    names = ("user_ns", "thread_looks", "threads_busy", "threads_crowded")
    rank.notes = [(START, NOTE_COLUMNS, 1, name) for name in names]
    rank.notes.append((START, NOTE_ALLOWED, 0, ",".join(map(str, pus))))
    rank.rows = [[START, 0, 0, 0, 0], [START + 1000 * MS, 5, 2, 2 * threads, 2 * threads * crowded]]
    return rank


def found_in(path, ranks, line="mpiexec -n 2 ./app", launcher=("hydra", "MPICH", "5.0.2")):
    path = write_recording(path, ranks)
    for host in {rank.host for rank in ranks}:
        save_topology(path / "raw" / f"{host}.topology.tar", (0, 0, 1, 1))
    kind, vendor, version = launcher
    word = next(each for each in line.split() if each.startswith(("mpi", "srun")))
    used = {"kind": kind, "vendor": vendor, "version": version, "path": f"/usr/bin/{word}"}
    (path / "recording.json").write_text(json.dumps(MANIFEST | {"command": line.split(), "launcher": used}))
    return findings_of(Recording.open(path))[0]


def test_threads_on_one_core_while_others_are_free_are_told_with_the_line_that_mends_it(tmp_path):
    # GIVEN two ranks with two threads each on one PU of four, the first threads waiting for it half of the time
    ranks = [threaded(me, 2, (me,), threads=2, wait_ms=480) for me in range(2)]
    # WHEN that is looked at
    (found,) = found_in(tmp_path / "a.rw", ranks)
    # THEN threads share cores, and it is not called other processes
    assert (found.name, found.ranks, found.cost_s) == ("threads-share-cores", [0, 1], pytest.approx(0.48))
    assert (
        found.sentence
        == "rank 0 has 2 threads that compute and 1 PU for them, while 2 PUs of n0 have no rank"
    )
    assert found.command == "mpiexec -bind-to core:2 -n 2 ./app"


@pytest.mark.parametrize(
    "ranks",
    [
        [threaded(0, 1, (0, 1), threads=2, wait_ms=480)],  # a PU for each
        [threaded(0, 1, (0,), threads=2, wait_ms=30)],  # hardly any waiting
        [threaded(0, 1, (0,), threads=2, wait_ms=480, crowded=False)],  # in turns
        [threaded(0, 1, (0,), threads=6, wait_ms=480)],  # more than the node has
    ],
)
def test_what_only_looks_like_threads_on_one_core_is_not(tmp_path, ranks):
    assert "threads-share-cores" not in [each.name for each in found_in(tmp_path / "a.rw", ranks)]


def test_ranks_that_share_a_core_though_each_was_to_have_one_are_bound_twice(tmp_path):
    ranks = [threaded(me, 2, (0,), wait_ms=450) for me in range(2)]
    line = "taskset -c 0 mpiexec -bind-to core -n 2 ./app"
    (found,) = found_in(tmp_path / "a.rw", ranks, line)
    assert (found.name, found.ranks, found.cost_s) == ("bound-otherwise", [0, 1], pytest.approx(0.45))
    assert found.sentence == "`-bind-to core` asks for 1 core for each rank, but ranks 0, 1 share PU 0 of n0"
    assert "something around the launcher leaves it no more" in found.evidence[0]
    assert found.command == "taskset -c 0 mpiexec -bind-to core -n 2 grep Cpus_allowed_list /proc/self/status"


def test_ranks_with_all_cores_though_one_was_asked_for(tmp_path):
    ranks = [threaded(me, 2, (0, 1, 2, 3)) for me in range(2)]
    open_mpi = ("prterun", "Open MPI", "5.0.11")
    (found,) = found_in(tmp_path / "a.rw", ranks, "mpirun --bind-to core -n 2 ./app", open_mpi)
    assert (found.name, found.cost_s, found.confidence) == ("bound-otherwise", None, "medium")
    assert found.sentence.endswith("asks for 1 core for each rank, but ranks 0, 1 may use 4 cores")
    # THEN nothing is told of a line that asks for nothing, for none, or for what the ranks have
    for at, line in enumerate(("mpirun -n 2 ./app", "mpirun --bind-to none -n 2 ./app")):
        assert found_in(tmp_path / f"{at}.rw", ranks, line, open_mpi) == []
    own = [threaded(me, 2, (me,)) for me in range(2)]
    assert found_in(tmp_path / "own.rw", own, "mpirun --bind-to core -n 2 ./app", open_mpi) == []


@pytest.mark.parametrize(("wait_ms", "expected"), [(480, ["bound-otherwise"]), (30, [])])
def test_cpus_that_srun_was_asked_for_and_threads_have_not(tmp_path, wait_ms, expected):
    ranks = [threaded(me, 2, (me,), threads=2, wait_ms=wait_ms) for me in range(2)]
    found = found_in(tmp_path / "a.rw", ranks, "srun -n 2 -c 2 ./app", ("srun", "Slurm", "22.05.8"))
    assert [each.name for each in found] == expected
    if found:
        assert found[0].sentence == "`-c 2` asks for 2 CPUs for each rank, but rank 0 has PU 0 for 2 threads"
        assert found[0].cost_s == pytest.approx(0.48)


@pytest.mark.parametrize(("user_ms", "spins"), [(900, True), (480, False)])
def test_too_many_ranks_that_spin_in_mpi_are_told_how_to_yield(tmp_path, user_ms, spins):
    # GIVEN five ranks on four PUs, each outside MPI for 450 ms, that computed for longer than that or hardly
    ranks = [threaded(me, 5, (0, 1, 2, 3), wait_ms=100) for me in range(5)]
    for rank in ranks:
        rank.count("MPI_Barrier", ns=500 * MS)
        rank.rows[1][1] = user_ms * MS
    found = found_in(tmp_path / "a.rw", ranks, "mpiexec -n 5 ./app")[0]
    # THEN one finding tells of both
    assert found.name == "too-many-ranks" and found.cost_s == pytest.approx(0.1)
    assert any("spin in MPI, 450 ms each" in line for line in found.evidence) == spins
    assert found.command == ("mpiexec -genv MPIR_CVAR_ENABLE_HEAVY_YIELD 1 -n 5 ./app" if spins else None)

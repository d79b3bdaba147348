# SPDX-License-Identifier: BSD-3-Clause
"""Threads, forks, error handlers that do not return, full disks, tables that grow."""

import subprocess

import pytest
import raw_reader

from rankwise.record.library import library_directory
from rankwise.recording.check import check

pytestmark = pytest.mark.mpi


def needs_threads(mpi, program):
    """Skip where the MPI has no MPI_THREAD_MULTIPLE: a run without the recorder says so, which must not change that."""
    if "no threads" in mpi.run(2, program).stdout:
        pytest.skip("this MPI does not provide MPI_THREAD_MULTIPLE")


def test_threads_that_call_mpi_at_once_are_counted_exactly(mpi, compiled, record):
    # GIVEN four threads a rank that send 2000 messages of 1 to 4 bytes each
    program = compiled(mpi, "threads.c", "-pthread")
    needs_threads(mpi, program)
    recorded = record(mpi, 2, program)
    for rank in range(2):
        threads = [t for t in recorded.threads if t.info["world_rank"] == rank]
        # THEN nothing is lost, each thread has its own record, and they are one process
        assert sum((t.sent for t in threads), start=raw_reader.Counter()).total() == 8000
        assert sum((t.received for t in threads), start=raw_reader.Counter()).total() == 8000
        assert sum(t.sent_bytes.total() for t in threads) == 2000 * (1 + 2 + 3 + 4)
        assert sum(t.received_bytes.total() for t in threads) == 2000 * (1 + 2 + 3 + 4)
        assert {t.info["thread"] for t in threads} == set(range(len(threads)))
        assert len({t.info["pid"] for t in threads}) == 1
        assert {t.info["thread_level"] for t in threads} == {3}
        assert all(t.has("finalized") and not t.has("unclassified") for t in threads)


def test_a_thread_that_follows_another_one_has_its_own_processor_time(mpi, compiled, record, tmp_path):
    # GIVEN a thread that computes for 0.4 s before its first call, and one that only calls
    program = compiled(mpi, "threads_in_turn.c", "-pthread")
    needs_threads(mpi, program)
    recorded = record(mpi, 1, program)
    # THEN they are one after the other in one record, whose processor time is that since their first calls
    (thread,) = [each for each in recorded.threads if each.count("MPI_Barrier")]
    assert 0 < thread.info["cpu_ns"] < 4e8
    assert "damaged" not in {file.state for file in check(tmp_path)}


def test_many_requests_of_one_handle_are_not_looked_through(mpi, compiled, record):
    # GIVEN 20000 sends to nowhere that are all outstanding, then a message each way
    program = compiled(mpi, "one_handle.c")
    needs_threads(mpi, program)
    recorded = record(mpi, 2, program, trace=True)
    for rank in range(2):
        thread = recorded.rank(rank)
        assert thread.sent == {(1 - rank, "MPI_Isend"): 1}
        assert thread.received_bytes == {(1 - rank, "MPI_Irecv"): 5}
        [waited] = [event for event in thread.events() if event["call"] == "MPI_Waitall"]
        completed = [done["request"] for done in waited["completed"]]
        # THEN the trace names each request that it names once, the message's with its number, and few of the others
        assert len(completed) == len(set(completed)) < 200
        assert {20000} < set(completed)


def test_tables_grow_and_lose_nothing(mpi, compiled, record):
    recorded = record(mpi, 2, compiled(mpi, "unusual.c"), "many", trace=True)
    for rank in range(2):
        thread = recorded.rank(rank)
        assert thread.sent == {(1 - rank, "MPI_Isend"): 2000}
        assert thread.received_bytes == {(1 - rank, "MPI_Irecv"): 2000 * 1999 // 2}
        sizes = sorted(entry["bytes"] for entry in thread.collectives if entry["call"] == "MPI_Bcast")
        assert sizes == list(range(3000))
        completed = [e for e in thread.events() if e["call"] == "MPI_Waitall"]
        assert [len(e["completed"]) for e in completed] == [4000]
        assert len({done["request"] for done in completed[0]["completed"]}) == 4000


def test_a_forked_child_leaves_the_recording_alone(mpi, compiled, record):
    recorded = record(mpi, 2, compiled(mpi, "unusual.c"), "fork")
    assert len(recorded.threads) == 2
    assert [t.count("MPI_Initialized") for t in recorded.threads] == [1, 1]


def test_recording_goes_on_after_a_call_that_was_left_by_longjmp(mpi, compiled, record):
    recorded = record(mpi, 2, compiled(mpi, "unusual.c"), "unwind")
    for rank in range(2):
        assert recorded.rank(rank).sent == {(1 - rank, "MPI_Sendrecv"): 1}
        assert recorded.rank(rank).has("finalized")


def test_calls_before_init_and_after_finalize_are_counted(mpi, compiled, record):
    for thread in record(mpi, 2, compiled(mpi, "unusual.c"), "nothing").threads:
        assert (thread.count("MPI_Initialized"), thread.count("MPI_Finalized")) == (1, 1)


def assert_partial_and_readable(recorded):
    """The program ended as without, at most one line was said, and what is there says that it is not all."""
    assert recorded.run.returncode == 0
    assert recorded.run.stderr.count("\n") <= 1
    assert recorded.run.stderr == "" or recorded.run.stderr.startswith("rankwise: ")
    assert recorded.threads or recorded.run.stderr
    assert any(t.has("full") for t in recorded.threads) or len(recorded.threads) < 2
    for thread in recorded.threads:
        events = thread.events()
        assert all(event["call"] != "lost" for event in events[:-1])
        if events and events[-1]["call"] != "lost":
            assert "MPI_Finalize" in {event["call"] for event in events}
        assert thread.has("full") or not events or events[-1]["call"] != "lost"
        assert thread.sent.total() + thread.info["unrecorded_messages"] >= 2000 or not thread.sent


@pytest.mark.one_of(3)
@pytest.mark.parametrize("chunks", [0, 1, 2, 5, 9])
def test_without_space_the_program_runs_on(mpi, compiled, record, tmp_path_factory, chunks):
    # GIVEN a file system that is full after some chunks
    full_disk = tmp_path_factory.mktemp("preload") / "full_disk.so"
    source = raw_reader.TOP / "tests" / "programs" / "full_disk.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", source, "-o", full_disk], check=True)
    preload = f"{library_directory() / 'librankwise_record.so'}:{full_disk}"
    environment = {"LD_PRELOAD": preload, "FULL_DISK_BYTES": str(4096 + 65536 * chunks)}
    # WHEN a program is recorded
    many = compiled(mpi, "unusual.c")
    assert_partial_and_readable(
        record(mpi, 2, many, "many", trace=True, expect=None, environment=environment)
    )


def test_the_file_size_limit_is_kept_without_a_signal(mpi, compiled, record):
    # GIVEN a program that limits the size of its files, which the kernel enforces by SIGXFSZ
    # THEN the recorder stops below the limit
    recorded = record(mpi, 2, compiled(mpi, "unusual.c"), "limit", trace=True, expect=None)
    assert_partial_and_readable(recorded)
    assert all(path.stat().st_size <= 1_700_000 for path in recorded.directory.rglob("*.rwn"))


def test_a_directory_that_cannot_be_written_costs_one_line(mpi, compiled, recorder, tmp_path):
    # GIVEN a recording directory that is a file
    (tmp_path / "raw").write_text("")
    done = mpi.run(2, compiled(mpi, "ring.c"), environment=recorder)
    # THEN the program runs as ever, and rank 0 says why nothing is recorded
    assert (done.returncode, done.stdout) == (0, "23 laps\n")
    assert done.stderr.startswith("rankwise: nothing is recorded: ")
    assert done.stderr.count("\n") == 1

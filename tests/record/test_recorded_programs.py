# SPDX-License-Identifier: BSD-3-Clause
"""Programs of all kinds: Fortran, Python, sessions, with tools of their own, without MPI, static."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import expected
import mpis
import pytest
import raw_reader

from rankwise.machine import topology
from rankwise.record.library import library_directory
from rankwise.recording import Recording

PROGRAMS = mpis.PROGRAMS
PLAIN = {"PATH": "/usr/bin:/bin"}


@pytest.mark.mpi
def test_a_pairwise_exchange_of_16_ranks_is_even(mpi, compiled, record):
    recorded = record(mpi, 16, compiled(mpi, "exchange16.c"))
    assert raw_reader.matrix(recorded.threads) == {(a, b): 1 for a in range(16) for b in range(16) if a != b}
    assert set(raw_reader.matrix(recorded.threads, "received_bytes").values()) == {1000}


@pytest.mark.mpi
@mpis.only(lambda _: True, quick=("debian-mpich",))  # others have no Fortran bindings
@pytest.mark.parametrize("binding", ["MPIFH", "USEMPI", "F08"])
def test_every_fortran_binding_is_seen_exactly_once(mpi, compiled, record, binding):
    if mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    flags = ["-cpp", f"-D{binding}"] + (["-fallow-argument-mismatch"] if binding == "MPIFH" else [])
    recorded = record(mpi, 4, compiled(mpi, "ring.f90", *flags))
    assert recorded.run.stdout.strip() == "6"
    for rank in range(4):
        thread, successor, predecessor = recorded.rank(rank), (rank + 1) % 4, (rank - 1) % 4
        assert thread.sent == {(successor, "MPI_Isend"): 23, (successor, "MPI_Sendrecv"): 23}
        assert thread.received_bytes == {
            (predecessor, "MPI_Irecv"): 9200,
            (predecessor, "MPI_Sendrecv"): 920,
        }
        assert [(c["call"], c["bytes"], c["flags"]) for c in thread.collectives] == [("MPI_Allreduce", 4, 2)]
        assert thread.count("MPI_Waitall") == 23
        assert thread.has("finalized")


@pytest.mark.mpi
@mpis.only(lambda _: True, quick=("mpich-5.0.2",))  # those of others do not work everywhere
def test_a_program_with_sessions_only_is_recorded(mpi, compiled, record):
    if not mpi.has("MPI_Session_init"):
        pytest.skip("this MPI has no sessions")
    program = compiled(mpi, "session.c")
    if mpi.run(3, program).returncode != 0 and mpi.name != "mpich-5.0.2":
        pytest.skip("this MPI's sessions do not work here")
    recorded = record(mpi, 3, program)
    for rank in range(3):
        assert recorded.rank(rank).sent == {((rank + 1) % 3, "MPI_Sendrecv"): 7}
        assert recorded.rank(rank).has("finalized")


@mpis.only(lambda _: True, quick=("mpich-5.0.2",))  # others have no second session
# MPICH 5.0.2 itself, unrecorded, ends 6 % of such runs on a busy machine (15 of 235), and more the busier it is: a
# process may read the address that another one had in its session before, or take a message of that one for its own.
# Only what ends so is tried again.
@pytest.mark.slow
@pytest.mark.flaky(
    reruns=3,
    reruns_delay=1,
    only_rerun=[
        "UCX  ERROR failed to unpack address",
        r"ze is 4096\b",
    ],  # "... buffer size is 4096", as pytest cuts it
)
@pytest.mark.mpi
@pytest.mark.parametrize("first", ["session", "world"])
def test_sessions_that_follow_each_other_are_recorded_and_run_as_ever(mpi, compiled, record, first):
    # GIVEN a program that opens a session after the last one, or after MPI_Finalize
    if not mpi.has("MPI_Session_init"):
        pytest.skip("this MPI has no sessions")
    program = compiled(mpi, "session_again.c")
    if mpi.run(2, program, first).returncode != 0:
        pytest.skip("this MPI has no second session")
    # THEN it ends as ever, and all of them are in the recording
    recorded = record(mpi, 2, program, first)
    for rank in range(2):
        thread = recorded.rank(rank)
        assert thread.count("MPI_Allreduce") == (300 if first == "session" else 400)
        assert thread.has("finalized")
        comms = [comm for comm in thread.comms.values() if comm["size"] == 2]
        assert [comm["members"] for comm in comms] == [[0, 1]] * len(comms) and len(comms) > 3


@pytest.mark.mpi
@pytest.mark.parametrize("how", ["linked", "in the program", "preloaded"])
def test_a_profiling_tool_works_on_and_counts_as_the_program(mpi, compiled, record, tmp_path_factory, how):
    # GIVEN a tool that counts MPI_Send and adds a barrier, as users have it
    directory = tmp_path_factory.mktemp("tool")
    tool, environment = directory / "libtool.so", {}
    mpi.compile("pmpi_tool.c", tool, "-shared", "-fPIC")
    if how == "linked":
        ring = compiled(
            mpi, "ring.c", f"-L{directory}", "-Wl,--no-as-needed", "-ltool", f"-Wl,-rpath,{directory}"
        )
    elif how == "in the program":
        ring = compiled(mpi, "ring.c", str(PROGRAMS / "pmpi_tool.c"))
    else:
        ring = compiled(mpi, "ring.c")
        environment = {"LD_PRELOAD": f"{library_directory() / 'librankwise_record.so'}:{tool}"}
    # WHEN the program is recorded
    recorded = record(mpi, 2, ring, environment=environment)
    # THEN the tool has seen what it would have seen, and each message is recorded once
    assert recorded.run.stdout == "23 laps\ntool: 23 sends\n"
    for rank in range(2):
        assert recorded.rank(rank).sent == {(1 - rank, "MPI_Send"): 23}
        assert recorded.rank(rank).has("finalized")


@pytest.mark.mpi
@mpis.only(lambda _: True, quick=("debian-openmpi",))  # others have no Fortran bindings
@pytest.mark.parametrize("how", ["linked", "in the program", "preloaded"])
def test_a_profiling_tool_in_fortran_works_on_and_counts_as_the_program(
    mpi, compiled, record, tmp_path_factory, how
):
    if mpi.mpifort is None:
        pytest.skip("this MPI has no Fortran bindings here")
    # GIVEN a tool that wraps what Fortran programs call: mpi_isend_ and its kin, which call pmpi_isend_
    directory = tmp_path_factory.mktemp("tool")
    tool, environment = directory / "libtool.so", {}
    mpi.compile("fortran_tool.c", tool, "-shared", "-fPIC")
    flags = ["-cpp", "-DMPIFH", "-fallow-argument-mismatch"]
    if how == "linked":
        flags += [f"-L{directory}", "-Wl,--no-as-needed", "-ltool", f"-Wl,-rpath,{directory}"]
    elif how == "in the program":
        flags.append(str(PROGRAMS / "fortran_tool.c"))
    else:
        environment = {"LD_PRELOAD": f"{library_directory() / 'librankwise_record.so'}:{tool}"}
    # WHEN the program is recorded
    recorded = record(mpi, 2, compiled(mpi, "ring.f90", *flags), environment=environment)
    # THEN the tool has seen what it would have seen, and each message is recorded once
    assert sorted(recorded.run.stdout.split("\n")) == ["", "1", "tool: 69 calls", "tool: 69 calls"]
    for rank in range(2):
        thread = recorded.rank(rank)
        assert thread.sent == {(1 - rank, "MPI_Isend"): 23, (1 - rank, "MPI_Sendrecv"): 23}
        assert thread.received_bytes == {(1 - rank, "MPI_Irecv"): 9200, (1 - rank, "MPI_Sendrecv"): 920}
        assert thread.count("MPI_Waitall") == 23
        assert thread.has("finalized")


@pytest.mark.mpi
@mpis.only(mpis.mpi4py_takes)
def test_mpi4py_is_recorded_with_large_counts(mpi, record):
    # GIVEN mpi4py, which loads MPI late and privately, and asks by weak references what it has
    library = next((mpi.mpicc.parent.parent / "lib").glob("libmpi.so.[14]*"))
    environment = {"MPI4PY_LIBMPI": str(library), "RANKWISE_MPI": str(library)}
    command = [sys.executable, PROGRAMS / "halo.py"]
    # WHEN each rank sends 1000 bytes to its successor 5 times, and all reduce 8 bytes
    recorded = record(mpi, 3, *command, environment=environment)
    # THEN it is all there; by the large-count functions where the library has them
    large = "_c" if mpi.family == "mpich" else ""
    assert recorded.run.stdout.strip() == "3.0"
    for rank in range(3):
        thread = recorded.rank(rank)
        assert thread.sent == {((rank + 1) % 3, f"MPI_Sendrecv{large}"): 5}
        assert thread.received_bytes == {((rank - 1) % 3, f"MPI_Sendrecv{large}"): 5000}
        assert (f"MPI_Allreduce{large}", 8) in [(c["call"], c["bytes"]) for c in thread.collectives]
        assert thread.info["executable"] == str(Path(sys.executable).resolve())


@pytest.mark.mpi
@mpis.only(mpis.mpi4py_takes)
def test_mpi4py_runs_where_its_mpi_is_not_known_beforehand(mpi, record):
    library = next((mpi.mpicc.parent.parent / "lib").glob("libmpi.so.[14]*"))
    environment = {"MPI4PY_LIBMPI": str(library)}
    recorded = record(mpi, 2, sys.executable, PROGRAMS / "halo.py", environment=environment)
    assert recorded.run.stdout.strip() == "2.0"
    assert recorded.threads == []


def test_programs_without_mpi_are_left_alone(recorder, tmp_path):
    # GIVEN commands that never call MPI, one of them a setting-up shell that starts others
    for command in (
        ["true"],
        ["bash", "-c", "ls / | sort | head -1; exit 3"],
        [sys.executable, "-c", "print(1)"],
    ):
        plain = subprocess.run(command, env=PLAIN, capture_output=True, check=False)
        # WHEN they are started with the recorder
        done = subprocess.run(command, env=PLAIN | recorder, capture_output=True, check=False)
        # THEN they do what they do without, and nothing is written
        assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_static_program_runs_as_ever(recorder, tmp_path, tmp_path_factory):
    source = tmp_path_factory.mktemp("static") / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("static"); return 5; }\n')
    program = source.with_suffix("")
    if subprocess.run(["cc", "-static", source, "-o", program], capture_output=True, check=False).returncode:
        pytest.skip("no static libc here")
    done = subprocess.run([program], env=PLAIN | recorder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, "static\n", "")
    assert list(tmp_path.iterdir()) == []


def test_weak_references_and_dlsym_find_no_more_mpi_than_there_is(recorder, tmp_path_factory):
    # GIVEN a plug-in that asks by weak references whether MPI is there
    directory = tmp_path_factory.mktemp("weak")
    plugin, program = directory / "weak.so", directory / "weak_main"
    subprocess.run(["cc", "-shared", "-fPIC", PROGRAMS / "weak.c", "-o", plugin], check=True)
    subprocess.run(["cc", PROGRAMS / "weak_main.c", "-o", program, "-ldl"], check=True)
    # WHEN there is no MPI
    done = subprocess.run(
        [program, plugin], env=PLAIN | recorder, capture_output=True, text=True, check=False
    )
    # THEN the recorder does not seem to be one
    assert (done.returncode, done.stdout, done.stderr) == (7, "0 0 0\n", "")


@pytest.mark.mpi
def test_weak_references_find_what_the_library_has(mpi, recorder, tmp_path_factory):
    # GIVEN the same plug-in in a program that is linked with MPI
    directory = tmp_path_factory.mktemp("weak")
    plugin = directory / "weak.so"
    subprocess.run(["cc", "-shared", "-fPIC", PROGRAMS / "weak.c", "-o", plugin], check=True)
    program = mpi.compile("weak_main.c", directory / "weak_main", "-ldl", "-Wl,--no-as-needed")
    plain = subprocess.run(
        [program, plugin], env=mpi.environment(), capture_output=True, text=True, check=False
    )
    done = subprocess.run(
        [program, plugin], env=mpi.environment() | recorder, capture_output=True, text=True, check=False
    )
    # THEN it sees the same with the recorder as without
    assert (done.returncode, done.stdout, done.stderr) == (7, plain.stdout, "")


@pytest.mark.mpi
def test_without_a_directory_nothing_is_recorded(mpi, compiled, recorder, tmp_path):
    environment = {"LD_PRELOAD": recorder["LD_PRELOAD"]}
    done = mpi.run(2, compiled(mpi, "ring.c"), environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "23 laps\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.mpi
def test_one_rank_of_a_node_saves_its_topology(mpi, compiled, record):
    # WHEN a program is recorded
    recorded = record(mpi, 3, compiled(mpi, "ring.c"))
    # THEN there is one archive for the node, and hwloc sees in it what it sees here
    (archive,) = (recorded.directory / "raw").glob("*.topology.tar")
    assert tarfile.is_tarfile(archive)
    saved, here = topology.from_saved_files(archive), topology.from_this_machine()
    assert saved == here
    host = recorded.rank(0).info["host"]
    (node,) = (recorded.directory / "raw").glob("*.rwn")
    assert archive.name == f"{node.stem}.topology.tar"
    assert re.fullmatch(re.escape(host) + r"\.[0-9a-f]{8}", node.stem)
    assert {t.info["host"] for t in recorded.threads} == {host}


@pytest.mark.mpi
@pytest.mark.root
def test_two_nodes_of_one_name_do_not_share_a_file(mpi, compiled, record, tmp_path_factory):
    # GIVEN a rank whose kernel seems to be another one, under the same host name
    other = tmp_path_factory.mktemp("other")
    (other / "boot_id").write_text("00000000-1111-2222-3333-444444444444\n")
    ring = compiled(mpi, "ring.c")
    mount = f"mount --bind {other / 'boot_id'} /proc/sys/kernel/random/boot_id && exec {ring}"
    first = '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ]'
    command = ["sh", "-c", f"if {first}; then exec {ring}; else exec unshare -m sh -c '{mount}'; fi"]
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here")
    # WHEN both record into one directory
    recorded = record(mpi, 2, *command)
    # THEN each has a file of its own, and the two are two hosts
    assert len(list((recorded.directory / "raw").glob("*.rwn"))) == 2
    assert [len(t.sent) for t in recorded.threads] == [1, 1]
    recording = Recording.open(recorded.directory)
    assert len({entry["host"] for entry in recording.context["bindings"]}) == 2
    assert [host["topology_problem"] for host in recording.context["hosts"]] == [None, None]


@pytest.mark.mpi
def test_programs_of_one_mpmd_launch_are_one_world(mpi, compiled, record, tmp_path_factory):
    # GIVEN two executables and a wrapper script that sets up something first, launched together
    directory = tmp_path_factory.mktemp("mpmd")
    stated = tmp_path_factory.mktemp("expected")
    wrapper = directory / "wrapper.sh"
    program = compiled(mpi, "hostile/wildcard.c")
    wrapper.write_text(f'#!/bin/sh\ntrue\nls / > /dev/null\nexec {program} "$@"\n')
    wrapper.chmod(0o755)
    environment = [f"{key}={value}" for key, value in environment_of(directory, stated).items()]
    first = mpi.launch(1, "env", *environment, program)
    second = ["-n", "2", "env", *environment, wrapper]
    # WHEN they run
    done = subprocess.run(
        [*first, ":", *map(str, second)],
        env=mpi.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # THEN all ranks are there, each with what it said
    assert (done.returncode, done.stderr) == (0, "")
    threads = raw_reader.read(directory)
    assert [thread.info["world_size"] for thread in threads] == [3, 3, 3]
    for rank, thread in enumerate(threads):
        expected.check([thread], expected.read(stated / str(rank)))


def environment_of(directory: Path, stated: Path) -> dict[str, str]:
    """What a rank needs to record into `directory` and state what must be there."""
    preload = str(library_directory() / "librankwise_record.so")
    return {"LD_PRELOAD": preload, "RANKWISE_DIR": str(directory), "EXPECT": str(stated)}


@pytest.mark.mpi
def test_programs_of_two_mpis_in_one_recording_are_told_apart(compiled, tmp_path_factory):
    # GIVEN programs of two MPI libraries that are both on this machine
    directory, stated = tmp_path_factory.mktemp("two"), tmp_path_factory.mktemp("expected")
    both = [mpi for mpi in mpis.installed() if mpi.name in ("mpich-5.0.2", "openmpi-5.0.11")]
    # WHEN one script runs both into one recording
    for mpi, ranks in zip(both, (2, 3), strict=True):
        done = mpi.run(ranks, compiled(mpi, "ring.c"), environment=environment_of(directory, stated))
        assert (done.returncode, done.stdout, done.stderr) == (0, "23 laps\n", "")
    # THEN each rank was recorded by the recorder of its own library, and each job can be looked at
    for mpi, ranks in zip(both, (2, 3), strict=True):
        threads = [t for t in raw_reader.read(directory) if t.info["world_size"] == ranks]
        assert len(threads) == ranks
        prefix = str(mpi.mpicc.parent.parent.resolve())
        assert all(str(Path(t.info["mpi_library"]).resolve()).startswith(prefix) for t in threads)
    first, second = (Recording.open(directory, number) for number in ("1", "2"))
    assert (first.world_size, first.context["mpi"]["family"]) == (2, "mpich")
    assert (second.world_size, second.context["mpi"]["family"]) == (3, "openmpi")


@pytest.mark.mpi
# MPI_Comm_spawn of Debian's MPICH 4.0.2 ends with an error, with and without the recorder.
@mpis.only(lambda mpi: mpi.name != "debian-mpich", quick=("mpich-5.0.2", "openmpi-5.0.11"))
@pytest.mark.parametrize("call", ["one", pytest.param("multiple", marks=pytest.mark.slow)])
def test_spawned_processes_are_a_job_of_their_own(mpi, compiled, tmp_path, monkeypatch, call):
    # GIVEN 3 processes that start 2 more: r sends 10 (r + 1) bytes to each child, child c 100 (c + 1) to each parent
    # MPICH over UCX hangs every other time, with and without the recorder: one process waits in MPI_Finalize while
    # messages between the two worlds are still under way. Over libfabric it does not.
    monkeypatch.setenv("MPIR_CVAR_CH4_NETMOD", "ofi")
    line = mpi.launch(3, compiled(mpi, "calls/spawn.c"), call)
    # Values of an info, which could hand the variables on, end at 255 bytes.
    directory = tmp_path / ("long" * 50) / "spawn.rw"
    directory.parent.mkdir()
    command = [sys.executable, "-m", "rankwise", "record", "-o", directory, "--", *line]
    # WHEN the three are recorded
    subprocess.run(
        list(map(str, command)), env=mpi.environment(), check=True, timeout=120, capture_output=True
    )
    threads = raw_reader.read(directory)
    # THEN both worlds are there, and messages between them have no world rank
    parents, children = (
        sorted((t for t in threads if t.info["world_size"] == size), key=lambda t: t.info["world_rank"])
        for size in (3, 2)
    )
    other = raw_reader.UNKNOWN
    for rank, thread in enumerate(parents):
        assert thread.sent_bytes == {(other, "MPI_Send"): 2 * 10 * (rank + 1)}
        assert thread.received_bytes == {(other, "MPI_Recv"): 100 + 200}
    for rank, thread in enumerate(children):
        to_parents = {(other, "MPI_Send"): 3 * 100 * (rank + 1)}
        assert thread.sent_bytes == {(1 - rank, "MPI_Sendrecv"): 7} | to_parents
        assert thread.received[other, "MPI_Recv"] == 3
    assert len(parents) == 3 and len(children) == 2
    # AND the children are the second job of the recording, as whose processes the first one's peers are named
    recording = Recording.open(directory)
    assert recording.world_size == 3
    assert any("processes of another MPI job" in each["why"] for each in recording.context["not_recorded"])
    assert Recording.open(directory, "2").world_size == 2

# SPDX-License-Identifier: BSD-3-Clause
"""Network time: socket calls with known answers, and processes that the counting leaves alone."""

import os
import re
import socket
import subprocess
import sys

import mpis
import polars as pl
import pytest

from rankwise.record.library import library_directory
from rankwise.recording import Recording

pytestmark = pytest.mark.mpi
PRELOADED = str(library_directory() / "librankwise_record.so")
# Ranks of one host that reach each other over TCP, as ranks of several hosts do.
OVER_TCP = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_ODD_EVEN_CLIQUES": "0",
    "FI_PROVIDER": "tcp",
    "UCX_TLS": "tcp,self",
}


def totals(recording, **where):
    """Calls and bytes by kind."""
    table = recording.network_time
    for column, value in where.items():
        table = table.filter(pl.col(column).eq_missing(value))
    summed = table.group_by("kind").agg(pl.col("calls", "bytes").sum())
    return {kind: (calls, size) for kind, calls, size in summed.rows()}


@mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "mpich-4.3.2", "openmpi-5.0.11", "openmpi-4.1.8"))
def test_each_call_is_counted_where_it_should(mpi, compiled, record, tmp_path):
    # GIVEN a rank that makes known calls on a connection to itself, outside of MPI WHEN it is recorded
    record(mpi, 1, compiled(mpi, "sockets.c"))
    recording = Recording.open(tmp_path)
    # THEN each is there, with its bytes, and none of those on pipes, files, local sockets or in a child
    host = recording.context["hosts"][0]["host"]
    found = totals(recording, address="127.0.0.1", inside_mpi=False)
    own = {"send": (6, 28), "receive": (6, 28), "progress": (1, 0)}
    if mpi.family == "mpich":
        assert found == own
        assert totals(recording, address=None, inside_mpi=False) == {"progress": (4, 0), "wait": (4, 0)}
    else:  # A thread of the library talks to its daemon, over the same address.
        assert all(found[kind][0] >= calls for kind, (calls, _) in own.items())
        assert totals(recording, address=None, inside_mpi=False)["progress"][0] >= 4
    assert set(recording.network_time.drop_nulls("address")["node"]) == {host}


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_threads_add_up(mpi, compiled, record, tmp_path):
    record(mpi, 2, compiled(mpi, "sockets.c"), "threads")
    recording = Recording.open(tmp_path)
    for rank in (0, 1):
        assert totals(recording, rank=rank, address="127.0.0.1", inside_mpi=False) == {"send": (4000, 4000)}
    assert recording.context["problems"] == []


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_a_call_that_comes_back_after_the_end_is_left_out(mpi, compiled, record, tmp_path):
    # GIVEN a thread that sleeps in poll from before MPI_Finalize until after it WHEN it is recorded
    record(mpi, 1, compiled(mpi, "sockets.c"), "late")
    recording = Recording.open(tmp_path)
    # THEN that call is not there, and what was closed is whole
    assert "wait" not in totals(recording)
    assert (recording.context["damage"], recording.context["problems"]) == ([], [])


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_times_are_those_that_the_program_measures_itself(mpi, compiled, record, tmp_path):
    done = record(mpi, 1, compiled(mpi, "sockets.c"), "timed").run
    measured = dict(zip(("send", "receive"), map(float, done.stdout.split()), strict=True))
    table = Recording.open(tmp_path).network_time.filter(pl.col("address") == "127.0.0.1")
    for row in table.iter_rows(named=True):
        assert (row["calls"], row["bytes"]) == (500, 500 * 60_000)
        assert row["time_s"] == pytest.approx(measured[row["kind"]], rel=0.1)


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_receives_that_sleep_are_waiting(mpi, compiled, record, tmp_path):
    # GIVEN a rank that sleeps in three receives, for 50 ms each, and finds the data of two others WHEN it is recorded
    record(mpi, 1, compiled(mpi, "sockets.c"), "blocks")
    table = Recording.open(tmp_path).network_time.filter(address="127.0.0.1")
    # THEN each is a receive, and the time of the three is waiting
    assert totals(Recording.open(tmp_path), address="127.0.0.1") == {
        "send": (5, 25),
        "receive": (5, 25),
        "progress": (1, 0),
        "wait": (0, 0),
    }
    times = dict(table.select("kind", "time_s").rows())
    assert times["wait"] > 0.04 > times["receive"]


@mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "openmpi-5.0.11"))
def test_nothing_is_counted_where_it_is_switched_off(mpi, compiled, record, tmp_path):
    record(mpi, 1, compiled(mpi, "sockets.c"), environment={"RANKWISE_NETWORK": "0"})
    recording = Recording.open(tmp_path)
    assert len(recording.network_time) == 0
    assert (
        recording.context["network"]["why"]
        == "RANKWISE_NETWORK is 0, or the recorder is linked into the program"
    )


STRACED = re.compile(
    r"^(sendmsg|sendto|writev|write|recvfrom|recvmsg|readv|read)\(\d+<TCP[^)\n]*\) += (\d+)$", re.MULTILINE
)
HEADER_BYTES = 13  # that libfabric puts before a message of 1000 bytes


@pytest.mark.skipif(
    subprocess.run(["which", "strace"], capture_output=True).returncode != 0, reason="no strace"
)
@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_a_ping_pong_has_as_many_calls_and_bytes_as_strace_sees(mpi, compiled, tmp_path, environment_for):
    # GIVEN two ranks that reach each other over TCP, each under strace
    program = compiled(mpi, "ring.c")
    (tmp_path / "r.rw").mkdir()
    environment = environment_for(tmp_path / "r.rw", **OVER_TCP)
    log = str(tmp_path / "strace")
    options = ["-ff", "-yy", "-e", "trace=network,read,write,readv,writev", "-s", "0", "-o", log]
    # WHEN they are recorded
    done = mpi.run(2, "strace", *options, program, "500", environment=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    # THEN sends and receives of data are as many, and of as many bytes, as the kernel saw between them
    recording = Recording.open(tmp_path / "r.rw")
    seen = {"send": [0, 0], "receive": [0, 0]}
    for file in tmp_path.glob("strace.*"):
        for name, result in STRACED.findall(file.read_text()):
            kind = seen["send" if name.startswith(("send", "write")) else "receive"]
            if int(result) == 1000 + HEADER_BYTES:  # others connect the ranks, in MPI_Init and MPI_Finalize
                kind[0] += 1
                kind[1] += int(result)
    counted = totals(recording, transport="sockets")
    assert seen["send"] == [1000, 1000 * (1000 + HEADER_BYTES)]
    for kind, (calls, size) in seen.items():
        # a busy machine leaves a few messages by which the library connects the ranks for later
        assert 0 <= counted[kind][0] - calls <= 4
        assert 0 <= counted[kind][1] - size <= 4 * 100


ECHO = """
import os, socket, threading
ends = socket.create_server(("127.0.0.1", 0))
def answer():
    with ends.accept()[0] as there:
        there.sendall(there.recv(100).upper())
thread = threading.Thread(target=answer)
thread.start()
with socket.create_connection(ends.getsockname()) as here:
    here.sendall(b"hello")
    print(here.recv(100).decode(), flush=True)
thread.join()
if os.fork() == 0:
    os.write(1, b"child\\n")
    os._exit(0)
os.wait()
print(os.popen("echo shell").read(), end="")
"""


@pytest.mark.parametrize("directory", [False, True], ids=["not recorded", "recorded"])
def test_processes_without_mpi_are_as_they_were(tmp_path, directory):
    environment = (
        os.environ | {"LD_PRELOAD": PRELOADED} | ({"RANKWISE_DIR": str(tmp_path)} if directory else {})
    )
    done = subprocess.run(
        [sys.executable, "-c", ECHO], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr, done.returncode) == ("HELLO\nchild\nshell\n", "", 0)
    assert list(tmp_path.iterdir()) == []


def test_errno_of_calls_that_fail_is_that_of_libc():
    import ctypes

    libc = ctypes.CDLL(PRELOADED, use_errno=True)
    assert libc.send(-1, b"x", 1, 0) == -1 and ctypes.get_errno() == 9
    with socket.socket() as unconnected:
        assert libc.recv(unconnected.fileno(), ctypes.create_string_buffer(1), 1, 0) == -1
        assert ctypes.get_errno() == 107

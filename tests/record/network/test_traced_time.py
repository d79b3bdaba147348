# SPDX-License-Identifier: BSD-3-Clause
"""Network time beside what the kernel's tracepoints say of the same calls."""

import os
import re
import subprocess
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import mpis
import polars as pl
import pytest

from rankwise.recording import Recording

pytestmark = [pytest.mark.root, pytest.mark.mpi]
SENDS, RECEIVES = {20: "writev", 46: "sendmsg", 44: "sendto"}, {19: "readv", 47: "recvmsg", 45: "recvfrom"}
LINE = re.compile(
    r"-(?P<tid>\d+)\s+\[\d+\]\s+\S+\s+(?P<time>[\d.]+): "
    r"sys_(?P<what>enter|exit): NR (?P<call>\d+)(?: = (?P<done>-?\d+))?"
)
COUNT, BYTES = 100, 4_000_000
SMALL = 1000  # what connects the ranks, in MPI_Init and MPI_Finalize


@contextmanager
def traced(directory: Path):
    """An instance of tracefs of its own, which traces these calls."""
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of system calls are those of x86-64")
    directory.mkdir()
    if subprocess.run(["mount", "-t", "tracefs", "nodev", directory], capture_output=True).returncode:
        pytest.skip("no tracefs here")
    instance = directory / "instances" / f"rankwise-{os.getpid()}"
    try:
        instance.mkdir()
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text("16384")
        calls = " || ".join(f"id == {number}" for number in (*SENDS, *RECEIVES))
        (instance / "events/raw_syscalls/filter").write_text(calls)
        (instance / "events/raw_syscalls/enable").write_text("1")
        yield instance
    finally:
        if instance.is_dir():
            (instance / "tracing_on").write_text("0")
            instance.rmdir()
        subprocess.run(["umount", directory], check=True)


def seconds(instance: Path) -> tuple[dict[tuple[int, str], float], bool]:
    """By thread and kind, time in calls that moved messages; and whether nothing was lost."""
    found: dict[tuple[int, str], float] = defaultdict(float)
    begun: dict[int, float] = {}
    for line in (instance / "trace").read_text().splitlines():
        if (event := LINE.search(line)) is None:
            continue
        tid, at = int(event["tid"]), float(event["time"])
        if event["what"] == "enter":
            begun[tid] = at
        elif tid in begun:
            kind = "send" if int(event["call"]) in SENDS else "receive"
            found[tid, kind] += (at - begun.pop(tid)) * (int(event["done"]) > SMALL)
    lost = any("overrun: 0" not in each.read_text() for each in instance.glob("per_cpu/cpu*/stats"))
    return found, not lost


@mpis.only(lambda mpi: mpi.name == "openmpi-5.0.11")
def test_time_is_what_tracepoints_say(mpi, compiled, record, tmp_path_factory):
    # GIVEN messages of 4 MB over TCP, whose sends take half a millisecond each: much longer than tracing them
    tcp = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}
    tcp |= {f"OMPI_MCA_btl_tcp_{name}": "4194304" for name in ("max_send_size", "rdma_pipeline_send_length")}
    program = compiled(mpi, "cross_nodes.c")
    with traced(tmp_path_factory.mktemp("traced") / "fs") as instance:
        done = record(mpi, 2, program, COUNT, BYTES, environment=tcp)
        known, whole = seconds(instance)
    assert whole
    # THEN sends took as long as the kernel says, within a tenth, and receives at least
    recording = Recording.open(done.directory)
    pid = dict(recording.ranks.select("rank", "pid").rows())
    waited_s = dict(recording.ranks.select("rank", "runqueue_wait_s").rows())
    for rank, kind in ((0, "send"), (1, "receive")):
        rows = recording.network_time.filter(
            (pl.col("rank") == rank) & (pl.col("kind") == kind) & pl.col("inside_mpi")
        )
        assert rows["bytes"].sum() >= COUNT * BYTES
        # A rank that loses its core as a call returns does so behind the tracepoint, and before the clock is read.
        found_s, known_s = rows["time_s"].sum(), known[pid[rank], kind]
        assert found_s >= 0.9 * known_s
        # Receives take 8 us each, for 64 KiB; what tracing adds behind the tracepoint is not small beside that.
        assert kind == "receive" or found_s <= 1.1 * known_s + waited_s[rank]
